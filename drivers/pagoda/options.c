// SPDX-License-Identifier: GPL-2.0
/* The module's parameters: their defaults, and the values that are possible. */
#include <linux/limits.h>
#include <linux/string.h>
#include "core/device.h"
#include "vidmm/stream/recording.h"
#include "vidmm/vm/vm.h"
#include "driver.h"

/*
 * Limits of timeout_ms; job_timeout_ms has the same minimum. TTM waits for an eviction for at most
 * 15 s: the recovery from a timeout of a paging buffer must be over long before.
 */
#define OPTIONS_TIMEOUT_MIN_MS	10
#define OPTIONS_TIMEOUT_MAX_MS	5000
/*
 * Upper limit of job_timeout_ms. An eviction may wait for a job, and TTM waits for an eviction for
 * at most 15 s.
 */
#define OPTIONS_JOB_TIMEOUT_MAX_MS 10000
/*
 * Upper limit of promote_ms. Room in VRAM hardly ever lasts longer: a larger value would mean that
 * nothing is promoted.
 */
#define OPTIONS_PROMOTE_MAX_MS	10000
/*
 * Upper limit of ahead_jobs. More jobs would hardly ever be looked at, because together they may
 * list no more than a part of VRAM.
 */
#define OPTIONS_AHEAD_JOBS_MAX	64

struct pagoda_options pagoda_options = {
	.timeout_ms = 1000,
	.update_mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL,
	.job_timeout_ms = 2000,
	.ahead_jobs = 8,
	.promote_ms = 10,
	.traffic_share = 2,
	.submit_share = 10,
	.copies_mb = -1,
	.reserve_kb = -1,
};

static int options_bound(const char *name, s64 value, s64 low, s64 high)
{
	if (value >= low && value <= high)
		return 0;
	pr_err("pagoda: %s=%lld: must be %lld to %lld\n", name, value, low, high);
	return -EINVAL;
}

#define OPTIONS_BOUND(options, member, low, high) \
	options_bound(#member, (options)->member, low, high)

/*
 * Checks the parameters that are numbers. Returns 0, or -EINVAL after a line in the log that names
 * the first invalid parameter.
 */
int pagoda_options_check(const struct pagoda_options *options)
{
	return OPTIONS_BOUND(options, timeout_ms, OPTIONS_TIMEOUT_MIN_MS, OPTIONS_TIMEOUT_MAX_MS) ?:
	       OPTIONS_BOUND(options, job_timeout_ms, OPTIONS_TIMEOUT_MIN_MS,
			     OPTIONS_JOB_TIMEOUT_MAX_MS) ?:
	       OPTIONS_BOUND(options, record_kb, 0, PAGODA_RECORDING_MAX >> 10) ?:
	       OPTIONS_BOUND(options, ahead_jobs, 0, OPTIONS_AHEAD_JOBS_MAX) ?:
	       OPTIONS_BOUND(options, reserve_kb, -1, INT_MAX) ?:
	       OPTIONS_BOUND(options, copies_mb, -1, INT_MAX) ?:
	       OPTIONS_BOUND(options, promote_ms, 0, OPTIONS_PROMOTE_MAX_MS) ?:
	       OPTIONS_BOUND(options, traffic_share, 1, 100) ?:
	       OPTIONS_BOUND(options, submit_share, 0, 100);
}

/*
 * Sets *@chosen if the parameter @name is @yes; clears *@chosen if the parameter is @no. Returns 0,
 * or -EINVAL after a line in the log.
 */
static int options_choose(const char *name, const char *value, const char *no, const char *yes,
			  bool *chosen)
{
	*chosen = sysfs_streq(value, yes);
	if (*chosen || sysfs_streq(value, no))
		return 0;
	pr_err("pagoda: %s=%s: must be %s or %s\n", name, value, no, yes);
	return -EINVAL;
}

static int options_set_mode(struct pagoda_options *options, const char *update_mode)
{
	const char *name;
	u32 mode;

	for (mode = 0; (name = pagoda_vidmm_mode_name(mode)); mode++) {
		if (sysfs_streq(update_mode, name)) {
			options->update_mode = mode;
			return 0;
		}
	}
	pr_err("pagoda: update_mode=%s: must be gpu_physical, gpu_virtual or cpu_virtual\n",
	       update_mode);
	return -EINVAL;
}

/*
 * Sets @options to the parameters that are names. Returns 0, or -EINVAL after a line in the log
 * that names the first invalid parameter.
 */
int pagoda_options_set_names(struct pagoda_options *options, const char *executor,
			     const char *policy, const char *update_mode)
{
	return options_choose("executor", executor, "device", "cpu", &options->use_cpu) ?:
	       options_choose("policy", policy, "predict", "lru", &options->lru) ?:
	       options_set_mode(options, update_mode);
}
