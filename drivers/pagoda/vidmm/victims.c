// SPDX-License-Identifier: GPL-2.0
/*
 * Who makes room in VRAM: what the policy chooses, before TTM takes what is longest unused.
 *
 * The policy (policy.c) knows no lock and no allocation. Here it is told what happens:
 *
 *	an allocation comes to VRAM, leaves it
 *	or is closed, by the last who had it		pagoda_victims_moved()
 *	a submission lists some				pagoda_victims_used()
 *	a call needs some at once			pagoda_victims_keep()
 *	priorities, offers				pagoda_victims_changed()
 *
 * A job uses whatever is private to its VM and bound, without listing it; to tell the policy
 * of each would make a submission cost more the more there is. The VM notes when its last job
 * came, and the policy is told when it chooses one of these.
 *
 * A victim whose reservation somebody holds is set aside and stays. TTM comes last, with its
 * own order: it waits for reservations, and takes page tables and save areas too, which the
 * policy isn't asked about because their VM decides when they may go.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <drm/ttm/ttm_bo.h>
#include <pagoda/virtio.h>
#include "dmem.h"
#include "victims.h"
#include "vm.h"

/*
 * Late news of private allocations that a choice waits for. Those of one VM are all as good;
 * this is for others not to leave because of one that is idle.
 */
#define LATE_MAX	64

/* Under the lock of the policy. What signals is no news for anybody who has it. */
static bool victims_is_busy(struct pagoda_policy_item *item)
{
	struct pagoda_bo *bo = container_of(item, struct pagoda_bo, victim);

	return !dma_resv_test_signaled(bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP);
}

/**
 * pagoda_victims_init() - Nothing is in VRAM
 * @vidmm: The manager
 * @lru: Don't ask the policy: TTM takes what is longest unused
 *
 * Context: Probe; may sleep.
 * Return: 0 or -ENOMEM.
 */
int pagoda_victims_init(struct pagoda_vidmm *vidmm, bool lru)
{
	struct pagoda_victims *victims = kvzalloc(sizeof(*victims), GFP_KERNEL);

	if (!victims)
		return -ENOMEM;
	spin_lock_init(&victims->lock);
	victims->asked = !lru;
	pagoda_policy_init(&victims->policy, pagoda_vidmm_vram_size(vidmm));
	victims->policy.is_busy = victims_is_busy;
	vidmm->victims = victims;
	return 0;
}

/**
 * pagoda_victims_fini() - No allocation is left
 * @vidmm: The manager
 */
void pagoda_victims_fini(struct pagoda_vidmm *vidmm)
{
	kvfree(vidmm->victims);
}

/* TTM's and other devices' own, page tables and save areas aren't the policy's. */
static bool victims_knows(const struct pagoda_bo *bo)
{
	return bo->ttm.type == ttm_bo_type_device;
}

/**
 * pagoda_victims_add() - An allocation is made
 * @bo: Allocation, nowhere yet
 */
void pagoda_victims_add(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	spin_lock(&victims->lock);
	pagoda_policy_add(&victims->policy, &bo->victim, bo->ttm.base.size);
	spin_unlock(&victims->lock);
}

/**
 * pagoda_victims_remove() - An allocation goes
 * @bo: Allocation; nobody has a reference
 */
void pagoda_victims_remove(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	spin_lock(&victims->lock);
	pagoda_policy_remove(&victims->policy, &bo->victim);
	spin_unlock(&victims->lock);
}

/* Who is needed by the call that brings it is a candidate when that is over. */
static void victims_enter(struct pagoda_victims *victims, struct pagoda_bo *bo)
{
	lockdep_assert_held(&victims->lock);
	if (bo->in_vram && !bo->keep)
		pagoda_policy_enter(&victims->policy, &bo->victim);
}

/* A difference only where there is VRAM that the CPU can't see. */
static bool victims_is_visible(struct pagoda_vidmm *vidmm, struct ttm_resource *res)
{
	return vidmm->vram.visible_size < vidmm->info->vram_size &&
	       pagoda_vram_is_visible(vidmm, res);
}

/**
 * pagoda_victims_moved() - An allocation came to VRAM, left it, or is elsewhere in it
 * @bo: Allocation, reservation held or nobody has a reference
 * @to: Where it is now; NULL = nowhere, or where nobody may take it from
 *
 * Context: Any but interrupts.
 */
void pagoda_victims_moved(struct pagoda_bo *bo, struct ttm_resource *to)
{
	struct pagoda_victims *victims = bo->vidmm->victims;
	bool in_vram = to && to->mem_type == TTM_PL_VRAM, came = in_vram != bo->in_vram;

	if (!victims_knows(bo) || (!came && !in_vram))
		return;
	spin_lock(&victims->lock);
	bo->in_vram = in_vram;
	if (came)
		pagoda_copy_moved(bo);
	if (in_vram)
		pagoda_policy_set_visible(&victims->policy, &bo->victim,
					  victims_is_visible(bo->vidmm, to));
	if (in_vram && came)
		victims_enter(victims, bo);
	else if (!in_vram)
		pagoda_policy_leave(&victims->policy, &bo->victim);
	spin_unlock(&victims->lock);
}

/**
 * pagoda_victims_changed() - An allocation's priority or offer changed
 * @bo: Allocation, reservation held
 *
 * Context: Any but interrupts.
 */
void pagoda_victims_changed(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;
	struct pagoda_policy *policy = &victims->policy;

	if (!victims_knows(bo))
		return;
	spin_lock(&victims->lock);
	pagoda_policy_set_priority(policy, &bo->victim, bo->priority);
	if (pagoda_bo_is_offered(bo))
		pagoda_policy_offer(policy, &bo->victim, bo->offer - PAGODA_OFFER_LOW);
	else
		pagoda_policy_reclaim(policy, &bo->victim);
	spin_unlock(&victims->lock);
}

/**
 * pagoda_victims_keep() - A call needs allocations all at once, or no more
 * @vidmm: The manager
 * @bos: Allocations, reservations held
 * @count: Their number
 * @keep: None of them leaves from now on (&pagoda_bo.keep), or they may again
 *
 * Context: Any but interrupts.
 */
void pagoda_victims_keep(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			 bool keep)
{
	struct pagoda_victims *victims = vidmm->victims;
	u32 i;

	spin_lock(&victims->lock);
	for (i = 0; i < count; i++) {
		if (bos[i]->keep == keep)
			continue;
		bos[i]->keep = keep;
		if (keep)
			pagoda_policy_hold(&victims->policy, &bos[i]->victim);
		else
			victims_enter(victims, bos[i]);
	}
	spin_unlock(&victims->lock);
}

/**
 * pagoda_victims_used() - A submission uses allocations
 * @vm: Its VM, whose private ones it uses too
 * @bos: What it lists, reservations held
 * @count: Their number
 *
 * Context: Any but interrupts.
 */
void pagoda_victims_used(struct pagoda_vm *vm, struct pagoda_bo **bos, u32 count)
{
	struct pagoda_victims *victims = vm->vidmm->victims;
	u32 i;

	spin_lock(&victims->lock);
	for (i = 0; i < count; i++) {
		if (!bos[i]->in_vram)
			continue;
		pagoda_policy_use(&victims->policy, &bos[i]->victim);
		pagoda_copy_used(bos[i]);
	}
	vm->jobs++;
	vm->used_at = victims->policy.clock;
	spin_unlock(&victims->lock);
}

/**
 * pagoda_victims_last_use() - When an allocation was used last
 * @bo: Allocation, reservation held
 *
 * Context: Any but interrupts.
 * Return: &pagoda_policy.clock.
 */
u64 pagoda_victims_last_use(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;
	struct pagoda_vm *vm = bo->private_to;
	u64 last;

	spin_lock(&victims->lock);
	last = bo->victim.last;
	if (vm && (s64)(vm->used_at - last) > 0)
		last = vm->used_at;
	spin_unlock(&victims->lock);
	return last;
}

/* ---- Taking ------------------------------------------------------------------- */

/* Was it used after all, by a job that didn't list it? */
static bool victims_is_late(struct pagoda_victims *victims, struct pagoda_bo *bo)
{
	struct pagoda_vm *vm = bo->private_to;

	pagoda_copy_settle(bo);
	if (!vm || (s64)(vm->used_at - bo->victim.last) <= 0)
		return false;
	pagoda_policy_use_late(&victims->policy, &bo->victim, vm->used_at);
	return true;
}

static struct pagoda_bo *victims_pick(struct pagoda_victims *victims,
				      enum pagoda_policy_need need)
{
	struct pagoda_policy_item *item;
	struct pagoda_bo *bo = NULL;
	u32 late = 0;

	do {
		item = pagoda_policy_pick(&victims->policy, need);
		bo = item ? container_of(item, struct pagoda_bo, victim) : NULL;
	} while (bo && late++ < LATE_MAX && victims_is_late(victims, bo));
	return bo;
}

/*
 * The next one with a reference, from then on among those that were tried. Who has none any
 * more is leaving, and who is aside already is put back by who put him there.
 */
static struct pagoda_bo *victims_next(struct pagoda_victims *victims,
				      enum pagoda_policy_need need, struct list_head *tried)
{
	struct pagoda_bo *bo;

	spin_lock(&victims->lock);
	do {
		bo = victims_pick(victims, need);
	} while (bo && (!list_empty(&bo->tried) || !kref_get_unless_zero(&bo->ttm.base.refcount)));
	if (bo)
		list_add_tail(&bo->tried, tried);
	spin_unlock(&victims->lock);
	return bo;
}

/* Who stays is a candidate again, behind who was in front of him. */
static void victims_put_back(struct pagoda_victims *victims, struct list_head *tried)
{
	struct pagoda_bo *bo, *next;

	list_for_each_entry_safe_reverse(bo, next, tried, tried) {
		spin_lock(&victims->lock);
		list_del_init(&bo->tried);
		victims_enter(victims, bo);
		spin_unlock(&victims->lock);
		drm_gem_object_put(&bo->ttm.base);
	}
}

/**
 * pagoda_victims_lock() - Take the reservation of who shall leave
 * @bo: Allocation
 * @mine: The reservation of who wants its place, held; it may be the same
 * @ctx: Whether it may leave then
 *
 * Context: Any but interrupts; doesn't wait.
 * Return: Whether it is held; pagoda_victims_unlock() it.
 */
bool pagoda_victims_lock(struct pagoda_bo *bo, const struct dma_resv *mine,
			 const struct ttm_operation_ctx *ctx)
{
	if (bo->ttm.base.resv == mine)
		return ctx->allow_res_evict && ctx->resv == mine;
	return dma_resv_trylock(bo->ttm.base.resv);
}

/**
 * pagoda_victims_unlock() - Undo pagoda_victims_lock()
 * @bo: Allocation
 * @mine: As there
 */
void pagoda_victims_unlock(struct pagoda_bo *bo, const struct dma_resv *mine)
{
	if (bo->ttm.base.resv != mine)
		dma_resv_unlock(bo->ttm.base.resv);
}

/* TTM discards what nobody needs, instead of moving it. */
static bool victims_evict(struct pagoda_bo *bo, const struct ttm_place *place,
			  const struct ttm_operation_ctx *ctx, struct pagoda_dmem_claim *claim)
{
	struct ttm_operation_ctx mine = {
		.interruptible = ctx->interruptible,
		.no_wait_gpu = ctx->no_wait_gpu,
	};
	int ret;

	if (!pagoda_bo_is_in_vram(bo) || bo->discardable || bo->ttm.pin_count ||
	    !pagoda_dmem_may_take(claim, bo) ||
	    !pagoda_ttm_funcs.eviction_valuable(&bo->ttm, place))
		return false;
	bo->makes_room = true;
	ret = pagoda_bo_place(bo, pagoda_bo_placement_evicted, &mine);
	bo->makes_room = false;
	claim->taken |= !ret;
	claim->interrupted |= ret == -ERESTARTSYS || ret == -EINTR;
	return !ret;
}

/* Somebody wants its place for something else: it doesn't come back by itself. */
static bool victims_trim(struct pagoda_bo *bo, const struct ttm_place *place,
			 const struct ttm_operation_ctx *ctx, struct pagoda_dmem_claim *claim)
{
	bool released = bo->released;

	WRITE_ONCE(bo->released, true);
	if (victims_evict(bo, place, ctx, claim))
		return true;
	WRITE_ONCE(bo->released, released);
	return false;
}

/* Who left, with the reference that @tried has; NULL if nobody can. @mine: NULL = none is held. */
static struct pagoda_bo *victims_take(struct pagoda_vidmm *vidmm, const struct dma_resv *mine,
				      const struct ttm_place *place,
				      const struct ttm_operation_ctx *ctx,
				      struct pagoda_dmem_claim *claim, struct list_head *tried)
{
	bool visible = place->lpfn && place->lpfn < vidmm->info->vram_size >> PAGE_SHIFT;
	enum pagoda_policy_need need = visible ? PAGODA_POLICY_NEED_VISIBLE :
						 PAGODA_POLICY_NEED_ANY;
	struct pagoda_bo *bo = NULL;
	bool done = false;

	while (!done && !claim->interrupted && (bo = victims_next(vidmm->victims, need, tried))) {
		if (!pagoda_victims_lock(bo, mine, ctx))
			continue;
		done = mine ? victims_evict(bo, place, ctx, claim) :
			      victims_trim(bo, place, ctx, claim);
		pagoda_victims_unlock(bo, mine);
	}
	return done ? bo : NULL;
}

static bool victims_take_next(struct pagoda_bo *want, const struct ttm_place *place,
			      const struct ttm_operation_ctx *ctx,
			      struct pagoda_dmem_claim *claim, struct list_head *tried)
{
	return victims_take(want->vidmm, want->ttm.base.resv, place, ctx, claim, tried);
}

/**
 * pagoda_victims_place() - Bring an allocation to VRAM, with room that the policy makes
 * @bo: Allocation, reservation held
 * @placement: Where it shall be
 * @ctx: Whether waits may be interrupted, or happen at all
 * @claim: The caller's claim to the memory of others
 *
 * Context: May sleep and allocate. Doesn't wait for the device.
 * Return: 0, -ENOMEM if there isn't enough, or what ttm_bo_validate() answers.
 */
int pagoda_victims_place(struct pagoda_bo *bo, const struct ttm_placement *placement,
			 struct ttm_operation_ctx *ctx, struct pagoda_dmem_claim *claim)
{
	LIST_HEAD(tried);
	int ret;

	if (!bo->vidmm->victims->asked)
		return -ENOMEM;
	ret = pagoda_bo_place_taking(bo, placement, ctx, victims_take_next, claim, &tried);
	victims_put_back(bo->vidmm->victims, &tried);
	return ret;
}

static u64 victims_trim_pass(struct pagoda_vidmm *vidmm, u64 bytes,
			     struct pagoda_dmem_claim *claim)
{
	const struct ttm_place place = { .mem_type = TTM_PL_VRAM };
	const struct ttm_operation_ctx ctx = { .interruptible = true };
	struct pagoda_victims *victims = vidmm->victims;
	struct pagoda_bo *bo;
	LIST_HEAD(tried);
	u64 done = 0;

	while (done < bytes && !signal_pending(current)) {
		bo = victims_take(vidmm, NULL, &place, &ctx, claim, &tried);
		if (!bo)
			break;
		done += bo->ttm.base.size;
		atomic64_add(bo->ttm.base.size, &victims->trimmed);
	}
	victims_put_back(victims, &tried);
	return done;
}

/**
 * pagoda_victims_trim() - Evict what a claim allows
 * @vidmm: The manager
 * @bytes: How much, at least; it ends early when no victim is left
 * @claim: The caller's, filled
 *
 * The policy chooses, even if it isn't asked otherwise. What dmem.low protects comes last.
 *
 * Context: Inside the gate; takes reservations, one after another. May sleep and allocate.
 * Doesn't wait for the device.
 * Return: Bytes that left.
 */
u64 pagoda_victims_trim(struct pagoda_vidmm *vidmm, u64 bytes, struct pagoda_dmem_claim *claim)
{
	u64 done = 0;

	do {
		done += victims_trim_pass(vidmm, bytes - done, claim);
	} while (done < bytes && !signal_pending(current) && pagoda_dmem_claim_again(claim));
	return done;
}

/**
 * pagoda_vidmm_trim() - Evict allocations as if their VRAM were wanted by the caller
 * @vidmm: The manager
 * @bytes: How much, at least; it ends early when no victim is left
 *
 * A victim stays away until it is used or made resident.
 *
 * Context: As pagoda_victims_trim().
 * Return: 0, or -EINTR after a signal; what left before that stays away.
 */
int pagoda_vidmm_trim(struct pagoda_vidmm *vidmm, u64 bytes)
{
	struct pagoda_dmem_claim claim = {};
	u64 done;

	pagoda_dmem_claim_look(&claim, &vidmm->vram.manager, 0);
	done = pagoda_victims_trim(vidmm, bytes, &claim);
	pagoda_dmem_claim_end(&claim);
	return done < bytes && signal_pending(current) ? -EINTR : 0;
}

/**
 * pagoda_vidmm_trimmed() - What pagoda_vidmm_trim() has evicted since probe
 * @vidmm: The manager
 *
 * Context: Any.
 * Return: Bytes.
 */
u64 pagoda_vidmm_trimmed(struct pagoda_vidmm *vidmm)
{
	return atomic64_read(&vidmm->victims->trimmed);
}
