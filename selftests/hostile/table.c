// SPDX-License-Identifier: GPL-2.0
/* Makes figures from samples, rows and verdicts from figures, and a report from rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

/* Goals: highest ratios of figures beside an attacker to figures beside an ordinary client. */
#define GOAL_P50	1.5
#define GOAL_P99	2.0
#define GOAL_MAX	4.0
/* Longest time in microseconds that an attacker may take to end after SIGKILL (victim `life`). */
#define GOAL_LIFE_US	2e6
#define WORST		5u
#define ROWS_MAX	1024u

const char table_header[] =
	"attacker\tvictim\tsamples\tp50_alone\tp50_ordinary\tp50_attack\tp50_ratio\tp99_ratio\t"
	"max_ratio\tsubtracted\tattacker_ops\tverdict";

/* --- figures ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

/* Microseconds of the smallest time that at least @percent % of the sorted times don't exceed. */
static double percentile(const int64_t *sorted, uint32_t count, uint32_t percent)
{
	uint32_t index = (count * percent + 99) / 100;

	return sorted[index ? index - 1 : 0] / 1e3;
}

static void figures_of(int64_t *times, uint32_t count, struct figures *f)
{
	*f = (struct figures) { .count = count };
	if (!count)
		return;
	qsort(times, count, sizeof(*times), compare);
	f->p50 = percentile(times, count, 50);
	f->p99 = percentile(times, count, 99);
	f->max = times[count - 1] / 1e3;
}

void table_figures(const struct outcome *o, int64_t base_ns, struct figures *raw,
		   struct figures *reduced)
{
	static int64_t times[SAMPLES_MAX], parts[SAMPLES_MAX];
	struct figures subtracted;
	uint32_t n;

	memcpy(times, o->taken, sizeof(times));
	figures_of(times, o->count, raw);
	for (n = 0; n < o->count; n++) {
		int64_t over = o->taken[n] - base_ns;

		parts[n] = over <= 0 ? 0 : over < o->rest[n] ? over : o->rest[n];
		times[n] = o->taken[n] - parts[n];
	}
	figures_of(times, o->count, reduced);
	figures_of(parts, o->count, &subtracted);
	reduced->subtracted = subtracted.max;
}

/* --- rows ------------------------------------------------------------------------------------- */

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static const char *judge(const struct victim *victim, const struct outcome *o,
			 const struct figures *attack, const struct figures *beside)
{
	if (o->reason)
		return "failed";
	if (victim->life)
		return attack->max <= GOAL_LIFE_US ? "ok" : "slow";
	if (attack->p50 > GOAL_P50 * beside->p50 || attack->p99 > GOAL_P99 * beside->p99 ||
	    attack->max > GOAL_MAX * beside->max)
		return "slow";
	return "ok";
}

const char *table_row(char *line, uint32_t size, const char *attacker, const struct victim *victim,
		      const struct outcome *o, const struct figures *alone,
		      const struct figures *beside)
{
	struct figures raw, attack;
	const char *verdict;

	table_figures(o, beside->p50 * 1e3, &raw, &attack);
	verdict = judge(victim, o, &attack, beside);
	snprintf(line, size, "%s\t%s\t%u\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%.0f\t%llu\t%s",
		 attacker, victim->name, o->count, alone->p50, beside->p50, raw.p50,
		 ratio(attack.p50, beside->p50), ratio(attack.p99, beside->p99),
		 ratio(attack.max, beside->max), attack.subtracted, (unsigned long long)o->ops,
		 verdict);
	return verdict;
}

/* --- all rows --------------------------------------------------------------------------------- */

struct row {
	char attacker[32];
	char victim[32];
	char verdict[16];
	double p50;
	double p99;
	double max;
	uint32_t samples;
};

/* The largest of a pair's ratios, each divided by its goal. Above 1: slow (but not for `life`). */
static double distance(const struct row *row)
{
	double worst = row->p50 / GOAL_P50;

	if (row->p99 / GOAL_P99 > worst)
		worst = row->p99 / GOAL_P99;
	if (row->max / GOAL_MAX > worst)
		worst = row->max / GOAL_MAX;
	return worst;
}

/* For qsort(): largest distance() first, whatever the verdict. */
static int compare_rows(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	double over = distance(right) - distance(left);

	return over < 0 ? -1 : over > 0;
}

static bool row_parse(const char *line, struct row *row)
{
	return sscanf(line, "%31s %31s %u %*s %*s %*s %lf %lf %lf %*s %*s %15s", row->attacker,
		      row->victim, &row->samples, &row->p50, &row->p99, &row->max,
		      row->verdict) == 7;
}

static uint32_t rows_read(FILE *file, struct row *rows)
{
	uint32_t count = 0;
	char line[512];

	while (count < ROWS_MAX && fgets(line, sizeof(line), file))
		count += row_parse(line, &rows[count]);
	return count;
}

static uint32_t count_of(const struct row *rows, uint32_t count, const char *verdict)
{
	uint32_t found = 0, n;

	for (n = 0; n < count; n++)
		found += !strcmp(rows[n].verdict, verdict);
	return found;
}

static void print_failed(const struct row *rows, uint32_t count)
{
	uint32_t n;

	for (n = 0; n < count; n++)
		if (!strcmp(rows[n].verdict, "failed"))
			printf("failed: %s x %s, %u samples\n", rows[n].attacker, rows[n].victim,
			       rows[n].samples);
}

static void print_worst(const struct row *rows, uint32_t count)
{
	uint32_t left = WORST, n;

	printf("%-16s %-16s %9s %9s %9s   the worst\n", "attacker", "victim", "p50_ratio",
	       "p99_ratio", "max_ratio");
	for (n = 0; n < count && left; n++) {
		if (strcmp(rows[n].verdict, "slow"))
			continue;
		printf("%-16s %-16s %9.2f %9.2f %9.2f\n", rows[n].attacker, rows[n].victim,
		       rows[n].p50, rows[n].p99, rows[n].max);
		left--;
	}
}

int table_report(const char *path)
{
	static struct row rows[ROWS_MAX];
	uint32_t count, ok;
	FILE *file = fopen(path, "r");

	if (!file) {
		fprintf(stderr, "hostile: cannot read %s\n", path);
		return 2;
	}
	count = rows_read(file, rows);
	fclose(file);
	qsort(rows, count, sizeof(*rows), compare_rows);
	ok = count_of(rows, count, "ok");
	print_failed(rows, count);
	print_worst(rows, count);
	printf("hostile: %u pairs: %u ok, %u slow, %u failed\n", count, ok,
	       count_of(rows, count, "slow"), count_of(rows, count, "failed"));
	return count && ok == count ? 0 : 1;
}
