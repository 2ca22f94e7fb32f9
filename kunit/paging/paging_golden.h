/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_PAGING_GOLDEN_H
#define PAGODA_KUNIT_PAGING_GOLDEN_H

#include <kunit/test.h>
#include <linux/string.h>
#include <linux/types.h>
#include "core/compat.h"
#include "paging/paging.h"

/**
 * struct pagoda_golden - Golden case: an operation, its packet and the packet's text
 * @name: Name of the case
 * @op: The operation
 * @bytes: Bytes of the packet that the builder must make of @op
 * @size: Number of bytes in @bytes
 * @text: What the printer must print of the packet, without the packet's offset in front
 */
struct pagoda_golden {
	const char *name;
	struct pagoda_paging_op op;
	const u8 *bytes;
	u32 size;
	const char *text;
};

/*
 * All golden cases. Entry 0 is a TRANSFER from VRAM to system memory: to four pages in two runs,
 * from page 1 of the list on.
 */
extern const struct pagoda_golden pagoda_goldens[];
extern const u32 pagoda_nr_goldens;

/* Generator for KUNIT_CASE_PARAM(): each golden case. */
PAGODA_KUNIT_PARAMS(pagoda_golden_gen_params);

/* Returns the operation of the golden case @name, which must exist. */
static inline struct pagoda_paging_op pagoda_golden_op(const char *name)
{
	u32 i = 0;

	while (i + 1 < pagoda_nr_goldens && strcmp(pagoda_goldens[i].name, name))
		i++;
	return pagoda_goldens[i].op;
}

#endif
