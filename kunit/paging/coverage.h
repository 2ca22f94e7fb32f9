/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations that the tests of a file are about: lists of opcodes that end with 0. A test for an
 * operation has it in its file's list; coverage_test.c names the operations in no list.
 */
#ifndef PAGODA_KUNIT_COVERAGE_H
#define PAGODA_KUNIT_COVERAGE_H

#include <linux/types.h>

/* Operations that are refused for a reason before they are built. */
extern const u32 pagoda_validate_refused[];
extern const u32 pagoda_state_refused[];
extern const u32 pagoda_table_refused[];

/* Operations of several packets, in buffers of every size. */
extern const u32 pagoda_multipass_multipass[];
extern const u32 pagoda_table_multipass[];
extern const u32 pagoda_state_multipass[];

/* Packets that the device refuses (malformed, unreachable) or at which it fails. */
extern const u32 pagoda_engine_faulted[];
extern const u32 pagoda_context_faulted[];
extern const u32 pagoda_swizzle_faulted[];
extern const u32 pagoda_device_mmu_faulted[];
extern const u32 pagoda_virtual_faulted[];

/* Operations with which engine and CPU executor were compared. */
extern const u32 pagoda_executor_compared[];
extern const u32 pagoda_executor_table_compared[];
extern const u32 pagoda_executor_state_compared[];

#endif
