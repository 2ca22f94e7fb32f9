/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the files in recover/ share: coredumps, steps of resets, names of reasons. */
#ifndef PAGODA_VIDMM_RECOVER_INTERNAL_H
#define PAGODA_VIDMM_RECOVER_INTERNAL_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "paging/paging.h"

struct pagoda_context;
struct pagoda_exec_report;
struct pagoda_vidmm;
struct pagoda_vm;
struct work_struct;

/* Values of &pagoda_coredump.state: which thread or work item owns the dump. */
enum pagoda_coredump_state {
	PAGODA_COREDUMP_IDLE,	/* no owner; the text is about the last failure */
	PAGODA_COREDUMP_BUSY,	/* owner is a thread that writes, prints or stops dumps */
	PAGODA_COREDUMP_TAKEN,	/* owner is the work item &pagoda_coredump.work */
};

/* Device coredump: text about a failure, handed to devcoredump when it is complete. */
struct pagoda_coredump {
	struct pagoda_vidmm *vidmm;
	atomic_t state;		/* enum pagoda_coredump_state: owner of @after, @text and @vm */
	wait_queue_head_t released;	/* woken when @state becomes IDLE */
	unsigned long after;		/* jiffies before which failures aren't written down */
	struct pagoda_paging_text text;
	struct pagoda_vm *vm;		/* VM whose map @work will add, a reference; or NULL */
	struct work_struct work;	/* completes @text and hands a copy to devcoredump */
};

/* reset.c: begin and end resets of the whole device; marks for paging that a reset aborted */
int pagoda_reset_device(struct pagoda_vidmm *vidmm, u32 reasons);
bool pagoda_reset_end(struct pagoda_vidmm *vidmm, u64 epoch, u32 lost, bool failed);
int pagoda_reset_wake(struct pagoda_vidmm *vidmm, int error);
u32 pagoda_reset_aborts(struct pagoda_vidmm *vidmm, bool to_blame);

/* coredump.c: make a coredump of a failed job or paging buffer, or of a reset */
void pagoda_coredump_job(struct pagoda_context *context, const struct pagoda_exec_report *report);
void pagoda_coredump_paging(struct pagoda_vidmm *vidmm, u64 seqno, u32 offset, int error);
void pagoda_coredump_reset(struct pagoda_vidmm *vidmm, const char *reason);

/* notes.c: names of the reasons of a reset */
/* Bytes of the buffer for the names that pagoda_reset_names() writes. */
#define PAGODA_RESET_NAMES	64

void pagoda_reset_names(u32 reasons, char *names);

#endif
