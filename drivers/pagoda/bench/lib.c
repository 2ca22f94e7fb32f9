// SPDX-License-Identifier: GPL-2.0
/*
 * Parts that the measurements share: lines of the report, page lists, allocations and their moves,
 * paging operations and timed transactions.
 */
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <drm/pagoda_drm.h>
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/stream/stream.h"
#include "lib.h"

/* Largest order in which the pages of a page list are allocated: 2 MiB at a time. */
#define BENCH_ORDER	9

static int bench_compare(const void *a, const void *b)
{
	u64 left = *(const u64 *)a, right = *(const u64 *)b;

	return left < right ? -1 : left > right;
}

void pagoda_bench_sort(u64 *values, u32 count)
{
	sort(values, count, sizeof(*values), bench_compare, NULL);
}

u64 pagoda_bench_median(u64 *values)
{
	pagoda_bench_sort(values, BENCH_RUNS);
	return max(values[BENCH_RUNS / 2], 1ull);
}

/*
 * Prints two rates, (@amount per second) >> @shift, by the median of @ours and by that of @theirs
 * (nanoseconds that @amount took), and the ratio of the first rate to the second. Returns the ratio
 * in thousandths.
 */
static u64 bench_report(struct bench *b, const char *metric, const char *unit, u64 amount,
			u32 shift, u64 *ours, u64 *theirs)
{
	u64 ns = pagoda_bench_median(ours), base = pagoda_bench_median(theirs);
	u64 ratio = div64_u64(base * 1000, ns);

	seq_printf(b->m, "%s\t%llu\t%s\t%llu\t%llu.%03llu\n", metric,
		   mul_u64_u64_div_u64(amount, NSEC_PER_SEC, ns) >> shift, unit,
		   mul_u64_u64_div_u64(amount, NSEC_PER_SEC, base) >> shift,
		   ratio / 1000, ratio % 1000);
	return ratio;
}

u64 pagoda_bench_rate(struct bench *b, const char *metric, const char *unit, u64 amount,
		      u64 *ours, u64 *theirs)
{
	return bench_report(b, metric, unit, amount, 0, ours, theirs);
}

u64 pagoda_bench_bandwidth(struct bench *b, const char *metric, u64 size, u64 *ours, u64 *theirs)
{
	return bench_report(b, metric, "MiB/s", size, 20, ours, theirs);
}

void pagoda_bench_value(struct bench *b, const char *metric, u64 value, const char *unit)
{
	seq_printf(b->m, "%s\t%llu\t%s\t-\t-\n", metric, value, unit);
}

/* Prints @ratio, @goal (thousandths) and their quotient: >= 1 means the goal is reached. */
void pagoda_bench_goal(struct bench *b, const char *metric, u64 ratio, u64 goal)
{
	u64 reached = div64_u64(ratio * 1000, goal);

	seq_printf(b->m, "goal.%s\t%llu\tthousandths\t%llu\t%llu.%03llu\n", metric, ratio, goal,
		   reached / 1000, reached % 1000);
}

void pagoda_bench_pages_free(struct bench_pages *p)
{
	u32 i;

	for (i = 0; p->pages && i < p->nr_pages; i += 1u << p->order)
		if (p->pages[i])
			__free_pages(p->pages[i], p->order);
	kvfree(p->pages);
	kvfree(p->dma);
}

/*
 * Returns the number of the page that entry @i of a list of @count entries gets. Permutes the pages
 * of each whole 2 MiB of the list so that consecutive entries are never adjacent pages. Of a last
 * part below 2 MiB many entries keep their page, of a list of 64 KiB all.
 */
static u32 bench_scatter(u32 i, u32 count)
{
	return (i & ~511u) + ((i & 511u) * 167 & 511u) < count ?
	       (i & ~511u) + ((i & 511u) * 167 & 511u) : i;
}

int pagoda_bench_pages_alloc(struct bench_pages *p, u32 nr_pages, bool scattered)
{
	u32 i, block;

	*p = (struct bench_pages) { .nr_pages = nr_pages };
	p->order = min(BENCH_ORDER, ilog2(nr_pages));
	p->pages = kvcalloc(nr_pages, sizeof(*p->pages), GFP_KERNEL);
	p->dma = kvcalloc(nr_pages, sizeof(*p->dma), GFP_KERNEL);
	if (!p->pages || !p->dma)
		return -ENOMEM;
	for (block = 0; block < nr_pages; block += 1u << p->order) {
		struct page *pages = alloc_pages(GFP_KERNEL, p->order);

		if (!pages)
			return -ENOMEM;
		for (i = 0; i < 1u << p->order; i++)
			p->pages[block + i] = pages + i;
	}
	for (i = 0; i < nr_pages; i++)
		p->dma[i] = page_to_phys(p->pages[scattered ? bench_scatter(i, nr_pages) : i]);
	p->adl = (struct pagoda_adl) { .nr_pages = nr_pages, .pages = p->dma };
	return 0;
}

struct pagoda_bo *pagoda_bench_bo(struct bench *b, u64 size, u32 flags)
{
	const struct pagoda_bo_params params = {
		.size = size,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CACHED | flags,
		.supported = DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM),
	};

	return pagoda_bo_create(b->vidmm, b->client, &params);
}

int pagoda_bench_start_move(struct pagoda_bo *bo, u32 mem_type)
{
	const struct ttm_place place = {
		.mem_type = mem_type,
		.flags = mem_type == TTM_PL_VRAM ? TTM_PL_FLAG_CONTIGUOUS : 0,
	};
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };
	struct ttm_operation_ctx ctx = {};
	int ret;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	ret = ttm_bo_validate(&bo->ttm, &placement, &ctx);
	dma_resv_unlock(bo->ttm.base.resv);
	return ret;
}

int pagoda_bench_wait(struct pagoda_bo *bo)
{
	struct ttm_operation_ctx ctx = {};
	int ret;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	ret = ttm_bo_wait_ctx(&bo->ttm, &ctx);
	dma_resv_unlock(bo->ttm.base.resv);
	return ret;
}

int pagoda_bench_move(struct pagoda_bo *bo, u32 mem_type)
{
	return pagoda_bench_start_move(bo, mem_type) ?: pagoda_bench_wait(bo);
}

void pagoda_bench_close(struct pagoda_bo *bo)
{
	drm_gem_object_put(pagoda_bo_gem(bo));
}

/*
 * Returns the operation for the piece at @done of a transfer of @size bytes from VRAM at @address
 * to pages (@out) or from pages to VRAM: at most PAGODA_PIECE_BYTES.
 */
struct pagoda_paging_op pagoda_bench_op(const struct bench_pages *p, u64 address, u64 done,
					u64 size, bool out)
{
	const struct pagoda_side vram = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = address,
	};
	const struct pagoda_side system = {
		.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
		.adl = &p->adl,
	};

	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.transfer = {
			.offset = done,
			.mdl_offset = done >> PAGE_SHIFT,
			.size = min_t(u64, size - done, PAGODA_PIECE_BYTES),
			.src = out ? vram : system,
			.dst = out ? system : vram,
		},
	};
}

/* Returns the READ_PHYSICAL that ends a transfer: when executed, all writes to @p are complete. */
struct pagoda_paging_op pagoda_bench_flush_op(const struct bench_pages *p)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_READ_PHYSICAL,
		.access_physical = {
			.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
			.address = pagoda_adl_page(&p->adl, 0),
			.size = sizeof(u64),
			.cpu_pages = p->pages,
		},
	};
}

/*
 * Sets *@ns to the time that a transaction of the operations that @emit emits takes, until the last
 * operation is executed. @cost: upper bound for all operations. Returns 0 or a negative errno.
 */
int pagoda_bench_run(struct bench *b, const struct pagoda_paging_cost *cost, bench_emit *emit,
		     void *arg, u64 *ns)
{
	struct pagoda_stream_txn txn;
	struct dma_fence *fence;
	u64 start = ktime_get_ns();
	int ret;

	ret = pagoda_stream_begin(&txn, b->vidmm, NULL, PAGODA_STREAM_WAITS_NOT, NULL, 0, cost);
	if (ret)
		return ret;
	ret = emit(&txn, arg);
	fence = pagoda_stream_end(&txn);
	if (fence) {
		dma_fence_wait(fence, false);
		ret = ret ?: fence->error;
		dma_fence_put(fence);
	}
	*ns = ktime_get_ns() - start;
	return ret;
}

static int bench_transfer_emit(struct pagoda_stream_txn *txn, void *arg)
{
	const struct bench_transfer *transfer = arg;
	struct pagoda_paging_op flush = pagoda_bench_flush_op(transfer->pages);
	u64 done;
	int ret = 0;

	for (done = 0; done < transfer->size && !ret; done += PAGODA_PIECE_BYTES) {
		struct pagoda_paging_op op = pagoda_bench_op(transfer->pages, transfer->address,
							     done, transfer->size, transfer->out);

		op.allocation = 1;
		op.transfer.flags = transfer->flags;
		op.transfer.layout = transfer->layout;
		op.transfer.surface_size = transfer->layout.pitch ? transfer->size : 0;
		ret = pagoda_stream_emit(txn, &op);
	}
	return ret ?: pagoda_stream_emit(txn, &flush);
}

/*
 * Sets *@ns to the time that a transaction of a transfer, in pieces of at most PAGODA_PIECE_BYTES,
 * and of pagoda_bench_flush_op() takes. Returns 0 or a negative errno.
 */
int pagoda_bench_transfer(struct bench *b, struct bench_transfer *transfer, u64 *ns)
{
	struct pagoda_vidmm *vidmm = b->vidmm;
	struct pagoda_paging_op op = pagoda_bench_op(transfer->pages, transfer->address, 0,
						     transfer->size, transfer->out);
	struct pagoda_paging_op flush = pagoda_bench_flush_op(transfer->pages);
	struct pagoda_paging_cost cost;

	op.transfer.flags = transfer->flags;
	cost = pagoda_stream_cost(vidmm, &flush);
	pagoda_cost_add(&cost, pagoda_stream_cost(vidmm, &op),
			DIV_ROUND_UP_ULL(transfer->size, PAGODA_PIECE_BYTES));
	return pagoda_bench_run(b, &cost, bench_transfer_emit, transfer, ns);
}

u64 pagoda_bench_address(const struct pagoda_bo *bo)
{
	return (u64)bo->ttm.resource->start << PAGE_SHIFT;
}

/* Prints an amount of work and its nanoseconds for the benchmark in user space. */
void pagoda_bench_report(struct bench *b, u64 amount, u64 ns)
{
	seq_printf(b->m, "%llu %llu\n", amount, ns);
}
