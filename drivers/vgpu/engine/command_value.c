// SPDX-License-Identifier: GPL-2.0
/*
 * Commands on single values in memory, and on registers. A value of 4 or 8 bytes, aligned to its
 * size, is read and written by a single access each, so that no other thread ever sees half of a
 * value. Only ATOMIC_ADD's read and write are atomic together.
 */
#include "command.h"

/* Returns the size in bytes of the value that a STORE, COMPARE or ATOMIC_ADD accesses. */
static u32 value_size(const void *command)
{
	const struct virtio_pagoda_command *head = command;

	return le16_to_cpu(head->flags) & VIRTIO_PAGODA_COMMAND_WIDE ? 8 : 4;
}

/*
 * Refuses a @value in the command that doesn't fit into the bytes that the command accesses.
 * Returns a fault reason or 0.
 */
static u32 value_check(struct pagoda_job *job, const void *command, u64 value)
{
	if (value_size(command) == 4 && value >> 32)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_RESERVED, value);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/* Returns the value of @size bytes at @here; 0 if @here is NULL, a page of zeros. */
static u64 value_read(const u8 *here, u32 size)
{
	if (!here)
		return 0;
	return size == 8 ? le64_to_cpu(READ_ONCE(*(const __le64 *)here)) :
			   le32_to_cpu(READ_ONCE(*(const __le32 *)here));
}

/* Writes @value, of @size bytes, at @here; drops it if @here is NULL, a page of zeros (C94). */
static void value_write(struct pagoda_job *job, u8 *here, u32 size, u64 value)
{
	if (here && size == 8)
		WRITE_ONCE(*(__le64 *)here, cpu_to_le64(value));
	else if (here)
		WRITE_ONCE(*(__le32 *)here, cpu_to_le32(value));
	if (here)
		pagoda_engine_wrote(job->exec.engine, here, size);
}

/*
 * Atomically adds @value to the value of @size bytes at @here. Returns the value before; 0 if @here
 * is NULL, a page of zeros.
 */
static u64 value_add(u8 *here, u32 size, u64 value)
{
	u64 old = value_read(here, size);
	__le64 wide;
	__le32 narrow;

	if (!here)
		return old;
	if (size == 8) {
		wide = cpu_to_le64(old);
		while (!pagoda_shim_swap64((__le64 *)here, &wide,
					   cpu_to_le64(le64_to_cpu(wide) + value)))
			;
		return le64_to_cpu(wide);
	}
	narrow = cpu_to_le32(old);
	while (!pagoda_shim_swap32((__le32 *)here, &narrow,
				   cpu_to_le32(le32_to_cpu(narrow) + (u32)value)))
		;
	return le32_to_cpu(narrow);
}

/*
 * Sets *@here to the memory of a value at @va, NULL for a page of zeros. Returns 0 after adding the
 * value's @size to run->bytes, or a fault reason.
 */
static u32 value_resolve(struct pagoda_job *job, u64 va, u32 size, u32 access, u8 **here)
{
	u32 reason = pagoda_engine_virtual_address_resolve(&job->exec, job->space, va, size,
							   access, here);

	if (!reason)
		job->exec.run->bytes += size;
	return reason;
}

static u32 value_store(struct pagoda_job *job, u64 va, u32 size, u64 value)
{
	u32 reason;
	u8 *here;

	reason = pagoda_engine_virtual_store_resolve(&job->exec, job->space, va, size, &here);
	if (reason)
		return reason;
	job->exec.run->bytes += size;
	value_write(job, here, size, value);
	return reason;
}

u32 pagoda_command_store_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_store *store = command;
	u32 reason = value_check(job, command, le64_to_cpu(store->value));

	return reason ? reason : pagoda_job_aligned(job, le64_to_cpu(store->address),
						    value_size(command),
						    VIRTIO_PAGODA_ACCESS_WRITE);
}

u32 pagoda_command_store_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_store *store = command;

	return value_store(job, le64_to_cpu(store->address), value_size(command),
			   le64_to_cpu(store->value));
}

u32 pagoda_command_compare_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_compare *compare = command;
	u64 mask = le64_to_cpu(compare->mask);
	u64 value = le64_to_cpu(compare->value);
	u32 reason = value_check(job, command, mask);

	if (reason)
		return reason;
	if (value & ~mask)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_RESERVED, value);
	return pagoda_job_aligned(job, le64_to_cpu(compare->address), value_size(command),
				  VIRTIO_PAGODA_ACCESS_READ);
}

u32 pagoda_command_compare_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_compare *compare = command;
	u64 address = le64_to_cpu(compare->address);
	u32 size = value_size(command);
	u32 reason;
	u8 *here;

	reason = value_resolve(job, address, size, VIRTIO_PAGODA_ACCESS_READ, &here);
	if (reason)
		return reason;
	if ((value_read(here, size) & le64_to_cpu(compare->mask)) != le64_to_cpu(compare->value))
		return pagoda_engine_refuse(&job->exec, VIRTIO_PAGODA_FAULT_COMPARE, address,
					    VIRTIO_PAGODA_ACCESS_READ);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_command_add_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_atomic_add *add = command;
	u32 size = value_size(command);
	u32 reason = value_check(job, command, le64_to_cpu(add->value));

	if (reason)
		return reason;
	reason = pagoda_job_aligned(job, le64_to_cpu(add->address), size,
				    VIRTIO_PAGODA_ACCESS_WRITE);
	return reason ? reason : pagoda_job_aligned(job, le64_to_cpu(add->result), size,
						    VIRTIO_PAGODA_ACCESS_WRITE);
}

u32 pagoda_command_add_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_atomic_add *add = command;
	u32 size = value_size(command);
	u32 reason;
	u64 old;
	u8 *here;

	reason = value_resolve(job, le64_to_cpu(add->address), size, VIRTIO_PAGODA_ACCESS_WRITE,
			       &here);
	if (reason)
		return reason;
	old = value_add(here, size, le64_to_cpu(add->value));
	if (here)
		pagoda_engine_wrote(job->exec.engine, here, size);
	return add->result ? value_store(job, le64_to_cpu(add->result), size, old) : reason;
}

u32 pagoda_command_wait_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_wait *wait = command;

	return pagoda_job_aligned(job, le64_to_cpu(wait->address), 8, VIRTIO_PAGODA_ACCESS_READ);
}

/*
 * Pauses a WAIT without the translation lock, which a packet that has to be executed before the
 * awaited value is written may need.
 */
static void wait_idle(struct pagoda_job *job)
{
	struct pagoda_engine *engine = job->exec.engine;

	pagoda_shim_read_unlock(&engine->translation);
	job->exec.run->looks++;
	if (engine->ops->idle)
		engine->ops->idle(engine->context, job->exec.run);
	else
		pagoda_shim_yield();
	pagoda_shim_read_lock(&engine->translation);
	pagoda_engine_translation_forget(&job->exec);
}

u32 pagoda_command_wait_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_wait *wait = command;
	u32 reason;
	u8 *here;

	/*
	 * Write back this job's combined writes: the thread or job that will write the awaited
	 * value may wait for them.
	 */
	pagoda_job_drain(job);
	job->exec.run->looks = 0;
	for (;;) {
		reason = pagoda_engine_virtual_address_resolve(&job->exec, job->space,
							       le64_to_cpu(wait->address), 8,
							       VIRTIO_PAGODA_ACCESS_READ, &here);
		if (reason)
			return reason;
		if (value_read(here, 8) >= le64_to_cpu(wait->value))
			break;
		if (pagoda_stopped(&job->exec))
			return PAGODA_STOPPED;
		wait_idle(job);
	}
	smp_mb();	/* the job's later reads come after the read of the awaited value */
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_command_signal_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_signal *signal = command;

	return pagoda_job_aligned(job, le64_to_cpu(signal->address), 8,
				  VIRTIO_PAGODA_ACCESS_WRITE);
}

u32 pagoda_command_signal_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_signal *signal = command;
	struct pagoda_engine *engine = job->exec.engine;
	u64 address = le64_to_cpu(signal->address);
	u64 value = le64_to_cpu(signal->value);
	u32 reason;
	u8 *here;

	pagoda_job_drain(job);
	smp_mb();	/* the job's earlier writes are visible before the fence's value */
	reason = value_resolve(job, address, 8, VIRTIO_PAGODA_ACCESS_WRITE, &here);
	if (reason)
		return reason;
	/* C117: the fence's value is written by a single access */
	value_write(job, here, 8, value);
	smp_mb();	/* the fence's value is visible before the event */
	if (le16_to_cpu(signal->command.flags) & VIRTIO_PAGODA_COMMAND_EVENT)
		engine->ops->fence(engine->context, job->exec.run, address, value);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_command_timestamp_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_timestamp *timestamp = command;

	return pagoda_job_aligned(job, le64_to_cpu(timestamp->address), 8,
				  VIRTIO_PAGODA_ACCESS_WRITE);
}

u32 pagoda_command_timestamp_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_timestamp *timestamp = command;

	return value_store(job, le64_to_cpu(timestamp->address), 8, pagoda_shim_now());
}

static u32 register_check(struct pagoda_job *job, u32 number, u32 reserved)
{
	if (number >= VIRTIO_PAGODA_REGISTERS)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, number);
	if (reserved)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_RESERVED, reserved);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_command_set_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_set_register *set = command;

	return register_check(job, le32_to_cpu(set->number), le32_to_cpu(set->reserved));
}

u32 pagoda_command_set_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_set_register *set = command;
	u64 *number = &job->registers[le32_to_cpu(set->number)];

	if (le16_to_cpu(set->command.flags) & VIRTIO_PAGODA_COMMAND_ADD)
		*number += le64_to_cpu(set->value);
	else
		*number = le64_to_cpu(set->value);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_command_store_register_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_store_register *store = command;
	u32 reason = register_check(job, le32_to_cpu(store->number), le32_to_cpu(store->reserved));

	return reason ? reason : pagoda_job_aligned(job, le64_to_cpu(store->address), 8,
						    VIRTIO_PAGODA_ACCESS_WRITE);
}

u32 pagoda_command_store_register_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_store_register *store = command;

	return value_store(job, le64_to_cpu(store->address), 8,
			   job->registers[le32_to_cpu(store->number)]);
}
