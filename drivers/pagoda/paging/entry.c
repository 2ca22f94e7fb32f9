// SPDX-License-Identifier: GPL-2.0
/*
 * Conversion of page-table entries between the driver's and the device's format; checks of
 * UPDATE_PAGE_TABLE (C86 - C100): of its flags, table and range, and of the entries.
 */
#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/log2.h>
#include <linux/minmax.h>

#include "emit.h"
#include "pt.h"
#include "table.h"

#define PAGODA_UPDATE_FLAGS	(VIRTIO_PAGODA_UPDATE_REPEAT | VIRTIO_PAGODA_UPDATE_INITIAL | \
				 VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION | \
				 VIRTIO_PAGODA_UPDATE_USE_64K)
/* Flags that are at the same bits in DXGK_PTE and in the device's format. */
#define PAGODA_PTE_SAME		(PAGODA_PTE_VALID | PAGODA_PTE_ZERO | PAGODA_PTE_CACHE_COHERENT | \
				 PAGODA_PTE_READ_ONLY | PAGODA_PTE_NO_EXECUTE | \
				 PAGODA_PTE_SEGMENT_MASK | PAGODA_PTE_LARGE_PAGE)
#define PAGODA_PTE_IS_64K	BIT_ULL(PAGODA_PTE_PAGE_SIZE_SHIFT)
/* Flags that a valid DXGK_PTE that points to a table may have. */
#define PAGODA_PTE_TABLE	(PAGODA_PTE_VALID | PAGODA_PTE_SEGMENT_MASK | \
				 PAGODA_PTE_PAGE_SIZE_MASK)
#define PAGODA_PTE_DRIVER_MASK	GENMASK_ULL(63, VIRTIO_PAGODA_PTE_DRIVER_SHIFT)

static_assert(PAGODA_PTE_SAME ==
	      (VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_ZERO | VIRTIO_PAGODA_PTE_COHERENT |
	       VIRTIO_PAGODA_PTE_READ_ONLY | VIRTIO_PAGODA_PTE_NO_EXECUTE |
	       VIRTIO_PAGODA_PTE_SEGMENT_MASK | VIRTIO_PAGODA_PTE_LARGE),
	      "flags mean the same in both forms");

/* Number of leaf entries that are checked together, by comparing them with an accepted entry. */
#define PAGODA_PT_BLOCK		64

/**
 * pagoda_pte_encode() - Convert a page-table entry to the device's format
 * @pte: Flags and address
 * @driver_protection: DriverProtection of the mapping, 0 above level 0 (C98); its low 12 bits
 *	become part of the entry
 *
 * Context: any.
 * Return: the entry in CPU byte order; 0 if @pte isn't valid. If @pte has PAGODA_PTE_ZERO (C94),
 * the entry has only VALID, ZERO and the bits of @driver_protection.
 */
u64 pagoda_pte_encode(const struct pagoda_pte *pte, u64 driver_protection)
{
	u64 driver = driver_protection << VIRTIO_PAGODA_PTE_DRIVER_SHIFT;

	if (!(pte->flags & PAGODA_PTE_VALID))
		return 0;
	if (pte->flags & PAGODA_PTE_ZERO)
		return VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_ZERO | driver;
	return (pte->flags & PAGODA_PTE_SAME) | (pte->address & VIRTIO_PAGODA_PTE_ADDRESS_MASK) |
	       (pte->flags & PAGODA_PTE_IS_64K ? VIRTIO_PAGODA_PTE_TABLE_64K : 0) | driver;
}

/**
 * pagoda_pte_decode() - Flags and address of a page-table entry in the device's format
 * @entry: The entry, in CPU byte order
 *
 * Context: any.
 * Return: flags and address, without the bits of DriverProtection.
 */
struct pagoda_pte pagoda_pte_decode(u64 entry)
{
	u64 is_64k = entry & VIRTIO_PAGODA_PTE_TABLE_64K ? PAGODA_PTE_IS_64K : 0;

	return (struct pagoda_pte) {
		.flags = (entry & PAGODA_PTE_SAME) | is_64k,
		.address = entry & VIRTIO_PAGODA_PTE_ADDRESS_MASK,
	};
}

/*
 * Checks that @size bytes from the entry's address on are in the entry's segment, and that the
 * address is a multiple of @alignment. Returns 0, or -EINVAL or -ERANGE with the reason in *@why.
 */
static int target_validate(const struct pagoda_paging_limits *limits, const struct pagoda_pte *pte,
			   u64 size, u64 alignment, const char **why)
{
	u32 segment = (pte->flags & PAGODA_PTE_SEGMENT_MASK) >> PAGODA_PTE_SEGMENT_SHIFT;
	u64 limit = min(pagoda_segment_size(limits, segment),
			VIRTIO_PAGODA_PTE_ADDRESS_MASK + VIRTIO_PAGODA_PAGE_SIZE);

	if (segment >= VIRTIO_PAGODA_SEGMENT_COUNT)
		return pagoda_refuse(why, -EINVAL, "entry: no such segment");
	if (pte->address & (alignment - 1))
		return pagoda_refuse(why, -EINVAL, "entry: address misaligned");
	if (!pagoda_within(pte->address, size, limit))
		return pagoda_refuse(why, -ERANGE, "entry: outside the segment");
	return 0;
}

/*
 * Checks a valid entry that maps a page: an entry of a leaf table, or a 2 MiB page's at level 1.
 * Returns 0, or a negative errno with the reason in *@why.
 */
static int leaf_validate(const struct pagoda_paging_limits *limits,
			 const struct pagoda_op_update_page_table *update,
			 const struct pagoda_pte *pte, const char **why)
{
	u64 size = pagoda_update_is_64k(update) ? SZ_64K : VIRTIO_PAGODA_PAGE_SIZE;

	if (pte->flags & PAGODA_PTE_PAGE_SIZE_MASK)
		return pagoda_refuse(why, -EINVAL, "entry: page-table size in a leaf");
	if (pte->flags & PAGODA_PTE_CACHE_COHERENT &&
	    !(limits->features & 1ull << VIRTIO_PAGODA_F_COHERENT))
		return pagoda_refuse(why, -EOPNOTSUPP, "entry: device isn't coherent");
	if (pte->flags & PAGODA_PTE_LARGE_PAGE)
		size = SZ_2M;
	return target_validate(limits, pte, size, size, why);
}

static int large_validate(const struct pagoda_paging_limits *limits,
			  const struct pagoda_op_update_page_table *update, const char **why)
{
	if (update->level != 1)
		return pagoda_refuse(why, -EINVAL, "entry: large page at the wrong level");
	if (!(limits->page_sizes & SZ_2M))
		return pagoda_refuse(why, -EOPNOTSUPP, "entry: device has no 2 MiB pages");
	if (pagoda_update_is_64k(update))
		return pagoda_refuse(why, -EINVAL, "entry: large page among 64 KiB tables");
	return 0;
}

/*
 * Checks an entry with PAGODA_PTE_ZERO, at any level: the entry must have no page size, and must
 * not be read-only. Returns 0, or -EINVAL with the reason in *@why.
 */
static int zero_validate(const struct pagoda_pte *pte, const char **why)
{
	if (pte->flags & (PAGODA_PTE_LARGE_PAGE | PAGODA_PTE_PAGE_SIZE_MASK))
		return pagoda_refuse(why, -EINVAL, "entry: zeros with a page size");
	if (pte->flags & PAGODA_PTE_READ_ONLY)
		return pagoda_refuse(why, -EINVAL, "entry: zeros that are read-only");
	return 0;
}

/*
 * Checks a valid entry that points to a table of the next lower level. Returns 0, or a negative
 * errno with the reason in *@why.
 */
static int table_entry_validate(const struct pagoda_paging_limits *limits,
				const struct pagoda_op_update_page_table *update,
				const struct pagoda_pte *pte, const char **why)
{
	u32 segment = (pte->flags & PAGODA_PTE_SEGMENT_MASK) >> PAGODA_PTE_SEGMENT_SHIFT;
	u64 size = VIRTIO_PAGODA_PT_ENTRIES * pagoda_pt_stride(limits, update->level - 1);

	if (pte->flags & ~PAGODA_PTE_TABLE)
		return pagoda_refuse(why, -EINVAL, "entry: leaf flag above the leaves");
	if (segment > VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_refuse(why, -EINVAL,
				     "entry: table neither in VRAM nor in system memory");
	if (pte->flags & PAGODA_PTE_PAGE_SIZE_MASK) {
		if (update->level != 1)
			return pagoda_refuse(why, -EINVAL, "entry: page-table size above level 1");
		if (pagoda_has_dual(limits))
			return pagoda_refuse(why, -EINVAL,
					     "entry: page-table size with dual tables");
		if (!pagoda_has_64k(limits))
			return pagoda_refuse(why, -EOPNOTSUPP, "entry: device has no 64 KiB pages");
	}
	return target_validate(limits, pte, size, size, why);
}

static int pte_validate(const struct pagoda_paging_limits *limits,
			const struct pagoda_op_update_page_table *update,
			const struct pagoda_pte *pte, const char **why)
{
	int ret;

	if (pte->flags & PAGODA_PTE_ADAPTER_MASK)
		return pagoda_refuse(why, -EINVAL, "entry: another adapter");
	if (pte->flags & ~(PAGODA_PTE_SAME | PAGODA_PTE_IS_64K))
		return pagoda_refuse(why, -EINVAL, "entry: unknown flag");
	if (!(pte->flags & PAGODA_PTE_VALID))
		return 0;
	if (pte->flags & PAGODA_PTE_ZERO)
		return zero_validate(pte, why);
	if (pte->flags & PAGODA_PTE_LARGE_PAGE) {
		ret = large_validate(limits, update, why);
		if (ret)
			return ret;
	}
	if (!update->level || pte->flags & PAGODA_PTE_LARGE_PAGE)
		return leaf_validate(limits, update, pte, why);
	return table_entry_validate(limits, update, pte, why);
}

/* Leaf entries that are accepted because they differ from @entry only in the address. */
struct pagoda_pt_good {
	u64 entry;	/* an entry that was checked completely and accepted */
	u64 bits;	/* bits in which an entry has to be equal to @entry */
	u64 last;	/* highest address that an entry may have */
};

static u64 values_highest(const u64 *values, u32 count)
{
	u64 highest = 0;

	for (; count; count--, values++)
		highest = max(highest, *values & VIRTIO_PAGODA_PTE_ADDRESS_MASK);
	return highest;
}

/*
 * Returns whether @good accepts all of @count entries: none differs from @good->entry in
 * @good->bits, and no address is above @good->last. For speed the loop has no early exit, and the
 * highest address is computed only if the OR of all address bits is above @good->last.
 */
static inline bool pagoda_values_are_good(const u64 *values, u32 count,
					  const struct pagoda_pt_good *good)
{
	const u64 entry = good->entry, *at = values, *end = values + count;
	u64 differ = 0, any;

	for (; end - at >= 8; at += 8)
		differ |= (at[0] ^ entry) | (at[1] ^ entry) | (at[2] ^ entry) | (at[3] ^ entry) |
			  (at[4] ^ entry) | (at[5] ^ entry) | (at[6] ^ entry) | (at[7] ^ entry);
	for (; at < end; at++)
		differ |= *at ^ entry;
	any = (entry | differ) & VIRTIO_PAGODA_PTE_ADDRESS_MASK;
	return !(differ & good->bits) &&
	       (any <= good->last || values_highest(values, count) <= good->last);
}

/*
 * Checks an entry completely, and sets @good to accept entries that differ from this entry only in
 * the address, as far as the address is valid, too; if this entry maps no memory, only equal
 * entries. Returns 0, or a negative errno with the reason in *@why.
 */
static int leaf_value_validate(const struct pagoda_paging_limits *limits,
			       const struct pagoda_op_update_page_table *update, u64 value,
			       struct pagoda_pt_good *good, const char **why)
{
	u64 size = pagoda_update_is_64k(update) ? SZ_64K : VIRTIO_PAGODA_PAGE_SIZE;
	struct pagoda_pte pte = pagoda_pte_decode(value);
	int ret = pte_validate(limits, update, &pte, why);
	u32 segment = (pte.flags & PAGODA_PTE_SEGMENT_MASK) >> PAGODA_PTE_SEGMENT_SHIFT;

	*good = (struct pagoda_pt_good) { .entry = value, .bits = ~0ull, .last = U64_MAX };
	if (ret || !(value & VIRTIO_PAGODA_PTE_VALID) || value & VIRTIO_PAGODA_PTE_ZERO)
		return ret;
	/* Not negative: pte_validate() found a whole page inside the segment. */
	good->last = pagoda_segment_size(limits, segment) - size;
	good->bits = ~VIRTIO_PAGODA_PTE_ADDRESS_MASK | (size - 1);
	return 0;
}

/*
 * Checks @count entries, not all of which @good accepts. An entry that @good doesn't accept is
 * checked completely; from then on @good accepts entries that differ from that entry only in the
 * address. Returns 0, or a negative errno with the reason in *@why.
 */
static int block_validate(const struct pagoda_paging_limits *limits,
			  const struct pagoda_op_update_page_table *update, const u64 *values,
			  u32 count, struct pagoda_pt_good *good, const char **why)
{
	u32 i;
	int ret;

	for (i = 0; i < count; i++) {
		if (pagoda_values_are_good(&values[i], 1, good))
			continue;
		ret = leaf_value_validate(limits, update, values[i], good, why);
		if (ret)
			return ret;
		/*
		 * The @count entries often differ in addresses only: compare all with the first
		 * entry, which was just accepted.
		 */
		if (!i && pagoda_values_are_good(values, count, good))
			return 0;
	}
	return 0;
}

/*
 * Checks entries of a leaf table, PAGODA_PT_BLOCK at a time: together, if the entries differ from
 * the entry that was last checked completely only in addresses, and these are valid; else by
 * block_validate(). Returns 0, or a negative errno with the reason in *@why.
 */
static int leaf_values_validate(const struct pagoda_paging_limits *limits,
				const struct pagoda_op_update_page_table *update, u32 count,
				const char **why)
{
	const u64 *values = update->values;
	struct pagoda_pt_good good = { .bits = ~0ull };	/* accepts only an entry of 0 */
	u32 n;
	int ret;

	for (; count; count -= n, values += n) {
		n = min_t(u32, count, PAGODA_PT_BLOCK);
		if (pagoda_values_are_good(values, n, &good))
			continue;
		ret = block_validate(limits, update, values, n, &good, why);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Checks the entries that the update writes, in @update->ptes or @update->values. Returns 0, or a
 * negative errno with the reason in *@why.
 */
static int entries_validate(const struct pagoda_paging_limits *limits,
			    const struct pagoda_op_update_page_table *update, const char **why)
{
	u32 i, count = update->flags & VIRTIO_PAGODA_UPDATE_REPEAT ? 1 : update->nr_entries;
	struct pagoda_pte pte;
	int ret = 0;

	if (update->values && !update->level)
		return leaf_values_validate(limits, update, count, why);
	for (i = 0; i < count && !ret; i++) {
		if (update->values && update->values[i] & PAGODA_PTE_DRIVER_MASK)
			return pagoda_refuse(why, -EINVAL, "entry: driver's bits above level 0");
		pte = update->values ? pagoda_pte_decode(update->values[i]) :
				       *pagoda_update_pte(update, i);
		ret = pte_validate(limits, update, &pte, why);
	}
	return ret;
}

static int table_validate(const struct pagoda_paging_limits *limits,
			  const struct pagoda_op_update_page_table *update, const char **why)
{
	u64 size = ALIGN((u64)update->table_entries * pagoda_pt_stride(limits, update->level),
			 VIRTIO_PAGODA_PAGE_SIZE);
	u64 limit = pagoda_va_end(limits);

	if (update->mode != VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL && update->cpu_table)
		return pagoda_refuse(why, -EINVAL, "update: CPU address of a GPU update");
	if (update->mode != VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL && update->table_segment)
		return pagoda_refuse(why, -EINVAL, "update: segment of a virtual address");
	if (update->mode == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL) {
		if (update->table_address & PAGODA_PAGE_MASK)
			return pagoda_refuse(why, -EINVAL, "update: table misaligned");
		if (!update->cpu_table)
			return pagoda_refuse(why, -EINVAL, "update: CPU address missing");
		if ((unsigned long)update->cpu_table % VIRTIO_PAGODA_PT_ENTRY_BYTES)
			return pagoda_refuse(why, -EINVAL, "update: CPU address misaligned");
		return 0;
	}
	if (update->mode == VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL) {
		if (update->table_segment > VIRTIO_PAGODA_SEGMENT_VRAM)
			return pagoda_refuse(why, -EINVAL,
					     "update: table neither in VRAM nor in system memory");
		limit = pagoda_segment_size(limits, update->table_segment);
		if (update->table_address & (rounddown_pow_of_two(size) - 1))
			return pagoda_refuse(why, -EINVAL, "update: table misaligned");
	}
	if (update->table_address & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "update: table misaligned");
	if (!pagoda_within(update->table_address, size, limit))
		return pagoda_refuse(why, -ERANGE, "update: table out of range");
	return 0;
}

static int update_range_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_op_update_page_table *update, const char **why)
{
	u64 most = pagoda_pt_entries(limits, update->level, pagoda_update_is_64k(update));

	if (!update->table_entries || update->table_entries > most)
		return pagoda_refuse(why, -EINVAL, "update: size of the table");
	if (!update->nr_entries)
		return pagoda_refuse(why, -EINVAL, "update: no entries");
	if (!pagoda_within(update->first_entry, update->nr_entries, update->table_entries))
		return pagoda_refuse(why, -ERANGE, "update: entries outside the table");
	if ((update->first_va | update->allocation_offset) & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "update: address misaligned");
	if (update->first_va >= pagoda_va_end(limits))
		return pagoda_refuse(why, -ERANGE, "update: outside the address space");
	if (update->level && update->driver_protection)
		return pagoda_refuse(why, -EINVAL, "update: driver's protection above level 0");
	if (!update->ptes == !update->values)
		return pagoda_refuse(why, -EINVAL, "update: not exactly one list of entries");
	return 0;
}

int pagoda_update_validate(const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_update_page_table *update = &op->update_page_table;

	if (update->mode > VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL)
		return pagoda_refuse(why, -EINVAL, "update: no such mode");
	if (update->flags & ~PAGODA_UPDATE_FLAGS)
		return pagoda_refuse(why, -EINVAL, "update: unknown flag");
	if (update->level >= limits->pt_levels)
		return pagoda_refuse(why, -EINVAL, "update: no such level");
	if (pagoda_update_is_64k(update) && update->level > 1)
		return pagoda_refuse(why, -EINVAL, "update: 64 KiB pages above level 1");
	if (pagoda_update_is_64k(update) && !pagoda_pt_may_use_64k(limits, update->level))
		return pagoda_refuse(why, -EOPNOTSUPP, "update: device has no 64 KiB tables there");
	if (update->address_space >= limits->max_address_spaces)
		return pagoda_refuse(why, -ERANGE, "update: no such address space");
	return update_range_validate(limits, update, why) ?:
	       table_validate(limits, update, why) ?: entries_validate(limits, update, why);
}
