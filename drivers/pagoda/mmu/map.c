// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of ranges and of struct pagoda_map; struct pagoda_map_place, the cursor over the memory of
 * a map; how far page tables reach.
 */
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/printk.h>

#include "internal.h"

/**
 * pagoda_mmu_reach() - How far page tables can translate
 * @mmu: Page tables of the device
 *
 * With two levels of tables the root grows with the addresses in use. The reach then ends where the
 * root would take more than half of VRAM or, in GPU_VIRTUAL mode, more than all table windows. Only
 * va_bits limits the reach with more levels, and in CPU_VIRTUAL mode, with tables in system memory.
 *
 * Return: The address behind the last that can be translated.
 */
u64 pagoda_mmu_reach(const struct pagoda_mmu *mmu)
{
	const struct pagoda_paging_limits *limits = mmu->args.limits;
	u64 reach = 1ull << limits->va_bits;
	u64 bytes;

	/* With more levels the root is small, in CPU_VIRTUAL mode in system memory: no limit. */
	if (limits->pt_levels > 2 || mmu->args.mode == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL)
		return reach;
	/* At most half of VRAM: the root's memory is contiguous, and its size is a power of two. */
	bytes = max_t(u64, rounddown_pow_of_two(limits->vram_size) / 2,
		      pagoda_table_bytes(mmu, 1, VIRTIO_PAGODA_PT_ENTRIES));
	/* The whole root has to be mapped in the table windows at once. */
	if (mmu->args.mode == VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL)
		bytes = min_t(u64, bytes, (u64)PAGODA_TABLE_WINDOWS * PAGODA_TABLE_WINDOW_BYTES);
	bytes /= pagoda_mmu_is_dual(mmu) ? 2 * VIRTIO_PAGODA_PT_ENTRY_BYTES :
					   VIRTIO_PAGODA_PT_ENTRY_BYTES;
	return min(reach, bytes << pagoda_level_shift(1));
}

/*
 * Returns 0, or -EINVAL if the range is empty, not whole pages, has page 0, or reaches beyond
 * pagoda_mmu_reach().
 */
int pagoda_range_check(const struct pagoda_space *space, u64 va, u64 size)
{
	u64 reach = pagoda_mmu_reach(space->mmu);

	if (size && IS_ALIGNED(va | size, VIRTIO_PAGODA_PAGE_SIZE) &&
	    va >= VIRTIO_PAGODA_PAGE_SIZE && va < reach && size <= reach - va)
		return 0;
	pr_debug("pagoda: space %u: no range for page tables: %#llx + %#llx\n", space->id, va,
		 size);
	return -EINVAL;
}

/*
 * Returns how many bytes the extents or the ADL of @map must have: the repeating window's bytes if
 * there is a window, else the range's.
 */
static u64 map_bytes(const struct pagoda_map *map)
{
	return map->window ?: map->size;
}

/* Returns the sum of the extents' sizes; 0 if an extent is malformed or the sum too large. */
static u64 extents_size(const struct pagoda_map *map)
{
	u64 size = 0;
	u32 i;

	for (i = 0; i < map->nr_extents; i++) {
		const struct pagoda_map_extent *extent = &map->extents[i];

		if (!extent->size || extent->segment >= VIRTIO_PAGODA_SEGMENT_COUNT ||
		    extent->size > map_bytes(map) - size ||
		    !IS_ALIGNED(extent->address | extent->size, VIRTIO_PAGODA_PAGE_SIZE))
			return 0;
		size += extent->size;
	}
	return size;
}

static bool memory_is_good(const struct pagoda_map *map)
{
	const u64 flags = PAGODA_PTE_READ_ONLY | PAGODA_PTE_NO_EXECUTE | PAGODA_PTE_CACHE_COHERENT;
	u64 pages = map_bytes(map) >> VIRTIO_PAGODA_PAGE_SHIFT;

	if (map->flags & ~flags || !map->extents == !map->adl ||
	    !IS_ALIGNED(map->window | map->first, VIRTIO_PAGODA_PAGE_SIZE) ||
	    map->first >= (map->window ?: 1))
		return false;
	if (map->extents)
		return extents_size(map) == map_bytes(map);
	return map->adl_offset <= map->adl->nr_pages &&
	       pages <= map->adl->nr_pages - map->adl_offset;
}

/*
 * Returns 0, or -EINVAL if @map is malformed, the range can't be mapped, or the memory doesn't
 * match the range or repeating window: extents have another size, or an ADL is shorter.
 */
int pagoda_map_check(const struct pagoda_space *space, const struct pagoda_map *map)
{
	bool memory = map->kind == PAGODA_MAP_MEMORY;

	if (map->kind > PAGODA_MAP_MEMORY || (!memory && (map->flags || map->driver_protection)))
		return -EINVAL;
	if (memory && !memory_is_good(map)) {
		pr_debug("pagoda: space %u: memory doesn't match the map at %#llx\n", space->id,
			 map->va);
		return -EINVAL;
	}
	return pagoda_range_check(space, map->va, map->size);
}

/* Points @place at the memory that the first address of @map shows. */
void pagoda_place_init(struct pagoda_map_place *place, const struct pagoda_map *map)
{
	*place = (struct pagoda_map_place) {
		.map = map,
		.extent = map->adl ? map->adl_offset : 0,
		.left = map->window ?: U64_MAX,
	};
	if (map->first)
		pagoda_place_advance(place, map->first);
}

static u64 adl_page(const struct pagoda_adl *adl, u64 page)
{
	return adl->contiguous ? adl->base + (page << VIRTIO_PAGODA_PAGE_SHIFT) :
				 adl->pages[page];
}

static u64 adl_run(const struct pagoda_adl *adl, u64 page, u64 want, u64 *address)
{
	u64 bytes = VIRTIO_PAGODA_PAGE_SIZE;

	*address = adl_page(adl, page);
	if (adl->contiguous)
		return min(want, (adl->nr_pages - page) << VIRTIO_PAGODA_PAGE_SHIFT);
	while (bytes < want && ++page < adl->nr_pages && adl_page(adl, page) == *address + bytes)
		bytes += VIRTIO_PAGODA_PAGE_SIZE;
	return bytes;
}

static u64 extents_run(const struct pagoda_map_place *place, u64 want, u32 *segment, u64 *address)
{
	const struct pagoda_map *map = place->map;
	const struct pagoda_map_extent *extent = &map->extents[place->extent];
	u64 bytes = extent->size - place->offset;

	*segment = extent->segment;
	*address = extent->address + place->offset;
	while (bytes < want && ++extent < map->extents + map->nr_extents &&
	       extent->segment == *segment && extent->address == *address + bytes)
		bytes += extent->size;
	return min(bytes, want);
}

/*
 * Returns how many bytes of memory from @place on, at most @want, are consecutive, and sets
 * *@segment and *@address to where the bytes are. @place isn't at the end of the map's memory.
 */
u64 pagoda_place_run(const struct pagoda_map_place *place, u64 want, u32 *segment, u64 *address)
{
	want = min(want, place->left);
	if (!place->map->adl)
		return extents_run(place, want, segment, address);
	*segment = VIRTIO_PAGODA_SEGMENT_SYSTEM;
	return adl_run(place->map->adl, place->extent, want, address);
}

/*
 * Part of pagoda_place_advance() for a repeating window: if @bytes from @place on reach the end of
 * the window, moves @place to the window's start and skips whole repetitions. Returns by how many
 * bytes the caller has to advance the extent and offset of @place, and subtracts these bytes from
 * @place->left.
 */
static u64 place_wrap(struct pagoda_map_place *place, u64 bytes)
{
	const struct pagoda_map *map = place->map;

	if (bytes >= place->left) {
		bytes = (bytes - place->left) % map->window;
		place->extent = map->adl ? map->adl_offset : 0;
		place->offset = 0;
		place->left = map->window;
	}
	place->left -= bytes;
	return bytes;
}

/*
 * Moves @place forward by @bytes, a multiple of the page size that doesn't lead beyond the end of
 * the map; a repeating window starts anew at its end.
 */
void pagoda_place_advance(struct pagoda_map_place *place, u64 bytes)
{
	const struct pagoda_map *map = place->map;

	if (map->window)
		bytes = place_wrap(place, bytes);
	if (map->adl) {
		place->extent += bytes >> VIRTIO_PAGODA_PAGE_SHIFT;
		return;
	}
	place->offset += bytes;
	while (place->extent < map->nr_extents &&
	       place->offset >= map->extents[place->extent].size)
		place->offset -= map->extents[place->extent++].size;
}

/*
 * Sets up to @nr @entries, each for 2^@shift bytes of memory, from the extent that @place is in,
 * and moves @place behind this memory. Sets one entry even if less is left of the extent: the
 * caller has checked that the next extents continue the memory. Returns the number of entries set.
 */
static u32 extents_entries(struct pagoda_map_place *place, u32 shift, u32 nr, u64 *entries)
{
	const struct pagoda_map_extent *extent = &place->map->extents[place->extent];
	u64 address = extent->address + place->offset;
	u64 count = min(extent->size - place->offset, place->left) >> shift;
	u32 i;

	nr = clamp_t(u64, count, 1, nr);
	for (i = 0; i < nr; i++, address += 1ull << shift)
		entries[i] = (address & VIRTIO_PAGODA_PTE_ADDRESS_MASK) |
			     (u64)extent->segment << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT;
	pagoda_place_advance(place, (u64)nr << shift);
	return nr;
}

static u32 adl_entries(struct pagoda_map_place *place, u32 shift, u32 nr, u64 *entries)
{
	u32 pages = 1u << (shift - VIRTIO_PAGODA_PAGE_SHIFT), i;

	nr = min_t(u64, nr, place->left >> shift);
	for (i = 0; i < nr; i++)
		entries[i] = (adl_page(place->map->adl, place->extent + i * pages) &
			      VIRTIO_PAGODA_PTE_ADDRESS_MASK) |
			     (u64)VIRTIO_PAGODA_SEGMENT_SYSTEM << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT;
	pagoda_place_advance(place, (u64)nr << shift);
	return nr;
}

/*
 * Sets @entries to segment and address of the next @nr times 2^@shift bytes of memory, each of
 * which is consecutive, and moves @place behind that memory.
 */
void pagoda_place_entries(struct pagoda_map_place *place, u32 shift, u32 nr, u64 *entries)
{
	u32 got;

	for (; nr; nr -= got, entries += got)
		got = place->map->adl ? adl_entries(place, shift, nr, entries) :
					extents_entries(place, shift, nr, entries);
}

/*
 * Returns whether one level-1 entry can map @bytes of memory from @place on: the device has 2 MiB
 * pages, and the memory is 2 MiB, consecutive and aligned to 2 MiB.
 */
bool pagoda_place_is_large(const struct pagoda_map_place *place, const struct pagoda_mmu *mmu,
			   u64 bytes)
{
	u64 address;
	u32 segment;

	return pagoda_mmu_has_pages(mmu, PAGODA_BLOCK_BYTES) && bytes == PAGODA_BLOCK_BYTES &&
	       pagoda_place_run(place, bytes, &segment, &address) == bytes &&
	       IS_ALIGNED(address, PAGODA_BLOCK_BYTES);
}

/*
 * Returns whether 64 KiB entries can map @bytes of memory from @place on at address @va: the device
 * has 64 KiB pages, @va and @bytes are multiples of 64 KiB, and each 64 KiB of the memory are
 * consecutive bytes of VRAM at a multiple of 64 KiB.
 */
bool pagoda_place_is_64k(const struct pagoda_map_place *place, const struct pagoda_mmu *mmu,
			 u64 va, u64 bytes)
{
	struct pagoda_map_place here = *place;
	u64 address, done;
	u32 segment;

	if (!pagoda_mmu_has_pages(mmu, PAGODA_CHUNK_BYTES) ||
	    !IS_ALIGNED(va | bytes, PAGODA_CHUNK_BYTES))
		return false;
	for (done = 0; done < bytes; done += PAGODA_CHUNK_BYTES) {
		if (pagoda_place_run(&here, PAGODA_CHUNK_BYTES, &segment, &address) !=
		    PAGODA_CHUNK_BYTES || segment != VIRTIO_PAGODA_SEGMENT_VRAM ||
		    !IS_ALIGNED(address, PAGODA_CHUNK_BYTES))
			return false;
		pagoda_place_advance(&here, PAGODA_CHUNK_BYTES);
	}
	return true;
}
