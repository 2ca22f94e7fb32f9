// SPDX-License-Identifier: GPL-2.0
/* Clients that call the driver as user programs do; see uapi_helpers.h. */
#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/uaccess.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_ioctl.h>
#include "../drivers/vgpu/vgpu.h"
#include "rig/command.h"
#include "rig/map.h"
#include "uapi_helpers.h"

/* Minor numbers: the first of a render node, and the first behind those of render nodes. */
#define UAPI_NODES	128u
#define UAPI_NODES_END	192u

/* Files in debugfs: whether allocations that can sleep don't fail; what is printed of a failure. */
#define FAIL_SLEEPERS	"failslab/ignore-gfp-wait"
#define FAIL_VERBOSE	"failslab/verbose"

static const struct file_operations uapi_unopened_fops = {
	.owner = THIS_MODULE,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

/* Opens the first render node whose driver is pagoda; returns false if there is none. */
static bool uapi_open_node(struct file *filp, struct inode *inode)
{
	struct drm_file *file;
	u32 node;

	for (node = UAPI_NODES; node < UAPI_NODES_END; node++) {
		inode->i_rdev = MKDEV(DRM_MAJOR, node);
		if (drm_open(inode, filp))
			continue;
		file = filp->private_data;
		if (!strcmp(file->minor->dev->driver->name, "pagoda"))
			return true;
		drm_release(inode, filp);
	}
	return false;
}

/* Closes a file. A kernel thread's last fput() leaves the release to a work item: run that, too. */
void uapi_close_file(void *filp)
{
	fput(filp);
	flush_delayed_fput();
}

struct uapi_client *uapi_open(struct kunit *test)
{
	struct uapi_client *client = test_zalloc(test, sizeof(*client));
	/* drm_open() reads nothing of the inode but i_rdev, the node's number. */
	struct inode *inode = test_zalloc(test, sizeof(*inode));
	struct file *filp;

	client->test = test;
	filp = test_ok(test, anon_inode_getfile("pagoda", &uapi_unopened_fops, NULL, O_RDWR));
	if (!uapi_open_node(filp, inode)) {
		uapi_close_file(filp);
		KUNIT_ASSERT_FALSE_MSG(test, UAPI_BUILT_IN, "the driver has no device");
		kunit_skip(test, "this machine has no Pagoda device");
	}
	client->filp = filp;
	client->file = filp->private_data;
	replace_fops(filp, fops_get(uapi_drm(client)->driver->fops));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, uapi_close_file, filp));
	client->memory = rig_mmap(test, NULL, UAPI_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_NE(test, 0, client->memory);
	return client;
}

void uapi_close(struct uapi_client *client)
{
	kunit_release_action(client->test, uapi_close_file, client->filp);
}

struct drm_device *uapi_drm(struct uapi_client *client)
{
	return client->file->minor->dev;
}

struct pagoda_vgpu *uapi_vgpu(struct uapi_client *client)
{
	struct device *parent = uapi_drm(client)->dev->parent;

	if (!parent || strcmp(dev_name(parent), PAGODA_VGPU_NAME))
		kunit_skip(client->test, "the first Pagoda device isn't the software GPU");
	return dev_get_drvdata(parent);
}

/* ---- User memory ------------------------------------------------------------------------ */

void __user *uapi_user(unsigned long at)
{
	return (void __user *)at;
}

u64 uapi_put(struct uapi_client *client, u32 at, const void *from, u32 size)
{
	KUNIT_ASSERT_EQ(client->test, 0, copy_to_user(uapi_user(client->memory + at), from, size));
	return client->memory + at;
}

void uapi_get(struct uapi_client *client, u32 at, void *to, u32 size)
{
	KUNIT_ASSERT_EQ(client->test, 0, copy_from_user(to, uapi_user(client->memory + at), size));
}

long uapi_ioctl(struct uapi_client *client, unsigned int cmd, void *args)
{
	u32 size = _IOC_SIZE(cmd);
	long ret;

	uapi_put(client, UAPI_ARGS, args, size);
	uapi_fail_nth(&client->fail_nth);
	ret = client->filp->f_op->unlocked_ioctl(client->filp, cmd, client->memory + UAPI_ARGS);
	uapi_fail_nth(&client->fail_nth);
	uapi_get(client, UAPI_ARGS, args, size);
	return ret;
}

void uapi_must(struct uapi_client *client, unsigned int cmd, void *args)
{
	KUNIT_ASSERT_EQ(client->test, 0, uapi_ioctl(client, cmd, args));
}

/* ---- Allocations ------------------------------------------------------------------------ */

u32 uapi_allocate(struct uapi_client *client, u32 segments)
{
	struct drm_pagoda_allocation_create args = {
		.size = PAGE_SIZE,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
		.supported = segments,
	};

	uapi_must(client, DRM_IOCTL_PAGODA_ALLOCATION_CREATE, &args);
	return args.handle;
}

void uapi_make_resident(struct uapi_client *client, u32 handle)
{
	const struct drm_pagoda_residency_entry entry = { .handle = handle };
	struct drm_pagoda_make_resident args = {
		.entries = {
			uapi_put(client, UAPI_ENTRIES, &entry, sizeof(entry)), 1, sizeof(entry),
		},
	};
	struct drm_pagoda_allocation_wait wait = { .handle = handle, .timeout_ns = KTIME_MAX };

	uapi_must(client, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &args);
	uapi_must(client, DRM_IOCTL_PAGODA_ALLOCATION_WAIT, &wait);
}

u32 uapi_residency(struct uapi_client *client, u32 handle)
{
	struct drm_pagoda_allocation_info args = { .handle = handle };

	uapi_must(client, DRM_IOCTL_PAGODA_ALLOCATION_INFO, &args);
	return args.residency;
}

unsigned long uapi_map(struct uapi_client *client, u32 handle)
{
	struct drm_pagoda_allocation_mmap_offset args = { .handle = handle };
	unsigned long at;

	uapi_must(client, DRM_IOCTL_PAGODA_ALLOCATION_MMAP_OFFSET, &args);
	at = rig_mmap(client->test, client->filp, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		      args.offset);
	KUNIT_ASSERT_NE(client->test, 0, at);
	return at;
}

u64 uapi_word(struct uapi_client *client, unsigned long at)
{
	u64 value = 0;

	KUNIT_ASSERT_EQ(client->test, 0, get_user(value, (u64 __user *)at));
	return value;
}

void uapi_set_word(struct uapi_client *client, unsigned long at, u64 value)
{
	KUNIT_ASSERT_EQ(client->test, 0, put_user(value, (u64 __user *)at));
}

/* ---- Jobs ------------------------------------------------------------------------------- */

u32 uapi_syncobj(struct uapi_client *client)
{
	struct drm_syncobj_create args = {};

	uapi_must(client, DRM_IOCTL_SYNCOBJ_CREATE, &args);
	return args.handle;
}

long uapi_bind_syncs(struct uapi_gpu *gpu, struct drm_pagoda_bind_entry *entry,
		     const struct drm_pagoda_sync *syncs, u32 count)
{
	struct drm_pagoda_vm_bind args = {
		.syncs = {
			uapi_put(gpu->client, UAPI_MORE, syncs, count * sizeof(*syncs)), count,
			sizeof(*syncs),
		},
		.entries = {
			.array = uapi_put(gpu->client, UAPI_ENTRIES, entry, sizeof(*entry)),
			.count = 1,
			.stride = sizeof(*entry),
		},
		.vm = gpu->vm,
	};
	long ret = uapi_ioctl(gpu->client, DRM_IOCTL_PAGODA_VM_BIND, &args);

	uapi_get(gpu->client, UAPI_ENTRIES, entry, sizeof(*entry));
	return ret;
}

long uapi_bind(struct uapi_gpu *gpu, struct drm_pagoda_bind_entry *entry)
{
	return uapi_bind_syncs(gpu, entry, NULL, 0);
}

static void uapi_bind_page(struct uapi_gpu *gpu, u32 type, u32 handle, u64 address)
{
	struct drm_pagoda_bind_entry entry = {
		.type = type,
		.handle = handle,
		.address = address,
		.size = PAGE_SIZE,
	};

	KUNIT_ASSERT_EQ(gpu->client->test, 0, uapi_bind(gpu, &entry));
}

struct uapi_gpu *uapi_gpu(struct uapi_client *client, u32 segments)
{
	struct uapi_gpu *gpu = test_zalloc(client->test, sizeof(*gpu));
	struct drm_pagoda_context_create context = { .priority = DRM_PAGODA_PRIORITY_NORMAL };
	struct drm_pagoda_fence_create fence = {};
	struct drm_pagoda_vm_create vm = {};

	gpu->client = client;
	uapi_must(client, DRM_IOCTL_PAGODA_VM_CREATE, &vm);
	gpu->vm = vm.vm;
	gpu->address = vm.start;
	context.vm = vm.vm;
	uapi_must(client, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &context);
	gpu->context = context.context;
	uapi_must(client, DRM_IOCTL_PAGODA_FENCE_CREATE, &fence);
	gpu->fence = fence.fence;
	gpu->page = uapi_allocate(client, segments);
	gpu->view = uapi_map(client, gpu->page);
	uapi_bind_page(gpu, DRM_PAGODA_BIND_MAP, gpu->page, gpu->address);
	uapi_bind_page(gpu, DRM_PAGODA_BIND_MAP_FENCE, gpu->fence, gpu->address + PAGE_SIZE);
	return gpu;
}

void uapi_command(struct uapi_gpu *gpu, const void *command, u32 size)
{
	KUNIT_ASSERT_LE(gpu->client->test, gpu->used + size, UAPI_DATA);
	KUNIT_ASSERT_EQ(gpu->client->test, 0,
			copy_to_user(uapi_user(gpu->view + gpu->used), command, size));
	gpu->used += size;
}

long uapi_submit_syncs(struct uapi_gpu *gpu, const struct drm_pagoda_sync *syncs, u32 count)
{
	struct uapi_client *client = gpu->client;
	const struct drm_pagoda_submit_entry entry = { .handle = gpu->page };
	const struct drm_pagoda_command_buffer buffer = {
		gpu->address + gpu->start, gpu->used - gpu->start,
	};
	struct drm_pagoda_submit args = {
		.buffers = {
			uapi_put(client, UAPI_MORE, &buffer, sizeof(buffer)), 1, sizeof(buffer),
		},
		.syncs = {
			uapi_put(client, UAPI_MORE + sizeof(buffer), syncs, count * sizeof(*syncs)),
			count, sizeof(*syncs),
		},
		.entries = {
			uapi_put(client, UAPI_ENTRIES, &entry, sizeof(entry)), 1, sizeof(entry),
		},
		.context = gpu->context,
	};

	gpu->start = gpu->used;
	return uapi_ioctl(client, DRM_IOCTL_PAGODA_SUBMIT, &args);
}

long uapi_submit(struct uapi_gpu *gpu, u64 value)
{
	const struct drm_pagoda_sync sync = {
		gpu->fence, DRM_PAGODA_SYNC_SIGNAL | DRM_PAGODA_SYNC_FENCE, value,
	};

	return uapi_submit_syncs(gpu, &sync, value ? 1 : 0);
}

long uapi_await(struct uapi_gpu *gpu, u64 value, u64 patience_ns)
{
	const struct drm_pagoda_fence_value entry = { .fence = gpu->fence, .value = value };
	struct drm_pagoda_fence_wait args = {
		.entries = {
			uapi_put(gpu->client, UAPI_ENTRIES, &entry, sizeof(entry)), 1,
			sizeof(entry),
		},
		.timeout_ns = ktime_get_ns() + patience_ns,
	};

	return uapi_ioctl(gpu->client, DRM_IOCTL_PAGODA_FENCE_WAIT, &args);
}

/* ---- Memory allocations that fail ------------------------------------------------------- */

void uapi_fail_begin(struct uapi_client *client)
{
	if (!IS_ENABLED(CONFIG_FAILSLAB) || !IS_ENABLED(CONFIG_FAULT_INJECTION_DEBUG_FS))
		kunit_skip(client->test, "no allocation of this kernel can be made to fail");
	uapi_write(client, false, FAIL_SLEEPERS, "N");
	uapi_write(client, false, FAIL_VERBOSE, "0");
}

void uapi_fail_end(struct uapi_client *client)
{
	uapi_write(client, false, FAIL_VERBOSE, "2");
	uapi_write(client, false, FAIL_SLEEPERS, "Y");
}

void uapi_fail_nth(u32 *nth)
{
#ifdef CONFIG_FAULT_INJECTION
	swap(*nth, current->fail_nth);
#endif
}

u32 uapi_starve(struct uapi_client *client, unsigned int cmd, const void *args, long want,
		void (*undo)(struct uapi_client *client, const void *args))
{
	u64 copy[UAPI_MAX_ARGS / sizeof(u64)];
	u32 nth = 0, failed = 0;
	bool reached;
	long ret;

	uapi_fail_begin(client);
	do {
		memcpy(copy, args, _IOC_SIZE(cmd));
		client->fail_nth = ++nth;
		ret = uapi_ioctl(client, cmd, copy);
		reached = !client->fail_nth;
		client->fail_nth = 0;
		if (ret != want)
			KUNIT_EXPECT_EQ_MSG(client->test, -ENOMEM, ret, "allocation %u", nth);
		if (!ret && undo)
			undo(client, copy);
		failed += ret == -ENOMEM;
	} while (reached);
	uapi_fail_end(client);
	KUNIT_EXPECT_EQ(client->test, want, ret);
	return failed;
}

/* ---- debugfs ---------------------------------------------------------------------------- */

static void uapi_unmount(void *mount)
{
	kern_unmount(mount);
}

struct file *uapi_file(struct uapi_client *client, bool of_device, const char *name, int flags)
{
	struct kunit *test = client->test;
	struct vfsmount *mount;
	struct path path;
	struct file *file;
	char *full;
	int ret;

	mount = test_ok(test, kern_mount(get_fs_type("debugfs")));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, uapi_unmount, mount));
	full = kunit_kzalloc(test, PATH_MAX, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, full);
	if (of_device)
		snprintf(full, PATH_MAX, "dri/%s/%s", uapi_drm(client)->unique, name);
	else
		strscpy(full, name, PATH_MAX);
	ret = vfs_path_lookup(mount->mnt_root, mount, full, LOOKUP_FOLLOW, &path);
	KUNIT_ASSERT_EQ_MSG(test, 0, ret, "%s", full);
	uapi_fail_nth(&client->fail_nth);
	file = dentry_open(&path, flags, current_cred());
	uapi_fail_nth(&client->fail_nth);
	path_put(&path);
	return file;
}

long uapi_write(struct uapi_client *client, bool of_device, const char *name, const char *text)
{
	struct file *file = test_ok(client->test, uapi_file(client, of_device, name, O_WRONLY));
	loff_t pos = 0;
	long ret;

	uapi_put(client, UAPI_TEXT, text, strlen(text));
	ret = file->f_op->write(file, uapi_user(client->memory + UAPI_TEXT), strlen(text), &pos);
	uapi_close_file(file);
	return ret;
}

long uapi_read(struct uapi_client *client, bool of_device, const char *name, char *text, u32 size)
{
	struct file *file = test_ok(client->test, uapi_file(client, of_device, name, O_RDONLY));
	loff_t pos = 0;
	long ret;

	size = min_t(u32, size, PAGE_SIZE);
	ret = file->f_op->read(file, uapi_user(client->memory + UAPI_TEXT), size, &pos);
	uapi_close_file(file);
	if (ret > 0)
		uapi_get(client, UAPI_TEXT, text, ret);
	return ret;
}
