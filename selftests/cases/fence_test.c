// SPDX-License-Identifier: GPL-2.0
/*
 * Monitored fences: signals by the CPU and by the GPU's paging, waits by threads, eventfds and
 * queued work, calls that are refused, and a mapped value that user space can read but not write.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include "lib/pagoda_test.h"

#define SEED		107
#define LIMIT		(60 * PAGODA_SEC)
#define SHORT		(PAGODA_SEC / 20)
#define BAD_POINTER	0x10ull
#define UNKNOWN		0x7fffu
#define ANY		DRM_PAGODA_FENCE_WAIT_ANY
#define EVENTFD		DRM_PAGODA_FENCE_WAIT_EVENTFD
#define FENCES		4

#define EXPECT_REFUSED(error, call) EXPECT_EQ(-(error), (call))

FIXTURE(fence) {
	struct test_device dev;
	int fd;
	int other;
	uint32_t fence[FENCES];
	const uint64_t *map[FENCES];
};

static uint64_t value_of(const uint64_t *map)
{
	return __atomic_load_n(map, __ATOMIC_ACQUIRE);
}

FIXTURE_SETUP(fence)
{
	int i;

	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	for (i = 0; i < FENCES; i++)
		ASSERT_EQ(0, pagoda_fence_create(self->fd, 5, &self->fence[i], &self->map[i]));
}

FIXTURE_TEARDOWN(fence)
{
	int i;

	for (i = 0; i < FENCES; i++)
		munmap((void *)self->map[i], self->dev.page);
	close(self->other);
	close(self->fd);
}

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

/* --- threads -------------------------------------------------------------------------------- */

struct sleeper {
	int fd;
	struct drm_pagoda_fence_value list[FENCES];
	uint32_t count;
	uint32_t flags;
	uint32_t first;
	int ret;
	uint64_t seen;
	const uint64_t *map;
	atomic_int id;
	atomic_int back;
	pthread_t thread;
};

static void *sleeper_run(void *data)
{
	struct sleeper *sleeper = data;

	atomic_store(&sleeper->id, gettid());
	sleeper->ret = pagoda_fence_wait_list(sleeper->fd, sleeper->list, sleeper->count,
					      sleeper->flags, LIMIT, &sleeper->first);
	sleeper->seen = value_of(sleeper->map);
	atomic_store(&sleeper->back, 1);
	return NULL;
}

#define SLEEPERS	12

TEST_F(fence, threads_wake_up_in_order)
{
	struct sleeper sleeper[SLEEPERS] = { 0 };
	int i, n;

	for (i = 0; i < SLEEPERS; i++) {
		sleeper[i].fd = self->fd;
		sleeper[i].list[0] = (struct drm_pagoda_fence_value) {
			.fence = self->fence[0], .value = 6 + i / 2,
		};
		sleeper[i].count = 1;
		sleeper[i].map = self->map[0];
		ASSERT_EQ(0, pthread_create(&sleeper[i].thread, NULL, sleeper_run, &sleeper[i]));
		ASSERT_TRUE(test_asleep(&sleeper[i].id));
	}
	PAGODA_PROVES(C180);
	for (n = 0; n < SLEEPERS / 2; n++) {
		for (i = 2 * n; i < SLEEPERS; i++)
			EXPECT_EQ(0, atomic_load(&sleeper[i].back));
		ASSERT_EQ(0, pagoda_fence_signal(self->fd, self->fence[0], 6 + n));
		for (i = 2 * n; i < 2 * n + 2; i++) {
			ASSERT_EQ(0, pthread_join(sleeper[i].thread, NULL));
			EXPECT_EQ(0, sleeper[i].ret);
			EXPECT_LE(6 + n, sleeper[i].seen);
		}
	}
}

TEST_F(fence, threads_wait_for_several)
{
	struct sleeper sleeper[2] = { 0 };
	int i, n;

	for (n = 0; n < 2; n++) {
		sleeper[n].fd = self->fd;
		for (i = 0; i < FENCES; i++)
			sleeper[n].list[i] = (struct drm_pagoda_fence_value) {
				.fence = self->fence[i], .value = 6,
			};
		sleeper[n].count = FENCES;
		sleeper[n].flags = n ? ANY : 0;
		sleeper[n].map = self->map[0];
		ASSERT_EQ(0, pthread_create(&sleeper[n].thread, NULL, sleeper_run, &sleeper[n]));
		ASSERT_TRUE(test_asleep(&sleeper[n].id));
	}
	EXPECT_EQ(0, atomic_load(&sleeper[1].back));
	PAGODA_PROVES(C181);
	for (i = FENCES - 1; i >= 0; i--) {
		EXPECT_EQ(0, atomic_load(&sleeper[0].back));
		EXPECT_EQ(0, pagoda_fence_signal(self->fd, self->fence[i], 7));
		if (i == FENCES - 1) {
			ASSERT_EQ(0, pthread_join(sleeper[1].thread, NULL));
			EXPECT_EQ(0, sleeper[1].ret);
			EXPECT_EQ(FENCES - 1, sleeper[1].first);
		}
	}
	ASSERT_EQ(0, pthread_join(sleeper[0].thread, NULL));
	EXPECT_EQ(0, sleeper[0].ret);
}

/* The GPU sets the fence's value after the copies of MAKE_RESIDENT: the wait of the test ends. */
TEST_F(fence, the_gpu_wakes_threads)
{
	uint64_t value = 5, size = 64 * self->dev.page;
	bool told = !access(FOLDER "stats", R_OK);
	unsigned long long before;
	uint32_t handle, n;
	uint8_t *map;

	ASSERT_EQ(0, pagoda_create(self->fd, size, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
				   PAGODA_IN_VRAM, &handle));
	map = pagoda_map(self->fd, handle, size);
	ASSERT_NE(NULL, map);
	memset(map, 0x5a, size);
	for (n = 0; n < 20; n++) {
		before = test_executed("TRANSFER");
		ASSERT_EQ(0, pagoda_evict(self->fd, &handle, 1, 0, 0));
		ASSERT_EQ(0, pagoda_make_resident_fence(self->fd, handle, self->fence[0], ++value));
		ASSERT_EQ(0, pagoda_fence_wait(self->fd, self->fence[0], value, LIMIT));
		EXPECT_EQ(value, value_of(self->map[0]));
		/*
		 * At least two TRANSFERs, out of VRAM and into it; at least one in the first round,
		 * in which the content may come from system memory.
		 */
		if (told)
			EXPECT_LE(before + (n ? 2 : 1), test_executed("TRANSFER"));
		EXPECT_EQ(0, pagoda_wait(self->fd, handle, LIMIT));
	}
	munmap(map, size);
}

/*
 * A thread that reads a fence's value. The test signals only values with two equal 32-bit halves.
 * @torn: reads of unequal halves, as of half a store; @back: reads of less than the read before.
 */
struct reader {
	const uint64_t *map;
	atomic_int stop;
	uint64_t torn;
	uint64_t back;
	uint64_t reads;
};

static void *reader_run(void *data)
{
	struct reader *reader = data;
	uint64_t last = 0;

	/* One read at least, however late the thread begins. */
	do {
		uint64_t now = value_of(reader->map);

		reader->torn += now >> 32 != (now & 0xffffffff);
		reader->back += now < last;
		reader->reads++;
		last = now;
	} while (!atomic_load(&reader->stop));
	return NULL;
}

TEST_F(fence, values_are_whole)
{
	struct reader reader = { 0 };
	uint64_t twice = 0x100000001ull, value = 0;
	int64_t end = pagoda_now() + 20 * PAGODA_SEC;
	uint32_t fence, handle, n;
	pthread_t thread;

	ASSERT_EQ(0, pagoda_fence_create(self->fd, 0, &fence, &reader.map));
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.page, &handle));
	ASSERT_EQ(0, pthread_create(&thread, NULL, reader_run, &reader));
	/* Slow machines do fewer rounds, but 200 at least. */
	for (n = 0; n < 2000 && (n < 200 || pagoda_now() < end); n++) {
		value += 0x10001 * twice;
		/*
		 * In each round the GPU signals a value. In every third round the CPU signals a
		 * larger value, which the fence may have first.
		 */
		ASSERT_EQ(0, pagoda_make_resident_fence(self->fd, handle, fence, value));
		if (n % 3 == 0) {
			value += twice;
			ASSERT_EQ(0, pagoda_fence_signal(self->fd, fence, value));
		}
		if (n % 16 == 0)
			ASSERT_EQ(0, pagoda_fence_wait(self->fd, fence, value, LIMIT));
	}
	EXPECT_EQ(0, pagoda_fence_wait(self->fd, fence, value, LIMIT));
	atomic_store(&reader.stop, 1);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	PAGODA_PROVES(C117);
	EXPECT_EQ(0, reader.torn);
	EXPECT_EQ(0, reader.back);
	EXPECT_LT(0, reader.reads);
	EXPECT_EQ(value, value_of(reader.map));
	munmap((void *)reader.map, self->dev.page);
}

/* --- signals and processes ------------------------------------------------------------------ */

static void ignore(int number)
{
}

/* A thread that sends SIGUSR1 to the thread that started it, every 5 ms until @stop. */
struct knocker {
	pthread_t who;
	pthread_t thread;
	atomic_int stop;
};

static void *knocker_run(void *data)
{
	struct knocker *knocker = data;

	while (!atomic_load(&knocker->stop)) {
		usleep(5000);
		pthread_kill(knocker->who, SIGUSR1);
	}
	return NULL;
}

static int knocker_start(struct knocker *knocker)
{
	atomic_store(&knocker->stop, 0);
	knocker->who = pthread_self();
	return pthread_create(&knocker->thread, NULL, knocker_run, knocker);
}

static void knocker_stop(struct knocker *knocker)
{
	atomic_store(&knocker->stop, 1);
	pthread_join(knocker->thread, NULL);
}

TEST_F(fence, signals_interrupt)
{
	struct drm_pagoda_fence_value entry = { .fence = self->fence[0], .value = 6 };
	struct drm_pagoda_fence_wait args = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		.timeout_ns = pagoda_now() + LIMIT,
	};
	struct sigaction action = { .sa_handler = ignore };
	struct knocker knocker;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, knocker_start(&knocker));
	EXPECT_EQ(-1, ioctl(self->fd, DRM_IOCTL_PAGODA_FENCE_WAIT, &args));
	EXPECT_EQ(EINTR, errno);
	knocker_stop(&knocker);
	/* With SA_RESTART the kernel repeats the wait, which still ends at @timeout_ns. */
	action.sa_flags = SA_RESTART;
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	args.timeout_ns = pagoda_now() + 4 * SHORT;
	ASSERT_EQ(0, knocker_start(&knocker));
	EXPECT_EQ(-1, ioctl(self->fd, DRM_IOCTL_PAGODA_FENCE_WAIT, &args));
	EXPECT_EQ(ETIME, errno);
	/*
	 * The kernel counts the wait in ticks. Ticks that are overdue when the wait begins make it
	 * end early.
	 */
	EXPECT_LE(args.timeout_ns - 2 * SHORT, pagoda_now());
	knocker_stop(&knocker);
}

TEST_F(fence, who_waits_can_be_killed)
{
	int status, i;
	pid_t child;

	for (i = 0; i < 4; i++) {
		child = fork();
		ASSERT_LE(0, child);
		if (!child) {
			pagoda_fence_wait(self->fd, self->fence[0], 6, 1000 * PAGODA_SEC);
			_exit(1);
		}
		usleep(i * 10000);
		ASSERT_EQ(0, kill(child, SIGKILL));
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
	EXPECT_EQ(0, pagoda_fence_signal(self->fd, self->fence[0], 6));
}

/* FENCE_DESTROY is refused while a thread waits for a value that the fence doesn't have. */
TEST_F(fence, not_destroyed_while_waited_for)
{
	struct sleeper sleeper = {
		.fd = self->fd, .count = 2, .flags = ANY, .map = self->map[0],
		.list = { { .fence = self->fence[0], .value = 6 },
			  { .fence = self->fence[1], .value = 6 } },
	};

	ASSERT_EQ(0, pthread_create(&sleeper.thread, NULL, sleeper_run, &sleeper));
	ASSERT_TRUE(test_asleep(&sleeper.id));
	EXPECT_REFUSED(EBUSY, pagoda_fence_destroy(self->fd, self->fence[0]));
	EXPECT_EQ(0, atomic_load(&sleeper.back));
	EXPECT_EQ(0, pagoda_fence_signal(self->fd, self->fence[1], 6));
	ASSERT_EQ(0, pthread_join(sleeper.thread, NULL));
	EXPECT_EQ(0, sleeper.ret);
	EXPECT_EQ(1, sleeper.first);
	EXPECT_EQ(5, value_of(self->map[0]));
	/* The wait with ANY has ended by fence[1]: nothing waits for fence[0] any more. */
	EXPECT_EQ(0, pagoda_fence_destroy(self->fd, self->fence[0]));
	EXPECT_REFUSED(ENOENT, pagoda_fence_signal(self->fd, self->fence[0], 6));
	EXPECT_REFUSED(ENOENT, pagoda_fence_destroy(self->fd, self->fence[0]));
}

/*
 * FENCE_DESTROY is refused while a job, and then a VM_BIND, waits for a value that the fence
 * doesn't have. Once the fence has the VM_BIND's value it can be destroyed: the VM_BIND succeeds.
 */
TEST_F(fence, not_destroyed_while_work_waits)
{
	struct drm_pagoda_sync syncs[] = {
		{ self->fence[0], DRM_PAGODA_SYNC_FENCE, 6 },
		{ 0, DRM_PAGODA_SYNC_SIGNAL, 1 },
	};
	struct drm_pagoda_submit job = { .syncs = { (uintptr_t)syncs, 2, sizeof(*syncs) } };
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP_ZERO, .size = self->dev.page,
	};
	struct drm_pagoda_vm_bind bind = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		.syncs = { (uintptr_t)syncs, 2, sizeof(*syncs) },
	};
	struct drm_pagoda_vm_create vm;
	uint32_t n;

	ASSERT_EQ(0, pagoda_vm_create(self->fd, &vm));
	ASSERT_EQ(0, pagoda_context_create(self->fd, vm.vm, &job.context));
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &syncs[1].handle));
	bind.vm = vm.vm;
	entry.address = vm.start;
	for (n = 0; n < 2; n++) {
		syncs[0].point = 6 + n;
		syncs[1].point = 1 + n;
		ASSERT_EQ(0, n ? pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_VM_BIND, &bind) :
				 pagoda_submit_args(self->fd, &job));
		EXPECT_REFUSED(EBUSY, pagoda_fence_destroy(self->fd, self->fence[0]));
		if (!n)
			ASSERT_EQ(0, pagoda_fence_signal(self->fd, self->fence[0], 6));
		EXPECT_EQ(n ? -ETIME : 0, pagoda_syncobj_wait(self->fd, syncs[1].handle, 1 + n,
							      n ? 0 : 60 * PAGODA_SEC));
	}
	ASSERT_EQ(0, pagoda_fence_signal(self->fd, self->fence[0], 7));
	/* The fence has the value that the VM_BIND waits for, even if the VM_BIND isn't done. */
	EXPECT_EQ(0, pagoda_fence_destroy(self->fd, self->fence[0]));
	EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, syncs[1].handle, 2, 60 * PAGODA_SEC));
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
