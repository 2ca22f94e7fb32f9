// SPDX-License-Identifier: GPL-2.0
/*
 * Sections that are closed while a thread enters for an operation that can't fail, and sections of
 * a removed device; suspend_test.c has the other tests of the functions that enter.
 */
#include <linux/delay.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include "core/core.h"
#include "core/life.h"
#include "rig/rig.h"
#include "rig/spy.h"

/* A thread that enters and leaves a section; @task is a reference, set when the thread runs. */
struct section_caller {
	struct pagoda_worker worker;
	struct pagoda_rig *rig;
	struct task_struct *task;
};

static int section_run(void *arg)
{
	struct section_caller *caller = arg;

	/* Pairs with the acquire in section_sleeps(). */
	smp_store_release(&caller->task, get_task_struct(current));
	pagoda_enter_anyway(caller->rig->vidmm);
	pagoda_leave(caller->rig->vidmm);
	return 0;
}

static void section_start(struct section_caller *caller, struct pagoda_rig *rig)
{
	caller->rig = rig;
	caller->worker.run = section_run;
	caller->worker.arg = caller;
	pagoda_worker_start(rig->test, &caller->worker);
}

/* Opens sections, and waits until the thread has been in one. */
static void section_end(struct section_caller *caller)
{
	KUNIT_EXPECT_FALSE(caller->rig->test, completion_done(&caller->worker.done));
	pagoda_sections_open(caller->rig->vidmm);
	pagoda_worker_end(caller->rig->test, &caller->worker);
	put_task_struct(caller->task);
}

/* Waits until the thread sleeps so that no signal wakes it, but the freezer may freeze it. */
static bool section_sleeps(struct section_caller *caller)
{
	const u32 wanted = TASK_UNINTERRUPTIBLE | TASK_FREEZABLE;
	u32 tries = 10000;
	struct task_struct *task;

	while (--tries) {
		/* Pairs with the release in section_run(). */
		task = smp_load_acquire(&caller->task);
		if (task && (READ_ONCE(task->__state) & wanted) == wanted)
			return true;
		fsleep(USEC_PER_MSEC);
	}
	return false;
}

/* While sections are closed, a thread that enters for an operation that can't fail sleeps. */
static void section_waits(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct section_caller caller = {};

	pagoda_sections_close(rig->vidmm);
	section_start(&caller, rig);
	KUNIT_EXPECT_TRUE(test, section_sleeps(&caller));
	section_end(&caller);
	KUNIT_EXPECT_TRUE(test, pagoda_try_enter(rig->vidmm));
	pagoda_leave(rig->vidmm);
}

/*
 * Sections are closed after such a thread has found them open, but before the thread has locked
 * &pagoda_reset.sections: the thread unlocks the semaphore again, and sleeps until sections are
 * open.
 */
static void section_waits_again(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_reset *reset = rig->vidmm->reset;
	struct section_caller caller = {};

	down_write(&reset->sections);
	section_start(&caller, rig);
	while (!rwsem_is_contended(&reset->sections))
		fsleep(USEC_PER_MSEC);
	WRITE_ONCE(reset->shut, true);
	up_write(&reset->sections);
	KUNIT_EXPECT_TRUE(test, section_sleeps(&caller));
	section_end(&caller);
}

/*
 * No section begins any more once the device is removed, except for an operation that can't fail;
 * a thread that isn't let in leaves the semaphore unlocked.
 */
static void section_of_removed_device(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct rw_semaphore *sections = &rig->vidmm->reset->sections;

	/* As drm_dev_unplug(), for a DRM device that isn't registered. */
	WRITE_ONCE(rig->drm->unplugged, true);
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_enter(rig->vidmm));
	KUNIT_EXPECT_FALSE(test, rwsem_is_locked(sections));
	KUNIT_EXPECT_FALSE(test, pagoda_try_enter(rig->vidmm));
	KUNIT_EXPECT_FALSE(test, rwsem_is_locked(sections));
	pagoda_enter_anyway(rig->vidmm);
	KUNIT_EXPECT_TRUE(test, rwsem_is_locked(sections));
	pagoda_leave(rig->vidmm);
	WRITE_ONCE(rig->drm->unplugged, false);
	KUNIT_EXPECT_EQ(test, 0, pagoda_enter(rig->vidmm));
	pagoda_leave(rig->vidmm);
}

static struct kunit_case section_cases[] = {
	KUNIT_CASE(section_waits),
	KUNIT_CASE(section_waits_again),
	KUNIT_CASE(section_of_removed_device),
	{}
};

static struct kunit_suite section_suite = {
	.name = "pagoda_section",
	.test_cases = section_cases,
};

kunit_test_suite(section_suite);
