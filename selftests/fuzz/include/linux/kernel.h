/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_KERNEL_H
#define PAGODA_FUZZ_KERNEL_H

#include <linux/types.h>
#include <stdarg.h>
#include <stdio.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#endif
