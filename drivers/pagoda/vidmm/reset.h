/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Resets of the whole device.
 *
 *	phase 1	reset.c, on the way to fences: the engines are held, the device is reset, what
 *		it had and what it is given from then on is given up
 *	phase 2	reset_rebuild.c, a work item that allocates, locks and waits like anybody: the
 *		device's memory is built anew from our books
 *	gate	gate.c: ioctls stay out of phase 2
 *
 * A sleep of the machine is a reset, too, between whose phases there is no device, and
 * before which everything that counts left VRAM (suspend.c): nothing is lost then.
 *
 * VRAM that was written before a reset is as good as garbage: each allocation knows
 * in which epoch its content got there, and is cleared before anybody sees it when that
 * isn't the current one (lost.c). What is evicted or paged in meanwhile, by whomever, is
 * right by that alone.
 */
#ifndef PAGODA_VIDMM_RESET_H
#define PAGODA_VIDMM_RESET_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct drm_printer;
struct pagoda_bo;
struct pagoda_vidmm;

/** PAGODA_RESET_LIMIT: resets in PAGODA_RESET_SECONDS; one more and the device is dead. */
#define PAGODA_RESET_LIMIT	5
#define PAGODA_RESET_SECONDS	60
/** PAGODA_RESET_KEEPS_NOTHING: no epoch */
#define PAGODA_RESET_KEEPS_NOTHING	U64_MAX
/** PAGODA_RESET_NOTES: resets remembered for debugfs and coredumps. */
#define PAGODA_RESET_NOTES	16

/**
 * enum pagoda_reset_reason - Why the device is reset
 * @PAGODA_RESET_PAGING: the paging queue couldn't be reset (C189)
 * @PAGODA_RESET_ENGINE: an engine couldn't be reset
 * @PAGODA_RESET_DEVICE: the device says that it was reset, or doesn't work any more
 * @PAGODA_RESET_ASKED: somebody wants to see it; doesn't count for the limit
 * @PAGODA_RESET_SLEEP: its power goes, and nothing that counts with it; the same
 * @PAGODA_RESET_REASONS: number of reasons
 */
enum pagoda_reset_reason {
	PAGODA_RESET_PAGING,
	PAGODA_RESET_ENGINE,
	PAGODA_RESET_DEVICE,
	PAGODA_RESET_ASKED,
	PAGODA_RESET_SLEEP,
	PAGODA_RESET_REASONS
};

/**
 * struct pagoda_reset_note - What is remembered of a reset
 * @begun_ns: CLOCK_MONOTONIC
 * @rebuilt_ns: The same, when jobs went on; 0 = not yet, or never
 * @reasons: Why: a bit for each &enum pagoda_reset_reason
 * @result: 0, or why it failed
 * @given_up: Paging submissions that had been given up when it was rebuilt
 * @lost: Allocations in VRAM then
 */
struct pagoda_reset_note {
	u64 begun_ns;
	u64 rebuilt_ns;
	u32 reasons;
	int result;
	u64 given_up;
	u32 lost;
};

/**
 * struct pagoda_reset - Resets of a device
 * @gate: Held for reading by who works on the device's memory in normal context, for
 *	writing by phase 2. Outside of everything else
 * @inside_lock: Protects @inside
 * @inside: Who holds @gate for reading, struct pagoda_gate
 * @lock: Protects all below but @vms. Taken on the way to fences: nobody allocates
 *	under it
 * @hidden: CPU mappings show nothing: a reset is under way or isn't rebuilt yet; also read
 *	without the lock
 * @held: The engines are held by us
 * @pending: A reset isn't rebuilt yet; also read without the lock
 * @shut: Nobody gets through the gate: the machine is about to sleep; written with @gate held
 *	too, read without a lock
 * @asleep: The device has no power: nothing is rebuilt; also read without the lock
 * @kept: Bytes from the start of VRAM that outlive the sleep
 * @kept_epoch: pagoda_reset_epoch() of what is there, %PAGODA_RESET_KEEPS_NOTHING = nothing
 * @dead: The device is never used again
 * @stopped: The hardware goes
 * @blaming: The next paging submission given up is the one that was aborted (C190)
 * @counted: Resets but for sleeps: what people are told of; also read without the lock
 * @times: Jiffies of the last resets that count for the limit, a ring
 * @nr_times: Their number
 * @notes: The last resets, a ring
 * @nr_notes: Their number
 * @hide: Takes CPU mappings away
 * @hid: Completed when it has
 * @told: Has the device reset, because the device says so
 * @rebuild: Phase 2
 * @rebuilt: Woken when nothing is pending or hidden any more
 * @vms_lock: Protects @vms; outside of pagoda_vm.lock
 * @vms: All address spaces of clients, &pagoda_vm.entry
 */
struct pagoda_reset {
	struct rw_semaphore gate;
	spinlock_t inside_lock;	/* inside */
	struct list_head inside;
	struct mutex lock;	/* all below */
	bool hidden;
	bool held;
	bool pending;
	bool shut;
	bool asleep;
	u64 kept;
	u64 kept_epoch;
	bool dead;
	bool stopped;
	bool blaming;
	atomic64_t counted;
	unsigned long times[PAGODA_RESET_LIMIT];
	u32 nr_times;
	struct pagoda_reset_note notes[PAGODA_RESET_NOTES];
	u32 nr_notes;
	struct work_struct hide;
	struct completion hid;
	struct work_struct told;
	struct work_struct rebuild;
	wait_queue_head_t rebuilt;
	struct mutex vms_lock;	/* vms */
	struct list_head vms;
};

/* reset.c */
void pagoda_reset_init(struct pagoda_vidmm *vidmm);
void pagoda_reset_stop(struct pagoda_vidmm *vidmm);
void pagoda_reset_fini(struct pagoda_vidmm *vidmm);
int pagoda_reset_request(struct pagoda_vidmm *vidmm, enum pagoda_reset_reason reason);
int pagoda_reset_device(struct pagoda_vidmm *vidmm, u32 reasons);
bool pagoda_reset_end(struct pagoda_vidmm *vidmm, u64 epoch, u32 lost, bool failed);
void pagoda_reset_wait(struct pagoda_vidmm *vidmm);
bool pagoda_reset_is_pending(struct pagoda_vidmm *vidmm);
bool pagoda_reset_is_hidden(struct pagoda_vidmm *vidmm);
u64 pagoda_reset_epoch(struct pagoda_vidmm *vidmm);
u64 pagoda_reset_count(struct pagoda_vidmm *vidmm);
int pagoda_reset_wake(struct pagoda_vidmm *vidmm, int error);
u32 pagoda_reset_aborts(struct pagoda_vidmm *vidmm);

/* reset_rebuild.c */
void pagoda_reset_rebuild(struct work_struct *work);

/* gate.c */
bool pagoda_gate_is_inside(struct pagoda_vidmm *vidmm);
void pagoda_gate_shut(struct pagoda_vidmm *vidmm);
void pagoda_gate_open(struct pagoda_vidmm *vidmm);

#endif
