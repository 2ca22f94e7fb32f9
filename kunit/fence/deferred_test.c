// SPDX-License-Identifier: GPL-2.0
/*
 * pagoda_deferred_settle() returns when all that can be made is made, also while other threads
 * start the queue's work anew again and again.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
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

/* Starts the work of a queue that has an item anew, as each signal of a fence does. */
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
		/* The item is used again. */
		pagoda_deferred_wait_room(&world->queue, 1);
		flush_delayed_work(&world->queue.work);
	}
	WRITE_ONCE(world->stop, true);
	wait_for_completion(&world->stopped);
	pagoda_deferred_cancel(&world->queue, -ECANCELED);
	KUNIT_EXPECT_EQ(test, ROUNDS, n);
	KUNIT_EXPECT_EQ(test, 0u, unmade);
}

static struct kunit_case deferred_cases[] = {
	KUNIT_CASE(deferred_settles),
	{}
};

static struct kunit_suite deferred_suite = {
	.name = "pagoda_deferred",
	.test_cases = deferred_cases,
};

kunit_test_suite(deferred_suite);
