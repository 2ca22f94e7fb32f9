// SPDX-License-Identifier: GPL-2.0
/* The client in the README: memory that pages out of VRAM and stays what it was. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <drm/pagoda_drm.h>

int main(void)
{
	struct drm_pagoda_allocation_create create = {
		.size = 1 << 20,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
		.supported = DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM),
	};
	struct drm_pagoda_allocation_mmap_offset offset = { 0 };
	struct drm_pagoda_residency_entry entry = { 0 };
	struct drm_pagoda_array list = {
		.array = (__u64)&entry, .count = 1, .stride = sizeof(entry),
	};
	struct drm_pagoda_make_resident in = { .entries = list };
	struct drm_pagoda_evict out = { .entries = list };
	struct drm_pagoda_allocation_info info = { 0 };
	int fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	char *map;

	if (ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_CREATE, &create))
		return perror("create"), 1;
	offset.handle = create.handle;
	entry.handle = create.handle;
	info.handle = create.handle;
	if (ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_MMAP_OFFSET, &offset))
		return perror("mmap offset"), 1;
	map = mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset.offset);
	snprintf(map, create.size, "the same address, wherever the bytes are");
	if (ioctl(fd, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &in))	/* copied into VRAM */
		return perror("make resident"), 1;
	if (ioctl(fd, DRM_IOCTL_PAGODA_ALLOCATION_INFO, &info))
		return perror("info"), 1;
	printf("segment %u at 0x%llx: %s\n", info.segment, (unsigned long long)info.address, map);
	if (ioctl(fd, DRM_IOCTL_PAGODA_EVICT, &out))		/* copied back out */
		return perror("evict"), 1;
	printf("evicted: %s\n", map);
	return 0;
}
