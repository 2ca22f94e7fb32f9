/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Commands of the Pagoda GPU's execution engines: what a program writes into a
 * command buffer.
 *
 * A command buffer is memory in the program's GPU address space (VM) with commands, one after
 * another, each aligned to 8. The engine fetches and executes the commands in order, unless BRANCH
 * continues elsewhere, and translates every address by the page tables of that address space; no
 * command can name memory in any other way. Everything is little endian.
 *
 * The accesses of a command are not checked in advance: an access that isn't allowed stops the
 * engine in the middle of the command, with a fault that names the address, and bytes written
 * before stay written. The fields of a command are checked before the command has any effect. An
 * unknown opcode or operation faults with BAD_COMMAND, a wrong length with BAD_LENGTH, an unknown
 * flag with BAD_FLAGS, a reserved field that isn't zero with RESERVED, a value outside of the
 * limits below with OUT_OF_RANGE, MISALIGNED, OVERLAP or BAD_LAYOUT. A fault ends the job. A
 * command is fetched once: writes to its memory while the command is executed don't change what the
 * command does.
 *
 * All engines execute all commands. The commands are Pagoda's own: WDDM leaves commands to the
 * hardware.
 */
#ifndef _LINUX_VIRTIO_PAGODA_COMMANDS_H
#define _LINUX_VIRTIO_PAGODA_COMMANDS_H

#include <linux/types.h>

/**
 * VIRTIO_PAGODA_COMMANDS() - Every command
 * @X: Macro called with (NAME, name, opcode)
 */
#define VIRTIO_PAGODA_COMMANDS(X) \
	X(NOP, nop, 1) \
	X(COPY, copy, 2) \
	X(FILL, fill_words, 3) \
	X(STORE, store, 4) \
	X(COMPARE, compare, 5) \
	X(ATOMIC_ADD, atomic_add, 6) \
	X(COPY_RECT, copy_rect, 7) \
	X(WAIT, wait, 8) \
	X(SIGNAL, signal, 9) \
	X(TIMESTAMP, timestamp, 10) \
	X(BRANCH, branch, 11) \
	X(COMPUTE, compute, 12) \
	X(REDUCE, reduce, 13) \
	X(SET_REGISTER, set_register, 14) \
	X(STORE_REGISTER, store_register, 15)

/** enum virtio_pagoda_command_opcode - Opcodes of commands; 0 is never valid. */
enum virtio_pagoda_command_opcode {
#define VIRTIO_PAGODA_COMMAND_ENUM(NAME, name, opcode) VIRTIO_PAGODA_COMMAND_##NAME = (opcode),
	VIRTIO_PAGODA_COMMANDS(VIRTIO_PAGODA_COMMAND_ENUM)
#undef VIRTIO_PAGODA_COMMAND_ENUM
	VIRTIO_PAGODA_COMMAND_COUNT	/* one past the last opcode */
};

/** VIRTIO_PAGODA_COMMAND_ALIGN: commands start and end at multiples of this many bytes. */
#define VIRTIO_PAGODA_COMMAND_ALIGN	8u
/** VIRTIO_PAGODA_MAX_COMMAND_BUFFER: most bytes of a command buffer. */
#define VIRTIO_PAGODA_MAX_COMMAND_BUFFER (1ull << 30)
/** VIRTIO_PAGODA_REGISTERS: number of a context's 64-bit registers, kept in its save area. */
#define VIRTIO_PAGODA_REGISTERS		8u

/*
 * Flag of STORE, COMPARE and ATOMIC_ADD: the value has 8 bytes, without the flag 4 bytes; the
 * value's address is a multiple of its size
 */
#define VIRTIO_PAGODA_COMMAND_WIDE	(1u << 0)
/* Flag of SIGNAL: the device sends EVENT_FENCE after the store, for waiters in the driver. */
#define VIRTIO_PAGODA_COMMAND_EVENT	(1u << 0)
/* Flag of SET_REGISTER: add the value to the register instead of setting the register. */
#define VIRTIO_PAGODA_COMMAND_ADD	(1u << 0)

/**
 * struct virtio_pagoda_command - Head of every command
 * @opcode: enum virtio_pagoda_command_opcode
 * @flags: Flags that @opcode has; all other bits must be zero
 * @length: Bytes of the command, this head included: the size of its struct, except for NOP
 */
struct virtio_pagoda_command {
	__le16 opcode;
	__le16 flags;
	__le32 length;
};

/**
 * struct virtio_pagoda_nop - NOP: no effect, of any length
 * @command: Head, no flags; any length that is a multiple of 8 and ends within the command buffer:
 *	the bytes behind the head are skipped unread
 */
struct virtio_pagoda_nop {
	struct virtio_pagoda_command command;
};

/**
 * struct virtio_pagoda_copy - COPY: copy bytes from one place to another
 * @command: Head, no flags
 * @src: Address of the source
 * @dst: Address of the destination; the ranges of addresses must not overlap
 * @size: Bytes, not zero
 */
struct virtio_pagoda_copy {
	struct virtio_pagoda_command command;
	__le64 src;
	__le64 dst;
	__le64 size;
};

/**
 * struct virtio_pagoda_fill_words - FILL: store a 32-bit word repeatedly
 * @command: Head, no flags
 * @dst: Address of the destination, multiple of 4
 * @size: Bytes, multiple of 4, not zero
 * @pattern: The word
 * @reserved: Zero
 */
struct virtio_pagoda_fill_words {
	struct virtio_pagoda_command command;
	__le64 dst;
	__le64 size;
	__le32 pattern;
	__le32 reserved;
};

/**
 * struct virtio_pagoda_store - STORE: store one value, in one access
 * @command: Head; WIDE
 * @address: Address of the value, multiple of its size
 * @value: The value, of 8 bytes with WIDE, else of 4 bytes: then the upper 4 bytes are zero
 */
struct virtio_pagoda_store {
	struct virtio_pagoda_command command;
	__le64 address;
	__le64 value;
};

/**
 * struct virtio_pagoda_compare - COMPARE: fault unless memory has a value
 * @command: Head; WIDE
 * @address: Address of the value that is read, multiple of its size
 * @value: Bits that the value read must have where @mask has ones; this field must have zeros where
 *	@mask has zeros
 * @mask: Bits that are compared; without WIDE the upper 4 bytes are zero
 *
 * The fault is %VIRTIO_PAGODA_FAULT_COMPARE at @address.
 */
struct virtio_pagoda_compare {
	struct virtio_pagoda_command command;
	__le64 address;
	__le64 value;
	__le64 mask;
};

/**
 * struct virtio_pagoda_atomic_add - ATOMIC_ADD: add to a value, and store the old value elsewhere
 * @command: Head; WIDE
 * @address: Address of the value that is changed, multiple of its size; the addition is atomic
 *	towards other engines and CPUs
 * @value: The addend; without WIDE the upper 4 bytes are zero
 * @result: Address at which the old value is stored, multiple of the value's size; 0 = not stored
 */
struct virtio_pagoda_atomic_add {
	struct virtio_pagoda_command command;
	__le64 address;
	__le64 value;
	__le64 result;
};

/**
 * struct virtio_pagoda_surface - Source or destination of COPY_RECT, with the rectangle's place
 * @address: Address of the surface's first byte, page aligned when tiled
 * @tiling: enum virtio_pagoda_tiling
 * @pitch: Bytes from row to row, not zero, at most %VIRTIO_PAGODA_MAX_PITCH; tiled:
 *	multiple of the tile's width
 * @height: Rows, not zero; tiled: multiple of the tile's rows
 * @x: Offset in bytes at which the rectangle begins in each row of the surface
 * @y: First row of the rectangle
 * @reserved: Zero
 *
 * The surface is laid out as mip level 0 of a struct virtio_pagoda_layout or, with TILING_LINEAR,
 * row by row. The page tables show an allocation as it is laid out at its place: a tiled allocation
 * has its tiles only while it is in VRAM.
 */
struct virtio_pagoda_surface {
	__le64 address;
	__le32 tiling;
	__le32 pitch;
	__le32 height;
	__le32 x;
	__le32 y;
	__le32 reserved;
};

/**
 * struct virtio_pagoda_copy_rect - COPY_RECT: copy a rectangle between two surfaces of any tiling
 * @command: Head, no flags
 * @src: Source
 * @dst: Destination; the surfaces must not overlap
 * @width: Bytes of each row of the rectangle, not zero; x + @width is at most the pitch on both
 *	sides
 * @rows: Rows of the rectangle, not zero; y + @rows is at most the height on both sides
 */
struct virtio_pagoda_copy_rect {
	struct virtio_pagoda_command command;
	struct virtio_pagoda_surface src;
	struct virtio_pagoda_surface dst;
	__le32 width;
	__le32 rows;
};

/**
 * struct virtio_pagoda_wait - WAIT: wait until a 64-bit value in memory is large enough
 * @command: Head, no flags
 * @address: Address of the value, multiple of 8; usually that of a monitored fence
 * @value: The engine goes on when the unsigned value at @address is at least @value
 *
 * The engine executes no other job during the wait, and the driver takes the job for hung if the
 * wait is longer than a job may run.
 */
struct virtio_pagoda_wait {
	struct virtio_pagoda_command command;
	__le64 address;
	__le64 value;
};

/**
 * struct virtio_pagoda_signal - SIGNAL: store a 64-bit value after all earlier writes of the job
 * @command: Head; EVENT
 * @address: Address of the value, multiple of 8; written in one access (C117)
 * @value: The value
 */
struct virtio_pagoda_signal {
	struct virtio_pagoda_command command;
	__le64 address;
	__le64 value;
};

/**
 * struct virtio_pagoda_timestamp - TIMESTAMP: store the time
 * @command: Head, no flags
 * @address: Address at which the 64-bit time is stored, multiple of 8
 *
 * The time is in nanoseconds and never decreases, on all engines together. The device chooses when
 * the time is zero. The software GPU (pagoda_vgpu) stores CLOCK_MONOTONIC of the kernel it runs in.
 */
struct virtio_pagoda_timestamp {
	struct virtio_pagoda_command command;
	__le64 address;
};

/**
 * struct virtio_pagoda_branch - BRANCH: go on in another command buffer
 * @command: Head, no flags
 * @address: Address of the other buffer's first command, multiple of 8
 * @size: Bytes of the other buffer, multiple of 8, at most %VIRTIO_PAGODA_MAX_COMMAND_BUFFER;
 *	0 = there is no other buffer: this command buffer ends
 *
 * The commands behind BRANCH in the present buffer aren't executed. At the end of the other buffer
 * the job goes on with the next command buffer that its request lists.
 */
struct virtio_pagoda_branch {
	struct virtio_pagoda_command command;
	__le64 address;
	__le64 size;
};

/** enum virtio_pagoda_compute_operation - Operations of COMPUTE on each 32-bit element. */
enum virtio_pagoda_compute_operation {
	VIRTIO_PAGODA_COMPUTE_ADD = 1,		/* dst = a + b */
	VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD = 2,	/* dst = a * b + c */
	VIRTIO_PAGODA_COMPUTE_XOR = 3,		/* dst = a ^ b */
};

/**
 * struct virtio_pagoda_compute - COMPUTE: arithmetic on arrays of 32-bit elements, modulo 2^32
 * @command: Head, no flags
 * @operation: enum virtio_pagoda_compute_operation
 * @reserved: Zero
 * @count: Number of elements of each array, not zero
 * @dst: Address of the result's array, multiple of 4; each operand's array either has this address,
 *	too, or doesn't overlap the result's
 * @a: Address of the first operand's array, multiple of 4
 * @b: Address of the second operand's array, multiple of 4
 * @c: MULTIPLY_ADD: address of the third operand's array, multiple of 4. Else 0
 */
struct virtio_pagoda_compute {
	struct virtio_pagoda_command command;
	__le32 operation;
	__le32 reserved;
	__le64 count;
	__le64 dst;
	__le64 a;
	__le64 b;
	__le64 c;
};

/** enum virtio_pagoda_reduce_operation - Operations of REDUCE on 32-bit elements. */
enum virtio_pagoda_reduce_operation {
	VIRTIO_PAGODA_REDUCE_SUM = 1,	/* result = result + element, modulo 2^64 */
	VIRTIO_PAGODA_REDUCE_HASH = 2,	/* result = (result ^ element) * HASH_PRIME, modulo 2^64 */
};

/** VIRTIO_PAGODA_HASH_PRIME: multiplier of REDUCE_HASH. */
#define VIRTIO_PAGODA_HASH_PRIME	0x100000001b3ull

/**
 * struct virtio_pagoda_reduce - REDUCE: compute a 64-bit result from an array of 32-bit elements
 * @command: Head, no flags
 * @operation: enum virtio_pagoda_reduce_operation
 * @reserved: Zero
 * @count: Number of elements, not zero
 * @src: Address of the first element, multiple of 4
 * @dst: Address at which the 64-bit result is stored, multiple of 8
 * @initial: Value of the result before the first element
 */
struct virtio_pagoda_reduce {
	struct virtio_pagoda_command command;
	__le32 operation;
	__le32 reserved;
	__le64 count;
	__le64 src;
	__le64 dst;
	__le64 initial;
};

/**
 * struct virtio_pagoda_set_register - SET_REGISTER: set a register, or add to it
 * @command: Head; ADD
 * @number: Number of the register, below %VIRTIO_PAGODA_REGISTERS
 * @reserved: Zero
 * @value: The register's new value, or with ADD the number that is added to it modulo 2^64
 *
 * A new context's registers are zeros, and keep their values from job to job of the context.
 */
struct virtio_pagoda_set_register {
	struct virtio_pagoda_command command;
	__le32 number;
	__le32 reserved;
	__le64 value;
};

/**
 * struct virtio_pagoda_store_register - STORE_REGISTER: store a register's 64-bit value
 * @command: Head, no flags
 * @number: Number of the register, below %VIRTIO_PAGODA_REGISTERS
 * @reserved: Zero
 * @address: Address of the destination, multiple of 8
 */
struct virtio_pagoda_store_register {
	struct virtio_pagoda_command command;
	__le32 number;
	__le32 reserved;
	__le64 address;
};

#define VIRTIO_PAGODA_ASSERT_COMMAND(type, size) \
	_Static_assert(sizeof(struct virtio_pagoda_##type) == (size), "size of " #type)
VIRTIO_PAGODA_ASSERT_COMMAND(command, 8);
VIRTIO_PAGODA_ASSERT_COMMAND(nop, 8);
VIRTIO_PAGODA_ASSERT_COMMAND(copy, 32);
VIRTIO_PAGODA_ASSERT_COMMAND(fill_words, 32);
VIRTIO_PAGODA_ASSERT_COMMAND(store, 24);
VIRTIO_PAGODA_ASSERT_COMMAND(compare, 32);
VIRTIO_PAGODA_ASSERT_COMMAND(atomic_add, 32);
VIRTIO_PAGODA_ASSERT_COMMAND(surface, 32);
VIRTIO_PAGODA_ASSERT_COMMAND(copy_rect, 80);
VIRTIO_PAGODA_ASSERT_COMMAND(wait, 24);
VIRTIO_PAGODA_ASSERT_COMMAND(signal, 24);
VIRTIO_PAGODA_ASSERT_COMMAND(timestamp, 16);
VIRTIO_PAGODA_ASSERT_COMMAND(branch, 24);
VIRTIO_PAGODA_ASSERT_COMMAND(compute, 56);
VIRTIO_PAGODA_ASSERT_COMMAND(reduce, 48);
VIRTIO_PAGODA_ASSERT_COMMAND(set_register, 24);
VIRTIO_PAGODA_ASSERT_COMMAND(store_register, 24);

#endif
