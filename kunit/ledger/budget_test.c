// SPDX-License-Identifier: GPL-2.0
/*
 * Budgets: the rule compared with a model, and the usage that requests are expected to bring
 * compared with another one. Usage and denied requests: budget_use_test.c.
 */
#include <linux/list.h>
#include <linux/sizes.h>
#include "rig/alloc.h"
#include "rig/prove.h"
#include "rig/vidmm_helpers.h"

#define LOCAL		DRM_PAGODA_SEGMENT_GROUP_LOCAL
#define NON_LOCAL	DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL

/* ---- The rule ---------------------------------------------------------------------- */

#define MOST	9u
#define STEPS	6000u

/* The state that each client should have, by slot. */
struct budget_model {
	struct kunit *test;
	struct pagoda_budgets budgets;
	struct pagoda_budget clients[MOST];
	bool there[MOST];
	u64 sizes[PAGODA_BUDGET_GROUPS];
	u64 usage[MOST][PAGODA_BUDGET_GROUPS];
	u64 reservation[MOST][PAGODA_BUDGET_GROUPS];
	struct pagoda_budget_part parts[MOST][PAGODA_BUDGET_SEGMENTS];
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

/* Returns whether all clients still have room if one had a budget of @level bytes. */
static bool model_fits(const struct budget_model *m, u32 who, u32 group, u64 level)
{
	u64 need = model_reserved_by_others(m, who, group) + level, beyond;
	u32 i;

	for (i = 0; i < MOST; i++) {
		if (i == who || !m->there[i] || m->usage[i][group] <= m->reservation[i][group])
			continue;
		beyond = m->usage[i][group] - m->reservation[i][group];
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
	KUNIT_ASSERT_EQ(m->test, info.usage, m->usage[who][group]);
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
	u32 id;

	m->there[who] = true;
	m->clients[who] = (struct pagoda_budget) {};
	for (id = 0; id < PAGODA_BUDGET_SEGMENTS; id++)
		m->parts[who][id] = (struct pagoda_budget_part) {
			.segment = PAGODA_BUDGET_SEGMENTS,
			.wanted = PAGODA_BUDGET_GROUPS,
		};
	pagoda_budget_join(&m->budgets, &m->clients[who]);
}

static void model_charge(struct budget_model *m, u32 who, u32 segment, s64 bytes)
{
	u32 group = segment == DRM_PAGODA_SEGMENT_VRAM ? LOCAL : NON_LOCAL;
	struct pagoda_budget_part *part = &m->parts[who][segment];

	/*
	 * One part stands for all that the client has in the segment: take it out and add it again.
	 */
	pagoda_budget_charge(&m->clients[who], part, PAGODA_BUDGET_SEGMENTS);
	part->bytes += bytes;
	pagoda_budget_charge(&m->clients[who], part, segment);
	if (segment != DRM_PAGODA_SEGMENT_SYSTEM)
		m->usage[who][group] += bytes;
}

static void model_leave(struct budget_model *m, u32 who)
{
	m->there[who] = false;
	memset(m->usage[who], 0, sizeof(m->usage[who]));
	memset(m->reservation[who], 0, sizeof(m->reservation[who]));
	pagoda_budget_leave(&m->clients[who]);
}

static void model_reserve(struct budget_model *m, struct rnd_state *rnd, u32 who, u32 group)
{
	u64 most = model_available(m, who, group), bytes;
	struct pagoda_budget_info before, after;

	/*
	 * A reservation of the most that is available, of one byte more, of far too much, or of any
	 * size.
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

/* Usage of nearly all there is, of a little, or as much as another client has. */
static void model_use(struct budget_model *m, struct rnd_state *rnd, u32 who)
{
	u32 segment = pagoda_kunit_below(rnd, PAGODA_BUDGET_SEGMENTS);
	u32 group = segment == DRM_PAGODA_SEGMENT_VRAM ? LOCAL : NON_LOCAL;
	u32 other = pagoda_kunit_below(rnd, MOST);
	u64 pages = m->sizes[group] >> PAGE_SHIFT, wanted;

	wanted = (pages >> pagoda_kunit_below(rnd, 12)) * pagoda_kunit_below(rnd, 4) << PAGE_SHIFT;
	if (m->there[other] && pagoda_kunit_below(rnd, 2))
		wanted = m->usage[other][group];
	if (segment == DRM_PAGODA_SEGMENT_SYSTEM)
		model_charge(m, who, segment, PAGE_SIZE);
	else
		model_charge(m, who, segment, (s64)(wanted - m->usage[who][group]));
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
		model_use(m, rnd, who);
	}
}

/*
 * Random steps of random clients: budget, available reservation and refusals (-EDQUOT) are the
 * model's.
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
		KUNIT_EXPECT_TRUE(test, list_empty(&m->budgets.clients));
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

static void local_use(struct budget_model *m, u32 who, u64 pages)
{
	model_charge(m, who, DRM_PAGODA_SEGMENT_VRAM,
		     (s64)((pages << PAGE_SHIFT) - m->usage[who][LOCAL]));
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
	/* Clients that use nothing don't count. */
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, local_budget(m, i) >> PAGE_SHIFT, 960ull);
	/*
	 * Memory that the first client uses is missing in the others' budgets, up to a fair share.
	 */
	local_use(m, 0, 100);
	KUNIT_EXPECT_EQ(test, local_budget(m, 0) >> PAGE_SHIFT, 960ull);
	KUNIT_EXPECT_EQ(test, local_budget(m, 1) >> PAGE_SHIFT, 860ull);
	local_use(m, 0, 900);
	KUNIT_EXPECT_EQ(test, local_budget(m, 1) >> PAGE_SHIFT, 480ull);
	local_use(m, 1, 60);
	KUNIT_EXPECT_EQ(test, local_budget(m, 0) >> PAGE_SHIFT, 900ull);
	KUNIT_EXPECT_EQ(test, local_budget(m, 2) >> PAGE_SHIFT, 450ull);
	local_use(m, 1, 500);
	KUNIT_EXPECT_EQ(test, local_budget(m, 0) >> PAGE_SHIFT, 480ull);
	KUNIT_EXPECT_EQ(test, local_budget(m, 2) >> PAGE_SHIFT, 320ull);
	/* A reservation is its client's, used or not. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_budget_reserve(&m->clients[2], LOCAL, 360 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, local_budget(m, 2) >> PAGE_SHIFT, 320ull);
	KUNIT_EXPECT_EQ(test, local_budget(m, 0) >> PAGE_SHIFT, 300ull);
	local_use(m, 2, 360);
	KUNIT_EXPECT_EQ(test, local_budget(m, 0) >> PAGE_SHIFT, 300ull);
	local_use(m, 2, 400);
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

/* ---- Expected usage ---------------------------------------------------------------- */

#define PARTS		24u
#define REQUESTS	6u

/* A client, its allocations, and requests for some of the allocations. */
struct expect_model {
	struct kunit *test;
	struct pagoda_budgets budgets;
	struct pagoda_budget budget;
	struct pagoda_budget_part parts[PARTS];
	struct pagoda_budget_part *lists[REQUESTS][PARTS];
	struct pagoda_budget_growth growths[REQUESTS];
};

static bool expect_is_there(const struct pagoda_budget_part *part)
{
	return part->segment == (part->wanted == LOCAL ? DRM_PAGODA_SEGMENT_VRAM :
				 DRM_PAGODA_SEGMENT_APERTURE);
}

static bool expect_names(const struct expect_model *m, const struct pagoda_budget_part *part)
{
	u32 i, j;

	for (i = 0; i < REQUESTS; i++)
		for (j = 0; j < m->growths[i].count; j++)
			if (m->lists[i][j] == part)
				return true;
	return false;
}

static void expect_check(struct expect_model *m)
{
	u64 used[PAGODA_BUDGET_SEGMENTS + 1] = {}, expected[PAGODA_BUDGET_GROUPS] = {};
	const struct pagoda_budget_part *part;
	u32 i;

	for (i = 0; i < PARTS; i++) {
		part = &m->parts[i];
		used[part->segment] += part->bytes;
		if (part->wanted != PAGODA_BUDGET_GROUPS && !expect_is_there(part) &&
		    expect_names(m, part))
			expected[part->wanted] += part->bytes;
	}
	KUNIT_ASSERT_EQ(m->test, pagoda_budget_usage(&m->budget, LOCAL),
			used[DRM_PAGODA_SEGMENT_VRAM]);
	KUNIT_ASSERT_EQ(m->test, pagoda_budget_usage(&m->budget, NON_LOCAL),
			used[DRM_PAGODA_SEGMENT_APERTURE]);
	KUNIT_ASSERT_EQ(m->test, m->budget.expected[LOCAL], expected[LOCAL]);
	KUNIT_ASSERT_EQ(m->test, m->budget.expected[NON_LOCAL], expected[NON_LOCAL]);
}

/* Returns the bytes by which a request would exceed the budget. */
static u64 expect_excess(struct expect_model *m, const struct pagoda_budget_growth *growth)
{
	u64 more[PAGODA_BUDGET_GROUPS] = {}, all, excess = 0;
	struct pagoda_budget_info info;
	u32 i, group;

	for (i = 0; i < growth->asked; i++)
		if (growth->parts[i]->wanted != PAGODA_BUDGET_GROUPS &&
		    !expect_is_there(growth->parts[i]) && !expect_names(m, growth->parts[i]))
			more[growth->parts[i]->wanted] += growth->parts[i]->bytes;
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++) {
		pagoda_budget_info(&m->budget, group, &info);
		all = info.usage + m->budget.expected[group] + more[group];
		if (more[group] && all > info.budget)
			excess += all - info.budget;
	}
	return excess;
}

static void expect_begin(struct expect_model *m, struct rnd_state *rnd, u32 request)
{
	struct pagoda_budget_growth growth = { .parts = m->lists[request] };
	bool deny = pagoda_kunit_below(rnd, 2);
	u64 excess;
	u32 i;

	for (i = 0; i < PARTS; i++)
		if (!pagoda_kunit_below(rnd, 4))
			growth.parts[growth.count++] = &m->parts[i];
	growth.asked = pagoda_kunit_below(rnd, growth.count + 1);
	excess = deny ? expect_excess(m, &growth) : 0;
	KUNIT_ASSERT_EQ(m->test, pagoda_budget_expect(&m->budget, &growth, deny), excess);
	if (!excess)
		m->growths[request] = growth;
}

static void expect_step(struct expect_model *m, struct rnd_state *rnd)
{
	u32 request = pagoda_kunit_below(rnd, REQUESTS);

	if (pagoda_kunit_below(rnd, 4))
		pagoda_budget_charge(&m->budget, &m->parts[pagoda_kunit_below(rnd, PARTS)],
				     pagoda_kunit_below(rnd, PAGODA_BUDGET_SEGMENTS + 1));
	else if (m->growths[request].count)
		pagoda_budget_arrived(&m->budget, &m->growths[request]);
	else
		expect_begin(m, rnd, request);
	expect_check(m);
}

/* Allocations move at random: a requested byte counts as used or as expected, and never twice. */
static void budget_expects_random(struct kunit *test)
{
	const u64 sizes[] = { PARTS / 2 * SZ_64K, PARTS / 2 * SZ_64K };
	struct expect_model *m = test_zalloc(test, sizeof(*m));
	struct rnd_state rnd;
	u32 i;

	pagoda_kunit_seed(test, &rnd);
	m->test = test;
	pagoda_budgets_init(&m->budgets, sizes);
	pagoda_budget_join(&m->budgets, &m->budget);
	for (i = 0; i < PARTS; i++)
		m->parts[i] = (struct pagoda_budget_part) {
			.bytes = (1 + pagoda_kunit_below(&rnd, 32)) * PAGE_SIZE,
			.wanted = pagoda_kunit_below(&rnd, PAGODA_BUDGET_GROUPS + 1),
			.segment = PAGODA_BUDGET_SEGMENTS,
		};
	for (i = 0; i < STEPS; i++)
		expect_step(m, &rnd);
	for (i = 0; i < REQUESTS; i++)
		pagoda_budget_arrived(&m->budget, &m->growths[i]);
	KUNIT_EXPECT_EQ(test, m->budget.expected[LOCAL], 0ull);
	KUNIT_EXPECT_EQ(test, m->budget.expected[NON_LOCAL], 0ull);
	pagoda_budget_leave(&m->budget);
}

static struct kunit_case budget_cases[] = {
	KUNIT_CASE(budget_random),
	KUNIT_CASE(budget_lends),
	KUNIT_CASE(budget_expects_random),
	{ }
};

static struct kunit_suite budget_suite = {
	.name = "pagoda_budget",
	.test_cases = budget_cases,
};

kunit_test_suite(budget_suite);
