// SPDX-License-Identifier: GPL-2.0
/*
 * Submissions but for execution: their memory, their dependencies, arm, push, history.
 *
 * pagoda_queue_get() allocates all memory that a submission will ever need, so that nothing
 * allocates in the dma_fence signalling path. Buffers are reused without being cleared: the device
 * gets only the bytes that were built.
 */
#include <linux/dma-fence.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <kunit/static_stub.h>
#include "internal.h"

/*
 * Allocates *@size bytes of physically contiguous memory, page aligned. If memory is fragmented,
 * *@size is halved, down to a page: builders work with any size.
 */
static void *pages_alloc(u32 *size)
{
	u32 bytes = *size;
	void *pages;

	for (; bytes > PAGE_SIZE; bytes = PAGE_ALIGN(bytes / 2)) {
		pages = alloc_pages_exact(bytes, GFP_KERNEL | __GFP_ZERO | __GFP_NORETRY |
					  __GFP_NOWARN);
		if (pages) {
			*size = bytes;
			return pages;
		}
	}
	*size = min_t(u32, bytes, PAGE_SIZE);
	return alloc_pages_exact(*size, GFP_KERNEL | __GFP_ZERO);
}

void pagoda_queue_free(struct pagoda_paging_job *job)
{
	if (job->base.data)
		free_pages_exact(job->base.data, job->base.size);
	if (job->base.priv)
		free_pages_exact(job->base.priv, job->base.priv_size);
	kfree(job);
}

static struct pagoda_paging_job *job_alloc(struct pagoda_queue *queue)
{
	struct pagoda_paging_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (!job)
		return NULL;
	job->base.size = queue->args.buffer_size;
	job->base.data = pages_alloc(&job->base.size);
	if (!job->base.data)
		goto err_free;
	job->base.priv_size = queue->args.priv_size;
	if (job->base.priv_size)
		job->base.priv = pages_alloc(&job->base.priv_size);
	if (job->base.priv_size && !job->base.priv)
		goto err_free;
	return job;

err_free:
	pagoda_queue_free(job);
	return NULL;
}

static struct pagoda_paging_job *pool_take(struct pagoda_queue *queue)
{
	struct pagoda_paging_job *job;
	unsigned long flags;

	spin_lock_irqsave(&queue->flight.lock, flags);
	job = list_first_entry_or_null(&queue->pool, struct pagoda_paging_job, core.node);
	if (job) {
		list_del_init(&job->core.node);
		queue->pooled--;
	}
	spin_unlock_irqrestore(&queue->flight.lock, flags);
	return job;
}

static void pool_give(struct pagoda_queue *queue, struct pagoda_paging_job *job)
{
	unsigned long flags;
	bool keep;

	spin_lock_irqsave(&queue->flight.lock, flags);
	keep = !queue->gone && queue->pooled < PAGODA_QUEUE_POOL;
	if (keep) {
		list_add(&job->core.node, &queue->pool);
		queue->pooled++;
	}
	spin_unlock_irqrestore(&queue->flight.lock, flags);
	if (!keep)
		pagoda_queue_free(job);
}

/* Moves a job without references to the pool, or frees the job if the pool is full or gone. */
void pagoda_queue_reuse(struct pagoda_job *core)
{
	struct pagoda_paging_job *job = container_of(core, struct pagoda_paging_job, core);

	pool_give(pagoda_queue_of(job), job);
}

/*
 * Moves a finished job, with the scheduler side's reference, into the history for debugfs, unless
 * the transport still has a reference to the job. If the history is full, drops its oldest job.
 */
void pagoda_queue_ended(struct pagoda_job *core)
{
	struct pagoda_paging_job *job = container_of(core, struct pagoda_paging_job, core);
	struct pagoda_queue *queue = pagoda_queue_of(job);
	struct pagoda_paging_job *old = NULL;
	unsigned long flags;

	job->base.fence = NULL;
	/* The transport may keep its reference for ever, if the device never answers. */
	if (refcount_read(&core->refs) > 1) {
		pagoda_job_put(core);
		return;
	}
	spin_lock_irqsave(&queue->flight.lock, flags);
	list_add_tail(&core->node, &queue->history);
	if (++queue->remembered > PAGODA_QUEUE_HISTORY) {
		old = list_first_entry(&queue->history, struct pagoda_paging_job, core.node);
		list_del_init(&old->core.node);
		queue->remembered--;
	}
	spin_unlock_irqrestore(&queue->flight.lock, flags);
	if (old)
		pagoda_job_put(&old->core);
}

/**
 * pagoda_queue_get() - Get a submission with all memory that it will ever need
 * @queue: The queue
 *
 * When memory is fragmented the buffer may be smaller than pagoda_queue_args.buffer_size, but never
 * smaller than a page. The caller owns the submission until pagoda_submission_put() or
 * pagoda_submission_push().
 *
 * Context: may sleep and allocate with reclaim; the caller holds no lock that is taken in the
 * dma_fence signalling path.
 * Return: The submission, its buffer page aligned (C18), or ERR_PTR(-ENOMEM).
 */
struct pagoda_submission *pagoda_queue_get(struct pagoda_queue *queue)
{
	struct pagoda_submission *base;
	struct pagoda_paging_job *job;
	int ret;

	KUNIT_STATIC_STUB_REDIRECT(pagoda_queue_get, queue);
	job = pool_take(queue);
	if (!job)
		job = job_alloc(queue);
	if (!job)
		return ERR_PTR(-ENOMEM);
	ret = pagoda_job_init(&job->core, &queue->flight, &queue->entity, queue);
	if (ret) {
		pool_give(queue, job);
		return ERR_PTR(ret);
	}
	job->start = 0;
	job->refused = false;
	job->rescue = false;
	job->finished = false;
	job->failures = 0;
	base = &job->base;
	base->built = 0;
	base->priv_built = 0;
	base->operations = 0;
	base->moved = 0;
	base->owner = NULL;
	base->fence = NULL;
	base->seqno = 0;
	return base;
}

/**
 * pagoda_submission_put() - Free a submission that wasn't armed
 * @submission: From pagoda_queue_get(), not armed; may be built in part
 *
 * Context: any process context.
 */
void pagoda_submission_put(struct pagoda_submission *submission)
{
	struct pagoda_paging_job *job = pagoda_paging_job_of(submission);

	pagoda_job_fini(&job->core);
	pagoda_job_put(&job->core);
}

/**
 * pagoda_queue_owns() - Check whether a fence is of this queue's timeline
 * @queue: The queue
 * @fence: Any fence
 *
 * A submission to the queue doesn't have to wait for such a fence, because the queue executes in
 * order.
 *
 * Context: any.
 * Return: True if the fence is of this queue's timeline.
 */
bool pagoda_queue_owns(struct pagoda_queue *queue, struct dma_fence *fence)
{
	return pagoda_entity_owns(&queue->entity, fence);
}

/*
 * Makes a submission that isn't armed run after @fence, which may be NULL; the submission takes its
 * own reference. Signalled fences and fences of the submission's own queue are ignored. Returns 0
 * or -ENOMEM. May sleep and allocate.
 */
int pagoda_submission_add_fence(struct pagoda_submission *submission,
				struct dma_fence *fence)
{
	return pagoda_job_add_fence(&pagoda_paging_job_of(submission)->core, fence);
}

/**
 * pagoda_submission_add_resv() - Make a submission run after a reservation's fences
 * @submission: Not armed
 * @resv: Reservation
 * @usage: The submission waits for fences of this usage and of the usages below
 *
 * Context: @resv held; may sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_submission_add_resv(struct pagoda_submission *submission,
			       struct dma_resv *resv, enum dma_resv_usage usage)
{
	return pagoda_job_add_resv(&pagoda_paging_job_of(submission)->core, resv, usage);
}

/**
 * pagoda_submission_arm() - Publish the submission's fence
 * @submission: Submission whose dependencies are all added
 *
 * From here to pagoda_submission_push() no thread that holds the caller's lock which orders arm and
 * push may allocate with reclaim (C24). Another thread than the caller may push the submission, as
 * long as the push is sure to happen soon.
 *
 * Context: The caller's lock that orders arm and push is held.
 */
void pagoda_submission_arm(struct pagoda_submission *submission)
{
	struct pagoda_paging_job *job = pagoda_paging_job_of(submission);

	submission->seqno = pagoda_job_arm(&job->core, &pagoda_queue_of(job)->next_seqno);
	job->core.seqno = submission->seqno;
	submission->fence = &job->core.sched.s_fence->finished;
}

/**
 * pagoda_submission_push() - Hand an armed and built submission over to the scheduler
 * @submission: @built and @priv_built set. The submission must not be touched afterwards; a
 *	caller that needs the fence takes a reference before
 *
 * Context: The caller's lock that orders arm and push is held. In the dma_fence signalling path.
 */
void pagoda_submission_push(struct pagoda_submission *submission)
{
	struct pagoda_paging_job *job = pagoda_paging_job_of(submission);
	struct pagoda_queue *queue = pagoda_queue_of(job);
	struct dma_fence *last;
	bool cookie = dma_fence_begin_signalling();
	unsigned long flags;

	WARN_ON_ONCE(submission->built > submission->size ||
		     submission->built % VIRTIO_PAGODA_PACKET_ALIGN);
	spin_lock_irqsave(&queue->flight.lock, flags);
	job->refused = queue->stopped;
	queue->stats.submissions++;
	queue->stats.bytes += submission->built;
	last = queue->last_fence;
	queue->last_fence = dma_fence_get(submission->fence);
	spin_unlock_irqrestore(&queue->flight.lock, flags);
	dma_fence_put(last);
	drm_sched_entity_push_job(&job->core.sched);
	dma_fence_end_signalling(cookie);
}
