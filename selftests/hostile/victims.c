// SPDX-License-Identifier: GPL-2.0
/* Victims: operations that a client does beside an attacker, and how their time is sampled. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile.h"

#define WAIT_LIMIT	(60 * PAGODA_SEC)
#define FAULTED		(64 * PAGODA_KIB)

static int open_client(struct victim_state *v)
{
	return client_open(&v->client, VICTIM_ENGINE);
}

static int submit_empty(struct victim_state *v)
{
	int ret = client_submit(&v->client, NULL, 0);

	return ret ? ret : client_wait(&v->client, WAIT_LIMIT);
}

/* --- VM_BIND ---------------------------------------------------------------------------------- */

static int bind_open(struct victim_state *v)
{
	int ret = open_client(v);

	if (!ret)
		ret = pagoda_create_private(v->client.fd, v->client.vm, 4 * PAGODA_KIB, CPU_VISIBLE,
					    ANYWHERE, &v->handle);
	v->address = client_place(&v->client, 4 * PAGODA_KIB);
	return ret;
}

/* Maps a page, alone in its page table, if the page isn't mapped yet, and executes an empty job. */
static int bind_op(struct victim_state *v)
{
	int ret = v->flag ? 0 : pagoda_bind_map(v->client.fd, v->client.vm, v->handle, v->address,
						0, 4 * PAGODA_KIB);

	v->flag = !ret;
	return ret ? ret : submit_empty(v);
}

static int bind_after(struct victim_state *v)
{
	int ret = pagoda_bind_range(v->client.fd, v->client.vm, DRM_PAGODA_BIND_UNMAP, v->address,
				    4 * PAGODA_KIB);

	v->flag = ret;
	return ret;
}

/* --- MAKE_RESIDENT ---------------------------------------------------------------------------- */

static int resident_open(struct victim_state *v)
{
	int ret = open_client(v);

	if (ret)
		return ret;
	ret = client_allocations(&v->client, 1, PAGODA_MIB, PAGODA_IN_VRAM, &v->handle);
	if (ret)
		return ret;
	v->map = pagoda_map(v->client.fd, v->handle, PAGODA_MIB);
	if (!v->map)
		return -errno;
	pagoda_fill(v->map, 1, 0, PAGODA_MIB);
	return 0;
}

static int resident_before(struct victim_state *v)
{
	return pagoda_evict_wait(v->client.fd, v->handle);
}

static int resident_op(struct victim_state *v)
{
	return pagoda_make_resident_wait(v->client.fd, v->handle);
}

/* --- objects ---------------------------------------------------------------------------------- */

static int context_op(struct victim_state *v)
{
	return pagoda_context_create(v->client.fd, v->client.vm, &v->id);
}

static int context_after(struct victim_state *v)
{
	return pagoda_context_destroy(v->client.fd, v->id);
}

static int vm_op(struct victim_state *v)
{
	struct drm_pagoda_vm_create vm;
	int ret = pagoda_vm_create(v->client.fd, &vm);

	v->id = vm.vm;
	return ret;
}

static int vm_after(struct victim_state *v)
{
	return pagoda_vm_destroy(v->client.fd, v->id);
}

/* --- the CPU ---------------------------------------------------------------------------------- */

static int fault_open(struct victim_state *v)
{
	int ret = open_client(v);

	return ret ? ret : pagoda_create(v->client.fd, FAULTED, 0, ANYWHERE, &v->handle);
}

static int fault_before(struct victim_state *v)
{
	int ret = pagoda_make_resident_wait(v->client.fd, v->handle);

	if (ret)
		return ret;
	if (v->map)
		munmap(v->map, FAULTED);
	v->map = pagoda_map(v->client.fd, v->handle, FAULTED);
	return v->map ? 0 : -errno;
}

/* The allocation isn't CPU_VISIBLE: if it is in VRAM, the page fault moves it. */
static int fault_op(struct victim_state *v)
{
	__atomic_store_n(v->map, 1, __ATOMIC_RELAXED);
	return 0;
}

/* --- close ------------------------------------------------------------------------------------ */

static int close_before(struct victim_state *v)
{
	int ret;

	if (v->flag)
		client_close(&v->client);
	v->flag = false;
	ret = open_client(v);
	v->flag = v->client.fd >= 0;
	if (!ret)
		ret = client_allocation(&v->client, PAGODA_MIB, CPU_VISIBLE, PAGODA_IN_VRAM,
					&v->handle, &v->address);
	return ret ? ret : pagoda_make_resident_wait(v->client.fd, v->handle);
}

static int close_op(struct victim_state *v)
{
	client_close(&v->client);
	v->flag = false;
	return 0;
}

/* --- what root asks for ----------------------------------------------------------------------- */

static int write_word(int fd, const char *word)
{
	return write(fd, word, strlen(word)) == (ssize_t)strlen(word) ? 0 : -errno;
}

static int write_file(const char *path, const char *word)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write_word(fd, word);
	close(fd);
	return ret;
}

static int reset_open(struct victim_state *v)
{
	glob_t found;

	if (glob("/sys/kernel/debug/dri/*/reset", 0, NULL, &found))
		return -ENOENT;
	v->fd = open(found.gl_pathv[0], O_WRONLY | O_CLOEXEC);
	globfree(&found);
	return v->fd < 0 ? -errno : 0;
}

/* Asks for a reset; the write returns when the device is rebuilt. */
static int reset_op(struct victim_state *v)
{
	return write_word(v->fd, "1");
}

/*
 * Returns -ENOTSUP if a folder is shared with the host by 9p: such a mount doesn't survive the
 * sleep. Returns another negative errno if that can't be found out.
 */
static int sleep_open(struct victim_state *v)
{
	char text[4096] = "";
	int fd = open("/proc/mounts", O_RDONLY | O_CLOEXEC), ret = 0;

	(void)v;
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) < 0)
		ret = -errno;
	close(fd);
	return !ret && strstr(text, " 9p ") ? -ENOTSUP : ret;
}

static int sleep_before(struct victim_state *v)
{
	(void)v;
	return write_file("/sys/power/pm_test", "devices");
}

static int sleep_op(struct victim_state *v)
{
	(void)v;
	return write_file("/sys/power/state", "freeze");
}

/* The comments name the operation whose time is a sample. */
const struct victim victims[] = {
	/* An empty job is submitted and done. */
	{ "submit", open_client, NULL, submit_empty },
	/* A page is mapped and a job after that is done. */
	{ "bind-submit", bind_open, NULL, bind_op, bind_after },
	/* 1 MiB that was evicted is resident again. */
	{ "make-resident", resident_open, resident_before, resident_op },
	/* A context is made. */
	{ "context-create", open_client, NULL, context_op, context_after },
	/* A VM is made. */
	{ "vm-create", open_client, NULL, vm_op, vm_after },
	/* The CPU writes to an allocation, which the page fault moves if it is in VRAM. */
	{ "cpu-fault", fault_open, fault_before, fault_op },
	/* A file is closed that has a VM, a context and resident memory. */
	{ "close", NULL, close_before, close_op },
	/* A reset of the device is asked for and done. */
	{ "reset", reset_open, NULL, reset_op, .root = true },
	/* The attacker's processes end after SIGKILL. */
	{ "life", .life = true },
	/* The machine suspends its devices and, instead of sleeping, resumes them (pm_test). */
	{ "sleep", sleep_open, sleep_before, sleep_op, .root = true, .sleeps = true },
};

const uint32_t victims_count = ARRAY_SIZE(victims);

/* --- samples ---------------------------------------------------------------------------------- */

/*
 * Repeats a call while the call fails with EBUSY or ENOMEM, because other clients use the memory.
 * A sample has the time of all repetitions. Returns the last result; 0 if @call is NULL.
 */
static int until_done(int (*call)(struct victim_state *v), struct victim_state *v)
{
	int ret;

	do {
		ret = call ? call(v) : 0;
		if (ret == -EBUSY || ret == -ENOMEM)
			usleep(1000);
	} while (ret == -EBUSY || ret == -ENOMEM);
	return ret;
}

static bool is_enough(uint32_t count, int64_t elapsed, int64_t least_ns)
{
	if (count == SAMPLES_MAX)
		return true;
	if (elapsed < least_ns || count < SAMPLES_SLOW)
		return false;
	return count >= SAMPLES || elapsed / count > SLOW_NS;
}

static int sample(const struct victim *victim, struct victim_state *v, struct cell *cell,
		  uint32_t number)
{
	int64_t start;
	int ret = until_done(victim->before, v);

	if (ret)
		return ret;
	start = pagoda_now();
	cell->rest[number] = cell_rest(cell, start);
	ret = until_done(victim->op, v);
	cell->taken[number] = pagoda_now() - start;
	return ret ? ret : until_done(victim->after, v);
}

int victim_run(const struct victim *victim, struct cell *cell, int64_t least_ns)
{
	static struct victim_state v;
	uint32_t count = 0;
	int64_t begin;
	int ret;

	atomic_store(&cell->since, pagoda_now());
	ret = until_done(victim->open, &v);
	begin = pagoda_now();
	while (!ret && !atomic_load(&cell->stop) &&
	       !is_enough(count, pagoda_now() - begin, least_ns)) {
		atomic_store(&cell->since, pagoda_now());
		ret = sample(victim, &v, cell, count);
		if (!ret)
			atomic_store(&cell->count, ++count);
	}
	/* The process closes its files when it ends, which may hang as a sample may. */
	atomic_store(&cell->since, pagoda_now());
	cell->error = ret;
	return ret;
}
