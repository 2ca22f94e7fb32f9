// SPDX-License-Identifier: GPL-2.0
/*
 * Offered allocations: evicted before any other allocation, in order and without a copy, although
 * queued jobs still find the content; refused by other calls; not accessible by CPU mappings or, if
 * private to a VM, by its jobs. And priorities, which order the other allocations.
 */
#include <kunit/static_stub.h>
#include <linux/sizes.h>
#include <drm/drm_syncobj.h>
#include "rig/map.h"
#include "rig/spy.h"
#include "offer_helpers.h"

#define HERE		SZ_4M

static void fill_vram(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		bos[i] = piece(rig, CPU, SUBMIT_VRAM, i);
}

/*
 * Makes an allocation of half a piece resident, with the highest priority: beside it and seven
 * pieces VRAM has no room for another piece, whether or not the rig's page tables are in VRAM.
 */
static struct pagoda_bo *plug_vram(struct pagoda_rig *rig)
{
	static const u32 highest = DRM_PAGODA_RESIDENCY_MAXIMUM;
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PIECE / 2, 0, SUBMIT_VRAM, 0);

	KUNIT_ASSERT_EQ(rig->test, 0, make_resident(rig, bo));
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_set_priority(rig->vidmm, &bo, &highest, 1));
	return bo;
}

/*
 * Makes *@fresh, a new piece, resident; returns the index in @bos of the piece that left VRAM for
 * it, or @count if none left. Expects that no more than one piece left.
 */
static u32 who_leaves(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count,
		      struct pagoda_bo **fresh)
{
	u32 i, left = count;
	bool was[8];

	for (i = 0; i < count; i++)
		was[i] = in_vram(bos[i]);
	*fresh = pagoda_rig_bo(rig, PIECE, 0, SUBMIT_VRAM, 0);
	KUNIT_ASSERT_EQ(rig->test, 0, make_resident(rig, *fresh));
	for (i = 0; i < count; i++) {
		if (!was[i] || in_vram(bos[i]))
			continue;
		KUNIT_EXPECT_EQ(rig->test, left, count);
		left = i;
	}
	return left;
}

/* ---- Order --------------------------------------------------------------------- */

/*
 * Offered allocations leave first, by rank and then in the order of offers, without a copy; the
 * others leave by priority, with their content copied.
 */
static void offer_order(struct kunit *test)
{
	static const u32 ranks[] = {
		[1] = DRM_PAGODA_OFFER_HIGH, [2] = DRM_PAGODA_OFFER_LOW,
		[4] = DRM_PAGODA_OFFER_NORMAL, [5] = DRM_PAGODA_OFFER_LOW,
		[6] = DRM_PAGODA_OFFER_AUTO,
	};
	static const u32 expected[] = { 5, 2, 4, 6, 1, 0, 3 };
	static const u32 lowest = DRM_PAGODA_RESIDENCY_MINIMUM;
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bos[7], *fresh[ARRAY_SIZE(expected)], *plug;
	atomic64_t *discarded = &rig->vidmm->stats.discarded;
	s64 before = atomic64_read(discarded);
	u32 i;

	fill_vram(rig, bos, 7);
	plug = plug_vram(rig);
	pagoda_rig_settle(rig);
	/* bos[5] is offered before bos[2], which has the same rank; the others by index. */
	KUNIT_ASSERT_EQ(test, 0, offer(rig, bos[5], ranks[5]));
	for (i = 0; i < ARRAY_SIZE(ranks); i++)
		if (ranks[i] && i != 5)
			KUNIT_ASSERT_EQ(test, 0, offer(rig, bos[i], ranks[i]));
	KUNIT_ASSERT_EQ(test, 0, pagoda_set_priority(rig->vidmm, &bos[0], &lowest, 1));
	/*
	 * Use bos[0] last: only by its priority it leaves before bos[3], the other allocation that
	 * isn't offered.
	 */
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[0]));
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		u32 left = who_leaves(rig, bos, 7, &fresh[i]);

		PAGODA_PROVES(C168, C169);
		KUNIT_ASSERT_EQ_MSG(test, left, expected[i], "for number %u", i);
		KUNIT_EXPECT_EQ(test, bos[left]->offer.discarded, left != 0 && left != 3);
	}
	KUNIT_EXPECT_EQ(test, before + 5 * ((s64)PIECE << PAGE_SHIFT), atomic64_read(discarded));
	pagoda_rig_settle(rig);
	for (i = 0; i < 7; i++) {
		u32 copies = pagoda_rig_count(rig, pagoda_rig_copy_op(rig), bos[i]->id);
		u32 discards = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, bos[i]->id);

		KUNIT_EXPECT_EQ(test, !copies, bos[i]->offer.discarded);
		KUNIT_EXPECT_EQ(test, !discards, !bos[i]->offer.discarded);
	}
	close_all(fresh, ARRAY_SIZE(expected));
	close_all(bos, 7);
	pagoda_rig_close(plug);
}

/* Allocations leave in the order of their priorities, whose steps are finer than TTM's. */
static void priority_order(struct kunit *test)
{
	static const u32 priorities[] = {
		DRM_PAGODA_RESIDENCY_HIGH, DRM_PAGODA_RESIDENCY_MINIMUM,
		DRM_PAGODA_RESIDENCY_NORMAL + 1, DRM_PAGODA_RESIDENCY_NORMAL - 1,
		DRM_PAGODA_RESIDENCY_LOW - 1, DRM_PAGODA_RESIDENCY_LOW,
		DRM_PAGODA_RESIDENCY_MAXIMUM,
	};
	static const u32 expected[] = { 1, 4, 5, 3, 2, 0 };
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bos[7], *fresh[ARRAY_SIZE(expected)] = {}, *plug;
	static const u32 highest = DRM_PAGODA_RESIDENCY_MAXIMUM;
	u32 i;

	fill_vram(rig, bos, 7);
	KUNIT_ASSERT_EQ(test, 0, pagoda_set_priority(rig->vidmm, bos, priorities, 7));
	plug = plug_vram(rig);
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		PAGODA_PROVES(C168);
		KUNIT_EXPECT_EQ_MSG(test, who_leaves(rig, bos, 7, &fresh[i]), expected[i],
				    "for number %u", i);
		KUNIT_ASSERT_EQ(test, 0, pagoda_set_priority(rig->vidmm, &fresh[i], &highest, 1));
	}
	KUNIT_EXPECT_TRUE(test, in_vram(bos[6]));
	/* Moves don't change the priority. */
	KUNIT_EXPECT_EQ(test, bos[1]->ttm.priority, 0u);
	close_all(fresh, ARRAY_SIZE(expected));
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[1]));
	KUNIT_EXPECT_EQ(test, bos[1]->ttm.priority, 0u);
	KUNIT_EXPECT_EQ(test, bos[1]->wish.priority, DRM_PAGODA_RESIDENCY_MINIMUM);
	KUNIT_EXPECT_EQ(test, pagoda_priority_step(bos[1]), 1u);
	KUNIT_EXPECT_EQ(test, pagoda_priority_step(bos[5]), 5u);
	KUNIT_EXPECT_EQ(test, pagoda_priority_step(bos[6]), PAGODA_PRIORITY_STEPS - 1);
	close_all(bos, 7);
	pagoda_rig_close(plug);
}

/* ---- Fences ---------------------------------------------------------------------- */

/* An allocation that is offered while a queued job uses it keeps its content for that job. */
static void offer_waits_for_jobs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *used = pagoda_rig_bo(rig, PIECE, CPU, SUBMIT_VRAM, 0);
	struct pagoda_bo *out = pagoda_rig_bo(rig, 1, CPU, SUBMIT_APERTURE, 0);
	struct submit_args args = { .bos = { used, out }, .nr_bos = 2 };
	struct pagoda_bo *other = pagoda_rig_bo(rig, PIECE, CPU, SUBMIT_VRAM, 0);
	struct pagoda_bo *rest[8] = {};
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, used, HERE));
	KUNIT_ASSERT_EQ(test, 0, submit_map(client, out, HERE + SZ_2M));
	submit_store(client, HERE, 77);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, other));
	pagoda_rig_write(rig, other, 5);
	pagoda_rig_settle(rig);

	pagoda_rig_hold(rig, 0, true);
	submit_copy(client, HERE, HERE + SZ_2M, 8);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, used, DRM_PAGODA_OFFER_LOW));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, other, DRM_PAGODA_OFFER_HIGH));
	/* Of the two offered allocations the idle one leaves first, although its rank is higher. */
	for (i = 0; in_vram(other) && i < ARRAY_SIZE(rest); i++) {
		rest[i] = pagoda_rig_bo(rig, PIECE, 0, SUBMIT_VRAM, 0);
		KUNIT_ASSERT_EQ(test, 0, make_resident(rig, rest[i]));
	}
	PAGODA_PROVES(C170);
	KUNIT_EXPECT_TRUE(test, other->offer.discarded);
	KUNIT_EXPECT_TRUE(test, in_vram(used));
	/*
	 * Only the used allocation is left to be discarded: make_resident() doesn't wait for the
	 * job, the DISCARD_CONTENT in the stream does.
	 */
	rest[7] = pagoda_rig_bo(rig, PIECE, 0, SUBMIT_VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, rest[7]));
	KUNIT_EXPECT_TRUE(test, used->offer.discarded);
	KUNIT_EXPECT_FALSE(test, pagoda_rig_idle(used));
	KUNIT_EXPECT_EQ(test, 0u, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT,
						   used->id));
	pagoda_rig_hold(rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 77ull, submit_word(rig, out, 0));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_NE(test, 0u, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT,
						   used->id));
	close_all(rest, ARRAY_SIZE(rest));
	pagoda_vm_forget(client->vm, used);
	pagoda_vm_forget(client->vm, out);
	submit_client_end(client);
	pagoda_rig_close(used);
	pagoda_rig_close(out);
	pagoda_rig_close(other);
}

/* ---- Refusals ---------------------------------------------------------------------- */

/*
 * Offered allocations can't be made resident, listed by SUBMIT or accessed (-ENODATA), nor offered
 * twice (-EALREADY), and waiting jobs keep the allocations they list from being offered (-EBUSY).
 */
static void offer_refused(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bos[2] = {
		pagoda_rig_bo(rig, 2, CPU, EITHER, 0), pagoda_rig_bo(rig, 2, CPU, EITHER, 0),
	};
	struct submit_args args = { .bos = { bos[0] }, .nr_bos = 1 };
	u8 byte;

	KUNIT_EXPECT_EQ(test, -EINVAL, reclaim(rig, bos[0]));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, bos[0], DRM_PAGODA_OFFER_NORMAL));
	KUNIT_EXPECT_EQ(test, -EALREADY, offer(rig, bos[0], DRM_PAGODA_OFFER_LOW));
	/* All or none of a list is offered. */
	swap(bos[0], bos[1]);
	KUNIT_EXPECT_EQ(test, -EALREADY, pagoda_offer(rig->vidmm, bos, 2, DRM_PAGODA_OFFER_LOW, 0));
	KUNIT_EXPECT_FALSE(test, pagoda_bo_is_offered(bos[0]));
	swap(bos[0], bos[1]);
	PAGODA_PROVES(C171);
	KUNIT_EXPECT_EQ(test, -ENODATA, make_resident(rig, bos[0]));
	KUNIT_EXPECT_EQ(test, -ENODATA, submit_empty(client, &args));
	dma_resv_lock(bos[0]->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, -ENODATA, pagoda_move_access(bos[0], 0, &byte, 1, false));
	dma_resv_unlock(bos[0]->ttm.base.resv);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_OK, reclaim(rig, bos[0]));
	KUNIT_EXPECT_EQ(test, 0, submit_empty(client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));

	/* A job that was accepted and waits needs the allocation. */
	args.in = submit_syncobj(test);
	args.in_point = 1;
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, &args));
	KUNIT_EXPECT_EQ(test, -EBUSY, offer(rig, bos[0], DRM_PAGODA_OFFER_LOW));
	KUNIT_EXPECT_EQ(test, 0, offer(rig, bos[1], DRM_PAGODA_OFFER_LOW));
	args.bos[0] = bos[1];
	KUNIT_EXPECT_EQ(test, -ENODATA, submit_empty(client, &args));
	submit_signal(client, args.in, 1);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 0u, submit_state(client).state);
	submit_client_end(client);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&bos[0]->wish.queued));
	KUNIT_EXPECT_EQ(test, 0, offer(rig, bos[0], DRM_PAGODA_OFFER_LOW));
	close_all(bos, 2);
}

/* ---- VM_BIND at the same time ---------------------------------------------------------- */

/*
 * A VM_BIND of @bo, which waits for point 1 of @in: @job until offer_bind_run() has submitted it;
 * @ret: VM_BIND's result.
 */
struct offer_bind {
	struct submit_client *client;
	struct drm_syncobj *in;
	struct pagoda_bind_job *job;
	struct pagoda_worker worker;
	int ret;
};

/* The VM_BIND of offer_meets(): a static stub gets only the arguments of the replaced function. */
static struct offer_bind *offer_bind_now;

static void offer_bind_make(struct offer_bind *bind, struct submit_client *client,
			    struct pagoda_bo *bo)
{
	struct kunit *test = client->rig->test;

	*bind = (struct offer_bind) { .client = client, .in = submit_syncobj(test) };
	bind->job = pagoda_bind_job_create(1);
	KUNIT_ASSERT_NOT_NULL(test, bind->job);
	bind->job->binds[0] = (struct pagoda_bind) {
		.type = DRM_PAGODA_BIND_MAP, .bo = bo, .address = HERE,
		.size = pagoda_bo_gem(bo)->size,
	};
	drm_gem_object_get(pagoda_bo_gem(bo));
	drm_syncobj_get(bind->in);
	KUNIT_ASSERT_EQ(test, 0, pagoda_syncs_add(&bind->job->syncs, bind->in, 1, NULL));
	bind->job->syncs.list[0].signal = false;
}

static int offer_bind_run(void *arg)
{
	struct offer_bind *bind = arg;
	struct dma_fence *fence;

	bind->ret = pagoda_vm_bind_job(bind->client->vm, bind->job, &fence);
	dma_fence_put(fence);
	pagoda_bind_job_put(bind->job);
	return 0;
}

/*
 * Replaces the first pagoda_offer_check_work(): queues the VM_BIND just after OFFER's first look.
 */
static int offer_meets(const struct pagoda_bo *bo)
{
	struct offer_bind *bind = offer_bind_now;
	struct kunit *test = bind->client->rig->test;
	int ret;

	kunit_deactivate_static_stub(test, pagoda_offer_check_work);
	ret = pagoda_offer_check_work(bo);
	bind->worker = (struct pagoda_worker) { .run = offer_bind_run, .arg = bind };
	pagoda_worker_start(test, &bind->worker);
	pagoda_worker_end(test, &bind->worker);
	return ret;
}

/*
 * A VM_BIND that is queued between OFFER's checks and its marks keeps the allocation from being
 * offered, until the VM_BIND is done.
 */
static void offer_meets_a_bind(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 2, CPU, EITHER, 0);
	struct offer_bind bind;

	offer_bind_make(&bind, client, bo);
	offer_bind_now = &bind;
	kunit_activate_static_stub(test, pagoda_offer_check_work, offer_meets);
	KUNIT_EXPECT_EQ(test, -EBUSY, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
	KUNIT_EXPECT_EQ(test, 0, bind.ret);
	KUNIT_EXPECT_FALSE(test, pagoda_bo_is_offered(bo));
	submit_signal(client, bind.in, 1);
	pagoda_deferred_again(&client->vm->queue);
	flush_delayed_work(&client->vm->queue.work);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&bo->wish.waits));
	KUNIT_EXPECT_EQ(test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
	submit_close(client, bo);
	submit_client_end(client);
}

/*
 * An allocation that was offered after VM_BIND looked it up isn't mapped (-ENODATA), at once or
 * later, and the refused VM_BIND doesn't count as one that waits.
 */
static void offer_comes_before_a_bind(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 2, CPU, EITHER, 0);
	struct offer_bind bind;

	KUNIT_ASSERT_EQ(test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
	offer_bind_make(&bind, client, bo);
	offer_bind_run(&bind);
	PAGODA_PROVES(C171);
	KUNIT_EXPECT_EQ(test, -ENODATA, bind.ret);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&bo->wish.waits));
	KUNIT_EXPECT_EQ(test, -ENODATA, submit_map(client, bo, HERE));
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_OK, reclaim(rig, bo));
	/* The addresses are free, and the VM isn't broken. */
	KUNIT_EXPECT_EQ(test, 0, submit_map(client, bo, HERE));
	submit_close(client, bo);
	submit_client_end(client);
}

/* ---- Mappings ------------------------------------------------------------------------ */

/*
 * An access by a CPU mapping of an offered allocation, in VRAM or in system memory, fails. After
 * RECLAIM the mapping can be used again.
 */
static void offer_ends_mappings(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 1, CPU, EITHER, 0);
	unsigned long at;
	u32 i, word;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, i ? pagoda_rig_to_vram(bo) : pagoda_rig_to_system(bo));
		pagoda_rig_settle(rig);
		at = rig_map(rig, bo, O_RDWR, PROT_READ | PROT_WRITE);
		KUNIT_ASSERT_NE(test, 0ul, at);
		KUNIT_EXPECT_EQ(test, 0, put_user(41 + i, (u32 __user *)at));
		KUNIT_ASSERT_EQ(test, !!i, in_vram(bo));
		KUNIT_ASSERT_EQ(test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
		PAGODA_PROVES(C171);
		KUNIT_EXPECT_EQ(test, -EFAULT, get_user(word, (u32 __user *)at));
		KUNIT_EXPECT_EQ(test, -EFAULT, put_user(7, (u32 __user *)at));
		KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_OK, reclaim(rig, bo));
		KUNIT_EXPECT_EQ(test, 0, get_user(word, (u32 __user *)at));
		KUNIT_EXPECT_EQ(test, 41 + i, word);
		rig_unmap(rig, bo, at);
	}
	pagoda_rig_close(bo);
}

/* ---- Private to a VM ------------------------------------------------------------------- */

/*
 * While a private allocation is offered, jobs of its VM are executed without it: only an access to
 * its addresses faults. After RECLAIM these addresses have its content or zeros.
 */
static void offer_private(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *mine = submit_private(client, 4, SUBMIT_VRAM, HERE);
	struct pagoda_bo *beside = submit_private(client, 4, SUBMIT_VRAM, HERE + SZ_2M);

	submit_store(client, HERE, 5);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, mine, DRM_PAGODA_OFFER_LOW));
	/* Jobs can use the VM's other allocations. */
	submit_store(client, HERE + SZ_2M, 6);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 6ull, submit_word(rig, beside, 0));
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_OK, reclaim(rig, mine));
	/* After RECLAIM jobs find the allocation's content, or zeros if it was discarded. */
	submit_compare(client, HERE, 5);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, mine, DRM_PAGODA_OFFER_LOW));
	KUNIT_ASSERT_EQ(test, 0, evict(rig, mine));
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_DISCARDED, reclaim(rig, mine));
	submit_compare(client, HERE, 0);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 0u, submit_state(client).state);
	/* While the allocation is offered, a job that accesses its addresses faults. */
	KUNIT_ASSERT_EQ(test, 0, offer(rig, mine, DRM_PAGODA_OFFER_LOW));
	submit_store(client, HERE, 8);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	PAGODA_PROVES(C171);
	KUNIT_EXPECT_NE(test, 0, submit_wait(client));
	KUNIT_EXPECT_NE(test, 0u, submit_state(client).state & DRM_PAGODA_CONTEXT_FAULTED);
	KUNIT_EXPECT_EQ(test, submit_state(client).address, (u64)HERE);
	pagoda_vm_forget(client->vm, mine);
	pagoda_vm_forget(client->vm, beside);
	submit_client_end(client);
	pagoda_rig_close(mine);
	pagoda_rig_close(beside);
}

static struct kunit_case offer_cases[] = {
	KUNIT_CASE_PARAM(offer_order, pagoda_rig_modes),
	KUNIT_CASE_PARAM(priority_order, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(offer_waits_for_jobs, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(offer_refused, pagoda_rig_mmu_modes),
	KUNIT_CASE(offer_meets_a_bind),
	KUNIT_CASE(offer_comes_before_a_bind),
	KUNIT_CASE_PARAM(offer_ends_mappings, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(offer_private, pagoda_rig_modes),
	{ }
};

static struct kunit_suite offer_suite = {
	.name = "pagoda_offer",
	.test_cases = offer_cases,
};

kunit_test_suite(offer_suite);
