/* SPDX-License-Identifier: GPL-2.0 */
/* Execution contexts: the struct that submission, paging and reports of failures share. */
#ifndef PAGODA_VIDMM_CONTEXT_H
#define PAGODA_VIDMM_CONTEXT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include "core/core.h"
#include "queue/exec.h"
#include "vidmm/fence/sync.h"
#include "vidmm/vm/vm.h"

/**
 * struct pagoda_context - An execution context
 * @kref: References of the client's handle and of submissions
 * @vm: VM, a reference
 * @entry: In &pagoda_vm.contexts
 * @save: Save area. pagoda_vm_may_evict() keeps it in place while a job of the context is in flight
 * @root: Root that the save area names; protected by the VM's reservation
 * @id: Number, never 0, never reused
 * @engine: Execution engine
 * @exec: Jobs of the context; NULL if the device executes none
 * @lock: Held during a submission; protects @accepted and @dead
 * @accepted: Number of jobs accepted so far
 * @dead: The context was destroyed: no job is accepted any more
 * @deferred: Submissions that wait for fences or values that don't exist yet
 * @state_lock: Protects @state and @report; taken in the dma_fence signalling path
 * @state: DRM_PAGODA_CONTEXT_* flags
 * @report: Fault or hang that the context was banned for
 */
struct pagoda_context {
	struct kref kref;
	struct pagoda_vm *vm;
	struct list_head entry;
	struct pagoda_bo *save;
	struct pagoda_root root;
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
