/* SPDX-License-Identifier: GPL-2.0 */
/* Allocations that a paging queue brings to VRAM, where they have kept copies, and evicts. */
#ifndef PAGODA_KUNIT_COPY_HELPERS_H
#define PAGODA_KUNIT_COPY_HELPERS_H

#include "residency/offer_helpers.h"

#define UNWRITTEN	DRM_PAGODA_EVICT_NOT_WRITTEN_TO
#define STAYS		DRM_PAGODA_EVICT_ONLY_IF_NECESSARY
#define COPY_PAGES	7u

struct copy_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct drm_syncobj *timeline;
	struct pagoda_paging_queue *queue;
	struct pagoda_bo *bo;
};

static inline void copy_wait(struct copy_test *t, const struct pagoda_paging_args *args)
{
	KUNIT_ASSERT_EQ(t->test, 0, args->value ? submit_wait_point(t->timeline, args->value) : 0);
}

static inline void copy_bring(struct copy_test *t)
{
	struct pagoda_paging_args args = { .bos = &t->bo, .count = 1 };

	KUNIT_ASSERT_EQ(t->test, 0, pagoda_paging_make_resident(t->queue, &args));
	copy_wait(t, &args);
	KUNIT_ASSERT_TRUE(t->test, in_vram(t->bo));
}

static inline void copy_leave(struct copy_test *t, u32 flags)
{
	struct pagoda_paging_args args = { .bos = &t->bo, .count = 1, .flags = flags };

	KUNIT_ASSERT_EQ(t->test, 0, pagoda_paging_evict(t->queue, &args));
	copy_wait(t, &args);
	KUNIT_ASSERT_EQ(t->test, !!(flags & STAYS), in_vram(t->bo));
}

static inline struct copy_test copy_begin_on(struct pagoda_rig *rig, struct pagoda_bo *bo)
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
static inline void copy_keep(struct copy_test *t)
{
	copy_bring(t);
	copy_leave(t, UNWRITTEN);
	pagoda_rig_settle_freed(t->rig);
	copy_bring(t);
	KUNIT_ASSERT_NOT_NULL(t->test, t->bo->content.copy);
	KUNIT_ASSERT_EQ(t->test, t->bo->ttm.base.size,
			(size_t)atomic64_read(&t->rig->vidmm->copies->bytes));
}

static inline struct copy_test copy_begin(struct pagoda_rig *rig, u32 eviction)
{
	return copy_begin_on(rig, pagoda_rig_bo(rig, COPY_PAGES, CPU, SUBMIT_VRAM, eviction));
}

/* Closes the allocation; expects that no copy is left when TTM has freed the allocation. */
static inline void copy_end(struct copy_test *t)
{
	pagoda_client_drop_lists(t->rig->client);
	pagoda_paging_queue_put(t->queue);
	pagoda_rig_close(t->bo);
	pagoda_rig_settle_freed(t->rig);
	flush_workqueue(t->rig->vidmm->ttm.wq);
	KUNIT_EXPECT_EQ(t->test, 0ll, (s64)atomic64_read(&t->rig->vidmm->copies->bytes));
}

static inline u64 copied_out(struct copy_test *t)
{
	return atomic64_read(&t->rig->vidmm->stats.paged_out);
}

/* Returns how many bytes of the allocation in VRAM the logged DISCARD_CONTENT packets discarded. */
static inline u64 copy_discarded(struct copy_test *t)
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

static inline struct copy_counts copy_count(struct copy_test *t)
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
static inline void copy_expect(struct copy_test *t, bool copied, u32 seed)
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

#endif
