/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the fuzzer share. */
#ifndef PAGODA_FUZZ_H
#define PAGODA_FUZZ_H

#include <stdnoreturn.h>

#include "engine.h"
#include <linux/virtio_pagoda.h>
#include <linux/kernel.h>
#include <pagoda/paging.h>

#define FUZZ_PAGE	((u64)VIRTIO_PAGODA_PAGE_SIZE)
#define FUZZ_VRAM	8	/* pages */
#define FUZZ_SYSTEM	16	/* pages */
#define FUZZ_APERTURE	12	/* pages */
#define FUZZ_RUNS	8	/* most runs in a packet */
#define FUZZ_BUS	0x100000000ull
#define FUZZ_BUFFER	2048	/* most bytes in a buffer */

/* First byte of an input: how the buffer behind it is executed. */
#define FUZZ_SPANS	1	/* the engine keeps what it looked up */
#define FUZZ_GAPS	2	/* no two pages of system memory are in a row */
#define FUZZ_STEPS	4	/* the engine, too, gets one packet at a time */
#define FUZZ_SHORT	8	/* the text is cut off */

/**
 * struct fuzz_head - Starts an input; packets follow
 * @mode: Of the flags above
 * @reserved: Any
 */
struct fuzz_head {
	u8 mode;
	u8 reserved[7];
};

/* world.c */
void fuzz_world_make(void);
void fuzz_world_reset(void);
void fuzz_world_execute(const u8 *data, u32 size, u32 mode);

/* packet.c */
u32 fuzz_packet_fixed(u32 opcode);
u32 fuzz_packet_runs(const void *packet, u32 *nr_src, u32 *nr_dst);
u32 fuzz_packet_next(const u8 *data, u32 size, u32 offset);

/* Stops the fuzzer, which keeps the input. */
#define fuzz_require(condition) \
	do { \
		if (!(condition)) \
			fuzz_fail(#condition, __FILE__, __LINE__); \
	} while (0)

noreturn void fuzz_fail(const char *condition, const char *file, int line);

/* libFuzzer calls these, and has LLVMFuzzerMutate(). */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *input, size_t size);
size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t room, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const u8 *a, size_t a_size, const u8 *b, size_t b_size,
				 u8 *out, size_t room, unsigned int seed);

#endif
