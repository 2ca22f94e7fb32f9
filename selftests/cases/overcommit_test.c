// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs that use more memory than VRAM has: in one VM, or in several VMs with a thread for each, and
 * with private and with shared allocations. The GPU and the CPU find what the GPU wrote, word by
 * word.
 */
#include <pthread.h>

#include "lib/submit_client.h"

/*
 * Nanoseconds after which a thread ends early, if it has done a few rounds: slow machines do less.
 */
#define WORK_LIMIT	(PAGODA_SEC * 3 / 2)
#define ROUNDS		4u
#define MOST_CLIENTS	8u
#define MOST		48u

FIXTURE(over) {
	struct test_device dev;
	int fd;
	int other;
	uint64_t size;
	uint64_t vram;
	uint64_t aperture;
};

FIXTURE_SETUP(over)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	self->vram = test_vram_settled(self->other, 0);
	self->aperture = test_aperture_settled(self->other, 0);
	self->size = self->dev.vram.size / 16;
}

FIXTURE_TEARDOWN(over)
{
	close(self->fd);
	EXPECT_EQ(self->vram, test_vram_settled(self->other, self->vram));
	EXPECT_EQ(self->aperture, test_aperture_settled(self->other, self->aperture));
	close(self->other);
}

FIXTURE_VARIANT(over) {
	uint32_t percent;
};

FIXTURE_VARIANT_ADD(over, one_and_a_half) { .percent = 150 };
FIXTURE_VARIANT_ADD(over, three) { .percent = 300 };

/*
 * A thread's VM with @count allocations: each 32-bit word of allocation n is @values[n]. Jobs write
 * sums to the allocation @sums, which the CPU sees as @results.
 */
struct worker {
	pthread_t thread;
	struct client client;
	uint64_t size;
	uint32_t count;
	uint32_t handles[MOST];
	uint32_t values[MOST];
	uint32_t sums;
	uint64_t *results;
	int ret;
};

/* Returns the GPU address of @worker->sums, which is behind those of the other allocations. */
static uint64_t worker_sums(const struct worker *worker)
{
	return client_data(&worker->client, worker->count);
}

static int worker_open(struct worker *worker, int fd, uint32_t engine, uint64_t size,
		       uint32_t count, uint32_t supported)
{
	uint32_t n;
	int ret = client_open(&worker->client, fd, engine);

	worker->size = size;
	worker->count = count;
	for (n = 0; n < count && !ret; n++) {
		ret = pagoda_create_private(fd, worker->client.vm.vm, size, CPU, supported,
					    &worker->handles[n]);
		if (!ret)
			ret = pagoda_bind_map(fd, worker->client.vm.vm, worker->handles[n],
					      client_data(&worker->client, n), 0, size);
	}
	if (!ret)
		ret = pagoda_create_private(fd, worker->client.vm.vm, 4096, CPU | CACHED,
					    PAGODA_IN_APERTURE, &worker->sums);
	if (!ret)
		ret = pagoda_bind_map(fd, worker->client.vm.vm, worker->sums,
				      worker_sums(worker), 0, 4096);
	if (ret)
		return ret;
	worker->results = pagoda_map(fd, worker->sums, 4096);
	return worker->results ? 0 : -errno;
}

/*
 * Has the GPU sum up the words of each allocation, which must all be the old value, and then fill
 * the allocation with a new one. Returns 0 or a negative errno.
 */
static int worker_round(struct worker *worker, uint32_t base)
{
	uint64_t words = worker->size / 4;
	uint32_t n, old[MOST];
	int ret = 0;

	memcpy(old, worker->values, sizeof(old));
	client_rewind(&worker->client);
	for (n = 0; n < worker->count && !ret; n++) {
		uint64_t at = client_data(&worker->client, n);

		pagoda_reduce(&worker->client.program, VIRTIO_PAGODA_REDUCE_SUM, words, at,
			      worker_sums(worker) + 8 * n, 0);
		worker->values[n] = base + n + 1;
		pagoda_fill_words(&worker->client.program, at, worker->size, worker->values[n]);
		/* Each allocation has a job of its own, so that no job exceeds its time limit. */
		ret = client_submit(&worker->client, NULL, 0);
	}
	if (!ret)
		ret = client_wait(&worker->client);
	for (n = 0; n < worker->count && !ret; n++)
		if (worker->results[n] != words * old[n])
			ret = -EILSEQ;
	return ret;
}

/*
 * Checks all words with the CPU, which accesses the allocations only here. Returns 0 or a negative
 * errno.
 */
static int worker_check(struct worker *worker)
{
	uint32_t n;

	for (n = 0; n < worker->count; n++) {
		uint64_t wide = (uint64_t)worker->values[n] << 32 | worker->values[n], at;
		const uint64_t *map = pagoda_map(worker->client.fd, worker->handles[n],
						 worker->size);

		if (!map)
			return -errno;
		for (at = 0; at < worker->size / 8 && map[at] == wide; at++)
			;
		munmap((void *)map, worker->size);
		if (at < worker->size / 8)
			return -EILSEQ;
	}
	return 0;
}

static void *worker_run(void *data)
{
	struct worker *worker = data;
	int64_t end = pagoda_now() + WORK_LIMIT;
	uint32_t round;

	for (round = 1; round <= ROUNDS && !worker->ret; round++) {
		if (round > 2 && pagoda_now() > end)
			break;
		worker->ret = worker_round(worker, round << 8);
	}
	return NULL;
}

static void worker_close(struct worker *worker)
{
	uint32_t n;

	munmap(worker->results, 4096);
	for (n = 0; n < worker->count; n++)
		pagoda_close(worker->client.fd, worker->handles[n]);
	pagoda_close(worker->client.fd, worker->sums);
	client_close(&worker->client);
}

/*
 * Maps the first page of @handle at @count addresses so far apart that each needs a page table of
 * its own.
 */
static int bind_far(struct client *client, uint32_t handle, uint32_t count)
{
	/* All addresses are within reach of page tables of two levels. */
	uint64_t step = 128 * PAGODA_MIB, at = client_data(client, MOST) + step;
	uint32_t n;
	int ret = 0;

	for (n = 0; n < count && !ret; n++)
		ret = pagoda_bind_map(client->fd, client->vm.vm, handle, at + n * step, 0, 4096);
	return ret;
}

/*
 * One VM whose allocations exceed VRAM together: as they are supported in the aperture, too, they
 * leave VRAM for others and for page tables, so that all jobs are executed.
 */
TEST_F(over, one_vm)
{
	struct worker worker = {};
	uint32_t shown, both = PAGODA_IN_VRAM | PAGODA_IN_APERTURE;

	ASSERT_EQ(0, worker_open(&worker, self->fd, 0, self->size, 16 * variant->percent / 100,
				 both));
	ASSERT_EQ(0, pagoda_create(self->fd, 4096, 0, PAGODA_IN_APERTURE, &shown));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, shown));
	ASSERT_EQ(0, worker_round(&worker, 1 << 20));
	EXPECT_EQ(0, bind_far(&worker.client, shown, 100));
	worker_run(&worker);
	EXPECT_EQ(0, worker.ret);
	EXPECT_EQ(0, worker_check(&worker));
	worker_close(&worker);
}

/* Returns the context's state, or a negative errno. */
static int context_is(const struct client *client)
{
	struct drm_pagoda_context_state state;
	int ret = pagoda_context_state(client->fd, client->context, &state);

	return ret ? ret : (int)state.state;
}

/*
 * Runs an empty job. Returns 0 if the job was executed, or the errno of the refusal. With
 * test_defers_jobs(), a job that can't be prepared bans its context: then returns -ENOMEM, and
 * @client has a new context.
 */
static int job_refused(struct client *client)
{
	struct drm_pagoda_context_create context = { .vm = client->vm.vm };
	int ret = client_run(client, NULL, 0);

	if (ret || !test_defers_jobs())
		return ret;
	ret = context_is(client);
	if (ret != DRM_PAGODA_CONTEXT_BANNED)
		return ret;
	ret = pagoda_context_destroy(client->fd, client->context);
	if (!ret)
		ret = pagoda_ioctl(client->fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &context);
	client->context = context.context;
	return ret ? ret : -ENOMEM;
}

/*
 * One VM whose allocations, supported in VRAM only, exceed VRAM together: jobs are refused, which
 * bans no context without test_defers_jobs(), and VM_BINDs aren't refused.
 */
TEST_F(over, one_vm_of_vram_only)
{
	struct worker worker = {};
	uint32_t count = 16 * variant->percent / 100, shown, n;

	ASSERT_EQ(0, worker_open(&worker, self->fd, 0, self->size, count, PAGODA_IN_VRAM));
	ASSERT_EQ(0, pagoda_create(self->fd, 4096, 0, PAGODA_IN_APERTURE, &shown));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, shown));
	EXPECT_REFUSED(ENOMEM, job_refused(&worker.client));
	EXPECT_EQ(0, bind_far(&worker.client, shown, 100));
	EXPECT_EQ(0, context_is(&worker.client));
	/* The allocations that are left fill three quarters of VRAM: jobs are executed. */
	for (n = 12; n < count; n++)
		ASSERT_EQ(0, pagoda_close(self->fd, worker.handles[n]));
	worker.count = 12;
	ASSERT_EQ(0, pagoda_bind_map(self->fd, worker.client.vm.vm, worker.sums,
				     worker_sums(&worker), 0, 4096));
	EXPECT_EQ(0, worker_round(&worker, 256));
	EXPECT_EQ(0, worker_round(&worker, 512));
	EXPECT_EQ(0, worker_check(&worker));
	worker_close(&worker);
}

/* Each VM fits into VRAM, but all together don't: jobs of a VM evict allocations of other VMs. */
TEST_F(over, many_vms)
{
	uint32_t vms = variant->percent > 200 ? MOST_CLIENTS : MOST_CLIENTS / 2, n;
	uint32_t each = 16 * variant->percent / 100 / vms;
	struct worker workers[MOST_CLIENTS] = {};

	for (n = 0; n < vms; n++)
		ASSERT_EQ(0, worker_open(&workers[n], self->fd, n % self->dev.info.num_engines,
					 self->size, each, PAGODA_IN_VRAM));
	for (n = 0; n < vms; n++)
		ASSERT_EQ(0, pthread_create(&workers[n].thread, NULL, worker_run, &workers[n]));
	for (n = 0; n < vms; n++) {
		pthread_join(workers[n].thread, NULL);
		EXPECT_EQ(0, workers[n].ret);
	}
	for (n = 0; n < vms; n++) {
		EXPECT_EQ(0, worker_check(&workers[n]));
		worker_close(&workers[n]);
	}
}

/* --- allocations that several VMs share ------------------------------------------------------ */

#define SHARERS		3u

/*
 * A thread's VM, in which all shared allocations are bound. Each of the thread's jobs fills part
 * @number of three of these allocations; @values[n]: word of that part of allocation n
 */
struct sharer {
	pthread_t thread;
	struct client client;
	uint32_t number;
	const uint32_t *handles;
	uint32_t count;
	uint64_t size;
	uint32_t values[MOST];
	uint64_t random;
	int ret;
};

static uint64_t sharer_part(const struct sharer *sharer)
{
	return sharer->size / SHARERS / 8 * 8;
}

static int sharer_open(struct sharer *sharer, int fd, uint32_t engine)
{
	uint32_t n;
	int ret = client_open(&sharer->client, fd, engine);

	for (n = 0; n < sharer->count && !ret; n++)
		ret = pagoda_bind_map(fd, sharer->client.vm.vm, sharer->handles[n],
				      client_data(&sharer->client, n), 0, sharer->size);
	return ret;
}

static int sharer_job(struct sharer *sharer, uint32_t job)
{
	uint32_t first = pagoda_random(&sharer->random) % (sharer->count - 2), n;
	uint64_t part = sharer_part(sharer);

	for (n = first; n < first + 3; n++) {
		sharer->values[n] = job << 8 | sharer->number << 4 | 1;
		pagoda_fill_words(&sharer->client.program,
				  client_data(&sharer->client, n) + sharer->number * part, part,
				  sharer->values[n]);
	}
	return client_submit(&sharer->client, sharer->handles + first, 3);
}

static void *sharer_run(void *data)
{
	struct sharer *sharer = data;
	int64_t end = pagoda_now() + WORK_LIMIT;
	uint32_t job;

	for (job = 0; job < 60 && !sharer->ret && (job < 6 || pagoda_now() < end); job++)
		sharer->ret = sharer_job(sharer, job);
	if (!sharer->ret)
		sharer->ret = client_wait(&sharer->client);
	return NULL;
}

static bool all_words_are(const uint32_t *map, uint64_t size, uint32_t value)
{
	uint64_t n;

	for (n = 0; n < size / 4; n++)
		if (map[n] != value)
			return false;
	return true;
}

TEST_F(over, shared)
{
	uint32_t handles[MOST], count = 16 * variant->percent / 100, n, i;
	struct sharer sharers[SHARERS] = {};

	for (n = 0; n < count; n++)
		ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &handles[n]));
	for (i = 0; i < SHARERS; i++) {
		sharers[i] = (struct sharer) {
			.number = i, .handles = handles, .count = count, .size = self->size,
			.random = i,
		};
		ASSERT_EQ(0, sharer_open(&sharers[i], self->fd, i % self->dev.info.num_engines));
	}
	for (i = 0; i < SHARERS; i++)
		ASSERT_EQ(0, pthread_create(&sharers[i].thread, NULL, sharer_run, &sharers[i]));
	for (i = 0; i < SHARERS; i++) {
		pthread_join(sharers[i].thread, NULL);
		EXPECT_EQ(0, sharers[i].ret);
	}
	for (n = 0; n < count; n++) {
		uint8_t *map = pagoda_map(self->fd, handles[n], self->size);
		uint64_t part = sharer_part(&sharers[0]);

		ASSERT_NE(NULL, map);
		for (i = 0; i < SHARERS; i++)
			EXPECT_TRUE(all_words_are((void *)(map + i * part), part,
						  sharers[i].values[n]));
		munmap(map, self->size);
	}
	for (i = 0; i < SHARERS; i++)
		client_close(&sharers[i].client);
}

TEST_HARNESS_MAIN
