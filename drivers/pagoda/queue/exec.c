// SPDX-License-Identifier: GPL-2.0
/* Creates, stops and destroys engines; each engine has one DRM scheduler. */
#include <linux/dma-fence.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "exec_internal.h"

static void engines_release(struct kref *kref)
{
	kfree(container_of(kref, struct pagoda_engines, kref));
}

static const struct pagoda_flight_ops exec_flight_ops = {
	.timeline = PAGODA_TIMELINE_EXEC,
	.priorities = DRM_SCHED_PRIORITY_COUNT,
	.sched = {
		.prepare_job = pagoda_engine_prepare_job,
		.run_job = pagoda_engine_run_job,
		.free_job = pagoda_flight_free_job,
	},
	.work = pagoda_engine_work,
	.watchdog = pagoda_engine_watchdog,
	.charge = pagoda_engine_charge,
	.failed = pagoda_engine_failed,
	.retired = pagoda_engine_retired,
	.ended = pagoda_engine_ended,
	.free = pagoda_engine_free,
	.release = engines_release,
};

static int exec_engine_init(struct pagoda_engines *engines, u32 index)
{
	struct pagoda_transport *transport = engines->args.transports[index];
	struct pagoda_exec_engine *engine = &engines->engine[index];

	engine->engines = engines;
	engine->index = index;
	INIT_LIST_HEAD(&engine->places);
	INIT_LIST_HEAD(&engine->done);
	INIT_LIST_HEAD(&engine->grants);
	engine->asking = RB_ROOT_CACHED;
	INIT_DELAYED_WORK(&engine->grants_end, pagoda_places_work);
	mutex_init(&engine->kill_lock);
	mutex_init(&engine->reset_lock);
	engine->flight.ops = &exec_flight_ops;
	engine->flight.dev = engines->args.dev;
	engine->flight.transport = transport;
	engine->flight.owner = &engines->kref;
	engine->flight.recover_wq = engines->recover_wq;
	engine->flight.timeout_ms = engines->args.timeout_ms;
	engine->flight.index = index;
	return pagoda_flight_init(&engine->flight, engines->submit_wq,
				  min_t(u32, transport->ops->depth(transport), PAGODA_EXEC_DEPTH));
}

static void engines_end(struct pagoda_engines *engines, u32 count)
{
	while (count--) {
		cancel_delayed_work_sync(&engines->engine[count].flight.watchdog);
		cancel_work_sync(&engines->engine[count].flight.work);
		cancel_delayed_work_sync(&engines->engine[count].grants_end);
		pagoda_flight_fini(&engines->engine[count].flight);
	}
	if (engines->recover_wq)
		destroy_workqueue(engines->recover_wq);
	if (engines->submit_wq)
		destroy_workqueue(engines->submit_wq);
	kref_put(&engines->kref, engines_release);
}

static int engines_begin(struct pagoda_engines *engines, u32 *done)
{
	int ret;

	engines->submit_wq = alloc_ordered_workqueue("pagoda-exec", WQ_MEM_RECLAIM | WQ_HIGHPRI);
	engines->recover_wq = alloc_ordered_workqueue("pagoda-reset",
						      WQ_MEM_RECLAIM | WQ_HIGHPRI);
	if (!engines->submit_wq || !engines->recover_wq)
		return -ENOMEM;
	for (; *done < engines->count; ++*done) {
		ret = exec_engine_init(engines, *done);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * pagoda_engines_create() - Create the engines of a device
 * @args: Description of the engines; copied, with the pointers in its array of transports. The
 *	transports are used until pagoda_engines_stop() has returned
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
	engines = kzalloc(struct_size(engines, engine, args->count), GFP_KERNEL);
	if (!engines)
		return ERR_PTR(-ENOMEM);
	engines->count = args->count;
	kref_init(&engines->kref);
	engines->args = *args;
	ret = engines_begin(engines, &done);
	engines->args.transports = NULL;
	if (!ret)
		return engines;
	engines_end(engines, done);
	return ERR_PTR(ret);
}

/**
 * pagoda_engines_stop() - Accept no more jobs and end those in flight
 * @engines: The engines
 *
 * Engines are reset even in the middle of a job. Returns when the fences of all jobs armed so far
 * are signalled: with -ENODEV, except for jobs that were executed completely, or failed, before, or
 * for which &pagoda_exec_ops.image returns another error, or whose context is destroyed (-ESRCH).
 * Jobs armed later fail in the same way. A job with dependencies ends when its dependencies are
 * signalled. After the return the transports aren't used any more.
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
		spin_lock_irq(&engine->flight.lock);
		engine->stopped = true;
		spin_unlock_irq(&engine->flight.lock);
		pagoda_flight_recover(&engine->flight);
	}
	for (i = 0; i < engines->count; i++)
		pagoda_flight_drain(&engines->engine[i].flight);
	/*
	 * The work item of recovery or the watchdog may still run after the last job was freed:
	 * wait for both.
	 */
	for (i = 0; i < engines->count; i++) {
		cancel_delayed_work_sync(&engines->engine[i].flight.watchdog);
		flush_work(&engines->engine[i].flight.work);
	}
}

/**
 * pagoda_engines_destroy() - Destroy engines
 * @engines: The engines, or NULL; the caller has destroyed all contexts before
 *
 * Requests that the transports couldn't get back from the device stay allocated.
 *
 * Context: may sleep; the caller holds no lock that is needed to signal a fence.
 */
void pagoda_engines_destroy(struct pagoda_engines *engines)
{
	if (!engines)
		return;
	pagoda_engines_stop(engines);
	/* Callbacks of jobs' dependencies may still wake the schedulers: wait for the callbacks. */
	synchronize_rcu();
	engines_end(engines, engines->count);
}
