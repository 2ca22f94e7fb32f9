// SPDX-License-Identifier: GPL-2.0
/* Sets up an engine for tests, and builds its packets. */
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include "engine_helpers.h"

#define ENGINE_APERTURE	(ENGINE_PAGES * sizeof(u64))
#define ENGINE_MEMORY	(5 * ENGINE_PAGE + 2 * ENGINE_BYTES + ENGINE_APERTURE + \
			 ENGINE_RANGES * ENGINE_WINDOW)
#define ENGINE_GUARD	0xa5

static void engine_buffer_free(void *memory)
{
	vfree(memory);
}

/* Returns zeroed memory that lives as long as the test, aligned to pages. */
u8 *engine_alloc(struct kunit *test, size_t size)
{
	u8 *memory = vzalloc(size);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, engine_buffer_free, memory), 0);
	return memory;
}

/*
 * Returns the memory at a bus address. System memory starts at ENGINE_BUS and has a hole of one
 * page.
 */
static void *engine_system_span(void *context, u64 bus, u64 want, u64 *got)
{
	struct engine_fixture *fix = context;
	u64 offset = bus - ENGINE_BUS;
	u64 end = ENGINE_BYTES;

	if (bus < ENGINE_BUS || offset >= ENGINE_BYTES || offset / ENGINE_PAGE == ENGINE_HOLE)
		return NULL;
	if (offset < ENGINE_HOLE * ENGINE_PAGE)
		end = ENGINE_HOLE * ENGINE_PAGE;
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
	if (fix->fence_hook)
		fix->fence_hook(fix);
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
	.notify = engine_notify,
};

static void engine_arrange(struct engine_fixture *fix)
{
	u8 *here = fix->memory;
	u32 i;

	memset(here, ENGINE_GUARD, ENGINE_MEMORY);
	fix->vram = here + ENGINE_PAGE;
	fix->system = fix->vram + ENGINE_BYTES + ENGINE_PAGE;
	fix->engine.aperture = (u64 *)(fix->system + ENGINE_BYTES + ENGINE_PAGE);
	get_random_bytes(fix->vram, ENGINE_BYTES);
	get_random_bytes(fix->system, ENGINE_BYTES);
	memset(fix->engine.aperture, 0, ENGINE_APERTURE);
	here = (u8 *)fix->engine.aperture + ENGINE_APERTURE + ENGINE_PAGE;
	get_random_bytes(here, ENGINE_RANGES * ENGINE_WINDOW);
	for (i = 0; i < ENGINE_RANGES; i++)
		fix->ranges[i].window = here + i * ENGINE_WINDOW;
	fix->engine.ranges = fix->ranges;
	fix->engine.nr_ranges = ENGINE_RANGES;
	fix->engine.swizzling_bytes = ENGINE_WINDOW;
}

/* Page tables of three levels that map every usable page of VRAM and of system memory. */
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
	fix->engine.spaces = fix->spaces;
	fix->engine.nr_spaces = ENGINE_SPACES;
	fix->engine.va_bits = 47;
	fix->engine.pt_levels = 3;
	fix->engine.page_sizes = SZ_4K | SZ_64K | SZ_2M;
	fix->engine.nr_tlbs = ENGINE_TLBS;
}

/**
 * engine_fixture_init() - Make an engine with random content everywhere
 * @test: Test that owns it
 *
 * Return: The fixture; the test is aborted if there is no memory.
 */
struct engine_fixture *engine_fixture_init(struct kunit *test)
{
	struct engine_fixture *fix = kunit_kzalloc(test, sizeof(*fix), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fix);
	fix->memory = engine_alloc(test, ENGINE_MEMORY);
	fix->before = engine_alloc(test, ENGINE_MEMORY);
	fix->buffer = engine_alloc(test, ENGINE_BUFFER);
	engine_arrange(fix);
	fix->invalid = (struct pagoda_engine_range) {
		.start = ENGINE_INVALID * ENGINE_PAGE,
		.size = ENGINE_PAGE,
	};
	fix->engine.vram = fix->vram;
	fix->engine.vram_size = ENGINE_BYTES;
	fix->engine.invalid = &fix->invalid;
	fix->engine.nr_invalid = 1;
	fix->engine.max_runs = ENGINE_MAX_RUNS;
	fix->engine.max_buffer = ENGINE_BUFFER;
	fix->engine.system_bits = 40;
	fix->engine.aperture_pages = ENGINE_PAGES;
	fix->engine.features = (pagoda_engine_features() & ~ENGINE_MMU_OPS) |
			       BIT_ULL(VIRTIO_PAGODA_F_COHERENT);
	fix->engine.ops = &engine_ops;
	fix->engine.context = fix;
	fix->engine.tlbs = (void *)engine_alloc(test, ENGINE_TLBS * sizeof(*fix->engine.tlbs));
	engine_space_init(fix);
	KUNIT_ASSERT_TRUE(test, pagoda_engine_init(&fix->engine));
	return fix;
}

/* Copies all memory, for later comparison. */
void engine_snapshot(struct engine_fixture *fix)
{
	memcpy(fix->before, fix->memory, ENGINE_MEMORY);
}

/* Returns the byte of the snapshot that belongs to a byte of VRAM or system memory. */
u8 *engine_before(struct engine_fixture *fix, const u8 *here)
{
	return fix->before + (here - fix->memory);
}

/* All memory is as in the snapshot. */
void engine_expect_unchanged(struct kunit *test, struct engine_fixture *fix, const char *what)
{
	size_t i;

	if (!memcmp(fix->before, fix->memory, ENGINE_MEMORY))
		return;
	for (i = 0; fix->before[i] == fix->memory[i];)
		i++;
	KUNIT_FAIL(test, "%s: byte %zu is %#x, not %#x", what, i, fix->memory[i], fix->before[i]);
}

/* Nothing was written outside of VRAM, system memory, aperture and windows. */
void engine_expect_guards(struct kunit *test, struct engine_fixture *fix, const char *what)
{
	const u8 *guards[] = {
		fix->memory,
		fix->vram + ENGINE_BYTES,
		fix->system + ENGINE_BYTES,
		(u8 *)(fix->engine.aperture + ENGINE_PAGES),
		fix->ranges[0].window + ENGINE_RANGES * ENGINE_WINDOW,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(guards); i++)
		KUNIT_EXPECT_NULL_MSG(test, memchr_inv(guards[i], ENGINE_GUARD, ENGINE_PAGE),
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

/**
 * engine_add_lock() - Append a SPECIAL_LOCK_TRANSFER of the first piece of a surface
 * @fix: Fixture
 * @size: Bytes of the piece
 * @src: Surface or piece
 * @dst: Piece or surface
 * @flags: Flags of the packet
 *
 * The surface has 17 pages: two mip levels of 4 KiB tiles and some that are linear.
 *
 * Return: The packet, in which the caller may change the range and other fields.
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
	struct virtio_pagoda_fill *fill = engine_packet(fix, VIRTIO_PAGODA_OP_FILL, sizeof(*fill));

	fill->size = cpu_to_le64(size);
	fill->address = cpu_to_le64(address);
	fill->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
	fill->pattern = cpu_to_le32(pattern);
}

/* Appends a MAP_APERTURE_SEGMENT or MAP_APERTURE_SEGMENT2, as one run or as a run for each page. */
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
	struct virtio_pagoda_unmap_aperture_segment *unmap;

	unmap = engine_packet(fix, VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT, sizeof(*unmap));
	unmap->first_page = cpu_to_le64(first);
	unmap->nr_pages = cpu_to_le64(nr_pages);
	unmap->dummy_page = cpu_to_le64(engine_bus(dummy));
	unmap->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE);
}

/* Appends a READ_PHYSICAL or WRITE_PHYSICAL. */
void engine_add_physical(struct engine_fixture *fix, u16 opcode, u32 segment, u64 address,
			 u32 size)
{
	struct virtio_pagoda_access_physical *physical;

	physical = engine_packet(fix, opcode, sizeof(*physical));
	physical->address = cpu_to_le64(address);
	physical->segment = cpu_to_le32(segment);
	physical->size = cpu_to_le32(size);
}

/* Appends a SIGNAL_MONITORED_FENCE. */
void engine_add_signal(struct engine_fixture *fix, u32 segment, u64 address, u64 value,
		       u16 flags)
{
	struct virtio_pagoda_signal_monitored_fence *signal;

	signal = engine_packet(fix, VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE, sizeof(*signal));
	signal->packet.flags = cpu_to_le16(flags);
	signal->address = cpu_to_le64(address);
	signal->value = cpu_to_le64(value);
	signal->segment = cpu_to_le32(segment);
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

/**
 * engine_add_update_context() - Append an UPDATE_CONTEXT_ALLOCATION
 * @fix: Fixture
 * @address: Virtual address of the allocation
 * @size: Bytes of the allocation
 * @offset: Offset in it to write to
 * @data_size: Bytes to write, 0x5a each unless the caller changes them
 *
 * Return: The data.
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

/* Appends a NOTIFY_RESIDENCY or NOTIFY_RESIDENCY2 of pages from 8 on of VRAM; returns it. */
struct virtio_pagoda_notify_residency *engine_add_residency(struct engine_fixture *fix,
							    u16 opcode, u64 nr_pages)
{
	struct virtio_pagoda_notify_residency *notify;

	notify = engine_packet(fix, opcode, sizeof(*notify));
	notify->packet.flags = cpu_to_le16(VIRTIO_PAGODA_NOTIFY_RESIDENT);
	notify->packet.allocation = cpu_to_le64(1);
	notify->address = cpu_to_le64(8 * ENGINE_PAGE);
	notify->nr_pages = cpu_to_le64(nr_pages);
	notify->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
	return notify;
}

/**
 * engine_add_fence_residency() - Append a NOTIFY_FENCE_RESIDENCY
 * @fix: Fixture
 * @nr_fences: Number of fences, each with its values in a page of its own
 *
 * Return: The first of its entries.
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
	struct virtio_pagoda_notify_alloc *notify;

	notify = engine_packet(fix, VIRTIO_PAGODA_OP_NOTIFY_ALLOC, sizeof(*notify));
	notify->packet.flags = cpu_to_le16(VIRTIO_PAGODA_NOTIFY_EVICTION);
	notify->packet.allocation = cpu_to_le64(1);
	notify->size = cpu_to_le64(ENGINE_PAGE);
}

/* Appends a VIRTUAL_TRANSFER of 4 KiB pages. */
void engine_add_virtual(struct engine_fixture *fix, u64 src, u64 dst, u64 size, u32 direction)
{
	struct virtio_pagoda_virtual_transfer *transfer;

	transfer = engine_packet(fix, VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER, sizeof(*transfer));
	transfer->size = cpu_to_le64(size);
	transfer->src_address = cpu_to_le64(src);
	transfer->dst_address = cpu_to_le64(dst);
	transfer->direction = cpu_to_le32(direction);
}

/* Appends a VIRTUAL_FILL. */
void engine_add_virtual_fill(struct engine_fixture *fix, u64 va, u64 size, u32 pattern)
{
	struct virtio_pagoda_virtual_fill *fill;

	fill = engine_packet(fix, VIRTIO_PAGODA_OP_VIRTUAL_FILL, sizeof(*fill));
	fill->size = cpu_to_le64(size);
	fill->address = cpu_to_le64(va);
	fill->pattern = cpu_to_le32(pattern);
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

/* Appends a FLUSH_TLB with the space's root. */
void engine_add_flush(struct engine_fixture *fix, u32 space, u64 start, u64 end)
{
	struct virtio_pagoda_flush_tlb *flush;

	flush = engine_packet(fix, VIRTIO_PAGODA_OP_FLUSH_TLB, sizeof(*flush));
	flush->root_address = cpu_to_le64(fix->spaces[space].address);
	flush->root_segment = cpu_to_le32(fix->spaces[space].segment);
	flush->start = cpu_to_le64(start);
	flush->end = cpu_to_le64(end);
	flush->address_space = cpu_to_le32(space);
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

/* Appends a valid packet of @opcode. */
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
				   VIRTIO_PAGODA_LOCAL_TO_SYSTEM);
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

/* Executes the buffer from @start on and begins a new one; returns the outcome. */
enum pagoda_engine_outcome engine_run(struct engine_fixture *fix, struct pagoda_engine_run *run,
				      enum pagoda_engine_queue kind, u32 start)
{
	pagoda_engine_run_init(run, kind, 1, 1);
	run->buffer = fix->buffer;
	run->size = fix->size;
	run->start = start;
	run->spans = fix->spans;
	fix->size = 0;
	return pagoda_engine_execute(&fix->engine, run);
}

/* Executes the buffer, which has to succeed. */
void engine_expect_done(struct kunit *test, struct engine_fixture *fix)
{
	struct pagoda_engine_run run;
	enum pagoda_engine_outcome outcome;

	outcome = engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0);
	KUNIT_EXPECT_EQ_MSG(test, outcome, PAGODA_ENGINE_DONE, "op %s: %s",
			    pagoda_engine_op_name(run.fault.opcode),
			    pagoda_engine_fault_name(run.fault.reason));
	KUNIT_EXPECT_EQ(test, run.offset, run.size);
	KUNIT_EXPECT_EQ(test, run.fault.reason, VIRTIO_PAGODA_FAULT_NONE);
}

/**
 * engine_expect_fault() - Execute the buffer: its last packet is refused
 * @test: Test
 * @fix: Fixture, whose snapshot is taken here
 * @reason: Expected reason
 * @what: Name for messages
 *
 * Packets before the last one must have no effect: memory is as before.
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

/**
 * engine_expect_failure() - Execute the buffer on a device that fails at its first packet
 * @test: Test
 * @fix: Fixture
 * @middle: The failure is after half of the packet, else before it
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
	KUNIT_EXPECT_EQ(test, pagoda_engine_execute(&fix->engine, &run), PAGODA_ENGINE_FAULT);
	KUNIT_EXPECT_EQ(test, run.fault.reason, VIRTIO_PAGODA_FAULT_DEVICE_FAILURE);
	KUNIT_EXPECT_EQ(test, run.packets, 0);
}

/**
 * engine_expect_mutations() - Execute packets with one field changed each
 * @test: Test
 * @fix: Fixture
 * @mutations: What to change
 * @nr: Entries of @mutations
 *
 * Each must be refused for its reason and without an effect.
 */
void engine_expect_mutations(struct kunit *test, struct engine_fixture *fix,
			     const struct engine_mutation *mutations, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		__le64 value = cpu_to_le64(mutations[i].value);
		u32 offset;

		/* A harmless packet first, so that the fault's offset isn't 0. */
		engine_add_notify(fix);
		offset = fix->size;
		engine_add_valid(fix, mutations[i].opcode);
		memcpy(fix->buffer + offset + mutations[i].offset, &value, mutations[i].width);
		engine_expect_fault(test, fix, mutations[i].reason, mutations[i].what);
	}
	engine_expect_guards(test, fix, "malformed");
}
