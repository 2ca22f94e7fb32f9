// SPDX-License-Identifier: GPL-2.0
/*
 * simulate: how many bytes a residency trace moves between VRAM and system memory when plain
 * LRU, the driver's policy or an optimum that knows the future chooses what leaves, all under the
 * driver's rules.
 *
 * What counts is the share of the gap between LRU and the optimum that the policy closes:
 * (LRU - policy) / (LRU - optimum). Where there is hardly a gap such a share says nothing; what
 * the policy must not do there is harm, so it is the share of what LRU moves instead, and left
 * out of the mean.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/pagoda_lib.h"
#include "simulate.h"

#define SMALL_GAP	0.05

/* What --check asks for: a mean over recorded programs, and no row below, of any program. */
#define MEAN_WANTED	0.75
#define LOWEST_WANTED	-0.05

/* What --moved asks for. */
#define AGREEMENT	0.05

static const unsigned int percents[] = { 25, 50, 75 };

static const char usage_text[] =
"usage: simulate [options] [TRACE]...\n"
"Says what residency traces (see traces/README; decompressed) move between VRAM and system\n"
"memory when plain LRU, the driver's policy or a furthest-next-use optimum chooses who leaves.\n"
"VRAM is 25, 50 and 75 % of the largest and of the 95th-percentile frame's working set.\n"
"\n"
"  --vram-mb N   this VRAM instead, as `replay --plan` says it\n"
"  --beside N    bytes of that VRAM that allocations can't have (default 0)\n"
"  --scale N     multiply all sizes, as `replay --plan` says it (default 1)\n"
"  --frames N    stop after N frames (default: all)\n"
"  --patterns    also programs that were made up: cyclic, random, scanning and more\n"
"  --check       fail if the mean share of the traces is below 0.75, or any share below -0.05\n"
"  --moved N     fail if the driver, which moved N bytes with its policy, is more than 5 % off\n"
"  --json        one JSON object instead of a table\n"
"  --help        this\n"
"\n"
"MiB moved count both ways. share: (lru - policy) / (lru - optimum). In parentheses, where that\n"
"gap is at most 5 % of lru: (lru - policy) / lru, not part of the mean.\n";

struct options {
	uint64_t vram_mb;
	uint64_t beside;
	unsigned int scale;
	unsigned int frames;
	uint64_t moved;
	bool patterns;
	bool check;
	bool json;
};

/*
 * @percent, @usual: 0 for a VRAM that was given; of the largest frame's, or the usual one's
 * @beside: part of @vram that allocations can't have
 */
struct row {
	char name[64];
	bool pattern;
	bool usual;
	unsigned int percent;
	uint64_t vram;
	uint64_t beside;
	struct sim_result results[SIM_CHOOSERS];
};

/* Over the rows so far. @sum: of @counted shares of traces. */
struct report {
	const struct options *options;
	double sum;
	double lowest;
	unsigned int counted;
	unsigned int rows;
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
		{ "moved", required_argument, NULL, 'm' },
		{ "patterns", no_argument, NULL, 'p' },
		{ "check", no_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
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
		case 'm':
			o->moved = number(optarg, 1, UINT64_MAX);
			break;
		case 'p':
			o->patterns = true;
			break;
		case 'c':
			o->check = true;
			break;
		case 'j':
			o->json = true;
			break;
		default:
			usage(c == 'h' ? 0 : 2);
		}
	}
	if (optind == argc && !o->patterns)
		usage(2);
	if (o->beside && o->beside >= o->vram_mb * PAGODA_MIB)
		usage(2);
	/* What moved it was one program, in one VRAM. */
	if (o->moved && (optind != argc - 1 || !o->vram_mb || o->patterns))
		usage(2);
}

static double gap(const struct row *row)
{
	return (double)sim_moved(&row->results[SIM_LRU]) -
	       (double)sim_moved(&row->results[SIM_OPTIMUM]);
}

static bool counts(const struct row *row)
{
	return gap(row) > SMALL_GAP * sim_moved(&row->results[SIM_LRU]);
}

static double share(const struct row *row)
{
	double lru = sim_moved(&row->results[SIM_LRU]);
	double gained = lru - sim_moved(&row->results[SIM_POLICY]);
	double of = counts(row) ? gap(row) : lru;

	/* Where LRU moves nothing, any byte is harm. */
	return of > 0 ? gained / of : gained;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / PAGODA_MIB;
}

static const char *base(const struct row *row)
{
	return !row->percent ? "given" : row->usual ? "p95" : "max";
}

static void print_row(const struct row *row)
{
	char text[16];

	snprintf(text, sizeof(text), counts(row) ? "%.3f" : "(%.3f)", share(row));
	printf("%-14s %-5s %3u %8.1f %11.1f %11.1f %11.1f %9s\n", row->name, base(row),
	       row->percent, mib(row->vram), mib(sim_moved(&row->results[SIM_LRU])),
	       mib(sim_moved(&row->results[SIM_POLICY])),
	       mib(sim_moved(&row->results[SIM_OPTIMUM])), text);
	fflush(stdout);
}

/* A name is a file's: what JSON has a meaning for is left out. */
static void print_json_name(const char *name)
{
	for (; *name; name++)
		if (*name >= ' ' && *name != '"' && *name != '\\')
			putchar(*name);
}

static void print_json(const struct row *row, bool first)
{
	static const char * const names[SIM_CHOOSERS] = {
		[SIM_LRU] = "lru", [SIM_POLICY] = "policy", [SIM_OPTIMUM] = "optimum",
	};
	unsigned int n;

	printf("%s\n  {\"trace\": \"", first ? "" : ",");
	print_json_name(row->name);
	printf("\", \"pattern\": %s, \"base\": \"%s\", \"percent\": %u, \"vram\": %llu,",
	       row->pattern ? "true" : "false", base(row), row->percent,
	       (unsigned long long)row->vram);
	for (n = 0; n < SIM_CHOOSERS; n++) {
		const struct sim_result *r = &row->results[n];

		printf("\n   \"%s\": {\"in\": %llu, \"out\": %llu, ", names[n],
		       (unsigned long long)r->in, (unsigned long long)r->out);
		printf("\"page_ins\": %llu, \"evictions\": %llu},",
		       (unsigned long long)r->page_ins, (unsigned long long)r->evictions);
	}
	printf("\n   \"share\": %.4f, \"counts\": %s}", share(row), counts(row) ? "true" : "false");
}

static void report_begin(const struct report *r)
{
	if (r->options->json)
		printf("{\"rows\": [");
	else
		printf("%-14s %-5s %3s %8s %11s %11s %11s %9s\n", "trace", "base", "%", "VRAM",
		       "lru", "policy", "optimum", "share");
}

static void report_row(struct report *r, const struct row *row)
{
	if (r->options->json)
		print_json(row, !r->rows);
	else
		print_row(row);
	if (!r->rows++ || share(row) < r->lowest)
		r->lowest = share(row);
	if (!row->pattern && counts(row)) {
		r->sum += share(row);
		r->counted++;
	}
}

/* 0, or 1 if --check asks for more. */
static int report_end(const struct report *r)
{
	double mean = r->counted ? r->sum / r->counted : 0;
	bool good = r->lowest >= LOWEST_WANTED && (!r->counted || mean >= MEAN_WANTED);

	if (r->options->json)
		printf("],\n \"mean\": %.4f, \"mean_wanted\": %g, \"counted\": %u,\n"
		       " \"lowest\": %.4f, \"lowest_wanted\": %g}\n", mean, MEAN_WANTED, r->counted,
		       r->lowest, LOWEST_WANTED);
	else
		printf("mean share of %u rows of traces: %.3f; lowest of all %u: %.3f\n",
		       r->counted, mean, r->rows, r->lowest);
	if (!r->options->check || good)
		return 0;
	fprintf(stderr, "simulate: wanted are a mean of %.2f and no row below %.2f\n",
		MEAN_WANTED, LOWEST_WANTED);
	return 1;
}

/* The driver has page tables in VRAM and frees what is closed when TTM does: it isn't the same. */
static int report_agreement(const struct report *r, const struct row *row)
{
	double moved = r->options->moved, expected = sim_moved(&row->results[SIM_POLICY]);
	double off = expected > 0 ? moved / expected - 1 : moved > 0;

	printf("the driver moved %.1f MiB, %+.1f %% of what the simulation does\n",
	       moved / PAGODA_MIB, 100 * off);
	return fabs(off) > AGREEMENT ? -ERANGE : 0;
}

static int simulate_row(struct report *r, const struct trace *trace, struct row *row)
{
	struct sim_script script;
	unsigned int chooser;
	int ret = sim_script_make(&script, trace, row->vram);

	if (ret)
		return ret;
	for (chooser = 0; !ret && chooser < SIM_CHOOSERS; chooser++)
		ret = sim_run(&script, row->vram - row->beside, chooser,
			      &row->results[chooser]);
	sim_script_free(&script);
	if (!ret)
		report_row(r, row);
	if (!ret && r->options->moved)
		ret = report_agreement(r, row);
	return ret;
}

/* The frames of the whole trace count, so that a short run means the same VRAM as a long one. */
static int simulate(struct report *r, struct trace *trace, bool pattern)
{
	const struct options *o = r->options;
	struct row row = {
		.pattern = pattern,
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
	if (!ret && o->vram_mb)
		return simulate_row(r, trace, &row);
	for (n = 0; !ret && n < 2 * ARRAY_SIZE(percents); n++) {
		row.usual = n >= ARRAY_SIZE(percents);
		row.percent = percents[n % ARRAY_SIZE(percents)];
		row.vram = (row.usual ? demand.usual : demand.working_set) * row.percent / 100;
		ret = simulate_row(r, trace, &row);
	}
	return ret;
}

static int simulate_file(struct report *r, const char *path)
{
	struct trace trace;
	int ret = trace_load(&trace, path);

	if (ret)
		return ret;
	ret = simulate(r, &trace, false);
	trace_unload(&trace);
	return ret;
}

static int simulate_patterns(struct report *r)
{
	struct trace trace;
	unsigned int n;
	int ret = 0;

	for (n = 0; !ret && sim_pattern_name(n); n++) {
		ret = sim_pattern_make(&trace, n);
		if (ret)
			break;
		ret = simulate(r, &trace, true);
		trace_unload(&trace);
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct options options = { .scale = 1 };
	struct report report = { .options = &options };
	int n, ret = 0;

	parse_options(argc, argv, &options);
	report_begin(&report);
	for (n = optind; !ret && n < argc; n++)
		ret = simulate_file(&report, argv[n]);
	if (!ret && options.patterns)
		ret = simulate_patterns(&report);
	if (ret) {
		fprintf(stderr, "simulate: failed: %s\n", strerror(-ret));
		return 1;
	}
	return report_end(&report);
}
