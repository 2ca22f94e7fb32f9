// SPDX-License-Identifier: GPL-2.0
/*
 * Helpers of the suites of paging/. The decoder of packets (struct pagoda_image) relies on the
 * header of the device ABI only, because suites test the code of paging/ with the decoder.
 */
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "vidmm/segment/internal.h"
#include "paging_helpers.h"

/* Seeds a generator with a random number, which is printed and returned. */
u32 pagoda_test_seed(struct kunit *test, struct rnd_state *rnd)
{
	u32 seed = get_random_u32();

	kunit_info(test, "seed %u\n", seed);
	prandom_seed_state(rnd, seed);
	return seed;
}

/* Returns a random number in [low, high]. */
u32 pagoda_random(struct rnd_state *rnd, u32 low, u32 high)
{
	return low + prandom_u32_state(rnd) % (high - low + 1);
}

/*
 * Returns limits of a device with every feature but a device MMU, so that bus addresses aren't
 * limited, and with at most @max_runs runs in a packet.
 */
struct pagoda_paging_limits pagoda_test_limits(u32 max_runs)
{
	return (struct pagoda_paging_limits) {
		.features = ~(1ull << VIRTIO_PAGODA_F_DEVICE_MMU),
		.vram_size = VIRTIO_PAGODA_MAX_VRAM,
		.aperture_pages = 4096,
		.mmu_pages = 4096,
		.swizzling_bytes = 1 << 20,
		.max_runs = max_runs,
		.va_bits = 47,
		.pt_levels = 4,
		.page_sizes = SZ_4K | SZ_64K | SZ_2M,
		.max_address_spaces = 16,
		.swizzling_ranges = 4,
	};
}

/*
 * Expects pagoda_paging_validate() to return @error for the operation and, unless @text is NULL, to
 * give @text as the reason. @line: the caller's line.
 */
void pagoda_expect_verdict(struct kunit *test, const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, int error, const char *text,
			   int line)
{
	const char *why = NULL;

	KUNIT_EXPECT_EQ_MSG(test, pagoda_paging_validate(limits, op, &why), error,
			    "line %d: %s", line, why ? why : "accepted");
	if (text)
		KUNIT_EXPECT_STREQ_MSG(test, why ? why : "accepted", text, "line %d", line);
}

static u8 *guard_alloc(struct kunit *test, u32 capacity)
{
	u8 *block = kunit_kmalloc(test, capacity + 2 * PAGODA_GUARD_BYTES, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, block);
	return block;
}

/*
 * Allocates a guarded buffer of up to @capacity bytes with up to @priv_capacity bytes of private
 * data, owned by the test.
 */
void pagoda_guarded_init(struct kunit *test, struct pagoda_guarded *guarded, u32 capacity,
			 u32 priv_capacity)
{
	guarded->capacity = capacity;
	guarded->priv_capacity = priv_capacity;
	guarded->block = guard_alloc(test, capacity);
	guarded->priv_block = guard_alloc(test, priv_capacity);
}

/*
 * Empties the buffer, sets the sizes of buffer and private data, and fills both and their guards
 * with the guard value.
 */
void pagoda_guarded_fresh(struct pagoda_guarded *guarded, u32 size, u32 priv_size)
{
	guarded->size = size;
	guarded->priv_size = priv_size;
	memset(guarded->block, PAGODA_GUARD_VALUE, size + 2 * PAGODA_GUARD_BYTES);
	memset(guarded->priv_block, PAGODA_GUARD_VALUE, priv_size + 2 * PAGODA_GUARD_BYTES);
	guarded->buf = (struct pagoda_paging_buffer) {
		.pos = guarded->block + PAGODA_GUARD_BYTES,
		.size = size,
		.priv = guarded->priv_block + PAGODA_GUARD_BYTES,
		.priv_size = priv_size,
	};
}

/* Returns the address of the first byte of the buffer. */
const u8 *pagoda_guarded_data(const struct pagoda_guarded *guarded)
{
	return guarded->block + PAGODA_GUARD_BYTES;
}

/* Returns the address of the first entry of the private data. */
const struct pagoda_paging_private *pagoda_guarded_priv(const struct pagoda_guarded *guarded)
{
	return (const void *)(guarded->priv_block + PAGODA_GUARD_BYTES);
}

/*
 * Expects that no guard byte and no byte from &pagoda_paging_buffer.pos or .priv on was written,
 * and that both positions agree with the sizes that are left.
 */
void pagoda_guarded_check(struct kunit *test, const struct pagoda_guarded *guarded)
{
	const struct pagoda_paging_buffer *buf = &guarded->buf;
	const u8 *end = pagoda_guarded_data(guarded) + guarded->size;
	const u8 *priv = guarded->priv_block + PAGODA_GUARD_BYTES;
	const u8 *priv_end = priv + guarded->priv_size;

	KUNIT_ASSERT_LE(test, buf->write_offset, guarded->size);
	KUNIT_ASSERT_EQ(test, buf->size, guarded->size - buf->write_offset);
	KUNIT_ASSERT_PTR_EQ(test, buf->pos, pagoda_guarded_data(guarded) + buf->write_offset);
	KUNIT_ASSERT_PTR_EQ(test, buf->priv, priv_end - buf->priv_size);
	KUNIT_ASSERT_NULL(test, memchr_inv(guarded->block, PAGODA_GUARD_VALUE,
					   PAGODA_GUARD_BYTES));
	KUNIT_ASSERT_NULL(test, memchr_inv(buf->pos, PAGODA_GUARD_VALUE,
					   end + PAGODA_GUARD_BYTES - buf->pos));
	KUNIT_ASSERT_NULL(test, memchr_inv(guarded->priv_block, PAGODA_GUARD_VALUE,
					   PAGODA_GUARD_BYTES));
	KUNIT_ASSERT_NULL(test, memchr_inv(buf->priv, PAGODA_GUARD_VALUE,
					   priv_end + PAGODA_GUARD_BYTES - buf->priv));
}

static void paging_pages_alloc(struct kunit *test, struct pagoda_pages *pages, u32 nr_pages)
{
	u32 i;

	pages->addresses = test_calloc(test, nr_pages, sizeof(*pages->addresses));
	pages->cpu_pages = test_calloc(test, nr_pages, sizeof(*pages->cpu_pages));
	for (i = 0; i < nr_pages; i++)
		pages->cpu_pages[i] = (const void *)(0x1000ul + i);
	pages->adl = (struct pagoda_adl) {
		.nr_pages = nr_pages,
		.pages = pages->addresses,
		.cpu_pages = pages->cpu_pages,
	};
}

/* Makes a contiguous page list from bus address @base on, owned by the test. */
void pagoda_pages_contiguous(struct kunit *test, struct pagoda_pages *pages, u64 base,
			     u32 nr_pages)
{
	paging_pages_alloc(test, pages, nr_pages);
	pages->adl.contiguous = true;
	pages->adl.base = base;
	pages->adl.pages = NULL;
}

/*
 * Makes a list of pages with bus addresses above @base, in runs of at most @max_run pages with
 * consecutive addresses (1: each page is a run), which aren't in the order of their addresses.
 */
void pagoda_pages_scattered(struct kunit *test, struct pagoda_pages *pages, u64 base,
			    u32 nr_pages, u32 max_run, struct rnd_state *rnd)
{
	u32 i, run = 0, nr_runs = 0;
	u64 address = base;

	paging_pages_alloc(test, pages, nr_pages);
	for (i = 0; i < nr_pages; i++) {
		/* Each run has a slot of @max_run + 1 addresses; slots are swapped in pairs. */
		if (!run) {
			run = pagoda_random(rnd, 1, max_run);
			address = base + (u64)(nr_runs++ ^ 1) * (max_run + 1) *
				  VIRTIO_PAGODA_PAGE_SIZE;
		}
		address += VIRTIO_PAGODA_PAGE_SIZE;
		pages->addresses[i] = address;
		run--;
	}
}

/* Returns the bus address of page @index of the list. */
u64 pagoda_pages_at(const struct pagoda_pages *pages, u64 index)
{
	if (pages->adl.contiguous)
		return pages->adl.base + index * VIRTIO_PAGODA_PAGE_SIZE;
	return pages->addresses[index];
}

/* Allocates an image of up to @capacity pages, owned by the test. */
void pagoda_image_init(struct kunit *test, struct pagoda_image *image, u64 capacity)
{
	*image = (struct pagoda_image) { .capacity = capacity };
	image->src = test_calloc(test, capacity, sizeof(u64));
	image->dst = test_calloc(test, capacity, sizeof(u64));
}

/* Empties the image. */
void pagoda_image_reset(struct pagoda_image *image)
{
	*image = (struct pagoda_image) {
		.capacity = image->capacity,
		.src = image->src,
		.dst = image->dst,
	};
}

/*
 * Decodes @nr_runs runs into @places. Returns false if a run is malformed, or the runs don't have
 * @pages pages together.
 */
static bool image_runs(u64 *places, const u8 *runs, u32 nr_runs, u64 pages)
{
	u32 i, page;

	for (i = 0; i < nr_runs; i++) {
		const struct virtio_pagoda_run *run = (const void *)(runs + i * 16);

		if (!le32_to_cpu(run->nr_pages) || le32_to_cpu(run->nr_pages) > pages ||
		    run->reserved || le64_to_cpu(run->address) & 4095)
			return false;
		for (page = 0; page < le32_to_cpu(run->nr_pages); page++)
			*places++ = PAGODA_PLACE(0, le64_to_cpu(run->address) + page * 4096ull);
		pages -= le32_to_cpu(run->nr_pages);
	}
	return !pages;
}

static bool image_side(u64 *places, const struct virtio_pagoda_location *location, const u8 *runs,
		       u64 pages)
{
	u64 page;

	if (location->reserved)
		return false;
	if (!location->segment)
		return !location->address && location->nr_runs &&
		       image_runs(places, runs, le32_to_cpu(location->nr_runs), pages);
	for (page = 0; page < pages; page++)
		*places++ = PAGODA_PLACE(le32_to_cpu(location->segment),
					 le64_to_cpu(location->address) + page * 4096);
	return !location->nr_runs;
}

static bool image_transfer(struct pagoda_image *image, const u8 *packet, u32 length, u32 max_runs)
{
	const struct virtio_pagoda_transfer *transfer = (const void *)packet;
	u32 nr_src = le32_to_cpu(transfer->src.nr_runs);
	u32 nr_dst = le32_to_cpu(transfer->dst.nr_runs);
	u32 flags = le16_to_cpu(transfer->packet.flags);
	u64 size = le64_to_cpu(transfer->size);
	u64 pages = (size + 4095) / 4096;

	/* Only the last packet may end within a page. */
	if (length != 72 + (nr_src + nr_dst) * 16 || nr_src + nr_dst > max_runs || !size ||
	    image->bytes % 4096 || image->nr_pages + pages > image->capacity)
		return false;
	if (!image_side(image->src + image->nr_pages, &transfer->src, packet + 72, pages) ||
	    !image_side(image->dst + image->nr_pages, &transfer->dst, packet + 72 + nr_src * 16,
			pages))
		return false;
	if (!image->packets)
		image->start_first = flags & VIRTIO_PAGODA_TRANSFER_START;
	image->end_last = flags & VIRTIO_PAGODA_TRANSFER_END;
	image->starts += !!(flags & VIRTIO_PAGODA_TRANSFER_START);
	image->ends += !!(flags & VIRTIO_PAGODA_TRANSFER_END);
	image->bytes += size;
	image->nr_pages += pages;
	return true;
}

static bool image_map(struct pagoda_image *image, const u8 *packet, u32 length, u32 max_runs)
{
	const struct virtio_pagoda_map_aperture_segment *map = (const void *)packet;
	u32 nr_runs = le32_to_cpu(map->nr_runs);
	u64 pages = le64_to_cpu(map->nr_pages);
	u64 page;

	if (length != 48 + nr_runs * 16 || !nr_runs || nr_runs > max_runs ||
	    image->nr_pages + pages > image->capacity || map->reserved ||
	    le32_to_cpu(map->segment) != 2)
		return false;
	if (!image_runs(image->src + image->nr_pages, packet + 48, nr_runs, pages))
		return false;
	for (page = 0; page < pages; page++)
		image->dst[image->nr_pages + page] =
			PAGODA_PLACE(2, (le64_to_cpu(map->first_page) + page) * 4096);
	image->nr_pages += pages;
	return true;
}

/*
 * Adds the effects of a buffer's TRANSFER and map packets to an image. Returns false unless the
 * bytes are complete, well-formed packets of at most @max_runs runs, for which the image has room.
 */
bool pagoda_image_add(struct pagoda_image *image, const u8 *data, u32 size, u32 max_runs)
{
	u32 offset = 0;

	while (offset < size) {
		const struct virtio_pagoda_packet *packet = (const void *)(data + offset);
		bool good = true;
		u32 length;

		if (size - offset < 16)
			return false;
		length = le32_to_cpu(packet->length);
		if (length < 16 || length % 8 || length > size - offset)
			return false;
		if (le16_to_cpu(packet->opcode) == VIRTIO_PAGODA_OP_TRANSFER)
			good = image_transfer(image, data + offset, length, max_runs);
		else if (le16_to_cpu(packet->opcode) == VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT ||
			 le16_to_cpu(packet->opcode) == VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2)
			good = image_map(image, data + offset, length, max_runs);
		if (!good)
			return false;
		image->packets++;
		image->encoded += length;
		offset += length;
	}
	return true;
}
