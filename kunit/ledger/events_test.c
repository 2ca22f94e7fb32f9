// SPDX-License-Identifier: GPL-2.0
/*
 * Events as a program reads them: which listeners of which clients are told, how events add up, and
 * what comes at the end.
 */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mman.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include "residency/offer_helpers.h"
#include "rig/vidmm_helpers.h"
#include "uapi/args.h"

#define LOCAL	DRM_PAGODA_SEGMENT_GROUP_LOCAL
#define BYTES	((u64)PIECE << PAGE_SHIFT)
#define EARS	3u

/* Two listeners of the rig's client, and one of another client. */
struct events_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_client *other;
	struct file *files[EARS];
	unsigned long memory;	/* user memory that is read to */
};

static struct file *events_open(struct events_test *t, struct pagoda_client *client)
{
	int fd = pagoda_listener_open(t->rig->vidmm, client, true);
	struct file *file;

	KUNIT_ASSERT_LE(t->test, 0, fd);
	file = fget(fd);
	KUNIT_EXPECT_EQ(t->test, 0, close_fd(fd));
	KUNIT_ASSERT_NOT_NULL(t->test, file);
	return file;
}

static struct events_test events_make(struct kunit *test)
{
	struct events_test t = { .test = test, .rig = submit_rig(test) };
	u32 i;

	t.other = pagoda_client_create(t.rig->vidmm);
	KUNIT_ASSERT_NOT_NULL(test, t.other);
	t.memory = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
				 MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, 0ul, t.memory);
	for (i = 0; i < EARS; i++)
		t.files[i] = events_open(&t, i < EARS - 1 ? t.rig->client : t.other);
	return t;
}

static void events_end(struct events_test *t)
{
	u32 i;

	for (i = 0; i < EARS; i++)
		fput(t->files[i]);
	flush_delayed_fput();
	pagoda_client_drop_lists(t->other);
	pagoda_client_put(t->other);
}

/* Waits for the work item that reports events of budgets and of the device. */
static void events_settle(struct events_test *t)
{
	flush_work(&t->rig->vidmm->listeners->work);
}

/* Reads at most @room events; returns their number or a negative errno. */
static int events_read(struct events_test *t, u32 ear, struct drm_pagoda_event *events, u32 room)
{
	void __user *memory = (void __user *)t->memory;
	struct file *file = t->files[ear];
	loff_t pos = 0;
	ssize_t got;

	got = file->f_op->read(file, memory, room * sizeof(*events), &pos);
	if (got > 0)
		KUNIT_ASSERT_EQ(t->test, 0ul, copy_from_user(events, memory, got));
	return got > 0 ? got / sizeof(*events) : got;
}

/* Returns the event of a type that a listener reads; its count is 0 if there is none. */
static struct drm_pagoda_event events_one(struct events_test *t, u32 ear, u32 type)
{
	struct drm_pagoda_event events[8], found = {};
	int count = events_read(t, ear, events, ARRAY_SIZE(events)), i;

	for (i = 0; i < count; i++) {
		if (events[i].type != type)
			continue;
		KUNIT_EXPECT_EQ(t->test, 0ull, found.count);
		found = events[i];
	}
	return found;
}

static void events_expect(struct events_test *t, u32 ear, u32 type, u64 count, u64 value)
{
	struct drm_pagoda_event event = events_one(t, ear, type);

	KUNIT_EXPECT_EQ_MSG(t->test, count, event.count, "listener %u, type %u", ear, type);
	KUNIT_EXPECT_EQ_MSG(t->test, value, event.value, "listener %u, type %u", ear, type);
}

/* No listener reads an event other than BUDGET_CHANGED, which other clients' usage causes. */
static void events_expect_silence(struct events_test *t)
{
	struct drm_pagoda_event events[8];
	u32 ear;
	int i, count;

	events_settle(t);
	for (ear = 0; ear < EARS; ear++) {
		count = events_read(t, ear, events, ARRAY_SIZE(events));
		for (i = 0; i < count; i++)
			KUNIT_EXPECT_EQ_MSG(t->test, (u32)DRM_PAGODA_EVENT_BUDGET_CHANGED,
					    events[i].type, "listener %u", ear);
		KUNIT_EXPECT_EQ(t->test, -EAGAIN, events_read(t, ear, events, 1));
	}
}

static struct pagoda_bo *events_bring(struct events_test *t, struct pagoda_client *client)
{
	struct pagoda_bo *bo = piece(t->rig, CPU, SUBMIT_VRAM, 1);
	u64 trim;

	if (client)
		KUNIT_ASSERT_EQ(t->test, 0, pagoda_require(client, &bo, 1, &trim));
	return bo;
}

/* ---- Which listeners are told ----------------------------------------------------- */

/*
 * An allocation is evicted for want of room: each listener of each client that lists it reads the
 * event.
 */
static void events_evicted_reaches_all(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct pagoda_bo *both = events_bring(&t, t.rig->client), *mine;
	u64 trim;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_require(t.other, &both, 1, &trim));
	events_expect_silence(&t);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_trim(t.rig->vidmm, U64_MAX));
	KUNIT_ASSERT_FALSE(test, in_vram(both));
	for (i = 0; i < EARS; i++)
		events_expect(&t, i, DRM_PAGODA_EVENT_EVICTED, 1, BYTES);
	/* The allocation is on one client's list only. */
	mine = events_bring(&t, t.rig->client);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_trim(t.rig->vidmm, U64_MAX));
	KUNIT_ASSERT_FALSE(test, in_vram(mine));
	for (i = 0; i < EARS; i++)
		events_expect(&t, i, DRM_PAGODA_EVENT_EVICTED, i < EARS - 1,
			      i < EARS - 1 ? BYTES : 0);
	events_expect_silence(&t);
	pagoda_client_drop_lists(t.rig->client);
	pagoda_client_drop_lists(t.other);
	pagoda_rig_close(both);
	pagoda_rig_close(mine);
	events_end(&t);
}

/*
 * Lost content is reported to the client that made the allocation, a reset to all clients, once
 * each.
 */
static void events_losses_reach_all(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct pagoda_bo *bo = events_bring(&t, NULL);
	u32 i;

	pagoda_bo_mark_lost(bo);
	pagoda_bo_mark_lost(bo);
	for (i = 0; i < EARS; i++)
		events_expect(&t, i, DRM_PAGODA_EVENT_CONTENT_LOST, i < EARS - 1, 0);
	events_expect_silence(&t);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(t.rig->vidmm));
	events_settle(&t);
	for (i = 0; i < EARS; i++)
		events_expect(&t, i, DRM_PAGODA_EVENT_DEVICE_LOST, 1, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(t.rig->vidmm));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(t.rig->vidmm));
	events_settle(&t);
	for (i = 0; i < EARS; i++) {
		struct drm_pagoda_event event = events_one(&t, i, DRM_PAGODA_EVENT_DEVICE_LOST);

		/* A work item may have seen both resets at once. */
		KUNIT_EXPECT_GE(test, event.count, 1ull);
		KUNIT_EXPECT_LE(test, event.count, 2ull);
		KUNIT_EXPECT_EQ(test, 3ull, event.value);
	}
	pagoda_rig_close(bo);
	events_end(&t);
}

/* ---- Contents of events ------------------------------------------------------------ */

static void events_evict_one(struct events_test *t, struct pagoda_bo *bo)
{
	KUNIT_ASSERT_EQ(t->test, 0, make_resident(t->rig, bo));
	KUNIT_ASSERT_EQ(t->test, 0, pagoda_vidmm_trim(t->rig->vidmm, U64_MAX));
	KUNIT_ASSERT_FALSE(t->test, in_vram(bo));
}

/* Bytes add up until a listener reads them, for each listener by itself, and start over then. */
static void events_evicted_adds_up(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct pagoda_bo *bo = events_bring(&t, t.rig->client);
	struct drm_pagoda_event event;

	events_evict_one(&t, bo);
	events_expect(&t, 0, DRM_PAGODA_EVENT_EVICTED, 1, BYTES);
	events_evict_one(&t, bo);
	events_evict_one(&t, bo);
	events_expect(&t, 0, DRM_PAGODA_EVENT_EVICTED, 2, 2 * BYTES);
	/* A read without room fails and keeps the events. */
	KUNIT_EXPECT_EQ(test, -EINVAL, events_read(&t, 1, &event, 0));
	events_expect(&t, 1, DRM_PAGODA_EVENT_EVICTED, 3, 3 * BYTES);
	events_expect_silence(&t);
	/*
	 * With room for one of two events the more important one is read first, and the other
	 * stays.
	 */
	events_evict_one(&t, bo);
	pagoda_bo_mark_lost(bo);
	KUNIT_EXPECT_EQ(test, 1, events_read(&t, 0, &event, 1));
	KUNIT_EXPECT_EQ(test, (u32)DRM_PAGODA_EVENT_CONTENT_LOST, event.type);
	events_expect(&t, 0, DRM_PAGODA_EVENT_EVICTED, 1, BYTES);
	KUNIT_EXPECT_EQ(test, 2, events_read(&t, 1, (struct drm_pagoda_event[2]) {}, 2));
	events_expect_silence(&t);
	pagoda_client_drop_lists(t.rig->client);
	pagoda_rig_close(bo);
	events_end(&t);
}

static u64 events_over(struct pagoda_client *client)
{
	struct pagoda_budget_info info;

	pagoda_budget_info(&client->budget, LOCAL, &info);
	return info.usage > info.budget ? info.usage - info.budget : 0;
}

/* Reserves all that is available, or nothing. */
static void events_reserve(struct events_test *t, struct pagoda_client *client, bool all)
{
	struct pagoda_budget_info info;

	pagoda_budget_info(&client->budget, LOCAL, &info);
	KUNIT_ASSERT_EQ(t->test, 0, pagoda_budget_reserve(&client->budget, LOCAL,
							  all ? info.available : 0));
	events_settle(t);
}

/* TRIM is sent each time that a client exceeds its budget, also by less than the time before. */
static void events_trim_again(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct pagoda_bo *bos[7];
	u64 over, before = U64_MAX;
	u32 i, round;

	for (i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = events_bring(&t, NULL);
	for (round = 0; round < 2; round++) {
		events_expect_silence(&t);
		events_reserve(&t, t.other, true);
		over = events_over(t.rig->client);
		KUNIT_ASSERT_GT(test, over, 0ull);
		KUNIT_ASSERT_LT(test, over, before);
		before = over;
		for (i = 0; i < EARS; i++)
			events_expect(&t, i, DRM_PAGODA_EVENT_TRIM, i < EARS - 1,
				      i < EARS - 1 ? over : 0);
		events_expect_silence(&t);
		events_reserve(&t, t.other, false);
		events_expect_silence(&t);
		KUNIT_ASSERT_EQ(test, 0, evict(t.rig, bos[round]));
		pagoda_rig_settle(t.rig);
	}
	close_all(bos, ARRAY_SIZE(bos));
	events_end(&t);
}

/* While a client's excess grows, TRIM says how large the excess is, not by how much it grew. */
static void events_trim_grows(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct drm_pagoda_event event;
	struct pagoda_bo *bos[7];
	u64 before;
	u32 i, last = ARRAY_SIZE(bos) - 1;

	for (i = 0; i < last; i++)
		bos[i] = events_bring(&t, NULL);
	events_reserve(&t, t.other, true);
	before = events_over(t.rig->client);
	KUNIT_ASSERT_GT(test, before, 0ull);
	event = events_one(&t, 0, DRM_PAGODA_EVENT_TRIM);
	KUNIT_EXPECT_EQ(test, before, event.value);
	events_one(&t, 1, DRM_PAGODA_EVENT_TRIM);
	events_expect_silence(&t);
	bos[last] = events_bring(&t, NULL);
	pagoda_rig_settle(t.rig);
	events_settle(&t);
	KUNIT_ASSERT_GT(test, events_over(t.rig->client), before);
	for (i = 0; i < EARS - 1; i++) {
		event = events_one(&t, i, DRM_PAGODA_EVENT_TRIM);
		KUNIT_EXPECT_GE(test, event.count, 1ull);
		KUNIT_EXPECT_EQ(test, events_over(t.rig->client), event.value);
	}
	events_reserve(&t, t.other, false);
	close_all(bos, ARRAY_SIZE(bos));
	events_end(&t);
}

/* Events that occur while a listener copies earlier events to its reader are read next. */
static void events_between_peek_and_consume(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct pagoda_listener *listener = t.files[0]->private_data;
	struct pagoda_ears *ears = &t.rig->client->ears;
	struct drm_pagoda_event news[8];
	u32 count;

	events_expect_silence(&t);
	pagoda_ears_content_lost(ears);
	pagoda_ears_evicted(ears, LOCAL, BYTES);
	count = pagoda_listener_peek(listener, news, ARRAY_SIZE(news));
	KUNIT_EXPECT_EQ(test, 2u, count);
	pagoda_ears_content_lost(ears);
	pagoda_ears_evicted(ears, LOCAL, 3 * BYTES);
	pagoda_listener_consume(listener, news, count);
	KUNIT_EXPECT_TRUE(test, vfs_poll(t.files[0], NULL) & EPOLLIN);
	KUNIT_ASSERT_EQ(test, 2, events_read(&t, 0, news, ARRAY_SIZE(news)));
	KUNIT_EXPECT_EQ(test, (u32)DRM_PAGODA_EVENT_CONTENT_LOST, news[0].type);
	KUNIT_EXPECT_EQ(test, 1ull, (u64)news[0].count);
	KUNIT_EXPECT_EQ(test, (u32)DRM_PAGODA_EVENT_EVICTED, news[1].type);
	KUNIT_EXPECT_EQ(test, 1ull, (u64)news[1].count);
	KUNIT_EXPECT_EQ(test, 3 * BYTES, (u64)news[1].value);
	events_expect(&t, 1, DRM_PAGODA_EVENT_EVICTED, 2, 4 * BYTES);
	events_expect_silence(&t);
	events_end(&t);
}

/* ---- The end ----------------------------------------------------------------------- */

/*
 * The client's file is closed: each of its listeners reads the events so far, then the end (0,
 * EPOLLHUP).
 */
static void events_end_with_the_client(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct pagoda_bo *bo = events_bring(&t, NULL);
	struct drm_pagoda_event event;
	u32 i;

	pagoda_bo_mark_lost(bo);
	pagoda_ears_close(&t.rig->client->ears);
	for (i = 0; i < EARS - 1; i++) {
		KUNIT_EXPECT_TRUE(test, vfs_poll(t.files[i], NULL) & EPOLLHUP);
		KUNIT_EXPECT_EQ(test, 1, events_read(&t, i, &event, 1));
		KUNIT_EXPECT_EQ(test, 0, events_read(&t, i, &event, 1));
		KUNIT_EXPECT_TRUE(test, vfs_poll(t.files[i], NULL) & EPOLLHUP);
	}
	KUNIT_EXPECT_FALSE(test, vfs_poll(t.files[i], NULL) & EPOLLHUP);
	events_expect(&t, i, DRM_PAGODA_EVENT_CONTENT_LOST, 0, 0);
	KUNIT_EXPECT_EQ(test, -EAGAIN, events_read(&t, i, &event, 1));
	pagoda_rig_close(bo);
	events_end(&t);
}

/* The device goes: each listener reads DEVICE_LOST, and then the end. */
static void events_end_with_the_device(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct drm_pagoda_event event;
	u32 i;

	pagoda_listeners_stop(t.rig->vidmm->listeners);
	for (i = 0; i < EARS; i++) {
		events_expect(&t, i, DRM_PAGODA_EVENT_DEVICE_LOST, 1, 0);
		KUNIT_EXPECT_EQ(test, 0, events_read(&t, i, &event, 1));
		KUNIT_EXPECT_TRUE(test, vfs_poll(t.files[i], NULL) & EPOLLHUP);
	}
	events_end(&t);
}

/* A listener that joins when the device is gone, or never used again, reads the end. */
static void events_join_after_the_device(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct drm_pagoda_event event;

	pagoda_listeners_stop(t.rig->vidmm->listeners);
	fput(t.files[0]);
	flush_delayed_fput();
	t.files[0] = events_open(&t, t.rig->client);
	events_settle(&t);
	KUNIT_EXPECT_TRUE(test, vfs_poll(t.files[0], NULL) & EPOLLHUP);
	KUNIT_EXPECT_EQ(test, 0, events_read(&t, 0, &event, 1));
	events_end(&t);
}

static struct kunit_case events_cases[] = {
	KUNIT_CASE(events_evicted_reaches_all),
	KUNIT_CASE(events_losses_reach_all),
	KUNIT_CASE(events_evicted_adds_up),
	KUNIT_CASE(events_trim_again),
	KUNIT_CASE(events_trim_grows),
	KUNIT_CASE(events_between_peek_and_consume),
	KUNIT_CASE(events_end_with_the_client),
	KUNIT_CASE(events_end_with_the_device),
	KUNIT_CASE(events_join_after_the_device),
	{ }
};

static struct kunit_suite events_suite = {
	.name = "pagoda_events",
	.test_cases = events_cases,
};

kunit_test_suite(events_suite);
