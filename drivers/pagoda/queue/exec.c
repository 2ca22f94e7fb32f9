// SPDX-License-Identifier: GPL-2.0
/*
 * Engines: one scheduler per engine, with one run queue per priority. vidmm creates and destroys
 * the engines.
 */
#include <linux/dma-fence.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "core/compat.h"
#include "exec_internal.h"
#include "fence.h"

static const struct drm_sched_backend_ops exec_sched_ops = {
	.run_job = pagoda_flight_run_job,
	.free_job = pagoda_flight_free_job,
};

static int exec_engine_init(struct pagoda_engines *engines, u32 index, const char *name)
{
	struct pagoda_transport *transport = engines->args.transports[index];
	struct pagoda_exec_engine *engine = &engines->engine[index];
	const struct pagoda_sched_args args = {
		.ops = &exec_sched_ops,
		.submit_wq = engines->submit_wq,
		.priorities = DRM_SCHED_PRIORITY_COUNT,
		.credit_limit = min_t(u32, transport->ops->depth(transport), PAGODA_EXEC_DEPTH),
		.name = name,
		.dev = engines->args.dev,
	};

	engine->engines = engines;
	engine->index = index;
	engine->transport = transport;
	INIT_WORK(&engine->work, pagoda_exec_work);
	INIT_DELAYED_WORK(&engine->watchdog, pagoda_exec_watchdog);
	engine->hw_context = dma_fence_context_alloc(1);
	mutex_init(&engine->kill_lock);
	mutex_init(&engine->reset_lock);
	spin_lock_init(&engine->signal_lock);
	spin_lock_init(&engine->lock);
	INIT_LIST_HEAD(&engine->inflight);
	return pagoda_sched_init(&engine->sched, &args);
}

static void engines_end(struct pagoda_engines *engines, u32 count)
{
	while (count--) {
		cancel_delayed_work_sync(&engines->engine[count].watchdog);
		cancel_work_sync(&engines->engine[count].work);
		drm_sched_fini(&engines->engine[count].sched);
	}
	if (engines->recover_wq)
		destroy_workqueue(engines->recover_wq);
	if (engines->submit_wq)
		destroy_workqueue(engines->submit_wq);
	kref_put(&engines->kref, pagoda_engines_release);
}

static struct pagoda_engines *engines_alloc(const struct pagoda_engines_args *args)
{
	struct pagoda_engines *engines;

	engines = kzalloc(struct_size(engines, engine, args->count), GFP_KERNEL);
	if (!engines)
		return NULL;
	engines->count = args->count;
	kref_init(&engines->kref);
	engines->args = *args;
	spin_lock_init(&engines->lock);
	init_waitqueue_head(&engines->drained);
	return engines;
}

static int engines_begin(struct pagoda_engines *engines, u32 *done)
{
	const char *name = pagoda_timeline_prepare(PAGODA_TIMELINE_EXEC);
	int ret;

	engines->submit_wq = alloc_ordered_workqueue("pagoda-exec", WQ_MEM_RECLAIM | WQ_HIGHPRI);
	engines->recover_wq = alloc_ordered_workqueue("pagoda-reset",
						      WQ_MEM_RECLAIM | WQ_HIGHPRI);
	if (!name || !engines->submit_wq || !engines->recover_wq)
		return -ENOMEM;
	for (; *done < engines->count; ++*done) {
		ret = exec_engine_init(engines, *done, name);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * pagoda_engines_create() - Create the engines of a device
 * @args: Description of the engines; copied, as well as the list of transports
 *
 * Context: may sleep and allocate.
 * Return: The engines, ERR_PTR(-EINVAL) for invalid arguments or ERR_PTR(-ENOMEM).
 */
struct pagoda_engines *pagoda_engines_create(const struct pagoda_engines_args *args)
{
	struct pagoda_engines *engines;
	u32 done = 0;
	int ret;

	if (!args->count || args->count > VIRTIO_PAGODA_MAX_ENGINES || !args->timeout_ms ||
	    !args->ops->image || !args->ops->reset_adapter)
		return ERR_PTR(-EINVAL);
	engines = engines_alloc(args);
	if (!engines)
		return ERR_PTR(-ENOMEM);
	ret = engines_begin(engines, &done);
	engines->args.transports = NULL;
	if (!ret)
		return engines;
	engines_end(engines, done);
	return ERR_PTR(ret);
}

static bool engines_are_drained(struct pagoda_engines *engines)
{
	bool drained;

	spin_lock_irq(&engines->lock);
	drained = !engines->jobs;
	spin_unlock_irq(&engines->lock);
	return drained;
}

/**
 * pagoda_engines_stop() - Accept no more jobs and end those in flight
 * @engines: The engines
 *
 * Engines are reset even in the middle of a job. Returns when the fences of all jobs armed so far
 * are signalled: with -ENODEV, except for jobs that were executed completely before. Jobs armed
 * later fail with -ENODEV too. A job with dependencies ends when they are signalled. The transports
 * aren't used any more afterwards.
 *
 * Context: may sleep; the caller holds no lock that is needed to signal a fence or that the owner's
 * operations take.
 */
void pagoda_engines_stop(struct pagoda_engines *engines)
{
	struct pagoda_exec_engine *engine;
	u32 i;

	for (i = 0; i < engines->count; i++) {
		engine = &engines->engine[i];
		spin_lock_irq(&engine->lock);
		engine->stopped = true;
		spin_unlock_irq(&engine->lock);
		queue_work(engines->recover_wq, &engine->work);
	}
	wait_event(engines->drained, engines_are_drained(engines));
	/* The last jobs may have ended while the work or the watchdog was still running. */
	for (i = 0; i < engines->count; i++) {
		cancel_delayed_work_sync(&engines->engine[i].watchdog);
		flush_work(&engines->engine[i].work);
	}
}

/**
 * pagoda_engines_destroy() - Destroy engines
 * @engines: The engines, or NULL; all contexts are destroyed
 *
 * Requests that the transports could not get back stay with the transports.
 *
 * Context: may sleep; the caller holds no lock that is needed to signal a fence.
 */
void pagoda_engines_destroy(struct pagoda_engines *engines)
{
	if (!engines)
		return;
	pagoda_engines_stop(engines);
	/* Callbacks of dependencies may still wake the schedulers. */
	synchronize_rcu();
	engines_end(engines, engines->count);
}
