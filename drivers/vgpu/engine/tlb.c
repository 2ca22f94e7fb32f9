// SPDX-License-Identifier: GPL-2.0
/*
 * Translations cached by queues, and FLUSH_TLB, which drops them.
 *
 * Writes to page tables don't change a TLB: after a page-table entry was changed, accesses may
 * reach the old page until FLUSH_TLB, as on real hardware. Unless INVALID_NOT_CACHED was
 * negotiated, a TLB also caches that addresses are invalid, as a translation with entry 0 (C106).
 *
 * With the translation lock held for reading, only a queue's own thread changes the queue's TLB;
 * with the lock held for writing, a thread may change all TLBs.
 */
#include "internal.h"

#define PAGODA_TAG_SPACE_SHIFT	51	/* above the page number of a 63-bit address */
#define PAGODA_TAG_USED		0x8000000000000000ull
#define PAGODA_TAG_PAGE_MASK	((1ull << PAGODA_TAG_SPACE_SHIFT) - 1)

static_assert(VIRTIO_PAGODA_MAX_SPACES <= 1 << (63 - PAGODA_TAG_SPACE_SHIFT),
	      "a space and a page number share a tag");

static u64 tlb_tag(u32 space, u64 first)
{
	return PAGODA_TAG_USED | (u64)space << PAGODA_TAG_SPACE_SHIFT |
	       first >> VIRTIO_PAGODA_PAGE_SHIFT;
}

static u32 tag_space(u64 tag)
{
	return (tag & ~PAGODA_TAG_USED) >> PAGODA_TAG_SPACE_SHIFT;
}

static u64 tag_first(u64 tag)
{
	return (tag & PAGODA_TAG_PAGE_MASK) << VIRTIO_PAGODA_PAGE_SHIFT;
}

/*
 * Returns the entry of @tlb that holds a translation of 2^@shift bytes around @va, if the TLB has
 * that translation. Mixes bits, so that equal addresses in two spaces, and pages of 4 KiB that are
 * 4 MiB apart, mostly have different entries.
 */
static struct pagoda_engine_tlb_entry *tlb_slot(struct pagoda_engine_tlb *tlb, u32 space, u64 va,
						u32 shift)
{
	u64 number = (va >> shift) + space * 37;

	number ^= number >> 10 ^ number >> 23;
	return &tlb->entries[number % PAGODA_ENGINE_TLB_ENTRIES];
}

static struct pagoda_engine_tlb *tlb_of(struct pagoda_exec *exec)
{
	u32 number = exec->run->tlb;

	return number < exec->engine->nr_tlbs ? &exec->engine->tlbs[number] : NULL;
}

/*
 * Looks @va up in the TLB of the run's queue, small pages first. Stores the cached translation's
 * entry and size in *@found and returns true, or returns false if none is cached.
 */
bool pagoda_engine_tlb_find(struct pagoda_exec *exec, u32 space, u64 va,
			    struct pagoda_translation *found)
{
	struct pagoda_engine_tlb *tlb = tlb_of(exec);
	const struct pagoda_engine_tlb_entry *entry;
	u64 sizes;

	for (sizes = tlb ? tlb->sizes : 0; sizes; sizes &= sizes - 1) {
		u64 size = sizes & -sizes;

		entry = tlb_slot(tlb, space, va, __builtin_ctzll(size));
		if (entry->size == size && entry->tag == tlb_tag(space, va & -size)) {
			found->entry = entry->entry;
			found->size = size;
			return true;
		}
	}
	return false;
}

/* Caches the translation of @va in the TLB of the run's queue, if that queue has a TLB. */
void pagoda_engine_tlb_keep(struct pagoda_exec *exec, u32 space, u64 va,
			    const struct pagoda_translation *translation)
{
	struct pagoda_engine_tlb *tlb = tlb_of(exec);
	struct pagoda_engine_tlb_entry *entry;

	if (!tlb)
		return;
	entry = tlb_slot(tlb, space, va, __builtin_ctzll(translation->size));
	entry->tag = tlb_tag(space, va & -translation->size);
	entry->entry = translation->entry;
	entry->size = translation->size;
	tlb->sizes |= translation->size;
}

static void tlb_forget(struct pagoda_engine_tlb *tlb, u32 space, u64 first, u64 last)
{
	struct pagoda_engine_tlb_entry *entry;
	u64 sizes = 0;

	for (entry = tlb->entries; entry < tlb->entries + PAGODA_ENGINE_TLB_ENTRIES; entry++) {
		u64 start = tag_first(entry->tag);

		if (!entry->tag)
			continue;
		if (tag_space(entry->tag) == space && start <= last &&
		    start + (entry->size - 1) >= first)
			entry->tag = 0;
		else
			sizes |= entry->size;
	}
	tlb->sizes = sizes;
}

/*
 * Drops translations of @space that overlap the addresses @first to @last (included) from the TLBs
 * with numbers below @nr_tlbs. The caller holds the translation lock for writing.
 */
void pagoda_engine_tlb_forget(struct pagoda_engine *engine, u32 nr_tlbs, u32 space, u64 first,
			      u64 last)
{
	u32 i;

	for (i = 0; i < nr_tlbs; i++) {
		if (engine->tlbs[i].sizes)
			tlb_forget(&engine->tlbs[i], space, first, last);
	}
}

/* Empties the TLBs of all queues. Called while no queue executes. */
void pagoda_engine_tlb_clear(struct pagoda_engine *engine)
{
	if (engine->tlbs)
		memset(engine->tlbs, 0, engine->nr_tlbs * sizeof(*engine->tlbs));
}

/*
 * Returns false if the packet names another root than the address space has: the driver has lost
 * track of its tables. For an address space without a root always returns true.
 */
static bool flush_root_matches(const struct pagoda_exec *exec,
			       const struct virtio_pagoda_flush_tlb *flush)
{
	const struct pagoda_engine_space *root =
		&exec->engine->spaces[le32_to_cpu(flush->address_space)];

	return !root->entries || (root->segment == le32_to_cpu(flush->root_segment) &&
				  root->address == le64_to_cpu(flush->root_address));
}

u32 pagoda_engine_flush_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_flush_tlb *flush = packet;
	u32 space = le32_to_cpu(flush->address_space);
	u64 end = le64_to_cpu(flush->end);

	if (space >= exec->engine->nr_spaces)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, space);
	if (end > 1ull << exec->engine->va_bits || le64_to_cpu(flush->start) > end)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, end);
	if (!flush_root_matches(exec, flush))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_CONTEXT,
				     le64_to_cpu(flush->root_address));
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Drops the packet's range of translations from all TLBs, or from the first half of the TLBs if
 * exec->half (failure injection). The translation lock is held for writing: no access by virtual
 * addresses is in progress. Returns 0.
 */
u32 pagoda_engine_flush_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_flush_tlb *flush = packet;
	u32 nr_tlbs = exec->engine->nr_tlbs >> exec->half;
	u64 first = le64_to_cpu(flush->start);
	u64 last = le64_to_cpu(flush->end);

	pagoda_shim_assert_held_write(&exec->engine->translation);
	if (!first && !last)
		last = ~0ull;		/* C104: 0 to 0 means the whole address space */
	pagoda_engine_tlb_forget(exec->engine, nr_tlbs, le32_to_cpu(flush->address_space), first,
				 last);
	return VIRTIO_PAGODA_FAULT_NONE;
}
