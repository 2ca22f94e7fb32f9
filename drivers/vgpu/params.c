// SPDX-License-Identifier: GPL-2.0
/*
 * Module parameters: each is checked; an invalid parameter is logged by name, and loading fails.
 * Also applies misconfigure=, by which tests falsify the configuration space.
 */
#define pr_fmt(fmt) "pagoda_vgpu: " fmt

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "vgpu.h"

static unsigned int vram_mb = 256;
module_param(vram_mb, uint, 0444);
MODULE_PARM_DESC(vram_mb, "Video memory in MiB (default 256)");

static char *visible = "all";
module_param(visible, charp, 0444);
MODULE_PARM_DESC(visible, "Video memory the CPU can reach: all, some or none (default all)");

static unsigned int visible_mb;
module_param(visible_mb, uint, 0444);
MODULE_PARM_DESC(visible_mb, "MiB the CPU can reach with visible=some (default a quarter)");

static unsigned int aperture_mb = 1024;
module_param(aperture_mb, uint, 0444);
MODULE_PARM_DESC(aperture_mb, "Address space of the aperture in MiB (default 1024)");

static unsigned int engines = 1;
module_param(engines, uint, 0444);
MODULE_PARM_DESC(engines, "Execution engines (default 1)");

static char *invalid = "";
module_param(invalid, charp, 0444);
MODULE_PARM_DESC(invalid, "Unusable video memory: offset:size[,offset:size...] in KiB (default none)");

static unsigned int pt_levels = 4;
module_param(pt_levels, uint, 0444);
MODULE_PARM_DESC(pt_levels, "Levels of page tables: 2, 4, 5 or 6 (default 4)");

static unsigned int dual_pte;
module_param(dual_pte, uint, 0444);
MODULE_PARM_DESC(dual_pte, "Level-1 entries hold a 4 KiB and a 64 KiB table: 0 or 1 (default 0)");

static unsigned int cache_invalid;
module_param(cache_invalid, uint, 0444);
MODULE_PARM_DESC(cache_invalid, "TLBs keep invalid entries: 0 or 1 (default 0)");

static unsigned int device_mmu;
module_param(device_mmu, uint, 0444);
MODULE_PARM_DESC(device_mmu, "The GPU translates system addresses itself: 0 or 1 (default 0)");

static unsigned int mmu_mb = 4096;
module_param(mmu_mb, uint, 0444);
MODULE_PARM_DESC(mmu_mb, "Address space of the GPU's own MMU in MiB (default 4096)");

static unsigned int ranges = 4;
module_param(ranges, uint, 0444);
MODULE_PARM_DESC(ranges, "Swizzling ranges (default 4)");

static unsigned int range_mb = 4;
module_param(range_mb, uint, 0444);
MODULE_PARM_DESC(range_mb, "MiB in the window of a swizzling range (default 4)");

static char *reset_vram = "poison";
module_param(reset_vram, charp, 0444);
MODULE_PARM_DESC(reset_vram,
		 "What video memory holds after a reset: poison, zero or keep (default poison)");

static char *preserve = "nothing";
module_param(preserve, charp, 0444);
MODULE_PARM_DESC(preserve,
		 "When video memory outlives that the machine sleeps: nothing, standby, half (of it in hibernation too) or always (default nothing)");

static char *misconfigure = "";
module_param(misconfigure, charp, 0444);
MODULE_PARM_DESC(misconfigure,
		 "Test only: falsify the configuration space, field:value[,field:value...]");

static int params_range(const char *name, u64 value, u64 low, u64 high)
{
	if (value >= low && value <= high)
		return 0;
	pr_err("%s=%llu is out of range, %llu to %llu are possible\n", name, value, low, high);
	return -EINVAL;
}

struct pagoda_params_bound {
	const char *name;
	const unsigned int *value;
	u64 low;
	u64 high;
};

#define PAGODA_BOUND(parameter, _low, _high) { \
		.name = #parameter, \
		.value = &(parameter), \
		.low = (_low), \
		.high = (_high), \
	}

/* Module parameters whose bounds are constant. */
static const struct pagoda_params_bound params_bounds[] = {
	PAGODA_BOUND(aperture_mb, 1, VIRTIO_PAGODA_MAX_APERTURE_PAGES >> (20 - PAGE_SHIFT)),
	PAGODA_BOUND(engines, 1, VIRTIO_PAGODA_MAX_ENGINES),
	PAGODA_BOUND(pt_levels, 2, 6),
	PAGODA_BOUND(dual_pte, 0, 1),
	PAGODA_BOUND(cache_invalid, 0, 1),
	PAGODA_BOUND(device_mmu, 0, 1),
	PAGODA_BOUND(mmu_mb, 1, VIRTIO_PAGODA_MAX_MMU_PAGES >> (20 - PAGE_SHIFT)),
	PAGODA_BOUND(ranges, 0, VIRTIO_PAGODA_MAX_SWIZZLING_RANGES),
};

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

static int params_read_invalid(struct pagoda_vgpu_params *params)
{
	u32 i;
	int err;

	err = params_pairs("invalid", invalid, params_invalid, params);
	if (err)
		return err;
	sort(params->invalid, params->nr_invalid, sizeof(params->invalid[0]),
	     params_range_cmp, NULL);
	for (i = 1; i < params->nr_invalid; i++) {
		if (params->invalid[i].start <
		    params->invalid[i - 1].start + params->invalid[i - 1].size) {
			pr_err("invalid=%s: ranges overlap\n", invalid);
			return -EINVAL;
		}
	}
	return 0;
}

static int params_read_visible(struct pagoda_vgpu_params *params)
{
	int err;

	if (!strcmp(visible, "all")) {
		params->visible_size = params->vram_size;
	} else if (!strcmp(visible, "none")) {
		params->visible_size = 0;
	} else if (strcmp(visible, "some")) {
		pr_err("visible=%s is unknown, all, some and none are possible\n", visible);
		return -EINVAL;
	} else if (visible_mb) {
		err = params_range("visible_mb", visible_mb, 1, vram_mb);
		if (err)
			return err;
		params->visible_size = (u64)visible_mb << 20;
	} else {
		params->visible_size = ALIGN_DOWN(params->vram_size / 4, PAGE_SIZE);
	}
	if (visible_mb && strcmp(visible, "some")) {
		pr_err("visible_mb=%u has a meaning with visible=some only\n", visible_mb);
		return -EINVAL;
	}
	return 0;
}

/*
 * Reads the parameters of page tables. Three levels of 9 bits don't translate 47 bits of address;
 * two levels do, because their root may have more than 512 entries. Returns 0 or a negative errno.
 */
static int params_read_tables(struct pagoda_vgpu_params *params)
{
	if (pt_levels == 3) {
		pr_err("pt_levels=3 is not enough for 47 bits, 2, 4, 5 and 6 are possible\n");
		return -EINVAL;
	}
	params->pt_levels = pt_levels;
	params->va_bits = pt_levels == 2 ? 47 :
			  min(VIRTIO_PAGODA_PAGE_SHIFT + VIRTIO_PAGODA_PT_INDEX_BITS * pt_levels,
			      63u);
	params->dual_pte = dual_pte;
	params->cache_invalid = cache_invalid;
	return 0;
}

/*
 * Reads the parameters of swizzling ranges. All windows together have at most @half MiB, or 1 MiB
 * each if that is more. Returns 0 or a negative errno.
 */
static int params_read_ranges(struct pagoda_vgpu_params *params, u64 half)
{
	int err;

	err = params_range("range_mb", range_mb, 1, max(half / max(ranges, 1u), 1ull));
	if (err)
		return err;
	params->ranges = ranges;
	params->range_bytes = ranges ? (u64)range_mb << 20 : 0;
	return 0;
}

static int params_read_reset(struct pagoda_vgpu_params *params)
{
	static const char *const names[] = {
		[PAGODA_ENGINE_VRAM_POISON] = "poison",
		[PAGODA_ENGINE_VRAM_ZERO] = "zero",
		[PAGODA_ENGINE_VRAM_KEEP] = "keep",
	};
	int value = match_string(names, ARRAY_SIZE(names), reset_vram);

	if (value < 0) {
		pr_err("reset_vram=%s is unknown, poison, zero and keep are possible\n",
		       reset_vram);
		return -EINVAL;
	}
	params->reset_vram = value;
	return 0;
}

static int params_read_preserve(struct pagoda_vgpu_params *params)
{
	static const char *const names[] = { "nothing", "standby", "half", "always" };
	static const u32 flags[] = {
		0,
		VIRTIO_PAGODA_PRESERVED_STANDBY,
		VIRTIO_PAGODA_PRESERVED_STANDBY | VIRTIO_PAGODA_PRESERVED_HIBERNATE_PART,
		VIRTIO_PAGODA_PRESERVED_STANDBY | VIRTIO_PAGODA_PRESERVED_HIBERNATE,
	};
	int value = match_string(names, ARRAY_SIZE(names), preserve);

	if (value < 0) {
		pr_err("preserve=%s is unknown, nothing, standby, half and always are possible\n",
		       preserve);
		return -EINVAL;
	}
	params->preserved = flags[value];
	if (params->preserved & VIRTIO_PAGODA_PRESERVED_HIBERNATE_PART)
		params->preserved_bytes = params->vram_size / 2;
	return 0;
}

/*
 * Checks the module parameters and stores them in @params. Returns 0, or -EINVAL after a line in
 * the log that names the invalid parameter.
 */
int pagoda_vgpu_params_read(struct pagoda_vgpu_params *params)
{
	/* Half of the machine's memory in MiB: the most for VRAM, and for all swizzling windows. */
	u64 half = max_t(u64, (u64)totalram_pages() * PAGE_SIZE / 2 >> 20, 1);
	const struct pagoda_params_bound *bound;
	int err;

	memset(params, 0, sizeof(*params));
	for (bound = params_bounds; bound < params_bounds + ARRAY_SIZE(params_bounds); bound++) {
		err = params_range(bound->name, *bound->value, bound->low, bound->high);
		if (err)
			return err;
	}
	err = params_range("vram_mb", vram_mb, 1, min_t(u64, half, VIRTIO_PAGODA_MAX_VRAM >> 20));
	if (err)
		return err;
	params->vram_size = (u64)vram_mb << 20;
	params->aperture_pages = (u64)aperture_mb << (20 - PAGE_SHIFT);
	params->engines = engines;
	params->mmu_pages = device_mmu ? (u64)mmu_mb << (20 - PAGE_SHIFT) : 0;
	err = params_read_tables(params);
	if (err)
		return err;
	err = params_read_ranges(params, half);
	if (err)
		return err;
	err = params_read_visible(params);
	if (err)
		return err;
	err = params_read_reset(params);
	if (err)
		return err;
	err = params_read_preserve(params);
	return err ? err : params_read_invalid(params);
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
 * Applies the module parameter misconfigure=, for tests of drivers: falsifies the configuration
 * space and the offered features, except for those of the virtio transport; the engine's limits
 * stay unchanged. Returns 0, or a negative error after a line in the log.
 */
int pagoda_vgpu_misconfigure(struct virtio_pagoda_config *config, u64 *features)
{
	struct pagoda_params_config to = { .config = config, .features = features };

	return params_pairs("misconfigure", misconfigure, params_field_set, &to);
}
