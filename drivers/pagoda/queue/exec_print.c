// SPDX-License-Identifier: GPL-2.0
/*
 * Gets the counters and busy times of engines; prints counters, state and jobs in flight, for
 * debugfs and coredumps.
 */
#include <drm/drm_print.h>

#include "core/info.h"
#include "exec_internal.h"

static void exec_stats(struct pagoda_exec_engine *engine, struct pagoda_engine_stats *stats)
{
	lockdep_assert_held(&engine->flight.lock);
	*stats = engine->stats;
	stats->polled = engine->flight.polled;
	if (engine->flight.nr_sent)
		stats->busy_ns += pagoda_engine_uncounted(engine);
}

/* Copies the counters of an engine; the busy time includes the job that executes now. */
void pagoda_engines_stats(struct pagoda_engines *engines, u32 engine,
			  struct pagoda_engine_stats *stats)
{
	spin_lock_irq(&engines->engine[engine].flight.lock);
	exec_stats(&engines->engine[engine], stats);
	spin_unlock_irq(&engines->engine[engine].flight.lock);
}

static void exec_print_job(struct pagoda_engine_job *job, struct drm_printer *p)
{
	u32 i;

	drm_printf(p, "\tcontext %llu job %llu: %s, request %llu, space %u, error %d%s%s\n",
		   job->context->id, job->base.number, pagoda_job_state_name(&job->core),
		   job->core.seqno, job->context->address_space, job->core.error,
		   job->faulted ? ", faulted" : "", job->context->banned ? ", banned" : "");
	if (job->faulted)
		drm_printf(p, "\t\treason %u, at 0x%llx, address 0x%llx, access %u, level %u\n",
			   job->fault.reason, job->fault.command, job->fault.address,
			   job->fault.access, job->fault.level);
	for (i = 0; i < job->base.nr_buffers; i++)
		drm_printf(p, "\t\tbuffer 0x%llx, %llu bytes\n",
			   le64_to_cpu(job->buffers[i].address),
			   le64_to_cpu(job->buffers[i].size));
}

static void exec_print(struct pagoda_exec_engine *engine, struct drm_printer *p)
{
	struct pagoda_engine_stats stats;
	struct pagoda_engine_job *job;

	lockdep_assert_held(&engine->flight.lock);
	exec_stats(engine, &stats);
	drm_printf(p, PAGODA_ENGINE_NAME ":%s%s%s%s%s%s\n", engine->index,
		   engine->held ? " held" : "", engine->refusing ? " refusing" : "",
		   engine->paused ? " paused" : "", engine->broken ? " broken" : "",
		   engine->stopped ? " stopped" : "", engine->gone ? " gone" : "");
	drm_printf(p, "\trequests: sent %llu, executed %llu; jobs taken %llu\n",
		   engine->flight.sent_seqno, engine->flight.acked_seqno, engine->flight.taken);
	drm_printf(p, "\tjobs: %llu, faults: %llu, timeouts: %llu, resets: %llu\n",
		   stats.jobs, stats.faults, stats.timeouts, stats.resets);
	drm_printf(p, "\tresubmitted: %llu, polled: %llu, busy: %llu us\n",
		   stats.resubmitted, stats.polled, div_u64(stats.busy_ns, NSEC_PER_USEC));
	drm_printf(p, "\tplaces: taken %u, granted %u%s\n", engine->placed, engine->nr_granted,
		   RB_EMPTY_ROOT(&engine->asking.rb_root) ? "" : ", contexts ask");
	list_for_each_entry(job, &engine->flight.inflight, core.node)
		exec_print_job(job, p);
}

/**
 * pagoda_engines_print() - Print state, counters and jobs in flight
 * @engines: The engines
 * @p: Printer; must not sleep
 *
 * Context: any process context; may be called in &pagoda_exec_ops.banned.
 */
void pagoda_engines_print(struct pagoda_engines *engines, struct drm_printer *p)
{
	u32 i;

	for (i = 0; i < engines->count; i++) {
		spin_lock_irq(&engines->engine[i].flight.lock);
		exec_print(&engines->engine[i], p);
		spin_unlock_irq(&engines->engine[i].flight.lock);
	}
}

/**
 * pagoda_engines_busy_ns() - Get the sum of the busy times of all engines
 * @engines: The engines, or NULL
 *
 * Context: any process context.
 * Return: Nanoseconds; never less than before.
 */
u64 pagoda_engines_busy_ns(struct pagoda_engines *engines)
{
	struct pagoda_engine_stats stats;
	u64 ns = 0;
	u32 i;

	for (i = 0; engines && i < engines->count; i++) {
		pagoda_engines_stats(engines, i, &stats);
		ns += stats.busy_ns;
	}
	return ns;
}
