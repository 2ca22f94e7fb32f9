// SPDX-License-Identifier: GPL-2.0
/*
 * Notices: packets that tell the GPU of something, upon which a real GPU might act: NOTIFY_*
 * operations, which do nothing else, and UPDATE_PAGE_TABLE with flag INITIAL or NOTIFY_EVICTION,
 * which also writes page-table entries. The software GPU counts notices and keeps the first bytes
 * of the last PAGODA_VGPU_NOTICES notices, so that tests can see what the driver sent.
 */
#include <linux/seq_file.h>

#include "vgpu.h"

static void notices_add(struct pagoda_vgpu_notices *notices,
			const struct virtio_pagoda_packet *packet, u32 size)
{
	u64 *slot = notices->last[notices->total++ % PAGODA_VGPU_NOTICES];

	lockdep_assert_held(&notices->lock);
	memset(slot, 0, PAGODA_VGPU_NOTICE_SIZE);
	memcpy(slot, packet, size);
	notices->counts[le16_to_cpu(packet->opcode)]++;
}

/*
 * Counts a notice and keeps a copy of its first bytes; the engine has checked the whole @packet.
 * Runs in the thread of the queue that executes @packet.
 */
void pagoda_vgpu_notify(void *context, const struct virtio_pagoda_packet *packet)
{
	struct pagoda_vgpu *vgpu = context;
	struct pagoda_vgpu_notices *notices = &vgpu->notices;
	u32 size = min_t(u32, le32_to_cpu(packet->length), PAGODA_VGPU_NOTICE_SIZE);

	spin_lock(&notices->lock);
	notices_add(notices, packet, size);
	spin_unlock(&notices->lock);
}

static void notice_residency(struct seq_file *file, const void *packet)
{
	const struct virtio_pagoda_notify_residency *notice = packet;

	seq_printf(file, " segment %u address %#llx offset %llu pages %llu\n",
		   le32_to_cpu(notice->segment), le64_to_cpu(notice->address),
		   le64_to_cpu(notice->offset), le64_to_cpu(notice->nr_pages));
}

static void notice_alloc(struct seq_file *file, const void *packet)
{
	const struct virtio_pagoda_notify_alloc *notice = packet;

	seq_printf(file, " offset %llu size %llu address %#llx process %llu\n",
		   le64_to_cpu(notice->offset), le64_to_cpu(notice->size),
		   le64_to_cpu(notice->address), le64_to_cpu(notice->process));
}

static void notice_fences(struct seq_file *file, const void *packet)
{
	const struct virtio_pagoda_notify_fence_residency *notice = packet;
	const struct virtio_pagoda_fence_residency *first = (const void *)(notice + 1);

	seq_printf(file, " fences %u first %llu current %#llx monitored %#llx\n",
		   le32_to_cpu(notice->nr_fences), le64_to_cpu(first->fence),
		   le64_to_cpu(first->current_value), le64_to_cpu(first->monitored_value));
}

static void notice_update(struct seq_file *file, const void *packet)
{
	const struct virtio_pagoda_update_page_table *update = packet;

	seq_printf(file, " space %u level %u va %#llx entries %u\n",
		   le32_to_cpu(update->address_space), le32_to_cpu(update->level),
		   le64_to_cpu(update->first_va), le32_to_cpu(update->nr_entries));
}

static void notice_show(struct seq_file *file, u64 number, const void *data)
{
	const struct virtio_pagoda_packet *packet = data;
	u32 opcode = le16_to_cpu(packet->opcode);

	seq_printf(file, "%llu %s flags %#x allocation %llu", number,
		   pagoda_engine_op_name(opcode), le16_to_cpu(packet->flags),
		   le64_to_cpu(packet->allocation));
	switch (opcode) {
	case VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY:
	case VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2:
		notice_residency(file, data);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_ALLOC:
		notice_alloc(file, data);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY:
		notice_fences(file, data);
		break;
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		notice_update(file, data);
		break;
	default:
		seq_putc(file, '\n');
	}
}

/* Writes to @file how many notices came, by opcode, then the last notices, oldest first. */
void pagoda_vgpu_notices_show(struct pagoda_vgpu *vgpu, struct seq_file *file)
{
	struct pagoda_vgpu_notices *notices = &vgpu->notices;
	u64 number;
	u32 i;

	spin_lock(&notices->lock);
	for (i = 0; i < VIRTIO_PAGODA_OP_COUNT; i++)
		if (notices->counts[i])
			seq_printf(file, "count %s %llu\n", pagoda_engine_op_name(i),
				   notices->counts[i]);
	number = notices->total > PAGODA_VGPU_NOTICES ? notices->total - PAGODA_VGPU_NOTICES : 0;
	for (; number < notices->total; number++)
		notice_show(file, number, notices->last[number % PAGODA_VGPU_NOTICES]);
	spin_unlock(&notices->lock);
}
