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

enum sim_kind {
	SIM_TRACE,
	SIM_PATTERN,
	SIM_TOGETHER,
};

/*
 * @percent, @usual: 0 for a VRAM that was given; of the largest frame's, or the usual one's
 * @beside: part of @vram that allocations can't have
 * @policy: with as many frames queued
 * @best: the least that any choice is known to move; @bound: what any choice moves at least
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
	struct sim_result best;
	uint64_t bound;
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
 * @shares: of traces, with as many frames queued; @all: without, of all rows
 * @ratios: logarithms, of the rows of traces that the goal is for
 * @together, @slowdowns: of clients at once, with SIM_QUEUED frames queued
 */
struct sim_report {
	FILE *json;
	bool check;
	unsigned int rows;
	struct sim_mean shares[SIM_QUEUED + 1];
	struct sim_mean all;
	struct sim_mean ratios;
	struct sim_mean together;
	struct sim_mean slowdowns;
};

void sim_report_begin(const struct sim_report *report);
void sim_report_row(struct sim_report *report, const struct sim_row *row);

/* 0, or 1 after a message if more is wanted. */
int sim_report_end(const struct sim_report *report);

#endif
