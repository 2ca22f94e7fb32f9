// SPDX-License-Identifier: GPL-2.0
/* Deferred work is looked at again after anything that it may wait for. */
#include <linux/workqueue.h>
#include "core/compat.h"
#include "core/core.h"
#include "fence.h"
#include "sync.h"

/**
 * pagoda_deferred_kick() - Have all queues look up again what their next items wait for
 * @vidmm: Manager
 *
 * Context: Any.
 */
void pagoda_deferred_kick(struct pagoda_vidmm *vidmm)
{
	struct pagoda_deferred *queue;
	unsigned long flags;

	if (list_empty_careful(&vidmm->deferred))
		return;
	spin_lock_irqsave(&vidmm->deferred_lock, flags);
	list_for_each_entry(queue, &vidmm->deferred, entry)
		mod_delayed_work(system_dfl_wq, &queue->work, 0);
	spin_unlock_irqrestore(&vidmm->deferred_lock, flags);
}
