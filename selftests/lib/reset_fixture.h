/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tests of resets share: a client on a device that can be reset and made to fail, and
 * clients that do wrong.
 */
#ifndef RESET_FIXTURE_H
#define RESET_FIXTURE_H

#include <fcntl.h>
#include <glob.h>
#include <linux/sync_file.h>

#include "submit_client.h"

#define INJECT		FOLDER "inject"
#define NOWHERE		(3ull << 37)

#define FILES		"/sys/kernel/debug/dri/*/"
#define COREDUMPS	"/sys/class/devcoredump/devcd*/data"

/*
 * Opens the first file that matches @pattern: debugfs shows the files of a device in two folders.
 * Returns an fd or a negative errno.
 */
static inline int open_first(const char *pattern, int flags)
{
	glob_t found;
	int fd;

	if (glob(pattern, 0, NULL, &found))
		return -ENOENT;
	fd = open(found.gl_pathv[0], flags | O_CLOEXEC);
	globfree(&found);
	return fd < 0 ? -errno : fd;
}

/* Has the driver reset and rebuild the device, and waits for the end. */
static inline int reset_device(void)
{
	int fd = open_first(FILES "reset", O_WRONLY), ret;

	if (fd < 0)
		return fd;
	ret = write(fd, "1", 1) == 1 ? 0 : -errno;
	close(fd);
	return ret;
}

static inline int inject(const char *rule)
{
	int fd = open(INJECT, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, rule, strlen(rule)) == (ssize_t)strlen(rule) ? 0 : -errno;
	close(fd);
	return ret;
}

static inline uint64_t resets(const struct client *client)
{
	struct drm_pagoda_context_state state;

	return pagoda_context_state(client->fd, client->context, &state) ? ~0ull : state.resets;
}

static inline uint32_t flags_of(const struct client *client)
{
	struct drm_pagoda_context_state state;

	return pagoda_context_state(client->fd, client->context, &state) ? ~0u : state.state;
}

/* As client_run(); commands that are appended later overwrite the program from its begin. */
static inline int run_anew(struct client *client, const uint32_t *handles, uint32_t count)
{
	int ret = client_run(client, handles, count);

	client_rewind(client);
	return ret;
}

/*
 * Submits a job as client_submit() does, which first waits until monitored fence @in has @value,
 * unless @in is 0, and which also sets monitored fence @out to @then.
 */
static inline int submit_fences(struct client *client, uint32_t in, uint64_t value, uint32_t out,
				uint64_t then)
{
	struct drm_pagoda_sync syncs[3] = {
		{ client->syncobj, DRM_PAGODA_SYNC_SIGNAL, ++client->point },
		{ out, DRM_PAGODA_SYNC_FENCE | DRM_PAGODA_SYNC_SIGNAL, then },
		{ in, DRM_PAGODA_SYNC_FENCE, value },
	};
	struct drm_pagoda_command_buffer buffer = {
		client->program.address + client->start, client->program.used - client->start,
	};
	struct drm_pagoda_submit args = {
		.buffers = { (uintptr_t)&buffer, buffer.size ? 1 : 0, sizeof(buffer) },
		.syncs = { (uintptr_t)syncs, in ? 3 : 2, sizeof(*syncs) },
		.context = client->context,
	};

	client->start = client->program.used;
	return pagoda_submit_args(client->fd, &args);
}

/* Submits the whole program as a fenced job; @binary, a binary syncobj, gets the job's fence. */
static inline int submit_binary(struct client *client, uint32_t binary)
{
	struct drm_pagoda_sync sync = { binary, DRM_PAGODA_SYNC_SIGNAL };
	struct drm_pagoda_command_buffer buffer = {
		client->program.address, client->program.used,
	};
	struct drm_pagoda_submit args = {
		.buffers = { (uintptr_t)&buffer, 1, sizeof(buffer) },
		.syncs = { (uintptr_t)&sync, 1, sizeof(sync) },
		.context = client->context,
		.flags = DRM_PAGODA_SUBMIT_FENCED,
	};

	return pagoda_submit_args(client->fd, &args);
}

/*
 * Waits for the fence of a binary syncobj. Returns 1 if the fence has no error, else the negative
 * errno of the fence or of a failed call.
 */
static inline int fence_status(int fd, uint32_t binary)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&binary,
		.timeout_nsec = pagoda_now() + LIMIT,
		.count_handles = 1,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};
	struct drm_syncobj_handle handle = {
		.handle = binary,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	struct sync_file_info info = {};
	int ret;

	ret = pagoda_ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
	if (!ret)
		ret = pagoda_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &handle);
	if (ret)
		return ret;
	ret = ioctl(handle.fd, SYNC_IOC_FILE_INFO, &info) ? -errno : info.status;
	close(handle.fd);
	return ret;
}

/* Appends commands that fault; @how chooses among seven ways. */
static inline void fault_somehow(struct client *client, uint32_t how)
{
	struct pagoda_program *program = &client->program;
	uint64_t code = program->address;

	switch (how % 7) {
	case 0:
		pagoda_store(program, NOWHERE, 1);
		break;
	case 1:
		pagoda_store(program, ~7ull, 1);
		break;
	case 2:
		pagoda_copy(program, code, code + CODE_SIZE - 4096, 8192);
		break;
	case 3:
		pagoda_branch(program, NOWHERE, 4096);
		break;
	case 4:
		pagoda_fill_words(program, code + CODE_SIZE - 8, ~7ull, 3);
		break;
	case 5:
		pagoda_compare(program, code, ~0ull);
		break;
	case 6:
		pagoda_command(program, 0x7fff, 0, 24);
		break;
	}
}

/* Appends commands that never end: a WAIT if @how is odd, else a loop. */
static inline void hang_somehow(struct client *client, uint32_t how)
{
	struct pagoda_program *program = &client->program;
	struct virtio_pagoda_wait *wait;

	if (how % 2) {
		wait = PAGODA_COMMAND(program, WAIT, wait, 0);
		wait->address = htole64(program->address + CODE_SIZE - 8);
		wait->value = htole64(~0ull);
	} else {
		pagoda_fill_words(program, program->address + CODE_SIZE / 2, 4096, 1);
		pagoda_forever(program, 0);
	}
}

/*
 * Submits the first job of @bad, which faults or hangs, and then another job. Checks that the fence
 * of the first has the error, that CONTEXT_STATE names the first job and @engine, that the context
 * is banned, and that the other job isn't executed, or isn't accepted because the context is banned
 * already. Returns NULL, or a text that says which check failed.
 */
static inline const char *punished(struct client *bad, uint32_t engine, bool hang, uint32_t how)
{
	int error = hang ? -ETIME : -EFAULT, fd = bad->fd, ret;
	struct drm_pagoda_context_state state;
	uint32_t first, second;

	if (pagoda_syncobj_create(fd, &first) || pagoda_syncobj_create(fd, &second))
		return "no syncobj";
	if (hang)
		hang_somehow(bad, how);
	else
		fault_somehow(bad, how);
	if (submit_binary(bad, first))
		return "not accepted";
	ret = submit_binary(bad, second);
	if (ret && ret != -ECANCELED)
		return "the next one isn't cancelled";
	if (!ret && fence_status(fd, second) != -ECANCELED)
		return "the next one's fence";
	if (fence_status(fd, first) != error)
		return "its fence";
	if (pagoda_context_state(fd, bad->context, &state))
		return "no state";
	if (state.state != (DRM_PAGODA_CONTEXT_BANNED | (hang ? DRM_PAGODA_CONTEXT_HUNG :
							 DRM_PAGODA_CONTEXT_FAULTED)))
		return "its state";
	if (state.job != 1 || state.engine != engine)
		return "which job it was";
	if (submit_binary(bad, second) != -ECANCELED)
		return "not banned";
	pagoda_syncobj_destroy(fd, first);
	pagoda_syncobj_destroy(fd, second);
	return NULL;
}

/* Calls punished() for a new VM and context of @fd's client. */
static inline const char *punish(int fd, uint32_t engine, bool hang, uint32_t how)
{
	struct client bad;
	const char *wrong;

	if (client_open(&bad, fd, engine))
		return "no client";
	wrong = punished(&bad, engine, hang, how);
	client_close(&bad);
	return wrong;
}

#define EXPECT_PUNISHED(...) do {						\
	const char *_wrong = punish(__VA_ARGS__);				\
										\
	EXPECT_EQ(NULL, _wrong)							\
		TH_LOG("%s", _wrong);						\
} while (0)

FIXTURE(reset) {
	struct test_device dev;
	int fd;
	int other;
	struct client client;
	uint64_t vram;
};

FIXTURE_SETUP(reset)
{
	int fd = open_first(FILES "reset", O_WRONLY);

	if (fd < 0 || access(INJECT, W_OK))
		SKIP(return, "no debugfs files: it isn't mounted, or another GPU");
	close(fd);
	ASSERT_EQ(0, inject("clear"));
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	self->vram = test_vram_settled(self->other, 0);
	ASSERT_EQ(0, client_open(&self->client, self->fd, 0));
}

FIXTURE_TEARDOWN(reset)
{
	inject("clear");
	if (!self->client.program.memory)
		return;
	munmap(self->client.program.memory, CODE_SIZE);
	close(self->fd);
	EXPECT_EQ(self->vram, test_vram_settled(self->other, self->vram));
	close(self->other);
}

#endif
