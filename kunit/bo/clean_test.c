// SPDX-License-Identifier: GPL-2.0
/*
 * A device that tracks what it writes: an eviction copies only the blocks of 64 KiB that were, or
 * may have been, written, whatever clients say; and TRACK tells a client which pages the GPU wrote.
 */
#include <linux/sizes.h>
#include "../drivers/vgpu/engine/internal.h"
#include "queue/queue_helpers.h"
#include "residency/offer_helpers.h"
#include "rig/map.h"

#define BLOCK		VIRTIO_PAGODA_DIRTY_BLOCK
#define BLOCKS		4u
#define PAGES		(BLOCKS * BLOCK / PAGE_SIZE)
#define BYTES		((u64)BLOCKS * BLOCK)
#define HERE		SZ_4M

struct clean_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_bo *bo;
};

static struct pagoda_rig *clean_rig(struct kunit *test)
{
	const struct pagoda_rig_options options = {
		.mode = test->param_value, .engines = true, .tracks = true,
	};

	return pagoda_rig_create(test, &options);
}

static u64 clean_skipped(struct clean_test *t)
{
	struct pagoda_queue_stats stats;

	pagoda_rig_settle(t->rig);
	pagoda_queue_stats(t->rig->vidmm->queue, &stats);
	return stats.skipped;
}

/* Brings the allocation to visible VRAM, and requires that it has a kept copy then. */
static void clean_bring(struct clean_test *t)
{
	const struct ttm_place low = {
		.lpfn = PAGODA_RIG_VISIBLE_PAGES, .mem_type = TTM_PL_VRAM,
	};

	KUNIT_ASSERT_EQ(t->test, 0, pagoda_rig_place(t->bo, &low, false));
	pagoda_rig_settle_freed(t->rig);
	KUNIT_ASSERT_NOT_NULL(t->test, t->bo->content.copy);
}

static struct clean_test clean_begin_on(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct clean_test t = { .test = rig->test, .rig = rig, .bo = bo };

	pagoda_rig_write_vram(rig, bo, 1);
	KUNIT_ASSERT_EQ(t.test, 0, pagoda_rig_to_system(bo));
	clean_bring(&t);
	return t;
}

static struct clean_test clean_begin(struct kunit *test)
{
	struct pagoda_rig *rig = clean_rig(test);

	return clean_begin_on(rig, pagoda_rig_bo(rig, PAGES, CPU, SUBMIT_VRAM, 0));
}

static void clean_leave_at(struct clean_test *t, u64 written, u32 line)
{
	u64 before = clean_skipped(t);

	KUNIT_ASSERT_EQ(t->test, 0, pagoda_rig_to_system(t->bo));
	KUNIT_EXPECT_EQ_MSG(t->test, BYTES - written, clean_skipped(t) - before, "line %u", line);
}

/* Evicts the allocation, and expects that the device copies @written bytes and skips the others. */
#define clean_leave(t, written) clean_leave_at(t, written, __LINE__)

static void clean_end(struct clean_test *t)
{
	pagoda_rig_close(t->bo);
	pagoda_rig_settle_freed(t->rig);
	KUNIT_EXPECT_EQ(t->test, 0ll, (s64)atomic64_read(&t->rig->vidmm->copies->bytes));
	KUNIT_EXPECT_EQ(t->test, 0ll, (s64)atomic64_read(&t->rig->client->copies));
}

/* Writes a word of the allocation in VRAM, and marks the page as written, as a job's write does. */
static void clean_write(struct clean_test *t, u64 offset, u64 value)
{
	struct pagoda_vram_cursor cur;
	u64 *here;

	dma_resv_lock(t->bo->ttm.base.resv, NULL);
	pagoda_vram_first(&cur, t->bo->ttm.resource, offset, sizeof(value));
	here = (u64 *)(t->rig->engine.vram + cur.address);
	*here = value;
	pagoda_engine_wrote(&t->rig->engine, here, sizeof(value));
	dma_resv_unlock(t->bo->ttm.base.resv);
}

/*
 * Clears the device's dirty bits of all pages: the CPU, if it had executed the last packets in
 * place of the device, would have set none.
 */
static void clean_as_if_by_cpu(struct clean_test *t)
{
	pagoda_rig_settle(t->rig);
	memset(t->rig->engine.dirty, 0, t->rig->engine.vram_size >> PAGE_SHIFT);
}

/* An allocation that wasn't written in VRAM is evicted three times without a byte copied. */
static void clean_leaves_for_nothing(struct kunit *test)
{
	struct clean_test t = clean_begin(test);
	u32 i;

	for (i = 0; i < 3; i++) {
		clean_leave(&t, 0);
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bo, 1));
		clean_bring(&t);
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bo, 1));
	}
	clean_end(&t);
}

/* An eviction copies the 64 KiB blocks that were written: two of four at first, then all. */
static void clean_copies_what_was_written(struct kunit *test)
{
	struct clean_test t = clean_begin(test);
	u64 second = submit_word(t.rig, t.bo, BLOCK), value;

	clean_write(&t, BLOCK + 8, 0x1234);
	clean_write(&t, 4 * BLOCK - 8, 0x4321);
	clean_leave(&t, 2 * BLOCK);
	value = submit_word(t.rig, t.bo, BLOCK + 8);
	KUNIT_EXPECT_EQ(test, 0x1234ull, value);
	KUNIT_EXPECT_EQ(test, 0x4321ull, submit_word(t.rig, t.bo, 4 * BLOCK - 8));
	KUNIT_EXPECT_EQ(test, second, submit_word(t.rig, t.bo, BLOCK));
	clean_bring(&t);
	pagoda_rig_write(t.rig, t.bo, 2);
	clean_leave(&t, BYTES);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bo, 2));
	clean_end(&t);
}

/*
 * The device decides what to copy when it executes the copy: what is written to VRAM after the
 * driver has queued the eviction, but before its execution, isn't lost.
 */
static void clean_is_decided_late(struct kunit *test)
{
	const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM, .flags = PAGODA_PL_PIPELINED };
	struct clean_test t = clean_begin(test);
	u64 before = clean_skipped(&t), *here;
	struct pagoda_vram_cursor cur;

	pagoda_vram_first(&cur, t.bo->ttm.resource, BLOCK, sizeof(*here));
	pagoda_fake_transport_mode(t.rig->fake, PAGODA_FAKE_HELD);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_place(t.bo, &system, false));
	pagoda_stream_flush(t.rig->vidmm);
	here = (u64 *)(t.rig->engine.vram + cur.address);
	*here = 0x77;
	pagoda_engine_wrote(&t.rig->engine, here, sizeof(*here));
	pagoda_rig_settle(t.rig);
	KUNIT_EXPECT_EQ(test, before + BYTES - BLOCK, clean_skipped(&t));
	KUNIT_EXPECT_EQ(test, 0x77ull, submit_word(t.rig, t.bo, BLOCK));
	clean_end(&t);
}

/*
 * A wrong NotWrittenTo, and handles of several clients, change nothing: the 64 KiB block that the
 * device knows to be written is copied, and no other.
 */
static void clean_believes_nobody(struct kunit *test)
{
	struct clean_test t = clean_begin(test);
	struct pagoda_bo *bo = t.bo;
	u64 trim;

	KUNIT_ASSERT_EQ(test, 0, pagoda_require(t.rig->client, &bo, 1, &trim));
	clean_write(&t, 8, 0x55);
	KUNIT_EXPECT_EQ(test, 0, pagoda_require_release(t.rig->client, &bo, 1, true, 0));
	clean_leave(&t, BLOCK);
	KUNIT_EXPECT_EQ(test, 0x55ull, submit_word(t.rig, t.bo, 8));
	clean_bring(&t);
	pagoda_copy_shared(t.bo);
	clean_write(&t, 16, 0x66);
	clean_leave(&t, BLOCK);
	KUNIT_EXPECT_EQ(test, 0x66ull, submit_word(t.rig, t.bo, 16));
	clean_end(&t);
}

/*
 * Only the 64 KiB block that a job wrote is copied, even if SUBMIT said READ: that the job only
 * reads. After a job without READ the policy doesn't take the allocation for clean any more.
 */
static void clean_after_a_job(struct kunit *test)
{
	struct pagoda_rig *rig = clean_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, CPU, SUBMIT_VRAM, 0);
	struct submit_args args = {
		.bos = { bo }, .nr_bos = 1, .flags = { DRM_PAGODA_SUBMIT_READ },
	};
	struct clean_test t;

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, HERE));
	t = clean_begin_on(rig, bo);
	submit_store(client, HERE + 2 * BLOCK + 16, 5);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	/* READ: the policy, which only estimates costs, still takes the allocation for clean. */
	KUNIT_EXPECT_TRUE(test, bo->choice.item.clean);
	clean_leave(&t, BLOCK);
	KUNIT_EXPECT_EQ(test, 5ull, submit_word(rig, bo, 2 * BLOCK + 16));
	clean_bring(&t);
	args.flags[0] = 0;
	submit_store(client, HERE, 7);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_FALSE(test, bo->choice.item.clean);
	pagoda_vm_forget(client->vm, bo);
	clean_end(&t);
	submit_client_end(client);
}

/*
 * CPU reads through a writable mapping leave the allocation clean. A CPU write in VRAM has its
 * 64 KiB block copied; an allocation that was written in system memory comes to VRAM clean.
 */
static void clean_until_the_cpu_writes(struct kunit *test)
{
	struct clean_test t = clean_begin(test);
	unsigned long at = rig_map(t.rig, t.bo, O_RDWR, PROT_READ | PROT_WRITE);
	u32 word, i;

	KUNIT_ASSERT_NE(test, 0ul, at);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, 0, get_user(word, (u32 __user *)at));
		KUNIT_EXPECT_EQ(test, (u32)submit_word(t.rig, t.bo, 0), word);
		clean_leave(&t, 0);
		clean_bring(&t);
	}
	KUNIT_EXPECT_EQ(test, 0, get_user(word, (u32 __user *)(at + BLOCK)));
	KUNIT_EXPECT_EQ(test, 0, put_user(0x1234, (u32 __user *)(at + BLOCK)));
	KUNIT_ASSERT_TRUE(test, in_vram(t.bo));
	/* The page is writable since the write before: this write needs no page fault. */
	KUNIT_EXPECT_EQ(test, 0, put_user(0x4321, (u32 __user *)(at + BLOCK + 4)));
	/* The GPU writes another 64 KiB block: both blocks are copied. */
	clean_write(&t, 3 * BLOCK, 0x31);
	clean_leave(&t, 2 * BLOCK);
	KUNIT_EXPECT_EQ(test, 0x31ull, submit_word(t.rig, t.bo, 3 * BLOCK));
	KUNIT_EXPECT_EQ(test, 0x432100001234ull, submit_word(t.rig, t.bo, BLOCK));
	/* A CPU write in system memory marks no block as written: VRAM gets the new content. */
	KUNIT_EXPECT_EQ(test, 0, get_user(word, (u32 __user *)at));
	KUNIT_EXPECT_EQ(test, 0, put_user(0x99, (u32 __user *)at));
	clean_bring(&t);
	KUNIT_EXPECT_EQ(test, 0x99u, (u32)submit_word(t.rig, t.bo, 0));
	clean_leave(&t, 0);
	rig_unmap(t.rig, t.bo, at);
	clean_end(&t);
}

/*
 * Writes that the device may not know of: an eviction copies the 64 KiB block that a debugger
 * wrote; and all blocks after a move within VRAM, or after lost content was replaced by zeros,
 * because the CPU may have done the move or the fill in place of the device.
 */
static void clean_not_if_the_device_cannot_know(struct kunit *test)
{
	struct clean_test t = clean_begin(test);
	const struct ttm_place high = {
		.fpfn = PAGODA_RIG_VRAM_PAGES / 2, .mem_type = TTM_PL_VRAM,
	};
	u64 value = 0x1234;

	dma_resv_lock(t.bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 8, pagoda_move_access(t.bo, 0, &value, sizeof(value), true));
	dma_resv_unlock(t.bo->ttm.base.resv);
	clean_leave(&t, BLOCK);
	KUNIT_EXPECT_EQ(test, value, submit_word(t.rig, t.bo, 0));
	clean_bring(&t);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(t.bo, &high, false));
	clean_as_if_by_cpu(&t);
	clean_leave(&t, BYTES);
	KUNIT_EXPECT_EQ(test, value, submit_word(t.rig, t.bo, 0));
	clean_bring(&t);
	pagoda_bo_mark_lost(t.bo);
	dma_resv_lock(t.bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_clear(t.bo));
	dma_resv_unlock(t.bo->ttm.base.resv);
	clean_as_if_by_cpu(&t);
	clean_leave(&t, BYTES);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(t.rig, t.bo));
	clean_end(&t);
}

/*
 * If a new copy would exceed copies->limit, the allocation gets none, and a work item frees the
 * oldest copies, so that the allocation's next move finds room: clients with many copies don't
 * exclude others. Each copy counts for the client that owns the allocation.
 */
static void clean_has_a_limit(struct kunit *test)
{
	struct clean_test t = clean_begin(test), other;
	struct pagoda_copies *copies = t.rig->vidmm->copies;

	KUNIT_EXPECT_EQ(test, BYTES, (u64)atomic64_read(&t.rig->client->copies));
	copies->limit = BYTES;
	other = (struct clean_test) {
		.test = test, .rig = t.rig,
		.bo = pagoda_rig_bo(t.rig, PAGES, CPU, SUBMIT_VRAM, 0),
	};
	pagoda_rig_write_vram(t.rig, other.bo, 3);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(other.bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(other.bo));
	KUNIT_EXPECT_NULL(test, other.bo->content.copy);
	pagoda_rig_settle(t.rig);
	flush_work(&copies->work);
	KUNIT_EXPECT_EQ(test, 0ll, (s64)atomic64_read(&copies->bytes));
	KUNIT_EXPECT_EQ(test, 0ll, (s64)atomic64_read(&t.rig->client->copies));
	clean_leave(&other, BYTES);
	clean_bring(&other);
	KUNIT_EXPECT_EQ(test, BYTES, (u64)atomic64_read(&copies->bytes));
	/* The allocation whose copy was freed is copied as a whole. */
	clean_leave(&t, BYTES);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bo, 1));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, other.bo, 3));
	pagoda_rig_close(other.bo);
	pagoda_rig_settle_freed(t.rig);
	clean_end(&t);
}

/*
 * The device fails in the middle of a copy out of VRAM: the CPU, which copies in place of the
 * device, skips nothing, and no content is lost.
 */
static void clean_if_the_cpu_copies(struct kunit *test)
{
	struct clean_test t = clean_begin(test);
	u64 before = clean_skipped(&t);

	clean_write(&t, 3 * BLOCK, 0x77);
	pagoda_rig_settle(t.rig);
	t.rig->fail = (struct pagoda_rig_fail) {
		.opcode = pagoda_rig_copy_op(t.rig), .allocation = t.bo->id, .times = 10,
		.middle = true,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(t.bo));
	pagoda_rig_settle(t.rig);
	t.rig->fail.times = 0;
	KUNIT_EXPECT_EQ(test, before, clean_skipped(&t));
	KUNIT_EXPECT_FALSE(test, t.bo->content.lost);
	KUNIT_EXPECT_EQ(test, 0x77ull, submit_word(t.rig, t.bo, 3 * BLOCK));
	clean_end(&t);
}

/* ---- TRACK: which pages a client is told of -------------------------------------------- */

/* Queries at most 64 pages. Bit n of the result: page @page + n is reported as written. */
static u64 track_query(struct clean_test *t, u32 page, u32 pages)
{
	u64 word = 0;

	KUNIT_EXPECT_EQ(t->test, 0, pagoda_track_query(t->bo, t->rig->client,
						       (u64)page << PAGE_SHIFT,
						       (u64)pages << PAGE_SHIFT, &word));
	return word;
}

/* Each page that the GPU wrote since START is reported once, by the first query that covers it. */
static void track_reports(struct kunit *test)
{
	struct clean_test t = clean_begin(test);

	clean_write(&t, 0, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_track_start(t.bo, t.rig->client));
	PAGODA_PROVES(C201);
	KUNIT_EXPECT_EQ(test, 0ull, track_query(&t, 0, PAGES));
	clean_write(&t, 3 * PAGE_SIZE + 8, 2);
	clean_write(&t, 40 * PAGE_SIZE, 3);
	PAGODA_PROVES(C204);
	KUNIT_EXPECT_EQ(test, BIT_ULL(1), track_query(&t, 2, 8));
	KUNIT_EXPECT_EQ(test, BIT_ULL(40), track_query(&t, 0, PAGES));
	KUNIT_EXPECT_EQ(test, 0ull, track_query(&t, 0, PAGES));
	KUNIT_EXPECT_EQ(test, 0, pagoda_track_stop(t.bo, t.rig->client));
	clean_end(&t);
}

/*
 * Moves of an idle allocation to system memory and back aren't reported as writes, and writes
 * before such moves still are. After a move within VRAM, and after a reset, all pages are reported.
 */
static void track_survives_moves(struct kunit *test)
{
	struct clean_test t = clean_begin(test);
	const struct ttm_place high = {
		.fpfn = PAGODA_RIG_VRAM_PAGES / 2, .mem_type = TTM_PL_VRAM,
	};

	KUNIT_ASSERT_EQ(test, 0, pagoda_track_start(t.bo, t.rig->client));
	clean_write(&t, 5 * PAGE_SIZE, 1);
	pagoda_rig_settle(t.rig);
	clean_leave(&t, BLOCK);
	KUNIT_EXPECT_EQ(test, 0ull, track_query(&t, 6, 8));
	clean_bring(&t);
	clean_write(&t, 7 * PAGE_SIZE, 2);
	KUNIT_EXPECT_EQ(test, BIT_ULL(5) | BIT_ULL(7), track_query(&t, 0, PAGES));
	/* The CPU, which sets no bits, may have made a move within VRAM: all pages are reported. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(t.bo, &high, false));
	KUNIT_EXPECT_EQ(test, ~0ull, track_query(&t, 0, PAGES));
	pagoda_rig_settle(t.rig);
	track_query(&t, 0, PAGES);
	KUNIT_EXPECT_EQ(test, 0ull, track_query(&t, 0, PAGES));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(t.rig->vidmm));
	KUNIT_EXPECT_EQ(test, ~0ull, track_query(&t, 0, PAGES));
	pagoda_rig_settle(t.rig);
	pagoda_rig_close(t.bo);
	pagoda_rig_settle_freed(t.rig);
}

/* After an allocation left VRAM while a job used it, a query reports all pages; the next, none. */
static void track_of_the_busy(struct kunit *test)
{
	const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM, .flags = PAGODA_PL_PIPELINED };
	struct clean_test t = clean_begin(test);
	struct dma_fence *job = pagoda_test_fence(test);

	KUNIT_ASSERT_EQ(test, 0, pagoda_track_start(t.bo, t.rig->client));
	pagoda_rig_add_fence(test, t.bo->ttm.base.resv, job, DMA_RESV_USAGE_BOOKKEEP);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_place(t.bo, &system, false));
	dma_fence_signal(job);
	dma_fence_put(job);
	pagoda_rig_settle(t.rig);
	KUNIT_EXPECT_EQ(test, ~0ull, track_query(&t, 0, PAGES));
	KUNIT_EXPECT_EQ(test, 0ull, track_query(&t, 0, PAGES));
	clean_end(&t);
}

#define SCATTERED	400u
#define HOLES		480u

/*
 * A query asks the device for the bits of the allocation's first 256 contiguous ranges of VRAM
 * only: pages in ranges behind these are reported by each query.
 */
static void track_of_the_scattered(struct kunit *test)
{
	struct pagoda_rig *rig = clean_rig(test);
	struct pagoda_bo **odd = test_calloc(test, HOLES, sizeof(*odd));
	struct clean_test t = { .test = test, .rig = rig };
	u64 words[DIV_ROUND_UP(SCATTERED, 64)] = {};
	u32 i;

	pagoda_rig_fragment(rig, odd, HOLES);
	t.bo = pagoda_rig_bo(rig, SCATTERED, CPU, SUBMIT_VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(t.bo));
	KUNIT_ASSERT_LT(test, 256u, pagoda_vram_count_ranges(t.bo->ttm.resource));
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_track_start(t.bo, rig->client));
	clean_write(&t, 9 * PAGE_SIZE, 1);
	for (i = 0; i < 2; i++) {
		memset(words, 0, sizeof(words));
		KUNIT_EXPECT_EQ(test, 0, pagoda_track_query(t.bo, rig->client, 0,
							    SCATTERED * PAGE_SIZE, words));
		KUNIT_EXPECT_EQ(test, i ? 0 : BIT_ULL(9), words[0]);
		KUNIT_EXPECT_NE(test, 0ull, words[(SCATTERED - 1) / 64] &
				BIT_ULL((SCATTERED - 1) % 64));
	}
	pagoda_rig_close(t.bo);
	close_all(odd, HOLES);
}

/*
 * Only the client that called START may query and stop (else -ENOENT); a second START, of whatever
 * client, is refused (-EBUSY) until STOP.
 */
static void track_belongs_to_a_client(struct kunit *test)
{
	struct clean_test t = clean_begin(test);
	struct pagoda_client *other = pagoda_client_create(t.rig->vidmm);
	u64 word = 0;

	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_EXPECT_EQ(test, -ENOENT, pagoda_track_stop(t.bo, t.rig->client));
	KUNIT_ASSERT_EQ(test, 0, pagoda_track_start(t.bo, t.rig->client));
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_track_start(t.bo, t.rig->client));
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_track_start(t.bo, other));
	KUNIT_EXPECT_EQ(test, -ENOENT, pagoda_track_query(t.bo, other, 0, PAGE_SIZE, &word));
	KUNIT_EXPECT_EQ(test, -ENOENT, pagoda_track_stop(t.bo, other));
	KUNIT_EXPECT_EQ(test, 0, pagoda_track_stop(t.bo, t.rig->client));
	KUNIT_EXPECT_EQ(test, 0, pagoda_track_start(t.bo, other));
	pagoda_client_put(other);
	clean_end(&t);
}

/* On a device without dirty tracking START answers -EOPNOTSUPP. */
static void track_needs_the_device(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 1, CPU, SUBMIT_VRAM, 0);

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, pagoda_track_start(bo, rig->client));
	pagoda_rig_close(bo);
}

static struct kunit_case clean_cases[] = {
	KUNIT_CASE_PARAM(clean_leaves_for_nothing, pagoda_rig_modes),
	KUNIT_CASE_PARAM(clean_copies_what_was_written, pagoda_rig_modes),
	KUNIT_CASE_PARAM(clean_is_decided_late, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(clean_believes_nobody, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(clean_after_a_job, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(clean_until_the_cpu_writes, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(clean_not_if_the_device_cannot_know, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(clean_has_a_limit, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(clean_if_the_cpu_copies, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(track_reports, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(track_survives_moves, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(track_of_the_busy, pagoda_rig_mmu_modes),
	KUNIT_CASE(track_of_the_scattered),
	KUNIT_CASE_PARAM(track_belongs_to_a_client, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(track_needs_the_device, pagoda_rig_mmu_modes),
	{ }
};

static struct kunit_suite clean_suite = {
	.name = "pagoda_clean",
	.test_cases = clean_cases,
};

kunit_test_suites(&clean_suite);
