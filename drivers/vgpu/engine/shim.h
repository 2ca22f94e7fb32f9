/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only door between the engine and its surroundings. In the kernel it opens
 * on kernel headers; in a process it supplies the same names on top of the C
 * library, so that a fuzzer links the very sources the module is made of.
 */
#ifndef PAGODA_VGPU_ENGINE_SHIM_H
#define PAGODA_VGPU_ENGINE_SHIM_H

#ifdef __KERNEL__

#include <linux/align.h>
#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>

static inline void pagoda_shim_yield(void)
{
	cond_resched();
}

#else /* a process */

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <linux/types.h>

#define u8			__u8
#define u16			__u16
#define u32			__u32
#define u64			__u64
#define atomic64_t		__u64

#define le16_to_cpu(x)		le16toh(x)
#define le32_to_cpu(x)		le32toh(x)
#define le64_to_cpu(x)		le64toh(x)
#define cpu_to_le16(x)		htole16(x)
#define cpu_to_le32(x)		htole32(x)
#define cpu_to_le64(x)		htole64(x)

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define atomic64_inc(a)		__atomic_fetch_add(a, 1, __ATOMIC_RELAXED)
#define atomic64_read(a)	__atomic_load_n(a, __ATOMIC_RELAXED)
/* A full barrier, as the kernel's. */
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

#define IS_ALIGNED(x, a)	(((x) & ((__typeof__(x))(a) - 1)) == 0)
#define ALIGN_DOWN(x, a)	((x) & ~((__typeof__(x))(a) - 1))
#define min_t(type, a, b)	({ type _a = (a); type _b = (b); _a < _b ? _a : _b; })
#define min(a, b)		min_t(__typeof__(a), a, b)
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)

static inline void memset64(u64 *p, u64 value, size_t count)
{
	while (count--)
		*p++ = value;
}

static inline void pagoda_shim_yield(void)
{
}

#endif

/* An aperture entry and a fence are single 64-bit accesses (C53, C117). */
static_assert(sizeof(long) == 8, "the engine needs 64-bit loads and stores");

#endif
