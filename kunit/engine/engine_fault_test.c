// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of operations on page tables and virtual addresses: besides the reason, a fault reports
 * the address or value that was refused, the access, and the level of the walk.
 */
#include "engine_mmu_helpers.h"

#define VRAM	VIRTIO_PAGODA_SEGMENT_VRAM
#define SYSTEM	VIRTIO_PAGODA_SEGMENT_SYSTEM
#define APERTURE VIRTIO_PAGODA_SEGMENT_APERTURE
#define LOCAL	VIRTIO_PAGODA_LOCAL_TO_LOCAL
#define NO	VIRTIO_PAGODA_ACCESS_NONE
#define RD	VIRTIO_PAGODA_ACCESS_READ
#define WR	VIRTIO_PAGODA_ACCESS_WRITE
#define VA_END	BIT_ULL(47)

/* Maps four pages of VRAM in address space 0, the last page read-only; returns @va. */
static u64 fault_map(struct engine_fixture *fix, u64 va, u64 address)
{
	u32 i;

	for (i = 0; i < 4; i++)
		mmu_map(fix, 0, va + i * MMU_PAGE, SZ_4K,
			mmu_entry(VRAM, address + i * MMU_PAGE,
				  i == 3 ? VIRTIO_PAGODA_PTE_READ_ONLY : 0));
	return va;
}

/* Executes the buffer; expects that its second packet, behind a FLUSH_TLB, is refused. */
static void fault_check(struct kunit *test, struct engine_fixture *fix, u32 reason, u32 access,
			u64 address, u32 level, int line)
{
	u32 first = sizeof(struct virtio_pagoda_flush_tlb);
	struct virtio_pagoda_packet *packet = (void *)(fix->buffer + first);
	u32 opcode = le16_to_cpu(packet->opcode);
	struct pagoda_engine_run run;

	engine_snapshot(fix);
	KUNIT_EXPECT_EQ_MSG(test, engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0),
			    PAGODA_ENGINE_FAULT, "line %d", line);
	KUNIT_EXPECT_EQ_MSG(test, run.fault.reason, reason, "line %d: %s", line,
			    pagoda_engine_fault_name(run.fault.reason));
	KUNIT_EXPECT_EQ_MSG(test, run.fault.address, address, "line %d", line);
	KUNIT_EXPECT_EQ_MSG(test, run.fault.access, access, "line %d", line);
	KUNIT_EXPECT_EQ_MSG(test, run.fault.level, level, "line %d", line);
	KUNIT_EXPECT_EQ_MSG(test, run.fault.offset, first, "line %d", line);
	KUNIT_EXPECT_EQ_MSG(test, run.fault.opcode, opcode, "line %d", line);
	KUNIT_EXPECT_EQ_MSG(test, run.packets, 1, "line %d", line);
	engine_expect_unchanged(test, fix, "refused");
}

/*
 * Expects that the packet which @packet appends is refused after @change, in which p is what
 * @packet returned.
 */
#define FAULT_AT(packet, change, reason, access, address, level) do { \
	typeof(packet) p; \
	\
	engine_add_flush(fix, 0, 0, 0); \
	p = (packet); \
	change; \
	fault_check(test, fix, VIRTIO_PAGODA_FAULT_##reason, access, address, level, __LINE__); \
} while (0)
#define FAULT(packet, change, reason, access, address) \
	FAULT_AT(packet, change, reason, access, address, 0)

/* UPDATE_PAGE_TABLE reports the value that is refused, or the first byte of bad memory. */
static void fault_update_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 table = mmu_table_alloc(fix);

	#define OK mmu_add_update(fix, table, 0, 4, 4, 4, 0)
	FAULT(OK, p->address_space = cpu_to_le32(ENGINE_SPACES), BAD_CONTEXT, NO, ENGINE_SPACES);
	FAULT(OK, p->mode = 0, BAD_FLAGS, NO, 0);
	FAULT(OK, p->mode = cpu_to_le32(3), BAD_FLAGS, NO, 3);
	FAULT(OK, p->mode = cpu_to_le32(VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL), RESERVED, NO, VRAM);
	FAULT(OK, p->table_segment = cpu_to_le32(APERTURE), BAD_SEGMENT, NO, APERTURE);
	FAULT(OK, p->table_address = cpu_to_le64(table + 8), MISALIGNED, NO, table + 8);
	FAULT(OK, p->level = cpu_to_le32(9), OUT_OF_RANGE, NO, 9);
	FAULT(OK, p->first_entry = cpu_to_le32(509), OUT_OF_RANGE, NO, 509);
	FAULT(OK, p->nr_entries = 0, OUT_OF_RANGE, NO, 4);
	FAULT(OK, p->nr_entries = cpu_to_le32(3), BAD_LENGTH, NO, 4);
	FAULT(OK, p->increment = cpu_to_le32(24), MISALIGNED, NO, 24);
	/* Of memory that can't be written, the first byte's address is reported. */
	FAULT(OK, p->table_address = cpu_to_le64(MMU_INVALID), OUT_OF_RANGE, WR, MMU_INVALID + 32);
	FAULT(OK, p->table_segment = 0; p->table_address = cpu_to_le64(MMU_PAGE), UNREACHABLE, WR,
	      MMU_PAGE + 32);
	#undef OK
	FAULT(mmu_add_update(fix, table, 0, 4, 4, 1, VIRTIO_PAGODA_UPDATE_REPEAT),
	      p->increment = cpu_to_le32(MMU_PAGE), RESERVED, NO, MMU_PAGE);
	FAULT(mmu_add_update(fix, table, 0, 4, 2, 1, 0),
	      p->increment = cpu_to_le32(MMU_PAGE);
	      *(__le64 *)(p + 1) = cpu_to_le64(VIRTIO_PAGODA_PTE_ADDRESS_MASK), OUT_OF_RANGE, NO,
	      VIRTIO_PAGODA_PTE_ADDRESS_MASK);
	FAULT(mmu_add_update(fix, table, 1, 4, 1, 1, 0), p->driver_protection = cpu_to_le64(5),
	      RESERVED, NO, 5);
	FAULT(mmu_add_update(fix, table, 1, 4, 1, 1, VIRTIO_PAGODA_UPDATE_USE_64K), (void)p,
	      BAD_FLAGS, NO, VIRTIO_PAGODA_UPDATE_USE_64K);
	PAGODA_PROVES(C98);
}

/*
 * A root table may be larger than a page if there are two levels. Entries whose addresses would
 * exceed 64 bits are refused.
 */
static void fault_update_wraps_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 last = 0 - MMU_PAGE;
	u32 shape = 0;

	while (shape < MMU_SHAPES && mmu_shapes[shape].levels != 2)
		shape++;
	KUNIT_ASSERT_LT(test, shape, MMU_SHAPES);
	mmu_shape_set(test, fix, &mmu_shapes[shape]);
	FAULT(mmu_add_update(fix, last, 1, 512, 1, 1, 0),
	      p->table_segment = cpu_to_le32(VRAM), OUT_OF_RANGE, NO, last);
	FAULT(mmu_add_update(fix, last, 1, 510, 8, 8, 0),
	      p->table_segment = cpu_to_le32(VRAM), OUT_OF_RANGE, NO, last);
}

/*
 * UPDATE_PAGE_TABLE by virtual address reports the address of the entry that can't be written, and
 * the level at which the walk for that address ends.
 */
static void fault_update_virtual_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fault_map(fix, fix->shape->va, SZ_1M);

	#define OK(at) mmu_add_update(fix, at, 0, 4, 4, 4, 0)
	#define VIRTUAL(p) ((p)->mode = cpu_to_le32(VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL), \
			    (p)->table_segment = 0)
	FAULT(OK(va + 4 * MMU_PAGE), VIRTUAL(p), INVALID_ENTRY, WR, va + 4 * MMU_PAGE + 32);
	FAULT(OK(va + 3 * MMU_PAGE), VIRTUAL(p), READ_ONLY, WR, va + 3 * MMU_PAGE + 32);
	FAULT(OK(VA_END), VIRTUAL(p), OUT_OF_RANGE, WR, VA_END + 32);
	FAULT_AT(OK(va + SZ_2M), VIRTUAL(p), INVALID_ENTRY, WR, va + SZ_2M + 32, 1);
	#undef VIRTUAL
	#undef OK
	PAGODA_PROVES(C95, C96);
}

static void fault_copy_range(struct virtio_pagoda_copy_range *range, u64 src, u32 src_entry,
			     u64 dst, u32 dst_entry)
{
	range->src_table = cpu_to_le64(src);
	range->dst_table = cpu_to_le64(dst);
	range->src_entry = cpu_to_le32(src_entry);
	range->dst_entry = cpu_to_le32(dst_entry);
	range->nr_entries = cpu_to_le32(8);
}

/*
 * COPY_PAGE_TABLE_ENTRIES reports the address of the bad table or entry, and the access tells
 * source from destination.
 */
static void fault_copy_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fault_map(fix, fix->shape->va, SZ_1M);
	u64 to = va + MMU_PAGE, gone = va + 4 * MMU_PAGE;

	#define HEAD(p) ((struct virtio_pagoda_copy_page_table_entries *)(p) - 1)
	#define OK engine_add_copy_entries(fix, 1)
	FAULT(engine_add_copy_entries(fix, 0), (void)p, OUT_OF_RANGE, NO, 0);
	FAULT(OK, HEAD(p)->address_space = cpu_to_le32(ENGINE_SPACES), BAD_CONTEXT, NO,
	      ENGINE_SPACES);
	FAULT(OK, p->reserved = cpu_to_le32(9), RESERVED, NO, 9);
	FAULT(OK, fault_copy_range(p, va + 16, 0, to, 0), MISALIGNED, RD, va + 16);
	FAULT(OK, fault_copy_range(p, va, 0, to + 16, 0), MISALIGNED, WR, to + 16);
	FAULT(OK, fault_copy_range(p, va, 505, to, 0), OUT_OF_RANGE, RD, va + 505 * 8);
	FAULT(OK, fault_copy_range(p, va, 0, to, 505), OUT_OF_RANGE, WR, to + 505 * 8);
	FAULT(OK, fault_copy_range(p, gone, 3, to, 0), INVALID_ENTRY, RD, gone + 24);
	FAULT(OK, fault_copy_range(p, va, 0, gone, 3), INVALID_ENTRY, WR, gone + 24);
	FAULT(OK, fault_copy_range(p, va, 0, va + 3 * MMU_PAGE, 1), READ_ONLY, WR,
	      va + 3 * MMU_PAGE + 8);
	#undef OK
	#undef HEAD
}

/* VIRTUAL_TRANSFER reports the bad address, and the access tells source from destination. */
static void fault_transfer_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 src = fault_map(fix, fix->shape->va, SZ_1M);
	u64 dst = fault_map(fix, src + SZ_2M, SZ_2M);

	#define OK(from, to, size) engine_add_virtual(fix, from, to, size, LOCAL, 0)
	FAULT(OK(src, dst, 8), p->reserved = cpu_to_le32(3), RESERVED, NO, 3);
	FAULT(OK(src, dst, 8), p->direction = cpu_to_le32(7), BAD_FLAGS, NO, 7);
	FAULT(OK(src, dst, 0), (void)p, OUT_OF_RANGE, RD, 0);
	FAULT(OK(src, dst, VIRTIO_PAGODA_MAX_VIRTUAL + 4), (void)p, OUT_OF_RANGE, RD,
	      VIRTIO_PAGODA_MAX_VIRTUAL + 4);
	FAULT(OK(src, dst, 6), (void)p, MISALIGNED, RD, 6);
	FAULT(OK(src + 2, dst, 8), (void)p, MISALIGNED, RD, src + 2);
	FAULT(OK(src, dst + 1, 8), (void)p, MISALIGNED, WR, dst + 1);
	FAULT(OK(VA_END - 4, dst, 8), (void)p, OUT_OF_RANGE, RD, VA_END - 4);
	FAULT(OK(src, VA_END - 4, 8), (void)p, OUT_OF_RANGE, WR, VA_END - 4);
	FAULT(OK(src, src + 4, 8), (void)p, OVERLAP, WR, src + 4);
	/* The address is that of the bad page, not of the first page. */
	FAULT(OK(src + 4, dst, 4 * MMU_PAGE), (void)p, INVALID_ENTRY, RD, src + 4 * MMU_PAGE);
	FAULT(OK(src, dst + 4, 3 * MMU_PAGE), (void)p, READ_ONLY, WR, dst + 3 * MMU_PAGE);
	FAULT(OK(src, dst, 8), p->packet.flags = cpu_to_le16(VIRTIO_PAGODA_VIRTUAL_SRC_64K),
	      BAD_TABLE, RD, src);
	FAULT(OK(src, dst, 8), p->packet.flags = cpu_to_le16(VIRTIO_PAGODA_VIRTUAL_DST_64K),
	      BAD_TABLE, WR, dst);
	FAULT(OK(src, dst, 8), p->direction = cpu_to_le32(VIRTIO_PAGODA_SYSTEM_TO_LOCAL),
	      BAD_SEGMENT, RD, src);
	FAULT(OK(src, dst, 8), p->direction = cpu_to_le32(VIRTIO_PAGODA_LOCAL_TO_SYSTEM),
	      BAD_SEGMENT, WR, dst);
	#undef OK
	PAGODA_PROVES(C95, C96);
}

/*
 * VIRTUAL_FILL reports the bad value or address, and of a malformed page-table entry also the
 * entry's level.
 */
static void fault_fill_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fault_map(fix, fix->shape->va, SZ_1M);

	#define FILL(...) engine_add_virtual_fill(fix, __VA_ARGS__)
	FAULT(FILL(va, 8, 1), p->reserved = cpu_to_le32(3), RESERVED, NO, 3);
	FAULT(FILL(va, 0, 1), (void)p, OUT_OF_RANGE, WR, 0);
	FAULT(FILL(va, 5, 1), (void)p, MISALIGNED, WR, 5);
	FAULT(FILL(va + 2, 8, 1), (void)p, MISALIGNED, WR, va + 2);
	FAULT(FILL(VA_END, 8, 1), (void)p, OUT_OF_RANGE, WR, VA_END);
	FAULT(FILL(va + 4, SZ_16K, 1), (void)p, READ_ONLY, WR, va + 3 * MMU_PAGE);
	/* A malformed entry at level 0, then at level 1. */
	*mmu_word(fix, 0, va + MMU_PAGE, 0, false) = cpu_to_le64(mmu_entry(VRAM, MMU_VRAM, 0));
	FAULT(FILL(va, SZ_8K, 1), (void)p, BAD_TABLE, WR, va + MMU_PAGE);
	*mmu_word(fix, 0, va + SZ_2M, 1, false) = cpu_to_le64(mmu_entry(VRAM, MMU_VRAM, 0));
	FAULT_AT(FILL(va + SZ_2M, 8, 1), (void)p, BAD_TABLE, WR, va + SZ_2M, 1);
	#undef FILL
}

/* FLUSH_TLB reports a bad address space, range of addresses, or root. */
static void fault_flush_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fault_map(fix, fix->shape->va, SZ_1M);
	u64 root = fix->spaces[0].address;

	#define OK engine_add_flush(fix, 0, va, va + 1)
	FAULT(OK, p->address_space = cpu_to_le32(~0u), BAD_CONTEXT, NO, ~0u);
	FAULT(engine_add_flush(fix, 0, va, VA_END + 1), (void)p, OUT_OF_RANGE, NO, VA_END + 1);
	FAULT(engine_add_flush(fix, 0, va, va - 1), (void)p, OUT_OF_RANGE, NO, va - 1);
	FAULT(OK, p->root_address = cpu_to_le64(root + MMU_PAGE), BAD_CONTEXT, NO, root + MMU_PAGE);
	FAULT(OK, p->root_segment = cpu_to_le32(SYSTEM), BAD_CONTEXT, NO, root);
	#undef OK
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE(fault_update_test),
	KUNIT_CASE(fault_update_wraps_test),
	KUNIT_CASE(fault_update_virtual_test),
	KUNIT_CASE(fault_copy_test),
	KUNIT_CASE(fault_transfer_test),
	KUNIT_CASE(fault_fill_test),
	KUNIT_CASE(fault_flush_test),
	{}
};

static struct kunit_suite fault_suite = {
	.name = "pagoda_engine_fault",
	.init = mmu_suite_init,
	.test_cases = fault_cases,
};

kunit_test_suite(fault_suite);
