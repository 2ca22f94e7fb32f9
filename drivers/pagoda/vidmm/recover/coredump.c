// SPDX-License-Identifier: GPL-2.0
/*
 * Device coredumps: the driver's knowledge about a job that faulted or hung, paging that was
 * lost, and resets that count as the device's fault.
 *
 *	take	where the failure happens, in the dma_fence signalling path: writes the current
 *		state as text into memory that was allocated at probe
 *	offer	in a work item: adds parts that need locks or memory, then hands the journal,
 *		followed by the text, to devcoredump, which ignores later dumps until user space
 *		deletes this one or some minutes have passed
 *
 * The first step writes the address map of the VM of a failed job if the VM's lock is free, else
 * the second step writes the map with the words "a moment later". The size of each part is limited,
 * and the most important parts come first. At most one failure per second is written down.
 *
 * pagoda_vidmm_print_engines() is for debugfs, too.
 */
#include <linux/devcoredump.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/info.h"
#include "paging/paging.h"
#include "queue/exec.h"
#include "queue/queue.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/recording.h"
#include "vidmm/stream/stream.h"
#include "vidmm/submit/context.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "recover.h"

/*
 * Most bytes: COREDUMP_TEXT of the whole text; COREDUMP_MAP of the address map, COREDUMP_ENGINES of
 * the engines' state, COREDUMP_QUEUE of the paging queue's, COREDUMP_BUFFER of each paging buffer.
 */
#define COREDUMP_TEXT		(256u << 10)
#define COREDUMP_MAP		(64u << 10)
#define COREDUMP_ENGINES	(32u << 10)
#define COREDUMP_QUEUE		(16u << 10)
#define COREDUMP_BUFFER		(8u << 10)
/* Bytes at the end of the text that only coredump_complete() fills. */
#define COREDUMP_RESETS		(4u << 10)
#define COREDUMP_CUT		"...\n"

static const char * const coredump_reasons[] = {
#define COREDUMP_REASON(NAME, number, text) \
	[number] = text,
	VIRTIO_PAGODA_FAULTS(COREDUMP_REASON)
#undef COREDUMP_REASON
};

static const char * const coredump_accesses[] = {
	[VIRTIO_PAGODA_ACCESS_NONE] = "none",
	[VIRTIO_PAGODA_ACCESS_READ] = "read",
	[VIRTIO_PAGODA_ACCESS_WRITE] = "write",
	[VIRTIO_PAGODA_ACCESS_FETCH] = "fetch",
};

/* ---- Printing into the text of a dump ----------------------------------------------- */

static void coredump_vprint(struct drm_printer *p, struct va_format *vaf)
{
	struct pagoda_paging_text *text = p->arg;

	text->len += scnprintf(text->data + text->len, text->size - text->len, "%pV", vaf);
}

static void coredump_puts(struct drm_printer *p, const char *string)
{
	struct pagoda_paging_text *text = p->arg;

	text->len += scnprintf(text->data + text->len, text->size - text->len, "%s", string);
}

/* Returns a printer that appends to @text, and neither sleeps nor allocates. */
static struct drm_printer coredump_printer(struct pagoda_paging_text *text)
{
	return (struct drm_printer) {
		.printfn = coredump_vprint,
		.puts = coredump_puts,
		.arg = text,
	};
}

/*
 * Returns the part of @text that isn't written yet, at most @size bytes, as a text of its own: what
 * is printed there can't be longer.
 */
static struct pagoda_paging_text coredump_part(struct pagoda_paging_text *text, size_t size)
{
	size_t left = text->size - text->len;

	return (struct pagoda_paging_text) {
		.data = text->data + text->len,
		.size = min(left, size),
	};
}

/*
 * Adds the length of @part, from coredump_part(), to @text. If @part was full, and so may be cut
 * off, overwrites its end with COREDUMP_CUT ("...").
 */
static void coredump_part_end(struct pagoda_paging_text *text,
			      const struct pagoda_paging_text *part)
{
	const size_t cut = sizeof(COREDUMP_CUT);

	text->len += part->len;
	if (part->size >= cut && part->len + 1 >= part->size)
		memcpy(part->data + part->size - cut, COREDUMP_CUT, cut);
}

/* ---- Parts of the text ------------------------------------------------------------ */

static const char *coredump_name(const char * const *names, size_t count, u32 index)
{
	return index < count && names[index] ? names[index] : "unknown";
}

static void coredump_print_report(struct drm_printer *p, struct pagoda_context *context,
				  const struct pagoda_exec_report *report)
{
	const struct pagoda_fault *fault = &report->fault;

	drm_printf(p, "cause: context %llu job %llu %s on " PAGODA_ENGINE_NAME "\n", context->id,
		   report->job, report->hung ? "hung" : "faulted", report->engine);
	drm_printf(p, "space: %u\n", context->vm->id);
	if (report->hung)
		return;
	drm_printf(p, "reason: %u, %s\n", fault->reason,
		   coredump_name(coredump_reasons, ARRAY_SIZE(coredump_reasons), fault->reason));
	drm_printf(p, "command: opcode %u at 0x%llx\n", fault->opcode, fault->command);
	drm_printf(p, "address: 0x%llx, access %s, level %u\n", fault->address,
		   coredump_name(coredump_accesses, ARRAY_SIZE(coredump_accesses),
				 fault->access), fault->level);
}

static void coredump_print_va(struct drm_printer *p, struct pagoda_va *va)
{
	struct drm_gpuva *base = &va->base;

	drm_printf(p, "\t0x%llx-0x%llx", base->va.addr, base->va.addr + base->va.range);
	if (base->gem.obj)
		drm_printf(p, " alloc %llu+0x%llx", pagoda_bo_of_gem(base->gem.obj)->id,
			   base->gem.offset);
	else
		drm_puts(p, " zeros");
	drm_printf(p, "%s%s%s\n", va->flags & DRM_PAGODA_BIND_READ_ONLY ? " read-only" : "",
		   va->flags & DRM_PAGODA_BIND_NO_EXECUTE ? " no-execute" : "",
		   base->flags & DRM_GPUVA_INVALIDATED ? " not in the page tables" : "");
}

static void coredump_map(struct pagoda_paging_text *text, struct pagoda_vm *vm, const char *when)
{
	struct pagoda_paging_text part = coredump_part(text, COREDUMP_MAP);
	struct drm_printer p = coredump_printer(&part);
	struct drm_gpuva *base;

	lockdep_assert_held(&vm->lock);
	drm_printf(&p, "map of space %u%s:\n", vm->id, when);
	drm_gpuvm_for_each_va(base, &vm->base) {
		if (part.len + 1 >= part.size)
			break;
		if (base != &vm->base.kernel_alloc_node)
			coredump_print_va(&p, pagoda_va_of(base));
	}
	coredump_part_end(text, &part);
}

static void coredump_engines(struct pagoda_paging_text *text, struct pagoda_vidmm *vidmm)
{
	struct pagoda_paging_text part = coredump_part(text, COREDUMP_ENGINES);
	struct drm_printer p = coredump_printer(&part);

	pagoda_vidmm_print_engines(vidmm, &p);
	coredump_part_end(text, &part);
}

static void coredump_queue(struct pagoda_paging_text *text, struct pagoda_vidmm *vidmm)
{
	struct pagoda_paging_text part = coredump_part(text, COREDUMP_QUEUE);
	struct drm_printer p = coredump_printer(&part);

	drm_puts(&p, "paging queue:\n");
	pagoda_queue_print(vidmm->queue, &p);
	coredump_part_end(text, &part);
}

static void coredump_buffer(void *arg, const void *data, u32 size, u64 seqno, int error)
{
	struct pagoda_paging_text *text = arg;
	struct pagoda_paging_text part = coredump_part(text, COREDUMP_BUFFER);
	struct drm_printer p = coredump_printer(&part);

	drm_printf(&p, "buffer: seqno %llu, %u bytes, error %d\n", seqno, size, error);
	pagoda_paging_print(data, size, &part);
	coredump_part_end(text, &part);
}

/* ---- Writing a dump where the failure happens ---------------------------------------- */

static void coredump_release(struct pagoda_coredump *dump)
{
	atomic_set_release(&dump->state, PAGODA_COREDUMP_IDLE);
	wake_up_all(&dump->released);
}

/*
 * Begins a dump, which the caller owns until coredump_end() if true is returned. Returns false if
 * the last dump was taken less than a second ago, or another thread or the work item owns the dump.
 */
static bool coredump_begin(struct pagoda_coredump *dump)
{
	struct drm_printer p = coredump_printer(&dump->text);

	if (atomic_cmpxchg(&dump->state, PAGODA_COREDUMP_IDLE, PAGODA_COREDUMP_BUSY) !=
	    PAGODA_COREDUMP_IDLE)
		return false;
	if (time_before(jiffies, dump->after)) {
		coredump_release(dump);
		return false;
	}
	dump->text.len = 0;
	dump->text.size = COREDUMP_TEXT - COREDUMP_RESETS;
	drm_printf(&p, "time: %llu ns\n", ktime_get_ns());
	return true;
}

static void coredump_end(struct pagoda_coredump *dump, struct pagoda_vidmm *vidmm)
{
	coredump_engines(&dump->text, vidmm);
	coredump_queue(&dump->text, vidmm);
	pagoda_queue_visit_recent(vidmm->queue, coredump_buffer, &dump->text);
	dump->after = jiffies + HZ;
	atomic_set_release(&dump->state, PAGODA_COREDUMP_TAKEN);
	queue_work(system_dfl_wq, &dump->work);
}

/*
 * Writes a dump about a job that faulted or hung, if coredump_begin() allows. Called in the
 * dma_fence signalling path (&pagoda_exec_ops.banned): waits for spinlocks only, and takes the VM's
 * lock only if that lock is free.
 */
void pagoda_coredump_job(struct pagoda_context *context, const struct pagoda_exec_report *report)
{
	struct pagoda_vidmm *vidmm = context->vm->vidmm;
	struct pagoda_coredump *dump = vidmm->coredump;
	struct drm_printer p = coredump_printer(&dump->text);

	if (!coredump_begin(dump))
		return;
	coredump_print_report(&p, context, report);
	if (mutex_trylock(&context->vm->lock)) {
		coredump_map(&dump->text, context->vm, "");
		mutex_unlock(&context->vm->lock);
	} else {
		dump->vm = pagoda_vm_get(context->vm);
	}
	coredump_end(dump, vidmm);
}

/*
 * Writes a dump, if coredump_begin() allows, about a paging submission that was given up with
 * @error; byte @offset is the first that wasn't executed. Called in the dma_fence signalling path
 * (&pagoda_queue_ops.lost).
 */
void pagoda_coredump_paging(struct pagoda_vidmm *vidmm, u64 seqno, u32 offset, int error)
{
	struct pagoda_coredump *dump = vidmm->coredump;
	struct drm_printer p = coredump_printer(&dump->text);

	if (!coredump_begin(dump))
		return;
	drm_printf(&p, "cause: paging submission %llu lost at byte %u, error %d\n", seqno, offset,
		   error);
	coredump_end(dump, vidmm);
}

/*
 * Writes a dump about a reset of the device, before the reset, if coredump_begin() allows. Called
 * in the dma_fence signalling path (&pagoda_queue_ops.reset_adapter).
 */
void pagoda_coredump_reset(struct pagoda_vidmm *vidmm, const char *reason)
{
	struct pagoda_coredump *dump = vidmm->coredump;
	struct drm_printer p = coredump_printer(&dump->text);

	if (!coredump_begin(dump))
		return;
	drm_printf(&p, "cause: reset of the device (%s)\n", reason);
	coredump_end(dump, vidmm);
}

/* ---- Completing a dump and handing it to devcoredump ---------------------------------- */

/* Adds the parts that need mutexes: the map of &pagoda_coredump.vm, if any, and the last resets. */
static void coredump_complete(struct pagoda_coredump *dump, struct pagoda_vidmm *vidmm)
{
	struct drm_printer p = coredump_printer(&dump->text);
	struct pagoda_vm *vm = dump->vm;

	dump->text.size = COREDUMP_TEXT - COREDUMP_RESETS / 2;
	if (vm) {
		mutex_lock(&vm->lock);
		coredump_map(&dump->text, vm, ", a moment later");
		mutex_unlock(&vm->lock);
	}
	dump->text.size = COREDUMP_TEXT;
	pagoda_vidmm_print_resets(vidmm, &p);
	if (vm)
		pagoda_vm_put(vm);
	dump->vm = NULL;
}

static void coredump_offer(struct pagoda_coredump *dump, struct pagoda_vidmm *vidmm)
{
	struct device *dev = vidmm->drm->dev;
	size_t size;
	void *head, *data;

	head = pagoda_vidmm_journal(vidmm, &size);
	if (!head)
		return;
	/* dev_coredumpv() frees the memory later, by vfree(). */
	data = vmalloc(size + dump->text.len);
	if (data) {
		memcpy(data, head, size);
		memcpy(data + size, dump->text.data, dump->text.len);
		dev_coredumpv(dev, data, size + dump->text.len, GFP_KERNEL);
	}
	kvfree(head);
}

static void coredump_work(struct work_struct *work)
{
	struct pagoda_coredump *dump = container_of(work, struct pagoda_coredump, work);
	struct pagoda_vidmm *vidmm = dump->vidmm;

	if (atomic_read_acquire(&dump->state) != PAGODA_COREDUMP_TAKEN)
		return;
	coredump_complete(dump, vidmm);
	coredump_offer(dump, vidmm);
	coredump_release(dump);
}

/* Waits until no other thread and no work item owns the dump; then the caller owns the dump. */
static void coredump_own(struct pagoda_coredump *dump)
{
	wait_event(dump->released,
		   atomic_cmpxchg(&dump->state, PAGODA_COREDUMP_IDLE, PAGODA_COREDUMP_BUSY) ==
		   PAGODA_COREDUMP_IDLE);
}

/**
 * pagoda_vidmm_print_coredump() - Print the text about the last failure, and the state of the dummy
 * page
 * @vidmm: Manager
 * @p: Printer; gets no text of a failure if there was none
 *
 * Context: May sleep: waits until a dump that is being written is complete.
 */
void pagoda_vidmm_print_coredump(struct pagoda_vidmm *vidmm, struct drm_printer *p)
{
	struct pagoda_coredump *dump = vidmm->coredump;

	coredump_own(dump);
	drm_puts(p, dump->text.data);
	coredump_release(dump);
	pagoda_dummy_print(vidmm, p);
}

/**
 * pagoda_coredump_init() - Set up device coredumps
 * @vidmm: Manager
 * @args: Unused
 *
 * Context: Probe; may sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_coredump_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_coredump *dump = drmm_kzalloc(vidmm->drm, sizeof(*dump), GFP_KERNEL);

	if (!dump)
		return -ENOMEM;
	dump->vidmm = vidmm;
	vidmm->coredump = dump;
	INIT_WORK(&dump->work, coredump_work);
	init_waitqueue_head(&dump->released);
	dump->after = jiffies;
	dump->text.data = kvzalloc(COREDUMP_TEXT, GFP_KERNEL);
	return dump->text.data ? 0 : -ENOMEM;
}

/**
 * pagoda_coredump_stop() - Write no further dumps because the hardware is being removed
 * @vidmm: Manager
 *
 * The caller owns the dump for ever, so later failures aren't written down. No other thread waits
 * for the dump: readers of debugfs have left the device (drm_dev_unplug()). The copy that
 * devcoredump has is deleted.
 *
 * Context: May sleep.
 */
void pagoda_coredump_stop(struct pagoda_vidmm *vidmm)
{
	coredump_own(vidmm->coredump);
	dev_coredump_put(vidmm->drm->dev);
}

/**
 * pagoda_coredump_fini() - Undo pagoda_coredump_init()
 * @vidmm: Manager
 *
 * Context: May sleep.
 */
void pagoda_coredump_fini(struct pagoda_vidmm *vidmm)
{
	cancel_work_sync(&vidmm->coredump->work);
	kvfree(vidmm->coredump->text.data);
}

/**
 * pagoda_vidmm_print_engines() - Print counters and jobs of the engines, if there are engines
 * @vidmm: The manager
 * @p: Printer; must not sleep
 *
 * Context: Process context, also in the dma_fence signalling path.
 */
void pagoda_vidmm_print_engines(struct pagoda_vidmm *vidmm, struct drm_printer *p)
{
	if (vidmm->engines)
		pagoda_engines_print(vidmm->engines, p);
}
