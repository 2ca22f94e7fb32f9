// SPDX-License-Identifier: GPL-2.0
/*
 * FILL and DISCARD_CONTENT: operations on VRAM without a source; and functions that fill memory for
 * RESET_ADAPTER, VIRTUAL_FILL and the command FILL, too.
 */
#include "internal.h"

/*
 * Checks a range to be filled or discarded, which must be in VRAM (C41). Returns a fault reason
 * or 0.
 */
static u32 memory_check(struct pagoda_exec *exec, u32 segment, u64 address, u64 size)
{
	if (segment != VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_SEGMENT, segment,
					    VIRTIO_PAGODA_ACCESS_WRITE);
	return pagoda_engine_vram_check(exec, address, size, VIRTIO_PAGODA_ACCESS_WRITE);
}

static u32 alignment_check(struct pagoda_exec *exec, u64 address, u64 size, u64 alignment)
{
	if (!IS_ALIGNED(address, alignment))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address,
					    VIRTIO_PAGODA_ACCESS_WRITE);
	if (!IS_ALIGNED(size, alignment))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, size,
					    VIRTIO_PAGODA_ACCESS_WRITE);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/* Fills memory with the 32-bit @pattern; @here and @size (bytes, not 0) are multiples of 4. */
void pagoda_engine_fill_words(u8 *here, u32 size, u32 pattern)
{
	__le32 word = cpu_to_le32(pattern);
	u64 both;

	if ((pattern & 0xff) * 0x01010101u == pattern) {
		memset(here, pattern & 0xff, size);
		return;
	}
	if (!IS_ALIGNED((unsigned long)here, 8)) {
		memcpy(here, &word, 4);
		here += 4;
		size -= 4;
	}
	memcpy(&both, &word, 4);
	memcpy((u8 *)&both + 4, &word, 4);
	memset64((u64 *)here, both, size / 8);
	if (size % 8)
		memcpy(here + size - 4, &word, 4);
}

static u32 fill_range(struct pagoda_exec *exec, u64 address, u64 size, u32 pattern)
{
	u8 *here = exec->engine->vram + address;
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;

	while (size && !reason) {
		u32 chunk = min_t(u64, size, PAGODA_CHUNK);

		pagoda_engine_fill_words(here, chunk, pattern);
		pagoda_engine_wrote(exec->engine, here, chunk);
		here += chunk;
		size -= chunk;
		reason = pagoda_progress(exec, chunk);
	}
	return reason;
}

/* Fills whole pages of VRAM with a 32-bit @pattern for RESET_ADAPTER, while no queue executes. */
void pagoda_engine_fill_vram(struct pagoda_engine *engine, u64 address, u64 size, u32 pattern)
{
	u32 chunk;

	for (; size; address += chunk, size -= chunk) {
		chunk = min_t(u64, size, PAGODA_CHUNK);
		pagoda_engine_fill_words(engine->vram + address, chunk, pattern);
		pagoda_shim_yield();
	}
}

u32 pagoda_engine_fill_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_fill *fill = packet;
	u64 address = le64_to_cpu(fill->address);
	u64 size = le64_to_cpu(fill->size);
	u32 reason;

	reason = alignment_check(exec, address, size, 4);
	if (reason)
		return reason;
	return memory_check(exec, le32_to_cpu(fill->segment), address, size);
}

u32 pagoda_engine_fill_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_fill *fill = packet;
	u64 size = ALIGN_DOWN(le64_to_cpu(fill->size) >> exec->half, 4);

	return fill_range(exec, le64_to_cpu(fill->address), size, le32_to_cpu(fill->pattern));
}

u32 pagoda_engine_discard_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_discard_content *discard = packet;
	u64 address = le64_to_cpu(discard->address);
	u64 size = le64_to_cpu(discard->size);
	u32 reason;

	if (discard->reserved)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le32_to_cpu(discard->reserved));
	reason = alignment_check(exec, address, size, PAGODA_PAGE);
	if (reason)
		return reason;
	return memory_check(exec, le32_to_cpu(discard->segment), address, size);
}

u32 pagoda_engine_discard_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_discard_content *discard = packet;
	u64 size = ALIGN_DOWN(le64_to_cpu(discard->size) >> exec->half, 4);

	if (!READ_ONCE(exec->engine->poison_discarded))
		return VIRTIO_PAGODA_FAULT_NONE;
	return fill_range(exec, le64_to_cpu(discard->address), size, PAGODA_ENGINE_POISON);
}
