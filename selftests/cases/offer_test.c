// SPDX-License-Identifier: GPL-2.0
/*
 * Offers and residency priorities: which allocation leaves VRAM first, when offered content is kept
 * or becomes zeros, and which calls are refused while an allocation is offered.
 */
#include <setjmp.h>

#include "lib/pagoda_prime.h"
#include "lib/submit_client.h"

#define SEED		41
#define PIECES		16u	/* allocations that fill VRAM */
#define LOW		DRM_PAGODA_OFFER_LOW
#define NORMAL		DRM_PAGODA_OFFER_NORMAL
#define HIGH		DRM_PAGODA_OFFER_HIGH

static sigjmp_buf bus_error;

static void on_bus_error(int number)
{
	siglongjmp(bus_error, number);
}

/* Returns whether an access to @byte raises SIGBUS. */
static bool is_hidden(uint8_t *byte)
{
	struct sigaction action = { .sa_handler = on_bus_error }, before;
	bool hidden;

	sigaction(SIGBUS, &action, &before);
	hidden = sigsetjmp(bus_error, 1);
	if (!hidden)
		__atomic_fetch_add(byte, 0, __ATOMIC_RELAXED);
	sigaction(SIGBUS, &before, NULL);
	return hidden;
}

FIXTURE(offer) {
	struct test_device dev;
	int fd;
	int other;
	uint64_t size;
	uint64_t vram;
	uint64_t aperture;
	uint32_t pieces[PIECES];
};

FIXTURE_SETUP(offer)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	self->vram = test_vram_settled(self->other, 0);
	self->aperture = test_aperture_settled(self->other, 0);
	self->size = self->dev.vram.size / PIECES;
}

FIXTURE_TEARDOWN(offer)
{
	close(self->fd);
	EXPECT_EQ(self->vram, test_vram_settled(self->other, self->vram));
	EXPECT_EQ(self->aperture, test_aperture_settled(self->other, self->aperture));
	close(self->other);
}

/* Creates an allocation with content that depends on @id, and makes it resident. */
static int create_filled(int fd, uint64_t size, uint32_t supported, uint32_t id, uint32_t *handle)
{
	int ret = pagoda_create(fd, size, CPU, supported, handle);
	uint8_t *map;

	if (ret)
		return ret;
	map = pagoda_map(fd, *handle, size);
	if (!map)
		return -errno;
	pagoda_fill(map, pagoda_key(SEED, id, 0), 0, size);
	munmap(map, size);
	return pagoda_make_resident_wait(fd, *handle);
}

static bool holds(int fd, uint32_t handle, uint64_t size, uint32_t id)
{
	uint8_t *map = pagoda_map(fd, handle, size);
	bool same = map && pagoda_check(map, pagoda_key(SEED, id, 0), 0, size) == -1;

	if (map)
		munmap(map, size);
	return same;
}

static bool is_zero(int fd, uint32_t handle, uint64_t size)
{
	uint8_t *map = pagoda_map(fd, handle, size);
	bool zero = map && pagoda_check_zero(map, size) == -1;

	if (map)
		munmap(map, size);
	return zero;
}

static bool in_vram(int fd, uint32_t handle)
{
	return pagoda_where(fd, handle) == DRM_PAGODA_SEGMENT_VRAM;
}

/* Creates allocations for VRAM only and makes them resident one by one, handles[0] first. */
static int fill_vram(int fd, uint64_t size, uint32_t *handles, uint32_t count)
{
	uint32_t n;
	int ret = 0;

	for (n = 0; n < count && !ret; n++) {
		ret = pagoda_create(fd, size, 0, PAGODA_IN_VRAM, &handles[n]);
		if (!ret)
			ret = pagoda_make_resident_wait(fd, handles[n]);
	}
	return ret;
}

/*
 * Makes another allocation of @size bytes resident, with the highest priority. Returns the index of
 * the one among @handles that left VRAM for it; -1 if none left or several, or a call failed.
 */
static int who_leaves(int fd, uint64_t size, const uint32_t *handles, uint32_t count)
{
	bool before[PIECES];
	int left = -1;
	uint32_t n, fresh;

	for (n = 0; n < count; n++)
		before[n] = in_vram(fd, handles[n]);
	if (pagoda_create(fd, size, 0, PAGODA_IN_VRAM, &fresh) ||
	    pagoda_set_priority(fd, fresh, DRM_PAGODA_RESIDENCY_MAXIMUM) ||
	    pagoda_make_resident_wait(fd, fresh))
		return -1;
	for (n = 0; n < count; n++) {
		if (!before[n] || in_vram(fd, handles[n]))
			continue;
		if (left >= 0)
			return -1;
		left = n;
	}
	return left;
}

/* --- which leaves first ----------------------------------------------------------------------- */

TEST_F(offer, by_priority)
{
	static const uint32_t priorities[] = {
		DRM_PAGODA_RESIDENCY_HIGH, DRM_PAGODA_RESIDENCY_LOW, DRM_PAGODA_RESIDENCY_NORMAL,
		DRM_PAGODA_RESIDENCY_MINIMUM, DRM_PAGODA_RESIDENCY_LOW + 1,
		DRM_PAGODA_RESIDENCY_HIGH - 1,
	};
	static const int expected[] = { 3, 1, 4, 2, 5, 0 };
	uint32_t n, used = PIECES - 1;

	ASSERT_EQ(0, fill_vram(self->fd, self->size, self->pieces, used));
	for (n = 0; n < used; n++)
		ASSERT_EQ(0, pagoda_set_priority(self->fd, self->pieces[n], n < 6 ? priorities[n] :
						 DRM_PAGODA_RESIDENCY_MAXIMUM));
	/*
	 * Two allocations of half a piece take the room that is left in VRAM. If they find too
	 * little they evict expected[0], and the loop begins with expected[1].
	 */
	who_leaves(self->fd, self->size / 2, self->pieces, 0);
	who_leaves(self->fd, self->size / 2, self->pieces, 0);
	for (n = !in_vram(self->fd, self->pieces[expected[0]]); n < 6; n++)
		EXPECT_EQ(expected[n], who_leaves(self->fd, self->size, self->pieces, 6));
	PAGODA_PROVES(C168);
}

TEST_F(offer, by_rank)
{
	static const uint32_t ranks[] = { HIGH, LOW, NORMAL, LOW, HIGH, DRM_PAGODA_OFFER_AUTO };
	static const int expected[] = { 1, 3, 2, 5, 0, 4 };
	uint32_t n, left = 0, used = PIECES - 1;
	int who;

	ASSERT_EQ(0, fill_vram(self->fd, self->size, self->pieces, used));
	for (n = 0; n < 6; n++)
		ASSERT_EQ(0, pagoda_offer(self->fd, &self->pieces[n], 1, ranks[n], 0));
	for (n = 0; n < 7 && left < 6; n++) {
		who = who_leaves(self->fd, self->size, self->pieces, 6);
		/* The first new allocation may find room, so that nothing leaves for it. */
		if (who < 0 && !n)
			continue;
		PAGODA_PROVES(C169);
		EXPECT_EQ(expected[left], who);
		left++;
	}
	EXPECT_EQ(6, left);
	/* None of the allocations that aren't offered had to leave. */
	for (n = 6; n < used; n++)
		EXPECT_TRUE(in_vram(self->fd, self->pieces[n]));
}

/* --- what is left ---------------------------------------------------------------------------- */

TEST_F(offer, ok_or_discarded)
{
	struct drm_pagoda_allocation_info info;
	uint32_t handles[2], results[2];

	ASSERT_EQ(0, create_filled(self->fd, self->size, PAGODA_IN_VRAM, 1, &handles[0]));
	ASSERT_EQ(0, create_filled(self->fd, self->size, PAGODA_IN_VRAM, 2, &handles[1]));
	ASSERT_EQ(0, pagoda_offer(self->fd, handles, 2, NORMAL, 0));
	ASSERT_EQ(0, pagoda_info(self->fd, handles[0], &info));
	EXPECT_EQ(DRM_PAGODA_CONTENT_OFFERED, info.state);
	ASSERT_EQ(0, pagoda_evict(self->fd, handles, 1, 0, 0));
	ASSERT_EQ(0, pagoda_reclaim(self->fd, handles, 2, 0, 0, results));
	PAGODA_PROVES(C172, C173);
	EXPECT_EQ(DRM_PAGODA_RECLAIM_DISCARDED, results[0]);
	EXPECT_EQ(DRM_PAGODA_RECLAIM_OK, results[1]);
	EXPECT_TRUE(is_zero(self->fd, handles[0], self->size));
	EXPECT_TRUE(holds(self->fd, handles[1], self->size, 2));
	ASSERT_EQ(0, pagoda_info(self->fd, handles[0], &info));
	EXPECT_EQ(0, info.state);
	/* RECLAIM may be called without asking for results. */
	ASSERT_EQ(0, pagoda_offer(self->fd, handles, 2, NORMAL, DRM_PAGODA_OFFER_ALLOW_DECOMMIT));
	EXPECT_EQ(0, pagoda_reclaim(self->fd, handles, 2, 0, 0, NULL));
	EXPECT_TRUE(holds(self->fd, handles[1], self->size, 2));
}

/*
 * An allocation that was resident when it was offered, and whose content was discarded, is in VRAM
 * again after RECLAIM, and reads as zeros.
 */
TEST_F(offer, comes_back)
{
	uint32_t handle, big, syncobj, results;

	ASSERT_EQ(0, create_filled(self->fd, self->size, PAGODA_IN_VRAM, 3, &handle));
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &syncobj));
	ASSERT_EQ(0, pagoda_offer(self->fd, &handle, 1, LOW, 0));
	ASSERT_EQ(0, fill_vram(self->other, self->size, self->pieces, PIECES - 1));
	ASSERT_EQ(0, pagoda_create(self->other, self->size, CPU, PAGODA_IN_VRAM, &big));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->other, big));
	EXPECT_FALSE(in_vram(self->fd, handle));
	EXPECT_TRUE(is_zero(self->other, big, self->size));
	ASSERT_EQ(0, pagoda_reclaim(self->fd, &handle, 1, syncobj, 1, &results));
	EXPECT_EQ(DRM_PAGODA_RECLAIM_DISCARDED, results);
	PAGODA_PROVES(C174);
	EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, syncobj, 1, LIMIT));
	EXPECT_EQ(DRM_PAGODA_RESIDENT_IN_GPU_MEMORY, pagoda_residency(self->fd, handle));
	EXPECT_TRUE(is_zero(self->fd, handle, self->size));
	close(self->other);
	self->other = pagoda_open();
}

/*
 * Offers an allocation that a job lists: repeats OFFER while it answers EBUSY, because the job is
 * still queued.
 */
static int offer_prepared(int fd, const uint32_t *handle)
{
	int64_t end = pagoda_now() + LIMIT;
	int ret;

	while ((ret = pagoda_offer(fd, handle, 1, LOW, 0)) == -EBUSY && pagoda_now() < end)
		usleep(100);
	return ret;
}

/* A job finds the content of an allocation that was offered after the job was prepared. */
TEST_F(offer, after_earlier_work)
{
	uint32_t listed[2], n, round;
	struct client client;
	uint64_t src, dst;
	uint8_t *map;

	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	src = client_data(&client, 0);
	dst = client_data(&client, 1);
	for (round = 0; round < 4; round++) {
		ASSERT_EQ(0, create_filled(self->fd, self->size, PAGODA_IN_VRAM, round,
					   &listed[0]));
		ASSERT_EQ(0, create_filled(self->fd, self->size, PAGODA_IN_APERTURE, 9,
					   &listed[1]));
		ASSERT_EQ(0, pagoda_bind_map(self->fd, client.vm.vm, listed[0], src, 0,
					     self->size));
		ASSERT_EQ(0, pagoda_bind_map(self->fd, client.vm.vm, listed[1], dst, 0,
					     self->size));
		for (n = 0; n < 8; n++)
			pagoda_copy(&client.program, src, dst, self->size);
		ASSERT_EQ(0, client_submit(&client, listed, 2));
		ASSERT_EQ(0, offer_prepared(self->fd, listed));
		ASSERT_EQ(0, pagoda_evict(self->fd, listed, 1, 0, 0));
		ASSERT_EQ(0, client_wait(&client));
		PAGODA_PROVES(C170);
		EXPECT_TRUE(holds(self->fd, listed[1], self->size, round));
		EXPECT_EQ(DRM_PAGODA_RECLAIM_DISCARDED, pagoda_reclaim_one(self->fd, listed[0]));
		map = pagoda_map(self->fd, listed[0], self->size);
		ASSERT_NE(NULL, map);
		EXPECT_EQ(-1, pagoda_check_zero(map, self->size));
		munmap(map, self->size);
		ASSERT_EQ(0, pagoda_close(self->fd, listed[0]));
		ASSERT_EQ(0, pagoda_close(self->fd, listed[1]));
		client_rewind(&client);
	}
	client_close(&client);
}

/* --- what can't be done ---------------------------------------------------------------------- */

TEST_F(offer, not_used_meanwhile)
{
	uint64_t size = 4 * self->dev.page, address;
	struct client client;
	uint32_t handle;
	uint8_t *map;
	int fd;

	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	address = client_data(&client, 0);
	ASSERT_EQ(0, create_filled(self->fd, size, PAGODA_IN_VRAM | PAGODA_IN_APERTURE, 4,
				   &handle));
	map = pagoda_map(self->fd, handle, size);
	ASSERT_NE(NULL, map);
	EXPECT_FALSE(is_hidden(map));
	ASSERT_EQ(0, pagoda_offer(self->fd, &handle, 1, HIGH, 0));
	PAGODA_PROVES(C171);
	EXPECT_TRUE(is_hidden(map));
	EXPECT_EQ(NULL, pagoda_map(self->fd, handle, size));
	EXPECT_EQ(ENODATA, errno);
	EXPECT_REFUSED(ENODATA, pagoda_make_resident(self->fd, &handle, 1, 0, 0, NULL));
	EXPECT_REFUSED(ENODATA, pagoda_submit(self->fd, client.context, 0, 0, &handle, 1, 0, 0));
	EXPECT_REFUSED(ENODATA, pagoda_bind_map(self->fd, client.vm.vm, handle, address, 0, size));
	EXPECT_REFUSED(ENODATA, prime_export(self->fd, handle));
	EXPECT_REFUSED(EALREADY, pagoda_offer(self->fd, &handle, 1, HIGH, 0));
	EXPECT_EQ(DRM_PAGODA_RECLAIM_OK, pagoda_reclaim_one(self->fd, handle));
	EXPECT_REFUSED(EINVAL, pagoda_reclaim_one(self->fd, handle));
	/* After RECLAIM the CPU mapping from before the offer shows the content again. */
	EXPECT_EQ(-1, pagoda_check(map, pagoda_key(SEED, 4, 0), 0, size));
	EXPECT_EQ(0, pagoda_submit(self->fd, client.context, 0, 0, &handle, 1, 0, 0));
	/* An exported allocation can't be offered: importers don't know of offers. */
	fd = prime_export(self->fd, handle);
	ASSERT_LE(0, fd);
	EXPECT_REFUSED(EPERM, pagoda_offer(self->fd, &handle, 1, HIGH, 0));
	close(fd);
	munmap(map, size);
	client_close(&client);
}

/*
 * While an allocation private to a VM is offered, accesses of jobs to its addresses fault; accesses
 * to the rest of the VM don't.
 */
TEST_F(offer, private_to_a_vm)
{
	uint32_t mine, beside, size = 4 * self->dev.page;
	struct drm_pagoda_context_state state;
	struct client client;

	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	ASSERT_EQ(0, pagoda_create_private(self->fd, client.vm.vm, size, CPU, PAGODA_IN_VRAM,
					   &mine));
	ASSERT_EQ(0, pagoda_create_private(self->fd, client.vm.vm, size, CPU, PAGODA_IN_VRAM,
					   &beside));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, client.vm.vm, mine, client_data(&client, 0), 0,
				     size));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, client.vm.vm, beside, client_data(&client, 1), 0,
				     size));
	pagoda_store(&client.program, client_data(&client, 0), 11);
	ASSERT_EQ(0, client_run(&client, NULL, 0));
	ASSERT_EQ(0, pagoda_offer(self->fd, &mine, 1, LOW, 0));
	pagoda_store(&client.program, client_data(&client, 1), 12);
	EXPECT_EQ(0, client_run(&client, NULL, 0));
	EXPECT_EQ(DRM_PAGODA_RECLAIM_OK, pagoda_reclaim_one(self->fd, mine));
	pagoda_compare(&client.program, client_data(&client, 0), 11);
	pagoda_compare(&client.program, client_data(&client, 1), 12);
	EXPECT_EQ(0, client_run(&client, NULL, 0));
	ASSERT_EQ(0, pagoda_context_state(self->fd, client.context, &state));
	EXPECT_EQ(0, state.state);
	ASSERT_EQ(0, pagoda_offer(self->fd, &mine, 1, LOW, 0));
	pagoda_store(&client.program, client_data(&client, 0), 13);
	EXPECT_EQ(0, client_submit(&client, NULL, 0));
	client_wait(&client);
	PAGODA_PROVES(C171);
	ASSERT_EQ(0, pagoda_context_state(self->fd, client.context, &state));
	EXPECT_NE(0, state.state & DRM_PAGODA_CONTEXT_FAULTED);
	EXPECT_EQ(client_data(&client, 0), state.address);
	client_close(&client);
}

TEST_F(offer, tiled)
{
	struct drm_pagoda_allocation_create args = {
		.size = 65536, .flags = CPU, .supported = PAGODA_IN_VRAM | PAGODA_IN_APERTURE,
		.tiling = DRM_PAGODA_TILING_4K, .pitch = 1024, .height = 64, .mips = 1,
	};
	uint64_t key = pagoda_key(SEED, 5, 0);
	uint8_t *map;

	if (!self->dev.info.swizzling_ranges)
		SKIP(return, "no swizzling ranges");
	ASSERT_EQ(0, pagoda_create_args(self->fd, &args));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, args.handle));
	map = pagoda_map(self->fd, args.handle, args.size);
	ASSERT_NE(NULL, map);
	pagoda_fill(map, key, 0, args.size);
	ASSERT_EQ(0, pagoda_offer(self->fd, &args.handle, 1, LOW, 0));
	EXPECT_TRUE(is_hidden(map));
	EXPECT_EQ(DRM_PAGODA_RECLAIM_OK, pagoda_reclaim_one(self->fd, args.handle));
	EXPECT_EQ(-1, pagoda_check(map, key, 0, args.size));
	ASSERT_EQ(0, pagoda_offer(self->fd, &args.handle, 1, LOW, 0));
	ASSERT_EQ(0, pagoda_evict(self->fd, &args.handle, 1, 0, 0));
	PAGODA_PROVES(C172);
	EXPECT_EQ(DRM_PAGODA_RECLAIM_DISCARDED, pagoda_reclaim_one(self->fd, args.handle));
	EXPECT_EQ(-1, pagoda_check_zero(map, args.size));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, args.handle));
	EXPECT_EQ(-1, pagoda_check_zero(map, args.size));
	munmap(map, args.size);
}

/* --- arguments ------------------------------------------------------------------------------- */

TEST_F(offer, bad_arguments)
{
	uint32_t handles[2], results[2];
	struct drm_pagoda_residency_entry entry = {};
	struct drm_pagoda_reclaim_result_entry answers[2];
	struct drm_pagoda_reclaim args;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.page, &handles[0]));
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.page, &handles[1]));
	EXPECT_REFUSED(EINVAL, pagoda_offer(self->fd, handles, 2, 0, 0));
	EXPECT_REFUSED(EINVAL, pagoda_offer(self->fd, handles, 2, DRM_PAGODA_OFFER_AUTO + 1, 0));
	EXPECT_REFUSED(EINVAL, pagoda_offer(self->fd, handles, 2, LOW, 2));
	EXPECT_REFUSED(EINVAL, pagoda_offer(self->fd, handles, 0, LOW, 0));
	handles[1] = handles[0];
	EXPECT_REFUSED(EINVAL, pagoda_offer(self->fd, handles, 2, LOW, 0));
	handles[1] = 12345;
	EXPECT_REFUSED(ENOENT, pagoda_offer(self->fd, handles, 2, LOW, 0));
	ASSERT_EQ(0, pagoda_offer(self->fd, handles, 1, LOW, 0));
	EXPECT_REFUSED(ENOENT, pagoda_reclaim(self->fd, handles, 2, 0, 0, results));

	entry.handle = handles[0];
	args = (struct drm_pagoda_reclaim) {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		.results = { (uintptr_t)answers, 2, sizeof(answers[0]) },
	};
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_RECLAIM, &args));
	args.results.count = 1;
	args.flags = 1;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_RECLAIM, &args));
	args.flags = 0;
	args.point = 1;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_RECLAIM, &args));
	args.point = 0;
	args.results.array = 16;
	EXPECT_REFUSED(EFAULT, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_RECLAIM, &args));
	args.results.array = (uintptr_t)answers;
	args.results.stride = 4;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_RECLAIM, &args));
	args.results = (struct drm_pagoda_array){ 0, 0, 8 };
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_RECLAIM, &args));
	/* The refused calls have left the allocation offered, with its content. */
	EXPECT_EQ(DRM_PAGODA_RECLAIM_OK, pagoda_reclaim_one(self->fd, handles[0]));

	EXPECT_REFUSED(EINVAL, pagoda_set_priority(self->fd, handles[0],
						   DRM_PAGODA_RESIDENCY_MINIMUM - 1));
	EXPECT_REFUSED(EINVAL, pagoda_set_priority(self->fd, handles[0],
						   DRM_PAGODA_RESIDENCY_MAXIMUM + 1));
	EXPECT_REFUSED(ENOENT, pagoda_set_priority(self->fd, handles[1],
						   DRM_PAGODA_RESIDENCY_NORMAL));
	EXPECT_EQ(0, pagoda_set_priority(self->fd, handles[0], DRM_PAGODA_RESIDENCY_MINIMUM));
	EXPECT_EQ(0, pagoda_set_priority(self->fd, handles[0], DRM_PAGODA_RESIDENCY_MAXIMUM));
}

/* The memory of offered allocations is free when their handle, or their file, is closed. */
TEST_F(offer, closed)
{
	uint32_t handle, n;

	for (n = 0; n < 8; n++) {
		ASSERT_EQ(0, create_filled(self->fd, self->size, PAGODA_IN_VRAM, n, &handle));
		ASSERT_EQ(0, pagoda_offer(self->fd, &handle, 1, 1 + n % 4, n % 2));
		if (n % 3)
			ASSERT_EQ(0, pagoda_close(self->fd, handle));
	}
}

TEST_HARNESS_MAIN
