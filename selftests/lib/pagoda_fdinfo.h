/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Values of a file of the driver in /proc/<pid>/fdinfo/<fd>, by standard keys and the driver's own.
 * drivers/pagoda/debug/fdinfo.c says what the driver's own keys mean.
 */
#ifndef PAGODA_FDINFO_H
#define PAGODA_FDINFO_H

#include <stdint.h>

#include "../../include/uapi/drm/pagoda_drm.h"
#include "../../include/uapi/linux/virtio_pagoda.h"

/* Number of segments in fdinfo, by enum drm_pagoda_segment_id, the system segment included. */
#define PAGODA_FDINFO_SEGMENTS	(DRM_PAGODA_SEGMENT_APERTURE + 1)

#define PAGODA_FDINFO_ENGINES	VIRTIO_PAGODA_MAX_ENGINES

/* Value of a key that fdinfo doesn't have. */
#define PAGODA_FDINFO_NONE	UINT64_MAX

/* Values of one segment, in bytes, each PAGODA_FDINFO_NONE if fdinfo doesn't have it. */
struct pagoda_fdinfo_segment {
	uint64_t total;
	uint64_t shared;
	uint64_t resident;
	uint64_t purgeable;
	uint64_t active;
	uint64_t budget;
	uint64_t usage;
	uint64_t spilled;
};

/*
 * Values of a file, each PAGODA_FDINFO_NONE if fdinfo doesn't have it. @paged_in to @held are bytes
 * or counts since the file was opened.
 * @client: number of the open file: all descriptors of that file show the same number
 * @engine_ns: nanoseconds that jobs of the file ran on each engine
 */
struct pagoda_fdinfo {
	uint64_t client;
	uint64_t paged_in;
	uint64_t paged_out;
	uint64_t evictions;
	uint64_t paced;
	uint64_t left_out;
	uint64_t held;
	uint64_t engine_ns[PAGODA_FDINFO_ENGINES];
	struct pagoda_fdinfo_segment segments[PAGODA_FDINFO_SEGMENTS];
};

/*
 * Reads the fdinfo file at @path. Returns 0, a negative errno of the reading, or -ENODEV if the
 * fdinfo file isn't about a file of the driver.
 */
int pagoda_fdinfo_read(const char *path, struct pagoda_fdinfo *info);
/* Reads the fdinfo of a file that this process has open. */
int pagoda_fdinfo_self(int fd, struct pagoda_fdinfo *info);
/* Sum of the nanoseconds of all engines; PAGODA_FDINFO_NONE if fdinfo has no engine. */
uint64_t pagoda_fdinfo_engines(const struct pagoda_fdinfo *info);

#endif
