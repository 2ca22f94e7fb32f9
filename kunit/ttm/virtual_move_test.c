// SPDX-License-Identifier: GPL-2.0
/*
 * Moves by virtual addresses, on the rig: order of the operations on scratch windows, pieces and
 * directions of copies, bits of the windows' entries, failing packets, lost submissions.
 */
#include <linux/sizes.h>
#include <drm/drm_gem.h>
#include "../drivers/pagoda/mmu/process.h"
#include "rig/rig.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define TRANSFER	VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER
#define FILL		VIRTIO_PAGODA_OP_VIRTUAL_FILL
#define UPDATE		VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE
#define FLUSH		VIRTIO_PAGODA_OP_FLUSH_TLB

static const struct pagoda_rig_mode gpu_virtual = { VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL };

static struct pagoda_rig *virtual_rig(struct kunit *test, struct pagoda_rig_options options)
{
	options.mode = &gpu_virtual;
	return pagoda_rig_create(test, &options);
}

/* Expects that no entry of a scratch window or table window is valid in the page tables. */
static void expect_windows_empty(struct kunit *test, struct pagoda_rig *rig)
{
	u64 va, entry, page;

	for (va = pagoda_slot_address(PAGODA_SLOT_WINDOWS);
	     va < pagoda_slot_address(PAGODA_SLOT_COUNT); va += PAGE_SIZE)
		if (pagoda_process_lookup(rig->vidmm->mmu, va, &entry, &page))
			break;
	KUNIT_EXPECT_EQ(test, va, pagoda_slot_address(PAGODA_SLOT_COUNT));
}

/*
 * State of a 2 MiB slot of the paging space after the packets of the log so far. The slot's last
 * UPDATE_PAGE_TABLE wrote entries that end in front of entry @mapped: mapped an allocation if
 * @valid, else unmapped. @dirty: no FLUSH_TLB of the entries came since.
 */
struct window {
	u32 mapped;
	bool valid;
	bool dirty;
};

static u32 slot_page(u32 slot)
{
	return slot < PAGODA_SLOT_LARGE ? SZ_4K : SZ_64K;
}

static void window_update(struct window *windows, const struct pagoda_rig_note *note)
{
	u32 slot = note->address / PAGODA_BLOCK_BYTES;
	u32 first = note->address % PAGODA_BLOCK_BYTES / slot_page(slot);

	if (slot < PAGODA_SLOT_SCRATCH || slot >= PAGODA_SLOT_COUNT)
		return;
	windows[slot].mapped = first + note->size;
	windows[slot].valid = note->allocation;
	windows[slot].dirty = true;
}

static void window_flush(struct window *windows, const struct pagoda_rig_note *note)
{
	u32 slot;

	for (slot = 0; slot < PAGODA_SLOT_COUNT; slot++) {
		u64 start = pagoda_slot_address(slot);
		u64 end = start + (u64)windows[slot].mapped * slot_page(slot);

		if (!note->size || (note->address <= start && note->address + note->size >= end))
			windows[slot].dirty = false;
	}
}

/*
 * Returns whether [@va, @va + @size) begins where a slot begins, and all of it is mapped and
 * flushed, with pages of 64 KiB if @large, else of 4 KiB.
 */
static bool window_is_ready(const struct window *windows, u64 va, u64 size, bool large)
{
	u32 slot = va / PAGODA_BLOCK_BYTES;

	if (va % PAGODA_BLOCK_BYTES || large != !(slot < PAGODA_SLOT_LARGE))
		return false;
	for (; size; slot++) {
		u64 part = min_t(u64, size, PAGODA_BLOCK_BYTES);

		if (!windows[slot].valid || windows[slot].dirty ||
		    (u64)windows[slot].mapped * slot_page(slot) < part)
			return false;
		size -= part;
	}
	return true;
}

/*
 * Expects of the packets of the log, in order of execution: each virtual operation finds its
 * windows mapped and flushed, and at the end all windows are unmapped and flushed.
 */
static void expect_order(struct kunit *test, struct pagoda_rig *rig)
{
	struct window *windows = test_calloc(test, PAGODA_SLOT_COUNT, sizeof(*windows));
	u32 i, slot;

	KUNIT_ASSERT_LT(test, rig->nr_log, PAGODA_RIG_LOG);
	for (i = 0; i < rig->nr_log; i++) {
		const struct pagoda_rig_note *note = &rig->log[i];

		switch (note->opcode) {
		case UPDATE:
			KUNIT_EXPECT_EQ(test, note->src, VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL);
			window_update(windows, note);
			break;
		case FLUSH:
			window_flush(windows, note);
			break;
		case TRANSFER:
			KUNIT_EXPECT_TRUE(test, window_is_ready(windows, note->src_address,
								note->size, note->flags &
								VIRTIO_PAGODA_VIRTUAL_SRC_64K));
			fallthrough;
		case FILL:
			KUNIT_EXPECT_TRUE(test, window_is_ready(windows, note->address, note->size,
								note->opcode == TRANSFER ?
								note->flags &
								VIRTIO_PAGODA_VIRTUAL_DST_64K :
								note->address >= pagoda_slot_address
								(PAGODA_SLOT_LARGE)));
			break;
		}
	}
	for (slot = PAGODA_SLOT_SCRATCH; slot < PAGODA_SLOT_COUNT; slot++)
		KUNIT_EXPECT_FALSE(test, windows[slot].valid || windows[slot].dirty);
}

/*
 * Each copy or fill finds its scratch windows mapped and flushed, and when the move is done the
 * windows are empty. All moves are by virtual operations.
 */
static void virtual_order(struct kunit *test)
{
	struct pagoda_rig *rig = virtual_rig(test, (struct pagoda_rig_options) { });
	static const u32 sizes[] = { 1, 16, 17, 240 };
	struct pagoda_bo *bo;
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		bo = pagoda_rig_bo(rig, sizes[i / 2], CPU, VRAM | APERTURE, 0);

		pagoda_rig_write_vram(rig, bo, i);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, i & 1));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, i));
		PAGODA_PROVES(C78);
		expect_windows_empty(test, rig);
		pagoda_rig_close(bo);
		pagoda_rig_settle_freed(rig);
	}
	/* Part of VRAM was used before, so that zeros need a fill. */
	bo = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_rig_close(bo);
	PAGODA_PROVES(C72, C73, C89);
	expect_order(test, rig);
	KUNIT_EXPECT_GT(test, pagoda_rig_count(rig, FILL, 0), 0);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, 0), 0);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_FILL, 0), 0);
}

/*
 * Expects that behind the first @skip copies of the allocation there are @pieces copies, all in
 * @direction, which follow each other and cover the allocation once.
 */
static void expect_covered_once(struct kunit *test, struct pagoda_rig *rig, struct pagoda_bo *bo,
				u32 skip, u32 pieces, u32 direction)
{
	u64 next = 0;
	u32 i;

	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, TRANSFER, bo->id), skip + pieces);
	for (i = 0; i < pieces; i++) {
		const struct pagoda_rig_note *note = pagoda_rig_find(rig, TRANSFER, bo->id,
								     skip + i);

		KUNIT_ASSERT_NOT_NULL(test, note);
		KUNIT_EXPECT_EQ(test, note->offset, next);
		KUNIT_EXPECT_EQ(test, note->src, direction);
		KUNIT_EXPECT_LE(test, note->size, PAGODA_SCRATCH_BYTES);
		/* A piece begins where its windows begin, whatever its offset in the allocation. */
		KUNIT_EXPECT_EQ(test, note->src_address % PAGODA_BLOCK_BYTES, 0);
		KUNIT_EXPECT_EQ(test, note->address % PAGODA_BLOCK_BYTES, 0);
		next += note->size;
	}
	KUNIT_EXPECT_EQ(test, next, bo->ttm.base.size);
}

/*
 * An allocation of 500 scattered pages of VRAM has one range of virtual addresses in the scratch
 * window, so that one operation copies all of it, also if paging buffers are small.
 */
static void virtual_scattered(struct kunit *test)
{
	static const u32 buffers[] = { 0, PAGE_SIZE };
	u32 i, n;

	for (n = 0; n < ARRAY_SIZE(buffers); n++) {
		struct pagoda_rig *rig = virtual_rig(test, (struct pagoda_rig_options) {
						     .buffer_size = buffers[n] });
		u32 count = PAGODA_RIG_VRAM_PAGES / 2;
		struct pagoda_bo **odd = test_calloc(test, count, sizeof(*odd));
		struct pagoda_bo *bo;

		pagoda_rig_fragment(rig, odd, count);
		bo = pagoda_rig_bo(rig, 500, CPU, VRAM, 0);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
		KUNIT_ASSERT_EQ(test, pagoda_vram_count_ranges(bo->ttm.resource), 500);
		pagoda_rig_write(rig, bo, 7);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
		PAGODA_PROVES(C71, C74);
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 7));
		expect_covered_once(test, rig, bo, 0, 1, VIRTIO_PAGODA_LOCAL_TO_SYSTEM);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 7));
		expect_covered_once(test, rig, bo, 1, 1, VIRTIO_PAGODA_SYSTEM_TO_LOCAL);
		expect_order(test, rig);
		KUNIT_EXPECT_EQ(test, rig->fake->violations, 0);
		pagoda_rig_close(bo);
		for (i = 0; i < count; i++)
			pagoda_rig_close(odd[i]);
		pagoda_rig_settle(rig);
	}
}

/* A move within VRAM is a copy in the direction LOCAL_TO_LOCAL. */
static void virtual_local(struct kunit *test)
{
	struct pagoda_rig *rig = virtual_rig(test, (struct pagoda_rig_options) { });
	const struct ttm_place low = { .mem_type = TTM_PL_VRAM, .lpfn = PAGODA_RIG_VISIBLE_PAGES };
	const struct ttm_place high = {
		.mem_type = TTM_PL_VRAM,
		.fpfn = PAGODA_RIG_VISIBLE_PAGES,
		.lpfn = PAGODA_RIG_VRAM_PAGES,
	};
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 33, CPU, VRAM, 0);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &low, false));
	pagoda_rig_write(rig, bo, 3);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &high, false));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 3));
	PAGODA_PROVES(C74);
	expect_covered_once(test, rig, bo, 0, 1, VIRTIO_PAGODA_LOCAL_TO_LOCAL);
	pagoda_rig_close(bo);
}

/*
 * An allocation larger than a scratch window is copied in pieces. In contiguous VRAM whole pieces
 * are mapped by entries of 64 KiB, the last one, which isn't whole chunks, by entries of 4 KiB.
 */
static void virtual_chunks(struct kunit *test)
{
	const struct ttm_place one_range = {
		.mem_type = TTM_PL_VRAM,
		.flags = TTM_PL_FLAG_CONTIGUOUS,
	};
	struct pagoda_rig *rig = virtual_rig(test, (struct pagoda_rig_options) { .large = true });
	u32 pages = 2 * (PAGODA_PIECE_BYTES >> PAGE_SHIFT) + 77;
	struct pagoda_bo *bo = pagoda_rig_bo(rig, pages, CPU, VRAM, 0);
	const struct pagoda_rig_note *note;

	KUNIT_ASSERT_GT(test, bo->ttm.base.size, PAGODA_SCRATCH_BYTES);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &one_range, false));
	pagoda_rig_write(rig, bo, 6);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	PAGODA_PROVES(C69, C70, C73);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 6));
	expect_covered_once(test, rig, bo, 0, 3, VIRTIO_PAGODA_LOCAL_TO_SYSTEM);
	note = pagoda_rig_find(rig, TRANSFER, bo->id, 0);
	KUNIT_EXPECT_TRUE(test, note->flags & VIRTIO_PAGODA_VIRTUAL_SRC_64K);
	note = pagoda_rig_find(rig, TRANSFER, bo->id, 2);
	KUNIT_EXPECT_FALSE(test, note->flags & VIRTIO_PAGODA_VIRTUAL_SRC_64K);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &one_range, false));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 6));
	expect_covered_once(test, rig, bo, 3, 3, VIRTIO_PAGODA_SYSTEM_TO_LOCAL);
	expect_order(test, rig);
	expect_windows_empty(test, rig);
	pagoda_rig_close(bo);
}

#define SIDE_BITS	(VIRTIO_PAGODA_PTE_READ_ONLY | VIRTIO_PAGODA_PTE_NO_EXECUTE | \
			 VIRTIO_PAGODA_PTE_COHERENT)

/*
 * Expects that each UPDATE_PAGE_TABLE that mapped a part of @window, the address of a scratch
 * window, for the copy at index @nth of the log, names the bytes of the allocation that the copy
 * finds there, and that of SIDE_BITS its first entry has exactly @want. Returns the number of these
 * updates.
 */
static u32 expect_side(struct kunit *test, struct pagoda_rig *rig, u32 nth, u64 window, u64 want)
{
	const struct pagoda_rig_note *copy = &rig->log[nth], *note;
	u32 count = 0;

	for (note = copy - 1; note >= rig->log && note->opcode != copy->opcode; note--) {
		if (note->opcode != UPDATE || !note->allocation || note->address < window ||
		    note->address >= window + PAGODA_SCRATCH_BYTES)
			continue;
		KUNIT_EXPECT_EQ(test, note->allocation, copy->allocation);
		KUNIT_EXPECT_EQ(test, note->offset, copy->offset + note->address - window);
		KUNIT_EXPECT_EQ(test, note->value & SIDE_BITS, want);
		count++;
	}
	return count;
}

/*
 * Moves an allocation with @flags out of VRAM and back. Of the windows' entries only those of
 * sources are to be read-only, none executable, those of system pages coherent exactly if @snooped.
 */
static void virtual_bits(struct kunit *test, u32 flags, bool not_coherent, bool snooped)
{
	const u64 rights = VIRTIO_PAGODA_PTE_NO_EXECUTE, read = VIRTIO_PAGODA_PTE_READ_ONLY;
	struct pagoda_rig *rig = virtual_rig(test, (struct pagoda_rig_options) {
					     .large = true, .not_coherent = not_coherent });
	u32 pages = (PAGODA_PIECE_BYTES >> PAGE_SHIFT) + 33, i, copies = 0, sides = 0;
	struct pagoda_bo *bo = pagoda_rig_bo(rig, pages, flags, VRAM, 0);

	KUNIT_ASSERT_GT(test, PAGODA_PIECE_BYTES, PAGODA_BLOCK_BYTES);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_LT(test, rig->nr_log, PAGODA_RIG_LOG);
	for (i = 0; i < rig->nr_log; i++) {
		const struct pagoda_rig_note *note = &rig->log[i];
		bool out = note->src == VIRTIO_PAGODA_LOCAL_TO_SYSTEM;
		u64 snoop = snooped ? VIRTIO_PAGODA_PTE_COHERENT : 0;

		if (note->opcode != TRANSFER)
			continue;
		copies++;
		sides += expect_side(test, rig, i, note->src_address, rights | read |
				     (out ? 0 : snoop));
		sides += expect_side(test, rig, i, note->address, rights | (out ? snoop : 0));
	}
	KUNIT_EXPECT_EQ(test, copies, 4);
	/*
	 * Both sides of each of the four copies are mapped; for a whole piece that takes more than
	 * one leaf table, and so more than one update.
	 */
	KUNIT_EXPECT_GE(test, sides, 2 * (2 * PAGODA_PIECE_BYTES / PAGODA_BLOCK_BYTES + 2));
	pagoda_rig_close(bo);
}

/*
 * Entries of scratch windows are read-only for sources only, and never executable. Entries of
 * system pages are coherent only if the CPU caches the pages and the device snoops.
 */
static void virtual_entries(struct kunit *test)
{
	PAGODA_PROVES(C86);
	virtual_bits(test, CPU | DRM_PAGODA_ALLOCATION_CACHED, false, true);
	virtual_bits(test, CPU, false, false);
	virtual_bits(test, CPU | DRM_PAGODA_ALLOCATION_CACHED, true, false);
}

/* Returns how many packets of the submission with the number @seqno were executed. */
static u32 virtual_packets(struct pagoda_rig *rig, u64 seqno)
{
	u32 i, count = 0;

	for (i = 0; i < rig->nr_log; i++)
		count += rig->log[i].seqno == seqno;
	return count;
}

/*
 * Moves an allocation out of VRAM and makes the device fail @times times at packet @nth of the
 * move, if @middle after half of the packet's effect. Expects that the content arrives and the
 * windows are empty then. If *@packets is 0, sets it to the number of packets of such a move.
 */
static void virtual_fail(struct kunit *test, u32 nth, u32 times, bool middle, u32 *packets)
{
	struct pagoda_rig *rig = virtual_rig(test, (struct pagoda_rig_options) { });
	const struct ttm_place visible = {
		.mem_type = TTM_PL_VRAM,
		.lpfn = PAGODA_RIG_VISIBLE_PAGES,
	};
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 21, CPU, VRAM, 0);
	struct pagoda_queue_stats stats;
	u64 seqno;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &visible, false));
	pagoda_rig_write(rig, bo, nth);
	pagoda_rig_settle(rig);
	seqno = rig->fake->last_submitted + 1;
	rig->fail = (struct pagoda_rig_fail) {
		.seqno = seqno, .packet = nth, .times = times,
		.middle = middle,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, nth));
	expect_windows_empty(test, rig);
	pagoda_queue_stats(rig->vidmm->queue, &stats);
	KUNIT_EXPECT_EQ(test, stats.lost, 0);
	KUNIT_EXPECT_EQ(test, stats.rescued, times > 1 && nth < *packets ? 1 : 0);
	if (!*packets)
		*packets = virtual_packets(rig, seqno);
	/* The next move works. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, nth));
	pagoda_rig_close(bo);
}

/*
 * A move's paging buffer can be resumed at any packet that failed once; if the device fails at that
 * packet again and again, the CPU executes the rest.
 */
static void virtual_replay(struct kunit *test)
{
	u32 packets = 0, nth;

	PAGODA_PROVES(C78);
	virtual_fail(test, U32_MAX, 1, false, &packets);
	/* Two maps, flush, copy, two unmaps, flush, drain of the write combiner, and the fence. */
	KUNIT_ASSERT_GT(test, packets, 7);
	for (nth = 0; nth < packets; nth++) {
		virtual_fail(test, nth, 1, false, &packets);
		virtual_fail(test, nth, 1, true, &packets);
		virtual_fail(test, nth, 10, true, &packets);
	}
}

/*
 * The operations that unmap the scratch windows are lost with a submission. The driver empties the
 * windows, so that a copy in the next paging buffer, whose mapping was lost as well, fails instead
 * of copying other memory.
 */
static void virtual_lost(struct kunit *test)
{
	struct pagoda_rig *rig = virtual_rig(test, (struct pagoda_rig_options) {
					     .no_window = true, .buffer_size = PAGE_SIZE });
	u32 count = PAGODA_RIG_VRAM_PAGES / 2, i;
	struct pagoda_bo **odd = test_calloc(test, count, sizeof(*odd));
	struct pagoda_bo *first, *second;

	pagoda_rig_fragment(rig, odd, count);
	first = pagoda_rig_bo(rig, 240, CPU, VRAM, 0);
	second = pagoda_rig_bo(rig, 200, CPU, VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(first));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(second));
	pagoda_rig_write(rig, first, 1);
	pagoda_rig_write(rig, second, 2);
	pagoda_rig_settle(rig);
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = TRANSFER, .allocation = first->id, .times = 10,
	};
	pagoda_rig_plug_shared(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(first));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(second));
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C78);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(first->content.lost));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(second->content.lost));
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, TRANSFER, 0), 0);
	expect_windows_empty(test, rig);
	pagoda_rig_close(first);
	pagoda_rig_close(second);
	for (i = 0; i < count; i++)
		pagoda_rig_close(odd[i]);
}

/* After a lost submission no entry of a scratch window of 64 KiB entries is valid either. */
static void virtual_lost_large(struct kunit *test)
{
	const u64 large = pagoda_slot_address(PAGODA_SLOT_LARGE);
	struct pagoda_rig *rig = virtual_rig(test, (struct pagoda_rig_options) {
					     .no_window = true, .buffer_size = PAGE_SIZE });
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 64, CPU, VRAM, 0);
	const struct pagoda_rig_note *map;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_write(rig, bo, 1);
	pagoda_rig_settle(rig);
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = TRANSFER, .allocation = bo->id, .times = 10,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C78);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(bo->content.lost));
	/* The device mapped the source by 64 KiB entries; the operation to unmap it was lost. */
	map = pagoda_rig_find(rig, UPDATE, bo->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, map);
	KUNIT_EXPECT_GE(test, map->address, large);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_count(rig, TRANSFER, 0));
	expect_windows_empty(test, rig);
	pagoda_rig_close(bo);
}

/*
 * An allocation that has to be idle for its moves (&pagoda_bo.content.needs_idle) is moved by
 * TRANSFER, whose builder can report that the allocation is busy, not by VIRTUAL_TRANSFER.
 */
static void virtual_needs_idle(struct kunit *test)
{
	struct pagoda_rig *rig = virtual_rig(test, (struct pagoda_rig_options) { });
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 5, CPU, VRAM, 0);

	pagoda_rig_write_vram(rig, bo, 1);
	bo->content.needs_idle = true;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	KUNIT_EXPECT_GT(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id), 0);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, TRANSFER, bo->id), 0);
	pagoda_rig_close(bo);
}

static struct kunit_case virtual_move_cases[] = {
	KUNIT_CASE(virtual_order),
	KUNIT_CASE_SLOW(virtual_scattered),
	KUNIT_CASE(virtual_local),
	KUNIT_CASE(virtual_chunks),
	KUNIT_CASE(virtual_entries),
	KUNIT_CASE_SLOW(virtual_replay),
	KUNIT_CASE_SLOW(virtual_lost),
	KUNIT_CASE(virtual_lost_large),
	KUNIT_CASE(virtual_needs_idle),
	{}
};

static struct kunit_suite virtual_move_suite = {
	.name = "pagoda_virtual_move",
	.test_cases = virtual_move_cases,
};

kunit_test_suite(virtual_move_suite);
