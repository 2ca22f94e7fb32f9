// SPDX-License-Identifier: GPL-2.0
/*
 * SUBMIT, VM_BIND and monitored fences, with each allocation of kernel memory and access to user
 * memory failing in turn; see lib/fail_fixture.h.
 */
#include <sys/eventfd.h>

#include "lib/fail_fixture.h"
#include "lib/submit_client.h"

/*
 * A client that is used through all failures of a test, so that later calls show what a failed call
 * left behind.
 */
static struct {
	struct client client;
	uint64_t submitted;
	uint32_t in;
	uint64_t in_point;
	uint64_t at;
	uint32_t fences[3];
	const uint64_t *values[3];
	uint64_t value;
	int event;
} kept;

static int kept_open(int fd)
{
	uint32_t n;
	int ret;

	memset(&kept, 0, sizeof(kept));
	ret = client_open(&kept.client, fd, 0);
	kept.at = client_data(&kept.client, 0);
	if (!ret)
		ret = pagoda_syncobj_create(fd, &kept.in);
	for (n = 0; n < 3 && !ret; n++)
		ret = pagoda_fence_create(fd, 0, &kept.fences[n], &kept.values[n]);
	kept.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return kept.event < 0 ? -errno : ret;
}

static void kept_close(int fd, uint64_t page)
{
	uint32_t n;

	after = NULL;
	for (n = 0; n < 3; n++) {
		munmap((void *)kept.values[n], page);
		pagoda_fence_destroy(fd, kept.fences[n]);
	}
	pagoda_syncobj_destroy(fd, kept.in);
	client_close(&kept.client);
	close(kept.event);
}

/*
 * Returns whether a call may have done its work though it failed with @ret: EFAULT may come from
 * the DRM core, if writing back the arguments is what was made to fail.
 */
static bool may_be_made(int ret)
{
	return ret == -EFAULT;
}

/*
 * Checks that all accepted jobs are executed, and that no other job is counted. @failed: what the
 * sequence returned. Returns 0 or a negative errno.
 */
static int after_submit(int fd, uint64_t page, int failed)
{
	struct drm_pagoda_context_state state;
	uint64_t point;
	int ret = pagoda_context_state(fd, kept.client.context, &state);

	if (may_be_made(failed) && state.submitted == kept.submitted + 1)
		kept.submitted++;
	/* Accepted jobs may wait for this point. */
	if (!ret)
		ret = pagoda_syncobj_signal(fd, kept.in, kept.in_point);
	if (!ret && kept.submitted)
		ret = pagoda_syncobj_wait(fd, kept.client.syncobj, kept.submitted, LIMIT);
	if (!ret)
		ret = pagoda_context_state(fd, kept.client.context, &state);
	if (!ret)
		ret = pagoda_syncobj_query(fd, kept.client.syncobj, &point);
	if (ret)
		return ret;
	if (!state.state && state.submitted == kept.submitted &&
	    state.completed == kept.submitted && point == kept.submitted)
		return 0;
	fprintf(stderr, "state %#x, %llu jobs, %llu done, point %llu, expected %llu\n",
		state.state, (unsigned long long)state.submitted,
		(unsigned long long)state.completed, (unsigned long long)point,
		(unsigned long long)kept.submitted);
	return -EBADE;
}

/*
 * Submits a job that uses a private allocation and lists another with @flags, waits for a point of
 * kept.in, and signals a point and a monitored fence.
 */
static int submit_with(int fd, uint64_t page, uint32_t *handles, uint32_t flags)
{
	struct drm_pagoda_sync syncs[] = {
		{ .handle = kept.in, .point = kept.in_point },
		{ kept.client.syncobj, DRM_PAGODA_SYNC_SIGNAL, kept.submitted + 1 },
		{ kept.fences[0], DRM_PAGODA_SYNC_SIGNAL | DRM_PAGODA_SYNC_FENCE,
		  kept.submitted + 1 },
	};
	struct drm_pagoda_command_buffer buffer = {
		kept.client.program.address, kept.client.program.used,
	};
	struct drm_pagoda_submit_entry entry = { .flags = flags };
	struct drm_pagoda_submit args = {
		.buffers = { (uintptr_t)&buffer, 1, sizeof(buffer) },
		.syncs = { (uintptr_t)syncs, ARRAY_SIZE(syncs), sizeof(*syncs) },
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		.context = kept.client.context,
	};
	int ret = pagoda_create_private(fd, kept.client.vm.vm, 2 * page, CPU, PAGODA_IN_VRAM,
					&handles[0]);

	if (!ret)
		ret = pagoda_bind_map(fd, kept.client.vm.vm, handles[0], kept.at, 0, 2 * page);
	if (!ret)
		ret = pagoda_create_vram(fd, 2 * page, &handles[1]);
	entry.handle = handles[1];
	if (!ret)
		ret = pagoda_submit_args(fd, &args);
	if (!ret)
		kept.submitted++;
	return ret;
}

static int sequence_submit(int fd, uint64_t page, uint32_t *handles)
{
	int ret = submit_with(fd, page, handles, DRM_PAGODA_SUBMIT_IMPLICIT);

	return ret ? ret : pagoda_syncobj_wait(fd, kept.client.syncobj, kept.submitted, LIMIT);
}

/*
 * Submits a job that waits for a point which only after_submit() signals, so that a work item
 * prepares the job. IMPLICIT would be refused for such a job.
 */
static int sequence_submit_waiting(int fd, uint64_t page, uint32_t *handles)
{
	kept.in_point++;
	return submit_with(fd, page, handles, 0);
}

static int sequence_states(int fd, uint64_t page, uint32_t *handles)
{
	struct drm_pagoda_vm_state vm = { .vm = kept.client.vm.vm };
	struct drm_pagoda_context_state state;
	int ret = pagoda_context_state(fd, kept.client.context, &state);

	return ret ? ret : pagoda_ioctl(fd, DRM_IOCTL_PAGODA_VM_STATE, &vm);
}

TEST_F(fail, submit)
{
	ASSERT_EQ(0, kept_open(self->dev.fd));
	pagoda_store(&kept.client.program, kept.at, 1);
	kept.in_point = 1;
	ASSERT_EQ(0, pagoda_syncobj_signal(self->dev.fd, kept.in, 1));
	after = after_submit;
	WALK(sequence_submit);
	EXPECT_LT(0, kept.submitted);
	kept_close(self->dev.fd, self->dev.page);
}

TEST_F(fail, submit_waiting)
{
	ASSERT_EQ(0, kept_open(self->dev.fd));
	pagoda_store(&kept.client.program, kept.at, 1);
	after = after_submit;
	WALK(sequence_submit_waiting);
	EXPECT_LT(0, kept.submitted);
	kept_close(self->dev.fd, self->dev.page);
}

TEST_F(fail, states)
{
	ASSERT_EQ(0, kept_open(self->dev.fd));
	WALK(sequence_states);
	kept_close(self->dev.fd, self->dev.page);
}

/* --- binds that wait, and the other types ---------------------------------------------------- */

#define TRIED	(64 * PAGODA_MIB)

/*
 * Checks that the VM is usable, and that all of the range that the sequence changes can be
 * unmapped; before that, if no array was accepted, also reserved.
 */
static int after_bind(int fd, uint64_t page, int failed)
{
	struct drm_pagoda_vm_state state = { .vm = kept.client.vm.vm };
	uint32_t vm = kept.client.vm.vm;
	int ret = pagoda_syncobj_signal(fd, kept.in, kept.in_point);

	if (!ret && kept.submitted)
		ret = pagoda_syncobj_wait(fd, kept.client.syncobj, kept.submitted, LIMIT);
	if (!ret)
		ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_VM_STATE, &state);
	if (!ret && state.condition != DRM_PAGODA_VM_USABLE)
		ret = -EBADE;
	/* If no array was accepted, the whole range must be free. */
	if (!ret && !kept.value && !may_be_made(failed))
		ret = pagoda_bind_range(fd, vm, DRM_PAGODA_BIND_RESERVE, kept.at, TRIED);
	if (!ret)
		ret = pagoda_bind_range(fd, vm, DRM_PAGODA_BIND_UNMAP, kept.at, TRIED);
	kept.value = 0;
	return ret;
}

static int bind_waiting(int fd, const struct drm_pagoda_bind_entry *entries, uint32_t count)
{
	const struct drm_pagoda_sync syncs[] = {
		{ .handle = kept.in, .point = kept.in_point },
		{ kept.client.syncobj, DRM_PAGODA_SYNC_SIGNAL, kept.submitted + 1 },
	};
	struct drm_pagoda_vm_bind args = {
		.entries = { (uintptr_t)entries, count, sizeof(*entries) },
		.vm = kept.client.vm.vm,
		.syncs = { (uintptr_t)syncs, ARRAY_SIZE(syncs), sizeof(*syncs) },
	};
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PAGODA_VM_BIND, &args);

	/* kept.value counts the accepted arrays, which after_bind() undoes. */
	if (!ret) {
		kept.submitted++;
		kept.value++;
	}
	return ret;
}

static int sequence_bind_waiting(int fd, uint64_t page, uint32_t *handles)
{
	struct drm_pagoda_bind_entry entries[] = {
		{ .type = DRM_PAGODA_BIND_MAP, .address = kept.at, .size = 2 * page },
		{ .type = DRM_PAGODA_BIND_MAP_ZERO, .address = kept.at + PAGODA_MIB, .size = page },
	};
	int ret = pagoda_create_vram(fd, 2 * page, &handles[0]);

	kept.in_point++;
	entries[0].handle = handles[0];
	if (!ret)
		ret = bind_waiting(fd, entries, 2);
	entries[0] = (struct drm_pagoda_bind_entry) {
		.type = DRM_PAGODA_BIND_COPY, .address = kept.at + 2 * PAGODA_MIB,
		.offset = kept.at, .size = 2 * page,
	};
	if (!ret)
		ret = bind_waiting(fd, entries, 1);
	return ret;
}

static int sequence_bind_types(int fd, uint64_t page, uint32_t *handles)
{
	uint32_t vm = kept.client.vm.vm;
	struct drm_pagoda_bind_entry entries[] = {
		{ .type = DRM_PAGODA_BIND_NO_ACCESS, .address = kept.at, .size = 4 * page },
		{ .type = DRM_PAGODA_BIND_MAP_FENCE, .handle = kept.fences[0],
		  .address = kept.at + PAGODA_MIB, .size = page },
		{ .type = DRM_PAGODA_BIND_RESERVE, .address = kept.at + 4 * PAGODA_MIB,
		  .size = PAGODA_MIB },
		{ .type = DRM_PAGODA_BIND_MAP, .address = kept.at + 4 * PAGODA_MIB + page,
		  .size = 8 * page, .window = 2 * page },
		{ .type = DRM_PAGODA_BIND_UNMAP, .address = kept.at + 4 * PAGODA_MIB + 4 * page,
		  .size = page },
	};
	struct drm_pagoda_bind_entry copy = {
		.type = DRM_PAGODA_BIND_COPY, .address = kept.at + 8 * PAGODA_MIB,
		.offset = kept.at + 4 * PAGODA_MIB, .size = 16 * page,
	};
	int ret = pagoda_create_vram(fd, 2 * page, &handles[0]);

	if (!ret)
		ret = pagoda_make_resident(fd, handles, 1, 0, 0, NULL);
	entries[3].handle = handles[0];
	if (!ret)
		ret = pagoda_bind(fd, vm, entries, ARRAY_SIZE(entries), 0, 0);
	kept.value = !ret;
	if (!ret)
		ret = pagoda_bind(fd, vm, &copy, 1, 0, 0);
	return ret;
}

TEST_F(fail, bind_waiting)
{
	ASSERT_EQ(0, kept_open(self->dev.fd));
	after = after_bind;
	WALK(sequence_bind_waiting);
	EXPECT_LT(0, kept.submitted);
	kept_close(self->dev.fd, self->dev.page);
}

TEST_F(fail, bind_types)
{
	ASSERT_EQ(0, kept_open(self->dev.fd));
	kept.in_point = 1;
	after = after_bind;
	WALK(sequence_bind_types);
	kept_close(self->dev.fd, self->dev.page);
}

/* --- monitored fences ------------------------------------------------------------------------ */

static uint64_t kept_value(uint32_t n)
{
	return __atomic_load_n(kept.values[n], __ATOMIC_ACQUIRE);
}

/*
 * Checks that all fences have the value kept.value; if the call failed without effect, first sets
 * kept.value back to the old value.
 */
static int after_signal(int fd, uint64_t page, int failed)
{
	uint32_t n;

	if (failed && !(may_be_made(failed) && kept_value(0) == kept.value))
		kept.value--;
	for (n = 0; n < 3; n++)
		if (kept_value(n) != kept.value)
			return -EBADE;
	return 0;
}

static void kept_list(struct drm_pagoda_fence_value *list, uint64_t value)
{
	uint32_t n;

	for (n = 0; n < 3; n++)
		list[n] = (struct drm_pagoda_fence_value) {
			.fence = kept.fences[n], .value = value,
		};
}

static int sequence_signal(int fd, uint64_t page, uint32_t *handles)
{
	struct drm_pagoda_fence_value list[3];

	kept_list(list, ++kept.value);
	return pagoda_fence_signal_list(fd, list, 3);
}

static int expect_time(int ret)
{
	return ret == -ETIME ? 0 : ret ? ret : -EBADE;
}

static int sequence_wait(int fd, uint64_t page, uint32_t *handles)
{
	struct drm_pagoda_fence_value list[3];
	uint32_t first;
	int ret;

	kept_list(list, 5);
	ret = pagoda_fence_wait_list(fd, list, 3, 0, PAGODA_SEC, &first);
	if (!ret)
		ret = pagoda_fence_wait_list(fd, list, 3, DRM_PAGODA_FENCE_WAIT_ANY, 0, &first);
	list[2].value = 6;
	if (!ret)
		ret = expect_time(pagoda_fence_wait_list(fd, list, 3, 0, PAGODA_SEC / 1000,
							 &first));
	if (!ret)
		ret = pagoda_fence_notify(fd, list, 3, DRM_PAGODA_FENCE_WAIT_ANY, kept.event);
	if (!ret)
		ret = pagoda_fence_notify(fd, &list[2], 1, 0, kept.event);
	return ret;
}

TEST_F(fail, fence_signal)
{
	ASSERT_EQ(0, kept_open(self->dev.fd));
	after = after_signal;
	WALK(sequence_signal);
	EXPECT_LT(0, kept.value);
	kept_close(self->dev.fd, self->dev.page);
}

TEST_F(fail, fence_wait)
{
	struct drm_pagoda_fence_value list[3];
	uint64_t told;

	ASSERT_EQ(0, kept_open(self->dev.fd));
	kept_list(list, 5);
	ASSERT_EQ(0, pagoda_fence_signal_list(self->dev.fd, list, 3));
	WALK(sequence_wait);
	/* Accepted FENCE_WAITs with ANY have told the eventfd, the others wait for the value 6. */
	EXPECT_EQ(sizeof(told), read(kept.event, &told, sizeof(told)));
	EXPECT_EQ(0, pagoda_fence_signal(self->dev.fd, kept.fences[2], 6));
	EXPECT_EQ(0, pagoda_fence_wait(self->dev.fd, kept.fences[2], 6, LIMIT));
	kept_close(self->dev.fd, self->dev.page);
}

TEST_HARNESS_MAIN
