/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by bench and crowd: lines of the report, medians, addresses of a VM, and work in the
 * kernel that results are compared with.
 */
#ifndef PAGODA_BENCH_LIB_H
#define PAGODA_BENCH_LIB_H

#include <stdint.h>
#include <stdio.h>

#define BENCH_RUNS		9
#define BENCH_WAIT_LIMIT	(120 * PAGODA_SEC)

extern FILE *bench_out;

void bench_die(const char *what, int ret);
void bench_check(const char *what, int ret);

/*
 * Writes a line to bench_out: @value, and if @baseline is more than 0 also @baseline and
 * @value / @baseline.
 */
void bench_line(const char *metric, double value, const char *unit, double baseline);
/*
 * Writes a line "goal.@metric" to bench_out: @ratio and @goal, in thousandths, and @ratio / @goal,
 * which is 1 or more if the goal is reached.
 */
void bench_goal(const char *metric, double ratio, double goal);

double bench_median(double *values, int count);
double bench_seconds(int64_t since);

/* A VM; bench_space_place() gives each of its addresses only once, in order, from @next on. */
struct bench_space {
	uint64_t next;
	uint32_t vm;
};

void bench_space_open(int fd, struct bench_space *space);
/*
 * Returns where @size bytes of addresses begin that weren't given before: a multiple of 2 MiB, at
 * which a large page can begin.
 */
uint64_t bench_space_place(struct bench_space *space, uint64_t size);

/*
 * Work in the kernel that results are compared with. bench_beside_open() opens the debugfs file
 * pagoda_bench_@name, or returns -1 if this kernel has none. bench_beside() reads the file in one
 * system call, during which the kernel does and times the work: returns the amount of work, whose
 * unit depends on the file, and sets *@taken to the seconds that the kernel measured.
 */
int bench_beside_open(const char *name);
uint64_t bench_beside(int fd, double *taken);

/* Measure jobs, changes of page tables, and promotion, each in the file of its name. */
void bench_submit(int fd);
void bench_bind(int fd);
void bench_promote(void);

#endif
