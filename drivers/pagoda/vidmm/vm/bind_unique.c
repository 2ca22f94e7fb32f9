// SPDX-License-Identifier: GPL-2.0
/*
 * Driver protection with the unique bit (PAGODA_PROTECTION_UNIQUE): no mapping with another driver
 * protection may show the bytes of a mapping that has the bit, until the range of that mapping was
 * unmapped, made no-access or mapped as zeros (C142, WDDM 5.11).
 *
 * Only allocations that were ever mapped with the bit, or that the array maps with the bit, are
 * checked. Their mappings that the array makes, and their present mappings but for pages that the
 * array unmaps, makes no-access or maps as zeros, are sorted by the bytes of the allocation that
 * they show. Two overlapping mappings with different driver protection, of which at least one has
 * the bit, are a clash. COPY isn't checked: its mappings show the bytes of present mappings, with
 * the driver protection of these. Moves by virtual addresses ask which bytes are mapped with the
 * bit (pagoda_unique_of()).
 */
#include <linux/maple_tree.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "paging/paging.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "internal.h"
#include "vm.h"

/*
 * Bytes [@start, @end) of an allocation, and the driver protection, @value, that a mapping of these
 * bytes has in its page table entries. If @value has the unique bit, no mapping of these bytes may
 * have another value.
 */
struct unique_part {
	const struct pagoda_bo *bo;
	u64 start;
	u64 end;
	u64 value;
};

/*
 * Check of one VM_BIND array. @owner has, by page number of the VM's addresses, the index of the
 * last entry that changes the page. @freed has the pages of all entries but MAP and MAP_FENCE:
 * mappings that the VM has at these pages aren't compared. @parts are the mappings to compare, with
 * space for @room of them.
 */
struct unique {
	struct pagoda_vm *vm;
	const struct pagoda_bind *binds;
	u32 count;
	struct maple_tree owner;
	struct maple_tree freed;
	struct unique_part *parts;
	u32 nr_parts;
	u32 room;
};

/*
 * Marks the allocations that an array maps with the unique bit. Returns whether the array maps any
 * allocation that is marked.
 */
static bool unique_mark(const struct pagoda_bind *binds, u32 count)
{
	bool marked = false;
	u32 i;

	for (i = 0; i < count; i++) {
		if (!pagoda_bind_is_map(&binds[i]))
			continue;
		if (binds[i].driver_protection & PAGODA_PROTECTION_UNIQUE)
			binds[i].bo->vm.unique = true;
		marked |= binds[i].bo->vm.unique;
	}
	return marked;
}

static int bind_unique_add(struct unique *unique, const struct pagoda_bo *bo, u64 start, u64 size,
			   u64 value)
{
	if (unique->nr_parts == unique->room) {
		u32 room = max(64u, 2 * unique->room);
		struct unique_part *parts;

		parts = kvmalloc_array(room, sizeof(*parts), GFP_KERNEL_ACCOUNT);
		if (!parts)
			return -ENOMEM;
		if (unique->nr_parts)
			memcpy(parts, unique->parts, unique->nr_parts * sizeof(*parts));
		kvfree(unique->parts);
		unique->parts = parts;
		unique->room = room;
	}
	unique->parts[unique->nr_parts++] = (struct unique_part) {
		.bo = bo, .start = start, .end = start + size, .value = value,
	};
	return 0;
}

/*
 * Adds to @unique->parts a part of a mapping: @size bytes, @skip bytes into the mapping. If a
 * window repeats in the mapping, each part counts as the whole window. Returns 0 or -ENOMEM.
 */
static int unique_add_mapping(struct unique *unique, const struct pagoda_bo *bo, u64 offset,
			      u64 window, u64 skip, u64 size, u64 value)
{
	if (window)
		return bind_unique_add(unique, bo, offset, window, value);
	return bind_unique_add(unique, bo, offset + skip, size, value);
}

/*
 * Stores for each page that the array changes the last entry that changes it (@unique->owner), and
 * whether an entry other than MAP and MAP_FENCE does (@unique->freed). Returns 0 or -ENOMEM.
 */
static int unique_plan(struct unique *unique)
{
	u32 i;
	int ret;

	for (i = 0; i < unique->count; i++) {
		const struct pagoda_bind *entry = &unique->binds[i];
		unsigned long first = PHYS_PFN(entry->address);
		unsigned long last = first + PHYS_PFN(entry->size) - 1;

		ret = mtree_store_range(&unique->owner, first, last, xa_mk_value(i),
					GFP_KERNEL_ACCOUNT);
		if (!ret && !pagoda_bind_is_map(entry))
			ret = mtree_store_range(&unique->freed, first, last, xa_mk_value(0),
						GFP_KERNEL_ACCOUNT);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Adds to @unique->parts, the mappings to compare, what @entry maps at @page and at the adjacent
 * pages that no later entry of the array changes. Returns 0 or -ENOMEM.
 */
static int unique_add_piece(struct unique *unique, const struct pagoda_bind *entry,
			    unsigned long page)
{
	MA_STATE(mas, &unique->owner, page, page);
	u64 window = entry->window < entry->size ? entry->window : 0;

	rcu_read_lock();
	mas_walk(&mas);
	rcu_read_unlock();
	return unique_add_mapping(unique, entry->bo, entry->offset, window,
				  PFN_PHYS(mas.index) - entry->address,
				  PFN_PHYS(mas.last + 1 - mas.index), entry->driver_protection);
}

/*
 * Adds to @unique->parts the mappings that the array makes of allocations that unique_mark() or an
 * earlier array has marked, without pages that a later entry of the array changes. Returns 0 or
 * -ENOMEM.
 */
static int unique_add_array(struct unique *unique)
{
	unsigned long index = 0;
	void *value;
	int ret = 0;

	for (value = mt_find(&unique->owner, &index, ULONG_MAX); value && !ret;
	     value = mt_find_after(&unique->owner, &index, ULONG_MAX)) {
		const struct pagoda_bind *entry = &unique->binds[xa_to_value(value)];

		if (pagoda_bind_is_map(entry) && entry->bo->vm.unique)
			ret = unique_add_piece(unique, entry, index - 1);
	}
	return ret;
}

/*
 * Adds a mapping that the VM has now to @unique->parts, whose driver protections are compared, but
 * for @unique->freed, the addresses that the array unmaps, makes no-access or maps as zeros.
 * Returns 0 or -ENOMEM.
 */
static int unique_add_left(struct unique *unique, const struct pagoda_va *va)
{
	const struct pagoda_bo *bo = pagoda_bo_of_gem(va->base.gem.obj);
	unsigned long at = PHYS_PFN(va->base.va.addr), index = at;
	unsigned long end = at + PHYS_PFN(va->base.va.range);
	int ret = 0;

	while (at < end && !ret) {
		MA_STATE(mas, &unique->freed, at, at);
		unsigned long stop;
		bool freed;

		rcu_read_lock();
		freed = mas_walk(&mas);
		rcu_read_unlock();
		stop = min(end - 1, mas.last) + 1;
		if (!freed)
			ret = unique_add_mapping(unique, bo, va->base.gem.offset, va->window,
						 PFN_PHYS(at - index), PFN_PHYS(stop - at),
						 va->driver_protection);
		at = stop;
	}
	return ret;
}

static int unique_add_present(struct unique *unique, struct pagoda_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;
	struct drm_gpuva *va;
	int ret = 0;

	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo)) {
		drm_gpuvm_bo_for_each_va(va, vm_bo) {
			const struct pagoda_va *mapping = pagoda_va_of(va);

			if (vm_bo->vm == &unique->vm->base)
				ret = unique_add_left(unique, mapping);
			else
				ret = unique_add_mapping(unique, bo, va->gem.offset,
							 mapping->window, 0, va->va.range,
							 mapping->driver_protection);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static int unique_compare(const void *a, const void *b)
{
	const struct unique_part *x = a, *y = b;

	if (x->bo != y->bo)
		return x->bo < y->bo ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Adds to @unique->parts the present mappings, in all VMs, of each allocation with a part. */
static int unique_add_all_present(struct unique *unique)
{
	u32 nr = unique->nr_parts, i;
	const struct pagoda_bo *last = NULL;
	int ret = 0;

	sort(unique->parts, nr, sizeof(*unique->parts), unique_compare, NULL);
	for (i = 0; i < nr && !ret; i++) {
		const struct pagoda_bo *bo = unique->parts[i].bo;

		if (bo != last)
			ret = unique_add_present(unique, (struct pagoda_bo *)bo);
		last = bo;
	}
	return ret;
}

/*
 * Furthest end, in the allocation, of the mappings with driver protection @value that were compared
 * so far.
 */
struct unique_reach {
	u64 end;
	u64 value;
};

/*
 * Keeps in most[0] the driver protection whose mappings reach furthest in the allocation, and in
 * most[1] that of which this was true before: at least one of the two differs from that of the next
 * mapping, whatever that is. A mapping with another protection that reaches less far overlaps one
 * of most[0]. Neither protection is unique then, and what clashes with that mapping also clashes
 * with those of most[0].
 */
static void unique_note(struct unique_reach *most, const struct unique_part *part)
{
	const struct unique_reach new = { part->end, part->value };

	if (part->value == most[0].value) {
		most[0].end = max(most[0].end, part->end);
	} else if (part->end > most[0].end) {
		most[1] = most[0];
		most[0] = new;
	}
}

static bool unique_reaches(const struct unique_reach *reach, const struct unique_part *part)
{
	return reach->end > part->start && reach->value != part->value;
}

/*
 * Returns true if two parts of an allocation overlap and have different values, of which at least
 * one has the unique bit.
 */
static bool unique_clashes(struct unique *unique)
{
	struct unique_reach any[2] = {}, only[2] = {};
	u32 i;

	sort(unique->parts, unique->nr_parts, sizeof(*unique->parts), unique_compare, NULL);
	for (i = 0; i < unique->nr_parts; i++) {
		const struct unique_part *part = &unique->parts[i];
		bool bit = part->value & PAGODA_PROTECTION_UNIQUE;

		if (i && part->bo != part[-1].bo) {
			memset(any, 0, sizeof(any));
			memset(only, 0, sizeof(only));
		}
		if (unique_reaches(&only[0], part) || unique_reaches(&only[1], part) ||
		    (bit && (unique_reaches(&any[0], part) || unique_reaches(&any[1], part))))
			return true;
		unique_note(any, part);
		if (bit)
			unique_note(only, part);
	}
	return false;
}

static int unique_run(struct unique *unique)
{
	int ret;

	ret = unique_plan(unique);
	if (ret)
		return ret;
	ret = unique_add_array(unique);
	if (ret)
		return ret;
	ret = unique_add_all_present(unique);
	if (ret || !unique_clashes(unique))
		return ret;
	drm_dbg_driver(unique->vm->vidmm->drm, "driver protection isn't unique\n");
	return -EINVAL;
}

/*
 * Returns 0 if no mapping that an array makes clashes with the driver protection of another mapping
 * (C142), else -EINVAL; or -ENOMEM. Caller holds pagoda_vm.lock and the reservations of the
 * entries' allocations.
 */
int pagoda_unique_check(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count)
{
	struct unique unique = { .vm = vm, .binds = binds, .count = count };
	int ret;

	lockdep_assert_held(&vm->lock);
	if (!unique_mark(binds, count))
		return 0;
	mt_init(&unique.owner);
	mt_init(&unique.freed);
	ret = unique_run(&unique);
	mtree_destroy(&unique.owner);
	mtree_destroy(&unique.freed);
	kvfree(unique.parts);
	return ret;
}

static int unique_by_start(const void *a, const void *b)
{
	const struct pagoda_unique *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * Joins adjacent elements of a sorted @list that overlap or touch and have equal values. Returns
 * the number of elements left.
 */
static u32 unique_join(struct pagoda_unique *list, u32 count)
{
	u32 kept = 0, i;

	for (i = 1; i < count; i++) {
		if (list[i].start <= list[kept].end && list[i].value == list[kept].value)
			list[kept].end = max(list[kept].end, list[i].end);
		else
			list[++kept] = list[i];
	}
	return count ? kept + 1 : 0;
}

static u32 unique_list(struct pagoda_bo *bo, struct pagoda_unique *list)
{
	struct drm_gpuvm_bo *vm_bo;
	struct drm_gpuva *base;
	u32 count = 0;

	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo)) {
		drm_gpuvm_bo_for_each_va(base, vm_bo) {
			const struct pagoda_va *va = pagoda_va_of(base);

			if (!(va->driver_protection & PAGODA_PROTECTION_UNIQUE))
				continue;
			if (list)
				list[count] = (struct pagoda_unique) {
					.start = base->gem.offset,
					.end = base->gem.offset + (va->window ?: base->va.range),
					.value = va->driver_protection,
				};
			count++;
		}
	}
	return count;
}

/**
 * pagoda_unique_of() - List the bytes of an allocation that only one driver protection may map
 * @bo: Allocation, reservation held
 * @list: Set to an array of disjoint ranges sorted by offset, for kvfree(); NULL if there are
 *	none
 * @count: Set to the number of ranges
 *
 * These are the bytes that mappings with PAGODA_PROTECTION_UNIQUE show, in any VM.
 *
 * Context: May sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_unique_of(struct pagoda_bo *bo, struct pagoda_unique **list, u32 *count)
{
	*list = NULL;
	*count = bo->vm.unique ? unique_list(bo, NULL) : 0;
	if (!*count)
		return 0;
	*list = kvmalloc_array(*count, sizeof(**list), GFP_KERNEL_ACCOUNT);
	if (!*list)
		return -ENOMEM;
	unique_list(bo, *list);
	sort(*list, *count, sizeof(**list), unique_by_start, NULL);
	*count = unique_join(*list, *count);
	return 0;
}
