// SPDX-License-Identifier: GPL-2.0
/* Imported dma-bufs as allocations, on the rig. */
#include <linux/delay.h>
#include "queue/queue_helpers.h"
#include "residency/offer_helpers.h"
#include "prime_helpers.h"

#define SIZE	(PRIME_PAGES * PAGE_SIZE)
#define LAST	(SIZE - sizeof(u64))

/* Returns the number of device addresses that lead to the memory; 0 without a device MMU. */
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
 * The GPU reads in each page what the CPU wrote, and the other way round; the memory is used in
 * place, without a fill or a copy.
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
	/* The memory is used where it is: no fill, no copy. */
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
 * A device that doesn't snoop still reads what the CPU wrote to cached memory (and the other way
 * round).
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

/* Returns the bus address that a page of the aperture leads to. */
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

/* An import can be evicted and made resident again; its content stays in the memory. */
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
		/* An import is neither swapped out nor marked lost. */
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
 * it uses the new pages.
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

/* A move by the exporter waits for jobs that were submitted before: they use the old pages. */
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
 * One dma-buf imported twice: two allocations with one reservation, both usable in one job, and the
 * dma-buf lives as long as either.
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
 * Memory of a bad size isn't imported; bad mappings fail when they are made and leave nothing
 * behind.
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
	/* Other faults show only when the memory is mapped. */
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
	/* The failures left nothing behind. */
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	KUNIT_EXPECT_EQ(test, 1u, memory->maps);
	pagoda_rig_close(bo);
	pagoda_rig_close(short_bo);
	prime_settle(rig);
	prime_put(memory->dma_buf);
	prime_put(short_memory->dma_buf);
}

/*
 * If the CPU executes packets, an import is refused with a device MMU, because the CPU has no
 * struct pages of it.
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

/* After a reset of the device the memory is mapped again with its content. */
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

/* When the device is unplugged, nothing is mapped or attached any more. */
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
 * When the device doesn't release its addresses, the memory stays mapped until the device is reset.
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
	/* The exporter still tells the attachment of its move, although the allocation is gone. */
	prime_move(memory);
	prime_put(memory->dma_buf);
	KUNIT_EXPECT_EQ(test, rig->engine.mmu ? 1 : 0, memory->maps);
	KUNIT_EXPECT_EQ(test, !rig->engine.mmu, memory->released);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	prime_settle(rig);
	KUNIT_EXPECT_TRUE(test, memory->released);
}

/*
 * The exporter moves the memory and the device doesn't release its addresses. The import is
 * unusable then, and the DRM core still finds the dma-buf of the import, also after the reset has
 * freed the pages.
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

/* A thread of the exporter that moves the memory; @done completes afterwards. */
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

/* Returns when the thread holds the reservation, until importers have released the memory. */
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
 * An import that is closed and still used is deleted by TTM later, which needs the reservation: the
 * exporter's move releases the memory all the same, after the last use.
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

/* The exporter's move flushes the stream: it doesn't wait for a thread that has plugged it. */
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
	pagoda_stream_unplug(rig->vidmm);
	pagoda_rig_share(rig, false);
	pagoda_rig_close(bo);
	prime_settle(rig);
	prime_put(memory->dma_buf);
}

/*
 * An import that is pinned in the aperture can't leave it. After the exporter's move no address
 * leads to the old pages, not even after a job listed the import.
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
