// SPDX-License-Identifier: GPL-2.0
/*
 * Clients: created when a DRM file is opened, freed with the last reference. Also counts the places
 * in segments that clients hold.
 */
#include <linux/dma-buf.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_ttm_helper.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>
#include "core/core.h"
#include "queue/exec.h"
#include "budget.h"
#include "client.h"
#include "events.h"
#include "internal.h"
#include "ledger.h"
#include "limits.h"
#include "traffic.h"

/*
 * Returns the client of a new DRM file, to be released with pagoda_client_put(), or NULL if out
 * of memory. May sleep; @vidmm outlives the client.
 */
struct pagoda_client *pagoda_client_create(struct pagoda_vidmm *vidmm)
{
	struct pagoda_client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!client)
		return NULL;
	client->requirements = pagoda_requirements_create();
	client->account = pagoda_exec_account_create();
	client->quota = pagoda_quota_create(vidmm->limits);
	if (!client->requirements || !client->account || !client->quota) {
		pagoda_quota_put(client->quota);
		pagoda_exec_account_put(client->account);
		pagoda_requirements_destroy(client->requirements);
		kfree(client);
		return NULL;
	}
	kref_init(&client->kref);
	client->kcov = pagoda_kcov_current();
	mutex_init(&client->lock);
	mutex_init(&client->payer.lock);
	INIT_LIST_HEAD(&client->payer.missing);
	INIT_LIST_HEAD(&client->payer.turn);
	for (i = 0; i < PAGODA_OBJECTS; i++)
		xa_init_flags(&client->objects[i], XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&client->groups);
	client->closing.vidmm = vidmm;
	mutex_init(&client->closing.lock);
	mutex_init(&client->closing.forget_lock);
	INIT_LIST_HEAD(&client->closing.jobs);
	INIT_LIST_HEAD(&client->closing.handles);
	INIT_DELAYED_WORK(&client->closing.work, vidmm->closing_work);
	INIT_WORK(&client->ahead.work, vidmm->ahead_work);
	INIT_LIST_HEAD(&client->awaited.fences);
	INIT_LIST_HEAD(&client->awaited.todo);
	INIT_LIST_HEAD(&client->awaited.due);
	pagoda_policy_owner_init(&client->choice.owner);
	pagoda_policy_group_init(&client->choice.group, &client->choice.owner);
	pagoda_ears_init(&client->ears);
	/* A full bucket has a token per byte of VRAM less the reserve: jobs may replace all. */
	pagoda_traffic_init(&client->pace.traffic, vidmm->bandwidth, vidmm->submit_share,
			    vidmm->submit_share, pagoda_vidmm_segment_size(vidmm), ktime_get_ns());
	pagoda_budget_join(vidmm->budgets, &client->budget);
	pagoda_holding_join(vidmm->holdings, &client->holding, task_tgid_nr(current));
	return client;
}

static void client_release(struct kref *kref)
{
	struct pagoda_client *client = container_of(kref, struct pagoda_client, kref);

	pagoda_budget_leave(&client->budget);
	pagoda_holding_leave(client->closing.vidmm->holdings, &client->holding);
	pagoda_requirements_destroy(client->requirements);
	pagoda_exec_account_put(client->account);
	pagoda_quota_put(client->quota);
	kfree(client->pager);
	mutex_destroy(&client->closing.forget_lock);
	mutex_destroy(&client->closing.lock);
	mutex_destroy(&client->payer.lock);
	mutex_destroy(&client->lock);
	kfree(client);
}

/* Drops a reference to a client; the last reference frees the client. */
void pagoda_client_put(struct pagoda_client *client)
{
	kref_put(&client->kref, client_release);
}

static struct pagoda_holding *client_holding(struct pagoda_vidmm *vidmm,
					     struct pagoda_client *client)
{
	return client ? &client->holding : &vidmm->holdings->own;
}

/**
 * pagoda_hold() - Count a new place in a segment
 * @vidmm: The manager
 * @held: Filled, for pagoda_let_go() when the place is freed
 * @client: Client in whose holding the place counts; NULL = the place counts in the driver's
 * @segment: Segment id
 * @bytes: Size of the place
 *
 * Context: Any but interrupts.
 */
void pagoda_hold(struct pagoda_vidmm *vidmm, struct pagoda_held *held,
		 struct pagoda_client *client, u32 segment, u64 bytes)
{
	*held = (struct pagoda_held) { .client = client, .segment = segment, .bytes = bytes };
	if (client)
		kref_get(&client->kref);
	pagoda_holding_change(vidmm->holdings, client_holding(vidmm, client), segment, bytes);
}

/**
 * pagoda_let_go() - Stop counting a place, which is freed
 * @vidmm: The manager
 * @held: From pagoda_hold()
 *
 * Context: May sleep, because the client may be freed.
 */
void pagoda_let_go(struct pagoda_vidmm *vidmm, struct pagoda_held *held)
{
	pagoda_holding_change(vidmm->holdings, client_holding(vidmm, held->client), held->segment,
			      -(s64)held->bytes);
	if (held->client)
		pagoda_client_put(held->client);
}

/* Counts a place, which counted in the driver's holding so far, in that of @client. May sleep. */
void pagoda_hold_for(struct pagoda_vidmm *vidmm, struct pagoda_held *held,
		     struct pagoda_client *client)
{
	struct pagoda_held before = *held;

	pagoda_hold(vidmm, held, client, before.segment, before.bytes);
	pagoda_let_go(vidmm, &before);
}
