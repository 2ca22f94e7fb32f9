// SPDX-License-Identifier: GPL-2.0
/*
 * The table of operations, and the entry points that dispatch through it.
 *
 * Adding an operation means writing its columns and completing its row here;
 * a row with some columns missing fails a test.
 */
#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "table.h"

static const struct pagoda_paging_row pagoda_paging_table[VIRTIO_PAGODA_OP_COUNT] = {
	[VIRTIO_PAGODA_OP_TRANSFER] = {
		.name = "TRANSFER",
		.head = sizeof(struct virtio_pagoda_transfer),
		.tail = pagoda_transfer_tail,
		.validate = pagoda_transfer_validate,
		.build = pagoda_transfer_build,
		.execute = pagoda_transfer_execute,
		.print = pagoda_transfer_print,
		.cost = pagoda_transfer_cost,
	},
	[VIRTIO_PAGODA_OP_FILL] = {
		.name = "FILL",
		.head = sizeof(struct virtio_pagoda_fill),
		.validate = pagoda_fill_validate,
		.build = pagoda_fill_build,
		.execute = pagoda_fill_execute,
		.print = pagoda_fill_print,
		.cost = pagoda_fill_cost,
	},
	[VIRTIO_PAGODA_OP_DISCARD_CONTENT] = {
		.name = "DISCARD_CONTENT",
		.head = sizeof(struct virtio_pagoda_discard_content),
		.validate = pagoda_discard_content_validate,
		.build = pagoda_discard_content_build,
		.execute = pagoda_discard_content_execute,
		.print = pagoda_discard_content_print,
		.cost = pagoda_discard_content_cost,
	},
	[VIRTIO_PAGODA_OP_READ_PHYSICAL] = {
		.name = "READ_PHYSICAL",
		.head = sizeof(struct virtio_pagoda_access_physical),
		.validate = pagoda_access_physical_validate,
		.build = pagoda_access_physical_build,
		.execute = pagoda_read_physical_execute,
		.print = pagoda_access_physical_print,
		.cost = pagoda_access_physical_cost,
	},
	[VIRTIO_PAGODA_OP_WRITE_PHYSICAL] = {
		.name = "WRITE_PHYSICAL",
		.head = sizeof(struct virtio_pagoda_access_physical),
		.validate = pagoda_access_physical_validate,
		.build = pagoda_access_physical_build,
		.execute = pagoda_write_physical_execute,
		.print = pagoda_access_physical_print,
		.cost = pagoda_access_physical_cost,
	},
	[VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT] = {
		.name = "MAP_APERTURE_SEGMENT",
		.head = sizeof(struct virtio_pagoda_map_aperture_segment),
		.tail = pagoda_map_aperture_tail,
		.validate = pagoda_map_aperture_validate,
		.build = pagoda_map_aperture_build,
		.execute = pagoda_map_aperture_execute,
		.print = pagoda_map_aperture_print,
		.cost = pagoda_map_aperture_cost,
	},
	[VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT] = {
		.name = "UNMAP_APERTURE_SEGMENT",
		.head = sizeof(struct virtio_pagoda_unmap_aperture_segment),
		.validate = pagoda_unmap_aperture_validate,
		.build = pagoda_unmap_aperture_build,
		.execute = pagoda_unmap_aperture_execute,
		.print = pagoda_unmap_aperture_print,
		.cost = pagoda_unmap_aperture_cost,
	},
	[VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER] = { .name = "SPECIAL_LOCK_TRANSFER" },
	[VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER] = { .name = "VIRTUAL_TRANSFER" },
	[VIRTIO_PAGODA_OP_VIRTUAL_FILL] = { .name = "VIRTUAL_FILL" },
	[VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE] = { .name = "INIT_CONTEXT_RESOURCE" },
	[VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE] = { .name = "UPDATE_PAGE_TABLE" },
	[VIRTIO_PAGODA_OP_FLUSH_TLB] = { .name = "FLUSH_TLB" },
	[VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION] = { .name = "UPDATE_CONTEXT_ALLOCATION" },
	[VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES] = { .name = "COPY_PAGE_TABLE_ENTRIES" },
	[VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY] = { .name = "NOTIFY_RESIDENCY" },
	[VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE] = {
		.name = "SIGNAL_MONITORED_FENCE",
		.head = sizeof(struct virtio_pagoda_signal_monitored_fence),
		.validate = pagoda_signal_fence_validate,
		.build = pagoda_signal_fence_build,
		.execute = pagoda_signal_fence_execute,
		.print = pagoda_signal_fence_print,
		.cost = pagoda_signal_fence_cost,
	},
	[VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2] = {
		.name = "MAP_APERTURE_SEGMENT2",
		.head = sizeof(struct virtio_pagoda_map_aperture_segment),
		.tail = pagoda_map_aperture_tail,
		.validate = pagoda_map_aperture_validate,
		.build = pagoda_map_aperture_build,
		.execute = pagoda_map_aperture_execute,
		.print = pagoda_map_aperture_print,
		.cost = pagoda_map_aperture_cost,
	},
	[VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY] = { .name = "NOTIFY_FENCE_RESIDENCY" },
	[VIRTIO_PAGODA_OP_MAP_MMU] = { .name = "MAP_MMU" },
	[VIRTIO_PAGODA_OP_UNMAP_MMU] = { .name = "UNMAP_MMU" },
	[VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2] = { .name = "NOTIFY_RESIDENCY2" },
	[VIRTIO_PAGODA_OP_NOTIFY_ALLOC] = {
		.name = "NOTIFY_ALLOC",
		.head = sizeof(struct virtio_pagoda_notify_alloc),
		.validate = pagoda_notify_alloc_validate,
		.build = pagoda_notify_alloc_build,
		.execute = pagoda_notify_alloc_execute,
		.print = pagoda_notify_alloc_print,
		.cost = pagoda_notify_alloc_cost,
	},
};

/* Operations asked for that nobody knows; diagnostic only. */
static atomic64_t pagoda_paging_unknown = ATOMIC64_INIT(0);

/**
 * pagoda_paging_row() - The row of an operation
 * @opcode: Any value
 *
 * Context: any.
 * Return: the row, NULL for an unknown opcode.
 */
const struct pagoda_paging_row *pagoda_paging_row(u32 opcode)
{
	if (!opcode || opcode >= VIRTIO_PAGODA_OP_COUNT)
		return NULL;
	return &pagoda_paging_table[opcode];
}

/**
 * pagoda_paging_name() - Name of an operation
 * @opcode: Any value
 *
 * Context: any.
 * Return: its name in capitals, "UNKNOWN" for an unknown opcode.
 */
const char *pagoda_paging_name(u32 opcode)
{
	const struct pagoda_paging_row *row = pagoda_paging_row(opcode);

	return row ? row->name : "UNKNOWN";
}

/**
 * pagoda_paging_unknown_count() - Unknown operations that were built (C17)
 *
 * Context: any.
 * Return: their number since the module was loaded.
 */
u64 pagoda_paging_unknown_count(void)
{
	return atomic64_read(&pagoda_paging_unknown);
}

/**
 * pagoda_paging_validate() - Refuse what can't be built or executed
 * @limits: Of the device
 * @op: The operation
 * @why: Set to a constant text that names the check when refused
 *
 * The only place where an operation is refused: what this accepts, every
 * builder encodes. An unknown operation is accepted, because it encodes nothing
 * (C17). What isn't checked: that two scattered page lists have no page in
 * common, and that aperture pages are mapped.
 *
 * Context: any. Reads the operation's page lists.
 * Return: 0; -EINVAL for a malformed operation, -ERANGE for one that reaches
 *	past a segment, a page list or a limit, -EOPNOTSUPP for one the device
 *	doesn't execute.
 */
int pagoda_paging_validate(const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_paging_row *row = pagoda_paging_row(op->operation);

	if (!row)
		return 0;
	if (!row->validate)
		return pagoda_refuse(why, -EOPNOTSUPP, "operation not implemented");
	if (limits->max_runs < 2)
		return pagoda_refuse(why, -EINVAL, "fewer than two runs a packet");
	if (!(limits->features & 1ull << VIRTIO_PAGODA_F_OP(op->operation)))
		return pagoda_refuse(why, -EOPNOTSUPP, "operation not offered by the device");
	return row->validate(limits, op, why);
}

/**
 * pagoda_paging_build() - Encode an operation, or as much as there is room for
 * @limits: Of the device
 * @op: Operation that pagoda_paging_validate() accepted; the same at every call
 * @cursor: Progress, zero at the first call, else untouched since the last one
 * @buf: Where to; advanced past what was encoded
 *
 * The contract is in the head of pagoda/paging.h.
 *
 * Context: any; the caller owns cursor and buffer.
 * Return: built, insufficient buffer or allocation busy (C1).
 */
enum pagoda_build pagoda_paging_build(const struct pagoda_paging_limits *limits,
				      const struct pagoda_paging_op *op,
				      struct pagoda_paging_cursor *cursor,
				      struct pagoda_paging_buffer *buf)
{
	const struct pagoda_paging_row *row = pagoda_paging_row(op->operation);

	if (!row || !row->build) {
		atomic64_inc(&pagoda_paging_unknown);
		return PAGODA_BUILD_SUCCESS;
	}
	return row->build(limits, op, cursor, buf);
}

/**
 * pagoda_paging_cost() - What an operation takes at most
 * @limits: Of the device
 * @op: Operation that pagoda_paging_validate() accepted
 * @buffer_size: Bytes of the smallest fresh buffer it will get; less than
 *	%PAGODA_PAGING_MIN_BUFFER counts as that
 *
 * Context: any. Reads the operation's page lists.
 * Return: upper bounds, zero for what encodes nothing.
 */
struct pagoda_paging_cost pagoda_paging_cost(const struct pagoda_paging_limits *limits,
					     const struct pagoda_paging_op *op, u32 buffer_size)
{
	const struct pagoda_paging_row *row = pagoda_paging_row(op->operation);

	if (!row || !row->cost)
		return (struct pagoda_paging_cost) { };
	return row->cost(limits, op, max_t(u32, buffer_size, PAGODA_PAGING_MIN_BUFFER));
}
