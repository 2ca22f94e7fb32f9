// SPDX-License-Identifier: GPL-2.0
/*
 * The machine sleeps: VRAM loses its content, allocations don't.
 *
 *	prepare		user space still runs, or is about to be frozen, and memory can be
 *			had: the gate is shut, jobs end, what is in VRAM goes to system memory.
 *			All that can fail fails here, and then nothing has happened
 *	sleep		user space is frozen: phase 1 of a reset (reset.h). Allocates nothing, as
 *			nothing came back
 *	wake		there is power again: phase 2. Hibernation wakes the device to write the
 *			image, and has it sleep once more: what the rebuild brought leaves again
 *	end		the gate is opened
 *
 * What left VRAM comes back as after any eviction: with the next submission that lists it, or
 * by itself when the gate is open (promote.c); a page fault maps it where it is. What was
 * offered is dropped instead (C198), page tables are gutted: mmu/ knows what was in them. VRAM
 * that the device preserves isn't touched (C197); what is in it is of the new epoch when the
 * device wakes.
 *
 * Work that waits (deferred.c) waits on: its workers don't get through the gate.
 */
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include <pagoda/virtio.h>
#include "vidmm.h"

/*
 * For all jobs that were accepted to end. One that hangs is ended much earlier; those that
 * wait for other devices may take their time.
 */
#define SUSPEND_JOBS_WAIT	(60 * HZ)

static u64 suspend_preserved(const struct pagoda_vidmm *vidmm, enum pagoda_sleep kind)
{
	if (kind == PAGODA_SLEEP_STANDBY)
		return vidmm->info->preserved_standby;
	return vidmm->info->preserved_hibernate;
}

/* Does all of it outlive the sleep? */
static bool suspend_keeps(struct pagoda_bo *bo)
{
	u64 kept = bo->vidmm->reset.kept;
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

/* As TTM evicts it to make room. */
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

	/* What the CPU sees in a window isn't in VRAM. */
	if (!suspend_must_leave(bo))
		return pagoda_swizzle_release(bo);
	ret = bo->ttm.pin_count ? -EBUSY : pagoda_offer_drop(bo);
	if (!ret && suspend_must_leave(bo))
		ret = suspend_evict(bo);
	if (ret)
		drm_err(bo->vidmm->drm, "allocation %llu can't leave VRAM (%d)\n", bo->id, ret);
	return ret;
}

static int suspend_leave_all(struct pagoda_vidmm *vidmm)
{
	struct pagoda_bo *bo;
	unsigned long id = 0;
	int ret = 0;

	for (; !ret && (bo = pagoda_bo_next(vidmm, &id)); id++) {
		dma_resv_lock(bo->ttm.base.resv, NULL);
		ret = suspend_leave(bo);
		dma_resv_unlock(bo->ttm.base.resv);
		drm_gem_object_put(&bo->ttm.base);
	}
	return ret;
}

/* A reset that is due goes before; a copy that broke the device has it rebuilt once more. */
static void suspend_settle(struct pagoda_vidmm *vidmm)
{
	wait_event(vidmm->reset.rebuilt, !pagoda_reset_is_pending(vidmm));
}

/* All copies are through, and who only waits to be gone is. */
static int suspend_empty(struct pagoda_vidmm *vidmm)
{
	int ret;

	suspend_settle(vidmm);
	pagoda_stream_plug(vidmm);
	ret = suspend_leave_all(vidmm);
	pagoda_stream_unplug(vidmm);
	pagoda_stream_wait_idle(vidmm, MAX_SCHEDULE_TIMEOUT);
	flush_workqueue(vidmm->ttm.wq);
	suspend_settle(vidmm);
	return ret;
}

/* What left has had nobody to make room for. */
static void suspend_go_on(struct pagoda_vidmm *vidmm)
{
	pagoda_gate_open(vidmm);
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
 * pagoda_vidmm_prepare_sleep() - Get ready for VRAM to lose its content
 * @vidmm: The manager
 * @kind: How the machine will sleep: decides what the device preserves (C197)
 *
 * Nobody gets through the gate from here on; jobs have ended; nothing is in VRAM that won't
 * be there afterwards.
 *
 * Context: Sleeps for long, allocates, waits for disks: before anything of the machine sleeps.
 * Outside of the gate and of reservations.
 * Return: 0, pagoda_vidmm_end_sleep() it; or nothing has changed but where allocations are:
 * -EBUSY (jobs don't end, or something is pinned), -ENOMEM.
 */
int pagoda_vidmm_prepare_sleep(struct pagoda_vidmm *vidmm, enum pagoda_sleep kind)
{
	int ret;

	pagoda_gate_shut(vidmm);
	vidmm->reset.kept = suspend_preserved(vidmm, kind);
	ret = suspend_prepare(vidmm);
	if (ret)
		suspend_go_on(vidmm);
	return ret;
}

/**
 * pagoda_vidmm_sleep() - The device is about to lose its power
 * @vidmm: The manager, prepared
 *
 * Nothing is sent to the device from here on, until pagoda_vidmm_wake().
 *
 * Context: Sleeps; allocates only for what came back to VRAM since. Nobody executes user
 * space's code.
 * Return: 0; or nothing is lost: -EBUSY if it isn't prepared; for what came back, the same
 * as pagoda_vidmm_prepare_sleep().
 */
int pagoda_vidmm_sleep(struct pagoda_vidmm *vidmm)
{
	int ret;

	if (!READ_ONCE(vidmm->reset.shut)) {
		drm_err(vidmm->drm, "nobody said that the machine would sleep\n");
		return -EBUSY;
	}
	/* Nobody woke it since the last time. */
	if (READ_ONCE(vidmm->reset.asleep))
		return 0;
	/* A reset for another reason may come first: then its rebuild uses the device. */
	do {
		ret = suspend_empty(vidmm);
		/* One that is never used again has nothing to forget. */
		if (ret || READ_ONCE(vidmm->reset.dead))
			return ret;
		ret = pagoda_reset_request(vidmm, PAGODA_RESET_SLEEP);
	} while (!ret && !READ_ONCE(vidmm->reset.asleep));
	return ret;
}

/**
 * pagoda_vidmm_wake() - The device has power again
 * @vidmm: The manager
 * @error: 0; or why the device can't be used: it never is again then
 *
 * Also if the machine didn't sleep in the end. Nothing happens unless pagoda_vidmm_sleep() did.
 *
 * Context: Sleeps for as long as a rebuild takes; allocates, without disks.
 * Return: 0, or -ENODEV if the device is never used again.
 */
int pagoda_vidmm_wake(struct pagoda_vidmm *vidmm, int error)
{
	return pagoda_reset_wake(vidmm, error);
}

/**
 * pagoda_vidmm_end_sleep() - Go on
 * @vidmm: The manager, prepared; it slept since or it didn't
 *
 * A device that nobody woke is never used again: who waits must not wait for ever.
 *
 * Context: May sleep.
 */
void pagoda_vidmm_end_sleep(struct pagoda_vidmm *vidmm)
{
	pagoda_reset_wake(vidmm, -ENODEV);
	suspend_go_on(vidmm);
}

/**
 * pagoda_suspend_kept() - An allocation may be where VRAM kept its content
 * @bo: Allocation, reservation held; the device is rebuilt
 *
 * What has to leave VRAM had left it: all that is there of the epoch that ended with the sleep
 * was preserved.
 *
 * Context: Any.
 */
void pagoda_suspend_kept(struct pagoda_bo *bo)
{
	struct pagoda_vidmm *vidmm = bo->vidmm;

	if (bo->epoch == READ_ONCE(vidmm->reset.kept_epoch) && pagoda_lost_is_stale(bo))
		bo->epoch = pagoda_reset_epoch(vidmm);
}
