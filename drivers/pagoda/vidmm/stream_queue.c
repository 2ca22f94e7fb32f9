// SPDX-License-Identifier: GPL-2.0
/*
 * What the queue asks of the stream: to execute a submission on the CPU, to say what one that is
 * lost costs, to reset the device; and what it tells: how fast paging was.
 */
#include <pagoda/virtio.h>
#include "vidmm.h"

/* Bytes that are a measure of the bandwidth. */
#define STREAM_MEASURE		(PAGODA_PIECE_BYTES / 8)

/* Runs a submission on the CPU; one at a time, in order. Signalling path. */
static int stream_execute(void *owner, struct pagoda_submission *sub, u32 start,
			  u32 *stopped_at)
{
	struct pagoda_vidmm *vidmm = owner;
	int ret;

	ret = pagoda_cpu_execute(&vidmm->executor, sub->data, sub->built, start,
				 sub->priv, sub->priv_built, stopped_at);
	pagoda_tables_rescued(vidmm, sub, start);
	return ret;
}

/*
 * A submission that is lost, what that costs the allocations it names, and whether the
 * device's mappings are wrong now.
 */
struct stream_loss {
	struct pagoda_vidmm *vidmm;
	u32 aborts;
	bool mappings;
};

static bool stream_is_content(u32 opcode)
{
	switch (opcode) {
	case VIRTIO_PAGODA_OP_TRANSFER:
	case VIRTIO_PAGODA_OP_FILL:
	case VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER:
	case VIRTIO_PAGODA_OP_VIRTUAL_FILL:
	case VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER:
		return true;
	default:
		return false;
	}
}

/*
 * Without it the device would go on to use what is somebody else's by then, or what never
 * was there. The paging process' own windows are initialised anew by the CPU, and what the device
 * MMU maps is asked for when it is used (device_mmu.c).
 */
static bool stream_is_mapping(const struct virtio_pagoda_packet *packet)
{
	const struct virtio_pagoda_update_page_table *update = (const void *)packet;
	const struct virtio_pagoda_flush_tlb *flush = (const void *)packet;

	switch (le16_to_cpu(packet->opcode)) {
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		return update->address_space;
	case VIRTIO_PAGODA_OP_FLUSH_TLB:
		return flush->address_space;
	case VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE:
	case VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION:
		return true;
	default:
		return false;
	}
}

/*
 * Do page tables show an allocation to jobs that don't list it? What is listed, required or private
 * is cleared before a job runs; for the rest the mapping is as wrong as one that was lost.
 */
static bool stream_shows(const struct pagoda_bo *bo)
{
	return !bo->imported && !bo->private_to && !list_empty_careful(&bo->ttm.base.gpuva.list);
}

static void stream_lost_content(struct stream_loss *loss, struct pagoda_bo *bo)
{
	pagoda_bo_mark_lost(bo);
	loss->mappings |= stream_shows(bo);
	if (loss->aborts)
		atomic64_inc(&loss->vidmm->aborts);
	/* Pairs with pagoda_lost_mark(). */
	atomic64_inc_return_release(&loss->vidmm->losses);
}

/*
 * Mappings are all built anew after a reset, and what the device was to forget it has forgotten:
 * only content is missed. Who is to blame for the reset is so whatever it was (C190).
 */
static void stream_lost_packet(void *arg, const struct virtio_pagoda_packet *packet)
{
	u64 allocation = le64_to_cpu(packet->allocation);
	bool content = stream_is_content(le16_to_cpu(packet->opcode));
	struct stream_loss *loss = arg;
	u32 aborts = content ? loss->aborts : loss->aborts & PAGODA_ABORTED_TO_BLAME;
	struct pagoda_bo *bo;

	loss->mappings |= stream_is_mapping(packet);
	if (!allocation || (!aborts && !content))
		return;
	xa_lock(&loss->vidmm->bos);
	bo = xa_load(&loss->vidmm->bos, allocation);
	if (bo && content)
		stream_lost_content(loss, bo);
	if (bo)
		atomic_or(aborts, &bo->aborted);
	xa_unlock(&loss->vidmm->bos);
}

/*
 * What couldn't be done must not show what was there before: allocations are
 * marked here, where nothing can be locked, and cleared before anybody gets to see
 * them (lost.c). What the device reaches its memory by is built anew, after a reset.
 * Signalling path.
 */
static bool stream_lost(void *owner, struct pagoda_submission *sub, u32 offset, int error)
{
	struct pagoda_vidmm *vidmm = owner;
	struct stream_loss loss = { .vidmm = vidmm, .aborts = pagoda_reset_aborts(vidmm) };

	pagoda_paging_walk(sub->data, sub->built, offset, stream_lost_packet, &loss);
	pagoda_journal_lost(&vidmm->journal, sub->seqno, offset, error);
	pagoda_coredump_paging(vidmm, sub->seqno, offset, error);
	if (vidmm->mmu)
		pagoda_process_lost(vidmm->mmu);
	return loss.mappings;
}

static int stream_reset_adapter(void *owner, u32 asked, bool broken)
{
	return pagoda_reset_device(owner, asked | (broken ? BIT(PAGODA_RESET_PAGING) : 0));
}

/* What is small measures the way to the device, not what it does. */
static void stream_measured(void *owner, u64 bytes, u64 ns)
{
	struct pagoda_vidmm *vidmm = owner;

	if (bytes >= STREAM_MEASURE)
		pagoda_bandwidth_measure(&vidmm->bandwidth, bytes, ns);
}

/* What the queue asks of the stream: see &struct pagoda_queue_ops. */
const struct pagoda_queue_ops pagoda_stream_queue_ops = {
	.execute = stream_execute,
	.lost = stream_lost,
	.reset_adapter = stream_reset_adapter,
	.measured = stream_measured,
};
