// SPDX-License-Identifier: GPL-2.0
/*
 * The way back to VRAM: what others drove out comes back when they go, without its client doing
 * anything for it; what left because its client wanted that doesn't.
 */
#include "submit_client.h"

#define PIECES		6u	/* of eighths of VRAM: within any budget */
#define CROWD		7u

FIXTURE(promote) {
	struct test_device dev;
	int fd;
	int other;
	uint64_t size;
	uint64_t vram;
	uint32_t handles[PIECES];
};

FIXTURE_SETUP(promote)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->vram = test_vram_settled(self->fd, 0);
	self->size = self->dev.vram.size / 8;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
}

FIXTURE_TEARDOWN(promote)
{
	int fd = pagoda_open();

	close(self->fd);
	EXPECT_EQ(self->vram, test_vram_settled(fd, self->vram));
	close(fd);
}

static uint64_t usage_of(int fd, uint32_t segment)
{
	struct drm_pagoda_query_memory_info info;

	if (pagoda_memory_info(fd, DRM_PAGODA_SEGMENT_GROUP_LOCAL, &info))
		return UINT64_MAX;
	return info.current_usage;
}

/* What the client has in VRAM, once that is what is expected, or it never will be. */
static uint64_t usage_settled(int fd, uint64_t expected)
{
	return test_settled(fd, 0, usage_of, expected);
}

/* Of what isn't alone in VRAM: its client has page tables there. */
static bool is_back(int fd, uint32_t handle)
{
	int64_t end = pagoda_now() + TEST_PATIENCE;

	while (pagoda_where(fd, handle) != DRM_PAGODA_SEGMENT_VRAM && pagoda_now() < end)
		usleep(1000);
	return pagoda_where(fd, handle) == DRM_PAGODA_SEGMENT_VRAM;
}

static int piece_create(int fd, uint64_t size, uint32_t *handle)
{
	void *map;
	int ret = pagoda_create(fd, size, CPU | CACHED, PAGODA_IN_VRAM, handle);

	if (ret)
		return ret;
	map = pagoda_map(fd, *handle, size);
	if (!map)
		return -errno;
	pagoda_fill(map, pagoda_key(1, *handle, 0), 0, size);
	munmap(map, size);
	return pagoda_make_resident_wait(fd, *handle);
}

static bool piece_holds(int fd, uint64_t size, uint32_t handle)
{
	void *map = pagoda_map(fd, handle, size);
	bool holds = map && pagoda_check(map, pagoda_key(1, handle, 0), 0, size) == -1;

	if (map)
		munmap(map, size);
	return holds;
}

/* As much of VRAM as leaves one piece room. */
static int crowd_in(int fd, uint64_t size)
{
	uint32_t handles[CROWD], n;
	int ret = 0;

	for (n = 0; n < CROWD && !ret; n++)
		ret = pagoda_create_vram(fd, size, &handles[n]);
	if (!ret)
		ret = pagoda_make_resident(fd, handles, CROWD, 0, 0, NULL);
	for (n = 0; n < CROWD && !ret; n++)
		ret = pagoda_wait(fd, handles[n], LIMIT);
	return ret;
}

TEST_F(promote, comes_back)
{
	struct drm_pagoda_stats before, after;
	uint32_t n;

	for (n = 0; n < PIECES; n++)
		ASSERT_EQ(0, piece_create(self->fd, self->size, &self->handles[n]));
	ASSERT_EQ(0, crowd_in(self->other, self->size));
	EXPECT_GE(self->size, usage_of(self->fd, 0));
	ASSERT_EQ(0, pagoda_stats(self->fd, &before));
	close(self->other);
	EXPECT_EQ(PIECES * self->size, usage_settled(self->fd, PIECES * self->size));
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	EXPECT_EQ(before.evictions, after.evictions);
	for (n = 0; n < PIECES; n++) {
		EXPECT_EQ(DRM_PAGODA_RESIDENT_IN_GPU_MEMORY,
			  pagoda_residency(self->fd, self->handles[n]));
		EXPECT_TRUE(piece_holds(self->fd, self->size, self->handles[n]));
	}
}

/* The first three: evicted, taken off the list for when its place is needed, and offered. */
TEST_F(promote, stays_where_it_was_told_to)
{
	const uint32_t lazily = DRM_PAGODA_EVICT_ONLY_IF_NECESSARY;
	uint32_t queue, values, n, *handles = self->handles;
	uint64_t value;

	for (n = 0; n < PIECES; n++)
		ASSERT_EQ(0, piece_create(self->fd, self->size, &handles[n]));
	ASSERT_EQ(0, pagoda_paging_queue_create(self->fd, 0, &queue, &values));
	ASSERT_EQ(0, pagoda_list_add(self->fd, queue, &handles[1], 1, 0, &value, NULL));
	ASSERT_EQ(0, pagoda_list_remove(self->fd, queue, &handles[1], 1, lazily, &value));
	ASSERT_EQ(0, crowd_in(self->other, self->size));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handles[0]));
	ASSERT_EQ(0, pagoda_offer(self->fd, &handles[2], 1, DRM_PAGODA_OFFER_NORMAL, 0));
	close(self->other);
	/* Behind those that come back nothing does. */
	EXPECT_EQ((PIECES - 3) * self->size,
		  usage_settled(self->fd, (PIECES - 3) * self->size));
	usleep(200000);
	EXPECT_EQ((PIECES - 3) * self->size, usage_of(self->fd, 0));
	for (n = 3; n < PIECES; n++)
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, handles[n]));
	EXPECT_TRUE(piece_holds(self->fd, self->size, handles[0]));
	EXPECT_TRUE(piece_holds(self->fd, self->size, handles[1]));
	EXPECT_EQ(0, pagoda_paging_queue_destroy(self->fd, queue));
}

/* A VM's own come back, too, and its addresses lead to them. */
TEST_F(promote, addresses)
{
	struct client client;
	uint32_t n, result;
	uint64_t *sums, words = self->size / 4;

	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	for (n = 0; n < 3; n++) {
		ASSERT_EQ(0, pagoda_create_private(self->fd, client.vm.vm, self->size, 0,
						   PAGODA_IN_VRAM, &self->handles[n]));
		ASSERT_EQ(0, pagoda_bind_map(self->fd, client.vm.vm, self->handles[n],
					     client_data(&client, n), 0, self->size));
	}
	ASSERT_EQ(0, pagoda_create_private(self->fd, client.vm.vm, 4096, CPU | CACHED,
					   PAGODA_IN_APERTURE, &result));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, client.vm.vm, result, client_data(&client, 4), 0,
				     4096));
	sums = pagoda_map(self->fd, result, 4096);
	ASSERT_NE(NULL, sums);
	for (n = 0; n < 3; n++)
		pagoda_fill_words(&client.program, client_data(&client, n), self->size, 7 + n);
	ASSERT_EQ(0, client_run(&client, NULL, 0));
	ASSERT_EQ(0, crowd_in(self->other, self->size));
	EXPECT_GE(2 * self->size, usage_of(self->fd, 0));
	close(self->other);
	for (n = 0; n < 3; n++)
		EXPECT_TRUE(is_back(self->fd, self->handles[n]));
	for (n = 0; n < 3; n++)
		pagoda_reduce(&client.program, VIRTIO_PAGODA_REDUCE_SUM, words,
			      client_data(&client, n), client_data(&client, 4) + 8 * n, 0);
	ASSERT_EQ(0, client_run(&client, NULL, 0));
	for (n = 0; n < 3; n++)
		EXPECT_EQ(words * (7 + n), sums[n]);
	munmap(sums, 4096);
	client_close(&client);
}

TEST_HARNESS_MAIN
