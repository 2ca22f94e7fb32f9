// SPDX-License-Identifier: GPL-2.0
/*
 * VM_BIND: bad entries and arrays are refused as a whole, and the GPU finds at an address what the
 * entries, applied in order, have mapped there, as long as the allocation is resident.
 */
#include "lib/vm_fixture.h"

/* --- bad input ------------------------------------------------------------------------------ */

static struct drm_pagoda_bind_entry map_template(struct _test_data_vm *self, uint32_t handle)
{
	return (struct drm_pagoda_bind_entry) {
		.type = DRM_PAGODA_BIND_MAP,
		.handle = handle,
		.address = self->here,
		.size = 2 * self->dev.page,
	};
}

#define MAP_WITH(field, value) ({						\
	struct drm_pagoda_bind_entry _entry = map_template(self, handle);	\
										\
	_entry.field = (value);							\
	pagoda_bind(self->fd, self->vm.vm, &_entry, 1, 0, 0);			\
})

TEST_F(vm, map_refusals)
{
	uint64_t page = self->dev.page;
	uint32_t handle = create_numbered(self->fd, page, 4, 0), foreign, bit;

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, pagoda_create_vram(self->other, page, &foreign));
	for (bit = 3; bit < 32; bit++)
		EXPECT_REFUSED(EINVAL, MAP_WITH(flags, 1u << bit));
	EXPECT_REFUSED(EINVAL, MAP_WITH(type, 0));
	EXPECT_REFUSED(EINVAL, MAP_WITH(type, DRM_PAGODA_BIND_MAP_FENCE + 1));
	EXPECT_REFUSED(EINVAL, MAP_WITH(type, ~0u));
	EXPECT_REFUSED(EINVAL, MAP_WITH(pad, 1));
	EXPECT_REFUSED(ENOENT, MAP_WITH(handle, 0));
	EXPECT_REFUSED(ENOENT, MAP_WITH(handle, UNKNOWN));
	EXPECT_REFUSED(EINVAL, MAP_WITH(size, 0));
	EXPECT_REFUSED(EINVAL, MAP_WITH(size, page + 1));
	EXPECT_REFUSED(EINVAL, MAP_WITH(size, 5 * page));
	EXPECT_REFUSED(EINVAL, MAP_WITH(size, UINT64_MAX - page + 1));
	EXPECT_REFUSED(EINVAL, MAP_WITH(size, UINT64_MAX - self->here + 1));
	EXPECT_REFUSED(EINVAL, MAP_WITH(address, 0));
	EXPECT_REFUSED(EINVAL, MAP_WITH(address, self->vm.start - page));
	EXPECT_REFUSED(EINVAL, MAP_WITH(address, self->here + 8));
	EXPECT_REFUSED(EINVAL, MAP_WITH(address, self->vm.end - page));
	EXPECT_REFUSED(EINVAL, MAP_WITH(address, self->vm.end));
	EXPECT_REFUSED(EINVAL, MAP_WITH(address, UINT64_MAX - page + 1));
	EXPECT_REFUSED(EINVAL, MAP_WITH(offset, 1));
	EXPECT_REFUSED(EINVAL, MAP_WITH(offset, 3 * page));
	EXPECT_REFUSED(EINVAL, MAP_WITH(offset, 4 * page));
	EXPECT_REFUSED(EINVAL, MAP_WITH(offset, UINT64_MAX - page + 1));
	ASSERT_EQ(0, pagoda_close(self->fd, handle));
	EXPECT_REFUSED(ENOENT, MAP_WITH(size, page));
	ASSERT_EQ(0, settle(self));
	EXPECT_FAULT(self->here);
}

TEST_F(vm, other_entries_refusals)
{
	static const uint32_t types[] = {
		DRM_PAGODA_BIND_UNMAP, DRM_PAGODA_BIND_MAP_ZERO, DRM_PAGODA_BIND_COPY,
	};
	uint64_t page = self->dev.page;
	uint32_t handle = create_numbered(self->fd, page, 4, 0), n;

	ASSERT_NE(0, handle);
#define OTHER_WITH(kind, field, value) ({					\
	struct drm_pagoda_bind_entry _entry = {					\
		.type = (kind), .address = self->here, .size = page,		\
	};									\
										\
	if ((kind) == DRM_PAGODA_BIND_COPY)					\
		_entry.offset = self->here + 4 * PAGODA_MIB;			\
	_entry.field = (value);							\
	pagoda_bind(self->fd, self->vm.vm, &_entry, 1, 0, 0);			\
})
	for (n = 0; n < ARRAY_SIZE(types); n++) {
		EXPECT_REFUSED(EINVAL, OTHER_WITH(types[n], flags, DRM_PAGODA_BIND_READ_ONLY));
		EXPECT_REFUSED(EINVAL, OTHER_WITH(types[n], handle, handle));
		EXPECT_REFUSED(EINVAL, OTHER_WITH(types[n], pad, 1));
		EXPECT_REFUSED(EINVAL, OTHER_WITH(types[n], driver_protection, 1));
		EXPECT_REFUSED(EINVAL, OTHER_WITH(types[n], size, 0));
		EXPECT_REFUSED(EINVAL, OTHER_WITH(types[n], size, page - 1));
		EXPECT_REFUSED(EINVAL, OTHER_WITH(types[n], size, UINT64_MAX - self->here));
		EXPECT_REFUSED(EINVAL, OTHER_WITH(types[n], address, self->here + 1));
		EXPECT_REFUSED(EINVAL, OTHER_WITH(types[n], address, self->vm.end));
	}
	EXPECT_REFUSED(EINVAL, OTHER_WITH(DRM_PAGODA_BIND_UNMAP, offset, page));
	EXPECT_REFUSED(EINVAL, OTHER_WITH(DRM_PAGODA_BIND_MAP_ZERO, offset, page));
	EXPECT_REFUSED(EINVAL, OTHER_WITH(DRM_PAGODA_BIND_COPY, offset, self->here + 1));
	EXPECT_REFUSED(EINVAL, OTHER_WITH(DRM_PAGODA_BIND_COPY, offset, 0));
	EXPECT_REFUSED(EINVAL, OTHER_WITH(DRM_PAGODA_BIND_COPY, offset, self->vm.end));
	EXPECT_REFUSED(EINVAL, OTHER_WITH(DRM_PAGODA_BIND_COPY, offset, UINT64_MAX - page + 1));
}

TEST_F(vm, array_refusals)
{
	uint64_t page = self->dev.page;
	uint32_t handle = create_numbered(self->fd, page, 4, 0), wrong;
	struct drm_pagoda_bind_entry entries[2] = {
		map_template(self, handle), map_template(self, handle),
	};
	struct drm_pagoda_vm_bind args, good = {
		.entries = { (uintptr_t)entries, 1, sizeof(entries[0]) }, .vm = self->vm.vm,
	};
	uint8_t longer[2 * sizeof(entries[0])] = { 0 };

#define BIND_WITH(field, value) ({						\
	args = good;								\
	args.field = (value);							\
	pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_VM_BIND, &args);		\
})
	ASSERT_NE(0, handle);
	EXPECT_REFUSED(EINVAL, BIND_WITH(flags, 1));
	EXPECT_REFUSED(EINVAL, BIND_WITH(pad, 1));
	EXPECT_REFUSED(ENOENT, BIND_WITH(vm, 0));
	EXPECT_REFUSED(ENOENT, BIND_WITH(vm, UNKNOWN));
	EXPECT_REFUSED(EINVAL, BIND_WITH(syncobj, self->syncobj));
	EXPECT_REFUSED(EINVAL, BIND_WITH(point, 1));
	EXPECT_REFUSED(EINVAL, BIND_WITH(entries.count, 0));
	EXPECT_REFUSED(E2BIG, BIND_WITH(entries.count, DRM_PAGODA_MAX_ENTRIES + 1));
	EXPECT_REFUSED(EFAULT, BIND_WITH(entries.array, BAD_POINTER));
	EXPECT_REFUSED(EFAULT, BIND_WITH(entries.array, 0));
	EXPECT_REFUSED(EINVAL, BIND_WITH(entries.stride, 0));
	EXPECT_REFUSED(EINVAL, BIND_WITH(entries.stride, sizeof(entries[0]) - 16));
	EXPECT_REFUSED(EINVAL, BIND_WITH(entries.stride, sizeof(entries[0]) + 4));
	EXPECT_REFUSED(EINVAL, BIND_WITH(entries.stride, 2 * page));
	memcpy(longer, &entries[0], sizeof(entries[0]));
	longer[sizeof(longer) - 1] = 1;
	args = good;
	args.entries.array = (uintptr_t)longer;
	args.entries.stride = sizeof(longer);
	EXPECT_REFUSED(E2BIG, pagoda_ioctl(self->fd, DRM_IOCTL_PAGODA_VM_BIND, &args));
	EXPECT_REFUSED(ENOENT, pagoda_bind(self->other, self->vm.vm, entries, 1, 0, 0));
	EXPECT_REFUSED(ENOENT, pagoda_bind(self->fd, self->vm.vm, entries, 1, UNKNOWN, 1));
	/*
	 * A MAP with a COPY, which takes only COPYs beside it, then with an UNMAP that has a
	 * handle: both arrays are refused, and nothing is mapped.
	 */
	entries[1].type = DRM_PAGODA_BIND_COPY;
	entries[1].handle = 0;
	entries[1].offset = self->here + PAGODA_MIB;
	for (wrong = 0; wrong < 2; wrong++) {
		EXPECT_REFUSED(EINVAL, pagoda_bind(self->fd, self->vm.vm, entries, 2, 0, 0));
		entries[1] = entries[0];
		entries[1].type = DRM_PAGODA_BIND_UNMAP;
	}
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, settle(self));
	EXPECT_FAULT(self->here);
}

/* --- what addresses mean -------------------------------------------------------------------- */

TEST_F(vm, shows_parts_of_allocations)
{
	uint64_t page = self->dev.page, here = self->here;
	uint32_t handle = create_numbered(self->fd, page, 8, 100), n;

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->vm.vm, handle, here, 0, 8 * page));
	/* Two of the pages are mapped again, across the end of a page table. */
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->vm.vm, handle, here + 4 * PAGODA_MIB - page,
				     3 * page, 2 * page));
	ASSERT_EQ(0, settle(self));
	for (n = 0; n < 8; n++)
		EXPECT_WORD(100 + n, here + n * page);
	EXPECT_FAULT(here - page);
	EXPECT_FAULT(here + 8 * page);
	EXPECT_WORD(103, here + 4 * PAGODA_MIB - page);
	EXPECT_WORD(104, here + 4 * PAGODA_MIB);
	/* Page 1 is unmapped, page 3 is unmapped and then maps zeros, page 5 maps page 0. */
	ASSERT_EQ(0, pagoda_bind_range(self->fd, self->vm.vm, DRM_PAGODA_BIND_UNMAP,
				       here + page, page));
	EXPECT_REFUSED(EEXIST, pagoda_bind_range(self->fd, self->vm.vm, DRM_PAGODA_BIND_MAP_ZERO,
						 here + 3 * page, page));
	ASSERT_EQ(0, pagoda_bind_range(self->fd, self->vm.vm, DRM_PAGODA_BIND_UNMAP,
				       here + 3 * page, page));
	ASSERT_EQ(0, pagoda_bind_range(self->fd, self->vm.vm, DRM_PAGODA_BIND_MAP_ZERO,
				       here + 3 * page, page));
	ASSERT_EQ(0, pagoda_bind_map(self->fd, self->vm.vm, handle, here + 5 * page, 0, page));
	ASSERT_EQ(0, settle(self));
	EXPECT_WORD(100, here);
	EXPECT_FAULT(here + page);
	EXPECT_WORD(102, here + 2 * page);
	EXPECT_WORD(104, here + 4 * page);
	EXPECT_WORD(100, here + 5 * page);
	EXPECT_WORD(106, here + 6 * page);
	/* What is left of the mapping follows moves of its allocation. */
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	ASSERT_EQ(0, settle(self));
	EXPECT_FAULT(here);
	EXPECT_FAULT(here + 6 * page);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, settle(self));
	EXPECT_WORD(100, here);
	EXPECT_FAULT(here + page);
	EXPECT_WORD(106, here + 6 * page);
	ASSERT_EQ(0, pagoda_close(self->fd, handle));
	ASSERT_EQ(0, settle(self));
	for (n = 0; n < 8; n++)
		if (n != 3)
			EXPECT_FAULT(here + n * page);
}

TEST_F(vm, flags_reach_the_tables)
{
	struct drm_pagoda_bind_entry entry;
	uint64_t address, flags = 0;
	uint32_t handle = create_numbered(self->fd, self->dev.page, 2, 0), segment;

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	entry = map_template(self, handle);
	entry.flags = DRM_PAGODA_BIND_READ_ONLY | DRM_PAGODA_BIND_NO_EXECUTE;
	ASSERT_EQ(0, pagoda_bind(self->fd, self->vm.vm, &entry, 1, 0, 0));
	ASSERT_EQ(0, settle(self));
	if (!self->space)
		return;
	ASSERT_EQ(0, translate(self->space, self->here, &segment, &address, &flags));
	/* Of the low five bits of the entry only VALID, READ_ONLY and NO_EXECUTE are set. */
	EXPECT_EQ(0x19, flags & 0x1f);
}

TEST_F(vm, arrays_are_applied_in_order)
{
	uint64_t page = self->dev.page, here = self->here;
	uint32_t handle = create_numbered(self->fd, page, 64, 1000), n, count = 64;
	struct drm_pagoda_bind_entry entries[65] = { 0 };

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	entries[0].type = DRM_PAGODA_BIND_MAP_ZERO;
	entries[0].address = here;
	entries[0].size = 65 * page;
	for (n = 1; n <= count; n++)
		entries[n] = (struct drm_pagoda_bind_entry) {
			.type = DRM_PAGODA_BIND_MAP, .handle = handle, .size = page,
			.address = here + n * page, .offset = (count - n) * page,
		};
	ASSERT_EQ(0, pagoda_bind(self->fd, self->vm.vm, entries, count + 1, self->syncobj,
				 ++self->point));
	ASSERT_EQ(0, pagoda_syncobj_wait(self->fd, self->syncobj, self->point, LIMIT));
	for (n = 1; n <= count; n++)
		EXPECT_WORD(1000 + count - n, here + n * page);
}

/*
 * The entries of an array of COPYs are a chain: each copies the mappings that the one before made.
 */
TEST_F(vm, copies_in_chains)
{
	uint64_t page = self->dev.page, here = self->here, step = 2 * PAGODA_MIB;
	uint32_t handle = create_numbered(self->fd, page, 16, 2000), n;
	struct drm_pagoda_bind_entry entries[6] = { 0 };

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	for (n = 0; n < 16; n++)
		ASSERT_EQ(0, pagoda_bind_map(self->fd, self->vm.vm, handle, here + n * page,
					     (15 - n) * page, page));
	for (n = 0; n < ARRAY_SIZE(entries); n++)
		entries[n] = (struct drm_pagoda_bind_entry) {
			.type = DRM_PAGODA_BIND_COPY, .size = 16 * page,
			.offset = here + n * step, .address = here + (n + 1) * step,
		};
	ASSERT_EQ(0, pagoda_bind(self->fd, self->vm.vm, entries, ARRAY_SIZE(entries), 0, 0));
	ASSERT_EQ(0, settle(self));
	for (n = 0; n < 16; n++)
		EXPECT_WORD(2015 - n, here + ARRAY_SIZE(entries) * step + n * page);
	/* The last copy follows moves of the allocation, too. */
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	ASSERT_EQ(0, settle(self));
	EXPECT_FAULT(here + ARRAY_SIZE(entries) * step);
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, settle(self));
	EXPECT_WORD(2015, here + ARRAY_SIZE(entries) * step);
}

TEST_F(vm, more_than_fits_is_bound)
{
	uint64_t page = self->dev.page, size = self->dev.vram.size / 16, round;
	uint32_t handles[24], pages = size / page, n;

	for (n = 0; n < ARRAY_SIZE(handles); n++) {
		handles[n] = create_numbered(self->fd, page, pages, n * 100000);
		ASSERT_NE(0, handles[n]);
		ASSERT_EQ(0, pagoda_bind_map(self->fd, self->vm.vm, handles[n],
					     self->here + n * size, 0, size));
	}
	for (round = 0; round < 2; round++) {
		for (n = 0; n < ARRAY_SIZE(handles); n++) {
			ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handles[n]));
			ASSERT_EQ(0, settle(self));
			EXPECT_WORD(n * 100000, self->here + n * size);
			EXPECT_WORD(n * 100000 + pages - 1, self->here + (n + 1) * size - page);
		}
		for (n = 0; n < ARRAY_SIZE(handles); n++)
			if (pagoda_residency(self->fd, handles[n]) == DRM_PAGODA_NOT_RESIDENT)
				EXPECT_FAULT(self->here + n * size);
	}
}

TEST_HARNESS_MAIN
