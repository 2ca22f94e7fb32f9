// SPDX-License-Identifier: GPL-2.0
/*
 * Entry points of libFuzzer. An input is a struct fuzz_head, followed by a paging buffer, which
 * goes through the printer, the device's engine and the CPU executor, or, with FUZZ_JOB, by the
 * commands of a job, which the engine executes, and a model if job.c can compare both.
 */
#include <stdio.h>
#include <stdlib.h>

#include "job.h"

noreturn void fuzz_fail(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not true: %s\n", file, line, condition);
	abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fuzz_world_make();
	return 0;
}

static void fuzz_visit(void *arg, const struct virtio_pagoda_packet *packet)
{
	u32 opcode = le16_to_cpu(packet->opcode);
	int *visited = arg;

	fuzz_require(opcode && opcode < VIRTIO_PAGODA_OP_COUNT);
	(*visited)++;
}

/*
 * Prints the buffer; the text with its final 0 must fit into @room bytes. A text that doesn't fill
 * @room must have a line for each packet that the walk visits, and for a first malformed packet.
 */
static void fuzz_print(const u8 *data, u32 size, size_t room)
{
	struct pagoda_paging_text text = { .size = room };
	int packets, visited = 0, lines = 0;
	size_t i;

	text.data = malloc(room);
	text.data[0] = '\0';
	packets = pagoda_paging_print(data, size, &text);
	fuzz_require(text.len < room && strlen(text.data) == text.len);
	for (i = 0; i < text.len; i++)
		lines += text.data[i] == '\n';
	pagoda_paging_walk(data, size, 0, fuzz_visit, &visited);
	/* The printer stops when the text is full: packets that the walk visits may be missing. */
	fuzz_require(packets <= visited);
	if (text.len + 1 < room) {
		fuzz_require(packets < 0 || packets == visited);
		fuzz_require(lines == visited + (packets < 0));
	}
	free(text.data);
}

int LLVMFuzzerTestOneInput(const u8 *input, size_t size)
{
	const struct fuzz_head *head = (const void *)input;
	u32 bytes;
	u8 *data;

	if (size < sizeof(*head) || size > sizeof(*head) + FUZZ_BUFFER)
		return -1;
	bytes = (size - sizeof(*head)) & ~(VIRTIO_PAGODA_PACKET_ALIGN - 1);
	if (head->mode & FUZZ_JOB) {
		fuzz_job_execute((const u8 *)(head + 1), bytes, head);
		return 0;
	}
	if (fuzz_packet_virtual(input + sizeof(*head), bytes) > FUZZ_VIRTUAL)
		return -1;
	/* Memory of exactly the buffer's size: the sanitizer finds an access behind the buffer. */
	data = malloc(bytes);
	memcpy(data, head + 1, bytes);
	fuzz_print(data, bytes, head->mode & FUZZ_SHORT ? 1 + head->text : 64 * 1024);
	fuzz_world_execute(data, bytes, head);
	free(data);
	return 0;
}
