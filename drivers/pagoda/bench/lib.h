/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of bench/ share: reports, allocations and page lists, paging operations and
 * transactions; and the functions that measure, by file.
 */
#ifndef PAGODA_BENCH_LIB_H
#define PAGODA_BENCH_LIB_H

#include "core/core.h"
#include "paging/paging.h"

#define BENCH_RUNS	9

struct seq_file;
struct pagoda_device;
struct pagoda_client;
struct pagoda_stream_txn;

/* Where results are printed, and the device that is measured. */
struct bench {
	struct seq_file *m;
	struct pagoda_device *pagoda;
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
};

/*
 * System pages, allocated 2^@order contiguous pages at a time. @dma and @adl list the pages in the
 * order of @pages, or scattered (bench_scatter()).
 */
struct bench_pages {
	u32 nr_pages;
	u32 order;
	struct page **pages;
	dma_addr_t *dma;
	struct pagoda_adl adl;
};

/*
 * A transfer of @size bytes from VRAM to pages (@out) or back. With SWIZZLE or UNSWIZZLE in @flags
 * VRAM is a tiled surface of @size bytes and geometry @layout; else @layout is zero.
 */
struct bench_transfer {
	const struct bench_pages *pages;
	u64 address;
	u64 size;
	u32 flags;
	bool out;
	struct pagoda_layout layout;
};

/* Emits operations into @txn; @arg is that of pagoda_bench_run(). Returns 0 or an error. */
typedef int bench_emit(struct pagoda_stream_txn *txn, void *arg);

/*
 * lib.c: reports, allocations and their moves, page lists, paging operations and transactions.
 * @ours and @theirs: nanoseconds of BENCH_RUNS runs each, of the driver and of what the driver is
 * compared with; the functions sort both arrays. A ratio is in thousandths.
 */
void pagoda_bench_sort(u64 *values, u32 count);
u64 pagoda_bench_median(u64 *values);
u64 pagoda_bench_rate(struct bench *b, const char *metric, const char *unit, u64 amount,
		      u64 *ours, u64 *theirs);
u64 pagoda_bench_bandwidth(struct bench *b, const char *metric, u64 size, u64 *ours,
			   u64 *theirs);
void pagoda_bench_goal(struct bench *b, const char *metric, u64 ratio, u64 goal);
void pagoda_bench_value(struct bench *b, const char *metric, u64 value, const char *unit);
int pagoda_bench_pages_alloc(struct bench_pages *p, u32 nr_pages, bool scattered);
void pagoda_bench_pages_free(struct bench_pages *p);
struct pagoda_bo *pagoda_bench_bo(struct bench *b, u64 size, u32 flags);
int pagoda_bench_move(struct pagoda_bo *bo, u32 mem_type);
int pagoda_bench_start_move(struct pagoda_bo *bo, u32 mem_type);
int pagoda_bench_wait(struct pagoda_bo *bo);
void pagoda_bench_close(struct pagoda_bo *bo);
u64 pagoda_bench_address(const struct pagoda_bo *bo);
struct pagoda_paging_op pagoda_bench_op(const struct bench_pages *p, u64 address, u64 done,
					u64 size, bool out);
struct pagoda_paging_op pagoda_bench_flush_op(const struct bench_pages *p);
int pagoda_bench_run(struct bench *b, const struct pagoda_paging_cost *cost, bench_emit *emit,
		     void *arg, u64 *ns);
int pagoda_bench_transfer(struct bench *b, struct bench_transfer *transfer, u64 *ns);

/* virtual.c and tables.c: benchmarks of virtual addresses, tiled surfaces and page tables */
int pagoda_bench_virtual(struct bench *b);
int pagoda_bench_tiled(struct bench *b);
int pagoda_bench_tables(struct bench *b);

/*
 * beside.c: times kernel work that user-space jobs are compared with. pagoda_bench_report(), in
 * lib.c, prints an amount of work and the nanoseconds, for beside.c and crowd.c
 */
void pagoda_bench_report(struct bench *b, u64 amount, u64 ns);
int pagoda_bench_trip(struct bench *b);
int pagoda_bench_copy(struct bench *b);

/* crowd.c: times locks, walks and choices of victims, for the benchmark of long residency lists */
int pagoda_bench_lock(struct bench *b);
int pagoda_bench_walk(struct bench *b);
int pagoda_bench_pick(struct bench *b);

#endif
