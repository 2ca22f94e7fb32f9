// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's rules for video memory, without the driver:
 *
 *	- What a submission names is in VRAM all at once; room for what isn't is made one by one,
 *	  and nothing that it names is a victim.
 *	- An allocation is whole in VRAM or isn't there. Leaving costs its bytes: the driver keeps
 *	  no copy behind, so a clean one is copied like any other.
 *	- Coming costs its bytes too, but for what wasn't written yet: that is filled.
 *	- What the CPU touches stays where it is; what was nowhere becomes system memory.
 *	- What is freed costs nothing.
 *
 * One of three policies decides: the longest unused goes; the driver's policy, whose source is
 * linked; or the one that is used again last, by looking ahead.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "vidmm/ledger/policy.h"
#include "simulate.h"

/* Not written yet; written by the CPU or an eviction; in VRAM. */
enum place {
	NOWHERE,
	SYSTEM,
	VRAM,
};

/*
 * @older, @newer: neighbours in the order of use, while in VRAM
 * @named: the last submission that names it; @next: the step that uses it next
 */
struct item {
	struct pagoda_policy_item policy;
	struct pagoda_policy_lane lane;
	struct item *older;
	struct item *newer;
	uint64_t size;
	size_t named;
	uint32_t next;
	enum place place;
};

/* An entry says when @item was to be used next; out of date if that isn't so any more. */
struct entry {
	struct item *item;
	uint64_t key;
	uint32_t next;
};

/*
 * What the optimum does about what is freed before it is used again. It is worth nothing, but
 * leaving costs a copy out unless it is freed before: whether to wait for that is a matter of
 * luck, so each is tried, and the best taken.
 */
enum variant {
	FREED_IS_NEVER,
	FREED_IS_AN_END,
	FREED_IS_HALF_THE_COST,
	VARIANTS,
};

/*
 * @policy: NULL unless it chooses
 * @oldest, @newest: what is in VRAM, in the order of use
 * @heap: the optimum's order: @entries of room for @capacity
 * @step: being done; @used: bytes of VRAM
 */
struct sim {
	const struct sim_script *script;
	struct pagoda_policy *policy;
	struct pagoda_policy_group group;
	struct sim_result *result;
	struct item *items;
	struct item *oldest;
	struct item *newest;
	struct entry *heap;
	size_t entries;
	size_t capacity;
	size_t step;
	uint64_t used;
	uint64_t vram;
	enum sim_chooser chooser;
	enum variant variant;
};

static void recency_add(struct sim *s, struct item *it)
{
	it->newer = NULL;
	it->older = s->newest;
	if (s->newest)
		s->newest->newer = it;
	else
		s->oldest = it;
	s->newest = it;
}

static void recency_remove(struct sim *s, struct item *it)
{
	if (it->older)
		it->older->newer = it->newer;
	else
		s->oldest = it->newer;
	if (it->newer)
		it->newer->older = it->older;
	else
		s->newest = it->older;
}

static struct item *recency_victim(struct sim *s)
{
	struct item *it = s->oldest;

	while (it && it->named == s->step)
		it = it->newer;
	return it;
}

static int heap_push(struct sim *s, const struct entry *entry)
{
	size_t at = s->entries, up;

	if (s->entries == s->capacity) {
		size_t capacity = s->capacity ? 2 * s->capacity : 4096;
		void *heap = realloc(s->heap, capacity * sizeof(*s->heap));

		if (!heap)
			return -ENOMEM;
		s->heap = heap;
		s->capacity = capacity;
	}
	for (s->entries++; at; at = up) {
		up = (at - 1) / 2;
		if (s->heap[up].key >= entry->key)
			break;
		s->heap[at] = s->heap[up];
	}
	s->heap[at] = *entry;
	return 0;
}

static struct entry heap_pop(struct sim *s)
{
	struct entry top = s->heap[0], last = s->heap[--s->entries];
	size_t at = 0, down;

	for (; (down = 2 * at + 1) < s->entries; at = down) {
		if (down + 1 < s->entries && s->heap[down + 1].key > s->heap[down].key)
			down++;
		if (last.key >= s->heap[down].key)
			break;
		s->heap[at] = s->heap[down];
	}
	s->heap[at] = last;
	return top;
}

static int optimum_add(struct sim *s, struct item *it)
{
	struct entry entry = { .item = it, .next = it->next, .key = it->next };

	if (it->next != SIM_NEVER && s->script->steps[it->next].type == SIM_FREE) {
		if (s->variant == FREED_IS_NEVER)
			entry.key = SIM_NEVER;
		else if (s->variant == FREED_IS_HALF_THE_COST)
			entry.key = s->step + 2 * ((uint64_t)it->next - s->step);
	}
	return heap_push(s, &entry);
}

static struct item *optimum_victim(struct sim *s)
{
	while (s->entries) {
		struct entry entry = heap_pop(s);
		struct item *it = entry.item;

		if (it->place == VRAM && it->next == entry.next && it->named != s->step)
			return it;
	}
	return NULL;
}

static struct item *victim(struct sim *s)
{
	struct pagoda_policy_item *found;

	switch (s->chooser) {
	case SIM_LRU:
		return recency_victim(s);
	case SIM_OPTIMUM:
		return optimum_victim(s);
	default:
		found = pagoda_policy_pick(s->policy, PAGODA_POLICY_NEED_ANY, NULL);
		return found ? container_of(found, struct item, policy) : NULL;
	}
}

static void drop(struct sim *s, struct item *it)
{
	recency_remove(s, it);
	s->used -= it->size;
	it->place = SYSTEM;
}

static int make_room(struct sim *s, uint64_t size)
{
	while (s->used + size > s->vram) {
		struct item *it = victim(s);

		if (!it)
			return -ENOSPC;
		drop(s, it);
		if (s->policy)
			pagoda_policy_leave(s->policy, &it->policy);
		s->result->out += it->size;
		s->result->evictions++;
	}
	return 0;
}

static int come(struct sim *s, struct item *it)
{
	int ret;

	if (it->place == VRAM)
		return 0;
	ret = make_room(s, it->size);
	if (ret)
		return ret;
	if (it->place == SYSTEM) {
		s->result->in += it->size;
		s->result->page_ins++;
	}
	it->place = VRAM;
	s->used += it->size;
	recency_add(s, it);
	return 0;
}

static int used(struct sim *s, struct item *it)
{
	recency_remove(s, it);
	recency_add(s, it);
	if (s->policy)
		pagoda_policy_use(s->policy, &it->policy);
	return s->chooser == SIM_OPTIMUM ? optimum_add(s, it) : 0;
}

static int submit(struct sim *s, const struct sim_step *step)
{
	const uint32_t *uses = s->script->uses + step->first;
	const uint32_t *next = s->script->next + step->first;
	uint32_t n;
	int ret = 0;

	for (n = 0; n < step->count; n++) {
		struct item *it = &s->items[uses[n]];

		it->named = s->step;
		it->next = next[n];
		if (s->policy && it->place == VRAM)
			pagoda_policy_hold(s->policy, &it->policy);
	}
	for (n = 0; !ret && n < step->count; n++)
		ret = come(s, &s->items[uses[n]]);
	for (n = 0; !ret && n < step->count; n++)
		ret = used(s, &s->items[uses[n]]);
	return ret;
}

static void touch(struct item *it)
{
	if (it->place == NOWHERE)
		it->place = SYSTEM;
}

static void release(struct sim *s, struct item *it)
{
	if (s->policy)
		pagoda_policy_remove(s->policy, &it->policy);
	if (it->place == VRAM)
		drop(s, it);
	it->next = SIM_NEVER;
}

static int run_steps(struct sim *s)
{
	const struct sim_script *script = s->script;
	int ret = 0;

	for (s->step = 0; !ret && s->step < script->nr_steps; s->step++) {
		const struct sim_step *step = &script->steps[s->step];
		struct item *it = &s->items[script->uses[step->first]];

		if (step->type == SIM_SUBMIT)
			ret = submit(s, step);
		else if (step->type == SIM_TOUCH)
			touch(it);
		else
			release(s, it);
	}
	return ret;
}

static int items_make(struct sim *s)
{
	const struct sim_script *script = s->script;
	uint32_t id;

	s->items = calloc(script->max_id + 1ul, sizeof(*s->items));
	if (s->chooser == SIM_POLICY)
		s->policy = calloc(1, sizeof(*s->policy));
	if (!s->items || (s->chooser == SIM_POLICY && !s->policy))
		return -ENOMEM;
	if (s->policy)
		pagoda_policy_init(s->policy, s->vram);
	pagoda_policy_group_init(&s->group, NULL);
	for (id = 1; id <= script->max_id; id++) {
		s->items[id].size = script->sizes[id];
		s->items[id].named = SIZE_MAX;
		if (s->policy)
			pagoda_policy_add(s->policy, &s->items[id].policy, &s->items[id].lane,
					  &s->group, script->sizes[id]);
	}
	return 0;
}

static int run_once(const struct sim_script *script, uint64_t vram, enum sim_chooser chooser,
		    enum variant variant, struct sim_result *result)
{
	struct sim s = {
		.script = script,
		.vram = vram,
		.chooser = chooser,
		.variant = variant,
		.result = result,
	};
	int ret;

	memset(result, 0, sizeof(*result));
	ret = items_make(&s);
	if (!ret)
		ret = run_steps(&s);
	free(s.items);
	free(s.policy);
	free(s.heap);
	return ret;
}

int sim_run(const struct sim_script *script, uint64_t vram, enum sim_chooser chooser,
	    struct sim_result *result)
{
	enum variant variants = chooser == SIM_OPTIMUM ? VARIANTS : 1, variant;
	struct sim_result other;
	int ret = run_once(script, vram, chooser, 0, result);

	for (variant = 1; !ret && variant < variants; variant++) {
		ret = run_once(script, vram, chooser, variant, &other);
		if (!ret && sim_moved(&other) < sim_moved(result))
			*result = other;
	}
	return ret;
}
