// SPDX-License-Identifier: GPL-2.0
/*
 * Monitored fences: signals by the CPU and by the GPU's paging, calls that are refused, eventfds,
 * and a mapped value that user space can read but not write.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "lib/fence_fixture.h"

#define SEED		107
#define BAD_POINTER	0x10ull
#define UNKNOWN		0x7fffu
#define EVENTFD		DRM_PAGODA_FENCE_WAIT_EVENTFD

/* --- refusals ------------------------------------------------------------------------------- */

/*
 * Second entries for which FENCE_SIGNAL and FENCE_WAIT refuse a list, whose first entry is fine.
 * Fence 1 stands for the fixture's second fence, 0x80000000 for the fence of the first entry.
 */
static const struct {
	int error;
	struct drm_pagoda_fence_value second;
} bad_entries[] = {
	{ ENOENT, { .fence = 0, .value = 6 } },
	{ ENOENT, { .fence = UNKNOWN, .value = 6 } },
	{ EINVAL, { .fence = 1, .pad = 1, .value = 6 } },
	{ EINVAL, { .fence = 0x80000000, .value = 6 } },
};

static const struct drm_pagoda_array bad_arrays[] = {
	{ .array = BAD_POINTER, .count = 1, .stride = 16 },
	{ .array = BAD_POINTER, .count = 0, .stride = 16 },
	{ .array = BAD_POINTER, .count = 1, .stride = 8 },
	{ .array = BAD_POINTER, .count = 1, .stride = 20 },
	{ .array = BAD_POINTER, .count = DRM_PAGODA_MAX_ENTRIES + 1, .stride = 16 },
};

static const int bad_array_errors[] = { EFAULT, EINVAL, EINVAL, EINVAL, E2BIG };

TEST_F(fence, signal_refusals)
{
	struct drm_pagoda_fence_value list[2] = { { .fence = self->fence[0], .value = 6 } };
	struct drm_pagoda_fence_signal args = {
		.entries = { (uintptr_t)list, 1, sizeof(list[0]) },
	};
	uint32_t i, deaf;

	ASSERT_EQ(0, pagoda_fence_create_flags(self->fd, DRM_PAGODA_FENCE_NO_SIGNAL, 5, &deaf));
	args.flags = 1;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_FENCE_SIGNAL, &args));
	args.flags = 0;
	args.pad = 1;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_FENCE_SIGNAL, &args));
	args.pad = 0;
	for (i = 0; i < ARRAY_SIZE(bad_arrays); i++) {
		args.entries = bad_arrays[i];
		EXPECT_REFUSED(bad_array_errors[i],
			       pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_FENCE_SIGNAL, &args));
	}
	for (i = 0; i < ARRAY_SIZE(bad_entries); i++) {
		list[1] = bad_entries[i].second;
		if (list[1].fence == 1)
			list[1].fence = self->fence[1];
		if (list[1].fence == 0x80000000)
			list[1].fence = self->fence[0];
		EXPECT_REFUSED(bad_entries[i].error, pagoda_fence_signal_list(self->fd, list, 2));
	}
	/* If a fence of the list can't get its value the call is refused, and no value changes. */
	list[1] = (struct drm_pagoda_fence_value) { .fence = self->fence[1], .value = 5 };
	EXPECT_REFUSED(EINVAL, pagoda_fence_signal_list(self->fd, list, 2));
	list[1].value = 4;
	EXPECT_REFUSED(EINVAL, pagoda_fence_signal_list(self->fd, list, 2));
	list[1] = (struct drm_pagoda_fence_value) { .fence = deaf, .value = 6 };
	PAGODA_PROVES(C183);
	EXPECT_REFUSED(EPERM, pagoda_fence_signal_list(self->fd, list, 2));
	EXPECT_REFUSED(ENOENT, pagoda_fence_signal(self->other, self->fence[0], 6));
	EXPECT_EQ(5, value_of(self->map[0]));
	EXPECT_EQ(5, value_of(self->map[1]));
	EXPECT_EQ(0, pagoda_fence_wait(self->fd, deaf, 5, 0));
	EXPECT_REFUSED(ETIME, pagoda_fence_wait(self->fd, deaf, 6, 0));
	EXPECT_EQ(0, pagoda_fence_signal_list(self->fd, list, 1));
	EXPECT_EQ(6, value_of(self->map[0]));
}

TEST_F(fence, wait_refusals)
{
	struct drm_pagoda_fence_value list[2] = { { .fence = self->fence[0], .value = 5 } };
	struct drm_pagoda_fence_wait args = {
		.entries = { (uintptr_t)list, 1, sizeof(list[0]) },
	}, bad;
	int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), i;
	uint32_t blind;
	uint64_t told;

	ASSERT_LE(0, event);
	ASSERT_EQ(0, pagoda_fence_create_flags(self->fd, DRM_PAGODA_FENCE_NO_WAIT, 5, &blind));
	for (i = 0; i < ARRAY_SIZE(bad_arrays); i++) {
		bad = args;
		bad.entries = bad_arrays[i];
		EXPECT_REFUSED(bad_array_errors[i],
			       pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_FENCE_WAIT, &bad));
	}
	for (i = 0; i < ARRAY_SIZE(bad_entries); i++) {
		list[1] = bad_entries[i].second;
		if (list[1].fence == 1)
			list[1].fence = self->fence[1];
		if (list[1].fence == 0x80000000)
			list[1].fence = self->fence[0];
		EXPECT_REFUSED(bad_entries[i].error,
			       pagoda_fence_wait_list(self->fd, list, 2, ANY, 0, NULL));
		EXPECT_REFUSED(bad_entries[i].error,
			       pagoda_fence_notify(self->fd, list, 2, ANY, event));
	}
	for (i = 0; i < 5; i++) {
		bad = args;
		bad.flags = i ? 0 : 4;
		bad.pad = i == 1;
		bad.eventfd = i == 2 ? event : 0;
		if (i > 2) {
			bad.flags = EVENTFD;
			bad.eventfd = i == 3 ? event : self->fd;
			bad.timeout_ns = i == 3;
		}
		EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_FENCE_WAIT, &bad));
	}
	EXPECT_REFUSED(EBADF, pagoda_fence_notify(self->fd, list, 1, 0, -1));
	EXPECT_REFUSED(ENOENT, pagoda_fence_wait(self->other, self->fence[0], 5, 0));
	list[1] = (struct drm_pagoda_fence_value) { .fence = blind, .value = 1 };
	PAGODA_PROVES(C183);
	EXPECT_REFUSED(EPERM, pagoda_fence_wait_list(self->fd, list, 2, ANY, 0, NULL));
	EXPECT_REFUSED(EPERM, pagoda_fence_notify(self->fd, list, 2, ANY, event));
	/* The refused calls didn't signal the eventfd. */
	EXPECT_EQ(-1, read(event, &told, sizeof(told)));
	EXPECT_EQ(0, pagoda_fence_signal(self->fd, blind, 6));
	close(event);
}

/* --- values --------------------------------------------------------------------------------- */

TEST_F(fence, values_grow)
{
	uint64_t seed = SEED, value = 5, next, top = 1ull << 63;
	uint32_t n;

	for (n = 0; n < 1000; n++) {
		next = value + pagoda_random(&seed) % 3;
		EXPECT_EQ(next > value ? 0 : -EINVAL,
			  pagoda_fence_signal(self->fd, self->fence[0], next));
		if (next > value)
			value = next;
		ASSERT_EQ(value, value_of(self->map[0]));
		ASSERT_EQ(0, pagoda_fence_wait(self->fd, self->fence[0], value, 0));
		ASSERT_EQ(-ETIME, pagoda_fence_wait(self->fd, self->fence[0], value + 1, 0));
	}
	PAGODA_PROVES(C180);
	EXPECT_EQ(0, pagoda_fence_signal(self->fd, self->fence[0], top));
	EXPECT_EQ(0, pagoda_fence_wait(self->fd, self->fence[0], top, 0));
	EXPECT_EQ(0, pagoda_fence_signal(self->fd, self->fence[0], UINT64_MAX));
	EXPECT_REFUSED(EINVAL, pagoda_fence_signal(self->fd, self->fence[0], UINT64_MAX));
	EXPECT_EQ(0, pagoda_fence_wait(self->fd, self->fence[0], UINT64_MAX, 0));
}

TEST_F(fence, values_go_back)
{
	uint32_t fence;

	ASSERT_EQ(0, pagoda_fence_create_flags(self->fd, DRM_PAGODA_FENCE_ALLOW_REWIND, 9, &fence));
	EXPECT_EQ(0, pagoda_fence_wait(self->fd, fence, 9, 0));
	EXPECT_EQ(0, pagoda_fence_signal(self->fd, fence, 3));
	EXPECT_REFUSED(ETIME, pagoda_fence_wait(self->fd, fence, 4, 0));
	EXPECT_EQ(0, pagoda_fence_wait(self->fd, fence, 3, 0));
	EXPECT_EQ(0, pagoda_fence_signal(self->fd, fence, 3));
}

/* A value that the GPU signals doesn't replace a larger value that FENCE_SIGNAL stored before. */
TEST_F(fence, the_gpu_comes_second)
{
	uint64_t value = 5, seen = 5, now;
	uint32_t handle, n;

	ASSERT_EQ(0, pagoda_create(self->fd, PAGODA_MIB, 0, PAGODA_IN_VRAM, &handle));
	for (n = 0; n < 50; n++) {
		value += 10;
		ASSERT_EQ(0, pagoda_evict(self->fd, &handle, 1, 0, 0));
		ASSERT_EQ(0, pagoda_make_resident_fence(self->fd, handle, self->fence[0], value));
		if (n % 2)
			ASSERT_EQ(0, pagoda_fence_signal(self->fd, self->fence[0], value + 5));
		EXPECT_EQ(0, pagoda_fence_wait(self->fd, self->fence[0], value, LIMIT));
		now = value_of(self->map[0]);
		EXPECT_LE(value, now);
		EXPECT_LE(seen, now);
		seen = now;
	}
	EXPECT_EQ(0, pagoda_wait(self->fd, handle, LIMIT));
	EXPECT_EQ(value + 5, value_of(self->map[0]));
}

/* --- one, several, many --------------------------------------------------------------------- */

TEST_F(fence, all_and_any)
{
	struct drm_pagoda_fence_value list[FENCES];
	uint32_t set, i, first;

	PAGODA_PROVES(C181);
	for (set = 0; set < 1u << FENCES; set++) {
		for (i = 0; i < FENCES; i++)
			list[i] = (struct drm_pagoda_fence_value) {
				.fence = self->fence[i], .value = set >> i & 1 ? 5 : 6,
			};
		first = UNKNOWN;
		EXPECT_EQ(set ? 0 : -ETIME,
			  pagoda_fence_wait_list(self->fd, list, FENCES, ANY, 0, &first));
		if (set) {
			ASSERT_GT(FENCES, first);
			EXPECT_EQ(5, list[first].value);
		}
		EXPECT_EQ(set == (1u << FENCES) - 1 ? 0 : -ETIME,
			  pagoda_fence_wait_list(self->fd, list, FENCES, 0, 0, &first));
	}
}

TEST_F(fence, many)
{
	uint32_t count = 2000, i, first = 0;
	struct drm_pagoda_fence_value *list = calloc(count, sizeof(*list));

	ASSERT_NE(NULL, list);
	for (i = 0; i < count; i++) {
		ASSERT_EQ(0, pagoda_fence_create(self->fd, 0, &list[i].fence, NULL));
		list[i].value = 1;
	}
	EXPECT_REFUSED(ETIME, pagoda_fence_wait_list(self->fd, list, count, ANY, SHORT, NULL));
	EXPECT_EQ(0, pagoda_fence_signal(self->fd, list[count - 1].fence, 1));
	EXPECT_EQ(0, pagoda_fence_wait_list(self->fd, list, count, ANY, 0, &first));
	EXPECT_EQ(count - 1, first);
	EXPECT_REFUSED(EINVAL, pagoda_fence_signal_list(self->fd, list, count));
	EXPECT_REFUSED(ETIME, pagoda_fence_wait(self->fd, list[0].fence, 1, 0));
	EXPECT_EQ(0, pagoda_fence_signal_list(self->fd, list, count - 1));
	EXPECT_EQ(0, pagoda_fence_wait_list(self->fd, list, count, 0, 0, NULL));
	free(list);
}

/* --- eventfds ------------------------------------------------------------------------------- */

/*
 * Waits until @event is signalled, at most @timeout_ms. Returns how often it was signalled since
 * the last read, 0 = not at all, UINT64_MAX = the read failed.
 */
static uint64_t event_count(int event, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = event, .events = POLLIN };
	uint64_t count = 0;

	if (poll(&poll_fd, 1, timeout_ms) == 1 && read(event, &count, sizeof(count)) != 8)
		return UINT64_MAX;
	return count;
}

TEST_F(fence, eventfds_are_told)
{
	struct drm_pagoda_fence_value list[] = {
		{ .fence = self->fence[0], .value = 6 }, { .fence = self->fence[1], .value = 6 },
	};
	int any = eventfd(0, EFD_CLOEXEC), all = eventfd(0, EFD_CLOEXEC);
	uint32_t n, handle;

	ASSERT_LE(0, any);
	ASSERT_LE(0, all);
	PAGODA_PROVES(C181);
	ASSERT_EQ(0, pagoda_fence_notify(self->fd, list, 2, ANY, any));
	ASSERT_EQ(0, pagoda_fence_notify(self->fd, list, 2, 0, all));
	EXPECT_EQ(0, event_count(any, 20));
	ASSERT_EQ(0, pagoda_fence_signal(self->fd, self->fence[1], 6));
	EXPECT_EQ(1, event_count(any, 60000));
	EXPECT_EQ(0, event_count(all, 20));
	ASSERT_EQ(0, pagoda_fence_signal(self->fd, self->fence[0], 6));
	EXPECT_EQ(1, event_count(all, 60000));
	EXPECT_EQ(0, event_count(any, 20));
	/* An eventfd is signalled at once if the fences have the values already. */
	for (n = 0; n < 100; n++)
		ASSERT_EQ(0, pagoda_fence_notify(self->fd, list, 2, n % 2 ? ANY : 0, any));
	EXPECT_EQ(100, event_count(any, 60000));
	/* A value that the GPU signals is told by the eventfd, too. */
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.page, &handle));
	list[0].value = 7;
	ASSERT_EQ(0, pagoda_fence_notify(self->fd, list, 2, 0, all));
	ASSERT_EQ(0, pagoda_make_resident_fence(self->fd, handle, self->fence[0], 7));
	EXPECT_EQ(1, event_count(all, 60000));
	close(any);
	close(all);
}

/*
 * An eventfd may be closed before the kernel signals it. When the client's file is closed before
 * the fence has the value, the eventfd isn't signalled.
 */
TEST_F(fence, eventfds_are_left)
{
	int n, event, fd;

	for (n = 0; n < 50; n++) {
		struct drm_pagoda_fence_value entry = { .value = 6 };

		fd = pagoda_open();
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, pagoda_fence_create(fd, 5, &entry.fence, NULL));
		event = eventfd(0, EFD_CLOEXEC);
		ASSERT_LE(0, event);
		ASSERT_EQ(0, pagoda_fence_notify(fd, &entry, 1, 0, event));
		ASSERT_EQ(0, pagoda_fence_notify(fd, &entry, 1, ANY, event));
		if (n % 2)
			close(event);
		if (n & 2)
			EXPECT_EQ(0, pagoda_fence_signal(fd, entry.fence, 6));
		/* EBUSY while FENCE_WAITs with @event wait: the fence lacks the value. */
		if (n & 4)
			EXPECT_EQ(n & 2 ? 0 : -EBUSY, pagoda_fence_destroy(fd, entry.fence));
		close(fd);
		if (n % 2)
			continue;
		EXPECT_EQ(n & 2 ? 2 : 0, event_count(event, 0));
		close(event);
	}
}

/* --- the value is read-only ----------------------------------------------------------------- */

#define FAULTED	99

static void faulted(int number)
{
	_exit(FAULTED);
}

/*
 * Returns whether a store to @map by a child raises SIGSEGV. The child handles the signal, so that
 * the kernel logs nothing.
 */
static bool write_faults(const uint64_t *map)
{
	struct sigaction action = { .sa_handler = faulted };
	int status;
	pid_t child = fork();

	if (!child) {
		sigaction(SIGSEGV, &action, NULL);
		__atomic_store_n((uint64_t *)map, 77, __ATOMIC_RELAXED);
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == FAULTED;
}

TEST_F(fence, values_are_read_only)
{
	struct drm_pagoda_fence_create args = { .value = 3 };
	uint64_t page = self->dev.page, value = 77;
	int flags[] = { MAP_SHARED, MAP_PRIVATE }, fd;
	void *map;
	uint32_t i;

	ASSERT_EQ(0, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_FENCE_CREATE, &args));
	PAGODA_PROVES(C182);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		EXPECT_EQ(MAP_FAILED, mmap(NULL, page, PROT_WRITE, flags[i], self->fd,
					   args.offset));
		EXPECT_EQ(MAP_FAILED, mmap(NULL, page, PROT_READ | PROT_WRITE, flags[i], self->fd,
					   args.offset));
	}
	map = mmap(NULL, page, PROT_READ, MAP_SHARED, self->fd, args.offset);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, page, PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(map, page, PROT_READ | PROT_WRITE));
	EXPECT_TRUE(write_faults(map));
	EXPECT_EQ(3, value_of(map));
	/* Writes through /proc/self/mem, by which debuggers change read-only pages, fail, too. */
	fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		EXPECT_EQ(-1, pwrite(fd, &value, sizeof(value), (uintptr_t)map));
		EXPECT_EQ(sizeof(value), pread(fd, &value, sizeof(value), (uintptr_t)map));
		EXPECT_EQ(3, value);
		close(fd);
	}
	EXPECT_EQ(3, value_of(map));
	munmap(map, page);
}

TEST_F(fence, children_see_it)
{
	int status, ready;
	pid_t child = test_fork(&ready);

	ASSERT_LE(0, child);
	if (!child) {
		if (value_of(self->map[0]) != 5 || !write_faults(self->map[0]))
			_exit(1);
		test_say(ready);
		if (pagoda_fence_wait(self->fd, self->fence[0], 6, LIMIT) ||
		    value_of(self->map[0]) != 6)
			_exit(2);
		_exit(pagoda_fence_signal(self->fd, self->fence[1], 6) ? 3 : 0);
	}
	EXPECT_TRUE(test_heard(ready));
	close(ready);
	EXPECT_EQ(0, pagoda_fence_signal(self->fd, self->fence[0], 6));
	EXPECT_EQ(0, pagoda_fence_wait(self->fd, self->fence[1], 6, LIMIT));
	EXPECT_EQ(6, value_of(self->map[1]));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
