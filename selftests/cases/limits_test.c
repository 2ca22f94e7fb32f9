// SPDX-License-Identifier: GPL-2.0
/*
 * Limits: how many VMs, contexts, waiting jobs, files of EVENTS and pinned fences a client or a
 * user may have at once, and that other users still get their share. The user is the real user id
 * of the process that opened the file, whatever ids that user has in a user namespace. Kernel
 * memory for a client is charged to its control group.
 */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/dmem_fixture.h"
#include "lib/submit_client.h"

#define ANN		1001
#define BOB		1002
#define NODE		"/tmp/pagoda-limits"
/*
 * First user id that the ids of a user namespace are mapped to; no test uses these ids elsewhere.
 */
#define MAPPED		100000
#define MAX_SPACES	4096

FIXTURE(limits) {
	struct test_device dev;
	int fd;
};

FIXTURE_SETUP(limits)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
}

FIXTURE_TEARDOWN(limits)
{
	close(self->fd);
}

/*
 * Makes VMs of a client until a VM is refused, or there are MAX_SPACES. Sets *@error to the
 * refusal's negative errno, else 0. Returns the number of VMs made.
 */
static uint32_t take_vms(int fd, int *error)
{
	struct drm_pagoda_vm_create args;
	uint32_t count = 0;

	while (!(*error = pagoda_vm_create(fd, &args)) && count < MAX_SPACES)
		count++;
	return count;
}

/*
 * Makes VMs of one new client after the other, as many as each client gets. Ends at a client that
 * gets no VM, or whose next VM is refused for another reason than the client's own limit, EMFILE.
 * Sets *@error to the negative errno of the last refusal, or of a client that can't be opened.
 * Returns the number of VMs made.
 */
static uint32_t take_share(int *error)
{
	uint32_t count = 0, more;
	int fd;

	do {
		fd = pagoda_open();
		if (fd < 0)
			fd = pagoda_open_node(NODE);
		if (fd < 0) {
			*error = fd;
			return count;
		}
		more = take_vms(fd, error);
		count += more;
	} while (*error == -EMFILE && more && count < MAX_SPACES);
	return count;
}

/*
 * Starts a child that, as user @uid, makes VMs by take_share(), calls test_say() if the last
 * refusal is @expected, and keeps the VMs until it is killed. Returns the child's pid.
 */
static pid_t greedy_user(struct __test_metadata *_metadata, uid_t uid, int expected, int *pipe_end)
{
	pid_t pid = test_fork(pipe_end);
	int error;

	if (pid)
		return pid;
	/* Limits go by the real id. Files are opened with the effective id, which is root's. */
	if (setresuid(uid, -1, -1))
		_exit(1);
	if (!take_share(&error) || error != expected)
		_exit(2);
	test_say(*pipe_end);
	pause();
	_exit(3);
}

static void end_child(pid_t pid, int pipe_end)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pipe_end);
}

TEST_F(limits, vms_of_a_client)
{
	int error, other = pagoda_open();
	struct drm_pagoda_vm_create args;

	ASSERT_LE(0, other);
	EXPECT_EQ(DRM_PAGODA_MAX_VMS, take_vms(self->fd, &error));
	EXPECT_EQ(-EMFILE, error);
	EXPECT_EQ(0, pagoda_vm_destroy(self->fd, 1));
	EXPECT_EQ(0, pagoda_vm_create(self->fd, &args));
	EXPECT_REFUSED(EMFILE, pagoda_vm_create(self->fd, &args));
	EXPECT_EQ(0, pagoda_vm_create(other, &args));
	close(other);
}

/*
 * A user gets half of the address spaces that others leave, in however many files. Other users
 * still get address spaces, and a user's are free again when the user's process has ended.
 */
TEST_F(limits, vms_of_a_user)
{
	int ann, bob, error;
	struct drm_pagoda_vm_create args;
	pid_t first, second;

	first = greedy_user(_metadata, ANN, -ENOSPC, &ann);
	ASSERT_TRUE(test_heard(ann));
	EXPECT_EQ(0, pagoda_vm_create(self->fd, &args));
	second = greedy_user(_metadata, BOB, -ENOSPC, &bob);
	ASSERT_TRUE(test_heard(bob));
	EXPECT_EQ(0, pagoda_vm_create(self->fd, &args));
	end_child(second, bob);
	end_child(first, ann);
	EXPECT_EQ(DRM_PAGODA_MAX_VMS - 2, take_vms(self->fd, &error));
	EXPECT_EQ(-EMFILE, error);
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t size = strlen(text), ret = fd < 0 ? -1 : write(fd, text, size);

	if (fd >= 0)
		close(fd);
	return ret == size ? 0 : -1;
}

/*
 * The child of mapped_child(): as user ANN enters a new user namespace, says so by @pipe_end, waits
 * at @heard until the parent has mapped ids, takes the namespace's id @uid, and makes VMs until
 * ENOSPC. @first: at least one VM must be made; else no VM, as ANN's share is used up. Then says by
 * @pipe_end that all is as expected, and keeps the VMs until the child is killed.
 */
static void mapped_user(int pipe_end, int heard, uid_t uid, bool first)
{
	int error;
	char byte;

	if (setresuid(ANN, ANN, ANN) || unshare(CLONE_NEWUSER))
		_exit(10);
	test_say(pipe_end);
	/* Waits until the parent has written uid_map. */
	if (read(heard, &byte, 1) != 1 || setresuid(uid, uid, uid))
		_exit(11);
	if (!!take_share(&error) != first || error != -ENOSPC)
		_exit(12);
	test_say(pipe_end);
	pause();
	_exit(13);
}

static pid_t mapped_child(struct __test_metadata *_metadata, uid_t uid, bool first, int *pipe_end)
{
	char path[64], map[64];
	int go[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	pid = test_fork(pipe_end);
	if (!pid)
		mapped_user(*pipe_end, go[0], uid, first);
	EXPECT_TRUE(test_heard(*pipe_end));
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	snprintf(map, sizeof(map), "0 %d 1000", MAPPED);
	EXPECT_EQ(0, write_file(path, map));
	EXPECT_EQ(1, write(go[1], "", 1));
	close(go[0]);
	close(go[1]);
	return pid;
}

/* A user that gives itself many ids in namespaces is still one user. */
TEST_F(limits, ids_of_a_namespace)
{
	struct drm_pagoda_vm_create args;
	struct stat node;
	int ends[2];
	pid_t pids[2];

	if (access("/proc/self/ns/user", F_OK))
		SKIP(return, "no user namespaces");
	ASSERT_EQ(0, fstat(self->fd, &node));
	unlink(NODE);
	ASSERT_EQ(0, mknod(NODE, S_IFCHR | 0600, node.st_rdev));
	ASSERT_EQ(0, chmod(NODE, 0666));
	pids[0] = mapped_child(_metadata, 5, true, &ends[0]);
	EXPECT_TRUE(test_heard(ends[0]));
	pids[1] = mapped_child(_metadata, 6, false, &ends[1]);
	EXPECT_TRUE(test_heard(ends[1]));
	EXPECT_EQ(0, pagoda_vm_create(self->fd, &args));
	end_child(pids[1], ends[1]);
	end_child(pids[0], ends[0]);
	unlink(NODE);
}

TEST_F(limits, contexts)
{
	struct drm_pagoda_vm_create vm;
	uint32_t context = 0, last = 0, count = 0;
	int ret;

	ASSERT_EQ(0, pagoda_vm_create(self->fd, &vm));
	while (!(ret = pagoda_context_create(self->fd, vm.vm, &context)) &&
	       count <= DRM_PAGODA_MAX_CONTEXTS) {
		last = context;
		count++;
	}
	EXPECT_EQ(-EMFILE, ret);
	EXPECT_EQ(DRM_PAGODA_MAX_CONTEXTS, count);
	EXPECT_EQ(0, pagoda_context_destroy(self->fd, last));
	EXPECT_EQ(0, pagoda_context_create(self->fd, vm.vm, &context));
}

static int submit_behind(struct client *client, uint32_t syncobj, uint64_t point)
{
	struct drm_pagoda_sync sync = { .handle = syncobj, .point = point };
	struct drm_pagoda_submit args = {
		.context = client->context,
		.syncs = { (uintptr_t)&sync, 1, sizeof(sync) },
	};

	return pagoda_submit_args(client->fd, &args);
}

/* Jobs count as waiting until the point they wait for signals, or their context is destroyed. */
TEST_F(limits, waiting_jobs)
{
	struct client client;
	uint32_t syncobj, count = 0;
	int ret;

	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &syncobj));
	while (!(ret = submit_behind(&client, syncobj, 1)) && count <= DRM_PAGODA_MAX_WAITING_JOBS)
		count++;
	EXPECT_EQ(-EBUSY, ret);
	EXPECT_EQ(DRM_PAGODA_MAX_WAITING_JOBS, count);
	EXPECT_REFUSED(EBUSY, client_submit(&client, NULL, 0));
	ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, syncobj, 1));
	do {
		usleep(1000);
		ret = submit_behind(&client, syncobj, 2);
	} while (ret == -EBUSY);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, pagoda_context_destroy(self->fd, client.context));
	EXPECT_EQ(0, pagoda_context_create(self->fd, client.vm.vm, &client.context));
	client.point = 0;
	EXPECT_EQ(0, client_submit(&client, NULL, 0));
	EXPECT_EQ(0, client_wait(&client));
	munmap(client.program.memory, CODE_SIZE);
}

/* Files of EVENTS outlive the DRM file, and count for the user until they are closed. */
TEST_F(limits, event_files)
{
	enum { files = DRM_PAGODA_MAX_USER_EVENT_FILES, each = DRM_PAGODA_MAX_EVENT_FILES };
	int events[files], n, fd;

	for (n = 0; n < files; n++) {
		fd = n % each ? fd : pagoda_open();
		ASSERT_LE(0, fd);
		events[n] = pagoda_events(fd, 0);
		ASSERT_LE(0, events[n]);
		if (n % each != each - 1)
			continue;
		EXPECT_REFUSED(EMFILE, pagoda_events(fd, 0));
		close(fd);
	}
	EXPECT_REFUSED(EMFILE, pagoda_events(self->fd, 0));
	close(events[0]);
	events[0] = pagoda_events(self->fd, 0);
	EXPECT_LE(0, events[0]);
	for (n = 0; n < files; n++)
		close(events[n]);
}

/*
 * A fence is pinned while a FENCE_WAIT, with or without an eventfd, waits for it. At the client's
 * limit a wait for a fence that isn't pinned is refused.
 */
TEST_F(limits, pinned_fences)
{
	struct drm_pagoda_fence_value entry = { .value = 1 };
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), ret = 0;
	uint32_t count = 0, free = 0;

	ASSERT_LE(0, event);
	ASSERT_EQ(0, pagoda_fence_create(self->fd, 0, &free, NULL));
	for (; count <= DRM_PAGODA_MAX_PINNED_FENCES; count++) {
		ASSERT_EQ(0, pagoda_fence_create(self->fd, 0, &entry.fence, NULL));
		ret = pagoda_fence_notify(self->fd, &entry, 1, 0, event);
		if (ret)
			break;
	}
	EXPECT_EQ(-EDQUOT, ret);
	EXPECT_EQ(DRM_PAGODA_MAX_PINNED_FENCES, count);
	EXPECT_REFUSED(EDQUOT, pagoda_fence_wait(self->fd, free, 1, 1));
	/* A pinned fence may be waited for again. FENCE_SIGNAL, too, pins a fence for a moment. */
	EXPECT_REFUSED(ETIME, pagoda_fence_wait(self->fd, free + 1, 1, 1));
	EXPECT_EQ(0, pagoda_fence_signal(self->fd, free + 1, 1));
	do {
		usleep(1000);
		ret = pagoda_fence_signal(self->fd, free, 1);
	} while (ret == -EDQUOT);
	EXPECT_EQ(0, ret);
	close(event);
}

/* --- memory of the kernel -------------------------------------------------------------------- */

#define GROUP		"pagoda-limits"
#define MAPPINGS	32768u

/* Maps zeros to every other page of a range, so that no two of the mappings can become one. */
static int map_zeros(int fd, const struct drm_pagoda_vm_create *vm, uint64_t page)
{
	uint64_t here = test_round_up(vm->start, 2 * PAGODA_MIB);
	struct drm_pagoda_bind_entry *entries = calloc(MAPPINGS, sizeof(*entries));
	uint32_t n;
	int ret;

	if (!entries)
		return -ENOMEM;
	for (n = 0; n < MAPPINGS; n++)
		entries[n] = (struct drm_pagoda_bind_entry) {
			.type = DRM_PAGODA_BIND_MAP_ZERO,
			.address = here + 2 * n * page,
			.size = page,
		};
	ret = pagoda_bind(fd, vm->vm, entries, MAPPINGS, 0, 0);
	free(entries);
	return ret;
}

static void charged_client(int say, int heard, uint64_t page)
{
	struct drm_pagoda_vm_create vm;
	int fd;
	char byte;

	if (group_write(GROUP, "cgroup.procs", "0"))
		_exit(20);
	fd = pagoda_open();
	if (fd < 0 || pagoda_vm_create(fd, &vm))
		_exit(21);
	test_say(say);
	if (read(heard, &byte, 1) != 1 || map_zeros(fd, &vm, page))
		_exit(22);
	test_say(say);
	pause();
	_exit(23);
}

/* Returns the bytes of kernel memory that GROUP is charged for. */
static uint64_t group_kernel(void)
{
	FILE *file = fopen(CGROUPS "/" GROUP "/memory.stat", "r");
	unsigned long long bytes, found = 0;
	char name[64];

	while (file && fscanf(file, "%63s %llu", name, &bytes) == 2)
		if (!strcmp(name, "kernel"))
			found = bytes;
	if (file)
		fclose(file);
	return found;
}

/* Kernel memory for a client's mappings is charged to the client's control group. */
TEST_F(limits, memory_is_charged)
{
	uint64_t before, after;
	int said, go[2];
	pid_t pid;

	if (access(CGROUPS "/cgroup.controllers", R_OK))
		mount("cgroup2", CGROUPS, "cgroup2", 0, NULL);
	if (!group_has("", "cgroup.controllers", "memory") ||
	    group_write("", "cgroup.subtree_control", "+memory"))
		SKIP(return, "no memory controller");
	ASSERT_EQ(0, group_make(GROUP));
	ASSERT_EQ(0, pipe(go));
	pid = test_fork(&said);
	if (!pid)
		charged_client(said, go[0], self->dev.page);
	EXPECT_TRUE(test_heard(said));
	before = group_kernel();
	EXPECT_EQ(1, write(go[1], "", 1));
	EXPECT_TRUE(test_heard(said));
	after = group_kernel();
	/* Each mapping takes over 128 bytes: nodes of two trees, and words of the tables' copy. */
	EXPECT_LT(before + MAPPINGS * 128, after);
	end_child(pid, said);
	close(go[0]);
	close(go[1]);
	EXPECT_EQ(0, group_remove(GROUP));
}

TEST_HARNESS_MAIN
