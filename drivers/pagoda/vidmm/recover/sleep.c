// SPDX-License-Identifier: GPL-2.0
/*
 * Sleep of the machine: VRAM loses its content, but allocations keep theirs.
 *
 *	prepare		user space still runs, or is about to be frozen, and memory can be
 *			allocated: sections are closed, jobs end, allocations in VRAM are evicted
 *			to system memory. Most failures happen in this step: then sections are
 *			opened again
 *	sleep		user space is frozen: phase 1 of a reset (reset.c). Allocates no memory
 *			unless allocations came back to VRAM
 *	wake		the device has power again: phase 2. Hibernation wakes the device to
 *			write the image, then has it sleep again: allocations that the rebuild
 *			placed in VRAM are evicted once more
 *	end		sections are opened
 *
 * Evicted allocations come back as after any eviction: with the next submission that uses
 * them, or by promotion when sections are open (promote.c); a page fault maps them where they
 * are. The content of offered allocations is discarded instead of evicted (C198), and so is that of
 * page tables, because mmu/ can write their entries again. VRAM that the device preserves isn't
 * evicted (C197); its content belongs to the new epoch when the device wakes.
 *
 * Deferred work (deferred.c) stays queued: its workers can't enter a section.
 */
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/info.h"
#include "core/life.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/ttm/ttm.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "recover.h"

/*
 * Longest wait, in jiffies, for jobs to end. The job timeout ends a hung job much earlier; only
 * jobs that wait for other devices can take that long.
 */
#define SUSPEND_JOBS_WAIT	(60 * HZ)

static u64 suspend_preserved(const struct pagoda_vidmm *vidmm, enum pagoda_sleep kind)
{
	if (kind == PAGODA_SLEEP_STANDBY)
		return vidmm->info->preserved_standby;
	return vidmm->info->preserved_hibernate;
}

/* Returns true if the device preserves all of the allocation's VRAM during the sleep. */
static bool suspend_keeps(struct pagoda_bo *bo)
{
	u64 kept = bo->vidmm->reset->kept;
	struct pagoda_vram_cursor cur;

	pagoda_vram_first(&cur, bo->ttm.resource, 0, bo->ttm.base.size);
	while (cur.size && cur.address + cur.size <= kept)
		pagoda_vram_next(&cur, cur.size);
	return !cur.size;
}

static bool suspend_must_leave(struct pagoda_bo *bo)
{
	return pagoda_bo_is_in_vram(bo) && !suspend_keeps(bo);
}

/* Evicts an allocation as ttm_device_funcs.evict_flags chooses; promotion may bring it back. */
static int suspend_evict(struct pagoda_bo *bo)
{
	struct ttm_operation_ctx ctx = {};
	struct ttm_placement placement = {};
	int ret;

	pagoda_ttm_funcs.evict_flags(&bo->ttm, &placement);
	ret = ttm_bo_validate(&bo->ttm, &placement, &ctx);
	pagoda_promote_look(bo);
	return ret;
}

static int suspend_leave(struct pagoda_bo *bo)
{
	int ret;

	dma_resv_assert_held(bo->ttm.base.resv);
	/* The allocation stays: bring CPU writes to its swizzling window into its tiles. */
	if (!suspend_must_leave(bo))
		return pagoda_swizzle_release(bo);
	ret = bo->ttm.pin_count ? -EBUSY : pagoda_offer_drop(bo);
	if (!ret && suspend_must_leave(bo))
		ret = suspend_evict(bo);
	return ret;
}

static int suspend_leave_all(struct pagoda_vidmm *vidmm)
{
	struct pagoda_bo *bo;
	unsigned long id = 0;
	int ret;

	for (; (bo = pagoda_bo_next(vidmm, &id, XA_PRESENT)); id++) {
		dma_resv_lock(bo->ttm.base.resv, NULL);
		ret = suspend_leave(bo);
		dma_resv_unlock(bo->ttm.base.resv);
		drm_gem_object_put(&bo->ttm.base);
		if (!ret)
			continue;
		drm_err(vidmm->drm, "allocation %lu can't be saved for the sleep (%d)\n", id, ret);
		return ret;
	}
	return 0;
}

/*
 * Waits until the device is rebuilt, if it was reset: before the sleep, or because an eviction for
 * the sleep made the device fail.
 */
static void suspend_settle(struct pagoda_vidmm *vidmm)
{
	wait_event(vidmm->reset->rebuilt, !pagoda_reset_is_pending(vidmm));
}

/*
 * Evicts allocations from VRAM that the device doesn't preserve. Waits until all copies are
 * executed and TTM's worker has freed the buffer objects whose release was deferred until idle.
 * Returns 0 or a negative errno.
 */
static int suspend_empty(struct pagoda_vidmm *vidmm)
{
	struct pagoda_plug plug;
	int ret;

	suspend_settle(vidmm);
	pagoda_stream_plug(vidmm, &plug);
	ret = suspend_leave_all(vidmm);
	pagoda_stream_unplug(vidmm, &plug);
	pagoda_stream_wait_idle(vidmm, MAX_SCHEDULE_TIMEOUT);
	flush_workqueue(vidmm->ttm.wq);
	suspend_settle(vidmm);
	return ret;
}

/* Opens sections, has deferred work submitted and evicted allocations promoted back to VRAM. */
static void suspend_go_on(struct pagoda_vidmm *vidmm)
{
	pagoda_sections_open(vidmm);
	pagoda_deferred_kick(vidmm);
	pagoda_promote_kick(vidmm);
}

static int suspend_prepare(struct pagoda_vidmm *vidmm)
{
	int ret;

	suspend_settle(vidmm);
	pagoda_stream_flush(vidmm);
	ret = pagoda_room_wait_idle(vidmm, false, SUSPEND_JOBS_WAIT);
	if (ret) {
		drm_err(vidmm->drm, "jobs don't end: the machine can't sleep\n");
		return -EBUSY;
	}
	return suspend_empty(vidmm);
}

/**
 * pagoda_vidmm_prepare_sleep() - Evict VRAM before it loses its content
 * @vidmm: Manager
 * @kind: How the machine will sleep; determines which part of VRAM the device preserves (C197)
 *
 * After success sections are closed, all jobs have ended, and the part of VRAM that the device
 * doesn't preserve has no content that matters.
 *
 * Context: Sleeps for long, allocates, may wait for disks: to be called before other devices sleep.
 * Outside of sections and of reservations.
 * Return: 0, to be undone with pagoda_vidmm_end_sleep(); or an error, after which sections are
 * open, allocations may be in other places, and offered content may be discarded: -EBUSY if jobs
 * don't end or an allocation that must leave is pinned; -ENOMEM; another error of an eviction; or
 * an error of pagoda_swizzle_release(), which loses the allocation's content.
 */
int pagoda_vidmm_prepare_sleep(struct pagoda_vidmm *vidmm, enum pagoda_sleep kind)
{
	int ret;

	pagoda_sections_close(vidmm);
	vidmm->reset->kept = suspend_preserved(vidmm, kind);
	ret = suspend_prepare(vidmm);
	if (ret)
		suspend_go_on(vidmm);
	return ret;
}

/**
 * pagoda_vidmm_sleep() - Quiesce the device before it loses its power
 * @vidmm: Manager, prepared
 *
 * After success nothing is sent to the device until pagoda_vidmm_wake().
 *
 * Context: Sleeps; allocates only for allocations that came back to VRAM. User space is frozen.
 * Return: 0, also if the device is never used again; or an error, and the device isn't asleep:
 * -EBUSY if the manager isn't prepared; an error of pagoda_vidmm_prepare_sleep() for allocations
 * that are in VRAM, again or still; or that of pagoda_reset_request() if the device was given up
 * during the call. Content is lost only by a failure of the device: if the device was given up,
 * what VRAM still had.
 */
int pagoda_vidmm_sleep(struct pagoda_vidmm *vidmm)
{
	int ret;

	if (!READ_ONCE(vidmm->reset->shut)) {
		drm_err(vidmm->drm, "the sleep of the machine wasn't prepared\n");
		return -EBUSY;
	}
	/* The device is still asleep from the last call. */
	if (READ_ONCE(vidmm->reset->asleep))
		return 0;
	/* Repeat if the device was reset for another reason: the rebuild may have filled VRAM. */
	do {
		ret = suspend_empty(vidmm);
		/*
		 * A device that is never used again can't be reset, and needn't be: no job runs,
		 * and VRAM has no content left that the sleep would destroy.
		 */
		if (ret || READ_ONCE(vidmm->reset->dead))
			return ret;
		ret = pagoda_reset_request(vidmm, PAGODA_RESET_SLEEP);
	} while (!ret && !READ_ONCE(vidmm->reset->asleep));
	return ret;
}

/**
 * pagoda_vidmm_wake() - Rebuild the device after it got power again
 * @vidmm: Manager
 * @error: 0; or a negative errno if the device doesn't work: then the device is never used again
 *
 * To be called even if the machine didn't sleep in the end. Does nothing unless
 * pagoda_vidmm_sleep() put the device to sleep.
 *
 * Context: Sleeps for as long as a rebuild takes; allocates, but waits for no disk.
 * Return: 0, or -ENODEV if the device was asleep and is never used again.
 */
int pagoda_vidmm_wake(struct pagoda_vidmm *vidmm, int error)
{
	return pagoda_reset_wake(vidmm, error);
}

/**
 * pagoda_vidmm_end_sleep() - Open sections after a sleep of the machine
 * @vidmm: Manager, prepared, whether it slept or not
 *
 * A device that is still asleep wasn't woken: it is never used again, so that no thread waits for
 * its rebuild for ever.
 *
 * Context: May sleep.
 */
void pagoda_vidmm_end_sleep(struct pagoda_vidmm *vidmm)
{
	pagoda_reset_wake(vidmm, -ENODEV);
	suspend_go_on(vidmm);
}
