// SPDX-License-Identifier: GPL-2.0
/*
 * Events that are reported to clients through files (listeners), see events.h; and traces of
 * budgets.
 *
 * A listener's file has references to the client and to the DRM device, which keeps the
 * manager: the client's budget can be read after the DRM file was closed.
 */
#include <linux/anon_inodes.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/life.h"
#include "core/trace.h"
#include "budget.h"
#include "client.h"
#include "events.h"
#include "ledger.h"
#include "limits.h"

/*
 * Type and segment group of the events that a listener counts in each slot (struct
 * pagoda_listener_slot), most important first.
 */
static const struct {
	u32 type;
	u32 group;
} listener_slots[] = {
	{ DRM_PAGODA_EVENT_DEVICE_LOST },
	{ DRM_PAGODA_EVENT_CONTENT_LOST },
	{ DRM_PAGODA_EVENT_EVICTED, DRM_PAGODA_SEGMENT_GROUP_LOCAL },
	{ DRM_PAGODA_EVENT_EVICTED, DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL },
	{ DRM_PAGODA_EVENT_TRIM, DRM_PAGODA_SEGMENT_GROUP_LOCAL },
	{ DRM_PAGODA_EVENT_TRIM, DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL },
	{ DRM_PAGODA_EVENT_BUDGET_CHANGED, DRM_PAGODA_SEGMENT_GROUP_LOCAL },
	{ DRM_PAGODA_EVENT_BUDGET_CHANGED, DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL },
};

static_assert(ARRAY_SIZE(listener_slots) == PAGODA_LISTENER_SLOTS);

/* ---- Reporting events to listeners -------------------------------------------------- */

static bool listener_adds_up(u32 type)
{
	return type == DRM_PAGODA_EVENT_EVICTED;
}

/* Counts an event, unless the file has ended: a reader that finds the end has read all events. */
static void listener_tell(struct pagoda_listener *listener, u32 type, u32 group, u64 value)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&listener->wait.lock, flags);
	for (i = 0; i < PAGODA_LISTENER_SLOTS && !listener->gone && !listener->closed; i++) {
		if (listener_slots[i].type != type || listener_slots[i].group != group)
			continue;
		listener->slots[i].count++;
		if (listener_adds_up(type))
			value += listener->slots[i].value;
		listener->slots[i].value = value;
	}
	wake_up_locked_poll(&listener->wait, EPOLLIN | EPOLLRDNORM);
	spin_unlock_irqrestore(&listener->wait.lock, flags);
}

/*
 * Ends a listener's file: sets @end, which is &pagoda_listener.gone or &pagoda_listener.closed. No
 * event is counted from then on. Any context.
 */
static void listener_end(struct pagoda_listener *listener, bool *end)
{
	unsigned long flags;

	spin_lock_irqsave(&listener->wait.lock, flags);
	/*
	 * This release pairs with readers' acquire: a reader that sees @end also finds all events
	 * that were counted.
	 */
	smp_store_release(end, true);
	spin_unlock_irqrestore(&listener->wait.lock, flags);
	wake_up_all(&listener->wait);
}

static void listener_trace(struct pagoda_listener *listener, u32 group, u64 usage)
{
	trace_pagoda_budget(dev_name(listener->vidmm->drm->dev), listener->pid, group,
			    READ_ONCE(listener->budget[group]), usage);
}

static bool budget_is_news(u64 told, u64 budget)
{
	return abs_diff(told, budget) > told / PAGODA_BUDGET_STEP;
}

static void listener_look_at_budget(struct pagoda_listener *listener, u32 group)
{
	u64 told = listener->budget[group], excess = 0;
	struct pagoda_budget_info info;
	bool shrunk = false;

	pagoda_budget_info(&listener->client->budget, group, &info);
	if (budget_is_news(told, info.budget)) {
		shrunk = info.budget < told;
		told = info.budget;
		WRITE_ONCE(listener->budget[group], told);
		listener_trace(listener, group, info.usage);
		listener_tell(listener, DRM_PAGODA_EVENT_BUDGET_CHANGED, group, told);
	}
	if (info.wanted > told)
		excess = info.wanted - told;
	if (excess && (shrunk || !listener->over[group])) {
		listener_tell(listener, DRM_PAGODA_EVENT_TRIM, group, excess);
		trace_pagoda_trim(dev_name(listener->vidmm->drm->dev), listener->pid, group,
				  excess);
	}
	listener->over[group] = excess;
}

static void listener_look_at_device(struct pagoda_listener *listener)
{
	u64 resets = pagoda_reset_count(listener->vidmm);
	bool gone = READ_ONCE(listener->vidmm->listeners->gone);

	if (resets != listener->resets || gone != listener->gone)
		listener_tell(listener, DRM_PAGODA_EVENT_DEVICE_LOST, 0, resets);
	listener->resets = resets;
	if (gone)
		listener_end(listener, &listener->gone);
}

static void listeners_work(struct work_struct *work)
{
	struct pagoda_listeners *all = container_of(work, struct pagoda_listeners, work);
	struct pagoda_listener *listener;

	mutex_lock(&all->lock);
	list_for_each_entry(listener, &all->list, link)
		listener_look_at_device(listener);
	mutex_unlock(&all->lock);
}

static void listeners_budgets(struct work_struct *work)
{
	struct pagoda_listeners *all = container_of(to_delayed_work(work),
						    struct pagoda_listeners, budgets);
	struct pagoda_listener *listener;
	u64 now = get_jiffies_64();
	u32 group;

	if (time_before64(now, all->next)) {
		queue_delayed_work(system_dfl_wq, &all->budgets, all->next - now);
		return;
	}
	all->next = now + PAGODA_BUDGET_PERIOD;
	mutex_lock(&all->lock);
	list_for_each_entry(listener, &all->list, link)
		for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
			listener_look_at_budget(listener, group);
	mutex_unlock(&all->lock);
}

/**
 * pagoda_listeners_kick() - Have a work item tell all listeners of resets and of the device's loss
 * @all: The device's listeners
 *
 * Context: Any, including the dma_fence signalling path.
 */
void pagoda_listeners_kick(struct pagoda_listeners *all)
{
	/*
	 * This barrier pairs with that in pagoda_listener_join(): a listener that isn't counted yet
	 * reads the new state itself.
	 */
	smp_mb();
	if (atomic_read(&all->count))
		queue_work(system_dfl_wq, &all->work);
}

/**
 * pagoda_listeners_budgets_changed() - Have a work item tell listeners of changed budgets
 * @all: The device's listeners
 *
 * The work item looks at once, but not before %PAGODA_BUDGET_PERIOD is over since its last look.
 *
 * Context: Any, including the dma_fence signalling path.
 */
void pagoda_listeners_budgets_changed(struct pagoda_listeners *all)
{
	/* Pairs with pagoda_listener_join(), as in pagoda_listeners_kick(). */
	smp_mb();
	if (atomic_read(&all->count))
		queue_delayed_work(system_dfl_wq, &all->budgets, 0);
}

static void ears_tell(struct pagoda_ears *ears, u32 type, u32 group, u64 value)
{
	struct pagoda_listener *listener;
	unsigned long flags;

	spin_lock_irqsave(&ears->lock, flags);
	list_for_each_entry(listener, &ears->listeners, of_client)
		listener_tell(listener, type, group, value);
	spin_unlock_irqrestore(&ears->lock, flags);
}

/* Reports a loss of content to a client. Any context, including the dma_fence signalling path. */
void pagoda_ears_content_lost(struct pagoda_ears *ears)
{
	ears_tell(ears, DRM_PAGODA_EVENT_CONTENT_LOST, 0, 0);
}

/*
 * Reports to a client that an allocation on its residency list is evicted for want of room, or to
 * trim VRAM; @group is the enum drm_pagoda_segment_group that the allocation leaves, @bytes the
 * allocation's size.
 */
void pagoda_ears_evicted(struct pagoda_ears *ears, u32 group, u64 bytes)
{
	ears_tell(ears, DRM_PAGODA_EVENT_EVICTED, group, bytes);
}

/*
 * Traces, for each listener of a client, the budgets that were last reported and the client's usage
 * now. Any context but interrupts.
 */
void pagoda_ears_trace_usage(struct pagoda_client *client)
{
	struct pagoda_listener *listener;
	unsigned long flags;
	u32 group;

	if (!trace_pagoda_budget_enabled())
		return;
	spin_lock_irqsave(&client->ears.lock, flags);
	list_for_each_entry(listener, &client->ears.listeners, of_client)
		for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
			listener_trace(listener, group,
				       pagoda_budget_usage(&client->budget, group));
	spin_unlock_irqrestore(&client->ears.lock, flags);
}

/*
 * Has readers find the end of the file instead of waiting for events, because the client's DRM file
 * is closed. Any context.
 */
void pagoda_ears_close(struct pagoda_ears *ears)
{
	struct pagoda_listener *listener;
	unsigned long flags;

	spin_lock_irqsave(&ears->lock, flags);
	list_for_each_entry(listener, &ears->listeners, of_client)
		listener_end(listener, &listener->closed);
	spin_unlock_irqrestore(&ears->lock, flags);
}

/* Sets up the device's list of listeners, empty. Returns 0 or -ENOMEM. */
int pagoda_listeners_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_listeners *all = drmm_kzalloc(vidmm->drm, sizeof(*all), GFP_KERNEL);

	if (!all)
		return -ENOMEM;
	vidmm->listeners = all;
	mutex_init(&all->lock);
	INIT_LIST_HEAD(&all->list);
	INIT_WORK(&all->work, listeners_work);
	INIT_DELAYED_WORK(&all->budgets, listeners_budgets);
	return 0;
}

/* Reports that the device is gone or unusable. Any context, also the dma_fence signalling path. */
void pagoda_listeners_gone(struct pagoda_listeners *all)
{
	WRITE_ONCE(all->gone, true);
	pagoda_listeners_kick(all);
}

/* Reports that the device is gone; waits until all listeners have the event to read. May sleep. */
void pagoda_listeners_stop(struct pagoda_listeners *all)
{
	pagoda_listeners_gone(all);
	flush_work(&all->work);
}

/* Undoes pagoda_listeners_init(), after the last listener has left the list. */
void pagoda_listeners_fini(struct pagoda_listeners *all)
{
	cancel_work_sync(&all->work);
	cancel_delayed_work_sync(&all->budgets);
	mutex_destroy(&all->lock);
}

void pagoda_ears_init(struct pagoda_ears *ears)
{
	spin_lock_init(&ears->lock);
	INIT_LIST_HEAD(&ears->listeners);
}

/* ---- Adding listeners, and reading their events --------------------------------------- */

/* Has events reported to a listener, which already holds its references. May sleep. */
void pagoda_listener_join(struct pagoda_listener *listener)
{
	struct pagoda_listeners *all = listener->vidmm->listeners;
	struct pagoda_ears *ears = &listener->client->ears;
	struct pagoda_budget_info info;
	u32 group;

	mutex_lock(&all->lock);
	atomic_inc(&all->count);
	/*
	 * This barrier pairs with that in pagoda_listeners_kick(): either that function queues the
	 * work item, or its caller's change is seen below.
	 */
	smp_mb__after_atomic();
	/* Record the present budgets as reported: only later changes are events. */
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++) {
		pagoda_budget_info(&listener->client->budget, group, &info);
		listener->budget[group] = info.budget;
		listener->over[group] = info.wanted > info.budget;
		listener_trace(listener, group, info.usage);
	}
	listener->resets = pagoda_reset_count(listener->vidmm);
	listener->gone = READ_ONCE(all->gone);
	list_add_tail(&listener->link, &all->list);
	mutex_unlock(&all->lock);
	spin_lock_irq(&ears->lock);
	list_add_tail(&listener->of_client, &ears->listeners);
	spin_unlock_irq(&ears->lock);
}

/* Undoes pagoda_listener_join(): no more events are reported to the listener. May sleep. */
void pagoda_listener_leave(struct pagoda_listener *listener)
{
	struct pagoda_listeners *all = listener->vidmm->listeners;
	struct pagoda_ears *ears = &listener->client->ears;
	u32 group;

	spin_lock_irq(&ears->lock);
	list_del(&listener->of_client);
	spin_unlock_irq(&ears->lock);
	mutex_lock(&all->lock);
	list_del(&listener->link);
	atomic_dec(&all->count);
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++) {
		listener->budget[group] = 0;
		listener_trace(listener, group, 0);
	}
	mutex_unlock(&all->lock);
}

/* Returns whether a listener has unread events. */
bool pagoda_listener_has_news(struct pagoda_listener *listener)
{
	unsigned long flags;
	bool news = false;
	u32 i;

	spin_lock_irqsave(&listener->wait.lock, flags);
	for (i = 0; i < PAGODA_LISTENER_SLOTS; i++)
		news |= listener->slots[i].count;
	spin_unlock_irqrestore(&listener->wait.lock, flags);
	return news;
}

/*
 * Fills up to @room entries of @news, the most important first, each with the unread events of one
 * kind. Returns the number of entries. The events stay unread until pagoda_listener_consume(),
 * because the copy to user space may fail.
 */
u32 pagoda_listener_peek(struct pagoda_listener *listener, struct drm_pagoda_event *news, u32 room)
{
	unsigned long flags;
	u32 i, n = 0;

	spin_lock_irqsave(&listener->wait.lock, flags);
	for (i = 0; i < PAGODA_LISTENER_SLOTS && n < room; i++) {
		if (!listener->slots[i].count)
			continue;
		news[n++] = (struct drm_pagoda_event) {
			.type = listener_slots[i].type,
			.group = listener_slots[i].group,
			.count = listener->slots[i].count,
			.value = listener->slots[i].value,
		};
	}
	spin_unlock_irqrestore(&listener->wait.lock, flags);
	return n;
}

/*
 * Counts the events in the first @count entries of @news, from pagoda_listener_peek(), as read:
 * subtracts them from the listener's slots. Events that came after the peek stay unread.
 */
void pagoda_listener_consume(struct pagoda_listener *listener,
			     const struct drm_pagoda_event *news, u32 count)
{
	unsigned long flags;
	u32 i, n = 0;

	spin_lock_irqsave(&listener->wait.lock, flags);
	for (i = 0; i < PAGODA_LISTENER_SLOTS && n < count; i++) {
		if (listener_slots[i].type != news[n].type ||
		    listener_slots[i].group != news[n].group)
			continue;
		if (listener_adds_up(news[n].type))
			listener->slots[i].value -= news[n].value;
		listener->slots[i].count -= news[n++].count;
	}
	spin_unlock_irqrestore(&listener->wait.lock, flags);
}
