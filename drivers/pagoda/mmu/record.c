// SPDX-License-Identifier: GPL-2.0
/*
 * Records of mapped ranges: allocation and offset, which every update of entries that map memory
 * names (C100), and DriverProtection, which only updates of leaf tables name (C98). The records
 * serve updates long after the map, too, when a large page is split or a table is restored. Ranges
 * that map zeros have no record.
 */
#include <linux/slab.h>

#include "internal.h"

static struct pagoda_record *record_of(struct rb_node *node)
{
	return rb_entry_safe(node, struct pagoda_record, node);
}

/*
 * Allocates @nr records and adds them to @spare. Returns 0, or -ENOMEM, after which the records
 * allocated so far stay in @spare.
 */
int pagoda_records_reserve(struct list_head *spare, u32 nr)
{
	struct pagoda_record *record;

	while (nr--) {
		record = kmalloc(sizeof(*record), GFP_KERNEL_ACCOUNT);
		if (!record)
			return -ENOMEM;
		list_add(&record->link, spare);
	}
	return 0;
}

/* Frees the records in @spare, which no address space uses. */
void pagoda_records_release(struct list_head *spare)
{
	struct pagoda_record *record, *next;

	list_for_each_entry_safe(record, next, spare, link)
		kfree(record);
	INIT_LIST_HEAD(spare);
}

/* Returns the record that covers @va, else the next record by address, else NULL. */
struct pagoda_record *pagoda_record_find(struct pagoda_space *space, u64 va)
{
	struct rb_node *node = space->records.rb_node;
	struct pagoda_record *found = NULL;

	while (node) {
		struct pagoda_record *record = record_of(node);

		if (record->va + record->size > va) {
			found = record;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

struct pagoda_record *pagoda_record_next(struct pagoda_record *record)
{
	return record_of(rb_next(&record->node));
}

/* Returns the byte of the allocation that @va, an address covered by @record, shows. */
u64 pagoda_record_offset(const struct pagoda_record *record, u64 va)
{
	u64 offset = va - record->va;

	if (record->window)
		offset = (record->first + offset) % record->window;
	return record->allocation_offset + offset;
}

/*
 * Returns an upper bound of the number of ranges that [@va, @end) of @record consists of, each
 * consecutive in the allocation: more than one only if a window repeats.
 */
static u64 record_pieces(const struct pagoda_record *record, u64 va, u64 end)
{
	u64 size = min(end, record->va + record->size) - max(va, record->va);

	return record->window ? size / record->window + 2 : 1;
}

/*
 * Returns an upper bound of the number of pieces, each consecutive in its allocation, that the
 * records of a range have: one for each record, or one for each start of a record's repeating
 * window. An update of entries is for one piece only (C100). The caller holds the space's lock, or
 * keeps other updates of the space out.
 */
u32 pagoda_records_count(struct pagoda_space *space, u64 va, u64 size)
{
	struct pagoda_record *record = pagoda_record_find(space, va);
	u64 end = size > U64_MAX - va ? U64_MAX : va + size;
	u32 nr = 0;

	for (; record && record->va < end; record = pagoda_record_next(record))
		nr += record_pieces(record, va, end);
	return nr;
}

static void record_link(struct pagoda_space *space, struct pagoda_record *record)
{
	struct rb_node **place = &space->records.rb_node, *parent = NULL;

	while (*place) {
		parent = *place;
		place = record->va < record_of(parent)->va ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&record->node, parent, place);
	rb_insert_color(&record->node, &space->records);
}

/* Makes @record start at @va, an address that @record covers. */
static void record_cut_head(struct pagoda_record *record, u64 va)
{
	u64 bytes = va - record->va;

	if (record->window)
		record->first = (record->first + bytes) % record->window;
	else
		record->allocation_offset += bytes;
	record->size -= bytes;
	record->va = va;
}

/*
 * Takes a record from @spare, makes the record a copy of @what, and adds the record to the space.
 * No record of the space covers an address of the range of @what.
 */
void pagoda_records_insert(struct pagoda_space *space, const struct pagoda_record *what,
			   struct list_head *spare)
{
	struct pagoda_record *record = list_first_entry(spare, struct pagoda_record, link);

	list_del(&record->link);
	*record = *what;
	record_link(space, record);
}

/*
 * Cuts the range out of all records. A record that vanishes goes to @spare; if a record is cut in
 * two, the memory for its tail comes from @spare. Caller holds the space's lock.
 */
void pagoda_records_remove(struct pagoda_space *space, u64 va, u64 size, struct list_head *spare)
{
	struct pagoda_record *record = pagoda_record_find(space, va);
	u64 end = va + size;

	lockdep_assert_held(&space->lock);
	while (record && record->va < end) {
		struct pagoda_record *next = pagoda_record_next(record);
		u64 record_end = record->va + record->size;

		if (record->va < va) {
			struct pagoda_record tail = *record;

			record->size = va - record->va;
			if (record_end > end) {
				record_cut_head(&tail, end);
				pagoda_records_insert(space, &tail, spare);
			}
		} else if (record_end > end) {
			/* The start moves within the record, so the tree stays sorted. */
			record_cut_head(record, end);
		} else {
			rb_erase(&record->node, &space->records);
			list_add(&record->link, spare);
		}
		record = next;
	}
}

/*
 * Adds to @copies, with records of @spare, the records that the destination of @copy shall have:
 * those of the source, cut to the source's range and with the destination's addresses.
 */
static void records_collect(struct pagoda_space *space, const struct pagoda_space_copy *copy,
			    struct list_head *spare, struct list_head *copies)
{
	struct pagoda_record *record = pagoda_record_find(space, copy->src);
	u64 end = copy->src + copy->size;

	for (; record && record->va < end; record = pagoda_record_next(record)) {
		struct pagoda_record *what = list_first_entry(spare, struct pagoda_record, link);

		list_del(&what->link);
		*what = *record;
		if (what->va < copy->src)
			record_cut_head(what, copy->src);
		what->size = min(what->size, end - what->va);
		what->va += copy->dst - copy->src;
		list_add_tail(&what->link, copies);
	}
}

/*
 * Replaces the records of the destination of @copy by those of the source, with the destination's
 * addresses; the ranges may overlap. Takes records from @spare, and adds removed records to @spare.
 */
void pagoda_records_copy(struct pagoda_space *space, const struct pagoda_space_copy *copy,
			 struct list_head *spare)
{
	struct pagoda_record *record, *next;
	LIST_HEAD(copies);

	records_collect(space, copy, spare, &copies);
	pagoda_records_remove(space, copy->dst, copy->size, spare);
	list_for_each_entry_safe(record, next, &copies, link) {
		list_del(&record->link);
		record_link(space, record);
	}
}

/* Frees all records of an address space that is closed or destroyed. */
void pagoda_records_clear(struct pagoda_space *space)
{
	struct pagoda_record *record, *next;

	rbtree_postorder_for_each_entry_safe(record, next, &space->records, node)
		kfree(record);
	space->records = RB_ROOT;
}
