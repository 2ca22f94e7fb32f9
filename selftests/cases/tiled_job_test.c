// SPDX-License-Identifier: GPL-2.0
/*
 * Tiled allocations that the CPU, in rows, and the GPU, in tiles, use in turn: each access finds
 * what was written last. A CPU access that waits for jobs ends when its process is killed, and a
 * page fault that waits holds up no other thread.
 */
#include <fcntl.h>
#include <sys/syscall.h>

#include "lib/submit_client.h"

#define SEED		29
#define MAX_SURFACES	80
#define HANGS		4	/* most jobs of struct hangs */
#define WALK_STEPS	4000
#define WALK_LEAST	400
#define WALK_LIMIT	(4 * PAGODA_SEC)
#define WALK_READS	32

/* Why a job has a surface in VRAM: the surface is on a list, or private to the job's VM. */
enum use {
	LISTED,		/* an entry of SUBMIT */
	ON_THE_LIST,	/* the client's residency list */
	PRIVATE,	/* to the VM */
};

FIXTURE(tiled_job) {
	struct test_device dev;
	struct client client;
	int fd;
	struct drm_pagoda_allocation_create args;
	uint32_t queue;
	uint32_t values;	/* timeline of the queue */
	uint32_t buffer;
	uint8_t *memory;	/* CPU mapping of the buffer */
	uint32_t handles[MAX_SURFACES];
	uint8_t *maps[MAX_SURFACES];
	uint32_t count;
};

FIXTURE_VARIANT(tiled_job) {
	enum use use;
	uint32_t tiling;
	uint32_t pitch;
	uint32_t height;
	uint32_t mips;
	uint64_t size;
};

FIXTURE_VARIANT_ADD(tiled_job, listed) {
	.use = LISTED, .tiling = DRM_PAGODA_TILING_4K, .pitch = 1024, .height = 64, .mips = 1,
	.size = 65536,
};

FIXTURE_VARIANT_ADD(tiled_job, on_the_list) {
	.use = ON_THE_LIST, .tiling = DRM_PAGODA_TILING_64K, .pitch = 512, .height = 256,
	.mips = 3, .size = 262144,
};

FIXTURE_VARIANT_ADD(tiled_job, private) {
	.use = PRIVATE, .tiling = DRM_PAGODA_TILING_4K, .pitch = 320, .height = 192, .mips = 6,
	.size = 140000,
};

/*
 * Returns the offset that a byte has in the tiles, as the GPU sees the allocation in VRAM. @offset
 * is the byte's offset in the rows, as the CPU sees the allocation.
 */
static uint64_t tile_offset(const struct drm_pagoda_allocation_create *args, uint64_t offset)
{
	uint32_t tile = args->tiling == DRM_PAGODA_TILING_4K ? 64 : 256, mip;
	uint64_t pitch = args->pitch, height = args->height, level = 0;

	for (mip = 0; mip < args->mips; mip++) {
		uint64_t in_level = offset - level;

		if (in_level < pitch * height) {
			uint64_t row = in_level / pitch, column = in_level % pitch;
			uint64_t number = row / tile * (pitch / tile) + column / tile;

			return level + number * tile * tile + row % tile * tile + column % tile;
		}
		level += pitch * height;
		pitch = test_round_up(pitch / 2, tile);
		height = test_round_up(height / 2, tile);
	}
	return offset;
}

FIXTURE_SETUP(tiled_job)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	ASSERT_LT(0, self->dev.info.swizzling_ranges);
	ASSERT_GE(MAX_SURFACES, self->dev.info.swizzling_ranges + 2);
	ASSERT_EQ(0, client_open(&self->client, self->fd, 0));
	ASSERT_EQ(0, pagoda_paging_queue_create(self->fd, 0, &self->queue, &self->values));
	self->args = (struct drm_pagoda_allocation_create) {
		.size = test_round_up(variant->size, self->dev.page),
		.flags = CPU,
		.supported = PAGODA_IN_VRAM,
		.vm = variant->use == PRIVATE ? self->client.vm.vm : 0,
		.tiling = variant->tiling,
		.pitch = variant->pitch,
		.height = variant->height,
		.mips = variant->mips,
	};
	ASSERT_EQ(0, pagoda_create_private(self->fd, self->client.vm.vm, self->args.size,
					   CPU | CACHED, PAGODA_IN_APERTURE, &self->buffer));
	self->memory = pagoda_map(self->fd, self->buffer, self->args.size);
	ASSERT_NE(NULL, self->memory);
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, self->buffer,
				     client_data(&self->client, 0), 0, self->args.size));
}

FIXTURE_TEARDOWN(tiled_job)
{
	close(self->fd);
}

/* Adds a surface, mapped for the CPU and in the VM. Returns 0 or a negative errno. */
static int surface_add(struct _test_data_tiled_job *self, enum use use)
{
	struct drm_pagoda_allocation_create args = self->args;
	uint32_t number = self->count;
	uint64_t value = 0;
	int ret = pagoda_create_args(self->fd, &args);

	if (ret)
		return ret;
	self->handles[number] = args.handle;
	self->maps[number] = pagoda_map(self->fd, args.handle, self->args.size);
	if (!self->maps[number])
		return -errno;
	self->count++;
	ret = pagoda_bind_map(self->fd, self->client.vm.vm, args.handle,
			      client_data(&self->client, 1 + number), 0, args.size);
	if (!ret && use == ON_THE_LIST)
		ret = pagoda_list_add(self->fd, self->queue, &args.handle, 1, 0, &value, NULL);
	return !ret && value ? pagoda_syncobj_wait(self->fd, self->values, value, LIMIT) : ret;
}

static int surface_submit(struct _test_data_tiled_job *self, enum use use, uint32_t number)
{
	return client_submit(&self->client, &self->handles[number], use == LISTED);
}

/*
 * Runs a job that copies the surface's tiles, one behind another, to the buffer, or with @write the
 * buffer to the surface. Returns 0 or a negative errno.
 */
static int surface_copy(struct _test_data_tiled_job *self, enum use use, uint32_t number,
			bool write)
{
	uint64_t surface = client_data(&self->client, 1 + number);
	uint64_t buffer = client_data(&self->client, 0);
	int ret;

	pagoda_copy(&self->client.program, write ? buffer : surface, write ? surface : buffer,
		    self->args.size);
	ret = surface_submit(self, use, number);
	return ret ? ret : client_wait(&self->client);
}

static int gpu_fill(struct _test_data_tiled_job *self, enum use use, uint32_t number, uint64_t key)
{
	uint64_t offset;

	for (offset = 0; offset < self->args.size; offset++)
		self->memory[tile_offset(&self->args, offset)] = pagoda_byte(key, offset);
	return surface_copy(self, use, number, true);
}

/*
 * Returns the offset in the rows of the first byte that a job finds wrong; -1 if there is none, -2
 * if a call for the job fails.
 */
static int64_t gpu_check(struct _test_data_tiled_job *self, enum use use, uint32_t number,
			 uint64_t key)
{
	uint64_t offset;

	memset(self->memory, 0xee, self->args.size);
	if (surface_copy(self, use, number, false))
		return -2;
	for (offset = 0; offset < self->args.size; offset++)
		if (self->memory[tile_offset(&self->args, offset)] != pagoda_byte(key, offset))
			return offset;
	return -1;
}

/* CPU and GPU take turns to write in VRAM, and see each other's bytes there and after eviction. */
TEST_F(tiled_job, in_turn)
{
	uint64_t size = self->args.size, key = pagoda_key(SEED, 0, 0);
	uint32_t round;
	uint8_t *map;

	ASSERT_EQ(0, surface_add(self, variant->use));
	map = self->maps[0];
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handles[0]));
	EXPECT_EQ(-1, pagoda_check_zero(map, size));
	for (round = 0; round < 3; round++, key += 10) {
		pagoda_fill(map, key, 0, size);
		EXPECT_EQ(-1, gpu_check(self, variant->use, 0, key));
		ASSERT_EQ(0, gpu_fill(self, variant->use, 0, key + 1));
		EXPECT_EQ(-1, pagoda_check(map, key + 1, 0, size));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, self->handles[0]));
		/* In odd rounds the GPU is the last to access the surface, else the CPU. */
		if (round % 2)
			ASSERT_EQ(0, gpu_fill(self, variant->use, 0, key + 2));
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, self->handles[0]));
		PAGODA_PROVES(C34);
		EXPECT_EQ(-1, pagoda_check(map, key + 1 + round % 2, 0, size));
		EXPECT_EQ(-1, gpu_check(self, variant->use, 0, key + 1 + round % 2));
		EXPECT_EQ(-1, pagoda_check(map, key + 1 + round % 2, 0, size));
	}
}

/* --- a random walk ------------------------------------------------------------------------ */

struct walk {
	uint64_t state;
	uint64_t *shadow[MAX_SURFACES];
	uint64_t last;
	uint64_t expected[WALK_READS];
	uint32_t reads;
	uint64_t wrong;
	int error;
	int mem;
};

static void walk_look(struct _test_data_tiled_job *self, struct walk *walk)
{
	uint32_t n;

	walk->error |= client_wait(&self->client);
	for (n = 0; n < walk->reads; n++)
		walk->wrong += ((uint64_t *)self->memory)[n] != walk->expected[n];
	walk->reads = 0;
	if (self->client.program.used > CODE_SIZE / 2)
		client_rewind(&self->client);
}

static void walk_cpu(struct _test_data_tiled_job *self, struct walk *walk, uint32_t number,
		     uint64_t word, bool write, bool debugger)
{
	uint64_t *at = (uint64_t *)self->maps[number] + word, value = ++walk->last;

	/* A CPU access doesn't wait for jobs that aren't prepared, and could come before them. */
	if (self->client.point)
		walk->error |= client_wait(&self->client);
	if (debugger && write)
		walk->error |= pwrite(walk->mem, &value, 8, (uintptr_t)at) != 8;
	else if (debugger)
		walk->error |= pread(walk->mem, &value, 8, (uintptr_t)at) != 8;
	else if (write)
		__atomic_store_n(at, value, __ATOMIC_SEQ_CST);
	else
		value = __atomic_load_n(at, __ATOMIC_SEQ_CST);
	if (write)
		walk->shadow[number][word] = value;
	else
		walk->wrong += value != walk->shadow[number][word];
}

static void walk_gpu(struct _test_data_tiled_job *self, struct walk *walk, enum use use,
		     uint32_t number, uint64_t word, bool write)
{
	uint64_t at = client_data(&self->client, 1 + number) + tile_offset(&self->args, 8 * word);

	if (write) {
		walk->shadow[number][word] = ++walk->last;
		pagoda_store(&self->client.program, at, walk->last);
	} else {
		walk->expected[walk->reads] = walk->shadow[number][word];
		pagoda_copy(&self->client.program, at,
			    client_data(&self->client, 0) + 8 * walk->reads++, 8);
	}
	walk->error |= surface_submit(self, use, number);
	if (walk->reads == WALK_READS || self->client.program.used > CODE_SIZE / 2)
		walk_look(self, walk);
}

static void walk_step(struct _test_data_tiled_job *self, struct walk *walk, enum use use)
{
	uint32_t number = pagoda_random(&walk->state) % self->count;
	uint32_t what = pagoda_random(&walk->state) % 20;
	/* Few words, so that most of them were written before. */
	uint64_t words = self->args.size / 8, word = pagoda_random(&walk->state) % 8 * words / 8;

	if (what < 8)
		walk_cpu(self, walk, number, word, what % 2, what > 5);
	else if (what < 15)
		walk_gpu(self, walk, use, number, word, what % 2);
	else if (what < 17 && use != ON_THE_LIST)
		walk->error |= pagoda_evict(self->fd, &self->handles[number], 1, 0, 0);
	else if (what < 19)
		walk->error |= pagoda_make_resident(self->fd, &self->handles[number], 1, 0, 0,
						    NULL);
	else
		walk_look(self, walk);
}

/* CPU, debugger, GPU and moves in any order: each read finds what was written last before. */
TEST_F(tiled_job, walk)
{
	struct walk walk = { .state = SEED, .mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC) };
	uint32_t step = 0, surfaces = self->dev.info.swizzling_ranges + 2;
	struct drm_pagoda_stats before, after;
	int64_t end;

	ASSERT_LE(0, walk.mem);
	while (self->count < surfaces) {
		walk.shadow[self->count] = calloc(1, self->args.size);
		ASSERT_NE(NULL, walk.shadow[self->count]);
		ASSERT_EQ(0, surface_add(self, variant->use));
	}
	ASSERT_EQ(0, pagoda_stats(self->fd, &before));
	end = pagoda_now() + WALK_LIMIT;
	while (step++ < WALK_STEPS && (step < WALK_LEAST || pagoda_now() < end) && !walk.wrong)
		walk_step(self, &walk, variant->use);
	PAGODA_PROVES(C34);
	EXPECT_EQ(0, walk.wrong) TH_LOG("step %u", step);
	walk_look(self, &walk);
	EXPECT_EQ(0, walk.wrong);
	EXPECT_EQ(0, walk.error);
	ASSERT_EQ(0, pagoda_stats(self->fd, &after));
	EXPECT_LT(before.range_acquires, after.range_acquires);
	TH_LOG("%u steps, %llu ranges acquired, %llu stolen", step,
	       (unsigned long long)(after.range_acquires - before.range_acquires),
	       (unsigned long long)(after.range_steals - before.range_steals));
	close(walk.mem);
}

/* --- while jobs use a surface ------------------------------------------------------------- */

/*
 * Jobs of several contexts on the same engine, one after another. Each job hangs until hangs_end()
 * writes the value that the job waits for, or until its time limit.
 */
struct hangs {
	struct client clients[HANGS];
	uint32_t count;
};

static int hangs_begin(struct hangs *hangs, uint32_t jobs, int fd, const uint32_t *handles,
		       uint32_t count)
{
	int ret = 0;

	for (hangs->count = 0; hangs->count < jobs && !ret; hangs->count++) {
		struct client *client = &hangs->clients[hangs->count];

		ret = client_open(client, fd, 0);
		if (ret)
			break;
		/*
		 * Only the first job stores a 1 when it runs, for client_hangs(). The other jobs
		 * run later: their 1 would replace the 2 of hangs_end().
		 */
		if (!hangs->count)
			pagoda_store(&client->program, client_word_address(client), 1);
		client_append_wait(client, client_word_address(client), 2);
		ret = client_submit(client, handles, count);
		if (!ret && !hangs->count)
			ret = client_hangs(client);
	}
	return ret;
}

/* Returns whether the last job isn't done yet. */
static bool hangs_still(const struct hangs *hangs)
{
	const struct client *last = &hangs->clients[hangs->count - 1];

	return pagoda_syncobj_wait(last->fd, last->syncobj, last->point, 0) == -ETIME;
}

static void hangs_end(struct hangs *hangs)
{
	uint32_t n;

	for (n = 0; n < hangs->count; n++)
		__atomic_store_n(client_word(&hangs->clients[n]), 2, __ATOMIC_RELEASE);
	for (n = 0; n < hangs->count; n++)
		client_wait(&hangs->clients[n]);
}

struct toucher {
	pthread_t thread;
	atomic_int tid;
	uint8_t *byte;
	int mem;	/* /proc/self/mem to read from; -1: the access is a page fault */
};

static void *touch_run(void *data)
{
	struct toucher *t = data;
	uint8_t byte;

	atomic_store(&t->tid, syscall(SYS_gettid));
	if (t->mem < 0)
		__atomic_add_fetch(t->byte, 1, __ATOMIC_SEQ_CST);
	else if (pread(t->mem, &byte, 1, (uintptr_t)t->byte) != 1)
		_exit(3);
	_exit(4);
	return NULL;
}

/*
 * In a child: one thread's access to @byte waits for the jobs that use the surface; the main thread
 * goes on, calls test_say() and waits to be killed.
 */
static void touch_child(int pipe_end, uint8_t *byte, bool debugger)
{
	struct toucher toucher = { .byte = byte, .mem = -1 };
	void *memory;

	if (debugger)
		toucher.mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (pthread_create(&toucher.thread, NULL, touch_run, &toucher) ||
	    !test_sleeps_in(&toucher.tid, "SD"))
		_exit(2);
	/* With @debugger the waiting thread holds the mmap lock, which mmap() needs. */
	if (!debugger) {
		memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
		if (memory == MAP_FAILED || munmap(memory, 65536))
			_exit(2);
	}
	test_say(pipe_end);
	for (;;)
		pause();
}

static bool can_read_cmdline(pid_t pid)
{
	char path[64], line[64];
	bool read_it;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	read_it = fd >= 0 && read(fd, line, sizeof(line)) > 0;
	close(fd);
	return read_it;
}

static void touch_and_kill(struct __test_metadata *_metadata, struct _test_data_tiled_job *self,
			   bool debugger)
{
	struct hangs hangs;
	int pipe_end, status;
	pid_t pid;

	ASSERT_EQ(0, surface_add(self, LISTED));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->handles[0]));
	self->maps[0][0] = 1;
	ASSERT_EQ(0, hangs_begin(&hangs, HANGS, self->fd, self->handles, 1));
	pid = test_fork(&pipe_end);
	if (!pid)
		touch_child(pipe_end, self->maps[0], debugger);
	ASSERT_LT(0, pid);
	ASSERT_TRUE(test_heard(pipe_end));
	EXPECT_TRUE(hangs_still(&hangs));
	if (!debugger) {
		EXPECT_TRUE(can_read_cmdline(pid));
		EXPECT_TRUE(hangs_still(&hangs));
	}
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(hangs_still(&hangs));
	EXPECT_TRUE(WIFSIGNALED(status)) TH_LOG("status %#x", status);
	hangs_end(&hangs);
	EXPECT_EQ(1, self->maps[0][0]);
	close(pipe_end);
}

/*
 * A page fault that waits for jobs doesn't hold up other threads of its process, and ends when the
 * process is killed.
 */
TEST_F(tiled_job, busy_fault)
{
	self->args.vm = 0;
	touch_and_kill(_metadata, self, false);
}

TEST_F(tiled_job, busy_debugger)
{
	self->args.vm = 0;
	touch_and_kill(_metadata, self, true);
}

/* Another client's access takes a range from a surface that a job uses, without a wait. */
TEST_F(tiled_job, busy_victims)
{
	uint32_t n, surfaces = self->dev.info.swizzling_ranges;
	struct drm_pagoda_allocation_create args;
	struct hangs hangs;
	uint8_t *map;
	int other;

	self->args.vm = 0;
	args = self->args;
	while (self->count < surfaces)
		ASSERT_EQ(0, surface_add(self, LISTED));
	ASSERT_EQ(0, pagoda_make_resident(self->fd, self->handles, surfaces, 0, 0, NULL));
	other = pagoda_open();
	ASSERT_LE(0, other);
	ASSERT_EQ(0, pagoda_create_args(other, &args));
	map = pagoda_map(other, args.handle, args.size);
	ASSERT_NE(NULL, map);
	ASSERT_EQ(0, pagoda_make_resident_wait(other, args.handle));
	for (n = 0; n < surfaces; n++)
		self->maps[n][0] = 1 + n;
	/* Only one job: the preparation of a second job may lock the dma_resv of all surfaces. */
	ASSERT_EQ(0, hangs_begin(&hangs, 1, self->fd, self->handles, surfaces));
	map[0] = 7;
	EXPECT_TRUE(hangs_still(&hangs));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(other, args.handle));
	hangs_end(&hangs);
	EXPECT_EQ(7, map[0]);
	for (n = 0; n < surfaces; n++)
		EXPECT_EQ(1 + n, self->maps[n][0]);
	munmap(map, args.size);
	close(other);
}

TEST_HARNESS_MAIN
