// SPDX-License-Identifier: GPL-2.0
/*
 * bench: what it costs to change a VM's page tables. Binds are of memory in VRAM, so that each bind
 * writes page-table entries. At the end of a run, bind_wait() waits for all binds of the run: it
 * submits a job without commands, which is done only when all earlier changes of the VM are.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "lib/pagoda_lib.h"
#include "bench_lib.h"

#define PAGE		4096ull
/* Size of the allocation that all binds map; a larger range maps the allocation several times. */
#define PIECE		(64 * PAGODA_MIB)
#define PIECES_MAX	16
#define MANY		10000
#define MANY_GOAL	4.0

/*
 * The VM and the addresses that binds change, the allocation that binds map, and a context and a
 * syncobj for bind_wait().
 */
struct bind {
	struct bench_space space;
	uint64_t address;
	uint32_t context;
	uint32_t syncobj;
	uint32_t handle;
	int fd;
};

static void bind_wait(const struct bind *b)
{
	bench_check("submit", pagoda_submit(b->fd, b->context, 0, 0, NULL, 0, b->syncobj, 0));
	bench_check("wait", pagoda_syncobj_wait(b->fd, b->syncobj, 0, BENCH_WAIT_LIMIT));
}

static void bind_open(struct bind *b, int fd)
{
	b->fd = fd;
	bench_space_open(fd, &b->space);
	b->address = bench_space_place(&b->space, PIECE * PIECES_MAX);
	bench_check("context", pagoda_context_create(fd, b->space.vm, &b->context));
	bench_check("syncobj", pagoda_syncobj_create(fd, &b->syncobj));
	bench_check("create", pagoda_create(fd, PIECE, DRM_PAGODA_ALLOCATION_CONTIGUOUS,
					    PAGODA_IN_VRAM, &b->handle));
	bench_check("make resident", pagoda_make_resident_wait(fd, b->handle));
}

static void bind_close(const struct bind *b)
{
	pagoda_close(b->fd, b->handle);
	pagoda_context_destroy(b->fd, b->context);
	pagoda_vm_destroy(b->fd, b->space.vm);
	pagoda_syncobj_destroy(b->fd, b->syncobj);
}

static void bind_entries(const struct bind *b, const struct drm_pagoda_bind_entry *entries,
			 uint32_t count)
{
	bench_check("bind", pagoda_bind(b->fd, b->space.vm, entries, count, 0, 0));
}

static void unbind(const struct bind *b, uint64_t size)
{
	bench_check("unbind", pagoda_bind_range(b->fd, b->space.vm, DRM_PAGODA_BIND_UNMAP,
						b->address, size));
}

/* Returns the MAP of piece @n of the range at @b->address, in pieces of @size bytes each. */
static struct drm_pagoda_bind_entry bind_entry(const struct bind *b, uint32_t n, uint64_t size)
{
	return (struct drm_pagoda_bind_entry) {
		.type = DRM_PAGODA_BIND_MAP,
		.handle = b->handle,
		.address = b->address + n * size,
		.size = size,
		.offset = n * size % PIECE,
	};
}

/* Seconds that a bind of @size bytes and its unbind take: the mean of @pairs of them. */
static double time_pair(const struct bind *b, uint64_t size, uint32_t pairs)
{
	uint32_t count = size > PIECE ? size / PIECE : 1, n;
	struct drm_pagoda_bind_entry entries[PIECES_MAX];
	int64_t start;

	for (n = 0; n < count; n++)
		entries[n] = bind_entry(b, n, size / count);
	bind_wait(b);
	start = pagoda_now();
	for (n = 0; n < pairs; n++) {
		bind_entries(b, entries, count);
		unbind(b, size);
	}
	bind_wait(b);
	return bench_seconds(start) / pairs;
}

static void pairs(const struct bind *b)
{
	static const struct {
		const char *metric;
		uint64_t size;
		uint32_t pairs;
	} ranges[] = {
		{ "bind.pair.4KiB", PAGE, 200 },
		{ "bind.pair.64KiB", 64 * PAGODA_KIB, 200 },
		{ "bind.pair.2MiB", 2 * PAGODA_MIB, 200 },
		{ "bind.pair.1GiB", PIECE * PIECES_MAX, 10 },
	};
	double taken[ARRAY_SIZE(ranges)][BENCH_RUNS], rates[ARRAY_SIZE(ranges)];
	unsigned int i, run;

	fprintf(stderr, "bench: binds\n");
	for (run = 0; run < BENCH_RUNS; run++)
		for (i = 0; i < ARRAY_SIZE(ranges); i++)
			taken[i][run] = time_pair(b, ranges[i].size, ranges[i].pairs);
	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		rates[i] = 1 / bench_median(taken[i], BENCH_RUNS);
		bench_line(ranges[i].metric, rates[i], "pairs/s", rates[0]);
	}
}

/* Seconds that MANY binds of a page each take, with @each of them in a call. Then unbinds them. */
static double time_many(const struct bind *b, const struct drm_pagoda_bind_entry *entries,
			uint32_t each)
{
	int64_t start = pagoda_now();
	double taken;
	uint32_t n;

	for (n = 0; n < MANY; n += each)
		bind_entries(b, entries + n, each);
	bind_wait(b);
	taken = bench_seconds(start);
	unbind(b, MANY * PAGE);
	bind_wait(b);
	return taken;
}

static void many(const struct bind *b)
{
	struct drm_pagoda_bind_entry *entries = calloc(MANY, sizeof(*entries));
	double array[BENCH_RUNS], calls[BENCH_RUNS], one, all;
	uint32_t n;

	fprintf(stderr, "bench: %u binds\n", MANY);
	if (!entries)
		bench_die("entries", -ENOMEM);
	for (n = 0; n < MANY; n++)
		entries[n] = bind_entry(b, n, PAGE);
	for (n = 0; n < BENCH_RUNS; n++) {
		array[n] = time_many(b, entries, MANY);
		calls[n] = time_many(b, entries, 1);
	}
	one = bench_median(array, BENCH_RUNS);
	all = bench_median(calls, BENCH_RUNS);
	bench_line("bind.10000.one_array", MANY / one, "binds/s", MANY / all);
	bench_goal("bind.10000.one_array", all / one, MANY_GOAL);
	free(entries);
}

void bench_bind(int fd)
{
	struct bind b = { 0 };

	bind_open(&b, fd);
	pairs(&b);
	many(&b);
	bind_close(&b);
}
