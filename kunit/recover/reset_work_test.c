// SPDX-License-Identifier: GPL-2.0
/*
 * Resets with work under way: interrupted submissions are executed before newer ones, a device that
 * was reset does nothing until it is rebuilt, contexts are marked as reset only if content was
 * lost, and a coredump tells what failed. Also simultaneous requests, submissions that were never
 * sent, and jobs that haven't begun.
 */
#include <linux/delay.h>
#include <linux/string.h>
#include <drm/drm_syncobj.h>
#include "../drivers/pagoda/queue/internal.h"
#include "core/trace.h"
#include "queue/queue_helpers.h"
#include "reset_helpers.h"
#include "residency/offer_helpers.h"
#include "rig/rig.h"
#include "submit/submit_helpers.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define HERE		SZ_4M
#define MAPPINGS	3000
#define PAGES		4
#define BOS		4
#define MANY		(PAGODA_FAKE_DEPTH + 4)	/* more submissions than the ring has room for */

static struct pagoda_bo *work_bo(struct pagoda_rig *rig, u32 seed, bool in_vram)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
					     VRAM | APERTURE, 0);

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_write(rig, bo, seed);
	if (in_vram)
		KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	return bo;
}

/* Expects one copy of the allocation in the log, from note @from on; returns the copy's index. */
static u32 work_copied(struct pagoda_rig *rig, const struct pagoda_bo *bo, u32 from)
{
	u32 opcode = pagoda_rig_copy_op(rig), i, at = U32_MAX, count = 0;

	for (i = from; i < rig->nr_log; i++) {
		if (rig->log[i].opcode != opcode || rig->log[i].allocation != bo->id ||
		    !rig->log[i].size)
			continue;
		at = i;
		count++;
	}
	KUNIT_EXPECT_EQ(rig->test, 1, count);
	return at;
}

/*
 * Evicts BOS new allocations from VRAM; the copy of out[@failing] fails @times times. Waits until
 * the reset of the paging queue because of that, which takes @delay_ms, has begun. Returns the
 * number of notes that the rig's log had before the evictions.
 */
static u32 work_evict(struct pagoda_rig *rig, struct pagoda_bo **out, u32 failing, u32 times,
		      u32 delay_ms)
{
	u32 i, before;

	for (i = 0; i < BOS; i++)
		out[i] = work_bo(rig, i, true);
	pagoda_rig_settle(rig);
	before = rig->nr_log;
	rig->fake->reset_delay_ms = delay_ms;
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = pagoda_rig_copy_op(rig),
		.allocation = out[failing]->id,
		.times = times,
	};
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	for (i = 0; i < BOS; i++)
		KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_system(out[i]));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	while (!READ_ONCE(rig->fake->resets))
		fsleep(100);
	return before;
}

/*
 * The paging queue is reset in the middle of evictions while another move is requested: each copy
 * is executed once, in order, before the requested move's copy, and no content is lost.
 */
static void work_evicting(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *out[BOS], *in = work_bo(rig, 9, false);
	u32 i, before, at, last = 0;
	u64 seqno = 0;

	before = work_evict(rig, out, 1, 2, 100);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(in));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C186);
	KUNIT_EXPECT_EQ(test, 2, rig->fake->resets);
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_epoch(rig->vidmm));
	for (i = 0; i < BOS; i++) {
		at = work_copied(rig, out[i], before);
		KUNIT_EXPECT_GE(test, at, last);
		KUNIT_ASSERT_LT(test, at, rig->nr_log);
		last = at;
		KUNIT_EXPECT_GE(test, rig->log[at].seqno, seqno);
		seqno = rig->log[at].seqno;
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, out[i], i));
		KUNIT_EXPECT_FALSE(test, out[i]->content.lost);
	}
	KUNIT_EXPECT_GT(test, work_copied(rig, in, before), last);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, in, 9));
	KUNIT_EXPECT_EQ(test, 0, rig->fake->violations);
	for (i = 0; i < BOS; i++)
		pagoda_rig_close(out[i]);
	pagoda_rig_close(in);
}

/*
 * The device is reset as a whole while the paging queue is being reset in the middle of evictions:
 * each allocation has its content, or is marked lost and zero.
 */
static void work_evicting_adapter(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *out[BOS], *stays = work_bo(rig, 9, false);
	bool lost;
	u32 i;

	work_evict(rig, out, 2, 1, 50);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 1, pagoda_reset_epoch(rig->vidmm));
	/* Content stays if its copy was executed before the whole device was reset. */
	for (i = 0; i < BOS; i++) {
		dma_resv_lock(out[i]->ttm.base.resv, NULL);
		KUNIT_EXPECT_EQ(test, 0, pagoda_lost_settle(out[i]));
		lost = out[i]->content.lost;
		dma_resv_unlock(out[i]->ttm.base.resv);
		KUNIT_EXPECT_TRUE(test, lost ? pagoda_rig_is_zero(rig, out[i]) :
				  pagoda_rig_holds(rig, out[i], i));
	}
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, stays, 9));
	KUNIT_EXPECT_FALSE(test, stays->content.lost);
	KUNIT_EXPECT_EQ(test, 0, rig->fake->violations);
	for (i = 0; i < BOS; i++)
		pagoda_rig_close(out[i]);
	pagoda_rig_close(stays);
}

/* Effects by which the test would see that the device works. */
struct work_seen {
	u32 accesses;
	u32 submits;
	u32 controls;
	u64 word;
	bool vram;
};

static struct work_seen work_look(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	const u8 *vram = rig->engine.vram;

	return (struct work_seen) {
		.accesses = atomic_read(&rig->accesses),
		.submits = rig->fake->submits,
		.controls = rig->fake->controls,
		.word = *(u64 *)page_address(bo->ttm.ttm->pages[0]),
		/* VRAM has the poison of the reset alone: all its words are equal. */
		.vram = !memcmp(vram, vram + sizeof(u64), rig->engine.vram_size - sizeof(u64)),
	};
}

/* A call that a work item makes: arguments and results. */
struct work_call {
	struct work_struct work;
	struct submit_client *client;
	struct pagoda_context *context;
	int ret;
};

static void work_begin(struct work_call *call, struct submit_client *client, work_func_t run)
{
	call->client = client;
	INIT_WORK_ONSTACK(&call->work, run);
	queue_work(system_dfl_wq, &call->work);
}

static void work_end(struct work_call *call)
{
	flush_work(&call->work);
	destroy_work_on_stack(&call->work);
}

static void work_submit(struct work_struct *work)
{
	struct work_call *call = container_of(work, struct work_call, work);

	call->ret = submit_empty(call->client, NULL);
}

/*
 * A job that never ends and moves are under way. Once the reset has returned, the device accesses
 * no memory and gets no request until it is rebuilt, whatever clients ask for. The rebuild waits
 * while the test is in a section.
 */
static void work_stands_still(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *busy = submit_client(rig, 0), *other = submit_client(rig, 1);
	struct pagoda_bo *counted = submit_private(busy, 1, SUBMIT_APERTURE, HERE);
	struct pagoda_bo *out = work_bo(rig, 1, true), *in = work_bo(rig, 2, false);
	struct work_seen before, after;
	struct work_call call = {};
	u32 i;

	submit_add(busy, HERE, 1);
	submit_forever(busy);
	KUNIT_ASSERT_EQ(test, 0, submit_job(busy, NULL));
	while (!submit_word(rig, counted, 0))
		fsleep(100);
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(out));
	KUNIT_ASSERT_EQ(test, 0, pagoda_enter(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	before = work_look(rig, counted);
	KUNIT_EXPECT_EQ(test, -ECANCELED, submit_wait(busy));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(in));
	work_begin(&call, other, work_submit);
	schedule_timeout_uninterruptible(HZ / 20 ?: 1);
	pagoda_rig_settle(rig);
	for (i = 0; i < PAGODA_RIG_ENGINES; i++) {
		flush_workqueue(rig->engines[i].wq);
		KUNIT_EXPECT_EQ(test, 0, rig->engines[i].nr_ring);
	}
	after = work_look(rig, counted);
	PAGODA_PROVES(C191);
	KUNIT_EXPECT_EQ(test, 0, memcmp(&before, &after, sizeof(before)));
	KUNIT_EXPECT_EQ(test, before.accesses, after.accesses);
	KUNIT_EXPECT_EQ(test, before.submits, after.submits);
	KUNIT_EXPECT_EQ(test, before.controls, after.controls);
	KUNIT_EXPECT_EQ(test, before.word, after.word);
	KUNIT_EXPECT_TRUE(test, before.vram && after.vram);
	KUNIT_EXPECT_TRUE(test, work_busy(&call.work));
	pagoda_leave(rig->vidmm);
	work_end(&call);
	KUNIT_EXPECT_EQ(test, 0, call.ret);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(other));
	submit_store(other, SUBMIT_CODE + SZ_64K, 5);
	KUNIT_ASSERT_EQ(test, 0, submit_job(other, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(other));
	KUNIT_EXPECT_EQ(test, 5, submit_word(rig, other->code, SZ_64K));
	pagoda_rig_close(counted);
	pagoda_rig_close(out);
	pagoda_rig_close(in);
	submit_client_end(busy);
	submit_client_end(other);
}

/*
 * Paging that is requested while the device isn't rebuilt is given up, and its content is lost. A
 * job that was created between the reset and that loss would end with -ECANCELED, as a job that is
 * lost to the reset.
 */
static void work_loses_to_the_reset(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *in = work_bo(rig, 2, false);
	u64 losses;

	pagoda_rig_settle(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_enter(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	losses = pagoda_lost_mark(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_since(rig->vidmm, losses));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(in));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, -ECANCELED, pagoda_lost_since(rig->vidmm, losses));
	pagoda_leave(rig->vidmm);
	pagoda_reset_wait(rig->vidmm);
	pagoda_rig_close(in);
}

/* Emits a notice about the allocation: a paging operation that writes no content. */
static void work_notify(struct pagoda_rig *rig, const struct pagoda_bo *bo)
{
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_NOTIFY_ALLOC,
		.allocation = bo->id,
		.notify_alloc = {
			.size = bo->ttm.base.size,
			.flags = VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP,
		},
	};
	struct pagoda_stream *stream = rig->vidmm->stream;
	struct pagoda_paging_cost cost = pagoda_paging_cost(&stream->limits, &op, stream->room);
	struct pagoda_stream_txn txn;

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_stream_begin(&txn, rig->vidmm, NULL,
							  PAGODA_STREAM_WAITS_NOT, NULL,
							  DMA_RESV_USAGE_KERNEL, &cost));
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_stream_emit(&txn, &op));
	dma_fence_put(pagoda_stream_end(&txn));
}

/* A context is marked as reset only if content was lost, not if a notice was given up. */
static void work_is_missed(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(client, 1, SUBMIT_VRAM, HERE);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	work_notify(rig, bo);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 0, submit_state(client).state);

	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	KUNIT_EXPECT_EQ(test, (u32)DRM_PAGODA_CONTEXT_RESET, submit_state(client).state);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	pagoda_rig_settle(rig);
	pagoda_rig_close(bo);
	submit_client_end(client);
}

static void work_open(struct work_struct *work)
{
	struct work_call *call = container_of(work, struct work_call, work);

	call->context = pagoda_context_create(call->client->vm, 1, DRM_PAGODA_PRIORITY_NORMAL);
}

/* A reset while a context's save area is initialised leaves the context working and unmarked. */
static void work_opens(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct work_call call = {};

	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	work_begin(&call, client, work_open);
	while (!READ_ONCE(rig->fake->nr_ring))
		fsleep(100);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	work_end(&call);
	KUNIT_ASSERT_FALSE(test, IS_ERR(call.context));
	swap(client->context, call.context);
	KUNIT_EXPECT_EQ(test, 0, submit_state(client).state);
	KUNIT_EXPECT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	pagoda_context_destroy(call.context);
	submit_client_end(client);
}

/* ---- Coredumps ------------------------------------------------------------------- */

/* Waits for the pending coredump and returns its text. */
static const char *work_text(struct pagoda_rig *rig)
{
	flush_work(&rig->vidmm->coredump->work);
	KUNIT_EXPECT_EQ(rig->test, PAGODA_COREDUMP_IDLE,
			atomic_read(&rig->vidmm->coredump->state));
	return rig->vidmm->coredump->text.data;
}

__printf(3, 4)
static void work_expect_line(struct kunit *test, const char *text, const char *format, ...)
{
	char line[160];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, line), "%s", line);
}

/*
 * Has a job of the client fault at @address. The engine is held until SUBMIT, which takes the VM's
 * lock, has returned: otherwise chance decides whether the coredump finds that lock free. If
 * @locked, this function holds the VM's lock during the fault.
 */
static void work_fault_with(struct submit_client *client, u64 address, bool locked)
{
	struct pagoda_rig *rig = client->rig;

	submit_store(client, address, 1);
	pagoda_rig_hold(rig, client->context->engine, true);
	KUNIT_ASSERT_EQ(rig->test, 0, submit_job(client, NULL));
	if (locked)
		mutex_lock(&client->vm->lock);
	pagoda_rig_hold(rig, client->context->engine, false);
	KUNIT_EXPECT_EQ(rig->test, -EFAULT, submit_wait(client));
	if (locked)
		mutex_unlock(&client->vm->lock);
}

static void work_fault(struct submit_client *client, u64 address)
{
	work_fault_with(client, address, false);
}

/*
 * The coredump of a fault names the job, the command, the address and mappings around it, the
 * engine's requests and the last paging operations.
 */
static void work_writes_faults_down(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *bad = submit_client(rig, 1), *worse = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(bad, 2, SUBMIT_VRAM, HERE);
	const char *text;

	work_fault(bad, HERE + 2 * PAGE_SIZE);
	text = work_text(rig);
	work_expect_line(test, text, "cause: context %llu job 1 faulted on exec1\n",
			 bad->context->id);
	work_expect_line(test, text, "space: %u\n", bad->vm->id);
	work_expect_line(test, text, "reason: %u, ", submit_state(bad).reason);
	work_expect_line(test, text, "command: opcode %u at 0x%llx\n",
			 VIRTIO_PAGODA_COMMAND_STORE, (u64)SUBMIT_CODE);
	work_expect_line(test, text, "address: 0x%llx, access write, level %u\n",
			 (u64)HERE + 2 * PAGE_SIZE, submit_state(bad).level);
	work_expect_line(test, text, "map of space %u:\n\t0x%llx-0x%llx alloc %llu+0x0\n",
			 bad->vm->id, (u64)HERE, (u64)HERE + 2 * PAGE_SIZE, bo->id);
	work_expect_line(test, text, "\t0x%llx-0x%llx alloc %llu+0x0\n", (u64)SUBMIT_CODE,
			 (u64)SUBMIT_CODE + SUBMIT_PAGES * PAGE_SIZE, bad->code->id);
	/* The engine's and the job's states are those at the failure, not those of now. */
	work_expect_line(test, text, "exec1: paused\n\trequests: sent 1, executed 1;");
	work_expect_line(test, text, "\tcontext %llu job 1: waiting, request 0, space %u",
			 bad->context->id, bad->vm->id);
	work_expect_line(test, text, "paging queue:\nexecutes: device\nseqno: armed ");
	work_expect_line(test, text, " UPDATE_PAGE_TABLE alloc=");
	work_expect_line(test, text, "resets: 0\n");
	/* A failure before the time coredump->after, which is set far away here, isn't dumped. */
	rig->vidmm->coredump->after = jiffies + MAX_JIFFY_OFFSET;
	work_fault(worse, HERE);
	KUNIT_EXPECT_NULL(test, strstr(work_text(rig), "on exec0"));
	pagoda_rig_close(bo);
	submit_client_end(bad);
	submit_client_end(worse);
}

/*
 * A coredump in the dma_fence signalling path doesn't wait for the VM's lock: the map is added a
 * moment later.
 */
static void work_writes_maps_later(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *bad = submit_client(rig, 0);

	work_fault_with(bad, HERE, true);
	work_expect_line(test, work_text(rig), "map of space %u, a moment later:\n\t0x%llx-",
			 bad->vm->id, (u64)SUBMIT_CODE);
	submit_client_end(bad);
}

/* However many mappings there are, the text is limited, and all parts are in it. */
static void work_writes_not_too_much(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *bad = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(bad, 1, SUBMIT_VRAM, HERE);
	const char *text;
	u32 i;

	for (i = 1; i < MAPPINGS; i++)
		KUNIT_ASSERT_EQ(test, 0, submit_map(bad, bo, HERE + 2 * i * PAGE_SIZE));
	work_fault(bad, HERE + PAGE_SIZE);
	text = work_text(rig);
	KUNIT_EXPECT_LT(test, strlen(text), 256u << 10);
	KUNIT_EXPECT_EQ(test, strlen(text), rig->vidmm->coredump->text.len);
	work_expect_line(test, text, "...\nexec0:");
	work_expect_line(test, text, "paging queue:\n");
	work_expect_line(test, text, "resets: 0\n");
	pagoda_rig_close(bo);
	submit_client_end(bad);
}

/* The coredump of a reset of the device shows the paging queue before work is given up. */
static void work_writes_losses_down(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = work_bo(rig, 1, true);
	const char *text;

	pagoda_rig_settle(rig);
	rig->fake->reset_error = -EIO;
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = pagoda_rig_copy_op(rig),
		.allocation = bo->id,
		.times = 1,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	pagoda_reset_wait(rig->vidmm);
	text = work_text(rig);
	work_expect_line(test, text, "cause: reset of the device (paging)\n");
	/* The text is from before anything was given up. */
	work_expect_line(test, text, "executes: device, held, closed\n");
	work_expect_line(test, text, "lost: 0");
	work_expect_line(test, text, "resets: 1");
	pagoda_rig_close(bo);
}

/* ---- Simultaneous requests; submissions not sent, jobs not begun ------------------ */

#define LIMIT		(300 * HZ)

/* A work item that requests a reset of the device for @reason; @ret is the result. */
struct work_asker {
	struct pagoda_rig *rig;
	enum pagoda_reset_reason reason;
	int ret;
	struct work_struct work;
};

static void work_asker_run(struct work_struct *work)
{
	struct work_asker *asker = container_of(work, struct work_asker, work);

	asker->ret = pagoda_reset_request(asker->rig->vidmm, asker->reason);
}

/* Keeps the recovery's workqueue busy until both reasons have been requested. */
static void work_wait_for_askers(struct work_struct *work)
{
	struct work_asker *all = container_of(work, struct work_asker, work);
	struct pagoda_queue *queue = all->rig->vidmm->queue;
	u32 want = BIT(PAGODA_RESET_ENGINE) | BIT(PAGODA_RESET_ASKED);
	unsigned long end = jiffies + LIMIT;

	while (READ_ONCE(queue->adapter_wanted) != want && time_before(jiffies, end))
		fsleep(100);
	all->ret = queue->adapter_wanted == want ? 0 : -ETIME;
}

/* Two requests at a time lead to one reset, which is counted and reported with both reasons. */
static void work_keeps_reasons(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_reset *reset = rig->vidmm->reset;
	struct work_asker askers[] = {
		{ .rig = rig, .reason = PAGODA_RESET_ENGINE, .ret = 1 },
		{ .rig = rig, .reason = PAGODA_RESET_ASKED, .ret = 1 },
	};
	struct work_asker all = { .rig = rig };
	u32 i;

	INIT_WORK_ONSTACK(&all.work, work_wait_for_askers);
	queue_work(rig->vidmm->queue->recover_wq, &all.work);
	for (i = 0; i < ARRAY_SIZE(askers); i++) {
		INIT_WORK_ONSTACK(&askers[i].work, work_asker_run);
		queue_work(system_dfl_wq, &askers[i].work);
	}
	for (i = 0; i < ARRAY_SIZE(askers); i++) {
		flush_work(&askers[i].work);
		destroy_work_on_stack(&askers[i].work);
		KUNIT_EXPECT_EQ(test, 0, askers[i].ret);
	}
	flush_work(&all.work);
	destroy_work_on_stack(&all.work);
	KUNIT_EXPECT_EQ(test, 0, all.ret);
	pagoda_reset_wait(rig->vidmm);
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_reset_epoch(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 1u, reset->nr_times);
	work_expect_line(test, work_text(rig), "cause: reset of the device (engine+asked for)\n");
}

/*
 * Creates MANY allocations in @bos, evicts them from VRAM, and resets the device while it has as
 * many submissions as its ring has room for: the device never got the submissions behind them.
 */
static void work_give_up_unsent(struct pagoda_rig *rig, struct pagoda_bo **bos)
{
	u32 i;

	for (i = 0; i < MANY; i++)
		bos[i] = work_bo(rig, i, true);
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	for (i = 0; i < MANY; i++) {
		KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_system(bos[i]));
		pagoda_stream_flush(rig->vidmm);
	}
	while (READ_ONCE(rig->fake->nr_ring) < PAGODA_FAKE_DEPTH)
		fsleep(100);
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_vidmm_reset(rig->vidmm));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	pagoda_reset_wait(rig->vidmm);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_NE(rig->test, 0ull, rig->vidmm->queue->skipped);
}

/*
 * After submissions were given up that the device never got, a copy fails once: the queue goes on
 * where the device says, and no reset of the whole device is needed.
 */
static void work_counts_what_wasnt_sent(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bos[MANY], *bo = work_bo(rig, 77, false);
	u32 i, resets;

	work_give_up_unsent(rig, bos);
	resets = rig->fake->resets;
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = pagoda_rig_copy_op(rig), .allocation = bo->id, .times = 1,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 0u, rig->fail.times);
	KUNIT_EXPECT_EQ(test, resets + 1, rig->fake->resets);
	KUNIT_EXPECT_EQ(test, 1ull, pagoda_reset_epoch(rig->vidmm));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(bo->content.lost));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 77));
	for (i = 0; i < MANY; i++)
		pagoda_rig_close(bos[i]);
	pagoda_rig_close(bo);
}

#define TRACED		4096

/*
 * What tracepoints said of each submission, by its id: whether it has operations, and the number
 * that it was sent with last, and that it completed with.
 */
struct work_trace {
	bool built[TRACED];
	u64 sent[TRACED];
	u64 completed[TRACED];
};

static void work_trace_op(void *data, const char *dev, u64 bo, u32 op, u64 bytes, u32 src, u32 dst,
			  u64 id, u32 encoded, int pass)
{
	struct work_trace *trace = data;

	if (id < TRACED)
		WRITE_ONCE(trace->built[id], true);
}

static void work_trace_submit(void *data, const char *dev, u64 id, u64 seqno, u32 size, u32 start,
			      u32 operations)
{
	struct work_trace *trace = data;

	if (id < TRACED)
		WRITE_ONCE(trace->sent[id], seqno);
}

static void work_trace_complete(void *data, const char *dev, u64 id, u64 seqno, u64 skipped,
				int error)
{
	struct work_trace *trace = data;

	if (id < TRACED)
		WRITE_ONCE(trace->completed[id], seqno);
}

static void work_trace_end(void *trace)
{
	unregister_trace_pagoda_complete(work_trace_complete, trace);
	unregister_trace_pagoda_submit(work_trace_submit, trace);
	unregister_trace_pagoda_op(work_trace_op, trace);
	tracepoint_synchronize_unregister();
}

/*
 * Tracepoints tell the id of an operation's submission, and the same number of a submission when it
 * is sent and when it completes, also after submissions were given up that the device never got.
 */
static void work_traces_one_number(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct work_trace *trace = test_vzalloc(test, sizeof(*trace));
	struct pagoda_bo *bos[MANY], *bo = work_bo(rig, 77, false);
	u32 i, id, last;

	pagoda_rig_settle(rig);
	KUNIT_ASSERT_EQ(test, 0, register_trace_pagoda_op(work_trace_op, trace));
	KUNIT_EXPECT_EQ(test, 0, register_trace_pagoda_submit(work_trace_submit, trace));
	KUNIT_EXPECT_EQ(test, 0, register_trace_pagoda_complete(work_trace_complete, trace));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, work_trace_end, trace));
	work_give_up_unsent(rig, bos);
	last = rig->vidmm->queue->last_id + 1;
	KUNIT_ASSERT_LT(test, last, TRACED);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	kunit_release_action(test, work_trace_end, trace);
	KUNIT_EXPECT_NE(test, 0ull, trace->completed[last]);
	for (id = 0; id <= last; id++) {
		if (!trace->completed[id])
			continue;
		KUNIT_EXPECT_TRUE_MSG(test, trace->built[id], "id %u", id);
		if (trace->sent[id])
			KUNIT_EXPECT_EQ_MSG(test, trace->sent[id], trace->completed[id], "id %u",
					    id);
	}
	for (i = 0; i < MANY; i++)
		pagoda_rig_close(bos[i]);
	pagoda_rig_close(bo);
}

/*
 * The rebuild doesn't wait for a job that has memory but hasn't begun, because the job waits for a
 * fence of another device; not even to have an offered allocation, which the job may use, leave
 * VRAM.
 */
static void work_has_not_begun(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *listed = pagoda_rig_bo(rig, 4, 0, SUBMIT_VRAM, 0);
	struct pagoda_bo *own = submit_private(client, 4, SUBMIT_VRAM, SZ_64M);
	struct pagoda_bo *offered = submit_private(client, 4, SUBMIT_VRAM, SZ_128M);
	struct submit_args args = {
		.bos[0] = listed, .nr_bos = 1, .in = submit_syncobj(test), .fenced = true,
	};
	struct dma_fence *fence = pagoda_test_fence(test);

	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	drm_syncobj_replace_fence(args.in, fence);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, &args));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, offered, DRM_PAGODA_OFFER_LOW));
	KUNIT_ASSERT_TRUE(test, pagoda_bo_is_in_vram(listed));
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	KUNIT_EXPECT_TRUE(test, reset_is_rebuilt(rig));
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fence));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	pagoda_reset_wait(rig->vidmm);
	submit_wait(client);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(listed->content.lost));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(own->content.lost));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, listed));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, own));
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_DISCARDED, reclaim(rig, offered));
	submit_close(client, own);
	submit_close(client, offered);
	pagoda_rig_close(listed);
	submit_client_end(client);
}

static struct kunit_case reset_work_cases[] = {
	KUNIT_CASE_PARAM(work_evicting, pagoda_rig_modes),
	KUNIT_CASE_PARAM(work_evicting_adapter, pagoda_rig_modes),
	KUNIT_CASE_PARAM(work_stands_still, pagoda_rig_modes),
	KUNIT_CASE_PARAM(work_loses_to_the_reset, pagoda_rig_modes),
	KUNIT_CASE_PARAM(work_is_missed, pagoda_rig_modes),
	KUNIT_CASE_PARAM(work_opens, pagoda_rig_mmu_modes),
	KUNIT_CASE(work_counts_what_wasnt_sent),
	KUNIT_CASE(work_traces_one_number),
	KUNIT_CASE_PARAM(work_writes_faults_down, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(work_writes_maps_later, pagoda_rig_mmu_modes),
	PAGODA_CASE_PARAM_SLOW(work_writes_not_too_much, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(work_writes_losses_down, pagoda_rig_modes),
	KUNIT_CASE_PARAM(work_keeps_reasons, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(work_has_not_begun, pagoda_rig_modes),
	{}
};

static struct kunit_suite reset_work_suite = {
	.name = "pagoda_reset_work",
	.test_cases = reset_work_cases,
};

kunit_test_suite(reset_work_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit suite of resets with work under way");
