// SPDX-License-Identifier: GPL-2.0
/*
 * Sets up an engine with address spaces. Tables are written here word by word, by the description
 * of their format alone, so that the engine's walk isn't compared with itself.
 */
#include <linux/random.h>
#include <linux/vmalloc.h>
#include "engine_mmu_helpers.h"

#define MMU_GUARD	0xa5
#define MMU_MEMORY	(3 * MMU_PAGE + MMU_VRAM + MMU_SYSTEM)

const struct mmu_shape mmu_shapes[MMU_SHAPES] = {
	{ 3, false, VIRTIO_PAGODA_SEGMENT_VRAM, 0x40000000 },
	{ 2, false, VIRTIO_PAGODA_SEGMENT_VRAM, 0x1000000 },
	{ 2, true, VIRTIO_PAGODA_SEGMENT_SYSTEM, 0x1000000 },
	{ 4, false, VIRTIO_PAGODA_SEGMENT_SYSTEM, 0x2a8040000000 },
	{ 4, true, VIRTIO_PAGODA_SEGMENT_VRAM, 0x2a8040000000 },
	{ 5, true, VIRTIO_PAGODA_SEGMENT_SYSTEM, 0x7fff40000000 },
	{ 6, false, VIRTIO_PAGODA_SEGMENT_VRAM, 0x7fff40000000 },
};

static void mmu_free(void *memory)
{
	vfree(memory);
}

static void *mmu_alloc(struct kunit *test, size_t size)
{
	void *memory = vzalloc(size);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, mmu_free, memory), 0);
	return memory;
}

/*
 * Returns the memory at a bus address. Memory is contiguous within each half of system memory, but
 * not across.
 */
static void *mmu_system_span(void *context, u64 bus, u64 want, u64 *got)
{
	struct mmu_fixture *fix = context;
	u64 offset = bus - MMU_BUS;

	if (bus < MMU_BUS || offset >= MMU_SYSTEM)
		return NULL;
	*got = (offset < MMU_SYSTEM / 2 ? MMU_SYSTEM / 2 : MMU_SYSTEM) - offset;
	return fix->system + offset;
}

static void mmu_notify(void *context, const struct virtio_pagoda_packet *packet)
{
	struct mmu_fixture *fix = context;

	fix->notices++;
}

static void mmu_fence(void *context, const struct pagoda_engine_run *run, u64 address, u64 value)
{
	struct mmu_fixture *fix = context;

	if (fix->fence)
		fix->fence(fix->priv, run, address, value);
}

static void mmu_idle(void *context, const struct pagoda_engine_run *run)
{
	struct mmu_fixture *fix = context;

	if (fix->idle)
		fix->idle(fix->priv, run);
}

static const struct pagoda_engine_ops mmu_ops = {
	.system_span = mmu_system_span,
	.fence = mmu_fence,
	.idle = mmu_idle,
	.notify = mmu_notify,
};

/* Maps pages of the aperture to the first pages of system memory, in reverse. */
static void mmu_aperture_init(struct kunit *test, struct mmu_fixture *fix)
{
	struct virtio_pagoda_map_aperture_segment *map;
	struct virtio_pagoda_run *run;
	u32 i;

	for (i = 0; i < MMU_APERTURE; i++) {
		map = mmu_packet(fix, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT,
				 sizeof(*map) + sizeof(*run));
		run = (void *)(map + 1);
		map->first_page = cpu_to_le64(i);
		map->nr_pages = cpu_to_le64(1);
		map->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE);
		map->nr_runs = cpu_to_le32(1);
		map->generation = cpu_to_le32(1 + i);
		run->address = cpu_to_le64(MMU_BUS + (MMU_APERTURE - 1 - i) * MMU_PAGE);
		run->nr_pages = cpu_to_le32(1);
	}
	mmu_expect_done(test, fix);
}

static void mmu_memory_init(struct kunit *test, struct mmu_fixture *fix)
{
	fix->memory = mmu_alloc(test, MMU_MEMORY);
	fix->before = mmu_alloc(test, MMU_MEMORY);
	fix->buffer = mmu_alloc(test, MMU_BUFFER);
	fix->engine.tlbs = mmu_alloc(test, MMU_TLBS * sizeof(*fix->engine.tlbs));
	fix->engine.aperture = mmu_alloc(test, MMU_APERTURE * sizeof(u64));
	memset(fix->memory, MMU_GUARD, MMU_MEMORY);
	fix->vram = fix->memory + MMU_PAGE;
	fix->system = fix->vram + MMU_VRAM + MMU_PAGE;
	get_random_bytes(fix->vram, MMU_VRAM);
	get_random_bytes(fix->system, MMU_SYSTEM);
}

/**
 * mmu_fixture_init() - Make an engine with tables of the first shape
 * @test: Test that owns it
 *
 * Return: The fixture; the test is aborted if there is no memory.
 */
struct mmu_fixture *mmu_fixture_init(struct kunit *test)
{
	struct mmu_fixture *fix = kunit_kzalloc(test, sizeof(*fix), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fix);
	mmu_memory_init(test, fix);
	fix->invalid.start = MMU_INVALID;
	fix->invalid.size = MMU_PAGE;
	fix->engine.vram = fix->vram;
	fix->engine.vram_size = MMU_VRAM;
	fix->engine.invalid = &fix->invalid;
	fix->engine.nr_invalid = 1;
	fix->engine.max_runs = 16;
	fix->engine.max_buffer = MMU_BUFFER;
	fix->engine.system_bits = 40;
	fix->engine.aperture_pages = MMU_APERTURE;
	fix->engine.spaces = fix->spaces;
	fix->engine.nr_spaces = MMU_SPACES;
	fix->engine.va_bits = 47;
	fix->engine.pt_levels = 3;
	fix->engine.page_sizes = SZ_4K | SZ_64K | SZ_2M;
	fix->engine.nr_tlbs = MMU_TLBS;
	fix->engine.ops = &mmu_ops;
	fix->engine.context = fix;
	KUNIT_ASSERT_TRUE(test, pagoda_engine_init(&fix->engine));
	mmu_shape_set(test, fix, &mmu_shapes[0]);
	return fix;
}

/* Starts over: address spaces get empty roots of @shape. */
void mmu_shape_set(struct kunit *test, struct mmu_fixture *fix, const struct mmu_shape *shape)
{
	u64 features = pagoda_engine_features() | BIT_ULL(VIRTIO_PAGODA_F_COHERENT) |
		       BIT_ULL(VIRTIO_PAGODA_F_EXECUTE);
	u32 below = 12 + 9 * (shape->levels - 1);
	u64 entries = min(512ull, 1ull << (fix->engine.va_bits - min(fix->engine.va_bits, below)));
	u32 i, reason;

	pagoda_engine_reset(&fix->engine);
	fix->shape = shape;
	fix->engine.pt_levels = shape->levels;
	fix->engine.features = features;
	if (shape->dual)
		fix->engine.features |= BIT_ULL(VIRTIO_PAGODA_F_DUAL_PTE);
	mmu_aperture_init(test, fix);
	fix->next_table = 0;
	for (i = 0; i < MMU_SPACES; i++) {
		reason = pagoda_engine_root_set(&fix->engine, i, shape->segment,
						mmu_table_alloc(fix), entries);
		KUNIT_ASSERT_EQ(test, reason, VIRTIO_PAGODA_FAULT_NONE);
	}
}

/* Nothing was written outside of VRAM and system memory. */
void mmu_expect_guards(struct kunit *test, struct mmu_fixture *fix)
{
	const u8 *guards[] = { fix->memory, fix->vram + MMU_VRAM, fix->system + MMU_SYSTEM };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(guards); i++)
		KUNIT_EXPECT_NULL(test, memchr_inv(guards[i], MMU_GUARD, MMU_PAGE));
}

/* Copies all memory, for later comparison. */
void mmu_snapshot(struct mmu_fixture *fix)
{
	memcpy(fix->before, fix->memory, MMU_MEMORY);
}

/* All memory is as in the snapshot. */
void mmu_expect_unchanged(struct kunit *test, struct mmu_fixture *fix, const char *what)
{
	const u64 *before = (const u64 *)fix->before, *now = (const u64 *)fix->memory;
	size_t i;

	/* memcmp() of some architectures is slow: it compares byte by byte. */
	for (i = 0; i < MMU_MEMORY / sizeof(*now); i++) {
		if (now[i] == before[i])
			continue;
		KUNIT_FAIL(test, "%s: %#zx of memory is %#llx, not %#llx", what, i * sizeof(*now),
			   now[i], before[i]);
		return;
	}
}

/* Returns a valid entry. */
u64 mmu_entry(u32 segment, u64 address, u64 flags)
{
	return VIRTIO_PAGODA_PTE_VALID | flags | address |
	       (u64)segment << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT;
}

/* Returns the address of an empty table, large enough for any kind, in the shape's segment. */
u64 mmu_table_alloc(struct mmu_fixture *fix)
{
	u64 address = fix->next_table;

	fix->next_table += 2 * MMU_PAGE;
	if (fix->shape->segment == VIRTIO_PAGODA_SEGMENT_VRAM) {
		WARN_ON(fix->next_table > MMU_TABLES);
		address += MMU_VRAM - MMU_TABLES;
	} else {
		WARN_ON(fix->next_table > MMU_SYSTEM - MMU_DATA);
		address += MMU_BUS + MMU_DATA;
	}
	memset(mmu_table(fix, address), 0, 2 * MMU_PAGE);
	return address;
}

/* Returns the CPU's address of a table. */
__le64 *mmu_table(struct mmu_fixture *fix, u64 address)
{
	return (__le64 *)mmu_memory(fix, fix->shape->segment, address);
}

/* Returns the table that an entry points to, which is made if there is none. */
static __le64 *mmu_below(struct mmu_fixture *fix, __le64 *word, u64 flags)
{
	if (!*word)
		*word = cpu_to_le64(mmu_entry(fix->shape->segment, mmu_table_alloc(fix), flags));
	return mmu_table(fix, le64_to_cpu(*word) & VIRTIO_PAGODA_PTE_ADDRESS_MASK);
}

/**
 * mmu_word() - Find the word that translates an address
 * @fix: Fixture
 * @space: Address space
 * @va: Address
 * @level: Level of the entry
 * @page_64k: At level 0: of the 64 KiB table; at level 1: the word that points to this table
 *
 * Return: The CPU's address of the word; tables above it are made as needed.
 */
__le64 *mmu_word(struct mmu_fixture *fix, u32 space, u64 va, u32 level, bool page_64k)
{
	__le64 *table = mmu_table(fix, fix->spaces[space].address);
	bool dual = fix->shape->dual;
	u32 at = fix->shape->levels - 1;
	__le64 *word = NULL;

	for (;; at--) {
		u64 index = va >> (12 + 9 * at) & 511;

		if (!at)
			return &table[page_64k ? index / 16 : index];
		word = &table[at == 1 && dual ? 2 * index + page_64k : index];
		if (at == level)
			return word;
		table = mmu_below(fix, word, at == 1 && page_64k && !dual ?
				  VIRTIO_PAGODA_PTE_TABLE_64K : 0);
	}
}

/* Writes the entry of a page, with LARGE added for a page of 2 MiB. */
void mmu_map(struct mmu_fixture *fix, u32 space, u64 va, u64 page_size, u64 entry)
{
	if (page_size == SZ_2M)
		*mmu_word(fix, space, va, 1, false) = cpu_to_le64(entry | VIRTIO_PAGODA_PTE_LARGE);
	else
		*mmu_word(fix, space, va, 0, page_size == SZ_64K) = cpu_to_le64(entry);
}

/* Returns the CPU's address of a byte of a segment. */
u8 *mmu_memory(struct mmu_fixture *fix, u32 segment, u64 address)
{
	u64 page = address / MMU_PAGE;

	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		return fix->vram + address;
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		return fix->system + (address - MMU_BUS);
	default:
		return fix->system + (MMU_APERTURE - 1 - page) * MMU_PAGE + address % MMU_PAGE;
	}
}

/* Translates an address as the queue with TLB @tlb does; returns the reason of a fault. */
u32 mmu_span(struct mmu_fixture *fix, u32 tlb, u32 space, u64 va, u64 want, u32 access,
	     struct pagoda_virtual_span *span, struct pagoda_engine_fault *fault)
{
	struct pagoda_engine_run run = { .tlb = tlb };
	struct pagoda_exec exec = { .engine = &fix->engine, .run = &run };
	u32 reason;

	pagoda_shim_read_lock(&fix->engine.translation);
	reason = pagoda_engine_virtual_span(&exec, space, va, want, access, span);
	pagoda_shim_read_unlock(&fix->engine.translation);
	if (fault)
		*fault = run.fault;
	return reason;
}

/* Returns the byte that a read of @va finds, NULL if there is none. */
u8 *mmu_reach(struct mmu_fixture *fix, u32 tlb, u32 space, u64 va)
{
	struct pagoda_virtual_span span;

	return mmu_span(fix, tlb, space, va, 1, VIRTIO_PAGODA_ACCESS_READ, &span, NULL) ?
		NULL : span.here;
}

/* An access in space 0 faults with these values. */
void mmu_expect_refused(struct kunit *test, struct mmu_fixture *fix, u64 va, u32 access,
			u32 reason, u32 level, const char *what)
{
	struct pagoda_engine_fault fault;
	struct pagoda_virtual_span span;

	KUNIT_EXPECT_EQ_MSG(test, mmu_span(fix, 0, 0, va, 8, access, &span, &fault), reason,
			    "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, fault.reason, reason, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, fault.address, va, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, fault.access, access, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, fault.level, level, "%s", what);
}

/* Appends a packet, zero but for its head; returns it. */
void *mmu_packet(struct mmu_fixture *fix, u16 opcode, u32 length)
{
	struct virtio_pagoda_packet *packet = (void *)(fix->buffer + fix->size);

	WARN_ON(fix->size + length > MMU_BUFFER);
	memset(packet, 0, length);
	packet->opcode = cpu_to_le16(opcode);
	packet->length = cpu_to_le32(length);
	fix->size += length;
	return packet;
}

/* Appends a VIRTUAL_TRANSFER; returns it. */
struct virtio_pagoda_virtual_transfer *mmu_add_transfer(struct mmu_fixture *fix, u64 src, u64 dst,
							u64 size, u32 direction, u16 flags)
{
	struct virtio_pagoda_virtual_transfer *transfer;

	transfer = mmu_packet(fix, VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER, sizeof(*transfer));
	transfer->packet.flags = cpu_to_le16(flags);
	transfer->size = cpu_to_le64(size);
	transfer->src_address = cpu_to_le64(src);
	transfer->dst_address = cpu_to_le64(dst);
	transfer->direction = cpu_to_le32(direction);
	return transfer;
}

/* Appends a VIRTUAL_FILL; returns it. */
struct virtio_pagoda_virtual_fill *mmu_add_fill(struct mmu_fixture *fix, u64 va, u64 size,
						u32 pattern)
{
	struct virtio_pagoda_virtual_fill *fill;

	fill = mmu_packet(fix, VIRTIO_PAGODA_OP_VIRTUAL_FILL, sizeof(*fill));
	fill->size = cpu_to_le64(size);
	fill->address = cpu_to_le64(va);
	fill->pattern = cpu_to_le32(pattern);
	return fill;
}

/* Appends an UPDATE_PAGE_TABLE; returns it, with its values behind. */
struct virtio_pagoda_update_page_table *mmu_add_update(struct mmu_fixture *fix, u64 table,
						       u32 level, u32 first, u32 nr_entries,
						       u32 nr_values, u16 flags)
{
	struct virtio_pagoda_update_page_table *update;

	update = mmu_packet(fix, VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
			    sizeof(*update) + nr_values * sizeof(__le64));
	update->packet.flags = cpu_to_le16(flags);
	update->table_address = cpu_to_le64(table);
	update->table_segment = cpu_to_le32(fix->shape->segment);
	update->mode = cpu_to_le32(VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL);
	update->level = cpu_to_le32(level);
	update->first_entry = cpu_to_le32(first);
	update->nr_entries = cpu_to_le32(nr_entries);
	update->nr_values = cpu_to_le32(nr_values);
	return update;
}

/* Appends a FLUSH_TLB with the space's root; returns it. */
struct virtio_pagoda_flush_tlb *mmu_add_flush(struct mmu_fixture *fix, u32 space, u64 start,
					      u64 end)
{
	struct virtio_pagoda_flush_tlb *flush;

	flush = mmu_packet(fix, VIRTIO_PAGODA_OP_FLUSH_TLB, sizeof(*flush));
	flush->root_address = cpu_to_le64(fix->spaces[space].address);
	flush->root_segment = cpu_to_le32(fix->spaces[space].segment);
	flush->start = cpu_to_le64(start);
	flush->end = cpu_to_le64(end);
	flush->address_space = cpu_to_le32(space);
	return flush;
}

/* Appends a COPY_PAGE_TABLE_ENTRIES; returns its ranges. */
struct virtio_pagoda_copy_range *mmu_add_copy(struct mmu_fixture *fix, u32 nr_ranges)
{
	struct virtio_pagoda_copy_page_table_entries *copy;

	copy = mmu_packet(fix, VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES,
			  sizeof(*copy) + nr_ranges * sizeof(struct virtio_pagoda_copy_range));
	copy->nr_ranges = cpu_to_le32(nr_ranges);
	return (void *)(copy + 1);
}

/* Executes the buffer as the paging queue and begins a new one; returns the outcome. */
enum pagoda_engine_outcome mmu_execute(struct mmu_fixture *fix, struct pagoda_engine_run *run)
{
	pagoda_engine_run_init(run, PAGODA_ENGINE_QUEUE_PAGING, VIRTIO_PAGODA_QUEUE_PAGING, 1);
	run->buffer = fix->buffer;
	run->size = fix->size;
	fix->size = 0;
	return pagoda_engine_execute(&fix->engine, run);
}

/* Executes the buffer, which has to succeed. */
void mmu_expect_done(struct kunit *test, struct mmu_fixture *fix)
{
	struct pagoda_engine_run run;

	KUNIT_EXPECT_EQ(test, mmu_execute(fix, &run), PAGODA_ENGINE_DONE);
	KUNIT_EXPECT_EQ_MSG(test, run.fault.reason, VIRTIO_PAGODA_FAULT_NONE, "%s: %s, %#llx",
			    pagoda_engine_op_name(run.fault.opcode),
			    pagoda_engine_fault_name(run.fault.reason), run.fault.address);
}

/* Executes the buffer, whose only packet is refused without effect. */
void mmu_expect_fault(struct kunit *test, struct mmu_fixture *fix, u32 reason, const char *what)
{
	struct pagoda_engine_run run;

	mmu_snapshot(fix);
	KUNIT_EXPECT_EQ_MSG(test, mmu_execute(fix, &run), PAGODA_ENGINE_FAULT, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, run.fault.reason, reason, "%s: %s", what,
			    pagoda_engine_fault_name(run.fault.reason));
	mmu_expect_unchanged(test, fix, what);
}
