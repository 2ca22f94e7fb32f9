// SPDX-License-Identifier: GPL-2.0
/*
 * bench: what paging, page tables, jobs and promotion cost, seen from user space. Most results are
 * medians of several runs. A baseline is measured in turns with the runs that are compared with the
 * baseline, or right before or after these runs. list_of_1000() and pressure() run once.
 *
 * What only the kernel can measure (a paging operation alone, builders, TTM's own copy) is in a
 * debugfs file if the driver was built with CONFIG_DRM_PAGODA_BENCH; bench prints that file, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/pagoda_lib.h"
#include "bench_lib.h"

#define RUNS		BENCH_RUNS
#define WAIT_LIMIT	BENCH_WAIT_LIMIT
#define PAGE		4096ull

static int fd;
static uint32_t syncobj;
static uint64_t point;
static struct drm_pagoda_segment_info vram;

static void stats(struct drm_pagoda_stats *s)
{
	bench_check("statistics", pagoda_stats(fd, s));
}

/* --- to VRAM and back ------------------------------------------------------------------------ */

/*
 * Seconds that MAKE_RESIDENT of @count allocations takes, up to the end of the copies. Paging is in
 * order, so waiting for the last allocation is enough. time_in() waits for no point of a syncobj:
 * in a kernel that can't interrupt itself (UML) a point only signals with the next tick.
 */
static double time_in(const uint32_t *handles, uint32_t count)
{
	int64_t start = pagoda_now();

	bench_check("make resident", pagoda_make_resident(fd, handles, count, 0, 0, NULL));
	bench_check("wait", pagoda_wait(fd, handles[count - 1], WAIT_LIMIT));
	return bench_seconds(start);
}

/* Seconds that EVICT of @count allocations takes, up to the end of the copies. */
static double time_out(const uint32_t *handles, uint32_t count)
{
	int64_t start = pagoda_now();

	bench_check("evict", pagoda_evict(fd, handles, count, 0, 0));
	bench_check("wait", pagoda_wait(fd, handles[count - 1], WAIT_LIMIT));
	return bench_seconds(start);
}

static uint32_t create_written(uint64_t size, uint32_t flags)
{
	uint32_t handle;
	void *map;

	bench_check("create", pagoda_create(fd, size, flags | DRM_PAGODA_ALLOCATION_CPU_VISIBLE |
					    DRM_PAGODA_ALLOCATION_CACHED, PAGODA_IN_VRAM,
					    &handle));
	map = pagoda_map(fd, handle, size);
	if (!map)
		bench_die("mmap", -errno);
	pagoda_fill(map, pagoda_key(1, handle, 0), 0, size);
	munmap(map, size);
	return handle;
}

/* --- baselines: copies by the CPU ----------------------------------------------------------- */

static uint8_t *source, *target;

static uint8_t *pages(uint64_t size)
{
	uint8_t *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		bench_die("memory for the baseline", -errno);
	return p;
}

/* Copies word by word, as a kernel does on a CPU without fast strings. */
__attribute__((optimize("no-tree-vectorize", "no-tree-loop-distribute-patterns")))
static void copy_words(void *to, const void *from, size_t size)
{
	const uint64_t *in = from;
	uint64_t *out_words = to;
	size_t n;

	for (n = 0; n < size / 8; n += 4) {
		uint64_t a = in[n], b = in[n + 1], c = in[n + 2], d = in[n + 3];

		out_words[n] = a;
		out_words[n + 1] = b;
		out_words[n + 2] = c;
		out_words[n + 3] = d;
	}
	__asm__ volatile("" : : "r"(to) : "memory");
}

static void copy_library(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	/* Keeps the compiler from dropping the copy as unused. */
	__asm__ volatile("" : : "r"(to) : "memory");
}

static void (*copy)(void *to, const void *from, size_t size);

/* Chooses copy_words() or copy_library() for the baseline: the faster one on this machine. */
static void copy_choose(uint64_t size)
{
	double library[RUNS], words[RUNS];
	int64_t start;
	int n;

	for (n = 0; n < RUNS; n++) {
		start = pagoda_now();
		copy_library(target, source, size);
		library[n] = bench_seconds(start);
		start = pagoda_now();
		copy_words(target, source, size);
		words[n] = bench_seconds(start);
	}
	copy = bench_median(words, RUNS) < bench_median(library, RUNS) ? copy_words : copy_library;
	fprintf(stderr, "bench: the baseline copies with %s\n",
		copy == copy_words ? "words" : "memcpy");
}

/*
 * Seconds that a copy into fresh pages takes, with the pages' allocation: the baseline of an
 * eviction, which copies content to system memory.
 */
static double time_pages_and_copy(uint64_t size)
{
	int64_t start = pagoda_now();
	uint8_t *fresh = pages(size);
	double taken;

	copy(fresh, source, size);
	taken = bench_seconds(start);
	munmap(fresh, size);
	return taken;
}

static double time_copy(uint64_t size)
{
	int64_t start = pagoda_now();

	copy(target, source, size);
	return bench_seconds(start);
}

/* --- bandwidth ------------------------------------------------------------------------------ */

struct direction {
	double taken[RUNS];
	double baseline[RUNS];
	struct drm_pagoda_stats cost;
};

static void stats_add(struct drm_pagoda_stats *sum, const struct drm_pagoda_stats *from)
{
	struct drm_pagoda_stats now;

	stats(&now);
	sum->commands += now.commands - from->commands;
	sum->buffer_bytes += now.buffer_bytes - from->buffer_bytes;
	sum->doorbells += now.doorbells - from->doorbells;
	sum->cpu_waits += now.cpu_waits - from->cpu_waits;
	sum->evictions += now.evictions - from->evictions;
}

static void report_direction(const char *way, const char *shape, uint64_t size, struct direction *d)
{
	double mib = (double)size / PAGODA_MIB, total = mib * RUNS;
	char name[96];

	snprintf(name, sizeof(name), "ioctl.%s.%s.%lluKiB", way, shape,
		 (unsigned long long)(size / 1024));
	bench_line(name, mib / bench_median(d->taken, RUNS), "MiB/s",
		   mib / bench_median(d->baseline, RUNS));
	snprintf(name, sizeof(name), "cost.%s.%s.%lluKiB.buffer_bytes_per_MiB", way, shape,
		 (unsigned long long)(size / 1024));
	bench_line(name, d->cost.buffer_bytes / total, "B", 0);
	snprintf(name, sizeof(name), "cost.%s.%s.%lluKiB.commands_per_MiB", way, shape,
		 (unsigned long long)(size / 1024));
	bench_line(name, d->cost.commands / total, "commands", 0);
	snprintf(name, sizeof(name), "cost.%s.%s.%lluKiB.doorbells_per_MiB", way, shape,
		 (unsigned long long)(size / 1024));
	bench_line(name, d->cost.doorbells / total, "doorbells", 0);
}

static void bandwidth(const char *shape, uint64_t size, uint32_t flags)
{
	struct direction in = { 0 }, gone = { 0 };
	uint32_t handle = create_written(size, flags);
	struct drm_pagoda_allocation_info info;
	struct drm_pagoda_stats from;
	int n;

	fprintf(stderr, "bench: %s, %llu KiB\n", shape, (unsigned long long)(size / 1024));
	time_in(&handle, 1);
	bench_check("info", pagoda_info(fd, handle, &info));
	if (!flags && info.num_ranges < size / PAGE / 2)
		fprintf(stderr, "bench: note: only %u ranges\n", info.num_ranges);
	time_out(&handle, 1);
	for (n = 0; n < RUNS; n++) {
		in.baseline[n] = time_copy(size);
		stats(&from);
		in.taken[n] = time_in(&handle, 1);
		stats_add(&in.cost, &from);
		gone.baseline[n] = time_pages_and_copy(size);
		stats(&from);
		gone.taken[n] = time_out(&handle, 1);
		stats_add(&gone.cost, &from);
	}
	report_direction("in", shape, size, &in);
	report_direction("out", shape, size, &gone);
	pagoda_close(fd, handle);
}

/* --- VRAM in which no two free pages are neighbours ----------------------------------------- */

static uint32_t *small_handles, *filler_handles;
static uint32_t small_count, filler_count;

static void make_resident_many(const uint32_t *handles, uint32_t count)
{
	uint32_t n, some;

	for (n = 0; n < count; n += some) {
		some = count - n < 8192 ? count - n : 8192;
		time_in(handles + n, some);
	}
}

/* Fills VRAM but for less than 1 MiB and @holes bytes: every other page of a part of VRAM. */
static void scatter(uint64_t holes)
{
	uint64_t small = 2 * holes, rest = vram.size - small;
	uint32_t n;

	fprintf(stderr, "bench: scattering free VRAM\n");
	small_count = small / PAGE;
	small_handles = calloc(small_count, sizeof(*small_handles));
	filler_handles = calloc(rest / PAGODA_MIB + 1, sizeof(*filler_handles));
	for (; rest >= PAGODA_MIB; rest -= PAGODA_MIB)
		bench_check("create", pagoda_create(fd, PAGODA_MIB, 0, PAGODA_IN_VRAM,
						    &filler_handles[filler_count++]));
	make_resident_many(filler_handles, filler_count);
	for (n = 0; n < small_count; n++)
		bench_check("create", pagoda_create(fd, PAGE, 0, PAGODA_IN_VRAM,
						    &small_handles[n]));
	make_resident_many(small_handles, small_count);
	for (n = 0; n < small_count; n += 2) {
		pagoda_close(fd, small_handles[n]);
		small_handles[n] = 0;
	}
}

static void gather(void)
{
	uint32_t n;

	for (n = 0; n < small_count; n++)
		if (small_handles[n])
			pagoda_close(fd, small_handles[n]);
	for (n = 0; n < filler_count; n++)
		pagoda_close(fd, filler_handles[n]);
	free(small_handles);
	free(filler_handles);
}

/* --- latency, lists, waits ------------------------------------------------------------------ */

/*
 * Time to evict an allocation of a page and make it resident again. The baseline is a MAKE_RESIDENT
 * of a new page, which isn't copied but filled with zeros.
 */
static void latency(void)
{
	double taken[101], trip[101];
	uint32_t handle = create_written(PAGE, 0), fresh;
	int n;

	fprintf(stderr, "bench: latency of 4 KiB\n");
	time_in(&handle, 1);
	for (n = 0; n < 101; n++) {
		taken[n] = time_out(&handle, 1) + time_in(&handle, 1);
		bench_check("create", pagoda_create(fd, PAGE, 0, PAGODA_IN_VRAM, &fresh));
		trip[n] = time_in(&fresh, 1);
		pagoda_close(fd, fresh);
	}
	bench_line("ioctl.evict_restore.4KiB", bench_median(taken, 101) * 1e6, "us",
		   bench_median(trip, 101) * 1e6);
	pagoda_close(fd, handle);
}

/* Makes 1,000 allocations resident by a call for each, then by one call for all. */
static void list_of_1000(void)
{
	struct drm_pagoda_stats start, end;
	uint32_t handles[1000], n;
	double one, many;
	int64_t from;

	fprintf(stderr, "bench: 1000 allocations in one call\n");
	for (n = 0; n < 1000; n++)
		handles[n] = create_written(64 * PAGODA_KIB, 0);
	from = pagoda_now();
	stats(&start);
	for (n = 0; n < 1000; n++)
		time_in(&handles[n], 1);
	stats(&end);
	many = end.doorbells - start.doorbells;
	bench_line("list.1000x64KiB.one_by_one", 62.5 / bench_seconds(from), "MiB/s", 0);
	time_out(handles, 1000);
	from = pagoda_now();
	stats(&start);
	time_in(handles, 1000);
	stats(&end);
	one = end.doorbells - start.doorbells;
	bench_line("list.1000x64KiB.one_call", 62.5 / bench_seconds(from), "MiB/s", 0);
	bench_line("list.1000x64KiB.doorbells", one, "doorbells", many);
	bench_line("list.1000x64KiB.submissions", end.submissions - start.submissions,
		   "submissions", 1000);
	for (n = 0; n < 1000; n++)
		pagoda_close(fd, handles[n]);
}

/*
 * Bandwidth under pressure: makes allocations that together have twice VRAM's size resident, eight
 * in a call and all three times, and waits only for the last call's point.
 */
static void pressure(void)
{
	uint64_t size = vram.size / 64, moved, evictions;
	struct drm_pagoda_stats start, end;
	uint32_t handles[128], n, round;
	double copies[RUNS];
	int64_t from;

	fprintf(stderr, "bench: over-commitment\n");
	for (n = 0; n < 128; n++)
		handles[n] = create_written(size, 0);
	make_resident_many(handles, 32);
	stats(&start);
	from = pagoda_now();
	for (round = 0; round < 3; round++)
		for (n = 0; n < 128; n += 8)
			bench_check("make resident",
				    pagoda_make_resident(fd, handles + n, 8, syncobj, ++point,
							 NULL));
	bench_check("wait", pagoda_syncobj_wait(fd, syncobj, point, WAIT_LIMIT));
	moved = pagoda_now() - from;
	stats(&end);
	for (n = 0; n < RUNS; n++)
		copies[n] = time_copy(16 * PAGODA_MIB);
	bench_line("pressure.2x_vram",
		   (end.paged_in - start.paged_in + end.paged_out - start.paged_out) /
		   (double)PAGODA_MIB / (moved / 1e9), "MiB/s", 16 / bench_median(copies, RUNS));
	evictions = end.evictions - start.evictions;
	bench_line("pressure.evictions", evictions, "evictions", 0);
	bench_line("pressure.cpu_waits_per_eviction",
		   evictions ? (double)(end.cpu_waits - start.cpu_waits) / evictions : 0, "waits",
		   0);
	for (n = 0; n < 128; n++)
		pagoda_close(fd, handles[n]);
}

/* --- what the kernel measured ---------------------------------------------------------------- */

static void kernel_lines(void)
{
	char text[512];
	glob_t files;
	size_t n;

	if (glob("/sys/kernel/debug/dri/*/pagoda_bench", 0, NULL, &files))
		return;
	/* debugfs shows the files of a device in two folders: one is enough. */
	for (n = 0; n < files.gl_pathc && n < 1; n++) {
		FILE *file = fopen(files.gl_pathv[n], "r");

		fprintf(stderr, "bench: %s\n", files.gl_pathv[n]);
		while (file && fgets(text, sizeof(text), file))
			fputs(text, bench_out);
		if (file)
			fclose(file);
	}
	globfree(&files);
}

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "out", required_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	bench_out = stdout;
	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (c != 'o') {
			fprintf(stderr, "usage: bench [--out FILE]\n");
			exit(2);
		}
		bench_out = fopen(optarg, "w");
		if (!bench_out)
			bench_die(optarg, -errno);
	}
}

int main(int argc, char **argv)
{
	static const uint64_t sizes[] = { 64 * PAGODA_KIB, 2 * PAGODA_MIB, 64 * PAGODA_MIB };
	uint64_t largest = 64 * PAGODA_MIB;
	unsigned int n;

	parse_options(argc, argv);
	fd = pagoda_open();
	bench_check("no pagoda device", fd);
	bench_check("segment", pagoda_segment(fd, DRM_PAGODA_SEGMENT_VRAM, &vram));
	bench_check("syncobj", pagoda_syncobj_create(fd, &syncobj));
	if (vram.size < 3 * largest)
		bench_die("VRAM must have 192 MiB or more", -ENOSPC);
	source = pages(largest);
	target = pages(largest);
	pagoda_fill(source, 1, 0, largest);
	pagoda_fill(target, 2, 0, largest);
	copy_choose(2 * PAGODA_MIB);

	fprintf(bench_out, "metric\tvalue\tunit\tbaseline\tratio\n");
	for (n = 0; n < 3; n++)
		bandwidth("contiguous", sizes[n], DRM_PAGODA_ALLOCATION_CONTIGUOUS);
	latency();
	list_of_1000();
	pressure();
	scatter(largest + PAGODA_MIB);
	for (n = 0; n < 3; n++)
		bandwidth("scattered", sizes[n], 0);
	gather();
	bench_bind(fd);
	bench_submit(fd);
	bench_promote();
	kernel_lines();
	if (fclose(bench_out))
		bench_die("writing", -errno);
	return 0;
}
