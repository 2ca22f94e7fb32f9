/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the files of the fuzzer share, some of them with restream. */
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
#define FUZZ_RUNS	8	/* most runs that the device accepts in a packet */
#define FUZZ_SPACES	2
#define FUZZ_RANGES	2
#define FUZZ_WINDOW	0x10000ull
#define FUZZ_BUS	0x100000000ull
#define FUZZ_BUFFER	2048	/* most bytes of packets or commands in an input */
/* Inputs with a larger fuzz_packet_virtual(), in bytes, aren't executed. */
#define FUZZ_VIRTUAL	(64ull << 20)

/* Page numbers of tables that space 0 has at first: in VRAM, FUZZ_TABLE_SYS in system memory. */
#define FUZZ_TABLE_4K	8
#define FUZZ_TABLE_64K	9
#define FUZZ_TABLE_1	10	/* two pages with FUZZ_DUAL */
#define FUZZ_TABLE_2	12	/* level 3 is in the next page, and so on */
#define FUZZ_TABLE_SYS	4
#define FUZZ_ROOT	16	/* number of entries of the root */

/*
 * Addresses that those tables map. VRAM, SYSTEM and MORE are in entry 0 of level 1, in pages of
 * 4 KiB. An entry of level 1 covers FUZZ_VA_LARGE bytes; FUZZ_VA_64K and so on begin an entry each.
 */
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
#define FUZZ_SPANS	1	/* the engine keeps what the check of a packet looked up */
#define FUZZ_GAPS	2	/* the engine finds no two pages of system memory in a row */
#define FUZZ_STEPS	4	/* the engine, like the executor, gets one packet at a time */
#define FUZZ_SHORT	8	/* the printed text has room for fuzz_head.text bytes only */
#define FUZZ_TLB	16	/* the engine keeps translations; changed ones are flushed */
#define FUZZ_EXEC	32	/* the buffer comes from an execution queue */
/* the failing packet fails in the middle; of a job: commands change while a WAIT waits */
#define FUZZ_MIDDLE	64
#define FUZZ_JOB	128	/* commands follow, not packets */

/* &struct fuzz_head.device: the kind of device; the two upper bits choose the number of levels. */
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
 * @mode: Flags, FUZZ_SPANS to FUZZ_JOB
 * @text: With FUZZ_SHORT, bytes that the printed text has room for, besides its final 0
 * @device: Flags, FUZZ_DEVICE_MMU to FUZZ_NO_64K, and the number of levels
 * @start: Number of packets at the beginning that are skipped; none if these aren't well-formed
 * @fail: Number, from 1, of the packet that the engine fails (with FUZZ_MIDDLE if world_may_fail())
 *	and then executes again; 0 = none
 * @reserved: Unused; of a job: the first chooses a byte of the request, the second has the bits of
 *	that byte that are inverted
 */
struct fuzz_head {
	u8 mode;
	u8 text;
	u8 device;
	u8 start;
	u8 fail;
	u8 reserved[3];
};

/* world.c: the engine's machine, and the comparison with the executor's */
void fuzz_world_make(void);
void fuzz_world_execute(const u8 *data, u32 size, const struct fuzz_head *head);
u64 fuzz_world_root(u32 device);

/* tables.c: the page tables that an input begins with */
void fuzz_tables_write(u8 *vram, u8 *system_table, u32 device);

/**
 * struct fuzz_oracle - What the CPU executor made of a buffer
 * @stop: Offset of the packet that was refused, or is cut; else the end of the packets to execute
 * @reason: Fault reason of that packet, 0 if all were executed or with @cut
 * @cut: The effect of the packet at @stop isn't determined: nothing from this packet on is compared
 */
struct fuzz_oracle {
	u32 stop;
	u32 reason;
	bool cut;
};

/* oracle.c: the executor's machine */
extern struct pagoda_cpu_executor fuzz_cpu;
extern u8 *fuzz_cpu_system;
void fuzz_oracle_make(void);
void fuzz_oracle_reset(const u8 *vram, const u8 *system, u32 device);
struct fuzz_oracle fuzz_oracle_execute(const u8 *data, u32 size, u32 start, u32 end,
				       const struct fuzz_head *head);
u32 fuzz_oracle_flushes(u32 offset, const u64 **addresses);
void *fuzz_oracle_page(u64 address);

/**
 * struct fuzz_memory - Memory of a CPU executor, from which page lists are made
 * @cpu: The executor
 * @page: Returns the page at an address of system memory, NULL if there is none
 * @bus_page: Returns the page at a bus address, NULL if there is none
 * @max_runs: Most runs of a packet that gets lists
 * @max_pages: Most pages of a list that is made from runs; the list ends there
 */
struct fuzz_memory {
	const struct pagoda_cpu_executor *cpu;
	void *(*page)(u64 address);
	void *(*bus_page)(u64 bus);
	u32 max_runs;
	u64 max_pages;
};

/* lists.c: page lists of packets */
struct pagoda_paging_private fuzz_lists_make(const struct fuzz_memory *memory, const void *packet,
					     u32 length, u32 offset);
void fuzz_lists_free(const struct pagoda_paging_private *priv);
u64 fuzz_lists_update(const struct pagoda_cpu_executor *cpu,
		      const struct virtio_pagoda_update_page_table *update, u64 *first);

/* packet.c: sizes and offsets of packets */
u32 fuzz_packet_fixed(u32 opcode);
u32 fuzz_packet_runs(const void *packet, u32 *nr_src, u32 *nr_dst);
u64 fuzz_packet_length(const void *packet, u32 left);
u32 fuzz_packet_next(const u8 *data, u32 size, u32 offset);
u32 fuzz_packet_start(const u8 *data, u32 size, u32 packets);
bool fuzz_packet_exec(u32 opcode);
u64 fuzz_packet_virtual(const u8 *data, u32 size);

/* make.c: packets and numbers at random */
u32 fuzz_make_packet(u8 *data, u32 device);
#define FUZZ_PACKET_MAX	512	/* most bytes of a packet that is made */
u32 fuzz_pick(u32 count);
bool fuzz_chance(u32 percent);
void fuzz_seed(u64 seed);

/* Ends the program, after which libFuzzer keeps the input, unless @condition is true. */
#define fuzz_require(condition) \
	do { \
		if (!(condition)) \
			fuzz_fail(#condition, __FILE__, __LINE__); \
	} while (0)

noreturn void fuzz_fail(const char *condition, const char *file, int line);
void *fuzz_alloc(size_t size);

/* libFuzzer calls these functions, but for LLVMFuzzerMutate(), which libFuzzer provides. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *input, size_t size);
size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t room, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const u8 *a, size_t a_size, const u8 *b, size_t b_size,
				 u8 *out, size_t room, unsigned int seed);

#endif
