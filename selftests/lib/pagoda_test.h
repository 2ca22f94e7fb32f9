/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kselftests share: a client with the device's properties, and small helpers for memory in
 * use, threads that sleep, children, and allocations that move during a test. A test that fills
 * VRAM asks the device for VRAM's size, and no test assumes how much of VRAM the CPU sees.
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

/*
 * Seconds that a test may take: enough for the sanitizer kernel on an emulated CPU that other
 * processes use, too.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	480

/* Longest wait, in ns, for what must happen: a process may get no processor for seconds. */
#define TEST_PATIENCE		(60 * PAGODA_SEC)

/* The software GPU's folder in debugfs; it isn't there without debugfs or with another GPU. */
#define FOLDER			"/sys/kernel/debug/pagoda_vgpu/"

/* A client of a test, and the properties of the device. */
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

/* Returns whether the driver was loaded so that SUBMIT prepares no jobs but fenced ones. */
static inline bool test_defers_jobs(void)
{
	FILE *file = fopen("/sys/module/pagoda/parameters/defer_jobs", "r");
	int answer = file ? fgetc(file) : 'N';

	if (file)
		fclose(file);
	return answer == 'Y';
}

/*
 * Calls @ask until it returns @expected, at most for TEST_PATIENCE: memory of closed allocations
 * and dead processes is freed only when all jobs and copies that use the memory are done. Returns
 * the last answer.
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

/*
 * Returns how many packets the software GPU has executed so far of paging operations whose names
 * contain @part; 0 if the debugfs file "stats" can't be read.
 */
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
 * Waits until a thread sleeps in one of @states, the letters of proc(5). @thread: number of the
 * thread, which the thread itself stores; 0 until then. Returns false if the thread doesn't sleep
 * within TEST_PATIENCE.
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
		/* The state is behind the last ')': the name before it may have any characters. */
		state = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
		fclose(file);
		sleeps = state && state[1] == ' ' && state[2] && strchr(states, state[2]);
	} while (!sleeps && pagoda_now() < end);
	return sleeps;
}

/*
 * Waits until a thread sleeps in a call that a signal can interrupt, as test_sleeps_in(). The
 * thread stores its number right before the call, and must sleep nowhere else after that. A test
 * with several such threads starts one when the one before sleeps, so that none waits for a lock.
 */
static inline bool test_asleep(const atomic_int *thread)
{
	return test_sleeps_in(thread, "S");
}

/*
 * fork() with a pipe by which the child says how far it is. @pipe_end: out: what the child passes
 * to test_say(), and the parent to test_heard(). Returns as fork(); -1 if pipe() fails, too.
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

/* Waits until the child calls test_say(); false if the child ended before. */
static inline bool test_heard(int pipe_end)
{
	char byte;

	return read(pipe_end, &byte, 1) == 1;
}

/* Waits for the end of a child. Returns the exit status, or 255 if the child didn't exit. */
static inline int test_child_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 255;
	return WEXITSTATUS(status);
}

/*
 * Moves into VRAM and out again that a test with a test_mover needs: TEST_MOVES, but after
 * TEST_MOVES_LIMIT nanoseconds TEST_MOVES_LEAST are enough.
 */
#define TEST_MOVES		100
#define TEST_MOVES_LEAST	20
#define TEST_MOVES_LIMIT	(3 * PAGODA_SEC)

/* A thread that moves an allocation to VRAM and back, two times of three with a pause between. */
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
 * Makes the calling thread, which never sleeps, SCHED_IDLE, so that threads that wake up run at
 * once: otherwise each move waits several times for the end of the caller's time slice. Threads
 * that the caller creates later are SCHED_IDLE, too. Returns 0, or -1 with errno set.
 */
static inline int test_give_way(void)
{
	struct sched_param param = {};

	return sched_setscheduler(0, SCHED_IDLE, &param);
}

/*
 * Returns whether the mover has made too few moves, so that the test must go on with its accesses
 * beside the moves; false if a move failed. @end: TEST_MOVES_LIMIT after the begin
 */
static inline bool test_mover_goes_on(const struct test_mover *m, int64_t end)
{
	unsigned int moves = __atomic_load_n(&m->moves, __ATOMIC_RELAXED);

	if (m->error)
		return false;
	return moves < TEST_MOVES_LEAST || (moves < TEST_MOVES && pagoda_now() < end);
}

#endif
