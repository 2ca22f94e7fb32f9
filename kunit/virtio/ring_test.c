// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's side of the virtqueues, on rings in memory with the test as the device: completions
 * between the driver's last look and switching interrupts on, lost interrupts, room that
 * completions and late answers free, sequence numbers and reports across a sleep, resets.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include "core/transport.h"
#include "rig/alloc.h"
#include "ring_helpers.h"
#include "virtio/internal.h"

#define RING_SIZE	16u
#define RING_REQUESTS	(RING_SIZE / 3)
#define RING_EXTENTS	5u

/* A request; @completed counts its completions, the last of which had @outcome and @fault. */
struct ring_request {
	struct pagoda_request base;
	u32 completed;
	enum pagoda_outcome outcome;
	struct pagoda_fault fault;
};

/*
 * A device with one ring, which is a paging, event or control queue. @seen counts entries of the
 * available ring that the device has taken. @late, if set, is cleared and called when the driver
 * has found the ring empty and is about to switch interrupts on. @requests has one more than the
 * ring has room for. @kept has the first descriptors of @nr_kept commands that aren't answered yet;
 * @looks counts down how often the driver finds no answer before a command is answered. @paging is
 * the device whose paging queue the commands of a control queue reset. @stopped: the device was
 * reset through its transport.
 */
struct ring_device {
	struct kunit *test;
	struct virtio_device vdev;
	struct pagoda_virtio virtio;
	struct vring vring;
	struct virtqueue *vq;
	u16 seen;
	void (*late)(struct ring_device *device);
	u64 *data;
	struct ring_request requests[RING_REQUESTS + 1];
	u16 kept[PAGODA_CONTROL_SLOTS];
	u32 nr_kept;
	u32 looks;
	struct ring_device *paging;
	bool stopped;
};

static struct ring_device *ring_of(struct virtqueue *vq)
{
	return container_of(vq->vdev, struct ring_device, vdev);
}

static void ring_make_queue(struct ring_device *device, void (*callback)(struct virtqueue *vq))
{
	device->seen = 0;
	device->vq = ring_virtqueue(device->test, &device->vdev, RING_SIZE, callback,
				    &device->vring);
}

static struct ring_device *ring_create(struct kunit *test,
				       void (*callback)(struct virtqueue *vq))
{
	struct ring_device *device = test_zalloc(test, sizeof(*device));

	device->test = test;
	device->data = test_zalloc(test, sizeof(*device->data));
	ring_device_init(&device->vdev);
	device->vdev.priv = &device->virtio;
	device->virtio.vdev = &device->vdev;
	ring_make_queue(device, callback);
	return device;
}

/* ---- The device's side --------------------------------------------------------------- */

static void *ring_memory(struct ring_device *device, u16 index)
{
	return phys_to_virt(virtio64_to_cpu(&device->vdev, device->vring.desc[index].addr));
}

/* Takes the next chain from the available ring; returns the number of its first descriptor. */
static u16 ring_next(struct ring_device *device)
{
	struct vring_avail *avail = device->vring.avail;

	KUNIT_ASSERT_NE(device->test, device->seen,
			virtio16_to_cpu(&device->vdev, READ_ONCE(avail->idx)));
	return virtio16_to_cpu(&device->vdev, avail->ring[device->seen++ % RING_SIZE]);
}

static u16 ring_last(struct ring_device *device, u16 index)
{
	while (virtio16_to_cpu(&device->vdev, device->vring.desc[index].flags) & VRING_DESC_F_NEXT)
		index = virtio16_to_cpu(&device->vdev, device->vring.desc[index].next);
	return index;
}

static void ring_use(struct ring_device *device, u16 index, u32 len)
{
	struct vring_used *used = device->vring.used;
	u16 at = virtio16_to_cpu(&device->vdev, used->idx);

	used->ring[at % RING_SIZE] = (struct vring_used_elem) {
		.id = cpu_to_virtio32(&device->vdev, index),
		.len = cpu_to_virtio32(&device->vdev, len),
	};
	/* Store the entry before the index; pairs with virtqueue_get_buf(). */
	smp_store_release(&used->idx, cpu_to_virtio16(&device->vdev, at + 1));
}

/* Completes the next request with @status; returns the sequence number that the device got. */
static u64 ring_answer(struct ring_device *device, u32 status)
{
	u16 index = ring_next(device);
	struct virtio_pagoda_request *head = ring_memory(device, index);
	struct virtio_pagoda_completion *tail = ring_memory(device, ring_last(device, index));

	*tail = (struct virtio_pagoda_completion) {
		.seqno = head->seqno,
		.status = cpu_to_le32(status),
	};
	if (status == VIRTIO_PAGODA_STATUS_FAULT) {
		tail->fault.reason = cpu_to_le32(VIRTIO_PAGODA_FAULT_UNSUPPORTED);
		tail->fault.queue = cpu_to_le32(VIRTIO_PAGODA_QUEUE_PAGING);
		tail->fault.seqno = head->seqno;
	}
	ring_use(device, index, sizeof(*tail));
	return le64_to_cpu(head->seqno);
}

static u64 ring_execute(struct ring_device *device)
{
	return ring_answer(device, VIRTIO_PAGODA_STATUS_OK);
}

static bool ring_wants_interrupts(struct ring_device *device)
{
	return !(virtio16_to_cpu(&device->vdev, READ_ONCE(device->vring.avail->flags)) &
		 VRING_AVAIL_F_NO_INTERRUPT);
}

/* ---- The driver's side --------------------------------------------------------------- */

static void ring_complete(struct pagoda_request *base, enum pagoda_outcome outcome,
			  const struct pagoda_fault *fault)
{
	struct ring_request *request = container_of(base, struct ring_request, base);

	request->completed++;
	request->outcome = outcome;
	request->fault = *fault;
}

static int ring_submit_to(struct ring_device *device, struct pagoda_ring *ring, u32 index,
			  u64 seqno)
{
	struct ring_request *request = &device->requests[index];
	struct pagoda_transport *transport = &ring->base;
	int ret;

	request->base = (struct pagoda_request) {
		.seqno = seqno,
		.data = device->data,
		.size = sizeof(*device->data),
		.complete = ring_complete,
	};
	request->completed = 0;
	ret = transport->ops->submit(transport, &request->base);
	if (!ret)
		transport->ops->kick(transport);
	return ret;
}

static int ring_submit(struct ring_device *device, u32 index, u64 seqno)
{
	return ring_submit_to(device, &device->virtio.paging, index, seqno);
}

/* Calls the handler as an interrupt of the device would. */
static void ring_interrupt(struct ring_device *device)
{
	device->vq->callback(device->vq);
}

/*
 * Stub of pagoda_virtio_listen(), which the driver calls after it found the ring empty: clears and
 * calls &ring_device.late, if that is set, then does what the stubbed function does.
 */
static bool ring_listen_late(struct virtqueue *vq)
{
	struct ring_device *device = ring_of(vq);
	void (*late)(struct ring_device *device) = device->late;

	device->late = NULL;
	if (late)
		late(device);
	return virtqueue_enable_cb(vq) || virtqueue_is_broken(vq);
}

static void ring_expect(struct ring_device *device, u32 index, enum pagoda_outcome outcome)
{
	KUNIT_EXPECT_EQ_MSG(device->test, 1u, device->requests[index].completed, "request %u",
			    index);
	KUNIT_EXPECT_EQ_MSG(device->test, outcome, device->requests[index].outcome, "request %u",
			    index);
}

/* ---- Tests ----------------------------------------------------------------------------- */

static void ring_execute_late(struct ring_device *device)
{
	KUNIT_EXPECT_FALSE(device->test, ring_wants_interrupts(device));
	ring_execute(device);
}

/*
 * A request that completes after the driver found the ring empty, while interrupts are off, raises
 * no interrupt: the driver looks again, completes the request, and leaves interrupts on.
 */
static void ring_last_look(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_paging_interrupt);
	u32 i;

	pagoda_ring_init(&device->virtio.paging, &device->virtio, device->vq);
	kunit_activate_static_stub(test, pagoda_virtio_listen, ring_listen_late);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, ring_submit(device, i, i + 1));
	ring_execute(device);
	device->late = ring_execute_late;
	ring_interrupt(device);
	KUNIT_EXPECT_NULL(test, device->late);
	for (i = 0; i < 2; i++)
		ring_expect(device, i, PAGODA_OUTCOME_OK);
	KUNIT_EXPECT_EQ(test, 0u, device->requests[2].completed);
	KUNIT_EXPECT_TRUE(test, ring_wants_interrupts(device));
	ring_execute(device);
	ring_interrupt(device);
	ring_expect(device, 2, PAGODA_OUTCOME_OK);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&device->virtio.paging.outstanding));
}

/* An engine's interrupt completes the requests of this engine, of which there are two. */
static void ring_of_an_engine(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_exec_interrupt);
	struct pagoda_ring *engines = test_calloc(test, 2, sizeof(*engines));

	device->virtio.engines = engines;
	device->vq->index = VIRTIO_PAGODA_QUEUE_EXEC0 + 1;
	pagoda_ring_init(&engines[1], &device->virtio, device->vq);
	KUNIT_ASSERT_EQ(test, 0, ring_submit_to(device, &engines[1], 0, 1));
	ring_execute(device);
	ring_interrupt(device);
	ring_expect(device, 0, PAGODA_OUTCOME_OK);
}

/*
 * A full ring refuses a request with -ENOSPC; each completion makes room for one request, also
 * after a refusal.
 */
static void ring_gives_back_room(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_paging_interrupt);
	struct pagoda_ring *ring = &device->virtio.paging;
	u64 seqno = 0;
	u32 i, round;

	pagoda_ring_init(ring, &device->virtio, device->vq);
	KUNIT_EXPECT_EQ(test, RING_REQUESTS, ring->base.ops->depth(&ring->base));
	for (i = 0; i < RING_REQUESTS; i++)
		KUNIT_ASSERT_EQ(test, 0, ring_submit(device, i, ++seqno));
	for (round = 0; round < 3 * RING_SIZE; round++) {
		KUNIT_ASSERT_EQ(test, -ENOSPC, ring_submit(device, RING_REQUESTS, seqno + 1));
		KUNIT_EXPECT_EQ(test, seqno + 1 - RING_REQUESTS, ring_execute(device));
		ring_interrupt(device);
		ring_expect(device, round % RING_REQUESTS, PAGODA_OUTCOME_OK);
		KUNIT_ASSERT_EQ(test, 0, ring_submit(device, round % RING_REQUESTS, ++seqno));
	}
	/* Detaching the ring aborts the requests the device has; none is outstanding then. */
	pagoda_ring_detach(ring);
	for (i = 0; i < RING_REQUESTS; i++)
		ring_expect(device, i, PAGODA_OUTCOME_ABORTED);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&ring->outstanding));
	KUNIT_EXPECT_EQ(test, 0u, device->requests[RING_REQUESTS].completed);
}

/*
 * The sequence numbers that the device gets start at 1 again after each sleep, those of the driver
 * don't: the ring converts the numbers of requests, completions and faults.
 */
static void ring_counts_across_sleep(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_paging_interrupt);
	struct pagoda_ring *ring = &device->virtio.paging;
	u64 seqno = 0;
	u32 round, i;

	pagoda_ring_init(ring, &device->virtio, device->vq);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 3; i++)
			KUNIT_ASSERT_EQ(test, 0, ring_submit(device, i, ++seqno));
		for (i = 0; i < 2; i++)
			KUNIT_EXPECT_EQ(test, i + 1ull, ring_execute(device));
		KUNIT_EXPECT_EQ(test, 3ull, ring_answer(device, VIRTIO_PAGODA_STATUS_FAULT));
		ring_interrupt(device);
		for (i = 0; i < 2; i++)
			ring_expect(device, i, PAGODA_OUTCOME_OK);
		ring_expect(device, 2, PAGODA_OUTCOME_FAULT);
		KUNIT_EXPECT_EQ(test, (u32)VIRTIO_PAGODA_FAULT_UNSUPPORTED,
				device->requests[2].fault.reason);
		/*
		 * While the device has no power the ring has no virtqueue, refuses requests, and
		 * doesn't count these as outstanding.
		 */
		KUNIT_EXPECT_EQ(test, 0, pagoda_ring_attach(ring, NULL));
		KUNIT_EXPECT_EQ(test, -ENODEV, ring_submit(device, 0, seqno + 1));
		ring_make_queue(device, pagoda_paging_interrupt);
		KUNIT_EXPECT_EQ(test, 0, pagoda_ring_attach(ring, device->vq));
		KUNIT_EXPECT_EQ(test, 0, atomic_read(&ring->outstanding));
	}
}

static void ring_tell_late(struct ring_device *device)
{
	u16 index = ring_next(device);
	struct virtio_pagoda_event *event = ring_memory(device, index);

	*event = (struct virtio_pagoda_event) { .type = cpu_to_le32(VIRTIO_PAGODA_EVENT_FENCE) };
	ring_use(device, index, sizeof(*event));
}

/*
 * An event that comes after the driver found the ring empty is handled without an interrupt, and
 * the driver gives the buffer of each event to the device again.
 */
static void ring_last_look_for_events(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_event_interrupt);
	struct pagoda_event_queue *events = &device->virtio.events;
	u16 posted;

	pagoda_events_prepare(&device->virtio);
	events->vq = device->vq;
	KUNIT_ASSERT_EQ(test, 0, pagoda_events_init(&device->virtio));
	kunit_activate_static_stub(test, pagoda_virtio_listen, ring_listen_late);
	posted = virtio16_to_cpu(&device->vdev, device->vring.avail->idx);
	KUNIT_EXPECT_EQ(test, RING_SIZE, (u32)posted);
	ring_tell_late(device);
	device->late = ring_tell_late;
	ring_interrupt(device);
	KUNIT_EXPECT_NULL(test, device->late);
	KUNIT_EXPECT_EQ(test, posted + 2,
			virtio16_to_cpu(&device->vdev, device->vring.avail->idx));
	KUNIT_EXPECT_TRUE(test, ring_wants_interrupts(device));
	pagoda_events_detach(events);
	pagoda_events_fini(&device->virtio);
}

/*
 * After a sleep, during which there is no virtqueue for events, the device gets all event buffers
 * again, also that of an event before the sleep.
 */
static void ring_posts_events_after_sleep(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_event_interrupt);
	struct pagoda_event_queue *events = &device->virtio.events;

	pagoda_events_prepare(&device->virtio);
	events->vq = device->vq;
	KUNIT_ASSERT_EQ(test, 0, pagoda_events_init(&device->virtio));
	ring_tell_late(device);
	ring_interrupt(device);
	pagoda_events_detach(events);
	KUNIT_EXPECT_EQ(test, 0, pagoda_events_attach(events, NULL));
	ring_make_queue(device, pagoda_event_interrupt);
	KUNIT_EXPECT_EQ(test, 0, pagoda_events_attach(events, device->vq));
	KUNIT_EXPECT_EQ(test, RING_SIZE,
			(u32)virtio16_to_cpu(&device->vdev, device->vring.avail->idx));
	pagoda_events_detach(events);
	pagoda_events_fini(&device->virtio);
}

/* ---- Sleep ----------------------------------------------------------------------------- */

/* Stands in for the work function of a broken device, and takes 100 ms. */
static void ring_broken_work(struct work_struct *work)
{
	msleep(100);
}

/* &pagoda_virtio_callbacks.sleep: queues the work item, as if the device broke at that time. */
static int ring_sleep_broken(void *priv)
{
	struct ring_device *device = priv;

	schedule_work(&device->virtio.broken);
	return 0;
}

static int ring_sleep_refused(void *priv)
{
	ring_sleep_broken(priv);
	return -EBUSY;
}

/*
 * pagoda_power_freeze() waits for, or cancels, the work item of a report that the device is broken:
 * the report would be taken for one of the device that woke. A refused sleep leaves the work item.
 */
static void ring_forgets_reports_in_sleep(struct kunit *test)
{
	struct pagoda_virtio_callbacks callbacks = { .sleep = ring_sleep_broken };
	const struct pagoda_virtio_callbacks *top = pagoda_virtio_top;
	struct ring_device *device = ring_create(test, pagoda_event_interrupt);

	pagoda_events_prepare(&device->virtio);
	INIT_WORK(&device->virtio.broken, ring_broken_work);
	device->virtio.priv = device;
	pagoda_virtio_top = &callbacks;
	KUNIT_EXPECT_EQ(test, 0, pagoda_power_freeze(&device->vdev));
	KUNIT_EXPECT_EQ(test, 0u, work_busy(&device->virtio.broken));
	cancel_work_sync(&device->virtio.broken);
	callbacks.sleep = ring_sleep_refused;
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_power_freeze(&device->vdev));
	KUNIT_EXPECT_TRUE(test, flush_work(&device->virtio.broken));
	pagoda_virtio_top = top;
}

/* ---- Commands -------------------------------------------------------------------------- */

static bool ring_has_command(struct ring_device *device)
{
	return device->seen != virtio16_to_cpu(&device->vdev, READ_ONCE(device->vring.avail->idx));
}

/* Expects that the command which begins at descriptor @head is of @type, for @index. */
static void ring_expect_command(struct ring_device *device, u16 head, u32 type, u32 index)
{
	struct virtio_pagoda_control *command = ring_memory(device, head);

	KUNIT_EXPECT_EQ(device->test, type, le32_to_cpu(command->type));
	KUNIT_EXPECT_EQ(device->test, index, le32_to_cpu(command->index));
}

static void ring_answer_command(struct ring_device *device, u16 index, u64 seqno, u32 offset)
{
	struct virtio_pagoda_answer *answer = ring_memory(device, ring_last(device, index));

	*answer = (struct virtio_pagoda_answer) {
		.status = cpu_to_le32(VIRTIO_PAGODA_CONTROL_OK),
		.seqno = cpu_to_le64(seqno),
		.offset = cpu_to_le32(offset),
	};
	ring_use(device, index, sizeof(*answer));
}

/* &ring_device.late: answers the driver's next command, as soon as the driver has sent it. */
static void ring_command_answered(struct ring_device *device)
{
	if (ring_has_command(device))
		ring_answer_command(device, ring_next(device), 0, 0);
	else
		device->late = ring_command_answered;
}

/*
 * &ring_device.late of a control queue, for the command that resets a queue: executes one request
 * of @device->paging, gives two back as ABORTED, all without an interrupt, and answers the command
 * with the number of the executed request and offset 8.
 */
static void ring_queue_reset(struct ring_device *device)
{
	u64 done;
	u16 head;

	if (!ring_has_command(device)) {
		device->late = ring_queue_reset;
		return;
	}
	head = ring_next(device);
	ring_expect_command(device, head, VIRTIO_PAGODA_CONTROL_RESET_QUEUE,
			    device->paging->vq->index);
	done = ring_execute(device->paging);
	ring_answer(device->paging, VIRTIO_PAGODA_STATUS_ABORTED);
	ring_answer(device->paging, VIRTIO_PAGODA_STATUS_ABORTED);
	ring_answer_command(device, head, done, 8);
}

/*
 * &ring_device.late: keeps the driver's next command without an answer, and marks the virtqueue
 * broken, so that the driver doesn't wait for the answer.
 */
static void ring_command_kept(struct ring_device *device)
{
	if (!ring_has_command(device)) {
		device->late = ring_command_kept;
		return;
	}
	device->kept[device->nr_kept++] = ring_next(device);
	__virtqueue_break(device->vq);
}

static int ring_command(struct ring_device *device, void (*late)(struct ring_device *device))
{
	int ret;

	device->late = late;
	ret = pagoda_virtio_nop(&device->virtio);
	device->late = NULL;
	__virtqueue_unbreak(device->vq);
	return ret;
}

/*
 * Leaves as many commands without an answer as there are slots, and expects that another command
 * finds no free slot (-ETIMEDOUT).
 */
static void ring_keep_commands(struct ring_device *device)
{
	u32 i;

	device->nr_kept = 0;
	for (i = 0; i < PAGODA_CONTROL_SLOTS; i++)
		KUNIT_ASSERT_EQ(device->test, -ENODEV, ring_command(device, ring_command_kept));
	KUNIT_EXPECT_EQ(device->test, -ETIMEDOUT, ring_command(device, ring_command_answered));
}

/*
 * A command that isn't answered keeps its slot until the answer comes, however late, or until the
 * device is reset for a sleep.
 */
static void ring_gives_back_slots(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_control_interrupt);
	struct pagoda_control *control = &device->virtio.control;
	u32 i;

	control->vq = device->vq;
	KUNIT_ASSERT_EQ(test, 0, pagoda_control_init(&device->virtio));
	kunit_activate_static_stub(test, pagoda_virtio_listen, ring_listen_late);
	ring_keep_commands(device);
	for (i = 0; i < PAGODA_CONTROL_SLOTS; i++) {
		ring_answer_command(device, device->kept[i], 0, 0);
		KUNIT_EXPECT_EQ(test, 0, ring_command(device, ring_command_answered));
	}
	ring_keep_commands(device);
	pagoda_control_detach(control);
	pagoda_control_attach(control, NULL);
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_virtio_nop(&device->virtio));
	ring_make_queue(device, pagoda_control_interrupt);
	pagoda_control_attach(control, device->vq);
	ring_keep_commands(device);
	pagoda_control_detach(control);
	pagoda_control_fini(&device->virtio);
}

/*
 * When the reset of a queue returns, all requests are completed, although the device raised no
 * interrupt for them. The sequence number in the result is the driver's, also after a sleep.
 */
static void ring_reset_takes_all_back(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_paging_interrupt);
	struct ring_device *control = ring_create(test, pagoda_control_interrupt);
	struct pagoda_ring *ring = &device->virtio.paging;
	struct pagoda_reset_result result;
	u64 seqno = 0;
	u32 round, i;

	control->paging = device;
	device->virtio.control.vq = control->vq;
	KUNIT_ASSERT_EQ(test, 0, pagoda_control_init(&device->virtio));
	pagoda_ring_init(ring, &device->virtio, device->vq);
	kunit_activate_static_stub(test, pagoda_virtio_listen, ring_listen_late);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 3; i++)
			KUNIT_ASSERT_EQ(test, 0, ring_submit(device, i, ++seqno));
		control->late = ring_queue_reset;
		KUNIT_EXPECT_EQ(test, 0, ring->base.ops->reset(&ring->base, &result));
		KUNIT_EXPECT_EQ(test, seqno - 2, result.seqno);
		KUNIT_EXPECT_EQ(test, 8u, result.offset);
		ring_expect(device, 0, PAGODA_OUTCOME_OK);
		for (i = 1; i < 3; i++)
			ring_expect(device, i, PAGODA_OUTCOME_ABORTED);
		KUNIT_EXPECT_EQ(test, 0, pagoda_ring_attach(ring, NULL));
		KUNIT_EXPECT_EQ(test, -ENODEV, ring->base.ops->reset(&ring->base, &result));
		ring_make_queue(device, pagoda_paging_interrupt);
		KUNIT_EXPECT_EQ(test, 0, pagoda_ring_attach(ring, device->vq));
	}
	pagoda_control_fini(&device->virtio);
}

/*
 * &ring_device.late: answers the driver's command, without an interrupt, when the driver has found
 * no answer @device->looks times.
 */
static void ring_command_answered_late(struct ring_device *device)
{
	if (ring_has_command(device) && !--device->looks)
		ring_answer_command(device, ring_next(device), 0, 0);
	else
		device->late = ring_command_answered_late;
}

/* The driver finds an answer whose interrupt is lost, by looking for the answer again and again. */
static void ring_looks_for_answers(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_control_interrupt);
	struct pagoda_control *control = &device->virtio.control;

	control->vq = device->vq;
	KUNIT_ASSERT_EQ(test, 0, pagoda_control_init(&device->virtio));
	kunit_activate_static_stub(test, pagoda_virtio_listen, ring_listen_late);
	device->looks = 5;
	KUNIT_EXPECT_EQ(test, 0, ring_command(device, ring_command_answered_late));
	KUNIT_EXPECT_EQ(test, 0u, device->looks);
	pagoda_control_detach(control);
	pagoda_control_fini(&device->virtio);
}

/*
 * &ring_device.late of a control queue: executes a request of @device->paging without an interrupt,
 * and refuses the command that resets the queue.
 */
static void ring_reset_refused(struct ring_device *device)
{
	struct virtio_pagoda_answer *answer;
	u16 index;

	if (!ring_has_command(device)) {
		device->late = ring_reset_refused;
		return;
	}
	ring_execute(device->paging);
	index = ring_next(device);
	answer = ring_memory(device, ring_last(device, index));
	*answer = (struct virtio_pagoda_answer) {
		.status = cpu_to_le32(VIRTIO_PAGODA_CONTROL_EINVAL),
	};
	ring_use(device, index, sizeof(*answer));
}

/*
 * When a reset of the queue fails, a request that the device executed is completed, although its
 * interrupt was lost, and a request that the device didn't execute stays submitted.
 */
static void ring_failed_reset_looks(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_paging_interrupt);
	struct ring_device *control = ring_create(test, pagoda_control_interrupt);
	struct pagoda_ring *ring = &device->virtio.paging;
	struct pagoda_reset_result result;

	control->paging = device;
	device->virtio.control.vq = control->vq;
	KUNIT_ASSERT_EQ(test, 0, pagoda_control_init(&device->virtio));
	pagoda_ring_init(ring, &device->virtio, device->vq);
	kunit_activate_static_stub(test, pagoda_virtio_listen, ring_listen_late);
	KUNIT_ASSERT_EQ(test, 0, ring_submit(device, 0, 1));
	KUNIT_ASSERT_EQ(test, 0, ring_submit(device, 1, 2));
	control->late = ring_reset_refused;
	KUNIT_EXPECT_EQ(test, -EIO, ring->base.ops->reset(&ring->base, &result));
	ring_expect(device, 0, PAGODA_OUTCOME_OK);
	KUNIT_EXPECT_EQ(test, 0u, device->requests[1].completed);
	pagoda_ring_detach(ring);
	ring_expect(device, 1, PAGODA_OUTCOME_ABORTED);
	pagoda_control_fini(&device->virtio);
}

static void ring_stop_device(struct virtio_device *vdev)
{
	struct ring_device *device = container_of(vdev, struct ring_device, vdev);

	device->stopped = true;
}

/* Ends a callback that began, on another processor, before the device was reset. */
static void ring_end_callbacks(struct virtio_device *vdev)
{
	struct ring_device *device = container_of(vdev, struct ring_device, vdev);

	if (device->stopped)
		ring_interrupt(device);
}

/*
 * When the device is taken out of use, a callback that still runs completes what the device has
 * executed; the other requests are aborted after that.
 */
static void ring_waits_for_callbacks(struct kunit *test)
{
	static const struct virtio_config_ops config = {
		.reset = ring_stop_device,
		.synchronize_cbs = ring_end_callbacks,
	};
	struct ring_device *device = ring_create(test, pagoda_paging_interrupt);
	u32 i;

	device->vdev.config = &config;
	pagoda_ring_init(&device->virtio.paging, &device->virtio, device->vq);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, 0, ring_submit(device, i, i + 1));
	ring_execute(device);
	pagoda_virtio_quiet(&device->virtio);
	KUNIT_EXPECT_TRUE(test, device->stopped);
	ring_expect(device, 0, PAGODA_OUTCOME_OK);
	ring_expect(device, 1, PAGODA_OUTCOME_ABORTED);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&device->virtio.paging.outstanding));
}

/* &ring_device.late: answers commands that ask for RING_EXTENTS extents, with two at a time. */
static void ring_tell_extents(struct ring_device *device)
{
	struct virtio_pagoda_control *command;
	struct virtio_pagoda_answer *answer;
	struct virtio_pagoda_extent *extents;
	u32 i, first, count;
	u16 head;

	device->late = ring_tell_extents;
	if (!ring_has_command(device))
		return;
	head = ring_next(device);
	ring_expect_command(device, head, VIRTIO_PAGODA_CONTROL_GET_EXTENTS,
			    VIRTIO_PAGODA_EXTENTS_INVALID);
	command = ring_memory(device, head);
	answer = ring_memory(device, ring_last(device, head));
	extents = (void *)(answer + 1);
	first = le64_to_cpu(command->first);
	count = min(2u, RING_EXTENTS - first);
	for (i = 0; i < count; i++)
		extents[i].address = cpu_to_le64(first + i + 1);
	answer->status = cpu_to_le32(VIRTIO_PAGODA_CONTROL_OK);
	answer->count = cpu_to_le32(count);
	ring_use(device, head, sizeof(*answer) + count * sizeof(*extents));
}

/* A list that takes more than one answer is read completely, and nothing is stored behind it. */
static void ring_reads_extents(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_control_interrupt);
	struct pagoda_extent extents[RING_EXTENTS + 1];
	u32 i;

	memset(extents, 0xff, sizeof(extents));
	device->virtio.control.vq = device->vq;
	KUNIT_ASSERT_EQ(test, 0, pagoda_control_init(&device->virtio));
	kunit_activate_static_stub(test, pagoda_virtio_listen, ring_listen_late);
	device->late = ring_tell_extents;
	KUNIT_EXPECT_EQ(test, 0, pagoda_control_get_extents(&device->virtio,
							    VIRTIO_PAGODA_EXTENTS_INVALID,
							    extents, RING_EXTENTS));
	for (i = 0; i < RING_EXTENTS; i++)
		KUNIT_EXPECT_EQ(test, i + 1ull, extents[i].address);
	KUNIT_EXPECT_EQ(test, U64_MAX, extents[RING_EXTENTS].address);
	pagoda_control_fini(&device->virtio);
}

/*
 * A request that completes while interrupts are off raises no interrupt: pagoda_virtio_listen(),
 * which switches interrupts on, returns false, so that the caller looks again.
 */
static void ring_listen_tells(struct kunit *test)
{
	struct ring_device *device = ring_create(test, pagoda_paging_interrupt);

	pagoda_ring_init(&device->virtio.paging, &device->virtio, device->vq);
	KUNIT_ASSERT_EQ(test, 0, ring_submit(device, 0, 1));
	KUNIT_EXPECT_TRUE(test, pagoda_virtio_listen(device->vq));
	virtqueue_disable_cb(device->vq);
	ring_execute(device);
	KUNIT_EXPECT_FALSE(test, pagoda_virtio_listen(device->vq));
	KUNIT_EXPECT_EQ(test, 0u, device->requests[0].completed);
	ring_interrupt(device);
	ring_expect(device, 0, PAGODA_OUTCOME_OK);
	/* For a broken virtqueue the result is true: the caller must not look for ever. */
	KUNIT_ASSERT_EQ(test, 0, ring_submit(device, 0, 2));
	virtqueue_disable_cb(device->vq);
	ring_execute(device);
	__virtqueue_break(device->vq);
	KUNIT_EXPECT_TRUE(test, pagoda_virtio_listen(device->vq));
	__virtqueue_unbreak(device->vq);
	ring_interrupt(device);
	ring_expect(device, 0, PAGODA_OUTCOME_OK);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(ring_last_look),
	KUNIT_CASE(ring_of_an_engine),
	KUNIT_CASE(ring_gives_back_room),
	KUNIT_CASE(ring_counts_across_sleep),
	KUNIT_CASE(ring_last_look_for_events),
	KUNIT_CASE(ring_posts_events_after_sleep),
	KUNIT_CASE(ring_forgets_reports_in_sleep),
	KUNIT_CASE(ring_gives_back_slots),
	KUNIT_CASE(ring_reset_takes_all_back),
	KUNIT_CASE(ring_looks_for_answers),
	KUNIT_CASE(ring_failed_reset_looks),
	KUNIT_CASE(ring_waits_for_callbacks),
	KUNIT_CASE(ring_reads_extents),
	KUNIT_CASE(ring_listen_tells),
	{ }
};

static struct kunit_suite ring_suite = {
	.name = "pagoda_ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
