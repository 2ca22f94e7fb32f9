// SPDX-License-Identifier: GPL-2.0
/* Kept copies, without dirty tracking: evictions that copy nothing; when copies are freed. */
#include <linux/delay.h>
#include <linux/shrinker.h>
#include <linux/sizes.h>
#include "residency/offer_helpers.h"
#include "rig/map.h"
#include "rig/spy.h"
#include "vidmm/segment/internal.h"
#include "vm/vm_helpers.h"

#define UNWRITTEN	DRM_PAGODA_EVICT_NOT_WRITTEN_TO
#define STAYS		DRM_PAGODA_EVICT_ONLY_IF_NECESSARY
#define PAGES		7u
#define HERE		SZ_4M
#define ADDRESSES	256u	/* pages that a small MMU of the device can map */

struct copy_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct drm_syncobj *timeline;
	struct pagoda_paging_queue *queue;
	struct pagoda_bo *bo;
};

static void copy_wait(struct copy_test *t, const struct pagoda_paging_args *args)
{
	KUNIT_ASSERT_EQ(t->test, 0, args->value ? submit_wait_point(t->timeline, args->value) : 0);
}

static void copy_bring(struct copy_test *t)
{
	struct pagoda_paging_args args = { .bos = &t->bo, .count = 1 };

	KUNIT_ASSERT_EQ(t->test, 0, pagoda_paging_make_resident(t->queue, &args));
	copy_wait(t, &args);
	KUNIT_ASSERT_TRUE(t->test, in_vram(t->bo));
}

static void copy_leave(struct copy_test *t, u32 flags)
{
	struct pagoda_paging_args args = { .bos = &t->bo, .count = 1, .flags = flags };

	KUNIT_ASSERT_EQ(t->test, 0, pagoda_paging_evict(t->queue, &args));
	copy_wait(t, &args);
	KUNIT_ASSERT_EQ(t->test, !!(flags & STAYS), in_vram(t->bo));
}

static struct copy_test copy_begin_on(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct copy_test t = {
		.test = rig->test, .rig = rig, .bo = bo, .timeline = submit_syncobj(rig->test),
	};

	t.queue = pagoda_paging_queue_create(rig->vidmm, rig->client, 0, t.timeline);
	KUNIT_ASSERT_FALSE(t.test, IS_ERR(t.queue));
	pagoda_rig_write_vram(rig, bo, 1);
	KUNIT_ASSERT_EQ(t.test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle_freed(rig);
	return t;
}

/*
 * Brings the allocation to VRAM, where it has a kept copy: its system pages, which hold the content
 * of seed 1.
 */
static void copy_keep(struct copy_test *t)
{
	copy_bring(t);
	copy_leave(t, UNWRITTEN);
	pagoda_rig_settle_freed(t->rig);
	copy_bring(t);
	KUNIT_ASSERT_NOT_NULL(t->test, t->bo->content.copy);
	KUNIT_ASSERT_EQ(t->test, t->bo->ttm.base.size,
			(size_t)atomic64_read(&t->rig->vidmm->copies->bytes));
}

static struct copy_test copy_begin(struct pagoda_rig *rig, u32 eviction)
{
	return copy_begin_on(rig, pagoda_rig_bo(rig, PAGES, CPU, SUBMIT_VRAM, eviction));
}

/* Closes the allocation; expects that no copy is left when TTM has freed the allocation. */
static void copy_end(struct copy_test *t)
{
	pagoda_client_drop_lists(t->rig->client);
	pagoda_paging_queue_put(t->queue);
	pagoda_rig_close(t->bo);
	pagoda_rig_settle_freed(t->rig);
	flush_workqueue(t->rig->vidmm->ttm.wq);
	KUNIT_EXPECT_EQ(t->test, 0ll, (s64)atomic64_read(&t->rig->vidmm->copies->bytes));
}

static u64 copied_out(struct copy_test *t)
{
	return atomic64_read(&t->rig->vidmm->stats.paged_out);
}

/* Returns how many bytes of the allocation in VRAM the logged DISCARD_CONTENT packets discarded. */
static u64 copy_discarded(struct copy_test *t)
{
	const struct pagoda_rig_note *note;
	u64 sum = 0;
	u32 i;

	for (i = 0; (note = pagoda_rig_find(t->rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, t->bo->id,
					    i)); i++) {
		KUNIT_EXPECT_EQ(t->test, VIRTIO_PAGODA_SEGMENT_VRAM, note->src);
		sum += note->size;
	}
	return sum;
}

/* Evictions from VRAM of all allocations, and what fdinfo shows for the rig's client. */
struct copy_counts {
	u64 evictions;
	u64 client_evictions;
	u64 client_out;
	u64 client_in;
};

static struct copy_counts copy_count(struct copy_test *t)
{
	struct pagoda_client_traffic *traffic = &t->rig->client->traffic;

	return (struct copy_counts) {
		.evictions = atomic64_read(&t->rig->vidmm->stats.evictions),
		.client_evictions = atomic64_read(&traffic->evictions),
		.client_out = atomic64_read(&traffic->paged_out),
		.client_in = atomic64_read(&traffic->paged_in),
	};
}

/*
 * Evicts the allocation with NotWrittenTo. Expects that its content is copied out of VRAM if
 * @copied, else discarded in VRAM, and that the evicted allocation holds the content of @seed.
 */
static void copy_expect(struct copy_test *t, bool copied, u32 seed)
{
	struct copy_counts counts = copy_count(t), now;
	u64 before = copied_out(t);

	pagoda_rig_settle(t->rig);
	t->rig->nr_log = 0;
	copy_leave(t, UNWRITTEN);
	now = copy_count(t);
	KUNIT_EXPECT_EQ(t->test, counts.evictions + 1, now.evictions);
	KUNIT_EXPECT_EQ(t->test, counts.client_evictions + 1, now.client_evictions);
	KUNIT_EXPECT_EQ(t->test, counts.client_out + (copied ? t->bo->ttm.base.size : 0),
			now.client_out);
	KUNIT_EXPECT_EQ(t->test, counts.client_in, now.client_in);
	KUNIT_EXPECT_EQ(t->test, copied ? t->bo->ttm.base.size : 0,
			(size_t)(copied_out(t) - before));
	KUNIT_EXPECT_EQ(t->test, copied, !!pagoda_rig_count(t->rig, pagoda_rig_copy_op(t->rig),
							    t->bo->id));
	KUNIT_EXPECT_EQ(t->test, copied ? 0 : t->bo->ttm.base.size, (size_t)copy_discarded(t));
	KUNIT_EXPECT_TRUE(t->test, pagoda_rig_holds(t->rig, t->bo, seed));
}

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
	for (page = 0; page < PAGES; page++) {
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
	struct copy_test t = copy_begin_on(rig, pagoda_rig_bo(rig, PAGES, CPU |
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
	u64 value = 0x1234, offset = PAGES / 2 * PAGE_SIZE;

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
		bo = submit_private(client, PAGES, SUBMIT_VRAM, HERE);
	} else {
		bo = pagoda_rig_bo(rig, PAGES, CPU, SUBMIT_VRAM, 0);
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
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, CPU, SUBMIT_VRAM, 0);
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

/* ---- How much is kept ------------------------------------------------------------ */

/* A copy that would exceed copies->limit isn't kept. */
static void copy_has_a_limit(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);

	t.rig->vidmm->copies->limit = PAGES * PAGE_SIZE - 1;
	copy_bring(&t);
	copy_leave(&t, UNWRITTEN);
	copy_bring(&t);
	KUNIT_EXPECT_NULL(test, t.bo->content.copy);
	KUNIT_EXPECT_EQ(test, 0ll, (s64)atomic64_read(&t.rig->vidmm->copies->bytes));
	copy_expect(&t, true, 1);
	t.rig->vidmm->copies->limit++;
	copy_bring(&t);
	copy_expect(&t, false, 1);
	copy_end(&t);
}

/* Short of pages, TTM frees copies instead of swapping them out. */
static void copy_is_given_up(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);

	copy_keep(&t);
	pagoda_rig_settle(t.rig);
	swap_out_all(t.rig);
	KUNIT_EXPECT_EQ(test, 0ll, (s64)atomic64_read(&t.rig->vidmm->copies->bytes));
	copy_expect(&t, true, 1);
	copy_bring(&t);
	copy_expect(&t, false, 1);
	copy_end(&t);
}

/*
 * Calls the shrinker for @pages pages and waits until the copies that it chose are freed. Returns
 * the number of their pages, or SHRINK_STOP.
 */
static u64 copies_shrink(struct copy_test *t, u64 pages)
{
	struct pagoda_copies *copies = t->rig->vidmm->copies;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = pages };
	u64 given = copies->shrinker->scan_objects(copies->shrinker, &sc);

	flush_work(&copies->work);
	return given;
}

/* The shrinker counts and frees copies, but no content, and stops if there is no copy. */
static void copy_shrinks(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	struct pagoda_copies *copies = t.rig->vidmm->copies;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL };

	KUNIT_EXPECT_EQ(test, SHRINK_EMPTY, copies->shrinker->count_objects(copies->shrinker, &sc));
	KUNIT_EXPECT_EQ(test, SHRINK_STOP, copies_shrink(&t, 1));
	copy_keep(&t);
	KUNIT_EXPECT_EQ(test, PAGES, copies->shrinker->count_objects(copies->shrinker, &sc));
	KUNIT_EXPECT_EQ(test, PAGES, copies_shrink(&t, 1));
	/* The allocation stays in VRAM, and its freed copy doesn't count any more. */
	KUNIT_EXPECT_TRUE(test, in_vram(t.bo));
	KUNIT_EXPECT_EQ(test, 0ll, (s64)atomic64_read(&copies->bytes));
	KUNIT_EXPECT_EQ(test, SHRINK_EMPTY, copies->shrinker->count_objects(copies->shrinker, &sc));
	KUNIT_EXPECT_EQ(test, SHRINK_STOP, copies_shrink(&t, 1));
	copy_expect(&t, true, 1);
	/* The allocation gets a new copy, which is freed when the allocation leaves VRAM. */
	copy_bring(&t);
	copy_expect(&t, false, 1);
	KUNIT_EXPECT_EQ(test, SHRINK_STOP, copies_shrink(&t, 1));
	copy_end(&t);
}

/* Stands in for pagoda_pages_alloc(): fails with -ENOMEM as long as there are copies. */
static int pages_beside_no_copy(struct pagoda_vidmm *vidmm, struct ttm_tt *tt,
				const struct ttm_operation_ctx *ctx)
{
	if (atomic64_read(&vidmm->copies->bytes))
		return -ENOMEM;
	kunit_deactivate_static_stub(kunit_get_current_test(), pagoda_pages_alloc);
	return pagoda_pages_alloc(vidmm, tt, ctx);
}

/* If an allocation finds no pages, copies are freed, and the allocation gets pages. */
static void copy_makes_way(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	struct pagoda_bo *bo = pagoda_rig_bo(t.rig, 1, CPU, SUBMIT_APERTURE, 0);

	copy_keep(&t);
	pagoda_rig_settle(t.rig);
	kunit_activate_static_stub(test, pagoda_pages_alloc, pages_beside_no_copy);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	KUNIT_EXPECT_EQ(test, 0ll, (s64)atomic64_read(&t.rig->vidmm->copies->bytes));
	copy_expect(&t, true, 1);
	pagoda_rig_close(bo);
	copy_end(&t);
}

/* ---- Copies that can't be freed now ------------------------------------------------ */

#define LIMIT	(60 * HZ)

/* Returns another allocation in VRAM, with content of seed 1 and a copy newer than that of @t. */
static struct copy_test copy_keep_second(struct copy_test *t)
{
	struct copy_test second = copy_begin(t->rig, 0);

	copy_bring(&second);
	copy_leave(&second, UNWRITTEN);
	pagoda_rig_settle_freed(t->rig);
	copy_bring(&second);
	KUNIT_ASSERT_NOT_NULL(t->test, second.bo->content.copy);
	pagoda_rig_settle_freed(t->rig);
	return second;
}

static void copy_end_second(struct copy_test *second)
{
	copy_leave(second, UNWRITTEN);
	KUNIT_EXPECT_TRUE(second->test, pagoda_rig_holds(second->rig, second->bo, 1));
	pagoda_paging_queue_put(second->queue);
	pagoda_rig_close(second->bo);
}

static bool copy_has_pages(struct copy_test *t)
{
	bool has;

	dma_resv_lock(t->bo->ttm.base.resv, NULL);
	has = pagoda_copy_has_pages(t->bo);
	dma_resv_unlock(t->bo->ttm.base.resv);
	return has;
}

static u64 copy_bytes(struct copy_test *t)
{
	return atomic64_read(&t->rig->vidmm->copies->bytes);
}

/* Holds the copy of an allocation locked, as a move out of VRAM does, until @let. */
struct copy_holder {
	struct pagoda_bo *bo;
	struct pagoda_worker worker;
	struct completion held;
	struct completion let;
};

static int copy_holder_run(void *arg)
{
	struct copy_holder *holder = arg;
	struct pagoda_copy *copy;

	dma_resv_lock(holder->bo->ttm.base.resv, NULL);
	copy = pagoda_copy_take(holder->bo);
	complete(&holder->held);
	wait_for_completion_timeout(&holder->let, LIMIT);
	if (copy)
		pagoda_copy_put_back(holder->bo, copy);
	dma_resv_unlock(holder->bo->ttm.base.resv);
	return copy ? 0 : -ENOENT;
}

static void copy_hold(struct copy_test *t, struct copy_holder *holder)
{
	*holder = (struct copy_holder) {
		.bo = t->bo,
		.worker = { .run = copy_holder_run, .arg = holder },
	};
	init_completion(&holder->held);
	init_completion(&holder->let);
	pagoda_worker_start(t->test, &holder->worker);
	KUNIT_ASSERT_NE(t->test, 0ul, wait_for_completion_timeout(&holder->held, LIMIT));
}

static void copy_let(struct copy_test *t, struct copy_holder *holder)
{
	complete(&holder->let);
	pagoda_worker_end(t->test, &holder->worker);
	flush_delayed_work(&t->rig->vidmm->copies->retry);
	flush_work(&t->rig->vidmm->copies->work);
}

/* Stands in for pagoda_pages_alloc(): fails with -ENOMEM as long as there are two copies. */
static int pages_beside_one_copy(struct pagoda_vidmm *vidmm, struct ttm_tt *tt,
				 const struct ttm_operation_ctx *ctx)
{
	if (atomic64_read(&vidmm->copies->bytes) > PAGES * PAGE_SIZE)
		return -ENOMEM;
	kunit_deactivate_static_stub(kunit_get_current_test(), pagoda_pages_alloc);
	return pagoda_pages_alloc(vidmm, tt, ctx);
}

/* An allocation that finds no pages gets those of a newer copy if the oldest copy is locked. */
static void copy_in_use_is_passed_over(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0), second;
	struct pagoda_bo *bo = pagoda_rig_bo(t.rig, 1, CPU, SUBMIT_APERTURE, 0);
	struct copy_holder holder;

	copy_keep(&t);
	second = copy_keep_second(&t);
	copy_hold(&t, &holder);
	kunit_activate_static_stub(test, pagoda_pages_alloc, pages_beside_one_copy);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	KUNIT_EXPECT_EQ(test, PAGES * PAGE_SIZE, (size_t)copy_bytes(&t));
	copy_let(&t, &holder);
	KUNIT_EXPECT_EQ(test, 0ull, copy_bytes(&t));
	copy_end_second(&second);
	copy_expect(&t, true, 1);
	pagoda_rig_close(bo);
	copy_end(&t);
}

/*
 * The shrinker chooses a locked copy and a newer copy: only the newer copy is freed before the
 * locked copy is unlocked, and the shrinker doesn't count the locked copy any more either.
 */
static void copy_in_use_holds_up_no_other(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0), second;
	struct pagoda_copies *copies = t.rig->vidmm->copies;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = 2 * PAGES };
	unsigned long end = jiffies + LIMIT / 2;
	struct copy_holder holder;

	copy_keep(&t);
	second = copy_keep_second(&t);
	KUNIT_EXPECT_EQ(test, 2ul * PAGES, copies->shrinker->count_objects(copies->shrinker, &sc));
	copy_hold(&t, &holder);
	KUNIT_EXPECT_EQ(test, 2ul * PAGES, copies->shrinker->scan_objects(copies->shrinker, &sc));
	while (copy_bytes(&t) != PAGES * PAGE_SIZE && time_before(jiffies, end))
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, PAGES * PAGE_SIZE, (size_t)copy_bytes(&t));
	KUNIT_EXPECT_EQ(test, SHRINK_EMPTY, copies->shrinker->count_objects(copies->shrinker, &sc));
	KUNIT_EXPECT_EQ(test, SHRINK_STOP, copies->shrinker->scan_objects(copies->shrinker, &sc));
	copy_let(&t, &holder);
	KUNIT_EXPECT_EQ(test, 0ull, copy_bytes(&t));
	copy_end_second(&second);
	copy_expect(&t, true, 1);
	copy_end(&t);
}

/* Waits until @copies->retry is to run in @delay jiffies the next time, if not too long. */
static void copies_await_delay(struct kunit *test, struct pagoda_copies *copies,
			       unsigned long delay)
{
	unsigned long end = jiffies + LIMIT / 2;

	while (READ_ONCE(copies->delay) != delay && time_before(jiffies, end))
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, delay, READ_ONCE(copies->delay));
}

static int copy_flush_ttm(void *arg)
{
	struct pagoda_rig *rig = arg;

	flush_workqueue(rig->vidmm->ttm.wq);
	return 0;
}

/*
 * While a copy that the shrinker chose stays locked, TTM's work queue gets to the end of its work,
 * and the copy is tried less and less often, down to once in a second.
 */
static void copy_in_use_costs_little(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	struct pagoda_copies *copies = t.rig->vidmm->copies;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = PAGES };
	struct pagoda_worker worker = { .run = copy_flush_ttm, .arg = t.rig };
	struct copy_holder holder;

	copy_keep(&t);
	copy_hold(&t, &holder);
	KUNIT_EXPECT_EQ(test, PAGES, copies->shrinker->scan_objects(copies->shrinker, &sc));
	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_TRUE(test, pagoda_worker_is_done(&worker, LIMIT / 4));
	copies_await_delay(test, copies, HZ);
	KUNIT_EXPECT_EQ(test, PAGES * PAGE_SIZE, (size_t)copy_bytes(&t));
	copy_let(&t, &holder);
	pagoda_worker_end(test, &worker);
	KUNIT_EXPECT_EQ(test, 0ull, copy_bytes(&t));
	copy_expect(&t, true, 1);
	copy_end(&t);
}

/* However late the next try is, a copy is freed when the move that has locked the copy fails. */
static void copy_is_freed_when_unlocked(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	struct pagoda_copies *copies = t.rig->vidmm->copies;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = PAGES };
	unsigned long end = jiffies + LIMIT / 2;
	struct copy_holder holder;

	copy_keep(&t);
	copy_hold(&t, &holder);
	copies->delay = 100 * LIMIT;
	KUNIT_EXPECT_EQ(test, PAGES, copies->shrinker->scan_objects(copies->shrinker, &sc));
	/* The delay is used up when the next one is HZ. */
	copies_await_delay(test, copies, HZ);
	complete(&holder.let);
	pagoda_worker_end(test, &holder.worker);
	while (copy_bytes(&t) && time_before(jiffies, end))
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, 0ull, copy_bytes(&t));
	copy_expect(&t, true, 1);
	copy_end(&t);
}

/*
 * An allocation that finds no pages gets those of a newer copy if TTM has freed the pages of the
 * oldest copy.
 */
static void copy_without_pages_gives_none(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0), second;
	struct pagoda_bo *bo = pagoda_rig_bo(t.rig, 1, CPU, SUBMIT_APERTURE, 0);
	struct copy_holder holder;

	copy_keep(&t);
	second = copy_keep_second(&t);
	/* TTM's swap-out passes over the copy of @second, which is locked. */
	copy_hold(&second, &holder);
	swap_out_all(t.rig);
	copy_let(&second, &holder);
	KUNIT_EXPECT_TRUE(test, copy_has_pages(&second));
	KUNIT_EXPECT_FALSE(test, copy_has_pages(&t));
	kunit_activate_static_stub(test, pagoda_pages_alloc, pages_beside_no_copy);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	KUNIT_EXPECT_EQ(test, 0ull, copy_bytes(&t));
	copy_end_second(&second);
	copy_expect(&t, true, 1);
	pagoda_rig_close(bo);
	copy_end(&t);
}

/*
 * For page tables in system memory that find no device addresses, the oldest copy is freed, and no
 * other, because that is enough.
 */
static void copy_makes_way_for_tables(struct kunit *test)
{
	static const struct pagoda_rig_mode mode = { VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, true };
	const struct pagoda_rig_options options = { .mode = &mode, .mmu_pages = ADDRESSES };
	struct copy_test t = copy_begin(pagoda_rig_create(test, &options), 0), second;
	struct drm_mm_node *nodes = test_calloc(test, ADDRESSES, sizeof(*nodes));
	struct pagoda_vm *vm = vmt_make(t.rig);
	u32 count;

	copy_keep(&t);
	second = copy_keep_second(&t);
	count = vmt_take_addresses(t.rig, nodes, ADDRESSES);
	KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_MAP_ZERO, HERE, PAGE_SIZE));
	vmt_give_addresses(t.rig, nodes, count);
	KUNIT_EXPECT_FALSE(test, copy_has_pages(&t));
	KUNIT_EXPECT_TRUE(test, copy_has_pages(&second));
	vmt_expect(t.rig, vm->id, HERE, 0);
	vmt_drop(vm);
	copy_end_second(&second);
	copy_expect(&t, true, 1);
	copy_end(&t);
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
	KUNIT_CASE_PARAM(copy_has_a_limit, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_given_up, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_shrinks, pagoda_rig_mmu_modes),
	KUNIT_CASE(copy_makes_way),
	KUNIT_CASE(copy_in_use_is_passed_over),
	KUNIT_CASE(copy_in_use_holds_up_no_other),
	KUNIT_CASE(copy_in_use_costs_little),
	KUNIT_CASE(copy_is_freed_when_unlocked),
	KUNIT_CASE(copy_without_pages_gives_none),
	KUNIT_CASE(copy_makes_way_for_tables),
	{ }
};

static struct kunit_suite copy_suite = {
	.name = "pagoda_copy",
	.test_cases = copy_cases,
};

kunit_test_suite(copy_suite);
