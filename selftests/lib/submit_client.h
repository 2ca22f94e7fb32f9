/* SPDX-License-Identifier: GPL-2.0 */
/* A client with a VM, a context and a program that its jobs execute piece by piece. */
#ifndef SUBMIT_CLIENT_H
#define SUBMIT_CLIENT_H

#include "pagoda_commands.h"
#include "pagoda_test.h"

#define LIMIT		(60 * PAGODA_SEC)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define CACHED		DRM_PAGODA_ALLOCATION_CACHED
#define CODE_SIZE	(256 * PAGODA_KIB)

#define EXPECT_REFUSED(error, call) EXPECT_EQ(-(error), (call))

/*
 * A VM with a context, and a program in memory that is private to the VM. @start: byte of the
 * program where the next job begins; @point: highest point of @syncobj that was given to a job
 */
struct client {
	int fd;
	struct drm_pagoda_vm_create vm;
	uint32_t context;
	uint32_t code;
	uint32_t syncobj;
	uint64_t point;
	struct pagoda_program program;
	uint32_t start;
};

static inline int client_open(struct client *client, int fd, uint32_t engine)
{
	struct drm_pagoda_context_create context = { .engine = engine };
	int ret;

	memset(client, 0, sizeof(*client));
	client->fd = fd;
	ret = pagoda_vm_create(fd, &client->vm);
	context.vm = client->vm.vm;
	if (!ret)
		ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &context);
	client->context = context.context;
	if (!ret)
		ret = pagoda_syncobj_create(fd, &client->syncobj);
	if (!ret)
		ret = pagoda_create_private(fd, client->vm.vm, CODE_SIZE, CPU | CACHED,
					    PAGODA_IN_APERTURE, &client->code);
	client->program.address = test_round_up(client->vm.start, 2 * PAGODA_MIB);
	if (!ret)
		ret = pagoda_bind_map(fd, client->vm.vm, client->code, client->program.address, 0,
				      CODE_SIZE);
	if (ret)
		return ret;
	client->program.memory = pagoda_map(fd, client->code, CODE_SIZE);
	client->program.room = CODE_SIZE;
	return client->program.memory ? 0 : -errno;
}

/* Address for data number @which, from 0: behind the program, with 64 MiB of addresses for each. */
static inline uint64_t client_data(const struct client *client, uint32_t which)
{
	return client->program.address + (1 + which) * 64 * PAGODA_MIB;
}

/* Submits a job of the commands appended since the last job; -E2BIG if a command had no room. */
static inline int client_submit(struct client *client, const uint32_t *handles, uint32_t count)
{
	uint32_t start = client->start;

	if (client->program.too_long)
		return -E2BIG;
	client->start = client->program.used;
	return pagoda_submit(client->fd, client->context, client->program.address + start,
			     client->program.used - start, handles, count, client->syncobj,
			     ++client->point);
}

/* Waits at most LIMIT for the last job of client_submit(). */
static inline int client_wait(struct client *client)
{
	return pagoda_syncobj_wait(client->fd, client->syncobj, client->point, LIMIT);
}

static inline int client_run(struct client *client, const uint32_t *handles, uint32_t count)
{
	int ret = client_submit(client, handles, count);

	return ret ? ret : client_wait(client);
}

/*
 * The last 64-bit word of the program's memory, which a program sets to 1 when the program begins,
 * or whose value a program waits for. No test's commands reach this word.
 */
static inline uint64_t *client_word(const struct client *client)
{
	return (uint64_t *)(client->program.memory + CODE_SIZE) - 1;
}

static inline uint64_t client_word_address(const struct client *client)
{
	return client->program.address + CODE_SIZE - sizeof(uint64_t);
}

/* Appends a WAIT until the 64-bit word at GPU address @word is at least @value. */
static inline void client_append_wait(struct client *client, uint64_t word, uint64_t value)
{
	struct virtio_pagoda_wait *wait = PAGODA_COMMAND(&client->program, WAIT, wait, 0);

	wait->address = htole64(word);
	wait->value = htole64(value);
}

/*
 * Submits a job that stores 1 in client_word(), and then, if @busy, loops for ever, else waits for
 * the test to store 2 in client_word().
 */
static inline int client_hang(struct client *client, bool busy)
{
	uint64_t word = client_word_address(client);

	pagoda_store(&client->program, word, 1);
	if (busy)
		pagoda_forever(&client->program, 0);
	else
		client_append_wait(client, word, 2);
	return client_submit(client, NULL, 0);
}

/* Waits until the job of client_hang() has begun: returns 0, or -ETIME after LIMIT. */
static inline int client_hangs(const struct client *client)
{
	int64_t end = pagoda_now() + LIMIT;

	while (!__atomic_load_n(client_word(client), __ATOMIC_ACQUIRE)) {
		if (pagoda_now() > end)
			return -ETIME;
		usleep(1000);
	}
	return 0;
}

/* The next command overwrites the program's first: all jobs of the program must be done. */
static inline void client_rewind(struct client *client)
{
	client->program.used = 0;
	client->start = 0;
}

static inline void client_close(struct client *client)
{
	munmap(client->program.memory, CODE_SIZE);
	pagoda_context_destroy(client->fd, client->context);
	pagoda_close(client->fd, client->code);
	pagoda_vm_destroy(client->fd, client->vm.vm);
	pagoda_syncobj_destroy(client->fd, client->syncobj);
}

#endif
