// SPDX-License-Identifier: GPL-2.0
/* The driver's memory manager on a software GPU of the test; see rig.h. */
#include <linux/dma-mapping.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <kunit/static_stub.h>
#include "../drivers/vgpu/engine/internal.h"
#include "mmu/process.h"
#include "queue/queue_helpers.h"
#include "rig.h"

static const struct drm_driver rig_driver = {
	.driver_features = DRIVER_GEM | PAGODA_DRIVER_GEM_GPUVA,
	.name = "pagoda-kunit",
	.desc = "pagoda-kunit",
};

static void *rig_system_span(void *context, u64 bus, u64 want, u64 *got)
{
	struct pagoda_rig *rig = context;

	atomic_inc(&rig->accesses);
	if (!pfn_valid(PHYS_PFN(bus)))
		return NULL;
	*got = min_t(u64, want, PAGE_SIZE - offset_in_page(bus));
	return page_address(pfn_to_page(PHYS_PFN(bus))) + offset_in_page(bus);
}

static void rig_fence(void *context, const struct pagoda_engine_run *run, u64 address,
		      u64 value)
{
	struct pagoda_rig *rig = context;

	if (!rig->loses_events)
		pagoda_fence_told(rig->vidmm, run->context);
}

static u64 rig_shown(struct pagoda_rig *rig, u64 va)
{
	u64 entry, page_size;

	if (!pagoda_process_lookup(rig->vidmm->mmu, va, &entry, &page_size))
		return 0;
	return pagoda_rig_bus(rig, (entry & VIRTIO_PAGODA_PTE_ADDRESS_MASK) +
			      (va & (page_size - 1)));
}

/*
 * When the engine executes a NOTIFY_ALLOC with an address, records in &pagoda_rig.shown to which
 * pages the notice's first and last page are mapped in the paging space, until @shown is full.
 */
static void rig_notify(void *context, const struct virtio_pagoda_packet *packet)
{
	const struct virtio_pagoda_notify_alloc *notice = (const void *)packet;
	struct pagoda_rig *rig = context;
	struct pagoda_rig_shown *shown = &rig->shown[rig->nr_shown];
	u64 va = le64_to_cpu(notice->address);

	if (le16_to_cpu(packet->opcode) != VIRTIO_PAGODA_OP_NOTIFY_ALLOC || !va ||
	    rig->nr_shown == ARRAY_SIZE(rig->shown))
		return;
	shown->first = rig_shown(rig, va);
	shown->last = rig_shown(rig, va + le64_to_cpu(notice->size) - PAGE_SIZE);
	rig->nr_shown++;
}

static const struct pagoda_engine_ops rig_engine_ops = {
	.notify = rig_notify,
	.system_span = rig_system_span,
	.fence = rig_fence,
};

static const u64 rig_mmu_features = BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_MAP_MMU)) |
				    BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_UNMAP_MMU));

static bool rig_fail_is(const struct pagoda_rig_fail *fail,
			const struct virtio_pagoda_packet *packet, u32 number)
{
	if (!fail->opcode)
		return number == fail->packet;
	return le16_to_cpu(packet->opcode) == fail->opcode &&
	       (!fail->allocation || le64_to_cpu(packet->allocation) == fail->allocation);
}

/*
 * Returns the number of the first packet in [start, end) that is to fail, counted from the buffer's
 * start, and takes one from &pagoda_rig_fail.times; or PAGODA_ENGINE_NEVER.
 */
static u32 rig_fail_at(struct pagoda_rig *rig, u64 seqno, const void *data, u32 start, u32 end)
{
	struct pagoda_rig_fail *fail = &rig->fail;
	const struct virtio_pagoda_packet *packet;
	u32 offset, number;

	if (!fail->times || (fail->seqno && fail->seqno != seqno))
		return PAGODA_ENGINE_NEVER;
	for (offset = 0, number = 0; offset < end;
	     offset += le32_to_cpu(packet->length), number++) {
		packet = data + offset;
		if (offset < start || !rig_fail_is(fail, packet, number))
			continue;
		fail->times--;
		return number;
	}
	return PAGODA_ENGINE_NEVER;
}

static int rig_execute_packets(struct pagoda_rig *rig, u64 seqno, const void *data, u32 start,
			       u32 end, struct pagoda_fault *fault)
{
	struct pagoda_engine_run run;
	u32 offset;

	atomic_inc(&rig->accesses);
	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, VIRTIO_PAGODA_QUEUE_PAGING,
			       seqno);
	run.buffer = data;
	run.size = end;
	run.start = start;
	run.fail_at = rig_fail_at(rig, seqno, data, start, end);
	run.fail_middle = rig->fail.middle;
	if (pagoda_engine_execute(&rig->engine, &run) != PAGODA_ENGINE_DONE) {
		fault->reason = run.fault.reason;
		fault->opcode = run.fault.opcode;
		fault->offset = run.fault.offset;
		fault->address = run.fault.address;
	}
	rig->fake->skipped += run.skipped;
	for (offset = start; offset < run.offset;
	     offset += le32_to_cpu(((const struct virtio_pagoda_packet *)(data + offset))->length))
		pagoda_rig_note(rig, seqno, data + offset);
	return run.fault.reason ? -EIO : 0;
}

/* Returns the offset of the first FLUSH_TLB in [start, end), or @end. */
static u32 rig_find_flush(const void *data, u32 start, u32 end)
{
	const struct virtio_pagoda_packet *packet;
	u32 offset;

	for (offset = start; offset < end; offset += le32_to_cpu(packet->length)) {
		packet = data + offset;
		if (le16_to_cpu(packet->opcode) == VIRTIO_PAGODA_OP_FLUSH_TLB)
			return offset;
	}
	return end;
}

static int rig_execute(void *arg, u64 seqno, const void *data, u32 start, u32 end,
		       struct pagoda_fault *fault)
{
	struct pagoda_rig *rig = arg;
	u32 flush = rig->flush_late ? rig_find_flush(data, start, end) : end;
	int ret;

	if (flush < end && !(++rig->flushes % rig->flush_late)) {
		ret = rig_execute_packets(rig, seqno, data, start, flush, fault);
		if (ret)
			return ret;
		schedule_timeout_uninterruptible(1);
		start = flush;
	}
	return rig_execute_packets(rig, seqno, data, start, end, fault);
}

/*
 * &pagoda_fake_transport.stopped: writes the paging queue's write combiner back, which is possible
 * because no request of the queue is being executed.
 */
static void rig_stopped(void *arg)
{
	struct pagoda_rig *rig = arg;

	pagoda_engine_write_back(&rig->engine, 0);
}

/*
 * Executes RESET_ADAPTER, unless a test set an error for the command. The fake device is in
 * deferred mode then, whatever its mode was before.
 */
static int rig_reset(struct pagoda_rig *rig)
{
	if (rig->reset_error)
		return rig->reset_error;
	pagoda_fake_transport_lose(rig->fake);
	pagoda_rig_engines_lose(rig);
	pagoda_engine_reset_adapter(&rig->engine, rig->reset_vram);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	return 0;
}

static int rig_dirty(struct pagoda_rig *rig, const struct pagoda_command *command)
{
	u32 count = DIV_ROUND_UP(command->size >> PAGE_SHIFT, 64), i;
	bool ok = false;

	if (command->type == VIRTIO_PAGODA_CONTROL_START_DIRTY)
		ok = pagoda_engine_dirty_start(&rig->engine, command->index, command->address,
					       command->size);
	else if (command->type == VIRTIO_PAGODA_CONTROL_STOP_DIRTY)
		ok = pagoda_engine_dirty_stop(&rig->engine, command->index);
	if (command->type != VIRTIO_PAGODA_CONTROL_QUERY_DIRTY)
		return ok ? 0 : -EINVAL;
	memset(command->words, 0, count * sizeof(*command->words));
	ok = pagoda_engine_dirty_query(&rig->engine, command->index, command->address,
				       command->size, (__force __le64 *)command->words);
	for (i = 0; ok && i < count; i++)
		command->words[i] = le64_to_cpu((__force __le64)command->words[i]);
	return ok ? 0 : -EINVAL;
}

/* Executes SET_ROOT; if the command is to be lost, returns -ETIMEDOUT without executing it. */
static int rig_root(struct pagoda_rig *rig, const struct pagoda_command *command)
{
	if (command->index && rig->lose_roots) {
		rig->lose_roots--;
		return -ETIMEDOUT;
	}
	return pagoda_engine_root_set(&rig->engine, command->index, command->segment,
				      command->address, command->size) ? -EINVAL : 0;
}

/* &pagoda_fake_transport.control: executes a control command by calls of the software GPU. */
static int rig_control(void *arg, const struct pagoda_command *command)
{
	struct pagoda_rig *rig = arg;
	const struct virtio_pagoda_layout layout = {
		.tiling = cpu_to_le32(command->tiling),
		.pitch = cpu_to_le32(command->pitch),
		.height = cpu_to_le32(command->height),
		.mips = cpu_to_le32(command->mips),
	};
	u32 reason;

	switch (command->type) {
	case VIRTIO_PAGODA_CONTROL_SET_ROOT:
		return rig_root(rig, command);
	case VIRTIO_PAGODA_CONTROL_ACQUIRE_RANGE:
		reason = pagoda_engine_range_acquire(&rig->engine, command->index,
						     command->address, command->size, &layout);
		break;
	case VIRTIO_PAGODA_CONTROL_RELEASE_RANGE:
		reason = pagoda_engine_range_release(&rig->engine, command->index, command->size);
		break;
	case VIRTIO_PAGODA_CONTROL_RESET_ADAPTER:
		return rig_reset(rig);
	case VIRTIO_PAGODA_CONTROL_START_DIRTY:
	case VIRTIO_PAGODA_CONTROL_STOP_DIRTY:
	case VIRTIO_PAGODA_CONTROL_QUERY_DIRTY:
		return rig_dirty(rig, command);
	default:
		return -EINVAL;
	}
	return reason ? -EINVAL : 0;
}

/*
 * Returns how many bits of a virtual address @levels levels of page tables translate, but 47 at
 * least and 57 at most.
 */
static u32 rig_va_bits(u32 levels)
{
	return max(min(VIRTIO_PAGODA_PAGE_SHIFT + levels * VIRTIO_PAGODA_PT_INDEX_BITS, 57u), 47u);
}

static void rig_make_tables(struct pagoda_rig *rig, const struct pagoda_rig_options *options)
{
	struct pagoda_engine *engine = &rig->engine;

	engine->pt_levels = options->pt_levels ?: PAGODA_RIG_PT_LEVELS;
	engine->va_bits = rig_va_bits(engine->pt_levels);
	engine->page_sizes = options->page_sizes ?: SZ_4K | SZ_64K | SZ_2M;
	engine->nr_spaces = PAGODA_RIG_SPACES;
	engine->spaces = kcalloc(PAGODA_RIG_SPACES, sizeof(*engine->spaces), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(rig->test, engine->spaces);
	engine->nr_tlbs = 1 + PAGODA_RIG_ENGINES;
	engine->tlbs = vcalloc(engine->nr_tlbs, sizeof(*engine->tlbs));
	KUNIT_ASSERT_NOT_NULL(rig->test, engine->tlbs);
}

/* The windows of all swizzling ranges are physically contiguous, one behind another. */
static void rig_make_ranges(struct pagoda_rig *rig)
{
	struct pagoda_engine *engine = &rig->engine;
	u32 i;

	rig->swizzling.size = PAGODA_RIG_RANGES * PAGODA_RIG_RANGE_BYTES;
	rig->windows = alloc_pages_exact(rig->swizzling.size, GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(rig->test, rig->windows);
	rig->swizzling.address = virt_to_phys(rig->windows);
	engine->ranges = rig->ranges;
	engine->nr_ranges = PAGODA_RIG_RANGES;
	engine->swizzling_bytes = PAGODA_RIG_RANGE_BYTES;
	for (i = 0; i < PAGODA_RIG_RANGES; i++)
		rig->ranges[i].window = rig->windows + i * PAGODA_RIG_RANGE_BYTES;
}

static void rig_make_mmu(struct pagoda_rig *rig, const struct pagoda_rig_options *options)
{
	struct pagoda_engine *engine = &rig->engine;

	if (!options->mode || !options->mode->device_mmu)
		return;
	engine->mmu_pages = options->mmu_pages ?: PAGODA_RIG_MMU_PAGES;
	engine->mmu = kcalloc(engine->mmu_pages, sizeof(*engine->mmu), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(rig->test, engine->mmu);
}

static void rig_make_engine(struct pagoda_rig *rig, const struct pagoda_rig_options *options)
{
	struct pagoda_engine *engine = &rig->engine;
	bool large = options->large;
	size_t size = (large ? PAGODA_RIG_LARGE_PAGES : PAGODA_RIG_VRAM_PAGES) << PAGE_SHIFT;

	/*
	 * VRAM with a CPU window must be physically contiguous. Large VRAM has no window, and is
	 * too large to be allocated contiguously.
	 */
	engine->vram = large ? vzalloc(size) : alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(rig->test, engine->vram);
	engine->vram_size = size;
	engine->max_runs = 256;
	engine->max_buffer = VIRTIO_PAGODA_MAX_BUFFER;
	engine->system_bits = 52;
	engine->aperture_pages = PAGODA_RIG_APERTURE_PAGES;
	/* Not managed by KUnit: unmaps during teardown still write to the aperture. */
	engine->aperture = kcalloc(PAGODA_RIG_APERTURE_PAGES, sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(rig->test, engine->aperture);
	engine->aperture_snoops = kcalloc(PAGODA_RIG_APERTURE_PAGES, sizeof(bool), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(rig->test, engine->aperture_snoops);
	engine->dirty = kvzalloc(size >> PAGE_SHIFT, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(rig->test, engine->dirty);
	engine->poison_discarded = true;
	rig_make_tables(rig, options);
	rig_make_ranges(rig);
	rig_make_mmu(rig, options);
	engine->ops = &rig_engine_ops;
	engine->context = rig;
	KUNIT_ASSERT_TRUE(rig->test, pagoda_engine_init(engine));
	engine->features = pagoda_engine_features() | BIT_ULL(VIRTIO_PAGODA_F_COHERENT) |
			   BIT_ULL(VIRTIO_PAGODA_F_EXECUTE) |
			   BIT_ULL(VIRTIO_PAGODA_F_WRITE_COMBINER) |
			   (options->dual_pte ? BIT_ULL(VIRTIO_PAGODA_F_DUAL_PTE) : 0) |
			   (options->tracks ? BIT_ULL(VIRTIO_PAGODA_F_DIRTY) : 0) |
			   (engine->mmu ? BIT_ULL(VIRTIO_PAGODA_F_DEVICE_MMU) : 0);
}

static void rig_make_info(struct pagoda_rig *rig, const struct pagoda_rig_options *options)
{
	u32 visible = options->no_window || options->large ? 0 :
		      options->by_cpu ? PAGODA_RIG_VRAM_PAGES : PAGODA_RIG_VISIBLE_PAGES;
	u64 hidden = options->without | (rig->engine.mmu ? 0 : rig_mmu_features);

	if (options->not_coherent)
		hidden |= BIT_ULL(VIRTIO_PAGODA_F_COHERENT);

	rig->window = (struct pagoda_extent) {
		.address = visible ? virt_to_phys(rig->engine.vram) : 0,
		.size = (u64)visible << PAGE_SHIFT,
	};
	rig->info = (struct pagoda_device_info) {
		.dma_dev = &rig->pdev->dev,
		.features = rig->engine.features & ~hidden,
		.vram_size = rig->engine.vram_size,
		.visible_size = rig->window.size,
		.aperture_pages = PAGODA_RIG_APERTURE_PAGES,
		.max_buffer_bytes = options->buffer_size ?: VIRTIO_PAGODA_MAX_BUFFER,
		.max_runs = rig->engine.max_runs,
		.num_engines = PAGODA_RIG_ENGINES,
		.alignment = PAGE_SIZE,
		.system_address_bits = 52,
		.va_bits = rig->engine.va_bits,
		.pt_levels = rig->engine.pt_levels,
		.page_sizes = rig->engine.page_sizes,
		.max_address_spaces = rig->engine.nr_spaces,
		.swizzling_ranges = rig->engine.nr_ranges,
		.swizzling_bytes = rig->engine.swizzling_bytes,
		.mmu_pages = rig->engine.mmu_pages,
		.swizzling = &rig->swizzling,
		.nr_swizzling = 1,
		.dual_pte = options->dual_pte,
		.coherent = !options->not_coherent,
		.vram_zeroed = true,
		.window = &rig->window,
		.nr_window = visible ? 1 : 0,
	};
}

static void rig_make_drm(struct pagoda_rig *rig)
{
	struct kunit *test = rig->test;

	rig->pdev = platform_device_register_simple("pagoda-kunit", PLATFORM_DEVID_AUTO, NULL, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rig->pdev));
	KUNIT_ASSERT_EQ(test, 0, dma_coerce_mask_and_coherent(&rig->pdev->dev, DMA_BIT_MASK(64)));
	rig->drm = test_ok(test, drm_dev_alloc(&rig_driver, &rig->pdev->dev));
}

void pagoda_rig_unplug(struct pagoda_rig *rig)
{
	if (!rig->unplugged)
		pagoda_vidmm_stop(rig->vidmm);
	rig->unplugged = true;
}

static void rig_destroy(void *data)
{
	struct pagoda_rig *rig = data;
	u32 i;

	if (rig->fake)
		pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	for (i = 0; i < PAGODA_RIG_ENGINES && rig->engines[i].wq; i++)
		pagoda_rig_hold(rig, i, false);
	if (rig->client)
		pagoda_client_drop_lists(rig->client);
	if (!IS_ERR_OR_NULL(rig->vidmm)) {
		KUNIT_EXPECT_EQ(rig->test, rig->overruns,
				atomic64_read(&rig->vidmm->stats.overruns));
		pagoda_rig_unplug(rig);
		if (rig->client) {
			pagoda_ahead_end(rig->client);
			pagoda_client_put(rig->client);
		}
		pagoda_vidmm_destroy(rig->vidmm);
	}
	if (!IS_ERR_OR_NULL(rig->drm))
		drm_dev_put(rig->drm);
	if (!IS_ERR_OR_NULL(rig->pdev))
		platform_device_unregister(rig->pdev);
	if (is_vmalloc_addr(rig->engine.vram))
		vfree(rig->engine.vram);
	else if (rig->engine.vram)
		free_pages_exact(rig->engine.vram, rig->engine.vram_size);
	if (rig->windows)
		free_pages_exact(rig->windows, rig->swizzling.size);
	kfree(rig->engine.mmu);
	vfree(rig->engine.tlbs);
	kfree(rig->engine.spaces);
	kvfree(rig->engine.dirty);
	kfree(rig->engine.aperture_snoops);
	kfree(rig->engine.aperture);
	vfree(rig->log);
}

/*
 * Replaces pagoda_stream_is_queued() in the test's thread, and in threads whose kunit_test is the
 * test: a fence of pagoda_test_fence() counts there as that of a job with a place of an engine.
 */
static bool rig_is_queued(struct pagoda_vidmm *vidmm, struct dma_fence *fence)
{
	return !pagoda_queue_owns(vidmm->queue, fence) && !dma_fence_is_signaled(fence) &&
	       !pagoda_is_test_fence(fence) &&
	       !(vidmm->engines && pagoda_engines_have_place(vidmm->engines, fence));
}

struct pagoda_rig *pagoda_rig_create(struct kunit *test,
				     const struct pagoda_rig_options *options)
{
	static const struct pagoda_rig_options usual;
	struct pagoda_rig *rig = test_zalloc(test, sizeof(*rig));
	struct pagoda_vidmm_args args;
	u32 i;

	options = options ?: &usual;
	rig->test = test;
	rig->reset_vram = options->reset_vram;
	/* KUnit runs actions last added first: the transport must outlive rig_destroy(). */
	rig->fake = pagoda_fake_transport_create(test, rig_execute, rig);
	rig->fake->control = rig_control;
	rig->fake->stopped = rig_stopped;
	for (i = 0; i < PAGODA_RIG_ENGINES && options->engines; i++)
		pagoda_rig_engine_init(rig, i);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, rig_destroy, rig));
	rig->log = vcalloc(PAGODA_RIG_LOG, sizeof(*rig->log));
	KUNIT_ASSERT_NOT_NULL(test, rig->log);
	rig_make_drm(rig);
	rig_make_engine(rig, options);
	rig_make_info(rig, options);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	args = (struct pagoda_vidmm_args) {
		.drm = rig->drm,
		.info = &rig->info,
		.transport = &rig->fake->base,
		.use_cpu = options->by_cpu,
		.timeout_ms = PAGODA_TEST_TIMEOUT_MS,
		.update_mode = options->mode ? options->mode->update_mode :
			       VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL,
		.engines = options->engines ? rig->transports : NULL,
		.job_timeout_ms = PAGODA_TEST_TIMEOUT_MS,
		.pin_limit = options->pin_limit,
		.promote_ms = options->promotes,
		.traffic_share = 5,
		.ahead_jobs = options->ahead,
		.reserve = (u64)options->reserve << PAGE_SHIFT,
	};
	rig->vidmm = test_ok(test, pagoda_vidmm_create(&args));
	rig->patience = rig->vidmm->stream->patience;
	rig->client = pagoda_client_create(rig->vidmm);
	KUNIT_ASSERT_NOT_NULL(test, rig->client);
	kunit_activate_static_stub(test, pagoda_stream_is_queued, rig_is_queued);
	return rig;
}

static const void *rig_next_mode(const struct pagoda_rig_mode *modes, u32 nr_modes,
				 const struct pagoda_rig_mode *prev, char *desc)
{
	const struct pagoda_rig_mode *next = prev ? prev + 1 : modes;

	if (next == modes + nr_modes)
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s%s", pagoda_vidmm_mode_name(next->update_mode),
		 next->device_mmu ? ",device_mmu" : "");
	return next;
}

static const struct pagoda_rig_mode rig_modes[] = {
	{ VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, false },
	{ VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, false },
	{ VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, false },
	{ VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, true },
	{ VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, true },
	{ VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, true },
};

PAGODA_KUNIT_PARAMS(pagoda_rig_modes)
{
	return rig_next_mode(rig_modes, ARRAY_SIZE(rig_modes), prev, desc);
}

/* The modes without a device MMU. */
PAGODA_KUNIT_PARAMS(pagoda_rig_update_modes)
{
	return rig_next_mode(rig_modes, ARRAY_SIZE(rig_modes) / 2, prev, desc);
}

PAGODA_KUNIT_PARAMS(pagoda_rig_mmu_modes)
{
	static const struct pagoda_rig_mode modes[] = {
		{ VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, false },
		{ VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, true },
	};

	return rig_next_mode(modes, ARRAY_SIZE(modes), prev, desc);
}

u64 pagoda_rig_bus(struct pagoda_rig *rig, u64 address)
{
	bool read_only;
	u64 bus;

	if (!rig->engine.mmu)
		return address;
	if (!pagoda_engine_mmu_lookup(&rig->engine, address >> PAGE_SHIFT, &bus, &read_only))
		return 0;
	return bus + offset_in_page(address);
}

struct pagoda_rig *pagoda_rig_create_mode(struct kunit *test)
{
	const struct pagoda_rig_options options = { .mode = test->param_value };

	return pagoda_rig_create(test, &options);
}

static bool rig_is_virtual(struct pagoda_rig *rig)
{
	return rig->vidmm->mmu &&
	       pagoda_mmu_mode(rig->vidmm->mmu) == VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL;
}

u32 pagoda_rig_copy_op(struct pagoda_rig *rig)
{
	return rig_is_virtual(rig) ? VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER : VIRTIO_PAGODA_OP_TRANSFER;
}

u32 pagoda_rig_fill_op(struct pagoda_rig *rig)
{
	return rig_is_virtual(rig) ? VIRTIO_PAGODA_OP_VIRTUAL_FILL : VIRTIO_PAGODA_OP_FILL;
}

void pagoda_rig_share(struct pagoda_rig *rig, bool share)
{
	struct pagoda_stream *stream = rig->vidmm->stream;

	stream->patience = share ? 100 * HZ : rig->patience;
	/* Queue submissions that are open, with the former patience, now. */
	mod_delayed_work(stream->wq, &stream->flush, 0);
	flush_delayed_work(&stream->flush);
}

void pagoda_rig_plug_shared(struct pagoda_rig *rig)
{
	pagoda_rig_share(rig, true);
	pagoda_stream_plug(rig->vidmm, &rig->plug);
}

static void rig_refuse(struct pagoda_rig *rig, u32 nth)
{
	pagoda_fake_transport_order(rig->fake, rig->fake->last_submitted + nth, PAGODA_FAKE_FAULT,
				    0, 10);
}

void pagoda_rig_refuse_next(struct pagoda_rig *rig)
{
	rig_refuse(rig, 1);
}

void pagoda_rig_refuse_copy_out(struct pagoda_rig *rig)
{
	rig_refuse(rig, rig->engine.mmu ? 2 : 1);
}

static bool rig_is_plugged(struct pagoda_rig *rig)
{
	struct pagoda_stream *stream = rig->vidmm->stream;
	bool cookie = pagoda_stream_lock(stream), plugged;

	plugged = pagoda_stream_is_plugged(stream);
	pagoda_stream_unlock(stream, cookie);
	return plugged;
}

static void rig_settle_queue(struct pagoda_rig *rig)
{
	/* Operations that free memory may still be in the open submission. */
	if (!rig_is_plugged(rig))
		pagoda_stream_flush(rig->vidmm);
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_test_queue_settle(rig->vidmm->queue));
	flush_workqueue(rig->vidmm->mfences->wq);
}

void pagoda_rig_settle(struct pagoda_rig *rig)
{
	u32 i;

	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	rig_settle_queue(rig);
	/*
	 * Operations that were queued during the wait may have left writes in the engine's write
	 * combiner.
	 */
	for (i = 0; i < 10 && pagoda_engine_holds_writes(&rig->engine, 0); i++)
		rig_settle_queue(rig);
	/* The caller may free memory now: the write combiner has no write to that memory. */
	KUNIT_EXPECT_FALSE(rig->test, pagoda_engine_holds_writes(&rig->engine, 0));
}

void pagoda_rig_settle_freed(struct pagoda_rig *rig)
{
	pagoda_rig_settle(rig);
	flush_workqueue(rig->vidmm->ttm.wq);
}

void pagoda_rig_add_fence(struct kunit *test, struct dma_resv *resv, struct dma_fence *fence,
			  enum dma_resv_usage usage)
{
	dma_resv_lock(resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, dma_resv_reserve_fences(resv, 1));
	dma_resv_add_fence(resv, fence, usage);
	dma_resv_unlock(resv);
}

void pagoda_rig_pin(struct pagoda_bo *bo, bool pin)
{
	dma_resv_lock(bo->ttm.base.resv, NULL);
	if (pin)
		ttm_bo_pin(&bo->ttm);
	else
		ttm_bo_unpin(&bo->ttm);
	dma_resv_unlock(bo->ttm.base.resv);
}

struct pagoda_bo *pagoda_rig_bo(struct pagoda_rig *rig, u32 pages, u32 flags, u32 supported,
				u32 eviction)
{
	const struct pagoda_bo_params params = {
		.size = (u64)pages << PAGE_SHIFT,
		.flags = flags,
		.supported = supported,
		.eviction = eviction,
	};
	struct pagoda_bo *bo = pagoda_bo_create(rig->vidmm, rig->client, &params);

	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(bo));
	return bo;
}

void pagoda_rig_close(struct pagoda_bo *bo)
{
	drm_gem_object_put(pagoda_bo_gem(bo));
}

int pagoda_rig_place(struct pagoda_bo *bo, const struct ttm_place *place, bool no_wait)
{
	struct ttm_place where = *place;
	struct ttm_placement placement = { .num_placement = 1, .placement = &where };
	struct ttm_operation_ctx ctx = { .no_wait_gpu = no_wait };
	int ret;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	/*
	 * An allocation that leaves VRAM while it has unsignalled fences leaves as a victim does:
	 * the copy is queued behind jobs, and the caller doesn't wait.
	 */
	if (pagoda_bo_is_in_vram(bo) && place->mem_type != TTM_PL_VRAM &&
	    !dma_resv_test_signaled(bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP))
		where.flags |= PAGODA_PL_PIPELINED;
	ret = ttm_bo_validate(&bo->ttm, &placement, &ctx);
	dma_resv_unlock(bo->ttm.base.resv);
	return ret;
}

int pagoda_rig_to_vram(struct pagoda_bo *bo)
{
	const struct ttm_place place = { .mem_type = TTM_PL_VRAM };

	return pagoda_rig_place(bo, &place, false);
}

int pagoda_rig_to_system(struct pagoda_bo *bo)
{
	const struct ttm_place place = { .mem_type = TTM_PL_SYSTEM };

	return pagoda_rig_place(bo, &place, false);
}

int pagoda_rig_to_aperture(struct pagoda_bo *bo, bool address)
{
	const struct ttm_place place = {
		.mem_type = TTM_PL_TT,
		.lpfn = address ? PAGODA_RIG_APERTURE_PAGES : 0,
	};

	return pagoda_rig_place(bo, &place, false);
}

int pagoda_rig_make_resident(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count,
			     struct dma_fence **fence, u64 *trim)
{
	int ret;

	pagoda_enter_anyway(rig->vidmm);
	ret = pagoda_residency_make(rig->vidmm, bos, count, fence, trim);
	pagoda_leave(rig->vidmm);
	return ret;
}

int pagoda_rig_evict(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count,
		     struct dma_fence **fence)
{
	int ret;

	pagoda_enter_anyway(rig->vidmm);
	ret = pagoda_residency_evict(rig->vidmm, bos, count, fence);
	pagoda_leave(rig->vidmm);
	return ret;
}

int pagoda_rig_reclaim(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count, u32 *results,
		       bool all, struct dma_fence **fence)
{
	int ret;

	pagoda_enter_anyway(rig->vidmm);
	ret = pagoda_reclaim(rig->vidmm, bos, count, results, all, fence);
	pagoda_leave(rig->vidmm);
	return ret;
}

void pagoda_rig_fragment(struct pagoda_rig *rig, struct pagoda_bo **odd, u32 count)
{
	const u32 flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE;
	const u32 vram = DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM);
	struct pagoda_bo **even = test_calloc(rig->test, count, sizeof(*even));
	u32 i;

	for (i = 0; i < count; i++) {
		odd[i] = pagoda_rig_bo(rig, 1, flags, vram, 0);
		even[i] = pagoda_rig_bo(rig, 1, flags, vram, 0);
		KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(odd[i]));
		KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(even[i]));
	}
	for (i = 0; i < count; i++)
		pagoda_rig_close(even[i]);
	pagoda_rig_settle(rig);
	flush_workqueue(rig->vidmm->ttm.wq);
}

/*
 * Returns the kernel address of a page of the allocation, in VRAM or system memory; NULL if the
 * allocation has no pages.
 */
static u64 *rig_page(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 page)
{
	struct pagoda_vram_cursor cur;

	if (bo->ttm.resource->mem_type == TTM_PL_VRAM) {
		pagoda_vram_first(&cur, bo->ttm.resource, (u64)page << PAGE_SHIFT, PAGE_SIZE);
		return (u64 *)(rig->engine.vram + cur.address);
	}
	if (!bo->ttm.ttm || !ttm_tt_is_populated(bo->ttm.ttm))
		return NULL;
	return page_address(bo->ttm.ttm->pages[page]);
}

static u64 rig_word(u32 seed, u32 page, u32 word)
{
	return seed * 0x9e3779b97f4a7c15ull + ((u64)page << 32) + word;
}

static u32 rig_lock(struct pagoda_bo *bo)
{
	dma_resv_lock(bo->ttm.base.resv, NULL);
	dma_resv_wait_timeout(bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL, false, 30 * HZ);
	return bo->ttm.base.size >> PAGE_SHIFT;
}

void pagoda_rig_write_vram(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed)
{
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_write(rig, bo, seed);
}

void pagoda_rig_write(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed)
{
	u32 pages = rig_lock(bo);
	u32 page, word;

	for (page = 0; page < pages; page++) {
		u64 *words = rig_page(rig, bo, page);

		KUNIT_EXPECT_NOT_NULL(rig->test, words);
		for (word = 0; words && word < PAGE_SIZE / sizeof(u64); word++)
			words[word] = rig_word(seed, page, word);
		/*
		 * Tell the engine of the writes, as if a job had written: writes by the CPU are
		 * tested through mappings.
		 */
		pagoda_engine_wrote(&rig->engine, words, PAGE_SIZE);
	}
	dma_resv_unlock(bo->ttm.base.resv);
}

bool pagoda_rig_holds(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed)
{
	u32 pages = rig_lock(bo);
	u32 page, word;
	bool same = true;

	for (page = 0; page < pages && same; page++) {
		u64 *words = rig_page(rig, bo, page);

		same = words;
		for (word = 0; same && word < PAGE_SIZE / sizeof(u64); word++)
			same = words[word] == rig_word(seed, page, word);
	}
	dma_resv_unlock(bo->ttm.base.resv);
	return same;
}

bool pagoda_rig_is_zero(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	u32 pages = rig_lock(bo);
	bool zero = true;
	u32 page;

	for (page = 0; page < pages && zero; page++) {
		u64 *words = rig_page(rig, bo, page);

		zero = words && !memchr_inv(words, 0, PAGE_SIZE);
	}
	dma_resv_unlock(bo->ttm.base.resv);
	return zero;
}

bool pagoda_rig_idle(struct pagoda_bo *bo)
{
	return dma_resv_test_signaled(bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP);
}
