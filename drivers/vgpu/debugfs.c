// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/pagoda_vgpu: what the GPU did, what it maps, what it holds,
 * and how it can be made to misbehave.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "vgpu.h"

static void pagoda_stats_queue(struct seq_file *file, const struct pagoda_vgpu_queue *queue)
{
	seq_printf(file, "queue %s doorbells=%lld requests=%lld packets=%lld bytes=%lld",
		   queue->name, atomic64_read(&queue->doorbells), atomic64_read(&queue->requests),
		   atomic64_read(&queue->packets), atomic64_read(&queue->bytes));
	seq_printf(file, " interrupts=%lld faults=%lld resets=%lld\n",
		   atomic64_read(&queue->interrupts), atomic64_read(&queue->faults),
		   atomic64_read(&queue->resets));
}

static int pagoda_stats_show(struct seq_file *file, void *unused)
{
	struct pagoda_vgpu *vgpu = file->private;
	u32 i;

	for (i = 0; i < vgpu->nr_queues; i++)
		pagoda_stats_queue(file, &vgpu->queues[i]);
	seq_printf(file, "events sent=%lld dropped=%lld\n", atomic64_read(&vgpu->events_sent),
		   atomic64_read(&vgpu->events_dropped));
	for (i = 1; i < VIRTIO_PAGODA_OP_COUNT; i++)
		seq_printf(file, "op %s %lld\n", pagoda_engine_op_name(i),
			   atomic64_read(&vgpu->engine.executed[i]));
	for (i = 1; i < VIRTIO_PAGODA_FAULT_COUNT; i++)
		if (atomic64_read(&vgpu->engine.faults[i]))
			seq_printf(file, "fault %lld %s\n", atomic64_read(&vgpu->engine.faults[i]),
				   pagoda_engine_fault_name(i));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pagoda_stats);

/* Pages that were mapped or unmapped together, shown on one line. */
struct pagoda_aperture_line {
	u64 first;
	u64 pages;
	u64 address;
	u32 generation;
};

/* Finds the line at or after page @first; false at the end of the aperture. */
static bool pagoda_aperture_line(const struct pagoda_engine *engine, u64 first,
				 struct pagoda_aperture_line *line)
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

static void *pagoda_aperture_start(struct seq_file *file, loff_t *pos)
{
	struct pagoda_vgpu *vgpu = file->private;
	struct pagoda_aperture_line line;

	if (!pagoda_aperture_line(&vgpu->engine, *pos, &line))
		return NULL;
	*pos = line.first;
	return pos;
}

static void *pagoda_aperture_next(struct seq_file *file, void *v, loff_t *pos)
{
	struct pagoda_vgpu *vgpu = file->private;
	struct pagoda_aperture_line line;

	pagoda_aperture_line(&vgpu->engine, *pos, &line);
	*pos = line.first + line.pages;
	return pagoda_aperture_start(file, pos);
}

static void pagoda_aperture_stop(struct seq_file *file, void *v)
{
}

static int pagoda_aperture_show(struct seq_file *file, void *v)
{
	struct pagoda_vgpu *vgpu = file->private;
	struct pagoda_aperture_line line;

	if (!pagoda_aperture_line(&vgpu->engine, *(loff_t *)v, &line))
		return 0;
	if (line.generation)
		seq_printf(file, "page %llu count %llu address %#llx generation %u\n",
			   line.first, line.pages, line.address, line.generation);
	else
		seq_printf(file, "page %llu count %llu dummy %#llx\n",
			   line.first, line.pages, line.address);
	return 0;
}

static const struct seq_operations pagoda_aperture_sops = {
	.start = pagoda_aperture_start,
	.next = pagoda_aperture_next,
	.stop = pagoda_aperture_stop,
	.show = pagoda_aperture_show,
};
DEFINE_SEQ_ATTRIBUTE(pagoda_aperture);

static int pagoda_inject_show(struct seq_file *file, void *unused)
{
	pagoda_vgpu_inject_show(file->private, file);
	return 0;
}

static int pagoda_inject_open(struct inode *inode, struct file *file)
{
	return single_open(file, pagoda_inject_show, inode->i_private);
}

/* One write, one rule. */
static ssize_t pagoda_inject_write(struct file *file, const char __user *from, size_t size,
				   loff_t *pos)
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

static const struct file_operations pagoda_inject_fops = {
	.owner = THIS_MODULE,
	.open = pagoda_inject_open,
	.read = seq_read,
	.write = pagoda_inject_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* All of VRAM, also what no CPU window shows. */
static ssize_t pagoda_vram_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	struct pagoda_vgpu *vgpu = file->private_data;

	return simple_read_from_buffer(to, size, pos, vgpu->vram.vaddr, vgpu->engine.vram_size);
}

static loff_t pagoda_vram_llseek(struct file *file, loff_t offset, int whence)
{
	struct pagoda_vgpu *vgpu = file->private_data;

	return fixed_size_llseek(file, offset, whence, vgpu->engine.vram_size);
}

static const struct file_operations pagoda_vram_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = pagoda_vram_read,
	.llseek = pagoda_vram_llseek,
};

/**
 * pagoda_vgpu_debugfs_init() - Make the files
 * @vgpu: Device, complete but for its registration
 */
void pagoda_vgpu_debugfs_init(struct pagoda_vgpu *vgpu)
{
	vgpu->debugfs = debugfs_create_dir("pagoda_vgpu", NULL);
	debugfs_create_file("stats", 0444, vgpu->debugfs, vgpu, &pagoda_stats_fops);
	debugfs_create_file("aperture", 0400, vgpu->debugfs, vgpu, &pagoda_aperture_fops);
	debugfs_create_file("inject", 0600, vgpu->debugfs, vgpu, &pagoda_inject_fops);
	debugfs_create_file("vram", 0400, vgpu->debugfs, vgpu, &pagoda_vram_fops);
}

/**
 * pagoda_vgpu_debugfs_fini() - Remove the files; nobody is in them afterwards
 * @vgpu: Device
 */
void pagoda_vgpu_debugfs_fini(struct pagoda_vgpu *vgpu)
{
	debugfs_remove_recursive(vgpu->debugfs);
}
