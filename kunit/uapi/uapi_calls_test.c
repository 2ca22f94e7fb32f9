// SPDX-License-Identifier: GPL-2.0
/*
 * What single ioctls answer and refuse: QUERY, ALLOCATION_CREATE, MAKE_RESIDENT and EVICT with and
 * without a paging queue, QUERY_RESIDENCY, TRACK, FENCE_DESTROY and FENCE_WAIT, VM_BIND, syncobjs.
 */
#include <linux/mm.h>
#include <drm/drm.h>
#include <drm/drm_syncobj.h>
#include "rig/command.h"
#include "rig/map.h"
#include "uapi_helpers.h"

static struct drm_pagoda_array calls_list(struct uapi_client *client, u32 handle)
{
	const struct drm_pagoda_residency_entry entry = { .handle = handle };

	return (struct drm_pagoda_array) {
		.array = uapi_put(client, UAPI_ENTRIES, &entry, sizeof(entry)),
		.count = 1,
		.stride = sizeof(entry),
	};
}

static u32 calls_paging_queue(struct uapi_client *client)
{
	struct drm_pagoda_paging_queue_create args = {};

	uapi_must(client, DRM_IOCTL_PAGODA_PAGING_QUEUE_CREATE, &args);
	return args.queue;
}

/*
 * QUERY describes each segment by its number; a segment that doesn't exist is refused (-ENOENT),
 * and so is a number in the other queries (-EINVAL).
 */
static void calls_query(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_query args = { .pointer = client->memory + UAPI_TEXT };
	struct drm_pagoda_segment_info info;

	args.type = DRM_PAGODA_QUERY_SEGMENT;
	for (args.index = DRM_PAGODA_SEGMENT_VRAM; args.index <= DRM_PAGODA_SEGMENT_APERTURE;
	     args.index++) {
		args.size = sizeof(info);
		KUNIT_ASSERT_EQ(test, 0, uapi_ioctl(client, DRM_IOCTL_PAGODA_QUERY, &args));
		KUNIT_EXPECT_EQ(test, sizeof(info), args.size);
		uapi_get(client, UAPI_TEXT, &info, sizeof(info));
		KUNIT_EXPECT_EQ(test, args.index, info.id);
		KUNIT_EXPECT_GT(test, info.size, 0);
	}
	KUNIT_EXPECT_EQ(test, -ENOENT, uapi_ioctl(client, DRM_IOCTL_PAGODA_QUERY, &args));
	args.type = DRM_PAGODA_QUERY_DEVICE;
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_ioctl(client, DRM_IOCTL_PAGODA_QUERY, &args));
	args.index = 0;
	KUNIT_EXPECT_EQ(test, 0, uapi_ioctl(client, DRM_IOCTL_PAGODA_QUERY, &args));
	uapi_close(client);
}

static long calls_create_flags(struct uapi_client *client, u32 flags)
{
	struct drm_pagoda_allocation_create args = {
		.size = PAGE_SIZE,
		.flags = flags,
		.supported = UAPI_ANYWHERE,
	};

	return uapi_ioctl(client, DRM_IOCTL_PAGODA_ALLOCATION_CREATE, &args);
}

/* Only an allocation that the CPU may map can be cached. */
static void calls_create(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	const u32 visible = DRM_PAGODA_ALLOCATION_CPU_VISIBLE;
	const u32 cached = DRM_PAGODA_ALLOCATION_CACHED;

	KUNIT_EXPECT_EQ(test, 0, calls_create_flags(client, 0));
	KUNIT_EXPECT_EQ(test, 0, calls_create_flags(client, visible));
	KUNIT_EXPECT_EQ(test, 0, calls_create_flags(client, visible | cached));
	KUNIT_EXPECT_EQ(test, -EINVAL, calls_create_flags(client, cached));
	uapi_close(client);
}

static long calls_make_resident(struct uapi_client *client, u32 handle, u32 queue, u32 flags)
{
	struct drm_pagoda_make_resident args = {
		.entries = calls_list(client, handle),
		.flags = flags,
		.paging_queue = queue,
	};

	return uapi_ioctl(client, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &args);
}

/*
 * MAKE_RESIDENT refuses flags without a paging queue, DENY_OVERBUDGET together with any other flag,
 * and MUST_SUCCEED without CANT_TRIM_FURTHER.
 */
static void calls_make_resident_flags(struct kunit *test)
{
	const u32 deny = DRM_PAGODA_RESIDENT_DENY_OVERBUDGET;
	const u32 trim = DRM_PAGODA_RESIDENT_CANT_TRIM_FURTHER;
	const u32 must = DRM_PAGODA_RESIDENT_MUST_SUCCEED;
	const u32 without_queue[] = { deny, trim, trim | must };
	const u32 refused[] = { deny | trim, deny | must, deny | trim | must, must, 1u << 31 };
	struct uapi_client *client = uapi_open(test);
	u32 handle = uapi_allocate(client, UAPI_ANYWHERE);
	u32 queue = calls_paging_queue(client), i;

	for (i = 0; i < ARRAY_SIZE(without_queue); i++)
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    calls_make_resident(client, handle, 0, without_queue[i]),
				    "flags %x", without_queue[i]);
	for (i = 0; i < ARRAY_SIZE(refused); i++)
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    calls_make_resident(client, handle, queue, refused[i]),
				    "flags %x", refused[i]);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_NOT_RESIDENT, uapi_residency(client, handle));
	KUNIT_EXPECT_EQ(test, 0, calls_make_resident(client, handle, queue, trim | must));
	uapi_close(client);
}

/* Returns how often the allocation is on the client's residency list. */
static u32 calls_listed(struct uapi_client *client, u32 handle)
{
	struct drm_pagoda_list_status status = { .handle = handle };
	struct drm_pagoda_query_residency_list args = {
		.entries = {
			uapi_put(client, UAPI_ENTRIES, &status, sizeof(status)), 1, sizeof(status),
		},
	};

	uapi_must(client, DRM_IOCTL_PAGODA_QUERY_RESIDENCY_LIST, &args);
	uapi_get(client, UAPI_ENTRIES, &status, sizeof(status));
	return status.count;
}

/*
 * With a paging queue, MAKE_RESIDENT puts an allocation on the residency list, and EVICT takes the
 * allocation off; EVICT of what isn't on the list is refused. Without one, EVICT changes no count.
 */
static void calls_evict_from_the_list(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	u32 handle = uapi_allocate(client, UAPI_ANYWHERE);
	u32 queue = calls_paging_queue(client);
	struct drm_pagoda_evict args = {};

	KUNIT_ASSERT_EQ(test, 0, calls_make_resident(client, handle, queue, 0));
	KUNIT_EXPECT_EQ(test, 1, calls_listed(client, handle));
	args.entries = calls_list(client, handle);
	KUNIT_EXPECT_EQ(test, 0, uapi_ioctl(client, DRM_IOCTL_PAGODA_EVICT, &args));
	KUNIT_EXPECT_EQ(test, 1, calls_listed(client, handle));
	args.entries = calls_list(client, handle);
	args.paging_queue = queue;
	KUNIT_EXPECT_EQ(test, 0, uapi_ioctl(client, DRM_IOCTL_PAGODA_EVICT, &args));
	KUNIT_EXPECT_EQ(test, 0, calls_listed(client, handle));
	args.entries = calls_list(client, handle);
	KUNIT_EXPECT_EQ(test, -ENOENT, uapi_ioctl(client, DRM_IOCTL_PAGODA_EVICT, &args));
	uapi_close(client);
}

/* Entries of a list that is looked up in three parts: 64, 64 and the rest. */
#define CALLS_MANY	140u

static struct drm_pagoda_array calls_many(struct uapi_client *client,
					  const struct drm_pagoda_residency_entry *entries)
{
	return (struct drm_pagoda_array) {
		.array = uapi_put(client, UAPI_MORE, entries, CALLS_MANY * sizeof(*entries)),
		.count = CALLS_MANY,
		.stride = sizeof(*entries),
	};
}

static long calls_make_many(struct uapi_client *client, u32 queue,
			    const struct drm_pagoda_residency_entry *entries)
{
	struct drm_pagoda_make_resident args = {
		.entries = calls_many(client, entries),
		.paging_queue = queue,
	};

	return uapi_ioctl(client, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &args);
}

static long calls_evict_many(struct uapi_client *client, u32 queue,
			     const struct drm_pagoda_residency_entry *entries)
{
	struct drm_pagoda_evict args = {
		.entries = calls_many(client, entries),
		.paging_queue = queue,
	};

	return uapi_ioctl(client, DRM_IOCTL_PAGODA_EVICT, &args);
}

/* Expects that each allocation is @count times on the residency list, and waits for its paging. */
static void calls_expect_many(struct uapi_client *client,
			      const struct drm_pagoda_residency_entry *entries, u32 count)
{
	u32 i;

	for (i = 0; i < CALLS_MANY; i++) {
		struct drm_pagoda_allocation_wait wait = {
			.handle = entries[i].handle,
			.timeout_ns = KTIME_MAX,
		};

		KUNIT_EXPECT_EQ_MSG(client->test, count, calls_listed(client, entries[i].handle),
				    "entry %u", i);
		uapi_must(client, DRM_IOCTL_PAGODA_ALLOCATION_WAIT, &wait);
	}
}

/*
 * Expects that MAKE_RESIDENT, with and without a paging queue, refuses a list with the handle
 * @handle in entry @at, and counts nothing.
 */
static void calls_refuse_many(struct uapi_client *client, u32 queue,
			      struct drm_pagoda_residency_entry *entries, u32 at, u32 handle,
			      long want)
{
	u32 good = entries[at].handle;

	entries[at].handle = handle;
	KUNIT_EXPECT_EQ_MSG(client->test, want, calls_make_many(client, queue, entries),
			    "entry %u", at);
	KUNIT_EXPECT_EQ_MSG(client->test, want, calls_make_many(client, 0, entries), "entry %u",
			    at);
	entries[at].handle = good;
	calls_expect_many(client, entries, 2);
}

/*
 * A long list is counted, or refused, as a whole, also if all of its allocations but one, in any
 * part of the list, are where they are to be already.
 */
static void calls_long_list(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_residency_entry *entries = test_calloc(test, CALLS_MANY,
								 sizeof(*entries));
	u32 queue = calls_paging_queue(client), i;

	for (i = 0; i < CALLS_MANY; i++)
		entries[i].handle = uapi_allocate(client, UAPI_ANYWHERE);
	KUNIT_ASSERT_EQ(test, 0, calls_make_many(client, queue, entries));
	calls_expect_many(client, entries, 1);
	KUNIT_ASSERT_EQ(test, 0, calls_make_many(client, queue, entries));
	calls_expect_many(client, entries, 2);
	for (i = 0; i < CALLS_MANY; i += 69) {
		calls_refuse_many(client, queue, entries, i, ~0u, -ENOENT);
		calls_refuse_many(client, queue, entries, i, entries[i + 1].handle, -EINVAL);
	}
	for (i = 2; i; i--) {
		KUNIT_EXPECT_EQ(test, 0, calls_evict_many(client, queue, entries));
		calls_expect_many(client, entries, i - 1);
	}
	KUNIT_EXPECT_EQ(test, -ENOENT, calls_evict_many(client, queue, entries));
	uapi_close(client);
}

/* QUERY_RESIDENCY tells of an allocation what ALLOCATION_INFO does. */
static void calls_query_residency(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	u32 handle = uapi_allocate(client, UAPI_APERTURE);
	struct drm_pagoda_residency_status status = { .handle = handle };
	struct drm_pagoda_query_residency args = { .entries = { .count = 1 } };

	uapi_make_resident(client, handle);
	args.entries.array = uapi_put(client, UAPI_ENTRIES, &status, sizeof(status));
	args.entries.stride = sizeof(status);
	KUNIT_EXPECT_EQ(test, 0, uapi_ioctl(client, DRM_IOCTL_PAGODA_QUERY_RESIDENCY, &args));
	uapi_get(client, UAPI_ENTRIES, &status, sizeof(status));
	KUNIT_EXPECT_NE(test, DRM_PAGODA_NOT_RESIDENT, status.residency);
	KUNIT_EXPECT_EQ(test, uapi_residency(client, handle), status.residency);
	KUNIT_EXPECT_EQ(test, 0, status.state);
	uapi_close(client);
}

static long calls_track(struct uapi_client *client, u32 handle, u32 operation, u64 size)
{
	struct drm_pagoda_track args = {
		.handle = handle,
		.operation = operation,
		.size = size,
		.bits = size ? client->memory + UAPI_TEXT : 0,
	};

	return uapi_ioctl(client, DRM_IOCTL_PAGODA_TRACK, &args);
}

/*
 * An allocation is tracked from START until STOP, and QUERY answers a bit for its page. START and
 * STOP refuse what only QUERY needs.
 */
static void calls_track_writes(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	u32 handle = uapi_allocate(client, UAPI_ANYWHERE);
	u64 bits = U64_MAX;
	long ret;

	KUNIT_EXPECT_EQ(test, -EINVAL,
			calls_track(client, handle, DRM_PAGODA_TRACK_START, PAGE_SIZE));
	ret = calls_track(client, handle, DRM_PAGODA_TRACK_START, 0);
	if (ret == -EOPNOTSUPP)
		kunit_skip(test, "the device doesn't track what it writes");
	KUNIT_ASSERT_EQ(test, 0, ret);
	KUNIT_EXPECT_EQ(test, -EBUSY, calls_track(client, handle, DRM_PAGODA_TRACK_START, 0));
	uapi_put(client, UAPI_TEXT, &bits, sizeof(bits));
	KUNIT_EXPECT_EQ(test, 0, calls_track(client, handle, DRM_PAGODA_TRACK_QUERY, PAGE_SIZE));
	uapi_get(client, UAPI_TEXT, &bits, sizeof(bits));
	KUNIT_EXPECT_LE(test, bits, 1);
	KUNIT_EXPECT_EQ(test, -EINVAL, calls_track(client, handle, DRM_PAGODA_TRACK_QUERY, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			calls_track(client, handle, DRM_PAGODA_TRACK_STOP, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, 0, calls_track(client, handle, DRM_PAGODA_TRACK_STOP, 0));
	KUNIT_EXPECT_EQ(test, -ENOENT, calls_track(client, handle, DRM_PAGODA_TRACK_STOP, 0));
	uapi_close(client);
}

static unsigned long calls_map_fence(struct uapi_client *client, u64 offset)
{
	return rig_mmap(client->test, client->filp, PAGE_SIZE, PROT_READ, MAP_SHARED, offset);
}

/* A fence's value can be mapped until the fence is destroyed, which is possible once. */
static void calls_fence_destroy(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_fence_create fence = { .value = 3 };
	struct drm_pagoda_fence_destroy args = {};
	unsigned long at;

	uapi_must(client, DRM_IOCTL_PAGODA_FENCE_CREATE, &fence);
	at = calls_map_fence(client, fence.offset);
	KUNIT_ASSERT_NE(test, 0, at);
	KUNIT_EXPECT_EQ(test, 3, uapi_word(client, at));
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(at, PAGE_SIZE));
	args.fence = fence.fence;
	KUNIT_EXPECT_EQ(test, 0, uapi_ioctl(client, DRM_IOCTL_PAGODA_FENCE_DESTROY, &args));
	KUNIT_EXPECT_EQ(test, 0, calls_map_fence(client, fence.offset));
	KUNIT_EXPECT_EQ(test, -ENOENT, uapi_ioctl(client, DRM_IOCTL_PAGODA_FENCE_DESTROY, &args));
	uapi_close(client);
}

/*
 * FENCE_WAIT signals an eventfd instead of waiting: a file that isn't open is refused (-EBADF), a
 * timeout with the eventfd, or an eventfd without the flag, is, too (-EINVAL).
 */
static void calls_fence_eventfd(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	const struct drm_pagoda_fence_value value = { .fence = gpu->fence, .value = 1 };
	struct drm_pagoda_fence_wait args = {
		.entries = {
			uapi_put(client, UAPI_ENTRIES, &value, sizeof(value)), 1, sizeof(value),
		},
		.flags = DRM_PAGODA_FENCE_WAIT_EVENTFD,
		.eventfd = 1000,
	};

	KUNIT_EXPECT_EQ(test, -EBADF, uapi_ioctl(client, DRM_IOCTL_PAGODA_FENCE_WAIT, &args));
	args.timeout_ns = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_ioctl(client, DRM_IOCTL_PAGODA_FENCE_WAIT, &args));
	args.flags = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_ioctl(client, DRM_IOCTL_PAGODA_FENCE_WAIT, &args));
	args.eventfd = 0;
	KUNIT_EXPECT_EQ(test, -ETIME, uapi_ioctl(client, DRM_IOCTL_PAGODA_FENCE_WAIT, &args));
	uapi_close(client);
}

/*
 * VM_BIND stores the address that the kernel chose in an entry with CHOOSE, and leaves the address
 * of another entry.
 */
static void calls_bind_choose(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP_ZERO,
		.address = gpu->address,
		.size = PAGE_SIZE,
		.flags = DRM_PAGODA_BIND_CHOOSE,
	};
	u64 next;

	KUNIT_ASSERT_EQ(test, 0, uapi_bind(gpu, &entry));
	/* The program's page and the fence's value have the first two pages of addresses. */
	KUNIT_EXPECT_GE(test, entry.address, gpu->address + 2 * PAGE_SIZE);
	next = entry.address + PAGE_SIZE;
	entry.address = next;
	entry.flags = 0;
	KUNIT_EXPECT_EQ(test, 0, uapi_bind(gpu, &entry));
	KUNIT_EXPECT_EQ(test, next, entry.address);
	uapi_close(client);
}

static long calls_await(struct uapi_client *client, u32 syncobj, u64 patience_ns)
{
	struct drm_syncobj_wait args = {
		.handles = uapi_put(client, UAPI_ENTRIES, &syncobj, sizeof(syncobj)),
		.timeout_nsec = ktime_get_ns() + patience_ns,
		.count_handles = 1,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	return uapi_ioctl(client, DRM_IOCTL_SYNCOBJ_WAIT, &args);
}

/*
 * A job signals a syncobj when the job is done, and a job of another VM waits for that. A syncobj
 * that the client doesn't have is refused.
 */
static void calls_submit_syncobjs(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	struct uapi_gpu *late = uapi_gpu(client, UAPI_ANYWHERE);
	u32 syncobj = uapi_syncobj(client);
	struct drm_pagoda_sync signal = { syncobj, DRM_PAGODA_SYNC_SIGNAL };
	const struct drm_pagoda_sync syncs[] = {
		{ .handle = syncobj },
		{ late->fence, DRM_PAGODA_SYNC_SIGNAL | DRM_PAGODA_SYNC_FENCE, 1 },
	};

	UAPI_ADD(gpu, WAIT, wait, 0, .address = cpu_to_le64(gpu->address + UAPI_DATA),
		 .value = cpu_to_le64(1));
	KUNIT_ASSERT_EQ(test, 0, uapi_submit_syncs(gpu, &signal, 1));
	UAPI_ADD(late, NOP, nop, 0);
	KUNIT_ASSERT_EQ(test, 0, uapi_submit_syncs(late, syncs, ARRAY_SIZE(syncs)));
	KUNIT_EXPECT_EQ(test, -ETIME, calls_await(client, syncobj, 0));
	KUNIT_EXPECT_EQ(test, -ETIME, uapi_await(late, 1, 0));
	uapi_set_word(client, gpu->view + UAPI_DATA, 1);
	KUNIT_EXPECT_EQ(test, 0, calls_await(client, syncobj, UAPI_PATIENCE));
	KUNIT_EXPECT_EQ(test, 0, uapi_await(late, 1, UAPI_PATIENCE));
	signal.handle++;
	UAPI_ADD(gpu, NOP, nop, 0);
	KUNIT_EXPECT_EQ(test, -ENOENT, uapi_submit_syncs(gpu, &signal, 1));
	uapi_close(client);
}

/* Nothing keeps the syncobj of a paging queue when the queue and the handle are destroyed. */
static void calls_paging_queue_destroy(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_paging_queue_create create = {};
	struct drm_pagoda_paging_queue_destroy queue = {};
	struct drm_syncobj_destroy handle = {};
	struct drm_syncobj *syncobj;

	uapi_must(client, DRM_IOCTL_PAGODA_PAGING_QUEUE_CREATE, &create);
	syncobj = drm_syncobj_find(client->file, create.syncobj);
	KUNIT_ASSERT_NOT_NULL(test, syncobj);
	queue.queue = create.queue;
	KUNIT_EXPECT_EQ(test, 0, uapi_ioctl(client, DRM_IOCTL_PAGODA_PAGING_QUEUE_DESTROY, &queue));
	handle.handle = create.syncobj;
	KUNIT_EXPECT_EQ(test, 0, uapi_ioctl(client, DRM_IOCTL_SYNCOBJ_DESTROY, &handle));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&syncobj->refcount));
	drm_syncobj_put(syncobj);
	uapi_close(client);
}

static struct kunit_case calls_cases[] = {
	KUNIT_CASE(calls_query),
	KUNIT_CASE(calls_create),
	KUNIT_CASE(calls_make_resident_flags),
	KUNIT_CASE(calls_evict_from_the_list),
	KUNIT_CASE(calls_long_list),
	KUNIT_CASE(calls_query_residency),
	KUNIT_CASE(calls_track_writes),
	KUNIT_CASE(calls_fence_destroy),
	KUNIT_CASE(calls_fence_eventfd),
	KUNIT_CASE(calls_bind_choose),
	KUNIT_CASE(calls_submit_syncobjs),
	KUNIT_CASE(calls_paging_queue_destroy),
	{}
};

static struct kunit_suite calls_suite = {
	.name = "pagoda_uapi_calls",
	.test_cases = calls_cases,
};

kunit_test_suite(calls_suite);
