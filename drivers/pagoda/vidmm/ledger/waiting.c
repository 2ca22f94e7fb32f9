// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations that wait for promotion to VRAM, in the order in which residency/promote.c promotes
 * them.
 */
#include <linux/ktime.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/info.h"
#include "queue/exec.h"
#include "allocation.h"
#include "internal.h"
#include "ledger.h"
#include "promotion.h"

/*
 * If as much as VRAM's size divided by this is free, promotion's next walk begins after
 * &pagoda_promotion.period, even if the last walks brought nothing back.
 */
#define PROMOTE_LARGE		8

bool pagoda_promote_is_before(const struct pagoda_promote_key *a,
			      const struct pagoda_promote_key *b)
{
	if (a->step != b->step)
		return a->step > b->step;
	return a->used != b->used ? a->used > b->used : a->id < b->id;
}

struct pagoda_bo *pagoda_promote_bo(struct rb_node *node)
{
	return rb_entry(node, struct pagoda_bo, wish.promote.node);
}

bool pagoda_promote_waits(const struct pagoda_bo *bo)
{
	return !RB_EMPTY_NODE(&bo->wish.promote.node);
}

/*
 * Returns whether an allocation should be promoted: promotion is on, and the allocation was made
 * resident by a request or a job and neither evicted on request, released nor trimmed since, isn't
 * in VRAM but prefers VRAM, isn't offered or pinned, and is neither imported nor made by the driver
 * itself. The caller holds the reservation.
 */
bool pagoda_promote_is_wanted(const struct pagoda_bo *bo)
{
	return bo->vidmm->promotion->period && bo->wish.resident && !bo->wish.trimmed &&
	       !READ_ONCE(bo->wish.released) &&
	       bo->preferred[0] == DRM_PAGODA_SEGMENT_VRAM && !pagoda_bo_is_in_vram(bo) &&
	       !pagoda_bo_is_offered(bo) && !bo->ttm.pin_count &&
	       bo->ttm.type == ttm_bo_type_device;
}

static void promote_insert(struct pagoda_promotion *promotion, struct pagoda_bo *bo)
{
	struct rb_node **link = &promotion->waiting.rb_node, *parent = NULL;

	lockdep_assert_held(&promotion->lock);
	while (*link) {
		parent = *link;
		link = pagoda_promote_is_before(&bo->wish.promote.key,
						&pagoda_promote_bo(parent)->wish.promote.key) ?
			       &parent->rb_left :
			       &parent->rb_right;
	}
	rb_link_node(&bo->wish.promote.node, parent, link);
	rb_insert_color(&bo->wish.promote.node, &promotion->waiting);
	WRITE_ONCE(promotion->count, promotion->count + 1);
	promotion->bytes += bo->ttm.base.size;
}

static void promote_erase(struct pagoda_promotion *promotion, struct pagoda_bo *bo)
{
	lockdep_assert_held(&promotion->lock);
	rb_erase(&bo->wish.promote.node, &promotion->waiting);
	RB_CLEAR_NODE(&bo->wish.promote.node);
	WRITE_ONCE(promotion->count, promotion->count - 1);
	promotion->bytes -= bo->ttm.base.size;
}

/* Queues promotion's work item, to run in @delay jiffies, unless it is queued already. */
void pagoda_promote_again(struct pagoda_promotion *promotion, unsigned long delay)
{
	queue_delayed_work(system_dfl_wq, &promotion->work, delay);
}

/*
 * Returns whether as many bytes of VRAM are free as all allocations that wait for promotion have,
 * or as an eighth of VRAM.
 */
static bool promote_room_is_large(struct pagoda_vidmm *vidmm)
{
	return READ_ONCE(vidmm->vram_free) >=
	       min(READ_ONCE(vidmm->promotion->bytes), vidmm->info->vram_size / PROMOTE_LARGE);
}

/*
 * Called after a change of an allocation, reservation held: adds the allocation to those that wait
 * for promotion, or removes it from them, as pagoda_promote_is_wanted() says. If the allocation
 * waits, also updates its key, and calls pagoda_promote_kick().
 */
void pagoda_promote_look(struct pagoda_bo *bo)
{
	struct pagoda_promotion *promotion = bo->vidmm->promotion;
	bool wanted = pagoda_promote_is_wanted(bo);
	struct pagoda_promote_key key = { .id = bo->id };

	dma_resv_assert_held(bo->ttm.base.resv);
	if (!wanted && !pagoda_promote_waits(bo))
		return;
	if (wanted) {
		key.step = pagoda_priority_step(bo);
		key.used = pagoda_victims_last_use(bo);
	}
	spin_lock(&promotion->lock);
	if (pagoda_promote_waits(bo))
		promote_erase(promotion, bo);
	if (wanted) {
		bo->wish.promote.key = key;
		promote_insert(promotion, bo);
	}
	spin_unlock(&promotion->lock);
	if (wanted)
		pagoda_promote_kick(bo->vidmm);
}

/* Removes an allocation that is destroyed from those that wait for promotion. */
void pagoda_promote_forget(struct pagoda_bo *bo)
{
	struct pagoda_promotion *promotion = bo->vidmm->promotion;

	if (!pagoda_promote_waits(bo))
		return;
	spin_lock(&promotion->lock);
	promote_erase(promotion, bo);
	spin_unlock(&promotion->lock);
}

/*
 * Has promotion's work item begin a walk, because VRAM may have room for an allocation that waits
 * for promotion. The work item runs after &pagoda_promotion.patience, or, if it is queued already,
 * when it is due. If promote_room_is_large(), a patience above &pagoda_promotion.period is lowered
 * to the period, and the work item runs after the period. Does nothing if no allocation waits. Any
 * context.
 */
void pagoda_promote_kick(struct pagoda_vidmm *vidmm)
{
	struct pagoda_promotion *promotion = vidmm->promotion;

	if (!READ_ONCE(promotion->count))
		return;
	/*
	 * xchg() pairs with that in promote_begin(): if the work item may have missed the new room,
	 * it runs once more.
	 */
	xchg(&promotion->news, true);
	if (READ_ONCE(promotion->patience) > promotion->period && promote_room_is_large(vidmm)) {
		WRITE_ONCE(promotion->patience, promotion->period);
		mod_delayed_work(system_dfl_wq, &promotion->work, promotion->period);
	} else {
		pagoda_promote_again(promotion, READ_ONCE(promotion->patience));
	}
}
