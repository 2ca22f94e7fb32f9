// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of the whole device because of a failure, of the paging queue, an engine or a SET_ROOT,
 * and which contexts are banned for the failure. Also resets and rebuilds that fail, and the limit
 * of resets.
 */
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <linux/delay.h>
#include <linux/sizes.h>
#include "queue/queue_helpers.h"
#include "reset_helpers.h"
#include "submit/submit_helpers.h"

#define HERE	SZ_4M

/*
 * If the paging queue can't be reset, the whole device is. Contexts of a VM that maps the
 * allocation in the failed operation are banned, others aren't.
 */
static void reset_escalates(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1), *other = reset_bo(rig, 0, 2);
	struct pagoda_vm *guilty = vmt_make(rig), *innocent = vmt_make(rig);
	struct pagoda_context *contexts[2];
	struct drm_pagoda_context_state state;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(other));
	reset_map(rig, guilty, bo, HERE);
	reset_map(rig, innocent, other, HERE);
	contexts[0] = pagoda_context_create(guilty, 0, 0);
	contexts[1] = pagoda_context_create(innocent, 0, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(contexts[0]) || IS_ERR(contexts[1]));
	pagoda_rig_settle(rig);
	rig->fake->reset_error = -EIO;
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = pagoda_rig_copy_op(rig),
		.allocation = bo->id,
		.times = 1,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	pagoda_reset_wait(rig->vidmm);
	PAGODA_PROVES(C189, C190);
	KUNIT_EXPECT_EQ(test, 1, pagoda_reset_epoch(rig->vidmm));
	pagoda_context_state(contexts[0], &state);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_RESET, state.state);
	pagoda_context_state(contexts[1], &state);
	KUNIT_EXPECT_EQ(test, 0, state.state);
	/* The device executes paging again: the CPU hasn't taken over. */
	reset_expect_works(rig, bo, 3);
	reset_expect_works(rig, other, 4);
	KUNIT_EXPECT_EQ(test, 1, rig->fake->resets);
	pagoda_context_destroy(contexts[0]);
	pagoda_context_destroy(contexts[1]);
	vmt_drop(guilty);
	vmt_drop(innocent);
	pagoda_rig_close(bo);
	pagoda_rig_close(other);
}

/*
 * The failed operation maps an allocation in the aperture, and writes no content: contexts of a VM
 * that maps the allocation are banned, but the allocation keeps its content.
 */
static void reset_blames_without_loss(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY, 1);
	struct pagoda_vm *vm = vmt_make(rig);
	struct drm_pagoda_context_state state;
	struct pagoda_context *context;

	reset_map(rig, vm, bo, HERE);
	context = test_ok(test, pagoda_context_create(vm, 0, 0));
	pagoda_rig_settle(rig);
	rig->fake->reset_error = -EIO;
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, .allocation = bo->id, .times = 1,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_rig_settle(rig);
	pagoda_reset_wait(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 0u, rig->fail.times);
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_reset_epoch(rig->vidmm));
	PAGODA_PROVES(C190);
	pagoda_context_state(context, &state);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_RESET, state.state);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(bo->content.lost));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_context_destroy(context);
	vmt_drop(vm);
	pagoda_rig_close(bo);
}

/*
 * Each context of each VM that maps the allocation in the failed operation is banned, even if the
 * rebuild fails at the first VM, which has an armed job, and is repeated as a whole.
 */
static void reset_blame_each(struct kunit *test, bool again)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct pagoda_vm *vms[2] = { vmt_make(rig), vmt_make(rig) };
	struct pagoda_context *contexts[4];
	struct dma_fence *job = pagoda_test_fence(test);
	struct drm_pagoda_context_state state;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	for (i = 0; i < ARRAY_SIZE(vms); i++)
		reset_map(rig, vms[i], bo, HERE);
	for (i = 0; i < ARRAY_SIZE(contexts); i++)
		contexts[i] = test_ok(test, pagoda_context_create(vms[i / 2], 0, 0));
	pagoda_rig_add_fence(test, pagoda_vm_resv(vms[0]), job, DMA_RESV_USAGE_BOOKKEEP);
	pagoda_rig_settle(rig);
	rig->fake->reset_error = -EIO;
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = pagoda_rig_copy_op(rig), .allocation = bo->id, .times = 1,
	};
	/* The rebuild can't begin while the test is in a section. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_enter(rig->vidmm));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	while (!pagoda_reset_epoch(rig->vidmm))
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, 0u, rig->fail.times);
	rig->lose_roots = again;
	pagoda_leave(rig->vidmm);
	pagoda_reset_wait(rig->vidmm);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 0u, rig->lose_roots);
	KUNIT_EXPECT_EQ(test, 1 + again, pagoda_reset_epoch(rig->vidmm));
	PAGODA_PROVES(C190);
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		pagoda_context_state(contexts[i], &state);
		KUNIT_EXPECT_EQ_MSG(test, DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_RESET,
				    state.state, "context %u", i);
		/* The state is the same when it is read again. */
		pagoda_context_state(contexts[i], &state);
		KUNIT_EXPECT_EQ_MSG(test, DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_RESET,
				    state.state, "context %u", i);
	}
	dma_fence_signal(job);
	dma_fence_put(job);
	for (i = 0; i < ARRAY_SIZE(contexts); i++)
		pagoda_context_destroy(contexts[i]);
	for (i = 0; i < ARRAY_SIZE(vms); i++)
		vmt_drop(vms[i]);
	pagoda_rig_close(bo);
}

static void reset_blames_each(struct kunit *test)
{
	reset_blame_each(test, false);
}

static void reset_blames_each_again(struct kunit *test)
{
	reset_blame_each(test, true);
}

/* If an engine can't be reset, the whole device is; only the faulty job's context is banned. */
static void reset_of_an_engine(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *guilty = submit_client(rig, 0), *other = submit_client(rig, 1);
	struct pagoda_bo *bo = submit_private(other, 1, SUBMIT_VRAM, HERE);
	u32 state;

	KUNIT_ASSERT_EQ(test, 0, submit_empty(other, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(other));
	rig->engines[0].reset_error = -ETIMEDOUT;
	submit_store(guilty, HERE + SZ_1G / 2, 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(guilty, NULL));
	KUNIT_EXPECT_EQ(test, -EFAULT, submit_wait(guilty));
	pagoda_reset_wait(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 1, pagoda_reset_epoch(rig->vidmm));
	state = submit_state(guilty).state;
	KUNIT_EXPECT_NE(test, 0, state & DRM_PAGODA_CONTEXT_BANNED);
	KUNIT_EXPECT_EQ(test, 0, submit_state(other).state & DRM_PAGODA_CONTEXT_BANNED);
	/* The other client's commands were in VRAM, too, and are lost: write them again. */
	KUNIT_EXPECT_EQ(test, 0, submit_word(rig, bo, 0));
	other->used = 0;
	other->start = 0;
	submit_store(other, HERE, 0x1234);
	KUNIT_ASSERT_EQ(test, 0, submit_job(other, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(other));
	KUNIT_EXPECT_EQ(test, 0x1234, submit_word(rig, bo, 0));
	pagoda_rig_close(bo);
	submit_client_end(guilty);
	submit_client_end(other);
}

/*
 * A device that doesn't answer the SET_ROOT of a VM is reset, and has the VM's root and mapping
 * after the rebuild.
 */
static void reset_sets_the_root(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct pagoda_vm *vm = vmt_make(rig);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	rig->lose_roots = 1;
	reset_map(rig, vm, bo, HERE);
	KUNIT_EXPECT_EQ(test, 0u, rig->lose_roots);
	pagoda_reset_wait(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 1, pagoda_reset_epoch(rig->vidmm));
	reset_expect_mapped(rig, vm, bo, HERE);
	reset_expect_works(rig, bo, 2);
	vmt_drop(vm);
	pagoda_rig_close(bo);
}

/*
 * If the device doesn't answer the SET_ROOT that removes a VM's root, because the root table is
 * evicted, the device is reset; the page tables come back with the next VM_BIND.
 */
static void reset_takes_the_root(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct pagoda_vm *vm = vmt_make(rig);
	u32 tables;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	reset_map(rig, vm, bo, HERE);
	pagoda_rig_settle(rig);
	rig->lose_roots = 1;
	/* The rebuild can't begin while the test is in a section. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_enter(rig->vidmm));
	tables = vmt_evict_tables(rig);
	pagoda_leave(rig->vidmm);
	/* In CPU_VIRTUAL mode tables aren't evicted. */
	KUNIT_EXPECT_EQ(test, !tables, rig->lose_roots);
	KUNIT_EXPECT_EQ(test, tables, pagoda_space_nr_absent(vm->space));
	pagoda_reset_wait(rig->vidmm);
	KUNIT_EXPECT_EQ(test, !!tables, pagoda_reset_epoch(rig->vidmm));
	rig->lose_roots = 0;
	reset_map(rig, vm, bo, HERE + SZ_1G);
	reset_expect_mapped(rig, vm, bo, HERE);
	reset_expect_mapped(rig, vm, bo, HERE + SZ_1G);
	vmt_drop(vm);
	pagoda_rig_close(bo);
}

/*
 * If the device doesn't answer a SET_ROOT of the rebuild, that of a VM with an armed job, the
 * device is reset and rebuilt again.
 */
static void reset_repeats_the_root(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct dma_fence *job = pagoda_test_fence(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct pagoda_vm *vm = vmt_make(rig);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	reset_map(rig, vm, bo, HERE);
	pagoda_rig_add_fence(test, pagoda_vm_resv(vm), job, DMA_RESV_USAGE_BOOKKEEP);
	rig->lose_roots = 1;
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	dma_fence_signal(job);
	dma_fence_put(job);
	KUNIT_EXPECT_EQ(test, 0u, rig->lose_roots);
	KUNIT_EXPECT_EQ(test, 2, pagoda_reset_epoch(rig->vidmm));
	reset_expect_mapped(rig, vm, bo, HERE);
	reset_expect_works(rig, bo, 2);
	vmt_drop(vm);
	pagoda_rig_close(bo);
}

/* If the reset fails, the CPU executes paging, and the device gets no further command. */
static void reset_fails(struct kunit *test)
{
	const struct ttm_place seen = {
		.mem_type = TTM_PL_VRAM,
		.lpfn = PAGODA_RIG_VISIBLE_PAGES,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	u32 controls;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &seen, false));
	rig->reset_error = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, pagoda_vidmm_reset(rig->vidmm));
	controls = rig->fake->controls;
	rig->reset_error = 0;
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_EXPECT_EQ(test, controls, rig->fake->controls);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_epoch(rig->vidmm));
	pagoda_rig_close(bo);
}

/* If a second reset fails before the rebuild after a first one, neither is noted as rebuilt. */
static void reset_fails_again(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_reset *reset = rig->vidmm->reset;

	/* The rebuild can't begin while the test is in a section. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_enter(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	rig->reset_error = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	pagoda_leave(rig->vidmm);
	flush_work(&reset->rebuild);
	KUNIT_EXPECT_FALSE(test, pagoda_reset_is_pending(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 2u, reset->nr_notes);
	KUNIT_EXPECT_EQ(test, 0, reset->notes[0].result);
	KUNIT_EXPECT_EQ(test, 0ull, reset->notes[0].rebuilt_ns);
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, reset->notes[1].result);
	KUNIT_EXPECT_EQ(test, 0ull, reset->notes[1].rebuilt_ns);
}

/* Number of calls of pagoda_queue_get() that find memory before one call that doesn't. */
static u32 reset_gets;

static struct pagoda_submission *reset_get(struct pagoda_queue *queue, struct pagoda_line *line,
					   u32 bytes, u32 priv_bytes)
{
	struct kunit *test = kunit_get_current_test();
	struct pagoda_submission *submission;

	kunit_deactivate_static_stub(test, pagoda_queue_get);
	submission = reset_gets-- ? pagoda_queue_get(queue, line, bytes, priv_bytes) :
				    ERR_PTR(-ENOMEM);
	kunit_activate_static_stub(test, pagoda_queue_get, reset_get);
	return submission;
}

static void reset_builds_nothing(struct work_struct *work)
{
}

/*
 * Resets the device and rebuilds it in this thread; during the rebuild the call of
 * pagoda_queue_get() behind the first @gets fails. Returns the noted number of lost allocations.
 */
static u32 reset_lost(struct pagoda_rig *rig, u32 gets)
{
	struct pagoda_reset *reset = rig->vidmm->reset;
	work_func_t rebuild = reset->rebuild.func;

	reset->rebuild.func = reset_builds_nothing;
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	flush_work(&reset->rebuild);
	reset->rebuild.func = rebuild;
	reset_gets = gets;
	kunit_activate_static_stub(rig->test, pagoda_queue_get, reset_get);
	rebuild(&reset->rebuild);
	kunit_deactivate_static_stub(rig->test, pagoda_queue_get);
	KUNIT_EXPECT_FALSE(rig->test, pagoda_reset_is_pending(rig->vidmm));
	return reset->notes[(reset->nr_notes - 1) % PAGODA_RESET_NOTES].lost;
}

/*
 * A rebuild that is tried again, because an allocation of memory failed somewhere in the middle,
 * also notes the losses that the first try found.
 */
static void reset_adds_up_losses(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bos[] = { reset_bo(rig, 0, 1), reset_bo(rig, 0, 2), reset_bo(rig, 0, 3) };
	struct pagoda_vm *vm = vmt_make(rig);
	u32 i, want;

	for (i = 0; i < ARRAY_SIZE(bos); i++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bos[i]));
		reset_map(rig, vm, bos[i], HERE + i * SZ_1G);
	}
	pagoda_rig_settle(rig);
	want = reset_lost(rig, U32_MAX);
	KUNIT_EXPECT_LE(test, (u32)ARRAY_SIZE(bos), want);
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_EQ_MSG(test, want, reset_lost(rig, i), "%u", i);
	vmt_drop(vm);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		pagoda_rig_close(bos[i]);
}

/* A reset by the device's fault fails if PAGODA_RESET_SECONDS had PAGODA_RESET_LIMIT of them. */
static void reset_limit(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_reset *reset = rig->vidmm->reset;
	u32 i;

	for (i = 0; i < PAGODA_RESET_LIMIT; i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ENGINE));
	/* The oldest reset is too long ago to count. */
	reset->times[0] = jiffies - (PAGODA_RESET_SECONDS + 1) * HZ;
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ENGINE));
	/* A reset that a user asks for is allowed in spite of the limit. */
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ENGINE));
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_EXPECT_EQ(test, PAGODA_RESET_LIMIT + 2, pagoda_reset_epoch(rig->vidmm));
}

static struct kunit_case reset_trouble_cases[] = {
	KUNIT_CASE_PARAM(reset_escalates, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_blames_without_loss, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_blames_each, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_blames_each_again, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_of_an_engine, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_sets_the_root, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_takes_the_root, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_repeats_the_root, pagoda_rig_modes),
	KUNIT_CASE(reset_fails),
	KUNIT_CASE(reset_fails_again),
	KUNIT_CASE_PARAM(reset_adds_up_losses, pagoda_rig_mmu_modes),
	KUNIT_CASE(reset_limit),
	{}
};

static struct kunit_suite reset_trouble_suite = {
	.name = "pagoda_reset_trouble",
	.test_cases = reset_trouble_cases,
};

kunit_test_suite(reset_trouble_suite);
