// SPDX-License-Identifier: GPL-2.0
/*
 * Clients that act as user programs do: run jobs, wait for fences, make an allocation resident,
 * evict, offer and reclaim it, prefer segments, leave objects, jobs and VM_BINDs behind, lose the
 * driver.
 */
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/suspend.h>
#include <linux/virtio.h>
#include <drm/drm_device.h>
#include <drm/drm_syncobj.h>
#include "core/device.h"
#include "queue/queue_helpers.h"
#include "rig/command.h"
#include "rig/spy.h"
#include "submit/submit_helpers.h"
#include "uapi/args.h"
#include "vidmm/ledger/client.h"
#include "uapi_helpers.h"

#define DATA(gpu)	((gpu)->address + UAPI_DATA)
#define VIEW(gpu)	((gpu)->view + UAPI_DATA)
#define FENCE(gpu)	((gpu)->address + PAGE_SIZE)

/*
 * When the fence has the value that SUBMIT promised, the CPU sees the word that the job stored.
 * SUBMIT of another program that promises the same value is refused (-EINVAL).
 */
static void client_runs_a_job(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);

	UAPI_ADD(gpu, STORE, store, VIRTIO_PAGODA_COMMAND_WIDE, .address = cpu_to_le64(DATA(gpu)),
		 .value = cpu_to_le64(7));
	KUNIT_EXPECT_EQ(test, -ETIME, uapi_await(gpu, 1, 0));
	KUNIT_ASSERT_EQ(test, 0, uapi_submit(gpu, 1));
	KUNIT_EXPECT_EQ(test, 0, uapi_await(gpu, 1, UAPI_PATIENCE));
	KUNIT_EXPECT_EQ(test, 7, uapi_word(client, VIEW(gpu)));
	UAPI_ADD(gpu, STORE, store, 0, .address = cpu_to_le64(DATA(gpu)), .value = cpu_to_le64(8));
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_submit(gpu, 1));
	uapi_close(client);
}

/* A wait for a value that a job stores to a fence by SIGNAL with EVENT ends before the job does. */
static void client_hears_of_a_signal(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);

	UAPI_ADD(gpu, SIGNAL, signal, VIRTIO_PAGODA_COMMAND_EVENT,
		 .address = cpu_to_le64(FENCE(gpu)), .value = cpu_to_le64(1));
	UAPI_ADD(gpu, WAIT, wait, 0, .address = cpu_to_le64(DATA(gpu)), .value = cpu_to_le64(1));
	KUNIT_ASSERT_EQ(test, 0, uapi_submit(gpu, 2));
	KUNIT_EXPECT_EQ(test, 0, uapi_await(gpu, 1, NSEC_PER_SEC));
	KUNIT_EXPECT_EQ(test, -ETIME, uapi_await(gpu, 2, 0));
	uapi_set_word(client, VIEW(gpu), 1);
	KUNIT_EXPECT_EQ(test, 0, uapi_await(gpu, 2, UAPI_PATIENCE));
	uapi_close(client);
}

static long client_move(struct uapi_client *client, unsigned int cmd, u32 handle)
{
	const struct drm_pagoda_residency_entry entry = { .handle = handle };
	const struct drm_pagoda_array entries = {
		.array = uapi_put(client, UAPI_ENTRIES, &entry, sizeof(entry)),
		.count = 1,
		.stride = sizeof(entry),
	};
	/* The arguments of MAKE_RESIDENT and EVICT both begin with the array. */
	u8 args[UAPI_MAX_ARGS] = {};

	memcpy(args, &entries, sizeof(entries));
	return uapi_ioctl(client, cmd, args);
}

static void client_evicts(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	u32 handle = uapi_allocate(client, UAPI_ANYWHERE);
	struct drm_pagoda_allocation_wait wait = {
		.handle = handle,
		.timeout_ns = KTIME_MAX,
	};

	KUNIT_EXPECT_EQ(test, DRM_PAGODA_NOT_RESIDENT, uapi_residency(client, handle));
	KUNIT_EXPECT_EQ(test, 0, client_move(client, DRM_IOCTL_PAGODA_MAKE_RESIDENT, handle));
	uapi_must(client, DRM_IOCTL_PAGODA_ALLOCATION_WAIT, &wait);
	KUNIT_EXPECT_NE(test, DRM_PAGODA_NOT_RESIDENT, uapi_residency(client, handle));
	KUNIT_EXPECT_EQ(test, 0, client_move(client, DRM_IOCTL_PAGODA_EVICT, handle));
	uapi_must(client, DRM_IOCTL_PAGODA_ALLOCATION_WAIT, &wait);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_NOT_RESIDENT, uapi_residency(client, handle));
	uapi_close(client);
}

static int client_validates_without_memory(struct pagoda_client *client, struct dma_fence **fence)
{
	return -ENOMEM;
}

static int client_validates_until_a_signal(struct pagoda_client *client, struct dma_fence **fence)
{
	return -EINTR;
}

/*
 * A MAKE_RESIDENT that fails after it has moved the allocation, because mappings can't be made
 * valid or a signal came, leaves the allocation not resident.
 */
static void client_fails_as_a_whole(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	u32 handle = uapi_allocate(client, UAPI_ANYWHERE);
	struct pagoda_bo *bo = pagoda_bo_lookup(client->file, handle);

	KUNIT_ASSERT_NOT_NULL(test, bo);
	kunit_activate_static_stub(test, pagoda_client_validate, client_validates_without_memory);
	KUNIT_EXPECT_EQ(test, -ENOMEM, client_move(client, DRM_IOCTL_PAGODA_MAKE_RESIDENT, handle));
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_NOT_RESIDENT, uapi_residency(client, handle));
	kunit_activate_static_stub(test, pagoda_client_validate, client_validates_until_a_signal);
	KUNIT_EXPECT_EQ(test, -EINTR, client_move(client, DRM_IOCTL_PAGODA_MAKE_RESIDENT, handle));
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_NOT_RESIDENT, uapi_residency(client, handle));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(bo->wish.resident));
	kunit_deactivate_static_stub(test, pagoda_client_validate);
	KUNIT_EXPECT_EQ(test, 0, client_move(client, DRM_IOCTL_PAGODA_MAKE_RESIDENT, handle));
	KUNIT_EXPECT_NE(test, DRM_PAGODA_NOT_RESIDENT, uapi_residency(client, handle));
	pagoda_bo_put(bo);
	uapi_close(client);
}

static int client_joins_no_others(struct pagoda_bo **bos, u32 count, struct dma_fence **fence)
{
	return -ENOMEM;
}

/*
 * Without memory for a fence that also waits for other devices, MAKE_RESIDENT and EVICT, which have
 * had their effect by then, succeed.
 */
static void client_waits_for_others(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	u32 handle = uapi_allocate(client, UAPI_ANYWHERE);

	kunit_activate_static_stub(test, pagoda_residency_and_others, client_joins_no_others);
	KUNIT_EXPECT_EQ(test, 0, client_move(client, DRM_IOCTL_PAGODA_MAKE_RESIDENT, handle));
	KUNIT_EXPECT_NE(test, DRM_PAGODA_NOT_RESIDENT, uapi_residency(client, handle));
	KUNIT_EXPECT_EQ(test, 0, client_move(client, DRM_IOCTL_PAGODA_EVICT, handle));
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_NOT_RESIDENT, uapi_residency(client, handle));
	kunit_deactivate_static_stub(test, pagoda_residency_and_others);
	uapi_close(client);
}

static int client_joins_a_fence(struct pagoda_bo **bos, u32 count, struct dma_fence **fence)
{
	dma_fence_put(*fence);
	*fence = dma_fence_get(kunit_get_current_test()->priv);
	return 0;
}

/* MAKE_RESIDENT and EVICT drop their reference to the fence that they tell of. */
static void client_drops_fences(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	u32 handle = uapi_allocate(client, UAPI_ANYWHERE);
	struct dma_fence *fence = pagoda_test_fence(test);

	test->priv = fence;
	kunit_activate_static_stub(test, pagoda_residency_and_others, client_joins_a_fence);
	KUNIT_EXPECT_EQ(test, 0, client_move(client, DRM_IOCTL_PAGODA_MAKE_RESIDENT, handle));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&fence->refcount));
	KUNIT_EXPECT_EQ(test, 0, client_move(client, DRM_IOCTL_PAGODA_EVICT, handle));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&fence->refcount));
	kunit_deactivate_static_stub(test, pagoda_residency_and_others);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	uapi_close(client);
}

/*
 * A thread that takes a page of user memory, or the handle of an allocation, away during a call
 * that names the allocation. The call waits for sections, which the thread opens then.
 */
struct client_taker {
	struct pagoda_vidmm *vidmm;
	struct pagoda_bo *bo;
	u32 refs;
	struct mm_struct *mm;
	unsigned long at;
	struct drm_file *file;
	u32 handle;
};

/* Waits until the call has a reference to the allocation. Returns 0 or -ETIME. */
static int client_await_call(const struct client_taker *taker)
{
	u32 tries = 10000;

	while (kref_read(&taker->bo->ttm.base.refcount) == taker->refs && --tries)
		fsleep(USEC_PER_MSEC);
	return tries ? 0 : -ETIME;
}

static void client_let_go_on(const struct client_taker *taker)
{
	pagoda_sections_open(taker->vidmm);
	pagoda_deferred_kick(taker->vidmm);
}

static int client_take_page(void *arg)
{
	struct client_taker *taker = arg;
	int late = client_await_call(taker), ret;

	kthread_use_mm(taker->mm);
	ret = vm_munmap(taker->at, PAGE_SIZE);
	kthread_unuse_mm(taker->mm);
	client_let_go_on(taker);
	return late ?: ret;
}

/* Exchanges what the handle stands for with @obj, as DRM does with NULL when a handle is closed. */
static void *client_swap_handle(struct drm_file *file, u32 handle, void *obj)
{
	spin_lock(&file->table_lock);
	obj = idr_replace(&file->object_idr, obj, handle);
	spin_unlock(&file->table_lock);
	return obj;
}

static int client_take_handle(void *arg)
{
	struct client_taker *taker = arg;
	int late = client_await_call(taker);
	void *obj = client_swap_handle(taker->file, taker->handle, NULL);

	client_let_go_on(taker);
	return late ?: PTR_ERR_OR_ZERO(obj);
}

/* Calls RECLAIM, during which the memory for its results is unmapped; returns RECLAIM's result. */
static long client_reclaim_blindly(struct uapi_client *client, struct drm_pagoda_reclaim *args,
				   u32 handle)
{
	struct pagoda_bo *bo = pagoda_bo_lookup(client->file, handle);
	struct client_taker taker = {
		.vidmm = pagoda_device_of_drm(uapi_drm(client))->vidmm,
		.bo = bo,
		.refs = kref_read(&bo->ttm.base.refcount),
		.mm = current->mm,
		.at = client->memory + UAPI_MORE,
	};
	struct pagoda_worker worker = { .run = client_take_page, .arg = &taker };
	long ret;

	args->results.array = taker.at;
	pagoda_sections_close(taker.vidmm);
	pagoda_worker_start(client->test, &worker);
	ret = uapi_ioctl(client, DRM_IOCTL_PAGODA_RECLAIM, args);
	pagoda_worker_end(client->test, &worker);
	pagoda_bo_put(bo);
	return ret;
}

/*
 * The memory for the results of RECLAIM is unmapped during the call: the call succeeds, the offer
 * has ended, and the fence gets its value.
 */
static void client_reclaims_blindly(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	const struct drm_pagoda_residency_entry entry = {
		.handle = uapi_allocate(client, UAPI_ANYWHERE),
	};
	struct drm_pagoda_offer offer = {
		.entries = {
			uapi_put(client, UAPI_ENTRIES, &entry, sizeof(entry)), 1, sizeof(entry),
		},
		.priority = DRM_PAGODA_OFFER_NORMAL,
	};
	struct drm_pagoda_reclaim reclaim = {
		.entries = offer.entries,
		.results = {
			.count = 1,
			.stride = sizeof(struct drm_pagoda_reclaim_result_entry),
		},
		.fence = gpu->fence,
		.fence_value = 1,
	};

	uapi_must(client, DRM_IOCTL_PAGODA_OFFER, &offer);
	KUNIT_EXPECT_EQ(test, 0, client_reclaim_blindly(client, &reclaim, entry.handle));
	KUNIT_EXPECT_EQ(test, 0, uapi_ioctl(client, DRM_IOCTL_PAGODA_OFFER, &offer));
	KUNIT_EXPECT_EQ(test, 0, uapi_await(gpu, 1, UAPI_PATIENCE));
	uapi_close(client);
}

/*
 * A handle is closed while VM_BIND, which has looked the handle up, waits to map the allocation:
 * the close finds nothing to unmap yet, and the call leaves no mapping.
 */
static void client_closes_what_it_binds(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP,
		.handle = uapi_allocate(client, UAPI_ANYWHERE),
		.address = gpu->address + 2 * PAGE_SIZE,
		.size = PAGE_SIZE,
	};
	struct pagoda_bo *bo = pagoda_bo_lookup(client->file, entry.handle);
	struct client_taker taker = {
		.vidmm = pagoda_device_of_drm(uapi_drm(client))->vidmm,
		.bo = bo,
		.refs = kref_read(&bo->ttm.base.refcount),
		.file = client->file,
		.handle = entry.handle,
	};
	struct pagoda_worker worker = { .run = client_take_handle, .arg = &taker };
	struct list_head *mapped = &pagoda_bo_gem(bo)->gpuva.list;

	pagoda_sections_close(taker.vidmm);
	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_EQ(test, 0, uapi_bind(gpu, &entry));
	pagoda_worker_end(test, &worker);
	KUNIT_EXPECT_TRUE(test, list_empty(mapped));
	client_swap_handle(client->file, entry.handle, pagoda_bo_gem(bo));
	/* The mapping of a handle that stays open stays. */
	KUNIT_EXPECT_EQ(test, 0, uapi_bind(gpu, &entry));
	KUNIT_EXPECT_FALSE(test, list_empty(mapped));
	pagoda_bo_put(bo);
	uapi_close(client);
}

static long client_prefer(struct uapi_client *client, u32 at, u32 segment)
{
	struct drm_pagoda_allocation_create args = {
		.size = PAGE_SIZE,
		.supported = DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM),
	};

	args.preferred[at] = segment;
	return uapi_ioctl(client, DRM_IOCTL_PAGODA_ALLOCATION_CREATE, &args);
}

/*
 * ALLOCATION_CREATE refuses a preferred segment that doesn't exist (-ENOENT), that the allocation
 * doesn't support, or that is behind a gap (both -EINVAL), at each place of the array.
 */
static void client_prefers(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	u32 at;

	for (at = 0; at < DRM_PAGODA_MAX_PREFERRED; at++) {
		KUNIT_EXPECT_EQ(test, -ENOENT,
				client_prefer(client, at, DRM_PAGODA_SEGMENT_APERTURE + 1));
		KUNIT_EXPECT_EQ(test, -EINVAL,
				client_prefer(client, at, DRM_PAGODA_SEGMENT_APERTURE));
		KUNIT_EXPECT_EQ(test, at ? -EINVAL : 0,
				client_prefer(client, at, DRM_PAGODA_SEGMENT_VRAM));
	}
	uapi_close(client);
}

/* Waits until the test has the only reference to the client, which it drops. */
static void client_expect_freed(struct kunit *test, struct pagoda_client *left)
{
	u32 tries = 5000, kind;

	while (kref_read(&left->kref) > 1 && --tries)
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&left->kref));
	for (kind = 0; kind < PAGODA_OBJECTS; kind++)
		KUNIT_EXPECT_TRUE_MSG(test, xa_empty(&left->objects[kind]), "kind %u", kind);
	pagoda_client_put(left);
}

/* A file of events outlives the client's DRM file; a poll tells that no more events come. */
static void client_hears_no_more(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_events events = { .flags = DRM_PAGODA_EVENTS_NONBLOCK };
	struct file *file;

	uapi_must(client, DRM_IOCTL_PAGODA_EVENTS, &events);
	file = fget(events.fd);
	KUNIT_ASSERT_NOT_NULL(test, file);
	close_fd(events.fd);
	KUNIT_EXPECT_FALSE(test, vfs_poll(file, NULL) & EPOLLHUP);
	uapi_close(client);
	KUNIT_EXPECT_TRUE(test, vfs_poll(file, NULL) & EPOLLHUP);
	uapi_close_file(file);
}

/* A client without jobs is freed at once when its file is closed. */
static void client_is_freed_at_once(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_client *left = client->file->driver_priv;

	kref_get(&left->kref);
	uapi_close(client);
	/* The close has left nothing to a work item. */
	KUNIT_EXPECT_NULL(test, left->drm);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&left->kref));
	pagoda_client_put(left);
}

/* What a client has created and not destroyed is destroyed soon after its file is closed. */
static void client_leaves_nothing(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_client *left = client->file->driver_priv;
	struct drm_pagoda_paging_queue_create queue = {};
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);

	uapi_must(client, DRM_IOCTL_PAGODA_PAGING_QUEUE_CREATE, &queue);
	KUNIT_EXPECT_EQ(test, 0, client_move(client, DRM_IOCTL_PAGODA_MAKE_RESIDENT, gpu->page));
	kref_get(&left->kref);
	/* A CPU mapping would keep the allocation, which has a reference to the client. */
	KUNIT_EXPECT_EQ(test, 0, vm_munmap(gpu->view, PAGE_SIZE));
	uapi_close(client);
	/* TTM frees allocations that paging still used at the close a little later. */
	client_expect_freed(test, left);
}

/* Stores @value where the data of a struct uapi_gpu begin, whose page, @bo, is in the aperture. */
static void client_store(struct pagoda_bo *bo, u64 value)
{
	u8 *page = page_address(bo->ttm.ttm->pages[0]);

	WRITE_ONCE(*(u64 *)(page + UAPI_DATA), value);
}

/* Starts a job that runs until client_store() stores 1, and then signals @sync. */
static void client_start_job(struct uapi_gpu *gpu, const struct drm_pagoda_sync *sync)
{
	struct kunit *test = gpu->client->test;

	UAPI_ADD(gpu, SIGNAL, signal, VIRTIO_PAGODA_COMMAND_EVENT,
		 .address = cpu_to_le64(FENCE(gpu)), .value = cpu_to_le64(1));
	UAPI_ADD(gpu, WAIT, wait, 0, .address = cpu_to_le64(DATA(gpu)), .value = cpu_to_le64(1));
	KUNIT_ASSERT_EQ(test, 0, uapi_submit_syncs(gpu, sync, 1));
	KUNIT_ASSERT_EQ(test, 0, uapi_await(gpu, 1, UAPI_PATIENCE));
}

/*
 * A client's file is closed while a job runs that waits for a word: the close doesn't wait for the
 * job. When the job has ended, all that the client had is destroyed.
 */
static void client_leaves_a_job(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct drm_device *drm = uapi_drm(client);
	struct pagoda_client *left = client->file->driver_priv;
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_APERTURE);
	struct pagoda_bo *bo = pagoda_bo_lookup(client->file, gpu->page);
	const struct drm_pagoda_sync sync = {
		gpu->fence, DRM_PAGODA_SYNC_SIGNAL | DRM_PAGODA_SYNC_FENCE, 2,
	};

	KUNIT_ASSERT_NOT_NULL(test, bo);
	client_start_job(gpu, &sync);
	kref_get(&left->kref);
	/* A CPU mapping would keep the file open. */
	KUNIT_EXPECT_EQ(test, 0, vm_munmap(gpu->view, PAGE_SIZE));
	uapi_close(client);
	/* The close has left the client to a work item. */
	KUNIT_EXPECT_PTR_EQ(test, drm, left->drm);
	client_store(bo, 1);
	pagoda_bo_put(bo);
	client_expect_freed(test, left);
}

/*
 * A client's file is closed while a job runs and a VM_BIND waits for the job: the VM_BIND is
 * cancelled at once, not when the job has ended.
 */
static void client_cancels_a_bind(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_client *left = client->file->driver_priv;
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_APERTURE);
	struct pagoda_bo *bo = pagoda_bo_lookup(client->file, gpu->page);
	const struct drm_pagoda_sync job = { uapi_syncobj(client), DRM_PAGODA_SYNC_SIGNAL };
	const struct drm_pagoda_sync syncs[] = {
		{ job.handle }, { uapi_syncobj(client), DRM_PAGODA_SYNC_SIGNAL },
	};
	struct drm_syncobj *bound = drm_syncobj_find(client->file, syncs[1].handle);
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP,
		.handle = gpu->page,
		.address = gpu->address + 2 * PAGE_SIZE,
		.size = PAGE_SIZE,
	};
	struct dma_fence *fence;

	KUNIT_ASSERT_NOT_NULL(test, bo);
	KUNIT_ASSERT_NOT_NULL(test, bound);
	client_start_job(gpu, &job);
	KUNIT_ASSERT_EQ(test, 0, drm_syncobj_find_fence(client->file, job.handle, 0, 0, &fence));
	KUNIT_ASSERT_EQ(test, 0, uapi_bind_syncs(gpu, &entry, syncs, ARRAY_SIZE(syncs)));
	kref_get(&left->kref);
	/* A CPU mapping would keep the file open. */
	KUNIT_EXPECT_EQ(test, 0, vm_munmap(gpu->view, PAGE_SIZE));
	uapi_close(client);
	KUNIT_EXPECT_EQ(test, -ECANCELED, submit_wait_point(bound, 0));
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fence));
	dma_fence_put(fence);
	drm_syncobj_put(bound);
	client_store(bo, 1);
	pagoda_bo_put(bo);
	client_expect_freed(test, left);
}

/*
 * When the driver is unbound from the device, ioctls on an open file fail with -ENODEV, and the
 * driver isn't told of the machine's sleep any more; when the driver is bound again, the device
 * works for new clients.
 */
static void client_outlives_the_driver(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct device *dev = uapi_drm(client)->dev;
	struct notifier_block *sleep = &pagoda_device_of_drm(uapi_drm(client))->sleep;
	struct drm_pagoda_vm_create vm = {};

	get_device(dev);
	device_release_driver(dev);
	if (IS_ENABLED(CONFIG_PM_SLEEP))
		KUNIT_EXPECT_EQ(test, -ENOENT, unregister_pm_notifier(sleep));
	KUNIT_EXPECT_EQ(test, -ENODEV, uapi_ioctl(client, DRM_IOCTL_PAGODA_VM_CREATE, &vm));
	uapi_close(client);
	KUNIT_ASSERT_EQ(test, 1, device_attach(dev));
	put_device(dev);
	client = uapi_open(test);
	uapi_must(client, DRM_IOCTL_PAGODA_VM_CREATE, &vm);
	uapi_close(client);
	client_runs_a_job(test);
}

static struct kunit_case client_cases[] = {
	KUNIT_CASE(client_runs_a_job),
	KUNIT_CASE(client_hears_of_a_signal),
	KUNIT_CASE(client_evicts),
	KUNIT_CASE(client_fails_as_a_whole),
	KUNIT_CASE(client_waits_for_others),
	KUNIT_CASE(client_drops_fences),
	KUNIT_CASE(client_reclaims_blindly),
	KUNIT_CASE(client_closes_what_it_binds),
	KUNIT_CASE(client_prefers),
	KUNIT_CASE(client_hears_no_more),
	KUNIT_CASE(client_is_freed_at_once),
	KUNIT_CASE(client_leaves_nothing),
	KUNIT_CASE(client_leaves_a_job),
	KUNIT_CASE(client_cancels_a_bind),
	KUNIT_CASE(client_outlives_the_driver),
	{}
};

static struct kunit_suite client_suite = {
	.name = "pagoda_uapi_client",
	.test_cases = client_cases,
};

kunit_test_suite(client_suite);
