/* SPDX-License-Identifier: GPL-2.0 */
/* What tests of SUBMIT share: a client, and that all of its VRAM is free after a test. */
#ifndef SUBMIT_FIXTURE_H
#define SUBMIT_FIXTURE_H

#include "submit_client.h"

FIXTURE(submit) {
	struct test_device dev;
	int fd;
	int other;
	struct client client;
	uint64_t vram;
};

FIXTURE_SETUP(submit)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	self->vram = test_vram_settled(self->other, 0);
	ASSERT_EQ(0, client_open(&self->client, self->fd, 0));
}

FIXTURE_TEARDOWN(submit)
{
	munmap(self->client.program.memory, CODE_SIZE);
	close(self->fd);
	EXPECT_EQ(self->vram, test_vram_settled(self->other, self->vram));
	close(self->other);
}

#endif
