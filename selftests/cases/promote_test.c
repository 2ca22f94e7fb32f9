// SPDX-License-Identifier: GPL-2.0
/*
 * Promotion: allocations that were evicted for another client's come back to VRAM when that other
 * client is gone, without a call; allocations that their client evicted, offered or took off its
 * residency list stay out. And pace: how many bytes of other allocations a client's jobs may evict.
 */
#include "lib/submit_client.h"

/* Allocations of an eighth of VRAM each: PIECES of the client self->fd, CROWD of self->other. */
#define PIECES		6u
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

/* Returns the client's usage of VRAM as soon as it is @expected, or after TEST_PATIENCE. */
static uint64_t usage_settled(int fd, uint64_t expected)
{
	return test_settled(fd, 0, usage_of, expected);
}

/*
 * Waits until the allocation is in VRAM, at most TEST_PATIENCE; returns whether it is. For a client
 * that has page tables in VRAM, too, so that its usage doesn't tell where the allocation is.
 */
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

/*
 * Reads the counters into @after once @promotions more promotions are counted than in @before and
 * are paid for, which is a moment after the allocations are in VRAM; at the latest after LIMIT.
 */
static int stats_settled(int fd, uint64_t promotions, const struct drm_pagoda_stats *before,
			 struct drm_pagoda_stats *after)
{
	int64_t end = pagoda_now() + LIMIT;
	int ret;

	do {
		ret = pagoda_stats(fd, after);
		if (ret || (after->promotions - before->promotions >= promotions &&
			    after->promoted - before->promoted ==
			    after->promote_spent - before->promote_spent))
			break;
		usleep(1000);
	} while (pagoda_now() < end);
	return ret;
}

/* Makes CROWD allocations of the client resident; VRAM has room for one more of that size then. */
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
	ASSERT_EQ(0, stats_settled(self->fd, PIECES - 1, &before, &after));
	EXPECT_EQ(before.evictions, after.evictions);
	EXPECT_LE(PIECES - 1, after.promotions - before.promotions);
	EXPECT_LE((PIECES - 1) * self->size, after.promoted - before.promoted);
	EXPECT_EQ(after.promoted - before.promoted, after.promote_spent - before.promote_spent);
	for (n = 0; n < PIECES; n++) {
		EXPECT_EQ(DRM_PAGODA_RESIDENT_IN_GPU_MEMORY,
			  pagoda_residency(self->fd, self->handles[n]));
		EXPECT_TRUE(piece_holds(self->fd, self->size, self->handles[n]));
	}
}

/*
 * Three allocations don't come back: the first is evicted by its client; the second was taken off
 * the residency list with EVICT_ONLY_IF_NECESSARY before its room was needed; the third is offered.
 */
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
	/* The others come back, and no allocation comes back after them. */
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

/* Private allocations come back, too, and jobs find them at the VM's addresses again. */
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

/* ---- What jobs may evict --------------------------------------------------------------- */

/* Allocations of a set, an eighth of VRAM each: two sets don't fit into VRAM together. */
#define SET		5u
#define SETS_LIMIT	(5 * PAGODA_SEC)

/*
 * A client whose jobs use one set of allocations or the other. The last word of @handles[n] holds n
 * plus the set's member of @values, once a job has used the set, and 0 before.
 */
struct sets {
	struct client client;
	uint32_t handles[2 * SET];
	uint64_t values[2];
	uint64_t size;
};

static int sets_open(struct sets *sets, int fd, uint64_t size)
{
	uint32_t n;
	int ret = client_open(&sets->client, fd, 0);

	memset(sets->values, 0, sizeof(sets->values));
	sets->size = size;
	for (n = 0; n < 2 * SET && !ret; n++) {
		ret = pagoda_create(fd, size, 0, PAGODA_IN_VRAM | PAGODA_IN_APERTURE,
				    &sets->handles[n]);
		if (!ret)
			ret = pagoda_bind_map(fd, sets->client.vm.vm, sets->handles[n],
					      client_data(&sets->client, n), 0, size);
	}
	return ret;
}

/*
 * Runs a job that faults unless the last words of the set's allocations are as @values says, and
 * that stores new words; changes @values. Returns 0, even if the job faults, or a negative errno.
 */
static int sets_run(struct sets *sets, uint32_t which)
{
	struct pagoda_program *program = &sets->client.program;
	uint64_t value = sets->values[which], last;
	uint32_t n;
	int ret;

	for (n = which * SET; n < (which + 1) * SET; n++) {
		last = client_data(&sets->client, n) + sets->size - 8;
		pagoda_compare(program, last, value ? value + n : 0);
		pagoda_store(program, last, value + SET * 2 + n);
	}
	ret = client_run(&sets->client, sets->handles + which * SET, SET);
	client_rewind(&sets->client);
	sets->values[which] += SET * 2;
	return ret;
}

/*
 * Runs jobs, with the two sets in turn, until a job leaves an allocation out of VRAM, or for
 * SETS_LIMIT. Returns the number of jobs that left nothing out, or a negative errno.
 */
static int sets_exhaust(struct sets *sets, struct drm_pagoda_stats *stats)
{
	int64_t end = pagoda_now() + SETS_LIMIT;
	int ret, round;

	for (round = 0; !round || pagoda_now() < end; round++) {
		ret = sets_run(sets, round % 2);
		if (!ret)
			ret = pagoda_stats(sets->client.fd, stats);
		if (ret)
			return ret;
		if (stats->submit_held)
			break;
	}
	return round;
}

/*
 * Jobs use in turn two sets that don't fit into VRAM together. No allocation is left out of VRAM
 * before as many bytes as VRAM has were evicted for the jobs; MAKE_RESIDENT brings an allocation to
 * VRAM without tokens. On a machine on which all but copies is slow, tokens come back as fast as
 * they are spent: then nothing is left out.
 */
TEST_F(promote, jobs_are_paced)
{
	struct drm_pagoda_context_state state;
	struct drm_pagoda_stats stats, after;
	struct sets sets;
	uint32_t n;
	int rounds;

	ASSERT_EQ(0, sets_open(&sets, self->fd, self->size));
	ASSERT_EQ(0, pagoda_stats(self->fd, &stats));
	EXPECT_EQ(0, stats.submit_held);
	EXPECT_EQ(0, stats.submit_left);
	EXPECT_EQ(0, stats.submit_spent);
	EXPECT_EQ(self->dev.vram.size, stats.submit_tokens);
	rounds = sets_exhaust(&sets, &stats);
	ASSERT_LE(0, rounds);
	EXPECT_NE(0, stats.bandwidth);
	EXPECT_NE(0, stats.submit_rate);
	if (stats.submit_held) {
		EXPECT_LE(self->size, stats.submit_left);
		EXPECT_LE(self->dev.vram.size, stats.submit_spent);
	} else {
		/* For at least two allocations of each job but the first, others are evicted. */
		TH_LOG("nothing was left out of %d jobs", rounds);
		EXPECT_EQ(0, stats.submit_left);
		EXPECT_LE(2 * self->size * (rounds - 1), stats.submit_spent);
	}
	/* Another client has spent none of its tokens. */
	ASSERT_EQ(0, pagoda_stats(self->other, &after));
	EXPECT_EQ(0, after.submit_held);
	EXPECT_EQ(self->dev.vram.size, after.submit_tokens);
	for (n = 0; n < 2 * SET; n++) {
		EXPECT_EQ(0, pagoda_make_resident_wait(self->fd, sets.handles[n]));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, sets.handles[n]));
	}
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	EXPECT_EQ(stats.submit_spent, after.submit_spent);
	EXPECT_EQ(stats.submit_held, after.submit_held);
	for (n = 0; n < 4; n++)
		EXPECT_EQ(0, sets_run(&sets, n % 2));
	ASSERT_EQ(0, pagoda_context_state(self->fd, sets.client.context, &state));
	EXPECT_EQ(0, state.state);
	client_close(&sets.client);
	close(self->other);
}

TEST_HARNESS_MAIN
