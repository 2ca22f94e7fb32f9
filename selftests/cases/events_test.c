// SPDX-License-Identifier: GPL-2.0
/*
 * Files of EVENTS: what a client reads of BUDGET_CHANGED, TRIM, EVICTED, CONTENT_LOST and
 * DEVICE_LOST, how often, and when a file ends. Events that the kernel may report late are waited
 * for, however long that takes.
 */
#include <poll.h>
#include <pthread.h>

#include "lib/pagoda_fdinfo.h"
#include "lib/pagoda_prime.h"
#include "lib/reset_fixture.h"

#define LOCAL	DRM_PAGODA_SEGMENT_GROUP_LOCAL
#define PIECES	16u

FIXTURE(events) {
	struct test_device dev;
	int fd;
	int other;
	int events;
	uint64_t size;
	uint64_t most;
	uint32_t bos[PIECES];
};

static uint64_t budget(int fd)
{
	struct drm_pagoda_query_memory_info info;

	return pagoda_memory_info(fd, LOCAL, &info) ? UINT64_MAX : info.budget;
}

static uint64_t usage(int fd)
{
	struct drm_pagoda_query_memory_info info;

	return pagoda_memory_info(fd, LOCAL, &info) ? UINT64_MAX : info.current_usage;
}

FIXTURE_SETUP(events)
{
	struct drm_pagoda_query_memory_info info;

	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	/* No memory of earlier clients is left: only what the test does changes budgets. */
	ASSERT_EQ(0, test_vram_settled(self->other, 0));
	ASSERT_EQ(0, test_aperture_settled(self->other, 0));
	self->size = self->dev.vram.size / 32;
	ASSERT_EQ(0, pagoda_memory_info(self->other, LOCAL, &info));
	self->most = info.available_for_reservation / self->dev.page * self->dev.page;
	self->events = pagoda_events(self->fd, 0);
	ASSERT_LE(0, self->events);
}

FIXTURE_TEARDOWN(events)
{
	close(self->events);
	close(self->fd);
	close(self->other);
}

static int read_one(int events, struct drm_pagoda_event *event)
{
	ssize_t got = read(events, event, sizeof(*event));

	return got < 0 ? -errno : got;
}

/*
 * Reads events, and drops them, until one of @type comes. Returns 0 or a negative errno: -ENODEV if
 * the file ends before.
 */
static int wait_for(int events, uint32_t type, struct drm_pagoda_event *event)
{
	int ret;

	do {
		ret = read_one(events, event);
		if (ret != sizeof(*event))
			return ret ? ret : -ENODEV;
	} while (event->type != type);
	return 0;
}

static bool is_readable(int events, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = events, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms) == 1 && poll_fd.revents == POLLIN;
}

TEST_F(events, budget_changed)
{
	uint64_t before = budget(self->fd), count = 0;
	struct drm_pagoda_event event;
	uint32_t n;

	EXPECT_FALSE(is_readable(self->events, 0));
	ASSERT_EQ(0, pagoda_set_reservation(self->other, LOCAL, self->most));
	EXPECT_TRUE(is_readable(self->events, -1));
	ASSERT_EQ(sizeof(event), read_one(self->events, &event));
	EXPECT_EQ(DRM_PAGODA_EVENT_BUDGET_CHANGED, event.type);
	EXPECT_EQ(LOCAL, event.group);
	EXPECT_EQ(1, event.count);
	EXPECT_EQ(before - self->most, event.value);
	EXPECT_EQ(budget(self->fd), event.value);
	EXPECT_FALSE(is_readable(self->events, 0));
	/* A hundred changes count as one to three events, the last of which has the last value. */
	for (n = 0; n < 100; n++)
		ASSERT_EQ(0, pagoda_set_reservation(self->other, LOCAL, (1 + n % 5) * self->size));
	do {
		ASSERT_EQ(0, wait_for(self->events, DRM_PAGODA_EVENT_BUDGET_CHANGED, &event));
		count += event.count;
	} while (event.value != before - 5 * self->size);
	EXPECT_LE(1, count);
	EXPECT_GE(3, count);
	/* The client's own reservation is no event; that the other client's ends is one. */
	ASSERT_EQ(0, pagoda_set_reservation(self->fd, LOCAL, self->dev.page));
	ASSERT_EQ(0, pagoda_set_reservation(self->other, LOCAL, 0));
	ASSERT_EQ(0, wait_for(self->events, DRM_PAGODA_EVENT_BUDGET_CHANGED, &event));
	EXPECT_EQ(before, event.value);
	EXPECT_EQ(1, event.count);
}

TEST_F(events, trim)
{
	struct drm_pagoda_event event;
	uint32_t n;

	for (n = 0; n < PIECES; n++)
		ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &self->bos[n]));
	for (n = 0; n < PIECES; n++)
		ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->bos[n]));
	ASSERT_EQ(0, pagoda_set_reservation(self->other, LOCAL, self->most));
	ASSERT_LT(budget(self->fd), usage(self->fd));
	ASSERT_EQ(0, wait_for(self->events, DRM_PAGODA_EVENT_TRIM, &event));
	EXPECT_EQ(LOCAL, event.group);
	EXPECT_EQ(usage(self->fd) - budget(self->fd), event.value);
	/* When the bytes of the event are evicted, the client isn't over its budget any more. */
	for (n = 0; n * self->size < event.value; n++)
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, self->bos[n]));
	EXPECT_GE(budget(self->fd), usage(self->fd));
}

/*
 * Reads all events that there are now. Returns the bytes of the EVICTED ones together, or -1 if a
 * read fails or an EVICTED event has another segment group or the count 0.
 */
static int64_t read_evicted(int events)
{
	struct drm_pagoda_event event;
	int64_t bytes = 0;

	while (is_readable(events, 0)) {
		if (read_one(events, &event) != sizeof(event))
			return -1;
		if (event.type != DRM_PAGODA_EVENT_EVICTED)
			continue;
		if (event.group != LOCAL || !event.count)
			return -1;
		bytes += event.value;
	}
	return bytes;
}

/* A client's paging queue, which changes its residency list; @timeline has the queue's values. */
struct list {
	int fd;
	uint32_t queue;
	uint32_t timeline;
};

static int list_open(struct list *list, int fd)
{
	list->fd = fd;
	return pagoda_paging_queue_create(fd, 0, &list->queue, &list->timeline);
}

static int list_make(const struct list *list, const uint32_t *handles, uint32_t count)
{
	uint64_t value;
	int ret = pagoda_list_add(list->fd, list->queue, handles, count, 0, &value, NULL);

	return ret || !value ? ret : pagoda_syncobj_wait(list->fd, list->timeline, value, LIMIT);
}

/*
 * Makes a new allocation of three quarters of VRAM resident, on no residency list: of allocations
 * that fill half of VRAM at least half of them have to leave.
 */
static int press(int fd, const struct test_device *dev, uint32_t *handle)
{
	int ret = pagoda_create_vram(fd, dev->vram.size / 4 * 3, handle);

	return ret ? ret : pagoda_make_resident_wait(fd, *handle);
}

/*
 * When allocations on a client's residency list leave VRAM for another client, an event has told
 * the first client of their bytes once the other client's allocation is resident.
 */
TEST_F(events, evicted)
{
	int theirs = pagoda_events(self->other, 0);
	struct pagoda_fdinfo info;
	uint32_t n, large;
	struct list list;
	uint64_t value;

	ASSERT_LE(0, theirs);
	ASSERT_EQ(0, list_open(&list, self->fd));
	for (n = 0; n < PIECES; n++)
		ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &self->bos[n]));
	ASSERT_EQ(0, list_make(&list, self->bos, PIECES));
	EXPECT_EQ(0, read_evicted(self->events));
	ASSERT_EQ(0, press(self->other, &self->dev, &large));
	/* All evictions that fdinfo counts are reported: none had another reason. */
	ASSERT_EQ(0, pagoda_fdinfo_self(self->fd, &info));
	EXPECT_LE(PIECES / 4, info.evictions);
	EXPECT_EQ(info.evictions * self->size, read_evicted(self->events));
	/* The list comes back, and the large allocation, which is on no list, leaves: no event. */
	ASSERT_EQ(0, list_make(&list, self->bos, PIECES));
	EXPECT_NE(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->other, large));
	EXPECT_EQ(0, read_evicted(theirs));
	EXPECT_EQ(0, read_evicted(self->events));
	/*
	 * Evictions that the client asks for are no event. The large allocation is closed before,
	 * so that promotion can't bring it to VRAM; each allocation was added twice, and so is
	 * removed twice.
	 */
	ASSERT_EQ(0, pagoda_close(self->other, large));
	for (n = 0; n < 2; n++)
		ASSERT_EQ(0, pagoda_list_remove(self->fd, list.queue, self->bos, PIECES, 0,
						&value));
	ASSERT_EQ(0, value ? pagoda_syncobj_wait(self->fd, list.timeline, value, LIMIT) : 0);
	ASSERT_EQ(0, test_vram_settled(self->other, 0));
	EXPECT_EQ(0, read_evicted(self->events));
	close(theirs);
}

/* Clients that have the allocation on their residency lists are told, and no others. */
TEST_F(events, evicted_shared)
{
	int third = pagoda_open(), dma_buf, theirs;
	struct list lists[2];
	uint32_t mine, copy, large;

	ASSERT_LE(0, third);
	ASSERT_EQ(0, list_open(&lists[0], self->fd));
	ASSERT_EQ(0, list_open(&lists[1], self->other));
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.vram.size / 2, &mine));
	dma_buf = prime_export(self->fd, mine);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, prime_import(self->other, dma_buf, &copy));
	theirs = pagoda_events(self->other, 0);
	ASSERT_LE(0, theirs);
	ASSERT_EQ(0, list_make(&lists[1], &copy, 1));
	ASSERT_EQ(0, press(third, &self->dev, &large));
	EXPECT_EQ(0, read_evicted(self->events));
	EXPECT_EQ(self->dev.vram.size / 2, read_evicted(theirs));
	/* The allocation is on the residency lists of both clients: both are told. */
	ASSERT_EQ(0, list_make(&lists[0], &mine, 1));
	ASSERT_EQ(0, pagoda_make_resident_wait(third, large));
	EXPECT_EQ(self->dev.vram.size / 2, read_evicted(self->events));
	EXPECT_EQ(self->dev.vram.size / 2, read_evicted(theirs));
	close(dma_buf);
	close(theirs);
	close(third);
}

TEST_F(events, reset)
{
	struct drm_pagoda_event event;
	uint8_t *map;

	ASSERT_EQ(0, pagoda_create(self->fd, self->size, CPU, PAGODA_IN_VRAM, &self->bos[0]));
	map = pagoda_map(self->fd, self->bos[0], self->size);
	ASSERT_NE(NULL, map);
	memset(map, 1, self->size);
	munmap(map, self->size);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, self->bos[0]));
	ASSERT_EQ(0, reset_device());
	ASSERT_EQ(0, wait_for(self->events, DRM_PAGODA_EVENT_CONTENT_LOST, &event));
	EXPECT_EQ(1, event.count);
	close(self->events);
	/* A new event file doesn't report older events. */
	self->events = pagoda_events(self->fd, 0);
	ASSERT_LE(0, self->events);
	EXPECT_FALSE(is_readable(self->events, 0));
	ASSERT_EQ(0, reset_device());
	ASSERT_EQ(0, wait_for(self->events, DRM_PAGODA_EVENT_DEVICE_LOST, &event));
	EXPECT_EQ(1, event.count);
	EXPECT_LE(2, event.value);
}

/*
 * Each of a client's event files reports the event, whether another one was read or closed or not.
 */
TEST_F(events, several)
{
	struct drm_pagoda_event event, all[8];
	int second = pagoda_events(self->fd, 0), theirs = pagoda_events(self->other, 0);

	ASSERT_LE(0, second);
	ASSERT_LE(0, theirs);
	ASSERT_EQ(0, pagoda_set_reservation(self->other, LOCAL, self->most));
	ASSERT_EQ(0, wait_for(second, DRM_PAGODA_EVENT_BUDGET_CHANGED, &event));
	ASSERT_EQ(0, wait_for(self->events, DRM_PAGODA_EVENT_BUDGET_CHANGED, &event));
	/* self->other's reservation doesn't change the budget of self->other: no event. */
	EXPECT_FALSE(is_readable(theirs, 0));
	close(second);
	ASSERT_EQ(0, pagoda_set_reservation(self->other, LOCAL, 0));
	EXPECT_TRUE(is_readable(self->events, -1));
	EXPECT_EQ(sizeof(all[0]), read(self->events, all, sizeof(all)));
	close(theirs);
}

struct reader {
	pthread_t thread;
	atomic_int id;
	int events;
	ssize_t got;
};

static void *reader_run(void *arg)
{
	struct reader *reader = arg;
	struct drm_pagoda_event event;

	atomic_store(&reader->id, gettid());
	reader->got = read(reader->events, &event, sizeof(event));
	return NULL;
}

/*
 * After the DRM file is closed a file of EVENTS gives the events from before; then read() gives 0.
 */
TEST_F(events, after_the_client)
{
	struct drm_pagoda_event event;
	int third = pagoda_open(), events = pagoda_events(third, 0), left;
	struct reader reader = {};

	ASSERT_LE(0, events);
	ASSERT_EQ(0, pagoda_set_reservation(self->other, LOCAL, self->most));
	ASSERT_TRUE(is_readable(events, -1));
	close(third);
	ASSERT_EQ(0, wait_for(events, DRM_PAGODA_EVENT_BUDGET_CHANGED, &event));
	do
		left = read_one(events, &event);
	while (left == sizeof(event));
	EXPECT_EQ(0, left);
	close(events);

	/* A read() that sleeps when the DRM file is closed gives 0, too. */
	third = pagoda_open();
	reader.events = pagoda_events(third, 0);
	ASSERT_LE(0, reader.events);
	ASSERT_EQ(0, pthread_create(&reader.thread, NULL, reader_run, &reader));
	EXPECT_TRUE(test_sleeps_in(&reader.id, "S"));
	close(third);
	ASSERT_EQ(0, pthread_join(reader.thread, NULL));
	EXPECT_EQ(0, reader.got);
	close(reader.events);
}

TEST_F(events, refused)
{
	struct drm_pagoda_event event;
	int nonblock = pagoda_events(self->fd, DRM_PAGODA_EVENTS_NONBLOCK);
	uint32_t bit;

	ASSERT_LE(0, nonblock);
	for (bit = 1; bit < 32; bit++)
		EXPECT_REFUSED(EINVAL, pagoda_events(self->fd, 1u << bit));
	EXPECT_REFUSED(EAGAIN, read_one(nonblock, &event));
	EXPECT_EQ(-1, read(nonblock, &event, sizeof(event) - 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(nonblock, &event, sizeof(event)));
	/* An event that read() couldn't copy (EFAULT) isn't lost: the next read() gives it. */
	ASSERT_EQ(0, pagoda_set_reservation(self->other, LOCAL, self->most));
	ASSERT_TRUE(is_readable(nonblock, -1));
	EXPECT_EQ(-1, read(nonblock, (void *)16, sizeof(event)));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(sizeof(event), read_one(nonblock, &event));
	EXPECT_EQ(DRM_PAGODA_EVENT_BUDGET_CHANGED, event.type);
	EXPECT_REFUSED(EAGAIN, read_one(nonblock, &event));
	close(nonblock);
}

TEST_HARNESS_MAIN
