// SPDX-License-Identifier: GPL-2.0
/* The driver's ioctls as C functions; see the header for the contract. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "pagoda_lib.h"

#define FIRST_RENDER_NODE	128
#define RENDER_NODES		64

void pagoda_claim(struct pagoda_claim *claim)
{
	const char *name = strrchr(claim->file, '/');

	if (__atomic_exchange_n(&claim->made, true, __ATOMIC_RELAXED))
		return;
	/* Not by stdio, whose buffer is lost when the process of a test ends by _exit(). */
	dprintf(STDOUT_FILENO, "# proves %s at %s:%d\n", claim->points,
		name ? name + 1 : claim->file, claim->line);
}

int pagoda_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(fd, request, arg);
	} while (ret < 0 && (errno == EINTR || errno == EAGAIN));
	return ret < 0 ? -errno : 0;
}

static int is_pagoda(int fd)
{
	char name[16] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	return !pagoda_ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "pagoda");
}

int pagoda_open_node(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (is_pagoda(fd))
		return fd;
	close(fd);
	return -ENODEV;
}

int pagoda_open(void)
{
	char path[64];
	int fd, n;

	for (n = 0; n < RENDER_NODES; n++) {
		snprintf(path, sizeof(path), "/dev/dri/renderD%d", FIRST_RENDER_NODE + n);
		fd = pagoda_open_node(path);
		if (fd >= 0)
			return fd;
	}
	return -ENODEV;
}

int pagoda_query(int fd, uint32_t type, uint32_t index, void *answer, uint32_t size)
{
	struct drm_pagoda_query args = {
		.type = type,
		.index = index,
		.size = size,
		.pointer = (uintptr_t)answer,
	};

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_QUERY, &args);
}

int pagoda_device(int fd, struct drm_pagoda_device_info *info)
{
	return pagoda_query(fd, DRM_PAGODA_QUERY_DEVICE, 0, info, sizeof(*info));
}

int pagoda_segment(int fd, uint32_t id, struct drm_pagoda_segment_info *info)
{
	return pagoda_query(fd, DRM_PAGODA_QUERY_SEGMENT, id, info, sizeof(*info));
}

int pagoda_stats(int fd, struct drm_pagoda_stats *stats)
{
	return pagoda_query(fd, DRM_PAGODA_QUERY_STATS, 0, stats, sizeof(*stats));
}

uint64_t pagoda_usage(int fd, uint32_t segment)
{
	struct drm_pagoda_segment_info info;

	return pagoda_segment(fd, segment, &info) ? UINT64_MAX : info.usage;
}

int pagoda_create_args(int fd, struct drm_pagoda_allocation_create *args)
{
	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_CREATE, args);
}

int pagoda_create(int fd, uint64_t size, uint32_t flags, uint32_t supported, uint32_t *handle)
{
	struct drm_pagoda_allocation_create args = {
		.size = size,
		.flags = flags,
		.supported = supported,
	};
	int ret = pagoda_create_args(fd, &args);

	*handle = args.handle;
	return ret;
}

int pagoda_create_vram(int fd, uint64_t size, uint32_t *handle)
{
	return pagoda_create(fd, size, DRM_PAGODA_ALLOCATION_CPU_VISIBLE, PAGODA_IN_VRAM, handle);
}

int pagoda_create_private(int fd, uint32_t vm, uint64_t size, uint32_t flags, uint32_t supported,
			  uint32_t *handle)
{
	struct drm_pagoda_allocation_create args = {
		.size = size,
		.flags = flags,
		.supported = supported,
		.vm = vm,
	};
	int ret = pagoda_create_args(fd, &args);

	*handle = args.handle;
	return ret;
}

int pagoda_close(int fd, uint32_t handle)
{
	struct drm_gem_close args = { .handle = handle };

	return pagoda_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
}

int pagoda_mmap_offset(int fd, uint32_t handle, uint64_t *offset)
{
	struct drm_pagoda_allocation_mmap_offset args = { .handle = handle };
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_MMAP_OFFSET, &args);

	*offset = args.offset;
	return ret;
}

void *pagoda_map(int fd, uint32_t handle, uint64_t size)
{
	uint64_t offset;
	void *map;
	int ret = pagoda_mmap_offset(fd, handle, &offset);

	if (ret) {
		errno = -ret;
		return NULL;
	}
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	return map == MAP_FAILED ? NULL : map;
}

int pagoda_info(int fd, uint32_t handle, struct drm_pagoda_allocation_info *info)
{
	memset(info, 0, sizeof(*info));
	info->handle = handle;
	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_INFO, info);
}

int pagoda_where(int fd, uint32_t handle)
{
	struct drm_pagoda_allocation_info info;
	int ret = pagoda_info(fd, handle, &info);

	return ret ? ret : (int)info.segment;
}

int pagoda_residency(int fd, uint32_t handle)
{
	struct drm_pagoda_residency_status status = { .handle = handle };
	struct drm_pagoda_query_residency args = {
		.entries = { (uintptr_t)&status, 1, sizeof(status) },
	};
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_QUERY_RESIDENCY, &args);

	return ret ? ret : (int)status.residency;
}

int64_t pagoda_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * PAGODA_SEC + ts.tv_nsec;
}

static int wait_flags(int fd, uint32_t handle, uint32_t flags, int64_t timeout_ns)
{
	struct drm_pagoda_allocation_wait args = {
		.handle = handle,
		.flags = flags,
		.timeout_ns = timeout_ns ? pagoda_now() + timeout_ns : 0,
	};

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_WAIT, &args);
}

int pagoda_wait(int fd, uint32_t handle, int64_t timeout_ns)
{
	return wait_flags(fd, handle, 0, timeout_ns);
}

int pagoda_acknowledge(int fd, uint32_t handle, int64_t timeout_ns)
{
	return wait_flags(fd, handle, DRM_PAGODA_ALLOCATION_WAIT_ACKNOWLEDGE, timeout_ns);
}

static struct drm_pagoda_residency_entry *entries_make(const uint32_t *handles, uint32_t count)
{
	struct drm_pagoda_residency_entry *entries = calloc(count ? count : 1, sizeof(*entries));
	uint32_t n;

	for (n = 0; entries && n < count; n++)
		entries[n].handle = handles[n];
	return entries;
}

int pagoda_make_resident(int fd, const uint32_t *handles, uint32_t count, uint32_t syncobj,
			 uint64_t point, struct drm_pagoda_make_resident *args)
{
	struct drm_pagoda_residency_entry *entries = entries_make(handles, count);
	struct drm_pagoda_make_resident local;
	int ret;

	if (!entries)
		return -ENOMEM;
	if (!args)
		args = &local;
	memset(args, 0, sizeof(*args));
	args->entries.array = (uintptr_t)entries;
	args->entries.count = count;
	args->entries.stride = sizeof(*entries);
	args->syncobj = syncobj;
	args->point = point;
	ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_MAKE_RESIDENT, args);
	free(entries);
	return ret;
}

int pagoda_list_add(int fd, uint32_t queue, const uint32_t *handles, uint32_t count,
		    uint32_t flags, uint64_t *value, uint64_t *trim)
{
	struct drm_pagoda_residency_entry *entries = entries_make(handles, count);
	struct drm_pagoda_make_resident args = {
		.entries = { (uintptr_t)entries, count, sizeof(*entries) },
		.flags = flags,
		.paging_queue = queue,
	};
	int ret;

	if (!entries)
		return -ENOMEM;
	ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &args);
	free(entries);
	*value = args.paging_value;
	if (trim)
		*trim = args.bytes_to_trim;
	return ret;
}

int pagoda_list_remove(int fd, uint32_t queue, const uint32_t *handles, uint32_t count,
		       uint32_t flags, uint64_t *value)
{
	struct drm_pagoda_residency_entry *entries = entries_make(handles, count);
	struct drm_pagoda_evict args = {
		.entries = { (uintptr_t)entries, count, sizeof(*entries) },
		.flags = flags,
		.paging_queue = queue,
	};
	int ret;

	if (!entries)
		return -ENOMEM;
	ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_EVICT, &args);
	free(entries);
	*value = args.paging_value;
	return ret;
}

int64_t pagoda_list_count(int fd, uint32_t handle)
{
	struct drm_pagoda_list_status status = { .handle = handle };
	struct drm_pagoda_query_residency_list args = {
		.entries = { (uintptr_t)&status, 1, sizeof(status) },
	};
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_QUERY_RESIDENCY_LIST, &args);

	return ret ? ret : (int64_t)status.count;
}

int pagoda_paging_queue_create(int fd, int32_t priority, uint32_t *queue, uint32_t *syncobj)
{
	struct drm_pagoda_paging_queue_create args = { .priority = priority };
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_PAGING_QUEUE_CREATE, &args);

	*queue = args.queue;
	*syncobj = args.syncobj;
	return ret;
}

int pagoda_paging_queue_destroy(int fd, uint32_t queue)
{
	struct drm_pagoda_paging_queue_destroy args = { .queue = queue };

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_PAGING_QUEUE_DESTROY, &args);
}

int pagoda_paging_queue_state(int fd, uint32_t queue, struct drm_pagoda_paging_queue_state *state)
{
	*state = (struct drm_pagoda_paging_queue_state) { .queue = queue };
	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_PAGING_QUEUE_STATE, state);
}

int pagoda_evict(int fd, const uint32_t *handles, uint32_t count, uint32_t syncobj,
		 uint64_t point)
{
	struct drm_pagoda_residency_entry *entries = entries_make(handles, count);
	struct drm_pagoda_evict args = {
		.entries = { (uintptr_t)entries, count, sizeof(*entries) },
		.syncobj = syncobj,
		.point = point,
	};
	int ret;

	if (!entries)
		return -ENOMEM;
	ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_EVICT, &args);
	free(entries);
	return ret;
}

int pagoda_make_resident_wait(int fd, uint32_t handle)
{
	int ret = pagoda_make_resident(fd, &handle, 1, 0, 0, NULL);

	return ret ? ret : pagoda_wait(fd, handle, 60 * PAGODA_SEC);
}

int pagoda_evict_wait(int fd, uint32_t handle)
{
	int ret = pagoda_evict(fd, &handle, 1, 0, 0);

	return ret ? ret : pagoda_wait(fd, handle, 60 * PAGODA_SEC);
}

int pagoda_offer(int fd, const uint32_t *handles, uint32_t count, uint32_t priority,
		 uint32_t flags)
{
	struct drm_pagoda_residency_entry *entries = entries_make(handles, count);
	struct drm_pagoda_offer args = {
		.entries = { (uintptr_t)entries, count, sizeof(*entries) },
		.priority = priority,
		.flags = flags,
	};
	int ret;

	if (!entries)
		return -ENOMEM;
	ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_OFFER, &args);
	free(entries);
	return ret;
}

int pagoda_reclaim(int fd, const uint32_t *handles, uint32_t count, uint32_t syncobj,
		   uint64_t point, uint32_t *results)
{
	struct drm_pagoda_residency_entry *entries = entries_make(handles, count);
	struct drm_pagoda_reclaim_result_entry *answers = calloc(count + 1, sizeof(*answers));
	struct drm_pagoda_reclaim args = {
		.entries = { (uintptr_t)entries, count, sizeof(*entries) },
		.syncobj = syncobj,
		.point = point,
	};
	int ret = -ENOMEM;
	uint32_t n;

	if (results)
		args.results = (struct drm_pagoda_array){ (uintptr_t)answers, count,
							  sizeof(*answers) };
	if (entries && answers)
		ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_RECLAIM, &args);
	for (n = 0; !ret && results && n < count; n++)
		results[n] = answers[n].result;
	free(answers);
	free(entries);
	return ret;
}

int pagoda_reclaim_one(int fd, uint32_t handle)
{
	uint32_t result;
	int ret = pagoda_reclaim(fd, &handle, 1, 0, 0, &result);

	return ret ? ret : (int)result;
}

int pagoda_set_priority(int fd, uint32_t handle, uint32_t priority)
{
	struct drm_pagoda_priority_entry entry = { handle, priority };
	struct drm_pagoda_set_priority args = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
	};

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_SET_PRIORITY, &args);
}

int pagoda_memory_info(int fd, uint32_t group, struct drm_pagoda_query_memory_info *info)
{
	*info = (struct drm_pagoda_query_memory_info) { .group = group };
	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_QUERY_MEMORY_INFO, info);
}

int pagoda_set_reservation(int fd, uint32_t group, uint64_t bytes)
{
	struct drm_pagoda_set_reservation args = { .group = group, .reservation = bytes };

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_SET_RESERVATION, &args);
}

int pagoda_events(int fd, uint32_t flags)
{
	struct drm_pagoda_events args = { .flags = flags };
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_EVENTS, &args);

	return ret ? ret : args.fd;
}

int pagoda_syncobj_create(int fd, uint32_t *syncobj)
{
	struct drm_syncobj_create args = { 0 };
	int ret = pagoda_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &args);

	*syncobj = args.handle;
	return ret;
}

int pagoda_syncobj_destroy(int fd, uint32_t syncobj)
{
	struct drm_syncobj_destroy args = { .handle = syncobj };

	return pagoda_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &args);
}

int pagoda_syncobj_wait(int fd, uint32_t syncobj, uint64_t point, int64_t timeout_ns)
{
	struct drm_syncobj_timeline_wait args = {
		.handles = (uintptr_t)&syncobj,
		.points = (uintptr_t)&point,
		.timeout_nsec = pagoda_now() + timeout_ns,
		.count_handles = 1,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL |
			 DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	return pagoda_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);
}

int pagoda_syncobj_signal(int fd, uint32_t syncobj, uint64_t point)
{
	struct drm_syncobj_timeline_array args = {
		.handles = (uintptr_t)&syncobj,
		.points = (uintptr_t)&point,
		.count_handles = 1,
	};

	return pagoda_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &args);
}

int pagoda_syncobj_query(int fd, uint32_t syncobj, uint64_t *point)
{
	struct drm_syncobj_timeline_array args = {
		.handles = (uintptr_t)&syncobj,
		.points = (uintptr_t)point,
		.count_handles = 1,
	};

	return pagoda_ioctl(fd, DRM_IOCTL_SYNCOBJ_QUERY, &args);
}

int pagoda_vm_create(int fd, struct drm_pagoda_vm_create *args)
{
	memset(args, 0, sizeof(*args));
	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_VM_CREATE, args);
}

int pagoda_vm_destroy(int fd, uint32_t vm)
{
	struct drm_pagoda_vm_destroy args = { .vm = vm };

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_VM_DESTROY, &args);
}

int pagoda_bind(int fd, uint32_t vm, const struct drm_pagoda_bind_entry *entries, uint32_t count,
		uint32_t syncobj, uint64_t point)
{
	struct drm_pagoda_vm_bind args = {
		.entries = { (uintptr_t)entries, count, sizeof(*entries) },
		.vm = vm,
		.syncobj = syncobj,
		.point = point,
	};

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_VM_BIND, &args);
}

int pagoda_bind_map(int fd, uint32_t vm, uint32_t handle, uint64_t address, uint64_t offset,
		    uint64_t size)
{
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP,
		.handle = handle,
		.address = address,
		.size = size,
		.offset = offset,
	};

	return pagoda_bind(fd, vm, &entry, 1, 0, 0);
}

int pagoda_bind_range(int fd, uint32_t vm, uint32_t type, uint64_t address, uint64_t size)
{
	struct drm_pagoda_bind_entry entry = { .type = type, .address = address, .size = size };

	return pagoda_bind(fd, vm, &entry, 1, 0, 0);
}

int pagoda_context_create(int fd, uint32_t vm, uint32_t *context)
{
	struct drm_pagoda_context_create args = { .vm = vm };
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &args);

	*context = args.context;
	return ret;
}

int pagoda_context_destroy(int fd, uint32_t context)
{
	struct drm_pagoda_context_destroy args = { .context = context };

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_CONTEXT_DESTROY, &args);
}

int pagoda_context_state(int fd, uint32_t context, struct drm_pagoda_context_state *state)
{
	memset(state, 0, sizeof(*state));
	state->context = context;
	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_CONTEXT_STATE, state);
}

int pagoda_submit_args(int fd, struct drm_pagoda_submit *args)
{
	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_SUBMIT, args);
}

int pagoda_submit(int fd, uint32_t context, uint64_t address, uint64_t size,
		  const uint32_t *handles, uint32_t count, uint32_t syncobj, uint64_t point)
{
	struct drm_pagoda_command_buffer buffer = { .address = address, .size = size };
	struct drm_pagoda_sync sync = {
		.handle = syncobj,
		.flags = DRM_PAGODA_SYNC_SIGNAL,
		.point = point,
	};
	struct drm_pagoda_submit_entry *entries = calloc(count + 1, sizeof(*entries));
	struct drm_pagoda_submit args = {
		.buffers = { (uintptr_t)&buffer, size ? 1 : 0, sizeof(buffer) },
		.syncs = { (uintptr_t)&sync, syncobj ? 1 : 0, sizeof(sync) },
		.entries = { (uintptr_t)entries, count, sizeof(*entries) },
		.context = context,
	};
	uint32_t n;
	int ret;

	if (!entries)
		return -ENOMEM;
	for (n = 0; n < count; n++)
		entries[n].handle = handles[n];
	ret = pagoda_submit_args(fd, &args);
	free(entries);
	return ret;
}

int pagoda_fence_create(int fd, uint64_t value, uint32_t *fence, const uint64_t **map)
{
	struct drm_pagoda_fence_create args = { .value = value };
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_FENCE_CREATE, &args);
	void *page;

	*fence = args.fence;
	if (ret || !map)
		return ret;
	page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, args.offset);
	*map = page == MAP_FAILED ? NULL : page;
	return *map ? 0 : -errno;
}

int pagoda_fence_create_flags(int fd, uint32_t flags, uint64_t value, uint32_t *fence)
{
	struct drm_pagoda_fence_create args = { .flags = flags, .value = value };
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_FENCE_CREATE, &args);

	*fence = args.fence;
	return ret;
}

int pagoda_fence_signal_list(int fd, const struct drm_pagoda_fence_value *list, uint32_t count)
{
	struct drm_pagoda_fence_signal args = {
		.entries = { (uintptr_t)list, count, sizeof(*list) },
	};

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_FENCE_SIGNAL, &args);
}

int pagoda_fence_signal(int fd, uint32_t fence, uint64_t value)
{
	struct drm_pagoda_fence_value entry = { .fence = fence, .value = value };

	return pagoda_fence_signal_list(fd, &entry, 1);
}

int pagoda_fence_wait_list(int fd, const struct drm_pagoda_fence_value *list, uint32_t count,
			   uint32_t flags, int64_t timeout_ns, uint32_t *first)
{
	struct drm_pagoda_fence_wait args = {
		.entries = { (uintptr_t)list, count, sizeof(*list) },
		.flags = flags,
		.timeout_ns = timeout_ns ? pagoda_now() + timeout_ns : 0,
	};
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_FENCE_WAIT, &args);

	if (!ret && first)
		*first = args.first;
	return ret;
}

int pagoda_fence_wait(int fd, uint32_t fence, uint64_t value, int64_t timeout_ns)
{
	struct drm_pagoda_fence_value entry = { .fence = fence, .value = value };

	return pagoda_fence_wait_list(fd, &entry, 1, 0, timeout_ns, NULL);
}

int pagoda_fence_notify(int fd, const struct drm_pagoda_fence_value *list, uint32_t count,
			uint32_t flags, int eventfd)
{
	struct drm_pagoda_fence_wait args = {
		.entries = { (uintptr_t)list, count, sizeof(*list) },
		.flags = flags | DRM_PAGODA_FENCE_WAIT_EVENTFD,
		.eventfd = eventfd,
	};

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_FENCE_WAIT, &args);
}

int pagoda_fence_destroy(int fd, uint32_t fence)
{
	struct drm_pagoda_fence_destroy args = { .fence = fence };

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_FENCE_DESTROY, &args);
}

int pagoda_make_resident_fence(int fd, uint32_t handle, uint32_t fence, uint64_t value)
{
	struct drm_pagoda_residency_entry entry = { .handle = handle };
	struct drm_pagoda_make_resident args = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		.fence = fence,
		.fence_value = value,
	};

	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &args);
}

/* Spreads every input bit over the word (the finalizer of splitmix64). */
static uint64_t scramble(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint64_t pagoda_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	return scramble(*state);
}

uint64_t pagoda_key(uint64_t seed, uint64_t id, uint64_t version)
{
	return scramble(scramble(scramble(seed + 1) + id) + version);
}

/*
 * The number that word_of()'s argument grows by from an 8-byte word to the next. word_of() has only
 * one multiplication, because tests fill and check gigabytes.
 */
#define STEP	0x9e3779b97f4a7c15ull

static inline uint64_t word_of(uint64_t state)
{
	return (state ^ (state >> 32)) * 0xd6e8feb86659fd93ull;
}

uint8_t pagoda_byte(uint64_t key, uint64_t offset)
{
	return word_of(key + (offset >> 3) * STEP) >> (8 * (offset & 7));
}

void pagoda_fill(void *dst, uint64_t key, uint64_t offset, uint64_t size)
{
	uint8_t *out = dst;
	uint64_t state, word;

	for (; size && (offset & 7); size--)
		*out++ = pagoda_byte(key, offset++);
	state = key + (offset >> 3) * STEP;
	for (; size >= 8; size -= 8, offset += 8, out += 8, state += STEP) {
		word = word_of(state);
		memcpy(out, &word, 8);
	}
	for (; size; size--)
		*out++ = pagoda_byte(key, offset++);
}

static int64_t check_bytes(const uint8_t *in, uint64_t key, uint64_t offset, uint64_t size)
{
	uint64_t n;

	for (n = 0; n < size; n++)
		if (in[n] != pagoda_byte(key, offset + n))
			return n;
	return -1;
}

int64_t pagoda_check(const void *src, uint64_t key, uint64_t offset, uint64_t size)
{
	const uint8_t *in = src;
	uint64_t head = -offset & 7, state, word, pos;
	int64_t bad;

	if (head > size)
		head = size;
	bad = check_bytes(in, key, offset, head);
	if (bad >= 0)
		return bad;
	state = key + ((offset + head) >> 3) * STEP;
	for (pos = head; size - pos >= 8; pos += 8, state += STEP) {
		memcpy(&word, in + pos, 8);
		if (word != word_of(state))
			break;
	}
	bad = check_bytes(in + pos, key, offset + pos, size - pos < 8 ? size - pos : 8);
	return bad < 0 ? -1 : (int64_t)pos + bad;
}

int64_t pagoda_check_zero(const void *src, uint64_t size)
{
	const uint8_t *in = src;
	uint64_t word, pos = 0;

	for (; size - pos >= 8; pos += 8) {
		memcpy(&word, in + pos, 8);
		if (word)
			break;
	}
	for (; pos < size; pos++)
		if (in[pos])
			return pos;
	return -1;
}
