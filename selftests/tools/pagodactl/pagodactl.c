// SPDX-License-Identifier: GPL-2.0
/*
 * pagodactl: looks at devices of the driver, and at the clients that use their memory. This file
 * parses the arguments and calls the command.
 *
 * Sizes, budgets and traffic come from ioctls and fdinfo, which need no privilege: a user that
 * isn't root sees only its own clients. Allocations, journal and trim DEVICE BYTES need debugfs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "pagodactl.h"

static const char usage_text[] =
"usage: pagodactl [options] COMMAND [ARGUMENTS]\n"
"Looks at Pagoda GPUs and at who uses their memory.\n"
"\n"
"  top                 clients by segment: budget, usage, what is resident, what had to leave,\n"
"                      traffic; until interrupted, or --once\n"
"  ls                  devices, segments, clients; allocations as far as debugfs is there\n"
"  journal             the last paging operations and what became of them, or --follow\n"
"  trim                clients and by how much they are over their budgets\n"
"  trim DEVICE BYTES   evicts so much of VRAM (K, M, G), as if somebody wanted it\n"
"  plot TRACE          draws what a run moved: the file is what tracefs gave\n"
"\n"
"  --json              JSON instead of text; one object a line where there are several\n"
"  --device NODE       only this one: renderD128 or its path (top, ls, journal, trim)\n"
"  --once              look once (top)\n"
"  --interval SECONDS  between looks (top, journal --follow; default 1)\n"
"  --follow            go on with what comes (journal)\n"
"  --allocation N      only what names it (journal)\n"
"  --operation NAME    only that: TRANSFER, FILL, ... (journal)\n"
"  --log FILE          what replay said, for the title (plot)\n"
"  --output FILE       where to (plot; default residency.svg)\n"
"  --help              this\n"
"\n"
"Exits with 1 if something failed, with 2 if the arguments make no sense.\n";

/*
 * @allowed: letters, as in long_options, of the options that the command takes. @least, @most:
 *	fewest and most arguments.
 */
struct command {
	const char *name;
	const char *allowed;
	int least;
	int most;
	int (*run)(const struct ctl_options *options, char **args, int count);
};

static const struct command commands[] = {
	{ "top", "jdoi", 0, 0, ctl_top },
	{ "ls", "jd", 0, 0, ctl_ls },
	{ "journal", "jdifap", 0, 0, ctl_journal },
	{ "trim", "jd", 0, 2, ctl_trim },
	{ "plot", "lO", 1, 1, ctl_plot },
};

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "device", required_argument, NULL, 'd' },
	{ "once", no_argument, NULL, 'o' },
	{ "interval", required_argument, NULL, 'i' },
	{ "follow", no_argument, NULL, 'f' },
	{ "allocation", required_argument, NULL, 'a' },
	{ "operation", required_argument, NULL, 'p' },
	{ "log", required_argument, NULL, 'l' },
	{ "output", required_argument, NULL, 'O' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void usage(int status)
{
	fputs(usage_text, status ? stderr : stdout);
	exit(status);
}

static void refuse(const char *what, const char *text)
{
	fprintf(stderr, "pagodactl: %s: %s\n", text, what);
	exit(2);
}

static double parse_interval(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (*end || end == text || !(value >= 0.1 && value <= 3600))
		refuse("not a number of seconds from 0.1 to 3600", text);
	return value;
}

static uint64_t parse_id(const char *text)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || *end || end == text || *text == '-' || !value)
		refuse("not the number of an allocation", text);
	return value;
}

static void parse_option(struct ctl_options *options, int c)
{
	switch (c) {
	case 'j':
		options->json = true;
		break;
	case 'd':
		options->device = optarg;
		break;
	case 'o':
		options->once = true;
		break;
	case 'i':
		options->interval = parse_interval(optarg);
		break;
	case 'f':
		options->follow = true;
		break;
	case 'a':
		options->allocation = parse_id(optarg);
		break;
	case 'p':
		options->operation = optarg;
		break;
	case 'l':
		options->log = optarg;
		break;
	case 'O':
		options->output = optarg;
		break;
	default:
		usage(c == 'h' ? 0 : 2);
	}
}

static const struct command *find_command(const char *name)
{
	size_t n;

	for (n = 0; n < ARRAY_SIZE(commands); n++)
		if (!strcmp(commands[n].name, name))
			return &commands[n];
	refuse("no such command; --help tells them", name);
	return NULL;
}

/*
 * Exits if an option was used that the command doesn't take: a user would believe that the option,
 * if ignored, did something.
 */
static void check_allowed(const struct command *command, const char *used)
{
	const struct option *option;

	for (option = long_options; option->name; option++)
		if (strchr(used, option->val) && !strchr(command->allowed, option->val)) {
			fprintf(stderr, "pagodactl: %s has no option --%s\n", command->name,
				option->name);
			exit(2);
		}
}

int main(int argc, char **argv)
{
	struct ctl_options options = { .interval = 1, .output = "residency.svg" };
	const struct command *command;
	char used[ARRAY_SIZE(long_options)] = "";
	int c, ret;

	while ((c = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		parse_option(&options, c);
		if (!strchr(used, c))
			used[strlen(used)] = c;
	}
	if (optind == argc)
		usage(2);
	command = find_command(argv[optind++]);
	check_allowed(command, used);
	if (argc - optind < command->least || argc - optind > command->most)
		refuse("wrong number of arguments; --help tells them", command->name);
	ret = command->run(&options, argv + optind, argc - optind);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "pagodactl: can't write: %s\n", strerror(errno));
		return 1;
	}
	return ret;
}
