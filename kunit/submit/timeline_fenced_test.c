// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of what fenced jobs that have no place of an engine hold up: allocations that such a job
 * uses are no victims, calls of its client that find no room for that reason wait until the job has
 * ended, and paging of other memory goes on.
 */
#include <linux/dma-buf.h>
#include <linux/dma-fence-chain.h>
#include <linux/iosys-map.h>
#include <linux/delay.h>
#include <drm/drm_syncobj.h>
#include "queue/queue_helpers.h"
#include "rig/spy.h"
#include "submit_helpers.h"
#include "ttm/prime_helpers.h"
#include "vm/vm_helpers.h"

#define HERE	SZ_64M	/* the only mapping of its lowest page table */
#define PAGES	4u
#define BIG	450u	/* pages: less than a user's share for fenced jobs, half of VRAM */
#define BIGGER	600u	/* pages: no room for BIG besides, and more than a share */
#define RESERVE	300u	/* pages of the reserve: the rest has no room for two of BIG */
#define AT_ONCE	(5 * HZ)
#define SURELY	(HZ / 5)

/*
 * struct fenced_world - a fenced job of @client on engine 0 waits for @gate, without a place of the
 * engine, and uses @big, which leaves little of VRAM to other allocations
 */
struct fenced_world {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct submit_client *client;
	struct dma_fence *gate;
	struct pagoda_bo *big;
	struct pagoda_bo *wanted;	/* has no room in VRAM while @big is there */
	struct drm_syncobj *points;
	u64 value;
};

/* Returns a world in which @wanted has @pages pages and the reserve has @reserve pages. */
static struct fenced_world fenced_world_sized(struct kunit *test, u32 pages, u32 reserve)
{
	const struct pagoda_rig_options options = { .engines = true, .reserve = reserve };
	struct fenced_world w = { .test = test, .rig = pagoda_rig_create(test, &options) };
	struct submit_args args = { .fenced = true, .nr_bos = 1 };

	w.client = submit_client(w.rig, 0);
	w.gate = pagoda_test_fence(test);
	w.big = pagoda_rig_bo(w.rig, BIG, VM_CPU, SUBMIT_VRAM, 0);
	w.wanted = pagoda_rig_bo(w.rig, pages, VM_CPU, SUBMIT_VRAM, 0);
	w.points = submit_syncobj(test);
	args.bos[0] = w.big;
	args.in = submit_syncobj(test);
	drm_syncobj_replace_fence(args.in, w.gate);
	KUNIT_ASSERT_EQ(test, 0, submit_map(w.client, w.big, HERE));
	submit_store(w.client, HERE, 7);
	KUNIT_ASSERT_EQ(test, 0, submit_job(w.client, &args));
	KUNIT_ASSERT_TRUE(test, pagoda_bo_is_in_vram(w.big));
	return w;
}

static struct fenced_world fenced_world(struct kunit *test)
{
	return fenced_world_sized(test, BIGGER, 0);
}

static void fenced_go(struct fenced_world *w)
{
	dma_fence_signal(w->gate);
	dma_fence_put(w->gate);
	w->gate = NULL;
}

static void fenced_world_end(struct fenced_world *w)
{
	if (w->gate)
		fenced_go(w);
	KUNIT_EXPECT_EQ(w->test, 0, submit_wait(w->client));
	pagoda_rig_settle(w->rig);
	KUNIT_EXPECT_EQ(w->test, 7ull, submit_word(w->rig, w->big, 0));
	submit_close(w->client, w->big);
	submit_close(w->client, w->wanted);
	submit_client_end(w->client);
}

/*
 * Waits for the last job of a client for at most @time jiffies; returns whether the job has ended.
 */
static bool fenced_is_done(struct submit_client *client, long time)
{
	struct dma_fence *fence;
	bool done;

	KUNIT_ASSERT_TRUE(client->rig->test, submit_point(client->done, client->sent, &fence));
	done = !fence || dma_fence_wait_timeout(fence, false, time) > 0;
	dma_fence_put(fence);
	return done;
}

/*
 * What a fenced job uses is no victim before the job has a place of an engine, so paging doesn't
 * wait for the job.
 */
static void timeline_fenced_stays(struct kunit *test)
{
	struct fenced_world w = fenced_world(test);
	struct pagoda_bo *small = pagoda_rig_bo(w.rig, PAGES, VM_CPU, SUBMIT_VRAM, 0);

	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(w.rig->vidmm, w.rig->engine.vram_size));
	KUNIT_EXPECT_TRUE(test, pagoda_bo_is_in_vram(w.big));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(small));
	KUNIT_EXPECT_TRUE(test, dma_resv_wait_timeout(small->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP,
						      false, AT_ONCE) > 0);
	/* When the job has a place, the allocation is a victim. */
	pagoda_rig_hold(w.rig, 0, true);
	fenced_go(&w);
	KUNIT_EXPECT_FALSE(test, fenced_is_done(w.client, SURELY));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(w.rig->vidmm, w.rig->engine.vram_size));
	KUNIT_EXPECT_FALSE(test, pagoda_bo_is_in_vram(w.big));
	pagoda_rig_hold(w.rig, 0, false);
	pagoda_rig_close(small);
	fenced_world_end(&w);
}

/*
 * Two jobs have both places of the engine, and wait for paging. That paging must not wait for the
 * fenced job, which waits for one of these places.
 */
static void timeline_places_and_fenced(struct kunit *test)
{
	struct fenced_world w = fenced_world(test);
	struct submit_args args = { .nr_bos = 1 };
	struct submit_client *clients[2];
	struct pagoda_bo *bos[2];
	bool done = true;
	u32 i;

	for (i = 0; i < 2; i++) {
		clients[i] = submit_client(w.rig, 0);
		bos[i] = pagoda_rig_bo(w.rig, PAGES, VM_CPU, SUBMIT_VRAM, 0);
		KUNIT_ASSERT_EQ(test, 0, submit_map(clients[i], bos[i], HERE));
	}
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(w.rig->vidmm, w.rig->engine.vram_size));
	for (i = 0; i < 2; i++) {
		args.bos[0] = bos[i];
		submit_store(clients[i], HERE, 9);
		KUNIT_ASSERT_EQ(test, 0, submit_job(clients[i], &args));
	}
	fenced_go(&w);
	for (i = 0; i < 2; i++)
		done = done && fenced_is_done(clients[i], AT_ONCE);
	KUNIT_EXPECT_TRUE(test, done);
	/* If there is a deadlock, a ban of the fenced job's context ends it. */
	if (!done)
		pagoda_exec_context_ban(w.client->context->exec);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, 0, submit_wait(clients[i]));
		KUNIT_EXPECT_EQ(test, 9ull, submit_word(w.rig, bos[i], 0));
		submit_close(clients[i], bos[i]);
		submit_client_end(clients[i]);
	}
	fenced_world_end(&w);
}

static int fenced_submit(void *arg)
{
	struct fenced_world *w = arg;
	struct submit_client *client = submit_client(w->rig, 1);
	const struct submit_args args = { .bos = { w->wanted }, .nr_bos = 1 };
	int ret = submit_empty(client, &args) ?: submit_wait(client);

	submit_client_end(client);
	return ret;
}

static int fenced_make_resident(void *arg)
{
	struct fenced_world *w = arg;
	struct dma_fence *fence = NULL;
	u32 tries = 0;
	u64 trim;
	int ret;

	do {
		dma_fence_put(fence);
		ret = pagoda_rig_make_resident(w->rig, &w->wanted, 1, &fence, &trim);
	} while (pagoda_room_await(&fence, &ret) ||
		 pagoda_room_again(w->rig->vidmm, w->rig->client, &tries, &ret));
	dma_fence_put(fence);
	return ret;
}

static int fenced_page(void *arg)
{
	struct fenced_world *w = arg;
	struct pagoda_client *client = w->rig->client;
	struct pagoda_paging_queue *queue = pagoda_paging_queue_create(w->rig->vidmm, client, 0,
								       w->points);
	struct pagoda_paging_args args = { .bos = &w->wanted, .count = 1 };
	int ret = pagoda_paging_make_resident(queue, &args);

	if (!ret && args.value)
		ret = submit_wait_point(w->points, args.value);
	pagoda_client_drop_lists(client);
	pagoda_paging_queue_put(queue);
	return ret;
}

/*
 * Submits a job that uses @wanted and waits in its context's queue for a point, and signals the
 * point. Returns the error of SUBMIT or of the job, or the context's state.
 */
static int fenced_submit_later(void *arg)
{
	struct fenced_world *w = arg;
	struct submit_client *client = submit_client(w->rig, 1);
	const struct submit_args args = {
		.bos = { w->wanted }, .nr_bos = 1, .in = w->points, .in_point = 1,
	};
	int ret = submit_empty(client, &args);

	submit_signal(client, w->points, 1);
	ret = ret ?: submit_wait(client) ?: (int)submit_state(client).state;
	submit_client_end(client);
	return ret;
}

/*
 * Submits a job that uses @wanted and waits in its context's queue, until a later fenced job has
 * the queued job armed. Returns the error of SUBMIT or of the last job, or the context's state.
 */
static int fenced_submit_before(void *arg)
{
	struct fenced_world *w = arg;
	struct submit_client *client = submit_client(w->rig, 1);
	struct submit_args args = { .bos = { w->wanted }, .nr_bos = 1, .in = w->points };
	struct dma_fence *late = pagoda_test_fence(w->test);
	int ret;

	drm_syncobj_replace_fence(w->points, late);
	ret = submit_empty(client, &args);
	args = (struct submit_args) { .fenced = true };
	ret = ret ?: submit_empty(client, &args);
	dma_fence_signal(late);
	dma_fence_put(late);
	ret = ret ?: submit_wait(client) ?: (int)submit_state(client).state;
	submit_client_end(client);
	return ret;
}

/* A VM_BIND that finds no room for page tables. */
static int fenced_bind(void *arg)
{
	struct fenced_world *w = arg;

	return vmt_map(w->client->vm, w->client->code, 4 * HERE, 0, PAGES * PAGE_SIZE, 0);
}

/* As fenced_bind(), but the VM_BIND waits in the VM's queue for a point. */
static int fenced_bind_later(void *arg)
{
	struct fenced_world *w = arg;
	struct pagoda_bind_job *job = pagoda_bind_job_create(1);
	struct dma_fence *fence;
	int ret;

	job->binds[0] = (struct pagoda_bind) {
		.type = DRM_PAGODA_BIND_MAP, .bo = w->client->code, .address = 4 * HERE,
		.size = PAGES * PAGE_SIZE,
	};
	drm_gem_object_get(pagoda_bo_gem(w->client->code));
	drm_syncobj_get(w->points);
	drm_syncobj_get(w->points);
	ret = pagoda_syncs_add(&job->syncs, w->points, 1, NULL) ?:
	      pagoda_syncs_add(&job->syncs, w->points, 2, dma_fence_chain_alloc());
	job->syncs.list[0].signal = false;
	ret = ret ?: pagoda_vm_bind_job(w->client->vm, job, &fence);
	pagoda_bind_job_put(job);
	submit_signal(w->client, w->points, 1);
	return ret ?: submit_wait_point(w->points, 2) ?: w->client->vm->error;
}

/*
 * struct fenced_way - a SUBMIT, MAKE_RESIDENT or VM_BIND that needs VRAM, deferred or not. @binds:
 * for page tables and not for @wanted; the test fills and pins the VRAM that @big leaves free;
 * @fenced: for a job that counts as a fenced job, so @wanted is small enough for a user's share
 */
struct fenced_way {
	const char *name;
	int (*run)(void *arg);
	bool binds;
	bool fenced;
};

static const struct fenced_way fenced_ways[] = {
	{ "SUBMIT", fenced_submit },
	{ "MAKE_RESIDENT", fenced_make_resident },
	{ "paging queue", fenced_page },
	{ "queued job", fenced_submit_later },
	{ "job before a fenced job", fenced_submit_before, .fenced = true },
	{ "VM_BIND", fenced_bind, .binds = true },
	{ "queued VM_BIND", fenced_bind_later, .binds = true },
};

/*
 * A SUBMIT, MAKE_RESIDENT or VM_BIND, deferred or not, that finds no room in VRAM because of what a
 * fenced job of the same client uses doesn't fail, but waits until that job has ended.
 */
static void timeline_waits_for_own(struct kunit *test)
{
	const struct fenced_way *way = test->param_value;
	struct fenced_world w = way->fenced ? fenced_world_sized(test, BIG, RESERVE) :
					      fenced_world(test);
	struct pagoda_worker worker = { .run = way->run, .arg = &w };
	struct pagoda_bo *rest = NULL;

	if (way->binds) {
		rest = pagoda_rig_bo(w.rig, READ_ONCE(w.rig->vidmm->vram_free) >> PAGE_SHIFT,
				     VM_CPU, SUBMIT_VRAM, 0);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(rest));
		pagoda_rig_pin(rest, true);
	}
	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&worker, HZ));
	KUNIT_EXPECT_TRUE(test, pagoda_bo_is_in_vram(w.big));
	fenced_go(&w);
	pagoda_worker_end(test, &worker);
	pagoda_rig_settle(w.rig);
	KUNIT_EXPECT_TRUE(test, way->binds || pagoda_bo_is_in_vram(w.wanted));
	if (rest) {
		pagoda_rig_pin(rest, false);
		pagoda_rig_close(rest);
	}
	fenced_world_end(&w);
}

KUNIT_ARRAY_PARAM_DESC(fenced_ways, fenced_ways, name);

static const struct fenced_way late_ways[] = {
	{ "SUBMIT", fenced_submit },
	{ "MAKE_RESIDENT", fenced_make_resident },
	{ "paging queue", fenced_page },
	{ "queued job", fenced_submit_later },
};

KUNIT_ARRAY_PARAM_DESC(late_ways, late_ways, name);

/*
 * If the allocation that a SUBMIT or MAKE_RESIDENT, deferred or not, needs in VRAM can't move yet,
 * because the allocation's reservation has a fence of another device, the call or the deferred work
 * waits for that fence without the reservation held, outside of sections.
 */
static void timeline_late_fence(struct kunit *test)
{
	const struct fenced_way *way = test->param_value;
	struct fenced_world w = fenced_world(test);
	struct pagoda_worker worker = { .run = way->run, .arg = &w };
	struct dma_resv *resv = w.wanted->ttm.base.resv;
	bool free;

	fenced_go(&w);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	w.gate = pagoda_test_fence(test);
	pagoda_rig_add_fence(test, resv, w.gate, DMA_RESV_USAGE_BOOKKEEP);
	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&worker, SURELY));
	free = dma_resv_trylock(resv);
	KUNIT_EXPECT_TRUE(test, free);
	if (free)
		dma_resv_unlock(resv);
	fenced_go(&w);
	pagoda_worker_end(test, &worker);
	pagoda_rig_settle(w.rig);
	KUNIT_EXPECT_TRUE(test, pagoda_bo_is_in_vram(w.wanted));
	fenced_world_end(&w);
}

/* Returns whether the queue of the client's context waits for the fence, within five seconds. */
static bool fenced_awaits(struct submit_client *client, struct dma_fence *fence)
{
	unsigned long end = jiffies + AT_ONCE;

	while (READ_ONCE(client->context->deferred.fence) != fence)
		if (fsleep(USEC_PER_MSEC), time_after(jiffies, end))
			return false;
	return true;
}

/*
 * A queued job that can't be made before another device's fence has signalled keeps the fence until
 * its context is destroyed, and no longer.
 */
static void timeline_late_fence_given_up(struct kunit *test)
{
	struct fenced_world w = fenced_world(test);
	struct submit_client *client = submit_client(w.rig, 1);
	const struct submit_args args = {
		.bos = { w.wanted }, .nr_bos = 1, .in = w.points, .in_point = 1,
	};
	struct dma_fence *late = pagoda_test_fence(test);
	u32 refs;

	fenced_go(&w);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	pagoda_rig_add_fence(test, w.wanted->ttm.base.resv, late, DMA_RESV_USAGE_BOOKKEEP);
	refs = kref_read(&late->refcount);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, &args));
	submit_signal(client, w.points, 1);
	KUNIT_EXPECT_TRUE(test, fenced_awaits(client, late));
	KUNIT_EXPECT_LT(test, refs, kref_read(&late->refcount));
	pagoda_context_destroy(client->context);
	client->context = NULL;
	submit_wait(client);
	submit_client_end(client);
	KUNIT_EXPECT_EQ(test, refs, kref_read(&late->refcount));
	dma_fence_signal(late);
	dma_fence_put(late);
	fenced_world_end(&w);
}

static int fenced_export(void *arg)
{
	struct dma_buf *exported = arg;
	struct iosys_map map;
	int ret = dma_buf_vmap_unlocked(exported, &map);

	if (!ret)
		dma_buf_vunmap_unlocked(exported, &map);
	return ret;
}

/*
 * A move for an importer waits in its caller for a fenced job without a place that uses the
 * allocation: paging of other memory goes on.
 */
static void timeline_importer_waits(struct kunit *test)
{
	struct fenced_world w = fenced_world(test);
	struct submit_client *client = submit_client(w.rig, 1);
	struct pagoda_bo *both = pagoda_rig_bo(w.rig, PAGES, VM_CPU, SUBMIT_VRAM | SUBMIT_APERTURE,
					       0);
	struct pagoda_bo *small = pagoda_rig_bo(w.rig, PAGES, VM_CPU, SUBMIT_VRAM, 0);
	struct submit_args args = { .bos = { both }, .nr_bos = 1, .in = w.points, .fenced = true };
	struct pagoda_worker worker = { .run = fenced_export };
	struct dma_buf *exported = prime_export(both);

	KUNIT_ASSERT_NOT_NULL(test, exported);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(both));
	drm_syncobj_replace_fence(w.points, w.gate);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, &args));
	worker.arg = exported;
	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&worker, SURELY));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(small));
	KUNIT_EXPECT_TRUE(test, dma_resv_wait_timeout(small->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP,
						      false, AT_ONCE) > 0);
	fenced_go(&w);
	pagoda_worker_end(test, &worker);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	prime_put(exported);
	pagoda_rig_close(small);
	pagoda_rig_close(both);
	submit_client_end(client);
	fenced_world_end(&w);
}

static int fenced_exceed(void *arg)
{
	struct fenced_world *w = arg;
	struct submit_args args = { .bos = { w->wanted }, .nr_bos = 1, .fenced = true };

	args.in = w->points;
	drm_syncobj_replace_fence(args.in, w->gate);
	submit_store(w->client, 2 * HERE, 9);
	return submit_job(w->client, &args);
}

/*
 * A fenced job holds no more than the user's share of VRAM while it waits for work that has no
 * place of an engine: SUBMIT of a job that uses more waits, and holds nothing, until that work has
 * ended.
 */
static void timeline_fenced_share(struct kunit *test)
{
	struct fenced_world w = fenced_world(test);
	struct pagoda_worker worker = { .run = fenced_exceed, .arg = &w };

	KUNIT_ASSERT_EQ(test, 0, submit_map(w.client, w.wanted, 2 * HERE));
	fenced_go(&w);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	w.gate = pagoda_test_fence(test);
	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&worker, SURELY));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(w.rig->vidmm, w.rig->engine.vram_size));
	KUNIT_EXPECT_FALSE(test, pagoda_bo_is_in_vram(w.wanted));
	fenced_go(&w);
	pagoda_worker_end(test, &worker);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	KUNIT_EXPECT_EQ(test, 9ull, submit_word(w.rig, w.wanted, 0));
	fenced_world_end(&w);
}

/*
 * Allocations of other clients count in what a fenced job may hold: each that is in VRAM, the first
 * that the job lists as well.
 */
static void timeline_fenced_of_others(struct kunit *test)
{
	struct fenced_world w = fenced_world(test);
	struct pagoda_client *mine = w.rig->client, *other = pagoda_client_create(w.rig->vidmm);
	struct submit_args args = { .fenced = true, .in = w.points };
	struct pagoda_bo *code = w.client->code, *theirs;
	u64 usage;

	KUNIT_ASSERT_NOT_NULL(test, other);
	w.rig->client = other;
	theirs = pagoda_rig_bo(w.rig, PAGES, VM_CPU, SUBMIT_VRAM, 0);
	w.rig->client = mine;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(theirs));
	drm_syncobj_replace_fence(args.in, w.gate);
	/* The first allocation of a job is its code, of which a job without commands needs none. */
	w.client->code = theirs;
	KUNIT_EXPECT_EQ(test, 0, submit_empty(w.client, &args));
	w.client->code = code;
	usage = pagoda_budget_usage(&mine->budget, DRM_PAGODA_SEGMENT_GROUP_LOCAL) >> PAGE_SHIFT;
	KUNIT_EXPECT_EQ(test, usage + PAGES,
			pagoda_quota_count(mine->quota, PAGODA_LIMIT_FENCED_PAGES));
	fenced_go(&w);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w.client));
	pagoda_rig_close(theirs);
	pagoda_client_put(other);
	fenced_world_end(&w);
}

static struct kunit_case timeline_fenced_tests[] = {
	KUNIT_CASE(timeline_fenced_stays),
	KUNIT_CASE(timeline_places_and_fenced),
	KUNIT_CASE(timeline_fenced_share),
	KUNIT_CASE(timeline_fenced_of_others),
	KUNIT_CASE(timeline_importer_waits),
	KUNIT_CASE_PARAM(timeline_waits_for_own, fenced_ways_gen_params),
	KUNIT_CASE_PARAM(timeline_late_fence, late_ways_gen_params),
	KUNIT_CASE(timeline_late_fence_given_up),
	{}
};

static struct kunit_suite timeline_fenced_suite = {
	.name = "pagoda_timeline_fenced",
	.test_cases = timeline_fenced_tests,
};

kunit_test_suite(timeline_fenced_suite);
