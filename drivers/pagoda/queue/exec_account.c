// SPDX-License-Identifier: GPL-2.0
/*
 * Accounts of the time that engines spend on jobs.
 *
 * An engine executes its jobs in order: the time during which the device has any job of the engine
 * is charged to the account of the first job that isn't finished, even if the next answer is for
 * another job. The time is charged before the next job becomes the first, so that the time of an
 * account never decreases, and the times of all accounts add up to the engine's if all contexts
 * have accounts.
 */
#include <linux/slab.h>

#include "exec_internal.h"

/**
 * pagoda_exec_account_create() - Create an account without any time charged
 *
 * Context: may sleep and allocate.
 * Return: The account, to be released with pagoda_exec_account_put(), or NULL without memory.
 */
struct pagoda_exec_account *pagoda_exec_account_create(void)
{
	struct pagoda_exec_account *account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);

	if (account)
		kref_init(&account->kref);
	return account;
}

static void exec_account_release(struct kref *kref)
{
	kfree(container_of(kref, struct pagoda_exec_account, kref));
}

/**
 * pagoda_exec_account_put() - Drop a reference to an account
 * @account: Account, or NULL
 *
 * Context: any.
 */
void pagoda_exec_account_put(struct pagoda_exec_account *account)
{
	if (account)
		kref_put(&account->kref, exec_account_release);
}

/**
 * pagoda_exec_context_set_account() - Set the account that a context's jobs are charged to
 * @context: Context without an account; none of its jobs was pushed yet
 * @account: Account; the context takes its own reference
 *
 * Context: any process context.
 */
void pagoda_exec_context_set_account(struct pagoda_exec_context *context,
				     struct pagoda_exec_account *account)
{
	kref_get(&account->kref);
	context->account = account;
}

/*
 * Returns the first job in flight that isn't PAGODA_JOB_DONE and has a request number above @seqno,
 * or NULL. With @seqno 0 that is the first unfinished job that the device was given. Caller holds
 * flight.lock.
 */
struct pagoda_engine_job *pagoda_engine_stuck(struct pagoda_exec_engine *engine, u64 seqno)
{
	struct pagoda_engine_job *job;

	lockdep_assert_held(&engine->flight.lock);
	list_for_each_entry(job, &engine->flight.inflight, core.node)
		if (job->core.state != PAGODA_JOB_DONE && job->core.seqno > seqno)
			return job;
	return NULL;
}

/*
 * Returns the nanoseconds of busy time that aren't charged to an account yet: those since
 * engine->busy_since. The device has a job of the engine, and the caller holds flight.lock.
 */
u64 pagoda_engine_uncounted(struct pagoda_exec_engine *engine)
{
	lockdep_assert_held(&engine->flight.lock);
	return ktime_to_ns(ktime_sub(ktime_get(), engine->busy_since));
}

static void account_add(struct pagoda_exec_account *account, u32 engine, u64 ns)
{
	account->busy_ns[engine] += ns;
	account->turn[engine] += ns;
}

/*
 * Charges the time since engine->busy_since to the engine and to the account, if any, of the first
 * unfinished job's context. The device has a job, and the caller holds flight.lock.
 */
void pagoda_engine_charge(struct pagoda_flight *flight)
{
	struct pagoda_exec_engine *engine = pagoda_engine_of(flight);
	struct pagoda_exec_account *account = pagoda_engine_stuck(engine, 0)->context->account;
	u64 ns = pagoda_engine_uncounted(engine);

	engine->busy_since = ktime_add_ns(engine->busy_since, ns);
	engine->stats.busy_ns += ns;
	if (account)
		account_add(account, engine->index, ns);
}

/**
 * pagoda_exec_account_busy_ns() - Get the time that an engine spent on jobs of an account
 * @account: Account
 * @engines: The engines
 * @engine: Index of the engine in @engines
 *
 * Includes the time spent so far on the job that the engine executes now.
 *
 * Context: any process context.
 * Return: Nanoseconds; never less than before.
 */
u64 pagoda_exec_account_busy_ns(struct pagoda_exec_account *account,
				struct pagoda_engines *engines, u32 engine)
{
	struct pagoda_exec_engine *from = &engines->engine[engine];
	u64 ns;

	spin_lock_irq(&from->flight.lock);
	ns = account->busy_ns[engine];
	if (from->flight.nr_sent && pagoda_engine_stuck(from, 0)->context->account == account)
		ns += pagoda_engine_uncounted(from);
	spin_unlock_irq(&from->flight.lock);
	return ns;
}
