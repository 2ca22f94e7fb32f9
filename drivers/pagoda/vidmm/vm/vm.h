/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address spaces of clients, as ioctls use them.
 *
 * A VM is a drm_gpuvm for the mappings and a space of mmu/ for the page tables. Lock order,
 * outermost first:
 *	pagoda_vm.lock (one change of structure at a time)
 *	reservations (drm_exec): the VM's, which its page tables and save areas share,
 *		and those of allocations
 *	pagoda_space.lock
 *	pagoda_stream.lock
 */
#ifndef PAGODA_VM_H
#define PAGODA_VM_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>
#include <drm/pagoda_drm.h>
#include "vidmm/fence/sync.h"

struct dma_fence;
struct drm_gem_object;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_context;
struct pagoda_vidmm;
struct pagoda_vm;

/**
 * struct pagoda_bind - A checked entry of VM_BIND
 * @type: enum drm_pagoda_bind_type
 * @flags: DRM_PAGODA_BIND_* flags
 * @handle: MAP: handle of the allocation
 * @bo: MAP, MAP_FENCE: allocation; a reference
 * @address: First address; CHOOSE: least address wanted, then the address chosen
 * @size: Bytes
 * @offset: MAP: byte of the allocation; COPY: source address
 * @driver_protection: Opaque
 * @window: MAP: bytes of the allocation that repeat over the range; 0 = @size
 * @wanted: @address before the array was planned; set by the plan
 */
struct pagoda_bind {
	u32 type;
	u32 flags;
	u32 handle;
	struct pagoda_bo *bo;
	u64 address;
	u64 size;
	u64 offset;
	u64 driver_protection;
	u64 window;
	u64 wanted;
};

/**
 * struct pagoda_bind_job - An array of VM_BIND and its syncobjs
 * @kref: References of the caller and the queue
 * @binds: Entries, for the caller to fill after creation
 * @count: Number of entries
 * @update: The array changes one reserved range (C134)
 * @syncs: Syncobjs to wait for and to signal; filled by the caller
 * @entry: In &pagoda_vm.waiting while the array waits; protected by pagoda_vm.lock
 * @item: In the VM's queue while the array waits
 */
struct pagoda_bind_job {
	struct kref kref;
	struct pagoda_bind *binds;
	u32 count;
	bool update;
	struct pagoda_syncs syncs;
	struct list_head entry;
	struct pagoda_deferred_item item;
};

struct pagoda_vm *pagoda_vm_create(struct pagoda_vidmm *vidmm, struct pagoda_client *client);
struct pagoda_vm *pagoda_vm_get(struct pagoda_vm *vm);
void pagoda_vm_put(struct pagoda_vm *vm);
struct drm_gem_object *pagoda_vm_shared(struct pagoda_vm *vm);
void pagoda_vm_close(struct pagoda_vm *vm);
void pagoda_vm_range(const struct pagoda_vm *vm, u64 *start, u64 *end);
bool pagoda_vm_range_valid(const struct pagoda_vm *vm, u64 address, u64 size);
struct pagoda_bind_job *pagoda_bind_job_create(u32 count);
void pagoda_bind_job_put(struct pagoda_bind_job *job);
int pagoda_vm_bind_job(struct pagoda_vm *vm, struct pagoda_bind_job *job,
		       struct dma_fence **fence);
int pagoda_vm_bind(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count,
		   struct dma_fence **fence);
int pagoda_vm_condition(struct pagoda_vm *vm, int *error);
int pagoda_vm_validate(struct pagoda_vm *vm, struct dma_fence **fence);
void pagoda_vm_forget(struct pagoda_vm *vm, struct pagoda_bo *bo);
int pagoda_vm_retire(struct pagoda_vm *vm);
int pagoda_client_validate(struct pagoda_client *client, struct dma_fence **fence);
void pagoda_client_forget(struct pagoda_client *client, struct pagoda_bo *bo);
void pagoda_client_fail(struct pagoda_client *client, int error);

struct pagoda_context *pagoda_context_create(struct pagoda_vm *vm, u32 engine, u32 priority);
void pagoda_context_get(struct pagoda_context *context);
void pagoda_context_put(struct pagoda_context *context);
void pagoda_context_kill(struct pagoda_context *context);
void pagoda_context_destroy(struct pagoda_context *context);
struct pagoda_vm *pagoda_context_vm(struct pagoda_context *context);
void pagoda_context_state(struct pagoda_context *context, struct drm_pagoda_context_state *state);

#endif
