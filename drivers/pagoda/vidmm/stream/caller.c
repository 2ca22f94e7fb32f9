// SPDX-License-Identifier: GPL-2.0
/*
 * Whose paging it is: a thread that works for a client is noted while it does so, with the client's
 * quota. Paging buffers that the thread begins count for that quota until the device has executed
 * them, whosever allocations move.
 *
 *	calls of user space	are noted; those that may page much wait before they begin
 *	a client's work items,	are noted while they run; if the client has too much in flight, are
 *	promotion		tried again later
 *	the end of a client	is noted, and doesn't wait
 *	memory that is freed	by a thread that isn't noted, as TTM's work item: the allocation's
 *				own client pays
 *	all others		moves for CPU faults and swapping, rebuilds: no client pays
 *
 * The note is on the thread's stack and in a hash table by thread, until the call or the run of the
 * work item ends.
 */
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
 * @caller: Note, which stays valid until pagoda_caller_end()
 * @client: Client
 *
 * Nests: the last client that was noted pays.
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
	spin_lock(&place->lock);
	hlist_add_head(&caller->entry, &place->list);
	spin_unlock(&place->lock);
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

	spin_lock(&place->lock);
	hlist_del(&caller->entry);
	spin_unlock(&place->lock);
	pagoda_quota_put(caller->quota);
}

/*
 * Returns the quota that pays for the current thread's paging, without a reference: valid until the
 * thread's pagoda_caller_end(). NULL: no client pays.
 */
struct pagoda_quota *pagoda_caller_quota(struct pagoda_stream *stream)
{
	struct pagoda_callers *place = caller_place(stream);
	struct pagoda_quota *quota = NULL;
	struct pagoda_caller *caller;

	spin_lock(&place->lock);
	hlist_for_each_entry(caller, &place->list, entry) {
		if (caller->task == current) {
			quota = caller->quota;
			break;
		}
	}
	spin_unlock(&place->lock);
	return quota;
}

/**
 * pagoda_caller_await() - Wait until a client may page
 * @vidmm: Manager
 * @client: Client
 *
 * A client with too many paging buffers in flight, or whose user has too many, waits here, before
 * it holds anything that others need, until the device has executed enough of them.
 *
 * Context: Sleeps. Outside of all locks and sections.
 * Return: 0; -ERESTARTSYS if the thread was killed.
 */
int pagoda_caller_await(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	return pagoda_limits_await(vidmm->limits, client->quota);
}

/**
 * pagoda_caller_must_wait() - Tell whether pagoda_caller_await() would wait
 * @vidmm: Manager
 * @client: Client
 *
 * For work items, which run again later instead.
 *
 * Context: Any.
 * Return: true while the client or its user has too many paging buffers in flight.
 */
bool pagoda_caller_must_wait(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	return pagoda_limits_is_over(vidmm->limits, client->quota);
}
