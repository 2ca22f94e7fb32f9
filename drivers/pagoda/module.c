// SPDX-License-Identifier: GPL-2.0
/*
 * The module pagoda.ko: checks the parameters and registers the virtio driver.
 *
 * The module doesn't load with an invalid parameter, which the log names: so no measurement runs
 * with other values than the user asked for.
 */
#include <linux/module.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/workqueue.h>
#include "core/device.h"
#include "vidmm/stream/recording.h"
#include "vidmm/vm/vm.h"
#include "virtio/virtio.h"
#include "driver.h"

/*
 * Limits of the parameter timeout_ms; job_timeout_ms has the same minimum. TTM waits for an
 * eviction for at most 15 s: the recovery from a timeout of a paging buffer must be over long
 * before.
 */
#define PAGODA_TIMEOUT_MIN_MS	10u
#define PAGODA_TIMEOUT_MAX_MS	5000u
/*
 * Upper limit of the parameter promote_ms. Room in VRAM hardly ever lasts longer: a larger value
 * would mean that nothing is promoted.
 */
#define PAGODA_PROMOTE_MAX_MS	10000u
/*
 * Upper limit of the parameter job_timeout_ms. An eviction may wait for a job, and TTM waits for an
 * eviction for at most 15 s.
 */
#define PAGODA_JOB_TIMEOUT_MAX_MS 10000u
/*
 * Upper limit of the parameter ahead_jobs. More jobs would hardly ever be looked at, because
 * together they may list no more than a part of VRAM.
 */
#define PAGODA_AHEAD_JOBS_MAX	64u

static char *executor = "device";
module_param(executor, charp, 0444);
MODULE_PARM_DESC(executor, "What executes paging buffers: device (default) or cpu");

static uint timeout_ms = 1000;
module_param(timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "Milliseconds a paging buffer may take, 10 to 5000 (default 1000)");

static uint job_timeout_ms = 2000;
module_param(job_timeout_ms, uint, 0444);
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

static uint promote_ms = 10;
module_param(promote_ms, uint, 0444);
MODULE_PARM_DESC(promote_ms,
		 "Milliseconds that room in VRAM lasts before evicted allocations come back, at most 10000; 0: never (default 10)");

static uint traffic_share = 2;
module_param(traffic_share, uint, 0444);
MODULE_PARM_DESC(traffic_share,
		 "Percent of the measured paging bandwidth at which evicted allocations come back while other clients use the device, 1 to 100 (default 2)");

static uint submit_share = 10;
module_param(submit_share, uint, 0444);
MODULE_PARM_DESC(submit_share,
		 "Percent of the measured paging bandwidth at which one client's submissions evict other allocations for allocations that could be used elsewhere, at most 100; 0: no limit (default 10)");

static uint pin_limit_mb;
module_param(pin_limit_mb, uint, 0444);
MODULE_PARM_DESC(pin_limit_mb,
		 "MiB of one client's allocations that may be pinned for other devices (default: half of VRAM without the reserve)");

static int reserve_kb = -1;
module_param(reserve_kb, int, 0444);
MODULE_PARM_DESC(reserve_kb,
		 "KiB of VRAM for page tables and save areas that find no other place, at most half of it; 0: none (default: a 64th, 64 to 16384)");

static int copies_mb = -1;
module_param(copies_mb, int, 0444);
MODULE_PARM_DESC(copies_mb,
		 "MiB of system pages kept while their content is in VRAM, so that only what is written has to be copied back; 0: none (default: a quarter of RAM)");

static bool defer_jobs;
module_param(defer_jobs, bool, 0444);
MODULE_PARM_DESC(defer_jobs,
		 "Prepare every job in a work item, as if its engine were busy at SUBMIT (default n)");

static uint ahead_jobs = 8;
module_param(ahead_jobs, uint, 0444);
MODULE_PARM_DESC(ahead_jobs,
		 "Queued jobs of a client whose allocations come to VRAM before an engine is free for the jobs, at most 64; 0: none (default 8)");

static uint record_kb;
module_param(record_kb, uint, 0444);
MODULE_PARM_DESC(record_kb,
		 "KiB of paging buffers to record from the first one on, for debugfs recording (default 0)");

static int __init check_update_mode(void)
{
	const char *name;
	u32 mode;

	for (mode = 0; (name = pagoda_vidmm_mode_name(mode)); mode++) {
		if (sysfs_streq(update_mode, name)) {
			pagoda_options.update_mode = mode;
			return 0;
		}
	}
	pr_err("pagoda: update_mode=%s: must be gpu_physical, gpu_virtual or cpu_virtual\n",
	       update_mode);
	return -EINVAL;
}

static int __init check_promotion(void)
{
	if (promote_ms > PAGODA_PROMOTE_MAX_MS) {
		pr_err("pagoda: promote_ms=%u: must be at most %u\n", promote_ms,
		       PAGODA_PROMOTE_MAX_MS);
		return -EINVAL;
	}
	if (!traffic_share || traffic_share > 100) {
		pr_err("pagoda: traffic_share=%u: must be 1 to 100\n", traffic_share);
		return -EINVAL;
	}
	if (submit_share > 100) {
		pr_err("pagoda: submit_share=%u: must be at most 100\n", submit_share);
		return -EINVAL;
	}
	pagoda_options.promote_ms = promote_ms;
	pagoda_options.traffic_share = traffic_share;
	pagoda_options.submit_share = submit_share;
	return 0;
}

static int __init check_parameters(void)
{
	if (sysfs_streq(executor, "cpu")) {
		pagoda_options.use_cpu = true;
	} else if (!sysfs_streq(executor, "device")) {
		pr_err("pagoda: executor=%s: must be device or cpu\n", executor);
		return -EINVAL;
	}
	if (sysfs_streq(policy, "lru")) {
		pagoda_options.lru = true;
	} else if (!sysfs_streq(policy, "predict")) {
		pr_err("pagoda: policy=%s: must be predict or lru\n", policy);
		return -EINVAL;
	}
	if (timeout_ms < PAGODA_TIMEOUT_MIN_MS || timeout_ms > PAGODA_TIMEOUT_MAX_MS) {
		pr_err("pagoda: timeout_ms=%u: must be %u to %u\n", timeout_ms,
		       PAGODA_TIMEOUT_MIN_MS, PAGODA_TIMEOUT_MAX_MS);
		return -EINVAL;
	}
	pagoda_options.timeout_ms = timeout_ms;
	if (job_timeout_ms < PAGODA_TIMEOUT_MIN_MS ||
	    job_timeout_ms > PAGODA_JOB_TIMEOUT_MAX_MS) {
		pr_err("pagoda: job_timeout_ms=%u: must be %u to %u\n", job_timeout_ms,
		       PAGODA_TIMEOUT_MIN_MS, PAGODA_JOB_TIMEOUT_MAX_MS);
		return -EINVAL;
	}
	pagoda_options.job_timeout_ms = job_timeout_ms;
	if (record_kb > PAGODA_RECORDING_MAX >> 10) {
		pr_err("pagoda: record_kb=%u: must be at most %u\n", record_kb,
		       PAGODA_RECORDING_MAX >> 10);
		return -EINVAL;
	}
	pagoda_options.record_kb = record_kb;
	pagoda_options.defer_jobs = defer_jobs;
	if (ahead_jobs > PAGODA_AHEAD_JOBS_MAX) {
		pr_err("pagoda: ahead_jobs=%u: must be at most %u\n", ahead_jobs,
		       PAGODA_AHEAD_JOBS_MAX);
		return -EINVAL;
	}
	pagoda_options.ahead_jobs = ahead_jobs;
	if (reserve_kb < -1) {
		pr_err("pagoda: reserve_kb=%d: must not be negative\n", reserve_kb);
		return -EINVAL;
	}
	pagoda_options.reserve_kb = reserve_kb;
	if (copies_mb < -1) {
		pr_err("pagoda: copies_mb=%d: must not be negative\n", copies_mb);
		return -EINVAL;
	}
	pagoda_options.copies_mb = copies_mb;
	pagoda_options.pin_limit_mb = pin_limit_mb;
	return check_promotion() ?: check_update_mode();
}

static int __init module_begin(void)
{
	int ret = check_parameters();

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
