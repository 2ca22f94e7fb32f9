/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clients that call the driver as user programs do: each opens a DRM file of the machine's first
 * Pagoda device, and has user memory. On a machine without such a device the tests are skipped; in
 * a kernel with the driver and the software GPU built in there is one, or the tests fail.
 */
#ifndef PAGODA_KUNIT_UAPI_HELPERS_H
#define PAGODA_KUNIT_UAPI_HELPERS_H

#include <linux/ktime.h>
#include <linux/time64.h>
#include <linux/virtio_pagoda_commands.h>
#include <drm/drm_file.h>
#include <drm/pagoda_drm.h>
#include "rig/rig.h"

struct pagoda_vgpu;

/* Bytes of a client's user memory; UAPI_ARGS to UAPI_TEXT are offsets of its parts. */
#define UAPI_BYTES	(8 * PAGE_SIZE)
#define UAPI_ARGS	0u			/* argument of an ioctl */
#define UAPI_ENTRIES	(1u * PAGE_SIZE)	/* an array of the ioctl */
#define UAPI_MORE	(2u * PAGE_SIZE)	/* other arrays of the same ioctl */
#define UAPI_TEXT	(3u * PAGE_SIZE)	/* what is written to a file, or read from it */
#define UAPI_MAX_ARGS	256u
#define UAPI_APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define UAPI_VRAM	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define UAPI_ANYWHERE	(UAPI_VRAM | UAPI_APERTURE)
#define UAPI_PATIENCE	(10 * NSEC_PER_SEC)
/* Whether the suites, the driver and the software GPU are parts of this kernel, not modules. */
#define UAPI_BUILT_IN	(IS_BUILTIN(CONFIG_DRM_PAGODA_KUNIT_TEST) && \
			 IS_BUILTIN(CONFIG_DRM_PAGODA) && IS_BUILTIN(CONFIG_DRM_PAGODA_VGPU))

/**
 * struct uapi_client - An open DRM file, and user memory
 * @test: Test
 * @filp: File; closed with the test at the latest
 * @file: DRM's part of @filp
 * @memory: User address of the client's %UAPI_BYTES of memory
 * @fail_nth: Set by tests between uapi_fail_begin() and uapi_fail_end(): number, from 1, of the
 *	memory allocation that fails while uapi_file() opens a file or uapi_ioctl() calls an ioctl,
 *	0 = none fails. Afterwards 0 if so many were made, else reduced by the number of those made
 */
struct uapi_client {
	struct kunit *test;
	struct file *filp;
	struct drm_file *file;
	unsigned long memory;
	u32 fail_nth;
};

/**
 * struct uapi_gpu - A VM, a context, a monitored fence, and a page with programs and their data
 * @client: Client
 * @vm: VM
 * @context: Context of engine 0
 * @page: Handle of the page, an allocation
 * @fence: Monitored fence, whose value is 0 at first
 * @address: GPU address of the page; the fence's value is mapped one page higher
 * @view: User address at which the CPU sees the page
 * @used: Bytes, from the start of the page, that programs fill
 * @start: Byte of the page where the program begins that is being written
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

/* Byte of the page of a struct uapi_gpu where the data begin; programs are in front of the data. */
#define UAPI_DATA	2048u

/* Returns a new client with user memory of its own; skips or fails the test without a device. */
struct uapi_client *uapi_open(struct kunit *test);
void uapi_close(struct uapi_client *client);
struct drm_device *uapi_drm(struct uapi_client *client);
/* Returns the software GPU of the client's device; skips the test if that is another GPU. */
struct pagoda_vgpu *uapi_vgpu(struct uapi_client *client);

/*
 * Copy to, or from, byte @at of the client's user memory. uapi_put() returns the user address to
 * which it copied.
 */
u64 uapi_put(struct uapi_client *client, u32 at, const void *from, u32 size);
void uapi_get(struct uapi_client *client, u32 at, void *to, u32 size);
/* Returns a user address, of uapi_put() or &uapi_client.memory, as a pointer. */
void __user *uapi_user(unsigned long at);
/* Calls an ioctl with @args, whose size @cmd has; copies @args back. Returns the ioctl's result. */
long uapi_ioctl(struct uapi_client *client, unsigned int cmd, void *args);
/* Calls an ioctl; aborts the test unless the result is 0. */
void uapi_must(struct uapi_client *client, unsigned int cmd, void *args);

/* Returns the handle of a new CPU-visible allocation of a page that supports @segments. */
u32 uapi_allocate(struct uapi_client *client, u32 segments);
/* Makes an allocation resident, and waits for the paging. */
void uapi_make_resident(struct uapi_client *client, u32 handle);
/* Returns where the allocation is: an enum drm_pagoda_residency. */
u32 uapi_residency(struct uapi_client *client, u32 handle);
/* Returns the user address of a new shared mapping of an allocation of a page. */
unsigned long uapi_map(struct uapi_client *client, u32 handle);
/* Read and write a word at the user address @at. */
u64 uapi_word(struct uapi_client *client, unsigned long at);
void uapi_set_word(struct uapi_client *client, unsigned long at, u64 value);

/* Returns the handle of a new syncobj. */
u32 uapi_syncobj(struct uapi_client *client);
/* Returns a new struct uapi_gpu, whose page supports @segments; page and fence are mapped. */
struct uapi_gpu *uapi_gpu(struct uapi_client *client, u32 segments);
/* Calls VM_BIND with one entry, and reads the entry back. Returns VM_BIND's result. */
long uapi_bind(struct uapi_gpu *gpu, struct drm_pagoda_bind_entry *entry);
/* As uapi_bind(), but with the @count @syncs; @count may be 0. */
long uapi_bind_syncs(struct uapi_gpu *gpu, struct drm_pagoda_bind_entry *entry,
		     const struct drm_pagoda_sync *syncs, u32 count);
/* Appends a command to the program being written. */
void uapi_command(struct uapi_gpu *gpu, const void *command, u32 size);
/*
 * Submits the program and begins another. When the job is done the fence gets @value, unless @value
 * is 0. Returns SUBMIT's result.
 */
long uapi_submit(struct uapi_gpu *gpu, u64 value);
/* As uapi_submit(), but the job has the @count @syncs; @count may be 0. */
long uapi_submit_syncs(struct uapi_gpu *gpu, const struct drm_pagoda_sync *syncs, u32 count);
/* Waits until the fence has @value or more, @patience_ns at most. Returns FENCE_WAIT's result. */
long uapi_await(struct uapi_gpu *gpu, u64 value, u64 patience_ns);

#define UAPI_ADD(gpu, NAME, type, more, ...) \
	uapi_command(gpu, PAGODA_COMMAND(NAME, type, more, __VA_ARGS__), \
		     sizeof(struct virtio_pagoda_##type))

/*
 * Until uapi_fail_end(), uapi_fail_nth() and &uapi_client.fail_nth may choose an allocation that
 * may sleep, too. Skips the test on a kernel without failslab.
 */
void uapi_fail_begin(struct uapi_client *client);
void uapi_fail_end(struct uapi_client *client);
/*
 * Exchanges *@nth with the number of the memory allocation that fails next in this thread, counted
 * from now on; 0 = none. Does nothing on a kernel without fault injection.
 */
void uapi_fail_nth(u32 *nth);
/*
 * Calls an ioctl with each of its memory allocations failing in turn, and at last with none.
 * Expects the result -ENOMEM or, if the ioctl can do without the allocation and at last, @want. If
 * the ioctl succeeds, calls @undo with its arguments. Returns how often the result was -ENOMEM.
 */
u32 uapi_starve(struct uapi_client *client, unsigned int cmd, const void *args, long want,
		void (*undo)(struct uapi_client *client, const void *args));

/*
 * Opens a file of debugfs: @name is a name in the DRM device's folder if @of_device, else a path in
 * debugfs. Returns the file, to be closed with uapi_close_file(), or an ERR_PTR.
 */
struct file *uapi_file(struct uapi_client *client, bool of_device, const char *name, int flags);
void uapi_close_file(void *file);
/*
 * Open such a file, write @text, or read at most @size bytes and at most a page to @text, and close
 * the file. Return the number of bytes, or a negative errno of the write or read.
 */
long uapi_write(struct uapi_client *client, bool of_device, const char *name, const char *text);
long uapi_read(struct uapi_client *client, bool of_device, const char *name, char *text, u32 size);

#endif
