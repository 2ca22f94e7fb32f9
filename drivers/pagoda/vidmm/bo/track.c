// SPDX-License-Identifier: GPL-2.0
/*
 * Tracking of what the GPU writes to an allocation, for the client that owns it (TRACK).
 *
 * The device has a bit for each page of VRAM (VIRTIO_PAGODA_DIRTY_OWNER). A query fetches and
 * clears the bits of the pages in question. The bits follow the allocation as far as that is
 * possible without a wait for jobs; a page of which nothing is known is reported as written:
 *
 *	The allocation leaves VRAM, idle	Its bits are fetched before. All pages count as
 *						written if that fails or it has too many ranges.
 *	It leaves VRAM while jobs use it	All pages count as written: a job may still write
 *						after the fetch.
 *	It comes to VRAM			The copy clears the bits of its new pages; a fill,
 *						or the copy of a tiled surface, sets them.
 *	It is, or was, in the aperture, or	All pages count as written: the device has bits
 *	it moves within VRAM			for VRAM only, and the CPU may execute the move
 *						instead of the device.
 *	The device was reset			All pages count as written.
 */
#include <linux/bitmap.h>
#include <linux/slab.h>
#include "core/core.h"
#include "core/life.h"
#include "core/transport.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/segment/segment.h"
#include "bo.h"

/*
 * Most contiguous ranges of VRAM that an allocation has for its bits to be fetched when it leaves
 * VRAM: with more, all its pages count as written.
 */
#define TRACK_RANGES	16u
/*
 * Most control commands by which track_fetch() fetches bits; a range takes one for each
 * VIRTIO_PAGODA_MAX_DIRTY_PAGES pages or part of them. There is a limit because a reset of the
 * device has to wait until a call of a client that sends these commands has ended.
 */
#define TRACK_MOST	256u

/*
 * struct pagoda_track - tracking of an allocation
 * @client: client that tracks, for comparison only
 * @epoch: pagoda_reset_epoch() at the start or at the last query
 * @pages: number of pages
 * @bits: pages written since they were last reported, but for those that the device has bits of
 *
 * Protected by the allocation's reservation.
 */
struct pagoda_track {
	const struct pagoda_client *client;
	u64 epoch;
	u64 pages;
	unsigned long bits[];
};

/*
 * Starts the device's tracker for all of VRAM, unless it was started since the last reset. Returns
 * 0 or a negative errno.
 */
static int track_begin(struct pagoda_vidmm *vidmm)
{
	const struct pagoda_command command = {
		.type = VIRTIO_PAGODA_CONTROL_START_DIRTY,
		.index = VIRTIO_PAGODA_DIRTY_OWNER,
		.size = vidmm->info->vram_size,
	};
	u64 mark = pagoda_reset_epoch(vidmm) + 1;
	int ret = 0;

	mutex_lock(&vidmm->control_lock);
	if (vidmm->tracks != mark)
		ret = pagoda_vidmm_command_locked(vidmm, &command);
	if (!ret)
		vidmm->tracks = mark;
	mutex_unlock(&vidmm->control_lock);
	return ret == -EINVAL ? -EIO : ret;
}

/*
 * Fetches and clears the device's bits of a contiguous range of VRAM, which begins at page @page of
 * the allocation, and sets track->bits accordingly. @words is a buffer for the device's answer.
 * Returns 0 or a negative errno.
 */
static int track_fetch_range(struct pagoda_bo *bo, u64 address, u64 size, u64 page, u64 *words)
{
	const struct pagoda_command command = {
		.type = VIRTIO_PAGODA_CONTROL_QUERY_DIRTY,
		.index = VIRTIO_PAGODA_DIRTY_OWNER,
		.address = address,
		.size = size,
		.words = words,
	};
	int ret = pagoda_vidmm_command(bo->vidmm, &command);
	u64 i;

	for (i = 0; i < size >> PAGE_SHIFT && !ret; i++)
		if (words[i / 64] & BIT_ULL(i % 64))
			__set_bit(page + i, bo->content.track->bits);
	return ret == -EINVAL ? -EIO : ret;
}

/*
 * Fetches and clears the device's bits of @size bytes from @offset on of an allocation in VRAM, and
 * sets track->bits accordingly. Pages whose bits TRACK_MOST control commands didn't fetch count as
 * written. Returns 0; or a negative errno: then some bits weren't fetched.
 */
static int track_fetch(struct pagoda_bo *bo, u64 offset, u64 size)
{
	u64 *words = kmalloc(VIRTIO_PAGODA_MAX_DIRTY_PAGES / 8, GFP_KERNEL);
	struct pagoda_vram_cursor cur;
	u64 part, done = 0;
	u32 ranges = 0;
	int ret = 0;

	if (!words)
		return -ENOMEM;
	pagoda_vram_first(&cur, bo->ttm.resource, offset, size);
	for (; cur.size && !ret && ranges < TRACK_MOST; ranges++) {
		part = min_t(u64, cur.size, (u64)VIRTIO_PAGODA_MAX_DIRTY_PAGES << PAGE_SHIFT);
		ret = track_fetch_range(bo, cur.address, part, (offset + done) >> PAGE_SHIFT,
					words);
		pagoda_vram_next(&cur, part);
		done += part;
	}
	if (cur.size && !ret)
		bitmap_set(bo->content.track->bits, (offset + done) >> PAGE_SHIFT,
			   (size - done) >> PAGE_SHIFT);
	kfree(words);
	return ret;
}

static void track_fill(struct pagoda_track *track)
{
	bitmap_fill(track->bits, track->pages);
}

/**
 * pagoda_track_moves() - Keep what is known of an allocation's pages when it moves
 * @bo: Allocation, reservation held; its GPU and CPU mappings may still be valid
 * @to: Resource that the allocation moves to
 *
 * Fetches the device's bits if the allocation leaves VRAM, and sets track->bits. If the bits can't
 * be fetched or are in more than TRACK_RANGES ranges, jobs still use the allocation, the allocation
 * moves within VRAM, or comes from the aperture, all its pages count as written. Does nothing for
 * an allocation that comes from system memory or isn't tracked.
 *
 * Context: May sleep and allocate; sends control commands, but doesn't wait for jobs.
 */
void pagoda_track_moves(struct pagoda_bo *bo, const struct ttm_resource *to)
{
	struct ttm_resource *from = bo->ttm.resource;
	struct dma_resv *resv = bo->ttm.base.resv;

	dma_resv_assert_held(resv);
	if (!bo->content.track || !from || from->mem_type == TTM_PL_SYSTEM)
		return;
	if (from->mem_type != TTM_PL_VRAM || to->mem_type == TTM_PL_VRAM ||
	    pagoda_vram_count_ranges(from) > TRACK_RANGES ||
	    !dma_resv_test_signaled(resv, DMA_RESV_USAGE_BOOKKEEP) ||
	    track_fetch(bo, 0, bo->ttm.base.size))
		track_fill(bo->content.track);
}

/*
 * Begins the tracking by @track: earlier writes don't count, not even if the device has bits of
 * them that track_fetch() fetches. Returns 0; or a negative errno: then @bo isn't tracked.
 */
static int track_reset(struct pagoda_bo *bo, struct pagoda_track *track)
{
	int ret = track_begin(bo->vidmm);

	dma_resv_assert_held(bo->ttm.base.resv);
	WRITE_ONCE(bo->content.track, track);
	if (!ret && pagoda_bo_is_in_vram(bo))
		ret = track_fetch(bo, 0, bo->ttm.base.size);
	bitmap_zero(track->bits, track->pages);
	if (ret)
		WRITE_ONCE(bo->content.track, NULL);
	return ret;
}

/**
 * pagoda_track_start() - Begin to track what the GPU writes to an allocation
 * @bo: Allocation
 * @client: Client that tracks
 *
 * Context: May sleep and allocate. Outside of pagoda_enter() sections; no reservation is held.
 * Return: 0, -EOPNOTSUPP if the device doesn't track writes, -EBUSY if the allocation is tracked
 * already, or another negative errno.
 */
int pagoda_track_start(struct pagoda_bo *bo, const struct pagoda_client *client)
{
	u64 pages = bo->ttm.base.size >> PAGE_SHIFT;
	struct pagoda_track *track;
	int ret;

	if (!(bo->vidmm->info->features & BIT_ULL(VIRTIO_PAGODA_F_DIRTY)))
		return -EOPNOTSUPP;
	track = kvzalloc(struct_size(track, bits, BITS_TO_LONGS(pages)), GFP_KERNEL_ACCOUNT);
	if (!track)
		return -ENOMEM;
	track->client = client;
	track->epoch = pagoda_reset_epoch(bo->vidmm);
	track->pages = pages;
	ret = pagoda_enter(bo->vidmm);
	if (ret)
		goto free;
	ret = dma_resv_lock_interruptible(bo->ttm.base.resv, NULL) ? -ERESTARTSYS : 0;
	if (!ret) {
		ret = bo->content.track ? -EBUSY : track_reset(bo, track);
		dma_resv_unlock(bo->ttm.base.resv);
	}
	pagoda_leave(bo->vidmm);
free:
	if (ret)
		kvfree(track);
	return ret;
}

/**
 * pagoda_track_stop() - Stop tracking an allocation
 * @bo: Allocation; its reservation isn't held
 * @client: Client that tracks
 *
 * Context: May sleep.
 * Return: 0, or -ENOENT if @client doesn't track the allocation.
 */
int pagoda_track_stop(struct pagoda_bo *bo, const struct pagoda_client *client)
{
	struct pagoda_track *track;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	track = bo->content.track;
	if (track && track->client != client)
		track = NULL;
	if (track)
		WRITE_ONCE(bo->content.track, NULL);
	dma_resv_unlock(bo->ttm.base.resv);
	kvfree(track);
	return track ? 0 : -ENOENT;
}

/* Frees the tracking of an allocation that has no reference any more. */
void pagoda_track_fini(struct pagoda_bo *bo)
{
	kvfree(bo->content.track);
	bo->content.track = NULL;
}

/* Brings track->bits of @size bytes from @offset on up to date. Returns 0 or a negative errno. */
static int track_update(struct pagoda_bo *bo, u64 offset, u64 size)
{
	struct pagoda_track *track = bo->content.track;
	u64 epoch = pagoda_reset_epoch(bo->vidmm);
	u32 place = bo->ttm.resource ? bo->ttm.resource->mem_type : TTM_PL_SYSTEM;
	int ret = track_begin(bo->vidmm);

	if (ret)
		return ret;
	if (track->epoch != epoch)
		track_fill(track);
	track->epoch = epoch;
	if (place == TTM_PL_VRAM)
		return track_fetch(bo, offset, size);
	if (place == TTM_PL_TT)
		bitmap_set(track->bits, offset >> PAGE_SHIFT, size >> PAGE_SHIFT);
	return 0;
}

static int track_query(struct pagoda_bo *bo, const struct pagoda_client *client, u64 offset,
		       u64 size, u64 *words)
{
	struct pagoda_track *track = bo->content.track;
	u64 first = offset >> PAGE_SHIFT, i;
	int ret;

	dma_resv_assert_held(bo->ttm.base.resv);
	if (!track || track->client != client)
		return -ENOENT;
	ret = track_update(bo, offset, size);
	for (i = 0; i < size >> PAGE_SHIFT && !ret; i++)
		if (__test_and_clear_bit(first + i, track->bits))
			words[i / 64] |= BIT_ULL(i % 64);
	return ret;
}

/**
 * pagoda_track_query() - Get and clear the bits of pages that the GPU has written
 * @bo: Allocation
 * @client: Client that tracks
 * @offset: First byte, page aligned
 * @size: Bytes, multiple of the page size, within the allocation
 * @words: Out: bit n % 64 of word n / 64 is set if page n from @offset on may have been written
 *	since the last query that reported it; zeroed by the caller
 *
 * Context: May sleep and allocate. Outside of pagoda_enter() sections; no reservation is held.
 * Return: 0; -ENOENT if @client doesn't track the allocation; another negative errno: no bit is
 * lost.
 */
int pagoda_track_query(struct pagoda_bo *bo, const struct pagoda_client *client, u64 offset,
		       u64 size, u64 *words)
{
	int ret = pagoda_enter(bo->vidmm);

	if (ret)
		return ret;
	ret = dma_resv_lock_interruptible(bo->ttm.base.resv, NULL) ? -ERESTARTSYS : 0;
	if (!ret) {
		ret = track_query(bo, client, offset, size, words);
		dma_resv_unlock(bo->ttm.base.resv);
	}
	pagoda_leave(bo->vidmm);
	return ret;
}

/**
 * pagoda_track_restore() - Undo pagoda_track_query(), whose answer didn't reach the client
 * @bo: Allocation
 * @offset: As for pagoda_track_query()
 * @size: As for pagoda_track_query()
 * @words: Answer of pagoda_track_query()
 *
 * Context: May sleep. No reservation is held.
 */
void pagoda_track_restore(struct pagoda_bo *bo, u64 offset, u64 size, const u64 *words)
{
	u64 i;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	for (i = 0; i < size >> PAGE_SHIFT && bo->content.track; i++)
		if (words[i / 64] & BIT_ULL(i % 64))
			__set_bit((offset >> PAGE_SHIFT) + i, bo->content.track->bits);
	dma_resv_unlock(bo->ttm.base.resv);
}
