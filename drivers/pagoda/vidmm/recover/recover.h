/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recovery: resets of the device, the rebuild after a reset, sleep of the machine, coredumps; and
 * the callbacks of the paging queue and the engines.
 */
#ifndef PAGODA_VIDMM_RECOVER_RECOVER_H
#define PAGODA_VIDMM_RECOVER_RECOVER_H

#include "core/life.h"
#include "queue/exec.h"
#include "queue/queue.h"

struct drm_printer;
struct pagoda_vidmm;
struct pagoda_vidmm_args;

/**
 * enum pagoda_sleep - Kind of sleep of the machine
 * @PAGODA_SLEEP_STANDBY: system memory keeps its content
 * @PAGODA_SLEEP_HIBERNATE: only an image of system memory on a disk is kept; also for a standby
 *	that writes such an image first, and before an image is loaded
 */
enum pagoda_sleep {
	PAGODA_SLEEP_STANDBY,
	PAGODA_SLEEP_HIBERNATE,
};

/*
 * coredump.c: set up and end device coredumps; print the text of the last dump, and the state of
 * the engines, for debugfs
 */
void pagoda_vidmm_print_engines(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_coredump(struct pagoda_vidmm *vidmm, struct drm_printer *p);
int pagoda_coredump_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_coredump_stop(struct pagoda_vidmm *vidmm);
void pagoda_coredump_fini(struct pagoda_vidmm *vidmm);

/* reset.c: requests for a reset of the whole device; set-up and end of the resets' state */
void pagoda_reset_told(struct pagoda_vidmm *vidmm);
int pagoda_vidmm_reset(struct pagoda_vidmm *vidmm);
int pagoda_reset_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_reset_stop(struct pagoda_vidmm *vidmm);
void pagoda_reset_fini(struct pagoda_vidmm *vidmm);
int pagoda_reset_request(struct pagoda_vidmm *vidmm, enum pagoda_reset_reason reason);

/* rebuild.c: set up the work item that rebuilds the device's state after a reset */
int pagoda_rebuild_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);

/* sleep.c: prepare, begin, wake from and end a sleep of the machine */
int pagoda_vidmm_prepare_sleep(struct pagoda_vidmm *vidmm, enum pagoda_sleep kind);
int pagoda_vidmm_sleep(struct pagoda_vidmm *vidmm);
int pagoda_vidmm_wake(struct pagoda_vidmm *vidmm, int error);
void pagoda_vidmm_end_sleep(struct pagoda_vidmm *vidmm);

/* notes.c: prints the last resets of the device */
void pagoda_vidmm_print_resets(struct pagoda_vidmm *vidmm, struct drm_printer *p);

/* hooks.c: callbacks of the paging queue and of the engines; reports of stored fence values */
extern const struct pagoda_queue_ops pagoda_stream_queue_ops;
extern const struct pagoda_exec_ops pagoda_context_exec_ops;
void pagoda_fence_told(struct pagoda_vidmm *vidmm, u64 context);

#endif
