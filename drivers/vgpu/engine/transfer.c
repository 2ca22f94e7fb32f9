// SPDX-License-Identifier: GPL-2.0
/*
 * TRANSFER: any segment to any segment, in the largest spans both sides have.
 */
#include "internal.h"

static const struct virtio_pagoda_run *
pagoda_transfer_src_runs(const struct virtio_pagoda_transfer *transfer)
{
	return (const void *)(transfer + 1);
}

static const struct virtio_pagoda_run *
pagoda_transfer_dst_runs(const struct virtio_pagoda_transfer *transfer)
{
	return pagoda_transfer_src_runs(transfer) + le32_to_cpu(transfer->src.nr_runs);
}

u64 pagoda_engine_transfer_tail(const void *packet)
{
	const struct virtio_pagoda_transfer *transfer = packet;

	return ((u64)le32_to_cpu(transfer->src.nr_runs) + le32_to_cpu(transfer->dst.nr_runs)) *
	       sizeof(struct virtio_pagoda_run);
}

static bool pagoda_runs_overlap(const struct virtio_pagoda_run *a,
				const struct virtio_pagoda_run *b)
{
	u64 a_start = le64_to_cpu(a->address), b_start = le64_to_cpu(b->address);

	return a_start < b_start + le32_to_cpu(b->nr_pages) * PAGODA_PAGE &&
	       b_start < a_start + le32_to_cpu(a->nr_pages) * PAGODA_PAGE;
}

/* Two run lists share a page. Nobody copies system memory often enough to sort. */
static bool pagoda_transfer_runs_overlap(struct pagoda_exec *exec,
					 const struct virtio_pagoda_transfer *transfer,
					 u64 *address)
{
	const struct virtio_pagoda_run *src = pagoda_transfer_src_runs(transfer);
	const struct virtio_pagoda_run *dst = pagoda_transfer_dst_runs(transfer);
	u32 nr_src = le32_to_cpu(transfer->src.nr_runs);
	u32 nr_dst = le32_to_cpu(transfer->dst.nr_runs);
	u32 i, j;

	for (i = 0; i < nr_src; i++) {
		for (j = 0; j < nr_dst; j++) {
			if (pagoda_runs_overlap(&src[i], &dst[j])) {
				*address = le64_to_cpu(dst[j].address);
				return true;
			}
		}
		pagoda_shim_yield();
	}
	return false;
}

/*
 * As far as the addresses of the packet tell. That different aperture pages, or
 * one and a run, are the same memory is legal: after UNMAP they all are (C58).
 */
static bool pagoda_transfer_overlaps(struct pagoda_exec *exec,
				     const struct virtio_pagoda_transfer *transfer, u64 *address)
{
	u64 src = le64_to_cpu(transfer->src.address);
	u64 dst = le64_to_cpu(transfer->dst.address);
	u64 size = le64_to_cpu(transfer->size);

	*address = dst;
	if (transfer->src.segment != transfer->dst.segment)
		return false;
	if (le32_to_cpu(transfer->src.segment) == VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return pagoda_transfer_runs_overlap(exec, transfer, address);
	return src < dst + size && dst < src + size;
}

u32 pagoda_engine_transfer_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_transfer *transfer = packet;
	u32 nr_src = le32_to_cpu(transfer->src.nr_runs);
	u32 nr_dst = le32_to_cpu(transfer->dst.nr_runs);
	u64 size = le64_to_cpu(transfer->size);
	u64 address;
	u32 reason;

	if (!size)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0);
	if (size % 4)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, size);
	if ((u64)nr_src + nr_dst > exec->engine->max_runs)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_RUNS, (u64)nr_src + nr_dst);
	reason = pagoda_engine_location_check(exec, &transfer->src,
					      pagoda_transfer_src_runs(transfer),
					      size, VIRTIO_PAGODA_ACCESS_READ);
	if (reason)
		return reason;
	reason = pagoda_engine_location_check(exec, &transfer->dst,
					      pagoda_transfer_dst_runs(transfer),
					      size, VIRTIO_PAGODA_ACCESS_WRITE);
	if (reason)
		return reason;
	if (pagoda_transfer_overlaps(exec, transfer, &address))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_OVERLAP, address,
					    VIRTIO_PAGODA_ACCESS_WRITE);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/* Aliases get through validation, so memory may overlap after all. */
static void pagoda_copy(u8 *dst, const u8 *src, size_t size)
{
	if (likely(dst + size <= src || src + size <= dst))
		memcpy(dst, src, size);
	else
		memmove(dst, src, size);
}

u32 pagoda_engine_transfer_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_transfer *transfer = packet;
	u64 left = ALIGN_DOWN(le64_to_cpu(transfer->size) >> exec->half, 4);
	u8 *const *spans = exec->run->spans;
	struct pagoda_cursor src, dst;
	u32 reason;

	pagoda_engine_cursor_init(&src, &transfer->src, pagoda_transfer_src_runs(transfer), spans,
				  left, VIRTIO_PAGODA_ACCESS_READ);
	if (spans)
		spans += le32_to_cpu(transfer->src.nr_runs);
	pagoda_engine_cursor_init(&dst, &transfer->dst, pagoda_transfer_dst_runs(transfer), spans,
				  left, VIRTIO_PAGODA_ACCESS_WRITE);
	while (left) {
		u64 size;

		if (!src.here_size) {
			reason = pagoda_engine_cursor_refill(exec, &src);
			if (reason)
				return reason;
		}
		if (!dst.here_size) {
			reason = pagoda_engine_cursor_refill(exec, &dst);
			if (reason)
				return reason;
		}
		size = min(src.here_size, dst.here_size);
		size = min_t(u64, size, PAGODA_CHUNK);
		pagoda_copy(dst.here, src.here, size);
		src.here += size;
		src.here_size -= size;
		dst.here += size;
		dst.here_size -= size;
		left -= size;
		pagoda_progress(exec, size);
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}
