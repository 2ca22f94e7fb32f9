/* SPDX-License-Identifier: GPL-2.0 */
/* Page lists become runs. */
#ifndef PAGODA_PAGING_RUNS_H
#define PAGODA_PAGING_RUNS_H

#include <linux/types.h>
#include <pagoda/paging.h>

int pagoda_adl_validate(const struct pagoda_adl *adl, u64 first, u64 nr_pages,
			const char **why);
u32 pagoda_run_length(const struct pagoda_adl *adl, u64 first, u64 nr_pages);
u64 pagoda_runs_count(const struct pagoda_adl *adl, u64 first, u64 nr_pages);
u32 pagoda_runs_write(const struct pagoda_adl *adl, u64 first, u64 nr_pages,
		      struct virtio_pagoda_run *runs, u32 max_runs, u64 *written);
const void *pagoda_adl_cpu_pages(const struct pagoda_adl *adl, u64 first);
u32 pagoda_runs_fit(const struct pagoda_paging_limits *limits, u32 bytes, u32 head);
struct pagoda_paging_cost pagoda_runs_cost(const struct pagoda_paging_limits *limits,
					   u32 buffer_size, u32 head, u64 src_runs, u64 dst_runs);

#endif
