/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client with a VM, and what the GPU finds at the VM's addresses: the software GPU tells this in
 * debugfs. With another GPU, or without debugfs, tests don't check what the GPU finds.
 */
#ifndef VM_FIXTURE_H
#define VM_FIXTURE_H

#include <fcntl.h>

#include "pagoda_test.h"

#define SEED		61
#define BAD_POINTER	0x10ull
#define UNKNOWN		0x7fffu
#define LIMIT		(60 * PAGODA_SEC)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define MAX_SPACES	1024

#define EXPECT_REFUSED(error, call) EXPECT_EQ(-(error), (call))

FIXTURE(vm) {
	struct test_device dev;
	int fd;
	int other;
	struct drm_pagoda_vm_create vm;
	uint32_t space;
	uint32_t syncobj;
	uint64_t point;
	uint64_t here;
	uint64_t vram;
	uint64_t aperture;
};

/* --- what the GPU finds --------------------------------------------------------------------- */

static inline bool can_translate(void)
{
	return !access(FOLDER "translate", W_OK);
}

/* Sets spaces[n] for each address space n that has a root page table in the GPU. */
static inline void spaces_read(bool *spaces)
{
	FILE *file = fopen(FOLDER "tables", "r");
	char line[256];
	unsigned int n;

	memset(spaces, 0, MAX_SPACES * sizeof(*spaces));
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "space %u", &n) == 1 && n < MAX_SPACES)
			spaces[n] = true;
	if (file)
		fclose(file);
}

/* Returns 0 and the segment and address that @va of @space leads to; 1: @va faults; else -errno. */
static inline int translate(uint32_t space, uint64_t va, uint32_t *segment, uint64_t *address,
			    uint64_t *flags)
{
	int fd = open(FOLDER "translate", O_RDWR | O_CLOEXEC), ret = 0;
	unsigned long long where = 0, bits = 0;
	char line[128] = "";
	ssize_t size;

	if (fd < 0)
		return -errno;
	size = snprintf(line, sizeof(line), "%u %#llx", space, (unsigned long long)va);
	if (write(fd, line, size) != size || read(fd, line, sizeof(line) - 1) <= 0)
		ret = -EIO;
	else if (!strncmp(line, "fault ", 6))
		ret = 1;
	else if (sscanf(line, "%u %llx %llx", segment, &where, &bits) != 3)
		ret = -EPROTO;
	*address = where;
	*flags = bits;
	close(fd);
	return ret;
}

/*
 * Returns the 32-bit word of VRAM that an address of @space leads to; -1: the address faults;
 * -2: the address leads to another segment; less: a debugfs file couldn't be read.
 */
static inline int64_t word_at(uint32_t space, uint64_t va)
{
	uint64_t address = 0, flags = 0;
	uint32_t segment = 0, word;
	int ret = translate(space, va, &segment, &address, &flags), fd;

	if (ret)
		return ret == 1 ? -1 : -3;
	if (segment != DRM_PAGODA_SEGMENT_VRAM)
		return -2;
	fd = open(FOLDER "vram", O_RDONLY | O_CLOEXEC);
	ret = pread(fd, &word, sizeof(word), address);
	close(fd);
	return ret == sizeof(word) ? (int64_t)word : -4;
}

/*
 * Address that settle() changes: away from what tests map, and low, because with two levels of
 * tables the root's size grows with the addresses in use.
 */
#define SETTLE_AT	(1ull << 36)

/*
 * Waits until the VM's earlier changes are done, by waiting for one more change: calls map and
 * unmap a page at SETTLE_AT in turns, so that each call has something to change.
 */
static inline int settle(struct _test_data_vm *self)
{
	struct drm_pagoda_bind_entry entry = {
		.type = self->point % 2 ? DRM_PAGODA_BIND_UNMAP : DRM_PAGODA_BIND_MAP_ZERO,
		.address = SETTLE_AT,
		.size = self->dev.page,
	};
	int ret = pagoda_bind(self->fd, self->vm.vm, &entry, 1, self->syncobj, ++self->point);

	return ret ? ret : pagoda_syncobj_wait(self->fd, self->syncobj, self->point, LIMIT);
}

#define EXPECT_WORD(value, va) do {						\
	if (self->space)							\
		EXPECT_EQ((int64_t)(value), word_at(self->space, va));		\
} while (0)
#define EXPECT_FAULT(va)	EXPECT_WORD(-1, va)

/* Returns the handle of a new allocation with @base + n at the begin of each page n; 0 = failed. */
static inline uint32_t create_numbered(int fd, uint64_t page, uint32_t pages, uint32_t base)
{
	uint32_t handle = 0, n, *map;

	if (pagoda_create_vram(fd, pages * page, &handle))
		return 0;
	map = pagoda_map(fd, handle, pages * page);
	if (!map)
		return 0;
	for (n = 0; n < pages; n++)
		map[n * page / sizeof(*map)] = base + n;
	munmap(map, pages * page);
	return handle;
}

FIXTURE_SETUP(vm)
{
	bool before[MAX_SPACES], after[MAX_SPACES];
	int n;

	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	/* Memory that the test before has used may still have to be freed. */
	self->vram = test_vram_settled(self->fd, 0);
	self->aperture = test_aperture_settled(self->fd, 0);
	spaces_read(before);
	ASSERT_EQ(0, pagoda_vm_create(self->fd, &self->vm));
	self->here = test_round_up(self->vm.start, 2 * PAGODA_MIB) + 2 * PAGODA_MIB;
	ASSERT_EQ(0, pagoda_syncobj_create(self->fd, &self->syncobj));
	ASSERT_EQ(0, settle(self));
	spaces_read(after);
	for (n = 1; can_translate() && n < MAX_SPACES; n++)
		if (after[n] && !before[n])
			self->space = n;
	if (can_translate())
		ASSERT_NE(0, self->space);
}

FIXTURE_TEARDOWN(vm)
{
	close(self->fd);
	EXPECT_EQ(self->vram, test_vram_settled(self->other, self->vram));
	EXPECT_EQ(self->aperture, test_aperture_settled(self->other, self->aperture));
	close(self->other);
}

#endif
