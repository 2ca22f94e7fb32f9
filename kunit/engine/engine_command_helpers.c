// SPDX-License-Identifier: GPL-2.0
/* Sets up an engine with a context, and builds and executes commands of the context's jobs. */
#include "rig/command.h"
#include "engine_command_helpers.h"

#define VRAM		VIRTIO_PAGODA_SEGMENT_VRAM
#define SYSTEM		VIRTIO_PAGODA_SEGMENT_SYSTEM
#define APERTURE	VIRTIO_PAGODA_SEGMENT_APERTURE

static void command_fence(struct engine_fixture *mmu, const struct pagoda_engine_run *run,
			  u64 address, u64 value)
{
	struct command_fixture *fix = mmu->priv;

	KUNIT_EXPECT_EQ(fix->test, run->context, COMMAND_CONTEXT);
	KUNIT_EXPECT_EQ(fix->test, run->fault.opcode, VIRTIO_PAGODA_COMMAND_SIGNAL);
	fix->fences++;
	fix->fence_address = address;
	fix->fence_value = value;
	if (command_memory(fix, address))
		fix->fence_seen = le64_to_cpu(*(__le64 *)command_memory(fix, address));
}

static void command_idle(struct engine_fixture *mmu)
{
	struct command_fixture *fix = mmu->priv;

	if (fix->idle)
		fix->idle(fix);
	else
		fix->stop = true;
}

/*
 * Returns an engine with a context and page tables of the first shape; aborts the test if there is
 * no memory.
 */
struct command_fixture *command_fixture_init(struct kunit *test)
{
	struct command_fixture *fix = test_zalloc(test, sizeof(*fix));

	fix->test = test;
	fix->pages = test_vzalloc(test, COMMAND_PAGES * sizeof(*fix->pages));
	fix->mmu = mmu_fixture_init(test);
	fix->mmu->priv = fix;
	fix->mmu->engine.aperture_snoops = test_calloc(test, MMU_APERTURE, sizeof(bool));
	fix->mmu->fence = command_fence;
	fix->mmu->idle = command_idle;
	KUNIT_ASSERT_LE(test, fix->mmu->engine.max_runs, ARRAY_SIZE(fix->spans));
	command_shape_set(fix, &mmu_shapes[0]);
	return fix;
}

/* Maps a page and notes it in fix->pages; the page reads as zeros if @entry says so. */
void command_map(struct command_fixture *fix, u64 va, u64 page_size, u64 entry)
{
	u64 address = entry & VIRTIO_PAGODA_PTE_ADDRESS_MASK, offset;
	u32 segment = (entry & VIRTIO_PAGODA_PTE_SEGMENT_MASK) >> VIRTIO_PAGODA_PTE_SEGMENT_SHIFT;

	if (page_size == SZ_2M && entry & VIRTIO_PAGODA_PTE_ZERO)
		*mmu_word(fix->mmu, COMMAND_SPACE, va, 1, false) = cpu_to_le64(entry);
	else
		mmu_map(fix->mmu, COMMAND_SPACE, va, page_size, entry);
	for (offset = 0; offset < page_size; offset += MMU_PAGE) {
		struct command_page *page = &fix->pages[(va + offset - fix->va) / MMU_PAGE];

		page->entry = entry;
		page->here = !(entry & VIRTIO_PAGODA_PTE_VALID) ||
			     entry & VIRTIO_PAGODA_PTE_ZERO ? NULL :
			     mmu_memory(fix->mmu, segment, address + offset);
	}
}

static void command_map_small(struct command_fixture *fix)
{
	u32 i;

	for (i = 0; i < COMMAND_CODE / MMU_PAGE; i++)
		command_map(fix, fix->va + COMMAND_AT_CODE + i * MMU_PAGE, SZ_4K,
			    mmu_entry(VRAM, i * MMU_PAGE, 0));
	for (i = 0; i < 64; i++)
		command_map(fix, fix->va + COMMAND_AT_VRAM + i * MMU_PAGE, SZ_4K,
			    mmu_entry(VRAM, SZ_1M + (i * 5 + 3) % 64 * MMU_PAGE, 0));
	/* System pages 32 to 63: the aperture is mapped to pages 0 to 31. */
	for (i = 0; i < 32; i++)
		command_map(fix, fix->va + COMMAND_AT_SYSTEM + i * MMU_PAGE, SZ_4K,
			    mmu_entry(SYSTEM, ENGINE_BUS + (32 + (i * 7 + 1) % 32) * MMU_PAGE, 0));
	for (i = 0; i < MMU_APERTURE; i++)
		command_map(fix, fix->va + COMMAND_AT_APERTURE + i * MMU_PAGE, SZ_4K,
			    mmu_entry(APERTURE, i * MMU_PAGE, 0));
}

static void command_map_large(struct command_fixture *fix)
{
	static const u64 flags[] = {
		VIRTIO_PAGODA_PTE_READ_ONLY, 0, VIRTIO_PAGODA_PTE_NO_EXECUTE,
	};
	u32 i;

	for (i = 0; i < 8; i++)
		command_map(fix, fix->va + COMMAND_AT_64K + i * SZ_64K, SZ_64K,
			    mmu_entry(VRAM, SZ_4M + (i * 3 + 1) % 8 * SZ_64K, 0));
	command_map(fix, fix->va + COMMAND_AT_2M, SZ_2M, mmu_entry(VRAM, SZ_2M, 0));
	command_map(fix, fix->va + COMMAND_AT_ZERO, SZ_2M,
		    VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_ZERO);
	/* Of each four pages the first is read-only, the third no-execute, the fourth unmapped. */
	for (i = 0; i < 32; i++)
		if (i % 4 != 3)
			command_map(fix, fix->va + COMMAND_AT_ODD + i * MMU_PAGE, SZ_4K,
				    mmu_entry(VRAM, SZ_1M + SZ_512K + i * MMU_PAGE,
					      flags[i % 4]));
}

/* Returns the CPU's address of the context's save area. */
struct virtio_pagoda_context_image *command_image(struct command_fixture *fix)
{
	return (void *)(fix->mmu->vram + COMMAND_IMAGE);
}

static void command_image_init(struct command_fixture *fix)
{
	const struct pagoda_engine_space *root = &fix->mmu->spaces[COMMAND_SPACE];

	*command_image(fix) = (struct virtio_pagoda_context_image) {
		.magic = cpu_to_le64(VIRTIO_PAGODA_CONTEXT_MAGIC),
		.context = cpu_to_le64(COMMAND_CONTEXT),
		.root_address = cpu_to_le64(root->address),
		.root_entries = cpu_to_le64(root->entries),
		.root_segment = cpu_to_le32(root->segment),
		.address_space = cpu_to_le32(COMMAND_SPACE),
	};
}

/* Resets the engine and starts over with tables of @shape, all regions mapped and no code. */
void command_shape_set(struct command_fixture *fix, const struct mmu_shape *shape)
{
	mmu_shape_set(fix->test, fix->mmu, shape);
	fix->mmu->engine.features |= BIT_ULL(VIRTIO_PAGODA_F_WRITE_COMBINER);
	memset(fix->pages, 0, COMMAND_PAGES * sizeof(*fix->pages));
	fix->va = shape->va;
	fix->code_size = 0;
	command_map_small(fix);
	command_map_large(fix);
	command_image_init(fix);
}

/*
 * Returns the CPU's address of the byte at @va in the regions; NULL if @va reads as zeros or isn't
 * mapped.
 */
u8 *command_memory(struct command_fixture *fix, u64 va)
{
	u8 *here = fix->pages[(va - fix->va) / MMU_PAGE].here;

	return here ? here + va % MMU_PAGE : NULL;
}

/* Appends a command, zero but for its head; returns it. */
void *command_add(struct command_fixture *fix, u16 opcode, u16 flags, u32 size)
{
	struct virtio_pagoda_command *command = (void *)(fix->mmu->vram + fix->code_size);

	WARN_ON(fix->code_size + size > COMMAND_CODE);
	memset(command, 0, size);
	command->opcode = cpu_to_le16(opcode);
	command->flags = cpu_to_le16(flags);
	command->length = cpu_to_le32(size);
	fix->code_size += size;
	return command;
}

#define ADD(NAME, type, more, ...) \
	memcpy(command_add(fix, 0, 0, sizeof(struct virtio_pagoda_##type)), \
	       PAGODA_COMMAND(NAME, type, more, __VA_ARGS__), \
	       sizeof(struct virtio_pagoda_##type))

/* Appends a COPY. */
void command_copy(struct command_fixture *fix, u64 src, u64 dst, u64 size)
{
	ADD(COPY, copy, 0, .src = cpu_to_le64(src), .dst = cpu_to_le64(dst),
	    .size = cpu_to_le64(size));
}

/* Appends a FILL. */
void command_fill(struct command_fixture *fix, u64 dst, u64 size, u32 pattern)
{
	ADD(FILL, fill_words, 0, .dst = cpu_to_le64(dst), .size = cpu_to_le64(size),
	    .pattern = cpu_to_le32(pattern));
}

/* Appends a STORE. */
void command_store(struct command_fixture *fix, u64 address, u64 value, u16 flags)
{
	ADD(STORE, store, flags, .address = cpu_to_le64(address), .value = cpu_to_le64(value));
}

/* Appends a COMPARE. */
void command_compare(struct command_fixture *fix, u64 address, u64 value, u64 mask, u16 flags)
{
	ADD(COMPARE, compare, flags, .address = cpu_to_le64(address), .value = cpu_to_le64(value),
	    .mask = cpu_to_le64(mask));
}

/* Appends an ATOMIC_ADD. */
void command_atomic_add(struct command_fixture *fix, u64 address, u64 value, u64 result,
			u16 flags)
{
	ADD(ATOMIC_ADD, atomic_add, flags, .address = cpu_to_le64(address),
	    .value = cpu_to_le64(value), .result = cpu_to_le64(result));
}

/* Appends a WAIT. */
void command_wait(struct command_fixture *fix, u64 address, u64 value)
{
	ADD(WAIT, wait, 0, .address = cpu_to_le64(address), .value = cpu_to_le64(value));
}

/* Appends a SIGNAL. */
void command_signal(struct command_fixture *fix, u64 address, u64 value, u16 flags)
{
	ADD(SIGNAL, signal, flags, .address = cpu_to_le64(address), .value = cpu_to_le64(value));
}

/* Appends a BRANCH. */
void command_branch(struct command_fixture *fix, u64 address, u64 size)
{
	ADD(BRANCH, branch, 0, .address = cpu_to_le64(address), .size = cpu_to_le64(size));
}

/* Appends a COMPUTE. */
void command_compute(struct command_fixture *fix, u32 operation, u64 count, u64 dst, u64 a, u64 b,
		     u64 c)
{
	ADD(COMPUTE, compute, 0, .operation = cpu_to_le32(operation), .count = cpu_to_le64(count),
	    .dst = cpu_to_le64(dst), .a = cpu_to_le64(a), .b = cpu_to_le64(b), .c = cpu_to_le64(c));
}

/* Appends a REDUCE. */
void command_reduce(struct command_fixture *fix, u32 operation, u64 count, u64 src, u64 dst,
		    u64 initial)
{
	ADD(REDUCE, reduce, 0, .operation = cpu_to_le32(operation), .count = cpu_to_le64(count),
	    .src = cpu_to_le64(src), .dst = cpu_to_le64(dst), .initial = cpu_to_le64(initial));
}

/* Appends a SET_REGISTER. */
void command_set_register(struct command_fixture *fix, u32 number, u64 value, u16 flags)
{
	ADD(SET_REGISTER, set_register, flags, .number = cpu_to_le32(number),
	    .value = cpu_to_le64(value));
}

/* Appends a STORE_REGISTER. */
void command_store_register(struct command_fixture *fix, u32 number, u64 address)
{
	ADD(STORE_REGISTER, store_register, 0, .number = cpu_to_le32(number),
	    .address = cpu_to_le64(address));
}

/* Appends a COPY_RECT; returns it, for the caller to describe its surfaces. */
struct virtio_pagoda_copy_rect *command_rect(struct command_fixture *fix, u32 width, u32 rows)
{
	struct virtio_pagoda_copy_rect *rect = command_add(fix, VIRTIO_PAGODA_COMMAND_COPY_RECT, 0,
							   sizeof(*rect));

	rect->width = cpu_to_le32(width);
	rect->rows = cpu_to_le32(rows);
	return rect;
}

/* Describes a surface of a COPY_RECT. */
void command_surface(struct virtio_pagoda_surface *surface, u64 address, u32 tiling, u32 pitch,
		     u32 height, u32 x, u32 y)
{
	*surface = (struct virtio_pagoda_surface) {
		.address = cpu_to_le64(address),
		.tiling = cpu_to_le32(tiling),
		.pitch = cpu_to_le32(pitch),
		.height = cpu_to_le32(height),
		.x = cpu_to_le32(x),
		.y = cpu_to_le32(y),
	};
}

/* Prepares a request whose only command buffer is the code, if there is any; begins new code. */
void command_request(struct command_fixture *fix)
{
	fix->request.execute = (struct virtio_pagoda_execute) {
		.image_address = cpu_to_le64(COMMAND_IMAGE),
		.image_segment = cpu_to_le32(VRAM),
		.address_space = cpu_to_le32(COMMAND_SPACE),
		.nr_buffers = cpu_to_le32(!!fix->code_size),
		.flags = cpu_to_le32(VIRTIO_PAGODA_EXECUTE_DRAIN),
	};
	fix->request.buffers[0].address = cpu_to_le64(fix->va + COMMAND_AT_CODE);
	fix->request.buffers[0].size = cpu_to_le64(fix->code_size);
	fix->code_size = 0;
	fix->stop = false;
	pagoda_engine_run_init(&fix->run, PAGODA_ENGINE_QUEUE_EXEC, VIRTIO_PAGODA_QUEUE_EXEC0, 1);
	fix->run.context = COMMAND_CONTEXT;
	fix->run.stop = &fix->stop;
	if (fix->ahead)
		fix->run.spans = fix->spans;
}

/* Executes the request that command_request() has prepared; returns the outcome. */
enum pagoda_engine_outcome command_execute(struct command_fixture *fix)
{
	u32 nr_buffers = le32_to_cpu(fix->request.execute.nr_buffers);

	fix->run.buffer = &fix->request;
	if (!fix->run.size)
		fix->run.size = sizeof(fix->request.execute) +
				nr_buffers * sizeof(fix->request.buffers[0]);
	return engine_execute(fix->mmu, &fix->run);
}

/* Executes the code; expects that @commands commands are executed and none fails. */
void command_expect_done(struct command_fixture *fix, u32 commands, const char *what)
{
	command_request(fix);
	KUNIT_EXPECT_EQ_MSG(fix->test, command_execute(fix), PAGODA_ENGINE_DONE, "%s: %s, %s %#llx",
			    what, pagoda_engine_command_name(fix->run.fault.opcode),
			    pagoda_engine_fault_name(fix->run.fault.reason),
			    fix->run.fault.address);
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.packets, commands, "%s", what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.offset, fix->run.size, "%s", what);
}

/* Executes the code; expects a fault at @address with @reason and @access. */
void command_expect_fault(struct command_fixture *fix, u32 reason, u64 address, u32 access,
			  const char *what)
{
	const struct pagoda_engine_fault *fault = &fix->run.fault;

	command_request(fix);
	KUNIT_EXPECT_EQ_MSG(fix->test, command_execute(fix), PAGODA_ENGINE_FAULT, "%s", what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fault->reason, reason, "%s: %s", what,
			    pagoda_engine_fault_name(fault->reason));
	KUNIT_EXPECT_EQ_MSG(fix->test, fault->address, address, "%s", what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fault->access, access, "%s", what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fault->offset, sizeof(fix->request.execute), "%s", what);
}
