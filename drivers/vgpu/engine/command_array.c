// SPDX-License-Identifier: GPL-2.0
/*
 * The commands COMPUTE and REDUCE: arithmetic over arrays of 32-bit elements, which are aligned to
 * 4 bytes, so that no element crosses a page.
 */
#include "command.h"

/* Number of elements of array_zeros, which is read instead of a page of zeros. */
#define PAGODA_ZEROS		1024u

static const __le32 array_zeros[PAGODA_ZEROS];

/*
 * Indices of COMPUTE's arrays: the operands, PAGODA_OPERANDS of them at most, and the result, whose
 * memory may be an operand's. PAGODA_ARRAYS is the number of arrays.
 */
#define PAGODA_OPERAND_A	0
#define PAGODA_OPERAND_B	1
#define PAGODA_OPERAND_C	2
#define PAGODA_OPERANDS		3
#define PAGODA_RESULT		3
#define PAGODA_ARRAYS		4

/* Returns the bytes of an array of @count elements; ~0 if that number doesn't fit into 64 bits. */
static u64 array_bytes(u64 count)
{
	return count >> 62 ? ~0ull : count * sizeof(__le32);
}

static u32 array_check(struct pagoda_job *job, u64 count, u32 reserved)
{
	if (reserved)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_RESERVED, reserved);
	if (!count)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Finds the next contiguous elements of a side's array, at most *@want, and stores their number
 * (not 0) in *@want. Returns the elements' memory; NULL after a fault, whose reason *@reason
 * receives, and for writes to a page of zeros, which the caller drops.
 */
static const __le32 *array_next(struct pagoda_job *job, struct pagoda_span_side *side, u64 *want,
				u32 *reason)
{
	*reason = pagoda_engine_side_refill(&job->exec, side, *want * sizeof(__le32));
	if (*reason)
		return NULL;
	*want = min(*want, side->span.size / sizeof(__le32));
	if (side->span.here || side->access == VIRTIO_PAGODA_ACCESS_WRITE)
		return (const __le32 *)side->span.here;
	*want = min_t(u64, *want, PAGODA_ZEROS);
	return array_zeros;
}

static u32 compute_operands(const struct virtio_pagoda_compute *compute)
{
	return le32_to_cpu(compute->operation) == VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD ? 3 : 2;
}

static void compute_addresses(const struct virtio_pagoda_compute *compute, u64 *addresses)
{
	addresses[PAGODA_OPERAND_A] = le64_to_cpu(compute->a);
	addresses[PAGODA_OPERAND_B] = le64_to_cpu(compute->b);
	addresses[PAGODA_OPERAND_C] = le64_to_cpu(compute->c);
	addresses[PAGODA_RESULT] = le64_to_cpu(compute->dst);
}

static u32 compute_address_check(struct pagoda_job *job,
				 const struct virtio_pagoda_compute *compute)
{
	u64 bytes = array_bytes(le64_to_cpu(compute->count));
	u64 addresses[PAGODA_ARRAYS];
	u32 i, reason;

	compute_addresses(compute, addresses);
	for (i = 0; i < compute_operands(compute); i++) {
		reason = pagoda_job_aligned(job, addresses[i], sizeof(__le32),
					    VIRTIO_PAGODA_ACCESS_READ);
		if (reason)
			return reason;
		if (addresses[i] != addresses[PAGODA_RESULT] &&
		    pagoda_ranges_meet(addresses[i], bytes, addresses[PAGODA_RESULT], bytes))
			return pagoda_engine_refuse(&job->exec, VIRTIO_PAGODA_FAULT_OVERLAP,
						    addresses[PAGODA_RESULT],
						    VIRTIO_PAGODA_ACCESS_WRITE);
	}
	if (i == PAGODA_OPERAND_C && compute->c)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_RESERVED,
					 le64_to_cpu(compute->c));
	return pagoda_job_aligned(job, addresses[PAGODA_RESULT], sizeof(__le32),
				  VIRTIO_PAGODA_ACCESS_WRITE);
}

u32 pagoda_command_compute_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_compute *compute = command;
	u32 operation = le32_to_cpu(compute->operation);
	u32 reason;

	if (!operation || operation > VIRTIO_PAGODA_COMPUTE_XOR)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_BAD_COMMAND, operation);
	reason = array_check(job, le64_to_cpu(compute->count), le32_to_cpu(compute->reserved));
	return reason ? reason : compute_address_check(job, compute);
}

/*
 * Computes @count elements and stores them in @dst. @dst may equal @a, @b or @c: each element is
 * read before it's written.
 */
static void compute_elements(u32 operation, __le32 *dst, const __le32 *a, const __le32 *b,
			     const __le32 *c, u64 count)
{
	u64 i;

	switch (operation) {
	case VIRTIO_PAGODA_COMPUTE_ADD:
		for (i = 0; i < count; i++)
			dst[i] = cpu_to_le32(le32_to_cpu(a[i]) + le32_to_cpu(b[i]));
		break;
	case VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD:
		for (i = 0; i < count; i++)
			dst[i] = cpu_to_le32(le32_to_cpu(a[i]) * le32_to_cpu(b[i]) +
					     le32_to_cpu(c[i]));
		break;
	default:
		for (i = 0; i < count; i++)
			dst[i] = a[i] ^ b[i];
	}
}

/*
 * Computes the next elements of the result, at most *@count and as many as are contiguous in all
 * arrays, stores their number in *@count and advances @sides. Returns a fault reason, or 0.
 */
static u32 compute_piece(struct pagoda_job *job, u32 operation, u32 operands,
			 struct pagoda_span_side *sides, u64 *count)
{
	const __le32 *here[PAGODA_ARRAYS] = {};
	u32 i, reason;

	for (i = 0; i < PAGODA_ARRAYS; i++) {
		if (i >= operands && i != PAGODA_RESULT)
			continue;
		here[i] = array_next(job, &sides[i], count, &reason);
		if (reason)
			return reason;
	}
	if (here[PAGODA_RESULT]) {
		compute_elements(operation, (__le32 *)here[PAGODA_RESULT], here[0], here[1],
				 here[2], *count);
		pagoda_engine_wrote(job->exec.engine, here[PAGODA_RESULT],
				    *count * sizeof(__le32));
	}
	for (i = 0; i < PAGODA_ARRAYS; i++)
		if (i < operands || i == PAGODA_RESULT)
			pagoda_side_advance(&sides[i], *count * sizeof(__le32));
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_command_compute_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_compute *compute = command;
	u64 left = le64_to_cpu(compute->count) >> job->exec.half;
	u32 operands = compute_operands(compute);
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;
	struct pagoda_span_side sides[PAGODA_ARRAYS];
	u64 addresses[PAGODA_ARRAYS];
	u64 chunk, count;
	u32 i;

	compute_addresses(compute, addresses);
	for (i = 0; i < PAGODA_ARRAYS; i++)
		sides[i] = pagoda_job_side(job, addresses[i], i == PAGODA_RESULT ?
					   VIRTIO_PAGODA_ACCESS_WRITE : VIRTIO_PAGODA_ACCESS_READ);
	for (; left && !reason; left -= min_t(u64, left, PAGODA_CHUNK / sizeof(__le32))) {
		chunk = min_t(u64, left, PAGODA_CHUNK / sizeof(__le32));
		for (count = chunk; chunk && !reason; chunk -= count, count = chunk)
			reason = compute_piece(job, le32_to_cpu(compute->operation), operands,
					       sides, &count);
		if (!reason)
			reason = pagoda_job_progress(job, min_t(u64, left * sizeof(__le32),
								PAGODA_CHUNK));
	}
	return reason;
}

u32 pagoda_command_reduce_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_reduce *reduce = command;
	u32 operation = le32_to_cpu(reduce->operation);
	u32 reason;

	if (!operation || operation > VIRTIO_PAGODA_REDUCE_HASH)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_BAD_COMMAND, operation);
	reason = array_check(job, le64_to_cpu(reduce->count), le32_to_cpu(reduce->reserved));
	if (reason)
		return reason;
	reason = pagoda_job_aligned(job, le64_to_cpu(reduce->src), sizeof(__le32),
				    VIRTIO_PAGODA_ACCESS_READ);
	return reason ? reason : pagoda_job_aligned(job, le64_to_cpu(reduce->dst), 8,
						    VIRTIO_PAGODA_ACCESS_WRITE);
}

static u64 reduce_elements(u32 operation, u64 r, const __le32 *src, u64 count)
{
	u64 i;

	if (operation == VIRTIO_PAGODA_REDUCE_SUM) {
		for (i = 0; i < count; i++)
			r += le32_to_cpu(src[i]);
	} else {
		for (i = 0; i < count; i++)
			r = (r ^ le32_to_cpu(src[i])) * VIRTIO_PAGODA_HASH_PRIME;
	}
	return r;
}

/*
 * Adds or hashes the next @left elements of @src into *@r. The caller limits @left to a
 * PAGODA_CHUNK of bytes. Returns a fault reason, or 0.
 */
static u32 reduce_chunk(struct pagoda_job *job, u32 operation, struct pagoda_span_side *src,
			u64 left, u64 *r)
{
	const __le32 *here;
	u32 reason;
	u64 count;

	for (; left; left -= count) {
		count = left;
		here = array_next(job, src, &count, &reason);
		if (reason)
			return reason;
		*r = reduce_elements(operation, *r, here, count);
		pagoda_side_advance(src, count * sizeof(__le32));
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_command_reduce_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_reduce *reduce = command;
	struct pagoda_span_side src = pagoda_job_side(job, le64_to_cpu(reduce->src),
							 VIRTIO_PAGODA_ACCESS_READ);
	u64 left = le64_to_cpu(reduce->count);
	u64 r = le64_to_cpu(reduce->initial);
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;
	u8 *here;

	while (left && !reason) {
		u64 chunk = min_t(u64, left, PAGODA_CHUNK / sizeof(__le32));

		reason = reduce_chunk(job, le32_to_cpu(reduce->operation), &src, chunk, &r);
		if (reason)
			break;
		left -= chunk;
		reason = pagoda_job_progress(job, chunk * sizeof(__le32));
	}
	if (reason)
		return reason;
	reason = pagoda_engine_virtual_store_resolve(&job->exec, job->space,
						     le64_to_cpu(reduce->dst), 8, &here);
	if (reason || !here)	/* a result in a page of zeros (@here is NULL) is dropped */
		return reason;
	WRITE_ONCE(*(__le64 *)here, cpu_to_le64(r));
	pagoda_engine_wrote(job->exec.engine, here, 8);
	return reason;
}
