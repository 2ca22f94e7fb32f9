/* SPDX-License-Identifier: GPL-2.0 */
/* Version of the driver, and what module.c uses of driver.c and options.c. */
#ifndef PAGODA_DRIVER_H
#define PAGODA_DRIVER_H

#include "virtio/virtio.h"

struct pagoda_options;
struct workqueue_struct;

/* Version that DRM_IOCTL_VERSION and modinfo tell. */
#define PAGODA_MAJOR	1
#define PAGODA_MINOR	0

extern struct workqueue_struct *pagoda_ends;
extern const struct pagoda_virtio_callbacks pagoda_device_callbacks;

int pagoda_options_check(const struct pagoda_options *options);
int pagoda_options_set_names(struct pagoda_options *options, const char *executor,
			     const char *policy, const char *update_mode);

#endif
