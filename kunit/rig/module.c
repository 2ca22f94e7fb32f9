// SPDX-License-Identifier: GPL-2.0
/* Module boilerplate of the suites; each suite registers itself. */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit suites of Pagoda");
MODULE_LICENSE("GPL");
