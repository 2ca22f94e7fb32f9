// SPDX-License-Identifier: GPL-2.0
/* Sets up an engine with memory for tests, builds packets, executes them and checks the result. */
#include <linux/random.h>
#include <kunit/test-bug.h>
#include <linux/sizes.h>
#include "engine_helpers.h"

#define ENGINE_GUARD	0xa5

/*
 * Returns the memory at a bus address, with *@got contiguous bytes, of fix->span_limit pages at
 * most unless that is 0; NULL if no memory is there. System memory starts at ENGINE_BUS, isn't
 * contiguous across the start of the gap, and has no memory in the gap, which may be empty.
 */
static void *engine_system_span(void *context, u64 bus, u64 want, u64 *got)
{
	struct engine_fixture *fix = context;
	u64 offset = bus - ENGINE_BUS, gap = fix->kind->gap, end = fix->kind->system;

	if (bus < ENGINE_BUS || offset >= end ||
	    (offset >= gap && offset - gap < fix->kind->gap_size))
		return NULL;
	if (offset < gap)
		end = gap;
	if (fix->span_limit)
		end = min(end, (offset / ENGINE_PAGE + fix->span_limit) * ENGINE_PAGE);
	*got = end - offset;
	return fix->system + offset;
}

static void engine_fence(void *context, const struct pagoda_engine_run *run, u64 address,
			 u64 value)
{
	struct engine_fixture *fix = context;

	fix->fences++;
	fix->fence_value = value;
	if (fix->fence)
		fix->fence(fix, run, address, value);
}

static void engine_idle(void *context, const struct pagoda_engine_run *run)
{
	struct engine_fixture *fix = context;

	if (fix->idle)
		fix->idle(fix);
}

static void engine_notify(void *context, const struct virtio_pagoda_packet *packet)
{
	struct engine_fixture *fix = context;

	fix->notices++;
	fix->notice = *packet;
}

static const struct pagoda_engine_ops engine_ops = {
	.system_span = engine_system_span,
	.fence = engine_fence,
	.idle = engine_idle,
	.notify = engine_notify,
};

/* Returns a part of fix->memory with random content, behind which is a guard. */
static u8 *engine_part(struct engine_fixture *fix, u32 *guard, size_t size)
{
	u8 *here = fix->guards[*guard] + ENGINE_PAGE;

	get_random_bytes(here, size);
	fix->guards[++*guard] = here + size;
	return here;
}

static void engine_arrange(struct kunit *test, struct engine_fixture *fix)
{
	const struct engine_kind *kind = fix->kind;
	size_t aperture = kind->aperture * sizeof(u64), windows = ENGINE_RANGES * kind->window;
	u32 guard = 0, i;
	u8 *here;

	fix->memory_size = ENGINE_GUARDS * ENGINE_PAGE + kind->vram + kind->system + aperture +
			   windows;
	fix->memory = test_vzalloc(test, fix->memory_size);
	fix->before = test_vzalloc(test, fix->memory_size);
	fix->buffer = test_vzalloc(test, ENGINE_BUFFER);
	memset(fix->memory, ENGINE_GUARD, fix->memory_size);
	fix->guards[0] = fix->memory;
	fix->vram = engine_part(fix, &guard, kind->vram);
	fix->system = engine_part(fix, &guard, kind->system);
	fix->engine.aperture = (u64 *)engine_part(fix, &guard, aperture);
	memset(fix->engine.aperture, 0, aperture);
	here = engine_part(fix, &guard, windows);
	for (i = 0; i < ENGINE_RANGES; i++)
		fix->ranges[i].window = here + i * kind->window;
}

/*
 * Makes the page tables of address space 0, of three levels: they map all usable pages of VRAM and
 * all pages of system memory, also the page without memory.
 */
static void engine_space_init(struct engine_fixture *fix)
{
	__le64 *root = (void *)(fix->system + ENGINE_ROOT * ENGINE_PAGE);
	__le64 *middle = root + VIRTIO_PAGODA_PT_ENTRIES;
	__le64 *leaf = middle + VIRTIO_PAGODA_PT_ENTRIES;
	u64 vram = (u64)VIRTIO_PAGODA_SEGMENT_VRAM << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT;
	u32 i;

	memset(root, 0, 3 * ENGINE_PAGE);
	root[1] = cpu_to_le64(engine_bus(ENGINE_ROOT + 1) | VIRTIO_PAGODA_PTE_VALID);
	middle[0] = cpu_to_le64(engine_bus(ENGINE_ROOT + 2) | VIRTIO_PAGODA_PTE_VALID);
	for (i = 0; i < ENGINE_PAGES; i++) {
		if (i != ENGINE_INVALID)
			leaf[i] = cpu_to_le64(i * ENGINE_PAGE | vram | VIRTIO_PAGODA_PTE_VALID);
		leaf[ENGINE_PAGES + i] = cpu_to_le64(engine_bus(i) | VIRTIO_PAGODA_PTE_VALID);
	}
	fix->spaces[0].address = engine_bus(ENGINE_ROOT);
	fix->spaces[0].entries = VIRTIO_PAGODA_PT_ENTRIES;
}

/*
 * Returns an engine with random content in VRAM, system memory and the windows of swizzling ranges,
 * an unmapped aperture, and neither features nor roots; aborts the test if there is no memory.
 */
struct engine_fixture *engine_fixture_make(struct kunit *test, const struct engine_kind *kind)
{
	struct engine_fixture *fix = test_zalloc(test, sizeof(*fix));

	fix->kind = kind;
	engine_arrange(test, fix);
	fix->invalid.start = kind->invalid;
	fix->invalid.size = ENGINE_PAGE;
	fix->engine.vram = fix->vram;
	fix->engine.vram_size = kind->vram;
	fix->engine.invalid = &fix->invalid;
	fix->engine.nr_invalid = 1;
	fix->engine.max_runs = kind->max_runs;
	fix->engine.max_buffer = ENGINE_BUFFER;
	fix->engine.system_bits = 40;
	fix->engine.aperture_pages = kind->aperture;
	fix->engine.ranges = fix->ranges;
	fix->engine.nr_ranges = kind->window ? ENGINE_RANGES : 0;
	fix->engine.swizzling_bytes = kind->window;
	fix->engine.spaces = fix->spaces;
	fix->engine.nr_spaces = ENGINE_SPACES;
	fix->engine.va_bits = 47;
	fix->engine.pt_levels = 3;
	fix->engine.page_sizes = SZ_4K | SZ_64K | SZ_2M;
	fix->engine.nr_tlbs = ENGINE_TLBS;
	fix->engine.ops = &engine_ops;
	fix->engine.context = fix;
	fix->engine.dirty = test_vzalloc(test, kind->vram / ENGINE_PAGE);
	fix->engine.tlbs = test_vzalloc(test, ENGINE_TLBS * sizeof(*fix->engine.tlbs));
	KUNIT_ASSERT_TRUE(test, pagoda_engine_init(&fix->engine));
	return fix;
}

/*
 * Returns an engine with page tables of address space 0, and room for the spans of a packet; the
 * engine has all operations but those of a device MMU.
 */
struct engine_fixture *engine_fixture_init(struct kunit *test)
{
	static const struct engine_kind kind = {
		.vram = ENGINE_BYTES,
		.system = ENGINE_BYTES,
		.invalid = ENGINE_INVALID * ENGINE_PAGE,
		.gap = ENGINE_HOLE * ENGINE_PAGE,
		.gap_size = ENGINE_PAGE,
		.aperture = ENGINE_PAGES,
		.window = ENGINE_WINDOW,
		.max_runs = ENGINE_MAX_RUNS,
	};
	struct engine_fixture *fix = engine_fixture_make(test, &kind);

	fix->spans = test_vzalloc(test, ENGINE_MAX_RUNS * sizeof(*fix->spans));
	fix->engine.features = (pagoda_engine_features() & ~ENGINE_MMU_OPS) |
			       BIT_ULL(VIRTIO_PAGODA_F_COHERENT) | BIT_ULL(VIRTIO_PAGODA_F_DIRTY);
	fix->marks = test_vzalloc(test, ENGINE_BYTES);
	engine_space_init(fix);
	return fix;
}

/* Gives each test of a suite an engine of its own. */
int engine_suite_init(struct kunit *test)
{
	test->priv = engine_fixture_init(test);
	return 0;
}

/* Copies all of fix->memory to fix->before, for later comparison. */
void engine_snapshot(struct engine_fixture *fix)
{
	memcpy(fix->before, fix->memory, fix->memory_size);
}

/* Returns the byte of the snapshot that belongs to a byte of fix->memory. */
u8 *engine_before(struct engine_fixture *fix, const u8 *here)
{
	return fix->before + (here - fix->memory);
}

/* Expects all of fix->memory to be as in the snapshot. */
void engine_expect_unchanged(struct kunit *test, struct engine_fixture *fix, const char *what)
{
	const u64 *before = (const u64 *)fix->before, *now = (const u64 *)fix->memory;
	size_t i;

	/* memcmp() of some architectures is slow: it compares byte by byte. */
	for (i = 0; i < fix->memory_size / sizeof(*now); i++) {
		if (now[i] == before[i])
			continue;
		KUNIT_FAIL(test, "%s: %#zx of memory is %#llx, not %#llx", what, i * sizeof(*now),
			   now[i], before[i]);
		return;
	}
}

/* Expects that nothing was written behind or before VRAM, system memory, aperture or windows. */
void engine_expect_guards(struct kunit *test, struct engine_fixture *fix, const char *what)
{
	u32 i;

	for (i = 0; i < ENGINE_GUARDS; i++)
		KUNIT_EXPECT_NULL_MSG(test, memchr_inv(fix->guards[i], ENGINE_GUARD, ENGINE_PAGE),
				      "%s: guard %u was written", what, i);
}

/* Returns the bus address of a page of system memory. */
u64 engine_bus(u32 page)
{
	return ENGINE_BUS + page * ENGINE_PAGE;
}

/* Appends a packet, zero but for its head; returns it. */
void *engine_packet(struct engine_fixture *fix, u16 opcode, u32 length)
{
	struct virtio_pagoda_packet *packet = (void *)(fix->buffer + fix->size);

	WARN_ON(fix->size + length > ENGINE_BUFFER);
	memset(packet, 0, length);
	packet->opcode = cpu_to_le16(opcode);
	packet->length = cpu_to_le32(length);
	fix->size += length;
	return packet;
}

/* Appends a packet of fixed size, whose fields are initialized by further arguments; returns it. */
#define ADD(op, type, ...) \
	memcpy(engine_packet(fix, op, sizeof(struct virtio_pagoda_##type)), \
	       (&(const struct virtio_pagoda_##type) { \
			.packet.opcode = cpu_to_le16(op), \
			.packet.length = cpu_to_le32(sizeof(struct virtio_pagoda_##type)), \
			__VA_ARGS__ \
	       }), sizeof(struct virtio_pagoda_##type))

static void engine_location(struct virtio_pagoda_location *location, const struct engine_side *side,
			    struct virtio_pagoda_run *runs)
{
	u32 i;

	location->segment = cpu_to_le32(side->segment);
	location->nr_runs = cpu_to_le32(side->nr_runs);
	location->address = cpu_to_le64(side->address);
	location->generation = cpu_to_le32(side->generation);
	for (i = 0; i < side->nr_runs; i++) {
		runs[i].address = cpu_to_le64(engine_bus(side->pages[i]));
		runs[i].nr_pages = cpu_to_le32(1);
	}
}

/* Appends a TRANSFER. */
void engine_add_transfer(struct engine_fixture *fix, u64 size, const struct engine_side *src,
			 const struct engine_side *dst)
{
	struct virtio_pagoda_transfer *transfer;
	struct virtio_pagoda_run *runs;

	transfer = engine_packet(fix, VIRTIO_PAGODA_OP_TRANSFER, sizeof(*transfer) +
				 (src->nr_runs + dst->nr_runs) * sizeof(*runs));
	runs = (void *)(transfer + 1);
	transfer->size = cpu_to_le64(size);
	engine_location(&transfer->src, src, runs);
	engine_location(&transfer->dst, dst, runs + src->nr_runs);
}

/* Describes the geometry of a tiled surface. */
void engine_layout(struct virtio_pagoda_layout *layout, u32 tiling, u32 pitch, u32 height,
		   u32 mips)
{
	layout->tiling = cpu_to_le32(tiling);
	layout->pitch = cpu_to_le32(pitch);
	layout->height = cpu_to_le32(height);
	layout->mips = cpu_to_le32(mips);
}

/* Appends a TRANSFER of allocation 1 that swizzles or unswizzles; returns it. */
struct virtio_pagoda_transfer *
engine_add_tiled(struct engine_fixture *fix, u64 size, const struct engine_side *src,
		 const struct engine_side *dst, u16 flags, const struct virtio_pagoda_tiled *tiled)
{
	struct virtio_pagoda_transfer *transfer;
	struct virtio_pagoda_run *runs;

	transfer = engine_packet(fix, VIRTIO_PAGODA_OP_TRANSFER, sizeof(*transfer) +
				 sizeof(*tiled) + (src->nr_runs + dst->nr_runs) * sizeof(*runs));
	memcpy(transfer + 1, tiled, sizeof(*tiled));
	runs = (void *)(transfer + 1) + sizeof(*tiled);
	transfer->packet.flags = cpu_to_le16(flags);
	transfer->packet.allocation = cpu_to_le64(1);
	transfer->size = cpu_to_le64(size);
	engine_location(&transfer->src, src, runs);
	engine_location(&transfer->dst, dst, runs + src->nr_runs);
	return transfer;
}

/*
 * Appends a SPECIAL_LOCK_TRANSFER of the first @size bytes of a surface of 17 pages: two mip
 * levels of 4 KiB tiles and some pages that are linear. Returns the packet.
 */
struct virtio_pagoda_special_lock_transfer *
engine_add_lock(struct engine_fixture *fix, u64 size, const struct engine_side *src,
		const struct engine_side *dst, u16 flags)
{
	struct virtio_pagoda_special_lock_transfer *lock;
	struct virtio_pagoda_run *runs;

	lock = engine_packet(fix, VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER, sizeof(*lock) +
			     (src->nr_runs + dst->nr_runs) * sizeof(*runs));
	runs = (void *)(lock + 1);
	lock->transfer.packet.flags = cpu_to_le16(flags);
	lock->transfer.size = cpu_to_le64(size);
	engine_location(&lock->transfer.src, src, runs);
	engine_location(&lock->transfer.dst, dst, runs + src->nr_runs);
	lock->tiled.surface_size = cpu_to_le64(17 * ENGINE_PAGE);
	engine_layout(&lock->tiled.layout, VIRTIO_PAGODA_TILING_4K, 256, 128, 2);
	return lock;
}

/* Appends a FILL of VRAM, without an allocation. */
void engine_add_fill(struct engine_fixture *fix, u64 address, u64 size, u32 pattern)
{
	ADD(VIRTIO_PAGODA_OP_FILL, fill, .size = cpu_to_le64(size), .address = cpu_to_le64(address),
	    .segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM), .pattern = cpu_to_le32(pattern));
}

/*
 * Appends a MAP_APERTURE_SEGMENT or MAP_APERTURE_SEGMENT2 of aperture pages from @first on to
 * system pages from @page on; with a run for each page if @array, else with one run.
 */
void engine_add_map(struct engine_fixture *fix, u16 opcode, u16 flags, u32 first, u32 nr_pages,
		    u32 page, u32 generation, bool array)
{
	struct virtio_pagoda_map_aperture_segment *map;
	u32 nr_runs = array ? nr_pages : 1;
	struct virtio_pagoda_run *runs;
	u32 i;

	map = engine_packet(fix, opcode, sizeof(*map) + nr_runs * sizeof(*runs));
	runs = (void *)(map + 1);
	map->packet.flags = cpu_to_le16(flags);
	map->first_page = cpu_to_le64(first);
	map->nr_pages = cpu_to_le64(nr_pages);
	map->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE);
	map->nr_runs = cpu_to_le32(nr_runs);
	map->generation = cpu_to_le32(generation);
	for (i = 0; i < nr_runs; i++) {
		runs[i].address = cpu_to_le64(engine_bus(page + i));
		runs[i].nr_pages = cpu_to_le32(nr_pages / nr_runs);
	}
}

/* Appends an UNMAP_APERTURE_SEGMENT. */
void engine_add_unmap(struct engine_fixture *fix, u32 first, u32 nr_pages, u32 dummy)
{
	ADD(VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT, unmap_aperture_segment,
	    .first_page = cpu_to_le64(first), .nr_pages = cpu_to_le64(nr_pages),
	    .dummy_page = cpu_to_le64(engine_bus(dummy)),
	    .segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE));
}

/* Appends a READ_PHYSICAL or WRITE_PHYSICAL. */
void engine_add_physical(struct engine_fixture *fix, u16 opcode, u32 segment, u64 address,
			 u32 size)
{
	ADD(opcode, access_physical, .address = cpu_to_le64(address),
	    .segment = cpu_to_le32(segment), .size = cpu_to_le32(size));
}

/* Appends a SIGNAL_MONITORED_FENCE. */
void engine_add_signal(struct engine_fixture *fix, u32 segment, u64 address, u64 value,
		       u16 flags)
{
	ADD(VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE, signal_monitored_fence,
	    .packet.flags = cpu_to_le16(flags), .address = cpu_to_le64(address),
	    .value = cpu_to_le64(value), .segment = cpu_to_le32(segment));
}

/* Appends an INIT_CONTEXT_RESOURCE. */
struct virtio_pagoda_init_context_resource *
engine_add_init_context(struct engine_fixture *fix, u64 size, u64 context,
			const struct engine_side *dst)
{
	struct virtio_pagoda_init_context_resource *init;

	init = engine_packet(fix, VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE, sizeof(*init) +
			     dst->nr_runs * sizeof(struct virtio_pagoda_run));
	init->size = cpu_to_le64(size);
	init->context = cpu_to_le64(context);
	engine_location(&init->dst, dst, (void *)(init + 1));
	return init;
}

/*
 * Appends an UPDATE_CONTEXT_ALLOCATION of @data_size bytes, each 0x5a, at @offset of the
 * allocation; returns the data.
 */
u8 *engine_add_update_context(struct engine_fixture *fix, u64 address, u64 size, u32 offset,
			      u32 data_size)
{
	struct virtio_pagoda_update_context_allocation *update;

	update = engine_packet(fix, VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION,
			       sizeof(*update) + ALIGN(data_size, VIRTIO_PAGODA_PACKET_ALIGN));
	update->address = cpu_to_le64(address);
	update->size = cpu_to_le64(size);
	update->data_size = cpu_to_le32(data_size);
	update->data_offset = cpu_to_le32(offset);
	return memset(update + 1, 0x5a, data_size);
}

/* Appends a NOTIFY_RESIDENCY or NOTIFY_RESIDENCY2 of VRAM from page 8 on; returns it. */
struct virtio_pagoda_notify_residency *engine_add_residency(struct engine_fixture *fix,
							    u16 opcode, u64 nr_pages)
{
	return ADD(opcode, notify_residency,
		   .packet.flags = cpu_to_le16(VIRTIO_PAGODA_NOTIFY_RESIDENT),
		   .packet.allocation = cpu_to_le64(1), .address = cpu_to_le64(8 * ENGINE_PAGE),
		   .nr_pages = cpu_to_le64(nr_pages),
		   .segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM));
}

/*
 * Appends a NOTIFY_FENCE_RESIDENCY of fences that each have their values in a page of their own;
 * returns the packet's first entry.
 */
struct virtio_pagoda_fence_residency *engine_add_fence_residency(struct engine_fixture *fix,
								 u32 nr_fences)
{
	struct virtio_pagoda_notify_fence_residency *notify;
	struct virtio_pagoda_fence_residency *fences;
	u32 i;

	notify = engine_packet(fix, VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY,
			       sizeof(*notify) + nr_fences * sizeof(*fences));
	notify->nr_fences = cpu_to_le32(nr_fences);
	fences = (void *)(notify + 1);
	for (i = 0; i < nr_fences; i++) {
		fences[i].fence = cpu_to_le64(i + 1);
		fences[i].current_value = cpu_to_le64(engine_bus(i) + 8);
		fences[i].monitored_value = cpu_to_le64(engine_bus(i) + 16);
	}
	return fences;
}

/* Appends a NOTIFY_ALLOC, which changes no memory. */
void engine_add_notify(struct engine_fixture *fix)
{
	ADD(VIRTIO_PAGODA_OP_NOTIFY_ALLOC, notify_alloc,
	    .packet.flags = cpu_to_le16(VIRTIO_PAGODA_NOTIFY_EVICTION),
	    .packet.allocation = cpu_to_le64(1), .size = cpu_to_le64(ENGINE_PAGE));
}

/* Appends a VIRTUAL_TRANSFER; returns it. */
struct virtio_pagoda_virtual_transfer *
engine_add_virtual(struct engine_fixture *fix, u64 src, u64 dst, u64 size, u32 direction, u16 flags)
{
	return ADD(VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER, virtual_transfer,
		   .packet.flags = cpu_to_le16(flags), .size = cpu_to_le64(size),
		   .src_address = cpu_to_le64(src), .dst_address = cpu_to_le64(dst),
		   .direction = cpu_to_le32(direction));
}

/* Appends a VIRTUAL_FILL; returns it. */
struct virtio_pagoda_virtual_fill *engine_add_virtual_fill(struct engine_fixture *fix, u64 va,
							   u64 size, u32 pattern)
{
	return ADD(VIRTIO_PAGODA_OP_VIRTUAL_FILL, virtual_fill, .size = cpu_to_le64(size),
		   .address = cpu_to_le64(va), .pattern = cpu_to_le32(pattern));
}

/* Appends an UPDATE_PAGE_TABLE; returns its values, for the caller to fill in. */
__le64 *engine_add_update(struct engine_fixture *fix, u32 segment, u64 table, u32 level,
			  u32 first, u32 nr_entries, u32 nr_values)
{
	struct virtio_pagoda_update_page_table *update;

	update = engine_packet(fix, VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
			       sizeof(*update) + nr_values * sizeof(__le64));
	update->table_address = cpu_to_le64(table);
	update->table_segment = cpu_to_le32(segment);
	update->mode = cpu_to_le32(VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL);
	update->level = cpu_to_le32(level);
	update->first_entry = cpu_to_le32(first);
	update->nr_entries = cpu_to_le32(nr_entries);
	update->nr_values = cpu_to_le32(nr_values);
	return (void *)(update + 1);
}

/* Appends a FLUSH_TLB with the space's root; returns it. */
struct virtio_pagoda_flush_tlb *engine_add_flush(struct engine_fixture *fix, u32 space, u64 start,
						 u64 end)
{
	return ADD(VIRTIO_PAGODA_OP_FLUSH_TLB, flush_tlb,
		   .root_address = cpu_to_le64(fix->spaces[space].address),
		   .root_segment = cpu_to_le32(fix->spaces[space].segment),
		   .start = cpu_to_le64(start), .end = cpu_to_le64(end),
		   .address_space = cpu_to_le32(space));
}

/* Appends a COPY_PAGE_TABLE_ENTRIES; returns its ranges. */
struct virtio_pagoda_copy_range *engine_add_copy_entries(struct engine_fixture *fix,
							 u32 nr_ranges)
{
	struct virtio_pagoda_copy_page_table_entries *copy;

	copy = engine_packet(fix, VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES,
			     sizeof(*copy) + nr_ranges * sizeof(struct virtio_pagoda_copy_range));
	copy->nr_ranges = cpu_to_le32(nr_ranges);
	return (void *)(copy + 1);
}

static void engine_add_valid_copy(struct engine_fixture *fix)
{
	struct virtio_pagoda_copy_range *range = engine_add_copy_entries(fix, 1);

	range->src_table = cpu_to_le64(ENGINE_VA + 2 * ENGINE_PAGE);
	range->dst_table = cpu_to_le64(ENGINE_VA + 3 * ENGINE_PAGE);
	range->src_entry = cpu_to_le32(5);
	range->dst_entry = cpu_to_le32(7);
	range->nr_entries = cpu_to_le32(9);
}

/* Appends a valid packet of @opcode; for an opcode without a case, zeros behind a head. */
void engine_add_valid(struct engine_fixture *fix, u16 opcode)
{
	static const u8 pages[] = { 4, 9 };
	const struct engine_side vram = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = 2 * ENGINE_PAGE,
	};
	const struct engine_side system = { .nr_runs = ARRAY_SIZE(pages), .pages = pages };
	struct virtio_pagoda_discard_content *discard;

	switch (opcode) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		engine_add_transfer(fix, 2 * ENGINE_PAGE - 8, &vram, &system);
		break;
	case VIRTIO_PAGODA_OP_FILL:
		engine_add_fill(fix, 3 * ENGINE_PAGE, ENGINE_PAGE, 0x01020304);
		break;
	case VIRTIO_PAGODA_OP_DISCARD_CONTENT:
		discard = engine_packet(fix, opcode, sizeof(*discard));
		discard->size = cpu_to_le64(2 * ENGINE_PAGE);
		discard->address = cpu_to_le64(5 * ENGINE_PAGE);
		discard->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
		break;
	case VIRTIO_PAGODA_OP_READ_PHYSICAL:
	case VIRTIO_PAGODA_OP_WRITE_PHYSICAL:
		engine_add_physical(fix, opcode, VIRTIO_PAGODA_SEGMENT_VRAM, 64, 8);
		break;
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		engine_add_map(fix, opcode, 0, 3, 4, 10, 7, true);
		break;
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		engine_add_unmap(fix, 3, 4, 1);
		break;
	case VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER:
		engine_add_lock(fix, 2 * ENGINE_PAGE - 8, &system, &vram,
				VIRTIO_PAGODA_TRANSFER_START);
		break;
	case VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER:
		engine_add_virtual(fix, ENGINE_VA + 2 * ENGINE_PAGE,
				   ENGINE_VA_SYSTEM + 4 * ENGINE_PAGE, 3 * ENGINE_PAGE,
				   VIRTIO_PAGODA_LOCAL_TO_SYSTEM, 0);
		break;
	case VIRTIO_PAGODA_OP_VIRTUAL_FILL:
		engine_add_virtual_fill(fix, ENGINE_VA + 3 * ENGINE_PAGE, ENGINE_PAGE, 0x01020304);
		break;
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		memset(engine_add_update(fix, VIRTIO_PAGODA_SEGMENT_VRAM, 6 * ENGINE_PAGE, 0, 1, 4,
					 4), 0x5a, 4 * sizeof(__le64));
		break;
	case VIRTIO_PAGODA_OP_FLUSH_TLB:
		engine_add_flush(fix, 0, 0, 0);
		break;
	case VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES:
		engine_add_valid_copy(fix);
		break;
	case VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE:
		engine_add_signal(fix, VIRTIO_PAGODA_SEGMENT_VRAM, 128, 5, 0);
		break;
	case VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE:
		engine_add_init_context(fix, 2 * ENGINE_PAGE, 5, &system);
		break;
	case VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION:
		engine_add_update_context(fix, ENGINE_VA + 6 * ENGINE_PAGE, 2 * ENGINE_PAGE,
					  ENGINE_PAGE - 8, 20);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY:
		engine_add_residency(fix, opcode, 0);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2:
		engine_add_residency(fix, opcode, 3);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY:
		engine_add_fence_residency(fix, 2);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_ALLOC:
		engine_add_notify(fix);
		break;
	default:
		engine_packet(fix, opcode, 128);
	}
}

/*
 * Executes @run. If the fixture has room for a copy of VRAM (fix->marks), expects that each page of
 * VRAM that the run changes is marked as written, for all trackers.
 */
enum pagoda_engine_outcome engine_execute(struct engine_fixture *fix,
					  struct pagoda_engine_run *run)
{
	struct kunit *test = kunit_get_current_test();
	u64 page, pages = fix->engine.vram_size / ENGINE_PAGE;
	const u8 *vram = fix->engine.vram;
	enum pagoda_engine_outcome outcome;

	if (!fix->marks)
		return pagoda_engine_execute(&fix->engine, run);
	memcpy(fix->marks, vram, fix->engine.vram_size);
	memset(fix->engine.dirty, 0, pages);
	outcome = pagoda_engine_execute(&fix->engine, run);
	for (page = 0; page < pages && test; page++)
		if (memcmp(fix->marks + page * ENGINE_PAGE, vram + page * ENGINE_PAGE,
			   ENGINE_PAGE))
			KUNIT_EXPECT_EQ_MSG(test, 0xff, fix->engine.dirty[page],
					    "page %llu was written", page);
	return outcome;
}

/* Executes the buffer from byte @start on and begins a new buffer; returns the outcome. */
enum pagoda_engine_outcome engine_run(struct engine_fixture *fix, struct pagoda_engine_run *run,
				      enum pagoda_engine_queue kind, u32 start)
{
	pagoda_engine_run_init(run, kind, 1, 1);
	run->buffer = fix->buffer;
	run->size = fix->size;
	run->start = start;
	run->spans = fix->spans;
	fix->size = 0;
	return engine_execute(fix, run);
}

/* Executes the buffer; expects that all of it succeeds. */
void engine_expect_done(struct kunit *test, struct engine_fixture *fix)
{
	struct pagoda_engine_run run;
	enum pagoda_engine_outcome outcome;

	outcome = engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0);
	KUNIT_EXPECT_EQ_MSG(test, outcome, PAGODA_ENGINE_DONE, "op %s: %s, %#llx",
			    pagoda_engine_op_name(run.fault.opcode),
			    pagoda_engine_fault_name(run.fault.reason), run.fault.address);
	KUNIT_EXPECT_EQ(test, run.offset, run.size);
	KUNIT_EXPECT_EQ(test, run.fault.reason, VIRTIO_PAGODA_FAULT_NONE);
}

/*
 * Executes the buffer; expects that a packet is refused for @reason and that memory is unchanged,
 * so that packets before the refused packet must be without effect on memory.
 */
void engine_expect_fault(struct kunit *test, struct engine_fixture *fix, u32 reason,
			 const char *what)
{
	struct pagoda_engine_run run;
	enum pagoda_engine_outcome outcome;

	engine_snapshot(fix);
	outcome = engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0);
	KUNIT_EXPECT_EQ_MSG(test, outcome, PAGODA_ENGINE_FAULT, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, run.fault.reason, reason, "%s: %s", what,
			    pagoda_engine_fault_name(run.fault.reason));
	KUNIT_EXPECT_EQ_MSG(test, run.fault.offset, run.offset, "%s", what);
	engine_expect_unchanged(test, fix, what);
}

/*
 * Executes the buffer, and has the engine fail at the buffer's first packet: after half of the
 * packet's effect if @middle, else before any effect. Expects the fault DEVICE_FAILURE.
 */
void engine_expect_failure(struct kunit *test, struct engine_fixture *fix, bool middle)
{
	struct pagoda_engine_run run;

	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, 1, 1);
	run.buffer = fix->buffer;
	run.size = fix->size;
	run.spans = fix->spans;
	run.fail_at = 0;
	run.fail_middle = middle;
	fix->size = 0;
	KUNIT_EXPECT_EQ(test, engine_execute(fix, &run), PAGODA_ENGINE_FAULT);
	KUNIT_EXPECT_EQ(test, run.fault.reason, VIRTIO_PAGODA_FAULT_DEVICE_FAILURE);
	KUNIT_EXPECT_EQ(test, run.packets, 0);
}

/*
 * Executes valid packets with one field changed each; expects that each is refused for the reason
 * in its struct engine_mutation, and changes no memory.
 */
void engine_expect_mutations(struct kunit *test, struct engine_fixture *fix,
			     const struct engine_mutation *mutations, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		__le64 value = cpu_to_le64(mutations[i].value);
		u32 offset;

		/* A packet without effect first, so that the fault's offset isn't 0. */
		engine_add_notify(fix);
		offset = fix->size;
		engine_add_valid(fix, mutations[i].opcode);
		memcpy(fix->buffer + offset + mutations[i].offset, &value, mutations[i].width);
		engine_expect_fault(test, fix, mutations[i].reason, mutations[i].what);
	}
	engine_expect_guards(test, fix, "malformed");
}
