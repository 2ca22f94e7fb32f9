/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code coverage of background work, for fuzzers: KCOV counts what a work item executes for the
 * process that caused the work.
 *
 * A fuzzer gives its process a handle (KCOV_REMOTE_ENABLE with a common handle). A client keeps the
 * handle of the task that opened the client's file; jobs and paging buffers have copies. A thread
 * of the kernel begins to collect coverage for such a handle before it works for the client, and
 * ends that before it works for another client:
 *
 *	queues of deferred work		jobs that are made after SUBMIT, queued VM_BIND arrays,
 *					requests of paging queues
 *	promotion			each allocation that may come back to VRAM
 *	closed handles and files	unmapping, and the end of VMs, when jobs have ended
 *	jobs of engines			handed over to the engine, ended; recovery of the engine,
 *					for the first job that isn't finished
 *	paging buffers			sent, executed by the CPU, ended; a buffer counts for the
 *					client whose transaction opened the buffer
 *
 * Not collected is what serves all clients at once: rebuilds, the flush of open paging buffers,
 * memory that TTM frees in its own work items, events.
 *
 * A thread collects for one handle at a time, and only threads of the kernel call begin and end:
 * both are in functions that nothing but a work queue, a scheduler or a kthread_worker calls.
 * Without CONFIG_KCOV a handle has no bytes, and begin and end are no code.
 */
#ifndef PAGODA_KCOV_H
#define PAGODA_KCOV_H

#include <linux/kcov.h>
#include <linux/sched/mm.h>

#ifdef CONFIG_KCOV
/* struct pagoda_kcov - @handle: common handle, whose type differs between kernels; 0 = none */
struct pagoda_kcov {
	typeof(kcov_common_handle()) handle;
};

/* Returns the common handle of the current task. Process context. */
static inline struct pagoda_kcov pagoda_kcov_current(void)
{
	return (struct pagoda_kcov) { .handle = kcov_common_handle() };
}

/*
 * Begins to collect coverage for the process that has @kcov, if any. May sleep. KCOV may allocate a
 * buffer; it doesn't reclaim memory for that, because callers may be in the dma_fence signalling
 * path.
 */
static inline void pagoda_kcov_begin(struct pagoda_kcov kcov)
{
	unsigned int flags = memalloc_noreclaim_save();

	kcov_remote_start_common(kcov.handle);
	memalloc_noreclaim_restore(flags);
}

/* Undoes pagoda_kcov_begin(): the process can read the coverage from now on. */
static inline void pagoda_kcov_end(void)
{
	kcov_remote_stop();
}
#else
struct pagoda_kcov {
};

static inline struct pagoda_kcov pagoda_kcov_current(void)
{
	return (struct pagoda_kcov) {};
}

static inline void pagoda_kcov_begin(struct pagoda_kcov kcov)
{
}

static inline void pagoda_kcov_end(void)
{
}
#endif

#endif
