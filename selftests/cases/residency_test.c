// SPDX-License-Identifier: GPL-2.0
/*
 * Residency and placement: where allocations go when they are made resident or evicted, alone or in
 * lists, and what queries tell of that; allocations keep their bytes, and fresh memory is zero.
 */
#include "lib/pagoda_test.h"

#define BOTH	(PAGODA_IN_VRAM | PAGODA_IN_APERTURE)
#define SEED	7
#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY

FIXTURE(residency) {
	struct test_device dev;
	int fd;
	uint64_t vram;
	uint64_t aperture;
};

FIXTURE_SETUP(residency)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->vram = test_vram_settled(self->fd, 0);
	self->aperture = test_aperture_settled(self->fd, 0);
}

/* Closing a client's file frees all its memory, as another client's query shows. */
FIXTURE_TEARDOWN(residency)
{
	int fd = pagoda_open();

	close(self->fd);
	EXPECT_EQ(self->vram, test_vram_settled(fd, self->vram));
	EXPECT_EQ(self->aperture,
		  test_aperture_settled(fd, self->aperture));
	close(fd);
}

static int create_placed(int fd, uint64_t size, uint32_t flags, uint32_t supported, uint32_t first,
			 uint32_t second, uint32_t eviction, uint32_t *handle)
{
	struct drm_pagoda_allocation_create args = {
		.size = size,
		.flags = flags | DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
		.supported = supported,
		.eviction = eviction,
		.preferred = { first, second },
	};
	int ret = pagoda_create_args(fd, &args);

	*handle = args.handle;
	return ret;
}

/* --- where allocations go ---------------------------------------------------------------- */

TEST_F(residency, only_in_supported_segments)
{
	uint32_t supported, handle;
	int where;

	for (supported = 1; supported <= BOTH; supported++) {
		ASSERT_EQ(0, pagoda_create(self->fd, 16 * self->dev.page, 0, supported, &handle));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->fd, handle));
		EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, handle));
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
		where = pagoda_where(self->fd, handle);
		ASSERT_LT(0, where);
		PAGODA_PROVES(C160);
		EXPECT_NE(0, supported & DRM_PAGODA_SEGMENT_BIT(where));
		EXPECT_EQ(where == DRM_PAGODA_SEGMENT_VRAM ? DRM_PAGODA_RESIDENT_IN_GPU_MEMORY :
			  DRM_PAGODA_RESIDENT_IN_SHARED_MEMORY, pagoda_residency(self->fd, handle));
		EXPECT_EQ(0, pagoda_evict_wait(self->fd, handle));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->fd, handle));
		EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, handle));
		EXPECT_EQ(0, pagoda_close(self->fd, handle));
	}
}

TEST_F(residency, preferred_order)
{
	static const uint32_t order[4][2] = {
		{ DRM_PAGODA_SEGMENT_VRAM, DRM_PAGODA_SEGMENT_APERTURE },
		{ DRM_PAGODA_SEGMENT_APERTURE, DRM_PAGODA_SEGMENT_VRAM },
		{ DRM_PAGODA_SEGMENT_VRAM, 0 },
		{ DRM_PAGODA_SEGMENT_APERTURE, 0 },
	};
	uint32_t handle;
	int n;

	for (n = 0; n < 4; n++) {
		ASSERT_EQ(0, create_placed(self->fd, 3 * self->dev.page, 0, BOTH, order[n][0],
					   order[n][1], 0, &handle));
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
		PAGODA_PROVES(C161);
		EXPECT_EQ((int)order[n][0], pagoda_where(self->fd, handle));
		EXPECT_EQ(0, pagoda_close(self->fd, handle));
	}
}

TEST_F(residency, eviction_sets)
{
	uint64_t size = 5 * self->dev.page;
	uint32_t plain, aperture;

	ASSERT_EQ(0, create_placed(self->fd, size, 0, BOTH, DRM_PAGODA_SEGMENT_VRAM, 0, 0, &plain));
	ASSERT_EQ(0, create_placed(self->fd, size, 0, BOTH, DRM_PAGODA_SEGMENT_VRAM, 0,
				   PAGODA_IN_APERTURE, &aperture));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, plain));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, aperture));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, plain));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, aperture));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, plain));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, aperture));
	PAGODA_PROVES(C37);
	EXPECT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->fd, plain));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_APERTURE, pagoda_where(self->fd, aperture));
}

static uint64_t segment_mapped(int fd, uint32_t segment)
{
	struct drm_pagoda_segment_info info;

	return pagoda_segment(fd, segment, &info) ? UINT64_MAX : info.mapped;
}

static uint64_t aperture_mapped(int fd)
{
	return segment_mapped(fd, DRM_PAGODA_SEGMENT_APERTURE);
}

/*
 * Returns how many bytes have addresses in the aperture, once there are @expected or TEST_PATIENCE
 * is over: the addresses of an allocation that moved or was closed may be freed only when the work
 * that uses the allocation is done.
 */
static uint64_t aperture_mapped_settled(int fd, uint64_t expected)
{
	return test_settled(fd, DRM_PAGODA_SEGMENT_APERTURE, segment_mapped, expected);
}

TEST_F(residency, physical_access_needs_an_aperture_range)
{
	uint64_t size = 9 * self->dev.page, before = aperture_mapped_settled(self->fd, 0);
	uint32_t physical, plain, evicted;

	ASSERT_EQ(0, create_placed(self->fd, size, 0, PAGODA_IN_APERTURE, 0, 0, 0, &plain));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, plain));
	PAGODA_PROVES(C163);
	EXPECT_EQ(before, aperture_mapped(self->fd));

	ASSERT_EQ(0, create_placed(self->fd, size, PHYSICAL,
				   PAGODA_IN_APERTURE, 0, 0, 0, &physical));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, physical));
	PAGODA_PROVES(C162);
	EXPECT_EQ(before + size, aperture_mapped(self->fd));

	/* Evicted to the aperture, an allocation for physical access gets addresses there, too. */
	ASSERT_EQ(0, create_placed(self->fd, size, PHYSICAL, BOTH,
				   DRM_PAGODA_SEGMENT_VRAM, 0, PAGODA_IN_APERTURE, &evicted));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, evicted));
	EXPECT_EQ(before + size, aperture_mapped(self->fd));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, evicted));
	EXPECT_EQ(before + 2 * size, aperture_mapped(self->fd));
	EXPECT_EQ(0, pagoda_close(self->fd, evicted));
	EXPECT_EQ(0, pagoda_evict_wait(self->fd, physical));
	EXPECT_EQ(0, pagoda_close(self->fd, physical));
	EXPECT_EQ(self->aperture + size,
		  test_aperture_settled(self->fd, self->aperture + size));
	EXPECT_EQ(before, aperture_mapped_settled(self->fd, before));
}

/* Scatters free VRAM: closes every second of @count small allocations; @kept gets the others. */
static int scatter(int fd, uint64_t size, uint32_t count, uint32_t *kept)
{
	uint32_t *handles = calloc(count, sizeof(*handles)), n;
	int ret = handles ? 0 : -ENOMEM;

	for (n = 0; !ret && n < count; n++)
		ret = pagoda_create_vram(fd, size, &handles[n]);
	if (!ret)
		ret = pagoda_make_resident(fd, handles, count, 0, 0, NULL);
	for (n = 0; !ret && n < count; n++) {
		ret = pagoda_wait(fd, handles[n], 60 * PAGODA_SEC);
		if (!ret && n % 2)
			ret = pagoda_close(fd, handles[n]);
		else
			kept[n / 2] = handles[n];
	}
	free(handles);
	return ret;
}

TEST_F(residency, contiguous_where_asked)
{
	uint64_t size = self->dev.vram.size / 8;
	uint64_t piece = self->dev.vram.size / 512 / self->dev.page * self->dev.page;
	static const uint32_t flags[] = {
		DRM_PAGODA_ALLOCATION_CONTIGUOUS, PHYSICAL,
	};
	struct drm_pagoda_allocation_info info;
	uint32_t handle, kept[256];
	int n;

	ASSERT_EQ(0, scatter(self->fd, piece, 480, kept));
	for (n = 0; n < 2; n++) {
		ASSERT_EQ(0, create_placed(self->fd, size, flags[n], PAGODA_IN_VRAM, 0, 0, 0,
					   &handle));
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
		ASSERT_EQ(0, pagoda_info(self->fd, handle, &info));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, info.segment);
		PAGODA_PROVES(C162);
		EXPECT_EQ(1, info.num_ranges);
		EXPECT_GE(self->dev.vram.size, info.address + info.size);
		EXPECT_EQ(0, pagoda_close(self->fd, handle));
	}
}

TEST_F(residency, alignment)
{
	struct drm_pagoda_allocation_create args = {
		.size = self->dev.page,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CONTIGUOUS,
		.supported = PAGODA_IN_VRAM,
	};
	struct drm_pagoda_allocation_info info;
	uint32_t shift, small;

	/* A single page in front, so that the first free address isn't aligned by chance. */
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.page, &small));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, small));
	for (shift = 12; shift <= 21; shift++) {
		args.size = self->dev.page;
		args.alignment = 1u << shift;
		ASSERT_EQ(0, pagoda_create_args(self->fd, &args));
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, args.handle));
		ASSERT_EQ(0, pagoda_info(self->fd, args.handle, &info));
		EXPECT_EQ(0, info.address % args.alignment);
	}
}

static uint64_t segment_largest_free(int fd, uint32_t segment)
{
	struct drm_pagoda_segment_info info;

	return pagoda_segment(fd, segment, &info) ? UINT64_MAX : info.largest_free;
}

TEST_F(residency, from_end)
{
	struct drm_pagoda_allocation_create args = {
		.size = self->dev.page,
		.flags = DRM_PAGODA_ALLOCATION_FROM_END,
		.supported = PAGODA_IN_VRAM,
	};
	struct drm_pagoda_allocation_info info;
	uint32_t all[16], n;

	/* The kernel may prefer zeroed VRAM: use all of VRAM once, so that all of it is alike. */
	for (n = 0; n < 16; n++)
		ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.vram.size / 16, &all[n]));
	ASSERT_EQ(0, pagoda_make_resident(self->fd, all, 16, 0, 0, NULL));
	for (n = 0; n < 16; n++)
		ASSERT_EQ(0, pagoda_close(self->fd, all[n]));
	/* All of VRAM is one free range again once the last of the allocations is freed. */
	ASSERT_EQ(self->dev.vram.size, test_settled(self->fd, DRM_PAGODA_SEGMENT_VRAM,
						    segment_largest_free, self->dev.vram.size));
	for (n = 1; n <= 4; n++) {
		ASSERT_EQ(0, pagoda_create_args(self->fd, &args));
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, args.handle));
		ASSERT_EQ(0, pagoda_info(self->fd, args.handle, &info));
		EXPECT_EQ(self->dev.vram.size - n * self->dev.page, info.address);
	}
}

/* --- lists ------------------------------------------------------------------------------- */

#define LIST	14

static int create_list(int fd, uint64_t size, uint32_t *handles, int count)
{
	int n, ret = 0;

	for (n = 0; !ret && n < count; n++)
		ret = pagoda_create_vram(fd, size, &handles[n]);
	return ret;
}

TEST_F(residency, a_list_is_resident_together)
{
	uint64_t size = self->dev.vram.size / 16;
	struct drm_pagoda_make_resident args;
	uint32_t first[LIST], second[LIST];
	int n;

	/* Most of the first list is evicted for the second list, of which nothing is evicted. */
	ASSERT_EQ(0, create_list(self->fd, size, first, LIST));
	ASSERT_EQ(0, create_list(self->fd, size, second, LIST));
	ASSERT_EQ(0, pagoda_make_resident(self->fd, first, LIST, 0, 0, &args));
	EXPECT_EQ(LIST, args.num_resident);
	ASSERT_EQ(0, pagoda_make_resident(self->fd, second, LIST, 0, 0, &args));
	EXPECT_EQ(LIST, args.num_resident);
	EXPECT_EQ(0, args.bytes_to_trim);
	for (n = 0; n < LIST; n++)
		EXPECT_EQ(DRM_PAGODA_RESIDENT_IN_GPU_MEMORY, pagoda_residency(self->fd, second[n]));
	ASSERT_EQ(0, pagoda_evict(self->fd, second, LIST, 0, 0));
	for (n = 0; n < LIST; n++)
		EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, second[n]));
}

TEST_F(residency, all_or_none)
{
	uint64_t size = self->dev.vram.size / 8;
	struct drm_pagoda_make_resident args;
	uint32_t handles[12], syncobj;
	uint64_t point;
	int n;

	ASSERT_EQ(0, create_list(self->fd, size, handles, 12));
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &syncobj));
	EXPECT_EQ(-ENOMEM, pagoda_make_resident(self->fd, handles, 12, syncobj, 1, &args));
	EXPECT_EQ(0, args.num_resident);
	EXPECT_LT(0, args.bytes_to_trim);
	for (n = 0; n < 12; n++)
		EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, handles[n]));
	EXPECT_EQ(0, pagoda_syncobj_query(self->fd, syncobj, &point));
	EXPECT_EQ(0, point);
	/* Seven allocations of the list, which fit into VRAM, can be made resident. */
	EXPECT_EQ(0, pagoda_make_resident(self->fd, handles, 7, syncobj, 1, &args));
	EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, syncobj, 1, 60 * PAGODA_SEC));
	EXPECT_EQ(7, args.num_resident);
}

TEST_F(residency, points)
{
	uint64_t size = self->dev.vram.size / 8, point;
	struct drm_pagoda_make_resident args;
	uint32_t handle, syncobj;
	int n;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &handle));
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &syncobj));
	for (n = 0; n < 4; n++) {
		ASSERT_EQ(0, pagoda_make_resident(self->fd, &handle, 1, syncobj, 2 * n + 1, NULL));
		ASSERT_EQ(0, pagoda_evict(self->fd, &handle, 1, syncobj, 2 * n + 2));
	}
	EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, syncobj, 8, 60 * PAGODA_SEC));
	EXPECT_EQ(0, pagoda_syncobj_query(self->fd, syncobj, &point));
	EXPECT_EQ(8, point);
	EXPECT_EQ(0, pagoda_wait(self->fd, handle, 0));

	/* A call that has nothing to do signals its point at once. */
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_make_resident(self->fd, &handle, 1, syncobj, 9, &args));
	EXPECT_EQ(0, args.pending);
	EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, syncobj, 9, 0));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_evict(self->fd, &handle, 1, syncobj, 10));
	EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, syncobj, 10, 0));
}

TEST_F(residency, usage)
{
	uint64_t size = 33 * self->dev.page;
	struct drm_pagoda_segment_info vram, other;
	uint32_t handle;
	int fd = pagoda_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_segment(self->fd, DRM_PAGODA_SEGMENT_VRAM, &vram));
	ASSERT_EQ(0, pagoda_segment(fd, DRM_PAGODA_SEGMENT_VRAM, &other));
	EXPECT_EQ(self->vram + size, vram.usage);
	EXPECT_EQ(size, vram.client_usage);
	EXPECT_EQ(vram.usage, other.usage);
	EXPECT_EQ(0, other.client_usage);
	EXPECT_GE(vram.visible_size, vram.visible_usage);
	EXPECT_GE(vram.size - vram.usage, vram.largest_free);
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	EXPECT_EQ(self->vram, test_vram_settled(self->fd, self->vram));
	close(fd);
}

TEST_F(residency, again_and_again)
{
	uint32_t handle, n;

	/* Calls without a paging queue don't count: EVICT undoes any number of MAKE_RESIDENT. */
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.page, &handle));
	EXPECT_EQ(0, pagoda_evict_wait(self->fd, handle));
	for (n = 0; n < 3; n++)
		EXPECT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	EXPECT_EQ(0, pagoda_evict_wait(self->fd, handle));
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, handle));
}

/* --- content ----------------------------------------------------------------------------- */

/*
 * Writes an allocation, moves it to VRAM and back twice, and checks it. Returns -1 or the offset of
 * the first wrong byte; *@error is 0 or a negative errno.
 */
static int64_t round_trip(int fd, uint64_t size, uint32_t flags, int *error)
{
	uint64_t key = pagoda_key(SEED, size, flags);
	uint32_t handle;
	int64_t bad = -1;
	void *map;
	int n;

	*error = pagoda_create(fd, size, flags | DRM_PAGODA_ALLOCATION_CPU_VISIBLE, PAGODA_IN_VRAM,
			       &handle);
	if (*error)
		return 0;
	map = pagoda_map(fd, handle, size);
	*error = map ? 0 : -errno;
	if (map)
		pagoda_fill(map, key, 0, size);
	for (n = 0; !*error && n < 2; n++) {
		*error = pagoda_make_resident_wait(fd, handle);
		if (!*error && pagoda_where(fd, handle) != DRM_PAGODA_SEGMENT_VRAM)
			*error = -ENXIO;
		if (!*error)
			*error = pagoda_evict_wait(fd, handle);
		if (!*error && pagoda_where(fd, handle) != DRM_PAGODA_SEGMENT_SYSTEM)
			*error = -ENXIO;
	}
	if (map) {
		bad = pagoda_check(map, key, 0, size);
		munmap(map, size);
	}
	pagoda_close(fd, handle);
	return bad;
}

TEST_F(residency, round_trips_keep_every_byte)
{
	static const uint32_t pages[] = {
		1, 2, 3, 5, 7, 15, 17, 63, 65, 255, 257, 511, 513, 1025, 2047,
	};
	uint64_t size;
	uint32_t n;
	int error;

	for (n = 0; n < ARRAY_SIZE(pages); n++) {
		PAGODA_PROVES(C26, C33);
		EXPECT_EQ(-1, round_trip(self->fd, pages[n] * self->dev.page,
					 n % 2 ? DRM_PAGODA_ALLOCATION_CACHED : 0, &error))
			TH_LOG("%u pages", pages[n]);
		EXPECT_EQ(0, error);
	}
	size = self->dev.vram.size / 2 + 3 * self->dev.page;
	EXPECT_EQ(-1, round_trip(self->fd, size, 0, &error));
	EXPECT_EQ(0, error);
	EXPECT_EQ(-1, round_trip(self->fd, size, DRM_PAGODA_ALLOCATION_CACHED, &error));
	EXPECT_EQ(0, error);
}

/* Fills 15 of 16 parts of VRAM with bytes that aren't zero, from a client that is closed then. */
static int dirty_vram(uint64_t vram)
{
	int fd = pagoda_open(), n, ret = 0;
	uint32_t handles[15];
	uint64_t size = vram / 16;

	for (n = 0; !ret && n < 15; n++) {
		void *map;

		ret = pagoda_create_vram(fd, size, &handles[n]);
		map = ret ? NULL : pagoda_map(fd, handles[n], size);
		if (!map)
			return ret ? ret : -errno;
		memset(map, 0xee, size);
		munmap(map, size);
	}
	ret = pagoda_make_resident(fd, handles, 15, 0, 0, NULL);
	for (n = 0; !ret && n < 15; n++)
		if (pagoda_where(fd, handles[n]) != DRM_PAGODA_SEGMENT_VRAM)
			ret = -ENXIO;
	close(fd);
	return ret;
}

TEST_F(residency, fresh_vram_is_zero)
{
	uint64_t size = self->dev.vram.size / 16;
	uint32_t handles[15], n;
	void *map;

	ASSERT_EQ(0, dirty_vram(self->dev.vram.size));
	ASSERT_EQ(self->vram, test_vram_settled(self->fd, self->vram));
	for (n = 0; n < 15; n++)
		ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &handles[n]));
	ASSERT_EQ(0, pagoda_make_resident(self->fd, handles, 15, 0, 0, NULL));
	for (n = 0; n < 15; n++) {
		map = pagoda_map(self->fd, handles[n], size);
		ASSERT_NE(NULL, map);
		PAGODA_PROVES(C45);
		EXPECT_EQ(-1, pagoda_check_zero(map, size));
		munmap(map, size);
	}
}

TEST_F(residency, fresh_aperture_is_zero)
{
	uint64_t size = 8 * PAGODA_MIB;
	uint32_t handle, round;
	uint8_t *map;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, create_placed(self->fd, size, PHYSICAL,
					   PAGODA_IN_APERTURE, 0, 0, 0, &handle));
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
		map = pagoda_map(self->fd, handle, size);
		ASSERT_NE(NULL, map);
		EXPECT_EQ(-1, pagoda_check_zero(map, size));
		memset(map, 0x5e, size);
		munmap(map, size);
		EXPECT_EQ(0, pagoda_close(self->fd, handle));
	}
}

TEST_F(residency, aperture_is_not_filled)
{
	struct drm_pagoda_stats before, after;
	uint32_t handle;

	ASSERT_EQ(0, create_placed(self->fd, 64 * self->dev.page,
				   PHYSICAL, PAGODA_IN_APERTURE, 0, 0,
				   0, &handle));
	ASSERT_EQ(0, pagoda_stats(self->fd, &before));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	PAGODA_PROVES(C41);
	EXPECT_EQ(before.filled, after.filled);
	EXPECT_EQ(before.paged_in, after.paged_in);
}

TEST_F(residency, aperture_limit)
{
	uint64_t size = self->dev.aperture.size / 8;
	/* One allocation more than fits into the aperture. */
	uint32_t handles[9], n;
	void *map;

	if (self->dev.aperture.size > 512 * PAGODA_MIB)
		SKIP(return, "an aperture of %llu MiB needs too much memory here",
		     (unsigned long long)(self->dev.aperture.size / PAGODA_MIB));
	for (n = 0; n < ARRAY_SIZE(handles); n++) {
		ASSERT_EQ(0, create_placed(self->fd, size, PHYSICAL,
					   PAGODA_IN_APERTURE, 0, 0, 0, &handles[n]));
		map = pagoda_map(self->fd, handles[n], size);
		ASSERT_NE(NULL, map);
		pagoda_fill(map, pagoda_key(SEED, n, 1), 0, size);
		munmap(map, size);
	}
	for (n = 0; n < 2 * ARRAY_SIZE(handles); n++) {
		uint32_t handle = handles[n % ARRAY_SIZE(handles)];

		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_APERTURE, pagoda_where(self->fd, handle));
		PAGODA_PROVES(C68);
		EXPECT_GE(self->dev.aperture.size, aperture_mapped(self->fd));
	}
	for (n = 0; n < ARRAY_SIZE(handles); n++) {
		map = pagoda_map(self->fd, handles[n], size);
		ASSERT_NE(NULL, map);
		EXPECT_EQ(-1, pagoda_check(map, pagoda_key(SEED, n, 1), 0, size));
		munmap(map, size);
	}
}

TEST_F(residency, closing_moves_nothing)
{
	uint64_t size = self->dev.vram.size / 8;
	struct drm_pagoda_stats before, after;
	uint32_t handle;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_stats(self->fd, &before));
	ASSERT_EQ(0, pagoda_close(self->fd, handle));
	EXPECT_EQ(self->vram, test_vram_settled(self->fd, self->vram));
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	EXPECT_EQ(before.paged_out, after.paged_out);
	EXPECT_EQ(before.evictions, after.evictions);
}

TEST_F(residency, statistics)
{
	uint64_t size = 100 * self->dev.page;
	struct drm_pagoda_stats a, b, c;
	uint32_t handle;
	void *map;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &handle));
	map = pagoda_map(self->fd, handle, size);
	ASSERT_NE(NULL, map);
	memset(map, 1, size);
	ASSERT_EQ(0, pagoda_stats(self->fd, &a));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_stats(self->fd, &b));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_stats(self->fd, &c));
	EXPECT_EQ(size, b.paged_in - a.paged_in);
	EXPECT_EQ(1, b.page_ins - a.page_ins);
	EXPECT_EQ(0, b.paged_out - a.paged_out);
	/* The kept copy has what the CPU wrote, so EVICT copies nothing (see track_test). */
	EXPECT_EQ(0, c.paged_out - b.paged_out);
	EXPECT_EQ(1, c.evictions - b.evictions);
	EXPECT_LT(b.submissions, c.submissions);
	EXPECT_LT(b.buffer_bytes, c.buffer_bytes);
	EXPECT_EQ(0, c.cpu_waits - b.cpu_waits);
}

TEST_HARNESS_MAIN
