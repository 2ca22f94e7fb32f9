// SPDX-License-Identifier: GPL-2.0
/*
 * bench: promotion. A client has half of VRAM; another client, the crowd, evicts all of that and
 * closes its file. Measured are the time until promotion has brought everything back, against that
 * of a MAKE_RESIDENT of the same allocations; and the jobs per second of a third client, the
 * worker, during promotion, against those in an equally long time in which nothing comes back.
 *
 * On one processor nothing is measured: the software GPU's threads, which do the paging, would have
 * to share the processor with the threads that poll and submit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/pagoda_commands.h"
#include "lib/pagoda_lib.h"
#include "bench_lib.h"

#define PAGE		4096ull
#define PIECES		8u
#define CROWD		31u		/* allocations of VRAM / PARTS; no piece fits beside them */
#define PARTS		32u
#define JOB_BYTES	PAGODA_MIB	/* the worker's data, half of which a job copies */
#define WINDOWS		15
#define LOOK_US		1000

#define SPEED_GOAL	0.8
#define BESIDE_GOAL	0.95

/* A client that has small jobs executed, one after another, until @stop is set. */
struct worker {
	struct bench_space space;
	pthread_t thread;
	int fd;
	uint32_t context;
	uint32_t syncobj;
	uint64_t address;
	uint64_t size;
	atomic_ullong jobs;
	atomic_bool stop;
};

struct spilled {
	int fd;
	uint64_t size;
	uint32_t handles[PIECES];
};

static int client(void)
{
	int fd = pagoda_open();

	if (fd < 0)
		bench_die("open", fd);
	return fd;
}

static uint64_t usage(int fd)
{
	struct drm_pagoda_query_memory_info info;

	bench_check("memory", pagoda_memory_info(fd, DRM_PAGODA_SEGMENT_GROUP_LOCAL, &info));
	return info.current_usage;
}

/* Returns whether all pieces have their places in VRAM; copies may still be under way. */
static bool is_back(const struct spilled *spilled)
{
	return usage(spilled->fd) >= PIECES * spilled->size;
}

/* Waits until all pieces are in VRAM and their copies have ended. */
static void wait_back(const struct spilled *spilled)
{
	int64_t end = pagoda_now() + BENCH_WAIT_LIMIT;
	uint32_t n;

	while (!is_back(spilled)) {
		if (pagoda_now() > end)
			bench_die("nothing comes back", -ETIME);
		usleep(LOOK_US);
	}
	for (n = 0; n < PIECES; n++)
		bench_check("wait", pagoda_wait(spilled->fd, spilled->handles[n],
						BENCH_WAIT_LIMIT));
}

/*
 * Waits until @seconds have passed or is_back() is true. Polls as often as wait_back(), because
 * polling takes time from the worker, too.
 */
static void wait_seconds(const struct spilled *spilled, double seconds)
{
	int64_t start = pagoda_now();

	while (bench_seconds(start) < seconds && !is_back(spilled))
		usleep(LOOK_US);
}

static void make_back(const struct spilled *spilled)
{
	bench_check("make resident", pagoda_make_resident(spilled->fd, spilled->handles, PIECES,
							  0, 0, NULL));
	wait_back(spilled);
}

static void spilled_create(struct spilled *spilled, uint64_t vram)
{
	uint32_t n;
	void *map;

	spilled->fd = client();
	spilled->size = vram / 2 / PIECES;
	for (n = 0; n < PIECES; n++) {
		bench_check("create", pagoda_create(spilled->fd, spilled->size,
						    DRM_PAGODA_ALLOCATION_CPU_VISIBLE |
						    DRM_PAGODA_ALLOCATION_CACHED, PAGODA_IN_VRAM,
						    &spilled->handles[n]));
		map = pagoda_map(spilled->fd, spilled->handles[n], spilled->size);
		if (!map)
			bench_die("mmap", -errno);
		memset(map, n + 1, spilled->size);
		munmap(map, spilled->size);
	}
	make_back(spilled);
}

/*
 * Opens a client and waits until its CROWD allocations are in VRAM, which they nearly fill, so that
 * other clients' allocations are evicted. Returns the client's file descriptor.
 */
static int crowd_in(uint64_t vram)
{
	uint32_t handles[CROWD], n;
	int fd = client();

	for (n = 0; n < CROWD; n++)
		bench_check("create", pagoda_create_vram(fd, vram / PARTS, &handles[n]));
	bench_check("make resident", pagoda_make_resident(fd, handles, CROWD, 0, 0, NULL));
	for (n = 0; n < CROWD; n++)
		bench_check("wait", pagoda_wait(fd, handles[n], BENCH_WAIT_LIMIT));
	return fd;
}

/*
 * Has a crowd evict the pieces and close. Returns the seconds from the first piece's move to VRAM
 * until all pieces are back; the time before, until promotion begins, isn't counted.
 */
static double time_back(const struct spilled *spilled, uint64_t vram)
{
	int fd = crowd_in(vram);
	int64_t start;

	close(fd);
	while (!usage(spilled->fd))
		usleep(100);
	start = pagoda_now();
	wait_back(spilled);
	return bench_seconds(start);
}

/*
 * Has a crowd evict the pieces and close. Returns the seconds that MAKE_RESIDENT takes to bring the
 * pieces back when three quarters of VRAM are free; promotion brings no piece back, because EVICT
 * was called for all.
 */
static double time_request(const struct spilled *spilled, uint64_t vram)
{
	int fd = crowd_in(vram);
	int64_t start;

	bench_check("evict", pagoda_evict(spilled->fd, spilled->handles, PIECES, 0, 0));
	close(fd);
	while (pagoda_usage(spilled->fd, DRM_PAGODA_SEGMENT_VRAM) > vram / 4)
		usleep(100);
	start = pagoda_now();
	make_back(spilled);
	return bench_seconds(start);
}

/* --- the worker ------------------------------------------------------------------------------- */

static void worker_open(struct worker *worker)
{
	struct drm_pagoda_context_create context = {};
	struct pagoda_program program = { .room = PAGE };
	uint32_t code, data;
	uint64_t address;

	worker->fd = client();
	bench_space_open(worker->fd, &worker->space);
	context.vm = worker->space.vm;
	bench_check("context", pagoda_ioctl(worker->fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &context));
	worker->context = context.context;
	bench_check("syncobj", pagoda_syncobj_create(worker->fd, &worker->syncobj));
	address = bench_space_place(&worker->space, JOB_BYTES);
	program.address = bench_space_place(&worker->space, PAGE);
	bench_check("create", pagoda_create_private(worker->fd, context.vm, JOB_BYTES, 0,
						    PAGODA_IN_APERTURE, &data));
	bench_check("create", pagoda_create_private(worker->fd, context.vm, PAGE,
						    DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
						    PAGODA_IN_APERTURE, &code));
	bench_check("bind", pagoda_bind_map(worker->fd, context.vm, data, address, 0, JOB_BYTES));
	bench_check("bind", pagoda_bind_map(worker->fd, context.vm, code, program.address, 0,
					    PAGE));
	program.memory = pagoda_map(worker->fd, code, PAGE);
	if (!program.memory)
		bench_die("mmap", -errno);
	pagoda_copy(&program, address, address + JOB_BYTES / 2, JOB_BYTES / 2);
	worker->address = program.address;
	worker->size = program.used;
}

static void *worker_run(void *data)
{
	struct worker *worker = data;

	while (!atomic_load(&worker->stop)) {
		bench_check("submit", pagoda_submit(worker->fd, worker->context, worker->address,
						    worker->size, NULL, 0, worker->syncobj, 0));
		bench_check("wait", pagoda_syncobj_wait(worker->fd, worker->syncobj, 0,
							BENCH_WAIT_LIMIT));
		atomic_fetch_add(&worker->jobs, 1);
	}
	return NULL;
}

/* Jobs that the worker had executed in several windows of time, and the windows' seconds. */
struct rate {
	double jobs;
	double seconds;
};

/*
 * Closes @crowd, the crowd's file, which begins a window, and adds the window to @rate. The window
 * ends after wait_seconds(), or, if @seconds is 0, after wait_back(). Returns the window's seconds.
 */
static double rate_add(struct rate *rate, struct worker *worker, const struct spilled *spilled,
		       int crowd, double seconds)
{
	unsigned long long jobs = atomic_load(&worker->jobs);
	int64_t start = pagoda_now();
	double taken;

	close(crowd);
	if (seconds > 0)
		wait_seconds(spilled, seconds);
	else
		wait_back(spilled);
	taken = bench_seconds(start);
	rate->jobs += atomic_load(&worker->jobs) - jobs;
	rate->seconds += taken;
	return taken;
}

/*
 * Adds a window with promotion to @beside, and an equally long one without to @alone, before which
 * EVICT is called for all pieces, so that promotion brings none back.
 */
static void rate_beside(struct worker *worker, const struct spilled *spilled, uint64_t vram,
			struct rate *beside, struct rate *alone)
{
	double taken = rate_add(beside, worker, spilled, crowd_in(vram), 0);
	int crowd = crowd_in(vram);

	bench_check("evict", pagoda_evict(spilled->fd, spilled->handles, PIECES, 0, 0));
	rate_add(alone, worker, spilled, crowd, taken);
	make_back(spilled);
}

static void slowdown(const struct spilled *spilled, uint64_t vram)
{
	struct rate beside = { 0 }, alone = { 0 };
	struct worker worker = { 0 };
	double with, without;
	int n;

	worker_open(&worker);
	if (pthread_create(&worker.thread, NULL, worker_run, &worker))
		bench_die("thread", -EAGAIN);
	for (n = 0; n < WINDOWS; n++)
		rate_beside(&worker, spilled, vram, &beside, &alone);
	atomic_store(&worker.stop, true);
	pthread_join(worker.thread, NULL);
	close(worker.fd);
	with = beside.jobs / beside.seconds;
	without = alone.jobs / alone.seconds;
	bench_line("promote.jobs_beside", with, "jobs/s", without);
	bench_goal("promote.jobs_beside_by_alone", with / without, BESIDE_GOAL);
}

/* Measures promotion with clients that bench_promote() itself opens. */
void bench_promote(void)
{
	double back[BENCH_RUNS], request[BENCH_RUNS], ours, theirs, mib;
	struct drm_pagoda_segment_info vram;
	struct spilled spilled;
	int fd, n;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	fd = client();
	bench_check("segment", pagoda_segment(fd, DRM_PAGODA_SEGMENT_VRAM, &vram));
	close(fd);
	spilled_create(&spilled, vram.size);
	mib = PIECES * (double)spilled.size / PAGODA_MIB;
	fprintf(stderr, "bench: the way back of %g MiB\n", mib);
	for (n = 0; n < BENCH_RUNS; n++) {
		request[n] = time_request(&spilled, vram.size);
		back[n] = time_back(&spilled, vram.size);
	}
	ours = mib / bench_median(back, BENCH_RUNS);
	theirs = mib / bench_median(request, BENCH_RUNS);
	bench_line("promote.back", ours, "MiB/s", theirs);
	bench_goal("promote.back_by_request", ours / theirs, SPEED_GOAL);
	slowdown(&spilled, vram.size);
	close(spilled.fd);
}
