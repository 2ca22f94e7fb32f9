/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations that the files about VM_BIND share.
 *
 *	bind.c		applies an array to the page tables
 *	bind_plan.c	decides whether an array may be accepted: addresses as they will
 *			be after all arrays accepted before
 *	bind_books.c	the gpuva tree: mappings that the page tables show
 *	bind_unique.c	driver protection that no other mapping may contradict
 *	bind_queue.c	arrays that wait
 */
#ifndef PAGODA_VIDMM_BIND_H
#define PAGODA_VIDMM_BIND_H

#include "internal.h"

struct list_head;

/* ---- The plan (bind_plan.c); pagoda_vm.lock is held ------------------------ */

void pagoda_plan_init(struct pagoda_vm *vm);
void pagoda_plan_fini(struct pagoda_vm *vm);
int pagoda_plan_array(struct pagoda_vm *vm, struct pagoda_bind *binds, u32 count, bool update,
		      struct list_head *undo);
void pagoda_plan_undo(struct pagoda_vm *vm, struct pagoda_bind *binds, u32 count,
		      struct list_head *undo);
void pagoda_plan_keep(struct list_head *undo);
void pagoda_plan_forget(struct pagoda_vm *vm, u64 address, u64 size, const struct pagoda_bo *bo);

/* ---- The gpuva tree (bind_books.c); pagoda_vm.lock and reservations are held - */

/**
 * struct pagoda_books - A change of a VM's gpuva tree
 * @vm: The VM
 * @spares: Nodes that may be needed
 * @dropped: Nodes that were removed, each with a reference to its allocation: the last one must
 *	not go while the allocation's reservation is held
 * @now: The entry that is being mapped: fields of its node, whether the page tables don't show
 *	it, and its link
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

int pagoda_books_init(struct pagoda_books *books, struct pagoda_vm *vm,
		      const struct pagoda_bind *binds, u32 count);
void pagoda_books_fini(struct pagoda_books *books);
void pagoda_books_note(struct pagoda_books *books, const struct pagoda_bind *entry,
		       struct drm_gpuvm_bo *vm_bo, bool shown);
void pagoda_books_unmap(struct pagoda_books *books, u64 address, u64 size);

/* ---- Driver protection (bind_unique.c); pagoda_vm.lock and reservations are held */

int pagoda_unique_check(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count);

/* ---- Running an array (bind.c), arrays that wait (bind_queue.c) ------------- */

int pagoda_bind_run(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count,
		    struct dma_fence **fence);
void pagoda_bind_forget_waiting(struct pagoda_vm *vm, const struct pagoda_bo *bo);
void pagoda_bind_queue_init(struct pagoda_vm *vm);

/* Returns whether the entry maps an allocation. */
static inline bool pagoda_bind_is_map(const struct pagoda_bind *entry)
{
	return entry->type == DRM_PAGODA_BIND_MAP || entry->type == DRM_PAGODA_BIND_MAP_FENCE;
}

#endif
