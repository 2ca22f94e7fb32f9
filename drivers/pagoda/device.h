/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_DEVICE_H
#define PAGODA_DEVICE_H

#include <linux/notifier.h>
#include <drm/drm_device.h>
#include <pagoda/virtio.h>

struct drm_file;
struct drm_minor;
struct drm_printer;
struct pagoda_client;
struct pagoda_vidmm;
struct workqueue_struct;

/**
 * struct pagoda_options - The module's parameters, checked
 * @use_cpu: Execute paging buffers on the CPU
 * @timeout_ms: Paging timeout
 * @update_mode: enum virtio_pagoda_update_mode
 * @record_kb: KiB of paging buffers to record from the start
 * @job_timeout_ms: How long a job may run
 * @pin_limit_mb: MiB of one client's that may be pinned for other devices, 0 = half of VRAM's
 * @lru: Who is longest unused leaves VRAM; else who the policy chooses
 * @promote_ms: How long room in VRAM lasts before what was evicted comes back, 0 = it doesn't
 * @traffic_share: Percent of the paging bandwidth for that while others use the device
 * @submit_share: Percent of it for what submissions only prefer to have in VRAM, 0 = no limit
 * @reserve_kb: KiB of VRAM for page tables and save areas only; negative: the usual share
 */
struct pagoda_options {
	bool use_cpu;
	u32 timeout_ms;
	u32 update_mode;
	u32 record_kb;
	u32 job_timeout_ms;
	u32 pin_limit_mb;
	bool lru;
	u32 promote_ms;
	u32 traffic_share;
	u32 submit_share;
	int reserve_kb;
};

extern struct pagoda_options pagoda_options;
extern struct workqueue_struct *pagoda_ends;

/**
 * struct pagoda_device - A Pagoda GPU
 * @drm: DRM device; embeds, frees
 * @info: What the device told. A copy: it is read as long as a file is open,
 *	the transport goes with the hardware
 * @vidmm: Memory manager; goes with @drm, not with the hardware
 * @virtio: The hardware; only between drm_dev_enter() and drm_dev_exit()
 * @sleep: Told when the machine is about to sleep, while the hardware is there
 */
struct pagoda_device {
	struct drm_device drm;
	struct pagoda_device_info info;
	struct pagoda_vidmm *vidmm;
	struct pagoda_virtio *virtio;
	struct notifier_block sleep;
};

/** pagoda_device_of_drm() - Device around its DRM part. */
static inline struct pagoda_device *pagoda_device_of_drm(struct drm_device *drm)
{
	return container_of(drm, struct pagoda_device, drm);
}

extern const struct pagoda_virtio_callbacks pagoda_device_callbacks;

void pagoda_show_fdinfo(struct drm_printer *p, struct drm_file *file);
void pagoda_debugfs_init(struct drm_minor *minor);

#endif
