/* SPDX-License-Identifier: GPL-2.0 */
/* Jobs: the addresses that job_make.c has commands use, and what job.c maps at the addresses. */
#ifndef PAGODA_FUZZ_JOB_H
#define PAGODA_FUZZ_JOB_H

#include "fuzz.h"

/*
 * Numbers of pages of addresses, 4 KiB each. The first JOB_PAGES have a table of 4 KiB pages, the
 * next JOB_PAGES a table of 64 KiB pages. Pages that aren't named here aren't mapped.
 */
#define JOB_PAGES	512
#define JOB_VRAM	0		/* 12 pages of VRAM, scattered */
#define JOB_SYSTEM	12		/* 20 pages of system memory, scattered */
#define JOB_APERTURE	32		/* 8 pages of the aperture */
#define JOB_ZERO	40		/* 8 pages of zeros */
#define JOB_ODD		48		/* 6 pages: read-only, no-execute, not mapped, and again */
#define JOB_CODE	64		/* 2 pages of VRAM that have the input's commands */
#define JOB_64K		JOB_PAGES	/* 64 KiB of VRAM, then of zeros; not with FUZZ_NO_64K */
#define JOB_ALL		(2 * JOB_PAGES)
#define JOB_LIMIT	32		/* most commands of a job that are executed */

/* job.c: the machine and its comparison with the model */
void fuzz_job_execute(const u8 *data, u32 size, const struct fuzz_head *head);

/* job_make.c: commands at random */
u32 fuzz_job_mutate(u8 *data, u32 size, u32 room);

#endif
