/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of nobody in particular, shared as dma-bufs, and what is done with dma-bufs. */
#ifndef PAGODA_KUNIT_PRIME_HELPERS_H
#define PAGODA_KUNIT_PRIME_HELPERS_H

#include <linux/dma-buf.h>
#include <linux/sizes.h>
#include "vidmm/prime.h"
#include "submit_helpers.h"

#define PRIME_PAGES	6u
#define PRIME_HERE	SZ_4M

/**
 * struct prime_memory - Pages and a dma-buf of them
 * @test: The test
 * @dma_buf: dma-buf, a reference
 * @pages: Its pages, no two of them in order
 * @other: Pages it can move to
 * @maps: Mappings there are
 * @pins: Pins there are
 * @error: What is answered when it is to be mapped
 * @shift: Bytes the bus addresses are wrong by
 * @released: The dma-buf is gone
 */
struct prime_memory {
	struct kunit *test;
	struct dma_buf *dma_buf;
	struct page *pages[PRIME_PAGES];
	struct page *other[PRIME_PAGES];
	u32 maps;
	u32 pins;
	int error;
	u32 shift;
	bool released;
};

/* @dynamic: it moves unless it is pinned. */
struct prime_memory *prime_memory(struct kunit *test, bool dynamic, size_t size);
/* Moves it, with its content. */
void prime_move(struct prime_memory *memory);
u64 *prime_word(struct prime_memory *memory, u64 offset);
/* The test doesn't use it any more; files are gone for good afterwards. */
void prime_put(struct dma_buf *dma_buf);

struct pagoda_bo *prime_import(struct pagoda_rig *rig, struct dma_buf *dma_buf);
struct dma_buf *prime_export(struct pagoda_bo *bo);
/* An importer that isn't told of moves; it has it mapped until it is detached. */
struct dma_buf_attachment *prime_attach(struct pagoda_rig *rig, struct dma_buf *dma_buf);
void prime_detach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach);
/* Word of what it has mapped. */
u64 *prime_attached_word(struct dma_buf_attachment *attach, u64 offset);
/* All that can be swapped out is; the client's code is there again. */
void prime_swap_out(struct submit_client *client);
/* Nothing is on its way out any more. */
void prime_settle(struct pagoda_rig *rig);
/* The program stores at, or finds there, the value; the job's error. */
int prime_store(struct submit_client *client, struct pagoda_bo *bo, u64 offset, u64 value);
int prime_compare(struct submit_client *client, struct pagoda_bo *bo, u64 offset, u64 value);

#endif
