// SPDX-License-Identifier: GPL-2.0
/*
 * Budgets: the rule compared with a model and with numbers found by hand; what a client wants and
 * uses compared with another model. Tests with the driver's allocations and requests are in
 * budget_use_test.c.
 */
#include <linux/rbtree.h>
#include <linux/sizes.h>
#include "rig/alloc.h"
#include "rig/prove.h"
#include "rig/vidmm_helpers.h"

#define LOCAL		DRM_PAGODA_SEGMENT_GROUP_LOCAL
#define NON_LOCAL	DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL

/* ---- The rule ---------------------------------------------------------------------- */

#define MOST	9u
#define STEPS	6000u

/*
 * Budgets of up to MOST clients: @budgets, @clients and @parts are tested; the other members are
 * the model: by slot, whether a client is @there, and what the client wants and has reserved.
 */
struct budget_model {
	struct kunit *test;
	struct pagoda_budgets budgets;
	struct pagoda_budget clients[MOST];
	bool there[MOST];
	u64 sizes[PAGODA_BUDGET_GROUPS];
	u64 wanted[MOST][PAGODA_BUDGET_GROUPS];
	u64 reservation[MOST][PAGODA_BUDGET_GROUPS];
	struct pagoda_budget_part parts[MOST][PAGODA_BUDGET_GROUPS];
};

static u64 model_pool(const struct budget_model *m, u32 group)
{
	return m->sizes[group] - m->sizes[group] / 32;
}

static u64 model_reserved_by_others(const struct budget_model *m, u32 who, u32 group)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < MOST; i++)
		if (i != who && m->there[i])
			bytes += m->reservation[i][group];
	return bytes;
}

/*
 * Returns whether the pool is large enough for one client to have a budget of @level bytes, while
 * the other clients keep their reservations, and what they want beyond, each up to @level.
 */
static bool model_fits(const struct budget_model *m, u32 who, u32 group, u64 level)
{
	u64 need = model_reserved_by_others(m, who, group) + level, beyond;
	u32 i;

	for (i = 0; i < MOST; i++) {
		if (i == who || !m->there[i] || m->wanted[i][group] <= m->reservation[i][group])
			continue;
		beyond = m->wanted[i][group] - m->reservation[i][group];
		need += min(beyond, level);
	}
	return need <= model_pool(m, group);
}

static u64 model_budget(const struct budget_model *m, u32 who, u32 group)
{
	u64 low = 0, high = model_pool(m, group) + 1, middle;

	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (model_fits(m, who, group, middle))
			low = middle;
		else
			high = middle;
	}
	return low & PAGE_MASK;
}

static u64 model_available(const struct budget_model *m, u32 who, u32 group)
{
	u64 half = model_pool(m, group) / 2;

	return half - min(half, model_reserved_by_others(m, who, group));
}

static void model_expect(struct budget_model *m, u32 who, u32 group)
{
	struct pagoda_budget_info info;

	pagoda_budget_info(&m->clients[who], group, &info);
	KUNIT_ASSERT_EQ(m->test, info.wanted, m->wanted[who][group]);
	KUNIT_ASSERT_EQ(m->test, info.reservation, m->reservation[who][group]);
	KUNIT_ASSERT_EQ(m->test, info.available, model_available(m, who, group));
	KUNIT_ASSERT_EQ(m->test, info.budget, model_budget(m, who, group));
}

static void model_init(struct budget_model *m, struct kunit *test, u64 local, u64 non_local)
{
	m->test = test;
	m->sizes[LOCAL] = local;
	m->sizes[NON_LOCAL] = non_local;
	pagoda_budgets_init(&m->budgets, m->sizes);
}

static void model_join(struct budget_model *m, u32 who)
{
	u32 group;

	m->there[who] = true;
	m->clients[who] = (struct pagoda_budget) {};
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
		m->parts[who][group] = (struct pagoda_budget_part) {
			.segment = PAGODA_BUDGET_SEGMENTS,
			.prefers = group,
		};
	pagoda_budget_join(&m->budgets, &m->clients[who]);
}

static bool model_wants(const struct pagoda_budget_part *part)
{
	return part->bytes;
}

static bool model_wants_nothing(const struct pagoda_budget_part *part)
{
	return false;
}

/*
 * Sets how much a client wants of a group: one part stands for all of that, and is taken out and
 * added again with its new size.
 */
static void model_want(struct budget_model *m, u32 who, u32 group, u64 bytes)
{
	struct pagoda_budget_part *part = &m->parts[who][group];

	pagoda_budget_want(&m->clients[who], part, model_wants_nothing);
	part->bytes = bytes;
	pagoda_budget_want(&m->clients[who], part, model_wants);
	m->wanted[who][group] = bytes;
}

static void model_leave(struct budget_model *m, u32 who)
{
	u32 group;

	m->there[who] = false;
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
		model_want(m, who, group, 0);
	memset(m->reservation[who], 0, sizeof(m->reservation[who]));
	pagoda_budget_leave(&m->clients[who]);
}

static void model_reserve(struct budget_model *m, struct rnd_state *rnd, u32 who, u32 group)
{
	u64 most = model_available(m, who, group), bytes;
	struct pagoda_budget_info before, after;

	/*
	 * A reservation of the most that is available, of one byte more, of far too much, or of a
	 * random part of the most.
	 */
	switch (pagoda_kunit_below(rnd, 4)) {
	case 0:
		bytes = most;
		break;
	case 1:
		bytes = most + 1;
		break;
	case 2:
		bytes = U64_MAX - pagoda_kunit_below(rnd, 100);
		break;
	default:
		bytes = most / 256 * pagoda_kunit_below(rnd, 256);
	}
	pagoda_budget_info(&m->clients[who], group, &before);
	KUNIT_ASSERT_EQ(m->test, pagoda_budget_reserve(&m->clients[who], group, bytes),
			bytes > most ? -EDQUOT : 0);
	if (bytes <= most)
		m->reservation[who][group] = bytes;
	pagoda_budget_info(&m->clients[who], group, &after);
	KUNIT_ASSERT_EQ(m->test, before.budget, after.budget);
	KUNIT_ASSERT_EQ(m->test, after.reservation, m->reservation[who][group]);
}

/*
 * Has a client want nothing, a random part of the group's size, up to three times that size, or as
 * much as another client.
 */
static void model_want_any(struct budget_model *m, struct rnd_state *rnd, u32 who)
{
	u32 group = pagoda_kunit_below(rnd, PAGODA_BUDGET_GROUPS);
	u32 other = pagoda_kunit_below(rnd, MOST);
	u64 pages = m->sizes[group] >> PAGE_SHIFT, wanted;

	wanted = (pages >> pagoda_kunit_below(rnd, 12)) * pagoda_kunit_below(rnd, 4) << PAGE_SHIFT;
	if (m->there[other] && pagoda_kunit_below(rnd, 2))
		wanted = m->wanted[other][group];
	model_want(m, who, group, wanted);
}

static void model_step(struct budget_model *m, struct rnd_state *rnd)
{
	u32 who = pagoda_kunit_below(rnd, MOST);

	if (!m->there[who]) {
		model_join(m, who);
		return;
	}
	switch (pagoda_kunit_below(rnd, 16)) {
	case 0:
		model_leave(m, who);
		break;
	case 1:
		pagoda_budget_close(&m->clients[who]);
		memset(m->reservation[who], 0, sizeof(m->reservation[who]));
		break;
	case 2 ... 5:
		model_reserve(m, rnd, who, pagoda_kunit_below(rnd, PAGODA_BUDGET_GROUPS));
		break;
	default:
		model_want_any(m, rnd, who);
	}
}

/*
 * After random steps of random clients, budgets, available reservations and refusals (-EDQUOT) are
 * those of the model.
 */
static void budget_random(struct kunit *test)
{
	static const u64 sizes[][PAGODA_BUDGET_GROUPS] = {
		{ 64 * PAGE_SIZE, SZ_64M }, { 1ull << 40, 1ull << 36 }, { PAGE_SIZE, 0 },
	};
	struct budget_model *m = test_zalloc(test, sizeof(*m));
	struct rnd_state rnd;
	u32 step, shape, who;

	pagoda_kunit_seed(test, &rnd);
	for (shape = 0; shape < ARRAY_SIZE(sizes); shape++) {
		model_init(m, test, sizes[shape][LOCAL], sizes[shape][NON_LOCAL]);
		for (step = 0; step < STEPS; step++) {
			PAGODA_PROVES(C166);
			model_step(m, &rnd);
			who = pagoda_kunit_below(&rnd, MOST);
			if (m->there[who])
				model_expect(m, who, pagoda_kunit_below(&rnd, 2));
		}
		for (who = 0; who < MOST; who++)
			if (m->there[who])
				model_leave(m, who);
		KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&m->budgets.claims[LOCAL]));
		KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&m->budgets.claims[NON_LOCAL]));
		KUNIT_EXPECT_EQ(test, m->budgets.reserved[LOCAL], 0ull);
		KUNIT_EXPECT_EQ(test, m->budgets.reserved[NON_LOCAL], 0ull);
	}
}

static u64 local_budget(struct budget_model *m, u32 who)
{
	struct pagoda_budget_info info;

	pagoda_budget_info(&m->clients[who], LOCAL, &info);
	return info.budget;
}

static void local_want(struct budget_model *m, u32 who, u64 pages)
{
	model_want(m, who, LOCAL, pages << PAGE_SHIFT);
}

/* Budgets as numbers that are easily checked by hand: the pool has 960 pages. */
static void budget_lends(struct kunit *test)
{
	struct budget_model *m = test_zalloc(test, sizeof(*m));
	u32 i;

	model_init(m, test, 960 * PAGE_SIZE * 32 / 31, SZ_64M);
	KUNIT_ASSERT_EQ(test, m->budgets.pool[LOCAL] >> PAGE_SHIFT, 960ull);
	for (i = 0; i < 3; i++)
		model_join(m, i);
	/* Clients that want and reserve nothing don't lower other clients' budgets. */
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, local_budget(m, i) >> PAGE_SHIFT, 960ull);
	/*
	 * Memory that the first client wants, but at most a fair share, is missing in the others'
	 * budgets.
	 */
	local_want(m, 0, 100);
	KUNIT_EXPECT_EQ(test, local_budget(m, 0) >> PAGE_SHIFT, 960ull);
	KUNIT_EXPECT_EQ(test, local_budget(m, 1) >> PAGE_SHIFT, 860ull);
	local_want(m, 0, 900);
	KUNIT_EXPECT_EQ(test, local_budget(m, 1) >> PAGE_SHIFT, 480ull);
	local_want(m, 1, 60);
	KUNIT_EXPECT_EQ(test, local_budget(m, 0) >> PAGE_SHIFT, 900ull);
	KUNIT_EXPECT_EQ(test, local_budget(m, 2) >> PAGE_SHIFT, 450ull);
	local_want(m, 1, 500);
	KUNIT_EXPECT_EQ(test, local_budget(m, 0) >> PAGE_SHIFT, 480ull);
	KUNIT_EXPECT_EQ(test, local_budget(m, 2) >> PAGE_SHIFT, 320ull);
	/* A reservation lowers other clients' budgets, whether or not it is used. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_budget_reserve(&m->clients[2], LOCAL, 360 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, local_budget(m, 2) >> PAGE_SHIFT, 320ull);
	KUNIT_EXPECT_EQ(test, local_budget(m, 0) >> PAGE_SHIFT, 300ull);
	local_want(m, 2, 360);
	KUNIT_EXPECT_EQ(test, local_budget(m, 0) >> PAGE_SHIFT, 300ull);
	local_want(m, 2, 400);
	KUNIT_EXPECT_EQ(test, local_budget(m, 0) >> PAGE_SHIFT, 280ull);
	/* Half of the pool can be reserved, by all clients together. */
	KUNIT_EXPECT_EQ(test, -EDQUOT, pagoda_budget_reserve(&m->clients[0], LOCAL,
							     120 * PAGE_SIZE + 1));
	KUNIT_EXPECT_EQ(test, 0, pagoda_budget_reserve(&m->clients[0], LOCAL, 120 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, -EDQUOT, pagoda_budget_reserve(&m->clients[1], LOCAL, 1));
	KUNIT_EXPECT_EQ(test, 0, pagoda_budget_reserve(&m->clients[1], NON_LOCAL, SZ_16M));
	for (i = 0; i < 3; i++)
		model_leave(m, i);
}

/* Clients that all want more than their share: what they want beyond that changes no budget. */
static void budget_stands_still(struct kunit *test)
{
	struct budget_model *m = test_zalloc(test, sizeof(*m));
	struct rnd_state rnd;
	u32 i, who;

	pagoda_kunit_seed(test, &rnd);
	model_init(m, test, 960 * PAGE_SIZE * 32 / 31, SZ_64M);
	for (i = 0; i < 8; i++) {
		model_join(m, i);
		local_want(m, i, 121 + i);
	}
	for (i = 0; i < STEPS; i++) {
		who = pagoda_kunit_below(&rnd, 8);
		local_want(m, who, 121 + pagoda_kunit_below(&rnd, 4000));
		KUNIT_ASSERT_EQ(test, local_budget(m, who) >> PAGE_SHIFT, 120ull);
		KUNIT_ASSERT_EQ(test, local_budget(m, i % 8) >> PAGE_SHIFT, 120ull);
	}
	for (i = 0; i < 8; i++)
		model_leave(m, i);
}

/* ---- Wants and usage --------------------------------------------------------------- */

#define PARTS		24u

struct want_part {
	struct pagoda_budget_part part;
	bool asked;
};

/*
 * A client and its allocations; @changes counts the calls that tell that budgets may have changed.
 */
struct want_model {
	struct kunit *test;
	struct pagoda_budgets budgets;
	struct pagoda_budget budget;
	struct want_part parts[PARTS];
	u32 changes;
};

static bool want_asked(const struct pagoda_budget_part *part)
{
	return container_of(part, struct want_part, part)->asked;
}

static void want_changed(void *owner)
{
	struct want_model *m = owner;

	m->changes++;
}

static void want_check(struct want_model *m)
{
	u64 used[PAGODA_BUDGET_SEGMENTS + 1] = {}, wanted[PAGODA_BUDGET_GROUPS + 1] = {};
	struct pagoda_budget_info info;
	const struct want_part *each;
	u32 i;

	for (i = 0; i < PARTS; i++) {
		each = &m->parts[i];
		used[each->part.segment] += each->part.bytes;
		if (each->asked)
			wanted[each->part.prefers] += each->part.bytes;
	}
	pagoda_budget_info(&m->budget, LOCAL, &info);
	KUNIT_ASSERT_EQ(m->test, info.usage, used[DRM_PAGODA_SEGMENT_VRAM]);
	KUNIT_ASSERT_EQ(m->test, info.wanted, wanted[LOCAL]);
	pagoda_budget_info(&m->budget, NON_LOCAL, &info);
	KUNIT_ASSERT_EQ(m->test, info.usage, used[DRM_PAGODA_SEGMENT_APERTURE]);
	KUNIT_ASSERT_EQ(m->test, info.wanted, wanted[NON_LOCAL]);
}

/*
 * pagoda_budget_denied(), asked for a random number of bytes of each group, returns by how much the
 * client would exceed its budgets, summed over the groups whose number of bytes isn't 0.
 */
static void want_deny(struct want_model *m, struct rnd_state *rnd)
{
	u64 more[PAGODA_BUDGET_GROUPS], excess = 0;
	struct pagoda_budget_info info;
	u32 group;

	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++) {
		more[group] = pagoda_kunit_below(rnd, 8) * PAGE_SIZE;
		pagoda_budget_info(&m->budget, group, &info);
		if (more[group] && info.wanted + more[group] > info.budget)
			excess += info.wanted + more[group] - info.budget;
	}
	KUNIT_ASSERT_EQ(m->test, pagoda_budget_denied(&m->budget, more), excess);
}

/*
 * Moves an allocation, which changes no budget; or sets whether the allocation is wanted, which
 * changes no budget if that was so before.
 */
static void want_step(struct want_model *m, struct rnd_state *rnd)
{
	struct want_part *each = &m->parts[pagoda_kunit_below(rnd, PARTS)];
	u32 changes = m->changes;
	bool asked = each->asked;

	if (pagoda_kunit_below(rnd, 2)) {
		pagoda_budget_charge(&m->budget, &each->part,
				     pagoda_kunit_below(rnd, PAGODA_BUDGET_SEGMENTS + 1));
	} else {
		each->asked = each->part.prefers != PAGODA_BUDGET_GROUPS &&
			      pagoda_kunit_below(rnd, 2);
		pagoda_budget_want(&m->budget, &each->part, want_asked);
	}
	if (asked == each->asked)
		KUNIT_ASSERT_EQ(m->test, changes, m->changes);
	want_check(m);
	want_deny(m, rnd);
}

/*
 * Allocations move, and become wanted or unwanted, at random: usage, wants and denied bytes are
 * those of the model.
 */
static void budget_wants_random(struct kunit *test)
{
	const u64 sizes[] = { PARTS / 2 * SZ_64K, PARTS / 2 * SZ_64K };
	struct want_model *m = test_zalloc(test, sizeof(*m));
	struct rnd_state rnd;
	u32 i;

	pagoda_kunit_seed(test, &rnd);
	m->test = test;
	pagoda_budgets_init(&m->budgets, sizes);
	m->budgets.owner = m;
	m->budgets.changed = want_changed;
	pagoda_budget_join(&m->budgets, &m->budget);
	for (i = 0; i < PARTS; i++)
		m->parts[i].part = (struct pagoda_budget_part) {
			.bytes = (1 + pagoda_kunit_below(&rnd, 32)) * PAGE_SIZE,
			.prefers = pagoda_kunit_below(&rnd, PAGODA_BUDGET_GROUPS + 1),
			.segment = PAGODA_BUDGET_SEGMENTS,
		};
	for (i = 0; i < STEPS; i++)
		want_step(m, &rnd);
	for (i = 0; i < PARTS; i++) {
		m->parts[i].asked = false;
		pagoda_budget_want(&m->budget, &m->parts[i].part, want_asked);
	}
	pagoda_budget_leave(&m->budget);
}

static struct kunit_case budget_cases[] = {
	KUNIT_CASE(budget_random),
	KUNIT_CASE(budget_lends),
	KUNIT_CASE(budget_stands_still),
	KUNIT_CASE(budget_wants_random),
	{ }
};

static struct kunit_suite budget_suite = {
	.name = "pagoda_budget",
	.test_cases = budget_cases,
};

kunit_test_suite(budget_suite);
