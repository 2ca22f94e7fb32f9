// SPDX-License-Identifier: GPL-2.0
/*
 * Sleep: the kernel suspends and resumes the machine's devices, and a client goes on with its
 * content, addresses and jobs as if nothing had happened. Only offered content may be dropped.
 *
 * The machine itself doesn't sleep: the kernel only rehearses that (/sys/power/pm_test). A folder
 * that a test machine shares with its host by 9p doesn't survive the rehearsal: all tests are
 * skipped while such a folder is mounted.
 */
#include <fcntl.h>

#include "lib/submit_client.h"

#define POWER		"/sys/power/"
#define DELAY		"/sys/module/suspend/parameters/pm_test_delay"
#define SEED		196
#define NR		6

static int say(const char *path, const char *word)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, word, strlen(word)) != (ssize_t)strlen(word))
		ret = -errno;
	close(fd);
	return ret;
}

static bool file_says(const char *path, const char *word)
{
	char text[4096] = "";
	FILE *file = fopen(path, "r");
	bool found = false;

	while (file && !found && fgets(text, sizeof(text), file))
		found = strstr(text, word);
	if (file)
		fclose(file);
	return found;
}

/* Returns why the machine can't rehearse the sleep state, or NULL if it can. */
static const char *why_not(const char *state)
{
	if (file_says("/proc/mounts", " 9p "))
		return "the shared folder is mounted";
	if (!file_says(POWER "pm_test", "devices"))
		return "the kernel can't rehearse sleeping";
	if (!file_says(POWER "state", state))
		return "the kernel can't sleep so";
	return NULL;
}

/*
 * Rehearses the sleep state: goes as far as @level, "freezer" or "devices", and wakes up. Returns
 * 0 or a negative errno.
 */
static int sleep_as(const char *level, const char *state)
{
	int ret = say(POWER "pm_test", level);

	if (!ret)
		ret = say(POWER "state", state);
	say(POWER "pm_test", "none");
	return ret;
}

#define PRESERVE	"/sys/module/pagoda_vgpu/parameters/preserve"

/* Returns whether the device preserves all of VRAM in the sleep state. */
static bool is_preserved(const char *state)
{
	return file_says(PRESERVE, "always") ||
	       (!strcmp(state, "freeze") && !file_says(PRESERVE, "nothing"));
}

/* Returns whether the device preserves nothing of VRAM in the sleep state. */
static bool is_lost(const char *state)
{
	return !is_preserved(state) && !file_says(PRESERVE, "half");
}

FIXTURE(suspend) {
	struct test_device dev;
	struct client client;
	uint64_t size;
	uint32_t handles[NR];
	uint8_t *maps[NR];
	int events;
};

FIXTURE_VARIANT(suspend) {
	const char *state;
	uint32_t rounds;
};

FIXTURE_VARIANT_ADD(suspend, standby) { .state = "freeze", .rounds = 3 };
/* Only one round: the rehearsal first allocates memory for the image, and then waits 5 seconds. */
FIXTURE_VARIANT_ADD(suspend, hibernation) { .state = "disk", .rounds = 1 };

FIXTURE_SETUP(suspend)
{
	const char *why = why_not(variant->state);
	uint32_t n;

	if (why)
		SKIP(return, "%s", why);
	say(DELAY, "1");
	ASSERT_EQ(0, test_device_open(&self->dev));
	ASSERT_EQ(0, client_open(&self->client, self->dev.fd, 0));
	self->events = pagoda_events(self->dev.fd, 0);
	ASSERT_LE(0, self->events);
	self->size = self->dev.vram.size / 16;
	for (n = 0; n < NR; n++) {
		ASSERT_EQ(0, pagoda_create(self->dev.fd, self->size, CPU,
					   n < NR / 2 ? PAGODA_IN_VRAM :
					   PAGODA_IN_VRAM | PAGODA_IN_APERTURE,
					   &self->handles[n]));
		self->maps[n] = pagoda_map(self->dev.fd, self->handles[n], self->size);
		ASSERT_NE(NULL, self->maps[n]);
		pagoda_fill(self->maps[n], pagoda_key(SEED, n, 0), 0, self->size);
		ASSERT_EQ(0, pagoda_make_resident_wait(self->dev.fd, self->handles[n]));
		ASSERT_EQ(0, pagoda_bind_map(self->dev.fd, self->client.vm.vm, self->handles[n],
					     client_data(&self->client, n), 0, self->size));
	}
}

FIXTURE_TEARDOWN(suspend)
{
	uint32_t n;

	for (n = 0; n < NR; n++)
		munmap(self->maps[n], self->size);
	client_close(&self->client);
	close(self->events);
	close(self->dev.fd);
}

/* Reads events; returns false if one tells that content or the device was lost. */
static bool is_quiet(int events)
{
	struct drm_pagoda_event event;

	fcntl(events, F_SETFL, fcntl(events, F_GETFL) | O_NONBLOCK);
	while (read(events, &event, sizeof(event)) == sizeof(event))
		if (event.type == DRM_PAGODA_EVENT_CONTENT_LOST ||
		    event.type == DRM_PAGODA_EVENT_DEVICE_LOST)
			return false;
	return true;
}

/* CPU mappings and GPU addresses from before the sleep show the content from before the sleep. */
TEST_F(suspend, keeps_what_is_in_vram)
{
	struct drm_pagoda_context_state state;
	uint32_t round, n;

	for (round = 0; round < variant->rounds; round++) {
		ASSERT_EQ(0, sleep_as("devices", variant->state));
		PAGODA_PROVES(C196);
		for (n = 0; n < NR; n++)
			EXPECT_EQ(-1, pagoda_check(self->maps[n], pagoda_key(SEED, n, 0), 0,
						   self->size));
		/* The GPU finds the content, too, and copies one allocation to another. */
		pagoda_copy(&self->client.program, client_data(&self->client, round),
			    client_data(&self->client, NR - 1), self->size);
		ASSERT_EQ(0, client_run(&self->client, self->handles, NR));
		client_rewind(&self->client);
		EXPECT_EQ(-1, pagoda_check(self->maps[NR - 1], pagoda_key(SEED, round, 0), 0,
					   self->size));
		pagoda_fill(self->maps[NR - 1], pagoda_key(SEED, NR - 1, 0), 0, self->size);
		for (n = 0; n < NR; n++)
			ASSERT_EQ(0, pagoda_make_resident_wait(self->dev.fd, self->handles[n]));
	}
	EXPECT_TRUE(is_quiet(self->events));
	EXPECT_EQ(0, pagoda_context_state(self->dev.fd, self->client.context, &state));
	EXPECT_EQ(0, state.state);
	EXPECT_EQ(0, state.resets);
}

TEST_F(suspend, leaves_alone_what_is_preserved)
{
	struct drm_pagoda_stats before, after;
	uint32_t n;

	if (!is_preserved(variant->state))
		SKIP(return, "nothing is preserved");
	ASSERT_EQ(0, pagoda_stats(self->dev.fd, &before));
	ASSERT_EQ(0, sleep_as("devices", variant->state));
	ASSERT_EQ(0, pagoda_stats(self->dev.fd, &after));
	PAGODA_PROVES(C197);
	EXPECT_EQ(before.paged_out, after.paged_out);
	EXPECT_EQ(before.paged_in, after.paged_in);
	for (n = 0; n < NR; n++) {
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->dev.fd, self->handles[n]));
		EXPECT_EQ(-1, pagoda_check(self->maps[n], pagoda_key(SEED, n, 0), 0, self->size));
	}
}

/* The sleep ends before devices are suspended: only processes and kernel threads were frozen. */
TEST_F(suspend, is_called_off)
{
	uint32_t n;

	ASSERT_EQ(0, sleep_as("freezer", variant->state));
	for (n = 0; n < NR; n++)
		EXPECT_EQ(-1, pagoda_check(self->maps[n], pagoda_key(SEED, n, 0), 0, self->size));
	EXPECT_EQ(0, client_run(&self->client, self->handles, NR));
}

TEST_F(suspend, drops_what_is_offered)
{
	struct drm_pagoda_stats before, after;

	if (!is_lost(variant->state))
		SKIP(return, "it may be where VRAM is preserved");
	ASSERT_EQ(0, pagoda_bind_range(self->dev.fd, self->client.vm.vm, DRM_PAGODA_BIND_UNMAP,
				       client_data(&self->client, 0), self->size));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->dev.fd, self->handles[0]));
	ASSERT_EQ(0, pagoda_offer(self->dev.fd, self->handles, 1, DRM_PAGODA_OFFER_HIGH, 0));
	ASSERT_EQ(0, pagoda_stats(self->dev.fd, &before));
	ASSERT_EQ(0, sleep_as("devices", variant->state));
	ASSERT_EQ(0, pagoda_stats(self->dev.fd, &after));
	PAGODA_PROVES(C198);
	EXPECT_LE(before.discarded + self->size, after.discarded);
	EXPECT_EQ(DRM_PAGODA_RECLAIM_DISCARDED,
		  pagoda_reclaim_one(self->dev.fd, self->handles[0]));
	EXPECT_EQ(-1, pagoda_check(self->maps[1], pagoda_key(SEED, 1, 0), 0, self->size));
}

/* A thread that runs jobs one after another; each adds 1 to a counter, which must equal @steps. */
struct worker {
	pthread_t thread;
	struct client *client;
	const uint32_t *handles;
	uint64_t address;
	uint64_t steps;
	atomic_bool stop;
	int error;
};

static void *worker_run(void *data)
{
	struct worker *w = data;

	while (!atomic_load(&w->stop) && !w->error) {
		pagoda_add(&w->client->program, w->address, 1, 0);
		w->error = client_run(w->client, w->handles, 1);
		client_rewind(w->client);
		w->steps += !w->error;
	}
	return NULL;
}

TEST_F(suspend, lets_who_works_go_on)
{
	struct worker w = {
		.client = &self->client,
		.handles = &self->handles[0],
		.address = client_data(&self->client, 0),
	};
	uint64_t *counter = (uint64_t *)self->maps[0];
	uint32_t round;

	*counter = 0;
	ASSERT_EQ(0, pthread_create(&w.thread, NULL, worker_run, &w));
	for (round = 0; round < variant->rounds; round++)
		EXPECT_EQ(0, sleep_as(round % 2 ? "freezer" : "devices", variant->state));
	atomic_store(&w.stop, true);
	pthread_join(w.thread, NULL);
	PAGODA_PROVES(C196);
	EXPECT_EQ(0, w.error);
	EXPECT_EQ(w.steps, *counter);
	EXPECT_TRUE(is_quiet(self->events));
}

TEST_HARNESS_MAIN
