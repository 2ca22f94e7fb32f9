// SPDX-License-Identifier: GPL-2.0
/* Objects of a client by id: address spaces, monitored fences. */
#include <linux/eventfd.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_utils.h>
#include <drm/drm_vma_manager.h>
#include "core/device.h"
#include "vidmm/fence/fence.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/vm/vm.h"
#include "args.h"

/* Most objects of a type per client, where DRM_PAGODA_MAX_* has no smaller number. */
#define CLIENT_MAX_OBJECTS	65536

/* Returns the fence with a reference, for pagoda_mfence_put(); or NULL. */
struct pagoda_mfence *pagoda_fence_lookup(struct pagoda_client *client, u32 id)
{
	struct pagoda_mfence *mfence;

	mutex_lock(&client->lock);
	mfence = xa_load(&client->fences, id);
	if (mfence)
		pagoda_mfence_get(mfence);
	mutex_unlock(&client->lock);
	return mfence;
}

/* Drops the client's reference and CPU mapping right of a fence that has no id any more. */
void pagoda_client_drop_fence(struct drm_file *file, struct pagoda_mfence *mfence)
{
	drm_vma_node_revoke(&pagoda_bo_gem(pagoda_mfence_bo(mfence))->vma_node, file);
	pagoda_mfence_put(mfence);
}

/*
 * Promises that monitored fence @fence gets @value; @signal is NULL if @fence is 0. Returns 0,
 * -ENOENT, -EINVAL if the value isn't larger than all before, -EDQUOT, -ENOMEM or -ERESTARTSYS.
 */
int pagoda_client_promise(struct drm_device *drm, struct pagoda_client *client, u32 fence,
			  u64 value, struct pagoda_mfence_signal **signal)
{
	struct pagoda_mfence *mfence;

	*signal = NULL;
	if (!fence)
		return 0;
	mfence = pagoda_fence_lookup(client, fence);
	if (pagoda_refuse(drm, !mfence))
		return -ENOENT;
	*signal = pagoda_mfence_promise(mfence, value);
	pagoda_mfence_put(mfence);
	return pagoda_refuse(drm, IS_ERR(*signal)) ? PTR_ERR(*signal) : 0;
}

/* Gives an object an id, not 0. Returns 0, -ENOMEM, or -EMFILE if the client has too many. */
int pagoda_client_add(struct xarray *objects, void *object, u32 *id)
{
	int ret = xa_alloc(objects, id, object, XA_LIMIT(1, CLIENT_MAX_OBJECTS),
			   GFP_KERNEL_ACCOUNT);

	return ret == -EBUSY ? -EMFILE : ret;
}

/* Returns the VM with a reference, for pagoda_vm_put(); or NULL. */
struct pagoda_vm *pagoda_client_vm(struct pagoda_client *client, u32 id)
{
	struct pagoda_vm *vm;

	mutex_lock(&client->lock);
	vm = xa_load(&client->vms, id);
	if (vm)
		pagoda_vm_get(vm);
	mutex_unlock(&client->lock);
	return vm;
}
