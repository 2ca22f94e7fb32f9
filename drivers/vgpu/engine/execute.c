// SPDX-License-Identifier: GPL-2.0
/*
 * The loop over the packets of a buffer, the table of operations, and the engine's initialization
 * and resets.
 *
 * A packet is checked in steps, each of which reports the value that it refuses: first the packet's
 * head (opcode, feature, queue, length, flags), then the other fields and the memory that they
 * name, of a packet with several places (source, destination, ranges) one place after the other.
 * Only then does the packet have an effect.
 */
#include "internal.h"

#define PAGODA_OP(NAME, type, ...) \
	[VIRTIO_PAGODA_OP_##NAME] = { \
		.name = #NAME, \
		.size = sizeof(struct virtio_pagoda_##type), \
		__VA_ARGS__ \
	}

static const struct pagoda_op op_table[VIRTIO_PAGODA_OP_COUNT] = {
	PAGODA_OP(TRANSFER, transfer,
		  .flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END |
			   VIRTIO_PAGODA_TRANSFER_SWIZZLE | VIRTIO_PAGODA_TRANSFER_UNSWIZZLE |
			   VIRTIO_PAGODA_TRANSFER_CLEAN | VIRTIO_PAGODA_TRANSFER_DIRTY,
		  .exec = true,
		  .tail = pagoda_engine_transfer_tail,
		  .validate = pagoda_engine_transfer_validate,
		  .execute = pagoda_engine_transfer_execute),
	PAGODA_OP(FILL, fill,
		  .exec = true,
		  .validate = pagoda_engine_fill_validate,
		  .execute = pagoda_engine_fill_execute),
	PAGODA_OP(DISCARD_CONTENT, discard_content,
		  .validate = pagoda_engine_discard_validate,
		  .execute = pagoda_engine_discard_execute),
	PAGODA_OP(READ_PHYSICAL, access_physical,
		  .exec = true,
		  .hold = PAGODA_HOLD_VIRTUAL,
		  .validate = pagoda_engine_physical_validate_read,
		  .execute = pagoda_engine_physical_read),
	PAGODA_OP(WRITE_PHYSICAL, access_physical,
		  .exec = true,
		  .hold = PAGODA_HOLD_VIRTUAL,
		  .validate = pagoda_engine_physical_validate_write,
		  .execute = pagoda_engine_physical_write),
	PAGODA_OP(MAP_APERTURE_SEGMENT, map_aperture_segment,
		  .flags = VIRTIO_PAGODA_MAP_CACHE_COHERENT,
		  .tail = pagoda_engine_map_tail,
		  .validate = pagoda_engine_map_validate,
		  .execute = pagoda_engine_map_execute),
	PAGODA_OP(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment,
		  .validate = pagoda_engine_unmap_validate,
		  .execute = pagoda_engine_unmap_execute),
	PAGODA_OP(SPECIAL_LOCK_TRANSFER, special_lock_transfer,
		  .flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END,
		  .tail = pagoda_engine_lock_tail,
		  .validate = pagoda_engine_lock_validate,
		  .execute = pagoda_engine_lock_execute),
	PAGODA_OP(VIRTUAL_TRANSFER, virtual_transfer,
		  .flags = VIRTIO_PAGODA_VIRTUAL_SRC_64K | VIRTIO_PAGODA_VIRTUAL_DST_64K |
			   VIRTIO_PAGODA_TRANSFER_CLEAN | VIRTIO_PAGODA_TRANSFER_DIRTY,
		  .hold = PAGODA_HOLD_VIRTUAL,
		  .validate = pagoda_engine_virtual_transfer_validate,
		  .execute = pagoda_engine_virtual_transfer_execute),
	PAGODA_OP(VIRTUAL_FILL, virtual_fill,
		  .hold = PAGODA_HOLD_VIRTUAL,
		  .validate = pagoda_engine_virtual_fill_validate,
		  .execute = pagoda_engine_virtual_fill_execute),
	PAGODA_OP(INIT_CONTEXT_RESOURCE, init_context_resource,
		  .tail = pagoda_engine_init_context_tail,
		  .validate = pagoda_engine_init_context_validate,
		  .execute = pagoda_engine_init_context_execute),
	PAGODA_OP(UPDATE_PAGE_TABLE, update_page_table,
		  .flags = VIRTIO_PAGODA_UPDATE_REPEAT | VIRTIO_PAGODA_UPDATE_INITIAL |
			   VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION | VIRTIO_PAGODA_UPDATE_USE_64K,
		  .hold = PAGODA_HOLD_VIRTUAL,
		  .tail = pagoda_engine_update_tail,
		  .validate = pagoda_engine_update_validate,
		  .execute = pagoda_engine_update_execute),
	PAGODA_OP(FLUSH_TLB, flush_tlb,
		  .hold = PAGODA_HOLD_CHANGE,
		  .validate = pagoda_engine_flush_validate,
		  .execute = pagoda_engine_flush_execute),
	PAGODA_OP(UPDATE_CONTEXT_ALLOCATION, update_context_allocation,
		  .hold = PAGODA_HOLD_VIRTUAL,
		  .tail = pagoda_engine_update_context_tail,
		  .validate = pagoda_engine_update_context_validate,
		  .execute = pagoda_engine_update_context_execute),
	PAGODA_OP(COPY_PAGE_TABLE_ENTRIES, copy_page_table_entries,
		  .hold = PAGODA_HOLD_VIRTUAL,
		  .tail = pagoda_engine_copy_entries_tail,
		  .validate = pagoda_engine_copy_entries_validate,
		  .execute = pagoda_engine_copy_entries_execute),
	PAGODA_OP(NOTIFY_RESIDENCY, notify_residency,
		  .flags = VIRTIO_PAGODA_NOTIFY_RESIDENT,
		  .validate = pagoda_engine_residency_validate,
		  .execute = pagoda_engine_notify_execute),
	PAGODA_OP(SIGNAL_MONITORED_FENCE, signal_monitored_fence,
		  .flags = VIRTIO_PAGODA_SIGNAL_FLAGS,
		  .exec = true,
		  .hold = PAGODA_HOLD_VIRTUAL,
		  .validate = pagoda_engine_signal_validate,
		  .execute = pagoda_engine_signal_execute),
	PAGODA_OP(MAP_APERTURE_SEGMENT2, map_aperture_segment,
		  .flags = VIRTIO_PAGODA_MAP_CACHE_COHERENT | VIRTIO_PAGODA_MAP_CONTIGUOUS,
		  .tail = pagoda_engine_map_tail,
		  .validate = pagoda_engine_map2_validate,
		  .execute = pagoda_engine_map_execute),
	PAGODA_OP(NOTIFY_FENCE_RESIDENCY, notify_fence_residency,
		  .tail = pagoda_engine_fence_residency_tail,
		  .validate = pagoda_engine_fence_residency_validate,
		  .execute = pagoda_engine_notify_execute),
	PAGODA_OP(MAP_MMU, map_mmu,
		  .flags = VIRTIO_PAGODA_MAP_MMU_READ_ONLY,
		  .bus = true,
		  .hold = PAGODA_HOLD_CHANGE,
		  .tail = pagoda_engine_mmu_tail,
		  .validate = pagoda_engine_mmu_map_validate,
		  .execute = pagoda_engine_mmu_map_execute),
	PAGODA_OP(UNMAP_MMU, map_mmu,
		  .hold = PAGODA_HOLD_CHANGE,
		  .tail = pagoda_engine_mmu_tail,
		  .validate = pagoda_engine_mmu_unmap_validate,
		  .execute = pagoda_engine_mmu_unmap_execute),
	PAGODA_OP(NOTIFY_RESIDENCY2, notify_residency,
		  .flags = VIRTIO_PAGODA_NOTIFY_RESIDENT,
		  .validate = pagoda_engine_residency2_validate,
		  .execute = pagoda_engine_notify_execute),
	PAGODA_OP(NOTIFY_ALLOC, notify_alloc,
		  .flags = VIRTIO_PAGODA_NOTIFY_EVICTION | VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP,
		  .validate = pagoda_engine_notify_alloc_validate,
		  .execute = pagoda_engine_notify_execute),
};

/**
 * pagoda_engine_features() - Get the feature bits of the operations of this engine
 *
 * Return: mask of VIRTIO_PAGODA_F_OP() bits.
 */
u64 pagoda_engine_features(void)
{
	u64 features = 0;
	u32 i;

	for (i = 1; i < VIRTIO_PAGODA_OP_COUNT; i++) {
		if (op_table[i].execute)
			features |= 1ull << VIRTIO_PAGODA_F_OP(i);
	}
	return features;
}

/**
 * pagoda_engine_op_name() - Get the name of an operation
 * @opcode: Any value
 *
 * Return: the name in capitals, "?" for an unknown opcode.
 */
const char *pagoda_engine_op_name(u32 opcode)
{
	return opcode && opcode < VIRTIO_PAGODA_OP_COUNT ? op_table[opcode].name : "?";
}

/**
 * pagoda_engine_fault_name() - Get the text for a fault reason
 * @reason: Any value
 *
 * Return: a few words, "?" for an unknown reason.
 */
const char *pagoda_engine_fault_name(u32 reason)
{
	static const char *const names[VIRTIO_PAGODA_FAULT_COUNT] = {
#define PAGODA_FAULT_NAME(NAME, number, text)[number] = text,
		VIRTIO_PAGODA_FAULTS(PAGODA_FAULT_NAME)
#undef PAGODA_FAULT_NAME
	};

	return reason < VIRTIO_PAGODA_FAULT_COUNT ? names[reason] : "?";
}

/**
 * pagoda_engine_init() - Check an engine's parameters, initialize its locks and dirty tracking
 * @engine: Engine; the caller has set all members but the locks: features, counters, TLBs and write
 *	combiners to zero
 *
 * All pages of VRAM count as written, and no tracker is started.
 *
 * Context: before the engine executes.
 * Return: true; false if a check fails, as of the entries of &pagoda_engine.invalid.
 */
bool pagoda_engine_init(struct pagoda_engine *engine)
{
	u64 end = 0;
	u32 i;

	if (!engine->vram || !engine->aperture || !engine->ops ||
	    !engine->vram_size || engine->vram_size > VIRTIO_PAGODA_MAX_VRAM ||
	    !IS_ALIGNED(engine->vram_size, PAGODA_PAGE) ||
	    !IS_ALIGNED((unsigned long)engine->vram, 8) ||
	    !engine->aperture_pages ||
	    engine->aperture_pages > VIRTIO_PAGODA_MAX_APERTURE_PAGES ||
	    engine->system_bits < 32 || engine->system_bits > 52 || engine->max_runs < 2 ||
	    !pagoda_engine_ranges_valid(engine) || !pagoda_engine_mmu_valid(engine) ||
	    !pagoda_engine_roots_valid(engine))
		return false;
	for (i = 0; i < engine->nr_invalid; i++) {
		const struct pagoda_engine_range *range = &engine->invalid[i];

		if (!range->size || range->start < end || range->start > engine->vram_size ||
		    range->size > engine->vram_size - range->start)
			return false;
		end = range->start + range->size;
	}
	pagoda_shim_rwlock_init(&engine->translation);
	pagoda_shim_rwlock_init(&engine->swizzling_lock);
	pagoda_engine_dirty_reset(engine);
	return true;
}

static void engine_forget(struct pagoda_engine *engine)
{
	u32 i;

	pagoda_shim_write_lock(&engine->translation);
	engine->changes++;
	memset(engine->aperture, 0, engine->aperture_pages * sizeof(*engine->aperture));
	if (engine->mmu)
		memset(engine->mmu, 0, engine->mmu_pages * sizeof(*engine->mmu));
	if (engine->spaces)
		memset(engine->spaces, 0, engine->nr_spaces * sizeof(*engine->spaces));
	pagoda_engine_tlb_clear(engine);
	memset(engine->combiners, 0, sizeof(engine->combiners));
	pagoda_engine_dirty_reset(engine);
	pagoda_shim_write_lock(&engine->swizzling_lock);
	for (i = 0; i < engine->nr_ranges; i++)
		engine->ranges[i].size = 0;
	pagoda_shim_write_unlock(&engine->swizzling_lock);
	pagoda_shim_write_unlock(&engine->translation);
}

/**
 * pagoda_engine_reset() - Clear mappings, address spaces, TLBs, bound ranges and features
 * @engine: Engine that executes nothing, initialized
 *
 * Write combiners are emptied without being written back. VRAM and the windows of swizzling ranges
 * keep their content. All pages of VRAM count as written, and no tracker is started.
 *
 * Context: may sleep.
 */
void pagoda_engine_reset(struct pagoda_engine *engine)
{
	engine_forget(engine);
	engine->features = 0;
}

/**
 * pagoda_engine_reset_adapter() - Carry out RESET_ADAPTER, except for the queues
 * @engine: Engine that executes nothing, initialized
 * @vram: Content of VRAM afterwards; ranges published as invalid stay unchanged
 *
 * Writes back the write combiners, then does what pagoda_engine_reset() does, but keeps the
 * negotiated features and sets the content of VRAM.
 *
 * Context: may sleep.
 */
void pagoda_engine_reset_adapter(struct pagoda_engine *engine, enum pagoda_engine_vram vram)
{
	u64 start = 0, end;
	u32 i;

	pagoda_engine_combine_drain_all(engine, 0);
	engine_forget(engine);
	if (vram == PAGODA_ENGINE_VRAM_KEEP)
		return;
	for (i = 0; i <= engine->nr_invalid; i++) {
		end = i < engine->nr_invalid ? engine->invalid[i].start : engine->vram_size;
		pagoda_engine_fill_vram(engine, start, end - start,
					vram == PAGODA_ENGINE_VRAM_POISON ?
					PAGODA_ENGINE_POISON : 0);
		start = i < engine->nr_invalid ? end + engine->invalid[i].size : end;
	}
}

/**
 * pagoda_engine_run_init() - Initialize a run, but for its buffer
 * @run: Run to initialize
 * @kind: Kind of the queue
 * @queue: Virtqueue number
 * @seqno: Number of the request
 *
 * The caller sets the buffer, its size, the offset to start at, and the context of a job.
 */
void pagoda_engine_run_init(struct pagoda_engine_run *run,
			    enum pagoda_engine_queue kind, u32 queue, u64 seqno)
{
	memset(run, 0, sizeof(*run));
	run->kind = kind;
	run->queue = queue;
	if (kind == PAGODA_ENGINE_QUEUE_EXEC)
		run->tlb = 1 + queue - VIRTIO_PAGODA_QUEUE_EXEC0;
	run->seqno = seqno;
	run->stop_at = PAGODA_ENGINE_NEVER;
	run->fail_at = PAGODA_ENGINE_NEVER;
}

/*
 * Checks the head of the packet at exec->run->offset. *@op receives its operation, *@length its
 * bytes. Returns a fault reason or 0.
 */
static u32 head_check(struct pagoda_exec *exec, const struct pagoda_op **op, u32 *length)
{
	const struct pagoda_engine_run *run = exec->run;
	const struct virtio_pagoda_packet *packet = run->buffer + run->offset;
	u32 left = run->size - run->offset;
	u32 opcode = le16_to_cpu(packet->opcode);
	u16 flags;

	exec->run->fault.opcode = opcode;
	if (!opcode || opcode >= VIRTIO_PAGODA_OP_COUNT)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_OPCODE, opcode);
	*op = &op_table[opcode];
	if (!(*op)->execute || !(exec->engine->features & 1ull << VIRTIO_PAGODA_F_OP(opcode)))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_UNSUPPORTED, opcode);
	if (run->kind == PAGODA_ENGINE_QUEUE_EXEC && !(*op)->exec)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_FORBIDDEN, opcode);
	/* Buffers and packets are multiples of 8 bytes: packet->length, in the first 8, exists. */
	*length = le32_to_cpu(packet->length);
	if (*length > left || *length < (*op)->size ||
	    *length != (*op)->size + ((*op)->tail ? (*op)->tail(packet) : 0))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_LENGTH, *length);
	flags = le16_to_cpu(packet->flags) & ~(*op)->flags;
	if (flags)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_FLAGS, flags);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Carries out an injected failure of a packet: without an effect, or, if run->fail_middle is set,
 * with the part of the effect that struct pagoda_engine_run tells. Returns a fault reason or
 * PAGODA_STOPPED.
 */
static u32 packet_fail(struct pagoda_exec *exec, const struct pagoda_op *op, const void *packet)
{
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;

	if (exec->run->fail_middle) {
		exec->half = true;
		reason = op->execute(exec, packet);
		exec->half = false;
	}
	return reason ? reason : pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_DEVICE_FAILURE, 0);
}

/*
 * Takes the translation lock as @op requires; if that is for writing, also writes back all write
 * combiners. Returns how the lock is held, for packet_unlock().
 */
static enum pagoda_hold packet_lock(struct pagoda_engine *engine, const struct pagoda_op *op)
{
	enum pagoda_hold hold = op->hold;

	if (hold == PAGODA_HOLD_SYSTEM && pagoda_translates(engine))
		hold = PAGODA_HOLD_VIRTUAL;
	if (hold == PAGODA_HOLD_CHANGE) {
		pagoda_shim_write_lock(&engine->translation);
		engine->changes++;
		/* Write back: no write by an old translation may come later (C103, C121). */
		pagoda_engine_combine_drain_all(engine, 0);
	} else if (hold == PAGODA_HOLD_VIRTUAL) {
		pagoda_shim_read_lock(&engine->translation);
	}
	return hold;
}

static void packet_unlock(struct pagoda_engine *engine, enum pagoda_hold hold)
{
	if (hold == PAGODA_HOLD_CHANGE)
		pagoda_shim_write_unlock(&engine->translation);
	else if (hold == PAGODA_HOLD_VIRTUAL)
		pagoda_shim_read_unlock(&engine->translation);
}

static u32 packet_execute(struct pagoda_exec *exec)
{
	struct pagoda_engine_run *run = exec->run;
	const void *packet = run->buffer + run->offset;
	const struct pagoda_op *op = NULL;
	enum pagoda_hold hold;
	u32 length = 0;
	u32 reason;

	reason = head_check(exec, &op, &length);
	if (reason)
		return reason;
	hold = packet_lock(exec->engine, op);
	exec->spans = run->spans;
	exec->bus = op->bus;
	/*
	 * The translation lock was released after the previous packet: translations that the
	 * previous packet found may be outdated.
	 */
	pagoda_engine_translation_forget(exec);
	reason = op->validate(exec, packet);
	if (!reason) {
		if (unlikely(exec->skipped + run->packets == run->fail_at))
			reason = packet_fail(exec, op, packet);
		else
			reason = op->execute(exec, packet);
	}
	packet_unlock(exec->engine, hold);
	if (reason)
		return reason;
	atomic64_inc(&exec->engine->executed[run->fault.opcode]);
	run->offset += length;
	run->packets++;
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Returns whether a packet of the buffer begins, or the last packet ends, at run->start. *@skipped
 * receives the number of packets before that offset.
 */
static bool start_valid(const struct pagoda_engine_run *run, u32 *skipped)
{
	u32 offset = 0;

	*skipped = 0;
	while (offset < run->start) {
		const struct virtio_pagoda_packet *packet = run->buffer + offset;
		u32 length = le32_to_cpu(packet->length);

		if (length < sizeof(*packet) || length % VIRTIO_PAGODA_PACKET_ALIGN ||
		    length > run->start - offset)
			return false;
		offset += length;
		(*skipped)++;
	}
	return true;
}

static u32 buffer_check(struct pagoda_exec *exec)
{
	const struct pagoda_engine_run *run = exec->run;

	if (run->size > exec->engine->max_buffer || run->size % VIRTIO_PAGODA_PACKET_ALIGN)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_BUFFER, run->size);
	if (run->start > run->size || run->start % VIRTIO_PAGODA_PACKET_ALIGN ||
	    !start_valid(run, &exec->skipped))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_BUFFER, run->start);
	return VIRTIO_PAGODA_FAULT_NONE;
}

static bool run_stops(const struct pagoda_exec *exec)
{
	return exec->skipped + exec->run->packets == exec->run->stop_at || pagoda_stopped(exec);
}

static u32 buffer_execute(struct pagoda_exec *exec)
{
	struct pagoda_engine_run *run = exec->run;
	u32 reason;

	reason = buffer_check(exec);
	if (reason)
		return reason;
	run->offset = run->start;
	if (run->start == run->size && exec->skipped == run->fail_at)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_DEVICE_FAILURE, 0);
	while (!reason && run->offset < run->size)
		reason = run_stops(exec) ? PAGODA_STOPPED : packet_execute(exec);
	/*
	 * Write back the paging queue's combiner, as the packets that do so may not be executed.
	 * Packets of execution queues combine no writes.
	 */
	if (reason && run->kind == PAGODA_ENGINE_QUEUE_PAGING)
		pagoda_engine_combine_drain(exec->engine, run->tlb);
	return reason;
}

/**
 * pagoda_engine_execute() - Execute a paging buffer, or a job of a context
 * @engine: Engine
 * @run: Buffer and parameters; receives the progress and the fault
 *
 * Packets are executed in order. A packet that is refused has no effect at all. A packet stops
 * halfway only by an injected failure, by @run->stop on an execution queue, or if an aperture page,
 * a page-table entry or a root that the packet uses is changed after the check, by another queue or
 * by the packet itself.
 *
 * The commands of a job are executed in order, too, except that BRANCH continues elsewhere. Memory
 * is checked when a command accesses it, so that a command may stop halfway. The registers of the
 * context are saved however the job ends, unless the job was refused before its first command.
 *
 * Context: any number of threads concurrently, but one for each queue; may sleep.
 * Return: the outcome of the run.
 */
enum pagoda_engine_outcome pagoda_engine_execute(struct pagoda_engine *engine,
						 struct pagoda_engine_run *run)
{
	struct pagoda_exec exec = { .engine = engine, .run = run };
	u32 reason;

	memset(&run->fault, 0, sizeof(run->fault));
	run->packets = 0;
	run->bytes = 0;
	run->skipped = 0;
	run->offset = 0;
	if (run->context && run->kind == PAGODA_ENGINE_QUEUE_EXEC &&
	    engine->features & 1ull << VIRTIO_PAGODA_F_EXECUTE)
		reason = pagoda_engine_job(&exec);
	else
		reason = buffer_execute(&exec);
	if (reason && reason != PAGODA_STOPPED) {
		run->fault.offset = run->offset;
		atomic64_inc(&engine->faults[reason]);
		return PAGODA_ENGINE_FAULT;
	}
	memset(&run->fault, 0, sizeof(run->fault));
	return reason ? PAGODA_ENGINE_STOPPED : PAGODA_ENGINE_DONE;
}
