// SPDX-License-Identifier: GPL-2.0
/* The driver's parameters: the values that are possible, and the errno of others. */
#include <linux/limits.h>
#include <kunit/test.h>
#include "core/device.h"
#include "driver.h"
#include "vidmm/stream/recording.h"

/* Parameters that are possible. */
static const struct pagoda_options options_good = {
	.timeout_ms = 1000,
	.job_timeout_ms = 2000,
	.traffic_share = 2,
};

/* Expects that a parameter, the u32 or int @member of @options, is possible from @low to @high. */
static void options_expect(struct kunit *test, struct pagoda_options *options, void *member,
			   s64 low, s64 high)
{
	u32 *value = member, before = *value;

	*value = low;
	KUNIT_EXPECT_EQ_MSG(test, 0, pagoda_options_check(options), "%lld", low);
	*value = high;
	KUNIT_EXPECT_EQ_MSG(test, 0, pagoda_options_check(options), "%lld", high);
	*value = low - 1;
	KUNIT_EXPECT_EQ_MSG(test, -EINVAL, pagoda_options_check(options), "%lld", low - 1);
	*value = high + 1;
	KUNIT_EXPECT_EQ_MSG(test, -EINVAL, pagoda_options_check(options), "%lld", high + 1);
	*value = before;
}

/* Beside a number that is too small or too large for one parameter all others are possible. */
static void options_numbers(struct kunit *test)
{
	struct pagoda_options options = options_good;

	KUNIT_EXPECT_EQ(test, 0, pagoda_options_check(&options));
	options_expect(test, &options, &options.timeout_ms, 10, 5000);
	options_expect(test, &options, &options.job_timeout_ms, 10, 10000);
	options_expect(test, &options, &options.record_kb, 0, PAGODA_RECORDING_MAX >> 10);
	options_expect(test, &options, &options.ahead_jobs, 0, 64);
	options_expect(test, &options, &options.promote_ms, 0, 10000);
	options_expect(test, &options, &options.traffic_share, 1, 100);
	options_expect(test, &options, &options.submit_share, 0, 100);
	/* One more than INT_MAX is a negative number again. */
	options_expect(test, &options, &options.reserve_kb, -1, INT_MAX);
	options_expect(test, &options, &options.copies_mb, -1, INT_MAX);
	KUNIT_EXPECT_EQ(test, 0, pagoda_options_check(&options));
}

static void options_names(struct kunit *test)
{
	struct pagoda_options options = options_good;

	KUNIT_EXPECT_EQ(test, 0, pagoda_options_set_names(&options, "cpu", "lru", "gpu_virtual"));
	KUNIT_EXPECT_TRUE(test, options.use_cpu);
	KUNIT_EXPECT_TRUE(test, options.lru);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, options.update_mode);
	/* sysfs may end a name with a newline. */
	KUNIT_EXPECT_EQ(test, 0, pagoda_options_set_names(&options, "device\n", "predict\n",
							  "cpu_virtual\n"));
	KUNIT_EXPECT_FALSE(test, options.use_cpu);
	KUNIT_EXPECT_FALSE(test, options.lru);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, options.update_mode);
	KUNIT_EXPECT_EQ(test, 0, pagoda_options_set_names(&options, "device", "predict",
							  "gpu_physical"));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, options.update_mode);
}

static void options_other_names(struct kunit *test)
{
	static const char * const wrong[][3] = {
		{ "gpu", "lru", "cpu_virtual" },
		{ "", "lru", "cpu_virtual" },
		{ "cpu", "fifo", "cpu_virtual" },
		{ "cpu", "lru", "gpu" },
		{ "cpu", "lru", "" },
	};
	struct pagoda_options options = options_good;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    pagoda_options_set_names(&options, wrong[i][0], wrong[i][1],
							     wrong[i][2]),
				    "names %u", i);
}

static struct kunit_case options_cases[] = {
	KUNIT_CASE(options_numbers),
	KUNIT_CASE(options_names),
	KUNIT_CASE(options_other_names),
	{}
};

static struct kunit_suite options_suite = {
	.name = "pagoda_uapi_options",
	.test_cases = options_cases,
};

kunit_test_suite(options_suite);
