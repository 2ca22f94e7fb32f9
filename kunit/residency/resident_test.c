// SPDX-License-Identifier: GPL-2.0
/*
 * Residency lists: counts and order against a model, all-or-nothing changes, and that allocations
 * on a client's list are resident when the client's jobs are executed; which evictions the client
 * is told of; and requests that have nothing to do, or wait for other devices.
 */
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sizes.h>
#include "queue/queue_helpers.h"
#include "rig/vidmm_helpers.h"
#include "submit/submit_helpers.h"
#include "uapi/args.h"

#define HERE	SZ_4M
#define MOST	12u
#define PAGES	160u
#define STEPS	4000u

/* The expected state of the residency list of the rig's client. */
struct resident_model {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_bo *bos[MOST];
	u32 counts[MOST];
	u32 order[MOST];
	u32 listed;
	u64 vram;
};

/* Returns whether an allocation supports VRAM only; every third supports the aperture, too. */
static bool resident_needs_vram(u32 index)
{
	return index % 3;
}

static struct resident_model resident_model(struct kunit *test)
{
	struct resident_model m = { .test = test, .rig = submit_rig(test) };
	u32 i;

	for (i = 0; i < MOST; i++) {
		u32 elsewhere = resident_needs_vram(i) ? 0 : SUBMIT_APERTURE;

		m.bos[i] = pagoda_rig_bo(m.rig, PAGES, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
					 SUBMIT_VRAM | elsewhere, 0);
	}
	return m;
}

static void resident_model_end(struct resident_model *m)
{
	u32 i;

	pagoda_client_drop_lists(m->rig->client);
	for (i = 0; i < MOST; i++) {
		KUNIT_EXPECT_EQ(m->test, 0u, pagoda_require_clients(m->bos[i]));
		pagoda_rig_close(m->bos[i]);
	}
}

static void resident_model_add(struct resident_model *m, u32 index)
{
	if (m->counts[index]++)
		return;
	m->order[m->listed++] = index;
	if (resident_needs_vram(index))
		m->vram += PAGES * PAGE_SIZE;
}

static void resident_model_take(struct resident_model *m, u32 index, u32 times)
{
	u32 at = 0;

	m->counts[index] -= times;
	if (m->counts[index])
		return;
	while (m->order[at] != index)
		at++;
	m->listed--;
	memmove(&m->order[at], &m->order[at + 1], (m->listed - at) * sizeof(m->order[0]));
	if (resident_needs_vram(index))
		m->vram -= PAGES * PAGE_SIZE;
}

static void resident_expect_model(struct resident_model *m)
{
	struct pagoda_requirements *reqs = m->rig->client->requirements;
	struct pagoda_requirement *req;
	u32 i, at = 0;

	for (i = 0; i < MOST; i++) {
		KUNIT_ASSERT_EQ(m->test, m->counts[i],
				pagoda_require_count(m->rig->client, m->bos[i]));
		KUNIT_ASSERT_EQ(m->test, m->counts[i] ? 1u : 0u,
				pagoda_require_clients(m->bos[i]));
	}
	KUNIT_ASSERT_EQ(m->test, m->listed, reqs->count);
	KUNIT_ASSERT_EQ(m->test, m->vram, reqs->demand.only_vram);
	list_for_each_entry(req, &reqs->list, entry) {
		KUNIT_ASSERT_LT(m->test, at, m->listed);
		KUNIT_ASSERT_PTR_EQ(m->test, m->bos[m->order[at]], req->bo);
		at++;
	}
	KUNIT_ASSERT_EQ(m->test, m->listed, at);
}

/* Draws distinct indices in random order; returns their number. */
static u32 resident_draw(struct rnd_state *rnd, u32 *indices)
{
	u32 count = 1 + pagoda_kunit_below(rnd, MOST), i, other;

	for (i = 0; i < MOST; i++)
		indices[i] = i;
	for (i = 0; i < count; i++) {
		other = i + pagoda_kunit_below(rnd, MOST - i);
		swap(indices[i], indices[other]);
	}
	return count;
}

static void resident_step_make(struct resident_model *m, struct pagoda_bo **bos,
			       const u32 *indices, u32 count)
{
	u64 room = PAGODA_RIG_VRAM_PAGES * PAGE_SIZE, need = m->vram, trim;
	u32 i;
	int ret;

	for (i = 0; i < count; i++)
		if (resident_needs_vram(indices[i]) && !m->counts[indices[i]])
			need += PAGES * PAGE_SIZE;
	ret = pagoda_require(m->rig->client, bos, count, &trim);
	KUNIT_ASSERT_EQ(m->test, need > room ? -ENOMEM : 0, ret);
	KUNIT_ASSERT_EQ(m->test, need > room ? need - room : 0, trim);
	for (i = 0; i < count && !ret; i++)
		resident_model_add(m, indices[i]);
}

static void resident_step_evict(struct resident_model *m, struct pagoda_bo **bos,
				const u32 *indices, u32 count)
{
	int expected = 0;
	u32 i;

	for (i = 0; i < count; i++)
		if (!m->counts[indices[i]])
			expected = -ENOENT;
	KUNIT_ASSERT_EQ(m->test, expected,
			pagoda_require_release(m->rig->client, bos, count, false, 0));
	for (i = 0; i < count && !expected; i++)
		resident_model_take(m, indices[i], 1);
}

static void resident_step(struct resident_model *m, struct rnd_state *rnd)
{
	u32 indices[MOST], count = resident_draw(rnd, indices), i;
	struct pagoda_bo *bos[MOST];

	switch (pagoda_kunit_below(rnd, 8)) {
	case 0:
		pagoda_require_forget(m->rig->client, m->bos[indices[0]]);
		if (m->counts[indices[0]])
			resident_model_take(m, indices[0], m->counts[indices[0]]);
		return;
	case 1:
		for (i = 0; i < count; i++)
			bos[i] = m->bos[indices[i]];
		pagoda_require_take_back(m->rig->client, bos, count);
		for (i = 0; i < count; i++)
			if (m->counts[indices[i]])
				resident_model_take(m, indices[i], 1);
		return;
	case 2:
	case 3:
	case 4:
		count = 1 + count % 3;
		break;
	}
	for (i = 0; i < count; i++)
		bos[i] = m->bos[indices[i]];
	if (pagoda_kunit_below(rnd, 2))
		resident_step_make(m, bos, indices, count);
	else
		resident_step_evict(m, bos, indices, count);
}

/*
 * After each random step the list has the model's counts, order and demand, or the request fails
 * with the errno and the bytes to trim that the model predicts.
 */
static void resident_counts_as_the_model(struct kunit *test)
{
	struct resident_model m = resident_model(test);
	struct rnd_state rnd;
	u32 i, full = 0;

	pagoda_kunit_seed(test, &rnd);
	for (i = 0; i < STEPS; i++) {
		resident_step(&m, &rnd);
		PAGODA_PROVES(C146, C147);
		resident_expect_model(&m);
		full += m.listed > MOST / 2;
	}
	KUNIT_EXPECT_GT(test, full, 10u);
	resident_model_end(&m);
}

/* If one count would overflow, or one allocation isn't on the list, no count changes. */
static void resident_none_if_not_all(struct kunit *test)
{
	struct resident_model m = resident_model(test);
	struct pagoda_client *client = m.rig->client;
	struct pagoda_requirement *req;
	u64 trim;

	resident_step_make(&m, &m.bos[1], (const u32 []){ 1 }, 1);
	req = xa_load(&client->requirements->by_id, m.bos[1]->id);
	KUNIT_ASSERT_NOT_NULL(test, req);
	req->count = U32_MAX;
	m.counts[1] = U32_MAX;
	PAGODA_PROVES(C147);
	KUNIT_EXPECT_EQ(test, -EOVERFLOW, pagoda_require(client, m.bos, 3, &trim));
	KUNIT_EXPECT_EQ(test, 0ull, trim);
	resident_expect_model(&m);
	KUNIT_EXPECT_EQ(test, 0, pagoda_require_release(client, &m.bos[1], 1, false, 0));
	m.counts[1]--;
	resident_expect_model(&m);
	KUNIT_EXPECT_EQ(test, 0, pagoda_require(client, &m.bos[1], 2, &trim));
	resident_model_add(&m, 1);
	resident_model_add(&m, 2);
	resident_expect_model(&m);
	KUNIT_EXPECT_EQ(test, -ENOENT, pagoda_require_release(client, m.bos, 3, false, 0));
	resident_expect_model(&m);
	resident_model_end(&m);
}

/*
 * An eviction requested by one client leaves an allocation in VRAM while another client has it on
 * its list.
 */
static void resident_stays_for_others(struct kunit *test)
{
	struct resident_model m = resident_model(test);
	struct pagoda_client *other = pagoda_client_create(m.rig->vidmm);
	struct pagoda_bo *bo = m.bos[1];
	struct dma_fence *fence;
	u64 trim;

	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(m.rig->client, &bo, 1, &trim));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(other, &bo, 1, &trim));
	KUNIT_EXPECT_EQ(test, 2u, pagoda_require_clients(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require_release(m.rig->client, &bo, 1, false, 0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_evict(m.rig, &bo, 1, &fence));
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, TTM_PL_VRAM, bo->ttm.resource->mem_type);
	/* Drop the other client's counts, as when the client is closed. */
	pagoda_client_drop_lists(other);
	KUNIT_EXPECT_EQ(test, 0u, pagoda_require_clients(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_evict(m.rig, &bo, 1, &fence));
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, TTM_PL_SYSTEM, bo->ttm.resource->mem_type);
	pagoda_client_put(other);
	resident_model_end(&m);
}

/* Opens a listener of the client's events, none of which is of a budget: no budget changes here. */
static struct file *resident_listener(struct resident_model *m)
{
	int fd = pagoda_listener_open(m->rig->vidmm, m->rig->client, true);
	struct file *file;

	KUNIT_ASSERT_LE(m->test, 0, fd);
	file = fget(fd);
	KUNIT_EXPECT_EQ(m->test, 0, close_fd(fd));
	KUNIT_ASSERT_NOT_NULL(m->test, file);
	return file;
}

static bool resident_has_news(struct file *file)
{
	return vfs_poll(file, NULL) & EPOLLIN;
}

/* A client gets an event if an allocation on its list leaves VRAM as a victim, and only then. */
static void resident_tells_who_leaves(struct kunit *test)
{
	struct resident_model m = resident_model(test);
	struct file *file = resident_listener(&m);
	struct pagoda_bo *bo = m.bos[1];
	u64 trim;

	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(m.rig->vidmm, U64_MAX));
	KUNIT_EXPECT_EQ(test, TTM_PL_SYSTEM, bo->ttm.resource->mem_type);
	KUNIT_EXPECT_FALSE(test, resident_has_news(file));
	KUNIT_EXPECT_EQ(test, 0, pagoda_require(m.rig->client, &bo, 1, &trim));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_FALSE(test, resident_has_news(file));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_FALSE(test, resident_has_news(file));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_trim(m.rig->vidmm, U64_MAX));
	KUNIT_EXPECT_EQ(test, TTM_PL_SYSTEM, bo->ttm.resource->mem_type);
	KUNIT_EXPECT_TRUE(test, resident_has_news(file));
	fput(file);
	flush_delayed_fput();
	resident_model_end(&m);
}

static bool resident_is_made(struct resident_model *m, bool again)
{
	return pagoda_residency_is_made(m->rig->client, m->bos, 3, again);
}

static void resident_make(struct resident_model *m)
{
	struct dma_fence *fence;
	u64 trim;

	KUNIT_ASSERT_EQ(m->test, 0, pagoda_rig_make_resident(m->rig, m->bos, 3, &fence, &trim));
	if (fence)
		dma_fence_wait(fence, false);
	dma_fence_put(fence);
}

/*
 * A list of resident allocations has nothing left to do for MAKE_RESIDENT, unless an allocation was
 * evicted or offered, or its reservation is held.
 */
static void resident_made_again(struct kunit *test)
{
	struct resident_model m = resident_model(test);
	struct pagoda_bo *bo = m.bos[2];
	struct dma_fence *fence;

	KUNIT_EXPECT_FALSE(test, resident_is_made(&m, true));
	resident_make(&m);
	KUNIT_EXPECT_TRUE(test, resident_is_made(&m, true));
	/* The reservation of one allocation is held. */
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_FALSE(test, resident_is_made(&m, true));
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_evict(m.rig, &bo, 1, &fence));
	dma_fence_put(fence);
	KUNIT_EXPECT_FALSE(test, resident_is_made(&m, true));
	resident_make(&m);
	KUNIT_EXPECT_TRUE(test, resident_is_made(&m, true));
	KUNIT_ASSERT_EQ(test, 0, pagoda_offer(m.rig->vidmm, &bo, 1, DRM_PAGODA_OFFER_LOW, 0));
	KUNIT_EXPECT_FALSE(test, resident_is_made(&m, true));
	resident_model_end(&m);
}

/*
 * MAKE_RESIDENT has something left to do for an allocation that was released: to count it as wanted
 * again, but only when nothing of the list can fail any more.
 */
static void resident_made_of_released(struct kunit *test)
{
	struct resident_model m = resident_model(test);
	struct pagoda_bo *bo = m.bos[0];

	resident_make(&m);
	WRITE_ONCE(bo->wish.released, true);
	pagoda_wish_changed(bo);
	KUNIT_EXPECT_FALSE(test, resident_is_made(&m, true));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(bo->wish.released));
	resident_make(&m);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(bo->wish.released));
	KUNIT_EXPECT_TRUE(test, resident_is_made(&m, true));
	resident_model_end(&m);
}

/*
 * An allocation that prefers VRAM and is in the aperture counts as resident, but MAKE_RESIDENT
 * still has to bring it to VRAM.
 */
static void resident_made_elsewhere(struct kunit *test)
{
	struct resident_model m = resident_model(test);

	resident_make(&m);
	KUNIT_ASSERT_EQ(test, TTM_PL_VRAM, m.bos[0]->ttm.resource->mem_type);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(m.bos[0], true));
	dma_resv_wait_timeout(m.bos[0]->ttm.base.resv, DMA_RESV_USAGE_KERNEL, false,
			      MAX_SCHEDULE_TIMEOUT);
	KUNIT_EXPECT_TRUE(test, resident_is_made(&m, false));
	KUNIT_EXPECT_FALSE(test, resident_is_made(&m, true));
	resident_make(&m);
	KUNIT_EXPECT_EQ(test, TTM_PL_VRAM, m.bos[0]->ttm.resource->mem_type);
	resident_model_end(&m);
}

static bool resident_is_placed(struct pagoda_bo *bo)
{
	bool placed;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	placed = pagoda_residency_is_placed(bo);
	dma_resv_unlock(bo->ttm.base.resv);
	return placed;
}

/*
 * The GPU can use an allocation in VRAM, and in scattered pages of the aperture unless the
 * allocation is accessed physically: then it needs an address there.
 */
static void resident_where_usable(struct kunit *test)
{
	static const u32 flags[] = { 0, DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY };
	struct pagoda_rig *rig = submit_rig(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		struct pagoda_bo *bo = pagoda_rig_bo(rig, 1, flags[i],
						     SUBMIT_VRAM | SUBMIT_APERTURE, 0);

		KUNIT_EXPECT_FALSE(test, resident_is_placed(bo));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
		KUNIT_EXPECT_EQ(test, !flags[i], resident_is_placed(bo));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
		KUNIT_EXPECT_TRUE(test, resident_is_placed(bo));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
		KUNIT_EXPECT_TRUE(test, resident_is_placed(bo));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
		KUNIT_EXPECT_FALSE(test, resident_is_placed(bo));
		pagoda_rig_close(bo);
	}
}

/* ---- Work ------------------------------------------------------------------------- */

/*
 * Allocations that a job's VM maps are resident for the job if they are on the client's residency
 * list, although the job doesn't list them. An allocation that is on neither list stays in system
 * memory, and a job that uses the allocation faults.
 */
static void resident_when_executed(struct kunit *test)
{
	struct resident_model m = resident_model(test);
	struct submit_client *client = submit_client(m.rig, 0);
	u64 trim;
	u32 i;

	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(m.bos[i]));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(m.bos[i]));
		pagoda_rig_write(m.rig, m.bos[i], i);
		KUNIT_ASSERT_EQ(test, 0, submit_map(client, m.bos[i], HERE + i * SZ_2M));
	}
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(m.rig->client, m.bos, 2, &trim));
	for (i = 0; i < 2; i++) {
		submit_compare(client, HERE + i * SZ_2M, submit_word(m.rig, m.bos[i], 0));
		submit_store(client, HERE + i * SZ_2M + 8, 70 + i);
	}
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	PAGODA_PROVES(C152);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_NE(test, TTM_PL_SYSTEM, m.bos[i]->ttm.resource->mem_type);
		KUNIT_EXPECT_EQ(test, 70ull + i, submit_word(m.rig, m.bos[i], 8));
	}
	KUNIT_EXPECT_EQ(test, TTM_PL_SYSTEM, m.bos[2]->ttm.resource->mem_type);
	/*
	 * An allocation that was evicted comes back for the next job, as long as it is on the list.
	 */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(m.bos[1]));
	submit_compare(client, HERE + SZ_2M + 8, 71);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 0u, submit_state(client).state);
	KUNIT_ASSERT_EQ(test, 0, pagoda_require_release(m.rig->client, &m.bos[1], 1, false, 0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(m.bos[1]));
	submit_compare(client, HERE + SZ_2M + 8, 71);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_NE(test, 0, submit_wait(client));
	KUNIT_EXPECT_NE(test, 0u, submit_state(client).state & DRM_PAGODA_CONTEXT_FAULTED);
	for (i = 0; i < 3; i++)
		pagoda_vm_forget(client->vm, m.bos[i]);
	submit_client_end(client);
	resident_model_end(&m);
}

/*
 * An allocation that a job uses stays where the job can use it until the job has ended, even if the
 * client takes the allocation off its list and calls EVICT.
 */
static void resident_while_executed(struct kunit *test)
{
	struct resident_model m = resident_model(test);
	struct submit_client *client = submit_client(m.rig, 0);
	struct dma_fence *fence;
	u64 trim;

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, m.bos[1], HERE));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(m.rig->client, &m.bos[1], 1, &trim));
	pagoda_rig_hold(m.rig, 0, true);
	submit_store(client, HERE + 16, 5);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_FALSE(test, pagoda_rig_idle(m.bos[1]));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require_release(m.rig->client, &m.bos[1], 1, false, 0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_evict(m.rig, &m.bos[1], 1, &fence));
	pagoda_rig_hold(m.rig, 0, false);
	PAGODA_PROVES(C152, C154);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, 5ull, submit_word(m.rig, m.bos[1], 16));
	pagoda_vm_forget(client->vm, m.bos[1]);
	submit_client_end(client);
	resident_model_end(&m);
}

/* A reset of the device loses content of VRAM, but no counts of residency lists. */
static void resident_survives_resets(struct kunit *test)
{
	struct resident_model m = resident_model(test);
	struct submit_client *client = submit_client(m.rig, 0);
	u64 trim;

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, m.bos[1], HERE));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(m.rig->client, &m.bos[1], 1, &trim));
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(m.rig->vidmm));
	KUNIT_EXPECT_EQ(test, 1u, pagoda_require_count(m.rig->client, m.bos[1]));
	submit_store(client, HERE + 24, 6);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 6ull, submit_word(m.rig, m.bos[1], 24));
	pagoda_vm_forget(client->vm, m.bos[1]);
	submit_client_end(client);
	resident_model_end(&m);
}

/* Returns true when the point has a fence, and the fence in @fence; false after five seconds. */
static bool resident_has_point(struct drm_syncobj *points, u64 value, struct dma_fence **fence)
{
	unsigned long end = jiffies + 5 * HZ;

	while (!submit_point(points, value, fence))
		if (fsleep(USEC_PER_MSEC), time_after(jiffies, end))
			return false;
	return true;
}

/*
 * If another device's move of an allocation hasn't ended, MAKE_RESIDENT neither waits for its fence
 * nor keeps the reservation locked: the request's point gets a fence that waits for the move.
 */
static void resident_shared(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, 0, SUBMIT_VRAM, 0);
	struct drm_syncobj *points = submit_syncobj(test);
	struct pagoda_paging_queue *queue = pagoda_paging_queue_create(rig->vidmm, rig->client, 0,
								       points);
	struct pagoda_paging_args args = { .bos = &bo, .count = 1 };
	struct dma_fence *fence = pagoda_test_fence(test), *point = NULL;

	KUNIT_ASSERT_FALSE(test, IS_ERR(queue));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	pagoda_rig_add_fence(test, bo->ttm.base.resv, fence, DMA_RESV_USAGE_KERNEL);
	KUNIT_ASSERT_EQ(test, 0, pagoda_paging_make_resident(queue, &args));
	KUNIT_ASSERT_NE(test, 0ull, args.value);
	KUNIT_EXPECT_TRUE(test, resident_has_point(points, args.value, &point));
	if (dma_resv_trylock(bo->ttm.base.resv))
		dma_resv_unlock(bo->ttm.base.resv);
	else
		KUNIT_FAIL(test, "the list is locked");
	KUNIT_EXPECT_TRUE(test, point && !dma_fence_is_signaled(point));
	dma_fence_put(point);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, 0, submit_wait_point(points, args.value));
	pagoda_client_drop_lists(rig->client);
	pagoda_paging_queue_put(queue);
	pagoda_rig_close(bo);
}

static struct kunit_case resident_cases[] = {
	KUNIT_CASE(resident_shared),
	KUNIT_CASE(resident_counts_as_the_model),
	KUNIT_CASE(resident_none_if_not_all),
	KUNIT_CASE(resident_stays_for_others),
	KUNIT_CASE(resident_tells_who_leaves),
	KUNIT_CASE(resident_made_again),
	KUNIT_CASE(resident_made_of_released),
	KUNIT_CASE(resident_made_elsewhere),
	KUNIT_CASE(resident_where_usable),
	KUNIT_CASE_PARAM(resident_when_executed, pagoda_rig_modes),
	KUNIT_CASE(resident_while_executed),
	KUNIT_CASE_PARAM(resident_survives_resets, pagoda_rig_update_modes),
	{ }
};

static struct kunit_suite resident_suite = {
	.name = "pagoda_resident",
	.test_cases = resident_cases,
};

kunit_test_suite(resident_suite);
