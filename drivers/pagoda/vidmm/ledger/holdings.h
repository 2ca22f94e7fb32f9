/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Holdings: the bytes of VRAM and of the aperture segment that clients hold, at any time.
 *
 * A client holds an allocation's place in a segment from the moment in which the place is allocated
 * until it is freed: both places while the allocation moves, and the last place of a freed
 * allocation until the device is done with it. Unlike that, a budget is charged for one segment:
 * that which the allocation is on its way to, or in. All holdings and what the driver holds for no
 * client are together what TTM counts as the usage of the segment.
 *
 * The tracepoint gpu_mem_total, of which Perfetto and others draw GPU memory, tells changes: the
 * holdings in VRAM and the aperture of all clients of a process together, and of the whole device
 * (pid 0). The first change after the tracepoint was enabled tells all processes.
 */
#ifndef PAGODA_VIDMM_LEDGER_HOLDINGS_H
#define PAGODA_VIDMM_LEDGER_HOLDINGS_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/virtio_pagoda.h>

struct pagoda_client;

/**
 * struct pagoda_holding - What a client holds
 * @node: Entry in &pagoda_holdings.all
 * @bytes: By segment id
 * @pid: Process that opened the client's file; 0 for what no client holds
 */
struct pagoda_holding {
	struct list_head node;
	u64 bytes[VIRTIO_PAGODA_SEGMENT_COUNT];
	u32 pid;
};

/**
 * struct pagoda_holdings - Holdings on a device
 * @lock: Protects all members, and those of the holdings
 * @all: List of struct pagoda_holding
 * @own: What the driver holds for no client
 * @gpu: Number of the device in traces; constant
 * @traced: The tracepoint was enabled at the last change
 */
struct pagoda_holdings {
	spinlock_t lock;	/* protects all members, and those of the holdings */
	struct list_head all;
	struct pagoda_holding own;
	u32 gpu;
	bool traced;
};

/**
 * struct pagoda_held - Place in a segment that counts in a holding
 * @client: Client that has the holding, a reference; NULL = the holding is &pagoda_holdings.own
 * @segment: Segment id
 * @bytes: Size of the place
 */
struct pagoda_held {
	struct pagoda_client *client;
	u32 segment;
	u64 bytes;
};

void pagoda_holdings_init(struct pagoda_holdings *holdings, u32 gpu);
void pagoda_holding_join(struct pagoda_holdings *holdings, struct pagoda_holding *holding, u32 pid);
void pagoda_holding_leave(struct pagoda_holdings *holdings, struct pagoda_holding *holding);
u64 pagoda_holding_bytes(struct pagoda_holdings *holdings, const struct pagoda_holding *holding,
			 u32 segment);
void pagoda_holding_change(struct pagoda_holdings *holdings, struct pagoda_holding *holding,
			   u32 segment, s64 bytes);

#endif
