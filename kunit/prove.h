/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_PROVE_H
#define PAGODA_KUNIT_PROVE_H

#include <kunit/test.h>

/*
 * Names the conformance points that the assertions of a test prove. Expands to
 * nothing: the report reads it from the source and joins it with the result
 * of the test function it stands in.
 */
#define PAGODA_PROVES(...) do { } while (0)

/*
 * A case with parameters that takes long. Slow ones need no second processor: they run under
 * UML, where nothing is emulated, and are left out on the sanitizer kernel.
 */
#define PAGODA_CASE_PARAM_SLOW(test_name, gen_params) \
	KUNIT_CASE_PARAM_ATTR(test_name, gen_params, { .speed = KUNIT_SPEED_SLOW })

#endif
