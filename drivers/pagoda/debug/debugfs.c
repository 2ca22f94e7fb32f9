// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs files: placement of allocations; work of the paging queue and engines, with the journal
 * and a recording of paging; resets and failures; and switches for tests.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include "core/device.h"
#include "core/life.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/client.h"
#include "vidmm/manager/manager.h"
#include "vidmm/recover/recover.h"
#include "vidmm/residency/residency.h"
#include "vidmm/stream/stream.h"
#include "debug.h"

typedef void (*pagoda_print_fn)(struct pagoda_vidmm *vidmm, struct drm_printer *p);

static int debugfs_show(struct seq_file *m, void *unused)
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

static int debugfs_usage(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	struct drm_device *drm = entry->dev;
	struct drm_file *file;

	mutex_lock(&drm->filelist_mutex);
	list_for_each_entry(file, &drm->filelist, lhead) {
		struct pagoda_client *client = file->driver_priv;
		const atomic64_t *bytes = client->budget.segment_bytes;

		rcu_read_lock();
		seq_printf(m, "pid %d system %lld vram %lld aperture %lld\n",
			   pid_nr(rcu_dereference(file->pid)),
			   atomic64_read(&bytes[DRM_PAGODA_SEGMENT_SYSTEM]),
			   atomic64_read(&bytes[DRM_PAGODA_SEGMENT_VRAM]),
			   atomic64_read(&bytes[DRM_PAGODA_SEGMENT_APERTURE]));
		rcu_read_unlock();
	}
	mutex_unlock(&drm->filelist_mutex);
	return 0;
}

static const struct drm_debugfs_info debugfs_files[] = {
	{ "segments", debugfs_show, 0, pagoda_vidmm_print_segments },
	{ "lru", debugfs_show, 0, pagoda_vidmm_print_lru },
	{ "queue", debugfs_show, 0, pagoda_vidmm_print_queue },
	{ "engines", debugfs_show, 0, pagoda_vidmm_print_engines },
	{ "buffers", debugfs_show, 0, pagoda_vidmm_print_buffers },
	{ "journal", debugfs_show, 0, pagoda_vidmm_print_journal },
	{ "resets", debugfs_show, 0, pagoda_vidmm_print_resets },
	{ "promotion", debugfs_show, 0, pagoda_vidmm_print_promotion },
	{ "failure", debugfs_show, 0, pagoda_vidmm_print_coredump },
	{ "usage", debugfs_usage },
};

/*
 * For fault injection. A write of an allocation's id has each later move of that allocation wait
 * until the allocation is idle, as if the move needed set-up that can't be queued. Returns @size or
 * a negative errno: -ENOENT for an unknown id.
 */
static ssize_t debugfs_busy_write(struct file *filp, const char __user *buf, size_t size,
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

static const struct file_operations debugfs_busy_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = debugfs_busy_write,
};

/*
 * A write of 1 resets the device, and waits for the end of the rebuild or a fatal signal. Returns
 * @size, even if the rebuild failed; -EINVAL if 0 or no boolean was written; or another negative
 * errno if the device couldn't be reset.
 */
static ssize_t debugfs_reset_write(struct file *filp, const char __user *buf, size_t size,
				   loff_t *pos)
{
	struct drm_device *drm = filp->private_data;
	bool wanted;
	int ret, idx;

	ret = kstrtobool_from_user(buf, size, &wanted);
	if (ret)
		return ret;
	if (!wanted)
		return -EINVAL;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = pagoda_vidmm_reset(pagoda_device_of_drm(drm)->vidmm);
	drm_dev_exit(idx);
	return ret ?: size;
}

static const struct file_operations debugfs_reset_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = debugfs_reset_write,
};

/*
 * A write evicts allocations until at least @bytes, the number written, have left VRAM, no victim
 * is left, or a signal comes. Returns 0 or a negative errno.
 */
static int debugfs_trim_set(void *data, u64 bytes)
{
	struct drm_device *drm = data;

	return pagoda_vidmm_trim(pagoda_device_of_drm(drm)->vidmm, bytes);
}

/*
 * A read sets *@bytes to the number of bytes evicted from VRAM since probe by writes of this file
 * and by the reclaim of dmem cgroups, which evicts in the same way. Returns 0 or -ENODEV.
 */
static int debugfs_trim_get(void *data, u64 *bytes)
{
	struct drm_device *drm = data;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	*bytes = pagoda_vidmm_trimmed(pagoda_device_of_drm(drm)->vidmm);
	drm_dev_exit(idx);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(debugfs_trim_fops, debugfs_trim_get, debugfs_trim_set, "%llu\n");

/*
 * A write of a number starts a recording of paging buffers that takes at most as many bytes; a
 * write of 0 stops and frees the recording. Returns @size or a negative errno.
 */
static ssize_t debugfs_record_write(struct file *filp, const char __user *buf, size_t size,
				    loff_t *pos)
{
	struct drm_device *drm = filp->private_data;
	int ret, idx;
	u64 bytes;

	ret = kstrtou64_from_user(buf, size, 0, &bytes);
	if (ret)
		return ret;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = pagoda_vidmm_record(pagoda_device_of_drm(drm)->vidmm, bytes);
	drm_dev_exit(idx);
	return ret ?: size;
}

static ssize_t debugfs_record_read(struct file *filp, char __user *buf, size_t size, loff_t *pos)
{
	struct drm_device *drm = filp->private_data;
	ssize_t ret;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = pagoda_vidmm_read_recording(pagoda_device_of_drm(drm)->vidmm, buf, size, pos);
	drm_dev_exit(idx);
	return ret;
}

static const struct file_operations debugfs_record_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = debugfs_record_read,
	.write = debugfs_record_write,
	.llseek = default_llseek,
};

/*
 * Takes a snapshot of the journal of paging, which reads of the open file return. Returns 0 or a
 * negative errno.
 */
static int debugfs_journal_open(struct inode *inode, struct file *filp)
{
	struct drm_device *drm = inode->i_private;
	struct debugfs_blob_wrapper *blob;
	size_t size;
	int idx;

	blob = kzalloc(sizeof(*blob), GFP_KERNEL);
	if (!blob)
		return -ENOMEM;
	if (!drm_dev_enter(drm, &idx)) {
		kfree(blob);
		return -ENODEV;
	}
	blob->data = pagoda_vidmm_journal(pagoda_device_of_drm(drm)->vidmm, &size);
	blob->size = size;
	drm_dev_exit(idx);
	if (!blob->data) {
		kfree(blob);
		return -ENOMEM;
	}
	filp->private_data = blob;
	return 0;
}

static ssize_t debugfs_journal_read(struct file *filp, char __user *buf, size_t size, loff_t *pos)
{
	const struct debugfs_blob_wrapper *blob = filp->private_data;

	return simple_read_from_buffer(buf, size, pos, blob->data, blob->size);
}

static int debugfs_journal_release(struct inode *inode, struct file *filp)
{
	struct debugfs_blob_wrapper *blob = filp->private_data;

	kvfree(blob->data);
	kfree(blob);
	return 0;
}

static const struct file_operations debugfs_journal_fops = {
	.owner = THIS_MODULE,
	.open = debugfs_journal_open,
	.read = debugfs_journal_read,
	.release = debugfs_journal_release,
	.llseek = default_llseek,
};

/**
 * pagoda_debugfs_init() - drm_driver.debugfs_init
 * @minor: DRM minor
 *
 * Context: Registration of the DRM device; may sleep.
 */
void pagoda_debugfs_init(struct drm_minor *minor)
{
	drm_debugfs_add_files(minor->dev, debugfs_files, ARRAY_SIZE(debugfs_files));
	debugfs_create_file("busy", 0200, minor->debugfs_root, minor->dev,
			    &debugfs_busy_fops);
	debugfs_create_file("reset", 0200, minor->debugfs_root, minor->dev,
			    &debugfs_reset_fops);
	debugfs_create_file_unsafe("trim", 0600, minor->debugfs_root, minor->dev,
				   &debugfs_trim_fops);
	debugfs_create_file("recording", 0600, minor->debugfs_root, minor->dev,
			    &debugfs_record_fops);
	debugfs_create_file("journal_raw", 0400, minor->debugfs_root, minor->dev,
			    &debugfs_journal_fops);
}
