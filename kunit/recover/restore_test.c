// SPDX-License-Identifier: GPL-2.0
/*
 * After a reset, page tables and save areas of idle clients are restored when they are used next,
 * and by the client that uses them: a reset costs nothing for idle VMs and contexts. What armed
 * jobs use is restored before the engines go on.
 */
#include <kunit/static_stub.h>
#include <linux/sizes.h>
#include <drm/drm_syncobj.h>
#include "queue/queue_helpers.h"
#include "reset_helpers.h"
#include "submit/submit_helpers.h"

#define HERE		SZ_4M
#define ELSEWHERE	SZ_1G
#define STORED		SZ_64M
#define IDLE_VMS	24
#define IDLE_CONTEXTS	2	/* of each VM */

/* Returns how many of the save area's INIT_CONTEXT_RESOURCE packets the device has executed. */
static u32 restore_inits(struct pagoda_rig *rig, const struct pagoda_context *context)
{
	pagoda_rig_settle(rig);
	return pagoda_rig_count(rig, VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE, context->save.bo->id);
}

/* ---- What a reset costs -------------------------------------------------------------- */

/*
 * What a reset took: control commands; packets that write page tables of VMs, and packets that name
 * a save area.
 */
struct restore_cost {
	u32 controls;
	u32 tables;
	u32 saves;
};

struct restore_idle {
	struct pagoda_vm *vm;
	struct pagoda_context *contexts[IDLE_CONTEXTS];
};

static struct restore_idle restore_idle(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct restore_idle idle = { .vm = vmt_make(rig) };
	u32 i;

	reset_map(rig, idle.vm, bo, HERE);
	for (i = 0; i < IDLE_CONTEXTS; i++)
		idle.contexts[i] = test_ok(rig->test, pagoda_context_create(idle.vm, 0, 0));
	return idle;
}

static void restore_end(struct restore_idle *idle)
{
	u32 i;

	for (i = 0; i < IDLE_CONTEXTS; i++)
		pagoda_context_destroy(idle->contexts[i]);
	vmt_drop(idle->vm);
}

static bool restore_is_save(const struct restore_idle *idle, u32 count, u64 allocation)
{
	u32 i;

	for (i = 0; i < count * IDLE_CONTEXTS; i++)
		if (idle[i / IDLE_CONTEXTS].contexts[i % IDLE_CONTEXTS]->save.bo->id == allocation)
			return true;
	return false;
}

static struct restore_cost restore_reset(struct pagoda_rig *rig, const struct restore_idle *idle,
					 u32 count)
{
	u32 controls = rig->fake->controls, i;
	struct restore_cost cost = {};

	pagoda_rig_settle(rig);
	rig->nr_log = 0;
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_vidmm_reset(rig->vidmm));
	cost.controls = rig->fake->controls - controls;
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_LT(rig->test, rig->nr_log, (u32)PAGODA_RIG_LOG);
	for (i = 0; i < rig->nr_log; i++) {
		const struct pagoda_rig_note *note = &rig->log[i];

		cost.tables += note->opcode == VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE &&
			       note->generation;
		cost.saves += restore_is_save(idle, count, note->allocation);
	}
	return cost;
}

/*
 * A reset takes as many control commands with many idle VMs and contexts as with one VM, and
 * neither writes the VMs' page tables nor accesses the contexts' save areas.
 */
static void restore_costs_nothing_idle(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct restore_idle idle[IDLE_VMS];
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct restore_cost few, many;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	idle[0] = restore_idle(rig, bo);
	few = restore_reset(rig, idle, 1);
	for (i = 1; i < IDLE_VMS; i++)
		idle[i] = restore_idle(rig, bo);
	many = restore_reset(rig, idle, IDLE_VMS);
	KUNIT_EXPECT_LT(test, 0u, few.controls);
	KUNIT_EXPECT_EQ(test, few.controls, many.controls);
	KUNIT_EXPECT_EQ(test, 0u, few.tables + many.tables);
	KUNIT_EXPECT_EQ(test, 0u, few.saves + many.saves);
	for (i = 0; i < IDLE_VMS; i++) {
		reset_expect_mapped(rig, idle[i].vm, bo, HERE);
		restore_end(&idle[i]);
	}
	pagoda_rig_close(bo);
}

/*
 * Without a device MMU the rebuild passes over allocations of which the device has nothing, in
 * system memory or the aperture segment, and over monitored fences: it doesn't wait for their
 * reservations, and so needn't look at however many there are.
 */
static void restore_passes_over(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bos[] = { reset_bo(rig, 0, 1), reset_bo(rig, 0, 2) };
	struct pagoda_mfence *mfence = test_ok(test, pagoda_mfence_create(rig->vidmm, rig->client,
									  0, 77));
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bos[1], false));
	/* Both allocations were in VRAM: one reset may have to look at them. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		KUNIT_ASSERT_TRUE(test, dma_resv_trylock(bos[i]->ttm.base.resv));
	KUNIT_ASSERT_TRUE(test, dma_resv_trylock(pagoda_mfence_bo(mfence)->ttm.base.resv));
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	KUNIT_EXPECT_TRUE(test, reset_is_rebuilt(rig));
	dma_resv_unlock(pagoda_mfence_bo(mfence)->ttm.base.resv);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		dma_resv_unlock(bos[i]->ttm.base.resv);
	pagoda_reset_wait(rig->vidmm);
	for (i = 0; i < ARRAY_SIZE(bos); i++) {
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i + 1));
		reset_expect_works(rig, bos[i], i + 3);
		pagoda_rig_close(bos[i]);
	}
	pagoda_mfence_put(mfence);
}

/* Allocations that stay in VRAM, or mapped in the aperture, are rebuilt after each reset. */
static void restore_again(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *vram = reset_bo(rig, 0, 1);
	struct pagoda_bo *bound = reset_bo(rig, DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY, 2);
	u32 round;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(vram));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bound, true));
	for (round = 0; round < 2; round++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
		KUNIT_EXPECT_EQ(test, -EIO, pagoda_lost_acknowledge(vram));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, vram));
	}
	/* The copy to VRAM reads the content through the aperture's mapping. */
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bound));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bound, 2));
	pagoda_rig_close(vram);
	pagoda_rig_close(bound);
}

/* ---- Restored when used -------------------------------------------------------------- */

/* Each context's save area is restored once, when that context is used, after one or two resets. */
static void restore_when_used(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct restore_idle idle;
	u32 round, i, inits;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	idle = restore_idle(rig, bo);
	for (round = 0; round < 3; round++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
		if (round == 1)
			KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
		KUNIT_EXPECT_EQ(test, 0u, rig->engine.spaces[idle.vm->id].entries);
		for (i = 0; i < IDLE_CONTEXTS; i++) {
			inits = restore_inits(rig, idle.contexts[i]);
			KUNIT_EXPECT_EQ(test, 1 + round, inits);
			KUNIT_EXPECT_EQ(test, 0, vmt_bring(idle.vm, idle.contexts[i]));
			KUNIT_EXPECT_EQ(test, inits + 1, restore_inits(rig, idle.contexts[i]));
			KUNIT_EXPECT_EQ(test, 0, vmt_bring(idle.vm, idle.contexts[i]));
			KUNIT_EXPECT_EQ(test, inits + 1, restore_inits(rig, idle.contexts[i]));
		}
		reset_expect_mapped(rig, idle.vm, bo, HERE);
	}
	restore_end(&idle);
	pagoda_rig_close(bo);
}

/* A VM_BIND finds the VM's page tables lost in a reset, and restores all mappings. */
static void restore_by_bind(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct pagoda_vm *vm = vmt_make(rig);
	void *here;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	reset_map(rig, vm, bo, HERE);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	reset_map(rig, vm, bo, ELSEWHERE);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, (u32)VIRTIO_PAGODA_FAULT_NONE,
			vmt_reach(rig, vm->id, HERE, PAGE_SIZE, VIRTIO_PAGODA_ACCESS_READ, &here));
	reset_expect_mapped(rig, vm, bo, HERE);
	reset_expect_mapped(rig, vm, bo, ELSEWHERE);
	vmt_drop(vm);
	pagoda_rig_close(bo);
}

/* Page tables that are lost in a reset and then evicted come back with the next use. */
static void restore_evicted(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct restore_idle idle;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	idle = restore_idle(rig, bo);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	vmt_evict_tables(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(idle.contexts[0]->save.bo));
	KUNIT_EXPECT_EQ(test, 0, vmt_bring(idle.vm, idle.contexts[0]));
	KUNIT_EXPECT_EQ(test, 2u, restore_inits(rig, idle.contexts[0]));
	reset_expect_mapped(rig, idle.vm, bo, HERE);
	restore_end(&idle);
	pagoda_rig_close(bo);
}

/*
 * A VM with contexts that is destroyed before it is used again is never restored, and leaves no
 * root in the device.
 */
static void restore_not_destroyed(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct restore_idle idle;
	struct pagoda_vm *vm;
	u32 inits, id;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	idle = restore_idle(rig, bo);
	id = idle.vm->id;
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	inits = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE, 0);
	restore_end(&idle);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, inits,
			pagoda_rig_count(rig, VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE, 0));
	KUNIT_EXPECT_EQ(test, 0u, rig->engine.spaces[id].entries);
	vm = vmt_make(rig);
	KUNIT_EXPECT_EQ(test, id, vm->id);
	KUNIT_EXPECT_NE(test, (u32)VIRTIO_PAGODA_FAULT_NONE, vmt_fault(rig, id, HERE));
	vmt_drop(vm);
	KUNIT_EXPECT_EQ(test, 0, rig->fake->violations);
	pagoda_rig_close(bo);
}

/*
 * A reset while a thread restores what an earlier reset lost: the thread goes on without an error,
 * the root that it set in vain doesn't outlive the VM, and the next use restores all.
 */
static void restore_meets_reset(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct restore_idle idle[2];
	u32 i, ids[2];

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	for (i = 0; i < 2; i++)
		idle[i] = restore_idle(rig, bo);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	/* The rebuild can't begin while the test is in a section. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_enter(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	for (i = 0; i < 2; i++) {
		ids[i] = idle[i].vm->id;
		KUNIT_EXPECT_EQ(test, 0, vmt_bring_entered(idle[i].vm, idle[i].contexts[0]));
	}
	pagoda_leave(rig->vidmm);
	pagoda_reset_wait(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 1u, restore_inits(rig, idle[0].contexts[0]));
	KUNIT_EXPECT_EQ(test, 0, vmt_bring(idle[0].vm, idle[0].contexts[0]));
	KUNIT_EXPECT_EQ(test, 2u, restore_inits(rig, idle[0].contexts[0]));
	reset_expect_mapped(rig, idle[0].vm, bo, HERE);
	for (i = 0; i < 2; i++) {
		restore_end(&idle[i]);
		KUNIT_EXPECT_EQ(test, 0u, rig->engine.spaces[ids[i]].entries);
	}
	KUNIT_EXPECT_EQ(test, 2, pagoda_reset_epoch(rig->vidmm));
	pagoda_rig_close(bo);
}

static struct pagoda_submission *restore_gets_none(struct pagoda_queue *queue,
						   struct pagoda_line *line, u32 bytes,
						   u32 priv_bytes)
{
	return ERR_PTR(-ENOMEM);
}

/* A restore that fails is an error of the client that uses the VM, and can be tried again. */
static void restore_fails(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct restore_idle idle;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	idle = restore_idle(rig, bo);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	kunit_activate_static_stub(test, pagoda_queue_get, restore_gets_none);
	KUNIT_EXPECT_EQ(test, -ENOMEM, vmt_bring(idle.vm, idle.contexts[0]));
	kunit_deactivate_static_stub(test, pagoda_queue_get);
	KUNIT_EXPECT_EQ(test, 1, pagoda_reset_epoch(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 0, vmt_bring(idle.vm, idle.contexts[0]));
	KUNIT_EXPECT_EQ(test, 2u, restore_inits(rig, idle.contexts[0]));
	reset_expect_mapped(rig, idle.vm, bo, HERE);
	restore_end(&idle);
	pagoda_rig_close(bo);
}

/* ---- Jobs ------------------------------------------------------------------------------ */

/*
 * A job that is armed and hasn't begun runs after a reset: the rebuild restores the page tables and
 * the save area that the job uses, but nothing of a client without armed jobs, nor the save area of
 * another context.
 */
static void restore_for_armed_jobs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *armed = submit_client(rig, 0), *idle = submit_client(rig, 1);
	struct pagoda_bo *stored = submit_private(armed, 1, SUBMIT_APERTURE, STORED);
	struct pagoda_context *other = test_ok(test, pagoda_context_create(armed->vm, 1, 0));
	struct submit_args args = { .in = submit_syncobj(test), .fenced = true };
	struct dma_fence *fence = pagoda_test_fence(test);

	drm_syncobj_replace_fence(args.in, fence);
	submit_store(armed, STORED, 7);
	KUNIT_ASSERT_EQ(test, 0, submit_job(armed, &args));
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 2u, restore_inits(rig, armed->context));
	KUNIT_EXPECT_EQ(test, 1u, restore_inits(rig, other));
	KUNIT_EXPECT_EQ(test, 1u, restore_inits(rig, idle->context));
	KUNIT_EXPECT_NE(test, 0u, rig->engine.spaces[armed->vm->id].entries);
	KUNIT_EXPECT_EQ(test, 0u, rig->engine.spaces[idle->vm->id].entries);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(armed));
	KUNIT_EXPECT_EQ(test, 7ull, submit_word(rig, stored, 0));
	KUNIT_EXPECT_EQ(test, 0, submit_empty(idle, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(idle));
	KUNIT_EXPECT_EQ(test, 2u, restore_inits(rig, idle->context));
	KUNIT_EXPECT_EQ(test, 0u, submit_state(armed).state | submit_state(idle).state);
	pagoda_context_destroy(other);
	submit_close(armed, stored);
	submit_client_end(armed);
	submit_client_end(idle);
}

#define ARMED	12

/*
 * If many contexts have armed jobs, the rebuild doesn't wait for the device after each save area:
 * fewer submissions initialise the save areas than there are.
 */
static void restore_many_armed(struct kunit *test)
{
	const u32 init = VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE;
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct submit_args args = { .in = submit_syncobj(test), .fenced = true };
	struct pagoda_context *contexts[ARMED], *first = client->context;
	struct dma_fence *fence = pagoda_test_fence(test);
	const struct pagoda_rig_note *note;
	u32 i, submissions = 0;
	u64 seqno = 0;

	drm_syncobj_replace_fence(args.in, fence);
	for (i = 0; i < ARMED; i++) {
		contexts[i] = test_ok(test, pagoda_context_create(client->vm, i % 2, 0));
		client->context = contexts[i];
		KUNIT_ASSERT_EQ(test, 0, submit_empty(client, &args));
	}
	pagoda_rig_settle(rig);
	rig->nr_log = 0;
	pagoda_rig_share(rig, true);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	pagoda_rig_share(rig, false);
	pagoda_rig_settle(rig);
	for (i = 0; i < ARMED; i++) {
		KUNIT_EXPECT_EQ(test, 1u, restore_inits(rig, contexts[i]));
		note = pagoda_rig_find(rig, init, contexts[i]->save.bo->id, 0);
		KUNIT_ASSERT_NOT_NULL(test, note);
		submissions += note->seqno != seqno;
		seqno = note->seqno;
	}
	KUNIT_EXPECT_LT(test, submissions, ARMED);
	KUNIT_EXPECT_EQ(test, 0u, restore_inits(rig, first));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	for (i = 1; i <= ARMED; i++)
		KUNIT_EXPECT_EQ(test, 0, submit_wait_point(client->done, i));
	client->context = first;
	for (i = 0; i < ARMED; i++)
		pagoda_context_destroy(contexts[i]);
	submit_client_end(client);
}

/*
 * A job of one context runs while the save area of another context of the VM is restored, which
 * doesn't wait for the job.
 */
static void restore_beside_a_job(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_context *other = test_ok(test, pagoda_context_create(client->vm, 1, 0));
	struct submit_args args = { .in = submit_syncobj(test), .fenced = true };
	struct dma_fence *fence = pagoda_test_fence(test);

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	drm_syncobj_replace_fence(args.in, fence);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, &args));
	KUNIT_EXPECT_EQ(test, 0, vmt_bring(client->vm, other));
	KUNIT_EXPECT_EQ(test, 2u, restore_inits(rig, other));
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fence));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	pagoda_context_destroy(other);
	submit_client_end(client);
}

static struct kunit_case restore_cases[] = {
	KUNIT_CASE_PARAM(restore_costs_nothing_idle, pagoda_rig_modes),
	KUNIT_CASE_PARAM(restore_passes_over, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(restore_again, pagoda_rig_modes),
	KUNIT_CASE_PARAM(restore_when_used, pagoda_rig_modes),
	KUNIT_CASE_PARAM(restore_by_bind, pagoda_rig_modes),
	KUNIT_CASE_PARAM(restore_evicted, pagoda_rig_modes),
	KUNIT_CASE_PARAM(restore_not_destroyed, pagoda_rig_modes),
	KUNIT_CASE_PARAM(restore_meets_reset, pagoda_rig_modes),
	KUNIT_CASE(restore_fails),
	KUNIT_CASE_PARAM(restore_for_armed_jobs, pagoda_rig_modes),
	KUNIT_CASE_PARAM(restore_many_armed, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(restore_beside_a_job, pagoda_rig_modes),
	{}
};

static struct kunit_suite restore_suite = {
	.name = "pagoda_restore",
	.test_cases = restore_cases,
};

kunit_test_suite(restore_suite);
