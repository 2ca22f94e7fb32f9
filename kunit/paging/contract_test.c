// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of what VidMm guarantees when it calls a builder: an allocation with AllocationIsIdle has
 * no unsignalled fence, no GPU work that uses an allocation is outstanding when the allocation is
 * filled, and only one builder runs at a time. Also, submit, poll and reset of the device never
 * overlap.
 */
#include <linux/delay.h>
#include <linux/sizes.h>
#include <drm/drm_gem.h>
#include "queue/queue_helpers.h"
#include "rig/spy.h"
#include "submit/submit_helpers.h"

#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define HERE		SZ_4M
/* Pages of an allocation: in VRAM three contiguous ranges, of 8, 2 and 1 page. */
#define PAGES		11
/* Jiffies for which a test waits to see that a blocked thread stays blocked. */
#define LOOK		(HZ / 10)

static const enum dma_resv_usage usages[] = {
	DMA_RESV_USAGE_KERNEL, DMA_RESV_USAGE_WRITE, DMA_RESV_USAGE_READ, DMA_RESV_USAGE_BOOKKEEP,
};

/* Adds a fence to the allocation's reservation; user_end() signals the fence. */
static struct dma_fence *user_begin(struct kunit *test, struct pagoda_bo *bo,
				    enum dma_resv_usage usage)
{
	struct dma_fence *fence = pagoda_test_fence(test);

	pagoda_rig_add_fence(test, bo->ttm.base.resv, fence, usage);
	return fence;
}

static void user_end(struct dma_fence *fence)
{
	dma_fence_signal(fence);
	dma_fence_put(fence);
}

static int to_system(void *bo)
{
	return pagoda_rig_to_system(bo);
}

/* ---- Allocations that are idle ---------------------------------------------------- */

static struct pagoda_bo *busy_bo(struct pagoda_rig *rig)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, CPU, VRAM, 0);

	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_rig_settle(rig);
	bo->content.needs_idle = true;
	return bo;
}

/* Waits until builders have answered ALLOCATION_BUSY @times times in all, and no more often. */
static void busy_wait(struct pagoda_rig *rig, s64 times)
{
	u32 i;

	for (i = 0; i < 6000 && atomic64_read(&rig->vidmm->stats.busy_retries) < times; i++)
		fsleep(5 * USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(rig->test, times, atomic64_read(&rig->vidmm->stats.busy_retries));
}

/*
 * Expects that the reservation was locked in each build call of a TRANSFER, that calls without
 * AllocationIsIdle encoded nothing, and that there were @pieces calls with AllocationIsIdle, each
 * with the allocation idle.
 */
static void busy_expect(struct kunit *test, struct pagoda_spy *spy, u32 pieces)
{
	u32 i, calls = 0;
	u64 before = 0;

	for (i = 0; i < spy->nr; i++) {
		const struct pagoda_spy_note *note = &spy->notes[i];

		if (note->op.operation != VIRTIO_PAGODA_OP_TRANSFER)
			continue;
		KUNIT_EXPECT_TRUE(test, note->reserved);
		if (!(note->op.transfer.flags & PAGODA_ALLOCATION_IS_IDLE)) {
			KUNIT_EXPECT_EQ(test, 0, note->encoded);
			continue;
		}
		KUNIT_EXPECT_TRUE(test, note->idle);
		/* The device must have executed the previous piece, which used the allocation. */
		KUNIT_EXPECT_GE(test, note->executed, before);
		before = note->seqno;
		calls++;
	}
	KUNIT_EXPECT_EQ(test, pieces, calls);
}

/*
 * AllocationIsIdle is set only when all fences in the allocation's reservation have signalled: the
 * move waits for a fence of any usage.
 */
static void contract_idle_of_any_usage(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(usages); i++) {
		struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
		struct pagoda_bo *bo = busy_bo(rig);
		u32 pieces = pagoda_vram_count_ranges(bo->ttm.resource);
		struct pagoda_worker worker = { .run = to_system, .arg = bo };
		struct dma_fence *fence = user_begin(test, bo, usages[i]);

		worker.spy = pagoda_spy_begin(rig, bo);
		pagoda_worker_start(test, &worker);
		busy_wait(rig, 1);
		KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&worker, LOOK));
		user_end(fence);
		pagoda_worker_end(test, &worker);
		PAGODA_PROVES(C15);
		busy_expect(test, worker.spy, pieces);
		pagoda_spy_end(worker.spy);
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
		pagoda_rig_close(bo);
		pagoda_rig_settle(rig);
	}
}

static bool busy_is_reserved(struct pagoda_bo *bo)
{
	if (!dma_resv_trylock(bo->ttm.base.resv))
		return true;
	dma_resv_unlock(bo->ttm.base.resv);
	return false;
}

/*
 * Lets the device complete all submissions up to the one that was open when a piece was found busy,
 * that one included.
 */
static void busy_let(struct pagoda_rig *rig, const struct pagoda_spy *spy)
{
	u64 seqno = spy->notes[spy->nr - 1].seqno;
	u32 i;

	for (i = 0; i < 6000 && READ_ONCE(rig->fake->last_submitted) < seqno; i++)
		fsleep(5 * USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(rig->test, seqno, rig->fake->last_submitted);
	pagoda_fake_transport_let(rig->fake, rig->fake->nr_ring);
}

/*
 * If a move's pieces need the allocation idle, each piece is built only after the device has
 * completed the piece before, and the reservation stays locked all the time.
 */
static void contract_idle_of_each_piece(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = busy_bo(rig);
	u32 pieces = pagoda_vram_count_ranges(bo->ttm.resource), i;
	struct pagoda_worker worker = { .run = to_system, .arg = bo };

	KUNIT_ASSERT_GT(test, pieces, 2);
	worker.spy = pagoda_spy_begin(rig, bo);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	pagoda_worker_start(test, &worker);
	for (i = 1; i < pieces; i++) {
		busy_wait(rig, i + 1);
		KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&worker, LOOK));
		KUNIT_EXPECT_EQ(test, i + 1, atomic64_read(&rig->vidmm->stats.busy_retries));
		KUNIT_EXPECT_TRUE(test, busy_is_reserved(bo));
		busy_let(rig, worker.spy);
	}
	pagoda_worker_end(test, &worker);
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C15, C16);
	busy_expect(test, worker.spy, pieces);
	pagoda_spy_end(worker.spy);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

struct busy_job {
	struct submit_client *client;
	struct submit_args args;
};

static int busy_submit(void *arg)
{
	struct busy_job *job = arg;

	return submit_job(job->client, &job->args);
}

/*
 * A job that uses an allocation isn't queued while a move waits for the allocation to be idle; the
 * job runs after the move, with the moved content.
 */
static void contract_idle_keeps_jobs_out(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct busy_job job = { .client = submit_client(rig, 0) };
	struct pagoda_bo *bo = busy_bo(rig);
	struct pagoda_worker mover = { .run = to_system, .arg = bo };
	struct pagoda_worker submitter = { .run = busy_submit, .arg = &job };
	struct dma_fence *fence;
	u64 before;

	job.args = (struct submit_args) {
		.bos = { bo }, .flags = { DRM_PAGODA_SUBMIT_WRITE }, .nr_bos = 1,
	};
	KUNIT_ASSERT_EQ(test, 0, submit_map(job.client, bo, HERE));
	pagoda_rig_settle(rig);
	before = submit_word(rig, bo, 8);
	submit_store(job.client, HERE, 5);
	fence = user_begin(test, bo, DMA_RESV_USAGE_BOOKKEEP);
	mover.spy = pagoda_spy_begin(rig, bo);
	pagoda_worker_start(test, &mover);
	busy_wait(rig, 1);
	pagoda_worker_start(test, &submitter);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&submitter, LOOK));
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&mover, 0));
	PAGODA_PROVES(C16);
	KUNIT_EXPECT_EQ(test, 0, job.client->sent);
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(rig->engines[0].executed));
	/* The move back to VRAM, for the job, needn't wait until the allocation is idle. */
	WRITE_ONCE(bo->content.needs_idle, false);
	user_end(fence);
	pagoda_worker_end(test, &mover);
	pagoda_spy_end(mover.spy);
	pagoda_worker_end(test, &submitter);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(job.client));
	KUNIT_EXPECT_EQ(test, 5, submit_word(rig, bo, 0));
	KUNIT_EXPECT_EQ(test, before, submit_word(rig, bo, 8));
	submit_close(job.client, bo);
	submit_client_end(job.client);
}

/* Writes all of VRAM, so that no range of VRAM is known to contain zeros. */
static void make_dirty(struct pagoda_rig *rig)
{
	struct pagoda_bo *dirt = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);

	pagoda_rig_write_vram(rig, dirt, 9);
	pagoda_rig_close(dirt);
	pagoda_rig_settle_freed(rig);
	pagoda_rig_settle(rig);
}

static int move_to_vram(void *bo)
{
	return pagoda_rig_to_vram(bo);
}

/*
 * The device gets a FILL only after a fence in the allocation's reservation, of whatever usage, has
 * signalled.
 */
static void contract_fill_waits_for_all(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo;
	struct pagoda_worker mover;
	struct dma_fence *fence;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(usages); i++) {
		make_dirty(rig);
		bo = pagoda_rig_bo(rig, PAGES, CPU, VRAM, 0);
		fence = user_begin(test, bo, usages[i]);
		mover = (struct pagoda_worker) { .run = move_to_vram, .arg = bo };
		pagoda_worker_start(test, &mover);
		msleep(50);
		PAGODA_PROVES(C42);
		KUNIT_EXPECT_EQ_MSG(test, 0, pagoda_rig_count(rig, pagoda_rig_fill_op(rig),
							      bo->id), "usage %u", usages[i]);
		user_end(fence);
		pagoda_worker_end(test, &mover);
		KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
		KUNIT_EXPECT_GT(test, pagoda_rig_count(rig, pagoda_rig_fill_op(rig), bo->id), 0);
		pagoda_rig_close(bo);
		pagoda_rig_settle(rig);
	}
}

/* A new private allocation is used by no job yet: its FILL doesn't wait for jobs of its VM. */
static void contract_fill_passes_jobs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client;
	struct pagoda_bo *bo;

	make_dirty(rig);
	client = submit_client(rig, 0);
	pagoda_rig_hold(rig, 0, true);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	bo = submit_private(client, PAGES, VRAM, HERE);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	KUNIT_EXPECT_GT(test, pagoda_rig_count(rig, pagoda_rig_fill_op(rig), bo->id), 0);
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(rig->engines[0].executed));
	pagoda_rig_hold(rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	submit_close(client, bo);
	submit_client_end(client);
}

/* ---- Builders, submissions and resets exclude each other ---------------------------- */

#define ROUNDS		24u
#define MOVERS		2u

struct shuttle {
	struct pagoda_bo *bo;
	u32 rounds;
};

static int shuttle_run(void *arg)
{
	struct shuttle *shuttle = arg;
	int ret = 0;
	u32 i;

	for (i = 0; i < shuttle->rounds && !ret; i++)
		ret = i & 1 ? pagoda_rig_to_vram(shuttle->bo) : pagoda_rig_to_system(shuttle->bo);
	return ret;
}

/*
 * Expects that the stream's lock was held in each build call, and that the calls' submissions come
 * in order.
 */
static void expect_one_builder(struct kunit *test, const struct pagoda_spy *spy)
{
	u64 seqno = 0;
	u32 i;

	for (i = 0; i < spy->nr; i++) {
		KUNIT_EXPECT_TRUE(test, spy->notes[i].locked);
		KUNIT_EXPECT_GE(test, spy->notes[i].seqno, seqno);
		seqno = spy->notes[i].seqno;
	}
}

/*
 * Threads move allocations while the device fails and is reset. The fake transport counts submit,
 * poll and reset that overlap, and submissions out of order, as violations: there are none.
 */
static void contract_one_at_a_time(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct shuttle shuttles[MOVERS];
	struct pagoda_worker workers[MOVERS] = { };
	struct pagoda_spy *spy;
	u32 i;

	for (i = 0; i < MOVERS; i++) {
		shuttles[i] = (struct shuttle) {
			.bo = pagoda_rig_bo(rig, PAGES, CPU, VRAM, 0), .rounds = ROUNDS,
		};
		pagoda_rig_write_vram(rig, shuttles[i].bo, i);
	}
	pagoda_rig_settle(rig);
	for (i = 0; i < 4; i++)
		pagoda_fake_transport_order(rig->fake, rig->fake->last_submitted + 3 + 5 * i,
					    PAGODA_FAKE_FAULT, 0, 1);
	spy = pagoda_spy_begin(rig, NULL);
	for (i = 0; i < MOVERS; i++) {
		workers[i] = (struct pagoda_worker) {
			.spy = spy, .run = shuttle_run, .arg = &shuttles[i],
		};
		pagoda_worker_start(test, &workers[i]);
	}
	for (i = 0; i < MOVERS; i++)
		pagoda_worker_end(test, &workers[i]);
	pagoda_rig_settle(rig);
	pagoda_spy_end(spy);
	PAGODA_PROVES(C23);
	expect_one_builder(test, spy);
	KUNIT_EXPECT_GE(test, rig->fake->resets, 1);
	KUNIT_EXPECT_EQ(test, 0, rig->fake->violations);
	for (i = 0; i < MOVERS; i++) {
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, shuttles[i].bo, i));
		pagoda_rig_close(shuttles[i].bo);
	}
}

/*
 * While the device is being reset, builders are called, but their buffers aren't submitted before
 * the end of the reset.
 */
static void contract_build_beside_reset(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bos[4];
	struct pagoda_spy *spy;
	u32 submits, i;

	for (i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = pagoda_rig_bo(rig, 2, CPU, VRAM, 0);
		pagoda_rig_write_vram(rig, bos[i], i);
	}
	pagoda_rig_settle(rig);
	rig->fake->reset_held = true;
	pagoda_fake_transport_order(rig->fake, rig->fake->last_submitted + 1, PAGODA_FAKE_FAULT,
				    0, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[0]));
	for (i = 0; i < 6000 && !READ_ONCE(rig->fake->resetting); i++)
		fsleep(5 * USEC_PER_MSEC);
	submits = rig->fake->submits;
	spy = pagoda_spy_begin(rig, NULL);
	for (i = 1; i < ARRAY_SIZE(bos); i++)
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[i]));
	pagoda_spy_end(spy);
	msleep(20);
	PAGODA_PROVES(C23);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(rig->fake->resetting));
	KUNIT_EXPECT_EQ(test, submits, rig->fake->submits);
	expect_one_builder(test, spy);
	for (i = 1; i < ARRAY_SIZE(bos); i++)
		KUNIT_EXPECT_NOT_NULL(test, pagoda_spy_find(spy, VIRTIO_PAGODA_OP_TRANSFER,
							    bos[i]->id, 0));
	WRITE_ONCE(rig->fake->reset_held, false);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 0, rig->fake->violations);
	for (i = 0; i < ARRAY_SIZE(bos); i++) {
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i));
		pagoda_rig_close(bos[i]);
	}
}

static struct kunit_case contract_cases[] = {
	KUNIT_CASE(contract_idle_of_any_usage),
	KUNIT_CASE(contract_idle_of_each_piece),
	KUNIT_CASE(contract_idle_keeps_jobs_out),
	KUNIT_CASE_PARAM(contract_fill_waits_for_all, pagoda_rig_update_modes),
	KUNIT_CASE(contract_fill_passes_jobs),
	KUNIT_CASE(contract_one_at_a_time),
	KUNIT_CASE(contract_build_beside_reset),
	{ }
};

static struct kunit_suite contract_suite = {
	.name = "pagoda_contract",
	.test_cases = contract_cases,
};

kunit_test_suite(contract_suite);
