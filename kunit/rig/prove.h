/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_PROVE_H
#define PAGODA_KUNIT_PROVE_H

#include <kunit/test.h>

/*
 * A place in the sources that claims conformance points, and the test that made the claim last,
 * known by its name, log and number of the parameter: parameters of a case share the name and, on
 * some kernels, the address of struct kunit.
 */
struct pagoda_claim {
	const char *points;
	const char *file;
	int line;
	const char *test;
	const void *log;
	int param;
};

/*
 * Writes the claim into the results of the running test, unless this test, with its current
 * parameter, was the last that made the claim. Returns true if the claim was written. May be called
 * by threads and work items of the test; may sleep.
 */
bool pagoda_claim(struct pagoda_claim *claim);

/*
 * Names the conformance points that the assertions next to this line prove. When executed, leaves a
 * line in the test's results; the report counts these lines for tests that passed.
 */
#define PAGODA_PROVES(...)								\
	do {										\
		static struct pagoda_claim pagoda_claim_here = {			\
			.points = #__VA_ARGS__, .file = __FILE__, .line = __LINE__,	\
		};									\
		pagoda_claim(&pagoda_claim_here);					\
	} while (0)

/*
 * A case with parameters that takes long. Slow cases need no second processor: they run under UML,
 * which emulates nothing, and are left out in QEMU (machine.sh, step kunit).
 */
#define PAGODA_CASE_PARAM_SLOW(test_name, gen_params) \
	KUNIT_CASE_PARAM_ATTR(test_name, gen_params, { .speed = KUNIT_SPEED_SLOW })

#endif
