/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtio layer: finds devices, checks what they report about themselves, and carries buffers to
 * them. The only part of the driver that includes virtio headers and parses data from the device.
 *
 * The top of the driver registers its callbacks; from then on calls go down only, except for those
 * callbacks and the completion of requests.
 */
#ifndef PAGODA_VIRTIO_H
#define PAGODA_VIRTIO_H

#include <linux/types.h>
#include "core/transport.h"

struct device;
struct pagoda_virtio;

/**
 * struct pagoda_extent - Entry of an extent list, checked and in CPU order
 * @address: CPU window: physical address; invalid ranges: 0
 * @offset: Offset of the first byte in VRAM
 * @size: Bytes, not zero
 */
struct pagoda_extent {
	u64 address;
	u64 offset;
	u64 size;
};

/**
 * struct pagoda_device_info - Properties that the device reported, all of them checked
 * @dma_dev: Device to map memory for; its DMA mask is set
 * @features: All negotiated features except for virtio's own, as &pagoda_paging_limits.features
 * @vram_size: Bytes of VRAM, multiple of the page size
 * @visible_size: Bytes from the start of VRAM that @window covers, 0 = none
 * @aperture_pages: Pages of the aperture
 * @max_buffer_bytes: Largest paging buffer, multiple of the page size
 * @max_runs: Most runs in one packet, at least 2
 * @num_engines: Execution engines, at least 1
 * @alignment: Bytes VRAM allocations are aligned to; power of two, at least a page
 * @system_address_bits: Width of the bus addresses that the device can emit
 * @va_bits: Width of GPU virtual addresses or 0
 * @pt_levels: Levels of page tables or 0
 * @page_sizes: Bit n set: pages of 2^n bytes
 * @max_address_spaces: Address spaces that the device holds roots of; space 0 belongs to the
 *	paging process
 * @swizzling_ranges: Number of swizzling ranges
 * @swizzling_bytes: Bytes of the window of each swizzling range
 * @mmu_pages: Pages MAP_MMU can map; 0 = the device has no MMU of its own
 * @dual_pte: Level-1 entries hold two tables
 * @invalid_not_cached: The device's TLB never holds an invalid entry
 * @coherent: The device snoops CPU caches where a mapping asks for it
 * @vram_zeroed: VRAM reads as zeros after the reset that precedes probe
 * @preserved_standby: Bytes from the start of VRAM that keep their content in standby
 * @preserved_hibernate: Bytes from the start of VRAM that keep their content in hibernation
 * @window: Entries of the CPU window, sorted by offset, covering exactly [0, @visible_size)
 * @nr_window: Entries of @window
 * @invalid: VRAM that must not be used, sorted by offset, not overlapping, page aligned
 * @nr_invalid: Entries of @invalid
 * @swizzling: CPU's view of the swizzling ranges' windows, sorted by offset, covering [0,
 *	@swizzling_ranges * @swizzling_bytes)
 * @nr_swizzling: Entries of @swizzling
 */
struct pagoda_device_info {
	struct device *dma_dev;
	u64 features;
	u64 vram_size;
	u64 visible_size;
	u64 aperture_pages;
	u32 max_buffer_bytes;
	u32 max_runs;
	u32 num_engines;
	u32 alignment;
	u32 system_address_bits;
	u32 va_bits;
	u32 pt_levels;
	u32 page_sizes;
	u32 max_address_spaces;
	u32 swizzling_ranges;
	u64 swizzling_bytes;
	u64 mmu_pages;
	bool dual_pte;
	bool invalid_not_cached;
	bool coherent;
	bool vram_zeroed;
	u64 preserved_standby;
	u64 preserved_hibernate;
	const struct pagoda_extent *window;
	u32 nr_window;
	const struct pagoda_extent *invalid;
	u32 nr_invalid;
	const struct pagoda_extent *swizzling;
	u32 nr_swizzling;
};

/**
 * struct pagoda_event - struct virtio_pagoda_event, checked and in CPU order
 * @type: enum virtio_pagoda_event_type
 * @lost: Events the device dropped before this one
 * @value: FENCE: the value written
 * @queue: FAULT: virtqueue number
 * @seqno: FAULT: request number on that queue
 * @context: FAULT: execution context or 0
 * @fault: FAULT: coordinates; FENCE: @fault.address is the fence's
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
 * struct pagoda_virtio_callbacks - Calls to the top of the driver
 * @probe: A device was found and works; *@priv is passed to the other callbacks. May sleep; 0
 *	or a negative error code, which undoes everything
 * @remove: The device is being removed. After the return nothing of @priv may use the device;
 *	work in flight still executes until then if the device is alive. May sleep
 * @sleep: The device will lose its power. May sleep. After a return of 0 nothing of @priv uses
 *	the device until @wake; after an error the device keeps its power
 * @wake: The device has its power back after @sleep, or the argument is the error for which
 *	the device can't be used again. May sleep; 0, or a negative error code if the top won't use
 *	the device
 * @event: The device sent an event. Called with interrupts off; never before @probe returned 0,
 *	between @sleep and @wake, nor after @remove began. May be NULL
 */
struct pagoda_virtio_callbacks {
	int (*probe)(struct pagoda_virtio *virtio, void **priv);
	void (*remove)(void *priv);
	int (*sleep)(void *priv);
	int (*wake)(void *priv, int error);
	void (*event)(void *priv, const struct pagoda_event *event);
};

int pagoda_virtio_register(const struct pagoda_virtio_callbacks *callbacks);
void pagoda_virtio_unregister(void);

struct device *pagoda_virtio_device(struct pagoda_virtio *virtio);
const struct pagoda_device_info *pagoda_virtio_info(struct pagoda_virtio *virtio);
struct pagoda_transport *pagoda_virtio_transport(struct pagoda_virtio *virtio);
struct pagoda_transport *pagoda_virtio_engine_transport(struct pagoda_virtio *virtio,
							u32 engine);
int pagoda_virtio_nop(struct pagoda_virtio *virtio);

#endif
