/* SPDX-License-Identifier: GPL-2.0 */
/* The table of what was moved, and the verdict. */
#ifndef PAGODA_SIMULATE_REPORT_H
#define PAGODA_SIMULATE_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "simulate.h"

/* Most frames that are queued behind the one that is executed, of which rows tell. */
#define SIM_QUEUED	2

/* Numbers of more frames, the last being all: how far ahead what is missing could be known. */
#define SIM_DEEPER	4

enum sim_kind {
	SIM_TRACE,
	SIM_PATTERN,
	SIM_TOGETHER,
};

/*
 * @percent, @usual: 0 for a VRAM that was given; of the largest frame's, or the usual one's
 * @beside: part of @vram that allocations can't have
 * @policy: with as many frames queued
 * @deeper: with more frames queued
 * @best: the least that any choice is known to move; @bound: what any choice moves at least
 * @blind: what is to be expected at least of one that knows SIM_QUEUED frames ahead
 * @whole: what an optimum moves that isn't bound to the driver's rules
 * @slowdown: of SIM_TOGETHER: the most that a client was slower than in its fair share
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
};

/* The mean of some rows, and the lowest or highest. */
struct sim_mean {
	double sum;
	double lowest;
	double highest;
	unsigned int count;
};

/*
 * Over the rows so far. @json: also the rows as JSON, or NULL
 * @check: what is reached matters; @own: the traces are those of the repository
 * @shares: of traces, with as many frames queued; @all: without, of all rows
 * @deeper: likewise, with more frames queued
 * @possible: likewise, what is to be expected at most with SIM_QUEUED frames queued
 * @seconds: of processor time for LRU, for the policy without and with SIM_QUEUED frames queued;
 *	@uses: by which each of them was run
 * @ratios, @ratios_best: logarithms, of the rows of traces that the goal is for; of the best known
 * @together, @slowdowns: of clients at once, with SIM_QUEUED frames queued
 * @together_possible: what is to be expected at most
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
	struct sim_mean together;
	struct sim_mean together_possible;
	struct sim_mean slowdowns;
};

extern const unsigned int sim_depths[SIM_DEEPER];

void sim_report_begin(const struct sim_report *report);
void sim_report_row(struct sim_report *report, const struct sim_row *row);

/* 0, or 1 after a message if more is wanted. */
int sim_report_end(const struct sim_report *report);

#endif
