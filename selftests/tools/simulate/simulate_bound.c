// SPDX-License-Identifier: GPL-2.0
/*
 * A lower bound of the bytes that are moved, whatever leaves when: proven, not searched.
 *
 * Between two uses an allocation stays in VRAM or doesn't. If it doesn't, its bytes come back. A
 * written allocation is also copied out, at least once unless it stays in all the times between
 * uses until the next write: the longest of these times counts for the copy. The stays that a
 * submission falls into and the allocations that it names fit into VRAM together. Let room at each
 * submission's time have a price, any that isn't negative. Then no choice of stays saves more than
 *
 *	sum over submissions of price * (VRAM - what the submission names)
 *	+ sum over stays of bytes * max(0, what a byte saves - prices during the stay)
 *
 * (weak duality of linear programs), and the bound is what is moved without any stay, less this
 * sum. Good prices are those of an optimum that may keep parts of allocations (simulate_flow.c).
 * Such prices are searched for in windows of time, one after the other, each twice: the sum above
 * holds for all such prices, so a bad search makes the bound lower, not wrong.
 *
 * What the CPU writes while an allocation is in VRAM is left out, which makes the bound lower, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "simulate.h"
#include "simulate_flow.h"

/* Number of submissions in a window; the next window begins in the middle of it. */
#define WINDOW		128

#define ROUNDS		2

#define NONE		SIZE_MAX

/*
 * What is known of an allocation at a step of the script.
 * @use: index of the allocation's last use, NONE = not used yet; @time: number of its submission
 * @chain: index of the allocation's longest stay since the last write, whose gain has the copy out;
 *	NONE = there is none, or @written is false
 * @written: a submission wrote to the allocation; @touched: the CPU touched the allocation
 */
struct track {
	size_t use;
	size_t chain;
	uint32_t time;
	bool written;
	bool touched;
};

/*
 * @stays: in the order in which they end; @uses: by stay, index of the use before the stay
 * @room: by time, VRAM less what the submission names; a time is the number of a submission
 * @prices: by time, of a byte of room; @sums: by time, of all prices before
 * @window: stays of the window whose prices are searched for
 * @moved: bytes that have to be moved in any case
 */
struct bound {
	const struct sim_script *script;
	struct sim_stay *stays;
	size_t *uses;
	struct track *tracks;
	uint64_t *room;
	int64_t *prices;
	int64_t *sums;
	struct sim_stay *window;
	size_t nr_stays;
	uint32_t times;
	uint64_t vram;
	uint64_t moved;
};

static uint32_t span(const struct sim_stay *stay)
{
	return stay->end - stay->first;
}

/*
 * Adds the stay of an allocation between its last use and time @end, unless no time lies between.
 * The stay gains the way back if the allocation is used at @end (@wanted), and the copy out if the
 * allocation was written and no earlier stay since the last write is as long.
 */
static void stay_add(struct bound *b, uint32_t id, uint32_t end, bool wanted)
{
	struct track *track = &b->tracks[id];
	struct sim_stay *stay = &b->stays[b->nr_stays];

	if (track->use == NONE || track->time + 1 >= end)
		return;
	*stay = (struct sim_stay){ track->time + 1, end, b->script->sizes[id], wanted };
	if (track->written && (track->chain == NONE ||
			       span(&b->stays[track->chain]) < span(stay))) {
		if (track->chain != NONE)
			b->stays[track->chain].gain--;
		track->chain = b->nr_stays;
		stay->gain++;
	}
	b->uses[b->nr_stays++] = track->use;
}

static void add_submission(struct bound *b, const struct sim_step *step)
{
	size_t n;

	b->room[b->times] = b->vram;
	for (n = step->first; n < step->first + step->count; n++) {
		const struct sim_use *use = &b->script->uses[n];
		struct track *track = &b->tracks[use->id];

		if (track->use == NONE && track->touched)
			b->moved += b->script->sizes[use->id];
		stay_add(b, use->id, b->times, true);
		b->room[b->times] -= b->script->sizes[use->id];
		track->use = n;
		track->time = b->times;
		if (use->writes) {
			track->written = true;
			track->chain = NONE;
		}
	}
	b->times++;
}

static void add_all(struct bound *b)
{
	const struct sim_script *script = b->script;
	uint32_t id;
	size_t n;

	for (id = 0; id <= script->max_id; id++)
		b->tracks[id] = (struct track){ .use = NONE, .chain = NONE };
	for (n = 0; n < script->nr_steps; n++) {
		const struct sim_step *step = &script->steps[n];

		id = script->uses[step->first].id;
		if (step->type == SIM_SUBMIT) {
			add_submission(b, step);
		} else if (step->type == SIM_TOUCH) {
			b->tracks[id].touched = true;
		} else {
			stay_add(b, id, b->times, false);
			b->tracks[id].use = NONE;
		}
	}
	for (id = 1; id <= script->max_id; id++)
		stay_add(b, id, b->times, false);
}

static int64_t price_between(const struct bound *b, uint32_t first, uint32_t end)
{
	return b->sums[end] - b->sums[first];
}

static void sum_prices(struct bound *b)
{
	uint32_t t;

	for (t = 0; t < b->times; t++)
		b->sums[t + 1] = b->sums[t] + b->prices[t];
}

/*
 * Searches for better @prices of the times from @from to before @to; those of other times stay.
 * Returns 0 or -ENOMEM.
 */
static int window_solve(struct bound *b, uint32_t from, uint32_t to)
{
	size_t n, count = 0;

	for (n = 0; n < b->nr_stays; n++) {
		const struct sim_stay *stay = &b->stays[n];
		struct sim_stay *part = &b->window[count];

		if (stay->first >= to || stay->end <= from)
			continue;
		*part = *stay;
		if (stay->first < from) {
			part->gain -= price_between(b, stay->first, from);
			part->first = from;
		}
		if (stay->end > to) {
			part->gain -= price_between(b, to, stay->end);
			part->end = to;
		}
		part->first -= from;
		part->end -= from;
		if (part->gain > 0)
			count++;
	}
	return sim_flow_prices(b->window, count, b->room + from, to - from, b->prices + from);
}

static int solve(struct bound *b)
{
	uint32_t round, from, to;
	int ret = 0;

	for (round = 0; !ret && round < ROUNDS; round++) {
		for (from = 0; !ret && from < b->times; from += WINDOW / 2) {
			to = b->times - from > WINDOW ? from + WINDOW : b->times;
			ret = window_solve(b, from, to);
			sum_prices(b);
			if (to == b->times)
				break;
		}
	}
	return ret;
}

/*
 * Returns the bound that the opening comment proves; sets @worth, by use, to whether the stay after
 * the use gains more than it costs.
 */
static uint64_t evaluate(const struct bound *b, uint8_t *worth)
{
	int64_t total = b->moved;
	uint32_t t;
	size_t n;

	for (t = 0; t < b->times; t++)
		total -= b->prices[t] * (int64_t)b->room[t];
	for (n = 0; n < b->nr_stays; n++) {
		const struct sim_stay *stay = &b->stays[n];
		int64_t price = price_between(b, stay->first, stay->end);

		total += (int64_t)stay->bytes * (price < stay->gain ? price : stay->gain);
		worth[b->uses[n]] = price < stay->gain;
	}
	return total > (int64_t)b->moved ? total : b->moved;
}

int sim_bound(const struct sim_script *script, uint64_t vram, uint64_t *moved, uint8_t *worth)
{
	size_t stays = script->nr_uses + script->max_id + 1ul;
	struct bound b = { .script = script, .vram = vram };
	int ret = -ENOMEM;

	b.stays = calloc(stays, sizeof(*b.stays));
	b.uses = calloc(stays, sizeof(*b.uses));
	b.window = calloc(stays, sizeof(*b.window));
	b.tracks = calloc(script->max_id + 1ul, sizeof(*b.tracks));
	b.room = calloc(script->nr_steps + 1, sizeof(*b.room));
	b.prices = calloc(script->nr_steps + 1, sizeof(*b.prices));
	b.sums = calloc(script->nr_steps + 2, sizeof(*b.sums));
	if (b.stays && b.uses && b.window && b.tracks && b.room && b.prices && b.sums) {
		memset(worth, 0, script->nr_uses);
		add_all(&b);
		ret = solve(&b);
		if (!ret)
			*moved = evaluate(&b, worth);
	}
	free(b.stays);
	free(b.uses);
	free(b.window);
	free(b.tracks);
	free(b.room);
	free(b.prices);
	free(b.sums);
	return ret;
}
