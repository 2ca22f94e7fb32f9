// SPDX-License-Identifier: GPL-2.0
/*
 * What the driver accepts from a device, and what it refuses: configuration, features, lists of
 * extents, completions, events, answers of the control queue.
 */
#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/sizes.h>
#include <linux/virtio_config.h>
#include "core/info.h"
#include "core/transport.h"
#include "rig/prove.h"
#include "vidmm/ttm/internal.h"
#include "virtio/check.h"
#include "virtio/virtio.h"

#define PAGODA_OP_BIT(NAME)	BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_##NAME))

static u64 virtio_test_features(void)
{
	return pagoda_features_wanted() | BIT_ULL(VIRTIO_F_VERSION_1);
}

static struct virtio_pagoda_config virtio_test_config(void)
{
	return (struct virtio_pagoda_config) {
		.vram_size = cpu_to_le64(SZ_64M),
		.visible_size = cpu_to_le64(SZ_16M),
		.aperture_pages = cpu_to_le64(4096),
		.max_buffer_bytes = cpu_to_le32(SZ_64K),
		.max_runs = cpu_to_le32(512),
		.num_engines = cpu_to_le32(2),
		.alignment = cpu_to_le32(SZ_4K),
		.window_extents = cpu_to_le32(4),
		.system_address_bits = cpu_to_le32(52),
		.va_bits = cpu_to_le32(48),
		.pt_levels = cpu_to_le32(4),
		.page_sizes = cpu_to_le32(SZ_4K | SZ_64K | SZ_2M),
		.max_address_spaces = cpu_to_le32(256),
		.swizzling_ranges = cpu_to_le32(4),
		.mmu_pages = cpu_to_le64(SZ_1G / SZ_4K),
		.swizzling_bytes = cpu_to_le64(SZ_1M),
		.swizzling_extents = cpu_to_le32(2),
	};
}

struct pagoda_config_case {
	const char *field;
	u32 offset;
	u32 bytes;
	u64 value;
	bool good;
	u64 drop_features;
};

#define PAGODA_CONFIG(_field, _value, _good) { \
	.field = #_field, \
	.offset = offsetof(struct virtio_pagoda_config, _field), \
	.bytes = sizeof_field(struct virtio_pagoda_config, _field), \
	.value = (_value), \
	.good = (_good), \
}

#define PAGODA_CONFIG_WITHOUT(_field, _value, _features) { \
	.field = #_field, \
	.offset = offsetof(struct virtio_pagoda_config, _field), \
	.bytes = sizeof_field(struct virtio_pagoda_config, _field), \
	.value = (_value), \
	.drop_features = (_features), \
}

/*
 * Values of fields, most of them just inside or just outside of the valid range, and values of
 * fields that need a feature, without that feature.
 */
static const struct pagoda_config_case config_cases[] = {
	PAGODA_CONFIG(vram_size, 0, false),
	PAGODA_CONFIG(vram_size, SZ_64M + 1, false),
	PAGODA_CONFIG(vram_size, SZ_64M + 2048, false),
	PAGODA_CONFIG(vram_size, SZ_64M + SZ_4K, true),
	PAGODA_CONFIG(vram_size, VIRTIO_PAGODA_MAX_VRAM, true),
	PAGODA_CONFIG(vram_size, VIRTIO_PAGODA_MAX_VRAM + SZ_4K, false),
	PAGODA_CONFIG(vram_size, U64_MAX, false),
	PAGODA_CONFIG(visible_size, SZ_64M, true),
	PAGODA_CONFIG(visible_size, SZ_64M + SZ_4K, false),
	PAGODA_CONFIG(visible_size, SZ_4K * 4 + 1, false),
	PAGODA_CONFIG(visible_size, U64_MAX - 4095, false),
	PAGODA_CONFIG(aperture_pages, 0, false),
	PAGODA_CONFIG(aperture_pages, 1, true),
	PAGODA_CONFIG(aperture_pages, VIRTIO_PAGODA_MAX_APERTURE_PAGES, true),
	PAGODA_CONFIG(aperture_pages, VIRTIO_PAGODA_MAX_APERTURE_PAGES + 1, false),
	PAGODA_CONFIG(max_buffer_bytes, 0, false),
	PAGODA_CONFIG(max_buffer_bytes, 2048, false),
	PAGODA_CONFIG(max_buffer_bytes, SZ_4K, true),
	PAGODA_CONFIG(max_buffer_bytes, SZ_4K + 8, false),
	PAGODA_CONFIG(max_buffer_bytes, SZ_64K + SZ_4K, false),
	PAGODA_CONFIG(max_buffer_bytes, U32_MAX, false),
	PAGODA_CONFIG(max_runs, 0, false),
	PAGODA_CONFIG(max_runs, 1, false),
	PAGODA_CONFIG(max_runs, 2, true),
	PAGODA_CONFIG(num_engines, 0, false),
	PAGODA_CONFIG(num_engines, VIRTIO_PAGODA_MAX_ENGINES, true),
	PAGODA_CONFIG(num_engines, VIRTIO_PAGODA_MAX_ENGINES + 1, false),
	PAGODA_CONFIG(num_engines, U32_MAX, false),
	PAGODA_CONFIG(alignment, 0, false),
	PAGODA_CONFIG(alignment, 2048, false),
	PAGODA_CONFIG(alignment, 3 * SZ_4K, false),
	PAGODA_CONFIG(alignment, SZ_2M, true),
	PAGODA_CONFIG(alignment, SZ_4M, false),
	PAGODA_CONFIG(window_extents, 0, false),
	PAGODA_CONFIG(window_extents, SZ_16M / SZ_4K, true),
	PAGODA_CONFIG(window_extents, SZ_16M / SZ_4K + 1, false),
	PAGODA_CONFIG(window_extents, U32_MAX, false),
	PAGODA_CONFIG(invalid_extents, SZ_64M / SZ_4K, true),
	PAGODA_CONFIG(invalid_extents, SZ_64M / SZ_4K + 1, false),
	PAGODA_CONFIG(invalid_extents, VIRTIO_PAGODA_MAX_EXTENTS + 1, false),
	PAGODA_CONFIG(system_address_bits, 31, false),
	PAGODA_CONFIG(system_address_bits, 32, true),
	PAGODA_CONFIG(system_address_bits, 53, false),
	PAGODA_CONFIG(va_bits, 46, false),
	PAGODA_CONFIG(va_bits, 47, true),
	PAGODA_CONFIG(va_bits, 64, false),
	PAGODA_CONFIG_WITHOUT(va_bits, 48, PAGODA_OP_BIT(UPDATE_PAGE_TABLE)),
	PAGODA_CONFIG_WITHOUT(va_bits, 48, PAGODA_OP_BIT(FLUSH_TLB)),
	PAGODA_CONFIG(pt_levels, 0, false),	/* va_bits without levels */
	PAGODA_CONFIG(pt_levels, 1, false),
	PAGODA_CONFIG(pt_levels, 2, true),	/* the root table is longer */
	PAGODA_CONFIG(pt_levels, 3, false),	/* translates only 39 bits */
	PAGODA_CONFIG(pt_levels, 5, false),	/* no index bits left for the root */
	PAGODA_CONFIG(pt_levels, 6, false),
	PAGODA_CONFIG(pt_levels, 7, false),
	PAGODA_CONFIG(page_sizes, 0, false),
	PAGODA_CONFIG(page_sizes, SZ_4K | SZ_64K, true),
	PAGODA_CONFIG(page_sizes, SZ_64K | SZ_2M, false),
	PAGODA_CONFIG(page_sizes, SZ_4K | SZ_8K, false),
	PAGODA_CONFIG(page_sizes, U32_MAX, false),
	PAGODA_CONFIG(max_address_spaces, 0, false),
	PAGODA_CONFIG(max_address_spaces, 1, true),
	PAGODA_CONFIG(max_address_spaces, VIRTIO_PAGODA_MAX_SPACES, true),
	PAGODA_CONFIG(max_address_spaces, VIRTIO_PAGODA_MAX_SPACES + 1, false),
	PAGODA_CONFIG(swizzling_ranges, VIRTIO_PAGODA_MAX_SWIZZLING_RANGES, true),
	PAGODA_CONFIG(swizzling_ranges, VIRTIO_PAGODA_MAX_SWIZZLING_RANGES + 1, false),
	PAGODA_CONFIG_WITHOUT(swizzling_ranges, 4, PAGODA_OP_BIT(SPECIAL_LOCK_TRANSFER)),
	PAGODA_CONFIG(swizzling_bytes, 0, false),
	PAGODA_CONFIG(swizzling_bytes, SZ_64K, true),
	PAGODA_CONFIG(swizzling_bytes, SZ_64K + SZ_4K, false),
	PAGODA_CONFIG(swizzling_bytes, VIRTIO_PAGODA_MAX_VRAM + SZ_64K, false),
	PAGODA_CONFIG(swizzling_extents, 0, false),
	PAGODA_CONFIG(swizzling_extents, 4 * SZ_1M / SZ_4K, true),
	PAGODA_CONFIG(swizzling_extents, 4 * SZ_1M / SZ_4K + 1, false),
	PAGODA_CONFIG(mmu_pages, 0, false),
	PAGODA_CONFIG(mmu_pages, 1, true),
	PAGODA_CONFIG(mmu_pages, VIRTIO_PAGODA_MAX_MMU_PAGES, true),
	PAGODA_CONFIG(mmu_pages, VIRTIO_PAGODA_MAX_MMU_PAGES + 1, false),
	PAGODA_CONFIG_WITHOUT(mmu_pages, 1, BIT_ULL(VIRTIO_PAGODA_F_DEVICE_MMU)),
	PAGODA_CONFIG_WITHOUT(mmu_pages, 1, PAGODA_OP_BIT(MAP_MMU)),
	PAGODA_CONFIG_WITHOUT(mmu_pages, 1, PAGODA_OP_BIT(UNMAP_MMU)),
	PAGODA_CONFIG_WITHOUT(visible_size, SZ_16M, BIT_ULL(VIRTIO_PAGODA_F_CPU_WINDOW)),
};

static void config_case_name(const struct pagoda_config_case *c, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s=0x%llx%s", c->field, c->value,
		 c->drop_features ? " without a feature" : "");
}

KUNIT_ARRAY_PARAM(pagoda_config, config_cases, config_case_name);

static void virtio_config_field(struct kunit *test)
{
	const struct pagoda_config_case *c = test->param_value;
	struct virtio_pagoda_config config = virtio_test_config();
	struct pagoda_refusal refusal = {};
	struct pagoda_config_counts counts;
	struct pagoda_device_info info = {};
	__le64 value = cpu_to_le64(c->value);
	int ret;

	/* Little endian: the low bytes come first. */
	memcpy((u8 *)&config + c->offset, &value, c->bytes);
	ret = pagoda_config_check(&config, virtio_test_features() & ~c->drop_features, &info,
				  &counts, &refusal);
	KUNIT_EXPECT_EQ(test, c->good ? 0 : -EINVAL, ret);
	if (c->good)
		return;
	/* The refusal names the field, not another field that limits it. */
	KUNIT_ASSERT_NOT_NULL(test, refusal.field);
	KUNIT_ASSERT_NOT_NULL(test, refusal.why);
	KUNIT_EXPECT_STREQ(test, c->field, refusal.field);
}

static void expect_tables(struct kunit *test, const struct pagoda_device_info *info,
			  const struct pagoda_config_counts *counts)
{
	KUNIT_EXPECT_EQ(test, 48, info->va_bits);
	KUNIT_EXPECT_EQ(test, 4, info->pt_levels);
	KUNIT_EXPECT_EQ(test, SZ_4K | SZ_64K | SZ_2M, info->page_sizes);
	KUNIT_EXPECT_EQ(test, 256, info->max_address_spaces);
	KUNIT_EXPECT_EQ(test, 4, info->swizzling_ranges);
	KUNIT_EXPECT_EQ(test, SZ_1M, info->swizzling_bytes);
	KUNIT_EXPECT_EQ(test, 2, counts->swizzling);
	KUNIT_EXPECT_EQ(test, SZ_1G / SZ_4K, info->mmu_pages);
	KUNIT_EXPECT_TRUE(test, info->dual_pte);
	KUNIT_EXPECT_TRUE(test, info->invalid_not_cached);
	KUNIT_EXPECT_TRUE(test, info->features & BIT_ULL(VIRTIO_PAGODA_F_DUAL_PTE));
	KUNIT_EXPECT_TRUE(test, info->features & BIT_ULL(VIRTIO_PAGODA_F_DEVICE_MMU));
}

/*
 * A device without the features of @none is accepted, unless max_address_spaces or pt_levels, which
 * belong to such features, isn't 0.
 */
static void virtio_config_bare(struct kunit *test)
{
	const u64 none = PAGODA_OP_BIT(SPECIAL_LOCK_TRANSFER) | PAGODA_OP_BIT(UPDATE_PAGE_TABLE) |
			 PAGODA_OP_BIT(FLUSH_TLB) | PAGODA_OP_BIT(MAP_MMU) |
			 PAGODA_OP_BIT(UNMAP_MMU) | BIT_ULL(VIRTIO_PAGODA_F_DEVICE_MMU) |
			 BIT_ULL(VIRTIO_PAGODA_F_DUAL_PTE) |
			 BIT_ULL(VIRTIO_PAGODA_F_INVALID_NOT_CACHED);
	struct virtio_pagoda_config config = virtio_test_config();
	struct pagoda_refusal refusal = {};
	struct pagoda_config_counts counts;
	struct pagoda_device_info info = {};

	config.va_bits = 0;
	config.pt_levels = 0;
	config.page_sizes = 0;
	config.max_address_spaces = 0;
	config.swizzling_ranges = 0;
	config.swizzling_bytes = 0;
	config.swizzling_extents = 0;
	config.mmu_pages = 0;
	KUNIT_EXPECT_EQ(test, 0,
			pagoda_config_check(&config, virtio_test_features() & ~none, &info, &counts,
					    &refusal));
	KUNIT_EXPECT_FALSE(test, info.dual_pte || info.invalid_not_cached);
	config.max_address_spaces = cpu_to_le32(1);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			pagoda_config_check(&config, virtio_test_features() & ~none, &info, &counts,
					    &refusal));
	KUNIT_EXPECT_STREQ(test, "max_address_spaces", refusal.field);
	config.max_address_spaces = 0;
	config.pt_levels = cpu_to_le32(4);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			pagoda_config_check(&config, virtio_test_features() & ~none, &info, &counts,
					    &refusal));
	KUNIT_EXPECT_STREQ(test, "pt_levels", refusal.field);
}

/* Of all combinations of va_bits, from 1 on, and pt_levels, only those in @widths are accepted. */
static void virtio_config_levels(struct kunit *test)
{
	static const struct {
		u32 from;
		u32 to;
	} widths[] = {
		[2] = { 47, 48 }, [4] = { 47, 48 }, [5] = { 49, 57 }, [6] = { 58, 63 },
	};
	struct virtio_pagoda_config config = virtio_test_config();
	struct pagoda_config_counts counts;
	struct pagoda_device_info info;
	u32 bits, levels;

	for (bits = 1; bits < 70; bits++) {
		for (levels = 0; levels < 9; levels++) {
			struct pagoda_refusal refusal = {};
			bool good = levels < ARRAY_SIZE(widths) && bits >= widths[levels].from &&
				    bits <= widths[levels].to;

			config.va_bits = cpu_to_le32(bits);
			config.pt_levels = cpu_to_le32(levels);
			KUNIT_EXPECT_EQ_MSG(test, good ? 0 : -EINVAL,
					    pagoda_config_check(&config, virtio_test_features(),
								&info, &counts, &refusal),
					    "%u bits, %u levels", bits, levels);
			KUNIT_EXPECT_EQ(test, good, !refusal.field);
		}
	}
}

/* DUAL_PTE is refused without 64 KiB pages, which the second word of an entry is for. */
static void virtio_config_dual(struct kunit *test)
{
	const u64 features = virtio_test_features();
	struct virtio_pagoda_config config = virtio_test_config();
	struct pagoda_refusal refusal = {};
	struct pagoda_config_counts counts;
	struct pagoda_device_info info = {};

	config.page_sizes = cpu_to_le32(SZ_4K | SZ_2M);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			pagoda_config_check(&config, features, &info, &counts, &refusal));
	KUNIT_EXPECT_STREQ(test, "DUAL_PTE", refusal.field);
	KUNIT_EXPECT_EQ(test, 0,
			pagoda_config_check(&config, features & ~BIT_ULL(VIRTIO_PAGODA_F_DUAL_PTE),
					    &info, &counts, &refusal));
	KUNIT_EXPECT_FALSE(test, info.dual_pte);
}

static void virtio_config_good(struct kunit *test)
{
	struct virtio_pagoda_config config = virtio_test_config();
	struct pagoda_refusal refusal = {};
	struct pagoda_config_counts counts;
	struct pagoda_device_info info = {};

	KUNIT_ASSERT_EQ(test, 0,
			pagoda_config_check(&config, virtio_test_features(), &info, &counts,
					    &refusal));
	KUNIT_EXPECT_EQ(test, SZ_64M, info.vram_size);
	KUNIT_EXPECT_EQ(test, SZ_16M, info.visible_size);
	KUNIT_EXPECT_EQ(test, 4096, info.aperture_pages);
	KUNIT_EXPECT_EQ(test, SZ_64K, info.max_buffer_bytes);
	KUNIT_EXPECT_EQ(test, 2, info.num_engines);
	KUNIT_EXPECT_EQ(test, 4, counts.window);
	KUNIT_EXPECT_EQ(test, 0, counts.invalid);
	KUNIT_EXPECT_TRUE(test, info.coherent);
	KUNIT_EXPECT_TRUE(test, info.vram_zeroed);
	KUNIT_EXPECT_TRUE(test, info.features & PAGODA_OP_BIT(TRANSFER));
	KUNIT_EXPECT_TRUE(test, info.features & BIT_ULL(VIRTIO_PAGODA_F_COHERENT));
	KUNIT_EXPECT_FALSE(test, info.features & BIT_ULL(VIRTIO_F_VERSION_1));
	expect_tables(test, &info, &counts);

	/* A list has at most VIRTIO_PAGODA_MAX_EXTENTS entries, also if VRAM has more pages. */
	config.vram_size = cpu_to_le64((VIRTIO_PAGODA_MAX_EXTENTS + 1ull) * SZ_4K);
	config.visible_size = config.vram_size;
	config.window_extents = cpu_to_le32(VIRTIO_PAGODA_MAX_EXTENTS);
	config.invalid_extents = cpu_to_le32(VIRTIO_PAGODA_MAX_EXTENTS);
	KUNIT_EXPECT_EQ(test, 0,
			pagoda_config_check(&config, virtio_test_features(), &info, &counts,
					    &refusal));
	config.window_extents = cpu_to_le32(VIRTIO_PAGODA_MAX_EXTENTS + 1);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			pagoda_config_check(&config, virtio_test_features(), &info, &counts,
					    &refusal));
	config.window_extents = cpu_to_le32(VIRTIO_PAGODA_MAX_EXTENTS);
	config.invalid_extents = cpu_to_le32(VIRTIO_PAGODA_MAX_EXTENTS + 1);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			pagoda_config_check(&config, virtio_test_features(), &info, &counts,
					    &refusal));
}

/*
 * Without a required feature the device is refused with -ENODEV and the feature's name. Of the two
 * operations that map the aperture, one is enough.
 */
static void virtio_features(struct kunit *test)
{
	const u64 maps = PAGODA_OP_BIT(MAP_APERTURE_SEGMENT) |
			 PAGODA_OP_BIT(MAP_APERTURE_SEGMENT2);
	static const struct {
		u64 bit;
		const char *name;
	} required[] = {
		{ BIT_ULL(VIRTIO_F_VERSION_1), "VERSION_1" },
		{ PAGODA_OP_BIT(TRANSFER), "TRANSFER" },
		{ PAGODA_OP_BIT(FILL), "FILL" },
		{ PAGODA_OP_BIT(DISCARD_CONTENT), "DISCARD_CONTENT" },
		{ PAGODA_OP_BIT(READ_PHYSICAL), "READ_PHYSICAL" },
		{ PAGODA_OP_BIT(WRITE_PHYSICAL), "WRITE_PHYSICAL" },
		{ PAGODA_OP_BIT(UNMAP_APERTURE_SEGMENT), "UNMAP_APERTURE_SEGMENT" },
		{ PAGODA_OP_BIT(SIGNAL_MONITORED_FENCE), "SIGNAL_MONITORED_FENCE" },
		{ PAGODA_OP_BIT(NOTIFY_ALLOC), "NOTIFY_ALLOC" },
		{ BIT_ULL(VIRTIO_PAGODA_F_COHERENT), "COHERENT" },
	};
	u64 all = virtio_test_features();
	struct pagoda_refusal refusal = {};
	u32 i;

	KUNIT_EXPECT_EQ(test, 0, pagoda_features_check(all, false, &refusal));
	for (i = 0; i < ARRAY_SIZE(required); i++) {
		KUNIT_EXPECT_EQ(test, -ENODEV,
				pagoda_features_check(all & ~required[i].bit, false, &refusal));
		KUNIT_EXPECT_STREQ(test, required[i].name, refusal.field);
	}
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_features_check(all & ~maps, false, &refusal));
	all &= ~PAGODA_OP_BIT(MAP_APERTURE_SEGMENT);
	KUNIT_EXPECT_EQ(test, 0, pagoda_features_check(all, false, &refusal));
	all ^= maps;
	KUNIT_EXPECT_EQ(test, 0, pagoda_features_check(all, false, &refusal));
	/* If an IOMMU translates addresses, a device without ACCESS_PLATFORM is refused. */
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_features_check(all, true, &refusal));
	KUNIT_EXPECT_STREQ(test, "ACCESS_PLATFORM", refusal.field);
	all |= BIT_ULL(VIRTIO_F_ACCESS_PLATFORM);
	KUNIT_EXPECT_EQ(test, 0, pagoda_features_check(all, true, &refusal));
	all &= ~BIT_ULL(VIRTIO_PAGODA_F_COHERENT);
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_features_check(all, false, &refusal));
	KUNIT_EXPECT_STREQ(test, "COHERENT", refusal.field);
}

struct pagoda_extents_case {
	const char *name;
	u32 count;
	struct pagoda_extent extents[3];
	bool good_window;	/* the list may describe a CPU window of 8 pages */
	bool good_invalid;	/* the list may say which parts of 8 pages of VRAM are invalid */
};

#define PAGODA_PAGES(n)	((u64)(n) * VIRTIO_PAGODA_PAGE_SIZE)

static const struct pagoda_extents_case extents_cases[] = {
	{ "none", 0, {}, false, true },
	{ "whole", 1, { { PAGODA_PAGES(100), 0, PAGODA_PAGES(8) } }, true, false },
	{ "whole, no address", 1, { { 0, 0, PAGODA_PAGES(8) } }, true, true },
	{ "two", 2, { { PAGODA_PAGES(9), 0, PAGODA_PAGES(2) },
		      { PAGODA_PAGES(1), PAGODA_PAGES(2), PAGODA_PAGES(6) } }, true, false },
	{ "gap", 2, { { 0, 0, PAGODA_PAGES(2) },
		      { 0, PAGODA_PAGES(3), PAGODA_PAGES(5) } }, false, true },
	{ "overlap", 2, { { 0, 0, PAGODA_PAGES(3) },
			  { 0, PAGODA_PAGES(2), PAGODA_PAGES(6) } }, false, false },
	{ "unsorted", 2, { { 0, PAGODA_PAGES(2), PAGODA_PAGES(6) },
			   { 0, 0, PAGODA_PAGES(2) } }, false, false },
	{ "short", 1, { { 0, 0, PAGODA_PAGES(7) } }, false, true },
	{ "long", 1, { { 0, 0, PAGODA_PAGES(9) } }, false, false },
	{ "empty entry", 2, { { 0, 0, PAGODA_PAGES(8) }, { 0, PAGODA_PAGES(8), 0 } },
	  false, false },
	{ "odd size", 1, { { 0, 0, PAGODA_PAGES(8) - 1 } }, false, false },
	{ "odd offset", 1, { { 0, 8, PAGODA_PAGES(7) } }, false, false },
	{ "odd address", 1, { { 8, 0, PAGODA_PAGES(8) } }, false, false },
	{ "size overflows", 1, { { 0, PAGODA_PAGES(1), -PAGODA_PAGES(1) } }, false, false },
	{ "sum overflows", 2, { { 0, 0, PAGODA_PAGES(4) },
				{ 0, PAGODA_PAGES(4), -PAGODA_PAGES(4) } }, false, false },
	{ "address overflows", 1, { { -PAGODA_PAGES(4), 0, PAGODA_PAGES(8) } }, false, false },
	{ "outside", 1, { { 0, PAGODA_PAGES(8), PAGODA_PAGES(1) } }, false, false },
};

KUNIT_ARRAY_PARAM_DESC(pagoda_extents, extents_cases, name);

static void virtio_extents(struct kunit *test)
{
	const struct pagoda_extents_case *c = test->param_value;
	struct pagoda_refusal refusal = {};

	KUNIT_EXPECT_EQ(test, c->good_window ? 0 : -EINVAL,
			pagoda_extents_check_window(c->extents, c->count, PAGODA_PAGES(8),
						    "CPU window", &refusal));
	KUNIT_EXPECT_EQ(test, c->good_invalid ? 0 : -EINVAL,
			pagoda_extents_check_invalid(c->extents, c->count, PAGODA_PAGES(8),
						     &refusal));
}

static void expect_memory(struct kunit *test, const struct pagoda_extent *list, u32 count,
			  bool in_kernel, bool good)
{
	struct pagoda_refusal refusal = {};

	KUNIT_EXPECT_EQ(test, good ? 0 : -EINVAL,
			pagoda_extents_check_memory(list, count, in_kernel, "CPU window",
						    &refusal));
	KUNIT_EXPECT_EQ(test, good, !refusal.field);
	KUNIT_EXPECT_EQ(test, good ? 0 : count - 1, refusal.value);
}

/*
 * Extents of a CPU window in the machine's own memory are accepted only if the device is a module
 * of this kernel, whose windows must be in that memory.
 */
static void virtio_extents_memory(struct kunit *test)
{
	unsigned long address = __get_free_pages(GFP_KERNEL, 1);
	struct pagoda_extent list[2];

	KUNIT_ASSERT_NE(test, 0, address);
	list[0] = (struct pagoda_extent) { .address = 1ull << 45, .size = PAGODA_PAGES(2) };
	list[1] = (struct pagoda_extent) {
		.address = virt_to_phys((void *)address),
		.offset = PAGODA_PAGES(2),
		.size = PAGODA_PAGES(2),
	};
	expect_memory(test, list, 1, false, true);
	expect_memory(test, list, 2, false, false);
	expect_memory(test, &list[1], 1, true, true);
	expect_memory(test, list, 1, true, false);
	/* An extent that begins in the machine's memory and ends outside is refused. */
	list[1].size = (1ull << 45) - list[1].address;
	expect_memory(test, &list[1], 1, true, false);
	free_pages(address, 1);
}

#define PAGODA_TEST_SEQNO	77
#define PAGODA_TEST_SIZE	256

static struct virtio_pagoda_completion virtio_test_completion(u32 status)
{
	return (struct virtio_pagoda_completion) {
		.seqno = cpu_to_le64(PAGODA_TEST_SEQNO),
		.status = cpu_to_le32(status),
		.packets = cpu_to_le32(3),
		.fault = {
			.reason = cpu_to_le32(status == VIRTIO_PAGODA_STATUS_FAULT ?
					      VIRTIO_PAGODA_FAULT_BAD_RUNS : 0),
			.opcode = cpu_to_le32(VIRTIO_PAGODA_OP_TRANSFER),
			.offset = cpu_to_le32(48),
			.queue = cpu_to_le32(VIRTIO_PAGODA_QUEUE_PAGING),
			.seqno = cpu_to_le64(PAGODA_TEST_SEQNO),
			.address = cpu_to_le64(0x1234000),
			.access = cpu_to_le32(VIRTIO_PAGODA_ACCESS_WRITE),
			.level = cpu_to_le32(2),
			.command = cpu_to_le64(0x7000),
		},
	};
}

static enum pagoda_outcome virtio_test_outcome(const struct virtio_pagoda_completion *c, u32 len,
					       struct pagoda_fault *fault)
{
	const struct pagoda_request request = {
		.seqno = PAGODA_TEST_SEQNO, .size = PAGODA_TEST_SIZE,
	};

	return pagoda_completion_check(c, len, VIRTIO_PAGODA_QUEUE_PAGING, &request, fault);
}

static void virtio_completion_good(struct kunit *test)
{
	struct virtio_pagoda_completion c;
	struct pagoda_fault fault;

	c = virtio_test_completion(VIRTIO_PAGODA_STATUS_OK);
	KUNIT_EXPECT_EQ(test, PAGODA_OUTCOME_OK, virtio_test_outcome(&c, sizeof(c), &fault));
	c = virtio_test_completion(VIRTIO_PAGODA_STATUS_ABORTED);
	KUNIT_EXPECT_EQ(test, PAGODA_OUTCOME_ABORTED, virtio_test_outcome(&c, sizeof(c), &fault));
	c = virtio_test_completion(VIRTIO_PAGODA_STATUS_FAULT);
	KUNIT_EXPECT_EQ(test, PAGODA_OUTCOME_FAULT, virtio_test_outcome(&c, sizeof(c), &fault));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_BAD_RUNS, fault.reason);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_OP_TRANSFER, fault.opcode);
	KUNIT_EXPECT_EQ(test, 48, fault.offset);
	KUNIT_EXPECT_EQ(test, 0x1234000, fault.address);
	KUNIT_EXPECT_EQ(test, 2, fault.level);
	KUNIT_EXPECT_EQ(test, 0x7000, fault.command);
}

/*
 * An engine may execute a command more than once, so the number of packets in its completion isn't
 * limited by the request's size. A fault must name the request's context and queue.
 */
static void virtio_completion_execute(struct kunit *test)
{
	const struct pagoda_request request = {
		.seqno = PAGODA_TEST_SEQNO, .size = PAGODA_TEST_SIZE, .context = 5,
	};
	const u32 queue = VIRTIO_PAGODA_QUEUE_EXEC0 + 1;
	struct virtio_pagoda_completion c;
	struct pagoda_fault fault;

	c = virtio_test_completion(VIRTIO_PAGODA_STATUS_OK);
	c.packets = cpu_to_le32(U32_MAX);
	KUNIT_EXPECT_EQ(test, PAGODA_OUTCOME_OK,
			pagoda_completion_check(&c, sizeof(c), queue, &request, &fault));
	c = virtio_test_completion(VIRTIO_PAGODA_STATUS_FAULT);
	c.fault.queue = cpu_to_le32(queue);
	KUNIT_EXPECT_EQ(test, PAGODA_OUTCOME_BAD_ANSWER,
			pagoda_completion_check(&c, sizeof(c), queue, &request, &fault));
	c.fault.context = cpu_to_le64(5);
	KUNIT_EXPECT_EQ(test, PAGODA_OUTCOME_FAULT,
			pagoda_completion_check(&c, sizeof(c), queue, &request, &fault));
	KUNIT_EXPECT_EQ(test, PAGODA_OUTCOME_BAD_ANSWER,
			pagoda_completion_check(&c, sizeof(c), queue - 1, &request, &fault));
}

/* A completion must have one of two lengths, with @skipped or without, and a known status. */
static void virtio_completion_lengths(struct kunit *test)
{
	struct virtio_pagoda_completion c = virtio_test_completion(VIRTIO_PAGODA_STATUS_OK);
	struct pagoda_fault fault;
	u32 i;

	for (i = 0; i < 2 * sizeof(c); i++)
		KUNIT_EXPECT_EQ(test, i == sizeof(c) || i == offsetof(typeof(c), skipped) ?
				PAGODA_OUTCOME_OK : PAGODA_OUTCOME_BAD_ANSWER,
				virtio_test_outcome(&c, i, &fault));
	KUNIT_EXPECT_EQ(test, PAGODA_OUTCOME_BAD_ANSWER,
			virtio_test_outcome(&c, U32_MAX, &fault));
	for (i = 4; i < 300; i++) {
		c = virtio_test_completion(i);
		KUNIT_EXPECT_EQ(test, PAGODA_OUTCOME_BAD_ANSWER,
				virtio_test_outcome(&c, sizeof(c), &fault));
	}
	/* All zeros, as if the device had written nothing. */
	memset(&c, 0, sizeof(c));
	KUNIT_EXPECT_EQ(test, PAGODA_OUTCOME_BAD_ANSWER,
			virtio_test_outcome(&c, sizeof(c), &fault));
}

#define PAGODA_EXPECT_BAD(_status, _field, _value) do { \
	c = virtio_test_completion(_status); \
	c._field = (_value); \
	KUNIT_EXPECT_EQ_MSG(test, PAGODA_OUTCOME_BAD_ANSWER, \
			    virtio_test_outcome(&c, sizeof(c), &fault), #_field "=" #_value); \
	KUNIT_EXPECT_NULL(test, memchr_inv(&fault, 0, sizeof(fault))); \
} while (0)

/* A completion that contradicts its request or itself is a bad answer; the fault is all zeros. */
static void virtio_completion_impossible(struct kunit *test)
{
	struct virtio_pagoda_completion c;
	struct pagoda_fault fault;

	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_OK, seqno, cpu_to_le64(PAGODA_TEST_SEQNO + 1));
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_OK, seqno, 0);
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_OK, packets, cpu_to_le32(17));
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_OK, fault.reason, cpu_to_le32(1));
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_ABORTED, seqno, cpu_to_le64(U64_MAX));
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_FAULT, fault.reason, 0);
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_FAULT, fault.reason,
			  cpu_to_le32(VIRTIO_PAGODA_FAULT_COUNT));
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_FAULT, fault.offset,
			  cpu_to_le32(PAGODA_TEST_SIZE));
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_FAULT, fault.offset, cpu_to_le32(52));
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_FAULT, fault.queue,
			  cpu_to_le32(VIRTIO_PAGODA_QUEUE_EXEC0));
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_FAULT, fault.seqno, cpu_to_le64(1));
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_FAULT, fault.context, cpu_to_le64(1));
	PAGODA_EXPECT_BAD(VIRTIO_PAGODA_STATUS_FAULT, fault.access, cpu_to_le32(4));
}

static void virtio_events(struct kunit *test)
{
	struct virtio_pagoda_event raw = {
		.type = cpu_to_le32(VIRTIO_PAGODA_EVENT_FAULT),
		.lost = cpu_to_le32(2),
		.fault = virtio_test_completion(VIRTIO_PAGODA_STATUS_FAULT).fault,
	};
	struct pagoda_event event;
	u32 i;

	KUNIT_EXPECT_EQ(test, 0, pagoda_event_check(&raw, sizeof(raw), &event));
	KUNIT_EXPECT_EQ(test, 2, event.lost);
	KUNIT_EXPECT_EQ(test, PAGODA_TEST_SEQNO, event.seqno);
	KUNIT_EXPECT_EQ(test, 48, event.fault.offset);
	for (i = 0; i < sizeof(raw); i++)
		KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_event_check(&raw, i, &event));
	raw.fault.reason = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_event_check(&raw, sizeof(raw), &event));

	raw = (struct virtio_pagoda_event) {
		.type = cpu_to_le32(VIRTIO_PAGODA_EVENT_FENCE),
		.value = cpu_to_le64(0x123456789ull),
		.fault.address = cpu_to_le64(0x5000),
	};
	KUNIT_EXPECT_EQ(test, 0, pagoda_event_check(&raw, sizeof(raw), &event));
	KUNIT_EXPECT_EQ(test, 0x123456789ull, event.value);
	KUNIT_EXPECT_EQ(test, 0x5000, event.fault.address);
	raw.type = cpu_to_le32(VIRTIO_PAGODA_EVENT_RESET);
	KUNIT_EXPECT_EQ(test, 0, pagoda_event_check(&raw, sizeof(raw), &event));
	raw.type = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_event_check(&raw, sizeof(raw), &event));
	raw.type = cpu_to_le32(VIRTIO_PAGODA_EVENT_RESET + 1);
	KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_event_check(&raw, sizeof(raw), &event));
}

static int virtio_answer_check(const struct virtio_pagoda_answer *answer, u32 len)
{
	return pagoda_answer_check(answer, len, sizeof(struct virtio_pagoda_extent),
				   VIRTIO_PAGODA_MAX_EXTENTS_PER_ANSWER);
}

/*
 * An answer of the control queue is accepted only if its length fits the number of its entries, the
 * number isn't above the limit, and the status is OK; a refusal becomes -EINVAL.
 */
static void virtio_answers(struct kunit *test)
{
	const u32 entry = sizeof(struct virtio_pagoda_extent);
	struct virtio_pagoda_answer answer = {
		.status = cpu_to_le32(VIRTIO_PAGODA_CONTROL_OK),
	};
	u32 i;

	for (i = 0; i < 2 * sizeof(answer); i++)
		KUNIT_EXPECT_EQ(test, i == sizeof(answer) ? 0 : -EPROTO,
				virtio_answer_check(&answer, i));
	answer.count = cpu_to_le32(2);
	KUNIT_EXPECT_EQ(test, 0, virtio_answer_check(&answer, sizeof(answer) + 2 * entry));
	KUNIT_EXPECT_EQ(test, -EPROTO, virtio_answer_check(&answer, sizeof(answer) + entry));
	KUNIT_EXPECT_EQ(test, -EPROTO,
			pagoda_answer_check(&answer, sizeof(answer) + 2 * entry, 8, 2));
	KUNIT_EXPECT_EQ(test, 0, pagoda_answer_check(&answer, sizeof(answer) + 16, 8, 2));
	KUNIT_EXPECT_EQ(test, -EPROTO, pagoda_answer_check(&answer, sizeof(answer) + 16, 8, 1));
	answer.count = cpu_to_le32(VIRTIO_PAGODA_MAX_EXTENTS_PER_ANSWER + 1);
	i = sizeof(answer) + (VIRTIO_PAGODA_MAX_EXTENTS_PER_ANSWER + 1) * entry;
	KUNIT_EXPECT_EQ(test, -EPROTO, virtio_answer_check(&answer, i));
	answer.count = 0;
	answer.status = cpu_to_le32(VIRTIO_PAGODA_CONTROL_EINVAL);
	KUNIT_EXPECT_EQ(test, -EINVAL, virtio_answer_check(&answer, sizeof(answer)));
	answer.status = 0;
	KUNIT_EXPECT_EQ(test, -EPROTO, virtio_answer_check(&answer, sizeof(answer)));
	answer.status = cpu_to_le32(3);
	KUNIT_EXPECT_EQ(test, -EPROTO, virtio_answer_check(&answer, sizeof(answer)));
}

/*
 * Of the eight combinations of the flags in @preserved four are accepted, and no other bit. With
 * HIBERNATE_PART @preserved_bytes must be whole pages, at least one and less than VRAM; else 0.
 */
static void virtio_config_preserved(struct kunit *test)
{
	static const struct {
		u32 flags;
		u64 bytes;
		u64 standby;
		u64 hibernate;
	} good[] = {
		{ 0, 0, 0, 0 },
		{ VIRTIO_PAGODA_PRESERVED_STANDBY, 0, SZ_64M, 0 },
		{ VIRTIO_PAGODA_PRESERVED_STANDBY | VIRTIO_PAGODA_PRESERVED_HIBERNATE, 0, SZ_64M,
		  SZ_64M },
		{ VIRTIO_PAGODA_PRESERVED_STANDBY | VIRTIO_PAGODA_PRESERVED_HIBERNATE_PART, SZ_4K,
		  SZ_64M, SZ_4K },
		{ VIRTIO_PAGODA_PRESERVED_STANDBY | VIRTIO_PAGODA_PRESERVED_HIBERNATE_PART,
		  SZ_64M - SZ_4K, SZ_64M, SZ_64M - SZ_4K },
	};
	static const u64 sizes[] = { 0, 1, SZ_4K, SZ_4K + 1, SZ_64M - SZ_4K, SZ_64M, U64_MAX };
	u32 flags, size, i;

	for (flags = 0; flags < 16; flags++) {
		for (size = 0; size < ARRAY_SIZE(sizes); size++) {
			struct virtio_pagoda_config config = virtio_test_config();
			struct pagoda_refusal refusal = {};
			struct pagoda_config_counts counts;
			struct pagoda_device_info info = {};
			int ret;

			config.preserved = cpu_to_le32(flags);
			config.preserved_bytes = cpu_to_le64(sizes[size]);
			ret = pagoda_config_check(&config, virtio_test_features(), &info, &counts,
						  &refusal);
			for (i = 0; i < ARRAY_SIZE(good); i++)
				if (flags == good[i].flags && sizes[size] == good[i].bytes)
					break;
			PAGODA_PROVES(C199);
			KUNIT_EXPECT_EQ(test, i < ARRAY_SIZE(good) ? 0 : -EINVAL, ret);
			if (i == ARRAY_SIZE(good)) {
				KUNIT_EXPECT_NOT_NULL(test, strstr(refusal.field, "preserved"));
				continue;
			}
			KUNIT_EXPECT_EQ(test, good[i].standby, info.preserved_standby);
			KUNIT_EXPECT_EQ(test, good[i].hibernate, info.preserved_hibernate);
		}
	}
}

static struct kunit_case virtio_cases[] = {
	KUNIT_CASE(virtio_config_preserved),
	KUNIT_CASE_PARAM(virtio_config_field, pagoda_config_gen_params),
	KUNIT_CASE(virtio_config_good),
	KUNIT_CASE(virtio_config_bare),
	KUNIT_CASE(virtio_config_dual),
	KUNIT_CASE(virtio_config_levels),
	KUNIT_CASE(virtio_features),
	KUNIT_CASE_PARAM(virtio_extents, pagoda_extents_gen_params),
	KUNIT_CASE(virtio_extents_memory),
	KUNIT_CASE(virtio_completion_good),
	KUNIT_CASE(virtio_completion_execute),
	KUNIT_CASE(virtio_completion_lengths),
	KUNIT_CASE(virtio_completion_impossible),
	KUNIT_CASE(virtio_events),
	KUNIT_CASE(virtio_answers),
	{}
};

static struct kunit_suite virtio_suite = {
	.name = "pagoda_virtio",
	.test_cases = virtio_cases,
};

kunit_test_suite(virtio_suite);
