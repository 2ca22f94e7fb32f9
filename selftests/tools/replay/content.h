/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every byte of an allocation must be. Each write gives its range the next version. Only the
 * ranges are kept: the bytes are made again from seed, allocation, version and offset when they are
 * needed. Version 0 is what was never written: zeros. A range that the GPU filled is one 32-bit
 * word all over, made from seed, allocation and version.
 */
#ifndef PAGODA_CONTENT_H
#define PAGODA_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A range of one version, from @start to the next extent's @start or the end of the allocation.
 * @filled: one word all over, by the GPU; else written by the CPU, or never.
 */
struct content_extent {
	uint64_t start;
	uint64_t version;
	bool filled;
};

/*
 * @version: of the last write; @extents: in order, without gaps, @count of @capacity
 * @hash: of the expected content, valid if @hashed, which a write clears
 */
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

/*
 * @bytes: number of wrong bytes, 0 = none. The other members tell of the first wrong byte: where it
 *	is, the version that was expected there, what was expected and what was found.
 */
struct content_fault {
	uint64_t bytes;
	uint64_t offset;
	uint64_t version;
	uint8_t expected;
	uint8_t got;
};

int content_init(struct content *content, uint64_t seed, uint64_t id, uint64_t size);
void content_exit(struct content *content);

/*
 * Gives [offset, offset + length) its next version and writes the content of that version to the
 * allocation, which is mapped at @map. Returns 0 or -ENOMEM.
 */
int content_write(struct content *content, void *map, uint64_t offset, uint64_t length);

/*
 * Gives a range of whole words its next version, and sets *@word to the word that the caller must
 * have the GPU fill the range with. Returns 0 or -ENOMEM.
 */
int content_fill(struct content *content, uint64_t offset, uint64_t length, uint32_t *word);

/*
 * Returns the hash of the expected content: what the GPU's REDUCE, operation HASH, finds with 0 as
 * the initial value.
 */
uint64_t content_hash(struct content *content);

/*
 * Compares all of the allocation, mapped at @map, with what it must be: true if equal, else @fault
 * tells what is wrong.
 */
int content_verify(const struct content *content, const void *map, struct content_fault *fault);

#endif
