// SPDX-License-Identifier: GPL-2.0
/* Root page tables of address spaces, which SET_ROOT changes. */
#include "internal.h"

/*
 * Returns the most entries that a root table may have: enough for the address bits that the levels
 * below don't translate, and with more than two levels at most 512.
 */
u64 pagoda_engine_root_limit(const struct pagoda_engine *engine)
{
	u32 below = pagoda_engine_level_shift(engine->pt_levels - 1);
	u64 limit = 1ull << (engine->va_bits > below ? engine->va_bits - below : 0);

	return engine->pt_levels > 2 ? min_t(u64, limit, VIRTIO_PAGODA_PT_ENTRIES) : limit;
}

/* Returns the bytes of a root of @entries entries, of two words each in a dual level-1 table. */
static u64 root_bytes(const struct pagoda_engine *engine, u64 entries)
{
	bool dual = engine->pt_levels == 2 && pagoda_engine_dual(engine);

	return entries * VIRTIO_PAGODA_PT_ENTRY_BYTES << dual;
}

static u32 root_check(const struct pagoda_engine *engine, u32 segment, u64 address, u64 entries)
{
	u64 limit = pagoda_translates(engine) ? engine->mmu_pages * PAGODA_PAGE :
						1ull << engine->system_bits;
	u64 bytes, bad;
	bool inside;

	if (entries > pagoda_engine_root_limit(engine))
		return VIRTIO_PAGODA_FAULT_BAD_TABLE;
	if (!IS_ALIGNED(address, PAGODA_PAGE))
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	bytes = root_bytes(engine, entries);
	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		inside = pagoda_engine_vram_valid(engine, address, bytes, &bad);
		break;
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		inside = bytes <= limit && address <= limit - bytes;
		break;
	default:
		return VIRTIO_PAGODA_FAULT_BAD_SEGMENT;
	}
	return inside ? VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
}

/*
 * Returns whether the engine's members for address spaces are valid: set within their limits, or,
 * if there are no address spaces, @spaces and @va_bits zero.
 */
bool pagoda_engine_roots_valid(const struct pagoda_engine *engine)
{
	u32 sizes = 1u << 12 | 1u << 16 | 1u << 21;

	if (!engine->nr_spaces)
		return !engine->spaces && !engine->va_bits;
	return engine->spaces && engine->nr_spaces <= VIRTIO_PAGODA_MAX_SPACES &&
	       engine->va_bits >= 47 && engine->va_bits <= 63 &&
	       engine->pt_levels >= 2 && engine->pt_levels <= 6 &&
	       engine->page_sizes & VIRTIO_PAGODA_PAGE_SIZE && !(engine->page_sizes & ~sizes) &&
	       !engine->tlbs == !engine->nr_tlbs;
}

/**
 * pagoda_engine_root_set() - Set or remove the root table of an address space
 * @engine: Engine
 * @space: Address space
 * @segment: VRAM or SYSTEM; 0 without @entries
 * @address: Address of the table, page aligned; 0 without @entries
 * @entries: Entries of the table; 0 = the space has no root any more
 *
 * Waits for accesses in progress, drops cached translations of the space and writes back the write
 * combiners of execution engines: after the return no access reads the old table any more, and no
 * job writes memory that the old table led to. The paging queue's write combiner isn't written
 * back. Whether system memory exists at @address isn't checked: accesses through an unreachable
 * root fault.
 *
 * Context: any number of threads concurrently, also while queues execute; may sleep.
 * Return: fault reason: BAD_CONTEXT, BAD_SEGMENT, BAD_TABLE (too many entries), MISALIGNED,
 * OUT_OF_RANGE, RESERVED (@segment or @address without @entries); or NONE.
 */
u32 pagoda_engine_root_set(struct pagoda_engine *engine, u32 space, u32 segment,
			   u64 address, u64 entries)
{
	u32 reason;

	if (space >= engine->nr_spaces)
		return VIRTIO_PAGODA_FAULT_BAD_CONTEXT;
	if (entries)
		reason = root_check(engine, segment, address, entries);
	else
		reason = segment || address ? VIRTIO_PAGODA_FAULT_RESERVED :
					      VIRTIO_PAGODA_FAULT_NONE;
	if (reason)
		return reason;
	pagoda_shim_write_lock(&engine->translation);
	engine->changes++;
	engine->spaces[space] = (struct pagoda_engine_space) {
		.address = address, .entries = entries, .segment = segment,
	};
	pagoda_engine_tlb_forget(engine, engine->nr_tlbs, space, 0, ~0ull);
	/* Combiner 0 is left out: the paging queue's thread may be using it without the lock. */
	pagoda_engine_combine_drain_all(engine, 1);
	pagoda_shim_write_unlock(&engine->translation);
	return VIRTIO_PAGODA_FAULT_NONE;
}
