// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that two kernel threads run at the same time, if the machine of the suites has two
 * processors: suites that race two threads prove something only then.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/preempt.h>

#define ROUNDS		64
#define PATIENCE_NS	(10 * NSEC_PER_SEC)

/* Shared by two threads, which pass @next back and forth; @parted: the exchange has failed. */
struct meeting {
	atomic_t next;
	bool parted;
};

struct guest {
	struct meeting *meeting;
	u32 first;
	struct completion done;
};

/*
 * Waits for the thread's turns and passes the number on, without preemption: if both threads shared
 * a processor, the other thread could never answer.
 */
static int guest_run(void *data)
{
	struct guest *guest = data;
	struct meeting *meeting = guest->meeting;
	u64 end = ktime_get_ns() + PATIENCE_NS;
	u32 round;

	preempt_disable();
	for (round = guest->first; round < ROUNDS && !READ_ONCE(meeting->parted); round += 2) {
		while (atomic_read(&meeting->next) != round && !READ_ONCE(meeting->parted)) {
			if (ktime_get_ns() > end)
				WRITE_ONCE(meeting->parted, true);
			cpu_relax();
		}
		atomic_inc(&meeting->next);
	}
	preempt_enable();
	complete(&guest->done);
	return 0;
}

static void processors_meet(struct kunit *test)
{
	struct meeting meeting = { };
	struct guest guests[2];
	u32 n;

	if (num_online_cpus() < 2)
		kunit_skip(test, "this machine has one processor");
	for (n = 0; n < 2; n++) {
		guests[n] = (struct guest) { .meeting = &meeting, .first = n };
		init_completion(&guests[n].done);
		if (IS_ERR(kthread_run(guest_run, &guests[n], "pagoda-guest%u", n))) {
			WRITE_ONCE(meeting.parted, true);
			complete(&guests[n].done);
		}
	}
	for (n = 0; n < 2; n++)
		wait_for_completion(&guests[n].done);
	KUNIT_EXPECT_FALSE(test, meeting.parted);
	KUNIT_EXPECT_EQ(test, atomic_read(&meeting.next), ROUNDS);
}

static struct kunit_case processors_cases[] = {
	KUNIT_CASE(processors_meet),
	{ }
};

static struct kunit_suite processors_suite = {
	.name = "pagoda_processors",
	.test_cases = processors_cases,
};

kunit_test_suite(processors_suite);
