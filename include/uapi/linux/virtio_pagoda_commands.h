/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Commands of the Pagoda GPU's execution engines: what a program writes into a
 * command buffer.
 *
 * A command buffer is memory of the program's address space: commands, one after
 * another, each aligned to 8. The engine fetches and executes them in order, with
 * every address translated by the page tables of that address space; no command can
 * name memory in any other way. Everything is little endian.
 *
 * The accesses of a command are not checked in advance: an access that isn't
 * allowed stops the engine in the middle of the command, with a fault that names
 * the address, and bytes written before stay written. Unknown opcodes, lengths and
 * flags, and reserved fields that aren't zero, are faults before any effect: BAD_COMMAND
 * for an opcode or operation, else the reason named after the wrong field. A command
 * is fetched once: changing its memory while it is executed changes nothing.
 *
 * All engines execute all commands. The commands are Pagoda's own: WDDM leaves them to the
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

/** VIRTIO_PAGODA_COMMAND_ALIGN: every command starts and ends on this boundary. */
#define VIRTIO_PAGODA_COMMAND_ALIGN	8u
/** VIRTIO_PAGODA_MAX_COMMAND_BUFFER: most bytes of a command buffer. */
#define VIRTIO_PAGODA_MAX_COMMAND_BUFFER (1ull << 30)
/** VIRTIO_PAGODA_REGISTERS: 64-bit registers of a context; kept in its save area. */
#define VIRTIO_PAGODA_REGISTERS		8u

/* Flag of STORE, COMPARE, ATOMIC_ADD: 8 bytes, aligned to 8; without WIDE 4, aligned to 4. */
#define VIRTIO_PAGODA_COMMAND_WIDE	(1u << 0)
/* Flag of SIGNAL: send an EVENT_FENCE too, because a thread waits for the value. */
#define VIRTIO_PAGODA_COMMAND_EVENT	(1u << 0)
/* Flag of SET_REGISTER: add the value to the register instead of setting the register. */
#define VIRTIO_PAGODA_COMMAND_ADD	(1u << 0)

/**
 * struct virtio_pagoda_command - Head of every command
 * @opcode: enum virtio_pagoda_command_opcode
 * @flags: Flags of that opcode; all others must be zero
 * @length: Bytes of the command with this head: exactly those of its struct, but
 *	for NOP
 */
struct virtio_pagoda_command {
	__le16 opcode;
	__le16 flags;
	__le32 length;
};

/**
 * struct virtio_pagoda_nop - NOP: no effect, of any length
 * @command: Head; any length that is a multiple of 8, the bytes behind the head are skipped unread
 */
struct virtio_pagoda_nop {
	struct virtio_pagoda_command command;
};

/**
 * struct virtio_pagoda_copy - COPY: bytes from one place to another
 * @command: Head, no flags
 * @src: Address of the source
 * @dst: Address of the destination; the ranges must not overlap
 * @size: Bytes, not zero
 */
struct virtio_pagoda_copy {
	struct virtio_pagoda_command command;
	__le64 src;
	__le64 dst;
	__le64 size;
};

/**
 * struct virtio_pagoda_fill_words - FILL: a 32-bit word, repeated
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
 * struct virtio_pagoda_store - STORE: one value, in one access
 * @command: Head; WIDE
 * @address: Address of the value, multiple of its size
 * @value: The value; without WIDE its upper half is zero
 */
struct virtio_pagoda_store {
	struct virtio_pagoda_command command;
	__le64 address;
	__le64 value;
};

/**
 * struct virtio_pagoda_compare - COMPARE: fault unless memory holds a value
 * @command: Head; WIDE
 * @address: Address of the value that is read, multiple of its size
 * @value: Bits that the value must have where @mask has ones; the rest is zero
 * @mask: Bits that count; without WIDE its upper half is zero
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
 * struct virtio_pagoda_atomic_add - ATOMIC_ADD: add, and store the old value
 * @command: Head; WIDE
 * @address: Address of the value, multiple of its size; no other engine or CPU gets in between
 * @value: The addend; without WIDE its upper half is zero
 * @result: Address the old value is stored at, in as many bytes; 0 = not stored
 */
struct virtio_pagoda_atomic_add {
	struct virtio_pagoda_command command;
	__le64 address;
	__le64 value;
	__le64 result;
};

/**
 * struct virtio_pagoda_surface - One side of COPY_RECT
 * @address: Address of the surface's first byte, page aligned when tiled
 * @tiling: enum virtio_pagoda_tiling
 * @pitch: Bytes from row to row, not zero, at most %VIRTIO_PAGODA_MAX_PITCH; tiled:
 *	multiple of the tile's width
 * @height: Rows, not zero; tiled: multiple of the tile's rows
 * @x: First byte of each row
 * @y: First row
 * @reserved: Zero
 *
 * Mip level 0 as in struct virtio_pagoda_layout, seen through the page tables in the layout that
 * it has in VRAM: a tiled allocation must be resident there.
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
 * struct virtio_pagoda_copy_rect - COPY_RECT: a rectangle, between any two layouts
 * @command: Head, no flags
 * @src: Source
 * @dst: Destination; the surfaces must not overlap
 * @width: Bytes of each row, not zero; @x + @width is at most the pitch on both sides
 * @rows: Rows, not zero; @y + @rows is at most the height on both sides
 */
struct virtio_pagoda_copy_rect {
	struct virtio_pagoda_command command;
	struct virtio_pagoda_surface src;
	struct virtio_pagoda_surface dst;
	__le32 width;
	__le32 rows;
};

/**
 * struct virtio_pagoda_wait - WAIT: until a 64-bit value is reached
 * @command: Head, no flags
 * @address: Address of the value, multiple of 8; usually a monitored fence's
 * @value: The engine goes on when the value at @address is at least this
 *
 * Nothing else runs on the engine meanwhile; the job hangs if the wait is longer than a job may
 * take.
 */
struct virtio_pagoda_wait {
	struct virtio_pagoda_command command;
	__le64 address;
	__le64 value;
};

/**
 * struct virtio_pagoda_signal - SIGNAL: store a 64-bit value after all earlier work
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
 * @address: Address the 64-bit time is stored at, multiple of 8
 *
 * The time is in nanoseconds and never decreases, on all engines together. Its zero is the
 * device's choice. The software GPU (pagoda_vgpu) stores CLOCK_MONOTONIC of the kernel it runs in.
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
 *	0 = none
 *
 * The commands behind BRANCH in this buffer aren't executed.
 */
struct virtio_pagoda_branch {
	struct virtio_pagoda_command command;
	__le64 address;
	__le64 size;
};

/** enum virtio_pagoda_compute_operation - Operations of COMPUTE on 32-bit elements. */
enum virtio_pagoda_compute_operation {
	VIRTIO_PAGODA_COMPUTE_ADD = 1,		/* dst = a + b */
	VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD = 2,	/* dst = a * b + c */
	VIRTIO_PAGODA_COMPUTE_XOR = 3,		/* dst = a ^ b */
};

/**
 * struct virtio_pagoda_compute - COMPUTE: element by element, modulo 2^32
 * @command: Head, no flags
 * @operation: enum virtio_pagoda_compute_operation
 * @reserved: Zero
 * @count: Elements, not zero
 * @dst: Address of the result, multiple of 4: that of an operand, or the arrays don't overlap
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
	VIRTIO_PAGODA_REDUCE_SUM = 1,	/* r = r + element, modulo 2^64 */
	VIRTIO_PAGODA_REDUCE_HASH = 2,	/* r = (r ^ element) * HASH_PRIME, modulo 2^64 */
};

/** VIRTIO_PAGODA_HASH_PRIME: multiplier of REDUCE_HASH. */
#define VIRTIO_PAGODA_HASH_PRIME	0x100000001b3ull

/**
 * struct virtio_pagoda_reduce - REDUCE: many elements to 64 bits
 * @command: Head, no flags
 * @operation: enum virtio_pagoda_reduce_operation
 * @reserved: Zero
 * @count: Elements, not zero
 * @src: Address of the first element, multiple of 4
 * @dst: Address of the 64-bit result, multiple of 8
 * @initial: The first value of the result
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
 * struct virtio_pagoda_set_register - SET_REGISTER: give a register a value
 * @command: Head; ADD
 * @number: Register, below %VIRTIO_PAGODA_REGISTERS
 * @reserved: Zero
 * @value: The register's value, or the number added to it modulo 2^64
 *
 * Registers begin as zeros and keep their values from job to job.
 */
struct virtio_pagoda_set_register {
	struct virtio_pagoda_command command;
	__le32 number;
	__le32 reserved;
	__le64 value;
};

/**
 * struct virtio_pagoda_store_register - STORE_REGISTER: a register's value to memory
 * @command: Head, no flags
 * @number: Register, below %VIRTIO_PAGODA_REGISTERS
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
