/* SPDX-License-Identifier: GPL-2.0 */
/* The table of what was moved, means of its rows, and the verdict of --check. */
#ifndef PAGODA_SIMULATE_REPORT_H
#define PAGODA_SIMULATE_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "simulate.h"

/* Rows have columns for 0 to this number of frames queued behind the one that is executed. */
#define SIM_QUEUED	2

/*
 * Number of longer queues that are tried, of as many frames as sim_depths says, the last of all
 * frames: these show how far ahead the policy would have to know uses to do better.
 */
#define SIM_DEEPER	4

/* For times of waiting for paging: jobs in flight; time of a job by that of copying its bytes. */
#define SIM_JOBS	8
#define SIM_PACE	1

enum sim_kind {
	SIM_TRACE,
	SIM_PATTERN,
	SIM_TOGETHER,
};

/*
 * @percent: of what the largest frame needs, or, if @usual, the 95th-percentile frame; of
 *	SIM_TOGETHER: of the sum of the clients' largest frames; 0 = VRAM was given
 * @beside: part of @vram that allocations can't have
 * @policy: by number of frames queued; @deeper: with the longer queues
 * @best: the least that any choice is known to move; @bound: what any choice moves at least
 * @blind: what is expected at least of a choice that knows SIM_QUEUED frames ahead
 * @whole: what an optimum moves that isn't bound to the driver's rules
 * @slowdown: of SIM_TOGETHER: the most that a client was slower than alone in its fair share
 * @idle: of one client: time that the engine waits for paging, without and with paging ahead, as
 *	sim_result.idle
 */
struct sim_row {
	char name[64];
	enum sim_kind kind;
	bool usual;
	unsigned int percent;
	uint64_t vram;
	uint64_t beside;
	struct sim_result lru;
	struct sim_result policy[SIM_QUEUED + 1];
	struct sim_result deeper[SIM_DEEPER];
	struct sim_result best;
	uint64_t bound;
	uint64_t blind;
	uint64_t whole;
	double slowdown;
	double idle[2];
};

/* Sum, lowest and highest of the values of @count rows. */
struct sim_mean {
	double sum;
	double lowest;
	double highest;
	unsigned int count;
};

/*
 * Over the rows so far.
 * @json: file that gets the rows and means as JSON, or NULL
 * @check: the verdict is the exit status; @own: demanded is what the repository's traces reach
 * @shares: of rows of traces whose gap counts, by frames queued; @deeper: with longer queues
 * @possible: of these rows, the share expected at most with SIM_QUEUED frames queued
 * @all: shares of all rows, without queue
 * @seconds: of processor time, of LRU, and of the policy without and with SIM_QUEUED frames queued;
 *	@uses: number of uses in each of the three
 * @ratios, @ratios_best: logarithms of the ratio of the policy, and of the best known, of traces in
 *	50 and 75 % of the largest frame
 * @idle: @idle of traces in 50 and 75 % of the largest frame, to the time of copying what the bound
 *	says
 * @together, @slowdowns: of rows of clients at once whose gap counts, with SIM_QUEUED frames queued
 * @together_possible: of these rows, the share expected at most
 */
struct sim_report {
	FILE *json;
	bool check;
	bool own;
	unsigned int rows;
	struct sim_mean shares[SIM_QUEUED + 1];
	struct sim_mean deeper[SIM_DEEPER];
	struct sim_mean possible;
	struct sim_mean all;
	double seconds[3];
	double uses;
	struct sim_mean ratios;
	struct sim_mean ratios_best;
	struct sim_mean idle[2];
	struct sim_mean together;
	struct sim_mean together_possible;
	struct sim_mean slowdowns;
};

extern const unsigned int sim_depths[SIM_DEEPER];

void sim_report_begin(const struct sim_report *report);
void sim_report_row(struct sim_report *report, const struct sim_row *row);

/* Prints the means. Returns the exit status: 0, or 1 after a message if --check wants more. */
int sim_report_end(const struct sim_report *report);

#endif
