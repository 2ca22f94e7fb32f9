// SPDX-License-Identifier: GPL-2.0
/* The device's life: whether it is being reset, and how often it was. */
#include "core.h"
#include "life.h"

/**
 * pagoda_reset_count() - Get the number of resets that cost content, as reported to user space
 * @vidmm: Manager
 *
 * Context: Any.
 * Return: The number of resets without sleeps.
 */
u64 pagoda_reset_count(struct pagoda_vidmm *vidmm)
{
	return atomic64_read(&vidmm->reset->counted);
}

/**
 * pagoda_reset_epoch() - Get the epoch: the number of resets, sleeps included
 * @vidmm: Manager
 *
 * Content that was written to VRAM in an earlier epoch is lost.
 *
 * Context: Any.
 * Return: The number of resets.
 */
u64 pagoda_reset_epoch(struct pagoda_vidmm *vidmm)
{
	return atomic64_read_acquire(&vidmm->resets);
}

/**
 * pagoda_reset_is_hidden() - Tell whether VRAM must not be mapped for the CPU
 * @vidmm: Manager
 *
 * The CPU must not see VRAM between a reset and the end of its rebuild. The caller first makes the
 * mapping, then calls this function: either it returns true, or reset_hide_work() finds the
 * mapping.
 *
 * Context: Any.
 * Return: True while CPU mappings must show nothing; pagoda_reset_wait() waits for the end.
 */
bool pagoda_reset_is_hidden(struct pagoda_vidmm *vidmm)
{
	/* Pairs with reset_hide(): the mapping is visible before @hidden is read. */
	smp_mb();
	return READ_ONCE(vidmm->reset->hidden);
}

/**
 * pagoda_reset_is_pending() - Tell whether the device was reset and isn't rebuilt yet
 * @vidmm: Manager
 *
 * Meanwhile other paging operations are given up, or wait behind those of the rebuild.
 *
 * Context: Any.
 * Return: True from the reset until the end of the rebuild.
 */
bool pagoda_reset_is_pending(struct pagoda_vidmm *vidmm)
{
	return READ_ONCE(vidmm->reset->pending);
}

/**
 * pagoda_reset_wait() - Wait until the device is rebuilt
 * @vidmm: Manager
 *
 * Context: Sleeps; outside of sections. A fatal signal ends the wait.
 */
void pagoda_reset_wait(struct pagoda_vidmm *vidmm)
{
	wait_event_killable(vidmm->reset->rebuilt, !pagoda_reset_is_hidden(vidmm));
}
