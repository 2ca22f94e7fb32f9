// SPDX-License-Identifier: GPL-2.0
/*
 * Residency priority: the order in which allocations are evicted.
 *
 * TTM takes victims from four lists, one after another: offered allocations share the first
 * with the lowest priorities. An allocation's place in a list is found anew when it moves, so a
 * change of its place needs no work here. The driver's own choices use finer steps.
 */
#include <drm/drm_exec.h>
#include "vidmm/bo/victims.h"
#include "vidmm/ledger/policy.h"
#include "vidmm/vm/internal.h"

static_assert((DRM_PAGODA_RESIDENCY_MAXIMUM - DRM_PAGODA_RESIDENCY_MINIMUM) /
	      PAGODA_POLICY_FINEST + 2 == PAGODA_PRIORITY_STEPS);
static_assert(TTM_MAX_BO_PRIORITY >= 4);

/**
 * pagoda_priority_level() - TTM's list that an allocation belongs to
 * @bo: Allocation; its reservation is held, or the allocation isn't visible to other threads yet
 *
 * Return: Below %TTM_MAX_BO_PRIORITY; 0 is evicted first.
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
 * pagoda_priority_step() - Order in which the driver evicts allocations
 * @bo: Allocation, reservation held
 *
 * Return: Below %PAGODA_PRIORITY_STEPS; 0 for an offered allocation.
 */
u32 pagoda_priority_step(const struct pagoda_bo *bo)
{
	if (pagoda_bo_is_offered(bo))
		return 0;
	return 1 + (bo->wish.priority - DRM_PAGODA_RESIDENCY_MINIMUM) / PAGODA_POLICY_FINEST;
}

/*
 * A private and offered allocation isn't used by its VM's jobs: it isn't part of what they move
 * to the end of the LRU list at once.
 */
static struct ttm_lru_bulk_move *priority_bulk(const struct pagoda_bo *bo)
{
	if (!bo->vm.private_to || !bo->vm.opened || pagoda_bo_is_offered(bo))
		return NULL;
	return &bo->vm.private_to->bulk;
}

/**
 * pagoda_priority_apply() - Put an allocation into its list after a change of priority, handle or
 * offer
 * @bo: Allocation, reservation held
 *
 * It is the last of its new list.
 *
 * Context: Takes TTM's LRU lock.
 */
void pagoda_priority_apply(struct pagoda_bo *bo)
{
	u32 level = pagoda_priority_level(bo);

	pagoda_victims_changed(bo);
	pagoda_promote_look(bo);
	if (level == bo->ttm.priority && priority_bulk(bo) == bo->ttm.bulk_move)
		return;
	ttm_bo_set_bulk_move(&bo->ttm, NULL);
	spin_lock(&bo->vidmm->ttm.lru_lock);
	bo->ttm.priority = level;
	ttm_bo_move_to_lru_tail(&bo->ttm);
	spin_unlock(&bo->vidmm->ttm.lru_lock);
	ttm_bo_set_bulk_move(&bo->ttm, priority_bulk(bo));
}

static int bos_lock(struct drm_exec *exec, struct pagoda_bo **bos, u32 count)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < count && !ret; i++)
		ret = drm_exec_prepare_obj(exec, pagoda_bo_gem(bos[i]), 1);
	return ret;
}

/**
 * pagoda_bos_run() - Run a function with all reservations of a list held
 * @bos: Allocations, each only once; references held
 * @count: Number of allocations
 * @run: Function, called once; its moves may evict with the ticket of the list
 * @arg: Argument of @run
 *
 * Context: May sleep. Outside of reservations.
 * Return: Result of @run, -EINTR, -ERESTARTSYS or -ENOMEM.
 */
int pagoda_bos_run(struct pagoda_bo **bos, u32 count, int (*run)(void *arg), void *arg)
{
	struct drm_exec exec;
	int ret = 0;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES, count);
	/* The work is inside the loop, where the ticket may still be used to lock victims. */
	drm_exec_until_all_locked(&exec) {
		ret = bos_lock(&exec, bos, count);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
		ret = run(arg);
		if (ret)
			break;
	}
	drm_exec_fini(&exec);
	return ret;
}

/* struct priority_list - a list of allocations and their new priorities */
struct priority_list {
	struct pagoda_bo **bos;
	const u32 *priorities;
	u32 count;
};

static int priority_set_all(void *arg)
{
	struct priority_list *list = arg;
	u32 i;

	for (i = 0; i < list->count; i++) {
		list->bos[i]->wish.priority = list->priorities[i];
		pagoda_priority_apply(list->bos[i]);
	}
	return 0;
}

/**
 * pagoda_set_priority() - Set residency priorities
 * @vidmm: The manager
 * @bos: Allocations, each only once; references held
 * @priorities: One for each, checked
 * @count: Number of allocations
 *
 * Context: May sleep. Outside of reservations.
 * Return: 0, -EINTR, -ERESTARTSYS or -ENOMEM; after an error nothing has changed.
 */
int pagoda_set_priority(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos,
			const u32 *priorities, u32 count)
{
	struct priority_list list = { .bos = bos, .priorities = priorities, .count = count };

	return pagoda_bos_run(bos, count, priority_set_all, &list);
}
