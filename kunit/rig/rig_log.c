// SPDX-License-Identifier: GPL-2.0
/* The log of paging packets that the rig's engine executed; see rig.h. */
#include "rig.h"

static void rig_note_transfer(struct pagoda_rig_note *note,
			      const struct virtio_pagoda_transfer *packet)
{
	note->size = le64_to_cpu(packet->size);
	note->src = le32_to_cpu(packet->src.segment);
	note->dst = le32_to_cpu(packet->dst.segment);
	note->src_address = le64_to_cpu(packet->src.address);
	note->address = le64_to_cpu(packet->dst.address);
}

static void rig_note_map(struct pagoda_rig_note *note,
			 const struct virtio_pagoda_map_aperture_segment *packet)
{
	note->size = le64_to_cpu(packet->nr_pages);
	note->dst = le32_to_cpu(packet->segment);
	note->address = le64_to_cpu(packet->first_page);
	note->generation = le32_to_cpu(packet->generation);
}

static void rig_note_virtual(struct pagoda_rig_note *note, const void *data)
{
	const struct virtio_pagoda_virtual_transfer *transfer = data;
	const struct virtio_pagoda_virtual_fill *fill = data;

	if (note->opcode == VIRTIO_PAGODA_OP_VIRTUAL_FILL) {
		note->size = le64_to_cpu(fill->size);
		note->address = le64_to_cpu(fill->address);
		note->offset = le64_to_cpu(fill->allocation_offset);
		return;
	}
	note->size = le64_to_cpu(transfer->size);
	note->src = le32_to_cpu(transfer->direction);
	note->src_address = le64_to_cpu(transfer->src_address);
	note->address = le64_to_cpu(transfer->dst_address);
	note->offset = le64_to_cpu(transfer->allocation_offset);
}

static void rig_note_tables(struct pagoda_rig_note *note, const void *data)
{
	const struct virtio_pagoda_update_page_table *update = data;
	const struct virtio_pagoda_flush_tlb *flush = data;

	if (note->opcode == VIRTIO_PAGODA_OP_FLUSH_TLB) {
		note->address = le64_to_cpu(flush->start);
		note->size = le64_to_cpu(flush->end) - note->address;
		note->generation = le32_to_cpu(flush->address_space);
		return;
	}
	note->address = le64_to_cpu(update->first_va);
	note->size = le32_to_cpu(update->nr_entries);
	note->src = le32_to_cpu(update->mode);
	note->offset = le64_to_cpu(update->allocation_offset);
	note->generation = le32_to_cpu(update->address_space);
	note->value = le64_to_cpu(*(const __le64 *)(update + 1));
}

/* Fills in the note of a notice, READ_PHYSICAL, WRITE_PHYSICAL, MAP_MMU or UNMAP_MMU. */
static void rig_note_small(struct pagoda_rig_note *note, const void *data)
{
	const struct virtio_pagoda_access_physical *access = data;
	const struct virtio_pagoda_notify_residency *residency = data;
	const struct virtio_pagoda_notify_alloc *alloc = data;
	const struct virtio_pagoda_map_mmu *mmu = data;

	switch (note->opcode) {
	case VIRTIO_PAGODA_OP_READ_PHYSICAL:
	case VIRTIO_PAGODA_OP_WRITE_PHYSICAL:
		note->address = le64_to_cpu(access->address);
		note->size = le32_to_cpu(access->size);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY:
	case VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2:
		note->address = le64_to_cpu(residency->address);
		note->dst = le32_to_cpu(residency->segment);
		note->offset = le64_to_cpu(residency->offset);
		note->size = le64_to_cpu(residency->nr_pages);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_ALLOC:
		note->address = le64_to_cpu(alloc->address);
		note->offset = le64_to_cpu(alloc->offset);
		note->size = le64_to_cpu(alloc->size);
		break;
	case VIRTIO_PAGODA_OP_MAP_MMU:
	case VIRTIO_PAGODA_OP_UNMAP_MMU:
		note->address = le64_to_cpu(mmu->address);
		note->size = le64_to_cpu(mmu->nr_pages);
		break;
	}
}

/* Appends an executed packet of request @seqno to the rig's log, unless the log is full. */
void pagoda_rig_note(struct pagoda_rig *rig, u64 seqno, const void *data)
{
	const struct virtio_pagoda_packet *packet = data;
	const struct virtio_pagoda_fill *fill = data;
	const struct virtio_pagoda_discard_content *discard = data;
	const struct virtio_pagoda_unmap_aperture_segment *unmap = data;
	struct pagoda_rig_note *note = &rig->log[rig->nr_log];

	if (rig->nr_log == PAGODA_RIG_LOG)
		return;
	*note = (struct pagoda_rig_note) {
		.opcode = le16_to_cpu(packet->opcode),
		.flags = le16_to_cpu(packet->flags),
		.seqno = seqno,
		.allocation = le64_to_cpu(packet->allocation),
	};
	switch (note->opcode) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		rig_note_transfer(note, data);
		break;
	case VIRTIO_PAGODA_OP_FILL:
		note->size = le64_to_cpu(fill->size);
		note->dst = le32_to_cpu(fill->segment);
		note->address = le64_to_cpu(fill->address);
		break;
	case VIRTIO_PAGODA_OP_DISCARD_CONTENT:
		note->size = le64_to_cpu(discard->size);
		note->src = le32_to_cpu(discard->segment);
		note->address = le64_to_cpu(discard->address);
		break;
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		rig_note_map(note, data);
		break;
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		note->size = le64_to_cpu(unmap->nr_pages);
		note->dst = le32_to_cpu(unmap->segment);
		note->address = le64_to_cpu(unmap->first_page);
		break;
	case VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER:
	case VIRTIO_PAGODA_OP_VIRTUAL_FILL:
		rig_note_virtual(note, data);
		break;
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
	case VIRTIO_PAGODA_OP_FLUSH_TLB:
		rig_note_tables(note, data);
		break;
	default:
		rig_note_small(note, data);
	}
	rig->nr_log++;
}

const struct pagoda_rig_note *pagoda_rig_find(struct pagoda_rig *rig, u32 opcode,
					      u64 allocation, u32 nth)
{
	u32 i;

	for (i = 0; i < rig->nr_log; i++) {
		const struct pagoda_rig_note *note = &rig->log[i];

		if (note->opcode == opcode && (!allocation || note->allocation == allocation) &&
		    !nth--)
			return note;
	}
	return NULL;
}

u32 pagoda_rig_count(struct pagoda_rig *rig, u32 opcode, u64 allocation)
{
	u32 count = 0;

	while (pagoda_rig_find(rig, opcode, allocation, count))
		count++;
	return count;
}
