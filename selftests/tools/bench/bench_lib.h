/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the benchmark share: what they report to, and how times become figures. */
#ifndef PAGODA_BENCH_LIB_H
#define PAGODA_BENCH_LIB_H

#include <stdint.h>
#include <stdio.h>

#define BENCH_RUNS		9
#define BENCH_WAIT_LIMIT	(120 * PAGODA_SEC)

extern FILE *bench_out;

void bench_die(const char *what, int ret);
void bench_check(const char *what, int ret);

/* A figure and what was run beside it; @baseline 0: nothing was. */
void bench_line(const char *metric, double value, const char *unit, double baseline);
/* The verdict on a ratio: the goal is reached where this line's is 1 or more. */
void bench_goal(const char *metric, double ratio, double goal);

double bench_median(double *values, int count);
double bench_seconds(int64_t since);

/* An address space whose addresses are given once, from @next on. */
struct bench_space {
	uint64_t next;
	uint32_t vm;
};

void bench_space_open(int fd, struct bench_space *space);
/* Free addresses for @size bytes, where large pages could begin. */
uint64_t bench_space_place(struct bench_space *space, uint64_t size);

/*
 * What only the kernel can do beside it, it does when a file in debugfs is read: the file for what
 * @name stands for, or -1 if this kernel can't; how much it did, and in how many seconds. The
 * latter is one system call.
 */
int bench_beside_open(const char *name);
uint64_t bench_beside(int fd, double *taken);

/* bench_submit.c, bench_bind.c, bench_promote.c */
void bench_submit(int fd);
void bench_bind(int fd);
void bench_promote(void);

#endif
