/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address spaces of clients, as ioctls use them.
 *
 * A VM is a drm_gpuvm for the mappings and a space of mmu/ for the page tables. pagoda_vm.lock
 * admits one change of structure at a time; core/core.h has the order of all locks.
 */
#ifndef PAGODA_VIDMM_VM_VM_H
#define PAGODA_VIDMM_VM_VM_H

#include <linux/atomic.h>
#include <linux/container_of.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/maple_tree.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <drm/drm_gpuvm.h>
#include <drm/ttm/ttm_resource.h>
#include "paging/paging.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/allocation.h"

struct dma_fence;
struct dma_resv;
struct drm_gpuva;
struct drm_gpuvm;
struct drm_gpuvm_bo;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_context;
struct pagoda_demand;
struct pagoda_map_extent;
struct pagoda_space;
struct pagoda_submission;
struct pagoda_vidmm;
struct pagoda_vidmm_args;

/**
 * struct pagoda_unique - Bytes of an allocation that are mapped with unique driver protection
 * @start: First byte
 * @end: Byte after the last
 * @value: Driver protection
 */
struct pagoda_unique {
	u64 start;
	u64 end;
	u64 value;
};

/**
 * enum pagoda_attempt - Attempts to make lists resident, each of which may disturb more
 * @PAGODA_ATTEMPT_SHARED: beside other lists
 * @PAGODA_ATTEMPT_ALONE: no other list is locked, and every allocation may be evicted
 * @PAGODA_ATTEMPT_EMPTIED: alone, nothing is executed, and the list leaves VRAM first
 * @PAGODA_ATTEMPTS: number of attempts
 */
enum pagoda_attempt {
	PAGODA_ATTEMPT_SHARED,
	PAGODA_ATTEMPT_ALONE,
	PAGODA_ATTEMPT_EMPTIED,
	PAGODA_ATTEMPTS
};

/**
 * struct pagoda_vm_plan - Addresses as they will be after all accepted VM_BIND arrays
 * @taken: State of each page
 * @reserved: Number of the reservation that each page is in
 * @last: Last reservation number given
 *
 * See bind_plan.c; protected by &pagoda_vm.lock.
 */
struct pagoda_vm_plan {
	struct maple_tree taken;
	struct maple_tree reserved;
	u64 last;
};

/**
 * enum pagoda_vm_keep - Allocations of a VM that stay in VRAM while its reservation is held
 * @PAGODA_VM_KEEP_NOTHING: none beyond the usual rules
 * @PAGODA_VM_KEEP_PRIVATE: private allocations with mappings
 * @PAGODA_VM_KEEP_BOUND: page tables and save areas, too
 *
 * A caller that holds the VM's reservation could otherwise evict allocations that share it.
 */
enum pagoda_vm_keep {
	PAGODA_VM_KEEP_NOTHING,
	PAGODA_VM_KEEP_PRIVATE,
	PAGODA_VM_KEEP_BOUND,
};

/**
 * enum pagoda_vm_reserve - Whether page tables and save areas of a VM may be put into the reserve
 * @PAGODA_VM_RESERVE_SHUT: no, as long as other allocations may make room
 * @PAGODA_VM_RESERVE_MISSED: no, and a table or save area found no place outside of the reserve
 * @PAGODA_VM_RESERVE_OPEN: yes: no allocation makes room any more
 */
enum pagoda_vm_reserve {
	PAGODA_VM_RESERVE_SHUT,
	PAGODA_VM_RESERVE_MISSED,
	PAGODA_VM_RESERVE_OPEN,
};

/**
 * struct pagoda_vm - Address space of a client
 * @base: Mappings; its lists are protected by its own spinlocks, its gpuva tree by @lock
 * @vidmm: Manager
 * @client: Client that is charged for page tables and save areas
 * @space: Page tables
 * @id: Number of the space on the device
 * @lock: Held during a change of structure; protects @saves, @closed, @error, @waiting and
 *	@plan
 * @saves: Save areas of the contexts that run in the VM
 * @root: Root that the contexts' save areas are to name; protected by the VM's reservation
 * @keep: Allocations that don't leave now; protected by the VM's reservation
 * @reserve: Whether page tables and save areas may be put into the reserve while @keep isn't
 *	%PAGODA_VM_KEEP_NOTHING; protected by the VM's reservation
 * @evicted: Private allocations with mappings that became invalid since the last submission;
 *	protected by the VM's reservation
 * @offered: Private allocations that were offered since the last submission, by
 *	&pagoda_bo.vm.evicted; protected by the VM's reservation
 * @left_out: Private allocations that a submission couldn't bring to VRAM because its client
 *	lacked tokens (pace.c), by &pagoda_bo.vm.evicted; protected by the VM's reservation
 * @queued: Number of submissions that wait
 * @uses: What its private allocations share
 * @entry: In pagoda_reset.vms until the VM is closed
 * @aborted: PAGODA_ABORTED_* bits of allocations that the VM maps or that are private to it
 * @last: Fence behind the last operation on the space, or NULL; protected by the space's lock
 * @losses: pagoda_lost_mark() when no private allocation had lost content; protected by the
 *	VM's reservation
 * @closed: The VM has no handle any more: further bindings are refused
 * @error: Negative errno of an accepted change that couldn't be made: further bindings and jobs
 *	are refused; else 0
 * @plan: Addresses as they will be
 * @waiting: Queued arrays by &pagoda_bind_job.entry, in order
 * @queue: The arrays of @waiting as deferred work
 */
struct pagoda_vm {
	struct drm_gpuvm base;
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
	struct pagoda_space *space;
	u32 id;
	struct mutex lock;	/* structure, saves, closed, error, plan, waiting */
	struct list_head saves;
	struct pagoda_root root;
	enum pagoda_vm_keep keep;
	enum pagoda_vm_reserve reserve;
	struct list_head evicted;
	struct list_head offered;
	struct list_head left_out;
	atomic_t queued;
	struct pagoda_vm_uses uses;
	struct list_head entry;
	atomic_t aborted;
	struct dma_fence *last;
	u64 losses;
	bool closed;
	int error;
	struct pagoda_vm_plan plan;
	struct list_head waiting;
	struct pagoda_deferred queue;
};

/**
 * struct pagoda_va - A mapping
 * @base: Range and allocation; %DRM_GPUVA_SPARSE: zeros
 * @entry: In a list of spare or dropped nodes
 * @flags: DRM_PAGODA_BIND_* flags
 * @driver_protection: Opaque
 * @window: Bytes of the allocation, from its offset on, that repeat; 0 = no repetition
 * @first: Byte of the window at the first address
 *
 * %DRM_GPUVA_INVALIDATED: the page tables don't show the mapping, because its allocation moved
 * or isn't resident.
 */
struct pagoda_va {
	struct drm_gpuva base;
	struct list_head entry;
	u32 flags;
	u64 driver_protection;
	u64 window;
	u64 first;
};

static inline struct pagoda_vm *pagoda_vm_of(struct drm_gpuvm *base)
{
	return container_of(base, struct pagoda_vm, base);
}

static inline struct pagoda_va *pagoda_va_of(struct drm_gpuva *base)
{
	return container_of(base, struct pagoda_va, base);
}

/* Returns the reservation that page tables, save areas and private allocations share. */
static inline struct dma_resv *pagoda_vm_resv(struct pagoda_vm *vm)
{
	return drm_gpuvm_resv(&vm->base);
}

/**
 * struct pagoda_save - Save area of a context
 * @vm: VM that the context runs in; constant
 * @entry: In &pagoda_vm.saves
 * @bo: The allocation, a reference. pagoda_vm_may_evict() keeps it in place while a job of the
 *	context is in flight
 * @context: Number of the context; constant
 * @root: Root that the save area names; protected by the VM's reservation
 */
struct pagoda_save {
	struct pagoda_vm *vm;
	struct list_head entry;
	struct pagoda_bo *bo;
	u64 context;
	struct pagoda_root root;
};

/**
 * struct pagoda_vm_place - Memory of an allocation as a mapping needs it
 * @extents: Ranges of VRAM, or NULL
 * @nr_extents: Entries of @extents
 * @adl: Pages of an allocation outside of VRAM
 */
struct pagoda_vm_place {
	struct pagoda_map_extent *extents;
	u32 nr_extents;
	struct pagoda_adl adl;
};

/**
 * struct pagoda_rebind - Mappings that become valid again in one change
 * @vm: VM; its reservation and those of the allocations are held
 * @vas: Mappings
 * @count: Number of mappings
 * @room: Size of @vas in entries
 */
struct pagoda_rebind {
	struct pagoda_vm *vm;
	struct drm_gpuva **vas;
	u32 count;
	u32 room;
};

/* Number of ranks that pagoda_room_rank() returns. */
#define PAGODA_ROOM_RANKS	3

/**
 * struct pagoda_room - Room in VRAM that a change of a VM needs
 * @vm: The VM
 * @away: Allocations may be moved to where the GPU can't use them
 * @last: The caller won't retry with fewer allocations in the way: page tables may use the
 *	reserve
 * @bytes: Bytes asked for at the last attempt
 */
struct pagoda_room {
	struct pagoda_vm *vm;
	bool away;
	bool last;
	u64 bytes;
};

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

/* bind_unique.c */
int pagoda_unique_of(struct pagoda_bo *bo, struct pagoda_unique **list, u32 *count);

/* tables.c */
int pagoda_tables_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_tables_fini(struct pagoda_vidmm *vidmm);
void pagoda_tables_forget(struct pagoda_vidmm *vidmm);
void pagoda_tables_rescued(struct pagoda_vidmm *vidmm, const struct pagoda_submission *sub,
			   u32 start);
const char *pagoda_vidmm_mode_name(u32 mode);
bool pagoda_vidmm_has_tables(struct pagoda_vidmm *vidmm);

/* room.c */
int pagoda_residency_enter(struct pagoda_vidmm *vidmm, enum pagoda_attempt attempt,
			   bool interruptible);
void pagoda_residency_leave(struct pagoda_vidmm *vidmm, enum pagoda_attempt attempt);
int pagoda_room_wait_idle(struct pagoda_vidmm *vidmm, bool interruptible, long timeout);
u32 pagoda_room_rank(const struct pagoda_bo *bo);
bool pagoda_room_make(struct pagoda_room *room);
void pagoda_room_keep(struct pagoda_vm *vm, enum pagoda_vm_keep keep);
int pagoda_room_leave(struct pagoda_bo *bo);
int pagoda_room_leave_all(struct pagoda_vm *vm);
void pagoda_room_demand_all(struct pagoda_vm *vm, struct pagoda_demand *demand);

/* change.c */
void pagoda_vm_bo_moves(struct pagoda_bo *bo);
int pagoda_vm_make_tables_resident(struct pagoda_vm *vm);
void pagoda_vm_bo_evicted(struct drm_gpuvm_bo *vm_bo);
void pagoda_vm_range(const struct pagoda_vm *vm, u64 *start, u64 *end);
bool pagoda_vm_range_valid(const struct pagoda_vm *vm, u64 address, u64 size);

/* vm.c */
int pagoda_vm_bo_opened(struct pagoda_bo *bo, bool opened);
int pagoda_vm_rebuild(struct pagoda_vm *vm);
struct pagoda_vm *pagoda_vm_create(struct pagoda_vidmm *vidmm, struct pagoda_client *client);
struct drm_gem_object *pagoda_vm_shared(struct pagoda_vm *vm);
struct pagoda_vm *pagoda_vm_get(struct pagoda_vm *vm);
void pagoda_vm_put(struct pagoda_vm *vm);
void pagoda_vm_close(struct pagoda_vm *vm);
int pagoda_vm_retire(struct pagoda_vm *vm);
int pagoda_client_validate(struct pagoda_client *client, struct dma_fence **fence);
void pagoda_client_forget(struct pagoda_client *client, struct pagoda_bo *bo);

/* table_memory.c */
bool pagoda_vm_may_evict(struct pagoda_bo *bo);
void pagoda_vm_table_evict(struct pagoda_bo *bo);

/* save.c */
struct pagoda_side pagoda_save_side(struct pagoda_bo *save, struct pagoda_adl *adl);
int pagoda_save_create(struct pagoda_save *save, struct pagoda_vm *vm, u64 context);
int pagoda_save_enter(struct pagoda_save *save, struct pagoda_vm *vm);
void pagoda_save_drop(struct pagoda_save *save);
void pagoda_save_destroy(struct pagoda_save *save);
int pagoda_save_validate(struct pagoda_save *save);

/* rebind.c */
int pagoda_rebind_add(struct pagoda_rebind *rebind, struct drm_gpuvm_bo *vm_bo);
int pagoda_rebind_run(struct pagoda_rebind *rebind, struct dma_fence **fence);
void pagoda_rebind_fini(struct pagoda_rebind *rebind);
void pagoda_offer_hide(struct pagoda_vm *vm);

/* bind_queue.c */
void pagoda_vm_forget(struct pagoda_vm *vm, struct pagoda_bo *bo);
struct pagoda_bind_job *pagoda_bind_job_create(u32 count);
void pagoda_bind_job_put(struct pagoda_bind_job *job);
int pagoda_vm_bind_job(struct pagoda_vm *vm, struct pagoda_bind_job *job,
		       struct dma_fence **fence);
int pagoda_vm_condition(struct pagoda_vm *vm, int *error);

#endif
