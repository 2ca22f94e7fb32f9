/* SPDX-License-Identifier: GPL-2.0 */
/* Unbinds the driver from the device, as a hot unplug would, and binds it again. */
#ifndef UNPLUG_FIXTURE_H
#define UNPLUG_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>

#include "pagoda_test.h"

#define DRIVER		"/sys/bus/virtio/drivers/pagoda/"

/* Stores the name of a device that the driver is bound to. Returns 0 or -ENODEV. */
static inline int device_name(char *name, size_t size)
{
	DIR *dir = opendir(DRIVER);
	struct dirent *entry;
	int ret = -ENODEV;

	while (dir && ret && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "virtio", 6) &&
		    snprintf(name, size, "%s", entry->d_name) < size)
			ret = 0;
	if (dir)
		closedir(dir);
	return ret;
}

static inline int driver_write(const char *file, const char *name)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, name, strlen(name)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static inline int device_unbind(const char *name)
{
	return driver_write(DRIVER "unbind", name);
}

/* Binds the driver and waits until a node can be opened. Returns 0 or a negative errno. */
static inline int device_bind(const char *name)
{
	int64_t end = pagoda_now() + 60 * PAGODA_SEC;
	int ret = driver_write(DRIVER "bind", name), fd;

	if (ret)
		return ret;
	while ((fd = pagoda_open()) < 0 && pagoda_now() < end)
		usleep(10000);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

#endif
