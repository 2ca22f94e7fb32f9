/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every byte of an allocation must be. Each write gives its range the next version; the
 * ranges are kept, the bytes are made again from (key of the allocation, version, offset)
 * when they are needed. Version 0 is what was never written: zeros. What the GPU filled is
 * one word all over, made from the key.
 */
#ifndef PAGODA_CONTENT_H
#define PAGODA_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

/* From @start to the start of the next extent, or the end. */
struct content_extent {
	uint64_t start;
	uint64_t version;
	bool filled;
};

/* @hash: content_hash(), if @hashed: since the last write. */
struct content {
	uint64_t size;
	uint64_t seed;
	uint64_t id;
	uint64_t version;
	struct content_extent *extents;
	uint32_t count;
	uint32_t capacity;
	uint64_t hash;
	bool hashed;
};

/* The first bytes that were wrong, and how many were. */
struct content_fault {
	uint64_t bytes;
	uint64_t offset;
	uint64_t version;
	uint8_t expected;
	uint8_t got;
};

int content_init(struct content *content, uint64_t seed, uint64_t id, uint64_t size);
void content_exit(struct content *content);

/* Gives [offset, offset + length) its next version and writes it through @map. */
int content_write(struct content *content, void *map, uint64_t offset, uint64_t length);

/* Gives a range, in whole words, its next version: @word all over, which the caller has written. */
int content_fill(struct content *content, uint64_t offset, uint64_t length, uint32_t *word);

/* What REDUCE HASH makes of all of it, beginning with 0. */
uint64_t content_hash(struct content *content);

/* Compares every byte of @map; fills in @fault and returns false if one is wrong. */
int content_verify(const struct content *content, const void *map, struct content_fault *fault);

#endif
