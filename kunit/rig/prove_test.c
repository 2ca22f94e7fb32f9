// SPDX-License-Identifier: GPL-2.0
/* A claim leaves one line in the results of each test, and of each parameter, that makes it. */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include "prove.h"

/* A claim of a point that doesn't exist: the report ignores it. */
#define NONE { .points = "nothing", .file = __FILE__, .line = __LINE__ }

/* The claim that prove_once() and prove_by_parameter() make. */
static struct pagoda_claim shared = NONE;

/* Repeated in one test, a claim is written once. */
static void prove_once(struct kunit *test)
{
	u32 i;

	KUNIT_EXPECT_TRUE(test, pagoda_claim(&shared));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_FALSE(test, pagoda_claim(&shared));
}

static const u32 prove_numbers[] = { 1, 2, 3 };

KUNIT_ARRAY_PARAM(prove, prove_numbers, NULL);

/* A claim is written once for each parameter, because each has a result of its own. */
static void prove_by_parameter(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, pagoda_claim(&shared));
	KUNIT_EXPECT_FALSE(test, pagoda_claim(&shared));
}

struct prove_helper {
	struct pagoda_claim claim;
	bool written;
	struct completion done;
};

static int prove_helper_run(void *data)
{
	struct prove_helper *helper = data;

	helper->written = pagoda_claim(&helper->claim);
	complete(&helper->done);
	return 0;
}

/* A claim by a thread that the test started is written into the test's results, once. */
static void prove_from_a_thread(struct kunit *test)
{
	struct prove_helper helper = { .claim = NONE };

	init_completion(&helper.done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(prove_helper_run, &helper, "pagoda-claim")));
	wait_for_completion(&helper.done);
	KUNIT_EXPECT_TRUE(test, helper.written);
	KUNIT_EXPECT_PTR_EQ(test, helper.claim.test, test->name);
	KUNIT_EXPECT_FALSE(test, pagoda_claim(&helper.claim));
}

static struct kunit_case prove_cases[] = {
	KUNIT_CASE(prove_once),
	KUNIT_CASE_PARAM(prove_by_parameter, prove_gen_params),
	KUNIT_CASE(prove_from_a_thread),
	{ }
};

static struct kunit_suite prove_suite = {
	.name = "pagoda_prove",
	.test_cases = prove_cases,
};

kunit_test_suite(prove_suite);
