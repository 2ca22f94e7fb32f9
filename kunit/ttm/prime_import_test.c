// SPDX-License-Identifier: GPL-2.0
/*
 * Imports, that is, allocations around the memory of another exporter's dma-buf, on the rig: the
 * GPU uses the memory in place, the exporter moves it, importing or mapping fails, the device is
 * reset or unplugged, UNMAP_MMU fails, the import is destroyed.
 */
#include <linux/delay.h>
#include "queue/queue_helpers.h"
#include "residency/offer_helpers.h"
#include "prime_helpers.h"

#define SIZE	(PRIME_PAGES * PAGE_SIZE)
#define LAST	(SIZE - sizeof(u64))

/* Returns how many device addresses lead to the memory's current pages; 0 without a device MMU. */
static u32 import_reached(struct pagoda_rig *rig, struct prime_memory *memory)
{
	u32 i, page, count = 0;
	bool read_only;
	u64 bus;

	for (page = 1; rig->engine.mmu && page < rig->engine.mmu_pages; page++) {
		if (!pagoda_engine_mmu_lookup(&rig->engine, page, &bus, &read_only))
			continue;
		for (i = 0; i < PRIME_PAGES; i++)
			count += bus == page_to_phys(memory->pages[i]);
	}
	return count;
}

static void import_drop(struct submit_client *client, struct pagoda_bo *bo)
{
	submit_close(client, bo);
	prime_settle(client->rig);
}

/*
 * In each page of an import the GPU reads what the CPU wrote, and the CPU what the GPU wrote; the
 * memory is used in place, without a fill or a copy, and unmapped when the import is closed.
 */
static void import_is_memory(struct kunit *test, bool dynamic)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct prime_memory *memory = prime_memory(test, dynamic, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	struct submit_args args = { .bos = { bo }, .nr_bos = 1 };
	u32 i;

	KUNIT_EXPECT_TRUE(test, bo->ttm.base.resv == memory->dma_buf->resv);
	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, PRIME_HERE));
	for (i = 0; i < PRIME_PAGES; i++) {
		*prime_word(memory, i * PAGE_SIZE) = 100 + i;
		submit_compare(client, PRIME_HERE + i * PAGE_SIZE, 100 + i);
		submit_store(client, PRIME_HERE + i * PAGE_SIZE + 8, 200 + i);
	}
	submit_store(client, PRIME_HERE + LAST, 300);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	for (i = 0; i < PRIME_PAGES; i++)
		KUNIT_EXPECT_EQ(test, 200ull + i, *prime_word(memory, i * PAGE_SIZE + 8));
	KUNIT_EXPECT_EQ(test, 300ull, *prime_word(memory, LAST));
	KUNIT_EXPECT_EQ(test, rig->engine.mmu ? PRIME_PAGES : 0, import_reached(rig, memory));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_TT, bo->ttm.resource->mem_type);
	KUNIT_EXPECT_EQ(test, 0u, pagoda_rig_count(rig, pagoda_rig_copy_op(rig), bo->id));
	KUNIT_EXPECT_EQ(test, 0u, pagoda_rig_count(rig, pagoda_rig_fill_op(rig), bo->id));
	import_drop(client, bo);
	KUNIT_EXPECT_EQ(test, 0u, memory->maps);
	KUNIT_EXPECT_EQ(test, 0u, import_reached(rig, memory));
	prime_put(memory->dma_buf);
	submit_client_end(client);
}

static void import_static(struct kunit *test)
{
	import_is_memory(test, false);
}

static void import_dynamic(struct kunit *test)
{
	import_is_memory(test, true);
}

/*
 * A device that doesn't snoop reads what the CPU wrote to the cached memory of an import, and the
 * CPU reads what the device wrote.
 */
static void import_not_coherent(struct kunit *test)
{
	const struct pagoda_rig_options options = {
		.mode = test->param_value,
		.engines = true,
		.not_coherent = true,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct submit_client *client = submit_client(rig, 0);
	struct prime_memory *memory = prime_memory(test, false, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	u32 round;

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, PRIME_HERE));
	for (round = 1; round < 5; round++) {
		*prime_word(memory, LAST) = round;
		PAGODA_PROVES(C178);
		KUNIT_EXPECT_EQ(test, 0, prime_compare(client, bo, LAST, round));
		KUNIT_EXPECT_EQ(test, 0, prime_store(client, bo, LAST, ~(u64)round));
		KUNIT_EXPECT_EQ(test, ~(u64)round, *prime_word(memory, LAST));
	}
	import_drop(client, bo);
	prime_put(memory->dma_buf);
	submit_client_end(client);
}

/* Returns the bus address that a page of the aperture leads to, or 0. */
static u64 import_aperture_bus(struct pagoda_rig *rig, u64 page)
{
	u32 generation;
	u64 bus;

	if (!pagoda_engine_aperture_lookup(&rig->engine, page, &bus, &generation))
		return 0;
	return pagoda_rig_bus(rig, bus);
}

/*
 * An import can have an address in the aperture, which leads to the memory until the import is
 * closed.
 */
static void import_in_aperture(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct prime_memory *memory = prime_memory(test, false, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	u64 first, i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_rig_settle(rig);
	first = pagoda_aperture_of(bo->ttm.resource)->node.start;
	for (i = 0; i < PRIME_PAGES; i++)
		KUNIT_EXPECT_EQ(test, (u64)page_to_phys(memory->pages[i]),
				import_aperture_bus(rig, first + i));
	pagoda_rig_close(bo);
	prime_settle(rig);
	KUNIT_EXPECT_EQ(test, 0u, memory->maps);
	for (i = 0; i < PRIME_PAGES; i++)
		KUNIT_EXPECT_NE(test, (u64)page_to_phys(memory->pages[i]),
				import_aperture_bus(rig, first + i));
	prime_put(memory->dma_buf);
}

/* An import can be evicted and used again, with its content. */
static void import_is_evicted(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct prime_memory *memory = prime_memory(test, false, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	struct drm_pagoda_allocation_info info;
	struct dma_fence *fence;
	u32 round;

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, PRIME_HERE));
	for (round = 1; round < 4; round++) {
		KUNIT_EXPECT_EQ(test, 0, prime_store(client, bo, 0, round));
		KUNIT_EXPECT_EQ(test, 0, pagoda_rig_evict(rig, &bo, 1, &fence));
		dma_fence_put(fence);
		pagoda_bo_info(bo, &info);
		KUNIT_EXPECT_EQ(test, (u32)DRM_PAGODA_NOT_RESIDENT, info.residency);
		KUNIT_EXPECT_TRUE(test, info.flags & DRM_PAGODA_ALLOCATION_IMPORTED);
		/* TTM doesn't swap an import out, and its content is never marked as lost. */
		prime_swap_out(client);
		dma_resv_lock(bo->ttm.base.resv, NULL);
		pagoda_bo_mark_lost(bo);
		KUNIT_EXPECT_EQ(test, 0, pagoda_lost_settle(bo));
		dma_resv_unlock(bo->ttm.base.resv);
		KUNIT_EXPECT_EQ(test, round, (u32)*prime_word(memory, 0));
	}
	pagoda_bo_info(bo, &info);
	KUNIT_EXPECT_EQ(test, 0u, info.state);
	import_drop(client, bo);
	prime_put(memory->dma_buf);
	submit_client_end(client);
}

/*
 * When the exporter moves the memory, the import leaves the aperture, and the next job that lists
 * the import uses the new pages. If this kernel can't tell importers of moves, the import pins the
 * memory instead.
 */
static void import_moves(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct prime_memory *memory = prime_memory(test, true, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	u32 round;

	if (!PAGODA_HAVE_MOVE_NOTIFY) {
		KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
		KUNIT_EXPECT_EQ(test, 1u, memory->pins);
	}
	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, PRIME_HERE));
	for (round = 1; round < 4 && PAGODA_HAVE_MOVE_NOTIFY; round++) {
		KUNIT_EXPECT_EQ(test, 0, prime_store(client, bo, LAST, round));
		KUNIT_EXPECT_EQ(test, 1u, memory->maps);
		prime_move(memory);
		KUNIT_EXPECT_EQ(test, 0u, memory->maps);
		KUNIT_EXPECT_EQ(test, (u32)TTM_PL_SYSTEM, bo->ttm.resource->mem_type);
		KUNIT_EXPECT_EQ(test, 0u, import_reached(rig, memory));
		KUNIT_EXPECT_EQ(test, round, (u32)*prime_word(memory, LAST));
		KUNIT_EXPECT_EQ(test, 0, prime_compare(client, bo, LAST, round));
	}
	/* A job that doesn't list the import faults instead of using the old pages. */
	if (PAGODA_HAVE_MOVE_NOTIFY) {
		prime_move(memory);
		submit_store(client, PRIME_HERE, 1);
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
		KUNIT_EXPECT_NE(test, 0, submit_wait(client));
	}
	import_drop(client, bo);
	prime_put(memory->dma_buf);
	submit_client_end(client);
}

struct import_mover {
	struct work_struct work;
	struct prime_memory *memory;
};

static void import_move_work(struct work_struct *work)
{
	prime_move(container_of(work, struct import_mover, work)->memory);
}

/* A move by the exporter waits for jobs submitted before the move, which use the old pages. */
static void import_moves_behind_jobs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct prime_memory *memory = prime_memory(test, true, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	struct submit_args args = { .bos = { bo }, .nr_bos = 1 };
	struct import_mover mover = { .memory = memory };

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, PRIME_HERE));
	*prime_word(memory, 0) = 7;
	pagoda_rig_hold(rig, 0, true);
	submit_compare(client, PRIME_HERE, 7);
	submit_store(client, PRIME_HERE + 8, 9);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	INIT_WORK_ONSTACK(&mover.work, import_move_work);
	if (PAGODA_HAVE_MOVE_NOTIFY)
		queue_work(system_dfl_wq, &mover.work);
	pagoda_rig_hold(rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	flush_work(&mover.work);
	destroy_work_on_stack(&mover.work);
	KUNIT_EXPECT_EQ(test, 9ull, *prime_word(memory, 8));
	import_drop(client, bo);
	prime_put(memory->dma_buf);
	submit_client_end(client);
}

/*
 * A dma-buf that is imported twice becomes two allocations with one reservation: one job can list
 * both, and the dma-buf isn't released before both imports are closed.
 */
static void import_twice(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct prime_memory *memory = prime_memory(test, false, SIZE);
	struct pagoda_bo *first = prime_import(rig, memory->dma_buf);
	struct pagoda_bo *second = prime_import(rig, memory->dma_buf);
	struct submit_args args = {
		.bos = { first, second },
		.flags = { DRM_PAGODA_SUBMIT_IMPLICIT,
			   DRM_PAGODA_SUBMIT_IMPLICIT | DRM_PAGODA_SUBMIT_WRITE },
		.nr_bos = 2,
	};

	KUNIT_EXPECT_PTR_NE(test, first, second);
	KUNIT_ASSERT_EQ(test, 0, submit_map(client, first, PRIME_HERE));
	KUNIT_ASSERT_EQ(test, 0, submit_map(client, second, PRIME_HERE + SZ_2M));
	submit_store(client, PRIME_HERE + 8, 5);
	submit_compare(client, PRIME_HERE + SZ_2M + 8, 5);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	import_drop(client, first);
	KUNIT_EXPECT_FALSE(test, memory->released);
	prime_put(memory->dma_buf);
	KUNIT_EXPECT_FALSE(test, memory->released);
	submit_compare(client, PRIME_HERE + SZ_2M + 8, 5);
	args.bos[0] = second;
	args.nr_bos = 1;
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	import_drop(client, second);
	submit_client_end(client);
}

static void import_refused(struct kunit *test, struct pagoda_rig *rig, size_t size, int error)
{
	struct prime_memory *memory = prime_memory(test, false, size);
	struct drm_gem_object *obj = pagoda_prime_import(rig->vidmm, memory->dma_buf);

	KUNIT_EXPECT_EQ(test, error, PTR_ERR_OR_ZERO(obj));
	prime_settle(rig);
	prime_put(memory->dma_buf);
}

/*
 * A dma-buf isn't imported if its size is 0, isn't whole pages, or exceeds the aperture. If the
 * exporter's mapping fails, isn't page aligned, or is too short, moving the import to the aperture
 * fails, and no mapping stays.
 */
static void import_bad(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct prime_memory *memory = prime_memory(test, true, SIZE);
	struct prime_memory *short_memory = prime_memory(test, true, SIZE + PAGE_SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	struct pagoda_bo *short_bo = prime_import(rig, short_memory->dma_buf);

	import_refused(test, rig, SIZE - 1, -EINVAL);
	import_refused(test, rig, 0, -EINVAL);
	import_refused(test, rig, (PAGODA_RIG_APERTURE_PAGES + 1) * PAGE_SIZE, -E2BIG);
	/* The exporter's other errors show only when the import is mapped. */
	memory->error = -EDQUOT;
	KUNIT_EXPECT_EQ(test, -EDQUOT, pagoda_rig_to_aperture(bo, false));
	memory->error = -EPERM;
	KUNIT_EXPECT_EQ(test, -EPERM, pagoda_rig_to_aperture(bo, false));
	memory->error = 0;
	memory->shift = 512;
	KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_rig_to_aperture(bo, true));
	KUNIT_EXPECT_EQ(test, 0u, memory->maps);
	memory->shift = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_rig_to_aperture(short_bo, false));
	KUNIT_EXPECT_EQ(test, 0u, short_memory->maps);
	/* After the failures the import can still be mapped. */
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	KUNIT_EXPECT_EQ(test, 1u, memory->maps);
	pagoda_rig_close(bo);
	pagoda_rig_close(short_bo);
	prime_settle(rig);
	prime_put(memory->dma_buf);
	prime_put(short_memory->dma_buf);
}

/*
 * If the CPU executes packets for a device with an MMU, importing fails with -EOPNOTSUPP, because
 * the CPU executor has no struct pages of an import. Without a device MMU importing works.
 */
static void import_by_cpu(struct kunit *test)
{
	const struct pagoda_rig_options options = { .mode = test->param_value, .by_cpu = true };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct prime_memory *memory;
	struct pagoda_bo *bo;

	if (rig->engine.mmu) {
		import_refused(test, rig, SIZE, -EOPNOTSUPP);
		return;
	}
	memory = prime_memory(test, false, SIZE);
	bo = prime_import(rig, memory->dma_buf);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	KUNIT_EXPECT_EQ(test, 1u, memory->maps);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_close(bo);
	prime_settle(rig);
	prime_put(memory->dma_buf);
}

/* After a reset an import's memory is mapped for the device again, and has its content. */
static void import_survives_reset(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct prime_memory *memory = prime_memory(test, false, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	struct drm_pagoda_allocation_info info;

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, PRIME_HERE));
	KUNIT_EXPECT_EQ(test, 0, prime_store(client, bo, LAST, 77));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	pagoda_bo_info(bo, &info);
	KUNIT_EXPECT_EQ(test, 0u, info.state);
	KUNIT_EXPECT_EQ(test, 77ull, *prime_word(memory, LAST));
	KUNIT_EXPECT_EQ(test, rig->engine.mmu ? PRIME_PAGES : 0, import_reached(rig, memory));
	KUNIT_EXPECT_EQ(test, 0, prime_compare(client, bo, LAST, 77));
	import_drop(client, bo);
	prime_put(memory->dma_buf);
	submit_client_end(client);
}

/* When the device is unplugged, the import's memory is unmapped and the dma-buf is detached. */
static void import_unplug(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct prime_memory *memory = prime_memory(test, false, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, PRIME_HERE));
	KUNIT_EXPECT_EQ(test, 0, prime_store(client, bo, LAST, 1));
	pagoda_rig_unplug(rig);
	KUNIT_EXPECT_EQ(test, 0u, memory->maps);
	KUNIT_EXPECT_TRUE(test, list_empty(&memory->dma_buf->attachments));
	import_drop(client, bo);
	prime_put(memory->dma_buf);
	submit_client_end(client);
}

/*
 * If UNMAP_MMU fails when an import is closed, the memory stays mapped and the dma-buf referenced
 * until the device is reset. Without a device MMU mapping and reference end at once.
 */
static void import_abandoned(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct prime_memory *memory = prime_memory(test, true, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	rig->fail.opcode = VIRTIO_PAGODA_OP_UNMAP_MMU;
	rig->fail.allocation = bo->id;
	rig->fail.times = 1000;
	pagoda_rig_close(bo);
	prime_settle(rig);
	rig->fail.times = 0;
	/*
	 * With a device MMU the attachment is told of a move by the exporter, although the
	 * allocation is gone.
	 */
	prime_move(memory);
	prime_put(memory->dma_buf);
	KUNIT_EXPECT_EQ(test, rig->engine.mmu ? 1 : 0, memory->maps);
	KUNIT_EXPECT_EQ(test, !rig->engine.mmu, memory->released);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	prime_settle(rig);
	KUNIT_EXPECT_TRUE(test, memory->released);
}

/*
 * With a device MMU: UNMAP_MMU fails when the exporter moves the memory. The import can't be used
 * any more (-ENODEV); the DRM core still finds its dma-buf, even after a reset unmapped the memory.
 */
static void import_kept_has_a_dma_buf(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct prime_memory *memory = prime_memory(test, true, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	struct dma_buf_attachment *attach = bo->ttm.base.import_attach;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	rig->fail.opcode = VIRTIO_PAGODA_OP_UNMAP_MMU;
	rig->fail.allocation = bo->id;
	rig->fail.times = 1000;
	prime_move(memory);
	rig->fail.times = 0;
	KUNIT_EXPECT_EQ(test, rig->engine.mmu ? 1 : 0, memory->maps);
	KUNIT_EXPECT_EQ(test, rig->engine.mmu ? -ENODEV : 0, pagoda_rig_to_aperture(bo, false));
	KUNIT_EXPECT_PTR_EQ(test, attach, bo->ttm.base.import_attach);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_ASSERT_PTR_EQ(test, attach, bo->ttm.base.import_attach);
	KUNIT_EXPECT_PTR_EQ(test, memory->dma_buf, attach->dmabuf);
	pagoda_rig_close(bo);
	prime_settle(rig);
	prime_put(memory->dma_buf);
	KUNIT_EXPECT_TRUE(test, memory->released);
}

/* ---- The exporter moves the memory while the import is destroyed ------------------- */

#define LIMIT	(300 * HZ)

/* A work item in which the exporter moves the memory; @done is completed after the move. */
struct import_maker {
	struct prime_memory *memory;
	struct work_struct work;
	struct completion done;
};

static void import_maker_run(struct work_struct *work)
{
	struct import_maker *maker = container_of(work, struct import_maker, work);

	prime_move(maker->memory);
	complete(&maker->done);
}

/*
 * Starts the exporter's move in a work item, and returns when the work item holds the reservation.
 * The move keeps the reservation until importers have unmapped the memory.
 */
static struct import_maker *import_maker_start(struct kunit *test, struct prime_memory *memory)
{
	struct import_maker *maker = test_zalloc(test, sizeof(*maker));
	unsigned long end = jiffies + LIMIT;

	maker->memory = memory;
	INIT_WORK(&maker->work, import_maker_run);
	init_completion(&maker->done);
	queue_work(system_dfl_wq, &maker->work);
	while (!dma_resv_is_locked(memory->dma_buf->resv) && time_before(jiffies, end))
		fsleep(100);
	KUNIT_ASSERT_TRUE(test, dma_resv_is_locked(memory->dma_buf->resv));
	return maker;
}

/*
 * TTM deletes an import that is closed in use after the last use, under the reservation. A move by
 * the exporter, which holds the reservation, itself waits for that use and unmaps the memory.
 */
static void import_moves_behind_its_end(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct prime_memory *memory = prime_memory(test, true, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	struct dma_fence *fence = pagoda_test_fence(test);
	struct import_maker *maker;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	settle_moves(rig);
	make_busy(rig, bo, fence);
	pagoda_rig_close(bo);
	if (PAGODA_HAVE_MOVE_NOTIFY) {
		*prime_word(memory, 0) = 7;
		maker = import_maker_start(test, memory);
		KUNIT_EXPECT_EQ(test, 1u, memory->maps);
		KUNIT_EXPECT_FALSE(test, completion_done(&maker->done));
		dma_fence_signal(fence);
		KUNIT_ASSERT_NE(test, 0ul, wait_for_completion_timeout(&maker->done, LIMIT));
		flush_work(&maker->work);
		KUNIT_EXPECT_EQ(test, 0u, memory->maps);
		KUNIT_EXPECT_EQ(test, 7ull, *prime_word(memory, 0));
	}
	dma_fence_signal(fence);
	dma_fence_put(fence);
	prime_settle(rig);
	KUNIT_EXPECT_EQ(test, 0u, memory->maps);
	prime_put(memory->dma_buf);
}

/* The exporter's move flushes the stream, so it doesn't wait until the stream is unplugged. */
static void import_moves_plugged(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct prime_memory *memory = prime_memory(test, true, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	unsigned long begun;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	settle_moves(rig);
	pagoda_rig_plug_shared(rig);
	begun = jiffies;
	if (PAGODA_HAVE_MOVE_NOTIFY)
		prime_move(memory);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, begun + 50 * HZ));
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_share(rig, false);
	pagoda_rig_close(bo);
	prime_settle(rig);
	prime_put(memory->dma_buf);
}

/*
 * An import that is pinned in the aperture can't leave the aperture. When the exporter moves the
 * memory, the memory is unmapped all the same, and a later job that lists the import fails, and
 * reaches neither the old pages nor the new ones.
 */
static void import_moves_though_it_cant(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct prime_memory *memory = prime_memory(test, true, SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	struct submit_args args = { .bos = { bo }, .nr_bos = 1 };

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, PRIME_HERE));
	KUNIT_EXPECT_EQ(test, 0, prime_store(client, bo, 0, 7));
	if (PAGODA_HAVE_MOVE_NOTIFY) {
		pagoda_rig_pin(bo, true);
		prime_move(memory);
		pagoda_rig_pin(bo, false);
		KUNIT_EXPECT_EQ(test, 0u, memory->maps);
		KUNIT_EXPECT_EQ(test, 0u, import_reached(rig, memory));
		KUNIT_EXPECT_EQ(test, 7ull, *prime_word(memory, 0));
		submit_store(client, PRIME_HERE, 1);
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
		KUNIT_EXPECT_NE(test, 0, submit_wait(client));
		KUNIT_EXPECT_EQ(test, 7ull, *prime_word(memory, 0));
		KUNIT_EXPECT_EQ(test, 0xdbu, *(u8 *)page_address(memory->other[0]));
	}
	import_drop(client, bo);
	prime_put(memory->dma_buf);
	submit_client_end(client);
}

static struct kunit_case import_cases[] = {
	KUNIT_CASE_PARAM(import_static, pagoda_rig_modes),
	KUNIT_CASE_PARAM(import_dynamic, pagoda_rig_modes),
	KUNIT_CASE_PARAM(import_not_coherent, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(import_in_aperture, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(import_is_evicted, pagoda_rig_modes),
	KUNIT_CASE_PARAM(import_moves, pagoda_rig_modes),
	KUNIT_CASE_PARAM(import_moves_behind_jobs, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(import_twice, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(import_bad, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(import_by_cpu, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(import_survives_reset, pagoda_rig_modes),
	KUNIT_CASE_PARAM(import_unplug, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(import_abandoned, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(import_kept_has_a_dma_buf, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(import_moves_behind_its_end, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(import_moves_though_it_cant, pagoda_rig_modes),
	KUNIT_CASE_PARAM(import_moves_plugged, pagoda_rig_mmu_modes),
	{}
};

static struct kunit_suite import_suite = {
	.name = "pagoda_prime_import",
	.test_cases = import_cases,
};

kunit_test_suite(import_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit suite of imported allocations");
