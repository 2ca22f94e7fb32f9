// SPDX-License-Identifier: GPL-2.0
/*
 * How allocations leave VRAM, to make room or because VRAM is trimmed: that the driver asks the
 * policy, tells it what happens, and doesn't evict allocations that are needed, closed or locked.
 */
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <linux/completion.h>
#include <linux/prandom.h>
#include <linux/workqueue.h>
#include "debug/debug.h"
#include "queue/queue_helpers.h"
#include "residency/offer_helpers.h"
#include "ttm/work_helpers.h"

#define HERE		SZ_4M
#define PIECES		9	/* eight fill VRAM, fewer beside page tables */
#define ROUNDS		10
#define STEPS		400

/* Returns an allocation of PIECE pages with the content of @seed, in system memory. */
static struct pagoda_bo *piece_outside(struct pagoda_rig *rig, u32 seed)
{
	struct pagoda_bo *bo = piece(rig, CPU, SUBMIT_VRAM, seed);

	KUNIT_ASSERT_EQ(rig->test, 0, evict(rig, bo));
	pagoda_rig_settle(rig);
	return bo;
}

static void pieces_make(struct pagoda_rig *rig, struct pagoda_bo **bos)
{
	u32 i;

	for (i = 0; i < PIECES; i++)
		bos[i] = piece_outside(rig, i);
}

/* Runs a job that lists the allocations; the paging queue is idle on return. */
static int use(struct submit_client *client, struct pagoda_bo **bos, u32 count)
{
	struct submit_args args = { .nr_bos = count };
	int ret;

	memcpy(args.bos, bos, count * sizeof(*bos));
	ret = submit_empty(client, &args);
	if (!ret)
		submit_wait(client);
	pagoda_rig_settle(client->rig);
	return ret;
}

static u64 evictions(struct pagoda_rig *rig)
{
	return atomic64_read(&rig->vidmm->stats.evictions);
}

/*
 * Uses all allocations in turn, in ROUNDS rounds: the next allocation is always the longest unused.
 * Returns the number of evictions.
 */
static u64 use_in_turn(struct submit_client *client, struct pagoda_bo **bos)
{
	u64 before = evictions(client->rig);
	u32 i;

	for (i = 0; i < ROUNDS * PIECES; i++)
		KUNIT_ASSERT_EQ(client->rig->test, 0, use(client, &bos[i % PIECES], 1));
	return evictions(client->rig) - before;
}

/* On a cycle of uses the policy needs less than half the evictions of plain LRU. */
static void victims_cycle(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[PIECES];
	u64 lru, predicted;
	u32 i;

	pieces_make(rig, bos);
	rig->vidmm->victims->asked = false;
	lru = use_in_turn(client, bos);
	rig->vidmm->victims->asked = true;
	predicted = use_in_turn(client, bos);
	kunit_info(test, "%llu evictions, longest unused first: %llu\n", predicted, lru);
	KUNIT_EXPECT_GE(test, lru, (u64)(ROUNDS - 1) * PIECES);
	KUNIT_EXPECT_LT(test, 2 * predicted, lru);
	for (i = 0; i < PIECES; i++)
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i));
	close_all(bos, PIECES);
	submit_client_end(client);
}

/* ---- Allocations that stay ---------------------------------------------------------- */

/* Uses allocations in turn until a use evicts another; returns the index of the last used. */
static u32 fill(struct submit_client *client, struct pagoda_bo **bos)
{
	struct kunit *test = client->rig->test;
	u64 before = evictions(client->rig);
	u32 n;

	for (n = 0; n < PIECES; n++) {
		KUNIT_ASSERT_EQ(test, 0, use(client, &bos[n], 1));
		if (evictions(client->rig) != before)
			break;
	}
	/* The allocation used last evicted the first. */
	KUNIT_ASSERT_LT(test, 4u, n);
	KUNIT_EXPECT_FALSE(test, in_vram(bos[0]));
	return n;
}

/* A work item that holds the reservation of @bo until @enough is completed. */
struct holder {
	struct work_struct work;
	struct pagoda_bo *bo;
	struct completion held;
	struct completion enough;
};

static void holder_work(struct work_struct *work)
{
	struct holder *holder = container_of(work, struct holder, work);

	dma_resv_lock(holder->bo->ttm.base.resv, NULL);
	complete(&holder->held);
	wait_for_completion(&holder->enough);
	dma_resv_unlock(holder->bo->ttm.base.resv);
}

static void holder_begin(struct holder *holder, struct pagoda_bo *bo)
{
	holder->bo = bo;
	init_completion(&holder->held);
	init_completion(&holder->enough);
	INIT_WORK_ONSTACK(&holder->work, holder_work);
	schedule_work(&holder->work);
	wait_for_completion(&holder->held);
}

static void holder_end(struct holder *holder)
{
	complete(&holder->enough);
	flush_work(&holder->work);
	destroy_work_on_stack(&holder->work);
}

/*
 * An allocation whose reservation is held is passed over while another can leave; a later search
 * finds the allocation again.
 */
static void victims_held(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[PIECES];
	struct holder holder;
	u32 count, i;

	pieces_make(rig, bos);
	count = fill(client, bos);
	holder_begin(&holder, bos[1]);
	KUNIT_EXPECT_EQ(test, 0, use(client, &bos[0], 1));
	KUNIT_EXPECT_TRUE(test, in_vram(bos[1]));
	holder_end(&holder);
	/* bos[1] is by far the longest unused allocation after all others were used again. */
	for (i = 2; i <= count; i++)
		KUNIT_EXPECT_EQ(test, 0, use(client, &bos[i], 1));
	KUNIT_EXPECT_FALSE(test, in_vram(bos[1]));
	close_all(bos, PIECES);
	submit_client_end(client);
}

/*
 * An allocation that a call needs isn't evicted for another allocation of that call, however long
 * it wasn't used.
 */
static void victims_kept(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[PIECES], *list[3];

	pieces_make(rig, bos);
	fill(client, bos);
	list[0] = bos[1];
	list[1] = bos[0];
	list[2] = bos[2];
	KUNIT_EXPECT_EQ(test, 0, use(client, list, 3));
	KUNIT_EXPECT_TRUE(test, in_vram(bos[0]) && in_vram(bos[1]) && in_vram(bos[2]));
	close_all(bos, PIECES);
	submit_client_end(client);
}

static int place_at_once(struct pagoda_bo *bo)
{
	struct pagoda_operation op = { .ttm.no_wait_gpu = true };
	int ret;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	ret = pagoda_bo_place(bo, pagoda_bo_placement_resident, &op);
	dma_resv_unlock(bo->ttm.base.resv);
	return ret;
}

/*
 * TTM keeps an allocation that is closed while jobs use it until these jobs have ended. Such an
 * allocation isn't evicted: the copy would be useless, and TTM wouldn't wait for the copy before
 * TTM frees the allocation's VRAM.
 */
static void victims_dead(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct dma_fence *fence = pagoda_test_fence(test);
	struct pagoda_bo *bos[PIECES];
	u32 i, last = PIECES - 1;
	u64 before;

	pieces_make(rig, bos);
	settle_moves(rig);
	before = evictions(rig);
	for (i = 0; i < last; i++)
		KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[i]));
	settle_moves(rig);
	KUNIT_ASSERT_EQ(test, before, evictions(rig));
	for (i = 0; i < last; i++) {
		make_busy(rig, bos[i], fence);
		pagoda_rig_close(bos[i]);
	}
	KUNIT_EXPECT_NE(test, 0, place_at_once(bos[last]));
	KUNIT_EXPECT_EQ(test, before, evictions(rig));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(rig->vidmm, U64_MAX));
	KUNIT_EXPECT_EQ(test, before, evictions(rig));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	flush_workqueue(rig->vidmm->ttm.wq);
	KUNIT_EXPECT_EQ(test, 0, place_at_once(bos[last]));
	KUNIT_EXPECT_EQ(test, before, evictions(rig));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[last], last));
	pagoda_rig_close(bos[last]);
}

static u32 tried_when_interrupted;

/* Stands in for pagoda_queue_get(): counts its calls, and fails as if a signal had come. */
static struct pagoda_submission *get_interrupted(struct pagoda_queue *queue,
						 struct pagoda_line *line,
						 u32 bytes, u32 priv_bytes)
{
	tried_when_interrupted++;
	return ERR_PTR(-ERESTARTSYS);
}

static int place_interrupted(struct pagoda_bo *bo)
{
	struct pagoda_stream *stream = bo->vidmm->stream;
	struct pagoda_operation op = { .ttm.interruptible = true };
	struct kunit *test = kunit_get_current_test();
	int ret;

	if (stream->reserve)
		pagoda_submission_put(stream->reserve);
	stream->reserve = NULL;
	tried_when_interrupted = 0;
	kunit_activate_static_stub(test, pagoda_queue_get, get_interrupted);
	dma_resv_lock(bo->ttm.base.resv, NULL);
	ret = pagoda_bo_place(bo, pagoda_bo_placement_resident, &op);
	dma_resv_unlock(bo->ttm.base.resv);
	kunit_deactivate_static_stub(test, pagoda_queue_get);
	return ret;
}

/* A signal ends the search for room with -ERESTARTSYS: no other victim is tried. */
static void victims_interrupted(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[PIECES];
	u64 before;
	u32 last;

	pieces_make(rig, bos);
	last = fill(client, bos);
	settle_moves(rig);
	before = evictions(rig);
	KUNIT_EXPECT_EQ(test, -ERESTARTSYS, place_interrupted(bos[0]));
	KUNIT_EXPECT_EQ(test, 1u, tried_when_interrupted);
	KUNIT_ASSERT_EQ(test, 0, offer(rig, bos[last], DRM_PAGODA_OFFER_LOW));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, bos[last - 1], DRM_PAGODA_OFFER_LOW));
	settle_moves(rig);
	KUNIT_EXPECT_EQ(test, -ERESTARTSYS, place_interrupted(bos[0]));
	KUNIT_EXPECT_EQ(test, 1u, tried_when_interrupted);
	KUNIT_EXPECT_EQ(test, before, evictions(rig));
	/* All allocations are candidates as before. */
	KUNIT_EXPECT_EQ(test, 0, make_resident(rig, bos[0]));
	KUNIT_EXPECT_TRUE(test, in_vram(bos[0]));
	close_all(bos, PIECES);
	submit_client_end(client);
}

/* Every job uses its VM's private allocations, although it doesn't list them: they stay in VRAM. */
static void victims_private(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *owner = submit_client(rig, 0), *other = submit_client(rig, 1);
	struct pagoda_bo *mine = submit_private(owner, PIECE, SUBMIT_VRAM, HERE);
	struct pagoda_bo *bos[PIECES];
	u64 before;
	u32 i, n;

	pieces_make(rig, bos);
	before = evictions(rig);
	for (n = 0; evictions(rig) == before; n++) {
		KUNIT_ASSERT_LT(test, n, PIECES);
		KUNIT_ASSERT_EQ(test, 0, use(other, &bos[n], 1));
		KUNIT_ASSERT_EQ(test, 0, use(owner, NULL, 0));
	}
	KUNIT_EXPECT_TRUE(test, in_vram(mine));
	KUNIT_EXPECT_FALSE(test, in_vram(bos[0]));
	/* The VM is idle from now on: its private allocation becomes the longest unused. */
	for (i = 1; i < n; i++)
		KUNIT_EXPECT_EQ(test, 0, use(other, &bos[i], 1));
	KUNIT_EXPECT_EQ(test, 0, use(other, &bos[0], 1));
	KUNIT_EXPECT_FALSE(test, in_vram(mine));
	submit_close(owner, mine);
	close_all(bos, PIECES);
	submit_client_end(owner);
	submit_client_end(other);
}

/* Returns how many bytes of @bos count as spilled from VRAM (struct pagoda_memory). */
static u64 spilled(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count)
{
	struct pagoda_memory memory[PAGODA_BUDGET_SEGMENTS] = {};

	while (count--)
		pagoda_memory_add(memory, rig->client, bos[count], false);
	return memory[DRM_PAGODA_SEGMENT_VRAM].spilled;
}

/*
 * Allocations that trimming evicts count as spilled, and in the client's statistics; an allocation
 * with a held reservation stays.
 */
static void victims_trim(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_client_traffic *traffic = &rig->client->traffic;
	struct pagoda_bo *bos[PIECES];
	struct holder holder;
	u64 size = PIECE * PAGE_SIZE, before, out;
	u32 count, i;

	pieces_make(rig, bos);
	count = fill(client, bos);
	KUNIT_EXPECT_EQ(test, spilled(rig, bos, count + 1), size);
	before = atomic64_read(&traffic->evictions);
	out = atomic64_read(&traffic->paged_out);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(rig->vidmm, 0));
	KUNIT_EXPECT_EQ(test, atomic64_read(&traffic->evictions), before);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(rig->vidmm, 1));
	KUNIT_EXPECT_EQ(test, atomic64_read(&traffic->evictions), before + 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&traffic->paged_out), out + size);
	KUNIT_EXPECT_EQ(test, pagoda_vidmm_trimmed(rig->vidmm), size);
	KUNIT_EXPECT_EQ(test, spilled(rig, bos, count + 1), 2 * size);
	/* All allocations leave VRAM except bos[1], whose reservation is held. */
	KUNIT_ASSERT_EQ(test, 0, use(client, &bos[1], 1));
	holder_begin(&holder, bos[1]);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(rig->vidmm, U64_MAX));
	holder_end(&holder);
	for (i = 0; i < PIECES; i++)
		KUNIT_EXPECT_EQ(test, in_vram(bos[i]), i == 1);
	KUNIT_EXPECT_EQ(test, spilled(rig, bos, count + 1), count * size);
	/* The allocation that was passed over is still a candidate. */
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(rig->vidmm, 1));
	KUNIT_EXPECT_FALSE(test, in_vram(bos[1]));
	pagoda_rig_settle(rig);
	for (i = 0; i < PIECES; i++)
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i));
	KUNIT_ASSERT_EQ(test, 0, evict(rig, bos[1]));
	KUNIT_EXPECT_EQ(test, spilled(rig, bos, count + 1), count * size);
	close_all(bos, PIECES);
	submit_client_end(client);
}

/* ---- Everything at once ------------------------------------------------------------ */

/*
 * Expects that the policy has exactly the allocations in VRAM as candidates, no more than fit, and
 * that no allocation counts as tried by a search, kept for a call or moved with a PAGODA_PL_ flag.
 */
static void expect_known(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 step)
{
	struct pagoda_victims *victims = rig->vidmm->victims;
	u64 pages = 0;
	u32 i;

	spin_lock(&victims->lock);
	for (i = 0; i < PIECES; i++) {
		const struct pagoda_policy_item *item = &bos[i]->choice.item;

		KUNIT_EXPECT_EQ_MSG(rig->test, bos[i]->choice.in_vram, in_vram(bos[i]),
				    "allocation %u, step %u", i, step);
		KUNIT_EXPECT_EQ_MSG(rig->test, !list_empty(&item->order), in_vram(bos[i]),
				    "allocation %u, step %u", i, step);
		KUNIT_EXPECT_TRUE(rig->test, list_empty(&bos[i]->choice.tried));
		KUNIT_EXPECT_FALSE(rig->test, bos[i]->choice.keep);
		KUNIT_EXPECT_FALSE(rig->test, bos[i]->ttm.resource->placement & PAGODA_PL_FLAGS);
		pages += in_vram(bos[i]) ? item->pages : 0;
	}
	spin_unlock(&victims->lock);
	KUNIT_EXPECT_LE(rig->test, pages, victims->policy.capacity);
}

static int random_list(struct submit_client *client, struct pagoda_bo **bos,
		       struct rnd_state *random)
{
	u32 count = 1 + prandom_u32_state(random) % 4, first = prandom_u32_state(random) % PIECES;
	struct pagoda_bo *list[4];
	u32 i;

	for (i = 0; i < count; i++)
		list[i] = bos[(first + i) % PIECES];
	return use(client, list, count);
}

static void random_step(struct submit_client *client, struct pagoda_bo **bos,
			struct rnd_state *random)
{
	u32 which = prandom_u32_state(random) % PIECES, priority;
	struct pagoda_rig *rig = client->rig;
	struct kunit *test = rig->test;

	switch (prandom_u32_state(random) % 8) {
	case 0:
		KUNIT_EXPECT_EQ(test, 0, make_resident(rig, bos[which]));
		break;
	case 1:
		KUNIT_EXPECT_EQ(test, 0, evict(rig, bos[which]));
		break;
	case 2:
		KUNIT_EXPECT_EQ(test, 0, offer(rig, bos[which], DRM_PAGODA_OFFER_NORMAL));
		KUNIT_EXPECT_LE(test, 0, reclaim(rig, bos[which]));
		pagoda_rig_write(rig, bos[which], which);
		break;
	case 3:
		priority = DRM_PAGODA_RESIDENCY_MINIMUM +
			   prandom_u32_state(random) %
			   (DRM_PAGODA_RESIDENCY_MAXIMUM - DRM_PAGODA_RESIDENCY_MINIMUM);
		KUNIT_EXPECT_EQ(test, 0,
				pagoda_set_priority(rig->vidmm, &bos[which], &priority, 1));
		break;
	case 4:
		pagoda_rig_close(bos[which]);
		bos[which] = piece_outside(rig, which);
		break;
	default:
		KUNIT_EXPECT_EQ(test, 0, random_list(client, bos, random));
	}
}

/*
 * After each of many random uses, evictions, offers, priorities and closings the policy knows what
 * is in VRAM; in the end all content is intact.
 */
static void victims_random(struct kunit *test)
{
	const u64 seed = 0x71c7135;
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[PIECES];
	struct rnd_state random;
	u32 i;

	kunit_info(test, "seed %llu", seed);
	prandom_seed_state(&random, seed);
	pieces_make(rig, bos);
	for (i = 0; i < STEPS; i++) {
		random_step(client, bos, &random);
		expect_known(rig, bos, i);
	}
	for (i = 0; i < PIECES; i++)
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i));
	close_all(bos, PIECES);
	submit_client_end(client);
}

/*
 * For a contiguous allocation that needs all of VRAM, the allocation at the lowest address can't be
 * evicted: the other one isn't evicted for nothing.
 */
static void victims_leave_no_window(struct kunit *test)
{
	const u32 pages = PAGODA_RIG_VRAM_PAGES, contiguous = DRM_PAGODA_ALLOCATION_CONTIGUOUS;
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *want = pagoda_rig_bo(rig, pages, CPU | contiguous, SUBMIT_VRAM, 0);
	struct pagoda_bo *low = pagoda_rig_bo(rig, pages / 2, CPU, SUBMIT_VRAM, 0);
	struct pagoda_bo *high = pagoda_rig_bo(rig, pages / 2, CPU, SUBMIT_VRAM, 0);
	struct ttm_place places[4];
	const struct ttm_placement placement = { .placement = places, .num_placement = 1 };
	struct pagoda_operation op = {};
	struct pagoda_placing placing = { .op = &op };
	struct pagoda_dmem_claim claim = {};
	struct other_work *work;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(low));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(high));
	pagoda_rig_settle(rig);
	if (low->ttm.resource->start > high->ttm.resource->start)
		swap(low, high);
	work = other_work_add(test, low, DMA_RESV_USAGE_BOOKKEEP);
	dma_resv_lock(want->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 1u, pagoda_bo_placement_resident(want, places));
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_victims_place(want, &placement, &placing,
							    pagoda_window_take, &claim));
	pagoda_dmem_claim_end(&claim);
	pagoda_vram_unclaim(rig->vidmm, &placing.claim);
	dma_resv_unlock(want->ttm.base.resv);
	KUNIT_EXPECT_TRUE(test, in_vram(low));
	KUNIT_EXPECT_TRUE(test, in_vram(high));
	dma_fence_signal(&work->base);
	other_work_put(work);
	pagoda_rig_close(want);
	pagoda_rig_close(low);
	pagoda_rig_close(high);
}

/*
 * All victims are tried once more if the claim refused some while others were evicted; and once
 * without regard to dmem.low, if nothing else is left.
 */
static void victims_are_tried_again(struct kunit *test)
{
	struct pagoda_dmem_claim claim = { .refused = true, .hit_low = true, .taken = true };

	KUNIT_EXPECT_TRUE(test, pagoda_dmem_claim_again(&claim));
	KUNIT_EXPECT_FALSE(test, claim.low);
	/* Another attempt, in which the claim refused none. */
	KUNIT_EXPECT_FALSE(test, pagoda_dmem_claim_again(&claim));
	KUNIT_EXPECT_FALSE(test, claim.low);
	claim.refused = true;
	claim.hit_low = true;
	KUNIT_EXPECT_TRUE(test, pagoda_dmem_claim_again(&claim));
	KUNIT_EXPECT_TRUE(test, claim.low);
	claim.refused = true;
	claim.hit_low = true;
	KUNIT_EXPECT_FALSE(test, pagoda_dmem_claim_again(&claim));
}

/* The policy forgets an allocation that is freed: as a candidate, and as used lately. */
static void victims_freed(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_policy *policy = &rig->vidmm->victims->policy;
	const struct pagoda_policy_group *group = &rig->client->choice.group;
	u64 recent = policy->recent_pages, filled = policy->filled;
	u32 lanes = group->nr_lanes;
	struct pagoda_bo *bo = piece(rig, CPU, SUBMIT_VRAM, 1);

	KUNIT_ASSERT_EQ(test, 0, use(client, &bo, 1));
	KUNIT_EXPECT_EQ(test, recent + PIECE, policy->recent_pages);
	KUNIT_EXPECT_LT(test, lanes, group->nr_lanes);
	pagoda_rig_close(bo);
	pagoda_rig_settle_freed(rig);
	KUNIT_EXPECT_EQ(test, recent, policy->recent_pages);
	KUNIT_EXPECT_EQ(test, lanes, group->nr_lanes);
	KUNIT_EXPECT_EQ(test, filled, policy->filled);
	submit_client_end(client);
}

static struct kunit_case victims_cases[] = {
	KUNIT_CASE(victims_interrupted),
	KUNIT_CASE(victims_leave_no_window),
	KUNIT_CASE(victims_are_tried_again),
	KUNIT_CASE_PARAM(victims_cycle, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(victims_held, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(victims_kept, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(victims_dead, pagoda_rig_mmu_modes),
	KUNIT_CASE(victims_freed),
	KUNIT_CASE_PARAM(victims_private, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(victims_trim, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(victims_random, pagoda_rig_mmu_modes),
	{}
};

static struct kunit_suite victims_suite = {
	.name = "pagoda_victims",
	.test_cases = victims_cases,
};

kunit_test_suite(victims_suite);
