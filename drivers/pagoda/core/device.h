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
 * @use_cpu: Execute paging buffers on the CPU
 * @timeout_ms: Milliseconds a paging buffer may take
 * @update_mode: enum virtio_pagoda_update_mode
 * @record_kb: KiB of paging buffers to record from the start
 * @job_timeout_ms: Milliseconds a job may run
 * @defer_jobs: Every job is prepared in a work item
 * @pin_limit_mb: MiB of a client's allocations that may be pinned for other devices, 0 = half
 *	of VRAM's size
 * @lru: The allocation that is longest unused leaves VRAM; else the policy's choice
 * @promote_ms: Milliseconds that room in VRAM must last before evicted allocations come back,
 *	0 = never
 * @traffic_share: Percent of the paging bandwidth at which allocations come back while the
 *	device is in use
 * @submit_share: Percent of the paging bandwidth for evictions on behalf of allocations that a
 *	submission only prefers to have in VRAM, 0 = no limit
 * @reserve_kb: KiB of VRAM for page tables and save areas only; negative: the default share
 */
struct pagoda_options {
	bool use_cpu;
	u32 timeout_ms;
	u32 update_mode;
	u32 record_kb;
	u32 job_timeout_ms;
	bool defer_jobs;
	u32 pin_limit_mb;
	bool lru;
	u32 promote_ms;
	u32 traffic_share;
	u32 submit_share;
	int reserve_kb;
};

/**
 * struct pagoda_device - A Pagoda GPU
 * @drm: DRM device; its release frees this struct
 * @info: Properties of the device. A copy: the properties are read as long as a file is open,
 *	longer than the transport exists
 * @vidmm: Memory manager; exists as long as @drm, longer than the hardware
 * @virtio: The hardware; only between drm_dev_enter() and drm_dev_exit()
 * @sleep: Notifier for the machine's sleep, registered while the hardware is there
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

extern struct pagoda_options pagoda_options;

#endif
