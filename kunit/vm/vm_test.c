// SPDX-License-Identifier: GPL-2.0
/*
 * Address spaces of clients on the rig: what the engine finds at an address while allocations and
 * page tables move or go, and handles are closed; the root that save areas name; threads that wait
 * for a VM's lock or jobs, which mustn't hold up other threads.
 */
#include <linux/delay.h>
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>
#include <drm/drm_file.h>
#include <kunit/static_stub.h>
#include "queue/queue_helpers.h"
#include "uapi/args.h"
#include "vidmm/vm/vm.h"
#include "vm_helpers.h"

#define HERE		SZ_4M

static bool vm_by_cpu(struct pagoda_rig *rig)
{
	return pagoda_mmu_mode(rig->vidmm->mmu) == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL;
}

/*
 * The GPU finds the allocation's content at mapped addresses, zeros where MAP_ZERO was, and faults
 * at unmapped addresses and on a write to a read-only mapping.
 */
static void vm_shows_what_is_mapped(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = vmt_bo(rig, 8, 1000);
	u32 value;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, 8 * PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE + SZ_1G, 2 * PAGE_SIZE, PAGE_SIZE,
					 DRM_PAGODA_BIND_READ_ONLY));
	vmt_expect(rig, vm->id, HERE + 3 * PAGE_SIZE, 1000 + 3 * 1024);
	vmt_expect(rig, vm->id, HERE + SZ_1G + 8, 1000 + 2 * 1024 + 2);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
			vmt_fault(rig, vm->id, HERE + 8 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_READ_ONLY,
			vmt_read(rig, vm->id, HERE + SZ_1G, VIRTIO_PAGODA_ACCESS_WRITE, &value));

	/* Cut a hole, and map zeros into half of it. */
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE + 2 * PAGE_SIZE,
					 2 * PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, vmt_do(vm, &(struct pagoda_bind) {
		.type = DRM_PAGODA_BIND_MAP_ZERO,
		.address = HERE + 2 * PAGE_SIZE,
		.size = PAGE_SIZE,
	}, 1));
	vmt_expect(rig, vm->id, HERE + PAGE_SIZE, 1000 + 1024);
	vmt_expect(rig, vm->id, HERE + 2 * PAGE_SIZE, 0);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
			vmt_fault(rig, vm->id, HERE + 3 * PAGE_SIZE));
	vmt_expect(rig, vm->id, HERE + 4 * PAGE_SIZE, 1000 + 4 * 1024);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/*
 * Mapped addresses lead to the allocation's place in VRAM or the aperture segment once
 * vmt_validate() was called, and fault while it isn't resident and after its handle was closed.
 */
static void vm_follows_moves(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = vmt_bo(rig, 4, 5);

	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, 4 * PAGE_SIZE, 0));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, vmt_fault(rig, vm->id, HERE));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(vm));
	PAGODA_PROVES(C105, C140, C141);
	vmt_expect(rig, vm->id, HERE + PAGE_SIZE, 5 + 1024);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, vmt_fault(rig, vm->id, HERE));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(vm));
	vmt_expect(rig, vm->id, HERE + PAGE_SIZE, 5 + 1024);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(vm));
	vmt_expect(rig, vm->id, HERE + 3 * PAGE_SIZE, 5 + 3 * 1024);
	pagoda_vm_forget(vm, bo);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, vmt_fault(rig, vm->id, HERE));
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/*
 * When a client closes the handle of an allocation, all VMs of the client lose their mappings of
 * the allocation; VMs of other clients keep theirs.
 */
static void vm_forgets_with_the_handle(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_client *client = pagoda_client_create(rig->vidmm);
	struct pagoda_vm *vms[3] = { vmt_make(rig), vmt_make(rig) };
	struct pagoda_bo *bo = vmt_bo(rig, 4, 5);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, client);
	vms[2] = test_ok(test, pagoda_vm_create(rig->vidmm, client));
	pagoda_client_put(client);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	for (i = 0; i < ARRAY_SIZE(vms); i++)
		KUNIT_ASSERT_EQ(test, 0, vmt_map(vms[i], bo, HERE, 0, 4 * PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vms[1], bo, HERE + SZ_2M, 0, 4 * PAGE_SIZE, 0));
	pagoda_client_forget(rig->client, bo);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
				vmt_fault(rig, vms[i]->id, HERE));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
			vmt_fault(rig, vms[1]->id, HERE + SZ_2M));
	vmt_expect(rig, vms[2]->id, HERE, 5);
	pagoda_rig_close(bo);
	for (i = 0; i < ARRAY_SIZE(vms); i++)
		vmt_drop(vms[i]);
}

/* Number of struct pagoda_vram_resource that vm_few_vram() still allocates. */
static u32 vm_resources_left;

static struct pagoda_vram_resource *vm_few_vram(void)
{
	if (!vm_resources_left)
		return NULL;
	vm_resources_left--;
	return kzalloc(sizeof(struct pagoda_vram_resource), GFP_KERNEL);
}

static struct pagoda_aperture_resource *vm_no_aperture(void)
{
	return NULL;
}

/*
 * Makes the page tables resident as vmt_bring(), but with memory for @resources TTM resources in
 * VRAM and for none in the aperture segment.
 */
static int vm_bring_with(struct kunit *test, struct pagoda_vm *vm, u32 resources)
{
	int ret;

	vm_resources_left = resources;
	kunit_activate_static_stub(test, pagoda_vram_new_resource, vm_few_vram);
	kunit_activate_static_stub(test, pagoda_aperture_new_resource, vm_no_aperture);
	ret = vmt_bring(vm, NULL);
	kunit_deactivate_static_stub(test, pagoda_aperture_new_resource);
	kunit_deactivate_static_stub(test, pagoda_vram_new_resource);
	return ret;
}

/* Makes page tables and save area resident, and expects that the save area names the root. */
static void vm_expect_root(struct pagoda_rig *rig, struct pagoda_context *context)
{
	const u64 offset = offsetof(struct virtio_pagoda_context_image, root_address);
	struct pagoda_vm *vm = context->vm;
	struct pagoda_bo *save = context->save.bo;
	struct pagoda_root root;
	void *image;

	KUNIT_ASSERT_EQ(rig->test, 0, vmt_bring(vm, context));
	pagoda_rig_settle(rig);
	image = save->ttm.resource->mem_type == TTM_PL_VRAM ?
		rig->engine.vram + ((u64)save->ttm.resource->start << PAGE_SHIFT) :
		page_address(save->ttm.ttm->pages[0]);
	pagoda_space_root(vm->space, &root);
	KUNIT_EXPECT_EQ(rig->test, root.address, le64_to_cpup(image + offset));
}

/*
 * The save area and page tables in VRAM are evicted; the tables return, with the root elsewhere,
 * all or as many as memory suffices for. When the save area returns, too, it names the new root.
 */
static void vm_root_is_named_later(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = vmt_bo(rig, 2, 7), *takers[8];
	struct pagoda_context *context = pagoda_context_create(vm, 0, DRM_PAGODA_PRIORITY_NORMAL);
	struct ttm_place place = { .mem_type = TTM_PL_VRAM };
	struct pagoda_root root;
	u32 n, brought = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(context));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, 2 * PAGE_SIZE, 0));
	for (n = 0; n < ARRAY_SIZE(takers); n++) {
		pagoda_space_root(vm->space, &root);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(context->save.bo));
		takers[n] = vmt_bo(rig, 1, n);
		if (vmt_evict_tables(rig)) {
			pagoda_rig_settle_freed(rig);
			/* Take the root's place, so that the root returns to another place. */
			place.fpfn = root.address >> PAGE_SHIFT;
			place.lpfn = place.fpfn + 1;
			KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(takers[n], &place, false));
		}
		brought += !vm_bring_with(test, vm, n);
		vm_expect_root(rig, context);
	}
	KUNIT_EXPECT_LT(test, 0u, brought);
	for (n = 0; n < ARRAY_SIZE(takers); n++)
		pagoda_rig_close(takers[n]);
	pagoda_context_destroy(context);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/* Returns how many page tables in VRAM TTM may evict now; stores the number of all in *@tables. */
static u32 vm_count_evictable(struct pagoda_rig *rig, u32 *tables)
{
	static const struct ttm_place vram = { .mem_type = TTM_PL_VRAM };
	struct pagoda_bo *bo;
	unsigned long id;
	u32 count = 0;

	*tables = 0;
	xa_for_each(&rig->vidmm->bos, id, bo) {
		if (!bo->vm.table_of)
			continue;
		dma_resv_lock(bo->ttm.base.resv, NULL);
		count += rig->vidmm->ttm.funcs->eviction_valuable(&bo->ttm, &vram);
		dma_resv_unlock(bo->ttm.base.resv);
		++*tables;
	}
	return count;
}

static void vm_tables_stay_while_busy(struct pagoda_rig *rig, struct pagoda_vm *vm)
{
	struct dma_fence *fence = pagoda_test_fence(rig->test);
	u32 tables;

	pagoda_rig_add_fence(rig->test, pagoda_vm_resv(vm), fence, DMA_RESV_USAGE_BOOKKEEP);
	KUNIT_EXPECT_EQ(rig->test, 0u, vm_count_evictable(rig, &tables));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(rig->test, tables, vm_count_evictable(rig, &tables));
}

/*
 * Page tables aren't evicted while a job of their VM is in flight. Addresses whose page tables were
 * evicted fault until the next change of the VM brings the tables back.
 */
static void vm_tables_come_back(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = vmt_bo(rig, 4, 77);
	bool evictable;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, 4 * PAGE_SIZE, 0));
	vmt_expect(rig, vm->id, HERE, 77);
	PAGODA_PROVES(C123);
	vm_tables_stay_while_busy(rig, vm);
	evictable = vmt_evict_tables(rig);
	KUNIT_EXPECT_EQ(test, evictable, !vm_by_cpu(rig));
	if (evictable)
		KUNIT_EXPECT_NE(test, VIRTIO_PAGODA_FAULT_NONE, vmt_fault(rig, vm->id, HERE));
	/* A change at any address brings all tables back. */
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, SZ_1G, PAGE_SIZE));
	vmt_expect(rig, vm->id, HERE + PAGE_SIZE, 77 + 1024);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/*
 * COPY copies mappings, by COPY_PAGE_TABLE_ENTRIES unless the CPU writes page tables; when the
 * allocation moves, the copies follow.
 */
static void vm_copies_late(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = vmt_bo(rig, 4, 400);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, 4 * PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_do(vm, &(struct pagoda_bind) {
		.type = DRM_PAGODA_BIND_COPY,
		.address = HERE + SZ_2M + PAGE_SIZE,
		.offset = HERE + PAGE_SIZE,
		.size = 2 * PAGE_SIZE,
	}, 1));
	vmt_expect(rig, vm->id, HERE + SZ_2M + PAGE_SIZE, 400 + 1024);
	vmt_expect(rig, vm->id, HERE + SZ_2M + 2 * PAGE_SIZE, 400 + 2 * 1024);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
			vmt_fault(rig, vm->id, HERE + SZ_2M + 3 * PAGE_SIZE));
	PAGODA_PROVES(C112);
	KUNIT_EXPECT_EQ(test, !pagoda_rig_count(rig, VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES, 0),
			vm_by_cpu(rig));
	/* Original and copy follow moves. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
			vmt_fault(rig, vm->id, HERE + SZ_2M + PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(vm));
	vmt_expect(rig, vm->id, HERE + SZ_2M + 2 * PAGE_SIZE, 400 + 2 * 1024);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/*
 * In an array whose COPY entries each copy what the entry before has copied, the memory that is
 * allocated in advance for new mappings is enough for every entry.
 */
static void vm_copies_of_copies(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = vmt_bo(rig, 16, 500);
	struct pagoda_bind binds[6];
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	for (i = 0; i < 16; i++)
		KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE + i * PAGE_SIZE,
						 (15 - i) * PAGE_SIZE, PAGE_SIZE, 0));
	for (i = 0; i < ARRAY_SIZE(binds); i++)
		binds[i] = (struct pagoda_bind) {
			.type = DRM_PAGODA_BIND_COPY,
			.offset = HERE + i * SZ_2M,
			.address = HERE + (i + 1) * SZ_2M,
			.size = 16 * PAGE_SIZE,
		};
	KUNIT_ASSERT_EQ(test, 0, vmt_do(vm, binds, ARRAY_SIZE(binds)));
	for (i = 0; i < 16; i++)
		vmt_expect(rig, vm->id, HERE + 6 * SZ_2M + i * PAGE_SIZE, 500 + (15 - i) * 1024);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/* Returns the image in the save area of the context with id @context; NULL if VRAM has none. */
static const struct virtio_pagoda_context_image *vm_image(struct pagoda_rig *rig, u64 context)
{
	const struct pagoda_rig_note *note;
	const struct virtio_pagoda_context_image *image;
	u64 at;

	note = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE, 0, 0);
	KUNIT_ASSERT_NOT_NULL(rig->test, note);
	for (at = 0; at < rig->engine.vram_size; at += PAGE_SIZE) {
		image = (const void *)(rig->engine.vram + at);
		if (le64_to_cpu(image->magic) == VIRTIO_PAGODA_CONTEXT_MAGIC &&
		    le64_to_cpu(image->context) == context)
			return image;
	}
	return NULL;
}

/* A context's save area names the VM's root, from its creation on and after the root has moved. */
static void vm_contexts_know_the_root(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	const struct virtio_pagoda_context_image *image;
	struct pagoda_bo *bo = vmt_bo(rig, 1, 3);
	struct pagoda_context *context;
	struct pagoda_root root;
	bool evictable;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, PAGE_SIZE, 0));
	context = test_ok(test, pagoda_context_create(vm, 0, DRM_PAGODA_PRIORITY_NORMAL));
	image = vm_image(rig, 1);
	KUNIT_ASSERT_NOT_NULL(test, image);
	pagoda_space_root(vm->space, &root);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(image->root_address), root.address);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(image->root_entries), root.entries);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(image->root_segment), root.segment);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(image->address_space), vm->id);

	evictable = vmt_evict_tables(rig);
	KUNIT_EXPECT_EQ(test, evictable, !vm_by_cpu(rig));
	if (evictable) {
		/* Another allocation may take the root's old place. */
		struct pagoda_bo *other = vmt_bo(rig, 1, 9);
		u64 before = root.address;

		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(other));
		KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, SZ_1G, PAGE_SIZE));
		pagoda_space_root(vm->space, &root);
		PAGODA_PROVES(C84);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(image->root_address), root.address);
		kunit_info(test, "root moved from 0x%llx to 0x%llx", before, root.address);
		pagoda_rig_close(other);
	}
	vmt_expect(rig, vm->id, HERE, 3);
	pagoda_context_destroy(context);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/* ---- Waits for a VM's lock and for its jobs -------------------------------------------- */

#define LIMIT		(300 * HZ)

/*
 * A work item that destroys the VM with id 1 if @destroy, else validates the mappings of the
 * client's VMs; @ret is the result.
 */
struct vm_call {
	struct pagoda_rig *rig;
	bool destroy;
	int ret;
	struct work_struct work;
};

static void vm_call_run(struct work_struct *work)
{
	struct vm_call *call = container_of(work, struct vm_call, work);
	struct pagoda_rig *rig = call->rig;
	struct drm_pagoda_vm_destroy args = { .vm = 1 };
	struct drm_file file = { .driver_priv = rig->client };
	struct dma_fence *fence = NULL;

	if (call->destroy) {
		call->ret = pagoda_ioctl_vm_destroy(rig->drm, &args, &file);
		return;
	}
	pagoda_enter_anyway(rig->vidmm);
	call->ret = pagoda_client_validate(rig->client, &fence);
	pagoda_leave(rig->vidmm);
	dma_fence_put(fence);
}

/*
 * Queues two work items that wait for the VM's lock, which the test holds; returns when each has
 * taken a reference to the VM.
 */
static void vm_begin(struct vm_call *calls, struct pagoda_vm *vm)
{
	struct kunit *test = calls->rig->test;
	u32 i, before = kref_read(&vm->base.kref);
	unsigned long end = jiffies + LIMIT;

	for (i = 0; i < 2; i++) {
		INIT_WORK_ONSTACK(&calls[i].work, vm_call_run);
		queue_work(system_dfl_wq, &calls[i].work);
	}
	while (kref_read(&vm->base.kref) < before + 2 && time_before(jiffies, end))
		fsleep(100);
	KUNIT_EXPECT_EQ(test, before + 2, kref_read(&vm->base.kref));
}

/* Expects that the client's lock, which look-ups by id take, is free within a second. */
static void vm_expect_lookups(struct kunit *test, struct pagoda_client *client)
{
	unsigned long end = jiffies + HZ;
	bool locked;

	while (!(locked = mutex_trylock(&client->lock)) && time_before(jiffies, end))
		fsleep(100);
	KUNIT_EXPECT_TRUE(test, locked);
	if (locked)
		mutex_unlock(&client->lock);
}

static void vm_end(struct vm_call *calls)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		flush_work(&calls[i].work);
		destroy_work_on_stack(&calls[i].work);
	}
}

/* While threads of a client wait for the lock of a VM, look-ups by id of the client don't wait. */
static void vm_lookups_wait_for_no_vm(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct vm_call calls[2] = { { .rig = rig, .ret = 1 }, { .rig = rig, .ret = 1 } };
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = vmt_bo(rig, 4, 5);

	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, 4 * PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_FALSE(test, list_empty(&vm->base.evict.list));
	KUNIT_ASSERT_EQ(test, 0,
			xa_err(xa_store(&rig->client->objects[PAGODA_OBJECT_VM], 1, vm,
					GFP_KERNEL)));
	mutex_lock(&vm->lock);
	vm_begin(calls, vm);
	vm_expect_lookups(test, rig->client);
	mutex_unlock(&vm->lock);
	vm_end(calls);
	KUNIT_EXPECT_EQ(test, 0, calls[0].ret);
	KUNIT_EXPECT_EQ(test, 0, calls[1].ret);
	vmt_expect(rig, vm->id, HERE, 5);
	xa_erase(&rig->client->objects[PAGODA_OBJECT_VM], 1);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/*
 * Look-ups by id don't wait while a VM is being destroyed. If two threads destroy the VM at the
 * same time, one gets 0, the other -ENOENT.
 */
static void vm_is_destroyed_once(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct vm_call calls[2] = {
		{ .rig = rig, .destroy = true, .ret = 1 },
		{ .rig = rig, .destroy = true, .ret = 1 },
	};
	struct pagoda_vm *vm = vmt_make(rig);

	KUNIT_ASSERT_EQ(test, 0,
			xa_err(xa_store(&rig->client->objects[PAGODA_OBJECT_VM], 1, vm,
					GFP_KERNEL)));
	pagoda_vm_get(vm);
	mutex_lock(&vm->lock);
	vm_begin(calls, vm);
	vm_expect_lookups(test, rig->client);
	mutex_unlock(&vm->lock);
	vm_end(calls);
	KUNIT_EXPECT_EQ(test, -ENOENT, calls[0].ret + calls[1].ret);
	KUNIT_EXPECT_TRUE(test, !calls[0].ret || !calls[1].ret);
	KUNIT_EXPECT_NULL(test, xa_load(&rig->client->objects[PAGODA_OBJECT_VM], 1));
	KUNIT_EXPECT_TRUE(test, vm->closed);
	KUNIT_EXPECT_EQ(test, 0, vmt_validate(vm));
	pagoda_vm_put(vm);
}

struct vm_closing {
	struct pagoda_vm *vm;
	struct work_struct work;
};

static void vm_closing_run(struct work_struct *work)
{
	vmt_drop(container_of(work, struct vm_closing, work)->vm);
}

/*
 * Closing a VM waits for the VM's jobs; closing sections, as for a sleep, and a reset don't wait
 * for the thread that closes the VM.
 */
static void vm_waits_outside_of_sections(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct vm_closing closing = { .vm = vmt_make(rig) };
	struct dma_fence *job = pagoda_test_fence(test);

	pagoda_rig_add_fence(test, pagoda_vm_resv(closing.vm), job, DMA_RESV_USAGE_BOOKKEEP);
	INIT_WORK_ONSTACK(&closing.work, vm_closing_run);
	queue_work(system_dfl_wq, &closing.work);
	while (!READ_ONCE(closing.vm->closed))
		fsleep(USEC_PER_MSEC);
	schedule_timeout_uninterruptible(HZ / 20 ?: 1);
	pagoda_sections_close(rig->vidmm);
	pagoda_sections_open(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_EXPECT_TRUE(test, work_busy(&closing.work));
	dma_fence_signal(job);
	dma_fence_put(job);
	flush_work(&closing.work);
	destroy_work_on_stack(&closing.work);
}

struct vm_interrupted {
	struct pagoda_vm *vm;
	struct completion done;
	int ret;
};

static int vm_interrupted_run(void *data)
{
	struct vm_interrupted *call = data;
	struct dma_fence *fence = NULL;

	allow_signal(SIGINT);
	send_sig(SIGINT, current, 1);
	call->ret = pagoda_vm_validate(call->vm, &fence);
	dma_fence_put(fence);
	complete(&call->done);
	return 0;
}

/* Starts a thread that is interrupted in pagoda_vm_validate(); returns whether the call ends. */
static bool vm_interrupt(struct kunit *test, struct vm_interrupted *call)
{
	struct task_struct *task;

	init_completion(&call->done);
	task = kthread_run(vm_interrupted_run, call, "pagoda-vm");
	KUNIT_EXPECT_FALSE(test, IS_ERR(task));
	return IS_ERR(task) || wait_for_completion_timeout(&call->done, 10 * HZ);
}

/* Expects that the call ended although the lock that the call waited for was held until now. */
static void vm_expect_interrupted(struct kunit *test, struct vm_interrupted *call, bool ended)
{
	KUNIT_EXPECT_TRUE(test, ended);
	if (!ended)
		wait_for_completion(&call->done);
	KUNIT_EXPECT_EQ(test, -EINTR, call->ret);
	KUNIT_EXPECT_FALSE(test, list_empty(&call->vm->base.evict.list));
}

/*
 * A signal ends the wait of pagoda_vm_validate() for the VM's lock, and for its reservation
 * (-EINTR); mappings stay invalid until a call succeeds.
 */
static void vm_validation_is_interrupted(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = vmt_bo(rig, 1, 1000);
	struct vm_interrupted call = { .vm = vm };
	bool ended;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_FALSE(test, list_empty(&vm->base.evict.list));
	mutex_lock(&vm->lock);
	ended = vm_interrupt(test, &call);
	mutex_unlock(&vm->lock);
	vm_expect_interrupted(test, &call, ended);
	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	ended = vm_interrupt(test, &call);
	dma_resv_unlock(pagoda_vm_resv(vm));
	vm_expect_interrupted(test, &call, ended);
	KUNIT_EXPECT_EQ(test, 0, vmt_validate(vm));
	KUNIT_EXPECT_TRUE(test, list_empty(&vm->base.evict.list));
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/* Expects that the save area of each context is in VRAM and names the VM's current root. */
static void vm_expect_roots(struct pagoda_rig *rig, struct pagoda_vm *vm,
			    struct pagoda_context **contexts, u32 count)
{
	const struct virtio_pagoda_context_image *image;
	struct pagoda_root root;
	u32 i;

	pagoda_rig_settle(rig);
	pagoda_space_root(vm->space, &root);
	for (i = 0; i < count; i++) {
		struct ttm_resource *res = contexts[i]->save.bo->ttm.resource;

		KUNIT_ASSERT_EQ(rig->test, TTM_PL_VRAM, res->mem_type);
		image = (const void *)(rig->engine.vram + (res->start << PAGE_SHIFT));
		KUNIT_EXPECT_EQ(rig->test, contexts[i]->id, le64_to_cpu(image->context));
		KUNIT_EXPECT_EQ_MSG(rig->test, root.address, le64_to_cpu(image->root_address),
				    "context %u", i);
		KUNIT_EXPECT_EQ_MSG(rig->test, root.entries, le64_to_cpu(image->root_entries),
				    "context %u", i);
	}
}

/*
 * The save areas of all contexts of a VM name the VM's root: when a further context is created,
 * after page tables were evicted and came back, and after resets.
 */
static void vm_contexts_all_know_the_root(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = vmt_bo(rig, 1, 3), *other = vmt_bo(rig, 1, 9);
	struct pagoda_context *contexts[3];
	u32 i, n;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, PAGE_SIZE, 0));
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		contexts[i] = pagoda_context_create(vm, 0, DRM_PAGODA_PRIORITY_NORMAL);
		KUNIT_ASSERT_FALSE(test, IS_ERR(contexts[i]));
		vm_expect_roots(rig, vm, contexts, i + 1);
	}
	if (vmt_evict_tables(rig)) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(other));
		KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, SZ_1G, PAGE_SIZE));
		vm_expect_roots(rig, vm, contexts, ARRAY_SIZE(contexts));
	}
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
		for (n = 0; n < ARRAY_SIZE(contexts); n++)
			KUNIT_ASSERT_EQ(test, 0, vmt_bring(vm, contexts[n]));
		vm_expect_roots(rig, vm, contexts, ARRAY_SIZE(contexts));
	}
	for (i = 0; i < ARRAY_SIZE(contexts); i++)
		pagoda_context_destroy(contexts[i]);
	pagoda_rig_close(other);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

static struct kunit_case vm_cases[] = {
	KUNIT_CASE_PARAM(vm_contexts_know_the_root, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_contexts_all_know_the_root, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_shows_what_is_mapped, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_follows_moves, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_forgets_with_the_handle, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_tables_come_back, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_copies_late, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_copies_of_copies, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_root_is_named_later, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_lookups_wait_for_no_vm, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(vm_is_destroyed_once, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(vm_waits_outside_of_sections, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(vm_validation_is_interrupted, pagoda_rig_mmu_modes),
	{ }
};

static struct kunit_suite vm_suite = {
	.name = "pagoda_vm",
	.test_cases = vm_cases,
};

kunit_test_suite(vm_suite);
