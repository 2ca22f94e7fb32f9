/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_CORE_DEVICE_H
#define PAGODA_CORE_DEVICE_H

#include <linux/container_of.h>
#include <linux/notifier.h>
#include <linux/types.h>
#include <drm/drm_device.h>
#include "info.h"

struct drm_device;
struct pagoda_vidmm;
struct pagoda_virtio;

/**
 * struct pagoda_options - The module's parameters, checked
 * @use_cpu: The CPU executes paging buffers, not the device
 * @timeout_ms: Milliseconds that a paging buffer may take
 * @update_mode: enum virtio_pagoda_update_mode: how page tables are written
 * @record_kb: KiB of paging buffers to record, from the first one of each device on
 * @job_timeout_ms: Milliseconds that a job may run
 * @defer_jobs: Every job, but fenced ones, is prepared in a work item
 * @ahead_jobs: Most queued jobs of a client whose allocations come to VRAM ahead of the jobs
 * @pin_limit_mb: MiB of a client's allocations that may be pinned for other devices, 0 = half
 *	of VRAM's size without the reserve
 * @lru: TTM chooses which allocations leave VRAM, the least recently used first, but offered
 *	allocations leave before; else &pagoda_policy chooses, by predicted use and more
 * @promote_ms: Milliseconds that room in VRAM must last before evicted allocations come back,
 *	0 = never
 * @traffic_share: Percent of the paging bandwidth at which evicted allocations come back while
 *	clients use the device
 * @submit_share: Percent of the paging bandwidth at which a client's submissions may evict from
 *	VRAM for allocations that could be used elsewhere, 0 = no limit
 * @copies_mb: MiB of system pages kept of what is in VRAM; negative: the default share of RAM
 * @reserve_kb: KiB of VRAM for page tables and save areas only; negative: the default share
 */
struct pagoda_options {
	bool use_cpu;
	u32 timeout_ms;
	u32 update_mode;
	u32 record_kb;
	u32 job_timeout_ms;
	bool defer_jobs;
	u32 ahead_jobs;
	u32 pin_limit_mb;
	bool lru;
	u32 promote_ms;
	u32 traffic_share;
	u32 submit_share;
	int copies_mb;
	int reserve_kb;
};

/**
 * struct pagoda_device - A Pagoda GPU
 * @drm: DRM device; its release frees this struct
 * @info: Properties of the device. A copy: the properties are read as long as a file is open,
 *	longer than the transport exists
 * @vidmm: Memory manager; exists as long as @drm, longer than the hardware
 * @virtio: The hardware; used only between drm_dev_enter() and drm_dev_exit()
 * @sleep: Notifier that is told before and after the machine sleeps; registered from the probe of
 *	the hardware to its removal
 */
struct pagoda_device {
	struct drm_device drm;
	struct pagoda_device_info info;
	struct pagoda_vidmm *vidmm;
	struct pagoda_virtio *virtio;
	struct notifier_block sleep;
};

static inline struct pagoda_device *pagoda_device_of_drm(struct drm_device *drm)
{
	return container_of(drm, struct pagoda_device, drm);
}

/* Set, by the user, before a device is probed. */
extern struct pagoda_options pagoda_options;

#endif
