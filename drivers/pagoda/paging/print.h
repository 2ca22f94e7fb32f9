/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the files which print paging packets as text share. */
#ifndef PAGODA_PAGING_PRINT_H
#define PAGODA_PAGING_PRINT_H

#include <linux/compiler.h>
#include <asm/byteorder.h>
#include "paging.h"

/* Name of a packet flag; an array of names ends with an empty element. */
struct pagoda_flag_name {
	u32 flag;
	const char *name;
};

__printf(2, 3) void pagoda_text_add(struct pagoda_paging_text *text, const char *format, ...);
void pagoda_print_bytes(struct pagoda_paging_text *text, u64 bytes);
void pagoda_print_count(struct pagoda_paging_text *text, u64 count, const char *what);
void pagoda_print_address(struct pagoda_paging_text *text, u32 segment, u64 address);
void pagoda_print_flags(struct pagoda_paging_text *text,
			const struct virtio_pagoda_packet *packet,
			const struct pagoda_flag_name *names);
void pagoda_print_location(struct pagoda_paging_text *text,
			   const struct virtio_pagoda_location *location);
void pagoda_print_transfer(struct pagoda_paging_text *text,
			   const struct virtio_pagoda_transfer *transfer);
void pagoda_print_tiled(struct pagoda_paging_text *text, const struct virtio_pagoda_tiled *tiled);

static inline unsigned long long pagoda_number(__le64 value)
{
	return le64_to_cpu(value);
}

extern const struct pagoda_flag_name pagoda_transfer_flag_names[];

#endif
