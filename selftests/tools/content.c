// SPDX-License-Identifier: GPL-2.0
/* Expected content by extents; see the header. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../pagoda_lib.h"
#include "content.h"

int content_init(struct content *content, uint64_t seed, uint64_t id, uint64_t size)
{
	memset(content, 0, sizeof(*content));
	content->extents = calloc(4, sizeof(*content->extents));
	if (!content->extents)
		return -ENOMEM;
	content->capacity = 4;
	content->count = 1;
	content->size = size;
	content->seed = seed;
	content->id = id;
	return 0;
}

void content_exit(struct content *content)
{
	free(content->extents);
	memset(content, 0, sizeof(*content));
}

static uint64_t extent_end(const struct content *content, uint32_t n)
{
	return n + 1 < content->count ? content->extents[n + 1].start : content->size;
}

/* Index of the extent that @offset is in. */
static uint32_t extent_find(const struct content *content, uint64_t offset)
{
	uint32_t low = 0, high = content->count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (content->extents[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Replacing a range by one extent makes at most two more. */
static int extents_reserve(struct content *content)
{
	uint32_t capacity = content->capacity * 2;
	void *extents;

	if (content->count + 2 <= content->capacity)
		return 0;
	extents = realloc(content->extents, capacity * sizeof(*content->extents));
	if (!extents)
		return -ENOMEM;
	content->extents = extents;
	content->capacity = capacity;
	return 0;
}

static int extents_replace(struct content *content, uint64_t start, uint64_t end, uint64_t version)
{
	struct content_extent put[2] = { { start, version } };
	uint32_t first, last, keep, number = 1;

	if (extents_reserve(content))
		return -ENOMEM;
	first = extent_find(content, start);
	last = extent_find(content, end - 1);
	if (end < extent_end(content, last)) {
		put[number].start = end;
		put[number++].version = content->extents[last].version;
	}
	/* What begins before the range stays, up to its new end. */
	keep = first + (content->extents[first].start < start);
	memmove(content->extents + keep + number, content->extents + last + 1,
		(content->count - last - 1) * sizeof(*put));
	memcpy(content->extents + keep, put, number * sizeof(*put));
	content->count = keep + number + (content->count - last - 1);
	return 0;
}

int content_write(struct content *content, void *map, uint64_t offset, uint64_t length)
{
	uint64_t version = ++content->version;
	int ret = extents_replace(content, offset, offset + length, version);

	if (!ret)
		pagoda_fill((uint8_t *)map + offset,
			    pagoda_key(content->seed, content->id, version), offset, length);
	return ret;
}

static uint8_t expected_byte(const struct content *content, uint64_t version, uint64_t offset)
{
	return version ? pagoda_byte(pagoda_key(content->seed, content->id, version), offset) : 0;
}

/* Slow, and only for what is known to be wrong: counts the bytes and keeps the first. */
static void blame(const struct content *content, const uint8_t *map, uint64_t from, uint64_t end,
		  uint64_t version, struct content_fault *fault)
{
	uint64_t pos;

	for (pos = from; pos < end; pos++) {
		uint8_t expected = expected_byte(content, version, pos);
		uint8_t got = map[pos];

		if (got == expected)
			continue;
		if (!fault->bytes++) {
			fault->offset = pos;
			fault->version = version;
			fault->expected = expected;
			fault->got = got;
		}
	}
}

int content_verify(const struct content *content, const void *map, struct content_fault *fault)
{
	const uint8_t *bytes = map;
	uint32_t n;

	memset(fault, 0, sizeof(*fault));
	for (n = 0; n < content->count; n++) {
		uint64_t start = content->extents[n].start, size = extent_end(content, n) - start;
		uint64_t version = content->extents[n].version;
		int64_t bad;

		if (version)
			bad = pagoda_check(bytes + start,
					   pagoda_key(content->seed, content->id, version),
					   start, size);
		else
			bad = pagoda_check_zero(bytes + start, size);
		if (bad < 0)
			continue;
		blame(content, bytes, start + bad, start + size, version, fault);
		/* It changed between two looks: wrong all the same. */
		if (!fault->bytes)
			fault->bytes = 1;
	}
	return !fault->bytes;
}
