// SPDX-License-Identifier: GPL-2.0
/*
 * Tells whether the device is being reset or rebuilt, and how often the device was reset; waits for
 * the end of the rebuild.
 */
#include "core.h"
#include "life.h"

/**
 * pagoda_reset_count() - Get the number of resets that user space is told of
 * @vidmm: Manager
 *
 * Context: Any.
 * Return: The number of resets of the device that succeeded since probe, without sleeps.
 */
u64 pagoda_reset_count(struct pagoda_vidmm *vidmm)
{
	return atomic64_read(&vidmm->reset->counted);
}

/**
 * pagoda_reset_epoch() - Get the epoch: the number of resets and sleeps since probe
 * @vidmm: Manager
 *
 * Content that was written to VRAM in an earlier epoch counts as lost. In the rebuild, content that
 * the device preserved in a sleep gets the epoch that began with the sleep.
 *
 * Context: Any.
 * Return: The number of resets of the device; each sleep of the machine counts as one, too.
 */
u64 pagoda_reset_epoch(struct pagoda_vidmm *vidmm)
{
	return atomic64_read_acquire(&vidmm->resets);
}

/**
 * pagoda_reset_is_hidden() - Tell whether VRAM must not be mapped for the CPU
 * @vidmm: Manager
 *
 * The CPU must not see VRAM between a reset of the device and the end of the rebuild. A caller
 * first makes a CPU mapping, then calls this function: if the function returns false, a later
 * reset's reset_hide_work() finds the mapping and removes it.
 *
 * Context: Any.
 * Return: True while the CPU must not map VRAM; pagoda_reset_wait() waits until the CPU may map
 * VRAM.
 */
bool pagoda_reset_is_hidden(struct pagoda_vidmm *vidmm)
{
	/*
	 * The caller's mapping can be found before @hidden is read: this barrier pairs with that in
	 * reset_hide().
	 */
	smp_mb();
	return READ_ONCE(vidmm->reset->hidden);
}

/**
 * pagoda_reset_is_pending() - Tell whether the device was reset and isn't rebuilt yet
 * @vidmm: Manager
 *
 * Paging operations that were emitted before the rebuild restarts the stream, and weren't executed
 * before the reset, are given up.
 *
 * Context: Any.
 * Return: True from the reset until the end of the rebuild.
 */
bool pagoda_reset_is_pending(struct pagoda_vidmm *vidmm)
{
	return READ_ONCE(vidmm->reset->pending);
}

/**
 * pagoda_reset_wait() - Wait until the CPU may map VRAM
 * @vidmm: Manager
 *
 * Waits for the end of a rebuild, or until the device is known to be never used again.
 *
 * Context: Sleeps; outside of sections. A fatal signal ends the wait, too.
 */
void pagoda_reset_wait(struct pagoda_vidmm *vidmm)
{
	wait_event_killable(vidmm->reset->rebuilt, !pagoda_reset_is_hidden(vidmm));
}
