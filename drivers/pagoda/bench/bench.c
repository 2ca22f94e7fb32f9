// SPDX-License-Identifier: GPL-2.0
/*
 * Measurements inside the kernel: paging operations, the builder of TRANSFER, transfers by virtual
 * addresses and of tiled surfaces (virtual.c), page tables (tables.c), moves compared with TTM's
 * own copy. Reading the debugfs file pagoda_bench runs the measurements; the device should have no
 * other users during the reading. Not for production (CONFIG_DRM_PAGODA_BENCH).
 *
 * Times and rates in that file are by the median time of BENCH_RUNS runs, which alternate with runs
 * of the work to compare with, if any. A ratio is the median time of the work to compare with,
 * divided by the measured median time: higher is better. The other debugfs files, pagoda_bench_*,
 * do work with which benchmarks in user space compare their results (beside.c, crowd.c).
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/pagoda_drm.h>
#include "core/core.h"
#include "core/device.h"
#include "paging/paging.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "virtio/virtio.h"
#include "bench.h"
#include "lib.h"

static void bench_rate(struct bench *b, const char *metric, const char *shape, u64 size,
		       u32 count, u64 *ours, u64 *theirs)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%lluKiB%s", metric, size >> 10, shape);
	pagoda_bench_bandwidth(b, name, size * count, ours, theirs);
}

/*
 * Copies @size bytes from VRAM at @address to the pages of @p (@out), or from the pages to VRAM, by
 * a memcpy() for each run of contiguous pages. Returns the nanoseconds of the copy.
 */
static u64 bench_copy(struct bench *b, const struct bench_pages *p, u64 address, u64 size,
		      bool out)
{
	u8 *vram = pagoda_vram_window(b->vidmm) + address;
	u64 start = ktime_get_ns();
	u64 done, piece;
	u32 i;

	for (done = 0; done < size; done += piece) {
		u32 first = done >> PAGE_SHIFT;
		u8 *system = __va(p->dma[first]);

		for (i = first + 1, piece = PAGE_SIZE; done + piece < size; i++) {
			if (p->dma[i] != p->dma[i - 1] + PAGE_SIZE)
				break;
			piece += PAGE_SIZE;
		}
		if (out)
			memcpy(system, vram + done, piece);
		else
			memcpy(vram + done, system, piece);
	}
	return ktime_get_ns() - start;
}

static int bench_bandwidth(struct bench *b, u64 size, bool scattered, bool out)
{
	u64 ours[BENCH_RUNS], theirs[BENCH_RUNS], address;
	struct bench_transfer transfer;
	struct bench_pages pages;
	struct pagoda_bo *bo;
	u32 run;
	int ret;

	bo = pagoda_bench_bo(b, size, DRM_PAGODA_ALLOCATION_CONTIGUOUS);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	ret = pagoda_bench_pages_alloc(&pages, size >> PAGE_SHIFT, scattered);
	if (!ret)
		ret = pagoda_bench_move(bo, TTM_PL_VRAM);
	if (ret)
		goto out;
	address = pagoda_bench_address(bo);
	transfer = (struct bench_transfer) {
		.pages = &pages, .address = address, .size = size, .out = out,
	};
	for (run = 0; run < BENCH_RUNS && !ret; run++) {
		ret = pagoda_bench_transfer(b, &transfer, &ours[run]);
		theirs[run] = bench_copy(b, &pages, address, size, out);
	}
	if (!ret)
		bench_rate(b, out ? "operation.out" : "operation.in",
			   scattered ? ".scattered" : ".contiguous", size, 1, ours, theirs);
out:
	pagoda_bench_pages_free(&pages);
	pagoda_bench_close(bo);
	return ret;
}

/* Bytes of the allocations that bench_moves() moves together; a larger allocation moves alone. */
#define BENCH_MOVED	(32ull << 20)

struct bench_set {
	struct pagoda_bo **bos;
	u32 count;
};

static void bench_set_free(struct bench_set *set)
{
	u32 i;

	for (i = 0; i < set->count; i++)
		pagoda_bench_close(set->bos[i]);
	kvfree(set->bos);
}

static int bench_set_alloc(struct bench *b, struct bench_set *set, u64 size)
{
	u32 count = max_t(u64, div64_u64(BENCH_MOVED, size), 1);

	*set = (struct bench_set) { .bos = kvcalloc(count, sizeof(*set->bos), GFP_KERNEL) };
	if (!set->bos)
		return -ENOMEM;
	for (; set->count < count; set->count++) {
		struct pagoda_bo *bo = pagoda_bench_bo(b, size, DRM_PAGODA_ALLOCATION_CONTIGUOUS);

		if (IS_ERR(bo))
			return PTR_ERR(bo);
		set->bos[set->count] = bo;
	}
	return 0;
}

/*
 * Sets *@ns to the time that moving all allocations of @set to @mem_type takes: by the device, or
 * with @cpu by TTM's copy. Returns 0 or a negative errno.
 */
static int bench_set_move(struct bench *b, struct bench_set *set, u32 mem_type, bool cpu, u64 *ns)
{
	u64 start = ktime_get_ns();
	struct pagoda_plug plug;
	int ret = 0;
	u32 i;

	WRITE_ONCE(b->vidmm->moves_by_cpu, cpu);
	pagoda_stream_plug(b->vidmm, &plug);
	for (i = 0; i < set->count && !ret; i++)
		ret = pagoda_bench_start_move(set->bos[i], mem_type);
	pagoda_stream_unplug(b->vidmm, &plug);
	WRITE_ONCE(b->vidmm->moves_by_cpu, false);
	for (i = 0; i < set->count && !ret; i++)
		ret = pagoda_bench_wait(set->bos[i]);
	*ns = ktime_get_ns() - start;
	return ret;
}

/* Compares moves through TTM by the device with moves by TTM's own copy. */
static int bench_moves(struct bench *b, u64 size)
{
	u64 out[2][BENCH_RUNS], in[2][BENCH_RUNS];
	struct bench_set set;
	u64 unused;
	u32 run;
	int ret;

	ret = bench_set_alloc(b, &set, size);
	if (!ret)
		ret = bench_set_move(b, &set, TTM_PL_VRAM, false, &unused);
	for (run = 0; run < 2 * BENCH_RUNS && !ret; run++) {
		bool cpu = run & 1;

		ret = bench_set_move(b, &set, TTM_PL_SYSTEM, cpu, &out[cpu][run / 2]);
		if (!ret)
			ret = bench_set_move(b, &set, TTM_PL_VRAM, cpu, &in[cpu][run / 2]);
	}
	if (!ret) {
		bench_rate(b, "moves-by-memcpy.out", "", size, set.count, out[0], out[1]);
		bench_rate(b, "moves-by-memcpy.in", "", size, set.count, in[0], in[1]);
	}
	bench_set_free(&set);
	return ret;
}

/*
 * Sets *@ns to the time that memcpy() from VRAM to new pages takes with allocating the pages
 * (@out), or memcpy() from pages to VRAM with freeing the pages: the least time of a move that
 * copies. Returns 0 or -ENOMEM.
 */
static int bench_allocate_and_copy(struct bench *b, u64 address, u64 size, bool out, u64 *ns)
{
	struct bench_pages pages;
	u64 start = ktime_get_ns();
	int ret = 0;

	if (out)
		ret = pagoda_bench_pages_alloc(&pages, size >> PAGE_SHIFT, false);
	*ns = ktime_get_ns() - start;
	if (!out)
		ret = pagoda_bench_pages_alloc(&pages, size >> PAGE_SHIFT, false);
	if (!ret)
		*ns += bench_copy(b, &pages, address, size, out);
	start = ktime_get_ns();
	pagoda_bench_pages_free(&pages);
	if (!out)
		*ns += ktime_get_ns() - start;
	return ret;
}

/* Compares moves of a single allocation with bench_allocate_and_copy() of its size. */
static int bench_end_to_end(struct bench *b, u64 size)
{
	u64 out[2][BENCH_RUNS], in[2][BENCH_RUNS], start, address;
	struct pagoda_bo *bo;
	u32 run;
	int ret;

	bo = pagoda_bench_bo(b, size, DRM_PAGODA_ALLOCATION_CONTIGUOUS);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	ret = pagoda_bench_move(bo, TTM_PL_VRAM);
	for (run = 0; run < BENCH_RUNS && !ret; run++) {
		address = pagoda_bench_address(bo);
		ret = bench_allocate_and_copy(b, address, size, true, &out[1][run]);
		if (!ret)
			ret = bench_allocate_and_copy(b, address, size, false, &in[1][run]);
		start = ktime_get_ns();
		if (!ret)
			ret = pagoda_bench_move(bo, TTM_PL_SYSTEM);
		out[0][run] = ktime_get_ns() - start;
		start = ktime_get_ns();
		if (!ret)
			ret = pagoda_bench_move(bo, TTM_PL_VRAM);
		in[0][run] = ktime_get_ns() - start;
	}
	if (!ret) {
		bench_rate(b, "end-to-end.out", "", size, 1, out[0], out[1]);
		bench_rate(b, "end-to-end.in", "", size, 1, in[0], in[1]);
	}
	pagoda_bench_close(bo);
	return ret;
}

/* What the builder of TRANSFER made: bytes of packets, and the number of packets ("commands"). */
struct bench_built {
	u64 bytes;
	u64 commands;
};

/*
 * Builds the TRANSFER of @size bytes of @pages, a paging buffer after the other in @data. Private
 * data goes to @priv. Both have &pagoda_device_info.max_buffer_bytes.
 */
static struct bench_built bench_build(struct bench *b, const struct bench_pages *pages, u64 size,
				      u8 *data, u8 *priv)
{
	const u32 buffer_size = b->pagoda->info.max_buffer_bytes;
	struct bench_built built = {};
	u64 done;

	for (done = 0; done < size; done += PAGODA_PIECE_BYTES) {
		const struct pagoda_paging_op op = pagoda_bench_op(pages, 0, done, size, true);
		struct pagoda_paging_cursor cursor = {};
		enum pagoda_build result;

		do {
			struct pagoda_paging_buffer buf = {
				.pos = data,
				.size = buffer_size,
				.priv = priv,
				.priv_size = buffer_size,
			};

			result = pagoda_paging_build(b->vidmm->paging_limits, &op, &cursor, &buf);
			built.bytes += buf.write_offset;
			built.commands += (buf.priv - priv) / PAGODA_PAGING_MIN_PRIVATE;
		} while (result == PAGODA_BUILD_INSUFFICIENT_BUFFER);
	}
	return built;
}

static void bench_report_built(struct bench *b, const struct bench_built *built, u64 ns, u64 size,
			       const char *shape)
{
	char metric[48];

	snprintf(metric, sizeof(metric), "builder.command.%s", shape);
	pagoda_bench_value(b, metric, div64_u64(ns, built->commands), "ns");
	snprintf(metric, sizeof(metric), "builder.command-size.%s", shape);
	pagoda_bench_value(b, metric, div64_u64(built->bytes, built->commands), "bytes");
	snprintf(metric, sizeof(metric), "builder.size-per-MiB.%s", shape);
	pagoda_bench_value(b, metric, div64_u64(built->bytes, size >> 20), "bytes");
	snprintf(metric, sizeof(metric), "builder.commands-per-64MiB.%s", shape);
	pagoda_bench_value(b, metric, built->commands, "commands");
}

/*
 * Reports what the builder of TRANSFER makes of @size bytes: mean time and mean bytes of a packet
 * ("command"), bytes of all packets for each MiB, and the number of packets. Returns 0 or -ENOMEM.
 */
static int bench_builder(struct bench *b, u64 size, bool scattered)
{
	u32 buffer_size = b->pagoda->info.max_buffer_bytes;
	struct bench_built built = {};
	u64 values[BENCH_RUNS], start;
	struct bench_pages pages;
	u8 *data, *priv;
	u32 run;
	int ret;

	ret = pagoda_bench_pages_alloc(&pages, size >> PAGE_SHIFT, scattered);
	data = kvmalloc(buffer_size, GFP_KERNEL);
	priv = kvmalloc(buffer_size, GFP_KERNEL);
	if (!data || !priv)
		ret = -ENOMEM;
	for (run = 0; run < BENCH_RUNS && !ret; run++) {
		start = ktime_get_ns();
		built = bench_build(b, &pages, size, data, priv);
		values[run] = ktime_get_ns() - start;
	}
	if (!ret)
		bench_report_built(b, &built, pagoda_bench_median(values), size,
				   scattered ? "scattered" : "contiguous");
	kvfree(priv);
	kvfree(data);
	pagoda_bench_pages_free(&pages);
	return ret;
}

/* Compares moving a page out of VRAM and back with two NOPs, round trips without work. */
static int bench_latency(struct bench *b)
{
	u64 ours[BENCH_RUNS], theirs[BENCH_RUNS], start;
	struct pagoda_bo *bo = pagoda_bench_bo(b, PAGE_SIZE, 0);
	u32 run;
	int ret;

	if (IS_ERR(bo))
		return PTR_ERR(bo);
	ret = pagoda_bench_move(bo, TTM_PL_VRAM);
	for (run = 0; run < BENCH_RUNS && !ret; run++) {
		start = ktime_get_ns();
		ret = pagoda_bench_move(bo, TTM_PL_SYSTEM);
		if (!ret)
			ret = pagoda_bench_move(bo, TTM_PL_VRAM);
		ours[run] = ktime_get_ns() - start;
		start = ktime_get_ns();
		if (!ret)
			ret = pagoda_virtio_nop(b->pagoda->virtio);
		if (!ret)
			ret = pagoda_virtio_nop(b->pagoda->virtio);
		theirs[run] = ktime_get_ns() - start;
	}
	if (!ret) {
		u64 ns = pagoda_bench_median(ours), base = pagoda_bench_median(theirs);
		u64 ratio = div64_u64(base * 1000, ns);

		seq_printf(b->m, "latency.evict-restore-4KiB\t%llu\tns\t%llu\t%llu.%03llu\n", ns,
			   base, ratio / 1000, ratio % 1000);
	}
	pagoda_bench_close(bo);
	return ret;
}

static int bench_all(struct bench *b)
{
	static const u64 sizes[] = { 64 << 10, 2 << 20, 64 << 20 };
	int ret = 0;
	u32 i, way;

	if (!pagoda_vram_window(b->vidmm))
		return -EOPNOTSUPP;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (way = 0; way < 4 && !ret; way++)
			ret = bench_bandwidth(b, sizes[i], way & 1, way & 2);
		if (!ret)
			ret = bench_end_to_end(b, sizes[i]);
		if (!ret)
			ret = bench_moves(b, sizes[i]);
	}
	return ret ?: bench_builder(b, 64 << 20, false) ?: bench_builder(b, 64 << 20, true) ?:
	       pagoda_bench_virtual(b) ?: pagoda_bench_tiled(b) ?: pagoda_bench_tables(b) ?:
	       bench_latency(b);
}

/*
 * Show function of all debugfs files of the benchmark; the file's data is the function to run.
 * Returns 0 or a negative errno.
 */
static int bench_show(struct seq_file *m, void *unused)
{
	struct drm_debugfs_entry *entry = m->private;
	int (*run)(struct bench *b) = entry->file.data;
	struct bench b = {
		.m = m,
		.pagoda = pagoda_device_of_drm(entry->dev),
	};
	int ret, idx;

	b.vidmm = b.pagoda->vidmm;
	b.client = pagoda_client_create(b.vidmm);
	if (!b.client)
		return -ENOMEM;
	if (!drm_dev_enter(entry->dev, &idx)) {
		pagoda_client_put(b.client);
		return -ENODEV;
	}
	ret = run(&b);
	drm_dev_exit(idx);
	pagoda_client_put(b.client);
	return ret;
}

/* Adds the debugfs files, which run a measurement when they are read. */
void pagoda_bench_debugfs_init(struct drm_minor *minor)
{
	static const struct {
		const char *name;
		int (*run)(struct bench *b);
	} files[] = {
		{ "pagoda_bench", bench_all },
		{ "pagoda_bench_trip", pagoda_bench_trip },
		{ "pagoda_bench_copy", pagoda_bench_copy },
		{ "pagoda_bench_lock", pagoda_bench_lock },
		{ "pagoda_bench_walk", pagoda_bench_walk },
		{ "pagoda_bench_pick", pagoda_bench_pick },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		drm_debugfs_add_file(minor->dev, files[i].name, bench_show, files[i].run);
}
