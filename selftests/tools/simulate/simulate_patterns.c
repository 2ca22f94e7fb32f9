// SPDX-License-Identifier: GPL-2.0
/*
 * Invented programs as traces, not recorded ones: what a policy could be wrong about. They are
 * the same in every run. Sizes are those of textures: 64 KiB to 4 MiB, small ones more often.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "lib/pagoda_lib.h"
#include "simulate.h"

#define SMALLEST	(64 * 1024ull)
#define FRAMES		400
#define SET		160

/* @random: state of xorshift64; @ret: of the first event that failed. */
struct author {
	struct trace *trace;
	uint64_t random;
	int ret;
};

static uint64_t random_below(struct author *a, uint64_t limit)
{
	a->random ^= a->random << 13;
	a->random ^= a->random >> 7;
	a->random ^= a->random << 17;
	return a->random % limit;
}

static void event(struct author *a, enum trace_type type, uint32_t id, uint64_t length)
{
	const struct trace_event event = { .type = type, .id = id, .length = length };

	if (!a->ret)
		a->ret = trace_add(a->trace, &event);
}

static void use(struct author *a, uint32_t id)
{
	event(a, TRACE_USE, id, 0);
}

static void frame(struct author *a)
{
	event(a, TRACE_FRAME, 0, 0);
}

/* A new allocation that the CPU has filled. */
static uint32_t make(struct author *a)
{
	uint64_t size = SMALLEST << random_below(a, 1 + random_below(a, 7));
	uint32_t id = a->trace->max_id + 1;

	event(a, TRACE_ALLOC, id, size);
	event(a, TRACE_WRITE, id, size);
	return id;
}

/* @count of them; returns the first. */
static uint32_t make_set(struct author *a, uint32_t count)
{
	uint32_t n, first = a->trace->max_id + 1;

	for (n = 0; n < count; n++)
		make(a);
	return first;
}

static void use_set(struct author *a, uint32_t first, uint32_t count)
{
	uint32_t n;

	for (n = 0; n < count; n++)
		use(a, first + n);
}

/* Every frame the same: what plain LRU is worst at. */
static void write_cyclic(struct author *a)
{
	uint32_t n, set = make_set(a, SET);

	for (n = 0; n < FRAMES; n++) {
		use_set(a, set, SET);
		frame(a);
	}
}

/* Nearly the same: each frame leaves a tenth out and begins elsewhere. */
static void write_ragged(struct author *a)
{
	uint32_t n, i, set = make_set(a, SET);

	for (n = 0; n < FRAMES; n++) {
		uint32_t start = random_below(a, SET / 8);

		for (i = 0; i < SET; i++)
			if (random_below(a, 10))
				use(a, set + (start + i) % SET);
		frame(a);
	}
}

/* Nothing can be foreseen. */
static void write_random(struct author *a)
{
	uint32_t n, i, set = make_set(a, SET);

	for (n = 0; n < FRAMES; n++) {
		for (i = 0; i < SET / 2; i++)
			use(a, set + random_below(a, SET));
		frame(a);
	}
}

/* Nothing but that some are used more: recency and frequency tell something, intervals don't. */
static void write_skewed(struct author *a)
{
	uint32_t n, i, set = make_set(a, SET);

	for (n = 0; n < FRAMES; n++) {
		for (i = 0; i < SET / 2; i++)
			use(a, set + random_below(a, 1 + random_below(a, SET)));
		frame(a);
	}
}

/* A hot set in every frame, and a long array of which each frame uses the next few. */
static void write_scan(struct author *a)
{
	uint32_t n, i, hot = make_set(a, SET / 4), array = make_set(a, 3 * SET), at = 0;

	for (n = 0; n < FRAMES; n++) {
		use_set(a, hot, SET / 4);
		for (i = 0; i < SET / 8; i++)
			use(a, array + at++ % (3 * SET));
		frame(a);
	}
}

/* Scenes: each has its own set, and shares a quarter with the next. */
static void write_phases(struct author *a)
{
	uint32_t n, set = make_set(a, 4 * SET);

	for (n = 0; n < FRAMES; n++) {
		uint32_t scene = n / 40 % 4;

		use_set(a, set + scene * SET * 3 / 4, SET);
		frame(a);
	}
}

/* A warm set, and buffers that live for one to four frames. */
static void write_short_lived(struct author *a)
{
	uint32_t n, i, warm = make_set(a, SET / 4), live[4][SET / 4], count[4] = { 0 };

	for (n = 0; n < FRAMES; n++) {
		uint32_t slot = n % 4;

		for (i = 0; i < count[slot]; i++)
			event(a, TRACE_FREE, live[slot][i], 0);
		count[slot] = random_below(a, SET / 4);
		for (i = 0; i < count[slot]; i++)
			live[slot][i] = make(a);
		use_set(a, warm, SET / 4);
		for (i = 0; i < count[slot]; i++)
			use(a, live[slot][i]);
		frame(a);
	}
}

/* Parts of the set take turns, for as long as it takes to learn their intervals, and no longer. */
static void write_bursts(struct author *a)
{
	uint32_t n, i, set = make_set(a, SET), part = 0;

	for (n = 0; n < FRAMES; n++) {
		if (n % 5 == 0)
			part = random_below(a, 8);
		for (i = 0; i < SET / 4; i++)
			use(a, set + (part * SET / 8 + i) % SET);
		frame(a);
	}
}

/* Every interval is another than the ones before: backwards and forwards. */
static void write_zigzag(struct author *a)
{
	uint32_t n, i, set = make_set(a, SET);

	for (n = 0; n < FRAMES; n++) {
		for (i = 0; i < SET; i++)
			use(a, set + (n % 2 ? SET - 1 - i : i));
		frame(a);
	}
}

/* Two passes of each frame use the same; the second also what is used every third frame. */
static void write_passes(struct author *a)
{
	uint32_t n, set = make_set(a, SET);

	for (n = 0; n < FRAMES; n++) {
		use_set(a, set, SET / 2);
		use_set(a, set + SET / 2 + n % 3 * (SET / 6), SET / 6);
		use_set(a, set, SET / 2);
		frame(a);
	}
}

/* Loading uses everything once, then frames use more and more of it. */
static void write_growing(struct author *a)
{
	uint32_t n, set = make_set(a, SET);

	use_set(a, set, SET);
	for (n = 0; n < FRAMES; n++) {
		use_set(a, set, SET / 4 + n * (SET / 2) / FRAMES);
		frame(a);
	}
}

static const struct {
	const char *name;
	void (*write)(struct author *a);
} patterns[] = {
	{ "cyclic", write_cyclic },
	{ "ragged", write_ragged },
	{ "random", write_random },
	{ "skewed", write_skewed },
	{ "scan", write_scan },
	{ "phases", write_phases },
	{ "short-lived", write_short_lived },
	{ "bursts", write_bursts },
	{ "zigzag", write_zigzag },
	{ "passes", write_passes },
	{ "growing", write_growing },
};

const char *sim_pattern_name(unsigned int pattern)
{
	return pattern < ARRAY_SIZE(patterns) ? patterns[pattern].name : NULL;
}

int sim_pattern_make(struct trace *trace, unsigned int pattern)
{
	struct author author = { .trace = trace, .random = (pattern + 1) * 0x9e3779b97f4a7c15 };

	memset(trace, 0, sizeof(*trace));
	snprintf(trace->name, sizeof(trace->name), "%s", sim_pattern_name(pattern));
	patterns[pattern].write(&author);
	if (author.ret)
		trace_unload(trace);
	return author.ret;
}
