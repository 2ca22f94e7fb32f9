/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_BARRIER_H
#define PAGODA_FUZZ_BARRIER_H

/* Earlier reads and writes come before the write of @value. */
#define smp_store_release(at, value)	__atomic_store_n(at, value, __ATOMIC_RELEASE)

#endif
