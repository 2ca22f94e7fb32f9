// SPDX-License-Identifier: GPL-2.0
/* What the parts of the benchmark share: results, times, addresses; see the header. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/pagoda_lib.h"
#include "bench_lib.h"

#define LARGE_PAGE	(2 * PAGODA_MIB)

FILE *bench_out;

void bench_die(const char *what, int ret)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(-ret));
	exit(1);
}

void bench_check(const char *what, int ret)
{
	if (ret < 0)
		bench_die(what, ret);
}

void bench_line(const char *metric, double value, const char *unit, double baseline)
{
	fprintf(bench_out, "%s\t%.6g\t%s\t", metric, value, unit);
	if (baseline > 0)
		fprintf(bench_out, "%.6g\t%.3f\n", baseline, value / baseline);
	else
		fprintf(bench_out, "-\t-\n");
	fflush(bench_out);
}

void bench_goal(const char *metric, double ratio, double goal)
{
	char name[96];

	snprintf(name, sizeof(name), "goal.%s", metric);
	bench_line(name, ratio * 1000, "thousandths", goal * 1000);
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

double bench_median(double *values, int count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

double bench_seconds(int64_t since)
{
	return (pagoda_now() - since) / 1e9;
}

void bench_space_open(int fd, struct bench_space *space)
{
	struct drm_pagoda_vm_create args = { 0 };

	bench_check("VM", pagoda_vm_create(fd, &args));
	space->vm = args.vm;
	space->next = args.start;
}

uint64_t bench_space_place(struct bench_space *space, uint64_t size)
{
	uint64_t address = (space->next + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;

	space->next = address + size;
	return address;
}

int bench_beside_open(const char *name)
{
	char path[96];
	glob_t files;
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/*/pagoda_bench_%s", name);
	if (glob(path, 0, NULL, &files))
		return -1;
	fd = open(files.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		bench_die(files.gl_pathv[0], -errno);
	globfree(&files);
	return fd;
}

uint64_t bench_beside(int fd, double *taken)
{
	unsigned long long amount = 0, ns = 0;
	char text[64] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) < 0)
		bench_die("beside the kernel", -errno);
	if (sscanf(text, "%llu %llu", &amount, &ns) != 2)
		bench_die("beside the kernel", -EIO);
	*taken = ns / 1e9;
	return amount;
}
