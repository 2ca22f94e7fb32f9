// SPDX-License-Identifier: GPL-2.0
/* The driver's memory manager on a software GPU of the test; see rig.h. */
#include <linux/dma-mapping.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_drv.h>
#include <kunit/static_stub.h>
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

void pagoda_rig_end(struct pagoda_rig *rig)
{
	if (rig->client)
		pagoda_client_drop_lists(rig->client);
	if (IS_ERR_OR_NULL(rig->vidmm))
		return;
	KUNIT_EXPECT_EQ(rig->test, rig->overruns, atomic64_read(&rig->vidmm->stats.overruns));
	pagoda_rig_unplug(rig);
	if (rig->client) {
		pagoda_ahead_end(rig->client);
		pagoda_client_put(rig->client);
		rig->client = NULL;
	}
	pagoda_vidmm_destroy(rig->vidmm);
	rig->vidmm = NULL;
}

static void rig_destroy(void *data)
{
	struct pagoda_rig *rig = data;
	u32 i;

	if (rig->fake)
		pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	for (i = 0; i < PAGODA_RIG_ENGINES && rig->engines[i].wq; i++)
		pagoda_rig_hold(rig, i, false);
	pagoda_rig_end(rig);
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
