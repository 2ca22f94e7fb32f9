// SPDX-License-Identifier: GPL-2.0
/*
 * How the driver gives monitored fences values: the GPU stores a value behind earlier paging, the
 * CPU stores a value when a dma_fence has signalled, and FENCE_SIGNAL stores a value at once.
 *
 * FENCE_SIGNAL doesn't wait for values that the GPU still has to store, because the GPU doesn't
 * store a smaller value over a larger one (FORWARD), unless the fence may rewind. If the GPU's
 * store fails, the CPU stores the value: a promise is kept even if the device fails.
 */
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include "core/core.h"
#include "core/life.h"
#include "paging/paging.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/stream/stream.h"
#include "fence.h"
#include "internal.h"
#include "sync.h"

/* A promise that a monitored fence gets a value. */
struct pagoda_mfence_signal {
	struct dma_fence_cb callback;	/* on the dma_fence of the work */
	struct llist_node done;		/* in &pagoda_mfences.kept once the promise is kept */
	struct pagoda_mfence *mfence;	/* a reference and a hold */
	u64 value;
	u64 before;			/* &pagoda_mfence.last before the promise */
	bool by_gpu;			/* the GPU stores the value, unless the store fails */
};

static void signal_free(struct pagoda_mfence_signal *signal)
{
	pagoda_mfence_unhold(signal->mfence);
	pagoda_mfence_put(signal->mfence);
	kfree(signal);
}

/* Work item &pagoda_mfences.reap: frees the promises that were kept. */
void pagoda_mfences_reap(struct work_struct *work)
{
	struct pagoda_mfences *mfences = container_of(work, struct pagoda_mfences, reap);
	struct pagoda_mfence_signal *signal, *next;

	llist_for_each_entry_safe(signal, next, llist_del_all(&mfences->kept), done)
		signal_free(signal);
}

/**
 * pagoda_mfence_promise() - Promise a value: check the value, allocate what its signalling needs
 * @mfence: Fence
 * @value: Value that will be signalled
 *
 * Context: May sleep and allocate. Outside of sections and reservations.
 * Return: The promise, which has a reference to the fence and holds it; or ERR_PTR: -EINVAL if
 * @value isn't larger than &pagoda_mfence.last and the fence may not rewind; -EDQUOT if the client
 * that created the fence, or this client's user, has too many fences held; -ENOMEM; -ENODEV if the
 * device is gone; -ERESTARTSYS.
 */
struct pagoda_mfence_signal *pagoda_mfence_promise(struct pagoda_mfence *mfence, u64 value)
{
	struct pagoda_mfence_signal *signal = kzalloc(sizeof(*signal), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!signal)
		return ERR_PTR(-ENOMEM);
	signal->value = value;
	signal->mfence = pagoda_mfence_get(mfence);
	ret = pagoda_mfence_hold(mfence);
	if (ret)
		goto err_put;
	spin_lock_irq(&mfence->lock);
	signal->before = mfence->last;
	if (value > mfence->last || pagoda_mfence_may_rewind(mfence))
		mfence->last = value;
	else
		ret = -EINVAL;
	spin_unlock_irq(&mfence->lock);
	if (!ret)
		return signal;
	pagoda_mfence_unhold(mfence);
err_put:
	pagoda_mfence_put(mfence);
	kfree(signal);
	return ERR_PTR(ret);
}

/**
 * pagoda_mfence_take_back() - Free a promise without signalling its value
 * @signal: Promise; freed
 *
 * The value may be promised again, unless FENCE_SIGNAL or a promise has named a larger value since.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_mfence_take_back(struct pagoda_mfence_signal *signal)
{
	struct pagoda_mfence *mfence = signal->mfence;

	spin_lock_irq(&mfence->lock);
	if (mfence->last == signal->value)
		mfence->last = signal->before;
	spin_unlock_irq(&mfence->lock);
	signal_free(signal);
}

/*
 * Callback on the fence of the work that signals a monitored fence: stores the promised value,
 * unless the GPU has stored it; ends the waits that are satisfied now, and leaves the promise to
 * pagoda_mfences_reap() to be freed. dma_fence signalling path.
 */
static void signal_callback(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	struct pagoda_mfence_signal *signal = container_of(callback, struct pagoda_mfence_signal,
							   callback);
	struct pagoda_mfence *mfence = signal->mfence;
	struct pagoda_vidmm *vidmm = mfence->bo->vidmm;
	unsigned long flags;

	spin_lock_irqsave(&mfence->lock, flags);
	/* While &pagoda_mfence.lost is set, the value goes to &pagoda_mfence.saved. */
	if (!signal->by_gpu || fence->error || mfence->lost)
		pagoda_mfence_write(mfence, signal->value);
	pagoda_mfence_look(mfence);
	spin_unlock_irqrestore(&mfence->lock, flags);
	/*
	 * Add the promise to the list last: once the promise is freed, possibly by a run of the
	 * work item that was queued before, the manager may be destroyed. pagoda_mfences_fini()
	 * waits for the end of the RCU read-side section.
	 */
	rcu_read_lock();
	if (llist_add(&signal->done, &vidmm->mfences->kept))
		queue_work(vidmm->mfences->wq, &vidmm->mfences->reap);
	rcu_read_unlock();
}

/*
 * Has a promise fulfilled when @fence has signalled, at once if @fence is NULL: the CPU stores the
 * value, unless the GPU has stored it, and ends the waits that are satisfied. The value is also
 * stored if @fence signals with an error, so that no thread waits for ever. Consumes the promise,
 * can't fail, may be called in any context.
 */
void pagoda_mfence_signal_after(struct pagoda_mfence_signal *signal, struct dma_fence *fence)
{
	struct dma_fence *stub;

	if (fence && !dma_fence_add_callback(fence, &signal->callback, signal_callback))
		return;
	/* @fence has signalled, if there is one: its error is final. */
	stub = fence ? NULL : dma_fence_get_stub();
	signal_callback(fence ?: stub, &signal->callback);
	dma_fence_put(stub);
}

static struct dma_fence *signal_emit(struct pagoda_mfence *mfence, u64 value,
				     struct dma_fence *paging)
{
	const struct pagoda_stream_order order = { .behind[PAGODA_EDGE_COVERED] = paging };
	struct pagoda_bo *bo = mfence->bo;
	struct pagoda_vidmm *vidmm = bo->vidmm;
	struct pagoda_stream_txn txn;
	struct pagoda_paging_cost cost;
	struct pagoda_adl adl;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
		.allocation = bo->id,
	};

	pagoda_bo_adl(bo, &adl);
	op.signal_fence.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM;
	op.signal_fence.address = adl.contiguous ? adl.base : adl.pages[0];
	op.signal_fence.value = value;
	op.signal_fence.flags = VIRTIO_PAGODA_SIGNAL_EVENT;
	if (!pagoda_mfence_may_rewind(mfence))
		op.signal_fence.flags |= VIRTIO_PAGODA_SIGNAL_FORWARD;
	op.signal_fence.cpu_pages = adl.cpu_pages;
	cost = pagoda_stream_cost(vidmm, &op);
	pagoda_stream_begin_in_must(&txn, vidmm, &order, PAGODA_STREAM_WAITS_NOT, NULL, &cost);
	WARN_ON_ONCE(pagoda_stream_emit(&txn, &op));
	return pagoda_stream_end(&txn);
}

/*
 * Has the GPU store the promised value behind all moves so far and @paging. Returns a reference to
 * the dma_fence of that store; or NULL, and the GPU stores nothing, without memory or device.
 */
static struct dma_fence *signal_by_gpu(struct pagoda_mfence_signal *signal,
				       struct dma_fence *paging)
{
	struct pagoda_bo *bo = signal->mfence->bo;
	struct dma_resv *resv = bo->ttm.base.resv;
	struct dma_fence *fence = NULL;

	pagoda_assert_entered(bo->vidmm);
	if (drm_dev_is_unplugged(bo->vidmm->drm))
		return NULL;
	dma_resv_lock(resv, NULL);
	if (!dma_resv_reserve_fences(resv, 1)) {
		fence = signal_emit(signal->mfence, signal->value, paging);
		if (fence)
			dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	}
	dma_resv_unlock(resv);
	return fence;
}

/**
 * pagoda_mfence_signal_paging() - Have the GPU store a value behind a call's paging work (C116)
 * @signal: Promise; consumed
 * @paging: Fence behind the call's paging, or NULL
 *
 * The store is also behind all moves so far. This function doesn't wait for the store, and neither
 * does a page fault of a CPU that reads the fence's page. If the store fails, the CPU stores the
 * value.
 *
 * Can't fail: without memory or device this function first waits until all paging so far is done,
 * and then the CPU stores the value.
 *
 * Context: May sleep and allocate. Outside of sections and reservations.
 */
void pagoda_mfence_signal_paging(struct pagoda_mfence_signal *signal, struct dma_fence *paging)
{
	struct pagoda_vidmm *vidmm = signal->mfence->bo->vidmm;
	struct dma_fence *fence;

	pagoda_enter_anyway(vidmm);
	fence = signal_by_gpu(signal, paging);
	pagoda_leave(vidmm);
	signal->by_gpu = fence;
	if (!fence)
		pagoda_stream_wait_idle(vidmm, MAX_SCHEDULE_TIMEOUT);
	pagoda_mfence_signal_after(signal, fence);
	dma_fence_put(fence);
}

static int signal_check(const struct pagoda_mfence_value *entry)
{
	struct pagoda_mfence *mfence = entry->mfence;
	u64 now;

	spin_lock_irq(&mfence->lock);
	now = mfence->lost ? mfence->saved : pagoda_mfence_read(mfence);
	spin_unlock_irq(&mfence->lock);
	if (entry->value <= now && !pagoda_mfence_may_rewind(mfence))
		return -EINVAL;
	return 0;
}

static void signal_store(const struct pagoda_mfence_value *entry)
{
	struct pagoda_mfence *mfence = entry->mfence;

	spin_lock_irq(&mfence->lock);
	pagoda_mfence_note(mfence, entry->value);
	pagoda_mfence_write(mfence, entry->value);
	pagoda_mfence_look(mfence);
	spin_unlock_irq(&mfence->lock);
}

/**
 * pagoda_mfences_signal() - Set the values of fences now, without waiting for work (FENCE_SIGNAL)
 * @vidmm: Manager
 * @list: Fences, each once, and their values
 * @count: Number of entries
 *
 * Sets all values or none. Waits that the values satisfy end before this function returns, in the
 * order of the list.
 *
 * Context: May sleep and allocate. Outside of sections and reservations.
 * Return: 0; -EPERM if a fence was created with NO_SIGNAL; -EINVAL if a value isn't larger than its
 * fence's value and the fence may not rewind; -EDQUOT if the client that created a fence, or this
 * client's user, has too many fences held; -ENOMEM; -ENODEV if the device is gone; -ERESTARTSYS.
 */
int pagoda_mfences_signal(struct pagoda_vidmm *vidmm, const struct pagoda_mfence_value *list,
			  u32 count)
{
	u32 held, i;
	int ret = 0;

	for (i = 0; i < count; i++)
		if (list[i].mfence->flags & DRM_PAGODA_FENCE_NO_SIGNAL)
			return -EPERM;
	for (held = 0; held < count && !ret; held += !ret)
		ret = pagoda_mfence_hold(list[held].mfence);
	/* Exclude other callers of this function between check and store of the values. */
	mutex_lock(&vidmm->mfences->lock);
	for (i = 0; i < count && !ret; i++)
		ret = signal_check(&list[i]);
	for (i = 0; i < count && !ret; i++)
		signal_store(&list[i]);
	mutex_unlock(&vidmm->mfences->lock);
	while (held--)
		pagoda_mfence_unhold(list[held].mfence);
	return ret;
}
