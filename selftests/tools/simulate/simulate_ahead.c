// SPDX-License-Identifier: GPL-2.0
/*
 * The queue of jobs, and what the driver has come in ahead of the engine for queued jobs, as
 * drivers/pagoda/vidmm/submit/ahead.c does.
 *
 * The program is always ahead: it has as many jobs in flight as it may. But before it touches or
 * frees an allocation, it waits for the jobs that use the allocation. An engine executes one job
 * after the other; a second one is made, that is its paging begins, when the first begins. A copy
 * begins when the copies before it are done; an allocation that a job uses leaves when the job has
 * ended. A job begins when the job before it has ended and all that it uses is in VRAM. Nothing
 * else takes time.
 */
#define _GNU_SOURCE
#include <math.h>
#include "simulate_run.h"

/* As in ahead.c: several jobs use at most VRAM divided by this. */
#define AHEAD_PART	2

bool sim_is_busy(struct pagoda_policy_item *item)
{
	const struct item *it = container_of(item, struct item, policy);

	return it->done > it->clock->now;
}

static bool is_submit(const struct sim *s, size_t step)
{
	return s->script->steps[step].type == SIM_SUBMIT;
}

static struct item *item_of(struct sim *s, const struct sim_step *step, uint32_t use)
{
	return &s->items[s->script->uses[step->first + use].id];
}

/* Returns whether the last job that was made, or a queued one, uses an allocation. */
static bool is_in_use(const struct sim *s, const struct item *it)
{
	return it->policy.queued || (it->named != SIZE_MAX && it->named >= s->submitted);
}

/*
 * Has the CPU go on, which touches and frees allocations and queues jobs, until as many jobs are in
 * flight as may be: the last one that was made, the one at this step, and queued ones; or until the
 * CPU has to wait for a job. Returns 0 or a negative errno.
 */
int sim_queue_look(struct sim *s)
{
	const struct sim_script *script = s->script;
	int ret = 0;

	for (; !ret && s->known < script->nr_steps; s->known++) {
		const struct sim_step *step = &script->steps[s->known];
		struct item *it = item_of(s, step, 0);

		if (is_submit(s, s->known)) {
			if (s->waiting + 1 >= s->jobs && s->known > s->step)
				break;
			sim_expect(s, step);
			s->waiting++;
			continue;
		}
		if (s->known > s->step && is_in_use(s, it))
			break;
		s->clock.cpu = fmax(s->clock.cpu, it->done);
		ret = sim_alone(s, step);
	}
	return ret;
}

void sim_clock_make(struct sim *s)
{
	s->waiting--;
	s->clock.made = fmax(s->clock.before, s->clock.cpu);
	s->clock.now = s->clock.made;
}

void sim_clock_leaves(struct sim *s, const struct item *it)
{
	struct sim_clock *clock = &s->clock;

	clock->copied = fmax(fmax(clock->copied, clock->made), it->done) + it->written;
}

void sim_clock_comes(struct sim *s, struct item *it)
{
	struct sim_clock *clock = &s->clock;

	clock->copied = fmax(clock->copied, clock->made);
	if (it->place == SYSTEM)
		clock->copied += it->size;
	it->there = clock->copied;
}

void sim_clock_run(struct sim *s, const struct sim_step *step)
{
	struct sim_clock *clock = &s->clock;
	double may = fmax(clock->ended, clock->made), begin = may, time = 0;
	uint32_t n;

	for (n = 0; n < step->count; n++) {
		begin = fmax(begin, item_of(s, step, n)->there);
		time += clock->pace * item_of(s, step, n)->size;
	}
	clock->idle += begin - may;
	clock->before = clock->ended;
	clock->ended = begin + time;
	for (n = 0; n < step->count; n++)
		item_of(s, step, n)->done = clock->ended;
	s->submitted = s->step;
}

/*
 * Has the policy's next victims leave, as many as an allocation of @size needs, or none if one of
 * them is busy or used before the job @when has ended. Returns whether there is room.
 */
static bool ahead_room(struct sim *s, uint64_t size, uint64_t when)
{
	uint64_t room = s->vram - s->used;
	struct item *victims = NULL, *it;
	bool may = true;

	while (may && room < size) {
		it = sim_victim(s);
		if (!it) {
			may = false;
			break;
		}
		it->chosen = victims;
		victims = it;
		room += it->size;
		may = !sim_is_busy(&it->policy) &&
		      pagoda_policy_is_later(s->policy, &it->policy, when);
	}
	for (; victims; victims = victims->chosen) {
		if (may)
			sim_leave(s, victims);
		else
			pagoda_policy_enter(s->policy, &victims->policy);
	}
	return may;
}

/* Brings in what a queued job uses. Returns false if there is no room or time for all of it. */
static bool ahead_job(struct sim *s, const struct sim_step *step)
{
	uint64_t when = s->coming[step->first + step->count - 1].when;
	uint32_t n;

	for (n = 0; n < step->count; n++) {
		struct item *it = item_of(s, step, n);

		if (it->place == VRAM)
			continue;
		s->clock.now = fmax(s->clock.made, s->clock.copied);
		if (s->clock.now >= s->clock.before || !ahead_room(s, it->size, when))
			return false;
		sim_enter(s, it);
		pagoda_policy_enter(s->policy, &it->policy);
	}
	return true;
}

/* After a job was made: pages for the queued ones until the job before it ends. */
void sim_page_ahead(struct sim *s)
{
	uint64_t used = 0;
	unsigned int jobs = 0;
	size_t n;
	uint32_t use;

	for (n = s->step + 1; n < s->known; n++) {
		const struct sim_step *step = &s->script->steps[n];

		if (!is_submit(s, n))
			continue;
		for (use = 0; use < step->count; use++)
			used += item_of(s, step, use)->size;
		if ((jobs++ && used > s->vram / AHEAD_PART) || !ahead_job(s, step))
			return;
	}
}
