/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The user ABI of the Pagoda driver.
 *
 * Rules of evolution
 *  - Structs are fixed-size multiples of 8, without unions and without implicit
 *    padding. Fields are only appended.
 *  - A struct shorter than the kernel's is filled up with zeros, a longer one is
 *    refused (E2BIG) unless the rest is zero. A field's zero means what was there
 *    before the field.
 *  - Padding and unknown flags must be zero (MBZ), else EINVAL.
 *  - Arrays are struct drm_pagoda_array: pointer, count and the caller's stride.
 *  - Everything that is not said to be out is left alone by the kernel.
 *
 * Errors, the same for every ioctl
 *
 *  ========== =================================================================
 *  EINVAL     unknown flag, padding not zero, value or combination out of range
 *  E2BIG      a struct or array entry longer than the kernel's, with data in the
 *             part the kernel doesn't know; more than MAX_ entries; an allocation
 *             that no supported segment could ever hold
 *  EFAULT     bad user pointer
 *  ENOENT     handle, segment id or syncobj that this client doesn't have
 *  ENOMEM     out of memory, or out of room in every segment
 *  EBUSY      no progress now because others use the memory; try again
 *  ETIME      a wait's time was up
 *  ENODEV     the device is gone
 *  EIO        the device failed and content was lost
 *  EACCES     CPU access to an allocation made without it
 *  EINTR      a signal; the call had no effect (restarted by the kernel where
 *             that is allowed)
 *  ========== =================================================================
 *
 * A refused call has no side effect. With drm.debug=0x2 (driver) the kernel log names the
 * check that refused.
 */
#ifndef _PAGODA_DRM_H_
#define _PAGODA_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/** DRM_PAGODA_MAX_ENTRIES: most entries of an array. */
#define DRM_PAGODA_MAX_ENTRIES		65536
/** DRM_PAGODA_MAX_ALLOCATION: most bytes of one allocation. */
#define DRM_PAGODA_MAX_ALLOCATION	(1ull << 40)

/** enum drm_pagoda_ioctl_id - Numbers of the ioctls, from DRM_COMMAND_BASE. */
enum drm_pagoda_ioctl_id {
	/** @DRM_PAGODA_QUERY: device, segments, usage, statistics */
	DRM_PAGODA_QUERY = 0,
	/** @DRM_PAGODA_ALLOCATION_CREATE: make an allocation */
	DRM_PAGODA_ALLOCATION_CREATE,
	/** @DRM_PAGODA_ALLOCATION_MMAP_OFFSET: offset to give to mmap() */
	DRM_PAGODA_ALLOCATION_MMAP_OFFSET,
	/** @DRM_PAGODA_ALLOCATION_INFO: what it was made with and where it is */
	DRM_PAGODA_ALLOCATION_INFO,
	/** @DRM_PAGODA_ALLOCATION_WAIT: until it is idle */
	DRM_PAGODA_ALLOCATION_WAIT,
	/** @DRM_PAGODA_MAKE_RESIDENT: bring a list to where the GPU can use it */
	DRM_PAGODA_MAKE_RESIDENT,
	/** @DRM_PAGODA_EVICT: give up residency of a list */
	DRM_PAGODA_EVICT,
	/** @DRM_PAGODA_QUERY_RESIDENCY: where the allocations of a list are */
	DRM_PAGODA_QUERY_RESIDENCY,
};

/**
 * struct drm_pagoda_array - Array in user memory
 * @array: Pointer to the first entry
 * @count: Entries, at most %DRM_PAGODA_MAX_ENTRIES
 * @stride: Bytes from entry to entry as the caller knows them; at least the
 *	first version's size, at most a page, multiple of 8
 */
struct drm_pagoda_array {
	__u64 array;
	__u32 count;
	__u32 stride;
};

/** enum drm_pagoda_segment_id - Ids of segments, as the device has them. */
enum drm_pagoda_segment_id {
	/** @DRM_PAGODA_SEGMENT_SYSTEM: system memory the GPU has no address for */
	DRM_PAGODA_SEGMENT_SYSTEM = 0,
	/** @DRM_PAGODA_SEGMENT_VRAM: memory of the device */
	DRM_PAGODA_SEGMENT_VRAM = 1,
	/** @DRM_PAGODA_SEGMENT_APERTURE: system memory the GPU uses in place */
	DRM_PAGODA_SEGMENT_APERTURE = 2,
};

/** DRM_PAGODA_SEGMENT_BIT() - Bit of a segment in a segment set. */
#define DRM_PAGODA_SEGMENT_BIT(id)	(1u << ((id) - 1))

/** enum drm_pagoda_query_type - What DRM_PAGODA_QUERY is asked for. */
enum drm_pagoda_query_type {
	/** @DRM_PAGODA_QUERY_DEVICE: struct drm_pagoda_device_info */
	DRM_PAGODA_QUERY_DEVICE = 1,
	/** @DRM_PAGODA_QUERY_SEGMENT: struct drm_pagoda_segment_info of @index */
	DRM_PAGODA_QUERY_SEGMENT = 2,
	/** @DRM_PAGODA_QUERY_STATS: struct drm_pagoda_stats */
	DRM_PAGODA_QUERY_STATS = 3,
};

/**
 * struct drm_pagoda_query - Argument of DRM_PAGODA_QUERY
 * @type: enum drm_pagoda_query_type
 * @index: QUERY_SEGMENT: segment id. Else MBZ
 * @size: In: bytes at @pointer; 0 asks for the size only. Out: bytes the
 *	kernel's struct has
 * @pad: MBZ
 * @pointer: Where the answer goes: the smaller of both sizes is written
 */
struct drm_pagoda_query {
	__u32 type;
	__u32 index;
	__u32 size;
	__u32 pad;
	__u64 pointer;
};

/**
 * struct drm_pagoda_device_info - The device
 * @features: Bit n set: the device has virtio feature n
 * @page_size: Bytes of a page: everything is rounded to it
 * @alignment: Bytes VRAM addresses are aligned to
 * @num_segments: Segments; ids are 1 to this
 * @num_engines: Execution engines
 * @max_entries: %DRM_PAGODA_MAX_ENTRIES
 * @pad: Zero
 */
struct drm_pagoda_device_info {
	__u64 features;
	__u32 page_size;
	__u32 alignment;
	__u32 num_segments;
	__u32 num_engines;
	__u32 max_entries;
	__u32 pad;
};

#define DRM_PAGODA_SEGMENT_APERTURE_FLAG	(1u << 0) /* maps system memory */
#define DRM_PAGODA_SEGMENT_CPU_VISIBLE		(1u << 1) /* all of it */
#define DRM_PAGODA_SEGMENT_CPU_PARTIAL		(1u << 2) /* its first visible_size bytes */
#define DRM_PAGODA_SEGMENT_CACHE_COHERENT	(1u << 3)

/**
 * struct drm_pagoda_segment_info - One segment and what is in it
 * @id: Segment id
 * @flags: DRM_PAGODA_SEGMENT_ flags
 * @size: Bytes
 * @visible_size: Bytes the CPU can reach
 * @usage: Bytes in use, by everybody
 * @visible_usage: Bytes of @visible_size in use
 * @client_usage: Bytes of this client's allocations in it
 * @mapped: Aperture: bytes that have an address in it
 * @largest_free: Bytes of the largest contiguous free range
 */
struct drm_pagoda_segment_info {
	__u32 id;
	__u32 flags;
	__u64 size;
	__u64 visible_size;
	__u64 usage;
	__u64 visible_usage;
	__u64 client_usage;
	__u64 mapped;
	__u64 largest_free;
};

/**
 * struct drm_pagoda_stats - Counters of the device since probe
 * @paged_in: Bytes moved into VRAM from outside it
 * @paged_out: Bytes moved out of VRAM
 * @moved: Bytes moved within VRAM
 * @filled: Bytes filled
 * @discarded: Bytes whose content was dropped instead of moved
 * @evictions: Allocations that left VRAM to make room or because they were asked to
 * @page_ins: Allocations that came into VRAM with content
 * @cpu_waits: Times the CPU waited for paging work in a move
 * @busy_retries: ALLOCATION_BUSY answers
 * @insufficient: INSUFFICIENT_BUFFER answers
 * @commands: Packets built
 * @buffer_bytes: Bytes of paging buffers submitted
 * @submissions: Paging buffers submitted
 * @doorbells: Notifications sent to the device
 * @faults: CPU page faults that moved an allocation
 * @lost: Allocations whose content was lost
 */
struct drm_pagoda_stats {
	__u64 paged_in;
	__u64 paged_out;
	__u64 moved;
	__u64 filled;
	__u64 discarded;
	__u64 evictions;
	__u64 page_ins;
	__u64 cpu_waits;
	__u64 busy_retries;
	__u64 insufficient;
	__u64 commands;
	__u64 buffer_bytes;
	__u64 submissions;
	__u64 doorbells;
	__u64 faults;
	__u64 lost;
};

/*
 * CACHED: else the CPU's mappings are write-combined; needs CPU_VISIBLE.
 * NOTIFY_EVICTION: NOTIFY_ALLOC before it leaves the aperture or system memory.
 */
#define DRM_PAGODA_ALLOCATION_CPU_VISIBLE	(1u << 0) /* may be mapped */
#define DRM_PAGODA_ALLOCATION_CACHED		(1u << 1)
#define DRM_PAGODA_ALLOCATION_CONTIGUOUS	(1u << 2) /* in VRAM */
#define DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY (1u << 3) /* C162; implies CONTIGUOUS */
#define DRM_PAGODA_ALLOCATION_FROM_END		(1u << 4) /* search VRAM from its end */
#define DRM_PAGODA_ALLOCATION_NOTIFY_EVICTION	(1u << 5)
#define DRM_PAGODA_ALLOCATION_APERTURE_CPU_VISIBLE (1u << 6) /* MAP2 gets a CPU address (C67) */

/** DRM_PAGODA_MAX_PREFERRED: entries of the preference list. */
#define DRM_PAGODA_MAX_PREFERRED	4

/**
 * struct drm_pagoda_allocation_create - Argument of ALLOCATION_CREATE
 * @size: In: bytes, 1 to %DRM_PAGODA_MAX_ALLOCATION. Out: rounded up to pages
 * @flags: DRM_PAGODA_ALLOCATION_ flags
 * @supported: Set of segments (DRM_PAGODA_SEGMENT_BIT) the GPU can use it in;
 *	at least one. It is never resident anywhere else (C160)
 * @eviction: Set of segments it is evicted to: 0 = plain system memory, or
 *	the aperture (C37), which must then be in @supported
 * @handle: Out: its handle, not 0
 * @preferred: Segment ids in the order they are tried (C161), then zeros; each
 *	must be in @supported. Supported ones not named come last
 * @alignment: Bytes its VRAM address is aligned to; 0 or a power of two from the
 *	page size to 2 MiB. Needs CONTIGUOUS to be more than a wish
 * @pad: MBZ
 *
 * Nothing is placed yet. Its content is zeros.
 */
struct drm_pagoda_allocation_create {
	__u64 size;
	__u32 flags;
	__u32 supported;
	__u32 eviction;
	__u32 handle;
	__u32 preferred[DRM_PAGODA_MAX_PREFERRED];
	__u32 alignment;
	__u32 pad;
};

/**
 * struct drm_pagoda_allocation_mmap_offset - Argument of ALLOCATION_MMAP_OFFSET
 * @handle: Allocation, made with CPU_VISIBLE (else EACCES)
 * @flags: MBZ
 * @offset: Out: offset for mmap() of the DRM file. The mapping survives moves
 *	(C34)
 */
struct drm_pagoda_allocation_mmap_offset {
	__u32 handle;
	__u32 flags;
	__u64 offset;
};

/** enum drm_pagoda_residency - Where an allocation is. */
enum drm_pagoda_residency {
	/** @DRM_PAGODA_RESIDENT_IN_GPU_MEMORY: in VRAM */
	DRM_PAGODA_RESIDENT_IN_GPU_MEMORY = 1,
	/** @DRM_PAGODA_RESIDENT_IN_SHARED_MEMORY: in system memory the GPU uses */
	DRM_PAGODA_RESIDENT_IN_SHARED_MEMORY = 2,
	/** @DRM_PAGODA_NOT_RESIDENT: evicted, or never placed */
	DRM_PAGODA_NOT_RESIDENT = 3,
};

/** DRM_PAGODA_CONTENT_LOST: a device failure destroyed the content. */
#define DRM_PAGODA_CONTENT_LOST		(1u << 0)

/**
 * struct drm_pagoda_allocation_info - Argument of ALLOCATION_INFO
 * @handle: In: allocation
 * @flags: Out: its DRM_PAGODA_ALLOCATION_ flags
 * @size: Out: bytes
 * @supported: Out: its segment set
 * @eviction: Out: its eviction segment set
 * @segment: Out: enum drm_pagoda_segment_id it is in
 * @residency: Out: enum drm_pagoda_residency
 * @state: Out: %DRM_PAGODA_CONTENT_LOST; stays set until the allocation is closed
 * @num_ranges: Out: contiguous ranges of the segment it occupies
 * @address: Out: offset of its first byte in the segment; 0 in system memory
 */
struct drm_pagoda_allocation_info {
	__u32 handle;
	__u32 flags;
	__u64 size;
	__u32 supported;
	__u32 eviction;
	__u32 segment;
	__u32 residency;
	__u32 state;
	__u32 num_ranges;
	__u64 address;
};

/**
 * struct drm_pagoda_allocation_wait - Argument of ALLOCATION_WAIT
 * @handle: Allocation
 * @flags: MBZ
 * @timeout_ns: CLOCK_MONOTONIC time to give up at (ETIME); 0 = only look
 */
struct drm_pagoda_allocation_wait {
	__u32 handle;
	__u32 flags;
	__s64 timeout_ns;
};

/**
 * struct drm_pagoda_residency_entry - An allocation of a list
 * @handle: Allocation; a list may not name it twice
 * @flags: MBZ
 */
struct drm_pagoda_residency_entry {
	__u32 handle;
	__u32 flags;
};

/**
 * struct drm_pagoda_make_resident - Argument of MAKE_RESIDENT
 * @entries: struct drm_pagoda_residency_entry
 * @flags: MBZ; kept for cant-trim-further, must-succeed and others
 * @paging_queue: MBZ; kept for paging queues
 * @syncobj: Timeline syncobj, or 0
 * @pad: MBZ
 * @point: Point of @syncobj that signals when all of the list can be used; not 0
 *	with a syncobj, MBZ without
 * @bytes_to_trim: Out on ENOMEM: bytes that stand in the way. Else 0
 * @num_resident: Out: entries that are resident: all or none (C147)
 * @pending: Out: 1 = wait for @point (or the allocations) before use; 0 = all
 *	can be used now. The point is signalled in either case
 *
 * All entries are in a supported segment together when it returns 0. Allocations
 * that were made resident before may be evicted for them, never one of the
 * list. The call doesn't wait for copies.
 */
struct drm_pagoda_make_resident {
	struct drm_pagoda_array entries;
	__u32 flags;
	__u32 paging_queue;
	__u32 syncobj;
	__u32 pad;
	__u64 point;
	__u64 bytes_to_trim;
	__u32 num_resident;
	__u32 pending;
};

/**
 * struct drm_pagoda_evict - Argument of EVICT
 * @entries: struct drm_pagoda_residency_entry
 * @flags: MBZ; kept for evict-only-if-necessary and not-written-to
 * @syncobj: Timeline syncobj, or 0
 * @point: Point of @syncobj that signals when the list has left; as above
 * @bytes_to_trim: Out: 0; kept for budgets
 */
struct drm_pagoda_evict {
	struct drm_pagoda_array entries;
	__u32 flags;
	__u32 syncobj;
	__u64 point;
	__u64 bytes_to_trim;
};

/**
 * struct drm_pagoda_residency_status - An answer of QUERY_RESIDENCY
 * @handle: In: allocation
 * @residency: Out: enum drm_pagoda_residency
 * @segment: Out: enum drm_pagoda_segment_id
 * @state: Out: %DRM_PAGODA_CONTENT_LOST
 */
struct drm_pagoda_residency_status {
	__u32 handle;
	__u32 residency;
	__u32 segment;
	__u32 state;
};

/**
 * struct drm_pagoda_query_residency - Argument of QUERY_RESIDENCY
 * @entries: struct drm_pagoda_residency_status
 * @flags: MBZ
 * @pad: MBZ
 */
struct drm_pagoda_query_residency {
	struct drm_pagoda_array entries;
	__u32 flags;
	__u32 pad;
};

/** DRM_IOCTL_PAGODA() - Build the number of an ioctl (in and out). */
#define DRM_IOCTL_PAGODA(id, type) \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_PAGODA_##id, struct drm_pagoda_##type)

#define DRM_IOCTL_PAGODA_QUERY DRM_IOCTL_PAGODA(QUERY, query)
#define DRM_IOCTL_PAGODA_ALLOCATION_CREATE DRM_IOCTL_PAGODA(ALLOCATION_CREATE, allocation_create)
#define DRM_IOCTL_PAGODA_ALLOCATION_MMAP_OFFSET \
	DRM_IOCTL_PAGODA(ALLOCATION_MMAP_OFFSET, allocation_mmap_offset)
#define DRM_IOCTL_PAGODA_ALLOCATION_INFO DRM_IOCTL_PAGODA(ALLOCATION_INFO, allocation_info)
#define DRM_IOCTL_PAGODA_ALLOCATION_WAIT DRM_IOCTL_PAGODA(ALLOCATION_WAIT, allocation_wait)
#define DRM_IOCTL_PAGODA_MAKE_RESIDENT DRM_IOCTL_PAGODA(MAKE_RESIDENT, make_resident)
#define DRM_IOCTL_PAGODA_EVICT DRM_IOCTL_PAGODA(EVICT, evict)
#define DRM_IOCTL_PAGODA_QUERY_RESIDENCY DRM_IOCTL_PAGODA(QUERY_RESIDENCY, query_residency)

#ifndef __cplusplus
#define DRM_PAGODA_ASSERT_SIZE(type, size) \
	_Static_assert(sizeof(struct drm_pagoda_##type) == (size), "size of " #type)
DRM_PAGODA_ASSERT_SIZE(array, 16);
DRM_PAGODA_ASSERT_SIZE(query, 24);
DRM_PAGODA_ASSERT_SIZE(device_info, 32);
DRM_PAGODA_ASSERT_SIZE(segment_info, 64);
DRM_PAGODA_ASSERT_SIZE(stats, 128);
DRM_PAGODA_ASSERT_SIZE(allocation_create, 48);
DRM_PAGODA_ASSERT_SIZE(allocation_mmap_offset, 16);
DRM_PAGODA_ASSERT_SIZE(allocation_info, 48);
DRM_PAGODA_ASSERT_SIZE(allocation_wait, 16);
DRM_PAGODA_ASSERT_SIZE(residency_entry, 8);
DRM_PAGODA_ASSERT_SIZE(make_resident, 56);
DRM_PAGODA_ASSERT_SIZE(evict, 40);
DRM_PAGODA_ASSERT_SIZE(residency_status, 16);
DRM_PAGODA_ASSERT_SIZE(query_residency, 24);
#endif

#if defined(__cplusplus)
}
#endif

#endif
