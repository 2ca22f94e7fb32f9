// SPDX-License-Identifier: GPL-2.0
/*
 * Notes which client pays for a thread's paging. While a thread works for a client, a note of the
 * thread has the client's quota. Paging buffers that the thread begins count in that quota until
 * the device has executed them, whichever client's allocations move.
 *
 *	ioctls			the thread is noted; an ioctl that may page much first waits while
 *				the client or its user has too many paging buffers in flight;
 *				MAKE_RESIDENT, EVICT and RECLAIM without a queue also while these
 *				buffers move much content
 *	deferred work		the thread is noted; while one of these calls would have to wait,
 *				the work is put off
 *	other work items of a	the thread is noted; while an ioctl would have to wait, the work is
 *	client, promotion	put off
 *	the end of a client	the thread is noted, and doesn't wait
 *	memory that is freed	by a thread without a note, as in TTM's work item: the client of the
 *				allocation pays
 *	all other paging	moves for CPU faults and swapping, rebuilds: no client pays
 *
 * The note is on the thread's stack and in a hash table by thread, until the call or the run of the
 * work item ends.
 */
#include <linux/cleanup.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include "core/core.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/limits.h"
#include "internal.h"
#include "stream.h"

static struct pagoda_callers *caller_place(struct pagoda_stream *stream)
{
	return &stream->callers[hash_ptr(current, PAGODA_CALLER_BITS)];
}

void pagoda_callers_init(struct pagoda_stream *stream)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(stream->callers); i++) {
		spin_lock_init(&stream->callers[i].lock);
		INIT_HLIST_HEAD(&stream->callers[i].list);
	}
}

/**
 * pagoda_caller_begin() - Have a client pay for the paging of the current thread
 * @vidmm: Manager
 * @caller: Filled in: note, which stays valid until pagoda_caller_end()
 * @client: Client
 *
 * Calls nest: the client of the innermost call pays.
 *
 * Context: Process context.
 */
void pagoda_caller_begin(struct pagoda_vidmm *vidmm, struct pagoda_caller *caller,
			 struct pagoda_client *client)
{
	struct pagoda_callers *place = caller_place(vidmm->stream);

	caller->task = current;
	caller->quota = client->quota;
	kref_get(&caller->quota->kref);
	caller->kcov = client->kcov;
	scoped_guard(spinlock, &place->lock)
		hlist_add_head(&caller->entry, &place->list);
}

/**
 * pagoda_caller_end() - Undo pagoda_caller_begin()
 * @vidmm: Manager
 * @caller: Note of the current thread
 *
 * Context: Process context. The client may be gone.
 */
void pagoda_caller_end(struct pagoda_vidmm *vidmm, struct pagoda_caller *caller)
{
	struct pagoda_callers *place = caller_place(vidmm->stream);

	scoped_guard(spinlock, &place->lock)
		hlist_del(&caller->entry);
	pagoda_quota_put(caller->quota);
}

/*
 * Returns the innermost note of the current thread, or NULL if no client pays. The note is valid
 * until the thread's pagoda_caller_end().
 */
struct pagoda_caller *pagoda_caller_find(struct pagoda_stream *stream)
{
	struct pagoda_callers *place = caller_place(stream);
	struct pagoda_caller *caller, *found = NULL;

	spin_lock(&place->lock);
	hlist_for_each_entry(caller, &place->list, entry) {
		if (caller->task == current) {
			found = caller;
			break;
		}
	}
	spin_unlock(&place->lock);
	return found;
}

/*
 * Sets in @txn the quota that pays for the current thread's paging, without a reference: valid
 * until the thread's pagoda_caller_end(); and the handle of coverage that belongs to the quota.
 * Changes neither if no client pays.
 */
void pagoda_caller_pays(struct pagoda_stream *stream, struct pagoda_stream_txn *txn)
{
	struct pagoda_caller *caller = pagoda_caller_find(stream);

	if (!caller)
		return;
	txn->quota = caller->quota;
	txn->kcov = caller->kcov;
}

/**
 * pagoda_caller_await() - Wait until a client may page
 * @vidmm: Manager
 * @client: Client
 *
 * While the client or its user has too many paging buffers in flight, waits until the device has
 * executed enough of them. Called before the thread takes any lock that other threads need.
 *
 * Context: Sleeps. Outside of all locks and sections.
 * Return: 0; -ERESTARTSYS if the thread was killed.
 */
int pagoda_caller_await(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	return pagoda_limits_await(vidmm->limits, client->quota);
}

/**
 * pagoda_caller_await_moves() - Wait until paging that a client caused moves little content
 * @vidmm: Manager
 * @client: Client
 *
 * For calls that page at once and return before the device has: a client that makes one such call
 * after another would fill the line of moves, and other clients' moves wait for all of that.
 *
 * Context: Sleeps. Outside of all locks and sections.
 * Return: 0; -ERESTARTSYS if the thread was killed.
 */
int pagoda_caller_await_moves(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	return pagoda_limits_await_moves(vidmm->limits, client->quota);
}

/**
 * pagoda_caller_tell() - Have a work item told when a client may go on paging
 * @vidmm: Manager
 * @client: Client
 * @entry: As for pagoda_limits_tell()
 *
 * Context: Process context.
 * Return: true if @entry's function will be called, and pagoda_caller_untell() has to be called;
 * false if the client may page now.
 */
bool pagoda_caller_tell(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
			struct wait_queue_entry *entry)
{
	return pagoda_limits_tell(vidmm->limits, client->quota, entry);
}

/* Undoes pagoda_caller_tell() that returned true. */
void pagoda_caller_untell(struct pagoda_client *client, struct wait_queue_entry *entry)
{
	pagoda_limits_untell(client->quota, entry);
}

/**
 * pagoda_caller_must_wait() - Tell whether pagoda_caller_await() would wait
 * @vidmm: Manager
 * @client: Client
 *
 * For work items, which don't wait but run again later.
 *
 * Context: Any.
 * Return: true while the client or its user has too many paging buffers in flight.
 */
bool pagoda_caller_must_wait(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	return pagoda_limits_is_over(vidmm->limits, client->quota);
}
