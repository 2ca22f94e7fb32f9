/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The driver's ioctls as C functions, for the selftests and tools.
 *
 * A function that can fail returns 0 on success and a negative errno otherwise, unless its comment
 * says something else. The functions keep no state of the device: a caller passes an fd of a node.
 */
#ifndef PAGODA_LIB_H
#define PAGODA_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../include/uapi/drm/pagoda_drm.h"

/*
 * A place in the sources that claims conformance points. @made: the claim has been printed
 */
struct pagoda_claim {
	const char *points;
	const char *file;
	int line;
	bool made;
};

/*
 * Prints @claim, unless this process, or its parent before fork(), has printed @claim. The harness
 * forks a process for each test. Any thread may call pagoda_claim().
 */
void pagoda_claim(struct pagoda_claim *claim);

/*
 * Names the conformance points that the assertions next to the macro prove. Prints a line by
 * pagoda_claim(); of such lines the report counts those of tests that passed.
 */
#define PAGODA_PROVES(...)								\
	do {										\
		static struct pagoda_claim pagoda_claim_here = {			\
			.points = #__VA_ARGS__, .file = __FILE__, .line = __LINE__,	\
		};									\
		pagoda_claim(&pagoda_claim_here);					\
	} while (0)

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#endif

#define PAGODA_KIB	1024ull
#define PAGODA_MIB	(1024ull * 1024)
#define PAGODA_SEC	1000000000ll

#define PAGODA_IN_VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define PAGODA_IN_APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)

/* Opens the first render node that can be opened and whose driver is pagoda: the fd, or -ENODEV. */
int pagoda_open(void);
/* Opens a node. Returns the fd, -ENODEV if its driver isn't pagoda, or open()'s negative errno. */
int pagoda_open_node(const char *path);

/* ioctl() that is repeated after EINTR and EAGAIN. Returns 0 or a negative errno. */
int pagoda_ioctl(int fd, unsigned long request, void *arg);

/* QUERY of any type: fills in at most @size bytes of @answer. */
int pagoda_query(int fd, uint32_t type, uint32_t index, void *answer, uint32_t size);
int pagoda_device(int fd, struct drm_pagoda_device_info *info);
int pagoda_segment(int fd, uint32_t id, struct drm_pagoda_segment_info *info);
int pagoda_stats(int fd, struct drm_pagoda_stats *stats);

/* ALLOCATION_CREATE with all its arguments, unlike the other pagoda_create...() functions. */
int pagoda_create_args(int fd, struct drm_pagoda_allocation_create *args);
int pagoda_create(int fd, uint64_t size, uint32_t flags, uint32_t supported, uint32_t *handle);
int pagoda_create_vram(int fd, uint64_t size, uint32_t *handle);
/* The allocation is private to a VM, whose id is @vm; 0: to none. */
int pagoda_create_private(int fd, uint32_t vm, uint64_t size, uint32_t flags, uint32_t supported,
			  uint32_t *handle);
int pagoda_close(int fd, uint32_t handle);

int pagoda_mmap_offset(int fd, uint32_t handle, uint64_t *offset);
/* Maps @size bytes of an allocation, shared and read-write; NULL on failure, errno is set. */
void *pagoda_map(int fd, uint32_t handle, uint64_t size);

int pagoda_info(int fd, uint32_t handle, struct drm_pagoda_allocation_info *info);
/* Segment an allocation is in (enum drm_pagoda_segment_id), or a negative errno. */
int pagoda_where(int fd, uint32_t handle);
/* Residency of an allocation (enum drm_pagoda_residency), or a negative errno. */
int pagoda_residency(int fd, uint32_t handle);

/* Waits until an allocation is idle, at most @timeout_ns; 0 only looks. -EIO: content was lost. */
int pagoda_wait(int fd, uint32_t handle, int64_t timeout_ns);
/* pagoda_wait() that also clears CONTENT_LOST, and still returns -EIO if CONTENT_LOST was set. */
int pagoda_acknowledge(int fd, uint32_t handle, int64_t timeout_ns);

/*
 * MAKE_RESIDENT without a paging queue. @point of @syncobj is signalled when all @count allocations
 * can be used; @syncobj 0: no point. @args, if not NULL, receives the answers.
 */
int pagoda_make_resident(int fd, const uint32_t *handles, uint32_t count, uint32_t syncobj,
			 uint64_t point, struct drm_pagoda_make_resident *args);
/* EVICT without a paging queue, after whose paging @point of @syncobj signals; @syncobj 0: none. */
int pagoda_evict(int fd, const uint32_t *handles, uint32_t count, uint32_t syncobj,
		 uint64_t point);
/*
 * MAKE_RESIDENT by a paging queue: adds one to each allocation's count on the residency list.
 * @value: out: the queue's value to wait for, 0 = none. @trim, if not NULL: out: bytes_to_trim
 */
int pagoda_list_add(int fd, uint32_t queue, const uint32_t *handles, uint32_t count,
		    uint32_t flags, uint64_t *value, uint64_t *trim);
/*
 * EVICT by a paging queue: takes one from each allocation's count on the client's residency list.
 * @value: out: the queue's value to wait for, 0 = none
 */
int pagoda_list_remove(int fd, uint32_t queue, const uint32_t *handles, uint32_t count,
		       uint32_t flags, uint64_t *value);
/* Count of an allocation on the client's residency list, or a negative errno. */
int64_t pagoda_list_count(int fd, uint32_t handle);
/* @syncobj: out: the syncobj whose points are the queue's values */
int pagoda_paging_queue_create(int fd, int32_t priority, uint32_t *queue, uint32_t *syncobj);
int pagoda_paging_queue_destroy(int fd, uint32_t queue);
int pagoda_paging_queue_state(int fd, uint32_t queue, struct drm_pagoda_paging_queue_state *state);
/* MAKE_RESIDENT without a paging queue; waits until the allocation is idle, at most a minute. */
int pagoda_make_resident_wait(int fd, uint32_t handle);
/* EVICT without a paging queue; waits until the allocation is idle, at most a minute. */
int pagoda_evict_wait(int fd, uint32_t handle);

/* OFFER of @count allocations. @priority: enum drm_pagoda_offer_priority */
int pagoda_offer(int fd, const uint32_t *handles, uint32_t count, uint32_t priority,
		 uint32_t flags);
/*
 * RECLAIM of @count allocations. @results, if not NULL: out: enum drm_pagoda_reclaim_result of each
 */
int pagoda_reclaim(int fd, const uint32_t *handles, uint32_t count, uint32_t syncobj,
		   uint64_t point, uint32_t *results);
/* RECLAIM of one allocation. Returns enum drm_pagoda_reclaim_result, or a negative errno. */
int pagoda_reclaim_one(int fd, uint32_t handle);
int pagoda_set_priority(int fd, uint32_t handle, uint32_t priority);

/* The client's budget, usage and reservation in @group, enum drm_pagoda_segment_group. */
int pagoda_memory_info(int fd, uint32_t group, struct drm_pagoda_query_memory_info *info);
int pagoda_set_reservation(int fd, uint32_t group, uint64_t bytes);
/* Opens a listener: an fd to read struct drm_pagoda_event from, or a negative errno. */
int pagoda_events(int fd, uint32_t flags);

int pagoda_syncobj_create(int fd, uint32_t *syncobj);
int pagoda_syncobj_destroy(int fd, uint32_t syncobj);
/* Waits until a point exists and has signalled; -ETIME if not within @timeout_ns from now. */
int pagoda_syncobj_wait(int fd, uint32_t syncobj, uint64_t point, int64_t timeout_ns);
int pagoda_syncobj_signal(int fd, uint32_t syncobj, uint64_t point);
/* @point: out: the last signalled point */
int pagoda_syncobj_query(int fd, uint32_t syncobj, uint64_t *point);

/* VM_CREATE, all of whose input is 0. @args: out: the call's argument */
int pagoda_vm_create(int fd, struct drm_pagoda_vm_create *args);
int pagoda_vm_destroy(int fd, uint32_t vm);
/*
 * VM_BIND of an array. @point of @syncobj signals when the addresses can be used; both 0: no point.
 */
int pagoda_bind(int fd, uint32_t vm, const struct drm_pagoda_bind_entry *entries, uint32_t count,
		uint32_t syncobj, uint64_t point);
/* VM_BIND of one MAP, of @size bytes of an allocation from @offset on. */
int pagoda_bind_map(int fd, uint32_t vm, uint32_t handle, uint64_t address, uint64_t offset,
		    uint64_t size);
/* VM_BIND of one entry of a type that needs only a range, UNMAP for instance. */
int pagoda_bind_range(int fd, uint32_t vm, uint32_t type, uint64_t address, uint64_t size);
int pagoda_context_create(int fd, uint32_t vm, uint32_t *context);
int pagoda_context_destroy(int fd, uint32_t context);
int pagoda_context_state(int fd, uint32_t context, struct drm_pagoda_context_state *state);
/*
 * Submits a job of @size bytes of commands at @address; @size 0 = no commands. The job lists @count
 * allocations, without flags. @point of @syncobj is signalled by the job; @syncobj 0: no point.
 */
int pagoda_submit(int fd, uint32_t context, uint64_t address, uint64_t size,
		  const uint32_t *handles, uint32_t count, uint32_t syncobj, uint64_t point);
int pagoda_submit_args(int fd, struct drm_pagoda_submit *args);
/* FENCE_CREATE. @map, if not NULL: out: address of the fence's value, mapped read-only */
int pagoda_fence_create(int fd, uint64_t value, uint32_t *fence, const uint64_t **map);
int pagoda_fence_create_flags(int fd, uint32_t flags, uint64_t value, uint32_t *fence);
int pagoda_fence_destroy(int fd, uint32_t fence);
int pagoda_fence_signal(int fd, uint32_t fence, uint64_t value);
int pagoda_fence_signal_list(int fd, const struct drm_pagoda_fence_value *list, uint32_t count);
/* Waits until a fence has reached @value, at most @timeout_ns from now; 0 only looks. */
int pagoda_fence_wait(int fd, uint32_t fence, uint64_t value, int64_t timeout_ns);
/* FENCE_WAIT for a list. @first, if not NULL: out, on success: index of a satisfied entry */
int pagoda_fence_wait_list(int fd, const struct drm_pagoda_fence_value *list, uint32_t count,
			   uint32_t flags, int64_t timeout_ns, uint32_t *first);
/* FENCE_WAIT that returns at once, and has @eventfd signalled when the wait is satisfied. */
int pagoda_fence_notify(int fd, const struct drm_pagoda_fence_value *list, uint32_t count,
			uint32_t flags, int eventfd);
/* MAKE_RESIDENT without a paging queue; after the paging, monitored fence @fence gets @value. */
int pagoda_make_resident_fence(int fd, uint32_t handle, uint32_t fence, uint64_t value);

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t pagoda_now(void);

/* Bytes of @segment that all clients together use; UINT64_MAX if the query fails. */
uint64_t pagoda_usage(int fd, uint32_t segment);

/*
 * Content that is a function of key and offset: byte n of the content of a key is byte n % 8
 * of a 64-bit word made from (key, n / 8). pagoda_key() makes keys; pagoda_fill() writes bytes
 * [offset, offset + size) of the content to @dst; pagoda_check() compares these bytes with @src and
 * returns the number in @src, from 0, of the first byte that differs, or -1.
 */
uint64_t pagoda_key(uint64_t seed, uint64_t id, uint64_t version);
void pagoda_fill(void *dst, uint64_t key, uint64_t offset, uint64_t size);
int64_t pagoda_check(const void *src, uint64_t key, uint64_t offset, uint64_t size);
/* The byte at @offset of the content of a key. */
uint8_t pagoda_byte(uint64_t key, uint64_t offset);
/* The number in @src, from 0, of the first byte that isn't zero, or -1. */
int64_t pagoda_check_zero(const void *src, uint64_t size);

/* Returns the next number of a random generator, whose first @state is the seed. */
uint64_t pagoda_random(uint64_t *state);

#endif
