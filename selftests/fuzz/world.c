// SPDX-License-Identifier: GPL-2.0
/*
 * The engine with its memory. Has the engine and the oracle, which is the CPU executor (oracle.c),
 * execute a buffer, and compares verdicts, memory and mappings.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static struct {
	struct pagoda_engine engine;
	struct pagoda_engine_space spaces[FUZZ_SPACES];
	struct pagoda_engine_swizzling ranges[FUZZ_RANGES];
	struct pagoda_engine_tlb *tlbs;
	u8 *system;
	u8 *fresh;			/* random content for VRAM, then for system memory */
	u8 *begin;			/* copy of @fresh, with page tables for @device */
	u32 device;			/* FUZZ_ flags of the device that @begin is for */
	u8 *spans[FUZZ_RUNS];
	bool gaps;
} world;

/* Returns zeroed memory, aligned to the size of a write combiner's lines. */
void *fuzz_alloc(size_t size)
{
	size_t whole = (size + PAGODA_ENGINE_LINE_BYTES - 1) / PAGODA_ENGINE_LINE_BYTES;
	void *memory = aligned_alloc(PAGODA_ENGINE_LINE_BYTES, whole * PAGODA_ENGINE_LINE_BYTES);

	fuzz_require(memory);
	return memset(memory, 0, whole * PAGODA_ENGINE_LINE_BYTES);
}

static void *world_span(void *context, u64 bus, u64 want, u64 *got)
{
	u64 offset = bus - FUZZ_BUS, limit = FUZZ_SYSTEM * FUZZ_PAGE;

	fuzz_require(want && bus < 1ull << 52);
	if (offset >= limit)
		return NULL;
	if (world.gaps)
		limit = ALIGN_DOWN(offset, FUZZ_PAGE) + FUZZ_PAGE;
	*got = min_t(u64, want, limit - offset);
	return world.system + offset;
}

static void world_fence(void *context, const struct pagoda_engine_run *run, u64 address,
			u64 value)
{
	fuzz_require(address % 8 == 0);
}

static void world_notify(void *context, const struct virtio_pagoda_packet *packet)
{
	fuzz_require(fuzz_packet_fixed(le16_to_cpu(packet->opcode)));
}

static const struct pagoda_engine_ops world_ops = {
	.system_span = world_span,
	.fence = world_fence,
	.notify = world_notify,
};

/* Address in VRAM of the root page table of address space 0. */
u64 fuzz_world_root(u32 device)
{
	u32 levels = FUZZ_LEVELS(device);

	return (levels == 2 ? FUZZ_TABLE_1 : FUZZ_TABLE_2 + levels - 3) * FUZZ_PAGE;
}

/* Allocates the engine's and the oracle's memory. Called once. */
void fuzz_world_make(void)
{
	static const struct pagoda_engine_range invalid[] = {
		{ .start = 40 * FUZZ_PAGE, .size = 3 * FUZZ_PAGE },
		{ .start = 50 * FUZZ_PAGE, .size = FUZZ_PAGE },
	};
	u64 size = (FUZZ_VRAM + FUZZ_SYSTEM) * FUZZ_PAGE, value = 1, i;

	world.engine = (struct pagoda_engine) {
		.vram = fuzz_alloc(FUZZ_VRAM * FUZZ_PAGE),
		.vram_size = FUZZ_VRAM * FUZZ_PAGE,
		.invalid = invalid,
		.max_runs = FUZZ_RUNS,
		.max_buffer = VIRTIO_PAGODA_MIN_BUFFER,
		.system_bits = 40,
		.aperture = fuzz_alloc(FUZZ_APERTURE * sizeof(u64)),
		.aperture_pages = FUZZ_APERTURE,
		.mmu = fuzz_alloc(FUZZ_MMU * sizeof(u64)),
		.mmu_pages = FUZZ_MMU,
		.spaces = world.spaces,
		.nr_spaces = FUZZ_SPACES,
		.ranges = world.ranges,
		.nr_ranges = FUZZ_RANGES,
		.swizzling_bytes = FUZZ_WINDOW,
		.ops = &world_ops,
	};
	for (i = 0; i < FUZZ_RANGES; i++)
		world.ranges[i].window = fuzz_alloc(FUZZ_WINDOW);
	world.tlbs = fuzz_alloc(2 * sizeof(*world.tlbs));
	world.system = fuzz_alloc(FUZZ_SYSTEM * FUZZ_PAGE);
	world.fresh = fuzz_alloc(size);
	world.begin = fuzz_alloc(size);
	world.device = ~0u;
	for (i = 0; i < size; i += sizeof(value)) {
		value = value * 6364136223846793005ull + 1442695040888963407ull;
		memcpy(world.fresh + i, &value, sizeof(value));
	}
	fuzz_oracle_make();
}

/* Resets the engine, and sets the engine's limits, features and TLBs to those of @head's device. */
static void world_configure(const struct fuzz_head *head)
{
	struct pagoda_engine *engine = &world.engine;
	u32 i;

	pagoda_engine_reset(engine);
	for (i = 0; i < FUZZ_RANGES; i++)
		memset(world.ranges[i].window, 0, FUZZ_WINDOW);
	engine->pt_levels = FUZZ_LEVELS(head->device);
	engine->va_bits = FUZZ_VA_BITS(head->device);
	engine->page_sizes = 1u << 12 | 1u << 21 | (head->device & FUZZ_NO_64K ? 0 : 1u << 16);
	engine->nr_invalid = head->device & FUZZ_INVALID ? 2 : 0;
	engine->tlbs = head->mode & FUZZ_TLB ? world.tlbs : NULL;
	engine->nr_tlbs = head->mode & FUZZ_TLB ? 2 : 0;
	memset(world.tlbs, 0, 2 * sizeof(*world.tlbs));
	engine->features = pagoda_engine_features();
	if (!(head->device & FUZZ_INCOHERENT))
		engine->features |= 1ull << VIRTIO_PAGODA_F_COHERENT;
	if (head->device & FUZZ_DUAL)
		engine->features |= 1ull << VIRTIO_PAGODA_F_DUAL_PTE;
	if (head->device & FUZZ_DEVICE_MMU)
		engine->features |= 1ull << VIRTIO_PAGODA_F_DEVICE_MMU;
	if (head->device & FUZZ_NO_INVALID)
		engine->features |= 1ull << VIRTIO_PAGODA_F_INVALID_NOT_CACHED;
	world.gaps = head->mode & FUZZ_GAPS;
	fuzz_require(pagoda_engine_init(engine));
}

/* A packet that maps one page of the device MMU. */
struct world_mmu {
	struct virtio_pagoda_map_mmu map;
	struct virtio_pagoda_run run;
};

/* Makes packets that map device pages 0 to 30 to pages of system memory, page 30 read-only. */
static void world_mmu_make(struct world_mmu *packets)
{
	u32 i;

	memset(packets, 0, (FUZZ_SYSTEM - 1) * sizeof(*packets));
	for (i = 0; i < FUZZ_SYSTEM - 1; i++) {
		packets[i].map.packet.opcode = cpu_to_le16(VIRTIO_PAGODA_OP_MAP_MMU);
		packets[i].map.packet.flags = cpu_to_le16(i == FUZZ_SYSTEM - 2);
		packets[i].map.packet.length = cpu_to_le32(sizeof(*packets));
		packets[i].map.address = cpu_to_le64(i * FUZZ_PAGE);
		packets[i].map.nr_pages = cpu_to_le64(1);
		packets[i].map.nr_runs = cpu_to_le32(1);
		packets[i].run.address = cpu_to_le64(FUZZ_BUS + i * 7 % FUZZ_SYSTEM * FUZZ_PAGE);
		packets[i].run.nr_pages = cpu_to_le32(1);
	}
}

/* Makes the content with which the engine's and the oracle's memory begin, for this @device. */
static void world_begin(u32 device)
{
	u32 table = device & FUZZ_DEVICE_MMU ? FUZZ_TABLE_SYS * 7 % FUZZ_SYSTEM : FUZZ_TABLE_SYS;

	if (world.device == device)
		return;
	world.device = device;
	memcpy(world.begin, world.fresh, (FUZZ_VRAM + FUZZ_SYSTEM) * FUZZ_PAGE);
	fuzz_tables_write(world.begin, world.begin + (FUZZ_VRAM + table) * FUZZ_PAGE, device);
}

/* Resets the oracle, so that earlier inputs have no effect on the next. */
static void world_reset_oracle(const struct fuzz_head *head)
{
	struct world_mmu packets[FUZZ_SYSTEM - 1];
	struct fuzz_oracle oracle;

	fuzz_oracle_reset(world.begin, world.begin + FUZZ_VRAM * FUZZ_PAGE, head->device);
	if (!(head->device & FUZZ_DEVICE_MMU))
		return;
	world_mmu_make(packets);
	oracle = fuzz_oracle_execute((void *)packets, sizeof(packets), 0, sizeof(packets),
				     &(struct fuzz_head) { });
	fuzz_require(!oracle.reason && oracle.stop == sizeof(packets));
}

/* Resets the engine, so that earlier inputs have no effect on the next. */
static void world_reset(const struct fuzz_head *head)
{
	struct world_mmu packets[FUZZ_SYSTEM - 1];
	struct pagoda_engine_run run;

	world_begin(head->device);
	memcpy(world.engine.vram, world.begin, FUZZ_VRAM * FUZZ_PAGE);
	memcpy(world.system, world.begin + FUZZ_VRAM * FUZZ_PAGE, FUZZ_SYSTEM * FUZZ_PAGE);
	world_configure(head);
	if (head->device & FUZZ_DEVICE_MMU) {
		world_mmu_make(packets);
		pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING,
				       VIRTIO_PAGODA_QUEUE_PAGING, 1);
		run.buffer = packets;
		run.size = sizeof(packets);
		fuzz_require(pagoda_engine_execute(&world.engine, &run) == PAGODA_ENGINE_DONE);
	}
	fuzz_require(!pagoda_engine_root_set(&world.engine, 0, VIRTIO_PAGODA_SEGMENT_VRAM,
					     fuzz_world_root(head->device), FUZZ_ROOT));
}

/*
 * Flushes from the engine's TLBs the translations that the packet at @offset has changed, page by
 * page, or all of them if the oracle counted more than ORACLE_FLUSHES.
 */
static void world_flush(u32 offset, const struct fuzz_head *head)
{
	struct virtio_pagoda_flush_tlb flush = {
		.packet.opcode = cpu_to_le16(VIRTIO_PAGODA_OP_FLUSH_TLB),
		.packet.length = cpu_to_le32(sizeof(flush)),
		.root_address = cpu_to_le64(fuzz_world_root(head->device)),
		.root_segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM),
	};
	const u64 *addresses = NULL;
	u32 count = fuzz_oracle_flushes(offset, &addresses), i;
	struct pagoda_engine_run run;

	for (i = 0; i < (count == ~0u ? 1 : count); i++) {
		if (count != ~0u) {
			flush.start = cpu_to_le64(addresses[i]);
			flush.end = cpu_to_le64(addresses[i] + FUZZ_PAGE);
		}
		pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING,
				       VIRTIO_PAGODA_QUEUE_PAGING, 1);
		run.buffer = &flush;
		run.size = sizeof(flush);
		fuzz_require(pagoda_engine_execute(&world.engine, &run) == PAGODA_ENGINE_DONE);
	}
}

/*
 * Returns whether packet number @packet (from 0) exists and may fail in the middle, to be executed
 * again. A COPY_PAGE_TABLE_ENTRIES may not: its source and destination may overlap, so that the
 * first half of the copy changes what the second execution copies.
 */
static bool world_may_fail(const u8 *data, u32 size, u32 packet)
{
	u32 offset = fuzz_packet_start(data, size, packet);
	const struct virtio_pagoda_packet *head = (const void *)(data + offset);

	return (offset || !packet) && size - offset >= sizeof(*head) &&
	       le16_to_cpu(head->opcode) != VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES;
}

/* Requires that a run's offsets, fault and outcome agree, and that the engine's locks are free. */
static void world_check_run(const struct pagoda_engine_run *run,
			    enum pagoda_engine_outcome outcome)
{
	fuzz_require(run->offset >= run->start && run->offset <= run->size);
	fuzz_require((outcome == PAGODA_ENGINE_FAULT) ==
		     (run->fault.reason != VIRTIO_PAGODA_FAULT_NONE));
	fuzz_require(outcome != PAGODA_ENGINE_DONE || run->offset == run->size);
	fuzz_require(!world.engine.translation.readers && !world.engine.translation.writer);
	fuzz_require(!world.engine.swizzling_lock.readers && !world.engine.swizzling_lock.writer);
}

static enum pagoda_engine_outcome world_run(const u8 *data, u32 size, u32 start, u32 end,
					    const struct fuzz_head *head,
					    struct pagoda_engine_run *run)
{
	bool steps = head->mode & (FUZZ_STEPS | FUZZ_TLB), exec = head->mode & FUZZ_EXEC;
	u32 number = 0, last = PAGODA_ENGINE_NEVER, offset;
	enum pagoda_engine_outcome outcome = PAGODA_ENGINE_DONE;

	pagoda_engine_run_init(run, exec ? PAGODA_ENGINE_QUEUE_EXEC : PAGODA_ENGINE_QUEUE_PAGING,
			       exec ? VIRTIO_PAGODA_QUEUE_EXEC0 : VIRTIO_PAGODA_QUEUE_PAGING, 1);
	run->buffer = data;
	run->size = size;
	run->start = start;
	run->spans = head->mode & FUZZ_SPANS ? world.spans : NULL;
	if (head->fail && (!(head->mode & FUZZ_MIDDLE) ||
			   world_may_fail(data, size, head->fail - 1))) {
		run->fail_at = head->fail - 1;
		run->fail_middle = head->mode & FUZZ_MIDDLE;
	}
	for (offset = 0; offset < start; offset = fuzz_packet_next(data, size, offset))
		number++;
	if (end < size) {
		last = number;
		for (; offset < end; offset = fuzz_packet_next(data, size, offset))
			last++;
	}
	do {
		u32 before = run->start;

		run->stop_at = steps && number + 1 < last ? ++number : last;
		outcome = pagoda_engine_execute(&world.engine, run);
		world_check_run(run, outcome);
		run->start = run->offset;
		if (outcome == PAGODA_ENGINE_FAULT &&
		    run->fault.reason == VIRTIO_PAGODA_FAULT_DEVICE_FAILURE) {
			fuzz_require(run->fail_at != PAGODA_ENGINE_NEVER);
			/* Packet @fail_at would be behind the last: all packets were executed. */
			if (run->offset == size)
				return PAGODA_ENGINE_DONE;
			run->fail_at = PAGODA_ENGINE_NEVER;
			outcome = PAGODA_ENGINE_STOPPED;
			if (steps)
				number--;
		} else if (head->mode & FUZZ_TLB) {
			world_flush(before, head);
		}
	} while (outcome == PAGODA_ENGINE_STOPPED && run->offset != end);
	return outcome;
}

static void world_compare_maps(void)
{
	u64 address;
	u32 i, generation;
	bool read_only;

	for (i = 0; i < FUZZ_APERTURE; i++) {
		if (!pagoda_engine_aperture_lookup(&world.engine, i, &address, &generation)) {
			fuzz_require(!fuzz_cpu.aperture[i]);
			continue;
		}
		fuzz_require(fuzz_cpu.generations[i] == generation);
		if (!fuzz_cpu.mmu)
			fuzz_require(fuzz_cpu.aperture[i] == fuzz_oracle_page(address));
	}
	for (i = 0; i < FUZZ_MMU && fuzz_cpu.mmu; i++) {
		if (!pagoda_engine_mmu_lookup(&world.engine, i, &address, &read_only)) {
			fuzz_require(!fuzz_cpu.mmu[i]);
			continue;
		}
		fuzz_require(fuzz_cpu.mmu[i] == fuzz_cpu_system + (address - FUZZ_BUS));
		fuzz_require(fuzz_cpu.mmu_read_only[i] == read_only);
	}
}

static void world_compare_ranges(void)
{
	u32 i;

	for (i = 0; i < FUZZ_RANGES; i++) {
		fuzz_require(world.ranges[i].size == fuzz_cpu.ranges[i].size);
		if (world.ranges[i].size)
			fuzz_require(world.ranges[i].address == fuzz_cpu.ranges[i].address);
		fuzz_require(!memcmp(world.ranges[i].window, fuzz_cpu.ranges[i].window,
				     FUZZ_WINDOW));
	}
}

/* Prints the buffer whose comparison failed, packet by packet. */
static void world_report(const u8 *data, u32 size)
{
	struct pagoda_paging_text text = { .size = 64 * 1024 };

	text.data = fuzz_alloc(text.size);
	pagoda_paging_print(data, size, &text);
	fputs(text.data, stderr);
	free(text.data);
}

static void world_compare(const u8 *data, u32 size)
{
	world_compare_maps();
	world_compare_ranges();
	if (memcmp(world.engine.vram, fuzz_cpu.vram, FUZZ_VRAM * FUZZ_PAGE) ||
	    memcmp(world.system, fuzz_cpu_system, FUZZ_SYSTEM * FUZZ_PAGE)) {
		world_report(data, size);
		fuzz_require(!"the same memory");
	}
}

/*
 * Refusals for reasons that only the engine can know: the executor executes such a packet, or
 * refuses the packet for another reason. Other refusals must have the same reason on both.
 */
static const struct world_excuse {
	const char *name;
	u32 reason;
	u64 instead;			/* bits: the executor's reasons, 0 = any or none */
	u32 device;			/* FUZZ_ flag that the device must have, 0 = none */
	u64 opcodes;			/* bits: opcodes of packets, 0 = any */
} world_excuses[] = {
	/* The executor knows no VRAM that must not be used: the driver allocates no such VRAM. */
	{ "VRAM that must not be used", VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0, FUZZ_INVALID, 0 },
	{ "VRAM that must not be used", VIRTIO_PAGODA_FAULT_BAD_TABLE, 0, FUZZ_INVALID, 0 },
	/* The executor ignores bus addresses (C66), and these packets have no page list. */
	{ "a bus address that is only named", VIRTIO_PAGODA_FAULT_UNREACHABLE, 0, 0,
	  1ull << VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY | 1ull << VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2 |
	  1ull << VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY },
	/* The executor can't tell that the bus address in an entry is wider than the bus. */
	{ "a bus address wider than the bus in an entry", VIRTIO_PAGODA_FAULT_BAD_TABLE,
	  1ull << VIRTIO_PAGODA_FAULT_UNREACHABLE | 1ull << VIRTIO_PAGODA_FAULT_READ_ONLY, 0, 0 },
};

static bool world_excused(const struct pagoda_engine_run *run, const struct fuzz_head *head,
			  const struct fuzz_oracle *oracle)
{
	const struct world_excuse *excuse = world_excuses;
	/* If the executor stopped at another packet, the executor didn't refuse this packet. */
	u32 instead = run->offset == oracle->stop ? oracle->reason : VIRTIO_PAGODA_FAULT_NONE;

	for (; excuse < world_excuses + ARRAY_SIZE(world_excuses); excuse++)
		if (excuse->reason == run->fault.reason &&
		    (!excuse->instead || excuse->instead & 1ull << instead) &&
		    (!excuse->device || head->device & excuse->device) &&
		    (!excuse->opcodes || excuse->opcodes & 1ull << run->fault.opcode))
			return true;
	return false;
}

/* Requires that engine and oracle stopped at the same packet, with the same fault reason or 0. */
static void world_compare_verdict(const u8 *data, u32 size, const struct fuzz_head *head,
				  const struct pagoda_engine_run *run,
				  const struct fuzz_oracle *oracle)
{
	if (run->fault.reason == oracle->reason && run->offset == oracle->stop)
		return;
	world_report(data, size);
	fprintf(stderr, "mode 0x%x, device 0x%x, start %u, fail %u\n", head->mode, head->device,
		head->start, head->fail);
	fprintf(stderr, "engine: 0x%x, %s at 0x%llx; executor: 0x%x, %s%s\n", run->offset,
		pagoda_engine_fault_name(run->fault.reason), run->fault.address, oracle->stop,
		pagoda_engine_fault_name(oracle->reason), oracle->cut ? ", cut" : "");
	fuzz_require(!"the same verdict");
}

/* Has engine and oracle execute a buffer; requires the same verdict and effects, up to a cut. */
void fuzz_world_execute(const u8 *data, u32 size, const struct fuzz_head *head)
{
	u32 start = fuzz_packet_start(data, size, head->start);
	struct pagoda_engine_run run;
	struct fuzz_oracle oracle, again_to;
	bool again;

	world_reset(head);
	world_reset_oracle(head);
	oracle = fuzz_oracle_execute(data, size, start, size, head);
	if (world_run(data, size, start, oracle.cut ? oracle.stop : size, head, &run) !=
	    PAGODA_ENGINE_FAULT)
		run.fault.reason = VIRTIO_PAGODA_FAULT_NONE;
	again = oracle.cut;
	/* Excused refusals become the verdict, but not behind the oracle's stop or at its cut. */
	if (run.fault.reason && run.offset <= oracle.stop && run.offset < size &&
	    !(oracle.cut && run.offset == oracle.stop) && world_excused(&run, head, &oracle)) {
		again = true;
		oracle.reason = run.fault.reason;
		oracle.stop = run.offset;
	}
	world_compare_verdict(data, size, head, &run, &oracle);
	if (again) {
		/* The oracle's memory must have the effects of the packets before @stop only. */
		world_reset_oracle(head);
		again_to = fuzz_oracle_execute(data, size, start, oracle.stop, head);
		fuzz_require(again_to.stop == oracle.stop && !again_to.reason && !again_to.cut);
	}
	world_compare(data, size);
	if (oracle.cut)		/* the rest isn't compared, but must come to an end */
		world_run(data, size, oracle.stop, size, head, &run);
}
