// SPDX-License-Identifier: GPL-2.0
/*
 * Monitored fences: threads, processes and queued work that wait for values, which the CPU or the
 * GPU's paging signals; signals, and fences that are destroyed meanwhile.
 */
#include <pthread.h>

#include "lib/fence_fixture.h"

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

TEST_HARNESS_MAIN
