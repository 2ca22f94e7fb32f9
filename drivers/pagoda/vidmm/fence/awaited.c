// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of awaited monitored fences, those that have armed waits, by the client that created the
 * fence. Jobs store values only of fences of their own client: at the end of a job only the awaited
 * fences of the job's client are tested, however many fences of other clients are awaited.
 */
#include <linux/hash.h>
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "fence.h"
#include "internal.h"

static struct hlist_head *awaited_bucket(struct pagoda_mfences *mfences,
					 const struct pagoda_exec_account *account)
{
	return &mfences->awaited[hash_ptr(account, PAGODA_AWAITED_BITS)];
}

/*
 * Adds a fence with an armed wait to its client's awaited fences: from now on
 * pagoda_mfences_changed() has the fence tested. The caller holds the fence's lock, and reads the
 * fence's value after this call, so that no store is missed.
 */
void pagoda_awaited_enter(struct pagoda_mfence *mfence)
{
	struct pagoda_mfences *mfences = mfence->bo->vidmm->mfences;
	struct pagoda_client *client = mfence->bo->client;
	struct pagoda_awaited *awaited = &client->awaited;

	lockdep_assert_held(&mfence->lock);
	spin_lock(&mfences->awaited_lock);
	if (list_empty(&mfence->awaited))
		list_add_tail(&mfence->awaited, &awaited->fences);
	if (hlist_unhashed(&awaited->entry))
		hlist_add_head(&awaited->entry, awaited_bucket(mfences, client->account));
	spin_unlock(&mfences->awaited_lock);
}

/* Removes a fence that has no armed wait left from the awaited fences. The fence's lock is held. */
void pagoda_awaited_leave(struct pagoda_mfence *mfence)
{
	struct pagoda_mfences *mfences = mfence->bo->vidmm->mfences;
	struct pagoda_awaited *awaited = &mfence->bo->client->awaited;

	lockdep_assert_held(&mfence->lock);
	spin_lock(&mfences->awaited_lock);
	list_del_init(&mfence->awaited);
	if (list_empty(&awaited->fences) && list_empty(&awaited->todo)) {
		hlist_del_init(&awaited->entry);
		list_del_init(&awaited->due);
	}
	spin_unlock(&mfences->awaited_lock);
}

static void awaited_is_due(struct pagoda_mfences *mfences, struct pagoda_awaited *awaited)
{
	lockdep_assert_held(&mfences->awaited_lock);
	awaited->changed = true;
	if (list_empty(&awaited->due))
		list_add_tail(&awaited->due, &mfences->due);
}

/**
 * pagoda_mfences_changed() - Have satisfied waits ended, because the GPU may have stored values
 * @vidmm: Manager, not destroyed
 * @account: Account of the client whose fences may have changed; NULL = the fences of all clients
 *
 * To be called when the device reports a store, when reports were lost, and when a job is done. A
 * work item tests the waits for the awaited fences later.
 *
 * Context: Any.
 */
void pagoda_mfences_changed(struct pagoda_vidmm *vidmm, const struct pagoda_exec_account *account)
{
	struct pagoda_mfences *mfences = vidmm->mfences;
	struct pagoda_awaited *awaited;
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&mfences->awaited_lock, flags);
	if (account) {
		hlist_for_each_entry(awaited, awaited_bucket(mfences, account), entry)
			if (container_of(awaited, struct pagoda_client, awaited)->account ==
			    account)
				awaited_is_due(mfences, awaited);
	} else {
		for (i = 0; i < ARRAY_SIZE(mfences->awaited); i++)
			hlist_for_each_entry(awaited, &mfences->awaited[i], entry)
				awaited_is_due(mfences, awaited);
	}
	if (!list_empty(&mfences->due))
		queue_work(mfences->wq, &mfences->look);
	spin_unlock_irqrestore(&mfences->awaited_lock, flags);
}
