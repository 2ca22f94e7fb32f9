/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_PAGING_GOLDEN_H
#define PAGODA_KUNIT_PAGING_GOLDEN_H

#include <kunit/test.h>
#include <linux/string.h>
#include <linux/types.h>
#include "core/compat.h"
#include "paging/paging.h"

/**
 * struct pagoda_golden - An operation, its packet and its text
 * @name: Name of the case
 * @op: The operation
 * @bytes: Expected packet
 * @size: Bytes in the packet
 * @text: Text the printer gives after the offset
 */
struct pagoda_golden {
	const char *name;
	struct pagoda_paging_op op;
	const u8 *bytes;
	u32 size;
	const char *text;
};

/* Entry 0 is a TRANSFER from VRAM to four pages in two runs, from page 1 of its list. */
extern const struct pagoda_golden pagoda_goldens[];
extern const u32 pagoda_nr_goldens;

/* Generates a parameter for each of them. */
PAGODA_KUNIT_PARAMS(pagoda_golden_gen_params);

/* Returns the operation of the case @name. */
static inline struct pagoda_paging_op pagoda_golden_op(const char *name)
{
	u32 i = 0;

	while (i + 1 < pagoda_nr_goldens && strcmp(pagoda_goldens[i].name, name))
		i++;
	return pagoda_goldens[i].op;
}

#endif
