/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_COMMAND_H
#define PAGODA_KUNIT_COMMAND_H

/*
 * Returns a pointer to a command of a GPU program, its head with opcode @NAME and flags @more;
 * further arguments initialize the other fields.
 */
#define PAGODA_COMMAND(NAME, type, more, ...) (&(const struct virtio_pagoda_##type) { \
	.command = { \
		.opcode = cpu_to_le16(VIRTIO_PAGODA_COMMAND_##NAME), \
		.flags = cpu_to_le16(more), \
		.length = cpu_to_le32(sizeof(struct virtio_pagoda_##type)), \
	}, \
	__VA_ARGS__ \
})

#endif
