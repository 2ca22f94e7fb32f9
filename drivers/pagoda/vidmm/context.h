/* SPDX-License-Identifier: GPL-2.0 */
/* What the files about execution contexts share. */
#ifndef PAGODA_VIDMM_CONTEXT_H
#define PAGODA_VIDMM_CONTEXT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <pagoda/exec.h>
#include <pagoda/sync.h>
#include <pagoda/vm.h>
#include "vidmm.h"

/**
 * struct pagoda_context - An execution context
 * @kref: The client's, and who submits
 * @vm: Where it runs; a reference
 * @entry: In the VM's list
 * @save: Its save area. It stays where it is while a job of the context is under way:
 *	that is what pagoda_vm_may_evict() is for
 * @id: Number, never 0, never reused
 * @engine: Execution engine
 * @exec: Its jobs; NULL if the device executes none
 * @lock: One submission at a time; protects @accepted and @dead
 * @accepted: Jobs accepted so far
 * @dead: Destroyed: nothing is accepted any more
 * @deferred: Submissions that wait for what isn't there
 * @state_lock: Protects @state and @report; taken on the way to signalling a fence
 * @state: DRM_PAGODA_CONTEXT_ flags
 * @report: The fault or hang it was banned for
 */
struct pagoda_context {
	struct kref kref;
	struct pagoda_vm *vm;
	struct list_head entry;
	struct pagoda_bo *save;
	u64 id;
	u32 engine;
	struct pagoda_exec_context *exec;
	struct mutex lock;	/* accepted, dead */
	u64 accepted;
	bool dead;
	struct pagoda_deferred deferred;
	spinlock_t state_lock;	/* state, report */
	u32 state;
	struct pagoda_exec_report report;
};

int pagoda_context_validate(struct pagoda_context *context);
u64 pagoda_context_queued(struct pagoda_context *context);
void pagoda_context_give_up(struct pagoda_context *context);

extern const struct pagoda_exec_ops pagoda_context_exec_ops;
extern const struct pagoda_deferred_ops pagoda_submit_deferred_ops;

#endif
