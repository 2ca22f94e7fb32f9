// SPDX-License-Identifier: GPL-2.0
/*
 * Windows: ranges of VRAM that are freed as a whole, for a contiguous allocation.
 *
 * The policy's victims lie anywhere. If they left in the policy's order until a contiguous
 * allocation fits, most of VRAM would leave. Instead, windows of the wanted size are laid around
 * the policy's first victims, and the cheapest window is freed: compared by the offer, budget and
 * priority of the allocation in each window that the policy would choose last, then by the bytes
 * that leave. If no window can be freed, the policy's order decides (victims.c).
 */
#include <linux/slab.h>
#include <drm/ttm/ttm_bo.h>
#include "core/core.h"
#include "core/info.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "bo.h"
#include "internal.h"

/* Most victims of the policy around which ranges of VRAM, windows, are looked at. */
#define WINDOW_VICTIMS	8
/*
 * Most attempts to free a range of VRAM, a window, for an allocation: another operation may take
 * room in a window that was freed.
 */
#define WINDOW_TRIES	4

/*
 * A range of VRAM that could be freed for a contiguous allocation. @bos: the @count allocations in
 * the range, a reference each: a range with more isn't freed; @cost: window_cost(), the lowest is
 * best.
 */
struct window {
	struct pagoda_bo *bos[PAGODA_VRAM_OWNERS];
	u32 count;
	u64 cost;
};

static void window_put(struct window *window)
{
	while (window->count)
		drm_gem_object_put(&window->bos[--window->count]->ttm.base);
}

/*
 * Returns the cost of freeing a range of VRAM: by the highest level of its allocations in the
 * policy's order, then by their bytes; U64_MAX if any of them has to stay. Reads state of
 * allocations without their reservations: the eviction looks again.
 */
static u64 window_cost(struct pagoda_vidmm *vidmm, const struct window *window)
{
	u64 bytes = 0, level;
	u32 i;

	for (i = 0; i < window->count; i++) {
		struct pagoda_bo *bo = window->bos[i];

		if (READ_ONCE(bo->choice.keep) || bo->ttm.pin_count ||
		    bo->ttm.type != ttm_bo_type_device)
			return U64_MAX;
		bytes += bo->ttm.base.size;
	}
	level = pagoda_victims_level(vidmm, window->bos, window->count);
	return level << 48 | min(bytes, BIT_ULL(48) - 1);
}

/*
 * Looks at the range of VRAM from @start on, of the size that @want needs. If the range is inside
 * @place and freeing it would be cheaper than freeing *@best, the range becomes *@best, with
 * references to its allocations. *@spare is memory, without references before and after the call.
 */
static void window_look(struct pagoda_bo *want, const struct ttm_place *place, u64 start,
			struct window **best, struct window **spare)
{
	u64 lowest = (u64)place->fpfn << PAGE_SHIFT, end = want->vidmm->info->vram_size;
	struct window *window = *spare;
	int count;

	if (place->lpfn)
		end = min(end, (u64)place->lpfn << PAGE_SHIFT);
	if (start < lowest || start > end || end - start < want->ttm.base.size)
		return;
	count = pagoda_vram_owners(want->vidmm, start, want->ttm.base.size, window->bos,
				   PAGODA_VRAM_OWNERS);
	if (count < 0)
		return;
	window->count = count;
	window->cost = window_cost(want->vidmm, window);
	if (window->cost < (*best)->cost)
		swap(*best, *spare);
	window_put(*spare);
}

/*
 * Looks at two ranges of VRAM of the size that @want needs, each aligned as @want has to be: one
 * that begins with a victim of the policy, and one that ends with the victim, as if the victim were
 * contiguous. The cheaper becomes *@best if it is cheaper than *@best. Passes over a victim whose
 * reservation can't be locked now.
 */
static void window_look_around(struct pagoda_bo *want, struct pagoda_bo *victim,
			       const struct ttm_place *place, const struct pagoda_operation *op,
			       struct pagoda_victims_search *search, struct window **best,
			       struct window **spare)
{
	const struct dma_resv *mine = want->ttm.base.resv;
	u64 align = max_t(u64, want->alignment, PAGE_SIZE), size = want->ttm.base.size;
	u64 start, end = 0;

	if (!pagoda_victims_lock(victim, mine, &op->ttm)) {
		pagoda_victims_pass_over(victim, mine, search);
		return;
	}
	if (pagoda_bo_is_in_vram(victim)) {
		start = (u64)victim->ttm.resource->start << PAGE_SHIFT;
		end = start + victim->ttm.base.size;
	}
	pagoda_victims_unlock(victim, mine);
	if (!end)
		return;
	window_look(want, place, round_down(start, align), best, spare);
	if (end > size)
		window_look(want, place, round_up(end - size, align), best, spare);
}

/*
 * Evicts the allocations in a range of VRAM, one after another, up to the first that can't be
 * evicted. Returns whether all have left VRAM.
 */
static bool window_free(struct pagoda_bo *want, const struct window *window,
			const struct ttm_place *place, struct pagoda_operation *op,
			struct pagoda_dmem_claim *claim)
{
	bool done = true;
	u32 i;

	for (i = 0; i < window->count && done; i++)
		done = pagoda_victims_take(want, window->bos[i], place, op, claim);
	return done;
}

/*
 * Frees the cheapest range of VRAM for a contiguous allocation; a pagoda_take_fn. Returns false if
 * no range could be freed as a whole, after WINDOW_TRIES calls for the allocation, without memory,
 * or if TTM chooses the victims that aren't offered.
 */
bool pagoda_window_take(struct pagoda_bo *want, const struct ttm_place *place,
			struct pagoda_placing *placing, struct pagoda_dmem_claim *claim,
			struct pagoda_victims_search *search)
{
	struct pagoda_operation *op = placing->op;
	struct window *windows, *best, *spare;
	struct pagoda_bo *victim;
	bool done;
	u32 i;

	if (search->aside.only_offered || placing->windows++ >= WINDOW_TRIES)
		return false;
	windows = kmalloc_array(2, sizeof(*windows), GFP_KERNEL);
	if (!windows)
		return false;
	best = &windows[0];
	spare = &windows[1];
	best->count = 0;
	best->cost = U64_MAX;
	spare->count = 0;
	for (i = 0; i < WINDOW_VICTIMS; i++) {
		victim = pagoda_victims_next(want->vidmm, place, search);
		if (!victim)
			break;
		window_look_around(want, victim, place, op, search, &best, &spare);
	}
	done = best->cost != U64_MAX && window_free(want, best, place, op, claim);
	window_put(best);
	kfree(windows);
	return done;
}
