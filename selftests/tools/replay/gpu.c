// SPDX-License-Identifier: GPL-2.0
/* The GPU's part of a replay; see the header. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../include/uapi/linux/virtio_pagoda.h"
#include "gpu.h"

/*
 * Of a slot: most reads; bytes of the commands of one write, of all commands, and of commands and
 * results.
 */
#define READS_MAX	4096u
#define WRITE_BYTES	(sizeof(struct virtio_pagoda_fill_words) + \
			 sizeof(struct virtio_pagoda_copy) + sizeof(struct virtio_pagoda_store))
#define PROGRAM_BYTES	(READS_MAX * sizeof(struct virtio_pagoda_reduce))
#define SLOT_BYTES	(PROGRAM_BYTES + READS_MAX * sizeof(uint64_t))

/*
 * Alignment of addresses: allocations of 2 MiB and more begin where a page of 2 MiB can be used.
 * Smaller ones begin at multiples of 64 KiB, so that several share a page table: a page table for
 * each would take a good part of VRAM.
 */
#define LARGE_PAGE	(2 * PAGODA_MIB)
#define MIDDLE_PAGE	(64 * PAGODA_KIB)

int gpu_is_there(int fd)
{
	static const uint64_t needed = 1ull << VIRTIO_PAGODA_F_EXECUTE |
		1ull << VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE);
	struct drm_pagoda_device_info info;
	int ret = pagoda_device(fd, &info);

	return ret ? ret : (info.features & needed) == needed;
}

static uint64_t memory_bytes(const struct gpu *gpu)
{
	return gpu->nr_slots * SLOT_BYTES;
}

/*
 * Creates the slots' programs and results, in an allocation that is private to the VM, so that no
 * batch has to name it. Returns 0 or a negative errno.
 */
static int memory_make(struct gpu *gpu)
{
	uint64_t address, bytes = memory_bytes(gpu);
	uint32_t n;
	int ret;

	ret = pagoda_create_private(gpu->fd, gpu->vm, bytes,
				    DRM_PAGODA_ALLOCATION_CPU_VISIBLE |
				    DRM_PAGODA_ALLOCATION_CACHED, PAGODA_IN_APERTURE, &gpu->memory);
	if (!ret)
		ret = gpu_bind(gpu, gpu->memory, bytes, &address);
	if (ret)
		return ret;
	gpu->map = pagoda_map(gpu->fd, gpu->memory, bytes);
	if (!gpu->map)
		return -errno;
	for (n = 0; n < gpu->nr_slots; n++) {
		struct gpu_slot *slot = &gpu->slots[n];

		slot->program.memory = (uint8_t *)gpu->map + n * SLOT_BYTES;
		slot->program.address = address + n * SLOT_BYTES;
		slot->program.room = PROGRAM_BYTES;
		slot->results = (uint64_t *)(slot->program.memory + PROGRAM_BYTES);
		slot->address = slot->program.address + PROGRAM_BYTES;
		slot->reads = calloc(READS_MAX, sizeof(*slot->reads));
		if (!slot->reads)
			return -ENOMEM;
	}
	return 0;
}

int gpu_init(struct gpu *gpu, uint32_t nr_slots)
{
	gpu->slots = calloc(nr_slots, sizeof(*gpu->slots));
	gpu->nr_slots = gpu->slots ? nr_slots : 0;
	return gpu->slots ? 0 : -ENOMEM;
}

int gpu_open(struct gpu *gpu, int fd)
{
	struct drm_pagoda_vm_create vm = { 0 };
	int ret;

	gpu->fd = fd;
	ret = pagoda_vm_create(fd, &vm);
	if (ret)
		return ret;
	gpu->vm = vm.vm;
	gpu->next = vm.start;
	ret = pagoda_context_create(fd, gpu->vm, &gpu->context);
	return ret ? ret : memory_make(gpu);
}

void gpu_close(struct gpu *gpu)
{
	uint32_t n;

	for (n = 0; n < gpu->nr_slots; n++)
		free(gpu->slots[n].reads);
	free(gpu->slots);
	if (gpu->context)
		pagoda_context_destroy(gpu->fd, gpu->context);
	if (gpu->map)
		munmap(gpu->map, memory_bytes(gpu));
	if (gpu->memory)
		pagoda_close(gpu->fd, gpu->memory);
	if (gpu->vm)
		pagoda_vm_destroy(gpu->fd, gpu->vm);
}

int gpu_bind(struct gpu *gpu, uint32_t handle, uint64_t size, uint64_t *address)
{
	uint64_t page = size < LARGE_PAGE ? MIDDLE_PAGE : LARGE_PAGE;

	*address = (gpu->next + page - 1) / page * page;
	gpu->next = *address + size;
	return pagoda_bind_map(gpu->fd, gpu->vm, handle, *address, 0, size);
}

void gpu_begin(struct gpu_slot *slot)
{
	slot->program.used = 0;
	slot->count = 0;
}

bool gpu_has_room(const struct gpu_slot *slot)
{
	return slot->count < READS_MAX && slot->program.room - slot->program.used >= WRITE_BYTES;
}

void gpu_read(struct gpu_slot *slot, const struct gpu_read *read, uint64_t address)
{
	uint32_t n = slot->count++;

	slot->reads[n] = *read;
	/* A wrong result, which stays if the command isn't executed. */
	slot->results[n] = ~read->expected;
	pagoda_reduce(&slot->program, VIRTIO_PAGODA_REDUCE_HASH, read->size / sizeof(uint32_t),
		      address, slot->address + n * sizeof(*slot->results), 0);
}

void gpu_write(struct gpu_slot *slot, uint64_t address, uint64_t size, uint32_t word,
	       uint64_t offset, uint32_t mark)
{
	uint64_t half = size / 2;

	pagoda_fill_words(&slot->program, address, half, word);
	pagoda_copy(&slot->program, address, address + half, half);
	pagoda_store(&slot->program, address + offset, (uint64_t)mark << 32 | mark);
}

int gpu_submit(struct gpu *gpu, const struct gpu_slot *slot,
	       const struct drm_pagoda_submit_entry *entries, uint32_t count, uint32_t syncobj,
	       uint64_t point)
{
	struct drm_pagoda_command_buffer buffer = {
		.address = slot->program.address, .size = slot->program.used,
	};
	struct drm_pagoda_sync sync = {
		.handle = syncobj,
		.flags = DRM_PAGODA_SYNC_SIGNAL,
		.point = point,
	};
	struct drm_pagoda_submit args = {
		.buffers = { (uintptr_t)&buffer, buffer.size ? 1 : 0, sizeof(buffer) },
		.syncs = { (uintptr_t)&sync, 1, sizeof(sync) },
		.entries = { (uintptr_t)entries, count, sizeof(*entries) },
		.context = gpu->context,
	};

	return pagoda_submit_args(gpu->fd, &args);
}

void gpu_explain(const struct gpu *gpu)
{
	struct drm_pagoda_context_state state;

	if (pagoda_context_state(gpu->fd, gpu->context, &state) || !state.state)
		return;
	fprintf(stderr, "replay: the context's state is %x: job %llu of %llu, reason %u, ",
		state.state, (unsigned long long)state.job, (unsigned long long)state.submitted,
		state.reason);
	fprintf(stderr, "access %u to 0x%llx, level %u, by the command at 0x%llx\n", state.access,
		(unsigned long long)state.address, state.level, (unsigned long long)state.command);
}
