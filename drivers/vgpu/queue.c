// SPDX-License-Identifier: GPL-2.0
/*
 * Virtqueues and their threads.
 *
 * A queue's thread polls the ring while the ring has requests and sleeps otherwise. Other threads
 * set a flag of struct pagoda_vgpu_queue and wake the queue's thread: the doorbell sets kicked, the
 * control queue's thread sets reset_wanted, and a reset of the device calls kthread_stop(); a test
 * sets vgpu->trouble, for the control queue's thread. With reset_wanted, and for a reset of the
 * device, the flag stop is set, too, which the engine reads between two packets, and on an
 * execution queue in the middle of a packet or command.
 */
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "vgpu.h"

/* Jiffies after which a completion that waits for the next completion (reorder) is sent alone. */
#define PAGODA_SWAP_TIMEOUT	HZ

static void queue_name(struct pagoda_vgpu_queue *queue)
{
	static const char *const names[] = { "control", "paging", "event" };

	if (queue->index < VIRTIO_PAGODA_QUEUE_EXEC0)
		strscpy(queue->name, names[queue->index]);
	else
		snprintf(queue->name, sizeof(queue->name), "exec%u",
			 queue->index - VIRTIO_PAGODA_QUEUE_EXEC0);
}

/*
 * Names vgpu->nr_queues queues and allocates their buffers, but no rings. Returns 0 or -ENOMEM; in
 * both cases the caller later calls pagoda_vgpu_queues_fini().
 */
int pagoda_vgpu_queues_init(struct pagoda_vgpu *vgpu)
{
	u32 i;

	for (i = 0; i < vgpu->nr_queues; i++) {
		struct pagoda_vgpu_queue *queue = &vgpu->queues[i];
		u32 size = i == VIRTIO_PAGODA_QUEUE_CONTROL ? sizeof(struct virtio_pagoda_control) :
			   sizeof(struct virtio_pagoda_request) + VIRTIO_PAGODA_MAX_BUFFER;

		queue->vgpu = vgpu;
		queue->index = i;
		queue_name(queue);
		init_waitqueue_head(&queue->wake);
		init_completion(&queue->reset_done);
		if (i == VIRTIO_PAGODA_QUEUE_EVENT)
			continue;
		queue->buffer = kvzalloc(size, GFP_KERNEL);
		queue->held = kvcalloc(PAGODA_VGPU_RING_SIZE, sizeof(*queue->held), GFP_KERNEL);
		queue->spans = kvcalloc(PAGODA_VGPU_MAX_RUNS, sizeof(*queue->spans), GFP_KERNEL);
		if (!queue->buffer || !queue->held || !queue->spans)
			return -ENOMEM;
	}
	return 0;
}

/* Frees what pagoda_vgpu_queues_init() allocated, when no queue has a thread. */
void pagoda_vgpu_queues_fini(struct pagoda_vgpu *vgpu)
{
	u32 i;

	for (i = 0; i < vgpu->nr_queues; i++) {
		kvfree(vgpu->queues[i].buffer);
		kvfree(vgpu->queues[i].held);
		kvfree(vgpu->queues[i].spans);
	}
}

/* Returns whether the queue's thread, the caller, must stop executing: for a reset, or to end. */
bool pagoda_vgpu_queue_stopping(const struct pagoda_vgpu_queue *queue)
{
	return READ_ONCE(queue->stop) || kthread_should_stop();
}

/*
 * Returns the descriptor chain @head to the driver and reports @written bytes as written. Then
 * calls the driver's callback, with interrupts off as in a real interrupt, if the driver wants an
 * interrupt and @interrupt is true (false: failure injection). Runs in the queue's thread; for the
 * event queue in any queue's thread, with event_lock held.
 */
void pagoda_vgpu_queue_complete(struct pagoda_vgpu_queue *queue, u16 head, u32 written,
				bool interrupt)
{
	unsigned long flags;

	lockdep_assert(queue->index != VIRTIO_PAGODA_QUEUE_EVENT ||
		       lockdep_is_held(&queue->vgpu->event_lock));
	pagoda_vgpu_ring_push(&queue->ring, head, written);
	if (!pagoda_vgpu_ring_interrupts(&queue->ring) || !interrupt)
		return;
	atomic64_inc(&queue->interrupts);
	local_irq_save(flags);
	vring_interrupt(0, queue->vq);
	local_irq_restore(flags);
}

static bool queue_runs(const struct pagoda_vgpu_queue *queue)
{
	return READ_ONCE(queue->vgpu->status) & VIRTIO_CONFIG_S_DRIVER_OK &&
	       !READ_ONCE(queue->vgpu->broken) && !queue->halted;
}

/* Returns whether @queue is the control queue and its thread has to carry out vgpu->trouble. */
static bool queue_has_trouble(const struct pagoda_vgpu_queue *queue)
{
	return queue->index == VIRTIO_PAGODA_QUEUE_CONTROL && READ_ONCE(queue->vgpu->trouble);
}

static bool queue_woken(const struct pagoda_vgpu_queue *queue)
{
	return (READ_ONCE(queue->kicked) && queue_runs(queue)) ||
	       READ_ONCE(queue->reset_wanted) || queue_has_trouble(queue) ||
	       kthread_should_stop();
}

/*
 * Sleeps until queue_woken() returns true. If a completion is kept back (reorder), sleeps for
 * PAGODA_SWAP_TIMEOUT at most, and sends that completion if the time is up.
 */
static void queue_sleep(struct pagoda_vgpu_queue *queue)
{
	if (!queue->has_swapped) {
		wait_event_idle(queue->wake, queue_woken(queue));
		return;
	}
	if (!wait_event_idle_timeout(queue->wake, queue_woken(queue), PAGODA_SWAP_TIMEOUT))
		pagoda_vgpu_request_flush(queue);
}

static bool queue_pending(const struct pagoda_vgpu_queue *queue)
{
	return queue_runs(queue) &&
	       __virtio16_to_cpu(true, READ_ONCE(queue->ring.vring.avail->idx)) !=
	       queue->ring.next_avail;
}

/*
 * Executes requests or control commands until the ring is empty, the device breaks, or the queue
 * halts or must stop; then asks the driver for doorbells again.
 */
static void queue_drain(struct pagoda_vgpu_queue *queue)
{
	pagoda_vgpu_ring_mute(&queue->ring);
	while (queue_pending(queue) && !pagoda_vgpu_queue_stopping(queue)) {
		pagoda_vgpu_kcov_begin();
		if (queue->index == VIRTIO_PAGODA_QUEUE_CONTROL)
			pagoda_vgpu_control_execute(queue);
		else
			pagoda_vgpu_request_execute(queue);
		pagoda_vgpu_kcov_end();
		cond_resched();
	}
	if (pagoda_vgpu_ring_listen(&queue->ring))
		WRITE_ONCE(queue->kicked, true);
}

static int queue_thread(void *data)
{
	struct pagoda_vgpu_queue *queue = data;

	while (!kthread_should_stop()) {
		queue_sleep(queue);
		/*
		 * Acquire: pairs with the release in control_reset_begin(), so that
		 * pagoda_vgpu_request_reset(), called next, sees the value of vgpu->resetting that
		 * belongs to this reset.
		 */
		if (smp_load_acquire(&queue->reset_wanted)) {
			pagoda_vgpu_kcov_begin();
			pagoda_vgpu_request_reset(queue);
			pagoda_vgpu_kcov_end();
			/* Look at the ring, as requests may have come without a doorbell. */
			WRITE_ONCE(queue->kicked, true);
		}
		if (queue_has_trouble(queue))
			pagoda_vgpu_control_trouble(queue);
		if (queue_runs(queue) && READ_ONCE(queue->kicked)) {
			/* @kicked is cleared before the ring is read: no doorbell is lost. */
			smp_store_mb(queue->kicked, false);
			queue_drain(queue);
		}
	}
	return 0;
}

/*
 * Rings the doorbell of @vq, which wakes the queue's thread. Called in any context. Returns true:
 * the notification can't fail.
 */
static bool queue_notify(struct virtqueue *vq)
{
	struct pagoda_vgpu_queue *queue = vq->priv;

	atomic64_inc(&queue->doorbells);
	WRITE_ONCE(queue->kicked, true);
	wake_up(&queue->wake);
	return true;
}

/*
 * Sets the members that requests change to their values for a new ring, and queue->kicked, so that
 * the thread looks at the ring once the driver has set DRIVER_OK.
 */
static void queue_forget(struct pagoda_vgpu_queue *queue)
{
	queue->kicked = true;
	queue->stop = false;
	queue->reset_wanted = false;
	queue->executed = 0;
	queue->offset = 0;
	queue->given = 0;
	queue->halted = false;
	queue->nr_held = 0;
	queue->has_swapped = false;
	reinit_completion(&queue->reset_done);
}

static int queue_create(struct pagoda_vgpu_queue *queue, const struct virtqueue_info *info)
{
	struct virtio_device *vdev = &queue->vgpu->vdev;
	struct task_struct *task;

	queue->vq = vring_create_virtqueue(queue->index, PAGODA_VGPU_RING_SIZE, SMP_CACHE_BYTES,
					   vdev, true, true, info->ctx, queue_notify,
					   info->callback, info->name);
	if (!queue->vq)
		return -ENOMEM;
	queue->vq->num_max = PAGODA_VGPU_RING_SIZE;
	queue->vq->priv = queue;
	pagoda_vgpu_ring_init(&queue->ring, queue->vq);
	queue_forget(queue);
	if (queue->index == VIRTIO_PAGODA_QUEUE_EVENT) {
		pagoda_vgpu_ring_mute(&queue->ring);
		return 0;
	}
	task = kthread_run(queue_thread, queue, "pagoda-%s/%d", queue->name, vdev->index);
	if (IS_ERR(task))
		return PTR_ERR(task);
	queue->task = task;
	return 0;
}

/*
 * Creates a ring and a thread (the event queue: a ring only) for each entry of @info with a name;
 * virtqueues are numbered in the order of these entries. The device was reset before. Returns 0, or
 * a negative error after deleting all queues. May sleep; the virtio core serializes calls.
 */
int pagoda_vgpu_queues_find(struct pagoda_vgpu *vgpu, unsigned int nvqs,
			    struct virtqueue *vqs[], struct virtqueue_info info[])
{
	unsigned int i, index = 0;
	int err;

	for (i = 0; i < nvqs; i++) {
		if (!info[i].name) {
			vqs[i] = NULL;
			continue;
		}
		err = index < vgpu->nr_queues && !vgpu->queues[index].vq ?
		      queue_create(&vgpu->queues[index], &info[i]) : -ENOENT;
		if (err) {
			pagoda_vgpu_queues_delete(vgpu);
			return err;
		}
		vqs[i] = vgpu->queues[index++].vq;
	}
	return 0;
}

/* Wakes the threads of all queues, because the driver set DRIVER_OK. */
void pagoda_vgpu_queues_start(struct pagoda_vgpu *vgpu)
{
	u32 i;

	for (i = 0; i < vgpu->nr_queues; i++)
		wake_up(&vgpu->queues[i].wake);
}

/*
 * Ends the threads of all queues; no callback of the driver runs afterwards. The control queue's
 * thread ends first: it may be waiting for the reset of another queue, which the other queue's
 * thread then still carries out. May sleep; not called from a queue's callback.
 */
void pagoda_vgpu_queues_stop(struct pagoda_vgpu *vgpu)
{
	u32 i;

	for (i = 0; i < vgpu->nr_queues; i++) {
		struct pagoda_vgpu_queue *queue = &vgpu->queues[i];

		if (!queue->task)
			continue;
		WRITE_ONCE(queue->stop, true);
		wake_up(&queue->wake);
		kthread_stop(queue->task);
		queue->task = NULL;
	}
}

/* Ends the queues' threads and frees the rings. May sleep; not called from a queue's callback. */
void pagoda_vgpu_queues_delete(struct pagoda_vgpu *vgpu)
{
	u32 i;

	pagoda_vgpu_queues_stop(vgpu);
	for (i = 0; i < vgpu->nr_queues; i++) {
		if (vgpu->queues[i].vq)
			vring_del_virtqueue(vgpu->queues[i].vq);
		vgpu->queues[i].vq = NULL;
	}
}

/*
 * Has the control queue's thread carry out @trouble. Returns 0; -EBUSY if the thread hasn't begun
 * with what was asked for before; or -ENODEV if no driver has set DRIVER_OK. A reset of the device
 * by the driver ends the wait for the thread: then the thread doesn't carry out @trouble.
 */
int pagoda_vgpu_queues_trouble(struct pagoda_vgpu *vgpu, enum pagoda_vgpu_trouble trouble)
{
	if (!(READ_ONCE(vgpu->status) & VIRTIO_CONFIG_S_DRIVER_OK))
		return -ENODEV;
	if (cmpxchg(&vgpu->trouble, PAGODA_VGPU_WORKS, trouble) != PAGODA_VGPU_WORKS)
		return -EBUSY;
	wake_up(&vgpu->queues[VIRTIO_PAGODA_QUEUE_CONTROL].wake);
	return 0;
}
