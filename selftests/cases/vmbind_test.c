// SPDX-License-Identifier: GPL-2.0
/*
 * The life of VMs, contexts and monitored fences: creation and destruction, refusals of these, a
 * client's limit of VMs; and changes of VMs by threads, by processes that are killed and while the
 * device fails. bind_test.c tests what addresses lead to after VM_BIND.
 */
#include <pthread.h>

#include "lib/vm_fixture.h"

/* --- bad input ------------------------------------------------------------------------------ */

TEST_F(vm, create_refusals)
{
	struct drm_pagoda_vm_create args;
	uint32_t bit;

	EXPECT_NE(0, self->vm.vm);
	EXPECT_LT(self->vm.start, self->vm.end);
	for (bit = 0; bit < 32; bit++) {
		args = (struct drm_pagoda_vm_create) { .flags = 1u << bit };
		EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_VM_CREATE, &args));
	}
	EXPECT_REFUSED(EFAULT, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_VM_CREATE,
					    (void *)BAD_POINTER));
}

TEST_F(vm, destroy_refusals)
{
	struct drm_pagoda_vm_destroy args = { .vm = self->vm.vm, .pad = 1 };
	struct drm_pagoda_vm_create second;
	uint32_t context;

	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_VM_DESTROY, &args));
	EXPECT_REFUSED(ENOENT, pagoda_vm_destroy(self->fd, 0));
	EXPECT_REFUSED(ENOENT, pagoda_vm_destroy(self->fd, UNKNOWN));
	EXPECT_REFUSED(ENOENT, pagoda_vm_destroy(self->other, self->vm.vm));
	ASSERT_EQ(0, pagoda_vm_create(self->fd, &second));
	ASSERT_EQ(0, pagoda_context_create(self->fd, second.vm, &context));
	EXPECT_REFUSED(EBUSY, pagoda_vm_destroy(self->fd, second.vm));
	/* The VM still works after the refusal. */
	EXPECT_EQ(0, pagoda_bind_range(self->fd, second.vm, DRM_PAGODA_BIND_MAP_ZERO, self->here,
				       self->dev.page));
	EXPECT_EQ(0, pagoda_context_destroy(self->fd, context));
	EXPECT_EQ(0, pagoda_vm_destroy(self->fd, second.vm));
	EXPECT_REFUSED(ENOENT, pagoda_vm_destroy(self->fd, second.vm));
	EXPECT_REFUSED(ENOENT, pagoda_bind_range(self->fd, second.vm, DRM_PAGODA_BIND_UNMAP,
						 self->here, self->dev.page));
	EXPECT_REFUSED(ENOENT, pagoda_context_create(self->fd, second.vm, &context));
}

TEST_F(vm, context_refusals)
{
	struct drm_pagoda_context_create args = { .vm = self->vm.vm };
	struct drm_pagoda_context_destroy destroy = { .pad = 1 };
	uint32_t context;

	args.engine = self->dev.info.num_engines;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &args));
	args.engine = 0;
	args.flags = 1;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_CONTEXT_CREATE, &args));
	EXPECT_REFUSED(ENOENT, pagoda_context_create(self->fd, UNKNOWN, &context));
	EXPECT_REFUSED(ENOENT, pagoda_context_create(self->other, self->vm.vm, &context));
	ASSERT_EQ(0, pagoda_context_create(self->fd, self->vm.vm, &context));
	destroy.context = context;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_CONTEXT_DESTROY, &destroy));
	EXPECT_REFUSED(ENOENT, pagoda_context_destroy(self->fd, 0));
	EXPECT_REFUSED(ENOENT, pagoda_context_destroy(self->other, context));
	EXPECT_EQ(0, pagoda_context_destroy(self->fd, context));
	EXPECT_REFUSED(ENOENT, pagoda_context_destroy(self->fd, context));
}

TEST_F(vm, fence_refusals)
{
	struct drm_pagoda_fence_create create = { .flags = 1u << 31 };
	struct drm_pagoda_fence_destroy destroy = { .pad = 1 };
	uint32_t fence, handle = create_numbered(self->fd, self->dev.page, 1, 0);
	struct drm_pagoda_residency_entry entry = { .handle = handle };
	struct drm_pagoda_make_resident args = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
	};

	ASSERT_NE(0, handle);
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_FENCE_CREATE, &create));
	ASSERT_EQ(0, pagoda_fence_create(self->fd, 7, &fence, NULL));
	destroy.fence = fence;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_FENCE_DESTROY, &destroy));
	EXPECT_REFUSED(ENOENT, pagoda_fence_destroy(self->fd, 0));
	EXPECT_REFUSED(ENOENT, pagoda_fence_destroy(self->other, fence));
	EXPECT_REFUSED(ENOENT, pagoda_make_resident_fence(self->fd, handle, UNKNOWN, 8));
	EXPECT_REFUSED(EINVAL, pagoda_make_resident_fence(self->fd, handle, 0, 8));
	EXPECT_REFUSED(EINVAL, pagoda_make_resident_fence(self->fd, handle, fence, 0));
	EXPECT_REFUSED(EINVAL, pagoda_make_resident_fence(self->fd, handle, fence, 7));
	args.pad2 = 1;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &args));
	EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, handle));
	EXPECT_EQ(0, pagoda_make_resident_fence(self->fd, handle, fence, 8));
	EXPECT_REFUSED(EINVAL, pagoda_make_resident_fence(self->fd, handle, fence, 8));
	EXPECT_EQ(0, pagoda_fence_destroy(self->fd, fence));
	EXPECT_REFUSED(ENOENT, pagoda_fence_destroy(self->fd, fence));
	EXPECT_REFUSED(ENOENT, pagoda_make_resident_fence(self->fd, handle, fence, 9));
}

/* --- life ----------------------------------------------------------------------------------- */

/* A client may have DRM_PAGODA_MAX_VMS VMs; limits_test.c tests the limits of users. */
TEST_F(vm, as_many_as_a_client_may_have)
{
	uint32_t ids[MAX_SPACES], count[2] = { 0 }, round, n;
	uint64_t usage = pagoda_usage(self->fd, DRM_PAGODA_SEGMENT_VRAM);
	struct drm_pagoda_vm_create args;
	int ret = 0;

	for (round = 0; round < 2; round++) {
		for (n = 0; n < MAX_SPACES; n++) {
			ret = pagoda_vm_create(self->fd, &args);
			if (ret)
				break;
			ids[n] = args.vm;
			/* In round 0 all VMs get tables, in round 1 every 16th and the last. */
			if (!round || n % 16 == 0 || n + 1 == count[0])
				ASSERT_EQ(0, pagoda_bind_range(self->fd, args.vm,
							       DRM_PAGODA_BIND_MAP_ZERO,
							       self->here, self->dev.page));
		}
		EXPECT_EQ(-EMFILE, ret);
		count[round] = n;
		while (n--)
			EXPECT_EQ(0, pagoda_vm_destroy(self->fd, ids[n]));
		EXPECT_EQ(usage, test_vram_settled(self->fd, usage));
	}
	/* The fixture's VM counts, too. */
	EXPECT_EQ(DRM_PAGODA_MAX_VMS - 1, count[0]);
	EXPECT_EQ(count[0], count[1]);
}

TEST_F(vm, destroyed_while_bound)
{
	uint32_t handle = create_numbered(self->fd, self->dev.page, 32, 5);
	struct drm_pagoda_vm_create args;
	int n;

	ASSERT_NE(0, handle);
	for (n = 0; n < 5; n++) {
		ASSERT_EQ(0, pagoda_vm_create(self->fd, &args));
		ASSERT_EQ(0, pagoda_bind_map(self->fd, args.vm, handle, self->here, 0,
					     32 * self->dev.page));
		ASSERT_EQ(0, pagoda_bind_map(self->fd, self->vm.vm, handle, self->here, 0,
					     32 * self->dev.page));
		ASSERT_EQ(0, pagoda_make_resident(self->fd, &handle, 1, 0, 0, NULL));
		ASSERT_EQ(0, pagoda_vm_destroy(self->fd, args.vm));
		ASSERT_EQ(0, settle(self));
		EXPECT_WORD(5, self->here);
		ASSERT_EQ(0, pagoda_evict(self->fd, &handle, 1, 0, 0));
	}
}

/* In a child: binds, moves and unmaps an allocation until the child is killed. */
static void busy_client(uint64_t size)
{
	struct drm_pagoda_vm_create args;
	int fd = pagoda_open();
	uint32_t handle, context, fence;

	if (fd < 0 || pagoda_vm_create(fd, &args) || pagoda_create_vram(fd, size, &handle) ||
	    pagoda_context_create(fd, args.vm, &context) ||
	    pagoda_fence_create(fd, 0, &fence, NULL))
		_exit(1);
	for (;;) {
		pagoda_bind_map(fd, args.vm, handle, args.start, 0, size);
		pagoda_make_resident(fd, &handle, 1, 0, 0, NULL);
		pagoda_evict(fd, &handle, 1, 0, 0);
		pagoda_bind_range(fd, args.vm, DRM_PAGODA_BIND_UNMAP, args.start, size / 2);
	}
}

TEST_F(vm, killed_while_bound)
{
	uint64_t usage = pagoda_usage(self->fd, DRM_PAGODA_SEGMENT_VRAM);
	uint64_t size = self->dev.vram.size / 8;
	int status, n;
	pid_t pid;

	for (n = 0; n < 4; n++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			busy_client(size);
		usleep(50000 + 40000 * n);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		/* The client may have evicted tables of the test's VM: settle() restores them. */
		EXPECT_EQ(0, settle(self));
		EXPECT_EQ(0, settle(self));
		EXPECT_EQ(usage, test_vram_settled(self->fd, usage));
	}
}

TEST_F(vm, a_child_has_the_same_ids)
{
	uint32_t handle = create_numbered(self->fd, self->dev.page, 2, 70);
	pid_t pid;

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(!!pagoda_bind_map(self->fd, self->vm.vm, handle, self->here, 0,
					self->dev.page));
	EXPECT_EQ(0, test_child_status(pid));
	ASSERT_EQ(0, settle(self));
	EXPECT_WORD(70, self->here);
}

struct work {
	struct _test_data_vm *self;
	uint32_t *handles;
	uint32_t count;
	uint64_t size;
	uint64_t seed;
	uint32_t wrong;
	uint32_t bound;
};

/* Maps, unmaps and moves at random, beside threads that do so, too; counts unexpected errors. */
static void *work_run(void *arg)
{
	struct work *work = arg;
	struct _test_data_vm *self = work->self;
	uint64_t state = work->seed;
	int n, ret;

	for (n = 0; n < 150; n++) {
		uint32_t k = pagoda_random(&state) % work->count, handle = work->handles[k];
		uint64_t va = self->here + (pagoda_random(&state) % work->count) * work->size;

		switch (pagoda_random(&state) % 5) {
		case 0:
			ret = pagoda_bind_map(self->fd, self->vm.vm, handle, va, 0, work->size);
			break;
		case 1:
			ret = pagoda_bind_range(self->fd, self->vm.vm, DRM_PAGODA_BIND_UNMAP, va,
						work->size / 2);
			break;
		case 2:
			ret = pagoda_make_resident(self->fd, &handle, 1, 0, 0, NULL);
			break;
		case 3:
			ret = pagoda_evict(self->fd, &handle, 1, 0, 0);
			break;
		default:
			ret = pagoda_bind_range(self->fd, self->vm.vm, DRM_PAGODA_BIND_MAP_ZERO,
						va, self->dev.page);
			/* This or another thread has mapped an allocation at @va. */
			ret = ret == -EEXIST ? 0 : ret;
			break;
		}
		/* Allocations that other threads made resident may have all the room. */
		work->wrong += ret && ret != -ENOMEM && ret != -EBUSY;
	}
	return NULL;
}

TEST_F(vm, threads_bind_and_evict)
{
	uint64_t size = self->dev.vram.size / 8;
	uint32_t handles[12], n;
	pthread_t threads[4];
	struct work work[4];

	for (n = 0; n < ARRAY_SIZE(handles); n++)
		ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &handles[n]));
	for (n = 0; n < ARRAY_SIZE(threads); n++) {
		work[n] = (struct work) {
			self, handles, ARRAY_SIZE(handles), size, SEED + n,
		};
		ASSERT_EQ(0, pthread_create(&threads[n], NULL, work_run, &work[n]));
	}
	for (n = 0; n < ARRAY_SIZE(threads); n++) {
		pthread_join(threads[n], NULL);
		EXPECT_EQ(0, work[n].wrong);
	}
	EXPECT_EQ(0, settle(self));
}

static void *race_bind(void *arg)
{
	struct work *work = arg;
	struct _test_data_vm *self = work->self;
	uint32_t handle;
	int ret;

	do {
		handle = __atomic_load_n(work->handles, __ATOMIC_RELAXED);
		ret = pagoda_bind_map(self->fd, self->vm.vm, handle, self->here, 0, work->size);
		work->wrong += ret && ret != -ENOENT && ret != -ENOMEM;
		__atomic_fetch_add(&work->bound, !ret, __ATOMIC_RELAXED);
	} while (!__atomic_load_n(&work->count, __ATOMIC_RELAXED));
	return NULL;
}

/* A handle that is closed while another thread binds it leaves neither mapping nor memory. */
TEST_F(vm, closed_while_it_is_bound)
{
	uint64_t size = 64 * self->dev.page, usage;
	struct work work = { .self = self, .size = size };
	int64_t end = pagoda_now() + LIMIT;
	uint32_t handle = 0, n;
	pthread_t thread;

	work.handles = &handle;
	ASSERT_EQ(0, pagoda_bind_range(self->fd, self->vm.vm, DRM_PAGODA_BIND_MAP_ZERO, self->here,
				       size));
	usage = pagoda_usage(self->fd, DRM_PAGODA_SEGMENT_VRAM);
	ASSERT_EQ(0, pthread_create(&thread, NULL, race_bind, &work));
	/* On a busy machine 300 handles may be closed before the thread has mapped any: go on. */
	for (n = 0; n < 300 || (!__atomic_load_n(&work.bound, __ATOMIC_RELAXED) &&
				pagoda_now() < end); n++) {
		uint32_t made;

		ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &made));
		__atomic_store_n(&handle, made, __ATOMIC_RELAXED);
		EXPECT_EQ(0, pagoda_make_resident(self->fd, &made, 1, 0, 0, NULL));
		EXPECT_EQ(0, pagoda_close(self->fd, made));
	}
	__atomic_store_n(&work.count, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, work.wrong);
	EXPECT_LT(0, work.bound);
	/* Page tables may be fewer than before, or may have left VRAM while it was full. */
	end = pagoda_now() + TEST_PATIENCE;
	while (pagoda_usage(self->fd, DRM_PAGODA_SEGMENT_VRAM) > usage && pagoda_now() < end)
		usleep(1000);
	EXPECT_GE(usage, pagoda_usage(self->fd, DRM_PAGODA_SEGMENT_VRAM));
	ASSERT_EQ(0, settle(self));
	EXPECT_FAULT(self->here);
}

/* --- monitored fences ----------------------------------------------------------------------- */

static uint64_t fence_now(const uint64_t *map)
{
	return __atomic_load_n(map, __ATOMIC_ACQUIRE);
}

static uint64_t fence_reaches(const uint64_t *map, uint64_t value)
{
	int64_t end = pagoda_now() + LIMIT;

	while (fence_now(map) < value && pagoda_now() < end)
		usleep(1000);
	return fence_now(map);
}

TEST_F(vm, fences_say_that_it_is_there)
{
	uint64_t size = self->dev.vram.size / 4, value = 1ull << 40;
	const uint64_t *map;
	uint32_t handle, fence, n;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, size, &handle));
	ASSERT_EQ(0, pagoda_fence_create(self->fd, value, &fence, &map));
	EXPECT_EQ(value, fence_now(map));
	for (n = 0; n < 5; n++) {
		ASSERT_EQ(0, pagoda_make_resident_fence(self->fd, handle, fence,
							value + 3 * n + 1));
		EXPECT_EQ(value + 3 * n + 1, fence_reaches(map, value + 3 * n + 1));
		EXPECT_EQ(0, pagoda_wait(self->fd, handle, LIMIT));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, handle));
		EXPECT_REFUSED(EINVAL, pagoda_make_resident_fence(self->fd, handle, fence,
								  value + 3 * n));
		EXPECT_EQ(value + 3 * n + 1, fence_now(map));
		ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	}
	/* The page with the value stays as long as the page is mapped. */
	ASSERT_EQ(0, pagoda_fence_destroy(self->fd, fence));
	EXPECT_EQ(value + 13, fence_now(map));
	munmap((void *)map, self->dev.page);
}

/* A refused MAKE_RESIDENT doesn't promise its fence_value: a later call may promise this value. */
TEST_F(vm, a_refused_call_keeps_the_fence)
{
	uint32_t fence, small, large[2], n;
	struct drm_pagoda_residency_entry entries[2] = { 0 };
	struct drm_pagoda_make_resident args = {
		.entries = { (uintptr_t)entries, 2, sizeof(entries[0]) }, .fence_value = 5,
	};
	const uint64_t *map;

	ASSERT_EQ(0, pagoda_fence_create(self->fd, 0, &fence, &map));
	for (n = 0; n < 2; n++) {
		ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.vram.size * 3 / 4, &large[n]));
		entries[n].handle = large[n];
	}
	args.fence = fence;
	EXPECT_REFUSED(ENOMEM, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &args));
	EXPECT_EQ(0, fence_now(map));
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->dev.page, &small));
	EXPECT_EQ(0, pagoda_make_resident_fence(self->fd, small, fence, 5));
	EXPECT_EQ(5, fence_reaches(map, 5));
	munmap((void *)map, self->dev.page);
}

TEST_F(vm, fences_are_read_only)
{
	struct drm_pagoda_fence_create args = { .value = 3 };
	uint64_t page = self->dev.page;
	void *map;

	ASSERT_EQ(0, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_FENCE_CREATE, &args));
	map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, args.offset);
	EXPECT_EQ(MAP_FAILED, map);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page, PROT_READ, MAP_SHARED, self->other, args.offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, self->fd, args.offset));
	map = mmap(NULL, page, PROT_READ, MAP_SHARED, self->fd, args.offset);
	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(3, fence_now(map));
	munmap(map, page);
}

/* --- a device that fails while tables change ------------------------------------------------ */

static int rule_write(const char *rule)
{
	int fd = open(FOLDER "inject", O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, rule, strlen(rule)) != (ssize_t)strlen(rule))
		ret = -errno;
	close(fd);
	return ret;
}

TEST_F(vm, tables_survive_the_device)
{
	static const char *const rules[] = {
		"queue=paging action=drop nth=2",
		"queue=paging action=lost_interrupt nth=1",
		"queue=paging action=fail nth=1",
		"queue=paging action=fail nth=2 packet=1 middle",
		"queue=paging action=hang nth=2",
		"queue=paging action=hang nth=1 packet=2",
		"queue=paging action=corrupt nth=1 field=status value=0xffffffff",
	};
	uint64_t page = self->dev.page, here;
	uint32_t handle = create_numbered(self->fd, page, 16, 300), rule, n;
	struct drm_pagoda_allocation_info info;

	if (access(FOLDER "inject", W_OK))
		SKIP(return, "no " FOLDER "inject: debugfs isn't mounted, or another GPU");
	ASSERT_NE(0, handle);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	for (rule = 0; rule < ARRAY_SIZE(rules); rule++) {
		here = self->here + 4 * PAGODA_MIB * rule;
		ASSERT_EQ(0, rule_write(rules[rule]));
		EXPECT_EQ(0, pagoda_bind_map(self->fd, self->vm.vm, handle, here, 0, 16 * page));
		EXPECT_EQ(0, pagoda_bind_range(self->fd, self->vm.vm, DRM_PAGODA_BIND_UNMAP,
					       here + page, page));
		EXPECT_EQ(0, pagoda_evict(self->fd, &handle, 1, 0, 0));
		EXPECT_EQ(0, pagoda_make_resident(self->fd, &handle, 1, 0, 0, NULL));
		EXPECT_EQ(0, settle(self)) TH_LOG("%s", rules[rule]);
		EXPECT_EQ(0, pagoda_wait(self->fd, handle, LIMIT));
		ASSERT_EQ(0, rule_write("clear"));
		ASSERT_EQ(0, pagoda_info(self->fd, handle, &info));
		EXPECT_EQ(0, info.state) TH_LOG("%s", rules[rule]);
		for (n = 0; n < 16; n++)
			EXPECT_WORD(n == 1 ? -1 : 300 + (int64_t)n, here + n * page);
		EXPECT_FAULT(here + 16 * page);
	}
}

TEST_HARNESS_MAIN
