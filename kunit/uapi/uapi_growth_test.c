// SPDX-License-Identifier: GPL-2.0
/*
 * Growth of the user ABI: a program that was made for a later kernel passes longer structs and
 * entries of arrays. If the bytes that this kernel doesn't know are all zero, the call works; else
 * the call fails with -E2BIG and has no effect.
 */
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_ioctl.h>
#include "rig/command.h"
#include "uapi_helpers.h"

/* Numbers of bytes by which a struct or an entry is longer; each of the bytes is tried non-zero. */
static const u32 growth_more[] = { 8, 16, 64 };

/* ---- Arguments ------------------------------------------------------------------------------ */

/*
 * Calls an ioctl with a struct of zeros that is @more bytes longer than this kernel knows; byte @at
 * of these is 1 if @set. Returns the ioctl's result.
 */
static long growth_call(struct uapi_client *client, unsigned int cmd, u32 more, u32 at, bool set)
{
	u32 size = _IOC_SIZE(cmd);
	u8 args[UAPI_MAX_ARGS] = {};
	long ret;

	KUNIT_ASSERT_LE(client->test, size + more, UAPI_MAX_ARGS);
	args[size + at] = set;
	ret = uapi_ioctl(client, _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), size + more),
			 args);
	if (!ret && cmd == DRM_IOCTL_PAGODA_EVENTS)
		close_fd(((struct drm_pagoda_events *)args)->fd);
	return ret;
}

/*
 * For every ioctl in the driver's table, a longer struct whose tail isn't zeros gives -E2BIG; a
 * tail of zeros gives the result of the call without tail.
 */
static void growth_of_arguments(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	const struct drm_driver *driver = uapi_drm(client)->driver;
	const struct drm_ioctl_desc *ioctl;
	u32 n, i, more, at;

	KUNIT_ASSERT_GT(test, driver->num_ioctls, 0);
	for (n = 0; n < driver->num_ioctls; n++) {
		ioctl = &driver->ioctls[n];
		KUNIT_ASSERT_EQ(test, DRM_COMMAND_BASE + n, _IOC_NR(ioctl->cmd));
		for (i = 0; i < ARRAY_SIZE(growth_more); i++) {
			more = growth_more[i];
			for (at = 0; at < more; at++)
				KUNIT_EXPECT_EQ_MSG(test, -E2BIG,
						    growth_call(client, ioctl->cmd, more, at, true),
						    "%s, byte %u of %u", ioctl->name, at, more);
			KUNIT_EXPECT_EQ_MSG(test, growth_call(client, ioctl->cmd, 0, 0, false),
					    growth_call(client, ioctl->cmd, more, 0, false),
					    "%s, %u zeros", ioctl->name, more);
		}
	}
	uapi_close(client);
}

/* ---- Arrays --------------------------------------------------------------------------------- */

#define GROWTH_ARGS	96u
#define GROWTH_ENTRY	64u
#define GROWTH_CALLS	20u

/**
 * struct growth_array - Call of an ioctl with an array of one entry that succeeds if made in order
 * @name: Names of the ioctl and of the array in its struct
 * @cmd: ioctl
 * @at: Offset of the struct drm_pagoda_array in @args
 * @size: Bytes of an entry that this kernel knows
 * @args: Struct of the ioctl; growth_call_array() fills in the array
 * @entry: Entry
 */
struct growth_array {
	const char *name;
	unsigned int cmd;
	u32 at;
	u32 size;
	u8 args[GROWTH_ARGS];
	u8 entry[GROWTH_ENTRY];
};

struct growth_world {
	struct uapi_client *client;
	struct uapi_gpu *gpu;
	u32 handle;
	u32 queue;
	u32 count;
	struct growth_array calls[GROWTH_CALLS];
};

static void growth_add(struct growth_world *world, struct growth_array call, const void *args,
		       const void *entry)
{
	KUNIT_ASSERT_LT(world->client->test, world->count, GROWTH_CALLS);
	memcpy(call.args, args, _IOC_SIZE(call.cmd));
	memcpy(call.entry, entry, call.size);
	world->calls[world->count++] = call;
}

/*
 * Adds the call of the ioctl @ID with the struct @args, whose array @member has the one entry
 * @from.
 */
#define GROWTH_ADD(world, ID, args, member, from) do { \
	static_assert(sizeof(args) == _IOC_SIZE(DRM_IOCTL_PAGODA_##ID)); \
	static_assert(sizeof(args) <= GROWTH_ARGS && sizeof(from) <= GROWTH_ENTRY); \
	growth_add(world, (struct growth_array) { \
		.name = #ID "." #member, \
		.cmd = DRM_IOCTL_PAGODA_##ID, \
		.at = offsetof(typeof(args), member), \
		.size = sizeof(from), \
	}, &(args), &(from)); \
} while (0)

static void growth_add_lists(struct growth_world *world)
{
	const struct drm_pagoda_residency_entry entry = { .handle = world->handle };
	const struct drm_pagoda_residency_status status = { .handle = world->handle };
	const struct drm_pagoda_list_status listed = { .handle = world->handle };
	struct drm_pagoda_make_resident resident = {};
	struct drm_pagoda_evict evict = {};
	const struct drm_pagoda_query_residency query = {};
	const struct drm_pagoda_query_residency_list list = {};

	GROWTH_ADD(world, MAKE_RESIDENT, resident, entries, entry);
	GROWTH_ADD(world, QUERY_RESIDENCY, query, entries, status);
	GROWTH_ADD(world, EVICT, evict, entries, entry);
	resident.paging_queue = world->queue;
	evict.paging_queue = world->queue;
	GROWTH_ADD(world, MAKE_RESIDENT, resident, entries, entry);
	GROWTH_ADD(world, QUERY_RESIDENCY_LIST, list, entries, listed);
	GROWTH_ADD(world, EVICT, evict, entries, entry);
}

static void growth_add_offers(struct growth_world *world)
{
	/* An allocation that is on no residency list. */
	const struct drm_pagoda_residency_entry entry = {
		.handle = uapi_allocate(world->client, UAPI_ANYWHERE),
	};
	const struct drm_pagoda_priority_entry priority = {
		.handle = entry.handle,
		.priority = DRM_PAGODA_RESIDENCY_NORMAL,
	};
	const struct drm_pagoda_offer offer = { .priority = DRM_PAGODA_OFFER_LOW };
	const struct drm_pagoda_reclaim reclaim = {};
	const struct drm_pagoda_set_priority set = {};

	GROWTH_ADD(world, SET_PRIORITY, set, entries, priority);
	GROWTH_ADD(world, OFFER, offer, entries, entry);
	GROWTH_ADD(world, RECLAIM, reclaim, entries, entry);
}

/* Adds VM_BINDs of the two pages of addresses behind the program's page and the fence's value. */
static void growth_add_binds(struct growth_world *world)
{
	const struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP_ZERO,
		.address = world->gpu->address + 2 * PAGE_SIZE,
		.size = PAGE_SIZE,
	};
	const struct drm_pagoda_sync sync = {
		.handle = world->gpu->fence,
		.flags = DRM_PAGODA_SYNC_FENCE | DRM_PAGODA_SYNC_SIGNAL,
		.point = 1,
	};
	struct drm_pagoda_bind_entry other = entry;
	struct drm_pagoda_vm_bind bind = { .vm = world->gpu->vm };

	GROWTH_ADD(world, VM_BIND, bind, entries, entry);
	other.address += PAGE_SIZE;
	bind.entries.array = uapi_put(world->client, UAPI_MORE, &other, sizeof(other));
	bind.entries.count = 1;
	bind.entries.stride = sizeof(other);
	GROWTH_ADD(world, VM_BIND, bind, syncs, sync);
}

static void growth_add_fences(struct growth_world *world)
{
	const struct drm_pagoda_fence_value value = { .fence = world->gpu->fence, .value = 2 };
	const struct drm_pagoda_fence_signal signal = {};
	const struct drm_pagoda_fence_wait wait = {};

	GROWTH_ADD(world, FENCE_SIGNAL, signal, entries, value);
	GROWTH_ADD(world, FENCE_WAIT, wait, entries, value);
}

static void growth_add_jobs(struct growth_world *world)
{
	const struct drm_pagoda_command_buffer buffer = { world->gpu->address, world->gpu->used };
	const struct drm_pagoda_submit_entry entry = { .handle = world->gpu->page };
	const struct drm_pagoda_sync sync = {
		.handle = world->gpu->fence,
		.flags = DRM_PAGODA_SYNC_FENCE | DRM_PAGODA_SYNC_SIGNAL,
		.point = 3,
	};
	struct drm_pagoda_submit submit = { .context = world->gpu->context };

	GROWTH_ADD(world, SUBMIT, submit, syncs, sync);
	GROWTH_ADD(world, SUBMIT, submit, entries, entry);
	submit.entries.array = uapi_put(world->client, UAPI_MORE + GROWTH_ENTRY, &entry,
					sizeof(entry));
	submit.entries.count = 1;
	submit.entries.stride = sizeof(entry);
	GROWTH_ADD(world, SUBMIT, submit, buffers, buffer);
}

/*
 * Returns a world with a call for every array that an ioctl reads: each struct drm_pagoda_array of
 * pagoda_drm.h but the results of RECLAIM, which the kernel only writes.
 */
static struct growth_world *growth_world(struct kunit *test)
{
	struct growth_world *world = test_zalloc(test, sizeof(*world));
	struct drm_pagoda_paging_queue_create queue = {};

	world->client = uapi_open(test);
	world->gpu = uapi_gpu(world->client, UAPI_ANYWHERE);
	UAPI_ADD(world->gpu, STORE, store, VIRTIO_PAGODA_COMMAND_WIDE,
		 .address = cpu_to_le64(world->gpu->address + UAPI_DATA), .value = cpu_to_le64(7));
	world->handle = uapi_allocate(world->client, UAPI_ANYWHERE);
	uapi_must(world->client, DRM_IOCTL_PAGODA_PAGING_QUEUE_CREATE, &queue);
	world->queue = queue.queue;
	growth_add_lists(world);
	growth_add_offers(world);
	growth_add_binds(world);
	growth_add_fences(world);
	growth_add_jobs(world);
	return world;
}

/*
 * Does the call with an entry that is @more bytes longer than this kernel knows; byte @at of these
 * is 1 if @set. Returns the ioctl's result.
 */
static long growth_call_array(struct growth_world *world, const struct growth_array *call,
			      u32 more, u32 at, bool set)
{
	u8 entry[GROWTH_ENTRY * 2] = {};
	struct drm_pagoda_array array = { .count = 1, .stride = call->size + more };
	u8 args[GROWTH_ARGS];

	memcpy(args, call->args, sizeof(args));
	memcpy(entry, call->entry, call->size);
	entry[call->size + at] = set;
	array.array = uapi_put(world->client, UAPI_ENTRIES, entry, call->size + more);
	memcpy(args + call->at, &array, sizeof(array));
	return uapi_ioctl(world->client, call->cmd, args);
}

/*
 * For every array, a longer entry whose tail isn't zeros gives -E2BIG, and then the call with a
 * tail of zeros works. Most calls succeed only once, so a refused call had no effect.
 */
static void growth_of_entries(struct kunit *test)
{
	struct growth_world *world = growth_world(test);
	const struct growth_array *call;
	u32 i, more, at;

	for (call = world->calls; call < world->calls + world->count; call++) {
		for (i = 0; i < ARRAY_SIZE(growth_more); i++) {
			more = growth_more[i];
			for (at = 0; at < more; at++)
				KUNIT_EXPECT_EQ_MSG(test, -E2BIG,
						    growth_call_array(world, call, more, at, true),
						    "%s, byte %u of %u", call->name, at, more);
		}
		KUNIT_EXPECT_EQ_MSG(test, 0, growth_call_array(world, call, 8, 0, false),
				    "%s, zeros", call->name);
	}
	KUNIT_EXPECT_EQ(test, 0, uapi_await(world->gpu, 3, UAPI_PATIENCE));
	uapi_close(world->client);
}

static struct kunit_case growth_cases[] = {
	KUNIT_CASE(growth_of_arguments),
	KUNIT_CASE(growth_of_entries),
	{}
};

static struct kunit_suite growth_suite = {
	.name = "pagoda_uapi_growth",
	.test_cases = growth_cases,
};

kunit_test_suite(growth_suite);
