// SPDX-License-Identifier: GPL-2.0
/*
 * The DRM device. It connects the transport, which appears and disappears with the hardware, to the
 * memory manager (vidmm), which exists as long as the DRM device is used.
 *
 *	probe	virtio device found -> DRM device allocated -> vidmm created -> registered
 *	remove	DRM device unplugged -> vidmm stopped -> the hardware isn't used any more
 *	sleep	allocations leave VRAM, but for the part that the device preserves, while memory
 *		can still be allocated; later, when user space doesn't run any more, the
 *		hardware loses its power
 *	release	last reference to the DRM device dropped, after the remove and after all files
 *		and mappings are closed -> vidmm destroyed
 *
 * After the unplug ioctls fail, and CPU faults map a page of zeros; or, for a monitored fence, a
 * page with U64_MAX, or with the fence's last value if it was created with NO_MAX_ON_RESET.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <drm/drm_auth.h>
#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "bench/bench.h"
#include "core/compat.h"
#include "core/core.h"
#include "core/device.h"
#include "debug/debug.h"
#include "uapi/args.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/fence.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/events.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/manager/manager.h"
#include "vidmm/recover/recover.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/ttm/ttm.h"
#include "vidmm/vm/vm.h"
#include "virtio/virtio.h"
#include "driver.h"

/* Jiffies for which the close of a file waits for the client's jobs, which usually end soon. */
#define CLOSE_PATIENCE	(HZ / 50 ?: 1)

/*
 * Work queue that frees closed clients after jobs that outlast CLOSE_PATIENCE. NULL without
 * module.c: then the close of a file waits for all jobs.
 */
struct workqueue_struct *pagoda_ends;

static int driver_open(struct drm_device *drm, struct drm_file *file)
{
	file->driver_priv = pagoda_client_create(pagoda_device_of_drm(drm)->vidmm);
	return file->driver_priv ? 0 : -ENOMEM;
}

static void client_end(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	struct pagoda_caller caller;

	pagoda_caller_begin(vidmm, &caller, client);
	pagoda_client_close_vms(client);
	pagoda_payer_end(client);
	pagoda_client_put(client);
	pagoda_caller_end(vidmm, &caller);
}

static void client_end_work(struct work_struct *work)
{
	struct pagoda_client *client = container_of(work, struct pagoda_client, end);
	struct drm_device *drm = client->drm;

	pagoda_kcov_begin(client->kcov);
	client_end(pagoda_device_of_drm(drm)->vidmm, client);
	pagoda_kcov_end();
	drm_dev_put(drm);
}

/*
 * Ends the client of a closed file: at once if its jobs end within CLOSE_PATIENCE, else in a work
 * item, so that close() and exit() don't wait longer; the watchdog ends a job that hangs. Until the
 * work item is done, the client's VMs and their memory stay charged to the user.
 */
static void driver_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;

	pagoda_ears_close(&client->ears);
	pagoda_client_close(file);
	if (!pagoda_ends || pagoda_client_wait_idle(client, CLOSE_PATIENCE)) {
		client_end(pagoda_device_of_drm(drm)->vidmm, client);
		return;
	}
	drm_dev_get(drm);
	client->drm = drm;
	INIT_WORK(&client->end, client_end_work);
	queue_work(pagoda_ends, &client->end);
}

/*
 * Sets the name that drmGetBusid() gets. The DRM core sets that name only in
 * DRM_IOCTL_SET_VERSION, which a program may not have called. The caller holds the master_mutex,
 * which protects the name.
 */
static void driver_master_set(struct drm_device *drm, struct drm_file *file, bool from_open)
{
	struct drm_master *master = file->master;

	lockdep_assert_held(&drm->master_mutex);
	if (master->unique)
		return;
	master->unique = kstrdup(drm->unique, GFP_KERNEL);
	if (master->unique)
		master->unique_len = strlen(master->unique);
}

/*
 * First cancels the client's jobs that haven't begun yet. Then calls drm_release(), which closes
 * the client's handles and after that calls driver_postclose(), and returns the result of
 * drm_release().
 */
static int driver_release(struct inode *inode, struct file *filp)
{
	struct drm_file *file = filp->private_data;

	pagoda_client_kill(file->driver_priv);
	return drm_release(inode, filp);
}

static void debugfs_init(struct drm_minor *minor)
{
	pagoda_debugfs_init(minor);
	pagoda_bench_debugfs_init(minor);
}

static struct drm_gem_object *driver_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	return pagoda_prime_import(pagoda_device_of_drm(drm)->vidmm, dma_buf);
}

static const struct file_operations driver_fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = driver_release,
	.unlocked_ioctl = pagoda_ioctl,
	.compat_ioctl = pagoda_compat_ioctl,
	.mmap = drm_gem_mmap,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.show_fdinfo = drm_show_fdinfo,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

static const struct drm_driver pagoda_drm_driver = {
	.driver_features = DRIVER_GEM | PAGODA_DRIVER_GEM_GPUVA | DRIVER_RENDER | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = driver_open,
	.postclose = driver_postclose,
	.master_set = driver_master_set,
	.show_fdinfo = pagoda_show_fdinfo,
	.gem_prime_import = driver_prime_import,
#ifdef CONFIG_DEBUG_FS
	.debugfs_init = debugfs_init,
#endif
	.ioctls = pagoda_ioctls,
	.num_ioctls = PAGODA_NUM_IOCTLS,
	.fops = &driver_fops,
	.name = "pagoda",
	.desc = "GPU with WDDM-style video memory",
	.major = PAGODA_MAJOR,
	.minor = PAGODA_MINOR,
};

static int copy_extents(struct drm_device *drm, const struct pagoda_extent **list, u32 count)
{
	struct pagoda_extent *copy;

	copy = drmm_kmalloc_array(drm, max(count, 1u), sizeof(*copy), GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, *list, count * sizeof(*copy));
	*list = copy;
	return 0;
}

/*
 * Copies @info, and also the lists of extents in @info, because these lists are freed when the
 * hardware goes. Returns 0 or -ENOMEM.
 */
static int device_copy_info(struct pagoda_device *pagoda, const struct pagoda_device_info *info)
{
	int ret;

	pagoda->info = *info;
	ret = copy_extents(&pagoda->drm, &pagoda->info.window, info->nr_window);
	if (ret)
		return ret;
	ret = copy_extents(&pagoda->drm, &pagoda->info.swizzling, info->nr_swizzling);
	if (ret)
		return ret;
	return copy_extents(&pagoda->drm, &pagoda->info.invalid, info->nr_invalid);
}

static void device_drop_vidmm(struct drm_device *drm, void *arg)
{
	pagoda_vidmm_destroy(arg);
}

static int device_make_vidmm(struct pagoda_device *pagoda, struct pagoda_virtio *virtio,
			     struct pagoda_transport **engines)
{
	const struct pagoda_vidmm_args args = {
		.drm = &pagoda->drm,
		.info = &pagoda->info,
		.transport = pagoda_virtio_transport(virtio),
		.use_cpu = pagoda_options.use_cpu,
		.timeout_ms = pagoda_options.timeout_ms,
		.update_mode = pagoda_options.update_mode,
		.record_kb = pagoda_options.record_kb,
		.defer_jobs = pagoda_options.defer_jobs,
		.ahead_jobs = pagoda_options.ahead_jobs,
		.engines = engines,
		.job_timeout_ms = pagoda_options.job_timeout_ms,
		.pin_limit = (u64)pagoda_options.pin_limit_mb << 20,
		.lru = pagoda_options.lru,
		.promote_ms = pagoda_options.promote_ms,
		.traffic_share = pagoda_options.traffic_share,
		.submit_share = pagoda_options.submit_share,
		.reserve = pagoda_options.reserve_kb < 0 ? pagoda_reserve_default(&pagoda->info) :
			   (u64)pagoda_options.reserve_kb << 10,
		.copies_limit = pagoda_options.copies_mb < 0 ? 0 :
				(u64)pagoda_options.copies_mb << 20 ?: 1,
	};

	if (args.use_cpu && pagoda->info.visible_size < pagoda->info.vram_size) {
		drm_err(&pagoda->drm,
			"executor=cpu: the CPU reaches only %llu of %llu bytes of VRAM\n",
			pagoda->info.visible_size, pagoda->info.vram_size);
		return -ENODEV;
	}
	pagoda->vidmm = pagoda_vidmm_create(&args);
	if (IS_ERR(pagoda->vidmm))
		return PTR_ERR(pagoda->vidmm);
	return drmm_add_action_or_reset(&pagoda->drm, device_drop_vidmm, pagoda->vidmm);
}

static int device_init_vidmm(struct pagoda_device *pagoda, struct pagoda_virtio *virtio)
{
	u32 i, count = pagoda->info.num_engines;
	struct pagoda_transport **engines = kcalloc(count, sizeof(*engines), GFP_KERNEL);
	int ret;

	if (!engines)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		engines[i] = pagoda_virtio_engine_transport(virtio, i);
	ret = device_make_vidmm(pagoda, virtio, engines);
	kfree(engines);
	return ret;
}

/*
 * Prepares a sleep of the machine before processes are frozen, and ends the sleep after processes
 * were thawed. Before a hibernated image is restored, the kernel that the image replaces prepares a
 * hibernation, too: if the image can't be loaded that kernel goes on. Returns a NOTIFY_* value,
 * with an errno if the preparation failed.
 */
static int device_notify(struct notifier_block *nb, unsigned long event, void *data)
{
	struct pagoda_device *pagoda = container_of(nb, struct pagoda_device, sleep);
	enum pagoda_sleep kind = PAGODA_SLEEP_STANDBY;

	switch (event) {
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		kind = PAGODA_SLEEP_HIBERNATE;
		fallthrough;
	case PM_SUSPEND_PREPARE:
		return notifier_from_errno(pagoda_vidmm_prepare_sleep(pagoda->vidmm, kind));
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
	case PM_POST_SUSPEND:
		pagoda_vidmm_end_sleep(pagoda->vidmm);
		return NOTIFY_OK;
	default:
		return NOTIFY_DONE;
	}
}

static int device_sleep(void *priv)
{
	struct pagoda_device *pagoda = priv;

	return pagoda_vidmm_sleep(pagoda->vidmm);
}

static int device_wake(void *priv, int error)
{
	struct pagoda_device *pagoda = priv;

	return pagoda_vidmm_wake(pagoda->vidmm, error);
}

/*
 * Unregisters the notifier, and ends a sleep that was prepared, because device_notify() won't end
 * the sleep any more.
 */
static void device_stay_awake(struct pagoda_device *pagoda)
{
	unregister_pm_notifier(&pagoda->sleep);
	pagoda_vidmm_end_sleep(pagoda->vidmm);
}

/*
 * Registers the device for notices of the machine's sleep, then with user space. Returns 0 or a
 * negative errno.
 */
static int device_publish(struct pagoda_device *pagoda)
{
	int ret;

	pagoda->sleep.notifier_call = device_notify;
	ret = register_pm_notifier(&pagoda->sleep);
	if (ret)
		return ret;
	ret = drm_dev_register(&pagoda->drm, 0);
	if (ret)
		device_stay_awake(pagoda);
	return ret;
}

static int device_probe(struct pagoda_virtio *virtio, void **priv)
{
	struct pagoda_device *pagoda;
	int ret;

	pagoda = devm_drm_dev_alloc(pagoda_virtio_device(virtio), &pagoda_drm_driver,
				    struct pagoda_device, drm);
	if (IS_ERR(pagoda))
		return PTR_ERR(pagoda);
	pagoda->virtio = virtio;
	ret = device_copy_info(pagoda, pagoda_virtio_info(virtio));
	if (ret)
		return ret;
	ret = device_init_vidmm(pagoda, virtio);
	if (ret)
		return ret;
	ret = device_publish(pagoda);
	if (ret) {
		pagoda_vidmm_stop(pagoda->vidmm);
		return ret;
	}
	*priv = pagoda;
	drm_info(&pagoda->drm,
		 "VRAM %llu MiB (%llu MiB visible), aperture %llu MiB, executor %s, page tables %s\n",
		 pagoda->info.vram_size >> 20, pagoda->info.visible_size >> 20,
		 pagoda->info.aperture_pages >> (20 - PAGE_SHIFT),
		 pagoda_options.use_cpu ? "cpu" : "device",
		 pagoda_vidmm_has_tables(pagoda->vidmm) ?
		 pagoda_vidmm_mode_name(pagoda_options.update_mode) : "none");
	return 0;
}

static void device_remove(void *priv)
{
	struct pagoda_device *pagoda = priv;

	device_stay_awake(pagoda);
	drm_dev_unplug(&pagoda->drm);
	pagoda_vidmm_stop(pagoda->vidmm);
}

static void device_event(void *priv, const struct pagoda_event *event)
{
	struct pagoda_device *pagoda = priv;

	if (event->lost)
		dev_warn_ratelimited(pagoda->drm.dev, "%u events lost\n", event->lost);
	if (event->lost || event->type == VIRTIO_PAGODA_EVENT_FENCE)
		pagoda_fence_told(pagoda->vidmm, event->lost ? 0 : event->context);
	if (event->type == VIRTIO_PAGODA_EVENT_RESET)
		pagoda_reset_told(pagoda->vidmm);
	if (event->type == VIRTIO_PAGODA_EVENT_FAULT)
		dev_dbg_ratelimited(pagoda->drm.dev,
				    "queue %u request %llu: reason %u at byte %u, opcode %u, address 0x%llx\n",
				    event->queue, event->seqno, event->fault.reason,
				    event->fault.offset, event->fault.opcode, event->fault.address);
}

const struct pagoda_virtio_callbacks pagoda_device_callbacks = {
	.probe = device_probe,
	.remove = device_remove,
	.sleep = device_sleep,
	.wake = device_wake,
	.event = device_event,
};
