/* SPDX-License-Identifier: GPL-2.0 */
/* Reading the list of fences that the work of an ioctl waits for and signals (sync.c). */
#ifndef PAGODA_UAPI_UAPI_H
#define PAGODA_UAPI_UAPI_H

struct drm_device;
struct drm_file;
struct drm_pagoda_array;
struct pagoda_syncs;

int pagoda_syncs_get(struct drm_device *drm, struct drm_file *file,
		     const struct drm_pagoda_array *array, struct pagoda_syncs *syncs);

#endif
