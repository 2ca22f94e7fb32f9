// SPDX-License-Identifier: GPL-2.0
/*
 * Safety of VMs: no client reaches page tables, or memory that was unmapped or has moved; save
 * areas keep their content; values of fences aren't torn; VMs and contexts can be closed while jobs
 * run, while the stream is plugged, and after the device was unplugged.
 */
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <drm/ttm/ttm_tt.h>
#include "../drivers/vgpu/engine/internal.h"
#include "queue/queue_helpers.h"
#include "rig/prove.h"
#include "rig/rig.h"
#include "vm_helpers.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define HERE		((u64)SZ_4M)
#define PAGES		16u
#define PLACES		6u

/*
 * Maps PAGES pages at @va to @bo, or unmaps them if @bo is NULL; then validates the VM, so that
 * mappings of allocations that moved are valid again.
 */
static void safety_bind(struct pagoda_rig *rig, struct pagoda_vm *vm, struct pagoda_bo *bo, u64 va)
{
	KUNIT_ASSERT_EQ(rig->test, 0,
			bo ? vmt_map(vm, bo, va, 0, PAGES * PAGE_SIZE, 0) :
			     vmt_set(vm, DRM_PAGODA_BIND_UNMAP, va, PAGES * PAGE_SIZE));
	KUNIT_ASSERT_EQ(rig->test, 0, vmt_validate(vm));
}

/*
 * Returns the kernel address of the memory that the device would write at @va of address space
 * @space, by page tables as they are now; NULL if the write would fault.
 */
static void *safety_target(struct pagoda_rig *rig, u32 space, u64 va)
{
	void *here;

	vmt_reach(rig, space, va, 4, VIRTIO_PAGODA_ACCESS_WRITE, &here);
	return here;
}

/* Returns the kernel address of page @page of the allocation, in VRAM or in system memory. */
static void *safety_page(struct pagoda_rig *rig, struct pagoda_bo *bo, u64 page)
{
	if (bo->ttm.resource->mem_type == TTM_PL_VRAM)
		return rig->engine.vram + ((u64)bo->ttm.resource->start + page) * PAGE_SIZE;
	return page_address(bo->ttm.ttm->pages[page]);
}

/*
 * Returns whether @target is in a page table: page tables are allocations in VRAM, or system pages
 * that the CPU writes.
 */
static bool safety_is_table(struct pagoda_rig *rig, void *target)
{
	void *here = (void *)((unsigned long)target & PAGE_MASK);
	struct pagoda_bo *bo;
	unsigned long id;
	u64 page;

	if (here < (void *)rig->engine.vram ||
	    here >= (void *)rig->engine.vram + rig->engine.vram_size)
		return pagoda_mmu_table_page(rig->vidmm->mmu, virt_to_phys(here));
	xa_for_each(&rig->vidmm->bos, id, bo) {
		if (!bo->vm.table_of || !bo->ttm.resource ||
		    bo->ttm.resource->mem_type != TTM_PL_VRAM)
			continue;
		for (page = 0; page < bo->ttm.base.size / PAGE_SIZE; page++)
			if (safety_page(rig, bo, page) == here)
				return true;
	}
	return false;
}

/* Returns whether safety_is_table() takes the VM's root for a page table, as it should. */
static bool safety_knows_root(struct pagoda_rig *rig, struct pagoda_vm *vm)
{
	struct pagoda_root root;

	pagoda_space_root(vm->space, &root);
	return safety_is_table(rig, root.segment == VIRTIO_PAGODA_SEGMENT_VRAM ?
			       rig->engine.vram + root.address : phys_to_virt(root.address));
}

/*
 * Expects that none of the PLACES * PAGES pages from HERE on leads the device to a page table;
 * returns how many of these pages the device can write.
 */
static u32 safety_walk(struct pagoda_rig *rig, struct pagoda_vm *vm)
{
	u32 written = 0, i;

	pagoda_rig_settle(rig);
	for (i = 0; i < PLACES * PAGES; i++) {
		void *target = safety_target(rig, vm->id, HERE + i * PAGE_SIZE);

		if (!target)
			continue;
		written++;
		KUNIT_EXPECT_FALSE_MSG(rig->test, safety_is_table(rig, target),
				       "page %u of space %u is a page table", i, vm->id);
	}
	if (written)
		KUNIT_EXPECT_TRUE(rig->test, safety_knows_root(rig, vm));
	return written;
}

/*
 * Page tables of one VM may take memory that another VM mapped a moment ago: no address that was
 * bound in either VM leads the device to a page table.
 */
static void vm_tables_stay_hidden(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig), *other = NULL;
	struct pagoda_bo *bos[PLACES];
	u32 i, round;

	PAGODA_PROVES(C79);
	for (i = 0; i < PLACES; i++) {
		bos[i] = pagoda_rig_bo(rig, PAGES, CPU, VRAM | APERTURE, 0);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bos[i]));
		safety_bind(rig, vm, bos[i], HERE + i * PAGES * PAGE_SIZE);
	}
	KUNIT_EXPECT_EQ(test, PLACES * PAGES, safety_walk(rig, vm));
	for (round = 0; round < PLACES; round++) {
		u64 va = HERE + round * PAGES * PAGE_SIZE;

		/* End mappings by handle, move or UNMAP; then another VM needs tables. */
		if (round % 3 == 0)
			pagoda_vm_forget(vm, bos[round]);
		else if (round % 3 == 1)
			KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[round]));
		else
			safety_bind(rig, vm, NULL, va);
		pagoda_rig_close(bos[round]);
		if (other)
			vmt_drop(other);
		other = vmt_make(rig);
		if (round + 1 < PLACES)
			safety_bind(rig, other, bos[round + 1], va);
		KUNIT_EXPECT_EQ(test, round + 1 < PLACES ? PAGES : 0, safety_walk(rig, other));
		safety_walk(rig, vm);
	}
	vmt_drop(other);
	vmt_drop(vm);
}

/* Returns the save area of the VM's only context. */
static struct pagoda_bo *safety_save_area(struct pagoda_rig *rig, struct pagoda_vm *vm)
{
	struct pagoda_bo *bo;
	unsigned long id;

	xa_for_each(&rig->vidmm->bos, id, bo)
		if (!bo->vm.table_of && bo->ttm.base.resv == pagoda_vm_resv(vm))
			return bo;
	KUNIT_ASSERT_TRUE_MSG(rig->test, false, "no save area");
	return NULL;
}

/*
 * A save area that leaves VRAM, and returns to another address because another allocation has taken
 * its place, keeps its content.
 */
static void vm_contexts_keep_their_content(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_context *context = pagoda_context_create(vm, 0, DRM_PAGODA_PRIORITY_NORMAL);
	const u32 pages = VIRTIO_PAGODA_CONTEXT_BYTES / PAGE_SIZE;
	struct pagoda_bo *save, *taker;
	struct ttm_place place = { .mem_type = TTM_PL_VRAM };
	u64 before;

	KUNIT_ASSERT_FALSE(test, IS_ERR(context));
	save = safety_save_area(rig, vm);
	pagoda_rig_write(rig, save, 3);
	before = save->ttm.resource->start;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(save));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, save, 3));
	/* Another allocation takes the old place, which TTM frees after the copy. */
	pagoda_rig_settle_freed(rig);
	taker = pagoda_rig_bo(rig, pages, CPU, VRAM, 0);
	place.fpfn = before;
	place.lpfn = before + pages;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(taker, &place, false));
	pagoda_rig_write(rig, taker, 4);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(save));
	PAGODA_PROVES(C82);
	KUNIT_EXPECT_NE(test, before, (u64)save->ttm.resource->start);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, save, 3));
	pagoda_context_destroy(context);
	pagoda_rig_close(taker);
	vmt_drop(vm);
}

/* ---- Fences ------------------------------------------------------------------ */

#define FENCE_WRITES	4000u

/* For a thread that reads *@value while it is written; @torn counts values that weren't written. */
struct fence_watch {
	const u64 *value;
	u32 torn;
};

static int fence_watcher(void *data)
{
	struct fence_watch *watch = data;

	while (!kthread_should_stop()) {
		u64 value = READ_ONCE(*watch->value);

		if (value && value != ~0ull)
			watch->torn++;
		cond_resched();
	}
	return 0;
}

/*
 * SIGNAL_MONITORED_FENCE writes a 64-bit value at once: another thread never reads half of it. With
 * one processor this shows little; the sanitizer kernel's machine has two.
 */
static void fence_is_never_torn(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct virtio_pagoda_signal_monitored_fence signal = {
		.packet.opcode = cpu_to_le16(VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE),
		.packet.length = cpu_to_le32(sizeof(signal)),
		.segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM),
		.address = cpu_to_le64(PAGE_SIZE - 8),
	};
	struct fence_watch watch = { .value = (u64 *)(rig->engine.vram + PAGE_SIZE - 8) };
	struct task_struct *watcher = kthread_run(fence_watcher, &watch, "pagoda-fence-watch");
	struct pagoda_engine_run run;
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(watcher));
	for (i = 0; i < FENCE_WRITES; i++) {
		signal.value = cpu_to_le64(i % 2 ? ~0ull : 0);
		pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, 1, 1);
		run.buffer = &signal;
		run.size = sizeof(signal);
		KUNIT_EXPECT_EQ(test, PAGODA_ENGINE_DONE,
				pagoda_engine_execute(&rig->engine, &run));
		if (i % 64 == 0)
			cond_resched();
	}
	kthread_stop(watcher);
	PAGODA_PROVES(C117);
	KUNIT_EXPECT_EQ(test, 0u, watch.torn);
	KUNIT_EXPECT_EQ(test, ~0ull, *watch.value);
}

static u64 vram_used(struct pagoda_rig *rig)
{
	return ttm_resource_manager_usage(ttm_manager_type(&rig->vidmm->ttm, TTM_PL_VRAM));
}

/*
 * A closed allocation's pages in VRAM are freed only after the device has executed the operations
 * that remove its mappings.
 */
static void vm_pages_wait_for_the_flush(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, CPU, VRAM, 0);
	u64 page, used;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	safety_bind(rig, vm, bo, HERE);
	pagoda_rig_settle(rig);
	used = vram_used(rig);
	page = bo->ttm.resource->start;
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	pagoda_vm_forget(vm, bo);
	pagoda_rig_close(bo);
	PAGODA_PROVES(C101);
	KUNIT_EXPECT_EQ(test, used, vram_used(rig));
	/* The device hasn't executed the change yet and still reaches the page. */
	KUNIT_EXPECT_PTR_EQ(test, (void *)(rig->engine.vram + page * PAGE_SIZE),
			    safety_target(rig, vm->id, HERE));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_PTR_EQ(test, NULL, safety_target(rig, vm->id, HERE));
	vmt_drop(vm);
}

/*
 * Objects that exist when the device is unplugged: @vm maps @vram and @aperture and has @context,
 * @empty maps nothing; @fence is a monitored fence.
 */
struct unplugged {
	struct pagoda_vm *vm, *empty;
	struct pagoda_bo *vram, *aperture;
	struct pagoda_context *context;
	struct pagoda_mfence *fence;
};

static void unplug_make(struct pagoda_rig *rig, struct unplugged *what)
{
	struct kunit *test = rig->test;

	what->vm = vmt_make(rig);
	what->empty = vmt_make(rig);
	what->vram = pagoda_rig_bo(rig, PAGES, CPU, VRAM, 0);
	what->aperture = pagoda_rig_bo(rig, PAGES, CPU, APERTURE, 0);
	what->context = pagoda_context_create(what->vm, 0, DRM_PAGODA_PRIORITY_NORMAL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(what->context));
	what->fence = test_ok(test, pagoda_mfence_create(rig->vidmm, rig->client, 0, 1));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(what->vram));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(what->aperture, true));
	safety_bind(rig, what->vm, what->vram, HERE);
	safety_bind(rig, what->vm, what->vram, HERE + SZ_1G);
	safety_bind(rig, what->vm, what->aperture, HERE + SZ_2M);
}

static void unplug_close(struct unplugged *what)
{
	pagoda_context_destroy(what->context);
	pagoda_mfence_put(what->fence);
	pagoda_vm_forget(what->vm, what->aperture);
	pagoda_rig_close(what->aperture);
	pagoda_rig_close(what->vram);
	vmt_drop(what->vm);
	vmt_drop(what->empty);
}

/* Objects that are closed after the device was unplugged are freed, without use of the device. */
static void vm_outlives_the_device(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_mfence_signal *signal;
	u64 used = vram_used(rig);
	u32 submits, controls;
	struct unplugged what;

	unplug_make(rig, &what);
	pagoda_rig_settle(rig);
	/* The queue waits for the device for several times this timeout: shorten it. */
	pagoda_test_queue_timeout(rig->vidmm->queue, 200);
	/* Operations of a page table change and a signal are queued; the device executes none. */
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	signal = test_ok(test, pagoda_mfence_promise(what.fence, 2));
	pagoda_mfence_signal_paging(signal, NULL);
	safety_bind(rig, what.vm, NULL, HERE);
	pagoda_rig_unplug(rig);
	submits = rig->fake->submits;
	controls = rig->fake->controls;
	unplug_close(&what);
	flush_workqueue(rig->vidmm->ttm.wq);
	KUNIT_EXPECT_EQ(test, submits, rig->fake->submits);
	KUNIT_EXPECT_EQ(test, controls, rig->fake->controls);
	KUNIT_EXPECT_TRUE(test, xa_empty(&rig->vidmm->bos));
	KUNIT_EXPECT_TRUE(test, ida_is_empty(&rig->vidmm->spaces));
	KUNIT_EXPECT_EQ(test, used, vram_used(rig));
}

/*
 * A private allocation that was evicted while mapped is on the VM's list of evicted allocations,
 * and is off the list when it has been unmapped and closed.
 */
static void vm_forgets_private(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	const struct pagoda_bo_params params = {
		.size = PAGES * PAGE_SIZE,
		.flags = CPU,
		.supported = VRAM,
		.vm = vm,
		.uses = &vm->uses,
	};
	struct pagoda_bo *bo = test_ok(test, pagoda_bo_create(rig->vidmm, rig->client, &params));

	pagoda_vm_bo_opened(bo, true);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	safety_bind(rig, vm, bo, HERE);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_FALSE(test, list_empty(&vm->evicted));
	safety_bind(rig, vm, NULL, HERE);
	/* Do as the close of the last handle does. */
	pagoda_client_forget(rig->client, bo);
	pagoda_vm_bo_opened(bo, false);
	KUNIT_EXPECT_TRUE(test, list_empty(&vm->evicted));
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/*
 * While the stream is plugged, a VM and a context can be created and destroyed without waiting for
 * the unplug. Of the destroyed VM no change of page tables stays in the open submission, which
 * would be executed when another VM may have the VM's number.
 */
static void vm_waits_for_nobody(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, CPU, VRAM, 0);
	struct pagoda_context *context;
	struct pagoda_vm *vm;
	u32 first, i, id;

	pagoda_rig_plug_shared(rig);
	vm = vmt_make(rig);
	context = test_ok(test, pagoda_context_create(vm, 0, DRM_PAGODA_PRIORITY_NORMAL));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	safety_bind(rig, vm, bo, HERE);
	pagoda_context_destroy(context);
	id = vm->id;
	vmt_drop(vm);
	first = rig->nr_log;
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_settle(rig);
	for (i = first; i < rig->nr_log; i++)
		KUNIT_EXPECT_FALSE(test, rig->log[i].generation == id &&
				   (rig->log[i].opcode == VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE ||
				    rig->log[i].opcode == VIRTIO_PAGODA_OP_FLUSH_TLB));
	pagoda_rig_close(bo);
}

struct closer {
	struct pagoda_vm *vm;
	struct completion done;
};

static int closer_run(void *data)
{
	struct closer *closer = data;

	pagoda_vm_close(closer->vm);
	complete(&closer->done);
	return 0;
}

/*
 * Closing a VM waits for the VM's jobs. When an allocation that no job lists moves meanwhile, the
 * device doesn't reach the allocation's old place through the VM any more.
 */
static void vm_close_hides_first(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, CPU, VRAM, 0);
	struct dma_fence *job = pagoda_test_fence(test);
	struct closer closer = { .vm = vmt_make(rig) };
	u32 id = closer.vm->id;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	safety_bind(rig, closer.vm, bo, HERE);
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_NOT_NULL(test, safety_target(rig, id, HERE));
	pagoda_rig_add_fence(test, pagoda_vm_resv(closer.vm), job, DMA_RESV_USAGE_BOOKKEEP);

	init_completion(&closer.done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(closer_run, &closer, "pagoda-closer")));
	/* The thread that closes the VM waits for the job. */
	KUNIT_EXPECT_EQ(test, 0, wait_for_completion_timeout(&closer.done, HZ / 5));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_PTR_EQ(test, NULL, safety_target(rig, id, HERE));
	dma_fence_signal(job);
	dma_fence_put(job);
	wait_for_completion(&closer.done);
	pagoda_vm_put(closer.vm);
	pagoda_rig_close(bo);
}

/*
 * Waits until RCU callbacks have run and memory passed to kfree_rcu() is free; as a module only for
 * the callbacks, because modules can't wait for kfree_rcu().
 */
static void wait_for_rcu(void)
{
	rcu_barrier();
#ifndef MODULE
	kvfree_rcu_barrier();
#endif
}

/* A destroyed context, if still referenced, reports its state, and has no deferred work. */
static void context_asked_when_gone(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, &(struct pagoda_rig_options) {
		.engines = true,
	});
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_context *context = pagoda_context_create(vm, 0, DRM_PAGODA_PRIORITY_NORMAL);
	struct drm_pagoda_context_state state = {};

	KUNIT_ASSERT_FALSE(test, IS_ERR(context));
	kref_get(&context->kref);
	pagoda_context_destroy(context);
	wait_for_rcu();
	pagoda_context_state(context, &state);
	KUNIT_EXPECT_EQ(test, state.submitted, state.completed);
	pagoda_deferred_stop(&context->deferred, -ECANCELED);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&context->deferred.work));
	pagoda_context_put(context);
	vmt_drop(vm);
}

static struct kunit_case vm_safety_cases[] = {
	KUNIT_CASE_PARAM(vm_close_hides_first, pagoda_rig_modes),
	KUNIT_CASE(context_asked_when_gone),
	KUNIT_CASE(vm_pages_wait_for_the_flush),
	KUNIT_CASE_PARAM(vm_forgets_private, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_waits_for_nobody, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_outlives_the_device, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_tables_stay_hidden, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_contexts_keep_their_content, pagoda_rig_modes),
	KUNIT_CASE(fence_is_never_torn),
	{ }
};

static struct kunit_suite vm_safety_suite = {
	.name = "pagoda_vm_safety",
	.test_cases = vm_safety_cases,
};

kunit_test_suite(vm_safety_suite);
