/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two machines, the device's engine and the CPU executor, whose memories begin with equal content,
 * and functions that build operations, execute the packets on both, and compare the results.
 */
#ifndef PAGODA_KUNIT_EXECUTOR_WORLD_H
#define PAGODA_KUNIT_EXECUTOR_WORLD_H

#include <kunit/test.h>
#include "../drivers/vgpu/engine/engine.h"
#include "paging/cpu/cpu.h"
#include "paging/paging.h"
#include "paging_helpers.h"

#define PAGODA_WORLD_PAGE	4096ull
#define PAGODA_WORLD_VRAM	32	/* pages of VRAM */
#define PAGODA_WORLD_APERTURE	24	/* pages of aperture */
#define PAGODA_WORLD_SYSTEM	48	/* pages of system memory */
#define PAGODA_WORLD_DUMMY	46	/* index in system memory of the dummy page */
#define PAGODA_WORLD_FENCE	47	/* index of the last page, not in random page lists */
#define PAGODA_WORLD_BUS	0x100000000ull
#define PAGODA_WORLD_BUFFER	4096
#define PAGODA_WORLD_LISTS	16

/**
 * struct pagoda_world - Two machines, with a buffer for both
 * @test: Test that owns this struct
 * @limits: Limits that the builders get
 * @engine: The device's engine
 * @engine_vram: VRAM of @engine
 * @engine_system: System memory of @engine, page after page
 * @fences: Number of fence events of @engine
 * @exec: The CPU executor, with its VRAM in exec.vram
 * @cpu_system: System memory of the CPU executor
 * @cpu_pages: For each page of @cpu_system what stands for its struct page: the page's address
 * @mapped: Pages that @exec has mapped at the moment, in the order in which they were mapped
 * @nr_mapped: Number of pages in @mapped
 * @lists: Page lists that pagoda_world_list() returned last
 * @nr_lists: Number of lists made so far
 * @data: Memory of the paging buffer
 * @priv: Private data of the packets in @data
 * @buf: The rest of @data and @priv, for the next operation
 */
struct pagoda_world {
	struct kunit *test;
	struct pagoda_paging_limits limits;
	struct pagoda_engine engine;
	u8 *engine_vram;
	u8 *engine_system;
	u32 fences;
	struct pagoda_cpu_executor exec;
	u8 *cpu_system;
	void *cpu_pages[PAGODA_WORLD_SYSTEM];
	void *mapped[4];
	u32 nr_mapped;
	struct pagoda_world_list {
		struct pagoda_adl adl;
		dma_addr_t pages[PAGODA_WORLD_SYSTEM];
		const void *cpu_pages[PAGODA_WORLD_SYSTEM];
	} lists[PAGODA_WORLD_LISTS];
	u32 nr_lists;
	u8 *data;
	u8 *priv;
	struct pagoda_paging_buffer buf;
};

/**
 * struct pagoda_verdict - How a buffer ended
 * @good: Every packet was executed
 * @stopped_at: Offset of the first packet that wasn't executed to its end; if @good, bytes of all
 *	packets
 * @error: What pagoda_cpu_execute() returned; 0 if the engine executed the buffer
 * @reason: enum virtio_pagoda_fault_reason of the packet at @stopped_at, 0 if @good
 */
struct pagoda_verdict {
	bool good;
	u32 stopped_at;
	int error;
	u32 reason;
};

struct pagoda_world *pagoda_world_make(struct kunit *test, struct rnd_state *rnd);
void pagoda_world_fresh(struct pagoda_world *world, u32 size);
struct pagoda_world_list *pagoda_world_list(struct pagoda_world *world, u32 first, u32 nr_pages);
struct pagoda_verdict pagoda_world_run_engine(struct pagoda_world *world, u32 start);
struct pagoda_verdict pagoda_world_run_cpu(struct pagoda_world *world, u32 start);
struct pagoda_verdict pagoda_world_submit(struct pagoda_world *world);
void pagoda_world_do(struct pagoda_world *world, const struct pagoda_paging_op *op, u32 size);
void pagoda_world_compare(struct pagoda_world *world);

static inline u64 pagoda_world_bus(u32 page)
{
	return PAGODA_WORLD_BUS + page * PAGODA_WORLD_PAGE;
}

#endif
