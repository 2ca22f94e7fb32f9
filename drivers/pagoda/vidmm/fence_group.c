// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for several monitored fences, all or any of them (C181): by a thread that sleeps,
 * or with an eventfd that is told when it would have woken up.
 *
 * A group with an eventfd is nobody's: it goes when it is over, or when the client does.
 */
#include <linux/completion.h>
#include <linux/eventfd.h>
#include <linux/slab.h>
#include "fence.h"

#define NOBODY	U32_MAX

/**
 * struct pagoda_mfence_group - Waits that belong together
 * @vidmm: The manager
 * @over: Done when the group needn't wait any more
 * @left: Waits that must end before it is over
 * @first: Index of one whose value is there
 * @any: One is enough
 * @error: Error of one that can't end otherwise, or 0
 * @event: Told when it is over without an error, or NULL
 * @client: With an eventfd: client, a reference
 * @link: In &pagoda_client.groups; protected by its lock
 * @work: With an eventfd: frees it
 * @count: Waits
 * @waits: Waits
 */
struct pagoda_mfence_group {
	struct pagoda_vidmm *vidmm;
	struct completion over;
	atomic_t left;
	u32 first;
	bool any;
	int error;
	struct eventfd_ctx *event;
	struct pagoda_client *client;
	struct list_head link;
	struct work_struct work;
	u32 count;
	struct pagoda_mfence_wait waits[] __counted_by(count);
};

/* With &pagoda_mfence.lock held. */
static void group_over(struct pagoda_mfence_group *group)
{
	if (!group->event) {
		complete_all(&group->over);
		return;
	}
	if (!group->error)
		eventfd_signal(group->event);
	queue_work(group->vidmm->mfences.wq, &group->work);
}

static void group_wait_ended(struct pagoda_mfence_wait *wait, int error)
{
	struct pagoda_mfence_group *group = wait->arg;

	if (error)
		cmpxchg(&group->error, 0, error);
	else
		cmpxchg(&group->first, NOBODY, wait - group->waits);
	if (atomic_dec_and_test(&group->left))
		group_over(group);
}

/**
 * pagoda_mfence_group_destroy() - Don't wait any more
 * @group: Group
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

/* Unless the client is faster, which then waits for this. */
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
 * pagoda_mfence_group_create() - Get ready to wait for several values
 * @list: Fences and values
 * @count: Entries, not 0
 * @any: For one of them, instead of all
 *
 * Context: May sleep and allocate. Outside of reservations. The device is there.
 * Return: The group; or ERR_PTR: -EPERM: a fence was made without; -ENOENT: it has no id any more;
 * -EDQUOT, -ENOMEM or -ERESTARTSYS.
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
	group->first = NOBODY;
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
 * pagoda_mfence_group_wait() - Wait
 * @group: Group, for the first time
 * @timeout: Jiffies; 0 only looks
 * @first: Out: index of an entry whose value is there
 *
 * Context: Sleeps. The device may go away meanwhile: that ends it.
 * Return: 0, -ETIME, -ENODEV: the device is gone and a value won't come; or -ERESTARTSYS.
 */
int pagoda_mfence_group_wait(struct pagoda_mfence_group *group, long timeout, u32 *first)
{
	long ret = timeout;

	group_arm(group);
	if (timeout > 0)
		ret = wait_for_completion_interruptible_timeout(&group->over, timeout);
	if (!completion_done(&group->over))
		return ret < 0 ? ret : -ETIME;
	if (group->first == NOBODY || (group->error && !group->any))
		return group->error;
	*first = group->first;
	return 0;
}

/**
 * pagoda_mfence_group_notify() - Tell an eventfd when a wait would have been over
 * @group: Group, for the first time; gone afterwards
 * @client: Client
 * @event: Eventfd; the reference is taken over
 *
 * Context: May sleep.
 */
void pagoda_mfence_group_notify(struct pagoda_mfence_group *group, struct pagoda_client *client,
				struct eventfd_ctx *event)
{
	group->event = event;
	kref_get(&client->kref);
	group->client = client;
	/* What is over at once isn't freed before the last wait is armed. */
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
 * pagoda_mfence_client_close() - No eventfd of a client is told any more
 * @vidmm: The manager
 * @client: Client, closed
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
	/* Those that were over before are freed there. */
	flush_workqueue(vidmm->mfences.wq);
}
