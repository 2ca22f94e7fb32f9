/* SPDX-License-Identifier: GPL-2.0 */
/* A residency trace in memory: parsed, checked and scaled. */
#ifndef PAGODA_TRACE_H
#define PAGODA_TRACE_H

#include <stddef.h>
#include <stdint.h>

enum trace_type {
	TRACE_ALLOC = 'a',
	TRACE_WRITE = 'w',
	TRACE_USE = 'u',
	TRACE_READ = 'r',
	TRACE_FRAME = 'f',
	TRACE_FREE = 'd',
};

/* What an allocation is in the program: texture, buffer, renderbuffer, framebuffer attachment. */
enum trace_kind {
	TRACE_TEX,
	TRACE_BUF,
	TRACE_RBO,
	TRACE_ATTACHMENT,
};

/*
 * One line of the trace. @offset and @length: of a write; @length: bytes of an allocation.
 * @flag: of a use, 1 = as a destination; of an allocation, its enum trace_kind
 */
struct trace_event {
	uint8_t type;
	uint8_t flag;
	uint32_t id;
	uint64_t offset;
	uint64_t length;
};

/*
 * @count: of @events, in the order of the lines; @frames: number of frames' ends; @max_id: the
 *	highest ID
 */
struct trace {
	char name[64];
	struct trace_event *events;
	size_t count;
	size_t capacity;
	uint32_t max_id;
	uint32_t frames;
};

/* Bytes of a page; an allocation takes whole pages. */
#define TRACE_PAGE	4096

/* Returns the bytes that an allocation of @length bytes takes. */
static inline uint64_t trace_pages(uint64_t length)
{
	return (length + TRACE_PAGE - 1) / TRACE_PAGE * TRACE_PAGE;
}

/*
 * @working_set: most bytes of allocations, in whole pages, used in one frame
 * @usual: 95th percentile, over the frames, of bytes used in a frame
 * @largest: bytes of the largest allocation
 * @live: most bytes allocated at once
 */
struct trace_demand {
	uint64_t working_set;
	uint64_t usual;
	uint64_t largest;
	uint64_t live;
};

/*
 * Reads and checks a trace. Returns 0; -EINVAL after a message with the number of an invalid line;
 * or another negative errno. The trace's name is the file's without directory and ".rtrace".
 */
int trace_load(struct trace *trace, const char *path);
void trace_unload(struct trace *trace);

/* Appends an event, which isn't checked; 0 or -ENOMEM. */
int trace_add(struct trace *trace, const struct trace_event *event);

/* Fills in what the trace asks of a GPU. Returns 0 or -ENOMEM. */
int trace_measure(const struct trace *trace, struct trace_demand *demand);

/* Removes all events after the first @frames frames; none if @frames is 0. */
void trace_cut(struct trace *trace, unsigned int frames);

/* Multiplies all sizes and offsets by @scale. */
void trace_scale(struct trace *trace, unsigned int scale);

#endif
