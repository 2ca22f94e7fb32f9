/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pagoda

#if !defined(PAGODA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define PAGODA_TRACE_H

#include <linux/tracepoint.h>
#include <linux/types.h>
#include <linux/virtio_pagoda.h>
#include <drm/pagoda_drm.h>
#include "core/info.h"

#ifndef PAGODA_TRACE_NAMES
#define PAGODA_TRACE_NAMES

#define PAGODA_TRACE_OP(NAME, name, opcode) { opcode, #NAME },
/* Shows an opcode of a packet by its name; 0, which is no opcode, as "none". */
#define pagoda_trace_show_op(op) \
	__print_symbolic(op, VIRTIO_PAGODA_OPS(PAGODA_TRACE_OP) { 0, "none" })

#define pagoda_trace_show_segment(segment) \
	__print_symbolic(segment, \
			 { VIRTIO_PAGODA_SEGMENT_SYSTEM, "system" }, \
			 { VIRTIO_PAGODA_SEGMENT_VRAM, "vram" }, \
			 { VIRTIO_PAGODA_SEGMENT_APERTURE, "aperture" }, \
			 { VIRTIO_PAGODA_SEGMENT_COUNT, "none" })

#define pagoda_trace_show_group(group) \
	__print_symbolic(group, \
			 { DRM_PAGODA_SEGMENT_GROUP_LOCAL, "local" }, \
			 { DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL, "non-local" })

/*
 * Reasons why an allocation moves, with the names that the tracepoint pagoda_bo_move shows. EVICT:
 * TTM or the driver evicts the allocation. Of other moves, FAULT: from VRAM to VRAM, as a CPU fault
 * may need; REQUEST: out of VRAM; AHEAD: to VRAM, ahead of a queued job; VALIDATE: all others.
 */
#define PAGODA_MOVE_REASONS(X) \
	X(VALIDATE, "validate") \
	X(EVICT, "evict") \
	X(FAULT, "fault") \
	X(REQUEST, "request") \
	X(AHEAD, "ahead")
enum pagoda_move_reason {
#define PAGODA_TRACE_REASON(NAME, text) PAGODA_MOVE_##NAME,
	PAGODA_MOVE_REASONS(PAGODA_TRACE_REASON)
#undef PAGODA_TRACE_REASON
};
#define PAGODA_TRACE_REASON_NAME(NAME, text) { PAGODA_MOVE_##NAME, text },
#define pagoda_trace_show_reason(reason) \
	__print_symbolic(reason, PAGODA_MOVE_REASONS(PAGODA_TRACE_REASON_NAME) { -1, "none" })

#endif

/*
 * All enumerators in tables of names: in the tracepoints' format files the kernel replaces these
 * enumerators by their values, which programs such as trace-cmd need.
 */
TRACE_DEFINE_ENUM(VIRTIO_PAGODA_SEGMENT_SYSTEM);
TRACE_DEFINE_ENUM(VIRTIO_PAGODA_SEGMENT_VRAM);
TRACE_DEFINE_ENUM(VIRTIO_PAGODA_SEGMENT_APERTURE);
TRACE_DEFINE_ENUM(VIRTIO_PAGODA_SEGMENT_COUNT);
TRACE_DEFINE_ENUM(DRM_PAGODA_SEGMENT_GROUP_LOCAL);
TRACE_DEFINE_ENUM(DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL);
TRACE_DEFINE_ENUM(PAGODA_MOVE_VALIDATE);
TRACE_DEFINE_ENUM(PAGODA_MOVE_EVICT);
TRACE_DEFINE_ENUM(PAGODA_MOVE_FAULT);
TRACE_DEFINE_ENUM(PAGODA_MOVE_REQUEST);
TRACE_DEFINE_ENUM(PAGODA_MOVE_AHEAD);

/*
 * A builder was called for an operation on allocation @bo (0 = none) and encoded @encoded bytes of
 * packets into submission @id, which has no number yet: pagoda_submit and pagoda_complete show both
 * &pagoda_submission.id and &pagoda_submission.seqno. @bytes: what all passes of the operation move
 * or fill; @pass: the number of earlier calls for this operation.
 */
TRACE_EVENT(pagoda_op,
	TP_PROTO(const char *dev, u64 bo, u32 op, u64 bytes, u32 src, u32 dst,
		 u64 id, u32 encoded, int pass),
	TP_ARGS(dev, bo, op, bytes, src, dst, id, encoded, pass),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, bo)
		__field(u32, op)
		__field(u64, bytes)
		__field(u32, src)
		__field(u32, dst)
		__field(u64, id)
		__field(u32, encoded)
		__field(int, pass)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->bo = bo;
		__entry->op = op;
		__entry->bytes = bytes;
		__entry->src = src;
		__entry->dst = dst;
		__entry->id = id;
		__entry->encoded = encoded;
		__entry->pass = pass;
	),
	TP_printk("dev=%s bo=%llu op=%s bytes=%llu src=%s dst=%s id=%llu encoded=%u pass=%d",
		  __get_str(dev), __entry->bo, pagoda_trace_show_op(__entry->op),
		  __entry->bytes, pagoda_trace_show_segment(__entry->src),
		  pagoda_trace_show_segment(__entry->dst), __entry->id,
		  __entry->encoded, __entry->pass)
);

/*
 * An allocation of @size bytes moves from segment @from, "none" if the allocation had no place, to
 * segment @to; both may be VRAM. The copy may still have to be executed.
 */
TRACE_EVENT(pagoda_bo_move,
	TP_PROTO(const char *dev, u64 bo, u64 size, u32 from, u32 to, bool evict, int reason),
	TP_ARGS(dev, bo, size, from, to, evict, reason),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, bo)
		__field(u64, size)
		__field(u32, from)
		__field(u32, to)
		__field(bool, evict)
		__field(int, reason)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->bo = bo;
		__entry->size = size;
		__entry->from = from;
		__entry->to = to;
		__entry->evict = evict;
		__entry->reason = reason;
	),
	TP_printk("dev=%s bo=%llu size=%llu from=%s to=%s evict=%d reason=%s",
		  __get_str(dev), __entry->bo, __entry->size,
		  pagoda_trace_show_segment(__entry->from),
		  pagoda_trace_show_segment(__entry->to), __entry->evict,
		  pagoda_trace_show_reason(__entry->reason))
);

/* An allocation of @size bytes is destroyed, and frees its memory in @segment. */
TRACE_EVENT(pagoda_bo_free,
	TP_PROTO(const char *dev, u64 bo, u64 size, u32 segment),
	TP_ARGS(dev, bo, size, segment),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, bo)
		__field(u64, size)
		__field(u32, segment)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->bo = bo;
		__entry->size = size;
		__entry->segment = segment;
	),
	TP_printk("dev=%s bo=%llu size=%llu segment=%s", __get_str(dev), __entry->bo,
		  __entry->size, pagoda_trace_show_segment(__entry->segment))
);

/*
 * Emitted for each listener of a client when the listener is opened, and when @budget, the budget
 * that was last reported to the listener, or the client's @usage changes, both in bytes; also when
 * the listener is closed, then with both 0.
 */
TRACE_EVENT(pagoda_budget,
	TP_PROTO(const char *dev, int pid, u32 group, u64 budget, u64 usage),
	TP_ARGS(dev, pid, group, budget, usage),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, budget)
		__field(u64, usage)
		__field(int, pid)
		__field(u32, group)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->budget = budget;
		__entry->usage = usage;
		__entry->pid = pid;
		__entry->group = group;
	),
	TP_printk("dev=%s pid=%d group=%s budget=%llu usage=%llu", __get_str(dev),
		  __entry->pid, pagoda_trace_show_group(__entry->group), __entry->budget,
		  __entry->usage)
);

/*
 * A listener tells its client to trim: the client wants @excess bytes more than the budget that was
 * last reported to the listener.
 */
TRACE_EVENT(pagoda_trim,
	TP_PROTO(const char *dev, int pid, u32 group, u64 excess),
	TP_ARGS(dev, pid, group, excess),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, excess)
		__field(int, pid)
		__field(u32, group)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->excess = excess;
		__entry->pid = pid;
		__entry->group = group;
	),
	TP_printk("dev=%s pid=%d group=%s excess=%llu", __get_str(dev), __entry->pid,
		  pagoda_trace_show_group(__entry->group), __entry->excess)
);

/*
 * A job of @context leaves allocations of @bytes bytes in all out of VRAM, because the client has
 * too few tokens for evictions: see &drm_pagoda_stats.submit_tokens.
 */
TRACE_EVENT(pagoda_left_out,
	TP_PROTO(const char *dev, u64 context, u64 bytes),
	TP_ARGS(dev, context, bytes),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, context)
		__field(u64, bytes)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->context = context;
		__entry->bytes = bytes;
	),
	TP_printk("dev=%s context=%llu bytes=%llu", __get_str(dev), __entry->context,
		  __entry->bytes)
);

/*
 * Work of the current thread found no room for an allocation, and has to wait. If @context is 0,
 * the wait is for the operation that holds the reservation of allocation @bo. Else the wait is for
 * all jobs that have a place of an engine, with an event for each, which has @job and @context and
 * 0 as @bo; and, without events, for all other work of the client that needs the room.
 */
TRACE_EVENT(pagoda_wait,
	TP_PROTO(const char *dev, u64 context, u64 job, u64 bo),
	TP_ARGS(dev, context, job, bo),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, context)
		__field(u64, job)
		__field(u64, bo)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->context = context;
		__entry->job = job;
		__entry->bo = bo;
	),
	TP_printk("dev=%s context=%llu job=%llu bo=%llu", __get_str(dev), __entry->context,
		  __entry->job, __entry->bo)
);

/*
 * A CPU page fault in the page at byte @offset of an allocation, which is in @segment now; @moved:
 * the fault moved the allocation to its present place.
 */
TRACE_EVENT(pagoda_cpu_fault,
	TP_PROTO(const char *dev, u64 bo, u64 offset, u32 segment, bool moved),
	TP_ARGS(dev, bo, offset, segment, moved),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, bo)
		__field(u64, offset)
		__field(u32, segment)
		__field(bool, moved)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->bo = bo;
		__entry->offset = offset;
		__entry->segment = segment;
		__entry->moved = moved;
	),
	TP_printk("dev=%s bo=%llu offset=%llu segment=%s moved=%d", __get_str(dev),
		  __entry->bo, __entry->offset,
		  pagoda_trace_show_segment(__entry->segment), __entry->moved)
);

/*
 * A paging buffer, submission @id, is sent to the device, not to the CPU executor, for the first
 * time or again.
 */
TRACE_EVENT(pagoda_submit,
	TP_PROTO(const char *dev, u64 id, u64 seqno, u32 size, u32 start, u32 operations),
	TP_ARGS(dev, id, seqno, size, start, operations),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, id)
		__field(u64, seqno)
		__field(u32, size)
		__field(u32, start)
		__field(u32, operations)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->id = id;
		__entry->seqno = seqno;
		__entry->size = size;
		__entry->start = start;
		__entry->operations = operations;
	),
	TP_printk("dev=%s id=%llu seqno=%llu size=%u start=%u operations=%u", __get_str(dev),
		  __entry->id, __entry->seqno, __entry->size, __entry->start,
		  __entry->operations)
);

/*
 * A paging buffer has ended: executed (@error is 0), or with the negative errno @error. @skipped:
 * bytes of its operations that the device didn't copy, because they weren't written
 */
TRACE_EVENT(pagoda_complete,
	TP_PROTO(const char *dev, u64 id, u64 seqno, u64 skipped, int error),
	TP_ARGS(dev, id, seqno, skipped, error),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, id)
		__field(u64, seqno)
		__field(u64, skipped)
		__field(int, error)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->id = id;
		__entry->seqno = seqno;
		__entry->skipped = skipped;
		__entry->error = error;
	),
	TP_printk("dev=%s id=%llu seqno=%llu skipped=%llu error=%d", __get_str(dev),
		  __entry->id, __entry->seqno, __entry->skipped, __entry->error)
);

/* A job is sent to an engine, for the first time or again, each time with another @seqno. */
TRACE_EVENT(pagoda_job_submit,
	TP_PROTO(const char *dev, u32 engine, u64 context, u64 job, u64 seqno),
	TP_ARGS(dev, engine, context, job, seqno),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, context)
		__field(u64, job)
		__field(u64, seqno)
		__field(u32, engine)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->context = context;
		__entry->job = job;
		__entry->seqno = seqno;
		__entry->engine = engine;
	),
	TP_printk("dev=%s engine=" PAGODA_ENGINE_NAME " context=%llu job=%llu seqno=%llu",
		  __get_str(dev), __entry->engine, __entry->context, __entry->job, __entry->seqno)
);

/* A job has ended: executed (@error is 0), or with the negative errno @error. */
TRACE_EVENT(pagoda_job_complete,
	TP_PROTO(const char *dev, u32 engine, u64 context, u64 job, int error),
	TP_ARGS(dev, engine, context, job, error),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, context)
		__field(u64, job)
		__field(u32, engine)
		__field(int, error)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->context = context;
		__entry->job = job;
		__entry->engine = engine;
		__entry->error = error;
	),
	TP_printk("dev=%s engine=" PAGODA_ENGINE_NAME " context=%llu job=%llu error=%d",
		  __get_str(dev), __entry->engine, __entry->context, __entry->job, __entry->error)
);

#define PAGODA_TRACE_FAULT(NAME, number, text) { number, text },

/* The device refused the packet at byte @offset of a paging buffer for @reason. */
TRACE_EVENT(pagoda_fault,
	TP_PROTO(const char *dev, u64 seqno, u32 reason, u32 op, u32 offset, u64 address),
	TP_ARGS(dev, seqno, reason, op, offset, address),
	TP_STRUCT__entry(
		__string(dev, dev)
		__field(u64, seqno)
		__field(u32, reason)
		__field(u32, op)
		__field(u32, offset)
		__field(u64, address)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->seqno = seqno;
		__entry->reason = reason;
		__entry->op = op;
		__entry->offset = offset;
		__entry->address = address;
	),
	/*
	 * The reason's text has spaces. Quotation marks around the text would end the format string
	 * in the tracepoint's format file, so the reason comes last instead.
	 */
	TP_printk("dev=%s seqno=%llu op=%s offset=%u address=0x%llx reason=%s",
		  __get_str(dev), __entry->seqno, pagoda_trace_show_op(__entry->op),
		  __entry->offset, __entry->address,
		  __print_symbolic(__entry->reason,
				   VIRTIO_PAGODA_FAULTS(PAGODA_TRACE_FAULT) { -1, "?" }))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH core
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
