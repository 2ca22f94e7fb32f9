// SPDX-License-Identifier: GPL-2.0
/*
 * The module pagoda.ko: its parameters, which options.c checks, and the registration of the virtio
 * driver.
 *
 * The module doesn't load with an invalid parameter, which the log names: so no measurement runs
 * with other values than the user asked for.
 */
#include <linux/module.h>
#include <linux/stringify.h>
#include <linux/workqueue.h>
#include "core/device.h"
#include "virtio/virtio.h"
#include "driver.h"

static char *executor = "device";
module_param(executor, charp, 0444);
MODULE_PARM_DESC(executor, "What executes paging buffers: device (default) or cpu");

module_param_named(timeout_ms, pagoda_options.timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "Milliseconds a paging buffer may take, 10 to 5000 (default 1000)");

module_param_named(job_timeout_ms, pagoda_options.job_timeout_ms, uint, 0444);
MODULE_PARM_DESC(job_timeout_ms,
		 "Milliseconds a job may run on an engine, 10 to 10000 (default 2000)");

static char *update_mode = "gpu_physical";
module_param(update_mode, charp, 0444);
MODULE_PARM_DESC(update_mode,
		 "How page tables are written: gpu_physical (default), gpu_virtual, which moves by virtual addresses too, or cpu_virtual");

static char *policy = "predict";
module_param(policy, charp, 0444);
MODULE_PARM_DESC(policy,
		 "Which allocation leaves VRAM: predict (default), the one that seems to be used again last; or lru, the one that is longest unused");

module_param_named(promote_ms, pagoda_options.promote_ms, uint, 0444);
MODULE_PARM_DESC(promote_ms,
		 "Milliseconds that room in VRAM lasts before evicted allocations come back, at most 10000; 0: never (default 10)");

module_param_named(traffic_share, pagoda_options.traffic_share, uint, 0444);
MODULE_PARM_DESC(traffic_share,
		 "Percent of the measured paging bandwidth at which evicted allocations come back while other clients use the device, 1 to 100 (default 2)");

module_param_named(submit_share, pagoda_options.submit_share, uint, 0444);
MODULE_PARM_DESC(submit_share,
		 "Percent of the measured paging bandwidth at which one client's submissions evict other allocations for allocations that could be used elsewhere, at most 100; 0: no limit (default 10)");

module_param_named(pin_limit_mb, pagoda_options.pin_limit_mb, uint, 0444);
MODULE_PARM_DESC(pin_limit_mb,
		 "MiB of one client's allocations that may be pinned for other devices (default: half of VRAM without the reserve)");

module_param_named(reserve_kb, pagoda_options.reserve_kb, int, 0444);
MODULE_PARM_DESC(reserve_kb,
		 "KiB of VRAM for page tables and save areas that find no other place, at most half of it; 0: none (default: a 64th, 64 to 16384)");

module_param_named(copies_mb, pagoda_options.copies_mb, int, 0444);
MODULE_PARM_DESC(copies_mb,
		 "MiB of system pages kept while their content is in VRAM, so that only what is written has to be copied back; 0: none (default: a quarter of RAM)");

module_param_named(defer_jobs, pagoda_options.defer_jobs, bool, 0444);
MODULE_PARM_DESC(defer_jobs,
		 "Prepare every job in a work item, as if its engine were busy at SUBMIT (default n)");

module_param_named(ahead_jobs, pagoda_options.ahead_jobs, uint, 0444);
MODULE_PARM_DESC(ahead_jobs,
		 "Queued jobs of a client whose allocations come to VRAM before an engine is free for the jobs, at most 64; 0: none (default 8)");

module_param_named(record_kb, pagoda_options.record_kb, uint, 0444);
MODULE_PARM_DESC(record_kb,
		 "KiB of paging buffers to record from the first one on, for debugfs recording (default 0)");

static int __init module_begin(void)
{
	int ret = pagoda_options_check(&pagoda_options) ?:
		  pagoda_options_set_names(&pagoda_options, executor, policy, update_mode);

	if (ret)
		return ret;
	pagoda_ends = alloc_workqueue("pagoda-ends", WQ_UNBOUND, 0);
	if (!pagoda_ends)
		return -ENOMEM;
	ret = pagoda_virtio_register(&pagoda_device_callbacks);
	if (ret)
		destroy_workqueue(pagoda_ends);
	return ret;
}
module_init(module_begin);

static void __exit module_end(void)
{
	pagoda_virtio_unregister();
	/*
	 * Waits for the work items that free closed clients. These wait for no job any more: jobs
	 * ended when the devices were removed.
	 */
	destroy_workqueue(pagoda_ends);
}
module_exit(module_end);

MODULE_AUTHOR("The Pagoda authors");
MODULE_VERSION(__stringify(PAGODA_MAJOR) "." __stringify(PAGODA_MINOR));
MODULE_DESCRIPTION("DRM driver with WDDM-style video memory");
MODULE_LICENSE("GPL");
