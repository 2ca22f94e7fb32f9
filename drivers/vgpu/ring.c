// SPDX-License-Identifier: GPL-2.0
/*
 * The device's side of a split virtqueue.
 *
 * The ring is memory that the driver may write at any time: an index is read once, bounded, and
 * only then used; a chain of more descriptors than the ring has is refused, so that a loop in the
 * chain ends; the address in a descriptor is translated like any other bus address. Once
 * pagoda_vgpu_ring_pop() has returned an error, the ring must not be used any further.
 */
#include <linux/errno.h>

#include "vgpu.h"

static u16 ring_load16(const __virtio16 *from)
{
	return __virtio16_to_cpu(true, READ_ONCE(*from));
}

static void ring_store16(__virtio16 *to, u16 value)
{
	WRITE_ONCE(*to, __cpu_to_virtio16(true, value));
}

static void ring_store16_mb(__virtio16 *to, u16 value)
{
	virt_store_mb(*to, __cpu_to_virtio16(true, value));	/* publish before later reads */
}

/* Initializes the device's side of a newly created ring. */
void pagoda_vgpu_ring_init(struct pagoda_vgpu_ring *ring, struct virtqueue *vq)
{
	memset(ring, 0, sizeof(*ring));
	ring->vring = *virtqueue_get_vring(vq);
	ring->event_idx = __virtio_test_bit(vq->vdev, VIRTIO_RING_F_EVENT_IDX);
	ring->indirect = __virtio_test_bit(vq->vdev, VIRTIO_RING_F_INDIRECT_DESC);
}

/* The device's copy of a descriptor that the driver may change: read once, in CPU byte order. */
struct pagoda_ring_desc {
	u64 address;
	u32 length;
	u16 flags;
	u16 next;
};

static struct pagoda_ring_desc ring_desc_load(const struct vring_desc *from)
{
	return (struct pagoda_ring_desc) {
		.address = __virtio64_to_cpu(true, READ_ONCE(from->addr)),
		.length = __virtio32_to_cpu(true, READ_ONCE(from->len)),
		.flags = ring_load16(&from->flags),
		.next = ring_load16(&from->next),
	};
}

/*
 * Returns the memory at a bus address, or NULL if none is there. *@got receives how many of @want
 * bytes are contiguous.
 */
static void *ring_memory(u64 address, u32 want, u32 *got)
{
	u64 size = 0;
	void *here;

	if (address >> 52)
		return NULL;
	here = pagoda_vgpu_system_span(NULL, address, want, &size);
	*got = min_t(u64, size, want);
	return here;
}

/*
 * Appends a readable descriptor's bytes to @buffer, as far as its @size bytes have room, and adds
 * all of the descriptor's bytes to chain->readable. Returns 0, or -EFAULT for a bad address.
 */
static int chain_read(struct pagoda_vgpu_chain *chain, const struct pagoda_ring_desc *desc,
		      void *buffer, u32 size)
{
	u32 room = chain->readable < size ? size - chain->readable : 0;
	u32 left = min(desc->length, room);
	u64 address = desc->address;
	u32 got;

	buffer += chain->readable;
	chain->readable += desc->length;
	for (; left; address += got, buffer += got, left -= got) {
		const void *here = ring_memory(address, left, &got);

		if (!here)
			return -EFAULT;
		memcpy(buffer, here, got);
	}
	return 0;
}

/*
 * Adds a writable descriptor's memory to chain->writable, which has room for
 * PAGODA_VGPU_CHAIN_WRITABLE pieces; memory beyond that is ignored. Returns 0, or -EFAULT for a bad
 * address or a chain with 4 GiB or more to write.
 */
static int chain_room(struct pagoda_vgpu_chain *chain, const struct pagoda_ring_desc *desc)
{
	u64 address = desc->address;
	u32 left = desc->length;
	u32 got;

	for (; left && chain->nr_writable < PAGODA_VGPU_CHAIN_WRITABLE;
	     address += got, left -= got) {
		void *here = ring_memory(address, left, &got);

		if (!here || got > U32_MAX - chain->writable_bytes)
			return -EFAULT;
		chain->writable[chain->nr_writable].here = here;
		chain->writable[chain->nr_writable].size = got;
		chain->nr_writable++;
		chain->writable_bytes += got;
	}
	return 0;
}

/*
 * Returns the table that an indirect descriptor points to, or NULL if the descriptor is invalid,
 * indirect descriptors weren't negotiated or the table isn't contiguous. *@size receives the number
 * of entries.
 */
static const struct vring_desc *chain_indirect(const struct pagoda_vgpu_ring *ring,
					       const struct pagoda_ring_desc *desc, u32 *size)
{
	u32 got = 0;
	void *table;

	if (!ring->indirect || desc->flags & VRING_DESC_F_NEXT || !desc->length ||
	    desc->length % sizeof(struct vring_desc) || desc->address % 16)
		return NULL;
	table = ring_memory(desc->address, desc->length, &got);
	if (!table || got < desc->length)
		return NULL;
	*size = desc->length / sizeof(struct vring_desc);
	return table;
}

/*
 * Reads the descriptors of a chain: copies the memory that the device may read to @buffer, at most
 * @size bytes, and lists the memory that the device may write in @chain. Refuses a chain in which
 * memory to read follows memory to write. Returns 0, -EINVAL for a malformed chain, -EFAULT for a
 * bad address, or -ELOOP for more descriptors than the ring has.
 */
static int chain_walk(const struct pagoda_vgpu_ring *ring, struct pagoda_vgpu_chain *chain,
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
		desc = ring_desc_load(&table[next]);
		if (desc.flags & VRING_DESC_F_INDIRECT) {
			if (table != ring->vring.desc)
				return -EINVAL;
			table = chain_indirect(ring, &desc, &entries);
			if (!table)
				return -EINVAL;
			next = 0;
			continue;
		}
		if (desc.flags & VRING_DESC_F_WRITE)
			err = chain_room(chain, &desc);
		else if (chain->nr_writable)
			err = -EINVAL;
		else
			err = chain_read(chain, &desc, buffer, size);
		if (err || !(desc.flags & VRING_DESC_F_NEXT))
			return err;
		next = desc.next;
	}
	return -ELOOP;
}

/*
 * Takes the next chain that the driver made available and copies the readable bytes to @buffer, at
 * most @size; further bytes only count in chain->readable. Returns 1, 0 when there is no chain, or
 * a negative error when the ring or the chain is invalid.
 */
int pagoda_vgpu_ring_pop(struct pagoda_vgpu_ring *ring, struct pagoda_vgpu_chain *chain,
			 void *buffer, u32 size)
{
	u16 available = ring_load16(&ring->vring.avail->idx);
	u16 pending = available - ring->next_avail;
	int err;

	if (!pending)
		return 0;
	if (pending > ring->vring.num)
		return -EINVAL;
	virt_rmb();	/* read the available entry after the index that announced it */
	memset(chain, 0, sizeof(*chain));
	chain->head = ring_load16(&ring->vring.avail->ring[ring->next_avail % ring->vring.num]);
	ring->next_avail++;
	err = chain_walk(ring, chain, buffer, size);
	return err ? err : 1;
}

/* Returns the chain @head to the driver and reports @written bytes as written; no interrupt yet. */
void pagoda_vgpu_ring_push(struct pagoda_vgpu_ring *ring, u16 head, u32 written)
{
	struct vring_used_elem *entry = &ring->vring.used->ring[ring->next_used % ring->vring.num];

	WRITE_ONCE(entry->id, __cpu_to_virtio32(true, head));
	WRITE_ONCE(entry->len, __cpu_to_virtio32(true, written));
	virt_wmb();	/* publish the used entry and the answer before the used index */
	ring_store16(&ring->vring.used->idx, ++ring->next_used);
}

/* Returns whether the driver wants an interrupt for the chains pushed since the last call. */
bool pagoda_vgpu_ring_interrupts(struct pagoda_vgpu_ring *ring)
{
	u16 before = ring->signalled;

	virt_mb();	/* publish the used index before the driver's flag or event index is read */
	ring->signalled = ring->next_used;
	if (ring->event_idx)
		return vring_need_event(ring_load16(&vring_used_event(&ring->vring)),
					ring->next_used, before);
	return !(ring_load16(&ring->vring.avail->flags) & VRING_AVAIL_F_NO_INTERRUPT);
}

/*
 * Tells the driver to ring no doorbell while the device polls the ring. Does nothing with
 * VIRTIO_RING_F_EVENT_IDX: then the driver rings once, when its available index passes the index
 * that pagoda_vgpu_ring_listen() stored.
 */
void pagoda_vgpu_ring_mute(struct pagoda_vgpu_ring *ring)
{
	if (!ring->event_idx)
		ring_store16(&ring->vring.used->flags, VRING_USED_F_NO_NOTIFY);
}

/*
 * Asks the driver for a doorbell, before the thread sleeps. Returns true if a chain has become
 * available, for which the driver may have rung no doorbell.
 */
bool pagoda_vgpu_ring_listen(struct pagoda_vgpu_ring *ring)
{
	/* Publish the request for a doorbell before the available index is read. */
	if (ring->event_idx)
		ring_store16_mb(&vring_avail_event(&ring->vring), ring->next_avail);
	else
		ring_store16_mb(&ring->vring.used->flags, 0);
	return ring_load16(&ring->vring.avail->idx) != ring->next_avail;
}

/*
 * Writes @size bytes of @data to a chain's writable memory, from byte @offset of that memory on.
 * Returns how many of the bytes had room.
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
