// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments of build calls that the packets don't show: the TRANSFER of lost content, kernel
 * addresses, update modes, private data. Also: calls wait until save areas are written, when
 * notices are sent, and that fence values are stored as a whole.
 */
#include <linux/sizes.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>
#include "paging/cpu/cpu.h"
#include "../drivers/pagoda/mmu/process.h"
#include "../drivers/vgpu/engine/internal.h"
#include "rig/spy.h"
#include "submit/submit_helpers.h"
#include "vm/vm_helpers.h"
#include "tiled_helpers.h"

#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY
#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define HERE		SZ_4M
#define PAGES		11

/*
 * A builder is told of lost content by a TRANSFER of size 0, which encodes no packet. The swizzling
 * range that showed the content is freed.
 */
static void handed_lost_has_no_place(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 3);
	u32 both = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END;
	const struct pagoda_spy_note *note;
	struct pagoda_spy *spy;
	u32 copies;

	pagoda_rig_settle(rig);
	copies = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id);
	KUNIT_ASSERT_NOT_NULL(test, bo->tiling.range);
	spy = pagoda_spy_begin(rig, bo);
	dma_resv_lock(bo->ttm.base.resv, NULL);
	/* As if the device had been reset since the content was written. */
	bo->content.epoch--;
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_clear(bo));
	dma_resv_unlock(bo->ttm.base.resv);
	pagoda_spy_end(spy);
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C35);
	note = pagoda_spy_find(spy, VIRTIO_PAGODA_OP_TRANSFER, bo->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, note);
	KUNIT_EXPECT_EQ(test, 0, note->op.transfer.size);
	KUNIT_EXPECT_EQ(test, both, note->op.transfer.flags);
	KUNIT_EXPECT_EQ(test, 0, note->encoded);
	KUNIT_EXPECT_EQ(test, copies, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id));
	KUNIT_EXPECT_NULL(test, pagoda_spy_find(spy, VIRTIO_PAGODA_OP_TRANSFER, bo->id, 1));
	/*
	 * The range is free, and the window doesn't show the lost content when the allocation gets
	 * a range again.
	 */
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	KUNIT_EXPECT_FALSE(test, pagoda_swizzle_is_shown(bo));
	KUNIT_EXPECT_EQ(test, 0, tiled_acquire(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_swizzle_is_shown(bo));
	KUNIT_EXPECT_NULL(test, memchr_inv(pagoda_swizzle_window(bo), 0, bo->ttm.base.size));
	pagoda_rig_close(bo);
}

/*
 * The build call that maps an allocation in the aperture gets a kernel address, where the pages are
 * seen until UNMAP was executed; or NULL if the allocation isn't APERTURE_CPU_VISIBLE.
 */
static void handed_aperture_address(struct kunit *test)
{
	const u32 asks = DRM_PAGODA_ALLOCATION_APERTURE_CPU_VISIBLE;
	const u32 map2 = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2;
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *with = pagoda_rig_bo(rig, 5, CPU | PHYSICAL | asks, APERTURE, 0);
	struct pagoda_bo *without = pagoda_rig_bo(rig, 5, CPU | PHYSICAL, APERTURE, 0);
	struct pagoda_spy *spy = pagoda_spy_begin(rig, NULL);
	const struct pagoda_spy_note *note;
	const u8 *cpu;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(with, true));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(without, true));
	pagoda_spy_end(spy);
	pagoda_rig_write(rig, with, 6);
	note = pagoda_spy_find(spy, map2, without->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, note);
	PAGODA_PROVES(C67);
	KUNIT_EXPECT_NULL(test, note->op.map_aperture.cpu_visible_address);
	note = pagoda_spy_find(spy, map2, with->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, note);
	cpu = note->op.map_aperture.cpu_visible_address;
	KUNIT_ASSERT_NOT_NULL(test, cpu);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, 0, memcmp(cpu + i * PAGE_SIZE,
						page_address(with->ttm.ttm->pages[i]), PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(with));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
						  with->id));
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_PTR_EQ(test, with->ttm.ttm->pages[i],
				    vmalloc_to_page(cpu + i * PAGE_SIZE));
	pagoda_rig_settle(rig);
	pagoda_rig_close(with);
	pagoda_rig_close(without);
}

/* For a device without MAP_APERTURE_SEGMENT2 the build call gets no kernel address. */
static void handed_aperture_address_old(struct kunit *test)
{
	const struct pagoda_rig_options old = {
		.without = BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2)),
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &old);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 5, CPU | PHYSICAL |
					     DRM_PAGODA_ALLOCATION_APERTURE_CPU_VISIBLE,
					     APERTURE, 0);
	struct pagoda_spy *spy = pagoda_spy_begin(rig, NULL);
	const struct pagoda_spy_note *note;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_spy_end(spy);
	note = pagoda_spy_find(spy, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, bo->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, note);
	KUNIT_EXPECT_NULL(test, note->op.map_aperture.cpu_visible_address);
	pagoda_rig_close(bo);
}

/* ---- Page tables and save areas ------------------------------------------------------- */

/*
 * Expects all updates of page tables to be in @mode, and the CPU to write tables only in
 * CPU_VIRTUAL mode.
 */
static void expect_modes(struct kunit *test, const struct pagoda_spy *spy, u32 mode)
{
	bool spaces[2] = { };
	u32 i;

	for (i = 0; i < spy->nr; i++) {
		const struct pagoda_op_update_page_table *update;

		if (spy->notes[i].op.operation != VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE)
			continue;
		update = &spy->notes[i].op.update_page_table;
		KUNIT_EXPECT_EQ(test, mode, update->mode);
		KUNIT_EXPECT_TRUE(test, !spy->notes[i].written ||
				  mode == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL);
		spaces[!!update->address_space] = true;
	}
	/* Updates of the paging process's space and of others were seen. */
	KUNIT_EXPECT_TRUE(test, spaces[0] && spaces[1]);
}

/* Expects only updates by the CPU, each of which initialises a whole leaf table of windows. */
static void expect_wiped(struct kunit *test, const struct pagoda_spy *spy)
{
	const u32 flags = VIRTIO_PAGODA_UPDATE_INITIAL | VIRTIO_PAGODA_UPDATE_REPEAT;
	u32 i;

	KUNIT_EXPECT_GT(test, spy->nr, 0);
	for (i = 0; i < spy->nr; i++) {
		const struct pagoda_op_update_page_table *update;

		update = &spy->notes[i].op.update_page_table;
		KUNIT_EXPECT_TRUE(test, spy->notes[i].written);
		KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, update->mode);
		KUNIT_EXPECT_EQ(test, PAGODA_PROCESS_SPACE, update->address_space);
		KUNIT_EXPECT_EQ(test, flags, update->flags & ~VIRTIO_PAGODA_UPDATE_USE_64K);
		KUNIT_EXPECT_EQ(test, 0, update->level);
		KUNIT_EXPECT_EQ(test, 0, update->first_entry);
		KUNIT_EXPECT_EQ(test, update->table_entries, update->nr_entries);
		KUNIT_EXPECT_GE(test, update->first_va, pagoda_slot_address(PAGODA_SLOT_WINDOWS));
		KUNIT_EXPECT_EQ(test, 0, spy->notes[i].value);
	}
}

/*
 * Page table updates are built in the device's update mode; but after lost operations the CPU wipes
 * the tables of the scratch windows, in any mode.
 */
static void handed_modes(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *told = pagoda_rig_bo(rig, 3, CPU | DRM_PAGODA_ALLOCATION_NOTIFY_EVICTION,
					       APERTURE, 0);
	struct pagoda_bo *bo = vmt_bo(rig, PAGES, 1);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_context *context;
	struct pagoda_spy *spy;

	pagoda_rig_settle(rig);
	spy = pagoda_spy_begin(rig, NULL);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, PAGES * PAGE_SIZE, 0));
	context = test_ok(test, pagoda_context_create(vm, 0, DRM_PAGODA_PRIORITY_NORMAL));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE + (1ull << 46), 0, PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(vm));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(told, false));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(told));
	pagoda_spy_end(spy);
	PAGODA_PROVES(C89);
	expect_modes(test, spy, pagoda_mmu_mode(rig->vidmm->mmu));
	pagoda_rig_settle(rig);
	spy = pagoda_spy_begin(rig, NULL);
	pagoda_process_lost(rig->vidmm->mmu);
	pagoda_spy_end(spy);
	expect_wiped(test, spy);
	pagoda_context_destroy(context);
	pagoda_rig_close(told);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

struct maker {
	struct pagoda_vm *vm;
	struct pagoda_context *context;
};

static int maker_run(void *arg)
{
	struct maker *maker = arg;

	maker->context = pagoda_context_create(maker->vm, 0, DRM_PAGODA_PRIORITY_NORMAL);
	return PTR_ERR_OR_ZERO(maker->context);
}

/* The root as it is stored in a save area. */
struct saved_root {
	__le64 address;
	__le64 entries;
	__le32 segment;
	__le32 space;
};

static_assert(sizeof(struct saved_root) == PAGODA_SPY_DATA);

static void expect_root(struct pagoda_rig *rig, struct pagoda_vm *vm, struct pagoda_bo *save,
			const struct pagoda_spy *spy)
{
	const u32 update = VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION;
	const u64 at = offsetof(struct virtio_pagoda_context_image, root_address);
	const struct pagoda_spy_note *note = pagoda_spy_find(spy, update, save->id, 0);
	const struct saved_root *given;
	struct kunit *test = rig->test;
	struct pagoda_root root;

	KUNIT_ASSERT_NOT_NULL(test, note);
	given = (const void *)note->data;
	pagoda_space_root(vm->space, &root);
	KUNIT_EXPECT_GT(test, root.entries, 0);
	KUNIT_EXPECT_EQ(test, root.address, le64_to_cpu(given->address));
	KUNIT_EXPECT_EQ(test, root.entries, le64_to_cpu(given->entries));
	KUNIT_EXPECT_EQ(test, root.segment, le32_to_cpu(given->segment));
	KUNIT_EXPECT_EQ(test, vm->id, le32_to_cpu(given->space));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(given->address), submit_word(rig, save, at));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(given->entries), submit_word(rig, save, at + 8));
	KUNIT_EXPECT_EQ(test, *(const u64 *)&given->segment, submit_word(rig, save, at + 16));
}

/* Lets the device execute submissions, one after another, until the worker's call returns. */
static void maker_let(struct pagoda_rig *rig, struct pagoda_worker *worker)
{
	u32 i;

	for (i = 0; i < 1000 && !pagoda_worker_is_done(worker, HZ / 20); i++)
		pagoda_fake_transport_let(rig->fake, 1);
	KUNIT_ASSERT_LT(rig->test, i, 1000);
}

/* A call that makes a context, or moves a root, returns only when the save area has the root. */
static void handed_context_waits(struct kunit *test)
{
	const u32 update = VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION;
	const u32 init = VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE;
	/* With two levels a root has only the entries that its space needs. */
	const struct pagoda_rig_options options = { .mode = test->param_value, .pt_levels = 2 };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct maker maker = { .vm = vmt_make(rig) };
	struct pagoda_worker worker = { .run = maker_run, .arg = &maker };
	struct pagoda_bo *bo = vmt_bo(rig, 1, 3), *save;
	const struct pagoda_spy_note *note;
	struct pagoda_root before, after;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(maker.vm, bo, HERE, 0, PAGE_SIZE, 0));
	pagoda_rig_settle(rig);
	worker.spy = pagoda_spy_begin(rig, NULL);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	pagoda_worker_start(test, &worker);
	maker_let(rig, &worker);
	pagoda_worker_end(test, &worker);
	save = maker.context->save.bo;
	PAGODA_PROVES(C84);
	KUNIT_EXPECT_EQ(test, 1, pagoda_rig_count(rig, update, save->id));
	pagoda_rig_settle(rig);
	pagoda_spy_end(worker.spy);
	expect_root(rig, maker.vm, save, worker.spy);
	note = pagoda_spy_find(worker.spy, init, save->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, note);
	PAGODA_PROVES(C83);
	KUNIT_EXPECT_NULL(test, note->op.init_context.cpu_address);
	KUNIT_EXPECT_NE(test, PAGODA_SAVE_CPU_ADDRESS, note->op.init_context.flags);

	/* The root has no entry for this address yet: it is replaced by a larger table. */
	pagoda_space_root(maker.vm->space, &before);
	worker.spy = pagoda_spy_begin(rig, NULL);
	KUNIT_ASSERT_EQ(test, 0, vmt_map(maker.vm, bo, HERE + (1ull << 33), 0, PAGE_SIZE, 0));
	pagoda_spy_end(worker.spy);
	pagoda_space_root(maker.vm->space, &after);
	KUNIT_EXPECT_LT(test, before.entries, after.entries);
	KUNIT_EXPECT_NE(test, before.address, after.address);
	KUNIT_EXPECT_EQ(test, 2, pagoda_rig_count(rig, update, save->id));
	expect_root(rig, maker.vm, save, worker.spy);
	pagoda_context_destroy(maker.context);
	pagoda_rig_close(bo);
	vmt_drop(maker.vm);
}

/* ---- Notices and fences ---------------------------------------------------------------- */

/*
 * For an allocation with NOTIFY_EVICTION, NOTIFY_ALLOC is sent when the allocation leaves the
 * aperture for system memory, before UNMAP, and in no other move.
 */
static void handed_notice_of_eviction(struct kunit *test)
{
	const u32 notify = VIRTIO_PAGODA_OP_NOTIFY_ALLOC;
	const u32 unmap = VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT;
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 5, CPU | PHYSICAL |
					     DRM_PAGODA_ALLOCATION_NOTIFY_EVICTION,
					     VRAM | APERTURE, 0);
	const struct pagoda_rig_note *told, *gone;
	u32 i, unmaps;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	}
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C119);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_count(rig, notify, 0));
	unmaps = pagoda_rig_count(rig, unmap, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 1, pagoda_rig_count(rig, notify, 0));
	KUNIT_EXPECT_EQ(test, unmaps + 1, pagoda_rig_count(rig, unmap, 0));
	told = pagoda_rig_find(rig, notify, bo->id, 0);
	gone = pagoda_rig_find(rig, unmap, 0, unmaps);
	KUNIT_ASSERT_TRUE(test, told && gone);
	KUNIT_EXPECT_TRUE(test, told < gone);
	KUNIT_EXPECT_EQ(test, page_to_phys(bo->ttm.ttm->pages[0]), rig->shown[0].first);
	pagoda_rig_close(bo);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 1, pagoda_rig_count(rig, notify, 0));
}

#define LOOKS		400u

/* A timer interrupt that reads a fence's value, while the test stores values. */
struct interrupt {
	struct timer_list timer;
	const u64 *value;	/* the fence's value */
	u32 looks;	/* number of reads */
	u32 torn;	/* number of values read that were never signalled */
};

static void interrupt_look(struct timer_list *timer)
{
	struct interrupt *interrupt = container_of(timer, struct interrupt, timer);
	u64 value = READ_ONCE(*interrupt->value);

	interrupt->torn += value && value != ~0ull;
	WRITE_ONCE(interrupt->looks, interrupt->looks + 1);
	if (interrupt->looks < LOOKS)
		mod_timer(timer, jiffies + 1);
}

static struct interrupt *interrupt_begin(struct kunit *test, const u64 *value)
{
	struct interrupt *interrupt = test_zalloc(test, sizeof(*interrupt));

	interrupt->value = value;
	timer_setup(&interrupt->timer, interrupt_look, 0);
	mod_timer(&interrupt->timer, jiffies + 1);
	return interrupt;
}

static struct virtio_pagoda_signal_monitored_fence fence_signal(u64 address)
{
	return (struct virtio_pagoda_signal_monitored_fence) {
		.packet.opcode = cpu_to_le16(VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE),
		.packet.length = cpu_to_le32(sizeof(struct virtio_pagoda_signal_monitored_fence)),
		.segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM),
		.address = cpu_to_le64(address),
	};
}

/*
 * The engine stores a fence's value as a whole, also on one processor, where an interrupt may come
 * between two halves.
 */
static void handed_fence_is_whole(struct kunit *test)
{
	struct virtio_pagoda_signal_monitored_fence signal = fence_signal(PAGE_SIZE - 8);
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_engine_run run;
	struct pagoda_exec exec = { .engine = &rig->engine, .run = &run };
	struct interrupt *interrupt;
	u32 i;

	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, VIRTIO_PAGODA_QUEUE_PAGING, 1);
	interrupt = interrupt_begin(test, (u64 *)(rig->engine.vram + PAGE_SIZE - 8));
	for (i = 0; READ_ONCE(interrupt->looks) < LOOKS; i++) {
		signal.value = cpu_to_le64(i % 2 ? ~0ull : 0);
		pagoda_engine_signal_execute(&exec, &signal);
		if (i % 1024 == 0)
			cond_resched();
	}
	timer_delete_sync(&interrupt->timer);
	PAGODA_PROVES(C117);
	KUNIT_EXPECT_EQ(test, 0, interrupt->torn);
	KUNIT_EXPECT_GT(test, i, LOOKS);
}

/* The CPU executor stores a fence's value as a whole, too. */
static void handed_fence_is_whole_by_cpu(struct kunit *test)
{
	struct virtio_pagoda_signal_monitored_fence signal = fence_signal(PAGE_SIZE - 8);
	const struct pagoda_paging_private priv = { };
	struct pagoda_cpu_executor exec = { .vram_size = PAGE_SIZE };
	struct interrupt *interrupt;
	u32 i, stopped_at;

	exec.vram = test_zalloc(test, PAGE_SIZE);
	interrupt = interrupt_begin(test, (u64 *)(exec.vram + PAGE_SIZE - 8));
	for (i = 0; READ_ONCE(interrupt->looks) < LOOKS; i++) {
		signal.value = cpu_to_le64(i % 2 ? ~0ull : 0);
		if (pagoda_cpu_execute(&exec, &signal, sizeof(signal), 0, &priv, sizeof(priv),
				       &stopped_at))
			break;
		if (i % 1024 == 0)
			cond_resched();
	}
	timer_delete_sync(&interrupt->timer);
	PAGODA_PROVES(C117);
	KUNIT_EXPECT_EQ(test, 0, interrupt->torn);
	KUNIT_EXPECT_EQ(test, LOOKS, interrupt->looks);
}

static struct kunit_case handed_cases[] = {
	KUNIT_CASE(handed_lost_has_no_place),
	KUNIT_CASE_PARAM(handed_aperture_address, pagoda_rig_update_modes),
	KUNIT_CASE(handed_aperture_address_old),
	KUNIT_CASE_PARAM(handed_modes, pagoda_rig_modes),
	KUNIT_CASE_PARAM(handed_context_waits, pagoda_rig_modes),
	KUNIT_CASE_PARAM(handed_notice_of_eviction, pagoda_rig_modes),
	KUNIT_CASE_SLOW(handed_fence_is_whole),
	KUNIT_CASE_SLOW(handed_fence_is_whole_by_cpu),
	{ }
};

static struct kunit_suite handed_suite = {
	.name = "pagoda_handed",
	.test_cases = handed_cases,
};

kunit_test_suite(handed_suite);
