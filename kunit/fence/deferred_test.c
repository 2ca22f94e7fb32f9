// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of pagoda_deferred_settle() and pagoda_deferred_cancel() while another thread has the
 * queue's worker run again and again; of pagoda_deferred_settle() when its first two flushes
 * return at once, as while another thread is just queueing the worker; of a hurried queue whose
 * item has to be submitted again and again; of a queue of a client that has too much paging in
 * flight; and of a value that was reached for a moment only.
 */
#include <kunit/static_stub.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sizes.h>
#include "rig/rig.h"

#define ROUNDS	4000

struct work_world {
	struct pagoda_rig *rig;
	struct pagoda_deferred queue;
	struct pagoda_deferred_item item;
	struct pagoda_syncs nothing;
	atomic_t made;
	bool stop;
	struct completion stopped;
};

static int work_make(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	atomic_inc(&container_of(queue, struct work_world, queue)->made);
	return 0;
}

static void work_put(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
}

static const struct pagoda_deferred_ops work_ops = {
	.make = work_make,
	.put = work_put,
};

/*
 * A thread that has the workers of all queues with items run again and again, until @stop is set.
 */
static int work_kick(void *data)
{
	struct work_world *world = data;

	while (!READ_ONCE(world->stop)) {
		pagoda_deferred_kick(world->rig->vidmm);
		cond_resched();
	}
	complete(&world->stopped);
	return 0;
}

static void deferred_settles(struct kunit *test)
{
	struct work_world *world = test_zalloc(test, sizeof(*world));
	u32 unmade = 0, n;

	world->rig = pagoda_rig_create(test, NULL);
	init_completion(&world->stopped);
	pagoda_deferred_init(&world->queue, world->rig->vidmm, &world->rig->client->payer,
			     &work_ops, false);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(work_kick, world, "pagoda-kick")));
	for (n = 0; n < ROUNDS; n++) {
		if (pagoda_deferred_prepare(&world->item, &world->nothing))
			break;
		pagoda_deferred_add(&world->queue, &world->item);
		KUNIT_EXPECT_EQ(test, 0, pagoda_deferred_settle(&world->queue));
		unmade += atomic_read(&world->made) != n + 1;
		/*
		 * The next round adds the item again: wait until the worker has removed and put it.
		 */
		pagoda_deferred_wait_room(&world->queue, 1);
		flush_delayed_work(&world->queue.work);
	}
	WRITE_ONCE(world->stop, true);
	wait_for_completion(&world->stopped);
	pagoda_deferred_cancel(&world->queue, -ECANCELED);
	KUNIT_EXPECT_EQ(test, ROUNDS, n);
	KUNIT_EXPECT_EQ(test, 0u, unmade);
}

/*
 * After pagoda_deferred_cancel() the queue has no item, however often another thread has the
 * queue's worker run during the call.
 */
static void deferred_cancels(struct kunit *test)
{
	struct work_world *world = test_zalloc(test, sizeof(*world));
	u32 left = 0, n;

	world->rig = pagoda_rig_create(test, NULL);
	init_completion(&world->stopped);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(work_kick, world, "pagoda-kick")));
	for (n = 0; n < ROUNDS && !left; n++) {
		pagoda_deferred_init(&world->queue, world->rig->vidmm,
				     &world->rig->client->payer, &work_ops, false);
		if (pagoda_deferred_prepare(&world->item, &world->nothing))
			break;
		pagoda_deferred_add(&world->queue, &world->item);
		pagoda_deferred_cancel(&world->queue, -ECANCELED);
		left += !pagoda_deferred_is_empty(&world->queue);
	}
	WRITE_ONCE(world->stop, true);
	wait_for_completion(&world->stopped);
	/* Items that are left must not outlive the test. */
	while (!pagoda_deferred_is_empty(&world->queue)) {
		pagoda_deferred_again(&world->queue);
		flush_delayed_work(&world->queue.work);
	}
	KUNIT_EXPECT_EQ(test, 0u, left);
	KUNIT_EXPECT_EQ(test, ROUNDS, n);
}

/*
 * A queue, the first two flushes of which return at once, as while another thread is just queueing
 * the worker; and its item, which waits for @value, a wait for a value of @fence.
 * &pagoda_deferred_ops.make of the item returns when @go is completed.
 */
struct race_world {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_deferred queue;
	struct pagoda_deferred_item item;
	struct pagoda_sync sync;
	struct pagoda_syncs syncs;
	struct pagoda_mfence *fence;
	struct pagoda_mfence_wait value;
	struct completion go;
	u32 flushes;
	bool made;
};

static int race_make(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct race_world *world = container_of(queue, struct race_world, queue);

	wait_for_completion(&world->go);
	WRITE_ONCE(world->made, true);
	return 0;
}

static const struct pagoda_deferred_ops race_ops = {
	.make = race_make,
	.put = work_put,
};

/*
 * Replaces pagoda_deferred_flush(): returns at once in the first two calls; from the third on
 * completes @go, runs the worker and waits for the end of that run.
 */
static void race_flush(struct pagoda_deferred *queue)
{
	struct race_world *world = container_of(queue, struct race_world, queue);

	if (world->flushes++ < 2)
		return;
	complete_all(&world->go);
	pagoda_deferred_kick(world->rig->vidmm);
	flush_delayed_work(&queue->work);
}

static void race_value_came(struct pagoda_mfence_wait *wait, int error)
{
}

/* Returns a world with an item in the queue, which waits for value 1 of a fence; its value is 0. */
static struct race_world *race_create(struct kunit *test)
{
	struct race_world *world = test_zalloc(test, sizeof(*world));

	world->test = test;
	world->rig = pagoda_rig_create(test, NULL);
	init_completion(&world->go);
	world->fence = test_ok(test, pagoda_mfence_create(world->rig->vidmm, world->rig->client,
							  0, 0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_mfence_wait_init(&world->value, world->fence, 1,
							 race_value_came, NULL));
	world->sync.value = &world->value;
	world->syncs = (struct pagoda_syncs) { .list = &world->sync, .count = 1 };
	pagoda_deferred_init(&world->queue, world->rig->vidmm, &world->rig->client->payer,
			     &race_ops, false);
	KUNIT_ASSERT_EQ(test, 0, pagoda_deferred_prepare(&world->item, &world->syncs));
	pagoda_deferred_add(&world->queue, &world->item);
	return world;
}

/*
 * Calls pagoda_deferred_settle() with race_flush() in place of pagoda_deferred_flush(), and expects
 * that on return the item has been made all the same. Ends the queue and drops the fence.
 */
static void race_settle(struct race_world *world)
{
	struct kunit *test = world->test;

	kunit_activate_static_stub(test, pagoda_deferred_flush, race_flush);
	KUNIT_EXPECT_EQ(test, 0, pagoda_deferred_settle(&world->queue));
	kunit_deactivate_static_stub(test, pagoda_deferred_flush);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(world->made));
	complete_all(&world->go);
	pagoda_deferred_cancel(&world->queue, -ECANCELED);
	pagoda_mfence_wait_fini(&world->value);
	pagoda_mfence_put(world->fence);
}

static void race_signal(struct race_world *world)
{
	const struct pagoda_mfence_value entry = { .mfence = world->fence, .value = 1 };

	KUNIT_ASSERT_EQ(world->test, 0, pagoda_mfences_signal(world->rig->vidmm, &entry, 1));
}

/*
 * The value that the item waits for has come, and a run of the worker, for which the first two
 * flushes don't wait, makes the item: pagoda_deferred_settle() waits until the item is made.
 */
static void deferred_settles_unflushed(struct kunit *test)
{
	struct race_world *world = race_create(test);

	race_signal(world);
	race_settle(world);
	KUNIT_EXPECT_EQ(test, 3u, world->flushes);
}

/*
 * A run of the worker found the item held up, and then the value came for which the item waits.
 * pagoda_deferred_settle() doesn't return for what that run found, but waits for a new run.
 */
static void deferred_settles_outdated(struct kunit *test)
{
	struct race_world *world = race_create(test);

	flush_delayed_work(&world->queue.work);
	KUNIT_ASSERT_NE(test, 0u, READ_ONCE(world->queue.held_up));
	cancel_delayed_work_sync(&world->queue.work);
	/* The value comes without a kick: no run finds the value before the call below. */
	spin_lock_irq(&world->fence->lock);
	pagoda_mfence_write(world->fence, 1);
	spin_unlock_irq(&world->fence->lock);
	race_settle(world);
	KUNIT_EXPECT_EQ(test, 3u, world->flushes);
}

/*
 * If the item stays held up, pagoda_deferred_settle() returns once a run of the worker that began
 * during the call has found the item held up.
 */
static void deferred_settles_held_up(struct kunit *test)
{
	struct race_world *world = race_create(test);
	u32 before;

	flush_delayed_work(&world->queue.work);
	cancel_delayed_work_sync(&world->queue.work);
	before = READ_ONCE(world->queue.runs);
	kunit_activate_static_stub(test, pagoda_deferred_flush, race_flush);
	pagoda_deferred_settle(&world->queue);
	kunit_deactivate_static_stub(test, pagoda_deferred_flush);
	KUNIT_EXPECT_NE(test, before, READ_ONCE(world->queue.runs));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(world->made));
	race_signal(world);
	race_settle(world);
}

/*
 * A queue with an item for which &pagoda_deferred_ops.make returns -ERESTART the first RESTARTS
 * times, and which isn't ready unless the queue is hurried. @tries: calls of make so far; @run: run
 * of the worker that made the last of these calls; @again: calls of a run after its first call.
 */
struct restart_world {
	struct pagoda_deferred queue;
	struct pagoda_deferred_item item;
	struct pagoda_syncs nothing;
	u32 tries;
	u32 run;
	u32 again;
};

#define RESTARTS	20u

static int restart_make(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct restart_world *world = container_of(queue, struct restart_world, queue);

	world->again += world->tries && world->run == queue->runs;
	world->run = queue->runs;
	return world->tries++ < RESTARTS ? -ERESTART : 0;
}

static bool restart_ready(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	return false;
}

static const struct pagoda_deferred_ops restart_ops = {
	.ready = restart_ready,
	.make = restart_make,
	.put = work_put,
};

/*
 * While the item isn't ready, the worker isn't queued. A run of the worker calls
 * &pagoda_deferred_ops.make of a hurried queue once, however often that returns -ERESTART;
 * pagoda_deferred_settle() waits for the run in which the call succeeds. The delays of the next
 * item begin with the shortest one.
 */
static void deferred_restarts_slowly(struct kunit *test)
{
	struct restart_world *world = test_zalloc(test, sizeof(*world));
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	unsigned long patience;

	pagoda_deferred_init(&world->queue, rig->vidmm, &rig->client->payer, &restart_ops, false);
	patience = world->queue.patience;
	KUNIT_ASSERT_EQ(test, 0, pagoda_deferred_prepare(&world->item, &world->nothing));
	pagoda_deferred_add(&world->queue, &world->item);
	flush_delayed_work(&world->queue.work);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&world->queue.work));
	KUNIT_EXPECT_EQ(test, 0u, world->tries);
	KUNIT_EXPECT_EQ(test, 0, pagoda_deferred_settle(&world->queue));
	pagoda_deferred_cancel(&world->queue, -ECANCELED);
	KUNIT_EXPECT_EQ(test, RESTARTS + 1, world->tries);
	KUNIT_EXPECT_EQ(test, 0u, world->again);
	KUNIT_EXPECT_EQ(test, patience, world->queue.patience);
}

/*
 * Work of a client that has too much paging in flight is submitted as soon as that is less; nothing
 * looks meanwhile.
 */
static void deferred_is_told(struct kunit *test)
{
	struct work_world *world = test_zalloc(test, sizeof(*world));
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_limits *limits = rig->vidmm->limits;
	struct pagoda_quota *quota = rig->client->quota;
	u32 i, runs;

	pagoda_deferred_init(&world->queue, rig->vidmm, &rig->client->payer, &work_ops, false);
	pagoda_limits_take(limits, quota, PAGE_SIZE);
	pagoda_limits_moves(limits, quota, SZ_2M);
	KUNIT_ASSERT_EQ(test, 0, pagoda_deferred_prepare(&world->item, &world->nothing));
	pagoda_deferred_add(&world->queue, &world->item);
	flush_delayed_work(&world->queue.work);
	runs = READ_ONCE(world->queue.runs);
	msleep(200);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&world->made));
	KUNIT_EXPECT_EQ(test, runs, READ_ONCE(world->queue.runs));
	pagoda_limits_give(limits, quota, PAGE_SIZE, SZ_2M);
	for (i = 0; i < 1000 && !atomic_read(&world->made); i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&world->made));
	pagoda_deferred_cancel(&world->queue, -ECANCELED);
}

/* A value that a fence reached and then lost, by a rewind, counts for work that waits for it. */
static void deferred_value_counts(struct kunit *test)
{
	struct work_world *world = test_zalloc(test, sizeof(*world));
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence_value entry = { .value = 1 };
	struct pagoda_mfence_wait wait = {};
	struct pagoda_sync sync = { .value = &wait };
	struct pagoda_syncs syncs = { .list = &sync, .count = 1 };

	entry.mfence = test_ok(test, pagoda_mfence_create(rig->vidmm, rig->client,
							  DRM_PAGODA_FENCE_ALLOW_REWIND, 0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_mfence_wait_init(&wait, entry.mfence, 1, NULL, NULL));
	pagoda_deferred_init(&world->queue, rig->vidmm, &rig->client->payer, &work_ops, false);
	pagoda_syncs_arm(&syncs, &world->queue);
	KUNIT_EXPECT_FALSE(test, pagoda_syncs_look(&syncs));
	KUNIT_EXPECT_EQ(test, 0, pagoda_mfences_signal(rig->vidmm, &entry, 1));
	entry.value = 0;
	KUNIT_EXPECT_EQ(test, 0, pagoda_mfences_signal(rig->vidmm, &entry, 1));
	KUNIT_EXPECT_FALSE(test, pagoda_mfence_wait_is_over(&wait));
	KUNIT_EXPECT_TRUE(test, pagoda_syncs_look(&syncs));
	pagoda_mfence_wait_fini(&wait);
	pagoda_deferred_cancel(&world->queue, -ECANCELED);
	pagoda_mfence_put(entry.mfence);
}

static struct kunit_case deferred_cases[] = {
	KUNIT_CASE(deferred_settles),
	KUNIT_CASE(deferred_cancels),
	KUNIT_CASE(deferred_is_told),
	KUNIT_CASE(deferred_value_counts),
	KUNIT_CASE(deferred_settles_unflushed),
	KUNIT_CASE(deferred_settles_outdated),
	KUNIT_CASE(deferred_settles_held_up),
	KUNIT_CASE(deferred_restarts_slowly),
	{}
};

static struct kunit_suite deferred_suite = {
	.name = "pagoda_deferred",
	.test_cases = deferred_cases,
};

kunit_test_suite(deferred_suite);
