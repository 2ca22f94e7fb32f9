// SPDX-License-Identifier: GPL-2.0
/* pagodactl ls: devices, their segments, clients and allocations. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "pagodactl.h"

/*
 * A line of the driver's debugfs file "lru", parsed. @id 0: not an allocation, but the memory that
 * an allocation leaves by a move, and that is in use until the move is done.
 */
struct allocation {
	uint32_t segment;
	unsigned int priority;
	unsigned long long id;
	uint64_t size;
	uint64_t address;
	bool resident;
	bool lost;
};

/* A line without indentation names the segment of the allocations that follow. */
static void parse_heading(const char *line, struct allocation *a)
{
	uint32_t id;

	for (id = 0; id < PAGODA_FDINFO_SEGMENTS; id++)
		if (!strcmp(line, ctl_segment_name(id)))
			a->segment = id;
}

static bool parse_allocation(const char *line, uint64_t page_size, struct allocation *a)
{
	unsigned long long size, page;
	char rest[32] = "";

	a->id = 0;
	if (sscanf(line, "  priority %u bo %llu size %llu page %llu%31[^\n]", &a->priority, &a->id,
		   &size, &page, rest) < 4 &&
	    sscanf(line, "  priority %u leaving size %llu page %llu", &a->priority, &size,
		   &page) != 3)
		return false;
	a->size = size;
	a->address = page * page_size;
	a->resident = strstr(rest, " resident");
	a->lost = strstr(rest, " lost");
	return true;
}

static void show_allocation(const struct allocation *a, bool json)
{
	/* Only in VRAM is the line's page an address of the segment. */
	bool placed = a->segment == DRM_PAGODA_SEGMENT_VRAM;

	if (!json) {
		printf("  allocation %llu: %s, %.1f MiB, priority level %u%s%s\n", a->id,
		       ctl_segment_name(a->segment), ctl_mib(a->size), a->priority,
		       a->resident ? ", resident" : "", a->lost ? ", lost" : "");
		return;
	}
	ctl_json_begin(NULL, '{');
	ctl_json_number("allocation", a->id);
	ctl_json_text("segment", ctl_segment_name(a->segment));
	ctl_json_number("size", a->size);
	ctl_json_number("address", placed ? a->address : PAGODA_FDINFO_NONE);
	ctl_json_number("priority_level", a->priority);
	ctl_json_bool("resident", a->resident);
	ctl_json_bool("lost", a->lost);
	ctl_json_end('}');
}

/*
 * Prints the allocations of the driver's list, without memory that moves leave, in the driver's
 * order: by segment and priority level, least recently used first.
 */
static void show_allocations(const struct ctl_device *device, FILE *file, bool json)
{
	struct allocation a = { .segment = DRM_PAGODA_SEGMENT_SYSTEM };
	char line[160];

	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line != ' ')
			parse_heading(line, &a);
		else if (parse_allocation(line, device->info.page_size, &a) && a.id)
			show_allocation(&a, json);
	}
}

/*
 * Prints the device's allocations. If the file "lru" can't be opened, prints to stderr why the
 * allocations are left out.
 */
static void list_allocations(const struct ctl_device *device, bool json)
{
	FILE *file = ctl_debugfs_open(device, "lru", "re");

	if (!file) {
		fprintf(stderr, "pagodactl: allocations of %s are left out: %s\n", device->node,
			ctl_debugfs_why(errno));
		if (json)
			ctl_json_null("allocations");
		return;
	}
	if (json)
		ctl_json_begin("allocations", '[');
	show_allocations(device, file, json);
	if (json)
		ctl_json_end(']');
	fclose(file);
}

static void print_client(const struct ctl_client *client)
{
	const struct pagoda_fdinfo_segment *segment = client->info.segments;
	char size[16];
	uint32_t id;

	printf("  client %llu: pid %d, %s", (unsigned long long)client->info.client, client->pid,
	       client->command);
	for (id = 0; id < PAGODA_FDINFO_SEGMENTS; id++)
		printf(", %s %s MiB", ctl_segment_name(id),
		       ctl_size(size, sizeof(size), segment[id].total));
	putchar('\n');
}

static void print_device(const struct ctl_view *view, const struct ctl_device *device)
{
	uint32_t id;
	size_t n;

	printf("%s: %u engines\n", device->node, device->info.num_engines);
	for (id = DRM_PAGODA_SEGMENT_VRAM; id < PAGODA_FDINFO_SEGMENTS; id++) {
		const struct drm_pagoda_segment_info *segment = &device->segments[id];

		printf("  segment %u: %s, %.1f MiB, %.1f visible, %.1f used, largest hole %.1f\n",
		       id, ctl_segment_name(id), ctl_mib(segment->size),
		       ctl_mib(segment->visible_size), ctl_mib(segment->usage),
		       ctl_mib(segment->largest_free));
		if (segment->reserve_size)
			printf("    reserve: %.1f MiB, %.1f used, refused %llu times\n",
			       ctl_mib(segment->reserve_size), ctl_mib(segment->reserve_usage),
			       (unsigned long long)segment->reserve_refused);
	}
	for (n = 0; n < view->nr_clients; n++)
		if (view->clients[n].device == device)
			print_client(&view->clients[n]);
	list_allocations(device, false);
}

static void json_device(const struct ctl_view *view, const struct ctl_device *device)
{
	size_t n;

	ctl_json_begin(NULL, '{');
	ctl_json_device(device);
	ctl_json_begin("clients", '[');
	for (n = 0; n < view->nr_clients; n++)
		if (view->clients[n].device == device)
			ctl_json_client(&view->clients[n]);
	ctl_json_end(']');
	list_allocations(device, true);
	ctl_json_end('}');
}

int ctl_ls(const struct ctl_options *options, char **args, int count)
{
	struct ctl_view view;
	size_t n;
	int ret = ctl_view_open(&view, options->device);

	if (ret)
		return 1;
	ret = ctl_view_update(&view);
	if (!ret && options->json) {
		ctl_json_begin(NULL, '{');
		ctl_json_begin("devices", '[');
	}
	for (n = 0; n < view.nr_devices && !ret; n++) {
		if (options->json)
			json_device(&view, &view.devices[n]);
		else
			print_device(&view, &view.devices[n]);
	}
	if (!ret && options->json) {
		ctl_json_end(']');
		ctl_json_number("hidden_processes", view.hidden);
		ctl_json_end('}');
		ctl_json_line();
	} else if (!ret) {
		ctl_note_hidden(&view);
	}
	ctl_view_close(&view);
	return ret ? 1 : 0;
}
