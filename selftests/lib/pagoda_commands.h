/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs for the GPU, built in memory that CPU and GPU have mapped. Each function appends a
 * command; a command without room isn't written, and the program is marked as too long.
 */
#ifndef PAGODA_COMMANDS_H
#define PAGODA_COMMANDS_H

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "../../include/uapi/linux/virtio_pagoda_commands.h"
#include "pagoda_lib.h"

/*
 * A program in @memory, which the GPU sees at @address: @used of @room bytes are commands.
 * @too_long: a command had no room
 */
struct pagoda_program {
	uint8_t *memory;
	uint64_t address;
	uint32_t room;
	uint32_t used;
	bool too_long;
};

/*
 * Appends a command of @size bytes, with all fields zero but opcode, flags and length. Returns the
 * command, for the caller to fill in, or, without room, memory that isn't part of the program.
 */
static inline void *pagoda_command(struct pagoda_program *program, uint16_t opcode, uint16_t flags,
				   uint32_t size)
{
	static __thread uint8_t nowhere[256];
	struct virtio_pagoda_command *command;

	if (program->room - program->used < size) {
		program->too_long = true;
		return nowhere;
	}
	command = (void *)(program->memory + program->used);
	memset(command, 0, size);
	command->opcode = htole16(opcode);
	command->flags = htole16(flags);
	command->length = htole32(size);
	program->used += size;
	return command;
}

#define PAGODA_COMMAND(program, NAME, type, flags) \
	((struct virtio_pagoda_##type *)pagoda_command(program, VIRTIO_PAGODA_COMMAND_##NAME, \
						       flags, sizeof(struct virtio_pagoda_##type)))

static inline void pagoda_store(struct pagoda_program *program, uint64_t address, uint64_t value)
{
	struct virtio_pagoda_store *store =
		PAGODA_COMMAND(program, STORE, store, VIRTIO_PAGODA_COMMAND_WIDE);

	store->address = htole64(address);
	store->value = htole64(value);
}

static inline void pagoda_compare(struct pagoda_program *program, uint64_t address, uint64_t value)
{
	struct virtio_pagoda_compare *compare =
		PAGODA_COMMAND(program, COMPARE, compare, VIRTIO_PAGODA_COMMAND_WIDE);

	compare->address = htole64(address);
	compare->value = htole64(value);
	compare->mask = htole64(~0ull);
}

static inline void pagoda_add(struct pagoda_program *program, uint64_t address, uint64_t value,
			      uint64_t result)
{
	struct virtio_pagoda_atomic_add *add =
		PAGODA_COMMAND(program, ATOMIC_ADD, atomic_add, VIRTIO_PAGODA_COMMAND_WIDE);

	add->address = htole64(address);
	add->value = htole64(value);
	add->result = htole64(result);
}

static inline void pagoda_copy(struct pagoda_program *program, uint64_t src, uint64_t dst,
			       uint64_t size)
{
	struct virtio_pagoda_copy *copy = PAGODA_COMMAND(program, COPY, copy, 0);

	copy->src = htole64(src);
	copy->dst = htole64(dst);
	copy->size = htole64(size);
}

static inline void pagoda_fill_words(struct pagoda_program *program, uint64_t dst, uint64_t size,
				     uint32_t pattern)
{
	struct virtio_pagoda_fill_words *fill = PAGODA_COMMAND(program, FILL, fill_words, 0);

	fill->dst = htole64(dst);
	fill->size = htole64(size);
	fill->pattern = htole32(pattern);
}

static inline void pagoda_compute(struct pagoda_program *program, uint32_t operation,
				  uint64_t count, uint64_t dst, uint64_t a, uint64_t b, uint64_t c)
{
	struct virtio_pagoda_compute *compute = PAGODA_COMMAND(program, COMPUTE, compute, 0);

	compute->operation = htole32(operation);
	compute->count = htole64(count);
	compute->dst = htole64(dst);
	compute->a = htole64(a);
	compute->b = htole64(b);
	compute->c = htole64(c);
}

static inline void pagoda_reduce(struct pagoda_program *program, uint32_t operation,
				 uint64_t count, uint64_t src, uint64_t dst, uint64_t initial)
{
	struct virtio_pagoda_reduce *reduce = PAGODA_COMMAND(program, REDUCE, reduce, 0);

	reduce->operation = htole32(operation);
	reduce->count = htole64(count);
	reduce->src = htole64(src);
	reduce->dst = htole64(dst);
	reduce->initial = htole64(initial);
}

static inline void pagoda_branch(struct pagoda_program *program, uint64_t address, uint64_t size)
{
	struct virtio_pagoda_branch *branch = PAGODA_COMMAND(program, BRANCH, branch, 0);

	branch->address = htole64(address);
	branch->size = htole64(size);
}

/* Appends a branch back to byte @start of the program, so that the program never ends. */
static inline void pagoda_forever(struct pagoda_program *program, uint32_t start)
{
	pagoda_branch(program, program->address + start, program->used - start +
		      sizeof(struct virtio_pagoda_branch));
}

#endif
