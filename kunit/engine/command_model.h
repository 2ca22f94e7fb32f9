/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model of commands, byte by byte, which the engine is compared with. It knows the device's ABI
 * but nothing of the engine other than its shim, so that the fuzzer builds it, too.
 */
#ifndef PAGODA_KUNIT_COMMAND_MODEL_H
#define PAGODA_KUNIT_COMMAND_MODEL_H

#include "../drivers/vgpu/engine/shim.h"
#include <linux/virtio_pagoda.h>

/* How a program ended. */
enum command_model_end {
	COMMAND_MODEL_DONE,
	COMMAND_MODEL_REFUSED,	/* a field is bad, @reason says which */
	COMMAND_MODEL_FAULT,	/* an access faulted, @fault and @access say which */
	COMMAND_MODEL_STOPPED,	/* a WAIT isn't over, or @limit commands were executed */
	COMMAND_MODEL_CUT,	/* reached TIMESTAMP: the model has no clock */
};

/**
 * struct command_model - A machine that executes commands
 * @byte: Returns the byte at an address. NULL: reads as zero, or faults if *@reason was set
 * @priv: First argument of @byte
 * @limit: Number of commands after which the program is stopped
 * @registers: Registers, as in the save area
 * @address: Address of the next command
 * @left: Bytes of the buffer from @address on
 * @commands: Number of commands that were executed to their end
 * @reason: Out: enum virtio_pagoda_fault_reason
 * @fault: Out: address of the access that faulted
 * @access: Out: kind of the access
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
