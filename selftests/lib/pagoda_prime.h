/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dma-bufs and their fences, and other exporters of dma-bufs: vgem and udmabuf. As in pagoda_lib.h,
 * functions return a negative errno when they fail, but for those whose comment says otherwise.
 */
#ifndef PAGODA_PRIME_H
#define PAGODA_PRIME_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <vgem_drm.h>

#include "pagoda_lib.h"

/* --- dma-bufs ------------------------------------------------------------------------------- */

/* Returns the fd of a dma-buf that exports @handle; @fd may be a file of any driver. */
static inline int prime_export_flags(int fd, uint32_t handle, uint32_t flags)
{
	struct drm_prime_handle args = { .handle = handle, .flags = flags };
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	return ret ? ret : args.fd;
}

static inline int prime_export(int fd, uint32_t handle)
{
	return prime_export_flags(fd, handle, DRM_CLOEXEC | DRM_RDWR);
}

static inline int prime_import(int fd, int dma_buf, uint32_t *handle)
{
	struct drm_prime_handle args = { .fd = dma_buf };
	int ret = pagoda_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);

	*handle = args.handle;
	return ret;
}

static inline int prime_sync(int dma_buf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	return pagoda_ioctl(dma_buf, DMA_BUF_IOCTL_SYNC, &sync);
}

/*
 * Returns whether vgem maps, and so pins, imported dma-bufs; true if kallsyms can't be read. In
 * kernels that have drm_gem_shmem_prime_import_no_map(), vgem only attaches, which pins nothing.
 */
static inline bool prime_vgem_maps(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	bool maps = true;
	char line[256];

	while (file && maps && fgets(line, sizeof(line), file))
		maps = !strstr(line, "drm_gem_shmem_prime_import_no_map");
	if (file)
		fclose(file);
	return maps;
}

/* Returns the 64-bit word at byte @offset of the dma-buf, read by mmap(); ~0 or ~1 = failed. */
static inline uint64_t prime_read(int dma_buf, uint64_t size, uint64_t offset)
{
	uint64_t *map = mmap(NULL, size, PROT_READ, MAP_SHARED, dma_buf, 0), value;

	if (map == MAP_FAILED)
		return ~0ull;
	if (prime_sync(dma_buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ))
		value = ~1ull;
	else
		value = map[offset / 8];
	prime_sync(dma_buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
	munmap(map, size);
	return value;
}

static inline int prime_write(int dma_buf, uint64_t size, uint64_t offset, uint64_t value)
{
	uint64_t *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, dma_buf, 0);
	int ret;

	if (map == MAP_FAILED)
		return -errno;
	ret = prime_sync(dma_buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
	map[offset / 8] = value;
	if (!ret)
		ret = prime_sync(dma_buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
	munmap(map, size);
	return ret;
}

static inline int prime_export_fence(int dma_buf, uint32_t flags)
{
	struct dma_buf_export_sync_file args = { .flags = flags };
	int ret = pagoda_ioctl(dma_buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &args);

	return ret ? ret : args.fd;
}

static inline int prime_import_fence(int dma_buf, uint32_t flags, int sync_file)
{
	struct dma_buf_import_sync_file args = { .flags = flags, .fd = sync_file };

	return pagoda_ioctl(dma_buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &args);
}

/* Returns whether the fence of a sync_file signals before the timeout. */
static inline bool prime_signalled(int sync_file, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = sync_file, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms) == 1;
}

/* --- other exporters ------------------------------------------------------------------------ */

/* Opens the first of /dev/dri/card0 to card15 that @driver drives; returns the fd, or -ENODEV. */
static inline int card_open(const char *driver)
{
	struct drm_version version;
	char path[32], name[16];
	int n, fd;

	for (n = 0; n < 16; n++) {
		snprintf(path, sizeof(path), "/dev/dri/card%d", n);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		version = (struct drm_version) { .name = name, .name_len = sizeof(name) };
		if (!ioctl(fd, DRM_IOCTL_VERSION, &version) &&
		    version.name_len == strlen(driver) && !strncmp(name, driver, version.name_len))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

/* Opens vgem's card: a render node doesn't allow the ioctl that makes dumb buffers. */
static inline int vgem_open(void)
{
	return card_open("vgem");
}

static inline int vgem_create(int vgem, uint64_t size, uint32_t *handle)
{
	struct drm_mode_create_dumb args = { .width = 1024, .height = size / 4096, .bpp = 32 };
	int ret = pagoda_ioctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &args);

	*handle = args.handle;
	return ret;
}

/*
 * Attaches a write fence, number *@fence, to the buffer. vgem_signal() signals the fence, or vgem
 * itself, with an error, after ten seconds.
 */
static inline int vgem_fence(int vgem, uint32_t handle, uint32_t *fence)
{
	struct drm_vgem_fence_attach args = { .handle = handle, .flags = VGEM_FENCE_WRITE };
	int ret = pagoda_ioctl(vgem, DRM_IOCTL_VGEM_FENCE_ATTACH, &args);

	*fence = args.out_fence;
	return ret;
}

static inline int vgem_signal(int vgem, uint32_t fence)
{
	struct drm_vgem_fence_signal args = { .fence = fence };

	return pagoda_ioctl(vgem, DRM_IOCTL_VGEM_FENCE_SIGNAL, &args);
}

/* Returns the fd of a dma-buf of a new memfd; *@map is a CPU mapping of the memfd. */
static inline int udmabuf_create(uint64_t size, uint64_t **map)
{
	struct udmabuf_create args = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };
	int device, dma_buf = -1, ret;

	args.memfd = memfd_create("pagoda", MFD_ALLOW_SEALING);
	device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (device >= 0 && !ftruncate(args.memfd, size) &&
	    !fcntl(args.memfd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		*map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, args.memfd, 0);
		dma_buf = ioctl(device, UDMABUF_CREATE, &args);
	}
	ret = dma_buf < 0 ? -errno : dma_buf;
	close(args.memfd);
	if (device >= 0)
		close(device);
	return ret;
}

#endif
