/* SPDX-License-Identifier: GPL-2.0 */
/* Programs, and clients that have them executed on the rig's engines. */
#ifndef PAGODA_KUNIT_SUBMIT_HELPERS_H
#define PAGODA_KUNIT_SUBMIT_HELPERS_H

#include <linux/virtio_pagoda_commands.h>
#include <pagoda/submit.h>
#include <pagoda/vm.h>
#include "rig.h"

#define SUBMIT_VRAM	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define SUBMIT_APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define SUBMIT_CODE	SZ_1G		/* address of the code */
#define SUBMIT_PAGES	64u		/* of code; then it begins anew */
#define SUBMIT_BOS	8u		/* most listed allocations of a job */

/**
 * struct submit_client - A VM with a context and code
 * @rig: The rig
 * @vm: VM
 * @context: Context
 * @code: Allocation at %SUBMIT_CODE, listed by each job
 * @used: Bytes of it that are written
 * @start: First byte of the program being written
 * @done: Timeline, a point for each job
 * @sent: Jobs accepted
 * @number: Number of the last job
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
 * @nr_bos: Their number
 * @in: Timeline waited for, or NULL; @in_point
 * @out: Timeline signalled, or NULL; @out_point
 * @in_point: 0 = binary
 * @out_point: 0 = binary
 */
struct submit_args {
	struct pagoda_bo *bos[SUBMIT_BOS];
	u32 flags[SUBMIT_BOS];
	u32 nr_bos;
	struct drm_syncobj *in;
	struct drm_syncobj *out;
	u64 in_point;
	u64 out_point;
};

struct pagoda_rig *submit_rig(struct kunit *test);
/* With so much of VRAM for page tables and save areas. */
struct pagoda_rig *submit_rig_reserve(struct kunit *test, u32 pages);
struct submit_client *submit_client(struct pagoda_rig *rig, u32 engine);
void submit_client_end(struct submit_client *client);
/* A private allocation, mapped at @address. */
struct pagoda_bo *submit_private(struct submit_client *client, u32 pages, u32 supported,
				 u64 address);
int submit_map(struct submit_client *client, struct pagoda_bo *bo, u64 address);
/* Word of an allocation as it is where it is; waits until nothing is on its way to it. */
u64 submit_word(struct pagoda_rig *rig, struct pagoda_bo *bo, u64 offset);

/* Commands, appended to the program being written. */
void submit_store(struct submit_client *client, u64 address, u64 value);
void submit_compare(struct submit_client *client, u64 address, u64 value);
void submit_add(struct submit_client *client, u64 address, u64 value);
void submit_copy(struct submit_client *client, u64 src, u64 dst, u64 size);
/* Adds 1 to a register, and stores it. */
void submit_count(struct submit_client *client, u32 number, u64 address);
/* Goes back to the beginning of the program: it never ends. */
void submit_forever(struct submit_client *client);

/* Submits the program; with @args NULL it has nothing else. */
int submit_job(struct submit_client *client, const struct submit_args *args);
/* An empty job. */
int submit_empty(struct submit_client *client, const struct submit_args *args);
/* The error of the last job's fence, when it is there and through. */
int submit_wait(struct submit_client *client);
struct pagoda_bo *submit_save_area(struct submit_client *client);
struct drm_pagoda_context_state submit_state(struct submit_client *client);

struct drm_syncobj *submit_syncobj(struct kunit *test);
/* Is there such a point? Its fence is the caller's; NULL: it is long over. */
bool submit_point(struct drm_syncobj *syncobj, u64 point, struct dma_fence **fence);
/* Waits until there is, and it is through: its error. */
int submit_wait_point(struct drm_syncobj *syncobj, u64 point);
void submit_signal(struct submit_client *client, struct drm_syncobj *syncobj, u64 point);

#endif
