/* SPDX-License-Identifier: GPL-2.0 */
/* Included in front of every file with mutants: PAGODA_MUTANT(n) is true if mutant n is active. */
#ifndef PAGODA_MUTANT_H
#define PAGODA_MUTANT_H

#include <linux/compiler.h>
#include <linux/types.h>

/* Warnings that code with a mutant, which is wrong on purpose, may cause. */
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

/* Highest number that a mutant may have, plus 1. Numbers begin with 1. */
#define PAGODA_MUTANTS 2048

/* Number of the active mutant; 0: none. */
extern unsigned int pagoda_mutant;
/* Entry n is set when the place of mutant n is executed; mutant_report() clears the entry. */
extern u8 pagoda_mutant_reached[PAGODA_MUTANTS];

/* Begin and end of the kernel's list of all suites, by the linker's names. */
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
