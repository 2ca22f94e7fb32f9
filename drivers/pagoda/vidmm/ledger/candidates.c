// SPDX-License-Identifier: GPL-2.0
/*
 * Tells the policy which allocations come to VRAM, leave VRAM, are used or will be used by queued
 * jobs, are offered, change their priority or must stay, and which clients are over their budgets.
 * bo/victims.c asks the policy for victims.
 *
 * A change of what a client wants may change the budgets of all others, and each move changes the
 * usage. The policy isn't told of every such change: each search for a victim looks at the budgets
 * of some clients that have candidates, in turn.
 *
 * A client uses an allocation if the allocation is charged to it or on its residency list. An
 * allocation that several clients use leaves with those of clients over their budget only if all
 * its users are over. When the policy picks such an allocation although a user is within its
 * budget, the allocation joins the candidates of that user; until then the allocation is among the
 * candidates of the client that it is charged to. Private allocations are in a group of their VM.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <drm/ttm/ttm_bo.h>
#include "core/core.h"
#include "core/info.h"
#include "allocation.h"
#include "client.h"
#include "internal.h"
#include "ledger.h"
#include "policy.h"
#include "require.h"

/* Most clients whose budgets a search for one victim looks at. */
#define BUDGETS_LOOKED_AT	4

/*
 * Returns whether an allocation has unsignalled fences. A fence may be found signalled here and
 * run its callbacks, which must not take pagoda_victims.lock, because the caller holds that lock.
 */
static bool victims_is_busy(struct pagoda_policy_item *item)
{
	struct pagoda_bo *bo = container_of(item, struct pagoda_bo, choice.item);

	return !dma_resv_test_signaled(bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP);
}

/* Sets up the choice of victims, at probe, for empty VRAM. Returns 0 or -ENOMEM. May sleep. */
int pagoda_victims_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_victims *victims = kvzalloc(sizeof(*victims), GFP_KERNEL);

	if (!victims)
		return -ENOMEM;
	spin_lock_init(&victims->lock);
	INIT_LIST_HEAD(&victims->kept);
	pagoda_policy_group_init(&victims->unowned, NULL);
	victims->asked = !args->lru;
	pagoda_policy_init(&victims->policy, pagoda_vidmm_vram_size(vidmm));
	victims->policy.is_busy = victims_is_busy;
	vidmm->victims = victims;
	return 0;
}

/* Undoes pagoda_victims_init(), after the last allocation was freed. */
void pagoda_victims_fini(struct pagoda_vidmm *vidmm)
{
	kvfree(vidmm->victims);
}

/*
 * Returns whether the policy may choose an allocation as a victim, and so is told of its moves,
 * offer and priority: not if it is a page table, a save area or imported.
 */
static bool victims_knows(const struct pagoda_bo *bo)
{
	return bo->ttm.type == ttm_bo_type_device;
}

/* Returns the group that an allocation belongs to, as long as no other client protects it. */
static struct pagoda_policy_group *victims_group(struct pagoda_bo *bo)
{
	if (bo->vm.uses)
		return &bo->vm.uses->group;
	return bo->client ? &bo->client->choice.group : &bo->vidmm->victims->unowned;
}

/*
 * Tells the policy of a new allocation, which has no TTM resource yet. The policy takes over @lane,
 * memory from kmalloc(); pagoda_victims_remove() frees @lane or the lane of another allocation.
 */
void pagoda_victims_add(struct pagoda_bo *bo, struct pagoda_policy_lane *lane)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	spin_lock(&victims->lock);
	pagoda_policy_add(&victims->policy, &bo->choice.item, lane, victims_group(bo),
			  bo->ttm.base.size);
	spin_unlock(&victims->lock);
}

/* Removes an allocation from the policy: it is freed, after its last reference was dropped. */
void pagoda_victims_remove(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;
	struct pagoda_policy_lane *lane;

	spin_lock(&victims->lock);
	lane = pagoda_policy_remove(&victims->policy, &bo->choice.item);
	spin_unlock(&victims->lock);
	kfree(lane);
}

/*
 * Makes an allocation a candidate for eviction if it is in VRAM, unless &pagoda_bo.choice.keep is
 * set: then the allocation becomes a candidate when pagoda_victims_keep() clears that flag. Caller
 * holds pagoda_victims.lock.
 */
void pagoda_victims_enter(struct pagoda_victims *victims, struct pagoda_bo *bo)
{
	lockdep_assert_held(&victims->lock);
	if (bo->choice.in_vram && !bo->choice.keep)
		pagoda_policy_enter(&victims->policy, &bo->choice.item);
}

/* ---- Budgets -------------------------------------------------------------------- */

/*
 * Tells the policy whether some clients are over their budgets: BUDGETS_LOOKED_AT of those that
 * have candidates, in turn. Does nothing unless several clients have candidates. Caller holds
 * pagoda_victims.lock.
 */
void pagoda_victims_look_at_budgets(struct pagoda_victims *victims)
{
	struct pagoda_policy *policy = &victims->policy;
	struct pagoda_policy_owner *owner, *first;
	struct pagoda_client *client;
	u32 i;

	lockdep_assert_held(&victims->lock);
	if (list_empty(&policy->owners) || list_is_singular(&policy->owners))
		return;
	first = list_first_entry(&policy->owners, struct pagoda_policy_owner, turn);
	owner = first;
	for (i = 0; i < BUDGETS_LOOKED_AT && (!i || owner != first); i++) {
		client = container_of(owner, struct pagoda_client, choice.owner);
		list_move_tail(&owner->turn, &policy->owners);
		pagoda_policy_set_over(policy, owner, pagoda_budget_is_over(&client->budget));
		owner = list_first_entry(&policy->owners, struct pagoda_policy_owner, turn);
	}
}

/*
 * Returns whether a client is over its budget, as the policy was last told; looks at the budget of
 * a client without candidates, because pagoda_victims_look_at_budgets() doesn't.
 */
static bool client_is_over(struct pagoda_policy *policy, struct pagoda_client *client)
{
	struct pagoda_policy_owner *owner = &client->choice.owner;

	if (list_empty(&owner->groups))
		pagoda_policy_set_over(policy, owner, pagoda_budget_is_over(&client->budget));
	return owner->over;
}

/*
 * Returns a client that uses an allocation and is within its budget, or NULL: first the client that
 * is charged, then those that have the allocation on their residency lists.
 */
static struct pagoda_client *victims_user_within(struct pagoda_bo *bo)
{
	struct pagoda_policy *policy = &bo->vidmm->victims->policy;
	struct pagoda_client *found = NULL;
	struct pagoda_requirement *req;

	if (bo->client && !client_is_over(policy, bo->client))
		return bo->client;
	if (!atomic_read(&bo->wish.required))
		return NULL;
	spin_lock(&bo->vidmm->required_lock);
	list_for_each_entry(req, &bo->wish.requirements, of_bo) {
		if (client_is_over(policy, req->client))
			continue;
		found = req->client;
		break;
	}
	spin_unlock(&bo->vidmm->required_lock);
	return found;
}

/*
 * Called for an allocation that the policy picked. If the allocation is a candidate of a client
 * over its budget, but another client that uses it is within its budget, makes the allocation a
 * candidate of that other client and returns true: another victim is to be picked. Returns false
 * otherwise: always for an offered allocation, and for one that is private to a VM. Caller holds
 * pagoda_victims.lock.
 */
bool pagoda_victims_spare(struct pagoda_victims *victims, struct pagoda_bo *bo)
{
	const struct pagoda_policy_owner *owner = pagoda_policy_owner_of(&bo->choice.item);
	struct pagoda_client *user;

	lockdep_assert_held(&victims->lock);
	if (bo->vm.uses || pagoda_bo_is_offered(bo) || !owner || !owner->over)
		return false;
	user = victims_user_within(bo);
	if (!user)
		return false;
	pagoda_policy_regroup(&victims->policy, &bo->choice.item, &user->choice.group);
	pagoda_victims_enter(victims, bo);
	return true;
}

/*
 * A client took an allocation of another client off its residency list: if the allocation is among
 * the client's candidates, moves it back to the group that it belongs to (victims_group()).
 */
void pagoda_victims_user_left(struct pagoda_bo *bo, struct pagoda_client *client)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	if (bo->client == client)
		return;
	spin_lock(&victims->lock);
	if (pagoda_policy_owner_of(&bo->choice.item) == &client->choice.owner)
		pagoda_policy_regroup(&victims->policy, &bo->choice.item, victims_group(bo));
	spin_unlock(&victims->lock);
}

/*
 * Returns the highest level that an allocation of @bos has by offers, budgets and priorities, 0 to
 * PAGODA_POLICY_LEVELS - 1: lower levels leave VRAM first. Takes a spinlock; not in interrupts.
 */
u32 pagoda_victims_level(struct pagoda_vidmm *vidmm, struct pagoda_bo *const *bos, u32 count)
{
	struct pagoda_victims *victims = vidmm->victims;
	u32 i, level = 0;

	spin_lock(&victims->lock);
	for (i = 0; i < count; i++)
		level = max(level, pagoda_policy_level(&bos[i]->choice.item));
	spin_unlock(&victims->lock);
	return level;
}

/* ---- Events --------------------------------------------------------------------- */

static void victims_move(struct pagoda_victims *victims, struct pagoda_bo *bo, bool in_vram,
			 bool visible)
{
	bool came = in_vram != bo->choice.in_vram;

	lockdep_assert_held(&victims->lock);
	WRITE_ONCE(bo->choice.in_vram, in_vram);
	if (came)
		pagoda_copy_moved(bo);
	if (in_vram)
		pagoda_policy_set_visible(&victims->policy, &bo->choice.item, visible);
	if (in_vram && came)
		pagoda_victims_enter(victims, bo);
	else if (!in_vram)
		pagoda_policy_leave(&victims->policy, &bo->choice.item);
}

/**
 * pagoda_victims_moved() - Tell the policy that an allocation came to VRAM, left VRAM or moved
 * within VRAM
 * @bo: Allocation; its reservation is held, or no reference is left
 * @to: Present resource of the allocation; NULL if it has none or can't be evicted any more
 * @visible: The CPU can reach all of @to, but not all of VRAM
 *
 * Context: Any but interrupts.
 */
void pagoda_victims_moved(struct pagoda_bo *bo, struct ttm_resource *to, bool visible)
{
	struct pagoda_victims *victims = bo->vidmm->victims;
	bool in_vram = to && to->mem_type == TTM_PL_VRAM;

	if (!victims_knows(bo) || (!in_vram && !bo->choice.in_vram))
		return;
	spin_lock(&victims->lock);
	victims_move(victims, bo, in_vram, visible);
	spin_unlock(&victims->lock);
}

/*
 * Tells the policy an allocation's residency priority, and whether and how it is offered, after a
 * change of these. The reservation is held; not in interrupts.
 */
void pagoda_victims_changed(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;
	struct pagoda_policy *policy = &victims->policy;

	if (!victims_knows(bo))
		return;
	spin_lock(&victims->lock);
	pagoda_policy_set_priority(policy, &bo->choice.item, bo->wish.priority);
	if (pagoda_bo_is_offered(bo))
		pagoda_policy_offer(policy, &bo->choice.item, bo->offer.rank - PAGODA_OFFER_LOW);
	else
		pagoda_policy_reclaim(policy, &bo->choice.item);
	spin_unlock(&victims->lock);
}

static void victims_keep_one(struct pagoda_victims *victims, struct pagoda_bo *bo, bool keep)
{
	lockdep_assert_held(&victims->lock);
	if (bo->choice.keep == keep)
		return;
	bo->choice.keep = keep;
	if (keep) {
		victims->nr_kept++;
		list_add_tail(&bo->choice.kept, &victims->kept);
		pagoda_policy_hold(&victims->policy, &bo->choice.item);
	} else {
		victims->nr_kept--;
		list_del_init(&bo->choice.kept);
		pagoda_victims_enter(victims, bo);
	}
}

/**
 * pagoda_victims_keep() - Protect the allocations of a call from eviction, or end the
 * protection
 * @vidmm: The manager
 * @bos: Allocations, reservations held
 * @count: Number of allocations
 * @keep: Whether to protect the allocations: &pagoda_bo.choice.keep
 *
 * Other threads may choose some of many allocations as victims before all are protected.
 *
 * Context: May sleep.
 */
void pagoda_victims_keep(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			 bool keep)
{
	struct pagoda_victims *victims = vidmm->victims;
	u32 i = 0, end;

	while (i < count) {
		end = min(count, i + PAGODA_WALK_SLICE);
		spin_lock(&victims->lock);
		for (; i < end; i++)
			victims_keep_one(victims, bos[i], keep);
		spin_unlock(&victims->lock);
		pagoda_walk_pause();
	}
}

static void victims_use_one(struct pagoda_victims *victims, struct pagoda_bo *bo, bool reads)
{
	lockdep_assert_held(&victims->lock);
	if (!bo->choice.in_vram)
		return;
	pagoda_policy_use(&victims->policy, &bo->choice.item);
	pagoda_copy_used(bo, reads);
}

/**
 * pagoda_victims_used() - Tell the policy that a submission uses allocations
 * @vidmm: Manager
 * @uses: &pagoda_vm.uses of the submission's VM: all private allocations of the VM count as
 *	used, too
 * @bos: Allocations that the submission lists, then others of the residency list; reservations held
 * @count: Number of allocations
 * @flags: DRM_PAGODA_SUBMIT_* flags of the first @nr_flags allocations
 * @nr_flags: Number of @flags, at most @count
 *
 * Context: May sleep.
 */
void pagoda_victims_used(struct pagoda_vidmm *vidmm, struct pagoda_vm_uses *uses,
			 struct pagoda_bo **bos, u32 count, const u32 *flags, u32 nr_flags)
{
	struct pagoda_victims *victims = vidmm->victims;
	u32 i = 0, end;

	while (i < count) {
		end = min(count, i + PAGODA_WALK_SLICE);
		spin_lock(&victims->lock);
		for (; i < end; i++)
			victims_use_one(victims, bos[i],
					i < nr_flags && flags[i] & DRM_PAGODA_SUBMIT_READ);
		spin_unlock(&victims->lock);
		pagoda_walk_pause();
	}
	spin_lock(&victims->lock);
	uses->jobs++;
	uses->used_at = victims->policy.clock;
	spin_unlock(&victims->lock);
}

/*
 * Returns the group of a client's allocations, if the client's jobs use only those of the group
 * that they list; NULL if the client's residency list isn't empty, because jobs also use what their
 * VM maps of that list.
 */
static struct pagoda_policy_group *victims_listed_group(struct pagoda_client *client)
{
	return READ_ONCE(client->requirements->count) ? NULL : &client->choice.group;
}

/**
 * pagoda_victims_expect() - Tell the policy which allocations a queued job will use
 * @vidmm: Manager
 * @client: Client that has queued the job
 * @bos: Allocations that the job lists, references held
 * @coming: Uninitialised memory for each allocation; the policy's until pagoda_victims_forget()
 * @count: Number of allocations
 *
 * Context: May sleep.
 */
void pagoda_victims_expect(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
			   struct pagoda_bo **bos, struct pagoda_policy_coming *coming, u32 count)
{
	struct pagoda_victims *victims = vidmm->victims;
	u32 i = 0, end;

	while (i < count) {
		end = min(count, i + PAGODA_WALK_SLICE);
		spin_lock(&victims->lock);
		for (; i < end; i++)
			pagoda_policy_expect(&victims->policy, victims_listed_group(client),
					     &bos[i]->choice.item, &coming[i]);
		spin_unlock(&victims->lock);
		pagoda_walk_pause();
	}
}

/**
 * pagoda_victims_forget() - Undo pagoda_victims_expect(): the job isn't queued any more
 * @vidmm: Manager
 * @coming: Memory of pagoda_victims_expect()
 * @count: Number of allocations
 *
 * Context: May sleep.
 */
void pagoda_victims_forget(struct pagoda_vidmm *vidmm, struct pagoda_policy_coming *coming,
			   u32 count)
{
	struct pagoda_victims *victims = vidmm->victims;
	u32 i = 0, end;

	while (i < count) {
		end = min(count, i + PAGODA_WALK_SLICE);
		spin_lock(&victims->lock);
		for (; i < end; i++)
			pagoda_policy_forget(&victims->policy, &coming[i]);
		spin_unlock(&victims->lock);
		pagoda_walk_pause();
	}
}

/*
 * Returns &pagoda_policy.clock at an allocation's last use in VRAM by a job that lists the
 * allocation, or at the last job of the VM that it is private to; at the allocation's creation if
 * there was no such use. Takes a spinlock; not in interrupts.
 */
u64 pagoda_victims_last_use(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;
	const struct pagoda_vm_uses *uses = bo->vm.uses;
	u64 last;

	spin_lock(&victims->lock);
	last = bo->choice.item.last;
	if (uses && (s64)(uses->used_at - last) > 0)
		last = uses->used_at;
	spin_unlock(&victims->lock);
	return last;
}

/**
 * pagoda_priority_level() - Index of the TTM LRU list that an allocation belongs in
 * @bo: Allocation; its reservation is held, or the allocation isn't visible to other threads yet
 *
 * Return: Index below %TTM_MAX_BO_PRIORITY; allocations of list 0 are evicted first.
 */
u32 pagoda_priority_level(const struct pagoda_bo *bo)
{
	if (pagoda_bo_is_offered(bo) || bo->wish.priority < DRM_PAGODA_RESIDENCY_LOW)
		return 0;
	if (bo->wish.priority < DRM_PAGODA_RESIDENCY_NORMAL)
		return 1;
	return bo->wish.priority < DRM_PAGODA_RESIDENCY_HIGH ? 2 : 3;
}

/**
 * pagoda_priority_step() - Rank of an allocation's residency priority
 * @bo: Allocation, reservation held
 *
 * Return: Rank below %PAGODA_PRIORITY_STEPS, 0 = offered. Lower ranks are promoted last; of
 * allocations whose clients are all over or all within their budgets, lower ranks leave VRAM first.
 */
u32 pagoda_priority_step(const struct pagoda_bo *bo)
{
	if (pagoda_bo_is_offered(bo))
		return 0;
	return 1 + (bo->wish.priority - DRM_PAGODA_RESIDENCY_MINIMUM) / PAGODA_POLICY_FINEST;
}
