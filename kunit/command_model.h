/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What commands do, byte by byte: what the engine is compared with. Knows the device's
 * ABI and nothing of the engine but its shim, so that the fuzzer builds it too.
 */
#ifndef PAGODA_KUNIT_COMMAND_MODEL_H
#define PAGODA_KUNIT_COMMAND_MODEL_H

#include "../drivers/vgpu/engine/shim.h"
#include <linux/virtio_pagoda.h>

/* How a program ended. */
enum command_model_end {
	COMMAND_MODEL_DONE,
	COMMAND_MODEL_REFUSED,	/* a field makes no sense, @reason says which */
	COMMAND_MODEL_FAULT,	/* an access, @address and @access say which */
	COMMAND_MODEL_STOPPED,	/* it would wait, or has executed enough commands */
	COMMAND_MODEL_CUT,	/* it asks for the time, which no model knows */
};

/**
 * struct command_model - A machine that executes commands
 * @byte: Where a byte of the address space is; NULL: zeros if *@reason is none
 * @priv: Its first argument
 * @limit: Most commands
 * @registers: As in the save area
 * @address: Next command
 * @left: Bytes of the buffer from there on
 * @commands: Executed whole
 * @reason: Out: enum virtio_pagoda_fault_reason
 * @fault: Out: address of the access
 * @access: Out: its kind
 */
struct command_model {
	u8 *(*byte)(void *priv, u64 va, u32 access, u32 *reason);
	void *priv;
	u32 limit;
	u64 registers[VIRTIO_PAGODA_REGISTERS];
	u64 address;
	u64 left;
	u32 commands;
	u32 reason;
	u64 fault;
	u32 access;
};

enum command_model_end command_model_execute(struct command_model *model);
u64 command_model_offset(const struct virtio_pagoda_surface *surface, u64 row, u64 column);

#endif
