// SPDX-License-Identifier: GPL-2.0
/*
 * Kept copies, without dirty tracking: evictions that copy nothing, and those that copy after all.
 * When copies are freed: copy_free_test.c.
 */
#include <linux/sizes.h>
#include "copy_helpers.h"
#include "rig/map.h"
#include "vidmm/segment/internal.h"
#include "vm/vm_helpers.h"

#define HERE	SZ_4M

/* ---- Nothing is copied ---------------------------------------------------------- */

static void copy_saves_in(struct pagoda_rig *rig, u32 eviction, u32 type)
{
	struct copy_test t = copy_begin(rig, eviction);
	u32 i;

	for (i = 0; i < 3; i++) {
		copy_bring(&t);
		copy_expect(&t, false, 1);
		KUNIT_EXPECT_EQ(rig->test, type, t.bo->ttm.resource->mem_type);
	}
	copy_bring(&t);
	KUNIT_EXPECT_TRUE(rig->test, pagoda_rig_holds(rig, t.bo, 1));
	copy_end(&t);
}

/*
 * An allocation evicted with NotWrittenTo leaves VRAM by DISCARD_CONTENT, not by a copy, and comes
 * back with its content.
 */
static void copy_saves(struct kunit *test)
{
	/* WDDM's PermanentSysMem is here the kept copy, as long as the allocation is clean. */
	PAGODA_PROVES(C48, C155);
	copy_saves_in(pagoda_rig_create_mode(test), 0, TTM_PL_SYSTEM);
}

/* An allocation evicted with NotWrittenTo goes to its eviction segment, the aperture, uncopied. */
static void copy_saves_in_aperture(struct kunit *test)
{
	PAGODA_PROVES(C155);
	copy_saves_in(pagoda_rig_create_mode(test), SUBMIT_APERTURE, TTM_PL_TT);
}

/* Expects that page n of the allocation's aperture range leads to its system page n, for each n. */
static void copy_expect_mapped(struct copy_test *t)
{
	u64 first = pagoda_aperture_of(t->bo->ttm.resource)->node.start, page, bus;
	struct pagoda_adl pages;
	u32 generation;

	pagoda_bo_adl(t->bo, &pages);
	for (page = 0; page < COPY_PAGES; page++) {
		KUNIT_EXPECT_TRUE(t->test, pagoda_engine_aperture_lookup(&t->rig->engine,
									 first + page, &bus,
									 &generation));
		KUNIT_EXPECT_EQ(t->test, pagoda_rig_bus(t->rig, pagoda_adl_page(&pages, page)),
				pagoda_rig_bus(t->rig, bus));
	}
}

/*
 * A clean allocation moves to addresses of the aperture without a copy: they lead to its pages, and
 * notices tell the device that it left VRAM, before DISCARD_CONTENT, and that it arrived.
 */
static void copy_saves_and_maps(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct copy_test t = copy_begin_on(rig, pagoda_rig_bo(rig, COPY_PAGES, CPU |
					   DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY |
					   DRM_PAGODA_ALLOCATION_RESIDENCY_NOTIFICATION,
					   EITHER, 0));
	const struct pagoda_rig_note *left, *arrived;

	copy_keep(&t);
	copy_leave(&t, UNWRITTEN | STAYS);
	pagoda_rig_settle(rig);
	rig->nr_log = 0;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(t.bo, true));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 0u, pagoda_rig_count(rig, pagoda_rig_copy_op(rig), t.bo->id));
	KUNIT_EXPECT_EQ(test, t.bo->ttm.base.size, (size_t)copy_discarded(&t));
	copy_expect_mapped(&t);
	left = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY, t.bo->id, 0);
	arrived = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY, t.bo->id, 1);
	KUNIT_ASSERT_NOT_NULL(test, left);
	KUNIT_ASSERT_NOT_NULL(test, arrived);
	KUNIT_EXPECT_EQ(test, 0u, left->flags);
	KUNIT_EXPECT_TRUE(test, left < pagoda_rig_find(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT,
						       t.bo->id, 0));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_NOTIFY_RESIDENT, arrived->flags);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_SEGMENT_APERTURE, arrived->dst);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, t.bo, 1));
	copy_end(&t);
}

/*
 * NotWrittenTo is believed: what was written all the same is gone after the eviction, and doesn't
 * come back to VRAM.
 */
static void copy_takes_the_word(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);

	copy_keep(&t);
	pagoda_rig_write(t.rig, t.bo, 2);
	copy_expect(&t, false, 1);
	copy_bring(&t);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bo, 1));
	copy_end(&t);
}

/* A shared allocation is copied in spite of NotWrittenTo: another client may have written it. */
static void copy_shared_is_written(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);

	copy_keep(&t);
	pagoda_copy_shared(t.bo);
	pagoda_rig_write(t.rig, t.bo, 2);
	copy_expect(&t, true, 2);
	/* A shared allocation gets no new copy. */
	copy_bring(&t);
	KUNIT_EXPECT_NULL(test, t.bo->content.copy);
	pagoda_rig_write(t.rig, t.bo, 3);
	copy_expect(&t, true, 3);
	copy_end(&t);
}

/*
 * After an EVICT that left the allocation in VRAM, unused, the allocation is made resident again:
 * its copy is still valid.
 */
static void copy_stays(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);

	copy_keep(&t);
	copy_leave(&t, UNWRITTEN | STAYS);
	KUNIT_EXPECT_TRUE(test, pagoda_copy_is_clean(t.bo));
	copy_bring(&t);
	KUNIT_EXPECT_FALSE(test, pagoda_copy_is_clean(t.bo));
	copy_expect(&t, false, 1);
	copy_end(&t);
}

/*
 * When room is needed, a clean allocation, for which EVICT was called, leaves VRAM first, uncopied,
 * although it came to VRAM last.
 */
static void copy_leaves_first(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bos[3];
	struct copy_test t;
	u64 before;
	u32 i;

	for (i = 0; i < 3; i++)
		bos[i] = pagoda_rig_bo(rig, 3 * PIECE, CPU, SUBMIT_VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[1]));
	t = copy_begin_on(rig, bos[0]);
	copy_keep(&t);
	copy_leave(&t, UNWRITTEN | STAYS);
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_TRUE(test, in_vram(bos[1]));
	before = copied_out(&t);
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[2]));
	KUNIT_EXPECT_FALSE(test, in_vram(bos[0]));
	KUNIT_EXPECT_TRUE(test, in_vram(bos[1]));
	KUNIT_EXPECT_EQ(test, before, copied_out(&t));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[0], 1));
	close_all(&bos[1], 2);
	copy_end(&t);
}

/* A move that fails with -EBUSY keeps the copy and the content. */
static void copy_is_put_back(struct kunit *test)
{
	const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct copy_test t = copy_begin(submit_rig(test), 0);
	u64 before;

	copy_keep(&t);
	copy_leave(&t, UNWRITTEN | STAYS);
	before = copied_out(&t);
	t.bo->content.needs_idle = true;
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_rig_place(t.bo, &system, true));
	KUNIT_EXPECT_TRUE(test, in_vram(t.bo));
	KUNIT_EXPECT_FALSE(test, t.bo->content.lost);
	KUNIT_EXPECT_NOT_NULL(test, t.bo->content.copy);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(t.bo));
	KUNIT_EXPECT_EQ(test, before, copied_out(&t));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bo, 1));
	copy_end(&t);
}

/* ---- The allocation is copied after all --------------------------------------------- */

/*
 * After an EVICT without NotWrittenTo, which left the allocation in VRAM, an EVICT with
 * NotWrittenTo covers only the time since MAKE_RESIDENT: the allocation is copied.
 */
static void copy_is_stale_if_nobody_says(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);

	copy_keep(&t);
	pagoda_rig_write(t.rig, t.bo, 2);
	copy_leave(&t, STAYS);
	copy_bring(&t);
	copy_expect(&t, true, 2);
	/* No copy is kept if the last EVICT came without NotWrittenTo. */
	copy_bring(&t);
	copy_leave(&t, 0);
	copy_bring(&t);
	KUNIT_EXPECT_NULL(test, t.bo->content.copy);
	copy_expect(&t, true, 2);
	copy_end(&t);
}

/*
 * If only one of two clients with the allocation on their residency lists says NotWrittenTo, the
 * allocation is copied.
 */
static void copy_is_stale_for_another(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	struct pagoda_client *other = pagoda_client_create(t.rig->vidmm);
	u64 trim;

	KUNIT_ASSERT_NOT_NULL(test, other);
	copy_keep(&t);
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(other, &t.bo, 1, &trim));
	pagoda_rig_write(t.rig, t.bo, 2);
	copy_leave(&t, UNWRITTEN | STAYS);
	KUNIT_EXPECT_FALSE(test, pagoda_copy_is_clean(t.bo));
	KUNIT_EXPECT_EQ(test, 0, pagoda_require_release(other, &t.bo, 1, false, 0));
	copy_bring(&t);
	copy_expect(&t, true, 2);
	pagoda_client_put(other);
	copy_end(&t);
}

/* NotWrittenTo is about the GPU: bytes that a debugger wrote by the CPU are copied all the same. */
static void copy_is_stale_for_the_cpu(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	u64 value = 0x1234, offset = COPY_PAGES / 2 * PAGE_SIZE;

	copy_keep(&t);
	dma_resv_lock(t.bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 8, pagoda_move_access(t.bo, offset, &value, sizeof(value), true));
	dma_resv_unlock(t.bo->ttm.base.resv);
	copy_leave(&t, UNWRITTEN);
	KUNIT_EXPECT_EQ(test, value, submit_word(t.rig, t.bo, offset));
	copy_end(&t);
}

/*
 * A program makes a mapping writable after its first access, which was a read: from then on it
 * writes without a fault, so the allocation is copied.
 */
static void copy_is_stale_after_mprotect(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	unsigned long at;
	u32 word;

	copy_keep(&t);
	at = rig_map(t.rig, t.bo, O_RDWR, PROT_READ);
	KUNIT_ASSERT_NE(test, 0ul, at);
	KUNIT_EXPECT_EQ(test, 0, get_user(word, (u32 __user *)at));
	KUNIT_EXPECT_EQ(test, (u32)submit_word(t.rig, t.bo, 0), word);
	KUNIT_EXPECT_EQ(test, -EFAULT, put_user(0x1234, (u32 __user *)at));
	KUNIT_EXPECT_FALSE(test, pagoda_copy_is_clean(t.bo));
	KUNIT_ASSERT_EQ(test, 0, rig_map_make_writable(at));
	KUNIT_EXPECT_EQ(test, 0, put_user(0x1234, (u32 __user *)at));
	KUNIT_ASSERT_TRUE(test, in_vram(t.bo));
	copy_leave(&t, UNWRITTEN);
	KUNIT_EXPECT_EQ(test, 0x1234u, (u32)submit_word(t.rig, t.bo, 0));
	rig_unmap(t.rig, t.bo, at);
	copy_end(&t);
}

/* A mapping of a file opened for reading only can't become writable: the copy stays valid. */
static void copy_is_clean_for_readers(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	unsigned long at;
	u32 word;

	copy_keep(&t);
	at = rig_map(t.rig, t.bo, O_RDONLY, PROT_READ);
	KUNIT_ASSERT_NE(test, 0ul, at);
	KUNIT_EXPECT_EQ(test, 0, get_user(word, (u32 __user *)at));
	KUNIT_EXPECT_EQ(test, (u32)submit_word(t.rig, t.bo, 0), word);
	KUNIT_EXPECT_EQ(test, -EACCES, rig_map_make_writable(at));
	copy_expect(&t, false, 1);
	rig_unmap(t.rig, t.bo, at);
	copy_end(&t);
}

/* Lost content doesn't come back from the copy: the allocation reads as zeros. */
static void copy_is_stale_if_lost(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);

	copy_keep(&t);
	pagoda_bo_mark_lost(t.bo);
	copy_leave(&t, UNWRITTEN);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(t.rig, t.bo));
	copy_bring(&t);
	copy_leave(&t, UNWRITTEN);
	copy_bring(&t);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(t.rig->vidmm));
	copy_leave(&t, UNWRITTEN);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(t.rig, t.bo));
	copy_end(&t);
}

/*
 * A job, in the VM that the allocation is private to or with the allocation in its list, runs after
 * an EVICT that left the allocation in VRAM: the copy is stale, and what the job wrote is copied.
 */
static void copy_is_stale_after_job(struct kunit *test, bool private)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct submit_args args = {};
	struct pagoda_bo *bo;
	struct copy_test t;

	if (private) {
		bo = submit_private(client, COPY_PAGES, SUBMIT_VRAM, HERE);
	} else {
		bo = pagoda_rig_bo(rig, COPY_PAGES, CPU, SUBMIT_VRAM, 0);
		KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, HERE));
		args.bos[args.nr_bos++] = bo;
	}
	t = copy_begin_on(rig, bo);
	copy_keep(&t);
	copy_leave(&t, UNWRITTEN | STAYS);
	KUNIT_EXPECT_TRUE(test, pagoda_copy_is_clean(bo));
	submit_store(client, HERE + 16, 5);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_FALSE(test, pagoda_copy_is_clean(bo));
	copy_bring(&t);
	copy_leave(&t, UNWRITTEN);
	KUNIT_EXPECT_EQ(test, 5ull, submit_word(rig, bo, 16));
	pagoda_vm_forget(client->vm, bo);
	copy_end(&t);
	submit_client_end(client);
}

static void copy_is_stale_if_private(struct kunit *test)
{
	copy_is_stale_after_job(test, true);
}

static void copy_is_stale_if_listed(struct kunit *test)
{
	copy_is_stale_after_job(test, false);
}

/* After an allocation left VRAM without being copied, accesses to its virtual addresses fault. */
static void copy_is_not_shown(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, COPY_PAGES, CPU, SUBMIT_VRAM, 0);
	struct submit_args args = { .bos = { bo }, .nr_bos = 1 };
	struct copy_test t;

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, HERE));
	t = copy_begin_on(rig, bo);
	copy_keep(&t);
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(client->vm));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_NONE, vmt_fault(rig, client->vm->id, HERE));
	copy_expect(&t, false, 1);
	KUNIT_EXPECT_NE(test, VIRTIO_PAGODA_FAULT_NONE, vmt_fault(rig, client->vm->id, HERE));
	/* The allocation is mapped again when a job lists it. */
	submit_store(client, HERE + 8, 6);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 6ull, submit_word(rig, bo, 8));
	pagoda_vm_forget(client->vm, bo);
	copy_end(&t);
	submit_client_end(client);
}

static struct kunit_case copy_cases[] = {
	KUNIT_CASE_PARAM(copy_saves, pagoda_rig_modes),
	KUNIT_CASE_PARAM(copy_saves_in_aperture, pagoda_rig_modes),
	KUNIT_CASE_PARAM(copy_saves_and_maps, pagoda_rig_modes),
	KUNIT_CASE_PARAM(copy_takes_the_word, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_shared_is_written, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_stays, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_leaves_first, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_put_back, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_stale_if_nobody_says, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_stale_for_another, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_stale_for_the_cpu, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_stale_after_mprotect, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_clean_for_readers, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_stale_if_lost, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_stale_if_private, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_stale_if_listed, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_not_shown, pagoda_rig_modes),
	{ }
};

static struct kunit_suite copy_suite = {
	.name = "pagoda_copy",
	.test_cases = copy_cases,
};

kunit_test_suite(copy_suite);
