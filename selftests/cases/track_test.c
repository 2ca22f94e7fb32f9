// SPDX-License-Identifier: GPL-2.0
/*
 * TRACK, by which a program learns which pages of an allocation the GPU has written; and evictions,
 * which, if the allocation has a kept copy, copy only the ranges of 64 KiB that were written.
 */
#include <fcntl.h>
#include <linux/virtio_pagoda.h>
#include <pthread.h>

#include "lib/submit_client.h"

#define PAGE		((uint64_t)DRM_PAGODA_TRACK_PAGE)
#define PAGES		64u
#define SIZE		(PAGES * PAGE)
#define SEED		7001

FIXTURE(track) {
	struct test_device dev;
	int fd;
	struct client client;
	uint32_t handle;
	uint64_t at;
};

static int track(int fd, uint32_t handle, uint32_t operation)
{
	struct drm_pagoda_track args = { .handle = handle, .operation = operation };

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_TRACK, &args);
}

static int query(int fd, uint32_t handle, uint64_t offset, uint64_t size, uint64_t *bits)
{
	struct drm_pagoda_track args = {
		.handle = handle,
		.operation = DRM_PAGODA_TRACK_QUERY,
		.offset = offset,
		.size = size,
		.bits = (uintptr_t)bits,
	};

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_TRACK, &args);
}

FIXTURE_SETUP(track)
{
	struct drm_pagoda_device_info info;

	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	ASSERT_EQ(0, pagoda_device(self->fd, &info));
	if (!(info.features & 1ull << VIRTIO_PAGODA_F_DIRTY))
		SKIP(return, "the device doesn't track what it writes");
	ASSERT_EQ(0, client_open(&self->client, self->fd, 0));
	ASSERT_EQ(0, pagoda_create(self->fd, SIZE, CPU, PAGODA_IN_VRAM, &self->handle));
	self->at = client_data(&self->client, 0);
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, self->handle, self->at, 0,
				     SIZE));
	ASSERT_EQ(0, client_run(&self->client, &self->handle, 1));
}

FIXTURE_TEARDOWN(track)
{
	if (self->client.program.memory)
		munmap(self->client.program.memory, CODE_SIZE);
	close(self->fd);
}

/* Runs a job that stores a word in each page whose bit is set in @mask; waits for the job. */
static int write_pages(struct client *client, uint32_t handle, uint64_t at, uint64_t mask)
{
	uint64_t n;

	for (n = 0; n < PAGES; n++)
		if (mask & 1ull << n)
			pagoda_store(&client->program, at + n * PAGE + 8 * n, n + 1);
	return client_run(client, &handle, 1);
}

/* A page that a job wrote after START is reported by the first query of the page, not by others. */
TEST_F(track, reports_what_jobs_write)
{
	uint64_t bits = ~0ull;

	ASSERT_EQ(0, write_pages(&self->client, self->handle, self->at, 0xff));
	ASSERT_EQ(0, track(self->fd, self->handle, DRM_PAGODA_TRACK_START));
	PAGODA_PROVES(C201);
	ASSERT_EQ(0, query(self->fd, self->handle, 0, SIZE, &bits));
	EXPECT_EQ(0ull, bits);
	ASSERT_EQ(0, write_pages(&self->client, self->handle, self->at, 0x8000000000000421ull));
	PAGODA_PROVES(C204);
	ASSERT_EQ(0, query(self->fd, self->handle, 2 * PAGE, 8 * PAGE, &bits));
	EXPECT_EQ(0x8ull, bits);
	ASSERT_EQ(0, query(self->fd, self->handle, 0, SIZE, &bits));
	EXPECT_EQ(0x8000000000000401ull, bits);
	ASSERT_EQ(0, query(self->fd, self->handle, 0, SIZE, &bits));
	EXPECT_EQ(0ull, bits);
	ASSERT_EQ(0, track(self->fd, self->handle, DRM_PAGODA_TRACK_STOP));
}

/* Two allocations are tracked: STOP for the second loses no write to the first. */
TEST_F(track, others_go_on)
{
	uint64_t other_at = client_data(&self->client, 1), bits = 0;
	uint32_t other;

	ASSERT_EQ(0, pagoda_create(self->fd, SIZE, CPU, PAGODA_IN_VRAM, &other));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, other, other_at, 0, SIZE));
	ASSERT_EQ(0, write_pages(&self->client, other, other_at, 1));
	ASSERT_EQ(0, track(self->fd, self->handle, DRM_PAGODA_TRACK_START));
	ASSERT_EQ(0, write_pages(&self->client, self->handle, self->at, 0x30));
	ASSERT_EQ(0, track(self->fd, other, DRM_PAGODA_TRACK_START));
	ASSERT_EQ(0, write_pages(&self->client, other, other_at, 0x3));
	ASSERT_EQ(0, track(self->fd, other, DRM_PAGODA_TRACK_STOP));
	ASSERT_EQ(0, write_pages(&self->client, self->handle, self->at, 0x40));
	ASSERT_EQ(0, query(self->fd, self->handle, 0, SIZE, &bits));
	EXPECT_EQ(0x70ull, bits);
}

/* Moves of an idle allocation out of VRAM and back aren't reported as writes, and lose no write. */
TEST_F(track, moves_are_no_writes)
{
	uint64_t bits = 0;
	uint32_t n;

	ASSERT_EQ(0, track(self->fd, self->handle, DRM_PAGODA_TRACK_START));
	for (n = 0; n < 10; n++) {
		ASSERT_EQ(0, write_pages(&self->client, self->handle, self->at, 1ull << n));
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, self->handle));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->fd, self->handle));
		ASSERT_EQ(0, client_run(&self->client, &self->handle, 1));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, self->handle));
		ASSERT_EQ(0, query(self->fd, self->handle, 0, SIZE, &bits));
		/* All pages are reported if the allocation wasn't idle yet when it was evicted. */
		EXPECT_EQ(1ull << n, bits & 1ull << n);
		if (bits != ~0ull)
			EXPECT_EQ(1ull << n, bits);
	}
}

struct racer {
	struct client *client;
	uint32_t handle;
	uint64_t at;
	int ret;
	bool done;
};

#define RACES	300u

static void *race(void *data)
{
	struct racer *racer = data;
	uint32_t n;

	for (n = 0; n < RACES && !racer->ret; n++) {
		if (n % 50 == 0)
			client_rewind(racer->client);
		pagoda_fill_words(&racer->client->program, racer->at + n * 7 % PAGES * PAGE, PAGE,
				  n);
		racer->ret = client_run(racer->client, &racer->handle, 1);
	}
	__atomic_store_n(&racer->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Jobs write while the test copies the pages that queries report. After the copies for the last
 * query, which comes when all jobs are done, the copy equals the allocation.
 */
TEST_F(track, no_write_is_missed)
{
	struct racer racer = {
		.client = &self->client, .handle = self->handle, .at = self->at,
	};
	uint8_t *map = pagoda_map(self->fd, self->handle, SIZE), *copy = malloc(SIZE);
	uint64_t bits = 0, n;
	bool last = false;
	pthread_t thread;

	ASSERT_NE(NULL, map);
	ASSERT_NE(NULL, copy);
	memcpy(copy, map, SIZE);
	ASSERT_EQ(0, track(self->fd, self->handle, DRM_PAGODA_TRACK_START));
	ASSERT_EQ(0, pthread_create(&thread, NULL, race, &racer));
	PAGODA_PROVES(C202);
	while (!last) {
		last = __atomic_load_n(&racer.done, __ATOMIC_ACQUIRE);
		if (query(self->fd, self->handle, 0, SIZE, &bits))
			break;
		for (n = 0; n < PAGES; n++)
			if (bits & 1ull << n)
				memcpy(copy + n * PAGE, map + n * PAGE, PAGE);
	}
	EXPECT_TRUE(last);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, racer.ret);
	EXPECT_EQ(0, memcmp(copy, map, SIZE));
	munmap(map, SIZE);
	free(copy);
}

/* Refused: wrong arguments, START if the allocation is tracked, STOP and QUERY if it isn't. */
TEST_F(track, refusals)
{
	uint64_t bits = 0;

	EXPECT_REFUSED(ENOENT, track(self->fd, self->handle, DRM_PAGODA_TRACK_STOP));
	EXPECT_REFUSED(ENOENT, query(self->fd, self->handle, 0, SIZE, &bits));
	EXPECT_REFUSED(ENOENT, track(self->fd, self->handle + 1000, DRM_PAGODA_TRACK_START));
	EXPECT_REFUSED(EINVAL, track(self->fd, self->handle, 3));
	ASSERT_EQ(0, track(self->fd, self->handle, DRM_PAGODA_TRACK_START));
	EXPECT_REFUSED(EBUSY, track(self->fd, self->handle, DRM_PAGODA_TRACK_START));
	EXPECT_REFUSED(EINVAL, query(self->fd, self->handle, 8, PAGE, &bits));
	EXPECT_REFUSED(EINVAL, query(self->fd, self->handle, 0, PAGE + 8, &bits));
	EXPECT_REFUSED(EINVAL, query(self->fd, self->handle, 0, 0, &bits));
	EXPECT_REFUSED(EINVAL, query(self->fd, self->handle, PAGE, SIZE, &bits));
	EXPECT_REFUSED(EINVAL, query(self->fd, self->handle, -PAGE, 2 * PAGE, &bits));
	ASSERT_EQ(0, write_pages(&self->client, self->handle, self->at, 2));
	EXPECT_REFUSED(EFAULT, query(self->fd, self->handle, 0, SIZE, (uint64_t *)8));
	/* A query that failed with EFAULT clears no bit: the next query still reports the page. */
	ASSERT_EQ(0, query(self->fd, self->handle, 0, SIZE, &bits));
	EXPECT_EQ(2ull, bits);
}

/* An eviction copies nothing if no job wrote to the allocation in VRAM, else at most 64 KiB. */
TEST_F(track, evictions_copy_what_was_written)
{
	struct drm_pagoda_stats before, after;
	uint64_t *map;

	/* The allocation has to come from system memory once, so that it has a kept copy. */
	ASSERT_EQ(0, write_pages(&self->client, self->handle, self->at, 0xff));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, self->handle));
	ASSERT_EQ(0, client_run(&self->client, &self->handle, 1));
	ASSERT_EQ(0, pagoda_stats(self->fd, &before));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, self->handle));
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	EXPECT_EQ(before.evictions + 1, after.evictions);
	EXPECT_EQ(before.paged_out, after.paged_out);
	ASSERT_EQ(0, write_pages(&self->client, self->handle, self->at, 1ull << 33));
	ASSERT_EQ(0, pagoda_stats(self->fd, &before));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, self->handle));
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	EXPECT_LE(before.paged_out + PAGE, after.paged_out);
	EXPECT_GE(before.paged_out + VIRTIO_PAGODA_DIRTY_BLOCK, after.paged_out);
	map = pagoda_map(self->fd, self->handle, SIZE);
	ASSERT_NE(NULL, map);
	EXPECT_EQ(34ull, map[(33 * PAGE + 8 * 33) / 8]);
	EXPECT_EQ(8ull, map[(7 * PAGE + 8 * 7) / 8]);
	munmap(map, SIZE);
}

TEST_HARNESS_MAIN
