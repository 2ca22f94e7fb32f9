// SPDX-License-Identifier: GPL-2.0
/*
 * hostile: every attacker beside every victim. Says of each pair how much longer the victim's
 * operation takes than beside an ordinary client, as a row with the fields of table_header[].
 *
 * A victim may wait for the attacker's jobs that have the two places of their engine when a sample
 * begins: the time that these two jobs still take is subtracted from a sample, but the sample isn't
 * reduced below the median beside an ordinary client. Jobs behind these two don't count.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostile.h"

/* The runner's exit status when a cell has left the machine unusable. */
#define SPOILT		3

/* A pair's samples are spread over at least this time, a baseline's over twice LEAST_NS. */
#define LEAST_NS	(2 * PAGODA_SEC)

/* Most KiB of kernel memory for each client of an attacker, without what the client is charged. */
#define GOAL_MEMORY	(64 * 1024)

const struct attacker attackers[] = {
	{ "queue-close", attack_queue_close },
	{ "queue-evict", attack_queue_evict },
	{ "queue-unmap", attack_queue_unmap },
	{ "misfit", attack_misfit },
	{ "misfit-jobs", attack_misfit_jobs },
	{ "bind-queue", attack_bind_queue },
	{ "submit-wait", attack_submit_wait },
	{ "vms", attack_vms },
	{ "contexts", attack_contexts },
	{ "fences", attack_fences },
	{ "listeners", attack_listeners },
	{ "queues", attack_queues },
	{ "resident", attack_resident },
	{ "map", attack_map },
	{ "contiguous", attack_contiguous },
	{ "userfault", attack_userfault },
	{ "zero-pages", attack_zero_pages },
	{ "offered", attack_offered },
	{ "maximum", attack_maximum },
	{ "faults", attack_faults },
	{ "fork", attack_fork },
	{ "files", attack_files },
	{ "late-fence", attack_late_fence },
	{ "sched-idle", attack_sched_idle },
	{ "cpu-max", attack_cpu_max, .quota_us = 10000 },
	{ "many-vms", attack_many_vms },
	{ "bind-ready", attack_bind_ready },
};

const uint32_t attackers_count = ARRAY_SIZE(attackers);
const struct attacker ordinary = { "ordinary", attack_ordinary };
const struct attacker idle = { "idle", attack_idle };

static const char usage_text[] =
"usage: hostile [options]\n"
"Measures victims beside attackers. As root, which processes of the pairs aren't.\n"
"\n"
"  --pairs GLOB     pairs attacker:victim (default *:*)\n"
"  --skip GLOB      pairs that are left out\n"
"  --awake          only victims that don't have the machine sleep; --asleep: only the others\n"
"  --except FILE    pairs that are left out: attacker and victim are the first words of its lines\n"
"  --sample N       so many pairs of all\n"
"  --turn T         which of the samples: all pairs come in turn\n"
"  --limit S        seconds that the samples of a pair may take (default 150)\n"
"  --kmsg           write to the kernel's log\n"
"  --list           print pairs\n"
"  --report FILE    say what the rows in a file come to, and measure nothing\n";

struct options {
	const char *pairs;
	const char *skip;
	const char *except;
	const char *report;
	uint32_t sample;
	uint32_t turn;
	uint32_t limit;
	bool awake;
	bool asleep;
	bool list;
};

/*
 * A victim's figures alone and beside an ordinary client. @reason: why a measurement of the figures
 * failed, NULL = none failed. @known: the measurements were made or tried
 */
struct baseline {
	struct figures alone;
	struct figures beside;
	const char *reason;
	bool known;
};

/* --- what is said ----------------------------------------------------------------------------- */

static int kmsg = -1;

static void say(const char *format, ...)
{
	char line[768], text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (kmsg >= 0) {
		snprintf(text, sizeof(text), "pagoda-vm: hostile %s\n", line);
		if (write(kmsg, text, strlen(text)) > 0)
			return;
	}
	printf("%s\n", line);
	fflush(stdout);
}

/* --- which pairs ------------------------------------------------------------------------------ */

#define PAIRS_MAX	(64u * 16)
/*
 * Distance in the list of pairs from a pair of a sample to the next: neighbours in the list are
 * alike. Has no divisor in common with the length of the list.
 */
#define STRIDE		101u

static bool chosen[PAIRS_MAX];

static uint32_t pairs_count(void)
{
	return attackers_count * victims_count;
}

/* Pairs are in the order of victims, so that a victim's baseline isn't old when a pair uses it. */
static const struct attacker *pair_attacker(uint32_t pair)
{
	return &attackers[pair % attackers_count];
}

static const struct victim *pair_victim(uint32_t pair)
{
	return &victims[pair / attackers_count];
}

static void pair_name(uint32_t pair, char *name, uint32_t size)
{
	snprintf(name, size, "%s:%s", pair_attacker(pair)->name, pair_victim(pair)->name);
}

static void choose_sample(const struct options *o)
{
	uint32_t total = pairs_count(), n;

	for (n = 0; n < total; n++)
		chosen[n] = !o->sample;
	for (n = 0; n < o->sample && n < total; n++)
		chosen[(uint64_t)((uint64_t)o->turn * o->sample + n) * STRIDE % total] = true;
}

static void leave_out(const char *path)
{
	char line[512], attacker[64], victim[64], name[160], done[160];
	FILE *file = fopen(path, "r");
	uint32_t n;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %63s", attacker, victim) != 2)
			continue;
		snprintf(done, sizeof(done), "%s:%s", attacker, victim);
		for (n = 0; n < pairs_count(); n++) {
			pair_name(n, name, sizeof(name));
			if (!strcmp(name, done))
				chosen[n] = false;
		}
	}
	if (file)
		fclose(file);
}

static uint32_t choose(const struct options *o)
{
	uint32_t count = 0, n;
	char name[160];

	choose_sample(o);
	if (o->except)
		leave_out(o->except);
	for (n = 0; n < pairs_count(); n++) {
		pair_name(n, name, sizeof(name));
		chosen[n] = chosen[n] && !fnmatch(o->pairs, name, 0) &&
			    (!o->skip || fnmatch(o->skip, name, 0));
		if (pair_victim(n)->sleeps ? o->awake : o->asleep)
			chosen[n] = false;
		count += chosen[n];
	}
	return count;
}

/* --- cells ------------------------------------------------------------------------------------ */

static struct outcome outcome;

static void baseline_measure(const struct victim *victim, const struct options *o,
			     struct baseline *b)
{
	const struct patience patience = { 2 * LEAST_NS, o->limit * PAGODA_SEC };
	struct figures reduced;

	b->known = true;
	cell_run(NULL, victim, &patience, &outcome, NULL);
	table_figures(&outcome, 0, &b->alone, &reduced);
	b->reason = outcome.reason;
	if (!b->reason) {
		cell_run(&ordinary, victim, &patience, &outcome, NULL);
		table_figures(&outcome, 0, &b->beside, &reduced);
		b->reason = outcome.reason;
	}
	say("ordinary\t%s\t%u\t%.0f\t%.0f\t%.0f\t%u\t%.0f\t%.0f\t%.0f\t%.2f\t%s", victim->name,
	    b->alone.count, b->alone.p50, b->alone.p99, b->alone.max, b->beside.count,
	    b->beside.p50, b->beside.p99, b->beside.max,
	    b->alone.p99 > 0 ? b->beside.p99 / b->alone.p99 : 0,
	    b->reason ? b->reason : "-");
}

static void say_memory(const struct attacker *attacker, const struct footprint *f)
{
	int64_t beyond = f->kernel - f->charged;
	int clients = f->clients > 0 ? f->clients : 1;

	say("memory\t%s\t%d\t%lld\t%lld\t%lld\t%lld\t%s", attacker->name, clients,
	    (long long)f->kernel, (long long)f->charged, (long long)beyond, (long long)f->left,
	    beyond / clients <= GOAL_MEMORY ? "ok" : "large");
}

/* Measures a pair and prints its row. Returns false if the machine can't be used any more. */
static bool pair_measure(uint32_t pair, const struct options *o, const struct baseline *b)
{
	const struct patience patience = { LEAST_NS, o->limit * PAGODA_SEC };
	const struct attacker *attacker = pair_attacker(pair);
	const struct victim *victim = pair_victim(pair);
	struct footprint footprint = { 0 };
	char line[512];

	say("begin\t%s\t%s", attacker->name, victim->name);
	if (b->reason)
		outcome = (struct outcome) { .reason = "there is no baseline" };
	else
		cell_run(attacker, victim, &patience, &outcome, &footprint);
	table_row(line, sizeof(line), attacker->name, victim, &outcome, &b->alone, &b->beside);
	say("row\t%s", line);
	if (footprint.known)
		say_memory(attacker, &footprint);
	if (outcome.reason)
		say("# %s x %s: %s", attacker->name, victim->name, outcome.reason);
	return !outcome.spoilt;
}

/* Measures all chosen pairs. Returns 0, or SPOILT once the machine can't be used any more. */
static int measure_all(const struct options *o, uint32_t count)
{
	static struct baseline baselines[16];
	int64_t begin = pagoda_now();
	struct baseline *b;
	uint32_t n, done = 0;

	for (n = 0; n < pairs_count(); n++) {
		if (!chosen[n])
			continue;
		b = &baselines[n / attackers_count];
		if (!b->known) {
			baseline_measure(pair_victim(n), o, b);
			if (outcome.spoilt)
				return SPOILT;
		}
		if (!pair_measure(n, o, b))
			return SPOILT;
		say("# %u of %u pairs, %lld s", ++done, count,
		    (long long)((pagoda_now() - begin) / PAGODA_SEC));
	}
	return 0;
}

/* --- options ---------------------------------------------------------------------------------- */

static void list(void)
{
	char name[160];
	uint32_t n;

	for (n = 0; n < pairs_count(); n++) {
		pair_name(n, name, sizeof(name));
		if (chosen[n])
			printf("%s\n", name);
	}
}

static uint32_t number(const char *text)
{
	unsigned long value;
	char *end;

	value = strtoul(text, &end, 10);
	if (*end || end == text || value > 1000000) {
		fprintf(stderr, "hostile: %s: no such number\n", text);
		exit(2);
	}
	return value;
}

static void usage(int status)
{
	fputs(usage_text, status ? stderr : stdout);
	exit(status);
}

static void take_option(int c, struct options *o)
{
	switch (c) {
	case 'p':
		o->pairs = optarg;
		break;
	case 's':
		o->skip = optarg;
		break;
	case 'e':
		o->except = optarg;
		break;
	case 'r':
		o->report = optarg;
		break;
	case 'n':
		o->sample = number(optarg);
		break;
	case 't':
		o->turn = number(optarg);
		break;
	case 'l':
		o->limit = number(optarg);
		break;
	case 'k':
		kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
		break;
	case 'a':
		o->awake = true;
		break;
	case 'A':
		o->asleep = true;
		break;
	case 'L':
		o->list = true;
		break;
	default:
		usage(c == 'h' ? 0 : 2);
	}
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{ "pairs", required_argument, NULL, 'p' },
		{ "skip", required_argument, NULL, 's' },
		{ "except", required_argument, NULL, 'e' },
		{ "report", required_argument, NULL, 'r' },
		{ "sample", required_argument, NULL, 'n' },
		{ "turn", required_argument, NULL, 't' },
		{ "limit", required_argument, NULL, 'l' },
		{ "awake", no_argument, NULL, 'a' },
		{ "asleep", no_argument, NULL, 'A' },
		{ "kmsg", no_argument, NULL, 'k' },
		{ "list", no_argument, NULL, 'L' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
		take_option(c, o);
	if (optind != argc)
		usage(2);
}

int main(int argc, char **argv)
{
	struct options options = { .pairs = "*", .limit = 150 };
	uint32_t count;

	parse_options(argc, argv, &options);
	if (options.report)
		return table_report(options.report);
	count = choose(&options);
	if (options.list) {
		list();
		return 0;
	}
	cell_machine_setup();
	return measure_all(&options, count);
}
