/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model that executes commands by bytes and elements, to compare the engine with. The model uses
 * the device's ABI and shim.h, but nothing else of the engine; the fuzzer builds the model, too.
 */
#ifndef PAGODA_KUNIT_COMMAND_MODEL_H
#define PAGODA_KUNIT_COMMAND_MODEL_H

#include "../drivers/vgpu/engine/shim.h"
#include <linux/virtio_pagoda.h>

/* How a program ended. */
enum command_model_end {
	COMMAND_MODEL_DONE,
	COMMAND_MODEL_REFUSED,	/* the command is bad, @reason says why */
	COMMAND_MODEL_FAULT,	/* an access or a COMPARE failed: @reason, @fault, @access */
	COMMAND_MODEL_STOPPED,	/* a WAIT found too small a value, or @limit is reached */
	COMMAND_MODEL_CUT,	/* the program came to a TIMESTAMP: the model has no clock */
};

/**
 * struct command_model - A machine that executes commands
 * @byte: Returns a pointer to the byte at an address. The access faults if *@reason was set. NULL
 *	without a reason: the byte reads as zero, and writes are dropped
 * @priv: First argument of @byte
 * @limit: Number of executed commands at which the program is stopped
 * @registers: Registers, as in the save area
 * @address: Address of the next command
 * @left: Bytes of the buffer from @address on
 * @commands: Number of commands that were executed to their end
 * @reason: Out: enum virtio_pagoda_fault_reason
 * @fault: Out: address of the access that faulted
 * @access: Out: kind of the access that faulted, enum virtio_pagoda_access
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
