/* SPDX-License-Identifier: GPL-2.0 */
/* Virtual addresses in the CPU executor. */
#ifndef PAGODA_PAGING_CPU_WALK_H
#define PAGODA_PAGING_CPU_WALK_H

#include "internal.h"

/**
 * struct pagoda_cpu_leaf - Translation of a virtual address
 * @address: Address of the byte in @segment; 0 with @zero
 * @page_size: Bytes that the entry translates
 * @segment: VRAM, SYSTEM or APERTURE
 * @zero: Reads return zeros, writes are dropped
 */
struct pagoda_cpu_leaf {
	u64 address;
	u64 page_size;
	u32 segment;
	bool zero;
};

/**
 * struct pagoda_cpu_virtual - Memory at virtual addresses of the paging space
 * @exec: Memory and page tables
 * @pages: struct page array for system memory: entry 0 is the page at @base; NULL: of system
 *	memory only page tables are found, if @tables
 * @base: Virtual address
 * @write: The memory is going to be written
 * @tables: The memory holds page tables, which the executor finds by bus address
 */
struct pagoda_cpu_virtual {
	struct pagoda_cpu_executor *exec;
	const void *pages;
	u64 base;
	bool write;
	bool tables;
};

/**
 * struct pagoda_cpu_mapping - A mapped part of one page
 * @at: Byte asked for, NULL in a page of zeros
 * @page: Page to unmap, or NULL
 */
struct pagoda_cpu_mapping {
	u8 *at;
	u8 *page;
};

u32 pagoda_cpu_walk(const struct pagoda_cpu_executor *exec, u32 space, u64 va, bool write,
		    struct pagoda_cpu_leaf *leaf);
u32 pagoda_cpu_virtual_find(const struct pagoda_cpu_virtual *memory, u64 va,
			    struct pagoda_cpu_leaf *leaf);
u32 pagoda_cpu_virtual_map(const struct pagoda_cpu_virtual *memory, u64 va,
			   struct pagoda_cpu_mapping *mapping);
void pagoda_cpu_virtual_unmap(const struct pagoda_cpu_virtual *memory,
			      const struct pagoda_cpu_mapping *mapping);

/* Returns the bytes from @va to the end of its page. */
static inline u64 pagoda_page_left(u64 va)
{
	return VIRTIO_PAGODA_PAGE_SIZE - (va & PAGODA_PAGE_MASK);
}

#endif
