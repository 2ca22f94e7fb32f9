/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kselftests share: the device as a fixture, and small helpers. Sizes in the tests are
 * relative to the VRAM the device says it has, and no test assumes how much of it the CPU sees.
 */
#ifndef PAGODA_TEST_H
#define PAGODA_TEST_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pagoda_lib.h"

/* Of each test: long enough for the sanitizer kernel on an emulated CPU that others use, too. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	480

/* How long tests wait for what must come: any process may get no processor for seconds. */
#define TEST_PATIENCE		(60 * PAGODA_SEC)

/* What the software GPU tells about itself, where debugfs is there. */
#define FOLDER			"/sys/kernel/debug/pagoda_vgpu/"

/* Where every test starts: a client of its own and what the device has. */
struct test_device {
	int fd;
	uint64_t page;
	struct drm_pagoda_device_info info;
	struct drm_pagoda_segment_info vram;
	struct drm_pagoda_segment_info aperture;
};

static inline int test_device_open(struct test_device *dev)
{
	int ret;

	dev->fd = pagoda_open();
	if (dev->fd < 0)
		return dev->fd;
	ret = pagoda_device(dev->fd, &dev->info);
	if (!ret)
		ret = pagoda_segment(dev->fd, DRM_PAGODA_SEGMENT_VRAM, &dev->vram);
	if (!ret)
		ret = pagoda_segment(dev->fd, DRM_PAGODA_SEGMENT_APERTURE, &dev->aperture);
	dev->page = dev->info.page_size;
	return ret;
}

/* True if the driver was loaded so that jobs are never prepared within SUBMIT. */
static inline bool test_defers_jobs(void)
{
	FILE *file = fopen("/sys/module/pagoda/parameters/defer_jobs", "r");
	int answer = file ? fgetc(file) : 'N';

	if (file)
		fclose(file);
	return answer == 'Y';
}

/*
 * A number of a segment once memory of closed allocations and dead processes has come back: it is
 * freed when the last copy from or to it is done, so the answer may take a moment.
 */
static inline uint64_t test_settled(int fd, uint32_t segment,
				    uint64_t (*ask)(int fd, uint32_t segment), uint64_t expected)
{
	int64_t end = pagoda_now() + TEST_PATIENCE;
	uint64_t answer;

	do {
		answer = ask(fd, segment);
		if (answer == expected)
			break;
		usleep(1000);
	} while (pagoda_now() < end);
	return answer;
}

static inline uint64_t test_usage_settled(int fd, uint32_t segment, uint64_t expected)
{
	return test_settled(fd, segment, pagoda_usage, expected);
}

static inline uint64_t test_vram_settled(int fd, uint64_t expected)
{
	return test_usage_settled(fd, DRM_PAGODA_SEGMENT_VRAM, expected);
}

static inline uint64_t test_aperture_settled(int fd, uint64_t expected)
{
	return test_usage_settled(fd, DRM_PAGODA_SEGMENT_APERTURE, expected);
}

/* How often the GPU has executed operations with @part in their name; 0 if it doesn't tell. */
static inline unsigned long long test_executed(const char *part)
{
	FILE *file = fopen(FOLDER "stats", "r");
	unsigned long long count, found = 0;
	char line[256], name[64];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "op %63s %llu", name, &count) == 2 && strstr(name, part))
			found += count;
	if (file)
		fclose(file);
	return found;
}

static inline uint64_t test_round_up(uint64_t size, uint64_t unit)
{
	return (size + unit - 1) / unit * unit;
}

/*
 * Waits until @thread, 0 until the thread stores its number there, sleeps in one of @states of
 * proc(5): true once the thread does.
 */
static inline bool test_sleeps_in(const atomic_int *thread, const char *states)
{
	int64_t end = pagoda_now() + TEST_PATIENCE;
	char path[64], line[256], *state = NULL;
	FILE *file;
	bool sleeps;

	do {
		usleep(1000);
		sleeps = false;
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", atomic_load(thread));
		file = atomic_load(thread) ? fopen(path, "r") : NULL;
		if (!file)
			continue;
		/* Behind the name, which may have any characters. */
		state = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
		fclose(file);
		sleeps = state && state[1] == ' ' && state[2] && strchr(states, state[2]);
	} while (!sleeps && pagoda_now() < end);
	return sleeps;
}

/*
 * The same of a call that can be interrupted. The thread stores its number right before the call,
 * and must not sleep in anything else after that: so several threads are started one after
 * another, that none of them waits for another's lock.
 */
static inline bool test_asleep(const atomic_int *thread)
{
	return test_sleeps_in(thread, "S");
}

/*
 * A child and a pipe by which it says how far it is. As fork(); @pipe_end is what the child calls
 * test_say() with and the parent test_heard().
 */
static inline pid_t test_fork(int *pipe_end)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = fork();
	*pipe_end = ends[!pid];
	close(ends[!!pid]);
	return pid;
}

static inline void test_say(int pipe_end)
{
	if (write(pipe_end, "", 1) != 1)
		_exit(255);
}

/* Waits for it; false if the child ended without a word. */
static inline bool test_heard(int pipe_end)
{
	char byte;

	return read(pipe_end, &byte, 1) == 1;
}

/* Waits for a child that is expected to exit by itself: its status, or 255. */
static inline int test_child_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 255;
	return WEXITSTATUS(status);
}

/*
 * A thread that moves an allocation in and out of VRAM, some of the time without a rest.
 * TEST_MOVES are enough, TEST_MOVES_LEAST are needed on machines that are too slow for more.
 */
#define TEST_MOVES		100
#define TEST_MOVES_LEAST	20
#define TEST_MOVES_LIMIT	(3 * PAGODA_SEC)

struct test_mover {
	pthread_t thread;
	int fd;
	uint32_t handle;
	atomic_bool stop;
	unsigned int moves;
	int error;
};

static inline void *test_mover_run(void *data)
{
	struct test_mover *m = data;

	while (!atomic_load(&m->stop) && !m->error) {
		m->error = pagoda_make_resident(m->fd, &m->handle, 1, 0, 0, NULL);
		if (m->moves % 3)
			usleep(600);
		if (!m->error)
			m->error = pagoda_evict(m->fd, &m->handle, 1, 0, 0);
		m->moves++;
	}
	return NULL;
}

/*
 * A thread that never sleeps lets threads that wake up run at once: otherwise each move waits for
 * the thread's time slice several times. Threads that are created afterwards inherit this.
 */
static inline int test_give_way(void)
{
	struct sched_param param = {};

	return sched_setscheduler(0, SCHED_IDLE, &param);
}

/* Whether what happens beside the moves goes on; @end: TEST_MOVES_LIMIT after the first. */
static inline bool test_mover_goes_on(const struct test_mover *m, int64_t end)
{
	unsigned int moves = __atomic_load_n(&m->moves, __ATOMIC_RELAXED);

	if (m->error)
		return false;
	return moves < TEST_MOVES_LEAST || (moves < TEST_MOVES && pagoda_now() < end);
}

#endif
