// SPDX-License-Identifier: GPL-2.0
/*
 * Budgets: what a client uses, should use and may reserve of each segment group, and requests with
 * DENY_OVERBUDGET, which are refused if the client would want more than its budget.
 */
#include "lib/submit_client.h"

#define LOCAL		DRM_PAGODA_SEGMENT_GROUP_LOCAL
#define NON_LOCAL	DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL
#define GROUPS		2u
#define DENY		DRM_PAGODA_RESIDENT_DENY_OVERBUDGET
#define MOST		12u

FIXTURE(budget) {
	struct test_device dev;
	int fd;
	int other;
	uint64_t size;
	uint64_t vram;
	uint64_t aperture;
};

FIXTURE_SETUP(budget)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	/* Waits until memory of closed clients is freed, so that its end changes no number here. */
	self->vram = test_vram_settled(self->other, 0);
	self->aperture = test_aperture_settled(self->other, 0);
	self->size = self->dev.vram.size / 32;
}

FIXTURE_TEARDOWN(budget)
{
	close(self->fd);
	EXPECT_EQ(self->vram, test_vram_settled(self->other, self->vram));
	EXPECT_EQ(self->aperture, test_aperture_settled(self->other, self->aperture));
	close(self->other);
}

/* Returns what QUERY_MEMORY_INFO answers; if the call fails, all members are ~0. */
static struct drm_pagoda_query_memory_info info_of(int fd, uint32_t group)
{
	struct drm_pagoda_query_memory_info info;

	if (pagoda_memory_info(fd, group, &info))
		memset(&info, 0xff, sizeof(info));
	return info;
}

static uint64_t usage(int fd, uint32_t group)
{
	return info_of(fd, group).current_usage;
}

static uint64_t budget(int fd, uint32_t group)
{
	return info_of(fd, group).budget;
}

static uint64_t available(int fd, uint32_t group)
{
	return info_of(fd, group).available_for_reservation;
}

static uint64_t reserved(int fd, uint32_t group)
{
	return info_of(fd, group).current_reservation;
}

static int create_many(int fd, uint64_t size, uint32_t *handles, uint32_t count)
{
	uint32_t n;
	int ret = 0;

	for (n = 0; n < count && !ret; n++)
		ret = pagoda_create(fd, size, CPU, PAGODA_IN_VRAM, &handles[n]);
	return ret;
}

/*
 * Returns the usage once it is @expected, or after TEST_PATIENCE what it is: memory of closed
 * allocations is freed when the last copy from it is done.
 */
static uint64_t usage_settled(int fd, uint32_t group, uint64_t expected)
{
	return test_settled(fd, group, usage, expected);
}

static uint64_t budget_settled(int fd, uint32_t group, uint64_t expected)
{
	return test_settled(fd, group, budget, expected);
}

/* --- usage ------------------------------------------------------------------------------- */

TEST_F(budget, usage_is_what_is_resident)
{
	static const uint32_t places[] = {
		PAGODA_IN_VRAM, PAGODA_IN_APERTURE, PAGODA_IN_VRAM | PAGODA_IN_APERTURE,
	};
	const uint64_t page = self->dev.page;
	uint64_t sum[GROUPS] = { 0 };
	uint32_t handles[9], n;

	EXPECT_EQ(0, usage(self->fd, LOCAL));
	EXPECT_EQ(0, usage(self->fd, NON_LOCAL));
	for (n = 0; n < 9; n++) {
		/* A new allocation is in no segment yet, and adds nothing to the usage. */
		ASSERT_EQ(0, pagoda_create(self->fd, (n + 1) * page, CPU, places[n % 3],
					   &handles[n]));
		EXPECT_EQ(sum[LOCAL], usage(self->fd, LOCAL));
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handles[n]));
		sum[pagoda_where(self->fd, handles[n]) == DRM_PAGODA_SEGMENT_VRAM ? LOCAL :
		    NON_LOCAL] += (n + 1) * page;
		PAGODA_PROVES(C165);
		EXPECT_EQ(sum[LOCAL], usage(self->fd, LOCAL));
		EXPECT_EQ(sum[NON_LOCAL], usage(self->fd, NON_LOCAL));
	}
	EXPECT_EQ((1 + 3 + 4 + 6 + 7 + 9) * page, sum[LOCAL]);
	EXPECT_EQ((2 + 5 + 8) * page, sum[NON_LOCAL]);
	/* The allocations add nothing to the usage of another client. */
	EXPECT_EQ(0, usage(self->other, LOCAL));
	for (n = 0; n < 9; n++) {
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, handles[n]));
		sum[n % 3 == 1 ? NON_LOCAL : LOCAL] -= (n + 1) * page;
		EXPECT_EQ(sum[LOCAL], usage(self->fd, LOCAL));
		EXPECT_EQ(sum[NON_LOCAL], usage(self->fd, NON_LOCAL));
	}
}

/* The usage has page tables of the client's VMs and save areas of its contexts, too. */
TEST_F(budget, usage_has_tables_and_save_areas)
{
	struct client client;
	uint32_t handle;
	uint64_t all;

	if (!self->dev.info.num_engines)
		SKIP(return, "no engines");
	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	ASSERT_EQ(0, pagoda_create_private(self->fd, client.vm.vm, self->size, 0, PAGODA_IN_VRAM,
					   &handle));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, client.vm.vm, handle, client_data(&client, 0), 0,
				     self->size));
	ASSERT_EQ(0, client_run(&client, NULL, 0));
	all = usage(self->fd, LOCAL) + usage(self->fd, NON_LOCAL);
	PAGODA_PROVES(C165);
	EXPECT_LT(self->size + CODE_SIZE + 2 * self->dev.page, all);
	/* No other client uses VRAM: all that was added belongs to this client. */
	EXPECT_EQ(pagoda_usage(self->fd, DRM_PAGODA_SEGMENT_VRAM) - self->vram,
		  usage(self->fd, LOCAL));
	ASSERT_EQ(0, pagoda_close(self->fd, handle));
	client_close(&client);
	EXPECT_EQ(0, usage_settled(self->fd, LOCAL, 0));
	EXPECT_EQ(0, usage_settled(self->fd, NON_LOCAL, 0));
}

/* --- budgets ----------------------------------------------------------------------------- */

TEST_F(budget, others_and_the_budget)
{
	uint64_t pool = budget(self->other, LOCAL);
	uint32_t handles[MOST], n;

	/* While no client wants anything, the budget is the pool: VRAM but a 32nd. */
	EXPECT_GE(self->dev.vram.size, pool);
	EXPECT_LE(self->dev.vram.size / 32 * 31 - self->dev.page, pool);
	EXPECT_LE(32 * PAGODA_MIB, budget(self->other, NON_LOCAL));
	EXPECT_EQ(pool, budget(self->fd, LOCAL));
	ASSERT_EQ(0, create_many(self->fd, self->size, handles, MOST));
	for (n = 0; n < MOST; n++) {
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handles[n]));
		EXPECT_EQ(pool, budget(self->fd, LOCAL));
		/*
		 * What this client wants is taken from the other client's budget, down to half of
		 * the pool.
		 */
		EXPECT_EQ(pool - (n + 1) * self->size, budget(self->other, LOCAL));
	}
	/* Neither client wants anything of the aperture, of which both have the same budget. */
	EXPECT_EQ(budget(self->fd, NON_LOCAL), budget(self->other, NON_LOCAL));
	for (n = 0; n < MOST; n++)
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, handles[n]));
	EXPECT_EQ(pool, budget(self->other, LOCAL));
}

TEST_F(budget, no_less_than_a_share)
{
	uint64_t pool = budget(self->other, LOCAL);
	uint64_t share = pool / 2 / self->dev.page * self->dev.page;
	uint32_t handles[24];
	uint32_t n;

	ASSERT_EQ(0, create_many(self->fd, self->size, handles, ARRAY_SIZE(handles)));
	for (n = 0; n < ARRAY_SIZE(handles); n++)
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handles[n]));
	ASSERT_EQ(ARRAY_SIZE(handles) * self->size, usage(self->fd, LOCAL));
	EXPECT_EQ(share, budget(self->other, LOCAL));
	EXPECT_EQ(pool, budget(self->fd, LOCAL));
}

/* --- reservations ------------------------------------------------------------------------- */

TEST_F(budget, reservations)
{
	uint64_t most = available(self->fd, LOCAL), mine = budget(self->fd, LOCAL);
	uint64_t theirs = budget(self->other, LOCAL);
	struct drm_pagoda_query_memory_info before, after;

	EXPECT_LT(0, most);
	EXPECT_EQ(0, reserved(self->fd, LOCAL));
	ASSERT_EQ(0, pagoda_memory_info(self->fd, LOCAL, &before));
	PAGODA_PROVES(C166);
	EXPECT_REFUSED(EDQUOT, pagoda_set_reservation(self->fd, LOCAL, most + 1));
	EXPECT_REFUSED(EDQUOT, pagoda_set_reservation(self->fd, LOCAL, UINT64_MAX));
	ASSERT_EQ(0, pagoda_memory_info(self->fd, LOCAL, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	ASSERT_EQ(0, pagoda_set_reservation(self->fd, LOCAL, most));
	EXPECT_EQ(most, reserved(self->fd, LOCAL));
	EXPECT_EQ(most, available(self->fd, LOCAL));
	EXPECT_EQ(mine, budget(self->fd, LOCAL));
	/* The other client has a smaller budget, and can reserve nothing of LOCAL. */
	EXPECT_EQ((theirs - most) / self->dev.page * self->dev.page, budget(self->other, LOCAL));
	EXPECT_EQ(0, available(self->other, LOCAL));
	EXPECT_REFUSED(EDQUOT, pagoda_set_reservation(self->other, LOCAL, 1));
	EXPECT_EQ(0, pagoda_set_reservation(self->other, NON_LOCAL, 1));
	/* A reservation replaces the client's earlier one. */
	ASSERT_EQ(0, pagoda_set_reservation(self->fd, LOCAL, self->dev.page));
	EXPECT_EQ(mine, budget(self->fd, LOCAL));
	EXPECT_EQ(theirs - self->dev.page, budget(self->other, LOCAL));
	EXPECT_EQ(most - self->dev.page, available(self->other, LOCAL));
	EXPECT_EQ(0, pagoda_set_reservation(self->other, LOCAL, most - self->dev.page));
	ASSERT_EQ(0, pagoda_set_reservation(self->fd, LOCAL, 0));
	EXPECT_EQ(theirs, budget(self->other, LOCAL));
}

/* What a closed file reserved and wanted doesn't count in other clients' budgets any more. */
TEST_F(budget, closed_files_leave_nothing)
{
	uint64_t mine = budget(self->fd, LOCAL), most = available(self->fd, LOCAL);
	int third = pagoda_open();
	uint32_t handle;

	ASSERT_LE(0, third);
	ASSERT_EQ(0, pagoda_set_reservation(third, LOCAL, most / 2));
	ASSERT_EQ(0, pagoda_create_vram(third, self->size, &handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(third, handle));
	EXPECT_GT(mine, budget(self->fd, LOCAL));
	close(third);
	EXPECT_EQ(mine, budget_settled(self->fd, LOCAL, mine));
	EXPECT_EQ(most, available(self->fd, LOCAL));
}

/* --- not over the budget -------------------------------------------------------------------- */

/* Has self->other reserve so much that the budget of self->fd is (@count + 0.5) * self->size. */
static int leave_room_for(struct _test_data_budget *self, uint32_t count)
{
	uint64_t room = count * self->size + self->size / 2;

	return pagoda_set_reservation(self->other, LOCAL, budget(self->fd, LOCAL) - room);
}

TEST_F(budget, deny_overbudget)
{
	uint32_t handles[24], queue, timeline, n;
	uint64_t value, trim, used;

	ASSERT_EQ(0, pagoda_paging_queue_create(self->fd, 0, &queue, &timeline));
	ASSERT_EQ(0, create_many(self->fd, self->size, handles, 24));
	ASSERT_EQ(0, leave_room_for(self, 20));
	EXPECT_REFUSED(ENOMEM, pagoda_list_add(self->fd, queue, handles, 21, DENY, &value, &trim));
	PAGODA_PROVES(C167);
	EXPECT_EQ(self->size / 2, trim);
	EXPECT_EQ(0, value);
	EXPECT_EQ(0, usage(self->fd, LOCAL));
	for (n = 0; n < 24; n++) {
		EXPECT_EQ(0, pagoda_list_count(self->fd, handles[n]));
		EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, handles[n]));
	}
	/* Accepted entries count, paged in or not: 6 more are too many, 5 more aren't. */
	ASSERT_EQ(0, pagoda_list_add(self->fd, queue, handles, 15, DENY, &value, &trim));
	EXPECT_EQ(0, trim);
	EXPECT_REFUSED(ENOMEM, pagoda_list_add(self->fd, queue, handles + 15, 6, DENY, &value,
					       &trim));
	EXPECT_EQ(self->size / 2, trim);
	ASSERT_EQ(0, pagoda_list_add(self->fd, queue, handles + 10, 10, DENY, &value, &trim));
	ASSERT_EQ(0, value ? pagoda_syncobj_wait(self->fd, timeline, value, LIMIT) : 0);
	used = usage(self->fd, LOCAL);
	EXPECT_EQ(20 * self->size, used);
	EXPECT_GE(budget(self->fd, LOCAL), used);
	/* Without DENY_OVERBUDGET a request may exceed the budget. */
	ASSERT_EQ(0, pagoda_list_add(self->fd, queue, handles + 20, 1, 0, &value, &trim));
	ASSERT_EQ(0, value ? pagoda_syncobj_wait(self->fd, timeline, value, LIMIT) : 0);
	EXPECT_LT(budget(self->fd, LOCAL), usage(self->fd, LOCAL));
	/* Entries that the client already wants add nothing, and are accepted even over budget. */
	EXPECT_EQ(0, pagoda_list_add(self->fd, queue, handles, 21, DENY, &value, &trim));
	EXPECT_REFUSED(ENOMEM, pagoda_list_add(self->fd, queue, handles + 21, 1, DENY, &value,
					       &trim));
	EXPECT_EQ(self->size + self->size / 2, trim);
	EXPECT_EQ(0, pagoda_list_count(self->fd, handles[21]));
}

TEST_F(budget, evict_says_what_is_over)
{
	struct drm_pagoda_residency_entry entry = { 0 };
	struct drm_pagoda_evict args = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
	};
	uint32_t handles[20], n;

	ASSERT_EQ(0, create_many(self->fd, self->size, handles, 20));
	for (n = 0; n < 20; n++)
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handles[n]));
	entry.handle = handles[0];
	ASSERT_EQ(0, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_EVICT, &args));
	EXPECT_EQ(0, args.bytes_to_trim);
	ASSERT_EQ(0, leave_room_for(self, 16));
	entry.handle = handles[1];
	ASSERT_EQ(0, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_EVICT, &args));
	EXPECT_EQ(usage(self->fd, LOCAL) - budget(self->fd, LOCAL), args.bytes_to_trim);
	EXPECT_EQ(self->size + self->size / 2, args.bytes_to_trim);
}

/* --- bad input ------------------------------------------------------------------------------- */

TEST_F(budget, refused)
{
	struct drm_pagoda_query_memory_info info;
	struct drm_pagoda_set_reservation set = { 0 };
	uint32_t group, bit;

	for (group = GROUPS; group; group = group == GROUPS ? ~0u : group + 1) {
		EXPECT_REFUSED(ENOENT, pagoda_memory_info(self->fd, group, &info));
		EXPECT_REFUSED(ENOENT, pagoda_set_reservation(self->fd, group, 0));
	}
	for (bit = 0; bit < 32; bit++) {
		info = (struct drm_pagoda_query_memory_info) { .flags = 1u << bit };
		EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_QUERY_MEMORY_INFO,
						    &info));
		set.flags = 1u << bit;
		EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_SET_RESERVATION,
						    &set));
	}
	EXPECT_REFUSED(EFAULT, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_QUERY_MEMORY_INFO, NULL));
	EXPECT_REFUSED(EFAULT, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_SET_RESERVATION, NULL));
	EXPECT_EQ(0, reserved(self->fd, LOCAL));
	/* QUERY_MEMORY_INFO doesn't read the members that the driver fills in. */
	memset(&info, 0xa5, sizeof(info));
	info.group = NON_LOCAL;
	info.flags = 0;
	ASSERT_EQ(0, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_QUERY_MEMORY_INFO, &info));
	EXPECT_EQ(0, info.current_usage);
	EXPECT_EQ(0, info.current_reservation);
}

TEST_HARNESS_MAIN
