// SPDX-License-Identifier: GPL-2.0
/*
 * Execution contexts: their save areas and states.
 *
 * A save area is an allocation that shares its VM's reservation. INIT_CONTEXT_RESOURCE writes
 * the save area once, before a job of the context can run (C81). A move of the save area copies
 * its content (C82). The save area contains the root of the page tables. When the root changes,
 * UPDATE_CONTEXT_ALLOCATION writes the new root through the scratch window (C84).
 */
#include <linux/slab.h>
#include <drm/drm_exec.h>
#include <drm/drm_print.h>
#include "vidmm/fence/fence.h"
#include "vidmm/vm/internal.h"
#include "virtio/virtio.h"
#include "context.h"

/* Root fields of the save area's image, written as one piece of private data. */
struct context_root {
	__le64 root_address;
	__le64 root_entries;
	__le32 root_segment;
	__le32 address_space;
};

static_assert(offsetof(struct virtio_pagoda_context_image, saved) -
	      offsetof(struct virtio_pagoda_context_image, root_address) ==
	      sizeof(struct context_root));

/*
 * Returns where the save area is: contiguous in VRAM, or a page list (C83: no kernel address).
 * Fills @adl for a page list.
 */
static struct pagoda_side context_side(struct pagoda_bo *save, struct pagoda_adl *adl)
{
	if (save->ttm.resource->mem_type == TTM_PL_VRAM)
		return (struct pagoda_side) {
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.address = (u64)save->ttm.resource->start << PAGE_SHIFT,
		};
	pagoda_bo_adl(save, adl);
	return (struct pagoda_side) { .segment = VIRTIO_PAGODA_SEGMENT_SYSTEM, .adl = adl };
}

/* No save area is protected, so that none has a CPU address (C83). */
static u32 context_save_flags(const struct pagoda_bo *save)
{
	u32 flags = 0;

	if (save->flags & DRM_PAGODA_ALLOCATION_CPU_VISIBLE)
		flags |= PAGODA_SAVE_CPU_VISIBLE;
	if (save->supported == DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE))
		flags |= PAGODA_SAVE_APERTURE_ONLY;
	return flags;
}

/* Waits for the device, because a context may be used as soon as its creation returns. */
static int context_init(struct pagoda_context *context)
{
	struct pagoda_vidmm *vidmm = context->vm->vidmm;
	struct pagoda_stream *stream = vidmm->stream;
	struct pagoda_stream_txn txn;
	struct pagoda_paging_cost cost;
	struct pagoda_adl adl;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE,
		.allocation = context->save->id,
		.init_context = {
			.context = context->id,
			.size = VIRTIO_PAGODA_CONTEXT_BYTES,
			.dst = context_side(context->save, &adl),
			.flags = context_save_flags(context->save),
		},
	};
	int ret, done;

	cost = pagoda_paging_cost(&stream->limits, &op, stream->room);
	ret = pagoda_stream_begin(&txn, vidmm, NULL, context->save->ttm.base.resv,
				  DMA_RESV_USAGE_KERNEL, &cost);
	if (ret)
		return ret;
	ret = pagoda_stream_emit(&txn, &op);
	done = pagoda_stream_end_wait(&txn);
	return ret ?: done;
}

static struct pagoda_map context_map(struct pagoda_bo *save, struct pagoda_map_extent *extent,
				     struct pagoda_adl *adl)
{
	struct pagoda_side side = context_side(save, adl);
	struct pagoda_map map = {
		.size = VIRTIO_PAGODA_CONTEXT_BYTES,
		.kind = PAGODA_MAP_MEMORY,
		.allocation = save->id,
	};

	if (side.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM) {
		map.adl = adl;
	} else {
		*extent = (struct pagoda_map_extent) {
			.segment = side.segment,
			.address = side.address,
			.size = map.size,
		};
		map.extents = extent;
		map.nr_extents = 1;
	}
	return map;
}

/*
 * Writes the root into the save area. In CPU_VIRTUAL mode the CPU changes the scratch entries
 * while the operation is built: wait until the device has executed earlier uses of the entries,
 * and this update before the lock is dropped.
 */
static void context_update_root(struct pagoda_context *context, const struct context_root *root)
{
	struct pagoda_vidmm *vidmm = context->vm->vidmm;
	struct pagoda_stream *stream = vidmm->stream;
	struct pagoda_stream_txn txn;
	struct pagoda_emit emit = { .emit = pagoda_stream_emit_valid, .arg = &txn };
	struct pagoda_map_extent extent;
	struct pagoda_adl adl = {};
	struct pagoda_map map = context_map(context->save, &extent, &adl);
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION,
		.allocation = context->save->id,
		.update_context = {
			.size = VIRTIO_PAGODA_CONTEXT_BYTES,
			.data = root,
			.data_size = sizeof(*root),
			.data_offset = offsetof(struct virtio_pagoda_context_image, root_address),
			.pages = adl.cpu_pages,
		},
	};
	struct pagoda_paging_cost cost = pagoda_process_cost(vidmm->mmu, map.size, stream->room);
	bool large;

	pagoda_cost_add(&cost, pagoda_paging_cost(&stream->limits, &op, stream->room), 1);
	mutex_lock(&vidmm->scratch_lock);
	if (pagoda_mmu_mode(vidmm->mmu) == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL)
		pagoda_stream_wait_idle(vidmm, MAX_SCHEDULE_TIMEOUT);
	pagoda_stream_begin_must(&txn, vidmm, NULL, NULL, &cost);
	op.update_context.address = pagoda_process_map(vidmm->mmu, PAGODA_SCRATCH_DESTINATION,
						       &map, &large, &emit);
	pagoda_process_flush(vidmm->mmu, &emit);
	pagoda_stream_emit(&txn, &op);
	if (pagoda_mmu_mode(vidmm->mmu) != VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL)
		pagoda_process_unmap(vidmm->mmu, &emit);
	pagoda_stream_end_wait(&txn);
	if (pagoda_mmu_mode(vidmm->mmu) == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL) {
		pagoda_stream_begin_must(&txn, vidmm, NULL, NULL, &cost);
		pagoda_process_unmap(vidmm->mmu, &emit);
		dma_fence_put(pagoda_stream_end(&txn));
	}
	mutex_unlock(&vidmm->scratch_lock);
}

static bool context_root_is(const struct pagoda_root *a, const struct pagoda_root *b)
{
	return a->address == b->address && a->entries == b->entries && a->segment == b->segment;
}

/* Has the save area, which is resident, name the root of the VM's page tables (C84). */
static void context_name_root(struct pagoda_context *context)
{
	struct pagoda_vm *vm = context->vm;
	const struct context_root data = {
		.root_address = cpu_to_le64(vm->root.address),
		.root_entries = cpu_to_le64(vm->root.entries),
		.root_segment = cpu_to_le32(vm->root.segment),
		.address_space = cpu_to_le32(vm->id),
	};

	if (context_root_is(&context->root, &vm->root))
		return;
	context->root = vm->root;
	context_update_root(context, &data);
}

/* Makes the save area resident. Returns 0, -ENOMEM, or another error of pagoda_bo_place(). */
static int context_bring(struct pagoda_context *context)
{
	return pagoda_room_take(context->vm, context->save);
}

/**
 * pagoda_context_validate() - Make the save area of a context resident
 * @context: Context, the VM's lock and reservation held
 *
 * The save area names the root of the VM's page tables afterwards, also if it couldn't be
 * resident when the root moved.
 *
 * Context: May sleep, allocate and evict other allocations.
 * Return: 0, -ENOMEM, or another error of pagoda_bo_place().
 */
int pagoda_context_validate(struct pagoda_context *context)
{
	int ret = context_bring(context);

	if (!ret)
		context_name_root(context);
	return ret;
}

/*
 * Has the save areas of the VM name the current root of its page tables (C84). A save area that
 * can't be made resident names it when its context is next validated. Caller holds the VM's lock
 * and reservation.
 */
void pagoda_context_update_roots(struct pagoda_vm *vm)
{
	struct pagoda_context *context;
	struct pagoda_root root;

	pagoda_space_root(vm->space, &root);
	if (context_root_is(&root, &vm->root))
		return;
	vm->root = root;
	list_for_each_entry(context, &vm->contexts, entry)
		pagoda_context_validate(context);
}

/*
 * Paging of an allocation that the context's VM maps was given up. If that paging broke the
 * device, the context is banned (C190).
 */
static void context_aborted(struct pagoda_context *context, u32 aborted)
{
	if (!aborted)
		return;
	spin_lock(&context->state_lock);
	context->state |= DRM_PAGODA_CONTEXT_RESET;
	spin_unlock(&context->state_lock);
	if (aborted & PAGODA_ABORTED_TO_BLAME)
		pagoda_context_give_up(context);
}

/* Initialises the save area again if its content was lost: its registers are zero then. */
static int context_rebuild(struct pagoda_context *context)
{
	struct pagoda_bo *save = context->save;
	int ret;

	if (!READ_ONCE(save->content.lost))
		return 0;
	ret = context_bring(context);
	if (!ret)
		ret = pagoda_lost_clear(save);
	if (!ret)
		ret = context_init(context);
	if (!ret)
		WRITE_ONCE(save->content.lost, false);
	return ret;
}

/*
 * Rebuilds the save areas of the VM after a reset of the device. Afterwards all of them name the
 * root, which an update that was given up may have missed. Caller holds the VM's lock and
 * reservation; the VM's page tables are rebuilt. Returns 0, -ENOMEM or -EIO.
 */
int pagoda_context_rebuild(struct pagoda_vm *vm)
{
	u32 aborted = atomic_xchg(&vm->aborted, 0);
	struct pagoda_context *context;
	int ret;

	/*
	 * Tell all contexts before anything can fail: vm->aborted is cleared, a repeated call
	 * wouldn't find it.
	 */
	list_for_each_entry(context, &vm->contexts, entry)
		context_aborted(context, aborted);
	list_for_each_entry(context, &vm->contexts, entry) {
		ret = context_rebuild(context);
		if (ret)
			return ret;
	}
	vm->root = (struct pagoda_root) {};
	list_for_each_entry(context, &vm->contexts, entry)
		context->root = vm->root;
	pagoda_context_update_roots(vm);
	return 0;
}

static struct pagoda_bo *context_create_save(struct pagoda_vm *vm)
{
	const struct pagoda_bo_params params = {
		.size = VIRTIO_PAGODA_CONTEXT_BYTES,
		.flags = DRM_PAGODA_ALLOCATION_CONTIGUOUS,
		.supported = DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM) |
			     DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE),
	};

	return pagoda_bo_create_kernel(vm->vidmm, vm->client, &params, vm->base.r_obj, NULL);
}

/* No job of the context runs: pagoda_vm_may_evict() needn't protect the save area any more. */
static void context_drop_save(struct pagoda_context *context)
{
	context->save->vm.save_of = NULL;
	drm_gem_object_put(pagoda_bo_gem(context->save));
}

static int context_make_save(struct pagoda_context *context)
{
	struct pagoda_vm *vm = context->vm;
	int ret;

	context->save = context_create_save(vm);
	if (IS_ERR(context->save))
		return PTR_ERR(context->save);
	context->save->vm.save_of = vm;
	ret = context_bring(context);
	if (!ret)
		ret = pagoda_vm_make_tables_resident(vm);
	if (!ret)
		ret = context_init(context);
	if (ret) {
		context_drop_save(context);
		return ret;
	}
	pagoda_context_update_roots(vm);
	context_name_root(context);
	return 0;
}

static int context_make_exec(struct pagoda_context *context, u32 priority)
{
	struct pagoda_engines *engines = context->vm->vidmm->engines;

	if (!engines)
		return 0;
	context->exec = pagoda_exec_context_create(engines, context->engine, priority, context->id,
						   context->vm->id, context);
	if (IS_ERR(context->exec))
		return PTR_ERR(context->exec);
	pagoda_exec_context_set_account(context->exec, context->vm->client->account);
	return 0;
}

/* Caller holds the VM's lock and reservation. */
static int context_set_up(struct pagoda_context *context, u32 priority)
{
	int ret = context_make_save(context);

	if (ret)
		return ret;
	ret = context_make_exec(context, priority);
	if (ret)
		context_drop_save(context);
	else
		list_add_tail(&context->entry, &context->vm->contexts);
	return ret;
}

static struct pagoda_context *context_alloc(struct pagoda_vm *vm, u32 engine)
{
	struct pagoda_quota *quota = vm->client->quota;
	int ret = pagoda_quota_charge(quota, PAGODA_LIMIT_CONTEXTS, 1);
	struct pagoda_context *context;

	if (ret)
		return ERR_PTR(ret);
	context = kzalloc(sizeof(*context), GFP_KERNEL_ACCOUNT);
	if (!context) {
		pagoda_quota_uncharge(quota, PAGODA_LIMIT_CONTEXTS, 1);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&context->kref);
	mutex_init(&context->lock);
	spin_lock_init(&context->state_lock);
	pagoda_deferred_init(&context->deferred, vm->vidmm, &vm->client->payer,
			     &pagoda_submit_deferred_ops, false);
	context->vm = pagoda_vm_get(vm);
	context->engine = engine;
	context->id = atomic64_inc_return(&vm->vidmm->next_context);
	return context;
}

static void context_release(struct kref *kref)
{
	struct pagoda_context *context = container_of(kref, struct pagoda_context, kref);

	pagoda_quota_uncharge(context->vm->client->quota, PAGODA_LIMIT_CONTEXTS, 1);
	pagoda_vm_put(context->vm);
	mutex_destroy(&context->lock);
	kfree(context);
}

/**
 * pagoda_context_get() - Take a reference to a context
 * @context: Context
 */
void pagoda_context_get(struct pagoda_context *context)
{
	kref_get(&context->kref);
}

/**
 * pagoda_context_put() - Drop a reference to a context
 * @context: Context
 *
 * Context: May sleep.
 */
void pagoda_context_put(struct pagoda_context *context)
{
	kref_put(&context->kref, context_release);
}

static int context_try(struct pagoda_context *context, u32 priority)
{
	struct pagoda_vm *vm = context->vm;
	int ret = mutex_lock_interruptible(&vm->lock);

	if (ret)
		return ret;
	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	ret = vm->closed ? -ENOENT : context_set_up(context, priority);
	dma_resv_unlock(pagoda_vm_resv(vm));
	mutex_unlock(&vm->lock);
	return ret;
}

/*
 * Returns true if a reset made the save area's initialisation fail and the device is rebuilt now.
 * A caller inside of the gate sees the reset pending until the caller pauses.
 */
static bool context_lost_to_reset(struct pagoda_vidmm *vidmm, u64 epoch)
{
	struct pagoda_gate *gate;

	if (!pagoda_reset_is_pending(vidmm) && epoch == pagoda_reset_epoch(vidmm))
		return false;
	gate = pagoda_gate_pause(vidmm);
	pagoda_reset_wait(vidmm);
	pagoda_gate_resume(vidmm, gate);
	return !fatal_signal_pending(current);
}

/**
 * pagoda_context_create() - Create an execution context
 * @vm: VM with the address space of the context
 * @engine: Execution engine, checked
 * @priority: enum drm_pagoda_priority, checked
 *
 * When this function returns, the save area is initialised and names the VM's page tables. A reset
 * during the creation isn't reported to the new context, which had no content to lose (C190).
 *
 * Context: May sleep and allocate; for as long as a rebuild takes. Outside of reservations.
 * Return: The context, to be released with pagoda_context_destroy(); or ERR_PTR: -ENOMEM; -ENOENT
 * if the VM was closed; -EIO if the device failed without a reset; -EMFILE if the client or its
 * user has too many contexts; -EINTR.
 */
struct pagoda_context *pagoda_context_create(struct pagoda_vm *vm, u32 engine, u32 priority)
{
	struct pagoda_context *context = context_alloc(vm, engine);
	u64 epoch;
	int ret;

	if (IS_ERR(context))
		return context;
	do {
		epoch = pagoda_reset_epoch(vm->vidmm);
		ret = context_try(context, priority);
	} while (ret == -EIO && context_lost_to_reset(vm->vidmm, epoch));
	if (!ret)
		return context;
	pagoda_context_put(context);
	return ERR_PTR(ret);
}

/**
 * pagoda_context_vm() - Get the VM of a context
 * @context: Context
 *
 * Return: The VM; no reference is taken.
 */
struct pagoda_vm *pagoda_context_vm(struct pagoda_context *context)
{
	return context->vm;
}

/**
 * pagoda_context_kill() - Refuse and cancel further work of a context
 * @context: Context
 *
 * Jobs that haven't begun are cancelled, jobs that run may end. Nothing is waited for: a caller
 * that destroys many contexts kills all of them first.
 *
 * Context: May sleep.
 */
void pagoda_context_kill(struct pagoda_context *context)
{
	mutex_lock(&context->lock);
	context->dead = true;
	mutex_unlock(&context->lock);
	pagoda_deferred_stop(&context->deferred, -ECANCELED);
	if (context->exec)
		pagoda_exec_context_ban(context->exec);
}

/**
 * pagoda_context_destroy() - Destroy a context
 * @context: Context without a handle; the caller's reference is dropped
 *
 * Jobs that run may end: their fences keep the save area and the VM's page tables in place.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_context_destroy(struct pagoda_context *context)
{
	struct pagoda_vm *vm = context->vm;

	pagoda_context_kill(context);
	pagoda_deferred_cancel(&context->deferred, -ECANCELED);
	if (context->exec)
		pagoda_exec_context_destroy(context->exec);
	mutex_lock(&vm->lock);
	list_del(&context->entry);
	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	context_drop_save(context);
	dma_resv_unlock(pagoda_vm_resv(vm));
	mutex_unlock(&vm->lock);
	pagoda_context_put(context);
}

/* ---- States ------------------------------------------------------------------------ */

/* Bans a context because a job that was accepted can't be made. May sleep. */
void pagoda_context_give_up(struct pagoda_context *context)
{
	spin_lock(&context->state_lock);
	context->state |= DRM_PAGODA_CONTEXT_BANNED;
	spin_unlock(&context->state_lock);
	pagoda_deferred_stop(&context->deferred, -ECANCELED);
	if (context->exec)
		pagoda_exec_context_ban(context->exec);
}

static void context_fail(struct pagoda_context *context)
{
	spin_lock(&context->state_lock);
	context->state |= DRM_PAGODA_CONTEXT_CLIENT_ERROR;
	spin_unlock(&context->state_lock);
	pagoda_context_give_up(context);
}

/**
 * pagoda_client_fail() - Put a client in error
 * @client: Client, for which an operation failed that had to succeed
 * @error: Negative errno; the first error of a client is kept
 *
 * All contexts of the client are banned, and no work of it is accepted any more (C151).
 *
 * Context: May sleep. Outside of VMs' and contexts' locks.
 */
void pagoda_client_fail(struct pagoda_client *client, int error)
{
	struct pagoda_context *context;
	unsigned long id;

	mutex_lock(&client->lock);
	if (!client->error)
		WRITE_ONCE(client->error, error);
	xa_for_each(&client->contexts, id, context)
		context_fail(context);
	mutex_unlock(&client->lock);
}

/* dma_fence signalling path. The first report is kept: it has the cause. */
static void context_banned(void *owner, const struct pagoda_exec_report *report)
{
	struct pagoda_context *context = owner;

	if (!report->reset)
		pagoda_coredump_job(context, report);
	spin_lock(&context->state_lock);
	if (report->reset) {
		context->state |= DRM_PAGODA_CONTEXT_RESET;
	} else if (!(context->state & DRM_PAGODA_CONTEXT_BANNED)) {
		context->state |= DRM_PAGODA_CONTEXT_BANNED |
				  (report->hung ? DRM_PAGODA_CONTEXT_HUNG :
						  DRM_PAGODA_CONTEXT_FAULTED);
		context->report = *report;
	}
	spin_unlock(&context->state_lock);
	if (!report->reset)
		pagoda_deferred_stop(&context->deferred, -ECANCELED);
}

/*
 * dma_fence signalling path, without the reservation: a save area doesn't move while a job of its
 * context is in flight. Paging that placed an allocation for the job may have failed: then the
 * job must not see the old content of its memory, and this function returns an error.
 */
static int context_image(void *owner, u64 mark, struct virtio_pagoda_execute *execute)
{
	struct pagoda_context *context = owner;
	struct pagoda_side side;
	int ret = pagoda_lost_since(context->vm->vidmm, mark);
	struct pagoda_adl adl;

	if (ret)
		return ret;
	/* Consumers of the job's writes wait for the job's fence only. */
	if (context->vm->vidmm->info->features & BIT_ULL(VIRTIO_PAGODA_F_WRITE_COMBINER))
		execute->flags = cpu_to_le32(VIRTIO_PAGODA_EXECUTE_DRAIN);
	side = context_side(context->save, &adl);
	execute->image_segment = cpu_to_le32(side.segment);
	execute->image_address = cpu_to_le64(side.adl ? pagoda_adl_page(side.adl, 0) :
							side.address);
	return 0;
}

/* dma_fence signalling path. */
static int context_reset_adapter(void *owner)
{
	return pagoda_reset_request(owner, PAGODA_RESET_ENGINE);
}

/* Commands of the job may have stored values of monitored fences without an event. */
static void context_done(void *owner)
{
	pagoda_mfences_changed(owner);
}

static void context_job_freed(void *payer)
{
	pagoda_quota_uncharge(payer, PAGODA_LIMIT_JOBS, 1);
}

const struct pagoda_exec_ops pagoda_context_exec_ops = {
	.image = context_image,
	.banned = context_banned,
	.done = context_done,
	.freed = context_job_freed,
	.reset_adapter = context_reset_adapter,
};

static void context_progress(struct pagoda_context *context,
			     struct drm_pagoda_context_state *state)
{
	bool waiting;

	mutex_lock(&context->lock);
	waiting = !pagoda_deferred_is_empty(&context->deferred);
	/* A destroyed context has no jobs that could be counted. */
	if (context->exec && !context->dead)
		pagoda_exec_context_progress(context->exec, &state->submitted, &state->completed);
	if (!waiting && state->completed == state->submitted)
		state->completed = context->accepted;
	state->submitted = context->accepted;
	mutex_unlock(&context->lock);
}

/*
 * Returns the number of jobs that were accepted and aren't done; a job that waited and is being
 * made may count twice. Caller holds the lock of the context, which isn't dead.
 */
u64 pagoda_context_queued(struct pagoda_context *context)
{
	u64 submitted, completed;

	lockdep_assert_held(&context->lock);
	pagoda_exec_context_progress(context->exec, &submitted, &completed);
	return READ_ONCE(context->deferred.count) + submitted - completed;
}

/**
 * pagoda_context_state() - Get the state of a context
 * @context: Context
 * @state: Out: all members but @context, the id, which the caller has set
 *
 * Context: May sleep.
 */
void pagoda_context_state(struct pagoda_context *context, struct drm_pagoda_context_state *state)
{
	struct pagoda_exec_report report;

	*state = (struct drm_pagoda_context_state) { .context = state->context };
	context_progress(context, state);
	spin_lock(&context->state_lock);
	state->state = context->state;
	report = context->report;
	spin_unlock(&context->state_lock);
	state->resets = pagoda_reset_count(context->vm->vidmm);
	state->job = report.job;
	state->engine = report.engine;
	if (report.hung || !report.job)
		return;
	state->address = report.fault.address;
	state->command = report.fault.command;
	state->reason = report.fault.reason;
	state->access = report.fault.access;
	state->level = report.fault.level;
}
