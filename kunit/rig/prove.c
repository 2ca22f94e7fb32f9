// SPDX-License-Identifier: GPL-2.0
/* Claims of conformance points, written into the results of the test that makes them. */
#include <kunit/test-bug.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include "prove.h"

/*
 * Returns the running test. In a thread or work item that the test started, finds the test by the
 * thread that runs it, because KUnit runs one test at a time.
 */
static struct kunit *claim_test(void)
{
	struct kunit *test = kunit_get_current_test();
	struct task_struct *task;

	if (test)
		return test;
	rcu_read_lock();
	for_each_process(task) {
		if (!(READ_ONCE(task->flags) & PF_EXITING))
			test = READ_ONCE(task->kunit_test);
		if (test)
			break;
	}
	rcu_read_unlock();
	return test;
}

bool pagoda_claim(struct pagoda_claim *claim)
{
	struct kunit *test = claim_test();
	unsigned int flags;

	if (WARN_ONCE(!test, "%s:%d: a claim outside of a test\n", claim->file, claim->line))
		return false;
	/* Threads of one test may race here and write the line twice, which is harmless. */
	if (READ_ONCE(claim->test) == test->name && READ_ONCE(claim->log) == test->log &&
	    READ_ONCE(claim->param) == test->param_index)
		return false;
	WRITE_ONCE(claim->test, test->name);
	WRITE_ONCE(claim->log, test->log);
	WRITE_ONCE(claim->param, test->param_index);
	/* The caller may hold the lock of a stream, under which allocations must not reclaim. */
	flags = memalloc_noreclaim_save();
	kunit_info(test, "proves %s at %s:%d", claim->points, kbasename(claim->file), claim->line);
	memalloc_noreclaim_restore(flags);
	return true;
}
