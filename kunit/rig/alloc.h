/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory and pointers that a test needs: zeroed memory that lives as long as the test, and a check
 * that a pointer is no error. A test that doesn't get these is aborted.
 */
#ifndef PAGODA_KUNIT_ALLOC_H
#define PAGODA_KUNIT_ALLOC_H

#include <kunit/test.h>

static inline void *test_calloc(struct kunit *test, size_t n, size_t size)
{
	void *memory = kunit_kcalloc(test, n, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	return memory;
}

static inline void *test_zalloc(struct kunit *test, size_t size)
{
	return test_calloc(test, 1, size);
}

/* Returns zeroed memory that is aligned to pages and need not be physically contiguous. */
void *test_vzalloc(struct kunit *test, size_t size);

/* Returns @pointer; aborts the test if it is an error pointer. */
#define test_ok(test, pointer) ({ \
	typeof(pointer) test_ok_pointer = (pointer); \
	\
	KUNIT_ASSERT_FALSE(test, IS_ERR(test_ok_pointer)); \
	test_ok_pointer; \
})

#endif
