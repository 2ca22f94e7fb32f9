// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: what is where, what the queue did last, and one switch for tests.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <pagoda/vidmm.h>
#include "bench.h"
#include "device.h"

typedef void (*pagoda_print_fn)(struct pagoda_vidmm *vidmm, struct drm_printer *p);

static int pagoda_debugfs_show(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	struct drm_printer p = drm_seq_file_printer(m);
	pagoda_print_fn print = entry->file.data;
	int idx;

	if (!drm_dev_enter(entry->dev, &idx))
		return -ENODEV;
	print(pagoda_device_of_drm(entry->dev)->vidmm, &p);
	drm_dev_exit(idx);
	return 0;
}

static void debugfs_show_client(struct seq_file *m, struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;

	rcu_read_lock();
	seq_printf(m, "pid %d system %lld vram %lld aperture %lld\n",
		   pid_nr(rcu_dereference(file->pid)),
		   atomic64_read(&client->segment_bytes[DRM_PAGODA_SEGMENT_SYSTEM]),
		   atomic64_read(&client->segment_bytes[DRM_PAGODA_SEGMENT_VRAM]),
		   atomic64_read(&client->segment_bytes[DRM_PAGODA_SEGMENT_APERTURE]));
	rcu_read_unlock();
}

static int pagoda_debugfs_usage(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	struct drm_device *drm = entry->dev;
	struct drm_file *file;

	mutex_lock(&drm->filelist_mutex);
	list_for_each_entry(file, &drm->filelist, lhead)
		debugfs_show_client(m, file);
	mutex_unlock(&drm->filelist_mutex);
	return 0;
}

static const struct drm_debugfs_info pagoda_debugfs_files[] = {
	{ "segments", pagoda_debugfs_show, 0, pagoda_vidmm_print_segments },
	{ "lru", pagoda_debugfs_show, 0, pagoda_vidmm_print_lru },
	{ "queue", pagoda_debugfs_show, 0, pagoda_vidmm_print_queue },
	{ "buffers", pagoda_debugfs_show, 0, pagoda_vidmm_print_buffers },
	{ "usage", pagoda_debugfs_usage },
};

/* An allocation id: its set-up can't be queued from now on. */
static ssize_t pagoda_debugfs_busy_write(struct file *filp, const char __user *buf, size_t size,
					 loff_t *pos)
{
	struct drm_device *drm = filp->private_data;
	int ret, idx;
	u64 id;

	ret = kstrtou64_from_user(buf, size, 0, &id);
	if (ret)
		return ret;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = pagoda_vidmm_set_needs_idle(pagoda_device_of_drm(drm)->vidmm, id);
	drm_dev_exit(idx);
	return ret ?: size;
}

static const struct file_operations pagoda_debugfs_busy_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = pagoda_debugfs_busy_write,
};

/**
 * pagoda_debugfs_init() - drm_driver.debugfs_init
 * @minor: DRM minor
 *
 * Context: Registration; may sleep.
 */
void pagoda_debugfs_init(struct drm_minor *minor)
{
	drm_debugfs_add_files(minor->dev, pagoda_debugfs_files, ARRAY_SIZE(pagoda_debugfs_files));
	debugfs_create_file("busy", 0200, minor->debugfs_root, minor->dev,
			    &pagoda_debugfs_busy_fops);
	pagoda_bench_debugfs_init(minor);
}
