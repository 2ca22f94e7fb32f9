// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes that a choice can be expected to move at least if it doesn't know the future behind the
 * queued frames: what has looked alike so far can't be told apart, however clever the choice is.
 *
 * Of the allocations that a frame is the first to use, those count that a single submission of the
 * frame uses, and no frame queued by then. They are in sets: alike are those of one size that the
 * CPU touched before or didn't, and that the submission writes or doesn't. If all sets of a frame
 * together don't fit into VRAM, the rest has left when the frame ends. A byte of the rest was
 * copied out if its set was written, and comes back with the probability with which an allocation
 * of its set is used again: on average over all programs that do the same up to the frame's end,
 * and then use others of the set. At best, the sets whose bytes cost least leave first. An
 * allocation counts in one frame only, so that all frames' bytes add up. No other move counts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "simulate.h"

/*
 * An allocation. @frame: frame that uses the allocation first, in @uses submissions
 * @used: a submission uses the allocation; @writes: the first such submission writes to it
 * @touched: the CPU touched the allocation before that submission
 * @again: a later frame uses the allocation; @soon: such a frame is queued during @frame
 */
struct item {
	uint64_t size;
	uint32_t frame;
	uint32_t uses;
	bool used;
	bool touched;
	bool writes;
	bool again;
	bool soon;
};

/*
 * A set of allocations that are alike. @cost: bytes that are moved, as is to be expected, for each
 * byte of the set that leaves VRAM; @bytes: size of the whole set
 */
struct alike {
	double cost;
	uint64_t bytes;
};

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return 2 * (x->touched - y->touched) + x->writes - y->writes;
}

static int compare_alike(const void *a, const void *b)
{
	const struct alike *x = a, *y = b;

	return (x->cost > y->cost) - (x->cost < y->cost);
}

static void look_at(struct item *it, const struct sim_step *step, bool writes, unsigned int queued)
{
	if (step->type == SIM_TOUCH) {
		it->touched |= !it->used;
	} else if (step->type == SIM_SUBMIT && !it->used) {
		it->used = true;
		it->frame = step->frame;
		it->uses = 1;
		it->writes = writes;
	} else if (step->type == SIM_SUBMIT && it->frame == step->frame) {
		it->uses++;
	} else if (step->type == SIM_SUBMIT) {
		it->soon |= step->frame <= it->frame + queued;
		it->again = true;
	}
}

/* Returns the least cost if @excess bytes of the @count sets leave VRAM; reorders the sets. */
static double cheapest(struct alike *sorts, size_t count, uint64_t excess)
{
	double cost = 0;
	size_t n;

	qsort(sorts, count, sizeof(*sorts), compare_alike);
	for (n = 0; n < count && excess; n++) {
		uint64_t bytes = sorts[n].bytes < excess ? sorts[n].bytes : excess;

		cost += sorts[n].cost * bytes;
		excess -= bytes;
	}
	return cost;
}

/*
 * Returns the least cost of the bytes that don't fit into VRAM, of the items of one frame, which
 * are sorted by compare_items(). Overwrites @sorts.
 */
static double frame_cost(const struct item *items, size_t count, uint64_t vram,
			 struct alike *sorts)
{
	size_t n, end, nr_sorts = 0;
	uint64_t all = 0;

	for (n = 0; n < count; n = end) {
		uint64_t again = 0;

		for (end = n; end < count && !compare_items(&items[n], &items[end]); end++)
			again += items[end].again;
		sorts[nr_sorts].bytes = (end - n) * items[n].size;
		sorts[nr_sorts].cost = items[n].writes + (double)again / (end - n);
		all += sorts[nr_sorts++].bytes;
	}
	return all > vram ? cheapest(sorts, nr_sorts, all - vram) : 0;
}

static size_t keep_blind(struct item *items, size_t count)
{
	size_t n, kept = 0;

	for (n = 0; n < count; n++)
		if (items[n].used && items[n].uses == 1 && !items[n].soon)
			items[kept++] = items[n];
	return kept;
}

int sim_blind(const struct sim_script *script, uint64_t vram, unsigned int queued, uint64_t *moved)
{
	size_t count = script->max_id + 1ul, n, end;
	struct item *items = calloc(count, sizeof(*items));
	struct alike *sorts = calloc(count, sizeof(*sorts));
	double cost = 0;
	uint32_t i;
	int ret;

	for (n = 0; items && sorts && n < script->nr_steps; n++) {
		const struct sim_step *step = &script->steps[n];

		for (i = 0; i < step->count; i++) {
			const struct sim_use *use = &script->uses[step->first + i];

			items[use->id].size = script->sizes[use->id];
			look_at(&items[use->id], step, use->writes, queued);
		}
	}
	count = items && sorts ? keep_blind(items, count) : 0;
	if (count)
		qsort(items, count, sizeof(*items), compare_items);
	for (n = 0; n < count; n = end) {
		for (end = n; end < count && items[end].frame == items[n].frame; end++)
			;
		cost += frame_cost(items + n, end - n, vram, sorts);
	}
	*moved = cost;
	ret = items && sorts ? 0 : -ENOMEM;
	free(sorts);
	free(items);
	return ret;
}
