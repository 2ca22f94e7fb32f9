// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of implicit order between a job that lists two allocations and a job that lists one of
 * them: what counts is how both jobs use the common allocation.
 */
#include "submit_helpers.h"

#define CPU	DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define READS	DRM_PAGODA_SUBMIT_IMPLICIT
#define WRITES	(DRM_PAGODA_SUBMIT_IMPLICIT | DRM_PAGODA_SUBMIT_WRITE)
#define AT_ONCE	(5 * HZ)

/*
 * One job uses two allocations as @flags says. The other job uses allocation @which as @other
 * says; it is the second job if @after is set, else the first. @waits: the second job has to wait
 * for the first.
 */
static const struct order_pair {
	u32 flags[2];
	u32 which;
	u32 other;
	bool after;
	bool waits;
} order_pairs[] = {
	{ { WRITES, READS }, 0, READS, true, true },
	{ { WRITES, READS }, 1, READS, true, false },
	{ { READS, WRITES }, 0, READS, true, false },
	{ { READS, WRITES }, 1, READS, true, true },
	{ { READS, READS }, 0, WRITES, true, true },
	{ { READS, READS }, 1, WRITES, true, true },
	{ { WRITES, READS }, 0, READS, false, true },
	{ { WRITES, READS }, 1, READS, false, false },
	{ { READS, WRITES }, 0, READS, false, false },
	{ { READS, WRITES }, 1, READS, false, true },
	{ { READS, READS }, 0, WRITES, false, true },
	{ { READS, READS }, 1, WRITES, false, true },
};

/* A client whose engine is held, and two clients of another engine. */
struct order_test {
	struct pagoda_rig *rig;
	struct submit_client *held;
	struct submit_client *free;
	struct submit_client *later;
};

/* Returns whether the client's last job ended, after waiting for at most @patience jiffies. */
static bool order_has_ended(struct submit_client *client, long patience)
{
	struct dma_fence *fence;
	bool ended;

	if (!submit_point(client->done, client->sent, &fence))
		return false;
	ended = !fence || dma_fence_wait_timeout(fence, false, patience) > 0;
	dma_fence_put(fence);
	return ended;
}

/*
 * Waits until the engine of @t->free has executed jobs that were submitted after the job of
 * @t->free: if that job didn't have to wait, it has ended, too.
 */
static void order_pass(struct order_test *t)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(t->rig->test, 0, submit_empty(t->later, NULL));
		KUNIT_ASSERT_EQ(t->rig->test, 0, submit_wait(t->later));
	}
}

static void order_try(struct order_test *t, const struct order_pair *pair, u32 number)
{
	struct pagoda_bo *bos[] = {
		pagoda_rig_bo(t->rig, 1, CPU, SUBMIT_VRAM, 0),
		pagoda_rig_bo(t->rig, 1, CPU, SUBMIT_VRAM, 0),
	};
	const struct submit_args both = {
		.bos = { bos[0], bos[1] },
		.flags = { pair->flags[0], pair->flags[1] },
		.nr_bos = 2,
	};
	const struct submit_args one = {
		.bos = { bos[pair->which] }, .flags = { pair->other }, .nr_bos = 1,
	};
	struct kunit *test = t->rig->test;

	pagoda_rig_hold(t->rig, 1, true);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(t->held, pair->after ? &both : &one));
	KUNIT_ASSERT_EQ(test, 0, submit_empty(t->free, pair->after ? &one : &both));
	if (pair->waits)
		order_pass(t);
	KUNIT_EXPECT_EQ_MSG(test, !pair->waits,
			    order_has_ended(t->free, pair->waits ? 1 : AT_ONCE), "pair %u", number);
	pagoda_rig_hold(t->rig, 1, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(t->held));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(t->free));
	pagoda_rig_close(bos[0]);
	pagoda_rig_close(bos[1]);
}

/*
 * With IMPLICIT a job waits for earlier writers of an allocation, and for earlier readers only if
 * the job writes the allocation.
 */
static void order_counts_each_allocation(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct order_test t = {
		.rig = rig,
		.held = submit_client(rig, 1),
		.free = submit_client(rig, 0),
		.later = submit_client(rig, 0),
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(order_pairs); i++)
		order_try(&t, &order_pairs[i], i);
	submit_client_end(t.later);
	submit_client_end(t.free);
	submit_client_end(t.held);
}

static struct kunit_case order_cases[] = {
	KUNIT_CASE(order_counts_each_allocation),
	{ }
};

static struct kunit_suite order_suite = {
	.name = "pagoda_submit_order",
	.test_cases = order_cases,
};

kunit_test_suite(order_suite);
