// SPDX-License-Identifier: GPL-2.0
/*
 * What programs see of a monitored fence: a mapping that can only be read; and the error with which
 * waits for a fence with NO_MAX_ON_RESET end when the device is unplugged.
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

static struct kunit_case fence_seen_cases[] = {
	KUNIT_CASE(fence_seen_is_read_only),
	KUNIT_CASE(fence_seen_ends_all_waits),
	{ }
};

static struct kunit_suite fence_seen_suite = {
	.name = "pagoda_fence_seen",
	.test_cases = fence_seen_cases,
};

kunit_test_suite(fence_seen_suite);
