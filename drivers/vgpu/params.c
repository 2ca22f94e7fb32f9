// SPDX-License-Identifier: GPL-2.0
/*
 * Module parameters: each is checked; an invalid parameter is logged by name. Also applies
 * misconfigure=, by which tests falsify the configuration space.
 */
#define pr_fmt(fmt) "pagoda_vgpu: " fmt

#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "vgpu.h"

static int params_range(const char *name, u64 value, u64 low, u64 high)
{
	if (value >= low && value <= high)
		return 0;
	pr_err("%s=%llu is out of range, %llu to %llu are possible\n", name, value, low, high);
	return -EINVAL;
}

#define PARAMS_RANGE(given, member, low, high) \
	params_range(#member, (given)->member, low, high)

/* Room in bytes for a pair "key:value" and its terminating zero; a longer pair is refused. */
#define PARAMS_PAIR	64

typedef int (*params_pair_fn)(void *context, const char *key, const char *value);

/* Passes the pair "key:value", @length bytes at @from, to @pair. Returns 0 or a negative error. */
static int params_pair(const char *from, size_t length, params_pair_fn pair, void *context)
{
	char item[PARAMS_PAIR];
	char *key, *value;

	if (length >= sizeof(item))
		return -EINVAL;
	memcpy(item, from, length);
	item[length] = '\0';
	key = strim(item);
	value = strchr(key, ':');
	if (!value)
		return -EINVAL;
	*value++ = '\0';
	return pair(context, key, value);
}

/*
 * Splits @list, "key:value,key:value", and passes each pair to @pair. Returns 0, or the first error
 * after logging it with @name, the module parameter.
 */
static int params_pairs(const char *name, const char *list, params_pair_fn pair, void *context)
{
	const char *rest = skip_spaces(list);
	size_t length;
	int err;

	for (; *rest; rest += length + (rest[length] == ',')) {
		length = strcspn(rest, ",");
		err = params_pair(rest, length, pair, context);
		if (err) {
			pr_err("%s=%s: \"%.*s\" is not understood or not possible\n", name, list,
			       (int)length, rest);
			return err;
		}
	}
	return 0;
}

/*
 * Adds the range of VRAM from @key KiB on, @value KiB long, to params->invalid. Returns 0, or
 * -EINVAL if either isn't a number, the range is empty, outside of VRAM or not page aligned, or the
 * array is full.
 */
static int params_invalid(void *context, const char *key, const char *value)
{
	struct pagoda_vgpu_params *params = context;
	struct pagoda_engine_range *range = &params->invalid[params->nr_invalid];
	u64 start, size;

	if (params->nr_invalid == PAGODA_VGPU_MAX_INVALID ||
	    kstrtou64(key, 0, &start) || kstrtou64(value, 0, &size) ||
	    start > params->vram_size / 1024 || size > params->vram_size / 1024 - start ||
	    !size || start % 4 || size % 4)
		return -EINVAL;
	range->start = start * 1024;
	range->size = size * 1024;
	params->nr_invalid++;
	return 0;
}

static int params_range_cmp(const void *a, const void *b)
{
	const struct pagoda_engine_range *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static int params_read_invalid(const struct pagoda_vgpu_given *given,
			       struct pagoda_vgpu_params *params)
{
	u32 i;
	int err;

	err = params_pairs("invalid", given->invalid, params_invalid, params);
	if (err)
		return err;
	sort(params->invalid, params->nr_invalid, sizeof(params->invalid[0]),
	     params_range_cmp, NULL);
	for (i = 1; i < params->nr_invalid; i++) {
		if (params->invalid[i].start <
		    params->invalid[i - 1].start + params->invalid[i - 1].size) {
			pr_err("invalid=%s: ranges overlap\n", given->invalid);
			return -EINVAL;
		}
	}
	return 0;
}

static int params_read_visible(const struct pagoda_vgpu_given *given,
			       struct pagoda_vgpu_params *params)
{
	const char *visible = given->visible;
	int err;

	if (!strcmp(visible, "all")) {
		params->visible_size = params->vram_size;
	} else if (!strcmp(visible, "none")) {
		params->visible_size = 0;
	} else if (strcmp(visible, "some")) {
		pr_err("visible=%s is unknown, all, some and none are possible\n", visible);
		return -EINVAL;
	} else if (given->visible_mb) {
		err = PARAMS_RANGE(given, visible_mb, 1, given->vram_mb);
		if (err)
			return err;
		params->visible_size = (u64)given->visible_mb << 20;
	} else {
		params->visible_size = ALIGN_DOWN(params->vram_size / 4, PAGE_SIZE);
	}
	if (given->visible_mb && strcmp(visible, "some")) {
		pr_err("visible_mb=%u has a meaning with visible=some only\n",
		       given->visible_mb);
		return -EINVAL;
	}
	return 0;
}

/*
 * Reads the parameters of page tables. Three levels of 9 bits don't translate 47 bits of address;
 * two levels do, because their root may have more than 512 entries. Returns 0 or a negative errno.
 */
static int params_read_tables(const struct pagoda_vgpu_given *given,
			      struct pagoda_vgpu_params *params)
{
	const u32 pt_levels = given->pt_levels;

	if (pt_levels == 3) {
		pr_err("pt_levels=3 is not enough for 47 bits, 2, 4, 5 and 6 are possible\n");
		return -EINVAL;
	}
	params->pt_levels = pt_levels;
	params->va_bits = pt_levels == 2 ? 47 :
			  min(VIRTIO_PAGODA_PAGE_SHIFT + VIRTIO_PAGODA_PT_INDEX_BITS * pt_levels,
			      63u);
	params->dual_pte = given->dual_pte;
	params->cache_invalid = given->cache_invalid;
	return 0;
}

/*
 * Reads the parameters of swizzling ranges. All windows together have at most @half MiB, or 1 MiB
 * each if that is more. Returns 0 or a negative errno.
 */
static int params_read_ranges(const struct pagoda_vgpu_given *given,
			      struct pagoda_vgpu_params *params, u64 half)
{
	const u32 ranges = given->ranges;
	int err;

	err = PARAMS_RANGE(given, range_mb, 1, max(half / max(ranges, 1u), 1ull));
	if (err)
		return err;
	params->ranges = ranges;
	params->range_bytes = ranges ? (u64)given->range_mb << 20 : 0;
	return 0;
}

static int params_read_reset(const struct pagoda_vgpu_given *given,
			     struct pagoda_vgpu_params *params)
{
	static const char *const names[] = {
		[PAGODA_ENGINE_VRAM_POISON] = "poison",
		[PAGODA_ENGINE_VRAM_ZERO] = "zero",
		[PAGODA_ENGINE_VRAM_KEEP] = "keep",
	};
	int value = match_string(names, ARRAY_SIZE(names), given->reset_vram);

	if (value < 0) {
		pr_err("reset_vram=%s is unknown, poison, zero and keep are possible\n",
		       given->reset_vram);
		return -EINVAL;
	}
	params->reset_vram = value;
	return 0;
}

static int params_read_preserve(const struct pagoda_vgpu_given *given,
				struct pagoda_vgpu_params *params)
{
	static const char *const names[] = { "nothing", "standby", "half", "always" };
	static const u32 flags[] = {
		0,
		VIRTIO_PAGODA_PRESERVED_STANDBY,
		VIRTIO_PAGODA_PRESERVED_STANDBY | VIRTIO_PAGODA_PRESERVED_HIBERNATE_PART,
		VIRTIO_PAGODA_PRESERVED_STANDBY | VIRTIO_PAGODA_PRESERVED_HIBERNATE,
	};
	int value = match_string(names, ARRAY_SIZE(names), given->preserve);

	if (value < 0) {
		pr_err("preserve=%s is unknown, nothing, standby, half and always are possible\n",
		       given->preserve);
		return -EINVAL;
	}
	params->preserved = flags[value];
	if (params->preserved & VIRTIO_PAGODA_PRESERVED_HIBERNATE_PART)
		params->preserved_bytes = params->vram_size / 2;
	return 0;
}

/* Checks parameters whose bounds are constant; @half: as in pagoda_vgpu_params_read(). */
static int params_check_bounds(const struct pagoda_vgpu_given *given, u64 half)
{
	return PARAMS_RANGE(given, vram_mb, 1, min_t(u64, half, VIRTIO_PAGODA_MAX_VRAM >> 20)) ?:
	       PARAMS_RANGE(given, aperture_mb, 1,
			    VIRTIO_PAGODA_MAX_APERTURE_PAGES >> (20 - PAGE_SHIFT)) ?:
	       PARAMS_RANGE(given, engines, 1, VIRTIO_PAGODA_MAX_ENGINES) ?:
	       PARAMS_RANGE(given, pt_levels, 2, 6) ?:
	       PARAMS_RANGE(given, dual_pte, 0, 1) ?:
	       PARAMS_RANGE(given, cache_invalid, 0, 1) ?:
	       PARAMS_RANGE(given, device_mmu, 0, 1) ?:
	       PARAMS_RANGE(given, mmu_mb, 1,
			    VIRTIO_PAGODA_MAX_MMU_PAGES >> (20 - PAGE_SHIFT)) ?:
	       PARAMS_RANGE(given, ranges, 0, VIRTIO_PAGODA_MAX_SWIZZLING_RANGES);
}

/*
 * Checks the module parameters @given and stores them in @params, which uses the text of
 * misconfigure=. Returns 0, or -EINVAL after a line in the log that names the invalid parameter.
 */
int pagoda_vgpu_params_read(const struct pagoda_vgpu_given *given,
			    struct pagoda_vgpu_params *params)
{
	/* Half of the machine's memory in MiB: the most for VRAM, and for all swizzling windows. */
	u64 half = max_t(u64, (u64)totalram_pages() * PAGE_SIZE / 2 >> 20, 1);
	int err = params_check_bounds(given, half);

	if (err)
		return err;
	*params = (struct pagoda_vgpu_params) {
		.vram_size = (u64)given->vram_mb << 20,
		.aperture_pages = (u64)given->aperture_mb << (20 - PAGE_SHIFT),
		.engines = given->engines,
		.mmu_pages = given->device_mmu ? (u64)given->mmu_mb << (20 - PAGE_SHIFT) : 0,
		.misconfigure = given->misconfigure,
	};
	return params_read_tables(given, params) ?: params_read_ranges(given, params, half) ?:
	       params_read_visible(given, params) ?: params_read_reset(given, params) ?:
	       params_read_preserve(given, params) ?: params_read_invalid(given, params);
}

/* A field of the configuration space that the parameter misconfigure= can name. */
struct pagoda_params_field {
	const char *name;
	u32 offset;
	u32 size;
};

#define PAGODA_FIELD(field) { \
		.name = #field, \
		.offset = offsetof(struct virtio_pagoda_config, field), \
		.size = sizeof_field(struct virtio_pagoda_config, field), \
	}

static const struct pagoda_params_field params_fields[] = {
	PAGODA_FIELD(vram_size),
	PAGODA_FIELD(visible_size),
	PAGODA_FIELD(aperture_pages),
	PAGODA_FIELD(max_buffer_bytes),
	PAGODA_FIELD(max_runs),
	PAGODA_FIELD(num_engines),
	PAGODA_FIELD(alignment),
	PAGODA_FIELD(window_extents),
	PAGODA_FIELD(invalid_extents),
	PAGODA_FIELD(system_address_bits),
	PAGODA_FIELD(va_bits),
	PAGODA_FIELD(pt_levels),
	PAGODA_FIELD(page_sizes),
	PAGODA_FIELD(max_address_spaces),
	PAGODA_FIELD(swizzling_ranges),
	PAGODA_FIELD(swizzling_bytes),
	PAGODA_FIELD(swizzling_extents),
	PAGODA_FIELD(mmu_pages),
	PAGODA_FIELD(preserved),
	PAGODA_FIELD(preserved_bytes),
};

struct pagoda_params_config {
	struct virtio_pagoda_config *config;
	u64 *features;
};

static int params_field_set(void *context, const char *key, const char *value)
{
	struct pagoda_params_config *to = context;
	u64 transport = GENMASK_ULL(VIRTIO_TRANSPORT_F_END - 1, VIRTIO_TRANSPORT_F_START);
	__le64 number;
	u64 parsed;
	u32 i;

	if (kstrtou64(value, 0, &parsed))
		return -EINVAL;
	if (!strcmp(key, "features")) {
		*to->features = (*to->features & transport) | (parsed & ~transport);
		return 0;
	}
	number = cpu_to_le64(parsed);
	for (i = 0; i < ARRAY_SIZE(params_fields); i++) {
		if (strcmp(key, params_fields[i].name))
			continue;
		memcpy((u8 *)to->config + params_fields[i].offset, &number, params_fields[i].size);
		return 0;
	}
	return -EINVAL;
}

/*
 * Applies the module parameter misconfigure=, @list, for tests of drivers: falsifies the
 * configuration space and the offered features, except for those of the virtio transport; the
 * engine's limits stay unchanged. Returns 0, or a negative error after a line in the log.
 */
int pagoda_vgpu_misconfigure(const char *list, struct virtio_pagoda_config *config, u64 *features)
{
	struct pagoda_params_config to = { .config = config, .features = features };

	return params_pairs("misconfigure", list, params_field_set, &to);
}
