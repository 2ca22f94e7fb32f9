// SPDX-License-Identifier: GPL-2.0
/*
 * SUBMIT: the GPU executes programs through the page tables of their VM, also if their allocations
 * are evicted after SUBMIT; jobs wait for points, and keep allocations whose handles are closed.
 */
#include <pthread.h>

#include "lib/submit_fixture.h"

#define SEED		1401

/* --- what programs do ------------------------------------------------------------------------- */

TEST_F(submit, stores_anywhere)
{
	static const struct {
		uint32_t flags;
		uint32_t supported;
	} kinds[] = {
		{ CPU, PAGODA_IN_VRAM },
		{ CPU | CACHED, PAGODA_IN_VRAM },
		{ CPU, PAGODA_IN_APERTURE },
		{ CPU | CACHED, PAGODA_IN_APERTURE },
		{ CPU, PAGODA_IN_VRAM | PAGODA_IN_APERTURE },
	};
	uint64_t size = 16 * self->dev.page, n, round;
	uint32_t handle, i;
	uint64_t *map;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		uint64_t at = client_data(&self->client, i);

		ASSERT_EQ(0, pagoda_create(self->fd, size, kinds[i].flags, kinds[i].supported,
					   &handle));
		ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, handle, at, 0, size));
		map = pagoda_map(self->fd, handle, size);
		ASSERT_NE(NULL, map);
		for (round = 0; round < 3; round++) {
			/* The GPU finds what the CPU stored, and the CPU what the GPU stored. */
			for (n = 0; n < 16; n++)
				map[n * 512 + round] = 1000 * i + n;
			for (n = 0; n < 16; n++) {
				pagoda_compare(&self->client.program, at + n * 4096 + round * 8,
					       1000 * i + n);
				pagoda_store(&self->client.program, at + n * 4096 + 1024,
					     (round << 32) + n);
			}
			ASSERT_EQ(0, client_run(&self->client, &handle, 1));
			for (n = 0; n < 16; n++)
				EXPECT_EQ((round << 32) + n, map[n * 512 + 128]);
			client_rewind(&self->client);
			if (round)
				ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
		}
		munmap(map, size);
		ASSERT_EQ(0, pagoda_close(self->fd, handle));
	}
}

/*
 * A model for random programs: @words are what each region must contain after all commands appended
 * so far. Now and then the test evicts a region's allocation while jobs use it.
 */
#define REGIONS		6
#define REGION_WORDS	(16 * 1024)
#define REGION_BYTES	(REGION_WORDS * 4ull)

struct model {
	uint32_t *words[REGIONS];
	uint32_t *maps[REGIONS];
	uint32_t handles[REGIONS];
};

static uint64_t model_address(const struct client *client, uint32_t region, uint32_t word)
{
	return client_data(client, region) + 4ull * word;
}

static void model_step(struct model *model, struct client *client, uint64_t *random)
{
	struct pagoda_program *program = &client->program;
	uint32_t a = pagoda_random(random) % REGIONS, b = pagoda_random(random) % REGIONS;
	uint32_t count = 1 + pagoda_random(random) % 3000, n;
	uint32_t i = pagoda_random(random) % (REGION_WORDS - count);
	uint32_t j = pagoda_random(random) % (REGION_WORDS - count);
	uint32_t value = pagoda_random(random);
	uint64_t wide;

	switch (pagoda_random(random) % 6) {
	case 0:
		pagoda_fill_words(program, model_address(client, a, i), 4 * count, value);
		for (n = 0; n < count; n++)
			model->words[a][i + n] = value;
		break;
	case 1:
		if (a == b)
			break;
		pagoda_copy(program, model_address(client, a, i), model_address(client, b, j),
			    4 * count);
		memcpy(&model->words[b][j], &model->words[a][i], 4 * count);
		break;
	case 2:
		i &= ~1u;
		pagoda_store(program, model_address(client, a, i), value * 3ull << 7);
		wide = value * 3ull << 7;
		memcpy(&model->words[a][i], &wide, 8);
		break;
	case 3:
		i &= ~1u;
		j &= ~1u;
		if (a == b)
			break;
		pagoda_add(program, model_address(client, a, i), value,
			   model_address(client, b, j));
		memcpy(&wide, &model->words[a][i], 8);
		memcpy(&model->words[b][j], &wide, 8);
		wide += value;
		memcpy(&model->words[a][i], &wide, 8);
		break;
	case 4:
		pagoda_compute(program, VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD, count,
			       model_address(client, a, i), model_address(client, a, i),
			       model_address(client, a, i), model_address(client, a, i));
		for (n = 0; n < count; n++)
			model->words[a][i + n] = model->words[a][i + n] * model->words[a][i + n] +
						 model->words[a][i + n];
		break;
	case 5:
		j &= ~1u;
		if (a == b)
			break;
		pagoda_reduce(program, VIRTIO_PAGODA_REDUCE_SUM, count,
			      model_address(client, a, i), model_address(client, b, j), value);
		wide = value;
		for (n = 0; n < count; n++)
			wide += model->words[a][i + n];
		memcpy(&model->words[b][j], &wide, 8);
		break;
	}
}

TEST_F(submit, random_programs)
{
	uint64_t random = SEED;
	struct model model;
	uint32_t r, job, n;

	printf("# seed %u\n", SEED);
	for (r = 0; r < REGIONS; r++) {
		uint32_t supported = r % 3 == 0 ? PAGODA_IN_VRAM : r % 3 == 1 ?
				     PAGODA_IN_APERTURE : PAGODA_IN_VRAM | PAGODA_IN_APERTURE;

		model.words[r] = calloc(REGION_WORDS, 4);
		ASSERT_NE(NULL, model.words[r]);
		/* Each job lists the first three allocations; the others are private. */
		ASSERT_EQ(0, pagoda_create_private(self->fd, r < 3 ? 0 : self->client.vm.vm,
						   REGION_BYTES, CPU, supported,
						   &model.handles[r]));
		ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, model.handles[r],
					     client_data(&self->client, r), 0, REGION_BYTES));
		model.maps[r] = pagoda_map(self->fd, model.handles[r], REGION_BYTES);
		ASSERT_NE(NULL, model.maps[r]);
	}
	for (job = 0; job < 120; job++) {
		for (n = pagoda_random(&random) % 12; n; n--)
			model_step(&model, &self->client, &random);
		ASSERT_EQ(0, client_submit(&self->client, model.handles, 3));
		r = pagoda_random(&random) % REGIONS;
		if (job % 4 == 3)
			ASSERT_EQ(0, pagoda_evict(self->fd, &model.handles[r], 1, 0, 0));
		if (job % 10 != 9)
			continue;
		ASSERT_EQ(0, client_wait(&self->client));
		client_rewind(&self->client);
		for (r = 0; r < REGIONS; r++)
			ASSERT_EQ(0, memcmp(model.maps[r], model.words[r], REGION_BYTES));
	}
	for (r = 0; r < REGIONS; r++) {
		munmap(model.maps[r], REGION_BYTES);
		free(model.words[r]);
	}
}

/*
 * Runs jobs with allocations of @percent of VRAM together. Each job lists two of them, which come
 * to VRAM for the job; the job compares their last words and changes that of the first.
 */
static void overcommit(struct __test_metadata *_metadata, struct client *client,
		       const struct test_device *dev, uint32_t percent)
{
	uint64_t size = dev->vram.size / 16, random = SEED + percent;
	uint32_t count = 16 * percent / 100, handles[64], n, job;
	uint64_t values[64] = {}, *map;

	ASSERT_GE(64, count);
	for (n = 0; n < count; n++) {
		ASSERT_EQ(0, pagoda_create_vram(client->fd, size, &handles[n]));
		ASSERT_EQ(0, pagoda_bind_map(client->fd, client->vm.vm, handles[n],
					     client_data(client, n), 0, size));
	}
	for (job = 0; job < 6 * count; job++) {
		uint32_t pair[2];

		n = pagoda_random(&random) % (count - 1);
		pair[0] = handles[n];
		pair[1] = handles[n + 1];
		pagoda_compare(&client->program, client_data(client, n) + size - 8, values[n]);
		pagoda_compare(&client->program, client_data(client, n + 1) + size - 8,
			       values[n + 1]);
		values[n] = pagoda_random(&random);
		pagoda_store(&client->program, client_data(client, n) + size - 8, values[n]);
		ASSERT_EQ(0, client_submit(client, pair, 2));
	}
	ASSERT_EQ(0, client_wait(client));
	for (n = 0; n < count; n++) {
		map = pagoda_map(client->fd, handles[n], size);
		ASSERT_NE(NULL, map);
		EXPECT_EQ(values[n], map[size / 8 - 1]);
		munmap(map, size);
		ASSERT_EQ(0, pagoda_close(client->fd, handles[n]));
	}
	client_rewind(client);
}

TEST_F(submit, overcommit)
{
	struct drm_pagoda_context_state state;

	overcommit(_metadata, &self->client, &self->dev, 150);
	overcommit(_metadata, &self->client, &self->dev, 300);
	ASSERT_EQ(0, pagoda_context_state(self->fd, self->client.context, &state));
	EXPECT_EQ(0, state.state);
	EXPECT_EQ(state.submitted, state.completed);
}

/*
 * An allocation as large as VRAM, which is supported nowhere else, leaves no room in VRAM but the
 * reserve for the page tables that map it.
 */
TEST_F(submit, all_of_vram_at_once)
{
	uint64_t size = self->dev.vram.size, at = client_data(&self->client, 0);
	const uint64_t offsets[] = { 0, size / 2, size - 8 };
	struct drm_pagoda_segment_info info;
	uint32_t handle, round, n;

	EXPECT_LT(0, self->dev.vram.reserve_size);
	ASSERT_EQ(0, pagoda_create_private(self->fd, self->client.vm.vm, size, 0, PAGODA_IN_VRAM,
					   &handle));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, handle, at, 0, size));
	for (round = 0; round < 3; round++) {
		for (n = 0; n < 3; n++) {
			pagoda_compare(&self->client.program, at + offsets[n],
				       round ? round * 8 + n : 0);
			pagoda_store(&self->client.program, at + offsets[n], round * 8 + 8 + n);
		}
		ASSERT_EQ(0, client_run(&self->client, NULL, 0));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, handle));
	}
	ASSERT_EQ(0, pagoda_segment(self->fd, DRM_PAGODA_SEGMENT_VRAM, &info));
	EXPECT_EQ(size, info.size);
	EXPECT_EQ(size, info.usage);
	EXPECT_EQ(0, info.largest_free);
	EXPECT_GE(info.reserve_size, info.reserve_usage);
	ASSERT_EQ(0, pagoda_close(self->fd, handle));
}

TEST_F(submit, thousands)
{
	uint64_t at = client_data(&self->client, 0), *map;
	int64_t end = pagoda_now() + 20 * PAGODA_SEC;
	uint32_t handle, n, full = 0;
	int ret;

	ASSERT_EQ(0, pagoda_create_private(self->fd, self->client.vm.vm, self->dev.page, CPU,
					   PAGODA_IN_VRAM, &handle));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, handle, at, 0, self->dev.page));
	map = pagoda_map(self->fd, handle, self->dev.page);
	ASSERT_NE(NULL, map);
	pagoda_add(&self->client.program, at, 1, 0);
	/* More jobs than rings have room for: 5000, on slow machines 1000 or what 20 s allow. */
	for (n = 0; n < 5000 && (n < 1000 || pagoda_now() < end); n++) {
		self->client.start = 0;
		ret = client_submit(&self->client, NULL, 0);
		if (ret != -EBUSY) {
			ASSERT_EQ(0, ret);
			continue;
		}
		/* As many jobs are queued as may be: wait for all of them. */
		self->client.point--;
		ASSERT_EQ(0, client_wait(&self->client));
		n--;
		full++;
	}
	ASSERT_EQ(0, client_wait(&self->client));
	EXPECT_EQ(n, map[0]);
	EXPECT_LE(full, n / (DRM_PAGODA_MAX_QUEUED_JOBS / 2));
	munmap(map, self->dev.page);
}

/* --- waiting ---------------------------------------------------------------------------------- */

/*
 * Submits the commands appended since the last job as a job that waits for @point of @in. The
 * caller sets the entries in @args. Returns 0 or a negative errno.
 */
static int submit_waiting_args(struct client *client, uint32_t in, uint64_t point,
			       struct drm_pagoda_submit *args)
{
	struct drm_pagoda_sync syncs[2] = {
		{ .handle = in, .point = point },
		{ client->syncobj, DRM_PAGODA_SYNC_SIGNAL, client->point + 1 },
	};
	struct drm_pagoda_command_buffer buffer = {
		client->program.address + client->start, client->program.used - client->start,
	};
	int ret;

	args->buffers = (struct drm_pagoda_array) {
		(uintptr_t)&buffer, buffer.size ? 1 : 0, sizeof(buffer)
	};
	args->syncs = (struct drm_pagoda_array) { (uintptr_t)syncs, 2, sizeof(*syncs) };
	args->context = client->context;
	ret = pagoda_submit_args(client->fd, args);
	if (ret)
		return ret;
	client->point++;
	client->start = client->program.used;
	return 0;
}

static int submit_waiting(struct client *client, uint32_t in, uint64_t point)
{
	struct drm_pagoda_submit args = {};

	return submit_waiting_args(client, in, point, &args);
}

TEST_F(submit, points_that_come_late)
{
	uint64_t at = client_data(&self->client, 0), *map;
	uint32_t in, handle;

	ASSERT_EQ(0, pagoda_create_private(self->fd, self->client.vm.vm, self->dev.page, CPU,
					   PAGODA_IN_VRAM, &handle));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, handle, at, 0, self->dev.page));
	map = pagoda_map(self->fd, handle, self->dev.page);
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &in));
	pagoda_store(&self->client.program, at, 1);
	ASSERT_EQ(0, submit_waiting(&self->client, in, 7));
	pagoda_compare(&self->client.program, at, 1);
	pagoda_store(&self->client.program, at, 2);
	ASSERT_EQ(0, client_submit(&self->client, NULL, 0));
	EXPECT_EQ(-ETIME, pagoda_syncobj_wait(self->fd, self->client.syncobj, self->client.point,
					      PAGODA_SEC / 5));
	EXPECT_EQ(0, map[0]);
	ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, 6));
	EXPECT_EQ(-ETIME, pagoda_syncobj_wait(self->fd, self->client.syncobj, self->client.point,
					      PAGODA_SEC / 5));
	ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, 7));
	ASSERT_EQ(0, client_wait(&self->client));
	EXPECT_EQ(2, map[0]);
	munmap(map, self->dev.page);
}

/*
 * Jobs wait for a point that is never signalled: their context can be destroyed, and their
 * process killed.
 */
TEST_F(submit, points_that_never_come)
{
	int status, waiting;
	uint32_t in, n;
	pid_t pid;

	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &in));
	for (n = 0; n < DRM_PAGODA_MAX_WAITING_JOBS; n++)
		ASSERT_EQ(0, submit_waiting(&self->client, in, 1));
	EXPECT_REFUSED(EBUSY, pagoda_vm_destroy(self->fd, self->client.vm.vm));
	ASSERT_EQ(0, pagoda_context_destroy(self->fd, self->client.context));
	EXPECT_EQ(0, client_wait(&self->client));

	pid = test_fork(&waiting);
	ASSERT_LE(0, pid);
	if (!pid) {
		struct client child;
		int fd = pagoda_open();

		if (fd < 0 || client_open(&child, fd, 0) || pagoda_syncobj_create(fd, &in))
			_exit(1);
		for (n = 0; n < 100; n++)
			if (submit_waiting(&child, in, 1))
				_exit(1);
		test_say(waiting);
		pause();
	}
	EXPECT_TRUE(test_heard(waiting));
	close(waiting);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
}

/*
 * A job with an IMPLICIT entry that isn't private must have its fence when SUBMIT returns, because
 * other users of the allocation wait for the fence: such a job is refused if it would be held up,
 * by a point or a value or behind another job that is held up.
 */
TEST_F(submit, implicit_sync_is_never_held_up)
{
	struct drm_pagoda_submit_entry entry = {
		.flags = DRM_PAGODA_SUBMIT_IMPLICIT | DRM_PAGODA_SUBMIT_WRITE,
	};
	struct drm_pagoda_submit args = { .entries = { (uintptr_t)&entry, 1, sizeof(entry) } };
	struct drm_pagoda_sync sync = { .flags = DRM_PAGODA_SYNC_FENCE, .point = 1 };
	struct drm_pagoda_submit fenced = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		.syncs = { (uintptr_t)&sync, 1, sizeof(sync) },
		.context = self->client.context,
	};
	uint32_t in, private, shared, n;

	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &in));
	ASSERT_EQ(0, pagoda_fence_create(self->fd, 0, &sync.handle, NULL));
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.page, &shared));
	ASSERT_EQ(0, pagoda_create_private(self->fd, self->client.vm.vm, self->dev.page, 0,
					   PAGODA_IN_VRAM, &private));
	entry.handle = shared;
	EXPECT_REFUSED(EINVAL, submit_waiting_args(&self->client, in, 1, &args));
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &fenced));
	entry.flags = DRM_PAGODA_SUBMIT_IMPLICIT;
	EXPECT_REFUSED(EINVAL, submit_waiting_args(&self->client, in, 1, &args));
	/* A job whose IMPLICIT entry is private may wait, and so may a job without IMPLICIT. */
	entry.handle = private;
	ASSERT_EQ(0, submit_waiting_args(&self->client, in, 1, &args));
	entry.handle = shared;
	entry.flags = 0;
	ASSERT_EQ(0, submit_waiting_args(&self->client, in, 1, &args));
	/* A job that waits for nothing itself is refused, too, while the job before it waits. */
	entry.flags = DRM_PAGODA_SUBMIT_IMPLICIT;
	fenced.syncs.count = 0;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &fenced));
	for (n = 1; n < 50; n++) {
		/* The job before is held up only until the point that it waits for is signalled. */
		ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, n));
		ASSERT_EQ(0, pagoda_submit_args(self->fd, &fenced));
		entry.flags = 0;
		ASSERT_EQ(0, submit_waiting_args(&self->client, in, n + 1, &args));
		entry.flags = DRM_PAGODA_SUBMIT_IMPLICIT;
		EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &fenced));
	}
	fenced.syncs.count = 1;
	ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, n));
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &fenced));
	ASSERT_EQ(0, pagoda_fence_signal(self->fd, sync.handle, 1));
	EXPECT_EQ(0, pagoda_submit_args(self->fd, &fenced));
	EXPECT_EQ(0, client_wait(&self->client));
}

/* An allocation that a job uses and whose handle is closed while the job waits or runs. */
struct named {
	uint32_t handle;
	uint64_t at;
	uint64_t *map;
};

static int named_create(struct client *client, uint32_t which, uint32_t vm, struct named *named)
{
	uint64_t size = 4096;
	int ret = pagoda_create_private(client->fd, vm, size, CPU, PAGODA_IN_VRAM, &named->handle);

	named->at = client_data(client, which);
	if (!ret)
		ret = pagoda_bind_map(client->fd, client->vm.vm, named->handle, named->at, 0,
				      size);
	if (ret)
		return ret;
	named->map = pagoda_map(client->fd, named->handle, size);
	return named->map ? 0 : -errno;
}

/*
 * Reserves the addresses at which the allocation was mapped, once the mapping is gone. Returns 0 or
 * a negative errno: -EEXIST if the mapping is still there after LIMIT.
 */
static int named_is_free(const struct client *client, const struct named *named)
{
	int64_t end = pagoda_now() + LIMIT;
	uint64_t at = named->at & ~(DRM_PAGODA_RESERVE_ALIGN - 1ull);
	int ret;

	do {
		ret = pagoda_bind_range(client->fd, client->vm.vm, DRM_PAGODA_BIND_RESERVE, at,
					DRM_PAGODA_RESERVE_ALIGN);
		usleep(1000);
	} while (ret == -EEXIST && pagoda_now() < end);
	return ret;
}

TEST_F(submit, jobs_hold_what_they_name)
{
	struct drm_pagoda_context_state state;
	uint32_t in, queue, timeline, round, n;
	struct named named[3];
	uint64_t value;

	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &in));
	ASSERT_EQ(0, pagoda_paging_queue_create(self->fd, 0, &queue, &timeline));
	for (round = 0; round < 2; round++) {
		struct drm_pagoda_submit_entry entry = {};
		struct drm_pagoda_submit args = {
			.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		};

		/* One private allocation, one that the job lists, one on the residency list. */
		for (n = 0; n < 3; n++)
			ASSERT_EQ(0, named_create(&self->client, 3 * round + n,
						  n ? 0 : self->client.vm.vm, &named[n]));
		ASSERT_EQ(0, pagoda_list_add(self->fd, queue, &named[2].handle, 1, 0, &value,
					     NULL));
		if (value)
			ASSERT_EQ(0, pagoda_syncobj_wait(self->fd, timeline, value, LIMIT));
		entry.handle = named[1].handle;
		/* In the second round the point of @in has signalled: the job needn't wait. */
		for (n = 0; n < 3; n++)
			pagoda_store(&self->client.program, named[n].at, 10 * round + n + 1);
		ASSERT_EQ(0, submit_waiting_args(&self->client, in, 1, &args));
		for (n = 0; n < 3; n++)
			ASSERT_EQ(0, pagoda_close(self->fd, named[n].handle));
		if (!round)
			ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, 1));
		EXPECT_EQ(0, client_wait(&self->client));
		ASSERT_EQ(0, pagoda_context_state(self->fd, self->client.context, &state));
		EXPECT_EQ(0, state.state);
		for (n = 0; n < 3; n++) {
			EXPECT_EQ(10 * round + n + 1, named[n].map[0]);
			/* After the job's end the allocation, which has no handle, is unmapped. */
			EXPECT_EQ(0, named_is_free(&self->client, &named[n]));
			munmap(named[n].map, 4096);
		}
	}
	ASSERT_EQ(0, pagoda_paging_queue_destroy(self->fd, queue));
}

/* --- processes and threads -------------------------------------------------------------------- */

TEST_F(submit, a_child_has_the_same_ids)
{
	pid_t pid;

	ASSERT_EQ(0, client_run(&self->client, NULL, 0));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(!!client_run(&self->client, NULL, 0));
	EXPECT_EQ(0, test_child_status(pid));
	self->client.point++;
	EXPECT_EQ(0, client_run(&self->client, NULL, 0));
}

struct worker {
	struct client client;
	uint32_t handle;
	uint64_t at;
	uint32_t jobs;
	int ret;
};

/*
 * Jobs of a worker, which evicts its allocation after every 16 of them: WORKER_JOBS, or on slow
 * machines as many as WORKER_LIMIT allows, but at least WORKER_FEWEST.
 */
#define WORKER_JOBS	200u
#define WORKER_FEWEST	48u
#define WORKER_LIMIT	(10 * PAGODA_SEC)

static void *worker_run(void *arg)
{
	struct worker *worker = arg;
	int64_t end = pagoda_now() + WORKER_LIMIT;
	uint32_t n;

	pagoda_add(&worker->client.program, worker->at, 1, 0);
	for (n = 0; n < WORKER_JOBS && !worker->ret; n++) {
		if (n >= WORKER_FEWEST && pagoda_now() > end)
			break;
		/* With few jobs queued, WORKER_LIMIT limits the time of their execution, too. */
		if (n >= WORKER_FEWEST && n % 16 == 0)
			worker->ret = pagoda_syncobj_wait(worker->client.fd, worker->client.syncobj,
							  worker->client.point - 32, LIMIT);
		if (worker->ret)
			break;
		worker->client.start = 0;
		worker->ret = client_submit(&worker->client, &worker->handle, 1);
		if (n % 16 == 15 && !worker->ret)
			worker->ret = pagoda_evict(worker->client.fd, &worker->handle, 1, 0, 0);
	}
	worker->jobs = n;
	if (!worker->ret)
		worker->ret = client_wait(&worker->client);
	return NULL;
}

TEST_F(submit, threads)
{
	struct worker workers[4] = {};
	pthread_t threads[4];
	uint64_t size = test_round_up(self->dev.vram.size / 3, PAGODA_MIB), *map;
	uint32_t n;

	for (n = 0; n < ARRAY_SIZE(workers); n++) {
		struct worker *worker = &workers[n];

		ASSERT_EQ(0, client_open(&worker->client, self->fd,
					 n % self->dev.info.num_engines));
		worker->at = client_data(&worker->client, 0);
		ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &worker->handle));
		ASSERT_EQ(0, pagoda_bind_map(self->fd, worker->client.vm.vm, worker->handle,
					     worker->at, 0, size));
	}
	for (n = 0; n < ARRAY_SIZE(workers); n++)
		ASSERT_EQ(0, pthread_create(&threads[n], NULL, worker_run, &workers[n]));
	for (n = 0; n < ARRAY_SIZE(workers); n++) {
		pthread_join(threads[n], NULL);
		EXPECT_EQ(0, workers[n].ret);
		map = pagoda_map(self->fd, workers[n].handle, size);
		ASSERT_NE(NULL, map);
		EXPECT_EQ(workers[n].jobs, map[0]);
		munmap(map, size);
		client_close(&workers[n].client);
	}
}

TEST_HARNESS_MAIN
