/* SPDX-License-Identifier: GPL-2.0 */
/* The C library has it. */
#include <assert.h>
