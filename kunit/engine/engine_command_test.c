// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of execution engines: the effect of each command; of COPY on pages of every kind, in
 * page tables of every shape.
 */
#include <linux/ktime.h>
#include "command_model.h"
#include "engine_command_helpers.h"

#define WIDE	VIRTIO_PAGODA_COMMAND_WIDE

/* Regions with memory of every kind, and their size. */
static const struct {
	u64 at;
	u64 size;
} command_places[] = {
	{ COMMAND_AT_VRAM, 64 * SZ_4K },
	{ COMMAND_AT_SYSTEM, 32 * SZ_4K },
	{ COMMAND_AT_APERTURE, 32 * SZ_4K },
	{ COMMAND_AT_64K, 8 * SZ_64K },
	{ COMMAND_AT_2M, SZ_2M },
};

/* Returns the byte of the snapshot that belongs to @here. */
static u8 *command_before(struct command_fixture *fix, const void *here)
{
	return fix->mmu->before + ((const u8 *)here - fix->mmu->memory);
}

/*
 * Expects that all memory is as in the snapshot: the caller has restored what was to change, and
 * the save area's count of jobs is restored here.
 */
static void command_expect_rest(struct command_fixture *fix, const char *what)
{
	__le64 *jobs = &command_image(fix)->saved[VIRTIO_PAGODA_REGISTERS];

	*jobs = *(__le64 *)command_before(fix, jobs);
	engine_expect_unchanged(fix->test, fix->mmu, what);
}

/* Expects that memory at @va holds @value, then restores the snapshot's bytes at @va. */
static void command_expect_value(struct command_fixture *fix, u64 va, u32 size, u64 value,
				 const char *what)
{
	__le64 found = 0;
	u8 *here;
	u32 i;

	for (i = 0; i < size; i++) {
		here = command_memory(fix, va + i);
		((u8 *)&found)[i] = *here;
		*here = *command_before(fix, here);
	}
	KUNIT_EXPECT_EQ_MSG(fix->test, le64_to_cpu(found), value, "%s", what);
}

/*
 * Expects that every byte of a copy arrived and no other memory changed; restores the destination.
 */
static void command_check_copy(struct command_fixture *fix, u64 src, u64 dst, u64 size)
{
	u64 i;

	for (i = 0; i < size; i++) {
		u8 *from = command_memory(fix, src + i), *to = command_memory(fix, dst + i);

		KUNIT_ASSERT_EQ(fix->test, *to, *command_before(fix, from));
		*to = *command_before(fix, to);
	}
	command_expect_rest(fix, "around the copy");
}

/*
 * A COPY between regions of every kind, from and to odd addresses and across borders of pages,
 * copies every byte of its range and changes no other.
 */
static void command_copy_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u32 shape, i, j;

	for (shape = 0; shape < MMU_SHAPES; shape++) {
		command_shape_set(fix, &mmu_shapes[shape]);
		for (i = 0; i < ARRAY_SIZE(command_places); i++) {
			for (j = 0; j < ARRAY_SIZE(command_places); j++) {
				u64 src = fix->va + command_places[i].at + 0xffd;
				u64 dst = fix->va + command_places[j].at + SZ_64K + 3;
				u64 size = 3 * SZ_4K + 0x123;

				fix->ahead = !fix->ahead;
				command_copy(fix, src, dst, size);
				engine_snapshot(fix->mmu);
				command_expect_done(fix, 1, "copy");
				KUNIT_EXPECT_EQ(test, fix->run.bytes, size);
				command_check_copy(fix, src, dst, size);
			}
		}
	}
	engine_expect_guards(test, fix->mmu, "guards");
}

/* A FILL writes every word of its range, also of a large one, and no other. */
static void command_fill_test(struct kunit *test)
{
	static const struct {
		u64 at, size;
		u32 pattern;
	} fills[] = {
		{ COMMAND_AT_VRAM + 4, 5 * SZ_4K, 0x12345678 },
		{ COMMAND_AT_SYSTEM + 0xffc, 8, 0xfedcba98 },
		{ COMMAND_AT_APERTURE, SZ_64K - 4, 0 },
		{ COMMAND_AT_2M + 0x1004, SZ_1M + SZ_64K + 12, 0xa5a5a5a6 },
	};
	struct command_fixture *fix = test->priv;
	u32 i;
	u64 at;

	for (i = 0; i < ARRAY_SIZE(fills); i++) {
		command_fill(fix, fix->va + fills[i].at, fills[i].size, fills[i].pattern);
		engine_snapshot(fix->mmu);
		command_expect_done(fix, 1, "fill");
		for (at = fills[i].at; at < fills[i].at + fills[i].size; at += 4)
			command_expect_value(fix, fix->va + at, 4, fills[i].pattern, "fill");
		command_expect_rest(fix, "around the fill");
	}
}

/* Commands read zeros from pages with PTE_ZERO; what commands write to such pages is dropped. */
static void command_zero_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u64 zero = fix->va + COMMAND_AT_ZERO, to = fix->va + COMMAND_AT_VRAM;
	struct virtio_pagoda_copy_rect *rect;
	u32 i;

	PAGODA_PROVES(C94);
	command_store(fix, zero + 8, ~0ull, WIDE);
	command_signal(fix, zero + 16, ~0ull, 0);
	command_atomic_add(fix, zero + 24, 5, to, WIDE);
	command_fill(fix, zero, SZ_1M + SZ_4K, 0xffffffff);
	command_copy(fix, fix->va + COMMAND_AT_SYSTEM, zero, 3 * SZ_4K);
	command_compute(fix, VIRTIO_PAGODA_COMPUTE_XOR, 2048, zero, fix->va + COMMAND_AT_2M,
			fix->va + COMMAND_AT_64K, 0);
	command_compare(fix, zero + 8, 0, ~0ull, WIDE);
	command_reduce(fix, VIRTIO_PAGODA_REDUCE_SUM, SZ_2M / 4, zero, to + 8, 7);
	command_wait(fix, zero, 0);
	rect = command_rect(fix, 64, 2);
	command_surface(&rect->src, zero, VIRTIO_PAGODA_TILING_4K, 64, 64, 0, 0);
	command_surface(&rect->dst, to + 64, VIRTIO_PAGODA_TILING_LINEAR, 64, 2, 0, 0);
	command_copy(fix, zero + 5, to + 192, 16);
	engine_snapshot(fix->mmu);
	command_expect_done(fix, 11, "zeros");
	command_expect_value(fix, to, 8, 0, "what was in front of an addition");
	command_expect_value(fix, to + 8, 8, 7, "a sum of zeros");
	for (i = 64; i < 64 + 128 + 16; i += 8)
		command_expect_value(fix, to + i, 8, 0, "a rectangle of zeros, and a copy");
	command_expect_rest(fix, "what was written to zeros");
}

/* STORE, ATOMIC_ADD and SIGNAL change their 4 or 8 bytes only; COMPARE sees what was stored. */
static void command_values_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	const u64 value = 0x0123456789abcdef;
	u32 i;
	u64 va;

	for (i = 0; i < ARRAY_SIZE(command_places); i++) {
		va = fix->va + command_places[i].at + SZ_4K - 8;
		command_store(fix, va, value, WIDE);
		command_compare(fix, va, value, ~0ull, WIDE);
		command_compare(fix, va + 4, 0x01230000, 0xffff0000, 0);
		command_atomic_add(fix, va, 0x1122334455667788, va + 8, WIDE);
		/* This addition wraps within its own 4 bytes. */
		command_atomic_add(fix, va + 4, 0xf0000000, va + 16, 0);
		command_signal(fix, va + 32, value, 0);
		command_store(fix, va + 44, 0x55667788, 0);
		engine_snapshot(fix->mmu);
		command_expect_done(fix, 7, "values");
		/* Each value and each result of an addition counts. */
		KUNIT_EXPECT_EQ(test, fix->run.bytes, 8 + 8 + 4 + (8 + 8) + (4 + 4) + 8 + 4);
		command_expect_value(fix, va, 8, 0x024578abdf124577, "after both additions");
		command_expect_value(fix, va + 8, 8, value, "before the first");
		command_expect_value(fix, va + 16, 4, 0x124578ab, "before the second");
		command_expect_value(fix, va + 32, 8, value, "signal");
		command_expect_value(fix, va + 44, 4, 0x55667788, "narrow store");
		command_expect_rest(fix, "around the values");
	}
}

/*
 * Called when a WAIT has found its value too small. Flushes the TLB, which must not block. After
 * some calls maps another page at the value's address, later changes the value, and then asks the
 * engine to stop.
 */
static void command_wait_idle(struct command_fixture *fix)
{
	u64 va = fix->va + COMMAND_AT_SYSTEM;

	/* If the engine held its translation lock now, the flush would wait for ever. */
	engine_add_flush(fix->mmu, COMMAND_SPACE, 0, 0);
	engine_expect_done(fix->test, fix->mmu);
	if (fix->run.looks == 3)	/* the value is read from another page now */
		command_map(fix, va, SZ_4K, mmu_entry(VIRTIO_PAGODA_SEGMENT_VRAM, 0x20000, 0));
	if (fix->run.looks == 6)
		*(__le64 *)command_memory(fix, va) = cpu_to_le64(42);
	if (fix->run.looks == 12)
		fix->stop = true;
}

/*
 * A WAIT ends when the value is reached, even if the value's address was mapped to another page
 * during the wait, or when the engine is stopped.
 */
static void command_wait_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u64 va = fix->va + COMMAND_AT_SYSTEM;

	PAGODA_PROVES(C103);
	*(__le64 *)command_memory(fix, va) = cpu_to_le64(40);
	memset(fix->mmu->vram + 0x20000, 0, 8);
	fix->idle = command_wait_idle;
	command_wait(fix, va, 40);
	command_wait(fix, va, 41);
	command_wait(fix, va, 42);
	command_expect_done(fix, 3, "waits");
	KUNIT_EXPECT_EQ(test, fix->run.looks, 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(*(__le64 *)command_memory(fix, va)), 42);
	/* A WAIT whose value never comes ends when the engine is stopped. */
	command_wait(fix, va, 43);
	command_request(fix);
	KUNIT_EXPECT_EQ(test, command_execute(fix), PAGODA_ENGINE_STOPPED);
	KUNIT_EXPECT_EQ(test, fix->run.looks, 12);
	KUNIT_EXPECT_EQ(test, fix->run.packets, 0);
}

/*
 * A SIGNAL with VIRTIO_PAGODA_COMMAND_EVENT sends its event when the value is in memory, a SIGNAL
 * without the flag sends none.
 */
static void command_signal_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u64 va = fix->va + COMMAND_AT_APERTURE + 16;

	command_signal(fix, va, 7, 0);
	command_signal(fix, va, 0x100000008, VIRTIO_PAGODA_COMMAND_EVENT);
	command_expect_done(fix, 2, "signals");
	KUNIT_EXPECT_EQ(test, fix->fences, 1);
	KUNIT_EXPECT_EQ(test, fix->fence_address, va);
	KUNIT_EXPECT_EQ(test, fix->fence_value, 0x100000008);
	KUNIT_EXPECT_EQ(test, fix->fence_seen, 0x100000008);
}

/* Timestamps are times of CLOCK_MONOTONIC, and never decrease. */
static void command_timestamp_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u64 va = fix->va + COMMAND_AT_VRAM, last = 0, now;
	u64 began = ktime_get_ns();
	u32 i;

	for (i = 0; i < 8; i++) {
		struct virtio_pagoda_timestamp *timestamp;

		timestamp = command_add(fix, VIRTIO_PAGODA_COMMAND_TIMESTAMP, 0,
					sizeof(*timestamp));
		timestamp->address = cpu_to_le64(va + 8 * i);
	}
	engine_snapshot(fix->mmu);
	command_expect_done(fix, 8, "timestamps");
	for (i = 0; i < 8; i++) {
		now = le64_to_cpu(*(__le64 *)command_memory(fix, va + 8 * i));
		KUNIT_EXPECT_GE(test, now, last);
		KUNIT_EXPECT_GE(test, now, began);
		KUNIT_EXPECT_LE(test, now, ktime_get_ns());
		last = now;
		command_expect_value(fix, va + 8 * i, 8, now, "time");
	}
	command_expect_rest(fix, "around the time");
}

static u32 command_element(struct command_fixture *fix, u64 va)
{
	return le32_to_cpu(*(__le32 *)command_before(fix, command_memory(fix, va)));
}

static void command_check_compute(struct command_fixture *fix, u32 operation, u32 count, u64 dst,
				  u64 a, u64 b, u64 c)
{
	u32 i, value;

	for (i = 0; i < count; i++) {
		value = command_element(fix, a + 4 * i);
		if (operation == VIRTIO_PAGODA_COMPUTE_ADD)
			value += command_element(fix, b + 4 * i);
		else if (operation == VIRTIO_PAGODA_COMPUTE_XOR)
			value ^= command_element(fix, b + 4 * i);
		else
			value = value * command_element(fix, b + 4 * i) +
				command_element(fix, c + 4 * i);
		command_expect_value(fix, dst + 4 * i, 4, value, "element");
	}
	command_expect_rest(fix, "around the elements");
}

/*
 * Every element that COMPUTE stores is right if the arrays' pages end at different places, and if
 * the result overwrites an operand.
 */
static void command_compute_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u64 a = fix->va + COMMAND_AT_VRAM + 0x10, b = fix->va + COMMAND_AT_SYSTEM + 0xff0;
	u64 c = fix->va + COMMAND_AT_APERTURE + 0x7fc, dst = fix->va + COMMAND_AT_64K + 0xe004;
	const u64 results[] = { dst, a, b };
	u32 operation, i, count = 5000;

	for (operation = VIRTIO_PAGODA_COMPUTE_ADD; operation <= VIRTIO_PAGODA_COMPUTE_XOR;
	     operation++) {
		bool three = operation == VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD;

		for (i = 0; i < ARRAY_SIZE(results); i++) {
			command_compute(fix, operation, count, results[i], a, b, three ? c : 0);
			engine_snapshot(fix->mmu);
			command_expect_done(fix, 1, "compute");
			command_check_compute(fix, operation, count, results[i], a, b, c);
		}
	}
}

/*
 * Every element that COMPUTE stores is right if the array is larger than the pieces in which the
 * engine computes.
 */
static void command_compute_large_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u64 a = fix->va + COMMAND_AT_2M + 4, zero = fix->va + COMMAND_AT_ZERO;
	u32 count = (SZ_2M - 8) / 4;

	command_compute(fix, VIRTIO_PAGODA_COMPUTE_ADD, count, a, a, a, 0);
	engine_snapshot(fix->mmu);
	command_expect_done(fix, 1, "compute");
	command_check_compute(fix, VIRTIO_PAGODA_COMPUTE_ADD, count, a, a, a, 0);
	command_compute(fix, VIRTIO_PAGODA_COMPUTE_XOR, count, a, zero, a, 0);
	engine_snapshot(fix->mmu);
	command_expect_done(fix, 1, "compute");
	command_expect_rest(fix, "nothing added to an array");
}

/* Sum and hash that REDUCE stores of an array of several pages are those that the CPU computes. */
static void command_reduce_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u64 src = fix->va + COMMAND_AT_VRAM + 4, dst = fix->va + COMMAND_AT_SYSTEM + 8;
	u64 sum = 0xffffffff00000000, hash = 0x9a60da;
	u32 i, count = 60 * 1024;

	command_reduce(fix, VIRTIO_PAGODA_REDUCE_SUM, count, src, dst, sum);
	command_reduce(fix, VIRTIO_PAGODA_REDUCE_HASH, count, src, dst + 8, hash);
	engine_snapshot(fix->mmu);
	command_expect_done(fix, 2, "reduce");
	for (i = 0; i < count; i++) {
		sum += command_element(fix, src + 4 * i);
		hash = (hash ^ command_element(fix, src + 4 * i)) * 0x100000001b3ull;
	}
	command_expect_value(fix, dst, 8, sum, "sum");
	command_expect_value(fix, dst + 8, 8, hash, "hash");
	command_expect_rest(fix, "around the results");
}

/*
 * Describes a surface of tiling @tiling at offset @at of the address space's regions, and the place
 * of a rectangle in the surface.
 */
static void command_rect_surface(struct command_fixture *fix,
				 struct virtio_pagoda_surface *surface, u64 at, u32 tiling)
{
	if (tiling == VIRTIO_PAGODA_TILING_LINEAR)
		command_surface(surface, fix->va + at + 5, tiling, 700, 130, 77, 9);
	else
		command_surface(surface, fix->va + at, tiling, 768, 256, 190, 60);
}

static void command_check_rect(struct command_fixture *fix,
			       const struct virtio_pagoda_surface *src,
			       const struct virtio_pagoda_surface *dst, u32 width, u32 rows)
{
	u32 row, i;

	for (row = 0; row < rows; row++) {
		for (i = 0; i < width; i++) {
			u64 from = command_model_offset(src, le32_to_cpu(src->y) + row,
							le32_to_cpu(src->x) + i);
			u64 to = command_model_offset(dst, le32_to_cpu(dst->y) + row,
						      le32_to_cpu(dst->x) + i);
			u8 *here = command_memory(fix, le64_to_cpu(dst->address) + to);

			from += le64_to_cpu(src->address);
			KUNIT_ASSERT_EQ(fix->test, *here,
					*command_before(fix, command_memory(fix, from)));
			*here = *command_before(fix, here);
		}
	}
	command_expect_rest(fix, "around the rectangle");
}

/*
 * COPY_RECT copies every byte of a rectangle between surfaces of all tilings, and changes nothing
 * around the rectangle.
 */
static void command_rect_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	struct virtio_pagoda_copy_rect *rect;
	u32 from, to;

	for (from = 0; from < VIRTIO_PAGODA_TILING_COUNT; from++) {
		for (to = 0; to < VIRTIO_PAGODA_TILING_COUNT; to++) {
			rect = command_rect(fix, 555, 111);
			command_rect_surface(fix, &rect->src, COMMAND_AT_VRAM, from);
			command_rect_surface(fix, &rect->dst, COMMAND_AT_64K + SZ_4K, to);
			engine_snapshot(fix->mmu);
			command_expect_done(fix, 1, "rectangle");
			KUNIT_EXPECT_EQ(test, fix->run.bytes, 555 * 111);
			rect = (void *)fix->mmu->vram;
			command_check_rect(fix, &rect->src, &rect->dst, 555, 111);
		}
	}
}

/*
 * A job's buffers are executed one after another. NOPs of any length are skipped, BRANCH continues
 * in another buffer, and a BRANCH of size 0 ends a buffer.
 */
static void command_flow_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u64 va = fix->va + COMMAND_AT_VRAM;
	u32 second, third;

	command_store(fix, va, 1, 0);
	command_add(fix, VIRTIO_PAGODA_COMMAND_NOP, 0, 8);
	command_add(fix, VIRTIO_PAGODA_COMMAND_NOP, 0, 4056);
	/* The BRANCH lies across the border of a page. */
	KUNIT_EXPECT_EQ(test, fix->code_size, SZ_4K - 8);
	command_branch(fix, fix->va + 3 * SZ_4K, sizeof(struct virtio_pagoda_store));
	command_store(fix, va, 99, 0);		/* skipped */
	second = fix->code_size;
	command_branch(fix, 0, 0);
	command_store(fix, va + 4, 99, 0);	/* skipped */
	third = fix->code_size;
	command_store(fix, va + 8, 3, 0);
	fix->code_size = 3 * SZ_4K;
	command_store(fix, va + 4, 2, 0);
	engine_snapshot(fix->mmu);
	command_request(fix);
	fix->request.execute.nr_buffers = cpu_to_le32(3);
	fix->request.buffers[0].size = cpu_to_le64(second);
	fix->request.buffers[1].address = cpu_to_le64(fix->va + second);
	fix->request.buffers[1].size = cpu_to_le64(third - second);
	fix->request.buffers[2].address = cpu_to_le64(fix->va + third);
	fix->request.buffers[2].size = cpu_to_le64(sizeof(struct virtio_pagoda_store));
	KUNIT_EXPECT_EQ(test, command_execute(fix), PAGODA_ENGINE_DONE);
	KUNIT_EXPECT_EQ(test, fix->run.packets, 7);
	command_expect_value(fix, va, 4, 1, "first buffer");
	command_expect_value(fix, va + 4, 4, 2, "where it branched to");
	command_expect_value(fix, va + 8, 4, 3, "third buffer");
	command_expect_rest(fix, "what was skipped");
}

/* A program that changes its own next command executes the changed command. */
static void command_modify_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u64 va = fix->va + COMMAND_AT_VRAM;

	command_store(fix, fix->va + sizeof(struct virtio_pagoda_store) +
		      offsetof(struct virtio_pagoda_store, value), 8, 0);
	command_store(fix, va, 7, 0);
	command_expect_done(fix, 2, "a command that was changed");
	KUNIT_EXPECT_EQ(test, le32_to_cpu(*(__le32 *)command_memory(fix, va)), 8);
	/*
	 * The FILL overwrites its own command but goes on as it was fetched: it fills all of its
	 * range. Then the pattern is where the next command was.
	 */
	command_fill(fix, fix->va, 4 * SZ_4K, 0x1000);
	command_add(fix, VIRTIO_PAGODA_COMMAND_NOP, 0, 8);
	command_expect_fault(fix, VIRTIO_PAGODA_FAULT_BAD_COMMAND, 0x1000,
			     VIRTIO_PAGODA_ACCESS_NONE, "what was a command before");
	KUNIT_EXPECT_EQ(test, fix->run.packets, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(*(__le32 *)(fix->mmu->vram + 4 * SZ_4K - 4)), 0x1000);
}

/* Registers keep their values from job to job, however a job ends, and jobs are counted. */
static void command_registers_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u64 va = fix->va + COMMAND_AT_SYSTEM + 8;
	const __le64 *saved = command_image(fix)->saved;
	u32 i;

	for (i = 0; i < VIRTIO_PAGODA_REGISTERS; i++)
		command_set_register(fix, i, 0x100000000ull * i + 5, 0);
	command_expect_done(fix, 8, "set");
	command_set_register(fix, 3, ~0ull, VIRTIO_PAGODA_COMMAND_ADD);
	command_compare(fix, fix->va + COMMAND_AT_ZERO, 1, 1, 0);
	command_expect_fault(fix, VIRTIO_PAGODA_FAULT_COMPARE, fix->va + COMMAND_AT_ZERO,
			     VIRTIO_PAGODA_ACCESS_READ, "compare");
	command_set_register(fix, 4, 1, VIRTIO_PAGODA_COMMAND_ADD);
	command_branch(fix, fix->va, sizeof(struct virtio_pagoda_set_register) +
		       sizeof(struct virtio_pagoda_branch));
	command_request(fix);
	fix->run.stop_at = 2001;
	KUNIT_EXPECT_EQ(test, command_execute(fix), PAGODA_ENGINE_STOPPED);
	KUNIT_EXPECT_EQ(test, fix->run.packets, 2001);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(saved[VIRTIO_PAGODA_REGISTERS]), 3);
	for (i = 0; i < VIRTIO_PAGODA_REGISTERS; i++)
		command_store_register(fix, i, va + 8 * i);
	engine_snapshot(fix->mmu);
	command_expect_done(fix, 8, "stored");
	for (i = 0; i < VIRTIO_PAGODA_REGISTERS; i++)
		command_expect_value(fix, va + 8 * i, 8, 0x100000000ull * i + 5 -
				     (i == 3) + (i == 4 ? 1001 : 0), "register");
	KUNIT_EXPECT_EQ(test, le64_to_cpu(saved[VIRTIO_PAGODA_REGISTERS]), 4);
	command_expect_rest(fix, "around the registers");
	command_expect_done(fix, 0, "nothing to do");
}

/*
 * A FILL that itself writes to the flag which asks the engine to stop ends after 1 MiB at most. A
 * loop of commands that does so ends, too.
 */
static void command_stop_test(struct kunit *test)
{
	struct command_fixture *fix = test->priv;
	u64 dst = fix->va + COMMAND_AT_2M, at;

	memset(command_memory(fix, dst), 0, SZ_2M);
	command_fill(fix, dst, SZ_2M, 0x01010101);
	command_request(fix);
	fix->run.stop = (bool *)command_memory(fix, dst + SZ_64K);
	KUNIT_EXPECT_EQ(test, command_execute(fix), PAGODA_ENGINE_STOPPED);
	KUNIT_EXPECT_EQ(test, fix->run.packets, 0);
	for (at = 0; at < SZ_2M && *command_memory(fix, dst + at); at += 4)
		;
	KUNIT_EXPECT_GT(test, at, SZ_64K);
	KUNIT_EXPECT_LE(test, at, SZ_1M);
	KUNIT_EXPECT_NULL(test, memchr_inv(command_memory(fix, dst + at), 0, SZ_2M - at));
	/* A loop stops before its next command: an addition carries into the flag's byte. */
	memset(command_memory(fix, dst), 0, 8);
	command_atomic_add(fix, dst, 0x800000, 0, 0);
	command_branch(fix, fix->va, fix->code_size + sizeof(struct virtio_pagoda_branch));
	command_request(fix);
	fix->run.stop = (bool *)command_memory(fix, dst + 3);
	KUNIT_EXPECT_EQ(test, command_execute(fix), PAGODA_ENGINE_STOPPED);
	KUNIT_EXPECT_EQ(test, fix->run.packets, 3);
}

static int command_test_init(struct kunit *test)
{
	test->priv = command_fixture_init(test);
	return 0;
}

static struct kunit_case command_cases[] = {
	KUNIT_CASE_SLOW(command_copy_test),
	KUNIT_CASE(command_fill_test),
	KUNIT_CASE(command_zero_test),
	KUNIT_CASE(command_values_test),
	KUNIT_CASE(command_wait_test),
	KUNIT_CASE(command_signal_test),
	KUNIT_CASE(command_timestamp_test),
	KUNIT_CASE(command_compute_test),
	KUNIT_CASE(command_compute_large_test),
	KUNIT_CASE(command_reduce_test),
	KUNIT_CASE(command_rect_test),
	KUNIT_CASE(command_flow_test),
	KUNIT_CASE(command_modify_test),
	KUNIT_CASE(command_registers_test),
	KUNIT_CASE(command_stop_test),
	{}
};

static struct kunit_suite command_suite = {
	.name = "pagoda_engine_command",
	.init = command_test_init,
	.test_cases = command_cases,
};

kunit_test_suite(command_suite);
