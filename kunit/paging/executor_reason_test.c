// SPDX-License-Identifier: GPL-2.0
/*
 * For packets with more than one mistake the engine and the CPU executor report the fault reason of
 * the same mistake, the first in the device's order of checks. And what the CPU executor reports
 * for VRAM that the CPU can't reach.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "vidmm/ttm/internal.h"
#include "executor_world.h"

#define PAGE		PAGODA_WORLD_PAGE
#define VRAM		VIRTIO_PAGODA_SEGMENT_VRAM
#define APERTURE	VIRTIO_PAGODA_SEGMENT_APERTURE
#define NOWHERE		9	/* no segment */
#define RUNS		20	/* more than a packet may have */
#define ONE		cpu_to_le32(1)

/* A packet with runs behind it, and the struct pages of the runs, for the CPU executor. */
struct reason_packet {
	union {
		struct virtio_pagoda_packet head;
		struct virtio_pagoda_fill fill;
		struct virtio_pagoda_discard_content discard;
		struct virtio_pagoda_access_physical access;
		struct virtio_pagoda_transfer transfer;
		struct virtio_pagoda_map_aperture_segment map;
		struct virtio_pagoda_unmap_aperture_segment unmap;
		struct virtio_pagoda_signal_monitored_fence signal;
		struct virtio_pagoda_init_context_resource init;
		struct virtio_pagoda_notify_residency residency;
		struct virtio_pagoda_notify_fence_residency fences;
		struct virtio_pagoda_notify_alloc alloc;
		u8 bytes[sizeof(struct virtio_pagoda_transfer) +
			 RUNS * sizeof(struct virtio_pagoda_run)];
	};
	const void *pages[RUNS];
};

static struct pagoda_world *reason_world(struct kunit *test)
{
	struct rnd_state rnd;

	pagoda_test_seed(test, &rnd);
	return pagoda_world_make(test, &rnd);
}

/*
 * Completes @packet by its opcode and, unless set, its length, and expects the engine and the CPU
 * executor to refuse the packet for @reason. @line: the caller's line.
 */
static void reason_check(struct pagoda_world *world, struct reason_packet *packet, u32 opcode,
			 u32 length, u32 reason, int line)
{
	struct pagoda_paging_private *priv = (void *)world->priv;
	struct pagoda_verdict verdict;

	packet->head.opcode = cpu_to_le16(opcode);
	if (!packet->head.length)
		packet->head.length = cpu_to_le32(length);
	pagoda_world_fresh(world, PAGODA_WORLD_BUFFER);
	memcpy(world->data, packet->bytes, length);
	world->buf.write_offset = length;
	*priv = (struct pagoda_paging_private) {
		.src_pages = packet->pages,
		.dst_pages = packet->pages,
	};
	world->buf.priv = world->priv + sizeof(*priv);
	verdict = pagoda_world_submit(world);
	KUNIT_EXPECT_EQ_MSG(world->test, verdict.reason, reason, "line %d: %s", line,
			    pagoda_engine_fault_name(verdict.reason));
	KUNIT_EXPECT_LT_MSG(world->test, verdict.error, 0, "line %d", line);
}

/*
 * Expects a packet with @nr_runs runs, all zero but for the changes that the last arguments make to
 * p, to be refused for the fault reason @reason_name.
 */
#define REASON(NAME, type, nr_runs, reason_name, ...) do { \
	struct reason_packet p = { }; \
	\
	__VA_ARGS__; \
	reason_check(world, &p, VIRTIO_PAGODA_OP_##NAME, sizeof(struct virtio_pagoda_##type) + \
		     (nr_runs) * sizeof(struct virtio_pagoda_run), \
		     VIRTIO_PAGODA_FAULT_##reason_name, __LINE__); \
} while (0)

/*
 * The head of a packet is checked in this order: opcode, length, unknown flags. All else is checked
 * later, such as whether the device has an MMU.
 */
static void reason_head_test(struct kunit *test)
{
	struct pagoda_world *world = reason_world(test);

	REASON(COUNT, fill, 0, BAD_OPCODE, p.head.length = cpu_to_le32(8));
	REASON(FILL, fill, 0, BAD_LENGTH, p.head.length = cpu_to_le32(8),
	       p.head.flags = cpu_to_le16(1));
	REASON(FILL, fill, 0, BAD_FLAGS, p.head.flags = cpu_to_le16(1),
	       p.fill.address = cpu_to_le64(1));
	REASON(UNMAP_MMU, map_mmu, 0, BAD_FLAGS, p.head.flags = cpu_to_le16(1));
	REASON(UNMAP_MMU, map_mmu, 0, UNSUPPORTED, (void)p);
}

/*
 * In fills, discards, accesses and fence signals, reserved fields are checked first, then alignment
 * and sizes, the segment, the range in the segment; in INIT_CONTEXT_RESOURCE first the size.
 */
static void reason_memory_test(struct kunit *test)
{
	struct pagoda_world *world = reason_world(test);

	REASON(FILL, fill, 0, MISALIGNED, p.fill.address = cpu_to_le64(2),
	       p.fill.segment = cpu_to_le32(NOWHERE));
	REASON(FILL, fill, 0, BAD_SEGMENT, p.fill.segment = cpu_to_le32(NOWHERE));
	REASON(FILL, fill, 0, OUT_OF_RANGE, p.fill.segment = cpu_to_le32(VRAM));
	REASON(DISCARD_CONTENT, discard_content, 0, RESERVED, p.discard.reserved = ONE,
	       p.discard.address = cpu_to_le64(4));
	REASON(DISCARD_CONTENT, discard_content, 0, MISALIGNED, p.discard.address = cpu_to_le64(4),
	       p.discard.segment = cpu_to_le32(NOWHERE));
	REASON(READ_PHYSICAL, access_physical, 0, OUT_OF_RANGE, p.access.size = cpu_to_le32(3),
	       p.access.segment = cpu_to_le32(NOWHERE));
	REASON(READ_PHYSICAL, access_physical, 0, MISALIGNED, p.access.size = cpu_to_le32(4),
	       p.access.address = cpu_to_le64(2), p.access.segment = cpu_to_le32(NOWHERE));
	REASON(WRITE_PHYSICAL, access_physical, 0, UNREACHABLE, p.access.size = cpu_to_le32(4),
	       p.access.segment = cpu_to_le32(APERTURE));
	REASON(SIGNAL_MONITORED_FENCE, signal_monitored_fence, 0, RESERVED, p.signal.reserved = ONE,
	       p.signal.address = cpu_to_le64(4));
	REASON(SIGNAL_MONITORED_FENCE, signal_monitored_fence, 0, MISALIGNED,
	       p.signal.address = cpu_to_le64(4), p.signal.segment = cpu_to_le32(NOWHERE));
	REASON(INIT_CONTEXT_RESOURCE, init_context_resource, 0, MISALIGNED,
	       p.init.size = cpu_to_le64(8), p.init.dst.segment = cpu_to_le32(NOWHERE));
}

/* A TRANSFER is checked in this order: size and number of runs, source, destination, overlap. */
static void reason_transfer_test(struct kunit *test)
{
	struct pagoda_world *world = reason_world(test);
	const __le64 size = cpu_to_le64(PAGE), end = cpu_to_le64(PAGODA_WORLD_VRAM * PAGE);

	REASON(TRANSFER, transfer, 0, MISALIGNED, p.transfer.size = cpu_to_le64(2),
	       p.transfer.src.segment = cpu_to_le32(NOWHERE));
	REASON(TRANSFER, transfer, RUNS, BAD_RUNS, p.transfer.size = size,
	       p.transfer.src.nr_runs = cpu_to_le32(RUNS / 2),
	       p.transfer.dst.nr_runs = cpu_to_le32(RUNS / 2),
	       p.transfer.dst.segment = cpu_to_le32(NOWHERE));
	REASON(TRANSFER, transfer, 0, OUT_OF_RANGE, p.transfer.size = size,
	       p.transfer.src.segment = cpu_to_le32(VRAM), p.transfer.src.address = end,
	       p.transfer.dst.segment = cpu_to_le32(NOWHERE));
	REASON(TRANSFER, transfer, 0, BAD_SEGMENT, p.transfer.size = size,
	       p.transfer.src.segment = cpu_to_le32(VRAM),
	       p.transfer.dst.segment = cpu_to_le32(NOWHERE), p.transfer.dst.reserved = ONE);
	REASON(TRANSFER, transfer, 0, STALE_GENERATION, p.transfer.size = size,
	       p.transfer.src.segment = cpu_to_le32(APERTURE),
	       p.transfer.src.generation = cpu_to_le32(VIRTIO_PAGODA_MAX_GENERATION + 1),
	       p.transfer.src.address = cpu_to_le64(8));
	REASON(TRANSFER, transfer, 0, OVERLAP, p.transfer.size = size,
	       p.transfer.src.segment = cpu_to_le32(VRAM),
	       p.transfer.dst.segment = cpu_to_le32(VRAM));
}

/* CLEAN needs whole pages that are copied into VRAM, DIRTY a copy out of VRAM. */
static void reason_tracking_test(struct kunit *test)
{
	struct pagoda_world *world = reason_world(test);
	const __le16 clean = cpu_to_le16(VIRTIO_PAGODA_TRANSFER_CLEAN);
	const __le16 dirty = cpu_to_le16(VIRTIO_PAGODA_TRANSFER_DIRTY);
	const __le32 vram = cpu_to_le32(VRAM), aperture = cpu_to_le32(APERTURE);
	const __le64 size = cpu_to_le64(PAGE), there = cpu_to_le64(8 * PAGE);
	const struct pagoda_paging_op good = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.transfer = {
			.size = PAGE, .flags = VIRTIO_PAGODA_TRANSFER_CLEAN,
			.src = { .segment = VRAM }, .dst = { .segment = VRAM, .address = 8 * PAGE },
		},
	};

	world->engine.dirty = test_zalloc(test, PAGODA_WORLD_VRAM);
	world->engine.features |= 1ull << VIRTIO_PAGODA_F_DIRTY;
	world->limits.features = world->engine.features;
	pagoda_world_do(world, &good, PAGODA_WORLD_BUFFER);
	REASON(TRANSFER, transfer, 0, BAD_FLAGS, p.head.flags = clean,
	       p.transfer.size = cpu_to_le64(PAGE + 8), p.transfer.src.segment = vram,
	       p.transfer.dst.segment = vram, p.transfer.dst.address = there);
	REASON(TRANSFER, transfer, 0, BAD_FLAGS, p.head.flags = clean, p.transfer.size = size,
	       p.transfer.src.segment = vram, p.transfer.dst.segment = aperture);
	REASON(TRANSFER, transfer, 0, BAD_FLAGS, p.head.flags = dirty, p.transfer.size = size,
	       p.transfer.src.segment = aperture, p.transfer.dst.segment = vram);
	REASON(TRANSFER, transfer, 0, BAD_FLAGS, p.head.flags = clean | dirty,
	       p.transfer.size = size, p.transfer.src.segment = vram,
	       p.transfer.dst.segment = vram, p.transfer.dst.address = there);
}

/* Fills in a valid MAP_APERTURE_SEGMENT of two pages in two runs; sets *@runs to these runs. */
static void reason_map(struct pagoda_world *world, struct reason_packet *p,
		       struct virtio_pagoda_run **runs)
{
	*runs = (void *)(p->bytes + sizeof(p->map));
	p->map.segment = cpu_to_le32(APERTURE);
	p->map.generation = cpu_to_le32(1);
	p->map.nr_pages = cpu_to_le64(2);
	p->map.nr_runs = cpu_to_le32(2);
	(*runs)[0] = (struct virtio_pagoda_run) {
		.address = cpu_to_le64(pagoda_world_bus(3)), .nr_pages = cpu_to_le32(1),
	};
	(*runs)[1] = (struct virtio_pagoda_run) {
		.address = cpu_to_le64(pagoda_world_bus(5)), .nr_pages = cpu_to_le32(1),
	};
	p->pages[0] = world->cpu_pages[3];
	p->pages[1] = world->cpu_pages[5];
}

#define REASON_MAP(reason_name, ...) do { \
	struct virtio_pagoda_run *runs; \
	\
	REASON(MAP_APERTURE_SEGMENT, map_aperture_segment, 2, reason_name, \
	       reason_map(world, &p, &runs), __VA_ARGS__); \
} while (0)

/*
 * A map's own fields are checked before its runs, and the runs one after another, each with its
 * fields before its memory; then the number of all pages. An unmap needs a dummy page.
 */
static void reason_runs_test(struct kunit *test)
{
	struct pagoda_world *world = reason_world(test);

	REASON_MAP(OUT_OF_RANGE, p.map.first_page = cpu_to_le64(PAGODA_WORLD_APERTURE),
		   p.map.generation = 0);
	REASON_MAP(STALE_GENERATION, p.map.generation = 0, runs[0].reserved = ONE);
	REASON_MAP(MISALIGNED, runs[0].address = cpu_to_le64(8), runs[1].reserved = ONE);
	REASON_MAP(RESERVED, runs[0].reserved = ONE, runs[0].nr_pages = 0);
	REASON_MAP(BAD_RUNS, runs[0].nr_pages = cpu_to_le32(3), runs[0].address = cpu_to_le64(8));
	REASON_MAP(UNREACHABLE, runs[0].address = cpu_to_le64(PAGE), p.pages[0] = NULL,
		   runs[1].reserved = ONE);
	REASON_MAP(RESERVED, runs[1].address = cpu_to_le64(PAGE), p.pages[1] = NULL,
		   runs[1].reserved = ONE);
	REASON_MAP(UNREACHABLE, runs[1].address = cpu_to_le64(PAGE), p.pages[1] = NULL);
	REASON_MAP(BAD_RUNS, p.map.nr_pages = cpu_to_le64(3));
	REASON(MAP_APERTURE_SEGMENT2, map_aperture_segment, 0, BAD_RUNS,
	       p.head.flags = cpu_to_le16(VIRTIO_PAGODA_MAP_CONTIGUOUS),
	       p.map.segment = cpu_to_le32(NOWHERE));
	REASON(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment, 0, UNREACHABLE,
	       p.unmap.segment = cpu_to_le32(APERTURE), p.unmap.nr_pages = cpu_to_le64(1));
}

/* For notices, too, the engine and the CPU executor report the same mistake first. */
static void reason_notice_test(struct kunit *test)
{
	struct pagoda_world *world = reason_world(test);

	REASON(NOTIFY_RESIDENCY, notify_residency, 0, RESERVED,
	       p.residency.offset = cpu_to_le64(1));
	REASON(NOTIFY_RESIDENCY2, notify_residency, 0, OUT_OF_RANGE, p.residency.reserved = ONE);
	REASON(NOTIFY_RESIDENCY, notify_residency, 0, BAD_SEGMENT,
	       p.head.flags = cpu_to_le16(VIRTIO_PAGODA_NOTIFY_RESIDENT),
	       p.head.allocation = cpu_to_le64(1), p.residency.address = cpu_to_le64(8),
	       p.residency.segment = cpu_to_le32(NOWHERE));
	REASON(NOTIFY_FENCE_RESIDENCY, notify_fence_residency, 0, RESERVED,
	       p.fences.reserved = ONE);
	REASON(NOTIFY_FENCE_RESIDENCY, notify_fence_residency, 0, OUT_OF_RANGE, (void)p);
	REASON(NOTIFY_ALLOC, notify_alloc, 0, MISALIGNED,
	       p.head.flags = cpu_to_le16(VIRTIO_PAGODA_NOTIFY_EVICTION),
	       p.alloc.size = cpu_to_le64(8));
	REASON(NOTIFY_ALLOC, notify_alloc, 0, OUT_OF_RANGE,
	       p.head.flags = cpu_to_le16(VIRTIO_PAGODA_NOTIFY_EVICTION));
}

/*
 * A FILL of @pages pages of VRAM from page @page on, while the CPU reaches the first @reached
 * pages, NOTHING: not even VRAM's start; and the executor's reason.
 */
struct reason_reach {
	u32 reached;
	u32 page;
	u32 pages;
	u32 reason;
};

#define NOTHING	U32_MAX

static void reason_reach_check(struct pagoda_world *world, const struct reason_reach *reach)
{
	const struct virtio_pagoda_fill fill = {
		.packet.opcode = cpu_to_le16(VIRTIO_PAGODA_OP_FILL),
		.packet.length = cpu_to_le32(sizeof(fill)),
		.address = cpu_to_le64(reach->page * PAGE),
		.size = cpu_to_le64(reach->pages * PAGE),
		.segment = cpu_to_le32(VRAM),
	};
	bool outside = reach->reason == VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	u8 *vram = world->exec.vram;

	pagoda_world_fresh(world, PAGODA_WORLD_BUFFER);
	memcpy(world->data, &fill, sizeof(fill));
	world->buf.write_offset = sizeof(fill);
	world->exec.vram_size = reach->reached == NOTHING ? 0 : reach->reached * PAGE;
	world->exec.vram = reach->reached == NOTHING ? NULL : vram;
	KUNIT_EXPECT_EQ_MSG(world->test, reach->reason, pagoda_world_run_cpu(world, 0).reason,
			    "%u pages from %u", reach->pages, reach->page);
	KUNIT_EXPECT_EQ_MSG(world->test, outside ? VIRTIO_PAGODA_FAULT_OUT_OF_RANGE :
						   VIRTIO_PAGODA_FAULT_NONE,
			    pagoda_world_run_engine(world, 0).reason,
			    "%u pages from %u", reach->pages, reach->page);
	world->exec.vram = vram;
}

/*
 * VRAM that the CPU can't reach, but that the device has and fills, is UNREACHABLE for the CPU
 * executor; addresses outside of VRAM are OUT_OF_RANGE for both, whatever the CPU reaches.
 */
static void reason_reach_test(struct kunit *test)
{
	static const struct reason_reach reaches[] = {
		{ 4, 3, 1, VIRTIO_PAGODA_FAULT_NONE },
		{ 4, 4, 1, VIRTIO_PAGODA_FAULT_UNREACHABLE },
		{ 4, 3, 2, VIRTIO_PAGODA_FAULT_UNREACHABLE },
		{ 4, PAGODA_WORLD_VRAM - 1, 1, VIRTIO_PAGODA_FAULT_UNREACHABLE },
		{ 4, PAGODA_WORLD_VRAM - 1, 2, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ 4, PAGODA_WORLD_VRAM, 1, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ 4, 4, 0, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ 0, 0, 1, VIRTIO_PAGODA_FAULT_UNREACHABLE },
		{ NOTHING, 0, 1, VIRTIO_PAGODA_FAULT_UNREACHABLE },
		{ NOTHING, 0, 0, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ NOTHING, PAGODA_WORLD_VRAM, 1, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
	};
	struct pagoda_world *world = reason_world(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(reaches); i++)
		reason_reach_check(world, &reaches[i]);
}

static struct kunit_case reason_cases[] = {
	KUNIT_CASE(reason_head_test),
	KUNIT_CASE(reason_memory_test),
	KUNIT_CASE(reason_transfer_test),
	KUNIT_CASE(reason_tracking_test),
	KUNIT_CASE(reason_runs_test),
	KUNIT_CASE(reason_notice_test),
	KUNIT_CASE(reason_reach_test),
	{ }
};

static struct kunit_suite reason_suite = {
	.name = "pagoda_executor_reasons",
	.test_cases = reason_cases,
};

kunit_test_suite(reason_suite);
