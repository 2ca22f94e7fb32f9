// SPDX-License-Identifier: GPL-2.0
/*
 * Submissions before and after their execution: memory, dependencies, arm, push, and the history of
 * finished submissions for debugfs.
 *
 * pagoda_queue_get() allocates all memory of a submission but that for dependencies, so that
 * nothing allocates in the dma_fence signalling path. The memory but for the fences is one
 * contiguous piece, of a page for small submissions: the paging buffer, its private data and the
 * job, with the rest of what the device reads and writes. Pieces are reused without being cleared:
 * the device gets only the bytes that were built.
 */
#include <linux/dma-fence.h>
#include <linux/gfp.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <kunit/static_stub.h>
#include "internal.h"

/* Bytes of the job at the end of its piece of memory. */
#define JOB_BYTES	ALIGN(sizeof(struct pagoda_paging_job), SMP_CACHE_BYTES)

/* Bytes of the largest piece: a whole paging buffer, its private data and the job. */
static u32 piece_most(const struct pagoda_queue *queue)
{
	return PAGE_ALIGN(queue->args.buffer_size + queue->args.priv_size + JOB_BYTES);
}

/* Bytes of a piece of @class: one page, then twice as much for each class, up to piece_most(). */
static u32 piece_bytes(const struct pagoda_queue *queue, u32 class)
{
	return min_t(u64, (u64)PAGE_SIZE << class, piece_most(queue));
}

/*
 * Divides a piece of size class @class: the paging buffer, which starts at a page, then private
 * data, in the proportion of the largest piece, then the struct pagoda_paging_job. Sets the sizes
 * of the first two in @base.
 */
static void piece_divide(const struct pagoda_queue *queue, u32 class,
			 struct pagoda_submission *base)
{
	const struct pagoda_queue_args *args = &queue->args;
	u32 left = piece_bytes(queue, class) - JOB_BYTES;

	base->size = min_t(u64, (u64)left * args->buffer_size /
				(args->buffer_size + args->priv_size), args->buffer_size);
	base->size = round_down(base->size, SMP_CACHE_BYTES);
	base->priv_size = min_t(u32, left - base->size, args->priv_size);
	base->priv_size = round_down(base->priv_size, sizeof(u64));
}

/* Returns the smallest class with room for the bytes; the largest class if none has. */
static u32 piece_class(const struct pagoda_queue *queue, u32 bytes, u32 priv_bytes)
{
	struct pagoda_submission sizes;
	u32 class;

	for (class = 0; class < queue->classes - 1; class++) {
		piece_divide(queue, class, &sizes);
		if (sizes.size >= bytes && sizes.priv_size >= priv_bytes)
			break;
	}
	return class;
}

/*
 * Sets &pagoda_queue.classes, the number of sizes of pieces. Returns false if it is more than
 * PAGODA_QUEUE_CLASSES, or if the smallest piece has less than a quarter of a page for the buffer.
 */
bool pagoda_queue_set_classes(struct pagoda_queue *queue)
{
	struct pagoda_submission sizes;

	queue->classes = 1;
	while (piece_bytes(queue, queue->classes - 1) < piece_most(queue))
		queue->classes++;
	piece_divide(queue, 0, &sizes);
	return queue->classes <= PAGODA_QUEUE_CLASSES && sizes.size >= PAGE_SIZE / 4;
}

/**
 * pagoda_queue_smallest() - Get the sizes of the smallest submission
 * @queue: The queue
 * @bytes: Set to the bytes of that submission's buffer
 * @priv_bytes: Set to the bytes of that submission's private data
 *
 * Context: any.
 */
void pagoda_queue_smallest(const struct pagoda_queue *queue, u32 *bytes, u32 *priv_bytes)
{
	struct pagoda_submission sizes;

	piece_divide(queue, 0, &sizes);
	*bytes = sizes.size;
	*priv_bytes = sizes.priv_size;
}

/*
 * Returns the bytes of a submission's piece: of the paging buffer, its private data and the struct
 * pagoda_paging_job together.
 */
u32 pagoda_submission_bytes(const struct pagoda_submission *submission)
{
	return container_of(submission, const struct pagoda_paging_job, base)->bytes;
}

void pagoda_queue_free(struct pagoda_paging_job *job)
{
	kmemleak_free(job);
	free_pages_exact(job->base.data, job->bytes);
}

static struct pagoda_paging_job *job_alloc(struct pagoda_queue *queue, u32 class)
{
	/* Not from the kernel's reserve: work that can't fail has the submissions set aside. */
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOMEMALLOC | __GFP_NOWARN;
	u32 bytes = piece_bytes(queue, class);
	void *piece = alloc_pages_exact(bytes, class ? gfp | __GFP_NORETRY : gfp);
	struct pagoda_paging_job *job;

	if (!piece)
		return NULL;
	job = piece + bytes - JOB_BYTES;
	/* kmemleak doesn't look into pages, and the job has the only pointer to its fences. */
	kmemleak_alloc(job, JOB_BYTES, 1, gfp);
	job->class = class;
	job->bytes = bytes;
	piece_divide(queue, class, &job->base);
	job->base.data = piece;
	job->base.priv = job->base.priv_size ? piece + job->base.size : NULL;
	INIT_LIST_HEAD(&job->core.node);
	return job;
}

static struct pagoda_paging_job *list_take(struct pagoda_queue *queue, struct list_head *list)
{
	struct pagoda_paging_job *job;

	lockdep_assert_held(&queue->flight.lock);
	job = list_first_entry_or_null(list, struct pagoda_paging_job, core.node);
	if (job)
		list_del_init(&job->core.node);
	return job;
}

static struct pagoda_paging_job *pool_take(struct pagoda_queue *queue, u32 class)
{
	struct pagoda_paging_job *job;
	unsigned long flags;

	spin_lock_irqsave(&queue->flight.lock, flags);
	job = list_take(queue, &queue->pool[class]);
	if (job)
		queue->pooled -= job->bytes;
	spin_unlock_irqrestore(&queue->flight.lock, flags);
	return job;
}

/*
 * Returns a job of @class, free or new; if memory is fragmented, a job of a smaller class, or else
 * a free job of a larger class: builders work with any size. NULL without memory.
 */
static struct pagoda_paging_job *job_find(struct pagoda_queue *queue, u32 class)
{
	struct pagoda_paging_job *job;
	u32 i = class;

	do {
		job = pool_take(queue, i) ?: job_alloc(queue, i);
	} while (!job && i--);
	for (i = class + 1; !job && i < queue->classes; i++)
		job = pool_take(queue, i);
	return job;
}

static void pool_give(struct pagoda_queue *queue, struct pagoda_paging_job *job)
{
	unsigned long flags;
	bool keep;

	spin_lock_irqsave(&queue->flight.lock, flags);
	keep = !queue->gone && (job->aside || queue->pooled + job->bytes <= PAGODA_QUEUE_POOL);
	if (keep && job->aside) {
		list_add(&job->core.node, &queue->aside);
		wake_up(&queue->returned);
	} else if (keep) {
		list_add(&job->core.node, &queue->pool[job->class]);
		queue->pooled += job->bytes;
	}
	spin_unlock_irqrestore(&queue->flight.lock, flags);
	if (!keep)
		pagoda_queue_free(job);
}

/*
 * Moves a paging job that has no references any more to the pool, or back to the jobs set aside,
 * for reuse; frees the job if the pool is full or the queue is gone.
 */
void pagoda_queue_reuse(struct pagoda_job *core)
{
	struct pagoda_paging_job *job = container_of(core, struct pagoda_paging_job, core);

	pool_give(pagoda_queue_of(job), job);
}

/*
 * Moves a finished job, with the scheduler side's reference, into the history for debugfs. Drops
 * the reference instead if the transport still has one, too, or the job is one of those set aside.
 * If the history is full, drops its oldest job.
 */
static void job_remember(struct pagoda_paging_job *job)
{
	struct pagoda_queue *queue = pagoda_queue_of(job);
	struct pagoda_paging_job *old = NULL;
	struct pagoda_job *core = &job->core;
	unsigned long flags;

	/*
	 * Two kinds of jobs don't go into the history: those set aside, which are needed again, and
	 * those that the transport has a reference to, for ever if the device never answers.
	 */
	if (job->aside || refcount_read(&core->refs) > 1) {
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

/*
 * &pagoda_flight_ops.ended of the paging queue: takes a finished job off its line, calls
 * &pagoda_queue_ops.ended, and keeps the job for debugfs or for reuse.
 */
void pagoda_queue_ended(struct pagoda_job *core)
{
	struct pagoda_paging_job *job = container_of(core, struct pagoda_paging_job, core);
	struct pagoda_queue *queue = pagoda_queue_of(job);
	unsigned long flags;

	pagoda_kcov_begin(job->base.kcov);
	job->base.fence = NULL;
	spin_lock_irqsave(&queue->flight.lock, flags);
	queue->busy -= job->bytes;
	spin_unlock_irqrestore(&queue->flight.lock, flags);
	pagoda_line_ended(job);
	if (queue->args.ops->ended)
		queue->args.ops->ended(queue->args.owner, &job->base);
	job_remember(job);
	pagoda_kcov_end();
}

/* Makes a free job a submission to @line that isn't armed. Returns 0 or -ENOMEM. */
static int job_prepare(struct pagoda_line *line, struct pagoda_paging_job *job)
{
	struct pagoda_submission *base = &job->base;
	struct pagoda_queue *queue = line->queue;
	int ret = pagoda_job_init(&job->core, &queue->flight, &line->entity, queue);

	if (ret)
		return ret;
	job->line = line;
	job->start = 0;
	job->refused = false;
	job->rescue = false;
	job->finished = false;
	job->failures = 0;
	base->built = 0;
	base->priv_built = 0;
	base->operations = 0;
	base->moved = 0;
	base->owner = NULL;
	base->to_blame = false;
	base->kcov = (struct pagoda_kcov) {};
	base->fence = NULL;
	base->id = 0;
	base->seqno = 0;
	return 0;
}

/**
 * pagoda_queue_get() - Get a submission with all its memory but that for dependencies
 * @queue: The queue
 * @line: Line of the queue, or NULL for the line that the queue has from the start
 * @bytes: Bytes wanted in the buffer
 * @priv_bytes: Bytes wanted for private data
 *
 * The submission has room for both, unless that is more than &pagoda_queue_args.buffer_size or
 * &pagoda_queue_args.priv_size, or memory is fragmented: the submission may be smaller then, but
 * never smaller than pagoda_queue_smallest() says. The caller owns the submission until
 * pagoda_submission_put() or pagoda_submission_push().
 *
 * Context: may sleep and allocate with reclaim; the caller holds no lock that is taken in the
 * dma_fence signalling path.
 * Return: The submission, its buffer page aligned (C18), or ERR_PTR(-ENOMEM).
 */
struct pagoda_submission *pagoda_queue_get(struct pagoda_queue *queue, struct pagoda_line *line,
					   u32 bytes, u32 priv_bytes)
{
	struct pagoda_paging_job *job;
	int ret;

	KUNIT_STATIC_STUB_REDIRECT(pagoda_queue_get, queue, line, bytes, priv_bytes);
	job = job_find(queue, piece_class(queue, bytes, priv_bytes));
	if (!job)
		return ERR_PTR(-ENOMEM);
	ret = job_prepare(line ?: queue->main, job);
	if (!ret)
		return &job->base;
	pool_give(queue, job);
	return ERR_PTR(ret);
}

/* Allocates the submissions that are set aside. Returns 0 or -ENOMEM. May sleep. */
int pagoda_queue_set_aside(struct pagoda_queue *queue)
{
	struct pagoda_paging_job *job;
	u32 i;

	for (i = 0; i < PAGODA_QUEUE_ASIDE; i++) {
		job = job_alloc(queue, 0);
		if (!job)
			return -ENOMEM;
		job->aside = true;
		list_add(&job->core.node, &queue->aside);
	}
	return 0;
}

/*
 * Returns a submission that was set aside; NULL if none is free, or without memory for its fences.
 * If memory is short, the two fences, less than a page, come from the kernel's reserve.
 */
static struct pagoda_submission *aside_take(struct pagoda_queue *queue, struct pagoda_line *line)
{
	struct pagoda_paging_job *job;
	unsigned int flags;
	int ret;

	spin_lock_irq(&queue->flight.lock);
	job = list_take(queue, &queue->aside);
	spin_unlock_irq(&queue->flight.lock);
	if (!job)
		return NULL;
	flags = memalloc_noreclaim_save();
	ret = job_prepare(line, job);
	memalloc_noreclaim_restore(flags);
	if (!ret)
		return &job->base;
	pool_give(queue, job);
	return NULL;
}

/**
 * pagoda_queue_get_aside() - Get a small submission without fail
 * @queue: The queue
 * @line: Line of the queue, or NULL for the line that the queue has from the start
 *
 * A few small submissions are set aside when the queue is created. Waits until one of them is free,
 * which needs only that submissions in flight finish, and until there is memory for its fences, if
 * need be of the kernel's reserve.
 *
 * Context: may sleep; the caller holds no lock that is taken in the dma_fence signalling path, and
 * has no armed submission that isn't pushed.
 * Return: A submission of the smallest size; its buffer is page aligned.
 */
struct pagoda_submission *pagoda_queue_get_aside(struct pagoda_queue *queue,
						 struct pagoda_line *line)
{
	struct pagoda_submission *submission;

	/* The timeout: no wakeup tells that there is memory for the fences again. */
	while (!(submission = aside_take(queue, line ?: queue->main)))
		wait_event_timeout(queue->returned, !list_empty_careful(&queue->aside), HZ / 10);
	return submission;
}

/**
 * pagoda_submission_put() - Free a submission that wasn't armed
 * @submission: From pagoda_queue_get() or pagoda_queue_get_aside(), not armed; may be built in part
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
 * pagoda_queue_owns() - Check whether a fence is of a submission to this queue
 * @queue: The queue
 * @fence: Any fence
 *
 * Context: any.
 * Return: True if the fence is of a submission to any line of this queue.
 */
bool pagoda_queue_owns(struct pagoda_queue *queue, struct dma_fence *fence)
{
	struct drm_sched_fence *s_fence = to_drm_sched_fence(fence);

	return s_fence && s_fence->sched == queue->flight.sched;
}

/**
 * pagoda_queue_is_sent() - Check whether all that is sent from now on comes behind a submission
 * @fence: Fence of a submission, for which pagoda_queue_owns() is true
 *
 * The queue sends submissions in the order in which the scheduler hands them over, and the device
 * executes them in that order.
 *
 * Context: any.
 * Return: True if the scheduler has handed the submission over, or the submission has ended.
 */
bool pagoda_queue_is_sent(struct dma_fence *fence)
{
	return dma_fence_is_signaled(&to_drm_sched_fence(fence)->scheduled);
}

/*
 * Makes a submission that isn't armed run after @fence, which may be NULL; the submission takes its
 * own reference. Signalled fences and fences of the submission's own line are ignored; if @fence is
 * of a submission in another line, the wait ends when that submission is sent. Returns 0 or
 * -ENOMEM. May sleep and allocate.
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
	struct pagoda_queue *queue = pagoda_queue_of(job);
	unsigned long flags;

	submission->id = pagoda_job_arm(&job->core, &queue->last_id);
	submission->fence = &job->core.sched.s_fence->finished;
	spin_lock_irqsave(&queue->flight.lock, flags);
	queue->busy += job->bytes;
	pagoda_line_armed(job);
	spin_unlock_irqrestore(&queue->flight.lock, flags);
}

/**
 * pagoda_submission_push() - Hand an armed and built submission over to the scheduler
 * @submission: The caller has set @built, @priv_built, @operations and @moved. The submission must
 *	not be touched after the call; a caller that needs the fence takes a reference before
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
	last = job->line->last;
	job->line->last = dma_fence_get(submission->fence);
	spin_unlock_irqrestore(&queue->flight.lock, flags);
	dma_fence_put(last);
	drm_sched_entity_push_job(&job->core.sched);
	dma_fence_end_signalling(cookie);
}
