// SPDX-License-Identifier: GPL-2.0
/*
 * Callbacks of the paging queue: execute a submission on the CPU, note what a lost submission
 * means, reset the device, measure paging, uncharge the client for a submission that has ended.
 * Callbacks of the engines: fill in the save area in a job's request, handle reports about jobs,
 * places and ends of jobs, reset the device. Also handles the device's reports that it stored the
 * value of a monitored fence.
 */
#include "core/core.h"
#include "core/info.h"
#include "core/life.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "queue/exec.h"
#include "queue/queue.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/fence.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/limits.h"
#include "vidmm/ledger/traffic.h"
#include "vidmm/stream/stream.h"
#include "vidmm/submit/context.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "recover.h"

/* Fewest bytes that submissions must have moved to count as a sample of the paging bandwidth. */
#define STREAM_MEASURE		(PAGODA_PIECE_BYTES / 8)

/*
 * &pagoda_queue_ops.execute: executes a submission on the CPU from byte @start on; then, if there
 * was a FLUSH_TLB, which the device missed, sets the roots of address spaces again. The queue calls
 * this function for one submission at a time, in order, in the dma_fence signalling path. Returns
 * 0; a negative errno with *@stopped_at set to the offset of the first packet that wasn't executed
 * completely; or -EIO, although no packet may be left, if setting the roots fails and the device
 * may still execute jobs: then stream_lost() asks for a reset.
 */
static int stream_execute(void *owner, struct pagoda_submission *sub, u32 start,
			  u32 *stopped_at)
{
	struct pagoda_vidmm *vidmm = owner;
	int ret;

	ret = pagoda_cpu_execute(vidmm->executor, sub->data, sub->built, start,
				 sub->priv, sub->priv_built, stopped_at);
	if (pagoda_tables_rescued(vidmm, sub, start) || ret || READ_ONCE(vidmm->reset->dead))
		return ret;
	*stopped_at = sub->built;
	return -EIO;
}

/*
 * What is found out about the packets of a lost paging submission. @aborts: PAGODA_ABORTED_* bits
 * for the allocations that the packets name; @mappings: set if the device now has wrong mappings.
 */
struct stream_loss {
	struct pagoda_vidmm *vidmm;
	u32 aborts;
	bool mappings;
};

static bool stream_is_content(u32 opcode)
{
	switch (opcode) {
	case VIRTIO_PAGODA_OP_TRANSFER:
	case VIRTIO_PAGODA_OP_FILL:
	case VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER:
	case VIRTIO_PAGODA_OP_VIRTUAL_FILL:
	case VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER:
		return true;
	default:
		return false;
	}
}

/*
 * Returns true if the device would use a wrong mapping because the packet is lost: a mapping of
 * memory that belongs to another allocation by then, an entry that was never written, or a save
 * area without its first content or the VM's root. Packets for the paging process, address space 0,
 * don't count, because the CPU invalidates the entries of its windows (pagoda_process_lost()).
 * Packets for the device MMU don't count (device_mmu.c).
 */
static bool stream_is_mapping(const struct virtio_pagoda_packet *packet)
{
	const struct virtio_pagoda_update_page_table *update = (const void *)packet;
	const struct virtio_pagoda_flush_tlb *flush = (const void *)packet;

	switch (le16_to_cpu(packet->opcode)) {
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		return update->address_space;
	case VIRTIO_PAGODA_OP_FLUSH_TLB:
		return flush->address_space;
	case VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE:
	case VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION:
		return true;
	default:
		return false;
	}
}

/*
 * Returns true if jobs that don't list the allocation may reach its memory through page tables.
 * Lost content is replaced by zeros before a job that lists the allocation runs, or a job of the VM
 * to which the allocation is private; for other jobs the mapping is as wrong as a lost mapping.
 */
static bool stream_shows(const struct pagoda_bo *bo)
{
	return !bo->share.imported && !bo->vm.private_to &&
	       !list_empty_careful(&bo->ttm.base.gpuva.list);
}

static void stream_lost_content(struct stream_loss *loss, struct pagoda_bo *bo)
{
	pagoda_bo_mark_lost(bo);
	loss->mappings |= stream_shows(bo);
	if (loss->aborts)
		atomic64_inc(&loss->vidmm->aborts);
	/*
	 * The loss is counted after the marks above: this release pairs with the acquire in
	 * pagoda_lost_mark().
	 */
	atomic64_inc_return_release(&loss->vidmm->losses);
}

/*
 * Marks the allocation that a lost packet names: its content as lost if the packet writes content,
 * and with &stream_loss.aborts: PAGODA_ABORTED_BY_RESET only if the packet writes content, because
 * a rebuild repairs mappings; PAGODA_ABORTED_TO_BLAME, which only the submission that broke the
 * device has, whatever the packet does (C190).
 */
static void stream_lost_packet(void *arg, const struct virtio_pagoda_packet *packet)
{
	u64 allocation = le64_to_cpu(packet->allocation);
	bool content = stream_is_content(le16_to_cpu(packet->opcode));
	struct stream_loss *loss = arg;
	u32 aborts = content ? loss->aborts : loss->aborts & PAGODA_ABORTED_TO_BLAME;
	struct pagoda_bo *bo;

	loss->mappings |= stream_is_mapping(packet);
	if (!allocation || (!aborts && !content))
		return;
	xa_lock(&loss->vidmm->bos);
	bo = xa_load(&loss->vidmm->bos, allocation);
	if (bo && content)
		stream_lost_content(loss, bo);
	if (bo) {
		atomic_or(aborts, &bo->content.aborted);
		__xa_set_mark(&loss->vidmm->bos, allocation, PAGODA_BO_EXPOSED);
	}
	xa_unlock(&loss->vidmm->bos);
}

/*
 * &pagoda_queue_ops.lost: a submission is lost from byte @offset on. Jobs and CPUs must not see the
 * former content of memory that couldn't be written: this function, which can't take reservations,
 * marks the allocations, and they are filled with zeros before they are used (lost.c). Also stores
 * the loss in the journal and a coredump, and tells the paging process. Returns true if the device
 * has wrong mappings, or translations that it should have dropped (&pagoda_vidmm.deaf), and
 * therefore needs a reset. Called in the dma_fence signalling path.
 */
static bool stream_lost(void *owner, struct pagoda_submission *sub, u32 offset, int error)
{
	struct pagoda_vidmm *vidmm = owner;
	struct stream_loss loss = {
		.vidmm = vidmm,
		.aborts = pagoda_reset_aborts(vidmm, sub->to_blame),
	};

	pagoda_paging_walk(sub->data, sub->built, offset, stream_lost_packet, &loss);
	pagoda_journal_lost(vidmm->journal, sub->seqno, offset, error);
	pagoda_coredump_paging(vidmm, sub->seqno, offset, error);
	if (vidmm->mmu)
		pagoda_process_lost(vidmm->mmu);
	return loss.mappings || READ_ONCE(vidmm->deaf);
}

static int stream_reset_adapter(void *owner, u32 asked, bool broken)
{
	return pagoda_reset_device(owner, asked | (broken ? BIT(PAGODA_RESET_PAGING) : 0));
}

/*
 * &pagoda_queue_ops.measured: adds a sample, @bytes that paging moved in @ns, to the measured
 * bandwidth. Ignores less than STREAM_MEASURE bytes, which measure the device's latency.
 */
static void stream_measured(void *owner, u64 bytes, u64 ns)
{
	struct pagoda_vidmm *vidmm = owner;

	if (bytes >= STREAM_MEASURE)
		pagoda_bandwidth_measure(vidmm->bandwidth, bytes, ns);
}

static void stream_ended(void *owner, struct pagoda_submission *sub)
{
	struct pagoda_vidmm *vidmm = owner;

	pagoda_limits_give(vidmm->limits, sub->owner, pagoda_submission_bytes(sub), sub->moved);
}

const struct pagoda_queue_ops pagoda_stream_queue_ops = {
	.numbered = pagoda_stream_numbered,
	.execute = stream_execute,
	.lost = stream_lost,
	.reset_adapter = stream_reset_adapter,
	.measured = stream_measured,
	.ended = stream_ended,
};

/*
 * &pagoda_exec_ops.banned: a reset of the device lost a job of the context, or a job faulted or
 * hung. For a lost job sets CONTEXT_RESET in &pagoda_context.state. Otherwise writes a coredump,
 * ends the context's deferred jobs with -ECANCELED and, unless it has a report already, keeps the
 * report and sets CONTEXT_BANNED and either CONTEXT_HUNG or CONTEXT_FAULTED. A context banned
 * without a report, by pagoda_context_give_up(), may still have a job on the device that faults or
 * hangs. Called in the dma_fence signalling path.
 */
static void context_banned(void *owner, const struct pagoda_exec_report *report)
{
	const u32 reported = DRM_PAGODA_CONTEXT_FAULTED | DRM_PAGODA_CONTEXT_HUNG;
	struct pagoda_context *context = owner;

	if (!report->reset)
		pagoda_coredump_job(context, report);
	spin_lock(&context->state_lock);
	if (report->reset) {
		atomic_or(DRM_PAGODA_CONTEXT_RESET, &context->state);
	} else if (!(atomic_read(&context->state) & reported)) {
		atomic_or(DRM_PAGODA_CONTEXT_BANNED |
			  (report->hung ? DRM_PAGODA_CONTEXT_HUNG : DRM_PAGODA_CONTEXT_FAULTED),
			  &context->state);
		context->report = *report;
	}
	spin_unlock(&context->state_lock);
	if (!report->reset)
		pagoda_deferred_stop(&context->deferred, -ECANCELED);
}

/*
 * &pagoda_exec_ops.done: has the waits for monitored fences of the client of @account tested,
 * because commands of the job may have stored values; the waits of all clients if @account is NULL.
 */
static void context_done(void *owner, const struct pagoda_exec_account *account)
{
	pagoda_mfences_changed(owner, account);
}

/**
 * pagoda_fence_told() - Handle the device's report that it stored the value of a monitored fence
 * @vidmm: Manager
 * @context: Context whose job has stored the value; 0 = the paging queue, or reports were lost
 *
 * Has the waits tested for monitored fences of clients that have jobs at the engines; of all
 * clients if @context is 0 or there are no engines.
 *
 * Context: Any.
 */
void pagoda_fence_told(struct pagoda_vidmm *vidmm, u64 context)
{
	if (context && vidmm->engines)
		pagoda_engines_stored(vidmm->engines);
	else
		pagoda_mfences_changed(vidmm, NULL);
}

/*
 * &pagoda_exec_ops.image: writes the address of the context's save area, and flags, into a job's
 * request before the request is sent. Returns 0; or the error of pagoda_lost_since() if paging lost
 * content since @mark, and the job doesn't run: the job could see what other allocations left in
 * memory. Called in the dma_fence signalling path, without the save area's reservation, because the
 * area doesn't move while a job is in flight.
 */
static int context_image(void *owner, u64 mark, struct virtio_pagoda_execute *execute)
{
	struct pagoda_context *context = owner;
	struct pagoda_side side;
	int ret = pagoda_lost_since(context->vm->vidmm, mark);
	struct pagoda_adl adl;

	if (ret)
		return ret;
	/*
	 * Have the write combiner drained at the job's end: readers wait only for the job's fence.
	 */
	if (context->vm->vidmm->info->features & BIT_ULL(VIRTIO_PAGODA_F_WRITE_COMBINER))
		execute->flags = cpu_to_le32(VIRTIO_PAGODA_EXECUTE_DRAIN);
	side = pagoda_save_side(context->save.bo, &adl);
	execute->image_segment = cpu_to_le32(side.segment);
	execute->image_address = cpu_to_le64(side.adl ? pagoda_adl_page(side.adl, 0) :
							side.address);
	return 0;
}

/*
 * &pagoda_exec_ops.reset_adapter: resets the device, because an engine couldn't be reset. Returns
 * as pagoda_reset_request(). dma_fence signalling path.
 */
static int context_reset_adapter(void *owner)
{
	return pagoda_reset_request(owner, PAGODA_RESET_ENGINE);
}

/*
 * &pagoda_exec_ops.freed: uncharges the job, and counts in &pagoda_vidmm.releases that what the job
 * used may now leave VRAM.
 */
static void context_job_freed(void *owner, struct pagoda_exec_job *job)
{
	struct pagoda_vidmm *vidmm = owner;

	if (job->fenced)
		pagoda_quota_uncharge(job->payer, PAGODA_LIMIT_FENCED, 1);
	pagoda_quota_uncharge(job->payer, PAGODA_LIMIT_JOBS, 1);
	atomic64_inc(&vidmm->releases);
}

/*
 * &pagoda_exec_ops.placed: the engine keeps a place for a job of the context. Has the worker of the
 * context's deferred jobs prepare the next one. Any context.
 */
static void context_placed(void *owner)
{
	struct pagoda_context *context = owner;

	pagoda_deferred_again(&context->deferred);
}

const struct pagoda_exec_ops pagoda_context_exec_ops = {
	.image = context_image,
	.banned = context_banned,
	.placed = context_placed,
	.done = context_done,
	.freed = context_job_freed,
	.reset_adapter = context_reset_adapter,
};
