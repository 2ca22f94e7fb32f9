/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the fuzzer share. */
#ifndef PAGODA_FUZZ_H
#define PAGODA_FUZZ_H

#include <stdnoreturn.h>
#include <linux/virtio_pagoda.h>
#include <linux/kernel.h>
#include "paging/cpu/cpu.h"
#include "paging/paging.h"
#include "engine.h"

#define FUZZ_PAGE	((u64)VIRTIO_PAGODA_PAGE_SIZE)
#define FUZZ_VRAM	64	/* pages */
#define FUZZ_SYSTEM	32	/* pages */
#define FUZZ_APERTURE	512	/* pages */
#define FUZZ_MMU	1024	/* pages */
#define FUZZ_RUNS	8	/* most runs in a packet */
#define FUZZ_SPACES	2
#define FUZZ_RANGES	2
#define FUZZ_WINDOW	0x10000ull
#define FUZZ_BUS	0x100000000ull
#define FUZZ_BUFFER	2048	/* most bytes in a buffer */
/* Most bytes that the virtual operations of a buffer may name together. */
#define FUZZ_VIRTUAL	(64ull << 20)

/* Where the tables of space 0 are to begin with: pages of VRAM, one page of system memory. */
#define FUZZ_TABLE_4K	8
#define FUZZ_TABLE_64K	9
#define FUZZ_TABLE_1	10	/* two pages with dual tables */
#define FUZZ_TABLE_2	12	/* level 3 is in the next page, and so on */
#define FUZZ_TABLE_SYS	4
#define FUZZ_ROOT	16	/* entries of the root */

/* What those tables map: an entry of level 1 each, the first one in pages of 4 KiB. */
#define FUZZ_VA_VRAM	0
#define FUZZ_VA_SYSTEM	(FUZZ_VRAM * FUZZ_PAGE)
#define FUZZ_VA_MORE	((FUZZ_VRAM + FUZZ_SYSTEM) * FUZZ_PAGE)
#define FUZZ_VA_LARGE	0x200000ull
#define FUZZ_VA_64K	(1 * FUZZ_VA_LARGE)
#define FUZZ_VA_2M	(2 * FUZZ_VA_LARGE)
#define FUZZ_VA_ZERO	(3 * FUZZ_VA_LARGE)
#define FUZZ_VA_TABLE	(4 * FUZZ_VA_LARGE)
#define FUZZ_VA_2M_MORE	(5 * FUZZ_VA_LARGE)

/* &struct fuzz_head.mode: how the buffer is executed. */
#define FUZZ_SPANS	1	/* the engine keeps what it looked up */
#define FUZZ_GAPS	2	/* no two pages of system memory are in a row */
#define FUZZ_STEPS	4	/* the engine, too, gets one packet at a time */
#define FUZZ_SHORT	8	/* the text is cut off */
#define FUZZ_TLB	16	/* the engine keeps translations; what changes is flushed */
#define FUZZ_EXEC	32	/* the buffer comes from an execution queue */
/* the packet that fails does so in the middle; a job's commands change while it waits */
#define FUZZ_MIDDLE	64
#define FUZZ_JOB	128	/* these are commands, not packets */

/* &struct fuzz_head.device: on what kind of device; the two upper bits are levels. */
#define FUZZ_DEVICE_MMU	1
#define FUZZ_DUAL	2
#define FUZZ_INCOHERENT	4
#define FUZZ_INVALID	8	/* part of VRAM must not be used */
#define FUZZ_NO_INVALID	16	/* invalid entries aren't cached */
#define FUZZ_NO_64K	32
#define FUZZ_LEVELS(device)	(2u + ((device) >> 6))
#define FUZZ_VA_BITS(device)	(FUZZ_LEVELS(device) < 5 ? 47 : 57)

/**
 * struct fuzz_head - Starts an input; packets follow, or commands
 * @mode: Of the flags above
 * @text: Bytes of the text with FUZZ_SHORT
 * @device: Of the flags above
 * @start: Packets that are skipped
 * @fail: Number of the packet that fails, from 1; 0 = none. It is executed again
 * @reserved: Any; of a job: byte of the request that is changed, and in which bits
 */
struct fuzz_head {
	u8 mode;
	u8 text;
	u8 device;
	u8 start;
	u8 fail;
	u8 reserved[3];
};

/* world.c */
void fuzz_world_make(void);
void fuzz_world_execute(const u8 *data, u32 size, const struct fuzz_head *head);
u64 fuzz_world_root(u32 device);

/* tables.c */
void fuzz_tables_write(u8 *vram, u8 *system_table, u32 device);

/**
 * struct fuzz_oracle - What the CPU executor made of a buffer
 * @stop: Offset of the first packet it didn't execute
 * @reason: Why not, 0 if it executed them all
 * @cut: It has no opinion about the packet at @stop
 */
struct fuzz_oracle {
	u32 stop;
	u32 reason;
	bool cut;
};

/* oracle.c */
extern struct pagoda_cpu_executor fuzz_cpu;
extern u8 *fuzz_cpu_system;
void fuzz_oracle_make(void);
void fuzz_oracle_reset(const u8 *vram, const u8 *system, u32 device);
struct fuzz_oracle fuzz_oracle_execute(const u8 *data, u32 size, u32 start, u32 end,
				       const struct fuzz_head *head);
u32 fuzz_oracle_flushes(u32 offset, const u64 **addresses);
void *fuzz_oracle_page(u64 address);

/**
 * struct fuzz_memory - The memory that lists are made of
 * @cpu: Executor whose memory it is
 * @page: Page of an address of system memory, NULL if there is none
 * @bus_page: The same of a bus address
 * @max_runs: Packets with more have no lists
 * @max_pages: The same of pages
 */
struct fuzz_memory {
	const struct pagoda_cpu_executor *cpu;
	void *(*page)(u64 address);
	void *(*bus_page)(u64 bus);
	u32 max_runs;
	u64 max_pages;
};

/* lists.c */
struct pagoda_paging_private fuzz_lists_make(const struct fuzz_memory *memory, const void *packet,
					     u32 length, u32 offset);
void fuzz_lists_free(const struct pagoda_paging_private *priv);
u64 fuzz_lists_update(const struct pagoda_cpu_executor *cpu,
		      const struct virtio_pagoda_update_page_table *update, u64 *first);

/* packet.c */
u32 fuzz_packet_fixed(u32 opcode);
u32 fuzz_packet_runs(const void *packet, u32 *nr_src, u32 *nr_dst);
u64 fuzz_packet_length(const void *packet, u32 left);
u32 fuzz_packet_next(const u8 *data, u32 size, u32 offset);
u32 fuzz_packet_start(const u8 *data, u32 size, u32 packets);
bool fuzz_packet_exec(u32 opcode);
u64 fuzz_packet_virtual(const u8 *data, u32 size);

/* make.c */
u32 fuzz_make_packet(u8 *data, u32 device);
#define FUZZ_PACKET_MAX	512	/* bytes, at most, of what it makes */
u32 fuzz_pick(u32 count);
bool fuzz_chance(u32 percent);
void fuzz_seed(u64 seed);

/* Stops the fuzzer, which keeps the input. */
#define fuzz_require(condition) \
	do { \
		if (!(condition)) \
			fuzz_fail(#condition, __FILE__, __LINE__); \
	} while (0)

noreturn void fuzz_fail(const char *condition, const char *file, int line);
void *fuzz_alloc(size_t size);

/* libFuzzer calls these, and has LLVMFuzzerMutate(). */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *input, size_t size);
size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t room, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const u8 *a, size_t a_size, const u8 *b, size_t b_size,
				 u8 *out, size_t room, unsigned int seed);

#endif
