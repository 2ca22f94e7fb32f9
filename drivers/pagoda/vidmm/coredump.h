/* SPDX-License-Identifier: GPL-2.0 */
/* The last failure of the device, for devcoredump and debugfs; see coredump.c. */
#ifndef PAGODA_VIDMM_COREDUMP_H
#define PAGODA_VIDMM_COREDUMP_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <pagoda/paging.h>

struct pagoda_context;
struct pagoda_exec_report;
struct pagoda_vidmm;
struct pagoda_vm;

/**
 * enum pagoda_coredump_state - Whose a coredump is
 * @PAGODA_COREDUMP_IDLE: nobody's; its text is that of the last failure
 * @PAGODA_COREDUMP_BUSY: somebody's who writes or reads it
 * @PAGODA_COREDUMP_TAKEN: the work item's, which completes and offers it
 */
enum pagoda_coredump_state {
	PAGODA_COREDUMP_IDLE,
	PAGODA_COREDUMP_BUSY,
	PAGODA_COREDUMP_TAKEN,
};

/**
 * struct pagoda_coredump - The last failure, as text
 * @state: enum pagoda_coredump_state: everything below is whose it says
 * @released: Woken when @state is %PAGODA_COREDUMP_IDLE again
 * @after: Failures before this time (jiffies) aren't written down
 * @text: What there was to say
 * @vm: VM whose map is still to be written, a reference, or NULL
 * @work: Completes the text and offers it
 */
struct pagoda_coredump {
	atomic_t state;
	wait_queue_head_t released;
	unsigned long after;
	struct pagoda_paging_text text;
	struct pagoda_vm *vm;
	struct work_struct work;
};

int pagoda_coredump_init(struct pagoda_coredump *dump);
void pagoda_coredump_stop(struct pagoda_coredump *dump);
void pagoda_coredump_fini(struct pagoda_coredump *dump);
void pagoda_coredump_job(struct pagoda_context *context, const struct pagoda_exec_report *report);
void pagoda_coredump_paging(struct pagoda_vidmm *vidmm, u64 seqno, u32 offset, int error);
void pagoda_coredump_reset(struct pagoda_vidmm *vidmm, const char *reason);

#endif
