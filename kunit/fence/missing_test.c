// SPDX-License-Identifier: GPL-2.0
/*
 * A test of queues of deferred work that miss a point: a client with many such queues doesn't delay
 * other clients.
 */
#include <kunit/static_stub.h>
#include "submit/submit_helpers.h"
#include "vidmm/fence/internal.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/client.h"

#define MANY	(2 * PAGODA_WALK_SLICE + 5)

static const struct pagoda_deferred_ops missing_ops;

/* For missing_pause(): @lock must not be held in a pause of a walk; @pauses counts the pauses. */
static struct {
	struct kunit *test;
	struct lockdep_map *lock;
	u32 pauses;
} missing_walk;

static void missing_pause(void)
{
	KUNIT_EXPECT_FALSE(missing_walk.test, pagoda_rig_lock_is_held(missing_walk.lock));
	missing_walk.pauses++;
}

/*
 * pagoda_missing_kick() walks those queues of a client that miss a point in slices, without
 * &pagoda_missing.lock in between. pagoda_missing_came() doesn't take that lock at all.
 */
static void missing_in_slices(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_missing *missing = rig->vidmm->missing;
	struct drm_syncobj *syncobj = submit_syncobj(test);
	struct pagoda_deferred *queues = kunit_kcalloc(test, MANY, sizeof(*queues), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, queues);
	missing_walk.test = test;
	missing_walk.lock = pagoda_rig_lock_map(&missing->lock);
	missing_walk.pauses = 0;
	for (i = 0; i < MANY; i++) {
		pagoda_deferred_init(&queues[i], rig->vidmm, &rig->client->payer, &missing_ops,
				     false);
		pagoda_missing_note(&queues[i], syncobj);
	}
	kunit_activate_static_stub(test, pagoda_walk_pause, missing_pause);
	pagoda_missing_kick(rig->vidmm, rig->client);
	KUNIT_EXPECT_EQ(test, DIV_ROUND_UP(MANY, PAGODA_WALK_SLICE), missing_walk.pauses);
	kunit_deactivate_static_stub(test, pagoda_walk_pause);
	for (i = 0; i < MANY; i++)
		cancel_delayed_work_sync(&queues[i].work);
	spin_lock(&missing->lock);
	pagoda_missing_came(rig->vidmm, syncobj);
	spin_unlock(&missing->lock);
	for (i = 0; i < MANY; i++) {
		pagoda_missing_note(&queues[i], NULL);
		pagoda_deferred_cancel(&queues[i], -ECANCELED);
	}
	KUNIT_EXPECT_EQ(test, 0u, rig->client->payer.nr_missing);
}

static struct kunit_case missing_cases[] = {
	KUNIT_CASE(missing_in_slices),
	{}
};

static struct kunit_suite missing_suite = {
	.name = "pagoda_missing",
	.test_cases = missing_cases,
};

kunit_test_suite(missing_suite);
