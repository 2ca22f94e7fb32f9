/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a test needs, or else is aborted: zeroed memory that lives as long as the test, and pointers
 * that are no error.
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

/* Returns memory that is aligned to pages and need not be contiguous. */
void *test_vzalloc(struct kunit *test, size_t size);

/* Returns a pointer that must not be an error. */
#define test_ok(test, pointer) ({ \
	typeof(pointer) test_ok_pointer = (pointer); \
	\
	KUNIT_ASSERT_FALSE(test, IS_ERR(test_ok_pointer)); \
	test_ok_pointer; \
})

#endif
