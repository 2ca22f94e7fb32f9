// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments that ioctls about VMs, contexts, fences and jobs refuse. A case has a call that
 * succeeds, and tables of single members with values for which the same call is refused: the
 * refused calls come first, and have no effect.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <drm/drm_device.h>
#include "core/device.h"
#include "rig/command.h"
#include "uapi_refuse.h"

/* ---- VMs and contexts ------------------------------------------------------------------- */

static void refuse_vm(struct kunit *test)
{
	static const struct uapi_refusal create_rows[] = { REFUSED(vm_create, flags, 1, EINVAL) };
	static const struct uapi_refusal state_rows[] = {
		REFUSED(vm_state, vm, UAPI_UNKNOWN, ENOENT),
		REFUSED(vm_state, pad, 1, EINVAL),
	};
	static const struct uapi_refusal destroy_rows[] = {
		REFUSED(vm_destroy, vm, UAPI_UNKNOWN, ENOENT),
		REFUSED(vm_destroy, pad, 1, EINVAL),
	};
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_vm_create create = {};
	struct drm_pagoda_vm_state state = {};
	struct drm_pagoda_vm_destroy destroy = {};

	UAPI_REFUSE(UAPI_CALL(client, VM_CREATE, create), create_rows);
	state.vm = create.vm;
	UAPI_REFUSE(UAPI_CALL(client, VM_STATE, state), state_rows);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_VM_USABLE, state.condition);
	destroy.vm = create.vm;
	UAPI_REFUSE(UAPI_CALL(client, VM_DESTROY, destroy), destroy_rows);
	KUNIT_EXPECT_EQ(test, -ENOENT, uapi_ioctl(client, DRM_IOCTL_PAGODA_VM_DESTROY, &destroy));
	uapi_close(client);
}

/* Calls CONTEXT_CREATE as a task without CAP_SYS_NICE. */
static long refuse_create_humbly(struct uapi_client *client, struct drm_pagoda_context_create *args)
{
	struct cred *humble = prepare_creds();
	const struct cred *own;
	long ret;

	KUNIT_ASSERT_NOT_NULL(client->test, humble);
	cap_lower(humble->cap_effective, CAP_SYS_NICE);
	own = override_creds(humble);
	ret = uapi_ioctl(client, DRM_IOCTL_PAGODA_CONTEXT_CREATE, args);
	revert_creds(own);
	put_cred(humble);
	return ret;
}

/* The priority HIGH is for tasks with CAP_SYS_NICE; an engine must exist. */
static void refuse_context(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	const u32 engines = pagoda_device_of_drm(uapi_drm(client))->info.num_engines;
	const struct uapi_refusal create_rows[] = {
		REFUSED(context_create, flags, 1, EINVAL),
		REFUSED(context_create, pad, 1, EINVAL),
		REFUSED(context_create, engine, engines, EINVAL),
		REFUSED(context_create, priority, DRM_PAGODA_PRIORITY_HIGH + 1, EINVAL),
		REFUSED(context_create, vm, UAPI_UNKNOWN, ENOENT),
	};
	static const struct uapi_refusal state_rows[] = {
		REFUSED(context_state, context, UAPI_UNKNOWN, ENOENT),
	};
	static const struct uapi_refusal destroy_rows[] = {
		REFUSED(context_destroy, context, UAPI_UNKNOWN, ENOENT),
		REFUSED(context_destroy, pad, 1, EINVAL),
	};
	struct drm_pagoda_vm_create vm = {};
	struct drm_pagoda_context_create create = { .priority = DRM_PAGODA_PRIORITY_HIGH };
	struct drm_pagoda_context_state state = {};
	struct drm_pagoda_context_destroy destroy = {};

	uapi_must(client, DRM_IOCTL_PAGODA_VM_CREATE, &vm);
	create.vm = vm.vm;
	KUNIT_EXPECT_EQ(test, -EPERM, refuse_create_humbly(client, &create));
	UAPI_REFUSE(UAPI_CALL(client, CONTEXT_CREATE, create), create_rows);
	state.context = create.context;
	UAPI_REFUSE(UAPI_CALL(client, CONTEXT_STATE, state), state_rows);
	KUNIT_EXPECT_EQ(test, 0, state.state);
	destroy.context = create.context;
	UAPI_REFUSE(UAPI_CALL(client, CONTEXT_DESTROY, destroy), destroy_rows);
	create.priority = DRM_PAGODA_PRIORITY_LOW;
	KUNIT_EXPECT_EQ(test, 0, refuse_create_humbly(client, &create));
	uapi_close(client);
}

/* ---- VM_BIND ---------------------------------------------------------------------------- */

/* Returns the handle of four pages; with @vm only this VM may map the pages. */
static u32 refuse_pages(struct uapi_client *client, u32 vm)
{
	struct drm_pagoda_allocation_create args = {
		.size = 4 * PAGE_SIZE,
		.supported = UAPI_ANYWHERE,
		.vm = vm,
	};

	uapi_must(client, DRM_IOCTL_PAGODA_ALLOCATION_CREATE, &args);
	return args.handle;
}

/* Returns the arguments of a VM_BIND of the entry, which is put to user memory. */
static struct drm_pagoda_vm_bind refuse_bind_args(struct uapi_gpu *gpu,
						  const struct drm_pagoda_bind_entry *entry)
{
	return (struct drm_pagoda_vm_bind) {
		.entries = UAPI_LIST(gpu->client, *entry),
		.vm = gpu->vm,
	};
}

static void refuse_bind(struct kunit *test)
{
	static const struct uapi_refusal rows[] = {
		REFUSED(vm_bind, vm, UAPI_UNKNOWN, ENOENT),
		REFUSED(vm_bind, flags, DRM_PAGODA_VM_BIND_UPDATE << 1, EINVAL),
		REFUSED(vm_bind, pad, 1, EINVAL),
		REFUSED(vm_bind, syncobj, 0, EINVAL),
		REFUSED(vm_bind, syncobj, UAPI_UNKNOWN, ENOENT),
		REFUSED(vm_bind, point, 0, EINVAL),
		REFUSED(vm_bind, entries.count, 0, EINVAL),
	};
	static const struct uapi_refusal sync_rows[] = {
		REFUSED(sync, handle, UAPI_UNKNOWN, ENOENT),
		REFUSED(sync, flags, DRM_PAGODA_SYNC_FENCE << 1, EINVAL),
	};
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	const struct drm_pagoda_sync sync = {
		uapi_syncobj(client), DRM_PAGODA_SYNC_SIGNAL, 1,
	};
	const struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP_ZERO,
		.address = gpu->address + 2 * PAGE_SIZE,
		.size = PAGE_SIZE,
	};
	struct drm_pagoda_vm_bind args = refuse_bind_args(gpu, &entry);

	args.syncs = (struct drm_pagoda_array) {
		uapi_put(client, UAPI_MORE, &sync, sizeof(sync)), 1, sizeof(sync),
	};
	args.syncobj = uapi_syncobj(client);
	args.point = 1;
	uapi_refuse_array(UAPI_CALL(client, VM_BIND, args),
			  offsetof(struct drm_pagoda_vm_bind, entries),
			  offsetofend(struct drm_pagoda_bind_entry, driver_protection));
	uapi_refuse_array(UAPI_CALL(client, VM_BIND, args),
			  offsetof(struct drm_pagoda_vm_bind, syncs), sizeof(sync));
	UAPI_REFUSE_MEMBERS(UAPI_CALL(client, VM_BIND, args), UAPI_MORE, sync, sync_rows);
	UAPI_REFUSE(UAPI_CALL(client, VM_BIND, args), rows);
	uapi_close(client);
}

/* Expects that VM_BIND refuses the entry for each row, and maps without. */
#define REFUSE_BIND(gpu, entry, rows) do { \
	struct drm_pagoda_vm_bind bind_args = refuse_bind_args(gpu, &(entry)); \
	\
	UAPI_REFUSE_MEMBERS(UAPI_CALL((gpu)->client, VM_BIND, bind_args), UAPI_ENTRIES, entry, \
			    rows); \
	uapi_accept(UAPI_CALL((gpu)->client, VM_BIND, bind_args)); \
} while (0)

/* MAP maps pages of an allocation within the VM's addresses, or as often as a window fits in. */
static void refuse_bind_map(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP,
		.handle = refuse_pages(client, 0),
		.address = gpu->address + 2 * PAGE_SIZE,
		.size = 2 * PAGE_SIZE,
		.offset = PAGE_SIZE,
	};
	const struct uapi_refusal rows[] = {
		REFUSED(bind_entry, flags, DRM_PAGODA_BIND_CHOOSE << 1, EINVAL),
		REFUSED(bind_entry, handle, UAPI_UNKNOWN, ENOENT),
		REFUSED(bind_entry, pad, 1, EINVAL),
		REFUSED(bind_entry, address, gpu->address - PAGE_SIZE, EINVAL),
		REFUSED(bind_entry, address, entry.address + 8, EINVAL),
		REFUSED(bind_entry, size, 0, EINVAL),
		REFUSED(bind_entry, size, PAGE_SIZE + 8, EINVAL),
		REFUSED(bind_entry, size, 4 * PAGE_SIZE, EINVAL),
		REFUSED(bind_entry, offset, 8, EINVAL),
		REFUSED(bind_entry, offset, 3 * PAGE_SIZE, EINVAL),
		REFUSED(bind_entry, offset, 5 * PAGE_SIZE, EINVAL),
		REFUSED(bind_entry, window, 8, EINVAL),
		REFUSED(bind_entry, window, 3 * PAGE_SIZE, EINVAL),
	};
	static const struct uapi_refusal window_rows[] = {
		REFUSED(bind_entry, window, 2 * PAGE_SIZE, EINVAL),
	};
	const struct uapi_refusal choose_rows[] = {
		REFUSED(bind_entry, address, entry.address + 8, EINVAL),
	};

	REFUSE_BIND(gpu, entry, rows);
	entry.address += entry.size;
	entry.size = 3 * PAGE_SIZE;
	entry.window = PAGE_SIZE;
	REFUSE_BIND(gpu, entry, window_rows);
	entry.flags = DRM_PAGODA_BIND_CHOOSE;
	REFUSE_BIND(gpu, entry, choose_rows);
	uapi_close(client);
}

static const struct uapi_refusal refuse_zero_rows[] = {
	REFUSED(bind_entry, type, DRM_PAGODA_BIND_MAP - 1, EINVAL),
	REFUSED(bind_entry, type, DRM_PAGODA_BIND_MAP_FENCE + 1, EINVAL),
	REFUSED(bind_entry, flags, DRM_PAGODA_BIND_READ_ONLY, EINVAL),
	REFUSED(bind_entry, handle, 1, EINVAL),
	REFUSED(bind_entry, offset, PAGE_SIZE, EINVAL),
	REFUSED(bind_entry, driver_protection, 1, EINVAL),
	REFUSED(bind_entry, window, PAGE_SIZE, EINVAL),
};

/*
 * Entries of other types have members without meaning. RESERVE takes whole chunks, and isn't an
 * update.
 */
static void refuse_bind_others(struct kunit *test)
{
	static const u32 types[] = {
		DRM_PAGODA_BIND_MAP_ZERO, DRM_PAGODA_BIND_NO_ACCESS, DRM_PAGODA_BIND_UNMAP,
	};
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	struct drm_pagoda_bind_entry entry = {
		.address = ALIGN(gpu->address, DRM_PAGODA_RESERVE_ALIGN) +
			   DRM_PAGODA_RESERVE_ALIGN,
		.size = PAGE_SIZE,
	};
	const struct uapi_refusal reserve_rows[] = {
		REFUSED(bind_entry, size, PAGE_SIZE, EINVAL),
		REFUSED(bind_entry, address, entry.address + PAGE_SIZE, EINVAL),
	};
	static const struct uapi_refusal fence_rows[] = {
		REFUSED(bind_entry, handle, UAPI_UNKNOWN, ENOENT),
		REFUSED(bind_entry, size, 2 * PAGE_SIZE, EINVAL),
		REFUSED(bind_entry, offset, PAGE_SIZE, EINVAL),
	};
	static const struct uapi_refusal update_rows[] = {
		REFUSED(vm_bind, flags, DRM_PAGODA_VM_BIND_UPDATE, EINVAL),
	};
	struct drm_pagoda_vm_bind args;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		entry.type = types[i];
		REFUSE_BIND(gpu, entry, refuse_zero_rows);
	}
	entry.type = DRM_PAGODA_BIND_MAP_FENCE;
	entry.handle = gpu->fence;
	REFUSE_BIND(gpu, entry, fence_rows);
	entry.type = DRM_PAGODA_BIND_RESERVE;
	entry.handle = 0;
	entry.address += DRM_PAGODA_RESERVE_ALIGN;
	entry.size = DRM_PAGODA_RESERVE_ALIGN;
	REFUSE_BIND(gpu, entry, reserve_rows);
	entry.address += DRM_PAGODA_RESERVE_ALIGN;
	args = refuse_bind_args(gpu, &entry);
	UAPI_REFUSE(UAPI_CALL(client, VM_BIND, args), update_rows);
	uapi_close(client);
}

/* COPY copies from addresses of the VM, and shares its array with no entry of another type. */
static void refuse_bind_copy(struct kunit *test)
{
	static const struct uapi_refusal mixed[] = { REFUSED(array, count, 2, EINVAL) };
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	const struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_COPY,
		.address = gpu->address + 2 * PAGE_SIZE,
		.size = PAGE_SIZE,
		.offset = gpu->address,
	};
	const struct drm_pagoda_bind_entry other = {
		.type = DRM_PAGODA_BIND_MAP_ZERO,
		.address = gpu->address + 3 * PAGE_SIZE,
		.size = PAGE_SIZE,
	};
	const struct uapi_refusal rows[] = {
		REFUSED(bind_entry, offset, gpu->address - PAGE_SIZE, EINVAL),
		REFUSED(bind_entry, handle, 1, EINVAL),
		REFUSED(bind_entry, flags, DRM_PAGODA_BIND_CHOOSE, EINVAL),
	};
	struct drm_pagoda_vm_bind args = refuse_bind_args(gpu, &entry);

	uapi_put(client, UAPI_ENTRIES + sizeof(entry), &other, sizeof(other));
	uapi_refuse_rows(UAPI_CALL(client, VM_BIND, args),
			 offsetof(struct drm_pagoda_vm_bind, entries), mixed, ARRAY_SIZE(mixed));
	REFUSE_BIND(gpu, entry, rows);
	uapi_close(client);
}

/*
 * VM_BIND refuses an allocation that is private to another VM (-EPERM), as SUBMIT does, and one
 * that is offered (-ENODATA).
 */
static void refuse_foreign(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	struct uapi_gpu *other = uapi_gpu(client, UAPI_ANYWHERE);
	const struct drm_pagoda_residency_entry offered = { .handle = refuse_pages(client, 0) };
	struct drm_pagoda_offer offer = {
		.entries = UAPI_LIST(client, offered),
		.priority = DRM_PAGODA_OFFER_NORMAL,
	};
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP,
		.handle = refuse_pages(client, other->vm),
		.address = gpu->address + 2 * PAGE_SIZE,
		.size = PAGE_SIZE,
	};
	u32 page = gpu->page;

	uapi_must(client, DRM_IOCTL_PAGODA_OFFER, &offer);
	KUNIT_EXPECT_EQ(test, -EPERM, uapi_bind(gpu, &entry));
	KUNIT_EXPECT_EQ(test, 0, uapi_bind(other, &entry));
	UAPI_ADD(gpu, NOP, nop, 0);
	gpu->page = entry.handle;
	KUNIT_EXPECT_EQ(test, -EPERM, uapi_submit(gpu, 1));
	gpu->page = page;
	entry.handle = offered.handle;
	KUNIT_EXPECT_EQ(test, -ENODATA, uapi_bind(gpu, &entry));
	uapi_close(client);
}

/* ---- Fences and jobs -------------------------------------------------------------------- */

static const struct uapi_refusal refuse_value_rows[] = {
	REFUSED(fence_value, fence, UAPI_UNKNOWN, ENOENT),
	REFUSED(fence_value, pad, 1, EINVAL),
};

/* FENCE_SIGNAL refuses a value that isn't larger, and a fence that must not be signalled so. */
static void refuse_fence(struct kunit *test)
{
	static const struct uapi_refusal create_rows[] = {
		REFUSED(fence_create, flags, DRM_PAGODA_FENCE_ALLOW_REWIND << 1, EINVAL),
	};
	static const struct uapi_refusal signal_rows[] = {
		REFUSED(fence_signal, flags, 1, EINVAL),
		REFUSED(fence_signal, pad, 1, EINVAL),
	};
	static const struct uapi_refusal smaller[] = { REFUSED(fence_value, value, 5, EINVAL) };
	static const struct uapi_refusal wait_rows[] = {
		REFUSED(fence_wait, flags, DRM_PAGODA_FENCE_WAIT_EVENTFD << 1, EINVAL),
		REFUSED(fence_wait, pad, 1, EINVAL),
		REFUSED(fence_wait, eventfd, 1, EINVAL),
	};
	static const struct uapi_refusal destroy_rows[] = {
		REFUSED(fence_destroy, fence, UAPI_UNKNOWN, ENOENT),
		REFUSED(fence_destroy, pad, 1, EINVAL),
	};
	struct uapi_client *client = uapi_open(test);
	struct drm_pagoda_fence_create create = { .value = 5 };
	struct drm_pagoda_fence_value value = { .value = 6 };
	struct drm_pagoda_fence_signal signal = {};
	struct drm_pagoda_fence_wait wait = {};
	struct drm_pagoda_fence_destroy destroy = {};

	UAPI_REFUSE(UAPI_CALL(client, FENCE_CREATE, create), create_rows);
	value.fence = create.fence;
	signal.entries = (struct drm_pagoda_array)UAPI_LIST(client, value);
	wait.entries = signal.entries;
	UAPI_REFUSE_ENTRIES(UAPI_CALL(client, FENCE_SIGNAL, signal), fence_signal, value,
			    refuse_value_rows);
	UAPI_REFUSE_MEMBERS(UAPI_CALL(client, FENCE_SIGNAL, signal), UAPI_ENTRIES, value, smaller);
	UAPI_REFUSE(UAPI_CALL(client, FENCE_SIGNAL, signal), signal_rows);
	UAPI_REFUSE_ENTRIES(UAPI_CALL(client, FENCE_WAIT, wait), fence_wait, value,
			    refuse_value_rows);
	UAPI_REFUSE(UAPI_CALL(client, FENCE_WAIT, wait), wait_rows);
	destroy.fence = create.fence;
	UAPI_REFUSE(UAPI_CALL(client, FENCE_DESTROY, destroy), destroy_rows);
	uapi_close(client);
}

static const struct uapi_refusal refuse_submit_rows[] = {
	REFUSED(submit, context, UAPI_UNKNOWN, ENOENT),
	REFUSED(submit, flags, DRM_PAGODA_SUBMIT_FENCED << 1, EINVAL),
	REFUSED(submit, buffers.count, DRM_PAGODA_MAX_COMMAND_BUFFERS + 1, E2BIG),
};

static const struct uapi_refusal refuse_buffer_rows[] = {
	REFUSED(command_buffer, address, VIRTIO_PAGODA_COMMAND_ALIGN / 2, EINVAL),
	REFUSED(command_buffer, address, -(u64)VIRTIO_PAGODA_COMMAND_ALIGN, EINVAL),
	REFUSED(command_buffer, size, 0, EINVAL),
	REFUSED(command_buffer, size, VIRTIO_PAGODA_COMMAND_ALIGN / 2, EINVAL),
	REFUSED(command_buffer, size,
		VIRTIO_PAGODA_MAX_COMMAND_BUFFER + VIRTIO_PAGODA_COMMAND_ALIGN, EINVAL),
};

static const struct uapi_refusal refuse_submit_entry_rows[] = {
	REFUSED(submit_entry, handle, UAPI_UNKNOWN, ENOENT),
	REFUSED(submit_entry, flags, DRM_PAGODA_SUBMIT_READ << 1, EINVAL),
	REFUSED(submit_entry, flags, DRM_PAGODA_SUBMIT_WRITE, EINVAL),
	REFUSED(submit_entry, flags,
		DRM_PAGODA_SUBMIT_IMPLICIT | DRM_PAGODA_SUBMIT_WRITE | DRM_PAGODA_SUBMIT_READ,
		EINVAL),
};

/* The handle of the sync is the id of a fence: the client has no syncobj. */
static const struct uapi_refusal refuse_sync_rows[] = {
	REFUSED(sync, handle, UAPI_UNKNOWN, ENOENT),
	REFUSED(sync, flags, DRM_PAGODA_SYNC_FENCE << 1, EINVAL),
	REFUSED(sync, flags, DRM_PAGODA_SYNC_SIGNAL, ENOENT),
	REFUSED(sync, point, 0, EINVAL),
};

static void refuse_submit(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	const u32 buffers = UAPI_MORE, syncs = UAPI_MORE + UAPI_MAX_ENTRY;
	const struct drm_pagoda_command_buffer buffer = {
		gpu->address, sizeof(struct virtio_pagoda_nop),
	};
	const struct drm_pagoda_sync sync = {
		gpu->fence, DRM_PAGODA_SYNC_SIGNAL | DRM_PAGODA_SYNC_FENCE, 1,
	};
	const struct drm_pagoda_submit_entry entry = {
		.handle = gpu->page,
		.flags = DRM_PAGODA_SUBMIT_IMPLICIT | DRM_PAGODA_SUBMIT_WRITE,
	};
	struct drm_pagoda_submit args = {
		.buffers = {
			uapi_put(client, buffers, &buffer, sizeof(buffer)), 1, sizeof(buffer),
		},
		.syncs = { uapi_put(client, syncs, &sync, sizeof(sync)), 1, sizeof(sync) },
		.entries = UAPI_LIST(client, entry),
		.context = gpu->context,
	};
	const struct uapi_call *call = UAPI_CALL(client, SUBMIT, args);

	UAPI_ADD(gpu, NOP, nop, 0);
	UAPI_REFUSE_MEMBERS(call, buffers, buffer, refuse_buffer_rows);
	UAPI_REFUSE_MEMBERS(call, syncs, sync, refuse_sync_rows);
	UAPI_REFUSE_MEMBERS(call, UAPI_ENTRIES, entry, refuse_submit_entry_rows);
	uapi_refuse_array(call, offsetof(struct drm_pagoda_submit, buffers), sizeof(buffer));
	uapi_refuse_array(call, offsetof(struct drm_pagoda_submit, syncs), sizeof(sync));
	uapi_refuse_array(call, offsetof(struct drm_pagoda_submit, entries), sizeof(entry));
	UAPI_REFUSE(call, refuse_submit_rows);
	KUNIT_EXPECT_EQ(test, 0, uapi_await(gpu, 1, UAPI_PATIENCE));
	uapi_close(client);
}

static struct kunit_case refuse_gpu_cases[] = {
	KUNIT_CASE(refuse_vm),
	KUNIT_CASE(refuse_context),
	KUNIT_CASE(refuse_bind),
	KUNIT_CASE(refuse_bind_map),
	KUNIT_CASE(refuse_bind_others),
	KUNIT_CASE(refuse_bind_copy),
	KUNIT_CASE(refuse_foreign),
	KUNIT_CASE(refuse_fence),
	KUNIT_CASE(refuse_submit),
	{}
};

static struct kunit_suite refuse_gpu_suite = {
	.name = "pagoda_uapi_refuse_gpu",
	.test_cases = refuse_gpu_cases,
};

kunit_test_suite(refuse_gpu_suite);
