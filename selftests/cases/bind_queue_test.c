// SPDX-License-Identifier: GPL-2.0
/*
 * VM_BIND from user space: refusals for MAP_ZERO, NO_ACCESS, RESERVE, windows and syncobjs;
 * overlapping entries; chosen addresses; mapped monitored fences; arrays that wait for points and
 * for each other; many arrays and long arrays.
 */
#include "lib/vm_fixture.h"

#define CHUNK	((uint64_t)DRM_PAGODA_RESERVE_ALIGN)

static int bind_one(struct _test_data_vm *self, struct drm_pagoda_bind_entry *entry)
{
	return pagoda_bind(self->fd, self->vm.vm, entry, 1, 0, 0);
}

static int bind_type(struct _test_data_vm *self, uint32_t type, uint64_t address, uint64_t size)
{
	return pagoda_bind_range(self->fd, self->vm.vm, type, address, size);
}

static int bind_args(struct _test_data_vm *self, const struct drm_pagoda_bind_entry *entries,
		     uint32_t count, uint32_t flags, const struct drm_pagoda_sync *syncs,
		     uint32_t nr_syncs)
{
	struct drm_pagoda_vm_bind args = {
		.entries = { (uintptr_t)entries, count, sizeof(*entries) },
		.vm = self->vm.vm,
		.flags = flags,
		.syncs = { (uintptr_t)syncs, nr_syncs, sizeof(*syncs) },
	};

	return pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_VM_BIND, &args);
}

/*
 * VM_BIND of a MAP of one page that waits for @in_point of @in, unless @in is 0, and signals
 * @out_point of @out. Returns VM_BIND's result.
 */
static int map_behind(struct _test_data_vm *self, uint32_t handle, uint64_t address, uint32_t in,
		      uint64_t in_point, uint32_t out, uint64_t out_point)
{
	const struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP, .handle = handle, .address = address,
		.size = self->dev.page,
	};
	const struct drm_pagoda_sync syncs[] = {
		{ .handle = out, .flags = DRM_PAGODA_SYNC_SIGNAL, .point = out_point },
		{ .handle = in, .point = in_point },
	};

	return bind_args(self, &entry, 1, 0, syncs, in ? 2 : 1);
}

static int vm_state(int fd, uint32_t vm, struct drm_pagoda_vm_state *state)
{
	*state = (struct drm_pagoda_vm_state) { .vm = vm };
	return pagoda_ioctl(fd, DRM_IOCTL_PAGODA_VM_STATE, state);
}

/* --- bad input ------------------------------------------------------------------------------ */

#define ENTRY_WITH(kind, field, value) ({					\
	struct drm_pagoda_bind_entry _entry = {					\
		.type = (kind), .address = self->here, .size = CHUNK,		\
	};									\
										\
	_entry.field = (value);							\
	bind_one(self, &_entry);						\
})

TEST_F(vm, newer_types_refusals)
{
	static const uint32_t types[] = {
		DRM_PAGODA_BIND_MAP_ZERO, DRM_PAGODA_BIND_NO_ACCESS, DRM_PAGODA_BIND_RESERVE,
	};
	uint64_t page = self->dev.page;
	uint32_t handle = create_numbered(self->fd, page, 4, 0), n;

	ASSERT_NE(0, handle);
	PAGODA_PROVES(C130, C133);
	for (n = 0; n < ARRAY_SIZE(types); n++) {
		EXPECT_REFUSED(EINVAL, ENTRY_WITH(types[n], handle, handle));
		EXPECT_REFUSED(EINVAL, ENTRY_WITH(types[n], flags, DRM_PAGODA_BIND_READ_ONLY));
		EXPECT_REFUSED(EINVAL, ENTRY_WITH(types[n], offset, page));
		EXPECT_REFUSED(EINVAL, ENTRY_WITH(types[n], driver_protection, 1));
		EXPECT_REFUSED(EINVAL, ENTRY_WITH(types[n], window, page));
		EXPECT_REFUSED(EINVAL, ENTRY_WITH(types[n], size, 0));
		EXPECT_REFUSED(EINVAL, ENTRY_WITH(types[n], address, UINT64_MAX - page + 1));
	}
	EXPECT_REFUSED(EINVAL, ENTRY_WITH(DRM_PAGODA_BIND_RESERVE, address, self->here + page));
	EXPECT_REFUSED(EINVAL, ENTRY_WITH(DRM_PAGODA_BIND_RESERVE, size, CHUNK + page));
	EXPECT_REFUSED(EINVAL, ENTRY_WITH(DRM_PAGODA_BIND_UNMAP, flags, DRM_PAGODA_BIND_CHOOSE));
	EXPECT_REFUSED(EINVAL, ENTRY_WITH(DRM_PAGODA_BIND_COPY, window, page));
	EXPECT_REFUSED(EINVAL, ENTRY_WITH(DRM_PAGODA_BIND_NO_ACCESS, flags,
					  DRM_PAGODA_BIND_CHOOSE));
	EXPECT_REFUSED(EINVAL, ENTRY_WITH(DRM_PAGODA_BIND_MAP_FENCE, handle, 1));
	EXPECT_EQ(0, bind_type(self, DRM_PAGODA_BIND_RESERVE, self->here, CHUNK));
	EXPECT_REFUSED(EEXIST, bind_type(self, DRM_PAGODA_BIND_RESERVE, self->here, CHUNK));
}

TEST_F(vm, windows_refusals)
{
	uint64_t page = self->dev.page;
	uint32_t handle = create_numbered(self->fd, page, 4, 0);
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP, .handle = handle, .address = self->here,
		.size = 12 * page,
	};

	ASSERT_NE(0, handle);
	PAGODA_PROVES(C136);
	EXPECT_REFUSED(EINVAL, bind_one(self, &entry));
	entry.window = 5 * page;
	EXPECT_REFUSED(EINVAL, bind_one(self, &entry));
	entry.window = 6 * page;
	EXPECT_REFUSED(EINVAL, bind_one(self, &entry));
	entry.window = page / 2;
	EXPECT_REFUSED(EINVAL, bind_one(self, &entry));
	entry.window = 4 * page;
	entry.offset = page;
	EXPECT_REFUSED(EINVAL, bind_one(self, &entry));
	entry.window = 3 * page;
	ASSERT_EQ(0, bind_one(self, &entry));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, settle(self));
	EXPECT_WORD(1, self->here);
	EXPECT_WORD(3, self->here + 2 * page);
	EXPECT_WORD(1, self->here + 3 * page);
	EXPECT_WORD(3, self->here + 11 * page);
}

TEST_F(vm, syncs_refusals)
{
	const struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP_ZERO, .address = self->here, .size = self->dev.page,
	};
	struct drm_pagoda_sync sync = { .handle = self->syncobj, .flags = 1u << 31 };
	struct drm_pagoda_vm_state state;

	EXPECT_REFUSED(EINVAL, bind_args(self, &entry, 1, 0, &sync, 1));
	sync.flags = 0;
	sync.handle = UNKNOWN;
	EXPECT_REFUSED(ENOENT, bind_args(self, &entry, 1, 0, &sync, 1));
	EXPECT_REFUSED(EFAULT, bind_args(self, &entry, 1, 0, (void *)BAD_POINTER, 1));
	EXPECT_REFUSED(E2BIG, bind_args(self, &entry, 1, 0, &sync, DRM_PAGODA_MAX_ENTRIES + 1));
	EXPECT_REFUSED(EINVAL, bind_args(self, &entry, 1, ~DRM_PAGODA_VM_BIND_UPDATE, NULL, 0));
	EXPECT_REFUSED(EINVAL, bind_args(self, &entry, 1, DRM_PAGODA_VM_BIND_UPDATE, NULL, 0));
	EXPECT_REFUSED(ENOENT, vm_state(self->fd, UNKNOWN, &state));
	EXPECT_REFUSED(ENOENT, vm_state(self->other, self->vm.vm, &state));
	ASSERT_EQ(0, vm_state(self->fd, self->vm.vm, &state));
	EXPECT_EQ(DRM_PAGODA_VM_USABLE, state.condition);
	EXPECT_EQ(0, state.error);
	state.pad = 1;
	EXPECT_REFUSED(EINVAL, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_VM_STATE, &state));
}

/*
 * Overlapping entries of one array are applied one after another. A RESERVE of addresses that an
 * entry before has reserved is refused, with the whole array.
 */
TEST_F(vm, overlapping_entries)
{
	uint64_t page = self->dev.page, here = self->here;
	uint32_t handle = create_numbered(self->fd, page, 8, 10), n;
	struct drm_pagoda_bind_entry maps[] = {
		{ .type = DRM_PAGODA_BIND_MAP, .handle = handle, .address = here,
		  .size = 4 * page },
		{ .type = DRM_PAGODA_BIND_MAP, .handle = handle, .address = here + 2 * page,
		  .size = 4 * page, .offset = 4 * page },
		{ .type = DRM_PAGODA_BIND_UNMAP, .address = here + 3 * page, .size = 2 * page },
		{ .type = DRM_PAGODA_BIND_MAP, .handle = handle, .address = here + 4 * page,
		  .size = page },
	};
	const int64_t expected[] = { 10, 11, 14, -1, 10, 17, -1 };
	struct drm_pagoda_bind_entry reserve[] = {
		{ .type = DRM_PAGODA_BIND_RESERVE, .address = here + 64 * PAGODA_MIB,
		  .size = 2 * CHUNK },
		{ .type = DRM_PAGODA_BIND_RESERVE, .address = here + 64 * PAGODA_MIB + CHUNK,
		  .size = 2 * CHUNK },
	};
	struct drm_pagoda_bind_entry up = {
		.type = DRM_PAGODA_BIND_COPY, .offset = here, .address = here + page,
		.size = 6 * page,
	}, down = {
		.type = DRM_PAGODA_BIND_COPY, .offset = here + page, .address = here,
		.size = 6 * page,
	};

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_bind(self->fd, self->vm.vm, maps, ARRAY_SIZE(maps), 0, 0));
	ASSERT_EQ(0, settle(self));
	PAGODA_PROVES(C135);
	for (n = 0; n < ARRAY_SIZE(expected); n++)
		EXPECT_WORD(expected[n], here + n * page);
	/* A COPY over its own source works like memmove(), in both directions. */
	ASSERT_EQ(0, bind_one(self, &up));
	ASSERT_EQ(0, settle(self));
	PAGODA_PROVES(C137);
	for (n = 0; n < 6; n++)
		EXPECT_WORD(expected[n], here + (n + 1) * page);
	ASSERT_EQ(0, bind_one(self, &down));
	ASSERT_EQ(0, settle(self));
	for (n = 0; n < 6; n++)
		EXPECT_WORD(expected[n], here + n * page);
	EXPECT_REFUSED(EEXIST, pagoda_bind(self->fd, self->vm.vm, reserve, 2, 0, 0));
	/* The first RESERVE of the refused array has no effect either: its addresses are free. */
	EXPECT_EQ(0, pagoda_bind(self->fd, self->vm.vm, &reserve[1], 1, 0, 0));
}

/* --- addresses the kernel chooses ----------------------------------------------------------- */

TEST_F(vm, chosen_addresses_come_back)
{
	uint64_t page = self->dev.page;
	uint32_t handle = create_numbered(self->fd, page, 4, 700), n;
	struct drm_pagoda_bind_entry entries[3] = { 0 }, *frozen;

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	for (n = 0; n < ARRAY_SIZE(entries); n++) {
		entries[n].type = n ? DRM_PAGODA_BIND_MAP : DRM_PAGODA_BIND_RESERVE;
		entries[n].flags = DRM_PAGODA_BIND_CHOOSE;
		entries[n].handle = n ? handle : 0;
		entries[n].size = n ? 4 * page : 4 * CHUNK;
	}
	ASSERT_EQ(0, pagoda_bind(self->fd, self->vm.vm, entries, 3, 0, 0));
	EXPECT_EQ(0, entries[0].address % CHUNK);
	for (n = 0; n < ARRAY_SIZE(entries); n++) {
		EXPECT_LE(self->vm.start, entries[n].address);
		EXPECT_GE(self->vm.end - entries[n].size, entries[n].address);
	}
	EXPECT_NE(entries[1].address, entries[2].address);
	ASSERT_EQ(0, settle(self));
	EXPECT_WORD(700, entries[1].address);
	EXPECT_WORD(703, entries[2].address + 3 * page);
	/* If the chosen address can't be written back, nothing is bound. */
	frozen = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, frozen);
	frozen[0] = entries[0];
	frozen[0].address = self->here + 64 * PAGODA_MIB;
	ASSERT_EQ(0, mprotect(frozen, page, PROT_READ));
	EXPECT_REFUSED(EFAULT, bind_one(self, frozen));
	EXPECT_EQ(0, bind_type(self, DRM_PAGODA_BIND_RESERVE, self->here + 64 * PAGODA_MIB,
			       4 * CHUNK));
	munmap(frozen, page);
}

TEST_F(vm, fences_are_mapped)
{
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP_FENCE, .address = self->here, .size = self->dev.page,
	};
	uint64_t address, flags;
	uint32_t fence, segment;

	ASSERT_EQ(0, pagoda_fence_create(self->fd, 7, &fence, NULL));
	entry.handle = UNKNOWN;
	EXPECT_REFUSED(ENOENT, bind_one(self, &entry));
	entry.handle = fence;
	entry.size *= 2;
	EXPECT_REFUSED(EINVAL, bind_one(self, &entry));
	entry.size /= 2;
	ASSERT_EQ(0, bind_one(self, &entry));
	ASSERT_EQ(0, settle(self));
	if (self->space) {
		ASSERT_EQ(0, translate(self->space, self->here, &segment, &address, &flags));
		EXPECT_NE(DRM_PAGODA_SEGMENT_VRAM, segment);
	}
	/* A fence can be destroyed while its page is mapped; the test's end destroys the VM. */
	ASSERT_EQ(0, pagoda_fence_destroy(self->fd, fence));
	ASSERT_EQ(0, settle(self));
}

/* --- arrays that wait ------------------------------------------------------------------------ */

TEST_F(vm, waits_without_blocking)
{
	uint32_t handle = create_numbered(self->fd, self->dev.page, 2, 40), in, out;

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &in));
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &out));
	ASSERT_EQ(0, map_behind(self, handle, self->here, in, 3, out, 1));
	/* The second array waits for no point, but is queued behind the first. */
	ASSERT_EQ(0, map_behind(self, handle, self->here + self->dev.page, 0, 0, out, 2));
	/* The calls have returned, but nothing is mapped or signalled yet. */
	EXPECT_REFUSED(ETIME, pagoda_syncobj_wait(self->fd, out, 2, PAGODA_SEC / 10));
	EXPECT_FAULT(self->here);
	/* Later arrays are checked as if the queued arrays were applied. */
	EXPECT_REFUSED(EEXIST, bind_type(self, DRM_PAGODA_BIND_MAP_ZERO, self->here,
					 self->dev.page));
	ASSERT_EQ(0, pagoda_syncobj_signal(self->fd, in, 3));
	ASSERT_EQ(0, pagoda_syncobj_wait(self->fd, out, 1, LIMIT));
	ASSERT_EQ(0, pagoda_syncobj_wait(self->fd, out, 2, LIMIT));
	EXPECT_WORD(40, self->here);
	EXPECT_WORD(40, self->here + self->dev.page);
}

/*
 * A VM with arrays that wait for points that never come can be destroyed, and a process that waits
 * in VM_BIND behind such arrays can be killed.
 */
TEST_F(vm, what_never_comes_is_no_trouble)
{
	uint32_t handle = create_numbered(self->fd, self->dev.page, 2, 40), in, out, n;
	struct drm_pagoda_vm_create second;
	struct _test_data_vm other = *self;
	int fd, full;
	pid_t pid;

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &in));
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &out));
	ASSERT_EQ(0, pagoda_vm_create(self->fd, &second));
	other.vm = second;
	for (n = 1; n <= 3; n++)
		ASSERT_EQ(0, map_behind(&other, handle, self->here, in, 99, out, n));
	ASSERT_EQ(0, pagoda_close(self->fd, handle));
	ASSERT_EQ(0, pagoda_vm_destroy(self->fd, second.vm));
	/* The points that the destroyed VM's arrays were to signal are signalled all the same. */
	EXPECT_EQ(0, pagoda_syncobj_wait(self->fd, out, 3, LIMIT));
	pid = test_fork(&full);
	ASSERT_LE(0, pid);
	if (!pid) {
		fd = pagoda_open();
		other.fd = fd;
		if (fd < 0 || pagoda_vm_create(fd, &other.vm) || pagoda_syncobj_create(fd, &in) ||
		    pagoda_syncobj_create(fd, &out))
			_exit(1);
		handle = create_numbered(fd, self->dev.page, 2, 40);
		/* One array more than may be queued: the child waits in VM_BIND and is killed. */
		for (n = 0; n <= DRM_PAGODA_MAX_QUEUED_BINDS; n++) {
			if (n == DRM_PAGODA_MAX_QUEUED_BINDS)
				test_say(full);
			if (map_behind(&other, handle, self->here, in, 99, out, n + 1))
				_exit(2);
		}
		_exit(3);
	}
	EXPECT_TRUE(test_heard(full));
	close(full);
	/* The child would have exited by now if its last call didn't wait. */
	usleep(500000);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	ASSERT_EQ(0, settle(self));
}

/* --- many of them ---------------------------------------------------------------------------- */

/*
 * Uses of VM_BIND: the same map and unmap again and again, many maps in one array, and unmaps that
 * cut pieces from mappings as munmap() does.
 */
TEST_F(vm, shapes_of_use)
{
	uint64_t page = self->dev.page, here = self->here;
	uint32_t handle = create_numbered(self->fd, page, 64, 5000), n, count = 2000;
	struct drm_pagoda_bind_entry *entries = calloc(count, sizeof(*entries));

	ASSERT_NE(0, handle);
	ASSERT_NE(NULL, entries);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	for (n = 0; n < 100; n++) {
		ASSERT_EQ(0, pagoda_bind_map(self->fd, self->vm.vm, handle, here, 0, 64 * page));
		ASSERT_EQ(0, bind_type(self, DRM_PAGODA_BIND_UNMAP, here, 64 * page));
	}
	for (n = 0; n < count; n++)
		entries[n] = (struct drm_pagoda_bind_entry) {
			.type = DRM_PAGODA_BIND_MAP, .handle = handle, .size = page,
			.address = here + n * 3 * page, .offset = n % 64 * page,
		};
	ASSERT_EQ(0, pagoda_bind(self->fd, self->vm.vm, entries, count, 0, 0));
	ASSERT_EQ(0, settle(self));
	for (n = 0; n < count; n += 97)
		EXPECT_WORD(5000 + n % 64, here + n * 3 * page);
	ASSERT_EQ(0, bind_type(self, DRM_PAGODA_BIND_UNMAP, here, count * 3 * page));
	/* Unmap the start, pages in the middle, pages of both mappings, and beyond the end. */
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->vm.vm, handle, here, 0, 32 * page));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->vm.vm, handle, here + 32 * page, 32 * page,
				     32 * page));
	ASSERT_EQ(0, bind_type(self, DRM_PAGODA_BIND_UNMAP, here, page));
	ASSERT_EQ(0, bind_type(self, DRM_PAGODA_BIND_UNMAP, here + 10 * page, 2 * page));
	ASSERT_EQ(0, bind_type(self, DRM_PAGODA_BIND_UNMAP, here + 30 * page, 4 * page));
	ASSERT_EQ(0, bind_type(self, DRM_PAGODA_BIND_UNMAP, here + 63 * page, 9 * page));
	ASSERT_EQ(0, settle(self));
	for (n = 0; n < 64; n++) {
		bool gone = !n || n / 2 == 5 || (n >= 30 && n < 34) || n == 63;

		EXPECT_WORD(gone ? -1 : 5000 + (int64_t)n, here + n * page);
	}
	free(entries);
}

TEST_HARNESS_MAIN
