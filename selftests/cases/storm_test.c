// SPDX-License-Identifier: GPL-2.0
/*
 * Many jobs that fault or hang, while threads check the results of jobs of other contexts: engines
 * are reset, contexts of guilty jobs are banned, and jobs of other contexts aren't affected. Also:
 * a process is killed between resets of the device, contexts are created during resets, and debugfs
 * and a coredump describe a fault.
 */
#include "lib/reset_fixture.h"

#define VRAM_OR_NOT	(PAGODA_IN_VRAM | PAGODA_IN_APERTURE)

/* --- guilty contexts among innocent ones ------------------------------------------------------ */

/*
 * A thread that checks the results of all jobs of its context. @may_lose: the test resets the
 * device while the thread runs, which may lose jobs; @lost counts these jobs.
 */
struct innocent {
	pthread_t thread;
	struct client client;
	uint32_t handle;
	uint32_t done;
	uint32_t *map;
	uint32_t jobs;
	atomic_bool stop;
	bool may_lose;
	uint32_t lost;
	int ret;
	const char *wrong;
};

#define WORDS		2048u

static int innocent_open(struct innocent *innocent, int fd, uint32_t engine, uint32_t supported)
{
	int ret;

	memset(innocent, 0, sizeof(*innocent));
	ret = client_open(&innocent->client, fd, engine);
	if (!ret)
		ret = pagoda_syncobj_create(fd, &innocent->done);
	if (!ret)
		ret = pagoda_create_private(fd, innocent->client.vm.vm, 16 * WORDS, CPU | CACHED,
					    supported, &innocent->handle);
	if (!ret)
		ret = pagoda_bind_map(fd, innocent->client.vm.vm, innocent->handle,
				      client_data(&innocent->client, 0), 0, 16 * WORDS);
	if (ret)
		return ret;
	innocent->map = pagoda_map(fd, innocent->handle, 16 * WORDS);
	return innocent->map ? 0 : -errno;
}

/*
 * Runs a job that computes b = a * a + a for words a that @seed determines, and the sum of all b
 * and @seed. Returns 0, 1 if a result is wrong, or the errno of a call or of the job's fence.
 */
static int innocent_job(struct innocent *innocent, uint32_t seed)
{
	uint64_t at = client_data(&innocent->client, 0), sum = 0, got;
	uint32_t *a = innocent->map, *b = a + WORDS, n;
	int ret;

	for (n = 0; n < WORDS; n++)
		a[n] = (seed + n) * 2654435761u;
	pagoda_compute(&innocent->client.program, VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD, WORDS,
		       at + 4 * WORDS, at, at, at);
	pagoda_reduce(&innocent->client.program, VIRTIO_PAGODA_REDUCE_SUM, WORDS, at + 4 * WORDS,
		      at + 8 * WORDS, seed);
	ret = submit_binary(&innocent->client, innocent->done);
	if (!ret)
		ret = fence_status(innocent->client.fd, innocent->done);
	client_rewind(&innocent->client);
	if (ret != 1)
		return ret;
	for (n = 0; n < WORDS; n++) {
		if (b[n] != a[n] * a[n] + a[n])
			return 1;
		sum += b[n];
	}
	memcpy(&got, a + 2 * WORDS, sizeof(got));
	return got != sum + seed;
}

/* Runs jobs until @stop is set. Only with @may_lose a job may have been lost (-ECANCELED). */
static void *innocent_run(void *arg)
{
	struct innocent *innocent = arg;

	/* At least two jobs, even if the thread begins after @stop was set. */
	while ((!atomic_load(&innocent->stop) || innocent->jobs < 2) && !innocent->wrong) {
		innocent->ret = innocent_job(innocent, innocent->jobs++);
		if (innocent->ret == -ECANCELED && innocent->may_lose)
			innocent->lost++;
		else if (innocent->ret)
			innocent->wrong = innocent->ret == 1 ? "a result" : "a call";
		if (flags_of(&innocent->client) & DRM_PAGODA_CONTEXT_BANNED)
			innocent->wrong = "banned";
	}
	return NULL;
}

static void innocent_close(struct innocent *innocent)
{
	munmap(innocent->map, 16 * WORDS);
	pagoda_close(innocent->client.fd, innocent->handle);
	pagoda_syncobj_destroy(innocent->client.fd, innocent->done);
	client_close(&innocent->client);
}

struct crowd {
	struct innocent *member;
	uint32_t count;
};

/*
 * Starts two innocent threads for each engine. With @may_lose all of their memory is in the
 * aperture, whose content a reset doesn't lose: a reset may lose their jobs only.
 */
static int crowd_start(struct crowd *crowd, const struct test_device *dev, bool may_lose)
{
	uint32_t n;
	int ret = 0;

	crowd->count = 2 * dev->info.num_engines;
	crowd->member = calloc(crowd->count, sizeof(*crowd->member));
	for (n = 0; n < crowd->count && !ret; n++) {
		ret = innocent_open(&crowd->member[n], dev->fd, n / 2,
				    n % 2 || may_lose ? PAGODA_IN_APERTURE : VRAM_OR_NOT);
		crowd->member[n].may_lose = may_lose;
	}
	for (n = 0; n < crowd->count && !ret; n++)
		ret = -pthread_create(&crowd->member[n].thread, NULL, innocent_run,
				      &crowd->member[n]);
	return ret;
}

static void crowd_stop(struct __test_metadata *_metadata, struct crowd *crowd)
{
	uint32_t n;

	for (n = 0; n < crowd->count; n++)
		atomic_store(&crowd->member[n].stop, true);
	for (n = 0; n < crowd->count; n++) {
		struct innocent *innocent = &crowd->member[n];

		pthread_join(innocent->thread, NULL);
		EXPECT_EQ(NULL, innocent->wrong)
			TH_LOG("member %u: %s, %d, job %u", n, innocent->wrong, innocent->ret,
			       innocent->jobs);
		EXPECT_LT(1, innocent->jobs);
		innocent_close(innocent);
	}
	free(crowd->member);
}

TEST_F(reset, faults_storm)
{
	uint32_t engines = self->dev.info.num_engines, n;
	uint64_t before = resets(&self->client);
	struct crowd crowd;

	ASSERT_EQ(0, crowd_start(&crowd, &self->dev, false));
	for (n = 0; n < 28; n++)
		EXPECT_PUNISHED(self->fd, n % engines, false, n);
	crowd_stop(_metadata, &crowd);
	/* No recovery needed a reset of the whole device. */
	EXPECT_EQ(before, resets(&self->client));
}

struct hanging {
	pthread_t thread;
	int fd;
	uint32_t engine;
	uint32_t how;
	const char *wrong;
};

static void *hanging_run(void *arg)
{
	struct hanging *hanging = arg;

	hanging->wrong = punish(hanging->fd, hanging->engine, true, hanging->how);
	return NULL;
}

/* Two contexts on each engine have a job that hangs, on all engines at once. */
TEST_F(reset, hangs_storm)
{
	uint32_t engines = self->dev.info.num_engines, count = 2 * engines, n;
	uint64_t before = resets(&self->client);
	struct hanging hanging[32];
	struct crowd crowd;

	ASSERT_GE(32, count);
	ASSERT_EQ(0, crowd_start(&crowd, &self->dev, false));
	for (n = 0; n < count; n++) {
		hanging[n] = (struct hanging) {
			.fd = self->fd,
			.engine = n / 2,
			.how = n,
		};
		ASSERT_EQ(0, pthread_create(&hanging[n].thread, NULL, hanging_run, &hanging[n]));
	}
	for (n = 0; n < count; n++) {
		pthread_join(hanging[n].thread, NULL);
		EXPECT_EQ(NULL, hanging[n].wrong)
			TH_LOG("%s", hanging[n].wrong);
	}
	crowd_stop(_metadata, &crowd);
	EXPECT_EQ(before, resets(&self->client));
}

/*
 * Submits four jobs that hang when they run. The last job first waits for value 1000 of the fence
 * @never, which no job promises: a job that hangs or is lost still stores the value it promised.
 */
static int hopeless_start(struct client bad[4], uint32_t engines)
{
	int fd = pagoda_open(), ret, n;
	uint32_t never;

	if (fd < 0)
		return fd;
	ret = pagoda_fence_create_flags(fd, DRM_PAGODA_FENCE_NO_MAX_ON_RESET, 1, &never);
	for (n = 0; n < 4 && !ret; n++) {
		ret = client_open(&bad[n], fd, n % engines);
		if (ret)
			break;
		hang_somehow(&bad[n], n);
		ret = submit_fences(&bad[n], n == 3 ? never : 0, 1000, never, 10 + n);
	}
	return ret;
}

/* In the child: writes to @report what hopeless_start() returned, then waits to be killed. */
static void hopeless_run(int report, uint32_t engines)
{
	struct client bad[4];
	int ret = hopeless_start(bad, engines);

	if (write(report, &ret, sizeof(ret)) != sizeof(ret))
		_exit(1);
	while (!ret)
		client_wait(&bad[0]);
	_exit(1);
}

/*
 * A process that has jobs that hang and a job that waits is killed between two resets of the
 * device: the process ends within LIMIT, and another client loses no more than jobs.
 */
TEST_F(reset, killed)
{
	struct crowd crowd;
	int64_t began;
	int status, ends[2], ret;
	pid_t pid;

	ASSERT_EQ(0, pipe(ends));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		hopeless_run(ends[1], self->dev.info.num_engines);
	/* So that read() returns if the child dies. */
	close(ends[1]);
	ASSERT_EQ(0, crowd_start(&crowd, &self->dev, true));
	ASSERT_EQ(sizeof(ret), read(ends[0], &ret, sizeof(ret)));
	EXPECT_EQ(0, ret);
	ASSERT_EQ(0, reset_device());
	began = pagoda_now();
	kill(pid, SIGKILL);
	EXPECT_EQ(0, reset_device());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_GT(LIMIT, pagoda_now() - began);
	crowd_stop(_metadata, &crowd);
	close(ends[0]);
}

struct opener {
	pthread_t thread;
	int fd;
	atomic_uint opened;
	atomic_bool stop;
	atomic_int ret;
};

static void *opener_run(void *arg)
{
	struct opener *opener = arg;
	struct client client;

	while (!atomic_load(&opener->stop) && !opener->ret) {
		opener->ret = client_open(&client, opener->fd, 0);
		if (!opener->ret)
			client_close(&client);
		atomic_fetch_add(&opener->opened, 1);
	}
	return NULL;
}

/* Creating VMs and contexts succeeds during resets. */
TEST_F(reset, opened_meanwhile)
{
	struct opener opener = { .fd = self->fd };
	uint32_t n;

	ASSERT_EQ(0, pthread_create(&opener.thread, NULL, opener_run, &opener));
	for (n = 0; n < 8; n++) {
		while (atomic_load(&opener.opened) < 2 * n && !opener.ret)
			usleep(1000);
		EXPECT_EQ(0, reset_device());
	}
	atomic_store(&opener.stop, true);
	pthread_join(opener.thread, NULL);
	EXPECT_EQ(0, opener.ret);
}

/* --- descriptions of a fault ------------------------------------------------------------------ */

/*
 * Returns the content of the first file that matches @pattern, at most 4 MiB, with a 0 behind the
 * content, in memory that the caller frees; NULL if there is no such file.
 */
static char *read_all(const char *pattern, size_t *size)
{
	int fd = open_first(pattern, O_RDONLY);
	size_t room = 4 * PAGODA_MIB;
	char *data;
	ssize_t got;

	if (fd < 0)
		return NULL;
	data = calloc(1, room);
	for (*size = 0; data && *size < room - 1; *size += got) {
		got = read(fd, data + *size, room - 1 - *size);
		if (got <= 0)
			break;
	}
	close(fd);
	return data;
}

/* Deletes coredumps: the kernel keeps a coredump until its file is written to, or for minutes. */
static void coredump_forget(void)
{
	int fd;

	while ((fd = open_first(COREDUMPS, O_WRONLY)) >= 0) {
		if (write(fd, "1", 1) < 0)
			printf("# a coredump stays\n");
		close(fd);
		usleep(10000);
	}
}

/*
 * Sleeps until 1.1 seconds after the failure that @text describes: the driver describes at most one
 * failure a second.
 */
static void pause_after(const char *text)
{
	unsigned long long then;
	int64_t left;

	if (!text || sscanf(text, "time: %llu ns", &then) != 1)
		return;
	left = then + PAGODA_SEC * 11 / 10 - pagoda_now();
	if (left > 0)
		usleep(left / 1000);
}

static void expect_text(struct __test_metadata *_metadata, const struct client *bad, uint64_t at,
			const char *text)
{
	char line[128];

	snprintf(line, sizeof(line), "address: %#llx, access write, level ",
		 (unsigned long long)at);
	EXPECT_NE(NULL, strstr(text, line));
	EXPECT_NE(NULL, strstr(text, "job 1 faulted on exec0\n"));
	snprintf(line, sizeof(line), "command: opcode %u at %#llx\n", VIRTIO_PAGODA_COMMAND_STORE,
		 (unsigned long long)bad->program.address);
	EXPECT_NE(NULL, strstr(text, line));
	snprintf(line, sizeof(line), "\t%#llx-%#llx alloc ",
		 (unsigned long long)bad->program.address,
		 (unsigned long long)bad->program.address + CODE_SIZE);
	EXPECT_NE(NULL, strstr(text, line));
	/* @text also has the job, the state of queues, the last paging operations and resets. */
	snprintf(line, sizeof(line), "\t\tbuffer %#llx, %u bytes\n",
		 (unsigned long long)bad->program.address, bad->program.used);
	EXPECT_NE(NULL, strstr(text, line));
	EXPECT_NE(NULL, strstr(text, "exec0:"));
	EXPECT_NE(NULL, strstr(text, "executes: device"));
	EXPECT_NE(NULL, strstr(text, "buffer: seqno "));
	EXPECT_NE(NULL, strstr(text, " alloc="));
	EXPECT_NE(NULL, strstr(text, "resets: "));
}

TEST_F(reset, is_written_down)
{
	uint64_t at = NOWHERE + 0x1230;
	struct client bad;
	size_t size = 0;
	uint32_t head[4];
	char *text;

	ASSERT_EQ(0, client_open(&bad, self->fd, 0));
	/* A read waits until the last failure's description and coredump are complete. */
	text = read_all(FILES "failure", &size);
	coredump_forget();
	pause_after(text);
	free(text);
	pagoda_store(&bad.program, at, 1);
	ASSERT_EQ(0, client_run(&bad, NULL, 0));
	text = read_all(FILES "failure", &size);
	ASSERT_NE(NULL, text);
	expect_text(_metadata, &bad, at, text);
	free(text);
	/* If the kernel has device coredumps, one of them has such a text behind the journal. */
	if (!access("/sys/class/devcoredump", F_OK)) {
		text = read_all(COREDUMPS, &size);
		ASSERT_NE(NULL, text);
		EXPECT_EQ(0, memcmp(text, "PGDAJRN1", 8));
		memcpy(head, text, sizeof(head));
		ASSERT_LT(40 + (uint64_t)head[2] * head[3], size);
		expect_text(_metadata, &bad, at, text + 40 + (uint64_t)head[2] * head[3]);
		free(text);
		coredump_forget();
	}
	client_close(&bad);
}

TEST_HARNESS_MAIN
