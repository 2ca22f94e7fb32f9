/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which operations a file's tests are about: lists of opcodes that end with 0. Whoever
 * writes a test for an operation adds it; coverage_test.c names what nobody has added.
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

/* Packets that the device refuses: malformed, unreachable; and that it fails at. */
extern const u32 pagoda_engine_faulted[];
extern const u32 pagoda_context_faulted[];
extern const u32 pagoda_swizzle_faulted[];
extern const u32 pagoda_device_mmu_faulted[];
extern const u32 pagoda_virtual_faulted[];

/* Operations that engine and CPU executor were compared on. */
extern const u32 pagoda_executor_compared[];
extern const u32 pagoda_executor_table_compared[];
extern const u32 pagoda_executor_state_compared[];

#endif
