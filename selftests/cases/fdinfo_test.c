// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/self/fdinfo: DRM's keys, for memory by region and time by engine, and the driver's own keys
 * for budgets, paging and evictions; fences of an engine's jobs have the name of the engine's key.
 */
#include <linux/sync_file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/pagoda_fdinfo.h"
#include "lib/pagoda_prime.h"
#include "lib/submit_client.h"

#define LOCAL	DRM_PAGODA_SEGMENT_GROUP_LOCAL
#define NONE	PAGODA_FDINFO_NONE
#define SYSTEM	DRM_PAGODA_SEGMENT_SYSTEM
#define VRAM	DRM_PAGODA_SEGMENT_VRAM
#define GTT	DRM_PAGODA_SEGMENT_APERTURE

FIXTURE(fdinfo) {
	struct test_device dev;
	int fd;
	uint64_t size;
};

FIXTURE_SETUP(fdinfo)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->size = 3 * self->dev.page;
}

FIXTURE_TEARDOWN(fdinfo)
{
	close(self->fd);
}

/* Returns the fdinfo of @fd; all members are NONE if it can't be read. */
static struct pagoda_fdinfo read_info(int fd)
{
	struct pagoda_fdinfo info;

	if (pagoda_fdinfo_self(fd, &info))
		memset(&info, 0xff, sizeof(info));
	return info;
}

static struct pagoda_fdinfo_segment of(int fd, uint32_t segment)
{
	return read_info(fd).segments[segment];
}

TEST_F(fdinfo, has_all_keys)
{
	struct pagoda_fdinfo info = read_info(self->fd);
	uint32_t id;

	EXPECT_NE(NONE, info.client);
	EXPECT_EQ(0, info.paged_in);
	EXPECT_EQ(0, info.paged_out);
	EXPECT_EQ(0, info.evictions);
	EXPECT_EQ(0, info.paced);
	EXPECT_EQ(0, info.left_out);
	EXPECT_EQ(0, info.held);
	for (id = 0; id < PAGODA_FDINFO_ENGINES; id++)
		EXPECT_EQ(id < self->dev.info.num_engines ? 0 : NONE, info.engine_ns[id]);
	for (id = 0; id < PAGODA_FDINFO_SEGMENTS; id++) {
		EXPECT_EQ(0, info.segments[id].total);
		EXPECT_EQ(0, info.segments[id].shared);
		EXPECT_EQ(0, info.segments[id].resident);
		EXPECT_EQ(0, info.segments[id].purgeable);
		EXPECT_EQ(0, info.segments[id].active);
		/* Segment 0, plain system memory, has no keys for usage, spilled and budget. */
		EXPECT_EQ(id ? 0 : NONE, info.segments[id].usage);
		EXPECT_EQ(id ? 0 : NONE, info.segments[id].spilled);
		EXPECT_EQ(!id, info.segments[id].budget == NONE);
	}
}

/*
 * Returns whether @name is a "drm-" key that DRM defines, with this driver's names of regions and
 * engines, and @unit is the key's: "ns" for engines, KiB, MiB or none for regions, else any.
 */
static bool is_the_kernels(const char *name, const char *unit)
{
	static const char * const kinds[] = {
		"total", "shared", "resident", "purgeable", "active",
	};
	static const char * const regions[] = { "memory", "vram", "gtt" };
	bool size = !*unit || !strcmp(unit, "KiB") || !strcmp(unit, "MiB");
	unsigned int engine, n, m;
	char key[64], more;

	if (!strcmp(name, "drm-driver") || !strcmp(name, "drm-client-id") ||
	    !strcmp(name, "drm-client-name"))
		return true;
	if (sscanf(name, "drm-engine-exec%u%c", &engine, &more) == 1)
		return !strcmp(unit, "ns");
	for (n = 0; n < ARRAY_SIZE(kinds); n++) {
		for (m = 0; m < ARRAY_SIZE(regions); m++) {
			snprintf(key, sizeof(key), "drm-%s-%s", kinds[n], regions[m]);
			if (!strcmp(name, key))
				return size;
		}
	}
	return false;
}

/*
 * Each key is there once, and those that begin with "drm-" are keys, by is_the_kernels(), of
 * Documentation/gpu/drm-usage-stats.rst.
 */
TEST_F(fdinfo, keys_are_the_kernels)
{
	char seen[64][64], name[64], line[256], path[64], unit[16];
	unsigned int count = 0, sizes = 0, n;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->fd);
	file = fopen(path, "re");
	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file)) {
		unit[0] = '\0';
		if (sscanf(line, "%63[^:]: %*s %15s", name, unit) < 1)
			continue;
		for (n = 0; n < count; n++)
			EXPECT_STRNE(seen[n], name);
		ASSERT_GT(ARRAY_SIZE(seen), count);
		memcpy(seen[count++], name, sizeof(name));
		if (strncmp(name, "drm-", strlen("drm-")))
			continue;
		EXPECT_TRUE(is_the_kernels(name, unit)) {
			TH_LOG("%s", line);
		}
		sizes += strstr(name, "-memory") || strstr(name, "-vram") || strstr(name, "-gtt");
	}
	fclose(file);
	/* Each of the three regions has five "drm-" keys. */
	EXPECT_EQ(15, sizes);
}

TEST_F(fdinfo, follows_moves)
{
	uint32_t vram, gtt;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &vram));
	ASSERT_EQ(0, pagoda_create(self->fd, 2 * self->size, CPU, PAGODA_IN_APERTURE, &gtt));
	/* New allocations count in the total of system memory, and are resident nowhere. */
	EXPECT_EQ(3 * self->size, of(self->fd, SYSTEM).total);
	EXPECT_EQ(0, of(self->fd, SYSTEM).resident);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, vram));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, gtt));
	EXPECT_EQ(self->size, of(self->fd, VRAM).total);
	EXPECT_EQ(self->size, of(self->fd, VRAM).resident);
	EXPECT_EQ(2 * self->size, of(self->fd, GTT).total);
	EXPECT_EQ(2 * self->size, of(self->fd, GTT).resident);
	EXPECT_EQ(0, of(self->fd, SYSTEM).total);
	EXPECT_EQ(0, of(self->fd, VRAM).active);
	/* The evicted allocation is resident in system memory, where it has pages. */
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, vram));
	EXPECT_EQ(0, of(self->fd, VRAM).total);
	EXPECT_EQ(self->size, of(self->fd, SYSTEM).total);
	EXPECT_EQ(self->size, of(self->fd, SYSTEM).resident);
}

TEST_F(fdinfo, offered_is_purgeable)
{
	uint32_t handle;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	EXPECT_EQ(0, of(self->fd, VRAM).purgeable);
	ASSERT_EQ(0, pagoda_offer(self->fd, &handle, 1, DRM_PAGODA_OFFER_LOW, 0));
	EXPECT_EQ(self->size, of(self->fd, VRAM).purgeable);
	EXPECT_EQ(self->size, of(self->fd, VRAM).resident);
	ASSERT_EQ(0, pagoda_reclaim_one(self->fd, handle));
	EXPECT_EQ(0, of(self->fd, VRAM).purgeable);
	ASSERT_EQ(0, pagoda_offer(self->fd, &handle, 1, DRM_PAGODA_OFFER_LOW, 0));
	/* EVICT drops the offered content: the allocation has no memory, and isn't purgeable. */
	ASSERT_EQ(0, pagoda_evict(self->fd, &handle, 1, 0, 0));
	EXPECT_EQ(0, of(self->fd, VRAM).purgeable);
	EXPECT_EQ(0, of(self->fd, SYSTEM).purgeable);
	EXPECT_EQ(0, of(self->fd, VRAM).resident);
	EXPECT_EQ(0, of(self->fd, SYSTEM).resident);
	EXPECT_EQ(self->size, of(self->fd, SYSTEM).total);
}

/*
 * Copies and evictions count for the client that made the allocation, whichever client causes them.
 */
TEST_F(fdinfo, counts_traffic)
{
	int other = pagoda_open(), dma_buf;
	uint32_t handle, theirs;
	struct pagoda_fdinfo counts;
	char *map;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &handle));
	map = pagoda_map(self->fd, handle, self->size);
	ASSERT_NE(NULL, map);
	memset(map, 1, self->size);
	munmap(map, self->size);
	/*
	 * Whether the CPU wrote to VRAM or to system memory, after EVICT the content is in system
	 * memory, and MAKE_RESIDENT copies it to VRAM.
	 */
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	counts = read_info(self->fd);
	EXPECT_LE(self->size, counts.paged_in);
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	EXPECT_EQ(counts.paged_in, read_info(self->fd).paged_in);
	EXPECT_EQ(counts.paged_out + self->size, read_info(self->fd).paged_out);
	EXPECT_EQ(counts.evictions + 1, read_info(self->fd).evictions);
	dma_buf = prime_export(self->fd, handle);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, prime_import(other, dma_buf, &theirs));
	ASSERT_EQ(0, pagoda_make_resident_wait(other, theirs));
	EXPECT_EQ(counts.paged_in + self->size, read_info(self->fd).paged_in);
	ASSERT_EQ(0, pagoda_evict_wait(other, theirs));
	EXPECT_EQ(counts.paged_out + 2 * self->size, read_info(self->fd).paged_out);
	EXPECT_EQ(counts.evictions + 2, read_info(self->fd).evictions);
	EXPECT_EQ(0, read_info(other).paged_in);
	EXPECT_EQ(0, read_info(other).paged_out);
	EXPECT_EQ(0, read_info(other).evictions);
	close(dma_buf);
	close(other);
}

TEST_F(fdinfo, says_budget_and_usage)
{
	struct drm_pagoda_query_memory_info info;
	uint32_t handle;

	/* Memory that closed clients leave behind would change the budgets while it is freed. */
	ASSERT_EQ(0, test_vram_settled(self->fd, 0));
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	EXPECT_EQ(self->size, of(self->fd, VRAM).usage);
	ASSERT_EQ(0, pagoda_memory_info(self->fd, LOCAL, &info));
	EXPECT_EQ(info.budget, of(self->fd, VRAM).budget);
	ASSERT_EQ(0, pagoda_memory_info(self->fd, DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL, &info));
	EXPECT_EQ(info.budget, of(self->fd, GTT).budget);
	EXPECT_EQ(0, of(self->fd, GTT).usage);
}

/* An allocation of which two clients have handles counts in "total" and "shared" of both. */
TEST_F(fdinfo, shared)
{
	int other = pagoda_open(), dma_buf;
	uint32_t handle, theirs;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	EXPECT_EQ(0, of(self->fd, VRAM).shared);
	dma_buf = prime_export(self->fd, handle);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, prime_import(other, dma_buf, &theirs));
	EXPECT_EQ(self->size, of(self->fd, VRAM).shared);
	EXPECT_EQ(self->size, of(self->fd, VRAM).total);
	EXPECT_EQ(self->size, of(other, VRAM).shared);
	EXPECT_EQ(self->size, of(other, VRAM).total);
	EXPECT_EQ(self->size, of(other, VRAM).resident);
	/* On some kernels an exported allocation stays "shared": only "total" is compared. */
	ASSERT_EQ(0, pagoda_close(other, theirs));
	EXPECT_EQ(self->size, of(self->fd, VRAM).total);
	EXPECT_EQ(0, of(other, VRAM).total);
	close(dma_buf);
	close(other);
}

/* The totals include page tables of the client's VMs and save areas of its contexts. */
TEST_F(fdinfo, has_tables_and_save_areas)
{
	struct drm_pagoda_query_memory_info info;
	struct client client;

	if (!self->dev.info.num_engines)
		SKIP(return, "no engines");
	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	ASSERT_EQ(0, client_run(&client, NULL, 0));
	ASSERT_EQ(0, pagoda_memory_info(self->fd, LOCAL, &info));
	EXPECT_LT(0, info.current_usage);
	EXPECT_EQ(info.current_usage, of(self->fd, VRAM).total);
	ASSERT_EQ(0, pagoda_memory_info(self->fd, DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL, &info));
	EXPECT_LE(CODE_SIZE, info.current_usage);
	EXPECT_EQ(info.current_usage, of(self->fd, GTT).total);
	client_close(&client);
}

/* ---- All clients ---------------------------------------------------------------------- */

static uint64_t used(int fd, uint32_t segment)
{
	struct drm_pagoda_segment_info info;

	return pagoda_segment(fd, segment, &info) ? UINT64_MAX : info.usage + info.reserve_usage;
}

/*
 * Returns whether the resident bytes in fdinfo of two clients add up to 99.9 % or more of the bytes
 * in use in a segment. All numbers are read again if the bytes in use changed during the reads.
 */
static bool adds_up(int fd, int other, uint32_t segment)
{
	int64_t end = pagoda_now() + TEST_PATIENCE;
	uint64_t before, sum;

	do {
		before = used(fd, segment);
		sum = of(fd, segment).resident + of(other, segment).resident;
	} while (before != used(fd, segment) && pagoda_now() < end);
	if (sum < before - before / 1000)
		printf("# segment %u: %llu of %llu bytes\n", segment, (unsigned long long)sum,
		       (unsigned long long)before);
	return sum >= before - before / 1000;
}

static bool all_add_up(int fd, int other)
{
	return adds_up(fd, other, VRAM) && adds_up(fd, other, GTT);
}

/*
 * All memory in use in VRAM and aperture, but for 0.1 %, counts as resident for a client: also page
 * tables, save areas, shared allocations, and the place that a moving allocation hasn't left yet.
 */
TEST_F(fdinfo, clients_have_all_that_is_used)
{
	uint64_t size = self->dev.vram.size / 4;
	int other = pagoda_open(), dma_buf;
	uint32_t moves, stays, theirs;
	struct client client;

	if (!self->dev.info.num_engines)
		SKIP(return, "no engines");
	ASSERT_LE(0, other);
	ASSERT_EQ(0, test_vram_settled(self->fd, 0));
	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	ASSERT_EQ(0, client_run(&client, NULL, 0));
	ASSERT_EQ(0, pagoda_create(self->fd, size, CPU, PAGODA_IN_VRAM, &moves));
	ASSERT_EQ(0, pagoda_create(other, size, CPU, PAGODA_IN_VRAM, &stays));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, moves));
	ASSERT_EQ(0, pagoda_make_resident_wait(other, stays));
	EXPECT_TRUE(all_add_up(self->fd, other));
	dma_buf = prime_export(other, stays);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, prime_import(self->fd, dma_buf, &theirs));
	EXPECT_TRUE(all_add_up(self->fd, other));
	/*
	 * The 2 that the job waits for is stored after EVICT, which returns when the job's time
	 * limit is over. The place in VRAM counts as resident until the copy out of it is done.
	 */
	pagoda_store(&client.program, client_word_address(&client), 1);
	client_append_wait(&client, client_word_address(&client), 2);
	ASSERT_EQ(0, client_submit(&client, &moves, 1));
	ASSERT_EQ(0, client_hangs(&client));
	EXPECT_EQ(0, pagoda_evict(self->fd, &moves, 1, 0, 0));
	EXPECT_GT(2 * size, of(self->fd, VRAM).total);
	EXPECT_TRUE(all_add_up(self->fd, other));
	__atomic_store_n(client_word(&client), 2, __ATOMIC_RELEASE);
	EXPECT_EQ(0, client_wait(&client));
	EXPECT_EQ(0, pagoda_wait(self->fd, moves, LIMIT));
	EXPECT_TRUE(all_add_up(self->fd, other));
	client_close(&client);
	close(dma_buf);
	close(other);
}

/* ---- Engines ---------------------------------------------------------------------- */

#define WORK	(CODE_SIZE / 2)

/* Submits a job that fills the second half of the program's memory 64 times. */
static int start_work(struct client *client)
{
	uint32_t n;

	for (n = 0; n < 64; n++)
		pagoda_fill_words(&client->program, client->program.address + CODE_SIZE - WORK,
				  WORK, n);
	return client_submit(client, NULL, 0);
}

/*
 * Runs start_work(), and reads the client's time of engine 0 until the job is done. Returns 0 if
 * the time never fell and is larger in the end, else a negative errno.
 */
static int watch_work(struct client *client)
{
	uint64_t first = read_info(client->fd).engine_ns[0], before = first, now;
	int ret = start_work(client), busy = ret ? 0 : -ETIME;

	while (busy == -ETIME) {
		busy = pagoda_syncobj_wait(client->fd, client->syncobj, client->point, 0);
		now = read_info(client->fd).engine_ns[0];
		if (now < before)
			return -ERANGE;
		before = now;
	}
	if (ret || busy)
		return ret ? ret : busy;
	return before > first ? 0 : -ENODATA;
}

/* Microseconds for which the first engine that executed jobs was busy; 0 if debugfs tells none. */
static uint64_t engine_busy_us(int fd)
{
	unsigned long long busy = 0;
	char path[64], line[256];
	struct stat st;
	FILE *file;

	if (fstat(fd, &st))
		return 0;
	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/engines", minor(st.st_rdev));
	file = fopen(path, "re");
	while (file && !busy && fgets(line, sizeof(line), file))
		if (strstr(line, "busy: "))
			sscanf(strstr(line, "busy: "), "busy: %llu us", &busy);
	if (file)
		fclose(file);
	return busy;
}

TEST_F(fdinfo, counts_engine_time)
{
	uint64_t busy, mine, theirs, both;
	struct client clients[2];
	int other = pagoda_open();

	if (!self->dev.info.num_engines)
		SKIP(return, "no engines");
	ASSERT_LE(0, other);
	ASSERT_EQ(0, client_open(&clients[0], self->fd, 0));
	ASSERT_EQ(0, client_open(&clients[1], other, 0));
	/* Engine 0 executes a job first: the time 0 would mean that debugfs tells none. */
	ASSERT_EQ(0, watch_work(&clients[0]));
	busy = engine_busy_us(self->fd);
	mine = read_info(self->fd).engine_ns[0];
	/* Work of one client adds nothing to the time of the other. */
	EXPECT_EQ(0, read_info(other).engine_ns[0]);
	EXPECT_EQ(0, watch_work(&clients[1]));
	EXPECT_EQ(mine, read_info(self->fd).engine_ns[0]);
	theirs = read_info(other).engine_ns[0];
	EXPECT_EQ(0, watch_work(&clients[0]));
	EXPECT_EQ(theirs, read_info(other).engine_ns[0]);
	/* Both clients have work for engine 0 at once. Engine 1, if there is one, has time 0. */
	EXPECT_EQ(0, start_work(&clients[0]));
	EXPECT_EQ(0, watch_work(&clients[1]));
	EXPECT_EQ(0, client_wait(&clients[0]));
	EXPECT_EQ(self->dev.info.num_engines > 1 ? 0 : NONE, read_info(other).engine_ns[1]);
	both = read_info(self->fd).engine_ns[0] - mine + read_info(other).engine_ns[0];
	/* The engine's time is in whole microseconds, so the sums may differ by a microsecond. */
	if (busy) {
		busy = (engine_busy_us(self->fd) - busy) * 1000;
		EXPECT_LE(busy, both + 1000);
		EXPECT_LE(both, busy + 1000);
	}
	client_close(&clients[0]);
	client_close(&clients[1]);
	close(other);
}

/*
 * Returns whether the fence of the client's last job hasn't signalled and is named "exec" with the
 * number @engine, and fdinfo has the key "drm-engine-" with this name.
 */
static bool is_of_engine(struct client *client, unsigned int engine)
{
	struct sync_fence_info fence = {};
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };
	char key[64], line[256], path[64];
	struct drm_syncobj_transfer transfer = {
		.src_handle = client->syncobj,
		.src_point = client->point,
		/* A job may begin before its point has the fence. */
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};
	struct drm_syncobj_handle handle = {
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	bool found = false;
	FILE *file;

	if (pagoda_syncobj_create(client->fd, &transfer.dst_handle) ||
	    pagoda_ioctl(client->fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &transfer))
		return false;
	handle.handle = transfer.dst_handle;
	if (pagoda_ioctl(client->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &handle))
		return false;
	if (ioctl(handle.fd, SYNC_IOC_FILE_INFO, &info))
		return false;
	close(handle.fd);
	pagoda_syncobj_destroy(client->fd, transfer.dst_handle);
	snprintf(key, sizeof(key), "exec%u", engine);
	if (fence.status || strcmp(fence.obj_name, key)) {
		printf("# fence of %s, status %d\n", fence.obj_name, fence.status);
		return false;
	}
	snprintf(key, sizeof(key), "drm-engine-%s:", fence.obj_name);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", client->fd);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = !strncmp(line, key, strlen(key));
	if (file)
		fclose(file);
	return found;
}

/* The fences of an engine's jobs have the name that fdinfo has for the engine. */
TEST_F(fdinfo, engine_has_one_name)
{
	struct client client;
	unsigned int n;

	for (n = 0; n < self->dev.info.num_engines; n++) {
		ASSERT_EQ(0, client_open(&client, self->fd, n));
		ASSERT_EQ(0, client_hang(&client, false));
		ASSERT_EQ(0, client_hangs(&client));
		EXPECT_TRUE(is_of_engine(&client, n));
		__atomic_store_n(client_word(&client), 2, __ATOMIC_RELEASE);
		EXPECT_EQ(0, client_wait(&client));
		client_close(&client);
	}
}

/* Memory is "active" while a job that uses it is prepared and not done; other memory isn't. */
TEST_F(fdinfo, what_jobs_use_is_active)
{
	struct client client;
	uint32_t other;

	if (!self->dev.info.num_engines)
		SKIP(return, "no engines");
	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	ASSERT_EQ(0, client_run(&client, NULL, 0));
	/* Memory in the same region that no job uses. */
	ASSERT_EQ(0, pagoda_create(self->fd, self->size, CPU, PAGODA_IN_APERTURE, &other));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, other));
	EXPECT_EQ(0, of(self->fd, GTT).active);
	ASSERT_EQ(0, client_hang(&client, false));
	ASSERT_EQ(0, client_hangs(&client));
	EXPECT_EQ(CODE_SIZE, of(self->fd, GTT).active);
	EXPECT_LE(CODE_SIZE + self->size, of(self->fd, GTT).total);
	__atomic_store_n(client_word(&client), 2, __ATOMIC_RELEASE);
	EXPECT_EQ(0, client_wait(&client));
	EXPECT_EQ(0, of(self->fd, GTT).active);
	client_close(&client);
}

TEST_HARNESS_MAIN
