// SPDX-License-Identifier: GPL-2.0
/*
 * The device is unbound from its driver while all of it is busy: jobs that never end, jobs behind
 * these, paging queues, evictions for want of room, address spaces that change, memory shared with
 * other devices, threads that access mappings, and a thread that waits for events. All work ends,
 * and neither VRAM in use nor references to the driver's module are left.
 */
#include <poll.h>

#include "lib/pagoda_prime.h"
#include "lib/submit_client.h"
#include "lib/unplug_fixture.h"

#define RUNNERS		2
#define JOBS		6	/* of each runner, behind its job that doesn't end */
#define PAGERS		3
#define PIECES		4	/* allocations of each pager, a quarter of VRAM each */
#define TOUCHERS	3
#define ROUNDS		3

/* A client whose first job doesn't end by itself; @fences are sync_files of all its jobs. */
struct runner {
	struct client client;
	int fences[1 + JOBS];
};

/*
 * A thread whose client maps, makes resident and evicts its allocations, one after the other, with
 * a paging queue and without. The allocations of a pager are as large together as VRAM.
 */
struct pager {
	int fd;
	uint64_t size;
	struct drm_pagoda_vm_create vm;
	uint32_t handles[PIECES];
	uint32_t queue;
	uint32_t syncobj;
	atomic_int rounds;
	int error;
	pthread_t thread;
};

struct toucher {
	uint64_t *map;
	uint64_t words;
	atomic_bool stop;
	atomic_int rounds;
	pthread_t thread;
};

struct listener {
	int events;
	atomic_int id;
	uint32_t lost;
	short last;
	pthread_t thread;
};

FIXTURE(storm) {
	struct test_device dev;
	char name[64];
	int modules;
	struct runner runners[RUNNERS];
	struct pager pagers[PAGERS];
	struct toucher touchers[TOUCHERS];
	struct listener listener;
	int vgem;
	int shared;
	int udmabuf;
	uint64_t *memory;
	uint64_t size;
};

/* Returns the reference count of the driver's module, or -1. */
static int references(void)
{
	FILE *file = fopen("/sys/module/pagoda/refcnt", "r");
	int count = -1;

	if (file && fscanf(file, "%d", &count) != 1)
		count = -1;
	if (file)
		fclose(file);
	return count;
}

FIXTURE_SETUP(storm)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	ASSERT_EQ(0, device_name(self->name, sizeof(self->name)));
	if (!self->dev.info.num_engines)
		SKIP(return, "the device executes no commands");
	ASSERT_EQ(0, test_vram_settled(self->dev.fd, 0));
	self->modules = references();
	self->size = 16 * self->dev.page;
}

/* If a test ended without a bound device, binds the device for the next test. */
FIXTURE_TEARDOWN(storm)
{
	char name[64];

	if (device_name(name, sizeof(name)))
		EXPECT_EQ(0, device_bind(self->name));
}

/* ---- jobs --------------------------------------------------------------------------------- */

/*
 * Submits the commands appended to the program since the last job as a fenced job. Returns a
 * sync_file of the job's fence or a negative errno.
 */
static int runner_submit(struct client *client)
{
	uint32_t syncobj;
	struct drm_pagoda_sync sync = { .flags = DRM_PAGODA_SYNC_SIGNAL };
	struct drm_pagoda_command_buffer buffer = {
		client->program.address + client->start, client->program.used - client->start,
	};
	struct drm_pagoda_submit args = {
		.buffers = { (uintptr_t)&buffer, 1, sizeof(buffer) },
		.syncs = { (uintptr_t)&sync, 1, sizeof(sync) },
		.context = client->context,
		.flags = DRM_PAGODA_SUBMIT_FENCED,
	};
	struct drm_syncobj_handle handle = {
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	int ret = pagoda_syncobj_create(client->fd, &syncobj);

	sync.handle = syncobj;
	handle.handle = syncobj;
	client->start = client->program.used;
	if (!ret)
		ret = pagoda_submit_args(client->fd, &args);
	if (!ret)
		ret = pagoda_ioctl(client->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &handle);
	return ret ? ret : handle.fd;
}

static int runner_start(struct runner *runner, uint32_t engine)
{
	struct client *client = &runner->client;
	int n, ret = client_open(client, pagoda_open(), engine);

	if (ret)
		return ret;
	pagoda_forever(&client->program, 0);
	for (n = 0; n <= JOBS; n++) {
		if (n)
			pagoda_add(&client->program, client->program.address + CODE_SIZE - 8, 1, 0);
		runner->fences[n] = runner_submit(client);
		if (runner->fences[n] < 0)
			return runner->fences[n];
	}
	return 0;
}

static void runner_end(struct runner *runner)
{
	int n;

	for (n = 0; n <= JOBS; n++)
		close(runner->fences[n]);
	munmap(runner->client.program.memory, CODE_SIZE);
	close(runner->client.fd);
}

/* ---- paging ------------------------------------------------------------------------------- */

static int pager_open(struct pager *pager, uint64_t vram)
{
	int n, ret;

	*pager = (struct pager) { .fd = pagoda_open(), .size = vram / 4 };
	ret = pagoda_vm_create(pager->fd, &pager->vm);
	if (!ret)
		ret = pagoda_paging_queue_create(pager->fd, 0, &pager->queue, &pager->syncobj);
	for (n = 0; n < PIECES && !ret; n++)
		ret = pagoda_create(pager->fd, pager->size, CPU,
				    PAGODA_IN_VRAM | PAGODA_IN_APERTURE, &pager->handles[n]);
	return ret;
}

/* Returns whether @error is an errno that calls answer while other clients have the room. */
static bool is_busy(int error)
{
	return error == -ENOMEM || error == -EBUSY;
}

static int pager_round(struct pager *pager)
{
	uint64_t value, here = test_round_up(pager->vm.start, 2 * PAGODA_MIB);
	int n, ret = 0;

	for (n = 0; n < PIECES && !ret; n++) {
		uint32_t *handle = &pager->handles[n];

		ret = pagoda_bind_map(pager->fd, pager->vm.vm, *handle, here, 0, pager->size);
		if (!ret)
			ret = n % 2 ? pagoda_make_resident(pager->fd, handle, 1, 0, 0, NULL) :
				      pagoda_list_add(pager->fd, pager->queue, handle, 1, 0, &value,
						      NULL);
		if (is_busy(ret))
			ret = 0;
		else if (!ret && n % 2)
			ret = pagoda_evict(pager->fd, handle, 1, 0, 0);
		else if (!ret)
			ret = pagoda_list_remove(pager->fd, pager->queue, handle, 1, 0, &value);
		if (!ret)
			ret = pagoda_bind_range(pager->fd, pager->vm.vm, DRM_PAGODA_BIND_UNMAP,
						here, pager->size);
		if (is_busy(ret))
			ret = 0;
	}
	return ret;
}

static void *pager_run(void *arg)
{
	struct pager *pager = arg;

	while (!pager->error) {
		pager->error = pager_round(pager);
		if (!pager->error)
			atomic_fetch_add(&pager->rounds, 1);
	}
	return NULL;
}

/* ---- mappings and events ------------------------------------------------------------------ */

static void *toucher_run(void *arg)
{
	struct toucher *toucher = arg;
	uint64_t n, sum = 0;

	while (!atomic_load(&toucher->stop)) {
		for (n = 0; n < toucher->words; n += 512) {
			sum += __atomic_load_n(&toucher->map[n], __ATOMIC_RELAXED);
			__atomic_store_n(&toucher->map[n], sum, __ATOMIC_RELAXED);
		}
		atomic_fetch_add(&toucher->rounds, 1);
	}
	return NULL;
}

/* Waits until @rounds has reached @goal, at most for TEST_PATIENCE. Returns false if it hasn't. */
static bool reaches(const atomic_int *rounds, int goal)
{
	int64_t end = pagoda_now() + TEST_PATIENCE;

	while (atomic_load(rounds) < goal && pagoda_now() < end)
		usleep(1000);
	return atomic_load(rounds) >= goal;
}

static void *listener_run(void *arg)
{
	struct listener *listener = arg;
	struct pollfd poll_fd = { .fd = listener->events, .events = POLLIN };
	struct drm_pagoda_event event;

	do {
		atomic_store(&listener->id, gettid());
		poll(&poll_fd, 1, -1);
		while (read(listener->events, &event, sizeof(event)) == sizeof(event))
			listener->lost += event.type == DRM_PAGODA_EVENT_DEVICE_LOST;
	} while (!(poll_fd.revents & POLLHUP));
	listener->last = poll_fd.revents;
	return NULL;
}

/*
 * Exports an allocation, which vgem imports and *@map maps; imports memory of udmabuf and makes
 * that memory resident. Returns 0 or a negative errno.
 */
static int share(struct _test_data_storm *self, uint64_t **map)
{
	uint32_t handle, theirs;
	int ret = pagoda_create(self->dev.fd, self->size, CPU, PAGODA_IN_VRAM | PAGODA_IN_APERTURE,
				&handle);

	if (ret)
		return ret;
	self->vgem = vgem_open();
	self->shared = prime_export(self->dev.fd, handle);
	*map = mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED, self->shared, 0);
	if (*map == MAP_FAILED)
		return -errno;
	ret = prime_import(self->vgem, self->shared, &theirs);
	self->udmabuf = udmabuf_create(self->size, &self->memory);
	if (!ret)
		ret = prime_import(self->dev.fd, self->udmabuf, &handle);
	return ret ? ret : pagoda_make_resident_wait(self->dev.fd, handle);
}

static int touchers_start(struct _test_data_storm *self)
{
	uint64_t *shared;
	int n, ret = share(self, &shared);

	for (n = 0; n < TOUCHERS && !ret; n++) {
		struct toucher *toucher = &self->touchers[n];
		struct pager *pager = &self->pagers[n];

		/* The first thread accesses the shared allocation, others those of pagers. */
		*toucher = (struct toucher) {
			.map = n ? pagoda_map(pager->fd, pager->handles[n], pager->size) : shared,
			.words = (n ? pager->size : self->size) / 8,
		};
		ret = toucher->map ? pthread_create(&toucher->thread, NULL, toucher_run, toucher) :
				     -errno;
	}
	return ret;
}

TEST_F(storm, ends_everything)
{
	struct listener *listener = &self->listener;
	int n, i;

	for (n = 0; n < PAGERS; n++)
		ASSERT_EQ(0, pager_open(&self->pagers[n], self->dev.vram.size));
	for (n = 0; n < RUNNERS; n++)
		ASSERT_EQ(0, runner_start(&self->runners[n], n % self->dev.info.num_engines));
	listener->events = pagoda_events(self->dev.fd, 0);
	ASSERT_LE(0, listener->events);
	ASSERT_EQ(0, pthread_create(&listener->thread, NULL, listener_run, listener));
	ASSERT_EQ(0, touchers_start(self));
	for (n = 0; n < PAGERS; n++)
		ASSERT_EQ(0, pthread_create(&self->pagers[n].thread, NULL, pager_run,
					    &self->pagers[n]));
	for (n = 0; n < PAGERS; n++)
		ASSERT_TRUE(reaches(&self->pagers[n].rounds, ROUNDS));
	for (n = 0; n < TOUCHERS; n++)
		ASSERT_TRUE(reaches(&self->touchers[n].rounds, 1));
	ASSERT_TRUE(test_asleep(&listener->id));
	ASSERT_EQ(0, device_unbind(self->name));

	for (n = 0; n < PAGERS; n++) {
		ASSERT_EQ(0, pthread_join(self->pagers[n].thread, NULL));
		EXPECT_EQ(-ENODEV, self->pagers[n].error);
	}
	for (n = 0; n < RUNNERS; n++)
		for (i = 0; i <= JOBS; i++)
			EXPECT_TRUE(prime_signalled(self->runners[n].fences[i], 0))
				TH_LOG("job %d of runner %d", i, n);
	ASSERT_EQ(0, pthread_join(listener->thread, NULL));
	EXPECT_EQ(1, listener->lost);
	EXPECT_TRUE(listener->last & POLLHUP);
	/* Mappings can still be accessed: the second further round begins after the unbinding. */
	for (n = 0; n < TOUCHERS; n++) {
		i = atomic_load(&self->touchers[n].rounds);
		EXPECT_TRUE(reaches(&self->touchers[n].rounds, i + 2));
		atomic_store(&self->touchers[n].stop, true);
		ASSERT_EQ(0, pthread_join(self->touchers[n].thread, NULL));
		munmap(self->touchers[n].map, 8 * self->touchers[n].words);
	}

	for (n = 0; n < PAGERS; n++)
		close(self->pagers[n].fd);
	for (n = 0; n < RUNNERS; n++)
		runner_end(&self->runners[n]);
	close(listener->events);
	close(self->vgem);
	close(self->shared);
	close(self->udmabuf);
	munmap(self->memory, self->size);
	close(self->dev.fd);
	/* The driver's last work, which has a reference, may end after the last file is closed. */
	for (n = 0; n < 600 && references() > 0; n++)
		usleep(100000);
	EXPECT_EQ(0, references());
	ASSERT_EQ(0, device_bind(self->name));
	ASSERT_EQ(0, test_device_open(&self->dev));
	EXPECT_EQ(0, test_vram_settled(self->dev.fd, 0));
	EXPECT_EQ(self->modules, references());
	close(self->dev.fd);
}

TEST_HARNESS_MAIN
