// SPDX-License-Identifier: GPL-2.0
/* Executes commands byte by byte or element by element: a model to compare the engine with. */
#include "command_model.h"

#define MODEL_READ	VIRTIO_PAGODA_ACCESS_READ
#define MODEL_WRITE	VIRTIO_PAGODA_ACCESS_WRITE
#define MODEL_FETCH	VIRTIO_PAGODA_ACCESS_FETCH

/* A command, as words and by type. */
union model_command {
	__le64 words[10];
	struct virtio_pagoda_command head;
	struct virtio_pagoda_copy copy;
	struct virtio_pagoda_fill_words fill;
	struct virtio_pagoda_store store;
	struct virtio_pagoda_compare compare;
	struct virtio_pagoda_atomic_add add;
	struct virtio_pagoda_copy_rect rect;
	struct virtio_pagoda_wait wait;
	struct virtio_pagoda_signal signal;
	struct virtio_pagoda_timestamp timestamp;
	struct virtio_pagoda_branch branch;
	struct virtio_pagoda_compute compute;
	struct virtio_pagoda_reduce reduce;
	struct virtio_pagoda_set_register set;
	struct virtio_pagoda_store_register put;
};

static u32 model_size(u32 opcode)
{
	static const u32 sizes[VIRTIO_PAGODA_COMMAND_COUNT] = {
#define MODEL_SIZE(NAME, name, number)[number] = sizeof(struct virtio_pagoda_##name),
		VIRTIO_PAGODA_COMMANDS(MODEL_SIZE)
#undef MODEL_SIZE
	};

	return opcode < VIRTIO_PAGODA_COMMAND_COUNT ? sizes[opcode] : 0;
}

static enum command_model_end model_refuse(struct command_model *model, u32 reason)
{
	model->reason = reason;
	return COMMAND_MODEL_REFUSED;
}

/*
 * Returns a pointer to the byte at @va, or NULL after a fault, which @model describes then. For a
 * page of zeros returns @zero: *@zero is 0, and what the caller writes to *@zero is dropped.
 */
static u8 *model_byte(struct command_model *model, u64 va, u32 access, u8 *zero)
{
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;
	u8 *here = model->byte(model->priv, va, access, &reason);

	*zero = 0;
	if (!reason)
		return here ? here : zero;
	model->reason = reason;
	model->fault = va;
	model->access = access;
	return NULL;
}

static bool model_load(struct command_model *model, u64 va, u32 size, u32 access, u64 *value)
{
	u8 zero, *here;
	u32 i;

	*value = 0;
	for (i = 0; i < size; i++) {
		here = model_byte(model, va + i, access, &zero);
		if (!here)
			return false;
		*value |= (u64)*here << 8 * i;
	}
	return true;
}

static bool model_store(struct command_model *model, u64 va, u32 size, u64 value)
{
	u8 zero, *here;
	u32 i;

	for (i = 0; i < size; i++) {
		here = model_byte(model, va + i, MODEL_WRITE, &zero);
		if (!here)
			return false;
		*here = value >> 8 * i;
	}
	return true;
}

/* Returns whether two ranges don't overlap, by differences: their ends may not fit into 64 bits. */
static bool model_apart(u64 a, u64 a_size, u64 b, u64 b_size)
{
	return b - a >= a_size && a - b >= b_size;
}

static enum command_model_end model_memory(struct command_model *model, bool ok)
{
	return ok ? COMMAND_MODEL_DONE : COMMAND_MODEL_FAULT;
}

static bool model_move(struct command_model *model, u64 from, u64 to)
{
	u8 zeros[2], *src, *dst;

	src = model_byte(model, from, MODEL_READ, &zeros[0]);
	dst = src ? model_byte(model, to, MODEL_WRITE, &zeros[1]) : NULL;
	if (dst)
		*dst = *src;
	return dst;
}

static enum command_model_end model_copy(struct command_model *model,
					 const struct virtio_pagoda_copy *copy)
{
	u64 src = le64_to_cpu(copy->src), dst = le64_to_cpu(copy->dst), i;
	u64 size = le64_to_cpu(copy->size);

	if (!size)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE);
	if (!model_apart(src, size, dst, size))
		return model_refuse(model, VIRTIO_PAGODA_FAULT_OVERLAP);
	for (i = 0; i < size; i++)
		if (!model_move(model, src + i, dst + i))
			return COMMAND_MODEL_FAULT;
	return COMMAND_MODEL_DONE;
}

static enum command_model_end model_fill(struct command_model *model,
					 const struct virtio_pagoda_fill_words *fill)
{
	u64 dst = le64_to_cpu(fill->dst), size = le64_to_cpu(fill->size), i;

	if (fill->reserved)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_RESERVED);
	if (!size)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE);
	if (size % 4 || dst % 4)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_MISALIGNED);
	for (i = 0; i < size; i += 4)
		if (!model_store(model, dst + i, 4, le32_to_cpu(fill->pattern)))
			return COMMAND_MODEL_FAULT;
	return COMMAND_MODEL_DONE;
}

static enum command_model_end model_compare(struct command_model *model,
					    const struct virtio_pagoda_compare *compare, u32 size)
{
	u64 address = le64_to_cpu(compare->address), mask = le64_to_cpu(compare->mask), value;

	if ((size == 4 && mask >> 32) || le64_to_cpu(compare->value) & ~mask)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_RESERVED);
	if (address % size)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_MISALIGNED);
	if (!model_load(model, address, size, MODEL_READ, &value))
		return COMMAND_MODEL_FAULT;
	if ((value & mask) == le64_to_cpu(compare->value))
		return COMMAND_MODEL_DONE;
	model->reason = VIRTIO_PAGODA_FAULT_COMPARE;
	model->fault = address;
	model->access = MODEL_READ;
	return COMMAND_MODEL_FAULT;
}

static enum command_model_end model_add(struct command_model *model,
					const struct virtio_pagoda_atomic_add *add, u32 size)
{
	u64 address = le64_to_cpu(add->address), result = le64_to_cpu(add->result), old;

	if (size == 4 && le64_to_cpu(add->value) >> 32)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_RESERVED);
	if (address % size || result % size)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_MISALIGNED);
	if (!model_load(model, address, size, MODEL_WRITE, &old) ||
	    !model_store(model, address, size, old + le64_to_cpu(add->value)))
		return COMMAND_MODEL_FAULT;
	return model_memory(model, !result || model_store(model, result, size, old));
}

/* Checks and stores a value of @size bytes: what STORE, SIGNAL and STORE_REGISTER do. */
static enum command_model_end model_put(struct command_model *model, u64 address, u32 size,
					u64 value)
{
	if (size == 4 && value >> 32)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_RESERVED);
	if (address % size)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_MISALIGNED);
	return model_memory(model, model_store(model, address, size, value));
}

static enum command_model_end model_wait(struct command_model *model,
					 const struct virtio_pagoda_wait *wait)
{
	u64 value;

	if (le64_to_cpu(wait->address) % 8)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_MISALIGNED);
	if (!model_load(model, le64_to_cpu(wait->address), 8, MODEL_READ, &value))
		return COMMAND_MODEL_FAULT;
	return value >= le64_to_cpu(wait->value) ? COMMAND_MODEL_DONE : COMMAND_MODEL_STOPPED;
}

static u32 model_tile(u32 tiling)
{
	return tiling == VIRTIO_PAGODA_TILING_4K ? 64 : 256;
}

/*
 * Returns the offset in a surface of byte @column of row @row: a tiled surface is rows of tiles,
 * and a tile is rows of bytes.
 */
u64 command_model_offset(const struct virtio_pagoda_surface *surface, u64 row, u64 column)
{
	u64 pitch = le32_to_cpu(surface->pitch), width, tile;

	if (!surface->tiling)
		return row * pitch + column;
	width = model_tile(le32_to_cpu(surface->tiling));
	tile = row / width * (pitch / width) + column / width;
	return tile * width * width + row % width * width + column % width;
}

static u32 model_surface(const struct virtio_pagoda_surface *surface,
			 const struct virtio_pagoda_copy_rect *rect)
{
	u32 tiling = le32_to_cpu(surface->tiling), pitch = le32_to_cpu(surface->pitch);
	u64 right = (u64)le32_to_cpu(surface->x) + le32_to_cpu(rect->width);
	u64 bottom = (u64)le32_to_cpu(surface->y) + le32_to_cpu(rect->rows);
	u32 height = le32_to_cpu(surface->height);

	if (surface->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (tiling > VIRTIO_PAGODA_TILING_64K || !pitch || pitch > 65536 || !height ||
	    (tiling && (pitch % model_tile(tiling) || height % model_tile(tiling))))
		return VIRTIO_PAGODA_FAULT_BAD_LAYOUT;
	if (right > pitch || bottom > height)
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	return tiling && le64_to_cpu(surface->address) % 4096 ? VIRTIO_PAGODA_FAULT_MISALIGNED :
								VIRTIO_PAGODA_FAULT_NONE;
}

static enum command_model_end model_rect(struct command_model *model,
					 const struct virtio_pagoda_copy_rect *rect)
{
	const struct virtio_pagoda_surface *src = &rect->src, *dst = &rect->dst;
	u32 rows = le32_to_cpu(rect->rows), width = le32_to_cpu(rect->width), reason, row, i;
	u64 from = le64_to_cpu(src->address), to = le64_to_cpu(dst->address);

	reason = width && rows ? model_surface(src, rect) : VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	if (!reason)
		reason = model_surface(dst, rect);
	if (!reason && !model_apart(from, (u64)le32_to_cpu(src->pitch) * le32_to_cpu(src->height),
				    to, (u64)le32_to_cpu(dst->pitch) * le32_to_cpu(dst->height)))
		reason = VIRTIO_PAGODA_FAULT_OVERLAP;
	if (reason)
		return model_refuse(model, reason);
	for (row = 0; row < rows; row++)
		for (i = 0; i < width; i++)
			if (!model_move(model,
					from + command_model_offset(src,
								    le32_to_cpu(src->y) + row,
								    le32_to_cpu(src->x) + i),
					to + command_model_offset(dst,
								  le32_to_cpu(dst->y) + row,
								  le32_to_cpu(dst->x) + i)))
				return COMMAND_MODEL_FAULT;
	return COMMAND_MODEL_DONE;
}

static u32 model_compute_check(const struct virtio_pagoda_compute *compute)
{
	u64 count = le64_to_cpu(compute->count), dst = le64_to_cpu(compute->dst);
	u64 operands[] = {
		le64_to_cpu(compute->a), le64_to_cpu(compute->b), le64_to_cpu(compute->c),
	};
	u32 operation = le32_to_cpu(compute->operation);
	u64 bytes = count < 1ull << 62 ? count * 4 : ~0ull;
	bool three = operation == VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD;
	u32 i;

	if (operation < 1 || operation > 3)
		return VIRTIO_PAGODA_FAULT_BAD_COMMAND;
	if (compute->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (!count)
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	for (i = 0; i < 2 + three; i++) {
		if (operands[i] % 4)
			return VIRTIO_PAGODA_FAULT_MISALIGNED;
		if (operands[i] != dst && !model_apart(operands[i], bytes, dst, bytes))
			return VIRTIO_PAGODA_FAULT_OVERLAP;
	}
	if (!three && operands[2])
		return VIRTIO_PAGODA_FAULT_RESERVED;
	return dst % 4 ? VIRTIO_PAGODA_FAULT_MISALIGNED : VIRTIO_PAGODA_FAULT_NONE;
}

static enum command_model_end model_compute(struct command_model *model,
					    const struct virtio_pagoda_compute *compute)
{
	u32 operation = le32_to_cpu(compute->operation), reason = model_compute_check(compute);
	u64 a, b, c = 0, i;

	if (reason)
		return model_refuse(model, reason);
	for (i = 0; i < le64_to_cpu(compute->count); i++) {
		if (!model_load(model, le64_to_cpu(compute->a) + 4 * i, 4, MODEL_READ, &a) ||
		    !model_load(model, le64_to_cpu(compute->b) + 4 * i, 4, MODEL_READ, &b))
			return COMMAND_MODEL_FAULT;
		if (operation == VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD) {
			if (!model_load(model, le64_to_cpu(compute->c) + 4 * i, 4, MODEL_READ, &c))
				return COMMAND_MODEL_FAULT;
			a = a * b + c;
		} else {
			a = operation == VIRTIO_PAGODA_COMPUTE_ADD ? a + b : a ^ b;
		}
		if (!model_store(model, le64_to_cpu(compute->dst) + 4 * i, 4, a))
			return COMMAND_MODEL_FAULT;
	}
	return COMMAND_MODEL_DONE;
}

static enum command_model_end model_reduce(struct command_model *model,
					   const struct virtio_pagoda_reduce *reduce)
{
	u64 r = le64_to_cpu(reduce->initial), value, i;
	u32 operation = le32_to_cpu(reduce->operation);

	if (operation < 1 || operation > 2)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_BAD_COMMAND);
	if (reduce->reserved)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_RESERVED);
	if (!reduce->count)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE);
	if (le64_to_cpu(reduce->src) % 4 || le64_to_cpu(reduce->dst) % 8)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_MISALIGNED);
	for (i = 0; i < le64_to_cpu(reduce->count); i++) {
		if (!model_load(model, le64_to_cpu(reduce->src) + 4 * i, 4, MODEL_READ, &value))
			return COMMAND_MODEL_FAULT;
		r = operation == 1 ? r + value : (r ^ value) * 0x100000001b3ull;
	}
	return model_memory(model, model_store(model, le64_to_cpu(reduce->dst), 8, r));
}

static enum command_model_end model_branch(struct command_model *model,
					   const struct virtio_pagoda_branch *branch)
{
	u64 address = le64_to_cpu(branch->address), size = le64_to_cpu(branch->size);

	if (address % 8 || size % 8)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_MISALIGNED);
	if (size > 1ull << 30)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE);
	model->address = address;
	model->left = size;
	return COMMAND_MODEL_DONE;
}

static enum command_model_end model_register(struct command_model *model,
					     const union model_command *command, bool put)
{
	const struct virtio_pagoda_set_register *set = &command->set;
	u32 number = le32_to_cpu(set->number);

	if (number >= VIRTIO_PAGODA_REGISTERS)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE);
	if (set->reserved)
		return model_refuse(model, VIRTIO_PAGODA_FAULT_RESERVED);
	if (put)
		return model_put(model, le64_to_cpu(command->put.address), 8,
				 model->registers[number]);
	if (!(le16_to_cpu(command->head.flags) & VIRTIO_PAGODA_COMMAND_ADD))
		model->registers[number] = 0;
	model->registers[number] += le64_to_cpu(set->value);
	return COMMAND_MODEL_DONE;
}

static enum command_model_end model_execute(struct command_model *model,
					    const union model_command *command)
{
	u32 size = le16_to_cpu(command->head.flags) & VIRTIO_PAGODA_COMMAND_WIDE ? 8 : 4;

	switch (le16_to_cpu(command->head.opcode)) {
	case VIRTIO_PAGODA_COMMAND_NOP:
		return COMMAND_MODEL_DONE;
	case VIRTIO_PAGODA_COMMAND_COPY:
		return model_copy(model, &command->copy);
	case VIRTIO_PAGODA_COMMAND_FILL:
		return model_fill(model, &command->fill);
	case VIRTIO_PAGODA_COMMAND_STORE:
		return model_put(model, le64_to_cpu(command->store.address), size,
				 le64_to_cpu(command->store.value));
	case VIRTIO_PAGODA_COMMAND_COMPARE:
		return model_compare(model, &command->compare, size);
	case VIRTIO_PAGODA_COMMAND_ATOMIC_ADD:
		return model_add(model, &command->add, size);
	case VIRTIO_PAGODA_COMMAND_COPY_RECT:
		return model_rect(model, &command->rect);
	case VIRTIO_PAGODA_COMMAND_WAIT:
		return model_wait(model, &command->wait);
	case VIRTIO_PAGODA_COMMAND_SIGNAL:
		return model_put(model, le64_to_cpu(command->signal.address), 8,
				 le64_to_cpu(command->signal.value));
	case VIRTIO_PAGODA_COMMAND_BRANCH:
		return model_branch(model, &command->branch);
	case VIRTIO_PAGODA_COMMAND_COMPUTE:
		return model_compute(model, &command->compute);
	case VIRTIO_PAGODA_COMMAND_REDUCE:
		return model_reduce(model, &command->reduce);
	case VIRTIO_PAGODA_COMMAND_SET_REGISTER:
		return model_register(model, command, false);
	case VIRTIO_PAGODA_COMMAND_STORE_REGISTER:
		return model_register(model, command, true);
	default:
		return COMMAND_MODEL_CUT;
	}
}

static u16 model_flags(u32 opcode)
{
	switch (opcode) {
	case VIRTIO_PAGODA_COMMAND_STORE:
	case VIRTIO_PAGODA_COMMAND_COMPARE:
	case VIRTIO_PAGODA_COMMAND_ATOMIC_ADD:
	case VIRTIO_PAGODA_COMMAND_SIGNAL:
	case VIRTIO_PAGODA_COMMAND_SET_REGISTER:
		return 1;
	default:
		return 0;
	}
}

static enum command_model_end model_command(struct command_model *model)
{
	union model_command command = {};
	u32 opcode, length, i;
	u64 word;

	if (!model_load(model, model->address, 8, MODEL_FETCH, &word))
		return COMMAND_MODEL_FAULT;
	command.words[0] = cpu_to_le64(word);
	opcode = le16_to_cpu(command.head.opcode);
	length = le32_to_cpu(command.head.length);
	if (!model_size(opcode))
		return model_refuse(model, VIRTIO_PAGODA_FAULT_BAD_COMMAND);
	if (length > model->left || length % 8 || length < model_size(opcode) ||
	    (length != model_size(opcode) && opcode != VIRTIO_PAGODA_COMMAND_NOP))
		return model_refuse(model, VIRTIO_PAGODA_FAULT_BAD_LENGTH);
	if (le16_to_cpu(command.head.flags) & ~model_flags(opcode))
		return model_refuse(model, VIRTIO_PAGODA_FAULT_BAD_FLAGS);
	for (i = 1; i < model_size(opcode) / 8; i++) {
		if (!model_load(model, model->address + 8 * i, 8, MODEL_FETCH, &word))
			return COMMAND_MODEL_FAULT;
		command.words[i] = cpu_to_le64(word);
	}
	model->address += length;
	model->left -= length;
	return model_execute(model, &command);
}

/*
 * Executes the commands of a buffer, and of the buffers that BRANCH continues in, until the program
 * ends; returns how the program ended.
 */
enum command_model_end command_model_execute(struct command_model *model)
{
	enum command_model_end end = COMMAND_MODEL_DONE;

	while (model->left && !end) {
		if (model->commands == model->limit)
			return COMMAND_MODEL_STOPPED;
		end = model_command(model);
		model->commands += !end;
	}
	return end;
}
