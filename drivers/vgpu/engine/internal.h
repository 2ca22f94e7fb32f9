/* SPDX-License-Identifier: GPL-2.0 */
/* What the engine's files share with each other and nobody else. */
#ifndef PAGODA_VGPU_ENGINE_INTERNAL_H
#define PAGODA_VGPU_ENGINE_INTERNAL_H

#include "engine.h"

#define PAGODA_PAGE		((u64)VIRTIO_PAGODA_PAGE_SIZE)
/* Bytes copied or filled before others get a chance to run. */
#define PAGODA_CHUNK		0x100000u

/*
 * struct pagoda_exec - A packet being executed, on the stack of its queue
 * @window_*: last answer of system_span(): a page list that is validated, then
 *	executed, or runs next to each other, ask only once
 * @spans: where the next run's memory is noted, NULL = nowhere
 * @half: stop after half of the effect (failure injection)
 * @since: bytes since pagoda_shim_yield()
 * @skipped: packets of the buffer before the first one executed
 */
struct pagoda_exec {
	struct pagoda_engine *engine;
	struct pagoda_engine_run *run;
	u64 window_bus;
	u64 window_size;
	u8 *window;
	u8 **spans;
	u32 since;
	u32 skipped;
	bool half;
};

/*
 * struct pagoda_op - A row of the operation table
 * @size: bytes of the packet without what its counts call for
 * @flags: flags that may be set
 * @exec: allowed on execution queues, not only on the paging queue
 * @tail: bytes behind the fixed part; NULL = none
 * @validate: everything that can be refused before the first effect
 * @execute: the effect; NULL = not supported. Both return a fault reason,
 *	%VIRTIO_PAGODA_FAULT_NONE when all is well
 */
struct pagoda_op {
	const char *name;
	u32 size;
	u16 flags;
	bool exec;
	u64 (*tail)(const void *packet);
	u32 (*validate)(struct pagoda_exec *exec, const void *packet);
	u32 (*execute)(struct pagoda_exec *exec, const void *packet);
};

extern const struct pagoda_op pagoda_engine_table[VIRTIO_PAGODA_OP_COUNT];

/* A place in memory that is walked from span to span. */
struct pagoda_cursor {
	u32 segment;
	u32 access;
	u32 generation;
	u64 address;				/* next byte: VRAM, aperture */
	u64 left;				/* bytes behind @here */
	const struct virtio_pagoda_run *run;	/* next run: system memory */
	u8 *const *span;			/* and what its check found out */
	u8 *here;
	u64 here_size;
};

/* memory.c */
u32 pagoda_engine_refuse(struct pagoda_exec *exec, u32 reason, u64 address, u32 access);
u8 *pagoda_engine_system_lookup(struct pagoda_exec *exec, u64 bus, u64 want, u64 *got);
u32 pagoda_engine_vram_check(struct pagoda_exec *exec, u64 address, u64 size, u32 access);
u32 pagoda_engine_runs_check(struct pagoda_exec *exec,
			     const struct virtio_pagoda_run *runs, u32 nr_runs,
			     u64 nr_pages, u32 access);
u32 pagoda_engine_location_check(struct pagoda_exec *exec,
				 const struct virtio_pagoda_location *location,
				 const struct virtio_pagoda_run *runs, u64 size, u32 access);
void pagoda_engine_cursor_init(struct pagoda_cursor *cursor,
			       const struct virtio_pagoda_location *location,
			       const struct virtio_pagoda_run *runs, u8 *const *spans,
			       u64 size, u32 access);
u32 pagoda_engine_cursor_refill(struct pagoda_exec *exec, struct pagoda_cursor *cursor);
u32 pagoda_engine_address_resolve(struct pagoda_exec *exec, u32 segment, u64 address,
				  u32 size, u32 access, u8 **here);

/* aperture.c */
u32 pagoda_engine_aperture_check(struct pagoda_exec *exec, u64 address, u64 size,
				 u32 generation, u32 access);
u32 pagoda_engine_aperture_span(struct pagoda_exec *exec, struct pagoda_cursor *cursor);
u64 pagoda_engine_map_tail(const void *packet);
u32 pagoda_engine_map_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_map2_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_map_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_unmap_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_unmap_execute(struct pagoda_exec *exec, const void *packet);

/* transfer.c */
u64 pagoda_engine_transfer_tail(const void *packet);
u32 pagoda_engine_transfer_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_transfer_execute(struct pagoda_exec *exec, const void *packet);

/* fill.c */
u32 pagoda_engine_fill_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_fill_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_discard_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_discard_execute(struct pagoda_exec *exec, const void *packet);

/* physical.c */
u32 pagoda_engine_physical_validate_read(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_physical_validate_write(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_physical_read(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_physical_write(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_signal_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_signal_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_notify_alloc_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_notify_alloc_execute(struct pagoda_exec *exec, const void *packet);

/* Refuses a value that isn't the address of an access. */
static inline u32 pagoda_refuse(struct pagoda_exec *exec, u32 reason, u64 value)
{
	return pagoda_engine_refuse(exec, reason, value, VIRTIO_PAGODA_ACCESS_NONE);
}

/* Counts work done and lets others run now and then. */
static inline void pagoda_progress(struct pagoda_exec *exec, u32 bytes)
{
	exec->run->bytes += bytes;
	exec->since += bytes;
	if (exec->since >= PAGODA_CHUNK) {
		exec->since = 0;
		pagoda_shim_yield();
	}
}

/* Like pagoda_engine_system_lookup(), which it spares for the window at hand. */
static inline u8 *pagoda_system_span(struct pagoda_exec *exec, u64 bus, u64 want, u64 *got)
{
	u64 skip = bus - exec->window_bus;

	if (likely(skip < exec->window_size)) {
		*got = min(want, exec->window_size - skip);
		return exec->window + skip;
	}
	return pagoda_engine_system_lookup(exec, bus, want, got);
}

#endif
