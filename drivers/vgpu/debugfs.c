// SPDX-License-Identifier: GPL-2.0
/* /sys/kernel/debug/pagoda_vgpu: state and memory of the GPU, and rules of misbehaviour. */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "vgpu.h"

static void stats_queue(struct seq_file *file, const struct pagoda_vgpu_queue *queue)
{
	seq_printf(file, "queue %s doorbells=%lld requests=%lld packets=%lld bytes=%lld",
		   queue->name, atomic64_read(&queue->doorbells), atomic64_read(&queue->requests),
		   atomic64_read(&queue->packets), atomic64_read(&queue->bytes));
	seq_printf(file, " interrupts=%lld faults=%lld resets=%lld",
		   atomic64_read(&queue->interrupts), atomic64_read(&queue->faults),
		   atomic64_read(&queue->resets));
	seq_printf(file, " jobs=%lld busy_us=%llu\n", atomic64_read(&queue->jobs),
		   div_u64(atomic64_read(&queue->busy_ns), NSEC_PER_USEC));
}

static int stats_show(struct seq_file *file, void *unused)
{
	struct pagoda_vgpu *vgpu = file->private;
	u32 i;

	for (i = 0; i < vgpu->nr_queues; i++)
		stats_queue(file, &vgpu->queues[i]);
	seq_printf(file, "events sent=%lld dropped=%lld\n", atomic64_read(&vgpu->events_sent),
		   atomic64_read(&vgpu->events_dropped));
	for (i = 1; i < VIRTIO_PAGODA_OP_COUNT; i++)
		seq_printf(file, "op %s %lld\n", pagoda_engine_op_name(i),
			   atomic64_read(&vgpu->engine.executed[i]));
	for (i = 1; i < VIRTIO_PAGODA_COMMAND_COUNT; i++)
		seq_printf(file, "command %s %lld\n", pagoda_engine_command_name(i),
			   atomic64_read(&vgpu->engine.commands[i]));
	for (i = 1; i < VIRTIO_PAGODA_FAULT_COUNT; i++)
		if (atomic64_read(&vgpu->engine.faults[i]))
			seq_printf(file, "fault %lld %s\n", atomic64_read(&vgpu->engine.faults[i]),
				   pagoda_engine_fault_name(i));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/*
 * Consecutive aperture pages that one line of the file shows: mapped to consecutive bus addresses
 * with one generation (number that the driver gave to the mapping; 0 = unmapped), or all unmapped
 * with one dummy page.
 */
struct aperture_line {
	u64 first;
	u64 pages;
	u64 address;
	u32 generation;
};

/*
 * Fills in @line, beginning at the first page from @first on that is mapped, or that
 * UNMAP_APERTURE_SEGMENT led to a dummy page. Returns false if there is no such page.
 */
static bool aperture_line(const struct pagoda_engine *engine, u64 first, struct aperture_line *line)
{
	u64 address;
	u32 generation;

	while (first < engine->aperture_pages &&
	       !pagoda_engine_aperture_lookup(engine, first, &line->address, &line->generation)) {
		first++;
		cond_resched();
	}
	line->first = first;
	line->pages = 1;
	if (first == engine->aperture_pages)
		return false;
	while (pagoda_engine_aperture_lookup(engine, first + line->pages, &address, &generation) &&
	       generation == line->generation &&
	       address == line->address + (generation ? line->pages << PAGE_SHIFT : 0)) {
		line->pages++;
		cond_resched();
	}
	return true;
}

static void *aperture_start(struct seq_file *file, loff_t *pos)
{
	struct pagoda_vgpu *vgpu = file->private;
	struct aperture_line line;

	if (!aperture_line(&vgpu->engine, *pos, &line))
		return NULL;
	*pos = line.first;
	return pos;
}

static void *aperture_next(struct seq_file *file, void *v, loff_t *pos)
{
	struct pagoda_vgpu *vgpu = file->private;
	struct aperture_line line;

	aperture_line(&vgpu->engine, *pos, &line);
	*pos = line.first + line.pages;
	return aperture_start(file, pos);
}

static void aperture_stop(struct seq_file *file, void *v)
{
}

static int aperture_show(struct seq_file *file, void *v)
{
	struct pagoda_vgpu *vgpu = file->private;
	struct aperture_line line;

	if (!aperture_line(&vgpu->engine, *(loff_t *)v, &line))
		return 0;
	if (line.generation)
		seq_printf(file, "page %llu count %llu address %#llx generation %u\n",
			   line.first, line.pages, line.address, line.generation);
	else
		seq_printf(file, "page %llu count %llu dummy %#llx\n",
			   line.first, line.pages, line.address);
	return 0;
}

static const struct seq_operations aperture_sops = {
	.start = aperture_start,
	.next = aperture_next,
	.stop = aperture_stop,
	.show = aperture_show,
};
DEFINE_SEQ_ATTRIBUTE(aperture);

static int mmu_show(struct seq_file *file, void *v)
{
	struct pagoda_vgpu *vgpu = file->private;
	u64 page = *(loff_t *)v, pages = 1, address, next;
	bool read_only, also;

	if (!pagoda_engine_mmu_lookup(&vgpu->engine, page, &address, &read_only))
		return 0;
	while (pagoda_engine_mmu_lookup(&vgpu->engine, page + pages, &next, &also) &&
	       next == address + (pages << PAGE_SHIFT) && also == read_only)
		pages++;
	seq_printf(file, "page %llu count %llu address %#llx%s\n", page, pages, address,
		   read_only ? " read-only" : "");
	return 0;
}

static void *mmu_start(struct seq_file *file, loff_t *pos)
{
	struct pagoda_vgpu *vgpu = file->private;
	bool read_only;
	u64 address;

	while (*pos < vgpu->engine.mmu_pages) {
		if (pagoda_engine_mmu_lookup(&vgpu->engine, *pos, &address, &read_only))
			return pos;
		++*pos;
		cond_resched();
	}
	return NULL;
}

/* Advances *@pos over the pages that mmu_show() showed on one line, to the next mapped page. */
static void *mmu_next(struct seq_file *file, void *v, loff_t *pos)
{
	struct pagoda_vgpu *vgpu = file->private;
	u64 address, next;
	bool read_only, also;

	pagoda_engine_mmu_lookup(&vgpu->engine, *pos, &address, &read_only);
	do {
		++*pos;
		address += PAGE_SIZE;
	} while (pagoda_engine_mmu_lookup(&vgpu->engine, *pos, &next, &also) &&
		 next == address && also == read_only);
	return mmu_start(file, pos);
}

static const struct seq_operations mmu_sops = {
	.start = mmu_start,
	.next = mmu_next,
	.stop = aperture_stop,
	.show = mmu_show,
};
DEFINE_SEQ_ATTRIBUTE(mmu);

/* Shows root tables, how many entries of each TLB are in use, and bound swizzling ranges. */
static int tables_show(struct seq_file *file, void *unused)
{
	struct pagoda_vgpu *vgpu = file->private;
	struct pagoda_engine *engine = &vgpu->engine;
	u32 i, j, used;

	pagoda_shim_read_lock(&engine->translation);
	for (i = 0; i < engine->nr_spaces; i++)
		if (engine->spaces[i].entries)
			seq_printf(file, "space %u segment %u address %#llx entries %llu\n", i,
				   engine->spaces[i].segment, engine->spaces[i].address,
				   engine->spaces[i].entries);
	for (i = 0; i < engine->nr_tlbs; i++) {
		for (j = 0, used = 0; j < PAGODA_ENGINE_TLB_ENTRIES; j++)
			used += !!READ_ONCE(engine->tlbs[i].entries[j].tag);
		seq_printf(file, "tlb %u entries %u of %u\n", i, used, PAGODA_ENGINE_TLB_ENTRIES);
	}
	pagoda_shim_read_unlock(&engine->translation);
	pagoda_shim_read_lock(&engine->swizzling_lock);
	for (i = 0; i < engine->nr_ranges; i++)
		if (engine->ranges[i].size)
			seq_printf(file, "range %u address %#llx size %llu tiling %u\n", i,
				   engine->ranges[i].address, engine->ranges[i].size,
				   le32_to_cpu(engine->ranges[i].layout.tiling));
	pagoda_shim_read_unlock(&engine->swizzling_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(tables);

/*
 * Translates the virtual address in a line "space address"; a read of the file then returns
 * "segment address flags level", or the fault. Returns @size or a negative errno.
 */
static ssize_t translate_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	struct pagoda_vgpu *vgpu = file_inode(file)->i_private;
	char *line = simple_transaction_get(file, from, size);
	struct pagoda_engine_page page;
	u32 space, reason;
	u64 address;
	int length;

	if (IS_ERR(line))
		return PTR_ERR(line);
	if (sscanf(line, "%u %lli", &space, (long long *)&address) != 2)
		return -EINVAL;
	reason = pagoda_engine_lookup(&vgpu->engine, space, address, &page);
	if (reason)
		length = sprintf(line, "fault %s level %u\n", pagoda_engine_fault_name(reason),
				 page.level);
	else
		length = sprintf(line, "%u %#llx %#llx %u\n", page.segment, page.address,
				 page.flags, page.level);
	simple_transaction_set(file, length);
	return size;
}

static const struct file_operations translate_fops = {
	.owner = THIS_MODULE,
	.read = simple_transaction_read,
	.write = translate_write,
	.release = simple_transaction_release,
};

static int notices_show(struct seq_file *file, void *unused)
{
	pagoda_vgpu_notices_show(file->private, file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(notices);

static int inject_show(struct seq_file *file, void *unused)
{
	pagoda_vgpu_inject_show(file->private, file);
	return 0;
}

static int inject_open(struct inode *inode, struct file *file)
{
	return single_open(file, inject_show, inode->i_private);
}

/*
 * Passes the written text, a line in the language that inject.c describes, to
 * pagoda_vgpu_inject_write(). Returns @size or a negative errno.
 */
static ssize_t inject_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	struct seq_file *seq = file->private_data;
	char line[256];
	int err;

	if (size >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, size))
		return -EFAULT;
	line[size] = '\0';
	err = pagoda_vgpu_inject_write(seq->private, line);
	return err ? err : size;
}

static const struct file_operations inject_fops = {
	.owner = THIS_MODULE,
	.open = inject_open,
	.read = seq_read,
	.write = inject_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/*
 * Reads VRAM from byte *@pos on, also the part that no CPU window shows. Returns the number of
 * bytes read, or a negative errno.
 */
static ssize_t vram_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	struct pagoda_vgpu *vgpu = file->private_data;

	return simple_read_from_buffer(to, size, pos, vgpu->vram.vaddr, vgpu->engine.vram_size);
}

static loff_t vram_llseek(struct file *file, loff_t offset, int whence)
{
	struct pagoda_vgpu *vgpu = file->private_data;

	return fixed_size_llseek(file, offset, whence, vgpu->engine.vram_size);
}

static const struct file_operations vram_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = vram_read,
	.llseek = vram_llseek,
};

/* Creates the debugfs files of a device that is complete, but not registered yet. */
void pagoda_vgpu_debugfs_init(struct pagoda_vgpu *vgpu)
{
	vgpu->debugfs = debugfs_create_dir("pagoda_vgpu", NULL);
	debugfs_create_file("stats", 0444, vgpu->debugfs, vgpu, &stats_fops);
	debugfs_create_file("aperture", 0400, vgpu->debugfs, vgpu, &aperture_fops);
	debugfs_create_file("mmu", 0400, vgpu->debugfs, vgpu, &mmu_fops);
	debugfs_create_file("tables", 0400, vgpu->debugfs, vgpu, &tables_fops);
	debugfs_create_file("translate", 0600, vgpu->debugfs, vgpu, &translate_fops);
	debugfs_create_file("notices", 0400, vgpu->debugfs, vgpu, &notices_fops);
	debugfs_create_file("inject", 0600, vgpu->debugfs, vgpu, &inject_fops);
	debugfs_create_file("vram", 0400, vgpu->debugfs, vgpu, &vram_fops);
	pagoda_vgpu_kcov_init(vgpu);
}

/* Removes the debugfs files; no access to a file is in progress afterwards. */
void pagoda_vgpu_debugfs_fini(struct pagoda_vgpu *vgpu)
{
	debugfs_remove_recursive(vgpu->debugfs);
}
