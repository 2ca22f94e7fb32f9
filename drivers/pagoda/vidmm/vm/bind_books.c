// SPDX-License-Identifier: GPL-2.0
/*
 * The gpuva tree of a VM: mappings that the page tables show, or would show if the mapped
 * allocations were resident.
 *
 * Address ranges that fault on purpose, or that are only reserved, are in the plan (bind_plan.c),
 * not in the tree. No change of the tree fails: the callbacks of drm_gpuvm take nodes from a list
 * of spare nodes that were allocated before, three per entry, the most that an entry can need. COPY
 * entries need a further node for each mapping that they make.
 *
 * If a mapping with a repeating window is split, each part keeps the offset of the window in the
 * allocation; &pagoda_va.first says at which byte of the window the part begins.
 */
#include <linux/slab.h>
#include "core/compat.h"
#include "core/core.h"
#include "paging/paging.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "vm.h"

#define BOOKS_SPARES	3
/*
 * Most spare nodes for an array of COPY entries: the number of mappings that the array makes may
 * multiply with each entry that reads the result of another entry.
 */
#define BOOKS_MOST_SPARES	1000000

/* ---- Allocating and freeing nodes ---------------------------------------------- */

/*
 * Returns the most mappings that COPY entry @index can make: one for each mapping that its source
 * range can have when the entry is applied, but at most one per page. @pieces has what
 * copy_pieces() returned for the entries before @index.
 */
static u64 copy_pieces(struct pagoda_vm *vm, const struct pagoda_bind *binds, const u64 *pieces,
		       u32 index)
{
	const struct pagoda_bind *entry = &binds[index];
	u64 end = entry->offset + entry->size, most = entry->size >> PAGE_SHIFT, sum = 0;
	struct drm_gpuva *va;
	u32 i;

	drm_gpuvm_for_each_va_range(va, &vm->base, entry->offset, end)
		sum++;
	for (i = 0; i < index && sum < most; i++) {
		const struct pagoda_bind *other = &binds[i];

		/*
		 * An earlier COPY adds mappings to the source, and each end of its destination may
		 * split a mapping.
		 */
		if (other->address < end && entry->offset < other->address + other->size)
			sum += pieces[i] + 2;
	}
	return min(sum, most);
}

/*
 * Adds to *@wanted the most mappings that COPY entries can make, in time quadratic in @count.
 * Returns 0; or -ENOMEM, also if *@wanted gets greater than BOOKS_MOST_SPARES.
 */
static int copies_count(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count,
			u64 *wanted)
{
	u64 *pieces = kvcalloc(count, sizeof(*pieces), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!pieces)
		return -ENOMEM;
	for (i = 0; i < count && *wanted <= BOOKS_MOST_SPARES; i++) {
		pieces[i] = copy_pieces(vm, binds, pieces, i);
		*wanted += pieces[i];
		cond_resched();
	}
	kvfree(pieces);
	return *wanted <= BOOKS_MOST_SPARES ? 0 : -ENOMEM;
}

/*
 * Initializes @books and allocates all nodes that the entries can need. @count may be 0 if only
 * whole mappings will be unmapped. Caller holds pagoda_vm.lock, and calls pagoda_books_fini()
 * also on failure. Returns 0 or -ENOMEM.
 */
int pagoda_books_init(struct pagoda_books *books, struct pagoda_vm *vm,
		      const struct pagoda_bind *binds, u32 count)
{
	u64 wanted = (u64)count * BOOKS_SPARES;

	*books = (struct pagoda_books) { .vm = vm };
	INIT_LIST_HEAD(&books->spares);
	INIT_LIST_HEAD(&books->dropped);
	if (count && binds[0].type == DRM_PAGODA_BIND_COPY &&
	    copies_count(vm, binds, count, &wanted))
		return -ENOMEM;
	while (wanted--) {
		struct pagoda_va *va = kzalloc(sizeof(*va), GFP_KERNEL_ACCOUNT);

		if (!va)
			return -ENOMEM;
		list_add(&va->entry, &books->spares);
	}
	return 0;
}

/*
 * Frees the nodes in &pagoda_books.spares and &pagoda_books.dropped, and drops the references that
 * the latter have to allocations. Called without reservations held, because a reference may be the
 * last one to its allocation.
 */
void pagoda_books_fini(struct pagoda_books *books)
{
	struct pagoda_va *va, *next;

	list_for_each_entry_safe(va, next, &books->spares, entry)
		kfree(va);
	list_for_each_entry_safe(va, next, &books->dropped, entry) {
		if (va->base.gem.obj)
			drm_gem_object_put(va->base.gem.obj);
		kfree(va);
	}
}

static struct pagoda_va *books_spare(struct pagoda_books *books)
{
	struct pagoda_va *va = list_first_entry(&books->spares, struct pagoda_va, entry);

	list_del(&va->entry);
	return va;
}

static void books_drop(struct pagoda_books *books, struct drm_gpuva *base)
{
	if (base->gem.obj)
		drm_gem_object_get(base->gem.obj);
	drm_gpuva_unlink(base);
	list_add(&pagoda_va_of(base)->entry, &books->dropped);
}

/* ---- Callbacks of drm_gpuvm ------------------------------------------------------ */

static int books_step_map(struct drm_gpuva_op *op, void *priv)
{
	struct pagoda_books *books = priv;
	struct pagoda_va *va = books_spare(books);

	drm_gpuva_map(&books->vm->base, &va->base, &op->map);
	va->flags = books->now.flags;
	va->driver_protection = books->now.driver_protection;
	va->window = books->now.window;
	if (!op->map.gem.obj)
		va->base.flags |= DRM_GPUVA_SPARSE;
	drm_gpuva_invalidate(&va->base, books->now.invalidated);
	drm_gpuva_link(&va->base, books->now.vm_bo);
	return 0;
}

/* Returns the byte of the repeating window that mapping @va shows at @address; 0 without window. */
static u64 books_first(const struct pagoda_va *va, u64 address)
{
	return va->window ? (va->first + address - va->base.va.addr) % va->window : 0;
}

/* Returns &drm_gpuva.gem.offset for the part of mapping @va that begins at @address. */
static u64 books_offset(const struct pagoda_va *va, u64 address)
{
	return va->base.gem.offset + (va->window ? 0 : address - va->base.va.addr);
}

/* Returns a node for the part of @from from @address on; the caller sets range and allocation. */
static struct pagoda_va *books_part(struct pagoda_books *books, const struct pagoda_va *from,
				    u64 address)
{
	struct pagoda_va *va = books_spare(books);

	va->flags = from->flags;
	va->driver_protection = from->driver_protection;
	va->window = from->window;
	va->first = books_first(from, address);
	va->base.flags = from->base.flags;
	return va;
}

/*
 * Links @part, what is left of a mapping that drm_gpuva_remap() has cut, with @flags and @offset:
 * drm_gpuva_remap() sets no flags and, if a window repeats in the mapping, a wrong offset.
 */
static void books_link_part(struct pagoda_va *part, enum drm_gpuva_flags flags, u64 offset,
			    struct drm_gpuvm_bo *vm_bo)
{
	part->base.flags = flags;
	part->base.gem.offset = offset;
	drm_gpuva_link(&part->base, vm_bo);
}

static int books_step_remap(struct drm_gpuva_op *op, void *priv)
{
	struct pagoda_books *books = priv;
	struct drm_gpuva *whole = op->remap.unmap->va;
	struct pagoda_va *from = pagoda_va_of(whole), *prev = NULL, *next = NULL;
	struct drm_gpuvm_bo *vm_bo = whole->vm_bo;
	u64 offset = 0;

	if (op->remap.prev)
		prev = books_part(books, from, whole->va.addr);
	if (op->remap.next) {
		next = books_part(books, from, op->remap.next->va.addr);
		offset = books_offset(from, op->remap.next->va.addr);
	}
	drm_gpuva_remap(prev ? &prev->base : NULL, next ? &next->base : NULL, &op->remap);
	if (prev)
		books_link_part(prev, whole->flags, whole->gem.offset, vm_bo);
	if (next)
		books_link_part(next, whole->flags, offset, vm_bo);
	books_drop(books, whole);
	return 0;
}

static int books_step_unmap(struct drm_gpuva_op *op, void *priv)
{
	struct drm_gpuva *va = op->unmap.va;

	drm_gpuva_unmap(&op->unmap);
	books_drop(priv, va);
	return 0;
}

static void vm_free(struct drm_gpuvm *base)
{
	struct pagoda_vm *vm = pagoda_vm_of(base);

	WARN_ON_ONCE(!list_empty(&vm->fixed.entry));
	ttm_lru_bulk_move_fini(&vm->vidmm->ttm, &vm->uses.bulk);
	dma_fence_put(vm->last);
	dma_fence_put(vm->moved);
	dma_fence_put(vm->placed);
	if (vm->line)
		pagoda_stream_line_destroy(vm->vidmm, vm->line);
	pagoda_client_put(vm->client);
	mutex_destroy(&vm->lock);
	kfree(vm);
}

const struct drm_gpuvm_ops pagoda_vm_ops = {
	.vm_free = vm_free,
	.sm_step_map = books_step_map,
	.sm_step_remap = books_step_remap,
	.sm_step_unmap = books_step_unmap,
};

/* ---- Applying an entry of VM_BIND to the tree --------------------------------------- */

/* Unmaps a range in the gpuva tree; a mapping that reaches beyond keeps its parts outside. */
void pagoda_books_unmap(struct pagoda_books *books, u64 address, u64 size)
{
	WARN_ON_ONCE(drm_gpuvm_sm_unmap(&books->vm->base, books, address, size));
}

/*
 * Returns a node for the mapping that COPY @entry makes from the part of mapping @from that is in
 * the entry's source range; with a drm_gpuvm_bo reference if @from maps an allocation.
 */
static struct pagoda_va *copy_piece(struct pagoda_books *books, const struct pagoda_bind *entry,
				    const struct pagoda_va *from)
{
	u64 start = max(entry->offset, from->base.va.addr);
	u64 end = min(entry->offset + entry->size, from->base.va.addr + from->base.va.range);
	struct pagoda_va *piece = books_part(books, from, start);

	piece->base.va.addr = entry->address + (start - entry->offset);
	piece->base.va.range = end - start;
	piece->base.gem.obj = from->base.gem.obj;
	piece->base.gem.offset = books_offset(from, start);
	if (from->base.vm_bo)
		piece->base.vm_bo = drm_gpuvm_bo_get(from->base.vm_bo);
	return piece;
}

/*
 * Copies the mappings of the entry's source range to its destination. Makes the new nodes before
 * removing the destination's mappings: the ranges may overlap (C137).
 */
static void books_copy(struct pagoda_books *books, const struct pagoda_bind *entry)
{
	struct drm_gpuvm *base = &books->vm->base;
	struct pagoda_va *piece, *next;
	struct drm_gpuva *from;
	LIST_HEAD(pieces);

	drm_gpuvm_for_each_va_range(from, base, entry->offset, entry->offset + entry->size)
		list_add_tail(&copy_piece(books, entry, pagoda_va_of(from))->entry, &pieces);
	pagoda_books_unmap(books, entry->address, entry->size);
	list_for_each_entry_safe(piece, next, &pieces, entry) {
		struct drm_gpuvm_bo *vm_bo = piece->base.vm_bo;

		list_del(&piece->entry);
		piece->base.vm_bo = NULL;
		INIT_LIST_HEAD(&piece->base.gem.entry);
		WARN_ON_ONCE(drm_gpuva_insert(base, &piece->base));
		drm_gpuva_link(&piece->base, vm_bo);
		drm_gpuvm_bo_put(vm_bo);
	}
}

static void books_map(struct pagoda_books *books, const struct pagoda_bind *entry,
		      struct drm_gpuvm_bo *vm_bo, bool shown)
{
	const struct drm_gpuvm_map_req request = {
		.map = {
			.va = { .addr = entry->address, .range = entry->size },
			.gem = { .obj = vm_bo ? vm_bo->obj : NULL, .offset = entry->offset },
		},
	};

	books->now.flags = entry->flags;
	books->now.driver_protection = entry->driver_protection;
	books->now.window = entry->window < entry->size ? entry->window : 0;
	books->now.invalidated = !shown;
	books->now.vm_bo = vm_bo;
	WARN_ON_ONCE(pagoda_gpuvm_sm_map(&books->vm->base, books, &request));
}

/*
 * Changes the gpuva tree as @entry has changed the page tables. For MAP and MAP_FENCE: @vm_bo
 * connects the VM with the allocation; @shown is true if the page tables show the allocation,
 * because the GPU can use the allocation where it is. Both are ignored for other entries.
 */
void pagoda_books_note(struct pagoda_books *books, const struct pagoda_bind *entry,
		       struct drm_gpuvm_bo *vm_bo, bool shown)
{
	switch (entry->type) {
	case DRM_PAGODA_BIND_MAP:
	case DRM_PAGODA_BIND_MAP_FENCE:
		books_map(books, entry, vm_bo, shown);
		if (!shown)
			pagoda_vm_bo_evicted(vm_bo);
		break;
	case DRM_PAGODA_BIND_MAP_ZERO:
		books_map(books, entry, NULL, true);
		break;
	case DRM_PAGODA_BIND_COPY:
		books_copy(books, entry);
		break;
	default:
		pagoda_books_unmap(books, entry->address, entry->size);
	}
}
