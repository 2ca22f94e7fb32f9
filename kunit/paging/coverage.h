/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lists of opcodes, each ended by 0: the operations for which a file has tests of some kind. When a
 * test covers another operation, the list of the test's file gets the operation. coverage_test.c
 * fails, with the operation's name, if an operation is in none of the lists of a kind.
 */
#ifndef PAGODA_KUNIT_COVERAGE_H
#define PAGODA_KUNIT_COVERAGE_H

#include <linux/types.h>

/* Operations that pagoda_paging_validate() is tested to refuse. */
extern const u32 pagoda_validate_refused[];
extern const u32 pagoda_state_refused[];
extern const u32 pagoda_table_refused[];

/* Operations that are split into several packets by tests, with buffers of every size. */
extern const u32 pagoda_multipass_multipass[];
extern const u32 pagoda_table_multipass[];
extern const u32 pagoda_state_multipass[];

/* Operations whose packets the engine is tested to refuse: malformed, or for unreachable memory. */
extern const u32 pagoda_engine_faulted[];
extern const u32 pagoda_context_faulted[];
extern const u32 pagoda_swizzle_faulted[];
extern const u32 pagoda_device_mmu_faulted[];
extern const u32 pagoda_virtual_faulted[];

/* Operations that tests execute on the engine and the CPU executor, to compare both. */
extern const u32 pagoda_executor_compared[];
extern const u32 pagoda_executor_table_compared[];
extern const u32 pagoda_executor_state_compared[];

#endif
