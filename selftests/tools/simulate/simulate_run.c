// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's rules for video memory, without the driver:
 *
 *	- All allocations that a submission names are in VRAM at once. Room for those that aren't
 *	  in VRAM is made for one after the other; no named allocation is a victim.
 *	- An allocation is in VRAM as a whole or not at all. System memory keeps the content it
 *	  came with, so leaving costs the bytes of the pieces written since (@copies_all: of all).
 *	- Coming costs an allocation's bytes, but not the first time if the CPU didn't touch it.
 *	- What the CPU touches stays where it is; what was nowhere is in system memory then.
 *	- Freeing costs nothing.
 *
 * One of three choosers decides what leaves: plain LRU takes what is longest unused; the driver's
 * policy decides by its own source, which is linked; the optimum looks ahead, and takes what is
 * used again last.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "simulate_run.h"

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

static uint64_t optimum_key(const struct sim *s, const struct item *it)
{
	enum variant freed = s->variant % FREED;

	if (it->next == SIM_NEVER)
		return SIM_NEVER;
	if (s->script->steps[it->next].type == SIM_FREE) {
		if (freed == FREED_IS_NEVER)
			return SIM_NEVER;
		if (freed == FREED_IS_HALF_THE_COST)
			return s->step + 2 * ((uint64_t)it->next - s->step);
	} else if (s->variant / FREED % 2 && it->written) {
		return s->step + (it->next - s->step) / 2;
	}
	return it->next;
}

static int optimum_add(struct sim *s, struct item *it)
{
	struct sim_entry entry = { .item = it, .next = it->next, .key = optimum_key(s, it) };

	if (s->variant >= 2 * FREED && s->worth && !s->worth[it->use])
		entry.key += 1ull << 32;
	return sim_heap_push(&s->heap, &entry);
}

static struct item *optimum_victim(struct sim *s)
{
	while (s->heap.count) {
		struct sim_entry entry = sim_heap_pop(&s->heap);
		struct item *it = entry.item;

		if (it->place == VRAM && it->next == entry.next && it->named != s->step)
			return it;
	}
	return NULL;
}

struct item *sim_victim(struct sim *s)
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

static uint64_t piece_bytes(const struct item *it, uint64_t piece)
{
	uint64_t left = it->size - piece * SIM_PIECE;

	return left < SIM_PIECE ? left : SIM_PIECE;
}

static void set_clean(struct sim *s, struct item *it, bool clean)
{
	if (s->policy)
		pagoda_policy_set_clean(s->policy, &it->policy, clean);
}

static void written_all(struct sim *s, struct item *it)
{
	it->written = it->size;
	set_clean(s, it, false);
}

/*
 * Marks an allocation in VRAM as equal to the copy in system memory; with @copies_all, marks all of
 * the allocation as written instead.
 */
static void written_none(struct sim *s, struct item *it)
{
	if (s->copies_all) {
		written_all(s, it);
		return;
	}
	it->written = 0;
	free(it->pieces);
	it->pieces = NULL;
	set_clean(s, it, true);
}

static int written_part(struct sim *s, struct item *it, uint64_t offset, uint64_t length)
{
	uint64_t count = (it->size + SIM_PIECE - 1) / SIM_PIECE, n;

	if (it->written == it->size)
		return 0;
	if (!it->pieces)
		it->pieces = calloc(count, 1);
	if (!it->pieces)
		return -ENOMEM;
	for (n = offset / SIM_PIECE; n * SIM_PIECE < offset + length; n++) {
		if (!it->pieces[n])
			it->written += piece_bytes(it, n);
		it->pieces[n] = 1;
	}
	set_clean(s, it, false);
	return 0;
}

void sim_leave(struct sim *s, struct item *it)
{
	drop(s, it);
	if (s->policy)
		pagoda_policy_leave(s->policy, &it->policy);
	s->result->out += it->written;
	s->result->moved_for[s->client] += it->written;
	s->result->evictions++;
	s->result->evicted += it->size;
	if (s->worth && !s->worth[it->use])
		s->result->good += it->size;
	if (s->jobs)
		sim_clock_leaves(s, it);
}

static int make_room(struct sim *s, uint64_t size)
{
	while (s->used + size > s->vram) {
		struct item *it = sim_victim(s);

		if (!it)
			return -ENOSPC;
		sim_leave(s, it);
	}
	return 0;
}

void sim_enter(struct sim *s, struct item *it)
{
	if (s->jobs)
		sim_clock_comes(s, it);
	if (it->place == SYSTEM) {
		s->result->in += it->size;
		s->result->moved_for[s->client] += it->size;
		s->result->page_ins++;
		if (it->fresh)
			s->result->uploads += it->size;
	}
	it->place = VRAM;
	it->fresh = false;
	s->used += it->size;
	recency_add(s, it);
	written_none(s, it);
}

static int come(struct sim *s, struct item *it)
{
	int ret;

	if (it->place == VRAM)
		return 0;
	ret = make_room(s, it->size);
	if (!ret)
		sim_enter(s, it);
	return ret;
}

static int used(struct sim *s, struct item *it, bool writes)
{
	s->result->used_by[s->client] += it->size;
	recency_remove(s, it);
	recency_add(s, it);
	if (s->policy)
		pagoda_policy_use(s->policy, &it->policy);
	if (writes || s->copies_all)
		written_all(s, it);
	return s->chooser == SIM_OPTIMUM ? optimum_add(s, it) : 0;
}

static unsigned int client_of(const struct sim *s, uint32_t id)
{
	return s->script->clients ? s->script->clients[id] : 0;
}

void sim_expect(struct sim *s, const struct sim_step *step)
{
	size_t n;

	for (n = step->first; n < step->first + step->count; n++) {
		uint32_t id = s->script->uses[n].id;

		pagoda_policy_expect(s->policy, &s->groups[client_of(s, id)],
				     &s->items[id].policy, &s->coming[n]);
	}
}

/* Tells the policy of the submissions that are queued at this step and weren't at earlier ones. */
static void look_ahead(struct sim *s)
{
	const struct sim_script *script = s->script;
	uint32_t last = script->steps[s->step].frame + s->queued;

	for (; s->known < script->nr_steps && script->steps[s->known].frame <= last; s->known++)
		if (script->steps[s->known].type == SIM_SUBMIT)
			sim_expect(s, &script->steps[s->known]);
}

static int submit(struct sim *s, const struct sim_step *step)
{
	const struct sim_use *uses = s->script->uses + step->first;
	uint32_t n;
	int ret = 0;

	s->client = client_of(s, uses->id);
	if (s->jobs)
		sim_clock_make(s);
	for (n = 0; n < step->count; n++) {
		struct item *it = &s->items[uses[n].id];

		it->named = s->step;
		it->use = step->first + n;
		it->next = uses[n].next;
		if (s->policy && it->place == VRAM)
			pagoda_policy_hold(s->policy, &it->policy);
		if (s->coming)
			pagoda_policy_forget(s->policy, &s->coming[step->first + n]);
	}
	for (n = 0; !ret && n < step->count; n++)
		ret = come(s, &s->items[uses[n].id]);
	for (n = 0; !ret && n < step->count; n++)
		ret = used(s, &s->items[uses[n].id], uses[n].writes);
	if (!ret && s->jobs)
		sim_clock_run(s, step);
	if (!ret && s->ahead)
		sim_page_ahead(s);
	return ret;
}

static int touch(struct sim *s, struct item *it, const struct sim_step *step)
{
	if (it->place == VRAM)
		return step->length ? written_part(s, it, step->offset, step->length) : 0;
	if (it->place == NOWHERE || (!step->offset && trace_pages(step->length) >= it->size))
		it->fresh = true;
	it->place = SYSTEM;
	return 0;
}

static void release(struct sim *s, struct item *it)
{
	if (s->policy)
		pagoda_policy_remove(s->policy, &it->policy);
	if (it->place == VRAM)
		drop(s, it);
	it->next = SIM_NEVER;
	free(it->pieces);
	it->pieces = NULL;
}

int sim_alone(struct sim *s, const struct sim_step *step)
{
	struct item *it = &s->items[s->script->uses[step->first].id];

	if (step->type == SIM_TOUCH)
		return touch(s, it, step);
	release(s, it);
	return 0;
}

static int run_steps(struct sim *s)
{
	const struct sim_script *script = s->script;
	int ret = 0;

	for (s->step = 0; !ret && s->step < script->nr_steps; s->step++) {
		const struct sim_step *step = &script->steps[s->step];

		if (s->jobs)
			ret = sim_queue_look(s);
		else if (s->coming)
			look_ahead(s);
		if (!ret && step->type == SIM_SUBMIT)
			ret = submit(s, step);
		else if (!ret && !s->jobs)
			ret = sim_alone(s, step);
	}
	return ret;
}

static int items_make(struct sim *s)
{
	const struct sim_script *script = s->script;
	uint32_t id, n;

	s->items = calloc(script->max_id + 1ul, sizeof(*s->items));
	if (s->chooser == SIM_POLICY)
		s->policy = calloc(1, sizeof(*s->policy));
	if (!s->items || (s->chooser == SIM_POLICY && !s->policy))
		return -ENOMEM;
	if (s->policy && (s->queued || s->jobs))
		s->coming = malloc((script->nr_uses + 1) * sizeof(*s->coming));
	if (s->policy && (s->queued || s->jobs) && !s->coming)
		return -ENOMEM;
	if (s->policy)
		pagoda_policy_init(s->policy, s->vram);
	if (s->jobs)
		s->policy->is_busy = sim_is_busy;
	for (n = 0; n < SIM_CLIENTS; n++)
		pagoda_policy_group_init(&s->groups[n], NULL);
	for (id = 1; id <= script->max_id; id++) {
		s->items[id].size = script->sizes[id];
		s->items[id].named = SIZE_MAX;
		s->items[id].clock = &s->clock;
		if (s->policy)
			pagoda_policy_add(s->policy, &s->items[id].policy, &s->items[id].lane,
					  &s->groups[client_of(s, id)], script->sizes[id]);
	}
	return 0;
}

static int run_once(const struct sim_script *script, const struct sim_choice *choice,
		    enum variant variant, struct sim_result *result)
{
	struct sim s = {
		.script = script,
		.vram = choice->vram,
		.chooser = choice->chooser,
		.variant = variant,
		.queued = choice->queued,
		.worth = choice->worth,
		.copies_all = choice->copies_all,
		.jobs = choice->chooser == SIM_POLICY ? choice->jobs : 0,
		.ahead = choice->jobs && choice->ahead,
		.clock.pace = choice->pace,
		.submitted = SIZE_MAX,
		.result = result,
	};
	int ret;
	uint32_t id;

	memset(result, 0, sizeof(*result));
	ret = items_make(&s);
	if (!ret)
		ret = run_steps(&s);
	result->idle = s.clock.idle;
	for (id = 0; s.items && id <= script->max_id; id++)
		free(s.items[id].pieces);
	free(s.items);
	free(s.policy);
	free(s.coming);
	free(s.heap.entries);
	return ret;
}

int sim_run(const struct sim_script *script, const struct sim_choice *choice,
	    struct sim_result *result)
{
	enum variant variants = 1, variant;
	struct sim_result other;
	int ret = run_once(script, choice, 0, result);

	if (choice->chooser == SIM_OPTIMUM)
		variants = choice->worth ? VARIANTS : VARIANTS / 2;
	for (variant = 1; !ret && variant < variants; variant++) {
		ret = run_once(script, choice, variant, &other);
		if (!ret && sim_moved(&other) < sim_moved(result))
			*result = other;
	}
	return ret;
}
