// SPDX-License-Identifier: GPL-2.0
/*
 * pagoda.ko: parameters, and the driver on the virtio bus.
 *
 * A parameter that makes no sense is refused by name, so that nobody measures
 * something else than he asked for.
 */
#include <linux/module.h>
#include <linux/string.h>
#include "device.h"

/* TTM waits at most 15 s for an eviction: recovery has to be done well before. */
#define PAGODA_TIMEOUT_MIN_MS	10u
#define PAGODA_TIMEOUT_MAX_MS	5000u

static char *executor = "device";
module_param(executor, charp, 0444);
MODULE_PARM_DESC(executor, "Who executes paging buffers: device (default) or cpu");

static uint timeout_ms = 1000;
module_param(timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "Milliseconds a paging buffer may take, 10 to 5000 (default 1000)");

static int __init pagoda_check_parameters(void)
{
	if (sysfs_streq(executor, "cpu")) {
		pagoda_options.use_cpu = true;
	} else if (!sysfs_streq(executor, "device")) {
		pr_err("pagoda: executor=%s: must be device or cpu\n", executor);
		return -EINVAL;
	}
	if (timeout_ms < PAGODA_TIMEOUT_MIN_MS || timeout_ms > PAGODA_TIMEOUT_MAX_MS) {
		pr_err("pagoda: timeout_ms=%u: must be %u to %u\n", timeout_ms,
		       PAGODA_TIMEOUT_MIN_MS, PAGODA_TIMEOUT_MAX_MS);
		return -EINVAL;
	}
	pagoda_options.timeout_ms = timeout_ms;
	return 0;
}

static int __init pagoda_init(void)
{
	int ret = pagoda_check_parameters();

	if (ret)
		return ret;
	return pagoda_virtio_register(&pagoda_device_callbacks);
}
module_init(pagoda_init);

static void __exit pagoda_exit(void)
{
	pagoda_virtio_unregister();
}
module_exit(pagoda_exit);

MODULE_DESCRIPTION("DRM driver with WDDM-style video memory");
MODULE_LICENSE("GPL");
