/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_RIG_H
#define PAGODA_KUNIT_RIG_H

#include <kunit/test.h>

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

/**
 * struct pagoda_rig_note - A packet as it was executed
 * @opcode: Its operation
 * @flags: Its flags
 * @seqno: Submission it came in
 * @allocation: Allocation
 * @size: Bytes, or pages for MAP and UNMAP
 * @src: Segment a TRANSFER or DISCARD_CONTENT is from
 * @dst: Segment a TRANSFER, FILL, MAP or UNMAP is to
 * @address: Where in VRAM or in which page of the aperture, the destination first
 * @src_address: Where a TRANSFER comes from
 * @generation: Of a MAP
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
	u32 generation;
};

struct pagoda_rig {
	struct kunit *test;
	struct platform_device *pdev;
	struct drm_device *drm;
	struct pagoda_device_info info;
	struct pagoda_extent window;
	struct pagoda_engine engine;
	struct pagoda_fake_transport *fake;
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
	struct pagoda_rig_note *log;
	u32 nr_log;
};

/* What differs from the usual rig. */
struct pagoda_rig_options {
	u64 without;		/* features to hide from the driver */
	u32 buffer_size;	/* 0: 64 KiB */
	u32 timeout_ms;		/* 0: 5 s */
	bool no_window;		/* the CPU sees nothing of VRAM */
	bool not_coherent;	/* the device doesn't snoop */
	bool large;		/* PAGODA_RIG_LARGE_PAGES of VRAM, no window */
};

struct pagoda_rig *pagoda_rig_create(struct kunit *test,
				     const struct pagoda_rig_options *options);
/* Once whatever is held was let go; also runs at the end of the test. */
void pagoda_rig_settle(struct pagoda_rig *rig);

struct pagoda_bo *pagoda_rig_bo(struct pagoda_rig *rig, u32 pages, u32 flags, u32 supported,
				u32 eviction);
void pagoda_rig_close(struct pagoda_bo *bo);
int pagoda_rig_place(struct pagoda_bo *bo, const struct ttm_place *place, bool no_wait);
int pagoda_rig_to_vram(struct pagoda_bo *bo);
int pagoda_rig_to_system(struct pagoda_bo *bo);
int pagoda_rig_to_aperture(struct pagoda_bo *bo, bool address);
/* Waits for the allocation and writes or checks every byte, wherever it is. */
void pagoda_rig_write(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed);
bool pagoda_rig_holds(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed);
bool pagoda_rig_is_zero(struct pagoda_rig *rig, struct pagoda_bo *bo);
bool pagoda_rig_idle(struct pagoda_bo *bo);
/* The @nth note (from 0) with that opcode and allocation (0 = any), or NULL. */
const struct pagoda_rig_note *pagoda_rig_find(struct pagoda_rig *rig, u32 opcode,
					      u64 allocation, u32 nth);
u32 pagoda_rig_count(struct pagoda_rig *rig, u32 opcode, u64 allocation);

#endif
