/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_PROVE_H
#define PAGODA_KUNIT_PROVE_H

#include <kunit/test.h>

/*
 * A place in the sources that claims conformance points, and the test that made the claim last:
 * parameters of a case share a name, and on some kernels the address of their struct kunit.
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
 * Writes the claim into the results of the test that is running, unless that test, or that
 * parameter of it, made the claim before. True if the claim was written. For threads and work of
 * the test, too; may sleep.
 */
bool pagoda_claim(struct pagoda_claim *claim);

/*
 * Names the conformance points that the assertions beside it prove. Leaves a line in the test's
 * results when it is executed; the report counts such lines of tests that passed.
 */
#define PAGODA_PROVES(...)								\
	do {										\
		static struct pagoda_claim pagoda_claim_here = {			\
			.points = #__VA_ARGS__, .file = __FILE__, .line = __LINE__,	\
		};									\
		pagoda_claim(&pagoda_claim_here);					\
	} while (0)

/*
 * A case with parameters that takes long. Slow ones need no second processor: they run under
 * UML, where nothing is emulated, and are left out on the sanitizer kernel.
 */
#define PAGODA_CASE_PARAM_SLOW(test_name, gen_params) \
	KUNIT_CASE_PARAM_ATTR(test_name, gen_params, { .speed = KUNIT_SPEED_SLOW })

#endif
