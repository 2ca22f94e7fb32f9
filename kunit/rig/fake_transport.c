// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/string.h>
#include "core/transport.h"
#include "alloc.h"
#include "fake_transport.h"

static struct pagoda_fake_transport *to_fake(struct pagoda_transport *transport)
{
	return container_of(transport, struct pagoda_fake_transport, base);
}

/*
 * Completes a request with interrupts off, as an interrupt handler does: the transport's user must
 * not sleep.
 */
static void fake_answer(struct pagoda_request *request, enum pagoda_outcome outcome,
			const struct pagoda_fault *fault)
{
	unsigned long flags;

	local_irq_save(flags);
	request->complete(request, outcome, fault);
	local_irq_restore(flags);
}

static struct pagoda_fake_order *fake_find_order(struct pagoda_fake_transport *fake, u64 seqno)
{
	u32 i;

	for (i = 0; i < fake->nr_orders; i++)
		if (fake->orders[i].seqno == seqno && fake->orders[i].times)
			return &fake->orders[i];
	return NULL;
}

/*
 * Returns the first request that isn't executed yet; NULL if there is none or if the device mustn't
 * execute requests now.
 */
static struct pagoda_fake_slot *fake_next(struct pagoda_fake_transport *fake)
{
	u32 i;

	if (fake->halted || fake->resetting ||
	    (fake->mode == PAGODA_FAKE_HELD && !fake->permits))
		return NULL;
	for (i = 0; i < fake->nr_ring; i++)
		if (!fake->ring[i].done)
			return &fake->ring[i];
	return NULL;
}

static struct pagoda_request *fake_take(struct pagoda_fake_transport *fake, u64 seqno)
{
	struct pagoda_request *request;
	u32 i;

	for (i = 0; i < fake->nr_ring; i++)
		if (fake->ring[i].seqno == seqno)
			break;
	if (i == fake->nr_ring)
		return NULL;
	request = fake->ring[i].request;
	fake->nr_ring--;
	memmove(&fake->ring[i], &fake->ring[i + 1],
		(fake->nr_ring - i) * sizeof(fake->ring[0]));
	return request;
}

struct fake_run {
	u64 seqno;
	void *data;
	u32 start;
	u32 end;
	bool trouble;
	enum pagoda_fake_trouble what;
	struct pagoda_fault fault;
	int ret;
};

/*
 * Chooses the next request to execute, and its trouble, if any; returns false if the device has no
 * request to execute, or is executing one. Caller holds the lock.
 */
static bool fake_begin(struct pagoda_fake_transport *fake, struct fake_run *run)
{
	struct pagoda_fake_slot *slot = fake_next(fake);
	struct pagoda_fake_order *order;

	if (!slot || fake->running)
		return false;
	fake->running = true;
	if (fake->mode == PAGODA_FAKE_HELD)
		fake->permits--;
	memset(run, 0, sizeof(*run));
	run->seqno = slot->seqno;
	run->data = slot->request->data;
	run->start = slot->request->start;
	run->end = slot->request->size;
	order = fake_find_order(fake, slot->seqno);
	/* Packets before run->start aren't executed again: an order for one has no effect. */
	if (!order || order->offset < run->start)
		return true;
	order->times--;
	run->trouble = true;
	run->what = order->trouble;
	if (order->trouble == PAGODA_FAKE_FAULT || order->trouble == PAGODA_FAKE_HANG) {
		run->end = max(run->start, order->offset);
		run->fault.offset = run->end;
		run->fault.reason = VIRTIO_PAGODA_FAULT_DEVICE_FAILURE;
	}
	return true;
}

/*
 * Records how a request ended, also in *@outcome. Takes the request out of the ring and returns it,
 * to be completed; or returns NULL if it isn't to be completed. Caller holds the lock.
 */
static struct pagoda_request *fake_end(struct pagoda_fake_transport *fake, struct fake_run *run,
				       enum pagoda_outcome *outcome)
{
	u32 i;

	if (run->ret || (run->trouble && (run->what == PAGODA_FAKE_FAULT ||
					  run->what == PAGODA_FAKE_HANG))) {
		fake->halted = true;
		fake->offset = run->fault.offset;
		*outcome = run->ret == PAGODA_FAKE_BABBLES ? PAGODA_OUTCOME_BAD_ANSWER :
							     PAGODA_OUTCOME_FAULT;
		fake->hangs = run->ret ? run->ret == PAGODA_FAKE_STANDS_STILL :
					 run->what == PAGODA_FAKE_HANG;
		return fake->hangs ? NULL : fake_take(fake, run->seqno);
	}
	fake->seqno = run->seqno;
	fake->offset = 0;
	*outcome = PAGODA_OUTCOME_OK;
	if (run->trouble && run->what == PAGODA_FAKE_CORRUPT)
		*outcome = PAGODA_OUTCOME_BAD_ANSWER;
	if (!run->trouble || run->what == PAGODA_FAKE_CORRUPT)
		return fake_take(fake, run->seqno);
	for (i = 0; i < fake->nr_ring; i++)
		if (fake->ring[i].seqno == run->seqno)
			fake->ring[i].done = true;
	/* Without a number poll() doesn't find the request; a reset gives the request back. */
	if (run->what == PAGODA_FAKE_DROP)
		for (i = 0; i < fake->nr_ring; i++)
			if (fake->ring[i].seqno == run->seqno)
				fake->ring[i].seqno = 0;
	return NULL;
}

static void fake_run(struct pagoda_fake_transport *fake)
{
	struct fake_run run;
	struct pagoda_request *request;
	enum pagoda_outcome outcome;
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	while (fake_begin(fake, &run)) {
		spin_unlock_irqrestore(&fake->lock, flags);
		fake->skipped = 0;
		if (fake->execute && run.start < run.end)
			run.ret = fake->execute(fake->arg, run.seqno, run.data, run.start,
						run.end, &run.fault);
		spin_lock_irqsave(&fake->lock, flags);
		request = fake_end(fake, &run, &outcome);
		spin_unlock_irqrestore(&fake->lock, flags);
		if (request)
			request->skipped = outcome == PAGODA_OUTCOME_OK ? fake->skipped : 0;
		if (request)
			fake_answer(request, outcome,
				    outcome == PAGODA_OUTCOME_FAULT ? &run.fault : NULL);
		spin_lock_irqsave(&fake->lock, flags);
		/*
		 * Cleared only after the completion, because a reset waits until no request runs.
		 */
		fake->running = false;
	}
	spin_unlock_irqrestore(&fake->lock, flags);
}

static void fake_work(struct work_struct *work)
{
	fake_run(container_of(work, struct pagoda_fake_transport, work));
}

static int fake_submit(struct pagoda_transport *transport, struct pagoda_request *request)
{
	struct pagoda_fake_transport *fake = to_fake(transport);
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&fake->lock, flags);
	if (fake->submits < PAGODA_FAKE_LOG) {
		fake->log[fake->submits].seqno = request->seqno;
		fake->log[fake->submits].data = request->data;
		fake->log[fake->submits].start = request->start;
	}
	fake->submits++;
	if (fake->resetting || request->seqno != fake->last_submitted + 1 ||
	    request->start > request->size)
		fake->violations++;
	ret = fake->submit_error;
	if (!ret && fake->nr_ring == PAGODA_FAKE_DEPTH) {
		fake->violations++;
		ret = -ENOSPC;
	}
	if (!ret) {
		fake->last_submitted = request->seqno;
		fake->ring[fake->nr_ring++] = (struct pagoda_fake_slot) {
			.request = request, .seqno = request->seqno,
		};
		fake->most = max(fake->most, fake->nr_ring);
	}
	spin_unlock_irqrestore(&fake->lock, flags);
	return ret;
}

static void fake_kick(struct pagoda_transport *transport)
{
	struct pagoda_fake_transport *fake = to_fake(transport);
	unsigned long flags;
	bool immediate;

	spin_lock_irqsave(&fake->lock, flags);
	fake->doorbells++;
	immediate = fake->mode == PAGODA_FAKE_IMMEDIATE;
	spin_unlock_irqrestore(&fake->lock, flags);
	if (immediate)
		fake_run(fake);
	else
		queue_work(fake->wq, &fake->work);
}

static void fake_poll(struct pagoda_transport *transport)
{
	struct pagoda_fake_transport *fake = to_fake(transport);
	struct pagoda_request *request;
	unsigned long flags;
	u32 i;

	do {
		request = NULL;
		spin_lock_irqsave(&fake->lock, flags);
		fake->polls++;
		if (fake->resetting)
			fake->violations++;
		for (i = 0; i < fake->nr_ring && !request; i++)
			if (fake->ring[i].done && fake->ring[i].seqno)
				request = fake_take(fake, fake->ring[i].seqno);
		spin_unlock_irqrestore(&fake->lock, flags);
		if (request)
			fake_answer(request, PAGODA_OUTCOME_OK, NULL);
	} while (request);
}

static void fake_give_back(struct pagoda_fake_transport *fake)
{
	struct pagoda_request *request;
	unsigned long flags;

	do {
		request = NULL;
		spin_lock_irqsave(&fake->lock, flags);
		if (fake->nr_ring)
			request = fake_take(fake, fake->ring[0].seqno);
		spin_unlock_irqrestore(&fake->lock, flags);
		if (request)
			fake_answer(request, PAGODA_OUTCOME_ABORTED, NULL);
	} while (request);
}

static bool fake_is_running(struct pagoda_fake_transport *fake)
{
	unsigned long flags;
	bool running;

	spin_lock_irqsave(&fake->lock, flags);
	running = fake->running;
	spin_unlock_irqrestore(&fake->lock, flags);
	return running;
}

static bool fake_is_silent(struct pagoda_fake_transport *fake)
{
	unsigned long flags;
	bool silent;

	spin_lock_irqsave(&fake->lock, flags);
	silent = fake->nr_ring && !fake->running && !fake->resetting && !fake_next(fake);
	spin_unlock_irqrestore(&fake->lock, flags);
	return silent;
}

void pagoda_fake_transport_wait_silent(struct pagoda_fake_transport *fake)
{
	while (!fake_is_silent(fake))
		fsleep(100);
}

/*
 * Waits until the running request is done, as a real device does in a reset. The work item isn't
 * flushed: lockdep would take the locks of the work item for dependencies of the caller.
 */
static void fake_wait(struct pagoda_fake_transport *fake)
{
	while (fake_is_running(fake))
		fsleep(100);
}

/*
 * Ends the halt, at a reset. An engine is never given a number again that it had before, so its
 * next number follows the last one submitted; the paging queue's follows the last one executed.
 */
static void fake_restart(struct pagoda_fake_transport *fake)
{
	fake->halted = false;
	fake->hangs = false;
	if (fake->engine) {
		fake->seqno = fake->last_submitted;
		fake->offset = 0;
	} else {
		fake->last_submitted = fake->seqno;
	}
}

static int fake_reset(struct pagoda_transport *transport, struct pagoda_reset_result *result)
{
	struct pagoda_fake_transport *fake = to_fake(transport);
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&fake->lock, flags);
	fake->resets++;
	if (fake->resetting)
		fake->violations++;
	fake->resetting = true;
	ret = fake->reset_error;
	spin_unlock_irqrestore(&fake->lock, flags);

	fake_wait(fake);
	if (fake->reset_delay_ms)
		msleep(fake->reset_delay_ms);
	while (READ_ONCE(fake->reset_held))
		fsleep(100);
	if (!ret && fake->stopped)
		fake->stopped(fake->arg);
	if (!ret)
		fake_give_back(fake);

	spin_lock_irqsave(&fake->lock, flags);
	fake->resetting = false;
	if (!ret) {
		result->seqno = fake->seqno;
		result->offset = fake->offset;
		fake_restart(fake);
		if (fake->reset_lies)
			*result = fake->lie;
	}
	spin_unlock_irqrestore(&fake->lock, flags);
	return ret;
}

static int fake_command(struct pagoda_transport *transport, const struct pagoda_command *command)
{
	struct pagoda_fake_transport *fake = to_fake(transport);
	unsigned long flags;
	int ret;

	might_sleep();
	spin_lock_irqsave(&fake->lock, flags);
	fake->controls++;
	fake->command = *command;
	ret = fake->control_error;
	spin_unlock_irqrestore(&fake->lock, flags);
	if (ret)
		return ret;
	return fake->control ? fake->control(fake->arg, command) : -ENODEV;
}

static u32 fake_depth(struct pagoda_transport *transport)
{
	return PAGODA_FAKE_DEPTH;
}

static u64 fake_doorbells(struct pagoda_transport *transport)
{
	return to_fake(transport)->doorbells;
}

static const struct pagoda_transport_ops fake_ops = {
	.submit = fake_submit,
	.kick = fake_kick,
	.poll = fake_poll,
	.reset = fake_reset,
	.control = fake_command,
	.depth = fake_depth,
	.doorbells = fake_doorbells,
};

void pagoda_fake_transport_drain(struct pagoda_fake_transport *fake)
{
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	fake->halted = true;
	spin_unlock_irqrestore(&fake->lock, flags);
	flush_work(&fake->work);
	fake_give_back(fake);
}

static void fake_transport_destroy(void *data)
{
	struct pagoda_fake_transport *fake = data;

	pagoda_fake_transport_drain(fake);
	destroy_workqueue(fake->wq);
}

struct pagoda_fake_transport *pagoda_fake_transport_create(struct kunit *test,
							   pagoda_fake_execute execute,
							   void *arg)
{
	struct pagoda_fake_transport *fake;

	fake = test_zalloc(test, sizeof(*fake));
	fake->wq = alloc_ordered_workqueue("pagoda-fake", WQ_MEM_RECLAIM);
	KUNIT_ASSERT_NOT_NULL(test, fake->wq);
	fake->base.ops = &fake_ops;
	fake->execute = execute;
	fake->arg = arg;
	INIT_WORK(&fake->work, fake_work);
	spin_lock_init(&fake->lock);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, fake_transport_destroy, fake));
	return fake;
}

void pagoda_fake_transport_lose(struct pagoda_fake_transport *fake)
{
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	if (fake->resetting)
		fake->violations++;
	fake->resetting = true;
	spin_unlock_irqrestore(&fake->lock, flags);
	fake_wait(fake);
	fake_give_back(fake);
	spin_lock_irqsave(&fake->lock, flags);
	fake->resetting = false;
	fake->halted = false;
	fake->hangs = false;
	fake->seqno = fake->last_submitted;
	fake->offset = 0;
	spin_unlock_irqrestore(&fake->lock, flags);
}

void pagoda_fake_transport_go_on(struct pagoda_fake_transport *fake)
{
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	fake->halted = false;
	fake->hangs = false;
	spin_unlock_irqrestore(&fake->lock, flags);
	queue_work(fake->wq, &fake->work);
}

void pagoda_fake_transport_mode(struct pagoda_fake_transport *fake,
				enum pagoda_fake_mode mode)
{
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	fake->mode = mode;
	spin_unlock_irqrestore(&fake->lock, flags);
	fake_kick(&fake->base);
}

void pagoda_fake_transport_order(struct pagoda_fake_transport *fake, u64 seqno,
				 enum pagoda_fake_trouble trouble, u32 offset, u32 times)
{
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	if (fake->nr_orders < PAGODA_FAKE_ORDERS)
		fake->orders[fake->nr_orders++] = (struct pagoda_fake_order) {
			.trouble = trouble, .seqno = seqno, .offset = offset, .times = times,
		};
	else
		fake->violations++;
	spin_unlock_irqrestore(&fake->lock, flags);
}

void pagoda_fake_transport_let(struct pagoda_fake_transport *fake, u32 count)
{
	unsigned long flags;

	spin_lock_irqsave(&fake->lock, flags);
	fake->permits += count;
	spin_unlock_irqrestore(&fake->lock, flags);
	queue_work(fake->wq, &fake->work);
}
