// SPDX-License-Identifier: GPL-2.0
/* Monitored fences: their values, waits for them, and what a reset or unplug does to both. */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <drm/drm_gem.h>
#include <kunit/static_stub.h>
#include "queue/queue_helpers.h"
#include "rig/rig.h"
#include "rig/vidmm_helpers.h"

#define SEED	20261121

static struct pagoda_mfence *fence_make(struct pagoda_rig *rig, u32 flags, u64 value)
{
	struct pagoda_mfence *mfence = pagoda_mfence_create(rig->vidmm, rig->client, flags, value);

	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(mfence));
	return mfence;
}

/* Returns the memory of the fence's value, which the GPU may be about to change. */
static u64 *fence_memory(struct pagoda_mfence *mfence)
{
	return page_address(pagoda_mfence_bo(mfence)->ttm.ttm->pages[0]);
}

static u64 fence_value(struct pagoda_mfence *mfence)
{
	return READ_ONCE(*fence_memory(mfence));
}

static int fence_signal(struct pagoda_rig *rig, struct pagoda_mfence *mfence, u64 value)
{
	const struct pagoda_mfence_value entry = { mfence, value };

	return pagoda_mfences_signal(rig->vidmm, &entry, 1);
}

static void fence_signal_paging(struct pagoda_rig *rig, struct pagoda_mfence *mfence, u64 value)
{
	struct pagoda_mfence_signal *signal = pagoda_mfence_promise(mfence, value);

	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(signal));
	pagoda_mfence_signal_paging(signal, NULL);
}

static int fence_promise_error(struct pagoda_mfence *mfence, u64 value)
{
	return PTR_ERR_OR_ZERO(pagoda_mfence_promise(mfence, value));
}

/* A wait, and how it ended: number of calls of its function, and the error of the last call. */
struct fence_watch {
	struct pagoda_mfence_wait wait;
	u32 calls;
	int error;
};

static void fence_watch_func(struct pagoda_mfence_wait *wait, int error)
{
	struct fence_watch *watch = container_of(wait, struct fence_watch, wait);

	watch->error = error;
	watch->calls++;
}

static void fence_watch(struct kunit *test, struct fence_watch *watch,
			struct pagoda_mfence *mfence, u64 value)
{
	watch->calls = 0;
	watch->error = 1;
	KUNIT_ASSERT_EQ(test, 0, pagoda_mfence_wait_init(&watch->wait, mfence, value,
							 fence_watch_func, watch));
	pagoda_mfence_wait_arm(&watch->wait);
}

/*
 * The GPU stores a promised value wherever the fence's page is by then; each time the page comes or
 * goes a notice tells the device. A value that isn't larger than all before can't be promised.
 */
static void fence_signalled_by_paging(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_mfence *mfence = fence_make(rig, 0, 5);
	struct pagoda_mfence_signal *signal;
	u32 notices;

	KUNIT_EXPECT_EQ(test, 5ull, fence_value(mfence));
	/* As cached as the mapping by which the driver stores values. */
	KUNIT_EXPECT_EQ(test, ttm_cached, pagoda_mfence_bo(mfence)->ttm.ttm->caching);
	KUNIT_EXPECT_EQ(test, -EINVAL, fence_promise_error(mfence, 5));
	/* After its promise was taken back a value may be promised again. */
	signal = test_ok(test, pagoda_mfence_promise(mfence, 1ull << 40));
	KUNIT_EXPECT_EQ(test, -EINVAL, fence_promise_error(mfence, 1ull << 40));
	pagoda_mfence_take_back(signal);
	fence_signal_paging(rig, mfence, 1ull << 40);
	KUNIT_EXPECT_EQ(test, -EINVAL, fence_promise_error(mfence, 7));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 1ull << 40, fence_value(mfence));
	notices = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY, 0);
	KUNIT_EXPECT_EQ(test, 1u, notices);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(pagoda_mfence_bo(mfence)));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, notices + 1,
			pagoda_rig_count(rig, VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY, 0));
	fence_signal_paging(rig, mfence, (1ull << 40) + 1);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, (1ull << 40) + 1, fence_value(mfence));
	KUNIT_EXPECT_EQ(test, notices + 2,
			pagoda_rig_count(rig, VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY, 0));
	pagoda_mfence_put(mfence);
}

#define RANDOM_FENCES	3
#define RANDOM_WATCHES	24
#define RANDOM_STEPS	1500

struct fence_random {
	struct pagoda_rig *rig;
	struct rnd_state rnd;
	struct pagoda_mfence *mfence[RANDOM_FENCES];
	u64 value[RANDOM_FENCES];	/* the model: current value of each fence */
	struct fence_watch watch[RANDOM_WATCHES];
	s32 watches[RANDOM_WATCHES];	/* index of the fence waited for, -1 = no wait */
};

static u32 fence_pick(struct fence_random *r, u32 count)
{
	return prandom_u32_state(&r->rnd) % count;
}

/* Returns a value close to the current value of the fence, on either side, or far above it. */
static u64 fence_pick_value(struct fence_random *r, u32 fence)
{
	u64 value = r->value[fence];

	switch (fence_pick(r, 5)) {
	case 0:
		return value;
	case 1:
		return value + 1;
	case 2:
		return value - min_t(u64, value, fence_pick(r, 3));
	case 3:
		return value + (u64)prandom_u32_state(&r->rnd) * fence_pick(r, 5);
	default:
		return value + fence_pick(r, 20);
	}
}

/* Signals a random fence by the GPU or the CPU, or stores to fence 0, which alone may rewind. */
static void fence_random_signal(struct fence_random *r)
{
	struct kunit *test = r->rig->test;
	u32 fence = fence_pick(r, RANDOM_FENCES);
	u64 value = fence_pick_value(r, fence);
	bool valid = !fence || value > r->value[fence];

	switch (fence_pick(r, 4)) {
	case 0:
		if (!valid) {
			KUNIT_EXPECT_EQ(test, -EINVAL,
					fence_promise_error(r->mfence[fence], value));
			break;
		}
		fence_signal_paging(r->rig, r->mfence[fence], value);
		pagoda_rig_settle(r->rig);
		r->value[fence] = value;
		break;
	case 1:
		/*
		 * A store by a job that sends no event: the driver only knows that the job is done.
		 */
		if (fence)
			break;
		WRITE_ONCE(*fence_memory(r->mfence[fence]), value);
		pagoda_mfences_changed(r->rig->vidmm, NULL);
		flush_workqueue(r->rig->vidmm->mfences->wq);
		r->value[fence] = value;
		break;
	default:
		KUNIT_EXPECT_EQ(test, valid ? 0 : -EINVAL,
				fence_signal(r->rig, r->mfence[fence], value));
		if (valid)
			r->value[fence] = value;
	}
	KUNIT_EXPECT_EQ(test, r->value[fence], fence_value(r->mfence[fence]));
}

/* Expects each wait to have ended, once and without error, exactly if the fence has its value. */
static void fence_random_check(struct fence_random *r, u32 step)
{
	u32 i;

	for (i = 0; i < RANDOM_WATCHES; i++) {
		struct fence_watch *watch = &r->watch[i];
		bool there;

		if (r->watches[i] < 0)
			continue;
		there = r->value[r->watches[i]] >= watch->wait.value;
		if (watch->calls > 1 || (there && !watch->calls) ||
		    (watch->calls && (watch->error || !there)))
			KUNIT_FAIL(r->rig->test, "step %u: wait for %llu, is %llu: %u calls", step,
				   watch->wait.value, r->value[r->watches[i]], watch->calls);
		if (!watch->calls)
			continue;
		pagoda_mfence_wait_fini(&watch->wait);
		r->watches[i] = -1;
	}
}

static void fence_random_watch(struct fence_random *r)
{
	u32 i = fence_pick(r, RANDOM_WATCHES), fence = fence_pick(r, RANDOM_FENCES);

	if (r->watches[i] >= 0) {
		pagoda_mfence_wait_fini(&r->watch[i].wait);
		r->watches[i] = -1;
		return;
	}
	fence_watch(r->rig->test, &r->watch[i], r->mfence[fence], fence_pick_value(r, fence));
	r->watches[i] = fence;
}

/*
 * Random signals and waits: the function of a wait is called once, as soon as the wait's value is
 * reached, and not before.
 */
static void fence_waits_end_exactly(struct kunit *test)
{
	struct fence_random *r = test_zalloc(test, sizeof(*r));
	u32 i;

	r->rig = pagoda_rig_create(test, NULL);
	kunit_info(test, "seed %u", SEED);
	prandom_seed_state(&r->rnd, SEED);
	for (i = 0; i < RANDOM_FENCES; i++)
		r->mfence[i] = fence_make(r->rig, i ? 0 : DRM_PAGODA_FENCE_ALLOW_REWIND, 0);
	memset(r->watches, -1, sizeof(r->watches));
	/* The page of fence 1 is evicted now and then, while the fence isn't held. */
	for (i = 0; i < RANDOM_STEPS; i++) {
		r->rig->loses_events = fence_pick(r, 2);
		if (fence_pick(r, 3))
			fence_random_watch(r);
		else
			fence_random_signal(r);
		fence_random_check(r, i);
		if (!fence_pick(r, 50) && !atomic_read(&r->mfence[1]->holds))
			KUNIT_EXPECT_EQ(test, 0,
					pagoda_rig_to_system(pagoda_mfence_bo(r->mfence[1])));
	}
	for (i = 0; i < RANDOM_WATCHES; i++)
		if (r->watches[i] >= 0)
			pagoda_mfence_wait_fini(&r->watch[i].wait);
	pagoda_rig_settle(r->rig);
	for (i = 0; i < RANDOM_FENCES; i++)
		pagoda_mfence_put(r->mfence[i]);
	PAGODA_PROVES(C180);
}

#define GROUP	4

static int fence_group_look(struct kunit *test, const struct pagoda_mfence_value *list, bool any,
			    long timeout, u32 *first)
{
	struct pagoda_mfence_group *group = pagoda_mfence_group_create(list, GROUP, any);
	int ret;

	KUNIT_ASSERT_FALSE(test, IS_ERR(group));
	ret = pagoda_mfence_group_wait(group, timeout, first);
	pagoda_mfence_group_destroy(group);
	return ret;
}

struct fence_sleeper {
	struct kunit *test;
	const struct pagoda_mfence_value *list;
	bool any;
	u32 first;
	atomic_t back;
};

static int fence_sleeper_run(void *data)
{
	struct fence_sleeper *sleeper = data;
	int ret = fence_group_look(sleeper->test, sleeper->list, sleeper->any,
				   MAX_SCHEDULE_TIMEOUT, &sleeper->first);

	atomic_set(&sleeper->back, 1);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return ret;
}

/*
 * For every set of fences that have their values at first: a wait for any value returns when one is
 * reached, a wait for all values when the last is reached.
 */
static void fence_any_and_all(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence_value list[GROUP];
	struct fence_sleeper sleeper[2];
	struct task_struct *task[2];
	u32 set, i, n, first;

	for (set = 0; set < BIT(GROUP); set++) {
		for (i = 0; i < GROUP; i++)
			list[i] = (struct pagoda_mfence_value) {
				fence_make(rig, 0, set & BIT(i) ? 10 : 9), 10,
			};
		first = ~0u;
		KUNIT_EXPECT_EQ(test, set ? 0 : -ETIME,
				fence_group_look(test, list, true, 0, &first));
		if (set)
			KUNIT_EXPECT_TRUE(test, first < GROUP && set & BIT(first));
		KUNIT_EXPECT_EQ(test, set == BIT(GROUP) - 1 ? 0 : -ETIME,
				fence_group_look(test, list, false, 0, &first));
		for (n = 0; n < 2; n++) {
			sleeper[n] = (struct fence_sleeper) { test, list, n, ~0u };
			task[n] = kthread_run(fence_sleeper_run, &sleeper[n], "pagoda-sleeper");
			KUNIT_ASSERT_FALSE(test, IS_ERR(task[n]));
		}
		for (i = 0; i < GROUP; i++) {
			if (set & BIT(i))
				continue;
			KUNIT_EXPECT_FALSE(test, atomic_read(&sleeper[false].back));
			KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, list[i].mfence, 11));
			while (!atomic_read(&sleeper[true].back))
				schedule_timeout_uninterruptible(1);
		}
		for (n = 0; n < 2; n++) {
			/* A thread that is stopped before it runs would never run. */
			while (!atomic_read(&sleeper[n].back))
				schedule_timeout_uninterruptible(1);
			KUNIT_EXPECT_EQ(test, 0, kthread_stop(task[n]));
		}
		KUNIT_EXPECT_LT(test, sleeper[true].first, GROUP);
		for (i = 0; i < GROUP; i++)
			pagoda_mfence_put(list[i].mfence);
	}
	PAGODA_PROVES(C181);
}

/*
 * A CPU's signal of a fence with NO_SIGNAL, and a wait for a fence with NO_WAIT, fail (-EPERM). A
 * list with such a fence has no effect.
 */
static void fence_forbidden(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence *deaf = fence_make(rig, DRM_PAGODA_FENCE_NO_SIGNAL, 1);
	struct pagoda_mfence *blind = fence_make(rig, DRM_PAGODA_FENCE_NO_WAIT, 1);
	const struct pagoda_mfence_value both[] = { { blind, 2 }, { deaf, 2 } };
	const struct pagoda_mfence_value waits[] = { { deaf, 1 }, { blind, 1 } };
	struct pagoda_mfence_group *group;
	struct fence_watch watch;

	KUNIT_EXPECT_EQ(test, -EPERM, pagoda_mfences_signal(rig->vidmm, both, 2));
	KUNIT_EXPECT_EQ(test, 1ull, fence_value(blind));
	KUNIT_EXPECT_EQ(test, 1ull, fence_value(deaf));
	KUNIT_EXPECT_EQ(test, -EPERM, pagoda_mfence_wait_init(&watch.wait, blind, 1,
							      fence_watch_func, &watch));
	group = pagoda_mfence_group_create(waits, 2, true);
	KUNIT_EXPECT_EQ(test, -EPERM, PTR_ERR_OR_ZERO(group));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&deaf->holds));
	/* The CPU may signal the NO_WAIT fence and wait for the other; the GPU may signal both. */
	KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, blind, 2));
	fence_watch(test, &watch, deaf, 2);
	fence_signal_paging(rig, deaf, 2);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 1u, watch.calls);
	pagoda_mfence_wait_fini(&watch.wait);
	pagoda_mfence_put(deaf);
	pagoda_mfence_put(blind);
	PAGODA_PROVES(C183);
}

/* If one fence of a list can't get its value, no fence of the list gets its value (-EINVAL). */
static void fence_signal_all_or_none(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence *grows = fence_make(rig, 0, 5);
	struct pagoda_mfence *rewinds = fence_make(rig, DRM_PAGODA_FENCE_ALLOW_REWIND, 5);
	struct pagoda_mfence_value list[] = { { rewinds, 3 }, { grows, 5 } };

	KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_mfences_signal(rig->vidmm, list, 2));
	KUNIT_EXPECT_EQ(test, 5ull, fence_value(rewinds));
	list[1].value = 6;
	KUNIT_EXPECT_EQ(test, 0, pagoda_mfences_signal(rig->vidmm, list, 2));
	KUNIT_EXPECT_EQ(test, 3ull, fence_value(rewinds));
	KUNIT_EXPECT_EQ(test, 6ull, fence_value(grows));
	/* A value that the CPU stored can't be promised any more, as the fence may not rewind. */
	KUNIT_EXPECT_EQ(test, -EINVAL, fence_promise_error(grows, 6));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&grows->holds));
	pagoda_mfence_put(grows);
	pagoda_mfence_put(rewinds);
}

/*
 * A value that the GPU stores after the CPU stored a larger one doesn't decrease the fence's value,
 * unless the fence may rewind.
 */
static void fence_never_goes_back(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_mfence *grows = fence_make(rig, 0, 5);
	struct pagoda_mfence *rewinds = fence_make(rig, DRM_PAGODA_FENCE_ALLOW_REWIND, 5);
	struct fence_watch watch[2];

	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	fence_watch(test, &watch[0], grows, 20);
	fence_watch(test, &watch[1], grows, 21);
	fence_signal_paging(rig, grows, 10);
	fence_signal_paging(rig, rewinds, 10);
	KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, grows, 20));
	KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, rewinds, 20));
	KUNIT_EXPECT_EQ(test, 20ull, fence_value(grows));
	KUNIT_EXPECT_EQ(test, 1u, watch[0].calls);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 20ull, fence_value(grows));
	KUNIT_EXPECT_EQ(test, 10ull, fence_value(rewinds));
	KUNIT_EXPECT_EQ(test, 0u, watch[1].calls);
	pagoda_mfence_wait_fini(&watch[0].wait);
	pagoda_mfence_wait_fini(&watch[1].wait);
	pagoda_mfence_put(grows);
	pagoda_mfence_put(rewinds);
}

/* A fence's page can't be evicted while a wait or a promise holds the fence, and can otherwise. */
static void fence_page_stays_while_held(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_mfence *mfence = fence_make(rig, 0, 0);
	struct pagoda_bo *bo = pagoda_mfence_bo(mfence);
	struct fence_watch watch[2];

	fence_watch(test, &watch[0], mfence, 1);
	fence_watch(test, &watch[1], mfence, 2);
	KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_rig_to_system(bo));
	pagoda_mfence_wait_fini(&watch[0].wait);
	KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_rig_to_system(bo));
	pagoda_mfence_wait_fini(&watch[1].wait);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(bo));
	fence_watch(test, &watch[0], mfence, 1);
	KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, mfence, 1));
	KUNIT_EXPECT_EQ(test, 1u, watch[0].calls);
	pagoda_mfence_wait_fini(&watch[0].wait);
	/* A promise holds the fence, too, until the GPU has stored the value. */
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	fence_signal_paging(rig, mfence, 2);
	KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	pagoda_mfence_put(mfence);
}

/*
 * When the device is lost, fences show the maximum value, which ends all waits, except fences with
 * NO_MAX_ON_RESET. After the reset a fence has the value from before, or that stored since.
 */
static void fence_reset_releases(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence *max = fence_make(rig, 0, 5);
	struct pagoda_mfence *stays = fence_make(rig, DRM_PAGODA_FENCE_NO_MAX_ON_RESET, 5);
	struct fence_watch watch[4];

	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	fence_signal_paging(rig, max, 7);
	fence_watch(test, &watch[0], max, U64_MAX);
	fence_watch(test, &watch[1], stays, 6);
	pagoda_mfence_device_lost(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 1u, watch[0].calls);
	KUNIT_EXPECT_EQ(test, 0, watch[0].error);
	KUNIT_EXPECT_EQ(test, U64_MAX, fence_value(max));
	KUNIT_EXPECT_EQ(test, 0u, watch[1].calls);
	KUNIT_EXPECT_EQ(test, 5ull, fence_value(stays));
	/* What gives values back needn't search for the fence, however many others are held. */
	KUNIT_EXPECT_PTR_EQ(test, &max->held, rig->vidmm->mfences->lost.next);
	KUNIT_EXPECT_PTR_EQ(test, &stays->held, rig->vidmm->mfences->held.next);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&rig->vidmm->mfences->lost));
	KUNIT_EXPECT_TRUE(test, list_is_singular(&rig->vidmm->mfences->held));
	fence_watch(test, &watch[2], max, 100);
	KUNIT_EXPECT_EQ(test, 1u, watch[2].calls);
	/* The device executed the signal all the same, so the value 7 counts. */
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, -EINVAL, fence_signal(rig, max, 7));
	KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, max, 8));
	KUNIT_EXPECT_EQ(test, U64_MAX, fence_value(max));
	pagoda_mfence_restore_all(rig->vidmm);
	KUNIT_EXPECT_TRUE(test, list_empty(&rig->vidmm->mfences->lost));
	KUNIT_EXPECT_EQ(test, 8ull, fence_value(max));
	KUNIT_EXPECT_EQ(test, 5ull, fence_value(stays));
	fence_watch(test, &watch[3], max, 9);
	KUNIT_EXPECT_EQ(test, 0u, watch[3].calls);
	KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, max, 9));
	KUNIT_EXPECT_EQ(test, 1u, watch[3].calls);
	KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, stays, 6));
	KUNIT_EXPECT_EQ(test, 1u, watch[1].calls);
	pagoda_mfence_wait_fini(&watch[0].wait);
	pagoda_mfence_wait_fini(&watch[1].wait);
	pagoda_mfence_wait_fini(&watch[2].wait);
	pagoda_mfence_wait_fini(&watch[3].wait);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&max->holds));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&stays->holds));
	pagoda_mfence_put(max);
	pagoda_mfence_put(stays);
	PAGODA_PROVES(C184);
}

/*
 * When the device is unplugged, promised values are stored all the same. Waits for other values end
 * by the maximum value, or with -ENODEV if the fence was created with NO_MAX_ON_RESET.
 */
static void fence_unplug_releases(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence *max = fence_make(rig, 0, 5);
	struct pagoda_mfence *stays = fence_make(rig, DRM_PAGODA_FENCE_NO_MAX_ON_RESET, 5);
	const struct pagoda_mfence_value list[] = { { stays, 50 }, { max, 50 } };
	struct pagoda_mfence_group *any, *all;
	struct fence_watch watch[3];
	u32 first;

	pagoda_rig_settle(rig);
	/* Paging that the device doesn't complete is given up after a few such timeouts. */
	pagoda_test_queue_timeout(rig->vidmm->queue, 50);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	fence_signal_paging(rig, stays, 7);
	fence_watch(test, &watch[0], max, 6);
	fence_watch(test, &watch[1], stays, 7);
	fence_watch(test, &watch[2], stays, 8);
	any = test_ok(test, pagoda_mfence_group_create(list, 2, true));
	all = test_ok(test, pagoda_mfence_group_create(list, 2, false));
	pagoda_rig_unplug(rig);
	KUNIT_EXPECT_EQ(test, 1u, watch[0].calls);
	KUNIT_EXPECT_EQ(test, 0, watch[0].error);
	KUNIT_EXPECT_EQ(test, 1u, watch[1].calls);
	KUNIT_EXPECT_EQ(test, 0, watch[1].error);
	KUNIT_EXPECT_EQ(test, 1u, watch[2].calls);
	KUNIT_EXPECT_EQ(test, -ENODEV, watch[2].error);
	/* A wait that begins after the unplug doesn't sleep. */
	KUNIT_EXPECT_EQ(test, -ENODEV,
			pagoda_mfence_group_wait(all, MAX_SCHEDULE_TIMEOUT, &first));
	KUNIT_EXPECT_EQ(test, 0, pagoda_mfence_group_wait(any, MAX_SCHEDULE_TIMEOUT, &first));
	KUNIT_EXPECT_EQ(test, 1u, first);
	pagoda_mfence_group_destroy(any);
	pagoda_mfence_group_destroy(all);
	pagoda_mfence_wait_fini(&watch[0].wait);
	pagoda_mfence_wait_fini(&watch[1].wait);
	pagoda_mfence_wait_fini(&watch[2].wait);
	pagoda_mfence_put(max);
	pagoda_mfence_put(stays);
	PAGODA_PROVES(C184);
}

/*
 * The paging before a signal fails on the device, and the CPU can't do it: the promised value is
 * stored all the same, by the CPU.
 */
static void fence_promise_outlives_failure(struct kunit *test)
{
	const struct pagoda_rig_options blind = { .no_window = true };
	struct pagoda_rig *rig = pagoda_rig_create(test, &blind);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 1, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
					     DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM), 0);
	struct pagoda_mfence *mfence = fence_make(rig, 0, 0);
	struct drm_pagoda_allocation_info info;
	struct fence_watch watch;

	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_rig_settle(rig);
	fence_watch(test, &watch, mfence, 1);
	pagoda_rig_refuse_next(rig);
	pagoda_rig_plug_shared(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	fence_signal_paging(rig, mfence, 1);
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_settle(rig);
	pagoda_bo_info(bo, &info);
	KUNIT_EXPECT_EQ(test, info.state, DRM_PAGODA_CONTENT_LOST);
	KUNIT_EXPECT_EQ(test, 0u, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
						   pagoda_mfence_bo(mfence)->id));
	KUNIT_EXPECT_EQ(test, 1ull, fence_value(mfence));
	KUNIT_EXPECT_EQ(test, 1u, watch.calls);
	pagoda_mfence_wait_fini(&watch.wait);
	pagoda_mfence_put(mfence);
	pagoda_rig_close(bo);
}

/*
 * A promised value is stored when a dma_fence signals, or at once if the dma_fence has signalled or
 * is NULL.
 */
static void fence_signalled_after(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence *other = fence_make(rig, 0, 0);
	struct pagoda_mfence *mfence = fence_make(rig, 0, 0);
	struct dma_resv *resv = pagoda_bo_gem(pagoda_mfence_bo(other))->resv;
	struct pagoda_mfence_signal *signal;
	struct fence_watch watch;
	struct dma_fence *fence;

	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	fence_signal_paging(rig, other, 1);
	dma_resv_lock(resv, NULL);
	KUNIT_ASSERT_EQ(test, 0, dma_resv_get_singleton(resv, DMA_RESV_USAGE_BOOKKEEP, &fence));
	dma_resv_unlock(resv);
	KUNIT_ASSERT_NOT_NULL(test, fence);
	fence_watch(test, &watch, mfence, 1);
	signal = test_ok(test, pagoda_mfence_promise(mfence, 1));
	pagoda_mfence_signal_after(signal, fence);
	KUNIT_EXPECT_EQ(test, 0ull, fence_value(mfence));
	KUNIT_EXPECT_EQ(test, 0u, watch.calls);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 1ull, fence_value(mfence));
	KUNIT_EXPECT_EQ(test, 1u, watch.calls);
	pagoda_mfence_wait_fini(&watch.wait);
	/* First with a dma_fence that has signalled, then with none. */
	signal = test_ok(test, pagoda_mfence_promise(mfence, 2));
	pagoda_mfence_signal_after(signal, fence);
	KUNIT_EXPECT_EQ(test, 2ull, fence_value(mfence));
	signal = test_ok(test, pagoda_mfence_promise(mfence, 3));
	pagoda_mfence_signal_after(signal, NULL);
	KUNIT_EXPECT_EQ(test, 3ull, fence_value(mfence));
	dma_fence_put(fence);
	pagoda_mfence_put(mfence);
	pagoda_mfence_put(other);
}

/*
 * Fills in @sync as an entry of a job's list: a promise of @value if @signal, else @wait for
 * @value.
 */
static void fence_sync(struct pagoda_sync *sync, struct pagoda_mfence *mfence, u64 value,
		       bool signal, struct pagoda_mfence_wait *wait)
{
	*sync = (struct pagoda_sync) { .point = value, .signal = signal };
	if (signal)
		sync->promise = pagoda_mfence_promise(mfence, value);
	else if (!pagoda_mfence_wait_init(wait, mfence, value, NULL, NULL))
		sync->value = wait;
}

/*
 * pagoda_syncs_look() returns true once each value that a list waits for was reached. Promises of
 * the list are kept by pagoda_syncs_signal(), or else taken back by pagoda_syncs_put().
 */
static void fence_in_syncs(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence *in = fence_make(rig, DRM_PAGODA_FENCE_ALLOW_REWIND, 0);
	struct pagoda_mfence *out = fence_make(rig, 0, 0);
	struct pagoda_syncs syncs;
	u32 i, index;

	for (i = 0; i < 2; i++) {
		struct pagoda_mfence_wait *wait = kzalloc(sizeof(*wait), GFP_KERNEL);

		syncs.list = kvcalloc(3, sizeof(*syncs.list), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, syncs.list);
		KUNIT_ASSERT_NOT_NULL(test, wait);
		syncs.count = 3;
		fence_sync(&syncs.list[0], in, 5, false, wait);
		fence_sync(&syncs.list[1], out, 1, true, NULL);
		fence_sync(&syncs.list[2], out, 2, true, NULL);
		KUNIT_ASSERT_NOT_NULL(test, syncs.list[0].value);
		KUNIT_ASSERT_FALSE(test, IS_ERR(syncs.list[1].promise));
		KUNIT_ASSERT_FALSE(test, IS_ERR(syncs.list[2].promise));
		KUNIT_EXPECT_TRUE(test, pagoda_syncs_wait(&syncs));
		KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, in, 4));
		KUNIT_EXPECT_FALSE(test, pagoda_syncs_look(&syncs));
		KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, in, 5));
		KUNIT_EXPECT_TRUE(test, pagoda_syncs_look(&syncs));
		/* A wait whose value was reached stays over when the value decreases. */
		KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, in, 1));
		KUNIT_EXPECT_TRUE(test, pagoda_syncs_look(&syncs));
		index = 0;
		KUNIT_EXPECT_NULL(test, pagoda_syncs_next(&syncs, &index));
		pagoda_syncs_promise(rig->vidmm, &syncs);
		if (i)
			pagoda_syncs_signal(rig->vidmm, &syncs, NULL);
		pagoda_syncs_put(&syncs);
		KUNIT_EXPECT_EQ(test, i ? 2ull : 0, fence_value(out));
	}
	flush_workqueue(rig->vidmm->mfences->wq);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&in->holds));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&out->holds));
	pagoda_mfence_put(in);
	pagoda_mfence_put(out);
}

/*
 * A fence can't be closed (-EBUSY) while any wait, unless of a group that is over, is for a larger
 * value than the fence has. A closed fence accepts no new wait.
 */
static void fence_keeps_its_id(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_mfence *mfence = fence_make(rig, 0, 0), *other = fence_make(rig, 0, 0);
	const struct pagoda_mfence_value waits[] = { { mfence, 4 }, { other, 1 } };
	struct pagoda_mfence_group *group;
	struct fence_watch watch;
	u32 first;

	fence_watch(test, &watch, mfence, 2);
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_mfence_close(mfence));
	KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, mfence, 1));
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_mfence_close(mfence));
	KUNIT_EXPECT_EQ(test, 0u, watch.calls);
	KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, mfence, 2));
	KUNIT_EXPECT_EQ(test, 1u, watch.calls);
	/* A wait for any of two values, neither of which is reached, needs both fences. */
	group = test_ok(test, pagoda_mfence_group_create(waits, 2, true));
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_mfence_close(mfence));
	/* The maximum value that the fence shows while the device is lost doesn't count. */
	pagoda_mfence_device_lost(rig->vidmm);
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_mfence_close(mfence));
	pagoda_mfence_restore_all(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 0, fence_signal(rig, other, 1));
	KUNIT_EXPECT_EQ(test, 0, pagoda_mfence_group_wait(group, 0, &first));
	KUNIT_EXPECT_EQ(test, 1u, first);
	KUNIT_EXPECT_EQ(test, 0, pagoda_mfence_close(mfence));
	pagoda_mfence_group_destroy(group);
	pagoda_mfence_wait_fini(&watch.wait);
	KUNIT_EXPECT_EQ(test, -ENOENT, pagoda_mfence_wait_init(&watch.wait, mfence, 9,
							       fence_watch_func, &watch));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&mfence->holds));
	pagoda_mfence_put(mfence);
	pagoda_mfence_put(other);
}

static int fence_no_points(struct pagoda_vidmm *vidmm)
{
	return -ENOMEM;
}

/* Without memory for promised points, setting up the fences fails and leaves no work queue. */
static void fence_sets_up_nothing(struct kunit *test)
{
	struct pagoda_vidmm *vidmm = test_zalloc(test, sizeof(*vidmm));

	vidmm->drm = pagoda_kunit_drm(test);
	kunit_activate_static_stub(test, pagoda_points_init, fence_no_points);
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_mfences_init(vidmm, NULL));
	kunit_deactivate_static_stub(test, pagoda_points_init);
	KUNIT_ASSERT_NOT_NULL(test, vidmm->mfences);
	KUNIT_EXPECT_NULL(test, vidmm->mfences->wq);
}

static struct kunit_case fence_cases[] = {
	KUNIT_CASE(fence_in_syncs),
	KUNIT_CASE_PARAM(fence_signalled_by_paging, pagoda_rig_modes),
	KUNIT_CASE(fence_signalled_after),
	KUNIT_CASE(fence_waits_end_exactly),
	KUNIT_CASE(fence_any_and_all),
	KUNIT_CASE(fence_forbidden),
	KUNIT_CASE(fence_signal_all_or_none),
	KUNIT_CASE_PARAM(fence_never_goes_back, pagoda_rig_modes),
	KUNIT_CASE_PARAM(fence_page_stays_while_held, pagoda_rig_modes),
	KUNIT_CASE(fence_reset_releases),
	KUNIT_CASE(fence_unplug_releases),
	KUNIT_CASE(fence_promise_outlives_failure),
	KUNIT_CASE_PARAM(fence_keeps_its_id, pagoda_rig_modes),
	KUNIT_CASE(fence_sets_up_nothing),
	{ }
};

static struct kunit_suite fence_suite = {
	.name = "pagoda_fence",
	.test_cases = fence_cases,
};

kunit_test_suite(fence_suite);
