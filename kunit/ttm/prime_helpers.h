/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dma-bufs in tests: an exporter whose pages belong to no driver; import, export and attachment of
 * a dma-buf; jobs on a shared allocation.
 */
#ifndef PAGODA_KUNIT_PRIME_HELPERS_H
#define PAGODA_KUNIT_PRIME_HELPERS_H

#include <linux/dma-buf.h>
#include <linux/sizes.h>
#include "submit/submit_helpers.h"

#define PRIME_PAGES	6u
#define PRIME_HERE	SZ_4M

/**
 * struct prime_memory - Memory of the test's own exporter
 * @test: The test
 * @dma_buf: dma-buf that exports @pages; the test's reference, until prime_put()
 * @pages: Pages that hold the content now
 * @other: Pages to which prime_move() moves the content; exchanged with @pages then
 * @maps: Number of mappings that importers have now
 * @pins: Number of pins that importers have now
 * @error: Set by tests: error with which mapping the dma-buf fails, 0 = none
 * @shift: Set by tests: bytes added to the first bus address of a mapping, to make it wrong
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

/*
 * Returns new memory of PRIME_PAGES pages of zeros, whose dma-buf says that it has @size bytes.
 * With @dynamic, importers must expect moves of the memory, unless they have it pinned.
 */
struct prime_memory *prime_memory(struct kunit *test, bool dynamic, size_t size);
/*
 * Moves the content to the other pages, as an exporter does: tells importers, waits for all fences
 * in the reservation, copies, and overwrites the former pages with 0xdb, so that tests find out an
 * importer that still uses these. Takes the reservation.
 */
void prime_move(struct prime_memory *memory);
u64 *prime_word(struct prime_memory *memory, u64 offset);
/* Drops the test's reference; files that aren't referenced any more are released on return. */
void prime_put(struct dma_buf *dma_buf);

struct pagoda_bo *prime_import(struct pagoda_rig *rig, struct dma_buf *dma_buf);
struct dma_buf *prime_export(struct pagoda_bo *bo);
/*
 * Attaches an importer that isn't told of moves, and maps the dma-buf for it until prime_detach().
 * Returns an ERR_PTR if either fails.
 */
struct dma_buf_attachment *prime_attach(struct pagoda_rig *rig, struct dma_buf *dma_buf);
void prime_detach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach);
/* Returns the kernel address of the word at byte @offset of the importer's mapping. */
u64 *prime_attached_word(struct dma_buf_attachment *attach, u64 offset);
/* Swaps out all that TTM can, and brings the client's code back into the aperture. */
void prime_swap_out(struct submit_client *client);
/* Waits until moves, TTM's deferred deletions and releases of files are done. */
void prime_settle(struct pagoda_rig *rig);
/*
 * Have a job, which lists @bo, store @value at byte @offset of @bo, or expect @value there; wait
 * for the job. Return SUBMIT's error or the job's. The client has mapped @bo at PRIME_HERE.
 */
int prime_store(struct submit_client *client, struct pagoda_bo *bo, u64 offset, u64 value);
int prime_compare(struct submit_client *client, struct pagoda_bo *bo, u64 offset, u64 value);

#endif
