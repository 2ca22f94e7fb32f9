/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Conversion to what packets contain: page lists to runs, and struct pagoda_side to struct
 * virtio_pagoda_location; with checks of page lists and sides, and costs of runs.
 */
#ifndef PAGODA_PAGING_RUNS_H
#define PAGODA_PAGING_RUNS_H

#include <linux/types.h>
#include "paging.h"

/**
 * struct pagoda_runs_packet - Size of a packet that has a head and the runs of a page list
 * @nr_pages: Pages that all runs of the packet have together
 * @nr_runs: Number of runs; 0 = the buffer has no room for a run
 * @length: Bytes of the packet including the head
 * @cpu_pages: Where the list's struct page array has the packet's first page, or NULL
 */
struct pagoda_runs_packet {
	u64 nr_pages;
	u32 nr_runs;
	u32 length;
	const void *cpu_pages;
};

int pagoda_adl_validate(const struct pagoda_adl *adl, u64 first, u64 nr_pages, u64 limit,
			const char **why);
u32 pagoda_run_length(const struct pagoda_adl *adl, u64 first, u64 nr_pages);
u64 pagoda_runs_count(const struct pagoda_adl *adl, u64 first, u64 nr_pages);
u32 pagoda_runs_write(const struct pagoda_adl *adl, u64 first, u64 nr_pages,
		      struct virtio_pagoda_run *runs, u32 max_runs, u64 *written);
const void *pagoda_adl_cpu_pages(const struct pagoda_adl *adl, u64 first);
u32 pagoda_runs_fit(const struct pagoda_paging_limits *limits, u32 bytes, u32 head);
struct pagoda_runs_packet pagoda_runs_put(const struct pagoda_paging_limits *limits,
					  const struct pagoda_paging_buffer *buf,
					  const struct pagoda_adl *adl, u64 first, u64 nr_pages,
					  u32 head);
struct pagoda_paging_cost pagoda_runs_cost(const struct pagoda_paging_limits *limits,
					   u32 buffer_size, u32 head, u64 src_runs, u64 dst_runs);

/*
 * side.c: for an operation's source or destination: check, struct virtio_pagoda_location of a
 * packet, struct pages for the CPU executor
 */
int pagoda_side_validate(const struct pagoda_paging_limits *limits,
			 const struct pagoda_side *side, u64 offset, u64 first, u64 size,
			 const char **why);
struct virtio_pagoda_location pagoda_location_make(const struct pagoda_side *side, u64 offset,
						   u32 nr_runs);
const void *pagoda_side_cpu_pages(const struct pagoda_side *side, u64 first);

#endif
