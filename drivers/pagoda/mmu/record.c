// SPDX-License-Identifier: GPL-2.0
/*
 * Records of what is mapped where: the allocation, its offset and the DriverProtection that every
 * update of a leaf entry quotes, also when a table is split or comes back long
 * after the mapping was made (C98, C100).
 */
#include <linux/slab.h>

#include "internal.h"

static struct pagoda_record *record_of(struct rb_node *node)
{
	return rb_entry_safe(node, struct pagoda_record, node);
}

/**
 * pagoda_records_reserve() - Get records for later
 * @spare: List they are added to
 * @nr: How many
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM; what was got stays in the list.
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

/**
 * pagoda_records_release() - Free records that weren't needed
 * @spare: List of them
 */
void pagoda_records_release(struct list_head *spare)
{
	struct pagoda_record *record, *next;

	list_for_each_entry_safe(record, next, spare, link)
		kfree(record);
	INIT_LIST_HEAD(spare);
}

/**
 * pagoda_record_find() - First record that ends behind an address
 * @space: Space, locked
 * @va: Address
 *
 * Return: the record @va is in, else the next one, else NULL.
 */
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

/**
 * pagoda_record_next() - The record behind a record
 * @record: Record
 *
 * Return: the next by address or NULL.
 */
struct pagoda_record *pagoda_record_next(struct pagoda_record *record)
{
	return record_of(rb_next(&record->node));
}

/**
 * pagoda_record_offset() - Which byte of the allocation an address shows
 * @record: Record
 * @va: Address in it
 *
 * Return: the byte.
 */
u64 pagoda_record_offset(const struct pagoda_record *record, u64 va)
{
	u64 offset = va - record->va;

	if (record->window)
		offset = (record->first + offset) % record->window;
	return record->allocation_offset + offset;
}

/* Pieces of a record in a range that are consecutive in the allocation, from above. */
static u64 record_pieces(const struct pagoda_record *record, u64 va, u64 end)
{
	u64 size = min(end, record->va + record->size) - max(va, record->va);

	return record->window ? size / record->window + 2 : 1;
}

/**
 * pagoda_records_count() - How many operations the records of a range call for
 * @space: Space, locked or kept from structural changes
 * @va: First address
 * @size: Bytes
 *
 * Return: their number, from above: one a record, or one for each time its window begins.
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

/* Makes @record begin at @va, which is within it. */
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

/**
 * pagoda_records_insert() - Add a record where there is none
 * @space: Space, locked
 * @what: What it shall be
 * @spare: Where it is taken from
 */
void pagoda_records_insert(struct pagoda_space *space, const struct pagoda_record *what,
			   struct list_head *spare)
{
	struct pagoda_record *record = list_first_entry(spare, struct pagoda_record, link);

	list_del(&record->link);
	*record = *what;
	record_link(space, record);
}

/**
 * pagoda_records_remove() - Nothing is mapped in a range any more
 * @space: Space, locked
 * @va: First address
 * @size: Bytes
 * @spare: Gets what was removed; gives one for a record that falls in two
 */
void pagoda_records_remove(struct pagoda_space *space, u64 va, u64 size, struct list_head *spare)
{
	struct pagoda_record *record = pagoda_record_find(space, va);
	u64 end = va + size;

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
			/* Grows from below: its place in the tree is the same. */
			record_cut_head(record, end);
		} else {
			rb_erase(&record->node, &space->records);
			list_add(&record->link, spare);
		}
		record = next;
	}
}

/* Copies of the records of a copy's source, as the destination shall have them. */
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

/**
 * pagoda_records_copy() - A range becomes what another is
 * @space: Space, locked
 * @copy: The ranges, which may overlap
 * @spare: Where records are taken from
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

/**
 * pagoda_records_clear() - Free all records of a space
 * @space: Space that is going away
 */
void pagoda_records_clear(struct pagoda_space *space)
{
	struct pagoda_record *record, *next;

	rbtree_postorder_for_each_entry_safe(record, next, &space->records, node)
		kfree(record);
	space->records = RB_ROOT;
}
