// SPDX-License-Identifier: GPL-2.0
/*
 * The table of results, their means, and the verdict of --check.
 *
 * What counts is the share of the gap between LRU and the best known that the policy closes: (LRU -
 * policy) / (LRU - best). Where the gap is at most 5 % of what LRU moves, such a share says
 * nothing, and the policy only must do no harm: the row doesn't count, its share is
 * (LRU - policy) / LRU and left out of the mean.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>

#include "lib/pagoda_lib.h"
#include "simulate_report.h"

#define SMALL_GAP	0.05

const unsigned int sim_depths[SIM_DEEPER] = { 8, 32, 128, UINT32_MAX / 8 };

/*
 * Aims, which are printed beside the results. At least: mean share of traces with 2 frames queued,
 * and of clients at once; at most: mean ratio, slowdown, time of a use by plain LRU's, and the time
 * that the engine waits for paging, by that of copying what the bound says. Not all programs reach
 * the aims: what some use next can't be foreseen, and where VRAM is nearly enough, the uses that
 * matter are further away than two frames.
 */
#define QUEUED_AIM	0.98
#define TOGETHER_AIM	0.90
#define RATIO_AIM	1.15
#define SLOWDOWN_AIM	1.3
#define TIME_AIM	3.0
#define IDLE_AIM	1.1

/*
 * What --check asks for.
 * @mean, @queued: least mean share of traces, without and with SIM_QUEUED frames queued
 * @together: least mean share of clients at once, with SIM_QUEUED frames queued
 * @lowest: least share of any row
 * @slowdown: highest slowdown of a client; @ratio: highest mean ratio, 0 = any
 */
struct wanted {
	double mean;
	double queued;
	double together;
	double lowest;
	double slowdown;
	double ratio;
};

/* For any traces; and, for --check-own, what the repository's traces reach at least. */
static const struct wanted wanted_of_any = { 0.75, 0.90, 0.80, -0.05, SLOWDOWN_AIM };
static const struct wanted wanted_of_own = { 0.88, 0.93, 0.84, -0.03, SLOWDOWN_AIM, 1.03 };

static double moved(const struct sim_result *result)
{
	return sim_moved(result);
}

static double gap(const struct sim_row *row)
{
	return moved(&row->lru) - moved(&row->best);
}

static bool counts(const struct sim_row *row)
{
	return gap(row) > SMALL_GAP * moved(&row->lru);
}

static double share_of(const struct sim_row *row, const struct sim_result *result)
{
	double lru = moved(&row->lru), gained = lru - moved(result);
	double of = counts(row) ? gap(row) : lru;

	/* Where LRU moves nothing, each byte that the policy moves counts as a share of -1. */
	return of > 0 ? gained / of : gained;
}

static double share(const struct sim_row *row, unsigned int queued)
{
	return share_of(row, &row->policy[queued]);
}

/*
 * Returns which part of the bytes that the policy without queue evicted had better leave, by the
 * bound's prices; 1 if nothing left.
 */
static double good(const struct sim_row *row)
{
	const struct sim_result *result = &row->policy[0];

	return result->evicted ? (double)result->good / result->evicted : 1;
}

/*
 * Returns @bytes, without the policy's uploads, divided by what sim_whole() moves, which doesn't
 * count uploads; 0 if sim_whole() moves nothing.
 */
static double ratio_of(const struct sim_row *row, double bytes)
{
	return row->whole ? fmax(bytes - row->policy[0].uploads, 0) / row->whole : 0;
}

static double ratio(const struct sim_row *row)
{
	return ratio_of(row, moved(&row->policy[0]));
}

/*
 * Returns the time that the engine waits for paging, without or with paging ahead, divided by the
 * time of copying what has to be moved at least; 0 if nothing has to be.
 */
static double idle(const struct sim_row *row, bool ahead)
{
	return row->bound ? row->idle[ahead] / row->bound : 0;
}

/* Returns the share that is expected at most of a choice that knows SIM_QUEUED frames ahead. */
static double possible(const struct sim_row *row)
{
	return fmin((moved(&row->lru) - row->blind) / gap(row), 1);
}

static void mean_add(struct sim_mean *mean, double value)
{
	mean->lowest = mean->count ? fmin(mean->lowest, value) : value;
	mean->highest = mean->count ? fmax(mean->highest, value) : value;
	mean->sum += value;
	mean->count++;
}

static double mean(const struct sim_mean *mean)
{
	return mean->count ? mean->sum / mean->count : 0;
}

static double mib(double bytes)
{
	return bytes / PAGODA_MIB;
}

static const char *base(const struct sim_row *row)
{
	return !row->percent ? "given" : row->usual ? "p95" : "max";
}

static void print_row(const struct sim_row *row)
{
	char text[16];

	snprintf(text, sizeof(text), counts(row) ? "%.3f" : "(%.3f)", share(row, 0));
	printf("%-14.14s %-5s %3u %8.1f %9.1f %9.1f %9.1f", row->name, base(row), row->percent,
	       mib(row->vram), mib(moved(&row->lru)), mib(moved(&row->policy[0])),
	       mib(moved(&row->policy[1])));
	printf(" %9.1f %9.1f %9.1f %9.1f %8s", mib(moved(&row->policy[2])), mib(moved(&row->best)),
	       mib(row->bound), mib(row->blind), text);
	printf(" %6.3f %6.3f %6.2f %6.2f", share(row, 1), share(row, 2), good(row), ratio(row));
	if (row->kind == SIM_TOGETHER)
		printf(" %8.2f", row->slowdown);
	else
		printf(" %6.3f %6.3f", idle(row, false), idle(row, true));
	putchar('\n');
	fflush(stdout);
}

/* Prints a trace's name, which is a file's, without characters that have a meaning in JSON. */
static void print_json_name(FILE *to, const char *name)
{
	for (; *name; name++)
		if (*name >= ' ' && *name != '"' && *name != '\\')
			putc(*name, to);
}

static void print_json_result(FILE *to, const char *name, const struct sim_result *r)
{
	fprintf(to, "\n   \"%s\": {\"in\": %llu, \"out\": %llu, \"uploads\": %llu, ", name,
		(unsigned long long)r->in, (unsigned long long)r->out,
		(unsigned long long)r->uploads);
	fprintf(to, "\"page_ins\": %llu, \"evictions\": %llu},", (unsigned long long)r->page_ins,
		(unsigned long long)r->evictions);
}

static void print_json(FILE *to, const struct sim_row *row, bool first)
{
	fprintf(to, "%s\n  {\"trace\": \"", first ? "" : ",");
	print_json_name(to, row->name);
	fprintf(to, "\", \"pattern\": %s, \"together\": %s, ",
		row->kind == SIM_PATTERN ? "true" : "false",
		row->kind == SIM_TOGETHER ? "true" : "false");
	fprintf(to, "\"base\": \"%s\", \"percent\": %u, \"vram\": %llu,", base(row), row->percent,
		(unsigned long long)row->vram);
	print_json_result(to, "lru", &row->lru);
	print_json_result(to, "policy", &row->policy[0]);
	print_json_result(to, "queued_1", &row->policy[1]);
	print_json_result(to, "queued_2", &row->policy[2]);
	print_json_result(to, "optimum", &row->best);
	fprintf(to, "\n   \"bound\": %llu, \"blind\": %llu, \"whole\": %llu,",
		(unsigned long long)row->bound, (unsigned long long)row->blind,
		(unsigned long long)row->whole);
	fprintf(to, "\n   \"share_queued_1\": %.4f, ", share(row, 1));
	fprintf(to, "\"share_queued_2\": %.4f,\n   \"good\": %.4f, \"ratio\": %.4f, ",
		share(row, 2), good(row), ratio(row));
	fprintf(to, "\"slowdown\": %.4f,\n   \"idle\": %.4f, \"idle_ahead\": %.4f, ", row->slowdown,
		idle(row, false), idle(row, true));
	fprintf(to, "\"share\": %.4f, \"counts\": %s}", share(row, 0),
		counts(row) ? "true" : "false");
}

void sim_report_begin(const struct sim_report *report)
{
	printf("%-14s %-5s %3s %8s %9s %9s %9s %9s %9s %9s %9s %8s %6s %6s %6s %6s %6s %6s\n",
	       "trace", "base", "%", "VRAM", "lru", "policy", "queued 1", "queued 2", "best",
	       "bound", "blind", "share", "q. 1", "q. 2", "good", "ratio", "idle", "ahead");
	if (report->json)
		fputs("{\"rows\": [", report->json);
}

/* Adds a row of a recorded trace to those means of shares and ratios for which it counts. */
static void add_trace(struct sim_report *r, const struct sim_row *row)
{
	unsigned int n;

	if (counts(row)) {
		for (n = 0; n <= SIM_QUEUED; n++)
			mean_add(&r->shares[n], share(row, n));
		for (n = 0; n < SIM_DEEPER; n++)
			mean_add(&r->deeper[n], share_of(row, &row->deeper[n]));
		mean_add(&r->possible, possible(row));
	}
	if (row->percent >= 50 && !row->usual && row->whole) {
		mean_add(&r->ratios, log(fmax(ratio(row), 0.01)));
		mean_add(&r->ratios_best, log(fmax(ratio_of(row, moved(&row->best)), 0.01)));
	}
	if (row->percent >= 50 && !row->usual && row->bound) {
		mean_add(&r->idle[0], idle(row, false));
		mean_add(&r->idle[1], idle(row, true));
	}
}

void sim_report_row(struct sim_report *r, const struct sim_row *row)
{
	print_row(row);
	if (r->json)
		print_json(r->json, row, !r->rows);
	r->rows++;
	mean_add(&r->all, share(row, 0));
	if (row->kind == SIM_TOGETHER && counts(row)) {
		mean_add(&r->together, share(row, SIM_QUEUED));
		mean_add(&r->together_possible, possible(row));
		mean_add(&r->slowdowns, row->slowdown);
	}
	if (row->kind == SIM_TRACE)
		add_trace(r, row);
}

static const struct wanted *wanted(const struct sim_report *r)
{
	return r->own ? &wanted_of_own : &wanted_of_any;
}

static bool is_good(const struct sim_report *r)
{
	const struct wanted *w = wanted(r);

	if (r->all.lowest < w->lowest)
		return false;
	if (r->shares[0].count && (mean(&r->shares[0]) < w->mean ||
				   mean(&r->shares[SIM_QUEUED]) < w->queued))
		return false;
	if (w->ratio > 0 && r->ratios.count && exp(mean(&r->ratios)) > w->ratio)
		return false;
	return !r->together.count || (mean(&r->together) >= w->together &&
				      r->slowdowns.highest <= w->slowdown);
}

static void print_together(const struct sim_report *r)
{
	printf("clients at once, 2 frames queued, %u rows: mean share %.3f (aim: %.2f), ",
	       r->together.count, mean(&r->together), TOGETHER_AIM);
	printf("at most %.3f are to be expected; ", mean(&r->together_possible));
	printf("the slowest takes %.2f of the time in its fair share (aim: %.2f)\n",
	       r->slowdowns.highest, SLOWDOWN_AIM);
}

static void print_idle(const struct sim_report *r)
{
	printf("idle for paging, %u rows (max, 50 and 75 %%), %u jobs in flight: mean %.2f of the ",
	       r->idle[0].count, SIM_JOBS, mean(&r->idle[0]));
	printf("bound's time, highest %.2f; with paging ahead %.2f, highest %.2f (aim: %.1f)\n",
	       r->idle[0].highest, mean(&r->idle[1]), r->idle[1].highest, IDLE_AIM);
}

static double nanoseconds(const struct sim_report *r, unsigned int chooser)
{
	return r->uses > 0 ? 1e9 * r->seconds[chooser] / r->uses : 0;
}

static void print_time(const struct sim_report *r)
{
	double lru = fmax(nanoseconds(r, 0), 0.01);

	printf("time of a use: plain LRU %.1f ns, policy %.1f, %.1f times that, ",
	       nanoseconds(r, 0), nanoseconds(r, 1), nanoseconds(r, 1) / lru);
	printf("with 2 frames queued %.1f, %.1f times (aim: %.0f)\n", nanoseconds(r, 2),
	       nanoseconds(r, 2) / lru, TIME_AIM);
}

static void print_means(const struct sim_report *r)
{
	printf("mean share of %u rows of traces: %.3f; with 1 frame queued %.3f, ",
	       r->shares[0].count, mean(&r->shares[0]), mean(&r->shares[1]));
	printf("with 2 %.3f (aim: %.2f); lowest of all %u: %.3f\n", mean(&r->shares[2]), QUEUED_AIM,
	       r->rows, r->all.lowest);
	printf("at most %.3f are to be expected with 2; with %u frames queued %.3f, ",
	       mean(&r->possible), sim_depths[0], mean(&r->deeper[0]));
	printf("with %u %.3f, with %u %.3f, with all %.3f\n", sim_depths[1], mean(&r->deeper[1]),
	       sim_depths[2], mean(&r->deeper[2]), mean(&r->deeper[3]));
	if (r->ratios.count) {
		printf("ratio of %u rows (max, 50 and 75 %%): %.2f (aim: %.2f), highest %.2f; ",
		       r->ratios.count, exp(mean(&r->ratios)), RATIO_AIM, exp(r->ratios.highest));
		printf("that of the best known: %.2f, highest %.2f\n", exp(mean(&r->ratios_best)),
		       exp(r->ratios_best.highest));
	}
	if (r->together.count)
		print_together(r);
	if (r->idle[0].count)
		print_idle(r);
	print_time(r);
}

static void print_json_means(FILE *to, const struct sim_report *r)
{
	fprintf(to, "],\n \"mean\": %.4f, \"mean_wanted\": %g, \"counted\": %u,\n",
		mean(&r->shares[0]), wanted(r)->mean, r->shares[0].count);
	fprintf(to, " \"queued_1\": %.4f, \"queued_2\": %.4f, \"queued_aim\": %g,\n",
		mean(&r->shares[1]), mean(&r->shares[2]), QUEUED_AIM);
	fprintf(to, " \"time_lru_ns\": %.1f, \"time_policy_ns\": %.1f, \"time_queued_ns\": %.1f,\n",
		nanoseconds(r, 0), nanoseconds(r, 1), nanoseconds(r, 2));
	fprintf(to, " \"ratio\": %.4f, \"ratio_aim\": %g,\n",
		r->ratios.count ? exp(mean(&r->ratios)) : 0, RATIO_AIM);
	fprintf(to, " \"idle\": %.4f, \"idle_ahead\": %.4f, \"idle_aim\": %g,\n",
		mean(&r->idle[0]), mean(&r->idle[1]), IDLE_AIM);
	fprintf(to, " \"together\": %.4f, \"together_aim\": %g,\n", mean(&r->together),
		TOGETHER_AIM);
	fprintf(to, " \"slowdown\": %.4f, \"slowdown_aim\": %g,\n", r->slowdowns.highest,
		SLOWDOWN_AIM);
	fprintf(to, " \"lowest\": %.4f, \"lowest_wanted\": %g}\n", r->all.lowest,
		wanted(r)->lowest);
}

int sim_report_end(const struct sim_report *r)
{
	print_means(r);
	if (r->json)
		print_json_means(r->json, r);
	if (!r->check || is_good(r))
		return 0;
	fprintf(stderr, "simulate: wanted are means of %.2f, with 2 frames queued of %.2f, ",
		wanted(r)->mean, wanted(r)->queued);
	fprintf(stderr, "of clients at once of %.2f, none of them slower than %.2f, ",
		wanted(r)->together, wanted(r)->slowdown);
	fprintf(stderr, "no row below %.2f", wanted(r)->lowest);
	if (wanted(r)->ratio > 0)
		fprintf(stderr, ", and a ratio of %.2f", wanted(r)->ratio);
	fputc('\n', stderr);
	return 1;
}
