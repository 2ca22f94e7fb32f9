// SPDX-License-Identifier: GPL-2.0
/*
 * CPU mappings of allocations in every place and while allocations move, and accesses to mappings
 * by threads, debuggers, system calls and child processes. Where the CPU reaches a part of VRAM or
 * none, a page fault brings an allocation to where the CPU reaches it. The tests run on devices
 * with any visible part of VRAM, and ask for its size.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/pagoda_test.h"

#define SEED	11
#define PAGES	37

enum place { NOWHERE, EVICTED, VRAM, APERTURE, PHYSICAL, NR_PLACES };

FIXTURE(map) {
	struct test_device dev;
	int fd;
	uint64_t size;
	uint32_t handle;
	uint8_t *map;
	uint64_t usage;
};

FIXTURE_VARIANT(map) {
	uint32_t flags;
};

FIXTURE_VARIANT_ADD(map, combined) {};
FIXTURE_VARIANT_ADD(map, cached) { .flags = DRM_PAGODA_ALLOCATION_CACHED };

FIXTURE_SETUP(map)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->size = PAGES * self->dev.page;
	self->usage = test_vram_settled(self->fd, 0);
	ASSERT_EQ(0, pagoda_create(self->fd, self->size,
				   DRM_PAGODA_ALLOCATION_CPU_VISIBLE | variant->flags,
				   PAGODA_IN_VRAM, &self->handle));
	self->map = pagoda_map(self->fd, self->handle, self->size);
	ASSERT_NE(NULL, self->map);
}

FIXTURE_TEARDOWN(map)
{
	int fd = pagoda_open();

	if (self->map)
		munmap(self->map, self->size);
	close(self->fd);
	EXPECT_EQ(self->usage, test_vram_settled(fd, self->usage));
	close(fd);
}

static int create_at(int fd, enum place place, uint64_t size, uint32_t flags, uint32_t *handle)
{
	uint32_t supported = place < APERTURE ? PAGODA_IN_VRAM : PAGODA_IN_APERTURE;
	int ret;

	flags |= DRM_PAGODA_ALLOCATION_CPU_VISIBLE;
	if (place == PHYSICAL)
		flags |= DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY;
	ret = pagoda_create(fd, size, flags, supported, handle);
	if (!ret && place != NOWHERE)
		ret = pagoda_make_resident_wait(fd, *handle);
	if (!ret && place == EVICTED)
		ret = pagoda_evict_wait(fd, *handle);
	return ret;
}

TEST_F(map, every_placement)
{
	uint64_t size = self->size;
	uint32_t place, handle;

	for (place = 0; place < NR_PLACES; place++) {
		uint64_t key = pagoda_key(SEED, place, 0);
		uint8_t *map;

		ASSERT_EQ(0, create_at(self->fd, place, size, variant->flags, &handle));
		map = pagoda_map(self->fd, handle, size);
		ASSERT_NE(NULL, map);
		EXPECT_EQ(-1, pagoda_check_zero(map, size)) TH_LOG("place %u", place);
		pagoda_fill(map, key, 0, size);
		EXPECT_EQ(-1, pagoda_check(map, key, 0, size)) TH_LOG("place %u", place);
		EXPECT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
		EXPECT_EQ(-1, pagoda_check(map, key, 0, size)) TH_LOG("place %u", place);
		munmap(map, size);
		EXPECT_EQ(0, pagoda_close(self->fd, handle));
	}
}

/*
 * After a CPU access an allocation is where the CPU reaches it; a page fault moves it only if it
 * was elsewhere.
 */
TEST_F(map, faults_bring_it_into_view)
{
	uint64_t size = self->dev.vram.size / 8;
	struct drm_pagoda_allocation_info info;
	struct drm_pagoda_stats before, after;
	uint32_t handles[6], n;
	uint8_t *map;

	for (n = 0; n < 6; n++)
		ASSERT_EQ(0, pagoda_create(self->fd, size, DRM_PAGODA_ALLOCATION_CPU_VISIBLE |
					   DRM_PAGODA_ALLOCATION_CONTIGUOUS | variant->flags,
					   PAGODA_IN_VRAM, &handles[n]));
	ASSERT_EQ(0, pagoda_make_resident(self->fd, handles, 6, 0, 0, NULL));
	ASSERT_EQ(0, pagoda_stats(self->fd, &before));
	for (n = 0; n < 6; n++) {
		map = pagoda_map(self->fd, handles[n], size);
		ASSERT_NE(NULL, map);
		map[size - 1] = n + 1;
		ASSERT_EQ(0, pagoda_info(self->fd, handles[n], &info));
		if (info.segment == DRM_PAGODA_SEGMENT_VRAM)
			EXPECT_GE(self->dev.vram.visible_size, info.address + info.size);
		EXPECT_EQ(n + 1, map[size - 1]);
		EXPECT_EQ(0, map[0]);
		munmap(map, size);
	}
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	if (self->dev.vram.visible_size == self->dev.vram.size)
		EXPECT_EQ(before.faults, after.faults);
	if (!self->dev.vram.visible_size)
		EXPECT_EQ(6, after.faults - before.faults);
}

/*
 * An allocation without CPU_VISIBLE can be mapped if it is supported in the aperture: a CPU access
 * moves it to system memory. Otherwise ALLOCATION_MMAP_OFFSET answers EACCES.
 */
TEST_F(map, shown_in_system_memory_only)
{
	uint64_t size = PAGES * self->dev.page, round;
	uint32_t handle, hidden;
	uint8_t *map;

	ASSERT_EQ(0, pagoda_create(self->fd, size, 0, PAGODA_IN_VRAM | PAGODA_IN_APERTURE,
				   &handle));
	map = pagoda_map(self->fd, handle, size);
	ASSERT_NE(NULL, map);
	pagoda_fill(map, pagoda_key(SEED, 0, 5), 0, size);
	for (round = 0; round < 4; round++) {
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, handle));
		PAGODA_PROVES(C175);
		EXPECT_EQ(-1, pagoda_check(map, pagoda_key(SEED, round, 5), 0, size));
		EXPECT_NE(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, handle));
		pagoda_fill(map, pagoda_key(SEED, round + 1, 5), 0, size);
	}
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	EXPECT_EQ(-1, pagoda_check(map, pagoda_key(SEED, round, 5), 0, size));
	munmap(map, size);
	EXPECT_EQ(0, pagoda_close(self->fd, handle));

	ASSERT_EQ(0, pagoda_create(self->fd, size, 0, PAGODA_IN_VRAM, &hidden));
	EXPECT_EQ(NULL, pagoda_map(self->fd, hidden, size));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(0, pagoda_close(self->fd, hidden));
}

/* --- while it moves ---------------------------------------------------------------------- */

/* The test's thread writes words and reads them back while another thread moves the allocation. */
TEST_F(map, survives_moves)
{
	struct test_mover mover = { .fd = self->fd, .handle = self->handle };
	uint64_t words = self->size / 8, state = SEED, wrong = 0, turns = 0;
	uint64_t *map = (void *)self->map;
	uint64_t *shadow = calloc(words, 8);
	int64_t end = pagoda_now() + TEST_MOVES_LIMIT;

	ASSERT_NE(NULL, shadow);
	ASSERT_EQ(0, pthread_create(&mover.thread, NULL, test_mover_run, &mover));
	ASSERT_EQ(0, test_give_way());
	while (test_mover_goes_on(&mover, end)) {
		uint64_t at = pagoda_random(&state) % words, value = pagoda_random(&state);

		wrong += __atomic_load_n(&map[at], __ATOMIC_SEQ_CST) != shadow[at];
		__atomic_store_n(&map[at], value, __ATOMIC_SEQ_CST);
		shadow[at] = value;
		wrong += __atomic_load_n(&map[at], __ATOMIC_SEQ_CST) != value;
		turns++;
	}
	atomic_store(&mover.stop, true);
	pthread_join(mover.thread, NULL);
	PAGODA_PROVES(C34);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, memcmp(shadow, self->map, self->size));
	EXPECT_EQ(0, mover.error);
	EXPECT_LE(TEST_MOVES_LEAST, mover.moves);
	TH_LOG("%u moves, %llu accesses", mover.moves, (unsigned long long)turns);
	free(shadow);
}

/*
 * A move leaves no CPU page-table entry of the old place behind: the mapping shows the content
 * while MAKE_RESIDENT and EVICT follow each other without waits.
 */
TEST_F(map, no_stale_view)
{
	uint64_t size = self->dev.vram.size / 16, key;
	uint32_t handle, round;
	uint8_t *map;

	ASSERT_EQ(0, pagoda_create(self->fd, size,
				   DRM_PAGODA_ALLOCATION_CPU_VISIBLE | variant->flags,
				   PAGODA_IN_VRAM, &handle));
	map = pagoda_map(self->fd, handle, size);
	ASSERT_NE(NULL, map);
	for (round = 0; round < 8; round++) {
		key = pagoda_key(SEED, round, 3);
		pagoda_fill(map, key, 0, size);
		ASSERT_EQ(0, pagoda_make_resident(self->fd, &handle, 1, 0, 0, NULL));
		PAGODA_PROVES(C34);
		EXPECT_EQ(-1, pagoda_check(map, key, 0, size));
		ASSERT_EQ(0, pagoda_make_resident(self->fd, &handle, 1, 0, 0, NULL));
		ASSERT_EQ(0, pagoda_evict(self->fd, &handle, 1, 0, 0));
		EXPECT_EQ(-1, pagoda_check(map, key, 0, size));
	}
	munmap(map, size);
}

/* --- other ways to look ------------------------------------------------------------------ */

static int mem_open(void)
{
	return open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

TEST_F(map, debugger_access)
{
	uint64_t key = pagoda_key(SEED, 1, 1), other = pagoda_key(SEED, 1, 2);
	/* The range begins 3 bytes before the end of a page, and ends 8 bytes into another page. */
	uint64_t offset = self->dev.page - 3, length = 2 * self->dev.page + 11;
	uint8_t buffer[3 * 4096 + 64];
	int mem = mem_open(), resident;

	ASSERT_LE(0, mem);
	ASSERT_GE(sizeof(buffer), length);
	for (resident = 0; resident < 2; resident++) {
		pagoda_fill(self->map, key, 0, self->size);
		if (resident)
			ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handle));
		ASSERT_EQ(length, pread(mem, buffer, length, (uintptr_t)self->map + offset));
		EXPECT_EQ(-1, pagoda_check(buffer, key, offset, length));
		pagoda_fill(buffer, other, offset, length);
		if (resident)
			ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handle));
		ASSERT_EQ(length, pwrite(mem, buffer, length, (uintptr_t)self->map + offset));
		EXPECT_EQ(-1, pagoda_check(self->map, key, 0, offset));
		EXPECT_EQ(-1, pagoda_check(self->map + offset, other, offset, length));
		EXPECT_EQ(-1, pagoda_check(self->map + offset + length, key, offset + length,
					   self->size - offset - length));
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, self->handle));
	}
	close(mem);
}

TEST_F(map, fork_shares_it)
{
	uint64_t key = pagoda_key(SEED, 2, 0), answer = pagoda_key(SEED, 2, 1);
	pid_t pid;

	pagoda_fill(self->map, key, 0, self->size);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handle));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (pagoda_check(self->map, key, 0, self->size) != -1)
			_exit(1);
		pagoda_fill(self->map, answer, 0, self->size);
		_exit(pagoda_check(self->map, answer, 0, self->size) != -1);
	}
	EXPECT_EQ(0, test_child_status(pid));
	EXPECT_EQ(-1, pagoda_check(self->map, answer, 0, self->size));
}

TEST_F(map, two_mappings_one_content)
{
	uint8_t *second = pagoda_map(self->fd, self->handle, self->size);
	uint32_t n;

	ASSERT_NE(NULL, second);
	ASSERT_NE(self->map, second);
	for (n = 0; n < PAGES; n++) {
		self->map[n * self->dev.page] = n + 1;
		EXPECT_EQ(n + 1, second[n * self->dev.page]);
		if (n == PAGES / 2)
			ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handle));
	}
	EXPECT_EQ(1, second[0]);
	munmap(second, self->size);
}

TEST_F(map, moved_and_cut)
{
	uint64_t page = self->dev.page, key = pagoda_key(SEED, 3, 0), size = self->size;
	uint8_t *place, *moved;

	pagoda_fill(self->map, key, 0, size);
	place = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, place);
	moved = mremap(self->map, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	ASSERT_EQ(place, moved);
	self->map = moved;
	EXPECT_EQ(-1, pagoda_check(moved, key, 0, size));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handle));
	EXPECT_EQ(-1, pagoda_check(moved, key, 0, size));

	/* After munmap() of five pages the rest of the mapping still shows the content. */
	ASSERT_EQ(0, munmap(moved + 10 * page, 5 * page));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handle));
	EXPECT_EQ(-1, pagoda_check(moved, key, 0, 10 * page));
	EXPECT_EQ(-1, pagoda_check(moved + 15 * page, key, 15 * page, size - 15 * page));
}

TEST_F(map, part_of_it)
{
	uint64_t page = self->dev.page, key = pagoda_key(SEED, 4, 0), offset;
	uint8_t *part;

	pagoda_fill(self->map, key, 0, self->size);
	ASSERT_EQ(0, pagoda_mmap_offset(self->fd, self->handle, &offset));
	part = mmap(NULL, 3 * page, PROT_READ, MAP_SHARED, self->fd, offset + 7 * page);
	if (part == MAP_FAILED) {
		/* mmap() of a part may be refused, but only with EINVAL. */
		EXPECT_EQ(EINVAL, errno);
		return;
	}
	EXPECT_EQ(-1, pagoda_check(part, key, 7 * page, 3 * page));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handle));
	EXPECT_EQ(-1, pagoda_check(part, key, 7 * page, 3 * page));
	munmap(part, 3 * page);
}

TEST_F(map, outlives_the_handle)
{
	uint64_t key = pagoda_key(SEED, 5, 0);

	pagoda_fill(self->map, key, 0, self->size);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handle));
	EXPECT_EQ(0, pagoda_close(self->fd, self->handle));
	EXPECT_EQ(-1, pagoda_check(self->map, key, 0, self->size));
	pagoda_fill(self->map, key + 1, 0, self->size);
	EXPECT_EQ(-1, pagoda_check(self->map, key + 1, 0, self->size));
	/* munmap() drops the last reference: the teardown checks that VRAM has become free. */
	munmap(self->map, self->size);
	self->map = NULL;
}

TEST_F(map, refused_mappings)
{
	uint64_t page = self->dev.page, offset;
	int fd = self->fd;

	ASSERT_EQ(0, pagoda_mmap_offset(fd, self->handle, &offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, self->size + page, PROT_READ, MAP_SHARED, fd, offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page, PROT_READ, MAP_SHARED, fd, offset + self->size));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
				   offset));
}

/* The kernel accesses the mapping, for write() and read() of a pipe, and may take page faults. */
TEST_F(map, kernel_reads_and_writes)
{
	uint64_t key = pagoda_key(SEED, 6, 0);
	int pipes[2];
	uint8_t buffer[4096];

	ASSERT_EQ(0, pipe(pipes));
	pagoda_fill(self->map, key, 0, self->size);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handle));
	ASSERT_EQ(sizeof(buffer), write(pipes[1], self->map + 100, sizeof(buffer)));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handle));
	ASSERT_EQ(sizeof(buffer), read(pipes[0], self->map + 8192, sizeof(buffer)));
	EXPECT_EQ(-1, pagoda_check(self->map + 8192, key, 100, sizeof(buffer)));
	close(pipes[0]);
	close(pipes[1]);
}

TEST_HARNESS_MAIN
