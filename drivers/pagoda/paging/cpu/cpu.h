/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The CPU executor: a function for each operation, which executes a packet without the device. The
 * driver uses the CPU executor when the device can't execute packets, and for all packets if the
 * parameter executor is cpu. Tests compare the CPU executor with the device's engine, so executor
 * and engine share no code.
 *
 * The caller has checked opcode and length of the packet. Everything else in the packet is
 * untrusted, and is checked before the packet's first effect. System memory is reached through
 * struct pages and never through the bus addresses of the runs, which needn't mean anything to the
 * CPU (C66).
 *
 * Each function returns %VIRTIO_PAGODA_FAULT_NONE, or, with nothing written, the fault reason with
 * which the device would refuse the packet; or, if only the executor can't do what the packet asks
 * for, UNREACHABLE, BAD_TABLE (page tables) or UNSUPPORTED. A packet that overwrites the page
 * tables of its own addresses may be refused halfway, as on the device.
 * Context: as the callbacks of &struct pagoda_cpu_executor allow.
 */
#ifndef PAGODA_PAGING_CPU_H
#define PAGODA_PAGING_CPU_H

#include <linux/types.h>
#include <linux/virtio_pagoda.h>
#include "core/info.h"
#include "core/layout.h"

/**
 * struct pagoda_cpu_range - A swizzling range in the CPU executor
 * @window: Kernel address at which the CPU sees the surface untiled
 * @address: Offset in VRAM of the tiled surface that the range is bound to
 * @size: Bytes of the surface, 0 = the range isn't bound
 * @layout: Geometry of the surface
 */
struct pagoda_cpu_range {
	u8 *window;
	u64 address;
	u64 size;
	struct pagoda_layout layout;
};

/**
 * struct pagoda_cpu_executor - Memory and state of the CPU executor
 * @vram: Kernel address of VRAM, or NULL if the CPU can't reach it
 * @vram_size: Bytes reachable from @vram on
 * @aperture: The CPU's copy of the aperture mappings, a struct page pointer for every page, or
 *	NULL. An element is NULL until its page is first mapped or unmapped
 * @generations: Generation of every page of the aperture, 0 = not mapped. If NULL, generations
 *	aren't checked
 * @aperture_pages: Elements of @aperture and @generations
 * @map_page: Maps page @index of a struct page array as kmap_local_page() does, and returns the
 *	kernel address, never NULL; mappings are released in reverse order
 * @unmap_page: Releases a mapping that @map_page made
 * @page_at: Returns element @index of a struct page array, which may be kept in @aperture or @mmu;
 *	NULL if the page has no struct page: a packet with a run or virtual address of it is refused
 * @table_page: Returns the struct page of the page table at a bus address, NULL if there is no such
 *	table. Must look the table up among the driver's tables, and not derive the page from the
 *	address (C66). If @table_page itself is NULL, no page table is in system memory
 * @context: First argument of @table_page
 * @limits: Limits of the device. If NULL, packets that use virtual addresses, page tables or
 *	swizzling ranges are refused as UNSUPPORTED, and max_runs and features aren't checked
 * @roots: Root of each address space, limits->max_address_spaces elements, or NULL
 * @mmu: Struct page pointer for every page of device addresses, NULL if MAP_MMU hasn't mapped the
 *	page. Without this array (no device MMU) addresses of system memory aren't checked
 * @mmu_pages: Elements of @mmu
 * @mmu_read_only: Whether each page of @mmu is read-only; not checked if NULL
 * @ranges: Swizzling ranges, limits->swizzling_ranges elements, or NULL
 * @reason: enum virtio_pagoda_fault_reason of the last refused packet, 0 if the last buffer was
 *	executed completely; set by the executor
 */
struct pagoda_cpu_executor {
	u8 *vram;
	u64 vram_size;
	const void **aperture;
	u32 *generations;
	u64 aperture_pages;
	void *(*map_page)(const void *pages, u64 index);
	void (*unmap_page)(void *address);
	const void *(*page_at)(const void *pages, u64 index);
	const void *(*table_page)(void *context, u64 bus);
	void *context;
	const struct pagoda_paging_limits *limits;
	const struct pagoda_root *roots;
	const void **mmu;
	u64 mmu_pages;
	u8 *mmu_read_only;
	struct pagoda_cpu_range *ranges;
	u32 reason;
};

/**
 * struct pagoda_cpu_packet - A packet about to be executed
 * @exec: Memory that the packet may name
 * @data: The packet; only its opcode and length were checked
 * @src_pages: struct page array of the system memory that the packet reads, or NULL
 * @dst_pages: struct page array of the system memory that the packet writes or maps, or NULL
 */
struct pagoda_cpu_packet {
	struct pagoda_cpu_executor *exec;
	const void *data;
	const void *src_pages;
	const void *dst_pages;
};

/* transfer.c, aperture.c, access.c: execute one packet by the CPU; return a fault reason or 0 */
u32 pagoda_transfer_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_fill_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_discard_content_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_map_aperture_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_unmap_aperture_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_read_physical_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_write_physical_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_signal_fence_execute(const struct pagoda_cpu_packet *cpu);

/* virtual.c, table.c: execute one packet by the CPU; return a fault reason or 0 */
u32 pagoda_virtual_transfer_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_virtual_fill_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_update_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_flush_tlb_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_copy_entries_execute(const struct pagoda_cpu_packet *cpu);

/* swizzle.c, context.c, notify.c, mmu.c: execute one packet; return a fault reason or 0 */
u32 pagoda_special_lock_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_init_context_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_update_context_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_notify_residency_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_notify_fences_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_map_mmu_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_unmap_mmu_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_notify_alloc_execute(const struct pagoda_cpu_packet *cpu);

#endif
