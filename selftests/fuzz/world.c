// SPDX-License-Identifier: GPL-2.0
/*
 * Two machines with the same content, one for the engine and one for the CPU
 * executor, and the comparison of what a buffer did to them.
 *
 * The executor reaches system memory by struct page, the engine by bus address.
 * A "struct page" is the address of a page of the executor's memory here, and the
 * page lists of a packet are made from the bus addresses in it: none if one of
 * them leads nowhere, or if there are more runs than a builder would write.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static struct {
	struct pagoda_engine engine;
	u8 *engine_system;
	struct pagoda_cpu_executor cpu;
	u8 *cpu_system;
	u8 *fresh;			/* content to begin with, VRAM then system */
	u8 *spans[FUZZ_RUNS];
	bool gaps;
	/* Pages the executor has mapped, and those this packet copied from and to. */
	u8 *mapped[2];
	u32 nr_mapped;
	u8 *pairs[FUZZ_APERTURE + FUZZ_RUNS * FUZZ_SYSTEM][2];
	u32 nr_pairs;
	bool aliased;
} world;

static void *world_span(void *context, u64 bus, u64 want, u64 *got)
{
	u64 offset = bus - FUZZ_BUS, limit = FUZZ_SYSTEM * FUZZ_PAGE;

	fuzz_require(want && bus < 1ull << 52);
	if (offset >= limit)
		return NULL;
	if (world.gaps)
		limit = ALIGN_DOWN(offset, FUZZ_PAGE) + FUZZ_PAGE;
	*got = min_t(u64, want, limit - offset);
	return world.engine_system + offset;
}

static void world_fence(void *context, u32 queue, u64 seqno, u32 offset, u64 address, u64 value)
{
	fuzz_require(address % 8 == 0);
}

static const struct pagoda_engine_ops world_ops = {
	.system_span = world_span,
	.fence = world_fence,
};

static void *world_map_page(const void *pages, u64 index)
{
	u8 *page = ((u8 *const *)pages)[index];

	fuzz_require(page && world.nr_mapped < 2);
	world.mapped[world.nr_mapped++] = page;
	return page;
}

/* A copy has mapped its source and then its destination: takes down the pair. */
static void world_unmap_page(void *address)
{
	if (world.nr_mapped == 2 && world.mapped[0] != world.mapped[1]) {
		fuzz_require(world.nr_pairs < ARRAY_SIZE(world.pairs));
		memcpy(world.pairs[world.nr_pairs++], world.mapped, sizeof(world.mapped));
	}
	fuzz_require(world.nr_mapped);
	fuzz_require(world.mapped[--world.nr_mapped] == address);
}

static const void *world_page_at(const void *pages, u64 index)
{
	return ((const void *const *)pages)[index];
}

/* Addresses differ, memory doesn't (C58): what is copied then depends on the order. */
static void world_alias_find(void)
{
	u32 i, j;

	for (i = 0; i < world.nr_pairs; i++) {
		for (j = 0; j < world.nr_pairs; j++)
			world.aliased |= world.pairs[i][0] == world.pairs[j][1];
	}
	world.nr_pairs = 0;
}

static void *world_alloc(size_t size)
{
	void *memory = calloc(1, size);

	fuzz_require(memory);
	return memory;
}

/* Makes both machines, once. */
void fuzz_world_make(void)
{
	u64 size = (FUZZ_VRAM + FUZZ_SYSTEM) * FUZZ_PAGE, value = 1, i;

	world.engine = (struct pagoda_engine) {
		.vram = world_alloc(FUZZ_VRAM * FUZZ_PAGE),
		.vram_size = FUZZ_VRAM * FUZZ_PAGE,
		.max_runs = FUZZ_RUNS,
		.max_buffer = FUZZ_BUFFER,
		.system_bits = 40,
		.aperture = world_alloc(FUZZ_APERTURE * sizeof(u64)),
		.aperture_pages = FUZZ_APERTURE,
		.features = pagoda_engine_features() | 1ull << VIRTIO_PAGODA_F_COHERENT,
		.ops = &world_ops,
	};
	fuzz_require(pagoda_engine_init(&world.engine));
	world.cpu = (struct pagoda_cpu_executor) {
		.vram = world_alloc(FUZZ_VRAM * FUZZ_PAGE),
		.vram_size = FUZZ_VRAM * FUZZ_PAGE,
		.aperture = world_alloc(FUZZ_APERTURE * sizeof(void *)),
		.generations = world_alloc(FUZZ_APERTURE * sizeof(u32)),
		.aperture_pages = FUZZ_APERTURE,
		.map_page = world_map_page,
		.unmap_page = world_unmap_page,
		.page_at = world_page_at,
	};
	world.engine_system = world_alloc(FUZZ_SYSTEM * FUZZ_PAGE);
	world.cpu_system = world_alloc(FUZZ_SYSTEM * FUZZ_PAGE);
	world.fresh = world_alloc(size);
	for (i = 0; i < size; i += sizeof(value)) {
		value = value * 6364136223846793005ull + 1442695040888963407ull;
		memcpy(world.fresh + i, &value, sizeof(value));
	}
}

/* Back to the beginning: an input must do the same whatever came before it. */
void fuzz_world_reset(void)
{
	const u8 *system = world.fresh + FUZZ_VRAM * FUZZ_PAGE;

	memcpy(world.engine.vram, world.fresh, FUZZ_VRAM * FUZZ_PAGE);
	memcpy(world.cpu.vram, world.fresh, FUZZ_VRAM * FUZZ_PAGE);
	memcpy(world.engine_system, system, FUZZ_SYSTEM * FUZZ_PAGE);
	memcpy(world.cpu_system, system, FUZZ_SYSTEM * FUZZ_PAGE);
	memset(world.engine.aperture, 0, FUZZ_APERTURE * sizeof(u64));
	memset(world.cpu.aperture, 0, FUZZ_APERTURE * sizeof(void *));
	memset(world.cpu.generations, 0, FUZZ_APERTURE * sizeof(u32));
	world.aliased = false;
}

static bool world_reachable(u64 bus, u64 pages)
{
	u64 page = (bus - FUZZ_BUS) / FUZZ_PAGE;

	return bus >= FUZZ_BUS && page < FUZZ_SYSTEM && pages <= FUZZ_SYSTEM - page;
}

static u8 *world_page(u64 bus)
{
	return world.cpu_system + ALIGN_DOWN(bus - FUZZ_BUS, FUZZ_PAGE);
}

/* The page list of some runs, to be freed; NULL if there can be none. */
static u8 **world_list(const struct virtio_pagoda_run *runs, u32 nr_runs)
{
	u64 nr_pages = 0, i, at = 0;
	u32 run;
	u8 **list;

	for (run = 0; run < nr_runs; run++) {
		if (!world_reachable(le64_to_cpu(runs[run].address),
				     le32_to_cpu(runs[run].nr_pages)))
			return NULL;
		nr_pages += le32_to_cpu(runs[run].nr_pages);
	}
	if (!nr_pages)
		return NULL;
	list = world_alloc(nr_pages * sizeof(*list));
	for (run = 0; run < nr_runs; run++) {
		for (i = 0; i < le32_to_cpu(runs[run].nr_pages); i++)
			list[at++] = world_page(le64_to_cpu(runs[run].address) + i * FUZZ_PAGE);
	}
	return list;
}

/* The page of an address, as a list of one. */
static u8 **world_list_one(u32 segment, u64 bus)
{
	struct virtio_pagoda_run run = {
		.address = cpu_to_le64(bus),
		.nr_pages = cpu_to_le32(1),
	};

	return segment == VIRTIO_PAGODA_SEGMENT_SYSTEM ? world_list(&run, 1) : NULL;
}

static void world_lists_runs(const void *packet, u32 length, struct pagoda_paging_private *priv)
{
	u32 nr_src, nr_dst, at = fuzz_packet_runs(packet, &nr_src, &nr_dst);
	const struct virtio_pagoda_run *runs = packet + at;

	if (!at || (u64)nr_src + nr_dst > FUZZ_RUNS || length < at + (nr_src + nr_dst) * 16)
		return;
	priv->src_pages = world_list(runs, nr_src);
	priv->dst_pages = world_list(runs + nr_src, nr_dst);
}

/* The private data of a packet that is @length bytes long. */
static struct pagoda_paging_private world_private(const void *packet, u32 length, u32 offset)
{
	const struct virtio_pagoda_access_physical *access = packet;
	const struct virtio_pagoda_signal_monitored_fence *signal = packet;
	const struct virtio_pagoda_unmap_aperture_segment *unmap = packet;
	struct pagoda_paging_private priv = { .offset = offset };
	u32 opcode = le16_to_cpu(access->packet.opcode);

	if (!fuzz_packet_fixed(opcode) || length < fuzz_packet_fixed(opcode))
		return priv;
	switch (opcode) {
	case VIRTIO_PAGODA_OP_READ_PHYSICAL:
		priv.src_pages = world_list_one(le32_to_cpu(access->segment),
						le64_to_cpu(access->address));
		break;
	case VIRTIO_PAGODA_OP_WRITE_PHYSICAL:
		priv.dst_pages = world_list_one(le32_to_cpu(access->segment),
						le64_to_cpu(access->address));
		break;
	case VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE:
		priv.dst_pages = world_list_one(le32_to_cpu(signal->segment),
						le64_to_cpu(signal->address));
		break;
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		priv.dst_pages = world_list_one(VIRTIO_PAGODA_SEGMENT_SYSTEM,
						le64_to_cpu(unmap->dummy_page));
		break;
	default:
		world_lists_runs(packet, length, &priv);
	}
	return priv;
}

/* Packet by packet, so that the pages each has copied are known. */
static int world_run_cpu(const u8 *data, u32 size, u32 *stopped_at)
{
	u32 offset = 0;
	int ret = 0;

	*stopped_at = 0;
	while (!ret && offset < size) {
		u32 next = fuzz_packet_next(data, size, offset);
		struct pagoda_paging_private priv = { .offset = offset };

		if (next)
			priv = world_private(data + offset, next - offset, offset);
		ret = pagoda_cpu_execute(&world.cpu, data, next ? next : size, offset, &priv,
					 sizeof(priv), stopped_at);
		fuzz_require(!world.nr_mapped && *stopped_at == (ret ? offset : next));
		world_alias_find();
		free((void *)priv.src_pages);
		free((void *)priv.dst_pages);
		offset = next;
	}
	return ret;
}

static enum pagoda_engine_outcome world_run_engine(const u8 *data, u32 size, u32 mode,
						   u32 *stopped_at)
{
	enum pagoda_engine_outcome outcome = PAGODA_ENGINE_DONE;
	struct pagoda_engine_run run;
	u32 number = 0;

	world.gaps = mode & FUZZ_GAPS;
	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, VIRTIO_PAGODA_QUEUE_PAGING, 1);
	run.buffer = data;
	run.size = size;
	run.spans = mode & FUZZ_SPANS ? world.spans : NULL;
	do {
		run.stop_at = mode & FUZZ_STEPS ? ++number : PAGODA_ENGINE_NEVER;
		outcome = pagoda_engine_execute(&world.engine, &run);
		fuzz_require(run.offset >= run.start && run.offset <= size);
		fuzz_require((outcome == PAGODA_ENGINE_FAULT) ==
			     (run.fault.reason != VIRTIO_PAGODA_FAULT_NONE));
		run.start = run.offset;
	} while (outcome == PAGODA_ENGINE_STOPPED);
	fuzz_require(outcome == PAGODA_ENGINE_FAULT || run.offset == size);
	*stopped_at = run.offset;
	return outcome;
}

static void world_compare_aperture(void)
{
	u32 i, generation;
	u64 bus;

	for (i = 0; i < FUZZ_APERTURE; i++) {
		if (!pagoda_engine_aperture_lookup(&world.engine, i, &bus, &generation)) {
			fuzz_require(!world.cpu.aperture[i]);
			continue;
		}
		fuzz_require(world.cpu.aperture[i] == world_page(bus));
		fuzz_require(world.cpu.generations[i] == generation);
	}
}

/* What the failed comparison is about, packet by packet. */
static void world_report(const u8 *data, u32 size)
{
	struct pagoda_paging_text text = { .size = 64 * 1024 };

	text.data = world_alloc(text.size);
	pagoda_paging_print(data, size, &text);
	fputs(text.data, stderr);
	free(text.data);
}

/* Executes a buffer on both machines and expects the same of them. */
void fuzz_world_execute(const u8 *data, u32 size, u32 mode)
{
	enum pagoda_engine_outcome outcome;
	u32 engine_stop, cpu_stop;
	bool refused;
	int ret;

	fuzz_world_reset();
	outcome = world_run_engine(data, size, mode, &engine_stop);
	ret = world_run_cpu(data, size, &cpu_stop);
	refused = outcome == PAGODA_ENGINE_FAULT;
	if (!!ret != refused || engine_stop != cpu_stop) {
		world_report(data, size);
		fprintf(stderr, "engine: 0x%x, refused %d; executor: 0x%x, %d\n",
			engine_stop, refused, cpu_stop, ret);
		fuzz_require(!"the same verdict");
	}
	world_compare_aperture();
	if (world.aliased)
		return;
	if (memcmp(world.engine.vram, world.cpu.vram, FUZZ_VRAM * FUZZ_PAGE) ||
	    memcmp(world.engine_system, world.cpu_system, FUZZ_SYSTEM * FUZZ_PAGE)) {
		world_report(data, size);
		fuzz_require(!"the same memory");
	}
}
