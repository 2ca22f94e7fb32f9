// SPDX-License-Identifier: GPL-2.0
/*
 * VMs whose own allocations fill VRAM: page tables of the VM find room, and a job whose allocations
 * would fit into empty VRAM is executed, wherever the allocations are at SUBMIT, and although jobs
 * of other VMs are in flight.
 */
#include <linux/kthread.h>
#include <linux/sizes.h>
#include "submit/submit_helpers.h"

#define HERE	SZ_4M
#define FAR	((u64)SZ_2G)
#define EITHER	(SUBMIT_VRAM | SUBMIT_APERTURE)
#define PAGES	64u
#define LIMIT	(30 * HZ)

struct room_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct submit_client *client;
	struct pagoda_bo *bos[64];
	u32 count;
	struct pagoda_bo *shown;
};

static struct room_test room_make(struct kunit *test)
{
	struct room_test t = { .test = test, .rig = submit_rig(test) };

	t.client = submit_client(t.rig, 0);
	t.shown = pagoda_rig_bo(t.rig, 1, 0, SUBMIT_APERTURE, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(t.shown, false));
	return t;
}

static u64 room_at(u32 index)
{
	return HERE + (u64)index * SZ_2M;
}

static void room_add(struct room_test *t, u32 count, u32 supported)
{
	for (; count; count--, t->count++)
		t->bos[t->count] = submit_private(t->client, PAGES, supported, room_at(t->count));
}

static void room_drop(struct room_test *t, u32 index)
{
	if (!t->bos[index])
		return;
	submit_close(t->client, t->bos[index]);
	t->bos[index] = NULL;
}

static void room_end(struct room_test *t)
{
	while (t->count)
		room_drop(t, --t->count);
	pagoda_vm_forget(t->client->vm, t->shown);
	submit_client_end(t->client);
	pagoda_rig_close(t->shown);
}

/*
 * Submits a job that expects in each allocation what the last job stored, @before plus the
 * allocation's index, or 0 if @before is 0, and stores @after plus the index. Returns SUBMIT's
 * result.
 */
static int room_job(struct room_test *t, u64 before, u64 after)
{
	u32 i;

	for (i = 0; i < t->count; i++) {
		u64 at = room_at(i) + 8 * i;

		if (!t->bos[i])
			continue;
		submit_compare(t->client, at, before ? before + i : 0);
		submit_store(t->client, at, after + i);
	}
	return submit_job(t->client, NULL);
}

static void room_expect_run(struct room_test *t, u64 before, u64 after)
{
	KUNIT_ASSERT_EQ(t->test, 0, room_job(t, before, after));
	KUNIT_EXPECT_EQ(t->test, 0, submit_wait(t->client));
	KUNIT_EXPECT_EQ(t->test, 0u, submit_state(t->client).state);
}

static u32 room_in_vram(struct room_test *t)
{
	u32 i, pages = 0;

	for (i = 0; i < t->count; i++)
		if (t->bos[i] && t->bos[i]->ttm.resource->mem_type == TTM_PL_VRAM)
			pages += PFN_UP(t->bos[i]->ttm.base.size);
	return pages;
}

/* Maps @t->shown at 60 addresses so far from each other that each needs page tables of its own. */
static void room_bind_far(struct room_test *t)
{
	u32 i;

	for (i = 0; i < 60; i++)
		KUNIT_ASSERT_EQ(t->test, 0, submit_map(t->client, t->shown, FAR + i * (u64)SZ_1G));
}

/*
 * VM_BIND finds room for page tables although a job that was refused left VRAM full of allocations
 * that support VRAM only. When some of these are closed, the others are intact.
 */
static void room_for_binds_beside_choosy(struct kunit *test)
{
	struct room_test t = room_make(test);
	u32 i;

	room_add(&t, 12, SUBMIT_VRAM);
	room_expect_run(&t, 0, 100);
	room_add(&t, 36, SUBMIT_VRAM);
	KUNIT_EXPECT_EQ(test, -ENOMEM, room_job(&t, 100, 200));
	KUNIT_EXPECT_LT(test, PAGODA_RIG_VRAM_PAGES - 2 * PAGES, room_in_vram(&t));
	room_bind_far(&t);
	for (i = 12; i < 48; i++)
		room_drop(&t, i);
	t.client->used = t.client->start;
	room_expect_run(&t, 100, 200);
	room_end(&t);
}

/*
 * VM_BIND finds room for page tables in a VRAM full of allocations that also support the aperture,
 * and that are three times as large as VRAM together.
 */
static void room_for_binds_beside_others(struct kunit *test)
{
	struct room_test t = room_make(test);

	room_add(&t, 48, EITHER);
	room_expect_run(&t, 0, 100);
	KUNIT_EXPECT_LT(test, PAGODA_RIG_VRAM_PAGES - 2 * PAGES, room_in_vram(&t));
	room_bind_far(&t);
	/* Only a few allocations were evicted for the page tables. */
	KUNIT_EXPECT_LT(test, PAGODA_RIG_VRAM_PAGES - 6 * PAGES, room_in_vram(&t));
	room_expect_run(&t, 100, 200);
	room_end(&t);
}

/* Allocations that also support the aperture make room for those that support VRAM only. */
static void room_for_choosy(struct kunit *test)
{
	struct room_test t = room_make(test);

	room_add(&t, 20, EITHER);
	room_expect_run(&t, 0, 100);
	KUNIT_EXPECT_LT(test, PAGODA_RIG_VRAM_PAGES - 2 * PAGES, room_in_vram(&t));
	room_add(&t, 12, SUBMIT_VRAM);
	submit_store(t.client, room_at(31), 7);
	KUNIT_ASSERT_EQ(test, 0, submit_job(t.client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(t.client));
	KUNIT_EXPECT_EQ(test, 7ull, submit_word(t.rig, t.bos[31], 0));
	KUNIT_EXPECT_EQ(test, 119ull, submit_word(t.rig, t.bos[19], 8 * 19));
	room_end(&t);
}

/*
 * Of the allocations of a list those that the GPU can use only in VRAM are brought to VRAM first,
 * contiguous ones before the others.
 */
static void room_order(struct kunit *test)
{
	const u32 contiguous = DRM_PAGODA_ALLOCATION_CONTIGUOUS;
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bos[] = {
		pagoda_rig_bo(rig, 1, contiguous, SUBMIT_VRAM, 0),
		pagoda_rig_bo(rig, 1, 0, SUBMIT_VRAM, 0),
		pagoda_rig_bo(rig, 1, 0, EITHER, 0),
		pagoda_rig_bo(rig, 1, contiguous, EITHER, 0),
	};
	u32 i;

	KUNIT_EXPECT_LT(test, pagoda_room_rank(bos[0]), pagoda_room_rank(bos[1]));
	KUNIT_EXPECT_LT(test, pagoda_room_rank(bos[1]), pagoda_room_rank(bos[2]));
	KUNIT_EXPECT_EQ(test, pagoda_room_rank(bos[2]), pagoda_room_rank(bos[3]));
	KUNIT_EXPECT_LT(test, pagoda_room_rank(bos[3]), PAGODA_ROOM_RANKS);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		pagoda_rig_close(bos[i]);
}

/*
 * VRAM has enough room for a contiguous allocation, but not in one range: SUBMIT places all
 * allocations of the job anew.
 */
static void room_in_one_piece(struct kunit *test)
{
	struct room_test t = room_make(test);
	const struct pagoda_bo_params params = {
		.size = 600 * PAGE_SIZE,
		.flags = DRM_PAGODA_ALLOCATION_CONTIGUOUS,
		.supported = SUBMIT_VRAM,
		.vm = t.client->vm,
		.uses = &t.client->vm->uses,
	};
	struct pagoda_bo *piece;
	u32 i;

	room_add(&t, 15, SUBMIT_VRAM);
	room_expect_run(&t, 0, 100);
	for (i = 0; i < t.count; i++)
		if (i % 3)
			room_drop(&t, i);
	pagoda_rig_settle(t.rig);
	piece = test_ok(test, pagoda_bo_create(t.rig->vidmm, t.rig->client, &params));
	KUNIT_ASSERT_EQ(test, 0, submit_map(t.client, piece, FAR));
	submit_store(t.client, FAR + 599 * PAGE_SIZE, 9);
	room_expect_run(&t, 100, 200);
	KUNIT_EXPECT_EQ(test, 9ull, submit_word(t.rig, piece, 599 * PAGE_SIZE));
	KUNIT_EXPECT_LE(test, 5 * PAGES, room_in_vram(&t));
	submit_close(t.client, piece);
	room_end(&t);
}

struct room_caller {
	struct submit_client *client;
	struct submit_args args;
	struct completion done;
	int ret;
};

static int room_call(void *data)
{
	struct room_caller *caller = data;

	caller->ret = submit_job(caller->client, &caller->args);
	complete(&caller->done);
	return 0;
}

/*
 * Page tables and save areas of other VMs stay in VRAM while a job of their VM is in flight (C123):
 * SUBMIT of a job that needs nearly all of VRAM waits for these jobs.
 */
static void room_others_are_waited_for(struct kunit *test)
{
	struct room_test t = room_make(test);
	struct submit_client *others[6];
	struct room_caller caller = {
		.client = t.client,
		.args = {
			.bos = { pagoda_rig_bo(t.rig, PAGODA_RIG_VRAM_PAGES - 30, 0,
				       SUBMIT_VRAM, 0) },
			.nr_bos = 1,
		},
	};
	struct pagoda_bo *all = caller.args.bos[0];
	const struct submit_args fenced = { .fenced = true };
	u32 i;

	init_completion(&caller.done);
	KUNIT_ASSERT_EQ(test, 0, submit_map(t.client, all, room_at(1)));
	pagoda_rig_hold(t.rig, 1, true);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = submit_client(t.rig, 1);
		KUNIT_ASSERT_EQ(test, 0, submit_empty(others[i], &fenced));
	}
	submit_store(t.client, room_at(1), 3);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(room_call, &caller, "pagoda-room-test")));
	schedule_timeout_uninterruptible(HZ / 10 ?: 1);
	PAGODA_PROVES(C85, C123);
	KUNIT_EXPECT_FALSE(test, completion_done(&caller.done));
	pagoda_rig_hold(t.rig, 1, false);
	KUNIT_ASSERT_NE(test, 0ul, wait_for_completion_timeout(&caller.done, LIMIT));
	KUNIT_ASSERT_EQ(test, 0, caller.ret);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(t.client));
	KUNIT_EXPECT_EQ(test, 3ull, submit_word(t.rig, all, 0));
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		KUNIT_EXPECT_EQ(test, 0, submit_wait(others[i]));
		submit_client_end(others[i]);
	}
	submit_close(t.client, all);
	room_end(&t);
}

static struct kunit_case room_cases[] = {
	KUNIT_CASE_PARAM(room_for_binds_beside_choosy, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(room_for_binds_beside_others, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(room_for_choosy, pagoda_rig_mmu_modes),
	KUNIT_CASE(room_order),
	KUNIT_CASE_PARAM(room_in_one_piece, pagoda_rig_mmu_modes),
	KUNIT_CASE(room_others_are_waited_for),
	{ }
};

static struct kunit_suite room_suite = {
	.name = "pagoda_room",
	.test_cases = room_cases,
};

kunit_test_suite(room_suite);
