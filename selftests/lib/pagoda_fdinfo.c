// SPDX-License-Identifier: GPL-2.0
/* The one place that parses the driver's fdinfo (/proc/<pid>/fdinfo/<fd>); see the header. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "pagoda_fdinfo.h"
#include "pagoda_lib.h"

struct key {
	const char *name;
	size_t offset;
};

static const struct key keys[] = {
	{ "drm-client-id", offsetof(struct pagoda_fdinfo, client) },
	{ "pagoda-paged-in", offsetof(struct pagoda_fdinfo, paged_in) },
	{ "pagoda-paged-out", offsetof(struct pagoda_fdinfo, paged_out) },
	{ "pagoda-evictions", offsetof(struct pagoda_fdinfo, evictions) },
	{ "pagoda-paced", offsetof(struct pagoda_fdinfo, paced) },
	{ "pagoda-left-out", offsetof(struct pagoda_fdinfo, left_out) },
	{ "pagoda-held", offsetof(struct pagoda_fdinfo, held) },
};

/* Begins of keys that end with the name of a region. */
static const struct key segment_keys[] = {
	{ "drm-total-", offsetof(struct pagoda_fdinfo_segment, total) },
	{ "drm-shared-", offsetof(struct pagoda_fdinfo_segment, shared) },
	{ "drm-resident-", offsetof(struct pagoda_fdinfo_segment, resident) },
	{ "drm-purgeable-", offsetof(struct pagoda_fdinfo_segment, purgeable) },
	{ "drm-active-", offsetof(struct pagoda_fdinfo_segment, active) },
	{ "pagoda-budget-", offsetof(struct pagoda_fdinfo_segment, budget) },
	{ "pagoda-usage-", offsetof(struct pagoda_fdinfo_segment, usage) },
	{ "pagoda-spilled-", offsetof(struct pagoda_fdinfo_segment, spilled) },
};

static const char * const regions[PAGODA_FDINFO_SEGMENTS] = {
	[DRM_PAGODA_SEGMENT_SYSTEM] = "memory",
	[DRM_PAGODA_SEGMENT_VRAM] = "vram",
	[DRM_PAGODA_SEGMENT_APERTURE] = "gtt",
};

static uint64_t with_unit(uint64_t value, const char *unit)
{
	if (!strcmp(unit, "KiB"))
		return value * PAGODA_KIB;
	if (!strcmp(unit, "MiB"))
		return value * PAGODA_MIB;
	return *unit && strcmp(unit, "ns") ? PAGODA_FDINFO_NONE : value;
}

static uint64_t *find_in_segment(struct pagoda_fdinfo_segment *segment, const char *name,
				 const char *region)
{
	size_t n, length;

	for (n = 0; n < ARRAY_SIZE(segment_keys); n++) {
		length = strlen(segment_keys[n].name);
		if (!strncmp(name, segment_keys[n].name, length) && !strcmp(name + length, region))
			return (uint64_t *)((char *)segment + segment_keys[n].offset);
	}
	return NULL;
}

static uint64_t *find(struct pagoda_fdinfo *info, const char *name)
{
	uint64_t *value = NULL;
	unsigned int engine;
	size_t n;

	if (sscanf(name, "drm-engine-exec%u", &engine) == 1 && engine < PAGODA_FDINFO_ENGINES)
		return &info->engine_ns[engine];
	for (n = 0; n < ARRAY_SIZE(keys); n++)
		if (!strcmp(name, keys[n].name))
			return (uint64_t *)((char *)info + keys[n].offset);
	for (n = 0; n < PAGODA_FDINFO_SEGMENTS && !value; n++)
		value = find_in_segment(&info->segments[n], name, regions[n]);
	return value;
}

/* Stores the value of a line with a known key. Returns whether the line names the driver pagoda. */
static bool parse_line(struct pagoda_fdinfo *info, const char *line)
{
	char name[64], text[16], unit[16] = "";
	unsigned long long number;
	uint64_t *value;

	if (sscanf(line, "drm-driver: %15s", text) == 1)
		return !strcmp(text, "pagoda");
	if (sscanf(line, "%63[^:]: %llu %15s", name, &number, unit) < 2)
		return false;
	value = find(info, name);
	if (value)
		*value = with_unit(number, unit);
	return false;
}

int pagoda_fdinfo_read(const char *path, struct pagoda_fdinfo *info)
{
	FILE *file = fopen(path, "re");
	bool ours = false;
	char line[256];
	int ret;

	if (!file)
		return -errno;
	/* Until a line is found, all values are PAGODA_FDINFO_NONE: 0xff in each byte. */
	memset(info, 0xff, sizeof(*info));
	while (fgets(line, sizeof(line), file))
		ours |= parse_line(info, line);
	ret = ferror(file) ? -EIO : ours ? 0 : -ENODEV;
	fclose(file);
	return ret;
}

int pagoda_fdinfo_self(int fd, struct pagoda_fdinfo *info)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return pagoda_fdinfo_read(path, info);
}

uint64_t pagoda_fdinfo_engines(const struct pagoda_fdinfo *info)
{
	uint64_t sum = 0;
	size_t n;

	for (n = 0; n < PAGODA_FDINFO_ENGINES && info->engine_ns[n] != PAGODA_FDINFO_NONE; n++)
		sum += info->engine_ns[n];
	return n ? sum : PAGODA_FDINFO_NONE;
}
