// SPDX-License-Identifier: GPL-2.0
/*
 * What mmu/ needs of the memory manager: set-up, functions by which mmu/ allocates and frees the
 * memory of page tables, update modes, and commands that tell the device the roots of page tables,
 * also to have the device drop cached translations.
 *
 * Page tables of the paging process (address space 0) are system memory that the device reaches by
 * a bus address, or by an address of its own MMU, for as long as the device exists. These tables
 * are no allocations: TTM doesn't know them and can't evict them (C75). In CPU_VIRTUAL mode the
 * tables of all spaces are system memory, because the CPU writes them.
 */
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include "core/core.h"
#include "core/info.h"
#include "core/life.h"
#include "core/transport.h"
#include "mmu/mmu.h"
#include "paging/cpu/cpu.h"
#include "paging/paging.h"
#include "queue/queue.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "vm.h"

/*
 * RESERVE_MOST: pages of which one table_reserve() frees the device addresses, at most, before its
 * caller drops all locks; RESERVE_LEAST: pages that each allocation or kept copy counts, at least.
 */
#define RESERVE_MOST	(SZ_16M >> PAGE_SHIFT)
#define RESERVE_LEAST	(SZ_1M >> PAGE_SHIFT)

/*
 * A page table in system memory, @size bytes in @pages. @client, if not NULL, is charged for the
 * table; @behind and @work free the table when the fence of its last use has signalled.
 */
struct table_pages {
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
	struct pagoda_sysmem mem;
	u32 size;
	struct dma_fence_cb behind;
	struct work_struct work;
	struct page *pages[];
};

static void table_free_pages(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem)
{
	struct table_pages *table = container_of(mem, struct table_pages, mem);

	dma_free_pages(vidmm->info->dma_dev, table->size, table->pages[0], mem->dma,
		       DMA_BIDIRECTIONAL);
	kfree(table);
}

static void table_free_now(struct table_pages *table)
{
	struct pagoda_client *client = table->client;

	if (client) {
		pagoda_budget_charge_tables(&client->budget, -(s64)table->size);
		pagoda_client_put(client);
	}
	pagoda_sysmem_release(table->vidmm, &table->mem, table_free_pages);
}

static void table_free_work(struct work_struct *work)
{
	table_free_now(container_of(work, struct table_pages, work));
}

/*
 * Fence callback: the last use of a page table has ended, so a work item frees its memory; DMA
 * memory can't be freed in the dma_fence signalling path.
 */
static void table_free_behind(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct table_pages *table = container_of(cb, struct table_pages, behind);

	queue_work(table->vidmm->ttm.wq, &table->work);
}

/*
 * Frees device addresses that aren't in use: those of the oldest kept copies, with at least @pages
 * pages; or those of an allocation, which is swapped out, if no copy can be freed. Returns the
 * number that counts for RESERVE_MOST; 0 if no addresses could be freed; or an error of the
 * swap-out.
 */
static int table_make_room(struct pagoda_vidmm *vidmm, u32 pages)
{
	struct ttm_operation_ctx ctx = { .no_wait_gpu = true };
	int ret;

	if (pagoda_copies_reclaim(vidmm, pages))
		return max_t(u32, pages, RESERVE_LEAST);
	ret = ttm_device_swapout(&vidmm->ttm, &ctx, GFP_KERNEL);
	return ret > 0 ? max_t(int, ret, RESERVE_LEAST) : ret;
}

/*
 * Reserves device addresses for a page table, whose pages begin at bus address @dma. While too few
 * are free, makes room. Returns 0; -EAGAIN if a lot of memory lost its addresses, and that isn't
 * enough yet: the caller is to drop all locks and come again (pagoda_room_later()); -EBUSY if all
 * addresses are in use, so that the end of jobs may help, but not room in VRAM; or another error of
 * a swap-out.
 */
static int table_reserve(struct table_pages *table, dma_addr_t dma)
{
	struct pagoda_vidmm *vidmm = table->vidmm;
	u32 pages = table->size >> PAGE_SHIFT, freed = 0;
	int ret;

	for (;;) {
		ret = pagoda_sysmem_reserve(vidmm, &table->mem, dma, pages);
		if (ret != -ENOSPC)
			return ret;
		if (freed >= RESERVE_MOST)
			return -EAGAIN;
		ret = table_make_room(vidmm, pages);
		if (ret <= 0)
			return ret ?: -EBUSY;
		freed += ret;
	}
}

/*
 * Allocates @memory for a page table of @size bytes in system memory, charged to @client unless
 * that is NULL. The device's address is aligned to @size: by dma_alloc_pages(), or with an MMU of
 * the device by table_reserve(). Returns 0; -ENOMEM; -EAGAIN or -EBUSY, see table_reserve(); or
 * another negative errno.
 */
static int tables_alloc_system(struct pagoda_vidmm *vidmm, struct pagoda_client *client, u32 size,
			       struct pagoda_table_memory *memory)
{
	u32 i, nr = size >> PAGE_SHIFT;
	struct table_pages *table = kzalloc(struct_size(table, pages, nr), GFP_KERNEL_ACCOUNT);
	dma_addr_t dma;
	int ret;

	if (!table)
		return -ENOMEM;
	table->vidmm = vidmm;
	table->size = size;
	table->pages[0] = dma_alloc_pages(vidmm->info->dma_dev, size, &dma,
					  DMA_BIDIRECTIONAL, GFP_KERNEL_ACCOUNT);
	if (!table->pages[0]) {
		kfree(table);
		return -ENOMEM;
	}
	for (i = 1; i < nr; i++)
		table->pages[i] = table->pages[0] + i;
	INIT_WORK(&table->work, table_free_work);
	ret = table_reserve(table, dma);
	if (ret) {
		table_free_pages(vidmm, &table->mem);
		return ret;
	}
	ret = pagoda_sysmem_map(vidmm, &table->mem, table->pages);
	if (ret) {
		table_free_now(table);
		return ret;
	}
	if (client) {
		kref_get(&client->kref);
		table->client = client;
		pagoda_budget_charge_tables(&client->budget, size);
	}
	*memory = (struct pagoda_table_memory) {
		.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
		.size = size,
		.address = table->mem.address,
		.cpu = page_address(table->pages[0]),
		.pages = table->pages,
		.cookie = table,
	};
	return 0;
}

static int tables_alloc(void *owner, void *space_data, u32 level, u32 size,
			struct pagoda_table_memory *memory)
{
	struct pagoda_vidmm *vidmm = owner;
	struct pagoda_vm *vm = space_data;

	if (vm && pagoda_mmu_mode(vidmm->mmu) != VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL)
		return pagoda_vm_table_alloc(vm, size, memory);
	return tables_alloc_system(vidmm, vm ? vm->client : NULL, size, memory);
}

static void tables_free(void *owner, void *space_data, struct pagoda_table_memory *memory,
			struct dma_fence *fence)
{
	struct table_pages *table = memory->cookie;

	if (memory->segment == VIRTIO_PAGODA_SEGMENT_VRAM)
		pagoda_vm_table_free(space_data, memory, fence);
	else if (!fence || dma_fence_add_callback(fence, &table->behind, table_free_behind))
		table_free_now(table);
}

static int tables_command_root(struct pagoda_vidmm *vidmm, u32 space,
			       const struct pagoda_root *root)
{
	const struct pagoda_command command = {
		.type = VIRTIO_PAGODA_CONTROL_SET_ROOT,
		.index = space,
		.address = root->entries ? root->address : 0,
		.size = root->entries,
		.segment = root->entries ? root->segment : 0,
	};

	return pagoda_vidmm_command_locked(vidmm, &command);
}

/*
 * Resets the device after a failed SET_ROOT, unless the device is being removed or is never used
 * again. The device may have executed the command or not, or may execute it later; in the reset the
 * device forgets all roots and translations, and the rebuild sets the roots that the VMs have.
 * Sleeps for some seconds, until phase 1 of the reset is over. Caller holds no mutex that the
 * dma_fence signalling path takes.
 */
static void tables_reset_device(struct pagoda_vidmm *vidmm)
{
	int idx;

	if (READ_ONCE(vidmm->reset->dead) || !drm_dev_enter(vidmm->drm, &idx))
		return;
	pagoda_queue_reset_adapter(vidmm->queue, BIT(PAGODA_RESET_DEVICE));
	drm_dev_exit(idx);
}

/*
 * &pagoda_mmu_ops.set_root: sets the root of address space @space on the device and in
 * &pagoda_vidmm.roots, where the CPU executor finds the root. If that fails for a VM, resets the
 * device, which then has no root of @space, as it should if @root has no entries. Returns 0 or a
 * negative errno; always 0 if @root has no entries.
 */
static int tables_set_root(void *owner, u32 space, const struct pagoda_root *root)
{
	struct pagoda_vidmm *vidmm = owner;
	bool there;
	int ret;

	mutex_lock(&vidmm->control_lock);
	there = vidmm->transport;
	ret = tables_command_root(vidmm, space, root);
	if (!ret) {
		vidmm->roots[space] = *root;
		pagoda_journal_root(vidmm->journal, space, root);
	}
	mutex_unlock(&vidmm->control_lock);
	/* Without a root of space 0 the set-up of the device fails, or its rebuild is repeated. */
	if (ret && space && there)
		tables_reset_device(vidmm);
	return root->entries ? ret : 0;
}

static void tables_written(void *owner, const struct pagoda_paging_op *op)
{
	struct pagoda_vidmm *vidmm = owner;

	pagoda_journal_written(vidmm->journal, op);
}

/*
 * Waits until all jobs of the VM have completed; @space_data is the VM, or NULL for the paging
 * process, which has no jobs. The caller holds the VM's reservation, which keeps further jobs from
 * being submitted and is needed by no job to complete.
 */
static void tables_suspend(void *owner, void *space_data)
{
	if (!space_data)
		return;
	pagoda_stream_flush(owner);
	dma_resv_wait_timeout(pagoda_vm_shared(space_data)->resv, DMA_RESV_USAGE_BOOKKEEP, false,
			      MAX_SCHEDULE_TIMEOUT);
}

static const struct pagoda_mmu_ops tables_ops = {
	.table_alloc = tables_alloc,
	.table_free = tables_free,
	.set_root = tables_set_root,
	.written = tables_written,
	.suspend = tables_suspend,
};

static const void *tables_page(void *context, u64 bus)
{
	struct pagoda_vidmm *vidmm = context;

	return pagoda_mmu_table_page(vidmm->mmu, bus);
}

static bool tables_has_ops(const struct pagoda_vidmm *vidmm, u64 ops)
{
	return (vidmm->paging_limits->features & ops) == ops;
}

#define OP(name)	BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_##name))

/* Returns true if the device has address spaces and the operations that change page tables. */
static bool tables_possible(const struct pagoda_vidmm *vidmm)
{
	return vidmm->info->va_bits && tables_has_ops(vidmm, OP(UPDATE_PAGE_TABLE) | OP(FLUSH_TLB));
}

/*
 * Returns 0 if the device supports the update mode, or has no address spaces and the mode is the
 * default; else logs an error and returns -ENODEV.
 */
static int tables_check_mode(struct pagoda_vidmm *vidmm, enum virtio_pagoda_update_mode mode)
{
	const char *name = pagoda_vidmm_mode_name(mode);

	if (!tables_possible(vidmm)) {
		/* gpu_physical is the default: don't fail if the user may not have asked for it. */
		if (mode == VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL)
			return 0;
		drm_err(vidmm->drm, "update_mode=%s: the device has no address spaces\n", name);
		return -ENODEV;
	}
	if (mode != VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL ||
	    tables_has_ops(vidmm, OP(VIRTUAL_TRANSFER) | OP(VIRTUAL_FILL)))
		return 0;
	drm_err(vidmm->drm, "update_mode=%s: the device can't page by virtual addresses\n", name);
	return -ENODEV;
}

/**
 * pagoda_vidmm_mode_name() - Name of an update mode, as the module parameter spells it
 * @mode: Any value
 *
 * Context: Any.
 * Return: The name, or NULL if there is no such mode.
 */
const char *pagoda_vidmm_mode_name(u32 mode)
{
	static const char * const names[] = {
		[VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL] = "cpu_virtual",
		[VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL] = "gpu_virtual",
		[VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL] = "gpu_physical",
	};

	return mode < ARRAY_SIZE(names) ? names[mode] : NULL;
}

/* Returns true if the device has address spaces that the driver can use. */
bool pagoda_vidmm_has_tables(struct pagoda_vidmm *vidmm)
{
	return vidmm->mmu;
}

static void tables_note_flush(void *arg, const struct virtio_pagoda_packet *packet)
{
	bool *flushes = arg;

	*flushes |= le16_to_cpu(packet->opcode) == VIRTIO_PAGODA_OP_FLUSH_TLB;
}

/*
 * Sets the roots of all address spaces again, up to the first error. Returns whether all were set;
 * false if an earlier call met an error and the device wasn't reset since.
 */
static bool tables_repeat_roots(struct pagoda_vidmm *vidmm)
{
	u32 space, count = vidmm->info->max_address_spaces;
	bool deaf;
	int ret = 0;

	mutex_lock(&vidmm->control_lock);
	for (space = 0; !vidmm->deaf && space < count; space++) {
		if (vidmm->roots[space].entries)
			ret = tables_command_root(vidmm, space, &vidmm->roots[space]);
		WRITE_ONCE(vidmm->deaf, ret);
	}
	deaf = vidmm->deaf;
	mutex_unlock(&vidmm->control_lock);
	return !deaf;
}

/**
 * pagoda_tables_rescued() - Repair the device's TLB after the CPU executed paging packets
 * @vidmm: The manager
 * @sub: Submission with the packets
 * @start: Offset of the first packet that the CPU executed
 *
 * A FLUSH_TLB among the packets that the CPU executed didn't reach the device, which still caches
 * translations. If there is such a FLUSH_TLB, sets the roots of all address spaces on the device
 * again, for which the device drops the translations of these spaces. If a SET_ROOT fails, sets
 * &pagoda_vidmm.deaf; then this function sets no further root until pagoda_tables_forget().
 *
 * Context: dma_fence signalling path: doesn't allocate. The device executes nothing of the
 * paging queue meanwhile.
 * Return: false if a FLUSH_TLB has no effect on the device, which therefore needs a reset before
 * the fence of @sub signals.
 */
bool pagoda_tables_rescued(struct pagoda_vidmm *vidmm, const struct pagoda_submission *sub,
			   u32 start)
{
	bool flushes = false;

	/* A CPU executor with an aperture executes all paging buffers: no engine exists then. */
	if (!vidmm->mmu || vidmm->executor->aperture)
		return true;
	pagoda_paging_walk(sub->data, sub->built, start, tables_note_flush, &flushes);
	return !flushes || tables_repeat_roots(vidmm);
}

/**
 * pagoda_tables_forget() - Forget all roots of page tables, because the device was reset
 * @vidmm: The manager
 *
 * Also clears &pagoda_vidmm.deaf, which says that the device failed a SET_ROOT.
 *
 * Context: May sleep.
 */
void pagoda_tables_forget(struct pagoda_vidmm *vidmm)
{
	if (!vidmm->mmu)
		return;
	mutex_lock(&vidmm->control_lock);
	memset(vidmm->roots, 0, vidmm->info->max_address_spaces * sizeof(*vidmm->roots));
	WRITE_ONCE(vidmm->deaf, false);
	mutex_unlock(&vidmm->control_lock);
}

/**
 * pagoda_tables_init() - Set up page tables and the paging process
 * @vidmm: The manager; its stream and executor are set up
 * @args: Update mode asked for
 *
 * If the device has no address spaces, &pagoda_vidmm.mmu stays NULL.
 *
 * Context: Probe; may sleep.
 * Return: 0; -ENODEV if the device doesn't support the update mode; -ENOMEM; or an error of
 * pagoda_mmu_create(), such as the errno with which the device refused SET_ROOT.
 */
int pagoda_tables_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_cpu_executor *exec = vidmm->executor;
	const struct pagoda_mmu_args mmu = {
		.limits = vidmm->paging_limits,
		.mode = args->update_mode,
		.invalid_not_cached = vidmm->info->invalid_not_cached,
		.ops = &tables_ops,
		.owner = vidmm,
	};
	int ret = tables_check_mode(vidmm, args->update_mode);

	if (ret || !tables_possible(vidmm))
		return ret;
	vidmm->roots = kvcalloc(vidmm->info->max_address_spaces, sizeof(*vidmm->roots),
				GFP_KERNEL);
	if (!vidmm->roots)
		return -ENOMEM;
	vidmm->mmu = pagoda_mmu_create(&mmu);
	if (IS_ERR(vidmm->mmu)) {
		ret = PTR_ERR(vidmm->mmu);
		vidmm->mmu = NULL;
		kvfree(vidmm->roots);
		vidmm->roots = NULL;
		return ret;
	}
	exec->roots = vidmm->roots;
	exec->context = vidmm;
	exec->table_page = tables_page;
	return 0;
}

/**
 * pagoda_tables_fini() - Undo pagoda_tables_init()
 * @vidmm: The manager; nothing is in flight, and only the paging process has a space
 *
 * Context: May sleep.
 */
void pagoda_tables_fini(struct pagoda_vidmm *vidmm)
{
	if (!vidmm->mmu)
		return;
	pagoda_mmu_destroy(vidmm->mmu);
	flush_workqueue(vidmm->ttm.wq);
	kvfree(vidmm->roots);
}
