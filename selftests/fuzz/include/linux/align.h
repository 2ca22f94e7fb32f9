/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_ALIGN_H
#define PAGODA_FUZZ_ALIGN_H

#ifndef ALIGN
#define ALIGN(x, a)		(((x) + (a) - 1) & ~((__typeof__(x))(a) - 1))
#endif
#ifndef IS_ALIGNED
#define IS_ALIGNED(x, a)	(!((x) & ((__typeof__(x))(a) - 1)))
#endif

#endif
