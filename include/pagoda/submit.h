/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Submission: commands of a context, executed when all they need is where it must be.
 *
 * Lock order, outermost first: pagoda_context.lock, pagoda_vidmm.residency, then as
 * vm.h has it.
 */
#ifndef PAGODA_SUBMIT_H
#define PAGODA_SUBMIT_H

#include <linux/types.h>
#include <linux/virtio_pagoda.h>
#include <pagoda/sync.h>

struct pagoda_bo;
struct pagoda_context;
struct pagoda_quota;

/**
 * struct pagoda_submit - A checked SUBMIT
 * @item: While it waits in the context's queue
 * @context: Context, a reference
 * @buffers: Command buffers, @nr_buffers of them
 * @nr_buffers: May be 0
 * @bos: Allocations listed, each once, references; @nr_bos of them
 * @flags: DRM_PAGODA_SUBMIT_ flags of each
 * @nr_bos: May be 0
 * @syncs: What it waits for and signals
 * @quota: Charged for the job until the job itself is; NULL before and after
 * @waits: The quota is charged for a job that waits, too
 * @queued: Counted as one that waits
 * @nr_queued: Of @bos, those that count it
 * @held_up: In &pagoda_closing.jobs while @queued
 * @number: Its number there
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
