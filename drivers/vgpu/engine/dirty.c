// SPDX-License-Identifier: GPL-2.0
/*
 * Dirty tracking: which pages of VRAM were written.
 *
 * Each page of VRAM has a byte, with a bit for each tracker. A write stores ones into the whole
 * byte, after the bytes of the page: a store needs no lock, and costs the same for one tracker as
 * for all. A query clears a single bit of the byte by compare and exchange, so that a write is
 * seen by this query or by the next query (C202), and the other trackers keep their bits (C203).
 *
 * After each write that may be to VRAM, pagoda_engine_wrote() is called with the CPU address of the
 * memory, to which addresses of all kinds are translated; resets mark all pages instead. Memory
 * outside of VRAM isn't tracked.
 */
#include "internal.h"

#define PAGODA_DIRTY_ALL	0xff

static_assert(VIRTIO_PAGODA_DIRTY_TRACKERS == 8, "a byte has a bit for each tracker");

/* Returns whether writes are tracked: constant while the engine executes. */
static bool dirty_is_on(const struct pagoda_engine *engine)
{
	return engine->dirty && engine->features & 1ull << VIRTIO_PAGODA_F_DIRTY;
}

/*
 * Marks the pages of @size bytes at @here as written, for all trackers, if the pages are in VRAM
 * and writes are tracked. The caller has written the bytes already.
 */
void pagoda_engine_wrote(struct pagoda_engine *engine, const void *here, u64 size)
{
	u64 offset = (const u8 *)here - engine->vram;
	u64 page, end;

	if (!size || offset >= engine->vram_size || !dirty_is_on(engine))
		return;
	end = (offset + size - 1) >> VIRTIO_PAGODA_PAGE_SHIFT;
	smp_wmb();	/* a query that finds the bit set also finds the written bytes */
	for (page = offset >> VIRTIO_PAGODA_PAGE_SHIFT; page <= end; page++)
		WRITE_ONCE(engine->dirty[page], PAGODA_DIRTY_ALL);
}

/*
 * Clears the bits of @mask of a page, with a full barrier if any was set. Returns the bits of @mask
 * that were set before.
 */
static u8 dirty_take(struct pagoda_engine *engine, u64 page, u8 mask)
{
	u8 old = READ_ONCE(engine->dirty[page]);

	while (old & mask && !pagoda_shim_swap8(&engine->dirty[page], &old, old & ~mask))
		;
	return old & mask;
}

/*
 * Clears the bits of the trackers CONTENT and OWNER for the whole pages of the @size bytes at
 * @here, in VRAM: a transfer with CLEAN gave these pages content that their owner has elsewhere,
 * too.
 */
void pagoda_engine_cleaned(struct pagoda_engine *engine, const void *here, u64 size)
{
	u8 mask = 1u << VIRTIO_PAGODA_DIRTY_CONTENT | 1u << VIRTIO_PAGODA_DIRTY_OWNER;
	u64 page = ((const u8 *)here - engine->vram) >> VIRTIO_PAGODA_PAGE_SHIFT;
	u64 end = page + (size >> VIRTIO_PAGODA_PAGE_SHIFT);

	for (; page < end; page++)
		dirty_take(engine, page, mask);
}

/*
 * Returns whether a transfer with DIRTY has to copy the byte of its source at @here, because a page
 * of the byte's block of VIRTIO_PAGODA_DIRTY_BLOCK bytes was written. Reduces *@size to the number
 * of bytes from @here on for which the answer is the same. Only pages of the @whole bytes from
 * @start on count, which are the transfer's source around @here: other pages of the block may be
 * another allocation's. Memory outside of VRAM is always copied. Writes are tracked: otherwise a
 * transfer with DIRTY was refused.
 */
bool pagoda_engine_is_dirty(const struct pagoda_engine *engine, const u8 *here, u64 *size,
			    const u8 *start, u64 whole)
{
	u64 offset = here - engine->vram, first = start - engine->vram, end = first + whole, page;
	u64 block = ALIGN_DOWN(offset, (u64)VIRTIO_PAGODA_DIRTY_BLOCK);

	if (!here || offset >= engine->vram_size)
		return true;
	*size = min(*size, block + VIRTIO_PAGODA_DIRTY_BLOCK - offset);
	end = min(end, block + VIRTIO_PAGODA_DIRTY_BLOCK);
	page = (first > block ? first : block) >> VIRTIO_PAGODA_PAGE_SHIFT;
	for (; page << VIRTIO_PAGODA_PAGE_SHIFT < end; page++)
		if (READ_ONCE(engine->dirty[page]) & 1u << VIRTIO_PAGODA_DIRTY_CONTENT)
			return true;
	return false;
}

/*
 * Checks the flags CLEAN, which a copy into VRAM may have (@into), and DIRTY, which a copy out of
 * VRAM may have (@out); no packet may have both. @size is the number of bytes, which CLEAN requires
 * to be whole pages, ORed with the destination's address if that may not be page aligned. Returns a
 * fault reason or 0.
 */
u32 pagoda_engine_dirty_flags_check(struct pagoda_exec *exec, u16 flags, u64 size, bool into,
				    bool out)
{
	u16 both = VIRTIO_PAGODA_TRANSFER_CLEAN | VIRTIO_PAGODA_TRANSFER_DIRTY;

	flags &= both;
	if (!flags)
		return VIRTIO_PAGODA_FAULT_NONE;
	if (!dirty_is_on(exec->engine) || flags == both ||
	    (flags == VIRTIO_PAGODA_TRANSFER_CLEAN && (!into || size % PAGODA_PAGE)) ||
	    (flags == VIRTIO_PAGODA_TRANSFER_DIRTY && !out))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_FLAGS, flags);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/* Marks all pages of VRAM as written and stops all trackers, while no queue executes. */
void pagoda_engine_dirty_reset(struct pagoda_engine *engine)
{
	memset(engine->trackers, 0, sizeof(engine->trackers));
	if (engine->dirty)
		memset(engine->dirty, PAGODA_DIRTY_ALL,
		       engine->vram_size >> VIRTIO_PAGODA_PAGE_SHIFT);
}

/*
 * Returns the range that @tracker tracks; NULL for a tracker that control commands may not name, or
 * if writes aren't tracked.
 */
static struct pagoda_engine_range *dirty_tracker(struct pagoda_engine *engine, u32 tracker)
{
	if (!dirty_is_on(engine) || tracker <= VIRTIO_PAGODA_DIRTY_CONTENT ||
	    tracker >= VIRTIO_PAGODA_DIRTY_TRACKERS)
		return NULL;
	return &engine->trackers[tracker];
}

static bool dirty_range_valid(u64 address, u64 size, u64 start, u64 limit)
{
	return size && !(address % PAGODA_PAGE) && !(size % PAGODA_PAGE) && address >= start &&
	       size <= limit && address - start <= limit - size;
}

/**
 * pagoda_engine_dirty_start() - Start a tracker and clear its bits of the range (C201)
 * @engine: Engine, initialized
 * @tracker: Number of the tracker, which tracks nothing yet
 * @address: Offset of the range in VRAM, page aligned
 * @size: Bytes of the range, a multiple of the page size, not 0
 *
 * Context: May be called while buffers execute; calls for trackers are serialized by the caller.
 * Return: true; false if commands may not name the tracker, it is started already, or the range is
 * invalid.
 */
bool pagoda_engine_dirty_start(struct pagoda_engine *engine, u32 tracker, u64 address, u64 size)
{
	struct pagoda_engine_range *range = dirty_tracker(engine, tracker);
	u64 page;

	if (!range || range->size || !dirty_range_valid(address, size, 0, engine->vram_size))
		return false;
	*range = (struct pagoda_engine_range) { .start = address, .size = size };
	for (page = 0; page < size / PAGODA_PAGE; page++)
		dirty_take(engine, address / PAGODA_PAGE + page, 1u << tracker);
	return true;
}

/**
 * pagoda_engine_dirty_stop() - Stop a tracker
 * @engine: Engine, initialized
 * @tracker: Number of the tracker
 *
 * Context: As pagoda_engine_dirty_start().
 * Return: true; false if commands may not name the tracker, or it isn't started.
 */
bool pagoda_engine_dirty_stop(struct pagoda_engine *engine, u32 tracker)
{
	struct pagoda_engine_range *range = dirty_tracker(engine, tracker);

	if (!range || !range->size)
		return false;
	range->size = 0;
	return true;
}

/**
 * pagoda_engine_dirty_query() - Get and clear the bits of a part of a tracker's range
 * @engine: Engine, initialized
 * @tracker: Number of the tracker, which is started
 * @address: Offset of the part in VRAM, page aligned
 * @size: Bytes of the part, a multiple of the page size, 1 to %VIRTIO_PAGODA_MAX_DIRTY_PAGES pages
 * @words: Out: bit n % 64 of word n / 64 is set if page n of the part was written; zeroed by the
 *	caller
 *
 * Context: As pagoda_engine_dirty_start().
 * Return: true; false, with no bit changed, if the tracker doesn't track all of the part, or
 * @address or @size is invalid.
 */
bool pagoda_engine_dirty_query(struct pagoda_engine *engine, u32 tracker, u64 address, u64 size,
			       __le64 *words)
{
	struct pagoda_engine_range *range = dirty_tracker(engine, tracker);
	u64 page;

	if (!range || size > VIRTIO_PAGODA_MAX_DIRTY_PAGES * PAGODA_PAGE ||
	    !dirty_range_valid(address, size, range->start, range->size))
		return false;
	for (page = 0; page < size / PAGODA_PAGE; page++)
		if (dirty_take(engine, address / PAGODA_PAGE + page, 1u << tracker))
			words[page / 64] |= cpu_to_le64(1ull << page % 64);
	return true;
}
