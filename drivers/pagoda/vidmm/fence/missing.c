// SPDX-License-Identifier: GPL-2.0
/*
 * Queues of deferred work whose next item waits for a point of a syncobj that doesn't exist yet;
 * the fence of a binary syncobj counts as a point.
 *
 * A syncobj doesn't tell the driver when it gets a point. Functions of this driver that give a
 * syncobj a point run the workers of the queues that miss a point of this syncobj. For points that
 * are added elsewhere, a poller (missing_poll()) runs the workers of all queues that miss a point,
 * again and again. The poller runs a limited number of workers per tick, and clients take turns: a
 * client with many waiting queues delays its own queues, not those of other clients.
 */
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/workqueue.h>
#include <drm/drm_managed.h>
#include "core/compat.h"
#include "core/core.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "fence.h"
#include "internal.h"
#include "sync.h"

/* MISSING_TICK: jiffies between two calls of missing_poll(). MISSING_TURNS: most turns per call. */
#define MISSING_TICK	(HZ / 100 ?: 1)
#define MISSING_TURNS	16
/* Largest &pagoda_deferred.interval, in jiffies, at which missing_poll() runs a queue's worker. */
#define MISSING_PATIENCE	(HZ / 20 ?: 1)

static struct pagoda_missing_bucket *missing_bucket(struct pagoda_missing *missing,
						    const struct drm_syncobj *syncobj)
{
	return &missing->by_syncobj[hash_ptr(syncobj, PAGODA_MISSING_BITS)];
}

static void missing_leave(struct pagoda_missing *missing, struct pagoda_deferred *queue)
{
	struct pagoda_missing_bucket *bucket = missing_bucket(missing, queue->missing);

	lockdep_assert_held(&missing->lock);
	if (!queue->missing)
		return;
	spin_lock(&bucket->lock);
	hlist_del(&queue->by_syncobj);
	queue->missing = NULL;
	spin_unlock(&bucket->lock);
	list_del(&queue->polled);
	queue->payer->nr_missing--;
	if (list_empty(&queue->payer->missing))
		list_del_init(&queue->payer->turn);
}

static void missing_enter(struct pagoda_missing *missing, struct pagoda_deferred *queue,
			  struct drm_syncobj *syncobj)
{
	struct pagoda_missing_bucket *bucket = missing_bucket(missing, syncobj);

	lockdep_assert_held(&missing->lock);
	spin_lock(&bucket->lock);
	queue->missing = syncobj;
	hlist_add_head(&queue->by_syncobj, &bucket->queues);
	spin_unlock(&bucket->lock);
	list_add_tail(&queue->polled, &queue->payer->missing);
	queue->payer->nr_missing++;
	if (list_empty(&queue->payer->turn))
		list_add_tail(&queue->payer->turn, &missing->clients);
}

/*
 * Moves the first client, and this client's first queue, to the end of their lists. If the queue's
 * &pagoda_deferred.due has come, runs the queue's worker, sets the next due, and doubles the
 * interval up to MISSING_PATIENCE. Caller holds &pagoda_missing.lock.
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

/*
 * Allocates the empty lists of queues whose next item misses a point of a syncobj, with the work
 * item that runs the workers of these queues again and again. Returns 0 or -ENOMEM.
 */
int pagoda_missing_init(struct pagoda_vidmm *vidmm)
{
	struct pagoda_missing *missing = drmm_kzalloc(vidmm->drm, sizeof(*missing), GFP_KERNEL);
	u32 i;

	if (!missing)
		return -ENOMEM;
	vidmm->missing = missing;
	spin_lock_init(&missing->lock);
	for (i = 0; i < ARRAY_SIZE(missing->by_syncobj); i++)
		spin_lock_init(&missing->by_syncobj[i].lock);
	INIT_LIST_HEAD(&missing->clients);
	INIT_DELAYED_WORK(&missing->poll, missing_poll);
	return drmm_add_action(vidmm->drm, missing_end, missing);
}

/*
 * Notes that the next item of a queue misses a point of @syncobj: has the queue's worker run when
 * the syncobj gets a point, and again and again in case this driver isn't told; the caller then
 * looks for the point once more, because the point may have come before this call. If @syncobj is
 * NULL, the item misses no point: ends these runs. Called by the queue's worker only.
 */
void pagoda_missing_note(struct pagoda_deferred *queue, struct drm_syncobj *syncobj)
{
	struct pagoda_missing *missing = queue->vidmm->missing;

	if (READ_ONCE(queue->missing) == syncobj)
		return;
	spin_lock(&missing->lock);
	missing_leave(missing, queue);
	if (syncobj) {
		queue->interval = 1;
		queue->due = jiffies;
		missing_enter(missing, queue, syncobj);
		queue_delayed_work(system_dfl_wq, &missing->poll, MISSING_TICK);
	}
	spin_unlock(&missing->lock);
}

/*
 * Runs the workers of queues that miss a point of @syncobj, which got a point. Delays no call for
 * another syncobj, unless both have the same bucket. Process context.
 */
void pagoda_missing_came(struct pagoda_vidmm *vidmm, struct drm_syncobj *syncobj)
{
	struct pagoda_missing_bucket *bucket = missing_bucket(vidmm->missing, syncobj);
	struct pagoda_deferred *queue;

	spin_lock(&bucket->lock);
	hlist_for_each_entry(queue, &bucket->queues, by_syncobj)
		if (queue->missing == syncobj)
			pagoda_deferred_again(queue);
	spin_unlock(&bucket->lock);
}

/*
 * Runs the workers of the next few of a client's queues that miss a point, at most *@left, and
 * moves these queues to the end of the client's list. Lowers *@left by the number of the queues; to
 * 0 if the client has no queue that misses a point.
 */
static void missing_kick_some(struct pagoda_client *client, u32 *left)
{
	struct pagoda_deferred *queue;
	u32 n;

	for (n = 0; n < PAGODA_WALK_SLICE && *left; n++, --*left) {
		queue = list_first_entry_or_null(&client->payer.missing, struct pagoda_deferred,
						 polled);
		if (!queue) {
			*left = 0;
			return;
		}
		list_move_tail(&queue->polled, &client->payer.missing);
		pagoda_deferred_again(queue);
	}
}

/*
 * Runs the workers of all queues of a client that miss a point, because the point may have come.
 * May sleep: drops the lock after every few queues, so that other clients needn't wait for a
 * client with many such queues.
 */
void pagoda_missing_kick(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	struct pagoda_missing *missing = vidmm->missing;
	u32 left;

	spin_lock(&missing->lock);
	left = client->payer.nr_missing;
	while (left) {
		missing_kick_some(client, &left);
		spin_unlock(&missing->lock);
		pagoda_walk_pause();
		spin_lock(&missing->lock);
	}
	spin_unlock(&missing->lock);
}
