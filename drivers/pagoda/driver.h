/* SPDX-License-Identifier: GPL-2.0 */
/* Version of the driver, and variables of driver.c that module.c uses. */
#ifndef PAGODA_DRIVER_H
#define PAGODA_DRIVER_H

#include "virtio/virtio.h"

struct workqueue_struct;

/* Version that DRM_IOCTL_VERSION and modinfo tell. */
#define PAGODA_MAJOR	1
#define PAGODA_MINOR	0

extern struct workqueue_struct *pagoda_ends;
extern const struct pagoda_virtio_callbacks pagoda_device_callbacks;

#endif
