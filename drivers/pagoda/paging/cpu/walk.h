/* SPDX-License-Identifier: GPL-2.0 */
/* CPU executor: translates GPU virtual addresses, and maps the memory there for the CPU. */
#ifndef PAGODA_PAGING_CPU_WALK_H
#define PAGODA_PAGING_CPU_WALK_H

#include "internal.h"

/**
 * struct pagoda_cpu_leaf - Translation of a virtual address
 * @address: Offset in @segment, or bus address, of the byte; 0 with @zero
 * @page_size: Bytes that the page-table entry translates
 * @segment: VRAM, SYSTEM or APERTURE
 * @zero: The entry has VIRTIO_PAGODA_PTE_ZERO: reads return zeros, writes are dropped
 */
struct pagoda_cpu_leaf {
	u64 address;
	u64 page_size;
	u32 segment;
	bool zero;
};

/**
 * struct pagoda_cpu_virtual - Memory at virtual addresses of the paging address space
 * @exec: The executor, for page tables and callbacks
 * @pages: struct page array of the system memory; element 0 is the page at @base. If NULL, system
 *	memory can't be accessed, except page tables if @tables is set
 * @base: Virtual address of the first byte
 * @write: The packet is going to write the memory
 * @tables: The memory holds page tables, which pagoda_cpu_executor.table_page may find
 */
struct pagoda_cpu_virtual {
	struct pagoda_cpu_executor *exec;
	const void *pages;
	u64 base;
	bool write;
	bool tables;
};

/**
 * struct pagoda_cpu_mapping - A page that the CPU mapped to access a virtual address
 * @at: Kernel address of the byte, NULL if the page-table entry maps zeros
 * @page: Kernel address of the page that pagoda_cpu_virtual_unmap() unmaps; NULL if the byte is in
 *	VRAM or @at is NULL
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

/* Returns the number of bytes from @va up to the end of the 4 KiB page that @va is in. */
static inline u64 pagoda_page_left(u64 va)
{
	return VIRTIO_PAGODA_PAGE_SIZE - (va & PAGODA_PAGE_MASK);
}

#endif
