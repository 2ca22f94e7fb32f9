// SPDX-License-Identifier: GPL-2.0
/*
 * Residency lists and paging queues: counts, values, bytes_to_trim, flags and refusals of
 * MAKE_RESIDENT and EVICT, and jobs that find all of the list resident.
 */
#include "lib/pagoda_prime.h"
#include "lib/submit_client.h"

#define SEED		41
#define MOST		24u
#define CANT_TRIM	DRM_PAGODA_RESIDENT_CANT_TRIM_FURTHER
#define MUST		DRM_PAGODA_RESIDENT_MUST_SUCCEED
#define DENY		DRM_PAGODA_RESIDENT_DENY_OVERBUDGET
#define UNKNOWN		0x7fffu
#define WORK_LIMIT	(PAGODA_SEC * 3 / 2)

FIXTURE(list) {
	struct test_device dev;
	int fd;
	int other;
	uint32_t queue;
	uint32_t timeline;
	uint64_t size;
	uint32_t bos[MOST];
	uint32_t count;
	uint64_t vram;
	uint64_t aperture;
};

FIXTURE_SETUP(list)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	self->vram = test_vram_settled(self->other, 0);
	self->aperture = test_aperture_settled(self->other, 0);
	self->size = self->dev.vram.size / 16;
	ASSERT_EQ(0, pagoda_paging_queue_create(self->fd, 0, &self->queue, &self->timeline));
}

FIXTURE_TEARDOWN(list)
{
	close(self->fd);
	EXPECT_EQ(self->vram, test_vram_settled(self->other, self->vram));
	EXPECT_EQ(self->aperture, test_aperture_settled(self->other, self->aperture));
	close(self->other);
}

/* Creates @count allocations, each a 16th of VRAM, and writes known content to them. */
static int list_create(struct _test_data_list *self, uint32_t count)
{
	uint8_t *map;
	int ret;

	for (; count; count--, self->count++) {
		ret = pagoda_create_vram(self->fd, self->size, &self->bos[self->count]);
		if (ret)
			return ret;
		map = pagoda_map(self->fd, self->bos[self->count], self->size);
		if (!map)
			return -errno;
		pagoda_fill(map, pagoda_key(SEED, self->count, 0), 0, self->size);
		munmap(map, self->size);
	}
	return 0;
}

static int list_check(struct _test_data_list *self, uint32_t index)
{
	uint8_t *map = pagoda_map(self->fd, self->bos[index], self->size);
	int64_t at = map ? pagoda_check(map, pagoda_key(SEED, index, 0), 0, self->size) : 0;

	if (map)
		munmap(map, self->size);
	return at == -1 ? 0 : -EILSEQ;
}

static int list_wait(struct _test_data_list *self, uint64_t value)
{
	return value ? pagoda_syncobj_wait(self->fd, self->timeline, value, LIMIT) : 0;
}

static int list_make(struct _test_data_list *self, uint32_t first, uint32_t count)
{
	uint64_t value;
	int ret = pagoda_list_add(self->fd, self->queue, self->bos + first, count, 0, &value, NULL);

	return ret ? ret : list_wait(self, value);
}

static int list_evict_with(struct _test_data_list *self, uint32_t first, uint32_t count,
			   uint32_t flags)
{
	uint64_t value;
	int ret = pagoda_list_remove(self->fd, self->queue, self->bos + first, count, flags,
				     &value);

	return ret ? ret : list_wait(self, value);
}

static int list_evict(struct _test_data_list *self, uint32_t first, uint32_t count)
{
	return list_evict_with(self, first, count, 0);
}

/* --- counts ------------------------------------------------------------------------------ */

TEST_F(list, as_often_out_as_in)
{
	uint32_t n;

	ASSERT_EQ(0, list_create(self, 2));
	EXPECT_EQ(0, pagoda_list_count(self->fd, self->bos[0]));
	for (n = 1; n <= 7; n++) {
		ASSERT_EQ(0, list_make(self, 0, 1 + n % 2));
		EXPECT_EQ(n, pagoda_list_count(self->fd, self->bos[0]));
	}
	EXPECT_EQ(4, pagoda_list_count(self->fd, self->bos[1]));
	for (n = 6; n; n--) {
		ASSERT_EQ(0, list_evict(self, 0, 1));
		PAGODA_PROVES(C146);
		EXPECT_EQ(n, pagoda_list_count(self->fd, self->bos[0]));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, self->bos[0]));
		EXPECT_EQ(DRM_PAGODA_RESIDENT_IN_GPU_MEMORY,
			  pagoda_residency(self->fd, self->bos[0]));
	}
	ASSERT_EQ(0, list_evict(self, 0, 1));
	EXPECT_EQ(0, pagoda_list_count(self->fd, self->bos[0]));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->fd, self->bos[0]));
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, self->bos[0]));
	PAGODA_PROVES(C154);
	EXPECT_EQ(0, list_check(self, 0));
	/* EVICT takes one from the counts of all of its entries, or changes no count. */
	EXPECT_REFUSED(ENOENT, list_evict(self, 0, 2));
	EXPECT_EQ(4, pagoda_list_count(self->fd, self->bos[1]));
}

/*
 * MAKE_RESIDENT adds one to the counts of allocations that are resident already, too, and a call
 * that is refused for a wrong entry changes no count.
 */
TEST_F(list, again_when_resident)
{
	uint32_t twice[3], n;
	uint64_t value;

	ASSERT_EQ(0, list_create(self, 4));
	for (n = 1; n <= 5; n++) {
		ASSERT_EQ(0, list_make(self, 0, 3));
		EXPECT_EQ(n, pagoda_list_count(self->fd, self->bos[2]));
	}
	twice[0] = self->bos[0];
	twice[1] = self->bos[1];
	twice[2] = self->bos[0];
	PAGODA_PROVES(C146);
	EXPECT_REFUSED(EINVAL, pagoda_list_add(self->fd, self->queue, twice, 3, 0, &value, NULL));
	EXPECT_REFUSED(EINVAL, pagoda_make_resident(self->fd, twice, 3, 0, 0, NULL));
	twice[2] = UNKNOWN;
	EXPECT_REFUSED(ENOENT, pagoda_list_add(self->fd, self->queue, twice, 3, 0, &value, NULL));
	EXPECT_REFUSED(ENOENT, pagoda_make_resident(self->fd, twice, 3, 0, 0, NULL));
	for (n = 0; n < 3; n++)
		EXPECT_EQ(5, pagoda_list_count(self->fd, self->bos[n]));
	/* The next call has an allocation that isn't on the list yet. */
	ASSERT_EQ(0, list_make(self, 0, 4));
	for (n = 0; n < 4; n++)
		EXPECT_EQ(n < 3 ? 6 : 1, pagoda_list_count(self->fd, self->bos[n]));
	/* MAKE_RESIDENT brings back an allocation that EVICT took off the list and evicted. */
	ASSERT_EQ(0, list_evict(self, 3, 1));
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, self->bos[3]));
	ASSERT_EQ(0, list_make(self, 0, 4));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, self->bos[3]));
	for (n = 0; n < 4; n++) {
		EXPECT_EQ(n < 3 ? 7 : 1, pagoda_list_count(self->fd, self->bos[n]));
		EXPECT_EQ(0, list_check(self, n));
	}
	ASSERT_EQ(0, pagoda_close(self->fd, self->bos[1]));
	EXPECT_REFUSED(ENOENT, list_make(self, 0, 4));
	EXPECT_EQ(7, pagoda_list_count(self->fd, self->bos[0]));
}

TEST_F(list, closing_drops_counts)
{
	uint32_t n;

	ASSERT_EQ(0, list_create(self, 2));
	for (n = 0; n < 3; n++)
		ASSERT_EQ(0, list_make(self, 0, 2));
	ASSERT_EQ(0, pagoda_close(self->fd, self->bos[0]));
	EXPECT_REFUSED(ENOENT, pagoda_list_count(self->fd, self->bos[0]));
	EXPECT_EQ(self->vram + self->size, test_vram_settled(self->fd, self->vram + self->size));
	EXPECT_EQ(3, pagoda_list_count(self->fd, self->bos[1]));
}

/* MAKE_RESIDENT and EVICT without a paging queue change no counts and evict nothing on the list. */
TEST_F(list, calls_without_a_queue)
{
	ASSERT_EQ(0, list_create(self, 2));
	ASSERT_EQ(0, list_make(self, 0, 1));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->bos[0]));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->bos[1]));
	EXPECT_EQ(1, pagoda_list_count(self->fd, self->bos[0]));
	EXPECT_EQ(0, pagoda_list_count(self->fd, self->bos[1]));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, self->bos[0]));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, self->bos[1]));
	EXPECT_EQ(DRM_PAGODA_RESIDENT_IN_GPU_MEMORY, pagoda_residency(self->fd, self->bos[0]));
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, self->bos[1]));
	ASSERT_EQ(0, list_evict(self, 0, 1));
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, self->bos[0]));
}

static int share(int from, uint32_t handle, int to, uint32_t *shared)
{
	int dma_buf = prime_export(from, handle), ret;

	if (dma_buf < 0)
		return dma_buf;
	ret = prime_import(to, dma_buf, shared);
	close(dma_buf);
	return ret;
}

TEST_F(list, stays_for_other_clients)
{
	uint32_t queue, timeline, shared;
	uint64_t value;

	ASSERT_EQ(0, list_create(self, 1));
	ASSERT_EQ(0, share(self->fd, self->bos[0], self->other, &shared));
	ASSERT_EQ(0, pagoda_paging_queue_create(self->other, 1, &queue, &timeline));
	ASSERT_EQ(0, list_make(self, 0, 1));
	ASSERT_EQ(0, pagoda_list_add(self->other, queue, &shared, 1, 0, &value, NULL));
	EXPECT_EQ(0, value);
	EXPECT_EQ(1, pagoda_list_count(self->other, shared));
	ASSERT_EQ(0, list_evict(self, 0, 1));
	EXPECT_EQ(0, pagoda_list_count(self->fd, self->bos[0]));
	EXPECT_EQ(DRM_PAGODA_RESIDENT_IN_GPU_MEMORY, pagoda_residency(self->fd, self->bos[0]));
	EXPECT_REFUSED(ENOENT, list_evict(self, 0, 1));
	ASSERT_EQ(0, pagoda_close(self->other, shared));
	ASSERT_EQ(0, list_make(self, 0, 1));
	ASSERT_EQ(0, list_evict(self, 0, 1));
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, self->bos[0]));
}

/* --- values -------------------------------------------------------------------------------- */

TEST_F(list, values_in_order)
{
	uint64_t value, last = 0, signalled, seen = 0;
	uint32_t n, round;

	ASSERT_EQ(0, list_create(self, 8));
	for (round = 0; round < 4; round++) {
		for (n = 0; n < 8; n++) {
			ASSERT_EQ(0, pagoda_list_add(self->fd, self->queue, &self->bos[n], 1, 0,
						     &value, NULL));
			PAGODA_PROVES(C156);
			ASSERT_EQ(++last, value);
			ASSERT_EQ(0, pagoda_syncobj_query(self->fd, self->timeline, &signalled));
			EXPECT_LE(seen, signalled);
			EXPECT_GE(last, signalled);
			seen = signalled;
		}
		ASSERT_EQ(0, list_wait(self, last));
		ASSERT_EQ(0, pagoda_syncobj_query(self->fd, self->timeline, &signalled));
		EXPECT_EQ(last, signalled);
		for (n = 0; n < 8; n++) {
			PAGODA_PROVES(C149);
			EXPECT_EQ(DRM_PAGODA_RESIDENT_IN_GPU_MEMORY,
				  pagoda_residency(self->fd, self->bos[n]));
			EXPECT_EQ(0, list_check(self, n));
		}
		ASSERT_EQ(0, pagoda_list_remove(self->fd, self->queue, self->bos, 8, 0, &value));
		ASSERT_EQ(++last, value);
		ASSERT_EQ(0, list_wait(self, last));
	}
}

TEST_F(list, nothing_to_wait_for)
{
	struct drm_pagoda_stats before, after;
	uint64_t value;

	ASSERT_EQ(0, list_create(self, 3));
	ASSERT_EQ(0, list_make(self, 0, 3));
	ASSERT_EQ(0, pagoda_stats(self->fd, &before));
	ASSERT_EQ(0, pagoda_list_add(self->fd, self->queue, self->bos, 3, 0, &value, NULL));
	EXPECT_EQ(0, value);
	ASSERT_EQ(0, list_evict(self, 0, 3));
	ASSERT_EQ(0, pagoda_list_remove(self->fd, self->queue, self->bos, 3,
					DRM_PAGODA_EVICT_ONLY_IF_NECESSARY, &value));
	EXPECT_EQ(0, value);
	EXPECT_EQ(0, pagoda_list_count(self->fd, self->bos[0]));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, self->bos[0]));
	ASSERT_EQ(0, pagoda_list_add(self->fd, self->queue, self->bos, 3, 0, &value, NULL));
	EXPECT_EQ(0, value);
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	PAGODA_PROVES(C153);
	EXPECT_EQ(before.paged_in, after.paged_in);
	EXPECT_EQ(before.paged_out, after.paged_out);
	EXPECT_EQ(before.moved, after.moved);
}

/*
 * An allocation that is removed from the list with ONLY_IF_NECESSARY leaves VRAM when others need
 * its place. The content of all allocations is right.
 */
TEST_F(list, until_it_is_necessary)
{
	uint64_t value;
	uint32_t n;

	ASSERT_EQ(0, list_create(self, 20));
	ASSERT_EQ(0, list_make(self, 0, 6));
	ASSERT_EQ(0, pagoda_list_remove(self->fd, self->queue, self->bos, 6,
					DRM_PAGODA_EVICT_ONLY_IF_NECESSARY, &value));
	ASSERT_EQ(0, list_make(self, 6, 14));
	PAGODA_PROVES(C153, C154);
	EXPECT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->fd, self->bos[0]));
	for (n = 0; n < 20; n++)
		EXPECT_EQ(0, list_check(self, n));
}

/* EVICT with NOT_WRITTEN_TO evicts unwritten allocations without a copy; the content is kept. */
TEST_F(list, unwritten_is_not_copied)
{
	struct drm_pagoda_stats before, after;
	uint8_t *map;
	uint32_t n;

	ASSERT_EQ(0, list_create(self, 2));
	for (n = 0; n < 3; n++) {
		ASSERT_EQ(0, list_make(self, 0, 2));
		ASSERT_EQ(0, pagoda_stats(self->fd, &before));
		ASSERT_EQ(0, list_evict_with(self, 0, 2, DRM_PAGODA_EVICT_NOT_WRITTEN_TO));
		ASSERT_EQ(0, pagoda_stats(self->fd, &after));
		PAGODA_PROVES(C155);
		EXPECT_EQ(before.paged_out, after.paged_out);
		EXPECT_EQ(before.evictions + 2, after.evictions);
		EXPECT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->fd, self->bos[0]));
	}
	ASSERT_EQ(0, list_make(self, 0, 2));
	EXPECT_EQ(0, list_check(self, 0));
	/* NOT_WRITTEN_TO says nothing about the CPU: what the CPU wrote isn't lost. */
	map = pagoda_map(self->fd, self->bos[1], self->size);
	ASSERT_NE(NULL, map);
	pagoda_fill(map, pagoda_key(SEED, 2, 0), 0, self->size);
	ASSERT_EQ(0, list_evict_with(self, 0, 2, DRM_PAGODA_EVICT_NOT_WRITTEN_TO));
	EXPECT_EQ(-1, pagoda_check(map, pagoda_key(SEED, 2, 0), 0, self->size));
	munmap(map, self->size);
	EXPECT_EQ(0, list_check(self, 0));
}

/*
 * Maps an allocation read-only and reads a byte of each 64; with @move then moves the mapping to
 * another address. Returns the mapping, or NULL.
 */
static uint8_t *map_to_read(int fd, uint32_t handle, uint64_t size, bool move)
{
	uint8_t *map, *place, sum = 0;
	uint64_t offset, at;

	if (pagoda_mmap_offset(fd, handle, &offset))
		return NULL;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, offset);
	for (at = 0; map != MAP_FAILED && at < size; at += 64)
		sum += __atomic_load_n(map + at, __ATOMIC_RELAXED);
	if (map == MAP_FAILED || !move)
		return map == MAP_FAILED ? NULL : map;
	place = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED)
		return NULL;
	map = mremap(map, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	return map == MAP_FAILED ? NULL : map;
}

/*
 * A CPU mapping is read-only while reads fill in its page-table entries, and is made writable after
 * that: EVICT with NOT_WRITTEN_TO doesn't lose what the CPU writes through the mapping.
 */
TEST_F(list, written_by_a_mapping_that_was_to_read)
{
	uint8_t *map;
	uint32_t n;

	ASSERT_EQ(0, list_create(self, 2));
	for (n = 0; n < 2; n++) {
		uint64_t key = pagoda_key(SEED, 3, n);

		/*
		 * The EVICT has NOT_WRITTEN_TO, so that the second MAKE_RESIDENT may keep the
		 * system pages.
		 */
		ASSERT_EQ(0, list_make(self, 0, 2));
		ASSERT_EQ(0, list_evict_with(self, 0, 2, DRM_PAGODA_EVICT_NOT_WRITTEN_TO));
		ASSERT_EQ(0, list_make(self, 0, 2));
		map = map_to_read(self->fd, self->bos[1], self->size, n);
		ASSERT_NE(NULL, map);
		ASSERT_EQ(0, mprotect(map, self->size, PROT_READ | PROT_WRITE));
		pagoda_fill(map, key, 0, self->size);
		ASSERT_EQ(0, list_evict_with(self, 0, 2, DRM_PAGODA_EVICT_NOT_WRITTEN_TO));
		EXPECT_EQ(-1, pagoda_check(map, key, 0, self->size));
		/* The mapping is read-only again, and shows the same content. */
		ASSERT_EQ(0, mprotect(map, self->size, PROT_READ));
		EXPECT_EQ(-1, pagoda_check(map, key, 0, self->size));
		munmap(map, self->size);
		EXPECT_EQ(0, list_check(self, 0));
	}
}

TEST_F(list, other_things_are_signalled_too)
{
	struct drm_pagoda_residency_entry entry = {};
	struct drm_pagoda_make_resident args = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		.paging_queue = self->queue,
		.point = 3,
		.fence_value = 9,
	};
	const uint64_t *map;
	uint32_t n;

	ASSERT_EQ(0, list_create(self, 1));
	entry.handle = self->bos[0];
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &args.syncobj));
	ASSERT_EQ(0, pagoda_fence_create(self->fd, 0, &args.fence, &map));
	/*
	 * The first call brings the allocation, the second finds it resident: both signal the point
	 * and the fence.
	 */
	for (n = 0; n < 2; n++) {
		ASSERT_EQ(0, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &args));
		EXPECT_EQ(1, args.num_resident);
		EXPECT_EQ(!n, args.pending);
		EXPECT_EQ(n ? 0 : 1, args.paging_value);
		EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, args.syncobj, args.point, LIMIT));
		EXPECT_EQ(0, pagoda_fence_wait(self->fd, args.fence, args.fence_value, LIMIT));
		EXPECT_LE(args.fence_value, *map);
		args.point++;
		args.fence_value++;
	}
	munmap((void *)map, self->dev.page);
}

/* --- too much ------------------------------------------------------------------------------ */

TEST_F(list, bytes_to_trim)
{
	uint64_t value, trim;
	uint32_t n;

	ASSERT_EQ(0, list_create(self, 20));
	ASSERT_EQ(0, list_make(self, 0, 12));
	EXPECT_REFUSED(ENOMEM, pagoda_list_add(self->fd, self->queue, self->bos + 11, 9, 0, &value,
					       &trim));
	PAGODA_PROVES(C147, C148);
	EXPECT_LT(0, trim);
	EXPECT_EQ(0, value);
	for (n = 0; n < 20; n++)
		EXPECT_EQ(n < 12 ? 1 : 0, pagoda_list_count(self->fd, self->bos[n]));
	/* When EVICT has taken @trim bytes from the list the same call is accepted. */
	ASSERT_EQ(0, list_evict(self, 0, (trim + self->size - 1) / self->size));
	ASSERT_EQ(0, pagoda_list_add(self->fd, self->queue, self->bos + 11, 9, 0, &value, &trim));
	EXPECT_EQ(0, trim);
	ASSERT_EQ(0, list_wait(self, value));
	for (n = 11; n < 20; n++)
		EXPECT_EQ(DRM_PAGODA_RESIDENT_IN_GPU_MEMORY,
			  pagoda_residency(self->fd, self->bos[n]));
	EXPECT_EQ(2, pagoda_list_count(self->fd, self->bos[11]));
}

TEST_F(list, cant_trim_further)
{
	static const uint32_t flags[] = { CANT_TRIM, CANT_TRIM | MUST };
	struct drm_pagoda_paging_queue_state paging;
	struct drm_pagoda_context_state state;
	struct client client, bystander;
	uint64_t value, trim;
	uint32_t n;

	if (!self->dev.info.num_engines)
		SKIP(return, "the device executes nothing");
	for (n = 0; n < 2; n++) {
		uint32_t queue, timeline, bos[MOST], k;
		int fd = pagoda_open();

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, pagoda_paging_queue_create(fd, 0, &queue, &timeline));
		for (k = 0; k < 20; k++)
			ASSERT_EQ(0, pagoda_create_vram(fd, self->size, &bos[k]));
		ASSERT_EQ(0, client_open(&client, fd, 0));
		ASSERT_EQ(0, client_open(&bystander, self->fd, 0));
		/* Without CANT_TRIM_FURTHER the refusal puts no client in error. */
		EXPECT_REFUSED(ENOMEM, pagoda_list_add(fd, queue, bos, 20, 0, &value, &trim));
		EXPECT_EQ(0, client_run(&client, NULL, 0));
		EXPECT_REFUSED(ENOMEM, pagoda_list_add(fd, queue, bos, 20, flags[n], &value,
						       &trim));
		EXPECT_LT(0, trim);
		PAGODA_PROVES(C151);
		EXPECT_REFUSED(ECANCELED, client_run(&client, NULL, 0));
		ASSERT_EQ(0, pagoda_context_state(fd, client.context, &state));
		EXPECT_EQ(DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_CLIENT_ERROR, state.state);
		EXPECT_REFUSED(ECANCELED, pagoda_context_create(fd, client.vm.vm, &queue));
		EXPECT_REFUSED(ECANCELED, pagoda_list_add(fd, 1, bos, 1, 0, &value, NULL));
		EXPECT_EQ(0, pagoda_list_count(fd, bos[0]));
		ASSERT_EQ(0, pagoda_paging_queue_state(fd, 1, &paging));
		EXPECT_EQ(ENOMEM, paging.client_error);
		/* Only that client is in error: another client's job runs. */
		EXPECT_EQ(0, client_run(&bystander, NULL, 0));
		client_close(&bystander);
		munmap(client.program.memory, CODE_SIZE);
		close(fd);
	}
}

/* --- work ------------------------------------------------------------------------------------ */

/* Runs a job, without entries, that adds @add to the first word of each of @count allocations. */
static int list_job(struct client *client, uint32_t count, uint64_t add)
{
	uint32_t n;

	client_rewind(client);
	for (n = 0; n < count; n++)
		pagoda_add(&client->program, client_data(client, n), add, 0);
	return client_run(client, NULL, 0);
}

TEST_F(list, resident_when_executed)
{
	struct drm_pagoda_context_state state;
	int64_t end = pagoda_now() + WORK_LIMIT;
	struct client client;
	uint32_t n, round;
	uint64_t *map;

	if (!self->dev.info.num_engines)
		SKIP(return, "the device executes nothing");
	ASSERT_EQ(0, list_create(self, 20));
	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	for (n = 0; n < 8; n++) {
		ASSERT_EQ(0, pagoda_bind_map(self->fd, client.vm.vm, self->bos[n],
					     client_data(&client, n), 0, self->size));
		map = pagoda_map(self->fd, self->bos[n], self->size);
		ASSERT_NE(NULL, map);
		*map = 0;
		munmap(map, self->size);
	}
	ASSERT_EQ(0, list_make(self, 0, 8));
	for (round = 1; round < 12 && (round < 3 || pagoda_now() < end); round++) {
		/*
		 * Twelve others come to VRAM, which has room for sixteen at most: some of the
		 * list's eight leave.
		 */
		ASSERT_EQ(0, pagoda_make_resident(self->fd, self->bos + 8, 12, 0, 0, NULL));
		PAGODA_PROVES(C152);
		ASSERT_EQ(0, list_job(&client, 8, 1));
		for (n = 0; n < 8; n++)
			EXPECT_EQ(DRM_PAGODA_RESIDENT_IN_GPU_MEMORY,
				  pagoda_residency(self->fd, self->bos[n]));
	}
	ASSERT_EQ(0, pagoda_context_state(self->fd, client.context, &state));
	EXPECT_EQ(0, state.state);
	for (n = 0; n < 8; n++) {
		map = pagoda_map(self->fd, self->bos[n], self->size);
		ASSERT_NE(NULL, map);
		EXPECT_EQ(round - 1, *map);
		munmap(map, self->size);
	}
	for (n = 8; n < 20; n++)
		EXPECT_EQ(0, list_check(self, n));
	/* An allocation that is taken off the list is evicted: jobs' accesses to it fault. */
	ASSERT_EQ(0, list_evict(self, 0, 1));
	list_job(&client, 1, 1);
	ASSERT_EQ(0, pagoda_context_state(self->fd, client.context, &state));
	EXPECT_EQ(DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_FAULTED, state.state);
	client_close(&client);
}

/* --- what is refused ------------------------------------------------------------------------- */

static int make_args(int fd, uint32_t queue, uint32_t flags, uint32_t handle)
{
	uint64_t value;

	return pagoda_list_add(fd, queue, &handle, 1, flags, &value, NULL);
}

static int evict_args(int fd, uint32_t queue, uint32_t flags, uint32_t handle)
{
	uint64_t value;

	return pagoda_list_remove(fd, queue, &handle, 1, flags, &value);
}

TEST_F(list, refusals)
{
	struct drm_pagoda_paging_queue_create create = { .flags = 1 };
	struct drm_pagoda_paging_queue_destroy destroy = { .queue = self->queue, .pad = 1 };
	struct drm_pagoda_paging_queue_state state = { .queue = self->queue, .pad = 1 };
	struct drm_pagoda_list_status status = {};
	struct drm_pagoda_query_residency_list query = {
		.entries = { (uintptr_t)&status, 1, sizeof(status) },
	};
	uint32_t bit, bo, none = UNKNOWN;
	int fd = self->fd;

	ASSERT_EQ(0, list_create(self, 1));
	bo = self->bos[0];
	PAGODA_PROVES(C150);
	EXPECT_REFUSED(EINVAL, make_args(fd, self->queue, MUST, bo));
	EXPECT_REFUSED(EINVAL, make_args(fd, 0, CANT_TRIM, bo));
	EXPECT_REFUSED(EINVAL, make_args(fd, 0, CANT_TRIM | MUST, bo));
	EXPECT_REFUSED(EINVAL, evict_args(fd, 0, DRM_PAGODA_EVICT_ONLY_IF_NECESSARY, bo));
	EXPECT_REFUSED(EINVAL, evict_args(fd, 0, DRM_PAGODA_EVICT_NOT_WRITTEN_TO, bo));
	EXPECT_REFUSED(EINVAL, make_args(fd, 0, DENY, bo));
	EXPECT_REFUSED(EINVAL, make_args(fd, self->queue, DENY | CANT_TRIM, bo));
	EXPECT_REFUSED(EINVAL, make_args(fd, self->queue, DENY | CANT_TRIM | MUST, bo));
	for (bit = 3; bit < 32; bit++)
		EXPECT_REFUSED(EINVAL, make_args(fd, self->queue, 1u << bit, bo));
	for (bit = 2; bit < 32; bit++)
		EXPECT_REFUSED(EINVAL, evict_args(fd, self->queue, 1u << bit, bo));
	EXPECT_REFUSED(ENOENT, make_args(fd, none, 0, bo));
	EXPECT_REFUSED(ENOENT, evict_args(fd, none, 0, bo));
	EXPECT_REFUSED(ENOENT, make_args(fd, self->queue, 0, none));
	EXPECT_REFUSED(ENOENT, evict_args(fd, self->queue, 0, none));
	EXPECT_REFUSED(ENOENT, evict_args(fd, self->queue, 0, bo));
	EXPECT_REFUSED(ENOENT, make_args(self->other, self->queue, 0, bo));
	EXPECT_EQ(0, pagoda_list_count(fd, bo));
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(fd, bo));

	EXPECT_REFUSED(EINVAL, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_PAGING_QUEUE_CREATE, &create));
	create.flags = 0;
	create.priority = 2;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_PAGING_QUEUE_CREATE, &create));
	create.priority = -2;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_PAGING_QUEUE_CREATE, &create));
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_PAGING_QUEUE_DESTROY, &destroy));
	EXPECT_REFUSED(ENOENT, pagoda_paging_queue_destroy(fd, none));
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_PAGING_QUEUE_STATE, &state));
	EXPECT_REFUSED(ENOENT, pagoda_paging_queue_state(fd, none, &state));
	EXPECT_REFUSED(ENOENT, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_QUERY_RESIDENCY_LIST, &query));
	status.handle = bo;
	query.flags = 1;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_QUERY_RESIDENCY_LIST, &query));
	query.flags = 0;
	query.pad = 1;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_QUERY_RESIDENCY_LIST, &query));
	query.pad = 0;
	EXPECT_EQ(0, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_QUERY_RESIDENCY_LIST, &query));
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, status.residency);
}

/* A destroyed queue's accepted requests are carried out, and the counts stay. */
TEST_F(list, destroyed_queue)
{
	struct drm_pagoda_paging_queue_state state;
	uint64_t value;

	ASSERT_EQ(0, list_create(self, 4));
	ASSERT_EQ(0, pagoda_list_add(self->fd, self->queue, self->bos, 4, 0, &value, NULL));
	EXPECT_EQ(1, value);
	ASSERT_EQ(0, pagoda_paging_queue_state(self->fd, self->queue, &state));
	EXPECT_EQ(1, state.given);
	EXPECT_EQ(0, state.error);
	ASSERT_EQ(0, pagoda_paging_queue_destroy(self->fd, self->queue));
	EXPECT_EQ(0, list_wait(self, value));
	EXPECT_EQ(1, pagoda_list_count(self->fd, self->bos[3]));
	EXPECT_EQ(DRM_PAGODA_RESIDENT_IN_GPU_MEMORY, pagoda_residency(self->fd, self->bos[3]));
	EXPECT_REFUSED(ENOENT, make_args(self->fd, self->queue, 0, self->bos[0]));
}

/* A client's file is closed while requests may be queued: all VRAM of the client becomes free. */
TEST_F(list, closed_while_queued)
{
	uint32_t queue, timeline, bos[12], n, round;
	uint64_t value;
	int fd;

	for (round = 0; round < 8; round++) {
		fd = pagoda_open();
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, pagoda_paging_queue_create(fd, -1, &queue, &timeline));
		for (n = 0; n < 12; n++)
			ASSERT_EQ(0, pagoda_create_vram(fd, self->size, &bos[n]));
		for (n = 0; n < 12; n++)
			ASSERT_EQ(0, pagoda_list_add(fd, queue, &bos[n], 1, 0, &value, NULL));
		if (round % 2)
			ASSERT_EQ(0, pagoda_close(fd, bos[round]));
		close(fd);
	}
	EXPECT_EQ(self->vram, test_vram_settled(self->fd, self->vram));
}

TEST_HARNESS_MAIN
