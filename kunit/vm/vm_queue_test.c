// SPDX-License-Identifier: GPL-2.0
/*
 * Arrays of VM_BIND that wait, for points and fences, for each other, for room in the queue or for
 * device addresses; and what becomes of queued arrays when an array fails, the VM or a handle is
 * closed, or an allocation is evicted.
 *
 * To see that a change hasn't happened yet, most tests don't wait for a time, but look after the
 * queue's worker has run and has found nothing to do.
 */
#include <linux/dma-fence-chain.h>
#include <linux/kthread.h>
#include <drm/drm_syncobj.h>
#include "queue/queue_helpers.h"
#include "vm_helpers.h"

#define HERE		((u64)SZ_4M)
#define KIB64		((u64)SZ_64K)
#define LIMIT		(30 * HZ)

static struct drm_syncobj *queue_syncobj(struct kunit *test)
{
	struct drm_syncobj *syncobj;

	KUNIT_ASSERT_EQ(test, 0, drm_syncobj_create(&syncobj, 0, NULL));
	return syncobj;
}

/* Adds @point to the syncobj with @fence, or, if NULL, a fence that has signalled. */
static void queue_submit(struct pagoda_rig *rig, struct drm_syncobj *syncobj, u64 point,
			 struct dma_fence *fence)
{
	struct dma_fence_chain *chain = dma_fence_chain_alloc();

	KUNIT_ASSERT_NOT_NULL(rig->test, chain);
	fence = fence ? dma_fence_get(fence) : dma_fence_get_stub();
	drm_syncobj_add_point(syncobj, chain, fence, point);
	dma_fence_put(fence);
	pagoda_deferred_kick(rig->vidmm);
}

static bool queue_has_point(struct drm_syncobj *syncobj, u64 point)
{
	struct dma_fence *fence = drm_syncobj_fence_get(syncobj);
	bool found = fence && fence->seqno >= point;

	dma_fence_put(fence);
	return found;
}

/*
 * Waits until @point, which must be the syncobj's last point then, has signalled. Returns 1 if the
 * point signalled without an error, else its error; -EAGAIN if the point doesn't come or signal in
 * time.
 */
static int queue_wait_point(struct drm_syncobj *syncobj, u64 point)
{
	struct dma_fence *fence, *inner;
	int ret = -EAGAIN;
	u32 tries;

	for (tries = 0; tries < 6000 && !queue_has_point(syncobj, point); tries++)
		schedule_timeout_uninterruptible(HZ / 100 ?: 1);
	fence = drm_syncobj_fence_get(syncobj);
	if (fence && fence->seqno == point) {
		inner = dma_fence_chain_contained(fence);
		if (dma_fence_wait_timeout(inner, false, LIMIT) > 0)
			ret = dma_fence_get_status(inner);
	}
	dma_fence_put(fence);
	return ret;
}

/* Makes the worker of the VM's queue run at once, and waits until the worker has run. */
static void queue_settle(struct pagoda_vm *vm)
{
	mod_delayed_work(system_dfl_wq, &vm->queue.work, 0);
	flush_delayed_work(&vm->queue.work);
}

static void queue_add_sync(struct pagoda_rig *rig, struct pagoda_bind_job *job,
			   struct drm_syncobj *syncobj, u64 point, bool signal)
{
	struct dma_fence_chain *chain = signal && point ? dma_fence_chain_alloc() : NULL;

	drm_syncobj_get(syncobj);
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_syncs_add(&job->syncs, syncobj, point, chain));
	job->syncs.list[job->syncs.count - 1].signal = signal;
}

static struct pagoda_bind_job *queue_job(struct pagoda_rig *rig, u32 type, struct pagoda_bo *bo,
					 u64 address, u64 size)
{
	struct pagoda_bind_job *job = pagoda_bind_job_create(1);

	KUNIT_ASSERT_NOT_NULL(rig->test, job);
	job->binds[0] = (struct pagoda_bind) {
		.type = type, .bo = bo, .address = address, .size = size,
	};
	if (bo)
		drm_gem_object_get(pagoda_bo_gem(bo));
	return job;
}

/*
 * VM_BIND of an array, whose reference is consumed. The array waits for @in_point of @in and
 * signals @out_point of @out; @in or @out NULL = none. Returns VM_BIND's result.
 */
static int queue_bind(struct pagoda_rig *rig, struct pagoda_vm *vm, struct pagoda_bind_job *job,
		      struct drm_syncobj *in, u64 in_point, struct drm_syncobj *out,
		      u64 out_point)
{
	struct dma_fence *fence;
	int ret;

	if (in)
		queue_add_sync(rig, job, in, in_point, false);
	if (out)
		queue_add_sync(rig, job, out, out_point, true);
	ret = pagoda_vm_bind_job(vm, job, &fence);
	dma_fence_put(fence);
	pagoda_bind_job_put(job);
	return ret;
}

static int queue_map(struct pagoda_rig *rig, struct pagoda_vm *vm, struct pagoda_bo *bo,
		     u64 address, struct drm_syncobj *in, u64 in_point, struct drm_syncobj *out,
		     u64 out_point)
{
	return queue_bind(rig, vm, queue_job(rig, DRM_PAGODA_BIND_MAP, bo, address, PAGE_SIZE),
			  in, in_point, out, out_point);
}

struct queue_test {
	struct pagoda_rig *rig;
	struct pagoda_vm *vm;
	struct pagoda_bo *bo;
	struct drm_syncobj *in;
	struct drm_syncobj *out;
	struct drm_syncobj *next;
};

static struct queue_test queue_test_on(struct pagoda_rig *rig)
{
	struct kunit *test = rig->test;
	struct queue_test t = { .rig = rig };

	t.vm = vmt_make(t.rig);
	t.bo = vmt_bo(t.rig, 16, 300);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(t.bo));
	t.in = queue_syncobj(test);
	t.out = queue_syncobj(test);
	t.next = queue_syncobj(test);
	return t;
}

static struct queue_test queue_test_make(struct kunit *test)
{
	return queue_test_on(pagoda_rig_create_mode(test));
}

static void queue_test_end(struct queue_test *t)
{
	drm_syncobj_put(t->in);
	drm_syncobj_put(t->out);
	drm_syncobj_put(t->next);
	pagoda_rig_close(t->bo);
}

static void expect_fault(struct queue_test *t, u64 va)
{
	KUNIT_EXPECT_EQ_MSG(t->rig->test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
			    vmt_fault(t->rig, t->vm->id, va), "address %#llx", va);
}

/*
 * An array that waits for point 5 of a timeline is applied after that point was added with a fence
 * that has signalled, and only then point 6 exists, which the array signals.
 */
static void queue_waits_for_points(struct kunit *test)
{
	struct queue_test t = queue_test_make(test);
	struct pagoda_bind_job *job;

	PAGODA_PROVES(C110);
	KUNIT_ASSERT_EQ(test, 0, vmt_map(t.vm, t.bo, HERE, 0, PAGE_SIZE, 0));
	job = queue_job(t.rig, DRM_PAGODA_BIND_COPY, NULL, HERE + PAGE_SIZE, PAGE_SIZE);
	job->binds[0].offset = HERE;
	KUNIT_ASSERT_EQ(test, 0, queue_bind(t.rig, t.vm, job, t.in, 5, t.in, 6));
	queue_settle(t.vm);
	KUNIT_EXPECT_FALSE(test, queue_has_point(t.in, 6));
	expect_fault(&t, HERE + PAGE_SIZE);
	/* An earlier point isn't enough. */
	queue_submit(t.rig, t.in, 4, NULL);
	queue_settle(t.vm);
	expect_fault(&t, HERE + PAGE_SIZE);
	queue_submit(t.rig, t.in, 5, NULL);
	KUNIT_EXPECT_EQ(test, 1, queue_wait_point(t.in, 6));
	vmt_expect(t.rig, t.vm->id, HERE + PAGE_SIZE, 300);
	vmt_drop(t.vm);
	queue_test_end(&t);
}

/* An array that waits for a point is applied only after the fence of the point has signalled. */
static void queue_waits_for_fences(struct kunit *test)
{
	struct queue_test t = queue_test_make(test);
	struct dma_fence *fence = pagoda_test_fence(test);

	queue_submit(t.rig, t.in, 1, fence);
	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, t.in, 1, t.out, 1));
	queue_settle(t.vm);
	expect_fault(&t, HERE);
	KUNIT_EXPECT_FALSE(test, queue_has_point(t.out, 1));
	dma_fence_signal(fence);
	KUNIT_EXPECT_EQ(test, 1, queue_wait_point(t.out, 1));
	vmt_expect(t.rig, t.vm->id, HERE, 300);
	/* If the queue is empty, an array isn't queued for a point that has signalled. */
	queue_settle(t.vm);
	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE + PAGE_SIZE, t.in, 1, t.out, 2));
	KUNIT_EXPECT_TRUE(test, queue_has_point(t.out, 2));
	KUNIT_EXPECT_EQ(test, 1, queue_wait_point(t.out, 2));
	dma_fence_put(fence);
	vmt_drop(t.vm);
	queue_test_end(&t);
}

/*
 * The fence of an array that was cancelled is a stub of the dma_fence core, because user space may
 * keep the fence when the module is gone.
 */
static void queue_failure_isnt_ours(struct kunit *test)
{
	struct queue_test t = queue_test_make(test);
	struct dma_fence *stub = dma_fence_get_stub(), *fence;

	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, t.in, 1, t.out, 1));
	vmt_drop(t.vm);
	KUNIT_EXPECT_EQ(test, -ECANCELED, queue_wait_point(t.out, 1));
	fence = drm_syncobj_fence_get(t.out);
	KUNIT_ASSERT_NOT_NULL(test, fence);
	KUNIT_EXPECT_TRUE(test, stub->ops == dma_fence_chain_contained(fence)->ops);
	dma_fence_put(fence);
	dma_fence_put(stub);
	queue_test_end(&t);
}

/*
 * Arrays are applied in the order of the calls, in whatever order their points come; a later array
 * may use addresses that an earlier array will free.
 */
static void queue_keeps_order(struct kunit *test)
{
	struct queue_test t = queue_test_make(test);
	struct drm_syncobj *later = queue_syncobj(test);
	struct pagoda_bind_job *job;

	PAGODA_PROVES(C138);
	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, t.in, 1, t.out, 1));
	job = queue_job(t.rig, DRM_PAGODA_BIND_UNMAP, NULL, HERE, KIB64);
	KUNIT_ASSERT_EQ(test, 0, queue_bind(t.rig, t.vm, job, later, 1, t.out, 2));
	KUNIT_EXPECT_EQ(test, 0, vmt_set(t.vm, DRM_PAGODA_BIND_RESERVE, HERE, KIB64));
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_set(t.vm, DRM_PAGODA_BIND_RESERVE, HERE, KIB64));
	job = queue_job(t.rig, DRM_PAGODA_BIND_MAP, t.bo, HERE, PAGE_SIZE);
	job->binds[0].offset = 7 * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, queue_bind(t.rig, t.vm, job, NULL, 0, t.out, 3));
	/* The point that the second array waits for has come, but the first array still waits. */
	queue_submit(t.rig, later, 1, NULL);
	queue_settle(t.vm);
	KUNIT_EXPECT_FALSE(test, queue_has_point(t.out, 1));
	KUNIT_EXPECT_FALSE(test, queue_has_point(t.out, 3));
	expect_fault(&t, HERE);
	queue_submit(t.rig, t.in, 1, NULL);
	KUNIT_EXPECT_EQ(test, 1, queue_wait_point(t.out, 3));
	vmt_expect(t.rig, t.vm->id, HERE, 300 + 7 * VM_WORDS);
	drm_syncobj_put(later);
	vmt_drop(t.vm);
	queue_test_end(&t);
}

/* An array that conflicts with a queued array is refused in the call, and the VM stays usable. */
static void queue_refuses_early(struct kunit *test)
{
	struct queue_test t = queue_test_make(test);
	struct pagoda_bind_job *job;
	int error;

	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, t.in, 1, t.out, 1));
	job = queue_job(t.rig, DRM_PAGODA_BIND_MAP_ZERO, NULL, HERE, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, -EEXIST, queue_bind(t.rig, t.vm, job, t.in, 1, t.out, 2));
	job = queue_job(t.rig, DRM_PAGODA_BIND_RESERVE, NULL, HERE, KIB64);
	KUNIT_EXPECT_EQ(test, -EEXIST, queue_bind(t.rig, t.vm, job, NULL, 0, t.out, 2));
	queue_submit(t.rig, t.in, 1, NULL);
	KUNIT_EXPECT_EQ(test, 1, queue_wait_point(t.out, 1));
	queue_settle(t.vm);
	KUNIT_EXPECT_FALSE(test, queue_has_point(t.out, 2));
	KUNIT_EXPECT_EQ(test, (int)DRM_PAGODA_VM_USABLE, pagoda_vm_condition(t.vm, &error));
	vmt_drop(t.vm);
	queue_test_end(&t);
}

/*
 * An accepted array that can't be applied, because of another VM's mapping since, makes its VM
 * unusable: the point of the array and those of arrays queued behind signal with errors.
 */
static void queue_failure_is_final(struct kunit *test)
{
	struct queue_test t = queue_test_make(test);
	struct pagoda_vm *other = vmt_make(t.rig);
	struct pagoda_bind_job *job = queue_job(t.rig, DRM_PAGODA_BIND_MAP, t.bo, HERE, PAGE_SIZE);
	struct pagoda_bind unique = {
		.type = DRM_PAGODA_BIND_MAP, .bo = t.bo, .address = HERE, .size = PAGE_SIZE,
		.driver_protection = PAGODA_PROTECTION_UNIQUE | 1,
	};
	int error;

	job->binds[0].driver_protection = PAGODA_PROTECTION_UNIQUE | 2;
	KUNIT_ASSERT_EQ(test, 0, queue_bind(t.rig, t.vm, job, t.in, 1, t.out, 1));
	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE + KIB64, t.in, 9, t.next, 2));
	KUNIT_ASSERT_EQ(test, 0, vmt_do(other, &unique, 1));
	queue_submit(t.rig, t.in, 1, NULL);
	KUNIT_EXPECT_EQ(test, -EINVAL, queue_wait_point(t.out, 1));
	/* Arrays behind the failed array don't wait for points that never come. */
	KUNIT_EXPECT_EQ(test, -ECANCELED, queue_wait_point(t.next, 2));
	KUNIT_EXPECT_EQ(test, (int)DRM_PAGODA_VM_BIND_FAILED, pagoda_vm_condition(t.vm, &error));
	KUNIT_EXPECT_EQ(test, EINVAL, error);
	KUNIT_EXPECT_EQ(test, -ECANCELED, vmt_set(t.vm, DRM_PAGODA_BIND_UNMAP, HERE, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, -ECANCELED, queue_map(t.rig, t.vm, t.bo, HERE, t.in, 9, t.out, 3));
	KUNIT_EXPECT_FALSE(test, queue_has_point(t.out, 3));
	expect_fault(&t, HERE + KIB64);
	KUNIT_EXPECT_EQ(test, (int)DRM_PAGODA_VM_USABLE, pagoda_vm_condition(other, &error));
	vmt_drop(t.vm);
	vmt_drop(other);
	queue_test_end(&t);
}

/* When the VM is closed, the points of queued arrays signal with -ECANCELED. */
static void queue_ends_with_the_vm(struct kunit *test)
{
	struct queue_test t = queue_test_make(test);

	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, t.in, 1, t.out, 1));
	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, NULL, 0, t.next, 2));
	vmt_drop(t.vm);
	KUNIT_EXPECT_TRUE(test, queue_has_point(t.out, 1));
	KUNIT_EXPECT_TRUE(test, queue_has_point(t.next, 2));
	KUNIT_EXPECT_EQ(test, -ECANCELED, queue_wait_point(t.out, 1));
	KUNIT_EXPECT_EQ(test, -ECANCELED, queue_wait_point(t.next, 2));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&pagoda_bo_gem(t.bo)->refcount));
	queue_test_end(&t);
}

/*
 * When the handle of an allocation is closed, queued arrays don't map the allocation any more.
 * Allocations that queued arrays map are kept, also if there is no other reference.
 */
static void queue_keeps_allocations(struct kunit *test)
{
	struct queue_test t = queue_test_make(test);
	struct pagoda_bo *stays = vmt_bo(t.rig, 2, 900);
	struct pagoda_bind_job *job;

	PAGODA_PROVES(C139);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(stays));
	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, t.in, 1, NULL, 0));
	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, stays, HERE + PAGE_SIZE, NULL, 0, NULL, 0));
	job = queue_job(t.rig, DRM_PAGODA_BIND_COPY, NULL, HERE + SZ_2M, 2 * PAGE_SIZE);
	job->binds[0].offset = HERE;
	KUNIT_ASSERT_EQ(test, 0, queue_bind(t.rig, t.vm, job, NULL, 0, t.out, 1));
	/* Do as the close of the handle of @t.bo, which only arrays in the queue name. */
	KUNIT_ASSERT_EQ(test, 0,
			xa_insert(&t.rig->client->objects[PAGODA_OBJECT_VM], 1, t.vm, GFP_KERNEL));
	pagoda_client_forget(t.rig->client, t.bo);
	xa_erase(&t.rig->client->objects[PAGODA_OBJECT_VM], 1);
	/* From here on only the queue has references to @stays. */
	pagoda_rig_close(stays);
	/* In the plan the address of @t.bo is free already, that of @stays isn't. */
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_set(t.vm, DRM_PAGODA_BIND_RESERVE, HERE, KIB64));
	KUNIT_EXPECT_EQ(test, 0, vmt_set(t.vm, DRM_PAGODA_BIND_MAP_ZERO, HERE, PAGE_SIZE));
	queue_submit(t.rig, t.in, 1, NULL);
	KUNIT_EXPECT_EQ(test, 1, queue_wait_point(t.out, 1));
	queue_settle(t.vm);
	vmt_expect(t.rig, t.vm->id, HERE, 0);
	vmt_expect(t.rig, t.vm->id, HERE + PAGE_SIZE, 900);
	expect_fault(&t, HERE + SZ_2M);
	vmt_expect(t.rig, t.vm->id, HERE + SZ_2M + PAGE_SIZE, 900);
	vmt_drop(t.vm);
	queue_test_end(&t);
}

static bool queue_is_in_vram(struct pagoda_bo *bo)
{
	return bo->ttm.resource->mem_type == TTM_PL_VRAM;
}

static int queue_resident(struct pagoda_rig *rig, struct pagoda_bo *bo, bool resident)
{
	struct dma_fence *fence;
	u64 trim;
	int ret = resident ? pagoda_rig_make_resident(rig, &bo, 1, &fence, &trim) :
			     pagoda_rig_evict(rig, &bo, 1, &fence);

	dma_fence_put(fence);
	return ret;
}

/*
 * EVICT leaves an allocation in VRAM that a queued array will map; MAKE_RESIDENT evicts the
 * allocation only if there is no other room.
 */
static void queue_keeps_residency(struct kunit *test)
{
	struct queue_test t = queue_test_make(test);
	struct pagoda_bo *others[5], *all;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = pagoda_rig_bo(t.rig, 400, 0, VM_VRAM, 0);
	all = pagoda_rig_bo(t.rig, PAGODA_RIG_VRAM_PAGES - 8, 0, VM_VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, t.in, 1, t.out, 1));
	KUNIT_ASSERT_EQ(test, 0, queue_resident(t.rig, t.bo, false));
	for (i = 0; i < ARRAY_SIZE(others); i++)
		KUNIT_ASSERT_EQ(test, 0, queue_resident(t.rig, others[i], true));
	PAGODA_PROVES(C145);
	KUNIT_EXPECT_TRUE(test, queue_is_in_vram(t.bo));
	queue_submit(t.rig, t.in, 1, NULL);
	KUNIT_EXPECT_EQ(test, 1, queue_wait_point(t.out, 1));
	vmt_expect(t.rig, t.vm->id, HERE, 300);
	/* The array was applied, and no longer keeps the allocation. */
	queue_settle(t.vm);
	KUNIT_ASSERT_EQ(test, 0, queue_resident(t.rig, t.bo, false));
	KUNIT_EXPECT_FALSE(test, queue_is_in_vram(t.bo));
	/* As an array may wait for ever, a request for nearly all of VRAM evicts the allocation. */
	KUNIT_ASSERT_EQ(test, 0, queue_resident(t.rig, t.bo, true));
	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, t.in, 2, t.next, 1));
	KUNIT_EXPECT_EQ(test, 0, queue_resident(t.rig, all, true));
	KUNIT_EXPECT_FALSE(test, queue_is_in_vram(t.bo));
	vmt_drop(t.vm);
	pagoda_rig_close(all);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		pagoda_rig_close(others[i]);
	queue_test_end(&t);
}

struct queue_caller {
	struct queue_test *t;
	struct completion called;
	struct completion done;
	int ret;
};

static int queue_call(void *data)
{
	struct queue_caller *caller = data;
	struct queue_test *t = caller->t;

	complete(&caller->called);
	caller->ret = queue_map(t->rig, t->vm, t->bo, HERE, NULL, 0, t->out, 1000);
	complete(&caller->done);
	return 0;
}

/* A thread that closes sections and opens them again, as for a sleep. */
static int queue_shut(void *data)
{
	struct queue_caller *caller = data;

	pagoda_sections_close(caller->t->rig->vidmm);
	pagoda_sections_open(caller->t->rig->vidmm);
	pagoda_deferred_kick(caller->t->rig->vidmm);
	complete(&caller->done);
	return 0;
}

/*
 * With DRM_PAGODA_MAX_QUEUED_BINDS arrays in the queue, VM_BIND waits in the call until an array is
 * applied; closing sections, as for a sleep, doesn't wait for the call.
 */
static void queue_is_bounded(struct kunit *test)
{
	struct queue_test t = queue_test_make(test);
	struct queue_caller caller = { .t = &t };
	struct queue_caller shut = { .t = &t };
	u64 n;

	init_completion(&caller.called);
	init_completion(&caller.done);
	init_completion(&shut.done);
	for (n = 1; n <= DRM_PAGODA_MAX_QUEUED_BINDS; n++)
		KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, t.in, n, t.out, n));
	PAGODA_PROVES(C144);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(queue_call, &caller, "pagoda-queue-test")));
	KUNIT_ASSERT_NE(test, 0ul, wait_for_completion_timeout(&caller.called, LIMIT));
	/* The thread is in the call, or about to be: the queue doesn't grow. */
	schedule_timeout_uninterruptible(HZ / 20 ?: 1);
	KUNIT_EXPECT_FALSE(test, completion_done(&caller.done));
	KUNIT_EXPECT_EQ(test, (u32)DRM_PAGODA_MAX_QUEUED_BINDS, READ_ONCE(t.vm->queue.count));
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(queue_shut, &shut, "pagoda-queue-shut")));
	KUNIT_EXPECT_NE(test, 0ul, wait_for_completion_timeout(&shut.done, 5 * HZ));
	queue_submit(t.rig, t.in, 1, NULL);
	KUNIT_EXPECT_EQ(test, 1, queue_wait_point(t.out, 1));
	KUNIT_EXPECT_NE(test, 0ul, wait_for_completion_timeout(&caller.done, LIMIT));
	KUNIT_EXPECT_EQ(test, 0, caller.ret);
	KUNIT_EXPECT_FALSE(test, queue_has_point(t.out, 1000));
	vmt_drop(t.vm);
	KUNIT_EXPECT_EQ(test, -ECANCELED, queue_wait_point(t.out, 1000));
	queue_test_end(&t);
}

/* ---- Page tables in system memory, which need addresses of the device's MMU -------- */

#define ADDRESSES	256u	/* pages that the device's MMU can map */
#define FAR_AWAY	(3 * (u64)SZ_1G)
#define FAR_PAGES	4u	/* of a root that leads to FAR_AWAY, with two levels of tables */
#define ROUND		16u	/* allocations that one call swaps out at most */

static struct queue_test queue_test_few(struct kunit *test, u32 levels)
{
	static const struct pagoda_rig_mode mode = { VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, true };
	const struct pagoda_rig_options options = {
		.mode = &mode,
		.mmu_pages = ADDRESSES,
		.pt_levels = levels,
	};
	struct queue_test t = queue_test_on(pagoda_rig_create(test, &options));

	pagoda_rig_settle_freed(t.rig);
	return t;
}

/*
 * An array that finds no device addresses for page tables, because others use them all, is tried
 * again when the fences in the VM's reservation have signalled.
 */
static void queue_waits_for_addresses(struct kunit *test)
{
	struct queue_test t = queue_test_few(test, 0);
	struct drm_mm_node *nodes = test_calloc(test, ADDRESSES, sizeof(*nodes));
	struct dma_fence *fence = pagoda_test_fence(test);
	u32 count = vmt_take_addresses(t.rig, nodes, ADDRESSES);
	int error;

	pagoda_rig_add_fence(test, pagoda_vm_resv(t.vm), fence, DMA_RESV_USAGE_BOOKKEEP);
	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, t.in, 1, t.out, 1));
	queue_submit(t.rig, t.in, 1, NULL);
	queue_settle(t.vm);
	KUNIT_EXPECT_FALSE(test, queue_has_point(t.out, 1));
	KUNIT_EXPECT_EQ(test, (int)DRM_PAGODA_VM_USABLE, pagoda_vm_condition(t.vm, &error));
	vmt_give_addresses(t.rig, nodes, count);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, 1, queue_wait_point(t.out, 1));
	vmt_expect(t.rig, t.vm->id, HERE, 300);
	vmt_drop(t.vm);
	queue_test_end(&t);
}

/* Allocations that nothing uses are swapped out for page tables that find no device addresses. */
static void queue_gets_addresses(struct kunit *test)
{
	struct queue_test t = queue_test_few(test, 0);
	struct drm_mm_node *nodes = test_calloc(test, ADDRESSES, sizeof(*nodes));
	struct pagoda_bo **idle = test_calloc(test, ADDRESSES, sizeof(*idle));
	u32 i, count = vmt_take_addresses(t.rig, nodes, ADDRESSES);

	vmt_give_addresses(t.rig, nodes, count);
	for (i = 0; i < count; i++)
		idle[i] = vmt_bo(t.rig, 1, i);
	KUNIT_EXPECT_EQ(test, 0, vmt_take_addresses(t.rig, nodes, ADDRESSES));
	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, HERE, t.in, 1, t.out, 1));
	queue_submit(t.rig, t.in, 1, NULL);
	KUNIT_EXPECT_EQ(test, 1, queue_wait_point(t.out, 1));
	vmt_expect(t.rig, t.vm->id, HERE, 300);
	vmt_drop(t.vm);
	for (i = 0; i < count; i++)
		pagoda_rig_close(idle[i]);
	queue_test_end(&t);
}

/* Allocations of a page each, which nothing uses, at all device addresses that are free. */
struct queue_idle {
	struct pagoda_bo *bos[ADDRESSES];
	u32 count;
};

/*
 * Makes the allocations, and has TTM swap out last those whose address begins FAR_PAGES: before one
 * of these no room for a large root is free.
 */
static struct queue_idle *queue_fill_addresses(struct kunit *test, struct pagoda_rig *rig)
{
	struct drm_mm_node *nodes = test_calloc(test, ADDRESSES, sizeof(*nodes));
	struct queue_idle *idle = test_zalloc(test, sizeof(*idle));
	u32 i;

	idle->count = vmt_take_addresses(rig, nodes, ADDRESSES);
	vmt_give_addresses(rig, nodes, idle->count);
	for (i = 0; i < idle->count; i++)
		idle->bos[i] = vmt_bo(rig, 1, i);
	KUNIT_EXPECT_EQ(test, 0, vmt_take_addresses(rig, nodes, ADDRESSES));
	for (i = 0; i < idle->count; i++) {
		struct pagoda_bo *bo = idle->bos[i];

		dma_resv_lock(bo->ttm.base.resv, NULL);
		if (!(pagoda_tt_of(bo->ttm.ttm)->node.start % FAR_PAGES))
			ttm_bo_move_to_lru_tail_unlocked(&bo->ttm);
		dma_resv_unlock(bo->ttm.base.resv);
	}
	return idle;
}

static u32 queue_count_swapped(const struct queue_idle *idle)
{
	u32 i, count = 0;

	for (i = 0; i < idle->count; i++)
		count += !ttm_tt_is_populated(idle->bos[i]->ttm.ttm);
	return count;
}

static void queue_close_idle(struct queue_idle *idle)
{
	while (idle->count)
		pagoda_rig_close(idle->bos[--idle->count]);
}

/* One attempt to change the page tables, as all threads make it in a section. */
static int queue_try_once(struct pagoda_vm *vm, const struct pagoda_bind *bind)
{
	struct dma_fence *fence = NULL;
	int ret = pagoda_enter(vm->vidmm);

	if (ret)
		return ret;
	mutex_lock(&vm->lock);
	ret = pagoda_bind_run(vm, bind, 1, &fence);
	mutex_unlock(&vm->lock);
	pagoda_leave(vm->vidmm);
	dma_fence_put(fence);
	return ret;
}

/*
 * If a page table that is larger than a page finds no device addresses, the VM's lock and the
 * section are held while a few allocations are swapped out at most; VM_BIND comes again as often as
 * necessary.
 */
static void queue_swaps_in_rounds(struct kunit *test)
{
	struct queue_test t = queue_test_few(test, 2);
	const struct pagoda_bind bind = {
		.type = DRM_PAGODA_BIND_MAP_ZERO,
		.address = FAR_AWAY,
		.size = PAGE_SIZE,
	};
	struct queue_idle *idle = queue_fill_addresses(test, t.rig);

	KUNIT_EXPECT_EQ(test, -EAGAIN, queue_try_once(t.vm, &bind));
	KUNIT_EXPECT_GT(test, queue_count_swapped(idle), 0);
	KUNIT_EXPECT_LE(test, queue_count_swapped(idle), ROUND);
	KUNIT_EXPECT_EQ(test, 0, vmt_do(t.vm, &bind, 1));
	KUNIT_EXPECT_GT(test, queue_count_swapped(idle), ROUND);
	vmt_expect(t.rig, t.vm->id, FAR_AWAY, 0);
	vmt_drop(t.vm);
	queue_close_idle(idle);
	queue_test_end(&t);
}

/* A queued array comes again as often as necessary, too: the VM stays usable. */
static void queue_swaps_for_queued(struct kunit *test)
{
	struct queue_test t = queue_test_few(test, 2);
	struct queue_idle *idle = queue_fill_addresses(test, t.rig);

	KUNIT_ASSERT_EQ(test, 0, queue_map(t.rig, t.vm, t.bo, FAR_AWAY, t.in, 1, t.out, 1));
	queue_submit(t.rig, t.in, 1, NULL);
	KUNIT_EXPECT_EQ(test, 1, queue_wait_point(t.out, 1));
	KUNIT_EXPECT_GT(test, queue_count_swapped(idle), ROUND);
	vmt_expect(t.rig, t.vm->id, FAR_AWAY, 300);
	vmt_drop(t.vm);
	queue_close_idle(idle);
	queue_test_end(&t);
}

static struct kunit_case vm_queue_cases[] = {
	KUNIT_CASE_PARAM(queue_waits_for_points, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(queue_waits_for_fences, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(queue_failure_isnt_ours, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(queue_keeps_order, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(queue_refuses_early, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(queue_failure_is_final, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(queue_ends_with_the_vm, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(queue_keeps_allocations, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(queue_keeps_residency, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(queue_is_bounded, pagoda_rig_mmu_modes),
	KUNIT_CASE(queue_waits_for_addresses),
	KUNIT_CASE(queue_gets_addresses),
	KUNIT_CASE(queue_swaps_in_rounds),
	KUNIT_CASE(queue_swaps_for_queued),
	{ }
};

static struct kunit_suite vm_queue_suite = {
	.name = "pagoda_vm_queue",
	.test_cases = vm_queue_cases,
};

kunit_test_suite(vm_queue_suite);
