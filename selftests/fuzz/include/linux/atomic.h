/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_ATOMIC_H
#define PAGODA_FUZZ_ATOMIC_H

#include <linux/types.h>

typedef u64 atomic64_t;

#define ATOMIC64_INIT(i)	(i)
#define atomic64_inc(a)		__atomic_fetch_add(a, 1, __ATOMIC_RELAXED)
#define atomic64_read(a)	__atomic_load_n(a, __ATOMIC_RELAXED)
/* Atomically: if *@p is *@old, sets *@p to @new and returns true; else sets *@old to *@p. */
#define try_cmpxchg(p, old, new) \
	__atomic_compare_exchange_n(p, old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#endif
