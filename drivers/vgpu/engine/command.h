/* SPDX-License-Identifier: GPL-2.0 */
/* What the files that execute commands share with each other. */
#ifndef PAGODA_VGPU_ENGINE_COMMAND_H
#define PAGODA_VGPU_ENGINE_COMMAND_H

#include "internal.h"

/* What a command without much to do counts as when others are let run. */
#define PAGODA_COMMAND_COST	1024u
/* The largest command but NOP. */
#define PAGODA_COMMAND_WORDS	(sizeof(struct virtio_pagoda_copy_rect) / sizeof(u64))
/* Save area: the registers come first, then the number of jobs. */
#define PAGODA_SAVED_JOBS	VIRTIO_PAGODA_REGISTERS

/*
 * struct pagoda_job - Commands being executed, on the stack of their queue
 * @exec: what walks page tables; engine->translation is held for reading, but while
 *	the job pauses
 * @execute: the request
 * @space: its address space
 * @address: next command; while one is executed, the one behind it
 * @left: bytes of the command buffer from there on
 * @fetch_va: address of memory that commands were found in
 * @fetch_size: bytes of it, 0 = none
 * @fetch: the memory, NULL = zeros
 * @fetch_changes: engine->changes when it was found: good until they differ
 * @command: private copy of the command at hand. Whoever wrote it may be changing it:
 *	what was checked is what is executed
 * @registers: of the context
 * @jobs: jobs of the context that ended
 * @counts: commands executed whole, by opcode
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
 * @size: bytes of the command
 * @flags: flags that may be set
 * @halves: its effect has a half that @execute stops at if exec->half is set
 * @validate: refuses fields; NULL = there is nothing to refuse
 * @execute: the effect. Both return a fault reason, %VIRTIO_PAGODA_FAULT_NONE when all is
 *	well; @execute also PAGODA_STOPPED
 */
struct pagoda_command_row {
	const char *name;
	u32 size;
	u16 flags;
	bool halves;
	u32 (*validate)(struct pagoda_job *job, const void *command);
	u32 (*execute)(struct pagoda_job *job, const void *command);
};

/* command_image.c: what a request says and where the context's save area is */
u32 pagoda_engine_job_check(struct pagoda_job *job);
u32 pagoda_engine_job_load(struct pagoda_job *job);
u32 pagoda_engine_job_save(struct pagoda_job *job);

/* command_memory.c */
u32 pagoda_command_copy_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_copy_execute(struct pagoda_job *job, const void *command);
u32 pagoda_command_fill_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_fill_execute(struct pagoda_job *job, const void *command);

/* command_value.c */
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

/* command_array.c */
u32 pagoda_command_compute_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_compute_execute(struct pagoda_job *job, const void *command);
u32 pagoda_command_reduce_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_reduce_execute(struct pagoda_job *job, const void *command);

/* command_rect.c */
u32 pagoda_command_rect_validate(struct pagoda_job *job, const void *command);
u32 pagoda_command_rect_execute(struct pagoda_job *job, const void *command);

/* Refuses a value that isn't the address of an access. */
static inline u32 pagoda_job_refuse(struct pagoda_job *job, u32 reason, u64 value)
{
	return pagoda_refuse(&job->exec, reason, value);
}

/* Refuses an address that isn't a multiple of @alignment, a power of two. */
static inline u32 pagoda_job_aligned(struct pagoda_job *job, u64 va, u64 alignment, u32 access)
{
	if (IS_ALIGNED(va, alignment))
		return VIRTIO_PAGODA_FAULT_NONE;
	return pagoda_engine_refuse(&job->exec, VIRTIO_PAGODA_FAULT_MISALIGNED, va, access);
}

/* Ranges of addresses that meet, wherever they end. Neither size is 0. */
static inline bool pagoda_ranges_meet(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return b - a < a_size || a - b < b_size;
}

/* One side of a command. */
static inline struct pagoda_span_side pagoda_job_side(const struct pagoda_job *job, u64 va,
						      u32 access)
{
	return (struct pagoda_span_side) { .va = va, .space = job->space, .access = access };
}

/* What the job wrote to memory that isn't snooped is there afterwards. */
static inline void pagoda_job_drain(struct pagoda_job *job)
{
	pagoda_engine_combine_drain(job->exec.engine, job->exec.run->tlb);
}

/*
 * After at most a chunk of work, with no memory at hand: lets flushers go first, and
 * others run, now and then, and hears whether to stop. An endless job's writes are seen.
 */
static inline u32 pagoda_job_progress(struct pagoda_job *job, u32 bytes)
{
	if (job->exec.since + bytes >= PAGODA_CHUNK)
		pagoda_job_drain(job);
	pagoda_virtual_progress(&job->exec, bytes);
	return pagoda_stopped(&job->exec) ? PAGODA_STOPPED : VIRTIO_PAGODA_FAULT_NONE;
}

#endif
