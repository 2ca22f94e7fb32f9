/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites of paging/ share: limits of a device, checks that an operation is accepted or
 * refused, paging buffers between guard bytes, page lists, random numbers, and a decoder of the
 * packets of a TRANSFER or an aperture map (struct pagoda_image).
 */
#ifndef PAGODA_KUNIT_PAGING_HELPERS_H
#define PAGODA_KUNIT_PAGING_HELPERS_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include "paging/paging.h"
#include "rig/alloc.h"

/* Number of guard bytes on each side of a guarded area, and the value of each. */
#define PAGODA_GUARD_BYTES	64
#define PAGODA_GUARD_VALUE	0xa5

/**
 * struct pagoda_guarded - A paging buffer between guards that reveal stray writes
 * @block: Guard, buffer, guard
 * @priv_block: Guard, private data, guard
 * @capacity: Largest size of the buffer, in bytes
 * @priv_capacity: Largest size of the private data, in bytes
 * @size: Current size of the buffer
 * @priv_size: Current size of the private data
 * @buf: What builders get: the rest of the buffer and of the private data
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
 * struct pagoda_pages - A page list with invented addresses
 * @adl: The list
 * @addresses: Bus addresses if the list isn't contiguous
 * @cpu_pages: Made-up struct page pointers that are never dereferenced
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

/*
 * Returns limits of a device with the largest possible VRAM, with every feature but a device MMU,
 * and with @max_runs runs in a packet.
 */
struct pagoda_paging_limits pagoda_test_limits(u32 max_runs);

/* A segment and an address in it as one number; segment 0 with a bus address is system memory. */
#define PAGODA_PLACE(segment, address)	((u64)(segment) << 56 | (address))

/**
 * struct pagoda_image - Effect of the packets of one TRANSFER or aperture map, page by page
 * @nr_pages: Number of pages copied or mapped by the packets so far
 * @capacity: Elements of @src and @dst
 * @bytes: Number of bytes copied by the packets so far, 0 for a map
 * @src: PAGODA_PLACE() of each page's source; for a map, of the page that is mapped
 * @dst: PAGODA_PLACE() of each page's destination; for a map, of the aperture page
 * @packets: Number of packets so far
 * @encoded: Bytes of the packets so far
 * @starts: Number of TRANSFER packets with START
 * @ends: Number of TRANSFER packets with END
 * @start_first: The first packet has START
 * @end_last: The last packet so far has END
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
 * Applies @change to o, a copy of @op, and expects validation to refuse o with @error and the
 * reason @text, or to accept o if @error is 0. In @change, members of o have short names, see
 * OP_MEMBER() below. Uses the caller's variables test and limits.
 */
#define REFUSED_OP(op, change, error, text) do { \
	struct pagoda_paging_op o = (op); \
	OP_MEMBER(update, update_page_table); \
	OP_MEMBER(virt_copy, virtual_transfer); \
	OP_MEMBER(virt_fill, virtual_fill); \
	OP_MEMBER(access, access_physical); \
	OP_MEMBER(discard, discard_content); \
	OP_MEMBER(map, map_aperture); \
	OP_MEMBER(unmap, unmap_aperture); \
	OP_MEMBER(signal, signal_fence); \
	OP_MEMBER(notify, notify_alloc); \
	OP_MEMBER(init, init_context); \
	OP_MEMBER(context, update_context); \
	OP_MEMBER(residency, notify_residency); \
	OP_MEMBER(flush, flush_tlb); \
	\
	change; \
	pagoda_expect_verdict(test, &limits, &o, error, text, __LINE__); \
} while (0)
#define OP_MEMBER(name, member)	typeof(o.member) *name __maybe_unused = &o.member
#define ACCEPTED_OP(op, change)	REFUSED_OP(op, change, 0, NULL)
/* REFUSED_OP() and ACCEPTED_OP() of the operation in the caller's variable ok. */
#define REFUSED(change, error, text)	REFUSED_OP(ok, change, error, text)
#define ACCEPTED(change)	REFUSED_OP(ok, change, 0, NULL)

u32 pagoda_test_seed(struct kunit *test, struct rnd_state *rnd);
u32 pagoda_random(struct rnd_state *rnd, u32 low, u32 high);

#endif
