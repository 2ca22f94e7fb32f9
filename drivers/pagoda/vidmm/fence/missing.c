// SPDX-License-Identifier: GPL-2.0
/*
 * Queues of deferred work whose next item waits for a timeline point that doesn't exist yet.
 *
 * A syncobj doesn't tell the driver when it gets a point. Functions of this driver that give a
 * syncobj a point run the workers of the queues that miss a point of this syncobj; for points that
 * are added elsewhere, one poller runs the workers. The poller runs a limited number of
 * workers per tick, and clients take turns: a client with many waiting queues delays its own
 * queues, not those of other clients.
 */
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/workqueue.h>
#include <drm/drm_managed.h>
#include "core/compat.h"
#include "core/core.h"
#include "vidmm/ledger/client.h"
#include "fence.h"
#include "sync.h"

/* Jiffies between two ticks of the poller, and most queues whose worker a tick runs. */
#define MISSING_TICK	(HZ / 100 ?: 1)
#define MISSING_TURNS	16
/* Longest interval between two runs of a queue's worker by the poller, in jiffies. */
#define MISSING_PATIENCE	(HZ / 20 ?: 1)

#define MISSING_BITS	8

/**
 * struct pagoda_missing - Queues whose next item misses a point
 * @lock: Protects all members below and &pagoda_deferred.missing; taken in process context
 * @by_syncobj: Queues, linked by &pagoda_deferred.by_syncobj, hashed by &pagoda_deferred.missing
 * @clients: Clients that have such queues, linked by &pagoda_payer.turn, the next to poll first
 * @poll: The poller: runs the workers of the queues, in turn
 */
struct pagoda_missing {
	spinlock_t lock;	/* protects all below */
	struct hlist_head by_syncobj[1 << MISSING_BITS];
	struct list_head clients;
	struct delayed_work poll;
};

static struct hlist_head *missing_bucket(struct pagoda_missing *missing,
					 const struct drm_syncobj *syncobj)
{
	return &missing->by_syncobj[hash_ptr(syncobj, MISSING_BITS)];
}

static void missing_leave(struct pagoda_missing *missing, struct pagoda_deferred *queue)
{
	lockdep_assert_held(&missing->lock);
	if (!queue->missing)
		return;
	hlist_del(&queue->by_syncobj);
	list_del(&queue->polled);
	if (list_empty(&queue->payer->missing))
		list_del_init(&queue->payer->turn);
	queue->missing = NULL;
}

/*
 * Moves the first client, and its first queue, to the end of their lists. Runs the worker of that
 * queue if &pagoda_deferred.due has come.
 */
static void missing_turn(struct pagoda_missing *missing)
{
	struct pagoda_payer *payer = list_first_entry(&missing->clients, struct pagoda_payer, turn);
	struct pagoda_deferred *queue = list_first_entry(&payer->missing, struct pagoda_deferred,
							 polled);

	lockdep_assert_held(&missing->lock);
	list_move_tail(&payer->turn, &missing->clients);
	list_move_tail(&queue->polled, &payer->missing);
	if (time_before(jiffies, queue->due))
		return;
	queue->due = jiffies + queue->interval;
	queue->interval = min_t(unsigned long, 2 * queue->interval, MISSING_PATIENCE);
	pagoda_deferred_again(queue);
}

static void missing_poll(struct work_struct *work)
{
	struct pagoda_missing *missing = container_of(to_delayed_work(work), struct pagoda_missing,
						      poll);
	u32 n;

	spin_lock(&missing->lock);
	for (n = 0; n < MISSING_TURNS && !list_empty(&missing->clients); n++)
		missing_turn(missing);
	if (!list_empty(&missing->clients))
		queue_delayed_work(system_dfl_wq, &missing->poll, MISSING_TICK);
	spin_unlock(&missing->lock);
}

static void missing_end(struct drm_device *drm, void *data)
{
	struct pagoda_missing *missing = data;

	cancel_delayed_work_sync(&missing->poll);
}

/* Sets up the poller. Returns 0 or a negative errno. */
int pagoda_missing_init(struct pagoda_vidmm *vidmm)
{
	struct pagoda_missing *missing = drmm_kzalloc(vidmm->drm, sizeof(*missing), GFP_KERNEL);

	if (!missing)
		return -ENOMEM;
	vidmm->missing = missing;
	spin_lock_init(&missing->lock);
	INIT_LIST_HEAD(&missing->clients);
	INIT_DELAYED_WORK(&missing->poll, missing_poll);
	return drmm_add_action(vidmm->drm, missing_end, missing);
}

/*
 * Notes that the next item of a queue misses a point of @syncobj; NULL = misses none. The caller
 * looks for the point once more afterwards, because the point may have come before the note. Called
 * by the queue's worker only.
 */
void pagoda_missing_note(struct pagoda_deferred *queue, struct drm_syncobj *syncobj)
{
	struct pagoda_missing *missing = queue->vidmm->missing;

	if (READ_ONCE(queue->missing) == syncobj)
		return;
	spin_lock(&missing->lock);
	missing_leave(missing, queue);
	if (syncobj) {
		queue->missing = syncobj;
		queue->interval = 1;
		queue->due = jiffies;
		hlist_add_head(&queue->by_syncobj, missing_bucket(missing, syncobj));
		list_add_tail(&queue->polled, &queue->payer->missing);
		if (list_empty(&queue->payer->turn))
			list_add_tail(&queue->payer->turn, &missing->clients);
		queue_delayed_work(system_dfl_wq, &missing->poll, MISSING_TICK);
	}
	spin_unlock(&missing->lock);
}

/* Runs the workers of queues that miss a point of @syncobj, which got a point. Process context. */
void pagoda_missing_came(struct pagoda_vidmm *vidmm, struct drm_syncobj *syncobj)
{
	struct pagoda_missing *missing = vidmm->missing;
	struct pagoda_deferred *queue;

	spin_lock(&missing->lock);
	hlist_for_each_entry(queue, missing_bucket(missing, syncobj), by_syncobj)
		if (queue->missing == syncobj)
			pagoda_deferred_again(queue);
	spin_unlock(&missing->lock);
}

/* Runs the workers of a client's queues that miss a point, which may have come. Process context. */
void pagoda_missing_kick(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	struct pagoda_missing *missing = vidmm->missing;
	struct pagoda_deferred *queue;

	spin_lock(&missing->lock);
	list_for_each_entry(queue, &client->payer.missing, polled)
		pagoda_deferred_again(queue);
	spin_unlock(&missing->lock);
}
