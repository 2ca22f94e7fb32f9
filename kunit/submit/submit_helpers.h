/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs of commands; clients, each a VM with a context, that submit the programs as jobs to the
 * rig's engines; syncobjs and their points.
 */
#ifndef PAGODA_KUNIT_SUBMIT_HELPERS_H
#define PAGODA_KUNIT_SUBMIT_HELPERS_H

#include <linux/virtio_pagoda_commands.h>
#include "rig/rig.h"

#define SUBMIT_VRAM	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define SUBMIT_APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define SUBMIT_CODE	SZ_1G		/* address of the code */
#define SUBMIT_PAGES	64u		/* of code; once half is written, reused from its start */
#define SUBMIT_BOS	8u		/* most allocations that a job lists, besides its code */

/**
 * struct submit_client - A VM with a context and code
 * @rig: The rig
 * @vm: VM
 * @context: Context
 * @code: Allocation at %SUBMIT_CODE, listed by each job
 * @used: Bytes of @code that are written
 * @start: First byte of the program being written
 * @done: Timeline with a point for each job
 * @sent: Number of jobs accepted
 * @number: Number that pagoda_submit() gave to the last job
 */
struct submit_client {
	struct pagoda_rig *rig;
	struct pagoda_vm *vm;
	struct pagoda_context *context;
	struct pagoda_bo *code;
	u32 used;
	u32 start;
	struct drm_syncobj *done;
	u64 sent;
	u64 number;
};

/**
 * struct submit_args - What a job has besides its program
 * @bos: Allocations listed
 * @flags: DRM_PAGODA_SUBMIT_ flags of each
 * @nr_bos: Number of @bos
 * @in: Syncobj the job waits for, or NULL
 * @out: Syncobj the job signals, or NULL
 * @in_point: Point of @in; 0 = @in is a binary syncobj
 * @out_point: Point of @out; 0 = @out is a binary syncobj
 * @fenced: The job is fenced
 * @out_first: The job lists @out before @in
 */
struct submit_args {
	struct pagoda_bo *bos[SUBMIT_BOS];
	u32 flags[SUBMIT_BOS];
	u32 nr_bos;
	struct drm_syncobj *in;
	struct drm_syncobj *out;
	u64 in_point;
	u64 out_point;
	bool fenced;
	bool out_first;
};

struct pagoda_rig *submit_rig(struct kunit *test);
/* Returns a rig whose reserve, for page tables and save areas only, has @pages pages of VRAM. */
struct pagoda_rig *submit_rig_reserve(struct kunit *test, u32 pages);
struct submit_client *submit_client(struct pagoda_rig *rig, u32 engine);
void submit_client_end(struct submit_client *client);
/* Unmaps an allocation from the client's VM, and closes the allocation. */
void submit_close(struct submit_client *client, struct pagoda_bo *bo);
/* Returns an allocation private to the client's VM, mapped at @address. */
struct pagoda_bo *submit_private(struct submit_client *client, u32 pages, u32 supported,
				 u64 address);
int submit_map(struct submit_client *client, struct pagoda_bo *bo, u64 address);
/*
 * Waits until pending moves of the allocation are done; returns the 8 bytes at @offset, wherever
 * the allocation is then.
 */
u64 submit_word(struct pagoda_rig *rig, struct pagoda_bo *bo, u64 offset);

/* Append a command to the program being written. */
void submit_store(struct submit_client *client, u64 address, u64 value);
void submit_compare(struct submit_client *client, u64 address, u64 value);
void submit_add(struct submit_client *client, u64 address, u64 value);
void submit_copy(struct submit_client *client, u64 src, u64 dst, u64 size);
/* Appends commands that add 1 to register @number and store the register at @address. */
void submit_count(struct submit_client *client, u32 number, u64 address);
/* Appends a jump to the beginning of the program, which then never ends. */
void submit_forever(struct submit_client *client);

/*
 * Submits the program as a job. NULL @args: the job lists only its code, and has no syncobjs but
 * the client's own timeline.
 */
int submit_job(struct submit_client *client, const struct submit_args *args);
/* Submits a job without commands. */
int submit_empty(struct submit_client *client, const struct submit_args *args);
/* Waits for the fence of the client's last job; returns the error of the fence. */
int submit_wait(struct submit_client *client);
struct pagoda_bo *submit_save_area(struct submit_client *client);
struct drm_pagoda_context_state submit_state(struct submit_client *client);

struct drm_syncobj *submit_syncobj(struct kunit *test);
/*
 * Returns whether the point exists: then *@fence is a reference to its fence, or NULL if the fence
 * has signalled and the timeline has dropped it.
 */
bool submit_point(struct drm_syncobj *syncobj, u64 point, struct dma_fence **fence);
/* Waits until the point exists and has signalled; returns the error of its fence. */
int submit_wait_point(struct drm_syncobj *syncobj, u64 point);
void submit_signal(struct submit_client *client, struct drm_syncobj *syncobj, u64 point);

#endif
