// SPDX-License-Identifier: GPL-2.0
/*
 * The page that unmapped addresses of the aperture lead to. The GPU may read and write there
 * without a fault (C58), but has no business there: what the page holds besides zeros was written
 * by work that uses an address after it was taken away. The page is looked at when an address goes
 * the same way, and when the device goes (C59); debugfs `failure` has what was found.
 */
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "core/core.h"

/**
 * pagoda_dummy_init() - Get the page, and the one that flushes write to
 * @vidmm: The manager
 *
 * Context: Probe; may sleep.
 * Return: 0 or -ENOMEM.
 */
int pagoda_dummy_init(struct pagoda_vidmm *vidmm)
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
		pagoda_sysmem_release(vidmm, &dummy->mem, pagoda_sysmem_free_page);
	return ret;
}

/**
 * pagoda_dummy_map() - Let a device with an MMU reach both pages
 * @vidmm: The manager; its stream works
 *
 * Context: Probe; may sleep.
 * Return: 0 or a negative errno.
 */
int pagoda_dummy_map(struct pagoda_vidmm *vidmm)
{
	struct pagoda_dummy *dummy = vidmm->dummy;
	int ret = pagoda_sysmem_map(vidmm, &dummy->mem, &dummy->mem.page);

	return ret ?: pagoda_sysmem_map(vidmm, &dummy->flush, &dummy->flush.page);
}

static u64 *dummy_words(struct pagoda_dummy *dummy)
{
	return page_address(dummy->mem.page);
}

/* The first word that was written. */
static void dummy_note(struct pagoda_dummy *dummy, u32 word)
{
	dummy->found++;
	dummy->offset = word * sizeof(u64);
	dummy->value = READ_ONCE(dummy_words(dummy)[word]);
	memset(dummy_words(dummy), 0, PAGE_SIZE);
}

/**
 * pagoda_dummy_inspect() - Look whether something wrote to the page since the last time
 * @vidmm: The manager
 *
 * Context: Any but interrupts; doesn't sleep.
 */
void pagoda_dummy_inspect(struct pagoda_vidmm *vidmm)
{
	struct pagoda_dummy *dummy = vidmm->dummy;
	u32 word;

	spin_lock(&dummy->lock);
	for (word = 0; word < PAGE_SIZE / sizeof(u64); word++)
		if (READ_ONCE(dummy_words(dummy)[word]))
			break;
	if (word < PAGE_SIZE / sizeof(u64)) {
		dummy_note(dummy, word);
		drm_dbg_driver(vidmm->drm, "unmapped aperture was written: 0x%llx at byte %u\n",
			       dummy->value, dummy->offset);
	}
	spin_unlock(&dummy->lock);
}

/**
 * pagoda_dummy_print() - What was found in the page
 * @vidmm: The manager
 * @p: Where to; nothing if nothing was found
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

/**
 * pagoda_dummy_fini() - Look at the page for the last time and free both
 * @vidmm: The manager; the device executes nothing any more
 *
 * Context: May sleep.
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
}
