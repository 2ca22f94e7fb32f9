// SPDX-License-Identifier: GPL-2.0
/* Another program that wants half of VRAM; see the header. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/pagoda_lib.h"
#include "rival.h"

#define PIECES	16u

static int rival_make(int fd, uint32_t *handles)
{
	struct drm_pagoda_segment_info vram;
	uint32_t n;
	int ret;

	ret = pagoda_segment(fd, DRM_PAGODA_SEGMENT_VRAM, &vram);
	for (n = 0; n < PIECES && !ret; n++)
		ret = pagoda_create_vram(fd, vram.size / 2 / PIECES / 4096 * 4096, &handles[n]);
	return ret;
}

/*
 * The rival process: makes its allocations resident after each read of @pipe, which takes up to 64
 * bytes. A MAKE_RESIDENT refused with ENOMEM or EBUSY is no failure. Returns the exit status.
 */
static int rival_main(int pipe)
{
	uint32_t handles[PIECES];
	char bytes[64];
	int fd = pagoda_open(), ret;

	ret = fd < 0 ? fd : rival_make(fd, handles);
	/* Never read: tracepoints tell budgets only of clients with such a file. */
	if (!ret)
		ret = pagoda_events(fd, DRM_PAGODA_EVENTS_NONBLOCK);
	ret = ret < 0 ? ret : 0;
	while (!ret && read(pipe, bytes, sizeof(bytes)) > 0) {
		ret = pagoda_make_resident(fd, handles, PIECES, 0, 0, NULL);
		if (ret == -ENOMEM || ret == -EBUSY)
			ret = 0;
	}
	if (ret)
		fprintf(stderr, "replay: the rival: %s\n", strerror(-ret));
	return ret ? 1 : 0;
}

int rival_start(struct rival *rival)
{
	int ends[2];

	if (pipe(ends))
		return -errno;
	fflush(stdout);
	rival->pid = fork();
	if (!rival->pid) {
		close(ends[1]);
		_exit(rival_main(ends[0]));
	}
	close(ends[0]);
	rival->pipe = ends[1];
	if (rival->pid > 0)
		return 0;
	close(ends[1]);
	rival->pipe = -1;
	return -errno;
}

int rival_use(struct rival *rival)
{
	return write(rival->pipe, "", 1) == 1 ? 0 : -errno;
}

int rival_stop(struct rival *rival)
{
	int status;

	close(rival->pipe);
	rival->pipe = -1;
	if (waitpid(rival->pid, &status, 0) != rival->pid)
		return -errno;
	return status ? -EIO : 0;
}
