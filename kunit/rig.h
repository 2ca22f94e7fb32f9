/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_RIG_H
#define PAGODA_KUNIT_RIG_H

#include <kunit/test.h>

#include <pagoda/mfence.h>
#include <pagoda/virtio.h>
#include "../drivers/pagoda/vidmm/vidmm.h"
#include "../drivers/vgpu/engine/engine.h"
#include "fake_transport.h"
#include "prove.h"

/*
 * The whole memory manager on a GPU inside the test: TTM, segments, stream and
 * queue are the driver's, the engine is the software GPU's, and what is between
 * them is the fake transport. Every packet executed is noted down.
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
 * struct pagoda_rig_mode - A way to write page tables, as a parameter of tests
 * @update_mode: enum virtio_pagoda_update_mode
 * @device_mmu: The device translates addresses of system memory
 */
struct pagoda_rig_mode {
	u32 update_mode;
	bool device_mmu;
};

/* For KUNIT_CASE_PARAM(): all modes. */
PAGODA_KUNIT_PARAMS(pagoda_rig_modes);
/* Without a device MMU, for tests that make up addresses. */
PAGODA_KUNIT_PARAMS(pagoda_rig_update_modes);
/* The same, where it makes no difference how page tables are written. */
PAGODA_KUNIT_PARAMS(pagoda_rig_mmu_modes);

/**
 * struct pagoda_rig_note - A packet as it was executed
 * @opcode: Its operation
 * @flags: Its flags
 * @seqno: Submission it came in
 * @allocation: Allocation
 * @size: Bytes, or pages for MAP, UNMAP and notices of residency, or entries for
 *	UPDATE_PAGE_TABLE
 * @src: Segment a TRANSFER or DISCARD_CONTENT is from, direction of a VIRTUAL_TRANSFER,
 *	mode of an UPDATE_PAGE_TABLE
 * @dst: Segment a TRANSFER, FILL, MAP or UNMAP is to
 * @address: Where in VRAM or in which page of the aperture, the destination first; or
 *	which virtual address; or which address UPDATE_PAGE_TABLE changes
 * @src_address: Where a TRANSFER or VIRTUAL_TRANSFER comes from
 * @offset: Byte of the allocation, for virtual operations, UPDATE_PAGE_TABLE and
 *	NOTIFY_ALLOC; page of it for notices of residency
 * @generation: Of a MAP; address space of UPDATE_PAGE_TABLE and FLUSH_TLB
 * @value: First word UPDATE_PAGE_TABLE writes
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
 * struct pagoda_rig_fail - A packet the device fails at
 * @seqno: Submission it is in, 0 = any
 * @packet: Number of the packet in its buffer, unless there is an @opcode
 * @opcode: Its operation, 0 = any
 * @allocation: Its allocation, 0 = any
 * @times: How often
 * @middle: After half of its effect
 */
struct pagoda_rig_fail {
	u64 seqno;
	u32 packet;
	u32 opcode;
	u64 allocation;
	u32 times;
	bool middle;
};

/* Bus addresses of the first and last page a NOTIFY_ALLOC's address leads to. */
struct pagoda_rig_shown {
	u64 first;
	u64 last;
};

#define PAGODA_RIG_ENGINES		2

/**
 * struct pagoda_rig_engine - An execution engine of the rig and the way to it
 * @base: Transport
 * @rig: The rig
 * @index: Engine
 * @wq: For @work
 * @work: Executes what is in @ring
 * @stop: Asks what is executed to stop
 * @reset_error: Test: resets fail with it
 * @lock: Protects all below
 * @ring: Requests in order
 * @nr_ring: Their number
 * @seqno: The last one executed whole
 * @running: One is being executed
 * @halted: One wasn't; until reset
 * @held: Test: nothing is executed; see pagoda_rig_hold()
 * @executed: Requests executed whole
 * @resets: Resets
 */
struct pagoda_rig_engine {
	struct pagoda_transport base;
	struct pagoda_rig *rig;
	u32 index;
	struct workqueue_struct *wq;
	struct work_struct work;
	bool stop;
	int reset_error;
	spinlock_t lock;	/* all below */
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
	bool loses_events;	/* of fences */
	enum pagoda_engine_vram reset_vram;
	int reset_error;	/* RESET_ADAPTER fails with it */
	atomic_t accesses;	/* to system memory, and executions begun */
	bool unplugged;
	unsigned long patience;		/* the stream's own */
	s64 overruns;		/* of announced costs, on purpose */
};

/* What differs from the usual rig. */
struct pagoda_rig_options {
	u64 without;		/* features to hide from the driver */
	u32 buffer_size;	/* 0: 64 KiB */
	bool no_window;		/* the CPU sees nothing of VRAM */
	bool not_coherent;	/* the device doesn't snoop */
	bool large;		/* PAGODA_RIG_LARGE_PAGES of VRAM, no window */
	bool by_cpu;		/* the CPU executes, and sees all of VRAM */
	const struct pagoda_rig_mode *mode;	/* NULL: GPU_PHYSICAL */
	u32 pt_levels;		/* 0: PAGODA_RIG_PT_LEVELS */
	u32 page_sizes;		/* 0: 4 KiB, 64 KiB and 2 MiB */
	bool dual_pte;		/* level-1 entries hold two tables */
	u32 mmu_pages;		/* with a device MMU; 0: PAGODA_RIG_MMU_PAGES */
	enum pagoda_engine_vram reset_vram;	/* what RESET_ADAPTER leaves in VRAM */
	bool engines;		/* that execute commands, PAGODA_RIG_ENGINES of them */
	u64 pin_limit;		/* 0: half of VRAM's size */
	bool promotes;		/* what was evicted comes back by itself */
	u32 reserve;		/* pages of VRAM for page tables and save areas */
};

struct pagoda_rig *pagoda_rig_create(struct kunit *test,
				     const struct pagoda_rig_options *options);
/* The usual rig, in the mode that is the test's parameter. */
struct pagoda_rig *pagoda_rig_create_mode(struct kunit *test);
/* The operations that copy and fill content in the rig's mode. */
u32 pagoda_rig_copy_op(struct pagoda_rig *rig);
u32 pagoda_rig_fill_op(struct pagoda_rig *rig);
/* What an address the driver gave for system memory leads to; 0 = nowhere. */
u64 pagoda_rig_bus(struct pagoda_rig *rig, u64 address);
/*
 * What is plugged shares buffers from now on, however slow the machine is. Not while another
 * thread may wait for it who has what the plugger waits for.
 */
void pagoda_rig_share(struct pagoda_rig *rig, bool share);
/*
 * Next, content is copied out of VRAM: the device refuses that for good, and not what maps the
 * pages before, which is mended if the copy doesn't follow at once.
 */
void pagoda_rig_refuse_copy_out(struct pagoda_rig *rig);
/* Once whatever is held was let go; also runs at the end of the test. */
void pagoda_rig_settle(struct pagoda_rig *rig);
/* The hardware goes, with whatever is held. What is left can only be closed. */
void pagoda_rig_unplug(struct pagoda_rig *rig);

/* For pagoda_rig_create(). */
void pagoda_rig_engine_init(struct pagoda_rig *rig, u32 index);
/* An engine that is held executes nothing; what it is given waits. */
void pagoda_rig_engines_lose(struct pagoda_rig *rig);
void pagoda_rig_hold(struct pagoda_rig *rig, u32 index, bool hold);

struct pagoda_bo *pagoda_rig_bo(struct pagoda_rig *rig, u32 pages, u32 flags, u32 supported,
				u32 eviction);
void pagoda_rig_close(struct pagoda_bo *bo);
int pagoda_rig_place(struct pagoda_bo *bo, const struct ttm_place *place, bool no_wait);
int pagoda_rig_to_vram(struct pagoda_bo *bo);
int pagoda_rig_to_system(struct pagoda_bo *bo);
int pagoda_rig_to_aperture(struct pagoda_bo *bo, bool address);
/* VRAM in which every other page is taken, by @count allocations of a page. */
void pagoda_rig_fragment(struct pagoda_rig *rig, struct pagoda_bo **odd, u32 count);
/* Waits for the allocation and writes or checks every byte, wherever it is. */
void pagoda_rig_write(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed);
bool pagoda_rig_holds(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed);
bool pagoda_rig_is_zero(struct pagoda_rig *rig, struct pagoda_bo *bo);
bool pagoda_rig_idle(struct pagoda_bo *bo);
/* For the rig's device: notes a packet that was executed. */
void pagoda_rig_note(struct pagoda_rig *rig, u64 seqno, const void *data);
/* The @nth note (from 0) with that opcode and allocation (0 = any), or NULL. */
const struct pagoda_rig_note *pagoda_rig_find(struct pagoda_rig *rig, u32 opcode,
					      u64 allocation, u32 nth);
u32 pagoda_rig_count(struct pagoda_rig *rig, u32 opcode, u64 allocation);

#endif
