// SPDX-License-Identifier: GPL-2.0
/*
 * Limits and protection by control groups (the dmem controller); for a client outside of the root
 * cgroup, a thread in the client's cgroup.
 *
 * VRAM and the aperture are regions, "drm/<device>/vram" and "drm/<device>/aperture". Pages of
 * allocations in the aperture segment are charged to "aperture" even if they need no address there:
 * they are memory that the GPU uses, and may exceed the region's capacity. TTM charges the cgroup
 * of the current task when it creates a resource, and uncharges when the resource is freed, after
 * the move.
 *
 *	max	if the caller's cgroup or an ancestor is at its maximum, the caller evicts only
 *		victims of that cgroup and its descendants (&pagoda_dmem_claim.limit). Without
 *		such a victim the allocation is placed as if VRAM were full: in the next
 *		supported segment; or the caller gets -ENOMEM
 *	min	memory of a cgroup that uses less than its minimum isn't evicted for another
 *		cgroup that needs VRAM or aperture addresses, but see pagoda_dmem_protects()
 *	low	memory of a cgroup that uses less than its dmem.low is evicted last, when offers
 *		and the policy give no other victim
 *	lowered	writing a maximum below the current usage evicts memory of the cgroup and its
 *		descendants: from VRAM victims that the policy chooses, or, if none of these can
 *		be evicted, victims that TTM finds; from the aperture victims that TTM finds
 *
 * Protection counts from the cgroup at its maximum or, if there is none, from the closest common
 * ancestor of the caller's and the victim's cgroups, as in TTM. Given the root cgroup as ancestor,
 * the kernel finds nothing protected; if the root is the closest, the kernel is therefore asked
 * without an ancestor. TTM's own search for victims comes last and asks the kernel in its own way;
 * pagoda_dmem_protects() keeps TTM off memory that a minimum protects.
 *
 * A move is charged to the right cgroup if the current task is in the cgroup that wants the move:
 *
 *	ioctls, page faults	the caller's cgroup, also in a process that was given the file
 *	work items for a	run by a thread in the cgroup of the client's last call
 *	client, promotion	(&pagoda_payer.worker). After its file is closed a client has no
 *				thread: allocations still shared are charged to the root
 *	evictions for others	a victim of another cgroup goes to the system segment, not to
 *				the aperture: in the system segment nothing is charged
 *	imports by other	the cgroup of the importer's process
 *	devices
 */
#include <linux/cgroup.h>
#include <linux/kthread.h>
#include <linux/workqueue.h>
#include <drm/drm_drv.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/life.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "bo.h"
#include "internal.h"

/* ---- Segments as regions of the dmem controller --------------------------------- */

/* Query of the root cgroup's pool of @region by @work: work items run in the root cgroup. */
struct dmem_root {
	struct work_struct work;
	struct dmem_cgroup_region *region;
	struct dmem_cgroup_pool_state *pool;
	int ret;
};

static void dmem_root_work(struct work_struct *work)
{
	struct dmem_root *root = container_of(work, struct dmem_root, work);

	root->ret = dmem_cgroup_try_charge(root->region, 0, &root->pool, NULL);
}

static int dmem_find_root(struct pagoda_vidmm *vidmm, struct dmem_cgroup_region *region,
			  struct dmem_cgroup_pool_state **pool)
{
	struct dmem_root root = { .region = region };

	INIT_WORK_ONSTACK(&root.work, dmem_root_work);
	queue_work(vidmm->ttm.wq, &root.work);
	flush_work(&root.work);
	destroy_work_on_stack(&root.work);
	*pool = root.pool;
	return root.ret;
}

/*
 * Evicts allocations in VRAM that are charged to @pool or below: victims that the policy chooses,
 * until @bytes have left VRAM, no victim is left or a signal is pending; only if no victim of the
 * policy was evicted, victims that TTM finds. Returns 0 if the policy's victims freed anything,
 * even less than @bytes; else the result of ttm_resource_manager_dmem_reclaim().
 */
static int dmem_reclaim_vram(struct pagoda_vidmm *vidmm, struct dmem_cgroup_pool_state *pool,
			     u64 bytes)
{
	struct pagoda_dmem_claim claim = {
		.pool = pool,
		.limit = pool,
		.root = vidmm->dmem_roots[TTM_PL_VRAM],
	};

	if (pagoda_victims_trim(vidmm, bytes, &claim))
		return 0;
	return ttm_resource_manager_dmem_reclaim(pool, bytes,
						 ttm_manager_type(&vidmm->ttm, TTM_PL_VRAM));
}

static int dmem_reclaim(struct dmem_cgroup_pool_state *pool, u64 bytes, void *priv)
{
	struct ttm_resource_manager *man = priv;
	struct pagoda_vidmm *vidmm = pagoda_vidmm_of_ttm(man->bdev);
	int ret = pagoda_enter(vidmm);

	if (ret)
		return ret;
	ret = man == ttm_manager_type(&vidmm->ttm, TTM_PL_VRAM) ?
		      dmem_reclaim_vram(vidmm, pool, bytes) :
		      ttm_resource_manager_dmem_reclaim(pool, bytes, priv);
	pagoda_leave(vidmm);
	return ret;
}

static const struct dmem_cgroup_ops dmem_ops = {
	.reclaim = dmem_reclaim,
};

/*
 * Makes the segment of @man (@type: TTM_PL_VRAM or TTM_PL_TT) a region of the dmem cgroup
 * controller, before @man is used. Returns 0, also on kernels without the controller, or a negative
 * errno. May sleep and allocate.
 */
int pagoda_dmem_register(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man, u32 type)
{
	const struct dmem_cgroup_init init = {
		.size = man->size,
		.ops = &dmem_ops,
		.reclaim_priv = man,
	};
	struct dmem_cgroup_region *region;
	int ret;

	region = pagoda_dmem_register_region(&init, "drm/%s/%s", vidmm->drm->unique,
					     type == TTM_PL_VRAM ? "vram" : "aperture");
	if (IS_ERR_OR_NULL(region))
		return PTR_ERR_OR_ZERO(region);
	ret = dmem_find_root(vidmm, region, &vidmm->dmem_roots[type]);
	if (ret) {
		dmem_cgroup_unregister_region(region);
		return ret;
	}
	pagoda_dmem_set_region(man, region);
	return 0;
}

/*
 * Undoes pagoda_dmem_register(); resources of @man may still be charged, because each charge holds
 * a reference to the region. Waits for calls of dmem_reclaim(): the caller sees to it that
 * allocations can still be evicted from the segment.
 */
void pagoda_dmem_unregister(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man,
			    u32 type)
{
	struct dmem_cgroup_region *region = pagoda_dmem_region(man);

	if (!region)
		return;
	pagoda_dmem_set_region(man, NULL);
	dmem_cgroup_unregister_region(region);
	dmem_cgroup_uncharge(vidmm->dmem_roots[type], 0);
	vidmm->dmem_roots[type] = NULL;
}

/* ---- Claims: which cgroups' memory may be evicted -------------------------------- */

/*
 * Returns a reference to the pool of a segment that the current task's cgroup has. Returns NULL if
 * the segment isn't a region, the cgroup or an ancestor is above its maximum, or memory is missing.
 */
static struct dmem_cgroup_pool_state *dmem_own_pool(struct ttm_resource_manager *man)
{
	struct dmem_cgroup_region *region = pagoda_dmem_region(man);
	struct dmem_cgroup_pool_state *pool = NULL;

	if (region && dmem_cgroup_try_charge(region, 0, &pool, NULL))
		return NULL;
	return pool;
}

static void dmem_put_pool(struct dmem_cgroup_pool_state *pool)
{
	if (pool)
		dmem_cgroup_uncharge(pool, 0);
}

/*
 * Finds out from which cgroups the current task may evict memory to get @size bytes of a segment,
 * and fills @claim->root, @claim->pool and @claim->limit; does nothing if the segment isn't a
 * region. The caller zeroes the claim before the first call, and at last calls
 * pagoda_dmem_claim_end(). A caller that makes room for @size calls again after each victim,
 * because the victim's eviction may have made room below a maximum. May sleep and allocate.
 */
void pagoda_dmem_claim_look(struct pagoda_dmem_claim *claim, struct ttm_resource_manager *man,
			    u64 size)
{
	struct dmem_cgroup_region *region = pagoda_dmem_region(man);
	struct dmem_cgroup_pool_state *pool;

	if (!region)
		return;
	pagoda_dmem_claim_end(claim);
	claim->root = pagoda_vidmm_of_ttm(man->bdev)->dmem_roots[man->use_tt ? TTM_PL_TT :
									   TTM_PL_VRAM];
	claim->pool = dmem_own_pool(man);
	if (!dmem_cgroup_try_charge(region, size, &pool, &claim->limit))
		dmem_cgroup_uncharge(pool, size);
}

/* Drops a claim's references to the cgroups' pools; its flags, such as @taken, stay. */
void pagoda_dmem_claim_end(struct pagoda_dmem_claim *claim)
{
	dmem_put_pool(claim->pool);
	if (claim->limit)
		dmem_cgroup_pool_state_put(claim->limit);
	claim->pool = NULL;
	claim->limit = NULL;
}

/*
 * Called when no victim is left that the claim allows. Returns whether to try all victims once
 * more: some were refused but others evicted, so that the limit may have changed; or else some were
 * refused because of dmem.low, which is ignored from now on (@claim->low).
 */
bool pagoda_dmem_claim_again(struct pagoda_dmem_claim *claim)
{
	bool again = claim->refused && claim->taken;

	if (!again && claim->hit_low && !claim->low) {
		claim->low = true;
		again = true;
	}
	claim->refused = false;
	claim->hit_low = false;
	claim->taken = false;
	return again;
}

/*
 * Returns whether a claim allows to evict memory that is charged to the pool @victim; sets
 * *@hit_low if dmem.low forbids that. Protection counts from @claim->limit or, without that, from
 * the closest common ancestor of the cgroups of @claim->pool and @victim. If the ancestor is the
 * root cgroup, the kernel is given NULL: counting from the root's pool, the kernel would find
 * nothing protected.
 */
static bool dmem_may_take(const struct pagoda_dmem_claim *claim,
			  struct dmem_cgroup_pool_state *victim, bool *hit_low)
{
	struct dmem_cgroup_pool_state *ancestor = NULL, *from = claim->limit;
	bool may;

	/* A cgroup's memory is protected from other cgroups only, not from its own tasks. */
	if (!from && victim == claim->pool)
		return true;
	if (!from)
		ancestor = dmem_cgroup_get_common_ancestor(victim, claim->pool);
	if (ancestor && ancestor != claim->root)
		from = ancestor;
	may = dmem_cgroup_state_evict_valuable(from, victim, claim->low, hit_low);
	if (ancestor)
		dmem_cgroup_pool_state_put(ancestor);
	return may;
}

/*
 * Returns whether a claim allows to evict an allocation: always if no cgroup is charged for the
 * allocation, or the claim has neither pool nor limit. Sets @claim->refused if not, and
 * @claim->hit_low if dmem.low is the reason. The reservation is held. May sleep and allocate.
 */
bool pagoda_dmem_may_take(struct pagoda_dmem_claim *claim, struct pagoda_bo *bo)
{
	struct dmem_cgroup_pool_state *victim;
	bool may;

	victim = bo->ttm.resource ? pagoda_dmem_of_resource(bo->ttm.resource) : NULL;
	if (!victim || (!claim->pool && !claim->limit))
		return true;
	may = dmem_may_take(claim, victim, &claim->hit_low);
	claim->refused |= !may;
	return may;
}

/**
 * pagoda_dmem_protects() - Test whether dmem.min protects an allocation from the current task
 * @bo: Allocation, reservation held
 * @place: Place that TTM wants to make room in; NULL if TTM evicts because a cgroup's maximum was
 *	lowered: no allocation is protected then
 *
 * An allocation in the aperture segment is protected only if @place asks for aperture addresses
 * (&ttm_place.lpfn isn't 0): not when TTM swaps pages out, or wants room for pages without address.
 * Nothing is protected from a task whose cgroup has no pool now, as dmem_own_pool() says: if the
 * cgroup or an ancestor is above its maximum, for instance.
 *
 * Context: May sleep and allocate.
 * Return: true if @bo must stay.
 */
bool pagoda_dmem_protects(struct pagoda_bo *bo, const struct ttm_place *place)
{
	struct ttm_resource *res = bo->ttm.resource;
	struct dmem_cgroup_pool_state *victim = res ? pagoda_dmem_of_resource(res) : NULL;
	struct pagoda_dmem_claim claim = { .low = true };
	struct ttm_resource_manager *man;
	bool hit_low, may;

	if (!victim || !place || (res->mem_type == TTM_PL_TT && !place->lpfn))
		return false;
	man = ttm_manager_type(bo->ttm.bdev, res->mem_type);
	claim.root = bo->vidmm->dmem_roots[res->mem_type];
	claim.pool = dmem_own_pool(man);
	may = !claim.pool || dmem_may_take(&claim, victim, &hit_low);
	pagoda_dmem_claim_end(&claim);
	return !may;
}

/*
 * Returns true if the current task's cgroup is charged for an allocation, or no cgroup is: then a
 * move by the current task doesn't charge its cgroup for another cgroup's memory. Returns false,
 * too, if dmem_own_pool() is NULL. The reservation is held. May sleep and allocate.
 */
bool pagoda_dmem_is_own(struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;
	struct dmem_cgroup_pool_state *pool = res ? pagoda_dmem_of_resource(res) : NULL, *own;
	bool same;

	if (!pool)
		return true;
	own = dmem_own_pool(ttm_manager_type(bo->ttm.bdev, res->mem_type));
	same = own == pool;
	dmem_put_pool(own);
	return same;
}

/* ---- Threads in the cgroups of clients, so that these are charged --------------- */

/* A call of @run(@arg) in &pagoda_payer.worker, a client's thread; @kcov: the client's. */
struct payer_turn {
	struct kthread_work work;
	struct pagoda_kcov kcov;
	void (*run)(void *arg);
	void *arg;
};

static void payer_work(struct kthread_work *work)
{
	struct payer_turn *turn = container_of(work, struct payer_turn, work);

	pagoda_kcov_begin(turn->kcov);
	turn->run(turn->arg);
	pagoda_kcov_end();
}

static void payer_stop(struct pagoda_payer *payer)
{
	lockdep_assert_held(&payer->lock);
	if (payer->worker)
		kthread_destroy_worker(payer->worker);
	payer->worker = NULL;
}

/*
 * Moves a client's thread, created if there is none, to the current task's cgroup; ends the thread
 * if that is the root cgroup, where work items run. @pool is the dmem_own_pool() of VRAM, which may
 * be NULL. Returns 0; or a negative errno: then there is no thread.
 */
static int payer_move(struct pagoda_vidmm *vidmm, struct pagoda_payer *payer,
		      struct dmem_cgroup_pool_state *pool)
{
	struct kthread_worker *worker;
	int ret;

	lockdep_assert_held(&payer->lock);
	if (pool == vidmm->dmem_roots[TTM_PL_VRAM]) {
		payer_stop(payer);
		return 0;
	}
	if (!payer->worker) {
		worker = kthread_run_worker(0, "pagoda-payer");
		if (IS_ERR(worker))
			return PTR_ERR(worker);
		payer->worker = worker;
	}
	ret = cgroup_attach_task_all(current, payer->worker->task);
	if (ret)
		payer_stop(payer);
	return ret;
}

static int payer_follow_locked(struct pagoda_vidmm *vidmm, struct pagoda_payer *payer,
			       struct dmem_cgroup_pool_state *pool)
{
	int ret;

	lockdep_assert_held(&payer->lock);
	if (pool ? payer->pool == pool : !!payer->worker) {
		dmem_put_pool(pool);
		return 0;
	}
	ret = payer_move(vidmm, payer, pool);
	if (ret) {
		dmem_put_pool(pool);
		pool = NULL;
	}
	dmem_put_pool(payer->pool);
	WRITE_ONCE(payer->pool, pool);
	return ret;
}

/**
 * pagoda_payer_follow() - Charge what a client's work items allocate to the current task's cgroup
 * @vidmm: Memory manager
 * @client: Client
 *
 * If the current task's cgroup isn't that of the last call, moves the client's thread,
 * &pagoda_payer.worker, to the current task's cgroup, which takes long; else, or if VRAM isn't a
 * region of the controller, does nothing. While dmem_own_pool() is NULL, as above the maximum, the
 * cgroups can't be compared: an existing thread then stays in its cgroup.
 *
 * Context: May sleep and allocate. Outside of all locks and of pagoda_enter() sections.
 * Return: 0 or a negative errno; after an error the client has no thread.
 */
int pagoda_payer_follow(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	struct dmem_cgroup_region *region =
		pagoda_dmem_region(ttm_manager_type(&vidmm->ttm, TTM_PL_VRAM));
	struct pagoda_payer *payer = &client->payer;
	struct dmem_cgroup_pool_state *pool;
	int ret;

	if (!region)
		return 0;
	pool = dmem_own_pool(ttm_manager_type(&vidmm->ttm, TTM_PL_VRAM));
	if (pool && READ_ONCE(payer->pool) == pool) {
		dmem_put_pool(pool);
		return 0;
	}
	mutex_lock(&payer->lock);
	ret = payer_follow_locked(vidmm, payer, pool);
	mutex_unlock(&payer->lock);
	return ret;
}

/**
 * pagoda_payer_end() - End a client's thread when its file is closed
 * @client: Client
 *
 * The thread leaves its cgroup, which may then be removed.
 *
 * Context: Sleeps. Outside of all locks and of pagoda_enter() sections.
 */
void pagoda_payer_end(struct pagoda_client *client)
{
	struct pagoda_payer *payer = &client->payer;

	mutex_lock(&payer->lock);
	payer_stop(payer);
	dmem_put_pool(payer->pool);
	payer->pool = NULL;
	mutex_unlock(&payer->lock);
}

/*
 * Has a client's thread call @run and waits until @run has returned; if the client has no thread,
 * the current thread calls @run. @payer->lock keeps other work items off the client's thread.
 */
static void payer_run_locked(struct pagoda_payer *payer, void (*run)(void *arg), void *arg)
{
	struct payer_turn turn = {
		.kcov = container_of(payer, struct pagoda_client, payer)->kcov,
		.run = run,
		.arg = arg,
	};

	lockdep_assert_held(&payer->lock);
	if (!payer->worker) {
		run(arg);
		return;
	}
	kthread_init_work(&turn.work, payer_work);
	kthread_queue_work(payer->worker, &turn.work);
	kthread_flush_work(&turn.work);
}

/**
 * pagoda_payer_run() - Call a function in the cgroup of a client
 * @payer: The client's thread
 * @run: Function; the client's thread calls it, or the caller if the client has no thread
 * @arg: Argument of @run
 *
 * Context: In a work item of the client that holds no lock which @run takes. Sleeps until @run has
 * returned, and as long as another work item of the client uses the thread.
 */
void pagoda_payer_run(struct pagoda_payer *payer, void (*run)(void *arg), void *arg)
{
	if (!READ_ONCE(payer->worker)) {
		run(arg);
		return;
	}
	mutex_lock(&payer->lock);
	payer_run_locked(payer, run, arg);
	mutex_unlock(&payer->lock);
}

/**
 * pagoda_payer_try_run() - pagoda_payer_run() unless the client's thread is in use
 * @payer: The client's thread
 * @run: Function; the client's thread calls it, or the caller if the client has no thread
 * @arg: Argument of @run
 *
 * For work items that serve several clients: they don't wait for a thread that another work item
 * of the client uses, or that moves to another cgroup, because this would delay the other clients.
 *
 * Context: In a work item that holds no lock which @run takes. Sleeps until @run has returned.
 * Return: Whether @run was called.
 */
bool pagoda_payer_try_run(struct pagoda_payer *payer, void (*run)(void *arg), void *arg)
{
	if (!READ_ONCE(payer->worker)) {
		run(arg);
		return true;
	}
	if (!mutex_trylock(&payer->lock))
		return false;
	payer_run_locked(payer, run, arg);
	mutex_unlock(&payer->lock);
	return true;
}
