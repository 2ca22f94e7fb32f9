// SPDX-License-Identifier: GPL-2.0
/*
 * pagodactl trim DEVICE BYTES: pressure on VRAM without a client that needs VRAM. Clients aren't
 * asked: the allocations that the policy chooses leave, as if a client wanted the room, and come
 * back when they are used, but not by promotion.
 *
 * pagodactl plot: runs the script residency.py, which draws what a recording of tracefs shows.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pagodactl.h"

/* ---- trim ---------------------------------------------------------------------- */

static bool parse_bytes(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	unsigned long long value;
	const char *unit;
	char *end;
	int shift = 0;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *text == '-' || !value)
		return false;
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		shift = 10 * (unit - units + 1);
		end++;
	}
	if (*end || value > UINT64_MAX >> shift)
		return false;
	*bytes = value << shift;
	return true;
}

/*
 * Sets *@bytes to the number of bytes that trims and the reclaim of dmem cgroups have evicted from
 * VRAM since probe. Returns 0 or a negative errno.
 */
static int read_trimmed(const struct ctl_device *device, uint64_t *bytes)
{
	FILE *file = ctl_debugfs_open(device, "trim", "re");
	char text[32] = "", *end;
	int ret = 0;

	if (!file)
		return -errno;
	if (!fgets(text, sizeof(text), file))
		ret = -EIO;
	*bytes = strtoull(text, &end, 10);
	if (end == text)
		ret = -EIO;
	fclose(file);
	return ret;
}

static int write_trim(const struct ctl_device *device, uint64_t bytes)
{
	FILE *file = ctl_debugfs_open(device, "trim", "we");
	int ret = 0;

	if (!file)
		return -errno;
	if (fprintf(file, "%llu\n", (unsigned long long)bytes) < 0 || fflush(file))
		ret = -errno;
	fclose(file);
	return ret;
}

static int trim(const struct ctl_options *options, const struct ctl_device *device,
		uint64_t bytes)
{
	uint64_t before, after;
	int ret = read_trimmed(device, &before);

	if (!ret)
		ret = write_trim(device, bytes);
	if (!ret)
		ret = read_trimmed(device, &after);
	if (ret) {
		fprintf(stderr, "pagodactl: %s can't be trimmed: %s\n", device->node,
			ctl_debugfs_why(-ret));
		return ret;
	}
	if (options->json) {
		ctl_json_begin(NULL, '{');
		ctl_json_text("node", device->node);
		ctl_json_number("asked", bytes);
		ctl_json_number("evicted", after - before);
		ctl_json_end('}');
		ctl_json_line();
	} else {
		printf("%s: %llu bytes evicted of %llu\n", device->node,
		       (unsigned long long)(after - before), (unsigned long long)bytes);
	}
	return 0;
}

int ctl_trim(const struct ctl_options *options, char **args, int count)
{
	struct ctl_view view;
	uint64_t bytes;
	int ret;

	if (!count)
		return ctl_show_over(options);
	if (count != 2 || options->device || !parse_bytes(args[1], &bytes)) {
		fprintf(stderr, "pagodactl: trim takes a device and a number of bytes (K, M, G)\n");
		return 2;
	}
	ret = ctl_view_open(&view, args[0]);
	if (ret)
		return 1;
	ret = trim(options, &view.devices[0], bytes);
	ctl_view_close(&view);
	return ret ? 1 : 0;
}

/* ---- plot ---------------------------------------------------------------------- */

/*
 * Looks for residency.py beside the program, and among the sources if the program is in
 * out/selftests. Returns whether the script was found, at @path.
 */
static bool find_script(char *path, size_t size)
{
	static const char * const places[] = {
		"residency.py", "../../selftests/tools/replay/residency.py",
	};
	char folder[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	size_t n;

	if (length < 0)
		return false;
	folder[length] = '\0';
	*strrchr(folder, '/') = '\0';
	for (n = 0; n < ARRAY_SIZE(places); n++)
		if (snprintf(path, size, "%s/%s", folder, places[n]) < size &&
		    !access(path, R_OK))
			return true;
	return false;
}

int ctl_plot(const struct ctl_options *options, char **args, int count)
{
	char script[PATH_MAX];

	if (access(args[0], R_OK)) {
		fprintf(stderr, "pagodactl: %s: %s\n", args[0], strerror(errno));
		return 1;
	}
	if (!find_script(script, sizeof(script))) {
		fprintf(stderr, "pagodactl: residency.py is not beside this program\n");
		return 1;
	}
	execlp("python3", "python3", script, "--trace", args[0], "--output", options->output,
	       options->log ? "--log" : NULL, options->log, NULL);
	fprintf(stderr, "pagodactl: python3: %s\n", strerror(errno));
	return 1;
}
