// SPDX-License-Identifier: GPL-2.0
/*
 * The lines of the stream: changes of a VM's page tables are executed although moves wait for a
 * job, except where an edge, enum pagoda_stream_edge, puts a change or a move behind another;
 * without the edge that order isn't kept. Moves keep the order without memory, too. The line of a
 * VM has few submissions in flight.
 */
#include <kunit/static_stub.h>
#include <linux/delay.h>
#include <linux/sched/mm.h>
#include "queue/internal.h"
#include "queue/queue_helpers.h"
#include "rig/spy.h"
#include "vidmm/stream/internal.h"
#include "vm_helpers.h"

#define PAGES	4u
#define SIZE	((u64)PAGES * PAGE_SIZE)
#define HERE	SZ_64M
#define NEAR	(HERE + SZ_1M)		/* in the leaf table of HERE */
#define FAR	(HERE + 8 * SZ_2M)	/* the only mapping in its leaf table */
#define LAST	(HERE + 32 * SZ_2M)	/* mapped at the start: the root needn't grow later */
#define NEW	(HERE + 16 * SZ_2M)	/* has no leaf table yet */
#define CHANGES	200u
#define A_WHILE	(HZ / 10)
#define AT_ONCE	(5 * HZ)

/*
 * @vm maps @bo at HERE, and @stays at NEAR, FAR and LAST; both are in VRAM, as is @victim, and @out
 * is in system memory. @gate is a fence in the reservation of @victim that the test signals: the
 * line that line_hold_moves() or line_hold_vm() holds up waits for it.
 */
struct line_world {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_vm *vm;
	struct pagoda_bo *bo;
	struct pagoda_bo *stays;
	struct pagoda_bo *victim;
	struct pagoda_bo *out;
	struct dma_fence *gate;
};

static bool line_isnt_queued(struct pagoda_vidmm *vidmm, struct dma_fence *fence)
{
	return false;
}

static struct pagoda_bo *line_bo(struct line_world *w, u32 base)
{
	struct pagoda_bo *bo = vmt_bo(w->rig, PAGES, base);

	KUNIT_ASSERT_EQ(w->test, 0, pagoda_rig_to_vram(bo));
	return bo;
}

static void line_world_start(struct line_world *w, struct kunit *test)
{
	*w = (struct line_world) { .test = test, .rig = pagoda_rig_create(test, NULL) };
	w->vm = vmt_make(w->rig);
	w->bo = line_bo(w, 1000000);
	w->stays = line_bo(w, 2000000);
	w->victim = line_bo(w, 3000000);
	w->out = vmt_bo(w->rig, PAGES, 4000000);
	w->gate = pagoda_test_fence(test);
	KUNIT_ASSERT_EQ(test, 0, vmt_map(w->vm, w->bo, HERE, 0, SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(w->vm, w->stays, NEAR, 0, SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(w->vm, w->stays, FAR, 0, SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(w->vm, w->stays, LAST, 0, SIZE, 0));
	vmt_expect(w->rig, w->vm->id, HERE, 1000000);
	/* By this stub the stream takes @gate for a job that has a place of its engine. */
	kunit_activate_static_stub(test, pagoda_stream_is_queued, line_isnt_queued);
	pagoda_rig_add_fence(test, w->victim->ttm.base.resv, w->gate, DMA_RESV_USAGE_BOOKKEEP);
}

static void line_open_gate(struct line_world *w)
{
	if (!w->gate)
		return;
	dma_fence_signal(w->gate);
	dma_fence_put(w->gate);
	w->gate = NULL;
	pagoda_rig_settle(w->rig);
}

static void line_world_end(struct line_world *w)
{
	line_open_gate(w);
	kunit_deactivate_static_stub(w->test, pagoda_stream_is_queued);
	vmt_drop(w->vm);
	pagoda_rig_close(w->out);
	pagoda_rig_close(w->victim);
	pagoda_rig_close(w->stays);
	pagoda_rig_close(w->bo);
}

static void line_evict(struct line_world *w, struct pagoda_bo *bo)
{
	const struct ttm_place place = { .mem_type = TTM_PL_SYSTEM, .flags = PAGODA_PL_VICTIM };

	KUNIT_ASSERT_EQ(w->test, 0, pagoda_rig_place(bo, &place, false));
}

/* Evicts @w->victim: from now on the line of moves waits for @w->gate. */
static void line_hold_moves(struct line_world *w)
{
	line_evict(w, w->victim);
}

/* Emits a FLUSH_TLB behind @w->gate: from now on changes in the VM's line wait for @w->gate. */
static void line_hold_vm(struct line_world *w)
{
	const struct pagoda_stream_order order = { .line = w->vm->line };
	struct dma_resv *resv = w->victim->ttm.base.resv;
	struct pagoda_stream_txn txn;
	struct pagoda_paging_cost cost;
	struct pagoda_paging_op op = { .operation = VIRTIO_PAGODA_OP_FLUSH_TLB };
	struct pagoda_root root;

	pagoda_space_root(w->vm->space, &root);
	op.flush_tlb.root_address = root.address;
	op.flush_tlb.root_segment = root.segment;
	op.flush_tlb.address_space = w->vm->id;
	op.flush_tlb.start = LAST;
	op.flush_tlb.end = LAST + SIZE;
	cost = pagoda_stream_cost(w->rig->vidmm, &op);
	dma_resv_lock(resv, NULL);
	pagoda_stream_begin_in_must(&txn, w->rig->vidmm, &order, PAGODA_STREAM_WAITS_FOR_VICTIM,
				    resv, &cost);
	KUNIT_EXPECT_EQ(w->test, 0, pagoda_stream_emit(&txn, &op));
	dma_fence_put(pagoda_stream_end(&txn));
	dma_resv_unlock(resv);
}

static struct dma_fence *line_bind(struct line_world *w, struct pagoda_bo *bo, u64 address)
{
	const struct pagoda_bind bind = {
		.type = bo ? DRM_PAGODA_BIND_MAP : DRM_PAGODA_BIND_UNMAP,
		.bo = bo,
		.address = address,
		.size = SIZE,
	};
	struct dma_fence *fence = NULL;

	KUNIT_ASSERT_EQ(w->test, 0, pagoda_vm_bind(w->vm, &bind, 1, &fence));
	KUNIT_ASSERT_NOT_NULL(w->test, fence);
	return fence;
}

/* Flushes the stream; returns whether @fence signals within @time jiffies. Drops the fence. */
static bool line_signals(struct line_world *w, struct dma_fence *fence, long time)
{
	bool signals;

	pagoda_stream_flush(w->rig->vidmm);
	signals = dma_fence_wait_timeout(fence, false, time) > 0;
	dma_fence_put(fence);
	return signals;
}

static bool line_moves_wait(struct line_world *w)
{
	return !line_signals(w, pagoda_stream_last_move(w->rig->vidmm), A_WHILE);
}

/* A change of page tables that depends on no move is executed while moves wait. */
static void line_bind_passes(struct kunit *test)
{
	struct line_world w;

	line_world_start(&w, test);
	line_hold_moves(&w);
	KUNIT_EXPECT_TRUE(test, line_signals(&w, line_bind(&w, w.bo, NEAR), AT_ONCE));
	KUNIT_EXPECT_TRUE(test, line_signals(&w, line_bind(&w, NULL, HERE), AT_ONCE));
	KUNIT_EXPECT_TRUE(test, line_moves_wait(&w));
	line_open_gate(&w);
	vmt_expect(w.rig, w.vm->id, NEAR, 1000000);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, vmt_fault(w.rig, w.vm->id, HERE));
	line_world_end(&w);
}

/* Mappings of an allocation whose handle was closed become invalid while moves wait. */
static void line_forget_passes(struct kunit *test)
{
	unsigned long end = jiffies + AT_ONCE;
	struct line_world w;
	void *here;

	line_world_start(&w, test);
	line_hold_moves(&w);
	pagoda_vm_forget(w.vm, w.bo);
	while (vmt_reach(w.rig, w.vm->id, HERE, 4, VIRTIO_PAGODA_ACCESS_READ, &here) ==
	       VIRTIO_PAGODA_FAULT_NONE && time_before(jiffies, end))
		usleep_range(500, 1000);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
			vmt_reach(w.rig, w.vm->id, HERE, 4, VIRTIO_PAGODA_ACCESS_READ, &here));
	KUNIT_EXPECT_TRUE(test, line_moves_wait(&w));
	line_world_end(&w);
}

/* A VM can be closed while moves wait: the end of the VM waits for no move. */
static void line_close_passes(struct kunit *test)
{
	struct line_world w;

	line_world_start(&w, test);
	line_hold_moves(&w);
	vmt_drop(w.vm);
	KUNIT_EXPECT_TRUE(test, line_moves_wait(&w));
	line_open_gate(&w);
	w.vm = vmt_make(w.rig);
	line_world_end(&w);
}

/*
 * A change that needs a new page table drops the reference to the fence that a table of an earlier
 * change, which failed, has left.
 */
static void line_drops_the_fence(struct kunit *test)
{
	struct dma_fence *fence = pagoda_test_fence(test);
	struct line_world w;

	line_world_start(&w, test);
	dma_fence_signal(fence);
	dma_resv_lock(pagoda_vm_resv(w.vm), NULL);
	KUNIT_EXPECT_NULL(test, w.vm->placed);
	w.vm->placed = dma_fence_get(fence);
	dma_resv_unlock(pagoda_vm_resv(w.vm));
	KUNIT_EXPECT_TRUE(test, line_signals(&w, line_bind(&w, w.bo, NEW), AT_ONCE));
	KUNIT_EXPECT_EQ(test, 1, kref_read(&fence->refcount));
	dma_fence_put(fence);
	line_world_end(&w);
}

/* ---- The edges: a function for each returns whether its order is kept -------------- */

/* Returns whether a mapping of an allocation waits for the move that brings the content. */
static bool line_moved(struct line_world *w)
{
	line_hold_moves(w);
	KUNIT_EXPECT_EQ(w->test, 0, pagoda_rig_to_vram(w->out));
	return !line_signals(w, line_bind(w, w->out, HERE), A_WHILE);
}

/*
 * Returns whether a mapping that needs a new page table waits for the moves so far, because a
 * victim may still be in the table's memory.
 */
static bool line_placed(struct line_world *w)
{
	line_hold_moves(w);
	return !line_signals(w, line_bind(w, w->bo, NEW), A_WHILE);
}

/*
 * Returns whether a mapping at an address waits for the earlier eviction of the allocation that was
 * mapped there, which makes the address invalid.
 */
static bool line_changed(struct line_world *w)
{
	line_hold_moves(w);
	line_evict(w, w->bo);
	return !line_signals(w, line_bind(w, w->stays, HERE), A_WHILE);
}

/* Returns whether making mappings valid waits for the paging that its caller emitted before. */
static bool line_covered(struct line_world *w)
{
	struct dma_fence *fence;

	KUNIT_EXPECT_EQ(w->test, 0, pagoda_rig_to_system(w->bo));
	KUNIT_EXPECT_EQ(w->test, 0, pagoda_rig_to_vram(w->bo));
	pagoda_rig_settle(w->rig);
	line_hold_moves(w);
	fence = pagoda_stream_last_move(w->rig->vidmm);
	pagoda_enter_anyway(w->rig->vidmm);
	KUNIT_EXPECT_EQ(w->test, 0, pagoda_vm_validate(w->vm, &fence));
	pagoda_leave(w->rig->vidmm);
	return !line_signals(w, fence, A_WHILE);
}

/*
 * Returns whether the eviction of an allocation, in the line of moves, waits for the UNMAP of the
 * allocation's mapping, in the VM's line.
 */
static bool line_shown(struct line_world *w)
{
	line_hold_vm(w);
	dma_fence_put(line_bind(w, NULL, HERE));
	line_evict(w, w->bo);
	return line_moves_wait(w);
}

/* Returns whether the release of a page table waits for the UNMAP of the table's only mapping. */
static bool line_dropped(struct line_world *w)
{
	line_hold_vm(w);
	dma_fence_put(line_bind(w, NULL, FAR));
	return line_moves_wait(w);
}

struct line_edge {
	const char *name;
	enum pagoda_stream_edge edge;
	bool (*is_kept)(struct line_world *w);
};

static const struct line_edge line_edges[] = {
	{ "moved", PAGODA_EDGE_MOVED, line_moved },
	{ "placed", PAGODA_EDGE_PLACED, line_placed },
	{ "changed", PAGODA_EDGE_CHANGED, line_changed },
	{ "covered", PAGODA_EDGE_COVERED, line_covered },
	{ "shown", PAGODA_EDGE_SHOWN, line_shown },
	{ "dropped", PAGODA_EDGE_DROPPED, line_dropped },
};

static_assert(ARRAY_SIZE(line_edges) == PAGODA_EDGES);
KUNIT_ARRAY_PARAM_DESC(line_edges, line_edges, name);

/* The edge that line_is_behind(), a stub of pagoda_stream_is_behind(), leaves out. */
static enum pagoda_stream_edge line_without;

static bool line_is_behind(struct pagoda_stream_txn *txn, enum pagoda_stream_edge edge,
			   struct dma_fence *fence)
{
	struct kunit *test = kunit_get_current_test();
	bool behind;

	if (edge == line_without)
		return false;
	kunit_deactivate_static_stub(test, pagoda_stream_is_behind);
	behind = pagoda_stream_is_behind(txn, edge, fence);
	kunit_activate_static_stub(test, pagoda_stream_is_behind, line_is_behind);
	return behind;
}

/* The order that an edge is for is kept, and isn't kept when only that edge is left out. */
static void line_keeps_order(struct kunit *test)
{
	const struct line_edge *edge = test->param_value;
	struct line_world w;

	line_world_start(&w, test);
	KUNIT_EXPECT_TRUE(test, edge->is_kept(&w));
	line_world_end(&w);

	line_world_start(&w, test);
	line_without = edge->edge;
	kunit_activate_static_stub(test, pagoda_stream_is_behind, line_is_behind);
	KUNIT_EXPECT_FALSE(test, edge->is_kept(&w));
	kunit_deactivate_static_stub(test, pagoda_stream_is_behind);
	line_world_end(&w);
}

/* Once all changes of page tables and moves are done, each address shows what it was bound to. */
static void line_ends_right(struct kunit *test)
{
	struct line_world w;
	u32 fault;

	line_world_start(&w, test);
	KUNIT_EXPECT_TRUE(test, line_moved(&w));
	line_evict(&w, w.bo);
	dma_fence_put(line_bind(&w, w.stays, HERE + SIZE));
	dma_fence_put(line_bind(&w, NULL, FAR));
	dma_fence_put(line_bind(&w, w.stays, NEW));
	line_open_gate(&w);
	vmt_expect(w.rig, w.vm->id, HERE, 4000000);
	vmt_expect(w.rig, w.vm->id, HERE + SIZE, 2000000);
	vmt_expect(w.rig, w.vm->id, NEW, 2000000);
	fault = vmt_fault(w.rig, w.vm->id, FAR);
	KUNIT_EXPECT_NE(test, (u32)VIRTIO_PAGODA_FAULT_NONE, fault);
	line_world_end(&w);
}

/* ---- Without memory -------------------------------------------------------------- */

static struct pagoda_submission *line_get_nothing(struct pagoda_queue *queue,
						  struct pagoda_line *line, u32 bytes,
						  u32 priv_bytes)
{
	return ERR_PTR(-ENOMEM);
}

/* Moves the allocation out of VRAM in reclaim, with the test's stubs. */
static int line_evict_in_reclaim(void *arg)
{
	const struct ttm_place place = { .mem_type = TTM_PL_SYSTEM, .flags = PAGODA_PL_VICTIM };
	unsigned int flags = memalloc_noreclaim_save();
	struct line_world *w = arg;
	int ret;

	current->kunit_test = w->test;
	ret = pagoda_rig_place(w->bo, &place, false);
	memalloc_noreclaim_restore(flags);
	return ret;
}

/*
 * The submissions that are set aside can't wait for submissions of other lines: a move that uses
 * them itself waits until the UNMAP of the allocation's mapping is executed.
 */
static void line_waits_without_memory(struct kunit *test)
{
	struct line_world w;
	struct pagoda_worker worker = { .run = line_evict_in_reclaim, .arg = &w };
	struct pagoda_stream *stream;
	u32 copies;

	line_world_start(&w, test);
	stream = w.rig->vidmm->stream;
	copies = pagoda_rig_count(w.rig, VIRTIO_PAGODA_OP_TRANSFER, w.bo->id);
	line_hold_vm(&w);
	dma_fence_put(line_bind(&w, NULL, HERE));
	if (stream->reserve)
		pagoda_submission_put(stream->reserve);
	stream->reserve = NULL;
	kunit_activate_static_stub(test, pagoda_queue_get, line_get_nothing);
	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&worker, A_WHILE));
	KUNIT_EXPECT_EQ(test, copies,
			pagoda_rig_count(w.rig, VIRTIO_PAGODA_OP_TRANSFER, w.bo->id));
	dma_fence_signal(w.gate);
	pagoda_worker_end(test, &worker);
	kunit_deactivate_static_stub(test, pagoda_queue_get);
	line_open_gate(&w);
	KUNIT_EXPECT_EQ(test, TTM_PL_SYSTEM, w.bo->ttm.resource->mem_type);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, vmt_fault(w.rig, w.vm->id, HERE));
	line_world_end(&w);
}

/* ---- Many changes of one VM ------------------------------------------------------ */

static int line_change(void *arg)
{
	struct line_world *w = arg;
	u32 i;
	int ret = 0;

	for (i = 0; i < CHANGES && !ret; i++)
		ret = vmt_map(w->vm, i % 2 ? w->bo : w->stays, HERE, 0, SIZE, 0);
	return ret;
}

/*
 * VM_BIND waits in the call while PAGODA_STREAM_LINE_MOST submissions of the VM's line are in
 * flight, so that few of them are executed before the change of another VM.
 */
static void line_is_short(struct kunit *test)
{
	struct line_world w;
	struct pagoda_worker worker = { .run = line_change, .arg = &w };
	struct pagoda_vm *other;
	u32 first, i, before = 0;

	line_world_start(&w, test);
	other = vmt_make(w.rig);
	KUNIT_ASSERT_EQ(test, 0, vmt_map(other, w.stays, NEAR, 0, SIZE, 0));
	pagoda_rig_settle(w.rig);
	first = w.rig->nr_log;
	pagoda_fake_transport_mode(w.rig->fake, PAGODA_FAKE_HELD);
	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&worker, HZ / 2));
	KUNIT_EXPECT_EQ(test, (u32)PAGODA_STREAM_LINE_MOST,
			pagoda_line_armed_jobs(w.vm->line->queue));
	KUNIT_EXPECT_EQ(test, 0, vmt_map(other, w.stays, HERE, 0, SIZE, 0));
	KUNIT_EXPECT_EQ(test, (u32)PAGODA_STREAM_LINE_MOST,
			pagoda_line_armed_jobs(w.vm->line->queue));
	pagoda_fake_transport_mode(w.rig->fake, PAGODA_FAKE_DEFERRED);
	pagoda_worker_end(test, &worker);
	pagoda_rig_settle(w.rig);
	for (i = first; i < w.rig->nr_log; i++) {
		const struct pagoda_rig_note *note = &w.rig->log[i];

		if (note->opcode != VIRTIO_PAGODA_OP_FLUSH_TLB)
			continue;
		if (note->generation == other->id)
			break;
		before++;
	}
	KUNIT_EXPECT_LT(test, i, w.rig->nr_log);
	KUNIT_EXPECT_LE(test, before, 2 * PAGODA_STREAM_LINE_MOST);
	vmt_drop(other);
	line_world_end(&w);
}

static struct kunit_case line_cases[] = {
	KUNIT_CASE(line_bind_passes),
	KUNIT_CASE(line_forget_passes),
	KUNIT_CASE(line_close_passes),
	KUNIT_CASE(line_drops_the_fence),
	KUNIT_CASE_PARAM(line_keeps_order, line_edges_gen_params),
	KUNIT_CASE(line_ends_right),
	KUNIT_CASE(line_waits_without_memory),
	KUNIT_CASE(line_is_short),
	{}
};

static struct kunit_suite line_suite = {
	.name = "pagoda_vm_line",
	.test_cases = line_cases,
};

kunit_test_suite(line_suite);
