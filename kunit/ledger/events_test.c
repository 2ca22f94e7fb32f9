// SPDX-License-Identifier: GPL-2.0
/*
 * Events as a program reads them: which listeners of which clients are told, how events add up, how
 * often changes of budgets are told, and what comes at the end.
 */
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mman.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include "residency/offer_helpers.h"
#include "rig/map.h"
#include "rig/vidmm_helpers.h"
#include "uapi/args.h"

#define LOCAL		((u32)DRM_PAGODA_SEGMENT_GROUP_LOCAL)
#define NON_LOCAL	((u32)DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL)
#define BYTES		((u64)PIECE << PAGE_SHIFT)
#define EARS		3u

/* Two listeners of the rig's client, and one of another client. */
struct events_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_client *other;
	struct file *files[EARS];
	unsigned long memory;	/* user memory that events are read to */
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
	t.memory = rig_mmap(test, NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
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

/*
 * Waits until the work items have reported events of the device and changes of budgets, the latter
 * without PAGODA_BUDGET_PERIOD between two looks. The first flush waits for a running look, which
 * otherwise might set @next after it was cleared here.
 */
static void events_settle(struct events_test *t)
{
	struct pagoda_listeners *all = t->rig->vidmm->listeners;

	flush_work(&all->work);
	flush_delayed_work(&all->budgets);
	all->next = 0;
	flush_delayed_work(&all->budgets);
}

/* Reads at most @room events of a listener; returns their number, 0 at the end, or an errno. */
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

/* Reads a listener's events and returns the event of @type; its count is 0 if there is none. */
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

/* Expects no listener to read any event but BUDGET_CHANGED, which other clients' wants cause. */
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
 * An allocation is evicted to trim VRAM: each listener of each client that has the allocation on
 * its residency list reads the event.
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
	/* This allocation is on one client's list only. */
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
 * Lost content is reported, once, to the listeners of the client that made the allocation; resets
 * are reported to the listeners of all clients.
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

		/* The work item may have seen both resets at once. */
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

/*
 * For each listener by itself, number and bytes of EVICTED add up until the listener reads them,
 * and start over then.
 */
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

static u64 events_budget(struct pagoda_client *client)
{
	struct pagoda_budget_info info;

	pagoda_budget_info(&client->budget, LOCAL, &info);
	return info.budget;
}

static u64 events_over(struct pagoda_client *client)
{
	struct pagoda_budget_info info;

	pagoda_budget_info(&client->budget, LOCAL, &info);
	return info.wanted > info.budget ? info.wanted - info.budget : 0;
}

/* Has a client reserve all VRAM that is available for that, or none. */
static void events_reserve(struct events_test *t, struct pagoda_client *client, bool all)
{
	struct pagoda_budget_info info;

	pagoda_budget_info(&client->budget, LOCAL, &info);
	KUNIT_ASSERT_EQ(t->test, 0, pagoda_budget_reserve(&client->budget, LOCAL,
							  all ? info.available : 0));
	events_settle(t);
}

/*
 * TRIM is sent each time that a client comes to want more than its budget, also by less than the
 * time before.
 */
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

/* TRIM says how much more a client wants than its budget. */
static void events_trim_says_excess(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct drm_pagoda_event event;
	struct pagoda_bo *bos[6];
	u64 before;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = events_bring(&t, NULL);
	events_reserve(&t, t.other, true);
	before = events_over(t.rig->client);
	KUNIT_ASSERT_GT(test, before, 0ull);
	event = events_one(&t, 0, DRM_PAGODA_EVENT_TRIM);
	KUNIT_EXPECT_EQ(test, before, event.value);
	events_one(&t, 1, DRM_PAGODA_EVENT_TRIM);
	events_expect_silence(&t);
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

/* Events of one type but of different segment groups are counted and read apart. */
static void events_of_each_group(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct pagoda_ears *ears = &t.rig->client->ears;
	struct drm_pagoda_event news[8];

	events_expect_silence(&t);
	pagoda_ears_evicted(ears, NON_LOCAL, BYTES);
	KUNIT_ASSERT_EQ(test, 1, events_read(&t, 0, news, ARRAY_SIZE(news)));
	KUNIT_EXPECT_EQ(test, NON_LOCAL, news[0].group);
	KUNIT_EXPECT_EQ(test, 1ull, (u64)news[0].count);
	KUNIT_EXPECT_EQ(test, BYTES, (u64)news[0].value);
	KUNIT_EXPECT_EQ(test, -EAGAIN, events_read(&t, 0, news, ARRAY_SIZE(news)));
	pagoda_ears_evicted(ears, LOCAL, 3 * BYTES);
	/* A reader with room for one event leaves that of the other group. */
	KUNIT_ASSERT_EQ(test, 1, events_read(&t, 1, news, 1));
	KUNIT_EXPECT_EQ(test, LOCAL, news[0].group);
	KUNIT_EXPECT_EQ(test, 3 * BYTES, (u64)news[0].value);
	KUNIT_ASSERT_EQ(test, 1, events_read(&t, 1, news, ARRAY_SIZE(news)));
	KUNIT_EXPECT_EQ(test, NON_LOCAL, news[0].group);
	KUNIT_EXPECT_EQ(test, BYTES, (u64)news[0].value);
	KUNIT_EXPECT_EQ(test, -EAGAIN, events_read(&t, 1, news, ARRAY_SIZE(news)));
	events_expect(&t, 0, DRM_PAGODA_EVENT_EVICTED, 1, 3 * BYTES);
	events_expect_silence(&t);
	events_end(&t);
}

/* ---- How often budgets are reported --------------------------------------------------- */

#define CROWD		16u
#define EACH		3u
/* Pages of each allocation: two are more than a client's share, all are nearly twice VRAM. */
#define CROWD_PAGES	40u

static struct pagoda_bo *events_make_for(struct events_test *t, struct pagoda_client *client,
					 u32 pages)
{
	const struct pagoda_bo_params params = {
		.size = pages * PAGE_SIZE, .flags = CPU, .supported = SUBMIT_VRAM,
	};
	struct pagoda_bo *bo = test_ok(t->test, pagoda_bo_create(t->rig->vidmm, client, &params));

	KUNIT_ASSERT_EQ(t->test, 0, make_resident(t->rig, bo));
	return bo;
}

/*
 * Clients that all want more than their share evict each other's allocations, and each wants one
 * allocation less, then one more, but always more than its share: no listener reads an event.
 */
static void events_stand_still(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct pagoda_bo **bos = test_zalloc(test, CROWD * EACH * sizeof(*bos));
	struct pagoda_client *clients[CROWD];
	struct file *files[CROWD];
	struct drm_pagoda_event event;
	u64 evictions, budget;
	u32 i, round, one;

	for (i = 0; i < CROWD; i++) {
		clients[i] = pagoda_client_create(t.rig->vidmm);
		KUNIT_ASSERT_NOT_NULL(test, clients[i]);
	}
	for (i = 0; i < CROWD * EACH; i++)
		bos[i] = events_make_for(&t, clients[i % CROWD], CROWD_PAGES);
	for (i = 0; i < CROWD; i++)
		files[i] = events_open(&t, clients[i]);
	budget = events_budget(clients[0]);
	KUNIT_EXPECT_EQ(test, budget, (t.rig->vidmm->budgets->pool[LOCAL] / CROWD) & PAGE_MASK);
	evictions = atomic64_read(&t.rig->vidmm->stats.evictions);
	for (round = 0; round < 2 * EACH; round++) {
		for (i = 0; i < CROWD * EACH; i++) {
			one = (round * 7 + i * 5) % (CROWD * EACH);
			KUNIT_ASSERT_EQ(test, 0, make_resident(t.rig, bos[one]));
		}
		events_settle(&t);
		/* Each client wants one allocation less, then one more. */
		for (i = 0; i < CROWD; i++) {
			one = i + round % EACH * CROWD;
			KUNIT_ASSERT_EQ(test, 0, evict(t.rig, bos[one]));
			events_settle(&t);
			KUNIT_ASSERT_EQ(test, 0, make_resident(t.rig, bos[one]));
		}
		events_settle(&t);
		for (i = 0; i < CROWD; i++)
			KUNIT_EXPECT_EQ(test, budget, events_budget(clients[i]));
	}
	KUNIT_EXPECT_LE(test, evictions + CROWD * EACH,
			(u64)atomic64_read(&t.rig->vidmm->stats.evictions));
	for (i = 0; i < CROWD; i++) {
		fput(t.files[0]);
		t.files[0] = files[i];
		KUNIT_EXPECT_EQ_MSG(test, -EAGAIN, events_read(&t, 0, &event, 1), "client %u", i);
	}
	flush_delayed_fput();
	close_all(bos, CROWD * EACH);
	for (i = 0; i < CROWD; i++)
		pagoda_client_put(clients[i]);
	events_end(&t);
}

#define STORM		6u

/* Values of the last BUDGET_CHANGED and TRIM that a listener has read. */
struct events_last {
	u64 budget;
	u64 trim;
};

/* Reads what the first listener was told in a second; expects at most three events of each type. */
static void events_read_few(struct events_test *t, struct events_last *last)
{
	struct drm_pagoda_event events[8];
	int count = events_read(t, 0, events, ARRAY_SIZE(events)), i;

	for (i = 0; i < count; i++) {
		KUNIT_EXPECT_LE_MSG(t->test, events[i].count, 3ull, "type %u", events[i].type);
		if (events[i].type == DRM_PAGODA_EVENT_BUDGET_CHANGED)
			last->budget = events[i].value;
		else if (events[i].type == DRM_PAGODA_EVENT_TRIM)
			last->trim = events[i].value;
	}
}

/* Waits for the end of the next look at the budgets, which is due within a second. */
static void events_wait_look(struct events_test *t)
{
	msleep(1100);
	/* The work item's timer has expired before that of the sleep. */
	flush_work(&t->rig->vidmm->listeners->budgets.work);
}

/*
 * For a second, makes the other client's allocations resident one by one, then evicts them one by
 * one, and so on.
 */
static void events_storm(struct events_test *t, struct pagoda_bo **bos)
{
	unsigned long end = jiffies + HZ;
	u32 step;

	for (step = 0; time_before(jiffies, end); step++) {
		struct pagoda_bo *bo = bos[step % STORM];

		KUNIT_ASSERT_EQ(t->test, 0, step / STORM % 2 ? evict(t->rig, bo) :
							       make_resident(t->rig, bo));
		fsleep(2000);
	}
	KUNIT_EXPECT_LT(t->test, STORM, step);
}

/*
 * Another client's wants change in many small steps within a second: a client is told at most three
 * times, and of the last state within another second.
 */
static void events_are_few(struct kunit *test)
{
	struct events_test t = events_make(test);
	struct pagoda_bo *mine[STORM], *theirs[STORM];
	struct events_last last = {};
	u32 i;

	for (i = 0; i < STORM; i++) {
		mine[i] = events_make_for(&t, t.rig->client, PIECE);
		theirs[i] = events_make_for(&t, t.other, PIECE);
		KUNIT_ASSERT_EQ(test, 0, evict(t.rig, theirs[i]));
	}
	events_expect_silence(&t);
	events_storm(&t, theirs);
	events_read_few(&t, &last);
	/* The other client wants all of its allocations. */
	for (i = 0; i < STORM; i++)
		KUNIT_ASSERT_EQ(test, 0, make_resident(t.rig, theirs[i]));
	events_wait_look(&t);
	events_read_few(&t, &last);
	KUNIT_EXPECT_NE(test, 0ull, events_over(t.rig->client));
	KUNIT_EXPECT_EQ(test, last.trim, events_over(t.rig->client));
	KUNIT_EXPECT_EQ(test, last.budget, events_budget(t.rig->client));
	events_storm(&t, theirs);
	events_read_few(&t, &last);
	/* The other client wants nothing any more. */
	for (i = 0; i < STORM; i++)
		KUNIT_ASSERT_EQ(test, 0, evict(t.rig, theirs[i]));
	events_wait_look(&t);
	events_read_few(&t, &last);
	KUNIT_EXPECT_EQ(test, 0ull, events_over(t.rig->client));
	KUNIT_EXPECT_EQ(test, last.budget, events_budget(t.rig->client));
	/* No look is due any more: the next change is told at once. */
	events_wait_look(&t);
	KUNIT_ASSERT_EQ(test, 0, pagoda_budget_reserve(&t.other->budget, LOCAL, BYTES));
	flush_delayed_work(&t.rig->vidmm->listeners->budgets);
	events_expect(&t, 0, DRM_PAGODA_EVENT_BUDGET_CHANGED, 1, events_budget(t.rig->client));
	/* A change that is too small to matter isn't told; small changes add up. */
	for (i = 1; i <= 4; i++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_budget_reserve(&t.other->budget, LOCAL,
							       BYTES + i * 5 * PAGE_SIZE));
		events_settle(&t);
		events_expect(&t, 0, DRM_PAGODA_EVENT_BUDGET_CHANGED, i == 3,
			      i == 3 ? events_budget(t.rig->client) : 0);
	}
	close_all(mine, STORM);
	close_all(theirs, STORM);
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

/* A listener that joins when the device is gone, or never used again, reads only the end. */
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

/* Expects a listener whose file has ended to read no event, whatever happens after the end. */
static void events_expect_none(struct events_test *t, u32 ear)
{
	struct drm_pagoda_event event;

	KUNIT_EXPECT_EQ(t->test, 0, events_read(t, ear, &event, 1));
	pagoda_ears_content_lost(&t->rig->client->ears);
	pagoda_ears_evicted(&t->rig->client->ears, LOCAL, BYTES);
	KUNIT_ASSERT_EQ(t->test, 0, pagoda_vidmm_reset(t->rig->vidmm));
	events_settle(t);
	KUNIT_EXPECT_FALSE(t->test, vfs_poll(t->files[ear], NULL) & EPOLLIN);
	KUNIT_EXPECT_TRUE(t->test, vfs_poll(t->files[ear], NULL) & EPOLLHUP);
	KUNIT_EXPECT_EQ(t->test, 0, events_read(t, ear, &event, 1));
}

static void events_none_after_the_client(struct kunit *test)
{
	struct events_test t = events_make(test);

	pagoda_ears_close(&t.rig->client->ears);
	events_expect_none(&t, 0);
	events_end(&t);
}

static void events_none_after_the_device(struct kunit *test)
{
	struct events_test t = events_make(test);

	pagoda_listeners_stop(t.rig->vidmm->listeners);
	events_expect(&t, 0, DRM_PAGODA_EVENT_DEVICE_LOST, 1, 0);
	events_expect_none(&t, 0);
	events_end(&t);
}

static struct kunit_case events_cases[] = {
	KUNIT_CASE(events_evicted_reaches_all),
	KUNIT_CASE(events_losses_reach_all),
	KUNIT_CASE(events_evicted_adds_up),
	KUNIT_CASE(events_trim_again),
	KUNIT_CASE(events_trim_says_excess),
	KUNIT_CASE(events_between_peek_and_consume),
	KUNIT_CASE(events_of_each_group),
	KUNIT_CASE(events_stand_still),
	KUNIT_CASE(events_are_few),
	KUNIT_CASE(events_end_with_the_client),
	KUNIT_CASE(events_end_with_the_device),
	KUNIT_CASE(events_join_after_the_device),
	KUNIT_CASE(events_none_after_the_client),
	KUNIT_CASE(events_none_after_the_device),
	{ }
};

static struct kunit_suite events_suite = {
	.name = "pagoda_events",
	.test_cases = events_cases,
};

kunit_test_suite(events_suite);
