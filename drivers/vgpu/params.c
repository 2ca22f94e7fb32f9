// SPDX-License-Identifier: GPL-2.0
/*
 * Module parameters: each is checked, and refused by its name.
 */
#define pr_fmt(fmt) "pagoda_vgpu: " fmt

#include <linux/ctype.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>

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

static char *misconfigure = "";
module_param(misconfigure, charp, 0444);
MODULE_PARM_DESC(misconfigure,
		 "Test only: falsify the configuration space, field:value[,field:value...]");

static int pagoda_params_range(const char *name, u64 value, u64 low, u64 high)
{
	if (value >= low && value <= high)
		return 0;
	pr_err("%s=%llu is out of range, %llu to %llu are possible\n", name, value, low, high);
	return -EINVAL;
}

/* Splits "a:b,c:d" and hands the pieces to @pair, which may refuse them. */
static int pagoda_params_pairs(const char *name, const char *list,
			       int (*pair)(void *context, const char *key, const char *value),
			       void *context)
{
	char *copy, *rest, *item;
	int err = 0;

	copy = kstrdup(list, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	rest = strim(copy);
	while (!err && *rest && (item = strsep(&rest, ","))) {
		char *value = strchr(item, ':');

		if (value)
			*value++ = '\0';
		err = value ? pair(context, item, value) : -EINVAL;
		if (err)
			pr_err("%s=%s: \"%s\" is not understood or not possible\n",
			       name, list, item);
		if (!rest)
			break;
	}
	kfree(copy);
	return err;
}

static int pagoda_params_invalid(void *context, const char *key, const char *value)
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

static int pagoda_params_range_cmp(const void *a, const void *b)
{
	const struct pagoda_engine_range *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static int pagoda_params_read_invalid(struct pagoda_vgpu_params *params)
{
	u32 i;
	int err;

	err = pagoda_params_pairs("invalid", invalid, pagoda_params_invalid, params);
	if (err)
		return err;
	sort(params->invalid, params->nr_invalid, sizeof(params->invalid[0]),
	     pagoda_params_range_cmp, NULL);
	for (i = 1; i < params->nr_invalid; i++) {
		if (params->invalid[i].start <
		    params->invalid[i - 1].start + params->invalid[i - 1].size) {
			pr_err("invalid=%s: ranges overlap\n", invalid);
			return -EINVAL;
		}
	}
	return 0;
}

static int pagoda_params_read_visible(struct pagoda_vgpu_params *params)
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
		err = pagoda_params_range("visible_mb", visible_mb, 1, vram_mb);
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

/**
 * pagoda_vgpu_params_read() - Check module parameters and translate them
 * @params: Receives them
 *
 * Return: 0, or -EINVAL after one line in the log that names the culprit.
 */
int pagoda_vgpu_params_read(struct pagoda_vgpu_params *params)
{
	u64 half = max_t(u64, (u64)totalram_pages() * PAGE_SIZE / 2 >> 20, 1);
	int err;

	memset(params, 0, sizeof(*params));
	err = pagoda_params_range("vram_mb", vram_mb, 1,
				  min_t(u64, half, VIRTIO_PAGODA_MAX_VRAM >> 20));
	if (!err)
		err = pagoda_params_range("aperture_mb", aperture_mb, 1,
					  VIRTIO_PAGODA_MAX_APERTURE_PAGES >> (20 - PAGE_SHIFT));
	if (!err)
		err = pagoda_params_range("engines", engines, 1, VIRTIO_PAGODA_MAX_ENGINES);
	if (err)
		return err;
	params->vram_size = (u64)vram_mb << 20;
	params->aperture_pages = (u64)aperture_mb << (20 - PAGE_SHIFT);
	params->engines = engines;
	err = pagoda_params_read_visible(params);
	return err ? err : pagoda_params_read_invalid(params);
}

/* A field of the configuration space that misconfigure= can name. */
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

static const struct pagoda_params_field pagoda_params_fields[] = {
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
	PAGODA_FIELD(reserved),
};

struct pagoda_params_config {
	struct virtio_pagoda_config *config;
	u64 *features;
};

static int pagoda_params_field_set(void *context, const char *key, const char *value)
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
	for (i = 0; i < ARRAY_SIZE(pagoda_params_fields); i++) {
		if (strcmp(key, pagoda_params_fields[i].name))
			continue;
		memcpy((u8 *)to->config + pagoda_params_fields[i].offset, &number,
		       pagoda_params_fields[i].size);
		return 0;
	}
	return -EINVAL;
}

/**
 * pagoda_vgpu_misconfigure() - Apply misconfigure=, so that drivers can be tested
 * @config: Configuration space, as the device really is
 * @features: Features, the same; only those that aren't virtio's can be falsified
 *
 * What the device does is not changed, only what it claims.
 *
 * Return: 0 or a negative error, after a line in the log.
 */
int pagoda_vgpu_misconfigure(struct virtio_pagoda_config *config, u64 *features)
{
	struct pagoda_params_config to = { .config = config, .features = features };

	return pagoda_params_pairs("misconfigure", misconfigure, pagoda_params_field_set, &to);
}
