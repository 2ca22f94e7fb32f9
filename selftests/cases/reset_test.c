// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of the whole device: on request, by the device itself, or because an engine or the paging
 * queue can't be reset alone. Lost content is reported and reads as zeros, all other content is
 * right, fences get the values of lost jobs, and contexts whose jobs aren't guilty go on.
 */
#include "lib/pagoda_prime.h"
#include "lib/reset_fixture.h"

#define SEED		1951
#define VRAM_OR_NOT	(PAGODA_IN_VRAM | PAGODA_IN_APERTURE)

static uint32_t lost(int fd, uint32_t handle)
{
	struct drm_pagoda_allocation_info info;

	return pagoda_info(fd, handle, &info) ? ~0u : info.state;
}

static void log_fault(const struct client *client, uint32_t round)
{
	struct drm_pagoda_context_state state;

	pagoda_context_state(client->fd, client->context, &state);
	printf("# round %u, job %llu, reason %u, address data+%#llx\n", round, state.job,
	       state.reason, state.address - client_data(client, 0));
}

/* --- the whole device ------------------------------------------------------------------------- */

#define KINDS		6

/* Kinds of allocations: how they are created, whether they are resident, what a reset loses. */
static const struct kind {
	uint32_t flags;
	uint32_t supported;
	bool resident;
	bool lost;
} kinds[KINDS] = {
	{ CPU, PAGODA_IN_VRAM, true, true },
	{ CPU | DRM_PAGODA_ALLOCATION_CONTIGUOUS, PAGODA_IN_VRAM, true, true },
	{ CPU, PAGODA_IN_VRAM, false, false },
	{ CPU, PAGODA_IN_APERTURE, true, false },
	{ CPU | CACHED, PAGODA_IN_APERTURE, true, false },
	{ CPU | DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY, PAGODA_IN_APERTURE, true, false },
};

struct content {
	uint32_t handle[KINDS];
	uint8_t *map[KINDS];
	uint64_t size;
};

static uint64_t content_word(uint32_t kind, uint64_t offset)
{
	uint64_t word;

	pagoda_fill(&word, pagoda_key(SEED, kind, 0), offset, sizeof(word));
	return word;
}

/*
 * Creates an allocation of each kind, maps it at client_data() of its number, writes its content,
 * and makes it resident or evicts it. Returns 0 or a negative errno.
 */
static int content_create(struct client *client, struct content *content)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < KINDS && !ret; i++) {
		ret = pagoda_create(client->fd, content->size, kinds[i].flags, kinds[i].supported,
				    &content->handle[i]);
		if (!ret)
			ret = pagoda_bind_map(client->fd, client->vm.vm, content->handle[i],
					      client_data(client, i), 0, content->size);
		if (!ret)
			content->map[i] = pagoda_map(client->fd, content->handle[i], content->size);
		if (!ret && !content->map[i])
			ret = -errno;
		if (!ret)
			pagoda_fill(content->map[i], pagoda_key(SEED, i, 0), 0, content->size);
		if (!ret)
			ret = kinds[i].resident ?
			      pagoda_make_resident_wait(client->fd, content->handle[i]) :
			      pagoda_evict_wait(client->fd, content->handle[i]);
	}
	return ret;
}

static void content_destroy(struct client *client, struct content *content)
{
	uint32_t i;

	for (i = 0; i < KINDS; i++) {
		munmap(content->map[i], content->size);
		pagoda_close(client->fd, content->handle[i]);
	}
}

/*
 * Returns the offset of the first byte that the CPU finds wrong after a reset, or -1: lost content
 * must be zeros, other content unchanged.
 */
static int64_t content_look(const struct content *content, uint32_t kind)
{
	if (kinds[kind].lost)
		return pagoda_check_zero(content->map[kind], content->size);
	return pagoda_check(content->map[kind], pagoda_key(SEED, kind, 0), 0, content->size);
}

/*
 * Appends commands that compare the first and the last word of each allocation with the word that
 * must be there after a reset: a job that executes them faults if a word differs.
 */
static void content_compare(struct client *client, const struct content *content)
{
	uint64_t last = content->size - 8;
	uint32_t i;

	for (i = 0; i < KINDS; i++) {
		pagoda_compare(&client->program, client_data(client, i),
			       kinds[i].lost ? 0 : content_word(i, 0));
		pagoda_compare(&client->program, client_data(client, i) + last,
			       kinds[i].lost ? 0 : content_word(i, last));
	}
}

TEST_F(reset, content)
{
	struct content content = { .size = 33 * self->dev.page };
	uint64_t before = resets(&self->client), *word;
	uint32_t i, round;

	ASSERT_EQ(0, content_create(&self->client, &content));
	ASSERT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->fd, content.handle[2]));
	ASSERT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, content.handle[0]));
	ASSERT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, content.handle[1]));
	/* Zeros replace the content that the first reset lost; the second reset loses the zeros. */
	for (round = 0; round < 2; round++) {
		ASSERT_EQ(0, reset_device());
		EXPECT_EQ(before + round + 1, resets(&self->client));
		for (i = 0; i < KINDS; i++)
			EXPECT_EQ(kinds[i].lost ? DRM_PAGODA_CONTENT_LOST : 0,
				  lost(self->fd, content.handle[i]));
		PAGODA_PROVES(C194, C195);
		content_compare(&self->client, &content);
		ASSERT_EQ(0, run_anew(&self->client, content.handle, KINDS));
		ASSERT_EQ(0, flags_of(&self->client))
			log_fault(&self->client, round);
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, content.handle[2]));
	}
	for (i = 0; i < KINDS; i++)
		EXPECT_EQ(-1, content_look(&content, i));
	/* The other way round: the GPU stores to each allocation, and the CPU sees the words. */
	for (i = 0; i < KINDS; i++)
		pagoda_store(&self->client.program, client_data(&self->client, i) + 4096, i + 77);
	ASSERT_EQ(0, run_anew(&self->client, content.handle, KINDS));
	for (i = 0; i < KINDS; i++) {
		word = (uint64_t *)(content.map[i] + 4096);
		EXPECT_EQ(i + 77, *word);
	}
	content_destroy(&self->client, &content);
}

/* The device resets itself and tells the driver: content is lost as by a requested reset. */
TEST_F(reset, by_itself)
{
	struct content content = { .size = 5 * self->dev.page };
	uint64_t before = resets(&self->client);
	int64_t end = pagoda_now() + TEST_PATIENCE;
	uint32_t i;

	ASSERT_EQ(0, content_create(&self->client, &content));
	ASSERT_EQ(0, inject("action=reset"));
	while (resets(&self->client) == before && pagoda_now() < end)
		usleep(1000);
	EXPECT_EQ(before + 1, resets(&self->client));
	for (i = 0; i < KINDS; i++)
		EXPECT_EQ(kinds[i].lost ? DRM_PAGODA_CONTENT_LOST : 0,
			  lost(self->fd, content.handle[i]));
	content_compare(&self->client, &content);
	ASSERT_EQ(0, run_anew(&self->client, content.handle, KINDS));
	EXPECT_EQ(0, flags_of(&self->client));
	content_destroy(&self->client, &content);
}

/*
 * The device's thread of an engine's queue still sleeps after its answer to one reset of the device
 * when the next reset begins: the next reset gets the thread's answer all the same.
 */
TEST_F(reset, meets_the_reset_before)
{
	uint64_t before = resets(&self->client);

	ASSERT_EQ(0, inject("queue=exec0 action=late_reset us=300000"));
	ASSERT_EQ(0, reset_device());
	ASSERT_EQ(0, reset_device());
	ASSERT_EQ(0, inject("clear"));
	EXPECT_EQ(before + 2, resets(&self->client));
	ASSERT_EQ(0, run_anew(&self->client, NULL, 0));
	EXPECT_EQ(0, flags_of(&self->client));
}

/* Once a client has acknowledged the loss, content isn't reported as lost before the next reset. */
TEST_F(reset, lost_content_is_acknowledged)
{
	struct content content = { .size = 33 * self->dev.page };
	uint32_t i, round;

	ASSERT_EQ(0, content_create(&self->client, &content));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, reset_device());
		for (i = 0; i < KINDS; i++) {
			const int was = kinds[i].lost ? -EIO : 0;

			EXPECT_EQ(was, pagoda_wait(self->fd, content.handle[i], LIMIT));
			EXPECT_EQ(was, pagoda_acknowledge(self->fd, content.handle[i], LIMIT));
			EXPECT_EQ(0, pagoda_acknowledge(self->fd, content.handle[i], LIMIT));
			EXPECT_EQ(0, lost(self->fd, content.handle[i]));
			if (was)
				pagoda_store(&self->client.program, client_data(&self->client, i),
					     round + 1);
		}
		ASSERT_EQ(0, run_anew(&self->client, content.handle, KINDS));
		for (i = 0; i < KINDS; i++) {
			EXPECT_EQ(0, pagoda_wait(self->fd, content.handle[i], LIMIT));
			EXPECT_EQ(0, lost(self->fd, content.handle[i]));
			if (kinds[i].lost) {
				EXPECT_EQ(round + 1, *(uint64_t *)content.map[i]);
				continue;
			}
			EXPECT_EQ(-1, content_look(&content, i));
		}
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, content.handle[2]));
		/* The CPU's reads may have moved the allocations out of VRAM. */
		for (i = 0; i < KINDS; i++)
			if (kinds[i].lost)
				ASSERT_EQ(0, pagoda_make_resident_wait(self->fd,
								       content.handle[i]));
	}
	content_destroy(&self->client, &content);
}

/* Eight VMs, each with a context: mappings from before a reset and new mappings work after it. */
TEST_F(reset, spaces)
{
	struct client clients[8];
	uint32_t handles[8], n, round;
	uint64_t size = 3 * self->dev.page;

	for (n = 0; n < 8; n++) {
		ASSERT_EQ(0, client_open(&clients[n], self->fd, n % self->dev.info.num_engines));
		ASSERT_EQ(0, pagoda_create_private(self->fd, clients[n].vm.vm, size, CPU,
						   n % 2 ? PAGODA_IN_VRAM : PAGODA_IN_APERTURE,
						   &handles[n]));
		ASSERT_EQ(0, pagoda_bind_map(self->fd, clients[n].vm.vm, handles[n],
					     client_data(&clients[n], n), 0, size));
		pagoda_store(&clients[n].program, client_data(&clients[n], n), 1);
		ASSERT_EQ(0, run_anew(&clients[n], NULL, 0));
	}
	for (round = 1; round < 4; round++) {
		ASSERT_EQ(0, reset_device());
		for (n = 0; n < 8; n++) {
			uint64_t at = client_data(&clients[n], n);

			pagoda_compare(&clients[n].program, at, n % 2 ? 0 : round);
			pagoda_store(&clients[n].program, at, round + 1);
			/* This range needs new page tables. */
			ASSERT_EQ(0, pagoda_bind_map(self->fd, clients[n].vm.vm, handles[n],
						     at + (round << 30), 0, size));
			pagoda_compare(&clients[n].program, at + (round << 30), round + 1);
			ASSERT_EQ(0, client_submit(&clients[n], NULL, 0));
		}
		for (n = 0; n < 8; n++) {
			ASSERT_EQ(0, client_wait(&clients[n]));
			EXPECT_EQ(0, flags_of(&clients[n]));
			client_rewind(&clients[n]);
		}
	}
	for (n = 0; n < 8; n++) {
		ASSERT_EQ(0, pagoda_close(self->fd, handles[n]));
		client_close(&clients[n]);
	}
}

/*
 * An imported allocation keeps its content, and jobs can use it again after a reset. If an exported
 * allocation loses its content, other clients with a handle are told of the loss and see zeros.
 */
TEST_F(reset, shared)
{
	uint64_t size = 5 * self->dev.page, *map, *seen, at[2];
	uint32_t imported, ours, theirs, n, round;
	struct client second;
	int dma_buf;

	at[0] = client_data(&self->client, 0);
	at[1] = client_data(&self->client, 1);
	dma_buf = udmabuf_create(size, &map);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, prime_import(self->fd, dma_buf, &imported));
	close(dma_buf);
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, imported, at[0], 0, size));
	ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &ours));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, ours, at[1], 0, size));
	dma_buf = prime_export(self->fd, ours);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, client_open(&second, self->other, 0));
	ASSERT_EQ(0, prime_import(self->other, dma_buf, &theirs));
	close(dma_buf);
	ASSERT_EQ(0, pagoda_bind_map(self->other, second.vm.vm, theirs, client_data(&second, 3), 0,
				     size));
	seen = pagoda_map(self->other, theirs, size);
	ASSERT_NE(NULL, seen);
	for (n = 0; n < size / 8; n++)
		map[n] = 5000 + n;
	for (round = 0; round < 3; round++) {
		uint32_t both[2] = { imported, ours };

		pagoda_store(&self->client.program, at[0] + size - 8, 100 + round);
		pagoda_store(&self->client.program, at[1] + 8, 200 + round);
		ASSERT_EQ(0, run_anew(&self->client, both, 2));
		ASSERT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, ours));
		ASSERT_EQ(0, reset_device());
		EXPECT_EQ(0, lost(self->fd, imported));
		EXPECT_EQ(DRM_PAGODA_CONTENT_LOST, lost(self->fd, ours));
		EXPECT_EQ(DRM_PAGODA_CONTENT_LOST, lost(self->other, theirs));
		pagoda_compare(&self->client.program, at[0], 5000);
		pagoda_compare(&self->client.program, at[0] + size - 8, 100 + round);
		pagoda_compare(&self->client.program, at[1] + 8, 0);
		ASSERT_EQ(0, run_anew(&self->client, both, 2));
		/* RESET is possible: paging of the shared allocations may have been under way. */
		EXPECT_EQ(0, flags_of(&self->client) & ~DRM_PAGODA_CONTEXT_RESET);
		EXPECT_EQ(100 + round, map[size / 8 - 1]);
		pagoda_compare(&second.program, client_data(&second, 3) + 8, 0);
		pagoda_store(&second.program, client_data(&second, 3) + 16, round);
		ASSERT_EQ(0, run_anew(&second, &theirs, 1));
		EXPECT_EQ(0, flags_of(&second) & ~DRM_PAGODA_CONTEXT_RESET);
		EXPECT_EQ(round, seen[2]);
	}
	munmap(seen, size);
	munmap(map, size);
	pagoda_close(self->other, theirs);
	client_close(&second);
}

struct watcher {
	pthread_t thread;
	const uint64_t *map;
	uint64_t words;
	uint64_t key;
	atomic_bool stop;
	atomic_uint looks;
	uint64_t garbage;
};

/*
 * Reads words until @stop is set. Each must be the word that the test wrote or, because a reset may
 * lose the content, zero; another value goes to @garbage.
 */
static void *watcher_run(void *arg)
{
	struct watcher *w = arg;
	uint64_t n, seen, want;

	while (!atomic_load(&w->stop)) {
		n = atomic_fetch_add(&w->looks, 1) * 61ull % w->words;
		seen = __atomic_load_n(&w->map[n], __ATOMIC_ACQUIRE);
		pagoda_fill(&want, w->key, 8 * n, sizeof(want));
		if (seen && seen != want)
			w->garbage = seen;
	}
	return NULL;
}

/* Waits until another thread has added @more to @count. */
static void wait_for_more(atomic_uint *count, uint32_t more)
{
	uint32_t before = atomic_load(count);

	while (atomic_load(count) - before < more)
		usleep(1000);
}

#define LOOKS		512

TEST_F(reset, cpu_looks)
{
	struct watcher watcher = { .words = PAGODA_MIB / 8, .key = pagoda_key(SEED, 99, 0) };
	uint32_t handle, round;
	uint8_t *map;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, PAGODA_MIB, &handle));
	map = pagoda_map(self->fd, handle, PAGODA_MIB);
	ASSERT_NE(NULL, map);
	watcher.map = (const uint64_t *)map;
	for (round = 0; round < 6; round++) {
		pagoda_fill(map, watcher.key, 0, PAGODA_MIB);
		ASSERT_EQ(0, pagoda_make_resident(self->fd, &handle, 1, 0, 0, NULL));
		atomic_store(&watcher.stop, false);
		ASSERT_EQ(0, pthread_create(&watcher.thread, NULL, watcher_run, &watcher));
		wait_for_more(&watcher.looks, LOOKS);
		EXPECT_EQ(0, reset_device());
		wait_for_more(&watcher.looks, LOOKS);
		atomic_store(&watcher.stop, true);
		pthread_join(watcher.thread, NULL);
		EXPECT_EQ(0, watcher.garbage);
	}
	munmap(map, PAGODA_MIB);
	pagoda_close(self->fd, handle);
}

static uint64_t value_of(const uint64_t *map)
{
	return __atomic_load_n(map, __ATOMIC_ACQUIRE);
}

TEST_F(reset, fences)
{
	const uint64_t *map[3], *begun;
	struct client hanging;
	uint32_t fence[3], in;

	ASSERT_EQ(0, client_open(&hanging, self->fd, 0));
	begun = (uint64_t *)(hanging.program.memory + CODE_SIZE) - 1;
	ASSERT_EQ(0, pagoda_fence_create(self->fd, 5, &fence[0], &map[0]));
	ASSERT_EQ(0, pagoda_fence_create(self->fd, 5, &fence[1], &map[1]));
	ASSERT_EQ(0, pagoda_fence_create(self->fd, 5, &fence[2], &map[2]));
	ASSERT_EQ(0, pagoda_fence_create_flags(self->fd, DRM_PAGODA_FENCE_NO_MAX_ON_RESET, 1,
					       &in));
	/*
	 * Before the reset fence[0] is signalled; the reset loses the job that is to signal
	 * fence[1], but not the job that is to signal fence[2], which still waits.
	 */
	ASSERT_EQ(0, submit_fences(&self->client, 0, 0, fence[0], 9));
	ASSERT_EQ(0, client_wait(&self->client));
	ASSERT_EQ(0, submit_fences(&self->client, in, 2, fence[2], 11));
	pagoda_store(&hanging.program, hanging.program.address + CODE_SIZE - 8, 1);
	pagoda_forever(&hanging.program, 0);
	ASSERT_EQ(0, submit_fences(&hanging, 0, 0, fence[1], 10));
	while (!value_of(begun))
		usleep(1000);
	ASSERT_EQ(0, reset_device());
	ASSERT_EQ(0, client_wait(&hanging));
	EXPECT_EQ(DRM_PAGODA_CONTEXT_RESET, flags_of(&hanging));
	EXPECT_EQ(0, flags_of(&self->client));
	EXPECT_EQ(9, value_of(map[0]));
	EXPECT_EQ(0, pagoda_fence_wait(self->fd, fence[1], 10, LIMIT));
	EXPECT_EQ(10, value_of(map[1]));
	EXPECT_EQ(5, value_of(map[2]));
	EXPECT_EQ(-ETIME, pagoda_fence_wait(self->fd, fence[2], 11, PAGODA_SEC / 10));
	/* The waiting job was never given to the device: the reset didn't lose it, and it runs. */
	ASSERT_EQ(0, pagoda_fence_signal(self->fd, in, 2));
	ASSERT_EQ(0, client_wait(&self->client));
	EXPECT_EQ(0, pagoda_fence_wait(self->fd, fence[2], 11, LIMIT));
	EXPECT_EQ(11, value_of(map[2]));
	/* The context and the fence whose job was lost can be used again. */
	client_rewind(&hanging);
	ASSERT_EQ(0, submit_fences(&hanging, 0, 0, fence[1], 12));
	ASSERT_EQ(0, client_wait(&hanging));
	EXPECT_EQ(0, pagoda_fence_wait(self->fd, fence[1], 12, LIMIT));
	EXPECT_EQ(12, value_of(map[1]));
	munmap((void *)map[0], self->dev.page);
	munmap((void *)map[1], self->dev.page);
	munmap((void *)map[2], self->dev.page);
	client_close(&hanging);
}

/* A reset stops programs that write memory without end, on all engines and for good. */
TEST_F(reset, stops_engines)
{
	uint32_t engines = self->dev.info.num_engines, handles[16], n;
	uint64_t *map[16], before[16], at;
	struct client busy[16];

	ASSERT_GE(16, engines);
	for (n = 0; n < engines; n++) {
		ASSERT_EQ(0, client_open(&busy[n], self->fd, n));
		at = client_data(&busy[n], 0);
		ASSERT_EQ(0, pagoda_create_private(self->fd, busy[n].vm.vm, self->dev.page,
						   CPU | CACHED, PAGODA_IN_APERTURE,
						   &handles[n]));
		ASSERT_EQ(0, pagoda_bind_map(self->fd, busy[n].vm.vm, handles[n], at, 0,
					     self->dev.page));
		map[n] = pagoda_map(self->fd, handles[n], self->dev.page);
		ASSERT_NE(NULL, map[n]);
		pagoda_add(&busy[n].program, at, 1, 0);
		pagoda_forever(&busy[n].program, 0);
		ASSERT_EQ(0, client_submit(&busy[n], NULL, 0));
	}
	for (n = 0; n < engines; n++)
		while (!value_of(map[n]))
			usleep(1000);
	ASSERT_EQ(0, reset_device());
	for (n = 0; n < engines; n++)
		before[n] = value_of(map[n]);
	usleep(50000);
	for (n = 0; n < engines; n++) {
		EXPECT_EQ(before[n], value_of(map[n]));
		ASSERT_EQ(0, client_wait(&busy[n]));
		EXPECT_EQ(DRM_PAGODA_CONTEXT_RESET, flags_of(&busy[n]));
		munmap(map[n], self->dev.page);
		ASSERT_EQ(0, pagoda_close(self->fd, handles[n]));
		client_close(&busy[n]);
	}
}

/* --- escalation ------------------------------------------------------------------------------- */

/* If an engine can't be reset, the whole device is, and only the guilty context is banned. */
TEST_F(reset, of_an_engine_fails)
{
	struct content content = { .size = 5 * self->dev.page };
	uint64_t before = resets(&self->client);
	uint32_t i;

	ASSERT_EQ(0, content_create(&self->client, &content));
	ASSERT_EQ(0, inject("queue=exec0 action=fail_reset"));
	EXPECT_PUNISHED(self->fd, 0, false, 0);
	ASSERT_EQ(0, inject("clear"));
	EXPECT_EQ(before + 1, resets(&self->client));
	/* SUBMIT waits until the device is rebuilt. */
	content_compare(&self->client, &content);
	ASSERT_EQ(0, run_anew(&self->client, content.handle, KINDS));
	EXPECT_EQ(0, flags_of(&self->client));
	for (i = 0; i < KINDS; i++)
		EXPECT_EQ(kinds[i].lost ? DRM_PAGODA_CONTENT_LOST : 0,
			  lost(self->fd, content.handle[i]));
	content_destroy(&self->client, &content);
}

/*
 * The paging queue hangs and can't be reset, so the whole device is: the content that was being
 * copied to VRAM is lost, and a context whose VM has the allocation mapped gets CONTEXT_RESET.
 */
TEST_F(reset, of_paging_fails)
{
	struct content content = { .size = 5 * self->dev.page };
	uint64_t before = resets(&self->client);
	uint32_t moving, i;
	struct client user;
	void *map;

	ASSERT_EQ(0, content_create(&self->client, &content));
	ASSERT_EQ(0, client_open(&user, self->fd, 0));
	ASSERT_EQ(0, pagoda_create_vram(self->fd, PAGODA_MIB, &moving));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, user.vm.vm, moving, client_data(&user, 0), 0,
				     PAGODA_MIB));
	map = pagoda_map(self->fd, moving, PAGODA_MIB);
	ASSERT_NE(NULL, map);
	pagoda_fill(map, SEED, 0, PAGODA_MIB);
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, moving));
	ASSERT_EQ(0, inject("queue=paging action=hang nth=1"));
	ASSERT_EQ(0, inject("queue=paging action=fail_reset"));
	ASSERT_EQ(-EIO, pagoda_make_resident_wait(self->fd, moving));
	ASSERT_EQ(0, inject("clear"));
	content_compare(&self->client, &content);
	ASSERT_EQ(0, run_anew(&self->client, content.handle, KINDS));
	EXPECT_EQ(before + 1, resets(&self->client));
	PAGODA_PROVES(C189);
	EXPECT_EQ(DRM_PAGODA_CONTENT_LOST, lost(self->fd, moving));
	EXPECT_EQ(-1, pagoda_check_zero(map, PAGODA_MIB));
	/* Whether @user's context is banned, too, depends on what else the hung submission had. */
	EXPECT_NE(0, flags_of(&user) & DRM_PAGODA_CONTEXT_RESET);
	EXPECT_EQ(0, flags_of(&self->client));
	for (i = 0; i < KINDS; i++)
		EXPECT_EQ(kinds[i].lost ? DRM_PAGODA_CONTENT_LOST : 0,
			  lost(self->fd, content.handle[i]));
	munmap(map, PAGODA_MIB);
	pagoda_close(self->fd, moving);
	client_close(&user);
	content_destroy(&self->client, &content);
}

/* --- while everything moves ------------------------------------------------------------------- */

#define MOVERS		3
#define EACH		8

/*
 * A thread whose client moves its allocations, looks at them and has jobs store to their first
 * page. The movers together have more than fits into VRAM.
 */
struct mover {
	pthread_t thread;
	struct client client;
	uint64_t random;
	uint64_t size;
	uint64_t page;
	uint32_t handle[EACH];
	uint8_t *map[EACH];
	uint64_t key[EACH];
	atomic_bool *stop;
	atomic_bool over;
	atomic_uint steps;
	int ret;
	const char *wrong;
};

static int mover_fill(struct mover *m, uint32_t n)
{
	int ret = pagoda_create(m->client.fd, m->size, CPU | CACHED,
				n % 2 ? VRAM_OR_NOT : PAGODA_IN_VRAM, &m->handle[n]);

	if (!ret)
		ret = pagoda_bind_map(m->client.fd, m->client.vm.vm, m->handle[n],
				      client_data(&m->client, n), 0, m->size);
	if (ret)
		return ret;
	m->map[n] = pagoda_map(m->client.fd, m->handle[n], m->size);
	if (!m->map[n])
		return -errno;
	pagoda_fill(m->map[n] + m->page, ++m->key[n], m->page, m->size - m->page);
	return 0;
}

static void mover_drop(struct mover *m, uint32_t n)
{
	munmap(m->map[n], m->size);
	pagoda_close(m->client.fd, m->handle[n]);
}

/* Reads a random word behind the first page: it must be the content's, or zero if that is lost. */
static void mover_look(struct mover *m, uint32_t n)
{
	uint64_t at = m->page + pagoda_random(&m->random) % (m->size / 8 - m->page / 8) * 8;
	uint64_t want, seen;

	seen = __atomic_load_n((uint64_t *)(m->map[n] + at), __ATOMIC_ACQUIRE);
	pagoda_fill(&want, m->key[n], at, sizeof(want));
	if (seen && seen != want)
		m->wrong = "the CPU saw garbage";
	if (!seen && lost(m->client.fd, m->handle[n]) != DRM_PAGODA_CONTENT_LOST)
		m->wrong = "the CPU saw zeros, and nothing was lost";
}

static void mover_step(struct mover *m)
{
	uint32_t n = pagoda_random(&m->random) % EACH;

	switch (pagoda_random(&m->random) % 8) {
	case 0:
		m->ret = pagoda_evict(m->client.fd, &m->handle[n], 1, 0, 0);
		break;
	case 1:
		m->ret = pagoda_make_resident(m->client.fd, &m->handle[n], 1, 0, 0, NULL);
		break;
	case 2:
		mover_look(m, n);
		break;
	default:
		pagoda_store(&m->client.program, client_data(&m->client, n), m->steps);
		m->ret = client_submit(&m->client, &m->handle[n], 1);
	}
	if (m->client.program.room - m->client.program.used < 64 && !m->ret) {
		m->ret = client_wait(&m->client);
		client_rewind(&m->client);
	}
}

static void *mover_run(void *arg)
{
	struct mover *m = arg;

	for (; !atomic_load(m->stop) && !m->ret && !m->wrong; atomic_fetch_add(&m->steps, 1))
		mover_step(m);
	atomic_store(&m->over, true);
	if (!m->ret)
		m->ret = client_wait(&m->client);
	client_rewind(&m->client);
	return NULL;
}

/* Waits until each mover has made @steps more steps, or is over. */
static void movers_await(struct mover *movers, uint32_t steps)
{
	uint32_t n, before[MOVERS];

	for (n = 0; n < MOVERS; n++)
		before[n] = atomic_load(&movers[n].steps);
	for (n = 0; n < MOVERS; n++)
		while (atomic_load(&movers[n].steps) - before[n] < steps &&
		       !atomic_load(&movers[n].over))
			usleep(1000);
}

/*
 * Checks behind the first page that allocations reported as lost are zeros and that all others have
 * their content. Replaces the lost ones; returns their number.
 */
static uint32_t mover_check(struct __test_metadata *_metadata, struct mover *m)
{
	uint64_t rest = m->size - m->page;
	uint32_t n, count = 0;

	for (n = 0; n < EACH; n++) {
		int ret = pagoda_wait(m->client.fd, m->handle[n], LIMIT);

		if (lost(m->client.fd, m->handle[n]) == DRM_PAGODA_CONTENT_LOST) {
			EXPECT_EQ(-EIO, ret);
			EXPECT_EQ(-1, pagoda_check_zero(m->map[n] + m->page, rest));
			mover_drop(m, n);
			ASSERT_EQ(0, mover_fill(m, n));
			count++;
		} else {
			EXPECT_EQ(0, ret);
			EXPECT_EQ(-1, pagoda_check(m->map[n] + m->page, m->key[n], m->page, rest));
		}
	}
	return count;
}

TEST_F(reset, while_evicting)
{
	struct content content = { .size = 7 * self->dev.page };
	uint32_t n, i, round, gone = 0;
	struct mover movers[MOVERS];
	atomic_bool stop;
	uint64_t random = SEED;

	printf("# seed %u\n", SEED);
	memset(movers, 0, sizeof(movers));
	/* No mover uses these allocations: those outside of VRAM never lose their content. */
	ASSERT_EQ(0, content_create(&self->client, &content));
	for (n = 0; n < MOVERS; n++) {
		struct mover *m = &movers[n];

		m->random = SEED + n;
		m->page = self->dev.page;
		m->size = test_round_up(self->dev.vram.size / 16, PAGODA_MIB);
		m->stop = &stop;
		ASSERT_EQ(0, client_open(&m->client, self->fd, n % self->dev.info.num_engines));
		for (i = 0; i < EACH; i++)
			ASSERT_EQ(0, mover_fill(m, i));
	}
	for (round = 0; round < 2; round++) {
		atomic_store(&stop, false);
		for (n = 0; n < MOVERS; n++) {
			atomic_store(&movers[n].over, false);
			ASSERT_EQ(0, pthread_create(&movers[n].thread, NULL, mover_run,
						    &movers[n]));
		}
		for (i = 0; i < 2; i++) {
			movers_await(movers, 8 + pagoda_random(&random) % 24);
			usleep(pagoda_random(&random) % 20000);
			EXPECT_EQ(0, reset_device());
		}
		movers_await(movers, 8);
		atomic_store(&stop, true);
		for (n = 0; n < MOVERS; n++)
			pthread_join(movers[n].thread, NULL);
		for (n = 0; n < MOVERS; n++) {
			EXPECT_EQ(0, movers[n].ret);
			EXPECT_EQ(NULL, movers[n].wrong)
				TH_LOG("%s", movers[n].wrong);
			EXPECT_EQ(0, flags_of(&movers[n].client) & DRM_PAGODA_CONTEXT_BANNED);
			gone += mover_check(_metadata, &movers[n]);
		}
	}
	EXPECT_LT(0, gone);
	for (i = 2; i < KINDS; i++) {
		EXPECT_EQ(0, lost(self->fd, content.handle[i]));
		EXPECT_EQ(-1, pagoda_check(content.map[i], pagoda_key(SEED, i, 0), 0,
					   content.size));
	}
	for (n = 0; n < MOVERS; n++) {
		for (i = 0; i < EACH; i++)
			mover_drop(&movers[n], i);
		client_close(&movers[n].client);
	}
	content_destroy(&self->client, &content);
}

TEST_HARNESS_MAIN
