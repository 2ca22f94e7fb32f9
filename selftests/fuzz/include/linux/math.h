/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_MATH_H
#define PAGODA_FUZZ_MATH_H

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#endif
