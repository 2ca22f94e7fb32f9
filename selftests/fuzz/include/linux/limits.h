/* SPDX-License-Identifier: GPL-2.0 */
/* The C library includes <linux/limits.h>, too, and needs what the header for user space has. */
#include_next <linux/limits.h>

#ifndef U64_MAX
#define U64_MAX		(~0ull)
#define U32_MAX		(~0u)
#endif
