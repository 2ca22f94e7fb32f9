// SPDX-License-Identifier: GPL-2.0
/* Each command with one bad field is refused for the right reason, before any effect. */
#include "vidmm/ttm/internal.h"
#include "engine_command_helpers.h"

/* A valid command with one field changed. */
struct command_mutation {
	u16 opcode;	/* of the command */
	u32 offset;	/* of the field in it */
	u32 width;	/* bytes of the field */
	u64 value;	/* new value of the field; if @at, relative to the first region */
	bool at;	/* the value is an address */
	u32 reason;	/* reason that the engine reports */
	const char *what;	/* for messages */
};

#define REFUSE(NAME, type, field, number, REASON) { \
		.opcode = VIRTIO_PAGODA_COMMAND_##NAME, \
		.offset = offsetof(struct virtio_pagoda_##type, field), \
		.width = sizeof_field(struct virtio_pagoda_##type, field), \
		.value = number, \
		.reason = VIRTIO_PAGODA_FAULT_##REASON, \
		.what = #NAME " " #field "=" #number, \
	}

#define REFUSE_AT(NAME, type, field, address, REASON) { \
		.opcode = VIRTIO_PAGODA_COMMAND_##NAME, \
		.offset = offsetof(struct virtio_pagoda_##type, field), \
		.width = sizeof_field(struct virtio_pagoda_##type, field), \
		.value = address, \
		.at = true, \
		.reason = VIRTIO_PAGODA_FAULT_##REASON, \
		.what = #NAME " " #field "=" #address, \
	}

#define SRC	COMMAND_AT_VRAM
#define DST	COMMAND_AT_64K
#define MORE	COMMAND_AT_SYSTEM

static const struct command_mutation command_mutations[] = {
	REFUSE(NOP, nop, command.opcode, 0, BAD_COMMAND),
	REFUSE(NOP, nop, command.opcode, VIRTIO_PAGODA_COMMAND_COUNT, BAD_COMMAND),
	REFUSE(NOP, nop, command.opcode, 0xffff, BAD_COMMAND),
	REFUSE(NOP, nop, command.flags, 1, BAD_FLAGS),
	REFUSE(NOP, nop, command.length, 0, BAD_LENGTH),
	REFUSE(NOP, nop, command.length, 4, BAD_LENGTH),
	REFUSE(NOP, nop, command.length, 12, BAD_LENGTH),
	REFUSE(NOP, nop, command.length, 24, BAD_LENGTH),	/* beyond the end of the buffer */
	REFUSE(NOP, nop, command.length, 0xfffffff8, BAD_LENGTH),
	REFUSE(COPY, copy, command.flags, 1, BAD_FLAGS),
	REFUSE(COPY, copy, command.length, 24, BAD_LENGTH),
	REFUSE(COPY, copy, command.length, 40, BAD_LENGTH),	/* not beyond the buffer's end */
	REFUSE(COPY, copy, size, 0, OUT_OF_RANGE),
	REFUSE(COPY, copy, size, ~0ull, OVERLAP),
	REFUSE_AT(COPY, copy, dst, SRC, OVERLAP),
	REFUSE_AT(COPY, copy, dst, SRC + 0x1233, OVERLAP),
	REFUSE_AT(COPY, copy, dst, SRC - 0x1233, OVERLAP),
	REFUSE(FILL, fill_words, command.flags, 0x8000, BAD_FLAGS),
	REFUSE(FILL, fill_words, size, 0, OUT_OF_RANGE),
	REFUSE(FILL, fill_words, size, 6, MISALIGNED),
	REFUSE_AT(FILL, fill_words, dst, DST + 2, MISALIGNED),
	REFUSE(FILL, fill_words, reserved, 1, RESERVED),
	REFUSE(STORE, store, command.flags, 2, BAD_FLAGS),
	REFUSE(STORE, store, command.length, 32, BAD_LENGTH),
	REFUSE_AT(STORE, store, address, DST + 2, MISALIGNED),
	REFUSE(STORE, store, value, 0x100000000, RESERVED),
	REFUSE(COMPARE, compare, command.flags, 4, BAD_FLAGS),
	REFUSE_AT(COMPARE, compare, address, DST + 1, MISALIGNED),
	REFUSE(COMPARE, compare, value, 0x100, RESERVED),	/* a bit that isn't in the mask */
	REFUSE(COMPARE, compare, mask, 0x1000000ff, RESERVED),
	REFUSE(ATOMIC_ADD, atomic_add, command.flags, 3, BAD_FLAGS),
	REFUSE_AT(ATOMIC_ADD, atomic_add, address, DST + 4, MISALIGNED),
	REFUSE_AT(ATOMIC_ADD, atomic_add, result, DST + 4, MISALIGNED),
	REFUSE(COPY_RECT, copy_rect, command.flags, 1, BAD_FLAGS),
	REFUSE(COPY_RECT, copy_rect, width, 0, OUT_OF_RANGE),
	REFUSE(COPY_RECT, copy_rect, rows, 0, OUT_OF_RANGE),
	REFUSE(COPY_RECT, copy_rect, width, 65, OUT_OF_RANGE),
	REFUSE(COPY_RECT, copy_rect, rows, 9, OUT_OF_RANGE),
	REFUSE(COPY_RECT, copy_rect, rows, 0xffffffff, OUT_OF_RANGE),
	REFUSE(COPY_RECT, copy_rect, width, 0xffffffff, OUT_OF_RANGE),
	REFUSE(COPY_RECT, copy_rect, src.x, 1, OUT_OF_RANGE),
	REFUSE(COPY_RECT, copy_rect, src.y, 1, OUT_OF_RANGE),
	REFUSE(COPY_RECT, copy_rect, src.y, 0xfffffff8, OUT_OF_RANGE),
	REFUSE(COPY_RECT, copy_rect, dst.x, 0xffffffc1, OUT_OF_RANGE),
	REFUSE(COPY_RECT, copy_rect, src.pitch, 0, BAD_LAYOUT),
	REFUSE(COPY_RECT, copy_rect, src.pitch, 65537, BAD_LAYOUT),
	REFUSE(COPY_RECT, copy_rect, src.height, 0, BAD_LAYOUT),
	REFUSE(COPY_RECT, copy_rect, src.tiling, 3, BAD_LAYOUT),
	REFUSE(COPY_RECT, copy_rect, dst.pitch, 96, BAD_LAYOUT),
	REFUSE(COPY_RECT, copy_rect, dst.height, 65, BAD_LAYOUT),
	REFUSE(COPY_RECT, copy_rect, dst.tiling, VIRTIO_PAGODA_TILING_64K, BAD_LAYOUT),
	REFUSE(COPY_RECT, copy_rect, dst.reserved, 1, RESERVED),
	REFUSE(COPY_RECT, copy_rect, src.reserved, 0x80000000, RESERVED),
	REFUSE_AT(COPY_RECT, copy_rect, dst.address, DST + 64, MISALIGNED),
	REFUSE_AT(COPY_RECT, copy_rect, dst.address, SRC, OVERLAP),
	REFUSE_AT(COPY_RECT, copy_rect, src.address, DST + 4095, OVERLAP),
	REFUSE(WAIT, wait, command.flags, 1, BAD_FLAGS),
	REFUSE_AT(WAIT, wait, address, SRC + 4, MISALIGNED),
	REFUSE(SIGNAL, signal, command.flags, 2, BAD_FLAGS),
	REFUSE_AT(SIGNAL, signal, address, DST + 4, MISALIGNED),
	REFUSE(TIMESTAMP, timestamp, command.flags, 1, BAD_FLAGS),
	REFUSE_AT(TIMESTAMP, timestamp, address, DST + 1, MISALIGNED),
	REFUSE(BRANCH, branch, command.flags, 1, BAD_FLAGS),
	REFUSE_AT(BRANCH, branch, address, 4, MISALIGNED),
	REFUSE(BRANCH, branch, size, 4, MISALIGNED),
	REFUSE(BRANCH, branch, size, VIRTIO_PAGODA_MAX_COMMAND_BUFFER + 8, OUT_OF_RANGE),
	REFUSE(COMPUTE, compute, command.flags, 1, BAD_FLAGS),
	REFUSE(COMPUTE, compute, operation, 0, BAD_COMMAND),
	REFUSE(COMPUTE, compute, operation, 4, BAD_COMMAND),
	REFUSE(COMPUTE, compute, operation, VIRTIO_PAGODA_COMPUTE_ADD, RESERVED),
	REFUSE(COMPUTE, compute, reserved, 1, RESERVED),
	REFUSE(COMPUTE, compute, count, 0, OUT_OF_RANGE),
	REFUSE(COMPUTE, compute, count, 1ull << 62, OVERLAP),
	REFUSE_AT(COMPUTE, compute, dst, DST + 2, MISALIGNED),
	REFUSE_AT(COMPUTE, compute, a, SRC + 1, MISALIGNED),
	REFUSE_AT(COMPUTE, compute, b, MORE + 2, MISALIGNED),
	REFUSE_AT(COMPUTE, compute, c, MORE + 3, MISALIGNED),
	REFUSE_AT(COMPUTE, compute, dst, SRC + 4, OVERLAP),
	REFUSE_AT(COMPUTE, compute, c, DST - 4, OVERLAP),
	REFUSE(REDUCE, reduce, command.flags, 1, BAD_FLAGS),
	REFUSE(REDUCE, reduce, operation, 0, BAD_COMMAND),
	REFUSE(REDUCE, reduce, operation, 3, BAD_COMMAND),
	REFUSE(REDUCE, reduce, reserved, 1, RESERVED),
	REFUSE(REDUCE, reduce, count, 0, OUT_OF_RANGE),
	REFUSE_AT(REDUCE, reduce, src, SRC + 2, MISALIGNED),
	REFUSE_AT(REDUCE, reduce, dst, DST + 4, MISALIGNED),
	REFUSE(SET_REGISTER, set_register, command.flags, 2, BAD_FLAGS),
	REFUSE(SET_REGISTER, set_register, number, 8, OUT_OF_RANGE),
	REFUSE(SET_REGISTER, set_register, number, 0xffffffff, OUT_OF_RANGE),
	REFUSE(SET_REGISTER, set_register, reserved, 1, RESERVED),
	REFUSE(STORE_REGISTER, store_register, command.flags, 1, BAD_FLAGS),
	REFUSE(STORE_REGISTER, store_register, number, 8, OUT_OF_RANGE),
	REFUSE(STORE_REGISTER, store_register, reserved, 1, RESERVED),
	REFUSE_AT(STORE_REGISTER, store_register, address, DST + 4, MISALIGNED),
};

/* Appends a valid command of @opcode. */
static void command_add_valid(struct command_fixture *fix, u16 opcode)
{
	u64 src = fix->va + SRC, dst = fix->va + DST, more = fix->va + MORE;
	struct virtio_pagoda_timestamp *timestamp;
	struct virtio_pagoda_copy_rect *rect;

	switch (opcode) {
	case VIRTIO_PAGODA_COMMAND_NOP:
		command_add(fix, opcode, 0, 8);
		break;
	case VIRTIO_PAGODA_COMMAND_COPY:
		command_copy(fix, src, dst, 0x1234);
		break;
	case VIRTIO_PAGODA_COMMAND_FILL:
		command_fill(fix, dst, 0x1234, 0x5a5a5a5a);
		break;
	case VIRTIO_PAGODA_COMMAND_STORE:
		command_store(fix, dst, 0x12345678, 0);
		break;
	case VIRTIO_PAGODA_COMMAND_COMPARE:
		command_compare(fix, fix->va + COMMAND_AT_ZERO, 0, 0xff, 0);
		break;
	case VIRTIO_PAGODA_COMMAND_ATOMIC_ADD:
		command_atomic_add(fix, dst, 1, dst + 8, VIRTIO_PAGODA_COMMAND_WIDE);
		break;
	case VIRTIO_PAGODA_COMMAND_COPY_RECT:
		rect = command_rect(fix, 64, 8);
		command_surface(&rect->src, src, VIRTIO_PAGODA_TILING_LINEAR, 64, 8, 0, 0);
		command_surface(&rect->dst, dst, VIRTIO_PAGODA_TILING_4K, 64, 64, 0, 0);
		break;
	case VIRTIO_PAGODA_COMMAND_WAIT:
		command_wait(fix, src, 0);
		break;
	case VIRTIO_PAGODA_COMMAND_SIGNAL:
		command_signal(fix, dst, 1, VIRTIO_PAGODA_COMMAND_EVENT);
		break;
	case VIRTIO_PAGODA_COMMAND_TIMESTAMP:
		timestamp = command_add(fix, opcode, 0, sizeof(*timestamp));
		timestamp->address = cpu_to_le64(dst);
		break;
	case VIRTIO_PAGODA_COMMAND_BRANCH:
		command_branch(fix, 0, 0);
		break;
	case VIRTIO_PAGODA_COMMAND_COMPUTE:
		command_compute(fix, VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD, 1024, dst, src, more,
				more);
		break;
	case VIRTIO_PAGODA_COMMAND_REDUCE:
		command_reduce(fix, VIRTIO_PAGODA_REDUCE_HASH, 1024, src, dst, 0);
		break;
	case VIRTIO_PAGODA_COMMAND_SET_REGISTER:
		command_set_register(fix, 7, 1, 0);
		break;
	default:
		command_store_register(fix, 0, dst);
	}
}

static void command_expect_refused(struct command_fixture *fix,
				   const struct command_mutation *mutation)
{
	__le64 *jobs = &command_image(fix)->saved[VIRTIO_PAGODA_REGISTERS];
	__le64 value = cpu_to_le64(mutation->value + (mutation->at ? fix->va : 0));
	const struct pagoda_engine_fault *fault = &fix->run.fault;
	struct kunit *test = fix->test;

	fix->code_size = 0;
	command_add_valid(fix, mutation->opcode);
	command_add(fix, VIRTIO_PAGODA_COMMAND_NOP, 0, 8);
	memcpy(fix->mmu->vram + mutation->offset, &value, mutation->width);
	command_request(fix);
	engine_snapshot(fix->mmu);
	KUNIT_EXPECT_EQ_MSG(test, command_execute(fix), PAGODA_ENGINE_FAULT, "%s", mutation->what);
	KUNIT_EXPECT_EQ_MSG(test, fault->reason, mutation->reason, "%s: %s", mutation->what,
			    pagoda_engine_fault_name(fault->reason));
	KUNIT_EXPECT_EQ_MSG(test, fault->command, fix->va, "%s", mutation->what);
	KUNIT_EXPECT_EQ_MSG(test, fault->opcode, le16_to_cpu(*(__le16 *)fix->mmu->vram), "%s",
			    mutation->what);
	KUNIT_EXPECT_EQ_MSG(test, fix->run.packets, 0, "%s", mutation->what);
	le64_add_cpu(jobs, -1);
	engine_expect_unchanged(test, fix->mmu, mutation->what);
}

/*
 * Each valid command succeeds; with one field changed, the command faults with the right reason,
 * changes no memory but the save area's count of jobs, and sends no event.
 */
static void command_refuse_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	struct pagoda_engine *engine = &fix->mmu->engine;
	u32 i;

	for (i = 1; i < VIRTIO_PAGODA_COMMAND_COUNT; i++) {
		command_add_valid(fix, i);
		command_expect_done(fix, 1, pagoda_engine_command_name(i));
		KUNIT_EXPECT_EQ(test, atomic64_read(&engine->commands[i]), 1);
	}
	fix->fences = 0;
	for (i = 0; i < ARRAY_SIZE(command_mutations); i++)
		command_expect_refused(fix, &command_mutations[i]);
	KUNIT_EXPECT_EQ(test, fix->fences, 0);
	for (i = 1; i < VIRTIO_PAGODA_COMMAND_COUNT; i++)
		KUNIT_EXPECT_EQ(test, atomic64_read(&engine->commands[i]), 1);
	KUNIT_EXPECT_STREQ(test, pagoda_engine_command_name(0), "?");
	KUNIT_EXPECT_STREQ(test, pagoda_engine_command_name(i), "?");
	KUNIT_EXPECT_STREQ(test, pagoda_engine_command_name(VIRTIO_PAGODA_COMMAND_COPY_RECT),
			   "COPY_RECT");
}

static struct kunit_case refuse_cases[] = {
	KUNIT_CASE(command_refuse_test),
	{}
};

static struct kunit_suite refuse_suite = {
	.name = "pagoda_engine_command_refuse",
	.test_cases = refuse_cases,
};

kunit_test_suite(refuse_suite);
