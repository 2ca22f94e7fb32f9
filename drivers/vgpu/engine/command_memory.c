// SPDX-License-Identifier: GPL-2.0
/* The commands COPY and FILL, executed in pieces that are contiguous for the CPU. */
#include "command.h"

u32 pagoda_command_copy_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_copy *copy = command;
	u64 src = le64_to_cpu(copy->src);
	u64 dst = le64_to_cpu(copy->dst);
	u64 size = le64_to_cpu(copy->size);

	if (!size)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0);
	if (pagoda_ranges_meet(src, size, dst, size))
		return pagoda_engine_refuse(&job->exec, VIRTIO_PAGODA_FAULT_OVERLAP, dst,
					    VIRTIO_PAGODA_ACCESS_WRITE);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_command_copy_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_copy *copy = command;
	u64 left = le64_to_cpu(copy->size) >> job->exec.half;
	struct pagoda_span_side src = pagoda_job_side(job, le64_to_cpu(copy->src),
							 VIRTIO_PAGODA_ACCESS_READ);
	struct pagoda_span_side dst = pagoda_job_side(job, le64_to_cpu(copy->dst),
							 VIRTIO_PAGODA_ACCESS_WRITE);
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;

	while (left && !reason) {
		u32 chunk = min_t(u64, left, PAGODA_CHUNK);

		if (chunk > PAGODA_PAGE) {
			pagoda_engine_side_ahead(&job->exec, &src, chunk);
			pagoda_engine_side_ahead(&job->exec, &dst, chunk);
		}
		reason = pagoda_engine_virtual_copy(&job->exec, &src, &dst, chunk, 0);
		if (reason)
			break;
		left -= chunk;
		reason = pagoda_job_progress(job, chunk);
	}
	return reason;
}

u32 pagoda_command_fill_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_fill_words *fill = command;
	u64 size = le64_to_cpu(fill->size);

	if (fill->reserved)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_RESERVED,
					 le32_to_cpu(fill->reserved));
	if (!size)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0);
	if (!IS_ALIGNED(size, 4))
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_MISALIGNED, size);
	return pagoda_job_aligned(job, le64_to_cpu(fill->dst), 4, VIRTIO_PAGODA_ACCESS_WRITE);
}

u32 pagoda_command_fill_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_fill_words *fill = command;
	u64 left = ALIGN_DOWN(le64_to_cpu(fill->size) >> job->exec.half, 4);
	struct pagoda_span_side dst = pagoda_job_side(job, le64_to_cpu(fill->dst),
							 VIRTIO_PAGODA_ACCESS_WRITE);
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;
	u64 size;

	while (left && !reason) {
		reason = pagoda_engine_virtual_fill(&job->exec, &dst,
						    min_t(u64, left, PAGODA_CHUNK),
						    le32_to_cpu(fill->pattern), &size);
		if (reason)
			break;
		left -= size;
		reason = pagoda_job_progress(job, size);
	}
	return reason;
}
