/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_PROVE_H
#define PAGODA_KUNIT_PROVE_H

/*
 * Names the conformance points that the assertions of a test prove. Expands to
 * nothing: the report reads it from the source and joins it with the result
 * of the test function it stands in.
 */
#define PAGODA_PROVES(...) do { } while (0)

#endif
