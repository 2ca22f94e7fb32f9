// SPDX-License-Identifier: GPL-2.0
/* Prints the last resets of the device, for debugfs and coredumps, and names reasons of resets. */
#include <linux/mutex.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/life.h"
#include "internal.h"
#include "recover.h"

/**
 * pagoda_vidmm_print_resets() - Print the number of resets, and when and why the last ones happened
 * @vidmm: Manager
 * @p: Printer
 *
 * Context: May sleep.
 */
void pagoda_vidmm_print_resets(struct pagoda_vidmm *vidmm, struct drm_printer *p)
{
	struct pagoda_reset *reset = vidmm->reset;
	u32 i;

	mutex_lock(&reset->lock);
	drm_printf(p, "resets: %llu%s%s\n", pagoda_reset_count(vidmm),
		   reset->pending ? ", not rebuilt" : "", reset->dead ? ", dead" : "");
	for (i = reset->nr_notes - min_t(u32, reset->nr_notes, PAGODA_RESET_NOTES);
	     i < reset->nr_notes; i++) {
		const struct pagoda_reset_note *note = &reset->notes[i % PAGODA_RESET_NOTES];
		char names[PAGODA_RESET_NAMES];

		pagoda_reset_names(note->reasons, names);
		drm_printf(p, "%u: %s, at %llu ns, rebuilt at %llu ns, ", i + 1, names,
			   note->begun_ns, note->rebuilt_ns);
		drm_printf(p, "result %d, given up %llu, lost %u\n", note->result,
			   note->given_up, note->lost);
	}
	mutex_unlock(&reset->lock);
}

static const char * const reset_reasons[PAGODA_RESET_REASONS] = {
	[PAGODA_RESET_PAGING] = "paging",
	[PAGODA_RESET_ENGINE] = "engine",
	[PAGODA_RESET_DEVICE] = "device",
	[PAGODA_RESET_ASKED] = "asked for",
	[PAGODA_RESET_SLEEP] = "sleep",
};

/* Writes the names of the bits in @reasons into @names, which has %PAGODA_RESET_NAMES bytes. */
void pagoda_reset_names(u32 reasons, char *names)
{
	int i, len = 0;

	names[0] = '\0';
	for (i = 0; i < PAGODA_RESET_REASONS; i++)
		if (reasons & BIT(i))
			len += scnprintf(names + len, PAGODA_RESET_NAMES - len, "%s%s",
					 len ? "+" : "", reset_reasons[i]);
}
