// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers by virtual addresses and of tiled surfaces, compared with a plain TRANSFER of the
 * same pages.
 */
#include <linux/err.h>
#include <linux/sizes.h>
#include <drm/pagoda_drm.h>
#include "core/core.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "vidmm/stream/stream.h"
#include "lib.h"

#define BENCH_VIRTUAL_BYTES	(64ull << 20)
#define BENCH_TILED_BYTES	(16ull << 20)
/* Goals for the lowest of all variants' ratios of bandwidth to a plain TRANSFER's; thousandths. */
#define BENCH_VIRTUAL_GOAL	900
#define BENCH_TILED_GOAL	500

/* An allocation in VRAM, system pages of the same size, and a transfer between the two. */
struct bench_pair {
	struct pagoda_bo *bo;
	struct bench_pages pages;
	struct bench_transfer transfer;
};

static int bench_pair_init(struct bench *b, struct bench_pair *pair, u64 size, bool scattered,
			   bool out)
{
	int ret;

	*pair = (struct bench_pair) {
		.bo = pagoda_bench_bo(b, size, DRM_PAGODA_ALLOCATION_CONTIGUOUS),
	};
	if (IS_ERR(pair->bo))
		return PTR_ERR(pair->bo);
	ret = pagoda_bench_pages_alloc(&pair->pages, size >> PAGE_SHIFT, scattered);
	if (!ret)
		ret = pagoda_bench_move(pair->bo, TTM_PL_VRAM);
	if (!ret)
		pair->transfer = (struct bench_transfer) {
			.pages = &pair->pages,
			.address = pagoda_bench_address(pair->bo),
			.size = size,
			.out = out,
		};
	return ret;
}

static void bench_pair_fini(struct bench_pair *pair)
{
	if (IS_ERR(pair->bo))
		return;
	pagoda_bench_pages_free(&pair->pages);
	pagoda_bench_close(pair->bo);
}

/* ---- Virtual against physical ---------------------------------------------- */

struct bench_virtual {
	struct bench *b;
	const struct bench_transfer *transfer;
	struct pagoda_stream_txn *txn;
	int ret;
};

static void bench_virtual_take(void *arg, struct pagoda_paging_op *op)
{
	struct bench_virtual *virtual = arg;
	int ret = pagoda_stream_emit(virtual->txn, op);

	virtual->ret = virtual->ret ?: ret;
}

/*
 * Emits the operations for a piece of @size bytes at byte @done of the transfer, as a move in
 * GPU_VIRTUAL mode does: maps source and destination in scratch windows, flushes, copies, unmaps.
 */
static void bench_virtual_piece(struct bench_virtual *virtual, u64 done, u64 size)
{
	const struct pagoda_emit emit = { .emit = bench_virtual_take, .arg = virtual };
	const struct bench_transfer *transfer = virtual->transfer;
	enum pagoda_scratch vram = transfer->out ? PAGODA_SCRATCH_SOURCE :
						   PAGODA_SCRATCH_DESTINATION;
	struct pagoda_mmu *mmu = virtual->b->vidmm->mmu;
	struct page **pages = transfer->pages->pages + (done >> PAGE_SHIFT);
	const struct pagoda_map_extent extent = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = transfer->address + done,
		.size = size,
	};
	const struct pagoda_map maps[] = {
		{ .size = size, .kind = PAGODA_MAP_MEMORY, .extents = &extent, .nr_extents = 1 },
		{
			.size = size, .kind = PAGODA_MAP_MEMORY,
			.adl = &transfer->pages->adl, .adl_offset = done >> PAGE_SHIFT,
		},
	};
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER,
		.virtual_transfer = {
			.size = size,
			.direction = transfer->out ? VIRTIO_PAGODA_LOCAL_TO_SYSTEM :
						     VIRTIO_PAGODA_SYSTEM_TO_LOCAL,
			.src_pages = transfer->out ? NULL : pages,
			.dst_pages = transfer->out ? pages : NULL,
		},
	};
	bool large;

	op.virtual_transfer.src_address =
		pagoda_process_map(mmu, PAGODA_SCRATCH_SOURCE, &maps[vram != PAGODA_SCRATCH_SOURCE],
				   &large, &emit);
	op.virtual_transfer.flags |= large ? VIRTIO_PAGODA_VIRTUAL_SRC_64K : 0;
	op.virtual_transfer.dst_address =
		pagoda_process_map(mmu, PAGODA_SCRATCH_DESTINATION,
				   &maps[vram == PAGODA_SCRATCH_SOURCE], &large, &emit);
	op.virtual_transfer.flags |= large ? VIRTIO_PAGODA_VIRTUAL_DST_64K : 0;
	pagoda_process_flush(mmu, &emit);
	bench_virtual_take(virtual, &op);
	pagoda_process_unmap(mmu, &emit);
}

static int bench_virtual_emit(struct pagoda_stream_txn *txn, void *arg)
{
	struct bench_virtual *virtual = arg;
	u64 done, size = virtual->transfer->size;
	struct pagoda_paging_op flush = pagoda_bench_flush_op(virtual->transfer->pages);

	virtual->txn = txn;
	for (done = 0; done < size && !virtual->ret; done += PAGODA_PIECE_BYTES)
		bench_virtual_piece(virtual, done, min_t(u64, size - done, PAGODA_PIECE_BYTES));
	return virtual->ret ?: pagoda_stream_emit(txn, &flush);
}

static int bench_virtual_transfer(struct bench *b, const struct bench_transfer *transfer, u64 *ns)
{
	const struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER,
		.virtual_transfer = { .size = PAGODA_PIECE_BYTES },
	};
	struct bench_virtual virtual = { .b = b, .transfer = transfer };
	u32 pieces = DIV_ROUND_UP_ULL(transfer->size, PAGODA_PIECE_BYTES);
	struct pagoda_vidmm *vidmm = b->vidmm;
	struct pagoda_paging_op flush = pagoda_bench_flush_op(transfer->pages);
	struct pagoda_paging_cost cost;

	cost = pagoda_stream_cost(vidmm, &flush);
	pagoda_cost_add(&cost, pagoda_stream_cost(vidmm, &op), pieces);
	pagoda_cost_add(&cost,
			pagoda_process_cost(b->vidmm->mmu, PAGODA_PIECE_BYTES,
					    pagoda_stream_room(vidmm)),
			pieces);
	return pagoda_bench_run(b, &cost, bench_virtual_emit, &virtual, ns);
}

static int bench_virtual_way(struct bench *b, bool scattered, bool out, u64 *worst)
{
	u64 ours[BENCH_RUNS], theirs[BENCH_RUNS];
	struct bench_pair pair;
	char metric[48];
	u32 run;
	int ret;

	ret = bench_pair_init(b, &pair, BENCH_VIRTUAL_BYTES, scattered, out);
	for (run = 0; run < BENCH_RUNS && !ret; run++) {
		ret = bench_virtual_transfer(b, &pair.transfer, &ours[run]);
		if (!ret)
			ret = pagoda_bench_transfer(b, &pair.transfer, &theirs[run]);
	}
	snprintf(metric, sizeof(metric), "virtual-by-physical.%s.%s", out ? "out" : "in",
		 scattered ? "scattered" : "contiguous");
	if (!ret)
		*worst = min(*worst, pagoda_bench_bandwidth(b, metric, BENCH_VIRTUAL_BYTES, ours,
							    theirs));
	bench_pair_fini(&pair);
	return ret;
}

/*
 * Compares transfers by virtual addresses with transfers by physical addresses. Does nothing
 * without page tables or in CPU_VIRTUAL mode, in which queued operations can't use scratch windows.
 * Returns 0 or a negative errno.
 */
int pagoda_bench_virtual(struct bench *b)
{
	struct pagoda_mmu *mmu = b->vidmm->mmu;
	u64 worst = U64_MAX;
	int ret = 0;
	u32 way;

	if (!mmu || pagoda_mmu_mode(mmu) == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL)
		return 0;
	for (way = 0; way < 4 && !ret; way++)
		ret = bench_virtual_way(b, way & 1, way & 2, &worst);
	if (!ret)
		pagoda_bench_goal(b, "virtual-by-physical", worst, BENCH_VIRTUAL_GOAL);
	return ret;
}

/* ---- Tiled against linear --------------------------------------------------- */

static int bench_tiled_way(struct bench *b, u32 tiling, u32 pitch, bool out, u64 *worst)
{
	u64 ours[BENCH_RUNS], theirs[BENCH_RUNS];
	struct bench_transfer tiled;
	struct bench_pair pair;
	char metric[48];
	u32 run;
	int ret;

	ret = bench_pair_init(b, &pair, BENCH_TILED_BYTES, false, out);
	tiled = pair.transfer;
	tiled.flags = out ? VIRTIO_PAGODA_TRANSFER_UNSWIZZLE : VIRTIO_PAGODA_TRANSFER_SWIZZLE;
	tiled.layout = (struct pagoda_layout) {
		.tiling = tiling, .pitch = pitch, .height = BENCH_TILED_BYTES / pitch, .mips = 1,
	};
	for (run = 0; run < BENCH_RUNS && !ret; run++) {
		ret = pagoda_bench_transfer(b, &tiled, &ours[run]);
		if (!ret)
			ret = pagoda_bench_transfer(b, &pair.transfer, &theirs[run]);
	}
	snprintf(metric, sizeof(metric), "tiled-by-linear.%s.%s-rows.pitch-%u", out ? "out" : "in",
		 tiling == VIRTIO_PAGODA_TILING_4K ? "64B" : "256B", pitch);
	if (!ret)
		*worst = min(*worst, pagoda_bench_bandwidth(b, metric, BENCH_TILED_BYTES, ours,
							    theirs));
	bench_pair_fini(&pair);
	return ret;
}

/*
 * Compares both tile sizes, in narrow and in wide surfaces, with a linear TRANSFER. Does nothing if
 * the device has no tiling.
 *
 * A tiled copy is slower: a linear copy needs a single address translation for a page, whose bytes
 * the CPU prefetches. In a row of a surface each 64 bytes (4 KiB tiles) or 256 bytes (64 KiB tiles)
 * are in another tile, and so in another page. A tile is used again a row later; in a wide surface
 * the CPU's caches have lost the tile by then, because tiles 64 KiB apart share few cache sets. A
 * copy tile by tile would lose cache lines of the linear side, where rows are a pitch apart.
 * Returns 0 or a negative errno.
 */
int pagoda_bench_tiled(struct bench *b)
{
	u64 op = BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER));
	u64 worst = U64_MAX;
	int ret = 0;
	u32 way;

	if (!(b->vidmm->paging_limits->features & op))
		return 0;
	for (way = 0; way < 8 && !ret; way++)
		ret = bench_tiled_way(b, way & 1 ? VIRTIO_PAGODA_TILING_64K :
				      VIRTIO_PAGODA_TILING_4K, way & 2 ? SZ_32K : SZ_4K, way & 4,
				      &worst);
	if (!ret)
		pagoda_bench_goal(b, "tiled-by-linear", worst, BENCH_TILED_GOAL);
	return ret;
}
