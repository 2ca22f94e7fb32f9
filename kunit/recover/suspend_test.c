// SPDX-License-Identifier: GPL-2.0
/*
 * Sleeps of the machine, on the rig, which leave poison in VRAM that isn't preserved: no content is
 * lost but that of offered allocations, waiting work continues, and a sleep that is refused or
 * called off loses nothing. Also a device that doesn't wake, and resets together with a sleep.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sizes.h>
#include <drm/ttm/ttm_tt.h>
#include "../drivers/pagoda/queue/internal.h"
#include "queue/queue_helpers.h"
#include "residency/offer_helpers.h"
#include "segment/tiled_helpers.h"

#define HERE		SZ_4M
#define ELSEWHERE	SZ_8M
#define COUNTER		SZ_16M
#define PAGES		8
#define POISON		0x5a
#define LIMIT		(300 * HZ)

/* Takes the device's power away and back: all but the first @preserved bytes of VRAM is lost. */
static void suspend_power(struct pagoda_rig *rig, u64 preserved)
{
	pagoda_fake_transport_lose(rig->fake);
	pagoda_rig_engines_lose(rig);
	pagoda_engine_reset_adapter(&rig->engine, PAGODA_ENGINE_VRAM_KEEP);
	memset(rig->engine.vram + preserved, POISON, rig->engine.vram_size - preserved);
}

static u64 suspend_preserved(struct pagoda_rig *rig, enum pagoda_sleep kind)
{
	return kind == PAGODA_SLEEP_STANDBY ? rig->info.preserved_standby :
					      rig->info.preserved_hibernate;
}

/*
 * Has the device sleep after pagoda_vidmm_prepare_sleep(), lose its power, and wake. Expects that
 * VRAM is hidden from the CPU, and that the device gets no command, while the device sleeps.
 */
static void suspend_nap(struct pagoda_rig *rig, enum pagoda_sleep kind)
{
	u32 controls;

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_vidmm_sleep(rig->vidmm));
	controls = rig->fake->controls;
	suspend_power(rig, suspend_preserved(rig, kind));
	KUNIT_EXPECT_TRUE(rig->test, pagoda_reset_is_hidden(rig->vidmm));
	KUNIT_EXPECT_EQ(rig->test, controls, rig->fake->controls);
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_vidmm_wake(rig->vidmm, 0));
	KUNIT_EXPECT_FALSE(rig->test, pagoda_reset_is_hidden(rig->vidmm));
}

static void suspend_sleep(struct pagoda_rig *rig, enum pagoda_sleep kind)
{
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_vidmm_prepare_sleep(rig->vidmm, kind));
	suspend_nap(rig, kind);
	/* Hibernation wakes the device to write the image, then has it sleep again. */
	if (kind == PAGODA_SLEEP_HIBERNATE)
		suspend_nap(rig, kind);
	pagoda_vidmm_end_sleep(rig->vidmm);
}

/* Expects that no content was lost and that clients see no reset. */
static void suspend_expect_no_loss(struct pagoda_rig *rig)
{
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_reset_count(rig->vidmm));
	KUNIT_EXPECT_EQ(rig->test, 0, atomic64_read(&rig->vidmm->stats.lost));
	KUNIT_EXPECT_EQ(rig->test, 0, rig->fake->violations);
}

/* Returns an allocation in VRAM whose words are made from @seed. */
static struct pagoda_bo *suspend_bo(struct pagoda_rig *rig, u32 flags, u32 seed)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, flags, EITHER, 0);

	pagoda_rig_write_vram(rig, bo, seed);
	return bo;
}

static u32 suspend_copies(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	return pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id) +
	       pagoda_rig_count(rig, VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER, bo->id) +
	       pagoda_rig_count(rig, VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER, bo->id);
}

/* ---- Content ------------------------------------------------------------------- */

/*
 * Allocations without mappings keep their content, wherever they are, in one range or several, CPU
 * visible or not.
 */
static void suspend_keeps_content(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bos[] = {
		suspend_bo(rig, CPU, 0), suspend_bo(rig, 0, 1),
		suspend_bo(rig, DRM_PAGODA_ALLOCATION_CONTIGUOUS, 2),
		suspend_bo(rig, CPU | DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY, 3),
		suspend_bo(rig, CPU, 4), suspend_bo(rig, CPU, 5),
	};
	u32 i, round;

	for (round = 0; round < 3; round++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bos[3], true));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bos[4], false));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[5]));
		suspend_sleep(rig, round % 2 ? PAGODA_SLEEP_HIBERNATE : PAGODA_SLEEP_STANDBY);

		PAGODA_PROVES(C196);
		for (i = 0; i < ARRAY_SIZE(bos); i++) {
			KUNIT_EXPECT_FALSE(test, in_vram(bos[i]));
			KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i));
			KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bos[i]));
			KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i));
		}
	}
	suspend_expect_no_loss(rig);
	close_all(bos, ARRAY_SIZE(bos));
}

/* A tiled allocation keeps content that the CPU has written only to its swizzling window. */
static void suspend_keeps_tiles(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 1);

	KUNIT_ASSERT_TRUE(test, window_content(rig, bo, 2, true));
	suspend_sleep(rig, PAGODA_SLEEP_STANDBY);
	PAGODA_PROVES(C196);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 2));
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
	KUNIT_EXPECT_TRUE(test, window_content(rig, bo, 2, false));
	suspend_expect_no_loss(rig);
	pagoda_rig_close(bo);
}

struct suspend_late {
	struct delayed_work work;
	struct dma_fence *fence;
};

static void suspend_late_work(struct work_struct *work)
{
	struct suspend_late *late = container_of(to_delayed_work(work), struct suspend_late, work);

	dma_fence_signal(late->fence);
}

/*
 * An allocation that is closed and still used when the machine is to sleep is waited for, and not
 * copied out.
 */
static void suspend_keeps_nothing_dead(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct suspend_late late = { .fence = pagoda_test_fence(test) };
	struct pagoda_bo *bo = suspend_bo(rig, CPU, 1);
	u64 out;

	settle_moves(rig);
	out = atomic64_read(&rig->vidmm->stats.paged_out);
	make_busy(rig, bo, late.fence);
	pagoda_rig_close(bo);
	INIT_DELAYED_WORK_ONSTACK(&late.work, suspend_late_work);
	schedule_delayed_work(&late.work, HZ / 10);
	suspend_sleep(rig, PAGODA_SLEEP_STANDBY);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(late.fence));
	KUNIT_EXPECT_EQ(test, out, atomic64_read(&rig->vidmm->stats.paged_out));
	suspend_expect_no_loss(rig);
	flush_delayed_work(&late.work);
	destroy_delayed_work_on_stack(&late.work);
	dma_fence_put(late.fence);
}

/* After a sleep unused VRAM doesn't count as zeroed: a new allocation in VRAM reads as zeros. */
static void suspend_leaves_nothing_clean(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, CPU, SUBMIT_VRAM, 0);

	suspend_sleep(rig, PAGODA_SLEEP_STANDBY);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	suspend_expect_no_loss(rig);
	pagoda_rig_close(bo);
}

/* Mappings, registers in save areas, and a monitored fence's value survive sleeps. */
static void suspend_keeps_clients(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *mine = submit_private(client, PAGES, SUBMIT_VRAM, HERE);
	struct pagoda_bo *count = submit_private(client, 1, SUBMIT_VRAM, COUNTER);
	struct pagoda_bo *shared = suspend_bo(rig, CPU, 7);
	struct submit_args args = { .bos = { shared }, .nr_bos = 1 };
	struct pagoda_mfence *mfence = pagoda_mfence_create(rig->vidmm, rig->client, 0, 77);
	const struct pagoda_mfence_value next = { mfence, 78 };
	u64 *value;
	u32 round;

	KUNIT_ASSERT_FALSE(test, IS_ERR(mfence));
	KUNIT_ASSERT_EQ(test, 0, submit_map(client, shared, ELSEWHERE));
	submit_count(client, 3, COUNTER);
	submit_copy(client, ELSEWHERE, HERE, PAGES * PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	PAGODA_PROVES(C196);
	for (round = 2; round < 5; round++) {
		KUNIT_EXPECT_TRUE(test, in_vram(mine));
		suspend_sleep(rig, PAGODA_SLEEP_HIBERNATE);
		KUNIT_EXPECT_FALSE(test, in_vram(mine) || in_vram(shared));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, mine, 7));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, shared, 7));
		/* A job uses the same addresses, and counts on in the same register. */
		submit_count(client, 3, COUNTER);
		submit_store(client, ELSEWHERE, round);
		submit_copy(client, HERE, ELSEWHERE, PAGES * PAGE_SIZE);
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
		KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
		KUNIT_EXPECT_EQ(test, (u64)round, submit_word(rig, count, 0));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, shared, 7));
	}
	KUNIT_EXPECT_EQ(test, 0, submit_state(client).state);
	KUNIT_EXPECT_EQ(test, 0ull, submit_state(client).resets);
	value = page_address(pagoda_mfence_bo(mfence)->ttm.ttm->pages[0]);
	KUNIT_EXPECT_EQ(test, 77ull, *value);
	KUNIT_EXPECT_EQ(test, 0, pagoda_mfences_signal(rig->vidmm, &next, 1));
	suspend_expect_no_loss(rig);
	pagoda_mfence_put(mfence);
	pagoda_vm_forget(client->vm, shared);
	close_all((struct pagoda_bo *[]){ mine, count, shared }, 3);
	submit_client_end(client);
}

/*
 * Content of offered allocations in VRAM is discarded, not copied out; in system memory it stays.
 */
static void suspend_drops_offered(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *gone = suspend_bo(rig, CPU, 1), *kept = suspend_bo(rig, CPU, 2);
	struct pagoda_bo *system = suspend_bo(rig, CPU, 3);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(system));
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_EQ(test, 0, offer(rig, gone, DRM_PAGODA_OFFER_HIGH));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, system, DRM_PAGODA_OFFER_LOW));
	rig->nr_log = 0;
	suspend_sleep(rig, PAGODA_SLEEP_STANDBY);
	PAGODA_PROVES(C198);
	KUNIT_EXPECT_EQ(test, 0, suspend_copies(rig, gone));
	KUNIT_EXPECT_EQ(test, 1, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, gone->id));
	KUNIT_EXPECT_NE(test, 0, suspend_copies(rig, kept));
	KUNIT_EXPECT_EQ(test, (int)DRM_PAGODA_RECLAIM_DISCARDED, reclaim(rig, gone));
	KUNIT_EXPECT_EQ(test, (int)DRM_PAGODA_RECLAIM_OK, reclaim(rig, system));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, system, 3));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, kept, 2));
	suspend_expect_no_loss(rig);
	close_all((struct pagoda_bo *[]){ gone, kept, system }, 3);
}

/* Allocations in VRAM that the device preserves stay where they are, uncopied. */
static void suspend_preserves(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(client, PAGES, SUBMIT_VRAM, HERE);
	struct pagoda_bo *other = suspend_bo(rig, CPU, 2);
	u64 at;

	rig->info.preserved_standby = rig->info.vram_size;
	rig->info.preserved_hibernate = rig->info.vram_size;
	submit_store(client, HERE, 3);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	at = bo->ttm.resource->start;
	rig->nr_log = 0;
	suspend_sleep(rig, PAGODA_SLEEP_STANDBY);
	suspend_sleep(rig, PAGODA_SLEEP_HIBERNATE);
	PAGODA_PROVES(C197);
	KUNIT_EXPECT_EQ(test, 0, suspend_copies(rig, bo) + suspend_copies(rig, other));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, 0));
	KUNIT_EXPECT_TRUE(test, in_vram(bo) && in_vram(other));
	KUNIT_EXPECT_EQ(test, at, bo->ttm.resource->start);
	KUNIT_EXPECT_EQ(test, 3ull, submit_word(rig, bo, 0));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, other, 2));
	submit_add(client, HERE, 4);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 7ull, submit_word(rig, bo, 0));
	/* When the device preserves nothing, the allocations leave VRAM. */
	rig->info.preserved_hibernate = 0;
	suspend_sleep(rig, PAGODA_SLEEP_HIBERNATE);
	KUNIT_EXPECT_FALSE(test, in_vram(bo) || in_vram(other));
	KUNIT_EXPECT_EQ(test, 7ull, submit_word(rig, bo, 0));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, other, 2));
	suspend_expect_no_loss(rig);
	close_all((struct pagoda_bo *[]){ bo, other }, 2);
	submit_client_end(client);
}

/* If a part of VRAM is preserved, only allocations outside of that part leave. */
static void suspend_preserves_in_part(struct kunit *test)
{
	const struct ttm_place high = { .mem_type = TTM_PL_VRAM, .fpfn = 512 };
	const struct ttm_place low = { .mem_type = TTM_PL_VRAM, .lpfn = 256 };
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *stays = pagoda_rig_bo(rig, PAGES, CPU, EITHER, 0);
	struct pagoda_bo *leaves = pagoda_rig_bo(rig, PAGES, CPU, EITHER, 0);

	rig->info.preserved_standby = rig->info.vram_size;
	rig->info.preserved_hibernate = 512 * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(stays, &low, false));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(leaves, &high, false));
	pagoda_rig_write(rig, stays, 1);
	pagoda_rig_write(rig, leaves, 2);
	suspend_sleep(rig, PAGODA_SLEEP_HIBERNATE);
	PAGODA_PROVES(C196);
	KUNIT_EXPECT_TRUE(test, in_vram(stays));
	KUNIT_EXPECT_FALSE(test, in_vram(leaves));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, stays, 1));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, leaves, 2));
	suspend_expect_no_loss(rig);
	close_all((struct pagoda_bo *[]){ stays, leaves }, 2);
}

/* An allocation of which all but the last page is preserved leaves VRAM. */
static void suspend_preserves_whole_only(struct kunit *test)
{
	const struct ttm_place before = { .mem_type = TTM_PL_VRAM, .fpfn = 496, .lpfn = 504 };
	const struct ttm_place across = { .mem_type = TTM_PL_VRAM, .fpfn = 504, .lpfn = 512 };
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *stays = pagoda_rig_bo(rig, PAGES, CPU, EITHER, 0);
	struct pagoda_bo *leaves = pagoda_rig_bo(rig, PAGES, CPU, EITHER, 0);

	rig->info.preserved_standby = rig->info.vram_size;
	rig->info.preserved_hibernate = 511 * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(stays, &before, false));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(leaves, &across, false));
	pagoda_rig_write(rig, stays, 1);
	pagoda_rig_write(rig, leaves, 2);
	suspend_sleep(rig, PAGODA_SLEEP_HIBERNATE);
	PAGODA_PROVES(C196);
	KUNIT_EXPECT_TRUE(test, in_vram(stays));
	KUNIT_EXPECT_FALSE(test, in_vram(leaves));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, stays, 1));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, leaves, 2));
	suspend_expect_no_loss(rig);
	close_all((struct pagoda_bo *[]){ stays, leaves }, 2);
}

/* An allocation that fills VRAM but for the reserve keeps its content and its mappings. */
static void suspend_keeps_whole_vram(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig_reserve(test, 16);
	struct submit_client *client = submit_client(rig, 0);
	u32 round, pages = pagoda_vidmm_vram_size(rig->vidmm) >> PAGE_SHIFT;
	struct pagoda_bo *bo = submit_private(client, pages, SUBMIT_VRAM, HERE);
	u64 last = HERE + bo->ttm.base.size - sizeof(u64);

	for (round = 0; round < 3; round++) {
		submit_compare(client, last, round ? 6 + round : 0);
		submit_store(client, last, 7 + round);
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
		KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
		KUNIT_EXPECT_EQ(test, 0u, submit_state(client).state);
		KUNIT_EXPECT_TRUE(test, in_vram(bo));
		suspend_sleep(rig, round ? PAGODA_SLEEP_HIBERNATE : PAGODA_SLEEP_STANDBY);
		PAGODA_PROVES(C196);
		KUNIT_EXPECT_FALSE(test, in_vram(bo));
		KUNIT_EXPECT_EQ(test, 7ull + round,
				submit_word(rig, bo, bo->ttm.base.size - sizeof(u64)));
	}
	suspend_expect_no_loss(rig);
	submit_close(client, bo);
	submit_client_end(client);
}

/* ---- Jobs and sections ------------------------------------------------------------- */

struct suspend_caller {
	struct pagoda_rig *rig;
	struct completion done;
	int ret;
};

static int suspend_prepare_run(void *arg)
{
	struct suspend_caller *caller = arg;

	caller->ret = pagoda_vidmm_prepare_sleep(caller->rig->vidmm, PAGODA_SLEEP_STANDBY);
	complete(&caller->done);
	return 0;
}

static void suspend_call(struct suspend_caller *caller, int (*run)(void *arg))
{
	init_completion(&caller->done);
	KUNIT_ASSERT_FALSE(caller->rig->test,
			   IS_ERR(kthread_run(run, caller, "pagoda-suspend-test")));
}

static void suspend_join(struct suspend_caller *caller)
{
	KUNIT_ASSERT_NE(caller->rig->test, 0ul, wait_for_completion_timeout(&caller->done, LIMIT));
	KUNIT_EXPECT_EQ(caller->rig->test, 0, caller->ret);
}

/* pagoda_vidmm_prepare_sleep() waits for a job that an engine has. */
static void suspend_waits_for_jobs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(client, PAGES, SUBMIT_VRAM, HERE);
	struct suspend_caller caller = { .rig = rig };

	pagoda_rig_hold(rig, 0, true);
	submit_store(client, HERE, 5);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	suspend_call(&caller, suspend_prepare_run);
	schedule_timeout_uninterruptible(HZ / 20 ?: 1);
	KUNIT_EXPECT_FALSE(test, completion_done(&caller.done));
	pagoda_rig_hold(rig, 0, false);
	suspend_join(&caller);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_sleep(rig->vidmm));
	suspend_power(rig, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_wake(rig->vidmm, 0));
	pagoda_vidmm_end_sleep(rig->vidmm);
	PAGODA_PROVES(C196);
	KUNIT_EXPECT_EQ(test, 5ull, submit_word(rig, bo, 0));
	suspend_expect_no_loss(rig);
	pagoda_rig_close(bo);
	submit_client_end(client);
}

/*
 * A job that waits for a point stays queued during a sleep. If the point is signalled before the
 * end of the sleep, the job runs after the end.
 */
static void suspend_keeps_waiting_jobs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(client, PAGES, SUBMIT_VRAM, HERE);
	struct drm_syncobj *before = submit_syncobj(test);
	struct submit_args args = { .in = before, .in_point = 1 };
	struct dma_fence *fence;
	u32 point;

	for (point = 1; point <= 2; point++) {
		args.in_point = point;
		submit_add(client, HERE, point);
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	}
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_prepare_sleep(rig->vidmm, PAGODA_SLEEP_STANDBY));
	submit_signal(client, before, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_sleep(rig->vidmm));
	suspend_power(rig, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_wake(rig->vidmm, 0));
	KUNIT_EXPECT_FALSE(test, submit_point(client->done, 1, &fence));
	pagoda_vidmm_end_sleep(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 0, submit_wait_point(client->done, 1));
	KUNIT_EXPECT_EQ(test, 1ull, submit_word(rig, bo, 0));
	submit_signal(client, before, 2);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 3ull, submit_word(rig, bo, 0));
	suspend_expect_no_loss(rig);
	pagoda_rig_close(bo);
	submit_client_end(client);
}

static int suspend_enter_run(void *arg)
{
	struct suspend_caller *caller = arg;

	caller->ret = pagoda_enter(caller->rig->vidmm);
	if (!caller->ret)
		pagoda_leave(caller->rig->vidmm);
	complete(&caller->done);
	return 0;
}

/* From the preparation to the end of a sleep pagoda_try_enter() fails, and pagoda_enter() waits. */
static void suspend_closes_sections(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct suspend_caller caller = { .rig = rig };

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_prepare_sleep(rig->vidmm, PAGODA_SLEEP_STANDBY));
	KUNIT_EXPECT_FALSE(test, pagoda_try_enter(rig->vidmm));
	suspend_call(&caller, suspend_enter_run);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_sleep(rig->vidmm));
	suspend_power(rig, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_wake(rig->vidmm, 0));
	KUNIT_EXPECT_FALSE(test, completion_done(&caller.done));
	pagoda_vidmm_end_sleep(rig->vidmm);
	suspend_join(&caller);
	KUNIT_ASSERT_TRUE(test, pagoda_try_enter(rig->vidmm));
	pagoda_leave(rig->vidmm);
}

/*
 * Sections are closed after a thread has found them open, but before the thread has locked
 * &pagoda_reset.sections: the thread unlocks the semaphore again, and waits until sections are
 * open.
 */
static void suspend_closes_before_a_thread(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct suspend_caller caller = { .rig = rig };
	struct pagoda_reset *reset = rig->vidmm->reset;
	u32 tries = 5000;
	bool left;

	down_write(&reset->sections);
	suspend_call(&caller, suspend_enter_run);
	while (!rwsem_is_contended(&reset->sections))
		fsleep(USEC_PER_MSEC);
	WRITE_ONCE(reset->shut, true);
	up_write(&reset->sections);
	/* The thread is in the semaphore's queue, and gets the semaphore before the test does. */
	while (!(left = down_write_trylock(&reset->sections)) && --tries)
		fsleep(USEC_PER_MSEC);
	KUNIT_ASSERT_TRUE(test, left);
	up_write(&reset->sections);
	KUNIT_EXPECT_FALSE(test, completion_done(&caller.done));
	pagoda_sections_open(rig->vidmm);
	suspend_join(&caller);
	KUNIT_EXPECT_EQ(test, 0, caller.ret);
}

/* ---- What goes wrong ------------------------------------------------------------- */

/*
 * Sleep is refused with -EBUSY if it wasn't prepared, and while an allocation in VRAM is pinned;
 * content stays, and sleep works later.
 */
static void suspend_is_refused(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bos[] = { suspend_bo(rig, CPU, 0), suspend_bo(rig, CPU, 1),
				    suspend_bo(rig, CPU, 2) };
	u32 i;

	/* Sleep wasn't prepared. */
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_vidmm_sleep(rig->vidmm));
	pagoda_rig_pin(bos[1], true);
	KUNIT_EXPECT_EQ(test, -EBUSY,
			pagoda_vidmm_prepare_sleep(rig->vidmm, PAGODA_SLEEP_STANDBY));
	KUNIT_ASSERT_TRUE(test, pagoda_try_enter(rig->vidmm));
	pagoda_leave(rig->vidmm);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i));
	pagoda_rig_pin(bos[1], false);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bos[0]));

	/* An allocation returns to VRAM after the preparation and is pinned. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_prepare_sleep(rig->vidmm, PAGODA_SLEEP_STANDBY));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bos[2]));
	pagoda_rig_pin(bos[2], true);
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_vidmm_sleep(rig->vidmm));
	pagoda_rig_pin(bos[2], false);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_wake(rig->vidmm, 0));
	pagoda_vidmm_end_sleep(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_reset_epoch(rig->vidmm));
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i));
	suspend_sleep(rig, PAGODA_SLEEP_STANDBY);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i));
	suspend_expect_no_loss(rig);
	close_all(bos, ARRAY_SIZE(bos));
}

/* Sleep is prepared, and then the machine stays awake: no reset, no loss. */
static void suspend_is_called_off(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = suspend_bo(rig, CPU, 1);

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_prepare_sleep(rig->vidmm, PAGODA_SLEEP_HIBERNATE));
	pagoda_vidmm_end_sleep(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_reset_epoch(rig->vidmm));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

/*
 * The device doesn't wake up: content is in system memory, jobs end, and no thread waits forever.
 */
static void suspend_isnt_woken(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = suspend_bo(rig, CPU, 1);

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_prepare_sleep(rig->vidmm, PAGODA_SLEEP_STANDBY));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_sleep(rig->vidmm));
	suspend_power(rig, 0);
	/* A second sleep, as after a hibernation image was written, without a wake in between. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_sleep(rig->vidmm));
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_vidmm_wake(rig->vidmm, -EIO));
	pagoda_vidmm_end_sleep(rig->vidmm);
	KUNIT_EXPECT_FALSE(test, pagoda_reset_is_hidden(rig->vidmm));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	if (!submit_empty(client, NULL))
		KUNIT_EXPECT_NE(test, 0, submit_wait(client));
	/* The machine may sleep again, with nothing in VRAM. */
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_prepare_sleep(rig->vidmm, PAGODA_SLEEP_STANDBY));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_sleep(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_wake(rig->vidmm, 0));
	pagoda_vidmm_end_sleep(rig->vidmm);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
	submit_client_end(client);
}

/*
 * A work item that waits until the sleep has requested its reset, then does what the recovery of
 * the paging queue does if the device's queue can't be reset; @met: the request came.
 */
struct suspend_meeting {
	struct pagoda_queue *queue;
	struct work_struct work;
	bool met;
};

static void suspend_meeting_run(struct work_struct *work)
{
	struct suspend_meeting *meeting = container_of(work, struct suspend_meeting, work);
	struct pagoda_queue *queue = meeting->queue;
	unsigned long end = jiffies + LIMIT;

	while (!READ_ONCE(queue->adapter_wanted) && time_before(jiffies, end))
		fsleep(100);
	meeting->met = queue->adapter_wanted;
	pagoda_queue_hold(queue, false);
	pagoda_queue_escalate(queue);
	pagoda_flight_retire(&queue->flight);
	pagoda_queue_run_cpu(queue);
	pagoda_queue_resume(queue);
}

/* If a reset comes together with a sleep, the device is reset, rebuilt, and then sleeps. */
static void suspend_meets_a_reset(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = suspend_bo(rig, CPU, 1);
	struct suspend_meeting meeting = { .queue = rig->vidmm->queue };
	u32 controls;

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_prepare_sleep(rig->vidmm, PAGODA_SLEEP_STANDBY));
	INIT_WORK_ONSTACK(&meeting.work, suspend_meeting_run);
	queue_work(meeting.queue->recover_wq, &meeting.work);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_sleep(rig->vidmm));
	flush_work(&meeting.work);
	destroy_work_on_stack(&meeting.work);
	KUNIT_EXPECT_TRUE(test, meeting.met);
	KUNIT_EXPECT_TRUE(test, rig->vidmm->reset->asleep);
	KUNIT_EXPECT_EQ(test, 2ull, pagoda_reset_epoch(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_reset_count(rig->vidmm));
	/* Nothing is sent to the device until it wakes. */
	flush_work(&rig->vidmm->reset->rebuild);
	controls = rig->fake->controls;
	suspend_power(rig, 0);
	KUNIT_EXPECT_EQ(test, controls, rig->fake->controls);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_wake(rig->vidmm, 0));
	pagoda_vidmm_end_sleep(rig->vidmm);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	KUNIT_EXPECT_EQ(test, 0, rig->fake->violations);
	pagoda_rig_close(bo);
}

/*
 * The device's report that it was reset arrives when the device is asleep: the device isn't reset
 * again, nor is a reset counted.
 */
static void suspend_isnt_reset(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = suspend_bo(rig, CPU, 1);
	u32 controls;

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_prepare_sleep(rig->vidmm, PAGODA_SLEEP_STANDBY));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_sleep(rig->vidmm));
	controls = rig->fake->controls;
	pagoda_reset_told(rig->vidmm);
	flush_work(&rig->vidmm->reset->told);
	KUNIT_EXPECT_EQ(test, controls, rig->fake->controls);
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_reset_epoch(rig->vidmm));
	suspend_power(rig, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_wake(rig->vidmm, 0));
	pagoda_vidmm_end_sleep(rig->vidmm);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	suspend_expect_no_loss(rig);
	pagoda_rig_close(bo);
}

/*
 * The rebuild after a sleep runs while another reset has begun its epoch, but not yet cleared
 * &pagoda_reset.kept_epoch: content from before the sleep counts as lost.
 */
static void suspend_keeps_nothing_of_a_reset(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = suspend_bo(rig, CPU, 1);

	rig->info.preserved_standby = rig->info.vram_size;
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_prepare_sleep(rig->vidmm, PAGODA_SLEEP_STANDBY));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_sleep(rig->vidmm));
	suspend_power(rig, 0);
	atomic64_inc(&rig->vidmm->resets);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_wake(rig->vidmm, 0));
	pagoda_vidmm_end_sleep(rig->vidmm);
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(bo->content.lost));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_rig_close(bo);
}

static void suspend_block_run(struct work_struct *work)
{
	msleep(100);
}

/*
 * The device's report that it was reset is handled so late that the device is about to wake: the
 * device that woke isn't reset because of the report, which would lose content.
 */
static void suspend_isnt_reset_late(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = suspend_bo(rig, CPU, 1);
	struct work_struct block;

	rig->info.preserved_standby = rig->info.vram_size;
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_prepare_sleep(rig->vidmm, PAGODA_SLEEP_STANDBY));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_sleep(rig->vidmm));
	/* The request for a reset waits until the recovery's workqueue is free. */
	INIT_WORK_ONSTACK(&block, suspend_block_run);
	queue_work(rig->vidmm->queue->recover_wq, &block);
	pagoda_reset_told(rig->vidmm);
	suspend_power(rig, rig->info.preserved_standby);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_wake(rig->vidmm, 0));
	pagoda_vidmm_end_sleep(rig->vidmm);
	flush_work(&block);
	destroy_work_on_stack(&block);
	flush_work(&rig->vidmm->reset->told);
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_reset_epoch(rig->vidmm));
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	suspend_expect_no_loss(rig);
	pagoda_rig_close(bo);
}

static struct kunit_case suspend_cases[] = {
	KUNIT_CASE_PARAM(suspend_keeps_content, pagoda_rig_modes),
	KUNIT_CASE_PARAM(suspend_keeps_tiles, pagoda_rig_modes),
	KUNIT_CASE_PARAM(suspend_keeps_nothing_dead, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(suspend_leaves_nothing_clean, pagoda_rig_modes),
	KUNIT_CASE_PARAM(suspend_keeps_clients, pagoda_rig_modes),
	KUNIT_CASE_PARAM(suspend_drops_offered, pagoda_rig_modes),
	KUNIT_CASE_PARAM(suspend_preserves, pagoda_rig_modes),
	KUNIT_CASE_PARAM(suspend_preserves_in_part, pagoda_rig_modes),
	KUNIT_CASE_PARAM(suspend_preserves_whole_only, pagoda_rig_modes),
	KUNIT_CASE_PARAM(suspend_keeps_whole_vram, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(suspend_waits_for_jobs, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(suspend_keeps_waiting_jobs, pagoda_rig_mmu_modes),
	KUNIT_CASE(suspend_closes_sections),
	KUNIT_CASE(suspend_closes_before_a_thread),
	KUNIT_CASE_PARAM(suspend_is_refused, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(suspend_is_called_off, pagoda_rig_mmu_modes),
	KUNIT_CASE(suspend_isnt_woken),
	KUNIT_CASE_PARAM(suspend_meets_a_reset, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(suspend_isnt_reset, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(suspend_isnt_reset_late, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(suspend_keeps_nothing_of_a_reset, pagoda_rig_mmu_modes),
	{}
};

static struct kunit_suite suspend_suite = {
	.name = "pagoda_suspend",
	.test_cases = suspend_cases,
};

kunit_test_suite(suspend_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit suite of the machine's sleep");
