/* SPDX-License-Identifier: GPL-2.0 */
/* What tests of monitored fences share: a client with fences, whose value is 5 at first. */
#ifndef FENCE_FIXTURE_H
#define FENCE_FIXTURE_H

#include "pagoda_test.h"

#define LIMIT		(60 * PAGODA_SEC)
#define SHORT		(PAGODA_SEC / 20)
#define ANY		DRM_PAGODA_FENCE_WAIT_ANY
#define FENCES		4

#define EXPECT_REFUSED(error, call) EXPECT_EQ(-(error), (call))

FIXTURE(fence) {
	struct test_device dev;
	int fd;
	int other;
	uint32_t fence[FENCES];
	const uint64_t *map[FENCES];
};

static inline uint64_t value_of(const uint64_t *map)
{
	return __atomic_load_n(map, __ATOMIC_ACQUIRE);
}

FIXTURE_SETUP(fence)
{
	int i;

	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	for (i = 0; i < FENCES; i++)
		ASSERT_EQ(0, pagoda_fence_create(self->fd, 5, &self->fence[i], &self->map[i]));
}

FIXTURE_TEARDOWN(fence)
{
	int i;

	for (i = 0; i < FENCES; i++)
		munmap((void *)self->map[i], self->dev.page);
	close(self->other);
	close(self->fd);
}

#endif
