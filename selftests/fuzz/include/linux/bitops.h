/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_BITOPS_H
#define PAGODA_FUZZ_BITOPS_H

#include <linux/bits.h>
#include <linux/types.h>

static inline int fls(unsigned int value)
{
	return value ? 32 - __builtin_clz(value) : 0;
}

static inline int fls64(u64 value)
{
	return value ? 64 - __builtin_clzll(value) : 0;
}

static inline unsigned int hweight8(unsigned int value)
{
	return __builtin_popcount(value & 0xff);
}

static inline int __ffs64(u64 value)
{
	return __builtin_ctzll(value);
}

#endif
