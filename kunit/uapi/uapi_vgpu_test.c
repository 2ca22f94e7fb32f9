// SPDX-License-Identifier: GPL-2.0
/*
 * The software GPU that the driver is bound to: memory that it finds by bus address, and the pages
 * of VRAM that it knows to be written.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include "../drivers/vgpu/vgpu.h"
#include "rig/command.h"
#include "uapi_helpers.h"

#define VRAM_ONLY	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)

static void *vgpu_span(struct pagoda_vgpu *vgpu, u64 bus, u64 want, u64 *got)
{
	return vgpu->engine.ops->system_span(vgpu->engine.context, bus, want, got);
}

static void vgpu_free_page(void *page)
{
	__free_page(page);
}

/*
 * A page of the kernel's allocator is found by its bus address; a reserved page, and an address
 * beyond all memory, aren't memory that the device may use.
 */
static void vgpu_finds_memory(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_vgpu *vgpu = uapi_vgpu(client);
	struct page *page = alloc_page(GFP_KERNEL);
	u64 got = 0;

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, vgpu_free_page, page));
	KUNIT_EXPECT_PTR_EQ(test, page_address(page) + 8,
			    vgpu_span(vgpu, page_to_phys(page) + 8, 16, &got));
	KUNIT_EXPECT_GE(test, got, PAGE_SIZE - 8);
	KUNIT_ASSERT_TRUE(test, PageReserved(ZERO_PAGE(0)));
	KUNIT_EXPECT_NULL(test, vgpu_span(vgpu, page_to_phys(ZERO_PAGE(0)), PAGE_SIZE, &got));
	KUNIT_EXPECT_NULL(test, vgpu_span(vgpu, BIT_ULL(52) - PAGE_SIZE, PAGE_SIZE, &got));
	uapi_close(client);
}

static void vgpu_job(struct uapi_gpu *gpu, u64 value)
{
	KUNIT_ASSERT_EQ(gpu->client->test, 0, uapi_submit(gpu, value));
	KUNIT_ASSERT_EQ(gpu->client->test, 0, uapi_await(gpu, value, UAPI_PATIENCE));
}

static long vgpu_track(struct uapi_gpu *gpu, u32 operation)
{
	struct drm_pagoda_track args = { .handle = gpu->page, .operation = operation };

	return uapi_ioctl(gpu->client, DRM_IOCTL_PAGODA_TRACK, &args);
}

/* Returns whether QUERY of TRACK says that the page was written. */
static bool vgpu_written(struct uapi_gpu *gpu)
{
	u64 bits = ~0ull;
	struct drm_pagoda_track args = {
		.handle = gpu->page,
		.operation = DRM_PAGODA_TRACK_QUERY,
		.size = PAGE_SIZE,
		.bits = uapi_put(gpu->client, UAPI_MORE, &bits, sizeof(bits)),
	};

	uapi_must(gpu->client, DRM_IOCTL_PAGODA_TRACK, &args);
	uapi_get(gpu->client, UAPI_MORE, &bits, sizeof(bits));
	KUNIT_EXPECT_LE(gpu->client->test, bits, 1);
	return bits;
}

/*
 * The device's tracker tells of a page of VRAM that a job wrote, once; not of a page that a job
 * only read.
 */
static void vgpu_tracks_writes(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, VRAM_ONLY);

	UAPI_ADD(gpu, NOP, nop, 0);
	vgpu_job(gpu, 1);
	PAGODA_PROVES(C201);
	KUNIT_ASSERT_EQ(test, 0, vgpu_track(gpu, DRM_PAGODA_TRACK_START));
	UAPI_ADD(gpu, NOP, nop, 0);
	vgpu_job(gpu, 2);
	KUNIT_EXPECT_FALSE(test, vgpu_written(gpu));
	UAPI_ADD(gpu, STORE, store, 0, .value = cpu_to_le64(7),
		 .address = cpu_to_le64(gpu->address + UAPI_DATA));
	vgpu_job(gpu, 3);
	KUNIT_EXPECT_TRUE(test, vgpu_written(gpu));
	KUNIT_EXPECT_FALSE(test, vgpu_written(gpu));
	KUNIT_EXPECT_EQ(test, 0, vgpu_track(gpu, DRM_PAGODA_TRACK_STOP));
	uapi_close(client);
}

static struct kunit_case vgpu_cases[] = {
	KUNIT_CASE(vgpu_finds_memory),
	KUNIT_CASE(vgpu_tracks_writes),
	{}
};

static struct kunit_suite vgpu_suite = {
	.name = "pagoda_uapi_vgpu",
	.test_cases = vgpu_cases,
};

kunit_test_suite(vgpu_suite);
