// SPDX-License-Identifier: GPL-2.0
/*
 * Chooses the active mutant and the test cases of a kernel with mutants, and logs which mutants'
 * places were executed ("reached").
 *
 * Built in, the kernel's command line has pagoda_mutant=<number> and pagoda_cases=<hexadecimal
 * digits>. Bit n % 4 of digit n / 4 says that test case n is run (without pagoda_cases, all are):
 * cases of the driver's suites, from 0, in the order of kunit.action=list. The log names each case
 * when it begins ("pagoda-case: suite.case"), and without an active mutant also the mutants reached
 * in the case and in the cleanup after the case ("pagoda-reached: suite.case 3-3 5-9").
 *
 * In a module, chosen.h says which mutant is active, and there is no choice of cases.
 */
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include "mutant.h"

u8 pagoda_mutant_reached[PAGODA_MUTANTS];

#ifdef MODULE
#include "chosen.h"

unsigned int pagoda_mutant = PAGODA_MUTANT_CHOSEN;

/* Logs, once, that the active mutant was reached. Returns true. */
bool pagoda_mutant_active(void)
{
	pr_info_once("pagoda-reached: mutant %u\n", pagoda_mutant);
	return true;
}
#else
#include <kunit/test.h>
#include <linux/hex.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/notifier.h>
#include <linux/reboot.h>
#include <linux/string.h>

#define PREFIX		"pagoda"
#define LEFT_OUT	"left out"

/*
 * struct mutant_suite - a suite's own functions, which mutant_suite_init() and mutant_init() have
 * replaced and call
 */
struct mutant_suite {
	const char *name;
	int (*suite_init)(struct kunit_suite *suite);
	int (*init)(struct kunit *test);
};

unsigned int pagoda_mutant;
static char *pagoda_cases;

core_param(pagoda_mutant, pagoda_mutant, uint, 0444);
core_param(pagoda_cases, pagoda_cases, charp, 0444);

static struct mutant_suite mutant_suites[512];
static struct mutant_suite *mutant_suite;
static char mutant_case[512] = "boot";

bool pagoda_mutant_active(void)
{
	return true;
}

/*
 * Logs the numbers of the mutants that were reached since the last call, as ranges, and forgets
 * them. Does nothing with an active mutant.
 */
static void mutant_report(void)
{
	static char line[800];
	unsigned int n, first;
	int used = 0;

	if (pagoda_mutant)
		return;
	for (n = 1; n < PAGODA_MUTANTS; n++) {
		if (!READ_ONCE(pagoda_mutant_reached[n]))
			continue;
		for (first = n; n < PAGODA_MUTANTS && pagoda_mutant_reached[n]; n++)
			WRITE_ONCE(pagoda_mutant_reached[n], 0);
		used += scnprintf(line + used, sizeof(line) - used, " %u-%u", first, n - 1);
		if (used > sizeof(line) - 24) {
			pr_info("pagoda-reached: %s%s\n", mutant_case, line);
			used = 0;
		}
	}
	if (used)
		pr_info("pagoda-reached: %s%s\n", mutant_case, line);
}

static int mutant_suite_init(struct kunit_suite *suite)
{
	for (mutant_suite = mutant_suites; strcmp(mutant_suite->name, suite->name); mutant_suite++)
		;
	return mutant_suite->suite_init ? mutant_suite->suite_init(suite) : 0;
}

/* KUnit calls this before each case; if the case has parameters, before each parameter. */
static int mutant_init(struct kunit *test)
{
	char name[sizeof(mutant_case)];

	snprintf(name, sizeof(name), "%s.%s", mutant_suite->name, test->name);
	mutant_report();
	if (strcmp(name, mutant_case))
		pr_info("pagoda-case: %s\n", name);
	strscpy(mutant_case, name, sizeof(mutant_case));
	return mutant_suite->init ? mutant_suite->init(test) : 0;
}

static bool mutant_is_chosen(unsigned int number)
{
	unsigned int digit = number / 4;

	if (!pagoda_cases)
		return true;
	return digit < strlen(pagoda_cases) && hex_to_bin(pagoda_cases[digit]) & BIT(number % 4);
}

/*
 * Removes the cases of a suite that aren't chosen. *@number: in: number of the suite's first case;
 * out: of the next suite's first case
 */
static void mutant_choose(struct kunit_suite *suite, unsigned int *number)
{
	struct kunit_case *from, *to = suite->test_cases;

	for (from = suite->test_cases; from->run_case; from++) {
		if (mutant_is_chosen((*number)++))
			*to++ = *from;
	}
	/* A suite without cases gets a name that kunit.filter_glob doesn't match: no report. */
	if (to == suite->test_cases)
		memcpy((char *)suite->name, LEFT_OUT, sizeof(LEFT_OUT));
	memset(to, 0, sizeof(*to));
}

static int mutant_end(struct notifier_block *block, unsigned long action, void *data)
{
	mutant_report();
	return NOTIFY_DONE;
}

static struct notifier_block mutant_end_block = { .notifier_call = mutant_end };

static int __init mutant_start(void)
{
	struct kunit_suite * const *suite;
	struct mutant_suite *old = mutant_suites;
	unsigned int number = 0;

	for (suite = __kunit_suites_start; suite < __kunit_suites_end; suite++) {
		if (strncmp((*suite)->name, PREFIX, strlen(PREFIX)))
			continue;
		if (old == mutant_suites + ARRAY_SIZE(mutant_suites))
			return -ENOSPC;
		*old++ = (struct mutant_suite) {
			.name = (*suite)->name,
			.suite_init = (*suite)->suite_init,
			.init = (*suite)->init,
		};
		(*suite)->suite_init = mutant_suite_init;
		(*suite)->init = mutant_init;
		mutant_choose(*suite, &number);
	}
	return register_reboot_notifier(&mutant_end_block);
}
late_initcall(mutant_start);
#endif
