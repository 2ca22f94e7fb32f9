/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites of the paging layer share: operations, guarded buffers, a decoder. */
#ifndef PAGODA_KUNIT_PAGING_HELPERS_H
#define PAGODA_KUNIT_PAGING_HELPERS_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include <pagoda/paging.h>

/* Bytes on each side of a guarded area, and what they hold. */
#define PAGODA_GUARD_BYTES	64
#define PAGODA_GUARD_VALUE	0xa5

/**
 * struct pagoda_guarded - A paging buffer in which stray writes show
 * @block: Guard, buffer, guard
 * @priv_block: The same for the private data
 * @capacity: Largest size of the buffer
 * @priv_capacity: Largest size of the private data
 * @size: Size of the buffer at the moment
 * @priv_size: Size of the private data at the moment
 * @buf: Handed to the builder
 */
struct pagoda_guarded {
	u8 *block;
	u8 *priv_block;
	u32 capacity;
	u32 priv_capacity;
	u32 size;
	u32 priv_size;
	struct pagoda_paging_buffer buf;
};

void pagoda_guarded_init(struct kunit *test, struct pagoda_guarded *guarded, u32 capacity,
			 u32 priv_capacity);
void pagoda_guarded_fresh(struct pagoda_guarded *guarded, u32 size, u32 priv_size);
void pagoda_guarded_check(struct kunit *test, const struct pagoda_guarded *guarded);
const u8 *pagoda_guarded_data(const struct pagoda_guarded *guarded);
const struct pagoda_paging_private *pagoda_guarded_priv(const struct pagoda_guarded *guarded);

/**
 * struct pagoda_pages - A page list with pages to invent addresses for
 * @adl: The list
 * @addresses: Its addresses if it isn't contiguous
 * @cpu_pages: Its struct pages: made-up pointers that nobody follows
 */
struct pagoda_pages {
	struct pagoda_adl adl;
	dma_addr_t *addresses;
	const void **cpu_pages;
};

void pagoda_pages_contiguous(struct kunit *test, struct pagoda_pages *pages, u64 base,
			     u32 nr_pages);
void pagoda_pages_scattered(struct kunit *test, struct pagoda_pages *pages, u64 base,
			    u32 nr_pages, u32 max_run, struct rnd_state *rnd);
u64 pagoda_pages_at(const struct pagoda_pages *pages, u64 index);

/* Everything on, a VRAM as large as it can be. */
struct pagoda_paging_limits pagoda_test_limits(u32 max_runs);

/* Addresses of segments and bus addresses as one number. */
#define PAGODA_PLACE(segment, address)	((u64)(segment) << 56 | (address))

/**
 * struct pagoda_image - What the packets of one operation do, page by page
 * @nr_pages: Pages seen so far
 * @capacity: Pages there is room for
 * @bytes: Bytes of TRANSFER packets so far
 * @src: TRANSFER: PAGODA_PLACE() each page comes from
 * @dst: The PAGODA_PLACE() it goes to; for maps, of the aperture page
 * @packets: Packets
 * @encoded: Their bytes
 * @starts: Packets with START
 * @ends: Packets with END
 * @start_first: The first packet has START
 * @end_last: The last packet has END
 */
struct pagoda_image {
	u64 nr_pages;
	u64 capacity;
	u64 bytes;
	u64 *src;
	u64 *dst;
	u32 packets;
	u32 encoded;
	u32 starts;
	u32 ends;
	bool start_first;
	bool end_last;
};

void pagoda_image_init(struct kunit *test, struct pagoda_image *image, u64 capacity);
void pagoda_image_reset(struct pagoda_image *image);
bool pagoda_image_add(struct pagoda_image *image, const u8 *data, u32 size, u32 max_runs);

void pagoda_expect_verdict(struct kunit *test, const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, int error, const char *text,
			   int line);

/*
 * Changes a copy of @op by @change and expects it to be refused, or accepted; by the
 * caller's test and limits.
 */
#define PAGODA_REFUSED(op, change, error, text) do { \
	struct pagoda_paging_op o = (op); \
	\
	change; \
	pagoda_expect_verdict(test, &limits, &o, error, text, __LINE__); \
} while (0)
#define PAGODA_ACCEPTED(op, change)	PAGODA_REFUSED(op, change, 0, NULL)

u32 pagoda_test_seed(struct kunit *test, struct rnd_state *rnd);
u32 pagoda_random(struct rnd_state *rnd, u32 low, u32 high);

#endif
