// SPDX-License-Identifier: GPL-2.0
/*
 * pagodactl: which devices there are, which processes have them open, and their files in debugfs.
 *
 * A device is known by the minors of its nodes. Clients are found among the files that other
 * processes have open; several descriptors, and several processes, may have the same client open,
 * which is listed once.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <linux/magic.h>
#include <unistd.h>

#include "pagodactl.h"

#define DEBUGFS		"/sys/kernel/debug"
#define DRM_MAJOR	226

static int out_of_memory(void)
{
	fprintf(stderr, "pagodactl: out of memory\n");
	return -ENOMEM;
}

/* ---- Devices ------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Returns the minor of the primary node (card) of the device whose render node has @minor, or -1.
 * Files of the primary node are clients, too.
 */
static int find_primary(int minor)
{
	char pattern[96];
	glob_t found;
	int primary;

	snprintf(pattern, sizeof(pattern), "/sys/dev/char/%d:%d/device/drm/card*", DRM_MAJOR,
		 minor);
	if (glob(pattern, 0, NULL, &found))
		return -1;
	if (sscanf(base_name(found.gl_pathv[0]), "card%d", &primary) != 1)
		primary = -1;
	globfree(&found);
	return primary;
}

static int device_ask(struct ctl_device *device)
{
	uint32_t id;
	int ret = pagoda_device(device->fd, &device->info);

	for (id = DRM_PAGODA_SEGMENT_VRAM; id < PAGODA_FDINFO_SEGMENTS && !ret; id++)
		ret = pagoda_segment(device->fd, id, &device->segments[id]);
	if (!ret)
		ret = pagoda_stats(device->fd, &device->stats);
	if (ret)
		fprintf(stderr, "pagodactl: %s: %s\n", device->node, strerror(-ret));
	return ret;
}

static int add_device(struct ctl_view *view, const char *path, int fd)
{
	struct ctl_device *more, *device;
	struct stat st = { .st_rdev = 0 };

	more = reallocarray(view->devices, view->nr_devices + 1, sizeof(*more));
	if (!more) {
		close(fd);
		return out_of_memory();
	}
	fstat(fd, &st);
	view->devices = more;
	device = &more[view->nr_devices++];
	*device = (struct ctl_device) { .fd = fd, .minor = minor(st.st_rdev) };
	snprintf(device->node, sizeof(device->node), "%s", base_name(path));
	device->primary = find_primary(device->minor);
	return 0;
}

/*
 * Adds the device of a render node to @view, unless @wanted names another node. Nodes of other
 * drivers are skipped, as are nodes that can't be opened, with a message if permission is missing.
 * Returns 0 or -ENOMEM.
 */
static int try_node(struct ctl_view *view, const char *path, const char *wanted)
{
	int fd;

	if (wanted && strcmp(base_name(path), base_name(wanted)))
		return 0;
	fd = pagoda_open_node(path);
	if (fd == -EACCES || fd == -EPERM)
		fprintf(stderr, "pagodactl: %s: no permission\n", path);
	return fd < 0 ? 0 : add_device(view, path, fd);
}

int ctl_view_open(struct ctl_view *view, const char *device)
{
	glob_t nodes;
	size_t n;
	int ret = 0;

	*view = (struct ctl_view) { .nr_devices = 0 };
	if (!glob("/dev/dri/renderD*", 0, NULL, &nodes)) {
		for (n = 0; n < nodes.gl_pathc && !ret; n++)
			ret = try_node(view, nodes.gl_pathv[n], device);
		globfree(&nodes);
	}
	if (!ret && !view->nr_devices) {
		fprintf(stderr, "pagodactl: %s: no Pagoda GPU that can be opened\n",
			device ? device : "/dev/dri");
		ret = -ENODEV;
	}
	if (ret)
		ctl_view_close(view);
	return ret;
}

void ctl_view_close(struct ctl_view *view)
{
	size_t n;

	for (n = 0; n < view->nr_devices; n++)
		close(view->devices[n].fd);
	free(view->devices);
	free(view->clients);
	*view = (struct ctl_view) { .nr_devices = 0 };
}

/* ---- Clients ------------------------------------------------------------------- */

static const struct ctl_device *device_of(const struct ctl_view *view, const struct stat *st)
{
	int number = minor(st->st_rdev);
	size_t n;

	if (!S_ISCHR(st->st_mode) || major(st->st_rdev) != DRM_MAJOR)
		return NULL;
	for (n = 0; n < view->nr_devices; n++)
		if (view->devices[n].minor == number || view->devices[n].primary == number)
			return &view->devices[n];
	return NULL;
}

static bool is_known(const struct ctl_view *view, uint64_t client)
{
	size_t n;

	for (n = 0; n < view->nr_clients; n++)
		if (view->clients[n].info.client == client)
			return true;
	return false;
}

static void read_command(struct ctl_client *client)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", client->pid);
	file = fopen(path, "re");
	if (!file || !fgets(client->command, sizeof(client->command), file))
		snprintf(client->command, sizeof(client->command), "?");
	client->command[strcspn(client->command, "\n")] = '\0';
	if (file)
		fclose(file);
}

/*
 * Adds the client that a process has open as @fd, unless the client is in @view already. Returns 0,
 * also if the fdinfo of @fd can't be read any more, or -ENOMEM.
 */
static int add_client(struct ctl_view *view, const struct ctl_device *device, pid_t pid,
		      const char *fd)
{
	struct ctl_client client = { .device = device, .pid = pid };
	struct ctl_client *more;
	char path[320];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, fd);
	if (pagoda_fdinfo_read(path, &client.info) || is_known(view, client.info.client))
		return 0;
	more = reallocarray(view->clients, view->nr_clients + 1, sizeof(*more));
	if (!more)
		return out_of_memory();
	read_command(&client);
	view->clients = more;
	view->clients[view->nr_clients++] = client;
	return 0;
}

static int look_at_process(struct ctl_view *view, pid_t pid)
{
	const struct ctl_device *device;
	struct dirent *entry;
	struct stat st;
	char path[64];
	int ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir) {
		view->hidden += errno == EACCES || errno == EPERM;
		return 0;
	}
	while (!ret && (entry = readdir(dir))) {
		if (!isdigit(entry->d_name[0]) || fstatat(dirfd(dir), entry->d_name, &st, 0))
			continue;
		device = device_of(view, &st);
		if (device)
			ret = add_client(view, device, pid, entry->d_name);
	}
	closedir(dir);
	return ret;
}

static int by_pid(const void *a, const void *b)
{
	const struct ctl_client *one = a, *other = b;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	return one->info.client < other->info.client ? -1 : 1;
}

static int find_clients(struct ctl_view *view)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int ret = 0;

	view->nr_clients = 0;
	view->hidden = 0;
	if (!dir) {
		fprintf(stderr, "pagodactl: /proc: %s\n", strerror(errno));
		return -errno;
	}
	while (!ret && (entry = readdir(dir)))
		if (isdigit(entry->d_name[0]) && atoi(entry->d_name) != getpid())
			ret = look_at_process(view, atoi(entry->d_name));
	closedir(dir);
	if (view->nr_clients)
		qsort(view->clients, view->nr_clients, sizeof(*view->clients), by_pid);
	return ret;
}

int ctl_view_update(struct ctl_view *view)
{
	size_t n;
	int ret = 0;

	view->time = pagoda_now();
	for (n = 0; n < view->nr_devices && !ret; n++)
		ret = device_ask(&view->devices[n]);
	return ret ? ret : find_clients(view);
}

bool ctl_pause(const struct ctl_options *options)
{
	struct timespec time = { .tv_sec = options->interval };

	time.tv_nsec = (options->interval - time.tv_sec) * PAGODA_SEC;
	return !nanosleep(&time, NULL);
}

/* ---- debugfs ------------------------------------------------------------------- */

FILE *ctl_debugfs_open(const struct ctl_device *device, const char *name, const char *mode)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "/dri/%d/%s", device->minor, name);
	return fopen(path, mode);
}

const char *ctl_debugfs_why(int error)
{
	struct statfs fs;

	if (error == EACCES || error == EPERM)
		return "no permission: debugfs is root's";
	if (error == ENOENT && (statfs(DEBUGFS, &fs) || fs.f_type != DEBUGFS_MAGIC))
		return "debugfs isn't mounted at " DEBUGFS;
	if (error == ENOENT)
		return "the driver has no such file in debugfs";
	return strerror(error);
}
