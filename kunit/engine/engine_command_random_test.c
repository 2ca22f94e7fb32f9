// SPDX-License-Identifier: GPL-2.0
/*
 * Random programs, executed by the engine and by command_model.c: both end with equal memory, fault
 * and registers. The programs come from a printed seed; the initial content of memory doesn't.
 */
#include <linux/prandom.h>
#include "command_model.h"
#include "engine_command_helpers.h"

#define RANDOM_SEED	0x9a60da04u
#define RANDOM_PROGRAMS	40u		/* for each shape of page tables */
#define RANDOM_COMMANDS	24u		/* in each program */
#define RANDOM_LIMIT	200u		/* most commands executed in each program */

/* @ends: number of programs that the model ended in each way, by enum command_model_end */
struct random_world {
	struct command_fixture *fix;
	struct rnd_state rnd;
	u32 ends[COMMAND_MODEL_CUT + 1];
};

static u32 random_below(struct random_world *world, u32 limit)
{
	return prandom_u32_state(&world->rnd) % limit;
}

/*
 * command_model.byte of the test: returns the byte at @va in the snapshot of memory, which the
 * model changes, while the engine changes memory itself.
 */
static u8 *random_byte(void *priv, u64 va, u32 access, u32 *reason)
{
	struct random_world *world = priv;
	struct engine_fixture *mmu = world->fix->mmu;
	u64 page = (va - world->fix->va) / MMU_PAGE;
	const struct command_page *found;

	if (va >> mmu->engine.va_bits) {
		*reason = VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
		return NULL;
	}
	found = va >= world->fix->va && page < COMMAND_PAGES ? &world->fix->pages[page] : NULL;
	if (!found || !(found->entry & VIRTIO_PAGODA_PTE_VALID))
		*reason = VIRTIO_PAGODA_FAULT_INVALID_ENTRY;
	else if (found->entry & VIRTIO_PAGODA_PTE_READ_ONLY && access == VIRTIO_PAGODA_ACCESS_WRITE)
		*reason = VIRTIO_PAGODA_FAULT_READ_ONLY;
	else if (found->entry & VIRTIO_PAGODA_PTE_NO_EXECUTE &&
		 access == VIRTIO_PAGODA_ACCESS_FETCH)
		*reason = VIRTIO_PAGODA_FAULT_NO_EXECUTE;
	else if (found->here)
		return mmu->before + (found->here - mmu->memory) + va % MMU_PAGE;
	return NULL;
}

/*
 * Returns a multiple of @alignment as address, most often in a writable page, and often shortly
 * before the end of a page.
 */
static u64 random_address(struct random_world *world, u32 alignment)
{
	static const struct {
		u64 at;
		u32 pages;
	} places[] = {
		{ COMMAND_AT_VRAM, 64 }, { COMMAND_AT_VRAM, 64 }, { COMMAND_AT_SYSTEM, 32 },
		{ COMMAND_AT_SYSTEM, 32 }, { COMMAND_AT_APERTURE, 32 }, { COMMAND_AT_APERTURE, 32 },
		{ COMMAND_AT_64K, 128 }, { COMMAND_AT_2M, 512 }, { COMMAND_AT_2M, 512 },
		{ COMMAND_AT_ZERO, 512 }, { COMMAND_AT_ODD, 4 }, { COMMAND_AT_CODE, 16 },
	};
	u32 place = random_below(world, 24);
	u64 offset;

	/* The last two places are chosen less often, because they end most programs. */
	place = place < 20 ? place % 10 : place - 12;
	if (place > 9 && random_below(world, 3))
		place = 0;
	offset = random_below(world, places[place].pages) * MMU_PAGE;
	switch (random_below(world, 3)) {
	case 0:
		offset += MMU_PAGE - alignment - random_below(world, 64);
		break;
	case 1:
		offset += random_below(world, MMU_PAGE);
		break;
	}
	return world->fix->va + places[place].at + round_down(offset, alignment);
}

static u32 random_size(struct random_world *world)
{
	switch (random_below(world, 4)) {
	case 0:
		return 1 + random_below(world, 64);
	case 1:
		return MMU_PAGE;
	case 2:
		return 1 + random_below(world, 3 * MMU_PAGE);
	default:
		return 1 + random_below(world, SZ_64K);
	}
}

static void random_surface(struct random_world *world, struct virtio_pagoda_surface *surface,
			   u32 width, u32 rows)
{
	u32 tiling = random_below(world, VIRTIO_PAGODA_TILING_COUNT);
	u32 tile = tiling == VIRTIO_PAGODA_TILING_4K ? 64 : tiling ? 256 : 1;
	u32 x = random_below(world, 100), y = random_below(world, 20);
	u32 pitch = round_up(x + width + random_below(world, 50), tile);
	u32 height = round_up(y + rows, tile);

	command_surface(surface, random_address(world, tiling ? MMU_PAGE : 1), tiling, pitch,
			height, x, y);
}

static void random_values(struct random_world *world)
{
	u16 wide = random_below(world, 2);
	u64 value = prandom_u32_state(&world->rnd);
	u64 a = random_address(world, 8), b = random_address(world, 8);

	if (wide)
		value |= (u64)prandom_u32_state(&world->rnd) << 32;
	switch (random_below(world, 7)) {
	case 0:
		command_store(world->fix, a, value, wide);
		break;
	case 1:		/* equal, unless @a reads as zeros */
		command_store(world->fix, a, value, wide);
		command_compare(world->fix, a, value & 0xf0f0, 0xf0f0, wide);
		break;
	case 2:
		command_atomic_add(world->fix, a, value, random_below(world, 2) ? b : 0, wide);
		break;
	case 3:
		command_signal(world->fix, a, value, random_below(world, 2));
		command_wait(world->fix, a, value - random_below(world, 2));
		break;
	case 4:
		command_set_register(world->fix, random_below(world, 8), value,
				     random_below(world, 2));
		break;
	case 5:
		command_store_register(world->fix, random_below(world, 8), a);
		break;
	default:	/* rarely equal */
		if (!random_below(world, 8))
			command_compare(world->fix, a, value, U64_MAX >> (wide ? 0 : 32), wide);
	}
}

static void random_arrays(struct random_world *world)
{
	u32 count = DIV_ROUND_UP(random_size(world), 4), operation = 1 + random_below(world, 3);
	u64 a = random_address(world, 4), b = random_address(world, 4);
	u64 dst = random_below(world, 2) ? a : b;

	if (random_below(world, 3))
		dst = random_address(world, 4);
	if (random_below(world, 2))
		command_compute(world->fix, operation, count, dst, a, b,
				operation == VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD ?
				random_address(world, 4) : 0);
	else
		command_reduce(world->fix, 1 + random_below(world, 2), count, a,
			       random_address(world, 8), prandom_u32_state(&world->rnd));
}

static void random_rect(struct random_world *world)
{
	u32 width = 1 + random_below(world, 300), rows = 1 + random_below(world, 70);
	struct virtio_pagoda_copy_rect *rect = command_rect(world->fix, width, rows);

	random_surface(world, &rect->src, width, rows);
	random_surface(world, &rect->dst, width, rows);
}

/*
 * Appends a NOP with a random number of bytes or, less often, a BRANCH over bytes that are no
 * commands or back to the beginning of the code.
 */
static void random_flow(struct random_world *world)
{
	u32 skip = 8 * (1 + random_below(world, 12)), here = world->fix->code_size;
	u64 target;

	if (random_below(world, 4)) {
		command_add(world->fix, VIRTIO_PAGODA_COMMAND_NOP, 0, skip);
		return;
	}
	target = random_below(world, 6) ? here + sizeof(struct virtio_pagoda_branch) + skip : 0;
	command_branch(world->fix, world->fix->va + target, COMMAND_CODE - SZ_4K);
	if (target)
		memset(world->fix->mmu->vram + world->fix->code_size, 0xff, skip);
	world->fix->code_size += target ? skip : 0;
}

static void random_command(struct random_world *world)
{
	switch (random_below(world, 8)) {
	case 0:
	case 1:
		command_copy(world->fix, random_address(world, 1), random_address(world, 1),
			     random_size(world));
		break;
	case 2:
		command_fill(world->fix, random_address(world, 4),
			     round_up(random_size(world), 4), prandom_u32_state(&world->rnd));
		break;
	case 3:
		random_arrays(world);
		break;
	case 4:
		random_rect(world);
		break;
	case 5:
		random_flow(world);
		break;
	default:
		random_values(world);
	}
}

/* Flips a bit of the code: a command may then do something else or be refused. */
static void random_spoil(struct random_world *world)
{
	u32 at = random_below(world, world->fix->code_size);

	world->fix->mmu->vram[at] ^= 1 << random_below(world, 8);
}

/*
 * Makes a random program, sometimes with one bit flipped. The BRANCH of size 0 is the end, because
 * buffers in which earlier BRANCHes continue are larger than the program.
 */
static void random_program(struct random_world *world)
{
	u32 i;

	world->fix->code_size = 0;
	memset(world->fix->mmu->vram, 0, COMMAND_CODE);
	for (i = 0; i < RANDOM_COMMANDS; i++)
		random_command(world);
	command_branch(world->fix, 0, 0);
	if (!random_below(world, 3))
		random_spoil(world);
}

/*
 * Returns whether engine and model ended alike. Any outcome of the engine agrees with CUT, because
 * the model has no clock.
 */
static bool random_agrees(const struct command_model *model, enum command_model_end end,
			  const struct pagoda_engine_run *run, enum pagoda_engine_outcome outcome)
{
	switch (end) {
	case COMMAND_MODEL_DONE:
		return outcome == PAGODA_ENGINE_DONE && run->packets == model->commands;
	case COMMAND_MODEL_REFUSED:
		return outcome == PAGODA_ENGINE_FAULT && run->fault.reason == model->reason;
	case COMMAND_MODEL_FAULT:
		return outcome == PAGODA_ENGINE_FAULT && run->fault.reason == model->reason &&
		       run->fault.address == model->fault && run->fault.access == model->access;
	case COMMAND_MODEL_STOPPED:
		return outcome == PAGODA_ENGINE_STOPPED && run->packets == model->commands;
	default:
		return true;
	}
}

static void random_run(struct random_world *world, u32 seed)
{
	struct command_fixture *fix = world->fix;
	struct command_model model = { .byte = random_byte, .priv = world, .limit = RANDOM_LIMIT };
	struct virtio_pagoda_context_image *image;
	enum pagoda_engine_outcome outcome;
	enum command_model_end end;
	u32 i;

	model.address = fix->va + COMMAND_AT_CODE;
	model.left = fix->code_size;
	for (i = 0; i < VIRTIO_PAGODA_REGISTERS; i++)
		model.registers[i] = le64_to_cpu(command_image(fix)->saved[i]);
	engine_snapshot(fix->mmu);
	command_request(fix);
	fix->run.stop_at = RANDOM_LIMIT;
	outcome = command_execute(fix);
	end = command_model_execute(&model);
	world->ends[end]++;
	KUNIT_EXPECT_TRUE_MSG(fix->test, random_agrees(&model, end, &fix->run, outcome),
			      "seed %#x: model %u, %s %#llx after %u; engine %u, %s %s %#llx after %u",
			      seed, end, pagoda_engine_fault_name(model.reason), model.fault,
			      model.commands, outcome,
			      pagoda_engine_command_name(fix->run.fault.opcode),
			      pagoda_engine_fault_name(fix->run.fault.reason),
			      fix->run.fault.address, fix->run.packets);
	if (end == COMMAND_MODEL_CUT)
		return;
	image = (void *)(fix->mmu->before + ((u8 *)command_image(fix) - fix->mmu->memory));
	for (i = 0; i < VIRTIO_PAGODA_REGISTERS; i++)
		image->saved[i] = cpu_to_le64(model.registers[i]);
	le64_add_cpu(&image->saved[VIRTIO_PAGODA_REGISTERS], 1);
	engine_expect_unchanged(fix->test, fix->mmu, "what the model made of it");
}

/* Fails if a command but TIMESTAMP, or an end but CUT, occurred too rarely to prove anything. */
static void random_expect_variety(struct random_world *world)
{
	struct pagoda_engine *engine = &world->fix->mmu->engine;
	u32 i;

	for (i = 1; i < VIRTIO_PAGODA_COMMAND_COUNT; i++)
		if (i != VIRTIO_PAGODA_COMMAND_TIMESTAMP)
			KUNIT_EXPECT_GT_MSG(world->fix->test, atomic64_read(&engine->commands[i]),
					    20, "%s", pagoda_engine_command_name(i));
	for (i = 0; i < COMMAND_MODEL_CUT; i++)
		KUNIT_EXPECT_GT_MSG(world->fix->test, world->ends[i], 4, "end %u", i);
}

/* For each random program, engine and model have the same effects and the same end. */
static void command_random_test(struct kunit *test)
{
	struct random_world world = { .fix = command_fixture_init(test) };
	u32 shape, i, seed;

	PAGODA_PROVES(C94);
	kunit_info(test, "seed %#x", RANDOM_SEED);
	for (shape = 0; shape < MMU_SHAPES; shape++) {
		command_shape_set(world.fix, &mmu_shapes[shape]);
		for (i = 0; i < RANDOM_PROGRAMS && test->status == KUNIT_SUCCESS; i++) {
			seed = RANDOM_SEED + shape * RANDOM_PROGRAMS + i;
			prandom_seed_state(&world.rnd, seed);
			world.fix->ahead = i % 2;
			random_program(&world);
			random_run(&world, seed);
		}
	}
	random_expect_variety(&world);
	engine_expect_guards(test, world.fix->mmu, "guards");
}

static struct kunit_case random_cases[] = {
	KUNIT_CASE_SLOW(command_random_test),
	{}
};

static struct kunit_suite random_suite = {
	.name = "pagoda_engine_command_random",
	.test_cases = random_cases,
};

kunit_test_suite(random_suite);
