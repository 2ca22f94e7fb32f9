// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of the whole device on the rig, which leave poison in VRAM: what is lost, what isn't, and
 * that moves and mappings work again, in every update mode. Resets because of a failure, and resets
 * that fail: reset_trouble_test.c.
 */
#include <linux/prandom.h>
#include <linux/sizes.h>
#include "queue/queue_helpers.h"
#include "residency/offer_helpers.h"
#include "reset_helpers.h"

#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY
#define HERE		SZ_4M
#define SEED		0x7e5e7u

/* Returns how many notices of lost content the journal has for an allocation. */
static u32 reset_notices(struct pagoda_rig *rig, u64 allocation)
{
	struct pagoda_journal_head *head;
	struct pagoda_journal_entry *entries;
	u32 i, count = 0;
	size_t size;

	head = pagoda_vidmm_journal(rig->vidmm, &size);
	KUNIT_ASSERT_NOT_NULL(rig->test, head);
	entries = (void *)(head + 1);
	for (i = 0; i < le32_to_cpu(head->count); i++)
		count += le32_to_cpu(entries[i].operation) == VIRTIO_PAGODA_OP_TRANSFER &&
			 !entries[i].size && le64_to_cpu(entries[i].allocation) == allocation;
	kvfree(head);
	return count;
}

static u32 reset_unmaps(struct pagoda_rig *rig, u64 page, u32 from)
{
	u32 i, count = 0;

	for (i = from; i < rig->nr_log; i++)
		count += rig->log[i].opcode == VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT &&
			 rig->log[i].address == page;
	return count;
}

static void reset_expect_lost(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	KUNIT_EXPECT_TRUE(rig->test, READ_ONCE(bo->content.lost));
	KUNIT_EXPECT_FALSE(rig->test, pagoda_lost_is_stale(bo));
	KUNIT_EXPECT_TRUE(rig->test, pagoda_rig_is_zero(rig, bo));
}

/* A device without page tables is reset: content in VRAM is lost, and paging goes on. */
static void reset_without_tables(struct kunit *test)
{
	const struct pagoda_rig_options options = {
		.without = BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE)),
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);

	KUNIT_ASSERT_NULL(test, rig->vidmm->mmu);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	reset_expect_lost(rig, bo);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	pagoda_rig_close(bo);
}

/*
 * A reset of the idle device: content of VRAM is lost, which the device is told once, and replaced
 * by zeros; other content stays, and the mappings of VMs and the aperture exist again.
 */
static void reset_idle(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *vram = reset_bo(rig, 0, 1), *system = reset_bo(rig, 0, 2);
	struct pagoda_bo *bound = reset_bo(rig, PHYSICAL, 3), *pages = reset_bo(rig, 0, 4);
	struct pagoda_vm *vm = vmt_make(rig);
	u32 before;
	u64 page;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(vram));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bound, true));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(pages, false));
	reset_map(rig, vm, vram, HERE);
	reset_map(rig, vm, pages, HERE + SZ_1G);
	pagoda_rig_settle(rig);
	before = rig->nr_log;
	page = pagoda_aperture_of(bound->ttm.resource)->node.start;
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));

	PAGODA_PROVES(C192, C194, C195);
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_stream_restarts(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 1, reset_notices(rig, vram->id));
	KUNIT_EXPECT_EQ(test, 0, reset_notices(rig, system->id) + reset_notices(rig, bound->id));
	KUNIT_EXPECT_EQ(test, 1, reset_unmaps(rig, page, before));
	reset_expect_lost(rig, vram);
	KUNIT_EXPECT_FALSE(test,
			   system->content.lost || bound->content.lost || pages->content.lost);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, system, 2));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bound, 3));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, pages, 4));
	reset_expect_mapped(rig, vm, vram, HERE);
	reset_expect_mapped(rig, vm, pages, HERE + SZ_1G);
	/* The copy to VRAM reads the content through the aperture's mapping. */
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bound));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bound, 3));
	reset_expect_works(rig, vram, 5);
	reset_expect_works(rig, bound, 6);
	vmt_drop(vm);
	pagoda_rig_close(vram);
	pagoda_rig_close(system);
	pagoda_rig_close(bound);
	pagoda_rig_close(pages);
}

/* After a reset unused VRAM doesn't count as zeroed: a new allocation in VRAM reads as zeros. */
static void reset_leaves_nothing_clean(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, RESET_PAGES, VM_CPU, VM_VRAM, 0);

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	PAGODA_PROVES(C195);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	KUNIT_EXPECT_FALSE(test, bo->content.lost);
	pagoda_rig_close(bo);
}

/*
 * A reset while moves in both directions and changes of page tables are under way: the content that
 * moves is lost, the fences of the moves signal, and the page tables are right again.
 */
static void reset_in_flight(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *in = reset_bo(rig, 0, 1), *out = reset_bo(rig, 0, 2);
	struct pagoda_bo *stays = reset_bo(rig, 0, 3), *vram = reset_bo(rig, 0, 4);
	struct pagoda_vm *vm = vmt_make(rig);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(out));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(vram));
	reset_map(rig, vm, out, HERE);
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(in));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(out));
	reset_map(rig, vm, vram, HERE + RESET_PAGES * PAGE_SIZE);
	KUNIT_EXPECT_FALSE(test, pagoda_rig_idle(in));
	KUNIT_EXPECT_FALSE(test, pagoda_rig_idle(out));

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	PAGODA_PROVES(C193, C194);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_idle(in) && pagoda_rig_idle(out));
	dma_resv_lock(out->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_settle(out));
	dma_resv_unlock(out->ttm.base.resv);
	reset_expect_lost(rig, in);
	reset_expect_lost(rig, out);
	reset_expect_lost(rig, vram);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, stays, 3));
	KUNIT_EXPECT_FALSE(test, stays->content.lost);
	reset_expect_mapped(rig, vm, vram, HERE + RESET_PAGES * PAGE_SIZE);
	KUNIT_EXPECT_NE(test, VIRTIO_PAGODA_FAULT_NONE, vmt_fault(rig, vm->id, HERE));
	reset_expect_works(rig, in, 5);
	reset_expect_works(rig, out, 6);
	vmt_drop(vm);
	pagoda_rig_close(in);
	pagoda_rig_close(out);
	pagoda_rig_close(stays);
	pagoda_rig_close(vram);
}

/*
 * When a context is used after a reset, its save area is initialised again, with the current root
 * of the VM, but only if it has lost its content in this reset.
 */
static void reset_contexts(struct kunit *test)
{
	const u32 init = VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE;
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1);
	struct pagoda_vm *vm = vmt_make(rig);
	struct virtio_pagoda_context_image *image = NULL;
	struct pagoda_context *context;
	struct pagoda_root root;
	u32 before;
	u64 at;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	reset_map(rig, vm, bo, HERE);
	context = test_ok(test, pagoda_context_create(vm, 0, 0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_ASSERT_EQ(test, 0, vmt_bring(vm, context));
	pagoda_rig_settle(rig);
	for (at = 0; at < rig->engine.vram_size; at += PAGE_SIZE) {
		image = (void *)(rig->engine.vram + at);
		if (le64_to_cpu(image->magic) == VIRTIO_PAGODA_CONTEXT_MAGIC)
			break;
	}
	KUNIT_ASSERT_LT(test, at, rig->engine.vram_size);
	pagoda_space_root(vm->space, &root);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(image->root_address), root.address);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(image->root_entries), root.entries);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(image->address_space), vm->id);
	KUNIT_EXPECT_EQ(test, rig->engine.spaces[vm->id].address, root.address);
	KUNIT_EXPECT_EQ(test, rig->engine.spaces[vm->id].entries, root.entries);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(context->save.bo));
	pagoda_rig_settle(rig);
	before = pagoda_rig_count(rig, init, context->save.bo->id);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_ASSERT_EQ(test, 0, vmt_bring(vm, context));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_LT(test, 0u, before);
	KUNIT_EXPECT_EQ(test, before, pagoda_rig_count(rig, init, context->save.bo->id));
	pagoda_context_destroy(context);
	vmt_drop(vm);
	pagoda_rig_close(bo);
}

static void reset_wait_ended(struct pagoda_mfence_wait *wait, int error)
{
}

/* A monitored fence whose waits were ended by a reset has its value again after the rebuild. */
static void reset_gives_values_back(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_mfence *mfence = test_ok(test, pagoda_mfence_create(rig->vidmm, rig->client,
									  0, 77));
	const struct pagoda_mfence_value next = { mfence, 78 };
	struct pagoda_mfence_wait wait;
	u64 *value;

	KUNIT_ASSERT_EQ(test, 0, pagoda_mfence_wait_init(&wait, mfence, 78, reset_wait_ended,
							 NULL));
	value = page_address(pagoda_mfence_bo(mfence)->ttm.ttm->pages[0]);
	/* The rebuild can't begin while the test is in a section. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_enter(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	KUNIT_EXPECT_EQ(test, U64_MAX, READ_ONCE(*value));
	pagoda_leave(rig->vidmm);
	pagoda_reset_wait(rig->vidmm);
	PAGODA_PROVES(C184);
	KUNIT_EXPECT_EQ(test, 77ull, READ_ONCE(*value));
	KUNIT_EXPECT_EQ(test, 0, pagoda_mfences_signal(rig->vidmm, &next, 1));
	KUNIT_EXPECT_EQ(test, 78ull, READ_ONCE(*value));
	pagoda_mfence_wait_fini(&wait);
	pagoda_mfence_put(mfence);
}

/*
 * The device reports that it was reset: the driver resets the device once more and rebuilds it;
 * content of VRAM is lost, mappings exist again.
 */
static void reset_by_the_device(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1), *system = reset_bo(rig, 0, 2);
	struct pagoda_vm *vm = vmt_make(rig);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	reset_map(rig, vm, bo, HERE);
	pagoda_rig_settle(rig);
	memset(rig->engine.vram, 0x5a, PAGODA_RIG_VRAM_PAGES * PAGE_SIZE);
	pagoda_reset_told(rig->vidmm);
	flush_work(&rig->vidmm->reset->told);
	pagoda_reset_wait(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 1, pagoda_reset_epoch(rig->vidmm));
	reset_expect_lost(rig, bo);
	reset_expect_mapped(rig, vm, bo, HERE);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, system, 2));
	vmt_drop(vm);
	pagoda_rig_close(bo);
	pagoda_rig_close(system);
}

/*
 * Resets that follow each other at once, whether the rebuild of the one before has ended or not,
 * are all counted, and after the last reset mappings and moves work.
 */
static void reset_twice(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = reset_bo(rig, 0, 1), *system = reset_bo(rig, 0, 2);
	struct pagoda_vm *vm = vmt_make(rig);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	reset_map(rig, vm, bo, HERE);
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 3, pagoda_reset_epoch(rig->vidmm));
	reset_expect_lost(rig, bo);
	reset_expect_mapped(rig, vm, bo, HERE);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, system, 2));
	reset_expect_works(rig, bo, 3);
	vmt_drop(vm);
	pagoda_rig_close(bo);
	pagoda_rig_close(system);
}

/* After a rebuild the device MMU keeps no pages of allocations closed since the reset. */
static void reset_frees_pages(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bos[16];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = reset_bo(rig, 0, i);
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		pagoda_rig_close(bos[i]);
	pagoda_reset_wait(rig->vidmm);
	flush_workqueue(rig->vidmm->ttm.wq);
	pagoda_rig_settle(rig);
	mutex_lock(&rig->vidmm->device_mmu->lock);
	KUNIT_EXPECT_TRUE(test, list_empty(&rig->vidmm->device_mmu->kept));
	mutex_unlock(&rig->vidmm->device_mmu->lock);
}

/*
 * The rebuild passes over an allocation that is offered, closed and busy: TTM has the allocation's
 * content discarded, once, when the allocation is idle.
 */
static void reset_leaves_the_dead(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *dead = reset_bo(rig, 0, 1), *bo = reset_bo(rig, 0, 2);
	struct dma_fence *fence = pagoda_test_fence(test);
	u64 discarded, size = dead->ttm.base.size;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(dead));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, dead, DRM_PAGODA_OFFER_LOW));
	settle_moves(rig);
	make_busy(rig, dead, fence);
	pagoda_rig_close(dead);
	discarded = atomic64_read(&rig->vidmm->stats.discarded);
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	/* Give the rebuild time to pass over the closed allocation, before the fence signals. */
	schedule_timeout_uninterruptible(HZ / 10 ?: 1);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	pagoda_reset_wait(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 1, pagoda_reset_epoch(rig->vidmm));
	flush_workqueue(rig->vidmm->ttm.wq);
	KUNIT_EXPECT_EQ(test, discarded + size, atomic64_read(&rig->vidmm->stats.discarded));
	reset_expect_works(rig, bo, 3);
	pagoda_rig_close(bo);
}

#define RANDOM_BOS	12
#define RANDOM_STEPS	120

struct reset_random {
	struct pagoda_rig *rig;
	struct rnd_state rnd;
	struct pagoda_vm *vm;
	struct pagoda_bo *bo[RANDOM_BOS];
	u32 seed[RANDOM_BOS];
};

static u32 reset_below(struct reset_random *r, u32 limit)
{
	return prandom_u32_state(&r->rnd) % limit;
}

static void reset_step(struct reset_random *r)
{
	struct pagoda_bo *bo = r->bo[reset_below(r, RANDOM_BOS)];
	struct pagoda_rig *rig = r->rig;

	switch (reset_below(r, 8)) {
	case 0:
	case 1:
		KUNIT_EXPECT_EQ(rig->test, 0, pagoda_rig_to_system(bo));
		break;
	case 2:
		KUNIT_EXPECT_EQ(rig->test, 0, pagoda_rig_to_aperture(bo, reset_below(r, 2)));
		break;
	case 3:
		reset_map(rig, r->vm, bo, HERE + reset_below(r, 64) * SZ_64K);
		break;
	case 4:
		pagoda_fake_transport_let(rig->fake, reset_below(r, 8));
		break;
	default:
		KUNIT_EXPECT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	}
}

/* Expects of each allocation its content, or zeros if lost; gives lost allocations new content. */
static void reset_check(struct reset_random *r)
{
	struct pagoda_rig *rig = r->rig;
	u32 i;

	for (i = 0; i < RANDOM_BOS; i++) {
		struct pagoda_bo *bo = r->bo[i];
		bool lost;

		dma_resv_lock(bo->ttm.base.resv, NULL);
		dma_resv_wait_timeout(bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL, false, 30 * HZ);
		KUNIT_EXPECT_EQ(rig->test, 0, pagoda_lost_settle(bo));
		lost = bo->content.lost;
		bo->content.lost = false;
		dma_resv_unlock(bo->ttm.base.resv);
		if (lost) {
			KUNIT_EXPECT_TRUE(rig->test, pagoda_rig_is_zero(rig, bo));
			r->seed[i] += 100;
			pagoda_rig_write(rig, bo, r->seed[i]);
		} else {
			KUNIT_EXPECT_TRUE(rig->test, pagoda_rig_holds(rig, bo, r->seed[i]));
		}
	}
}

/*
 * Random moves, maps and resets: after each reset each allocation has its content, or is marked
 * lost and has zeros.
 */
static void reset_at_random(struct kunit *test)
{
	struct reset_random r = { .rig = pagoda_rig_create_mode(test) };
	u32 i, round;

	kunit_info(test, "seed 0x%x", SEED);
	prandom_seed_state(&r.rnd, SEED);
	r.vm = vmt_make(r.rig);
	for (i = 0; i < RANDOM_BOS; i++) {
		r.seed[i] = i + 1;
		r.bo[i] = reset_bo(r.rig, 0, r.seed[i]);
	}
	for (round = 0; round < 8; round++) {
		for (i = 0; i < RANDOM_STEPS / 8; i++)
			reset_step(&r);
		KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(r.rig->vidmm));
		reset_check(&r);
	}
	KUNIT_EXPECT_EQ(test, 0, r.rig->fake->violations);
	vmt_drop(r.vm);
	for (i = 0; i < RANDOM_BOS; i++)
		pagoda_rig_close(r.bo[i]);
}

/* Lost content is cleared in pieces no larger than those of a move. */
static void reset_clears_in_pieces(struct kunit *test)
{
	const struct pagoda_rig_options large = { .large = true, .mode = test->param_value };
	const struct ttm_place one_range = {
		.mem_type = TTM_PL_VRAM,
		.flags = TTM_PL_FLAG_CONTIGUOUS,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &large);
	u32 pages = 2 * (PAGODA_PIECE_BYTES >> PAGE_SHIFT) + 77, before, n;
	struct pagoda_bo *bo = pagoda_rig_bo(rig, pages, VM_CPU, VM_VRAM, 0);
	const struct pagoda_rig_note *fill;
	u64 bytes = 0;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &one_range, false));
	pagoda_rig_write(rig, bo, 1);
	pagoda_rig_settle(rig);
	before = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_FILL, bo->id);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	reset_expect_lost(rig, bo);
	for (n = before; (fill = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_FILL, bo->id, n)); n++) {
		KUNIT_EXPECT_LE(test, fill->size, (u64)PAGODA_PIECE_BYTES);
		bytes += fill->size;
	}
	KUNIT_EXPECT_EQ(test, bo->ttm.base.size, bytes);
	KUNIT_EXPECT_EQ(test, 0, atomic64_read(&rig->vidmm->stats.overruns));
	pagoda_rig_close(bo);
}

static struct kunit_case reset_cases[] = {
	KUNIT_CASE_PARAM(reset_idle, pagoda_rig_modes),
	KUNIT_CASE(reset_without_tables),
	KUNIT_CASE_PARAM(reset_leaves_nothing_clean, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_in_flight, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_clears_in_pieces, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_contexts, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_gives_values_back, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(reset_by_the_device, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_twice, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reset_frees_pages, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(reset_leaves_the_dead, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(reset_at_random, pagoda_rig_modes),
	{}
};

static struct kunit_suite reset_suite = {
	.name = "pagoda_reset",
	.test_cases = reset_cases,
};

kunit_test_suite(reset_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit suite of the whole device's resets");
