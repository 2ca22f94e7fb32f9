// SPDX-License-Identifier: GPL-2.0
/*
 * simulate: how many bytes a residency trace moves between VRAM and system memory when plain
 * LRU, the driver's policy or an optimum that knows the future chooses what leaves, all under the
 * driver's rules; and how many have to be moved at least.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/pagoda_lib.h"
#include "simulate_report.h"

/* --moved allows for a difference of this share of the simulated bytes plus this part of VRAM. */
#define AGREEMENT	0.05
#define AGREEMENT_VRAM	0.25

static const unsigned int percents[] = { 25, 50, 75 };

/* Number of small programs that --prove checks. */
#define PROVEN		1000

static const char usage_text[] =
"usage: simulate [options] [TRACE]...\n"
"Says what residency traces (see traces/README; decompressed) move between VRAM and system\n"
"memory when plain LRU, the driver's policy or an optimum chooses what leaves.\n"
"VRAM is 25, 50 and 75 % of the largest and of the 95th-percentile frame's working set.\n"
"\n"
"  --vram-mb N   this VRAM instead, as `replay --plan` says it\n"
"  --beside N    bytes of that VRAM that allocations can't have (default 0)\n"
"  --scale N     multiply all sizes, as `replay --plan` says it (default 1)\n"
"  --frames N    stop after N frames (default: all)\n"
"  --copies-all  what leaves is copied out even if it wasn't written\n"
"  --patterns    also programs that were made up: cyclic, random, scanning and more\n"
"  --together    also 2 and 4 of the traces at once, in 50 and 75 % of their largest frames\n"
"  --prove       compare bound, exact minimum and policies on small programs first\n"
"  --check       fail if the mean share of the traces is below 0.75, or 0.90 with 2 frames queued,\n"
"                or 0.80 of clients at once, one of which is 1.3 times slower than is fair, or any\n"
"                share below -0.05\n"
"  --check-own   likewise, but what the repository's traces reach: see simulate_report.c\n"
"  --jobs N      with --moved: N jobs in flight, as `replay --queued` says it (default: no queue)\n"
"  --moved N     fail if the driver, which moved N bytes with its policy, is off by more than 5 %\n"
"                and a quarter of VRAM\n"
"  --json FILE   also one JSON object to FILE\n"
"  --help        this\n"
"\n"
"MiB moved count both ways. queued: the policy knows what 1 or 2 frames behind the one that is\n"
"executed use. best: the least that is known to be possible. bound: proven, less isn't possible.\n"
"blind: less isn't to be expected of a choice that knows 2 frames ahead.\n"
"share: (lru - policy) / (lru - best); q.: with frames queued. In parentheses, where that gap is\n"
"at most 5 % of lru: (lru - policy) / lru, not part of the mean. good: part of what left that the\n"
"bound says had better leave. ratio: what the policy moved, but for what the CPU made new, to\n"
"what an optimum moves that isn't bound to the driver's rules. idle: time that the engine waits\n"
"for paging, to that of copying what the bound says, with 8 jobs in flight; ahead: likewise, if\n"
"what queued jobs use comes in ahead of them. The last number of clients at once: the most that\n"
"one is slower than alone in its fair share of VRAM.\n";

struct options {
	uint64_t vram_mb;
	uint64_t beside;
	unsigned int scale;
	unsigned int frames;
	unsigned int jobs;
	uint64_t moved;
	bool copies_all;
	bool patterns;
	bool together;
	bool prove;
	struct sim_report report;
};

static int usage(int status)
{
	fputs(usage_text, status ? stderr : stdout);
	exit(status);
}

static unsigned long long number(const char *text, unsigned long long min,
				 unsigned long long max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || *end || end == text || *text == '-' || value < min || value > max) {
		fprintf(stderr, "simulate: %s: not a number from %llu to %llu\n", text, min, max);
		exit(2);
	}
	return value;
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{ "vram-mb", required_argument, NULL, 'v' },
		{ "beside", required_argument, NULL, 'b' },
		{ "scale", required_argument, NULL, 's' },
		{ "frames", required_argument, NULL, 'f' },
		{ "jobs", required_argument, NULL, 'q' },
		{ "moved", required_argument, NULL, 'm' },
		{ "copies-all", no_argument, NULL, 'a' },
		{ "patterns", no_argument, NULL, 'p' },
		{ "together", no_argument, NULL, 't' },
		{ "prove", no_argument, NULL, 'P' },
		{ "check", no_argument, NULL, 'c' },
		{ "check-own", no_argument, NULL, 'C' },
		{ "json", required_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		switch (c) {
		case 'v':
			o->vram_mb = number(optarg, 1, 1u << 20);
			break;
		case 'b':
			o->beside = number(optarg, 0, UINT64_MAX);
			break;
		case 's':
			o->scale = number(optarg, 1, 4096);
			break;
		case 'f':
			o->frames = number(optarg, 1, 1u << 30);
			break;
		case 'q':
			o->jobs = number(optarg, 2, 1u << 16);
			break;
		case 'm':
			o->moved = number(optarg, 1, UINT64_MAX);
			break;
		case 'a':
			o->copies_all = true;
			break;
		case 'p':
			o->patterns = true;
			break;
		case 't':
			o->together = true;
			break;
		case 'P':
			o->prove = true;
			break;
		case 'c':
			o->report.check = true;
			break;
		case 'C':
			o->report.check = true;
			o->report.own = true;
			break;
		case 'j':
			o->report.json = fopen(optarg, "w");
			if (o->report.json)
				break;
			perror(optarg);
			exit(2);
		default:
			usage(c == 'h' ? 0 : 2);
		}
	}
	if (optind == argc && !o->patterns && !o->prove)
		usage(2);
	if (o->beside && o->beside >= o->vram_mb * PAGODA_MIB)
		usage(2);
	if (o->jobs && !o->moved)
		usage(2);
	/* --moved is of one program, in one VRAM. */
	if (o->moved && (optind != argc - 1 || !o->vram_mb || o->patterns))
		usage(2);
}

/*
 * Prints by how much the driver's bytes differ from the simulated ones. Returns -ERANGE if that is
 * too much, see AGREEMENT, else 0. The two can't agree wholly: the driver has page tables in VRAM,
 * too, and frees closed allocations later; and it is a matter of chance what a short program
 * leaves in VRAM.
 */
static int check_agreement(const struct options *o, const struct sim_result *result)
{
	double moved = o->moved, expected = sim_moved(result);
	double off = expected > 0 ? moved / expected - 1 : moved > 0;

	printf("the driver moved %.1f MiB, %+.1f %% of what the simulation does\n",
	       moved / PAGODA_MIB, 100 * off);
	return fabs(moved - expected) > AGREEMENT * expected +
	       AGREEMENT_VRAM * o->vram_mb * PAGODA_MIB ? -ERANGE : 0;
}

static void keep_best(struct sim_row *row, const struct sim_result *result)
{
	if (sim_moved(result) < sim_moved(&row->best))
		row->best = *result;
}

static double processor_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/*
 * Simulates @script with @choice, and adds the processor time of that to *@seconds. Returns as
 * sim_run().
 */
static int run_timed(const struct sim_script *script, const struct sim_choice *choice,
		     struct sim_result *result, double *seconds)
{
	double begin = processor_time();
	int ret = sim_run(script, choice, result);

	*seconds += processor_time() - begin;
	return ret;
}

/*
 * Simulates the policy with 0 to SIM_QUEUED frames of each client queued, and with as many as
 * sim_depths has. Adds the processor time without queue to @seconds[1], that with SIM_QUEUED frames
 * to @seconds[2]. Returns 0 or a negative errno.
 */
static int run_policy(struct sim_row *row, const struct sim_script *script,
		      struct sim_choice *choice, double *seconds)
{
	double other = 0;
	unsigned int n;
	int ret = 0;

	choice->chooser = SIM_POLICY;
	for (n = 0; !ret && n <= SIM_QUEUED; n++) {
		choice->queued = n * script->nr_clients;
		ret = run_timed(script, choice, &row->policy[n],
				!n ? &seconds[1] : n == SIM_QUEUED ? &seconds[2] : &other);
		keep_best(row, &row->policy[n]);
	}
	for (n = 0; !ret && n < SIM_DEEPER; n++) {
		choice->queued = sim_depths[n] * script->nr_clients;
		ret = sim_run(script, choice, &row->deeper[n]);
		keep_best(row, &row->deeper[n]);
	}
	return ret;
}

static int run_choices(struct sim_row *row, const struct sim_script *script, const uint8_t *worth,
		       bool copies_all, double *seconds)
{
	struct sim_choice choice = { row->vram - row->beside, SIM_LRU, 0, worth, copies_all };
	int ret = run_timed(script, &choice, &row->lru, &seconds[0]);

	choice.chooser = SIM_OPTIMUM;
	if (!ret)
		ret = sim_run(script, &choice, &row->best);
	if (!ret)
		ret = run_policy(row, script, &choice, seconds);
	keep_best(row, &row->lru);
	return ret;
}

/*
 * Simulates a queue of SIM_JOBS jobs, without and with paging ahead, and sets @row->idle. Returns 0
 * or a negative errno.
 */
static int run_idle(struct sim_row *row, const struct sim_script *script, bool copies_all)
{
	struct sim_choice choice = {
		.vram = row->vram - row->beside,
		.chooser = SIM_POLICY,
		.copies_all = copies_all,
		.jobs = SIM_JOBS,
		.pace = SIM_PACE,
	};
	struct sim_result result;
	int ret = 0, n;

	for (n = 0; !ret && n < 2; n++) {
		choice.ahead = n;
		ret = sim_run(script, &choice, &result);
		row->idle[n] = result.idle;
	}
	return ret;
}

static int run_row(struct options *o, struct sim_row *row, const struct trace *trace,
		   const uint8_t *clients, unsigned int nr_clients)
{
	struct sim_script script;
	uint8_t *worth;
	int ret = sim_script_make(&script, trace, row->vram);

	if (ret)
		return ret;
	script.clients = clients;
	script.nr_clients = nr_clients;
	worth = malloc(script.nr_uses + 1);
	ret = worth ? sim_bound(&script, row->vram - row->beside, &row->bound, worth) : -ENOMEM;
	if (!ret)
		ret = run_choices(row, &script, worth, o->copies_all, o->report.seconds);
	if (!ret && nr_clients == 1)
		ret = run_idle(row, &script, o->copies_all);
	o->report.uses += script.nr_uses;
	if (!ret)
		ret = sim_blind(&script, row->vram - row->beside, SIM_QUEUED * nr_clients,
				&row->blind);
	row->blind += row->best.uploads;
	if (row->blind < row->bound)
		row->blind = row->bound;
	if (!ret)
		ret = sim_whole(trace, row->vram - row->beside, &row->whole);
	free(worth);
	sim_script_free(&script);
	return ret;
}

static int simulate_row(struct options *o, const struct trace *trace, struct sim_row *row)
{
	int ret = run_row(o, row, trace, NULL, 1);

	if (!ret)
		sim_report_row(&o->report, row);
	return ret;
}

/*
 * For --moved: simulates only the policy, as the driver was run: with --jobs in flight and paging
 * ahead, or without queue; and compares. Returns 0 or a negative errno.
 */
static int simulate_moved(const struct options *o, const struct trace *trace, uint64_t vram)
{
	const struct sim_choice choice = {
		.vram = vram - o->beside,
		.chooser = SIM_POLICY,
		.copies_all = o->copies_all,
		.jobs = o->jobs,
		.ahead = true,
		.pace = SIM_PACE,
	};
	struct sim_result result;
	struct sim_script script;
	int ret = sim_script_make(&script, trace, vram);

	if (ret)
		return ret;
	ret = sim_run(&script, &choice, &result);
	sim_script_free(&script);
	return ret ? ret : check_agreement(o, &result);
}

/*
 * Simulates @trace in the VRAM of --vram-mb, or in several parts of what its largest and its
 * 95th-percentile frame need. These frames are of the whole trace, so that --frames doesn't change
 * VRAM. Returns 0 or a negative errno.
 */
static int simulate(struct options *o, struct trace *trace, enum sim_kind kind)
{
	struct sim_row row = {
		.kind = kind,
		.vram = o->vram_mb * PAGODA_MIB,
		.beside = o->beside,
	};
	struct trace_demand demand;
	unsigned int n;
	int ret;

	snprintf(row.name, sizeof(row.name), "%s", trace->name);
	trace_scale(trace, o->scale);
	ret = trace_measure(trace, &demand);
	trace_cut(trace, o->frames);
	if (!ret && o->moved)
		return simulate_moved(o, trace, row.vram);
	if (!ret && o->vram_mb)
		return simulate_row(o, trace, &row);
	for (n = 0; !ret && n < 2 * ARRAY_SIZE(percents); n++) {
		row.usual = n >= ARRAY_SIZE(percents);
		row.percent = percents[n % ARRAY_SIZE(percents)];
		row.vram = (row.usual ? demand.usual : demand.working_set) * row.percent / 100;
		ret = simulate_row(o, trace, &row);
	}
	return ret;
}

static int simulate_patterns(struct options *o)
{
	struct trace trace;
	unsigned int n;
	int ret = 0;

	for (n = 0; !ret && sim_pattern_name(n); n++) {
		ret = sim_pattern_make(&trace, n);
		if (ret)
			break;
		ret = simulate(o, &trace, SIM_PATTERN);
		trace_unload(&trace);
	}
	return ret;
}

#define UNSERVED	UINT64_MAX	/* a client whose share isn't known yet */

/*
 * Sets @shares to each client's part of @vram. A client whose largest frame needs no more than an
 * equal part of what is left gets what the frame needs; the other clients share the rest equally.
 */
static void fair_shares(uint64_t *shares, const uint64_t *needs, unsigned int count, uint64_t vram)
{
	unsigned int n, open = count;
	uint64_t left = vram, each;
	bool changed = true;

	for (n = 0; n < count; n++)
		shares[n] = UNSERVED;
	while (changed && open) {
		changed = false;
		each = left / open;
		for (n = 0; n < count; n++) {
			if (shares[n] != UNSERVED || needs[n] > each)
				continue;
			shares[n] = needs[n];
			left -= needs[n];
			open--;
			changed = true;
		}
	}
	for (n = 0; n < count; n++)
		if (shares[n] == UNSERVED)
			shares[n] = left / open;
}

/*
 * Returns a client's time, measured in bytes: those that its jobs use plus those moved for the
 * jobs.
 */
static double time_of(const struct sim_result *result, unsigned int client)
{
	return (double)result->used_by[client] + result->moved_for[client];
}

static int find_slowdown(const struct options *o, struct sim_row *row,
			 const struct trace * const *traces, const uint64_t *shares,
			 unsigned int count)
{
	unsigned int n;
	int ret = 0;

	for (n = 0; !ret && n < count; n++) {
		struct sim_choice choice = {
			.vram = shares[n],
			.chooser = SIM_POLICY,
			.queued = SIM_QUEUED,
			.copies_all = o->copies_all,
		};
		struct sim_result alone;
		struct sim_script script;
		double slowdown;

		ret = sim_script_make(&script, traces[n], shares[n]);
		if (ret)
			break;
		ret = sim_run(&script, &choice, &alone);
		slowdown = time_of(&row->policy[SIM_QUEUED], n) / time_of(&alone, 0);
		if (slowdown > row->slowdown)
			row->slowdown = slowdown;
		sim_script_free(&script);
	}
	return ret;
}

static int simulate_at_once(struct options *o, const struct trace * const *traces,
			    unsigned int count)
{
	uint64_t needs[SIM_CLIENTS], shares[SIM_CLIENTS], sum = 0;
	struct trace_demand demand;
	struct trace merged;
	uint8_t *clients;
	unsigned int n;
	int ret = 0;

	for (n = 0; !ret && n < count; n++) {
		ret = trace_measure(traces[n], &demand);
		needs[n] = demand.working_set;
		sum += needs[n];
	}
	if (!ret)
		ret = sim_together_make(&merged, &clients, traces, count);
	if (ret)
		return ret;
	for (n = 1; !ret && n < ARRAY_SIZE(percents); n++) {
		struct sim_row row = {
			.kind = SIM_TOGETHER,
			.percent = percents[n],
			.vram = sum * percents[n] / 100,
		};

		snprintf(row.name, sizeof(row.name), "%u: %.32s", count, traces[0]->name);
		fair_shares(shares, needs, count, row.vram);
		ret = run_row(o, &row, &merged, clients, count);
		if (!ret)
			ret = find_slowdown(o, &row, traces, shares, count);
		if (!ret)
			sim_report_row(&o->report, &row);
	}
	free(clients);
	trace_unload(&merged);
	return ret;
}

/*
 * Simulates each trace together with the next one, and with the next three; behind the last trace
 * comes the first again. Returns 0 or a negative errno.
 */
static int simulate_together(struct options *o, const struct trace *traces, unsigned int count)
{
	const struct trace *at_once[SIM_CLIENTS];
	unsigned int first, n, clients;
	int ret = 0;

	for (clients = 2; clients <= SIM_CLIENTS; clients += 2) {
		for (first = 0; !ret && first < count; first++) {
			for (n = 0; n < clients; n++)
				at_once[n] = &traces[(first + n) % count];
			ret = simulate_at_once(o, at_once, clients);
		}
	}
	return ret;
}

static int simulate_files(struct options *o, char **paths, unsigned int count)
{
	struct trace *traces = calloc(count + 1ul, sizeof(*traces));
	unsigned int n, loaded;
	int ret = traces ? 0 : -ENOMEM;

	for (loaded = 0; !ret && loaded < count; loaded++) {
		ret = trace_load(&traces[loaded], paths[loaded]);
		if (ret)
			break;
		ret = simulate(o, &traces[loaded], SIM_TRACE);
	}
	if (!ret && o->together && !o->vram_mb)
		ret = simulate_together(o, traces, count);
	for (n = 0; n < loaded; n++)
		trace_unload(&traces[n]);
	free(traces);
	return ret;
}

int main(int argc, char **argv)
{
	struct options options = { .scale = 1 };
	int ret = 0;

	parse_options(argc, argv, &options);
	if (options.prove)
		ret = sim_prove(PROVEN);
	if (!ret && options.moved) {
		ret = simulate_files(&options, argv + optind, 1);
	} else if (!ret && (optind < argc || options.patterns)) {
		sim_report_begin(&options.report);
		ret = simulate_files(&options, argv + optind, argc - optind);
		if (!ret && options.patterns)
			ret = simulate_patterns(&options);
		if (!ret)
			return sim_report_end(&options.report);
	}
	if (ret)
		fprintf(stderr, "simulate: failed: %s\n", strerror(-ret));
	return ret ? 1 : 0;
}
