// SPDX-License-Identifier: GPL-2.0
/*
 * Page lists become runs: consecutive pages are one run however many there are,
 * so that a paging buffer grows with fragmentation and not with size.
 *
 * A run ends where the next page isn't the following one, or with the range
 * asked for; it is never cut because a buffer is small. All functions but
 * pagoda_adl_validate() expect a range that one has accepted.
 */
#include <linux/math.h>
#include <linux/minmax.h>

#include "emit.h"
#include "runs.h"

/**
 * pagoda_adl_validate() - Refuse a range of a page list
 * @adl: The list
 * @first: First page of the range
 * @nr_pages: Pages in the range
 * @limit: Byte that all of the range must be below
 * @why: Set when refused
 *
 * Context: any.
 * Return: 0, -EINVAL for a malformed list, -ERANGE for one that is too short or
 *	goes beyond the limit.
 */
int pagoda_adl_validate(const struct pagoda_adl *adl, u64 first, u64 nr_pages, u64 limit,
			const char **why)
{
	u64 i, bits = 0, last = 0;

	if (!adl)
		return pagoda_refuse(why, -EINVAL, "page list missing");
	if (!pagoda_within(first, nr_pages, adl->nr_pages))
		return pagoda_refuse(why, -ERANGE, "page list too short");
	if (adl->contiguous) {
		if ((adl->base | ((u64)adl->nr_pages << VIRTIO_PAGODA_PAGE_SHIFT)) &
		    PAGODA_PAGE_MASK)
			return pagoda_refuse(why, -EINVAL, "page address misaligned");
		if (!pagoda_within(adl->base, (u64)adl->nr_pages << VIRTIO_PAGODA_PAGE_SHIFT,
				   U64_MAX))
			return pagoda_refuse(why, -ERANGE, "page addresses wrap");
		if (!pagoda_within(adl->base + (first << VIRTIO_PAGODA_PAGE_SHIFT),
				   nr_pages << VIRTIO_PAGODA_PAGE_SHIFT, limit))
			return pagoda_refuse(why, -ERANGE, "page address too large");
		return 0;
	}
	if (!adl->pages)
		return pagoda_refuse(why, -EINVAL, "page list missing");
	for (i = first; i < first + nr_pages; i++) {
		bits |= adl->pages[i];
		last = max_t(u64, last, adl->pages[i]);
	}
	if (bits & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "page address misaligned");
	if (nr_pages && !pagoda_within(last, VIRTIO_PAGODA_PAGE_SIZE, limit))
		return pagoda_refuse(why, -ERANGE, "page address too large");
	return 0;
}

/**
 * pagoda_run_length() - Length of the run that starts at a page
 * @adl: The list
 * @first: The page
 * @nr_pages: Pages to look at, at least 1
 *
 * Context: any.
 * Return: Pages, 1 to @nr_pages.
 */
u32 pagoda_run_length(const struct pagoda_adl *adl, u64 first, u64 nr_pages)
{
	const dma_addr_t *page, *end;
	dma_addr_t next;

	if (adl->contiguous)
		return nr_pages;
	page = adl->pages + first;
	end = page + nr_pages;
	next = *page;
	do {
		next += VIRTIO_PAGODA_PAGE_SIZE;
		page++;
	} while (page != end && *page == next);
	return page - (adl->pages + first);
}

/**
 * pagoda_runs_count() - Runs of a range
 * @adl: The list
 * @first: First page
 * @nr_pages: Pages
 *
 * Context: any.
 * Return: Runs, 0 only for an empty range.
 */
u64 pagoda_runs_count(const struct pagoda_adl *adl, u64 first, u64 nr_pages)
{
	const dma_addr_t *pages;
	u64 i, count = 1;

	if (!nr_pages)
		return 0;
	if (adl->contiguous)
		return 1;
	pages = adl->pages + first;
	for (i = 1; i < nr_pages; i++)
		count += pages[i] != pages[i - 1] + VIRTIO_PAGODA_PAGE_SIZE;
	return count;
}

/**
 * pagoda_runs_write() - Write the runs of a range
 * @adl: The list
 * @first: First page
 * @nr_pages: Pages
 * @runs: Where to
 * @max_runs: Runs that fit there
 * @written: Set to the pages the written runs cover
 *
 * Context: any.
 * Return: Runs written: @max_runs or, if they are fewer, all of the range.
 */
u32 pagoda_runs_write(const struct pagoda_adl *adl, u64 first, u64 nr_pages,
		      struct virtio_pagoda_run *runs, u32 max_runs, u64 *written)
{
	u64 done = 0;
	u32 count, length;

	for (count = 0; count < max_runs && done < nr_pages; count++) {
		u64 address = adl->contiguous ?
			adl->base + ((first + done) << VIRTIO_PAGODA_PAGE_SHIFT) :
			adl->pages[first + done];

		length = pagoda_run_length(adl, first + done, nr_pages - done);
		runs[count] = (struct virtio_pagoda_run) {
			.address = cpu_to_le64(address),
			.nr_pages = cpu_to_le32(length),
		};
		done += length;
	}
	*written = done;
	return count;
}

/**
 * pagoda_adl_cpu_pages() - The list's struct page array from a page on
 * @adl: The list
 * @first: The page
 *
 * Context: any.
 * Return: Address of the page's entry, or NULL if the list has no such array.
 */
const void *pagoda_adl_cpu_pages(const struct pagoda_adl *adl, u64 first)
{
	const void *const *pages = adl->cpu_pages;

	return pages ? pages + first : NULL;
}

/**
 * pagoda_runs_fit() - Runs that the next packet may have
 * @limits: Of the device
 * @bytes: Room for the packet
 * @head: Bytes of the packet without runs
 *
 * Context: any.
 * Return: Runs, 0 if not even the head has room.
 */
u32 pagoda_runs_fit(const struct pagoda_paging_limits *limits, u32 bytes, u32 head)
{
	if (bytes < head)
		return 0;
	return min_t(u32, (bytes - head) / sizeof(struct virtio_pagoda_run), limits->max_runs);
}

/**
 * pagoda_runs_put() - Runs of the next packet, behind room for its head
 * @limits: Of the device
 * @buf: Where to; not advanced
 * @adl: The list
 * @first: First page
 * @nr_pages: Pages that are left of the operation
 * @head: Bytes of the packet without runs
 *
 * The caller writes the head, then commits the packet's length.
 *
 * Context: any.
 * Return: What the packet says; no runs if there is no room for one.
 */
struct pagoda_runs_packet pagoda_runs_put(const struct pagoda_paging_limits *limits,
					  const struct pagoda_paging_buffer *buf,
					  const struct pagoda_adl *adl, u64 first, u64 nr_pages,
					  u32 head)
{
	u32 fit = pagoda_runs_fit(limits, buf->size, head);
	struct pagoda_runs_packet packet = {};

	if (!fit || !pagoda_buffer_has(buf, head))
		return packet;
	packet.nr_runs = pagoda_runs_write(adl, first, nr_pages, (void *)(buf->pos + head), fit,
					   &packet.nr_pages);
	packet.length = head + packet.nr_runs * sizeof(struct virtio_pagoda_run);
	packet.cpu_pages = pagoda_adl_cpu_pages(adl, first);
	return packet;
}

/**
 * pagoda_runs_cost() - Upper bounds for an operation that has runs
 * @limits: Of the device
 * @buffer_size: Bytes of the smallest fresh buffer
 * @head: Bytes of a packet without runs
 * @src_runs: Runs of the source, 0 if it has none
 * @dst_runs: Runs of the destination, 0 if it has none
 *
 * Every packet but the operation's last has as many runs as go into its buffer,
 * so at least what goes into a fresh one, unless it is the last in a buffer: then
 * it follows packets with max_runs runs each, or uses up a tail. With two
 * sides, the end of a packet may cut a run of one of them in two, and when both
 * have a run ending at the same page, room for one run is left unused.
 *
 * Context: any.
 * Return: The bounds, with moved 0.
 */
struct pagoda_paging_cost pagoda_runs_cost(const struct pagoda_paging_limits *limits,
					   u32 buffer_size, u32 head, u64 src_runs, u64 dst_runs)
{
	bool both = src_runs && dst_runs;
	u64 runs = src_runs + dst_runs;
	u64 full = limits->max_runs - both;
	u64 fresh = pagoda_runs_fit(limits, buffer_size, head) - both;
	u64 full_bytes = head + (u64)limits->max_runs * sizeof(struct virtio_pagoda_run);
	u64 full_packets = max_t(u64, buffer_size / full_bytes, 1);
	u64 packets = DIV_ROUND_UP(runs, fresh) + runs / (full_packets * full) + 1;

	packets = min3(packets, runs - both, (u64)U32_MAX);
	return (struct pagoda_paging_cost) {
		.encoded = packets * head + (runs + (both ? packets - 1 : 0)) *
			   sizeof(struct virtio_pagoda_run),
		.packets = packets,
	};
}
