// SPDX-License-Identifier: GPL-2.0
/*
 * Names, versions and ids, as user space reads them: GET_UNIQUE and DRM_IOCTL_VERSION give what
 * sysfs shows, and sysfs shows the device's virtio ids.
 */
#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/virtio_pagoda.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/pagoda_test.h"

FIXTURE(identity) {
	struct test_device dev;
	int fd;
	/* The device's folder in sysfs. */
	char path[PATH_MAX];
};

FIXTURE_SETUP(identity)
{
	struct stat st;
	char link[64];

	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	ASSERT_EQ(0, fstat(self->fd, &st));
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	ASSERT_NE(NULL, realpath(link, self->path));
}

FIXTURE_TEARDOWN(identity)
{
	close(self->fd);
}

/* Returns the first line of file @name in folder @path; empty if it can't be read. */
static const char *read_line(const char *path, const char *name)
{
	static char line[128];
	char file_path[PATH_MAX + 64];
	FILE *file;

	line[0] = '\0';
	snprintf(file_path, sizeof(file_path), "%s/%s", path, name);
	file = fopen(file_path, "re");
	if (!file)
		return line;
	if (fgets(line, sizeof(line), file))
		line[strcspn(line, "\n")] = '\0';
	fclose(file);
	return line;
}

/* Opens the primary node of the device whose folder in sysfs is @path. */
static int open_primary(const char *path)
{
	char folder[PATH_MAX + 8], node[PATH_MAX];
	struct dirent *entry;
	int fd = -ENOENT;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/drm", path);
	dir = opendir(folder);
	if (!dir)
		return -errno;
	while (fd == -ENOENT && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "card", strlen("card")))
			continue;
		snprintf(node, sizeof(node), "/dev/dri/%s", entry->d_name);
		fd = open(node, O_RDWR | O_CLOEXEC);
	}
	closedir(dir);
	return fd;
}

/*
 * On the primary node GET_UNIQUE, which drmGetBusid() calls, gives the name of the device's folder
 * in sysfs, before and after SET_VERSION.
 */
TEST_F(identity, bus_id_is_the_device)
{
	char name[64] = "";
	struct drm_unique unique = { .unique_len = sizeof(name) - 1, .unique = name };
	struct drm_set_version version = {
		.drm_di_major = 1, .drm_di_minor = 4, .drm_dd_major = -1, .drm_dd_minor = -1,
	};
	int fd = open_primary(self->path);

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, pagoda_ioctl(fd, DRM_IOCTL_GET_UNIQUE, &unique));
	EXPECT_STREQ(basename(self->path), name);
	EXPECT_EQ(strlen(name), unique.unique_len);
	EXPECT_EQ(0, pagoda_ioctl(fd, DRM_IOCTL_SET_VERSION, &version));
	memset(name, 0, sizeof(name));
	unique.unique_len = sizeof(name) - 1;
	EXPECT_EQ(0, pagoda_ioctl(fd, DRM_IOCTL_GET_UNIQUE, &unique));
	EXPECT_STREQ(basename(self->path), name);
	close(fd);
}

/* The module's version, which modinfo shows, is the one that DRM_IOCTL_VERSION gives. */
TEST_F(identity, versions_agree)
{
	struct drm_version version = { 0 };
	char text[32];

	EXPECT_EQ(0, pagoda_ioctl(self->fd, DRM_IOCTL_VERSION, &version));
	snprintf(text, sizeof(text), "%d.%d", version.version_major, version.version_minor);
	EXPECT_STREQ(text, read_line("/sys/module/pagoda", "version"));
}

TEST_F(identity, device_has_a_vendor)
{
	EXPECT_EQ(VIRTIO_PAGODA_VENDOR, strtoul(read_line(self->path, "vendor"), NULL, 0));
	EXPECT_EQ(VIRTIO_ID_PAGODA, strtoul(read_line(self->path, "device"), NULL, 0));
}

TEST_HARNESS_MAIN
