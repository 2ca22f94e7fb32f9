// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/<pid>/fdinfo/<fd>, in the keys of Documentation/gpu/drm-usage-stats.rst.
 *
 * The regions are segments, by the names that other drivers use, or that the text reserves:
 *
 *	vram	VRAM
 *	gtt	system memory that the GPU uses, in the aperture or by DMA address
 *	memory	allocations that were evicted, or never were resident; drm-resident-memory counts
 *		those that have pages
 *
 * The engines are exec0, exec1, ..., by the engine numbers of DRM_PAGODA_CONTEXT_CREATE. The time
 * in which an engine has jobs counts for the first of these jobs that hasn't ended.
 *
 * Each allocation counts in the total of the segment where it is now, and in no other. The driver's
 * own memory for the client, page tables and context save areas, is in the totals, as in
 * QUERY_MEMORY_INFO. drm-resident-vram and drm-resident-gtt also count places that moving or freed
 * allocations haven't left yet, drm-resident-memory also the kept copies of allocations in VRAM.
 *
 * Keys of the driver's own, where no standard key exists; in KiB unless they are counts:
 *
 *	pagoda-budget-<region>	what the client should use at most (vram and gtt). A gtt budget can
 *				exceed the aperture: the gtt budgets of all clients share half of
 *				the machine's memory, because they are for all system memory that
 *				the GPU uses, with or without an address in the aperture (WDDM's
 *				non-local group)
 *	pagoda-usage-<region>	what the client is charged for (vram and gtt)
 *	pagoda-spilled-<region>	allocations that the client has handles of, and that prefer this
 *				region but are elsewhere, although they were made resident and
 *				aren't offered (vram and gtt)
 *	pagoda-paged-in		copied to VRAM since the file was opened, for allocations that the
 *				client is charged for
 *	pagoda-paged-out	size of allocations charged to the client that left VRAM by a copy:
 *				at least what was copied; the device copies only what was written,
 *				and tells how much for each paging buffer, not for each client in it
 *	pagoda-copies		system pages kept of the client's allocations in VRAM
 *	pagoda-evictions	how often an allocation that the client is charged for left VRAM
 *	pagoda-paced		evicted from VRAM to make room for allocations of the client's jobs
 *				that could be used elsewhere, too (vidmm/residency/pace.c)
 *	pagoda-left-out		size of allocations left out of VRAM because the client had no
 *				tokens for evictions as pagoda-paced counts, added up over all jobs
 *	pagoda-held		how many jobs had allocations left out
 *	pagoda-ahead		size of allocations that came to VRAM for the client's queued jobs,
 *				before a place of the engine was free for the jobs
 *				(vidmm/submit/ahead.c); also in pagoda-paged-in, if copied
 *	pagoda-ahead-count	number of these allocations
 */
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>
#include "core/compat.h"
#include "core/device.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/manager/manager.h"
#include "vidmm/residency/residency.h"
#include "debug.h"

static const char * const fdinfo_regions[PAGODA_BUDGET_SEGMENTS] = {
	[DRM_PAGODA_SEGMENT_SYSTEM] = "memory",
	[DRM_PAGODA_SEGMENT_VRAM] = "vram",
	[DRM_PAGODA_SEGMENT_APERTURE] = "gtt",
};

/*
 * Returns the object of the lowest handle that isn't below *@handle, with a reference, and sets
 * *@handle to that handle; NULL if there is none.
 */
static struct drm_gem_object *fdinfo_next(struct drm_file *file, int *handle)
{
	struct drm_gem_object *obj;

	spin_lock(&file->table_lock);
	obj = idr_get_next(&file->object_idr, handle);
	if (obj)
		drm_gem_object_get(obj);
	spin_unlock(&file->table_lock);
	return obj;
}

static void fdinfo_print(struct drm_printer *p, const struct pagoda_memory *memory,
			 const char *region)
{
	const struct drm_memory_stats stats = {
		.shared = memory->shared,
		.private = memory->total - memory->shared,
		.resident = memory->resident,
		.purgeable = memory->purgeable,
		.active = memory->active,
	};

	drm_print_memory_stats(p, &stats, DRM_GEM_OBJECT_RESIDENT | DRM_GEM_OBJECT_PURGEABLE |
			       DRM_GEM_OBJECT_ACTIVE, region);
}

static void fdinfo_print_kib(struct drm_printer *p, const char *key, const char *region, u64 bytes)
{
	drm_printf(p, "pagoda-%s%s%s:\t%llu KiB\n", key, *region ? "-" : "", region, bytes >> 10);
}

/* Prints a segment's budget, usage and spilled bytes; for the system segment prints nothing. */
static void fdinfo_print_budget(struct drm_printer *p, struct pagoda_client *client, u32 id,
				const struct pagoda_memory *memory)
{
	u32 group = pagoda_budget_group(id);
	struct pagoda_budget_info info;

	if (group == PAGODA_BUDGET_GROUPS)
		return;
	pagoda_budget_info(&client->budget, group, &info);
	fdinfo_print_kib(p, "budget", fdinfo_regions[id], info.budget);
	fdinfo_print_kib(p, "usage", fdinfo_regions[id], info.usage);
	fdinfo_print_kib(p, "spilled", fdinfo_regions[id], memory->spilled);
}

static void fdinfo_print_engines(struct drm_printer *p, struct pagoda_device *pagoda,
				 struct pagoda_client *client)
{
	u32 i;

	if (!pagoda_vidmm_has_engines(pagoda->vidmm))
		return;
	for (i = 0; i < pagoda->info.num_engines; i++)
		drm_printf(p, "drm-engine-" PAGODA_ENGINE_NAME ":\t%llu ns\n", i,
			   pagoda_client_engine_ns(client, pagoda->vidmm, i));
}

/**
 * pagoda_show_fdinfo() - drm_driver.show_fdinfo: memory by segment, budgets, engine time, paging
 * @p: Printer
 * @file: DRM file
 *
 * Context: Takes reservations, one after another; may sleep.
 */
void pagoda_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct pagoda_memory memory[PAGODA_BUDGET_SEGMENTS] = {};
	struct pagoda_client *client = file->driver_priv;
	struct drm_pagoda_stats stats = {};
	struct drm_gem_object *obj;
	int handle = 0;
	u32 id;

	for (; (obj = fdinfo_next(file, &handle)); handle++) {
		pagoda_memory_add(memory, client, pagoda_bo_of_gem(obj),
				  drm_gem_object_is_shared_for_memory_stats(obj));
		drm_gem_object_put(obj);
	}
	pagoda_memory_add_client(memory, client);
	fdinfo_print_engines(p, pagoda_device_of_drm(file->minor->dev), client);
	for (id = 0; id < PAGODA_BUDGET_SEGMENTS; id++)
		fdinfo_print(p, &memory[id], fdinfo_regions[id]);
	for (id = 0; id < PAGODA_BUDGET_SEGMENTS; id++)
		fdinfo_print_budget(p, client, id, &memory[id]);
	fdinfo_print_kib(p, "paged-in", "", atomic64_read(&client->traffic.paged_in));
	fdinfo_print_kib(p, "paged-out", "", atomic64_read(&client->traffic.paged_out));
	fdinfo_print_kib(p, "copies", "", atomic64_read(&client->copies));
	drm_printf(p, "pagoda-evictions:\t%lld\n", atomic64_read(&client->traffic.evictions));
	pagoda_client_stats(client, &stats);
	fdinfo_print_kib(p, "paced", "", stats.submit_spent);
	fdinfo_print_kib(p, "left-out", "", stats.submit_left);
	drm_printf(p, "pagoda-held:\t%llu\n", stats.submit_held);
	fdinfo_print_kib(p, "ahead", "", atomic64_read(&client->ahead.bytes));
	drm_printf(p, "pagoda-ahead-count:\t%lld\n", atomic64_read(&client->ahead.count));
}
