// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/self/fdinfo: memory by region, in the keys that tools for all GPUs read.
 */
#include "pagoda_prime.h"
#include "submit_client.h"

#define LOCAL	DRM_PAGODA_SEGMENT_GROUP_LOCAL
#define NONE	UINT64_MAX

FIXTURE(fdinfo) {
	struct test_device dev;
	int fd;
	uint64_t size;
};

FIXTURE_SETUP(fdinfo)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->size = 3 * self->dev.page;
}

FIXTURE_TEARDOWN(fdinfo)
{
	close(self->fd);
}

static uint64_t with_unit(uint64_t value, const char *unit)
{
	if (!strcmp(unit, "KiB"))
		return value * PAGODA_KIB;
	if (!strcmp(unit, "MiB"))
		return value * PAGODA_MIB;
	return *unit ? NONE : value;
}

/* Bytes that a key says, NONE if it isn't there or says something else. */
static uint64_t bytes(int fd, const char *what, const char *region)
{
	char path[64], line[256], key[64], name[64], unit[16];
	unsigned long long value;
	uint64_t found = NONE;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	snprintf(key, sizeof(key), "drm-%s-%s:", what, region);
	file = fopen(path, "r");
	if (!file)
		return NONE;
	while (fgets(line, sizeof(line), file)) {
		unit[0] = '\0';
		if (sscanf(line, "%63s %llu %15s", name, &value, unit) >= 2 && !strcmp(name, key))
			found = with_unit(value, unit);
	}
	fclose(file);
	return found;
}

static uint64_t total(int fd, const char *region)
{
	return bytes(fd, "total", region);
}

static uint64_t resident(int fd, const char *region)
{
	return bytes(fd, "resident", region);
}

TEST_F(fdinfo, has_all_keys)
{
	static const char * const regions[] = { "vram", "gtt", "system" };
	static const char * const keys[] = {
		"total", "shared", "resident", "purgeable", "active",
	};
	uint32_t n, m;

	for (n = 0; n < ARRAY_SIZE(regions); n++)
		for (m = 0; m < ARRAY_SIZE(keys); m++)
			EXPECT_EQ(0, bytes(self->fd, keys[m], regions[n]))
				TH_LOG("drm-%s-%s", keys[m], regions[n]);
}

TEST_F(fdinfo, follows_moves)
{
	uint32_t vram, gtt;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &vram));
	ASSERT_EQ(0, pagoda_create(self->fd, 2 * self->size, CPU, PAGODA_IN_APERTURE, &gtt));
	/* Made, they are nowhere. */
	EXPECT_EQ(3 * self->size, total(self->fd, "system"));
	EXPECT_EQ(0, resident(self->fd, "system"));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, vram));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, gtt));
	EXPECT_EQ(self->size, total(self->fd, "vram"));
	EXPECT_EQ(self->size, resident(self->fd, "vram"));
	EXPECT_EQ(2 * self->size, total(self->fd, "gtt"));
	EXPECT_EQ(2 * self->size, resident(self->fd, "gtt"));
	EXPECT_EQ(0, total(self->fd, "system"));
	EXPECT_EQ(0, bytes(self->fd, "active", "vram"));
	/* Evicted, with its pages. */
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, vram));
	EXPECT_EQ(0, total(self->fd, "vram"));
	EXPECT_EQ(self->size, total(self->fd, "system"));
	EXPECT_EQ(self->size, resident(self->fd, "system"));
}

TEST_F(fdinfo, offered_is_purgeable)
{
	uint32_t handle;

	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	EXPECT_EQ(0, bytes(self->fd, "purgeable", "vram"));
	ASSERT_EQ(0, pagoda_offer(self->fd, &handle, 1, DRM_PAGODA_OFFER_LOW, 0));
	EXPECT_EQ(self->size, bytes(self->fd, "purgeable", "vram"));
	EXPECT_EQ(self->size, resident(self->fd, "vram"));
	ASSERT_EQ(0, pagoda_reclaim_one(self->fd, handle));
	EXPECT_EQ(0, bytes(self->fd, "purgeable", "vram"));
	ASSERT_EQ(0, pagoda_offer(self->fd, &handle, 1, DRM_PAGODA_OFFER_LOW, 0));
	/* Taken, there is nothing left to purge. */
	ASSERT_EQ(0, pagoda_evict(self->fd, &handle, 1, 0, 0));
	EXPECT_EQ(0, bytes(self->fd, "purgeable", "vram"));
	EXPECT_EQ(0, bytes(self->fd, "purgeable", "system"));
	EXPECT_EQ(0, resident(self->fd, "vram"));
	EXPECT_EQ(0, resident(self->fd, "system"));
	EXPECT_EQ(self->size, total(self->fd, "system"));
}

/* Both have it; who made it is charged. */
TEST_F(fdinfo, shared)
{
	int other = pagoda_open(), dma_buf;
	uint32_t handle, theirs;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, pagoda_create_vram(self->fd, self->size, &handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, handle));
	EXPECT_EQ(0, bytes(self->fd, "shared", "vram"));
	dma_buf = prime_export(self->fd, handle);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, prime_import(other, dma_buf, &theirs));
	EXPECT_EQ(self->size, bytes(self->fd, "shared", "vram"));
	EXPECT_EQ(self->size, total(self->fd, "vram"));
	EXPECT_EQ(self->size, bytes(other, "shared", "vram"));
	EXPECT_EQ(self->size, total(other, "vram"));
	EXPECT_EQ(self->size, resident(other, "vram"));
	/* Kernels may say of what was exported once that it is shared for good. */
	ASSERT_EQ(0, pagoda_close(other, theirs));
	EXPECT_EQ(self->size, total(self->fd, "vram"));
	EXPECT_EQ(0, total(other, "vram"));
	close(dma_buf);
	close(other);
}

/* What the driver allocates for the client, too. */
TEST_F(fdinfo, has_tables_and_save_areas)
{
	struct drm_pagoda_query_memory_info info;
	struct client client;

	if (!self->dev.info.num_engines)
		SKIP(return, "no engines");
	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	ASSERT_EQ(0, client_run(&client, NULL, 0));
	ASSERT_EQ(0, pagoda_memory_info(self->fd, LOCAL, &info));
	EXPECT_LT(0, info.current_usage);
	EXPECT_EQ(info.current_usage, total(self->fd, "vram"));
	ASSERT_EQ(0, pagoda_memory_info(self->fd, DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL, &info));
	EXPECT_LE(CODE_SIZE, info.current_usage);
	EXPECT_EQ(info.current_usage, total(self->fd, "gtt"));
	client_close(&client);
}

TEST_HARNESS_MAIN
