// SPDX-License-Identifier: GPL-2.0
/* Choice of victims against a plain, slow model. */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/log2.h>
#include <linux/prandom.h>
#include "policy_helpers.h"

/* Most uses of an item that the model can hold; it forgets none. */
#define USES	512
#define STEPS	6000

/*
 * An item of the model. @place orders the items of a lane, lowest first. @home_rank is the rank
 * while the item isn't offered. @unsorted: the item's lane may not be in the order of last use.
 */
struct model_item {
	u64 uses[USES];
	u32 nr_uses;
	s64 place;
	u32 rank;
	u32 home_rank;
	u32 group;
	u32 offered;
	bool candidate;
	bool visible;
	bool clean;
	bool unsorted;
	bool written;
	u32 writes;
};

/* Most uses by queued jobs that the model can hold. */
#define QUEUED	32

struct model_coming {
	struct pagoda_policy_coming base;
	u64 when;
	u32 item;
	bool queued;
};

struct model {
	struct policy_few *few;
	struct model_item items[FEW_ITEMS];
	struct model_coming coming[QUEUED];
	u64 horizons[FEW_GROUPS];
	u64 horizon;
	u32 nr_coming;
	u64 clock;
	s64 places;
	u32 offers;
	bool over[2];
	int aside;
};

static u64 model_interval(const struct model_item *it, u32 back)
{
	return it->uses[it->nr_uses - 1 - back] - it->uses[it->nr_uses - 2 - back];
}

static bool model_same(u64 a, u64 b)
{
	return max(a, b) - min(a, b) <= max(a, b) / 8;
}

static u64 model_predict(const struct model_item *it)
{
	u64 shortest = U64_MAX;
	u32 n;

	if (it->nr_uses < 2)
		return 0;
	if (it->nr_uses >= 5 && model_same(model_interval(it, 0), model_interval(it, 2)) &&
	    model_same(model_interval(it, 1), model_interval(it, 3)) &&
	    !model_same(model_interval(it, 0), model_interval(it, 1)))
		return model_interval(it, 1);
	for (n = 0; n < 3 && n + 2 <= it->nr_uses; n++)
		shortest = min(shortest, model_interval(it, n));
	return shortest;
}

static u64 model_after(u64 when, u64 before)
{
	return when > before ? when - before : 0;
}

static bool model_is_queued(const struct model *model)
{
	u32 n;

	for (n = 0; n < QUEUED; n++)
		if (model->coming[n].queued)
			return true;
	return false;
}

/* Returns when a queued job first uses an item, or 0. */
static u64 model_next(const struct model *model, const struct model_item *it)
{
	u64 next = 0;
	u32 n;

	for (n = 0; n < QUEUED; n++)
		if (model->coming[n].queued && it == &model->items[model->coming[n].item] &&
		    (!next || model->coming[n].when < next))
			next = model->coming[n].when;
	return next;
}

static u64 model_distance(const struct model *model, const struct model_item *it)
{
	u64 interval = model_predict(it), last = it->uses[it->nr_uses - 1];
	u64 next = model_next(model, it), end, age;
	u32 eighths = it->clean ? 8 : 4 - hweight8(it->writes);

	if (next)
		return model_after(next, model->clock) + model_after(next, last) * eighths / 8;
	end = model_is_queued(model) ? max(model->clock, model->horizons[it->group]) : model->clock;
	age = end - last;
	if (!interval || age > interval + interval / 8)
		return (end - model->clock + 2 * age) * (1 + 2 * it->clean);
	return end - model->clock + model_after(interval, age) +
	       (end - model->clock + interval) * eighths / 8;
}

/* Returns equal values for distances in the same eighth of a power of two. */
static u64 model_step(u64 distance)
{
	u32 power = distance ? ilog2(distance) : 0;

	return distance ? 1 + 8 * power + ((8 * distance >> power) - 8) : 0;
}

static u32 model_lane(const struct model *model, const struct model_item *it)
{
	u64 interval = model_predict(it), next = model_next(model, it);
	u32 class;

	if (next)
		interval = model_after(next, it->nr_uses ? it->uses[it->nr_uses - 1] : 0);
	if (it->rank < PAGODA_POLICY_OFFERS) {
		next = 0;
		interval = 0;
	}
	class = interval ? min(ilog2(interval) + 1, 15) : !!next;
	class += next ? 64 : 0;
	return class << 16 | it->group << 8 | it->rank << 2 | it->visible << 1 | it->clean;
}

/* Returns a number that is lower for items that leave first, whatever their uses. */
static u32 model_level(const struct model *model, const struct model_item *it)
{
	bool over = it->group && model->over[it->group / 2];

	return it->rank < PAGODA_POLICY_OFFERS || over ? it->rank : 32 + it->rank;
}

/*
 * Returns whether an item that no queued job lists will be overdue when its group's queued jobs are
 * done, or has no predicted use.
 */
static bool model_is_overdue(const struct model *model, const struct model_item *it)
{
	u64 interval = model_predict(it), end = model->clock;

	if (model_is_queued(model))
		end = max(end, model->horizons[it->group]);
	return !interval || end - it->uses[it->nr_uses - 1] > interval + interval / 8;
}

/* Returns the candidate of an item's lane that has @before others before it, or NULL. */
static const struct model_item *model_at(const struct model *model, const struct model_item *it,
					 u32 before)
{
	const struct model_item *at, *other;

	for (at = model->items; at < model->items + FEW_ITEMS; at++) {
		u32 found = 0;

		if (!at->candidate || model_lane(model, at) != model_lane(model, it))
			continue;
		for (other = model->items; other < model->items + FEW_ITEMS; other++)
			found += other->candidate && other->place < at->place &&
				 model_lane(model, other) == model_lane(model, it);
		if (found == before)
			return at;
	}
	return NULL;
}

static u32 model_lane_length(const struct model *model, const struct model_item *it)
{
	u32 n, length = 0;

	for (n = 0; n < FEW_ITEMS; n++)
		length += model->items[n].candidate &&
			  model_lane(model, &model->items[n]) == model_lane(model, it);
	return length;
}

static bool model_is_busy(const struct model *model, const struct model_item *it)
{
	return model->few->items[it - model->items].busy;
}

/*
 * Returns whether an item is at an end of its lane at which a pick looks; with @behind, also if the
 * item is next to a busy one at such an end. A pick looks at the first item, unless that item's
 * next use is known, or predicted and not overdue; and at the last item, unless no next use is
 * known or predicted. In an offered lane, and in an unsorted one without known uses, a pick looks
 * at both.
 */
static bool model_is_at_end(const struct model *model, const struct model_item *it, bool behind)
{
	u32 length = model_lane_length(model, it);
	const struct model_item *first = model_at(model, it, 0);
	const struct model_item *last = model_at(model, it, length - 1);
	bool offered = it->rank < PAGODA_POLICY_OFFERS, known = !offered && model_next(model, it);
	bool any = offered || (it->unsorted && !known);
	bool at_first = length == 1 || any || (!known && model_is_overdue(model, first));
	bool at_last = length > 1 && (any || known || model_predict(it));

	if ((at_first && it == first) || (at_last && it == last))
		return true;
	if (!behind || length < 2)
		return false;
	return (at_first && model_is_busy(model, first) && it == model_at(model, it, 1)) ||
	       (at_last && model_is_busy(model, last) && it == model_at(model, it, length - 2));
}

/*
 * Returns a value for comparison with items of the same model_level(): the item with the larger
 * value goes first, items with equal values may go in either order.
 */
static u64 model_merit(const struct model *model, u32 n)
{
	const struct model_item *it = &model->items[n];
	u64 distance = model_distance(model, it);
	u64 merit = model_step(distance);

	if (it->rank < PAGODA_POLICY_OFFERS)
		return (u64)!model->few->items[n].busy << 32 | (model->offers - it->offered);
	merit = 2 * merit + !model->few->items[n].busy;
	merit = 2 * merit + it->clean;
	merit = 2 * merit + !it->visible;
	return merit << 48 | distance;
}

static bool model_may_go(const struct model *model, u32 n, enum pagoda_policy_need need)
{
	const struct model_item *it = &model->items[n];

	return it->candidate && (int)it->group != model->aside &&
	       (it->visible || need == PAGODA_POLICY_NEED_ANY);
}

static u32 model_lowest_level(const struct model *model, enum pagoda_policy_need need)
{
	u32 n, lowest = U32_MAX, lowest_idle = U32_MAX, level;

	for (n = 0; n < FEW_ITEMS; n++) {
		if (!model_may_go(model, n, need))
			continue;
		level = model_level(model, &model->items[n]);
		lowest = min(lowest, level);
		if (!model->few->items[n].busy && model_is_at_end(model, &model->items[n], true))
			lowest_idle = min(lowest_idle, level);
	}
	/* Of offered items, idle ones go first. */
	return lowest_idle < PAGODA_POLICY_OFFERS ? lowest_idle : lowest;
}

static void model_expect(struct kunit *test, struct model *model, int victim,
			 enum pagoda_policy_need need)
{
	u32 n, level = model_lowest_level(model, need);
	u64 best = 0, highest = 0;

	if (level == U32_MAX) {
		KUNIT_EXPECT_EQ(test, victim, -1);
		return;
	}
	for (n = 0; n < FEW_ITEMS; n++) {
		if (!model_may_go(model, n, need) ||
		    model_level(model, &model->items[n]) != level)
			continue;
		if (model_is_at_end(model, &model->items[n], false))
			best = max(best, model_merit(model, n));
		if (model_is_at_end(model, &model->items[n], true))
			highest = max(highest, model_merit(model, n));
	}
	KUNIT_ASSERT_GE(test, victim, 0);
	KUNIT_EXPECT_TRUE(test, model_may_go(model, victim, need));
	KUNIT_EXPECT_EQ(test, model_level(model, &model->items[victim]), level);
	/*
	 * A pick looks behind a busy item at a lane's end only if the pick asked whether that item
	 * is busy, which depends on the best victim found before: either result is right.
	 */
	KUNIT_EXPECT_GE(test, model_merit(model, victim), best);
	KUNIT_EXPECT_LE(test, model_merit(model, victim), highest);
}

static u64 model_last(const struct model_item *it)
{
	return it->uses[it->nr_uses - 1];
}

/* Returns whether an item comes before @first, the first item of its lane. */
static bool model_is_before(const struct model *model, const struct model_item *it,
			    const struct model_item *first)
{
	if (it->rank < PAGODA_POLICY_OFFERS)
		return it->offered < first->offered;
	if (model_next(model, it))
		return model_next(model, it) < model_next(model, first);
	return model_last(it) < model_last(first);
}

static void model_link(struct model *model, struct model_item *it)
{
	const struct model_item *first, *last;
	bool unsorted = false;
	u32 n;

	it->candidate = false;
	n = model_lane_length(model, it);
	first = model_at(model, it, 0);
	last = n ? model_at(model, it, n - 1) : NULL;
	it->candidate = true;
	model->places++;
	it->place = model->places;
	if (first && model_is_before(model, it, first))
		it->place = -it->place;
	else if (first)
		unsorted = last->unsorted || model_last(it) < model_last(last);
	if (first && it->place < 0)
		unsorted = first->unsorted;
	for (n = 0; n < FEW_ITEMS; n++)
		if (model->items[n].candidate &&
		    model_lane(model, &model->items[n]) == model_lane(model, it))
			model->items[n].unsorted = unsorted;
}

static void model_relink(struct model *model, struct model_item *it)
{
	if (it->candidate)
		model_link(model, it);
}

static void model_use(struct model *model, u32 n)
{
	struct model_item *it = &model->items[n];

	if (it->nr_uses == USES)
		return;
	pagoda_policy_use(&model->few->policy, &model->few->items[n].base);
	model->clock += model->few->items[n].base.pages;
	it->uses[it->nr_uses++] = model->clock;
	it->writes = (it->writes << 1 | it->written) & 0xf;
	it->written = false;
	model_link(model, it);
}

static void model_change(struct model *model, u32 n, struct rnd_state *random)
{
	struct pagoda_policy *policy = &model->few->policy;
	struct pagoda_policy_item *item = &model->few->items[n].base;
	struct model_item *it = &model->items[n];
	u32 value = prandom_u32_state(random) % 17;

	switch (prandom_u32_state(random) % 8) {
	case 0:
		pagoda_policy_offer(policy, item, value % 3);
		if (it->rank < PAGODA_POLICY_OFFERS)
			return;
		it->offered = ++model->offers;
		it->rank = value % 3;
		break;
	case 1:
		pagoda_policy_reclaim(policy, item);
		it->rank = it->home_rank;
		break;
	case 2:
		/* Mostly the normal priority, so that many items compete. */
		value = value < 3 ? value * 8 : 8;
		pagoda_policy_set_priority(policy, item, DRM_PAGODA_RESIDENCY_MINIMUM +
					   value * PAGODA_POLICY_FINEST);
		it->home_rank = PAGODA_POLICY_OFFERS + value;
		if (it->rank < PAGODA_POLICY_OFFERS)
			return;
		it->rank = it->home_rank;
		break;
	case 3:
		pagoda_policy_set_visible(policy, item, value & 1);
		it->visible = value & 1;
		break;
	case 4:
		few_give(model->few, n, 1, value % FEW_GROUPS);
		it->group = value % FEW_GROUPS;
		break;
	case 5:
		model->over[value % 2] = value / 2 % 2;
		few_set_over(model->few, value % 2, value / 2 % 2);
		return;
	case 6:
		pagoda_policy_set_clean(policy, item, value & 1);
		it->written |= !(value & 1);
		if (it->clean == (value & 1))
			return;
		it->clean = value & 1;
		break;
	default:
		model->few->items[n].busy = value & 1;
		return;
	}
	model_relink(model, it);
}

/*
 * Queues a job that uses an item; does nothing if the next slot for a queued use is taken, or if
 * the item was never used.
 */
static void model_queue(struct model *model, u32 n)
{
	struct model_coming *coming = &model->coming[model->nr_coming % QUEUED];
	struct model_item *it = &model->items[n];
	u64 before = model_next(model, it);

	if (coming->queued || !it->nr_uses)
		return;
	if (!model_is_queued(model))
		model->horizon = model->clock;
	model->nr_coming++;
	model->horizon = max(model->horizon, model->clock) + model->few->items[n].base.pages;
	model->horizons[it->group] = model->horizon;
	*coming = (struct model_coming){ .when = model->horizon, .item = n, .queued = true };
	pagoda_policy_expect(&model->few->policy, &model->few->groups[it->group],
			     &model->few->items[n].base, &coming->base);
	if (!before)
		model_relink(model, it);
}

/* Ends the use in slot @n modulo QUEUED, if any; slot nr_coming modulo QUEUED has the oldest. */
static void model_forget(struct model *model, u32 n)
{
	struct model_coming *coming = &model->coming[n % QUEUED];
	struct model_item *it = &model->items[coming->item];

	if (!coming->queued)
		return;
	pagoda_policy_forget(&model->few->policy, &coming->base);
	coming->queued = false;
	if (!model_next(model, it) || coming->when < model_next(model, it))
		model_relink(model, it);
}

static void model_pick(struct kunit *test, struct model *model, struct rnd_state *random)
{
	enum pagoda_policy_need need = prandom_u32_state(random) % 2;
	struct pagoda_policy *policy = &model->few->policy;
	struct pagoda_policy_aside aside = {};
	struct pagoda_policy_item *item;
	int victim;

	model->aside = prandom_u32_state(random) % (2 * FEW_GROUPS);
	if (model->aside < FEW_GROUPS)
		aside.groups[aside.count++] = &model->few->groups[model->aside];
	item = pagoda_policy_pick(policy, need, &aside);
	victim = item ? container_of(item, struct few_item, base) - model->few->items : -1;
	model_expect(test, model, victim, need);
	if (victim < 0)
		return;
	model->items[victim].candidate = false;
	if (prandom_u32_state(random) % 4) {
		pagoda_policy_leave(policy, &model->few->items[victim].base);
	} else {
		pagoda_policy_enter(policy, &model->few->items[victim].base);
		model_link(model, &model->items[victim]);
	}
}

static struct model *model_make(struct kunit *test, struct rnd_state *random)
{
	struct model *model = test_vzalloc(test, sizeof(*model));
	u32 n;

	model->clock = prandom_u32_state(random);
	model->few = few_make(test, model->clock);
	for (n = 0; n < FEW_ITEMS; n++) {
		pagoda_policy_add(&model->few->policy, &model->few->items[n].base,
				  &model->few->lanes[n], &model->few->groups[0],
				  (1 + prandom_u32_state(random) % 9) * SZ_4K);
		model->items[n].rank = model->few->items[n].base.rank;
		model->items[n].home_rank = model->items[n].rank;
	}
	return model;
}

/*
 * Random uses, mostly in the order of items, so that there is something to predict: each victim is
 * one that the model allows.
 */
static void policy_random(struct kunit *test)
{
	struct rnd_state random;
	struct model *model;
	u32 n, at = 0;

	prandom_seed_state(&random, 5);
	model = model_make(test, &random);
	for (n = 0; n < STEPS; n++) {
		u32 what = prandom_u32_state(&random) % 10;

		at = prandom_u32_state(&random) % 16 ? at + 1 : prandom_u32_state(&random);
		if (what < 5)
			model_use(model, at % FEW_ITEMS);
		else if (what < 7)
			model_pick(test, model, &random);
		else if (what == 7)
			model_queue(model, (at + n % 8) % FEW_ITEMS);
		else if (what == 8)
			model_forget(model, n % 4 ? model->nr_coming : n);
		else
			model_change(model, prandom_u32_state(&random) % FEW_ITEMS, &random);
	}
}

static struct kunit_case policy_model_cases[] = {
	KUNIT_CASE(policy_random),
	{}
};

static struct kunit_suite policy_model_suite = {
	.name = "pagoda_policy_model",
	.test_cases = policy_model_cases,
};

kunit_test_suite(policy_model_suite);
