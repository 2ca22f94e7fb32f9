/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_MINMAX_H
#define PAGODA_FUZZ_MINMAX_H

#define min_t(type, a, b)	({ type _a = (a); type _b = (b); _a < _b ? _a : _b; })
#define max_t(type, a, b)	({ type _a = (a); type _b = (b); _a > _b ? _a : _b; })
#define min(a, b)		min_t(__typeof__(a), a, b)
#define max(a, b)		max_t(__typeof__(a), a, b)
#define min3(a, b, c)		min(min(a, b), c)

#endif
