// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments and handles that SUBMIT, CONTEXT_CREATE and other calls refuse; programs that access
 * addresses without a mapping; contexts, VMs, fences and handles that are destroyed or closed while
 * jobs need them; points in any order; and a process that forks.
 */
#include <fcntl.h>
#include <sys/syscall.h>

#include "lib/submit_client.h"

#define BAD_POINTER	0x10ull
#define UNKNOWN		0x7fffu

FIXTURE(input) {
	struct test_device dev;
	int fd;
	int other;
	struct client client;
	uint32_t handle;
	uint64_t at;
	uint64_t *map;
	uint64_t vram;
};

/* Returns the word at @map, to which the GPU may write at any time. */
static uint64_t word_of(const uint64_t *map)
{
	return __atomic_load_n(map, __ATOMIC_ACQUIRE);
}

FIXTURE_SETUP(input)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	self->vram = test_vram_settled(self->other, 0);
	ASSERT_EQ(0, client_open(&self->client, self->fd, 0));
	self->at = client_data(&self->client, 20);
	ASSERT_EQ(0, pagoda_create_private(self->fd, self->client.vm.vm, self->dev.page, CPU,
					   PAGODA_IN_VRAM, &self->handle));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, self->handle, self->at, 0,
				     self->dev.page));
	self->map = pagoda_map(self->fd, self->handle, self->dev.page);
	ASSERT_NE(NULL, self->map);
}

FIXTURE_TEARDOWN(input)
{
	munmap(self->map, self->dev.page);
	munmap(self->client.program.memory, CODE_SIZE);
	close(self->fd);
	EXPECT_EQ(self->vram, test_vram_settled(self->other, self->vram));
	close(self->other);
}

/* --- bad input ------------------------------------------------------------------------------- */

TEST_F(input, refusals)
{
	struct drm_pagoda_command_buffer buffer = { self->client.program.address, 24 };
	struct drm_pagoda_submit good = {
		.buffers = { (uintptr_t)&buffer, 1, sizeof(buffer) },
		.context = self->client.context,
	}, args;
	struct drm_pagoda_submit_entry entries[2] = {};
	struct drm_pagoda_sync syncs[1] = {};
	uint32_t foreign, bit;

	pagoda_store(&self->client.program, client_data(&self->client, 0), 1);
	for (bit = 0; bit < 32; bit++) {
		args = good;
		args.flags = 1u << bit & ~DRM_PAGODA_SUBMIT_FENCED;
		if (!args.flags)
			continue;
		EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	}
	args = good;
	args.context = UNKNOWN;
	EXPECT_REFUSED(ENOENT, pagoda_submit_args(self->fd, &args));
	args = good;
	EXPECT_REFUSED(ENOENT, pagoda_submit_args(self->other, &args));
	args.buffers.stride = 8;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	args.buffers.stride = sizeof(buffer) + 4;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	args = good;
	args.buffers.count = DRM_PAGODA_MAX_COMMAND_BUFFERS + 1;
	EXPECT_REFUSED(E2BIG, pagoda_submit_args(self->fd, &args));
	args = good;
	args.buffers.array = BAD_POINTER;
	EXPECT_REFUSED(EFAULT, pagoda_submit_args(self->fd, &args));

	args = good;
	buffer.address += 4;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	buffer.address = ~0ull - 7;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	buffer.address = self->client.program.address;
	buffer.size = 0;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	buffer.size = 20;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	buffer.size = VIRTIO_PAGODA_MAX_COMMAND_BUFFER + 8;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	buffer.size = 24;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.page, &entries[0].handle));
	args = good;
	args.entries = (struct drm_pagoda_array) { (uintptr_t)entries, 2, sizeof(*entries) };
	EXPECT_REFUSED(ENOENT, pagoda_submit_args(self->fd, &args));
	entries[1].handle = entries[0].handle;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	args.entries.count = 1;
	entries[0].flags = DRM_PAGODA_SUBMIT_WRITE;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	entries[0].flags = 1u << 31;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	args.entries.count = DRM_PAGODA_MAX_ENTRIES + 1;
	EXPECT_REFUSED(E2BIG, pagoda_submit_args(self->fd, &args));

	args = good;
	args.syncs = (struct drm_pagoda_array) { (uintptr_t)syncs, 1, sizeof(*syncs) };
	EXPECT_REFUSED(ENOENT, pagoda_submit_args(self->fd, &args));
	syncs[0].handle = self->client.syncobj;
	syncs[0].flags = 1u << 31;
	EXPECT_REFUSED(EINVAL, pagoda_submit_args(self->fd, &args));
	args.syncs.array = BAD_POINTER;
	EXPECT_REFUSED(EFAULT, pagoda_submit_args(self->fd, &args));

	/* An allocation private to another VM is refused, too. The context still executes jobs. */
	ASSERT_EQ(0, pagoda_vm_create(self->fd, &self->client.vm));
	ASSERT_EQ(0, pagoda_create_private(self->fd, self->client.vm.vm, self->dev.page, CPU,
					   PAGODA_IN_VRAM, &foreign));
	entries[0] = (struct drm_pagoda_submit_entry) { .handle = foreign };
	args = good;
	args.entries = (struct drm_pagoda_array) { (uintptr_t)entries, 1, sizeof(*entries) };
	EXPECT_REFUSED(EPERM, pagoda_submit_args(self->fd, &args));
	EXPECT_EQ(0, pagoda_submit(self->fd, self->client.context, 0, 0, NULL, 0,
				   self->client.syncobj, 1));
	EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, self->client.syncobj, 1, LIMIT));
}

TEST_F(input, context_refusals)
{
	struct drm_pagoda_context_create args = { .vm = self->client.vm.vm };
	struct drm_pagoda_context_state state;
	pid_t pid;

	args.engine = self->dev.info.num_engines;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &args));
	args.engine = 0;
	args.priority = DRM_PAGODA_PRIORITY_HIGH + 1;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &args));
	args.priority = DRM_PAGODA_PRIORITY_LOW;
	args.pad = 1;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &args));
	args.pad = 0;
	EXPECT_EQ(0, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &args));
	args.priority = DRM_PAGODA_PRIORITY_HIGH;
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (setuid(65534))
			_exit(2);
		_exit(pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &args) != -EPERM);
	}
	EXPECT_EQ(0, test_child_status(pid));
	EXPECT_EQ(0, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &args));
	EXPECT_REFUSED(ENOENT, pagoda_context_state(self->fd, UNKNOWN, &state));
	EXPECT_REFUSED(ENOENT, pagoda_context_state(self->other, self->client.context, &state));
	EXPECT_REFUSED(EBUSY, pagoda_vm_destroy(self->fd, self->client.vm.vm));
}

TEST_F(input, private_is_private)
{
	struct drm_prime_handle prime = { .flags = DRM_RDWR };
	struct drm_pagoda_vm_create second;
	struct drm_pagoda_allocation_create args = {
		.size = self->dev.page,
		.supported = PAGODA_IN_VRAM,
		.vm = UNKNOWN,
	};
	uint32_t handle;

	EXPECT_REFUSED(ENOENT, pagoda_create_args(self->fd, &args));
	args.vm = self->client.vm.vm;
	EXPECT_REFUSED(ENOENT, pagoda_create_args(self->other, &args));
	args.pad2 = 1;
	EXPECT_REFUSED(EINVAL, pagoda_create_args(self->fd, &args));
	args.pad2 = 0;
	ASSERT_EQ(0, pagoda_create_args(self->fd, &args));
	handle = args.handle;
	ASSERT_EQ(0, pagoda_vm_create(self->fd, &second));
	EXPECT_REFUSED(EPERM, pagoda_bind_map(self->fd, second.vm, handle, second.start, 0,
					      self->dev.page));
	EXPECT_EQ(0, pagoda_bind_map(self->fd, self->client.vm.vm, handle,
				     client_data(&self->client, 0), 0, self->dev.page));
	prime.handle = handle;
	EXPECT_REFUSED(EPERM, pagoda_ioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	/* MAKE_RESIDENT and EVICT accept a private allocation, whose dma_resv is the VM's. */
	EXPECT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	EXPECT_EQ(0, pagoda_evict_wait(self->fd, handle));
}

/* --- handles --------------------------------------------------------------------------------- */

static int submit_lists(struct client *client, uint32_t handle)
{
	return pagoda_submit(client->fd, client->context, 0, 0, &handle, 1, 0, 0);
}

TEST_F(input, closed_and_foreign_handles)
{
	struct drm_pagoda_sync sync = { 0 };
	struct drm_pagoda_submit args = {
		.syncs = { (uintptr_t)&sync, 1, sizeof(sync) },
		.context = self->client.context,
	};
	uint32_t handle, foreign, syncobj, fence, n;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.page, &handle));
	EXPECT_EQ(0, submit_lists(&self->client, handle));
	ASSERT_EQ(0, pagoda_close(self->fd, handle));
	EXPECT_REFUSED(ENOENT, submit_lists(&self->client, handle));
	/* @foreign is a handle of the other client, with a number that this client doesn't have. */
	for (n = 0; n < 20; n++)
		ASSERT_EQ(0, pagoda_create_vram(self->other, self->dev.page, &foreign));
	EXPECT_REFUSED(ENOENT, submit_lists(&self->client, foreign));
	EXPECT_REFUSED(ENOENT, pagoda_bind_map(self->fd, self->client.vm.vm, foreign,
					       client_data(&self->client, 1), 0, self->dev.page));
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &syncobj));
	ASSERT_EQ(0, pagoda_syncobj_destroy(self->fd, syncobj));
	sync.handle = syncobj;
	EXPECT_REFUSED(ENOENT, pagoda_submit_args(self->fd, &args));
	sync.flags = DRM_PAGODA_SYNC_SIGNAL;
	EXPECT_REFUSED(ENOENT, pagoda_submit_args(self->fd, &args));
	ASSERT_EQ(0, pagoda_fence_create(self->fd, 1, &fence, NULL));
	ASSERT_EQ(0, pagoda_fence_destroy(self->fd, fence));
	sync = (struct drm_pagoda_sync) {
		.handle = fence, .flags = DRM_PAGODA_SYNC_FENCE, .point = 2,
	};
	EXPECT_REFUSED(ENOENT, pagoda_submit_args(self->fd, &args));
	for (n = 0; n < 20; n++)
		ASSERT_EQ(0, pagoda_fence_create(self->other, 1, &fence, NULL));
	sync.handle = fence;
	EXPECT_REFUSED(ENOENT, pagoda_submit_args(self->fd, &args));
}

/* --- programs that leave the VM -------------------------------------------------------------- */

/*
 * Runs the program of @bad, which has to fault and so to ban the context, and closes @bad. Returns
 * the address of the fault.
 */
static uint64_t fault_of(struct __test_metadata *_metadata, struct client *bad)
{
	struct drm_pagoda_context_state state;

	EXPECT_EQ(0, client_run(bad, NULL, 0));
	EXPECT_EQ(0, pagoda_context_state(bad->fd, bad->context, &state));
	EXPECT_NE(0, state.state & DRM_PAGODA_CONTEXT_BANNED);
	EXPECT_EQ(DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_FAULTED, state.state);
	EXPECT_EQ(1, state.job);
	client_close(bad);
	return state.address;
}

#define FAULT_OF(command, ...) ({						\
	struct client bad;							\
										\
	ASSERT_EQ(0, client_open(&bad, self->fd, 0));				\
	command(&bad.program, __VA_ARGS__);					\
	fault_of(_metadata, &bad);						\
})

TEST_F(input, addresses_that_overflow)
{
	uint64_t code = self->client.program.address, end = self->client.vm.end;

	EXPECT_EQ(-8ull, FAULT_OF(pagoda_store, -8ull, 1));
	EXPECT_EQ(0, FAULT_OF(pagoda_store, 0, 1));
	EXPECT_EQ(end, FAULT_OF(pagoda_store, end, 1));
	EXPECT_EQ(end - 8, FAULT_OF(pagoda_store, end - 8, 1));
	FAULT_OF(pagoda_fill_words, code, UINT64_MAX - 3, 1);
	FAULT_OF(pagoda_fill_words, -4096ull, 8192, 1);
	FAULT_OF(pagoda_copy, code, code + 4096, -code);
	FAULT_OF(pagoda_copy, -64ull, code, 128);
	FAULT_OF(pagoda_compute, VIRTIO_PAGODA_COMPUTE_ADD, 1ull << 62, code, code, code, 0);
	FAULT_OF(pagoda_reduce, VIRTIO_PAGODA_REDUCE_SUM, UINT64_MAX, code, code, 0);
	FAULT_OF(pagoda_branch, -8ull, 4096);
	FAULT_OF(pagoda_branch, code, -code);
	/* The faults didn't affect a context in another VM: its job is executed. */
	pagoda_store(&self->client.program, self->at, 4);
	EXPECT_EQ(0, client_run(&self->client, NULL, 0));
	EXPECT_EQ(4, word_of(self->map));
}

/* --- what is in use -------------------------------------------------------------------------- */

/*
 * Submits the commands from client->start on as a job that waits for @in_point of @in, unless @in
 * is 0, and signals @out_point of @out. The next call submits the same commands again.
 */
static int submit_between(struct client *client, uint32_t in, uint64_t in_point, uint32_t out,
			  uint64_t out_point)
{
	struct drm_pagoda_sync syncs[2] = {
		{ out, DRM_PAGODA_SYNC_SIGNAL, out_point },
		{ .handle = in, .point = in_point },
	};
	struct drm_pagoda_command_buffer buffer = {
		client->program.address + client->start, client->program.used - client->start,
	};
	struct drm_pagoda_submit args = {
		.buffers = { (uintptr_t)&buffer, buffer.size ? 1 : 0, sizeof(buffer) },
		.syncs = { (uintptr_t)syncs, in ? 2 : 1, sizeof(*syncs) },
		.context = client->context,
	};

	return pagoda_submit_args(client->fd, &args);
}

/*
 * A thread that lets the job of client_hang() end once the thread with number @destroys, which
 * destroys the job's context and VM, sleeps. @asleep: that thread was seen asleep.
 */
struct release {
	pthread_t thread;
	struct client *client;
	atomic_int destroys;
	bool asleep;
};

static void *release_run(void *arg)
{
	struct release *release = arg;

	release->asleep = test_sleeps_in(&release->destroys, "SD");
	__atomic_store_n(client_word(release->client), 2, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * A context is destroyed while a job runs and others are queued behind that job, then the VM:
 * VM_DESTROY waits for the running job. The points of all jobs signal.
 */
TEST_F(input, destroyed_while_it_runs)
{
	struct client one;
	struct release release = { .client = &one };
	uint32_t n;
	int ret = 0;

	ASSERT_EQ(0, client_open(&one, self->fd, 0));
	ASSERT_EQ(0, client_hang(&one, false));
	ASSERT_EQ(0, client_hangs(&one));
	/* If a slow machine makes the running job exceed its time limit, SUBMIT is refused. */
	for (n = 0; n < 50 && !ret; n++) {
		ret = pagoda_submit(self->fd, one.context, 0, 0, NULL, 0, one.syncobj,
				    one.point + 1);
		one.point += !ret;
	}
	EXPECT_TRUE(!ret || ret == -ECANCELED);
	EXPECT_REFUSED(EBUSY, pagoda_vm_destroy(self->fd, one.vm.vm));
	ASSERT_EQ(0, pthread_create(&release.thread, NULL, release_run, &release));
	atomic_store(&release.destroys, syscall(SYS_gettid));
	ASSERT_EQ(0, pagoda_context_destroy(self->fd, one.context));
	EXPECT_REFUSED(ENOENT, pagoda_context_destroy(self->fd, one.context));
	EXPECT_REFUSED(ENOENT, pagoda_submit(self->fd, one.context, 0, 0, NULL, 0, 0, 0));
	ASSERT_EQ(0, pagoda_vm_destroy(self->fd, one.vm.vm));
	EXPECT_EQ(0, client_wait(&one));
	pthread_join(release.thread, NULL);
	EXPECT_TRUE(release.asleep);
	munmap(one.program.memory, CODE_SIZE);
	pagoda_store(&self->client.program, self->at, 3);
	EXPECT_EQ(0, client_run(&self->client, NULL, 0));
	EXPECT_EQ(3, word_of(self->map));
}

/*
 * A fence is destroyed while a queued job will store to its GPU address: the address is unmapped
 * (C139), and the job faults. The handle of an allocation that a queued job lists is closed: the
 * job is executed.
 */
TEST_F(input, closed_before_it_runs)
{
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP_FENCE, .address = self->at, .size = self->dev.page,
	};
	struct drm_pagoda_context_state state;
	struct client one;
	const uint64_t *value;
	uint32_t in, listed;

	ASSERT_EQ(0, client_open(&one, self->fd, 0));
	ASSERT_EQ(0, pagoda_fence_create(self->fd, 1, &entry.handle, &value));
	ASSERT_EQ(0, pagoda_bind(self->fd, one.vm.vm, &entry, 1, 0, 0));
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &in));
	pagoda_store(&one.program, entry.address, 2);
	ASSERT_EQ(0, submit_between(&one, in, 1, one.syncobj, ++one.point));
	ASSERT_EQ(0, pagoda_fence_destroy(self->fd, entry.handle));
	/* A listed allocation stays for the job, with a handle or without. */
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.page, &listed));
	ASSERT_EQ(0, submit_between(&self->client, in, 1, self->client.syncobj,
				    ++self->client.point));
	pagoda_store(&self->client.program, self->at, 8);
	ASSERT_EQ(0, client_submit(&self->client, &listed, 1));
	ASSERT_EQ(0, pagoda_close(self->fd, listed));
	ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, 1));
	EXPECT_EQ(0, client_wait(&one));
	EXPECT_EQ(1, word_of(value));
	ASSERT_EQ(0, pagoda_context_state(self->fd, one.context, &state));
	EXPECT_EQ(DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_FAULTED, state.state);
	EXPECT_EQ(entry.address, state.address);
	EXPECT_EQ(0, client_wait(&self->client));
	EXPECT_EQ(8, word_of(self->map));
	munmap((void *)value, self->dev.page);
	client_close(&one);
}

/* --- points ---------------------------------------------------------------------------------- */

/* Jobs signal points of a timeline, or wait for points, out of order: all waits end. */
TEST_F(input, points_out_of_order)
{
	static const uint64_t points[] = { 5, 3, 4, 4, 1, 6 };
	uint32_t out, in, n;

	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &out));
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &in));
	for (n = 0; n < ARRAY_SIZE(points); n++)
		ASSERT_EQ(0, submit_between(&self->client, 0, 0, out, points[n]));
	EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, out, 6, LIMIT));
	/* Jobs wait for points out of order, and the CPU signals points out of order. */
	for (n = 0; n < ARRAY_SIZE(points); n++)
		ASSERT_EQ(0, submit_between(&self->client, in, points[n], self->client.syncobj,
					    ++self->client.point));
	ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, 5));
	EXPECT_EQ(-ETIME, pagoda_syncobj_wait(self->fd, self->client.syncobj, self->client.point,
					      PAGODA_SEC / 5));
	ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, 3));
	ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, 6));
	EXPECT_EQ(0, client_wait(&self->client));
}

/* As many jobs as may wait, all for one point: all are executed when the point is signalled. */
TEST_F(input, all_wait_for_one)
{
	uint32_t in, n, count = DRM_PAGODA_MAX_WAITING_JOBS;
	struct drm_pagoda_context_state state;

	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &in));
	pagoda_add(&self->client.program, self->at, 1, 0);
	for (n = 0; n < count; n++)
		ASSERT_EQ(0, submit_between(&self->client, in, 1, self->client.syncobj,
					    ++self->client.point));
	EXPECT_EQ(0, word_of(self->map));
	ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, 1));
	/*
	 * Waits for a quarter of the jobs at a time, so that all together may take four times
	 * LIMIT.
	 */
	for (n = count / 4; n <= count; n += count / 4)
		EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, self->client.syncobj, n, LIMIT));
	EXPECT_EQ(count, word_of(self->map));
	ASSERT_EQ(0, pagoda_context_state(self->fd, self->client.context, &state));
	EXPECT_EQ(count, state.completed);
}

/* --- processes ------------------------------------------------------------------------------- */

/*
 * A child that shares the file submits jobs and exits, while all jobs, the child's and the
 * parent's, wait for a point: all are executed when the parent signals the point.
 */
TEST_F(input, forks_while_jobs_wait)
{
	uint32_t in;
	pid_t pid;
	int n;

	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &in));
	pagoda_add(&self->client.program, self->at, 1, 0);
	for (n = 0; n < 20; n++)
		ASSERT_EQ(0, submit_between(&self->client, in, 1, self->client.syncobj, n + 1));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		for (n = 0; n < 20; n++)
			if (submit_between(&self->client, in, 1, self->client.syncobj, n + 21))
				_exit(1);
		_exit(0);
	}
	EXPECT_EQ(0, test_child_status(pid));
	ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, 1));
	EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, self->client.syncobj, 40, LIMIT));
	EXPECT_EQ(40, word_of(self->map));
}

TEST_HARNESS_MAIN
