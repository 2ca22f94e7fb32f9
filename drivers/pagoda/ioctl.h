/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files with ioctls share.
 */
#ifndef PAGODA_IOCTL_H
#define PAGODA_IOCTL_H

#include <linux/fs.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>
#include <drm/pagoda_drm.h>

struct drm_device;
struct drm_file;
struct pagoda_bo;

/**
 * pagoda_refuse() - Is this argument wrong? Then say so to who debugs the caller
 * @drm: Device
 * @cond: What is wrong with it; evaluated once
 *
 * Return: @cond as truth value.
 */
#define pagoda_refuse(drm, cond) ({ \
	bool __wrong = !!(cond); \
	if (__wrong) \
		drm_dbg_driver(drm, "%s: refused because of: %s\n", __func__, #cond); \
	unlikely(__wrong); \
})

#define PAGODA_NUM_IOCTLS	(DRM_PAGODA_QUERY_RESIDENCY + 1)

extern const struct drm_ioctl_desc pagoda_ioctls[PAGODA_NUM_IOCTLS];

long pagoda_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

struct pagoda_bo *pagoda_bo_lookup(struct drm_file *file, u32 handle);
void pagoda_bo_put(struct pagoda_bo *bo);

int pagoda_ioctl_make_resident(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_evict(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_query_residency(struct drm_device *drm, void *data, struct drm_file *file);

#endif
