// SPDX-License-Identifier: GPL-2.0
/*
 * pagodactl top: what each client uses of each segment, what is moved of its allocations, and the
 * engine time of its jobs. pagodactl trim without arguments: by how much clients are over budget.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pagodactl.h"

#define HOME_AND_CLEAR	"\033[H\033[J"

/*
 * The clients at the previous look, for rates of what was moved and executed since that look, which
 * was at @time; 0 = this is the first look.
 */
struct before {
	struct ctl_client *clients;
	size_t nr_clients;
	int64_t time;
};

static atomic_bool stopped;

static void stop(int signal)
{
	atomic_store(&stopped, true);
}

static const struct ctl_client *find_before(const struct before *before, uint64_t client)
{
	size_t n;

	for (n = 0; n < before->nr_clients; n++)
		if (before->clients[n].info.client == client)
			return &before->clients[n];
	return NULL;
}

static char *rate(char *text, size_t size, uint64_t now, uint64_t then, int64_t time)
{
	if (time > 0 && now >= then)
		snprintf(text, size, "%.1f", ctl_mib(now - then) * PAGODA_SEC / time);
	else
		snprintf(text, size, "-");
	return text;
}

/*
 * Formats the percentage of time that engines spent on the client's jobs, added up over all engines
 * (two engines that do nothing else make 200 %), or "-" if unknown.
 */
static char *share(char *text, size_t size, const struct pagoda_fdinfo *now,
		   const struct pagoda_fdinfo *then, int64_t time)
{
	uint64_t ns = pagoda_fdinfo_engines(now), before = pagoda_fdinfo_engines(then);

	if (time > 0 && ns != PAGODA_FDINFO_NONE && ns >= before)
		snprintf(text, size, "%.1f", 100. * (ns - before) / time);
	else
		snprintf(text, size, "-");
	return text;
}

/*
 * Prints the columns that only a client's VRAM line has: bytes copied to and from VRAM, evictions
 * and engine time; and rates if the client was found at the previous look.
 */
static void print_traffic(const struct ctl_client *client, const struct before *before,
			  int64_t time)
{
	const struct ctl_client *was = find_before(before, client->info.client);
	char in[16], out[16], busy[16];

	printf(" %9s %9s %9llu %9s", ctl_size(in, sizeof(in), client->info.paged_in),
	       ctl_size(out, sizeof(out), client->info.paged_out),
	       (unsigned long long)client->info.evictions,
	       ctl_ms(busy, sizeof(busy), pagoda_fdinfo_engines(&client->info)));
	if (was)
		printf(" %8s %8s %6s",
		       rate(in, sizeof(in), client->info.paged_in, was->info.paged_in,
			    time - before->time),
		       rate(out, sizeof(out), client->info.paged_out, was->info.paged_out,
			    time - before->time),
		       share(busy, sizeof(busy), &client->info, &was->info,
			     time - before->time));
}

/*
 * Returns a client's usage of a segment, or the total of the client's allocations in the segment if
 * fdinfo has no usage, as for the system segment.
 */
static uint64_t used(const struct pagoda_fdinfo_segment *segment)
{
	return segment->usage == PAGODA_FDINFO_NONE ? segment->total : segment->usage;
}

static void print_segment(const struct ctl_client *client, uint32_t id)
{
	const struct pagoda_fdinfo_segment *segment = &client->info.segments[id];
	char budget[16], usage[16], resident[16], spilled[16];

	printf("%7d %7llu %-15s %-8s %9s %9s %9s %9s", client->pid,
	       (unsigned long long)client->info.client, client->command, ctl_segment_name(id),
	       ctl_size(budget, sizeof(budget), segment->budget),
	       ctl_size(usage, sizeof(usage), used(segment)),
	       ctl_size(resident, sizeof(resident), segment->resident),
	       ctl_size(spilled, sizeof(spilled), segment->spilled));
}

static void print_client(const struct ctl_client *client, const struct before *before,
			 int64_t time)
{
	static const uint32_t order[] = {
		DRM_PAGODA_SEGMENT_VRAM, DRM_PAGODA_SEGMENT_APERTURE, DRM_PAGODA_SEGMENT_SYSTEM,
	};
	size_t n;

	for (n = 0; n < ARRAY_SIZE(order); n++) {
		print_segment(client, order[n]);
		if (order[n] == DRM_PAGODA_SEGMENT_VRAM)
			print_traffic(client, before, time);
		putchar('\n');
	}
}

static void print_view(const struct ctl_view *view, const struct before *before)
{
	size_t d, c;

	for (d = 0; d < view->nr_devices; d++) {
		ctl_print_device(&view->devices[d]);
		printf("%7s %7s %-15s %-8s %9s %9s %9s %9s %9s %9s %9s %9s%s\n", "PID", "CLIENT",
		       "COMMAND", "SEGMENT", "BUDGET", "USAGE", "RESIDENT", "SPILLED", "IN",
		       "OUT", "EVICTIONS", "ENGINE MS",
		       before->time ? "     IN/S    OUT/S  BUSY%" : "");
		for (c = 0; c < view->nr_clients; c++)
			if (view->clients[c].device == &view->devices[d])
				print_client(&view->clients[c], before, view->time);
	}
	fflush(stdout);
}

static void json_view(const struct ctl_view *view)
{
	size_t d, c;

	ctl_json_begin(NULL, '{');
	ctl_json_begin("devices", '[');
	for (d = 0; d < view->nr_devices; d++) {
		ctl_json_begin(NULL, '{');
		ctl_json_device(&view->devices[d]);
		ctl_json_begin("clients", '[');
		for (c = 0; c < view->nr_clients; c++)
			if (view->clients[c].device == &view->devices[d])
				ctl_json_client(&view->clients[c]);
		ctl_json_end(']');
		ctl_json_end('}');
	}
	ctl_json_end(']');
	ctl_json_number("hidden_processes", view->hidden);
	ctl_json_end('}');
	ctl_json_line();
}

/* Moves the clients of @view to @before; the next update of @view allocates another array. */
static void remember(struct before *before, struct ctl_view *view)
{
	free(before->clients);
	before->clients = view->clients;
	before->nr_clients = view->nr_clients;
	before->time = view->time;
	view->clients = NULL;
	view->nr_clients = 0;
}

static int look(const struct ctl_options *options, struct ctl_view *view, struct before *before)
{
	bool terminal = isatty(STDOUT_FILENO) && !options->once && !options->json;
	int ret = ctl_view_update(view);

	if (ret)
		return ret;
	if (options->json) {
		json_view(view);
	} else {
		if (terminal)
			fputs(HOME_AND_CLEAR, stdout);
		print_view(view, before);
		ctl_note_hidden(view);
	}
	remember(before, view);
	return ferror(stdout);
}

/* Has SIGINT and SIGTERM end ctl_top() after a whole view. */
static void watch_signals(void)
{
	struct sigaction action = { .sa_handler = stop };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

int ctl_top(const struct ctl_options *options, char **args, int count)
{
	struct before before = { .time = 0 };
	struct ctl_view view;
	int ret = ctl_view_open(&view, options->device);

	if (ret)
		return 1;
	if (!options->once)
		watch_signals();
	do {
		ret = look(options, &view, &before);
	} while (!ret && !options->once && !atomic_load(&stopped) &&
		 ctl_pause(options) && !atomic_load(&stopped));
	free(before.clients);
	ctl_view_close(&view);
	return ret ? 1 : 0;
}

/* ---- trim without arguments ---------------------------------------------------- */

static void print_over(const struct ctl_client *client)
{
	char budget[16], usage[16], over[16];
	uint32_t id;

	for (id = DRM_PAGODA_SEGMENT_VRAM; id < PAGODA_FDINFO_SEGMENTS; id++) {
		const struct pagoda_fdinfo_segment *segment = &client->info.segments[id];

		printf("%7d %7llu %-15s %-12s %-8s %9s %9s %9s\n", client->pid,
		       (unsigned long long)client->info.client, client->command,
		       client->device->node, ctl_segment_name(id),
		       ctl_size(budget, sizeof(budget), segment->budget),
		       ctl_size(usage, sizeof(usage), segment->usage),
		       ctl_size(over, sizeof(over), ctl_over(segment)));
	}
}

int ctl_show_over(const struct ctl_options *options)
{
	struct ctl_view view;
	size_t n;
	int ret = ctl_view_open(&view, options->device);

	if (ret)
		return 1;
	ret = ctl_view_update(&view);
	if (!ret && options->json) {
		json_view(&view);
	} else if (!ret) {
		printf("%7s %7s %-15s %-12s %-8s %9s %9s %9s\n", "PID", "CLIENT", "COMMAND",
		       "DEVICE", "SEGMENT", "BUDGET", "USAGE", "OVER");
		for (n = 0; n < view.nr_clients; n++)
			print_over(&view.clients[n]);
		ctl_note_hidden(&view);
	}
	ctl_view_close(&view);
	return ret ? 1 : 0;
}
