// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments that ioctls about the device and its memory refuse. A case has a call that
 * succeeds, and tables of single members with values for which the same call is refused: the
 * refused calls come first, and have no effect.
 */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <drm/drm.h>
#include <drm/drm_device.h>
#include "core/device.h"
#include "uapi_refuse.h"

/* ---- The device, single allocations ----------------------------------------------------- */

/* QUERY answers as many bytes as the client has room for, none if @size is 0. */
static void refuse_query(struct kunit *test)
{
	static const struct uapi_refusal rows[] = {
		REFUSED(query, type, 0, EINVAL),
		REFUSED(query, type, DRM_PAGODA_QUERY_STATS + 1, EINVAL),
		REFUSED(query, index, 1, EINVAL),
		REFUSED(query, pad, 1, EINVAL),
		REFUSED(query, pointer, UAPI_NOWHERE, EFAULT),
	};
	struct uapi_client *client = uapi_open(test);
	const u64 words[] = { U64_MAX, U64_MAX };
	struct drm_pagoda_query args = {
		.type = DRM_PAGODA_QUERY_STATS,
		.size = sizeof(words[0]),
		.pointer = uapi_put(client, UAPI_TEXT, words, sizeof(words)),
	};
	u64 answer[ARRAY_SIZE(words)];

	UAPI_REFUSE(UAPI_CALL(client, QUERY, args), rows);
	KUNIT_EXPECT_EQ(test, sizeof(struct drm_pagoda_stats), args.size);
	uapi_get(client, UAPI_TEXT, answer, sizeof(answer));
	KUNIT_EXPECT_NE(test, U64_MAX, answer[0]);
	KUNIT_EXPECT_EQ(test, U64_MAX, answer[1]);
	args.size = 0;
	args.pointer = UAPI_NOWHERE;
	uapi_accept(UAPI_CALL(client, QUERY, args));
	KUNIT_EXPECT_EQ(test, sizeof(struct drm_pagoda_stats), args.size);
	uapi_close(client);
}

static void refuse_create(struct kunit *test)
{
	static const struct uapi_refusal rows[] = {
		REFUSED(allocation_create, size, 0, EINVAL),
		REFUSED(allocation_create, size, DRM_PAGODA_MAX_ALLOCATION + 1, EINVAL),
		REFUSED(allocation_create, size, DRM_PAGODA_MAX_ALLOCATION, E2BIG),
		REFUSED(allocation_create, flags, DRM_PAGODA_ALLOCATION_IMPORTED, EINVAL),
		REFUSED(allocation_create, pad, 1, EINVAL),
		REFUSED(allocation_create, pad2, 1, EINVAL),
		REFUSED(allocation_create, alignment, PAGE_SIZE / 2, EINVAL),
		REFUSED(allocation_create, alignment, PAGE_SIZE * 3, EINVAL),
		REFUSED(allocation_create, alignment, SZ_4M, EINVAL),
		REFUSED(allocation_create, supported, 0, EINVAL),
		REFUSED(allocation_create, supported, UAPI_ANYWHERE + 1, ENOENT),
		REFUSED(allocation_create, eviction, UAPI_ANYWHERE + 1, ENOENT),
		REFUSED(allocation_create, eviction, UAPI_VRAM, EINVAL),
		REFUSED(allocation_create, preferred[1], DRM_PAGODA_SEGMENT_VRAM, EINVAL),
		REFUSED(allocation_create, tiling, DRM_PAGODA_TILING_64K + 1, EINVAL),
		REFUSED(allocation_create, vm, UAPI_UNKNOWN, ENOENT),
	};
	static const struct uapi_refusal only_in_vram[] = {
		REFUSED(allocation_create, eviction, UAPI_APERTURE, EINVAL),
	};
	struct uapi_client *client = uapi_open(test);
	const struct drm_pagoda_allocation_create page = {
		.size = PAGE_SIZE,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
		.supported = UAPI_ANYWHERE,
		.preferred = { DRM_PAGODA_SEGMENT_VRAM },
	};
	struct drm_pagoda_allocation_create args = page;

	UAPI_REFUSE(UAPI_CALL(client, ALLOCATION_CREATE, args), rows);
	args = page;
	args.supported = UAPI_VRAM;
	args.alignment = PAGE_SIZE;
	UAPI_REFUSE(UAPI_CALL(client, ALLOCATION_CREATE, args), only_in_vram);
	args = page;
	args.size = 1;
	args.alignment = SZ_2M;
	args.eviction = UAPI_APERTURE;
	uapi_accept(UAPI_CALL(client, ALLOCATION_CREATE, args));
	KUNIT_EXPECT_EQ(test, PAGE_SIZE, args.size);
	uapi_close(client);
}

/* What an allocation's handle is for; one that the CPU may not map has no offset (-EACCES). */
static void refuse_handles(struct kunit *test)
{
	static const struct uapi_refusal offset_rows[] = {
		REFUSED(allocation_mmap_offset, flags, 1, EINVAL),
		REFUSED(allocation_mmap_offset, handle, UAPI_UNKNOWN, ENOENT),
	};
	static const struct uapi_refusal info_rows[] = {
		REFUSED(allocation_info, handle, UAPI_UNKNOWN, ENOENT),
	};
	static const struct uapi_refusal wait_rows[] = {
		REFUSED(allocation_wait, flags, DRM_PAGODA_ALLOCATION_WAIT_ACKNOWLEDGE << 1,
			EINVAL),
		REFUSED(allocation_wait, handle, UAPI_UNKNOWN, ENOENT),
	};
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_allocation_create hidden = {
		.size = PAGE_SIZE,
		.supported = UAPI_VRAM,
	};
	struct drm_pagoda_allocation_mmap_offset offset = {
		.handle = uapi_allocate(client, UAPI_ANYWHERE),
	};
	struct drm_pagoda_allocation_info info = { .handle = offset.handle };
	struct drm_pagoda_allocation_wait wait = { .handle = offset.handle };

	UAPI_REFUSE(UAPI_CALL(client, ALLOCATION_MMAP_OFFSET, offset), offset_rows);
	UAPI_REFUSE(UAPI_CALL(client, ALLOCATION_INFO, info), info_rows);
	UAPI_REFUSE(UAPI_CALL(client, ALLOCATION_WAIT, wait), wait_rows);
	uapi_must(client, DRM_IOCTL_PAGODA_ALLOCATION_CREATE, &hidden);
	offset = (struct drm_pagoda_allocation_mmap_offset) { .handle = hidden.handle };
	KUNIT_EXPECT_EQ(test, -EACCES,
			uapi_ioctl(client, DRM_IOCTL_PAGODA_ALLOCATION_MMAP_OFFSET, &offset));
	uapi_close(client);
}

/* Bits of the pages of an allocation: QUERY names whole pages of the allocation. */
static void refuse_track(struct kunit *test)
{
	static const struct uapi_refusal start_rows[] = {
		REFUSED(track, operation, DRM_PAGODA_TRACK_QUERY + 1, EINVAL),
		REFUSED(track, handle, UAPI_UNKNOWN, ENOENT),
		REFUSED(track, offset, PAGE_SIZE, EINVAL),
		REFUSED(track, bits, UAPI_NOWHERE, EINVAL),
	};
	/* Without START: what isn't refused for another reason gets -ENOENT. */
	static const struct uapi_refusal early_rows[] = {
		REFUSED(track, bits, UAPI_NOWHERE, EFAULT),
		REFUSED(track, size, PAGE_SIZE, ENOENT),
	};
	static const struct uapi_refusal query_rows[] = {
		REFUSED(track, offset, PAGE_SIZE, EINVAL),
		REFUSED(track, size, PAGE_SIZE / 2, EINVAL),
		REFUSED(track, size, 2 * PAGE_SIZE, EINVAL),
		REFUSED(track, bits, UAPI_NOWHERE, EFAULT),
	};
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_track args = { .handle = uapi_allocate(client, UAPI_ANYWHERE) };
	struct drm_pagoda_track query = {
		.operation = DRM_PAGODA_TRACK_QUERY,
		.size = PAGE_SIZE,
		.bits = client->memory + UAPI_TEXT,
	};

	if (!(pagoda_device_of_drm(uapi_drm(client))->info.features &
	      BIT_ULL(VIRTIO_PAGODA_F_DIRTY)))
		kunit_skip(test, "the device doesn't track what it writes");
	query.handle = args.handle;
	uapi_refuse_rows(UAPI_CALL(client, TRACK, query), 0, early_rows, ARRAY_SIZE(early_rows));
	UAPI_REFUSE(UAPI_CALL(client, TRACK, args), start_rows);
	args = query;
	UAPI_REFUSE(UAPI_CALL(client, TRACK, args), query_rows);
	uapi_close(client);
}

/* Returns @other's handle of the allocation with @client's handle @handle. */
static u32 refuse_share(struct uapi_client *client, u32 handle, struct uapi_client *other)
{
	struct drm_prime_handle args = { .handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR };

	uapi_must(client, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);
	uapi_must(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);
	close_fd(args.fd);
	flush_delayed_fput();
	return args.handle;
}

/* Only the client that made an allocation tracks it, not another that shares it. */
static void refuse_track_of_others(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test), *other = uapi_open(test);
	struct drm_pagoda_track args = { .handle = uapi_allocate(client, UAPI_ANYWHERE) };
	struct drm_pagoda_track others = { .handle = refuse_share(client, args.handle, other) };

	if (!(pagoda_device_of_drm(uapi_drm(client))->info.features &
	      BIT_ULL(VIRTIO_PAGODA_F_DIRTY)))
		kunit_skip(test, "the device doesn't track what it writes");
	KUNIT_EXPECT_EQ(test, -EPERM, uapi_ioctl(other, DRM_IOCTL_PAGODA_TRACK, &others));
	uapi_accept(UAPI_CALL(client, TRACK, args));
	others.operation = DRM_PAGODA_TRACK_STOP;
	KUNIT_EXPECT_EQ(test, -ENOENT, uapi_ioctl(other, DRM_IOCTL_PAGODA_TRACK, &others));
	others.operation = DRM_PAGODA_TRACK_QUERY;
	others.size = PAGE_SIZE;
	others.bits = other->memory + UAPI_TEXT;
	KUNIT_EXPECT_EQ(test, -ENOENT, uapi_ioctl(other, DRM_IOCTL_PAGODA_TRACK, &others));
	args.operation = DRM_PAGODA_TRACK_STOP;
	uapi_accept(UAPI_CALL(client, TRACK, args));
	uapi_close(other);
	uapi_close(client);
}

/* ---- Lists of allocations --------------------------------------------------------------- */

static const struct uapi_refusal refuse_entry_rows[] = {
	REFUSED(residency_entry, handle, UAPI_UNKNOWN, ENOENT),
	REFUSED(residency_entry, flags, 1, EINVAL),
};

static const struct uapi_refusal refuse_resident_rows[] = {
	REFUSED(make_resident, flags, DRM_PAGODA_RESIDENT_DENY_OVERBUDGET << 1, EINVAL),
	REFUSED(make_resident, pad, 1, EINVAL),
	REFUSED(make_resident, pad2, 1, EINVAL),
	REFUSED(make_resident, paging_queue, UAPI_UNKNOWN, ENOENT),
	REFUSED(make_resident, syncobj, 0, EINVAL),
	REFUSED(make_resident, syncobj, UAPI_UNKNOWN, ENOENT),
	REFUSED(make_resident, point, 0, EINVAL),
	REFUSED(make_resident, fence, 0, EINVAL),
	REFUSED(make_resident, fence, UAPI_UNKNOWN, ENOENT),
	REFUSED(make_resident, fence_value, 0, EINVAL),
};

static const struct uapi_refusal refuse_evict_rows[] = {
	REFUSED(evict, flags, DRM_PAGODA_EVICT_NOT_WRITTEN_TO << 1, EINVAL),
	REFUSED(evict, pad, 1, EINVAL),
	REFUSED(evict, paging_queue, UAPI_UNKNOWN, ENOENT),
	REFUSED(evict, syncobj, 0, EINVAL),
	REFUSED(evict, syncobj, UAPI_UNKNOWN, ENOENT),
	REFUSED(evict, point, 0, EINVAL),
};

/*
 * MAKE_RESIDENT and EVICT of an allocation with the paging queue @queue, or 0, which signal points
 * of a syncobj and a value of a fence.
 */
static void refuse_residency_with(struct uapi_client *client, u32 queue)
{
	const struct drm_pagoda_residency_entry entry = {
		.handle = uapi_allocate(client, UAPI_ANYWHERE),
	};
	struct drm_pagoda_fence_create fence = {};
	struct drm_pagoda_make_resident resident = {
		.entries = UAPI_LIST(client, entry),
		.paging_queue = queue,
		.syncobj = uapi_syncobj(client),
		.point = 1,
		.fence_value = 1,
	};
	struct drm_pagoda_evict evict = {
		.entries = resident.entries,
		.paging_queue = queue,
		.syncobj = resident.syncobj,
		.point = 2,
	};

	uapi_must(client, DRM_IOCTL_PAGODA_FENCE_CREATE, &fence);
	resident.fence = fence.fence;
	UAPI_REFUSE_ENTRIES(UAPI_CALL(client, MAKE_RESIDENT, resident), make_resident, entry,
			    refuse_entry_rows);
	UAPI_REFUSE(UAPI_CALL(client, MAKE_RESIDENT, resident), refuse_resident_rows);
	UAPI_REFUSE_ENTRIES(UAPI_CALL(client, EVICT, evict), evict, entry, refuse_entry_rows);
	UAPI_REFUSE(UAPI_CALL(client, EVICT, evict), refuse_evict_rows);
}

/* Without a paging queue, no flag of EVICT has a meaning. */
static void refuse_residency(struct kunit *test)
{
	static const struct uapi_refusal rows[] = {
		REFUSED(evict, flags, DRM_PAGODA_EVICT_ONLY_IF_NECESSARY, EINVAL),
		REFUSED(evict, flags, DRM_PAGODA_EVICT_NOT_WRITTEN_TO, EINVAL),
	};
	struct uapi_client *client = uapi_open(test);
	const struct drm_pagoda_residency_entry entry = {
		.handle = uapi_allocate(client, UAPI_ANYWHERE),
	};
	struct drm_pagoda_evict evict = { .entries = UAPI_LIST(client, entry) };

	UAPI_REFUSE(UAPI_CALL(client, EVICT, evict), rows);
	refuse_residency_with(client, 0);
	uapi_close(client);
}

static void refuse_residency_queued(struct kunit *test)
{
	static const struct uapi_refusal create_rows[] = {
		REFUSED(paging_queue_create, flags, 1, EINVAL),
		REFUSED(paging_queue_create, priority, -2, EINVAL),
		REFUSED(paging_queue_create, priority, 2, EINVAL),
	};
	static const struct uapi_refusal state_rows[] = {
		REFUSED(paging_queue_state, queue, UAPI_UNKNOWN, ENOENT),
		REFUSED(paging_queue_state, pad, 1, EINVAL),
	};
	static const struct uapi_refusal destroy_rows[] = {
		REFUSED(paging_queue_destroy, queue, UAPI_UNKNOWN, ENOENT),
		REFUSED(paging_queue_destroy, pad, 1, EINVAL),
	};
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_paging_queue_create queue = { .priority = 1 };
	struct drm_pagoda_paging_queue_state state = {};
	struct drm_pagoda_paging_queue_destroy destroy = {};

	UAPI_REFUSE(UAPI_CALL(client, PAGING_QUEUE_CREATE, queue), create_rows);
	refuse_residency_with(client, queue.queue);
	state.queue = queue.queue;
	UAPI_REFUSE(UAPI_CALL(client, PAGING_QUEUE_STATE, state), state_rows);
	destroy.queue = queue.queue;
	UAPI_REFUSE(UAPI_CALL(client, PAGING_QUEUE_DESTROY, destroy), destroy_rows);
	queue = (struct drm_pagoda_paging_queue_create) { .priority = -1 };
	uapi_accept(UAPI_CALL(client, PAGING_QUEUE_CREATE, queue));
	uapi_close(client);
}

/* Long lists end early if a signal comes. */
static void refuse_queries(struct kunit *test)
{
	static const struct uapi_refusal status_rows[] = {
		REFUSED(residency_status, handle, UAPI_UNKNOWN, ENOENT),
	};
	static const struct uapi_refusal rows[] = {
		REFUSED(query_residency, flags, 1, EINVAL),
		REFUSED(query_residency, pad, 1, EINVAL),
		REFUSED(query_residency, entries.count, 0, EINVAL),
	};
	static const struct uapi_refusal list_rows[] = {
		REFUSED(query_residency_list, flags, 1, EINVAL),
		REFUSED(query_residency_list, pad, 1, EINVAL),
		REFUSED(query_residency_list, entries.count, 0, EINVAL),
	};
	struct uapi_client *client = uapi_open(test);
	/* The entries of both ioctls begin with the handle, and have the same size. */
	const struct drm_pagoda_residency_status status = {
		.handle = uapi_allocate(client, UAPI_ANYWHERE),
	};
	struct drm_pagoda_query_residency args = { .entries = UAPI_LIST(client, status) };
	struct drm_pagoda_query_residency_list list = { .entries = args.entries };

	UAPI_REFUSE_MEMBERS(UAPI_CALL(client, QUERY_RESIDENCY, args), UAPI_ENTRIES, status,
			    status_rows);
	uapi_refuse_array(UAPI_CALL(client, QUERY_RESIDENCY, args), 0, sizeof(status));
	UAPI_REFUSE(UAPI_CALL(client, QUERY_RESIDENCY, args), rows);
	UAPI_REFUSE_MEMBERS(UAPI_CALL(client, QUERY_RESIDENCY_LIST, list), UAPI_ENTRIES, status,
			    status_rows);
	uapi_refuse_array(UAPI_CALL(client, QUERY_RESIDENCY_LIST, list), 0, sizeof(status));
	UAPI_REFUSE(UAPI_CALL(client, QUERY_RESIDENCY_LIST, list), list_rows);
	allow_signal(SIGINT);
	send_sig(SIGINT, current, 1);
	KUNIT_EXPECT_EQ(test, -ERESTARTSYS,
			uapi_ioctl(client, DRM_IOCTL_PAGODA_QUERY_RESIDENCY, &args));
	disallow_signal(SIGINT);
	uapi_accept(UAPI_CALL(client, QUERY_RESIDENCY, args));
	uapi_close(client);
}

static const struct uapi_refusal refuse_reclaim_rows[] = {
	REFUSED(reclaim, flags, 1, EINVAL),
	REFUSED(reclaim, syncobj, 0, EINVAL),
	REFUSED(reclaim, syncobj, UAPI_UNKNOWN, ENOENT),
	REFUSED(reclaim, point, 0, EINVAL),
	REFUSED(reclaim, fence, 0, EINVAL),
	REFUSED(reclaim, fence, UAPI_UNKNOWN, ENOENT),
	REFUSED(reclaim, fence_value, 0, EINVAL),
	REFUSED(reclaim, results.count, 2, EINVAL),
};

/* RECLAIM has an array for the results, or a count of 0, which goes with no address and stride. */
static void refuse_offers(struct kunit *test)
{
	static const struct uapi_refusal offer_rows[] = {
		REFUSED(offer, flags, DRM_PAGODA_OFFER_ALLOW_DECOMMIT << 1, EINVAL),
		REFUSED(offer, priority, DRM_PAGODA_OFFER_LOW - 1, EINVAL),
		REFUSED(offer, priority, DRM_PAGODA_OFFER_AUTO + 1, EINVAL),
	};
	static const struct uapi_refusal no_result_rows[] = {
		REFUSED(reclaim, results.array, UAPI_NOWHERE, EINVAL),
		REFUSED(reclaim, results.stride, 8, EINVAL),
	};
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	const struct drm_pagoda_residency_entry entry = {
		.handle = uapi_allocate(client, UAPI_ANYWHERE),
	};
	struct drm_pagoda_offer offer = {
		.entries = UAPI_LIST(client, entry),
		.priority = DRM_PAGODA_OFFER_AUTO,
	};
	struct drm_pagoda_reclaim args = {
		.entries = offer.entries,
		.results = {
			client->memory + UAPI_MORE, 1,
			sizeof(struct drm_pagoda_reclaim_result_entry),
		},
		.syncobj = uapi_syncobj(client),
		.point = 1,
		.fence = gpu->fence,
		.fence_value = 1,
	};
	struct drm_pagoda_reclaim bare = { .entries = offer.entries };

	UAPI_REFUSE_ENTRIES(UAPI_CALL(client, OFFER, offer), offer, entry, refuse_entry_rows);
	UAPI_REFUSE(UAPI_CALL(client, OFFER, offer), offer_rows);
	UAPI_REFUSE_ENTRIES(UAPI_CALL(client, RECLAIM, bare), reclaim, entry, refuse_entry_rows);
	uapi_refuse_array(UAPI_CALL(client, RECLAIM, args),
			  offsetof(struct drm_pagoda_reclaim, results), args.results.stride);
	UAPI_REFUSE(UAPI_CALL(client, RECLAIM, args), refuse_reclaim_rows);
	offer.priority = DRM_PAGODA_OFFER_LOW;
	uapi_accept(UAPI_CALL(client, OFFER, offer));
	UAPI_REFUSE(UAPI_CALL(client, RECLAIM, bare), no_result_rows);
	/* The allocation isn't offered any more. */
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_ioctl(client, DRM_IOCTL_PAGODA_RECLAIM, &bare));
	uapi_close(client);
}

static void refuse_priority(struct kunit *test)
{
	static const struct uapi_refusal rows[] = {
		REFUSED(set_priority, flags, 1, EINVAL),
		REFUSED(set_priority, pad, 1, EINVAL),
	};
	static const struct uapi_refusal entry_rows[] = {
		REFUSED(priority_entry, handle, UAPI_UNKNOWN, ENOENT),
		REFUSED(priority_entry, priority, DRM_PAGODA_RESIDENCY_MINIMUM - 1, EINVAL),
		REFUSED(priority_entry, priority, DRM_PAGODA_RESIDENCY_MAXIMUM + 1, EINVAL),
	};
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_priority_entry entry = {
		.handle = uapi_allocate(client, UAPI_ANYWHERE),
		.priority = DRM_PAGODA_RESIDENCY_MINIMUM,
	};
	struct drm_pagoda_set_priority args = { .entries = UAPI_LIST(client, entry) };

	UAPI_REFUSE_ENTRIES(UAPI_CALL(client, SET_PRIORITY, args), set_priority, entry, entry_rows);
	UAPI_REFUSE(UAPI_CALL(client, SET_PRIORITY, args), rows);
	entry.priority = DRM_PAGODA_RESIDENCY_MAXIMUM;
	uapi_put(client, UAPI_ENTRIES, &entry, sizeof(entry));
	uapi_accept(UAPI_CALL(client, SET_PRIORITY, args));
	uapi_close(client);
}

/* ---- Budgets and events ----------------------------------------------------------------- */

static void refuse_budgets(struct kunit *test)
{
	static const struct uapi_refusal info_rows[] = {
		REFUSED(query_memory_info, flags, 1, EINVAL),
		REFUSED(query_memory_info, group, DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL + 1, ENOENT),
	};
	static const struct uapi_refusal reservation_rows[] = {
		REFUSED(set_reservation, flags, 1, EINVAL),
		REFUSED(set_reservation, group, DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL + 1, ENOENT),
		REFUSED(set_reservation, reservation, U64_MAX, EDQUOT),
	};
	static const struct uapi_refusal events_rows[] = {
		REFUSED(events, flags, DRM_PAGODA_EVENTS_NONBLOCK << 1, EINVAL),
	};
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_query_memory_info info = { .group = DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL };
	struct drm_pagoda_set_reservation reservation = {};
	struct drm_pagoda_events events = {};

	UAPI_REFUSE(UAPI_CALL(client, QUERY_MEMORY_INFO, info), info_rows);
	KUNIT_EXPECT_GT(test, info.budget, 0);
	UAPI_REFUSE(UAPI_CALL(client, SET_RESERVATION, reservation), reservation_rows);
	UAPI_REFUSE(UAPI_CALL(client, EVENTS, events), events_rows);
	close_fd(events.fd);
	uapi_close(client);
}

static struct kunit_case refuse_cases[] = {
	KUNIT_CASE(refuse_query),
	KUNIT_CASE(refuse_create),
	KUNIT_CASE(refuse_handles),
	KUNIT_CASE(refuse_track),
	KUNIT_CASE(refuse_track_of_others),
	KUNIT_CASE(refuse_residency),
	KUNIT_CASE(refuse_residency_queued),
	KUNIT_CASE(refuse_queries),
	KUNIT_CASE(refuse_offers),
	KUNIT_CASE(refuse_priority),
	KUNIT_CASE(refuse_budgets),
	{}
};

static struct kunit_suite refuse_suite = {
	.name = "pagoda_uapi_refuse",
	.test_cases = refuse_cases,
};

kunit_test_suite(refuse_suite);
