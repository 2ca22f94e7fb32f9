/* SPDX-License-Identifier: GPL-2.0 */
/* Jobs of commands: what the maker and the machine both know. */
#ifndef PAGODA_FUZZ_JOB_H
#define PAGODA_FUZZ_JOB_H

#include "fuzz.h"

/* An address space of two parts: pages of 4 KiB, then of 64 KiB. */
#define JOB_PAGES	512		/* of 4 KiB, of which these are something: */
#define JOB_VRAM	0		/* 12 pages of VRAM, scattered */
#define JOB_SYSTEM	12		/* 20 pages of system memory, scattered */
#define JOB_APERTURE	32		/* 8 pages of the aperture */
#define JOB_ZERO	40		/* 8 pages of zeros */
#define JOB_ODD		48		/* read-only, no-execute, nothing, in turn: 6 pages */
#define JOB_CODE	64		/* 2 pages of VRAM that the input is in */
#define JOB_64K		JOB_PAGES	/* a page of 64 KiB of VRAM, and zeros */
#define JOB_ALL		(2 * JOB_PAGES)
#define JOB_LIMIT	32		/* commands executed at most */

/* job.c */
void fuzz_job_execute(const u8 *data, u32 size, const struct fuzz_head *head);

/* job_make.c */
u32 fuzz_job_mutate(u8 *data, u32 size, u32 room);

#endif
