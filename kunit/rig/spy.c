// SPDX-License-Identifier: GPL-2.0
/* Records operations at the moment they are built, and calls functions in threads; see spy.h. */
#include <linux/kthread.h>
#include <linux/lockdep.h>
#include <kunit/static_stub.h>
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/stream/internal.h"
#include "vidmm/stream/stream.h"
#include "spy.h"

/* A static stub gets only the arguments of the function that it replaces, so the spy is global. */
static struct pagoda_spy *spy_now;

static bool spy_stream_is_locked(struct pagoda_stream *stream)
{
#ifdef CONFIG_LOCKDEP
	return lockdep_is_held(&stream->lock);
#else
	return mutex_is_locked(&stream->lock);
#endif
}

static void spy_see(const struct pagoda_paging_op *op, struct pagoda_spy_note seen)
{
	struct pagoda_spy *spy = spy_now;
	struct pagoda_spy_note *note;

	if (!spy || spy->nr == PAGODA_SPY_NOTES)
		return;
	note = &spy->notes[spy->nr++];
	*note = seen;
	note->op = *op;
	note->executed = READ_ONCE(spy->rig->fake->seqno);
	note->locked = spy_stream_is_locked(spy->rig->vidmm->stream);
	if (spy->bo) {
		note->reserved = dma_resv_is_locked(spy->bo->ttm.base.resv);
		note->idle = dma_resv_test_signaled(spy->bo->ttm.base.resv,
						    DMA_RESV_USAGE_BOOKKEEP);
	}
	if (op->operation == VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION)
		memcpy(note->data, op->update_context.data,
		       min(op->update_context.data_size, PAGODA_SPY_DATA));
	if (op->operation == VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE && op->update_page_table.values)
		note->value = op->update_page_table.values[0];
}

static void spy_note(struct pagoda_journal *journal, const struct pagoda_paging_op *op,
		     u64 seqno, u32 offset, u32 encoded, int pass)
{
	spy_see(op, (struct pagoda_spy_note) {
		.seqno = seqno, .encoded = encoded, .pass = pass,
	});
}

static void spy_written(struct pagoda_journal *journal, const struct pagoda_paging_op *op)
{
	spy_see(op, (struct pagoda_spy_note) { .written = true });
}

struct pagoda_spy *pagoda_spy_begin(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct kunit *test = rig->test;
	struct pagoda_spy *spy = test_zalloc(test, sizeof(*spy));

	spy->notes = test_calloc(test, PAGODA_SPY_NOTES, sizeof(*spy->notes));
	spy->rig = rig;
	spy->bo = bo;
	spy_now = spy;
	kunit_activate_static_stub(test, pagoda_journal_note, spy_note);
	kunit_activate_static_stub(test, pagoda_journal_written, spy_written);
	return spy;
}

/* Static stubs are called in threads whose kunit_test is the test. */
void pagoda_spy_join(struct pagoda_spy *spy)
{
	current->kunit_test = spy->rig->test;
}

void pagoda_spy_end(struct pagoda_spy *spy)
{
	struct kunit *test = spy->rig->test;

	kunit_deactivate_static_stub(test, pagoda_journal_note);
	kunit_deactivate_static_stub(test, pagoda_journal_written);
	spy_now = NULL;
	KUNIT_EXPECT_LT(test, spy->nr, PAGODA_SPY_NOTES);
}

const struct pagoda_spy_note *pagoda_spy_find(const struct pagoda_spy *spy, u32 opcode,
					      u64 allocation, u32 nth)
{
	u32 i;

	for (i = 0; i < spy->nr; i++) {
		const struct pagoda_spy_note *note = &spy->notes[i];

		if (note->op.operation == opcode &&
		    (!allocation || note->op.allocation == allocation) && !nth--)
			return note;
	}
	return NULL;
}

static int worker_run(void *data)
{
	struct pagoda_worker *worker = data;

	if (worker->spy)
		pagoda_spy_join(worker->spy);
	worker->ret = worker->run(worker->arg);
	complete(&worker->done);
	return 0;
}

void pagoda_worker_start(struct kunit *test, struct pagoda_worker *worker)
{
	init_completion(&worker->done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(worker_run, worker, "pagoda-worker")));
}

bool pagoda_worker_is_done(struct pagoda_worker *worker, unsigned long patience)
{
	bool done = wait_for_completion_timeout(&worker->done, patience);

	/* The wait has consumed the completion: complete again, for later calls. */
	if (done)
		complete(&worker->done);
	return done;
}

void pagoda_worker_end(struct kunit *test, struct pagoda_worker *worker)
{
	KUNIT_ASSERT_TRUE(test, pagoda_worker_is_done(worker, 60 * HZ));
	KUNIT_EXPECT_EQ(test, 0, worker->ret);
}
