// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of tiled allocations that the CPU, through windows of swizzling ranges, and jobs use in
 * turn: each finds what the other wrote. While the window of an allocation is shown to the CPU, a
 * copy within VRAM and a discard are busy. Surface: a tiled allocation.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <drm/drm_gem.h>
#include "debug/debug.h"
#include "residency/offer_helpers.h"
#include "segment/tiled_helpers.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define SPECIAL		VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER

#define SURFACES	(PAGODA_RIG_RANGES + 2)	/* more surfaces than ranges */
#define RESULTS		SZ_2G			/* virtual address of jobs' results */
#define HERE(i)		(SZ_4M * (1ull + (i)))	/* virtual address of surface i */

/*
 * @nr surfaces, surface i mapped at HERE(i), those with odd numbers private to the client's VM.
 * Jobs copy words to @results.
 */
struct job_world {
	struct pagoda_rig *rig;
	struct submit_client *client;
	struct pagoda_bo *results;
	struct pagoda_bo *bo[SURFACES];
	u32 nr;
};

static struct pagoda_bo *job_surface(struct job_world *world, u32 number)
{
	const struct pagoda_layout *layout = &tiled_layouts[number / 2 % TILED_LAYOUTS];
	const struct pagoda_bo_params params = {
		.size = pagoda_layout_size(layout) + PAGE_SIZE,
		.flags = CPU,
		.supported = VRAM,
		.layout = *layout,
		.vm = number % 2 ? world->client->vm : NULL,
		.uses = number % 2 ? &world->client->vm->uses : NULL,
	};
	struct pagoda_rig *rig = world->rig;
	struct pagoda_bo *bo = pagoda_bo_create(rig->vidmm, rig->client, &params);

	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(bo));
	KUNIT_ASSERT_EQ(rig->test, 0, submit_map(world->client, bo, HERE(number)));
	return bo;
}

static void job_world_init(struct kunit *test, struct job_world *world, u32 nr, bool no_window)
{
	const struct pagoda_rig_options options = { .engines = true, .no_window = no_window };

	*world = (struct job_world) { .rig = pagoda_rig_create(test, &options), .nr = nr };
	world->client = submit_client(world->rig, 0);
	world->results = submit_private(world->client, 1, SUBMIT_VRAM, RESULTS);
	for (nr = 0; nr < world->nr; nr++)
		world->bo[nr] = job_surface(world, nr);
}

static void job_world_end(struct job_world *world)
{
	if (world->client->sent)
		submit_wait(world->client);
	while (world->nr--)
		submit_close(world->client, world->bo[world->nr]);
	submit_close(world->client, world->results);
	submit_client_end(world->client);
}

/* ---- Accesses of the CPU and of jobs ------------------------------------------------- */

/*
 * Returns the virtual address at which a job finds the word that the CPU's linear view of surface
 * @i has at @offset.
 */
static u64 job_address(struct job_world *world, u32 i, u64 offset)
{
	return HERE(i) + tiled_offset(&world->bo[i]->tiling.layout, offset);
}

/* Returns the arguments of a job that uses surface @i: a private surface isn't listed. */
static struct submit_args job_args(struct job_world *world, u32 i)
{
	struct submit_args args = {};

	if (!world->bo[i]->vm.private_to) {
		args.bos[0] = world->bo[i];
		args.flags[0] = DRM_PAGODA_SUBMIT_WRITE;
		args.nr_bos = 1;
	}
	return args;
}

static void job_write(struct job_world *world, u32 i, u64 offset, u64 value)
{
	const struct submit_args args = job_args(world, i);

	submit_store(world->client, job_address(world, i, offset), value);
	KUNIT_ASSERT_EQ(world->rig->test, 0, submit_job(world->client, &args));
}

/*
 * Submits a job that copies the word at @offset of the linear view of surface @i to word @result of
 * the results.
 */
static void job_read(struct job_world *world, u32 i, u64 offset, u32 result)
{
	const struct submit_args args = job_args(world, i);

	submit_copy(world->client, job_address(world, i, offset), RESULTS + 8 * result, 8);
	KUNIT_ASSERT_EQ(world->rig->test, 0, submit_job(world->client, &args));
}

static u64 job_result(struct job_world *world, u32 result)
{
	KUNIT_EXPECT_EQ(world->rig->test, 0, submit_wait(world->client));
	return submit_word(world->rig, world->results, 8 * result);
}

static u64 job_get(struct job_world *world, u32 i, u64 offset)
{
	job_read(world, i, offset, 0);
	return job_result(world, 0);
}

/* Reads or writes a word of the linear view as a debugger does, wherever the surface is. */
static void cpu_debug(struct job_world *world, u32 i, u64 offset, u64 *value, bool write)
{
	struct pagoda_bo *bo = world->bo[i];

	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(world->rig->test, 8, pagoda_move_access(bo, offset, value, 8, write));
	dma_resv_unlock(bo->ttm.base.resv);
}

/*
 * Reads or writes a word of the linear view as after a page fault, through the window if the
 * surface is in VRAM. If the window is taken away before the access, acquires it again.
 */
static void cpu_touch(struct job_world *world, u32 i, u64 offset, u64 *value, bool write)
{
	struct pagoda_bo *bo = world->bo[i];
	bool done = false;
	u64 *at;

	if (bo->ttm.resource->mem_type != TTM_PL_VRAM) {
		cpu_debug(world, i, offset, value, write);
		return;
	}
	while (!done) {
		KUNIT_ASSERT_EQ(world->rig->test, 0, tiled_acquire(bo));
		dma_resv_lock(bo->ttm.base.resv, NULL);
		done = pagoda_swizzle_is_shown(bo);
		at = done ? (u64 *)(pagoda_swizzle_window(bo) + offset) : NULL;
		if (done && write)
			*at = *value;
		else if (done)
			*value = *at;
		dma_resv_unlock(bo->ttm.base.resv);
	}
}

static void cpu_set(struct job_world *world, u32 i, u64 offset, u64 value)
{
	cpu_touch(world, i, offset, &value, true);
}

static u64 cpu_get(struct job_world *world, u32 i, u64 offset)
{
	u64 value = ~0ull;

	cpu_touch(world, i, offset, &value, false);
	return value;
}

/* ---- In turn ------------------------------------------------------------------------- */

/*
 * Jobs see what the CPU wrote through a window, and the CPU sees what jobs wrote, also after moves.
 */
static void job_and_cpu(struct kunit *test)
{
	struct job_world world;
	u32 i;

	job_world_init(test, &world, 4, false);
	for (i = 0; i < world.nr; i++) {
		KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[i]));
		KUNIT_EXPECT_EQ(test, 0ull, cpu_get(&world, i, 4096));
		cpu_set(&world, i, 4096, 11 + i);
		KUNIT_EXPECT_EQ(test, 11ull + i, job_get(&world, i, 4096));
		KUNIT_EXPECT_FALSE(test, pagoda_swizzle_is_shown(world.bo[i]));
		job_write(&world, i, 4096, 22 + i);
		KUNIT_EXPECT_EQ(test, 22ull + i, cpu_get(&world, i, 4096));
		cpu_set(&world, i, 8, 33 + i);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(world.bo[i]));
		KUNIT_EXPECT_EQ(test, 22ull + i, cpu_get(&world, i, 4096));
		KUNIT_EXPECT_EQ(test, 33ull + i, job_get(&world, i, 8));
		KUNIT_EXPECT_EQ(test, 22ull + i, job_get(&world, i, 4096));
	}
	job_world_end(&world);
}

/*
 * A job takes away the windows of surfaces that are private to its VM, and not of surfaces that are
 * private to no VM and that the job doesn't list.
 */
static void job_of_others(struct kunit *test)
{
	struct submit_client *other;
	struct job_world world;

	job_world_init(test, &world, 2, false);
	other = submit_client(world.rig, 1);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[0]));
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[1]));
	cpu_set(&world, 0, 0, 1);
	cpu_set(&world, 1, 0, 2);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(other, NULL));
	KUNIT_EXPECT_TRUE(test, pagoda_swizzle_is_shown(world.bo[0]));
	KUNIT_EXPECT_TRUE(test, pagoda_swizzle_is_shown(world.bo[1]));
	KUNIT_ASSERT_EQ(test, 0, submit_empty(world.client, NULL));
	KUNIT_EXPECT_TRUE(test, pagoda_swizzle_is_shown(world.bo[0]));
	KUNIT_EXPECT_FALSE(test, pagoda_swizzle_is_shown(world.bo[1]));
	submit_wait(other);
	submit_client_end(other);
	job_world_end(&world);
}

/*
 * Each job of a VM uses the allocations of the client's residency list that the VM maps, although
 * the job doesn't list them: the job takes the window of such a surface away.
 */
static void job_of_list(struct kunit *test)
{
	struct job_world world;
	struct pagoda_bo *bo;
	u64 trim;
	u32 i;

	job_world_init(test, &world, 1, false);
	bo = world.bo[0];
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(world.rig->client, &bo, 1, &trim));
	for (i = 1; i < 4; i++) {
		cpu_set(&world, 0, 64, i);
		submit_copy(world.client, job_address(&world, 0, 64), RESULTS, 8);
		submit_store(world.client, job_address(&world, 0, 72), 10 * i);
		KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, NULL));
		KUNIT_EXPECT_EQ(test, i, job_result(&world, 0));
		KUNIT_EXPECT_EQ(test, 10ull * i, cpu_get(&world, 0, 72));
	}
	pagoda_client_drop_lists(world.rig->client);
	job_world_end(&world);
}

/*
 * A job that waits for a point finds all that the CPU wrote before the point existed, even what the
 * CPU wrote after SUBMIT.
 */
static void job_deferred(struct kunit *test)
{
	struct job_world world;
	struct submit_args args;
	u32 i;

	job_world_init(test, &world, 2, false);
	for (i = 0; i < world.nr; i++) {
		args = job_args(&world, i);
		args.in = submit_syncobj(test);
		args.in_point = 1;
		KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[i]));
		cpu_set(&world, i, 0, 1);
		submit_copy(world.client, job_address(&world, i, 0), RESULTS, 8);
		submit_store(world.client, job_address(&world, i, 0), 3);
		KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, &args));
		KUNIT_EXPECT_TRUE(test, pagoda_swizzle_is_shown(world.bo[i]));
		cpu_set(&world, i, 0, 2);
		submit_signal(world.client, args.in, 1);
		KUNIT_EXPECT_EQ(test, 2ull, job_result(&world, 0));
		KUNIT_EXPECT_EQ(test, 3ull, cpu_get(&world, i, 0));
	}
	job_world_end(&world);
}

/*
 * While a job uses the surface, pagoda_swizzle_acquire() returns -EAGAIN and a fence to wait for,
 * and binds no range.
 */
static void job_is_waited_for(struct kunit *test)
{
	struct dma_fence *busy, *last;
	struct job_world world;
	u32 i;

	job_world_init(test, &world, 2, false);
	for (i = 0; i < world.nr; i++) {
		KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[i]));
		pagoda_rig_settle(world.rig);
		pagoda_rig_hold(world.rig, 0, true);
		job_write(&world, i, 0, 5);
		KUNIT_ASSERT_TRUE(test, submit_point(world.client->done, world.client->sent,
						     &last));
		dma_resv_lock(world.bo[i]->ttm.base.resv, NULL);
		KUNIT_EXPECT_EQ(test, -EAGAIN, pagoda_swizzle_acquire(world.bo[i], &busy));
		KUNIT_EXPECT_NULL(test, world.bo[i]->tiling.range);
		dma_resv_unlock(world.bo[i]->ttm.base.resv);
		KUNIT_ASSERT_NOT_NULL(test, busy);
		KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(busy));
		KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(last));
		dma_fence_put(busy);
		dma_fence_put(last);
		pagoda_rig_hold(world.rig, 0, false);
		KUNIT_EXPECT_EQ(test, 5ull, cpu_get(&world, i, 0));
	}
	job_world_end(&world);
}

/*
 * If a move to VRAM has bound a range to the surface and filled it with the linear view, a job that
 * comes before an access of the CPU has the range released. A move to VRAM for a job binds no
 * range.
 */
static void job_after_view(struct kunit *test)
{
	struct job_world world;
	u32 i, special;

	job_world_init(test, &world, 2, false);
	for (i = 0; i < world.nr; i++) {
		KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[i]));
		cpu_set(&world, i, 0, 1);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(world.bo[i]));
		KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[i]));
		KUNIT_ASSERT_NOT_NULL(test, world.bo[i]->tiling.range);
		job_write(&world, i, 0, 2);
		KUNIT_EXPECT_NULL(test, world.bo[i]->tiling.range);
		KUNIT_EXPECT_EQ(test, 2ull, cpu_get(&world, i, 0));
		cpu_set(&world, i, 8, 3);

		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(world.bo[i]));
		pagoda_rig_settle(world.rig);
		special = pagoda_rig_count(world.rig, SPECIAL, world.bo[i]->id);
		KUNIT_EXPECT_EQ(test, 3ull, job_get(&world, i, 8));
		PAGODA_PROVES(C38);
		KUNIT_EXPECT_EQ(test, special,
				pagoda_rig_count(world.rig, SPECIAL, world.bo[i]->id));
		KUNIT_EXPECT_TRUE(test, pagoda_bo_is_in_vram(world.bo[i]));
	}
	job_world_end(&world);
}

/*
 * If the device refuses the command that writes a window back, the job finds zeros, and the content
 * counts as lost.
 */
static void job_without_write_back(struct kunit *test)
{
	struct drm_pagoda_allocation_info info;
	struct job_world world;
	u32 i;

	job_world_init(test, &world, 2, false);
	for (i = 0; i < world.nr; i++) {
		KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[i]));
		cpu_set(&world, i, 0, 1);
		job_write(&world, i, 0, 2);
		cpu_set(&world, i, 0, 3);
		world.rig->fake->control_error = -EINVAL;
		job_read(&world, i, 0, 0);
		world.rig->fake->control_error = 0;
		KUNIT_EXPECT_EQ(test, 0ull, job_result(&world, 0));
		pagoda_bo_info(world.bo[i], &info);
		KUNIT_EXPECT_EQ(test, info.state, DRM_PAGODA_CONTENT_LOST);
		job_write(&world, i, 0, 4);
		KUNIT_EXPECT_EQ(test, 4ull, cpu_get(&world, i, 0));
	}
	job_world_end(&world);
}

/*
 * All ranges are bound to surfaces that jobs then use: another surface gets a range at once, and
 * steals none, because the jobs that are prepared have taken windows away.
 */
static void job_of_victim(struct kunit *test)
{
	struct job_world world;
	struct drm_pagoda_stats stats;
	struct pagoda_bo *bo;
	u32 i;

	job_world_init(test, &world, PAGODA_RIG_RANGES, false);
	for (i = 0; i < world.nr; i++) {
		KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[i]));
		cpu_set(&world, i, 0, i);
	}
	bo = tiled_bo(world.rig, &tiled_layouts[0], CPU, VRAM);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	pagoda_rig_settle(world.rig);
	pagoda_rig_hold(world.rig, 0, true);
	for (i = 0; i < world.nr; i++)
		job_write(&world, i, 8, i);
	/* Surfaces of prepared jobs have no ranges; otherwise the call would wait forever. */
	KUNIT_EXPECT_EQ(test, 0, tiled_acquire(bo));
	pagoda_vidmm_stats(world.rig->vidmm, &stats);
	KUNIT_EXPECT_EQ(test, stats.range_steals, 0);
	pagoda_rig_hold(world.rig, 0, false);
	/*
	 * Wait for all jobs: an access of the CPU waits only for prepared jobs, here two, not for
	 * queued ones.
	 */
	KUNIT_EXPECT_EQ(test, 0, submit_wait(world.client));
	for (i = 0; i < world.nr; i++) {
		KUNIT_EXPECT_EQ(test, i, cpu_get(&world, i, 0));
		KUNIT_EXPECT_EQ(test, i, cpu_get(&world, i, 8));
	}
	pagoda_rig_close(bo);
	job_world_end(&world);
}

/*
 * While copies fill all ranges, pagoda_swizzle_acquire() returns -EAGAIN and the fence of a copy to
 * wait for.
 */
static void job_fills_ranges(struct kunit *test)
{
	struct job_world world;
	struct dma_fence *busy;
	struct pagoda_bo *bo;
	u32 i;

	job_world_init(test, &world, PAGODA_RIG_RANGES, false);
	for (i = 0; i < world.nr; i++) {
		KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[i]));
		cpu_set(&world, i, 0, i);
	}
	for (i = 0; i < world.nr; i++)
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(world.bo[i]));
	bo = tiled_bo(world.rig, &tiled_layouts[0], CPU, VRAM);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	pagoda_rig_settle(world.rig);
	pagoda_fake_transport_mode(world.rig->fake, PAGODA_FAKE_HELD);
	for (i = 0; i < world.nr; i++) {
		KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[i]));
		KUNIT_ASSERT_NOT_NULL(test, world.bo[i]->tiling.range);
	}
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, -EAGAIN, pagoda_swizzle_acquire(bo, &busy));
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_EXPECT_NOT_NULL(test, busy);
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	dma_fence_put(busy);
	for (i = 0; i < world.nr; i++)
		KUNIT_EXPECT_NOT_NULL(test, world.bo[i]->tiling.range);
	pagoda_rig_settle(world.rig);
	KUNIT_EXPECT_EQ(test, 0, tiled_acquire(bo));
	for (i = 0; i < world.nr; i++)
		KUNIT_EXPECT_EQ(test, i, cpu_get(&world, i, 0));
	pagoda_rig_close(bo);
	job_world_end(&world);
}

/* ---- A range makes an allocation busy ------------------------------------------------ */

static struct drm_pagoda_stats busy_stats(struct pagoda_rig *rig)
{
	struct drm_pagoda_stats stats;

	pagoda_vidmm_stats(rig->vidmm, &stats);
	return stats;
}

/* Returns whether a range is bound to the allocation. */
static bool busy_is_bound(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	u32 i;

	for (i = 0; i < PAGODA_RIG_RANGES; i++)
		if (rig->vidmm->swizzle->ranges[i].bo == bo)
			return true;
	return false;
}

/*
 * A copy within VRAM copies tiles, and the range may hold bytes that the tiles lack: the builder
 * reports busy once, and the range is released before the operation is built.
 */
static void busy_in_vram(struct kunit *test)
{
	static const struct ttm_place low = { .mem_type = TTM_PL_VRAM, .lpfn = 512,
					      .flags = TTM_PL_FLAG_CONTIGUOUS };
	static const struct ttm_place high = { .mem_type = TTM_PL_VRAM, .fpfn = 512,
					       .flags = TTM_PL_FLAG_CONTIGUOUS };
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_bo(rig, &tiled_layouts[1], CPU, VRAM);
	u32 transfers, controls;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &low, false));
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
	window_content(rig, bo, 4, true);
	transfers = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id);
	controls = rig->fake->controls;
	/* With no_wait_gpu the move fails with -EBUSY and has no effect. */
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_rig_place(bo, &high, true));
	PAGODA_PROVES(C11);
	KUNIT_EXPECT_EQ(test, 1, busy_stats(rig).busy_retries);
	KUNIT_EXPECT_EQ(test, 0, busy_stats(rig).cpu_waits);
	KUNIT_EXPECT_EQ(test, controls, rig->fake->controls);
	KUNIT_EXPECT_TRUE(test, busy_is_bound(rig, bo));
	KUNIT_EXPECT_TRUE(test, window_content(rig, bo, 4, false));
	/* Once the allocation is idle, its range is released, and the same operation is built. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &high, false));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C12, C13, C14);
	KUNIT_EXPECT_EQ(test, 2, busy_stats(rig).busy_retries);
	KUNIT_EXPECT_EQ(test, 1, busy_stats(rig).cpu_waits);
	KUNIT_EXPECT_EQ(test, controls + 1, rig->fake->controls);
	KUNIT_EXPECT_EQ(test, transfers + 1,
			pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id));
	KUNIT_EXPECT_FALSE(test, busy_is_bound(rig, bo));
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 4));
	/* Without a range the allocation isn't busy. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &low, true));
	KUNIT_EXPECT_EQ(test, 2, busy_stats(rig).busy_retries);
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 4));
	pagoda_rig_close(bo);
}

/* If the device doesn't release the range, the move fails, and the content counts as lost. */
static void busy_in_vram_fails(struct kunit *test)
{
	static const struct ttm_place low = { .mem_type = TTM_PL_VRAM, .lpfn = 512,
					      .flags = TTM_PL_FLAG_CONTIGUOUS };
	static const struct ttm_place high = { .mem_type = TTM_PL_VRAM, .fpfn = 512,
					       .flags = TTM_PL_FLAG_CONTIGUOUS };
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_bo(rig, &tiled_layouts[1], CPU, VRAM);
	struct drm_pagoda_allocation_info info;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &low, false));
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
	window_content(rig, bo, 4, true);
	rig->fake->control_error = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, pagoda_rig_place(bo, &high, false));
	rig->fake->control_error = 0;
	KUNIT_EXPECT_GT(test, 512, bo->ttm.resource->start);
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	pagoda_bo_info(bo, &info);
	KUNIT_EXPECT_EQ(test, info.state, DRM_PAGODA_CONTENT_LOST);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &high, false));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_rig_close(bo);
}

/* The discard of offered content is busy until the range that shows the content is released. */
static void busy_discard(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 5);

	KUNIT_ASSERT_EQ(test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
	KUNIT_ASSERT_TRUE(test, busy_is_bound(rig, bo));
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_EQ(test, 0, evict(rig, bo));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C11, C12, C14);
	KUNIT_EXPECT_EQ(test, 1, busy_stats(rig).busy_retries);
	KUNIT_EXPECT_EQ(test, 1, busy_stats(rig).cpu_waits);
	KUNIT_EXPECT_EQ(test, 1,
			pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, bo->id));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_count(rig, SPECIAL, bo->id));
	KUNIT_EXPECT_FALSE(test, busy_is_bound(rig, bo));
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_DISCARDED, reclaim(rig, bo));
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_rig_close(bo);
}

struct busy_evictor {
	struct pagoda_rig *rig;
	struct pagoda_bo *bo;
	struct completion done;
	int ret;
};

static int busy_evictor_run(void *data)
{
	struct busy_evictor *evictor = data;

	evictor->ret = evict(evictor->rig, evictor->bo);
	complete(&evictor->done);
	return 0;
}

/*
 * The range is released after all fences of the reservation have signalled, here also the fence of
 * a copy of another private allocation. The reservation stays locked until then, so that no job
 * gets in between.
 */
static void busy_until_idle(struct kunit *test)
{
	const struct pagoda_rig_note *copy, *discard;
	struct busy_evictor evictor;
	struct job_world world;
	u32 i;

	job_world_init(test, &world, 4, false);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[1]));
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(world.bo[3]));
	cpu_set(&world, 1, 0, 1);
	KUNIT_ASSERT_EQ(test, 0, offer(world.rig, world.bo[1], DRM_PAGODA_OFFER_LOW));
	pagoda_rig_settle(world.rig);
	pagoda_fake_transport_mode(world.rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(world.bo[3]));
	evictor = (struct busy_evictor) { .rig = world.rig, .bo = world.bo[1] };
	init_completion(&evictor.done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(busy_evictor_run, &evictor, "pagoda-evictor")));
	for (i = 0; i < 1000 && !busy_stats(world.rig).busy_retries; i++)
		msleep(20);

	PAGODA_PROVES(C14, C15, C16);
	KUNIT_EXPECT_EQ(test, 0, wait_for_completion_timeout(&evictor.done, HZ / 5));
	KUNIT_EXPECT_EQ(test, 1, busy_stats(world.rig).busy_retries);
	KUNIT_EXPECT_FALSE(test, dma_resv_trylock(world.bo[1]->ttm.base.resv));
	KUNIT_EXPECT_TRUE(test, busy_is_bound(world.rig, world.bo[1]));

	pagoda_fake_transport_mode(world.rig->fake, PAGODA_FAKE_DEFERRED);
	KUNIT_EXPECT_NE(test, 0, wait_for_completion_timeout(&evictor.done, 30 * HZ));
	KUNIT_EXPECT_EQ(test, 0, evictor.ret);
	pagoda_rig_settle(world.rig);
	KUNIT_EXPECT_FALSE(test, busy_is_bound(world.rig, world.bo[1]));
	copy = pagoda_rig_find(world.rig, VIRTIO_PAGODA_OP_TRANSFER, world.bo[3]->id, 0);
	discard = pagoda_rig_find(world.rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT,
				  world.bo[1]->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, copy);
	KUNIT_ASSERT_NOT_NULL(test, discard);
	KUNIT_EXPECT_LT(test, copy->seqno, discard->seqno);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_DISCARDED, reclaim(world.rig, world.bo[1]));
	job_world_end(&world);
}

/* ---- A random walk ------------------------------------------------------------------- */

#define WALK_STEPS	1500
#define WALK_WORDS	6
#define WALK_JOBS	8	/* results of jobs that are read later */

/* Returns the offset of a word in the linear view; the words are spread over the whole surface. */
static u64 walk_offset(const struct pagoda_bo *bo, u32 word)
{
	return word ? round_down(bo->ttm.base.size / WALK_WORDS * word + 200, 8) : 0;
}

/*
 * State of the walk. @value has for each word the value that reads have to find after all accesses
 * so far; @last is the last value that an access got, written or not; @expected has the values that
 * @nr_reads jobs have to read; @wrong counts wrong values.
 */
struct walk {
	struct job_world world;
	u64 state;
	u64 value[SURFACES][WALK_WORDS];
	u64 last;
	u64 expected[WALK_JOBS];
	u32 nr_reads;
	u32 wrong;
};

static u32 walk_random(struct walk *walk, u32 below)
{
	walk->state = walk->state * 6364136223846793005ull + 1442695040888963407ull;
	return (walk->state >> 33) % below;
}

static void walk_look(struct walk *walk)
{
	u32 n;

	for (n = 0; n < walk->nr_reads; n++)
		walk->wrong += job_result(&walk->world, n) != walk->expected[n];
	walk->nr_reads = 0;
}

static void walk_cpu(struct walk *walk, u32 i, u32 word, bool write, bool debug)
{
	u64 offset = walk_offset(walk->world.bo[i], word), value = ++walk->last;

	/*
	 * Wait until no job is queued: a queued job doesn't have the surface yet, and would come
	 * after a later write of the CPU.
	 */
	while (!pagoda_deferred_is_empty(&walk->world.client->context->deferred))
		fsleep(100);
	if (debug)
		cpu_debug(&walk->world, i, offset, &value, write);
	else
		cpu_touch(&walk->world, i, offset, &value, write);
	if (write)
		walk->value[i][word] = value;
	else
		walk->wrong += value != walk->value[i][word];
}

static void walk_job(struct walk *walk, u32 i, u32 word, bool write)
{
	u64 offset = walk_offset(walk->world.bo[i], word);

	if (write) {
		walk->value[i][word] = ++walk->last;
		job_write(&walk->world, i, offset, walk->last);
		return;
	}
	walk->expected[walk->nr_reads] = walk->value[i][word];
	job_read(&walk->world, i, offset, walk->nr_reads++);
	if (walk->nr_reads == WALK_JOBS)
		walk_look(walk);
}

static void walk_step(struct walk *walk)
{
	u32 i = walk_random(walk, SURFACES), word = walk_random(walk, WALK_WORDS);
	struct kunit *test = walk->world.rig->test;
	u32 what = walk_random(walk, 20);

	if (what < 8)
		walk_cpu(walk, i, word, what % 2, what == 6);
	else if (what < 15)
		walk_job(walk, i, word, what % 2);
	else if (what < 17)
		KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(walk->world.bo[i]));
	else if (what < 19)
		KUNIT_EXPECT_EQ(test, 0, tiled_to_vram(walk->world.bo[i]));
	else
		walk_look(walk);
}

static void walk_run(struct kunit *test, bool no_window)
{
	struct walk *walk = test_zalloc(test, sizeof(*walk));
	u32 step;

	walk->state = 17 + no_window;
	job_world_init(test, &walk->world, SURFACES, no_window);
	for (step = 0; step < WALK_STEPS && !walk->wrong; step++)
		walk_step(walk);
	KUNIT_EXPECT_EQ_MSG(test, 0, walk->wrong, "step %u", step);
	walk_look(walk);
	KUNIT_EXPECT_EQ(test, 0, walk->wrong);
	KUNIT_EXPECT_LT(test, 100, busy_stats(walk->world.rig).range_acquires);
	KUNIT_EXPECT_LT(test, 0, busy_stats(walk->world.rig).range_steals);
	job_world_end(&walk->world);
}

/*
 * Accesses of the CPU, of a debugger and of jobs, and moves, in random order: each read finds the
 * last value written before it.
 */
static void job_walk(struct kunit *test)
{
	walk_run(test, false);
}

static void job_walk_invisible(struct kunit *test)
{
	walk_run(test, true);
}

static struct kunit_case tiled_job_cases[] = {
	KUNIT_CASE(job_and_cpu),
	KUNIT_CASE(job_of_others),
	KUNIT_CASE(job_of_list),
	KUNIT_CASE(job_deferred),
	KUNIT_CASE(job_is_waited_for),
	KUNIT_CASE(job_after_view),
	KUNIT_CASE(job_without_write_back),
	KUNIT_CASE(job_of_victim),
	KUNIT_CASE(job_fills_ranges),
	KUNIT_CASE(busy_in_vram),
	KUNIT_CASE(busy_in_vram_fails),
	KUNIT_CASE(busy_discard),
	KUNIT_CASE(busy_until_idle),
	KUNIT_CASE_SLOW(job_walk),
	KUNIT_CASE_SLOW(job_walk_invisible),
	{}
};

static struct kunit_suite tiled_job_suite = {
	.name = "pagoda_tiled_job",
	.test_cases = tiled_job_cases,
};

kunit_test_suite(tiled_job_suite);
