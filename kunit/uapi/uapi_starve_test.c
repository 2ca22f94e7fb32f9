// SPDX-License-Identifier: GPL-2.0
/*
 * ioctls without memory: with each of its memory allocations failing in turn, an ioctl fails with
 * -ENOMEM, without an effect, or does without the allocation.
 */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <drm/drm.h>
#include "paging/op.h"
#include "uapi_refuse.h"

/* Expects that an ioctl, which succeeds with memory, fails at least once without. */
static void starve_expect(struct uapi_client *client, unsigned int cmd, const void *args,
			  void (*undo)(struct uapi_client *client, const void *args))
{
	KUNIT_EXPECT_GT(client->test, uapi_starve(client, cmd, args, 0, undo), 0);
}

/* ---- What a client makes ---------------------------------------------------------------- */

static void starve_destroy_vm(struct uapi_client *client, const void *args)
{
	const struct drm_pagoda_vm_create *vm = args;
	struct drm_pagoda_vm_destroy destroy = { .vm = vm->vm };

	uapi_must(client, DRM_IOCTL_PAGODA_VM_DESTROY, &destroy);
}

static void starve_vm(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	const struct drm_pagoda_vm_create vm = {};

	starve_expect(client, DRM_IOCTL_PAGODA_VM_CREATE, &vm, starve_destroy_vm);
	uapi_close(client);
}

static void starve_close_handle(struct uapi_client *client, const void *args)
{
	const struct drm_pagoda_allocation_create *allocation = args;
	struct drm_gem_close close = { .handle = allocation->handle };

	uapi_must(client, DRM_IOCTL_GEM_CLOSE, &close);
}

static void starve_allocation(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	const struct drm_pagoda_allocation_create allocation = {
		.size = PAGE_SIZE,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
		.supported = UAPI_ANYWHERE,
	};

	starve_expect(client, DRM_IOCTL_PAGODA_ALLOCATION_CREATE, &allocation,
		      starve_close_handle);
	uapi_close(client);
}

static void starve_destroy_queue(struct uapi_client *client, const void *args)
{
	const struct drm_pagoda_paging_queue_create *queue = args;
	struct drm_pagoda_paging_queue_destroy destroy = { .queue = queue->queue };
	struct drm_syncobj_destroy handle = { .handle = queue->syncobj };

	uapi_must(client, DRM_IOCTL_PAGODA_PAGING_QUEUE_DESTROY, &destroy);
	uapi_must(client, DRM_IOCTL_SYNCOBJ_DESTROY, &handle);
}

static void starve_paging_queue(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	const struct drm_pagoda_paging_queue_create queue = {};

	starve_expect(client, DRM_IOCTL_PAGODA_PAGING_QUEUE_CREATE, &queue, starve_destroy_queue);
	uapi_close(client);
}

static void starve_close_events(struct uapi_client *client, const void *args)
{
	const struct drm_pagoda_events *events = args;

	close_fd(events->fd);
	/* A kernel thread leaves the release to a work item. */
	flush_delayed_fput();
}

static void starve_events(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	const struct drm_pagoda_events events = {};

	starve_expect(client, DRM_IOCTL_PAGODA_EVENTS, &events, starve_close_events);
	uapi_close(client);
}

/* ---- Lists ------------------------------------------------------------------------------ */

static void starve_evict(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	const struct drm_pagoda_residency_entry entry = {
		.handle = uapi_allocate(client, UAPI_APERTURE),
	};
	const struct drm_pagoda_evict evict = { .entries = UAPI_LIST(client, entry) };

	starve_expect(client, DRM_IOCTL_PAGODA_EVICT, &evict, NULL);
	uapi_close(client);
}

static void starve_query(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	const struct drm_pagoda_residency_status status = {
		.handle = uapi_allocate(client, UAPI_ANYWHERE),
	};
	const struct drm_pagoda_query_residency query = { .entries = UAPI_LIST(client, status) };

	starve_expect(client, DRM_IOCTL_PAGODA_QUERY_RESIDENCY, &query, NULL);
	uapi_close(client);
}

/* Signals a fence that may rewind with the same value again and again, and waits for the value. */
static void starve_fence(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_fence_create fence = { .flags = DRM_PAGODA_FENCE_ALLOW_REWIND };
	struct drm_pagoda_fence_value value = { .value = 1 };
	struct drm_pagoda_fence_signal signal = {};
	struct drm_pagoda_fence_wait wait = {};

	uapi_must(client, DRM_IOCTL_PAGODA_FENCE_CREATE, &fence);
	value.fence = fence.fence;
	signal.entries = (struct drm_pagoda_array)UAPI_LIST(client, value);
	starve_expect(client, DRM_IOCTL_PAGODA_FENCE_SIGNAL, &signal, NULL);
	wait.entries = signal.entries;
	starve_expect(client, DRM_IOCTL_PAGODA_FENCE_WAIT, &wait, NULL);
	uapi_close(client);
}

/*
 * An array that maps a page with two unique driver protections is refused (C142), also if there is
 * no memory for the comparison of the mappings.
 */
static void starve_comparison(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	struct drm_pagoda_bind_entry entries[2];
	struct drm_pagoda_vm_bind args = {
		.entries = { .count = ARRAY_SIZE(entries), .stride = sizeof(*entries) },
		.vm = gpu->vm,
	};
	u32 handle = uapi_allocate(client, UAPI_ANYWHERE), i;

	for (i = 0; i < ARRAY_SIZE(entries); i++)
		entries[i] = (struct drm_pagoda_bind_entry) {
			.type = DRM_PAGODA_BIND_MAP,
			.handle = handle,
			.address = gpu->address + (i + 2) * PAGE_SIZE,
			.size = PAGE_SIZE,
			.driver_protection = PAGODA_PROTECTION_UNIQUE | (i + 1),
		};
	args.entries.array = uapi_put(client, UAPI_ENTRIES, entries, sizeof(entries));
	KUNIT_EXPECT_GT(test, uapi_starve(client, DRM_IOCTL_PAGODA_VM_BIND, &args, -EINVAL, NULL),
			0);
	uapi_close(client);
}

static struct kunit_case starve_cases[] = {
	KUNIT_CASE(starve_vm),
	KUNIT_CASE(starve_allocation),
	KUNIT_CASE(starve_paging_queue),
	KUNIT_CASE(starve_events),
	KUNIT_CASE(starve_evict),
	KUNIT_CASE(starve_query),
	KUNIT_CASE(starve_fence),
	KUNIT_CASE(starve_comparison),
	{}
};

static struct kunit_suite starve_suite = {
	.name = "pagoda_uapi_starve",
	.test_cases = starve_cases,
};

kunit_test_suite(starve_suite);
