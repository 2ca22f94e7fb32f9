// SPDX-License-Identifier: GPL-2.0
/*
 * Parser of residency traces, and functions that scale, cut and measure a trace. A trace is refused
 * whole at the first line that is neither a valid event nor a comment: a replay of something else
 * than what was recorded would prove nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/pagoda_lib.h"
#include "trace.h"

/* Size, in struct parser, of an ID that isn't allocated yet or any more. */
#define DEAD	0

struct parser {
	struct trace *trace;
	uint64_t *sizes;
	uint32_t capacity;
	unsigned long line;
	const char *path;
};

static int refuse(const struct parser *p, const char *why)
{
	fprintf(stderr, "%s:%lu: %s\n", p->path, p->line, why);
	return -EINVAL;
}

/*
 * Reads a space and a decimal number. Returns what follows, or NULL if @at is NULL or has no such
 * number.
 */
static const char *number(const char *at, uint64_t *value)
{
	char *end;

	if (!at || at[0] != ' ' || at[1] < '0' || at[1] > '9')
		return NULL;
	errno = 0;
	*value = strtoull(at + 1, &end, 10);
	return errno ? NULL : end;
}

int trace_add(struct trace *trace, const struct trace_event *event)
{
	if (trace->count == trace->capacity) {
		size_t capacity = trace->capacity ? trace->capacity * 2 : 4096;
		void *events = realloc(trace->events, capacity * sizeof(*event));

		if (!events)
			return -ENOMEM;
		trace->events = events;
		trace->capacity = capacity;
	}
	trace->events[trace->count++] = *event;
	if (event->type == TRACE_FRAME)
		trace->frames++;
	else if (event->type == TRACE_ALLOC)
		trace->max_id = event->id;
	return 0;
}

static int sizes_reserve(struct parser *p, uint32_t id)
{
	uint32_t capacity = p->capacity ? p->capacity : 1024;
	uint64_t *sizes;

	while (capacity <= id)
		capacity *= 2;
	if (capacity == p->capacity)
		return 0;
	sizes = realloc(p->sizes, capacity * sizeof(*sizes));
	if (!sizes)
		return -ENOMEM;
	memset(sizes + p->capacity, 0, (capacity - p->capacity) * sizeof(*sizes));
	p->sizes = sizes;
	p->capacity = capacity;
	return 0;
}

static int parse_kind(const char *at, uint8_t *kind)
{
	static const char * const names[] = {
		[TRACE_TEX] = " tex",
		[TRACE_BUF] = " buf",
		[TRACE_RBO] = " rbo",
		[TRACE_ATTACHMENT] = " fbo-attach",
	};
	unsigned int n;

	for (n = 0; n < ARRAY_SIZE(names); n++) {
		if (!strcmp(at, names[n])) {
			*kind = n;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_alloc(struct parser *p, const char *at, struct trace_event *event)
{
	int ret;

	at = number(at, &event->length);
	if (!at || parse_kind(at, &event->flag))
		return refuse(p, "expected: a ID BYTES KIND");
	if (event->id != p->trace->max_id + 1)
		return refuse(p, "IDs must count up from 1");
	if (!event->length || event->length > 1ull << 40)
		return refuse(p, "size out of range");
	ret = sizes_reserve(p, event->id);
	if (ret)
		return ret;
	p->sizes[event->id] = event->length;
	return 0;
}

static int parse_write(struct parser *p, const char *at, struct trace_event *event)
{
	uint64_t size = p->sizes[event->id];

	at = number(at, &event->offset);
	at = number(at, &event->length);
	if (!at || *at)
		return refuse(p, "expected: w ID OFF LEN");
	if (!event->length || event->length > size || event->offset > size - event->length)
		return refuse(p, "write outside of the allocation");
	return 0;
}

static int parse_use(struct parser *p, const char *at, struct trace_event *event)
{
	event->flag = !strcmp(at, " w");
	return *at && !event->flag ? refuse(p, "expected: u ID or u ID w") : 0;
}

static int parse_event(struct parser *p, const char *line)
{
	struct trace_event event = { .type = line[0] };
	uint64_t id = 0;
	const char *at;
	int ret = 0;

	if (event.type == TRACE_FRAME)
		return line[1] ? refuse(p, "expected: f") : trace_add(p->trace, &event);
	at = number(line + 1, &id);
	if (!at || id > 1u << 24)
		return refuse(p, "expected an ID");
	event.id = id;
	if (event.type != TRACE_ALLOC && (id >= p->capacity || p->sizes[id] == DEAD))
		return refuse(p, "no such allocation now");

	switch (event.type) {
	case TRACE_ALLOC:
		ret = parse_alloc(p, at, &event);
		break;
	case TRACE_WRITE:
		ret = parse_write(p, at, &event);
		break;
	case TRACE_USE:
		ret = parse_use(p, at, &event);
		break;
	case TRACE_FREE:
		p->sizes[id] = DEAD;
		/* fall through */
	case TRACE_READ:
		ret = *at ? refuse(p, "something after the ID") : 0;
		break;
	default:
		return refuse(p, "unknown event");
	}
	return ret ? ret : trace_add(p->trace, &event);
}

static void name_of(const char *path, char *name, size_t size)
{
	const char *base = strrchr(path, '/');
	char *suffix;

	snprintf(name, size, "%s", base ? base + 1 : path);
	suffix = strstr(name, ".rtrace");
	if (suffix)
		*suffix = 0;
}

static int parse_file(struct parser *p, FILE *file)
{
	char line[256];
	int ret = 0;

	while (!ret && fgets(line, sizeof(line), file)) {
		char *end = strchr(line, '\n');

		p->line++;
		if (line[0] == '#') {
			while (!end && fgets(line, sizeof(line), file))
				end = strchr(line, '\n');
			continue;
		}
		if (!end)
			return refuse(p, "cut short");
		*end = 0;
		ret = parse_event(p, line);
	}
	return ret ? ret : ferror(file) ? -EIO : 0;
}

int trace_load(struct trace *trace, const char *path)
{
	struct parser p = { .trace = trace, .path = path };
	FILE *file = fopen(path, "r");
	int ret;

	memset(trace, 0, sizeof(*trace));
	if (!file) {
		ret = -errno;
		perror(path);
		return ret;
	}
	name_of(path, trace->name, sizeof(trace->name));
	ret = parse_file(&p, file);
	if (!ret && !trace->frames)
		ret = refuse(&p, "not a single frame (a compressed file?)");
	fclose(file);
	free(p.sizes);
	if (ret)
		trace_unload(trace);
	return ret;
}

void trace_unload(struct trace *trace)
{
	free(trace->events);
	memset(trace, 0, sizeof(*trace));
}

void trace_scale(struct trace *trace, unsigned int scale)
{
	size_t n;

	for (n = 0; n < trace->count; n++) {
		trace->events[n].offset *= scale;
		trace->events[n].length *= scale;
	}
}

void trace_cut(struct trace *trace, unsigned int frames)
{
	size_t n;

	if (!frames || frames >= trace->frames)
		return;
	trace->frames = 0;
	for (n = 0; trace->frames < frames; n++)
		trace->frames += trace->events[n].type == TRACE_FRAME;
	trace->count = n;
}

struct seen {
	uint64_t size;
	uint32_t frame;
};

static int by_bytes(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

/* Returns the given percentile of @count numbers, 0 if there are none. Sorts @frames. */
static uint64_t percentile(uint64_t *frames, uint32_t count, unsigned int percent)
{
	uint64_t at = (uint64_t)count * percent / 100;

	if (!count)
		return 0;
	qsort(frames, count, sizeof(*frames), by_bytes);
	return frames[at < count ? at : count - 1];
}

/*
 * Fills in @demand. @frames: zeros, for the bytes used in each frame and in what follows the last.
 */
static void measure(const struct trace *trace, struct seen *seen, uint64_t *frames,
		    struct trace_demand *demand)
{
	uint64_t live = 0;
	uint32_t frame = 0;
	size_t n;

	for (n = 0; n < trace->count; n++) {
		const struct trace_event *event = &trace->events[n];
		struct seen *it = &seen[event->id];

		if (event->type == TRACE_FRAME) {
			frame++;
		} else if (event->type == TRACE_ALLOC) {
			it->size = trace_pages(event->length);
			live += it->size;
		} else if (event->type == TRACE_FREE) {
			live -= it->size;
		} else if (event->type == TRACE_USE && it->frame != frame + 1) {
			it->frame = frame + 1;
			frames[frame] += it->size;
		}
		if (frames[frame] > demand->working_set)
			demand->working_set = frames[frame];
		if (live > demand->live)
			demand->live = live;
		if (it->size > demand->largest)
			demand->largest = it->size;
	}
	demand->usual = percentile(frames, trace->frames, 95);
}

int trace_measure(const struct trace *trace, struct trace_demand *demand)
{
	struct seen *seen = calloc(trace->max_id + 1ul, sizeof(*seen));
	uint64_t *frames = calloc(trace->frames + 1ul, sizeof(*frames));

	memset(demand, 0, sizeof(*demand));
	if (seen && frames)
		measure(trace, seen, frames, demand);
	free(frames);
	free(seen);
	return seen && frames ? 0 : -ENOMEM;
}
