/* SPDX-License-Identifier: GPL-2.0 */
/* In place of the kernel's header: static_assert() of the C library. */
#include <assert.h>
