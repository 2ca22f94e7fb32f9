// SPDX-License-Identifier: GPL-2.0
/*
 * The device's own MMU: MAP_MMU, UNMAP_MMU, and the translation of device addresses.
 *
 * A page of device addresses has a 64-bit entry: the bus page number in the low bits, the permitted
 * access in the high bits; zero is a page that isn't mapped. Entries change with the engine's
 * translation lock held for writing, and an access that uses an entry holds the lock for reading
 * until the access has ended. So when UNMAP_MMU is complete no access reaches the unmapped
 * page, and no packet uses a translation that an earlier packet found (C121).
 */
#include "internal.h"

#define PAGODA_MMU_VALID	0x8000000000000000ull
#define PAGODA_MMU_READ_ONLY	0x4000000000000000ull
#define PAGODA_MMU_PAGE_MASK	((1ull << 40) - 1)

/* Returns whether @engine has no device MMU, or one with a permitted number of pages. */
bool pagoda_engine_mmu_valid(const struct pagoda_engine *engine)
{
	return !engine->mmu == !engine->mmu_pages &&
	       engine->mmu_pages <= VIRTIO_PAGODA_MAX_MMU_PAGES;
}

/*
 * Returns the end of the addresses by which the packet names system memory: device addresses if the
 * device MMU is on and the packet isn't a MAP_MMU, else bus addresses. *@reason receives the fault
 * reason for an access beyond that end.
 */
u64 pagoda_engine_mmu_limit(const struct pagoda_exec *exec, u32 *reason)
{
	if (pagoda_translates(exec->engine) && !exec->bus) {
		*reason = VIRTIO_PAGODA_FAULT_NOT_MAPPED;
		return exec->engine->mmu_pages * PAGODA_PAGE;
	}
	*reason = VIRTIO_PAGODA_FAULT_UNREACHABLE;
	return 1ull << exec->engine->system_bits;
}

/*
 * Translates a device address to bus address *@bus. *@size receives the number of bytes, at most
 * @want, that have contiguous bus addresses and equal permissions, and *@read_only whether the
 * device may only read them. The translation lock is held. Returns a fault reason, or 0.
 */
u32 pagoda_engine_mmu_translate(const struct pagoda_exec *exec, u64 address, u64 want,
				u32 access, u64 *bus, u64 *size, bool *read_only)
{
	const struct pagoda_engine *engine = exec->engine;
	u64 page = address / PAGODA_PAGE;
	u64 inside = address % PAGODA_PAGE;
	u64 entry, follows;

	pagoda_shim_assert_held(&exec->engine->translation);
	if (page >= engine->mmu_pages)
		return VIRTIO_PAGODA_FAULT_NOT_MAPPED;
	entry = READ_ONCE(engine->mmu[page]);
	if (!(entry & PAGODA_MMU_VALID))
		return VIRTIO_PAGODA_FAULT_NOT_MAPPED;
	*read_only = entry & PAGODA_MMU_READ_ONLY;
	if (*read_only && access == VIRTIO_PAGODA_ACCESS_WRITE)
		return VIRTIO_PAGODA_FAULT_READ_ONLY;
	*bus = (entry & PAGODA_MMU_PAGE_MASK) * PAGODA_PAGE + inside;
	follows = PAGODA_PAGE - inside;
	while (follows < want && ++page < engine->mmu_pages &&
	       READ_ONCE(engine->mmu[page]) == ++entry)
		follows += PAGODA_PAGE;
	*size = min(follows, want);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u64 pagoda_engine_mmu_tail(const void *packet)
{
	const struct virtio_pagoda_map_mmu *map = packet;

	return (u64)le32_to_cpu(map->nr_runs) * sizeof(struct virtio_pagoda_run);
}

/*
 * Checks the range of device addresses that a MAP_MMU or UNMAP_MMU changes. Returns a fault
 * reason or 0.
 */
static u32 mmu_range_check(struct pagoda_exec *exec, const struct virtio_pagoda_map_mmu *map)
{
	u64 limit = exec->engine->mmu_pages;
	u64 address = le64_to_cpu(map->address);
	u64 pages = le64_to_cpu(map->nr_pages);

	if (!pagoda_translates(exec->engine))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_UNSUPPORTED,
				     le16_to_cpu(map->packet.opcode));
	if (map->mmu)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED, le32_to_cpu(map->mmu));
	if (!IS_ALIGNED(address, PAGODA_PAGE))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address);
	if (!pages || pages > limit || address / PAGODA_PAGE > limit - pages)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, address);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_mmu_map_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_map_mmu *map = packet;
	u32 reason;

	reason = mmu_range_check(exec, map);
	if (reason)
		return reason;
	return pagoda_engine_runs_check(exec, (const void *)(map + 1), le32_to_cpu(map->nr_runs),
					le64_to_cpu(map->nr_pages), VIRTIO_PAGODA_ACCESS_NONE);
}

u32 pagoda_engine_mmu_map_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_map_mmu *map = packet;
	const struct virtio_pagoda_run *run = (const void *)(map + 1);
	u64 *entry = exec->engine->mmu + le64_to_cpu(map->address) / PAGODA_PAGE;
	u64 left = le64_to_cpu(map->nr_pages) >> exec->half;
	u64 bits = PAGODA_MMU_VALID;

	pagoda_shim_assert_held_write(&exec->engine->translation);
	if (le16_to_cpu(map->packet.flags) & VIRTIO_PAGODA_MAP_MMU_READ_ONLY)
		bits |= PAGODA_MMU_READ_ONLY;
	for (; left; run++) {
		u64 value = bits | le64_to_cpu(run->address) / PAGODA_PAGE;
		u64 pages = min_t(u64, le32_to_cpu(run->nr_pages), left);

		left -= pages;
		while (pages--)
			WRITE_ONCE(*entry++, value++);
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_mmu_unmap_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_map_mmu *map = packet;

	if (map->nr_runs)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_RUNS,
				     le32_to_cpu(map->nr_runs));
	return mmu_range_check(exec, map);
}

u32 pagoda_engine_mmu_unmap_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_map_mmu *map = packet;
	u64 *entry = exec->engine->mmu + le64_to_cpu(map->address) / PAGODA_PAGE;
	u64 left = le64_to_cpu(map->nr_pages) >> exec->half;

	pagoda_shim_assert_held_write(&exec->engine->translation);
	while (left--)
		WRITE_ONCE(*entry++, 0);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/**
 * pagoda_engine_mmu_lookup() - Get the translation of a page of device addresses
 * @engine: Engine
 * @page: Number of the page
 * @address: Receives the page's bus address
 * @read_only: Receives whether the device may only read the page
 *
 * Context: any; the entry may change at any time.
 * Return: false when the page is outside of the MMU, isn't mapped or there is no device MMU.
 */
bool pagoda_engine_mmu_lookup(const struct pagoda_engine *engine, u64 page, u64 *address,
			      bool *read_only)
{
	u64 entry;

	if (page >= engine->mmu_pages)
		return false;
	entry = READ_ONCE(engine->mmu[page]);
	*address = (entry & PAGODA_MMU_PAGE_MASK) * PAGODA_PAGE;
	*read_only = entry & PAGODA_MMU_READ_ONLY;
	return entry & PAGODA_MMU_VALID;
}
