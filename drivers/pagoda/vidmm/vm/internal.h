/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the files about address spaces of clients share. */
#ifndef PAGODA_VIDMM_VM_H
#define PAGODA_VIDMM_VM_H

#include <linux/list.h>
#include <linux/maple_tree.h>
#include <linux/mutex.h>
#include <drm/drm_gpuvm.h>
#include "core/core.h"
#include "mmu/mmu.h"
#include "vm.h"

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
 * enum pagoda_vm_reserve - May page tables and save areas of a VM be put into the reserve?
 * @PAGODA_VM_RESERVE_SHUT: no, as long as other allocations may make room
 * @PAGODA_VM_RESERVE_MISSED: no, and a table or save area found no place because of that
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
 * @lock: Held during a change of structure; protects @contexts, @closed, @error, @waiting and
 *	@plan
 * @contexts: Contexts that run in the VM
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
 * @bulk: Private allocations with a handle in LRU order; each job moves all of them to the tail
 *	at once
 * @used_at: &pagoda_policy.clock behind the VM's last submission; protected by
 *	pagoda_victims.lock
 * @jobs: Number of submissions so far; protected by pagoda_victims.lock
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
	struct mutex lock;	/* structure, contexts, closed, error, plan, waiting */
	struct list_head contexts;
	struct pagoda_root root;
	enum pagoda_vm_keep keep;
	enum pagoda_vm_reserve reserve;
	struct list_head evicted;
	struct list_head offered;
	struct list_head left_out;
	atomic_t queued;
	struct ttm_lru_bulk_move bulk;
	u64 used_at;
	u64 jobs;
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

int pagoda_vm_va_place_get(struct pagoda_va *va, struct pagoda_vm_place *place,
			   struct pagoda_map *map);
int pagoda_vm_place_get(struct pagoda_bo *bo, u64 offset, u64 size,
			struct pagoda_vm_place *place, struct pagoda_map *map);
void pagoda_vm_place_put(struct pagoda_vm_place *place);
int pagoda_vm_make_tables_resident(struct pagoda_vm *vm);
void pagoda_vm_note_last(struct pagoda_vm *vm, struct dma_fence *fence);
int pagoda_vm_commit(struct pagoda_vm *vm, struct pagoda_pt_update *update,
		     struct dma_fence **fence);
void pagoda_vm_bo_evicted(struct drm_gpuvm_bo *vm_bo);
void pagoda_vm_bo_invalidate(struct pagoda_vm *vm, struct pagoda_bo *bo);
void pagoda_context_update_roots(struct pagoda_vm *vm);
int pagoda_vm_rebuild(struct pagoda_vm *vm);
int pagoda_context_rebuild(struct pagoda_vm *vm);

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

int pagoda_rebind_add(struct pagoda_rebind *rebind, struct drm_gpuvm_bo *vm_bo);
int pagoda_rebind_run(struct pagoda_rebind *rebind, struct dma_fence **fence);
void pagoda_rebind_fini(struct pagoda_rebind *rebind);
int pagoda_rebind_all(struct pagoda_vm *vm, struct dma_fence **fence);

/* ---- Room in VRAM (room.c) ------------------------------------------------- */

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

u32 pagoda_room_rank(const struct pagoda_bo *bo);
bool pagoda_room_make(struct pagoda_room *room);
int pagoda_room_take(struct pagoda_vm *vm, struct pagoda_bo *bo);
void pagoda_room_keep(struct pagoda_vm *vm, enum pagoda_vm_keep keep);
int pagoda_room_leave(struct pagoda_bo *bo);
int pagoda_room_leave_all(struct pagoda_vm *vm);
void pagoda_room_demand_all(struct pagoda_vm *vm, struct pagoda_demand *demand);

/* Returns the PAGODA_PTE_* flags that DRM_PAGODA_BIND_* flags ask for. */
static inline u64 pagoda_bind_pte_flags(u32 flags)
{
	return (flags & DRM_PAGODA_BIND_READ_ONLY ? PAGODA_PTE_READ_ONLY : 0) |
	       (flags & DRM_PAGODA_BIND_NO_EXECUTE ? PAGODA_PTE_NO_EXECUTE : 0);
}

void pagoda_offer_hide(struct pagoda_vm *vm);

extern const struct drm_gpuvm_ops pagoda_vm_ops;

#endif
