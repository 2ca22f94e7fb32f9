// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs: an input is commands, which an engine executes through page tables, in a machine for jobs
 * only. The oracle is kunit/engine/command_model.c, which finds bytes by the list of pages that the
 * tables are written from. No page is mapped at two addresses, and no command can reach a table, so
 * that the order in which bytes are copied makes no difference.
 */
#include <stdio.h>

#include "../../kunit/engine/command_model.h"
#include "job.h"

#define JOB_CONTEXT	0x77ull
#define JOB_IMAGE	0		/* page of VRAM with the save area */
#define JOB_TABLE_1	2		/* two pages with FUZZ_DUAL */
#define JOB_TABLE_4K	4
#define JOB_TABLE_64K	5
#define JOB_TABLE_2	6		/* level 3 is in the next page, and so on */
#define JOB_MAPPED	16		/* the first page of VRAM that an address leads to */
#define JOB_DATA	(FUZZ_VRAM + FUZZ_SYSTEM)
#define VALID		((u64)VIRTIO_PAGODA_PTE_VALID)

/*
 * struct job_page - What 4 KiB of addresses lead to
 * @entry: page-table entry, 0 = not mapped; the first of 16 is the entry of a page of 64 KiB
 * @data: number of the page in @job.memory; ~0 = none
 */
struct job_page {
	u64 entry;
	u32 data;
};

static struct {
	struct pagoda_engine engine;
	struct pagoda_engine_space spaces[2];
	struct pagoda_engine_tlb *tlbs;
	struct job_page pages[JOB_ALL];
	u8 *fresh;			/* random content that @memory begins with */
	u8 *memory;			/* the engine's VRAM, then its system memory */
	u8 *shadow;			/* the model's VRAM, then its system memory */
	u8 *spans[FUZZ_RUNS];
	bool gaps;
	bool ahead;
	bool hostile;
	bool stop;
	u32 device;
} job;

static void *job_span(void *context, u64 bus, u64 want, u64 *got)
{
	u64 offset = bus - FUZZ_BUS, limit = FUZZ_SYSTEM * FUZZ_PAGE;

	fuzz_require(want && bus < 1ull << 52);
	if (offset >= limit)
		return NULL;
	if (job.gaps)
		limit = ALIGN_DOWN(offset, FUZZ_PAGE) + FUZZ_PAGE;
	*got = min_t(u64, want, limit - offset);
	return job.memory + FUZZ_VRAM * FUZZ_PAGE + offset;
}

static void job_fence(void *context, const struct pagoda_engine_run *run, u64 address, u64 value)
{
	fuzz_require(address % 8 == 0 && run->context == JOB_CONTEXT);
	fuzz_require(run->fault.opcode == VIRTIO_PAGODA_COMMAND_SIGNAL);
}

/* Changes bytes of the commands in the engine's memory, as a hostile program does during a job. */
static void job_scribble(u32 seed)
{
	u8 *code = job.memory + job.pages[JOB_CODE].data * FUZZ_PAGE;
	u32 i;

	for (i = 0; i < 8; i++) {
		seed = seed * 1664525 + 1013904223;
		code[seed % FUZZ_BUFFER] ^= seed >> 24;
	}
}

/*
 * Called by the engine, without a lock, while a WAIT command waits. No thread would ever write the
 * value: stops the job, with @job.hostile only after a few changes of the commands.
 */
static void job_idle(void *context, const struct pagoda_engine_run *run)
{
	fuzz_require(!job.engine.translation.readers);
	if (job.hostile && run->looks < 8)
		job_scribble(run->looks + run->packets);
	else
		job.stop = true;
}

static const struct pagoda_engine_ops job_ops = {
	.system_span = job_span,
	.fence = job_fence,
	.idle = job_idle,
};

static void job_make(void)
{
	u64 value = 1, i;

	job.fresh = fuzz_alloc(JOB_DATA * FUZZ_PAGE);
	for (i = 0; i < JOB_DATA * FUZZ_PAGE; i += sizeof(value)) {
		value = value * 6364136223846793005ull + 1442695040888963407ull;
		memcpy(job.fresh + i, &value, sizeof(value));
	}
	job.memory = fuzz_alloc(JOB_DATA * FUZZ_PAGE);
	job.shadow = fuzz_alloc(JOB_DATA * FUZZ_PAGE);
	job.tlbs = fuzz_alloc(2 * sizeof(*job.tlbs));
	job.engine = (struct pagoda_engine) {
		.vram = job.memory,
		.vram_size = FUZZ_VRAM * FUZZ_PAGE,
		.max_runs = FUZZ_RUNS,
		.max_buffer = VIRTIO_PAGODA_MIN_BUFFER,
		.system_bits = 40,
		.aperture = fuzz_alloc(FUZZ_APERTURE * sizeof(u64)),
		.aperture_pages = FUZZ_APERTURE,
		.aperture_snoops = fuzz_alloc(FUZZ_APERTURE * sizeof(bool)),
		.mmu = fuzz_alloc(FUZZ_MMU * sizeof(u64)),
		.mmu_pages = FUZZ_MMU,
		.spaces = job.spaces,
		.nr_spaces = 2,
		.ops = &job_ops,
	};
}

static void job_page(u32 page, u32 segment, u64 address, u64 flags, u32 data)
{
	job.pages[page] = (struct job_page) {
		.entry = VALID | flags | address |
			 (u64)segment << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT,
		.data = data,
	};
}

/*
 * Lists page @from of system memory, 0 to 19, for page @page of the addresses. Pages 20 to 27 are
 * reached through the aperture only, later pages not at all.
 */
static void job_list_system(u32 page, u32 from, u64 flags)
{
	u64 system = job.device & FUZZ_DEVICE_MMU ? 0 : FUZZ_BUS;

	job_page(page, VIRTIO_PAGODA_SEGMENT_SYSTEM, system + from * FUZZ_PAGE, flags,
		 FUZZ_VRAM + from);
}

static void job_list_vram(u32 page, u32 from, u64 flags)
{
	job_page(page, VIRTIO_PAGODA_SEGMENT_VRAM, from * FUZZ_PAGE, flags, from);
}

static void job_list(void)
{
	u32 i;

	memset(job.pages, 0, sizeof(job.pages));
	for (i = 0; i < 12; i++)
		job_list_vram(JOB_VRAM + i, JOB_MAPPED + i * 5 % 12, 0);
	for (i = 0; i < 20; i++)
		job_list_system(JOB_SYSTEM + i, i * 7 % 20, 0);
	for (i = 0; i < 8; i++)
		job_page(JOB_APERTURE + i, VIRTIO_PAGODA_SEGMENT_APERTURE, i * FUZZ_PAGE, 0,
			 FUZZ_VRAM + 20 + i);
	for (i = 0; i < 8; i++)
		job_page(JOB_ZERO + i, 0, 0, VIRTIO_PAGODA_PTE_ZERO, ~0u);
	for (i = 0; i < 2; i++) {
		job_list_vram(JOB_ODD + 3 * i, 28 + 2 * i, VIRTIO_PAGODA_PTE_READ_ONLY);
		job_list_vram(JOB_ODD + 3 * i + 1, 29 + 2 * i, VIRTIO_PAGODA_PTE_NO_EXECUTE);
	}
	for (i = 0; i < 2; i++)
		job_list_vram(JOB_CODE + i, 33 - i, 0);
	for (i = 0; i < 16 && !(job.device & FUZZ_NO_64K); i++) {
		job_list_vram(JOB_64K + i, 48 + i, 0);
		job_page(JOB_64K + 16 + i, 0, 0, VIRTIO_PAGODA_PTE_ZERO, ~0u);
	}
}

static __le64 *job_table(u32 page)
{
	return (__le64 *)(job.memory + page * FUZZ_PAGE);
}

/* Writes the tables of space 1 from @job.pages, which leads to none of them, and sets the root. */
static void job_tables(void)
{
	u64 leaf = VALID | 1ull << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT | JOB_TABLE_4K * FUZZ_PAGE;
	u64 leaf_64k = VALID | 1ull << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT |
		       JOB_TABLE_64K * FUZZ_PAGE;
	bool dual = job.device & FUZZ_DUAL;
	u32 i, levels = FUZZ_LEVELS(job.device), below = JOB_TABLE_1;

	memset(job.memory, 0, JOB_MAPPED * FUZZ_PAGE);
	for (i = 0; i < JOB_PAGES; i++)
		job_table(JOB_TABLE_4K)[i] = cpu_to_le64(job.pages[i].entry);
	for (i = 0; i < JOB_PAGES / 16; i++)
		job_table(JOB_TABLE_64K)[i] = cpu_to_le64(job.pages[JOB_64K + 16 * i].entry);
	job_table(JOB_TABLE_1)[0] = cpu_to_le64(leaf);
	if (!(job.device & FUZZ_NO_64K))
		job_table(JOB_TABLE_1)[dual ? 3 : 1] =
			cpu_to_le64(leaf_64k | (dual ? 0 : VIRTIO_PAGODA_PTE_TABLE_64K));
	for (i = 2; i < levels; i++) {
		job_table(JOB_TABLE_2 + i - 2)[0] =
			cpu_to_le64(VALID | 1ull << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT |
				    below * FUZZ_PAGE);
		below = JOB_TABLE_2 + i - 2;
	}
	fuzz_require(!pagoda_engine_root_set(&job.engine, 1, VIRTIO_PAGODA_SEGMENT_VRAM,
					     below * FUZZ_PAGE, FUZZ_ROOT));
}

static void job_image(void)
{
	struct virtio_pagoda_context_image *image = (void *)(job.memory + JOB_IMAGE * FUZZ_PAGE);
	u32 i;

	*image = (struct virtio_pagoda_context_image) {
		.magic = cpu_to_le64(VIRTIO_PAGODA_CONTEXT_MAGIC),
		.context = cpu_to_le64(JOB_CONTEXT),
		.root_address = cpu_to_le64(job.spaces[1].address),
		.root_entries = cpu_to_le64(job.spaces[1].entries),
		.root_segment = cpu_to_le32(job.spaces[1].segment),
		.address_space = cpu_to_le32(1),
	};
	for (i = 0; i < VIRTIO_PAGODA_REGISTERS; i++)
		image->saved[i] = cpu_to_le64(i * 0x123456789ull);
}

/* Has the engine map pages of the device MMU, if the device has an MMU, and of the aperture. */
static void job_maps(void)
{
	struct {
		struct virtio_pagoda_map_mmu map;
		struct virtio_pagoda_run run;
	} mmu = {
		.map.packet.opcode = cpu_to_le16(VIRTIO_PAGODA_OP_MAP_MMU),
		.map.packet.length = cpu_to_le32(sizeof(mmu)),
		.map.nr_pages = cpu_to_le64(FUZZ_SYSTEM),
		.map.nr_runs = cpu_to_le32(1),
		.run.address = cpu_to_le64(FUZZ_BUS),
		.run.nr_pages = cpu_to_le32(FUZZ_SYSTEM),
	};
	struct {
		struct virtio_pagoda_map_aperture_segment map;
		struct virtio_pagoda_run run;
	} aperture = {
		.map.packet.opcode = cpu_to_le16(VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT),
		.map.packet.length = cpu_to_le32(sizeof(aperture)),
		.map.nr_pages = cpu_to_le64(8),
		.map.segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE),
		.map.nr_runs = cpu_to_le32(1),
		.map.generation = cpu_to_le32(1),
		.run.address = cpu_to_le64((job.device & FUZZ_DEVICE_MMU ? 0 : FUZZ_BUS) +
					   20 * FUZZ_PAGE),
		.run.nr_pages = cpu_to_le32(8),
	};
	struct pagoda_engine_run run;

	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, VIRTIO_PAGODA_QUEUE_PAGING, 1);
	run.buffer = &mmu;
	run.size = sizeof(mmu);
	if (job.device & FUZZ_DEVICE_MMU)
		fuzz_require(pagoda_engine_execute(&job.engine, &run) == PAGODA_ENGINE_DONE);
	run.buffer = &aperture;
	run.size = sizeof(aperture);
	fuzz_require(pagoda_engine_execute(&job.engine, &run) == PAGODA_ENGINE_DONE);
}

/*
 * Sets up a device of the input's kind. Its memory begins with the same content for all inputs of
 * that kind, but for the commands, @data.
 */
static void job_begin(const u8 *data, u32 size, const struct fuzz_head *head)
{
	struct pagoda_engine *engine = &job.engine;

	if (!job.memory)
		job_make();
	pagoda_engine_reset(engine);
	job.device = head->device;
	job.gaps = head->mode & FUZZ_GAPS;
	job.ahead = head->mode & FUZZ_SPANS;
	job.hostile = head->mode & FUZZ_MIDDLE;
	job.stop = false;
	engine->pt_levels = FUZZ_LEVELS(job.device);
	engine->va_bits = FUZZ_VA_BITS(job.device);
	engine->page_sizes = 1u << 12 | 1u << 21 | (job.device & FUZZ_NO_64K ? 0 : 1u << 16);
	engine->tlbs = head->mode & FUZZ_TLB ? job.tlbs : NULL;
	engine->nr_tlbs = head->mode & FUZZ_TLB ? 2 : 0;
	memset(job.tlbs, 0, 2 * sizeof(*job.tlbs));
	engine->features = pagoda_engine_features() | 1ull << VIRTIO_PAGODA_F_EXECUTE |
			   (job.device & FUZZ_DUAL ? 1ull << VIRTIO_PAGODA_F_DUAL_PTE : 0) |
			   (job.device & FUZZ_DEVICE_MMU ?
			    1ull << VIRTIO_PAGODA_F_DEVICE_MMU : 0) |
			   (job.device & FUZZ_INCOHERENT ?
			    0 : 1ull << VIRTIO_PAGODA_F_WRITE_COMBINER);
	fuzz_require(pagoda_engine_init(engine));
	memcpy(job.memory, job.fresh, JOB_DATA * FUZZ_PAGE);
	job_list();
	job_maps();
	job_tables();
	job_image();
	memcpy(job.memory + job.pages[JOB_CODE].data * FUZZ_PAGE, data, size);
	memcpy(job.shadow, job.memory, JOB_DATA * FUZZ_PAGE);
}

/*
 * Returns the model's byte at an address; NULL if the byte reads as zero, or, with *@reason set, if
 * the access faults.
 */
static u8 *job_byte(void *priv, u64 va, u32 access, u32 *reason)
{
	const struct job_page *page = va / FUZZ_PAGE < JOB_ALL ? &job.pages[va / FUZZ_PAGE] : NULL;

	if (va >> job.engine.va_bits)
		*reason = VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	else if (!page || !page->entry)
		*reason = VIRTIO_PAGODA_FAULT_INVALID_ENTRY;
	else if (page->entry & VIRTIO_PAGODA_PTE_READ_ONLY && access == VIRTIO_PAGODA_ACCESS_WRITE)
		*reason = VIRTIO_PAGODA_FAULT_READ_ONLY;
	else if (page->entry & VIRTIO_PAGODA_PTE_NO_EXECUTE && access == VIRTIO_PAGODA_ACCESS_FETCH)
		*reason = VIRTIO_PAGODA_FAULT_NO_EXECUTE;
	else if (page->data != ~0u)
		return job.shadow + page->data * FUZZ_PAGE + va % FUZZ_PAGE;
	return NULL;
}

/*
 * A request that executes one command buffer. job_request_make() inverts bits of one byte if the
 * input says so, and then returns false.
 */
struct job_request {
	struct virtio_pagoda_execute execute;
	struct virtio_pagoda_command_buffer buffer;
};

static bool job_request_make(struct job_request *request, u32 size, const struct fuzz_head *head)
{
	u8 *field = (u8 *)request + head->reserved[0] % sizeof(*request);

	*request = (struct job_request) {
		.execute.image_address = cpu_to_le64(JOB_IMAGE * FUZZ_PAGE),
		.execute.image_segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM),
		.execute.address_space = cpu_to_le32(1),
		.execute.nr_buffers = cpu_to_le32(1),
		.execute.flags = cpu_to_le32(job.device & FUZZ_INCOHERENT ?
					     0 : VIRTIO_PAGODA_EXECUTE_DRAIN),
		.buffer.address = cpu_to_le64(JOB_CODE * FUZZ_PAGE),
		.buffer.size = cpu_to_le64(size),
	};
	*field ^= head->reserved[1];
	return !head->reserved[1];
}

static enum pagoda_engine_outcome job_run(const struct job_request *request,
					  struct pagoda_engine_run *run)
{
	enum pagoda_engine_outcome outcome;

	pagoda_engine_run_init(run, PAGODA_ENGINE_QUEUE_EXEC, VIRTIO_PAGODA_QUEUE_EXEC0, 1);
	run->context = JOB_CONTEXT;
	run->buffer = request;
	run->size = sizeof(*request);
	run->stop = &job.stop;
	run->spans = job.ahead ? job.spans : NULL;
	run->stop_at = JOB_LIMIT;
	outcome = pagoda_engine_execute(&job.engine, run);
	fuzz_require((outcome == PAGODA_ENGINE_FAULT) == !!run->fault.reason);
	fuzz_require(run->fault.reason < VIRTIO_PAGODA_FAULT_COUNT);
	fuzz_require(run->packets <= JOB_LIMIT && run->offset <= run->size);
	fuzz_require(!job.engine.translation.readers && !job.engine.translation.writer);
	/* Without DRAIN, which a changed request may lack, the combiner may still hold writes. */
	if (request->execute.flags)
		fuzz_require(!pagoda_engine_holds_writes(&job.engine, 1));
	pagoda_engine_write_back(&job.engine, 1);
	return outcome;
}

/* Requires that pages to which no address leads are unchanged, but for the save area. */
static void job_check_rest(void)
{
	bool mapped[JOB_DATA] = {};
	u32 i;

	for (i = 0; i < JOB_ALL; i++)
		if (job.pages[i].entry && job.pages[i].data != ~0u)
			mapped[job.pages[i].data] = true;
	for (i = JOB_IMAGE + 1; i < JOB_DATA; i++)
		if (!mapped[i])
			fuzz_require(!memcmp(job.memory + i * FUZZ_PAGE,
					     job.shadow + i * FUZZ_PAGE, FUZZ_PAGE));
}

static void job_agree(const struct command_model *model, enum command_model_end end,
		      const struct pagoda_engine_run *run, enum pagoda_engine_outcome outcome)
{
	bool same = run->packets == model->commands && run->fault.reason == model->reason;

	if (end == COMMAND_MODEL_FAULT)
		same = same && run->fault.address == model->fault &&
		       run->fault.access == model->access;
	if (end == COMMAND_MODEL_STOPPED)
		same = same && outcome == PAGODA_ENGINE_STOPPED;
	if (same)
		return;
	fprintf(stderr, "engine: %u, %s %s at 0x%llx after %u; model: %u, %s at 0x%llx after %u\n",
		outcome, pagoda_engine_command_name(run->fault.opcode),
		pagoda_engine_fault_name(run->fault.reason), run->fault.address, run->packets, end,
		pagoda_engine_fault_name(model->reason), model->fault, model->commands);
	fuzz_require(!"the same end");
}

/*
 * Has the model execute the commands, and requires that the model ends as the engine did, with the
 * same memory and saved registers. A program that reaches a TIMESTAMP isn't compared.
 */
static void job_compare(const struct pagoda_engine_run *run, enum pagoda_engine_outcome outcome,
			u32 size)
{
	struct virtio_pagoda_context_image *image = (void *)(job.shadow + JOB_IMAGE * FUZZ_PAGE);
	struct command_model model = {
		.byte = job_byte, .limit = JOB_LIMIT, .address = JOB_CODE * FUZZ_PAGE,
		.left = size,
	};
	enum command_model_end end;
	u32 i;

	for (i = 0; i < VIRTIO_PAGODA_REGISTERS; i++)
		model.registers[i] = le64_to_cpu(image->saved[i]);
	end = command_model_execute(&model);
	if (end == COMMAND_MODEL_CUT)
		return;
	job_agree(&model, end, run, outcome);
	for (i = 0; i < VIRTIO_PAGODA_REGISTERS; i++)
		image->saved[i] = cpu_to_le64(model.registers[i]);
	image->saved[i] = cpu_to_le64(le64_to_cpu(image->saved[i]) + 1);
	fuzz_require(!memcmp(job.memory, job.shadow, JOB_DATA * FUZZ_PAGE));
}

/*
 * Has the engine execute commands, and compares with the model, unless the request was changed, the
 * commands may change during the job (FUZZ_MIDDLE), or @size is 0.
 */
void fuzz_job_execute(const u8 *data, u32 size, const struct fuzz_head *head)
{
	enum pagoda_engine_outcome outcome;
	struct pagoda_engine_run run;
	struct job_request request;
	bool usual;

	job_begin(data, size, head);
	usual = job_request_make(&request, size, head);
	outcome = job_run(&request, &run);
	job_check_rest();
	if (usual && size && !job.hostile)
		job_compare(&run, outcome, size);
	else if (usual && !size)
		fuzz_require(run.fault.reason == VIRTIO_PAGODA_FAULT_OUT_OF_RANGE);
}
