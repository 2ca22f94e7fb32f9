// SPDX-License-Identifier: GPL-2.0
/*
 * bench: what jobs cost. Measured are the round trip of an empty job, against that of an empty
 * command; empty jobs per second, of one context and of four; a copy by a job, against a copy by
 * physical addresses; jobs that bring evicted allocations back, with mappings and without; and
 * SUBMIT in VMs with 10 to 100000 private allocations. The kernel has the device execute the empty
 * command and the copy by physical addresses, see bench_beside() in bench_lib.h.
 *
 * A job without commands goes to the device and back like any other. A binary syncobj tells the end
 * of a job: a point of a timeline only signals with the next tick in a UML kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/pagoda_commands.h"
#include "lib/pagoda_lib.h"
#include "bench_lib.h"

#define PAGE		4096ull
#define JOBS		1000
#define CONTEXTS	4
#define TRIPS		1001
#define COSTS		101
#define CALLS		16
#define REBOUND		1024
#define RETURNS		31

#define TRIP_GOAL	(1 / 3.0)	/* an empty job may take as long as 3 virtqueue trips */
#define FLAT_GOAL	(1 / 1.2)
#define COPY_GOAL	0.8

/* A VM with contexts, on the engines in turn, and a syncobj for each context. */
struct client {
	struct bench_space space;
	uint32_t contexts[CONTEXTS];
	uint32_t syncobjs[CONTEXTS];
	int fd;
};

static void client_open(struct client *c, int fd)
{
	struct drm_pagoda_device_info info;
	uint32_t n;

	c->fd = fd;
	bench_check("device", pagoda_device(fd, &info));
	bench_space_open(fd, &c->space);
	for (n = 0; n < CONTEXTS; n++) {
		struct drm_pagoda_context_create args = {
			.vm = c->space.vm,
			.engine = n % info.num_engines,
		};

		bench_check("context", pagoda_ioctl(fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &args));
		c->contexts[n] = args.context;
		bench_check("syncobj", pagoda_syncobj_create(fd, &c->syncobjs[n]));
	}
}

static void client_close(struct client *c)
{
	uint32_t n;

	for (n = 0; n < CONTEXTS; n++) {
		pagoda_context_destroy(c->fd, c->contexts[n]);
		pagoda_syncobj_destroy(c->fd, c->syncobjs[n]);
	}
	bench_check("VM", pagoda_vm_destroy(c->fd, c->space.vm));
}

/*
 * Submits a job to context @n; with @signal the job signals the context's syncobj, for wait_for().
 */
static void submit(const struct client *c, uint32_t n, uint64_t address, uint64_t size,
		   const uint32_t *handles, uint32_t count, bool signal)
{
	bench_check("submit", pagoda_submit(c->fd, c->contexts[n], address, size, handles, count,
					    signal ? c->syncobjs[n] : 0, 0));
}

static void wait_for(const struct client *c, uint32_t n)
{
	bench_check("wait", pagoda_syncobj_wait(c->fd, c->syncobjs[n], 0, BENCH_WAIT_LIMIT));
}

static double time_job(const struct client *c, uint64_t address, uint64_t size,
		       const uint32_t *handles, uint32_t count)
{
	int64_t start = pagoda_now();

	submit(c, 0, address, size, handles, count, true);
	wait_for(c, 0);
	return bench_seconds(start);
}

/* --- one job ----------------------------------------------------------------------------- */

/* Compares an empty job with a read of a debugfs file that sends the device an empty command. */
static void round_trip(const struct client *c)
{
	double job[TRIPS], trip[TRIPS], inside[TRIPS], ours, theirs;
	int file = bench_beside_open("trip"), n;
	int64_t start;

	if (file < 0)
		return;
	fprintf(stderr, "bench: round trips\n");
	for (n = 0; n < TRIPS; n++) {
		start = pagoda_now();
		bench_beside(file, &inside[n]);
		trip[n] = bench_seconds(start);
		job[n] = time_job(c, 0, 0, NULL, 0);
	}
	close(file);
	ours = bench_median(job, TRIPS);
	theirs = bench_median(trip, TRIPS);
	bench_line("submit.empty_round_trip", ours * 1e6, "us", theirs * 1e6);
	bench_line("submit.virtqueue_trip_in_kernel", bench_median(inside, TRIPS) * 1e6, "us", 0);
	bench_goal("submit.virtqueue_trip_by_empty_job", theirs / ours, TRIP_GOAL);
}

/*
 * Compares a job that copies one half of an allocation to the other with a copy of as many bytes
 * that the kernel has the device make by physical addresses.
 */
static void copy(struct client *c)
{
	double job[BENCH_RUNS], device[BENCH_RUNS], ours, theirs;
	int file = bench_beside_open("copy");
	uint64_t size = file < 0 ? 0 : bench_beside(file, &device[0]);
	struct pagoda_program program = { .room = PAGE };
	uint32_t program_handle, handle;
	uint64_t address;
	int run;

	if (!size)
		return;
	fprintf(stderr, "bench: copies of %llu MiB\n", (unsigned long long)(size / PAGODA_MIB));
	address = bench_space_place(&c->space, 2 * size);
	bench_check("create", pagoda_create_private(c->fd, c->space.vm, 2 * size,
						    DRM_PAGODA_ALLOCATION_CONTIGUOUS,
						    PAGODA_IN_VRAM, &handle));
	bench_check("bind", pagoda_bind_map(c->fd, c->space.vm, handle, address, 0, 2 * size));
	program.address = bench_space_place(&c->space, PAGE);
	bench_check("create", pagoda_create_private(c->fd, c->space.vm, PAGE,
						    DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
						    PAGODA_IN_VRAM, &program_handle));
	bench_check("bind", pagoda_bind_map(c->fd, c->space.vm, program_handle, program.address, 0,
					    PAGE));
	program.memory = pagoda_map(c->fd, program_handle, PAGE);
	if (!program.memory)
		bench_die("mmap", -errno);
	pagoda_copy(&program, address, address + size, size);
	for (run = 0; run < BENCH_RUNS; run++) {
		bench_beside(file, &device[run]);
		/*
		 * Not counted, as in pagoda_bench_copy(): brings the memory into the caches.
		 */
		time_job(c, program.address, program.used, NULL, 0);
		job[run] = time_job(c, program.address, program.used, NULL, 0);
	}
	ours = (double)size / PAGODA_MIB / bench_median(job, BENCH_RUNS);
	theirs = (double)size / PAGODA_MIB / bench_median(device, BENCH_RUNS);
	bench_line("submit.copy", ours, "MiB/s", theirs);
	bench_goal("submit.copy_by_physical_copy", ours / theirs, COPY_GOAL);
	close(file);
	pagoda_close(c->fd, program_handle);
	pagoda_close(c->fd, handle);
}

/* --- many jobs -------------------------------------------------------------------------------- */

/*
 * Returns jobs per second: JOBS empty jobs, of @contexts contexts in turn, waited for only at the
 * end.
 */
static double job_rate(const struct client *c, uint32_t contexts)
{
	int64_t start = pagoda_now();
	uint32_t n;

	for (n = 0; n < JOBS; n++)
		submit(c, n % contexts, 0, 0, NULL, 0, n + contexts >= JOBS);
	for (n = 0; n < contexts; n++)
		wait_for(c, n);
	return JOBS / bench_seconds(start);
}

static void rates(const struct client *c)
{
	double one[BENCH_RUNS], four[BENCH_RUNS], baseline;
	int run;

	fprintf(stderr, "bench: jobs\n");
	for (run = 0; run < BENCH_RUNS; run++) {
		one[run] = job_rate(c, 1);
		four[run] = job_rate(c, CONTEXTS);
	}
	baseline = bench_median(one, BENCH_RUNS);
	bench_line("submit.rate.1_context", baseline, "jobs/s", 0);
	bench_line("submit.rate.4_contexts", bench_median(four, BENCH_RUNS), "jobs/s", baseline);
}

/* --- many allocations ------------------------------------------------------------------------- */

/*
 * A client whose VM has @count private allocations, all bound. @taken: seconds of a SUBMIT, by run.
 */
struct crowd {
	struct client client;
	uint32_t *handles;
	uint64_t address;
	uint32_t count;
	double taken[COSTS];
};

static void crowd_bind(struct crowd *crowd)
{
	struct drm_pagoda_bind_entry *entries = calloc(crowd->count, sizeof(*entries));
	uint32_t n, some;

	if (!entries)
		bench_die("entries", -ENOMEM);
	for (n = 0; n < crowd->count; n++)
		entries[n] = (struct drm_pagoda_bind_entry) {
			.type = DRM_PAGODA_BIND_MAP,
			.handle = crowd->handles[n],
			.address = crowd->address + n * PAGE,
			.size = PAGE,
		};
	for (n = 0; n < crowd->count; n += some) {
		some = crowd->count - n;
		if (some > DRM_PAGODA_MAX_ENTRIES)
			some = DRM_PAGODA_MAX_ENTRIES;
		bench_check("bind", pagoda_bind(crowd->client.fd, crowd->client.space.vm,
						entries + n, some, 0, 0));
	}
	free(entries);
}

/* Opens a client with @count bound allocations, in the aperture: VRAM may be too small for them. */
static void crowd_open(struct crowd *crowd, int fd, uint32_t count)
{
	uint32_t n;

	client_open(&crowd->client, fd);
	crowd->count = count;
	crowd->handles = calloc(count, sizeof(*crowd->handles));
	if (!crowd->handles)
		bench_die("handles", -ENOMEM);
	for (n = 0; n < count; n++)
		bench_check("create", pagoda_create_private(fd, crowd->client.space.vm, PAGE, 0,
							    PAGODA_IN_APERTURE,
							    &crowd->handles[n]));
	crowd->address = bench_space_place(&crowd->client.space, count * PAGE);
	crowd_bind(crowd);
	time_job(&crowd->client, 0, 0, NULL, 0);
}

/* Closes the client. Before, unbinds all allocations by one change of page tables, not one each. */
static void crowd_close(struct crowd *crowd)
{
	uint32_t n;

	bench_check("unbind", pagoda_bind_range(crowd->client.fd, crowd->client.space.vm,
						DRM_PAGODA_BIND_UNMAP, crowd->address,
						crowd->count * PAGE));
	for (n = 0; n < crowd->count; n++)
		pagoda_close(crowd->client.fd, crowd->handles[n]);
	free(crowd->handles);
	client_close(&crowd->client);
}

/*
 * Returns the seconds that a SUBMIT of an empty job takes, on average over CALLS; the wait for the
 * jobs isn't counted.
 */
static double time_call(const struct client *c)
{
	int64_t start = pagoda_now();
	double taken;
	int n;

	for (n = 0; n < CALLS; n++)
		submit(c, 0, 0, 0, NULL, 0, true);
	taken = bench_seconds(start) / CALLS;
	wait_for(c, 0);
	return taken;
}

static void costs(int fd)
{
	static const uint32_t counts[] = { 10, 1000, 100000 };
	static struct crowd crowds[ARRAY_SIZE(counts)];
	double medians[ARRAY_SIZE(counts)];
	char metric[64];
	unsigned int i, run;

	fprintf(stderr, "bench: many private allocations\n");
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		crowd_open(&crowds[i], fd, counts[i]);
	for (run = 0; run < COSTS; run++)
		for (i = 0; i < ARRAY_SIZE(counts); i++)
			crowds[i].taken[run] = time_call(&crowds[i].client);
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		medians[i] = bench_median(crowds[i].taken, COSTS);
		snprintf(metric, sizeof(metric), "submit.call.%u_private", counts[i]);
		bench_line(metric, medians[i] * 1e6, "us", medians[0] * 1e6);
		crowd_close(&crowds[i]);
	}
	bench_goal("submit.call_is_flat", medians[0] / medians[ARRAY_SIZE(counts) - 1], FLAT_GOAL);
}

/* --- back after eviction ---------------------------------------------------------------------- */

static double time_return(const struct client *c, const uint32_t *handles)
{
	bench_check("evict", pagoda_evict(c->fd, handles, REBOUND, 0, 0));
	bench_check("wait", pagoda_wait(c->fd, handles[REBOUND - 1], BENCH_WAIT_LIMIT));
	return time_job(c, 0, 0, handles, REBOUND);
}

/*
 * Compares jobs that bring back REBOUND evicted allocations which are bound, so that the mappings
 * come back, too, with jobs that bring back as many unbound ones. The allocations are small, and
 * the difference is taken of neighbouring runs, so that the cost of mappings isn't lost in noise.
 */
static void rebind(struct client *c)
{
	double with[RETURNS], without[RETURNS], more[RETURNS], baseline;
	uint32_t bound[REBOUND], unbound[REBOUND];
	uint64_t address = bench_space_place(&c->space, REBOUND * PAGE);
	uint32_t n;
	int run;

	fprintf(stderr, "bench: rebinding\n");
	for (n = 0; n < REBOUND; n++) {
		bench_check("create", pagoda_create(c->fd, PAGE, 0, PAGODA_IN_VRAM, &bound[n]));
		bench_check("create", pagoda_create(c->fd, PAGE, 0, PAGODA_IN_VRAM, &unbound[n]));
		bench_check("bind", pagoda_bind_map(c->fd, c->space.vm, bound[n],
						    address + n * PAGE, 0, PAGE));
	}
	time_return(c, bound);
	time_return(c, unbound);
	for (run = 0; run < RETURNS; run++) {
		with[run] = time_return(c, bound) / REBOUND * 1e6;
		without[run] = time_return(c, unbound) / REBOUND * 1e6;
		more[run] = with[run] - without[run];
	}
	baseline = bench_median(without, RETURNS);
	bench_line("submit.return_bound", bench_median(with, RETURNS), "us/allocation", baseline);
	bench_line("submit.rebind", bench_median(more, RETURNS), "us/allocation", baseline);
	for (n = 0; n < REBOUND; n++) {
		pagoda_close(c->fd, bound[n]);
		pagoda_close(c->fd, unbound[n]);
	}
}

void bench_submit(int fd)
{
	struct client c = { 0 };

	client_open(&c, fd);
	time_job(&c, 0, 0, NULL, 0);
	round_trip(&c);
	rates(&c);
	copy(&c);
	rebind(&c);
	client_close(&c);
	costs(fd);
}
