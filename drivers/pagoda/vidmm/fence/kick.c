// SPDX-License-Identifier: GPL-2.0
/* Functions that run the workers of queues of deferred work, to test the next item again. */
#include <linux/workqueue.h>
#include "core/compat.h"
#include "core/core.h"
#include "fence.h"
#include "sync.h"

/*
 * Queues the worker of a queue of deferred work, which tests the next item again. Any context; not
 * after pagoda_deferred_cancel().
 */
void pagoda_deferred_again(struct pagoda_deferred *queue)
{
	mod_delayed_work(system_dfl_wq, &queue->work, 0);
}

/**
 * pagoda_deferred_kick() - Run the workers of all queues of deferred work that have items
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
		pagoda_deferred_again(queue);
	spin_unlock_irqrestore(&vidmm->deferred_lock, flags);
}
