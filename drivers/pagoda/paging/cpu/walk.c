// SPDX-License-Identifier: GPL-2.0
/*
 * CPU executor: translation of virtual addresses. Every access walks the page tables; translations
 * aren't kept. The device's engine is implemented differently and compared with this code.
 *
 * The struct pages of page tables in system memory come from table_page(), those of other system
 * memory, and of a table that UPDATE_PAGE_TABLE writes, from the packet's struct page array: never
 * from a bus address (C66). A malformed entry or an unreadable table is BAD_TABLE.
 */
#include <linux/align.h>
#include <linux/compiler.h>
#include "walk.h"

#define PAGODA_PTE_SEGMENT(entry) \
	((u32)(((entry) & VIRTIO_PAGODA_PTE_SEGMENT_MASK) >> VIRTIO_PAGODA_PTE_SEGMENT_SHIFT))
#define PAGODA_PTE_ADDRESS(entry)	((entry) & VIRTIO_PAGODA_PTE_ADDRESS_MASK)
/* Flags that only entries of level 1 may have. */
#define PAGODA_PTE_MARKS	(VIRTIO_PAGODA_PTE_LARGE | VIRTIO_PAGODA_PTE_TABLE_64K)

/*
 * The page-table entry that translates an address, 0 if it is invalid, and the number of bytes that
 * the whole entry translates.
 */
struct pagoda_found {
	u64 entry;
	u64 size;
};

static u32 word_read(const struct pagoda_cpu_executor *exec, u32 segment, u64 address, u64 *word)
{
	const void *table;
	u8 *page;

	if (segment == VIRTIO_PAGODA_SEGMENT_VRAM) {
		if (pagoda_cpu_vram_check(exec, address, sizeof(*word)))
			return VIRTIO_PAGODA_FAULT_BAD_TABLE;
		*word = le64_to_cpu(READ_ONCE(*(const __le64 *)(exec->vram + address)));
		return VIRTIO_PAGODA_FAULT_NONE;
	}
	if (pagoda_cpu_system_check(exec, address, sizeof(*word), false))
		return VIRTIO_PAGODA_FAULT_BAD_TABLE;
	table = exec->table_page ? exec->table_page(exec->context, address & ~PAGODA_PAGE_MASK) :
				   NULL;
	if (!table)
		return VIRTIO_PAGODA_FAULT_BAD_TABLE;
	page = exec->map_page(&table, 0);
	*word = le64_to_cpu(READ_ONCE(*(const __le64 *)(page + (address & PAGODA_PAGE_MASK))));
	exec->unmap_page(page);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/* Returns whether a valid entry is well-formed for pointing to a table of @size bytes. */
static bool leads_to_table(const struct pagoda_cpu_executor *exec, u64 entry, u64 size)
{
	u64 named = VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_SEGMENT_MASK |
		    VIRTIO_PAGODA_PTE_ADDRESS_MASK;
	u32 segment = PAGODA_PTE_SEGMENT(entry);

	if (entry & ~named || !IS_ALIGNED(PAGODA_PTE_ADDRESS(entry), size))
		return false;
	if (segment == VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_within(PAGODA_PTE_ADDRESS(entry), size, exec->limits->vram_size);
	return segment == VIRTIO_PAGODA_SEGMENT_SYSTEM;
}

/*
 * Returns whether a valid entry is well-formed as an entry that maps a page of @size bytes, or as
 * an entry that maps zeros. The caller checks LARGE and TABLE_64K.
 */
static bool is_page(const struct pagoda_cpu_executor *exec, u64 entry, u64 size)
{
	u32 segment = PAGODA_PTE_SEGMENT(entry);

	if (entry & VIRTIO_PAGODA_PTE_COHERENT &&
	    !(exec->limits->features & 1ull << VIRTIO_PAGODA_F_COHERENT))
		return false;
	if (entry & VIRTIO_PAGODA_PTE_ZERO)
		return true;
	if (segment >= VIRTIO_PAGODA_SEGMENT_COUNT || !IS_ALIGNED(PAGODA_PTE_ADDRESS(entry), size))
		return false;
	return pagoda_within(PAGODA_PTE_ADDRESS(entry), size,
			     pagoda_segment_size(exec->limits, segment));
}

/*
 * Checks an entry above level 0 that maps zeros: it must have neither LARGE nor TABLE_64K.
 * Returns a fault reason or 0.
 */
static u32 zeros_check(const struct pagoda_cpu_executor *exec, u64 entry, u64 size)
{
	return entry & PAGODA_PTE_MARKS || !is_page(exec, entry, size) ?
	       VIRTIO_PAGODA_FAULT_BAD_TABLE : VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Sets @found to the entry for @va in the leaf table, of pages of @size bytes, that the entry
 * @table points to. Returns 0 or a fault reason.
 */
static u32 leaf_read(const struct pagoda_cpu_executor *exec, u64 table, u64 va, u64 size,
		     struct pagoda_found *found)
{
	u64 index = (va & (SZ_2M - 1)) / size;
	u64 bytes = SZ_2M / size * VIRTIO_PAGODA_PT_ENTRY_BYTES;
	u32 reason;

	if (!leads_to_table(exec, table, bytes))
		return VIRTIO_PAGODA_FAULT_BAD_TABLE;
	reason = word_read(exec, PAGODA_PTE_SEGMENT(table),
			   PAGODA_PTE_ADDRESS(table) + index * VIRTIO_PAGODA_PT_ENTRY_BYTES,
			   &found->entry);
	if (reason)
		return reason;
	found->size = size;
	if (!(found->entry & VIRTIO_PAGODA_PTE_VALID))
		found->entry = 0;
	else if (found->entry & PAGODA_PTE_MARKS || !is_page(exec, found->entry, size))
		return VIRTIO_PAGODA_FAULT_BAD_TABLE;
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Translates @va by a level-1 entry's @word, which is invalid, points to a table of 4 KiB pages, or
 * maps 2 MiB of memory or zeros itself. Returns 0 or a fault reason.
 */
static u32 word_4k(const struct pagoda_cpu_executor *exec, u64 word, u64 va,
		   struct pagoda_found *found)
{
	*found = (struct pagoda_found) { .entry = word, .size = SZ_2M };
	if (!(word & VIRTIO_PAGODA_PTE_VALID)) {
		found->entry = 0;
		return VIRTIO_PAGODA_FAULT_NONE;
	}
	if (word & VIRTIO_PAGODA_PTE_ZERO)
		return zeros_check(exec, word, SZ_2M);
	if (!(word & VIRTIO_PAGODA_PTE_LARGE))
		return leaf_read(exec, word, va, VIRTIO_PAGODA_PAGE_SIZE, found);
	if (word & VIRTIO_PAGODA_PTE_TABLE_64K || !(exec->limits->page_sizes & SZ_2M))
		return VIRTIO_PAGODA_FAULT_BAD_TABLE;
	return is_page(exec, word, SZ_2M) ? VIRTIO_PAGODA_FAULT_NONE :
						   VIRTIO_PAGODA_FAULT_BAD_TABLE;
}

/*
 * Translates @va by a level-1 entry's @word, which is invalid, points to a table of 64 KiB pages,
 * or maps 2 MiB of zeros. Returns 0 or a fault reason.
 */
static u32 word_64k(const struct pagoda_cpu_executor *exec, u64 word, u64 va,
		    struct pagoda_found *found)
{
	*found = (struct pagoda_found) { .entry = word, .size = SZ_2M };
	if (!(word & VIRTIO_PAGODA_PTE_VALID)) {
		found->entry = 0;
		return VIRTIO_PAGODA_FAULT_NONE;
	}
	if (word & VIRTIO_PAGODA_PTE_ZERO)
		return zeros_check(exec, word, SZ_2M);
	if (!pagoda_has_64k(exec->limits))
		return VIRTIO_PAGODA_FAULT_BAD_TABLE;
	return leaf_read(exec, word, va, SZ_64K, found);
}

/*
 * Of a level-1 entry with dual tables, one word translates @va by @found. Returns whether the leaf
 * table that the other @word points to, with pages of @size bytes, has a valid or unreadable entry
 * in the range that @found translates.
 */
static bool word_overlaps(const struct pagoda_cpu_executor *exec, u64 word, u64 size, u64 va,
			  const struct pagoda_found *found)
{
	u64 at, entry, begin = (va & (SZ_2M - 1)) & ~(found->size - 1);

	if (!found->entry || !(word & VIRTIO_PAGODA_PTE_VALID) ||
	    word & (VIRTIO_PAGODA_PTE_ZERO | VIRTIO_PAGODA_PTE_LARGE))
		return false;
	for (at = begin; at < begin + found->size; at += size) {
		if (word_read(exec, PAGODA_PTE_SEGMENT(word),
			      PAGODA_PTE_ADDRESS(word) + at / size * VIRTIO_PAGODA_PT_ENTRY_BYTES,
			      &entry) ||
		    entry & VIRTIO_PAGODA_PTE_VALID)
			return true;
	}
	return false;
}

/*
 * Translates @va by the level-1 entry at @address. With dual tables the entry has two words; @va is
 * refused if both words translate it, or if the entry below one word that translates @va overlaps a
 * valid entry below the other word (C93). Returns 0 or a fault reason.
 */
static u32 level1_read(const struct pagoda_cpu_executor *exec, u32 segment, u64 address, u64 va,
		       struct pagoda_found *found)
{
	bool dual = pagoda_has_dual(exec->limits);
	struct pagoda_found other;
	u64 word, second;
	u32 reason = word_read(exec, segment, address, &word);

	if (reason)
		return reason;
	if (!dual && word & VIRTIO_PAGODA_PTE_TABLE_64K) {
		/* Keep TABLE_64K in a word that maps zeros: word_64k() refuses such a word. */
		if (!(word & VIRTIO_PAGODA_PTE_ZERO))
			word &= ~VIRTIO_PAGODA_PTE_TABLE_64K;
		return word_64k(exec, word, va, found);
	}
	reason = word_4k(exec, word, va, found);
	if (reason || !dual)
		return reason;
	reason = word_read(exec, segment, address + VIRTIO_PAGODA_PT_ENTRY_BYTES, &second);
	if (!reason)
		reason = word_64k(exec, second, va, &other);
	if (reason)
		return reason;
	if ((found->entry && other.entry) ||
	    word_overlaps(exec, word, VIRTIO_PAGODA_PAGE_SIZE, va, &other) ||
	    word_overlaps(exec, second, SZ_64K, va, found))
		return VIRTIO_PAGODA_FAULT_BAD_TABLE;
	if (other.entry)
		*found = other;
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Walks the page tables from the root of @space, and sets @found to the entry that ends the walk.
 * Returns a fault reason only for malformed or unreadable tables.
 */
static u32 tables_read(const struct pagoda_cpu_executor *exec, u32 space, u64 va,
		       struct pagoda_found *found)
{
	const struct pagoda_paging_limits *limits = exec->limits;
	u64 address = exec->roots[space].address, index, size;
	u32 segment = exec->roots[space].segment, level;
	u32 reason;

	index = va >> pagoda_pt_shift(limits->pt_levels - 1);
	*found = (struct pagoda_found) { };
	if (index >= exec->roots[space].entries)
		return VIRTIO_PAGODA_FAULT_NONE;
	for (level = limits->pt_levels - 1; level > 1; level--) {
		reason = word_read(exec, segment, address + index * VIRTIO_PAGODA_PT_ENTRY_BYTES,
				   &found->entry);
		if (reason)
			return reason;
		found->size = 1ull << pagoda_pt_shift(level);
		if (!(found->entry & VIRTIO_PAGODA_PTE_VALID)) {
			found->entry = 0;
			return VIRTIO_PAGODA_FAULT_NONE;
		}
		if (found->entry & VIRTIO_PAGODA_PTE_ZERO)
			return zeros_check(exec, found->entry, found->size);
		size = VIRTIO_PAGODA_PT_ENTRIES * pagoda_pt_stride(limits, level - 1);
		if (!leads_to_table(exec, found->entry, size))
			return VIRTIO_PAGODA_FAULT_BAD_TABLE;
		segment = PAGODA_PTE_SEGMENT(found->entry);
		address = PAGODA_PTE_ADDRESS(found->entry);
		index = va >> pagoda_pt_shift(level - 1) & (VIRTIO_PAGODA_PT_ENTRIES - 1);
	}
	return level1_read(exec, segment, address + index * pagoda_pt_stride(limits, 1), va, found);
}

/*
 * Translates @va of address space @space, for writing if @write, and sets @leaf. Returns
 * VIRTIO_PAGODA_FAULT_NONE, BAD_CONTEXT, OUT_OF_RANGE, BAD_TABLE, INVALID_ENTRY, READ_ONLY, or
 * UNSUPPORTED if @exec has no limits or no roots, or the tables have fewer than two levels.
 */
u32 pagoda_cpu_walk(const struct pagoda_cpu_executor *exec, u32 space, u64 va, bool write,
		    struct pagoda_cpu_leaf *leaf)
{
	struct pagoda_found found;
	u32 reason;

	if (!exec->limits)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	if (space >= exec->limits->max_address_spaces)
		return VIRTIO_PAGODA_FAULT_BAD_CONTEXT;
	if (!exec->roots || exec->limits->pt_levels < 2)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	if (va >= pagoda_va_end(exec->limits))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	reason = tables_read(exec, space, va, &found);
	if (reason)
		return reason;
	if (!found.entry)
		return VIRTIO_PAGODA_FAULT_INVALID_ENTRY;
	if (write && found.entry & VIRTIO_PAGODA_PTE_READ_ONLY)
		return VIRTIO_PAGODA_FAULT_READ_ONLY;
	*leaf = (struct pagoda_cpu_leaf) {
		.page_size = found.size,
		.segment = PAGODA_PTE_SEGMENT(found.entry),
		.zero = found.entry & VIRTIO_PAGODA_PTE_ZERO,
	};
	if (!leaf->zero)
		leaf->address = PAGODA_PTE_ADDRESS(found.entry) + (va & (found.size - 1));
	return VIRTIO_PAGODA_FAULT_NONE;
}

/* Returns the struct page of system memory at @va, or NULL; @bus is what @va translates to. */
static const void *virtual_page(const struct pagoda_cpu_virtual *memory, u64 va, u64 bus)
{
	u64 index = (va >> VIRTIO_PAGODA_PAGE_SHIFT) - (memory->base >> VIRTIO_PAGODA_PAGE_SHIFT);

	if (memory->pages)
		return memory->exec->page_at(memory->pages, index);
	if (memory->tables && memory->exec->table_page)
		return memory->exec->table_page(memory->exec->context, bus & ~PAGODA_PAGE_MASK);
	return NULL;
}

/*
 * Translates @va, not less than @memory->base, and checks that the CPU can access the byte at @va.
 * Returns a fault reason or 0.
 */
u32 pagoda_cpu_virtual_find(const struct pagoda_cpu_virtual *memory, u64 va,
			    struct pagoda_cpu_leaf *leaf)
{
	u32 reason = pagoda_cpu_walk(memory->exec, 0, va, memory->write, leaf);

	if (reason || leaf->zero)
		return reason;
	switch (leaf->segment) {
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		return pagoda_cpu_vram_check(memory->exec, leaf->address, 1);
	case VIRTIO_PAGODA_SEGMENT_APERTURE:
		return pagoda_cpu_aperture_check(memory->exec, leaf->address, 1, 0);
	default:
		reason = pagoda_cpu_system_check(memory->exec, leaf->address, 1, memory->write);
		return reason || virtual_page(memory, va, leaf->address) ?
		       reason : VIRTIO_PAGODA_FAULT_UNREACHABLE;
	}
}

/*
 * Maps the 4 KiB page of @va for the CPU. The caller releases mappings in reverse order with
 * pagoda_cpu_virtual_unmap(). Returns VIRTIO_PAGODA_FAULT_NONE, or, with nothing mapped, the fault
 * reason of pagoda_cpu_virtual_find().
 */
u32 pagoda_cpu_virtual_map(const struct pagoda_cpu_virtual *memory, u64 va,
			   struct pagoda_cpu_mapping *mapping)
{
	struct pagoda_cpu_executor *exec = memory->exec;
	struct pagoda_cpu_leaf leaf;
	const void *page;
	u32 reason = pagoda_cpu_virtual_find(memory, va, &leaf);

	*mapping = (struct pagoda_cpu_mapping) { };
	if (reason || leaf.zero)
		return reason;
	switch (leaf.segment) {
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		mapping->at = exec->vram + leaf.address;
		return VIRTIO_PAGODA_FAULT_NONE;
	case VIRTIO_PAGODA_SEGMENT_APERTURE:
		page = exec->aperture[leaf.address >> VIRTIO_PAGODA_PAGE_SHIFT];
		break;
	default:
		page = virtual_page(memory, va, leaf.address);
		break;
	}
	mapping->page = exec->map_page(&page, 0);
	mapping->at = mapping->page + (va & PAGODA_PAGE_MASK);
	return VIRTIO_PAGODA_FAULT_NONE;
}

void pagoda_cpu_virtual_unmap(const struct pagoda_cpu_virtual *memory,
			      const struct pagoda_cpu_mapping *mapping)
{
	if (mapping->page)
		memory->exec->unmap_page(mapping->page);
}
