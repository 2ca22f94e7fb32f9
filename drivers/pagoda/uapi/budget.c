// SPDX-License-Identifier: GPL-2.0
/* QUERY_MEMORY_INFO, SET_RESERVATION and EVENTS: a client's memory usage, budget and events. */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include "core/device.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/events.h"
#include "args.h"

static struct pagoda_budget *budget_of(struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;

	return &client->budget;
}

int pagoda_ioctl_query_memory_info(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_query_memory_info *args = data;
	struct pagoda_budget_info info;

	if (pagoda_refuse(drm, args->flags))
		return -EINVAL;
	if (pagoda_refuse(drm, args->group >= PAGODA_BUDGET_GROUPS))
		return -ENOENT;
	pagoda_budget_info(budget_of(file), args->group, &info);
	args->budget = info.budget;
	args->current_usage = info.usage;
	args->available_for_reservation = info.available;
	args->current_reservation = info.reservation;
	return 0;
}

int pagoda_ioctl_set_reservation(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_pagoda_set_reservation *args = data;
	int ret;

	if (pagoda_refuse(drm, args->flags))
		return -EINVAL;
	if (pagoda_refuse(drm, args->group >= PAGODA_BUDGET_GROUPS))
		return -ENOENT;
	ret = pagoda_budget_reserve(budget_of(file), args->group, args->reservation);
	pagoda_refuse(drm, ret);
	return ret;
}

int pagoda_ioctl_events(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_events *args = data;
	int fd, idx;

	if (pagoda_refuse(drm, args->flags & ~DRM_PAGODA_EVENTS_NONBLOCK))
		return -EINVAL;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	fd = pagoda_listener_open(pagoda_device_of_drm(drm)->vidmm, file->driver_priv,
				  args->flags & DRM_PAGODA_EVENTS_NONBLOCK);
	drm_dev_exit(idx);
	if (fd < 0)
		return fd;
	args->fd = fd;
	return 0;
}
