// SPDX-License-Identifier: GPL-2.0
/*
 * The device's side of a split virtqueue.
 *
 * The ring is memory the driver may write at any time: an index is read once,
 * bounded, and only then used; a chain is as long as the ring at most, so that
 * a loop ends; what a descriptor points at is looked up like any other bus
 * address. Error returns mean that the ring can't be trusted any further.
 */
#include <linux/errno.h>

#include "vgpu.h"

static u16 pagoda_ring_load16(const __virtio16 *from)
{
	return __virtio16_to_cpu(true, READ_ONCE(*from));
}

static void pagoda_ring_store16(__virtio16 *to, u16 value)
{
	WRITE_ONCE(*to, __cpu_to_virtio16(true, value));
}

/**
 * pagoda_vgpu_ring_init() - Start on a ring that was just created
 * @ring: Ring to initialize
 * @vq: The driver's side of it
 */
void pagoda_vgpu_ring_init(struct pagoda_vgpu_ring *ring, struct virtqueue *vq)
{
	memset(ring, 0, sizeof(*ring));
	ring->vring = *virtqueue_get_vring(vq);
	ring->event_idx = __virtio_test_bit(vq->vdev, VIRTIO_RING_F_EVENT_IDX);
	ring->indirect = __virtio_test_bit(vq->vdev, VIRTIO_RING_F_INDIRECT_DESC);
}

/* A descriptor, read once and turned into native order. */
struct pagoda_ring_desc {
	u64 address;
	u32 length;
	u16 flags;
	u16 next;
};

static struct pagoda_ring_desc pagoda_ring_desc_load(const struct vring_desc *from)
{
	return (struct pagoda_ring_desc) {
		.address = __virtio64_to_cpu(true, READ_ONCE(from->addr)),
		.length = __virtio32_to_cpu(true, READ_ONCE(from->len)),
		.flags = pagoda_ring_load16(&from->flags),
		.next = pagoda_ring_load16(&from->next),
	};
}

static void *pagoda_ring_memory(u64 address, u32 want, u32 *got)
{
	u64 size = 0;
	void *here;

	if (address >> 52)
		return NULL;
	here = pagoda_vgpu_system_span(NULL, address, want, &size);
	*got = min_t(u64, size, want);
	return here;
}

/* Bytes from the driver: looked at as far as they fit, counted all the same. */
static int pagoda_chain_read(struct pagoda_vgpu_chain *chain,
			     const struct pagoda_ring_desc *desc, void *buffer, u32 size)
{
	u32 room = chain->readable < size ? size - chain->readable : 0;
	u32 left = min(desc->length, room);
	u64 address = desc->address;
	u32 got;

	buffer += chain->readable;
	chain->readable += desc->length;
	for (; left; address += got, buffer += got, left -= got) {
		const void *here = pagoda_ring_memory(address, left, &got);

		if (!here)
			return -EFAULT;
		memcpy(buffer, here, got);
	}
	return 0;
}

/* Room for the answer; what is beyond a few pieces is not needed by any. */
static int pagoda_chain_room(struct pagoda_vgpu_chain *chain, const struct pagoda_ring_desc *desc)
{
	u64 address = desc->address;
	u32 left = desc->length;
	u32 got;

	for (; left && chain->nr_writable < PAGODA_VGPU_CHAIN_WRITABLE;
	     address += got, left -= got) {
		void *here = pagoda_ring_memory(address, left, &got);

		if (!here || got > U32_MAX - chain->writable_bytes)
			return -EFAULT;
		chain->writable[chain->nr_writable].here = here;
		chain->writable[chain->nr_writable].size = got;
		chain->nr_writable++;
		chain->writable_bytes += got;
	}
	return 0;
}

/* Finds the table of an indirect descriptor, whole and in one piece. */
static const struct vring_desc *
pagoda_chain_indirect(const struct pagoda_vgpu_ring *ring, const struct pagoda_ring_desc *desc,
		      u32 *size)
{
	u32 got = 0;
	void *table;

	if (!ring->indirect || desc->flags & VRING_DESC_F_NEXT || !desc->length ||
	    desc->length % sizeof(struct vring_desc) || desc->address % 16)
		return NULL;
	table = pagoda_ring_memory(desc->address, desc->length, &got);
	if (!table || got < desc->length)
		return NULL;
	*size = desc->length / sizeof(struct vring_desc);
	return table;
}

static int pagoda_chain_walk(const struct pagoda_vgpu_ring *ring, struct pagoda_vgpu_chain *chain,
			     void *buffer, u32 size)
{
	const struct vring_desc *table = ring->vring.desc;
	u32 entries = ring->vring.num;
	u32 left = ring->vring.num;
	u16 next = chain->head;
	int err;

	for (; left; left--) {
		struct pagoda_ring_desc desc;

		if (next >= entries)
			return -EINVAL;
		desc = pagoda_ring_desc_load(&table[next]);
		if (desc.flags & VRING_DESC_F_INDIRECT) {
			if (table != ring->vring.desc)
				return -EINVAL;
			table = pagoda_chain_indirect(ring, &desc, &entries);
			if (!table)
				return -EINVAL;
			next = 0;
			continue;
		}
		if (desc.flags & VRING_DESC_F_WRITE)
			err = pagoda_chain_room(chain, &desc);
		else if (chain->nr_writable)
			err = -EINVAL;
		else
			err = pagoda_chain_read(chain, &desc, buffer, size);
		if (err || !(desc.flags & VRING_DESC_F_NEXT))
			return err;
		next = desc.next;
	}
	return -ELOOP;
}

/**
 * pagoda_vgpu_ring_pop() - Take the next chain the driver made available
 * @ring: Ring
 * @chain: Receives its shape
 * @buffer: Receives the bytes the driver sent
 * @size: Room in @buffer; what doesn't fit is counted and not copied
 *
 * Return: 1, 0 when there is none, or a negative error when the ring or the
 * chain makes no sense.
 */
int pagoda_vgpu_ring_pop(struct pagoda_vgpu_ring *ring, struct pagoda_vgpu_chain *chain,
			 void *buffer, u32 size)
{
	u16 available = pagoda_ring_load16(&ring->vring.avail->idx);
	u16 pending = available - ring->next_avail;
	int err;

	if (!pending)
		return 0;
	if (pending > ring->vring.num)
		return -EINVAL;
	virt_rmb();	/* the entry is read after the index that announced it */
	memset(chain, 0, sizeof(*chain));
	chain->head = pagoda_ring_load16(&ring->vring.avail->ring[ring->next_avail %
								  ring->vring.num]);
	ring->next_avail++;
	err = pagoda_chain_walk(ring, chain, buffer, size);
	return err ? err : 1;
}

/**
 * pagoda_vgpu_ring_push() - Give a chain back
 * @ring: Ring
 * @head: The chain's first descriptor
 * @written: Bytes written to it
 */
void pagoda_vgpu_ring_push(struct pagoda_vgpu_ring *ring, u16 head, u32 written)
{
	struct vring_used_elem *entry = &ring->vring.used->ring[ring->next_used % ring->vring.num];

	WRITE_ONCE(entry->id, __cpu_to_virtio32(true, head));
	WRITE_ONCE(entry->len, __cpu_to_virtio32(true, written));
	virt_wmb();	/* the entry and the answer are seen before the index */
	pagoda_ring_store16(&ring->vring.used->idx, ++ring->next_used);
}

/**
 * pagoda_vgpu_ring_interrupts() - Does the driver want to hear of what was pushed?
 * @ring: Ring
 *
 * Asking is telling: the same chains are not reported twice.
 *
 * Return: true when it asked for an interrupt.
 */
bool pagoda_vgpu_ring_interrupts(struct pagoda_vgpu_ring *ring)
{
	u16 before = ring->signalled;

	virt_mb();	/* the used index is out before the driver's wish is read */
	ring->signalled = ring->next_used;
	if (ring->event_idx)
		return vring_need_event(pagoda_ring_load16(&vring_used_event(&ring->vring)),
					ring->next_used, before);
	return !(pagoda_ring_load16(&ring->vring.avail->flags) & VRING_AVAIL_F_NO_INTERRUPT);
}

/**
 * pagoda_vgpu_ring_mute() - Ask for no doorbells, the ring is being polled
 * @ring: Ring
 *
 * With event indices there is nothing to do: the event stays where it is and
 * is passed once.
 */
void pagoda_vgpu_ring_mute(struct pagoda_vgpu_ring *ring)
{
	if (!ring->event_idx)
		pagoda_ring_store16(&ring->vring.used->flags, VRING_USED_F_NO_NOTIFY);
}

/**
 * pagoda_vgpu_ring_listen() - Ask for a doorbell, the thread is about to sleep
 * @ring: Ring
 *
 * Return: true when something became available meanwhile and nobody will ring.
 */
bool pagoda_vgpu_ring_listen(struct pagoda_vgpu_ring *ring)
{
	if (ring->event_idx)
		pagoda_ring_store16(&vring_avail_event(&ring->vring), ring->next_avail);
	else
		pagoda_ring_store16(&ring->vring.used->flags, 0);
	virt_mb();	/* the wish is out before the index is read once more */
	return pagoda_ring_load16(&ring->vring.avail->idx) != ring->next_avail;
}

/**
 * pagoda_vgpu_chain_write() - Write to a chain's answer
 * @chain: Chain
 * @offset: Where in the answer
 * @data: What
 * @size: Bytes
 *
 * Return: bytes that found room.
 */
u32 pagoda_vgpu_chain_write(const struct pagoda_vgpu_chain *chain, u32 offset,
			    const void *data, u32 size)
{
	u32 done = 0;
	u32 i;

	for (i = 0; i < chain->nr_writable && done < size; i++) {
		u32 room = chain->writable[i].size;
		u32 piece;

		if (offset >= room) {
			offset -= room;
			continue;
		}
		piece = min(room - offset, size - done);
		memcpy(chain->writable[i].here + offset, data + done, piece);
		done += piece;
		offset = 0;
	}
	return done;
}
