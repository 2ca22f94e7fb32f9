// SPDX-License-Identifier: GPL-2.0
/*
 * The mappings that tests expect, kept as a plain list of pages, and the comparison of the driver's
 * copies of page tables and of the device's translations with this list.
 */
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "mmu_helpers.h"

/* Returns an entry of the plain list: segment, address, protection (low bits), read-only, zeros. */
static void *mmu_entry(u32 segment, u64 address, u64 flags, u64 protection, bool zero)
{
	u64 value = address | segment << 8 | (flags & PAGODA_PTE_READ_ONLY ? 2 : 0) |
		    (zero ? 1 : 0);

	return xa_mk_value(value | (protection & 0xfff) << 48);
}

/* Part of the plain list; adjacent pages are found faster in an array. */
struct mmu_rig_piece {
	void *page[512];
};

static void **rig_page_slot(struct mmu_rig *rig, u32 space, u64 page, bool make)
{
	u64 nr = page / ARRAY_SIZE(rig->piece->page);

	if (!rig->piece || rig->piece_space != space || rig->piece_nr != nr) {
		rig->piece = xa_load(&rig->maps[space], nr);
		if (!rig->piece && make) {
			rig->piece = kzalloc(sizeof(*rig->piece), GFP_KERNEL);
			KUNIT_ASSERT_NOT_NULL(rig->test, rig->piece);
			xa_store(&rig->maps[space], nr, rig->piece, GFP_KERNEL);
		}
		rig->piece_space = space;
		rig->piece_nr = nr;
	}
	return rig->piece ? &rig->piece->page[page % ARRAY_SIZE(rig->piece->page)] : NULL;
}

/* Returns the plain list's entry for a page, see mmu_entry(), or NULL for an unmapped page. */
void *mmu_rig_page(struct mmu_rig *rig, u32 space, u64 page)
{
	void **slot = rig_page_slot(rig, space, page, false);

	return slot ? *slot : NULL;
}

/* Sets the plain list's entry for a page, as mmu_rig_page() will return it. */
void mmu_rig_set_page(struct mmu_rig *rig, u32 space, u64 page, void *entry)
{
	void **slot = rig_page_slot(rig, space, page, entry);

	if (slot)
		*slot = entry;
}

/* Frees the plain list of a space. */
void mmu_rig_forget_pages(struct mmu_rig *rig, u32 space)
{
	struct mmu_rig_piece *piece;
	unsigned long nr;

	xa_for_each(&rig->maps[space], nr, piece)
		kfree(piece);
	xa_destroy(&rig->maps[space]);
	rig->piece = NULL;
}

/* Enters the mappings that a map makes or removes into the plain list. */
void mmu_rig_expect(struct mmu_rig *rig, u32 space, const struct pagoda_map *map)
{
	u64 window = map->window ?: map->size, nr, page, done;
	u32 i;

	for (nr = 0; nr < map->size / MMU_RIG_PAGE; nr++) {
		void *entry = NULL;

		page = (map->first / MMU_RIG_PAGE + nr) % (window / MMU_RIG_PAGE);

		if (map->kind == PAGODA_MAP_ZERO) {
			entry = mmu_entry(0, 0, 0, 0, true);
		} else if (map->kind == PAGODA_MAP_MEMORY && map->adl) {
			entry = mmu_entry(0, map->adl->pages[map->adl_offset + page], map->flags,
					  map->driver_protection, false);
		} else if (map->kind == PAGODA_MAP_MEMORY) {
			done = page * MMU_RIG_PAGE;
			for (i = 0; done >= map->extents[i].size; i++)
				done -= map->extents[i].size;
			entry = mmu_entry(map->extents[i].segment, map->extents[i].address + done,
					  map->flags, map->driver_protection, false);
		}
		mmu_rig_set_page(rig, space, map->va / MMU_RIG_PAGE + nr, entry);
	}
}

/* What the device said of a page: fault reasons, segment and address as in mmu_entry(). */
struct mmu_rig_seen {
	u32 read;
	u32 write;
	u64 found;
};

#define SEEN_PAGES	64

/* Does what mmu_rig_access() does, for an @exec, with the engine's translation lock held. */
static u32 rig_translate(struct mmu_rig *rig, struct pagoda_exec *exec, u32 space, u64 va,
			 u32 access, u64 *found)
{
	struct pagoda_virtual_span span = {};
	u32 reason = pagoda_engine_virtual_span(exec, space, va, MMU_RIG_PAGE, access, &span);

	*found = 0;
	if (reason || !span.here)
		return reason;
	if (span.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM)
		*found = MMU_RIG_DATA_BUS + (span.here - &mmu_rig_nothing);
	else
		*found = span.here - rig->engine.vram;
	*found |= span.segment << 8;
	return reason;
}

/*
 * Has the device translate an address, and sets *@found to segment and address in the format of
 * mmu_entry(), or 0. Returns the fault reason, or 0.
 */
u32 mmu_rig_access(struct mmu_rig *rig, u32 space, u64 va, u32 access, u64 *found)
{
	struct pagoda_engine_run run;
	struct pagoda_exec exec = { .engine = &rig->engine, .run = &run };
	u32 reason;

	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_EXEC, 3, 1);
	run.tlb = 1;
	pagoda_shim_read_lock(&rig->engine.translation);
	reason = rig_translate(rig, &exec, space, va, access, found);
	pagoda_shim_read_unlock(&rig->engine.translation);
	return reason;
}

/*
 * Has the device translate @nr pages for reads, and those of them that the plain list maps for
 * writes.
 */
static void rig_look(struct mmu_rig *rig, u32 space, u64 page, u32 nr, struct mmu_rig_seen *seen)
{
	struct pagoda_engine_run run;
	struct pagoda_exec exec = { .engine = &rig->engine, .run = &run };
	u64 va = page * MMU_RIG_PAGE, unused;
	u32 i;

	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_EXEC, 3, 1);
	run.tlb = 1;
	pagoda_shim_read_lock(&rig->engine.translation);
	for (i = 0; i < nr; i++, va += MMU_RIG_PAGE) {
		seen[i].read = rig_translate(rig, &exec, space, va, VIRTIO_PAGODA_ACCESS_READ,
					     &seen[i].found);
		if (mmu_rig_page(rig, space, page + i))
			seen[i].write = rig_translate(rig, &exec, space, va,
						      VIRTIO_PAGODA_ACCESS_WRITE, &unused);
	}
	pagoda_shim_read_unlock(&rig->engine.translation);
}

/*
 * Expects the driver's copy of a page's entry to be valid exactly if the plain list has the page,
 * with the protection in the list unless the entry is for 2 MiB.
 */
static void rig_check_books(struct mmu_rig *rig, u32 space, u64 page)
{
	void *entry = mmu_rig_page(rig, space, page);
	u64 va = page * MMU_RIG_PAGE, word, size;
	bool valid = pagoda_space_lookup(rig->spaces[space], va, &word, &size);

	KUNIT_ASSERT_EQ_MSG(rig->test, !!entry, valid, "books: space %u va %#llx", space, va);
	if (entry && size != SZ_2M)
		KUNIT_ASSERT_EQ_MSG(rig->test, xa_to_value(entry) >> 48,
				    word >> VIRTIO_PAGODA_PTE_DRIVER_SHIFT, "space %u va %#llx",
				    space, va);
}

static void rig_check_page(struct mmu_rig *rig, u32 space, u64 page,
			   const struct mmu_rig_seen *seen)
{
	void *entry = mmu_rig_page(rig, space, page);
	u64 value = entry ? xa_to_value(entry) : 0, va = page * MMU_RIG_PAGE;

	KUNIT_ASSERT_EQ_MSG(rig->test, entry ? VIRTIO_PAGODA_FAULT_NONE :
			    VIRTIO_PAGODA_FAULT_INVALID_ENTRY, seen->read, "space %u va %#llx",
			    space, va);
	KUNIT_ASSERT_EQ_MSG(rig->test, value & GENMASK_ULL(47, 8), seen->found,
			    "space %u va %#llx", space, va);
	if (entry)
		KUNIT_ASSERT_EQ_MSG(rig->test, value & 2 ? VIRTIO_PAGODA_FAULT_READ_ONLY :
				    VIRTIO_PAGODA_FAULT_NONE, seen->write,
				    "write: space %u va %#llx", space, va);
}

/* Expects the driver's tables and the device's translations of a range to match the plain list. */
void mmu_rig_check(struct mmu_rig *rig, u32 space, u64 va, u64 size)
{
	u64 page, first = va / MMU_RIG_PAGE, end = (va + size) / MMU_RIG_PAGE;
	struct mmu_rig_seen seen[SEEN_PAGES];
	u32 again, i, nr;

	for (page = first; page < end; page++)
		rig_check_books(rig, space, page);
	/* Once with the TLB as it is, once after dropping the range's cached translations. */
	for (again = 0; again < 2; again++) {
		for (page = first; page < end; page += nr) {
			nr = min_t(u64, end - page, SEEN_PAGES);
			rig_look(rig, space, page, nr, seen);
			for (i = 0; i < nr; i++)
				rig_check_page(rig, space, page + i, &seen[i]);
		}
		pagoda_engine_tlb_forget(&rig->engine, rig->engine.nr_tlbs, space, va, va + size);
	}
}
