// SPDX-License-Identifier: GPL-2.0
/*
 * Requests for execution: their fields, the save area they name, failures on demand, and what a
 * reset of the adapter leaves.
 */
#include "engine_command_helpers.h"

#define VRAM	VIRTIO_PAGODA_SEGMENT_VRAM
#define SYSTEM	VIRTIO_PAGODA_SEGMENT_SYSTEM

/* Prepares a request for a job whose only command stores a word in VRAM; takes a snapshot. */
static void job_request(struct command_fixture *fix)
{
	fix->code_size = 0;
	command_store(fix, fix->va + COMMAND_AT_VRAM, 0x600d, 0);
	command_request(fix);
	engine_snapshot(fix->mmu);
}

/* Expects that the request, which the caller has changed, is refused before its first command. */
static void job_expect_refused(struct command_fixture *fix, u32 reason, u32 offset,
			       const char *what)
{
	KUNIT_EXPECT_EQ_MSG(fix->test, command_execute(fix), PAGODA_ENGINE_FAULT, "%s", what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.fault.reason, reason, "%s: %s", what,
			    pagoda_engine_fault_name(fix->run.fault.reason));
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.fault.command, 0, "%s", what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.fault.opcode, 0, "%s", what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.fault.offset, offset, "%s", what);
	engine_expect_unchanged(fix->test, fix->mmu, what);
}

#define JOB_REFUSED(field, value, REASON, offset) do { \
	job_request(fix); \
	(field) = (value); \
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_##REASON, offset, #field "=" #value); \
} while (0)

/* Each bad field of a request is refused, without effect. */
static void job_request_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u32 buffers = sizeof(struct virtio_pagoda_execute);
	typeof(fix->request) *request = &fix->request;

	JOB_REFUSED(request->execute.flags, cpu_to_le32(VIRTIO_PAGODA_EXECUTE_DRAIN << 1),
		    RESERVED, 0);
	fix->mmu->engine.features &= ~BIT_ULL(VIRTIO_PAGODA_F_WRITE_COMBINER);
	JOB_REFUSED(request->execute.flags, cpu_to_le32(VIRTIO_PAGODA_EXECUTE_DRAIN), RESERVED, 0);
	fix->mmu->engine.features |= BIT_ULL(VIRTIO_PAGODA_F_WRITE_COMBINER);
	JOB_REFUSED(request->execute.address_space, 0, BAD_CONTEXT, 0);
	JOB_REFUSED(request->execute.address_space, cpu_to_le32(ENGINE_SPACES), BAD_CONTEXT, 0);
	JOB_REFUSED(request->execute.address_space, cpu_to_le32(2), BAD_CONTEXT, 0);
	JOB_REFUSED(request->execute.nr_buffers, cpu_to_le32(VIRTIO_PAGODA_MAX_COMMAND_BUFFERS + 1),
		    BAD_BUFFER, 0);
	JOB_REFUSED(request->execute.image_segment, cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE),
		    BAD_SEGMENT, 0);
	JOB_REFUSED(request->execute.image_segment, cpu_to_le32(99), BAD_SEGMENT, 0);
	JOB_REFUSED(request->execute.image_segment, cpu_to_le32(SYSTEM), UNREACHABLE, 0);
	JOB_REFUSED(request->execute.image_address, cpu_to_le64(COMMAND_IMAGE + 8), MISALIGNED, 0);
	JOB_REFUSED(request->execute.image_address, cpu_to_le64(MMU_VRAM), OUT_OF_RANGE, 0);
	JOB_REFUSED(request->execute.image_address, cpu_to_le64(MMU_INVALID), OUT_OF_RANGE, 0);
	JOB_REFUSED(request->buffers[0].address, cpu_to_le64(fix->va + 4), MISALIGNED, buffers);
	JOB_REFUSED(request->buffers[0].size, cpu_to_le64(12), MISALIGNED, buffers);
	JOB_REFUSED(request->buffers[0].size, 0, OUT_OF_RANGE, buffers);
	JOB_REFUSED(request->buffers[0].size, cpu_to_le64(VIRTIO_PAGODA_MAX_COMMAND_BUFFER + 8),
		    OUT_OF_RANGE, buffers);
	/* All entries of the list of command buffers are checked before a command is executed. */
	job_request(fix);
	fix->request.execute.nr_buffers = cpu_to_le32(2);
	fix->request.buffers[1] = fix->request.buffers[0];
	fix->request.buffers[1].size = cpu_to_le64(4);
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_MISALIGNED, buffers + 16, "second entry");
	/* Sizes that don't match the number of entries are refused, and starts that aren't 0. */
	job_request(fix);
	fix->run.size = buffers;
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_BUFFER, 0, "short");
	job_request(fix);
	fix->run.size = buffers + 32;
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_BUFFER, 0, "long");
	job_request(fix);
	fix->run.size = 16;
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_BUFFER, 0, "no head");
	job_request(fix);
	fix->run.start = 24;
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_BUFFER, 0, "start");
	/* Without VIRTIO_PAGODA_F_EXECUTE the request's bytes are taken for packets. */
	job_request(fix);
	fix->mmu->engine.features &= ~BIT_ULL(VIRTIO_PAGODA_F_EXECUTE);
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_OPCODE, 0, "packets");
}

#define JOB_IMAGE(field, value) do { \
	job_request(fix); \
	(field) = (value); \
	engine_snapshot(fix->mmu); \
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, 0, #field "=" #value); \
	KUNIT_EXPECT_EQ(test, fix->run.fault.address, COMMAND_IMAGE); \
	*image = good; \
} while (0)

/*
 * A request is refused if its save area belongs to another context, isn't a save area, or names
 * another address space or root than that of the job.
 */
static void job_image_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	struct virtio_pagoda_context_image *image = command_image(fix);
	const struct virtio_pagoda_context_image good = *image;

	PAGODA_PROVES(C81, C84);
	JOB_IMAGE(image->magic, 0);
	JOB_IMAGE(image->context, cpu_to_le64(COMMAND_CONTEXT + 1));
	JOB_IMAGE(image->root_address, cpu_to_le64(le64_to_cpu(good.root_address) + MMU_PAGE));
	JOB_IMAGE(image->root_entries, cpu_to_le64(le64_to_cpu(good.root_entries) - 1));
	JOB_IMAGE(image->root_entries, 0);
	JOB_IMAGE(image->root_segment, cpu_to_le32(!le32_to_cpu(good.root_segment)));
	JOB_IMAGE(image->address_space, cpu_to_le32(2));
	/* Another context names this save area. */
	job_request(fix);
	fix->run.context = COMMAND_CONTEXT + 1;
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, 0, "another context");
	/* The space's root moves without an update of the save area; then the space has no root. */
	job_request(fix);
	KUNIT_EXPECT_EQ(test, 0, pagoda_engine_root_set(&fix->mmu->engine, COMMAND_SPACE, VRAM, 0,
							le64_to_cpu(good.root_entries)));
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, 0, "a root that moved");
	job_request(fix);
	KUNIT_EXPECT_EQ(test, 0, pagoda_engine_root_set(&fix->mmu->engine, COMMAND_SPACE, 0, 0, 0));
	image->root_entries = 0;
	engine_snapshot(fix->mmu);
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, 0, "no root");
}

/*
 * After paging operations have initialized a save area in system memory, and have stored the root
 * in it, a job of the context can be executed.
 */
static void job_init_context_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	const struct virtio_pagoda_context_image good = *command_image(fix), *image;
	struct virtio_pagoda_update_context_allocation *update;
	struct virtio_pagoda_init_context_resource *init;
	struct virtio_pagoda_run *run;
	u64 address = ENGINE_BUS + 40 * MMU_PAGE;

	PAGODA_PROVES(C81, C84);
	image = (void *)(fix->mmu->system + 40 * MMU_PAGE);
	job_request(fix);
	fix->request.execute.image_segment = cpu_to_le32(SYSTEM);
	fix->request.execute.image_address = cpu_to_le64(address);
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, 0, "before it is made");

	init = engine_packet(fix->mmu, VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE,
			     sizeof(*init) + sizeof(*run));
	init->size = cpu_to_le64(MMU_PAGE);
	init->context = cpu_to_le64(COMMAND_CONTEXT);
	init->dst.segment = cpu_to_le32(SYSTEM);
	init->dst.nr_runs = cpu_to_le32(1);
	run = (void *)(init + 1);
	run->address = cpu_to_le64(address);
	run->nr_pages = cpu_to_le32(1);
	engine_expect_done(test, fix->mmu);
	engine_snapshot(fix->mmu);
	job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, 0, "before it has a root");

	mmu_map(fix->mmu, 0, fix->va, SZ_4K, mmu_entry(SYSTEM, address, 0));
	update = engine_packet(fix->mmu, VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION,
			       sizeof(*update) + 24);
	update->address = cpu_to_le64(fix->va);
	update->size = cpu_to_le64(MMU_PAGE);
	update->data_offset = cpu_to_le32(offsetof(struct virtio_pagoda_context_image,
						   root_address));
	update->data_size = cpu_to_le32(24);
	memcpy(update + 1, &good.root_address, 24);
	engine_expect_done(test, fix->mmu);
	KUNIT_EXPECT_EQ(test, command_execute(fix), PAGODA_ENGINE_DONE);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(image->saved[VIRTIO_PAGODA_REGISTERS]), 1);
	KUNIT_EXPECT_EQ(test,
			le32_to_cpu(*(__le32 *)command_memory(fix, fix->va + COMMAND_AT_VRAM)),
			0x600d);
}

/*
 * A command that fails on demand leaves half of its effect or none; the command after it isn't
 * executed.
 */
static void job_injection_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u64 src = fix->va + COMMAND_AT_VRAM, dst = fix->va + COMMAND_AT_64K;
	u32 middle;

	for (middle = 0; middle < 2; middle++) {
		command_store(fix, dst, 1, 0);
		command_copy(fix, src, dst + 8, 1000);
		command_store(fix, dst, 2, 0);
		command_request(fix);
		fix->run.fail_at = 1;
		fix->run.fail_middle = middle;
		memset(command_memory(fix, dst), 0, MMU_PAGE);
		memset(command_memory(fix, src), 0x55, MMU_PAGE);
		KUNIT_EXPECT_EQ(test, command_execute(fix), PAGODA_ENGINE_FAULT);
		KUNIT_EXPECT_EQ(test, fix->run.fault.reason, VIRTIO_PAGODA_FAULT_DEVICE_FAILURE);
		KUNIT_EXPECT_EQ(test, fix->run.fault.command,
				fix->va + sizeof(struct virtio_pagoda_store));
		KUNIT_EXPECT_EQ(test, fix->run.packets, 1);
		KUNIT_EXPECT_EQ(test, *command_memory(fix, dst), 1);
		KUNIT_EXPECT_EQ(test, *command_memory(fix, dst + 8), middle ? 0x55 : 0);
		KUNIT_EXPECT_EQ(test, *command_memory(fix, dst + 8 + 499), middle ? 0x55 : 0);
		KUNIT_EXPECT_EQ(test, *command_memory(fix, dst + 8 + 500), 0);
	}
	/* A STORE that fails in the middle has no effect: it has no half. */
	command_store(fix, dst, 7, 0);
	command_request(fix);
	fix->run.fail_at = 0;
	fix->run.fail_middle = true;
	KUNIT_EXPECT_EQ(test, command_execute(fix), PAGODA_ENGINE_FAULT);
	KUNIT_EXPECT_EQ(test, *command_memory(fix, dst), 1);
	/* A job without commands can fail or be stopped on demand, too. */
	command_request(fix);
	fix->run.fail_at = 0;
	KUNIT_EXPECT_EQ(test, command_execute(fix), PAGODA_ENGINE_FAULT);
	KUNIT_EXPECT_EQ(test, fix->run.fault.reason, VIRTIO_PAGODA_FAULT_DEVICE_FAILURE);
	command_request(fix);
	fix->run.stop_at = 0;
	KUNIT_EXPECT_EQ(test, command_execute(fix), PAGODA_ENGINE_STOPPED);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(command_image(fix)->saved[VIRTIO_PAGODA_REGISTERS]), 5);
}

static bool job_holds(const u8 *memory, u64 size, u32 pattern)
{
	u64 i;

	for (i = 0; i < size; i += sizeof(pattern))
		if (*(__le32 *)(memory + i) != cpu_to_le32(pattern))
			return false;
	return true;
}

/*
 * RESET_ADAPTER clears mappings, roots and translations, and keeps, zeroes or poisons VRAM as
 * asked; system memory and negotiated features stay.
 */
static void job_reset_adapter_test(struct kunit *test)
{
	static const struct {
		enum pagoda_engine_vram vram;
		u32 pattern;
	} kinds[] = {
		{ PAGODA_ENGINE_VRAM_KEEP, 0 },
		{ PAGODA_ENGINE_VRAM_ZERO, 0 },
		{ PAGODA_ENGINE_VRAM_POISON, PAGODA_ENGINE_POISON },
	};
	struct command_fixture *fix = command_fixture_init(test);
	struct pagoda_engine *engine = &fix->mmu->engine;
	struct engine_fixture *mmu = fix->mmu;
	u64 features = engine->features, address;
	u32 i, generation;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		command_shape_set(fix, &mmu_shapes[0]);
		command_store(fix, fix->va + COMMAND_AT_APERTURE, 1, 0);
		command_expect_done(fix, 1, "before the reset");
		KUNIT_EXPECT_NE(test, engine->tlbs[1].sizes, 0);
		engine_snapshot(mmu);
		pagoda_engine_reset_adapter(engine, kinds[i].vram);
		KUNIT_EXPECT_EQ(test, engine->features, features);
		KUNIT_EXPECT_FALSE(test, pagoda_engine_aperture_lookup(engine, 0, &address,
								       &generation));
		KUNIT_EXPECT_NULL(test, memchr_inv(engine->spaces, 0,
						   ENGINE_SPACES * sizeof(*engine->spaces)));
		KUNIT_EXPECT_NULL(test, memchr_inv(engine->tlbs, 0,
						   ENGINE_TLBS * sizeof(*engine->tlbs)));
		if (kinds[i].vram != PAGODA_ENGINE_VRAM_KEEP) {
			KUNIT_EXPECT_TRUE(test, job_holds(mmu->vram, MMU_INVALID,
							  kinds[i].pattern));
			KUNIT_EXPECT_TRUE(test, job_holds(mmu->vram + MMU_INVALID + MMU_PAGE,
							  MMU_VRAM - MMU_INVALID - MMU_PAGE,
							  kinds[i].pattern));
			memcpy(mmu->vram, mmu->before + (mmu->vram - mmu->memory), MMU_INVALID);
			memcpy(mmu->vram + MMU_INVALID + MMU_PAGE,
			       mmu->before + (mmu->vram - mmu->memory) + MMU_INVALID + MMU_PAGE,
			       MMU_VRAM - MMU_INVALID - MMU_PAGE);
		}
		memcpy(engine->aperture, engine_before(mmu, (u8 *)engine->aperture),
		       MMU_APERTURE * sizeof(u64));
		/* The unusable page of VRAM and system memory are unchanged. */
		engine_expect_unchanged(test, mmu, "after the reset");
		job_request(fix);
		job_expect_refused(fix, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, 0, "without a root");
	}
}

static struct kunit_case job_cases[] = {
	KUNIT_CASE(job_request_test),
	KUNIT_CASE(job_image_test),
	KUNIT_CASE(job_init_context_test),
	KUNIT_CASE(job_injection_test),
	KUNIT_CASE(job_reset_adapter_test),
	{}
};

static struct kunit_suite job_suite = {
	.name = "pagoda_engine_job",
	.test_cases = job_cases,
};

kunit_test_suite(job_suite);
