// SPDX-License-Identifier: GPL-2.0
/*
 * A software GPU that misbehaves as its debugfs file "inject" is told. If paging fails, the driver
 * notices, content is right afterwards or reported as lost, and the device works on. If paging is
 * slow, calls return before copies are done, while points, CPU accesses and the next use of VRAM
 * wait for the copies. The file "vram" shows that VRAM holds the content that an allocation should
 * have.
 */
#include <fcntl.h>

#include "lib/pagoda_test.h"

#define SEED		31
#define COUNT		6
#define LIMIT		(60 * PAGODA_SEC)

FIXTURE(inject) {
	struct test_device dev;
	int fd;
	uint64_t size;
	uint64_t usage;
	uint32_t handles[COUNT];
	uint8_t *maps[COUNT];
	uint64_t keys[COUNT];
};

static int rule_write(const char *rule)
{
	int fd = open(FOLDER "inject", O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, rule, strlen(rule)) != (ssize_t)strlen(rule))
		ret = -errno;
	close(fd);
	return ret;
}

/* Returns how often all rules together have applied since they were written. */
static unsigned long long rule_hits(void)
{
	FILE *file = fopen(FOLDER "inject", "r");
	unsigned long long hits, sum = 0;
	char line[256], *at;

	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, "hits=");
		if (at && sscanf(at, "hits=%llu", &hits) == 1)
			sum += hits;
	}
	if (file)
		fclose(file);
	return sum;
}

FIXTURE_SETUP(inject)
{
	int n;

	if (access(FOLDER "inject", W_OK))
		SKIP(return, "no " FOLDER "inject: debugfs isn't mounted, or another GPU");
	ASSERT_EQ(0, rule_write("clear"));
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->size = test_round_up(self->dev.vram.size / 16, self->dev.page) + self->dev.page;
	self->usage = test_vram_settled(self->fd, 0);
	for (n = 0; n < COUNT; n++) {
		ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &self->handles[n]));
		self->maps[n] = pagoda_map(self->fd, self->handles[n], self->size);
		ASSERT_NE(NULL, self->maps[n]);
		self->keys[n] = pagoda_key(SEED, n, 0);
		pagoda_fill(self->maps[n], self->keys[n], 0, self->size);
	}
}

FIXTURE_TEARDOWN(inject)
{
	int n, fd;

	rule_write("clear");
	if (!self->size)
		return;
	for (n = 0; n < COUNT; n++)
		if (self->maps[n])
			munmap(self->maps[n], self->size);
	close(self->fd);
	fd = pagoda_open();
	EXPECT_EQ(self->usage, test_vram_settled(fd, self->usage));
	close(fd);
}

/*
 * Makes all COUNT allocations resident and evicts them, and waits for a point after each of both
 * calls. Returns 0 or a negative errno: -ETIME if a point didn't signal.
 */
static int round_trip(int fd, const uint32_t *handles, uint32_t syncobj, uint64_t *point)
{
	int ret = pagoda_make_resident(fd, handles, COUNT, syncobj, ++*point, NULL);

	if (!ret)
		ret = pagoda_syncobj_wait(fd, syncobj, *point, LIMIT);
	if (!ret)
		ret = pagoda_evict(fd, handles, COUNT, syncobj, ++*point);
	return ret ? ret : pagoda_syncobj_wait(fd, syncobj, *point, LIMIT);
}

static uint32_t state_of(int fd, uint32_t handle)
{
	struct drm_pagoda_allocation_info info;

	return pagoda_info(fd, handle, &info) ? ~0u : info.state;
}

FIXTURE_VARIANT(inject) {
	const char *rule;
	bool may_lose;
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(inject, name) { __VA_ARGS__ }

VARIANT(delay, .rule = "queue=paging action=delay us=20000");
VARIANT(drop, .rule = "queue=paging action=drop nth=2");
VARIANT(drop_two, .rule = "queue=paging action=drop nth=1 count=2");
VARIANT(lost_interrupt, .rule = "queue=paging action=lost_interrupt nth=2");
VARIANT(reorder, .rule = "queue=paging action=reorder nth=1");
VARIANT(fail_once, .rule = "queue=paging action=fail nth=2");
VARIANT(fail_in_the_middle, .rule = "queue=paging action=fail nth=1 packet=1 middle");
VARIANT(fail_replays, .rule = "queue=paging action=fail nth=1 count=1000", .may_lose = true);
VARIANT(hang, .rule = "queue=paging action=hang nth=2");
VARIANT(hang_later, .rule = "queue=paging action=hang nth=1 packet=2");
VARIANT(seqno_of_the_future, .rule = "queue=paging action=corrupt nth=2 field=seqno value=1000000");
VARIANT(seqno_of_the_past, .rule = "queue=paging action=corrupt nth=2 field=seqno value=0");
VARIANT(unknown_status, .rule = "queue=paging action=corrupt nth=2 field=status value=0xffffffff");
VARIANT(short_answer, .rule = "queue=paging action=corrupt nth=2 field=length value=3");
VARIANT(long_answer, .rule = "queue=paging action=corrupt nth=2 field=length value=0xffffffff");
VARIANT(too_many_packets,
	.rule = "queue=paging action=corrupt nth=2 field=packets value=0xffffffff");
VARIANT(unknown_fault, .rule = "queue=paging action=corrupt nth=2 field=fault value=0x7fffffff");

TEST_F(inject, content_survives)
{
	uint32_t syncobj, n, lost = 0;
	uint64_t point = 0;

	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &syncobj));
	ASSERT_EQ(0, rule_write(variant->rule));
	for (n = 0; n < 2; n++)
		EXPECT_EQ(0, round_trip(self->fd, self->handles, syncobj, &point));
	EXPECT_LT(0, rule_hits());
	ASSERT_EQ(0, rule_write("clear"));
	for (n = 0; n < COUNT; n++) {
		uint32_t state = state_of(self->fd, self->handles[n]);

		if (state == DRM_PAGODA_CONTENT_LOST && variant->may_lose) {
			/* Lost content reads as zeros: no byte of an unfinished copy is seen. */
			EXPECT_EQ(-1, pagoda_check_zero(self->maps[n], self->size));
			lost++;
			continue;
		}
		EXPECT_EQ(0, state);
		EXPECT_EQ(-1, pagoda_check(self->maps[n], self->keys[n], 0, self->size));
	}
	/*
	 * If the CPU reaches all of VRAM, the CPU executes what the device fails at: nothing is
	 * lost.
	 */
	if (self->dev.vram.visible_size == self->dev.vram.size)
		EXPECT_EQ(0, lost);

	/* Without rules the device moves content as before. */
	for (n = 0; n < COUNT; n++)
		pagoda_fill(self->maps[n], ++self->keys[n], 0, self->size);
	EXPECT_EQ(0, round_trip(self->fd, self->handles, syncobj, &point));
	for (n = 0; n < COUNT; n++)
		EXPECT_EQ(-1, pagoda_check(self->maps[n], self->keys[n], 0, self->size));
}

FIXTURE(slow) {
	struct test_device dev;
	uint32_t handle;
	uint32_t syncobj;
};

FIXTURE_SETUP(slow)
{
	void *map;

	if (access(FOLDER "inject", W_OK))
		SKIP(return, "no " FOLDER "inject: debugfs isn't mounted, or another GPU");
	ASSERT_EQ(0, test_device_open(&self->dev));
	ASSERT_EQ(0, pagoda_syncobj_create(self->dev.fd, &self->syncobj));
	ASSERT_EQ(0, pagoda_create_vram(self->dev.fd, PAGODA_MIB, &self->handle));
	map = pagoda_map(self->dev.fd, self->handle, PAGODA_MIB);
	ASSERT_NE(NULL, map);
	pagoda_fill(map, SEED, 0, PAGODA_MIB);
	munmap(map, PAGODA_MIB);
	ASSERT_EQ(0, rule_write("queue=paging action=delay us=400000"));
}

FIXTURE_TEARDOWN(slow)
{
	rule_write("clear");
	if (self->handle)
		close(self->dev.fd);
}

/*
 * Most attempts to see what is true only until a copy is done: a thread that gets no processor for
 * a while looks too late. The delay doubles from attempt to attempt, up to LAST_DELAY_US.
 */
#define ATTEMPTS	40
#define FIRST_DELAY_US	30000u
/* Well below the default of timeout_ms, the limit for a paging buffer: the queue isn't reset. */
#define LAST_DELAY_US	500000u

static int slow_down(uint32_t attempt)
{
	uint32_t us = FIRST_DELAY_US << (attempt < 5 ? attempt : 5);
	char rule[64];
	int ret = rule_write("clear");

	snprintf(rule, sizeof(rule), "queue=paging action=delay us=%u",
		 us < LAST_DELAY_US ? us : LAST_DELAY_US);
	return ret ? ret : rule_write(rule);
}

static bool is_under_way(struct _test_data_slow *self, uint64_t point)
{
	return pagoda_wait(self->dev.fd, self->handle, 0) == -ETIME &&
	       pagoda_wait(self->dev.fd, self->handle, 1000000) == -ETIME &&
	       pagoda_syncobj_wait(self->dev.fd, self->syncobj, point, 1000000) == -ETIME;
}

/* MAKE_RESIDENT and EVICT return before the copy is done; waits that are too short answer ETIME. */
TEST_F(slow, nobody_waits_in_the_call)
{
	struct drm_pagoda_make_resident args;
	bool in = false, out = false;
	uint64_t point = 0;
	uint32_t n;

	for (n = 0; n < ATTEMPTS && !(in && out); n++) {
		ASSERT_EQ(0, slow_down(n));
		ASSERT_EQ(0, pagoda_make_resident(self->dev.fd, &self->handle, 1, self->syncobj,
						  ++point, &args));
		in |= is_under_way(self, point) && args.pending;
		ASSERT_EQ(0, pagoda_syncobj_wait(self->dev.fd, self->syncobj, point, LIMIT));
		EXPECT_EQ(0, pagoda_wait(self->dev.fd, self->handle, 0));

		ASSERT_EQ(0, pagoda_evict(self->dev.fd, &self->handle, 1, self->syncobj, ++point));
		out |= is_under_way(self, point);
		ASSERT_EQ(0, pagoda_syncobj_wait(self->dev.fd, self->syncobj, point, LIMIT));
	}
	EXPECT_TRUE(in);
	EXPECT_TRUE(out);
}

/* A CPU access to an allocation that moves waits for the copy, and finds the content unchanged. */
TEST_F(slow, faults_wait_for_the_copy)
{
	uint8_t *map = pagoda_map(self->dev.fd, self->handle, PAGODA_MIB);
	bool in = false, out = false;
	uint32_t n;

	ASSERT_NE(NULL, map);
	for (n = 0; n < ATTEMPTS && !(in && out); n++) {
		ASSERT_EQ(0, slow_down(n));
		ASSERT_EQ(0, pagoda_make_resident(self->dev.fd, &self->handle, 1, 0, 0, NULL));
		in |= pagoda_wait(self->dev.fd, self->handle, 0) == -ETIME;
		PAGODA_PROVES(C34);
		EXPECT_EQ(-1, pagoda_check(map, SEED, 0, PAGODA_MIB));
		ASSERT_EQ(0, pagoda_make_resident(self->dev.fd, &self->handle, 1, 0, 0, NULL));
		ASSERT_EQ(0, pagoda_evict(self->dev.fd, &self->handle, 1, 0, 0));
		out |= pagoda_wait(self->dev.fd, self->handle, 0) == -ETIME;
		EXPECT_EQ(-1, pagoda_check(map, SEED, 0, PAGODA_MIB));
	}
	EXPECT_TRUE(in);
	EXPECT_TRUE(out);
	munmap(map, PAGODA_MIB);
}

/* VRAM that an evicted allocation leaves isn't written before the copy out of that VRAM is done. */
TEST_F(slow, sources_stay_until_copied)
{
	uint64_t size = self->dev.vram.size / 4, key = pagoda_key(SEED, 77, 0);
	uint32_t first[3], second[3], n;
	uint8_t *map;

	ASSERT_EQ(0, rule_write("clear"));
	for (n = 0; n < 3; n++) {
		ASSERT_EQ(0, pagoda_create_vram(self->dev.fd, size, &first[n]));
		ASSERT_EQ(0, pagoda_create_vram(self->dev.fd, size, &second[n]));
		map = pagoda_map(self->dev.fd, first[n], size);
		ASSERT_NE(NULL, map);
		pagoda_fill(map, key + n, 0, size);
		munmap(map, size);
	}
	ASSERT_EQ(0, pagoda_make_resident(self->dev.fd, first, 3, self->syncobj, 1, NULL));
	ASSERT_EQ(0, pagoda_syncobj_wait(self->dev.fd, self->syncobj, 1, LIMIT));
	ASSERT_EQ(0, rule_write("queue=paging action=delay us=50000"));
	/* Allocations of @second get VRAM from which those of @first are still copied. */
	ASSERT_EQ(0, pagoda_make_resident(self->dev.fd, second, 3, 0, 0, NULL));
	for (n = 0; n < 3; n++) {
		map = pagoda_map(self->dev.fd, first[n], size);
		ASSERT_NE(NULL, map);
		PAGODA_PROVES(C36);
		EXPECT_EQ(-1, pagoda_check(map, key + n, 0, size));
		munmap(map, size);
	}
	ASSERT_EQ(0, rule_write("clear"));
	for (n = 0; n < 3; n++) {
		map = pagoda_map(self->dev.fd, second[n], size);
		ASSERT_NE(NULL, map);
		PAGODA_PROVES(C45);
		EXPECT_EQ(-1, pagoda_check_zero(map, size));
		munmap(map, size);
	}
}

/* A client that is killed during slow paging leaves no VRAM in use. */
TEST_F(slow, killed_while_it_moves)
{
	uint64_t usage = test_vram_settled(self->dev.fd, 0);
	int status, moving;
	pid_t pid;

	pid = test_fork(&moving);
	ASSERT_LE(0, pid);
	if (!pid) {
		int fd = pagoda_open();
		uint32_t handle;

		if (fd < 0 || pagoda_create_vram(fd, self->dev.vram.size / 2, &handle))
			_exit(1);
		pagoda_make_resident(fd, &handle, 1, 0, 0, NULL);
		pagoda_evict(fd, &handle, 1, 0, 0);
		test_say(moving);
		pagoda_wait(fd, handle, LIMIT);
		_exit(0);
	}
	EXPECT_TRUE(test_heard(moving));
	close(moving);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, rule_write("clear"));
	EXPECT_EQ(usage, test_vram_settled(self->dev.fd, usage));
}

/*
 * The GPU is told to overwrite VRAM whose content is discarded, so that no part of that VRAM is
 * zeros by chance: a new allocation in that VRAM reads as zeros all the same.
 */
TEST_F(slow, poisoned_vram_is_zeroed)
{
	uint64_t size = self->dev.vram.size / 8;
	uint32_t handle, round;
	uint8_t *map;

	ASSERT_EQ(0, rule_write("clear"));
	ASSERT_EQ(0, rule_write("action=poison on"));
	for (round = 0; round < 10; round++) {
		ASSERT_EQ(0, pagoda_create_vram(self->dev.fd, size, &handle));
		ASSERT_EQ(0, pagoda_make_resident_wait(self->dev.fd, handle));
		map = pagoda_map(self->dev.fd, handle, size);
		ASSERT_NE(NULL, map);
		PAGODA_PROVES(C45);
		EXPECT_EQ(-1, pagoda_check_zero(map, size));
		memset(map, 0x99, size);
		munmap(map, size);
		ASSERT_EQ(0, pagoda_make_resident_wait(self->dev.fd, handle));
		ASSERT_EQ(0, pagoda_close(self->dev.fd, handle));
	}
}

/*
 * The GPU's debugfs file "vram" shows a contiguous allocation's content in linear order, from the
 * address on that ALLOCATION_INFO gives.
 */
TEST_F(slow, content_is_in_vram)
{
	uint64_t size = 65 * self->dev.page, key = pagoda_key(SEED, 3, 3);
	struct drm_pagoda_allocation_info info;
	int vram = open(FOLDER "vram", O_RDONLY | O_CLOEXEC);
	uint8_t *map, *content = malloc(size);
	uint32_t handle;

	ASSERT_LE(0, vram);
	ASSERT_NE(NULL, content);
	ASSERT_EQ(0, rule_write("clear"));
	ASSERT_EQ(0, pagoda_create(self->dev.fd, size, DRM_PAGODA_ALLOCATION_CPU_VISIBLE |
				   DRM_PAGODA_ALLOCATION_CONTIGUOUS, PAGODA_IN_VRAM, &handle));
	map = pagoda_map(self->dev.fd, handle, size);
	ASSERT_NE(NULL, map);
	pagoda_fill(map, key, 0, size);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->dev.fd, handle));
	ASSERT_EQ(0, pagoda_info(self->dev.fd, handle, &info));
	ASSERT_EQ(DRM_PAGODA_SEGMENT_VRAM, info.segment);
	ASSERT_EQ(size, pread(vram, content, size, info.address));
	PAGODA_PROVES(C31);
	EXPECT_EQ(-1, pagoda_check(content, key, 0, size));
	munmap(map, size);
	close(vram);
	free(content);
}

/* Returns how many READ_PHYSICAL and WRITE_PHYSICAL, which flush its writes, the GPU executed. */
static unsigned long long flushes(void)
{
	return test_executed("READ_PHYSICAL") + test_executed("WRITE_PHYSICAL");
}

/*
 * After the copy to system memory of an eviction the GPU executes an operation that flushes its
 * writes, and the point of EVICT signals after that operation.
 */
TEST_F(slow, flushed_before_the_point)
{
	uint8_t *map = pagoda_map(self->dev.fd, self->handle, PAGODA_MIB);
	unsigned long long before;
	bool waited = false;
	uint32_t n;

	ASSERT_NE(NULL, map);
	for (n = 1; n <= ATTEMPTS && !waited; n++) {
		ASSERT_EQ(0, slow_down(n - 1));
		ASSERT_EQ(0, pagoda_make_resident_wait(self->dev.fd, self->handle));
		before = flushes();
		ASSERT_EQ(0, pagoda_evict(self->dev.fd, &self->handle, 1, self->syncobj, n));
		waited = flushes() == before &&
			 pagoda_syncobj_wait(self->dev.fd, self->syncobj, n, 1000000) == -ETIME;
		ASSERT_EQ(0, pagoda_syncobj_wait(self->dev.fd, self->syncobj, n, LIMIT));
		PAGODA_PROVES(C51);
		EXPECT_LT(before, flushes());
		EXPECT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->dev.fd, self->handle));
	}
	EXPECT_TRUE(waited);
	EXPECT_EQ(-1, pagoda_check(map, SEED, 0, PAGODA_MIB));
	munmap(map, PAGODA_MIB);
}

/*
 * What the CPU writes to an allocation in the aperture, through a cached mapping, is what the GPU
 * copies to VRAM, without a flush.
 */
TEST_F(slow, cached_writes_are_snooped)
{
	struct drm_pagoda_allocation_create args = {
		.size = 33 * self->dev.page,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CACHED |
			 DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY,
		.supported = PAGODA_IN_VRAM | PAGODA_IN_APERTURE,
		.eviction = PAGODA_IN_APERTURE,
		.preferred = { DRM_PAGODA_SEGMENT_VRAM, DRM_PAGODA_SEGMENT_APERTURE },
	};
	struct drm_pagoda_allocation_info info;
	int vram = open(FOLDER "vram", O_RDONLY | O_CLOEXEC), round;
	uint8_t *map, *content = malloc(args.size);

	ASSERT_LE(0, vram);
	ASSERT_NE(NULL, content);
	ASSERT_EQ(0, rule_write("clear"));
	ASSERT_EQ(0, pagoda_create_args(self->dev.fd, &args));
	map = pagoda_map(self->dev.fd, args.handle, args.size);
	ASSERT_NE(NULL, map);
	for (round = 0; round < 3; round++) {
		uint64_t key = pagoda_key(SEED, round, 8);

		ASSERT_EQ(0, pagoda_make_resident_wait(self->dev.fd, args.handle));
		ASSERT_EQ(0, pagoda_evict_wait(self->dev.fd, args.handle));
		ASSERT_EQ(DRM_PAGODA_SEGMENT_APERTURE, pagoda_where(self->dev.fd, args.handle));
		pagoda_fill(map, key, 0, args.size);
		ASSERT_EQ(DRM_PAGODA_SEGMENT_APERTURE, pagoda_where(self->dev.fd, args.handle));
		ASSERT_EQ(0, pagoda_make_resident_wait(self->dev.fd, args.handle));
		ASSERT_EQ(0, pagoda_info(self->dev.fd, args.handle, &info));
		ASSERT_EQ(DRM_PAGODA_SEGMENT_VRAM, info.segment);
		ASSERT_EQ(args.size, pread(vram, content, args.size, info.address));
		PAGODA_PROVES(C55);
		EXPECT_EQ(-1, pagoda_check(content, key, 0, args.size));
	}
	munmap(map, args.size);
	close(vram);
	free(content);
}

TEST_HARNESS_MAIN
