// SPDX-License-Identifier: GPL-2.0
/*
 * The walk of page tables: from a virtual address to memory, and the checks of ranges of virtual
 * addresses.
 *
 * The content of tables isn't trusted. All that is read of a table is checked to lie in usable VRAM
 * or in memory that ops->system_span() knows, every page to lie in its segment with all of its
 * bytes, every bit to be defined at its level: else BAD_TABLE, which is never cached. Tables that
 * lead back to themselves need no check, as each step goes down a level.
 *
 * With dual tables, a level-1 entry has two sides: a word for 4 KiB pages and large pages, and a
 * word for 64 KiB pages. An address translated by a valid entry of the 4 KiB side must not be
 * translated by a valid entry of the 64 KiB side, too. Without dual tables a level-1 entry has a
 * single word, which selects its side.
 */
#include "internal.h"

#define PAGODA_LARGE_SHIFT	21
#define PAGODA_PAGE_64K_SHIFT	16
#define PAGODA_SIDE_4K		0
#define PAGODA_SIDE_64K		1

/* Bits that may be set in a pointer to a table, besides TABLE_64K, which walk_side() clears. */
#define PAGODA_PTE_POINTER	(VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_SEGMENT_MASK | \
				 VIRTIO_PAGODA_PTE_ADDRESS_MASK)
/* Bits that may be set in entries of level 1 only, and not in an entry for a page of zeros. */
#define PAGODA_PTE_LEVEL1	(VIRTIO_PAGODA_PTE_LARGE | VIRTIO_PAGODA_PTE_TABLE_64K)

static_assert(VIRTIO_PAGODA_PAGE_SHIFT + VIRTIO_PAGODA_PT_INDEX_BITS == PAGODA_LARGE_SHIFT,
	      "a large page is what a leaf table covers");

static u32 pte_segment(u64 entry)
{
	return (entry & VIRTIO_PAGODA_PTE_SEGMENT_MASK) >> VIRTIO_PAGODA_PTE_SEGMENT_SHIFT;
}

static u64 pte_address(u64 entry)
{
	return entry & VIRTIO_PAGODA_PTE_ADDRESS_MASK;
}

/* Returns the level of a page-table entry that translates @size bytes; 0 for 4 KiB and 64 KiB. */
static u32 level_of(u64 size)
{
	return (__builtin_ctzll(size) - VIRTIO_PAGODA_PAGE_SHIFT) / VIRTIO_PAGODA_PT_INDEX_BITS;
}

static u32 bad_table(struct pagoda_translation *translation, u32 level)
{
	translation->level = level;
	return VIRTIO_PAGODA_FAULT_BAD_TABLE;
}

static bool vram_inside(const struct pagoda_exec *exec, u64 address, u64 size)
{
	u64 bad;

	return pagoda_engine_vram_valid(exec->engine, address, size, &bad);
}

static bool system_inside(const struct pagoda_exec *exec, u64 address, u64 size)
{
	u32 reason;
	u64 limit = pagoda_engine_mmu_limit(exec, &reason);

	return size <= limit && address <= limit - size;
}

/*
 * Returns the memory of a table, or of an entry, of @size bytes in VRAM or in system memory; NULL
 * if the address is invalid or system memory isn't contiguous there.
 */
static const u64 *table_at(struct pagoda_exec *exec, u32 segment, u64 address, u64 size)
{
	u8 *here;
	u64 got;

	if (segment == VIRTIO_PAGODA_SEGMENT_VRAM)
		return vram_inside(exec, address, size) ?
			(const u64 *)(exec->engine->vram + address) : NULL;
	if (segment != VIRTIO_PAGODA_SEGMENT_SYSTEM || !system_inside(exec, address, size) ||
	    pagoda_system_span(exec, address, size, VIRTIO_PAGODA_ACCESS_READ, &here, &got))
		return NULL;
	return got == size ? (const u64 *)here : NULL;
}

/*
 * Returns whether an entry is a pointer to a table of @size bytes: without other bits, its address
 * aligned and in usable VRAM or below the limit of system addresses, where memory may be missing.
 */
static bool pointer_valid(struct pagoda_exec *exec, u64 entry, u64 size)
{
	u64 address = pte_address(entry);

	if (entry & ~PAGODA_PTE_POINTER || !IS_ALIGNED(address, size))
		return false;
	if (pte_segment(entry) == VIRTIO_PAGODA_SEGMENT_VRAM)
		return vram_inside(exec, address, size);
	return pte_segment(entry) == VIRTIO_PAGODA_SEGMENT_SYSTEM &&
	       system_inside(exec, address, size);
}

/*
 * Returns whether an entry may translate to a page of @size bytes: the page is aligned and all
 * bytes are in the segment, or it is a page of zeros. COHERENT may be set only if negotiated.
 */
static bool page_valid(struct pagoda_exec *exec, u64 entry, u64 size)
{
	const struct pagoda_engine *engine = exec->engine;
	u64 address = pte_address(entry);
	u64 aperture = engine->aperture_pages * PAGODA_PAGE;

	if (entry & VIRTIO_PAGODA_PTE_COHERENT &&
	    !(engine->features & 1ull << VIRTIO_PAGODA_F_COHERENT))
		return false;
	if (entry & VIRTIO_PAGODA_PTE_ZERO)
		return true;
	if (!IS_ALIGNED(address, size))
		return false;
	switch (pte_segment(entry)) {
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		return vram_inside(exec, address, size);
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		return system_inside(exec, address, size);
	case VIRTIO_PAGODA_SEGMENT_APERTURE:
		return size <= aperture && address <= aperture - size;
	default:
		return false;
	}
}

/*
 * Decodes the word of a level-1 entry for @side (4 KiB or 64 KiB pages) into @leaf: an invalid
 * entry, a page of zeros, a large page, or a leaf table. Returns BAD_TABLE if the word is
 * malformed, else 0.
 */
static u32 walk_side(struct pagoda_exec *exec, u64 word, u32 side, struct pagoda_leaf *leaf)
{
	struct pagoda_translation *found = &leaf->side[side];
	u64 bytes = side == PAGODA_SIDE_64K ?
		    VIRTIO_PAGODA_PT_ENTRIES_64K * VIRTIO_PAGODA_PT_ENTRY_BYTES :
		    VIRTIO_PAGODA_PT_ENTRIES * VIRTIO_PAGODA_PT_ENTRY_BYTES;
	u32 page_sizes = exec->engine->page_sizes;

	if (!(word & VIRTIO_PAGODA_PTE_VALID))
		return VIRTIO_PAGODA_FAULT_NONE;
	found->entry = word;
	if (word & VIRTIO_PAGODA_PTE_ZERO)
		return word & PAGODA_PTE_LEVEL1 || !page_valid(exec, word, found->size) ?
			bad_table(found, 1) : VIRTIO_PAGODA_FAULT_NONE;
	if (word & VIRTIO_PAGODA_PTE_LARGE)
		return word & VIRTIO_PAGODA_PTE_TABLE_64K || side == PAGODA_SIDE_64K ||
		       !(page_sizes & 1u << PAGODA_LARGE_SHIFT) ||
		       !page_valid(exec, word, found->size) ?
			bad_table(found, 1) : VIRTIO_PAGODA_FAULT_NONE;
	if (side == PAGODA_SIDE_64K && !(page_sizes & 1u << PAGODA_PAGE_64K_SHIFT))
		return bad_table(found, 1);
	if (!pagoda_engine_dual(exec->engine))
		word &= ~VIRTIO_PAGODA_PTE_TABLE_64K;	/* the bit only selected the side */
	if (pointer_valid(exec, word, bytes))
		leaf->table[side] = table_at(exec, pte_segment(word), pte_address(word), bytes);
	return leaf->table[side] ? VIRTIO_PAGODA_FAULT_NONE : bad_table(found, 1);
}

/*
 * Decodes a level-1 entry, @words, into @leaf: with dual tables a word for 4 KiB pages and a word
 * for 64 KiB pages, else one word for either of them. Returns 0 or a fault reason.
 */
static u32 walk_level1(struct pagoda_exec *exec, const u64 *words, struct pagoda_leaf *leaf)
{
	u32 side, reason;

	memset(leaf, 0, sizeof(*leaf));
	leaf->side[0].size = 1ull << PAGODA_LARGE_SHIFT;
	leaf->side[1].size = 1ull << PAGODA_LARGE_SHIFT;
	if (pagoda_engine_dual(exec->engine)) {
		reason = walk_side(exec, words[0], PAGODA_SIDE_4K, leaf);
		return reason ? reason : walk_side(exec, words[1], PAGODA_SIDE_64K, leaf);
	}
	side = words[0] & VIRTIO_PAGODA_PTE_TABLE_64K ? PAGODA_SIDE_64K : PAGODA_SIDE_4K;
	return walk_side(exec, words[0], side, leaf);
}

/*
 * Stores the translation of @va to a 4 KiB or 64 KiB page (@side) in *@found: by the leaf table of
 * that page size, or by the level-1 entry if it leads to no such table. Returns 0 or a fault
 * reason.
 */
static u32 walk_leaf(struct pagoda_exec *exec, const struct pagoda_leaf *leaf, u32 side, u64 va,
		     struct pagoda_translation *found)
{
	u32 shift = side == PAGODA_SIDE_64K ? PAGODA_PAGE_64K_SHIFT : VIRTIO_PAGODA_PAGE_SHIFT;
	u64 index = va % (1ull << PAGODA_LARGE_SHIFT) >> shift;
	u64 word;

	*found = leaf->side[side];
	if (!leaf->table[side])
		return VIRTIO_PAGODA_FAULT_NONE;
	word = le64_to_cpu(READ_ONCE(*(const __le64 *)&leaf->table[side][index]));
	found->size = 1ull << shift;
	found->entry = word & VIRTIO_PAGODA_PTE_VALID ? word : 0;
	if (found->entry &&
	    (word & PAGODA_PTE_LEVEL1 || !page_valid(exec, word, found->size)))
		return bad_table(found, 0);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Returns whether the leaf table of one page size, @side, has a valid entry for any address that
 * @found translates, the translation of @va by the word for the other page size. A TLB that caches
 * @found would hide that entry.
 */
static bool side_overlaps(const struct pagoda_leaf *leaf, u32 side, u64 va,
			  const struct pagoda_translation *found)
{
	u32 shift = side == PAGODA_SIDE_64K ? PAGODA_PAGE_64K_SHIFT : VIRTIO_PAGODA_PAGE_SHIFT;
	u64 index = va % (1ull << PAGODA_LARGE_SHIFT) / found->size * found->size >> shift;
	u64 end = index + (found->size >> shift);

	if (!found->entry || !leaf->table[side])
		return false;
	for (; index < end; index++)
		if (READ_ONCE(*(const __le64 *)&leaf->table[side][index]) &
		    cpu_to_le64(VIRTIO_PAGODA_PTE_VALID))
			return true;
	return false;
}

/*
 * Stores the translation of @va in *@found: of the level-1 entry's two words, for 4 KiB and for 64
 * KiB pages, at most one may lead to a valid entry for an address (C93). Returns 0 or a fault
 * reason.
 */
static u32 walk_sides(struct pagoda_exec *exec, const struct pagoda_leaf *leaf, u64 va,
		      struct pagoda_translation *found)
{
	struct pagoda_translation other;
	u32 reason;

	reason = walk_leaf(exec, leaf, PAGODA_SIDE_4K, va, found);
	if (reason)
		return reason;
	reason = walk_leaf(exec, leaf, PAGODA_SIDE_64K, va, &other);
	if (reason || (other.entry && found->entry) ||
	    side_overlaps(leaf, PAGODA_SIDE_4K, va, &other) ||
	    side_overlaps(leaf, PAGODA_SIDE_64K, va, found))
		return bad_table(found, level_of(other.size));
	if (other.entry || (!found->entry && other.size < found->size))
		*found = other;
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Walks the tables from the root down to level 1, stores the words of the level-1 entry in @words
 * and sets @found->size to 0. A walk that meets an invalid entry, or an entry for a page of zeros,
 * above level 1 ends there, and stores that translation in *@found, with a size that isn't 0. An
 * index beyond the root's entries counts as an invalid entry. Returns 0 or a fault reason.
 */
static u32 walk_down(struct pagoda_exec *exec, u32 space, u64 va, u64 *words,
		     struct pagoda_translation *found)
{
	const struct pagoda_engine_space *root = &exec->engine->spaces[space];
	bool dual = pagoda_engine_dual(exec->engine);
	u32 level = exec->engine->pt_levels - 1;
	u64 index = va >> pagoda_engine_level_shift(level);
	u64 address = root->address;
	u32 segment = root->segment;

	found->entry = 0;
	found->size = 1ull << pagoda_engine_level_shift(level);
	if (index >= root->entries)
		return VIRTIO_PAGODA_FAULT_NONE;
	for (;; level--) {
		u64 bytes = VIRTIO_PAGODA_PT_ENTRY_BYTES << (dual && level == 1);
		const u64 *here = table_at(exec, segment, address + index * bytes, bytes);
		u64 word = here ? le64_to_cpu(READ_ONCE(*(const __le64 *)here)) : 0;

		if (!here)
			return bad_table(found, level);
		if (level == 1) {
			words[0] = word;
			words[1] = dual ? le64_to_cpu(READ_ONCE(*(const __le64 *)&here[1])) : 0;
			found->size = 0;
			return VIRTIO_PAGODA_FAULT_NONE;
		}
		found->size = 1ull << pagoda_engine_level_shift(level);
		if (!(word & VIRTIO_PAGODA_PTE_VALID))
			return VIRTIO_PAGODA_FAULT_NONE;
		if (word & VIRTIO_PAGODA_PTE_ZERO) {
			found->entry = word;
			return word & PAGODA_PTE_LEVEL1 ||
			       !page_valid(exec, word, found->size) ?
				bad_table(found, level) : VIRTIO_PAGODA_FAULT_NONE;
		}
		bytes = VIRTIO_PAGODA_PT_ENTRIES * VIRTIO_PAGODA_PT_ENTRY_BYTES <<
			(dual && level == 2);
		if (!pointer_valid(exec, word, bytes))
			return bad_table(found, level);
		segment = pte_segment(word);
		address = pte_address(word);
		index = va >> pagoda_engine_level_shift(level - 1) &
			(VIRTIO_PAGODA_PT_ENTRIES - 1);
	}
}

/*
 * Translates @va by the page tables, without the TLB and without a check of permissions. An invalid
 * entry is no fault: found->entry is 0 then. Returns a fault reason or 0.
 */
static u32 walk_levels(struct pagoda_exec *exec, u32 space, u64 va, u32 access,
		       struct pagoda_translation *found)
{
	struct pagoda_leaf *leaf = &exec->leaves[access == VIRTIO_PAGODA_ACCESS_WRITE];
	u64 tag = (u64)space << (64 - PAGODA_LARGE_SHIFT) | va >> PAGODA_LARGE_SHIFT;
	u64 words[2] = {};
	u32 reason;

	pagoda_shim_assert_held(&exec->engine->translation);
	/*
	 * No valid tag is 0: bit 42 is set. The bit is free: addresses have at most 63 bits, so the
	 * number of a 2 MiB range has at most 42.
	 */
	tag |= 1ull << (63 - PAGODA_LARGE_SHIFT);
	if (leaf->tag != tag) {
		leaf->tag = 0;
		reason = walk_down(exec, space, va, words, found);
		if (reason || found->size)
			return reason;
		reason = walk_level1(exec, words, leaf);
		if (reason)
			return bad_table(found, 1);
		leaf->tag = tag;
	}
	return walk_sides(exec, leaf, va, found);
}

/*
 * Translates @va by the TLB, or else by the tables, and checks permissions. The TLB then caches the
 * translation from the tables; that @va is invalid is cached only if INVALID_NOT_CACHED wasn't
 * negotiated, and a bad table never. Doesn't store the fault in the run. Returns a fault reason or
 * 0.
 */
static u32 walk_translate(struct pagoda_exec *exec, u32 space, u64 va, u32 access,
			  struct pagoda_translation *found)
{
	u32 reason;

	if (!pagoda_engine_tlb_find(exec, space, va, found)) {
		reason = walk_levels(exec, space, va, access, found);
		if (reason)
			return reason;
		if (found->entry ||
		    !(exec->engine->features & 1ull << VIRTIO_PAGODA_F_INVALID_NOT_CACHED))
			pagoda_engine_tlb_keep(exec, space, va, found);
	}
	found->level = level_of(found->size);
	if (!found->entry)
		return VIRTIO_PAGODA_FAULT_INVALID_ENTRY;
	if (found->entry & VIRTIO_PAGODA_PTE_READ_ONLY && access == VIRTIO_PAGODA_ACCESS_WRITE)
		return VIRTIO_PAGODA_FAULT_READ_ONLY;
	if (found->entry & VIRTIO_PAGODA_PTE_NO_EXECUTE && access == VIRTIO_PAGODA_ACCESS_FETCH)
		return VIRTIO_PAGODA_FAULT_NO_EXECUTE;
	return VIRTIO_PAGODA_FAULT_NONE;
}

/**
 * pagoda_engine_lookup() - Translate an address by the page tables
 * @engine: Engine
 * @space: Address space
 * @va: Address
 * @page: Receives the translation; after a fault only the level
 *
 * For debugging: TLBs, counters and faults are unchanged.
 *
 * Context: May sleep.
 * Return: %VIRTIO_PAGODA_FAULT_NONE, or the reason why the address has no translation.
 */
u32 pagoda_engine_lookup(struct pagoda_engine *engine, u32 space, u64 va,
			 struct pagoda_engine_page *page)
{
	struct pagoda_engine_run run = {};
	struct pagoda_exec exec = { .engine = engine, .run = &run };
	struct pagoda_translation found = {};
	u32 reason;

	memset(page, 0, sizeof(*page));
	if (space >= engine->nr_spaces)
		return VIRTIO_PAGODA_FAULT_BAD_CONTEXT;
	if (va >> engine->va_bits)
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	pagoda_shim_read_lock(&engine->translation);
	reason = walk_levels(&exec, space, va, VIRTIO_PAGODA_ACCESS_READ, &found);
	pagoda_shim_read_unlock(&engine->translation);
	page->level = reason ? found.level : level_of(found.size);
	if (reason || !found.entry)
		return reason ? reason : VIRTIO_PAGODA_FAULT_INVALID_ENTRY;
	page->flags = found.entry & ~(VIRTIO_PAGODA_PTE_SEGMENT_MASK |
				      VIRTIO_PAGODA_PTE_ADDRESS_MASK);
	page->segment = pte_segment(found.entry);
	page->address = pte_address(found.entry) + va % found.size;
	return VIRTIO_PAGODA_FAULT_NONE;
}

static u32 walk_refuse(struct pagoda_exec *exec, u32 reason, u64 va, u32 access, u32 level)
{
	exec->run->fault.level = level;
	return pagoda_engine_refuse(exec, reason, va, access);
}

/*
 * Returns the number of bytes from @va on, at most @want, that @first and the following
 * translations, of equal size and flags, map to consecutive addresses of one segment. A translation
 * that doesn't continue the sequence is kept in exec->ahead for the next span.
 */
static u64 walk_consecutive(struct pagoda_exec *exec, u32 space, u64 va, u64 want, u32 access,
			    const struct pagoda_translation *first)
{
	struct pagoda_ahead *ahead = &exec->ahead[access == VIRTIO_PAGODA_ACCESS_WRITE];
	struct pagoda_translation next = *first;
	u64 size = first->size - va % first->size;
	u64 expected = first->entry + first->size;

	while (size < want) {
		if (walk_translate(exec, space, va + size, access, &next))
			break;
		if (next.size != first->size || next.entry != expected) {
			*ahead = (struct pagoda_ahead) {
				.va = va + size, .space = space, .access = access, .found = next,
			};
			break;
		}
		size += next.size;
		expected += next.size;
	}
	return min(size, want);
}

/*
 * Translates the first address of a span: by exec->ahead if @va follows the last span and its
 * translation was kept there, else by walk_translate(). Returns a fault reason, or 0.
 */
static u32 translate_first(struct pagoda_exec *exec, u32 space, u64 va, u32 access,
			   struct pagoda_translation *found)
{
	const struct pagoda_ahead *ahead = &exec->ahead[access == VIRTIO_PAGODA_ACCESS_WRITE];

	if (ahead->access != access || ahead->space != space || ahead->va != va)
		return walk_translate(exec, space, va, access, found);
	*found = ahead->found;
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Finds the memory at @address of span->segment for span->here. Reduces span->size to the bytes
 * that are contiguous for the CPU, and clears span->combined in aperture pages that are snooped.
 * Returns 0 or a fault reason.
 */
static u32 span_memory(struct pagoda_exec *exec, u64 address, u32 access,
		       struct pagoda_virtual_span *span)
{
	struct pagoda_cursor cursor = {
		.access = access, .address = address, .left = span->size,
	};
	u32 reason;
	u64 got;

	switch (span->segment) {
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		span->here = exec->engine->vram + address;
		return VIRTIO_PAGODA_FAULT_NONE;
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		reason = pagoda_system_span(exec, address, span->size, access, &span->here, &got);
		if (!reason)
			span->size = got;
		return reason;
	default:
		reason = pagoda_engine_aperture_span(exec, &cursor);
		span->here = cursor.here;
		span->size = cursor.here_size;
		span->combined &= !cursor.snooped;
		return reason;
	}
}

/*
 * Finds the memory at @va that is contiguous for the CPU, at most @want bytes (not zero), checks
 * the permission and caches the translations in the run's TLB. The translation lock is held.
 * Returns a fault reason, or 0.
 */
u32 pagoda_engine_virtual_span(struct pagoda_exec *exec, u32 space, u64 va, u64 want,
			       u32 access, struct pagoda_virtual_span *span)
{
	struct pagoda_translation found;
	u64 limit = 1ull << exec->engine->va_bits;
	u32 reason;

	pagoda_shim_assert_held(&exec->engine->translation);
	if (space >= exec->engine->nr_spaces)
		return walk_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, space, access, 0);
	if (va >= limit)
		return walk_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, va, access, 0);
	want = min(want, limit - va);
	reason = translate_first(exec, space, va, access, &found);
	if (reason)
		return walk_refuse(exec, reason, va, access, found.level);
	span->page_size = found.size;
	span->combined = false;
	if (found.entry & VIRTIO_PAGODA_PTE_ZERO) {
		span->here = NULL;
		span->size = min(want, found.size - va % found.size);
		span->segment = VIRTIO_PAGODA_SEGMENT_SYSTEM;
		return VIRTIO_PAGODA_FAULT_NONE;
	}
	span->segment = pte_segment(found.entry);
	span->combined = !(found.entry & VIRTIO_PAGODA_PTE_COHERENT) &&
			 span->segment != VIRTIO_PAGODA_SEGMENT_VRAM &&
			 pagoda_engine_combines(exec);
	span->size = walk_consecutive(exec, space, va, want, access, &found);
	reason = span_memory(exec, pte_address(found.entry) + va % found.size, access, span);
	return reason ? walk_refuse(exec, reason, va, access, found.level) : reason;
}

/*
 * Finds the memory of 1 to 8 bytes, aligned to their number, for a single access. *@here is NULL
 * for a page of zeros, to which nothing is written. *@here is never in a line of the write
 * combiner: a line of that memory is written back. Returns 0 or a fault reason.
 */
u32 pagoda_engine_virtual_address_resolve(struct pagoda_exec *exec, u32 space, u64 va,
					  u32 size, u32 access, u8 **here)
{
	struct pagoda_virtual_span span;
	u32 reason;

	if (!IS_ALIGNED(va, size))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, va, access);
	reason = pagoda_engine_virtual_span(exec, space, va, size, access, &span);
	*here = reason ? NULL : span.here;
	if (!reason && span.combined)
		pagoda_engine_combine_meet(exec, span.here, size);
	return reason;
}

/*
 * Finds the memory of 1 to 8 bytes, which the caller has checked to be aligned to their number, for
 * a write that may be combined: *@here may be in a line of the write combiner, and is NULL for a
 * page of zeros. The caller writes before the command ends. Returns 0 or a fault reason.
 */
u32 pagoda_engine_virtual_store_resolve(struct pagoda_exec *exec, u32 space, u64 va, u32 size,
					u8 **here)
{
	struct pagoda_virtual_span span;
	u32 reason;

	reason = pagoda_engine_virtual_span(exec, space, va, size, VIRTIO_PAGODA_ACCESS_WRITE,
					    &span);
	*here = reason ? NULL : span.here;
	if (!reason && span.combined)
		pagoda_engine_combine_write(exec, here, &span.size, true);
	return reason;
}

/*
 * Refuses a span that doesn't meet the requirements in @wants (PAGODA_VIRTUAL_*). Returns a
 * fault reason or 0.
 */
static u32 wants_check(struct pagoda_exec *exec, u64 va, u32 access, u32 wants,
		       const struct pagoda_virtual_span *span)
{
	bool local = span->segment == VIRTIO_PAGODA_SEGMENT_VRAM;
	u64 size = span->page_size;
	u32 level = level_of(size);

	if ((wants & PAGODA_VIRTUAL_64K && size < 1ull << PAGODA_PAGE_64K_SHIFT) ||
	    (wants & PAGODA_VIRTUAL_NOT_64K && size == 1ull << PAGODA_PAGE_64K_SHIFT))
		return walk_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_TABLE, va, access, level);
	if (span->here && wants & (local ? PAGODA_VIRTUAL_SYSTEM : PAGODA_VIRTUAL_LOCAL))
		return walk_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_SEGMENT, va, access, level);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Appends a span to @notes, for the execution of the packet or command. A span of a page of zeros,
 * a span whose @combined differs from that of the spans before, or a span for which there is no
 * room isn't appended, nor is any later span.
 */
void pagoda_engine_note(struct pagoda_notes *notes, const struct pagoda_virtual_span *span)
{
	if (!notes->limit)
		return;
	if (notes->end == notes->next)
		notes->combined = span->combined;
	if (!span->here || notes->combined != span->combined) {
		notes->limit = NULL;
	} else if (notes->end > notes->next && notes->end[-1] == span->here) {
		notes->end[-1] += span->size;
	} else if (notes->limit - notes->end < 2) {
		notes->limit = NULL;
	} else {
		*notes->end++ = span->here;
		*notes->end++ = span->here + span->size;
	}
}

/*
 * Checks that every page of a range can be accessed and meets the requirements in @wants, without
 * accessing the pages. Appends the spans of their memory to @notes, unless @notes is NULL. May
 * release the translation lock for a moment. Returns 0 or a fault reason.
 */
u32 pagoda_engine_virtual_check(struct pagoda_exec *exec, u32 space, u64 va, u64 size,
				u32 access, u32 wants, struct pagoda_notes *notes)
{
	struct pagoda_virtual_span span;
	u64 since = 0;
	u32 reason;

	while (size) {
		reason = pagoda_engine_virtual_span(exec, space, va, min_t(u64, size, PAGODA_CHUNK),
						    access, &span);
		if (!reason)
			reason = wants_check(exec, va, access, wants, &span);
		if (reason)
			return reason;
		if (notes)
			pagoda_engine_note(notes, &span);
		va += span.size;
		size -= span.size;
		since += span.size;
		if (since >= PAGODA_CHUNK) {
			since = 0;
			pagoda_engine_translation_pause(exec);
		}
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}
