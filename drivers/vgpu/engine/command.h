/* SPDX-License-Identifier: GPL-2.0 */
/* Definitions shared by the files that execute the commands of programs. */
#ifndef PAGODA_VGPU_ENGINE_COMMAND_H
#define PAGODA_VGPU_ENGINE_COMMAND_H

#include "internal.h"

/* Bytes of work that each command counts as, in addition to the bytes that it reads or writes. */
#define PAGODA_COMMAND_COST	1024u
/* 64-bit words of the largest command except for NOP. */
#define PAGODA_COMMAND_WORDS	(sizeof(struct virtio_pagoda_copy_rect) / sizeof(u64))
/* Index in virtio_pagoda_context_image.saved of the number of jobs, behind the registers. */
#define PAGODA_SAVED_JOBS	VIRTIO_PAGODA_REGISTERS

/*
 * struct pagoda_job - A job being executed, on the stack of its queue's thread
 * @exec: engine, run, and what page-table walks found; engine->translation is held for reading,
 *	except for moments after each PAGODA_CHUNK and while a WAIT waits
 * @execute: the job's buffer: its parameters and list of command buffers
 * @space: address space that @execute names
 * @address: virtual address of the command to fetch; while a command executes, of its successor
 * @left: bytes of the current command buffer from @address on
 * @fetch_va: virtual address of @fetch
 * @fetch_size: bytes of @fetch, 0 = no memory was found
 * @fetch: memory that commands are read from, NULL = a page of zeros
 * @fetch_changes: engine->changes when @fetch was found, one less for memory in the aperture;
 *	@fetch isn't used any more once engine->changes differs
 * @command: private copy of the current command, to be checked and executed: a program may change
 *	the original at any time
 * @registers: registers of the job's context
 * @jobs: number of the context's jobs that ended before this job
 * @counts: number of the job's commands executed completely, by opcode
 */
struct pagoda_job {
	struct pagoda_exec exec;
	const struct virtio_pagoda_execute *execute;
	u32 space;
	u64 address;
	u64 left;
	u64 fetch_va;
	u64 fetch_size;
	const u8 *fetch;
	u64 fetch_changes;
	u64 command[PAGODA_COMMAND_WORDS];
	u64 registers[VIRTIO_PAGODA_REGISTERS];
	u64 jobs;
	u32 counts[VIRTIO_PAGODA_COMMAND_COUNT];
};

/*
 * struct pagoda_command_row - A row of the table of commands
 * @size: bytes of the command; NOP may be longer
 * @flags: flags that may be set in the command
 * @halves: @execute stops after half of its effect if exec->half is set
 * @validate: checks the command's fields, not memory; NULL = there is nothing to refuse
 * @execute: carries out the effect. Like @validate returns a fault reason,
 *	%VIRTIO_PAGODA_FAULT_NONE for success; @execute may also return PAGODA_STOPPED
 */
struct pagoda_command_row {
	const char *name;
	u32 size;
	u16 flags;
	bool halves;
	u32 (*validate)(struct pagoda_job *job, const void *command);
	u32 (*execute)(struct pagoda_job *job, const void *command);
};

/* command_image.c: check a job, load and save its registers; return a fault reason or 0 */
u32 pagoda_engine_job_check(struct pagoda_job *job);
u32 pagoda_engine_job_load(struct pagoda_job *job);
u32 pagoda_engine_job_save(struct pagoda_job *job);

/* command_memory.c: COPY and FILL; return a fault reason or 0; _execute: or PAGODA_STOPPED */
u32 pagoda_command_copy_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_copy_execute(struct pagoda_job *job, const void *command);
u32 pagoda_command_fill_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_fill_execute(struct pagoda_job *job, const void *command);

/*
 * command_value.c: commands on single values in memory and on registers; return a fault reason or
 * 0; _execute: or PAGODA_STOPPED
 */
u32 pagoda_command_store_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_store_execute(struct pagoda_job *job, const void *command);
u32 pagoda_command_compare_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_compare_execute(struct pagoda_job *job, const void *command);
u32 pagoda_command_add_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_add_execute(struct pagoda_job *job, const void *command);
u32 pagoda_command_wait_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_wait_execute(struct pagoda_job *job, const void *command);
u32 pagoda_command_signal_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_signal_execute(struct pagoda_job *job, const void *command);
u32 pagoda_command_timestamp_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_timestamp_execute(struct pagoda_job *job, const void *command);
u32 pagoda_command_set_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_set_execute(struct pagoda_job *job, const void *command);
u32 pagoda_command_store_register_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_store_register_execute(struct pagoda_job *job, const void *command);

/* command_array.c: COMPUTE and REDUCE; return a fault reason or 0; _execute: or PAGODA_STOPPED */
u32 pagoda_command_compute_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_compute_execute(struct pagoda_job *job, const void *command);
u32 pagoda_command_reduce_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_reduce_execute(struct pagoda_job *job, const void *command);

/* command_rect.c: COPY_RECT; return a fault reason or 0; _execute: or PAGODA_STOPPED */
u32 pagoda_command_rect_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_rect_execute(struct pagoda_job *job, const void *command);

/* Stores a fault for a refused value that isn't an accessed address. Returns @reason. */
static inline u32 pagoda_job_refuse(struct pagoda_job *job, u32 reason, u64 value)
{
	return pagoda_refuse(&job->exec, reason, value);
}

/*
 * Refuses a virtual address that isn't a multiple of @alignment, a power of two. Returns a fault
 * reason or 0.
 */
static inline u32 pagoda_job_aligned(struct pagoda_job *job, u64 va, u64 alignment, u32 access)
{
	if (IS_ALIGNED(va, alignment))
		return VIRTIO_PAGODA_FAULT_NONE;
	return pagoda_engine_refuse(&job->exec, VIRTIO_PAGODA_FAULT_MISALIGNED, va, access);
}

/* Returns whether two ranges of addresses, which may wrap around, overlap. Neither size is 0. */
static inline bool pagoda_ranges_meet(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return b - a < a_size || a - b < b_size;
}

/* Returns a source or destination at @va in the job's address space, without memory found yet. */
static inline struct pagoda_span_side pagoda_job_side(const struct pagoda_job *job, u64 va,
						      u32 access)
{
	return (struct pagoda_span_side) { .va = va, .space = job->space, .access = access };
}

/* Writes back the write combiner of the job's queue. */
static inline void pagoda_job_drain(struct pagoda_job *job)
{
	pagoda_engine_combine_drain(job->exec.engine, job->exec.run->tlb);
}

/*
 * Counts @bytes of work, about a PAGODA_CHUNK at most, and after each PAGODA_CHUNK releases the
 * translation lock for a moment: memory found before the call mustn't be used after it. Before each
 * release the write combiner is written back, so that the CPU and other queues see the writes of a
 * job that never ends. Returns PAGODA_STOPPED if the job must stop, else 0.
 */
static inline u32 pagoda_job_progress(struct pagoda_job *job, u32 bytes)
{
	if (job->exec.since + bytes >= PAGODA_CHUNK)
		pagoda_job_drain(job);
	pagoda_virtual_progress(&job->exec, bytes);
	return pagoda_stopped(&job->exec) ? PAGODA_STOPPED : VIRTIO_PAGODA_FAULT_NONE;
}

#endif
