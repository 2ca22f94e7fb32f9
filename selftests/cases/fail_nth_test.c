// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations, residency, offers, budgets, CPU accesses, VMs, fences and contexts, with each
 * allocation of kernel memory and access to user memory failing in turn; see lib/fail_fixture.h.
 */
#include "lib/fail_fixture.h"

#define SEED		41

static int sequence_create(int fd, uint64_t page, uint32_t *handles)
{
	uint64_t offset;
	int ret = pagoda_create_vram(fd, 8 * page, &handles[0]);

	if (!ret)
		ret = pagoda_create(fd, 8 * page, DRM_PAGODA_ALLOCATION_CPU_VISIBLE |
				    DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY, PAGODA_IN_APERTURE,
				    &handles[1]);
	return ret ? ret : pagoda_mmap_offset(fd, handles[0], &offset);
}

static int sequence_residency(int fd, uint64_t page, uint32_t *handles)
{
	uint32_t syncobj;
	int ret = pagoda_create_vram(fd, 40 * page, &handles[0]);

	if (!ret)
		ret = pagoda_create(fd, 40 * page, DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY,
				    PAGODA_IN_APERTURE, &handles[1]);
	if (!ret)
		ret = pagoda_syncobj_create(fd, &syncobj);
	if (ret)
		return ret;
	ret = pagoda_make_resident(fd, handles, 2, syncobj, 1, NULL);
	if (!ret)
		ret = pagoda_evict(fd, handles, 2, syncobj, 2);
	if (!ret)
		ret = pagoda_syncobj_wait(fd, syncobj, 2, 60 * PAGODA_SEC);
	pagoda_syncobj_destroy(fd, syncobj);
	return ret;
}

static int sequence_budget(int fd, uint64_t page, uint32_t *handles)
{
	struct drm_pagoda_query_memory_info info;
	int events = pagoda_events(fd, DRM_PAGODA_EVENTS_NONBLOCK), ret;

	if (events < 0)
		return events;
	ret = pagoda_create_vram(fd, 8 * page, &handles[0]);
	if (!ret)
		ret = pagoda_make_resident(fd, handles, 1, 0, 0, NULL);
	if (!ret)
		ret = pagoda_set_reservation(fd, DRM_PAGODA_SEGMENT_GROUP_LOCAL, page);
	if (!ret)
		ret = pagoda_memory_info(fd, DRM_PAGODA_SEGMENT_GROUP_LOCAL, &info);
	if (!ret && info.current_reservation != page)
		ret = -EPROTO;
	close(events);
	return ret;
}

/*
 * Offers two allocations, evicts one, and reclaims both. An allocation that RECLAIM can't commit
 * stays offered until walk() closes its handle.
 */
static int sequence_offer(int fd, uint64_t page, uint32_t *handles)
{
	uint32_t results[2];
	int ret = pagoda_create_vram(fd, 40 * page, &handles[0]);

	if (!ret)
		ret = pagoda_create(fd, 40 * page, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
				    PAGODA_IN_APERTURE, &handles[1]);
	if (!ret)
		ret = pagoda_set_priority(fd, handles[0], DRM_PAGODA_RESIDENCY_LOW);
	if (!ret)
		ret = pagoda_make_resident(fd, handles, 2, 0, 0, NULL);
	if (!ret)
		ret = pagoda_offer(fd, handles, 2, DRM_PAGODA_OFFER_AUTO,
				   DRM_PAGODA_OFFER_ALLOW_DECOMMIT);
	if (!ret)
		ret = pagoda_evict(fd, handles, 1, 0, 0);
	return ret ? ret : pagoda_reclaim(fd, handles, 2, 0, 0, results);
}

/*
 * Stores to a byte, which may raise SIGBUS and end the sequence in the signal handler. The compiler
 * moves nothing across the store, so that the handler finds all that was written before.
 */
static void touch(uint8_t *byte)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(byte, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static int sequence_touch(int fd, uint64_t page, uint32_t *handles)
{
	uint8_t *map;
	int ret = pagoda_create_vram(fd, 4 * page, &handles[0]);

	if (ret)
		return ret;
	map = pagoda_map(fd, handles[0], 4 * page);
	if (!map)
		return -errno;
	__atomic_store_n(&mapped.size, 4 * page, __ATOMIC_RELAXED);
	__atomic_store_n(&mapped.map, map, __ATOMIC_RELAXED);
	touch(map);
	ret = pagoda_make_resident(fd, handles, 1, 0, 0, NULL);
	touch(map + page);
	return ret;
}

static int sequence_queries(int fd, uint64_t page, uint32_t *handles)
{
	struct drm_pagoda_allocation_info info;
	struct drm_pagoda_stats stats;
	int ret = pagoda_create_vram(fd, page, &handles[0]);

	if (!ret)
		ret = pagoda_info(fd, handles[0], &info);
	if (!ret)
		ret = pagoda_stats(fd, &stats);
	if (!ret)
		ret = pagoda_residency(fd, handles[0]) < 0 ? -EINVAL : 0;
	return ret ? ret : pagoda_wait(fd, handles[0], 0);
}

/*
 * Destroys an object with @call; a call that fails is repeated once. @id 0: the object may have
 * been made though its id couldn't be copied out; its id is 1 then, the first of its client.
 * Returns whether an object was destroyed.
 */
static bool destroy(int (*call)(int fd, uint32_t id), int fd, uint32_t id)
{
	if (!id)
		id = 1;
	return !call(fd, id) || !call(fd, id);
}

/* Makes a VM, maps an allocation, unmaps a part of it, copies mappings, and destroys the VM. */
static int sequence_vm(int fd, uint64_t page, uint32_t *handles)
{
	struct drm_pagoda_bind_entry copy = {
		.type = DRM_PAGODA_BIND_COPY, .size = 4 * page,
	};
	struct drm_pagoda_vm_create vm = { 0 };
	int ret = pagoda_create_vram(fd, 8 * page, &handles[0]);

	if (!ret)
		ret = pagoda_vm_create(fd, &vm);
	if (!ret)
		ret = pagoda_bind_map(fd, vm.vm, handles[0], vm.start, 0, 8 * page);
	copy.offset = vm.start + 2 * page;
	copy.address = vm.start + 4 * PAGODA_MIB;
	if (!ret)
		ret = pagoda_bind_range(fd, vm.vm, DRM_PAGODA_BIND_UNMAP, vm.start + page, page);
	if (!ret)
		ret = pagoda_bind(fd, vm.vm, &copy, 1, 0, 0);
	destroy(pagoda_vm_destroy, fd, vm.vm);
	return ret;
}

/* Makes a mapped allocation resident, which signals a monitored fence, and evicts it. */
static int sequence_fence(int fd, uint64_t page, uint32_t *handles)
{
	struct drm_pagoda_vm_create vm = { 0 };
	uint32_t fence = 0;
	int ret = pagoda_create_vram(fd, 2 * page, &handles[0]);

	if (!ret)
		ret = pagoda_vm_create(fd, &vm);
	if (!ret)
		ret = pagoda_bind_map(fd, vm.vm, handles[0], vm.start, 0, 2 * page);
	if (!ret)
		ret = pagoda_fence_create(fd, 1, &fence, NULL);
	if (!ret)
		ret = pagoda_make_resident_fence(fd, handles[0], fence, 2);
	if (!ret)
		ret = pagoda_evict(fd, handles, 1, 0, 0);
	destroy(pagoda_fence_destroy, fd, fence);
	destroy(pagoda_vm_destroy, fd, vm.vm);
	return ret;
}

static int sequence_context(int fd, uint64_t page, uint32_t *handles)
{
	struct drm_pagoda_vm_create vm = { 0 };
	uint32_t context = 0;
	int ret = pagoda_vm_create(fd, &vm);

	if (!ret)
		ret = pagoda_context_create(fd, vm.vm, &context);
	destroy(pagoda_context_destroy, fd, context);
	destroy(pagoda_vm_destroy, fd, vm.vm);
	return ret;
}

/*
 * Adds an allocation to the residency list by a paging queue and removes it; asks for its count on
 * the list and for the queue's state.
 */
static int sequence_list(int fd, uint64_t page, uint32_t *handles)
{
	struct drm_pagoda_paging_queue_state state;
	uint32_t queue = 0, timeline = 0;
	uint64_t value = 0;
	int ret = pagoda_paging_queue_create(fd, 1, &queue, &timeline);
	bool made = !ret;

	if (!ret)
		ret = pagoda_create_vram(fd, 8 * page, &handles[0]);
	if (!ret)
		ret = pagoda_list_add(fd, queue, handles, 1, 0, &value, NULL);
	if (!ret && value)
		ret = pagoda_syncobj_wait(fd, timeline, value, 60 * PAGODA_SEC);
	if (!ret)
		ret = pagoda_list_count(fd, handles[0]) == 1 ? 0 : -EPROTO;
	if (!ret)
		ret = pagoda_list_remove(fd, queue, handles, 1, 0, &value);
	if (!ret)
		ret = pagoda_paging_queue_state(fd, queue, &state);
	/*
	 * A refused PAGING_QUEUE_CREATE has made neither queue nor syncobj. If only the copy of its
	 * answer failed, it has made both.
	 */
	if (destroy(pagoda_paging_queue_destroy, fd, queue) || made)
		destroy(pagoda_syncobj_destroy, fd, timeline);
	return ret;
}

/* Checks that no syncobj is left behind: a new one has the first handle. */
static int after_list(int fd, uint64_t page, int failed)
{
	uint32_t handle = 0;
	int ret = pagoda_syncobj_create(fd, &handle);

	if (!ret)
		ret = pagoda_syncobj_destroy(fd, handle);
	return !ret && handle != 1 ? -EPROTO : ret;
}

TEST_F(fail, create)
{
	WALK(sequence_create);
}

TEST_F(fail, residency)
{
	WALK(sequence_residency);
}

TEST_F(fail, list)
{
	after = after_list;
	WALK(sequence_list);
	after = NULL;
}

TEST_F(fail, offer)
{
	WALK(sequence_offer);
}

TEST_F(fail, budget)
{
	WALK(sequence_budget);
}

TEST_F(fail, touch)
{
	WALK(sequence_touch);
}

TEST_F(fail, queries)
{
	WALK(sequence_queries);
}

TEST_F(fail, vm)
{
	WALK(sequence_vm);
}

TEST_F(fail, fence)
{
	WALK(sequence_fence);
}

TEST_F(fail, context)
{
	WALK(sequence_context);
}

static uint32_t kept_handle;

/* Brings an allocation to VRAM and evicts it; the test checks its content after all failures. */
static int sequence_move_kept(int fd, uint64_t page, uint32_t *handles)
{
	int ret = pagoda_make_resident(fd, &kept_handle, 1, 0, 0, NULL);

	return ret ? ret : pagoda_evict(fd, &kept_handle, 1, 0, 0);
}

TEST_F(fail, content)
{
	uint64_t size = 70 * self->dev.page, key = pagoda_key(SEED, 0, 0);
	uint8_t *map;

	ASSERT_EQ(0, pagoda_create_vram(self->dev.fd, size, &kept_handle));
	map = pagoda_map(self->dev.fd, kept_handle, size);
	ASSERT_NE(NULL, map);
	pagoda_fill(map, key, 0, size);
	WALK(sequence_move_kept);
	EXPECT_EQ(-1, pagoda_check(map, key, 0, size));
	munmap(map, size);
	EXPECT_EQ(0, pagoda_close(self->dev.fd, kept_handle));
}

TEST_HARNESS_MAIN
