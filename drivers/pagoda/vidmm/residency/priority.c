// SPDX-License-Identifier: GPL-2.0
/*
 * Residency priority: the order in which allocations are evicted. Also runs functions with the
 * reservations of a list of allocations held, for priorities, offers and reclaims.
 *
 * TTM takes victims from four LRU lists, one after another: offered allocations share the first
 * list with the lowest priorities. TTM itself puts an allocation that moves into the right list.
 * The driver's own choice of victims uses finer steps (PAGODA_POLICY_FINEST).
 */
#include <drm/drm_exec.h>
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/policy.h"
#include "internal.h"
#include "residency.h"

static_assert((DRM_PAGODA_RESIDENCY_MAXIMUM - DRM_PAGODA_RESIDENCY_MINIMUM) /
	      PAGODA_POLICY_FINEST + 2 == PAGODA_PRIORITY_STEPS);
static_assert(TTM_MAX_BO_PRIORITY >= 4);

static int bos_lock(struct drm_exec *exec, struct pagoda_bo **bos, u32 count)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < count && !ret; i++)
		ret = drm_exec_prepare_obj(exec, pagoda_bo_gem(bos[i]), 1);
	return ret;
}

/*
 * Calls @run with the reservations of all allocations held, and again, after all were unlocked and
 * locked anew, if @run found them contended. Returns the result of @run; or -EINTR, -ERESTARTSYS or
 * -ENOMEM if the reservations couldn't be locked. Moves in @run may lock victims with the ww
 * ticket. Each allocation is in the list only once, and the caller holds no reservation.
 */
int pagoda_bos_run(struct pagoda_bo **bos, u32 count,
		   int (*run)(struct drm_exec *exec, void *arg), void *arg)
{
	struct drm_exec exec;
	int ret = 0;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES, count);
	/* Call @run inside of the loop, where the ww ticket may still lock victims. */
	drm_exec_until_all_locked(&exec) {
		ret = bos_lock(&exec, bos, count);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
		ret = run(&exec, arg);
		drm_exec_retry_on_contention(&exec);
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

static int priority_set_all(struct drm_exec *exec, void *arg)
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
 * @priorities: New priority of each allocation, checked by the caller
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
