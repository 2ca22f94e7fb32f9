// SPDX-License-Identifier: GPL-2.0
/*
 * Bad input to QUERY, MAKE_RESIDENT, EVICT, QUERY_RESIDENCY and the ALLOCATION_* ioctls: a call is
 * refused with the errno that pagoda_drm.h says, and has no effect on bytes in use, the next free
 * handle and residency. Shorter structs work, and longer structs and entries that end in zeros.
 */
#include "lib/pagoda_test.h"

#define UNKNOWN_HANDLE	0x7fffu
#define BAD_POINTER	0x10ull

#define EXPECT_REFUSED(error, call) EXPECT_EQ(-(error), (call))

/* @bo: two allocations of one page, not resident; @vram, @aperture: bytes in use at set-up. */
FIXTURE(abi) {
	struct test_device dev;
	int other;
	uint32_t bo[2];
	uint64_t vram;
	uint64_t aperture;
};

FIXTURE_SETUP(abi)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	ASSERT_EQ(0, pagoda_create_vram(self->dev.fd, self->dev.page, &self->bo[0]));
	ASSERT_EQ(0, pagoda_create_vram(self->dev.fd, self->dev.page, &self->bo[1]));
	self->vram = test_vram_settled(self->dev.fd, 0);
	self->aperture = test_aperture_settled(self->dev.fd, 0);
}

/*
 * After every test: bytes in use and residency are as before the test, and the next handle is the
 * one behind @bo, which shows that no refused call has left an allocation.
 */
FIXTURE_TEARDOWN(abi)
{
	uint32_t handle = 0;

	EXPECT_EQ(self->vram, test_vram_settled(self->dev.fd, self->vram));
	EXPECT_EQ(self->aperture, test_aperture_settled(self->dev.fd, self->aperture));
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->dev.fd, self->bo[0]));
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->dev.fd, self->bo[1]));
	EXPECT_EQ(0, pagoda_create_vram(self->dev.fd, self->dev.page, &handle));
	EXPECT_EQ(self->bo[1] + 1, handle);
	close(self->other);
	close(self->dev.fd);
}

/* --- ALLOCATION_CREATE ------------------------------------------------------------------- */

static struct drm_pagoda_allocation_create create_template(void)
{
	return (struct drm_pagoda_allocation_create) {
		.size = 4096,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
		.supported = PAGODA_IN_VRAM | PAGODA_IN_APERTURE,
	};
}

/* Result of ALLOCATION_CREATE with create_template(), one field of which is set to @value. */
#define CREATE_WITH(field, value) ({						\
	struct drm_pagoda_allocation_create _args = create_template();		\
										\
	_args.field = (value);							\
	pagoda_create_args(self->dev.fd, &_args);				\
})

TEST_F(abi, create_sizes)
{
	EXPECT_REFUSED(EINVAL, CREATE_WITH(size, 0));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(size, DRM_PAGODA_MAX_ALLOCATION + 1));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(size, UINT64_MAX));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(size, UINT64_MAX - self->dev.page + 2));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(size, 1ull << 63));
}

TEST_F(abi, create_larger_than_any_segment)
{
	struct drm_pagoda_allocation_create args = create_template();

	args.supported = PAGODA_IN_VRAM;
	args.size = self->dev.vram.size + 1;
	EXPECT_REFUSED(E2BIG, pagoda_create_args(self->dev.fd, &args));
	args.size = DRM_PAGODA_MAX_ALLOCATION;
	EXPECT_REFUSED(E2BIG, pagoda_create_args(self->dev.fd, &args));
	args.supported = PAGODA_IN_APERTURE;
	args.size = self->dev.aperture.size + 1;
	EXPECT_REFUSED(E2BIG, pagoda_create_args(self->dev.fd, &args));
}

TEST_F(abi, create_flags_and_padding)
{
	uint32_t bit;

	for (bit = 9; bit < 32; bit++)
		EXPECT_REFUSED(EINVAL, CREATE_WITH(flags, 1u << bit));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(flags, ~0u));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(flags, DRM_PAGODA_ALLOCATION_CACHED));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(pad, 1));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(pad, 1u << 31));
}

TEST_F(abi, create_segments)
{
	uint32_t bit;

	EXPECT_REFUSED(EINVAL, CREATE_WITH(supported, 0));
	for (bit = self->dev.info.num_segments; bit < 32; bit++) {
		EXPECT_REFUSED(ENOENT, CREATE_WITH(supported, 1u << bit));
		EXPECT_REFUSED(ENOENT, CREATE_WITH(supported, 1u << bit | PAGODA_IN_VRAM));
	}
	EXPECT_REFUSED(EINVAL, CREATE_WITH(eviction, PAGODA_IN_VRAM));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(eviction, PAGODA_IN_VRAM | PAGODA_IN_APERTURE));
}

TEST_F(abi, create_eviction_outside_of_supported)
{
	struct drm_pagoda_allocation_create args = create_template();

	args.supported = PAGODA_IN_VRAM;
	args.eviction = PAGODA_IN_APERTURE;
	EXPECT_REFUSED(EINVAL, pagoda_create_args(self->dev.fd, &args));
}

TEST_F(abi, create_preferred)
{
	struct drm_pagoda_allocation_create args = create_template();

	args.preferred[0] = self->dev.info.num_segments + 1;
	EXPECT_REFUSED(ENOENT, pagoda_create_args(self->dev.fd, &args));
	args.preferred[0] = ~0u;
	EXPECT_REFUSED(ENOENT, pagoda_create_args(self->dev.fd, &args));
	args.preferred[0] = DRM_PAGODA_SEGMENT_VRAM;
	args.preferred[1] = DRM_PAGODA_SEGMENT_VRAM;
	EXPECT_REFUSED(EINVAL, pagoda_create_args(self->dev.fd, &args));
	args.preferred[1] = 0;
	args.preferred[0] = 0;
	args.preferred[1] = DRM_PAGODA_SEGMENT_VRAM;
	EXPECT_REFUSED(EINVAL, pagoda_create_args(self->dev.fd, &args));
	args.preferred[0] = DRM_PAGODA_SEGMENT_APERTURE;
	args.supported = PAGODA_IN_VRAM;
	EXPECT_REFUSED(EINVAL, pagoda_create_args(self->dev.fd, &args));
}

TEST_F(abi, create_alignment)
{
	EXPECT_REFUSED(EINVAL, CREATE_WITH(alignment, 1));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(alignment, self->dev.page / 2));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(alignment, self->dev.page * 3));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(alignment, 4 * PAGODA_MIB));
	EXPECT_REFUSED(EINVAL, CREATE_WITH(alignment, ~0u));
}

TEST_F(abi, create_bad_pointer)
{
	int n;

	/* An argument that can't be read makes no allocation, also if tried again and again. */
	EXPECT_REFUSED(EFAULT, pagoda_ioctl(self->dev.fd, DRM_IOCTL_PAGODA_ALLOCATION_CREATE,
					    (void *)BAD_POINTER));
	for (n = 0; n < 100; n++)
		EXPECT_REFUSED(EFAULT, pagoda_ioctl(self->dev.fd,
						    DRM_IOCTL_PAGODA_ALLOCATION_CREATE, NULL));
}

TEST_F(abi, create_rounds_and_reports)
{
	struct drm_pagoda_allocation_create args = create_template();
	struct drm_pagoda_allocation_info info;

	args.size = 1;
	ASSERT_EQ(0, pagoda_create_args(self->dev.fd, &args));
	EXPECT_EQ(self->dev.page, args.size);
	EXPECT_NE(0, args.handle);
	EXPECT_EQ(0, pagoda_info(self->dev.fd, args.handle, &info));
	EXPECT_EQ(self->dev.page, info.size);
	EXPECT_EQ(args.flags, info.flags);
	EXPECT_EQ(args.supported, info.supported);
	EXPECT_EQ(0, info.eviction);
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, info.residency);
	EXPECT_EQ(0, info.state);
	EXPECT_EQ(0, pagoda_close(self->dev.fd, args.handle));
}

/* --- QUERY ------------------------------------------------------------------------------- */

TEST_F(abi, query_refusals)
{
	struct drm_pagoda_segment_info segment;
	struct drm_pagoda_device_info device;
	struct drm_pagoda_query args = { .type = DRM_PAGODA_QUERY_DEVICE, .pad = 1 };
	int fd = self->dev.fd;

	EXPECT_REFUSED(EINVAL, pagoda_query(fd, 0, 0, &device, sizeof(device)));
	EXPECT_REFUSED(EINVAL, pagoda_query(fd, 4, 0, &device, sizeof(device)));
	EXPECT_REFUSED(EINVAL, pagoda_query(fd, ~0u, 0, &device, sizeof(device)));
	EXPECT_REFUSED(EINVAL, pagoda_query(fd, DRM_PAGODA_QUERY_DEVICE, 1, &device,
					    sizeof(device)));
	EXPECT_REFUSED(EINVAL, pagoda_query(fd, DRM_PAGODA_QUERY_STATS, 1, &device,
					    sizeof(device)));
	EXPECT_REFUSED(ENOENT, pagoda_query(fd, DRM_PAGODA_QUERY_SEGMENT,
					    self->dev.info.num_segments + 1, &segment,
					    sizeof(segment)));
	EXPECT_REFUSED(ENOENT, pagoda_query(fd, DRM_PAGODA_QUERY_SEGMENT, ~0u, &segment,
					    sizeof(segment)));
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_QUERY, &args));
	EXPECT_REFUSED(EFAULT, pagoda_query(fd, DRM_PAGODA_QUERY_DEVICE, 0, NULL, sizeof(device)));
	EXPECT_REFUSED(EFAULT, pagoda_query(fd, DRM_PAGODA_QUERY_DEVICE, 0, (void *)BAD_POINTER,
					    sizeof(device)));
	EXPECT_REFUSED(EFAULT, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_QUERY, (void *)BAD_POINTER));
}

/* QUERY_DEVICE reports the time that a job may run: the driver's parameter job_timeout_ms. */
TEST_F(abi, query_job_time)
{
	FILE *file = fopen("/sys/module/pagoda/parameters/job_timeout_ms", "r");
	unsigned int limit = 0;

	ASSERT_NE(NULL, file);
	EXPECT_EQ(1, fscanf(file, "%u", &limit));
	fclose(file);
	EXPECT_NE(0, limit);
	EXPECT_EQ(limit, self->dev.info.job_timeout_ms);
}

TEST_F(abi, query_sizes)
{
	static const uint32_t types[] = {
		DRM_PAGODA_QUERY_DEVICE, DRM_PAGODA_QUERY_SEGMENT, DRM_PAGODA_QUERY_STATS,
	};
	static const uint32_t sizes[] = {
		sizeof(struct drm_pagoda_device_info), sizeof(struct drm_pagoda_segment_info),
		sizeof(struct drm_pagoda_stats),
	};
	uint8_t answer[256], shorter[256];
	uint32_t n, byte;

	for (n = 0; n < 3; n++) {
		struct drm_pagoda_query args = {
			.type = types[n],
			.index = types[n] == DRM_PAGODA_QUERY_SEGMENT,
		};

		EXPECT_EQ(0, pagoda_ioctl(self->dev.fd, DRM_IOCTL_PAGODA_QUERY, &args));
		EXPECT_EQ(sizes[n], args.size);

		/* If the caller's struct is longer, nothing is written behind the kernel's size. */
		memset(answer, 0xa5, sizeof(answer));
		args.size = sizeof(answer);
		args.pointer = (uintptr_t)answer;
		EXPECT_EQ(0, pagoda_ioctl(self->dev.fd, DRM_IOCTL_PAGODA_QUERY, &args));
		EXPECT_EQ(sizes[n], args.size);
		for (byte = sizes[n]; byte < sizeof(answer); byte++)
			EXPECT_EQ(0xa5, answer[byte]);

		/* A caller with a struct of 8 bytes gets the first 8 bytes of the answer. */
		memset(shorter, 0xa5, sizeof(shorter));
		args.size = 8;
		args.pointer = (uintptr_t)shorter;
		EXPECT_EQ(0, pagoda_ioctl(self->dev.fd, DRM_IOCTL_PAGODA_QUERY, &args));
		EXPECT_EQ(sizes[n], args.size);
		EXPECT_EQ(0, memcmp(answer, shorter, 8));
		EXPECT_EQ(0xa5, shorter[8]);
	}
}

/* --- calls that name one allocation ------------------------------------------------------ */

TEST_F(abi, one_handle_refusals)
{
	struct drm_pagoda_allocation_mmap_offset offset = { .handle = self->bo[0], .flags = 1 };
	struct drm_pagoda_allocation_wait wait = { .handle = self->bo[0], .flags = 2 };
	struct drm_pagoda_allocation_info info;
	uint32_t bad[] = { 0, UNKNOWN_HANDLE, ~0u, 0x80000000u };
	uint64_t at;
	int fd = self->dev.fd;
	uint32_t n;

	EXPECT_REFUSED(EINVAL, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_MMAP_OFFSET, &offset));
	EXPECT_EQ(0, offset.offset);
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_WAIT, &wait));
	for (n = 0; n < 4; n++) {
		EXPECT_REFUSED(ENOENT, pagoda_mmap_offset(fd, bad[n], &at));
		EXPECT_REFUSED(ENOENT, pagoda_info(fd, bad[n], &info));
		EXPECT_REFUSED(ENOENT, pagoda_wait(fd, bad[n], 0));
	}
	EXPECT_REFUSED(EFAULT, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_INFO, NULL));
	EXPECT_REFUSED(EFAULT, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_WAIT, NULL));
	EXPECT_REFUSED(EFAULT, pagoda_ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_MMAP_OFFSET, NULL));
}

TEST_F(abi, other_clients_handles)
{
	struct drm_pagoda_allocation_info info;
	uint64_t at;

	/* The handle is unknown to another client, which has no allocation. */
	EXPECT_REFUSED(ENOENT, pagoda_info(self->other, self->bo[1], &info));
	EXPECT_REFUSED(ENOENT, pagoda_mmap_offset(self->other, self->bo[1], &at));
	EXPECT_REFUSED(ENOENT, pagoda_wait(self->other, self->bo[1], 0));
	EXPECT_REFUSED(ENOENT, pagoda_make_resident(self->other, &self->bo[1], 1, 0, 0, NULL));
	EXPECT_REFUSED(ENOENT, pagoda_evict(self->other, &self->bo[1], 1, 0, 0));
	EXPECT_REFUSED(ENOENT, pagoda_residency(self->other, self->bo[1]));
}

TEST_F(abi, other_clients_mappings)
{
	uint64_t offset;
	void *map;

	ASSERT_EQ(0, pagoda_mmap_offset(self->dev.fd, self->bo[0], &offset));
	map = mmap(NULL, self->dev.page, PROT_READ, MAP_SHARED, self->other, offset);
	EXPECT_EQ(MAP_FAILED, map);
	EXPECT_EQ(EACCES, errno);
}

TEST_F(abi, not_cpu_visible)
{
	uint64_t offset;
	uint32_t handle;

	ASSERT_EQ(0, pagoda_create(self->dev.fd, self->dev.page, 0, PAGODA_IN_VRAM, &handle));
	EXPECT_REFUSED(EACCES, pagoda_mmap_offset(self->dev.fd, handle, &offset));
	EXPECT_EQ(0, pagoda_close(self->dev.fd, handle));
}

TEST_F(abi, wait_times)
{
	struct drm_pagoda_allocation_wait wait = { .handle = self->bo[0] };

	/* No work uses the allocation: the wait succeeds with any timeout, also a past one. */
	EXPECT_EQ(0, pagoda_ioctl(self->dev.fd, DRM_IOCTL_PAGODA_ALLOCATION_WAIT, &wait));
	wait.timeout_ns = INT64_MAX;
	EXPECT_EQ(0, pagoda_ioctl(self->dev.fd, DRM_IOCTL_PAGODA_ALLOCATION_WAIT, &wait));
	wait.timeout_ns = INT64_MIN;
	EXPECT_EQ(0, pagoda_ioctl(self->dev.fd, DRM_IOCTL_PAGODA_ALLOCATION_WAIT, &wait));
}

/* --- lists ------------------------------------------------------------------------------- */

enum list_call { CALL_MAKE_RESIDENT, CALL_EVICT, CALL_QUERY_RESIDENCY, NR_LIST_CALLS };

static const uint32_t first_stride[NR_LIST_CALLS] = {
	[CALL_MAKE_RESIDENT] = sizeof(struct drm_pagoda_residency_entry),
	[CALL_EVICT] = sizeof(struct drm_pagoda_residency_entry),
	[CALL_QUERY_RESIDENCY] = sizeof(struct drm_pagoda_residency_status),
};

static int list_call(int fd, enum list_call call, void *array, uint32_t count, uint32_t stride)
{
	struct drm_pagoda_array entries = { (uintptr_t)array, count, stride };
	struct drm_pagoda_make_resident resident = { .entries = entries };
	struct drm_pagoda_evict evict = { .entries = entries };
	struct drm_pagoda_query_residency query = { .entries = entries };

	switch (call) {
	case CALL_MAKE_RESIDENT:
		return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &resident);
	case CALL_EVICT:
		return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_EVICT, &evict);
	default:
		return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_QUERY_RESIDENCY, &query);
	}
}

TEST_F(abi, list_counts_and_strides)
{
	uint32_t *array = calloc(1, 2 * self->dev.page + 64);
	uint32_t call;
	int fd = self->dev.fd;

	for (call = 0; call < NR_LIST_CALLS; call++) {
		uint32_t first = first_stride[call];

		array[0] = self->bo[0];
		EXPECT_REFUSED(E2BIG, list_call(fd, call, array, DRM_PAGODA_MAX_ENTRIES + 1,
						first));
		EXPECT_REFUSED(E2BIG, list_call(fd, call, array, ~0u, first));
		EXPECT_REFUSED(EINVAL, list_call(fd, call, array, 1, 0));
		EXPECT_REFUSED(EINVAL, list_call(fd, call, array, 1, first - 8));
		EXPECT_REFUSED(EINVAL, list_call(fd, call, array, 1, first - 1));
		EXPECT_REFUSED(EINVAL, list_call(fd, call, array, 1, first + 4));
		EXPECT_REFUSED(EINVAL, list_call(fd, call, array, 1, self->dev.page + 8));
		EXPECT_REFUSED(EINVAL, list_call(fd, call, array, 1, ~7u));
	}
	free(array);
}

TEST_F(abi, list_longer_entries)
{
	uint64_t array[8];
	uint32_t call;

	for (call = 0; call < NR_LIST_CALLS; call++) {
		uint32_t stride = first_stride[call] + 8;

		/* First the field that this kernel doesn't know isn't zero; then it is zero. */
		memset(array, 0, sizeof(array));
		memcpy(array, &self->bo[0], sizeof(self->bo[0]));
		array[first_stride[call] / 8] = 1;
		EXPECT_REFUSED(E2BIG, list_call(self->dev.fd, call, array, 1, stride));
		array[first_stride[call] / 8] = 0;
		EXPECT_EQ(0, list_call(self->dev.fd, call, array, 1, stride));
	}
	EXPECT_EQ(0, pagoda_evict_wait(self->dev.fd, self->bo[0]));
}

TEST_F(abi, list_bad_pointers)
{
	uint64_t page = self->dev.page;
	uint32_t call;
	uint8_t *two;
	int fd = self->dev.fd;

	two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, two);
	ASSERT_EQ(0, munmap(two + page, page));
	for (call = 0; call < NR_LIST_CALLS; call++) {
		uint32_t stride = first_stride[call];
		uint8_t *last = two + page - stride;

		EXPECT_REFUSED(EFAULT, list_call(fd, call, NULL, 1, stride));
		EXPECT_REFUSED(EFAULT, list_call(fd, call, (void *)BAD_POINTER, 1, stride));
		EXPECT_REFUSED(EFAULT, list_call(fd, call, (void *)(UINT64_MAX - 7), 2, stride));
		EXPECT_REFUSED(EFAULT, list_call(fd, call, (void *)(1ull << 63), 1, stride));
		/* The second of two entries can't be read; then half of the only entry can't. */
		memset(two, 0, page);
		*(uint32_t *)last = self->bo[0];
		EXPECT_REFUSED(EFAULT, list_call(fd, call, last, 2, stride));
		EXPECT_REFUSED(EFAULT, list_call(fd, call, last + stride / 2, 1, stride));
	}
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(fd, self->bo[0]));
	munmap(two, page);
}

TEST_F(abi, list_handles)
{
	struct drm_pagoda_residency_status list[2];
	uint32_t bad[] = { 0, UNKNOWN_HANDLE, ~0u };
	uint32_t call, n;
	int fd = self->dev.fd;

	for (call = 0; call < CALL_QUERY_RESIDENCY; call++) {
		struct drm_pagoda_residency_entry entries[2] = { { self->bo[0], 0 } };

		for (n = 0; n < 3; n++) {
			entries[1].handle = bad[n];
			EXPECT_REFUSED(ENOENT, list_call(fd, call, entries, 2, sizeof(entries[0])));
		}
		entries[1].handle = self->bo[0];
		EXPECT_REFUSED(EINVAL, list_call(fd, call, entries, 2, sizeof(entries[0])));
		entries[1].handle = self->bo[1];
		for (n = 0; n < 32; n++) {
			entries[1].flags = 1u << n;
			EXPECT_REFUSED(EINVAL, list_call(fd, call, entries, 2, sizeof(entries[0])));
		}
		EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(fd, self->bo[0]));
	}
	memset(list, 0, sizeof(list));
	list[0].handle = self->bo[0];
	for (n = 0; n < 3; n++) {
		list[1].handle = bad[n];
		EXPECT_REFUSED(ENOENT, list_call(fd, CALL_QUERY_RESIDENCY, list, 2,
						 sizeof(list[0])));
		EXPECT_EQ(0, list[0].residency);
	}
}

/* Result of MAKE_RESIDENT of the first allocation with one more field of the struct set. */
#define RESIDENT_WITH(field, value) ({						\
	struct drm_pagoda_residency_entry _entry = { self->bo[0], 0 };		\
	struct drm_pagoda_make_resident _args = {				\
		.entries = { (uintptr_t)&_entry, 1, sizeof(_entry) },		\
	};									\
										\
	_args.field = (value);							\
	pagoda_ioctl(self->dev.fd, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &_args);	\
})

#define EVICT_WITH(field, value) ({						\
	struct drm_pagoda_residency_entry _entry = { self->bo[0], 0 };		\
	struct drm_pagoda_evict _args = {					\
		.entries = { (uintptr_t)&_entry, 1, sizeof(_entry) },		\
	};									\
										\
	_args.field = (value);							\
	pagoda_ioctl(self->dev.fd, DRM_IOCTL_PAGODA_EVICT, &_args);		\
})

TEST_F(abi, list_flags_and_padding)
{
	struct drm_pagoda_residency_status status = { .handle = self->bo[0] };
	struct drm_pagoda_query_residency query = {
		.entries = { (uintptr_t)&status, 1, sizeof(status) },
	};
	uint32_t bit;

	for (bit = 0; bit < 32; bit++) {
		EXPECT_REFUSED(EINVAL, RESIDENT_WITH(flags, 1u << bit));
		EXPECT_REFUSED(ENOENT, RESIDENT_WITH(paging_queue, 1u << bit));
		EXPECT_REFUSED(EINVAL, RESIDENT_WITH(pad, 1u << bit));
		EXPECT_REFUSED(EINVAL, EVICT_WITH(flags, 1u << bit));
		EXPECT_REFUSED(ENOENT, EVICT_WITH(paging_queue, 1u << bit));
		EXPECT_REFUSED(EINVAL, EVICT_WITH(pad, 1u << bit));
		query.flags = 1u << bit;
		EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->dev.fd, DRM_IOCTL_PAGODA_QUERY_RESIDENCY,
						    &query));
		query.flags = 0;
		query.pad = 1u << bit;
		EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->dev.fd, DRM_IOCTL_PAGODA_QUERY_RESIDENCY,
						    &query));
		query.pad = 0;
	}
	EXPECT_EQ(0, status.residency);
}

TEST_F(abi, list_points)
{
	uint32_t syncobj, unknown = UNKNOWN_HANDLE;
	uint64_t point;

	ASSERT_EQ(0, pagoda_syncobj_create(self->dev.fd, &syncobj));
	EXPECT_REFUSED(EINVAL, RESIDENT_WITH(point, 1));
	EXPECT_REFUSED(EINVAL, RESIDENT_WITH(syncobj, syncobj));
	EXPECT_REFUSED(ENOENT, pagoda_make_resident(self->dev.fd, self->bo, 1, UNKNOWN_HANDLE, 1,
						    NULL));
	EXPECT_REFUSED(EINVAL, EVICT_WITH(point, 1));
	EXPECT_REFUSED(EINVAL, EVICT_WITH(syncobj, syncobj));
	EXPECT_REFUSED(ENOENT, pagoda_evict(self->dev.fd, self->bo, 1, UNKNOWN_HANDLE, 1));
	/* A MAKE_RESIDENT that is refused doesn't signal its point. */
	EXPECT_REFUSED(ENOENT, pagoda_make_resident(self->dev.fd, &unknown, 1, syncobj, 1, NULL));
	EXPECT_EQ(0, pagoda_syncobj_query(self->dev.fd, syncobj, &point));
	EXPECT_EQ(0, point);
	EXPECT_EQ(0, pagoda_syncobj_destroy(self->dev.fd, syncobj));
}

/* --- sizes of the argument --------------------------------------------------------------- */

struct sized_call {
	const char *name;
	unsigned long request;
	size_t size;
	size_t first;		/* bytes of the struct's first version */
	uint8_t args[96];
};

static struct drm_pagoda_residency_status sized_status;

static struct sized_call sized(const char *name, unsigned long request, size_t first,
			       const void *args)
{
	struct sized_call call = { name, request, _IOC_SIZE(request), first, { 0 } };

	memcpy(call.args, args, call.size);
	return call;
}

/*
 * Fills @calls with one call of each ioctl that is tried here. The calls succeed; those that name
 * an allocation name @handle, and sized_undo() undoes their effects. Returns the number of calls.
 */
static int sized_calls(struct sized_call *calls, uint32_t handle)
{
	struct drm_pagoda_query query = { .type = DRM_PAGODA_QUERY_DEVICE };
	struct drm_pagoda_allocation_create create = create_template();
	struct drm_pagoda_allocation_mmap_offset offset = { .handle = handle };
	struct drm_pagoda_allocation_info info = { .handle = handle };
	struct drm_pagoda_allocation_wait wait = { .handle = handle };
	struct drm_pagoda_make_resident resident = {
		.entries = { (uintptr_t)&sized_status, 1, 8 },
	};
	struct drm_pagoda_evict evict = { .entries = resident.entries };
	struct drm_pagoda_query_residency residency = {
		.entries = { (uintptr_t)&sized_status, 1, sizeof(sized_status) },
	};
	int n = 0;

	sized_status.handle = handle;
	sized_status.residency = 0;
	calls[n++] = sized("query", DRM_IOCTL_PAGODA_QUERY, 24, &query);
	calls[n++] = sized("create", DRM_IOCTL_PAGODA_ALLOCATION_CREATE, 48, &create);
	calls[n++] = sized("mmap offset", DRM_IOCTL_PAGODA_ALLOCATION_MMAP_OFFSET, 16, &offset);
	calls[n++] = sized("info", DRM_IOCTL_PAGODA_ALLOCATION_INFO, 48, &info);
	calls[n++] = sized("wait", DRM_IOCTL_PAGODA_ALLOCATION_WAIT, 16, &wait);
	calls[n++] = sized("make resident", DRM_IOCTL_PAGODA_MAKE_RESIDENT, 56, &resident);
	calls[n++] = sized("evict", DRM_IOCTL_PAGODA_EVICT, 40, &evict);
	calls[n++] = sized("query residency", DRM_IOCTL_PAGODA_QUERY_RESIDENCY, 24, &residency);
	return n;
}

static unsigned long resize(unsigned long request, size_t size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

/* Closes the allocation that @call has created, or evicts the one that @call has made resident. */
static void sized_undo(int fd, uint32_t handle, const struct sized_call *call,
		       const uint8_t *buffer)
{
	const struct drm_pagoda_allocation_create *create = (const void *)buffer;

	if (call->request == DRM_IOCTL_PAGODA_ALLOCATION_CREATE)
		pagoda_close(fd, create->handle);
	if (call->request == DRM_IOCTL_PAGODA_MAKE_RESIDENT)
		pagoda_evict_wait(fd, handle);
}

TEST_F(abi, longer_structs)
{
	struct sized_call calls[8];
	int count = sized_calls(calls, self->bo[0]), n;
	size_t extra;

	for (n = 0; n < count; n++) {
		for (extra = 8; extra <= 64; extra += 56) {
			unsigned long request = resize(calls[n].request, calls[n].size + extra);
			uint8_t buffer[192];

			memset(buffer, 0, sizeof(buffer));
			memcpy(buffer, calls[n].args, calls[n].size);
			buffer[calls[n].size + extra - 1] = 1;
			EXPECT_REFUSED(E2BIG, pagoda_ioctl(self->dev.fd, request, buffer))
				TH_LOG("%s with %zu bytes more", calls[n].name, extra);
			sized_status.residency = 0;
			buffer[calls[n].size + extra - 1] = 0;
			EXPECT_EQ(0, pagoda_ioctl(self->dev.fd, request, buffer))
				TH_LOG("%s with %zu zeros more", calls[n].name, extra);
			EXPECT_EQ(-1, pagoda_check_zero(buffer + calls[n].size, extra));
			sized_undo(self->dev.fd, self->bo[0], &calls[n], buffer);
			sized_status.residency = 0;
			sized_status.segment = 0;
		}
	}
}

/* Each call also works with a struct that is 8 bytes shorter, and with its first version. */
TEST_F(abi, shorter_structs)
{
	struct sized_call calls[8];
	int count = sized_calls(calls, self->bo[0]), n;

	for (n = 0; n < 2 * count; n++) {
		struct sized_call *call = &calls[n / 2];
		size_t size = n % 2 ? call->first : call->size - 8;
		uint8_t buffer[128];

		memset(buffer, 0xa5, sizeof(buffer));
		memcpy(buffer, call->args, size);
		EXPECT_EQ(0, pagoda_ioctl(self->dev.fd, resize(call->request, size), buffer))
			TH_LOG("%s of %zu bytes", call->name, size);
		/* The kernel writes nothing behind the caller's struct. */
		EXPECT_EQ(0xa5, buffer[size]);
		EXPECT_EQ(0xa5, buffer[size + 7]);
		sized_undo(self->dev.fd, self->bo[0], call, buffer);
		sized_status.residency = 0;
		sized_status.segment = 0;
	}
}

TEST_F(abi, empty_structs)
{
	static const int expected[] = {
		EINVAL, EINVAL, ENOENT, ENOENT, ENOENT, EINVAL, EINVAL, EINVAL,
	};
	struct sized_call calls[8];
	int count = sized_calls(calls, self->bo[0]), n;
	uint8_t buffer[96];

	/* A struct of zeros is refused by each of the ioctls. */
	for (n = 0; n < count; n++) {
		memset(buffer, 0, sizeof(buffer));
		EXPECT_REFUSED(expected[n], pagoda_ioctl(self->dev.fd, calls[n].request, buffer))
			TH_LOG("%s", calls[n].name);
	}
}

TEST_F(abi, unknown_ioctls)
{
	uint64_t zeros[16] = { 0 };
	uint32_t nr;

	for (nr = DRM_PAGODA_TRACK + 1; nr < DRM_COMMAND_END - DRM_COMMAND_BASE; nr++)
		EXPECT_GT(0, pagoda_ioctl(self->dev.fd, DRM_IOWR(DRM_COMMAND_BASE + nr, uint64_t),
					  zeros));
}

TEST_HARNESS_MAIN
