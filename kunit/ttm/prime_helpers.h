/* SPDX-License-Identifier: GPL-2.0 */
/* dma-bufs of pages that belong to no driver, and what tests do with dma-bufs. */
#ifndef PAGODA_KUNIT_PRIME_HELPERS_H
#define PAGODA_KUNIT_PRIME_HELPERS_H

#include <linux/dma-buf.h>
#include <linux/sizes.h>
#include "submit/submit_helpers.h"

#define PRIME_PAGES	6u
#define PRIME_HERE	SZ_4M

/**
 * struct prime_memory - Pages and the dma-buf that exports them
 * @test: The test
 * @dma_buf: The dma-buf; a reference
 * @pages: Pages of the dma-buf
 * @other: Pages the content moves to
 * @maps: Number of mappings
 * @pins: Number of pins
 * @error: Error that mapping returns
 * @shift: Bytes that are added to the first bus address, to make it wrong
 * @released: The dma-buf was released
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

/* @dynamic: the exporter may move the memory unless it is pinned. */
struct prime_memory *prime_memory(struct kunit *test, bool dynamic, size_t size);
/* Moves the content to other pages, as the exporter would. */
void prime_move(struct prime_memory *memory);
u64 *prime_word(struct prime_memory *memory, u64 offset);
/* Drops the test's reference; files that aren't referenced any more are released on return. */
void prime_put(struct dma_buf *dma_buf);

struct pagoda_bo *prime_import(struct pagoda_rig *rig, struct dma_buf *dma_buf);
struct dma_buf *prime_export(struct pagoda_bo *bo);
/* An importer that isn't told of moves. The dma-buf is mapped until prime_detach(). */
struct dma_buf_attachment *prime_attach(struct pagoda_rig *rig, struct dma_buf *dma_buf);
void prime_detach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach);
/* Returns the word at @offset of the mapping. */
u64 *prime_attached_word(struct dma_buf_attachment *attach, u64 offset);
/* Swaps out all that TTM can, except that the client's code is brought back into the aperture. */
void prime_swap_out(struct submit_client *client);
/* Returns when moves, deferred destruction and file releases are done. */
void prime_settle(struct pagoda_rig *rig);
/* Have a job store @value, or expect @value there; return the job's error. */
int prime_store(struct submit_client *client, struct pagoda_bo *bo, u64 offset, u64 value);
int prime_compare(struct submit_client *client, struct pagoda_bo *bo, u64 offset, u64 value);

#endif
