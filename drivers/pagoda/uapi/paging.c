// SPDX-License-Identifier: GPL-2.0
/*
 * ioctls about paging queues; MAKE_RESIDENT and EVICT with a paging queue; QUERY_RESIDENCY_LIST.
 */
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>
#include "core/device.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/fence.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/submit/paging_queue.h"
#include "vidmm/submit/submit.h"
#include "args.h"

/* ---- ioctls of paging queues ---------------------------------------------------------------- */

static int paging_queue_publish(struct drm_device *drm, struct drm_file *file,
				struct drm_pagoda_paging_queue_create *args,
				struct drm_syncobj *syncobj)
{
	struct pagoda_client *client = file->driver_priv;
	struct pagoda_paging_queue *queue;
	int ret;

	queue = pagoda_paging_queue_create(pagoda_device_of_drm(drm)->vidmm, client,
					   args->priority, syncobj);
	if (IS_ERR(queue))
		return PTR_ERR(queue);
	/* client->lock hides the queue's id, which may have to be removed, from other threads. */
	mutex_lock(&client->lock);
	ret = pagoda_client_add(client, PAGODA_OBJECT_PAGING_QUEUE, queue, &args->queue);
	if (!ret) {
		ret = drm_syncobj_get_handle(file, syncobj, &args->syncobj);
		if (ret)
			xa_erase(&client->objects[PAGODA_OBJECT_PAGING_QUEUE], args->queue);
	}
	mutex_unlock(&client->lock);
	if (ret)
		pagoda_paging_queue_put(queue);
	return ret;
}

int pagoda_ioctl_paging_queue_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_paging_queue_create *args = data;
	struct drm_syncobj *syncobj;
	int ret;

	if (pagoda_refuse(drm, args->flags) || pagoda_refuse(drm, args->priority < -1) ||
	    pagoda_refuse(drm, args->priority > 1))
		return -EINVAL;
	ret = drm_syncobj_create(&syncobj, 0, NULL);
	if (ret)
		return ret;
	ret = paging_queue_publish(drm, file, args, syncobj);
	drm_syncobj_put(syncobj);
	return ret;
}

int pagoda_ioctl_paging_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_paging_queue_destroy *args = data;
	struct pagoda_paging_queue *queue;

	if (pagoda_refuse(drm, args->pad))
		return -EINVAL;
	queue = pagoda_client_remove(file->driver_priv, PAGODA_OBJECT_PAGING_QUEUE, args->queue);
	if (pagoda_refuse(drm, !queue))
		return -ENOENT;
	pagoda_paging_queue_put(queue);
	return 0;
}

int pagoda_ioctl_paging_queue_state(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_paging_queue_state *args = data;
	struct pagoda_paging_queue *queue;

	if (pagoda_refuse(drm, args->pad))
		return -EINVAL;
	queue = pagoda_client_find(file->driver_priv, PAGODA_OBJECT_PAGING_QUEUE, args->queue);
	if (pagoda_refuse(drm, !queue))
		return -ENOENT;
	pagoda_paging_queue_state(queue, args);
	pagoda_paging_queue_put(queue);
	return 0;
}

/* ---- Residency lists ---------------------------------------------------------------- */

/* A MAKE_RESIDENT or EVICT ioctl with a paging queue; has a reference to @queue. */
struct paging_call {
	struct drm_device *drm;
	struct drm_file *file;
	struct pagoda_paging_queue *queue;
	struct pagoda_bo_list list;
	struct pagoda_paging_args args;
};

static void paging_call_end(struct paging_call *call)
{
	pagoda_syncs_put(&call->args.syncs);
	pagoda_bo_list_put(&call->list);
	pagoda_paging_queue_put(call->queue);
}

static int paging_call_begin(struct paging_call *call, u32 queue, u32 flags,
			     const struct drm_pagoda_array *entries)
{
	int ret;

	call->queue =
		pagoda_client_find(call->file->driver_priv, PAGODA_OBJECT_PAGING_QUEUE, queue);
	if (pagoda_refuse(call->drm, !call->queue))
		return -ENOENT;
	ret = pagoda_bo_list_copy(call->drm, entries, 0, &call->list);
	if (ret)
		pagoda_paging_queue_put(call->queue);
	call->args = (struct pagoda_paging_args) { .flags = flags };
	return ret;
}

static int paging_call_add_fence(struct paging_call *call, u32 fence, u64 value)
{
	struct pagoda_mfence_signal *promise;
	int ret = pagoda_client_promise(call->drm, call->file->driver_priv, fence, value, &promise);

	if (ret || !promise)
		return ret;
	ret = pagoda_syncs_add_promise(&call->args.syncs, promise);
	if (ret)
		pagoda_mfence_take_back(promise);
	return ret;
}

static int paging_call_lookup(struct paging_call *call, u32 count)
{
	int ret = pagoda_bo_list_lookup(call->drm, call->file, count, &call->list);

	call->args.bos = call->list.bos;
	call->args.count = call->list.count;
	return ret;
}

/* Returns true if the handle at @index still names the allocation that its lookup found. */
static bool paging_call_is_open(struct paging_call *call, u32 index)
{
	struct drm_gem_object *obj;

	spin_lock(&call->file->table_lock);
	obj = idr_find(&call->file->object_idr, call->list.entries[index].handle);
	spin_unlock(&call->file->table_lock);
	return obj == pagoda_bo_gem(call->list.bos[index]);
}

/*
 * Takes allocations off the client's residency list if another thread closed their handles after
 * the lookup: closing a handle takes its allocation off the list, but maybe did so before this call
 * put the allocation on the list.
 */
static void paging_call_forget_closed(struct paging_call *call)
{
	u32 i;

	for (i = 0; i < call->list.count; i++)
		if (!paging_call_is_open(call, i))
			pagoda_require_forget(call->file->driver_priv, call->list.bos[i]);
}

static int paging_call_make(struct paging_call *call, u32 count)
{
	struct pagoda_client *client = call->file->driver_priv;
	int ret;

	/* Settled allocations that are on the residency list, the usual case, need no request. */
	if (!READ_ONCE(client->error) &&
	    pagoda_bo_list_is_settled(call->drm, call->file, call->list.entries, count, true)) {
		pagoda_paging_is_made(call->queue, &call->args);
		return 0;
	}
	ret = paging_call_lookup(call, count);
	if (ret)
		return ret;
	ret = pagoda_paging_make_resident(call->queue, &call->args);
	pagoda_refuse(call->drm, ret);
	if (!ret)
		paging_call_forget_closed(call);
	return ret;
}

/*
 * MAKE_RESIDENT with a paging queue; the caller has checked the flags and padding of @args. Fills
 * in the answer in @args. Returns 0 or a negative errno.
 */
int pagoda_make_resident_queued(struct drm_device *drm, struct drm_file *file,
				struct drm_pagoda_make_resident *args)
{
	struct paging_call call = { .drm = drm, .file = file };
	int ret;

	ret = paging_call_begin(&call, args->paging_queue, args->flags, &args->entries);
	if (ret)
		return ret;
	ret = pagoda_point_get_sync(drm, file, args->syncobj, args->point, &call.args.syncs);
	if (!ret)
		ret = paging_call_add_fence(&call, args->fence, args->fence_value);
	if (!ret)
		ret = paging_call_make(&call, args->entries.count);
	args->bytes_to_trim = call.args.bytes_to_trim;
	args->num_resident = ret ? 0 : args->entries.count;
	args->paging_value = ret ? 0 : call.args.value;
	args->pending = args->paging_value != 0;
	paging_call_end(&call);
	return ret;
}

/*
 * EVICT with a paging queue; the caller has checked the flags and padding of @args. Fills in the
 * answer in @args. Returns 0 or a negative errno.
 */
int pagoda_evict_queued(struct drm_device *drm, struct drm_file *file,
			struct drm_pagoda_evict *args)
{
	struct paging_call call = { .drm = drm, .file = file };
	int ret;

	ret = paging_call_begin(&call, args->paging_queue, args->flags, &args->entries);
	if (ret)
		return ret;
	ret = paging_call_lookup(&call, args->entries.count);
	if (!ret)
		ret = pagoda_point_get_sync(drm, file, args->syncobj, args->point,
					    &call.args.syncs);
	if (!ret) {
		ret = pagoda_paging_evict(call.queue, &call.args);
		pagoda_refuse(drm, ret);
	}
	args->bytes_to_trim = call.args.bytes_to_trim;
	args->paging_value = ret ? 0 : call.args.value;
	paging_call_end(&call);
	return ret;
}

static int list_status_get(struct drm_device *drm, struct drm_file *file, const char __user *from,
			   u32 stride, void *answer)
{
	struct drm_pagoda_list_status *status = answer;
	struct drm_pagoda_allocation_info info;
	struct pagoda_bo *bo;
	int ret;

	ret = copy_struct_from_user(status, sizeof(*status), from, stride);
	if (pagoda_refuse(drm, ret))
		return ret;
	bo = pagoda_bo_lookup(file, status->handle);
	if (pagoda_refuse(drm, !bo))
		return -ENOENT;
	ret = pagoda_bo_describe(drm, bo, &info);
	status->count = pagoda_require_count(file->driver_priv, bo);
	status->clients = pagoda_require_clients(bo);
	status->residency = ret ? 0 : info.residency;
	pagoda_bo_put(bo);
	return ret;
}

int pagoda_ioctl_query_residency_list(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_query_residency_list *args = data;

	if (pagoda_refuse(drm, args->flags) || pagoda_refuse(drm, args->pad))
		return -EINVAL;
	return pagoda_array_answer(drm, file, &args->entries,
				   sizeof(struct drm_pagoda_list_status), list_status_get);
}
