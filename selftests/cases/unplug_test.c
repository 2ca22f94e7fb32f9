// SPDX-License-Identifier: GPL-2.0
/*
 * The device is unbound from its driver while clients use it, as in a hot unplug, and bound again.
 * Calls of these clients answer ENODEV, waits end, and listeners read DEVICE_LOST. New clients can
 * use the device that was bound again, and no VRAM is missing.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "lib/pagoda_prime.h"
#include "lib/unplug_fixture.h"
#include "lib/withheld.h"

#define SEED		83
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define BOS		4
#define PAGES		16
#define WORKERS		4

/* A client's objects, with which it makes calls after the device is gone. */
struct client {
	int fd;
	struct drm_pagoda_vm_create vm;
	uint32_t context;
	uint32_t fence;
	uint32_t syncobj;
	uint32_t bos[BOS];
	const uint64_t *value;
	uint8_t *map;
	uint64_t size;
};

FIXTURE(unplug) {
	struct test_device dev;
	char name[64];
	uint64_t usage;
	atomic_int rounds;
};

FIXTURE_SETUP(unplug)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	ASSERT_EQ(0, device_name(self->name, sizeof(self->name)));
	self->usage = test_vram_settled(self->dev.fd, 0);
}

/* If a test ended without a bound device, binds the device for the next test. */
FIXTURE_TEARDOWN(unplug)
{
	char name[64];

	close(self->dev.fd);
	if (device_name(name, sizeof(name)))
		EXPECT_EQ(0, device_bind(self->name));
}

/* ---- clients --------------------------------------------------------------------------------- */

/* Creates allocations (the first for the aperture, else VRAM), makes them resident, maps them. */
static int client_fill(struct client *client)
{
	uint32_t n;
	int ret = 0;

	for (n = 0; n < BOS && !ret; n++) {
		ret = pagoda_create(client->fd, client->size, CPU,
				    n ? PAGODA_IN_VRAM : PAGODA_IN_APERTURE, &client->bos[n]);
		if (!ret)
			ret = pagoda_make_resident_wait(client->fd, client->bos[n]);
		if (!ret)
			ret = pagoda_bind_map(client->fd, client->vm.vm, client->bos[n],
					      client->vm.start + n * client->size, 0,
					      client->size);
	}
	return ret;
}

static int client_make(struct client *client, int fd, uint64_t page)
{
	int ret;

	*client = (struct client) { .fd = fd, .size = PAGES * page };
	ret = pagoda_vm_create(fd, &client->vm);
	if (!ret)
		ret = pagoda_context_create(fd, client->vm.vm, &client->context);
	if (!ret)
		ret = pagoda_fence_create(fd, 7, &client->fence, &client->value);
	if (!ret)
		ret = pagoda_syncobj_create(fd, &client->syncobj);
	return ret ? ret : client_fill(client);
}

/* Makes the call of number @what and returns its result; 1 if there is no such call. */
static int client_ask(struct client *client, int what)
{
	struct drm_pagoda_allocation_info info;
	struct drm_pagoda_device_info device;
	struct drm_pagoda_vm_create vm;
	uint64_t number;
	uint32_t id;

	switch (what) {
	case 0: return pagoda_device(client->fd, &device);
	case 1: return pagoda_create_vram(client->fd, client->size, &id);
	case 2: return pagoda_mmap_offset(client->fd, client->bos[1], &number);
	case 3: return pagoda_info(client->fd, client->bos[1], &info);
	case 4: return pagoda_residency(client->fd, client->bos[1]);
	case 5: return pagoda_wait(client->fd, client->bos[1], PAGODA_SEC);
	case 6: return pagoda_make_resident(client->fd, client->bos, BOS, 0, 0, NULL);
	case 7: return pagoda_evict(client->fd, client->bos, BOS, client->syncobj, 1);
	case 8: return pagoda_vm_create(client->fd, &vm);
	case 9: return pagoda_bind_map(client->fd, client->vm.vm, client->bos[1],
				       client->vm.start, 0, client->size);
	case 10: return pagoda_bind_range(client->fd, client->vm.vm, DRM_PAGODA_BIND_UNMAP,
					  client->vm.start, client->size);
	case 11: return pagoda_context_create(client->fd, client->vm.vm, &id);
	case 12: return pagoda_context_destroy(client->fd, client->context);
	case 13: return pagoda_vm_destroy(client->fd, client->vm.vm);
	case 14: return pagoda_fence_create(client->fd, 1, &id, NULL);
	case 15: return pagoda_make_resident_fence(client->fd, client->bos[1], client->fence, 9);
	case 16: return pagoda_fence_destroy(client->fd, client->fence);
	case 17: return pagoda_close(client->fd, client->bos[1]);
	case 18: return pagoda_syncobj_query(client->fd, client->syncobj, &number);
	}
	return 1;
}

/* Expects that a new client can use the device, and that VRAM's usage is as before the test. */
static void expect_works(struct __test_metadata *_metadata, struct _test_data_unplug *self)
{
	struct client client;
	int fd = pagoda_open();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(self->usage, test_vram_settled(fd, self->usage));
	EXPECT_EQ(0, client_make(&client, fd, self->dev.page));
	EXPECT_EQ(0, pagoda_make_resident_fence(fd, client.bos[1], client.fence, 9));
	munmap((void *)client.value, self->dev.page);
	close(fd);
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST_F(unplug, what_is_held_can_be_closed)
{
	struct client client;
	int what, ret;

	ASSERT_EQ(0, client_make(&client, self->dev.fd, self->dev.page));
	client.map = pagoda_map(client.fd, client.bos[1], client.size);
	ASSERT_NE(NULL, client.map);
	pagoda_fill(client.map, pagoda_key(SEED, 1, 0), 0, client.size);
	/* The test doesn't wait for the end of this work before it unbinds the device. */
	ASSERT_EQ(0, pagoda_evict(client.fd, client.bos, BOS, client.syncobj, 1));
	ASSERT_EQ(0, pagoda_make_resident_fence(client.fd, client.bos[2], client.fence, 8));
	ASSERT_EQ(0, device_unbind(self->name));

	for (what = 0; (ret = client_ask(&client, what)) != 1; what++)
		EXPECT_EQ(-ENODEV, ret) {
			TH_LOG("request %d", what);
		}
	EXPECT_EQ(19, what);
	/* The content is gone with the device: the mapping reads as zeros and raises no SIGBUS. */
	EXPECT_EQ(-1, pagoda_check_zero(client.map, client.size));
	pagoda_fill(client.map, pagoda_key(SEED, 2, 0), 0, client.size);
	EXPECT_EQ(UINT64_MAX, *client.value);
	EXPECT_EQ(-ENODEV, pagoda_open());

	EXPECT_EQ(0, munmap(client.map, client.size));
	EXPECT_EQ(0, munmap((void *)client.value, self->dev.page));
	EXPECT_EQ(0, close(self->dev.fd));
	ASSERT_EQ(0, device_bind(self->name));
	expect_works(_metadata, self);
}

/* The device is bound again while an earlier client still has its file open: new clients work. */
TEST_F(unplug, comes_back_before_it_is_closed)
{
	struct client client;

	ASSERT_EQ(0, client_make(&client, self->dev.fd, self->dev.page));
	ASSERT_EQ(0, device_unbind(self->name));
	ASSERT_EQ(0, device_bind(self->name));
	EXPECT_EQ(-ENODEV, pagoda_make_resident_wait(client.fd, client.bos[1]));
	expect_works(_metadata, self);
	EXPECT_EQ(0, munmap((void *)client.value, self->dev.page));
	EXPECT_EQ(0, close(self->dev.fd));
	expect_works(_metadata, self);
}

/* A listener reports DEVICE_LOST once, then end of file, also when the DRM file is closed. */
TEST_F(unplug, is_told)
{
	struct pollfd poll_fd = { .fd = pagoda_events(self->dev.fd, 0), .events = POLLIN };
	struct drm_pagoda_event event;
	uint32_t handle, lost = 0;
	ssize_t got;

	ASSERT_LE(0, poll_fd.fd);
	ASSERT_EQ(0, pagoda_create_vram(self->dev.fd, self->dev.page, &handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->dev.fd, handle));
	ASSERT_EQ(0, device_unbind(self->name));
	ASSERT_EQ(0, close(self->dev.fd));
	while ((got = read(poll_fd.fd, &event, sizeof(event))) == sizeof(event))
		lost += event.type == DRM_PAGODA_EVENT_DEVICE_LOST;
	EXPECT_EQ(0, got);
	EXPECT_EQ(1, lost);
	EXPECT_EQ(1, poll(&poll_fd, 1, 0));
	EXPECT_EQ(POLLHUP, poll_fd.revents);
	EXPECT_EQ(0, close(poll_fd.fd));
	ASSERT_EQ(0, device_bind(self->name));
	expect_works(_metadata, self);
}

/*
 * A device that reports NEEDS_RESET in its status counts as gone: listeners read DEVICE_LOST and
 * end of file, although no client has made a call since the report.
 */
TEST_F(unplug, breaks)
{
	int events = pagoda_events(self->dev.fd, 0);
	struct drm_pagoda_event event = {};
	struct client client;

	ASSERT_LE(0, events);
	ASSERT_EQ(0, client_make(&client, self->dev.fd, self->dev.page));
	ASSERT_EQ(0, driver_write(FOLDER "inject", "action=break"));
	while (event.type != DRM_PAGODA_EVENT_DEVICE_LOST)
		ASSERT_EQ(sizeof(event), read(events, &event, sizeof(event)));
	EXPECT_EQ(0, read(events, &event, sizeof(event)));
	EXPECT_EQ(0, close(events));
	munmap((void *)client.value, self->dev.page);
	ASSERT_EQ(0, device_unbind(self->name));
	ASSERT_EQ(0, close(self->dev.fd));
	ASSERT_EQ(0, device_bind(self->name));
	expect_works(_metadata, self);
}

/* An allocation that a client shares with vgem, and memory of udmabuf that the client imports. */
struct sharer {
	int vgem;
	int ours;
	int udmabuf;
	uint32_t handle;
	uint32_t theirs;
	uint32_t import;
	uint64_t size;
	uint64_t *map;
	uint64_t *memory;
};

/*
 * Exports an allocation, which vgem imports and the CPU maps; imports memory of udmabuf and makes
 * that memory resident; writes SEED to both. Returns 0 or a negative errno.
 */
static int sharer_make(struct sharer *sharer, int fd, uint64_t page)
{
	int ret;

	*sharer = (struct sharer) { .vgem = vgem_open(), .size = PAGES * page };
	ret = pagoda_create(fd, sharer->size, CPU, PAGODA_IN_VRAM | PAGODA_IN_APERTURE,
			    &sharer->handle);
	if (!ret)
		ret = pagoda_make_resident_wait(fd, sharer->handle);
	if (ret)
		return ret;
	sharer->ours = prime_export(fd, sharer->handle);
	ret = prime_import(sharer->vgem, sharer->ours, &sharer->theirs);
	sharer->map = mmap(NULL, sharer->size, PROT_READ | PROT_WRITE, MAP_SHARED, sharer->ours, 0);
	if (ret || sharer->map == MAP_FAILED)
		return ret ? ret : -errno;
	sharer->udmabuf = udmabuf_create(sharer->size, &sharer->memory);
	ret = prime_import(fd, sharer->udmabuf, &sharer->import);
	if (!ret)
		ret = pagoda_make_resident_wait(fd, sharer->import);
	sharer->map[3] = SEED;
	sharer->memory[3] = SEED;
	return ret;
}

/*
 * When the device is gone, imported memory keeps its content. An exported allocation is zeros in
 * mappings of its dma-buf, and can't be exported, imported or synchronized any more.
 */
TEST_F(unplug, what_is_shared_can_be_closed)
{
	struct sharer sharer;
	uint32_t handle, round;
	int vgem, fd;

	for (round = 0; round < 2; round++) {
		fd = pagoda_open();
		ASSERT_EQ(0, sharer_make(&sharer, fd, self->dev.page));
		ASSERT_EQ(0, device_unbind(self->name));
		EXPECT_EQ(0, sharer.map[3]);
		EXPECT_EQ(SEED, sharer.memory[3]);
		EXPECT_EQ(-ENODEV, prime_sync(sharer.ours, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
		EXPECT_EQ(-ENODEV, prime_export(fd, sharer.handle));
		EXPECT_EQ(-ENODEV, prime_import(fd, sharer.udmabuf, &handle));
		vgem = vgem_open();
		EXPECT_EQ(-ENODEV, prime_import(vgem, sharer.ours, &handle));
		/* Round 0 closes its files before the device is bound again, round 1 after. */
		if (round)
			ASSERT_EQ(0, device_bind(self->name));
		EXPECT_EQ(0, pagoda_close(sharer.vgem, sharer.theirs));
		close(fd);
		if (round) {
			fd = pagoda_open();
			EXPECT_EQ(-ENODEV, prime_import(fd, sharer.ours, &handle));
			close(fd);
		}
		EXPECT_EQ(0, munmap(sharer.map, sharer.size));
		close(sharer.ours);
		close(sharer.udmabuf);
		EXPECT_EQ(SEED, sharer.memory[3]);
		EXPECT_EQ(0, munmap(sharer.memory, sharer.size));
		close(sharer.vgem);
		close(vgem);
		if (!round) {
			close(self->dev.fd);
			ASSERT_EQ(0, device_bind(self->name));
		}
	}
	expect_works(_metadata, self);
}

struct waiter {
	int fd;
	struct drm_pagoda_fence_value list[2];
	uint32_t count;
	uint32_t first;
	int ret;
	atomic_int id;
	pthread_t thread;
};

static void *waiter_run(void *arg)
{
	struct waiter *waiter = arg;

	atomic_store(&waiter->id, gettid());
	waiter->ret = pagoda_fence_wait_list(waiter->fd, waiter->list, waiter->count,
					     DRM_PAGODA_FENCE_WAIT_ANY, 100 * PAGODA_SEC,
					     &waiter->first);
	return NULL;
}

/*
 * When the device is gone, the first fence gets the maximum value, which ends its waits. The second
 * fence (NO_MAX_ON_RESET) doesn't: a wait for this fence alone fails, and @never isn't signalled.
 */
TEST_F(unplug, ends_waits)
{
	struct drm_pagoda_fence_value list[2] = { { .value = 9 }, { .value = 9 } };
	int fd = self->dev.fd, event = eventfd(0, EFD_CLOEXEC), never = eventfd(0, EFD_CLOEXEC), i;
	struct pollfd told[2] = { { event, POLLIN }, { never, POLLIN } };
	struct waiter waiter[3] = { 0 };

	ASSERT_EQ(0, pagoda_fence_create(fd, 7, &list[0].fence, NULL));
	ASSERT_EQ(0, pagoda_fence_create_flags(fd, DRM_PAGODA_FENCE_NO_MAX_ON_RESET, 7,
					       &list[1].fence));
	ASSERT_EQ(0, pagoda_fence_notify(fd, &list[0], 1, 0, event));
	ASSERT_EQ(0, pagoda_fence_notify(fd, &list[1], 1, 0, never));
	for (i = 0; i < 3; i++) {
		waiter[i].fd = fd;
		waiter[i].count = i == 2 ? 2 : 1;
		waiter[i].list[0] = list[i == 0 ? 0 : 1];
		waiter[i].list[1] = list[0];
		ASSERT_EQ(0, pthread_create(&waiter[i].thread, NULL, waiter_run, &waiter[i]));
		/* A wait that begins after the device is gone would only return -ENODEV. */
		ASSERT_TRUE(test_asleep(&waiter[i].id));
	}
	ASSERT_EQ(0, device_unbind(self->name));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_join(waiter[i].thread, NULL));
	PAGODA_PROVES(C184);
	EXPECT_EQ(0, waiter[0].ret);
	EXPECT_EQ(-ENODEV, waiter[1].ret);
	EXPECT_EQ(0, waiter[2].ret);
	EXPECT_EQ(1, waiter[2].first);
	EXPECT_EQ(1, poll(told, 2, 0));
	EXPECT_EQ(POLLIN, told[0].revents);
	EXPECT_EQ(-ENODEV, pagoda_fence_wait(fd, list[0].fence, 1, 0));
	EXPECT_EQ(-ENODEV, pagoda_fence_signal(fd, list[0].fence, 10));
	EXPECT_EQ(0, close(fd));
	close(event);
	close(never);
	ASSERT_EQ(0, device_bind(self->name));
	expect_works(_metadata, self);
}

struct withholder {
	int fd;
	struct withheld page;
};

static void *withholder_run(void *arg)
{
	struct withholder *withholder = arg;
	struct drm_pagoda_evict args = {
		.entries = { (uintptr_t)withholder->page.page, 1,
			     sizeof(struct drm_pagoda_residency_entry) },
	};

	return (void *)(intptr_t)pagoda_ioctl(withholder->fd, DRM_IOCTL_PAGODA_EVICT, &args);
}

/* The removal of the device doesn't wait for a call that waits for a page of its argument. */
TEST_F(unplug, waits_for_no_page)
{
	struct withholder withholder = { .fd = self->dev.fd };
	int ret = withheld_open(&withholder.page, self->dev.page);
	struct drm_pagoda_residency_entry *entry;
	pthread_t thread;
	void *result;

	if (ret == -EOPNOTSUPP)
		SKIP(return, "no userfaultfd");
	ASSERT_EQ(0, ret);
	entry = withholder.page.content;
	ASSERT_EQ(0, pagoda_create(self->dev.fd, self->dev.page, CPU, PAGODA_IN_VRAM,
				   &entry->handle));
	ASSERT_EQ(0, pthread_create(&thread, NULL, withholder_run, &withholder));
	ASSERT_EQ(0, withheld_is_wanted(&withholder.page));
	ASSERT_EQ(0, device_unbind(self->name));
	ASSERT_EQ(0, withheld_give(&withholder.page));
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(-ENODEV, (intptr_t)result);
	withheld_close(&withholder.page);
	EXPECT_EQ(0, close(self->dev.fd));
	ASSERT_EQ(0, device_bind(self->name));
	expect_works(_metadata, self);
}

/* Makes, moves and destroys objects of clients until a call fails. Returns its negative errno. */
static void *worker(void *arg)
{
	struct _test_data_unplug *self = arg;
	intptr_t ret = 0;

	while (!ret) {
		struct client client = {};
		int fd = pagoda_open();

		if (fd < 0)
			return (void *)(intptr_t)fd;
		ret = client_make(&client, fd, self->dev.page);
		if (!ret)
			ret = pagoda_evict(fd, client.bos, BOS, client.syncobj, 1);
		if (!ret)
			ret = pagoda_make_resident_fence(fd, client.bos[2], client.fence, 8);
		if (!ret)
			ret = pagoda_context_destroy(fd, client.context);
		if (!ret)
			ret = pagoda_vm_destroy(fd, client.vm.vm);
		if (client.value)
			munmap((void *)client.value, self->dev.page);
		close(fd);
		if (!ret)
			self->rounds++;
	}
	return (void *)ret;
}

TEST_F(unplug, while_clients_work)
{
	pthread_t threads[WORKERS];
	void *ret;
	int i;

	for (i = 0; i < WORKERS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, worker, self));
	while (self->rounds < 2 * WORKERS)
		usleep(1000);
	EXPECT_EQ(0, device_unbind(self->name));
	for (i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], &ret);
		EXPECT_EQ(-ENODEV, (intptr_t)ret);
	}
	EXPECT_EQ(0, close(self->dev.fd));
	ASSERT_EQ(0, device_bind(self->name));
	expect_works(_metadata, self);
}

/* Starts soak with its output in a pipe, of which *@output is the end to read. */
static pid_t start_soak(int *output)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl("/bin/soak", "soak", "--seconds", "600", "--clients", "2", NULL);
		_exit(200);
	}
	close(ends[1]);
	*output = ends[0];
	return pid;
}

/* soak, whose clients look for lost content, reports a skip, no loss, if the device is unbound. */
TEST_F(unplug, is_no_loss_for_soak)
{
	int64_t end = pagoda_now() + TEST_PATIENCE;
	char text[4096];
	int output = -1;
	size_t used = 0;
	ssize_t got;
	pid_t pid;

	if (access("/bin/soak", X_OK))
		SKIP(return, "no soak");
	pid = start_soak(&output);
	ASSERT_LT(0, pid);
	/* Wait until 3/4 of VRAM is in use, by soak's clients. */
	while (pagoda_usage(self->dev.fd, DRM_PAGODA_SEGMENT_VRAM) <
	       self->dev.vram.size * 3 / 4 && pagoda_now() < end)
		usleep(10000);
	usleep(500000);
	EXPECT_EQ(0, device_unbind(self->name));
	while ((got = read(output, text + used, sizeof(text) - 1 - used)) > 0)
		used += got;
	text[used] = '\0';
	close(output);
	EXPECT_EQ(KSFT_SKIP, test_child_status(pid));
	EXPECT_NE(NULL, strstr(text, "\nok 1 # SKIP the device was unplugged\n")) {
		TH_LOG("%s", text);
	}
	EXPECT_EQ(0, close(self->dev.fd));
	ASSERT_EQ(0, device_bind(self->name));
	expect_works(_metadata, self);
}

TEST_HARNESS_MAIN
