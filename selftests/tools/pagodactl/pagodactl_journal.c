// SPDX-License-Identifier: GPL-2.0
/*
 * pagodactl journal: the last paging operations, from the driver's debugfs file "journal".
 *
 * The driver keeps only so many operations, and numbers all of them. With --follow the journal is
 * read again and again; a message tells how many operations were missed because a read came too
 * late.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pagodactl.h"

/* A line of the driver's journal, parsed; @text is the whole line. */
struct entry {
	const char *text;
	unsigned long long number;
	unsigned long long seconds;
	unsigned int microseconds;
	unsigned long long seqno;
	unsigned int offset;
	char operation[48];
	unsigned long long allocation;
	char source[16];
	unsigned long long source_address;
	char target[16];
	unsigned long long address;
	unsigned long long size;
	unsigned int bytes;
	unsigned int pass;
	char result[16];
};

static bool parse_entry(const char *line, struct entry *e)
{
	int length = 0;

	e->text = line;
	if (sscanf(line, "%llu %llu.%u seqno %llu+0x%x %47s alloc %llu %n", &e->number,
		   &e->seconds, &e->microseconds, &e->seqno, &e->offset, e->operation,
		   &e->allocation, &length) != 7 || !length)
		return false;
	return sscanf(line + length,
		      "%15[^:]:0x%llx -> %15[^:]:0x%llx size 0x%llx bytes %u pass %u %15s",
		      e->source, &e->source_address, e->target, &e->address, &e->size, &e->bytes,
		      &e->pass, e->result) == 8;
}

static bool is_wanted(const struct ctl_options *options, const struct entry *e)
{
	return (!options->allocation || options->allocation == e->allocation) &&
	       (!options->operation || !strcasecmp(options->operation, e->operation));
}

/*
 * Prints one side of an operation. If the address is in no segment, as a virtual address is, the
 * driver prints a dash for the segment, which becomes null.
 */
static void json_side(const char *key, const char *segment, unsigned long long address)
{
	ctl_json_begin(key, '{');
	if (strcmp(segment, "-"))
		ctl_json_text("segment", segment);
	else
		ctl_json_null("segment");
	ctl_json_number("address", address);
	ctl_json_end('}');
}

static void json_result(const char *result)
{
	char *end;
	long value = strtol(result, &end, 10);

	if (end != result && !*end)
		ctl_json_signed("result", value);
	else
		ctl_json_text("result", result);
}

static void json_entry(const struct ctl_device *device, const struct entry *e)
{
	ctl_json_begin(NULL, '{');
	ctl_json_text("node", device->node);
	ctl_json_number("number", e->number);
	ctl_json_number("time_us", e->seconds * 1000000 + e->microseconds);
	ctl_json_number("seqno", e->seqno);
	ctl_json_number("offset", e->offset);
	ctl_json_text("operation", e->operation);
	ctl_json_number("allocation", e->allocation);
	json_side("source", e->source, e->source_address);
	json_side("target", e->target, e->address);
	ctl_json_number("size", e->size);
	ctl_json_number("bytes", e->bytes);
	ctl_json_number("pass", e->pass);
	json_result(e->result);
	ctl_json_end('}');
	ctl_json_line();
}

static void note_missed(const struct ctl_device *device, uint64_t last, uint64_t number)
{
	unsigned long long missed = number - last - 1;

	if (last && missed)
		fprintf(stderr, "pagodactl: %s: missed %llu entries\n", device->node, missed);
}

/*
 * Prints the wanted entries of the journal whose numbers are higher than *@last, and sets *@last to
 * the highest number. Returns 0 or a negative errno.
 */
static int show_new(const struct ctl_options *options, const struct ctl_device *device,
		    FILE *file, uint64_t *last)
{
	struct entry e;
	char line[320];

	while (fgets(line, sizeof(line), file)) {
		if (!parse_entry(line, &e)) {
			fprintf(stderr, "pagodactl: %s: not an entry of a journal: %s",
				device->node, line);
			return -EPROTO;
		}
		if (e.number <= *last)
			continue;
		note_missed(device, *last, e.number);
		*last = e.number;
		if (!is_wanted(options, &e))
			continue;
		if (options->json)
			json_entry(device, &e);
		else
			fputs(e.text, stdout);
	}
	fflush(stdout);
	return ferror(file) ? -EIO : 0;
}

static int look(const struct ctl_options *options, const struct ctl_device *device,
		uint64_t *last)
{
	FILE *file = ctl_debugfs_open(device, "journal", "re");
	int ret;

	if (!file) {
		fprintf(stderr, "pagodactl: the journal of %s can't be read: %s\n", device->node,
			ctl_debugfs_why(errno));
		return -errno;
	}
	ret = show_new(options, device, file, last);
	if (ret == -EIO)
		fprintf(stderr, "pagodactl: the journal of %s can't be read: the device is gone\n",
			device->node);
	fclose(file);
	return ret;
}

/*
 * Opens the device to look at. Fails if there are several devices and no --device, because entries
 * of two journals may have the same number.
 */
static int choose(const struct ctl_options *options, struct ctl_view *view)
{
	int ret = ctl_view_open(view, options->device);

	if (ret || view->nr_devices == 1)
		return ret;
	fprintf(stderr, "pagodactl: there are several GPUs: say which one with --device\n");
	ctl_view_close(view);
	return -EINVAL;
}

int ctl_journal(const struct ctl_options *options, char **args, int count)
{
	struct ctl_view view;
	uint64_t last = 0;
	int ret = choose(options, &view);

	if (ret)
		return 1;
	do {
		ret = look(options, &view.devices[0], &last);
	} while (!ret && options->follow && !ferror(stdout) && ctl_pause(options));
	ctl_view_close(&view);
	return ret ? 1 : 0;
}
