/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_BARRIER_H
#define PAGODA_FUZZ_BARRIER_H

/* Orders writes, and reads before them. */
#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)

#endif
