// SPDX-License-Identifier: GPL-2.0
/* VMs on the rig; see vm_helpers.h. */
#include <linux/highmem.h>
#include "../drivers/vgpu/engine/internal.h"
#include "vm_helpers.h"

struct pagoda_vm *vmt_make(struct pagoda_rig *rig)
{
	struct pagoda_vm *vm = test_ok(rig->test, pagoda_vm_create(rig->vidmm, rig->client));

	return vm;
}

void vmt_drop(struct pagoda_vm *vm)
{
	pagoda_vm_close(vm);
	pagoda_vm_put(vm);
}

void vmt_number(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 base)
{
	u32 page, i;

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_system(bo));
	dma_resv_lock(bo->ttm.base.resv, NULL);
	if (!ttm_tt_is_populated(bo->ttm.ttm)) {
		struct ttm_operation_ctx ctx = {};

		KUNIT_ASSERT_EQ(rig->test, 0, ttm_bo_populate(&bo->ttm, &ctx));
	}
	for (page = 0; page < bo->ttm.ttm->num_pages; page++) {
		u32 *words = kmap_local_page(bo->ttm.ttm->pages[page]);

		for (i = 0; i < VM_WORDS; i++)
			words[i] = base + page * VM_WORDS + i;
		kunmap_local(words);
	}
	dma_resv_unlock(bo->ttm.base.resv);
}

struct pagoda_bo *vmt_bo(struct pagoda_rig *rig, u32 pages, u32 base)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, pages, VM_CPU, VM_VRAM | VM_APERTURE, 0);

	vmt_number(rig, bo, base);
	return bo;
}

int vmt_do(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count)
{
	struct dma_fence *fence;
	int ret = pagoda_vm_bind(vm, binds, count, &fence);

	if (!ret)
		dma_fence_put(fence);
	return ret;
}

int vmt_map(struct pagoda_vm *vm, struct pagoda_bo *bo, u64 address, u64 offset, u64 size,
	    u32 flags)
{
	return vmt_do(vm, &(struct pagoda_bind) {
		.type = DRM_PAGODA_BIND_MAP,
		.flags = flags,
		.bo = bo,
		.address = address,
		.size = size,
		.offset = offset,
	}, 1);
}

u32 vmt_take_addresses(struct pagoda_rig *rig, struct drm_mm_node *nodes, u32 most)
{
	struct pagoda_device_mmu *mmu = rig->vidmm->device_mmu;
	u32 count = 0;

	mutex_lock(&mmu->lock);
	while (count < most && !drm_mm_insert_node(&mmu->mm, &nodes[count], 1))
		count++;
	mutex_unlock(&mmu->lock);
	KUNIT_ASSERT_LT(rig->test, count, most);
	return count;
}

void vmt_give_addresses(struct pagoda_rig *rig, struct drm_mm_node *nodes, u32 count)
{
	struct pagoda_device_mmu *mmu = rig->vidmm->device_mmu;

	mutex_lock(&mmu->lock);
	while (count)
		drm_mm_remove_node(&nodes[--count]);
	mutex_unlock(&mmu->lock);
}

int vmt_set(struct pagoda_vm *vm, u32 type, u64 address, u64 size)
{
	return vmt_do(vm, &(struct pagoda_bind) {
		.type = type,
		.address = address,
		.size = size,
	}, 1);
}

int vmt_copy(struct pagoda_vm *vm, u64 from, u64 to, u64 size)
{
	return vmt_do(vm, &(struct pagoda_bind) {
		.type = DRM_PAGODA_BIND_COPY,
		.address = to,
		.size = size,
		.offset = from,
	}, 1);
}

int vmt_bring_entered(struct pagoda_vm *vm, struct pagoda_context *context)
{
	int ret;

	mutex_lock(&vm->lock);
	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	ret = pagoda_vm_make_tables_resident(vm);
	if (!ret && context)
		ret = pagoda_save_validate(&context->save);
	dma_resv_unlock(pagoda_vm_resv(vm));
	mutex_unlock(&vm->lock);
	return ret;
}

int vmt_bring(struct pagoda_vm *vm, struct pagoda_context *context)
{
	int ret;

	pagoda_enter_anyway(vm->vidmm);
	ret = vmt_bring_entered(vm, context);
	pagoda_leave(vm->vidmm);
	return ret;
}

int vmt_validate(struct pagoda_vm *vm)
{
	struct dma_fence *fence = NULL;
	int ret;

	pagoda_enter_anyway(vm->vidmm);
	ret = pagoda_vm_validate(vm, &fence);
	pagoda_leave(vm->vidmm);
	dma_fence_put(fence);
	return ret;
}

u32 vmt_evict_tables(struct pagoda_rig *rig)
{
	struct ttm_placement nowhere = {};
	struct ttm_operation_ctx ctx = {};
	struct pagoda_bo *bo;
	unsigned long id;
	u32 count = 0;

	xa_for_each(&rig->vidmm->bos, id, bo) {
		if (!bo->vm.table_of)
			continue;
		drm_gem_object_get(&bo->ttm.base);
		dma_resv_lock(bo->ttm.base.resv, NULL);
		pagoda_vm_table_evict(bo);
		KUNIT_EXPECT_EQ(rig->test, 0, ttm_bo_validate(&bo->ttm, &nowhere, &ctx));
		dma_resv_unlock(bo->ttm.base.resv);
		drm_gem_object_put(&bo->ttm.base);
		count++;
	}
	return count;
}

u32 vmt_reach(struct pagoda_rig *rig, u32 space, u64 va, u32 size, u32 access, void **here)
{
	struct pagoda_engine_run run;
	struct pagoda_exec exec = { .engine = &rig->engine, .run = &run };
	struct pagoda_virtual_span span;
	u32 reason;

	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, VIRTIO_PAGODA_QUEUE_PAGING, 1);
	pagoda_shim_read_lock(&rig->engine.translation);
	reason = pagoda_engine_virtual_span(&exec, space, va, size, access, &span);
	pagoda_shim_read_unlock(&rig->engine.translation);
	*here = reason ? NULL : span.here;
	return reason;
}

u32 vmt_peek(struct pagoda_rig *rig, u32 space, u64 va, u32 access, u32 *value)
{
	void *here;
	u32 reason = vmt_reach(rig, space, va, sizeof(*value), access, &here);

	if (!reason)
		*value = here ? *(u32 *)here : 0;
	return reason;
}

u32 vmt_read(struct pagoda_rig *rig, u32 space, u64 va, u32 access, u32 *value)
{
	pagoda_rig_settle(rig);
	return vmt_peek(rig, space, va, access, value);
}

u32 vmt_fault(struct pagoda_rig *rig, u32 space, u64 va)
{
	u32 value;

	return vmt_read(rig, space, va, VIRTIO_PAGODA_ACCESS_READ, &value);
}

void vmt_expect(struct pagoda_rig *rig, u32 space, u64 va, u32 want)
{
	u32 value = ~want;

	KUNIT_EXPECT_EQ(rig->test, VIRTIO_PAGODA_FAULT_NONE,
			vmt_read(rig, space, va, VIRTIO_PAGODA_ACCESS_READ, &value));
	KUNIT_EXPECT_EQ(rig->test, want, value);
}
