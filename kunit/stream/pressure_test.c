// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of back-pressure: how much memory paging buffers in flight take, which calls wait until it
 * is less, and which transactions don't wait or don't need memory.
 */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <kunit/static_stub.h>
#include "queue/internal.h"
#include "queue/queue_helpers.h"
#include "rig/rig.h"
#include "vm/vm_helpers.h"

#define ANN	1001u
#define BOB	1002u

/*
 * CLIENT_BYTES: most bytes of paging buffers in flight with which a client may begin a call.
 * CLIENT_MOVES: most bytes of content in flight with which a client may begin to page at once.
 * ALL_BYTES: a user may have half of what other users have left of these bytes.
 */
#define CLIENT_BYTES	SZ_1M
#define CLIENT_MOVES	SZ_2M
#define USER_MOVES	SZ_8M
#define SUBMISSION	SZ_128K	/* each submission counts that, too */
#define ALL_BYTES	SZ_32M

static u64 pressure_busy(struct pagoda_rig *rig)
{
	return pagoda_queue_busy_bytes(rig->vidmm->queue);
}

static u64 pressure_count(struct pagoda_client *client)
{
	return pagoda_quota_count(client->quota, PAGODA_LIMIT_PAGING);
}

/*
 * Returns a client as if user @uid had opened a file; the caller drops it by pagoda_client_put().
 */
static struct pagoda_client *pressure_client(struct pagoda_rig *rig, u32 uid)
{
	struct cred *cred = prepare_creds();
	struct pagoda_client *client;
	const struct cred *old;

	KUNIT_ASSERT_NOT_NULL(rig->test, cred);
	cred->uid = KUIDT_INIT(uid);
	old = override_creds(cred);
	client = pagoda_client_create(rig->vidmm);
	revert_creds(old);
	put_cred(cred);
	KUNIT_ASSERT_NOT_NULL(rig->test, client);
	return client;
}

static struct pagoda_bo *pressure_bo(struct pagoda_rig *rig, u32 pages)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, pages, 0, VM_VRAM, 0);

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	return bo;
}

/* Emits @count fills of @bytes, each in a paging buffer of its own. */
static void pressure_fill(struct pagoda_rig *rig, u32 count, u32 bytes)
{
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_FILL,
		.fill = { .pattern = 7, .size = bytes, .segment = VIRTIO_PAGODA_SEGMENT_VRAM },
	};
	struct pagoda_paging_cost cost = pagoda_stream_cost(rig->vidmm, &op);
	struct pagoda_stream_txn txn;

	while (count--) {
		KUNIT_ASSERT_EQ(rig->test, 0, pagoda_stream_begin(&txn, rig->vidmm, NULL,
								  PAGODA_STREAM_WAITS_NOT, NULL,
								  DMA_RESV_USAGE_KERNEL, &cost));
		KUNIT_EXPECT_EQ(rig->test, 0, pagoda_stream_emit(&txn, &op));
		dma_fence_put(pagoda_stream_end(&txn));
	}
}

static void pressure_page(struct pagoda_rig *rig, u32 count)
{
	pressure_fill(rig, count, PAGE_SIZE);
}

static void pressure_page_for(struct pagoda_rig *rig, struct pagoda_client *client, u32 count)
{
	struct pagoda_caller caller;

	pagoda_caller_begin(rig->vidmm, &caller, client);
	pressure_page(rig, count);
	pagoda_caller_end(rig->vidmm, &caller);
}

static u64 pressure_left(struct pagoda_rig *rig)
{
	return pressure_busy(rig) + pressure_count(rig->client) +
	       READ_ONCE(rig->vidmm->limits->used[PAGODA_SCARCE_PAGING]);
}

/* Lets the device execute everything, and expects that no paging buffer is counted any more. */
static void pressure_end(struct pagoda_rig *rig)
{
	u32 i;

	pagoda_rig_settle(rig);
	/* Submissions are given back slightly later than their fences signal. */
	for (i = 0; i < 1000 && pressure_left(rig); i++)
		msleep(20);
	KUNIT_EXPECT_EQ(rig->test, 0ull, pressure_left(rig));
}

static u32 pressure_aside(struct pagoda_rig *rig)
{
	struct pagoda_queue *queue = rig->vidmm->queue;
	u32 count;

	spin_lock_irq(&queue->flight.lock);
	count = list_count_nodes(&queue->aside);
	spin_unlock_irq(&queue->flight.lock);
	return count;
}

static void pressure_drop_reserve(struct pagoda_rig *rig)
{
	struct pagoda_stream *stream = rig->vidmm->stream;

	if (stream->reserve)
		pagoda_submission_put(stream->reserve);
	stream->reserve = NULL;
}

/* ---- Sizes -------------------------------------------------------------------------- */

/*
 * Until the device has executed the release of a closed allocation, the release takes a paging
 * buffer of one page, which counts for the allocation's client.
 */
static void pressure_release(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pressure_bo(rig, 4);

	pressure_end(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	pagoda_rig_close(bo);
	pagoda_stream_flush(rig->vidmm);
	KUNIT_EXPECT_EQ(test, (u64)PAGE_SIZE, pressure_busy(rig));
	KUNIT_EXPECT_EQ(test, (u64)PAGE_SIZE, pressure_count(rig->client));
	pressure_end(rig);
}

#define RELEASES	500

/* Releases of many allocations share a few paging buffers. */
static void pressure_releases(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo **bos = test_calloc(test, RELEASES, sizeof(*bos));
	u32 i, before;

	for (i = 0; i < RELEASES; i++)
		bos[i] = pressure_bo(rig, 1);
	pressure_end(rig);
	before = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, 0);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	pagoda_rig_share(rig, true);
	for (i = 0; i < RELEASES; i++)
		pagoda_rig_close(bos[i]);
	pagoda_rig_share(rig, false);
	kunit_info(test, "%u releases: %llu bytes", RELEASES, pressure_busy(rig));
	KUNIT_EXPECT_LE(test, pressure_busy(rig), SZ_64K);
	pressure_end(rig);
	KUNIT_EXPECT_EQ(test, before + RELEASES,
			pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, 0));
}

/* A release is executed soon although no thread asks for it. */
static void pressure_release_is_sent(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pressure_bo(rig, 4);
	u64 id = bo->id;
	u32 i;

	pagoda_rig_close(bo);
	for (i = 0; i < 1000 && !pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, id); i++)
		msleep(20);
	KUNIT_EXPECT_GT(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, id), 0);
	pressure_end(rig);
}

/*
 * A move, whose fence is handed out, queues the paging buffer that a release has left open: the
 * fence signals without the timer.
 */
static void pressure_fence_is_sent(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *freed = pressure_bo(rig, 4), *moved = pressure_bo(rig, 4);
	struct dma_resv *resv = moved->ttm.base.resv;
	long left;

	pressure_end(rig);
	/* Postpone the timer that queues open buffers beyond the end of the test. */
	pagoda_rig_share(rig, true);
	pagoda_rig_close(freed);
	KUNIT_EXPECT_NOT_NULL(test, READ_ONCE(rig->vidmm->stream->moves.open));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(moved));
	KUNIT_EXPECT_NULL(test, READ_ONCE(rig->vidmm->stream->moves.open));
	left = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_BOOKKEEP, false, 30 * HZ);
	KUNIT_EXPECT_GT(test, left, 0);
	pagoda_rig_share(rig, false);
	pagoda_rig_close(moved);
	pressure_end(rig);
}

/* Begins and ends a transaction without operations; returns how many submissions it had. */
static u32 pressure_spares(struct pagoda_rig *rig, const struct pagoda_paging_cost *cost)
{
	struct pagoda_stream_txn txn;
	u32 spares;

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_stream_begin(&txn, rig->vidmm, NULL,
							  PAGODA_STREAM_WAITS_NOT, NULL,
							  DMA_RESV_USAGE_KERNEL, cost));
	spares = txn.nr_spare;
	KUNIT_EXPECT_NULL(rig->test, pagoda_stream_end(&txn));
	return spares;
}

/*
 * A transaction that just fits into the smallest submission gets one submission, besides another
 * that is kept for the next transaction if there is none.
 */
static void pressure_just_fits(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_stream *stream = rig->vidmm->stream;
	const struct pagoda_paging_cost cost = { .encoded = stream->room, .packets = 1 };

	pressure_end(rig);
	pressure_drop_reserve(rig);
	KUNIT_EXPECT_EQ(test, 2u, pressure_spares(rig, &cost));
	KUNIT_EXPECT_NOT_NULL(test, stream->reserve);
	KUNIT_EXPECT_EQ(test, 1u, pressure_spares(rig, &cost));
	KUNIT_EXPECT_NOT_NULL(test, stream->reserve);
}

/* ---- Bounds ------------------------------------------------------------------------- */

struct pressure_waiter {
	struct pagoda_rig *rig;
	struct pagoda_client *client;
	bool moves;
	struct task_struct *task;
	struct completion done;
	int ret;
};

static int pressure_wait(void *data)
{
	struct pressure_waiter *waiter = data;

	allow_signal(SIGKILL);
	if (waiter->moves)
		waiter->ret = pagoda_caller_await_moves(waiter->rig->vidmm, waiter->client);
	else
		waiter->ret = pagoda_caller_await(waiter->rig->vidmm, waiter->client);
	complete(&waiter->done);
	return 0;
}

static void waiter_run(struct pressure_waiter *waiter, struct pagoda_rig *rig,
		       struct pagoda_client *client, bool moves)
{
	*waiter = (struct pressure_waiter) {
		.rig = rig, .client = client, .moves = moves, .ret = 1,
	};
	init_completion(&waiter->done);
	waiter->task = kthread_run(pressure_wait, waiter, "pagoda-pressure");
	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(waiter->task));
}

/* Has a thread wait until the client may page. */
static void waiter_start(struct pressure_waiter *waiter, struct pagoda_rig *rig,
			 struct pagoda_client *client)
{
	waiter_run(waiter, rig, client, false);
}

static void waiter_expect_waits(struct pressure_waiter *waiter)
{
	KUNIT_EXPECT_EQ(waiter->rig->test, 0,
			wait_for_completion_timeout(&waiter->done, HZ / 10));
}

static void waiter_expect_ends(struct pressure_waiter *waiter, int ret)
{
	KUNIT_ASSERT_NE(waiter->rig->test, 0,
			wait_for_completion_timeout(&waiter->done, 60 * HZ));
	KUNIT_EXPECT_EQ(waiter->rig->test, ret, waiter->ret);
}

/*
 * Paging buffers count until the device has executed them: for the client of the innermost note
 * that the thread has (pagoda_caller_begin()), or for no client without a note.
 */
static void pressure_caller(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_client *ann = pressure_client(rig, ANN), *bob = pressure_client(rig, BOB);
	struct pagoda_caller outer, inner;

	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	pagoda_caller_begin(rig->vidmm, &outer, ann);
	pressure_page(rig, 3);
	pagoda_caller_begin(rig->vidmm, &inner, bob);
	pressure_page(rig, 2);
	pagoda_caller_end(rig->vidmm, &inner);
	pressure_page(rig, 1);
	pagoda_caller_end(rig->vidmm, &outer);
	pressure_page(rig, 5);
	KUNIT_EXPECT_EQ(test, 4ull * PAGE_SIZE, pressure_count(ann));
	KUNIT_EXPECT_EQ(test, 2ull * PAGE_SIZE, pressure_count(bob));
	KUNIT_EXPECT_EQ(test, 11ull * PAGE_SIZE, pressure_busy(rig));
	KUNIT_EXPECT_EQ(test, 11ull * PAGE_SIZE,
			rig->vidmm->limits->used[PAGODA_SCARCE_PAGING]);
	/* A client may be closed while its buffers are in flight. */
	pagoda_client_put(ann);
	pressure_end(rig);
	KUNIT_EXPECT_EQ(test, 0ull, pressure_count(bob));
	pagoda_client_put(bob);
}

/*
 * A client with more than CLIENT_BYTES in flight waits for the device; other clients, of the same
 * user or another, don't.
 */
static void pressure_of_client(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_client *ann = pressure_client(rig, ANN), *other = pressure_client(rig, ANN);
	struct pagoda_client *bob = pressure_client(rig, BOB);
	struct pressure_waiter waiter;

	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	pressure_page_for(rig, ann, CLIENT_BYTES / PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await(rig->vidmm, ann));
	pressure_page_for(rig, ann, 1);
	KUNIT_EXPECT_TRUE(test, pagoda_caller_must_wait(rig->vidmm, ann));
	waiter_start(&waiter, rig, ann);
	waiter_expect_waits(&waiter);
	KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await(rig->vidmm, other));
	KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await(rig->vidmm, bob));
	pressure_page_for(rig, bob, 1);
	/* One buffer is executed: with CLIENT_BYTES left in flight, the wait ends. */
	pagoda_fake_transport_let(rig->fake, 1);
	waiter_expect_ends(&waiter, 0);
	pressure_end(rig);
	pagoda_client_put(ann);
	pagoda_client_put(other);
	pagoda_client_put(bob);
}

/*
 * While more than CLIENT_MOVES bytes of content are in flight for a client, calls of the client
 * that page at once wait for the device; its other calls, and those of other clients, don't.
 */
static void pressure_moves(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_client *ann = pressure_client(rig, ANN), *bob = pressure_client(rig, BOB);
	struct pressure_waiter waiter;
	struct pagoda_caller caller;

	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	pagoda_caller_begin(rig->vidmm, &caller, ann);
	pressure_fill(rig, 1, CLIENT_MOVES - SUBMISSION);
	pagoda_caller_end(rig->vidmm, &caller);
	KUNIT_EXPECT_EQ(test, (u64)CLIENT_MOVES, READ_ONCE(ann->quota->moving));
	KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await_moves(rig->vidmm, ann));
	pressure_page_for(rig, ann, 1);
	waiter_run(&waiter, rig, ann, true);
	waiter_expect_waits(&waiter);
	KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await(rig->vidmm, ann));
	KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await_moves(rig->vidmm, bob));
	pagoda_fake_transport_let(rig->fake, 1);
	waiter_expect_ends(&waiter, 0);
	pressure_end(rig);
	KUNIT_EXPECT_EQ(test, 0ull, READ_ONCE(ann->quota->moving));
	pagoda_client_put(ann);
	pagoda_client_put(bob);
}

/*
 * All clients of a user together may have USER_MOVES bytes of content in flight; a client of
 * another user may go on.
 */
static void pressure_moves_of_user(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_client *ann[USER_MOVES / CLIENT_MOVES + 1], *bob = pressure_client(rig, BOB);
	u32 n, last = ARRAY_SIZE(ann) - 1;
	struct pressure_waiter waiter;
	struct pagoda_caller caller;

	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	ann[last] = pressure_client(rig, ANN);
	for (n = 0; n < last; n++) {
		ann[n] = pressure_client(rig, ANN);
		pagoda_caller_begin(rig->vidmm, &caller, ann[n]);
		pressure_fill(rig, 1, CLIENT_MOVES - SUBMISSION);
		pagoda_caller_end(rig->vidmm, &caller);
		KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await_moves(rig->vidmm, ann[n]));
	}
	KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await_moves(rig->vidmm, ann[last]));
	pressure_page_for(rig, ann[0], 1);
	waiter_run(&waiter, rig, ann[last], true);
	waiter_expect_waits(&waiter);
	KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await_moves(rig->vidmm, bob));
	pagoda_fake_transport_let(rig->fake, 1);
	waiter_expect_ends(&waiter, 0);
	pressure_end(rig);
	for (n = 0; n <= last; n++)
		pagoda_client_put(ann[n]);
	pagoda_client_put(bob);
}

static int pressure_pause(void *data)
{
	struct pressure_waiter *waiter = data;
	struct pagoda_caller caller;

	pagoda_caller_begin(waiter->rig->vidmm, &caller, waiter->client);
	pagoda_caller_pause(waiter->rig->vidmm, jiffies + 60 * HZ);
	pagoda_caller_end(waiter->rig->vidmm, &caller);
	waiter->ret = READ_ONCE(waiter->client->quota->moving) > CLIENT_MOVES;
	complete(&waiter->done);
	return 0;
}

/*
 * pagoda_caller_pause() waits until the content in flight for the thread's client is no more than
 * CLIENT_MOVES bytes, or until the time that it is told; not in a thread without a client.
 */
static void pressure_pauses(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_client *ann = pressure_client(rig, ANN);
	struct pressure_waiter waiter = { .rig = rig, .client = ann };
	struct pagoda_caller caller;

	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	pagoda_caller_begin(rig->vidmm, &caller, ann);
	pagoda_caller_pause(rig->vidmm, jiffies + 60 * HZ);
	pressure_fill(rig, 2, CLIENT_MOVES - SUBMISSION);
	pagoda_caller_end(rig->vidmm, &caller);
	pagoda_caller_pause(rig->vidmm, jiffies + 60 * HZ);
	init_completion(&waiter.done);
	waiter.task = kthread_run(pressure_pause, &waiter, "pagoda-pressure");
	KUNIT_ASSERT_FALSE(test, IS_ERR(waiter.task));
	waiter_expect_waits(&waiter);
	pagoda_fake_transport_let(rig->fake, 1);
	waiter_expect_ends(&waiter, 0);
	/* With the rest held back, a wait ends when it has to. */
	pagoda_caller_begin(rig->vidmm, &caller, ann);
	pressure_fill(rig, 1, CLIENT_MOVES);
	pagoda_caller_pause(rig->vidmm, jiffies + 1);
	pagoda_caller_pause(rig->vidmm, jiffies - 1);
	pagoda_caller_end(rig->vidmm, &caller);
	KUNIT_EXPECT_GT(test, READ_ONCE(ann->quota->moving), (u64)CLIENT_MOVES);
	pressure_end(rig);
	pagoda_client_put(ann);
}

/* A killed thread stops waiting in pagoda_caller_await(), although the device executes nothing. */
static void pressure_killed(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pressure_waiter waiter;

	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	pressure_page_for(rig, rig->client, CLIENT_BYTES / PAGE_SIZE + 1);
	waiter_start(&waiter, rig, rig->client);
	waiter_expect_waits(&waiter);
	send_sig(SIGKILL, waiter.task, 1);
	waiter_expect_ends(&waiter, -ERESTARTSYS);
	pressure_end(rig);
}

/* struct pressure_entry - counts in @calls how often pagoda_limits_give() calls its function */
struct pressure_entry {
	struct wait_queue_entry entry;
	u32 calls;
};

static int pressure_called(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	container_of(entry, struct pressure_entry, entry)->calls++;
	return 0;
}

/* Only an entry for which pagoda_limits_tell() returned true is told that its client may page. */
static void pressure_tells(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_limits *limits = rig->vidmm->limits;
	struct pagoda_quota *quota = rig->client->quota;
	struct pressure_entry may = {}, must = {};

	init_waitqueue_func_entry(&may.entry, pressure_called);
	init_waitqueue_func_entry(&must.entry, pressure_called);
	KUNIT_EXPECT_FALSE(test, pagoda_limits_tell(limits, quota, &may.entry));
	pagoda_limits_take(limits, quota, CLIENT_BYTES + PAGE_SIZE);
	KUNIT_ASSERT_TRUE(test, pagoda_limits_tell(limits, quota, &must.entry));
	pagoda_limits_give(limits, quota, CLIENT_BYTES + PAGE_SIZE, 0);
	KUNIT_EXPECT_EQ(test, 0, may.calls);
	KUNIT_EXPECT_EQ(test, 1, must.calls);
	pagoda_limits_untell(quota, &must.entry);
}

/* All clients of a user together may have half of what other users leave of ALL_BYTES. */
static void pressure_of_user(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_limits *limits = rig->vidmm->limits;
	struct pagoda_client *ann[17], *bob = pressure_client(rig, BOB);
	struct pressure_waiter waiter;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ann); i++)
		ann[i] = pressure_client(rig, ANN);
	for (i = 0; i < ALL_BYTES / 2 / CLIENT_BYTES; i++)
		pagoda_limits_take(limits, ann[i]->quota, CLIENT_BYTES);
	KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await(rig->vidmm, ann[16]));
	pagoda_limits_take(limits, ann[16]->quota, PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, pagoda_caller_must_wait(rig->vidmm, ann[0]));
	waiter_start(&waiter, rig, ann[16]);
	waiter_expect_waits(&waiter);
	KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await(rig->vidmm, bob));
	/* Bob's bytes make Ann's share smaller, so that Ann still waits, and Bob may go on. */
	pagoda_limits_take(limits, bob->quota, 2 * PAGE_SIZE);
	pagoda_limits_give(limits, ann[16]->quota, PAGE_SIZE, 0);
	waiter_expect_waits(&waiter);
	KUNIT_EXPECT_EQ(test, 0, pagoda_caller_await(rig->vidmm, bob));
	pagoda_limits_give(limits, ann[0]->quota, CLIENT_BYTES, 0);
	waiter_expect_ends(&waiter, 0);
	for (i = 1; i < ALL_BYTES / 2 / CLIENT_BYTES; i++)
		pagoda_limits_give(limits, ann[i]->quota, CLIENT_BYTES, 0);
	pagoda_limits_give(limits, bob->quota, 2 * PAGE_SIZE, 0);
	KUNIT_EXPECT_EQ(test, 0ull, limits->used[PAGODA_SCARCE_PAGING]);
	for (i = 0; i < ARRAY_SIZE(ann); i++)
		pagoda_client_put(ann[i]);
	pagoda_client_put(bob);
}

/* However much other users have in flight, a user without a buffer in flight may begin a call. */
static void pressure_last_user(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_limits *limits = rig->vidmm->limits;
	struct pagoda_client *ann = pressure_client(rig, ANN), *bob = pressure_client(rig, BOB);

	pagoda_limits_take(limits, ann->quota, 2 * ALL_BYTES);
	KUNIT_EXPECT_FALSE(test, pagoda_caller_must_wait(rig->vidmm, bob));
	pagoda_limits_take(limits, bob->quota, PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, pagoda_caller_must_wait(rig->vidmm, bob));
	pagoda_limits_give(limits, bob->quota, PAGE_SIZE, 0);
	pagoda_limits_give(limits, ann->quota, 2 * ALL_BYTES, 0);
	pagoda_client_put(ann);
	pagoda_client_put(bob);
}

/* ---- What is set aside -------------------------------------------------------------- */

static struct pagoda_submission *get_nothing(struct pagoda_queue *queue, struct pagoda_line *line,
					     u32 bytes, u32 priv_bytes)
{
	return ERR_PTR(-ENOMEM);
}

#define RANGES		450

/*
 * Returns an allocation of RANGES pages, each in a range of VRAM of its own; *@odd: the allocations
 * between these ranges, for pressure_close_odd().
 */
static struct pagoda_bo *pressure_scattered(struct pagoda_rig *rig, struct pagoda_bo ***odd)
{
	struct pagoda_bo *bo;

	*odd = test_calloc(rig->test, PAGODA_RIG_VRAM_PAGES / 2, sizeof(**odd));
	pagoda_rig_fragment(rig, *odd, PAGODA_RIG_VRAM_PAGES / 2);
	bo = pressure_bo(rig, RANGES);
	KUNIT_ASSERT_EQ(rig->test, RANGES, pagoda_vram_count_ranges(bo->ttm.resource));
	pressure_end(rig);
	return bo;
}

static void pressure_close_odd(struct pagoda_rig *rig, struct pagoda_bo **odd)
{
	u32 i;

	for (i = 0; i < PAGODA_RIG_VRAM_PAGES / 2; i++)
		pagoda_rig_close(odd[i]);
}

/*
 * Releases are executed even without memory for submissions, and even if they take more submissions
 * than are set aside.
 */
static void pressure_without_memory(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo **odd, *bo = pressure_scattered(rig, &odd);
	u64 id = bo->id;

	pressure_drop_reserve(rig);
	kunit_activate_static_stub(test, pagoda_queue_get, get_nothing);
	pagoda_rig_close(bo);
	pressure_close_odd(rig, odd);
	kunit_deactivate_static_stub(test, pagoda_queue_get);
	pressure_end(rig);
	KUNIT_EXPECT_EQ(test, RANGES, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, id));
	KUNIT_EXPECT_EQ(test, PAGODA_QUEUE_ASIDE, pressure_aside(rig));
}

/*
 * Without memory for a submission a move fails with -ENOMEM, but a move in reclaim, as the
 * shrinker's, doesn't fail.
 */
static void pressure_in_reclaim(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 11, VM_CPU, VM_VRAM, 0);
	unsigned int flags;

	pagoda_rig_write_vram(rig, bo, 42);
	pressure_end(rig);
	pressure_drop_reserve(rig);
	kunit_activate_static_stub(test, pagoda_queue_get, get_nothing);
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_rig_to_system(bo));
	flags = memalloc_noreclaim_save();
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(bo));
	memalloc_noreclaim_restore(flags);
	kunit_deactivate_static_stub(test, pagoda_queue_get);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 42));
	pagoda_rig_close(bo);
	pressure_end(rig);
	KUNIT_EXPECT_EQ(test, PAGODA_QUEUE_ASIDE, pressure_aside(rig));
}

/* A thread in reclaim that moves @bo; @waited: @fence had signalled when the move returned. */
struct pressure_mover {
	struct kunit *test;
	struct pagoda_bo *bo;
	struct dma_fence *fence;
	struct completion done;
	bool waited;
	int ret;
};

static int pressure_move(void *data)
{
	unsigned int flags = memalloc_noreclaim_save();
	struct pressure_mover *mover = data;

	current->kunit_test = mover->test;
	mover->ret = pagoda_rig_to_system(mover->bo);
	mover->waited = dma_fence_is_signaled(mover->fence);
	memalloc_noreclaim_restore(flags);
	complete(&mover->done);
	return 0;
}

/*
 * The copy of a victim comes behind the victim's jobs even if the move uses the submissions that
 * are set aside, which can't wait for fences: the move itself waits.
 */
static void pressure_awaits_jobs(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 11, VM_CPU, VM_VRAM, 0);
	struct pressure_mover mover = { .test = test, .bo = bo };
	bool ended;

	pagoda_rig_write_vram(rig, bo, 42);
	pressure_end(rig);
	pressure_drop_reserve(rig);
	init_completion(&mover.done);
	mover.fence = pagoda_test_fence(test);
	pagoda_rig_add_fence(test, bo->ttm.base.resv, mover.fence, DMA_RESV_USAGE_BOOKKEEP);
	kunit_activate_static_stub(test, pagoda_queue_get, get_nothing);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(pressure_move, &mover, "pagoda-mover")));
	ended = wait_for_completion_timeout(&mover.done, HZ / 10);
	KUNIT_EXPECT_FALSE(test, ended);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id));
	dma_fence_signal(mover.fence);
	if (!ended)
		wait_for_completion(&mover.done);
	kunit_deactivate_static_stub(test, pagoda_queue_get);
	KUNIT_EXPECT_EQ(test, 0, mover.ret);
	KUNIT_EXPECT_TRUE(test, mover.waited);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 42));
	dma_fence_put(mover.fence);
	pagoda_rig_close(bo);
	pressure_end(rig);
	KUNIT_EXPECT_EQ(test, PAGODA_QUEUE_ASIDE, pressure_aside(rig));
}

struct pressure_closer {
	struct pagoda_bo *bo;
	struct completion done;
};

static int pressure_close(void *data)
{
	struct pressure_closer *closer = data;

	pagoda_rig_close(closer->bo);
	complete(&closer->done);
	return 0;
}

/*
 * If a client has far too many bytes of paging buffers in flight, its releases use only the
 * submissions that are set aside, again and again, and wait for the device until these are free.
 */
static void pressure_full(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_limits *limits = rig->vidmm->limits;
	struct pressure_closer closer;
	struct pagoda_bo **odd;
	u32 i;

	closer.bo = pressure_scattered(rig, &odd);
	pressure_drop_reserve(rig);
	pagoda_limits_take(limits, rig->client->quota, 4 * CLIENT_BYTES + 1);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	init_completion(&closer.done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(pressure_close, &closer, "pagoda-closer")));
	for (i = 0; i < 1000 && pressure_aside(rig); i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, 0, wait_for_completion_timeout(&closer.done, HZ / 5));
	KUNIT_EXPECT_EQ(test, (u64)PAGODA_QUEUE_ASIDE * PAGE_SIZE, pressure_busy(rig));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	KUNIT_EXPECT_NE(test, 0, wait_for_completion_timeout(&closer.done, 60 * HZ));
	pagoda_limits_give(limits, rig->client->quota, 4 * CLIENT_BYTES + 1, 0);
	pressure_close_odd(rig, odd);
	pressure_end(rig);
	KUNIT_EXPECT_EQ(test, PAGODA_QUEUE_ASIDE, pressure_aside(rig));
}

/* ---- Exit --------------------------------------------------------------------------- */

#define BOUND		800
/* Most bytes of paging buffers for BOUND allocations: 8 MiB for 10,000, in proportion. */
#define BOUND_BYTES	(SZ_8M / 10000 * BOUND)

/*
 * The end of a client with a job and many allocations that its VM maps: paging buffers take less
 * than BOUND_BYTES before the job ends, and after its end while the device executes nothing.
 */
static void pressure_exit(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo **bos = test_calloc(test, BOUND, sizeof(*bos));
	struct pagoda_vm *vm = vmt_make(rig);
	struct dma_fence *job;
	u64 before;
	u32 i;

	for (i = 0; i < BOUND; i++) {
		bos[i] = pressure_bo(rig, 1);
		KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bos[i], SZ_4M + i * PAGE_SIZE, 0, PAGE_SIZE,
						 0));
	}
	pressure_end(rig);
	job = pagoda_test_fence(test);
	for (i = 0; i < BOUND; i++)
		pagoda_rig_add_fence(test, bos[i]->ttm.base.resv, job, DMA_RESV_USAGE_BOOKKEEP);
	/* Close what the end of a client closes after its last job, but before the job ends. */
	for (i = 0; i < BOUND; i++)
		pagoda_rig_close(bos[i]);
	vmt_drop(vm);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	before = pressure_busy(rig);
	KUNIT_EXPECT_LT(test, before, BOUND_BYTES);
	pagoda_rig_share(rig, true);
	dma_fence_signal(job);
	dma_fence_put(job);
	flush_workqueue(rig->vidmm->ttm.wq);
	pagoda_rig_share(rig, false);
	kunit_info(test, "%u bound allocations: %llu bytes, then %llu", BOUND, before,
		   pressure_busy(rig));
	KUNIT_EXPECT_GT(test, pressure_busy(rig), 0);
	KUNIT_EXPECT_LT(test, pressure_busy(rig), BOUND_BYTES);
	pressure_end(rig);
}

static struct kunit_case pressure_cases[] = {
	KUNIT_CASE(pressure_release),
	KUNIT_CASE(pressure_releases),
	KUNIT_CASE(pressure_release_is_sent),
	KUNIT_CASE(pressure_fence_is_sent),
	KUNIT_CASE(pressure_just_fits),
	KUNIT_CASE(pressure_caller),
	KUNIT_CASE(pressure_of_client),
	KUNIT_CASE(pressure_moves),
	KUNIT_CASE(pressure_moves_of_user),
	KUNIT_CASE(pressure_pauses),
	KUNIT_CASE(pressure_killed),
	KUNIT_CASE(pressure_tells),
	KUNIT_CASE(pressure_of_user),
	KUNIT_CASE(pressure_last_user),
	KUNIT_CASE(pressure_without_memory),
	KUNIT_CASE(pressure_in_reclaim),
	KUNIT_CASE(pressure_awaits_jobs),
	KUNIT_CASE(pressure_full),
	KUNIT_CASE(pressure_exit),
	{}
};

static struct kunit_suite pressure_suite = {
	.name = "pagoda_pressure",
	.test_cases = pressure_cases,
};

kunit_test_suite(pressure_suite);
