// SPDX-License-Identifier: GPL-2.0
/* What makes a module of the suites; each registers itself. */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit suites of Pagoda");
MODULE_LICENSE("GPL");
