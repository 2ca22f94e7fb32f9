// SPDX-License-Identifier: GPL-2.0
/* The memory manager on a GPU of the test's own; see rig.h. */
#include <linux/dma-mapping.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>

#include "rig.h"

static const struct drm_driver rig_driver = {
	.driver_features = DRIVER_GEM,
	.name = "pagoda-kunit",
	.desc = "pagoda-kunit",
};

static void *rig_system_span(void *context, u64 bus, u64 want, u64 *got)
{
	if (!pfn_valid(PHYS_PFN(bus)))
		return NULL;
	*got = min_t(u64, want, PAGE_SIZE - offset_in_page(bus));
	return page_address(pfn_to_page(PHYS_PFN(bus))) + offset_in_page(bus);
}

static void rig_fence(void *context, u32 queue, u64 seqno, u32 offset, u64 address, u64 value)
{
}

static const struct pagoda_engine_ops rig_engine_ops = {
	.system_span = rig_system_span,
	.fence = rig_fence,
};

static void rig_note_transfer(struct pagoda_rig_note *note,
			      const struct virtio_pagoda_transfer *packet)
{
	note->size = le64_to_cpu(packet->size);
	note->src = le32_to_cpu(packet->src.segment);
	note->dst = le32_to_cpu(packet->dst.segment);
	note->src_address = le64_to_cpu(packet->src.address);
	note->address = le64_to_cpu(packet->dst.address);
}

static void rig_note_map(struct pagoda_rig_note *note,
			 const struct virtio_pagoda_map_aperture_segment *packet)
{
	note->size = le64_to_cpu(packet->nr_pages);
	note->dst = le32_to_cpu(packet->segment);
	note->address = le64_to_cpu(packet->first_page);
	note->generation = le32_to_cpu(packet->generation);
}

static void rig_note(struct pagoda_rig *rig, u64 seqno, const void *data)
{
	const struct virtio_pagoda_packet *packet = data;
	const struct virtio_pagoda_fill *fill = data;
	const struct virtio_pagoda_discard_content *discard = data;
	const struct virtio_pagoda_unmap_aperture_segment *unmap = data;
	struct pagoda_rig_note *note = &rig->log[rig->nr_log];

	if (rig->nr_log == PAGODA_RIG_LOG)
		return;
	*note = (struct pagoda_rig_note) {
		.opcode = le16_to_cpu(packet->opcode),
		.flags = le16_to_cpu(packet->flags),
		.seqno = seqno,
		.allocation = le64_to_cpu(packet->allocation),
	};
	switch (note->opcode) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		rig_note_transfer(note, data);
		break;
	case VIRTIO_PAGODA_OP_FILL:
		note->size = le64_to_cpu(fill->size);
		note->dst = le32_to_cpu(fill->segment);
		note->address = le64_to_cpu(fill->address);
		break;
	case VIRTIO_PAGODA_OP_DISCARD_CONTENT:
		note->size = le64_to_cpu(discard->size);
		note->src = le32_to_cpu(discard->segment);
		note->address = le64_to_cpu(discard->address);
		break;
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		rig_note_map(note, data);
		break;
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		note->size = le64_to_cpu(unmap->nr_pages);
		note->dst = le32_to_cpu(unmap->segment);
		note->address = le64_to_cpu(unmap->first_page);
		break;
	}
	rig->nr_log++;
}

static int rig_execute(void *arg, u64 seqno, const void *data, u32 start, u32 end,
		       struct pagoda_fault *fault)
{
	struct pagoda_rig *rig = arg;
	struct pagoda_engine_run run;
	u32 offset;

	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, VIRTIO_PAGODA_QUEUE_PAGING,
			       seqno);
	run.buffer = data;
	run.size = end;
	run.start = start;
	if (pagoda_engine_execute(&rig->engine, &run) != PAGODA_ENGINE_DONE) {
		fault->reason = run.fault.reason;
		fault->opcode = run.fault.opcode;
		fault->offset = run.fault.offset;
		fault->address = run.fault.address;
	}
	for (offset = start; offset < run.offset;
	     offset += le32_to_cpu(((const struct virtio_pagoda_packet *)(data + offset))->length))
		rig_note(rig, seqno, data + offset);
	return run.fault.reason ? -EIO : 0;
}

static void rig_make_engine(struct pagoda_rig *rig, bool large)
{
	struct pagoda_engine *engine = &rig->engine;
	size_t size = (large ? PAGODA_RIG_LARGE_PAGES : PAGODA_RIG_VRAM_PAGES) << PAGE_SHIFT;

	/* A window is in one piece, and there is none that large. */
	engine->vram = large ? vzalloc(size) : alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(rig->test, engine->vram);
	engine->vram_size = size;
	engine->max_runs = 256;
	engine->max_buffer = VIRTIO_PAGODA_MAX_BUFFER;
	engine->system_bits = 52;
	engine->aperture_pages = PAGODA_RIG_APERTURE_PAGES;
	/* Not KUnit's: what is unmapped while all is taken down still goes there. */
	engine->aperture = kcalloc(PAGODA_RIG_APERTURE_PAGES, sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(rig->test, engine->aperture);
	engine->poison_discarded = true;
	engine->ops = &rig_engine_ops;
	engine->context = rig;
	KUNIT_ASSERT_TRUE(rig->test, pagoda_engine_init(engine));
	engine->features = pagoda_engine_features() | BIT_ULL(VIRTIO_PAGODA_F_COHERENT);
}

static void rig_make_info(struct pagoda_rig *rig, const struct pagoda_rig_options *options)
{
	u32 visible = options->no_window || options->large ? 0 : PAGODA_RIG_VISIBLE_PAGES;

	rig->window = (struct pagoda_extent) {
		.address = visible ? virt_to_phys(rig->engine.vram) : 0,
		.size = (u64)visible << PAGE_SHIFT,
	};
	rig->info = (struct pagoda_device_info) {
		.dma_dev = &rig->pdev->dev,
		.features = pagoda_engine_features() & ~options->without,
		.vram_size = rig->engine.vram_size,
		.visible_size = rig->window.size,
		.aperture_pages = PAGODA_RIG_APERTURE_PAGES,
		.max_buffer_bytes = options->buffer_size ?: VIRTIO_PAGODA_MAX_BUFFER,
		.max_runs = rig->engine.max_runs,
		.num_engines = 1,
		.alignment = PAGE_SIZE,
		.system_address_bits = 52,
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
	rig->drm = drm_dev_alloc(&rig_driver, &rig->pdev->dev);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rig->drm));
}

static void rig_destroy(void *data)
{
	struct pagoda_rig *rig = data;

	if (rig->fake)
		pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	if (!IS_ERR_OR_NULL(rig->vidmm)) {
		pagoda_vidmm_stop(rig->vidmm);
		pagoda_vidmm_destroy(rig->vidmm);
	}
	if (rig->client)
		pagoda_client_put(rig->client);
	if (!IS_ERR_OR_NULL(rig->drm))
		drm_dev_put(rig->drm);
	if (!IS_ERR_OR_NULL(rig->pdev))
		platform_device_unregister(rig->pdev);
	if (is_vmalloc_addr(rig->engine.vram))
		vfree(rig->engine.vram);
	else if (rig->engine.vram)
		free_pages_exact(rig->engine.vram, rig->engine.vram_size);
	kfree(rig->engine.aperture);
	vfree(rig->log);
}

struct pagoda_rig *pagoda_rig_create(struct kunit *test,
				     const struct pagoda_rig_options *options)
{
	static const struct pagoda_rig_options usual;
	struct pagoda_rig *rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	struct pagoda_vidmm_args args;

	options = options ?: &usual;
	KUNIT_ASSERT_NOT_NULL(test, rig);
	rig->test = test;
	/* Before the actions that run first at the end: the transport's. */
	rig->fake = pagoda_fake_transport_create(test, rig_execute, rig);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, rig_destroy, rig));
	rig->log = vcalloc(PAGODA_RIG_LOG, sizeof(*rig->log));
	KUNIT_ASSERT_NOT_NULL(test, rig->log);
	rig_make_drm(rig);
	rig_make_engine(rig, options->large);
	rig_make_info(rig, options);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	args = (struct pagoda_vidmm_args) {
		.drm = rig->drm,
		.info = &rig->info,
		.transport = &rig->fake->base,
		.timeout_ms = options->timeout_ms ?: 5000,
	};
	rig->vidmm = pagoda_vidmm_create(&args);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rig->vidmm));
	rig->client = pagoda_client_create();
	KUNIT_ASSERT_NOT_NULL(test, rig->client);
	return rig;
}

void pagoda_rig_settle(struct pagoda_rig *rig)
{
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	KUNIT_EXPECT_EQ(rig->test, 0,
			pagoda_queue_wait_idle(rig->vidmm->stream.queue, 30 * HZ));
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
	struct ttm_placement placement = { .num_placement = 1, .placement = place };
	struct ttm_operation_ctx ctx = { .no_wait_gpu = no_wait };
	int ret;

	dma_resv_lock(bo->ttm.base.resv, NULL);
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

/* Kernel address of a page of the allocation, wherever it is. */
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

void pagoda_rig_write(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed)
{
	u32 pages = rig_lock(bo);
	u32 page, word;

	for (page = 0; page < pages; page++) {
		u64 *words = rig_page(rig, bo, page);

		KUNIT_EXPECT_NOT_NULL(rig->test, words);
		for (word = 0; words && word < PAGE_SIZE / sizeof(u64); word++)
			words[word] = rig_word(seed, page, word);
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

const struct pagoda_rig_note *pagoda_rig_find(struct pagoda_rig *rig, u32 opcode,
					      u64 allocation, u32 nth)
{
	u32 i;

	for (i = 0; i < rig->nr_log; i++) {
		const struct pagoda_rig_note *note = &rig->log[i];

		if (note->opcode == opcode && (!allocation || note->allocation == allocation) &&
		    !nth--)
			return note;
	}
	return NULL;
}

u32 pagoda_rig_count(struct pagoda_rig *rig, u32 opcode, u64 allocation)
{
	u32 count = 0;

	while (pagoda_rig_find(rig, opcode, allocation, count))
		count++;
	return count;
}
