// SPDX-License-Identifier: GPL-2.0
/*
 * What programs see of a monitored fence: a mapping that can only be read; what it shows, and the
 * error with which waits for a fence with NO_MAX_ON_RESET end, when the device is unplugged; and
 * that waits end with their client.
 */
#include "rig/map.h"

static struct pagoda_mfence *seen_fence(struct pagoda_rig *rig, u32 flags, u64 value)
{
	return test_ok(rig->test, pagoda_mfence_create(rig->vidmm, rig->client, flags, value));
}

/* A program can map a fence's value only for reading, and can't make the mapping writable later. */
static void fence_seen_is_read_only(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence *mfence = seen_fence(rig, 0, 5);
	struct pagoda_bo *bo = pagoda_mfence_bo(mfence);
	unsigned long at;
	u64 value = 0;

	KUNIT_EXPECT_EQ(test, 0ul, rig_map(rig, bo, O_RDWR, PROT_READ | PROT_WRITE));
	at = rig_map(rig, bo, O_RDWR, PROT_READ);
	KUNIT_ASSERT_NE(test, 0ul, at);
	KUNIT_EXPECT_EQ(test, 0, get_user(value, (u64 __user *)at));
	KUNIT_EXPECT_EQ(test, 5ull, value);
	KUNIT_EXPECT_EQ(test, -EACCES, rig_map_make_writable(at));
	KUNIT_EXPECT_EQ(test, -EFAULT, put_user(6ull, (u64 __user *)at));
	KUNIT_EXPECT_EQ(test, 0, get_user(value, (u64 __user *)at));
	KUNIT_EXPECT_EQ(test, 5ull, value);
	rig_unmap(rig, bo, at);
	pagoda_mfence_put(mfence);
}

/* A wait, and how it ended: number of calls of its function, and the error of the last call. */
struct seen_wait {
	struct pagoda_mfence_wait wait;
	u32 calls;
	int error;
};

static void seen_wait_ended(struct pagoda_mfence_wait *wait, int error)
{
	struct seen_wait *seen = container_of(wait, struct seen_wait, wait);

	seen->error = error;
	seen->calls++;
}

/*
 * When the device is unplugged, each of several waits for larger values than a fence with
 * NO_MAX_ON_RESET has ends once, with -ENODEV.
 */
static void fence_seen_ends_all_waits(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence *stays = seen_fence(rig, DRM_PAGODA_FENCE_NO_MAX_ON_RESET, 5);
	static const u64 values[] = { 6, 7, 6, U64_MAX };
	struct seen_wait waits[ARRAY_SIZE(values)] = {};
	u32 i;

	pagoda_rig_settle(rig);
	for (i = 0; i < ARRAY_SIZE(waits); i++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_mfence_wait_init(&waits[i].wait, stays, values[i],
								 seen_wait_ended, &waits[i]));
		pagoda_mfence_wait_arm(&waits[i].wait);
		KUNIT_EXPECT_EQ(test, 0u, waits[i].calls);
	}
	pagoda_rig_unplug(rig);
	PAGODA_PROVES(C184);
	for (i = 0; i < ARRAY_SIZE(waits); i++) {
		KUNIT_EXPECT_EQ_MSG(test, 1u, waits[i].calls, "wait %u", i);
		KUNIT_EXPECT_EQ_MSG(test, -ENODEV, waits[i].error, "wait %u", i);
		pagoda_mfence_wait_fini(&waits[i].wait);
	}
	pagoda_mfence_put(stays);
}

/* Expects to read @value through a mapping at @at, and unmaps the fence. */
static void seen_expect(struct pagoda_rig *rig, struct pagoda_mfence *mfence, unsigned long at,
			u64 value)
{
	u64 seen = 0;

	KUNIT_EXPECT_EQ(rig->test, 0, get_user(seen, (u64 __user *)at));
	KUNIT_EXPECT_EQ(rig->test, value, seen);
	rig_unmap(rig, pagoda_mfence_bo(mfence), at);
}

/*
 * Once the device is gone, a mapping of a fence that was never held shows the first value if the
 * fence was created with NO_MAX_ON_RESET, else the maximum value.
 */
static void fence_seen_has_a_last_value(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence *max = seen_fence(rig, 0, 5);
	struct pagoda_mfence *stays = seen_fence(rig, DRM_PAGODA_FENCE_NO_MAX_ON_RESET, 5);
	unsigned long max_at = rig_map(rig, pagoda_mfence_bo(max), O_RDWR, PROT_READ);
	unsigned long stays_at = rig_map(rig, pagoda_mfence_bo(stays), O_RDWR, PROT_READ);

	KUNIT_ASSERT_TRUE(test, max_at && stays_at);
	pagoda_rig_unplug(rig);
	/* As drm_dev_unplug(), for a DRM device that isn't registered. */
	WRITE_ONCE(rig->drm->unplugged, true);
	PAGODA_PROVES(C184);
	seen_expect(rig, max, max_at, U64_MAX);
	seen_expect(rig, stays, stays_at, 5);
	pagoda_mfence_put(max);
	pagoda_mfence_put(stays);
}

/*
 * When a client is closed, its groups of waits, for which no thread waits, are freed, and don't
 * hold their fences any longer. These groups have no eventfd, which only user space can create.
 */
static void fence_seen_ends_with_client(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_mfence *first = seen_fence(rig, 0, 0), *second = seen_fence(rig, 0, 0);
	const struct pagoda_mfence_value list[] = { { first, 1 }, { second, 1 } };
	struct pagoda_mfence_group *group;
	u32 i;

	for (i = 0; i < 2; i++) {
		group = test_ok(test, pagoda_mfence_group_create(list, ARRAY_SIZE(list), i));
		pagoda_mfence_group_notify(group, rig->client, NULL);
	}
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&first->holds));
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&second->holds));
	pagoda_mfence_client_close(rig->vidmm, rig->client);
	KUNIT_EXPECT_TRUE(test, list_empty(&rig->client->groups));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&first->holds));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&second->holds));
	pagoda_mfence_put(first);
	pagoda_mfence_put(second);
}

static struct kunit_case fence_seen_cases[] = {
	KUNIT_CASE(fence_seen_is_read_only),
	KUNIT_CASE(fence_seen_ends_all_waits),
	KUNIT_CASE(fence_seen_has_a_last_value),
	KUNIT_CASE(fence_seen_ends_with_client),
	{ }
};

static struct kunit_suite fence_seen_suite = {
	.name = "pagoda_fence_seen",
	.test_cases = fence_seen_cases,
};

kunit_test_suite(fence_seen_suite);
