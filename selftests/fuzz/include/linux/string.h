/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_STRING_H
#define PAGODA_FUZZ_STRING_H

#include <linux/types.h>
#include <string.h>

static inline void memset32(u32 *p, u32 value, size_t count)
{
	while (count--)
		*p++ = value;
}

#endif
