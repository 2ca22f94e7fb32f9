/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clients as programs are: a DRM file of the device that the machine has, with the software GPU
 * behind it, and memory of user space. Tests that need one are skipped where no such device is.
 */
#ifndef PAGODA_KUNIT_UAPI_HELPERS_H
#define PAGODA_KUNIT_UAPI_HELPERS_H

#include <linux/ktime.h>
#include <linux/time64.h>
#include <linux/virtio_pagoda_commands.h>
#include <drm/drm_file.h>
#include <drm/pagoda_drm.h>
#include "rig/rig.h"

/* Bytes of a client's user memory; the parts of it that have a purpose, by offset. */
#define UAPI_BYTES	(8 * PAGE_SIZE)
#define UAPI_ARGS	0u			/* argument of an ioctl */
#define UAPI_ENTRIES	(1u * PAGE_SIZE)	/* an array */
#define UAPI_MORE	(2u * PAGE_SIZE)	/* another array of the same ioctl */
#define UAPI_TEXT	(3u * PAGE_SIZE)	/* what is written to a file, or read from it */
#define UAPI_MAX_ARGS	256u
#define UAPI_APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define UAPI_ANYWHERE	(DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM) | UAPI_APERTURE)
#define UAPI_PATIENCE	(10 * NSEC_PER_SEC)

/**
 * struct uapi_client - An open DRM file
 * @test: Test
 * @filp: File; closed with the test at the latest
 * @file: DRM's part of @filp
 * @memory: User address of %UAPI_BYTES
 * @fail_nth: Set by tests: number of the allocation that fails while uapi_file() opens the file,
 *	0 = none. Afterwards 0 if there were so many, else what is left of the number
 */
struct uapi_client {
	struct kunit *test;
	struct file *filp;
	struct drm_file *file;
	unsigned long memory;
	u32 fail_nth;
};

/**
 * struct uapi_gpu - A VM, a context, and a page that programs and their data are in
 * @client: Client
 * @vm: VM
 * @context: Context of engine 0
 * @page: Handle of the page
 * @fence: Monitored fence, whose value is 0 at first
 * @address: GPU address of the page; that of the fence's value is a page higher
 * @view: User address of the page
 * @used: Bytes of the page that programs fill
 * @start: Where the program begins that is being written
 */
struct uapi_gpu {
	struct uapi_client *client;
	u32 vm;
	u32 context;
	u32 page;
	u32 fence;
	u64 address;
	unsigned long view;
	u32 used;
	u32 start;
};

/* Where the page of a struct uapi_gpu has data, not programs. */
#define UAPI_DATA	2048u

/* Returns a new client with user memory of its own; skips the test if there is no device. */
struct uapi_client *uapi_open(struct kunit *test);
void uapi_close(struct uapi_client *client);
struct drm_device *uapi_drm(struct uapi_client *client);

/* Copies to user memory, and returns the address there; or from there. */
u64 uapi_put(struct uapi_client *client, u32 at, const void *from, u32 size);
void uapi_get(struct uapi_client *client, u32 at, void *to, u32 size);
/* Calls an ioctl with a struct as large as @cmd says; copies the struct back. */
long uapi_ioctl(struct uapi_client *client, unsigned int cmd, void *args);
/* Calls an ioctl that has to succeed. */
void uapi_must(struct uapi_client *client, unsigned int cmd, void *args);

/* Returns the handle of a page that may be in these segments. */
u32 uapi_allocate(struct uapi_client *client, u32 segments);
/* Returns where the page is: enum drm_pagoda_residency. */
u32 uapi_residency(struct uapi_client *client, u32 handle);
/* Returns the user address of a shared mapping of a page. */
unsigned long uapi_map(struct uapi_client *client, u32 handle);
u64 uapi_word(struct uapi_client *client, unsigned long at);
void uapi_set_word(struct uapi_client *client, unsigned long at, u64 value);

/* The page may be in these segments. */
struct uapi_gpu *uapi_gpu(struct uapi_client *client, u32 segments);
/* Appends a command to the program being written. */
void uapi_command(struct uapi_gpu *gpu, const void *command, u32 size);
/* Submits the program. The job gives the fence @value when it is done, unless @value is 0. */
long uapi_submit(struct uapi_gpu *gpu, u64 value);
/* Waits until the fence has @value, at most @patience_ns. */
long uapi_await(struct uapi_gpu *gpu, u64 value, u64 patience_ns);

#define UAPI_ADD(gpu, NAME, type, more, ...) \
	uapi_command(gpu, PAGODA_COMMAND(NAME, type, more, __VA_ARGS__), \
		     sizeof(struct virtio_pagoda_##type))

/*
 * Opens a file of debugfs: @name is a name in the DRM device's folder if @of_device, else a path.
 * Returns the file, to be closed with uapi_close_file(), or an error.
 */
struct file *uapi_file(struct uapi_client *client, bool of_device, const char *name, int flags);
void uapi_close_file(void *file);
/* Opens such a file, writes a text or reads up to a page of it, and closes it. */
long uapi_write(struct uapi_client *client, bool of_device, const char *name, const char *text);
long uapi_read(struct uapi_client *client, bool of_device, const char *name, char *text, u32 size);

#endif
