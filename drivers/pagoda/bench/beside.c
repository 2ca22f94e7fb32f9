// SPDX-License-Identifier: GPL-2.0
/*
 * Work inside the kernel that the benchmark in user space (selftests/tools) compares jobs with.
 * Reading pagoda_bench_trip or pagoda_bench_copy in debugfs times the file's work once, and prints
 * the work's amount and nanoseconds: the benchmark can alternate between such work and its jobs.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/seq_file.h>
#include <drm/pagoda_drm.h>
#include "core/core.h"
#include "core/device.h"
#include "paging/paging.h"
#include "vidmm/stream/stream.h"
#include "virtio/virtio.h"
#include "lib.h"

#define BESIDE_COPY_BYTES	(32ull << 20)

/*
 * Times and reports a round trip through the control virtqueue with a command that does nothing.
 * Returns 0 or the error of pagoda_virtio_nop().
 */
int pagoda_bench_trip(struct bench *b)
{
	u64 start = ktime_get_ns();
	int ret = pagoda_virtio_nop(b->pagoda->virtio);

	if (!ret)
		pagoda_bench_report(b, 1, ktime_get_ns() - start);
	return ret;
}

/* Returns the operation that copies the piece at @done of @bo's first half to the second half. */
static struct pagoda_paging_op beside_copy_op(const struct pagoda_bo *bo, u64 done)
{
	const struct pagoda_side src = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = pagoda_bench_address(bo),
	};
	struct pagoda_side dst = src;

	dst.address += BESIDE_COPY_BYTES;
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.allocation = 1,
		.transfer = {
			.offset = done,
			.size = min_t(u64, BESIDE_COPY_BYTES - done, PAGODA_PIECE_BYTES),
			.src = src,
			.dst = dst,
		},
	};
}

static int beside_copy_emit(struct pagoda_stream_txn *txn, void *arg)
{
	int ret = 0;
	u64 done;

	for (done = 0; done < BESIDE_COPY_BYTES && !ret; done += PAGODA_PIECE_BYTES) {
		struct pagoda_paging_op op = beside_copy_op(arg, done);

		ret = pagoda_stream_emit(txn, &op);
	}
	return ret;
}

static int beside_copy(struct bench *b, struct pagoda_bo *bo, u64 *ns)
{
	struct pagoda_vidmm *vidmm = b->vidmm;
	const struct pagoda_paging_op op = beside_copy_op(bo, 0);
	struct pagoda_paging_cost cost = {};

	pagoda_cost_add(&cost, pagoda_stream_cost(vidmm, &op),
			DIV_ROUND_UP_ULL(BESIDE_COPY_BYTES, PAGODA_PIECE_BYTES));
	return pagoda_bench_run(b, &cost, beside_copy_emit, bo, ns);
}

/*
 * Times and reports a copy of BESIDE_COPY_BYTES within VRAM, by TRANSFER and so by physical
 * addresses. Returns 0 or a negative errno.
 */
int pagoda_bench_copy(struct bench *b)
{
	struct pagoda_bo *bo = pagoda_bench_bo(b, 2 * BESIDE_COPY_BYTES,
					       DRM_PAGODA_ALLOCATION_CONTIGUOUS);
	u64 ns;
	int ret;

	if (IS_ERR(bo))
		return PTR_ERR(bo);
	ret = pagoda_bench_move(bo, TTM_PL_VRAM);
	/* The first copy, whose time isn't reported, brings VRAM's content into the caches. */
	if (!ret)
		ret = beside_copy(b, bo, &ns);
	if (!ret)
		ret = beside_copy(b, bo, &ns);
	if (!ret)
		pagoda_bench_report(b, BESIDE_COPY_BYTES, ns);
	pagoda_bench_close(bo);
	return ret;
}
