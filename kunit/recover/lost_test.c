// SPDX-License-Identifier: GPL-2.0
/*
 * If the device misses a paging operation, and has a mapping that it must not use for that reason,
 * the device is reset, and the rebuild corrects the mapping. A lost copy alone causes no reset. For
 * paging behind the lost operation, which the reset loses, no client is banned.
 */
#include <linux/sizes.h>
#include "rig/rig.h"
#include "vm/vm_helpers.h"

#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY
#define HERE		SZ_4M
#define FAR		(16ull * SZ_1G)	/* an address that needs a larger root table */
#define PAGES		8

/* Creates a rig whose VRAM the CPU can't reach: the CPU can't copy in place of the device. */
static struct pagoda_rig *lost_rig(struct kunit *test)
{
	const struct pagoda_rig_options options = { .no_window = true, .pt_levels = 2 };

	return pagoda_rig_create(test, &options);
}

static struct pagoda_bo *lost_in_vram(struct pagoda_rig *rig)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, 0, VM_VRAM, 0);

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	return bo;
}

/* Returns the address, in the test, of the first bytes of an allocation in VRAM. */
static const void *lost_memory(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct pagoda_vram_cursor cur;

	KUNIT_ASSERT_EQ(rig->test, (u32)TTM_PL_VRAM, bo->ttm.resource->mem_type);
	pagoda_vram_first(&cur, bo->ttm.resource, 0, bo->ttm.base.size);
	return rig->engine.vram + cur.address;
}

/*
 * Begins a paging buffer with an operation at which device and CPU fail, the copy of @first out of
 * VRAM: operations that are added to the buffer until lost_end() are lost.
 */
static void lost_begin(struct pagoda_rig *rig, struct pagoda_bo *first)
{
	pagoda_rig_settle(rig);
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = VIRTIO_PAGODA_OP_TRANSFER, .allocation = first->id, .times = U32_MAX,
	};
	pagoda_rig_plug_shared(rig);
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_system(first));
}

/* Sends the buffer, and waits until its operations are lost and a reset, if needed, has ended. */
static void lost_end(struct pagoda_rig *rig, struct pagoda_bo *first)
{
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_settle(rig);
	rig->fail.times = 0;
	pagoda_reset_wait(rig->vidmm);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(rig->test, READ_ONCE(first->content.lost));
}

/* A lost copy of an allocation that no VM maps leaves no wrong mapping: the device isn't reset. */
static void lost_copy(struct kunit *test)
{
	struct pagoda_rig *rig = lost_rig(test);
	struct pagoda_bo *first = lost_in_vram(rig);

	lost_begin(rig, first);
	lost_end(rig, first);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_reset_epoch(rig->vidmm));
	pagoda_rig_close(first);
}

/* A lost unmap of the aperture: without a reset the device would reach pages that are freed. */
static void lost_unmap(struct kunit *test)
{
	struct pagoda_rig *rig = lost_rig(test);
	struct pagoda_bo *first = lost_in_vram(rig);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, PHYSICAL, VM_VRAM | VM_APERTURE, 0);
	u64 page, bus, own;
	u32 generation;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_rig_settle(rig);
	page = pagoda_aperture_of(bo->ttm.resource)->node.start;
	KUNIT_ASSERT_TRUE(test, pagoda_engine_aperture_lookup(&rig->engine, page, &own,
							      &generation));
	lost_begin(rig, first);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	lost_end(rig, first);
	PAGODA_PROVES(C189);
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_reset_epoch(rig->vidmm));
	if (pagoda_engine_aperture_lookup(&rig->engine, page, &bus, &generation))
		KUNIT_EXPECT_NE(test, own, bus);
	pagoda_rig_close(first);
	pagoda_rig_close(bo);
}

/* A lost map of the aperture: the rebuild after the reset maps the allocation's pages. */
static void lost_map(struct kunit *test)
{
	struct pagoda_rig *rig = lost_rig(test);
	struct pagoda_bo *first = lost_in_vram(rig);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, PHYSICAL, VM_VRAM | VM_APERTURE, 0);
	u64 page, bus;
	u32 generation, i;

	lost_begin(rig, first);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	lost_end(rig, first);
	PAGODA_PROVES(C189);
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_reset_epoch(rig->vidmm));
	page = pagoda_aperture_of(bo->ttm.resource)->node.start;
	for (i = 0; i < PAGES; i++) {
		KUNIT_ASSERT_TRUE(test, pagoda_engine_aperture_lookup(&rig->engine, page + i, &bus,
								      &generation));
		KUNIT_EXPECT_EQ(test, page_to_phys(bo->ttm.ttm->pages[i]), bus);
	}
	pagoda_rig_close(first);
	pagoda_rig_close(bo);
}

/*
 * A lost write of a new root to a save area: without a reset the next job would use a root that is
 * freed.
 */
static void lost_root(struct kunit *test)
{
	const u32 init = VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE;
	struct pagoda_rig *rig = lost_rig(test);
	struct pagoda_bo *bo = lost_in_vram(rig);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_context *context = test_ok(test, pagoda_context_create(vm, 0, 0));
	struct pagoda_bo *save = context->save.bo;
	struct virtio_pagoda_context_image image;
	struct pagoda_root root;
	u32 before;

	pagoda_rig_settle(rig);
	before = pagoda_rig_count(rig, init, save->id);
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION, .allocation = save->id,
		.times = U32_MAX,
	};
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, FAR, 0, PAGES * PAGE_SIZE, 0));
	pagoda_rig_settle(rig);
	rig->fail.times = 0;
	pagoda_reset_wait(rig->vidmm);
	KUNIT_ASSERT_EQ(test, 0, vmt_bring(vm, context));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C189);
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_reset_epoch(rig->vidmm));
	KUNIT_EXPECT_LT(test, before, pagoda_rig_count(rig, init, save->id));
	pagoda_space_root(vm->space, &root);
	memcpy(&image, lost_memory(rig, save), sizeof(image));
	KUNIT_EXPECT_EQ(test, root.address, le64_to_cpu(image.root_address));
	KUNIT_EXPECT_EQ(test, (u64)root.entries, le64_to_cpu(image.root_entries));
	pagoda_context_destroy(context);
	vmt_drop(vm);
	pagoda_rig_close(bo);
}

/*
 * A flush that the CPU executes in the device's place, and that SET_ROOT doesn't make up for,
 * because the device doesn't answer: without a reset the device would use memory that is freed.
 */
static void lost_flush(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = lost_in_vram(rig);
	struct pagoda_vm *vm = vmt_make(rig);

	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, PAGES * PAGE_SIZE, 0));
	pagoda_rig_settle(rig);
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = VIRTIO_PAGODA_OP_FLUSH_TLB, .times = PAGODA_QUEUE_REPLAYS + 1,
	};
	rig->lose_roots = 1;
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE, PAGES * PAGE_SIZE));
	pagoda_rig_settle(rig);
	pagoda_reset_wait(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 0u, rig->fail.times);
	KUNIT_EXPECT_EQ(test, 0u, rig->lose_roots);
	PAGODA_PROVES(C103);
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_reset_epoch(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 0, vmt_bring(vm, NULL));
	KUNIT_EXPECT_NE(test, VIRTIO_PAGODA_FAULT_NONE, vmt_fault(rig, vm->id, HERE));
	vmt_drop(vm);
	pagoda_rig_close(bo);
}

/*
 * The paging of another client's allocation is behind a paging buffer with a lost map: the reset
 * that the lost map makes necessary loses that paging, too, but didn't come from it. The context of
 * the client isn't banned.
 */
static void lost_spares_others(struct kunit *test)
{
	struct pagoda_rig *rig = lost_rig(test);
	struct pagoda_bo *first = lost_in_vram(rig), *behind = lost_in_vram(rig);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, PHYSICAL, VM_VRAM | VM_APERTURE, 0);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_context *context = test_ok(test, pagoda_context_create(vm, 0, 0));
	struct drm_pagoda_context_state state;

	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, behind, HERE, 0, PAGES * PAGE_SIZE, 0));
	lost_begin(rig, first);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	/* The device begins with the buffer only when the paging behind it is in flight, too. */
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_stream_flush(rig->vidmm);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(behind));
	pagoda_stream_flush(rig->vidmm);
	pagoda_rig_settle(rig);
	rig->fail.times = 0;
	pagoda_reset_wait(rig->vidmm);
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C190);
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_reset_epoch(rig->vidmm));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(first->content.lost));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(behind->content.lost));
	pagoda_context_state(context, &state);
	KUNIT_EXPECT_EQ(test, (u32)DRM_PAGODA_CONTEXT_RESET, state.state);
	pagoda_context_destroy(context);
	vmt_drop(vm);
	pagoda_rig_close(first);
	pagoda_rig_close(behind);
	pagoda_rig_close(bo);
}

static struct kunit_case lost_cases[] = {
	KUNIT_CASE(lost_copy),
	KUNIT_CASE(lost_unmap),
	KUNIT_CASE(lost_map),
	KUNIT_CASE(lost_root),
	KUNIT_CASE(lost_flush),
	KUNIT_CASE(lost_spares_others),
	{}
};

static struct kunit_suite lost_suite = {
	.name = "pagoda_reset_lost",
	.test_cases = lost_cases,
};

kunit_test_suite(lost_suite);
