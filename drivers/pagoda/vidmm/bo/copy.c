// SPDX-License-Identifier: GPL-2.0
/*
 * Copies: the system pages that an allocation was brought to VRAM from, kept while the allocation
 * is in VRAM.
 *
 * If the device tracks what it writes (VIRTIO_PAGODA_F_DIRTY), allocations keep their pages as long
 * as there is room, if copy_is_wanted(). When an allocation leaves VRAM, the device copies to these
 * pages only the parts, of VIRTIO_PAGODA_DIRTY_BLOCK bytes, that were written since, by whatever
 * job or packet. The device finds out which parts these are when it executes the copy: then all
 * earlier writes are known, and the driver needn't wait for them. The parts that the CPU may have
 * written are known from page faults, and copied, too. Only if the content moved within VRAM, or
 * was lost, all of it is copied (written.c).
 *
 * The rest of this comment is about devices without dirty tracking. An allocation that its client
 * evicts with NOT_WRITTEN_TO gets these pages back as they are: nothing is copied out, and the
 * device is told that the content in VRAM is discarded (C155). Copies are kept for allocations on a
 * residency list, unless the last EVICT of the allocation came without this flag: if the allocation
 * is written anyway, a copy would only cost memory.
 *
 * Events, and what the copy holds afterwards:
 *
 *	The allocation comes to VRAM.			The content of VRAM.
 *	EVICT without NOT_WRITTEN_TO, or the allocation	Outdated content, as the allocation may
 *	leaves a residency list for another reason.	have been written.
 *	A job uses the allocation while it is on no	Outdated content: a NOT_WRITTEN_TO later
 *	residency list. Any job of a VM uses all	covers only the time since the allocation
 *	private allocations of the VM.			was made resident.
 *	The CPU may write from now on.			Outdated content.
 *	The content in VRAM is lost.			Outdated content.
 *	EVICT with NOT_WRITTEN_TO takes the allocation	The content of VRAM ("clean"), if it isn't
 *	off the last residency list.			outdated: until the allocation is used or
 *							made resident again, it leaves VRAM
 *							without being copied.
 *
 * If the GPU writes in spite of NOT_WRITTEN_TO, the written data is gone when the allocation leaves
 * VRAM, as with WDDM: the content is that client's own. If several clients have handles of an
 * allocation, none knows what jobs of the others wrote: such an allocation gets no copy, and a copy
 * that it has counts as outdated.
 *
 * A copy is a TTM object of its own, in the LRU list from which TTM swaps out first. The oldest
 * copies are freed when the kernel needs memory (shrinker), and when a new copy has no room below
 * &pagoda_copies.limit (copy_charge()), so that no client keeps others from having copies. The
 * owner of the allocation is told in its fdinfo what its copies take. When an allocation leaves
 * VRAM, its content is copied to the pages of its copy even if these hold outdated content.
 */
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <drm/drm_gem.h>
#include <drm/drm_managed.h>
#include "core/compat.h"
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "bo.h"
#include "internal.h"

/*
 * Jiffies until the pages of copies that couldn't be freed, because other threads have locked the
 * copies, are tried again: DELAY_MIN at first, then twice the delay before, at most DELAY_MAX.
 */
#define DELAY_MIN	1
#define DELAY_MAX	HZ

/*
 * struct pagoda_copy - system pages that hold an allocation's content while it is in VRAM
 * @ttm: object with the pages and a reservation of its own
 * @bo: allocation that the copy is for; NULL once the copy is created
 * @link: entry in &pagoda_copies.list, &pagoda_copies.unwanted or &pagoda_copies.locked
 * @listed: @link is in &pagoda_copies.list; protected by &pagoda_copies.lock
 * @client: client that owns the allocation, a reference; or NULL
 * @blocks: number of parts of %VIRTIO_PAGODA_DIRTY_BLOCK bytes; the last part may be shorter
 * @touched: parts that the CPU may have written in VRAM since the copy was made; protected by the
 *	reservation of the allocation
 * @charged: the pages count in &pagoda_copies.bytes and &pagoda_client.copies
 */
struct pagoda_copy {
	struct ttm_buffer_object ttm;
	struct pagoda_vidmm *vidmm;
	const struct pagoda_bo *bo;
	struct list_head link;
	bool listed;
	struct pagoda_client *client;
	bool charged;
	u32 blocks;
	unsigned long touched[];
};

static struct pagoda_copy *copy_of_ttm(struct ttm_buffer_object *bo)
{
	return container_of(bo, struct pagoda_copy, ttm);
}

/* ---- Kept copies and their pages ------------------------------------------------ */

static unsigned long copy_pages(const struct pagoda_copy *copy)
{
	return copy->ttm.base.size >> PAGE_SHIFT;
}

/* Adds a copy to @copies->list. */
static void copy_enlist(struct pagoda_copies *copies, struct pagoda_copy *copy)
{
	spin_lock(&copies->lock);
	list_add_tail(&copy->link, &copies->list);
	copy->listed = true;
	WRITE_ONCE(copies->listed, copies->listed + copy_pages(copy));
	spin_unlock(&copies->lock);
}

/* Takes a copy off the list that it is in, if any. Caller holds @copies->lock. */
static void copy_delist(struct pagoda_copies *copies, struct pagoda_copy *copy)
{
	lockdep_assert_held(&copies->lock);
	list_del_init(&copy->link);
	if (copy->listed)
		WRITE_ONCE(copies->listed, copies->listed - copy_pages(copy));
	copy->listed = false;
}

/*
 * Moves the oldest copies from @copies->list to @copies->unwanted, until these have @pages pages or
 * the list is empty, and has copies_work() free them, because the caller may not take their
 * reservations. Returns the number of their pages.
 */
static unsigned long copies_give_up(struct pagoda_vidmm *vidmm, unsigned long pages)
{
	struct pagoda_copies *copies = vidmm->copies;
	struct pagoda_copy *copy, *next;
	unsigned long found = 0;

	spin_lock(&copies->lock);
	list_for_each_entry_safe(copy, next, &copies->list, link) {
		if (found >= pages)
			break;
		copy_delist(copies, copy);
		list_add_tail(&copy->link, &copies->unwanted);
		found += copy_pages(copy);
	}
	spin_unlock(&copies->lock);
	if (found)
		queue_work(copies->wq, &copies->work);
	return found;
}

/*
 * Charges a copy of @bytes bytes to &pagoda_copies.bytes. Returns false if the sum would exceed the
 * limit: then nothing is charged, but copies_give_up() has the oldest copies freed, so that there
 * is room next time, unless @bytes alone exceed the limit.
 */
static bool copy_charge(struct pagoda_vidmm *vidmm, u64 bytes)
{
	struct pagoda_copies *copies = vidmm->copies;
	u64 limit = READ_ONCE(copies->limit);

	if (atomic64_add_return(bytes, &copies->bytes) <= limit)
		return true;
	atomic64_sub(bytes, &copies->bytes);
	if (bytes <= limit)
		copies_give_up(vidmm, bytes >> PAGE_SHIFT);
	return false;
}

/*
 * The pages of a copy were freed: subtracts its size from &pagoda_copies.bytes and from its
 * client's count, unless that was done before.
 */
static void copy_uncharge(struct pagoda_copy *copy)
{
	if (copy->charged)
		atomic64_sub(copy->ttm.base.size, &copy->vidmm->copies->bytes);
	if (copy->charged && copy->client)
		atomic64_sub(copy->ttm.base.size, &copy->client->copies);
	copy->charged = false;
}

static void copy_unlink(struct pagoda_copy *copy)
{
	struct pagoda_copies *copies = copy->vidmm->copies;

	spin_lock(&copies->lock);
	copy_delist(copies, copy);
	spin_unlock(&copies->lock);
}

/* A thread has unlocked a copy: if the copy couldn't be freed before, has that tried again now. */
static void copy_was_locked(struct pagoda_copy *copy)
{
	struct pagoda_copies *copies = copy->vidmm->copies;

	spin_lock(&copies->lock);
	if (!copy->listed && !list_empty(&copy->link))
		mod_delayed_work(copies->wq, &copies->retry, 0);
	spin_unlock(&copies->lock);
}

static void copy_destroy(struct ttm_buffer_object *ttm_bo)
{
	struct pagoda_copy *copy = copy_of_ttm(ttm_bo);

	copy_unlink(copy);
	copy_uncharge(copy);
	if (copy->client)
		pagoda_client_put(copy->client);
	drm_gem_object_release(&ttm_bo->base);
	kvfree(copy);
}

static void copy_gem_free(struct drm_gem_object *obj)
{
	ttm_bo_fini(drm_gem_ttm_of_gem(obj));
}

/* A copy is a GEM object only for its reference count: no client has a handle of a copy. */
static const struct drm_gem_object_funcs copy_gem_funcs = {
	.free = copy_gem_free,
};

/*
 * Drops the allocation's reference to a copy. The copy is unlinked first: TTM frees the pages only
 * once the copy's fences have signalled, and until then the shrinker must not find the copy.
 */
static void copy_free(struct pagoda_copy *copy)
{
	copy_unlink(copy);
	drm_gem_object_put(&copy->ttm.base);
}

/*
 * Returns the allocation that a copy is being made for, or NULL if @bo isn't a copy under
 * construction.
 */
const struct pagoda_bo *pagoda_copy_owner(struct ttm_buffer_object *bo)
{
	return bo->destroy == copy_destroy ? copy_of_ttm(bo)->bo : NULL;
}

/*
 * Returns a new struct pagoda_copy for @bo, without pages, with its reservation held and a slot for
 * a fence reserved; NULL without memory, or if @bo doesn't fit into &pagoda_copies.limit any more.
 */
static struct pagoda_copy *copy_create(struct pagoda_bo *bo)
{
	static const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &system };
	struct ttm_operation_ctx ctx = {};
	u32 blocks = DIV_ROUND_UP_ULL(bo->ttm.base.size, VIRTIO_PAGODA_DIRTY_BLOCK);
	struct pagoda_copy *copy;

	copy = kvzalloc(struct_size(copy, touched, BITS_TO_LONGS(blocks)), GFP_KERNEL_ACCOUNT);
	if (!copy || !copy_charge(bo->vidmm, bo->ttm.base.size)) {
		kvfree(copy);
		return NULL;
	}
	copy->blocks = blocks;
	copy->vidmm = bo->vidmm;
	copy->bo = bo;
	copy->charged = true;
	copy->client = bo->client;
	if (copy->client) {
		kref_get(&copy->client->kref);
		atomic64_add(bo->ttm.base.size, &copy->client->copies);
	}
	INIT_LIST_HEAD(&copy->link);
	copy->ttm.base.funcs = &copy_gem_funcs;
	drm_gem_private_object_init(bo->vidmm->drm, &copy->ttm.base, bo->ttm.base.size);
	/* On failure ttm_bo_init_reserved() calls copy_destroy(). */
	if (ttm_bo_init_reserved(&bo->vidmm->ttm, &copy->ttm, ttm_bo_type_kernel, &placement, 1,
				 &ctx, NULL, NULL, copy_destroy))
		return NULL;
	copy->bo = NULL;
	if (!dma_resv_reserve_fences(copy->ttm.base.resv, 1))
		return copy;
	dma_resv_unlock(copy->ttm.base.resv);
	drm_gem_object_put(&copy->ttm.base);
	return NULL;
}

/*
 * Returns whether the system pages of an allocation that moves to VRAM are to be kept. With or
 * without dirty tracking, not if its content is lost, if it is tiled, because rows in a copy differ
 * from tiles in VRAM, or if it is imported or made by the driver itself. Without dirty tracking,
 * only if it is on a residency list, because only then clients say whether they wrote, its last
 * EVICT, if any, had NOT_WRITTEN_TO, and it never had several handles.
 */
static bool copy_is_wanted(const struct pagoda_bo *bo)
{
	bool tracked = bo->vidmm->info->features & BIT_ULL(VIRTIO_PAGODA_F_DIRTY);

	return (tracked || (READ_ONCE(bo->content.keeps_copy) &&
			    atomic_read(&bo->wish.required) &&
			    !READ_ONCE(bo->choice.handed_out))) &&
	       !bo->tiling.layout.tiling && !bo->share.imported &&
	       bo->ttm.type == ttm_bo_type_device && !READ_ONCE(bo->content.unclean);
}

/**
 * pagoda_copy_keep() - Keep the pages that an allocation is brought to VRAM from
 * @bo: Allocation with populated pages, reservation held; TTM isn't told of the move yet
 * @reader: Fence of the move to VRAM, which reads the pages
 *
 * If a copy is wanted and not too many pages are kept already, the pages of @bo become
 * &pagoda_bo.content.copy, and @bo gets a new tt without pages. Otherwise @bo doesn't change.
 *
 * Context: May sleep and allocate.
 */
void pagoda_copy_keep(struct pagoda_bo *bo, struct dma_fence *reader)
{
	struct pagoda_copy *copy;

	dma_resv_assert_held(bo->ttm.base.resv);
	if (!copy_is_wanted(bo) || WARN_ON(bo->content.copy))
		return;
	copy = copy_create(bo);
	if (!copy)
		return;
	swap(copy->ttm.ttm, bo->ttm.ttm);
	dma_resv_add_fence(copy->ttm.base.resv, reader, DMA_RESV_USAGE_KERNEL);
	bo->content.copy = copy;
	/* While the copy is locked TTM doesn't free its pages: a copy in the list has pages. */
	copy_enlist(bo->vidmm->copies, copy);
	dma_resv_unlock(copy->ttm.base.resv);
	pagoda_copy_begin(bo);
}

/**
 * pagoda_copy_take() - Give an allocation that leaves VRAM the pages that were kept
 * @bo: Allocation, reservation held
 *
 * Context: Any but interrupts.
 * Return: The copy, locked, which now has the tt that @bo had, to be released with
 * pagoda_copy_put() or pagoda_copy_put_back(); NULL if @bo has no copy, the copy's pages are freed
 * already, or another thread, which may be about to free them, has locked the copy.
 */
struct pagoda_copy *pagoda_copy_take(struct pagoda_bo *bo)
{
	struct pagoda_copy *copy = bo->content.copy;

	dma_resv_assert_held(bo->ttm.base.resv);
	if (!copy || !dma_resv_trylock(copy->ttm.base.resv))
		return NULL;
	if (!ttm_tt_is_populated(copy->ttm.ttm)) {
		dma_resv_unlock(copy->ttm.base.resv);
		return NULL;
	}
	bo->content.copy = NULL;
	swap(copy->ttm.ttm, bo->ttm.ttm);
	return copy;
}

/**
 * pagoda_copy_put_back() - Undo pagoda_copy_take(): the allocation stays in VRAM, and the kept
 * pages weren't written
 * @bo: Allocation, reservation held
 * @copy: From pagoda_copy_take()
 *
 * Context: Any but interrupts.
 */
void pagoda_copy_put_back(struct pagoda_bo *bo, struct pagoda_copy *copy)
{
	dma_resv_assert_held(bo->ttm.base.resv);
	swap(copy->ttm.ttm, bo->ttm.ttm);
	bo->content.copy = copy;
	dma_resv_unlock(copy->ttm.base.resv);
	copy_was_locked(copy);
}

/**
 * pagoda_copy_put() - Free a copy that pagoda_copy_take() returned
 * @bo: Allocation, reservation held
 * @copy: Copy with the tt that pagoda_copy_take() took from @bo
 * @left: The allocation left VRAM and has the kept pages now; else the move failed, and the kept
 *	pages, which may be half written, are swapped back to be freed with the copy
 *
 * Context: May sleep for long: TTM may wait for the device.
 */
void pagoda_copy_put(struct pagoda_bo *bo, struct pagoda_copy *copy, bool left)
{
	if (!left)
		swap(copy->ttm.ttm, bo->ttm.ttm);
	/*
	 * TTM frees the pages of an object without fences at once: give the copy the fences
	 * of @bo, which signal when the device doesn't use the pages any more.
	 */
	dma_resv_copy_fences(copy->ttm.base.resv, bo->ttm.base.resv);
	dma_resv_unlock(copy->ttm.base.resv);
	copy_free(copy);
}

/**
 * pagoda_copy_touched() - Note that the CPU may write to a part of an allocation in VRAM
 * @bo: Allocation, which may have no copy; reservation held
 * @offset: First byte that the CPU may write
 * @size: Bytes from @offset on, not 0; may reach beyond the end of the allocation
 *
 * Context: Any but interrupts.
 */
void pagoda_copy_touched(struct pagoda_bo *bo, u64 offset, u64 size)
{
	struct pagoda_copy *copy = bo->content.copy;
	u64 first = div_u64(offset, VIRTIO_PAGODA_DIRTY_BLOCK);
	u64 end = DIV_ROUND_UP_ULL(offset + size, VIRTIO_PAGODA_DIRTY_BLOCK);

	dma_resv_assert_held(bo->ttm.base.resv);
	if (!copy)
		return;
	bitmap_set(copy->touched, first, min_t(u64, end, copy->blocks) - first);
	pagoda_copy_expect_written(bo);
}

/**
 * pagoda_copy_is_touched() - Test whether the CPU may have written to a part of an allocation
 * @copy: Copy of the allocation, from pagoda_copy_take()
 * @offset: First byte of the part
 * @size: Bytes of the part, not 0; reduced to the bytes from @offset on for which the answer is
 *	equal
 *
 * Context: Any.
 * Return: Whether the part has to be copied, whatever the device knows.
 */
bool pagoda_copy_is_touched(const struct pagoda_copy *copy, u64 offset, u64 *size)
{
	u32 block = div_u64(offset, VIRTIO_PAGODA_DIRTY_BLOCK), end;
	bool touched = test_bit(block, copy->touched);

	end = touched ? find_next_zero_bit(copy->touched, copy->blocks, block) :
			find_next_bit(copy->touched, copy->blocks, block);
	*size = min(*size, (u64)end * VIRTIO_PAGODA_DIRTY_BLOCK - offset);
	return touched;
}

/*
 * Frees the copy of an allocation, if there is a copy. May sleep for long: TTM may wait for the
 * device. The allocation's reservation is held, or the allocation has no reference any more.
 */
void pagoda_copy_drop(struct pagoda_bo *bo)
{
	struct pagoda_copy *copy = bo->content.copy;

	if (!copy)
		return;
	bo->content.copy = NULL;
	copy_free(copy);
}

/*
 * Returns whether an allocation, whose reservation is held, has a kept copy whose pages haven't
 * been freed.
 */
bool pagoda_copy_has_pages(const struct pagoda_bo *bo)
{
	dma_resv_assert_held(bo->ttm.base.resv);
	return bo->content.copy && READ_ONCE(bo->content.copy->charged);
}

/**
 * pagoda_copy_swap_notify() - ttm_device_funcs.swap_notify for objects that aren't allocations
 * @bo: TTM object that shall give up its pages; reservation held
 *
 * If @bo is a copy, frees its pages, so that TTM finds nothing to swap out: the content is in VRAM.
 * A copy without pages is in no list. If @bo isn't a copy, does nothing.
 *
 * Context: May sleep.
 */
void pagoda_copy_swap_notify(struct ttm_buffer_object *bo)
{
	struct ttm_placement nowhere = {};
	struct ttm_operation_ctx ctx = {};

	if (bo->destroy != copy_destroy || ttm_bo_validate(bo, &nowhere, &ctx))
		return;
	copy_unlink(copy_of_ttm(bo));
	copy_uncharge(copy_of_ttm(bo));
}

/* ---- Shrinker of kept copies ---------------------------------------------------- */

/*
 * Returns the number of pages of copies in &pagoda_copies.list, which copies_scan() can have freed;
 * SHRINK_EMPTY if there are none.
 */
static unsigned long copies_shrinkable(struct shrinker *shrinker, struct shrink_control *sc)
{
	const struct pagoda_vidmm *vidmm = shrinker->private_data;

	return READ_ONCE(vidmm->copies->listed) ?: SHRINK_EMPTY;
}

/*
 * Has copies_give_up() free the oldest copies later. Returns the number of their pages, or
 * SHRINK_STOP if there is no copy.
 */
static unsigned long copies_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	return copies_give_up(shrinker->private_data, sc->nr_to_scan) ?: SHRINK_STOP;
}

/*
 * Takes a copy off @copies->unwanted, or, if that is empty and @any is set, the oldest copy off
 * @copies->list, and returns the copy with a reference; NULL if none is left. Skips copies without
 * references, which are being freed.
 */
static struct pagoda_copy *copies_next(struct pagoda_copies *copies, bool any)
{
	struct pagoda_copy *copy;

	spin_lock(&copies->lock);
	do {
		copy = list_first_entry_or_null(&copies->unwanted, struct pagoda_copy, link);
		if (!copy && any)
			copy = list_first_entry_or_null(&copies->list, struct pagoda_copy, link);
		if (copy)
			copy_delist(copies, copy);
	} while (copy && !kref_get_unless_zero(&copy->ttm.base.refcount));
	spin_unlock(&copies->lock);
	return copy;
}

/*
 * Frees the pages of a copy, which is in no list, and returns their number; 0 if they were freed
 * before. If another thread has locked the copy, or TTM can't free the pages now, adds the copy to
 * @copies->locked and returns 0.
 */
static unsigned long copy_try_free(struct pagoda_copies *copies, struct pagoda_copy *copy)
{
	bool locked = dma_resv_trylock(copy->ttm.base.resv), had = READ_ONCE(copy->charged);

	if (locked) {
		pagoda_copy_swap_notify(&copy->ttm);
		dma_resv_unlock(copy->ttm.base.resv);
	}
	if (!READ_ONCE(copy->charged))
		return locked && had ? copy_pages(copy) : 0;
	spin_lock(&copies->lock);
	list_move_tail(&copy->link, &copies->locked);
	spin_unlock(&copies->lock);
	return 0;
}

/* If there are copies in @copies->locked, has these tried again after &pagoda_copies.delay. */
static void copies_retry_later(struct pagoda_copies *copies)
{
	spin_lock(&copies->lock);
	if (list_empty(&copies->locked))
		copies->delay = DELAY_MIN;
	else if (queue_delayed_work(copies->wq, &copies->retry, copies->delay))
		copies->delay = min_t(unsigned long, 2 * copies->delay, DELAY_MAX);
	spin_unlock(&copies->lock);
}

/*
 * Frees copies in @copies->unwanted, and with @any then the oldest others, until @pages pages are
 * freed. Moves copies that can't be freed now to @copies->locked, for copies_retry(). Returns the
 * number of pages freed.
 */
static unsigned long copies_free(struct pagoda_copies *copies, unsigned long pages, bool any)
{
	unsigned long freed = 0;
	struct pagoda_copy *copy;

	while (freed < pages && (copy = copies_next(copies, any))) {
		freed += copy_try_free(copies, copy);
		drm_gem_object_put(&copy->ttm.base);
	}
	copies_retry_later(copies);
	return freed;
}

static void copies_work(struct work_struct *work)
{
	copies_free(container_of(work, struct pagoda_copies, work), ULONG_MAX, false);
}

static void copies_try_again(struct pagoda_copies *copies)
{
	lockdep_assert_held(&copies->lock);
	list_splice_tail_init(&copies->locked, &copies->unwanted);
	queue_work(copies->wq, &copies->work);
}

/*
 * Has copies_work() try the copies in &pagoda_copies.locked again. The threads that have locked
 * them may wait for jobs: while these go on, each try costs little, and there are few tries.
 */
static void copies_retry(struct work_struct *work)
{
	struct pagoda_copies *copies = container_of(to_delayed_work(work), struct pagoda_copies,
						    retry);

	spin_lock(&copies->lock);
	copies_try_again(copies);
	spin_unlock(&copies->lock);
}

/**
 * pagoda_copies_reclaim() - Free the pages of copies, because an allocation finds no pages
 * @vidmm: Memory manager
 * @pages: Pages to free at least, those of the oldest copies that no other thread has locked
 *
 * Context: May sleep; reservations of allocations may be held.
 * Return: Whether any copy was freed. Copies that other threads have locked are freed later.
 */
bool pagoda_copies_reclaim(struct pagoda_vidmm *vidmm, unsigned long pages)
{
	return copies_free(vidmm->copies, pages, true);
}

/* Sets up &pagoda_vidmm.copies, without any copy, and the shrinker. Returns 0 or -ENOMEM. */
int pagoda_copies_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_copies *copies;

	copies = drmm_kzalloc(vidmm->drm, sizeof(*copies), GFP_KERNEL);
	if (!copies)
		return -ENOMEM;
	vidmm->copies = copies;
	spin_lock_init(&copies->lock);
	INIT_LIST_HEAD(&copies->list);
	INIT_LIST_HEAD(&copies->unwanted);
	INIT_LIST_HEAD(&copies->locked);
	INIT_WORK(&copies->work, copies_work);
	INIT_DELAYED_WORK(&copies->retry, copies_retry);
	copies->delay = DELAY_MIN;
	/* By default a quarter of RAM: half of the pages that TTM uses at most. */
	copies->limit = args->copies_limit ?: (u64)totalram_pages() << PAGE_SHIFT >> 2;
	/* Not TTM's work queue: copies wait for the device, and would hold up what TTM frees. */
	copies->wq = alloc_workqueue("pagoda-copies", WQ_MEM_RECLAIM | WQ_UNBOUND, 1);
	if (!copies->wq)
		return -ENOMEM;
	copies->shrinker = shrinker_alloc(0, "drm-pagoda-copies");
	if (!copies->shrinker) {
		destroy_workqueue(copies->wq);
		return -ENOMEM;
	}
	copies->shrinker->count_objects = copies_shrinkable;
	copies->shrinker->scan_objects = copies_scan;
	copies->shrinker->private_data = vidmm;
	shrinker_register(copies->shrinker);
	return 0;
}

/*
 * Unregisters the shrinker, and ends the work items that free copies: from now on a copy is freed
 * only with its allocation, or by the thread that needs pages. May sleep.
 */
void pagoda_copies_stop(struct pagoda_vidmm *vidmm)
{
	struct pagoda_copies *copies = vidmm->copies;

	shrinker_free(copies->shrinker);
	copies->shrinker = NULL;
	disable_delayed_work_sync(&copies->retry);
	disable_work_sync(&copies->work);
}

/* Undoes pagoda_copies_init() when all copies are freed. May sleep. */
void pagoda_copies_fini(struct pagoda_vidmm *vidmm)
{
	pagoda_copies_stop(vidmm);
	destroy_workqueue(vidmm->copies->wq);
}
