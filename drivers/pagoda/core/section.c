// SPDX-License-Identifier: GPL-2.0
/*
 * Sections: an operation that touches the device's memory or its queues is in a section. Sections
 * are closed while the device is rebuilt after a reset, and while the machine sleeps: rebuild and
 * sleep first wait for the threads that are in a section.
 *
 * Therefore a section is short. A call copies its arguments from user memory before it enters a
 * section, and its results after it left the section. To wait for what depends on a client, as a
 * point of a syncobj or room in a queue, a thread leaves the section, waits, and enters again. A
 * thread is in one section at a time, which lockdep checks.
 *
 *	calls of user space	enter outside of all locks, and wait while sections are closed
 *	closing			of handles, objects and clients can't fail: such a call or work item
 *				enters in spite of signals, and also when the device was removed
 *	other work items	don't wait for closed sections, but try again later: a thread that
 *				waits for a work item may have to be frozen before the machine
 *				sleeps
 *
 * TTM's worker, CPU faults, swapping and dma-buf's calls enter no section; rebuild.c says why they
 * needn't.
 */
#include <linux/sched.h>
#include <drm/drm_drv.h>
#include "core.h"
#include "life.h"

/*
 * Returns whether no section may begin. That includes the time in which a rebuild is due but hasn't
 * begun: paging that is emitted before the rebuild begins would be given up.
 */
static bool sections_are_closed(const struct pagoda_reset *reset)
{
	return READ_ONCE(reset->pending) || READ_ONCE(reset->shut);
}

/*
 * State of a thread that waits until sections are open and ignores signals. The freezer may freeze
 * the waiting thread, else the machine couldn't sleep; even (_UNSAFE) if callers outside of the
 * driver hold locks, which don't keep other threads from being frozen.
 */
#define SECTION_SLEEP	(TASK_UNINTERRUPTIBLE | TASK_FREEZABLE_UNSAFE)

/**
 * pagoda_enter() - Enter a section
 * @vidmm: Memory manager
 *
 * Waits while sections are closed. Until pagoda_leave() no rebuild of the device begins, the
 * machine doesn't sleep, and pagoda_sections_drain() waits.
 *
 * Context: May sleep for long. Outside of all locks and sections.
 * Return: 0, to be followed by pagoda_leave(), also if the device can't be reset and is never used
 * again; -ENODEV if the device was removed; or -ERESTARTSYS if a signal ended the wait.
 */
int pagoda_enter(struct pagoda_vidmm *vidmm)
{
	struct pagoda_reset *reset = vidmm->reset;

	do {
		if (wait_event_interruptible(reset->rebuilt, !sections_are_closed(reset)) ||
		    down_read_interruptible(&reset->sections))
			return -ERESTARTSYS;
		if (!sections_are_closed(reset))
			break;
		up_read(&reset->sections);
	} while (true);
	/*
	 * A thread that finds the device not unplugged here is waited for by
	 * pagoda_sections_drain().
	 */
	if (!drm_dev_is_unplugged(vidmm->drm))
		return 0;
	up_read(&reset->sections);
	return -ENODEV;
}

/**
 * pagoda_enter_anyway() - Enter a section for an operation that can't fail
 * @vidmm: Memory manager
 *
 * As pagoda_enter(), but signals don't end the wait for open sections, and the device may have been
 * removed. To be followed by pagoda_leave().
 *
 * Context: May sleep for long. Outside of all locks and sections.
 */
void pagoda_enter_anyway(struct pagoda_vidmm *vidmm)
{
	struct pagoda_reset *reset = vidmm->reset;

	do {
		wait_event_state(reset->rebuilt, !sections_are_closed(reset), SECTION_SLEEP);
		down_read(&reset->sections);
		if (!sections_are_closed(reset))
			return;
		up_read(&reset->sections);
	} while (true);
}

/**
 * pagoda_try_enter() - Enter a section without waiting
 * @vidmm: Memory manager
 *
 * Context: Any but interrupts. Outside of sections.
 * Return: true if the caller is in a section; false if sections are closed, or are being closed,
 * opened or drained, or the device was removed.
 */
bool pagoda_try_enter(struct pagoda_vidmm *vidmm)
{
	struct pagoda_reset *reset = vidmm->reset;

	if (!down_read_trylock(&reset->sections))
		return false;
	if (!sections_are_closed(reset) && !drm_dev_is_unplugged(vidmm->drm))
		return true;
	up_read(&reset->sections);
	return false;
}

/**
 * pagoda_leave() - Leave a section
 * @vidmm: Memory manager
 *
 * Context: In a section, which the same thread entered.
 */
void pagoda_leave(struct pagoda_vidmm *vidmm)
{
	up_read(&vidmm->reset->sections);
}

static void sections_shut(struct pagoda_reset *reset, bool shut)
{
	lockdep_assert_held_write(&reset->sections);
	WRITE_ONCE(reset->shut, shut);
}

/**
 * pagoda_sections_close() - Close sections until pagoda_sections_open()
 * @vidmm: Memory manager
 *
 * Context: Sleeps until all threads have left their sections. Outside of sections.
 */
void pagoda_sections_close(struct pagoda_vidmm *vidmm)
{
	struct pagoda_reset *reset = vidmm->reset;

	down_write(&reset->sections);
	sections_shut(reset, true);
	up_write(&reset->sections);
}

/**
 * pagoda_sections_open() - Undo pagoda_sections_close()
 * @vidmm: Memory manager
 *
 * If a rebuild is due, sections stay closed until its end. After this function the caller calls
 * pagoda_deferred_kick(): work items that found sections closed go on.
 *
 * Context: May sleep.
 */
void pagoda_sections_open(struct pagoda_vidmm *vidmm)
{
	struct pagoda_reset *reset = vidmm->reset;

	down_write(&reset->sections);
	sections_shut(reset, false);
	up_write(&reset->sections);
	wake_up_all(&reset->rebuilt);
}

/**
 * pagoda_sections_drain() - Wait for all threads that entered before the device was unplugged
 * @vidmm: Memory manager
 *
 * Context: Sleeps. Outside of sections.
 */
void pagoda_sections_drain(struct pagoda_vidmm *vidmm)
{
	down_write(&vidmm->reset->sections);
	up_write(&vidmm->reset->sections);
}

/**
 * pagoda_assert_entered() - Have lockdep check that the caller is in a section or is the rebuild
 * @vidmm: Memory manager
 */
void pagoda_assert_entered(struct pagoda_vidmm *vidmm)
{
	lockdep_assert_held(&vidmm->reset->sections);
}
