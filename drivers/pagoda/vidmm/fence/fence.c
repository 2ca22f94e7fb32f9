// SPDX-License-Identifier: GPL-2.0
/*
 * Monitored fences, see fence.h: their creation and references, the page and the holds that keep it
 * in place, and the value in the page.
 *
 * The GPU can always access the page while the page is resident; NOTIFY_FENCE_RESIDENCY tells the
 * device each time the page comes or goes. TTM may evict the page while the fence isn't held.
 */
#include <linux/highmem.h>
#include <linux/slab.h>
#include <drm/ttm/ttm_tt.h>
#include "core/core.h"
#include "core/life.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/limits.h"
#include "fence.h"
#include "internal.h"

static int mfence_validate(struct pagoda_bo *bo, bool interruptible)
{
	struct pagoda_operation op = { .ttm.interruptible = interruptible };

	return pagoda_bo_place(bo, pagoda_bo_placement_resident, &op);
}

/*
 * Stores @value in a monitored fence's page, with release semantics; if the fence may not rewind,
 * only over a smaller value, by compare-and-exchange, because the GPU may store at the same time.
 */
static void mfence_store(struct pagoda_mfence *mfence, struct page *page, u64 value)
{
	u64 *here = kmap_local_page(page);
	u64 old = READ_ONCE(*here);

	if (pagoda_mfence_may_rewind(mfence))
		smp_store_release(here, value);	/* pairs with the acquire in pagoda_mfence_read() */
	else
		while (old < value && !try_cmpxchg(here, &old, value))
			;
	kunmap_local(here);
}

/*
 * Returns the value of a held monitored fence, read with acquire semantics. While the device is
 * being reset, and when the device is gone, returns U64_MAX; but for a fence that was created with
 * NO_MAX_ON_RESET, returns the value, or, when the device is gone, the last value (C184).
 */
u64 pagoda_mfence_read(struct pagoda_mfence *mfence)
{
	u64 value, *here;

	lockdep_assert_held(&mfence->lock);
	if (mfence->lost || (mfence->gone && !(mfence->flags & DRM_PAGODA_FENCE_NO_MAX_ON_RESET)))
		return U64_MAX;
	if (!mfence->page)
		return mfence->saved;
	here = kmap_local_page(mfence->page);
	value = smp_load_acquire(here);	/* pairs with the stores in mfence_store() and by the GPU */
	kunmap_local(here);
	return value;
}

/*
 * Stores a value in the page of a held fence; or in &pagoda_mfence.saved while the fence shows the
 * maximum value or the device is gone. A value that isn't larger than the stored one changes
 * nothing, unless the fence may rewind.
 */
void pagoda_mfence_write(struct pagoda_mfence *mfence, u64 value)
{
	lockdep_assert_held(&mfence->lock);
	if (mfence->page && !mfence->lost)
		mfence_store(mfence, mfence->page, value);
	else if (pagoda_mfence_may_rewind(mfence) || value > mfence->saved)
		mfence->saved = value;
}

/*
 * Stores a value in the page of a held fence, larger or not, and returns the previous value. The
 * caller checks that &pagoda_mfence.page isn't NULL.
 */
u64 pagoda_mfence_swap(struct pagoda_mfence *mfence, u64 value)
{
	u64 old, *here;

	lockdep_assert_held(&mfence->lock);
	here = kmap_local_page(mfence->page);
	old = xchg(here, value);
	kunmap_local(here);
	return old;
}

/*
 * Notes that FENCE_SIGNAL stores @value: sets &pagoda_mfence.last to @value, if @value is larger or
 * the fence may rewind. Caller holds &pagoda_mfence.lock.
 */
void pagoda_mfence_note(struct pagoda_mfence *mfence, u64 value)
{
	lockdep_assert_held(&mfence->lock);
	if (pagoda_mfence_may_rewind(mfence) || value > mfence->last)
		mfence->last = value;
}

static struct pagoda_mfence *mfence_create(struct pagoda_vidmm *vidmm,
					   struct pagoda_client *client, u32 flags, u64 value)
{
	const struct pagoda_bo_params params = {
		.size = PAGE_SIZE,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CACHED,
		.supported = DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE),
	};
	struct pagoda_mfence *mfence = kzalloc(sizeof(*mfence), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!mfence)
		return ERR_PTR(-ENOMEM);
	mfence->bo = pagoda_bo_create(vidmm, client, &params);
	if (IS_ERR(mfence->bo)) {
		kfree(mfence);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&mfence->kref);
	INIT_LIST_HEAD(&mfence->held);
	INIT_LIST_HEAD(&mfence->awaited);
	spin_lock_init(&mfence->lock);
	mfence->flags = flags;
	mfence->last = value;
	mfence->waits = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&mfence->waiters);
	mfence->bo->is_fence = true;
	mfence->bo->fence_left = U64_MAX;
	if (flags & DRM_PAGODA_FENCE_NO_MAX_ON_RESET)
		mfence->bo->fence_left = value;
	dma_resv_lock(mfence->bo->ttm.base.resv, NULL);
	ret = mfence_validate(mfence->bo, false);
	if (!ret)
		mfence_store(mfence, mfence->bo->ttm.ttm->pages[0], value);
	dma_resv_unlock(mfence->bo->ttm.base.resv);
	if (!ret)
		return mfence;
	pagoda_mfence_put(mfence);
	return ERR_PTR(-ENOMEM);
}

/**
 * pagoda_mfence_create() - Create a monitored fence
 * @vidmm: Manager
 * @client: Client that is charged for the fence
 * @flags: DRM_PAGODA_FENCE_* flags
 * @value: Initial value
 *
 * Context: May sleep and allocate. Outside of sections and reservations.
 * Return: The fence, to be released with pagoda_mfence_put(); or ERR_PTR: -ENOMEM; -ENODEV if the
 * device is gone; or -ERESTARTSYS.
 */
struct pagoda_mfence *pagoda_mfence_create(struct pagoda_vidmm *vidmm,
					   struct pagoda_client *client, u32 flags, u64 value)
{
	struct pagoda_mfence *mfence;
	int ret = pagoda_enter(vidmm);

	if (ret)
		return ERR_PTR(ret);
	mfence = mfence_create(vidmm, client, flags, value);
	pagoda_leave(vidmm);
	return mfence;
}

static void mfence_release(struct kref *kref)
{
	struct pagoda_mfence *mfence = container_of(kref, struct pagoda_mfence, kref);

	drm_gem_object_put(pagoda_bo_gem(mfence->bo));
	kfree(mfence);
}

struct pagoda_mfence *pagoda_mfence_get(struct pagoda_mfence *mfence)
{
	kref_get(&mfence->kref);
	return mfence;
}

/*
 * Drops a reference; the last put frees the fence. The fence's page stays allocated as long as a
 * process has the page mapped or the GPU may write to the page. May sleep.
 */
void pagoda_mfence_put(struct pagoda_mfence *mfence)
{
	kref_put(&mfence->kref, mfence_release);
}

/* Returns the allocation that is the fence's page; no reference is taken. */
struct pagoda_bo *pagoda_mfence_bo(struct pagoda_mfence *mfence)
{
	return mfence->bo;
}

static void mfence_uncharge(struct pagoda_mfence *mfence)
{
	pagoda_quota_uncharge(mfence->bo->client->quota, PAGODA_LIMIT_FENCES, 1);
}

/*
 * Pins the page of a monitored fence, for the first pagoda_mfence_hold() of a fence that isn't
 * held, and charges the client that created the fence. Returns 0 or a negative errno.
 */
static int mfence_pin(struct pagoda_mfence *mfence)
{
	struct pagoda_mfences *mfences = mfence->bo->vidmm->mfences;
	struct ttm_buffer_object *ttm = &mfence->bo->ttm;
	int ret;

	dma_resv_assert_held(ttm->base.resv);
	ret = pagoda_quota_charge(mfence->bo->client->quota, PAGODA_LIMIT_FENCES, 1);
	if (ret)
		return ret;
	ret = mfence_validate(mfence->bo, true);
	if (ret) {
		mfence_uncharge(mfence);
		return ret;
	}
	ttm_bo_pin(ttm);
	mutex_lock(&mfences->lock);
	spin_lock_irq(&mfence->lock);
	mfence->page = ttm->ttm->pages[0];
	spin_unlock_irq(&mfence->lock);
	list_add(&mfence->held, &mfences->held);
	atomic_set(&mfence->holds, 1);
	mutex_unlock(&mfences->lock);
	return 0;
}

static int mfence_hold_first(struct pagoda_mfence *mfence)
{
	struct dma_resv *resv = mfence->bo->ttm.base.resv;
	int ret = 0;

	if (dma_resv_lock_interruptible(resv, NULL))
		return -ERESTARTSYS;
	if (!atomic_inc_not_zero(&mfence->holds))
		ret = mfence_pin(mfence);
	dma_resv_unlock(resv);
	return ret;
}

/*
 * Keeps the page of a fence in place until pagoda_mfence_unhold(). May sleep and allocate; outside
 * of sections and reservations. Returns 0, -EDQUOT if the client that created the fence, or that
 * client's user, has too many fences held, -ENOMEM, -ENODEV or -ERESTARTSYS.
 */
int pagoda_mfence_hold(struct pagoda_mfence *mfence)
{
	struct pagoda_vidmm *vidmm = mfence->bo->vidmm;
	int ret;

	if (atomic_inc_not_zero(&mfence->holds))
		return 0;
	ret = pagoda_enter(vidmm);
	if (ret)
		return ret;
	ret = mfence_hold_first(mfence);
	pagoda_leave(vidmm);
	return ret;
}

/*
 * Records the present value of a fence with NO_MAX_ON_RESET in &pagoda_bo.fence_left, because CPU
 * mappings show the value after the device is gone; does nothing for other fences. Called when the
 * last hold ends and when the device goes.
 */
void pagoda_mfence_leave(struct pagoda_mfence *mfence)
{
	lockdep_assert_held(&mfence->lock);
	if (mfence->flags & DRM_PAGODA_FENCE_NO_MAX_ON_RESET)
		WRITE_ONCE(mfence->bo->fence_left, pagoda_mfence_read(mfence));
}

/*
 * Undoes one pagoda_mfence_hold(). When the last hold ends, the page may move, and the client that
 * created the fence isn't charged any more. May take the page's reservation and sleep.
 */
void pagoda_mfence_unhold(struct pagoda_mfence *mfence)
{
	struct pagoda_mfences *mfences = mfence->bo->vidmm->mfences;
	struct dma_resv *resv = mfence->bo->ttm.base.resv;

	if (atomic_add_unless(&mfence->holds, -1, 1))
		return;
	dma_resv_lock(resv, NULL);
	mutex_lock(&mfences->lock);
	if (atomic_dec_and_test(&mfence->holds)) {
		list_del_init(&mfence->held);
		spin_lock_irq(&mfence->lock);
		WARN_ON_ONCE(!RB_EMPTY_ROOT(&mfence->waits.rb_root));
		pagoda_mfence_leave(mfence);
		mfence->page = NULL;
		spin_unlock_irq(&mfence->lock);
		ttm_bo_unpin(&mfence->bo->ttm);
		mfence_uncharge(mfence);
	}
	mutex_unlock(&mfences->lock);
	dma_resv_unlock(resv);
}
