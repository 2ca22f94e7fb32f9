// SPDX-License-Identifier: GPL-2.0
/*
 * Adds, finds and removes a client's objects by id: VMs, contexts, fences, paging queues. Promises
 * a value of the monitored fence that an ioctl names by id.
 */
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_vma_manager.h>
#include "vidmm/fence/fence.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/submit/submit.h"
#include "vidmm/vm/vm.h"
#include "args.h"

/* Most objects of one kind that a client may have; DRM_PAGODA_MAX_* may limit a kind further. */
#define CLIENT_MAX_OBJECTS	65536

/* Gives an object an id, never 0. Returns 0, -ENOMEM, or -EMFILE if all ids are taken. */
int pagoda_client_add(struct pagoda_client *client, enum pagoda_object kind, void *object, u32 *id)
{
	int ret = xa_alloc(&client->objects[kind], id, object, XA_LIMIT(1, CLIENT_MAX_OBJECTS),
			   GFP_KERNEL_ACCOUNT);

	return ret == -EBUSY ? -EMFILE : ret;
}

static void object_get(enum pagoda_object kind, void *object)
{
	switch (kind) {
	case PAGODA_OBJECT_VM:
		pagoda_vm_get(object);
		break;
	case PAGODA_OBJECT_CONTEXT:
		pagoda_context_get(object);
		break;
	case PAGODA_OBJECT_FENCE:
		pagoda_mfence_get(object);
		break;
	case PAGODA_OBJECT_PAGING_QUEUE:
		pagoda_paging_queue_get(object);
		break;
	case PAGODA_OBJECTS:
		break;
	}
}

static void *object_find(struct pagoda_client *client, enum pagoda_object kind, u32 id)
{
	void *object;

	/* The lock keeps the id's reference from being dropped before object_get(). */
	lockdep_assert_held(&client->lock);
	object = xa_load(&client->objects[kind], id);
	if (object)
		object_get(kind, object);
	return object;
}

/* Returns the client's object of @kind that has the id, with a reference; NULL if there is none. */
void *pagoda_client_find(struct pagoda_client *client, enum pagoda_object kind, u32 id)
{
	void *object;

	mutex_lock(&client->lock);
	object = object_find(client, kind, id);
	mutex_unlock(&client->lock);
	return object;
}

/* Removes an id. Returns the object that had the id, with the id's reference; NULL if none. */
void *pagoda_client_remove(struct pagoda_client *client, enum pagoda_object kind, u32 id)
{
	void *object;

	mutex_lock(&client->lock);
	object = xa_erase(&client->objects[kind], id);
	mutex_unlock(&client->lock);
	return object;
}

/* Drops the client's reference to a fence, and revokes @file's right to map the fence's page. */
void pagoda_client_drop_fence(struct drm_file *file, struct pagoda_mfence *mfence)
{
	drm_vma_node_revoke(&pagoda_bo_gem(pagoda_mfence_bo(mfence))->vma_node, file);
	pagoda_mfence_put(mfence);
}

/*
 * Promises that the monitored fence with id @fence gets @value, and sets *@signal to the promise,
 * or to NULL if @fence is 0. Returns 0, -ENOENT or an error of pagoda_mfence_promise().
 */
int pagoda_client_promise(struct drm_device *drm, struct pagoda_client *client, u32 fence,
			  u64 value, struct pagoda_mfence_signal **signal)
{
	struct pagoda_mfence *mfence;

	*signal = NULL;
	if (!fence)
		return 0;
	mfence = pagoda_client_find(client, PAGODA_OBJECT_FENCE, fence);
	if (pagoda_refuse(drm, !mfence))
		return -ENOENT;
	*signal = pagoda_mfence_promise(mfence, value);
	pagoda_mfence_put(mfence);
	return pagoda_refuse(drm, IS_ERR(*signal)) ? PTR_ERR(*signal) : 0;
}
