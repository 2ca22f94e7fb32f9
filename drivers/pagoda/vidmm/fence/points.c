// SPDX-License-Identifier: GPL-2.0
/*
 * Points of timeline syncobjs get their fences in the order of their values.
 *
 * A syncobj takes points as they come: a waiter for point 1 would end with the fence of point 2 if
 * the work of point 2, of another context, is made first. A fence that comes too early is therefore
 * kept until all smaller points of the syncobj that accepted work will signal have theirs. (The
 * order of calls is no such order: work that signals 2 and waits for 1 may be submitted first.)
 */
#include <linux/dma-fence-chain.h>
#include <linux/hash.h>
#include <linux/slab.h>
#include <drm/drm_managed.h>
#include <drm/drm_syncobj.h>
#include "core/core.h"
#include "sync.h"

#define POINTS_BITS	8

/**
 * struct pagoda_points - Points that are promised
 * @lock: Protects all points and @first; taken in process context
 * @first: First promised point of each syncobj, hashed by the syncobj
 */
struct pagoda_points {
	spinlock_t lock;	/* all below */
	struct hlist_head first[1 << POINTS_BITS];
};

/**
 * struct pagoda_point - A point that work will signal
 * @hashed: In &pagoda_points.first, for the first point of a syncobj
 * @behind: Head of the list of the points behind the first one, by value; in that list, for the
 *	others
 * @syncobj: Syncobj, a reference
 * @chain: Chain node for @value
 * @value: Point
 * @fence: Fence of the work, a reference, if the work was made before the point's turn
 * @promised: The point is in the lists
 */
struct pagoda_point {
	struct hlist_node hashed;
	struct list_head behind;
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 value;
	struct dma_fence *fence;
	bool promised;
};

/* Sets up the lists. Returns 0 or -ENOMEM. */
int pagoda_points_init(struct pagoda_vidmm *vidmm)
{
	struct pagoda_points *points = drmm_kzalloc(vidmm->drm, sizeof(*points), GFP_KERNEL);

	if (!points)
		return -ENOMEM;
	spin_lock_init(&points->lock);
	vidmm->points = points;
	return 0;
}

/* Returns a point that isn't promised yet, or NULL without memory. May sleep. */
struct pagoda_point *pagoda_point_alloc(struct drm_syncobj *syncobj, u64 value)
{
	struct pagoda_point *point = kzalloc(sizeof(*point), GFP_KERNEL_ACCOUNT);

	if (!point)
		return NULL;
	point->chain = dma_fence_chain_alloc();
	if (!point->chain) {
		kfree(point);
		return NULL;
	}
	INIT_LIST_HEAD(&point->behind);
	drm_syncobj_get(syncobj);
	point->syncobj = syncobj;
	point->value = value;
	return point;
}

/* Frees a point that isn't promised, or NULL. */
void pagoda_point_free(struct pagoda_point *point)
{
	if (!point)
		return;
	WARN_ON_ONCE(point->promised);
	dma_fence_chain_free(point->chain);
	drm_syncobj_put(point->syncobj);
	kfree(point);
}

static struct hlist_head *points_bucket(struct pagoda_points *points,
					const struct drm_syncobj *syncobj)
{
	return &points->first[hash_ptr(syncobj, POINTS_BITS)];
}

static struct pagoda_point *points_first(struct pagoda_points *points,
					 const struct drm_syncobj *syncobj)
{
	struct pagoda_point *first;

	hlist_for_each_entry(first, points_bucket(points, syncobj), hashed)
		if (first->syncobj == syncobj)
			return first;
	return NULL;
}

static void point_enter(struct pagoda_points *points, struct pagoda_point *point)
{
	struct pagoda_point *first = points_first(points, point->syncobj), *before;

	point->promised = true;
	if (first && point->value >= first->value) {
		list_for_each_entry_reverse(before, &first->behind, behind)
			if (before->value <= point->value)
				break;
		list_add(&point->behind, &before->behind);
		return;
	}
	if (first) {
		hlist_del(&first->hashed);
		list_splice_init(&first->behind, &point->behind);
		list_add(&first->behind, &point->behind);
	}
	hlist_add_head(&point->hashed, points_bucket(points, point->syncobj));
}

/* Removes the first point of a syncobj; the next one, which is returned, takes its place. */
static struct pagoda_point *point_leave(struct pagoda_points *points, struct pagoda_point *point)
{
	struct pagoda_point *next = list_first_entry_or_null(&point->behind, struct pagoda_point,
							     behind);

	hlist_del(&point->hashed);
	point->promised = false;
	if (!next)
		return NULL;
	list_del_init(&next->behind);
	list_splice_init(&point->behind, &next->behind);
	hlist_add_head(&next->hashed, points_bucket(points, next->syncobj));
	return next;
}

/* Promises a point: larger points of its syncobj wait for it. Takes a spinlock. */
void pagoda_point_promise(struct pagoda_vidmm *vidmm, struct pagoda_point *point)
{
	spin_lock(&vidmm->points->lock);
	point_enter(vidmm->points, point);
	spin_unlock(&vidmm->points->lock);
}

static void point_publish(struct pagoda_point *point)
{
	drm_syncobj_add_point(point->syncobj, point->chain, point->fence, point->value);
	point->chain = NULL;
	dma_fence_put(point->fence);
	point->fence = NULL;
}

/*
 * Gives a point its fence, as soon as all smaller points that are promised have theirs. Frees the
 * point. Takes spinlocks, can't fail.
 */
void pagoda_point_signal(struct pagoda_vidmm *vidmm, struct pagoda_point *point,
			 struct dma_fence *fence)
{
	struct pagoda_points *points = vidmm->points;
	struct pagoda_point *next;

	spin_lock(&points->lock);
	if (!point->promised)
		point_enter(points, point);
	point->fence = dma_fence_get(fence);
	point = points_first(points, point->syncobj);
	while (point && point->fence) {
		next = point_leave(points, point);
		point_publish(point);
		pagoda_missing_came(vidmm, point->syncobj);
		pagoda_point_free(point);
		point = next;
	}
	spin_unlock(&points->lock);
}
