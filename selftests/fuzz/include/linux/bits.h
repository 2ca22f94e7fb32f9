/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_BITS_H
#define PAGODA_FUZZ_BITS_H

#define BIT(n)			(1ul << (n))
#define BIT_ULL(n)		(1ull << (n))
#define GENMASK_ULL(h, l)	(~0ull >> (63 - (h)) & ~0ull << (l))

#endif
