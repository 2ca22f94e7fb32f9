// SPDX-License-Identifier: GPL-2.0
/*
 * Groups of waits for several monitored fences, all or any of them (C181): a thread sleeps until
 * the group is over, or an eventfd is signalled then, unless a wait failed.
 *
 * A group with an eventfd has no thread that waits: a work item frees the group when it is over, or
 * the group is freed when its client is closed.
 */
#include <linux/completion.h>
#include <linux/eventfd.h>
#include <linux/slab.h>
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "fence.h"
#include "internal.h"

#define GROUP_NO_WAIT	U32_MAX

/* A group of waits for monitored fences; over when all of the waits have ended, or any of them. */
struct pagoda_mfence_group {
	struct pagoda_vidmm *vidmm;
	struct completion over;		/* completed when the group is over, unless @event is set */
	atomic_t left;			/* waits that still have to end; 0 or less: over */
	u32 first;			/* index of the wait satisfied first, or GROUP_NO_WAIT */
	bool any;			/* over when any wait has ended, else when all have */
	int error;			/* first error with which a wait ended, or 0 */
	struct eventfd_ctx *event;	/* signalled when over without an error, or NULL */
	struct pagoda_client *client;	/* with @event: creator of the group, a reference */
	struct list_head link;		/* with @event: in &pagoda_client.groups, or empty */
	struct work_struct work;	/* with an eventfd: frees the group */
	u32 count;
	struct pagoda_mfence_wait waits[] __counted_by(count);
};

/*
 * Called when a group is over: wakes the waiting thread; or, if the group has an eventfd, signals
 * the eventfd, unless a wait failed, and has group_work() free the group. &pagoda_mfence.lock of
 * the fence of the wait that has just ended is held.
 */
static void group_over(struct pagoda_mfence_group *group)
{
	if (!group->event) {
		complete_all(&group->over);
		return;
	}
	if (!group->error)
		eventfd_signal(group->event);
	queue_work(group->vidmm->mfences->wq, &group->work);
}

static void group_wait_ended(struct pagoda_mfence_wait *wait, int error)
{
	struct pagoda_mfence_group *group = wait->arg;

	if (error)
		cmpxchg(&group->error, 0, error);
	else
		cmpxchg(&group->first, GROUP_NO_WAIT, wait - group->waits);
	if (atomic_dec_and_test(&group->left))
		group_over(group);
}

/**
 * pagoda_mfence_group_destroy() - Free a group and its waits, ended or not
 * @group: Group
 *
 * Drops the references to the eventfd and the client, if any.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_mfence_group_destroy(struct pagoda_mfence_group *group)
{
	while (group->count)
		pagoda_mfence_wait_fini(&group->waits[--group->count]);
	if (group->event)
		eventfd_ctx_put(group->event);
	if (group->client)
		pagoda_client_put(group->client);
	kvfree(group);
}

/*
 * Work item of a group of waits with an eventfd, queued when the group is over: frees the group,
 * unless pagoda_mfence_client_close() took the group off its client's list to free it.
 */
static void group_work(struct work_struct *work)
{
	struct pagoda_mfence_group *group = container_of(work, struct pagoda_mfence_group, work);
	struct pagoda_client *client = group->client;
	bool ours;

	mutex_lock(&client->lock);
	ours = !list_empty(&group->link);
	list_del_init(&group->link);
	mutex_unlock(&client->lock);
	if (ours)
		pagoda_mfence_group_destroy(group);
}

/**
 * pagoda_mfence_group_create() - Prepare to wait for the values of several fences
 * @list: Fences and values
 * @count: Number of entries, not 0
 * @any: Wait until any of the fences has its value, else until all have
 *
 * Context: May sleep and allocate. Outside of sections and reservations.
 * Return: The group, to be used in one call of pagoda_mfence_group_wait() or
 * pagoda_mfence_group_notify(); or ERR_PTR: -EPERM if a fence was created with NO_WAIT; -ENOENT if
 * a fence has no id any more; -EDQUOT if the client that created a fence, or this client's user,
 * has too many fences held; -ENOMEM; -ENODEV if the device is gone; -ERESTARTSYS.
 */
struct pagoda_mfence_group *pagoda_mfence_group_create(const struct pagoda_mfence_value *list,
						       u32 count, bool any)
{
	struct pagoda_mfence_group *group;
	int ret;

	group = kvzalloc(struct_size(group, waits, count), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->vidmm = list->mfence->bo->vidmm;
	group->first = GROUP_NO_WAIT;
	group->any = any;
	atomic_set(&group->left, any ? 1 : count);
	init_completion(&group->over);
	INIT_LIST_HEAD(&group->link);
	INIT_WORK(&group->work, group_work);
	while (group->count < count) {
		const struct pagoda_mfence_value *entry = &list[group->count++];

		ret = pagoda_mfence_wait_init(&group->waits[group->count - 1], entry->mfence,
					      entry->value, group_wait_ended, group);
		if (!ret) {
			WRITE_ONCE(group->waits[group->count - 1].left, &group->left);
			continue;
		}
		group->count--;
		pagoda_mfence_group_destroy(group);
		return ERR_PTR(ret);
	}
	return group;
}

static void group_arm(struct pagoda_mfence_group *group)
{
	u32 i;

	for (i = 0; i < group->count; i++)
		pagoda_mfence_wait_arm(&group->waits[i]);
}

/**
 * pagoda_mfence_group_wait() - Wait for all values of a group, or for any, as it was created
 * @group: Group that wasn't waited for yet; the caller destroys it
 * @timeout: Jiffies; 0 = only test whether the values have come
 * @first: Out, set if 0 is returned: index of an entry whose fence has its value
 *
 * Context: Sleeps. If the device goes away meanwhile, the wait ends.
 * Return: 0; -ETIME if @timeout is over; -ENODEV if the device is gone and the values won't come;
 * or -ERESTARTSYS after a signal.
 */
int pagoda_mfence_group_wait(struct pagoda_mfence_group *group, long timeout, u32 *first)
{
	long ret = timeout;

	group_arm(group);
	if (timeout > 0)
		ret = wait_for_completion_interruptible_timeout(&group->over, timeout);
	if (!completion_done(&group->over))
		return ret < 0 ? ret : -ETIME;
	if (group->first == GROUP_NO_WAIT || (group->error && !group->any))
		return group->error;
	*first = group->first;
	return 0;
}

/**
 * pagoda_mfence_group_notify() - Have an eventfd signalled when a group is over without an error
 * @group: Group that wasn't waited for yet; freed when it is over or the client is closed
 * @client: Client; the group takes a reference
 * @event: Eventfd; the group takes the caller's reference
 *
 * Context: May sleep. Takes the client's lock.
 */
void pagoda_mfence_group_notify(struct pagoda_mfence_group *group, struct pagoda_client *client,
				struct eventfd_ctx *event)
{
	group->event = event;
	kref_get(&client->kref);
	group->client = client;
	/*
	 * The client's lock, which group_work() takes, keeps a group that is over at once from
	 * being freed before its last wait is armed.
	 */
	mutex_lock(&client->lock);
	list_add(&group->link, &client->groups);
	group_arm(group);
	mutex_unlock(&client->lock);
}

static struct pagoda_mfence_group *client_take_group(struct pagoda_client *client)
{
	struct pagoda_mfence_group *group;

	mutex_lock(&client->lock);
	group = list_first_entry_or_null(&client->groups, struct pagoda_mfence_group, link);
	if (group)
		list_del_init(&group->link);
	mutex_unlock(&client->lock);
	return group;
}

/**
 * pagoda_mfence_client_close() - Free a client's groups of waits that signal an eventfd
 * @vidmm: Manager
 * @client: Client, closed
 *
 * After the return no group of the client signals an eventfd.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_mfence_client_close(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	struct pagoda_mfence_group *group;
	u32 i;

	while ((group = client_take_group(client))) {
		for (i = 0; i < group->count; i++)
			pagoda_mfence_wait_disarm(&group->waits[i]);
		cancel_work_sync(&group->work);
		pagoda_mfence_group_destroy(group);
	}
	/* Wait until calls of group_work() have freed the groups that they took off the list. */
	flush_workqueue(vidmm->mfences->wq);
}
