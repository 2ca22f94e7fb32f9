// SPDX-License-Identifier: GPL-2.0
/*
 * soak: clients that together use more memory than VRAM has, for --seconds. Each is a process with
 * allocations of its own. In each turn a client has a job add up the words of a few, chosen at
 * random, and fill these with other words; in some turns it also has one on its residency list for
 * a moment, or reads one with the CPU. What was found is compared with what was written last.
 *
 * All clients have the same priority, so none should get much more done than others (--ratio).
 *
 * When the device is unplugged, memory reads as zeros, which isn't counted as wrong content; the
 * test is skipped, unless content was wrong before.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/pagoda_lib.h"
#include "tools/replay/gpu.h"

#define CLIENTS_MAX	16u
/* Allocations that would fill VRAM; most of a job; most of a client, for --percent 1600. */
#define PIECES		64u
#define PER_JOB		3u
#define MOST		(16 * PIECES)
/* One turn in 16 also reads an allocation with the CPU; one in 8 also uses the residency list. */
#define LOOK_EVERY	16u
#define LIST_EVERY	8u

/* Exit status of a test that was skipped, as kselftests have it. */
#define SKIPPED		4

#define WAIT_LIMIT	(300 * PAGODA_SEC)
/* Longest time for which SUBMIT may be refused because other clients use the memory. */
#define REFUSED_LIMIT	(120 * PAGODA_SEC)

static const char usage_text[] =
"usage: soak [options]\n"
"Has clients use more than VRAM has, and compares what they find with what they wrote. TAP.\n"
"\n"
"  --seconds N   for so long (default 20)\n"
"  --clients N   processes (default 4)\n"
"  --percent N   of VRAM that they use together (default 300)\n"
"  --ratio F     the slowest does at least this part of what the fastest does (default 0)\n";

struct options {
	uint32_t seconds;
	uint32_t clients;
	uint32_t percent;
	double ratio;
};

/*
 * What a client did, in memory shared with its parent.
 * @uses: allocations that the jobs of turns used; @lists, @looks: turns that used the residency
 *	list, and the CPU
 * @refused: calls refused with ENOMEM or EBUSY; @mismatches: times that content was found wrong
 * @error: negative errno of the first failure, at step @what; 0 = none
 */
struct outcome {
	uint64_t uses;
	uint64_t lists;
	uint64_t looks;
	uint64_t refused;
	uint64_t mismatches;
	int64_t longest_ns;
	bool unplugged;
	int error;
	char what[48];
};

struct piece {
	uint64_t address;
	uint32_t handle;
	uint32_t word;
};

struct client {
	struct gpu gpu;
	struct piece pieces[MOST];
	struct outcome *outcome;
	uint64_t size;
	uint64_t random;
	uint64_t point;
	uint32_t count;
	uint32_t syncobj;
	uint32_t queue;
	uint32_t queue_syncobj;
	uint32_t number;
	int fd;
};

static int failed(struct client *c, const char *what, int ret)
{
	if (ret && !c->outcome->error) {
		c->outcome->error = ret;
		snprintf(c->outcome->what, sizeof(c->outcome->what), "%s", what);
	}
	return ret;
}

static bool is_refusal(int ret)
{
	return ret == -ENOMEM || ret == -EBUSY;
}

/* Returns a random word that no other client gets: its lowest 4 bits are the client's number. */
static uint32_t next_word(struct client *c)
{
	return (uint32_t)pagoda_random(&c->random) << 4 | c->number;
}

static struct piece *any_piece(struct client *c)
{
	return &c->pieces[pagoda_random(&c->random) % c->count];
}

/*
 * Counts a mismatch and returns 0, or returns the error of a device that is gone: the mappings of
 * such a device read as zeros, which is no mismatch.
 */
static int mismatch(struct client *c)
{
	struct drm_pagoda_device_info info;
	int ret = pagoda_device(c->fd, &info);

	if (!ret)
		c->outcome->mismatches++;
	return ret;
}

/* --- turns ----------------------------------------------------------------------------------- */

/*
 * Submits slot 0's program with a list of allocations, and waits for the job. A SUBMIT refused with
 * ENOMEM or EBUSY is repeated for up to REFUSED_LIMIT. Returns 0 or a negative errno.
 */
static int execute(struct client *c, const uint32_t *handles, uint32_t count)
{
	const struct pagoda_program *program = &c->gpu.slots[0].program;
	int64_t end = pagoda_now() + REFUSED_LIMIT;
	int ret;

	c->point++;
	do {
		ret = pagoda_submit(c->gpu.fd, c->gpu.context, program->address, program->used,
				    handles, count, c->syncobj, c->point);
		if (!is_refusal(ret))
			break;
		c->outcome->refused++;
		usleep(1000);
	} while (pagoda_now() < end);
	if (!ret)
		ret = pagoda_syncobj_wait(c->fd, c->syncobj, c->point, WAIT_LIMIT);
	return ret;
}

/*
 * Has a job add up the words of each piece and then fill it with a new word. Counts the pieces
 * whose sum is wrong. Returns 0 or a negative errno.
 */
static int use(struct client *c, struct piece **pieces, uint32_t count)
{
	uint64_t words = c->size / sizeof(uint32_t);
	struct gpu_slot *slot = &c->gpu.slots[0];
	uint32_t handles[PER_JOB], next[PER_JOB], n;
	int ret;

	gpu_begin(slot);
	for (n = 0; n < count; n++) {
		handles[n] = pieces[n]->handle;
		next[n] = next_word(c);
		slot->results[n] = UINT64_MAX;
		pagoda_reduce(&slot->program, VIRTIO_PAGODA_REDUCE_SUM, words, pieces[n]->address,
			      slot->address + n * sizeof(*slot->results), 0);
		pagoda_fill_words(&slot->program, pieces[n]->address, c->size, next[n]);
	}
	ret = execute(c, handles, count);
	for (n = 0; n < count && !ret; n++) {
		if (slot->results[n] != words * pieces[n]->word)
			ret = mismatch(c);
		pieces[n]->word = next[n];
	}
	return failed(c, "job", ret);
}

/*
 * Uses PER_JOB pieces in a job, or all if these are fewer. The pieces differ: about a third of all
 * pieces lies between two of them.
 */
static int turn_of_gpu(struct client *c)
{
	uint32_t first = pagoda_random(&c->random) % c->count, n;
	uint32_t used = c->count < PER_JOB ? c->count : PER_JOB;
	struct piece *pieces[PER_JOB];
	int ret;

	for (n = 0; n < used; n++)
		pieces[n] = &c->pieces[(first + n * (c->count / used)) % c->count];
	ret = use(c, pieces, used);
	c->outcome->uses += ret ? 0 : used;
	return ret;
}

/* Reads all words of a piece with the CPU, and counts one mismatch if any is wrong. */
static int look(struct client *c, struct piece *piece)
{
	uint64_t words = c->size / sizeof(uint32_t), n;
	const uint32_t *map = pagoda_map(c->fd, piece->handle, c->size);
	int ret = 0;

	if (!map)
		return failed(c, "mmap", -errno);
	for (n = 0; n < words && map[n] == piece->word; n++)
		;
	if (n < words)
		ret = mismatch(c);
	munmap((void *)map, c->size);
	return failed(c, "look", ret);
}

/*
 * Puts a random piece on the residency list and takes it off again. A refusal with ENOMEM or EBUSY
 * is counted, and isn't a failure.
 */
static int turn_of_list(struct client *c)
{
	uint32_t handle = any_piece(c)->handle;
	uint64_t value;
	int ret;

	ret = pagoda_list_add(c->fd, c->queue, &handle, 1, 0, &value, NULL);
	if (!ret && value)
		ret = pagoda_syncobj_wait(c->fd, c->queue_syncobj, value, WAIT_LIMIT);
	if (!ret && pagoda_list_count(c->fd, handle) > 0)
		ret = pagoda_list_remove(c->fd, c->queue, &handle, 1, 0, &value);
	if (is_refusal(ret)) {
		c->outcome->refused++;
		ret = 0;
	}
	c->outcome->lists++;
	return failed(c, "residency list", ret);
}

static int turn(struct client *c, uint32_t number)
{
	int64_t start = pagoda_now(), taken;
	int ret = turn_of_gpu(c);

	if (!ret && number % LIST_EVERY == 0)
		ret = turn_of_list(c);
	if (!ret && number % LOOK_EVERY == 0) {
		ret = look(c, any_piece(c));
		c->outcome->looks++;
	}
	taken = pagoda_now() - start;
	if (taken > c->outcome->longest_ns)
		c->outcome->longest_ns = taken;
	return ret;
}

/* --- a client -------------------------------------------------------------------------------- */

/*
 * Opens the client, and creates and binds its allocations. Content that was never written is zeros,
 * as @word of a new piece is.
 */
static int client_open(struct client *c, const struct options *o)
{
	struct drm_pagoda_segment_info vram;
	uint32_t n;
	int ret;

	c->fd = pagoda_open();
	if (c->fd < 0)
		return c->fd;
	ret = pagoda_segment(c->fd, DRM_PAGODA_SEGMENT_VRAM, &vram);
	if (!ret)
		ret = gpu_init(&c->gpu, 1);
	if (!ret)
		ret = gpu_open(&c->gpu, c->fd);
	if (!ret)
		ret = pagoda_syncobj_create(c->fd, &c->syncobj);
	if (!ret)
		ret = pagoda_paging_queue_create(c->fd, 0, &c->queue, &c->queue_syncobj);
	c->size = vram.size / PIECES;
	c->count = (PIECES * o->percent / 100 + o->clients - 1) / o->clients;
	for (n = 0; n < c->count && !ret; n++) {
		ret = pagoda_create(c->fd, c->size, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
				    PAGODA_IN_VRAM, &c->pieces[n].handle);
		if (!ret)
			ret = gpu_bind(&c->gpu, c->pieces[n].handle, c->size,
				       &c->pieces[n].address);
	}
	return ret;
}

/*
 * Has the GPU use each piece once, and then waits until all clients are ready; takes turns for
 * --seconds; and at the end reads each piece with the CPU. Returns 0 or a negative errno.
 */
static int client_run(struct client *c, const struct options *o, int ready, int go)
{
	struct piece *piece;
	int64_t end;
	uint32_t n;
	char byte = 0;
	int ret = 0;

	for (n = 0; n < c->count && !ret; n++) {
		piece = &c->pieces[n];
		ret = use(c, &piece, 1);
	}
	if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) < 0)
		return failed(c, "start", -EPIPE);
	end = pagoda_now() + o->seconds * PAGODA_SEC;
	for (n = 1; !ret && pagoda_now() < end; n++)
		ret = turn(c, n);
	for (n = 0; n < c->count && !ret; n++)
		ret = look(c, &c->pieces[n]);
	c->outcome->unplugged = ret == -ENODEV;
	return ret;
}

/* Ends the process: the driver couldn't provide a page of a mapped allocation. */
static void on_bus_error(int number)
{
	static const char text[] = "# an access through mmap failed (SIGBUS)\n";

	(void)number;
	_exit(write(STDOUT_FILENO, text, sizeof(text) - 1) < 0 ? 3 : 1);
}

static int client_process(const struct options *o, uint32_t number, struct outcome *outcome,
			  int ready, int go)
{
	static struct client c;
	char byte = 0;

	c.number = number;
	c.random = number + 1;
	c.outcome = outcome;
	if (failed(&c, "set-up", client_open(&c, o))) {
		/* The other clients begin only when all clients have written to @ready. */
		return write(ready, &byte, 1) == 1 ? 1 : 3;
	}
	return client_run(&c, o, ready, go) ? 1 : 0;
}

/* --- all of them ----------------------------------------------------------------------------- */

/*
 * Runs the clients. Returns 0 if all exit with 0, else a negative errno. The clients begin
 * together, when all have written to the pipe @ready: the parent closes the pipe @go, which ends
 * their read().
 */
static int run(const struct options *o, struct outcome *outcomes)
{
	int ready[2], go[2], status, ret = 0;
	uint32_t n;
	char byte;

	if (pipe(ready) || pipe(go))
		return -errno;
	fflush(stdout);
	for (n = 0; n < o->clients; n++) {
		pid_t pid = fork();

		if (pid < 0)
			return -errno;
		if (pid)
			continue;
		close(ready[0]);
		close(go[1]);
		_exit(client_process(o, n, &outcomes[n], ready[1], go[0]));
	}
	close(ready[1]);
	for (n = 0; n < o->clients; n++)
		if (read(ready[0], &byte, 1) != 1)
			ret = -EPIPE;
	close(go[1]);
	while (wait(&status) > 0)
		if (status)
			ret = -ECHILD;
	return ret;
}

static void report_client(uint32_t number, const struct outcome *r)
{
	printf("# client %u: uses=%llu lists=%llu looks=%llu refused=%llu mismatches=%llu ",
	       number, (unsigned long long)r->uses, (unsigned long long)r->lists,
	       (unsigned long long)r->looks, (unsigned long long)r->refused,
	       (unsigned long long)r->mismatches);
	printf("longest_turn_ms=%lld", (long long)(r->longest_ns / 1000000));
	if (r->error)
		printf(" %s failed: %s", r->what, strerror(-r->error));
	printf("\n");
}

static bool is_unplugged(const struct options *o, const struct outcome *outcomes)
{
	uint32_t n;

	for (n = 0; n < o->clients; n++)
		if (outcomes[n].unplugged)
			return true;
	return false;
}

static bool report(const struct options *o, const struct outcome *outcomes)
{
	uint64_t mismatches = 0, slowest = UINT64_MAX, fastest = 0;
	uint32_t n;
	double ratio;

	for (n = 0; n < o->clients; n++) {
		report_client(n, &outcomes[n]);
		mismatches += outcomes[n].mismatches;
		slowest = outcomes[n].uses < slowest ? outcomes[n].uses : slowest;
		fastest = outcomes[n].uses > fastest ? outcomes[n].uses : fastest;
	}
	ratio = fastest ? (double)slowest / fastest : 0;
	printf("# soak: clients=%u percent=%u seconds=%u mismatches=%llu slowest=%llu ",
	       o->clients, o->percent, o->seconds, (unsigned long long)mismatches,
	       (unsigned long long)slowest);
	printf("fastest=%llu ratio=%.3f wanted=%.2f\n", (unsigned long long)fastest, ratio,
	       o->ratio);
	if (is_unplugged(o, outcomes))
		return !mismatches;
	return !mismatches && slowest && ratio >= o->ratio;
}

static int usage(int status)
{
	fputs(usage_text, status ? stderr : stdout);
	exit(status);
}

static double number(const char *text, double least, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (*end || end == text || !(value >= least && value <= most)) {
		fprintf(stderr, "soak: %s: not from %g to %g\n", text, least, most);
		exit(2);
	}
	return value;
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "clients", required_argument, NULL, 'c' },
		{ "percent", required_argument, NULL, 'p' },
		{ "ratio", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		if (c == 's')
			o->seconds = number(optarg, 1, 86400);
		else if (c == 'c')
			o->clients = number(optarg, 1, CLIENTS_MAX);
		else if (c == 'p')
			o->percent = number(optarg, 10, 1600);
		else if (c == 'r')
			o->ratio = number(optarg, 0, 1);
		else
			usage(c == 'h' ? 0 : 2);
	}
	if (optind != argc)
		usage(2);
}

int main(int argc, char **argv)
{
	struct options options = { .seconds = 20, .clients = 4, .percent = 300 };
	struct outcome *outcomes;
	bool good;
	int ret;

	parse_options(argc, argv, &options);
	signal(SIGBUS, on_bus_error);
	outcomes = mmap(NULL, CLIENTS_MAX * sizeof(*outcomes), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcomes == MAP_FAILED)
		return 1;
	printf("TAP version 13\n1..1\n");
	ret = run(&options, outcomes);
	good = report(&options, outcomes);
	if (good && is_unplugged(&options, outcomes)) {
		printf("ok 1 # SKIP the device was unplugged\n");
		return SKIPPED;
	}
	good = good && !ret;
	printf("%s 1 %u clients on %u %% of VRAM\n", good ? "ok" : "not ok", options.clients,
	       options.percent);
	return good ? 0 : 1;
}
