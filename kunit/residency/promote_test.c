// SPDX-License-Identifier: GPL-2.0
/*
 * Promotion: which allocations that were evicted from VRAM come back when there is room, in which
 * order and when, without evictions; also at random against a model, and after resets, sleep and
 * unplug.
 */
#include <linux/delay.h>
#include <linux/dma-fence-chain.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/sort.h>
#include "core/compat.h"
#include "ledger/traffic_helpers.h"
#include "queue/queue_helpers.h"
#include "rig/vidmm_helpers.h"
#include "offer_helpers.h"

#define HERE		SZ_4M
#define PIECES		4
#define CROWD		8	/* pieces, as many as fit into VRAM */
#define ROUNDS		1000	/* most runs of the work item: far more than needed */

static struct pagoda_rig *promote_rig(struct kunit *test)
{
	const struct pagoda_rig_options options = {
		.mode = test->param_value,
		.engines = true,
		.promotes = true,
	};

	return pagoda_rig_create(test, &options);
}

static struct pagoda_promotion *promotion_of(struct pagoda_rig *rig)
{
	return rig->vidmm->promotion;
}

static void promote_hold(struct pagoda_rig *rig)
{
	traffic_hold(&promotion_of(rig)->traffic);
}

static void promote_let(struct pagoda_rig *rig)
{
	traffic_let(&promotion_of(rig)->traffic);
}

static bool promote_is_done(struct pagoda_promotion *promotion)
{
	return !READ_ONCE(promotion->news) && !promotion->walking &&
	       promotion->sent == promotion->ended;
}

/*
 * Runs promotion's work item until no walk is under way or due and all slices have ended; returns
 * false if that isn't so after %ROUNDS rounds.
 */
static bool promote_settle(struct pagoda_rig *rig)
{
	struct pagoda_promotion *promotion = promotion_of(rig);
	u32 round;

	for (round = 0; round < ROUNDS; round++) {
		/* Has TTM free closed allocations. */
		flush_workqueue(rig->vidmm->ttm.wq);
		flush_delayed_work(&promotion->work);
		pagoda_rig_settle(rig);
		flush_delayed_work(&promotion->work);
		if (promote_is_done(promotion))
			return true;
	}
	return false;
}

/*
 * Runs the work item a few times, enough to visit all allocations: promote_settle() might not end,
 * because some allocations can't be promoted yet.
 */
static void promote_rounds(struct pagoda_rig *rig)
{
	u32 round;

	for (round = 0; round < 5; round++) {
		flush_delayed_work(&promotion_of(rig)->work);
		pagoda_rig_settle(rig);
	}
}

static u64 promote_evictions(struct pagoda_rig *rig)
{
	return atomic64_read(&rig->vidmm->stats.evictions);
}

static u32 count_in_vram(struct pagoda_bo **bos, u32 count)
{
	u32 i, found = 0;

	for (i = 0; i < count; i++)
		found += in_vram(bos[i]);
	return found;
}

/*
 * Makes @count pieces with content, then fills VRAM with @crowd, for which the pieces are evicted;
 * promotion has no tokens until promote_let().
 */
static void pieces_out(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count,
		       struct pagoda_bo **crowd)
{
	u32 i;

	promote_hold(rig);
	for (i = 0; i < count; i++)
		bos[i] = piece(rig, CPU, i % 2 ? SUBMIT_VRAM : EITHER, i);
	crowd_in(rig, crowd, CROWD);
	KUNIT_ASSERT_EQ(rig->test, 0u, count_in_vram(bos, count));
}

/* Expects all pieces of pieces_out() in VRAM, with their content. */
static void pieces_expect_back(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		KUNIT_EXPECT_TRUE(rig->test, in_vram(bos[i]));
		KUNIT_EXPECT_TRUE(rig->test, pagoda_rig_holds(rig, bos[i], i));
	}
}

/* ---- Allocations that come back ------------------------------------------------------ */

/*
 * Evicted allocations come back when room becomes free, with their content and without evictions.
 */
static void promote_comes_back(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];
	u64 before;

	pieces_out(rig, bos, PIECES, crowd);
	promote_let(rig);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	KUNIT_EXPECT_EQ(test, 0u, count_in_vram(bos, PIECES));
	KUNIT_EXPECT_EQ(test, (u32)PIECES, promotion_of(rig)->count);
	before = promote_evictions(rig);
	close_all(crowd, CROWD);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	pieces_expect_back(rig, bos, PIECES);
	KUNIT_EXPECT_EQ(test, before, promote_evictions(rig));
	KUNIT_EXPECT_EQ(test, 0u, promotion_of(rig)->count);
	KUNIT_EXPECT_EQ(test, 0ull, promotion_of(rig)->bytes);
	KUNIT_EXPECT_EQ(test, (s64)PIECES, atomic64_read(&promotion_of(rig)->promotions));
	KUNIT_EXPECT_EQ(test, PIECES * (s64)PIECE << PAGE_SHIFT,
			atomic64_read(&promotion_of(rig)->promoted));
	close_all(bos, PIECES);
}

/*
 * As many allocations come back as there is room for; none is evicted for them, not even an offered
 * one.
 */
static void promote_only_free(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];
	u64 before;

	pieces_out(rig, bos, PIECES, crowd);
	promote_let(rig);
	before = promote_evictions(rig);
	KUNIT_EXPECT_EQ(test, 0, offer(rig, crowd[7], DRM_PAGODA_OFFER_LOW));
	close_all(crowd, 2);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	KUNIT_EXPECT_EQ(test, 2u, count_in_vram(bos, PIECES));
	KUNIT_EXPECT_EQ(test, 6u, count_in_vram(crowd + 2, CROWD - 2));
	KUNIT_EXPECT_EQ(test, before, promote_evictions(rig));
	close_all(crowd + 2, CROWD - 2);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	pieces_expect_back(rig, bos, PIECES);
	close_all(bos, PIECES);
}

/* Returns one plus the index of the allocation's copy to VRAM in the log from @from on, or 0. */
static u32 promote_turn(struct pagoda_rig *rig, u32 from, struct pagoda_bo *bo)
{
	u32 i;

	for (i = from; i < rig->nr_log; i++)
		if (rig->log[i].opcode == VIRTIO_PAGODA_OP_TRANSFER &&
		    rig->log[i].dst == DRM_PAGODA_SEGMENT_VRAM &&
		    rig->log[i].allocation == bo->id)
			return i + 1;
	return 0;
}

static void use_one(struct submit_client *client, struct pagoda_bo *bo)
{
	const struct submit_args args = { .bos[0] = bo, .nr_bos = 1 };

	KUNIT_ASSERT_EQ(client->rig->test, 0, submit_empty(client, &args));
	submit_wait(client);
}

/* Allocations come back by priority, and within a priority the last used first. */
static void promote_order(struct kunit *test)
{
	static const u32 priorities[PIECES] = {
		DRM_PAGODA_RESIDENCY_NORMAL, DRM_PAGODA_RESIDENCY_LOW,
		DRM_PAGODA_RESIDENCY_NORMAL, DRM_PAGODA_RESIDENCY_HIGH,
	};
	/* High priority; normal priority and used last; normal and used before; low priority. */
	static const u32 order[PIECES] = { 3, 0, 2, 1 };
	struct pagoda_rig *rig = promote_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];
	u32 i, from, last;

	promote_hold(rig);
	for (i = 0; i < PIECES; i++)
		bos[i] = piece(rig, CPU, SUBMIT_VRAM, i);
	KUNIT_EXPECT_EQ(test, 0, pagoda_set_priority(rig->vidmm, bos, priorities, PIECES));
	use_one(client, bos[2]);
	use_one(client, bos[0]);
	use_one(client, bos[1]);
	crowd_in(rig, crowd, CROWD);
	KUNIT_EXPECT_EQ(test, 0u, count_in_vram(bos, PIECES));
	close_all(crowd, CROWD);
	from = rig->nr_log;
	promote_let(rig);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	pieces_expect_back(rig, bos, PIECES);
	for (i = 0, last = 0; i < PIECES; i++) {
		u32 turn = promote_turn(rig, from, bos[order[i]]);

		KUNIT_EXPECT_GT(test, turn, last);
		last = turn;
	}
	close_all(bos, PIECES);
	submit_client_end(client);
}

/* A priority that is set while an allocation waits for promotion takes effect. */
static void promote_reordered(struct kunit *test)
{
	const u32 high = DRM_PAGODA_RESIDENCY_MAXIMUM;
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];

	pieces_out(rig, bos, PIECES, crowd);
	KUNIT_EXPECT_EQ(test, 0, pagoda_set_priority(rig->vidmm, &bos[2], &high, 1));
	close_all(crowd, 1);
	promote_let(rig);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	KUNIT_EXPECT_TRUE(test, in_vram(bos[2]));
	KUNIT_EXPECT_EQ(test, 1u, count_in_vram(bos, PIECES));
	close_all(crowd + 1, CROWD - 1);
	close_all(bos, PIECES);
}

/* ---- Allocations that don't come back ------------------------------------------------ */

/* Allocations that were evicted on request or offered don't come back. */
static void promote_stays_out(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];

	pieces_out(rig, bos, PIECES, crowd);
	KUNIT_EXPECT_EQ(test, 0, evict(rig, bos[0]));
	KUNIT_EXPECT_EQ(test, 0, offer(rig, bos[1], DRM_PAGODA_OFFER_NORMAL));
	close_all(crowd, CROWD);
	promote_let(rig);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	KUNIT_EXPECT_FALSE(test, in_vram(bos[0]));
	KUNIT_EXPECT_FALSE(test, in_vram(bos[1]));
	KUNIT_EXPECT_TRUE(test, in_vram(bos[2]) && in_vram(bos[3]));
	/* RECLAIM makes an allocation resident again that was made resident before the offer. */
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_OK, reclaim(rig, bos[1]));
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	KUNIT_EXPECT_TRUE(test, in_vram(bos[1]) && pagoda_rig_holds(rig, bos[1], 1));
	KUNIT_EXPECT_FALSE(test, in_vram(bos[0]));
	close_all(bos, PIECES);
}

/* An allocation that is closed while it waits for promotion doesn't wait any more. */
static void promote_closed(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];

	pieces_out(rig, bos, PIECES, crowd);
	close_all(bos, PIECES);
	flush_workqueue(rig->vidmm->ttm.wq);
	KUNIT_EXPECT_EQ(test, 0u, promotion_of(rig)->count);
	close_all(crowd, CROWD);
	promote_let(rig);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
}

/*
 * TTM keeps an allocation that is closed while it is busy until it is idle. Such an allocation must
 * not be promoted: TTM would never free its VRAM.
 */
static void promote_dead(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];
	struct dma_fence *fence = pagoda_test_fence(test);
	struct ttm_buffer_object *dead;

	pieces_out(rig, bos, PIECES, crowd);
	close_all(crowd, CROWD);
	dead = &bos[0]->ttm;
	make_busy(rig, bos[0], fence);
	pagoda_rig_close(bos[0]);
	KUNIT_EXPECT_FALSE(test, kref_get_unless_zero(&dead->base.refcount));
	KUNIT_EXPECT_TRUE(test, dead->deleted);
	promote_let(rig);
	/* promote_settle() would wait for TTM's workqueue, which waits for the fence. */
	promote_rounds(rig);
	KUNIT_EXPECT_EQ(test, PIECES - 1u, count_in_vram(bos + 1, PIECES - 1));
	KUNIT_ASSERT_NOT_NULL(test, dead->resource);
	KUNIT_EXPECT_NE(test, (u32)TTM_PL_VRAM, dead->resource->mem_type);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	close_all(bos + 1, PIECES - 1);
}

/* Promotion stays within the client's budget, and continues when the budget grows. */
static void promote_budget(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_client *other = pagoda_client_create(rig->vidmm);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];
	struct pagoda_budget_info info;

	KUNIT_ASSERT_NOT_NULL(test, other);
	pieces_out(rig, bos, PIECES, crowd);
	close_all(crowd, CROWD);
	flush_workqueue(rig->vidmm->ttm.wq);
	/* Room for two pieces is left in the budget. */
	pagoda_budget_info(&rig->client->budget, DRM_PAGODA_SEGMENT_GROUP_LOCAL, &info);
	KUNIT_EXPECT_EQ(test, 0ull, info.usage);
	rig->vidmm->budgets->pool[DRM_PAGODA_SEGMENT_GROUP_LOCAL] = 5 * PIECE << PAGE_SHIFT;
	KUNIT_EXPECT_EQ(test, 0, pagoda_budget_reserve(&other->budget,
						       DRM_PAGODA_SEGMENT_GROUP_LOCAL,
						       5 * PIECE << PAGE_SHIFT >> 1));
	promote_let(rig);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	KUNIT_EXPECT_EQ(test, 2u, count_in_vram(bos, PIECES));
	pagoda_client_put(other);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	pieces_expect_back(rig, bos, PIECES);
	close_all(bos, PIECES);
}

/* ---- Pace ---------------------------------------------------------------------------- */

/* Without tokens nothing is promoted; with tokens promotion continues by itself. */
static void promote_tokens(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];

	pieces_out(rig, bos, PIECES, crowd);
	close_all(crowd, CROWD);
	promote_rounds(rig);
	KUNIT_EXPECT_EQ(test, 0u, count_in_vram(bos, PIECES));
	KUNIT_EXPECT_NE(test, 0ull, promotion_of(rig)->traffic.refused);
	/* A client's request isn't delayed by missing tokens. */
	KUNIT_EXPECT_EQ(test, 0, make_resident(rig, bos[1]));
	KUNIT_EXPECT_TRUE(test, in_vram(bos[1]));
	promote_let(rig);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	pieces_expect_back(rig, bos, PIECES);
	close_all(bos, PIECES);
}

static void promote_not_reached(struct dma_fence *fence, struct dma_fence_cb *callback)
{
}

/*
 * A slice ends when its fence counts as signalled, which may be before the fence's callbacks have
 * run: the slice's callback must be off the fence's list before another fence gets it.
 */
static void promote_half_signalled(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_promotion *promotion = promotion_of(rig);
	struct pagoda_promote_slice *slice;
	struct dma_fence *fence = pagoda_test_fence(test);

	KUNIT_ASSERT_TRUE(test, promote_settle(rig));
	slice = &promotion->slices[promotion->sent++ % PAGODA_PROMOTE_SLICES];
	slice->fence = dma_fence_get(fence);
	KUNIT_EXPECT_EQ(test, 0, dma_fence_add_callback(fence, &slice->callback,
							promote_not_reached));
	set_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &fence->flags);
	queue_delayed_work(system_dfl_wq, &promotion->work, 0);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	KUNIT_EXPECT_EQ(test, promotion->sent, promotion->ended);
	KUNIT_EXPECT_TRUE(test, list_empty(&slice->callback.node));
	KUNIT_EXPECT_TRUE(test, list_empty(&fence->cb_list));
	dma_fence_put(fence);
}

/*
 * An allocation that is used where it is, or whose reservation is held, is passed over and promoted
 * later.
 */
static void promote_in_use(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];
	struct dma_fence *job;

	pieces_out(rig, bos, PIECES, crowd);
	pagoda_rig_hold(rig, 0, true);
	KUNIT_EXPECT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_TRUE(test, submit_point(client->done, client->sent, &job));
	pagoda_rig_add_fence(test, bos[0]->ttm.base.resv, dma_fence_chain_contained(job),
			     DMA_RESV_USAGE_BOOKKEEP);
	dma_fence_put(job);
	dma_resv_lock(bos[2]->ttm.base.resv, NULL);
	close_all(crowd, CROWD);
	promote_let(rig);
	promote_rounds(rig);
	KUNIT_EXPECT_FALSE(test, in_vram(bos[0]));
	KUNIT_EXPECT_FALSE(test, in_vram(bos[2]));
	KUNIT_EXPECT_TRUE(test, in_vram(bos[1]) && in_vram(bos[3]));
	dma_resv_unlock(bos[2]->ttm.base.resv);
	pagoda_rig_hold(rig, 0, false);
	submit_wait(client);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	pieces_expect_back(rig, bos, PIECES);
	close_all(bos, PIECES);
	submit_client_end(client);
}

/*
 * Private allocations of a VM share a reservation: the promotion of one doesn't make the next one
 * busy.
 */
static void promote_private(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[2], *crowd[CROWD];
	u32 i;

	promote_hold(rig);
	for (i = 0; i < 2; i++)
		bos[i] = submit_private(client, PIECE, SUBMIT_VRAM, HERE + i * SZ_2M);
	submit_store(client, HERE, 0x1111);
	submit_store(client, HERE + SZ_2M, 0x2222);
	KUNIT_EXPECT_EQ(test, 0, submit_job(client, NULL));
	submit_wait(client);
	crowd_in(rig, crowd, CROWD);
	KUNIT_EXPECT_EQ(test, 0u, count_in_vram(bos, 2));
	close_all(crowd, CROWD);
	promote_let(rig);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	KUNIT_EXPECT_EQ(test, 2u, count_in_vram(bos, 2));
	/* The VM's addresses lead to the new places. */
	submit_add(client, HERE, 1);
	submit_add(client, HERE + SZ_2M, 1);
	KUNIT_EXPECT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 0x1112ull, submit_word(rig, bos[0], 0));
	KUNIT_EXPECT_EQ(test, 0x2223ull, submit_word(rig, bos[1], 0));
	for (i = 0; i < 2; i++)
		submit_close(client, bos[i]);
	submit_client_end(client);
}

/*
 * Returns true when an allocation is in VRAM again; false if it isn't after %ROUNDS milliseconds or
 * more. Doesn't wait for the work item.
 */
static bool promote_arrives(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	u32 round;

	for (round = 0; round < ROUNDS && !in_vram(bo); round++) {
		flush_workqueue(rig->vidmm->ttm.wq);
		pagoda_rig_settle(rig);
		fsleep(USEC_PER_MSEC);
	}
	return in_vram(bo);
}

/* If a client's payer thread is in use, promotion passes over the client's allocations. */
static void promote_payer(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_client *client = rig->client, *other = pagoda_client_create(rig->vidmm);
	const u32 low = DRM_PAGODA_RESIDENCY_LOW;
	struct pagoda_bo *bos[PIECES], *crowd[CROWD], *bo;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	rig->client = other;
	bo = piece(rig, CPU, SUBMIT_VRAM, PIECES);
	/* The allocation comes last in the order of promotion. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_set_priority(rig->vidmm, &bo, &low, 1));
	rig->client = client;
	pieces_out(rig, bos, PIECES, crowd);
	KUNIT_ASSERT_FALSE(test, in_vram(bo));
	client->payer.worker = kthread_run_worker(0, "promote-payer");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, client->payer.worker);
	mutex_lock(&client->payer.lock);
	close_all(crowd, CROWD);
	promote_let(rig);
	KUNIT_EXPECT_TRUE(test, promote_arrives(rig, bo));
	KUNIT_EXPECT_EQ(test, 0u, count_in_vram(bos, PIECES));
	mutex_unlock(&client->payer.lock);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	pieces_expect_back(rig, bos, PIECES);
	pagoda_payer_end(client);
	close_all(bos, PIECES);
	pagoda_rig_close(bo);
	pagoda_client_put(other);
}

/* ---- Against a model ----------------------------------------------------------------- */

#define MODEL_PIECES	12u
#define MODEL_PAGES	64u	/* highest size of a piece: all pieces fit into VRAM */
#define MODEL_ROUNDS	30u

/* A piece; @used is its place in the order of uses, @back whether it is expected to come back. */
struct promote_model {
	struct pagoda_bo *bo;
	u32 priority;
	u32 used;
	bool back;
};

static int promote_model_order(const void *left, const void *right)
{
	const struct promote_model *a = left, *b = right;

	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return a->used > b->used ? -1 : 1;
}

/*
 * Sorts the pieces by priority and last use. In this order each piece is expected to come back that
 * fits into the room and the budget left by the pieces before it.
 */
static void promote_model_expect(struct pagoda_rig *rig, struct promote_model *model)
{
	struct pagoda_budget_info info;
	u64 room = rig->vidmm->vram->mm.avail;
	u32 i;

	pagoda_budget_info(&rig->client->budget, DRM_PAGODA_SEGMENT_GROUP_LOCAL, &info);
	sort(model, MODEL_PIECES, sizeof(*model), promote_model_order, NULL);
	for (i = 0; i < MODEL_PIECES; i++) {
		u64 size = model[i].bo->ttm.base.size;

		model[i].back = size <= room && info.usage + size <= info.budget;
		if (!model[i].back)
			continue;
		room -= size;
		info.usage += size;
	}
}

static void promote_model_make(struct submit_client *client, struct rnd_state *rnd,
			       struct promote_model *model)
{
	static const u32 levels[] = {
		DRM_PAGODA_RESIDENCY_MINIMUM, DRM_PAGODA_RESIDENCY_LOW,
		DRM_PAGODA_RESIDENCY_NORMAL, DRM_PAGODA_RESIDENCY_HIGH,
	};
	struct pagoda_rig *rig = client->rig;
	u32 i;

	for (i = 0; i < MODEL_PIECES; i++) {
		model[i].priority = levels[pagoda_kunit_below(rnd, ARRAY_SIZE(levels))];
		model[i].bo = pagoda_rig_bo(rig, 1 + pagoda_kunit_below(rnd, MODEL_PAGES), CPU,
					    pagoda_kunit_below(rnd, 2) ? SUBMIT_VRAM : EITHER, 0);
		KUNIT_ASSERT_EQ(rig->test, 0, make_resident(rig, model[i].bo));
		KUNIT_ASSERT_EQ(rig->test, 0, pagoda_set_priority(rig->vidmm, &model[i].bo,
								  &model[i].priority, 1));
		pagoda_rig_write(rig, model[i].bo, i);
	}
	/* The last draw of a piece is its last use. */
	for (i = 0; i < 3 * MODEL_PIECES; i++) {
		u32 which = i < MODEL_PIECES ? i : pagoda_kunit_below(rnd, MODEL_PIECES);

		use_one(client, model[which].bo);
		model[which].used = i;
	}
}

static void promote_model_round(struct submit_client *client, struct rnd_state *rnd)
{
	struct pagoda_rig *rig = client->rig;
	struct promote_model model[MODEL_PIECES];
	struct pagoda_bo *crowd[CROWD];
	u32 i, gone = 1 + pagoda_kunit_below(rnd, CROWD / 2);
	u64 before;

	promote_hold(rig);
	promote_model_make(client, rnd, model);
	crowd_in(rig, crowd, CROWD);
	for (i = 0; i < MODEL_PIECES; i++)
		KUNIT_ASSERT_FALSE(rig->test, in_vram(model[i].bo));
	close_all(crowd, gone);
	flush_workqueue(rig->vidmm->ttm.wq);
	promote_model_expect(rig, model);
	before = promote_evictions(rig);
	promote_let(rig);
	KUNIT_EXPECT_TRUE(rig->test, promote_settle(rig));
	KUNIT_EXPECT_EQ(rig->test, before, promote_evictions(rig));
	for (i = 0; i < MODEL_PIECES; i++)
		KUNIT_EXPECT_EQ_MSG(rig->test, model[i].back, in_vram(model[i].bo),
				    "place %u, %zu bytes", i, model[i].bo->ttm.base.size);
	/* Close the pieces first, so that none comes back into the room of the crowd. */
	for (i = 0; i < MODEL_PIECES; i++)
		pagoda_rig_close(model[i].bo);
	close_all(crowd + gone, CROWD - gone);
}

/* Random sizes, priorities, uses and free room: exactly the expected pieces come back. */
static void promote_random(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct rnd_state rnd;
	u32 round;

	pagoda_kunit_seed(test, &rnd);
	for (round = 0; round < MODEL_ROUNDS; round++)
		promote_model_round(client, &rnd);
	submit_client_end(client);
}

/* ---- Resets and teardown ------------------------------------------------------------- */

/*
 * Allocations that pagoda_vidmm_trim() evicted aren't promoted, although nothing takes their room.
 */
static void promote_trimmed(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_bo *bos[PIECES];
	u32 i;

	for (i = 0; i < PIECES; i++)
		bos[i] = piece(rig, CPU, SUBMIT_VRAM, i);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(rig->vidmm, U64_MAX));
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	KUNIT_EXPECT_EQ(test, 0u, count_in_vram(bos, PIECES));
	for (i = 0; i < PIECES; i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bos[i]));
	pieces_expect_back(rig, bos, PIECES);
	close_all(bos, PIECES);
}

/* Allocations come back after a sleep, for which all were evicted. */
static void promote_after_sleep(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_vidmm *vidmm = rig->vidmm;
	struct pagoda_bo *bos[PIECES];
	u32 i;

	for (i = 0; i < PIECES; i++)
		bos[i] = piece(rig, CPU, SUBMIT_VRAM, i);
	KUNIT_ASSERT_EQ(test, (u32)PIECES, count_in_vram(bos, PIECES));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_prepare_sleep(vidmm, PAGODA_SLEEP_STANDBY));
	KUNIT_EXPECT_EQ(test, 0u, count_in_vram(bos, PIECES));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_sleep(vidmm));
	pagoda_fake_transport_lose(rig->fake);
	pagoda_rig_engines_lose(rig);
	pagoda_engine_reset_adapter(&rig->engine, PAGODA_ENGINE_VRAM_KEEP);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_wake(vidmm, 0));
	pagoda_vidmm_end_sleep(vidmm);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	pieces_expect_back(rig, bos, PIECES);
	close_all(bos, PIECES);
}

/* Allocations that were evicted before a reset come back after it, with their content. */
static void promote_reset(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];

	pieces_out(rig, bos, PIECES, crowd);
	close_all(crowd, CROWD);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	promote_let(rig);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	pieces_expect_back(rig, bos, PIECES);
	close_all(bos, PIECES);
}

/*
 * Trimming passed over an allocation that couldn't be evicted: when the allocation is evicted
 * later for want of room, it comes back.
 */
static void promote_not_trimmed(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_bo *bo = piece(rig, CPU, SUBMIT_VRAM, 1), *crowd[CROWD];

	promote_hold(rig);
	pagoda_rig_pin(bo, true);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(rig->vidmm, U64_MAX));
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	pagoda_rig_pin(bo, false);
	crowd_in(rig, crowd, CROWD);
	KUNIT_ASSERT_FALSE(test, in_vram(bo));
	close_all(crowd, CROWD);
	promote_let(rig);
	KUNIT_EXPECT_TRUE(test, promote_settle(rig));
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

/*
 * When the device is unplugged while it holds the submissions of a promotion, the slices under way
 * are dropped and the work item isn't queued again.
 */
static void promote_unplug(struct kunit *test)
{
	struct pagoda_rig *rig = promote_rig(test);
	struct pagoda_bo *bos[PIECES], *crowd[CROWD];

	pieces_out(rig, bos, PIECES, crowd);
	close_all(crowd, CROWD);
	pagoda_rig_settle(rig);
	/*
	 * Shorten the timeout, which expires several times before the queue gives up held
	 * operations.
	 */
	pagoda_test_queue_timeout(rig->vidmm->queue, 200);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	promote_let(rig);
	while (!atomic64_read(&promotion_of(rig)->promotions))
		flush_delayed_work(&promotion_of(rig)->work);
	pagoda_rig_unplug(rig);
	KUNIT_EXPECT_EQ(test, promotion_of(rig)->sent, promotion_of(rig)->ended);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&promotion_of(rig)->work));
	close_all(bos, PIECES);
}

static struct kunit_case promote_cases[] = {
	KUNIT_CASE_PARAM(promote_comes_back, pagoda_rig_modes),
	KUNIT_CASE(promote_only_free),
	KUNIT_CASE(promote_order),
	KUNIT_CASE(promote_reordered),
	KUNIT_CASE(promote_stays_out),
	KUNIT_CASE(promote_closed),
	KUNIT_CASE(promote_dead),
	KUNIT_CASE(promote_budget),
	KUNIT_CASE(promote_tokens),
	KUNIT_CASE(promote_half_signalled),
	KUNIT_CASE(promote_in_use),
	KUNIT_CASE_PARAM(promote_private, pagoda_rig_modes),
	KUNIT_CASE(promote_payer),
	KUNIT_CASE(promote_random),
	KUNIT_CASE(promote_trimmed),
	KUNIT_CASE(promote_not_trimmed),
	KUNIT_CASE(promote_reset),
	KUNIT_CASE(promote_after_sleep),
	KUNIT_CASE(promote_unplug),
	{}
};

static struct kunit_suite promote_suite = {
	.name = "pagoda_promote",
	.test_cases = promote_cases,
};

kunit_test_suite(promote_suite);
