/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Resets of the whole device.
 *
 *	phase 1	reset.c, in the dma_fence signalling path: the engines are stopped, the device
 *		is reset; jobs that the device had, or would get before the end of phase 2, are
 *		given up, and so is unexecuted paging emitted before phase 2 restarts the stream
 *	phase 2	rebuild.c, a work item that allocates, locks and waits without
 *		restrictions: the device's state is rebuilt from the driver's records
 *	section	section.c: operations on the device's memory stay out of phase 2
 *
 * A sleep of the machine is a reset, too. The device loses its power between the two phases, but
 * content that the device doesn't preserve leaves VRAM before phase 1 (sleep.c), or is discarded if
 * it was offered: nothing else is lost.
 *
 * Content of VRAM that was written before a reset counts as garbage, unless the device preserved
 * the content in a sleep: then the rebuild moves the content to the new epoch. Each allocation
 * records the epoch in which its content was written to VRAM. An allocation with content of another
 * epoch is filled with zeros before the CPU or a job can access the content (lost.c). Therefore
 * evictions and page-ins need no other precaution against a reset during their execution.
 */
#ifndef PAGODA_CORE_LIFE_H
#define PAGODA_CORE_LIFE_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct pagoda_vidmm;

/*
 * A device that needs more than PAGODA_RESET_LIMIT resets within PAGODA_RESET_SECONDS, each for a
 * reason that counts as the device's fault, is never used again.
 */
#define PAGODA_RESET_LIMIT	5
#define PAGODA_RESET_SECONDS	60

/* Value of &pagoda_reset.kept_epoch if VRAM kept no content in the last reset; never an epoch. */
#define PAGODA_RESET_KEEPS_NOTHING	U64_MAX

/* Number of the last resets that are remembered, for debugfs and coredumps. */
#define PAGODA_RESET_NOTES	16

/**
 * enum pagoda_reset_reason - Why the device is reset
 * @PAGODA_RESET_PAGING: The paging queue couldn't be reset (C189), an operation was emitted in
 *	part, or a paging buffer that failed for good left wrong mappings
 * @PAGODA_RESET_ENGINE: An engine couldn't be reset
 * @PAGODA_RESET_DEVICE: The device reported that it was reset, or doesn't work any more; or failed
 *	a SET_ROOT
 * @PAGODA_RESET_ASKED: Requested through debugfs; doesn't count for %PAGODA_RESET_LIMIT
 * @PAGODA_RESET_SLEEP: The device loses its power because the machine sleeps; content that VRAM
 *	doesn't preserve was evicted before. Doesn't count for %PAGODA_RESET_LIMIT
 * @PAGODA_RESET_REASONS: Number of reasons
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
 * struct pagoda_reset_note - A remembered reset
 * @begun_ns: CLOCK_MONOTONIC time of the reset
 * @rebuilt_ns: CLOCK_MONOTONIC time when the rebuild was done; 0 = not yet, or never
 * @reasons: A bit for each &enum pagoda_reset_reason
 * @result: 0, or negative errno if the reset failed
 * @given_up: Number of paging submissions given up since probe, as of the end of the rebuild
 * @lost: Number of allocations that lost their content in VRAM by this reset
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
 * @vidmm: Manager
 * @sections: Held for reading by a thread in a section, for writing by phase 2, and for a moment by
 *	pagoda_sections_close(), pagoda_sections_open() and pagoda_sections_drain()
 * @lock: Protects all members from @hidden to @nr_notes, but @shut and @kept. Taken in the
 *	dma_fence signalling path: nothing is allocated under this lock
 * @hidden: VRAM must not be mapped for the CPU: the device is being reset or isn't rebuilt yet;
 *	also read without @lock
 * @held: The reset has stopped the engines, by pagoda_engines_hold()
 * @pending: The device was reset and isn't rebuilt yet; also read without @lock
 * @shut: Sections are closed: the machine sleeps or is about to sleep; written with @sections held
 *	for writing, read without a lock
 * @asleep: The device has no power, or is about to lose it: nothing is rebuilt; also read without
 *	@lock
 * @kept: Number of bytes from the start of VRAM that keep their content in the machine's sleep;
 *	written while sections are closed
 * @kept_epoch: pagoda_reset_epoch() before the sleep that the first @kept bytes of VRAM outlived,
 *	or %PAGODA_RESET_KEEPS_NOTHING
 * @dead: The device is never used again
 * @stopped: The hardware is being removed: the device isn't reset any more
 * @counted: Number of resets that user space is told of, without sleeps; also read without @lock
 * @times: Jiffies of the last resets that count for %PAGODA_RESET_LIMIT, a ring
 * @nr_times: Number of resets that count for %PAGODA_RESET_LIMIT
 * @notes: The last resets, a ring
 * @nr_notes: Number of resets that were stored in @notes so far
 * @hide: Work item that removes all CPU mappings
 * @hid: Completed when @hide has run
 * @told: Work item that resets the device once more after the device reported a reset or a failure
 * @rebuild: Work item of phase 2
 * @rebuilt: Wait queue, woken when @pending, @hidden or @shut is cleared, and when @dead is set
 * @vms_lock: Protects @vms
 * @vms: All VMs of clients, linked by &pagoda_vm.entry
 */
struct pagoda_reset {
	struct pagoda_vidmm *vidmm;
	struct rw_semaphore sections;
	struct mutex lock;	/* protects all members from @hidden to @nr_notes */
	bool hidden;
	bool held;
	bool pending;
	bool shut;
	bool asleep;
	u64 kept;
	u64 kept_epoch;
	bool dead;
	bool stopped;
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
	struct mutex vms_lock;	/* protects @vms */
	struct list_head vms;
};

/* section.c: enter and leave sections; close, open and drain all sections for a reset */
int pagoda_enter(struct pagoda_vidmm *vidmm);
void pagoda_enter_anyway(struct pagoda_vidmm *vidmm);
bool pagoda_try_enter(struct pagoda_vidmm *vidmm);
void pagoda_leave(struct pagoda_vidmm *vidmm);
void pagoda_sections_close(struct pagoda_vidmm *vidmm);
void pagoda_sections_open(struct pagoda_vidmm *vidmm);
void pagoda_sections_drain(struct pagoda_vidmm *vidmm);
void pagoda_assert_entered(struct pagoda_vidmm *vidmm);

/*
 * life.c: tells whether the device is being reset or rebuilt, and how often the device was reset;
 * waits for the end of the rebuild
 */
void pagoda_reset_wait(struct pagoda_vidmm *vidmm);
bool pagoda_reset_is_pending(struct pagoda_vidmm *vidmm);
bool pagoda_reset_is_hidden(struct pagoda_vidmm *vidmm);
u64 pagoda_reset_epoch(struct pagoda_vidmm *vidmm);
u64 pagoda_reset_count(struct pagoda_vidmm *vidmm);

#endif
