// SPDX-License-Identifier: GPL-2.0
/*
 * The virtio device: configuration space, status, reset, negotiation, creation and removal, and
 * the state in which the device needs a reset (NEEDS_RESET).
 *
 * The virtio core serializes probe, remove and reset of a device, so that the set-up of queues
 * needs no lock of this module. The queues' threads exist from device_find_vqs() to device_reset()
 * or device_del_vqs(), whichever comes first, and execute requests once the driver has set
 * DRIVER_OK.
 */
#define pr_fmt(fmt) "pagoda_vgpu: " fmt

#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "vgpu.h"

/*
 * Reads the configuration space; bytes behind its end are zeros. An access that isn't of 32 bits,
 * or isn't aligned, reads all bits as 1, as on hardware.
 */
static void device_get(struct virtio_device *vdev, unsigned int offset, void *buffer,
		       unsigned int length)
{
	const struct pagoda_vgpu *vgpu = pagoda_vgpu_of(vdev);

	if (length != sizeof(u32) || offset % sizeof(u32)) {
		dev_warn_once(&vdev->dev, "configuration read by %u bytes at %u\n", length,
			      offset);
		memset(buffer, 0xff, length);
		return;
	}
	memset(buffer, 0, length);
	if (offset < sizeof(vgpu->config))
		memcpy(buffer, (const u8 *)&vgpu->config + offset, length);
}

/* Ignores the write: no field of the configuration space can be written. */
static void device_set(struct virtio_device *vdev, unsigned int offset, const void *buffer,
		       unsigned int length)
{
	dev_warn_once(&vdev->dev, "write to the configuration space ignored\n");
}

/* Returns a constant: the configuration space never changes while a driver can read it. */
static u32 device_generation(struct virtio_device *vdev)
{
	return 0;
}

static u8 device_get_status(struct virtio_device *vdev)
{
	const struct pagoda_vgpu *vgpu = pagoda_vgpu_of(vdev);

	return READ_ONCE(vgpu->status) |
	       (READ_ONCE(vgpu->broken) ? VIRTIO_CONFIG_S_NEEDS_RESET : 0);
}

static void device_set_status(struct virtio_device *vdev, u8 status)
{
	struct pagoda_vgpu *vgpu = pagoda_vgpu_of(vdev);

	if (status & VIRTIO_CONFIG_S_DRIVER_OK) {
		vgpu->vram.touched = true;
		vgpu->windows.touched = true;
	}
	/* Release: a thread that sees DRIVER_OK also sees the rings as the driver set them up. */
	smp_store_release(&vgpu->status, status & ~VIRTIO_CONFIG_S_NEEDS_RESET);
	if (status & VIRTIO_CONFIG_S_DRIVER_OK)
		pagoda_vgpu_queues_start(vgpu);
}

static void device_reset(struct virtio_device *vdev)
{
	struct pagoda_vgpu *vgpu = pagoda_vgpu_of(vdev);

	pagoda_vgpu_queues_stop(vgpu);
	WRITE_ONCE(vgpu->status, 0);
	WRITE_ONCE(vgpu->broken, false);
	WRITE_ONCE(vgpu->trouble, PAGODA_VGPU_WORKS);
	vgpu->events_lost = 0;
	pagoda_engine_reset(&vgpu->engine);
	pagoda_vgpu_vram_zero(&vgpu->vram, vgpu->outlives);
	pagoda_vgpu_vram_zero(&vgpu->windows, 0);
}

static u64 device_get_features(struct virtio_device *vdev)
{
	return pagoda_vgpu_of(vdev)->features;
}

static int device_finalize_features(struct virtio_device *vdev)
{
	struct pagoda_vgpu *vgpu = pagoda_vgpu_of(vdev);

	vring_transport_features(vdev);
	if (!__virtio_test_bit(vdev, VIRTIO_F_VERSION_1)) {
		dev_err(&vdev->dev, "a driver of legacy virtio can't use this device\n");
		return -EINVAL;
	}
	vgpu->engine.features = vdev->features;
	return 0;
}

static int device_find_vqs(struct virtio_device *vdev, unsigned int nvqs, struct virtqueue *vqs[],
			   struct virtqueue_info info[], struct irq_affinity *affinity)
{
	return pagoda_vgpu_queues_find(pagoda_vgpu_of(vdev), nvqs, vqs, info);
}

static void device_del_vqs(struct virtio_device *vdev)
{
	pagoda_vgpu_queues_delete(pagoda_vgpu_of(vdev));
}

static const char *device_bus_name(struct virtio_device *vdev)
{
	return dev_name(&pagoda_vgpu_of(vdev)->pdev->dev);
}

static const struct virtio_config_ops device_ops = {
	.get = device_get,
	.set = device_set,
	.generation = device_generation,
	.get_status = device_get_status,
	.set_status = device_set_status,
	.reset = device_reset,
	.find_vqs = device_find_vqs,
	.del_vqs = device_del_vqs,
	.get_features = device_get_features,
	.finalize_features = device_finalize_features,
	.bus_name = device_bus_name,
};

static const struct pagoda_engine_ops device_engine_ops = {
	.system_span = pagoda_vgpu_system_span,
	.fence = pagoda_vgpu_event_fence,
	.idle = pagoda_vgpu_request_idle,
	.notify = pagoda_vgpu_notify,
};

/*
 * Marks the device as broken (NEEDS_RESET), logs @why and notifies the driver. Called if the ring
 * of @queue, or a request in it, is invalid, or if a test asked for that. No queue takes another
 * request until the driver resets the device. Runs in any queue's thread.
 */
void pagoda_vgpu_break(struct pagoda_vgpu_queue *queue, const char *why)
{
	struct pagoda_vgpu *vgpu = queue->vgpu;

	dev_err(&vgpu->pdev->dev, "%s queue: %s: device needs a reset\n", queue->name, why);
	WRITE_ONCE(vgpu->broken, true);
	virtio_config_changed(&vgpu->vdev);
}

static u64 device_features(const struct pagoda_vgpu_params *params)
{
	u64 features = pagoda_engine_features() |
		       BIT_ULL(VIRTIO_F_VERSION_1) |
		       BIT_ULL(VIRTIO_RING_F_INDIRECT_DESC) |
		       BIT_ULL(VIRTIO_RING_F_EVENT_IDX) |
		       BIT_ULL(VIRTIO_PAGODA_F_VRAM_ZEROED) |
		       BIT_ULL(VIRTIO_PAGODA_F_COHERENT) |
		       BIT_ULL(VIRTIO_PAGODA_F_EXECUTE) |
		       BIT_ULL(VIRTIO_PAGODA_F_WRITE_COMBINER) |
		       BIT_ULL(VIRTIO_PAGODA_F_DIRTY);

	if (params->visible_size)
		features |= BIT_ULL(VIRTIO_PAGODA_F_CPU_WINDOW);
	if (params->dual_pte)
		features |= BIT_ULL(VIRTIO_PAGODA_F_DUAL_PTE);
	if (!params->cache_invalid)
		features |= BIT_ULL(VIRTIO_PAGODA_F_INVALID_NOT_CACHED);
	if (params->mmu_pages)
		features |= BIT_ULL(VIRTIO_PAGODA_F_DEVICE_MMU);
	else
		features &= ~(BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_MAP_MMU)) |
			      BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_UNMAP_MMU)));
	return features;
}

static void device_config_tables(struct pagoda_vgpu *vgpu)
{
	const struct pagoda_engine *engine = &vgpu->engine;
	struct virtio_pagoda_config *config = &vgpu->config;
	const u64 ops = BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE)) |
			BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_FLUSH_TLB));

	/* A device that lacks UPDATE_PAGE_TABLE or FLUSH_TLB reports that it has no page tables. */
	if ((vgpu->features & ops) == ops) {
		config->va_bits = cpu_to_le32(engine->va_bits);
		config->pt_levels = cpu_to_le32(engine->pt_levels);
		config->page_sizes = cpu_to_le32(engine->page_sizes);
		config->max_address_spaces = cpu_to_le32(engine->nr_spaces);
	}
	config->swizzling_ranges = cpu_to_le32(engine->nr_ranges);
	config->swizzling_bytes = cpu_to_le64(engine->swizzling_bytes);
	config->swizzling_extents = cpu_to_le32(vgpu->windows.nr_extents);
	config->mmu_pages = cpu_to_le64(engine->mmu_pages);
}

static void device_config_init(struct pagoda_vgpu *vgpu)
{
	const struct pagoda_vgpu_params *params = vgpu->params;
	u32 i;

	vgpu->features = device_features(params);
	vgpu->config = (struct virtio_pagoda_config) {
		.vram_size = cpu_to_le64(params->vram_size),
		.visible_size = cpu_to_le64(params->visible_size),
		.aperture_pages = cpu_to_le64(params->aperture_pages),
		.max_buffer_bytes = cpu_to_le32(VIRTIO_PAGODA_MAX_BUFFER),
		.max_runs = cpu_to_le32(PAGODA_VGPU_MAX_RUNS),
		.num_engines = cpu_to_le32(params->engines),
		.alignment = cpu_to_le32(VIRTIO_PAGODA_PAGE_SIZE),
		.window_extents = cpu_to_le32(vgpu->vram.nr_extents),
		.invalid_extents = cpu_to_le32(params->nr_invalid),
		.system_address_bits = cpu_to_le32(52),
		.preserved = cpu_to_le32(params->preserved),
		.preserved_bytes = cpu_to_le64(params->preserved_bytes),
	};
	device_config_tables(vgpu);
	for (i = 0; i < params->nr_invalid; i++) {
		vgpu->invalid_extents[i].offset = cpu_to_le64(params->invalid[i].start);
		vgpu->invalid_extents[i].size = cpu_to_le64(params->invalid[i].size);
	}
}

static int device_engine_init(struct pagoda_vgpu *vgpu)
{
	const struct pagoda_vgpu_params *params = vgpu->params;
	struct pagoda_engine *engine = &vgpu->engine;
	int err;

	engine->aperture = vcalloc(params->aperture_pages, sizeof(*engine->aperture));
	engine->aperture_snoops = vcalloc(params->aperture_pages,
					  sizeof(*engine->aperture_snoops));
	engine->dirty = vcalloc(params->vram_size >> VIRTIO_PAGODA_PAGE_SHIFT,
				sizeof(*engine->dirty));
	if (!engine->aperture || !engine->aperture_snoops || !engine->dirty)
		return -ENOMEM;
	engine->vram = vgpu->vram.vaddr;
	engine->vram_size = params->vram_size;
	engine->invalid = params->invalid;
	engine->nr_invalid = params->nr_invalid;
	engine->max_runs = PAGODA_VGPU_MAX_RUNS;
	engine->max_buffer = VIRTIO_PAGODA_MAX_BUFFER;
	engine->system_bits = 52;
	engine->aperture_pages = params->aperture_pages;
	engine->ops = &device_engine_ops;
	engine->context = vgpu;
	err = pagoda_vgpu_tables_init(vgpu);
	if (err)
		return err;
	return pagoda_engine_init(engine) ? 0 : -EINVAL;
}

static void device_release(struct device *dev)
{
	complete(&pagoda_vgpu_of(dev_to_virtio(dev))->released);
}

static int device_platform(struct pagoda_vgpu *vgpu)
{
	const struct platform_device_info info = {
		.name = PAGODA_VGPU_NAME,
		.id = PLATFORM_DEVID_NONE,
		.dma_mask = DMA_BIT_MASK(64),
	};

	vgpu->pdev = platform_device_register_full(&info);
	if (IS_ERR(vgpu->pdev))
		return PTR_ERR(vgpu->pdev);
	platform_set_drvdata(vgpu->pdev, vgpu);
	return 0;
}

static int vgpu_register(struct pagoda_vgpu *vgpu)
{
	int err;

	vgpu->vdev.id.device = VIRTIO_ID_PAGODA;
	vgpu->vdev.id.vendor = VIRTIO_PAGODA_VENDOR;
	vgpu->vdev.config = &device_ops;
	vgpu->vdev.dev.parent = &vgpu->pdev->dev;
	vgpu->vdev.dev.release = device_release;
	err = register_virtio_device(&vgpu->vdev);
	if (err) {
		put_device(&vgpu->vdev.dev);
		wait_for_completion(&vgpu->released);
	}
	return err;
}

/* Frees a device, even one created only in part, that isn't registered with the virtio core. */
static void device_free(struct pagoda_vgpu *vgpu)
{
	if (!IS_ERR_OR_NULL(vgpu->pdev))
		platform_device_unregister(vgpu->pdev);
	pagoda_vgpu_inject_clear(vgpu);
	pagoda_vgpu_queues_fini(vgpu);
	pagoda_vgpu_tables_fini(vgpu);
	vfree(vgpu->engine.dirty);
	vfree(vgpu->engine.aperture_snoops);
	vfree(vgpu->engine.aperture);
	pagoda_vgpu_vram_fini(&vgpu->vram);
	mutex_destroy(&vgpu->event_lock);
	kvfree(vgpu);
}

/*
 * Creates the GPU and registers its virtio device, which a driver probes if one is registered.
 * @params must stay valid until pagoda_vgpu_destroy() has returned. Returns the GPU, or an error
 * pointer: -ENOMEM, -EINVAL for parameters that the engine refuses or an invalid misconfigure=, or
 * the error of a registration. May sleep.
 */
struct pagoda_vgpu *pagoda_vgpu_create(const struct pagoda_vgpu_params *params)
{
	struct pagoda_vgpu *vgpu;
	int err;

	vgpu = kvzalloc(sizeof(*vgpu), GFP_KERNEL);
	if (!vgpu)
		return ERR_PTR(-ENOMEM);
	vgpu->params = params;
	vgpu->nr_queues = VIRTIO_PAGODA_QUEUE_EXEC0 + params->engines;
	init_completion(&vgpu->released);
	mutex_init(&vgpu->event_lock);
	spin_lock_init(&vgpu->inject_lock);
	spin_lock_init(&vgpu->notices.lock);
	INIT_LIST_HEAD(&vgpu->injections);

	err = pagoda_vgpu_queues_init(vgpu);
	if (!err)
		err = pagoda_vgpu_vram_init(&vgpu->vram, params->vram_size, params->visible_size);
	if (!err)
		err = device_engine_init(vgpu);
	if (err)
		goto err_free;
	device_config_init(vgpu);
	err = pagoda_vgpu_misconfigure(params->misconfigure, &vgpu->config, &vgpu->features);
	if (!err)
		err = device_platform(vgpu);
	if (err)
		goto err_free;
	pagoda_vgpu_debugfs_init(vgpu);
	err = vgpu_register(vgpu);
	if (err)
		goto err_debugfs;
	return vgpu;

err_debugfs:
	pagoda_vgpu_debugfs_fini(vgpu);
err_free:
	device_free(vgpu);
	return ERR_PTR(err);
}

/*
 * Removes the GPU, even while a driver is bound to it. The driver's open files, and mappings of
 * VRAM through them, may keep references to the virtio device: this function sleeps until the last
 * reference is dropped, and only then frees VRAM.
 */
void pagoda_vgpu_destroy(struct pagoda_vgpu *vgpu)
{
	pagoda_vgpu_debugfs_fini(vgpu);
	platform_set_drvdata(vgpu->pdev, NULL);
	unregister_virtio_device(&vgpu->vdev);
	if (!wait_for_completion_timeout(&vgpu->released, HZ)) {
		pr_info("waiting for open files of the device to be closed\n");
		wait_for_completion(&vgpu->released);
	}
	device_free(vgpu);
}
