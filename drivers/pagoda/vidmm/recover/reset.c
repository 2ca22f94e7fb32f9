// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of the whole device: phase 1, and the requests for a reset. Each cause and its request:
 *
 *	an engine can't be reset	&pagoda_exec_ops.reset_adapter
 *	the paging queue can't be	requested by the queue, before the CPU executes
 *	reset, or a lost submission	paging: submissions in flight are aborted (C189). Any
 *	left wrong mappings		other lost submission costs only its allocations
 *	operations lost (no memory)	&pagoda_stream_args.overrun
 *	the device			reports that it was reset, or doesn't work any more;
 *					or fails a SET_ROOT (tables.c)
 *	a user or a test		debugfs
 *	the machine sleeps		sleep.c; the loss of power resets the device
 *
 * All requests come to the paging queue's recovery, which calls pagoda_reset_device() once for all
 * requests made until then, with all their reasons. A single reason that counts as the device's
 * fault is enough for the reset to count for the limit and to be dumped. A sleep is always a reset
 * of its own, because the rebuild after another reset uses the device: if there are other requests,
 * the sleep is left out and sleep.c requests it again.
 *
 * A device is dead if it needs more than five resets in a minute that count as its fault, or can't
 * be reset or rebuilt: then its engines refuse all jobs, and the CPU executes paging.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/info.h"
#include "core/life.h"
#include "core/transport.h"
#include "queue/exec.h"
#include "queue/queue.h"
#include "vidmm/fence/fence.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/events.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "recover.h"

/* Longest time, in jiffies, that a reset waits until CPU mappings are removed. */
#define RESET_HIDE_WAIT		HZ
/*
 * Bits of the reset reasons that count as the device's fault. PAGODA_RESET_PAGING does even if
 * operations were lost because a transaction exceeded its cost, which is a bug of the driver.
 */
#define RESET_FAULTS \
	(BIT(PAGODA_RESET_PAGING) | BIT(PAGODA_RESET_ENGINE) | BIT(PAGODA_RESET_DEVICE))

static bool reset_is_sleep(u32 reasons)
{
	return reasons == BIT(PAGODA_RESET_SLEEP);
}

/*
 * Returns the PAGODA_ABORTED_* bits for allocations of a paging submission that is given up: 0 if
 * no reset is the cause; else PAGODA_ABORTED_BY_RESET, with PAGODA_ABORTED_TO_BLAME if @to_blame:
 * that submission broke the device. Called by the paging queue only.
 */
u32 pagoda_reset_aborts(struct pagoda_vidmm *vidmm, bool to_blame)
{
	if (!pagoda_reset_is_pending(vidmm))
		return 0;
	return PAGODA_ABORTED_BY_RESET | (to_blame ? PAGODA_ABORTED_TO_BLAME : 0);
}

/*
 * Returns false for a reset without a reason of RESET_FAULTS, which isn't counted. For others,
 * returns true if the last PAGODA_RESET_SECONDS had PAGODA_RESET_LIMIT counted resets already; else
 * counts the reset and returns false.
 */
static bool reset_is_too_many(struct pagoda_reset *reset, u32 reasons)
{
	unsigned long *oldest = &reset->times[reset->nr_times % PAGODA_RESET_LIMIT];

	lockdep_assert_held(&reset->lock);
	if (!(reasons & RESET_FAULTS))
		return false;
	if (reset->nr_times >= PAGODA_RESET_LIMIT &&
	    time_before(jiffies, *oldest + PAGODA_RESET_SECONDS * HZ))
		return true;
	*oldest = jiffies;
	reset->nr_times++;
	return false;
}

static int reset_command(struct pagoda_vidmm *vidmm, u32 reasons)
{
	const struct pagoda_command command = { .type = VIRTIO_PAGODA_CONTROL_RESET_ADAPTER };

	/* For a sleep no command is sent: the idle device loses its state with its power. */
	if (reset_is_sleep(reasons))
		return 0;
	if (!(vidmm->info->features & BIT_ULL(VIRTIO_PAGODA_F_EXECUTE)))
		return -EOPNOTSUPP;
	if (reset_is_too_many(vidmm->reset, reasons)) {
		drm_err(vidmm->drm, "%u resets in %u seconds are enough\n", PAGODA_RESET_LIMIT,
			PAGODA_RESET_SECONDS);
		return -ENODEV;
	}
	return pagoda_vidmm_command(vidmm, &command);
}

static void reset_hide_work(struct work_struct *work)
{
	struct pagoda_reset *reset = container_of(work, struct pagoda_reset, hide);
	struct pagoda_vidmm *vidmm = reset->vidmm;

	unmap_mapping_range(vidmm->ttm.dev_mapping, 0, 0, 1);
	complete_all(&reset->hid);
}

/*
 * Has a work item remove all CPU mappings, and waits for at most RESET_HIDE_WAIT:
 * unmap_mapping_range() may wait for MMU notifiers of other drivers, and the notifiers may wait for
 * fences that don't signal before this reset is done.
 */
static void reset_hide(struct pagoda_vidmm *vidmm)
{
	struct pagoda_reset *reset = vidmm->reset;

	lockdep_assert_held(&reset->lock);
	WRITE_ONCE(reset->hidden, true);
	/*
	 * @hidden is set before mappings are searched for: this barrier pairs with that in
	 * pagoda_reset_is_hidden().
	 */
	smp_mb();
	reinit_completion(&reset->hid);
	queue_work(system_dfl_wq, &reset->hide);
	wait_for_completion_timeout(&reset->hid, RESET_HIDE_WAIT);
}

static void reset_show(struct pagoda_reset *reset)
{
	lockdep_assert_held(&reset->lock);
	WRITE_ONCE(reset->hidden, false);
}

static void reset_hold(struct pagoda_vidmm *vidmm)
{
	lockdep_assert_held(&vidmm->reset->lock);
	if (!vidmm->reset->held && vidmm->engines)
		pagoda_engines_hold(vidmm->engines);
	vidmm->reset->held = true;
}

static void reset_release(struct pagoda_vidmm *vidmm)
{
	lockdep_assert_held(&vidmm->reset->lock);
	if (vidmm->reset->held && vidmm->engines)
		pagoda_engines_resume(vidmm->engines);
	vidmm->reset->held = false;
}

static void reset_died(struct pagoda_vidmm *vidmm)
{
	lockdep_assert_held(&vidmm->reset->lock);
	vidmm->reset->dead = true;
	pagoda_listeners_gone(vidmm->listeners);
	pagoda_mfence_device_lost(vidmm);
	if (vidmm->engines)
		pagoda_engines_gone(vidmm->engines);
	reset_release(vidmm);
	reset_show(vidmm->reset);
}

/*
 * The rest of phase 1, when the device was reset or is about to sleep, and has no work any more
 * (C191): counts the reset, has monitored fences without NO_MAX_ON_RESET show the maximum value,
 * has jobs given up, and queues phase 2, the rebuild. A sleep begins a new epoch, too, but isn't
 * counted for user space; fences keep their values, and the rebuild is left to pagoda_reset_wake().
 */
static void reset_done(struct pagoda_vidmm *vidmm, u32 reasons)
{
	struct pagoda_reset *reset = vidmm->reset;
	bool sleep = reset_is_sleep(reasons);

	lockdep_assert_held(&reset->lock);
	WRITE_ONCE(reset->pending, true);
	if (sleep) {
		/*
		 * Allocations left VRAM before the sleep, except for the part that the device
		 * preserves, and the rebuild comes when the device wakes.
		 */
		WRITE_ONCE(reset->asleep, true);
		reset->kept_epoch = reset->kept ? pagoda_reset_epoch(vidmm) :
						  PAGODA_RESET_KEEPS_NOTHING;
	}
	atomic64_inc_return_release(&vidmm->resets);
	pagoda_journal_reset(vidmm->journal);
	if (!sleep) {
		/* The reset lost content of VRAM, and maybe values of monitored fences. */
		reset->kept_epoch = PAGODA_RESET_KEEPS_NOTHING;
		atomic64_inc(&reset->counted);
		pagoda_listeners_kick(vidmm->listeners);
		pagoda_mfence_device_lost(vidmm);
	}
	if (vidmm->engines) {
		pagoda_engines_refuse(vidmm->engines);
		pagoda_engines_lost(vidmm->engines);
	}
	if (!reset->asleep)
		queue_work(system_dfl_wq, &reset->rebuild);
}

static void reset_announce(struct pagoda_vidmm *vidmm, u32 reasons)
{
	char names[PAGODA_RESET_NAMES];

	if (reset_is_sleep(reasons))
		return;
	pagoda_reset_names(reasons, names);
	drm_warn(vidmm->drm, "resetting the device (%s)\n", names);
	if (reasons & RESET_FAULTS)
		pagoda_coredump_reset(vidmm, names);
}

static int reset_perform(struct pagoda_vidmm *vidmm, u32 reasons)
{
	struct pagoda_reset *reset = vidmm->reset;
	int ret;

	if (reset->dead || reset->stopped)
		return -ENODEV;
	/* A sleeping device has no work to give up, and is rebuilt when it wakes. */
	if (reset->asleep)
		return 0;
	reset_announce(vidmm, reasons);
	reset_hold(vidmm);
	reset_hide(vidmm);
	ret = reset_command(vidmm, reasons);
	reset->notes[reset->nr_notes++ % PAGODA_RESET_NOTES] = (struct pagoda_reset_note) {
		.begun_ns = ktime_get_ns(),
		.reasons = reasons,
		.result = ret,
	};
	if (ret)
		reset_died(vidmm);
	else
		reset_done(vidmm, reasons);
	return ret;
}

/*
 * Performs phase 1 of a reset, see &pagoda_queue_ops.reset_adapter; does nothing while the device
 * is asleep. @reasons has a bit for each &enum pagoda_reset_reason; a sleep counts only if it is
 * the only reason. Returns 0, or a negative errno if the device is never used again. Called in the
 * dma_fence signalling path: allocates nothing. Takes pagoda_reset.lock.
 */
int pagoda_reset_device(struct pagoda_vidmm *vidmm, u32 reasons)
{
	struct pagoda_reset *reset = vidmm->reset;
	int ret;

	if (!reset_is_sleep(reasons))
		reasons &= ~BIT(PAGODA_RESET_SLEEP);
	mutex_lock(&reset->lock);
	ret = reset_perform(vidmm, reasons);
	mutex_unlock(&reset->lock);
	if (ret)
		wake_up_all(&reset->rebuilt);
	return ret;
}

/**
 * pagoda_reset_request() - Have the device reset, and wait until phase 1 of the reset is over
 * @vidmm: Manager
 * @reason: Reason
 *
 * Simultaneous requests share one reset. A sleep that is requested together with another reason is
 * left out: &pagoda_reset.asleep tells whether the device fell asleep.
 *
 * Context: As pagoda_queue_reset_adapter(): may sleep for some seconds, doesn't allocate, may be in
 * the dma_fence signalling path.
 * Return: 0, the rebuild may still go on, or the device is asleep and wasn't reset; or a negative
 * errno, and the device is never used again: -ENODEV if that is so already, the device is being
 * removed or there were too many resets, -EOPNOTSUPP if the device can't be reset, or the error of
 * the command.
 */
int pagoda_reset_request(struct pagoda_vidmm *vidmm, enum pagoda_reset_reason reason)
{
	return pagoda_queue_reset_adapter(vidmm->queue, BIT(reason));
}

static void reset_told_work(struct work_struct *work)
{
	struct pagoda_vidmm *vidmm = container_of(work, struct pagoda_reset, told)->vidmm;

	pagoda_reset_request(vidmm, PAGODA_RESET_DEVICE);
}

/**
 * pagoda_reset_told() - Handle the device's report that it was reset or doesn't work any more
 * @vidmm: Manager
 *
 * The device lost all work that it had. A work item resets the device once more, so that the device
 * keeps no work that was sent before the driver knew of the report. A device that can't be reset is
 * never used again.
 *
 * Context: Any. Not after pagoda_reset_stop().
 */
void pagoda_reset_told(struct pagoda_vidmm *vidmm)
{
	queue_work(system_dfl_wq, &vidmm->reset->told);
}

/*
 * Ends phase 2 of a reset: jobs go on, or the device is never used again if @failed. @epoch is
 * pagoda_reset_epoch() when phase 2 began, @lost the number of allocations that lost their content.
 * Returns true, after having woken threads that wait for the rebuild and kicked promotion; or
 * false, and ends nothing, if the device was reset since @epoch and must be rebuilt once more.
 * Takes pagoda_reset.lock.
 */
bool pagoda_reset_end(struct pagoda_vidmm *vidmm, u64 epoch, u32 lost, bool failed)
{
	struct pagoda_reset *reset = vidmm->reset;
	struct pagoda_queue_stats stats;
	struct pagoda_reset_note *note;

	pagoda_queue_stats(vidmm->queue, &stats);
	mutex_lock(&reset->lock);
	if (!failed && !reset->dead && epoch != pagoda_reset_epoch(vidmm)) {
		mutex_unlock(&reset->lock);
		return false;
	}
	if (failed)
		reset_died(vidmm);
	note = &reset->notes[(reset->nr_notes - 1) % PAGODA_RESET_NOTES];
	/* A reset that failed during the rebuild is the last of @notes, and is never rebuilt. */
	note->rebuilt_ns = reset->dead ? 0 : ktime_get_ns();
	note->given_up = stats.given_up;
	note->lost = lost;
	WRITE_ONCE(reset->pending, false);
	reset_show(reset);
	reset_release(vidmm);
	mutex_unlock(&reset->lock);
	wake_up_all(&reset->rebuilt);
	pagoda_promote_kick(vidmm);
	return true;
}

/*
 * Wakes a sleeping device: if @error is 0, has the device rebuilt and waits for the rebuild, else
 * ensures that the device is never used again. Does nothing and returns 0 if the device isn't
 * asleep, even if it is never used again. Else returns 0, or -ENODEV if the device is never used
 * again. The caller is outside of sections.
 */
int pagoda_reset_wake(struct pagoda_vidmm *vidmm, int error)
{
	struct pagoda_reset *reset = vidmm->reset;

	if (!READ_ONCE(reset->asleep))
		return 0;
	/* The sleep answered what the device reported before: don't reset the device for that. */
	cancel_work_sync(&reset->told);
	mutex_lock(&reset->lock);
	WRITE_ONCE(reset->asleep, false);
	mutex_unlock(&reset->lock);
	if (error)
		pagoda_reset_end(vidmm, pagoda_reset_epoch(vidmm), 0, true);
	else
		queue_work(system_dfl_wq, &reset->rebuild);
	wait_event(reset->rebuilt, !pagoda_reset_is_pending(vidmm));
	return READ_ONCE(reset->dead) ? -ENODEV : 0;
}

/**
 * pagoda_vidmm_reset() - Reset the device and rebuild it
 * @vidmm: Manager
 *
 * For debugfs. All content of VRAM and all jobs of the engines are lost.
 *
 * Context: Sleeps for long; outside of sections. A fatal signal ends the wait for the rebuild.
 * Return: 0, even if the rebuild failed or its wait ended; or a negative errno if the device
 * couldn't be reset and is never used again.
 */
int pagoda_vidmm_reset(struct pagoda_vidmm *vidmm)
{
	int ret = pagoda_reset_request(vidmm, PAGODA_RESET_ASKED);

	if (!ret)
		pagoda_reset_wait(vidmm);
	return ret;
}

/**
 * pagoda_reset_init() - Set up &struct pagoda_reset, but for the work item of the rebuild
 * @vidmm: Manager
 * @args: Unused
 *
 * Context: Probe; may sleep.
 * Return: 0 or -ENOMEM.
 */
int pagoda_reset_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_reset *reset;

	reset = drmm_kzalloc(vidmm->drm, sizeof(*reset), GFP_KERNEL);
	if (!reset)
		return -ENOMEM;
	vidmm->reset = reset;
	reset->vidmm = vidmm;
	reset->kept_epoch = PAGODA_RESET_KEEPS_NOTHING;
	init_rwsem(&reset->sections);
	mutex_init(&reset->lock);
	INIT_WORK(&reset->hide, reset_hide_work);
	init_completion(&reset->hid);
	INIT_WORK(&reset->told, reset_told_work);
	init_waitqueue_head(&reset->rebuilt);
	mutex_init(&reset->vms_lock);
	INIT_LIST_HEAD(&reset->vms);
	return 0;
}

/**
 * pagoda_reset_stop() - Refuse further resets because the hardware is being removed
 * @vidmm: Manager
 *
 * Waits for a rebuild that is queued or has begun.
 *
 * Context: May sleep for long; outside of sections.
 */
void pagoda_reset_stop(struct pagoda_vidmm *vidmm)
{
	struct pagoda_reset *reset = vidmm->reset;

	mutex_lock(&reset->lock);
	reset->stopped = true;
	mutex_unlock(&reset->lock);
	cancel_work_sync(&reset->told);
	flush_work(&reset->rebuild);
	flush_work(&reset->hide);
}

/**
 * pagoda_reset_fini() - Undo pagoda_reset_init()
 * @vidmm: Manager, stopped or never used
 *
 * Context: May sleep.
 */
void pagoda_reset_fini(struct pagoda_vidmm *vidmm)
{
	cancel_work_sync(&vidmm->reset->rebuild);
	cancel_work_sync(&vidmm->reset->hide);
	mutex_destroy(&vidmm->reset->vms_lock);
	mutex_destroy(&vidmm->reset->lock);
}
