// SPDX-License-Identifier: GPL-2.0
/*
 * Import and export of dma-bufs, repeated so that in each run another memory allocation, or access
 * to user memory, of the kernel fails; lib/fail_fixture.h says how.
 */
#include "lib/fail_fixture.h"
#include "lib/pagoda_prime.h"

#define PAGES	12

/* vgem, a udmabuf with a CPU mapping and a VM, which a test opens before all runs. */
static struct {
	int vgem;
	int memory;
	uint64_t *map;
	struct drm_pagoda_vm_create vm;
} kept;

static int kept_open(int fd, uint64_t page)
{
	int ret = pagoda_vm_create(fd, &kept.vm);

	if (ret)
		return ret;
	kept.vgem = vgem_open();
	kept.memory = udmabuf_create(PAGES * page, &kept.map);
	return kept.vgem < 0 ? kept.vgem : kept.memory < 0 ? kept.memory : 0;
}

static void kept_close(int fd, uint64_t page)
{
	pagoda_vm_destroy(fd, kept.vm.vm);
	munmap(kept.map, PAGES * page);
	close(kept.memory);
	close(kept.vgem);
}

/*
 * Imports @dma_buf. After EFAULT, which also comes when the handle exists and only the answer
 * couldn't be written, a second import stores the handle. Returns what the first import returned.
 */
static int import_certainly(int fd, int dma_buf, uint32_t *handle)
{
	int ret = prime_import(fd, dma_buf, handle);

	if (ret == -EFAULT && !prime_import(fd, dma_buf, handle))
		return ret;
	if (ret)
		*handle = 0;
	return ret;
}

/*
 * Exports @handle. Returns the dma-buf's fd or a negative errno. After EFAULT closes the lowest fd
 * that was free: it is the dma-buf's if only the answer couldn't be written.
 */
static int export_certainly(int fd, uint32_t handle)
{
	int next = dup(fd), dma_buf;

	close(next);
	dma_buf = prime_export(fd, handle);
	if (dma_buf == -EFAULT)
		close(next);
	return dma_buf;
}

/*
 * Imports the udmabuf, makes it resident, maps it in the VM and evicts it. The VM's mapping ends
 * when walk() closes the handle.
 */
static int sequence_import(int fd, uint64_t page, uint32_t *handles)
{
	int ret = import_certainly(fd, kept.memory, &handles[0]);

	if (!ret)
		ret = pagoda_make_resident(fd, handles, 1, 0, 0, NULL);
	if (!ret)
		ret = pagoda_bind_map(fd, kept.vm.vm, handles[0], kept.vm.start, 0, PAGES * page);
	return ret ? ret : pagoda_evict(fd, handles, 1, 0, 0);
}

TEST_F(fail, import)
{
	ASSERT_EQ(0, kept_open(self->dev.fd, self->dev.page));
	kept.map[3] = 7;
	WALK(sequence_import);
	EXPECT_EQ(7, kept.map[3]);
	kept_close(self->dev.fd, self->dev.page);
}

/*
 * Exports an allocation in VRAM, has vgem import it, which pins the allocation in system memory if
 * vgem maps what it imports, and closes vgem's handle.
 */
static int sequence_export(int fd, uint64_t page, uint32_t *handles)
{
	uint32_t theirs;
	int ret, dma_buf;

	ret = pagoda_create(fd, PAGES * page, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
			    PAGODA_IN_VRAM | PAGODA_IN_APERTURE, &handles[0]);
	if (!ret)
		ret = pagoda_make_resident(fd, handles, 1, 0, 0, NULL);
	if (ret)
		return ret;
	dma_buf = export_certainly(fd, handles[0]);
	if (dma_buf < 0)
		return dma_buf;
	ret = import_certainly(kept.vgem, dma_buf, &theirs);
	/* If the injected failure hits GEM_CLOSE, a second GEM_CLOSE succeeds. */
	if (theirs && pagoda_close(kept.vgem, theirs))
		pagoda_close(kept.vgem, theirs);
	close(dma_buf);
	return ret;
}

TEST_F(fail, export)
{
	struct drm_pagoda_segment_info info;

	ASSERT_EQ(0, kept_open(self->dev.fd, self->dev.page));
	WALK(sequence_export);
	ASSERT_EQ(0, pagoda_segment(self->dev.fd, DRM_PAGODA_SEGMENT_APERTURE, &info));
	EXPECT_EQ(0, info.client_pinned);
	kept_close(self->dev.fd, self->dev.page);
}

TEST_HARNESS_MAIN
