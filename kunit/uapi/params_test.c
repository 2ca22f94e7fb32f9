// SPDX-License-Identifier: GPL-2.0
/*
 * The software GPU's parameters: numbers and names that are possible, lists of invalid ranges, and
 * misconfigure=.
 */
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/virtio_config.h>
#include "../drivers/vgpu/vgpu.h"
#include "rig/alloc.h"

#define VRAM_MB		8
/* A number of more digits than a pair of a list has room for. */
#define LONG_NUMBER	"0000000000000000000000000000000000000000000000000000000000004096"

/* Parameters that are possible, of which a test changes some. */
static struct pagoda_vgpu_given params_good(void)
{
	return (struct pagoda_vgpu_given) {
		.vram_mb = VRAM_MB,
		.visible = "all",
		.aperture_mb = 16,
		.engines = 2,
		.invalid = "",
		.pt_levels = 4,
		.mmu_mb = 16,
		.ranges = 2,
		.range_mb = 1,
		.reset_vram = "keep",
		.preserve = "nothing",
		.misconfigure = "",
	};
}

/* Expects @want of the parameters. Returns what was read before an invalid parameter. */
static struct pagoda_vgpu_params *params_read(struct kunit *test,
					      const struct pagoda_vgpu_given *given, int want)
{
	struct pagoda_vgpu_params *params = test_zalloc(test, sizeof(*params));

	KUNIT_EXPECT_EQ(test, want, pagoda_vgpu_params_read(given, params));
	return params;
}

static void params_are_read(struct kunit *test)
{
	struct pagoda_vgpu_given given = params_good();
	struct pagoda_vgpu_params *params = params_read(test, &given, 0);

	KUNIT_EXPECT_EQ(test, VRAM_MB * SZ_1M, params->vram_size);
	KUNIT_EXPECT_EQ(test, SZ_16M / PAGE_SIZE, params->aperture_pages);
	KUNIT_EXPECT_EQ(test, 2, params->engines);
	KUNIT_EXPECT_EQ(test, 0, params->nr_invalid);
	KUNIT_EXPECT_FALSE(test, params->dual_pte);
	KUNIT_EXPECT_FALSE(test, params->cache_invalid);
	KUNIT_EXPECT_EQ(test, 0, params->mmu_pages);
	KUNIT_EXPECT_EQ(test, 2, params->ranges);
	KUNIT_EXPECT_EQ(test, SZ_1M, params->range_bytes);
	KUNIT_EXPECT_PTR_EQ(test, (const char *)given.misconfigure, params->misconfigure);
	given.dual_pte = 1;
	given.cache_invalid = 1;
	given.device_mmu = 1;
	given.ranges = 0;
	params = params_read(test, &given, 0);
	KUNIT_EXPECT_TRUE(test, params->dual_pte);
	KUNIT_EXPECT_TRUE(test, params->cache_invalid);
	KUNIT_EXPECT_EQ(test, SZ_16M / PAGE_SIZE, params->mmu_pages);
	KUNIT_EXPECT_EQ(test, 0, params->range_bytes);
}

/* Expects that @value, a member of @given, is possible from @low to @high. */
static void params_expect(struct kunit *test, struct pagoda_vgpu_given *given,
			  unsigned int *value, u64 low, u64 high)
{
	unsigned int before = *value;

	*value = low;
	params_read(test, given, 0);
	*value = high;
	params_read(test, given, 0);
	*value = low - 1;
	params_read(test, given, -EINVAL);
	*value = high + 1;
	params_read(test, given, -EINVAL);
	*value = before;
}

/* VRAM, and all windows of swizzling ranges, have at most half of the machine's memory. */
static void params_bounds(struct kunit *test)
{
	struct pagoda_vgpu_given given = params_good();
	const u64 half = max_t(u64, (u64)totalram_pages() * PAGE_SIZE / 2 >> 20, 1);
	const u32 pages = SZ_1M / PAGE_SIZE;

	params_expect(test, &given, &given.vram_mb, 1,
		      min_t(u64, half, VIRTIO_PAGODA_MAX_VRAM >> 20));
	params_expect(test, &given, &given.aperture_mb, 1,
		      VIRTIO_PAGODA_MAX_APERTURE_PAGES / pages);
	params_expect(test, &given, &given.engines, 1, VIRTIO_PAGODA_MAX_ENGINES);
	params_expect(test, &given, &given.pt_levels, 2, 6);
	params_expect(test, &given, &given.dual_pte, 0, 1);
	params_expect(test, &given, &given.cache_invalid, 0, 1);
	params_expect(test, &given, &given.device_mmu, 0, 1);
	params_expect(test, &given, &given.mmu_mb, 1, VIRTIO_PAGODA_MAX_MMU_PAGES / pages);
	params_expect(test, &given, &given.ranges, 0, VIRTIO_PAGODA_MAX_SWIZZLING_RANGES);
	params_expect(test, &given, &given.range_mb, 1, max_t(u64, half / 2, 1));
	given.ranges = 0;
	params_expect(test, &given, &given.range_mb, 1, half);
}

/* Three levels don't translate 47 bits of address; five and more do with bits to spare. */
static void params_levels(struct kunit *test)
{
	static const u32 bits[] = { [2] = 47, [4] = 48, [5] = 57, [6] = 63 };
	struct pagoda_vgpu_given given = params_good();
	struct pagoda_vgpu_params *params;

	for (given.pt_levels = 2; given.pt_levels < ARRAY_SIZE(bits); given.pt_levels++) {
		params = params_read(test, &given, bits[given.pt_levels] ? 0 : -EINVAL);
		KUNIT_EXPECT_EQ(test, bits[given.pt_levels], params->va_bits);
	}
}

/* The CPU reaches all of VRAM, none of it, or a part, by default a quarter. */
static void params_visible(struct kunit *test)
{
	static const struct {
		char *visible;
		u32 visible_mb;
		int want;
		u32 mb;
	} rows[] = {
		{ "all", 0, 0, VRAM_MB },
		{ "none", 0, 0, 0 },
		{ "some", 0, 0, VRAM_MB / 4 },
		{ "some", 1, 0, 1 },
		{ "some", VRAM_MB, 0, VRAM_MB },
		{ "some", VRAM_MB + 1, -EINVAL, 0 },
		{ "all", 1, -EINVAL, VRAM_MB },
		{ "none", 1, -EINVAL, 0 },
		{ "most", 0, -EINVAL, 0 },
	};
	struct pagoda_vgpu_given given = params_good();
	struct pagoda_vgpu_params *params;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		given.visible = rows[i].visible;
		given.visible_mb = rows[i].visible_mb;
		params = params_read(test, &given, rows[i].want);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].mb * SZ_1M, params->visible_size, "row %u", i);
	}
}

static void params_reset(struct kunit *test)
{
	struct pagoda_vgpu_given given = params_good();

	KUNIT_EXPECT_EQ(test, PAGODA_ENGINE_VRAM_KEEP, params_read(test, &given, 0)->reset_vram);
	given.reset_vram = "zero";
	KUNIT_EXPECT_EQ(test, PAGODA_ENGINE_VRAM_ZERO, params_read(test, &given, 0)->reset_vram);
	given.reset_vram = "poison";
	KUNIT_EXPECT_EQ(test, PAGODA_ENGINE_VRAM_POISON, params_read(test, &given, 0)->reset_vram);
	given.reset_vram = "random";
	params_read(test, &given, -EINVAL);
}

/* Of the ways in which VRAM outlives sleep only half= has a number of bytes. */
static void params_preserve(struct kunit *test)
{
	static const struct {
		char *preserve;
		u32 preserved;
		u32 mb;
	} rows[] = {
		{ "nothing", 0, 0 },
		{ "standby", VIRTIO_PAGODA_PRESERVED_STANDBY, 0 },
		{ "half", VIRTIO_PAGODA_PRESERVED_STANDBY |
			  VIRTIO_PAGODA_PRESERVED_HIBERNATE_PART, VRAM_MB / 2 },
		{ "always", VIRTIO_PAGODA_PRESERVED_STANDBY | VIRTIO_PAGODA_PRESERVED_HIBERNATE,
		  0 },
	};
	struct pagoda_vgpu_given given = params_good();
	struct pagoda_vgpu_params *params;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		given.preserve = rows[i].preserve;
		params = params_read(test, &given, 0);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].preserved, params->preserved, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].mb * SZ_1M, params->preserved_bytes, "row %u",
				    i);
	}
	given.preserve = "some";
	params_read(test, &given, -EINVAL);
}

/* ---- Lists ------------------------------------------------------------------------------ */

/* Invalid ranges, in KiB, are sorted; they may touch, but neither overlap nor leave VRAM. */
static void params_invalid_ranges(struct kunit *test)
{
	static char * const wrong[] = {
		"1", "4:4,8", "0:0", "2:4", "4:2", "x:4", "4:x", "-4:4", "0:8,4:8", "4:4,4:4",
		"4:4,,8:4", "8188:8", "8196:4", "0:8196", "4:" LONG_NUMBER,
	};
	struct pagoda_vgpu_given given = params_good();
	struct pagoda_vgpu_params *params;
	u32 i;

	given.invalid = " 8188:4,64:0x10,0:64,";
	params = params_read(test, &given, 0);
	KUNIT_ASSERT_EQ(test, 3, params->nr_invalid);
	KUNIT_EXPECT_EQ(test, 0, params->invalid[0].start);
	KUNIT_EXPECT_EQ(test, SZ_64K, params->invalid[0].size);
	KUNIT_EXPECT_EQ(test, SZ_64K, params->invalid[1].start);
	KUNIT_EXPECT_EQ(test, SZ_16K, params->invalid[1].size);
	KUNIT_EXPECT_EQ(test, SZ_8M - SZ_4K, params->invalid[2].start);
	KUNIT_EXPECT_EQ(test, SZ_4K, params->invalid[2].size);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		given.invalid = wrong[i];
		params_read(test, &given, -EINVAL);
	}
}

/* There is room for so many ranges. */
static void params_most_ranges(struct kunit *test)
{
	char *text = test_zalloc(test, PAGODA_VGPU_MAX_INVALID * 16 + 16);
	struct pagoda_vgpu_given given = params_good();
	u32 i, length = 0;

	for (i = 0; i < PAGODA_VGPU_MAX_INVALID; i++)
		length += sprintf(text + length, "%u:4,", i * 8);
	given.invalid = text;
	KUNIT_EXPECT_EQ(test, PAGODA_VGPU_MAX_INVALID, params_read(test, &given, 0)->nr_invalid);
	sprintf(text + length, "%u:4", i * 8);
	params_read(test, &given, -EINVAL);
}

/* misconfigure= sets fields, and the features but those of the transport. */
static void params_misconfigure(struct kunit *test)
{
	static const char * const wrong[] = {
		"none", "unknown:4096", "vram_size", "vram_size:", "vram_size:x", "features:x",
		"vram_size:4096,pt_levels", "vram_size:" LONG_NUMBER,
	};
	struct virtio_pagoda_config config = { .aperture_pages = cpu_to_le64(7) };
	u64 features = BIT_ULL(VIRTIO_F_VERSION_1) | BIT_ULL(0) | BIT_ULL(50);
	char pair[80];
	u32 i;

	KUNIT_EXPECT_EQ(test, 0, pagoda_vgpu_misconfigure("", &config, &features));
	KUNIT_EXPECT_EQ(test, BIT_ULL(VIRTIO_F_VERSION_1) | BIT_ULL(0) | BIT_ULL(50), features);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vgpu_misconfigure("vram_size:0x100000001,pt_levels:3",
							  &config, &features));
	KUNIT_EXPECT_EQ(test, SZ_4G + 1, le64_to_cpu(config.vram_size));
	KUNIT_EXPECT_EQ(test, 3, le32_to_cpu(config.pt_levels));
	KUNIT_EXPECT_EQ(test, 7, le64_to_cpu(config.aperture_pages));
	KUNIT_EXPECT_EQ(test, 0, pagoda_vgpu_misconfigure("features:0x10000002", &config,
							  &features));
	KUNIT_EXPECT_EQ(test, BIT_ULL(VIRTIO_F_VERSION_1) | BIT_ULL(1), features);
	/* A pair has 63 characters at most. */
	snprintf(pair, sizeof(pair), "vram_size:0x%051x", 4096);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vgpu_misconfigure(pair, &config, &features));
	KUNIT_EXPECT_EQ(test, 4096, le64_to_cpu(config.vram_size));
	snprintf(pair, sizeof(pair), "vram_size:0x%052x", 4096);
	KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_vgpu_misconfigure(pair, &config, &features));
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    pagoda_vgpu_misconfigure(wrong[i], &config, &features), "%s",
				    wrong[i]);
}

static struct kunit_case params_cases[] = {
	KUNIT_CASE(params_are_read),
	KUNIT_CASE(params_bounds),
	KUNIT_CASE(params_levels),
	KUNIT_CASE(params_visible),
	KUNIT_CASE(params_reset),
	KUNIT_CASE(params_preserve),
	KUNIT_CASE(params_invalid_ranges),
	KUNIT_CASE(params_most_ranges),
	KUNIT_CASE(params_misconfigure),
	{}
};

static struct kunit_suite params_suite = {
	.name = "pagoda_uapi_params",
	.test_cases = params_cases,
};

kunit_test_suite(params_suite);
