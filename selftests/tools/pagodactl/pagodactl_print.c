// SPDX-License-Identifier: GPL-2.0
/* pagodactl: sizes and times as text, JSON, and what is printed of devices and clients. */
#define _GNU_SOURCE
#include "pagodactl.h"

const char *ctl_segment_name(uint32_t id)
{
	static const char * const names[PAGODA_FDINFO_SEGMENTS] = {
		[DRM_PAGODA_SEGMENT_SYSTEM] = "system",
		[DRM_PAGODA_SEGMENT_VRAM] = "vram",
		[DRM_PAGODA_SEGMENT_APERTURE] = "aperture",
	};

	return names[id];
}

double ctl_mib(uint64_t bytes)
{
	return (double)bytes / PAGODA_MIB;
}

char *ctl_size(char *text, size_t size, uint64_t bytes)
{
	if (bytes == PAGODA_FDINFO_NONE)
		snprintf(text, size, "-");
	else
		snprintf(text, size, "%.1f", ctl_mib(bytes));
	return text;
}

char *ctl_ms(char *text, size_t size, uint64_t ns)
{
	if (ns == PAGODA_FDINFO_NONE)
		snprintf(text, size, "-");
	else
		snprintf(text, size, "%.1f", ns / 1e6);
	return text;
}

uint64_t ctl_over(const struct pagoda_fdinfo_segment *segment)
{
	if (segment->budget == PAGODA_FDINFO_NONE || segment->usage == PAGODA_FDINFO_NONE)
		return PAGODA_FDINFO_NONE;
	return segment->usage > segment->budget ? segment->usage - segment->budget : 0;
}

/* ---- JSON ---------------------------------------------------------------------- */

/* Whether the next value is the first between its brackets, and so has no comma before it. */
static bool json_first = true;

static void json_text(const char *text)
{
	const unsigned char *c;

	putchar('"');
	for (c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			printf("\\%c", *c);
		else if (*c < ' ' || *c > '~')
			/* A process's name may have any bytes: each becomes one character. */
			printf("\\u%04x", *c);
		else
			putchar(*c);
	}
	putchar('"');
}

static void json_key(const char *key)
{
	if (!json_first)
		fputs(", ", stdout);
	json_first = false;
	if (key) {
		json_text(key);
		fputs(": ", stdout);
	}
}

void ctl_json_begin(const char *key, char bracket)
{
	json_key(key);
	putchar(bracket);
	json_first = true;
}

void ctl_json_end(char bracket)
{
	putchar(bracket);
	json_first = false;
}

void ctl_json_null(const char *key)
{
	json_key(key);
	fputs("null", stdout);
}

void ctl_json_number(const char *key, uint64_t value)
{
	if (value == PAGODA_FDINFO_NONE) {
		ctl_json_null(key);
		return;
	}
	json_key(key);
	printf("%llu", (unsigned long long)value);
}

void ctl_json_signed(const char *key, int64_t value)
{
	json_key(key);
	printf("%lld", (long long)value);
}

void ctl_json_text(const char *key, const char *text)
{
	json_key(key);
	json_text(text);
}

void ctl_json_bool(const char *key, bool value)
{
	json_key(key);
	fputs(value ? "true" : "false", stdout);
}

void ctl_json_line(void)
{
	putchar('\n');
	fflush(stdout);
	json_first = true;
}

/* ---- Devices and clients ------------------------------------------------------- */

static void json_device_segment(const struct drm_pagoda_segment_info *segment)
{
	ctl_json_begin(NULL, '{');
	ctl_json_text("name", ctl_segment_name(segment->id));
	ctl_json_number("size", segment->size);
	ctl_json_number("visible", segment->visible_size);
	ctl_json_number("usage", segment->usage);
	ctl_json_number("largest_free", segment->largest_free);
	ctl_json_number("reserve", segment->reserve_size);
	ctl_json_number("reserve_usage", segment->reserve_usage);
	ctl_json_number("reserve_refused", segment->reserve_refused);
	ctl_json_end('}');
}

/*
 * Prints the measured bandwidth, what promotion brought back and spent, and promotion's token
 * bucket.
 */
static void json_device_traffic(const struct drm_pagoda_stats *stats)
{
	ctl_json_number("bandwidth", stats->bandwidth);
	ctl_json_begin("promotion", '{');
	ctl_json_number("bytes", stats->promoted);
	ctl_json_number("allocations", stats->promotions);
	ctl_json_signed("tokens", stats->promote_tokens);
	ctl_json_number("rate", stats->promote_rate);
	ctl_json_number("spent", stats->promote_spent);
	ctl_json_number("refused", stats->promote_refused);
	ctl_json_end('}');
}

void ctl_json_device(const struct ctl_device *device)
{
	ctl_json_text("node", device->node);
	ctl_json_number("engines", device->info.num_engines);
	ctl_json_number("paged_in", device->stats.paged_in);
	ctl_json_number("paged_out", device->stats.paged_out);
	ctl_json_number("evictions", device->stats.evictions);
	json_device_traffic(&device->stats);
	ctl_json_begin("segments", '[');
	json_device_segment(&device->segments[DRM_PAGODA_SEGMENT_VRAM]);
	json_device_segment(&device->segments[DRM_PAGODA_SEGMENT_APERTURE]);
	ctl_json_end(']');
}

static void json_client_segment(uint32_t id, const struct pagoda_fdinfo_segment *segment)
{
	ctl_json_begin(NULL, '{');
	ctl_json_text("name", ctl_segment_name(id));
	ctl_json_number("budget", segment->budget);
	ctl_json_number("usage", segment->usage);
	ctl_json_number("over", ctl_over(segment));
	ctl_json_number("total", segment->total);
	ctl_json_number("resident", segment->resident);
	ctl_json_number("spilled", segment->spilled);
	ctl_json_number("shared", segment->shared);
	ctl_json_number("active", segment->active);
	ctl_json_number("purgeable", segment->purgeable);
	ctl_json_end('}');
}

void ctl_json_client(const struct ctl_client *client)
{
	uint32_t id;

	ctl_json_begin(NULL, '{');
	ctl_json_number("pid", client->pid);
	ctl_json_number("client", client->info.client);
	ctl_json_text("command", client->command);
	ctl_json_number("paged_in", client->info.paged_in);
	ctl_json_number("paged_out", client->info.paged_out);
	ctl_json_number("evictions", client->info.evictions);
	ctl_json_number("paced", client->info.paced);
	ctl_json_number("left_out", client->info.left_out);
	ctl_json_number("held_jobs", client->info.held);
	ctl_json_begin("engine_ns", '[');
	for (id = 0; id < client->device->info.num_engines; id++)
		ctl_json_number(NULL, client->info.engine_ns[id]);
	ctl_json_end(']');
	ctl_json_begin("segments", '[');
	for (id = 0; id < PAGODA_FDINFO_SEGMENTS; id++)
		json_client_segment(id, &client->info.segments[id]);
	ctl_json_end(']');
	ctl_json_end('}');
}

static void print_segment(const struct drm_pagoda_segment_info *segment)
{
	printf("%s %.1f MiB, %.1f used; ", ctl_segment_name(segment->id), ctl_mib(segment->size),
	       ctl_mib(segment->usage));
}

void ctl_print_device(const struct ctl_device *device)
{
	printf("%s: ", device->node);
	print_segment(&device->segments[DRM_PAGODA_SEGMENT_VRAM]);
	print_segment(&device->segments[DRM_PAGODA_SEGMENT_APERTURE]);
	printf("%.1f MiB paged in, %.1f out, %llu evictions\n", ctl_mib(device->stats.paged_in),
	       ctl_mib(device->stats.paged_out), (unsigned long long)device->stats.evictions);
	if (device->stats.promotions)
		printf("%s: %.1f MiB came back by themselves, in %llu allocations\n",
		       device->node, ctl_mib(device->stats.promoted),
		       (unsigned long long)device->stats.promotions);
}

void ctl_note_hidden(const struct ctl_view *view)
{
	if (view->hidden)
		fprintf(stderr, "pagodactl: %u processes are left out: no permission\n",
			view->hidden);
}
