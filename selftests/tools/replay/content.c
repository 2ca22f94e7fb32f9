// SPDX-License-Identifier: GPL-2.0
/* Expected content by extents; see the header. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../include/uapi/linux/virtio_pagoda_commands.h"
#include "lib/pagoda_lib.h"
#include "content.h"

/* Bytes of expected content that are made at once, for the hash. */
#define PIECE	(64 * PAGODA_KIB)

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

/*
 * Makes room for two extents more: replacing a range by one extent adds at most two. Returns 0 or
 * -ENOMEM.
 */
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

static int extents_replace(struct content *content, uint64_t start, uint64_t end, bool filled)
{
	struct content_extent put[2] = { { start, ++content->version, filled } };
	uint32_t first, last, keep, number = 1;

	if (extents_reserve(content))
		return -ENOMEM;
	content->hashed = false;
	first = extent_find(content, start);
	last = extent_find(content, end - 1);
	if (end < extent_end(content, last)) {
		put[number] = content->extents[last];
		put[number++].start = end;
	}
	/* An extent that begins before the range stays, and ends where the range begins. */
	keep = first + (content->extents[first].start < start);
	memmove(content->extents + keep + number, content->extents + last + 1,
		(content->count - last - 1) * sizeof(*put));
	memcpy(content->extents + keep, put, number * sizeof(*put));
	content->count = keep + number + (content->count - last - 1);
	return 0;
}

static uint64_t key_of(const struct content *content, uint64_t version)
{
	return pagoda_key(content->seed, content->id, version);
}

/* Returns the word that an extent is filled with: 0 if the extent was never written. */
static uint32_t word_of(const struct content *content, const struct content_extent *extent)
{
	return extent->version ? (uint32_t)key_of(content, extent->version) : 0;
}

static bool is_words(const struct content_extent *extent)
{
	return extent->filled || !extent->version;
}

/*
 * Returns the byte at @offset of an allocation that is filled with @word: words begin at multiples
 * of 4.
 */
static uint8_t byte_of_word(uint32_t word, uint64_t offset)
{
	return word >> offset % sizeof(word) * 8;
}

int content_write(struct content *content, void *map, uint64_t offset, uint64_t length)
{
	int ret = extents_replace(content, offset, offset + length, false);

	if (!ret)
		pagoda_fill((uint8_t *)map + offset, key_of(content, content->version), offset,
			    length);
	return ret;
}

int content_fill(struct content *content, uint64_t offset, uint64_t length, uint32_t *word)
{
	int ret = extents_replace(content, offset, offset + length, true);

	*word = (uint32_t)key_of(content, content->version);
	return ret;
}

static void make_words(uint8_t *to, uint32_t word, uint64_t offset, uint64_t size)
{
	for (; size && offset % sizeof(word); size--, offset++)
		*to++ = byte_of_word(word, offset);
	for (; size >= sizeof(word); size -= sizeof(word), offset += sizeof(word)) {
		memcpy(to, &word, sizeof(word));
		to += sizeof(word);
	}
	for (; size; size--, offset++)
		*to++ = byte_of_word(word, offset);
}

/* Writes to @to what bytes [@offset, @offset + @size) of the allocation must be. */
static void content_make(const struct content *content, uint8_t *to, uint64_t offset, uint64_t size)
{
	uint32_t n = extent_find(content, offset);
	uint64_t some;

	for (; size; size -= some, offset += some, to += some, n++) {
		const struct content_extent *extent = &content->extents[n];

		some = extent_end(content, n) - offset;
		if (some > size)
			some = size;
		if (is_words(extent))
			make_words(to, word_of(content, extent), offset, some);
		else
			pagoda_fill(to, key_of(content, extent->version), offset, some);
	}
}

/*
 * Returns whether the range must be one word all over, *@word, as most ranges that the GPU wrote:
 * then the range's bytes needn't be made.
 */
static bool is_one_word(const struct content *content, uint64_t offset, uint64_t size,
			uint32_t *word)
{
	uint32_t n = extent_find(content, offset);
	const struct content_extent *extent = &content->extents[n];

	*word = word_of(content, extent);
	return is_words(extent) && offset + size <= extent_end(content, n);
}

uint64_t content_hash(struct content *content)
{
	static uint32_t piece[PIECE / sizeof(uint32_t)];
	uint64_t offset, size, n, r = 0;
	bool same;

	for (offset = 0; !content->hashed && offset < content->size; offset += size) {
		size = content->size - offset < PIECE ? content->size - offset : PIECE;
		same = is_one_word(content, offset, size, &piece[0]);
		if (!same)
			content_make(content, (uint8_t *)piece, offset, size);
		for (n = 0; n < size / sizeof(*piece); n++)
			r = (r ^ piece[same ? 0 : n]) * VIRTIO_PAGODA_HASH_PRIME;
	}
	if (!content->hashed)
		content->hash = r;
	content->hashed = true;
	return content->hash;
}

static uint8_t expected_byte(const struct content *content, const struct content_extent *extent,
			     uint64_t offset)
{
	return is_words(extent) ? byte_of_word(word_of(content, extent), offset) :
				  pagoda_byte(key_of(content, extent->version), offset);
}

/* As pagoda_check(), for an extent that is one word all over. */
static int64_t check_words(const uint8_t *src, uint32_t word, uint64_t offset, uint64_t size)
{
	uint64_t n = 0, here;
	uint32_t got;

	while (n < size) {
		here = offset + n;
		if (here % sizeof(word) == 0 && size - n >= sizeof(word)) {
			memcpy(&got, src + n, sizeof(got));
			if (got == word) {
				n += sizeof(word);
				continue;
			}
		}
		if (src[n] != byte_of_word(word, here))
			return n;
		n++;
	}
	return -1;
}

/*
 * Adds the number of an extent's wrong bytes in [@from, @end) to @fault, whose other members tell
 * of the allocation's first wrong byte. Slow: only for a range that was found wrong.
 */
static void blame(const struct content *content, const struct content_extent *extent,
		  const uint8_t *map, uint64_t from, uint64_t end, struct content_fault *fault)
{
	uint64_t pos;

	for (pos = from; pos < end; pos++) {
		uint8_t expected = expected_byte(content, extent, pos);
		uint8_t got = map[pos];

		if (got == expected)
			continue;
		if (!fault->bytes++) {
			fault->offset = pos;
			fault->version = extent->version;
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
		const struct content_extent *extent = &content->extents[n];
		uint64_t start = extent->start, size = extent_end(content, n) - start;
		int64_t bad;

		if (!extent->version)
			bad = pagoda_check_zero(bytes + start, size);
		else if (extent->filled)
			bad = check_words(bytes + start, word_of(content, extent), start, size);
		else
			bad = pagoda_check(bytes + start, key_of(content, extent->version), start,
					   size);
		if (bad < 0)
			continue;
		blame(content, extent, bytes, start + bad, start + size, fault);
		/*
		 * The content was changed since the check, and is right now: counts as a wrong
		 * byte.
		 */
		if (!fault->bytes)
			fault->bytes = 1;
	}
	return !fault->bytes;
}
