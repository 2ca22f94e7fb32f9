// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of settled allocations, whose reservations MAKE_RESIDENT doesn't have to lock: an
 * allocation isn't settled while MAKE_RESIDENT would have work to do, and counts agree with those
 * of calls that lock.
 */
#include <linux/prandom.h>
#include "residency/offer_helpers.h"
#include "vm/vm_helpers.h"

#define MOST	4u
#define STEPS	1500u
#define HERE	SZ_4M

/*
 * Returns how many allocations a call finds settled before the first that isn't. With @counted the
 * call raises their counts, and lowers these again unless @keep is set.
 */
static u32 settled_look(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count, bool counted,
			bool keep)
{
	struct pagoda_settling settling;
	u32 found;

	if (!pagoda_settling_begin(&settling, rig->vidmm, rig->client, counted))
		return 0;
	found = pagoda_settling_some(&settling, bos, count);
	if (!keep)
		pagoda_settling_undo(&settling, bos, found);
	pagoda_settling_end(&settling);
	return found;
}

static bool settled_is(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	return settled_look(rig, &bo, 1, false, false);
}

/*
 * Returns whether a call that locks the reservation finds that MAKE_RESIDENT has nothing to do;
 * such a call settles the allocation if possible.
 */
static bool settled_is_made(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	return pagoda_residency_is_made(rig->client, &bo, 1, true);
}

static void settled_make(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	KUNIT_ASSERT_EQ(rig->test, 0, make_resident(rig, bo));
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_TRUE(rig->test, settled_is_made(rig, bo));
	KUNIT_ASSERT_TRUE(rig->test, settled_is(rig, bo));
}

/* ---- Ends of being settled ----------------------------------------------------------- */

/*
 * An allocation is settled only after its move has ended and a call that locks the reservation has
 * found it resident.
 */
static void settled_by_a_call(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PIECE, CPU, SUBMIT_VRAM, 0);

	/* Give the allocation content that has to be copied. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_FALSE(test, settled_is_made(rig, bo));
	KUNIT_EXPECT_FALSE(test, settled_is(rig, bo));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bo));
	KUNIT_EXPECT_FALSE(test, settled_is_made(rig, bo));
	KUNIT_EXPECT_FALSE(test, settled_is(rig, bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, settled_is_made(rig, bo));
	KUNIT_EXPECT_TRUE(test, settled_is(rig, bo));
	pagoda_rig_close(bo);
}

static void end_move(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
}

static void end_evict(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	KUNIT_ASSERT_EQ(rig->test, 0, evict(rig, bo));
}

static void end_offer(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	KUNIT_ASSERT_EQ(rig->test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
}

static void end_reset(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_vidmm_reset(rig->vidmm));
}

static void end_loss(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	pagoda_bo_mark_lost(bo);
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_lost_clear(bo));
	dma_resv_unlock(bo->ttm.base.resv);
}

/*
 * Marks the allocation as released, as if EVICT had taken it off the last residency list: it leaves
 * VRAM only when its room is needed.
 */
static void end_release(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	WRITE_ONCE(bo->wish.released, true);
}

/* After each of ends[] an allocation isn't settled any more. */
static void settled_until(struct kunit *test)
{
	static void (* const ends[])(struct pagoda_rig *rig, struct pagoda_bo *bo) = {
		end_move, end_evict, end_offer, end_reset, end_loss, end_release,
	};
	struct pagoda_rig *rig = submit_rig(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		struct pagoda_bo *bo = pagoda_rig_bo(rig, PIECE, CPU, SUBMIT_VRAM, 0);

		settled_make(rig, bo);
		ends[i](rig, bo);
		KUNIT_EXPECT_FALSE_MSG(test, settled_is(rig, bo), "end %u", i);
		pagoda_rig_settle(rig);
		KUNIT_EXPECT_FALSE_MSG(test, settled_is(rig, bo), "end %u", i);
		pagoda_rig_close(bo);
	}
}

/*
 * An allocation to which addresses of a VM are mapped isn't settled while these are invalid: not
 * before the VM is validated, nor after they became invalid again.
 */
static void settled_with_addresses(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PIECE, CPU, SUBMIT_VRAM, 0);
	struct drm_gpuvm_bo *vm_bo;

	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, bo->ttm.base.size, 0));
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_FALSE(test, settled_is_made(rig, bo));
	KUNIT_EXPECT_FALSE(test, settled_is(rig, bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(vm));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, settled_is_made(rig, bo));
	KUNIT_EXPECT_TRUE(test, settled_is(rig, bo));
	dma_resv_lock(bo->ttm.base.resv, NULL);
	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo))
		pagoda_vm_bo_evicted(vm_bo);
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_EXPECT_FALSE(test, settled_is(rig, bo));
	pagoda_vm_forget(vm, bo);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/*
 * An allocation isn't settled while addresses of another client's VM are invalid, although
 * MAKE_RESIDENT of a client without such addresses has nothing to do.
 */
static void settled_with_others_addresses(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_client *owner = rig->client, *other = pagoda_client_create(rig->vidmm);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PIECE, CPU, SUBMIT_VRAM, 0);
	struct pagoda_vm *vm;

	KUNIT_ASSERT_NOT_NULL(test, other);
	rig->client = other;
	vm = vmt_make(rig);
	rig->client = owner;
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, bo->ttm.base.size, 0));
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, settled_is_made(rig, bo));
	KUNIT_EXPECT_FALSE(test, settled_is(rig, bo));
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(vm));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, settled_is_made(rig, bo));
	KUNIT_EXPECT_TRUE(test, settled_is(rig, bo));
	pagoda_vm_forget(vm, bo);
	pagoda_rig_close(bo);
	vmt_drop(vm);
	pagoda_client_put(other);
}

/* ---- Lists ---------------------------------------------------------------------------- */

/*
 * A call that counts stops at an allocation that isn't on the list, is named twice or has a full
 * count. The counts of allocations before that one are right.
 */
static void settled_lists(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bos[MOST], *twice[3];
	u64 trim;
	u32 i;

	for (i = 0; i < MOST; i++) {
		bos[i] = pagoda_rig_bo(rig, PIECE, CPU, SUBMIT_VRAM, 0);
		settled_make(rig, bos[i]);
	}
	KUNIT_EXPECT_EQ(test, MOST, settled_look(rig, bos, MOST, false, true));
	/* An allocation that isn't on the list can't be counted. */
	KUNIT_EXPECT_EQ(test, 0u, settled_look(rig, bos, MOST, true, true));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(rig->client, bos, MOST - 1, &trim));
	KUNIT_EXPECT_EQ(test, MOST - 1, settled_look(rig, bos, MOST, true, false));
	for (i = 0; i < MOST; i++)
		KUNIT_EXPECT_EQ(test, i < MOST - 1, pagoda_require_count(rig->client, bos[i]));
	PAGODA_PROVES(C146);
	KUNIT_EXPECT_EQ(test, MOST - 1, settled_look(rig, bos, MOST - 1, true, true));
	for (i = 0; i < MOST - 1; i++)
		KUNIT_EXPECT_EQ(test, 2u, pagoda_require_count(rig->client, bos[i]));
	/* A call stops at an allocation named twice; when undone it leaves no count. */
	twice[0] = bos[0];
	twice[1] = bos[1];
	twice[2] = bos[0];
	KUNIT_EXPECT_EQ(test, 2u, settled_look(rig, twice, 3, true, false));
	KUNIT_EXPECT_EQ(test, 2u, pagoda_require_count(rig->client, bos[0]));
	/* A call stops at a count that can't be raised. */
	bos[0]->wish.owned->count = U32_MAX;
	KUNIT_EXPECT_EQ(test, 0u, settled_look(rig, bos, MOST - 1, true, true));
	pagoda_client_drop_lists(rig->client);
	KUNIT_EXPECT_EQ(test, 0u, settled_look(rig, bos, 1, true, true));
	close_all(bos, MOST);
}

/*
 * A client's counts of an allocation that another client made are separate from that other
 * client's.
 */
static void settled_for_others(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PIECE, CPU, SUBMIT_VRAM, 0);
	struct pagoda_client *owner = rig->client;
	struct pagoda_client *other = pagoda_client_create(rig->vidmm);
	u64 trim;

	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(other));
	settled_make(rig, bo);
	rig->client = other;
	KUNIT_EXPECT_EQ(test, 0u, settled_look(rig, &bo, 1, true, true));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(other, &bo, 1, &trim));
	KUNIT_EXPECT_EQ(test, 1u, settled_look(rig, &bo, 1, true, true));
	KUNIT_EXPECT_EQ(test, 2u, pagoda_require_count(other, bo));
	KUNIT_EXPECT_EQ(test, 0u, pagoda_require_count(owner, bo));
	rig->client = owner;
	KUNIT_EXPECT_EQ(test, 0u, settled_look(rig, &bo, 1, true, true));
	/* With two handles the allocation counts as settled for no client. */
	pagoda_bo_gem(bo)->handle_count = 2;
	KUNIT_EXPECT_FALSE(test, settled_is(rig, bo));
	pagoda_bo_gem(bo)->handle_count = 0;
	KUNIT_EXPECT_TRUE(test, settled_is(rig, bo));
	pagoda_require_forget(other, bo);
	pagoda_client_put(other);
	pagoda_rig_close(bo);
}

/* ---- Random events -------------------------------------------------------------------- */

struct settled_world {
	struct pagoda_rig *rig;
	struct pagoda_vm *vm;
	struct pagoda_bo *bos[MOST];
	u32 counts[MOST];
	u32 looks;
};

static void settled_count_step(struct settled_world *w, u32 index)
{
	u64 trim;

	if (!settled_look(w->rig, &w->bos[index], 1, true, true))
		KUNIT_EXPECT_EQ(w->rig->test, 0,
				pagoda_require(w->rig->client, &w->bos[index], 1, &trim));
	w->counts[index]++;
}

static void settled_release_step(struct settled_world *w, u32 index)
{
	int ret = pagoda_require_release(w->rig->client, &w->bos[index], 1, false, 0);

	KUNIT_EXPECT_EQ(w->rig->test, w->counts[index] ? 0 : -ENOENT, ret);
	w->counts[index] -= !ret;
}

static void settled_step(struct settled_world *w, u32 what, u32 index)
{
	struct pagoda_bo *bo = w->bos[index];

	switch (what) {
	case 0:
		make_resident(w->rig, bo);
		break;
	case 1:
		evict(w->rig, bo);
		break;
	case 2:
		offer(w->rig, bo, DRM_PAGODA_OFFER_NORMAL);
		break;
	case 3:
		reclaim(w->rig, bo);
		break;
	case 4:
		pagoda_rig_to_system(bo);
		break;
	case 5:
		pagoda_rig_to_vram(bo);
		break;
	case 6:
		vmt_validate(w->vm);
		break;
	case 7:
		settled_count_step(w, index);
		break;
	case 8:
		settled_release_step(w, index);
		break;
	default:
		pagoda_rig_settle(w->rig);
	}
}

/*
 * Expects settled allocations to be resident, resident ones to be settled after a call that locks,
 * and counts to be those of the model.
 */
static void settled_check(struct settled_world *w)
{
	struct kunit *test = w->rig->test;
	bool settled, made;
	u32 i;

	for (i = 0; i < MOST; i++) {
		settled = settled_is(w->rig, w->bos[i]);
		made = settled_is_made(w->rig, w->bos[i]);
		KUNIT_EXPECT_TRUE(test, made || !settled);
		KUNIT_EXPECT_EQ(test, made, settled_is(w->rig, w->bos[i]));
		KUNIT_EXPECT_EQ(test, w->counts[i],
				pagoda_require_count(w->rig->client, w->bos[i]));
		w->looks += settled;
	}
}

/* After each random event, settled allocations are resident, and counts agree with a model. */
static void settled_random(struct kunit *test)
{
	struct settled_world w = { .rig = submit_rig(test) };
	struct rnd_state rnd;
	u32 i;

	w.vm = vmt_make(w.rig);
	prandom_seed_state(&rnd, 31);
	for (i = 0; i < MOST; i++)
		w.bos[i] = pagoda_rig_bo(w.rig, 3 * PIECE, CPU, i % 2 ? EITHER : SUBMIT_VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, vmt_map(w.vm, w.bos[0], HERE, 0, w.bos[0]->ttm.base.size, 0));
	for (i = 0; i < STEPS && test->status != KUNIT_FAILURE; i++) {
		settled_step(&w, prandom_u32_state(&rnd) % 12, prandom_u32_state(&rnd) % MOST);
		settled_check(&w);
	}
	PAGODA_PROVES(C146);
	KUNIT_EXPECT_GT(test, w.looks, STEPS / 8);
	pagoda_client_drop_lists(w.rig->client);
	pagoda_vm_forget(w.vm, w.bos[0]);
	close_all(w.bos, MOST);
	vmt_drop(w.vm);
}

static struct kunit_case settled_cases[] = {
	KUNIT_CASE_PARAM(settled_by_a_call, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(settled_until, pagoda_rig_modes),
	KUNIT_CASE_PARAM(settled_with_addresses, pagoda_rig_modes),
	KUNIT_CASE(settled_with_others_addresses),
	KUNIT_CASE_PARAM(settled_lists, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(settled_for_others, pagoda_rig_mmu_modes),
	PAGODA_CASE_PARAM_SLOW(settled_random, pagoda_rig_modes),
	{ }
};

static struct kunit_suite settled_suite = {
	.name = "pagoda_settled",
	.test_cases = settled_cases,
};

kunit_test_suite(settled_suite);
