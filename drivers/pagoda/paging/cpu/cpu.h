/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The CPU executor: a function for each operation, which executes a packet without the device.
 * It is the fallback when the device fails, resumes after a suspend, and is the model that the
 * device's engine is compared with; therefore the two share no code.
 *
 * The length of a packet was checked. Everything else in the packet is untrusted, and is
 * checked completely before the packet's first effect. System memory is reached through struct
 * pages and never through the bus addresses of the runs, which needn't mean anything to the CPU
 * (C66).
 *
 * Each function returns the fault reason with which the device would refuse the packet, with
 * nothing written, or %VIRTIO_PAGODA_FAULT_NONE. Context: as the callbacks of &struct
 * pagoda_cpu_executor allow.
 */
#ifndef PAGODA_PAGING_CPU_H
#define PAGODA_PAGING_CPU_H

#include <linux/types.h>
#include <linux/virtio_pagoda.h>
#include "core/info.h"
#include "core/layout.h"

/**
 * struct pagoda_cpu_range - A swizzling range in the CPU executor
 * @window: Kernel address of the linear window
 * @address: Address in VRAM of the surface that the range is bound to
 * @size: Bytes of the surface, 0 = not bound
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
 * @aperture: A struct page pointer for every page of the aperture: the CPU's copy of the
 *	aperture mappings, or NULL. An entry is NULL until its page is first mapped or unmapped
 * @generations: Generation of every page of the aperture, 0 = not mapped; or NULL: generations
 *	aren't checked
 * @aperture_pages: Entries of @aperture and @generations
 * @map_page: Returns the kernel address of page @index of a struct page array; a local mapping,
 *	released in reverse order. Never NULL for a valid page
 * @unmap_page: Releases a mapping of @map_page
 * @page_at: Returns entry @index of a struct page array, to be kept in @aperture; NULL for a
 *	page without struct page, with which the packet is refused
 * @table_page: Returns the struct page of a page table in system memory by its bus address, in
 *	the form of an entry of a struct page array; NULL if there is no such table. Looks the
 *	table up in a register, never derives the page from the address (C66). May be NULL: no table
 *	is in system memory
 * @context: Argument of @table_page
 * @limits: Limits of the device; needed by packets with virtual addresses or page tables. NULL:
 *	such packets are refused with -EOPNOTSUPP
 * @roots: Root of each address space, limits->max_address_spaces entries, or NULL
 * @mmu: A struct page pointer for every device page that MAP_MMU mapped; NULL without a device
 *	MMU: then addresses of system memory aren't checked
 * @mmu_pages: Entries of @mmu
 * @mmu_read_only: Whether each device page is read-only; NULL: not checked
 * @ranges: Swizzling ranges, limits->swizzling_ranges entries, or NULL
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
 * @exec: Memory
 * @data: The packet; only its length was checked
 * @src_pages: struct page array of the source's runs, or NULL
 * @dst_pages: struct page array of the runs of the destination, map target or fence page, or
 *	NULL
 */
struct pagoda_cpu_packet {
	struct pagoda_cpu_executor *exec;
	const void *data;
	const void *src_pages;
	const void *dst_pages;
};

/* transfer.c, aperture.c, access.c */
u32 pagoda_transfer_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_fill_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_discard_content_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_map_aperture_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_unmap_aperture_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_read_physical_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_write_physical_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_signal_fence_execute(const struct pagoda_cpu_packet *cpu);

/* virtual.c, table.c */
u32 pagoda_virtual_transfer_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_virtual_fill_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_update_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_flush_tlb_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_copy_entries_execute(const struct pagoda_cpu_packet *cpu);

/* swizzle.c, context.c, notify.c, mmu.c */
u32 pagoda_special_lock_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_init_context_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_update_context_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_notify_residency_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_notify_fences_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_map_mmu_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_unmap_mmu_execute(const struct pagoda_cpu_packet *cpu);
u32 pagoda_notify_alloc_execute(const struct pagoda_cpu_packet *cpu);

#endif
