/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_LOG2_H
#define PAGODA_FUZZ_LOG2_H

#define rounddown_pow_of_two(n)	(1ull << (63 - __builtin_clzll(n)))

#endif
