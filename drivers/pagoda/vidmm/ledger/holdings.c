// SPDX-License-Identifier: GPL-2.0
/* What clients hold of each segment (holdings.h). */
#include <linux/bug.h>
#include "holdings.h"

/* Returns the bytes of GPU memory, which the system segment isn't. */
static u64 holding_sum(const struct pagoda_holding *holding)
{
	return holding->bytes[VIRTIO_PAGODA_SEGMENT_VRAM] +
	       holding->bytes[VIRTIO_PAGODA_SEGMENT_APERTURE];
}

/* Sets up the holdings of a device. */
void pagoda_holdings_init(struct pagoda_holdings *holdings)
{
	spin_lock_init(&holdings->lock);
	INIT_LIST_HEAD(&holdings->all);
	list_add(&holdings->own.node, &holdings->all);
}

/* Adds a client's holding, which is all zeros. */
void pagoda_holding_join(struct pagoda_holdings *holdings, struct pagoda_holding *holding)
{
	spin_lock(&holdings->lock);
	list_add_tail(&holding->node, &holdings->all);
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

/* Returns the bytes of a segment in a holding. */
u64 pagoda_holding_bytes(struct pagoda_holdings *holdings, const struct pagoda_holding *holding,
			 u32 segment)
{
	u64 bytes;

	spin_lock(&holdings->lock);
	bytes = holding->bytes[segment];
	spin_unlock(&holdings->lock);
	return bytes;
}

/* Adds @bytes, negative when places are freed, to a holding. Any context but interrupts. */
void pagoda_holding_change(struct pagoda_holdings *holdings, struct pagoda_holding *holding,
			   u32 segment, s64 bytes)
{
	spin_lock(&holdings->lock);
	holding->bytes[segment] += bytes;
	spin_unlock(&holdings->lock);
}
