// SPDX-License-Identifier: GPL-2.0
/* struct pagoda_paging_ends of each operation, for traces and the journal. */
#include "emit.h"
#include "table.h"

static struct pagoda_paging_ends ends_to(u32 segment, u64 address, u64 size)
{
	return (struct pagoda_paging_ends) {
		.src_segment = VIRTIO_PAGODA_SEGMENT_COUNT,
		.dst_segment = segment,
		.address = address,
		.size = size,
	};
}

/*
 * Returns the ends of an operation for which no segment is recorded, such as one with virtual
 * addresses.
 */
static struct pagoda_paging_ends ends_between(u64 source, u64 address, u64 size)
{
	struct pagoda_paging_ends ends = ends_to(VIRTIO_PAGODA_SEGMENT_COUNT, address, size);

	ends.source = source;
	return ends;
}

/*
 * Returns the address @offset bytes into a source or destination; but @side->address, a value
 * without meaning, for system memory, which is a list of pages without a single address.
 */
static u64 ends_side(const struct pagoda_side *side, u64 offset)
{
	return side->address + (side->segment == VIRTIO_PAGODA_SEGMENT_SYSTEM ? 0 : offset);
}

struct pagoda_paging_ends pagoda_transfer_ends(const struct pagoda_paging_op *op)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;

	return (struct pagoda_paging_ends) {
		.src_segment = transfer->src.segment,
		.dst_segment = transfer->dst.segment,
		.source = ends_side(&transfer->src, transfer->offset),
		.address = ends_side(&transfer->dst, transfer->offset),
		.size = transfer->size,
	};
}

struct pagoda_paging_ends pagoda_fill_ends(const struct pagoda_paging_op *op)
{
	return ends_to(op->fill.segment, op->fill.address, op->fill.size);
}

struct pagoda_paging_ends pagoda_discard_content_ends(const struct pagoda_paging_op *op)
{
	return (struct pagoda_paging_ends) {
		.src_segment = op->discard_content.segment,
		.dst_segment = VIRTIO_PAGODA_SEGMENT_COUNT,
		.source = op->discard_content.address,
		.size = op->discard_content.size,
	};
}

struct pagoda_paging_ends pagoda_access_physical_ends(const struct pagoda_paging_op *op)
{
	return ends_to(op->access_physical.segment, op->access_physical.address,
		       op->access_physical.size);
}

struct pagoda_paging_ends pagoda_map_aperture_ends(const struct pagoda_paging_op *op)
{
	return ends_to(VIRTIO_PAGODA_SEGMENT_APERTURE, op->map_aperture.first_page,
		       op->map_aperture.nr_pages);
}

struct pagoda_paging_ends pagoda_unmap_aperture_ends(const struct pagoda_paging_op *op)
{
	return ends_to(VIRTIO_PAGODA_SEGMENT_APERTURE, op->unmap_aperture.first_page,
		       op->unmap_aperture.nr_pages);
}

struct pagoda_paging_ends pagoda_virtual_transfer_ends(const struct pagoda_paging_op *op)
{
	return ends_between(op->virtual_transfer.src_address, op->virtual_transfer.dst_address,
			    op->virtual_transfer.size);
}

struct pagoda_paging_ends pagoda_virtual_fill_ends(const struct pagoda_paging_op *op)
{
	return ends_between(0, op->virtual_fill.address, op->virtual_fill.size);
}

struct pagoda_paging_ends pagoda_init_context_ends(const struct pagoda_paging_op *op)
{
	return ends_to(op->init_context.dst.segment, op->init_context.dst.address,
		       op->init_context.size);
}

struct pagoda_paging_ends pagoda_update_ends(const struct pagoda_paging_op *op)
{
	return ends_between(op->update_page_table.table_address, op->update_page_table.first_va,
			    op->update_page_table.nr_entries);
}

struct pagoda_paging_ends pagoda_flush_tlb_ends(const struct pagoda_paging_op *op)
{
	return ends_between(op->flush_tlb.root_address, op->flush_tlb.start,
			    op->flush_tlb.end - op->flush_tlb.start);
}

struct pagoda_paging_ends pagoda_update_context_ends(const struct pagoda_paging_op *op)
{
	return ends_between(0, op->update_context.address + op->update_context.data_offset,
			    op->update_context.data_size);
}

struct pagoda_paging_ends pagoda_copy_entries_ends(const struct pagoda_paging_op *op)
{
	return ends_between(0, 0, op->copy_entries.nr_ranges);
}

struct pagoda_paging_ends pagoda_notify_residency_ends(const struct pagoda_paging_op *op)
{
	return ends_to(op->notify_residency.segment, op->notify_residency.address,
		       op->notify_residency.nr_pages);
}

/* &pagoda_paging_row.ends of SIGNAL_MONITORED_FENCE: the source is the fence's new value. */
struct pagoda_paging_ends pagoda_signal_fence_ends(const struct pagoda_paging_op *op)
{
	struct pagoda_paging_ends ends = ends_to(op->signal_fence.segment,
						 op->signal_fence.address, sizeof(u64));

	ends.source = op->signal_fence.value;
	return ends;
}

struct pagoda_paging_ends pagoda_notify_fences_ends(const struct pagoda_paging_op *op)
{
	return ends_between(0, 0, op->notify_fences.nr_fences);
}

struct pagoda_paging_ends pagoda_map_mmu_ends(const struct pagoda_paging_op *op)
{
	return ends_between(0, op->map_mmu.address, op->map_mmu.nr_pages);
}

/*
 * &pagoda_paging_row.ends of NOTIFY_ALLOC, in which the source is the offset of the range in the
 * allocation.
 */
struct pagoda_paging_ends pagoda_notify_alloc_ends(const struct pagoda_paging_op *op)
{
	return ends_between(op->notify_alloc.offset, op->notify_alloc.address,
			    op->notify_alloc.size);
}
