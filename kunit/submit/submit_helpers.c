// SPDX-License-Identifier: GPL-2.0
/* Programs, clients that submit these as jobs, and syncobjs; see submit_helpers.h. */
#include <linux/delay.h>
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>
#include <drm/drm_syncobj.h>
#include "rig/command.h"
#include "submit_helpers.h"

struct pagoda_rig *submit_rig_reserve(struct kunit *test, u32 pages)
{
	const struct pagoda_rig_options options = {
		.mode = test->param_value,
		.engines = true,
		.reserve = pages,
	};

	return pagoda_rig_create(test, &options);
}

struct pagoda_rig *submit_rig(struct kunit *test)
{
	return submit_rig_reserve(test, 0);
}

int submit_map(struct submit_client *client, struct pagoda_bo *bo, u64 address)
{
	const struct pagoda_bind bind = {
		.type = DRM_PAGODA_BIND_MAP,
		.bo = bo,
		.address = address,
		.size = bo->ttm.base.size,
	};
	struct dma_fence *fence;
	int ret = pagoda_vm_bind(client->vm, &bind, 1, &fence);

	if (!ret)
		dma_fence_put(fence);
	return ret;
}

struct submit_client *submit_client(struct pagoda_rig *rig, u32 engine)
{
	struct submit_client *client = test_zalloc(rig->test, sizeof(*client));

	client->rig = rig;
	client->done = submit_syncobj(rig->test);
	client->vm = test_ok(rig->test, pagoda_vm_create(rig->vidmm, rig->client));
	client->context = pagoda_context_create(client->vm, engine, DRM_PAGODA_PRIORITY_NORMAL);
	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(client->context));
	client->code = pagoda_rig_bo(rig, SUBMIT_PAGES, DRM_PAGODA_ALLOCATION_CPU_VISIBLE |
				     DRM_PAGODA_ALLOCATION_CACHED, SUBMIT_APERTURE, 0);
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_aperture(client->code, false));
	KUNIT_ASSERT_EQ(rig->test, 0, submit_map(client, client->code, SUBMIT_CODE));
	return client;
}

void submit_client_end(struct submit_client *client)
{
	if (client->context)
		pagoda_context_destroy(client->context);
	pagoda_vm_forget(client->vm, client->code);
	pagoda_vm_close(client->vm);
	pagoda_vm_put(client->vm);
	pagoda_rig_close(client->code);
}

void submit_close(struct submit_client *client, struct pagoda_bo *bo)
{
	pagoda_vm_forget(client->vm, bo);
	pagoda_rig_close(bo);
}

struct pagoda_bo *submit_private(struct submit_client *client, u32 pages, u32 supported,
				 u64 address)
{
	struct pagoda_rig *rig = client->rig;
	const struct pagoda_bo_params params = {
		.size = (u64)pages << PAGE_SHIFT,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
		.supported = supported,
		.vm = client->vm,
		.uses = &client->vm->uses,
	};
	struct pagoda_bo *bo = pagoda_bo_create(rig->vidmm, rig->client, &params);

	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(bo));
	KUNIT_ASSERT_EQ(rig->test, 0, submit_map(client, bo, address));
	return bo;
}

u64 submit_word(struct pagoda_rig *rig, struct pagoda_bo *bo, u64 offset)
{
	struct pagoda_vram_cursor cur;
	u64 value = ~0ull;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	dma_resv_wait_timeout(bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL, false,
			      MAX_SCHEDULE_TIMEOUT);
	if (bo->ttm.resource->mem_type == TTM_PL_VRAM) {
		pagoda_vram_first(&cur, bo->ttm.resource, offset, sizeof(value));
		value = *(u64 *)(rig->engine.vram + cur.address);
	} else if (bo->ttm.ttm && ttm_tt_is_populated(bo->ttm.ttm)) {
		value = *(u64 *)(page_address(bo->ttm.ttm->pages[offset >> PAGE_SHIFT]) +
				 offset_in_page(offset));
	}
	dma_resv_unlock(bo->ttm.base.resv);
	return value;
}

/* ---- Commands ------------------------------------------------------------------- */

static void submit_write(struct submit_client *client, const void *command, u32 size)
{
	const u8 *from = command;
	u32 done, step;

	for (done = 0; done < size; done += step) {
		u32 at = client->used + done;
		struct page *page = client->code->ttm.ttm->pages[at >> PAGE_SHIFT];

		step = min_t(u32, size - done, PAGE_SIZE - offset_in_page(at));
		memcpy(page_address(page) + offset_in_page(at), from + done, step);
	}
	client->used += size;
}

#define ADD(NAME, type, more, ...) \
	submit_write(client, PAGODA_COMMAND(NAME, type, more, __VA_ARGS__), \
		     sizeof(struct virtio_pagoda_##type))

void submit_store(struct submit_client *client, u64 address, u64 value)
{
	ADD(STORE, store, VIRTIO_PAGODA_COMMAND_WIDE, .address = cpu_to_le64(address),
	    .value = cpu_to_le64(value));
}

void submit_compare(struct submit_client *client, u64 address, u64 value)
{
	ADD(COMPARE, compare, VIRTIO_PAGODA_COMMAND_WIDE, .address = cpu_to_le64(address),
	    .value = cpu_to_le64(value), .mask = cpu_to_le64(U64_MAX));
}

void submit_add(struct submit_client *client, u64 address, u64 value)
{
	ADD(ATOMIC_ADD, atomic_add, VIRTIO_PAGODA_COMMAND_WIDE, .address = cpu_to_le64(address),
	    .value = cpu_to_le64(value));
}

void submit_copy(struct submit_client *client, u64 src, u64 dst, u64 size)
{
	ADD(COPY, copy, 0, .src = cpu_to_le64(src), .dst = cpu_to_le64(dst),
	    .size = cpu_to_le64(size));
}

void submit_count(struct submit_client *client, u32 number, u64 address)
{
	ADD(SET_REGISTER, set_register, VIRTIO_PAGODA_COMMAND_ADD, .number = cpu_to_le32(number),
	    .value = cpu_to_le64(1));
	ADD(STORE_REGISTER, store_register, 0, .number = cpu_to_le32(number),
	    .address = cpu_to_le64(address));
}

void submit_forever(struct submit_client *client)
{
	const u32 size = sizeof(struct virtio_pagoda_branch) + client->used - client->start;

	ADD(BRANCH, branch, 0, .address = cpu_to_le64(SUBMIT_CODE + client->start),
	    .size = cpu_to_le64(size));
}

/* ---- Jobs ----------------------------------------------------------------------- */

static void submit_add_sync(struct pagoda_submit *submit, struct drm_syncobj *syncobj, u64 point,
			    bool signal)
{
	if (!syncobj)
		return;
	drm_syncobj_get(syncobj);
	submit->syncs.list[submit->syncs.count++] = (struct pagoda_sync) {
		.syncobj = syncobj,
		.point = point,
		.signal = signal,
		.ordered = signal && point ? pagoda_point_alloc(syncobj, point) : NULL,
		.source = signal ? NULL : pagoda_paging_queue_of(submit->context->vm->client,
								 syncobj),
	};
}

static void submit_add_bo(struct pagoda_submit *submit, struct pagoda_bo *bo, u32 flags)
{
	drm_gem_object_get(pagoda_bo_gem(bo));
	submit->flags[submit->nr_bos] = flags;
	submit->bos[submit->nr_bos++] = bo;
}

static struct pagoda_submit *submit_make(struct submit_client *client,
					 const struct submit_args *args)
{
	struct kunit *test = client->rig->test;
	struct pagoda_submit *submit = kzalloc(sizeof(*submit), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, submit);
	submit->bos = kcalloc(SUBMIT_BOS + 1, sizeof(*submit->bos), GFP_KERNEL);
	submit->flags = kcalloc(SUBMIT_BOS + 1, sizeof(*submit->flags), GFP_KERNEL);
	submit->syncs.list = kcalloc(3, sizeof(*submit->syncs.list), GFP_KERNEL);
	submit->buffers = kcalloc(1, sizeof(*submit->buffers), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, submit->bos && submit->flags && submit->syncs.list &&
			  submit->buffers);
	pagoda_context_get(client->context);
	submit->context = client->context;
	submit_add_bo(submit, client->code, 0);
	for (i = 0; args && i < args->nr_bos; i++)
		submit_add_bo(submit, args->bos[i], args->flags[i]);
	if (args && args->out_first)
		submit_add_sync(submit, args->out, args->out_point, true);
	if (args)
		submit_add_sync(submit, args->in, args->in_point, false);
	if (args && !args->out_first)
		submit_add_sync(submit, args->out, args->out_point, true);
	submit->fenced = args && args->fenced;
	return submit;
}

/*
 * Submits a job that also signals the next point of the client's own timeline; returns what
 * pagoda_submit() returns.
 */
static int submit_send(struct submit_client *client, struct pagoda_submit *submit)
{
	int ret;

	submit_add_sync(submit, client->done, client->sent + 1, true);
	ret = pagoda_submit(submit, &client->number);
	client->sent += !ret;
	/* Old code may be overwritten only when no job executes it. */
	if (!ret && client->used > SUBMIT_PAGES / 2 << PAGE_SHIFT) {
		submit_wait(client);
		client->used = 0;
		client->start = 0;
	}
	return ret;
}

int submit_empty(struct submit_client *client, const struct submit_args *args)
{
	return submit_send(client, submit_make(client, args));
}

int submit_job(struct submit_client *client, const struct submit_args *args)
{
	struct pagoda_submit *submit = submit_make(client, args);

	submit->nr_buffers = 1;
	submit->buffers[0].address = cpu_to_le64(SUBMIT_CODE + client->start);
	submit->buffers[0].size = cpu_to_le64(client->used - client->start);
	client->start = client->used;
	return submit_send(client, submit);
}

int submit_wait_point(struct drm_syncobj *syncobj, u64 point)
{
	struct dma_fence *fence;
	int error = 0;

	while (!submit_point(syncobj, point, &fence))
		fsleep(USEC_PER_MSEC);
	if (fence) {
		dma_fence_wait(fence, false);
		error = dma_fence_chain_contained(fence)->error;
	}
	dma_fence_put(fence);
	return error;
}

int submit_wait(struct submit_client *client)
{
	return submit_wait_point(client->done, client->sent);
}

struct pagoda_bo *submit_save_area(struct submit_client *client)
{
	return client->context->save.bo;
}

struct drm_pagoda_context_state submit_state(struct submit_client *client)
{
	struct drm_pagoda_context_state state = {};

	pagoda_context_state(client->context, &state);
	return state;
}

/* ---- Syncobjs ------------------------------------------------------------------- */

static void submit_syncobj_put(void *data)
{
	drm_syncobj_put(data);
}

struct drm_syncobj *submit_syncobj(struct kunit *test)
{
	struct drm_syncobj *syncobj;

	KUNIT_ASSERT_EQ(test, 0, drm_syncobj_create(&syncobj, 0, NULL));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, submit_syncobj_put, syncobj));
	return syncobj;
}

bool submit_point(struct drm_syncobj *syncobj, u64 point, struct dma_fence **fence)
{
	*fence = drm_syncobj_fence_get(syncobj);
	if (*fence && !dma_fence_chain_find_seqno(fence, point))
		return true;
	dma_fence_put(*fence);
	return false;
}

void submit_signal(struct submit_client *client, struct drm_syncobj *syncobj, u64 point)
{
	struct dma_fence *fence = dma_fence_get_stub();

	drm_syncobj_add_point(syncobj, dma_fence_chain_alloc(), fence, point);
	dma_fence_put(fence);
	pagoda_deferred_kick(client->rig->vidmm);
}
