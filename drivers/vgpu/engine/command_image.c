// SPDX-License-Identifier: GPL-2.0
/*
 * What comes before a job's first command and after its last: the check of the job's buffer; and
 * the context's save area, from which registers are loaded and to which they are saved.
 *
 * A job names its save area by segment and address, not by a virtual address, so that registers can
 * be saved whatever happens to the address space. The save area's memory is looked up twice, to
 * load and to save: the memory found at first doesn't stay valid when the job releases the
 * translation lock for a moment.
 */
#include "command.h"

/*
 * Checks address and size of each command buffer, before the first command is executed. Returns
 * a fault reason or 0.
 */
static u32 job_check_buffers(struct pagoda_job *job, u32 nr_buffers)
{
	const struct virtio_pagoda_command_buffer *buffers = (const void *)(job->execute + 1);
	u32 i;

	for (i = 0; i < nr_buffers; i++) {
		u64 address = le64_to_cpu(buffers[i].address);
		u64 size = le64_to_cpu(buffers[i].size);

		job->exec.run->offset = sizeof(*job->execute) + i * sizeof(*buffers);
		if (!IS_ALIGNED(address, VIRTIO_PAGODA_COMMAND_ALIGN))
			return pagoda_engine_refuse(&job->exec, VIRTIO_PAGODA_FAULT_MISALIGNED,
						    address, VIRTIO_PAGODA_ACCESS_FETCH);
		if (!IS_ALIGNED(size, VIRTIO_PAGODA_COMMAND_ALIGN))
			return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_MISALIGNED, size);
		if (!size || size > VIRTIO_PAGODA_MAX_COMMAND_BUFFER)
			return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, size);
	}
	job->exec.run->offset = 0;
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Checks a job's fields and list of command buffers, but not its save area nor its commands.
 * Returns a fault reason or 0.
 */
u32 pagoda_engine_job_check(struct pagoda_job *job)
{
	const struct pagoda_engine_run *run = job->exec.run;
	const struct virtio_pagoda_execute *execute = job->execute;
	u32 nr_buffers, flags;

	if (run->size < sizeof(*execute) || run->size > job->exec.engine->max_buffer)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_BAD_BUFFER, run->size);
	if (run->start)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_BAD_BUFFER, run->start);
	nr_buffers = le32_to_cpu(execute->nr_buffers);
	if (nr_buffers > VIRTIO_PAGODA_MAX_COMMAND_BUFFERS ||
	    run->size != sizeof(*execute) +
			 nr_buffers * sizeof(struct virtio_pagoda_command_buffer))
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_BAD_BUFFER, nr_buffers);
	flags = le32_to_cpu(execute->flags);
	if (pagoda_engine_combines(&job->exec))
		flags &= ~VIRTIO_PAGODA_EXECUTE_DRAIN;
	if (flags)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_RESERVED, flags);
	if (!execute->address_space ||
	    le32_to_cpu(execute->address_space) >= job->exec.engine->nr_spaces)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_BAD_CONTEXT,
					 le32_to_cpu(execute->address_space));
	return job_check_buffers(job, nr_buffers);
}

/*
 * Sets *@here to the memory of the struct virtio_pagoda_context_image in the save area, which lies
 * within a page and so is contiguous. Returns a fault reason, or 0.
 */
static u32 image_find(struct pagoda_job *job, u32 access, u8 **here)
{
	u64 address = le64_to_cpu(job->execute->image_address);
	u32 segment = le32_to_cpu(job->execute->image_segment);

	if (segment != VIRTIO_PAGODA_SEGMENT_VRAM && segment != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_BAD_SEGMENT, segment);
	if (!IS_ALIGNED(address, PAGODA_PAGE))
		return pagoda_engine_refuse(&job->exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address,
					    access);
	return pagoda_engine_address_resolve(&job->exec, segment, address,
					     sizeof(struct virtio_pagoda_context_image), access,
					     here);
}

/*
 * Returns whether a save area belongs to the job's context (C81) and has the current root of the
 * job's address space (C84). Also accepts a save area without a root if the address space has none:
 * accesses in the space then fault.
 */
static bool image_matches(const struct pagoda_job *job,
			  const struct virtio_pagoda_context_image *image)
{
	const struct pagoda_engine_space *root = &job->exec.engine->spaces[job->space];

	return le64_to_cpu(image->magic) == VIRTIO_PAGODA_CONTEXT_MAGIC &&
	       le64_to_cpu(image->context) == job->exec.run->context &&
	       le32_to_cpu(image->address_space) == job->space &&
	       le64_to_cpu(image->root_entries) == root->entries &&
	       le64_to_cpu(image->root_address) == root->address &&
	       le32_to_cpu(image->root_segment) == root->segment;
}

/*
 * Checks the save area and loads the registers and the number of jobs from it. The translation lock
 * is held. Returns a fault reason or 0.
 */
u32 pagoda_engine_job_load(struct pagoda_job *job)
{
	struct virtio_pagoda_context_image image;
	u32 i, reason;
	u8 *here;

	pagoda_shim_assert_held(&job->exec.engine->translation);
	/*
	 * The job's end saves the registers: refuse a read-only save area before the first command.
	 */
	reason = image_find(job, VIRTIO_PAGODA_ACCESS_WRITE, &here);
	if (reason)
		return reason;
	memcpy(&image, here, sizeof(image));
	if (!image_matches(job, &image))
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_BAD_CONTEXT,
					 le64_to_cpu(job->execute->image_address));
	for (i = 0; i < VIRTIO_PAGODA_REGISTERS; i++)
		job->registers[i] = le64_to_cpu(image.saved[i]);
	job->jobs = le64_to_cpu(image.saved[PAGODA_SAVED_JOBS]);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Stores the registers and the incremented number of jobs in the save area. The translation lock is
 * held. Returns a fault reason or 0.
 */
u32 pagoda_engine_job_save(struct pagoda_job *job)
{
	__le64 saved[PAGODA_SAVED_JOBS + 1];
	u32 i, reason;
	u8 *here;

	pagoda_shim_assert_held(&job->exec.engine->translation);
	pagoda_engine_translation_forget(&job->exec);
	reason = image_find(job, VIRTIO_PAGODA_ACCESS_WRITE, &here);
	if (reason)
		return reason;
	for (i = 0; i < VIRTIO_PAGODA_REGISTERS; i++)
		saved[i] = cpu_to_le64(job->registers[i]);
	saved[PAGODA_SAVED_JOBS] = cpu_to_le64(job->jobs + 1);
	memcpy(here + offsetof(struct virtio_pagoda_context_image, saved), saved, sizeof(saved));
	pagoda_engine_wrote(job->exec.engine, here, sizeof(struct virtio_pagoda_context_image));
	return VIRTIO_PAGODA_FAULT_NONE;
}
