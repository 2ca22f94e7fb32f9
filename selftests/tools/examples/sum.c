// SPDX-License-Identifier: GPL-2.0
/*
 * The example in selftests/tools/README.md: the GPU adds up an array that is larger than VRAM.
 *
 * The array is in pieces, an allocation each. A job that reads a piece names the piece, so that the
 * kernel has the piece in VRAM while the job runs; other pieces leave VRAM to make room.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <drm/pagoda_drm.h>
#include <linux/virtio_pagoda_commands.h>

#define PIECE		(2u << 20)
#define WORDS		(PIECE / 4)
#define ARRAY(a, n)	{ .array = (uintptr_t)(a), .count = (n), .stride = sizeof(*(a)) }

static int fd;
static struct drm_pagoda_vm_create vm;
static struct drm_pagoda_context_create context;
static struct drm_syncobj_create timeline;
static struct virtio_pagoda_reduce *commands;
static __u64 next_address, shared, jobs;

static void call(const char *what, unsigned long request, void *argument)
{
	if (!ioctl(fd, request, argument))
		return;
	perror(what);
	exit(1);
}

/*
 * Creates an allocation, private to the VM if @handle is NULL, for the CPU and the GPU: returns the
 * CPU's mapping, and sets *@address to the allocation's address in the VM.
 */
static void *allocate(__u64 size, __u32 segment, __u32 *handle, __u64 *address)
{
	struct drm_pagoda_allocation_create create = {
		.size = size,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CACHED,
		.supported = DRM_PAGODA_SEGMENT_BIT(segment),
		/* A private allocation is resident for every job of its VM without being named. */
		.vm = handle ? 0 : vm.vm,
	};
	struct drm_pagoda_bind_entry entry = { .type = DRM_PAGODA_BIND_MAP };
	struct drm_pagoda_vm_bind bind = { .entries = ARRAY(&entry, 1), .vm = vm.vm };
	struct drm_pagoda_allocation_mmap_offset offset = { 0 };
	void *map;

	call("allocation", DRM_IOCTL_PAGODA_ALLOCATION_CREATE, &create);
	entry.handle = create.handle;
	entry.address = next_address;
	entry.size = create.size;
	call("bind", DRM_IOCTL_PAGODA_VM_BIND, &bind);
	offset.handle = create.handle;
	call("mmap offset", DRM_IOCTL_PAGODA_ALLOCATION_MMAP_OFFSET, &offset);
	map = mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset.offset);
	if (map == MAP_FAILED)
		perror("mmap"), exit(1);
	if (handle)
		*handle = create.handle;
	*address = next_address;
	next_address += (create.size + PIECE - 1) / PIECE * PIECE;
	return map;
}

/*
 * Submits a job of one command, which adds up @count 32-bit words at @src and stores the 64-bit sum
 * at @dst; the allocation @piece, unless 0, is in VRAM while the job runs.
 */
static void sum(__u64 src, __u64 count, __u64 dst, __u32 piece)
{
	struct drm_pagoda_command_buffer buffer = { shared, sizeof(*commands) };
	struct drm_pagoda_submit_entry entry = { .handle = piece };
	struct drm_pagoda_sync sync = { timeline.handle, DRM_PAGODA_SYNC_SIGNAL, ++jobs };
	struct drm_pagoda_submit submit = {
		.buffers = ARRAY(&buffer, 1),
		.entries = ARRAY(&entry, piece ? 1 : 0),
		.syncs = ARRAY(&sync, 1),
		.context = context.context,
	};

	*commands++ = (struct virtio_pagoda_reduce) {
		.command = { VIRTIO_PAGODA_COMMAND_REDUCE, 0, sizeof(*commands) },
		.operation = VIRTIO_PAGODA_REDUCE_SUM,
		.count = count,
		.src = src,
		.dst = dst,
	};
	shared += sizeof(*commands);
	call("submit", DRM_IOCTL_PAGODA_SUBMIT, &submit);
}

int main(void)
{
	struct drm_pagoda_segment_info vram = { 0 };
	struct drm_pagoda_query query = {
		.type = DRM_PAGODA_QUERY_SEGMENT,
		.index = DRM_PAGODA_SEGMENT_VRAM,
		.size = sizeof(vram),
		.pointer = (uintptr_t)&vram,
	};
	struct drm_syncobj_timeline_wait wait = {
		.handles = (uintptr_t)&timeline.handle,
		.points = (uintptr_t)&jobs,
		.timeout_nsec = INT64_MAX,
		.count_handles = 1,
		/* The point of a job that is still queued may have no fence yet. */
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};
	__u64 address, results, expected = 0, *sums;
	__u32 pieces, n, i, handle, *piece;

	fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	call("query", DRM_IOCTL_PAGODA_QUERY, &query);
	call("VM", DRM_IOCTL_PAGODA_VM_CREATE, &vm);
	context.vm = vm.vm;
	call("context", DRM_IOCTL_PAGODA_CONTEXT_CREATE, &context);
	call("timeline", DRM_IOCTL_SYNCOBJ_CREATE, &timeline);
	next_address = (vm.start + PIECE - 1) / PIECE * PIECE;

	/* In system memory: the commands, then the sums of the pieces, then the sum of these. */
	pieces = vram.size / 2 * 3 / PIECE + 1;
	commands = allocate((pieces + 1) * (sizeof(*commands) + sizeof(*sums)),
			    DRM_PAGODA_SEGMENT_APERTURE, NULL, &shared);
	sums = (__u64 *)(commands + pieces + 1);
	results = shared + (pieces + 1) * sizeof(*commands);

	for (n = 0; n < pieces; n++) {
		piece = allocate(PIECE, DRM_PAGODA_SEGMENT_VRAM, &handle, &address);
		for (i = 0; i < WORDS; i++)
			expected += piece[i] = (n * WORDS + i) * 2654435761u >> 20;
		munmap(piece, PIECE);
		sum(address, WORDS, results + n * sizeof(*sums), handle);
	}
	/*
	 * A piece has 2^19 words below 2^12: the upper half of its 64-bit sum is 0, so that the
	 * sums can be added up as 32-bit words.
	 */
	sum(results, 2 * pieces, results + pieces * sizeof(*sums), 0);
	call("wait", DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait);

	printf("VRAM %llu MiB, array %u MiB: sum %llu, expected %llu\n",
	       (unsigned long long)vram.size >> 20, pieces * (PIECE >> 20),
	       (unsigned long long)sums[pieces], (unsigned long long)expected);
	return sums[pieces] != expected;
}
