// SPDX-License-Identifier: GPL-2.0
/*
 * SUBMIT: a context whose job faults or hangs is banned, and other contexts go on; clients that end
 * while their jobs hang.
 */
#include "lib/submit_fixture.h"

TEST_F(submit, faults_cost_the_guilty)
{
	struct drm_pagoda_context_state state;
	uint64_t at = client_data(&self->client, 0), command, *map;
	struct client bad;
	uint32_t handle, n;

	ASSERT_EQ(0, pagoda_create_private(self->fd, self->client.vm.vm, self->dev.page, CPU,
					   PAGODA_IN_VRAM, &handle));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, handle, at, 0, self->dev.page));
	map = pagoda_map(self->fd, handle, self->dev.page);
	for (n = 0; n < 20; n++) {
		ASSERT_EQ(0, client_open(&bad, self->fd, 0));
		pagoda_add(&self->client.program, at, 1, 0);
		ASSERT_EQ(0, client_submit(&self->client, NULL, 0));
		command = bad.program.address + bad.program.used;
		pagoda_store(&bad.program, at + 8 * n, 1);
		ASSERT_EQ(0, client_submit(&bad, NULL, 0));
		ASSERT_EQ(0, client_wait(&bad));
		ASSERT_EQ(0, pagoda_context_state(self->fd, bad.context, &state));
		EXPECT_EQ(DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_FAULTED, state.state);
		EXPECT_EQ(1, state.job);
		EXPECT_EQ(1, state.completed);
		EXPECT_EQ(at + 8 * n, state.address);
		EXPECT_EQ(command, state.command);
		EXPECT_EQ(2, state.access);
		EXPECT_EQ(0, state.engine);
		EXPECT_REFUSED(ECANCELED, client_submit(&bad, NULL, 0));
		client_close(&bad);
	}
	ASSERT_EQ(0, client_wait(&self->client));
	EXPECT_EQ(20, map[0]);
	ASSERT_EQ(0, pagoda_context_state(self->fd, self->client.context, &state));
	EXPECT_EQ(0, state.state);
	munmap(map, self->dev.page);
}

/* Of two contexts with a job that hangs, the driver bans one, and the test destroys the other. */
TEST_F(submit, hangs_cost_the_guilty)
{
	struct drm_pagoda_context_state state;
	uint64_t at = client_data(&self->client, 0), *map;
	struct client bad, destroyed;
	uint32_t handle, n;
	int ret = 0;

	ASSERT_EQ(0, pagoda_create_private(self->fd, self->client.vm.vm, self->dev.page, CPU,
					   PAGODA_IN_VRAM, &handle));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, handle, at, 0, self->dev.page));
	map = pagoda_map(self->fd, handle, self->dev.page);
	ASSERT_EQ(0, client_open(&bad, self->fd, 0));
	ASSERT_EQ(0, client_open(&destroyed, self->fd, self->dev.info.num_engines - 1));
	ASSERT_EQ(0, client_hang(&bad, true));
	ASSERT_EQ(0, client_hang(&destroyed, false));
	/* On a slow machine the context may be banned before all jobs are submitted. */
	for (n = 0; n < 50 && !ret; n++) {
		ret = client_submit(&destroyed, NULL, 0);
		destroyed.point -= !!ret;
	}
	EXPECT_TRUE(!ret || ret == -ECANCELED);
	pagoda_store(&self->client.program, at, 5);
	ASSERT_EQ(0, client_submit(&self->client, NULL, 0));
	ASSERT_EQ(0, pagoda_context_destroy(self->fd, destroyed.context));
	ASSERT_EQ(0, pagoda_vm_destroy(self->fd, destroyed.vm.vm));
	EXPECT_EQ(0, client_wait(&destroyed));
	munmap(destroyed.program.memory, CODE_SIZE);
	ASSERT_EQ(0, client_wait(&self->client));
	EXPECT_EQ(5, map[0]);
	ASSERT_EQ(0, client_wait(&bad));
	ASSERT_EQ(0, pagoda_context_state(self->fd, bad.context, &state));
	EXPECT_EQ(DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_HUNG, state.state);
	EXPECT_EQ(1, state.job);
	EXPECT_EQ(0, state.address);
	client_close(&bad);
	munmap(map, self->dev.page);
}

/*
 * In a child: submits a job that hangs, calls test_say() and waits to be killed. The first child on
 * an engine calls test_say() when its job has begun; later children don't wait for that.
 */
static void hang_until_killed(const struct test_device *dev, uint32_t number, int hanging)
{
	uint32_t engines = dev->info.num_engines;
	struct client client;

	if (client_open(&client, pagoda_open(), number % engines) ||
	    client_hang(&client, number % 2 == 0) || (number < engines && client_hangs(&client)))
		_exit(1);
	test_say(hanging);
	pause();
}

TEST_F(submit, killed_while_hanging)
{
	int status, hanging;
	pid_t pids[4];
	int64_t began;
	uint32_t n;

	/* Each client has a process of its own, so that all can be killed at once. */
	for (n = 0; n < ARRAY_SIZE(pids); n++) {
		pids[n] = test_fork(&hanging);
		ASSERT_LE(0, pids[n]);
		if (!pids[n])
			hang_until_killed(&self->dev, n, hanging);
		EXPECT_TRUE(test_heard(hanging));
		close(hanging);
	}
	began = pagoda_now();
	for (n = 0; n < ARRAY_SIZE(pids); n++)
		kill(pids[n], SIGKILL);
	for (n = 0; n < ARRAY_SIZE(pids); n++) {
		ASSERT_EQ(pids[n], waitpid(pids[n], &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
	/* Running jobs may hang until their time limit, but the processes end within LIMIT. */
	EXPECT_GT(LIMIT, pagoda_now() - began);
	EXPECT_EQ(0, client_run(&self->client, NULL, 0));
}

/*
 * Closes the file of a client whose job hangs, while a job of @self->client waits behind it. Sets
 * *@took to the nanoseconds from SUBMIT of the waiting job to the end of close(), or to INT64_MAX
 * if the waiting job was done by then: its engine had ended the hanging job. Returns 0 or a
 * negative errno.
 */
static int close_while_hanging(struct _test_data_submit *self, int64_t *took)
{
	uint64_t size = 64 * self->dev.page;
	struct client bad;
	uint32_t handles[2], n;
	int64_t began;
	int fd = pagoda_open(), ret;

	ret = fd < 0 ? fd : client_open(&bad, fd, 0);
	for (n = 0; n < 2 && !ret; n++) {
		ret = pagoda_create_private(fd, n ? 0 : bad.vm.vm, size, 0, PAGODA_IN_VRAM,
					    &handles[n]);
		if (!ret)
			ret = pagoda_bind_map(fd, bad.vm.vm, handles[n], client_data(&bad, n), 0,
					      size);
	}
	if (!ret)
		ret = client_run(&bad, &handles[1], 1);
	if (!ret)
		ret = client_hang(&bad, true);
	if (!ret)
		ret = client_hangs(&bad);
	if (ret)
		return ret;
	began = pagoda_now();
	ret = client_submit(&self->client, NULL, 0);
	munmap(bad.program.memory, CODE_SIZE);
	if (!ret && close(fd))
		ret = -errno;
	*took = pagoda_now() - began;
	if (pagoda_syncobj_wait(self->fd, self->client.syncobj, self->client.point, 0) != -ETIME)
		*took = INT64_MAX;
	return ret;
}

/*
 * While a job of a closed client hangs, another client can create and map allocations. The other
 * client's job is executed when the time limit of the hanging job is over. On a busy machine this
 * process may not run for seconds: the quickest close() of three counts.
 */
TEST_F(submit, closed_while_hanging)
{
	const int64_t limit = self->dev.info.job_timeout_ms * (PAGODA_SEC / 1000);
	uint64_t size = 64 * self->dev.page;
	int64_t took = limit;
	uint32_t handle, n;

	for (n = 0; n < 3 && took >= limit / 2; n++) {
		ASSERT_EQ(0, n ? client_wait(&self->client) : 0);
		ASSERT_EQ(0, close_while_hanging(self, &took));
	}
	EXPECT_GT(limit / 2, took);
	ASSERT_EQ(0, pagoda_create(self->fd, size, CPU, PAGODA_IN_APERTURE, &handle));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, handle,
				     client_data(&self->client, 0), 0, size));
	EXPECT_EQ(0, client_wait(&self->client));
	EXPECT_EQ(0, client_run(&self->client, &handle, 1));
}

TEST_HARNESS_MAIN
