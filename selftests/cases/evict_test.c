// SPDX-License-Identifier: GPL-2.0
/*
 * Over-commitment: one process, its threads, and several processes use more bytes than VRAM has,
 * and check all content of allocations that they keep. Allocations are closed while they move, and
 * processes killed while they work.
 */
#include <pthread.h>

#include "lib/pagoda_test.h"

#define SEED		23
#define BUSY_LIMIT	(60 * PAGODA_SEC)
/* Nanoseconds after which work ends even if not all of it is done: slow machines do less. */
#define WORK_LIMIT	(PAGODA_SEC * 3 / 2)

struct item {
	uint32_t handle;
	uint64_t size;
	uint64_t key;
	uint8_t *map;
};

/* Allocations with known content. @state: of a random generator, for sizes and choices. */
struct pool {
	int fd;
	uint64_t seed;
	uint64_t state;
	uint32_t count;
	struct item *items;
};

FIXTURE(evict) {
	struct test_device dev;
	int fd;
	uint64_t vram;
	uint64_t aperture;
	struct pool pool;
};

FIXTURE_SETUP(evict)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->vram = test_vram_settled(self->fd, 0);
	self->aperture = test_aperture_settled(self->fd, 0);
	self->pool = (struct pool) { .fd = self->fd, .seed = SEED, .state = SEED };
}

static void pool_free(struct pool *pool)
{
	uint32_t n;

	for (n = 0; n < pool->count; n++) {
		if (pool->items[n].map)
			munmap(pool->items[n].map, pool->items[n].size);
		pagoda_close(pool->fd, pool->items[n].handle);
	}
	free(pool->items);
	pool->items = NULL;
	pool->count = 0;
}

FIXTURE_TEARDOWN(evict)
{
	pool_free(&self->pool);
	EXPECT_EQ(self->vram, test_vram_settled(self->fd, self->vram));
	EXPECT_EQ(self->aperture,
		  test_aperture_settled(self->fd, self->aperture));
	close(self->fd);
}

/* Adds an allocation of @size bytes to @pool and has the CPU write its content. */
static int pool_add(struct pool *pool, uint64_t size)
{
	struct item *items = realloc(pool->items, (pool->count + 1) * sizeof(*items));
	struct item *it;
	int ret;

	if (!items)
		return -ENOMEM;
	pool->items = items;
	it = &items[pool->count];
	memset(it, 0, sizeof(*it));
	ret = pagoda_create(pool->fd, size, DRM_PAGODA_ALLOCATION_CPU_VISIBLE |
			    (pool->count % 2 ? DRM_PAGODA_ALLOCATION_CACHED : 0), PAGODA_IN_VRAM,
			    &it->handle);
	if (ret)
		return ret;
	it->size = size;
	it->key = pagoda_key(pool->seed, pool->count, 0);
	pool->count++;
	it->map = pagoda_map(pool->fd, it->handle, size);
	if (!it->map)
		return -errno;
	pagoda_fill(it->map, it->key, 0, size);
	return 0;
}

/* Adds allocations of @low to @high bytes, in whole pages, until they have @total bytes or more. */
static int pool_fill(struct pool *pool, uint64_t total, uint64_t low, uint64_t high)
{
	uint64_t bytes = 0, size;
	int ret = 0;

	while (!ret && bytes < total) {
		/* Small sizes are about as frequent as large ones: a bound is drawn first. */
		size = high;
		if (high > low) {
			size = low << (pagoda_random(&pool->state) % 13);
			size = low + pagoda_random(&pool->state) % (size < high ? size : high);
		}
		size = test_round_up(size < high ? size : high, 4096);
		ret = pool_add(pool, size);
		bytes += size;
	}
	return ret;
}

/* Repeats MAKE_RESIDENT while it answers EBUSY, as others use the memory, up to BUSY_LIMIT. */
static int make_resident_retry(int fd, const uint32_t *handles, uint32_t count)
{
	int64_t end = pagoda_now() + BUSY_LIMIT;
	int ret;

	do {
		ret = pagoda_make_resident(fd, handles, count, 0, 0, NULL);
		if (ret == -EBUSY)
			usleep(500);
	} while (ret == -EBUSY && pagoda_now() < end);
	return ret;
}

/*
 * Chooses up to @most different allocations of @pool with at most @limit bytes together, but always
 * one. Returns their number.
 */
static uint32_t pool_draw(struct pool *pool, uint64_t limit, uint32_t *handles, uint32_t most)
{
	uint32_t at = pagoda_random(&pool->state) % pool->count, count = 0;
	uint64_t bytes = 0;

	while (count < most && count < pool->count) {
		struct item *it = &pool->items[(at + count) % pool->count];

		if (bytes + it->size > limit && count)
			break;
		bytes += it->size;
		handles[count++] = it->handle;
	}
	return count;
}

static int item_check(const struct item *it)
{
	return pagoda_check(it->map, it->key, 0, it->size) == -1 ? 0 : -EILSEQ;
}

/*
 * Makes random lists of allocations resident and, in between, checks, rewrites or evicts
 * allocations, until about @traffic bytes or WORK_LIMIT; then checks every byte of @pool. Returns 0
 * or a negative errno.
 */
static int pool_work(struct pool *pool, uint64_t vram, uint64_t traffic)
{
	int64_t end = pagoda_now() + WORK_LIMIT;
	uint32_t handles[64], count, n;
	uint64_t bytes = 0;
	int ret = 0;

	while (!ret && bytes < traffic && pagoda_now() < end) {
		struct item *it = &pool->items[pagoda_random(&pool->state) % pool->count];

		count = pool_draw(pool, vram / 4, handles, 64);
		ret = make_resident_retry(pool->fd, handles, count);
		for (n = 0; n < count; n++)
			bytes += 64 * PAGODA_KIB;
		bytes += it->size;
		if (ret)
			break;
		switch (pagoda_random(&pool->state) % 4) {
		case 0:
			ret = item_check(it);
			break;
		case 1:
			it->key++;
			pagoda_fill(it->map, it->key, 0, it->size);
			break;
		case 2:
			ret = pagoda_evict(pool->fd, handles, count, 0, 0);
			break;
		}
	}
	for (n = 0; !ret && n < pool->count; n++)
		ret = item_check(&pool->items[n]);
	return ret;
}

FIXTURE_VARIANT(evict) {
	uint32_t percent;
};

FIXTURE_VARIANT_ADD(evict, one_and_a_half) { .percent = 150 };
FIXTURE_VARIANT_ADD(evict, three) { .percent = 300 };

#define TOTAL (self->dev.vram.size / 100 * variant->percent)

TEST_F(evict, small)
{
	ASSERT_EQ(0, pool_fill(&self->pool, TOTAL, self->dev.vram.size / 128,
			       self->dev.vram.size / 128));
	PAGODA_PROVES(C26, C36);
	EXPECT_EQ(0, pool_work(&self->pool, self->dev.vram.size, TOTAL / 2));
}

TEST_F(evict, large)
{
	ASSERT_EQ(0, pool_fill(&self->pool, TOTAL, self->dev.vram.size / 4,
			       self->dev.vram.size / 4));
	PAGODA_PROVES(C26, C36);
	EXPECT_EQ(0, pool_work(&self->pool, self->dev.vram.size, TOTAL));
}

TEST_F(evict, mixed)
{
	uint64_t high = 17 * PAGODA_MIB;

	if (high > self->dev.vram.size / 4)
		high = self->dev.vram.size / 4;
	ASSERT_EQ(0, pool_fill(&self->pool, TOTAL, 4096, high));
	PAGODA_PROVES(C26, C36);
	EXPECT_EQ(0, pool_work(&self->pool, self->dev.vram.size, TOTAL / 2));
}

/* Makes all allocations resident, four in a call, up to three times, waiting for no copies. */
TEST_F(evict, pipelined)
{
	uint64_t size = self->dev.vram.size / 16;
	struct drm_pagoda_stats before, after;
	uint32_t n, round, handles[4];
	int64_t end;

	ASSERT_EQ(0, pool_fill(&self->pool, TOTAL, size, size));
	ASSERT_EQ(0, pagoda_stats(self->fd, &before));
	/* One round at least, however long that takes. */
	end = pagoda_now() + 2 * WORK_LIMIT;
	for (round = 0; round < 3 && (!round || pagoda_now() < end); round++) {
		for (n = 0; n + 4 <= self->pool.count; n += 4) {
			uint32_t k;

			for (k = 0; k < 4; k++)
				handles[k] = self->pool.items[n + k].handle;
			ASSERT_EQ(0, make_resident_retry(self->fd, handles, 4));
		}
	}
	for (n = 0; n < self->pool.count; n++) {
		PAGODA_PROVES(C36);
		EXPECT_EQ(0, item_check(&self->pool.items[n]));
	}
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	EXPECT_LT(before.evictions, after.evictions);
	EXPECT_EQ(before.lost, after.lost);
}

/*
 * An allocation is closed while its eviction is copied. The VRAM must become free, but not before
 * the copy is done: the allocation that is made resident next, maybe in the same VRAM, keeps its
 * content.
 */
TEST_F(evict, closed_in_flight)
{
	uint64_t size = self->dev.vram.size / 8, key;
	int64_t end = pagoda_now() + WORK_LIMIT;
	uint32_t round, handle, kept, enough = 8 * variant->percent / 100, moving = 0;
	uint8_t *map;

	/* Until enough allocations moved while they were closed; after WORK_LIMIT one is enough. */
	for (round = 0; moving < enough && (!moving || pagoda_now() < end); round++) {
		ASSERT_GT(1000, round);
		key = pagoda_key(SEED, round, 9);
		ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &handle));
		ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &kept));
		map = pagoda_map(self->fd, kept, size);
		ASSERT_NE(NULL, map);
		pagoda_fill(map, key, 0, size);
		ASSERT_EQ(0, make_resident_retry(self->fd, &handle, 1));
		ASSERT_EQ(0, pagoda_evict(self->fd, &handle, 1, 0, 0));
		moving += pagoda_wait(self->fd, handle, 0) == -ETIME;
		ASSERT_EQ(0, pagoda_close(self->fd, handle));
		ASSERT_EQ(0, make_resident_retry(self->fd, &kept, 1));
		EXPECT_EQ(-1, pagoda_check(map, key, 0, size));
		munmap(map, size);
		ASSERT_EQ(0, pagoda_close(self->fd, kept));
	}
}

/* --- several processes ------------------------------------------------------------------- */

/*
 * Runs pool_work() in a client with @share bytes of allocations: once, or with @endless until it
 * fails or the process is killed. Returns the exit status of the process.
 */
static int client(uint64_t seed, uint64_t vram, uint64_t share, bool endless)
{
	struct pool pool = { .fd = pagoda_open(), .seed = seed, .state = seed };
	int ret;

	if (pool.fd < 0)
		return 2;
	ret = pool_fill(&pool, share, 4096, vram / 16);
	do {
		if (!ret)
			ret = pool_work(&pool, vram, share);
	} while (!ret && endless);
	if (ret)
		fprintf(stderr, "client %llu: %s\n", (unsigned long long)seed, strerror(-ret));
	pool_free(&pool);
	close(pool.fd);
	return ret ? 1 : 0;
}

static uint32_t client_count(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return processors < 1 ? 2 : processors > 15 ? 16 : processors + 1;
}

static int clients_start(pid_t *pids, uint32_t count, uint64_t vram, uint64_t total, bool endless)
{
	uint32_t n;

	for (n = 0; n < count; n++) {
		pids[n] = fork();
		if (!pids[n])
			_exit(client(1000 + n, vram, total / count, endless));
		if (pids[n] < 0)
			return -errno;
	}
	return 0;
}

TEST_F(evict, several_processes)
{
	uint32_t count = client_count(), n;
	pid_t pids[16];

	ASSERT_EQ(0, clients_start(pids, count, self->dev.vram.size, TOTAL, false));
	for (n = 0; n < count; n++) {
		PAGODA_PROVES(C26, C36);
		EXPECT_EQ(0, test_child_status(pids[n]));
	}
}

TEST_F(evict, killed_in_the_middle)
{
	uint32_t count = client_count(), n, round;
	uint64_t state = SEED;
	pid_t pids[16];
	int status;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, clients_start(pids, count, self->dev.vram.size, TOTAL, true));
		usleep(200000 + pagoda_random(&state) % 600000);
		for (n = 0; n < count; n++)
			kill(pids[n], SIGKILL);
		for (n = 0; n < count; n++) {
			ASSERT_EQ(pids[n], waitpid(pids[n], &status, 0));
			EXPECT_TRUE(WIFSIGNALED(status));
		}
		EXPECT_EQ(self->vram, test_vram_settled(self->fd, self->vram));
		EXPECT_EQ(self->aperture, test_aperture_settled(self->fd, self->aperture));
	}
	/* The next client finds a device that works. */
	EXPECT_EQ(0, client(5, self->dev.vram.size, self->dev.vram.size / 4, false));
}

/*
 * A thread that makes lists of a pool's allocations resident, and evicts some lists again. All
 * threads share one file and the pool; half of them go through it @backwards.
 */
struct racer {
	pthread_t thread;
	struct pool *pool;
	uint64_t vram;
	bool backwards;
	int error;
};

static void *race(void *data)
{
	struct racer *r = data;
	uint32_t n, k, handles[4], count = r->pool->count;
	int64_t end = pagoda_now() + WORK_LIMIT;

	for (n = 0; n < 60 && !r->error && pagoda_now() < end; n++) {
		for (k = 0; k < 4; k++) {
			uint32_t at = (n * 4 + k) % count;

			handles[k] = r->pool->items[r->backwards ? count - 1 - at : at].handle;
		}
		r->error = make_resident_retry(r->pool->fd, handles, 4);
		if (!r->error && n % 4 == 3)
			r->error = pagoda_evict(r->pool->fd, handles, 4, 0, 0);
	}
	return NULL;
}

TEST_F(evict, opposite_orders)
{
	struct racer racers[4];
	uint32_t n;

	ASSERT_EQ(0, pool_fill(&self->pool, TOTAL, self->dev.vram.size / 16,
			       self->dev.vram.size / 16));
	for (n = 0; n < 4; n++) {
		racers[n] = (struct racer) {
			.pool = &self->pool, .vram = self->dev.vram.size, .backwards = n % 2,
		};
		ASSERT_EQ(0, pthread_create(&racers[n].thread, NULL, race, &racers[n]));
	}
	for (n = 0; n < 4; n++) {
		pthread_join(racers[n].thread, NULL);
		EXPECT_EQ(0, racers[n].error);
	}
	for (n = 0; n < self->pool.count; n++)
		EXPECT_EQ(0, item_check(&self->pool.items[n]));
}

TEST_HARNESS_MAIN
