// SPDX-License-Identifier: GPL-2.0
/*
 * Traces of invented programs, not recorded ones: programs that a policy could be wrong about, and
 * small programs for --prove. The traces are the same in every run. Sizes are those of textures:
 * 64 KiB to 4 MiB, small sizes more often; 64 to 256 KiB in small programs.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "lib/pagoda_lib.h"
#include "simulate.h"

#define SMALLEST	(64 * 1024ull)
#define FRAMES		400
#define SET		160

/* @random: state of xorshift64; @ret: error of the first event that wasn't added, or 0 */
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

/* Adds a new allocation, and a write of all its bytes by the CPU. Returns the allocation's ID. */
static uint32_t make(struct author *a)
{
	uint64_t size = SMALLEST << random_below(a, 1 + random_below(a, 7));
	uint32_t id = a->trace->max_id + 1;

	event(a, TRACE_ALLOC, id, size);
	event(a, TRACE_WRITE, id, size);
	return id;
}

/* Adds @count allocations as make() does. Returns the ID of the first; the others' follow. */
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

/* Every frame uses all of the set in the same order: what plain LRU is worst at. */
static void write_cyclic(struct author *a)
{
	uint32_t n, set = make_set(a, SET);

	for (n = 0; n < FRAMES; n++) {
		use_set(a, set, SET);
		frame(a);
	}
}

/* Nearly cyclic: each frame leaves out about a tenth of the set and begins at a random place. */
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

/* Each frame uses random allocations: nothing can be foreseen. */
static void write_random(struct author *a)
{
	uint32_t n, i, set = make_set(a, SET);

	for (n = 0; n < FRAMES; n++) {
		for (i = 0; i < SET / 2; i++)
			use(a, set + random_below(a, SET));
		frame(a);
	}
}

/*
 * Random, but some allocations more often: recency and frequency tell something, intervals don't.
 */
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

/* Four scenes in turns, 40 frames each: a quarter of a set is in the next set, but for the last. */
static void write_phases(struct author *a)
{
	uint32_t n, set = make_set(a, 4 * SET);

	for (n = 0; n < FRAMES; n++) {
		uint32_t scene = n / 40 % 4;

		use_set(a, set + scene * SET * 3 / 4, SET);
		frame(a);
	}
}

/*
 * A warm set in every frame, and buffers that one frame uses, and that are freed four frames later.
 */
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

/*
 * Five frames at a time use a quarter of the set, chosen at random: just enough to learn intervals.
 */
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

/*
 * The frames use the set forwards and backwards in turns: no interval is equal to the one before.
 */
static void write_zigzag(struct author *a)
{
	uint32_t n, i, set = make_set(a, SET);

	for (n = 0; n < FRAMES; n++) {
		for (i = 0; i < SET; i++)
			use(a, set + (n % 2 ? SET - 1 - i : i));
		frame(a);
	}
}

/* Each frame uses half of the set twice, and between these passes one of three sixths in turns. */
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

/* Loading uses all of the set once, then frames use more and more: a quarter to three quarters. */
static void write_growing(struct author *a)
{
	uint32_t n, set = make_set(a, SET);

	use_set(a, set, SET);
	for (n = 0; n < FRAMES; n++) {
		use_set(a, set, SET / 4 + n * (SET / 2) / FRAMES);
		frame(a);
	}
}

/*
 * Adds what a small program may do to allocation @ids[n] at the end of a frame: the CPU writes or
 * reads it, or a new allocation replaces it, but mostly nothing is done.
 */
static void write_small_step(struct author *a, uint32_t *ids, const uint64_t *sizes, uint32_t n)
{
	switch (random_below(a, 8)) {
	case 0:
		event(a, TRACE_WRITE, ids[n], sizes[ids[n]]);
		break;
	case 1:
		event(a, TRACE_READ, ids[n], 0);
		break;
	case 2:
		if (a->trace->max_id == SIM_EXACT_IDS)
			break;
		event(a, TRACE_FREE, ids[n], 0);
		ids[n] = a->trace->max_id + 1;
		event(a, TRACE_ALLOC, ids[n], sizes[ids[n]]);
		break;
	}
}

static void write_small(struct author *a, const uint64_t *sizes)
{
	uint32_t ids[SIM_EXACT_IDS - 1], n, i, count = 3 + random_below(a, ARRAY_SIZE(ids) - 2);

	for (n = 0; n < count; n++) {
		ids[n] = n + 1;
		event(a, TRACE_ALLOC, ids[n], sizes[ids[n]]);
		if (random_below(a, 2))
			event(a, TRACE_WRITE, ids[n], sizes[ids[n]]);
	}
	for (n = 0; n < 10; n++) {
		for (i = 0; i < 3; i++) {
			const struct trace_event use = {
				.type = TRACE_USE,
				.id = ids[random_below(a, count)],
				.flag = !random_below(a, 3),
			};

			if (!a->ret)
				a->ret = trace_add(a->trace, &use);
		}
		write_small_step(a, ids, sizes, random_below(a, count));
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

int sim_small_make(struct trace *trace, unsigned int number, uint64_t *vram)
{
	struct author author = { .trace = trace, .random = (number + 1) * 0x9e3779b97f4a7c15 };
	uint64_t sizes[SIM_EXACT_IDS + 1], largest = 0, sum = 0;
	uint32_t id;

	memset(trace, 0, sizeof(*trace));
	snprintf(trace->name, sizeof(trace->name), "small %u", number);
	for (id = 1; id <= SIM_EXACT_IDS; id++) {
		sizes[id] = SMALLEST * (1 + random_below(&author, 4));
		sum += sizes[id];
		largest = sizes[id] > largest ? sizes[id] : largest;
	}
	*vram = largest + random_below(&author, sum / SMALLEST / 2) * SMALLEST;
	write_small(&author, sizes);
	if (author.ret)
		trace_unload(trace);
	return author.ret;
}
