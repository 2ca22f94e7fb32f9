// SPDX-License-Identifier: GPL-2.0
/* Execution engines of the rig: transports that run commands on its software GPU; see rig.h. */
#include <linux/delay.h>
#include <linux/slab.h>
#include "rig.h"

static struct pagoda_rig_engine *rig_engine_of(struct pagoda_transport *transport)
{
	return container_of(transport, struct pagoda_rig_engine, base);
}

/* Completes the request with interrupts off, as an interrupt handler would. */
static void rig_engine_answer(struct pagoda_request *request, enum pagoda_outcome outcome,
			      const struct pagoda_fault *fault)
{
	unsigned long flags;

	local_irq_save(flags);
	request->complete(request, outcome, fault);
	local_irq_restore(flags);
}

static enum pagoda_engine_outcome rig_engine_execute(struct pagoda_rig_engine *engine,
						     struct pagoda_request *request,
						     struct pagoda_fault *fault)
{
	struct pagoda_engine_run run;
	enum pagoda_engine_outcome outcome;

	atomic_inc(&engine->rig->accesses);
	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_EXEC,
			       VIRTIO_PAGODA_QUEUE_EXEC0 + engine->index, request->seqno);
	run.tlb = engine->index + 1;
	run.context = request->context;
	run.buffer = request->data;
	run.size = request->size;
	run.stop = &engine->stop;
	outcome = pagoda_engine_execute(&engine->rig->engine, &run);
	*fault = (struct pagoda_fault) {
		.reason = run.fault.reason,
		.opcode = run.fault.opcode,
		.offset = run.fault.offset,
		.access = run.fault.access,
		.address = run.fault.address,
		.level = run.fault.level,
		.command = run.fault.command,
	};
	return outcome;
}

/*
 * Returns the next request, which stays in the ring, and notes that the engine is running; NULL if
 * there is no request or if the engine mustn't execute requests now.
 */
static struct pagoda_request *rig_engine_begin(struct pagoda_rig_engine *engine)
{
	struct pagoda_request *request = NULL;

	spin_lock_irq(&engine->lock);
	if (engine->nr_ring && !engine->halted && !engine->held && !engine->stop) {
		request = engine->ring[0];
		engine->running = true;
	}
	spin_unlock_irq(&engine->lock);
	return request;
}

static void rig_engine_take(struct pagoda_rig_engine *engine)
{
	engine->nr_ring--;
	memmove(&engine->ring[0], &engine->ring[1], engine->nr_ring * sizeof(engine->ring[0]));
}

static void rig_engine_work(struct work_struct *work)
{
	struct pagoda_rig_engine *engine = container_of(work, struct pagoda_rig_engine, work);
	enum pagoda_engine_outcome outcome;
	struct pagoda_request *request;
	struct pagoda_fault fault;

	while ((request = rig_engine_begin(engine))) {
		outcome = rig_engine_execute(engine, request, &fault);
		spin_lock_irq(&engine->lock);
		engine->executed += outcome == PAGODA_ENGINE_DONE;
		if (outcome != PAGODA_ENGINE_DONE)
			engine->halted = true;
		if (outcome == PAGODA_ENGINE_DONE)
			engine->seqno = request->seqno;
		if (outcome != PAGODA_ENGINE_STOPPED)
			rig_engine_take(engine);
		spin_unlock_irq(&engine->lock);
		if (outcome != PAGODA_ENGINE_STOPPED)
			rig_engine_answer(request, outcome == PAGODA_ENGINE_DONE ?
					  PAGODA_OUTCOME_OK : PAGODA_OUTCOME_FAULT, &fault);
		spin_lock_irq(&engine->lock);
		engine->running = false;
		spin_unlock_irq(&engine->lock);
	}
}

static int rig_engine_submit(struct pagoda_transport *transport, struct pagoda_request *request)
{
	struct pagoda_rig_engine *engine = rig_engine_of(transport);
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&engine->lock, flags);
	if (engine->nr_ring == ARRAY_SIZE(engine->ring))
		ret = -ENOSPC;
	else
		engine->ring[engine->nr_ring++] = request;
	spin_unlock_irqrestore(&engine->lock, flags);
	return ret;
}

static void rig_engine_kick(struct pagoda_transport *transport)
{
	struct pagoda_rig_engine *engine = rig_engine_of(transport);

	queue_work(engine->wq, &engine->work);
}

static void rig_engine_poll(struct pagoda_transport *transport)
{
}

static void rig_engine_give_back(struct pagoda_rig_engine *engine)
{
	struct pagoda_request *request;

	do {
		request = NULL;
		spin_lock_irq(&engine->lock);
		if (engine->nr_ring) {
			request = engine->ring[0];
			rig_engine_take(engine);
		}
		spin_unlock_irq(&engine->lock);
		if (request)
			rig_engine_answer(request, PAGODA_OUTCOME_ABORTED, NULL);
	} while (request);
}

static bool rig_engine_is_running(struct pagoda_rig_engine *engine)
{
	bool running;

	spin_lock_irq(&engine->lock);
	running = engine->running;
	spin_unlock_irq(&engine->lock);
	return running;
}

static int rig_engine_reset(struct pagoda_transport *transport,
			    struct pagoda_reset_result *result)
{
	struct pagoda_rig_engine *engine = rig_engine_of(transport);

	if (engine->reset_error)
		return engine->reset_error;
	spin_lock_irq(&engine->lock);
	WRITE_ONCE(engine->stop, true);
	spin_unlock_irq(&engine->lock);
	while (rig_engine_is_running(engine))
		fsleep(100);
	rig_engine_give_back(engine);
	spin_lock_irq(&engine->lock);
	result->seqno = engine->seqno;
	engine->resets++;
	engine->halted = false;
	WRITE_ONCE(engine->stop, false);
	spin_unlock_irq(&engine->lock);
	queue_work(engine->wq, &engine->work);
	return 0;
}

static int rig_engine_control(struct pagoda_transport *transport,
			      const struct pagoda_command *command)
{
	struct pagoda_transport *paging = &rig_engine_of(transport)->rig->fake->base;

	return paging->ops->control(paging, command);
}

static u32 rig_engine_depth(struct pagoda_transport *transport)
{
	return ARRAY_SIZE(rig_engine_of(transport)->ring);
}

static u64 rig_engine_doorbells(struct pagoda_transport *transport)
{
	return 0;
}

static const struct pagoda_transport_ops rig_engine_ops = {
	.submit = rig_engine_submit,
	.kick = rig_engine_kick,
	.poll = rig_engine_poll,
	.reset = rig_engine_reset,
	.control = rig_engine_control,
	.depth = rig_engine_depth,
	.doorbells = rig_engine_doorbells,
};

static void rig_engine_destroy(void *data)
{
	struct pagoda_rig_engine *engine = data;

	WRITE_ONCE(engine->stop, true);
	flush_work(&engine->work);
	rig_engine_give_back(engine);
	destroy_workqueue(engine->wq);
}

void pagoda_rig_engines_lose(struct pagoda_rig *rig)
{
	struct pagoda_reset_result result;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rig->engines); i++) {
		if (!rig->engines[i].wq)
			continue;
		rig->engines[i].reset_error = 0;
		rig_engine_reset(&rig->engines[i].base, &result);
	}
}

void pagoda_rig_engine_init(struct pagoda_rig *rig, u32 index)
{
	struct pagoda_rig_engine *engine = &rig->engines[index];

	engine->base.ops = &rig_engine_ops;
	engine->rig = rig;
	engine->index = index;
	spin_lock_init(&engine->lock);
	INIT_WORK(&engine->work, rig_engine_work);
	engine->wq = alloc_ordered_workqueue("pagoda-rig-engine", WQ_MEM_RECLAIM);
	KUNIT_ASSERT_NOT_NULL(rig->test, engine->wq);
	KUNIT_ASSERT_EQ(rig->test, 0, kunit_add_action_or_reset(rig->test, rig_engine_destroy,
								engine));
	rig->transports[index] = &engine->base;
}

void pagoda_rig_hold(struct pagoda_rig *rig, u32 index, bool hold)
{
	struct pagoda_rig_engine *engine = &rig->engines[index];

	spin_lock_irq(&engine->lock);
	engine->held = hold;
	spin_unlock_irq(&engine->lock);
	queue_work(engine->wq, &engine->work);
}
