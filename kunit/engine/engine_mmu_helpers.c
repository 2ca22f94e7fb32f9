// SPDX-License-Identifier: GPL-2.0
/*
 * Sets up an engine with address spaces. Page tables are written here word by word, by the
 * description of their format alone, so that the engine's walk isn't compared with itself.
 */
#include "engine_mmu_helpers.h"

const struct mmu_shape mmu_shapes[MMU_SHAPES] = {
	{ 3, false, VIRTIO_PAGODA_SEGMENT_VRAM, 0x40000000 },
	{ 2, false, VIRTIO_PAGODA_SEGMENT_VRAM, 0x1000000 },
	{ 2, true, VIRTIO_PAGODA_SEGMENT_SYSTEM, 0x1000000 },
	{ 4, false, VIRTIO_PAGODA_SEGMENT_SYSTEM, 0x2a8040000000 },
	{ 4, true, VIRTIO_PAGODA_SEGMENT_VRAM, 0x2a8040000000 },
	{ 5, true, VIRTIO_PAGODA_SEGMENT_SYSTEM, 0x7fff40000000 },
	{ 6, false, VIRTIO_PAGODA_SEGMENT_VRAM, 0x7fff40000000 },
};

/* Maps all pages of the aperture to the first pages of system memory, in reverse. */
static void mmu_aperture_init(struct kunit *test, struct engine_fixture *fix)
{
	struct virtio_pagoda_map_aperture_segment *map;
	struct virtio_pagoda_run *run;
	u32 i;

	for (i = 0; i < MMU_APERTURE; i++) {
		map = engine_packet(fix, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT,
				    sizeof(*map) + sizeof(*run));
		run = (void *)(map + 1);
		map->first_page = cpu_to_le64(i);
		map->nr_pages = cpu_to_le64(1);
		map->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE);
		map->nr_runs = cpu_to_le32(1);
		map->generation = cpu_to_le32(1 + i);
		run->address = cpu_to_le64(ENGINE_BUS + (MMU_APERTURE - 1 - i) * MMU_PAGE);
		run->nr_pages = cpu_to_le32(1);
	}
	engine_expect_done(test, fix);
}

/* Returns an engine with root tables of the first shape; aborts the test without memory. */
struct engine_fixture *mmu_fixture_init(struct kunit *test)
{
	static const struct engine_kind kind = {
		.vram = MMU_VRAM,
		.system = MMU_SYSTEM,
		.invalid = MMU_INVALID,
		.gap = MMU_SYSTEM / 2,
		.aperture = MMU_APERTURE,
		.max_runs = 16,
	};
	struct engine_fixture *fix = engine_fixture_make(test, &kind);

	mmu_shape_set(test, fix, &mmu_shapes[0]);
	return fix;
}

/* Gives each test of a suite an engine of its own. */
int mmu_suite_init(struct kunit *test)
{
	test->priv = mmu_fixture_init(test);
	return 0;
}

/*
 * Starts over: resets the engine, maps the aperture, and gives each address space an empty root
 * table of @shape.
 */
void mmu_shape_set(struct kunit *test, struct engine_fixture *fix, const struct mmu_shape *shape)
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
	for (i = 0; i < ENGINE_SPACES; i++) {
		reason = pagoda_engine_root_set(&fix->engine, i, shape->segment,
						mmu_table_alloc(fix), entries);
		KUNIT_ASSERT_EQ(test, reason, VIRTIO_PAGODA_FAULT_NONE);
	}
}

/* Returns a valid entry. */
u64 mmu_entry(u32 segment, u64 address, u64 flags)
{
	return VIRTIO_PAGODA_PTE_VALID | flags | address |
	       (u64)segment << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT;
}

/* Returns the address of an empty table, large enough for any kind, in the shape's segment. */
u64 mmu_table_alloc(struct engine_fixture *fix)
{
	u64 address = fix->next_table;

	fix->next_table += 2 * MMU_PAGE;
	if (fix->shape->segment == VIRTIO_PAGODA_SEGMENT_VRAM) {
		WARN_ON(fix->next_table > MMU_TABLES);
		address += MMU_VRAM - MMU_TABLES;
	} else {
		WARN_ON(fix->next_table > MMU_SYSTEM - MMU_DATA);
		address += ENGINE_BUS + MMU_DATA;
	}
	memset(mmu_table(fix, address), 0, 2 * MMU_PAGE);
	return address;
}

/* Returns the CPU's address of a page table. */
__le64 *mmu_table(struct engine_fixture *fix, u64 address)
{
	return (__le64 *)mmu_memory(fix, fix->shape->segment, address);
}

/* Returns the table that *@word points to. If *@word is 0, makes a table and sets *@word first. */
static __le64 *mmu_below(struct engine_fixture *fix, __le64 *word, u64 flags)
{
	if (!*word)
		*word = cpu_to_le64(mmu_entry(fix->shape->segment, mmu_table_alloc(fix), flags));
	return mmu_table(fix, le64_to_cpu(*word) & VIRTIO_PAGODA_PTE_ADDRESS_MASK);
}

/*
 * Returns the word at @level that translates an address; tables on the way to that word are made as
 * needed. With @page_64k, returns the word in the table of 64 KiB pages at level 0, and the word
 * that points to that table at level 1.
 */
__le64 *mmu_word(struct engine_fixture *fix, u32 space, u64 va, u32 level, bool page_64k)
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

/* Writes @entry for a page of @page_size bytes at @va, with LARGE added for 2 MiB. */
void mmu_map(struct engine_fixture *fix, u32 space, u64 va, u64 page_size, u64 entry)
{
	if (page_size == SZ_2M)
		*mmu_word(fix, space, va, 1, false) = cpu_to_le64(entry | VIRTIO_PAGODA_PTE_LARGE);
	else
		*mmu_word(fix, space, va, 0, page_size == SZ_64K) = cpu_to_le64(entry);
}

/* Returns the CPU's address of a byte of a segment. */
u8 *mmu_memory(struct engine_fixture *fix, u32 segment, u64 address)
{
	u64 page = address / MMU_PAGE;

	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		return fix->vram + address;
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		return fix->system + (address - ENGINE_BUS);
	default:
		return fix->system + (MMU_APERTURE - 1 - page) * MMU_PAGE + address % MMU_PAGE;
	}
}

/* Translates an address as the queue with TLB @tlb does; returns a fault reason, or 0. */
u32 mmu_span(struct engine_fixture *fix, u32 tlb, u32 space, u64 va, u64 want, u32 access,
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

/* Returns the memory that a read of @va finds, NULL if the read faults or finds zeros. */
u8 *mmu_reach(struct engine_fixture *fix, u32 tlb, u32 space, u64 va)
{
	struct pagoda_virtual_span span;

	return mmu_span(fix, tlb, space, va, 1, VIRTIO_PAGODA_ACCESS_READ, &span, NULL) ?
		NULL : span.here;
}

/* Expects that an access to @va in address space 0 faults with @reason at @level of the tables. */
void mmu_expect_refused(struct kunit *test, struct engine_fixture *fix, u64 va, u32 access,
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

/* Appends an UPDATE_PAGE_TABLE; returns it. The caller fills in the values, which follow it. */
struct virtio_pagoda_update_page_table *mmu_add_update(struct engine_fixture *fix, u64 table,
						       u32 level, u32 first, u32 nr_entries,
						       u32 nr_values, u16 flags)
{
	struct virtio_pagoda_update_page_table *update;

	update = (void *)engine_add_update(fix, fix->shape->segment, table, level, first,
					   nr_entries, nr_values) - sizeof(*update);
	update->packet.flags = cpu_to_le16(flags);
	return update;
}
