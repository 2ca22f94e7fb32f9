/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_VM_HELPERS_H
#define PAGODA_KUNIT_VM_HELPERS_H

#include <linux/sizes.h>
#include "rig/rig.h"

/*
 * VMs on the rig: creation, VM_BIND, and what the GPU finds at a virtual address, which the rig's
 * engine translates.
 */

#define VM_VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define VM_APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define VM_CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define VM_WORDS	((u32)(PAGE_SIZE / sizeof(u32)))

struct pagoda_vm *vmt_make(struct pagoda_rig *rig);
void vmt_drop(struct pagoda_vm *vm);

/*
 * vmt_bo() returns a new allocation in system memory, usable in VRAM and the aperture, whose 32-bit
 * words count up from @base; vmt_number() moves an allocation to system memory and writes such
 * words.
 */
struct pagoda_bo *vmt_bo(struct pagoda_rig *rig, u32 pages, u32 base);
void vmt_number(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 base);

/*
 * Do VM_BIND without syncobjs, of an array or of one MAP. Return VM_BIND's result; the fence is
 * dropped.
 */
int vmt_do(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count);
int vmt_map(struct pagoda_vm *vm, struct pagoda_bo *bo, u64 address, u64 offset, u64 size,
	    u32 flags);
/* Do VM_BIND without syncobjs, of an entry with only a type and a range, or of one COPY. */
int vmt_set(struct pagoda_vm *vm, u32 type, u64 address, u64 size);
int vmt_copy(struct pagoda_vm *vm, u64 from, u64 to, u64 size);
/*
 * Makes the VM's page tables, and the save area of @context unless that is NULL, resident again,
 * and restores what a reset of the device lost of these, as SUBMIT does. Returns 0 or a negative
 * errno. The caller of vmt_bring_entered() is in a section.
 */
int vmt_bring(struct pagoda_vm *vm, struct pagoda_context *context);
int vmt_bring_entered(struct pagoda_vm *vm, struct pagoda_context *context);
/* Makes mappings of resident allocations that aren't offered valid. Returns 0 or negative errno. */
int vmt_validate(struct pagoda_vm *vm);
/*
 * vmt_take_addresses() takes all free device addresses, page by page; returns the number of pages,
 * fewer than @most, the number of pages that the device's MMU can map. vmt_give_addresses() gives
 * them back.
 */
u32 vmt_take_addresses(struct pagoda_rig *rig, struct drm_mm_node *nodes, u32 most);
void vmt_give_addresses(struct pagoda_rig *rig, struct drm_mm_node *nodes, u32 count);
/* Evicts all page tables of all VMs, which are idle; returns the number of page tables. */
u32 vmt_evict_tables(struct pagoda_rig *rig);

/*
 * Translates an address as the device would, by page tables as they are now; returns the fault
 * reason, with NULL in @here, or NONE, with the memory's kernel address in @here, NULL for zeros.
 */
u32 vmt_reach(struct pagoda_rig *rig, u32 space, u64 va, u32 size, u32 access, void **here);
/*
 * Read a 32-bit word of an address space after the checks for @access, as the device would; return
 * the fault reason, or NONE with the word in @value. vmt_read() first waits until the paging queue
 * is idle, vmt_peek() doesn't.
 */
u32 vmt_peek(struct pagoda_rig *rig, u32 space, u64 va, u32 access, u32 *value);
u32 vmt_read(struct pagoda_rig *rig, u32 space, u64 va, u32 access, u32 *value);
/* Wait until the paging queue is idle; return the fault reason of a read, or expect @want there. */
u32 vmt_fault(struct pagoda_rig *rig, u32 space, u64 va);
void vmt_expect(struct pagoda_rig *rig, u32 space, u64 va, u32 want);

#endif
