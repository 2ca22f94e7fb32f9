// SPDX-License-Identifier: GPL-2.0
/*
 * Points of a timeline syncobj get their fences in the order of their values.
 *
 * A syncobj takes points in any order: if the work of point 2, in another context, got its fence
 * first, a wait for point 1 would end with the fence of point 2. The fence of a point is therefore
 * kept until all smaller points of the syncobj that accepted work will signal have their fences.
 * (The order in which work is accepted doesn't help: work that signals point 2 and waits for
 * point 1 may be accepted first.)
 */
#include <linux/dma-fence-chain.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <drm/drm_managed.h>
#include <drm/drm_syncobj.h>
#include <kunit/static_stub.h>
#include "core/core.h"
#include "sync.h"

/**
 * struct pagoda_points - Promised points: accepted work will signal them
 * @lock: Protects &pagoda_point.node and &pagoda_point.fence; taken in process context
 * @promised: Tree of the points, ordered by syncobj, value and arrival
 */
struct pagoda_points {
	spinlock_t lock;	/* protects promised, and node and fence of its points */
	struct rb_root promised;
};

/**
 * struct pagoda_point - A point that work will signal
 * @node: In &pagoda_points.promised, or empty
 * @syncobj: Syncobj, a reference
 * @chain: Chain node for @value; NULL once the syncobj has it
 * @value: Point of the syncobj's timeline
 * @fence: Fence of the work, a reference; NULL until the work is submitted or has failed
 */
struct pagoda_point {
	struct rb_node node;
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 value;
	struct dma_fence *fence;
};

/* Allocates the tree of promised points. Returns 0 or -ENOMEM. */
int pagoda_points_init(struct pagoda_vidmm *vidmm)
{
	struct pagoda_points *points;

	KUNIT_STATIC_STUB_REDIRECT(pagoda_points_init, vidmm);
	points = drmm_kzalloc(vidmm->drm, sizeof(*points), GFP_KERNEL);
	if (!points)
		return -ENOMEM;
	spin_lock_init(&points->lock);
	points->promised = RB_ROOT;
	vidmm->points = points;
	return 0;
}

/* Returns a point, not promised yet, with a reference to @syncobj; NULL = no memory. May sleep. */
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
	RB_CLEAR_NODE(&point->node);
	drm_syncobj_get(syncobj);
	point->syncobj = syncobj;
	point->value = value;
	return point;
}

/* Frees a point that was never promised, or isn't any more; does nothing for NULL. */
void pagoda_point_free(struct pagoda_point *point)
{
	if (!point)
		return;
	WARN_ON_ONCE(!RB_EMPTY_NODE(&point->node));
	dma_fence_chain_free(point->chain);
	dma_fence_put(point->fence);
	drm_syncobj_put(point->syncobj);
	kfree(point);
}

static bool point_less(struct rb_node *a, const struct rb_node *b)
{
	const struct pagoda_point *first = rb_entry(a, struct pagoda_point, node);
	const struct pagoda_point *second = rb_entry(b, struct pagoda_point, node);

	if (first->syncobj != second->syncobj)
		return first->syncobj < second->syncobj;
	return first->value < second->value;
}

static int point_of(const void *key, const struct rb_node *node)
{
	const struct drm_syncobj *syncobj = key;
	const struct pagoda_point *point = rb_entry(node, struct pagoda_point, node);

	if (syncobj == point->syncobj)
		return 0;
	return syncobj < point->syncobj ? -1 : 1;
}

/*
 * Promises a timeline point, which accepted work will signal: until this point has got its fence,
 * larger promised points of the syncobj don't get their fences. Takes a spinlock.
 */
void pagoda_point_promise(struct pagoda_vidmm *vidmm, struct pagoda_point *point)
{
	struct pagoda_points *points = vidmm->points;

	spin_lock(&points->lock);
	rb_add(&point->node, &points->promised, point_less);
	spin_unlock(&points->lock);
}

/*
 * If the smallest promised point of a syncobj has its fence, adds the point to the syncobj, removes
 * the point from the tree and returns it to be freed. Else returns NULL.
 */
static struct pagoda_point *points_publish_first(struct pagoda_points *points,
						 struct drm_syncobj *syncobj)
{
	struct pagoda_point *point = NULL;
	struct rb_node *node;

	spin_lock(&points->lock);
	node = rb_find_first(syncobj, &points->promised, point_of);
	if (node && rb_entry(node, struct pagoda_point, node)->fence) {
		point = rb_entry(node, struct pagoda_point, node);
		drm_syncobj_add_point(syncobj, point->chain, point->fence, point->value);
		point->chain = NULL;
		rb_erase(node, &points->promised);
		RB_CLEAR_NODE(node);
	}
	spin_unlock(&points->lock);
	return point;
}

/*
 * Gives @point its fence; if @point wasn't promised, promises it first. Then adds promised points
 * of the syncobj to the syncobj and frees them, smallest first, up to the first that has no fence
 * yet; @point may be left to a later call. For each point added, runs the workers of deferred work
 * that misses a point of the syncobj. &pagoda_points.lock is released between two points, so that a
 * client with many points delays no other client. Takes spinlocks, can't fail.
 */
void pagoda_point_signal(struct pagoda_vidmm *vidmm, struct pagoda_point *point,
			 struct dma_fence *fence)
{
	struct drm_syncobj *syncobj = point->syncobj;
	struct pagoda_points *points = vidmm->points;

	/* Keep the syncobj: another thread may free the point, which has a reference to it. */
	drm_syncobj_get(syncobj);
	spin_lock(&points->lock);
	if (RB_EMPTY_NODE(&point->node))
		rb_add(&point->node, &points->promised, point_less);
	point->fence = dma_fence_get(fence);
	spin_unlock(&points->lock);
	while ((point = points_publish_first(points, syncobj))) {
		pagoda_missing_came(vidmm, syncobj);
		pagoda_point_free(point);
	}
	drm_syncobj_put(syncobj);
}
