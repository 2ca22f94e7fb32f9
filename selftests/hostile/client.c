// SPDX-License-Identifier: GPL-2.0
/* Parts of attackers and victims: a client, and jobs of a known length. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

#define TABLE_BYTES	(2 * PAGODA_MIB)

int client_context(struct client *c)
{
	struct drm_pagoda_context_create args = { .vm = c->vm, .engine = c->engine };
	int ret = pagoda_ioctl(c->fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &args);

	if (!ret)
		c->context = args.context;
	return ret;
}

uint64_t client_place(struct client *c, uint64_t size)
{
	uint64_t address = (c->next + TABLE_BYTES - 1) / TABLE_BYTES * TABLE_BYTES;

	c->next = address + size;
	return address;
}

static int code_make(struct client *c)
{
	uint64_t address = client_place(c, CODE_SIZE);
	int ret;

	ret = pagoda_create_private(c->fd, c->vm, CODE_SIZE, CPU_CACHED, PAGODA_IN_APERTURE,
				    &c->code);
	if (!ret)
		ret = pagoda_bind_map(c->fd, c->vm, c->code, address, 0, CODE_SIZE);
	if (ret)
		return ret;
	c->program.address = address;
	c->program.room = CODE_SIZE;
	c->program.memory = pagoda_map(c->fd, c->code, CODE_SIZE);
	return c->program.memory ? 0 : -errno;
}

int client_open(struct client *c, uint32_t engine)
{
	struct drm_pagoda_segment_info vram;
	struct drm_pagoda_vm_create vm;
	int ret;

	memset(c, 0, sizeof(*c));
	c->engine = engine;
	c->fd = pagoda_open();
	if (c->fd < 0)
		return c->fd;
	ret = pagoda_segment(c->fd, DRM_PAGODA_SEGMENT_VRAM, &vram);
	if (!ret)
		ret = pagoda_vm_create(c->fd, &vm);
	if (!ret)
		ret = pagoda_syncobj_create(c->fd, &c->syncobj);
	if (ret)
		return ret;
	c->vram = vram.size;
	c->vm = vm.vm;
	c->next = vm.start;
	ret = client_context(c);
	return ret ? ret : code_make(c);
}

void client_close(struct client *c)
{
	if (c->program.memory)
		munmap(c->program.memory, CODE_SIZE);
	c->program.memory = NULL;
	close(c->fd);
}

int client_allocation(struct client *c, uint64_t size, uint32_t flags, uint32_t supported,
		      uint32_t *handle, uint64_t *address)
{
	int ret = pagoda_create(c->fd, size, flags, supported, handle);

	if (ret)
		return ret;
	*address = client_place(c, size);
	return pagoda_bind_map(c->fd, c->vm, *handle, *address, 0, size);
}

int client_allocations(struct client *c, uint32_t count, uint64_t size, uint32_t supported,
		       uint32_t *handles)
{
	uint32_t n;
	int ret = 0;

	for (n = 0; n < count && !ret; n++)
		ret = pagoda_create(c->fd, size, CPU_VISIBLE, supported, &handles[n]);
	return ret;
}

int client_submit(struct client *c, const uint32_t *handles, uint32_t count)
{
	return pagoda_submit(c->fd, c->context, c->program.address, c->program.used, handles, count,
			     c->syncobj, ++c->point);
}

int client_wait(const struct client *c, int64_t timeout_ns)
{
	return pagoda_syncobj_wait(c->fd, c->syncobj, c->point, timeout_ns);
}

/* --- jobs of a known length ------------------------------------------------------------------- */

/* Words at the end of the memory of the client's commands. */
enum clock_word {
	CLOCK_GO,	/* the running job waits until this is 1 */
	CLOCK_BEGAN,	/* time stamp of the device when the latest job began */
	CLOCK_WORDS
};

static uint64_t clock_address(const struct client *c, enum clock_word word)
{
	return c->program.address + CODE_SIZE - (CLOCK_WORDS - word) * sizeof(uint64_t);
}

static uint64_t *clock_word(const struct client *c, enum clock_word word)
{
	return (uint64_t *)(c->program.memory + CODE_SIZE) - (CLOCK_WORDS - word);
}

static void clock_program(struct client *c)
{
	struct virtio_pagoda_timestamp *stamp;
	struct virtio_pagoda_wait *wait;

	c->program.used = 0;
	pagoda_store(&c->program, clock_address(c, CLOCK_GO), 0);
	stamp = PAGODA_COMMAND(&c->program, TIMESTAMP, timestamp, 0);
	stamp->address = htole64(clock_address(c, CLOCK_BEGAN));
	wait = PAGODA_COMMAND(&c->program, WAIT, wait, 0);
	wait->address = htole64(clock_address(c, CLOCK_GO));
	wait->value = htole64(1);
}

static void sleep_until(int64_t time)
{
	struct timespec at = { time / PAGODA_SEC, time % PAGODA_SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/*
 * The thread that lets each job go on when it has run for clock.length. A new time stamp is a new
 * job, even if a reset removed the job before. The time stamp is the device's, which is
 * CLOCK_MONOTONIC for the software GPU.
 */
static void *clock_run(void *data)
{
	struct clock *clock = data;
	uint64_t *began = clock_word(clock->client, CLOCK_BEGAN), seen = 0, now;
	int64_t looked = pagoda_now();

	for (;;) {
		now = __atomic_load_n(began, __ATOMIC_ACQUIRE);
		if (now == seen) {
			if (pagoda_now() - looked > 3 * clock->length) {
				atomic_store(&clock->cell->job_begin, 0);
				atomic_store(&clock->late, true);
			}
			usleep(1000);
			continue;
		}
		seen = now;
		atomic_store(&clock->cell->job_begin, now);
		atomic_store(&clock->late, false);
		sleep_until(now + clock->length);
		__atomic_store_n(clock_word(clock->client, CLOCK_GO), 1, __ATOMIC_RELEASE);
		looked = pagoda_now();
	}
	return NULL;
}

int clock_start(struct clock *clock, struct client *client, struct cell *cell)
{
	struct drm_pagoda_device_info info;
	pthread_t thread;
	int ret = pagoda_device(client->fd, &info);

	if (ret)
		return ret;
	clock->client = client;
	clock->cell = cell;
	clock->length = info.job_timeout_ms * MS * 95 / 100;
	atomic_store(&clock->late, false);
	clock_program(client);
	atomic_store(&cell->job_ns, clock->length);
	return -pthread_create(&thread, NULL, clock_run, clock);
}
