// SPDX-License-Identifier: GPL-2.0
/*
 * The plan: use of a VM's addresses as it will be after all VM_BIND arrays accepted so far.
 *
 * Arrays that have to wait are accepted or refused when they are submitted. The rules about free,
 * reserved and mapped addresses are therefore checked against the plan, not against the gpuva tree:
 * an accepted array can't break a rule later, and an array may use addresses that a queued UNMAP
 * will free (C138).
 *
 * The plan is two maps of pages, both protected by pagoda_vm.lock:
 *
 *	taken		state of a page: shows an allocation, shows zeros, faults on
 *			purpose, or is reserved only. No entry: the page is free
 *	reserved	number of the RESERVE range that has the page; such a page is taken,
 *			too. No entry: the page isn't reserved
 *
 * An array is planned entry by entry, each on top of the entries before (C135). Overwritten
 * values go to an undo log, so that an array can be taken back as a whole.
 */
#include <linux/maple_tree.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "internal.h"
#include "vm.h"

/* Flags for all memory of the plan: neither undoing an array nor writing the undo log must fail. */
#define PLAN_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NOFAIL)

/*
 * Use of a page: the low bits of an entry of &pagoda_vm_plan.taken. The bits above are, for MAP,
 * the allocation's id.
 */
enum plan_kind {
	PLAN_MAP,
	PLAN_ZERO,
	PLAN_NO_ACCESS,
	PLAN_RESERVED,
};

#define PLAN_KIND_BITS	2

/* Pages @first to @last with the entry @value in @map; @value NULL = the pages have no entry. */
struct plan_range {
	struct list_head entry;
	struct maple_tree *map;
	unsigned long first;
	unsigned long last;
	void *value;
};

static void *plan_value(enum plan_kind kind, u64 allocation)
{
	return xa_mk_value(allocation << PLAN_KIND_BITS | kind);
}

static enum plan_kind plan_kind(const void *value)
{
	return xa_to_value(value) & (BIT(PLAN_KIND_BITS) - 1);
}

static void plan_store(struct maple_tree *map, unsigned long first, unsigned long last,
		       void *value)
{
	MA_STATE(mas, map, first, last);

	WARN_ON_ONCE(mas_store_gfp(&mas, value, PLAN_GFP));
}

static void plan_note(struct list_head *list, struct maple_tree *map, unsigned long first,
		      unsigned long last, void *value)
{
	struct plan_range *range = kmalloc(sizeof(*range), PLAN_GFP);

	*range = (struct plan_range) {
		.map = map, .first = first, .last = last, .value = value,
	};
	list_add_tail(&range->entry, list);
}

/*
 * Appends to @list a new struct plan_range for each entry that @map has in a range of pages; an
 * entry that reaches beyond the range is cut off there. May allocate; can't fail.
 */
static void plan_collect(struct list_head *list, struct maple_tree *map, unsigned long first,
			 unsigned long last)
{
	MA_STATE(mas, map, first, first);
	void *value;

	mas_for_each(&mas, value, last)
		plan_note(list, map, max(mas.index, first), min(mas.last, last), value);
}

/*
 * Stores @value for a range of pages. Before that, appends to the log @undo, if not NULL, the
 * range's entries, then the whole range without an entry: pagoda_plan_undo() reads the log
 * backwards, and so clears the range first. May allocate; can't fail.
 */
static void plan_set(struct maple_tree *map, unsigned long first, unsigned long last, void *value,
		     struct list_head *undo)
{
	if (undo) {
		plan_collect(undo, map, first, last);
		plan_note(undo, map, first, last, NULL);
	}
	plan_store(map, first, last, value);
}

static void plan_drop(struct list_head *list)
{
	struct plan_range *range, *next;

	list_for_each_entry_safe(range, next, list, entry)
		kfree(range);
	INIT_LIST_HEAD(list);
}

void pagoda_plan_init(struct pagoda_vm *vm)
{
	mt_init_flags(&vm->plan.taken, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_EXTERN);
	mt_set_external_lock(&vm->plan.taken, &vm->lock);
	mt_init_flags(&vm->plan.reserved, MT_FLAGS_LOCK_EXTERN);
	mt_set_external_lock(&vm->plan.reserved, &vm->lock);
}

void pagoda_plan_fini(struct pagoda_vm *vm)
{
	__mt_destroy(&vm->plan.taken);
	__mt_destroy(&vm->plan.reserved);
}

/*
 * Takes an array out of the plan again and empties @undo. CHOOSE entries get back the address that
 * they had before pagoda_plan_array(), so that the array can be planned again. Caller holds
 * pagoda_vm.lock. May allocate; can't fail.
 */
void pagoda_plan_undo(struct pagoda_vm *vm, struct pagoda_bind *binds, u32 count,
		      struct list_head *undo)
{
	struct plan_range *range;
	u32 i;

	lockdep_assert_held(&vm->lock);
	for (i = 0; i < count; i++)
		binds[i].address = binds[i].wanted;
	list_for_each_entry_reverse(range, undo, entry)
		plan_store(range->map, range->first, range->last, range->value);
	plan_drop(undo);
}

/*
 * Frees @undo, the undo log of an array that was accepted: the array can't be taken back any more.
 */
void pagoda_plan_keep(struct list_head *undo)
{
	plan_drop(undo);
}

/* ---- Looking pages up in the plan --------------------------------------------- */

static bool plan_is_free(struct pagoda_vm *vm, unsigned long first, unsigned long last)
{
	MA_STATE(mas, &vm->plan.taken, first, first);

	return !mas_find(&mas, last);
}

static bool plan_shows_allocation(struct pagoda_vm *vm, unsigned long first, unsigned long last)
{
	MA_STATE(mas, &vm->plan.taken, first, first);
	void *value;

	mas_for_each(&mas, value, last)
		if (plan_kind(value) == PLAN_MAP)
			return true;
	return false;
}

/*
 * Returns true if pages @first to @last are all in one reserved range, or none of them is reserved
 * (C131). Sets *@number to the number of the first reserved range among the pages, 0 = none.
 */
static bool plan_is_one_place(struct pagoda_vm *vm, unsigned long first, unsigned long last,
			      u64 *number)
{
	MA_STATE(mas, &vm->plan.reserved, first, first);
	void *all = mas_find(&mas, last), *value = all;

	*number = all ? xa_to_value(all) : 0;
	if (!all)
		return true;
	/* After pagoda_plan_undo() one reserved range may have several adjacent tree entries. */
	while (value == all && mas.index <= first && mas.last < last) {
		first = mas.last + 1;
		value = mas_find(&mas, last);
	}
	return value == all && mas.index <= first;
}

/* ---- Planning an entry of VM_BIND --------------------------------------------- */

/*
 * Returns the alignment of a CHOOSE address: 2 MiB or 64 KiB if the entry has at least that size,
 * so that large pages can be used; for RESERVE 64 KiB at least; else 4 KiB.
 */
static u64 plan_alignment(const struct pagoda_bind *entry)
{
	if (entry->size >= SZ_2M)
		return SZ_2M;
	if (entry->size >= SZ_64K || entry->type == DRM_PAGODA_BIND_RESERVE)
		return SZ_64K;
	return PAGE_SIZE;
}

/*
 * Moves *@start to the first @size free bytes at or above *@start and below @end, aligned or not.
 * Returns false if there are none.
 */
static bool plan_next_gap(struct pagoda_vm *vm, u64 *start, u64 end, u64 size)
{
	MA_STATE(mas, &vm->plan.taken, 0, 0);

	if (*start >= end || size > end - *start ||
	    mas_empty_area(&mas, PHYS_PFN(*start), PHYS_PFN(end) - 1, PHYS_PFN(size)))
		return false;
	*start = PFN_PHYS(mas.index);
	return true;
}

static int plan_choose(struct pagoda_vm *vm, struct pagoda_bind *entry)
{
	u64 align = plan_alignment(entry), start, end;

	pagoda_vm_range(vm, &start, &end);
	start = max(start, entry->address);
	/* If a gap begins unaligned, the next round looks for a gap from the aligned address on. */
	while (plan_next_gap(vm, &start, end, entry->size)) {
		if (IS_ALIGNED(start, align)) {
			entry->address = start;
			return 0;
		}
		start = round_up(start, align);
		cond_resched();
	}
	drm_dbg_driver(vm->vidmm->drm, "no room for %#llx bytes\n", entry->size);
	return -ENOMEM;
}

/* Marks pages free; pages that are in a reserved range get PLAN_RESERVED instead. */
static void plan_free(struct pagoda_vm *vm, unsigned long first, unsigned long last,
		      struct list_head *undo)
{
	MA_STATE(mas, &vm->plan.reserved, first, first);
	void *value;

	plan_set(&vm->plan.taken, first, last, NULL, undo);
	mas_for_each(&mas, value, last)
		plan_set(&vm->plan.taken, max(mas.index, first), min(mas.last, last),
			 plan_value(PLAN_RESERVED, 0), undo);
}

static void plan_copy(struct pagoda_vm *vm, const struct pagoda_bind *entry,
		      struct list_head *undo)
{
	unsigned long src = PHYS_PFN(entry->offset), dst = PHYS_PFN(entry->address);
	unsigned long pages = PHYS_PFN(entry->size);
	struct plan_range *range;
	LIST_HEAD(pieces);

	plan_collect(&pieces, &vm->plan.taken, src, src + pages - 1);
	plan_free(vm, dst, dst + pages - 1, undo);
	list_for_each_entry(range, &pieces, entry)
		if (plan_kind(range->value) != PLAN_RESERVED)
			plan_set(&vm->plan.taken, range->first - src + dst,
				 range->last - src + dst, range->value, undo);
	plan_drop(&pieces);
}

static void plan_apply(struct pagoda_vm *vm, const struct pagoda_bind *entry, bool update,
		       struct list_head *undo)
{
	unsigned long first = PHYS_PFN(entry->address);
	unsigned long last = first + PHYS_PFN(entry->size) - 1;
	void *value = NULL;

	switch (entry->type) {
	case DRM_PAGODA_BIND_COPY:
		plan_copy(vm, entry, undo);
		return;
	case DRM_PAGODA_BIND_UNMAP:
		/*
		 * In an array without DRM_PAGODA_VM_BIND_UPDATE, an UNMAP also ends the reservation
		 * of the addresses.
		 */
		if (!update)
			plan_set(&vm->plan.reserved, first, last, NULL, undo);
		plan_free(vm, first, last, undo);
		return;
	case DRM_PAGODA_BIND_RESERVE:
		plan_set(&vm->plan.reserved, first, last, xa_mk_value(++vm->plan.last), undo);
		value = plan_value(PLAN_RESERVED, 0);
		break;
	case DRM_PAGODA_BIND_MAP_ZERO:
		value = plan_value(PLAN_ZERO, 0);
		break;
	case DRM_PAGODA_BIND_NO_ACCESS:
		value = plan_value(PLAN_NO_ACCESS, 0);
		break;
	default:
		value = plan_value(PLAN_MAP, entry->bo->id);
	}
	plan_set(&vm->plan.taken, first, last, value, undo);
}

/*
 * Numbers of the one reserved range that an array with DRM_PAGODA_VM_BIND_UPDATE may change (@dst),
 * and of the one reserved range that the array's COPY entries may read (@src); 0 until an entry has
 * set the number.
 */
struct plan_update {
	u64 dst;
	u64 src;
};

static bool plan_is_same(u64 number, u64 *all)
{
	if (!*all)
		*all = number;
	return number && number == *all;
}

/*
 * Checks an entry of an array with DRM_PAGODA_VM_BIND_UPDATE; @dst is the number of the reserved
 * range that the entry changes, 0 = none. Returns 0, or -EINVAL if the entry changes no reserved
 * range or another than the entries before, or is a COPY whose source isn't in one reserved range,
 * the same for all COPY entries. Source and changed range may be different ranges (C134).
 */
static int plan_check_update(struct pagoda_vm *vm, const struct pagoda_bind *entry, u64 dst,
			     struct plan_update *update)
{
	unsigned long first = PHYS_PFN(entry->offset);
	u64 src = 0;

	if (!plan_is_same(dst, &update->dst))
		return -EINVAL;
	if (entry->type == DRM_PAGODA_BIND_COPY &&
	    (!plan_is_one_place(vm, first, first + PHYS_PFN(entry->size) - 1, &src) ||
	     !plan_is_same(src, &update->src)))
		return -EINVAL;
	return 0;
}

/*
 * Returns 0 if the plan allows the entry, else -EEXIST or -EINVAL. @update: NULL unless the array
 * has DRM_PAGODA_VM_BIND_UPDATE.
 */
static int plan_check(struct pagoda_vm *vm, const struct pagoda_bind *entry,
		      struct plan_update *update)
{
	unsigned long first = PHYS_PFN(entry->address);
	unsigned long last = first + PHYS_PFN(entry->size) - 1;
	bool one_place;
	u64 number;

	one_place = plan_is_one_place(vm, first, last, &number);
	switch (entry->type) {
	case DRM_PAGODA_BIND_RESERVE:
		return plan_is_free(vm, first, last) ? 0 : -EEXIST;
	case DRM_PAGODA_BIND_MAP_ZERO:
	case DRM_PAGODA_BIND_NO_ACCESS:
		if (!number && plan_shows_allocation(vm, first, last))
			return -EEXIST;
		break;
	case DRM_PAGODA_BIND_UNMAP:
		one_place |= !update;
		break;
	}
	if (!one_place)
		return update ? -EINVAL : -EEXIST;
	return update ? plan_check_update(vm, entry, number, update) : 0;
}

static int plan_entry(struct pagoda_vm *vm, struct pagoda_bind *entry, struct plan_update *update,
		      struct list_head *undo)
{
	int ret = 0;

	if (entry->flags & DRM_PAGODA_BIND_CHOOSE)
		ret = plan_choose(vm, entry);
	if (!ret)
		ret = plan_check(vm, entry, update);
	if (!ret)
		plan_apply(vm, entry, update, undo);
	return ret;
}

/*
 * Enters the entries of an array, each valid by itself, into the plan, up to the first that breaks
 * a rule. CHOOSE entries get their address. @update: all entries have to change one reserved range
 * of addresses, and all COPY entries to read one reserved range, the same or another. @undo: an
 * empty list, in which the changes of the plan are logged; the caller gives the list to
 * pagoda_plan_keep(), or on failure to pagoda_plan_undo(). Caller holds pagoda_vm.lock. May sleep
 * and allocate. Returns 0, -EEXIST (C131, C132, C133), -EINVAL (C134), or -ENOMEM if CHOOSE found
 * no free range.
 */
int pagoda_plan_array(struct pagoda_vm *vm, struct pagoda_bind *binds, u32 count, bool update,
		      struct list_head *undo)
{
	struct plan_update one = {};
	int ret = 0;
	u32 i;

	lockdep_assert_held(&vm->lock);
	for (i = 0; i < count; i++)
		binds[i].wanted = binds[i].address;
	for (i = 0; i < count && !ret; i++) {
		ret = plan_entry(vm, &binds[i], update ? &one : NULL, undo);
		if (ret)
			drm_dbg_driver(vm->vidmm->drm, "entry %u of type %u at %#llx: %d\n", i,
				       binds[i].type, binds[i].address, ret);
	}
	return ret;
}

/*
 * Marks free, or only reserved in a reserved range, those addresses of a range that show @bo
 * according to the plan (C139); addresses to which a later array gave another use stay as they are.
 * Caller holds pagoda_vm.lock. May allocate; can't fail.
 */
void pagoda_plan_forget(struct pagoda_vm *vm, u64 address, u64 size, const struct pagoda_bo *bo)
{
	unsigned long first = PHYS_PFN(address);
	void *value = plan_value(PLAN_MAP, bo->id);
	struct plan_range *range;
	LIST_HEAD(pieces);

	lockdep_assert_held(&vm->lock);
	plan_collect(&pieces, &vm->plan.taken, first, first + PHYS_PFN(size) - 1);
	list_for_each_entry(range, &pieces, entry)
		if (range->value == value)
			plan_free(vm, range->first, range->last, NULL);
	plan_drop(&pieces);
}
