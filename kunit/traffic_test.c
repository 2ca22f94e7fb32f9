// SPDX-License-Identifier: GPL-2.0
/*
 * The paging-traffic budget, at times that are made up.
 */
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/time64.h>

#include "../drivers/pagoda/vidmm/traffic.h"
#include "vidmm_helpers.h"

#define SECOND	((u64)NSEC_PER_SEC)
#define START	(100 * SECOND)
#define BURST	(64 * SZ_1K)
#define RATE	SZ_1M		/* bytes a second */

static void traffic_make(struct pagoda_traffic *traffic)
{
	pagoda_traffic_init(traffic, 5, BURST, START);
	traffic->fixed = RATE;
}

/* Before anything was measured there is nothing to be limited by. */
static void traffic_unknown(struct kunit *test)
{
	struct pagoda_traffic traffic;

	pagoda_traffic_init(&traffic, 5, BURST, START);
	pagoda_traffic_spend(&traffic, 100 * BURST);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START));
	KUNIT_EXPECT_EQ(test, 100ull * BURST, traffic.spent);
}

/*
 * What is spent in advance is paid for, to the token, and no time is lost by asking often, but
 * for a nanosecond each time.
 */
static void traffic_debt(struct kunit *test)
{
	struct pagoda_traffic traffic;
	u64 wait, now, asked = 0;

	traffic_make(&traffic);
	pagoda_traffic_spend(&traffic, 3 * BURST);
	wait = pagoda_traffic_wait(&traffic, START);
	/* Twice the burst, and one more. */
	KUNIT_EXPECT_EQ(test, (2 * BURST + 1) * SECOND / RATE + 1, wait);
	for (now = START; now < START + wait; now += 777, asked++)
		if (!pagoda_traffic_wait(&traffic, now))
			break;
	KUNIT_EXPECT_GE(test, now, START + wait);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START + wait + 1000 + asked));
	KUNIT_EXPECT_EQ(test, asked + 1, traffic.refused);
}

/* It doesn't save up for more than a burst. */
static void traffic_full(struct kunit *test)
{
	struct pagoda_traffic traffic;

	traffic_make(&traffic);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START + 1000000 * SECOND));
	KUNIT_EXPECT_EQ(test, (s64)BURST, traffic.tokens);
	pagoda_traffic_spend(&traffic, BURST);
	KUNIT_EXPECT_NE(test, 0ull, pagoda_traffic_wait(&traffic, START + 1000000 * SECOND));
}

/* Alone it is as fast as paging; beside others it takes its share, until they stop. */
static void traffic_others(struct kunit *test)
{
	struct pagoda_traffic traffic;
	u64 alone, beside;

	pagoda_traffic_init(&traffic, 5, BURST, START);
	pagoda_traffic_measure(&traffic, SZ_64M, SECOND);
	KUNIT_EXPECT_EQ(test, (u64)SZ_64M, traffic.bandwidth);
	pagoda_traffic_spend(&traffic, BURST + SZ_64M);
	alone = pagoda_traffic_wait(&traffic, START);
	KUNIT_EXPECT_LT(test, alone, SECOND);
	KUNIT_EXPECT_GT(test, alone, SECOND / 2);
	pagoda_traffic_others(&traffic, START);
	beside = pagoda_traffic_wait(&traffic, START);
	KUNIT_EXPECT_GE(test, beside, 20 * SECOND);
	KUNIT_EXPECT_LT(test, beside, 21 * SECOND);
	/* They have been gone for a second. */
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START + SECOND));
}

/* One measurement among others counts little; a change that lasts is believed. */
static void traffic_measures(struct kunit *test)
{
	struct pagoda_traffic traffic;
	u32 i;

	pagoda_traffic_init(&traffic, 5, BURST, START);
	pagoda_traffic_measure(&traffic, SZ_8M, SECOND / 100);
	pagoda_traffic_measure(&traffic, SZ_8M, SECOND);
	KUNIT_EXPECT_GT(test, traffic.bandwidth, 80ull * SZ_8M);
	for (i = 0; i < 100; i++)
		pagoda_traffic_measure(&traffic, SZ_8M, SECOND);
	KUNIT_EXPECT_LT(test, traffic.bandwidth, 2ull * SZ_8M);
	/* Too fast or too slow to be true. */
	pagoda_traffic_measure(&traffic, SZ_8M, 0);
	for (i = 0; i < 1000; i++)
		pagoda_traffic_measure(&traffic, 0, SECOND);
	KUNIT_EXPECT_GE(test, traffic.bandwidth, 1ull);
}

/* However it is asked: never more than the rate and a burst, and what it promises it keeps. */
static void traffic_random(struct kunit *test)
{
	struct pagoda_traffic traffic;
	u64 now = START, spent = 0, most = 0, wait, bytes;
	struct rnd_state rnd;
	u32 i;

	pagoda_kunit_seed(test, &rnd);
	traffic_make(&traffic);
	for (i = 0; i < 10000; i++) {
		wait = pagoda_traffic_wait(&traffic, now);
		if (wait) {
			now += pagoda_kunit_below(&rnd, 2) ? wait :
			       pagoda_kunit_below(&rnd, 1 << 20);
			continue;
		}
		bytes = 1 + pagoda_kunit_below(&rnd, 2 * BURST);
		pagoda_traffic_spend(&traffic, bytes);
		spent += bytes;
		most = BURST + (now - START) / 1000 * RATE / (NSEC_PER_SEC / 1000) + RATE / 1000;
		/* The last one may be a debt. */
		KUNIT_ASSERT_LE(test, spent - bytes, most);
	}
	/* Nor much less: it was asked all the time. */
	KUNIT_EXPECT_GE(test, 2 * spent, most);
}

static struct kunit_case traffic_cases[] = {
	KUNIT_CASE(traffic_unknown),
	KUNIT_CASE(traffic_debt),
	KUNIT_CASE(traffic_full),
	KUNIT_CASE(traffic_others),
	KUNIT_CASE(traffic_measures),
	KUNIT_CASE(traffic_random),
	{}
};

static struct kunit_suite traffic_suite = {
	.name = "pagoda_traffic",
	.test_cases = traffic_cases,
};

kunit_test_suite(traffic_suite);
