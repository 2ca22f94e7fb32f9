/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtio layer: finds devices, checks the properties that a device reports, carries requests
 * and control commands to the device, and passes events of the device on. No other part of the
 * driver includes headers of Linux's virtio core, or parses completions, answers or events.
 *
 * The top of the driver (pagoda/driver.c) registers its callbacks; from then on the upper layers
 * call this layer, and this layer calls only those callbacks and &pagoda_request.complete.
 */
#ifndef PAGODA_VIRTIO_VIRTIO_H
#define PAGODA_VIRTIO_VIRTIO_H

#include <linux/types.h>
#include "core/info.h"
#include "core/transport.h"

struct device;
struct pagoda_device_info;
struct pagoda_transport;
struct pagoda_virtio;

/**
 * struct pagoda_event - struct virtio_pagoda_event, checked and in CPU order
 * @type: enum virtio_pagoda_event_type
 * @lost: Number of events that the device dropped between the event before and this event
 * @value: FENCE: the value that the packet or command signalled
 * @queue: FAULT: virtqueue number of the request that faulted; not checked
 * @seqno: FAULT: number, on its queue, of the request that faulted; not checked
 * @context: FAULT: execution context, 0 = none; FENCE: context whose job signalled, 0 = none: a
 *	packet signalled; not checked
 * @fault: FAULT: where and why the request faulted. FENCE: @fault.address is the address that the
 *	packet or command named, other members are zero. RESET: zero
 */
struct pagoda_event {
	u32 type;
	u32 lost;
	u64 value;
	u32 queue;
	u64 seqno;
	u64 context;
	struct pagoda_fault fault;
};

/**
 * struct pagoda_virtio_callbacks - Calls to the top of the driver (pagoda/driver.c)
 * @probe: A device was found and works; *@priv is passed to the other callbacks. May sleep; 0,
 *	or a negative error code, with which the device's probe fails
 * @remove: The device is being removed. After the return nothing of @priv may use the device;
 *	until the return the device, if alive, still executes requests. May sleep
 * @sleep: The device will lose its power. May sleep. After a return of 0 nothing of @priv uses
 *	the device until @wake; after an error the device keeps its power
 * @wake: The device has its power back after @sleep, or, if @error isn't 0, can't be used again.
 *	May sleep; 0, or a negative error code if the upper layers won't use the device any more
 * @event: The device sent an event, or reported that it doesn't work any more, which is passed on
 *	as a RESET event. Called with interrupts off; never before @probe returned 0, while the
 *	device has no power, nor after @remove began. May be NULL
 */
struct pagoda_virtio_callbacks {
	int (*probe)(struct pagoda_virtio *virtio, void **priv);
	void (*remove)(void *priv);
	int (*sleep)(void *priv);
	int (*wake)(void *priv, int error);
	void (*event)(void *priv, const struct pagoda_event *event);
};

/*
 * driver.c: registration of the virtio driver; what probe found out about a device; transport of
 * the paging queue
 */
int pagoda_virtio_register(const struct pagoda_virtio_callbacks *callbacks);
void pagoda_virtio_unregister(void);
struct device *pagoda_virtio_device(struct pagoda_virtio *virtio);
const struct pagoda_device_info *pagoda_virtio_info(struct pagoda_virtio *virtio);
struct pagoda_transport *pagoda_virtio_transport(struct pagoda_virtio *virtio);

/* exec.c: transport of an engine */
struct pagoda_transport *pagoda_virtio_engine_transport(struct pagoda_virtio *virtio,
							u32 engine);

/* control.c: sends a command that does nothing, and waits for the answer */
int pagoda_virtio_nop(struct pagoda_virtio *virtio);

#endif
