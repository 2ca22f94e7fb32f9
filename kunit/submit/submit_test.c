// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of submission on the rig: programs are executed through the page tables, on memory that the
 * driver has brought to where the programs need it; faults and hangs, save areas, implicit order.
 */
#include <kunit/static_stub.h>
#include <linux/delay.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include "queue/exec_helpers.h"
#include "submit_helpers.h"

#define HERE	SZ_4M
#define CPU	DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define CACHED	DRM_PAGODA_ALLOCATION_CACHED

/* A job without commands completes on the context's engine only; the context's state counts it. */
static void submit_nothing(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 1);
	struct drm_pagoda_context_state state;

	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 1ull, client->number);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 0u, rig->engines[0].executed);
	KUNIT_EXPECT_EQ(test, 1u, rig->engines[1].executed);
	state = submit_state(client);
	KUNIT_EXPECT_EQ(test, 0u, state.state);
	KUNIT_EXPECT_EQ(test, 1ull, state.submitted);
	KUNIT_EXPECT_EQ(test, 1ull, state.completed);
	submit_client_end(client);
}

/*
 * In VRAM and the aperture, for each kind of pages: an allocation has the value that a job stored
 * after the job's fence has signalled, and after a move to system memory.
 */
static void submit_stores_anywhere(struct kunit *test)
{
	static const struct {
		u32 flags;
		u32 supported;
	} kinds[] = {
		{ CPU | CACHED, SUBMIT_VRAM },
		{ CPU, SUBMIT_VRAM },
		{ 0, SUBMIT_VRAM },
		{ CPU | CACHED, SUBMIT_APERTURE },
		{ CPU, SUBMIT_APERTURE },
		{ CPU | DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY, SUBMIT_APERTURE },
	};
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		u64 at = HERE + i * SZ_2M;
		struct submit_args args = {
			.bos = { pagoda_rig_bo(rig, 3, kinds[i].flags, kinds[i].supported, 0) },
			.nr_bos = 1,
		};
		struct pagoda_bo *bo = args.bos[0];

		KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, at));
		submit_store(client, at + 2 * PAGE_SIZE + 8, 0x1234567800000000ull + i);
		submit_store(client, at + 16, i + 1);
		submit_compare(client, at + 2 * PAGE_SIZE + 8, 0x1234567800000000ull + i);
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
		KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
		KUNIT_EXPECT_EQ(test, 0x1234567800000000ull + i,
				submit_word(rig, bo, 2 * PAGE_SIZE + 8));
		KUNIT_EXPECT_EQ(test, i + 1ull, submit_word(rig, bo, 16));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
		pagoda_rig_settle(rig);
		KUNIT_EXPECT_EQ(test, 0x1234567800000000ull + i,
				submit_word(rig, bo, 2 * PAGE_SIZE + 8));
		submit_close(client, bo);
	}
	submit_client_end(client);
}

/*
 * A private allocation that was evicted is brought back by the next job, at the same virtual
 * address and with its content.
 */
static void submit_brings_private_back(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[4];
	u32 i, round;

	for (i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = submit_private(client, 4, SUBMIT_VRAM, HERE + i * SZ_64K);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < ARRAY_SIZE(bos); i++) {
			u64 at = HERE + i * SZ_64K + PAGE_SIZE;

			submit_compare(client, at, round ? round * 100 + i : 0);
			submit_store(client, at, (round + 1) * 100 + i);
		}
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
		PAGODA_PROVES(C140);
		KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
		for (i = 0; i < ARRAY_SIZE(bos); i++) {
			KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, bos[i]->ttm.resource->mem_type);
			KUNIT_EXPECT_EQ(test, (round + 1) * 100ull + i,
					submit_word(rig, bos[i], PAGE_SIZE));
			if (i != round)
				KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[i]));
		}
	}
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		submit_close(client, bos[i]);
	submit_client_end(client);
}

static u32 submit_flushes(struct pagoda_rig *rig, u32 space)
{
	u32 i, count = 0;

	for (i = 0; i < rig->nr_log; i++)
		count += rig->log[i].opcode == VIRTIO_PAGODA_OP_FLUSH_TLB &&
			 rig->log[i].generation == space;
	return count;
}

/*
 * However many private allocations a job brings back, the entries of all change together, with one
 * flush of the VM's TLB.
 */
static void submit_rebinds_at_once(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[40];
	u32 i, before;

	for (i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = submit_private(client, 1, SUBMIT_VRAM, HERE + i * SZ_64K);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[i]));
	pagoda_rig_settle(rig);
	before = submit_flushes(rig, client->vm->id);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_LE(test, submit_flushes(rig, client->vm->id), before + 1);
	/* If nothing moved, a job leads to no paging operation. */
	pagoda_rig_settle(rig);
	before = rig->nr_log;
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, before, rig->nr_log);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		submit_close(client, bos[i]);
	submit_client_end(client);
}

/*
 * Allocations that exceed VRAM, of which each job lists three: a job finds in them the values that
 * earlier jobs stored.
 */
static void submit_overcommits(struct kunit *test, u32 percent)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	const u32 pages = 64, count = PAGODA_RIG_VRAM_PAGES * percent / 100 / pages;
	struct pagoda_bo **bos = kunit_kcalloc(test, count, sizeof(*bos), GFP_KERNEL);
	u64 *values = kunit_kcalloc(test, count, sizeof(*values), GFP_KERNEL);
	u32 i, job, seed = 0x5eed;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, seed);
	kunit_info(test, "seed %u, %u allocations", seed, count);
	for (i = 0; i < count; i++) {
		bos[i] = pagoda_rig_bo(rig, pages, CPU, SUBMIT_VRAM, 0);
		KUNIT_ASSERT_EQ(test, 0, submit_map(client, bos[i], HERE + i * SZ_2M));
	}
	for (job = 0; job < 200; job++) {
		struct submit_args args = { .nr_bos = 3 };
		u32 first = prandom_u32_state(&rnd) % (count - 2);

		for (i = 0; i < args.nr_bos; i++) {
			u64 at = HERE + (first + i) * SZ_2M + (first + i) * 8;

			args.bos[i] = bos[first + i];
			submit_compare(client, at, values[first + i]);
			values[first + i] = (u64)job << 32 | (first + i + 1);
			submit_store(client, at, values[first + i]);
		}
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	}
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	for (i = 0; i < count; i++)
		KUNIT_EXPECT_EQ(test, values[i], submit_word(rig, bos[i], i * 8));
	KUNIT_EXPECT_EQ(test, 0u, submit_state(client).state);
	for (i = 0; i < count; i++)
		submit_close(client, bos[i]);
	submit_client_end(client);
}

static void submit_overcommits_by_half(struct kunit *test)
{
	submit_overcommits(test, 150);
}

static void submit_overcommits_three_times(struct kunit *test)
{
	submit_overcommits(test, 300);
}

/*
 * Private allocations of a VM exceed VRAM: those that find no room are used in the aperture, and
 * each job finds the values that the job before stored.
 */
static void submit_spills_private(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[24];
	u32 i, round, inside = 0;

	for (i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = submit_private(client, 64, SUBMIT_VRAM | SUBMIT_APERTURE,
					HERE + i * SZ_2M);
	for (round = 1; round < 4; round++) {
		for (i = 0; i < ARRAY_SIZE(bos); i++) {
			u64 at = HERE + i * SZ_2M + 40 * PAGE_SIZE;

			submit_compare(client, at, round == 1 ? 0 : round - 1);
			submit_store(client, at, round);
		}
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
		KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[round]));
	}
	for (i = 0; i < ARRAY_SIZE(bos); i++) {
		KUNIT_EXPECT_EQ(test, 3ull, submit_word(rig, bos[i], 40 * PAGE_SIZE));
		inside += bos[i]->ttm.resource->mem_type == TTM_PL_VRAM;
		submit_close(client, bos[i]);
	}
	KUNIT_EXPECT_GE(test, inside, 12u);
	submit_client_end(client);
}

/*
 * Private allocations of a VM that exceed VRAM make room for the page tables that map them: a job's
 * stores reach the allocations.
 */
static void submit_makes_room_for_tables(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	const u32 count = PAGODA_RIG_VRAM_PAGES + 100;
	struct pagoda_bo **bos = kunit_kcalloc(test, count, sizeof(*bos), GFP_KERNEL);
	u32 i;

	for (i = 0; i < count; i++)
		bos[i] = submit_private(client, 1, SUBMIT_VRAM | SUBMIT_APERTURE,
					HERE + i * SZ_64K);
	for (i = 0; i < count; i += 50)
		submit_store(client, HERE + i * SZ_64K, i + 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	for (i = 0; i < count; i += 50)
		KUNIT_EXPECT_EQ(test, i + 1ull, submit_word(rig, bos[i], 0));
	for (i = 0; i < count; i++)
		submit_close(client, bos[i]);
	submit_client_end(client);
}

/*
 * A job whose allocations, which support VRAM only, don't fit together is refused with -ENOMEM, and
 * no engine gets the job.
 */
static void submit_refuses_what_doesnt_fit(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct submit_args args = {
		.bos = {
			pagoda_rig_bo(rig, 600, 0, SUBMIT_VRAM, 0),
			pagoda_rig_bo(rig, 600, 0, SUBMIT_VRAM, 0),
		},
		.nr_bos = 2,
	};
	u32 i;

	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, 0, submit_map(client, args.bos[i], HERE + i * SZ_4M));
	submit_store(client, HERE, 1);
	PAGODA_PROVES(C159);
	KUNIT_EXPECT_EQ(test, -ENOMEM, submit_job(client, &args));
	KUNIT_EXPECT_EQ(test, 0u, rig->engines[0].executed);
	KUNIT_EXPECT_EQ(test, 0ull, submit_state(client).submitted);
	/* The first allocation alone fits. */
	args.nr_bos = 1;
	submit_store(client, HERE, 2);
	KUNIT_EXPECT_EQ(test, 0, submit_job(client, &args));
	KUNIT_EXPECT_EQ(test, 1ull, client->number);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 2ull, submit_word(rig, args.bos[0], 0));
	for (i = 0; i < 2; i++)
		submit_close(client, args.bos[i]);
	submit_client_end(client);
}

/*
 * A job waits for another client's job that writes an allocation which both jobs list as implicit.
 * A job that lists the allocation without that flag doesn't wait.
 */
static void submit_syncs_implicitly(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *writer = submit_client(rig, 1);
	struct submit_client *reader = submit_client(rig, 0), *other = submit_client(rig, 0);
	struct submit_args args = {
		.bos = { pagoda_rig_bo(rig, 1, CPU, SUBMIT_VRAM, 0) },
		.flags = { DRM_PAGODA_SUBMIT_IMPLICIT | DRM_PAGODA_SUBMIT_WRITE },
		.nr_bos = 1,
	};
	struct pagoda_bo *bo = args.bos[0];

	KUNIT_ASSERT_EQ(test, 0, submit_map(writer, bo, HERE));
	KUNIT_ASSERT_EQ(test, 0, submit_map(reader, bo, HERE));
	pagoda_rig_hold(rig, 1, true);
	submit_store(writer, HERE, 8);
	KUNIT_ASSERT_EQ(test, 0, submit_job(writer, &args));
	args.flags[0] = DRM_PAGODA_SUBMIT_IMPLICIT;
	submit_compare(reader, HERE, 8);
	KUNIT_ASSERT_EQ(test, 0, submit_job(reader, &args));
	args.flags[0] = 0;
	KUNIT_ASSERT_EQ(test, 0, submit_empty(other, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(other));
	KUNIT_EXPECT_EQ(test, 1u, rig->engines[0].executed);
	pagoda_rig_hold(rig, 1, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(reader));
	KUNIT_EXPECT_EQ(test, 2u, rig->engines[0].executed);
	pagoda_vm_forget(writer->vm, bo);
	submit_close(reader, bo);
	submit_client_end(other);
	submit_client_end(reader);
	submit_client_end(writer);
}

/*
 * A fault bans only the context that caused it, and the context's state says where the fault was.
 * Jobs of another context on that engine are executed.
 */
static void submit_fault_costs_the_guilty(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *good = submit_client(rig, 0), *bad = submit_client(rig, 0);
	struct submit_args args = {
		.bos = { pagoda_rig_bo(rig, 1, CPU, SUBMIT_VRAM | SUBMIT_APERTURE, 0) },
		.nr_bos = 1,
	};
	struct pagoda_bo *secret = submit_private(good, 1, SUBMIT_VRAM, HERE);
	struct pagoda_bo *absent = pagoda_rig_bo(rig, 1, CPU, SUBMIT_VRAM, 0);
	struct drm_pagoda_context_state state;
	u64 command;

	KUNIT_ASSERT_EQ(test, 0, submit_map(bad, args.bos[0], HERE));
	KUNIT_ASSERT_EQ(test, 0, submit_map(bad, absent, HERE + SZ_2M));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(absent));
	pagoda_rig_hold(rig, 0, true);
	submit_store(good, HERE, 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(good, NULL));
	submit_store(bad, HERE, 1);
	command = SUBMIT_CODE + bad->used;
	submit_store(bad, HERE + SZ_2M + 8, 2);
	submit_store(bad, HERE, 3);
	KUNIT_ASSERT_EQ(test, 0, submit_job(bad, &args));
	submit_store(bad, HERE, 4);
	KUNIT_ASSERT_EQ(test, 0, submit_job(bad, &args));
	submit_add(good, HERE, 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(good, NULL));
	pagoda_rig_hold(rig, 0, false);

	KUNIT_EXPECT_EQ(test, 0, submit_wait(good));
	KUNIT_EXPECT_EQ(test, -ECANCELED, submit_wait(bad));
	PAGODA_PROVES(C158);
	KUNIT_EXPECT_EQ(test, 2ull, submit_word(rig, secret, 0));
	KUNIT_EXPECT_EQ(test, 1ull, submit_word(rig, args.bos[0], 0));
	KUNIT_EXPECT_EQ(test, 0u, submit_state(good).state);
	state = submit_state(bad);
	KUNIT_EXPECT_EQ(test, (u32)(DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_FAULTED),
			state.state);
	KUNIT_EXPECT_EQ(test, 2ull, state.completed);
	KUNIT_EXPECT_EQ(test, 1ull, state.job);
	PAGODA_PROVES(C95);
	KUNIT_EXPECT_EQ(test, HERE + SZ_2M + 8ull, state.address);
	KUNIT_EXPECT_EQ(test, command, state.command);
	KUNIT_EXPECT_EQ(test, (u32)VIRTIO_PAGODA_FAULT_INVALID_ENTRY, state.reason);
	KUNIT_EXPECT_EQ(test, (u32)VIRTIO_PAGODA_ACCESS_WRITE, state.access);
	KUNIT_EXPECT_EQ(test, -ECANCELED, submit_empty(bad, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_empty(good, NULL));
	submit_close(good, secret);
	submit_close(bad, absent);
	submit_close(bad, args.bos[0]);
	submit_client_end(bad);
	submit_client_end(good);
}

/* Waits until engine 0, which is held, has at least @nr jobs. */
static void submit_wait_ring(struct pagoda_rig *rig, u32 nr)
{
	while (READ_ONCE(rig->engines[0].nr_ring) < nr)
		fsleep(100);
}

/* A job that never ends is stopped with -ETIME; the next job on the engine is executed. */
static void submit_hang_costs_the_guilty(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *good = submit_client(rig, 0), *bad = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(good, 1, SUBMIT_VRAM, HERE);

	pagoda_rig_hold(rig, 0, true);
	submit_forever(bad);
	KUNIT_ASSERT_EQ(test, 0, submit_job(bad, NULL));
	submit_store(good, HERE, 77);
	KUNIT_ASSERT_EQ(test, 0, submit_job(good, NULL));
	submit_wait_ring(rig, 2);
	pagoda_rig_hold(rig, 0, false);
	while (!READ_ONCE(rig->engines[0].running))
		fsleep(100);
	/* Don't wait for the watchdog: on a slow machine a short timeout could hit other jobs. */
	KUNIT_EXPECT_TRUE(test, pagoda_test_engine_expire(rig->vidmm->engines, 0, NULL));
	KUNIT_EXPECT_EQ(test, -ETIME, submit_wait(bad));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(good));
	KUNIT_EXPECT_EQ(test, 77ull, submit_word(rig, bo, 0));
	KUNIT_EXPECT_EQ(test, (u32)(DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_HUNG),
			submit_state(bad).state);
	KUNIT_EXPECT_EQ(test, 1ull, submit_state(bad).job);
	KUNIT_EXPECT_EQ(test, 0u, submit_state(good).state);
	submit_close(good, bo);
	submit_client_end(bad);
	submit_client_end(good);
}

/* What a job uses is moved only after the job is done. */
static void submit_keeps_what_runs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(client, 2, SUBMIT_VRAM, HERE);
	struct pagoda_bo *save = submit_save_area(client);
	unsigned long start;

	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	start = save->ttm.resource->start;
	pagoda_rig_hold(rig, 0, true);
	submit_store(client, HERE, 5);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	/*
	 * The eviction is queued, and its copy waits for the job. Not tried in CPU_VIRTUAL mode, in
	 * which the eviction itself would wait.
	 */
	if (pagoda_mmu_mode(rig->vidmm->mmu) != VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL)
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	PAGODA_PROVES(C85);
	dma_resv_lock(pagoda_vm_resv(client->vm), NULL);
	KUNIT_EXPECT_FALSE(test, pagoda_vm_may_evict(save, false));
	dma_resv_unlock(pagoda_vm_resv(client->vm));
	KUNIT_EXPECT_EQ(test, start, save->ttm.resource->start);
	pagoda_rig_hold(rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 5ull, submit_word(rig, bo, 0));
	dma_resv_lock(pagoda_vm_resv(client->vm), NULL);
	KUNIT_EXPECT_TRUE(test, pagoda_vm_may_evict(save, false));
	dma_resv_unlock(pagoda_vm_resv(client->vm));
	submit_close(client, bo);
	submit_client_end(client);
}

/* A save area stays in place while a job of its context runs, even if the context is destroyed. */
static void submit_save_area_outlives(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *save = submit_save_area(client);
	struct dma_resv *resv = pagoda_vm_resv(client->vm);

	drm_gem_object_get(pagoda_bo_gem(save));
	pagoda_rig_hold(rig, 0, true);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	/* Until the engine has the job, destroying the context would cancel the job. */
	submit_wait_ring(rig, 1);
	pagoda_context_destroy(client->context);
	client->context = NULL;
	PAGODA_PROVES(C85);
	dma_resv_lock(resv, NULL);
	KUNIT_EXPECT_FALSE(test, pagoda_vm_may_evict(save, true));
	dma_resv_unlock(resv);
	pagoda_rig_hold(rig, 0, false);
	dma_resv_wait_timeout(resv, DMA_RESV_USAGE_BOOKKEEP, false, MAX_SCHEDULE_TIMEOUT);
	dma_resv_lock(resv, NULL);
	KUNIT_EXPECT_TRUE(test, pagoda_vm_may_evict(save, false));
	dma_resv_unlock(resv);
	drm_gem_object_put(pagoda_bo_gem(save));
	submit_client_end(client);
}

/*
 * There are no engines if the CPU executes paging buffers: the device's engines would use an
 * aperture without mappings, and translations that were never flushed.
 */
static void submit_needs_the_device(struct kunit *test)
{
	const struct pagoda_rig_options options = { .by_cpu = true, .engines = true };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);

	KUNIT_EXPECT_FALSE(test, pagoda_vidmm_has_engines(rig->vidmm));
}

/* Registers keep their values in the save area, wherever it is moved between two jobs. */
static void submit_save_area_moves(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(client, 1, SUBMIT_VRAM, HERE);
	struct pagoda_bo *save = submit_save_area(client);
	u32 i;

	for (i = 0; i < 4; i++) {
		submit_count(client, 2, HERE);
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
		KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
		PAGODA_PROVES(C82);
		KUNIT_EXPECT_EQ(test, i + 1ull, submit_word(rig, bo, 0));
		KUNIT_ASSERT_EQ(test, 0, i & 1 ? pagoda_rig_to_system(save) :
						 pagoda_rig_to_aperture(save, false));
	}
	submit_close(client, bo);
	submit_client_end(client);
}

#define THOUSANDS_QUEUED	1000

/* Thousands of jobs of one context are executed, each once and in order. */
static void submit_thousands(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(client, 1, SUBMIT_VRAM, HERE);
	u32 i;

	for (i = 0; i < 3000; i++) {
		submit_compare(client, HERE, i);
		submit_add(client, HERE, 1);
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
		/*
		 * Wait at times, because a context may have only so many jobs queued, and a machine
		 * with one processor submits faster than it executes.
		 */
		if (i % THOUSANDS_QUEUED == THOUSANDS_QUEUED - 1)
			KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	}
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 3000ull, client->number);
	KUNIT_EXPECT_EQ(test, 3000ull, submit_word(rig, bo, 0));
	KUNIT_EXPECT_EQ(test, 3000ull, submit_state(client).completed);
	submit_close(client, bo);
	submit_client_end(client);
}

/* A private allocation is usable only in its VM, whose reservation it shares. */
static void submit_private_stays_private(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0), *other = submit_client(rig, 1);
	struct pagoda_bo *bo = submit_private(client, 1, SUBMIT_VRAM, HERE);

	KUNIT_EXPECT_TRUE(test, pagoda_bo_is_usable_in(bo, client->vm));
	KUNIT_EXPECT_FALSE(test, pagoda_bo_is_usable_in(bo, other->vm));
	KUNIT_EXPECT_PTR_EQ(test, bo->ttm.base.resv, pagoda_vm_resv(client->vm));
	/* An allocation that is still open outlives its VM. */
	pagoda_vm_forget(client->vm, bo);
	submit_client_end(client);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_close(bo);
	submit_client_end(other);
}

/* ---- Implicit order, pair by pair --------------------------------------------------- */

#define NOT_IMPLICIT	0u
#define READS		DRM_PAGODA_SUBMIT_IMPLICIT
#define WRITES		(DRM_PAGODA_SUBMIT_IMPLICIT | DRM_PAGODA_SUBMIT_WRITE)

/* How two successive jobs use an allocation, and whether the second waits for the first. */
static const struct submit_pair {
	const char *name;
	u32 first;
	u32 second;
	bool waits;
} submit_pairs[] = {
	{ "write, read", WRITES, READS, true },
	{ "write, write", WRITES, WRITES, true },
	{ "read, write", READS, WRITES, true },
	{ "read, read", READS, READS, false },
	{ "write, any", WRITES, NOT_IMPLICIT, false },
	{ "read, any", READS, NOT_IMPLICIT, false },
	{ "any, read", NOT_IMPLICIT, READS, false },
	{ "any, write", NOT_IMPLICIT, WRITES, false },
	{ "only says that it writes, read", DRM_PAGODA_SUBMIT_WRITE, READS, false },
};

static u32 submit_executed(struct pagoda_rig *rig, u32 engine)
{
	u32 executed;

	spin_lock_irq(&rig->engines[engine].lock);
	executed = rig->engines[engine].executed;
	spin_unlock_irq(&rig->engines[engine].lock);
	return executed;
}

/*
 * Expects the second job to be executed while the engine of the first job is held, or not to be if
 * @pair says that the second job waits for the first.
 */
static void submit_try_pair(struct submit_client *first, struct submit_client *second,
			    struct pagoda_bo *bo, const struct submit_pair *pair)
{
	struct submit_args args = { .bos = { bo }, .flags = { pair->first }, .nr_bos = 1 };
	struct pagoda_rig *rig = first->rig;
	u32 before = submit_executed(rig, 0);
	u32 i;

	pagoda_rig_hold(rig, 1, true);
	KUNIT_ASSERT_EQ(rig->test, 0, submit_empty(first, &args));
	args.flags[0] = pair->second;
	KUNIT_ASSERT_EQ(rig->test, 0, submit_empty(second, &args));
	if (!pair->waits)
		KUNIT_EXPECT_EQ_MSG(rig->test, 0, submit_wait(second), "%s", pair->name);
	for (i = 0; i < 20 && pair->waits; i++)
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_EQ_MSG(rig->test, before + !pair->waits, submit_executed(rig, 0), "%s",
			    pair->name);
	pagoda_rig_hold(rig, 1, false);
	KUNIT_EXPECT_EQ_MSG(rig->test, 0, submit_wait(first), "%s", pair->name);
	KUNIT_EXPECT_EQ_MSG(rig->test, 0, submit_wait(second), "%s", pair->name);
}

/* Of two successive jobs the second waits for the first exactly if submit_pairs says so. */
static void submit_orders_pairs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *first = submit_client(rig, 1), *second = submit_client(rig, 0);
	struct pagoda_bo *bo;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(submit_pairs); i++) {
		bo = pagoda_rig_bo(rig, 1, CPU, SUBMIT_VRAM, 0);
		submit_try_pair(first, second, bo, &submit_pairs[i]);
		pagoda_rig_close(bo);
	}
	submit_client_end(second);
	submit_client_end(first);
}

/* GEM object for whose mappings submit_collects_one() has no memory. */
static struct drm_gem_object *submit_obj;

/* Stub of pagoda_rebind_add(): fails for one allocation, and collects no mappings of others. */
static int submit_collects_one(struct pagoda_rebind *rebind, struct drm_gpuvm_bo *vm_bo)
{
	return vm_bo->obj == submit_obj ? -ENOMEM : 0;
}

/*
 * SUBMIT fails if there is no memory to make mappings of a listed allocation valid, be it the first
 * or the last one.
 */
static void submit_needs_all_mappings(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct submit_args args = { .nr_bos = 2 };
	u32 i;

	for (i = 0; i < args.nr_bos; i++) {
		args.bos[i] = pagoda_rig_bo(rig, 1, CPU, SUBMIT_VRAM, 0);
		KUNIT_ASSERT_EQ(test, 0, submit_map(client, args.bos[i], HERE + i * SZ_2M));
	}
	kunit_activate_static_stub(test, pagoda_rebind_add, submit_collects_one);
	for (i = 0; i < args.nr_bos; i++) {
		submit_obj = pagoda_bo_gem(args.bos[i]);
		KUNIT_EXPECT_EQ_MSG(test, -ENOMEM, submit_empty(client, &args), "allocation %u", i);
	}
	kunit_deactivate_static_stub(test, pagoda_rebind_add);
	for (i = 0; i < args.nr_bos; i++)
		submit_store(client, HERE + i * SZ_2M, 5 + i);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	for (i = 0; i < args.nr_bos; i++) {
		KUNIT_EXPECT_EQ(test, 5ull + i, submit_word(rig, args.bos[i], 0));
		submit_close(client, args.bos[i]);
	}
	submit_client_end(client);
}

static struct kunit_case submit_cases[] = {
	KUNIT_CASE_PARAM(submit_nothing, pagoda_rig_modes),
	KUNIT_CASE_PARAM(submit_stores_anywhere, pagoda_rig_modes),
	KUNIT_CASE_PARAM(submit_brings_private_back, pagoda_rig_modes),
	KUNIT_CASE_PARAM(submit_rebinds_at_once, pagoda_rig_update_modes),
	KUNIT_CASE(submit_needs_all_mappings),
	KUNIT_CASE_PARAM(submit_overcommits_by_half, pagoda_rig_modes),
	KUNIT_CASE(submit_overcommits_three_times),
	KUNIT_CASE(submit_spills_private),
	KUNIT_CASE_SLOW(submit_makes_room_for_tables),
	KUNIT_CASE(submit_refuses_what_doesnt_fit),
	KUNIT_CASE(submit_syncs_implicitly),
	KUNIT_CASE(submit_orders_pairs),
	KUNIT_CASE_PARAM(submit_fault_costs_the_guilty, pagoda_rig_modes),
	KUNIT_CASE(submit_hang_costs_the_guilty),
	KUNIT_CASE_PARAM(submit_keeps_what_runs, pagoda_rig_update_modes),
	KUNIT_CASE(submit_save_area_outlives),
	KUNIT_CASE(submit_needs_the_device),
	KUNIT_CASE_PARAM(submit_save_area_moves, pagoda_rig_modes),
	KUNIT_CASE_SLOW(submit_thousands),
	KUNIT_CASE(submit_private_stays_private),
	{ }
};

static struct kunit_suite submit_suite = {
	.name = "pagoda_submit",
	.test_cases = submit_cases,
};

kunit_test_suite(submit_suite);
