/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_RIG_H
#define PAGODA_KUNIT_RIG_H

#include <kunit/test.h>
#include "../drivers/vgpu/engine/engine.h"
#include "alloc.h"
#include "vidmm.h"
#include "virtio/virtio.h"
#include "fake_transport.h"
#include "prove.h"

/*
 * The driver's memory manager on a GPU inside the test: segments, stream and queues are the
 * driver's, the engine is the software GPU's, and transports of the test connect both. The log gets
 * paging packets that the engine has executed, up to PAGODA_RIG_LOG.
 */

#define PAGODA_RIG_VRAM_PAGES		1024
#define PAGODA_RIG_LARGE_PAGES		5120
#define PAGODA_RIG_VISIBLE_PAGES	512
#define PAGODA_RIG_APERTURE_PAGES	256
#define PAGODA_RIG_LOG			4096
#define PAGODA_RIG_MMU_PAGES		8192
#define PAGODA_RIG_PT_LEVELS		4
#define PAGODA_RIG_SPACES		64
#define PAGODA_RIG_RANGES		4
#define PAGODA_RIG_RANGE_BYTES		(256u << 10)

/**
 * struct pagoda_rig_mode - Update mode, with or without a device MMU, as a parameter of tests
 * @update_mode: enum virtio_pagoda_update_mode
 * @device_mmu: The device has an MMU of its own that translates addresses of system memory
 */
struct pagoda_rig_mode {
	u32 update_mode;
	bool device_mmu;
};

/* Generator for KUNIT_CASE_PARAM(): every update mode, with and without a device MMU. */
PAGODA_KUNIT_PARAMS(pagoda_rig_modes);
/* Every update mode, without a device MMU. */
PAGODA_KUNIT_PARAMS(pagoda_rig_update_modes);
/*
 * GPU_PHYSICAL mode with and without a device MMU, for tests that don't depend on the update mode.
 */
PAGODA_KUNIT_PARAMS(pagoda_rig_mmu_modes);

/**
 * struct pagoda_rig_note - A paging packet that the engine executed
 * @opcode: Operation of the packet
 * @flags: Flags of the packet
 * @seqno: Number of the request that contained the packet
 * @allocation: Id of the packet's allocation
 * @size: Bytes; or pages for MAP, UNMAP, MAP_MMU, UNMAP_MMU and notices of residency; or entries
 *	for UPDATE_PAGE_TABLE
 * @src: Source segment of a TRANSFER, segment of a DISCARD_CONTENT, direction of a
 *	VIRTUAL_TRANSFER, update mode of an UPDATE_PAGE_TABLE
 * @dst: Destination segment of a TRANSFER or FILL, segment of a MAP, UNMAP or notice of residency
 * @address: Destination, or the packet's only address: address in a segment, page of the aperture,
 *	virtual address, or first address that UPDATE_PAGE_TABLE changes or FLUSH_TLB flushes
 * @src_address: Source address of a TRANSFER or VIRTUAL_TRANSFER
 * @offset: Byte of the allocation, for virtual operations, UPDATE_PAGE_TABLE and
 *	NOTIFY_ALLOC; page of the allocation for notices of residency
 * @generation: Generation of a MAP; address space of UPDATE_PAGE_TABLE and FLUSH_TLB
 * @value: First word that UPDATE_PAGE_TABLE writes
 */
struct pagoda_rig_note {
	u32 opcode;
	u32 flags;
	u64 seqno;
	u64 allocation;
	u64 size;
	u32 src;
	u32 dst;
	u64 address;
	u64 src_address;
	u64 offset;
	u32 generation;
	u64 value;
};

/**
 * struct pagoda_rig_fail - Packets that the device is to report as faulty
 * @seqno: Number of the packet's request, 0 = any
 * @packet: Number of the packet in its buffer, from 0; used only if @opcode is 0
 * @opcode: Operation of the packet; 0 = the packet with number @packet, whatever its operation
 * @allocation: Id of the packet's allocation, 0 = any; used only if @opcode isn't 0
 * @times: Number of executions of such packets that are still to fail; 0 = none
 * @middle: The packet fails after half of its effect; else without an effect
 */
struct pagoda_rig_fail {
	u64 seqno;
	u32 packet;
	u32 opcode;
	u64 allocation;
	u32 times;
	bool middle;
};

/* Bus addresses of the first and the last page of a NOTIFY_ALLOC's range; 0 = not mapped. */
struct pagoda_rig_shown {
	u64 first;
	u64 last;
};

#define PAGODA_RIG_ENGINES		2

/**
 * struct pagoda_rig_engine - An execution engine of the rig and its transport
 * @base: Transport
 * @rig: The rig
 * @index: Number of the engine
 * @wq: Workqueue for @work
 * @work: Executes the requests in @ring
 * @stop: Ends the execution of a request early, and keeps further requests from being begun
 * @reset_error: Set by tests: error that resets of the engine return; RESET_ADAPTER clears it
 * @lock: Protects all members below
 * @ring: Requests in order
 * @nr_ring: Number of requests in @ring
 * @seqno: Number of the last request that was executed to its end
 * @running: A request is being executed or completed
 * @halted: A request failed or was stopped; no other is begun until the engine is reset
 * @held: Set by pagoda_rig_hold(): no request is begun
 * @executed: Number of requests executed to their end
 * @resets: Number of successful resets
 */
struct pagoda_rig_engine {
	struct pagoda_transport base;
	struct pagoda_rig *rig;
	u32 index;
	struct workqueue_struct *wq;
	struct work_struct work;
	bool stop;
	int reset_error;
	spinlock_t lock;	/* protects all below */
	struct pagoda_request *ring[8];
	u32 nr_ring;
	u64 seqno;
	bool running;
	bool halted;
	bool held;
	u32 executed;
	u32 resets;
};

struct pagoda_rig {
	struct kunit *test;
	struct platform_device *pdev;
	struct drm_device *drm;
	struct pagoda_device_info info;
	struct pagoda_extent window;
	struct pagoda_extent swizzling;
	void *windows;
	struct pagoda_engine_swizzling ranges[PAGODA_RIG_RANGES];
	struct pagoda_engine engine;
	struct pagoda_fake_transport *fake;
	struct pagoda_rig_engine engines[PAGODA_RIG_ENGINES];
	struct pagoda_transport *transports[PAGODA_RIG_ENGINES];
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
	struct pagoda_rig_note *log;
	u32 nr_log;
	struct pagoda_rig_shown shown[8];
	u32 nr_shown;
	struct pagoda_rig_fail fail;
	u32 flush_late;		/* set by tests: of so many @flushes one waits a jiffy; 0: none */
	u32 flushes;		/* buffers with a FLUSH_TLB executed while @flush_late is set */
	u32 lose_roots;		/* set by tests: number of next SET_ROOTs of VMs that time out */
	bool loses_events;	/* set by tests: the driver gets no events of changed fences */
	enum pagoda_engine_vram reset_vram;
	int reset_error;	/* set by tests: error that RESET_ADAPTER returns */
	atomic_t accesses;	/* number of executions begun and of accesses to system memory */
	bool unplugged;
	unsigned long patience;		/* the stream's default */
	struct pagoda_plug plug;	/* of pagoda_rig_plug_shared() */
	s64 overruns;		/* set by tests: expected &pagoda_vidmm.stats.overruns at the end */
};

/* How a rig differs from the default. */
struct pagoda_rig_options {
	u64 without;		/* features to hide from the driver */
	u32 buffer_size;	/* most bytes of a paging buffer; 0: 64 KiB */
	bool no_window;		/* no part of VRAM is CPU visible */
	bool not_coherent;	/* the device doesn't snoop */
	bool large;		/* PAGODA_RIG_LARGE_PAGES of VRAM, no window */
	bool by_cpu;		/* the CPU executor executes paging; all of VRAM is CPU visible */
	const struct pagoda_rig_mode *mode;	/* NULL: GPU_PHYSICAL without a device MMU */
	u32 pt_levels;		/* 0: PAGODA_RIG_PT_LEVELS */
	u32 page_sizes;		/* 0: 4 KiB, 64 KiB and 2 MiB */
	bool dual_pte;		/* a level-1 entry links two tables */
	u32 mmu_pages;		/* pages that a device MMU can map; 0: PAGODA_RIG_MMU_PAGES */
	enum pagoda_engine_vram reset_vram;	/* what RESET_ADAPTER leaves in VRAM */
	bool engines;		/* the driver uses PAGODA_RIG_ENGINES execution engines */
	u64 pin_limit;		/* bytes of a client; 0: half of VRAM without the reserve */
	bool promotes;		/* evicted allocations are promoted */
	u32 ahead;		/* queued jobs whose allocations come to VRAM ahead of the jobs */
	u32 reserve;		/* pages of VRAM for page tables and save areas */
	bool tracks;		/* the device knows which pages of VRAM it wrote */
};

struct pagoda_rig *pagoda_rig_create(struct kunit *test,
				     const struct pagoda_rig_options *options);
/* Returns a default rig in the mode that is the test's parameter. */
struct pagoda_rig *pagoda_rig_create_mode(struct kunit *test);
/* Return the opcode that copies, or fills, content in the rig's update mode. */
u32 pagoda_rig_copy_op(struct pagoda_rig *rig);
u32 pagoda_rig_fill_op(struct pagoda_rig *rig);
/*
 * Returns the bus address that the device accesses for @address, which the driver gave for system
 * memory: @address itself or, with a device MMU, what @address is mapped to; 0 if unmapped.
 */
u64 pagoda_rig_bus(struct pagoda_rig *rig, u64 address);
/*
 * Queues the open submissions. With @share set, submissions that a transaction leaves open from
 * then on stay open for up to 100 seconds, so that plugged operations share a submission however
 * slow the machine is. The caller must not set @share if another thread may wait for such an
 * operation with a lock held that the plug's thread needs.
 */
void pagoda_rig_share(struct pagoda_rig *rig, bool share);
/* Calls pagoda_rig_share() with @share set, and plugs the stream. */
void pagoda_rig_plug_shared(struct pagoda_rig *rig);
/*
 * Makes the device fail each time at the submission that copies content out of VRAM next: the next
 * submission or, with a device MMU, the one behind the next, which maps the pages and succeeds. The
 * caller must start the copy at once.
 */
void pagoda_rig_refuse_copy_out(struct pagoda_rig *rig);
/* Makes the device fail at the next submission, each time that the driver sends the submission. */
void pagoda_rig_refuse_next(struct pagoda_rig *rig);
/*
 * Puts the fake device in deferred mode, queues open submissions unless a thread has plugged the
 * stream, waits until the paging queue is idle, and expects its write combiner to be empty then.
 */
void pagoda_rig_settle(struct pagoda_rig *rig);
/* Settles, then waits until TTM has freed the memory that moves and closed allocations left. */
void pagoda_rig_settle_freed(struct pagoda_rig *rig);
/*
 * Stops the manager, as if the device had been unplugged, even if the device holds requests back.
 * From then on allocations can only be closed. Also called at the end of the test.
 */
void pagoda_rig_unplug(struct pagoda_rig *rig);
/*
 * Calls pagoda_rig_unplug(), and destroys the client and the manager. Also called at the end of the
 * test.
 */
void pagoda_rig_end(struct pagoda_rig *rig);

/* Initializes an execution engine, for pagoda_rig_create(). */
void pagoda_rig_engine_init(struct pagoda_rig *rig, u32 index);
/* Resets all engines, and clears the errors that tests set for their resets. */
void pagoda_rig_engines_lose(struct pagoda_rig *rig);
/* With @hold set, engine @index begins no request until the function is called with @hold clear. */
void pagoda_rig_hold(struct pagoda_rig *rig, u32 index, bool hold);

struct pagoda_bo *pagoda_rig_bo(struct pagoda_rig *rig, u32 pages, u32 flags, u32 supported,
				u32 eviction);
void pagoda_rig_close(struct pagoda_bo *bo);
void pagoda_rig_pin(struct pagoda_bo *bo, bool pin);
void pagoda_rig_add_fence(struct kunit *test, struct dma_resv *resv, struct dma_fence *fence,
			  enum dma_resv_usage usage);
int pagoda_rig_place(struct pagoda_bo *bo, const struct ttm_place *place, bool no_wait);
int pagoda_rig_to_vram(struct pagoda_bo *bo);
int pagoda_rig_to_system(struct pagoda_bo *bo);
int pagoda_rig_to_aperture(struct pagoda_bo *bo, bool address);
/*
 * Call pagoda_residency_make() and then pagoda_residency_note(), pagoda_residency_evict(), or
 * pagoda_reclaim(), in a section.
 */
int pagoda_rig_make_resident(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count,
			     struct dma_fence **fence, u64 *trim);
int pagoda_rig_evict(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count,
		     struct dma_fence **fence);
int pagoda_rig_reclaim(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count, u32 *results,
		       bool all, struct dma_fence **fence);
/*
 * Makes 2 * @count allocations of a page each in VRAM and closes every other one: @odd gets the
 * @count allocations that are left, with free pages in between.
 */
void pagoda_rig_fragment(struct pagoda_rig *rig, struct pagoda_bo **odd, u32 count);
/* Waits until the allocation's moves are done, and fills it, where it is, with words from @seed. */
void pagoda_rig_write(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed);
/* Moves the allocation to VRAM, which must succeed, and calls pagoda_rig_write(). */
void pagoda_rig_write_vram(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed);
/*
 * Return whether the allocation, when its moves are done, has the content that pagoda_rig_write()
 * writes for @seed, or zeros.
 */
bool pagoda_rig_holds(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed);
bool pagoda_rig_is_zero(struct pagoda_rig *rig, struct pagoda_bo *bo);
/* Returns, without waiting, whether all fences of the allocation's reservation have signalled. */
bool pagoda_rig_idle(struct pagoda_bo *bo);
void pagoda_rig_note(struct pagoda_rig *rig, u64 seqno, const void *data);
/* Returns the @nth note (from 0) with that opcode and allocation (0 = any), or NULL. */
const struct pagoda_rig_note *pagoda_rig_find(struct pagoda_rig *rig, u32 opcode,
					      u64 allocation, u32 nth);
u32 pagoda_rig_count(struct pagoda_rig *rig, u32 opcode, u64 allocation);

/* The lockdep map of @lock; NULL without lockdep. */
#ifdef CONFIG_LOCKDEP
#define pagoda_rig_lock_map(lock)	(&(lock)->dep_map)
#else
#define pagoda_rig_lock_map(lock)	((void)(lock), (struct lockdep_map *)NULL)
#endif

/*
 * Returns whether this thread holds the lock of @map; always false in a kernel without lockdep.
 */
static inline bool pagoda_rig_lock_is_held(struct lockdep_map *map)
{
	return IS_ENABLED(CONFIG_LOCKDEP) && lock_is_held(map);
}

#endif
