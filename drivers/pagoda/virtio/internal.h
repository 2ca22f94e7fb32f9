/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of the virtio layer.
 *
 *	driver.c   finds devices, brings devices up and down
 *	device.c   functions that driver.c and power.c share
 *	power.c    brings devices down and up when the machine sleeps and wakes
 *	check.c    checks of the properties that a device reports
 *	answer.c   checks of a working device's answers
 *	control.c  control commands, and the waits for their answers
 *	ring.c     requests: the transport of the paging queue and of each engine
 *	exec.c     the engines' queues
 *	event.c    notifications of the device
 *
 * Calls to the upper layers are made without a lock of this layer, except for events, which are
 * passed up under pagoda_event_queue.lock. What the device wrote to memory is copied before it is
 * checked and used.
 */
#ifndef PAGODA_VIRTIO_INTERNAL_H
#define PAGODA_VIRTIO_INTERNAL_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include "virtio.h"

#define PAGODA_MAX_QUEUES	(VIRTIO_PAGODA_QUEUE_EXEC0 + VIRTIO_PAGODA_MAX_ENGINES)

/**
 * PAGODA_CONTROL_TIMEOUT_MS: time after which a control command counts as unanswered. An unanswered
 * reset of a queue causes a reset of the device, so the time must be enough on a busy machine.
 */
#define PAGODA_CONTROL_TIMEOUT_MS	3000
/**
 * PAGODA_RESET_TIMEOUT_MS: largest timeout of RESET_ADAPTER, well below TTM's 15 s waits. The
 * device may clear its VRAM, and gets a second per GiB more for RESET_ADAPTER than for other
 * commands.
 */
#define PAGODA_RESET_TIMEOUT_MS		10000
/**
 * PAGODA_CONTROL_SLOTS: most commands that the device may have at a time: the current command and
 * commands that timed out.
 */
#define PAGODA_CONTROL_SLOTS		4
/**
 * PAGODA_EVENT_BUFFERS: most events that the device can send before the driver handles the first.
 */
#define PAGODA_EVENT_BUFFERS		64

/**
 * struct pagoda_ring - A queue of requests: the paging queue or an engine's queue
 * @base: Transport
 * @virtio: Device
 * @vq: Virtqueue; NULL while the device has no power
 * @lock: Protects @vq, @last and @before
 * @depth: Number of requests that have room in the ring
 * @last: Number of the last request given to the device
 * @before: Value of @last when the device last lost its power, since when the device counts
 *	requests from 1: added to numbers from the device, subtracted from numbers to the device
 * @outstanding: Number of submitted requests whose complete() hasn't returned yet
 * @doorbells: Number of notifications sent to the device
 */
struct pagoda_ring {
	struct pagoda_transport base;
	struct pagoda_virtio *virtio;
	struct virtqueue *vq;
	spinlock_t lock;	/* protects vq, last, before */
	u32 depth;
	u64 last;
	u64 before;
	atomic_t outstanding;
	atomic64_t doorbells;
};

/**
 * struct pagoda_control_slot - A command with its answer
 * @command: Command, read by the device
 * @reply: Answer, written by the device
 * @reply.answer: Head of the answer
 * @reply.extents: GET_EXTENTS: entries of the list
 * @reply.words: QUERY_DIRTY: a bit for each page of the range
 * @len: Bytes of @reply that the device says it wrote
 * @busy: The device has the slot; protected by pagoda_control.lock
 */
struct pagoda_control_slot {
	struct virtio_pagoda_control command;
	struct {
		struct virtio_pagoda_answer answer;
		union {
			struct virtio_pagoda_extent extents[VIRTIO_PAGODA_MAX_EXTENTS_PER_ANSWER];
			__le64 words[VIRTIO_PAGODA_MAX_DIRTY_PAGES / 64];
		};
	} reply ____cacheline_aligned;
	u32 len ____cacheline_aligned;
	bool busy;
};

/**
 * struct pagoda_control - The control queue
 * @vq: Virtqueue; NULL while the device has no power; set with @lock held
 * @lock: Serializes commands, and with them all uses of the virtqueue while the device works. Taken
 *	in the dma_fence signalling path (reset): no allocation under @lock
 * @answered: Completed by the interrupt of the control queue
 * @answer: The driver's copy of the head of the last answer; protected by @lock
 * @slots: Commands; the slot of a command that timed out stays busy until the device returns it
 */
struct pagoda_control {
	struct virtqueue *vq;
	struct mutex lock;	/* one command at a time */
	struct completion answered;
	struct virtio_pagoda_answer answer;
	struct pagoda_control_slot *slots;
};

/**
 * struct pagoda_event_queue - The event queue
 * @vq: Virtqueue; NULL while the device has no power
 * @lock: Protects @vq and @enabled; held during &pagoda_virtio_callbacks.event
 * @enabled: Events are passed to &pagoda_virtio_callbacks.event
 * @buffers: Buffers that the device writes
 * @count: Number of @buffers
 */
struct pagoda_event_queue {
	struct virtqueue *vq;
	spinlock_t lock;	/* protects vq, enabled */
	bool enabled;
	struct virtio_pagoda_event *buffers;
	u32 count;
};

/**
 * struct pagoda_virtio - A device
 * @vdev: virtio device
 * @config: Copy of the configuration space at probe
 * @info: Properties that the device reported; constant after probe
 * @window: Array to which pagoda_device_info.window points
 * @invalid: Array to which pagoda_device_info.invalid points
 * @swizzling: Array to which pagoda_device_info.swizzling points
 * @control: Control queue
 * @paging: Paging queue
 * @events: Event queue
 * @engines: Execution queues, of which there are pagoda_device_info.num_engines
 * @broken: Work item that runs when the device has reported NEEDS_RESET
 * @priv: Argument of &struct pagoda_virtio_callbacks; constant from probe to remove
 */
struct pagoda_virtio {
	struct virtio_device *vdev;
	struct virtio_pagoda_config config;
	struct pagoda_device_info info;
	struct pagoda_extent *window;
	struct pagoda_extent *invalid;
	struct pagoda_extent *swizzling;
	struct pagoda_control control;
	struct pagoda_ring paging;
	struct pagoda_event_queue events;
	struct pagoda_ring *engines;
	struct work_struct broken;
	void *priv;
};

/*
 * device.c: read the configuration and extent lists, create the virtqueues; reset the device and
 * take back all that it has
 */
void pagoda_virtio_read_space(struct virtio_device *vdev, struct virtio_pagoda_config *config);
int pagoda_virtio_find_queues(struct pagoda_virtio *virtio, struct virtqueue **vqs);
int pagoda_virtio_read_list(struct pagoda_virtio *virtio, u32 list, u32 count,
			    struct pagoda_extent **extents);
void pagoda_virtio_quiet(struct pagoda_virtio *virtio);

/* power.c: &virtio_driver.freeze and .restore, for sleep and wake-up of the machine */
int pagoda_power_freeze(struct virtio_device *vdev);
int pagoda_power_restore(struct virtio_device *vdev);

/* control.c: set-up, interrupt and end of the control queue; send commands and wait for answers */
int pagoda_control_init(struct pagoda_virtio *virtio);
void pagoda_control_detach(struct pagoda_control *control);
void pagoda_control_attach(struct pagoda_control *control, struct virtqueue *vq);
void pagoda_control_fini(struct pagoda_virtio *virtio);
void pagoda_control_interrupt(struct virtqueue *vq);
int pagoda_control_reset_queue(struct pagoda_virtio *virtio, u32 index,
			       struct pagoda_reset_result *result);
int pagoda_control_command(struct pagoda_virtio *virtio, const struct pagoda_command *command);
int pagoda_control_get_extents(struct pagoda_virtio *virtio, u32 list,
			       struct pagoda_extent *extents, u32 count);

/*
 * ring.c: rings of the paging queue and of engines: set-up, completions, attach and detach of
 * virtqueues; answer.c: pagoda_virtio_listen(), which switches interrupts of a virtqueue on
 */
bool pagoda_virtio_listen(struct virtqueue *vq);
void pagoda_ring_init(struct pagoda_ring *ring, struct pagoda_virtio *virtio,
		      struct virtqueue *vq);
void pagoda_ring_drain(struct pagoda_ring *ring);
void pagoda_ring_detach(struct pagoda_ring *ring);
int pagoda_ring_attach(struct pagoda_ring *ring, struct virtqueue *vq);
void pagoda_paging_interrupt(struct virtqueue *vq);

/* exec.c: the engines' rings: set-up, attach and detach of virtqueues, completions, end */
int pagoda_exec_init(struct pagoda_virtio *virtio, struct virtqueue **vqs);
void pagoda_exec_detach(struct pagoda_virtio *virtio);
int pagoda_exec_attach(struct pagoda_virtio *virtio, struct virtqueue **vqs);
void pagoda_exec_fini(struct pagoda_virtio *virtio);
void pagoda_exec_interrupt(struct virtqueue *vq);

/* event.c: the event queue: set-up, attach and detach of its virtqueue, events, end */
int pagoda_events_init(struct pagoda_virtio *virtio);
void pagoda_events_detach(struct pagoda_event_queue *events);
int pagoda_events_attach(struct pagoda_event_queue *events, struct virtqueue *vq);
void pagoda_events_fini(struct pagoda_virtio *virtio);
void pagoda_events_prepare(struct pagoda_virtio *virtio);
void pagoda_events_config_changed(struct virtio_device *vdev);
void pagoda_events_enable(struct pagoda_virtio *virtio, bool enable);
void pagoda_event_interrupt(struct virtqueue *vq);

/* event.c: the callbacks that pagoda_virtio_register() was given */
extern const struct pagoda_virtio_callbacks *pagoda_virtio_top;

#endif
