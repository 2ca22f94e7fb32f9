// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the GPU's VIRTUAL_TRANSFER, VIRTUAL_FILL, UPDATE_PAGE_TABLE and COPY_PAGE_TABLE_ENTRIES.
 */
#include <linux/random.h>
#include "paging/coverage.h"
#include "engine_mmu_helpers.h"

#define VRAM	VIRTIO_PAGODA_SEGMENT_VRAM
#define SYSTEM	VIRTIO_PAGODA_SEGMENT_SYSTEM
#define APERTURE VIRTIO_PAGODA_SEGMENT_APERTURE
#define SRC_64K	VIRTIO_PAGODA_VIRTUAL_SRC_64K
#define DST_64K	VIRTIO_PAGODA_VIRTUAL_DST_64K
#define TO_SYSTEM VIRTIO_PAGODA_LOCAL_TO_SYSTEM
#define TO_LOCAL VIRTIO_PAGODA_SYSTEM_TO_LOCAL
#define LOCAL	VIRTIO_PAGODA_LOCAL_TO_LOCAL

/*
 * Maps the @nr_pages pages of addresses from @va on to the @nr_pages pages of memory from @base on,
 * in scattered order.
 */
static void virtual_map_scattered(struct engine_fixture *fix, u64 va, u32 segment, u64 base,
				  u32 nr_pages)
{
	u32 i;

	for (i = 0; i < nr_pages; i++)
		mmu_map(fix, 0, va + i * MMU_PAGE, SZ_4K,
			mmu_entry(segment, base + (i * 5 + 3) % nr_pages * MMU_PAGE, 0));
}

static u8 *virtual_byte(struct engine_fixture *fix, u32 segment, u64 base, u32 nr_pages, u64 offset)
{
	u64 page = (offset / MMU_PAGE * 5 + 3) % nr_pages;

	return mmu_memory(fix, segment, base + page * MMU_PAGE + offset % MMU_PAGE);
}

/*
 * A VIRTUAL_TRANSFER between scattered pages copies every byte, also if addresses and size aren't
 * multiples of the page size, and changes no other byte.
 */
static void virtual_scattered_test(struct kunit *test)
{
	static const struct {
		u64 src, dst, size;
	} moves[] = {
		{ 0, 0, 16 * SZ_4K },
		{ 4, 8, 15 * SZ_4K },
		{ 0xffc, 0x1004, 3 * SZ_4K + 4 },
		{ 0x800, 0xc00, 4 },
	};
	struct engine_fixture *fix = test->priv;
	u64 src, dst, i;
	u32 shape, move;

	PAGODA_PROVES(C69, C71);
	for (shape = 0; shape < MMU_SHAPES; shape++) {
		mmu_shape_set(test, fix, &mmu_shapes[shape]);
		src = fix->shape->va;
		dst = src + SZ_4M;
		virtual_map_scattered(fix, src, VRAM, SZ_1M, 16);
		virtual_map_scattered(fix, dst, SYSTEM, ENGINE_BUS, 16);
		for (move = 0; move < ARRAY_SIZE(moves); move++) {
			struct virtio_pagoda_virtual_transfer *transfer;

			get_random_bytes(fix->vram + SZ_1M, 16 * SZ_4K);
			transfer = engine_add_virtual(fix, src + moves[move].src,
						      dst + moves[move].dst, moves[move].size,
						      TO_SYSTEM, 0);
			transfer->allocation_offset = cpu_to_le64(SZ_64K);
			engine_snapshot(fix);
			engine_expect_done(test, fix);
			for (i = 0; i < moves[move].size; i++) {
				u8 *to = virtual_byte(fix, SYSTEM, ENGINE_BUS, 16,
						      moves[move].dst + i);

				KUNIT_ASSERT_EQ(test, *to,
						*virtual_byte(fix, VRAM, SZ_1M, 16,
							      moves[move].src + i));
				*to = fix->before[to - fix->memory];
			}
			engine_expect_unchanged(test, fix, "around the copy");
		}
	}
}

/* A copy larger than PAGODA_CHUNK, from a large page to small pages and back, arrives. */
static void virtual_large_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va;

	mmu_map(fix, 0, va, SZ_2M, mmu_entry(VRAM, SZ_2M, 0));
	virtual_map_scattered(fix, va + SZ_2M, VRAM, 0, 512);
	engine_add_virtual(fix, va, va + SZ_2M, SZ_2M, LOCAL, 0);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_MEMEQ(test, fix->vram + 3 * MMU_PAGE, fix->vram + SZ_2M, MMU_PAGE);
	KUNIT_EXPECT_MEMEQ(test, virtual_byte(fix, VRAM, 0, 512, SZ_2M - MMU_PAGE),
			   fix->vram + 2 * SZ_2M - MMU_PAGE, MMU_PAGE);
	engine_snapshot(fix);
	memset(fix->vram + SZ_2M, 0, SZ_2M);
	engine_add_virtual(fix, va + SZ_2M, va, SZ_2M, LOCAL, 0);
	engine_expect_done(test, fix);
	engine_expect_unchanged(test, fix, "there and back");
}

/*
 * The flags SRC_64K and DST_64K have to match the page sizes of source and destination; with pages
 * of 2 MiB a flag may be set or not.
 */
static void virtual_64k_test(struct kunit *test)
{
	static const u64 sizes[] = { SZ_4K, SZ_64K, SZ_2M };
	struct engine_fixture *fix = test->priv;
	u32 src, dst, flags;

	PAGODA_PROVES(C73);
	for (src = 0; src < 3; src++) {
		for (dst = 0; dst < 3; dst++) {
			u64 from = fix->shape->va + src * SZ_2M;
			u64 to = fix->shape->va + (4 + dst) * SZ_2M;
			bool good;

			mmu_map(fix, 0, from, sizes[src], mmu_entry(VRAM, SZ_4M - SZ_2M, 0));
			mmu_map(fix, 0, to, sizes[dst], mmu_entry(VRAM, 0, 0));
			for (flags = 0; flags < 4; flags++) {
				good = (src == 2 || (src == 1) == !!(flags & SRC_64K)) &&
				       (dst == 2 || (dst == 1) == !!(flags & DST_64K));
				engine_add_virtual(fix, from, to, MMU_PAGE, LOCAL, flags);
				if (good)
					engine_expect_done(test, fix);
				else
					engine_expect_fault(test, fix,
							    VIRTIO_PAGODA_FAULT_BAD_TABLE,
							    "64 KiB flag");
			}
		}
	}
}

/*
 * The direction has to match the segments of both sides, else the transfer is refused; the aperture
 * counts as system memory.
 */
static void virtual_direction_test(struct kunit *test)
{
	static const u32 segments[] = { VRAM, SYSTEM, APERTURE };
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va;
	bool from_system, to_system;
	u32 src, dst, direction, i;

	PAGODA_PROVES(C74);
	for (i = 0; i < 3; i++) {
		mmu_map(fix, 0, va + i * MMU_PAGE, SZ_4K,
			mmu_entry(segments[i], segments[i] == SYSTEM ? ENGINE_BUS : 0, 0));
		mmu_map(fix, 0, va + (4 + i) * MMU_PAGE, SZ_4K,
			mmu_entry(segments[i], (segments[i] == SYSTEM ? ENGINE_BUS : 0) + MMU_PAGE,
				  0));
	}
	for (src = 0; src < 3; src++) {
		for (dst = 0; dst < 3; dst++) {
			for (direction = TO_SYSTEM; direction <= LOCAL; direction++) {
				engine_add_virtual(fix, va + src * MMU_PAGE,
						   va + (4 + dst) * MMU_PAGE, MMU_PAGE, direction,
						   0);
				from_system = direction == TO_LOCAL;
				to_system = direction == TO_SYSTEM;
				if (!!src == from_system && !!dst == to_system)
					engine_expect_done(test, fix);
				else
					engine_expect_fault(test, fix,
							    VIRTIO_PAGODA_FAULT_BAD_SEGMENT,
							    "direction");
			}
		}
	}
}

/*
 * A VIRTUAL_TRANSFER or VIRTUAL_FILL with a bad field, or of which only the last page is bad, is
 * refused, and no page is written.
 */
static void virtual_refused_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va;
	struct virtio_pagoda_virtual_transfer *transfer;

	PAGODA_PROVES(C95, C96);
	virtual_map_scattered(fix, va, VRAM, SZ_1M, 16);
	virtual_map_scattered(fix, va + SZ_4M, VRAM, SZ_2M, 16);
	engine_add_virtual(fix, va, va + SZ_4M, 17 * MMU_PAGE, LOCAL, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, "invalid");
	engine_add_virtual_fill(fix, va, 17 * MMU_PAGE, 1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, "invalid");
	mmu_map(fix, 0, va + SZ_4M + 15 * MMU_PAGE, SZ_4K,
		mmu_entry(VRAM, 0, VIRTIO_PAGODA_PTE_READ_ONLY));
	engine_add_virtual(fix, va, va + SZ_4M, SZ_64K, LOCAL, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_READ_ONLY, "read only");
	engine_add_virtual_fill(fix, va + SZ_4M, SZ_64K, 1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_READ_ONLY, "read only");
	engine_add_virtual(fix, va, va + SZ_32K, SZ_32K + 4, LOCAL, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OVERLAP, "overlap");
	engine_add_virtual(fix, va, va, 4, LOCAL, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OVERLAP, "onto itself");
	engine_add_virtual(fix, va, va + SZ_4M, 0, LOCAL, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "no size");
	engine_add_virtual(fix, va, va + SZ_4M, 6, LOCAL, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_MISALIGNED, "size");
	engine_add_virtual(fix, va + 2, va + SZ_4M, 8, LOCAL, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_MISALIGNED, "source");
	engine_add_virtual_fill(fix, va, VIRTIO_PAGODA_MAX_VIRTUAL + 4, 1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "too much");
	engine_add_virtual_fill(fix, (1ull << 47) - 4, 8, 1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "beyond the space");
	engine_add_virtual_fill(fix, ~3ull, 8, 1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "wraps");
	engine_add_virtual_fill(fix, va, 8, 1)->reserved = cpu_to_le32(1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_RESERVED, "reserved");
	transfer = engine_add_virtual(fix, va, va + SZ_4M, 8, LOCAL, 0);
	transfer->reserved = cpu_to_le32(1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_RESERVED, "reserved");
	engine_add_virtual(fix, va, va + SZ_4M, 8, 3, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_FLAGS, "direction");
}

/* A VIRTUAL_FILL writes its pattern to each word of the range and to no other. */
static void virtual_fill_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va, i;

	virtual_map_scattered(fix, va, VRAM, SZ_1M, 16);
	engine_snapshot(fix);
	engine_add_virtual_fill(fix, va + 0x14, 6 * MMU_PAGE + 8, 0x12345678);
	engine_expect_done(test, fix);
	for (i = 0; i < 6 * MMU_PAGE + 8; i += 4) {
		u8 *here = virtual_byte(fix, VRAM, SZ_1M, 16, 0x14 + i);

		KUNIT_ASSERT_EQ(test, le32_to_cpup((__le32 *)here), 0x12345678);
		memcpy(here, fix->before + (here - fix->memory), 4);
	}
	engine_expect_unchanged(test, fix, "around the fill");
}

/*
 * After an injected failure in the middle of a VIRTUAL_FILL or UPDATE_PAGE_TABLE its first half is
 * written, and the second isn't.
 */
static void virtual_half_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_engine_run run;
	u64 va = fix->shape->va;
	u64 table = mmu_table_alloc(fix);
	__le64 *word = mmu_table(fix, table);

	mmu_map(fix, 0, va, SZ_2M, mmu_entry(VRAM, 0, 0));
	memset(fix->vram, 0, SZ_64K);
	engine_add_virtual_fill(fix, va, SZ_8K, 0x11111111);
	mmu_add_update(fix, table, 0, 0, 8, 1, VIRTIO_PAGODA_UPDATE_REPEAT);
	((__le64 *)(fix->buffer + fix->size))[-1] = cpu_to_le64(5);
	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, VIRTIO_PAGODA_QUEUE_PAGING, 1);
	run.buffer = fix->buffer;
	run.size = fix->size;
	run.fail_middle = true;
	for (run.fail_at = 0; run.fail_at < 2; run.fail_at++) {
		KUNIT_EXPECT_EQ(test, pagoda_engine_execute(&fix->engine, &run),
				PAGODA_ENGINE_FAULT);
		KUNIT_EXPECT_EQ(test, run.fault.reason, VIRTIO_PAGODA_FAULT_DEVICE_FAILURE);
		KUNIT_EXPECT_EQ(test, run.packets, run.fail_at);
		KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram, 0x11, SZ_4K << run.fail_at));
		KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram + (SZ_4K << run.fail_at), 0, SZ_4K));
	}
	KUNIT_EXPECT_EQ(test, le64_to_cpu(word[3]), 5);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(word[4]), 0);
	fix->size = 0;
}

/* Returns the values, behind the head of an UPDATE_PAGE_TABLE packet. */
static __le64 *virtual_values(struct virtio_pagoda_update_page_table *update)
{
	return (__le64 *)(update + 1);
}

/*
 * UPDATE_PAGE_TABLE sets entry i of its range to value i; with REPEAT to the first value; or with
 * an increment to the first value plus i increments. Entries outside of the range stay.
 */
static void virtual_update_test(struct kunit *test)
{
	struct virtio_pagoda_update_page_table *update;
	struct engine_fixture *fix = test->priv;
	u32 shape, kind, level, i;
	u64 table, stride;

	PAGODA_PROVES(C86, C87);
	for (shape = 0; shape < MMU_SHAPES; shape++) {
		mmu_shape_set(test, fix, &mmu_shapes[shape]);
		table = mmu_table_alloc(fix);
		for (kind = 0; kind < 3 * 3; kind++) {
			level = kind / 3;
			if (level + 1 >= fix->shape->levels && level)
				break;
			stride = level == 1 && fix->shape->dual ? 2 : 1;
			update = mmu_add_update(fix, table, level, 7, 100, kind % 3 ? 1 : 100,
						kind % 3 == 1 ? VIRTIO_PAGODA_UPDATE_REPEAT : 0);
			update->increment = cpu_to_le32(kind % 3 == 2 ? SZ_8K : 0);
			for (i = 0; i < le32_to_cpu(update->nr_values); i++)
				virtual_values(update)[i] =
					cpu_to_le64(get_random_u64() & ~(1ull << 51));
			engine_snapshot(fix);
			engine_expect_done(test, fix);
			for (i = 0; i < 100; i++) {
				__le64 *word = &mmu_table(fix, table)[(7 + i) * stride];
				__le64 value = virtual_values(update)[kind % 3 ? 0 : i];
				u64 step = kind % 3 == 2 ? SZ_8K : 0;

				KUNIT_ASSERT_EQ(test, le64_to_cpu(*word),
						le64_to_cpu(value) + i * step);
				*word = *(__le64 *)(fix->before + ((u8 *)word - fix->memory));
			}
			engine_expect_unchanged(test, fix, "around the entries");
		}
	}
}

/*
 * With USE_64K and dual PTEs, entries for 64 KiB pages are updated: at level 0 in a table of such
 * pages, at level 1 the word that points to such a table. Entries for 4 KiB pages stay.
 */
static void virtual_update_64k_test(struct kunit *test)
{
	struct virtio_pagoda_update_page_table *update;
	struct engine_fixture *fix = test->priv;
	u64 va = mmu_shapes[4].va, leaf, level1;
	__le64 *word;

	PAGODA_PROVES(C92);
	mmu_shape_set(test, fix, &mmu_shapes[4]);
	mmu_map(fix, 0, va + SZ_64K, SZ_4K, mmu_entry(VRAM, 0x3000, 0));
	word = mmu_word(fix, 0, va, 1, false);
	leaf = mmu_table_alloc(fix);
	level1 = ALIGN_DOWN((u8 *)word - fix->vram, SZ_8K);
	update = mmu_add_update(fix, leaf, 0, 0, 1, 1, VIRTIO_PAGODA_UPDATE_USE_64K);
	virtual_values(update)[0] = cpu_to_le64(mmu_entry(VRAM, SZ_64K, 0));
	update = mmu_add_update(fix, level1, 1, (va >> 21) % 512, 1, 1,
				VIRTIO_PAGODA_UPDATE_USE_64K);
	virtual_values(update)[0] = cpu_to_le64(mmu_entry(VRAM, leaf, 0));
	engine_expect_done(test, fix);
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 0, va), fix->vram + SZ_64K);
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 0, va + SZ_64K), fix->vram + 0x3000);
	/* A table of 64 KiB pages has a sixteenth of the entries of a table of 4 KiB pages. */
	mmu_add_update(fix, leaf, 0, 31, 1, 1, VIRTIO_PAGODA_UPDATE_USE_64K);
	engine_expect_done(test, fix);
	mmu_add_update(fix, leaf, 0, 32, 1, 1, VIRTIO_PAGODA_UPDATE_USE_64K);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "beyond the table");
}

/*
 * With mode GPU_VIRTUAL the entries of a table at an address of the paging space are updated; if
 * the address is read-only, the update is refused.
 */
static void virtual_update_mode_test(struct kunit *test)
{
	struct virtio_pagoda_update_page_table *update;
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va, table = mmu_table_alloc(fix);

	PAGODA_PROVES(C86);
	mmu_map(fix, 0, va, SZ_4K, mmu_entry(VRAM, table, 0));
	update = mmu_add_update(fix, va, 0, 3, 2, 2, VIRTIO_PAGODA_UPDATE_INITIAL);
	update->mode = cpu_to_le32(VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL);
	update->table_segment = 0;
	update->address_space = cpu_to_le32(1);
	virtual_values(update)[0] = cpu_to_le64(17);
	virtual_values(update)[1] = cpu_to_le64(18);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(mmu_table(fix, table)[3]), 17);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(mmu_table(fix, table)[4]), 18);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(mmu_table(fix, table)[5]), 0);
	KUNIT_EXPECT_EQ(test, fix->notices, 1);
	mmu_map(fix, 0, va + MMU_PAGE, SZ_4K, mmu_entry(VRAM, 0, VIRTIO_PAGODA_PTE_READ_ONLY));
	update = mmu_add_update(fix, va + MMU_PAGE, 0, 3, 2, 2, 0);
	update->mode = cpu_to_le32(VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL);
	update->table_segment = 0;
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_READ_ONLY, "read-only table");
	KUNIT_EXPECT_EQ(test, fix->notices, 1);
}

#define UPDATE(field, number, REASON) { \
		offsetof(struct virtio_pagoda_update_page_table, field), \
		sizeof_field(struct virtio_pagoda_update_page_table, field), number, \
		VIRTIO_PAGODA_FAULT_##REASON, #field "=" #number \
	}

static const struct {
	u32 offset, width;
	u64 value;
	u32 reason;
	const char *what;
} virtual_updates[] = {
	UPDATE(packet.flags, VIRTIO_PAGODA_UPDATE_REPEAT, BAD_LENGTH),
	UPDATE(packet.flags, 1 << 4, BAD_FLAGS),
	UPDATE(table_address, 8, MISALIGNED),
	UPDATE(table_address, MMU_VRAM, OUT_OF_RANGE),
	UPDATE(table_address, MMU_INVALID, OUT_OF_RANGE),
	UPDATE(table_address, ~0ull - 4095, OUT_OF_RANGE),
	UPDATE(table_segment, APERTURE, BAD_SEGMENT),
	UPDATE(table_segment, SYSTEM, UNREACHABLE),
	UPDATE(table_segment, 3, BAD_SEGMENT),
	UPDATE(mode, VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, BAD_FLAGS),
	UPDATE(mode, VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, RESERVED),
	UPDATE(mode, 3, BAD_FLAGS),
	UPDATE(level, 3, OUT_OF_RANGE),
	UPDATE(level, ~0u, OUT_OF_RANGE),
	UPDATE(first_entry, 509, OUT_OF_RANGE),
	UPDATE(first_entry, ~0u, OUT_OF_RANGE),
	UPDATE(nr_entries, 0, OUT_OF_RANGE),
	UPDATE(nr_entries, 3, BAD_LENGTH),
	UPDATE(nr_entries, ~0u, OUT_OF_RANGE),
	UPDATE(nr_values, 3, BAD_LENGTH),
	UPDATE(nr_values, ~0u, BAD_LENGTH),
	UPDATE(increment, MMU_PAGE, BAD_LENGTH),
	UPDATE(increment, 8, MISALIGNED),
	UPDATE(address_space, ENGINE_SPACES, BAD_CONTEXT),
};

/* An update with a bad field, or with fields that don't fit together, is refused without effect. */
static void virtual_update_refused_test(struct kunit *test)
{
	struct virtio_pagoda_update_page_table *update;
	struct engine_fixture *fix = test->priv;
	u64 table = mmu_table_alloc(fix);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(virtual_updates); i++) {
		__le64 value = cpu_to_le64(virtual_updates[i].value);

		update = mmu_add_update(fix, table, 0, 4, 4, 4, 0);
		memcpy((u8 *)update + virtual_updates[i].offset, &value, virtual_updates[i].width);
		engine_expect_fault(test, fix, virtual_updates[i].reason, virtual_updates[i].what);
	}
	update = mmu_add_update(fix, table, 0, 4, 4, 1, VIRTIO_PAGODA_UPDATE_REPEAT);
	update->increment = cpu_to_le32(MMU_PAGE);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_RESERVED, "repeat and increment");
	update = mmu_add_update(fix, table, 0, 4, 4, 1, 0);
	update->increment = cpu_to_le32(MMU_PAGE);
	virtual_values(update)[0] = cpu_to_le64(VIRTIO_PAGODA_PTE_ADDRESS_MASK - 2 * MMU_PAGE);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "carries into other bits");
	update = mmu_add_update(fix, table, 1, 4, 1, 1, 0);
	update->driver_protection = cpu_to_le64(1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_RESERVED, "protection above leaves");
	mmu_add_update(fix, table, 1, 4, 1, 1, VIRTIO_PAGODA_UPDATE_USE_64K);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_FLAGS, "no second word");
	mmu_add_update(fix, table, 2, 4, 1, 1, VIRTIO_PAGODA_UPDATE_USE_64K);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_FLAGS, "no such table");
}

static void virtual_range(struct virtio_pagoda_copy_range *range, u64 src, u32 src_entry, u64 dst,
			  u32 dst_entry, u32 nr_entries)
{
	range->src_table = cpu_to_le64(src);
	range->src_entry = cpu_to_le32(src_entry);
	range->dst_table = cpu_to_le64(dst);
	range->dst_entry = cpu_to_le32(dst_entry);
	range->nr_entries = cpu_to_le32(nr_entries);
}

/*
 * Maps two tables in VRAM into the paging space, at the shape's first two pages, and numbers their
 * entries. *@a and *@b receive the tables.
 */
static void virtual_copy_tables(struct engine_fixture *fix, __le64 **a, __le64 **b)
{
	u64 va = fix->shape->va;
	u32 i;

	*a = (__le64 *)(fix->vram + SZ_1M);
	*b = (__le64 *)(fix->vram + SZ_2M);
	mmu_map(fix, 0, va, SZ_4K, mmu_entry(VRAM, SZ_1M, 0));
	mmu_map(fix, 0, va + MMU_PAGE, SZ_4K, mmu_entry(VRAM, SZ_2M, 0));
	for (i = 0; i < 512; i++) {
		(*a)[i] = cpu_to_le64(0xa00000000000a000ull + i);
		(*b)[i] = cpu_to_le64(0xb00000000000b000ull + i);
	}
}

/* The ranges of a COPY_PAGE_TABLE_ENTRIES are copied in order, and no other entry changes. */
static void virtual_copy_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_copy_range *range;
	u64 va = fix->shape->va;
	__le64 *a, *b;
	u32 i;

	PAGODA_PROVES(C108, C109);
	virtual_copy_tables(fix, &a, &b);
	range = engine_add_copy_entries(fix, 3);
	virtual_range(&range[0], va, 0, va + MMU_PAGE, 100, 50);
	/*
	 * The second range reads entries that the first range wrote; the third range overwrites
	 * some of these entries.
	 */
	virtual_range(&range[1], va + MMU_PAGE, 100, va, 200, 50);
	virtual_range(&range[2], va, 500, va + MMU_PAGE, 140, 12);
	engine_expect_done(test, fix);
	for (i = 0; i < 512; i++) {
		u64 in_a = 0xa00000000000a000ull + (i >= 200 && i < 250 ? i - 200 : i);
		u64 in_b = i >= 140 && i < 152 ? 0xa00000000000a000ull + 500 + i - 140 :
			   i >= 100 && i < 140 ? 0xa00000000000a000ull + i - 100 :
			   0xb00000000000b000ull + i;

		KUNIT_ASSERT_EQ(test, le64_to_cpu(a[i]), in_a);
		KUNIT_ASSERT_EQ(test, le64_to_cpu(b[i]), in_b);
	}
}

/*
 * If source and destination overlap in a table, the entries are copied as if through a buffer, also
 * if source and destination name the table by different addresses.
 */
static void virtual_copy_overlap_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_copy_range *range;
	u64 va = fix->shape->va;
	u32 to, alias, i;
	__le64 *a, *b;

	for (to = 0; to <= 200; to += 50) {
		for (alias = 0; alias < 2; alias++) {
			virtual_copy_tables(fix, &a, &b);
			mmu_map(fix, 0, va + 2 * MMU_PAGE, SZ_4K, mmu_entry(VRAM, SZ_1M, 0));
			range = engine_add_copy_entries(fix, 1);
			virtual_range(range, va, 100, va + 2 * alias * MMU_PAGE, to, 300);
			engine_expect_done(test, fix);
			for (i = 0; i < 300; i++)
				KUNIT_ASSERT_EQ(test, le64_to_cpu(a[to + i]),
						0xa00000000000a000ull + 100 + i);
		}
	}
}

/*
 * COPY_PAGE_TABLE_ENTRIES copies the entries as they are when the packet is executed, not as they
 * were when it was built.
 */
static void virtual_copy_late_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_copy_range *range;
	u64 va = fix->shape->va;
	__le64 *word;

	PAGODA_PROVES(C111);
	mmu_map(fix, 1, va, SZ_4K, mmu_entry(VRAM, 0x3000, 0));
	mmu_map(fix, 1, va + SZ_2M, SZ_4K, mmu_entry(VRAM, 0, 0));
	word = mmu_word(fix, 1, va, 0, false);
	mmu_map(fix, 0, va, SZ_4K, mmu_entry(VRAM, (u8 *)word - fix->vram, 0));
	mmu_map(fix, 0, va + MMU_PAGE, SZ_4K,
		mmu_entry(VRAM, (u8 *)mmu_word(fix, 1, va + SZ_2M, 0, false) - fix->vram, 0));
	range = engine_add_copy_entries(fix, 1);
	virtual_range(range, va, 0, va + MMU_PAGE, 0, 1);
	*word = cpu_to_le64(mmu_entry(VRAM, 0x7000, 0));
	engine_expect_done(test, fix);
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 1, va + SZ_2M), fix->vram + 0x7000);
}

/* A COPY_PAGE_TABLE_ENTRIES with one bad range is refused, and no range is copied. */
static void virtual_copy_refused_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_copy_range *range;
	u64 va = fix->shape->va;
	const struct {
		u64 src;
		u32 src_entry;
		u64 dst;
		u32 dst_entry, nr_entries, reason;
	} bad[] = {
		{ va + 8, 0, va, 0, 1, VIRTIO_PAGODA_FAULT_MISALIGNED },
		{ va, 0, va + 8, 0, 1, VIRTIO_PAGODA_FAULT_MISALIGNED },
		{ va, 0, va, 0, 0, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ va, 512, va, 0, 1, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ va, 0, va, 500, 13, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ va, ~0u, va, 0, 2, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ va + 8 * MMU_PAGE, 0, va, 0, 1, VIRTIO_PAGODA_FAULT_INVALID_ENTRY },
		{ va, 0, va + 2 * MMU_PAGE, 0, 1, VIRTIO_PAGODA_FAULT_READ_ONLY },
	};
	__le64 *a, *b;
	u32 i;

	virtual_copy_tables(fix, &a, &b);
	mmu_map(fix, 0, va + 2 * MMU_PAGE, SZ_4K, mmu_entry(VRAM, 0, VIRTIO_PAGODA_PTE_READ_ONLY));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		range = engine_add_copy_entries(fix, 2);
		virtual_range(&range[0], va, 0, va + MMU_PAGE, 100, 50);
		virtual_range(&range[1], bad[i].src, bad[i].src_entry, bad[i].dst,
			      bad[i].dst_entry, bad[i].nr_entries);
		engine_expect_fault(test, fix, bad[i].reason, "second range");
	}
	engine_add_copy_entries(fix, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "no ranges");
	range = engine_add_copy_entries(fix, 1);
	virtual_range(range, va, 0, va, 1, 1);
	range->reserved = cpu_to_le32(1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_RESERVED, "reserved");
}

const u32 pagoda_virtual_faulted[] = {
	VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER, VIRTIO_PAGODA_OP_VIRTUAL_FILL,
	VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE, VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES,
	VIRTIO_PAGODA_OP_FLUSH_TLB, 0
};

/*
 * With mode GPU_VIRTUAL the two pages of a dual level-1 table needn't be neighbours in memory:
 * values and increment continue in the second page.
 */
static void virtual_update_pages_test(struct kunit *test)
{
	struct virtio_pagoda_update_page_table *update;
	struct engine_fixture *fix = test->priv;
	__le64 *words[2];
	u64 va, i, kind;

	PAGODA_PROVES(C86);
	mmu_shape_set(test, fix, &mmu_shapes[4]);
	va = fix->shape->va;
	mmu_map(fix, 0, va, SZ_4K, mmu_entry(VRAM, SZ_1M, 0));
	mmu_map(fix, 0, va + MMU_PAGE, SZ_4K, mmu_entry(VRAM, 0, 0));
	words[0] = (__le64 *)(fix->vram + SZ_1M);
	words[1] = (__le64 *)fix->vram;
	for (kind = 0; kind < 2; kind++) {
		update = mmu_add_update(fix, va, 1, 250, 12, kind ? 1 : 12, 0);
		update->mode = cpu_to_le32(VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL);
		update->table_segment = 0;
		update->increment = cpu_to_le32(kind * MMU_PAGE);
		for (i = 0; i < (kind ? 1 : 12); i++)
			virtual_values(update)[i] = cpu_to_le64((i * i + 1) * MMU_PAGE);
		engine_expect_done(test, fix);
		for (i = 0; i < 12; i++)
			KUNIT_EXPECT_EQ(test, le64_to_cpu(words[i >= 6][(250 + i) % 256 * 2]),
					((kind ? i : i * i) + 1) * MMU_PAGE);
	}
}

static struct kunit_case virtual_cases[] = {
	KUNIT_CASE_SLOW(virtual_scattered_test),
	KUNIT_CASE(virtual_large_test),
	KUNIT_CASE(virtual_64k_test),
	KUNIT_CASE(virtual_direction_test),
	KUNIT_CASE(virtual_refused_test),
	KUNIT_CASE(virtual_fill_test),
	KUNIT_CASE(virtual_half_test),
	KUNIT_CASE_SLOW(virtual_update_test),
	KUNIT_CASE(virtual_update_64k_test),
	KUNIT_CASE(virtual_update_pages_test),
	KUNIT_CASE(virtual_update_mode_test),
	KUNIT_CASE_SLOW(virtual_update_refused_test),
	KUNIT_CASE(virtual_copy_test),
	KUNIT_CASE(virtual_copy_overlap_test),
	KUNIT_CASE(virtual_copy_late_test),
	KUNIT_CASE(virtual_copy_refused_test),
	{}
};

static struct kunit_suite virtual_suite = {
	.name = "pagoda_engine_virtual",
	.init = mmu_suite_init,
	.test_cases = virtual_cases,
};

kunit_test_suite(virtual_suite);
