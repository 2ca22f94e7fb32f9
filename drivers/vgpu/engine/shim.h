/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine's only access to kernel functions: byte order, atomic accesses, barriers, time, yields
 * and read-write locks. For a user process the shim defines the same names on top of the C library,
 * so that a fuzzer is built from exactly the sources that the module is built from.
 */
#ifndef PAGODA_VGPU_ENGINE_SHIM_H
#define PAGODA_VGPU_ENGINE_SHIM_H

#ifdef __KERNEL__

#include <linux/align.h>
#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>

static inline void pagoda_shim_yield(void)
{
	cond_resched();
}

/* Returns the time that TIMESTAMP stores, in nanoseconds, which never decreases on any CPU. */
static inline u64 pagoda_shim_now(void)
{
	return ktime_get_ns();
}

/*
 * Replaces *@here by @new and returns true if *@here equals *@old, with a full barrier; else stores
 * *@here in *@old and returns false.
 */
static inline bool pagoda_shim_swap32(__le32 *here, __le32 *old, __le32 new)
{
	return try_cmpxchg(here, old, new);
}

static inline bool pagoda_shim_swap64(__le64 *here, __le64 *old, __le64 new)
{
	return try_cmpxchg(here, old, new);
}

static inline bool pagoda_shim_swap8(u8 *here, u8 *old, u8 new)
{
	return try_cmpxchg(here, old, new);
}

struct pagoda_shim_rwlock {
	struct rw_semaphore sem;
};

/* A macro, because lockdep distinguishes locks by the place where they are initialized. */
#define pagoda_shim_rwlock_init(lock)	init_rwsem(&(lock)->sem)

static inline void pagoda_shim_read_lock(struct pagoda_shim_rwlock *lock)
{
	down_read(&lock->sem);
}

static inline void pagoda_shim_read_unlock(struct pagoda_shim_rwlock *lock)
{
	up_read(&lock->sem);
}

static inline void pagoda_shim_write_lock(struct pagoda_shim_rwlock *lock)
{
	down_write(&lock->sem);
}

static inline void pagoda_shim_write_unlock(struct pagoda_shim_rwlock *lock)
{
	up_write(&lock->sem);
}

static inline void pagoda_shim_assert_held(struct pagoda_shim_rwlock *lock)
{
	lockdep_assert_held(&lock->sem);
}

static inline void pagoda_shim_assert_held_write(struct pagoda_shim_rwlock *lock)
{
	lockdep_assert_held_write(&lock->sem);
}

#else /* in a user process */

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
#define atomic64_add(n, a)	__atomic_fetch_add(a, n, __ATOMIC_RELAXED)
#define atomic64_read(a)	__atomic_load_n(a, __ATOMIC_RELAXED)
/* A full barrier, like the kernel's smp_mb(). */
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
/* Like the kernel's smp_wmb(); also orders earlier loads before later stores. */
#define smp_wmb()		__atomic_thread_fence(__ATOMIC_RELEASE)

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

/* Returns a count of calls instead of the time, so that runs of a fuzzer are repeatable. */
static inline u64 pagoda_shim_now(void)
{
	static u64 now;

	return ++now;
}

static inline bool pagoda_shim_swap32(__le32 *here, __le32 *old, __le32 new)
{
	return __atomic_compare_exchange_n(here, old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static inline bool pagoda_shim_swap64(__le64 *here, __le64 *old, __le64 new)
{
	return __atomic_compare_exchange_n(here, old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static inline bool pagoda_shim_swap8(u8 *here, u8 *old, u8 new)
{
	return __atomic_compare_exchange_n(here, old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/* A process that links the engine has a single thread: locks only assert their correct use. */
struct pagoda_shim_rwlock {
	int readers;
	bool writer;
};

static inline void pagoda_shim_rwlock_init(struct pagoda_shim_rwlock *lock)
{
	lock->readers = 0;
	lock->writer = false;
}

static inline void pagoda_shim_read_lock(struct pagoda_shim_rwlock *lock)
{
	assert(!lock->writer);
	lock->readers++;
}

static inline void pagoda_shim_read_unlock(struct pagoda_shim_rwlock *lock)
{
	assert(lock->readers > 0);
	lock->readers--;
}

static inline void pagoda_shim_write_lock(struct pagoda_shim_rwlock *lock)
{
	assert(!lock->writer && !lock->readers);
	lock->writer = true;
}

static inline void pagoda_shim_write_unlock(struct pagoda_shim_rwlock *lock)
{
	assert(lock->writer);
	lock->writer = false;
}

static inline void pagoda_shim_assert_held(struct pagoda_shim_rwlock *lock)
{
	assert(lock->writer || lock->readers > 0);
}

static inline void pagoda_shim_assert_held_write(struct pagoda_shim_rwlock *lock)
{
	assert(lock->writer);
}

#endif

/* Aperture entries and fences must be read and written by single 64-bit accesses (C53, C117). */
static_assert(sizeof(long) == 8, "the engine needs 64-bit loads and stores");

#endif
