/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_VM_HELPERS_H
#define PAGODA_KUNIT_VM_HELPERS_H

#include <linux/sizes.h>
#include "rig/rig.h"

/* VMs on the rig, and what the GPU finds at a virtual address, as the engine translates it. */

#define VM_VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define VM_APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define VM_CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define VM_WORDS	((u32)(PAGE_SIZE / sizeof(u32)))

struct pagoda_vm *vmt_make(struct pagoda_rig *rig);
void vmt_drop(struct pagoda_vm *vm);

/*
 * vmt_bo() returns an allocation in system memory whose words count up from @base; vmt_number()
 * writes such words into an existing allocation.
 */
struct pagoda_bo *vmt_bo(struct pagoda_rig *rig, u32 pages, u32 base);
void vmt_number(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 base);

/* VM_BIND that waits for nothing; the fence is dropped. */
int vmt_do(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count);
int vmt_map(struct pagoda_vm *vm, struct pagoda_bo *bo, u64 address, u64 offset, u64 size,
	    u32 flags);
/* One entry that has only a type and a range. */
int vmt_set(struct pagoda_vm *vm, u32 type, u64 address, u64 size);
int vmt_copy(struct pagoda_vm *vm, u64 from, u64 to, u64 size);
int vmt_validate(struct pagoda_vm *vm);
/* Evicts all page tables of all VMs, which are idle; returns their number. */
u32 vmt_evict_tables(struct pagoda_rig *rig);

/*
 * Translates an address as the device would; returns the fault reason, or NONE with the address of
 * the memory in @here, NULL for zeros. The paging queue should be idle.
 */
u32 vmt_reach(struct pagoda_rig *rig, u32 space, u64 va, u32 size, u32 access, void **here);
/*
 * Read a word through an address space as the device would; return the fault reason, or NONE with
 * the word in @value. vmt_read() waits until the paging queue is idle, vmt_peek() doesn't.
 */
u32 vmt_peek(struct pagoda_rig *rig, u32 space, u64 va, u32 access, u32 *value);
u32 vmt_read(struct pagoda_rig *rig, u32 space, u64 va, u32 access, u32 *value);
u32 vmt_fault(struct pagoda_rig *rig, u32 space, u64 va);
void vmt_expect(struct pagoda_rig *rig, u32 space, u64 va, u32 want);

#endif
