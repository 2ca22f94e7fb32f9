// SPDX-License-Identifier: GPL-2.0
/*
 * The dummy page, to which an address of the aperture leads after its UNMAP, so that an access to
 * the address doesn't fault (C58). Only work that uses an address after its UNMAP writes to the
 * dummy page: a word in the page that isn't 0 shows a bug. The page is inspected when an UNMAP is
 * emitted, when the manager is destroyed (C59), and when debugfs `failure` is read, which shows the
 * result.
 *
 * This file also has the flush page and the fence page of struct pagoda_dummy.
 */
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "internal.h"
#include "segment.h"

/* Allocates the three pages of &pagoda_dummy, at probe. Returns 0, -ENOMEM or -ENOSPC. */
int pagoda_dummy_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_dummy *dummy;
	int ret;

	dummy = drmm_kzalloc(vidmm->drm, sizeof(*dummy), GFP_KERNEL);
	if (!dummy)
		return -ENOMEM;
	vidmm->dummy = dummy;
	spin_lock_init(&dummy->lock);
	ret = pagoda_sysmem_alloc(vidmm, &dummy->mem);
	if (ret)
		return ret;
	ret = pagoda_sysmem_alloc(vidmm, &dummy->flush);
	if (ret)
		goto err_mem;
	ret = pagoda_sysmem_alloc(vidmm, &dummy->fence);
	if (ret)
		goto err_flush;
	return 0;

err_flush:
	pagoda_sysmem_release(vidmm, &dummy->flush, pagoda_sysmem_free_page);
err_mem:
	pagoda_sysmem_release(vidmm, &dummy->mem, pagoda_sysmem_free_page);
	return ret;
}

/**
 * pagoda_dummy_map() - Map the dummy, the flush and the fence page for a device with an MMU
 * @vidmm: The manager; its stream works
 *
 * The fence page is mapped first, because every paging buffer ends with a write to that page. Does
 * nothing for a device without an MMU.
 *
 * Context: Probe; may sleep; waits for the device.
 * Return: 0 or the error of a MAP_MMU.
 */
int pagoda_dummy_map(struct pagoda_vidmm *vidmm)
{
	struct pagoda_dummy *dummy = vidmm->dummy;
	int ret;

	ret = pagoda_sysmem_map(vidmm, &dummy->fence, &dummy->fence.page);
	if (ret)
		return ret;
	ret = pagoda_sysmem_map(vidmm, &dummy->mem, &dummy->mem.page);
	if (ret)
		return ret;
	return pagoda_sysmem_map(vidmm, &dummy->flush, &dummy->flush.page);
}

/* Returns the fence page, and in @address its address for the device. */
struct page *pagoda_dummy_fence_page(struct pagoda_vidmm *vidmm, u64 *address)
{
	*address = vidmm->dummy->fence.address;
	return vidmm->dummy->fence.page;
}

/* Returns the dummy page, to which unmapped addresses of the aperture lead. */
struct pagoda_sysmem *pagoda_dummy_mem(struct pagoda_vidmm *vidmm)
{
	return &vidmm->dummy->mem;
}

/* Returns the flush page: a WRITE_PHYSICAL to this page drains the device's write combiner. */
struct pagoda_sysmem *pagoda_dummy_flush(struct pagoda_vidmm *vidmm)
{
	return &vidmm->dummy->flush;
}

/**
 * pagoda_dummy_inspect() - Look for a word in the dummy page that isn't 0
 * @vidmm: The manager
 *
 * A word that isn't 0 was written through an unmapped address of the aperture. If the inspection
 * finds such words, it is counted, the first of the words is logged at debug level and stored for
 * pagoda_dummy_print(), and the page is filled with zeros.
 *
 * Context: Any but interrupts; doesn't sleep.
 */
void pagoda_dummy_inspect(struct pagoda_vidmm *vidmm)
{
	struct pagoda_dummy *dummy = vidmm->dummy;
	u64 *words = page_address(dummy->mem.page);
	u32 word;

	spin_lock(&dummy->lock);
	for (word = 0; word < PAGE_SIZE / sizeof(u64); word++)
		if (READ_ONCE(words[word]))
			break;
	if (word < PAGE_SIZE / sizeof(u64)) {
		dummy->found++;
		dummy->offset = word * sizeof(u64);
		dummy->value = READ_ONCE(words[word]);
		memset(words, 0, PAGE_SIZE);
		drm_dbg_driver(vidmm->drm, "unmapped aperture was written: 0x%llx at byte %u\n",
			       dummy->value, dummy->offset);
	}
	spin_unlock(&dummy->lock);
}

/**
 * pagoda_dummy_print() - Inspect the dummy page; print how many inspections so far found that the
 * page was written to, and the word that the last of these found
 * @vidmm: The manager
 * @p: Printer; gets nothing if no write was found so far
 *
 * Context: Any but interrupts.
 */
void pagoda_dummy_print(struct pagoda_vidmm *vidmm, struct drm_printer *p)
{
	struct pagoda_dummy *dummy = vidmm->dummy;
	u64 found, value;
	u32 offset;

	pagoda_dummy_inspect(vidmm);
	spin_lock(&dummy->lock);
	found = dummy->found;
	offset = dummy->offset;
	value = dummy->value;
	spin_unlock(&dummy->lock);
	if (found)
		drm_printf(p, "unmapped aperture was written %llu times, last 0x%llx at byte %u\n",
			   found, value, offset);
}

/*
 * Inspects the dummy page, logs a warning if any inspection since probe found that it was written
 * to, and frees the dummy, the flush and the fence page. Called after the device's last work; may
 * sleep.
 */
void pagoda_dummy_fini(struct pagoda_vidmm *vidmm)
{
	struct pagoda_dummy *dummy = vidmm->dummy;

	pagoda_dummy_inspect(vidmm);
	if (dummy->found)
		drm_warn(vidmm->drm, "unmapped aperture was written %llu times, last at byte %u\n",
			 dummy->found, dummy->offset);
	pagoda_sysmem_release(vidmm, &dummy->flush, pagoda_sysmem_free_page);
	pagoda_sysmem_release(vidmm, &dummy->mem, pagoda_sysmem_free_page);
	pagoda_sysmem_release(vidmm, &dummy->fence, pagoda_sysmem_free_page);
}
