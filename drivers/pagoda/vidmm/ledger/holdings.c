// SPDX-License-Identifier: GPL-2.0
/* What clients hold of VRAM and the aperture (holdings.h); the tracepoint that tells the sums. */
#include <linux/bug.h>
#include <linux/lockdep.h>
#include <trace/events/gpu_mem.h>
#include "holdings.h"

/* Returns the bytes that a holding has in VRAM and in the aperture segment together. */
static u64 holding_sum(const struct pagoda_holding *holding)
{
	return holding->bytes[VIRTIO_PAGODA_SEGMENT_VRAM] +
	       holding->bytes[VIRTIO_PAGODA_SEGMENT_APERTURE];
}

static void trace_process(struct pagoda_holdings *holdings, u32 pid)
{
	struct pagoda_holding *holding;
	u64 bytes = 0;

	list_for_each_entry(holding, &holdings->all, node)
		if (holding->pid == pid)
			bytes += holding_sum(holding);
	trace_gpu_mem_total(holdings->gpu, pid, bytes);
}

/* Returns whether no holding in front of @holding in the list is of the same process. */
static bool is_first_of_process(struct pagoda_holdings *holdings,
				const struct pagoda_holding *holding)
{
	struct pagoda_holding *before;

	list_for_each_entry(before, &holdings->all, node)
		if (before->pid == holding->pid)
			break;
	return before == holding;
}

static void trace_device(struct pagoda_holdings *holdings)
{
	struct pagoda_holding *holding;
	u64 bytes = 0;

	list_for_each_entry(holding, &holdings->all, node)
		bytes += holding_sum(holding);
	trace_gpu_mem_total(holdings->gpu, 0, bytes);
}

static void trace_change(struct pagoda_holdings *holdings, const struct pagoda_holding *changed)
{
	bool first = !holdings->traced;
	struct pagoda_holding *holding;

	lockdep_assert_held(&holdings->lock);
	holdings->traced = trace_gpu_mem_total_enabled();
	if (!holdings->traced)
		return;
	list_for_each_entry(holding, &holdings->all, node)
		if (holding->pid && (first ? is_first_of_process(holdings, holding) :
					     holding == changed))
			trace_process(holdings, holding->pid);
	trace_device(holdings);
}

/* Sets up the holdings of a device; @gpu is the device's number in traces. */
void pagoda_holdings_init(struct pagoda_holdings *holdings, u32 gpu)
{
	spin_lock_init(&holdings->lock);
	INIT_LIST_HEAD(&holdings->all);
	holdings->gpu = gpu;
	list_add(&holdings->own.node, &holdings->all);
}

/* Adds a client's holding, which is all zeros. */
void pagoda_holding_join(struct pagoda_holdings *holdings, struct pagoda_holding *holding, u32 pid)
{
	holding->pid = pid;
	spin_lock(&holdings->lock);
	list_add_tail(&holding->node, &holdings->all);
	trace_change(holdings, holding);
	spin_unlock(&holdings->lock);
}

/* Removes the holding of a client that holds nothing any more. */
void pagoda_holding_leave(struct pagoda_holdings *holdings, struct pagoda_holding *holding)
{
	spin_lock(&holdings->lock);
	WARN_ON(holding_sum(holding));
	list_del(&holding->node);
	spin_unlock(&holdings->lock);
}

/* Returns the bytes of a segment in a holding, which is what a client holds (holdings.h). */
u64 pagoda_holding_bytes(struct pagoda_holdings *holdings, const struct pagoda_holding *holding,
			 u32 segment)
{
	u64 bytes;

	spin_lock(&holdings->lock);
	bytes = holding->bytes[segment];
	spin_unlock(&holdings->lock);
	return bytes;
}

/*
 * Adds @bytes, negative when a place is freed, to what a holding has of a segment, and traces the
 * new sums if gpu_mem_total is enabled. Any context but interrupts.
 */
void pagoda_holding_change(struct pagoda_holdings *holdings, struct pagoda_holding *holding,
			   u32 segment, s64 bytes)
{
	spin_lock(&holdings->lock);
	holding->bytes[segment] += bytes;
	trace_change(holdings, holding);
	spin_unlock(&holdings->lock);
}
