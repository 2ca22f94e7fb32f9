/* SPDX-License-Identifier: GPL-2.0 */
/* Execution contexts: the struct, for submit/, recover/ and the KUnit suites. */
#ifndef PAGODA_VIDMM_SUBMIT_CONTEXT_H
#define PAGODA_VIDMM_SUBMIT_CONTEXT_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include "paging/paging.h"
#include "queue/exec.h"
#include "vidmm/fence/sync.h"
#include "vidmm/vm/vm.h"

struct pagoda_exec_context;
struct pagoda_vm;

/**
 * struct pagoda_context - An execution context
 * @kref: References of the client's handle and of submissions
 * @vm: VM, a reference
 * @save: Save area
 * @id: Number, never 0, never reused
 * @engine: Index of the execution engine
 * @exec: The context's part in queue/, with its jobs; NULL if the device has no engines
 * @lock: Held while a submission is accepted; protects @accepted and @dead
 * @accepted: Number of jobs accepted so far
 * @held: Number of submissions in @deferred that, when they were accepted, waited for a timeline
 *	point that didn't exist or a fence value that wasn't reached, or were behind such a
 *	submission
 * @dead: The context is being destroyed: no job is accepted any more
 * @deferred: Accepted submissions without a job yet: they wait for fences, points or fence values,
 *	for room, or for a place of the engine
 * @state_lock: Protects @report, and is held while @report and its flag in @state are set; taken in
 *	the dma_fence signalling path
 * @state: DRM_PAGODA_CONTEXT_* flags, which are never cleared
 * @report: Fault or hang that the context was banned for; all zeros if there was none
 */
struct pagoda_context {
	struct kref kref;
	struct pagoda_vm *vm;
	struct pagoda_save save;
	u64 id;
	u32 engine;
	struct pagoda_exec_context *exec;
	struct mutex lock;	/* protects accepted, dead */
	u64 accepted;
	atomic_t held;
	bool dead;
	struct pagoda_deferred deferred;
	spinlock_t state_lock;	/* protects report */
	atomic_t state;
	struct pagoda_exec_report report;
};

#endif
