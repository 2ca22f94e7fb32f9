// SPDX-License-Identifier: GPL-2.0
/*
 * A test that at the end of a job only the awaited monitored fences that the job's client created
 * are tested, however many fences of other clients are awaited.
 */
#include "submit/submit_helpers.h"
#include "vidmm/fence/internal.h"
#include "vidmm/ledger/client.h"

#define MANY	(2 * PAGODA_WALK_SLICE + 5)

struct awaited_fence {
	struct pagoda_mfence *mfence;
	struct pagoda_mfence_wait wait;
	u32 ended;
};

static void awaited_end(struct pagoda_mfence_wait *wait, int error)
{
	container_of(wait, struct awaited_fence, wait)->ended++;
}

static void awaited_begin(struct pagoda_rig *rig, struct pagoda_client *client,
			  struct awaited_fence *fence)
{
	fence->ended = 0;
	fence->mfence = test_ok(rig->test, pagoda_mfence_create(rig->vidmm, client, 0, 0));
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_mfence_wait_init(&fence->wait, fence->mfence, 1,
							      awaited_end, NULL));
	pagoda_mfence_wait_arm(&fence->wait);
}

static void awaited_fini(struct awaited_fence *fence)
{
	pagoda_mfence_wait_fini(&fence->wait);
	pagoda_mfence_put(fence->mfence);
}

/* Stores 1 as the fence's value, as a job does that sends no event. */
static void awaited_store(struct awaited_fence *fence)
{
	WRITE_ONCE(*(u64 *)page_address(pagoda_mfence_bo(fence->mfence)->ttm.ttm->pages[0]), 1);
}

/* Waits for the work item that tests fences; returns how many were tested since the last call. */
static u64 awaited_looked(struct pagoda_rig *rig)
{
	struct pagoda_mfences *mfences = rig->vidmm->mfences;
	u64 looked;

	flush_workqueue(mfences->wq);
	looked = mfences->looked;
	mfences->looked = 0;
	return looked;
}

static void awaited_by_client(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_client *other = pagoda_client_create(rig->vidmm);
	struct awaited_fence mine;
	struct awaited_fence *many = kunit_kcalloc(test, MANY, sizeof(*many), GFP_KERNEL);
	u32 i, ended = 0;

	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_ASSERT_NOT_NULL(test, many);
	for (i = 0; i < MANY; i++)
		awaited_begin(rig, other, &many[i]);
	awaited_begin(rig, rig->client, &mine);
	awaited_looked(rig);
	KUNIT_EXPECT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 1ull, awaited_looked(rig));
	KUNIT_EXPECT_EQ(test, 0u, mine.ended);
	awaited_store(&mine);
	for (i = 0; i < MANY; i += 2)
		awaited_store(&many[i]);
	KUNIT_EXPECT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 1ull, awaited_looked(rig));
	KUNIT_EXPECT_EQ(test, 1u, mine.ended);
	/* A report that names no client: awaited fences of all clients are tested, each once. */
	pagoda_mfences_changed(rig->vidmm, NULL);
	KUNIT_EXPECT_EQ(test, (u64)MANY, awaited_looked(rig));
	for (i = 0; i < MANY; i++)
		ended += many[i].ended;
	KUNIT_EXPECT_EQ(test, (MANY + 1) / 2, ended);
	pagoda_mfences_changed(rig->vidmm, other->account);
	KUNIT_EXPECT_EQ(test, (u64)MANY / 2, awaited_looked(rig));
	for (i = 0; i < MANY; i++)
		awaited_fini(&many[i]);
	awaited_fini(&mine);
	KUNIT_EXPECT_TRUE(test, list_empty(&other->awaited.fences));
	pagoda_client_put(other);
	submit_client_end(client);
}

static struct kunit_case awaited_cases[] = {
	KUNIT_CASE(awaited_by_client),
	{}
};

static struct kunit_suite awaited_suite = {
	.name = "pagoda_awaited",
	.test_cases = awaited_cases,
};

kunit_test_suite(awaited_suite);
