// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of where paging waits for jobs (table in stream.h): the eviction of a victim waits in the
 * stream; other calls for memory that a running job uses don't hold up the paging of other memory.
 * What fenced jobs that have no place of an engine hold up: timeline_fenced_test.c.
 */
#include <linux/delay.h>
#include <drm/drm_syncobj.h>
#include "rig/spy.h"
#include "submit_helpers.h"
#include "vm/vm_helpers.h"
#include "vidmm/submit/internal.h"

#define HERE	SZ_64M		/* the only mapping of its lowest page table */
#define FAR	(16ull * SZ_1G)	/* address that needs a larger root table */
#define PAGES	4u
#define AT_ONCE	(5 * HZ)
#define SURELY	(HZ / 5)

/*
 * struct timeline_world - @client has a job on an engine that is held; the job lists @shared and
 * @both and may use @own, all of which are in VRAM
 */
struct timeline_world {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct submit_client *client;
	struct submit_args args;
	struct pagoda_bo *shared;
	struct pagoda_bo *own;
	struct pagoda_bo *both;		/* as @shared, but may be in the aperture, too */
	struct pagoda_bo *other;	/* used by no job */
};

static const struct pagoda_rig_options timeline_options = { .engines = true };

static struct timeline_world timeline_world_on(struct kunit *test, struct pagoda_rig *rig)
{
	struct timeline_world w = { .test = test, .rig = rig };

	w.client = submit_client(w.rig, 0);
	w.shared = pagoda_rig_bo(w.rig, PAGES, VM_CPU, SUBMIT_VRAM, 0);
	w.other = pagoda_rig_bo(w.rig, PAGES, VM_CPU, SUBMIT_VRAM, 0);
	w.both = pagoda_rig_bo(w.rig, PAGES, VM_CPU, SUBMIT_VRAM | SUBMIT_APERTURE, 0);
	w.own = submit_private(w.client, PAGES, SUBMIT_VRAM, 2 * HERE);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(w.both));
	w.args.bos[0] = w.shared;
	w.args.bos[1] = w.both;
	w.args.nr_bos = 2;
	KUNIT_ASSERT_EQ(test, 0, submit_map(w.client, w.shared, HERE));
	pagoda_rig_write_vram(w.rig, w.other, 3);
	submit_store(w.client, HERE, 0);
	submit_store(w.client, 2 * HERE, 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(w.client, &w.args));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(w.client));
	pagoda_rig_hold(w.rig, 0, true);
	submit_add(w.client, HERE, 7);
	KUNIT_ASSERT_EQ(test, 0, submit_job(w.client, &w.args));
	return w;
}

static struct timeline_world timeline_world(struct kunit *test)
{
	return timeline_world_on(test, submit_rig(test));
}

static void timeline_world_end(struct timeline_world *w)
{
	if (w->shared)
		submit_close(w->client, w->shared);
	if (w->own)
		submit_close(w->client, w->own);
	pagoda_rig_close(w->both);
	pagoda_rig_close(w->other);
	submit_client_end(w->client);
}

/*
 * Moves @other, which no job uses, out of VRAM or back. Returns whether the move was executed
 * within @time jiffies.
 */
static bool timeline_goes_on(struct timeline_world *w, long time)
{
	struct dma_resv *resv = w->other->ttm.base.resv;

	KUNIT_EXPECT_EQ(w->test, 0, pagoda_bo_is_in_vram(w->other) ?
				    pagoda_rig_to_system(w->other) : pagoda_rig_to_vram(w->other));
	pagoda_stream_flush(w->rig->vidmm);
	return dma_resv_wait_timeout(resv, DMA_RESV_USAGE_BOOKKEEP, false, time) > 0;
}

static void timeline_let_go(struct timeline_world *w)
{
	pagoda_rig_hold(w->rig, 0, false);
	submit_wait(w->client);
	pagoda_rig_settle(w->rig);
}

static void timeline_unmap(struct timeline_world *w)
{
	KUNIT_EXPECT_EQ(w->test, 0, vmt_set(w->client->vm, DRM_PAGODA_BIND_UNMAP, HERE,
					    PAGES * PAGE_SIZE));
}

static void timeline_forget(struct timeline_world *w)
{
	pagoda_vm_forget(w->client->vm, w->shared);
}

static void timeline_free(struct timeline_world *w)
{
	submit_close(w->client, w->own);
	w->own = NULL;
	submit_close(w->client, w->shared);
	w->shared = NULL;
}

/* Destroys the job's context, whose save area is freed when the job has ended. */
static void timeline_destroy(struct timeline_world *w)
{
	pagoda_context_destroy(w->client->context);
	w->client->context = NULL;
}

static void timeline_evict(struct timeline_world *w)
{
	struct pagoda_bo *bos[] = { w->shared, w->own };
	struct dma_fence *fence;

	KUNIT_EXPECT_EQ(w->test, 0, pagoda_rig_evict(w->rig, bos, 2, &fence));
	dma_fence_put(fence);
	KUNIT_EXPECT_TRUE(w->test, pagoda_bo_is_in_vram(w->shared));
	KUNIT_EXPECT_TRUE(w->test, pagoda_bo_is_in_vram(w->own));
}

/*
 * Expects that @act, something that a client may do while its job runs, doesn't hold up the paging
 * of other memory.
 */
static void timeline_isnt_held(struct kunit *test, void (*act)(struct timeline_world *w))
{
	struct timeline_world w = timeline_world(test);

	act(&w);
	KUNIT_EXPECT_TRUE(test, timeline_goes_on(&w, AT_ONCE));
	timeline_let_go(&w);
	timeline_world_end(&w);
}

static void timeline_unmaps(struct kunit *test)
{
	timeline_isnt_held(test, timeline_unmap);
}

static void timeline_forgets(struct kunit *test)
{
	timeline_isnt_held(test, timeline_forget);
}

static void timeline_frees(struct kunit *test)
{
	timeline_isnt_held(test, timeline_free);
}

static void timeline_destroys(struct kunit *test)
{
	timeline_isnt_held(test, timeline_destroy);
}

static void timeline_evicts(struct kunit *test)
{
	timeline_isnt_held(test, timeline_evict);
}

static int timeline_page_in(void *arg)
{
	struct timeline_world *w = arg;

	return pagoda_rig_to_vram(w->client->code);
}

static int timeline_clear(void *arg)
{
	struct timeline_world *w = arg;
	int ret;

	dma_resv_lock(w->shared->ttm.base.resv, NULL);
	pagoda_bo_mark_lost(w->shared);
	ret = pagoda_lost_clear(w->shared);
	dma_resv_unlock(w->shared->ttm.base.resv);
	return ret;
}

struct timeline_way {
	const char *name;
	int (*run)(void *arg);
};

static const struct timeline_way timeline_ways[] = {
	{ "page-in", timeline_page_in },
	{ "lost content", timeline_clear },
};

KUNIT_ARRAY_PARAM_DESC(timeline_ways, timeline_ways, name);

/*
 * The moves of timeline_ways, which aren't evictions of a victim, wait for jobs in their caller:
 * paging of other memory goes on.
 */
static void timeline_caller_waits(struct kunit *test)
{
	const struct timeline_way *way = test->param_value;
	struct pagoda_rig *rig = pagoda_rig_create(test, &timeline_options);
	struct timeline_world w = timeline_world_on(test, rig);
	struct pagoda_worker worker = { .run = way->run, .arg = &w };

	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&worker, SURELY));
	KUNIT_EXPECT_TRUE(test, timeline_goes_on(&w, AT_ONCE));
	pagoda_rig_hold(w.rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	pagoda_worker_end(test, &worker);
	timeline_world_end(&w);
}

static int timeline_map(void *arg)
{
	struct timeline_world *w = arg;

	return vmt_map(w->client->vm, w->shared, 4 * HERE, 0, PAGES * PAGE_SIZE, 0);
}

/* A VM_BIND that needs new page tables doesn't wait for the VM's running job. */
static void timeline_maps(struct kunit *test)
{
	struct timeline_world w = timeline_world(test);
	struct pagoda_worker mapper = { .run = timeline_map, .arg = &w };

	pagoda_worker_start(test, &mapper);
	KUNIT_EXPECT_TRUE(test, pagoda_worker_is_done(&mapper, AT_ONCE));
	KUNIT_EXPECT_TRUE(test, timeline_goes_on(&w, AT_ONCE));
	timeline_let_go(&w);
	pagoda_worker_end(test, &mapper);
	timeline_world_end(&w);
}

/*
 * The eviction of a victim waits in the stream for the job that uses the victim, and so does paging
 * behind the eviction. The victim leaves VRAM with what the job wrote.
 */
static void timeline_victim_waits(struct kunit *test)
{
	struct timeline_world w = timeline_world(test);

	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(w.rig->vidmm, w.rig->engine.vram_size));
	KUNIT_EXPECT_FALSE(test, pagoda_bo_is_in_vram(w.shared));
	KUNIT_EXPECT_FALSE(test, timeline_goes_on(&w, SURELY));
	pagoda_rig_hold(w.rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	pagoda_rig_settle(w.rig);
	KUNIT_EXPECT_EQ(test, 7ull, submit_word(w.rig, w.shared, 0));
	timeline_world_end(&w);
}

/*
 * EVICT waits for the job that uses the allocation, and then moves the allocation out of VRAM;
 * until then paging of other memory goes on.
 */
static void timeline_evict_waits(struct kunit *test)
{
	struct timeline_world w = timeline_world(test);
	struct drm_syncobj *points = submit_syncobj(test);
	struct pagoda_paging_queue *queue = pagoda_paging_queue_create(w.rig->vidmm, w.rig->client,
								       0, points);
	struct pagoda_paging_args args = { .bos = &w.shared, .count = 1 };
	struct dma_fence *fence;

	KUNIT_ASSERT_FALSE(test, IS_ERR(queue));
	KUNIT_ASSERT_EQ(test, 0, pagoda_paging_make_resident(queue, &args));
	KUNIT_ASSERT_EQ(test, 0, pagoda_paging_evict(queue, &args));
	KUNIT_ASSERT_NE(test, 0ull, args.value);
	KUNIT_EXPECT_TRUE(test, timeline_goes_on(&w, AT_ONCE));
	KUNIT_EXPECT_TRUE(test, pagoda_bo_is_in_vram(w.shared));
	KUNIT_EXPECT_FALSE(test, submit_point(points, args.value, &fence));
	pagoda_rig_hold(w.rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	KUNIT_EXPECT_EQ(test, 0, submit_wait_point(points, args.value));
	KUNIT_EXPECT_FALSE(test, pagoda_bo_is_in_vram(w.shared));
	KUNIT_EXPECT_EQ(test, 7ull, submit_word(w.rig, w.shared, 0));
	pagoda_client_drop_lists(w.rig->client);
	pagoda_paging_queue_put(queue);
	timeline_world_end(&w);
}

static bool timeline_is_shown_at(struct timeline_world *w, u64 address)
{
	void *here;

	return vmt_reach(w->rig, w->client->vm->id, address, 8, VIRTIO_PAGODA_ACCESS_READ,
			 &here) == VIRTIO_PAGODA_FAULT_NONE;
}

static bool timeline_is_shown(struct timeline_world *w)
{
	return timeline_is_shown_at(w, HERE);
}

/*
 * An allocation whose handle was closed stays mapped until the running job that uses it has ended.
 */
static void timeline_close_waits(struct kunit *test)
{
	struct timeline_world w = timeline_world(test);
	unsigned long end;

	pagoda_enter_anyway(w.rig->vidmm);
	pagoda_closing_handle(w.rig->client, w.shared);
	pagoda_leave(w.rig->vidmm);
	KUNIT_EXPECT_TRUE(test, timeline_goes_on(&w, AT_ONCE));
	KUNIT_EXPECT_TRUE(test, timeline_is_shown(&w));
	pagoda_rig_hold(w.rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	for (end = jiffies + AT_ONCE; timeline_is_shown(&w) && time_before(jiffies, end);) {
		pagoda_rig_settle(w.rig);
		fsleep(USEC_PER_MSEC);
	}
	KUNIT_EXPECT_FALSE(test, timeline_is_shown(&w));
	KUNIT_EXPECT_EQ(test, 7ull, submit_word(w.rig, w.shared, 0));
	timeline_world_end(&w);
}

/*
 * While a work item unmaps a closed allocation, for which it waits for the VM's lock here, it
 * doesn't hold pagoda_closing.lock, which the client's submissions take.
 */
static void timeline_closes_unlocked(struct kunit *test)
{
	struct timeline_world w = timeline_world(test);
	struct pagoda_closing *closing = &w.rig->client->closing;
	unsigned long end = jiffies + AT_ONCE;
	bool unlocked;

	pagoda_enter_anyway(w.rig->vidmm);
	pagoda_closing_handle(w.rig->client, w.shared);
	pagoda_leave(w.rig->vidmm);
	mutex_lock(&w.client->vm->lock);
	pagoda_rig_hold(w.rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	while (!(work_busy(&closing->work.work) & WORK_BUSY_RUNNING) && time_before(jiffies, end))
		fsleep(USEC_PER_MSEC);
	schedule_timeout_uninterruptible(SURELY);
	KUNIT_EXPECT_TRUE(test, work_busy(&closing->work.work) & WORK_BUSY_RUNNING);
	unlocked = mutex_trylock(&closing->lock);
	KUNIT_EXPECT_TRUE(test, unlocked);
	if (unlocked)
		mutex_unlock(&closing->lock);
	mutex_unlock(&w.client->vm->lock);
	/*
	 * A new handle waits until the allocation is unmapped, so that what the client maps by the
	 * new handle stays.
	 */
	pagoda_closing_undo(w.rig->client, w.shared);
	pagoda_rig_settle(w.rig);
	KUNIT_EXPECT_FALSE(test, timeline_is_shown(&w));
	timeline_world_end(&w);
}

static int timeline_submit(void *arg)
{
	const struct submit_args fenced = { .fenced = true };
	struct timeline_world *w = arg;

	return submit_empty(w->client, &fenced) ?: submit_empty(w->client, NULL);
}

/*
 * SUBMIT after OFFER doesn't wait for the VM's running job, which may use the offered allocation
 * and has to end before the allocation is unmapped. The new job waits in its context's queue until
 * then; a fenced job can't wait, and leaves the unmapping to the next job.
 */
static void timeline_offers(struct kunit *test)
{
	struct timeline_world w = timeline_world(test);
	struct pagoda_worker submitter = { .run = timeline_submit, .arg = &w };

	KUNIT_ASSERT_EQ(test, 0, pagoda_offer(w.rig->vidmm, &w.own, 1, DRM_PAGODA_OFFER_LOW, 0));
	pagoda_worker_start(test, &submitter);
	KUNIT_EXPECT_TRUE(test, pagoda_worker_is_done(&submitter, AT_ONCE));
	KUNIT_EXPECT_TRUE(test, timeline_goes_on(&w, AT_ONCE));
	KUNIT_EXPECT_TRUE(test, timeline_is_shown_at(&w, 2 * HERE));
	timeline_let_go(&w);
	pagoda_worker_end(test, &submitter);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	pagoda_rig_settle(w.rig);
	KUNIT_EXPECT_FALSE(test, timeline_is_shown_at(&w, 2 * HERE));
	KUNIT_EXPECT_TRUE(test, timeline_is_shown(&w));
	timeline_world_end(&w);
}

static int timeline_trim(void *arg)
{
	struct timeline_world *w = arg;

	return pagoda_vidmm_trim(w->rig->vidmm, w->rig->engine.vram_size);
}

/*
 * In CPU_VIRTUAL mode, in which the CPU writes page tables, the entries of a victim change only
 * when all jobs of the VM have ended.
 */
static void timeline_victim_waits_for_the_cpu(struct kunit *test)
{
	static const struct pagoda_rig_mode by_cpu = { VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL };
	const struct pagoda_rig_options options = { .mode = &by_cpu, .engines = true };
	struct timeline_world w = timeline_world_on(test, pagoda_rig_create(test, &options));
	struct pagoda_worker trimmer = { .run = timeline_trim, .arg = &w };

	pagoda_worker_start(test, &trimmer);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&trimmer, SURELY));
	KUNIT_EXPECT_TRUE(test, timeline_is_shown(&w));
	pagoda_rig_hold(w.rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	pagoda_worker_end(test, &trimmer);
	pagoda_rig_settle(w.rig);
	KUNIT_EXPECT_FALSE(test, pagoda_bo_is_in_vram(w.shared));
	KUNIT_EXPECT_EQ(test, 7ull, submit_word(w.rig, w.shared, 0));
	KUNIT_EXPECT_EQ(test, 0u, submit_state(w.client).state);
	timeline_world_end(&w);
}

static int timeline_map_far(void *arg)
{
	struct timeline_world *w = arg;

	return vmt_map(w->client->vm, w->shared, FAR, 0, PAGES * PAGE_SIZE, 0);
}

/* The VM's root table gives way to a larger table only when no job uses the root table any more. */
static void timeline_root_waits(struct kunit *test)
{
	/* With two levels a root table has only the entries that its address space needs. */
	const struct pagoda_rig_options options = { .engines = true, .pt_levels = 2 };
	struct timeline_world w = timeline_world_on(test, pagoda_rig_create(test, &options));
	struct pagoda_worker mapper = { .run = timeline_map_far, .arg = &w };
	struct pagoda_root before, now;

	pagoda_space_root(w.client->vm->space, &before);
	pagoda_worker_start(test, &mapper);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&mapper, SURELY));
	KUNIT_EXPECT_TRUE(test, timeline_is_shown(&w));
	KUNIT_EXPECT_EQ(test, before.address, w.rig->engine.spaces[w.client->vm->id].address);
	pagoda_rig_hold(w.rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	pagoda_worker_end(test, &mapper);
	pagoda_space_root(w.client->vm->space, &now);
	KUNIT_EXPECT_LT(test, before.entries, now.entries);
	pagoda_rig_settle(w.rig);
	KUNIT_EXPECT_EQ(test, now.address, w.rig->engine.spaces[w.client->vm->id].address);
	KUNIT_EXPECT_EQ(test, 7ull, submit_word(w.rig, w.shared, 0));
	timeline_world_end(&w);
}

static struct kunit_case timeline_tests[] = {
	KUNIT_CASE(timeline_unmaps),
	KUNIT_CASE(timeline_forgets),
	KUNIT_CASE(timeline_frees),
	KUNIT_CASE(timeline_destroys),
	KUNIT_CASE(timeline_evicts),
	KUNIT_CASE(timeline_maps),
	KUNIT_CASE_PARAM(timeline_caller_waits, timeline_ways_gen_params),
	KUNIT_CASE(timeline_victim_waits),
	KUNIT_CASE(timeline_evict_waits),
	KUNIT_CASE(timeline_close_waits),
	KUNIT_CASE(timeline_closes_unlocked),
	KUNIT_CASE(timeline_offers),
	KUNIT_CASE(timeline_victim_waits_for_the_cpu),
	KUNIT_CASE(timeline_root_waits),
	{}
};

static struct kunit_suite timeline_suite = {
	.name = "pagoda_timeline",
	.test_cases = timeline_tests,
};

kunit_test_suite(timeline_suite);
