// SPDX-License-Identifier: GPL-2.0
/*
 * CPU page faults, and accesses of a debugger, on an allocation that another device's work uses:
 * whether they wait for such work, and which locks are held during the wait. Also faults during a
 * reset; accesses and mappings that are refused.
 */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/signal.h>
#include "core/life.h"
#include "rig/map.h"
#include "rig/rig.h"
#include "prime_helpers.h"
#include "work_helpers.h"

#define FIRST	FAULT_FLAG_DEFAULT
#define AGAIN	(FAULT_FLAG_DEFAULT | FAULT_FLAG_TRIED)
#define NOWAIT	(FAULT_FLAG_DEFAULT | FAULT_FLAG_RETRY_NOWAIT)

struct fault_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_bo *bo;
	unsigned long at;
};

/* @supported: the segments that the allocation supports */
static struct fault_test fault_begin(struct kunit *test, u32 supported)
{
	struct fault_test t = { .test = test, .rig = pagoda_rig_create(test, NULL) };

	t.bo = pagoda_rig_bo(t.rig, 1, DRM_PAGODA_ALLOCATION_CPU_VISIBLE, supported, 0);
	t.at = rig_map(t.rig, t.bo, O_RDWR, PROT_READ | PROT_WRITE);
	KUNIT_ASSERT_NE(test, 0, t.at);
	return t;
}

static void fault_end(struct fault_test *t)
{
	rig_unmap(t->rig, t->bo, t->at);
	pagoda_rig_close(t->bo);
}

/* Moves the allocation to the part of VRAM that the CPU reaches, or to the part that it doesn't. */
static void fault_place(struct fault_test *t, bool visible)
{
	const struct ttm_place place = {
		.mem_type = TTM_PL_VRAM,
		.fpfn = visible ? 0 : PAGODA_RIG_VISIBLE_PAGES,
		.lpfn = visible ? PAGODA_RIG_VISIBLE_PAGES : 0,
	};

	KUNIT_ASSERT_EQ(t->test, 0, pagoda_rig_place(t->bo, &place, false));
	pagoda_rig_settle(t->rig);
}

static vm_fault_t fault_handle(struct vm_area_struct *vma, unsigned long at, unsigned int flags)
{
	struct vm_fault vmf = {
		.vma = vma,
		.pgoff = vma->vm_pgoff,
		.address = at,
		.flags = flags | FAULT_FLAG_WRITE,
	};

	return vma->vm_ops->fault(&vmf);
}

/* Calls the fault handler as mm/ does; then mmap_lock isn't held any more. */
static vm_fault_t fault_call(struct fault_test *t, unsigned int flags)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	vm_fault_t ret;

	mmap_read_lock(mm);
	vma = find_vma(mm, t->at);
	ret = vma ? fault_handle(vma, t->at, flags) : VM_FAULT_SIGSEGV;
	if (!(ret & VM_FAULT_RETRY) || flags & FAULT_FLAG_RETRY_NOWAIT)
		mmap_read_unlock(mm);
	return ret;
}

/*
 * Expects a fault to wait without a lock for work, whose fence has @usage, then to be tried again;
 * with NOWAIT not to wait.
 */
static void fault_expect_wait(struct fault_test *t, unsigned int flags, enum dma_resv_usage usage)
{
	struct other_work *work = other_work_add(t->test, t->bo, usage);

	KUNIT_EXPECT_TRUE(t->test, fault_call(t, NOWAIT) == VM_FAULT_RETRY);
	KUNIT_EXPECT_FALSE(t->test, work->awaited);
	KUNIT_EXPECT_TRUE(t->test, fault_call(t, flags) == VM_FAULT_RETRY);
	KUNIT_EXPECT_TRUE(t->test, work->awaited);
	KUNIT_EXPECT_FALSE(t->test, work->under_mmap_lock);
	KUNIT_EXPECT_FALSE(t->test, work->under_resv);
	KUNIT_EXPECT_FALSE(t->test, dma_resv_is_locked(work->resv));
	KUNIT_EXPECT_TRUE(t->test, fault_call(t, AGAIN) == VM_FAULT_NOPAGE);
	other_work_put(work);
}

/*
 * A fault moves an allocation in VRAM that the CPU doesn't reach after another device's work, for
 * which the fault waits without a lock, even if the work came after the fault's first try.
 */
static void fault_moves_after_work(struct kunit *test)
{
	static const unsigned int tries[] = { FIRST, AGAIN };
	struct fault_test t = fault_begin(test, SUBMIT_VRAM);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		fault_place(&t, false);
		pagoda_rig_write(t.rig, t.bo, i + 1);
		fault_expect_wait(&t, tries[i], DMA_RESV_USAGE_BOOKKEEP);
		KUNIT_EXPECT_TRUE(test, pagoda_vram_is_visible(t.rig->vidmm, t.bo->ttm.resource));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bo, i + 1));
	}
	fault_end(&t);
}

/* Zeros replace lost content after other work, for which a fault waits without a lock. */
static void fault_fills_after_work(struct kunit *test)
{
	static const unsigned int tries[] = { FIRST, AGAIN };
	struct fault_test t = fault_begin(test, SUBMIT_VRAM);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		fault_place(&t, true);
		pagoda_rig_write(t.rig, t.bo, i + 1);
		pagoda_bo_mark_lost(t.bo);
		fault_expect_wait(&t, tries[i], DMA_RESV_USAGE_BOOKKEEP);
		KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(t.rig, t.bo));
	}
	fault_end(&t);
}

/* Where nothing has to be moved or filled, a fault doesn't wait for work. */
static void fault_beside_work(struct kunit *test)
{
	struct fault_test t = fault_begin(test, SUBMIT_VRAM);
	struct other_work *work;

	fault_place(&t, true);
	work = other_work_add(test, t.bo, DMA_RESV_USAGE_BOOKKEEP);
	KUNIT_EXPECT_TRUE(test, fault_call(&t, FIRST) == VM_FAULT_NOPAGE);
	KUNIT_EXPECT_FALSE(test, work->awaited);
	dma_fence_signal(&work->base);
	other_work_put(work);
	fault_end(&t);
}

/*
 * Nothing has to be moved or filled, but paging of the allocation goes on, for which a fault waits
 * without a lock at its first try.
 */
static void fault_after_paging(struct kunit *test)
{
	struct fault_test t = fault_begin(test, SUBMIT_VRAM);

	fault_place(&t, true);
	pagoda_rig_write(t.rig, t.bo, 1);
	fault_expect_wait(&t, FIRST, DMA_RESV_USAGE_KERNEL);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bo, 1));
	fault_end(&t);
}

/*
 * A fault that is tried again waits itself for paging of the allocation, but not for work that may
 * go on beside the CPU's access.
 */
static void fault_after_paging_only(struct kunit *test)
{
	struct fault_test t = fault_begin(test, SUBMIT_VRAM);
	struct other_work *paging, *work;

	fault_place(&t, true);
	paging = other_work_add(test, t.bo, DMA_RESV_USAGE_KERNEL);
	work = other_work_add(test, t.bo, DMA_RESV_USAGE_READ);
	KUNIT_EXPECT_TRUE(test, fault_call(&t, AGAIN) == VM_FAULT_NOPAGE);
	KUNIT_EXPECT_TRUE(test, paging->awaited);
	KUNIT_EXPECT_FALSE(test, work->awaited);
	dma_fence_signal(&work->base);
	other_work_put(paging);
	other_work_put(work);
	fault_end(&t);
}

/* Paging ends after a fault has found the paging going on: the fault needn't be tried again. */
static void fault_beside_paging_that_ends(struct kunit *test)
{
	struct fault_test t = fault_begin(test, SUBMIT_VRAM);
	struct other_work *paging;

	fault_place(&t, true);
	paging = other_work_add(test, t.bo, DMA_RESV_USAGE_KERNEL);
	/* Done at the second look. */
	paging->looks = OTHER_WORK_LOOKS - 1;
	KUNIT_EXPECT_TRUE(test, fault_call(&t, FIRST) == VM_FAULT_NOPAGE);
	KUNIT_EXPECT_EQ(test, OTHER_WORK_LOOKS + 1, paging->looks);
	KUNIT_EXPECT_FALSE(test, paging->awaited);
	other_work_put(paging);
	fault_end(&t);
}

/*
 * While VRAM is hidden from the CPU, a fault that was retried, can't be retried, or must not wait,
 * ends at once, with no lock held.
 */
static void fault_in_reset(struct kunit *test)
{
	struct fault_test t = fault_begin(test, SUBMIT_VRAM);
	struct pagoda_reset *reset = t.rig->vidmm->reset;

	fault_place(&t, true);
	WRITE_ONCE(reset->hidden, true);
	KUNIT_EXPECT_TRUE(test, fault_call(&t, AGAIN) == VM_FAULT_NOPAGE);
	KUNIT_EXPECT_TRUE(test, fault_call(&t, 0) == VM_FAULT_NOPAGE);
	KUNIT_EXPECT_TRUE(test, fault_call(&t, NOWAIT) == VM_FAULT_RETRY);
	KUNIT_EXPECT_FALSE(test, dma_resv_is_locked(t.bo->ttm.base.resv));
	WRITE_ONCE(reset->hidden, false);
	KUNIT_EXPECT_TRUE(test, fault_call(&t, 0) == VM_FAULT_NOPAGE);
	fault_end(&t);
}

/* An importer, whose device uses the memory until @work is done, unless @work is NULL. */
struct fault_importer {
	struct other_work *work;
};

static void fault_told(struct dma_buf_attachment *attach)
{
	struct fault_importer *importer = attach->importer_priv;
	struct dma_resv *resv = attach->dmabuf->resv;

	if (importer->work && !dma_resv_reserve_fences(resv, 2))
		dma_resv_add_fence(resv, &importer->work->base, DMA_RESV_USAGE_BOOKKEEP);
}

static const struct dma_buf_attach_ops fault_importer_ops = {
	.invalidate_mappings = fault_told,
};

/*
 * A fault has to move an exported allocation, and the importer that is told of the move adds a
 * fence: the fault waits for that fence without a lock, too, also when it is tried again.
 */
static void fault_after_importer(struct kunit *test)
{
	static const unsigned int tries[] = { FIRST, AGAIN };
	struct fault_test t = fault_begin(test, SUBMIT_VRAM | SUBMIT_APERTURE);
	struct fault_importer importer = {};
	struct dma_buf *dma_buf = prime_export(t.bo);
	struct dma_buf_attachment *attach;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, dma_buf);
	attach = test_ok(test, dma_buf_dynamic_attach(dma_buf, t.rig->info.dma_dev,
						      &fault_importer_ops, &importer));
	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		fault_place(&t, false);
		pagoda_rig_write(t.rig, t.bo, i + 1);
		importer.work = other_work_new(test, dma_buf->resv);
		KUNIT_EXPECT_TRUE(test, fault_call(&t, tries[i]) == VM_FAULT_RETRY);
		KUNIT_EXPECT_TRUE(test, importer.work->awaited);
		KUNIT_EXPECT_FALSE(test, importer.work->under_mmap_lock);
		KUNIT_EXPECT_FALSE(test, importer.work->under_resv);
		KUNIT_EXPECT_TRUE(test, fault_call(&t, AGAIN) == VM_FAULT_NOPAGE);
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bo, i + 1));
		other_work_put(importer.work);
		importer.work = NULL;
	}
	dma_buf_detach(dma_buf, attach);
	prime_put(dma_buf);
	fault_end(&t);
}

/*
 * Reads, or writes, @len bytes from byte @offset on as a debugger does. Returns the number of bytes
 * or a negative errno.
 */
static int fault_access_at(struct fault_test *t, u64 offset, u64 *word, int len, bool write)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int ret = -EFAULT;

	mmap_read_lock(mm);
	vma = find_vma(mm, t->at);
	if (vma)
		ret = vma->vm_ops->access(vma, t->at + offset, word, len, write);
	mmap_read_unlock(mm);
	return ret;
}

static int fault_access(struct fault_test *t, u64 *word)
{
	return fault_access_at(t, 0, word, sizeof(*word), false);
}

/* Makes the mapping one that may never be written. */
static void fault_forbid_writes(struct fault_test *t)
{
	struct vm_area_struct *vma;

	mmap_write_lock(current->mm);
	vma = find_vma(current->mm, t->at);
	if (vma)
		vm_flags_clear(vma, VM_WRITE | VM_MAYWRITE);
	mmap_write_unlock(current->mm);
	KUNIT_ASSERT_NOT_NULL(t->test, vma);
}

/*
 * A debugger accesses bytes within the allocation (else -EIO), and writes only if the mapping may
 * be written (else -EACCES).
 */
static void fault_access_bounds(struct kunit *test)
{
	struct fault_test t = fault_begin(test, SUBMIT_VRAM);
	const u64 last = PAGE_SIZE - sizeof(u64);
	u64 word = 5, seen = 0;

	fault_place(&t, true);
	KUNIT_EXPECT_EQ(test, -EIO, fault_access_at(&t, 0, &word, 0, false));
	KUNIT_EXPECT_EQ(test, -EIO, fault_access_at(&t, last + 1, &word, sizeof(word), false));
	KUNIT_EXPECT_EQ(test, (int)sizeof(word),
			fault_access_at(&t, last, &word, sizeof(word), true));
	fault_forbid_writes(&t);
	word = 6;
	KUNIT_EXPECT_EQ(test, -EACCES, fault_access_at(&t, last, &word, sizeof(word), true));
	KUNIT_EXPECT_EQ(test, (int)sizeof(seen),
			fault_access_at(&t, last, &seen, sizeof(seen), false));
	KUNIT_EXPECT_EQ(test, 5ull, seen);
	fault_end(&t);
}

/*
 * Neither a debugger nor a new mapping gets at an offered allocation, nor a mapping at one that the
 * CPU may not map.
 */
static void fault_offered(struct kunit *test)
{
	struct fault_test t = fault_begin(test, SUBMIT_VRAM);
	struct pagoda_bo *hidden = pagoda_rig_bo(t.rig, 1, 0, SUBMIT_VRAM, 0);
	u64 word = 0;

	KUNIT_EXPECT_EQ(test, 0ul, rig_map(t.rig, hidden, O_RDWR, PROT_READ));
	fault_place(&t, true);
	KUNIT_EXPECT_EQ(test, (int)sizeof(word), fault_access(&t, &word));
	KUNIT_ASSERT_EQ(test, 0, pagoda_offer(t.rig->vidmm, &t.bo, 1, DRM_PAGODA_OFFER_LOW, 0));
	KUNIT_EXPECT_EQ(test, -ENODATA, fault_access(&t, &word));
	KUNIT_EXPECT_EQ(test, 0ul, rig_map(t.rig, t.bo, O_RDWR, PROT_READ));
	pagoda_rig_close(hidden);
	fault_end(&t);
}

/*
 * A debugger's access to VRAM that the CPU doesn't reach waits for work without the reservation,
 * which other users of the allocation need.
 */
static void fault_access_after_work(struct kunit *test)
{
	struct fault_test t = fault_begin(test, SUBMIT_VRAM);
	struct other_work *work;
	u64 before, word = 0;

	fault_place(&t, false);
	pagoda_rig_write(t.rig, t.bo, 1);
	KUNIT_ASSERT_EQ(test, (int)sizeof(before), fault_access(&t, &before));
	work = other_work_add(test, t.bo, DMA_RESV_USAGE_BOOKKEEP);
	KUNIT_EXPECT_EQ(test, (int)sizeof(word), fault_access(&t, &word));
	KUNIT_EXPECT_TRUE(test, work->awaited);
	KUNIT_EXPECT_FALSE(test, work->under_resv);
	KUNIT_EXPECT_EQ(test, before, word);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bo, 1));
	other_work_put(work);
	fault_end(&t);
}

/* A signal ends the wait of a debugger's access, which then has no effect. */
static void fault_access_is_interrupted(struct kunit *test)
{
	struct fault_test t = fault_begin(test, SUBMIT_VRAM);
	struct other_work *work;
	u64 word = 5;

	fault_place(&t, false);
	pagoda_rig_write(t.rig, t.bo, 1);
	work = other_work_add(test, t.bo, DMA_RESV_USAGE_BOOKKEEP);
	work->stays = true;
	allow_signal(SIGINT);
	send_sig(SIGINT, current, 1);
	KUNIT_EXPECT_EQ(test, -ERESTARTSYS, fault_access(&t, &word));
	disallow_signal(SIGINT);
	KUNIT_EXPECT_TRUE(test, work->awaited);
	KUNIT_EXPECT_FALSE(test, dma_resv_is_locked(work->resv));
	KUNIT_EXPECT_EQ(test, 5ull, word);
	dma_fence_signal(&work->base);
	other_work_put(work);
	fault_end(&t);
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE(fault_moves_after_work),
	KUNIT_CASE(fault_fills_after_work),
	KUNIT_CASE(fault_beside_work),
	KUNIT_CASE(fault_after_paging),
	KUNIT_CASE(fault_after_paging_only),
	KUNIT_CASE(fault_beside_paging_that_ends),
	KUNIT_CASE(fault_in_reset),
	KUNIT_CASE(fault_after_importer),
	KUNIT_CASE(fault_access_bounds),
	KUNIT_CASE(fault_offered),
	KUNIT_CASE(fault_access_after_work),
	KUNIT_CASE(fault_access_is_interrupted),
	{}
};

static struct kunit_suite fault_suite = {
	.name = "pagoda_fault",
	.test_cases = fault_cases,
};

kunit_test_suite(fault_suite);
