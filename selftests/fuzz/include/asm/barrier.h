/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_BARRIER_H
#define PAGODA_FUZZ_BARRIER_H

/* A release fence: earlier reads and writes come before later writes. */
#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)

#endif
