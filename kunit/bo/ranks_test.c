// SPDX-License-Identifier: GPL-2.0
/*
 * The order in which allocations of several clients leave VRAM: budgets before priorities. And that
 * a search for victims looks at few candidates, however many allocations can't leave now.
 */
#include "queue/queue_helpers.h"
#include "residency/offer_helpers.h"

#define LOCAL		DRM_PAGODA_SEGMENT_GROUP_LOCAL
#define OURS		5	/* these and three pieces of the other client fill VRAM */
#define THEIRS		4

/* Allocations of PIECE pages each: the rig's client owns @ours, the client @other owns @theirs. */
struct two {
	struct pagoda_rig *rig;
	struct pagoda_client *other;
	struct pagoda_bo *ours[OURS];
	struct pagoda_bo *theirs[THEIRS];
};

static struct pagoda_bo *two_piece(struct two *two, struct pagoda_client *client, u32 priority)
{
	const struct pagoda_bo_params params = {
		.size = (u64)PIECE << PAGE_SHIFT,
		.supported = SUBMIT_VRAM,
	};
	struct pagoda_bo *bo = pagoda_bo_create(two->rig->vidmm, client, &params);

	KUNIT_ASSERT_FALSE(two->rig->test, IS_ERR(bo));
	KUNIT_ASSERT_EQ(two->rig->test, 0,
			pagoda_set_priority(two->rig->vidmm, &bo, &priority, 1));
	return bo;
}

/*
 * Fills VRAM with five allocations of the rig's client, of priority @ours, and three of the other
 * client, of priority @theirs; the other client's fourth allocation isn't in VRAM yet. The rig's
 * client wants 640 pages. Of the pool of 992 pages its budget is 608, or 496 once the other client
 * wants 512. The other client's budget is 496.
 */
static void two_make(struct kunit *test, struct two *two, u32 ours, u32 theirs)
{
	u32 i;

	two->rig = pagoda_rig_create_mode(test);
	two->other = pagoda_client_create(two->rig->vidmm);
	KUNIT_ASSERT_NOT_NULL(test, two->other);
	for (i = 0; i < OURS; i++) {
		two->ours[i] = two_piece(two, two->rig->client, ours);
		KUNIT_ASSERT_EQ(test, 0, make_resident(two->rig, two->ours[i]));
	}
	for (i = 0; i < THEIRS; i++)
		two->theirs[i] = two_piece(two, two->other, theirs);
	for (i = 0; i + 1 < THEIRS; i++)
		KUNIT_ASSERT_EQ(test, 0, make_resident(two->rig, two->theirs[i]));
	settle_moves(two->rig);
	KUNIT_ASSERT_FALSE(test, in_vram(two->theirs[THEIRS - 1]));
}

static void two_end(struct two *two)
{
	close_all(two->ours, OURS);
	close_all(two->theirs, THEIRS);
	pagoda_client_put(two->other);
}

static u32 count_in_vram(struct pagoda_bo **bos, u32 count)
{
	u32 i, n = 0;

	for (i = 0; i < count; i++)
		n += in_vram(bos[i]);
	return n;
}

static void two_bring(struct two *two, struct pagoda_bo *bo)
{
	KUNIT_ASSERT_EQ(two->rig->test, 0, make_resident(two->rig, bo));
	KUNIT_ASSERT_TRUE(two->rig->test, in_vram(bo));
	settle_moves(two->rig);
}

/* Brings back an allocation of the rig's client that has left VRAM. */
static void two_bring_back(struct two *two)
{
	u32 i;

	for (i = 0; in_vram(two->ours[i]); i++)
		KUNIT_ASSERT_LT(two->rig->test, i + 1, OURS);
	two_bring(two, two->ours[i]);
}

/*
 * The highest priority doesn't help a client that is over its budget against a client that isn't.
 * Once both clients are over their budgets, the allocation of lower priority leaves.
 */
static void ranks_budget(struct kunit *test)
{
	struct two two;

	two_make(test, &two, DRM_PAGODA_RESIDENCY_MAXIMUM, DRM_PAGODA_RESIDENCY_MINIMUM);
	two_bring(&two, two.theirs[3]);
	KUNIT_EXPECT_EQ(test, count_in_vram(two.ours, OURS), OURS - 1);
	KUNIT_EXPECT_EQ(test, count_in_vram(two.theirs, THEIRS), THEIRS);
	/* Each client has 512 pages in VRAM now, and wants at least these, of a budget of 496. */
	KUNIT_EXPECT_TRUE(test, pagoda_budget_is_over(&two.rig->client->budget));
	KUNIT_EXPECT_TRUE(test, pagoda_budget_is_over(&two.other->budget));
	two_bring_back(&two);
	KUNIT_EXPECT_EQ(test, count_in_vram(two.ours, OURS), OURS);
	KUNIT_EXPECT_EQ(test, count_in_vram(two.theirs, THEIRS), THEIRS - 1);
	/* The other client has 384 pages in VRAM, of a budget of 496, although it wants 512. */
	KUNIT_EXPECT_FALSE(test, pagoda_budget_is_over(&two.other->budget));
	two_end(&two);
}

/* While both clients are within their budgets, priorities decide. */
static void ranks_within(struct kunit *test)
{
	struct two two;

	two_make(test, &two, DRM_PAGODA_RESIDENCY_MAXIMUM, DRM_PAGODA_RESIDENCY_MINIMUM);
	/* The rig's client now wants 512 pages of a budget of 608, the other client 384 of 496. */
	KUNIT_ASSERT_EQ(test, 0, evict(two.rig, two.ours[0]));
	settle_moves(two.rig);
	KUNIT_EXPECT_FALSE(test, pagoda_budget_is_over(&two.rig->client->budget));
	KUNIT_EXPECT_FALSE(test, pagoda_budget_is_over(&two.other->budget));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(two.rig->vidmm, 1));
	KUNIT_EXPECT_EQ(test, count_in_vram(two.ours, OURS), OURS - 1);
	KUNIT_EXPECT_EQ(test, count_in_vram(two.theirs, THEIRS), THEIRS - 2);
	two_end(&two);
}

/*
 * An allocation that a client within its budget uses, too, counts as a candidate of that client and
 * stays. The allocation leaves once all its users are over their budgets, and counts as a candidate
 * of its owner again once no other client uses it.
 */
static void ranks_shared(struct kunit *test)
{
	const u32 low = DRM_PAGODA_RESIDENCY_LOW, lowest = DRM_PAGODA_RESIDENCY_MINIMUM;
	struct pagoda_bo *shared;
	struct two two;
	u64 trim;

	two_make(test, &two, DRM_PAGODA_RESIDENCY_NORMAL, low);
	shared = two.ours[2];
	KUNIT_ASSERT_EQ(test, 0, pagoda_set_priority(two.rig->vidmm, &shared, &lowest, 1));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(two.other, &shared, 1, &trim));
	two_bring(&two, two.theirs[3]);
	KUNIT_EXPECT_EQ(test, count_in_vram(two.ours, OURS), OURS - 1);
	KUNIT_EXPECT_TRUE(test, in_vram(shared));
	KUNIT_EXPECT_PTR_EQ(test, pagoda_policy_owner_of(&shared->choice.item),
			    (const struct pagoda_policy_owner *)&two.other->choice.owner);
	/* Both clients are over their budgets now. */
	two_bring_back(&two);
	KUNIT_EXPECT_FALSE(test, in_vram(shared));
	KUNIT_EXPECT_EQ(test, count_in_vram(two.theirs, THEIRS), THEIRS);
	KUNIT_ASSERT_EQ(test, 0,
			pagoda_require_release(two.other, &shared, 1, false, 0));
	KUNIT_EXPECT_PTR_EQ(test, pagoda_policy_owner_of(&shared->choice.item),
			    (const struct pagoda_policy_owner *)&two.rig->client->choice.owner);
	two_end(&two);
}

/*
 * A client whose single allocation is larger than the client's budget is over its budget: the
 * allocation leaves VRAM, although those of the other client have the lowest priority.
 */
static void ranks_single(struct kunit *test)
{
	struct two two = { .rig = pagoda_rig_create_mode(test) };
	struct pagoda_bo *large = pagoda_rig_bo(two.rig, 6 * PIECE, 0, SUBMIT_VRAM, 0);
	u32 i;

	two.other = pagoda_client_create(two.rig->vidmm);
	KUNIT_ASSERT_NOT_NULL(test, two.other);
	two_bring(&two, large);
	for (i = 0; i < 3; i++) {
		two.theirs[i] = two_piece(&two, two.other, DRM_PAGODA_RESIDENCY_MINIMUM);
		two_bring(&two, two.theirs[i]);
	}
	KUNIT_EXPECT_FALSE(test, in_vram(large));
	KUNIT_EXPECT_EQ(test, count_in_vram(two.theirs, 3), 3u);
	close_all(two.theirs, 3);
	pagoda_rig_close(large);
	pagoda_client_put(two.other);
}

/* A client within its budget protects an allocation that it shares only until the client ends. */
static void ranks_user_ends(struct kunit *test)
{
	const u32 lowest = DRM_PAGODA_RESIDENCY_MINIMUM;
	struct pagoda_client *user;
	struct pagoda_bo *shared;
	struct two two;
	u64 trim;

	two_make(test, &two, DRM_PAGODA_RESIDENCY_NORMAL, DRM_PAGODA_RESIDENCY_LOW);
	shared = two.ours[2];
	user = pagoda_client_create(two.rig->vidmm);
	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_ASSERT_EQ(test, 0, pagoda_set_priority(two.rig->vidmm, &shared, &lowest, 1));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(user, &shared, 1, &trim));
	two_bring(&two, two.theirs[3]);
	KUNIT_EXPECT_TRUE(test, in_vram(shared));
	pagoda_require_forget_all(user);
	pagoda_client_put(user);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(two.rig->vidmm, 1));
	KUNIT_EXPECT_FALSE(test, in_vram(shared));
	two_end(&two);
}

/* ---- Allocations that can't leave now ----------------------------------------------- */

#define SHARE		(PAGODA_RIG_VRAM_PAGES / 4)	/* pages of all private allocations */
#define MOST		64
#define HERE		SZ_4M
#define LOOKS_EACH	8u	/* most candidates that a search looks at for each victim */
#define LOOKS		64u	/* most candidates that a search looks at, however many are held */

/* A VM's private allocations, SHARE pages in all, and other allocations, which fill VRAM. */
struct crowd {
	struct submit_client *client;
	struct pagoda_bo *private[MOST];
	u32 count;
	struct pagoda_bo *pieces[9];
	u32 nr_pieces;
};

static u64 left_vram(struct pagoda_rig *rig)
{
	return atomic64_read(&rig->vidmm->stats.evictions);
}

static struct pagoda_bo *crowd_piece(struct pagoda_rig *rig, u32 pages, u32 priority)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, pages, CPU, SUBMIT_VRAM, 0);

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_set_priority(rig->vidmm, &bo, &priority, 1));
	return bo;
}

/*
 * Brings @count private allocations to VRAM, then other allocations, of a higher priority, until
 * one of the private allocations has to leave.
 */
static void crowd_make(struct kunit *test, struct crowd *crowd, u32 count)
{
	const u32 low = DRM_PAGODA_RESIDENCY_LOW;
	struct pagoda_rig *rig = submit_rig(test);
	u32 i;

	crowd->client = submit_client(rig, 0);
	crowd->count = count;
	for (i = 0; i < count; i++) {
		crowd->private[i] = submit_private(crowd->client, SHARE / count, SUBMIT_VRAM,
						   HERE + i * SZ_1M);
		KUNIT_ASSERT_EQ(test, 0,
				pagoda_set_priority(rig->vidmm, &crowd->private[i], &low, 1));
		KUNIT_ASSERT_EQ(test, 0, make_resident(rig, crowd->private[i]));
	}
	settle_moves(rig);
	KUNIT_ASSERT_EQ(test, count_in_vram(crowd->private, count), count);
	for (i = 0; i < ARRAY_SIZE(crowd->pieces) && !left_vram(rig); i++) {
		crowd->pieces[i] = crowd_piece(rig, PIECE, DRM_PAGODA_RESIDENCY_HIGH);
		KUNIT_ASSERT_EQ(test, 0, make_resident(rig, crowd->pieces[i]));
		settle_moves(rig);
	}
	crowd->nr_pieces = i;
	KUNIT_ASSERT_EQ(test, count_in_vram(crowd->pieces, i), i);
	KUNIT_ASSERT_LT(test, count_in_vram(crowd->private, count), count);
}

static void crowd_end(struct crowd *crowd)
{
	u32 i;

	close_all(crowd->pieces, crowd->nr_pieces);
	for (i = 0; i < crowd->count; i++)
		submit_close(crowd->client, crowd->private[i]);
	submit_client_end(crowd->client);
}

/* How often a search has asked whether a candidate is busy. */
static u32 crowd_asked;
static bool (*crowd_was_busy)(struct pagoda_policy_item *item);

static bool crowd_is_busy(struct pagoda_policy_item *item)
{
	crowd_asked++;
	return crowd_was_busy(item);
}

/*
 * Brings @bo to VRAM while @held, unless NULL, is locked, too. Returns how often the policy asked
 * whether a candidate is busy.
 */
static u32 crowd_place(struct crowd *crowd, struct pagoda_bo *bo, struct dma_resv *held)
{
	struct pagoda_rig *rig = crowd->client->rig;
	struct pagoda_policy *policy = &rig->vidmm->victims->policy;
	struct pagoda_operation op = {};

	dma_resv_lock(bo->ttm.base.resv, NULL);
	if (held)
		KUNIT_EXPECT_TRUE(rig->test, dma_resv_trylock(held));
	crowd_asked = 0;
	crowd_was_busy = policy->is_busy;
	policy->is_busy = crowd_is_busy;
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_bo_place(bo, pagoda_bo_placement_resident, &op));
	policy->is_busy = crowd_was_busy;
	if (held)
		dma_resv_unlock(held);
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_EXPECT_TRUE(rig->test, in_vram(bo));
	settle_moves(rig);
	return crowd_asked;
}

/*
 * While a VM's reservation is held, a search passes over all of the VM's private allocations at
 * once. A search after that finds these allocations.
 */
static void crowd_locked(struct kunit *test, u32 count)
{
	struct pagoda_bo *want;
	struct crowd crowd;
	u32 left, looks;

	crowd_make(test, &crowd, count);
	left = count_in_vram(crowd.private, count);
	want = crowd_piece(crowd.client->rig, PIECE, DRM_PAGODA_RESIDENCY_HIGH);
	looks = crowd_place(&crowd, want, crowd.private[0]->ttm.base.resv);
	kunit_info(test, "%u private allocations: %u candidates asked about\n", count, looks);
	KUNIT_EXPECT_LE(test, looks, LOOKS);
	KUNIT_EXPECT_EQ(test, count_in_vram(crowd.private, count), left);
	KUNIT_EXPECT_EQ(test, count_in_vram(crowd.pieces, crowd.nr_pieces), crowd.nr_pieces - 1);
	pagoda_rig_close(want);
	settle_moves(crowd.client->rig);
	want = crowd_piece(crowd.client->rig, 3 * PIECE / 2, DRM_PAGODA_RESIDENCY_HIGH);
	crowd_place(&crowd, want, NULL);
	KUNIT_EXPECT_LT(test, count_in_vram(crowd.private, count), left);
	pagoda_rig_close(want);
	crowd_end(&crowd);
}

static void ranks_locked(struct kunit *test)
{
	crowd_locked(test, 4);
}

static void ranks_locked_many(struct kunit *test)
{
	crowd_locked(test, MOST);
}

/*
 * All of a VM's private allocations are busy while the VM has a job in flight. Offered private
 * allocations are discarded behind the job, and the number of candidates that a search looks at
 * depends on the number of victims, not on that of offered allocations.
 */
static void crowd_offered(struct kunit *test, u32 count)
{
	const u32 pages = SHARE / MOST;
	struct dma_fence *fence = pagoda_test_fence(test);
	struct pagoda_bo *want;
	struct pagoda_rig *rig;
	struct crowd crowd;
	u32 i, left, looks, discarded = 0;

	crowd_make(test, &crowd, count);
	rig = crowd.client->rig;
	left = count_in_vram(crowd.private, count);
	make_busy(rig, crowd.private[0], fence);
	for (i = 0; i < count; i++)
		KUNIT_ASSERT_EQ(test, 0, offer(rig, crowd.private[i], DRM_PAGODA_OFFER_NORMAL));
	/*
	 * More pages than are free since private allocations left VRAM in crowd_make(): at least
	 * one more private allocation has to leave.
	 */
	want = crowd_piece(rig, PIECE / 2 + pages, DRM_PAGODA_RESIDENCY_HIGH);
	looks = crowd_place(&crowd, want, NULL);
	left -= count_in_vram(crowd.private, count);
	KUNIT_EXPECT_EQ(test, count_in_vram(crowd.pieces, crowd.nr_pieces), crowd.nr_pieces);
	for (i = 0; i < count; i++)
		discarded += crowd.private[i]->offer.discarded;
	kunit_info(test, "%u offered, %u discarded: %u asked about\n", count, left, looks);
	KUNIT_EXPECT_GT(test, left, 0);
	KUNIT_EXPECT_EQ(test, discarded, left);
	KUNIT_EXPECT_LE(test, looks, LOOKS_EACH * (left + 1));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	settle_moves(rig);
	pagoda_rig_close(want);
	crowd_end(&crowd);
}

static void ranks_offered(struct kunit *test)
{
	crowd_offered(test, 4);
}

static void ranks_offered_many(struct kunit *test)
{
	crowd_offered(test, MOST);
}

static struct kunit_case ranks_cases[] = {
	KUNIT_CASE(ranks_offered),
	KUNIT_CASE(ranks_offered_many),
	KUNIT_CASE(ranks_locked),
	KUNIT_CASE(ranks_locked_many),
	KUNIT_CASE_PARAM(ranks_budget, pagoda_rig_mmu_modes),
	KUNIT_CASE(ranks_within),
	KUNIT_CASE_PARAM(ranks_shared, pagoda_rig_mmu_modes),
	KUNIT_CASE(ranks_single),
	KUNIT_CASE(ranks_user_ends),
	{}
};

static struct kunit_suite ranks_suite = {
	.name = "pagoda_ranks",
	.test_cases = ranks_cases,
};

kunit_test_suite(ranks_suite);
