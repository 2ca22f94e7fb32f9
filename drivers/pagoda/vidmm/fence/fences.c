// SPDX-License-Identifier: GPL-2.0
/*
 * State of all monitored fences of a device: its set-up and end; the work item that tests the waits
 * for awaited fences when the device may have stored values; the end of all waits when the device
 * is gone.
 */
#include <linux/slab.h>
#include <drm/drm_managed.h>
#include "core/core.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "fence.h"
#include "internal.h"
#include "sync.h"

static void mfence_gone(struct pagoda_mfence *mfence)
{
	spin_lock_irq(&mfence->lock);
	if (!mfence->lost)
		mfence->saved = pagoda_mfence_read(mfence);
	pagoda_mfence_leave(mfence);
	mfence->page = NULL;
	mfence->gone = true;
	pagoda_mfence_look(mfence);
	spin_unlock_irq(&mfence->lock);
}

/*
 * Tests the waits for the next few awaited fences of a client in &pagoda_mfences.due, and ends the
 * waits that are satisfied. Removes the client from the list; adds the client again if awaited
 * fences are left to test. Drops &pagoda_mfences.awaited_lock and takes it again.
 */
static void mfences_look_some(struct pagoda_mfences *mfences, struct pagoda_awaited *awaited)
{
	struct pagoda_mfence *mfence;
	u32 n;

	lockdep_assert_held(&mfences->awaited_lock);
	list_del_init(&awaited->due);
	if (awaited->changed)
		list_splice_tail_init(&awaited->fences, &awaited->todo);
	awaited->changed = false;
	for (n = 0; n < PAGODA_WALK_SLICE; n++) {
		mfence = list_first_entry_or_null(&awaited->todo, struct pagoda_mfence, awaited);
		if (!mfence)
			return;
		list_move_tail(&mfence->awaited, &awaited->fences);
		pagoda_mfence_get(mfence);
		mfences->looked++;
		spin_unlock_irq(&mfences->awaited_lock);
		spin_lock_irq(&mfence->lock);
		pagoda_mfence_look(mfence);
		spin_unlock_irq(&mfence->lock);
		pagoda_mfence_put(mfence);
		spin_lock_irq(&mfences->awaited_lock);
	}
	if (!list_empty(&awaited->todo) && list_empty(&awaited->due))
		list_add_tail(&awaited->due, &mfences->due);
}

static void mfences_look(struct work_struct *work)
{
	struct pagoda_mfences *mfences = container_of(work, struct pagoda_mfences, look);
	struct pagoda_awaited *awaited;
	struct pagoda_client *client;

	spin_lock_irq(&mfences->awaited_lock);
	while (!list_empty(&mfences->due)) {
		awaited = list_first_entry(&mfences->due, struct pagoda_awaited, due);
		client = container_of(awaited, struct pagoda_client, awaited);
		kref_get(&client->kref);
		mfences_look_some(mfences, awaited);
		spin_unlock_irq(&mfences->awaited_lock);
		pagoda_client_put(client);
		cond_resched();
		spin_lock_irq(&mfences->awaited_lock);
	}
	spin_unlock_irq(&mfences->awaited_lock);
}

/**
 * pagoda_mfences_init() - Set up the monitored fences of a manager
 * @vidmm: Manager
 * @args: Unused
 *
 * Also sets up the lists of queues of deferred work that miss points (missing.c) and of promised
 * points of syncobjs (points.c).
 *
 * Context: May sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_mfences_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_mfences *mfences;
	int ret;

	mfences = drmm_kzalloc(vidmm->drm, sizeof(*mfences), GFP_KERNEL);
	if (!mfences)
		return -ENOMEM;
	vidmm->mfences = mfences;
	mutex_init(&mfences->lock);
	INIT_LIST_HEAD(&mfences->held);
	INIT_LIST_HEAD(&mfences->lost);
	spin_lock_init(&mfences->awaited_lock);
	INIT_LIST_HEAD(&mfences->due);
	init_llist_head(&mfences->kept);
	INIT_WORK(&mfences->look, mfences_look);
	INIT_WORK(&mfences->reap, pagoda_mfences_reap);
	ret = pagoda_missing_init(vidmm) ?: pagoda_points_init(vidmm);
	if (ret)
		return ret;
	/* The work queue comes last: unlike the rest it isn't freed with the DRM device. */
	mfences->wq = alloc_workqueue("pagoda-fences", WQ_UNBOUND | WQ_HIGHPRI, 0);
	return mfences->wq ? 0 : -ENOMEM;
}

/**
 * pagoda_mfences_stop() - End all waits because the device is gone
 * @vidmm: Manager; all work has ended, no wait begins
 *
 * A wait ends with success, because its fence has the maximum value; or with -ENODEV if the fence
 * was created with NO_MAX_ON_RESET and doesn't have the value (C184). The driver doesn't access the
 * fences' pages any more. Waits for the work items of monitored fences.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_mfences_stop(struct pagoda_vidmm *vidmm)
{
	struct pagoda_mfence *mfence;

	mutex_lock(&vidmm->mfences->lock);
	/*
	 * Fences without NO_MAX_ON_RESET first, so that a wait for any of several fences ends with
	 * success if any of them is such a fence.
	 */
	list_for_each_entry(mfence, &vidmm->mfences->lost, held)
		mfence_gone(mfence);
	list_for_each_entry(mfence, &vidmm->mfences->held, held)
		if (!(mfence->flags & DRM_PAGODA_FENCE_NO_MAX_ON_RESET))
			mfence_gone(mfence);
	list_for_each_entry(mfence, &vidmm->mfences->held, held)
		if (mfence->flags & DRM_PAGODA_FENCE_NO_MAX_ON_RESET)
			mfence_gone(mfence);
	mutex_unlock(&vidmm->mfences->lock);
	pagoda_mfence_restore_all(vidmm);
	flush_workqueue(vidmm->mfences->wq);
}

/**
 * pagoda_mfences_fini() - Undo pagoda_mfences_init()
 * @vidmm: Manager; there is no fence any more
 *
 * Context: May sleep.
 */
void pagoda_mfences_fini(struct pagoda_vidmm *vidmm)
{
	/* The last call of signal_callback() may still use the work queue. */
	synchronize_rcu();
	destroy_workqueue(vidmm->mfences->wq);
	mutex_destroy(&vidmm->mfences->lock);
}
