// SPDX-License-Identifier: GPL-2.0
/*
 * The machine of the CPU executor, which the engine is compared with.
 *
 * The page lists of a packet are made from the addresses in the packet. A list of bus addresses
 * ends before the first address that leads to no memory, because the executor knows such an address
 * by its missing page only. For a device address that the device MMU doesn't map, a list has a page
 * all the same: the executor has to refuse the address by its copy of the MMU's map.
 *
 * Executor and engine must execute the same packets, leave the same memory and maps, and refuse a
 * packet with the same reason. world.c has a table of differences that are excused because only
 * the engine can know the reason. The result isn't compared (&struct fuzz_oracle.cut) of a packet
 * that names more than ORACLE_WALKS pages, or whose result depends on how the packet is executed:
 *
 *	source and destination are the same	what is copied depends on the order
 *	memory at different addresses
 *	a packet that changes the page tables	the result depends on how much was translated
 *	of its own addresses			before the change
 *	an aperture page whose device address	the executor keeps pages, the engine
 *	was unmapped or mapped anew since	addresses
 */
#include <stdlib.h>

#include "../../drivers/pagoda/paging/cpu/walk.h"
#include "fuzz.h"

#define ORACLE_WALKS	1024		/* most pages that a compared packet may translate */
#define ORACLE_FLUSHES	64		/* most pages that world_flush() flushes one by one */

struct pagoda_cpu_executor fuzz_cpu;
u8 *fuzz_cpu_system;

/* What a page of addresses leads to, for reading and for writing. */
struct oracle_walk {
	u64 va;
	bool written;
	u32 reason[2];
	struct pagoda_cpu_leaf leaf[2];
};

/* The @count pages whose translation the packet at @offset changed: @addresses has the first. */
struct oracle_flush {
	u32 offset;
	u32 count;
	u64 addresses[ORACLE_FLUSHES];
};

static struct {
	struct pagoda_paging_limits limits;
	struct pagoda_root roots[FUZZ_SPACES];
	const void *mmu[FUZZ_MMU];
	u8 mmu_read_only[FUZZ_MMU];
	const void *aperture[FUZZ_APERTURE];
	u32 generations[FUZZ_APERTURE];
	/* The addresses that packets mapped aperture pages to. */
	u64 aperture_address[FUZZ_APERTURE];
	struct pagoda_cpu_range ranges[FUZZ_RANGES];
	/* Pages that are mapped now; pairs of pages that the packet copies from and to. */
	u8 *mapped[2];
	u32 nr_mapped;
	u8 *pairs[FUZZ_RUNS * FUZZ_SYSTEM * 64][2];
	u32 nr_pairs;
	/* Translations of all packets so far; those of the packet being executed are last. */
	struct oracle_walk *walks;
	u32 nr_walks, max_walks;
	struct oracle_flush *flushes;
	u32 nr_flushes;
} oracle;

static void *oracle_map_page(const void *pages, u64 index)
{
	u8 *page = ((u8 *const *)pages)[index];

	fuzz_require(page && oracle.nr_mapped < 2);
	oracle.mapped[oracle.nr_mapped++] = page;
	return page;
}

/* Two pages that a TRANSFER has mapped together are source and destination: notes the pair. */
static void oracle_unmap_page(void *address)
{
	if (oracle.nr_mapped == 2 && oracle.mapped[0] != oracle.mapped[1] &&
	    oracle.nr_pairs < ARRAY_SIZE(oracle.pairs))
		memcpy(oracle.pairs[oracle.nr_pairs++], oracle.mapped, sizeof(oracle.mapped));
	fuzz_require(oracle.nr_mapped);
	fuzz_require(oracle.mapped[--oracle.nr_mapped] == address);
}

static const void *oracle_page_at(const void *pages, u64 index)
{
	return ((const void *const *)pages)[index];
}

/*
 * Returns the page at an address of system memory: without a device MMU the page at that bus
 * address, or NULL; else the page that the MMU maps, or the first page if the MMU maps none.
 */
void *fuzz_oracle_page(u64 address)
{
	u64 page = address / FUZZ_PAGE;

	if (!fuzz_cpu.mmu) {
		page -= FUZZ_BUS / FUZZ_PAGE;
		return page < FUZZ_SYSTEM ? fuzz_cpu_system + page * FUZZ_PAGE : NULL;
	}
	if (page >= FUZZ_MMU || !oracle.mmu[page])
		return fuzz_cpu_system;
	return (void *)oracle.mmu[page];
}

/* Returns the page at a bus address, or NULL. */
static void *oracle_bus_page(u64 bus)
{
	u64 offset = bus - FUZZ_BUS;

	return offset < FUZZ_SYSTEM * FUZZ_PAGE ?
	       fuzz_cpu_system + ALIGN_DOWN(offset, FUZZ_PAGE) : NULL;
}

static const struct fuzz_memory oracle_memory = {
	.cpu = &fuzz_cpu,
	.page = fuzz_oracle_page,
	.bus_page = oracle_bus_page,
	.max_runs = FUZZ_RUNS,
	.max_pages = FUZZ_RUNS * FUZZ_MMU,
};

static const void *oracle_table_page(void *context, u64 address)
{
	return fuzz_oracle_page(address);
}

/* Makes the executor's machine. Called once. */
void fuzz_oracle_make(void)
{
	u32 i;

	fuzz_cpu_system = fuzz_alloc(FUZZ_SYSTEM * FUZZ_PAGE);
	fuzz_cpu = (struct pagoda_cpu_executor) {
		.vram = fuzz_alloc(FUZZ_VRAM * FUZZ_PAGE),
		.vram_size = FUZZ_VRAM * FUZZ_PAGE,
		.aperture = oracle.aperture,
		.generations = oracle.generations,
		.aperture_pages = FUZZ_APERTURE,
		.map_page = oracle_map_page,
		.unmap_page = oracle_unmap_page,
		.page_at = oracle_page_at,
		.table_page = oracle_table_page,
		.limits = &oracle.limits,
		.roots = oracle.roots,
		.mmu_read_only = oracle.mmu_read_only,
		.ranges = oracle.ranges,
	};
	oracle.limits = (struct pagoda_paging_limits) {
		.vram_size = FUZZ_VRAM * FUZZ_PAGE,
		.aperture_pages = FUZZ_APERTURE,
		.mmu_pages = FUZZ_MMU,
		.swizzling_bytes = FUZZ_WINDOW,
		.max_runs = FUZZ_RUNS,
		.max_address_spaces = FUZZ_SPACES,
		.swizzling_ranges = FUZZ_RANGES,
	};
	for (i = 0; i < FUZZ_RANGES; i++)
		oracle.ranges[i].window = fuzz_alloc(FUZZ_WINDOW);
	oracle.flushes = fuzz_alloc(FUZZ_BUFFER / 16 * sizeof(*oracle.flushes));
}

/* Resets the machine: a device of kind @device, copies of @vram and @system, empty maps. */
void fuzz_oracle_reset(const u8 *vram, const u8 *system, u32 device)
{
	u32 i;

	memcpy(fuzz_cpu.vram, vram, FUZZ_VRAM * FUZZ_PAGE);
	memcpy(fuzz_cpu_system, system, FUZZ_SYSTEM * FUZZ_PAGE);
	memset(oracle.aperture, 0, sizeof(oracle.aperture));
	memset(oracle.generations, 0, sizeof(oracle.generations));
	memset(oracle.mmu, 0, sizeof(oracle.mmu));
	memset(oracle.mmu_read_only, 0, sizeof(oracle.mmu_read_only));
	for (i = 0; i < FUZZ_RANGES; i++) {
		oracle.ranges[i].size = 0;
		memset(oracle.ranges[i].window, 0, FUZZ_WINDOW);
	}
	oracle.nr_walks = 0;
	oracle.nr_flushes = 0;
	/* Without DIRTY: the executor would copy bytes that an engine skips as not written. */
	oracle.limits.features = ~(1ull << VIRTIO_PAGODA_F_DIRTY);
	if (!(device & FUZZ_DUAL))
		oracle.limits.features &= ~(1ull << VIRTIO_PAGODA_F_DUAL_PTE);
	if (!(device & FUZZ_DEVICE_MMU))
		oracle.limits.features &= ~(1ull << VIRTIO_PAGODA_F_DEVICE_MMU);
	if (device & FUZZ_INCOHERENT)
		oracle.limits.features &= ~(1ull << VIRTIO_PAGODA_F_COHERENT);
	oracle.limits.pt_levels = FUZZ_LEVELS(device);
	oracle.limits.va_bits = FUZZ_VA_BITS(device);
	oracle.limits.page_sizes = 1u << 12 | 1u << 21 | (device & FUZZ_NO_64K ? 0 : 1u << 16);
	oracle.roots[0] = (struct pagoda_root) {
		.address = fuzz_world_root(device),
		.entries = FUZZ_ROOT,
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
	};
	fuzz_cpu.mmu = device & FUZZ_DEVICE_MMU ? oracle.mmu : NULL;
	fuzz_cpu.mmu_pages = device & FUZZ_DEVICE_MMU ? FUZZ_MMU : 0;
}

static void oracle_walk(struct oracle_walk *walk)
{
	memset(walk->leaf, 0, sizeof(walk->leaf));
	walk->reason[0] = pagoda_cpu_walk(&fuzz_cpu, 0, walk->va, false, &walk->leaf[0]);
	walk->reason[1] = pagoda_cpu_walk(&fuzz_cpu, 0, walk->va, true, &walk->leaf[1]);
}

/*
 * Translates the pages of a range of addresses and keeps the walks. Returns false if the packet,
 * whose walks begin with number @before, needs more than ORACLE_WALKS walks.
 */
static bool oracle_note(u32 before, u64 va, u64 bytes, bool written)
{
	u64 end = va + bytes;

	for (va = ALIGN_DOWN(va, FUZZ_PAGE); bytes && va < end; va += FUZZ_PAGE) {
		if (oracle.nr_walks - before >= ORACLE_WALKS)
			return false;
		if (oracle.nr_walks == oracle.max_walks) {
			oracle.max_walks += ORACLE_WALKS;
			oracle.walks = realloc(oracle.walks,
					       oracle.max_walks * sizeof(*oracle.walks));
			fuzz_require(oracle.walks);
		}
		oracle.walks[oracle.nr_walks] = (struct oracle_walk) {
			.va = va, .written = written,
		};
		oracle_walk(&oracle.walks[oracle.nr_walks++]);
	}
	return true;
}

static bool oracle_note_ranges(u32 before, const struct virtio_pagoda_copy_range *range, u32 bytes)
{
	for (; bytes >= sizeof(*range); bytes -= sizeof(*range), range++) {
		if (!oracle_note(before, le64_to_cpu(range->src_table), FUZZ_PAGE, false) ||
		    !oracle_note(before, le64_to_cpu(range->dst_table), FUZZ_PAGE, true))
			return false;
	}
	return true;
}

/*
 * Translates the pages of the virtual addresses in a packet, and keeps the walks, as oracle_note().
 * Returns false if the packet needs more than ORACLE_WALKS walks.
 */
static bool oracle_note_packet(const void *packet, u32 length)
{
	const struct virtio_pagoda_packet *head = packet;
	const struct virtio_pagoda_signal_monitored_fence *signal = packet;
	const struct virtio_pagoda_virtual_transfer *transfer = packet;
	const struct virtio_pagoda_virtual_fill *fill = packet;
	const struct virtio_pagoda_update_page_table *update = packet;
	const struct virtio_pagoda_update_context_allocation *context = packet;
	const struct virtio_pagoda_copy_page_table_entries *copy = packet;
	u32 opcode = le16_to_cpu(head->opcode), before = oracle.nr_walks;
	u64 first, bytes;

	if (!fuzz_packet_fixed(opcode) || length < fuzz_packet_fixed(opcode))
		return true;
	switch (opcode) {
	case VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE:
		if (!(le16_to_cpu(head->flags) & VIRTIO_PAGODA_SIGNAL_VIRTUAL))
			return true;
		return oracle_note(before, le64_to_cpu(signal->address), 8, true);
	case VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER:
		bytes = le64_to_cpu(transfer->size);
		return bytes > VIRTIO_PAGODA_MAX_VIRTUAL ||
		       (oracle_note(before, le64_to_cpu(transfer->src_address), bytes, false) &&
			oracle_note(before, le64_to_cpu(transfer->dst_address), bytes, true));
	case VIRTIO_PAGODA_OP_VIRTUAL_FILL:
		bytes = le64_to_cpu(fill->size);
		return bytes > VIRTIO_PAGODA_MAX_VIRTUAL ||
		       oracle_note(before, le64_to_cpu(fill->address), bytes, true);
	case VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION:
		return oracle_note(before, le64_to_cpu(context->address) +
				   le32_to_cpu(context->data_offset),
				   le32_to_cpu(context->data_size), true);
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		if (le32_to_cpu(update->mode) != VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL)
			return true;
		bytes = fuzz_lists_update(&fuzz_cpu, update, &first);
		return oracle_note(before, le64_to_cpu(update->table_address) + first, bytes, true);
	case VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES:
		return oracle_note_ranges(before, (const void *)(copy + 1), length - sizeof(*copy));
	default:
		return true;
	}
}

static u64 oracle_place(const struct oracle_walk *walk)
{
	const struct pagoda_cpu_leaf *leaf = &walk->leaf[walk->written];

	if (walk->reason[walk->written] || leaf->zero)
		return 0;
	switch (leaf->segment) {
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		return leaf->address < FUZZ_VRAM * FUZZ_PAGE ?
		       (u64)(unsigned long)fuzz_cpu.vram + leaf->address : 0;
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		return (unsigned long)fuzz_oracle_page(leaf->address);
	default:
		return (unsigned long)oracle.aperture[leaf->address / FUZZ_PAGE % FUZZ_APERTURE];
	}
}

/*
 * Returns whether a TRANSFER or VIRTUAL_TRANSFER copies from a page to which it also copies, by
 * another address, for instance the dummy page (C58): the result depends on the order.
 */
static bool oracle_aliases(u32 opcode, u32 before)
{
	u32 i, j;

	if (opcode == VIRTIO_PAGODA_OP_TRANSFER) {
		for (i = 0; i < oracle.nr_pairs; i++) {
			for (j = 0; j < oracle.nr_pairs; j++)
				if (oracle.pairs[i][0] == oracle.pairs[j][1])
					return true;
		}
	}
	if (opcode != VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER)
		return false;
	for (i = before; i < oracle.nr_walks; i++) {
		u64 memory = oracle.walks[i].written ? 0 : oracle_place(&oracle.walks[i]);

		for (j = before; j < oracle.nr_walks && memory; j++)
			if (oracle.walks[j].written && oracle_place(&oracle.walks[j]) == memory)
				return true;
	}
	return false;
}

static bool oracle_walk_differs(const struct oracle_walk *a, const struct oracle_walk *b)
{
	return memcmp(a->reason, b->reason, sizeof(a->reason)) ||
	       a->leaf[0].address != b->leaf[0].address ||
	       a->leaf[0].page_size != b->leaf[0].page_size ||
	       a->leaf[0].segment != b->leaf[0].segment || a->leaf[0].zero != b->leaf[0].zero;
}

/*
 * Repeats all walks and notes the addresses whose translation the packet at @offset changed.
 * Returns true if the packet, whose walks begin with number @before, used such an address itself.
 */
static bool oracle_changed(u32 offset, u32 before)
{
	struct oracle_flush *flush = &oracle.flushes[oracle.nr_flushes];
	bool own = false;
	u32 i;

	flush->offset = offset;
	flush->count = 0;
	for (i = 0; i < oracle.nr_walks; i++) {
		struct oracle_walk fresh = oracle.walks[i];

		oracle_walk(&fresh);
		if (!oracle_walk_differs(&fresh, &oracle.walks[i]))
			continue;
		own |= i >= before;
		oracle.walks[i] = fresh;
		/* Without room for all addresses, world_flush() flushes all translations. */
		if (flush->count < ORACLE_FLUSHES)
			flush->addresses[flush->count] = fresh.va;
		flush->count++;
	}
	if (flush->count)
		oracle.nr_flushes++;
	return own;
}

/* Notes the addresses that a packet mapped aperture pages to (unmapped: the dummy page's). */
static void oracle_aperture_note(const void *packet)
{
	const struct virtio_pagoda_map_aperture_segment *map = packet;
	const struct virtio_pagoda_unmap_aperture_segment *unmap = packet;
	const struct virtio_pagoda_run *runs = (const void *)(map + 1);
	u64 at = le64_to_cpu(map->first_page), i;
	u32 run;

	switch (le16_to_cpu(map->packet.opcode)) {
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		for (i = 0; i < le64_to_cpu(unmap->nr_pages); i++)
			oracle.aperture_address[at++] = le64_to_cpu(unmap->dummy_page);
		break;
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		for (run = 0; run < le32_to_cpu(map->nr_runs); run++)
			for (i = 0; i < le32_to_cpu(runs[run].nr_pages); i++)
				oracle.aperture_address[at++] = le64_to_cpu(runs[run].address) +
								i * FUZZ_PAGE;
		break;
	}
}

/*
 * Returns whether each mapped aperture page is still the page to which the device MMU maps the
 * aperture page's address, writable. Always true without a device MMU.
 */
static bool oracle_aperture_true(void)
{
	u32 i;

	for (i = 0; i < FUZZ_APERTURE && fuzz_cpu.mmu; i++) {
		u64 page = oracle.aperture_address[i] / FUZZ_PAGE;

		if (oracle.aperture[i] && (page >= FUZZ_MMU ||
					   oracle.mmu[page] != oracle.aperture[i] ||
					   oracle.mmu_read_only[page]))
			return false;
	}
	return true;
}

/*
 * Executes the packet at @offset, which ends at @next (0: its length is wrong), unless it names too
 * many pages. Returns the fault reason; 0 with *@cut if the result can't be compared.
 */
static u32 oracle_packet(const u8 *data, u32 size, u32 offset, u32 next, bool *cut)
{
	const struct virtio_pagoda_packet *packet = (const void *)(data + offset);
	struct pagoda_paging_private priv = { .offset = offset };
	u32 before = oracle.nr_walks, stopped_at, opcode = 0;
	int ret;

	oracle.nr_pairs = 0;
	if (next) {
		opcode = le16_to_cpu(packet->opcode);
		*cut = !oracle_note_packet(packet, next - offset);
		if (*cut)
			return VIRTIO_PAGODA_FAULT_NONE;
		priv = fuzz_lists_make(&oracle_memory, packet, next - offset, offset);
	}
	ret = pagoda_cpu_execute(&fuzz_cpu, data, next ? next : size, offset, &priv, sizeof(priv),
				 &stopped_at);
	fuzz_require(!oracle.nr_mapped && stopped_at == (ret ? offset : next));
	fuzz_require(!ret == !fuzz_cpu.reason);
	if (!ret)
		oracle_aperture_note(packet);
	/* Also if the packet was refused, maybe because of page tables that it wrote itself. */
	*cut = oracle_changed(offset, before) || (!ret && oracle_aliases(opcode, before));
	fuzz_lists_free(&priv);
	return *cut ? VIRTIO_PAGODA_FAULT_NONE : fuzz_cpu.reason;
}

/*
 * Returns whether the buffer is for an execution queue, which refuses the packet's operation. The
 * executor itself knows nothing of queues.
 */
static bool oracle_forbids(const struct fuzz_head *head, const struct virtio_pagoda_packet *packet)
{
	u32 opcode = le16_to_cpu(packet->opcode);

	return head->mode & FUZZ_EXEC && fuzz_packet_fixed(opcode) && !fuzz_packet_exec(opcode);
}

/*
 * Executes packets from @start to @end, one at a time, to note what each has copied and translated.
 * If the result is cut, the packet at &fuzz_oracle.stop may have been executed.
 */
struct fuzz_oracle fuzz_oracle_execute(const u8 *data, u32 size, u32 start, u32 end,
				       const struct fuzz_head *head)
{
	struct fuzz_oracle result = { .stop = start };

	while (!result.reason && result.stop < end) {
		u32 next = fuzz_packet_next(data, size, result.stop);

		result.cut = !oracle_aperture_true();
		if (!result.cut && oracle_forbids(head, (const void *)(data + result.stop)))
			result.reason = VIRTIO_PAGODA_FAULT_FORBIDDEN;
		else if (!result.cut)
			result.reason = oracle_packet(data, size, result.stop, next, &result.cut);
		if (result.cut)
			break;
		if (!result.reason)
			result.stop = next;
	}
	return result;
}

/*
 * Returns the number of pages whose translation the packet at @offset changed; *@addresses: their
 * addresses. ~0 if the pages are more than ORACLE_FLUSHES.
 */
u32 fuzz_oracle_flushes(u32 offset, const u64 **addresses)
{
	u32 i;

	for (i = 0; i < oracle.nr_flushes; i++) {
		if (oracle.flushes[i].offset != offset)
			continue;
		*addresses = oracle.flushes[i].addresses;
		return oracle.flushes[i].count <= ORACLE_FLUSHES ? oracle.flushes[i].count : ~0u;
	}
	return 0;
}
