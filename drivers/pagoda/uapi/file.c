// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a client: when the client's DRM file is closed, its jobs that haven't begun are
 * cancelled and its objects destroyed; the VMs only when no job uses them any more.
 */
#include <drm/drm_file.h>
#include "core/device.h"
#include "vidmm/fence/fence.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/submit/submit.h"
#include "vidmm/vm/vm.h"
#include "args.h"

/**
 * pagoda_client_kill() - Cancel the jobs of a client before its file is closed
 * @client: Client
 *
 * Only jobs that haven't begun are cancelled; pagoda_client_close() doesn't wait for jobs that
 * have. From now on closing a handle unmaps nothing: pagoda_client_close_vms() unmaps everything.
 *
 * Context: May sleep.
 */
void pagoda_client_kill(struct pagoda_client *client)
{
	struct pagoda_context *context;
	unsigned long id;

	pagoda_closing_begin_end(client);
	xa_for_each(&client->objects[PAGODA_OBJECT_CONTEXT], id, context)
		pagoda_context_kill(context);
}

/**
 * pagoda_client_close() - Drop all objects of a closed file, except for the VMs
 * @file: File, after pagoda_client_kill()
 *
 * Doesn't wait for jobs: the VMs are left for pagoda_client_close_vms().
 *
 * Context: May sleep.
 */
void pagoda_client_close(struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;
	struct pagoda_paging_queue *queue;
	struct pagoda_context *context;
	struct pagoda_mfence *mfence;
	unsigned long id;

	pagoda_client_drop_lists(client);
	pagoda_budget_close(&client->budget);
	xa_for_each(&client->objects[PAGODA_OBJECT_PAGING_QUEUE], id, queue)
		pagoda_paging_queue_put(queue);
	pagoda_mfence_client_close(pagoda_device_of_drm(file->minor->dev)->vidmm, client);
	xa_for_each(&client->objects[PAGODA_OBJECT_CONTEXT], id, context)
		pagoda_context_destroy(context);
	pagoda_closing_end(client);
	xa_for_each(&client->objects[PAGODA_OBJECT_FENCE], id, mfence)
		pagoda_client_drop_fence(file, mfence);
	xa_destroy(&client->objects[PAGODA_OBJECT_PAGING_QUEUE]);
	xa_destroy(&client->objects[PAGODA_OBJECT_CONTEXT]);
	xa_destroy(&client->objects[PAGODA_OBJECT_FENCE]);
}

/**
 * pagoda_client_wait_idle() - Wait for jobs and paging that use a closed client's VMs
 * @client: Client, after pagoda_client_close()
 * @timeout: Jiffies, for all VMs together
 *
 * Context: Sleeps. Not between pagoda_enter() and pagoda_leave().
 * Return: true if all fences in the reservations of these VMs have signalled.
 */
bool pagoda_client_wait_idle(struct pagoda_client *client, long timeout)
{
	struct pagoda_vm *vm;
	unsigned long id;

	xa_for_each(&client->objects[PAGODA_OBJECT_VM], id, vm) {
		timeout = dma_resv_wait_timeout(pagoda_vm_shared(vm)->resv, DMA_RESV_USAGE_BOOKKEEP,
						false, timeout);
		if (timeout <= 0)
			return false;
	}
	return true;
}

/**
 * pagoda_client_close_vms() - Close the VMs that pagoda_client_close() has left
 * @client: Client
 *
 * Context: Sleeps for as long as a job of these VMs runs.
 */
void pagoda_client_close_vms(struct pagoda_client *client)
{
	struct pagoda_vm *vm;
	unsigned long id;

	xa_for_each(&client->objects[PAGODA_OBJECT_VM], id, vm) {
		pagoda_vm_close(vm);
		pagoda_vm_put(vm);
	}
	xa_destroy(&client->objects[PAGODA_OBJECT_VM]);
}
