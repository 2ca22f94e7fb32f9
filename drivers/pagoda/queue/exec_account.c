// SPDX-License-Identifier: GPL-2.0
/*
 * Whose time it is that engines spend.
 *
 * An engine executes in order: whatever time passes while it has something to do is of the
 * first job it isn't through with, whichever answer comes next. That job is another one only
 * after the time was counted, so that what an account says never goes back, and what all say
 * together is what the engine says.
 *
 * Called by vidmm, but for pagoda_engine_charge().
 */
#include <linux/slab.h>

#include "exec_internal.h"

/**
 * pagoda_exec_account_create() - No time is spent yet
 *
 * Context: may sleep and allocate.
 * Return: The account, pagoda_exec_account_put() it; NULL without memory.
 */
struct pagoda_exec_account *pagoda_exec_account_create(void)
{
	struct pagoda_exec_account *account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);

	if (account)
		kref_init(&account->kref);
	return account;
}

static void pagoda_exec_account_release(struct kref *kref)
{
	kfree(container_of(kref, struct pagoda_exec_account, kref));
}

/**
 * pagoda_exec_account_put() - Drop the owner's reference or a context's
 * @account: Account, or NULL
 *
 * Context: any.
 */
void pagoda_exec_account_put(struct pagoda_exec_account *account)
{
	if (account)
		kref_put(&account->kref, pagoda_exec_account_release);
}

/**
 * pagoda_exec_context_set_account() - Say who pays for the jobs of a context
 * @context: Context; no job of it was pushed, and it has no account
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

/**
 * pagoda_engine_uncounted() - Time that pagoda_engine_charge() would count
 * @engine: Engine that has something to do
 *
 * Context: engine->lock held.
 * Return: Nanoseconds.
 */
u64 pagoda_engine_uncounted(struct pagoda_exec_engine *engine)
{
	lockdep_assert_held(&engine->lock);
	return ktime_to_ns(ktime_sub(ktime_get(), engine->busy_since));
}

/**
 * pagoda_engine_charge() - Count the time that passed for the job the engine is at
 * @engine: Engine that has something to do
 *
 * Context: engine->lock held; before the next job is the first.
 */
void pagoda_engine_charge(struct pagoda_exec_engine *engine)
{
	struct pagoda_exec_account *account = pagoda_exec_stuck(engine, 0)->context->account;
	u64 ns = pagoda_engine_uncounted(engine);

	engine->busy_since = ktime_add_ns(engine->busy_since, ns);
	engine->stats.busy_ns += ns;
	if (account)
		account->busy_ns[engine->index] += ns;
}

/**
 * pagoda_exec_account_busy_ns() - Time that an engine spent on jobs of an account
 * @account: Account
 * @engines: The engines
 * @engine: Which, below their number
 *
 * With what the job has had so far that it is at.
 *
 * Context: any process context.
 * Return: Nanoseconds; never less than before.
 */
u64 pagoda_exec_account_busy_ns(struct pagoda_exec_account *account,
				struct pagoda_engines *engines, u32 engine)
{
	struct pagoda_exec_engine *from = &engines->engine[engine];
	u64 ns;

	spin_lock_irq(&from->lock);
	ns = account->busy_ns[engine];
	if (from->nr_sent && pagoda_exec_stuck(from, 0)->context->account == account)
		ns += pagoda_engine_uncounted(from);
	spin_unlock_irq(&from->lock);
	return ns;
}

/**
 * pagoda_engines_busy_ns() - Time that all engines together had something to do
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
