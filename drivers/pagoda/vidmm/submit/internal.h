/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that only the files of submit/ share: of closing.c, context.c and submit.c. */
#ifndef PAGODA_VIDMM_SUBMIT_INTERNAL_H
#define PAGODA_VIDMM_SUBMIT_INTERNAL_H

#include <linux/types.h>
#include "vidmm/fence/sync.h"

struct pagoda_bo;
struct pagoda_client;
struct pagoda_context;
struct pagoda_submit;
struct pagoda_vm;

/* closing.c: jobs that keep allocations whose handle is closed; closed handles */
int pagoda_closing_hold_up(struct pagoda_submit *submit);
void pagoda_closing_let_go(struct pagoda_submit *submit);
void pagoda_closing_handle(struct pagoda_client *client, struct pagoda_bo *bo);
u64 pagoda_closing_next(struct pagoda_client *client);
void pagoda_closing_undo(struct pagoda_client *client, struct pagoda_bo *bo);

/* context.c: creates a context; counts a context's unfinished jobs */
struct pagoda_context *pagoda_context_make(struct pagoda_vm *vm, u32 engine, u32 priority,
					   const struct pagoda_deferred_ops *ops);
u64 pagoda_context_queued(struct pagoda_context *context);

/* submit.c: makes a job of a submission */
int pagoda_submit_make(struct pagoda_submit *submit, bool interruptible);

#endif
