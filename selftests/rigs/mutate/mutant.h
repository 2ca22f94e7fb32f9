/* SPDX-License-Identifier: GPL-2.0 */
/* Included in front of every file with mutants: which mutant is the active one. */
#ifndef PAGODA_MUTANT_H
#define PAGODA_MUTANT_H

#include <linux/compiler.h>
#include <linux/types.h>

/* What a compiler may well say of code that is wrong. */
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wempty-body"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wuninitialized"

struct kunit_suite;

/* Most mutants of a kernel, and one. */
#define PAGODA_MUTANTS 2048

/* Number of the active mutant; 0: none. */
extern unsigned int pagoda_mutant;
/* Whether the place of a mutant was executed, by number. */
extern u8 pagoda_mutant_reached[PAGODA_MUTANTS];

/* The linker's names of the list of all suites in the kernel. */
extern struct kunit_suite * const __kunit_suites_start[];
extern struct kunit_suite * const __kunit_suites_end[];

bool pagoda_mutant_active(void);

static __always_inline bool PAGODA_MUTANT(unsigned int number)
{
	WRITE_ONCE(pagoda_mutant_reached[number], 1);
	if (likely(READ_ONCE(pagoda_mutant) != number))
		return false;
	return pagoda_mutant_active();
}

#endif
