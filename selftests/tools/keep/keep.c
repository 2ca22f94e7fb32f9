// SPDX-License-Identifier: GPL-2.0
/*
 * Exports the fences of a VM_BIND, an empty job and a job that isn't executed as sync_files, closes
 * the device, says "kept" and waits for input. After the input, before which the driver may have
 * been unloaded, checks that each fence still has names and a status, takes a deadline and can be
 * merged. For rigs/guest/reload.sh.
 */
#include <errno.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/pagoda_commands.h"

#define CODE_SIZE	4096
#define JOBS		6
#define PATIENCE_MS	60000

enum kept {
	PAGING,		/* fence of a VM_BIND */
	FINISHED,	/* fence of an empty job */
	UNEXECUTED,	/* fence of a job behind jobs that don't end; its context was destroyed */
	KEPT,
};

static int fd;
static uint32_t context;
static struct drm_pagoda_vm_create vm;
static struct pagoda_program program;

static int export_fence(const struct drm_pagoda_sync *sync)
{
	struct drm_syncobj_handle args = {
		.handle = sync->handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	int ret = pagoda_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);

	return ret ? ret : args.fd;
}

/*
 * Gives @program memory that both the CPU and the GPU have mapped. Returns 0 or a negative errno.
 */
static int make_program(void)
{
	uint32_t handle;
	int ret = pagoda_create_private(fd, vm.vm, CODE_SIZE,
					DRM_PAGODA_ALLOCATION_CPU_VISIBLE |
					DRM_PAGODA_ALLOCATION_CACHED, PAGODA_IN_APERTURE, &handle);

	if (!ret)
		ret = pagoda_bind_map(fd, vm.vm, handle, vm.start, 0, CODE_SIZE);
	if (ret)
		return ret;
	program.memory = pagoda_map(fd, handle, CODE_SIZE);
	program.room = CODE_SIZE;
	program.address = vm.start;
	return program.memory ? 0 : -errno;
}

/*
 * Binds an allocation that is in VRAM; returns a sync_file of the VM_BIND's fence, or a negative
 * errno.
 */
static int keep_bind(void)
{
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP,
		.address = vm.start + PAGODA_MIB,
		.size = CODE_SIZE,
	};
	struct drm_pagoda_sync sync = { .flags = DRM_PAGODA_SYNC_SIGNAL };
	struct drm_pagoda_vm_bind args = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		.syncs = { (uintptr_t)&sync, 1, sizeof(sync) },
		.vm = vm.vm,
	};
	int ret = pagoda_syncobj_create(fd, &sync.handle);

	if (!ret)
		ret = pagoda_create_vram(fd, CODE_SIZE, &entry.handle);
	if (!ret)
		ret = pagoda_make_resident_wait(fd, entry.handle);
	if (!ret)
		ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_VM_BIND, &args);
	return ret ? ret : export_fence(&sync);
}

/*
 * Submits a job of the first @size bytes of the program, 0 for an empty job; returns a sync_file of
 * the job's fence, or a negative errno.
 */
static int keep_job(uint32_t size)
{
	struct drm_pagoda_command_buffer buffer = { program.address, size };
	struct drm_pagoda_sync sync = { .flags = DRM_PAGODA_SYNC_SIGNAL };
	struct drm_pagoda_submit args = {
		.buffers = { (uintptr_t)&buffer, size ? 1 : 0, sizeof(buffer) },
		.syncs = { (uintptr_t)&sync, 1, sizeof(sync) },
		.context = context,
		.flags = DRM_PAGODA_SUBMIT_FENCED,
	};
	int ret = pagoda_syncobj_create(fd, &sync.handle);

	if (!ret)
		ret = pagoda_submit_args(fd, &args);
	return ret ? ret : export_fence(&sync);
}

/*
 * Submits JOBS jobs that never end, and destroys the context. Returns a sync_file of the last job's
 * fence, or a negative errno.
 */
static int keep_unexecuted(void)
{
	int n, file = -1, ret;

	pagoda_forever(&program, 0);
	for (n = 0; n < JOBS; n++) {
		if (file >= 0)
			close(file);
		file = keep_job(program.used);
		if (file < 0)
			return file;
	}
	ret = pagoda_context_destroy(fd, context);
	return ret ? ret : file;
}

static bool keep(int *files)
{
	int n;

	fd = pagoda_open();
	if (fd < 0 || pagoda_vm_create(fd, &vm) || make_program() ||
	    pagoda_context_create(fd, vm.vm, &context))
		return false;
	files[PAGING] = keep_bind();
	files[FINISHED] = keep_job(0);
	for (n = 0; n < UNEXECUTED; n++) {
		struct pollfd ready = { .fd = files[n], .events = POLLIN };

		if (files[n] < 0 || poll(&ready, 1, PATIENCE_MS) != 1)
			return false;
	}
	files[UNEXECUTED] = keep_unexecuted();
	munmap(program.memory, CODE_SIZE);
	close(fd);
	return files[UNEXECUTED] >= 0;
}

/*
 * Queries the fence of a sync_file, sets a deadline for it and merges the file with itself. Returns
 * whether all of that succeeds and the fence has @status and the expected names.
 */
static bool ask(int file, int status, const char *timeline)
{
	struct sync_fence_info fence = { 0 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };
	struct sync_set_deadline deadline = { .deadline_ns = 1 };
	struct sync_merge_data merge = { .name = "keep", .fd2 = file };
	bool ok;

	if (ioctl(file, SYNC_IOC_FILE_INFO, &info) ||
	    ioctl(file, SYNC_IOC_SET_DEADLINE, &deadline) || ioctl(file, SYNC_IOC_MERGE, &merge))
		return false;
	close(merge.fence);
	printf("%s: %s %s %d\n", info.name, fence.driver_name, fence.obj_name, fence.status);
	ok = (!strcmp(fence.obj_name, timeline) && !strcmp(fence.driver_name, "drm_sched")) ||
	     /* The timeline's name of any signalled fence in newer kernels. */
	     !strcmp(fence.obj_name, "signaled-timeline");
	return ok && fence.status == status;
}

int main(void)
{
	static const struct {
		int status;
		const char *timeline;
	} expected[KEPT] = {
		[PAGING] = { 1, "paging" },
		[FINISHED] = { 1, "exec0" },
		[UNEXECUTED] = { -ESRCH, "exec0" },
	};
	int files[KEPT] = { -1, -1, -1 }, n, wrong = 0;

	if (!keep(files)) {
		printf("can't: %d %d %d\n", files[PAGING], files[FINISHED], files[UNEXECUTED]);
		return 1;
	}
	printf("kept\n");
	fflush(stdout);
	getchar();
	for (n = 0; n < KEPT; n++) {
		wrong += !ask(files[n], expected[n].status, expected[n].timeline);
		close(files[n]);
	}
	return wrong;
}
