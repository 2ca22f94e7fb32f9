// SPDX-License-Identifier: GPL-2.0
/* Makes commands at random, most of them valid, and changes commands. */
#include "job.h"

#define JOB_LONGEST	128u	/* bytes; no command that is made is longer */

static u64 job_address(u32 alignment)
{
	static const struct {
		u32 page, pages;
	} places[] = {
		{ JOB_VRAM, 12 }, { JOB_VRAM, 12 }, { JOB_SYSTEM, 20 }, { JOB_SYSTEM, 20 },
		{ JOB_APERTURE, 8 }, { JOB_APERTURE, 8 }, { JOB_64K, 16 }, { JOB_64K, 16 },
		{ JOB_64K + 16, 16 }, { JOB_ZERO, 8 }, { JOB_ODD, 6 }, { JOB_CODE, 2 },
		{ JOB_ODD, 8 }, { JOB_64K + 30, 4 },
	};
	u32 place = fuzz_pick(fuzz_chance(85) ? 10 : ARRAY_SIZE(places));
	u64 page = places[place].page + fuzz_pick(places[place].pages), offset;

	offset = fuzz_chance(40) ? FUZZ_PAGE - alignment - fuzz_pick(80) : fuzz_pick(FUZZ_PAGE);
	if (fuzz_chance(20))
		offset = 0;
	return (page * FUZZ_PAGE + offset) & ~(u64)(alignment - 1);
}

static u32 job_size(void)
{
	return 1 + (fuzz_chance(50) ? fuzz_pick(200) : fuzz_pick(3 * FUZZ_PAGE));
}

static void job_surface(struct virtio_pagoda_surface *surface, u32 width, u32 rows)
{
	u32 tiling = fuzz_pick(VIRTIO_PAGODA_TILING_COUNT);
	u32 tile = tiling ? 64 << 2 * (tiling - 1) : 1;
	u32 x = fuzz_pick(70), y = fuzz_pick(20);

	surface->address = cpu_to_le64(job_address(tiling ? FUZZ_PAGE : 1));
	surface->tiling = cpu_to_le32(tiling);
	surface->pitch = cpu_to_le32((x + width + fuzz_pick(9) + tile - 1) / tile * tile);
	surface->height = cpu_to_le32((y + rows + tile - 1) / tile * tile);
	surface->x = cpu_to_le32(x);
	surface->y = cpu_to_le32(y);
}

static void job_rect(struct virtio_pagoda_copy_rect *rect)
{
	u32 width = 1 + fuzz_pick(150), rows = 1 + fuzz_pick(40);

	rect->width = cpu_to_le32(width);
	rect->rows = cpu_to_le32(rows);
	job_surface(&rect->src, width, rows);
	job_surface(&rect->dst, width, rows);
}

static void job_arrays(void *command, u32 opcode)
{
	struct virtio_pagoda_compute *compute = command;
	struct virtio_pagoda_reduce *reduce = command;

	if (opcode == VIRTIO_PAGODA_COMMAND_REDUCE) {
		reduce->operation = cpu_to_le32(1 + fuzz_pick(2));
		reduce->count = cpu_to_le64(job_size());
		reduce->src = cpu_to_le64(job_address(4));
		reduce->dst = cpu_to_le64(job_address(8));
		return;
	}
	compute->operation = cpu_to_le32(1 + fuzz_pick(3));
	compute->count = cpu_to_le64(job_size());
	compute->a = cpu_to_le64(job_address(4));
	compute->b = cpu_to_le64(job_address(4));
	if (compute->operation == cpu_to_le32(VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD))
		compute->c = cpu_to_le64(job_address(4));
	compute->dst = fuzz_chance(30) ? compute->a : cpu_to_le64(job_address(4));
}

/* Fills in a command whose first field is an address, and whose next is a value, if any. */
static void job_value(struct virtio_pagoda_atomic_add *command, u32 opcode)
{
	struct virtio_pagoda_compare *compare = (void *)command;
	bool wide = le16_to_cpu(command->command.flags) & VIRTIO_PAGODA_COMMAND_WIDE;

	command->address = cpu_to_le64(job_address(8));
	if (opcode == VIRTIO_PAGODA_COMMAND_TIMESTAMP)
		return;
	command->value = cpu_to_le64(fuzz_pick(~0u));
	switch (opcode) {
	case VIRTIO_PAGODA_COMMAND_COMPARE:
		compare->mask = cpu_to_le64(wide ? 0xff00ff : 1);
		compare->value &= compare->mask;
		break;
	case VIRTIO_PAGODA_COMMAND_ATOMIC_ADD:
		command->result = fuzz_chance(50) ? cpu_to_le64(job_address(8)) : 0;
		break;
	case VIRTIO_PAGODA_COMMAND_WAIT:
		command->value = fuzz_chance(80) ? 0 : command->value;
		break;
	}
}

static void job_registers(struct virtio_pagoda_store_register *command, u32 opcode)
{
	command->number = cpu_to_le32(fuzz_pick(VIRTIO_PAGODA_REGISTERS));
	command->address = cpu_to_le64(opcode == VIRTIO_PAGODA_COMMAND_STORE_REGISTER ?
				       job_address(8) : fuzz_pick(~0u));
}

static void job_ranges(void *command, u32 opcode)
{
	struct virtio_pagoda_fill_words *fill = command;
	struct virtio_pagoda_branch *branch = command;
	struct virtio_pagoda_copy *copy = command;

	switch (opcode) {
	case VIRTIO_PAGODA_COMMAND_COPY:
		copy->src = cpu_to_le64(job_address(1));
		copy->dst = cpu_to_le64(job_address(1));
		copy->size = cpu_to_le64(job_size());
		break;
	case VIRTIO_PAGODA_COMMAND_FILL:
		fill->dst = cpu_to_le64(job_address(4));
		fill->size = cpu_to_le64(job_size() * 4ull);
		fill->pattern = cpu_to_le32(fuzz_pick(~0u));
		break;
	case VIRTIO_PAGODA_COMMAND_BRANCH:
		branch->address = cpu_to_le64(JOB_CODE * FUZZ_PAGE + 8 * fuzz_pick(64));
		branch->size = cpu_to_le64(8 * fuzz_pick(256));
		break;
	}
}

static u32 job_command_size(u32 opcode)
{
	static const u32 sizes[VIRTIO_PAGODA_COMMAND_COUNT] = {
#define JOB_COMMAND_SIZE(NAME, name, number)[number] = sizeof(struct virtio_pagoda_##name),
		VIRTIO_PAGODA_COMMANDS(JOB_COMMAND_SIZE)
#undef JOB_COMMAND_SIZE
	};

	return opcode < VIRTIO_PAGODA_COMMAND_COUNT ? sizes[opcode] : 0;
}

/* Makes a command at @data; returns its size in bytes. */
static u32 job_make_command(u8 *data)
{
	struct virtio_pagoda_command *head = (void *)data;
	u32 opcode = 1 + fuzz_pick(VIRTIO_PAGODA_COMMAND_COUNT - 1);
	u32 size = job_command_size(opcode);

	if (opcode == VIRTIO_PAGODA_COMMAND_NOP)
		size += 8 * fuzz_pick(4);
	memset(data, 0, size);
	head->opcode = cpu_to_le16(opcode);
	head->length = cpu_to_le32(size);
	if (opcode >= VIRTIO_PAGODA_COMMAND_STORE && opcode <= VIRTIO_PAGODA_COMMAND_ATOMIC_ADD)
		head->flags = cpu_to_le16(fuzz_pick(2));
	switch (opcode) {
	case VIRTIO_PAGODA_COMMAND_COPY_RECT:
		job_rect((void *)data);
		break;
	case VIRTIO_PAGODA_COMMAND_COMPUTE:
	case VIRTIO_PAGODA_COMMAND_REDUCE:
		job_arrays(data, opcode);
		break;
	case VIRTIO_PAGODA_COMMAND_SET_REGISTER:
	case VIRTIO_PAGODA_COMMAND_STORE_REGISTER:
		job_registers((void *)data, opcode);
		break;
	case VIRTIO_PAGODA_COMMAND_STORE:
	case VIRTIO_PAGODA_COMMAND_COMPARE:
	case VIRTIO_PAGODA_COMMAND_ATOMIC_ADD:
	case VIRTIO_PAGODA_COMMAND_WAIT:
	case VIRTIO_PAGODA_COMMAND_SIGNAL:
	case VIRTIO_PAGODA_COMMAND_TIMESTAMP:
		job_value((void *)data, opcode);
		break;
	default:
		job_ranges(data, opcode);
	}
	return size;
}

/* Returns the offset behind the command at @offset; @size if its length is wrong or cut off. */
static u32 job_next(const u8 *data, u32 size, u32 offset)
{
	struct virtio_pagoda_command head;

	if (size - offset < sizeof(head))
		return size;
	memcpy(&head, data + offset, sizeof(head));
	if (le32_to_cpu(head.length) < 8 || le32_to_cpu(head.length) % 8 ||
	    le32_to_cpu(head.length) > size - offset)
		return size;
	return offset + le32_to_cpu(head.length);
}

static u32 job_insert(u8 *data, u32 size, u32 room, u32 at)
{
	u64 aligned[JOB_LONGEST / sizeof(u64)];
	u32 length = job_make_command((u8 *)aligned);

	if (size + length > room)
		return size;
	memmove(data + at + length, data + at, size - at);
	memcpy(data + at, aligned, length);
	return size + length;
}

/* Inserts, removes or changes a command; returns the new size in bytes, at most @room. */
u32 fuzz_job_mutate(u8 *data, u32 size, u32 room)
{
	u32 at = 0, next, skip;

	size &= ~7u;
	for (skip = fuzz_pick(16); skip && at < size; skip--)
		at = job_next(data, size, at);
	next = at < size ? job_next(data, size, at) : size;
	if (at == next || fuzz_chance(50))
		return job_insert(data, size, room, at);
	switch (fuzz_pick(4)) {
	case 0:
		memmove(data + at, data + next, size - next);
		return size - (next - at);
	case 1:
		LLVMFuzzerMutate(data + at, next - at, next - at);
		break;
	case 2:
		data[at + fuzz_pick(next - at)] ^= 1 << fuzz_pick(8);
		break;
	default:	/* writes an address to a field, which often is for an address */
		if (next - at >= 16) {
			u64 address = job_address(1u << fuzz_pick(4));

			memcpy(data + at + 8 + 8 * fuzz_pick((next - at) / 8 - 1), &address, 8);
		}
	}
	return size;
}
