/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Submission: commands of a context, executed when all allocations that the commands need are
 * resident.
 *
 * Lock order, outermost first: pagoda_context.lock, pagoda_vidmm.residency, then the order in
 * vm.h.
 */
#ifndef PAGODA_SUBMIT_H
#define PAGODA_SUBMIT_H

#include <linux/types.h>
#include <linux/virtio_pagoda.h>
#include "vidmm/fence/sync.h"

struct pagoda_bo;
struct pagoda_context;
struct pagoda_quota;

/**
 * struct pagoda_submit - A checked SUBMIT
 * @item: Entry in the context's queue while the submission waits
 * @context: Context, a reference
 * @buffers: Command buffers, @nr_buffers of them
 * @nr_buffers: Number of command buffers, may be 0
 * @bos: Listed allocations, each once, with references; @nr_bos of them
 * @flags: DRM_PAGODA_SUBMIT_* flags of each allocation
 * @nr_bos: Number of allocations, may be 0
 * @syncs: Fences and points that the job waits for and signals
 * @quota: Quota charged for the job until the job takes the charge over; NULL before and after
 * @waits: The quota is also charged for a job that waits
 * @queued: The submission is counted as waiting in its VM and allocations
 * @nr_queued: Number of @bos that count this submission in &pagoda_bo.wish.queued
 * @held_up: In &pagoda_closing.jobs while @queued
 * @number: Sequence number in &pagoda_closing.jobs
 */
struct pagoda_submit {
	struct pagoda_deferred_item item;
	struct pagoda_context *context;
	struct virtio_pagoda_command_buffer *buffers;
	u32 nr_buffers;
	struct pagoda_bo **bos;
	u32 *flags;
	u32 nr_bos;
	struct pagoda_syncs syncs;
	struct pagoda_quota *quota;
	bool waits;
	bool queued;
	u32 nr_queued;
	struct list_head held_up;
	u64 number;
};

int pagoda_submit(struct pagoda_submit *submit, u64 *job);
void pagoda_submit_free(struct pagoda_submit *submit);

#endif
