// SPDX-License-Identifier: GPL-2.0
/*
 * The loop over the commands of a job, and the table of commands.
 *
 * Commands are in memory of a program, which may change them at any time: each word of a command is
 * read once, and the copy is checked and executed. A command's fields are checked before its first
 * effect, but not the memory that they name: an access that isn't allowed faults when it is made.
 *
 * The translation lock is held for reading from the first command to the last, and released for a
 * moment after each PAGODA_CHUNK of work and while a WAIT waits. A command doesn't use translations
 * that the previous command found, except for those in the TLB and for the memory from which
 * commands are read.
 */
#include "command.h"

/* Most bytes of the commands' memory that job_fetch_span() looks up at once. */
#define PAGODA_FETCH_AHEAD	0x10000u

#define PAGODA_COMMAND(NAME, type, ...) \
	[VIRTIO_PAGODA_COMMAND_##NAME] = { \
		.name = #NAME, \
		.size = sizeof(struct virtio_pagoda_##type), \
		__VA_ARGS__ \
	}

static u32 command_nop(struct pagoda_job *job, const void *command)
{
	return VIRTIO_PAGODA_FAULT_NONE;
}

static u32 command_branch_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_branch *branch = command;
	u64 size = le64_to_cpu(branch->size);
	u32 reason;

	reason = pagoda_job_aligned(job, le64_to_cpu(branch->address), VIRTIO_PAGODA_COMMAND_ALIGN,
				    VIRTIO_PAGODA_ACCESS_FETCH);
	if (reason)
		return reason;
	if (!IS_ALIGNED(size, VIRTIO_PAGODA_COMMAND_ALIGN))
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_MISALIGNED, size);
	if (size > VIRTIO_PAGODA_MAX_COMMAND_BUFFER)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, size);
	return VIRTIO_PAGODA_FAULT_NONE;
}

static u32 command_branch(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_branch *branch = command;

	job->address = le64_to_cpu(branch->address);
	job->left = le64_to_cpu(branch->size);
	return VIRTIO_PAGODA_FAULT_NONE;
}

static const struct pagoda_command_row command_table[VIRTIO_PAGODA_COMMAND_COUNT] = {
	PAGODA_COMMAND(NOP, nop,
		       .execute = command_nop),
	PAGODA_COMMAND(COPY, copy,
		       .halves = true,
		       .validate = pagoda_command_copy_validate,
		       .execute = pagoda_command_copy_execute),
	PAGODA_COMMAND(FILL, fill_words,
		       .halves = true,
		       .validate = pagoda_command_fill_validate,
		       .execute = pagoda_command_fill_execute),
	PAGODA_COMMAND(STORE, store,
		       .flags = VIRTIO_PAGODA_COMMAND_WIDE,
		       .validate = pagoda_command_store_validate,
		       .execute = pagoda_command_store_execute),
	PAGODA_COMMAND(COMPARE, compare,
		       .flags = VIRTIO_PAGODA_COMMAND_WIDE,
		       .validate = pagoda_command_compare_validate,
		       .execute = pagoda_command_compare_execute),
	PAGODA_COMMAND(ATOMIC_ADD, atomic_add,
		       .flags = VIRTIO_PAGODA_COMMAND_WIDE,
		       .validate = pagoda_command_add_validate,
		       .execute = pagoda_command_add_execute),
	PAGODA_COMMAND(COPY_RECT, copy_rect,
		       .halves = true,
		       .validate = pagoda_command_rect_validate,
		       .execute = pagoda_command_rect_execute),
	PAGODA_COMMAND(WAIT, wait,
		       .validate = pagoda_command_wait_validate,
		       .execute = pagoda_command_wait_execute),
	PAGODA_COMMAND(SIGNAL, signal,
		       .flags = VIRTIO_PAGODA_COMMAND_EVENT,
		       .validate = pagoda_command_signal_validate,
		       .execute = pagoda_command_signal_execute),
	PAGODA_COMMAND(TIMESTAMP, timestamp,
		       .validate = pagoda_command_timestamp_validate,
		       .execute = pagoda_command_timestamp_execute),
	PAGODA_COMMAND(BRANCH, branch,
		       .validate = command_branch_validate,
		       .execute = command_branch),
	PAGODA_COMMAND(COMPUTE, compute,
		       .halves = true,
		       .validate = pagoda_command_compute_validate,
		       .execute = pagoda_command_compute_execute),
	PAGODA_COMMAND(REDUCE, reduce,
		       .validate = pagoda_command_reduce_validate,
		       .execute = pagoda_command_reduce_execute),
	PAGODA_COMMAND(SET_REGISTER, set_register,
		       .flags = VIRTIO_PAGODA_COMMAND_ADD,
		       .validate = pagoda_command_set_validate,
		       .execute = pagoda_command_set_execute),
	PAGODA_COMMAND(STORE_REGISTER, store_register,
		       .validate = pagoda_command_store_register_validate,
		       .execute = pagoda_command_store_register_execute),
};

/**
 * pagoda_engine_command_name() - Get the name of a command
 * @opcode: Any value
 *
 * Return: the name in capitals, "?" for an unknown opcode.
 */
const char *pagoda_engine_command_name(u32 opcode)
{
	return opcode && opcode < VIRTIO_PAGODA_COMMAND_COUNT ? command_table[opcode].name :
								"?";
}

/*
 * Finds the memory of commands from @va on, for job_fetch(). As an aperture page may be unmapped at
 * any time, job_fetch() looks up each word of commands in the aperture. Returns a fault reason, or
 * 0.
 */
static u32 job_fetch_span(struct pagoda_job *job, u64 va, u64 want)
{
	struct pagoda_virtual_span span;
	u32 reason;

	job->fetch_size = 0;
	reason = pagoda_engine_virtual_span(&job->exec, job->space, va,
					    min_t(u64, want, PAGODA_FETCH_AHEAD),
					    VIRTIO_PAGODA_ACCESS_FETCH, &span);
	if (reason)
		return reason;
	job->fetch_va = va;
	job->fetch_size = span.size;
	job->fetch = span.here;
	job->fetch_changes = job->exec.engine->changes;
	if (span.segment == VIRTIO_PAGODA_SEGMENT_APERTURE)
		job->fetch_changes--;	/* differs from engine->changes: @fetch isn't used again */
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Reads words @first to @last (excluded) of the current command to job->command, each word once.
 * Returns a fault reason or 0.
 */
static u32 job_fetch(struct pagoda_job *job, u32 first, u32 last)
{
	u32 reason;

	for (; first < last; first++) {
		u64 offset = first * sizeof(u64);
		u64 skip = job->address + offset - job->fetch_va;

		if (skip >= job->fetch_size || job->fetch_changes != job->exec.engine->changes) {
			reason = job_fetch_span(job, job->address + offset, job->left - offset);
			if (reason)
				return reason;
			skip = 0;
		}
		if (job->fetch && unlikely(pagoda_engine_has_lines(&job->exec)))
			pagoda_engine_combine_meet(&job->exec, job->fetch + skip, sizeof(u64));
		job->command[first] = job->fetch ?
				      READ_ONCE(*(const u64 *)(job->fetch + skip)) : 0;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Fetches the job's next command and checks the command's head. *@row gets the command's row of the
 * table, *@length the command's bytes. Returns a fault reason, or 0.
 */
static u32 job_command_fetch(struct pagoda_job *job, const struct pagoda_command_row **row,
			     u32 *length)
{
	const struct virtio_pagoda_command *command = (const void *)job->command;
	u32 reason, opcode;
	u16 flags;

	/*
	 * The rest of the buffer is a multiple of 8 bytes and not empty: it has a command's head,
	 * which is 8 bytes.
	 */
	reason = job_fetch(job, 0, 1);
	if (reason)
		return reason;
	opcode = le16_to_cpu(command->opcode);
	job->exec.run->fault.opcode = opcode;
	if (!opcode || opcode >= VIRTIO_PAGODA_COMMAND_COUNT)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_BAD_COMMAND, opcode);
	*row = &command_table[opcode];
	*length = le32_to_cpu(command->length);
	if (*length > job->left || *length < (*row)->size ||
	    !IS_ALIGNED(*length, VIRTIO_PAGODA_COMMAND_ALIGN) ||
	    (*length > (*row)->size && opcode != VIRTIO_PAGODA_COMMAND_NOP))
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_BAD_LENGTH, *length);
	flags = le16_to_cpu(command->flags) & ~(*row)->flags;
	if (flags)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_BAD_FLAGS, flags);
	return job_fetch(job, 1, (*row)->size / sizeof(u64));
}

/*
 * Carries out an injected failure: after half of the effect if row->halves and fail_middle of
 * job->exec.run are set, else without an effect. Returns a fault reason or PAGODA_STOPPED.
 */
static u32 command_fail(struct pagoda_job *job, const struct pagoda_command_row *row)
{
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;

	if (job->exec.run->fail_middle && row->halves) {
		job->exec.half = true;
		reason = row->execute(job, job->command);
		job->exec.half = false;
	}
	return reason ? reason : pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_DEVICE_FAILURE, 0);
}

static bool job_stops(const struct pagoda_job *job)
{
	return job->exec.run->packets == job->exec.run->stop_at || pagoda_stopped(&job->exec);
}

/*
 * Executes the next command of a job, with the translation lock held for reading. Before that,
 * releases the lock for a moment if the job has done PAGODA_CHUNK bytes of work since the last such
 * moment. Returns 0, a fault reason or PAGODA_STOPPED.
 */
static u32 job_command(struct pagoda_job *job)
{
	struct pagoda_engine_run *run = job->exec.run;
	const struct pagoda_command_row *row = NULL;
	u32 reason, length = 0;

	run->fault.command = job->address;
	run->fault.opcode = 0;
	if (job_stops(job))
		return PAGODA_STOPPED;
	job->exec.since += PAGODA_COMMAND_COST;
	if (job->exec.since >= PAGODA_CHUNK) {
		job->exec.since = 0;
		pagoda_job_drain(job);
		pagoda_engine_translation_pause(&job->exec);
	}
	pagoda_engine_translation_forget(&job->exec);
	reason = job_command_fetch(job, &row, &length);
	if (!reason && row->validate)
		reason = row->validate(job, job->command);
	if (reason)
		return reason;
	job->address += length;
	job->left -= length;
	if (unlikely(run->packets == run->fail_at))
		reason = command_fail(job, row);
	else
		reason = row->execute(job, job->command);
	if (reason)
		return reason;
	if (run->packets < PAGODA_ENGINE_NEVER - 1)
		run->packets++;
	job->counts[run->fault.opcode]++;
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Stands in for the first command of a job without command buffers: stops the job if the job is
 * asked to stop, and fails if a test injected a failure of command 0. Returns 0, PAGODA_STOPPED or
 * a fault reason.
 */
static u32 job_nothing(struct pagoda_job *job)
{
	if (job_stops(job))
		return PAGODA_STOPPED;
	if (!job->exec.run->fail_at)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_DEVICE_FAILURE, 0);
	return VIRTIO_PAGODA_FAULT_NONE;
}

static u32 job_buffers(struct pagoda_job *job)
{
	const struct virtio_pagoda_command_buffer *buffers = (const void *)(job->execute + 1);
	u32 i, nr_buffers = le32_to_cpu(job->execute->nr_buffers);
	u32 reason = nr_buffers ? VIRTIO_PAGODA_FAULT_NONE : job_nothing(job);

	for (i = 0; i < nr_buffers && !reason; i++) {
		job->exec.run->offset = sizeof(*job->execute) + i * sizeof(*buffers);
		job->address = le64_to_cpu(buffers[i].address);
		job->left = le64_to_cpu(buffers[i].size);
		while (job->left && !reason)
			reason = job_command(job);
	}
	return reason;
}

/*
 * Executes a job's commands, then saves the context's registers, even after a fault or a stop.
 * Returns 0, a fault reason or PAGODA_STOPPED.
 */
static u32 job_execute(struct pagoda_job *job)
{
	struct pagoda_engine_run *run = job->exec.run;
	struct pagoda_engine_fault fault;
	u32 reason, saved, i;

	reason = job_buffers(job);
	fault = run->fault;
	saved = pagoda_engine_job_save(job);
	if (reason) {
		run->fault = fault;
	} else if (saved) {
		run->fault.command = 0;
		run->fault.opcode = 0;
	} else {
		run->offset = run->size;
	}
	for (i = 1; i < VIRTIO_PAGODA_COMMAND_COUNT; i++)
		if (job->counts[i])
			atomic64_add(job->counts[i], &job->exec.engine->commands[i]);
	return reason ? reason : saved;
}

u32 pagoda_engine_job(struct pagoda_exec *exec)
{
	struct pagoda_job job = { .exec = *exec, .execute = exec->run->buffer };
	u32 reason;

	reason = pagoda_engine_job_check(&job);
	if (reason)
		return reason;
	job.space = le32_to_cpu(job.execute->address_space);
	pagoda_shim_read_lock(&exec->engine->translation);
	reason = pagoda_engine_job_load(&job);
	if (!reason)
		reason = job_execute(&job);
	if (reason || le32_to_cpu(job.execute->flags) & VIRTIO_PAGODA_EXECUTE_DRAIN)
		pagoda_job_drain(&job);
	pagoda_shim_read_unlock(&exec->engine->translation);
	return reason;
}
