// SPDX-License-Identifier: GPL-2.0
/*
 * crowd: what an allocation costs a client that has 1000, 10000 and 100000 in VRAM: a MAKE_RESIDENT
 * of a resident allocation, the choice as a victim, and taking a victim's place.
 *
 * Calls list 1000 allocations. MAKE_RESIDENT is compared with what a driver does at least to move
 * such a list: the kernel locks and unlocks the reservations of 1000 allocations. The cost of cache
 * misses is measured, too: the kernel reads a member of each allocation. One list is made resident
 * over and over, so that it is in the caches, however many other allocations there are: if this
 * costs more among many than among few, the driver looks at more than the listed allocations.
 *
 * A call that lists one allocation is measured, too, and its time taken off the time of calls that
 * list 1000: a system call's cost depends on the machine, not on the list; under UML it is as much
 * as the cost of hundreds of allocations.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/pagoda_lib.h"
#include "bench_lib.h"

#define PAGE		4096ull
#define LIST		1000u
#define FILLER		PAGODA_MIB
#define ROUNDS		31
#define WARM		10
#define HOT		8

#define FLAT_GOAL	(1 / 1.2)
#define LOCK_GOAL	(1 / 2.0)

static const uint32_t counts[] = { 1000, 10000, 100000 };

enum figure {
	LISTED,
	PLAIN,
	LISTED_HOT,
	PLAIN_HOT,
	LISTED_ONE,
	PLAIN_ONE,
	LOCKED,
	WALKED,
	PICKED,
	REPLACED,
	FIGURES
};

static const char * const names[FIGURES] = {
	[LISTED] = "make_resident.queue",
	[PLAIN] = "make_resident.call",
	[LISTED_HOT] = "make_resident.queue.same_list",
	[PLAIN_HOT] = "make_resident.call.same_list",
	[LISTED_ONE] = "make_resident.queue.one",
	[PLAIN_ONE] = "make_resident.call.one",
	[LOCKED] = "drm_exec",
	[WALKED] = "look",
	[PICKED] = "pick",
	[REPLACED] = "replace",
};

#define SAMPLES_MAX	(ROUNDS * 100)

/* Seconds per allocation of each figure: @count samples, and their median, see take_off(). */
struct figures {
	double taken[FIGURES][SAMPLES_MAX];
	uint32_t count[FIGURES];
	double medians[FIGURES];
};

/*
 * A client: @count allocations in VRAM and on its residency list, and, while victims are measured,
 * @nr_fillers that fill the rest of VRAM and aren't chosen as victims.
 */
struct crowd {
	int fd;
	uint32_t queue;
	uint32_t syncobj;
	uint32_t count;
	uint32_t nr_fillers;
	uint32_t *handles;
	uint32_t *fillers;
};

static struct {
	int lock;
	int look;
	int pick;
} files;

static void make_listed(const struct crowd *crowd, uint32_t first, uint32_t count)
{
	uint64_t value;

	bench_check("make resident", pagoda_list_add(crowd->fd, crowd->queue,
						     crowd->handles + first, count, 0, &value,
						     NULL));
	if (value)
		bench_check("wait", pagoda_syncobj_wait(crowd->fd, crowd->syncobj, value,
							BENCH_WAIT_LIMIT));
}

static void make_plain(const struct crowd *crowd, uint32_t first, uint32_t count)
{
	bench_check("make resident", pagoda_make_resident(crowd->fd, crowd->handles + first, count,
							  0, 0, NULL));
}

static uint32_t *allocate(uint32_t count)
{
	uint32_t *handles = calloc(count, sizeof(*handles));

	if (!handles)
		bench_die("handles", -ENOMEM);
	return handles;
}

/*
 * Fills the rest of VRAM, but for less than FILLER bytes, with allocations of the highest priority,
 * so that the client's other allocations are the victims.
 */
static void fill(struct crowd *crowd)
{
	struct drm_pagoda_segment_info vram;
	uint64_t used;
	uint32_t n;

	bench_check("segment", pagoda_segment(crowd->fd, DRM_PAGODA_SEGMENT_VRAM, &vram));
	used = pagoda_usage(crowd->fd, DRM_PAGODA_SEGMENT_VRAM);
	if (vram.size < used + LIST * PAGE)
		bench_die("VRAM is too small", -ENOSPC);
	crowd->nr_fillers = (vram.size - used) / FILLER;
	crowd->fillers = allocate(crowd->nr_fillers);
	for (n = 0; n < crowd->nr_fillers; n++) {
		bench_check("create", pagoda_create_vram(crowd->fd, FILLER, &crowd->fillers[n]));
		bench_check("priority", pagoda_set_priority(crowd->fd, crowd->fillers[n],
							    DRM_PAGODA_RESIDENCY_MAXIMUM));
		bench_check("make resident",
			    pagoda_make_resident_wait(crowd->fd, crowd->fillers[n]));
	}
}

/* Closes the fillers, and waits until the driver has freed their VRAM. */
static void empty(struct crowd *crowd)
{
	uint64_t rest = (crowd->count + LIST) * PAGE + FILLER;
	int64_t end = pagoda_now() + BENCH_WAIT_LIMIT;
	uint32_t n;

	for (n = 0; n < crowd->nr_fillers; n++)
		bench_check("close", pagoda_close(crowd->fd, crowd->fillers[n]));
	free(crowd->fillers);
	while (pagoda_usage(crowd->fd, DRM_PAGODA_SEGMENT_VRAM) > rest) {
		if (pagoda_now() > end)
			bench_die("VRAM isn't given back", -ETIME);
		usleep(1000);
	}
}

static void crowd_open(struct crowd *crowd)
{
	*crowd = (struct crowd){ .fd = pagoda_open() };
	bench_check("no pagoda device", crowd->fd);
	bench_check("paging queue", pagoda_paging_queue_create(crowd->fd, 0, &crowd->queue,
							       &crowd->syncobj));
	crowd->handles = allocate(counts[ARRAY_SIZE(counts) - 1]);
}

/*
 * Creates allocations until the client has @count, and puts the new ones on the residency list;
 * allocations of earlier measurements stay on the list. Ends the process if any isn't in VRAM.
 */
static void crowd_grow(struct crowd *crowd, uint32_t count)
{
	uint32_t n, first = crowd->count;

	for (n = first; n < count; n++)
		bench_check("create", pagoda_create_vram(crowd->fd, PAGE, &crowd->handles[n]));
	crowd->count = count;
	for (n = first; n < count; n += LIST)
		make_listed(crowd, n, LIST);
	for (n = 0; n < count; n++)
		if (pagoda_where(crowd->fd, crowd->handles[n]) != DRM_PAGODA_SEGMENT_VRAM)
			bench_die("not all is in VRAM", -ENOSPC);
}

static void crowd_close(struct crowd *crowd)
{
	free(crowd->handles);
	close(crowd->fd);
}

static void sample(struct figures *f, enum figure which, double taken)
{
	f->taken[which][f->count[which]++] = taken;
}

typedef void (*make_fn)(const struct crowd *crowd, uint32_t first, uint32_t count);

/* Returns the seconds that a call of @make takes. */
static double time_call(const struct crowd *crowd, make_fn make, uint32_t first, uint32_t count)
{
	int64_t start = pagoda_now();

	make(crowd, first, count);
	return bench_seconds(start);
}

/*
 * Calls @make for all allocations, LIST at a time. Each call is a sample, so that other processes
 * spoil few samples.
 */
static void time_all(const struct crowd *crowd, struct figures *f, enum figure which, make_fn make)
{
	uint32_t n;

	for (n = 0; n < crowd->count; n += LIST)
		sample(f, which, time_call(crowd, make, n, LIST) / LIST);
}

/*
 * HOT times, times a call of @make for the first LIST allocations, which are in the caches from
 * earlier calls, and a call for one of these, which is a sample of @one. The difference, for each
 * other allocation, is a sample of @which: it is taken of neighbouring calls, because a call's cost
 * varies by more than the cost of such a list.
 */
static void time_hot(const struct crowd *crowd, struct figures *f, enum figure which,
		     enum figure one, make_fn make)
{
	double list, call;
	int n;

	for (n = 0; n < WARM; n++)
		make(crowd, 0, LIST);
	for (n = 0; n < HOT; n++) {
		list = time_call(crowd, make, 0, LIST);
		call = time_call(crowd, make, 0, 1);
		sample(f, which, (list - call) / (LIST - 1));
		sample(f, one, call);
	}
}

static double time_beside(int file)
{
	uint64_t amount;
	double taken;

	amount = bench_beside(file, &taken);
	return taken / amount;
}

/*
 * Returns the seconds per allocation of making LIST new allocations resident while VRAM is full, so
 * that others are evicted.
 */
static double time_replace(const struct crowd *crowd)
{
	uint32_t handles[LIST], n;
	int64_t start;
	double taken;

	for (n = 0; n < LIST; n++)
		bench_check("create", pagoda_create_vram(crowd->fd, PAGE, &handles[n]));
	start = pagoda_now();
	bench_check("make resident", pagoda_make_resident(crowd->fd, handles, LIST, 0, 0, NULL));
	bench_check("wait", pagoda_wait(crowd->fd, handles[LIST - 1], BENCH_WAIT_LIMIT));
	taken = bench_seconds(start) / LIST;
	for (n = 0; n < LIST; n++)
		bench_check("close", pagoda_close(crowd->fd, handles[n]));
	return taken;
}

static void measure_resident(const struct crowd *crowd, struct figures *f)
{
	int round;

	for (round = 0; round < ROUNDS; round++) {
		time_all(crowd, f, LISTED, make_listed);
		sample(f, LOCKED, time_beside(files.lock));
		time_all(crowd, f, PLAIN, make_plain);
		sample(f, WALKED, time_beside(files.look));
		time_hot(crowd, f, LISTED_HOT, LISTED_ONE, make_listed);
		time_hot(crowd, f, PLAIN_HOT, PLAIN_ONE, make_plain);
	}
}

/*
 * Fills VRAM, then measures choosing victims and replacing them. Victims are made resident again,
 * so that each round finds as many candidates.
 */
static void measure_victims(struct crowd *crowd, struct figures *f)
{
	uint32_t n;
	int round;

	fill(crowd);
	for (round = 0; round < ROUNDS; round++) {
		sample(f, PICKED, time_beside(files.pick));
		sample(f, REPLACED, time_replace(crowd));
		for (n = 0; n < crowd->count; n += LIST)
			make_plain(crowd, n, LIST);
		bench_check("wait", pagoda_wait(crowd->fd, crowd->handles[crowd->count - 1],
						BENCH_WAIT_LIMIT));
	}
	empty(crowd);
}

/*
 * Takes the cost of a call, the median of @one, off the median of @which, whose calls list LIST
 * allocations.
 */
static void take_off(struct figures *f, enum figure which, enum figure one)
{
	f->medians[which] -= f->medians[one] / LIST;
}

static void report(uint32_t count, struct figures *f)
{
	enum figure figure;
	char name[96];

	for (figure = 0; figure < FIGURES; figure++)
		f->medians[figure] = bench_median(f->taken[figure], f->count[figure]);
	take_off(f, LISTED, LISTED_ONE);
	take_off(f, PLAIN, PLAIN_ONE);
	for (figure = 0; figure < FIGURES; figure++) {
		double baseline = figure < LISTED_ONE ? f->medians[LOCKED] : 0;

		snprintf(name, sizeof(name), "crowd.%s.%u", names[figure], count);
		bench_line(name, f->medians[figure] * 1e9, "ns/allocation", baseline * 1e9);
	}
}

static void report_goals(const struct figures *all)
{
	static const enum figure flat[] = { LISTED_HOT, PLAIN_HOT, PICKED, REPLACED };
	static const enum figure made[] = { LISTED, PLAIN };
	const struct figures *few = &all[0], *many = &all[ARRAY_SIZE(counts) - 1];
	unsigned int n, c;
	char name[96];

	for (n = 0; n < ARRAY_SIZE(flat); n++) {
		snprintf(name, sizeof(name), "crowd.%s_is_flat", names[flat[n]]);
		bench_goal(name, few->medians[flat[n]] / many->medians[flat[n]], FLAT_GOAL);
	}
	for (n = 0; n < ARRAY_SIZE(made); n++) {
		for (c = 0; c < ARRAY_SIZE(counts); c++) {
			snprintf(name, sizeof(name), "crowd.%s_by_drm_exec.%u", names[made[n]],
				 counts[c]);
			bench_goal(name, all[c].medians[LOCKED] / all[c].medians[made[n]],
				   LOCK_GOAL);
		}
	}
}

static void parse_options(int argc, char **argv)
{
	bench_out = argc == 3 && !strcmp(argv[1], "--out") ? fopen(argv[2], "w") : NULL;
	if (bench_out)
		return;
	fprintf(stderr, "usage: crowd --out FILE\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static struct figures all[ARRAY_SIZE(counts)];
	struct crowd crowd;
	unsigned int c;

	parse_options(argc, argv);
	files.lock = bench_beside_open("lock");
	files.look = bench_beside_open("walk");
	files.pick = bench_beside_open("pick");
	if (files.lock < 0 || files.look < 0 || files.pick < 0)
		bench_die("a driver built for it, with debugfs", -ENODEV);
	fprintf(bench_out, "metric\tvalue\tunit\tbaseline\tratio\n");
	crowd_open(&crowd);
	for (c = 0; c < ARRAY_SIZE(counts); c++) {
		fprintf(stderr, "bench: %u allocations\n", counts[c]);
		crowd_grow(&crowd, counts[c]);
		measure_resident(&crowd, &all[c]);
		measure_victims(&crowd, &all[c]);
		report(counts[c], &all[c]);
	}
	crowd_close(&crowd);
	report_goals(all);
	if (fclose(bench_out))
		bench_die("writing", -errno);
	return 0;
}
