// SPDX-License-Identifier: GPL-2.0
/*
 * restream [--print] <recording>: executes a recorded stream again, without device and driver.
 *
 * The device's engine and the CPU executor each execute the packets, in memory of their own; their
 * verdicts are compared after each packet, their memory after each paging buffer. Each packet is
 * also built again (rebuild.c). Recorded writes of the CPU to page tables are packets, too. Roots
 * are set and the device is reset where the recording says so. --print prints all packets first.
 *
 * A recording has neither the content of system memory nor acquisitions of swizzling ranges.
 * restream makes up the same for engine and executor: a page of system memory exists from its first
 * use on, with content that depends on its address; a range is acquired when a
 * SPECIAL_LOCK_TRANSFER from VRAM needs it.
 *
 * Packets that the recording says were lost are not executed. A refusal of another packet is a
 * failure, unless the recording misses submissions or LOST items.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "vidmm/stream/recording.h"
#include "restream.h"

#define RESTREAM_HASH	(1u << 16)

/*
 * A page of system memory, once for the engine and once for the executor. @bus: bus address divided
 * by the page size.
 */
struct restream_page {
	struct restream_page *next;
	u64 bus;
	u8 *engine;
	u8 *cpu;
};

/* A submission that ended early: packets from @offset on were not executed. */
struct restream_loss {
	u64 seqno;
	u32 offset;
};

/* A write of the CPU to page tables, as UPDATE_PAGE_TABLE packets. */
struct restream_written {
	const u8 *data;
	u32 size;
};

static struct {
	struct pagoda_paging_limits limits;
	struct pagoda_engine engine;
	struct pagoda_cpu_executor cpu;
	struct pagoda_root *roots;
	struct restream_page *pages[RESTREAM_HASH];
	u64 buffers, packets, written, rebuilt, refused, mismatches;
	u64 resets;
	bool unmapped;			/* since a reset the device MMU maps nothing */
	struct restream_written *early;	/* CPU writes kept until the device MMU is mapped */
	u32 nr_early;
	u64 lost;			/* number of packets not executed */
	struct restream_loss *losses;	/* of the whole recording */
	u32 nr_losses;
	bool print;
} restream;

static noreturn void restream_die(const char *why)
{
	fprintf(stderr, "restream: %s\n", why);
	exit(2);
}

noreturn void fuzz_fail(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not true: %s\n", file, line, condition);
	exit(3);
}

void *fuzz_alloc(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	fuzz_require(memory);
	return memory;
}

static void restream_mismatch(u64 seqno, u32 offset, const char *what)
{
	fprintf(stderr, "restream: buffer %llu+0x%x: %s\n", (unsigned long long)seqno, offset,
		what);
	restream.mismatches++;
}

/* Returns @size zeroed bytes, of which only pages that are accessed take memory. */
static void *restream_map(u64 size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		restream_die("no memory");
	return memory;
}

static struct restream_page *restream_page(u64 bus)
{
	struct restream_page **list, *page;
	u64 i, number = bus / FUZZ_PAGE;

	list = &restream.pages[(number ^ number >> 16) % RESTREAM_HASH];
	for (page = *list; page && page->bus != number; page = page->next)
		continue;
	if (page)
		return page;
	page = fuzz_alloc(sizeof(*page));
	*page = (struct restream_page) {
		.next = *list,
		.bus = number,
		.engine = fuzz_alloc(FUZZ_PAGE),
		.cpu = fuzz_alloc(FUZZ_PAGE),
	};
	*list = page;
	for (i = 0; i < FUZZ_PAGE / 8; i++)
		((u64 *)page->engine)[i] = (number * 512 + i) * 0x9e3779b97f4a7c15ull;
	memcpy(page->cpu, page->engine, FUZZ_PAGE);
	return page;
}

static void *restream_span(void *context, u64 bus, u64 want, u64 *got)
{
	*got = min_t(u64, want, FUZZ_PAGE - bus % FUZZ_PAGE);
	return restream_page(bus)->engine + bus % FUZZ_PAGE;
}

static void restream_fence(void *context, const struct pagoda_engine_run *run, u64 address,
			   u64 value)
{
}

static const struct pagoda_engine_ops restream_ops = {
	.system_span = restream_span,
	.fence = restream_fence,
};

static void *restream_bus_page(u64 bus)
{
	return restream_page(bus)->cpu;
}

/*
 * The executor's page of a device address, which is a bus address if there is no device MMU. An
 * address that the MMU doesn't map gets the page of bus address 0: the executor has to refuse it.
 */
static void *restream_cpu_page(u64 address)
{
	const void *mapped = NULL;

	if (!restream.cpu.mmu)
		return restream_bus_page(address);
	if (address / FUZZ_PAGE < restream.cpu.mmu_pages)
		mapped = restream.cpu.mmu[address / FUZZ_PAGE];
	return mapped ? (void *)mapped : restream_bus_page(0);
}

static const void *restream_table_page(void *context, u64 address)
{
	return restream_cpu_page(address);
}

static void *restream_map_page(const void *pages, u64 index)
{
	return ((void *const *)pages)[index];
}

static void restream_unmap_page(void *address)
{
}

static const void *restream_page_at(const void *pages, u64 index)
{
	return ((const void *const *)pages)[index];
}

static void restream_make_engine(void)
{
	const struct pagoda_paging_limits *limits = &restream.limits;
	u32 i;

	restream.engine = (struct pagoda_engine) {
		.vram = restream_map(limits->vram_size),
		.vram_size = limits->vram_size,
		.max_runs = limits->max_runs,
		.max_buffer = VIRTIO_PAGODA_MAX_BUFFER,
		.system_bits = 52,
		.aperture = fuzz_alloc(limits->aperture_pages * sizeof(u64)),
		.aperture_pages = limits->aperture_pages,
		.mmu = limits->mmu_pages ? fuzz_alloc(limits->mmu_pages * sizeof(u64)) : NULL,
		.mmu_pages = limits->mmu_pages,
		.nr_spaces = limits->max_address_spaces,
		.va_bits = limits->va_bits,
		.pt_levels = limits->pt_levels,
		.page_sizes = limits->page_sizes,
		.nr_ranges = limits->swizzling_ranges,
		.swizzling_bytes = limits->swizzling_bytes,
		.features = limits->features,
		.ops = &restream_ops,
	};
	if (limits->max_address_spaces)
		restream.engine.spaces = fuzz_alloc(limits->max_address_spaces *
						    sizeof(*restream.engine.spaces));
	if (limits->swizzling_ranges > VIRTIO_PAGODA_MAX_SWIZZLING_RANGES)
		restream_die("more swizzling ranges than there can be");
	restream.engine.ranges = fuzz_alloc(limits->swizzling_ranges *
					    sizeof(*restream.engine.ranges));
	for (i = 0; i < limits->swizzling_ranges; i++)
		restream.engine.ranges[i].window = restream_map(limits->swizzling_bytes);
	if (!pagoda_engine_init(&restream.engine))
		restream_die("no such device");
}

static void restream_make_cpu(void)
{
	const struct pagoda_paging_limits *limits = &restream.limits;
	u32 i;

	restream.roots = fuzz_alloc(limits->max_address_spaces * sizeof(*restream.roots));
	restream.cpu = (struct pagoda_cpu_executor) {
		.vram = restream_map(limits->vram_size),
		.vram_size = limits->vram_size,
		.aperture = fuzz_alloc(limits->aperture_pages * sizeof(void *)),
		.generations = fuzz_alloc(limits->aperture_pages * sizeof(u32)),
		.aperture_pages = limits->aperture_pages,
		.map_page = restream_map_page,
		.unmap_page = restream_unmap_page,
		.page_at = restream_page_at,
		.table_page = restream_table_page,
		.limits = limits,
		.roots = restream.roots,
		.ranges = fuzz_alloc(limits->swizzling_ranges * sizeof(*restream.cpu.ranges)),
	};
	for (i = 0; i < limits->swizzling_ranges; i++)
		restream.cpu.ranges[i].window = restream_map(limits->swizzling_bytes);
	if (!limits->mmu_pages)
		return;
	restream.cpu.mmu = fuzz_alloc(limits->mmu_pages * sizeof(void *));
	restream.cpu.mmu_read_only = fuzz_alloc(limits->mmu_pages);
	restream.cpu.mmu_pages = limits->mmu_pages;
}

static struct pagoda_paging_limits restream_limits(const struct pagoda_recording_head *head)
{
	struct pagoda_paging_limits limits = {
		.features = le64_to_cpu(head->features),
		.vram_size = le64_to_cpu(head->vram_size),
		.aperture_pages = le64_to_cpu(head->aperture_pages),
		.mmu_pages = le64_to_cpu(head->mmu_pages),
		.swizzling_bytes = le64_to_cpu(head->swizzling_bytes),
		.max_runs = le32_to_cpu(head->max_runs),
		.va_bits = le32_to_cpu(head->va_bits),
		.pt_levels = le32_to_cpu(head->pt_levels),
		.page_sizes = le32_to_cpu(head->page_sizes),
		.max_address_spaces = le32_to_cpu(head->max_address_spaces),
		.swizzling_ranges = le32_to_cpu(head->swizzling_ranges),
	};

	/* Without the feature there is no device MMU, whatever mmu_pages the recording has. */
	if (!(limits.features & 1ull << VIRTIO_PAGODA_F_DEVICE_MMU))
		limits.mmu_pages = 0;
	return limits;
}

/*
 * Sets the root of an address space as a recorded SET_ROOT did. The device accepted that root, so a
 * refusal by the engine is a mismatch.
 */
static void restream_root(const struct pagoda_recording_root *item, u64 seqno)
{
	struct pagoda_root root = {
		.address = le64_to_cpu(item->address),
		.entries = le64_to_cpu(item->entries),
		.segment = le32_to_cpu(item->segment),
	};
	u32 space = le32_to_cpu(item->space), reason;

	reason = pagoda_engine_root_set(&restream.engine, space, root.segment, root.address,
					root.entries);
	if (!reason)
		restream.roots[space] = root;
	else
		restream_mismatch(seqno, 0, pagoda_engine_fault_name(reason));
}

/*
 * If the packet copies from a surface in VRAM: acquires the packet's swizzling range for that
 * surface, for engine and executor, unless the range already shows the surface.
 */
static void restream_acquire(const struct virtio_pagoda_special_lock_transfer *lock)
{
	u64 address = le64_to_cpu(lock->transfer.src.address);
	u64 size = le64_to_cpu(lock->tiled.surface_size);
	struct pagoda_cpu_range *range;
	u32 id = le32_to_cpu(lock->range_id);

	if (le32_to_cpu(lock->transfer.src.segment) != VIRTIO_PAGODA_SEGMENT_VRAM ||
	    id >= restream.limits.swizzling_ranges ||
	    (restream.engine.ranges[id].size == size &&
	     restream.engine.ranges[id].address == address))
		return;
	if (pagoda_engine_range_acquire(&restream.engine, id, address, size, &lock->tiled.layout))
		return;
	range = &restream.cpu.ranges[id];
	memcpy(range->window, restream.engine.ranges[id].window, size);
	range->address = address;
	range->size = size;
	range->layout = (struct pagoda_layout) {
		.tiling = le32_to_cpu(lock->tiled.layout.tiling),
		.pitch = le32_to_cpu(lock->tiled.layout.pitch),
		.height = le32_to_cpu(lock->tiled.layout.height),
		.mips = le32_to_cpu(lock->tiled.layout.mips),
	};
}

/*
 * Has engine and executor execute the packet from @offset to @next. Anything else than execution by
 * both, or refusal by both for the same reason, is a mismatch.
 */
static void restream_packet(const u8 *data, u32 offset, u32 next, u64 seqno)
{
	const struct fuzz_memory memory = {
		.cpu = &restream.cpu,
		.page = restream_cpu_page,
		.bus_page = restream_bus_page,
		.max_runs = restream.limits.max_runs,
		.max_pages = 1u << 22,
	};
	const struct virtio_pagoda_packet *head = (const void *)(data + offset);
	struct pagoda_paging_private priv;
	struct pagoda_engine_run run;
	bool refused;
	u32 stopped;
	int ret;

	if (head->opcode == cpu_to_le16(VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER))
		restream_acquire((const void *)head);
	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, VIRTIO_PAGODA_QUEUE_PAGING,
			       seqno);
	run.buffer = data;
	run.size = next;
	run.start = offset;
	priv = fuzz_lists_make(&memory, data + offset, next - offset, offset);
	refused = pagoda_engine_execute(&restream.engine, &run) != PAGODA_ENGINE_DONE;
	ret = pagoda_cpu_execute(&restream.cpu, data, next, offset, &priv, sizeof(priv), &stopped);
	fuzz_lists_free(&priv);
	if (refused && ret) {
		restream.refused++;
		if (restream.print)
			printf("refused: buffer %llu+0x%x: %s at 0x%llx\n",
			       (unsigned long long)seqno, offset,
			       pagoda_engine_fault_name(run.fault.reason), run.fault.address);
	}
	if ((refused ? run.fault.reason : 0) == restream.cpu.reason)
		return;
	fprintf(stderr, "engine: %s; executor: %s\n", pagoda_engine_fault_name(run.fault.reason),
		pagoda_engine_fault_name(restream.cpu.reason));
	restream_mismatch(seqno, offset, "not the same verdict");
}

static void restream_compare(u64 seqno)
{
	const struct restream_page *page;
	u32 i;

	if (memcmp(restream.engine.vram, restream.cpu.vram, restream.limits.vram_size))
		restream_mismatch(seqno, 0, "not the same VRAM");
	for (i = 0; i < RESTREAM_HASH; i++)
		for (page = restream.pages[i]; page; page = page->next)
			if (memcmp(page->engine, page->cpu, FUZZ_PAGE))
				restream_mismatch(seqno, 0, "not the same system memory");
	for (i = 0; i < restream.limits.swizzling_ranges; i++)
		if (restream.engine.ranges[i].size != restream.cpu.ranges[i].size ||
		    memcmp(restream.engine.ranges[i].window, restream.cpu.ranges[i].window,
			   restream.limits.swizzling_bytes))
			restream_mismatch(seqno, 0, "not the same range");
}

static void restream_print(const u8 *data, u32 size, u64 seqno)
{
	struct pagoda_paging_text text = { .size = 1u << 20 };

	text.data = fuzz_alloc(text.size);
	pagoda_paging_print(data, size, &text);
	printf("buffer %llu, %u bytes\n%s", (unsigned long long)seqno, size, text.data);
	free(text.data);
}

/* Returns how many of a submission's @size bytes were executed when it was recorded. */
static u32 restream_end(u32 size, u64 seqno)
{
	u32 i;

	for (i = 0; i < restream.nr_losses; i++)
		if (restream.losses[i].seqno == seqno && restream.losses[i].offset < size)
			size = restream.losses[i].offset;
	return size;
}

static void restream_mapped(void);

/*
 * Executes the packets of a submission, or those that stand for a write of the CPU, except lost
 * packets, and builds all of them again. @counter: increased by the number of packets.
 */
static void restream_packets(const u8 *data, u32 size, u64 seqno, u64 *counter)
{
	u32 offset, next, end = restream_end(size, seqno);
	const struct virtio_pagoda_packet *head;
	const char *why;

	for (offset = 0; offset < size; offset = next) {
		next = fuzz_packet_next(data, size, offset);
		if (!next || fuzz_packet_length(data + offset, size - offset) != next - offset) {
			restream_mismatch(seqno, offset, "not a packet");
			break;
		}
		(*counter)++;
		head = (const void *)(data + offset);
		if (offset < end && head->opcode != cpu_to_le16(VIRTIO_PAGODA_OP_MAP_MMU))
			restream_mapped();
		if (offset < end)
			restream_packet(data, offset, next, seqno);
		else
			restream.lost++;
		why = restream_rebuild(&restream.limits, data + offset, next - offset);
		if (why)
			restream_mismatch(seqno, offset, why);
		else
			restream.rebuilt++;
	}
}

static void restream_written(const u8 *data, u32 size)
{
	/* No submission's number, for losses of a submission don't concern writes of the CPU. */
	restream_packets(data, size, ~0ull, &restream.written);
}

/*
 * Keeps a write of the CPU to execute it later: the CPU wrote without the device MMU, but the
 * packets that stand for the write need the device MMU's mappings, which a reset has removed.
 */
static void restream_early(const u8 *data, u32 size)
{
	restream.early = realloc(restream.early,
				 (restream.nr_early + 1) * sizeof(*restream.early));
	fuzz_require(restream.early);
	restream.early[restream.nr_early++] = (struct restream_written) { data, size };
}

/* Called when the device MMU is mapped again: executes the writes that restream_early() kept. */
static void restream_mapped(void)
{
	u32 i;

	if (!restream.unmapped)
		return;
	restream.unmapped = false;
	for (i = 0; i < restream.nr_early; i++)
		restream_written(restream.early[i].data, restream.early[i].size);
	restream.nr_early = 0;
}

/*
 * Resets engine and executor as RESET_ADAPTER did: VRAM has other content; mappings, roots, ranges
 * and kept writes of the CPU are gone. Items after the reset restore what later packets use.
 */
static void restream_reset(void)
{
	struct pagoda_cpu_executor *cpu = &restream.cpu;
	u32 i;

	pagoda_engine_reset_adapter(&restream.engine, PAGODA_ENGINE_VRAM_POISON);
	memcpy(cpu->vram, restream.engine.vram, cpu->vram_size);
	memset(cpu->aperture, 0, cpu->aperture_pages * sizeof(*cpu->aperture));
	memset(cpu->generations, 0, cpu->aperture_pages * sizeof(*cpu->generations));
	memset(restream.roots, 0, restream.limits.max_address_spaces * sizeof(*restream.roots));
	if (cpu->mmu)
		memset(cpu->mmu, 0, cpu->mmu_pages * sizeof(*cpu->mmu));
	for (i = 0; i < restream.limits.swizzling_ranges; i++)
		cpu->ranges[i] = (struct pagoda_cpu_range) { .window = cpu->ranges[i].window };
	restream.unmapped = cpu->mmu;
	restream.nr_early = 0;
	restream.resets++;
}

static void restream_item(u32 kind, const u8 *data, u32 size, u64 seqno)
{
	switch (kind) {
	case PAGODA_RECORDING_BUFFER:
		restream_packets(data, size, seqno, &restream.packets);
		restream.buffers++;
		restream_compare(seqno);
		break;
	case PAGODA_RECORDING_CPU:
		if (restream.unmapped)
			restream_early(data, size);
		else
			restream_written(data, size);
		break;
	case PAGODA_RECORDING_ROOT:
		if (size != sizeof(struct pagoda_recording_root))
			restream_die("a root of another size");
		restream_root((const void *)data, seqno);
		break;
	case PAGODA_RECORDING_RESET:
		restream_reset();
		break;
	case PAGODA_RECORDING_LOST:
		break;
	default:
		restream_die("an item of no kind");
	}
}

/* Calls @visit with each item. Ends the program if an item's size is wrong. */
static void restream_walk(const u8 *data, u64 bytes,
			  void (*visit)(u32 kind, const u8 *data, u32 size, u64 seqno))
{
	const struct pagoda_recording_item *item;
	u64 at = 0;

	while (bytes - at >= sizeof(*item)) {
		item = (const void *)(data + at);
		at += sizeof(*item);
		if (le32_to_cpu(item->size) % 8 || le32_to_cpu(item->size) > bytes - at)
			restream_die("an item is cut off");
		visit(le32_to_cpu(item->kind), data + at, le32_to_cpu(item->size),
		      le64_to_cpu(item->seqno));
		at += le32_to_cpu(item->size);
	}
	if (at != bytes)
		restream_die("an item is cut off");
}

/* Collects all losses before anything is executed: a LOST item follows its submission. */
static void restream_visit_losses(u32 kind, const u8 *data, u32 size, u64 seqno)
{
	const struct pagoda_recording_lost *lost = (const void *)data;

	if (kind != PAGODA_RECORDING_LOST)
		return;
	if (size != sizeof(*lost))
		restream_die("a loss of another size");
	restream.losses = realloc(restream.losses,
				  (restream.nr_losses + 1) * sizeof(*restream.losses));
	fuzz_require(restream.losses);
	restream.losses[restream.nr_losses++] = (struct restream_loss) {
		.seqno = seqno, .offset = le32_to_cpu(lost->offset),
	};
}

static void restream_visit_print(u32 kind, const u8 *data, u32 size, u64 seqno)
{
	if (kind == PAGODA_RECORDING_BUFFER || kind == PAGODA_RECORDING_CPU)
		restream_print(data, size, seqno);
}

static u8 *restream_read(const char *name, u64 *size)
{
	FILE *file = strcmp(name, "-") ? fopen(name, "rb") : stdin;
	u64 room = 1u << 20;
	u8 *data;

	if (!file)
		restream_die("cannot open the recording");
	data = malloc(room);
	*size = 0;
	do {
		*size += fread(data + *size, 1, room - *size, file);
		if (*size == room) {
			room *= 2;
			data = realloc(data, room);
		}
		if (!data || room > 2ull * PAGODA_RECORDING_MAX)
			restream_die("no memory for the recording");
	} while (!feof(file) && !ferror(file));
	if (file != stdin)
		fclose(file);
	return data;
}

int main(int argc, char **argv)
{
	const struct pagoda_recording_head *head;
	bool whole;
	u64 size;
	u8 *data;

	restream.print = argc == 3 && !strcmp(argv[1], "--print");
	if (argc != 2 && !restream.print)
		restream_die("usage: restream [--print] <recording, - = standard input>");
	data = restream_read(argv[argc - 1], &size);
	head = (const void *)data;
	if (size < sizeof(*head) || le64_to_cpu(head->magic) != PAGODA_RECORDING_MAGIC ||
	    le64_to_cpu(head->bytes) > size - sizeof(*head))
		restream_die("not a recording");
	restream.limits = restream_limits(head);
	if (restream.limits.vram_size > 1ull << 32 || restream.limits.max_address_spaces >
	    VIRTIO_PAGODA_MAX_SPACES || restream.limits.aperture_pages >
	    VIRTIO_PAGODA_MAX_APERTURE_PAGES || restream.limits.swizzling_bytes > 1ull << 30)
		restream_die("a device larger than any");
	restream_make_engine();
	restream_make_cpu();
	restream_walk(data + sizeof(*head), le64_to_cpu(head->bytes), restream_visit_losses);
	if (restream.print)
		restream_walk(data + sizeof(*head), le64_to_cpu(head->bytes),
			      restream_visit_print);
	restream_walk(data + sizeof(*head), le64_to_cpu(head->bytes), restream_item);
	whole = !head->missed;
	printf("restream: buffers=%llu packets=%llu by_cpu=%llu lost=%llu refused=%llu%s",
	       (unsigned long long)restream.buffers, (unsigned long long)restream.packets,
	       (unsigned long long)restream.written, (unsigned long long)restream.lost,
	       (unsigned long long)restream.refused, whole ? "" : " (what was before is missed)");
	if (restream.resets)
		printf(" resets=%llu", (unsigned long long)restream.resets);
	printf(" rebuilt=%llu mismatches=%llu\n", (unsigned long long)restream.rebuilt,
	       (unsigned long long)restream.mismatches);
	free(data);
	return restream.mismatches || (restream.refused && whole) ? 1 : 0;
}
