// SPDX-License-Identifier: GPL-2.0
/*
 * Makes from a packet the private data that the driver makes along with a packet: page lists. The
 * CPU executor reaches system memory by the struct pages of lists, the engine by the addresses in
 * the packet. In place of a struct page a list has the address of a page of the executor's memory.
 */
#include <stdlib.h>

#include "../../drivers/pagoda/paging/cpu/walk.h"
#include "fuzz.h"

/*
 * Returns the list of the pages of runs, which the caller frees. The list ends with NULL: behind
 * the last page, behind @memory->max_pages pages or before the first page that @memory lacks.
 */
static void **list_runs(const struct fuzz_memory *memory, const struct virtio_pagoda_run *runs,
			u32 nr_runs, bool bus)
{
	u64 nr_pages = 0, i, at = 0, address;
	void **list, *page;
	u32 run;

	for (run = 0; run < nr_runs; run++)
		nr_pages += le32_to_cpu(runs[run].nr_pages);
	nr_pages = min_t(u64, nr_pages, memory->max_pages);
	list = fuzz_alloc((nr_pages + 1) * sizeof(*list));
	for (run = 0; run < nr_runs; run++) {
		address = le64_to_cpu(runs[run].address);
		for (i = 0; i < le32_to_cpu(runs[run].nr_pages); i++, address += FUZZ_PAGE) {
			page = bus ? memory->bus_page(address) : memory->page(address);
			if (!page || at == nr_pages)
				return list;
			list[at++] = page;
		}
	}
	return list;
}

/* Returns a list of the page at an address; NULL if system memory has no such page. */
static void **list_one(const struct fuzz_memory *memory, u32 segment, u64 address)
{
	struct virtio_pagoda_run run = {
		.address = cpu_to_le64(address),
		.nr_pages = cpu_to_le32(1),
	};

	if (segment != VIRTIO_PAGODA_SEGMENT_SYSTEM || !memory->page(address))
		return NULL;
	return list_runs(memory, &run, 1, false);
}

/*
 * Returns a list, from the page of @base on, with the pages of system memory that the @bytes at
 * @base + @first lead to; other entries are NULL. Returns NULL for no or too many bytes.
 */
static void **list_virtual(const struct fuzz_memory *memory, u64 base, u64 first, u64 bytes)
{
	u64 nr_pages, i;
	struct pagoda_cpu_leaf leaf;
	void **list;

	if (!bytes || first + bytes > 2 * FUZZ_VIRTUAL)
		return NULL;
	nr_pages = (base % FUZZ_PAGE + first + bytes + FUZZ_PAGE - 1) / FUZZ_PAGE;
	list = fuzz_alloc(nr_pages * sizeof(*list));
	for (i = (base % FUZZ_PAGE + first) / FUZZ_PAGE; i < nr_pages; i++) {
		if (!pagoda_cpu_walk(memory->cpu, 0, ALIGN_DOWN(base, FUZZ_PAGE) + i * FUZZ_PAGE,
				     false, &leaf) && !leaf.zero &&
		    leaf.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM)
			list[i] = memory->page(leaf.address);
	}
	return list;
}

static void **list_table(const struct fuzz_memory *memory,
			 const struct virtio_pagoda_update_page_table *update)
{
	u64 address = le64_to_cpu(update->table_address), i, end;
	u64 first = le32_to_cpu(update->first_entry);
	void **list;

	/* Counts two words for each entry, as dual tables have: more pages do no harm. */
	end = (first + le32_to_cpu(update->nr_entries)) * 16 / FUZZ_PAGE + 1;
	if (le32_to_cpu(update->nr_entries) > memory->max_pages * 512 || end > 1ull << 21)
		return NULL;
	list = fuzz_alloc(end * sizeof(*list));
	for (i = 0; i < end; i++)
		list[i] = memory->page(address + i * FUZZ_PAGE);
	return list;
}

/* Returns how many bytes of the table an update's entries take; *@first: offset of these bytes. */
u64 fuzz_lists_update(const struct pagoda_cpu_executor *cpu,
		      const struct virtio_pagoda_update_page_table *update, u64 *first)
{
	bool two = le32_to_cpu(update->level) == 1 &&
		   cpu->limits->features & 1ull << VIRTIO_PAGODA_F_DUAL_PTE;
	u64 stride = two ? 16 : 8;

	*first = le32_to_cpu(update->first_entry) * stride;
	return le32_to_cpu(update->nr_entries) * stride;
}

/* Returns whether @list has all pages that the update writes to, and the update has entries. */
static bool table_there(const struct fuzz_memory *memory,
			const struct virtio_pagoda_update_page_table *update, void **list)
{
	u64 first, bytes = fuzz_lists_update(memory->cpu, update, &first), i;

	if (!list || !bytes)
		return false;
	for (i = first / FUZZ_PAGE; i <= (first + bytes - 8) / FUZZ_PAGE; i++)
		if (!list[i])
			return false;
	return true;
}

static void lists_runs(const struct fuzz_memory *memory, const void *packet, u32 length,
		       struct pagoda_paging_private *priv)
{
	const struct virtio_pagoda_packet *head = packet;
	u32 nr_src, nr_dst, at = fuzz_packet_runs(packet, &nr_src, &nr_dst);
	const struct virtio_pagoda_run *runs = packet + at;
	bool bus = le16_to_cpu(head->opcode) == VIRTIO_PAGODA_OP_MAP_MMU;

	if (!at || (u64)nr_src + nr_dst > memory->max_runs || length < at + (nr_src + nr_dst) * 16)
		return;
	priv->src_pages = list_runs(memory, runs, nr_src, bus);
	priv->dst_pages = list_runs(memory, runs + nr_src, nr_dst, bus);
}

/*
 * Returns the private data of a packet of @length bytes, at @offset in its buffer. The caller frees
 * the lists by fuzz_lists_free().
 */
struct pagoda_paging_private fuzz_lists_make(const struct fuzz_memory *memory, const void *packet,
					     u32 length, u32 offset)
{
	const struct virtio_pagoda_access_physical *access = packet;
	const struct virtio_pagoda_signal_monitored_fence *signal = packet;
	const struct virtio_pagoda_unmap_aperture_segment *unmap = packet;
	const struct virtio_pagoda_virtual_transfer *transfer = packet;
	const struct virtio_pagoda_virtual_fill *fill = packet;
	const struct virtio_pagoda_update_page_table *update = packet;
	const struct virtio_pagoda_update_context_allocation *context = packet;
	struct pagoda_paging_private priv = { .offset = offset };
	u32 opcode = le16_to_cpu(access->packet.opcode);
	void **list;

	if (!fuzz_packet_fixed(opcode) || length < fuzz_packet_fixed(opcode))
		return priv;
	switch (opcode) {
	case VIRTIO_PAGODA_OP_READ_PHYSICAL:
		priv.src_pages = list_one(memory, le32_to_cpu(access->segment),
					  le64_to_cpu(access->address));
		break;
	case VIRTIO_PAGODA_OP_WRITE_PHYSICAL:
		priv.dst_pages = list_one(memory, le32_to_cpu(access->segment),
					  le64_to_cpu(access->address));
		break;
	case VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE:
		if (le16_to_cpu(signal->packet.flags) & VIRTIO_PAGODA_SIGNAL_VIRTUAL)
			priv.dst_pages = list_virtual(memory, le64_to_cpu(signal->address), 0, 8);
		else
			priv.dst_pages = list_one(memory, le32_to_cpu(signal->segment),
						  le64_to_cpu(signal->address));
		break;
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		priv.dst_pages = list_one(memory, VIRTIO_PAGODA_SEGMENT_SYSTEM,
					  le64_to_cpu(unmap->dummy_page));
		break;
	case VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER:
		priv.src_pages = list_virtual(memory, le64_to_cpu(transfer->src_address), 0,
					      le64_to_cpu(transfer->size));
		priv.dst_pages = list_virtual(memory, le64_to_cpu(transfer->dst_address), 0,
					      le64_to_cpu(transfer->size));
		break;
	case VIRTIO_PAGODA_OP_VIRTUAL_FILL:
		priv.dst_pages = list_virtual(memory, le64_to_cpu(fill->address), 0,
					      le64_to_cpu(fill->size));
		break;
	case VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION:
		priv.dst_pages = list_virtual(memory, le64_to_cpu(context->address),
					      le32_to_cpu(context->data_offset),
					      le32_to_cpu(context->data_size));
		break;
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		if (le32_to_cpu(update->mode) != VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL ||
		    update->table_segment)
			break;
		list = list_table(memory, update);
		if (table_there(memory, update, list))
			priv.dst_pages = list;
		else
			free(list);
		break;
	default:
		lists_runs(memory, packet, length, &priv);
	}
	return priv;
}

void fuzz_lists_free(const struct pagoda_paging_private *priv)
{
	free((void *)priv->src_pages);
	free((void *)priv->dst_pages);
}
