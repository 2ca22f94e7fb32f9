// SPDX-License-Identifier: GPL-2.0
/*
 * Conversion of page lists to runs: a run is a sequence of pages with consecutive addresses, so
 * that the encoded size of a list depends on its fragmentation and not on its number of pages.
 *
 * A run ends where the next page isn't consecutive, or at the end of the range of the list that is
 * converted. The end of a packet cuts a run only in a transfer between two page lists. Functions
 * other than pagoda_adl_validate() get only ranges that pagoda_adl_validate() has accepted.
 */
#include <linux/math.h>
#include <linux/minmax.h>

#include "emit.h"
#include "runs.h"

/*
 * Checks @nr_pages of a page list from page @first on, whose addresses have to be below @limit.
 * Returns 0, -EINVAL for a malformed list, or -ERANGE for a list that is too short or an address
 * that is too large, with the reason in *@why.
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

/* Returns the number of pages, at most @nr_pages, of the run that begins at page @first of @adl. */
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

/*
 * Returns the number of runs, ranges of consecutive addresses, that @nr_pages pages of @adl from
 * page @first on consist of.
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

/*
 * Writes at most @max_runs runs (ranges of consecutive addresses) of the @nr_pages pages of
 * @adl from page @first on, and sets *@written to the number of pages in these runs. Returns the
 * number of runs written.
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

/* Returns where the list's struct page array has page @first, NULL without such an array. */
const void *pagoda_adl_cpu_pages(const struct pagoda_adl *adl, u64 first)
{
	const void *const *pages = adl->cpu_pages;

	return pages ? pages + first : NULL;
}

/*
 * Returns the most runs that a packet of at most @bytes may have: as many as fit behind its head of
 * @head bytes, but not more than the device's max_runs.
 */
u32 pagoda_runs_fit(const struct pagoda_paging_limits *limits, u32 bytes, u32 head)
{
	if (bytes < head)
		return 0;
	return min_t(u32, (bytes - head) / sizeof(struct virtio_pagoda_run), limits->max_runs);
}

/*
 * Writes the runs of the next packet @head bytes behind @buf->pos. The caller writes the packet's
 * head and advances @buf. If there is no room for a run, returns a result with nr_runs 0.
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

/*
 * Returns upper bounds, with no bytes moved, for an operation with @src_runs runs of the source and
 * @dst_runs runs of the destination, 0 for a side that isn't a page list.
 *
 * Every packet but the operation's last has as many runs as the buffer has room for, at most
 * max_runs. Such a packet has fewer runs than the first packet of a fresh buffer only as the last
 * of its buffer, behind packets of max_runs runs each or packets of another operation. If both
 * sides have runs, the end of a packet may cut a run of either side in two, and room for one run
 * may stay unused where runs of both sides end at the same page.
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
