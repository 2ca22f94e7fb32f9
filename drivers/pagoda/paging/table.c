// SPDX-License-Identifier: GPL-2.0
/*
 * The table of operations, and the entry points that call the functions of its rows.
 *
 * A new operation needs a row; a test fails if a column other than tail and moved is missing.
 * selftests/tools/optable.py generates the README's table of operations from this file.
 */
#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "cpu/cpu.h"
#include "table.h"

static const struct pagoda_paging_row paging_table[VIRTIO_PAGODA_OP_COUNT] = {
	[VIRTIO_PAGODA_OP_TRANSFER] = {
		.name = "TRANSFER",
		.trigger = "move between VRAM, aperture and system memory",
		.points = "C26 - C37",
		.head = sizeof(struct virtio_pagoda_transfer),
		.tail = pagoda_transfer_tail,
		.validate = pagoda_transfer_validate,
		.build = pagoda_transfer_build,
		.execute = pagoda_transfer_execute,
		.print = pagoda_transfer_print,
		.cost = pagoda_transfer_cost,
		.ends = pagoda_transfer_ends,
	},
	[VIRTIO_PAGODA_OP_FILL] = {
		.name = "FILL",
		.trigger = "first placement in VRAM without content (not for blocks known clean)",
		.points = "C39 - C45",
		.head = sizeof(struct virtio_pagoda_fill),
		.validate = pagoda_fill_validate,
		.build = pagoda_fill_build,
		.execute = pagoda_fill_execute,
		.print = pagoda_fill_print,
		.cost = pagoda_fill_cost,
		.ends = pagoda_fill_ends,
	},
	[VIRTIO_PAGODA_OP_DISCARD_CONTENT] = {
		.name = "DISCARD_CONTENT",
		.trigger = "content given up: gutting, offered memory that was taken",
		.points = "C46 - C48",
		.head = sizeof(struct virtio_pagoda_discard_content),
		.validate = pagoda_discard_content_validate,
		.build = pagoda_discard_content_build,
		.execute = pagoda_discard_content_execute,
		.print = pagoda_discard_content_print,
		.cost = pagoda_discard_content_cost,
		.ends = pagoda_discard_content_ends,
	},
	[VIRTIO_PAGODA_OP_READ_PHYSICAL] = {
		.name = "READ_PHYSICAL",
		.trigger = "the GPU wrote system memory and the CPU will look",
		.points = "C49 - C51",
		.head = sizeof(struct virtio_pagoda_access_physical),
		.validate = pagoda_access_physical_validate,
		.build = pagoda_access_physical_build,
		.execute = pagoda_read_physical_execute,
		.print = pagoda_access_physical_print,
		.cost = pagoda_access_physical_cost,
		.ends = pagoda_access_physical_ends,
	},
	[VIRTIO_PAGODA_OP_WRITE_PHYSICAL] = {
		.name = "WRITE_PHYSICAL",
		.trigger = "the same, where the CPU's mappings of the pages aren't cached",
		.points = "C50, C51",
		.head = sizeof(struct virtio_pagoda_access_physical),
		.validate = pagoda_access_physical_validate,
		.build = pagoda_access_physical_build,
		.execute = pagoda_write_physical_execute,
		.print = pagoda_access_physical_print,
		.cost = pagoda_access_physical_cost,
		.ends = pagoda_access_physical_ends,
	},
	[VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT] = {
		.name = "MAP_APERTURE_SEGMENT",
		.trigger = "bind into the aperture of a device without MAP_APERTURE_SEGMENT2",
		.points = "C52 - C56, C60 - C63",
		.head = sizeof(struct virtio_pagoda_map_aperture_segment),
		.tail = pagoda_map_aperture_tail,
		.validate = pagoda_map_aperture_validate,
		.build = pagoda_map_aperture_build,
		.execute = pagoda_map_aperture_execute,
		.print = pagoda_map_aperture_print,
		.cost = pagoda_map_aperture_cost,
		.ends = pagoda_map_aperture_ends,
	},
	[VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT] = {
		.name = "UNMAP_APERTURE_SEGMENT",
		.trigger = "unbind or unpopulate: the range reads as the dummy page",
		.points = "C53, C57 - C63",
		.head = sizeof(struct virtio_pagoda_unmap_aperture_segment),
		.validate = pagoda_unmap_aperture_validate,
		.build = pagoda_unmap_aperture_build,
		.execute = pagoda_unmap_aperture_execute,
		.print = pagoda_unmap_aperture_print,
		.cost = pagoda_unmap_aperture_cost,
		.ends = pagoda_unmap_aperture_ends,
	},
	[VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER] = {
		.name = "SPECIAL_LOCK_TRANSFER",
		.trigger = "move of a tiled allocation that the CPU sees in a swizzling range",
		.points = "C34, C38",
		.head = sizeof(struct virtio_pagoda_special_lock_transfer),
		.tail = pagoda_special_lock_tail,
		.validate = pagoda_special_lock_validate,
		.build = pagoda_transfer_build,
		.execute = pagoda_special_lock_execute,
		.print = pagoda_special_lock_print,
		.cost = pagoda_transfer_cost,
		.ends = pagoda_transfer_ends,
	},
	[VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER] = {
		.name = "VIRTUAL_TRANSFER",
		.trigger = "move through the scratch windows of the paging address space",
		.points = "C69 - C74",
		.head = sizeof(struct virtio_pagoda_virtual_transfer),
		.validate = pagoda_virtual_transfer_validate,
		.build = pagoda_virtual_transfer_build,
		.execute = pagoda_virtual_transfer_execute,
		.print = pagoda_virtual_transfer_print,
		.cost = pagoda_virtual_transfer_cost,
		.ends = pagoda_virtual_transfer_ends,
	},
	[VIRTIO_PAGODA_OP_VIRTUAL_FILL] = {
		.name = "VIRTUAL_FILL",
		.trigger = "first placement in VRAM through a scratch window",
		.points = "C69 - C72",
		.head = sizeof(struct virtio_pagoda_virtual_fill),
		.validate = pagoda_virtual_fill_validate,
		.build = pagoda_virtual_fill_build,
		.execute = pagoda_virtual_fill_execute,
		.print = pagoda_virtual_fill_print,
		.cost = pagoda_virtual_fill_cost,
		.ends = pagoda_virtual_fill_ends,
	},
	[VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE] = {
		.name = "INIT_CONTEXT_RESOURCE",
		.trigger = "a context is created",
		.points = "C81, C83",
		.head = sizeof(struct virtio_pagoda_init_context_resource),
		.tail = pagoda_init_context_tail,
		.validate = pagoda_init_context_validate,
		.build = pagoda_init_context_build,
		.execute = pagoda_init_context_execute,
		.print = pagoda_init_context_print,
		.cost = pagoda_init_context_cost,
		.ends = pagoda_init_context_ends,
	},
	[VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE] = {
		.name = "UPDATE_PAGE_TABLE",
		.trigger = "map, unmap, rebind after a move",
		.points = "C86 - C101",
		.head = sizeof(struct virtio_pagoda_update_page_table),
		.tail = pagoda_update_tail,
		.validate = pagoda_update_validate,
		.build = pagoda_update_build,
		.execute = pagoda_update_execute,
		.print = pagoda_update_print,
		.cost = pagoda_update_cost,
		.ends = pagoda_update_ends,
		.moved = pagoda_update_moved,
	},
	[VIRTIO_PAGODA_OP_FLUSH_TLB] = {
		.name = "FLUSH_TLB",
		.trigger = "a valid entry changed, once a batch and address space",
		.points = "C103 - C106",
		.head = sizeof(struct virtio_pagoda_flush_tlb),
		.validate = pagoda_flush_tlb_validate,
		.build = pagoda_flush_tlb_build,
		.execute = pagoda_flush_tlb_execute,
		.print = pagoda_flush_tlb_print,
		.cost = pagoda_flush_tlb_cost,
		.ends = pagoda_flush_tlb_ends,
	},
	[VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION] = {
		.name = "UPDATE_CONTEXT_ALLOCATION",
		.trigger = "the page tables of a context's space moved",
		.points = "C84",
		.head = sizeof(struct virtio_pagoda_update_context_allocation),
		.tail = pagoda_update_context_tail,
		.validate = pagoda_update_context_validate,
		.build = pagoda_update_context_build,
		.execute = pagoda_update_context_execute,
		.print = pagoda_update_context_print,
		.cost = pagoda_update_context_cost,
		.ends = pagoda_update_context_ends,
	},
	[VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES] = {
		.name = "COPY_PAGE_TABLE_ENTRIES",
		.trigger = "a sparse range is mapped from what another range is by then",
		.points = "C108 - C112",
		.head = sizeof(struct virtio_pagoda_copy_page_table_entries),
		.tail = pagoda_copy_entries_tail,
		.validate = pagoda_copy_entries_validate,
		.build = pagoda_copy_entries_build,
		.execute = pagoda_copy_entries_execute,
		.print = pagoda_copy_entries_print,
		.cost = pagoda_copy_entries_cost,
		.ends = pagoda_copy_entries_ends,
	},
	[VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY] = {
		.name = "NOTIFY_RESIDENCY",
		.trigger = "an allocation that asked for it is committed or evicted",
		.points = "C113 - C115",
		.head = sizeof(struct virtio_pagoda_notify_residency),
		.validate = pagoda_notify_residency_validate,
		.build = pagoda_notify_residency_build,
		.execute = pagoda_notify_residency_execute,
		.print = pagoda_notify_residency_print,
		.cost = pagoda_notify_residency_cost,
		.ends = pagoda_notify_residency_ends,
	},
	[VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE] = {
		.name = "SIGNAL_MONITORED_FENCE",
		.trigger = "the end of a batch",
		.points = "C116, C117",
		.head = sizeof(struct virtio_pagoda_signal_monitored_fence),
		.validate = pagoda_signal_fence_validate,
		.build = pagoda_signal_fence_build,
		.execute = pagoda_signal_fence_execute,
		.print = pagoda_signal_fence_print,
		.cost = pagoda_signal_fence_cost,
		.ends = pagoda_signal_fence_ends,
	},
	[VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2] = {
		.name = "MAP_APERTURE_SEGMENT2",
		.trigger = "populate and bind into the aperture",
		.points = "C52 - C56, C60 - C67",
		.head = sizeof(struct virtio_pagoda_map_aperture_segment),
		.tail = pagoda_map_aperture_tail,
		.validate = pagoda_map_aperture_validate,
		.build = pagoda_map_aperture_build,
		.execute = pagoda_map_aperture_execute,
		.print = pagoda_map_aperture_print,
		.cost = pagoda_map_aperture_cost,
		.ends = pagoda_map_aperture_ends,
	},
	[VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY] = {
		.name = "NOTIFY_FENCE_RESIDENCY",
		.trigger = "the page of a fence's value came, moved or went",
		.points = "none",
		.head = sizeof(struct virtio_pagoda_notify_fence_residency),
		.tail = pagoda_notify_fences_tail,
		.validate = pagoda_notify_fences_validate,
		.build = pagoda_notify_fences_build,
		.execute = pagoda_notify_fences_execute,
		.print = pagoda_notify_fences_print,
		.cost = pagoda_notify_fences_cost,
		.ends = pagoda_notify_fences_ends,
	},
	[VIRTIO_PAGODA_OP_MAP_MMU] = {
		.name = "MAP_MMU",
		.trigger = "the device, which has an MMU of its own, is to use system memory",
		.points = "ours",
		.head = sizeof(struct virtio_pagoda_map_mmu),
		.tail = pagoda_map_mmu_tail,
		.validate = pagoda_map_mmu_validate,
		.build = pagoda_map_mmu_build,
		.execute = pagoda_map_mmu_execute,
		.print = pagoda_map_mmu_print,
		.cost = pagoda_map_mmu_cost,
		.ends = pagoda_map_mmu_ends,
	},
	[VIRTIO_PAGODA_OP_UNMAP_MMU] = {
		.name = "UNMAP_MMU",
		.trigger = "such memory is about to be given back",
		.points = "C121",
		.head = sizeof(struct virtio_pagoda_map_mmu),
		.tail = pagoda_map_mmu_tail,
		.validate = pagoda_unmap_mmu_validate,
		.build = pagoda_unmap_mmu_build,
		.execute = pagoda_unmap_mmu_execute,
		.print = pagoda_map_mmu_print,
		.cost = pagoda_unmap_mmu_cost,
		.ends = pagoda_map_mmu_ends,
	},
	[VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2] = {
		.name = "NOTIFY_RESIDENCY2",
		.trigger = "the same as NOTIFY_RESIDENCY for an allocation in several pieces",
		.points = "C113 - C115",
		.head = sizeof(struct virtio_pagoda_notify_residency),
		.validate = pagoda_notify_residency_validate,
		.build = pagoda_notify_residency_build,
		.execute = pagoda_notify_residency_execute,
		.print = pagoda_notify_residency_print,
		.cost = pagoda_notify_residency_cost,
		.ends = pagoda_notify_residency_ends,
	},
	[VIRTIO_PAGODA_OP_NOTIFY_ALLOC] = {
		.name = "NOTIFY_ALLOC",
		.trigger = "an allocation leaves system memory or the device's MMU",
		.points = "C118 - C121",
		.head = sizeof(struct virtio_pagoda_notify_alloc),
		.validate = pagoda_notify_alloc_validate,
		.build = pagoda_notify_alloc_build,
		.execute = pagoda_notify_alloc_execute,
		.print = pagoda_notify_alloc_print,
		.cost = pagoda_notify_alloc_cost,
		.ends = pagoda_notify_alloc_ends,
	},
};

/*
 * Opcodes 24, 25 and 26 are not executed. Headers newer than the documentation are said to name
 * them, but no page of Microsoft's documents their fields, and a guess couldn't be tested. The
 * opcodes stay free; feature bits for 25 and 26 can't follow from the opcodes, because the
 * transport uses those bits.
 */

/* Number of calls of pagoda_paging_build() with an unknown opcode. */
static atomic64_t paging_unknown = ATOMIC64_INIT(0);

/* Returns the row of the operation with @opcode, NULL for an unknown opcode. */
const struct pagoda_paging_row *pagoda_paging_row(u32 opcode)
{
	if (!opcode || opcode >= VIRTIO_PAGODA_OP_COUNT)
		return NULL;
	return &paging_table[opcode];
}

/**
 * pagoda_paging_name() - Name of an operation
 * @opcode: Any value
 *
 * Context: any.
 * Return: the name in capitals, "UNKNOWN" for an unknown opcode.
 */
const char *pagoda_paging_name(u32 opcode)
{
	const struct pagoda_paging_row *row = pagoda_paging_row(opcode);

	return row ? row->name : "UNKNOWN";
}

/*
 * Returns how often pagoda_paging_build() got an unknown opcode since the module was loaded (C17).
 */
u64 pagoda_paging_unknown_count(void)
{
	return atomic64_read(&paging_unknown);
}

/**
 * pagoda_paging_validate() - Check that an operation can be built and executed
 * @limits: Limits of the device
 * @op: The operation
 * @why: After an error: a constant text that names the failed check
 *
 * Only this function refuses operations: builders refuse no accepted operation. An operation
 * with an unknown opcode is accepted, and encodes nothing (C17). Not checked are overlaps of two
 * different page lists unless both are contiguous, and what aperture pages and virtual addresses
 * lead to.
 *
 * Context: any. Reads all lists that the operation points to.
 * Return: 0; -EINVAL for a malformed operation, -ERANGE for an operation that reaches past a
 * segment, a page list or a limit, -EOPNOTSUPP for an operation that the device doesn't execute, or
 * that needs what the device doesn't have.
 */
int pagoda_paging_validate(const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_paging_row *row = pagoda_paging_row(op->operation);

	if (!row)
		return 0;
	if (limits->max_runs < 2)
		return pagoda_refuse(why, -EINVAL, "fewer than two runs a packet");
	if (!(limits->features & 1ull << VIRTIO_PAGODA_F_OP(op->operation)))
		return pagoda_refuse(why, -EOPNOTSUPP, "operation not offered by the device");
	return row->validate(limits, op, why);
}

/**
 * pagoda_paging_build() - Encode an operation, or as much of it as @buf has room for
 * @limits: Limits of the device
 * @op: Operation that pagoda_paging_validate() accepted; unchanged between calls
 * @cursor: Zero at the first call for @op, then changed only by this function
 * @buf: Buffer; advanced past the encoded packets
 *
 * The contract is in the opening comment of paging/paging.h.
 *
 * Context: any; the caller owns cursor and buffer.
 * Return: success, insufficient buffer or allocation busy (C1).
 */
enum pagoda_build pagoda_paging_build(const struct pagoda_paging_limits *limits,
				      const struct pagoda_paging_op *op,
				      struct pagoda_paging_cursor *cursor,
				      struct pagoda_paging_buffer *buf)
{
	const struct pagoda_paging_row *row = pagoda_paging_row(op->operation);

	if (!row) {
		atomic64_inc(&paging_unknown);
		return PAGODA_BUILD_SUCCESS;
	}
	return row->build(limits, op, cursor, buf);
}

/**
 * pagoda_paging_cost() - Upper bounds for the cost of an operation
 * @limits: Limits of the device
 * @op: Operation that pagoda_paging_validate() accepted
 * @buffer_size: Bytes of the smallest fresh buffer; a value below %PAGODA_PAGING_MIN_BUFFER counts
 *	as that constant
 *
 * Context: any. Reads the operation's page lists and page-table entries.
 * Return: upper bounds, zero for an unknown opcode.
 */
struct pagoda_paging_cost pagoda_paging_cost(const struct pagoda_paging_limits *limits,
					     const struct pagoda_paging_op *op, u32 buffer_size)
{
	const struct pagoda_paging_row *row = pagoda_paging_row(op->operation);

	if (!row)
		return (struct pagoda_paging_cost) { };
	return row->cost(limits, op, max_t(u32, buffer_size, PAGODA_PAGING_MIN_BUFFER));
}

/**
 * pagoda_paging_moved() - Bytes that an operation copies or writes
 * @limits: Limits of the device
 * @op: Operation that pagoda_paging_validate() accepted
 *
 * Context: any. Reads the operation's page lists, but, unlike pagoda_paging_cost(), not its
 * page-table entries.
 * Return: the bytes that pagoda_paging_cost() reports as moved.
 */
u64 pagoda_paging_moved(const struct pagoda_paging_limits *limits,
			const struct pagoda_paging_op *op)
{
	const struct pagoda_paging_row *row = pagoda_paging_row(op->operation);

	if (row && row->moved)
		return row->moved(op);
	return pagoda_paging_cost(limits, op, 0).moved;
}

/**
 * pagoda_paging_ends() - Source and destination of an operation
 * @op: The operation, with any opcode
 *
 * Context: any.
 * Return: source and destination for traces and the journal, empty for an unknown opcode.
 */
struct pagoda_paging_ends pagoda_paging_ends(const struct pagoda_paging_op *op)
{
	const struct pagoda_paging_row *row = pagoda_paging_row(op->operation);

	if (row)
		return row->ends(op);
	return (struct pagoda_paging_ends) {
		.src_segment = VIRTIO_PAGODA_SEGMENT_COUNT,
		.dst_segment = VIRTIO_PAGODA_SEGMENT_COUNT,
	};
}

/*
 * Returns the row of the packet at @data, which is aligned to VIRTIO_PAGODA_PACKET_ALIGN. Returns
 * NULL, and sets *@why to a constant text, if the opcode is unknown, the packet is longer than
 * @left bytes, or its length isn't what the opcode and the packet's counts and flags give.
 */
const struct pagoda_paging_row *pagoda_packet_check(const void *data, u32 left,
						    const char **why)
{
	const struct virtio_pagoda_packet *packet = data;
	const struct pagoda_paging_row *row;
	u32 length;
	u64 tail;

	*why = "packet head cut off";
	if (left < sizeof(*packet))
		return NULL;
	*why = "unknown opcode";
	row = pagoda_paging_row(le16_to_cpu(packet->opcode));
	if (!row)
		return NULL;
	*why = "packet longer than the buffer";
	length = le32_to_cpu(packet->length);
	if (length > left)
		return NULL;
	*why = "packet length";
	if (length < sizeof(*packet) || length % VIRTIO_PAGODA_PACKET_ALIGN || length < row->head)
		return NULL;
	tail = row->tail ? row->tail(data) : 0;
	if (length != row->head + tail)
		return NULL;
	return row;
}
