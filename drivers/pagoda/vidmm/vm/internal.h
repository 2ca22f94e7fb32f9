/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations that the files about address spaces share. The files about VM_BIND:
 *
 *	bind.c		applies an array of entries to the page tables and the gpuva tree
 *	bind_plan.c	decides whether an array is accepted, by the use of the addresses as it
 *			will be after all arrays that were accepted before
 *	bind_books.c	changes the gpuva tree, which has the mappings
 *	bind_unique.c	checks that bytes which a mapping with unique driver protection shows
 *			have the same driver protection in all other mappings
 *	bind_queue.c	has arrays planned and then applied: at once, or, if they wait for fences,
 *			from a queue
 */
#ifndef PAGODA_VIDMM_VM_INTERNAL_H
#define PAGODA_VIDMM_VM_INTERNAL_H

#include <linux/list.h>
#include <linux/types.h>
#include <drm/pagoda_drm.h>
#include "paging/paging.h"
#include "vm.h"

struct dma_fence;
struct drm_gpuvm_bo;
struct list_head;
struct pagoda_bo;
struct pagoda_map;
struct pagoda_pt_update;
struct pagoda_table_memory;

/**
 * struct pagoda_books - A change of a VM's gpuva tree, whose nodes are struct pagoda_va
 * @vm: The VM
 * @spares: Nodes allocated in advance for mappings that the change makes
 * @dropped: Nodes removed from the tree, each with a reference to its allocation, which may be the
 *	last: such a reference must not be dropped with the allocation's reservation held
 * @now: Arguments of books_step_map() for the mapping that is being made: members of its node,
 *	whether the page tables don't show the mapping (invalidated), and its drm_gpuvm_bo
 */
struct pagoda_books {
	struct pagoda_vm *vm;
	struct list_head spares;
	struct list_head dropped;
	struct {
		u32 flags;
		u64 driver_protection;
		u64 window;
		bool invalidated;
		struct drm_gpuvm_bo *vm_bo;
	} now;
};

static inline bool pagoda_bind_is_map(const struct pagoda_bind *entry)
{
	return entry->type == DRM_PAGODA_BIND_MAP || entry->type == DRM_PAGODA_BIND_MAP_FENCE;
}

/* Returns the PAGODA_PTE_* flags that DRM_PAGODA_BIND_* flags ask for. */
static inline u64 pagoda_bind_pte_flags(u32 flags)
{
	return (flags & DRM_PAGODA_BIND_READ_ONLY ? PAGODA_PTE_READ_ONLY : 0) |
	       (flags & DRM_PAGODA_BIND_NO_EXECUTE ? PAGODA_PTE_NO_EXECUTE : 0);
}

/* table_memory.c: allocates and frees VRAM for a page table */
int pagoda_vm_table_alloc(struct pagoda_vm *vm, u32 size, struct pagoda_table_memory *memory);
void pagoda_vm_table_free(struct pagoda_vm *vm, struct pagoda_table_memory *memory,
			  struct dma_fence *fence);

/* fixed.c: counts a page table or save area in VRAM, or counts it no longer */
void pagoda_fixed_placed(struct pagoda_vm *vm, struct pagoda_bo *bo);
void pagoda_fixed_leaves(struct pagoda_vm *vm, struct pagoda_bo *bo);

/* bind_plan.c: the plan: how a VM's addresses will be mapped after all queued arrays */
void pagoda_plan_init(struct pagoda_vm *vm);
void pagoda_plan_fini(struct pagoda_vm *vm);
int pagoda_plan_array(struct pagoda_vm *vm, struct pagoda_bind *binds, u32 count, bool update,
		      struct list_head *undo);
void pagoda_plan_undo(struct pagoda_vm *vm, struct pagoda_bind *binds, u32 count,
		      struct list_head *undo);
void pagoda_plan_keep(struct list_head *undo);
void pagoda_plan_forget(struct pagoda_vm *vm, u64 address, u64 size, const struct pagoda_bo *bo);

/* bind_books.c: changes of a VM's gpuva tree, which can't fail after pagoda_books_init() */
int pagoda_books_init(struct pagoda_books *books, struct pagoda_vm *vm,
		      const struct pagoda_bind *binds, u32 count);
void pagoda_books_fini(struct pagoda_books *books);
void pagoda_books_note(struct pagoda_books *books, const struct pagoda_bind *entry,
		       struct drm_gpuvm_bo *vm_bo, bool shown);
void pagoda_books_unmap(struct pagoda_books *books, u64 address, u64 size);
extern const struct drm_gpuvm_ops pagoda_vm_ops;

/* bind_unique.c: checks driver protection with the unique bit */
int pagoda_unique_check(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count);

/* bind.c: applies a VM_BIND array */
int pagoda_bind_run(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count,
		    struct dma_fence **fence);

/* bind_queue.c: VM_BIND arrays, applied or queued */
void pagoda_bind_forget_waiting(struct pagoda_vm *vm, const struct pagoda_bo *bo);
void pagoda_bind_queue_init(struct pagoda_vm *vm);
int pagoda_vm_bind(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count,
		   struct dma_fence **fence);

/* change.c: changes of a VM's page tables */
int pagoda_vm_va_place_get(struct pagoda_va *va, struct pagoda_vm_place *place,
			   struct pagoda_map *map);
int pagoda_vm_place_get(struct pagoda_vm *vm, struct pagoda_bo *bo, u64 offset, u64 size,
			struct pagoda_vm_place *place, struct pagoda_map *map);
void pagoda_vm_place_put(struct pagoda_vm_place *place);
void pagoda_vm_note_last(struct pagoda_vm *vm, struct dma_fence *fence);
int pagoda_vm_commit(struct pagoda_vm *vm, struct pagoda_pt_update *update,
		     struct dma_fence **fence);
void pagoda_vm_bo_invalidate(struct pagoda_vm *vm, struct pagoda_bo *bo);

/* save.c: writes a changed root into save areas */
void pagoda_save_update_roots(struct pagoda_vm *vm);

/* rebind.c: makes mappings of allocations that moved valid again */
int pagoda_rebind_all(struct pagoda_vm *vm, struct dma_fence **fence);

/* room.c: makes page tables and save areas of a VM resident */
int pagoda_room_take(struct pagoda_vm *vm, struct pagoda_bo *bo);

/* vm.c and change.c: make a VM's mappings valid, or a range of a VM invalid */
int pagoda_vm_validate(struct pagoda_vm *vm, struct dma_fence **fence);
void pagoda_vm_invalidate_range(struct pagoda_vm *vm, struct dma_resv *resv, enum pagoda_vm_why why,
				u64 va, u64 size);

#endif
