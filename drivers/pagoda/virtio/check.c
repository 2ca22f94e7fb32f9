// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of the properties that the device reports: features, configuration, extent lists. The
 * driver uses no property before its check.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/ioport.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/virtio_config.h>

#include "core/check.h"
#include "core/info.h"
#include "check.h"

#define PAGODA_OP_BIT(NAME)	BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_##NAME))

#define PAGODA_F_BIT(NAME)	BIT_ULL(VIRTIO_PAGODA_F_##NAME)

/* Operations that every device must have: without them video memory can't be managed. */
#define PAGODA_OPS_REQUIRED \
	(PAGODA_OP_BIT(TRANSFER) | PAGODA_OP_BIT(FILL) | PAGODA_OP_BIT(DISCARD_CONTENT) | \
	 PAGODA_OP_BIT(READ_PHYSICAL) | PAGODA_OP_BIT(WRITE_PHYSICAL) | \
	 PAGODA_OP_BIT(UNMAP_APERTURE_SEGMENT) | PAGODA_OP_BIT(SIGNAL_MONITORED_FENCE) | \
	 PAGODA_OP_BIT(NOTIFY_ALLOC))
/* Operations that map pages into the aperture: a device needs at least one of the two. */
#define PAGODA_OPS_MAP \
	(PAGODA_OP_BIT(MAP_APERTURE_SEGMENT) | PAGODA_OP_BIT(MAP_APERTURE_SEGMENT2))
/* Operations that a device needs for page tables (_TABLES), and for its own MMU (_MMU). */
#define PAGODA_OPS_TABLES	(PAGODA_OP_BIT(UPDATE_PAGE_TABLE) | PAGODA_OP_BIT(FLUSH_TLB))
#define PAGODA_OPS_MMU		(PAGODA_OP_BIT(MAP_MMU) | PAGODA_OP_BIT(UNMAP_MMU))
/* Feature bits 24 to 49 are virtio's own: no operation may have one of them. */
static_assert(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_COUNT - 1) < 24);
/* Feature bits of all operations; the driver can build a packet of each operation. */
#define PAGODA_OPS_KNOWN	GENMASK_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_COUNT - 1), 0)
#define PAGODA_PAGE_SIZES	(SZ_4K | SZ_64K | SZ_2M)

static const char * const op_names[] = {
	[0] = "none",
#define PAGODA_OP_NAME(NAME, name, opcode) \
	[opcode] = #NAME,
	VIRTIO_PAGODA_OPS(PAGODA_OP_NAME)
#undef PAGODA_OP_NAME
};

static int refuse_field(struct pagoda_refusal *refusal, const char *field, u64 value,
			const char *why)
{
	refusal->field = field;
	refusal->value = value;
	refusal->why = why;
	return -EINVAL;
}

/* Returns the mask of the device type's feature bits that the driver supports. */
u64 pagoda_features_wanted(void)
{
	return PAGODA_OPS_KNOWN | PAGODA_F_BIT(CPU_WINDOW) | PAGODA_F_BIT(VRAM_ZEROED) |
	       PAGODA_F_BIT(COHERENT) | PAGODA_F_BIT(DUAL_PTE) | PAGODA_F_BIT(DEVICE_MMU) |
	       PAGODA_F_BIT(INVALID_NOT_CACHED) | PAGODA_F_BIT(EXECUTE) |
	       PAGODA_F_BIT(WRITE_COMBINER) | PAGODA_F_BIT(DIRTY);
}

/*
 * Checks whether the driver can work with the negotiated @features. @translated: DMA addresses
 * aren't physical addresses for the device, because an IOMMU translates them or memory is
 * encrypted. Returns 0, or -ENODEV with @refusal filled for the first missing feature.
 */
int pagoda_features_check(u64 features, bool translated, struct pagoda_refusal *refusal)
{
	u32 opcode;

	if (!(features & BIT_ULL(VIRTIO_F_VERSION_1))) {
		refuse_field(refusal, "VERSION_1", features, "feature missing");
		return -ENODEV;
	}
	for (opcode = 1; opcode < VIRTIO_PAGODA_OP_COUNT; opcode++) {
		u64 bit = BIT_ULL(VIRTIO_PAGODA_F_OP(opcode));

		if (!(PAGODA_OPS_REQUIRED & bit) || features & bit)
			continue;
		refuse_field(refusal, op_names[opcode], features, "feature missing");
		return -ENODEV;
	}
	if (!(features & PAGODA_OPS_MAP)) {
		refuse_field(refusal, "MAP_APERTURE_SEGMENT", features, "feature missing");
		return -ENODEV;
	}
	/* The CPU's cached writes to system memory are never flushed for the device. */
	if (!(features & PAGODA_F_BIT(COHERENT))) {
		refuse_field(refusal, "COHERENT", features, "feature missing");
		return -ENODEV;
	}
	if (translated && !(features & BIT_ULL(VIRTIO_F_ACCESS_PLATFORM))) {
		refuse_field(refusal, "ACCESS_PLATFORM", features,
			     "feature missing, and addresses are translated");
		return -ENODEV;
	}
	return 0;
}

static bool page_multiple(u64 value)
{
	return value && !(value % VIRTIO_PAGODA_PAGE_SIZE);
}

static int config_check_memory(const struct pagoda_device_info *info, u64 features,
			       struct pagoda_refusal *refusal)
{
	if (!page_multiple(info->vram_size) || info->vram_size > VIRTIO_PAGODA_MAX_VRAM)
		return refuse_field(refusal, "vram_size", info->vram_size,
				     "not whole pages, or too much");
	if (info->visible_size % VIRTIO_PAGODA_PAGE_SIZE ||
	    info->visible_size > info->vram_size)
		return refuse_field(refusal, "visible_size", info->visible_size,
				     "not whole pages, or more than VRAM");
	if (info->visible_size && !(features & BIT_ULL(VIRTIO_PAGODA_F_CPU_WINDOW)))
		return refuse_field(refusal, "visible_size", info->visible_size,
				     "without the CPU_WINDOW feature");
	if (!info->aperture_pages ||
	    info->aperture_pages > VIRTIO_PAGODA_MAX_APERTURE_PAGES)
		return refuse_field(refusal, "aperture_pages", info->aperture_pages,
				     "out of range");
	if (!is_power_of_2(info->alignment) || info->alignment < VIRTIO_PAGODA_PAGE_SIZE ||
	    info->alignment > SZ_2M)
		return refuse_field(refusal, "alignment", info->alignment,
				     "no power of two from a page to 2 MiB");
	return 0;
}

static int config_check_queues(const struct pagoda_device_info *info,
			       struct pagoda_refusal *refusal)
{
	if (!page_multiple(info->max_buffer_bytes) ||
	    info->max_buffer_bytes < VIRTIO_PAGODA_MIN_BUFFER ||
	    info->max_buffer_bytes > VIRTIO_PAGODA_MAX_BUFFER)
		return refuse_field(refusal, "max_buffer_bytes", info->max_buffer_bytes,
				     "not whole pages, or out of range");
	if (info->max_runs < 2)
		return refuse_field(refusal, "max_runs", info->max_runs, "less than 2");
	if (!info->num_engines || info->num_engines > VIRTIO_PAGODA_MAX_ENGINES)
		return refuse_field(refusal, "num_engines", info->num_engines,
				     "out of range");
	if (info->system_address_bits < 32 || info->system_address_bits > 52)
		return refuse_field(refusal, "system_address_bits",
				     info->system_address_bits, "out of range");
	return 0;
}

static int config_check_tables(const struct pagoda_device_info *info, u64 features,
			       struct pagoda_refusal *refusal)
{
	if (info->va_bits && (info->va_bits < VIRTIO_PAGODA_MIN_VA_BITS ||
			      info->va_bits > VIRTIO_PAGODA_MAX_VA_BITS))
		return refuse_field(refusal, "va_bits", info->va_bits, "out of range");
	if (info->va_bits ? !pagoda_pt_levels_fit(info->va_bits, info->pt_levels) :
			    !!info->pt_levels)
		return refuse_field(refusal, "pt_levels", info->pt_levels,
				     "out of range, or doesn't fit va_bits");
	if (info->page_sizes & ~PAGODA_PAGE_SIZES ||
	    (info->va_bits && !(info->page_sizes & SZ_4K)))
		return refuse_field(refusal, "page_sizes", info->page_sizes,
				     "without 4 KiB pages, or with unknown ones");
	if (!info->max_address_spaces != !info->va_bits ||
	    info->max_address_spaces > VIRTIO_PAGODA_MAX_SPACES)
		return refuse_field(refusal, "max_address_spaces", info->max_address_spaces,
				     "too many, or doesn't fit va_bits");
	if (info->dual_pte && !(info->page_sizes & SZ_64K))
		return refuse_field(refusal, "DUAL_PTE", info->page_sizes,
				     "without 64 KiB pages");
	if (info->va_bits && (features & PAGODA_OPS_TABLES) != PAGODA_OPS_TABLES)
		return refuse_field(refusal, "va_bits", info->va_bits,
				     "without the operations of page tables");
	return 0;
}

static int config_check_ranges(const struct pagoda_device_info *info, u64 features,
			       struct pagoda_refusal *refusal)
{
	if (info->swizzling_ranges > VIRTIO_PAGODA_MAX_SWIZZLING_RANGES ||
	    (info->swizzling_ranges && !(features & PAGODA_OP_BIT(SPECIAL_LOCK_TRANSFER))))
		return refuse_field(refusal, "swizzling_ranges", info->swizzling_ranges,
				     "too many, or without SPECIAL_LOCK_TRANSFER");
	if (!info->swizzling_bytes != !info->swizzling_ranges ||
	    info->swizzling_bytes % SZ_64K || info->swizzling_bytes > VIRTIO_PAGODA_MAX_VRAM)
		return refuse_field(refusal, "swizzling_bytes", info->swizzling_bytes,
				     "not a multiple of 64 KiB, or doesn't fit swizzling_ranges");
	return 0;
}

static int config_check_mmu(const struct pagoda_device_info *info, u64 features,
			    struct pagoda_refusal *refusal)
{
	if (!info->mmu_pages != !(features & PAGODA_F_BIT(DEVICE_MMU)) ||
	    info->mmu_pages > VIRTIO_PAGODA_MAX_MMU_PAGES)
		return refuse_field(refusal, "mmu_pages", info->mmu_pages,
				     "too many, or doesn't fit the DEVICE_MMU feature");
	if (info->mmu_pages && (features & PAGODA_OPS_MMU) != PAGODA_OPS_MMU)
		return refuse_field(refusal, "mmu_pages", info->mmu_pages,
				     "without MAP_MMU and UNMAP_MMU");
	return 0;
}

/*
 * Returns whether VIRTIO_PAGODA_PRESERVED_* flags are known and consistent (C199): standby has to
 * preserve all that hibernation preserves.
 */
static bool preserved_valid(u32 preserved)
{
	switch (preserved) {
	case 0:
	case VIRTIO_PAGODA_PRESERVED_STANDBY:
	case VIRTIO_PAGODA_PRESERVED_STANDBY | VIRTIO_PAGODA_PRESERVED_HIBERNATE:
	case VIRTIO_PAGODA_PRESERVED_STANDBY | VIRTIO_PAGODA_PRESERVED_HIBERNATE_PART:
		return true;
	default:
		return false;
	}
}

static int config_check_preserved(const struct virtio_pagoda_config *config,
				  struct pagoda_device_info *info, struct pagoda_refusal *refusal)
{
	u32 preserved = le32_to_cpu(config->preserved);
	u64 bytes = le64_to_cpu(config->preserved_bytes);
	bool part = preserved & VIRTIO_PAGODA_PRESERVED_HIBERNATE_PART;

	if (!preserved_valid(preserved))
		return refuse_field(refusal, "preserved", preserved,
				     "flags that contradict each other, or unknown ones");
	if (!bytes != !part || bytes % VIRTIO_PAGODA_PAGE_SIZE || bytes >= info->vram_size)
		return refuse_field(refusal, "preserved_bytes", bytes,
				     "not whole pages, all of VRAM, or doesn't fit preserved");
	info->preserved_standby = preserved ? info->vram_size : 0;
	info->preserved_hibernate = bytes;
	if (preserved & VIRTIO_PAGODA_PRESERVED_HIBERNATE)
		info->preserved_hibernate = info->vram_size;
	return 0;
}

static int config_check_counts(const struct pagoda_device_info *info,
			       const struct pagoda_config_counts *counts,
			       struct pagoda_refusal *refusal)
{
	if (counts->window > VIRTIO_PAGODA_MAX_EXTENTS ||
	    counts->window > info->visible_size / VIRTIO_PAGODA_PAGE_SIZE ||
	    !counts->window != !info->visible_size)
		return refuse_field(refusal, "window_extents", counts->window,
				     "doesn't fit visible_size");
	if (counts->invalid > VIRTIO_PAGODA_MAX_EXTENTS ||
	    counts->invalid > info->vram_size / VIRTIO_PAGODA_PAGE_SIZE)
		return refuse_field(refusal, "invalid_extents", counts->invalid,
				     "doesn't fit vram_size");
	if (counts->swizzling > VIRTIO_PAGODA_MAX_EXTENTS ||
	    counts->swizzling > info->swizzling_bytes / VIRTIO_PAGODA_PAGE_SIZE *
				info->swizzling_ranges ||
	    !counts->swizzling != !info->swizzling_ranges)
		return refuse_field(refusal, "swizzling_extents", counts->swizzling,
				     "doesn't fit the swizzling ranges");
	return 0;
}

static void config_read(const struct virtio_pagoda_config *config, u64 features,
			struct pagoda_device_info *info, struct pagoda_config_counts *counts)
{
	info->features = features & pagoda_features_wanted();
	info->coherent = features & PAGODA_F_BIT(COHERENT);
	info->vram_zeroed = features & PAGODA_F_BIT(VRAM_ZEROED);
	info->dual_pte = features & PAGODA_F_BIT(DUAL_PTE);
	info->invalid_not_cached = features & PAGODA_F_BIT(INVALID_NOT_CACHED);
	info->vram_size = le64_to_cpu(config->vram_size);
	info->visible_size = le64_to_cpu(config->visible_size);
	info->aperture_pages = le64_to_cpu(config->aperture_pages);
	info->max_buffer_bytes = le32_to_cpu(config->max_buffer_bytes);
	info->max_runs = le32_to_cpu(config->max_runs);
	info->num_engines = le32_to_cpu(config->num_engines);
	info->alignment = le32_to_cpu(config->alignment);
	info->system_address_bits = le32_to_cpu(config->system_address_bits);
	info->va_bits = le32_to_cpu(config->va_bits);
	info->pt_levels = le32_to_cpu(config->pt_levels);
	info->page_sizes = le32_to_cpu(config->page_sizes);
	info->max_address_spaces = le32_to_cpu(config->max_address_spaces);
	info->swizzling_ranges = le32_to_cpu(config->swizzling_ranges);
	info->swizzling_bytes = le64_to_cpu(config->swizzling_bytes);
	info->mmu_pages = le64_to_cpu(config->mmu_pages);
	counts->window = le32_to_cpu(config->window_extents);
	counts->invalid = le32_to_cpu(config->invalid_extents);
	counts->swizzling = le32_to_cpu(config->swizzling_extents);
}

/*
 * Reads the driver's copy of the configuration space into @info, except for the extent lists and
 * the DMA device, and the lengths of the lists into @counts, and checks both. Returns 0, or -EINVAL
 * with @refusal filled for the first invalid field.
 */
int pagoda_config_check(const struct virtio_pagoda_config *config, u64 features,
			struct pagoda_device_info *info,
			struct pagoda_config_counts *counts,
			struct pagoda_refusal *refusal)
{
	config_read(config, features, info, counts);
	return config_check_memory(info, features, refusal) ?:
	       config_check_queues(info, refusal) ?:
	       config_check_tables(info, features, refusal) ?:
	       config_check_ranges(info, features, refusal) ?:
	       config_check_mmu(info, features, refusal) ?:
	       config_check_preserved(config, info, refusal) ?:
	       config_check_counts(info, counts, refusal);
}

/* Returns true if the extent is whole pages, at least one, within the offsets @from to @to. */
static bool extent_valid(const struct pagoda_extent *extent, u64 from, u64 to)
{
	u64 end;

	return page_multiple(extent->size) &&
	       !(extent->offset % VIRTIO_PAGODA_PAGE_SIZE) && extent->offset >= from &&
	       !check_add_overflow(extent->offset, extent->size, &end) && end <= to;
}

/*
 * Checks a list of CPU-reachable memory named @name, whose offsets must cover @size bytes from 0 on
 * in order and without a gap. Returns 0, or -EINVAL with @refusal filled, including the entry's
 * number, or the bytes covered if all entries are good but too few.
 */
int pagoda_extents_check_window(const struct pagoda_extent *extents, u32 count, u64 size,
				const char *name, struct pagoda_refusal *refusal)
{
	u64 covered = 0, end;
	u32 i;

	for (i = 0; i < count; i++) {
		if (!extent_valid(&extents[i], covered, size))
			return refuse_field(refusal, name, i,
					     "entry misaligned, out of order or out of range");
		if (extents[i].offset != covered)
			return refuse_field(refusal, name, i, "gap before entry");
		if (extents[i].address % VIRTIO_PAGODA_PAGE_SIZE ||
		    check_add_overflow(extents[i].address, extents[i].size, &end) ||
		    end - 1 > PHYS_ADDR_MAX)
			return refuse_field(refusal, name, i,
					     "entry with an impossible address");
		covered += extents[i].size;
	}
	if (covered != size)
		return refuse_field(refusal, name, covered, "bytes covered, not all there is");
	return 0;
}

/* Returns true if every page of the extent has a struct page. */
static bool extent_is_known(const struct pagoda_extent *extent)
{
	unsigned long pfn = PHYS_PFN(extent->address);
	unsigned long end = pfn + (extent->size >> PAGE_SHIFT);

	while (pfn < end && pfn_valid(pfn))
		pfn++;
	return pfn == end;
}

/* Returns true if no page of the extent is memory that the kernel runs from or allocates. */
static bool extent_is_foreign(const struct pagoda_extent *extent)
{
	unsigned long pfn = PHYS_PFN(extent->address);
	unsigned long end = pfn + (extent->size >> PAGE_SHIFT);

	if (region_intersects(extent->address, extent->size, IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) != REGION_DISJOINT)
		return false;
	/*
	 * Some RAM isn't in the resource tree: look for pages that the kernel manages. Reserved
	 * pages don't count, because they may be holes beside RAM.
	 */
	for (; pfn < end; pfn++) {
		struct page *page = pfn_to_online_page(pfn);

		if (page && !PageReserved(page))
			return false;
	}
	return true;
}

/*
 * Checks the memory behind a list that pagoda_extents_check_window() accepted. If the device is a
 * module of this kernel (@in_kernel), all pages must have a struct page; else no page may be memory
 * of the machine, which the device could reach in spite of an IOMMU. Returns 0, or -EINVAL with
 * @refusal filled, including the entry's number. May sleep.
 */
int pagoda_extents_check_memory(const struct pagoda_extent *extents, u32 count, bool in_kernel,
				const char *name, struct pagoda_refusal *refusal)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (in_kernel && !extent_is_known(&extents[i]))
			return refuse_field(refusal, name, i, "entry with pages that are missing");
		if (!in_kernel && !extent_is_foreign(&extents[i]))
			return refuse_field(refusal, name, i, "entry in memory of the machine");
		cond_resched();
	}
	return 0;
}

/*
 * Checks the list of VRAM that must not be used: whole pages within VRAM, in order of their offsets
 * and without overlap; addresses have to be 0. Returns 0, or -EINVAL with @refusal filled,
 * including the entry's number.
 */
int pagoda_extents_check_invalid(const struct pagoda_extent *extents, u32 count,
				 u64 vram_size, struct pagoda_refusal *refusal)
{
	u64 end = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		if (!extent_valid(&extents[i], end, vram_size))
			return refuse_field(refusal, "invalid ranges", i,
					     "entry misaligned, out of order or out of range");
		if (extents[i].address)
			return refuse_field(refusal, "invalid ranges", i,
					     "entry with an address");
		end = extents[i].offset + extents[i].size;
	}
	return 0;
}
