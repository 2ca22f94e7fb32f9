// SPDX-License-Identifier: GPL-2.0
/*
 * Reports for ioctls, fdinfo and debugfs: usage of segments, a client's memory and engine time, the
 * manager's counters, TTM's LRU lists, the paging queue and its last paging buffers.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/info.h"
#include "paging/paging.h"
#include "queue/exec.h"
#include "queue/queue.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/limits.h"
#include "vidmm/ledger/traffic.h"
#include "vidmm/segment/segment.h"
#include "debug.h"

/* Bytes of memory for the text of a decoded paging buffer; longer text is cut off. */
#define REPORT_TEXT_SIZE	SZ_64K

static const char * const report_segment_names[VIRTIO_PAGODA_SEGMENT_COUNT] = {
	[VIRTIO_PAGODA_SEGMENT_SYSTEM] = "system",
	[VIRTIO_PAGODA_SEGMENT_VRAM] = "vram",
	[VIRTIO_PAGODA_SEGMENT_APERTURE] = "aperture",
};

/**
 * pagoda_vidmm_segment_info() - Describe a segment
 * @vidmm: The manager
 * @client: Client to report usage of, or NULL
 * @id: %DRM_PAGODA_SEGMENT_VRAM or %DRM_PAGODA_SEGMENT_APERTURE
 * @info: Filled
 *
 * Context: May sleep.
 * Return: 0, or -ENOENT for another @id.
 */
int pagoda_vidmm_segment_info(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
			      u32 id, struct drm_pagoda_segment_info *info)
{
	*info = (struct drm_pagoda_segment_info) { .id = id };
	if (id == DRM_PAGODA_SEGMENT_VRAM)
		pagoda_vram_report(vidmm, info);
	else if (id == DRM_PAGODA_SEGMENT_APERTURE)
		pagoda_aperture_report(vidmm, info);
	else
		return -ENOENT;
	if (vidmm->info->coherent)
		info->flags |= DRM_PAGODA_SEGMENT_CACHE_COHERENT;
	if (client)
		info->client_usage = atomic64_read(&client->budget.segment_bytes[id]);
	if (client && id == DRM_PAGODA_SEGMENT_APERTURE)
		info->client_pinned = pagoda_quota_count(client->quota, PAGODA_LIMIT_SHARED) <<
				      PAGE_SHIFT;
	return 0;
}

static u32 report_segment(const struct pagoda_bo *bo)
{
	return bo->part.segment < PAGODA_BUDGET_SEGMENTS ? bo->part.segment :
							   VIRTIO_PAGODA_SEGMENT_SYSTEM;
}

/* Returns whether an allocation takes up memory: in the system segment only if it has pages. */
static bool report_is_resident(const struct pagoda_bo *bo)
{
	return report_segment(bo) != VIRTIO_PAGODA_SEGMENT_SYSTEM ||
	       (bo->ttm.ttm && ttm_tt_is_populated(bo->ttm.ttm));
}

/*
 * Returns true if an allocation isn't in the segment that it prefers, although it was made resident
 * or is on a residency list, and isn't offered.
 */
static bool report_is_spilled(const struct pagoda_bo *bo)
{
	return (bo->wish.resident || atomic_read(&bo->wish.required)) &&
	       !pagoda_bo_is_offered(bo) && bo->preferred[0] &&
	       report_segment(bo) != bo->preferred[0];
}

/*
 * Adds an allocation that @client has a handle of to @memory, an array by segment. @shared: other
 * files have handles of the allocation, or the allocation is exported. Adds to &pagoda_memory.total
 * only an allocation that is charged to another client or to none, because
 * pagoda_memory_add_client() adds what is charged to @client. Takes the allocation's reservation.
 */
void pagoda_memory_add(struct pagoda_memory *memory, const struct pagoda_client *client,
		       struct pagoda_bo *bo, bool shared)
{
	struct dma_resv *resv = bo->ttm.base.resv;
	u64 size = bo->ttm.base.size;
	bool active;

	dma_resv_lock(resv, NULL);
	active = !dma_resv_test_signaled(resv, DMA_RESV_USAGE_BOOKKEEP);
	if (report_is_spilled(bo))
		memory[bo->preferred[0]].spilled += size;
	if (pagoda_copy_has_pages(bo))
		memory[VIRTIO_PAGODA_SEGMENT_SYSTEM].resident += size;
	memory += report_segment(bo);
	if (bo->client != client)
		memory->total += size;
	if (shared)
		memory->shared += size;
	if (report_is_resident(bo)) {
		memory->resident += size;
		if (active)
			memory->active += size;
		else if (pagoda_bo_is_offered(bo))
			memory->purgeable += size;
	}
	dma_resv_unlock(resv);
}

/*
 * Adds the memory that is charged to the client, with handles or without, to @memory, an array by
 * segment; called after pagoda_memory_add() for all of the client's handles. An allocation that
 * moves between the calls may be counted in one segment and charged in another. Replaces
 * &pagoda_memory.resident of VRAM and the aperture by a sum: what the client holds in the segment,
 * with places that moving or freed allocations haven't left yet; allocations in the segment that
 * the client has handles of and isn't charged for; and of the aperture CPU-written page tables.
 */
void pagoda_memory_add_client(struct pagoda_memory *memory, const struct pagoda_client *client)
{
	const struct pagoda_budget *budget = &client->budget;
	struct pagoda_holdings *holdings = client->closing.vidmm->holdings;
	u32 id, group;

	for (id = 0; id < VIRTIO_PAGODA_SEGMENT_COUNT; id++) {
		group = pagoda_budget_group(id);
		if (group < PAGODA_BUDGET_GROUPS) {
			memory[id].resident = memory[id].total +
					      pagoda_holding_bytes(holdings, &client->holding, id);
			if (id == VIRTIO_PAGODA_SEGMENT_APERTURE)
				memory[id].resident += atomic64_read(&budget->table_bytes);
			memory[id].total += pagoda_budget_usage(budget, group);
		} else {
			memory[id].total += atomic64_read(&budget->segment_bytes[id]);
		}
		memory[id].shared = min(memory[id].shared, memory[id].total);
	}
}

/*
 * Returns the nanoseconds that an engine has spent on the client's jobs since the client was
 * created; never less than an earlier call returned. The sum over all clients since probe is the
 * engine's busy time.
 */
u64 pagoda_client_engine_ns(struct pagoda_client *client, struct pagoda_vidmm *vidmm, u32 engine)
{
	return pagoda_exec_account_busy_ns(client->account, vidmm->engines, engine);
}

/**
 * pagoda_vidmm_stats() - Report counters since probe, and the bandwidth and tokens of now
 * @vidmm: The manager
 * @stats: Filled; the members about a client, submit_*, are set to 0 for pagoda_client_stats() to
 *	fill in
 *
 * Context: Any but interrupts.
 */
void pagoda_vidmm_stats(struct pagoda_vidmm *vidmm, struct drm_pagoda_stats *stats)
{
	struct pagoda_counters *from = &vidmm->stats;
	struct pagoda_promotion *promotion = vidmm->promotion;
	struct pagoda_traffic_state state;
	struct pagoda_queue_stats queue;
	u64 out;

	pagoda_traffic_look(&promotion->traffic, ktime_get_ns(), &state);
	pagoda_queue_stats(vidmm->queue, &queue);
	out = atomic64_read(&from->paged_out);
	*stats = (struct drm_pagoda_stats) {
		.paged_in = atomic64_read(&from->paged_in),
		.paged_out = out - min(out, queue.skipped),
		.moved = atomic64_read(&from->moved),
		.filled = atomic64_read(&from->filled),
		.discarded = atomic64_read(&from->discarded),
		.evictions = atomic64_read(&from->evictions),
		.page_ins = atomic64_read(&from->page_ins),
		.cpu_waits = atomic64_read(&from->cpu_waits),
		.busy_retries = atomic64_read(&from->busy_retries),
		.insufficient = atomic64_read(&from->insufficient),
		.commands = atomic64_read(&from->commands),
		.buffer_bytes = queue.bytes,
		.submissions = queue.submissions,
		.doorbells = queue.doorbells,
		.faults = atomic64_read(&from->faults),
		.lost = atomic64_read(&from->lost),
		.range_acquires = atomic64_read(&from->range_acquires),
		.range_steals = atomic64_read(&from->range_steals),
		.bandwidth = atomic64_read(&vidmm->bandwidth->rate),
		.promote_tokens = state.tokens,
		.promote_rate = state.rate,
		.promote_spent = state.spent,
		.promote_refused = state.refused,
		.promoted = atomic64_read(&promotion->promoted),
		.promotions = atomic64_read(&promotion->promotions),
	};
}

/* Prints sizes and usage of VRAM and the aperture, and their resource managers. May sleep. */
void pagoda_vidmm_print_segments(struct pagoda_vidmm *vidmm, struct drm_printer *p)
{
	struct drm_pagoda_segment_info info;
	u32 id;

	for (id = DRM_PAGODA_SEGMENT_VRAM; id <= DRM_PAGODA_SEGMENT_APERTURE; id++) {
		pagoda_vidmm_segment_info(vidmm, NULL, id, &info);
		drm_printf(p, "%u %s: size %llu visible %llu usage %llu visible_usage %llu",
			   id, report_segment_names[id], info.size, info.visible_size, info.usage,
			   info.visible_usage);
		drm_printf(p, " mapped %llu largest_free %llu\n", info.mapped, info.largest_free);
	}
	ttm_resource_manager_debug(ttm_manager_type(&vidmm->ttm, TTM_PL_VRAM), p);
	ttm_resource_manager_debug(ttm_manager_type(&vidmm->ttm, TTM_PL_TT), p);
}

static void report_resource(struct ttm_resource *res, u32 priority, struct drm_printer *p)
{
	struct ttm_buffer_object *ttm_bo = res->bo;

	if (pagoda_bo_is_ours(ttm_bo)) {
		struct pagoda_bo *bo = pagoda_bo_of_ttm(ttm_bo);

		drm_printf(p, "  priority %u bo %llu size %zu page %lu%s%s\n", priority, bo->id,
			   res->size, res->start, READ_ONCE(bo->wish.resident) ? " resident" : "",
			   READ_ONCE(bo->content.lost) ? " lost" : "");
	} else {
		drm_printf(p, "  priority %u leaving size %zu page %lu\n", priority, res->size,
			   res->start);
	}
}

/*
 * Prints a manager's resources by TTM priority, lowest first, and within a priority least recently
 * used first. Holds lru_lock, under which no allocation whose resource is on a list is freed: @p
 * must not sleep.
 */
static void report_lru(struct ttm_resource_manager *man, struct drm_printer *p)
{
	struct ttm_lru_item *item;
	u32 priority;

	spin_lock(&man->bdev->lru_lock);
	for (priority = 0; priority < TTM_MAX_BO_PRIORITY; priority++)
		list_for_each_entry(item, &man->lru[priority], link)
			if (ttm_lru_item_is_res(item))
				report_resource(ttm_lru_item_to_res(item), priority, p);
	spin_unlock(&man->bdev->lru_lock);
}

/*
 * Prints, segment by segment, the resources on TTM's LRU lists, in the lists' order, under the
 * lru_lock: @p must not sleep.
 */
void pagoda_vidmm_print_lru(struct pagoda_vidmm *vidmm, struct drm_printer *p)
{
	static const u32 types[] = { TTM_PL_VRAM, TTM_PL_TT, TTM_PL_SYSTEM };
	static const u32 segments[] = {
		VIRTIO_PAGODA_SEGMENT_VRAM,
		VIRTIO_PAGODA_SEGMENT_APERTURE,
		VIRTIO_PAGODA_SEGMENT_SYSTEM,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		drm_printf(p, "%s\n", report_segment_names[segments[i]]);
		report_lru(ttm_manager_type(&vidmm->ttm, types[i]), p);
	}
}

/* Prints state and counters of the paging queue; the printer must not sleep. */
void pagoda_vidmm_print_queue(struct pagoda_vidmm *vidmm, struct drm_printer *p)
{
	pagoda_queue_print(vidmm->queue, p);
}

struct report_buffers {
	struct drm_printer *p;
	struct pagoda_paging_text text;
};

static void report_buffer(void *arg, const void *data, u32 size, u64 seqno, int error)
{
	struct report_buffers *report = arg;

	report->text.len = 0;
	report->text.data[0] = '\0';
	pagoda_paging_print(data, size, &report->text);
	drm_printf(report->p, "seqno %llu size %u error %d\n", seqno, size, error);
	drm_puts(report->p, report->text.data);
}

/* Decodes and prints the paging buffers that were finished last. May sleep. */
void pagoda_vidmm_print_buffers(struct pagoda_vidmm *vidmm, struct drm_printer *p)
{
	struct report_buffers report = {
		.p = p,
		.text.data = kvmalloc(REPORT_TEXT_SIZE, GFP_KERNEL),
		.text.size = REPORT_TEXT_SIZE,
	};

	if (!report.text.data) {
		drm_puts(p, "no memory\n");
		return;
	}
	pagoda_queue_visit_recent(vidmm->queue, report_buffer, &report);
	kvfree(report.text.data);
}
