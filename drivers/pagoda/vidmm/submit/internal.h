/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations that only the files of submit/ share: of ahead.c, closing.c, context.c and submit.c.
 */
#ifndef PAGODA_VIDMM_SUBMIT_INTERNAL_H
#define PAGODA_VIDMM_SUBMIT_INTERNAL_H

#include <linux/types.h>
#include "vidmm/fence/sync.h"

struct pagoda_bo;
struct pagoda_client;
struct pagoda_context;
struct pagoda_submit;
struct pagoda_vm;

/* ahead.c: have allocations come to VRAM that queued jobs list */
void pagoda_ahead_kick(struct pagoda_client *client);

/* closing.c: deferred jobs, for which allocations with closed handles stay; handles that close */
int pagoda_closing_hold_up(struct pagoda_submit *submit);
void pagoda_closing_let_go(struct pagoda_submit *submit);
void pagoda_closing_handle(struct pagoda_client *client, struct pagoda_bo *bo);
u64 pagoda_closing_next(struct pagoda_client *client);
void pagoda_closing_undo(struct pagoda_client *client, struct pagoda_bo *bo);

/* context.c: create a context; count the unfinished jobs of a context */
struct pagoda_context *pagoda_context_make(struct pagoda_vm *vm, u32 engine, u32 priority,
					   const struct pagoda_deferred_ops *ops);
u64 pagoda_context_queued(struct pagoda_context *context);

/* submit.c: make the job of a submission */
int pagoda_submit_make(struct pagoda_submit *submit, bool interruptible);

#endif
