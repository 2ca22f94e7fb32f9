// SPDX-License-Identifier: GPL-2.0
/*
 * Sharing: memory of vgem and udmabuf that the GPU uses, allocations that vgem and other clients
 * use, fences in dma-bufs, DRM's global names, clients that are killed, and handles, dma-bufs and
 * mappings that are closed in any order.
 */
#include "lib/pagoda_prime.h"
#include "lib/submit_client.h"

#define SEED		907
#define UNKNOWN		0x7fffu
/*
 * vgem's fences signal by themselves after ten seconds. A try counts if it took less than
 * VGEM_SECONDS; a test that got no processor for so long tries again, VGEM_TRIES times in all.
 */
#define VGEM_SECONDS	9
#define VGEM_TRIES	6u
#define IMPLICIT	DRM_PAGODA_SUBMIT_IMPLICIT
#define WRITE		DRM_PAGODA_SUBMIT_WRITE
#define BOTH		(PAGODA_IN_VRAM | PAGODA_IN_APERTURE)
#define PAGES		24

/* --- programs ------------------------------------------------------------------------------- */

static int client_map(struct client *client, uint32_t which, uint32_t handle, uint64_t size)
{
	return pagoda_bind_map(client->fd, client->vm.vm, handle, client_data(client, which), 0,
			       size);
}

/* Submits the appended commands as client_submit() does, with flags for the listed allocations. */
static int share_submit(struct client *client, const struct drm_pagoda_submit_entry *entries,
			uint32_t count)
{
	struct drm_pagoda_command_buffer buffer = {
		client->program.address + client->start, client->program.used - client->start,
	};
	struct drm_pagoda_sync sync = {
		.handle = client->syncobj,
		.flags = DRM_PAGODA_SYNC_SIGNAL,
		.point = ++client->point,
	};
	struct drm_pagoda_submit args = {
		.buffers = { (uintptr_t)&buffer, 1, sizeof(buffer) },
		.syncs = { (uintptr_t)&sync, 1, sizeof(sync) },
		.entries = { (uintptr_t)entries, count, sizeof(*entries) },
		.context = client->context,
	};
	int ret = client->program.too_long ? -E2BIG : pagoda_submit_args(client->fd, &args);

	client->start = client->program.used;
	if (ret)
		client->point--;
	return ret;
}

/*
 * Runs the appended commands as a job that lists @handle with @flags. Returns 0, -ECANCELED if
 * CONTEXT_STATE then tells of a failure, or another negative errno.
 */
static int share_run(struct client *client, uint32_t handle, uint32_t flags)
{
	const struct drm_pagoda_submit_entry entry = { handle, flags };
	struct drm_pagoda_context_state state = {};
	int ret = share_submit(client, &entry, 1);

	if (!ret)
		ret = client_wait(client);
	if (!ret)
		ret = pagoda_context_state(client->fd, client->context, &state);
	client_rewind(client);
	return ret ? ret : state.state ? -ECANCELED : 0;
}

FIXTURE(prime) {
	struct test_device dev;
	int fd;
	int other;
	int vgem;
	uint64_t size;
	uint64_t vram;
	uint64_t aperture;
	struct client client;
};

FIXTURE_SETUP(prime)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->size = PAGES * self->dev.page;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	self->vgem = vgem_open();
	ASSERT_LE(0, self->vgem);
	self->vram = test_vram_settled(self->other, 0);
	self->aperture = test_aperture_settled(self->other, 0);
	ASSERT_EQ(0, client_open(&self->client, self->fd, 0));
}

/*
 * Closes the files: then as much VRAM and aperture is in use as before the test, whatever handles
 * the test left open.
 */
FIXTURE_TEARDOWN(prime)
{
	munmap(self->client.program.memory, CODE_SIZE);
	close(self->vgem);
	close(self->fd);
	EXPECT_EQ(self->vram, test_vram_settled(self->other, self->vram));
	EXPECT_EQ(self->aperture, test_aperture_settled(self->other, self->aperture));
	close(self->other);
}

/* --- memory of other exporters ---------------------------------------------------------------- */

/*
 * Imports @dma_buf. In three rounds, with an eviction after each, a job finds what the CPU wrote to
 * each page of the dma-buf, and the CPU finds in the dma-buf what the job wrote.
 */
static void import_works(struct __test_metadata *_metadata, struct _test_data_prime *self,
			 int dma_buf)
{
	struct client *client = &self->client;
	uint64_t n, round, at = client_data(client, 0);
	struct drm_pagoda_allocation_info info;
	struct drm_pagoda_segment_info before, after;
	uint32_t handle, again;

	ASSERT_EQ(0, pagoda_segment(self->fd, DRM_PAGODA_SEGMENT_APERTURE, &before));
	ASSERT_EQ(0, prime_import(self->fd, dma_buf, &handle));
	ASSERT_EQ(0, prime_import(self->fd, dma_buf, &again));
	EXPECT_EQ(handle, again);
	ASSERT_EQ(0, pagoda_info(self->fd, handle, &info));
	EXPECT_EQ(DRM_PAGODA_ALLOCATION_IMPORTED | CPU | CACHED, info.flags);
	EXPECT_EQ(self->size, info.size);
	EXPECT_EQ(PAGODA_IN_APERTURE, info.supported);
	ASSERT_EQ(0, client_map(client, 0, handle, self->size));
	EXPECT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	ASSERT_EQ(0, pagoda_segment(self->fd, DRM_PAGODA_SEGMENT_APERTURE, &after));
	EXPECT_EQ(before.client_usage + self->size, after.client_usage);
	EXPECT_EQ(before.usage + self->size, after.usage);
	for (round = 1; round < 4; round++) {
		for (n = 0; n < PAGES; n++) {
			uint64_t offset = n * self->dev.page;

			EXPECT_EQ(0, prime_write(dma_buf, self->size, offset, round * 1000 + n));
			pagoda_compare(&client->program, at + offset, round * 1000 + n);
			pagoda_store(&client->program, at + offset + 8, round * 2000 + n);
		}
		pagoda_store(&client->program, at + self->size - 8, round);
		EXPECT_EQ(0, share_run(client, handle, IMPLICIT | WRITE));
		for (n = 0; n < PAGES; n++)
			EXPECT_EQ(round * 2000 + n, prime_read(dma_buf, self->size,
							       n * self->dev.page + 8));
		EXPECT_EQ(round, prime_read(dma_buf, self->size, self->size - 8));
		EXPECT_EQ(0, pagoda_evict_wait(self->fd, handle));
		EXPECT_EQ(DRM_PAGODA_NOT_RESIDENT, pagoda_residency(self->fd, handle));
	}
	EXPECT_EQ(0, pagoda_close(self->fd, handle));
}

TEST_F(prime, udmabuf)
{
	uint64_t *map, *through;
	uint32_t handle;
	int dma_buf = udmabuf_create(self->size, &map);

	ASSERT_LE(0, dma_buf);
	import_works(_metadata, self, dma_buf);
	EXPECT_EQ(3, map[self->size / 8 - 1]);
	/* A CPU mapping of the allocation shows the same memory. */
	ASSERT_EQ(0, prime_import(self->fd, dma_buf, &handle));
	through = pagoda_map(self->fd, handle, self->size);
	ASSERT_NE(NULL, through);
	through[5] = 55;
	EXPECT_EQ(55, map[5]);
	munmap(through, self->size);
	/* The allocation keeps the memory when the dma-buf's last descriptor is closed. */
	close(dma_buf);
	EXPECT_EQ(0, client_map(&self->client, 1, handle, self->size));
	pagoda_compare(&self->client.program, client_data(&self->client, 1) + 40, 55);
	pagoda_store(&self->client.program, client_data(&self->client, 1) + 48, 66);
	EXPECT_EQ(0, share_run(&self->client, handle, 0));
	EXPECT_EQ(66, map[6]);
	munmap(map, self->size);
}

TEST_F(prime, vgem)
{
	uint32_t buffer;
	int dma_buf;

	ASSERT_EQ(0, vgem_create(self->vgem, self->size, &buffer));
	dma_buf = prime_export(self->vgem, buffer);
	ASSERT_LE(0, dma_buf);
	import_works(_metadata, self, dma_buf);
	close(dma_buf);
}

/* The export of an imported allocation is the dma-buf that it was imported from. */
TEST_F(prime, import_is_exported)
{
	uint32_t handle, buffer, back;
	int dma_buf, again;

	ASSERT_EQ(0, vgem_create(self->vgem, self->size, &buffer));
	dma_buf = prime_export(self->vgem, buffer);
	ASSERT_EQ(0, prime_import(self->fd, dma_buf, &handle));
	close(dma_buf);
	again = prime_export(self->fd, handle);
	ASSERT_LE(0, again);
	EXPECT_EQ(0, prime_import(self->vgem, again, &back));
	EXPECT_EQ(buffer, back);
	EXPECT_EQ(0, prime_write(again, self->size, 0, SEED));
	EXPECT_EQ(0, pagoda_close(self->fd, handle));
	EXPECT_EQ(SEED, prime_read(again, self->size, 0));
	close(again);
}

/* --- allocations that others use ------------------------------------------------------------- */

/*
 * An import of the client's own dma-buf gives the handle that the client has, an import by another
 * client a handle of the same allocation, with the same content, whatever segments are supported.
 */
TEST_F(prime, self_import)
{
	static const uint32_t flags[] = { CPU, CPU | CACHED, CPU, CPU };
	static const uint32_t where[] = {
		PAGODA_IN_VRAM, PAGODA_IN_VRAM, PAGODA_IN_APERTURE, BOTH,
	};
	uint32_t handle, same, theirs, i;
	uint64_t at;
	int dma_buf;

	for (i = 0; i < ARRAY_SIZE(where); i++) {
		at = client_data(&self->client, i);
		ASSERT_EQ(0, pagoda_create(self->fd, self->size, flags[i], where[i], &handle));
		dma_buf = prime_export(self->fd, handle);
		ASSERT_LE(0, dma_buf);
		EXPECT_EQ(0, prime_import(self->fd, dma_buf, &same));
		EXPECT_EQ(handle, same);
		EXPECT_EQ(0, prime_import(self->other, dma_buf, &theirs));
		ASSERT_EQ(0, client_map(&self->client, i, handle, self->size));
		pagoda_store(&self->client.program, at + self->size - 8, SEED + i);
		EXPECT_EQ(0, share_run(&self->client, handle, IMPLICIT | WRITE));
		EXPECT_EQ(SEED + i, prime_read(dma_buf, self->size, self->size - 8));
		EXPECT_EQ(0, prime_write(dma_buf, self->size, 16, SEED - i));
		pagoda_compare(&self->client.program, at + 16, SEED - i);
		EXPECT_EQ(0, share_run(&self->client, handle, 0));
		/* The other client still has the allocation. */
		EXPECT_EQ(0, pagoda_close(self->fd, handle));
		close(dma_buf);
		dma_buf = prime_export(self->other, theirs);
		EXPECT_EQ(SEED + i, prime_read(dma_buf, self->size, self->size - 8));
		EXPECT_EQ(0, pagoda_close(self->other, theirs));
		EXPECT_EQ(SEED - i, prime_read(dma_buf, self->size, 16));
		close(dma_buf);
	}
}

/*
 * vgem can't be told of moves, so its import pins the allocation in system memory, where the GPU
 * uses it, too. When vgem's handle is closed the allocation can be in VRAM again.
 */
TEST_F(prime, pinned_by_vgem)
{
	struct drm_pagoda_segment_info info;
	uint64_t at = client_data(&self->client, 0);
	uint32_t handle, theirs;
	int dma_buf;

	if (!prime_vgem_maps())
		SKIP(return, "vgem of this kernel doesn't map what it imports");
	ASSERT_EQ(0, pagoda_create(self->fd, self->size, CPU, BOTH, &handle));
	dma_buf = prime_export(self->fd, handle);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, client_map(&self->client, 0, handle, self->size));
	pagoda_store(&self->client.program, at, SEED);
	EXPECT_EQ(0, share_run(&self->client, handle, 0));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, handle));
	ASSERT_EQ(0, prime_import(self->vgem, dma_buf, &theirs));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_APERTURE, pagoda_where(self->fd, handle));
	ASSERT_EQ(0, pagoda_segment(self->fd, DRM_PAGODA_SEGMENT_APERTURE, &info));
	EXPECT_EQ(self->size, info.client_pinned);
	EXPECT_EQ(self->dev.vram.size / 2, info.pin_limit);
	EXPECT_EQ(SEED, prime_read(dma_buf, self->size, 0));
	EXPECT_EQ(0, pagoda_evict_wait(self->fd, handle));
	EXPECT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_APERTURE, pagoda_where(self->fd, handle));
	pagoda_compare(&self->client.program, at, SEED);
	pagoda_store(&self->client.program, at + 8, SEED + 1);
	EXPECT_EQ(0, share_run(&self->client, handle, 0));
	EXPECT_EQ(SEED + 1, prime_read(dma_buf, self->size, 8));
	EXPECT_EQ(0, pagoda_close(self->vgem, theirs));
	ASSERT_EQ(0, pagoda_segment(self->fd, DRM_PAGODA_SEGMENT_APERTURE, &info));
	EXPECT_EQ(0, info.client_pinned);
	EXPECT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, handle));
	EXPECT_EQ(SEED + 1, prime_read(dma_buf, self->size, 8));
	close(dma_buf);
}

/*
 * An import that would pin more of a client's allocations than pin_limit is refused with EDQUOT,
 * and moves nothing.
 */
TEST_F(prime, pins_are_limited)
{
	uint64_t size = self->dev.aperture.pin_limit / 2 / self->dev.page * self->dev.page;
	uint32_t handles[3], theirs[3], n;
	int bufs[3];

	if (!prime_vgem_maps())
		SKIP(return, "vgem of this kernel doesn't map what it imports");
	for (n = 0; n < 3; n++) {
		ASSERT_EQ(0, pagoda_create(self->fd, size, CPU, PAGODA_IN_APERTURE, &handles[n]));
		bufs[n] = prime_export(self->fd, handles[n]);
		ASSERT_LE(0, bufs[n]);
	}
	EXPECT_EQ(0, prime_import(self->vgem, bufs[0], &theirs[0]));
	EXPECT_EQ(0, prime_import(self->vgem, bufs[1], &theirs[1]));
	EXPECT_REFUSED(EDQUOT, prime_import(self->vgem, bufs[2], &theirs[2]));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_SYSTEM, pagoda_where(self->fd, handles[2]));
	EXPECT_EQ(0, pagoda_close(self->vgem, theirs[0]));
	EXPECT_EQ(0, prime_import(self->vgem, bufs[2], &theirs[2]));
	for (n = 0; n < 3; n++)
		close(bufs[n]);
}

TEST_F(prime, refusals)
{
	struct drm_pagoda_allocation_create tiled = {
		.size = 65536,
		.supported = BOTH,
		.tiling = DRM_PAGODA_TILING_4K,
		.pitch = 256,
		.height = 64,
		.mips = 1,
	};
	uint32_t handle, private, hidden, theirs, bit;
	int dma_buf, files[2];

	EXPECT_REFUSED(ENOENT, prime_export(self->fd, UNKNOWN));
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &handle));
	EXPECT_REFUSED(ENOENT, prime_export(self->other, handle));
	for (bit = 0; bit < 32; bit++)
		if (~(DRM_CLOEXEC | DRM_RDWR) & 1u << bit)
			EXPECT_REFUSED(EINVAL, prime_export_flags(self->fd, handle, 1u << bit));
	ASSERT_EQ(0, pagoda_create_private(self->fd, self->client.vm.vm, self->size, CPU, BOTH,
					   &private));
	EXPECT_REFUSED(EPERM, prime_export(self->fd, private));
	EXPECT_REFUSED(EBADF, prime_import(self->fd, -1, &theirs));
	ASSERT_EQ(0, pipe(files));
	EXPECT_REFUSED(EINVAL, prime_import(self->fd, files[0], &theirs));
	close(files[0]);
	close(files[1]);
	/*
	 * vgem can't import an allocation that is supported in VRAM only, which another client can,
	 * nor a tiled allocation.
	 */
	dma_buf = prime_export(self->fd, handle);
	EXPECT_REFUSED(EOPNOTSUPP, prime_import(self->vgem, dma_buf, &theirs));
	EXPECT_EQ(0, prime_import(self->other, dma_buf, &theirs));
	close(dma_buf);
	if (self->dev.info.swizzling_ranges) {
		ASSERT_EQ(0, pagoda_create_args(self->fd, &tiled));
		dma_buf = prime_export(self->fd, tiled.handle);
		EXPECT_REFUSED(EOPNOTSUPP, prime_import(self->vgem, dma_buf, &theirs));
		close(dma_buf);
	}
	/* An allocation that the CPU can't map can't be mapped by its dma-buf either. */
	ASSERT_EQ(0, pagoda_create(self->fd, self->size, 0, PAGODA_IN_VRAM, &hidden));
	dma_buf = prime_export(self->fd, hidden);
	PAGODA_PROVES(C175);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, self->size, PROT_READ, MAP_SHARED, dma_buf, 0));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(NULL, pagoda_map(self->fd, hidden, self->size));
	EXPECT_EQ(EACCES, errno);
	close(dma_buf);
	/* A too long mapping, unknown flags, and a dma-buf in place of a sync_file are refused. */
	dma_buf = prime_export(self->fd, handle);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, self->size + self->dev.page, PROT_READ, MAP_SHARED,
				   dma_buf, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_REFUSED(EINVAL, prime_sync(dma_buf, 1 << 5));
	EXPECT_REFUSED(EINVAL, prime_export_fence(dma_buf, 0));
	EXPECT_REFUSED(EINVAL, prime_import_fence(dma_buf, DMA_BUF_SYNC_READ, dma_buf));
	close(dma_buf);
}

/* A dma-buf larger than the aperture is refused: the GPU could use it nowhere. */
TEST_F(prime, too_large)
{
	uint32_t buffer, handle;
	int dma_buf;

	ASSERT_EQ(0, vgem_create(self->vgem, self->dev.aperture.size + 4096, &buffer));
	dma_buf = prime_export(self->vgem, buffer);
	ASSERT_LE(0, dma_buf);
	EXPECT_REFUSED(E2BIG, prime_import(self->fd, dma_buf, &handle));
	close(dma_buf);
}

/* --- fences -------------------------------------------------------------------------------- */

/*
 * A job with IMPLICIT waits for the fence of vgem's buffer that the job reads. The dma-buf of the
 * allocation that the job writes has the job's fence, which signals only after vgem's.
 */
TEST_F(prime, fences_are_shared)
{
	struct client *client = &self->client;
	struct drm_pagoda_submit_entry entries[2];
	uint32_t buffer, fence, import, handle, n;
	int theirs, ours, sync_file, ret;
	bool in_time = false, early;
	int64_t begin;

	ASSERT_EQ(0, vgem_create(self->vgem, self->size, &buffer));
	theirs = prime_export(self->vgem, buffer);
	ASSERT_EQ(0, prime_import(self->fd, theirs, &import));
	ASSERT_EQ(0, pagoda_create(self->fd, self->size, CPU, BOTH, &handle));
	ours = prime_export(self->fd, handle);
	ASSERT_LE(0, ours);
	ASSERT_EQ(0, client_map(client, 0, import, self->size));
	ASSERT_EQ(0, client_map(client, 1, handle, self->size));
	/* Both allocations are resident already: no move waits for vgem's fence, only the job. */
	pagoda_store(&client->program, client_data(client, 0), 1);
	EXPECT_EQ(0, share_run(client, import, 0));
	EXPECT_EQ(0, pagoda_make_resident_wait(self->fd, handle));

	entries[0] = (struct drm_pagoda_submit_entry) { import, IMPLICIT };
	entries[1] = (struct drm_pagoda_submit_entry) { handle, IMPLICIT | WRITE };
	for (n = 0; n < VGEM_TRIES && !in_time; n++) {
		begin = pagoda_now();
		ASSERT_EQ(0, vgem_fence(self->vgem, buffer, &fence));
		pagoda_copy(&client->program, client_data(client, 0), client_data(client, 1), 8);
		ASSERT_EQ(0, share_submit(client, entries, 2));
		sync_file = prime_export_fence(ours, DMA_BUF_SYNC_READ);
		ASSERT_LE(0, sync_file);
		early = prime_signalled(sync_file, 100);
		ret = vgem_signal(self->vgem, fence);
		in_time = pagoda_now() < begin + VGEM_SECONDS * PAGODA_SEC;
		EXPECT_TRUE(!in_time || !early);
		EXPECT_TRUE(!in_time || !ret);
		EXPECT_TRUE(prime_signalled(sync_file, 60000));
		EXPECT_EQ(0, client_wait(client));
		close(sync_file);
	}
	EXPECT_TRUE(in_time);
	close(ours);
	close(theirs);
}

/*
 * A fence of vgem is imported into the dma-buf of an allocation: a job with IMPLICIT waits for the
 * fence, a job without doesn't.
 */
TEST_F(prime, fences_are_imported)
{
	struct client *client = &self->client;
	struct drm_pagoda_submit_entry entry;
	uint32_t buffer, fence, handle, n;
	int theirs, ours, sync_file, early, ret;
	bool in_time = false;
	int64_t begin;

	ASSERT_EQ(0, vgem_create(self->vgem, self->size, &buffer));
	theirs = prime_export(self->vgem, buffer);
	ASSERT_EQ(0, pagoda_create(self->fd, self->size, CPU, BOTH, &handle));
	ours = prime_export(self->fd, handle);
	ASSERT_EQ(0, client_map(client, 1, handle, self->size));
	pagoda_store(&client->program, client_data(client, 1), 1);
	EXPECT_EQ(0, share_run(client, handle, 0));

	for (n = 0; n < VGEM_TRIES && !in_time; n++) {
		begin = pagoda_now();
		ASSERT_EQ(0, vgem_fence(self->vgem, buffer, &fence));
		sync_file = prime_export_fence(theirs, DMA_BUF_SYNC_READ);
		ASSERT_LE(0, sync_file);
		ASSERT_EQ(0, prime_import_fence(ours, DMA_BUF_SYNC_WRITE, sync_file));
		/* A job without IMPLICIT doesn't wait for the fence. */
		entry = (struct drm_pagoda_submit_entry) { handle, 0 };
		pagoda_store(&client->program, client_data(client, 1), 2);
		ASSERT_EQ(0, share_submit(client, &entry, 1));
		EXPECT_EQ(0, client_wait(client));
		entry.flags = IMPLICIT;
		pagoda_store(&client->program, client_data(client, 1) + 8, 3);
		ASSERT_EQ(0, share_submit(client, &entry, 1));
		early = pagoda_syncobj_wait(self->fd, client->syncobj, client->point,
					    PAGODA_SEC / 10);
		ret = vgem_signal(self->vgem, fence);
		in_time = pagoda_now() < begin + VGEM_SECONDS * PAGODA_SEC;
		EXPECT_TRUE(!in_time || early == -ETIME);
		EXPECT_TRUE(!in_time || !ret);
		EXPECT_EQ(0, client_wait(client));
		EXPECT_EQ(3, prime_read(ours, self->size, 8));
		close(sync_file);
	}
	EXPECT_TRUE(in_time);
	close(ours);
	close(theirs);
}

/* An EVICT with NOT_WRITTEN_TO doesn't lose what another client's job wrote to the allocation. */
TEST_F(prime, not_written_by_others)
{
	uint32_t queue, syncobj, handle, theirs;
	struct client other;
	uint64_t value;
	int dma_buf;

	ASSERT_EQ(0, client_open(&other, self->other, 0));
	ASSERT_EQ(0, pagoda_paging_queue_create(self->fd, 0, &queue, &syncobj));
	ASSERT_EQ(0, pagoda_create(self->fd, self->size, CPU, BOTH, &handle));
	dma_buf = prime_export(self->fd, handle);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, prime_write(dma_buf, self->size, 0, 1));
	ASSERT_EQ(0, prime_import(self->other, dma_buf, &theirs));
	ASSERT_EQ(0, client_map(&other, 0, theirs, self->size));
	ASSERT_EQ(0, pagoda_list_add(self->fd, queue, &handle, 1, 0, &value, NULL));
	ASSERT_EQ(0, value ? pagoda_syncobj_wait(self->fd, syncobj, value, 10 * PAGODA_SEC) : 0);
	pagoda_store(&other.program, client_data(&other, 0), 2);
	EXPECT_EQ(0, share_run(&other, theirs, IMPLICIT | WRITE));
	ASSERT_EQ(0, pagoda_list_remove(self->fd, queue, &handle, 1,
					DRM_PAGODA_EVICT_NOT_WRITTEN_TO, &value));
	ASSERT_EQ(0, value ? pagoda_syncobj_wait(self->fd, syncobj, value, 10 * PAGODA_SEC) : 0);
	EXPECT_EQ(2, prime_read(dma_buf, self->size, 0));
	close(dma_buf);
	client_close(&other);
}

/* --- DRM's global names ---------------------------------------------------------------------- */

static int flink(int fd, uint32_t handle, uint32_t *name)
{
	struct drm_gem_flink args = { .handle = handle };
	int ret = pagoda_ioctl(fd, DRM_IOCTL_GEM_FLINK, &args);

	*name = args.name;
	return ret;
}

static int open_named(int fd, uint32_t name, uint32_t *handle)
{
	struct drm_gem_open args = { .name = name };
	int ret = pagoda_ioctl(fd, DRM_IOCTL_GEM_OPEN, &args);

	*handle = args.handle;
	return ret;
}

/*
 * GEM_OPEN of a name is refused for a private allocation, which has one handle only, and for an
 * offered allocation. An allocation with a name can't be offered.
 */
TEST_F(prime, global_names)
{
	struct client client;
	uint32_t private, common, name, handle;
	int card = card_open("pagoda");

	ASSERT_LE(0, card);
	ASSERT_EQ(0, client_open(&client, card, 0));
	ASSERT_EQ(0, pagoda_create_private(card, client.vm.vm, self->size, CPU, PAGODA_IN_VRAM,
					   &private));
	ASSERT_EQ(0, client_map(&client, 0, private, self->size));
	ASSERT_EQ(0, flink(card, private, &name));
	EXPECT_REFUSED(EPERM, open_named(card, name, &handle));
	/* The refusal doesn't unmap what was mapped by the first handle: a job can use it. */
	pagoda_store(&client.program, client_data(&client, 0), 1);
	EXPECT_EQ(0, share_run(&client, private, 0));

	ASSERT_EQ(0, pagoda_create(card, self->size, CPU, PAGODA_IN_VRAM, &common));
	ASSERT_EQ(0, pagoda_offer(card, &common, 1, DRM_PAGODA_OFFER_NORMAL, 0));
	ASSERT_EQ(0, flink(card, common, &name));
	EXPECT_REFUSED(EPERM, open_named(card, name, &handle));
	ASSERT_LE(0, pagoda_reclaim_one(card, common));
	ASSERT_EQ(0, open_named(card, name, &handle));
	EXPECT_REFUSED(EPERM, pagoda_offer(card, &common, 1, DRM_PAGODA_OFFER_NORMAL, 0));
	EXPECT_EQ(0, pagoda_close(card, handle));
	client_close(&client);
	close(card);
}

/* --- the end ------------------------------------------------------------------------------- */

/*
 * Runs in a process of its own: a client imports and exports memory, submits a job that waits for
 * vgem's fence, writes to @ready, and waits until the process is killed.
 */
static void doomed(uint64_t size, int ready)
{
	struct drm_pagoda_submit_entry entries[2] = {};
	uint32_t buffer, fence, theirs;
	struct client client;
	int vgem, ours, dma_buf;
	uint64_t *map;

	/*
	 * The client's file is opened before vgem's, and so is released after vgem's when the
	 * process ends: the release of vgem's file signals vgem's fence.
	 */
	if (client_open(&client, pagoda_open(), 0))
		_exit(1);
	vgem = vgem_open();
	if (vgem < 0 || vgem_create(vgem, size, &buffer) ||
	    prime_import(client.fd, prime_export(vgem, buffer), &entries[0].handle) ||
	    pagoda_create(client.fd, size, CPU, BOTH, &entries[1].handle))
		_exit(1);
	ours = prime_export(client.fd, entries[1].handle);
	dma_buf = udmabuf_create(size, &map);
	entries[0].flags = IMPLICIT;
	entries[1].flags = IMPLICIT | WRITE;
	if (ours < 0 || prime_import(client.fd, dma_buf, &theirs) ||
	    client_map(&client, 0, entries[0].handle, size) ||
	    client_map(&client, 1, entries[1].handle, size) ||
	    prime_import(vgem, ours, &theirs) || vgem_fence(vgem, buffer, &fence))
		_exit(2);
	pagoda_copy(&client.program, client_data(&client, 0), client_data(&client, 1), size);
	if (share_submit(&client, entries, 2) || write(ready, "r", 1) != 1)
		_exit(3);
	pause();
	_exit(4);
}

TEST_F(prime, killed)
{
	int ready[2], status, round;
	pid_t child;
	char byte;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, pipe(ready));
		child = fork();
		if (!child)
			doomed(self->size, ready[1]);
		close(ready[1]);
		EXPECT_EQ(1, read(ready[0], &byte, 1));
		close(ready[0]);
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

/*
 * An allocation's handles in three files, its dma-buf and the dma-buf's mapping are closed in
 * random orders. The mapping shows the content until it is unmapped.
 */
TEST_F(prime, any_order)
{
	uint64_t state = SEED, *map;
	uint32_t round, handle, theirs, others, left, n;
	int dma_buf;

	TH_LOG("seed %u", SEED);
	for (round = 0; round < 40; round++) {
		ASSERT_EQ(0, pagoda_create(self->fd, self->size, CPU, BOTH, &handle));
		dma_buf = prime_export(self->fd, handle);
		ASSERT_LE(0, dma_buf);
		ASSERT_EQ(0, prime_import(self->vgem, dma_buf, &theirs));
		ASSERT_EQ(0, prime_import(self->other, dma_buf, &others));
		map = mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED, dma_buf, 0);
		ASSERT_NE(MAP_FAILED, map);
		map[7] = round;
		for (left = 0x1f; left; left &= ~(1u << n)) {
			n = pagoda_random(&state) % 5;
			if (!(left & 1u << n))
				continue;
			if (left & 16 && n != 4)
				EXPECT_EQ(round, map[7]);
			switch (n) {
			case 0:
				EXPECT_EQ(0, pagoda_close(self->fd, handle));
				break;
			case 1:
				EXPECT_EQ(0, pagoda_close(self->vgem, theirs));
				break;
			case 2:
				EXPECT_EQ(0, pagoda_close(self->other, others));
				break;
			case 3:
				EXPECT_EQ(0, close(dma_buf));
				break;
			default:
				EXPECT_EQ(0, munmap(map, self->size));
			}
		}
	}
}

TEST_HARNESS_MAIN
