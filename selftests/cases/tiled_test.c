// SPDX-License-Identifier: GPL-2.0
/*
 * Tiled allocations: the CPU sees rows wherever the allocation is, through a swizzling range while
 * the allocation is in VRAM. QUERY tells number and size of the ranges. Invalid layouts are
 * refused.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/pagoda_test.h"

#define SEED		23
#define MAX_SURFACES	80
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define ANYWHERE	(PAGODA_IN_VRAM | PAGODA_IN_APERTURE)
/* Number of an ioctl from when its struct had 48 bytes and knew nothing of tiling. */
#define OLD_IOCTL(id)	DRM_IOWR(DRM_COMMAND_BASE + DRM_PAGODA_##id, uint8_t[48])

#define EXPECT_REFUSED(error, call) EXPECT_EQ(-(error), (call))

FIXTURE(tiled) {
	struct test_device dev;
	int fd;
	struct drm_pagoda_allocation_create args;
	uint64_t usage;
};

FIXTURE_VARIANT(tiled) {
	uint32_t tiling;
	uint32_t pitch;
	uint32_t height;
	uint32_t mips;
	uint32_t flags;
	uint64_t size;
};

/* One level, which fills the allocation. */
FIXTURE_VARIANT_ADD(tiled, small) {
	.tiling = DRM_PAGODA_TILING_4K, .pitch = 1024, .height = 64, .mips = 1, .size = 65536,
};

/* Levels are rounded up to whole tiles; bytes that are in no level follow the levels. */
FIXTURE_VARIANT_ADD(tiled, mips_4k) {
	.tiling = DRM_PAGODA_TILING_4K, .pitch = 320, .height = 192, .mips = 6, .size = 140000,
	.flags = DRM_PAGODA_ALLOCATION_CACHED,
};

/* As mips_4k, but with tiles of 64 KiB. */
FIXTURE_VARIANT_ADD(tiled, mips_64k) {
	.tiling = DRM_PAGODA_TILING_64K, .pitch = 1024, .height = 512, .mips = 4, .size = 851968,
};

FIXTURE_SETUP(tiled)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	ASSERT_LT(0, self->dev.info.swizzling_ranges);
	ASSERT_GE(MAX_SURFACES, self->dev.info.swizzling_ranges + 4);
	ASSERT_LE(variant->size, self->dev.info.swizzling_bytes);
	self->usage = test_vram_settled(self->fd, 0);
	self->args = (struct drm_pagoda_allocation_create) {
		.size = variant->size,
		.flags = CPU | variant->flags,
		.supported = PAGODA_IN_VRAM,
		.tiling = variant->tiling,
		.pitch = variant->pitch,
		.height = variant->height,
		.mips = variant->mips,
	};
}

FIXTURE_TEARDOWN(tiled)
{
	int fd = pagoda_open();

	close(self->fd);
	EXPECT_EQ(self->usage, test_vram_settled(fd, self->usage));
	close(fd);
}

static uint8_t *surface(int fd, const struct drm_pagoda_allocation_create *template,
			uint32_t *handle, uint64_t *size)
{
	struct drm_pagoda_allocation_create args = *template;

	if (pagoda_create_args(fd, &args))
		return NULL;
	*handle = args.handle;
	*size = args.size;
	return pagoda_map(fd, args.handle, args.size);
}

TEST_F(tiled, rows_everywhere)
{
	uint64_t size, round;
	uint32_t handle;
	uint8_t *map = surface(self->fd, &self->args, &handle, &size);

	ASSERT_NE(NULL, map);
	EXPECT_EQ(-1, pagoda_check_zero(map, size));
	for (round = 0; round < 3; round++) {
		uint64_t key = pagoda_key(SEED, round, 0);

		/* The CPU writes while the allocation is out of VRAM, and reads in VRAM. */
		pagoda_fill(map, key, 0, size);
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
		PAGODA_PROVES(C34);
		EXPECT_EQ(-1, pagoda_check(map, key, 0, size));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, handle));
		/* The CPU writes in VRAM, and reads after an eviction. */
		pagoda_fill(map, key + 1, 0, size);
		ASSERT_EQ(0, pagoda_evict(self->fd, &handle, 1, 0, 0));
		EXPECT_EQ(-1, pagoda_check(map, key + 1, 0, size));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->fd, handle));
		/* The mapping isn't touched while the allocation is in VRAM. */
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
		EXPECT_EQ(-1, pagoda_check(map, key + 1, 0, size));
		/* In VRAM the CPU accesses only the 100 bytes that it writes. */
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
		pagoda_fill(map + size / 2, key + 2, 0, 100);
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
		EXPECT_EQ(-1, pagoda_check(map, key + 1, 0, size / 2));
		EXPECT_EQ(-1, pagoda_check(map + size / 2, key + 2, 0, 100));
		EXPECT_EQ(-1, pagoda_check(map + size / 2 + 100, key + 1, size / 2 + 100,
					   size - size / 2 - 100));
	}
	munmap(map, size);
}

TEST_F(tiled, aperture)
{
	struct drm_pagoda_allocation_create args = self->args;
	uint64_t size, key = pagoda_key(SEED, 1, 7);
	uint32_t handle;
	uint8_t *map;

	args.supported = ANYWHERE;
	args.eviction = PAGODA_IN_APERTURE;
	map = surface(self->fd, &args, &handle, &size);
	ASSERT_NE(NULL, map);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	pagoda_fill(map, key, 0, size);
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_APERTURE, pagoda_where(self->fd, handle));
	EXPECT_EQ(-1, pagoda_check(map, key, 0, size));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, handle));
	EXPECT_EQ(-1, pagoda_check(map, key, 0, size));
	munmap(map, size);
}

/*
 * With more surfaces than ranges a range is taken from the surface whose last fault is the oldest,
 * and no allocation moves.
 */
TEST_F(tiled, more_than_ranges)
{
	uint32_t count = self->dev.info.swizzling_ranges + 3, handles[MAX_SURFACES], n, round;
	struct drm_pagoda_stats before, after;
	uint8_t *maps[MAX_SURFACES];
	uint64_t size;

	for (n = 0; n < count; n++) {
		maps[n] = surface(self->fd, &self->args, &handles[n], &size);
		ASSERT_NE(NULL, maps[n]);
	}
	ASSERT_EQ(0, pagoda_make_resident(self->fd, handles, count, 0, 0, NULL));
	ASSERT_EQ(0, pagoda_stats(self->fd, &before));
	for (round = 0; round < 2; round++) {
		for (n = 0; n < count; n++)
			pagoda_fill(maps[n], pagoda_key(SEED, n, round), 0, size);
		for (n = 0; n < count; n++)
			EXPECT_EQ(-1, pagoda_check(maps[n], pagoda_key(SEED, n, round), 0, size))
				TH_LOG("surface %u", n);
	}
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	EXPECT_LE(count, after.range_acquires - before.range_acquires);
	EXPECT_LE(3, after.range_steals - before.range_steals);
	EXPECT_EQ(before.faults, after.faults);
	for (n = 0; n < count; n++) {
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, handles[n]));
		munmap(maps[n], size);
	}
}

/* An allocation in VRAM that no range can hold is evicted when the CPU accesses it. */
TEST_F(tiled, larger_than_a_range)
{
	struct drm_pagoda_allocation_create args = self->args;
	struct drm_pagoda_stats before, after;
	uint64_t size, key = pagoda_key(SEED, 2, 0);
	uint32_t handle;
	uint8_t *map;

	args.pitch = 16384;
	args.height = test_round_up(self->dev.info.swizzling_bytes / args.pitch + 1, 256);
	args.mips = 1;
	args.size = (uint64_t)args.pitch * args.height;
	map = surface(self->fd, &args, &handle, &size);
	ASSERT_NE(NULL, map);
	pagoda_fill(map, key, 0, size);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_stats(self->fd, &before));
	EXPECT_EQ(-1, pagoda_check(map, key, 0, size));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->fd, handle));
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	EXPECT_EQ(1, after.faults - before.faults);
	EXPECT_EQ(before.range_acquires, after.range_acquires);
	munmap(map, size);
}

TEST_F(tiled, not_for_the_cpu)
{
	struct drm_pagoda_allocation_create args = self->args;
	uint64_t offset;

	args.flags = 0;
	ASSERT_EQ(0, pagoda_create_args(self->fd, &args));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, args.handle));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, args.handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, args.handle));
	EXPECT_REFUSED(EACCES, pagoda_mmap_offset(self->fd, args.handle, &offset));
}

/* --- while an allocation moves ----------------------------------------------------------- */

struct thief {
	pthread_t thread;
	uint32_t count;
	uint8_t **maps;
	uint64_t size;
	atomic_bool stop;
	uint64_t wrong;
	uint64_t turns;
};

/* Accesses more surfaces than there are ranges, so that ranges change surfaces all the time. */
static void *steal_loop(void *data)
{
	struct thief *t = data;
	uint64_t state = SEED + 1;
	uint8_t values[MAX_SURFACES] = { 0 };

	while (!atomic_load(&t->stop)) {
		uint32_t n = pagoda_random(&state) % t->count;
		uint8_t *byte = t->maps[n] + t->size / 3;

		t->wrong += __atomic_load_n(byte, __ATOMIC_SEQ_CST) != values[n];
		__atomic_store_n(byte, ++values[n], __ATOMIC_SEQ_CST);
		t->wrong += __atomic_load_n(byte, __ATOMIC_SEQ_CST) != values[n];
		t->turns++;
	}
	return NULL;
}

/*
 * A mapping has what was last written to it, while a thread moves the allocation and another thread
 * accesses other surfaces, which take the allocation's swizzling range.
 */
TEST_F(tiled, live_mapping)
{
	uint64_t size, state = SEED, wrong = 0, turns = 0, words;
	uint32_t count = self->dev.info.swizzling_ranges + 2, handles[MAX_SURFACES], n;
	struct test_mover mover = { .fd = self->fd };
	uint8_t *maps[MAX_SURFACES];
	struct thief thief = { .maps = maps, .count = count };
	uint64_t *map = (void *)surface(self->fd, &self->args, &mover.handle, &size);
	uint64_t *shadow = calloc(1, size);
	int64_t end;

	ASSERT_NE(NULL, map);
	ASSERT_NE(NULL, shadow);
	for (n = 0; n < count; n++) {
		maps[n] = surface(self->fd, &self->args, &handles[n], &thief.size);
		ASSERT_NE(NULL, maps[n]);
	}
	ASSERT_EQ(0, pagoda_make_resident(self->fd, handles, count, 0, 0, NULL));
	words = size / 8;
	ASSERT_EQ(0, pthread_create(&mover.thread, NULL, test_mover_run, &mover));
	ASSERT_EQ(0, test_give_way());
	ASSERT_EQ(0, pthread_create(&thief.thread, NULL, steal_loop, &thief));
	end = pagoda_now() + TEST_MOVES_LIMIT;
	while (test_mover_goes_on(&mover, end)) {
		uint64_t at = pagoda_random(&state) % words, value = pagoda_random(&state);

		wrong += __atomic_load_n(&map[at], __ATOMIC_SEQ_CST) != shadow[at];
		__atomic_store_n(&map[at], value, __ATOMIC_SEQ_CST);
		shadow[at] = value;
		wrong += __atomic_load_n(&map[at], __ATOMIC_SEQ_CST) != value;
		turns++;
	}
	atomic_store(&mover.stop, true);
	atomic_store(&thief.stop, true);
	pthread_join(mover.thread, NULL);
	pthread_join(thief.thread, NULL);
	PAGODA_PROVES(C34);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, thief.wrong);
	EXPECT_EQ(0, memcmp(shadow, map, size));
	EXPECT_EQ(0, mover.error);
	EXPECT_LE(TEST_MOVES_LEAST, mover.moves);
	TH_LOG("%u moves, %llu accesses, %llu of the thief", mover.moves,
	       (unsigned long long)turns, (unsigned long long)thief.turns);
	for (n = 0; n < count; n++)
		munmap(maps[n], thief.size);
	munmap(map, size);
	free(shadow);
}

/* --- other ways of access ---------------------------------------------------------------- */

TEST_F(tiled, debugger_access)
{
	uint64_t key = pagoda_key(SEED, 1, 1), other = pagoda_key(SEED, 1, 2);
	uint64_t offset = self->dev.page - 3, length = 2 * self->dev.page + 11, size;
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC), state;
	uint8_t buffer[3 * 4096];
	uint32_t handle;
	uint8_t *map = surface(self->fd, &self->args, &handle, &size);

	ASSERT_NE(NULL, map);
	ASSERT_LE(0, mem);
	ASSERT_GE(sizeof(buffer), length);
	/* The allocation isn't in VRAM; is in VRAM without a range; is in VRAM with a range. */
	for (state = 0; state < 3; state++) {
		pagoda_fill(map, key, 0, size);
		if (state)
			ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
		if (state == 2)
			EXPECT_EQ(pagoda_byte(key, 0), map[0]);
		ASSERT_EQ(length, pread(mem, buffer, length, (uintptr_t)map + offset));
		EXPECT_EQ(-1, pagoda_check(buffer, key, offset, length)) TH_LOG("state %d", state);
		pagoda_fill(buffer, other, offset, length);
		ASSERT_EQ(length, pwrite(mem, buffer, length, (uintptr_t)map + offset));
		EXPECT_EQ(-1, pagoda_check(map, key, 0, offset)) TH_LOG("state %d", state);
		EXPECT_EQ(-1, pagoda_check(map + offset, other, offset, length))
			TH_LOG("state %d", state);
		EXPECT_EQ(-1, pagoda_check(map + offset + length, key, offset + length,
					   size - offset - length)) TH_LOG("state %d", state);
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	}
	close(mem);
	munmap(map, size);
}

TEST_F(tiled, fork_shares_it)
{
	uint64_t key = pagoda_key(SEED, 2, 0), answer = pagoda_key(SEED, 2, 1), size;
	uint32_t handle;
	uint8_t *map = surface(self->fd, &self->args, &handle, &size);
	pid_t pid;

	ASSERT_NE(NULL, map);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	pagoda_fill(map, key, 0, size);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (pagoda_check(map, key, 0, size) != -1)
			_exit(1);
		pagoda_fill(map, answer, 0, size);
		_exit(pagoda_evict_wait(self->fd, handle) != 0);
	}
	EXPECT_EQ(0, test_child_status(pid));
	EXPECT_EQ(-1, pagoda_check(map, answer, 0, size));
	munmap(map, size);
}

/* --- input --------------------------------------------------------------------------------- */

TEST_F(tiled, described)
{
	struct drm_pagoda_allocation_info info;
	uint32_t handle;

	ASSERT_EQ(0, pagoda_create_args(self->fd, &self->args));
	EXPECT_LE(variant->size, self->args.size);
	ASSERT_EQ(0, pagoda_info(self->fd, self->args.handle, &info));
	EXPECT_EQ(variant->tiling, info.tiling);
	EXPECT_EQ(variant->pitch, info.pitch);
	EXPECT_EQ(variant->height, info.height);
	EXPECT_EQ(variant->mips, info.mips);
	EXPECT_NE(0, info.flags & DRM_PAGODA_ALLOCATION_CONTIGUOUS);
	ASSERT_EQ(0, pagoda_create_vram(self->fd, 4096, &handle));
	ASSERT_EQ(0, pagoda_info(self->fd, handle, &info));
	EXPECT_EQ(DRM_PAGODA_TILING_LINEAR, info.tiling);
	EXPECT_EQ(0, info.pitch | info.height | info.mips);
}

#define CREATE_WITH(field, value) ({					\
	struct drm_pagoda_allocation_create _args = self->args;		\
									\
	_args.field = (value);						\
	pagoda_create_args(self->fd, &_args);				\
})

TEST_F(tiled, refused)
{
	uint32_t tile = variant->tiling == DRM_PAGODA_TILING_4K ? 64 : 256;
	struct drm_pagoda_allocation_create args = self->args;

	EXPECT_REFUSED(EINVAL, CREATE_WITH(tiling, DRM_PAGODA_TILING_LINEAR));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(tiling, DRM_PAGODA_TILING_64K + 1));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(tiling, UINT32_MAX));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(pitch, 0));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(pitch, tile / 2));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(pitch, tile + 1));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(pitch, 65536 + tile));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(pitch, -tile));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(height, 0));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(height, tile - 1));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(height, -tile));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(mips, 0));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(mips, 17));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(mips, UINT32_MAX));
	/* The levels need more bytes than the allocation has. */
	EXPECT_REFUSED(EINVAL, CREATE_WITH(size, variant->pitch));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(mips, 16));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(supported, PAGODA_IN_APERTURE));
	/* An allocation that isn't tiled must have no pitch, height or levels. */
	args.tiling = 0;
	args.pitch = 0;
	args.height = 0;
	EXPECT_REFUSED(EINVAL, pagoda_create_args(self->fd, &args));
	args.mips = 0;
	args.height = tile;
	EXPECT_REFUSED(EINVAL, pagoda_create_args(self->fd, &args));
	args.height = 0;
	args.pitch = tile;
	EXPECT_REFUSED(EINVAL, pagoda_create_args(self->fd, &args));
	args.pitch = 0;
	EXPECT_EQ(0, pagoda_create_args(self->fd, &args));
}

/* A program with the structs from before tiling gets the answers from before tiling. */
TEST_F(tiled, old_structs)
{
	struct drm_pagoda_allocation_create create = self->args;
	struct drm_pagoda_allocation_info info;

	ASSERT_EQ(0, pagoda_ioctl(self->fd, OLD_IOCTL(ALLOCATION_CREATE), &create));
	memset(&info, 0xff, sizeof(info));
	info.handle = create.handle;
	ASSERT_EQ(0, pagoda_ioctl(self->fd, OLD_IOCTL(ALLOCATION_INFO), &info));
	EXPECT_EQ(UINT32_MAX, info.tiling);
	EXPECT_EQ(create.size, info.size);
	ASSERT_EQ(0, pagoda_info(self->fd, create.handle, &info));
	EXPECT_EQ(DRM_PAGODA_TILING_LINEAR, info.tiling);
}

TEST_HARNESS_MAIN
