// SPDX-License-Identifier: GPL-2.0
/*
 * Monitored fences get values: from the GPU behind paging, from the CPU behind a fence,
 * from FENCE_SIGNAL at once.
 *
 * The CPU doesn't wait for what the GPU still has to store: the GPU doesn't store what
 * is smaller (FORWARD). What it was to store and couldn't, the CPU stores when the work
 * is given up, so that a promise is kept whatever happens to the device.
 */
#include <linux/slab.h>
#include <pagoda/sync.h>
#include <pagoda/virtio.h>
#include "fence.h"

/**
 * struct pagoda_mfence_signal - A promise
 * @callback: On the fence of the work
 * @done: In &pagoda_mfences.kept
 * @mfence: Fence, a reference, held
 * @value: Promised value
 * @before: Last value before it
 * @by_gpu: The GPU stores it, unless the work fails
 */
struct pagoda_mfence_signal {
	struct dma_fence_cb callback;
	struct llist_node done;
	struct pagoda_mfence *mfence;
	u64 value;
	u64 before;
	bool by_gpu;
};

/* The promise is kept or taken back. */
static void signal_free(struct pagoda_mfence_signal *signal)
{
	pagoda_mfence_unhold(signal->mfence);
	pagoda_mfence_put(signal->mfence);
	kfree(signal);
}

/**
 * pagoda_mfences_reap() - Let go of the fences whose promises were kept
 * @work: &pagoda_mfences.reap
 *
 * Context: Work item.
 */
void pagoda_mfences_reap(struct work_struct *work)
{
	struct pagoda_mfences *mfences = container_of(work, struct pagoda_mfences, reap);
	struct pagoda_mfence_signal *signal, *next;

	llist_for_each_entry_safe(signal, next, llist_del_all(&mfences->kept), done)
		signal_free(signal);
}

/**
 * pagoda_mfence_promise() - Check a value that will be signalled, and get ready for it
 * @mfence: Fence
 * @value: Value
 *
 * Context: May sleep and allocate. Outside of reservations. The device is there.
 * Return: The promise; or ERR_PTR: -EINVAL if it isn't larger than all values before
 * (and has to be), -EDQUOT, -ENOMEM or -ERESTARTSYS.
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
 * pagoda_mfence_take_back() - A promised value won't be signalled
 * @signal: Promise; gone afterwards
 *
 * It may be promised again, unless a larger one was since.
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

/* On the way to fences. */
static void signal_callback(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	struct pagoda_mfence_signal *signal = container_of(callback, struct pagoda_mfence_signal,
							   callback);
	struct pagoda_mfence *mfence = signal->mfence;
	struct pagoda_vidmm *vidmm = mfence->bo->vidmm;
	unsigned long flags;

	spin_lock_irqsave(&mfence->lock, flags);
	/* What the GPU stores while the maximum value is there is as good as lost. */
	if (!signal->by_gpu || fence->error || mfence->lost)
		pagoda_mfence_write(mfence, signal->value);
	pagoda_mfence_look(mfence);
	spin_unlock_irqrestore(&mfence->lock, flags);
	pagoda_deferred_kick(vidmm);
	/* The last: who reaps it may let the manager go. */
	if (llist_add(&signal->done, &vidmm->mfences.kept))
		queue_work(vidmm->mfences.wq, &vidmm->mfences.reap);
}

/**
 * pagoda_mfence_signal_after() - The CPU stores the value when work is done
 * @signal: Promise; gone afterwards
 * @fence: Fence of the work, NULL: it is done. Also if it ends with an error: who waits
 *	for the value must not wait for ever
 *
 * Context: Any, can't fail.
 */
void pagoda_mfence_signal_after(struct pagoda_mfence_signal *signal, struct dma_fence *fence)
{
	struct dma_fence *stub;

	if (fence && !dma_fence_add_callback(fence, &signal->callback, signal_callback))
		return;
	/* Signalled: it has its error for good. */
	stub = fence ? NULL : dma_fence_get_stub();
	signal_callback(fence ?: stub, &signal->callback);
	dma_fence_put(stub);
}

static struct dma_fence *signal_emit(struct pagoda_mfence *mfence, u64 value)
{
	struct pagoda_bo *bo = mfence->bo;
	struct pagoda_stream *stream = &bo->vidmm->stream;
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
	cost = pagoda_paging_cost(&stream->limits, &op, stream->room);
	pagoda_stream_begin_must(&txn, bo->vidmm, NULL, NULL, &cost);
	WARN_ON_ONCE(pagoda_stream_emit(&txn, &op));
	return pagoda_stream_end(&txn);
}

/**
 * pagoda_mfence_signal_paging() - The GPU sets a fence behind all paging work so far (C116)
 * @signal: Promise; gone afterwards
 *
 * Can't fail: without memory the work is waited for and the CPU stores the value. Who
 * looks at the page by a CPU mapping doesn't wait for the GPU.
 *
 * Context: May sleep and allocate. Outside of reservations.
 */
void pagoda_mfence_signal_paging(struct pagoda_mfence_signal *signal)
{
	struct pagoda_bo *bo = signal->mfence->bo;
	struct dma_resv *resv = bo->ttm.base.resv;
	struct dma_fence *fence = NULL;

	dma_resv_lock(resv, NULL);
	if (!dma_resv_reserve_fences(resv, 1)) {
		fence = signal_emit(signal->mfence, signal->value);
		if (fence)
			dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	}
	dma_resv_unlock(resv);
	signal->by_gpu = fence;
	if (!fence)
		pagoda_stream_wait_idle(bo->vidmm, MAX_SCHEDULE_TIMEOUT);
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
 * pagoda_mfences_signal() - Give fences values, now
 * @vidmm: The manager
 * @list: Fences, each once, and their values
 * @count: Entries
 *
 * All or none. Whoever waits for the values is released before it returns, in the order
 * of the list.
 *
 * Context: May sleep and allocate. Outside of reservations. The device is there.
 * Return: 0; -EPERM: made without; -EINVAL: not larger than the value it has, and has to
 * be; -EDQUOT, -ENOMEM or -ERESTARTSYS.
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
	/* Others who signal: what was checked is still true when it is stored. */
	mutex_lock(&vidmm->mfences.lock);
	for (i = 0; i < count && !ret; i++)
		ret = signal_check(&list[i]);
	for (i = 0; i < count && !ret; i++)
		signal_store(&list[i]);
	mutex_unlock(&vidmm->mfences.lock);
	while (held--)
		pagoda_mfence_unhold(list[held].mfence);
	if (!ret)
		pagoda_deferred_kick(vidmm);
	return ret;
}
