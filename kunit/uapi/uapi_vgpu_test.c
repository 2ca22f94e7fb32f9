// SPDX-License-Identifier: GPL-2.0
/*
 * The software GPU that the driver is bound to: memory that the GPU finds by bus address, pages of
 * VRAM that a job wrote, VRAM and queues after the driver was unbound, a sleep of the machine.
 */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/notifier.h>
#include <linux/pm.h>
#include <linux/scatterlist.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include "../drivers/vgpu/vgpu.h"
#include "core/device.h"
#include "rig/command.h"
#include "uapi/args.h"
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

/* ---- Unbound, or asleep ------------------------------------------------------------------ */

/* Unbinds the driver, and closes the client, which has no CPU mapping. Returns the device. */
static struct device *vgpu_unbind(struct uapi_client *client)
{
	struct device *dev = get_device(uapi_drm(client)->dev);

	device_release_driver(dev);
	uapi_close(client);
	return dev;
}

static void vgpu_bind(struct kunit *test, struct device *dev)
{
	KUNIT_EXPECT_EQ(test, 1, device_attach(dev));
	put_device(dev);
}

/* When the driver is unbound, VRAM has zeros where a client's allocation was. */
static void vgpu_forgets(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, VRAM_ONLY);
	struct pagoda_vgpu *vgpu = uapi_vgpu(client);
	struct pagoda_bo *bo;
	struct device *dev;
	const u8 *page;

	UAPI_ADD(gpu, STORE, store, 0, .value = cpu_to_le64(7),
		 .address = cpu_to_le64(gpu->address + UAPI_DATA));
	vgpu_job(gpu, 1);
	bo = pagoda_bo_lookup(client->file, gpu->page);
	KUNIT_ASSERT_NOT_NULL(test, bo);
	page = vgpu->vram.vaddr + ((u64)bo->ttm.resource->start << PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, TTM_PL_VRAM, bo->ttm.resource->mem_type);
	pagoda_bo_put(bo);
	KUNIT_EXPECT_EQ(test, 7, page[UAPI_DATA]);
	KUNIT_EXPECT_EQ(test, 0, vm_munmap(gpu->view, PAGE_SIZE));
	dev = vgpu_unbind(client);
	KUNIT_EXPECT_NULL(test, memchr_inv(page, 0, PAGE_SIZE));
	vgpu_bind(test, dev);
}

/* Tells the driver of a sleep of the machine, as the kernel does before and after. */
static void vgpu_tell_sleep(struct uapi_client *client, unsigned long event)
{
	struct notifier_block *sleep = &pagoda_device_of_drm(uapi_drm(client))->sleep;

	KUNIT_EXPECT_EQ(client->test, NOTIFY_OK, sleep->notifier_call(sleep, event, NULL));
}

/*
 * In a standby the GPU has no queues; afterwards a client's content is there, and jobs are executed
 * as before.
 */
static void vgpu_sleeps(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, VRAM_ONLY);
	struct pagoda_vgpu *vgpu = uapi_vgpu(client);
	struct device *dev = &vgpu->pdev->dev;
	const struct dev_pm_ops *pm = dev->driver ? dev->driver->pm : NULL;

	if (!pm)
		kunit_skip(test, "a machine with this kernel never sleeps");
	UAPI_ADD(gpu, STORE, store, 0, .value = cpu_to_le64(7),
		 .address = cpu_to_le64(gpu->address + UAPI_DATA));
	vgpu_job(gpu, 1);
	vgpu_tell_sleep(client, PM_SUSPEND_PREPARE);
	KUNIT_EXPECT_EQ(test, 0, pm->suspend(dev));
	KUNIT_EXPECT_NULL(test, vgpu->queues[VIRTIO_PAGODA_QUEUE_CONTROL].vq);
	KUNIT_EXPECT_EQ(test, 0, pm->resume(dev));
	KUNIT_EXPECT_NOT_NULL(test, vgpu->queues[VIRTIO_PAGODA_QUEUE_CONTROL].vq);
	vgpu_tell_sleep(client, PM_POST_SUSPEND);
	KUNIT_EXPECT_EQ(test, 7, uapi_word(client, gpu->view + UAPI_DATA));
	UAPI_ADD(gpu, STORE, store, 0, .value = cpu_to_le64(8),
		 .address = cpu_to_le64(gpu->address + UAPI_DATA));
	vgpu_job(gpu, 2);
	KUNIT_EXPECT_EQ(test, 8, uapi_word(client, gpu->view + UAPI_DATA));
	uapi_close(client);
}

/*
 * A driver that wants more queues than the device has, or the queues once more without deleting
 * them first, gets -ENOENT, and no queue is left.
 */
static void vgpu_refuses_queues(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_vgpu *vgpu = uapi_vgpu(client);
	u32 most = PAGODA_VGPU_MAX_QUEUES + 1, i;
	struct virtqueue_info *infos = test_calloc(test, most, sizeof(*infos));
	struct virtqueue **vqs = test_calloc(test, most, sizeof(*vqs));
	struct device *dev = vgpu_unbind(client);

	for (i = 0; i < most; i++)
		infos[i].name = "test";
	KUNIT_EXPECT_TRUE(test, list_empty(&vgpu->vdev.vqs));
	KUNIT_EXPECT_EQ(test, -ENOENT,
			virtio_find_vqs(&vgpu->vdev, vgpu->nr_queues + 1, vqs, infos, NULL));
	KUNIT_EXPECT_NULL(test, vgpu->queues[0].vq);
	KUNIT_EXPECT_EQ(test, 0, virtio_find_vqs(&vgpu->vdev, 1, vqs, infos, NULL));
	KUNIT_EXPECT_NOT_NULL(test, vgpu->queues[0].vq);
	KUNIT_EXPECT_EQ(test, -ENOENT, virtio_find_vqs(&vgpu->vdev, 1, vqs, infos, NULL));
	KUNIT_EXPECT_NULL(test, vgpu->queues[0].vq);
	KUNIT_EXPECT_TRUE(test, list_empty(&vgpu->vdev.vqs));
	vgpu_bind(test, dev);
}

/* Sends the GPU a NOP through its control queue, and waits until the GPU has answered. */
static void vgpu_nop(struct kunit *test, struct virtqueue *vq)
{
	struct virtio_pagoda_control *command = test_zalloc(test, sizeof(*command));
	struct virtio_pagoda_answer *answer = test_zalloc(test, sizeof(*answer));
	struct scatterlist out, in, *list[] = { &out, &in };
	u32 size, tries = 5000;

	command->type = cpu_to_le32(VIRTIO_PAGODA_CONTROL_NOP);
	sg_init_one(&out, command, sizeof(*command));
	sg_init_one(&in, answer, sizeof(*answer));
	KUNIT_EXPECT_EQ(test, 0, virtqueue_add_sgs(vq, list, 1, 1, answer, GFP_KERNEL));
	virtqueue_kick(vq);
	while (!virtqueue_get_buf(vq, &size) && --tries)
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_GT(test, tries, 0);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_CONTROL_OK, le32_to_cpu(answer->status));
}

/*
 * A driver without VIRTIO_RING_F_EVENT_IDX gets interrupts unless it sets the ring's flag that
 * declines them.
 */
static void vgpu_declined_interrupts(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_vgpu *vgpu = uapi_vgpu(client);
	atomic64_t *interrupts = &vgpu->queues[VIRTIO_PAGODA_QUEUE_CONTROL].interrupts;
	/* Without a callback the virtio core sets the flag. */
	struct virtqueue_info info = { .name = "test" };
	struct device *dev = vgpu_unbind(client);
	s64 before = atomic64_read(interrupts);
	struct virtqueue *vq = NULL;
	u32 tries = 5000;

	__virtio_clear_bit(&vgpu->vdev, VIRTIO_RING_F_EVENT_IDX);
	KUNIT_EXPECT_EQ(test, 0, virtio_find_vqs(&vgpu->vdev, 1, &vq, &info, NULL));
	if (vq) {
		virtio_device_ready(&vgpu->vdev);
		/* The second answer comes when all is done for the first. */
		vgpu_nop(test, vq);
		vgpu_nop(test, vq);
		KUNIT_EXPECT_EQ(test, before, atomic64_read(interrupts));
		KUNIT_EXPECT_TRUE(test, virtqueue_enable_cb(vq));
		vgpu_nop(test, vq);
		while (atomic64_read(interrupts) == before && --tries)
			fsleep(USEC_PER_MSEC);
		KUNIT_EXPECT_GT(test, atomic64_read(interrupts), before);
	}
	virtio_reset_device(&vgpu->vdev);
	vgpu->vdev.config->del_vqs(&vgpu->vdev);
	vgpu_bind(test, dev);
}

static struct kunit_case vgpu_cases[] = {
	KUNIT_CASE(vgpu_finds_memory),
	KUNIT_CASE(vgpu_tracks_writes),
	KUNIT_CASE(vgpu_forgets),
	KUNIT_CASE(vgpu_sleeps),
	KUNIT_CASE(vgpu_refuses_queues),
	KUNIT_CASE(vgpu_declined_interrupts),
	{}
};

static struct kunit_suite vgpu_suite = {
	.name = "pagoda_uapi_vgpu",
	.test_cases = vgpu_cases,
};

kunit_test_suite(vgpu_suite);
