// SPDX-License-Identifier: GPL-2.0
/*
 * Every reason to refuse an operation. Each check starts from an operation that is accepted and
 * changes only what the refusal names; the largest value that is accepted is tried as well.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "rig/prove.h"
#include "coverage.h"
#include "paging_helpers.h"

#define PAGODA_VRAM_SIZE	0x40000000ull
#define PAGODA_VRAM(at)		{ .segment = VIRTIO_PAGODA_SEGMENT_VRAM, .address = (at) }

static const dma_addr_t validate_pages[] = { 0x11000, 0x20000, 0x21000, 0x40000 };
static const dma_addr_t misaligned_pages[] = { 0x11000, 0x20000, 0x21010, 0x40000 };

static const struct pagoda_adl paging_validate_list = {
	.nr_pages = 4,
	.pages = validate_pages,
};

static const struct pagoda_adl paging_validate_list_copy = {
	.nr_pages = 4,
	.pages = validate_pages,
};

static const struct pagoda_adl paging_validate_list_misaligned = {
	.nr_pages = 4,
	.pages = misaligned_pages,
};

static const struct pagoda_adl paging_validate_list_empty = { .nr_pages = 4 };

static const struct pagoda_adl paging_validate_block = {
	.nr_pages = 16,
	.contiguous = true,
	.base = 0x100000,
};

static const struct pagoda_adl block_misaligned = {
	.nr_pages = 16,
	.contiguous = true,
	.base = 0x100800,
};

static const struct pagoda_adl block_wraps = {
	.nr_pages = 16,
	.contiguous = true,
	.base = -0xf000ull,
};

static struct pagoda_paging_limits small_limits(void)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(64);

	limits.vram_size = PAGODA_VRAM_SIZE;
	limits.aperture_pages = 1024;
	return limits;
}

static const struct pagoda_paging_op transfer_ok = {
	.operation = VIRTIO_PAGODA_OP_TRANSFER,
	.allocation = 7,
	.transfer = {
		.size = 0x3000,
		.flags = VIRTIO_PAGODA_TRANSFER_START,
		.src = PAGODA_VRAM(0x1000),
		.dst = { .adl = &paging_validate_list },
	},
};

static void refuse_transfer_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = transfer_ok;
	u32 both = VIRTIO_PAGODA_TRANSFER_SWIZZLE | VIRTIO_PAGODA_TRANSFER_UNSWIZZLE;

	PAGODA_ACCEPTED(ok, (void)o);
	PAGODA_ACCEPTED(ok, o.transfer.size = 0x3ffc);
	PAGODA_REFUSED(ok, o.transfer.size = 0x2ffe, -EINVAL, "transfer: size misaligned");
	PAGODA_REFUSED(ok, o.transfer.offset = 0x800, -EINVAL, "transfer: offset misaligned");
	PAGODA_REFUSED(ok, o.transfer.flags |= 1u << 5, -EINVAL, "transfer: unknown flag");
	PAGODA_REFUSED(ok, o.transfer.flags |= 1u << 31, -EINVAL, "transfer: unknown flag");
	PAGODA_REFUSED(ok, o.transfer.flags |= both, -EINVAL, "transfer: swizzle and unswizzle");
	PAGODA_REFUSED(ok, o.transfer.dst.segment = VIRTIO_PAGODA_SEGMENT_COUNT, -EINVAL,
		       "side: no such segment");
	PAGODA_REFUSED(ok, o.transfer.src.segment = U32_MAX, -EINVAL, "side: no such segment");
	PAGODA_REFUSED(ok, o.transfer.src.generation = 1, -EINVAL,
		       "side: generation outside the aperture");
	PAGODA_REFUSED(ok, o.transfer.dst.generation = 1, -EINVAL,
		       "side: generation outside the aperture");
	PAGODA_REFUSED(ok, o.transfer.src.address = 0x1004, -EINVAL,
		       "side: address misaligned");
	limits.features &= ~(1ull << VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER));
	PAGODA_REFUSED(ok, o.transfer.flags |= VIRTIO_PAGODA_TRANSFER_SWIZZLE, -EOPNOTSUPP,
		       "transfer: device has no tiling");
	/* Without an allocation the conversion flags are dropped, so they need no feature (C31). */
	PAGODA_ACCEPTED(ok, o.allocation = 0; o.transfer.flags |= VIRTIO_PAGODA_TRANSFER_SWIZZLE);
}

static void refuse_range_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	struct pagoda_paging_op ok = transfer_ok;
	struct pagoda_side aperture = {
		.segment = VIRTIO_PAGODA_SEGMENT_APERTURE,
		.generation = VIRTIO_PAGODA_MAX_GENERATION,
		.address = 1021 * 4096,
	};
	const char *outside = "side: outside the segment";

	PAGODA_ACCEPTED(ok, o.transfer.src.address = PAGODA_VRAM_SIZE - 0x3000);
	PAGODA_REFUSED(ok, o.transfer.src.address = PAGODA_VRAM_SIZE - 0x2000, -ERANGE, outside);
	PAGODA_REFUSED(ok, o.transfer.src.address = PAGODA_VRAM_SIZE + 0x1000, -ERANGE, outside);
	PAGODA_REFUSED(ok, o.transfer.src.address = -0x1000ull, -ERANGE, outside);
	PAGODA_ACCEPTED(ok, o.transfer.offset = PAGODA_VRAM_SIZE - 0x4000);
	PAGODA_REFUSED(ok, o.transfer.offset = PAGODA_VRAM_SIZE - 0x3000, -ERANGE, outside);
	PAGODA_REFUSED(ok, o.transfer.offset = -0x2000ull, -ERANGE, outside);
	PAGODA_ACCEPTED(ok, o.transfer.src = aperture);
	PAGODA_REFUSED(ok, o.transfer.src = aperture; o.transfer.src.address += 4096, -ERANGE,
		       outside);
	PAGODA_REFUSED(ok, o.transfer.src = aperture; o.transfer.src.generation++, -ERANGE,
		       "side: generation too large");
	/* A size so large that every end address wraps. */
	ok.transfer.dst = (struct pagoda_side)PAGODA_VRAM(0x10000);
	PAGODA_ACCEPTED(ok, (void)o);
	PAGODA_REFUSED(ok, o.transfer.size = -4ull, -ERANGE, outside);
}

static void refuse_list_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = transfer_ok;

	PAGODA_REFUSED(ok, o.transfer.dst.adl = NULL, -EINVAL, "page list missing");
	PAGODA_REFUSED(ok, o.transfer.dst.adl = &paging_validate_list_empty, -EINVAL,
		       "page list missing");
	PAGODA_REFUSED(ok, o.transfer.dst.adl = &paging_validate_list_misaligned, -EINVAL,
		       "page address misaligned");
	/* Pages that the operation doesn't use aren't checked. */
	PAGODA_ACCEPTED(ok, o.transfer.dst.adl = &paging_validate_list_misaligned;
			o.transfer.size = 0x2000);
	PAGODA_ACCEPTED(ok, o.transfer.mdl_offset = 1);
	PAGODA_REFUSED(ok, o.transfer.mdl_offset = 2, -ERANGE, "page list too short");
	PAGODA_REFUSED(ok, o.transfer.mdl_offset = U64_MAX, -ERANGE, "page list too short");
	PAGODA_ACCEPTED(ok, o.transfer.size = 0x4000);
	PAGODA_REFUSED(ok, o.transfer.size = 0x4004, -ERANGE, "page list too short");
	PAGODA_ACCEPTED(ok, o.transfer.dst.adl = &paging_validate_block;
			o.transfer.mdl_offset = 13);
	PAGODA_REFUSED(ok, o.transfer.dst.adl = &paging_validate_block;
		       o.transfer.mdl_offset = 14, -ERANGE, "page list too short");
	PAGODA_REFUSED(ok, o.transfer.dst.adl = &block_misaligned, -EINVAL,
		       "page address misaligned");
	PAGODA_REFUSED(ok, o.transfer.dst.adl = &block_wraps, -ERANGE, "page addresses wrap");
}

static void refuse_overlap_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	struct pagoda_adl shifted = paging_validate_block;
	struct pagoda_paging_op ok = transfer_ok;
	const char *overlap = "transfer: source and destination overlap";

	ok.transfer.size = 0x2ffc;
	ok.transfer.dst = (struct pagoda_side)PAGODA_VRAM(0x4000);
	PAGODA_ACCEPTED(ok, (void)o);
	PAGODA_ACCEPTED(ok, swap(o.transfer.src, o.transfer.dst));
	PAGODA_REFUSED(ok, o.transfer.dst.address = 0x3000, -EINVAL, overlap);
	PAGODA_REFUSED(ok, o.transfer.dst.address = 0x1000, -EINVAL, overlap);
	PAGODA_REFUSED(ok, o.transfer.src.address = 0x6000, -EINVAL, overlap);
	ok.transfer.src = (struct pagoda_side) { .adl = &paging_validate_block };
	ok.transfer.dst = (struct pagoda_side) { .adl = &shifted };
	shifted.base += 0x3000;
	PAGODA_ACCEPTED(ok, (void)o);
	shifted.base -= 0x1000;
	PAGODA_REFUSED(ok, (void)o, -EINVAL, overlap);
	ok.transfer.src.adl = &paging_validate_list;
	ok.transfer.dst.adl = &paging_validate_list;
	PAGODA_REFUSED(ok, (void)o, -EINVAL, overlap);
	PAGODA_ACCEPTED(ok, o.transfer.dst.adl = &paging_validate_block);
	/* Two scattered lists aren't compared. */
	PAGODA_ACCEPTED(ok, o.transfer.dst.adl = &paging_validate_list_copy);
}

static void refuse_fill_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_FILL,
		.fill = { 0x1004, 0x10, VIRTIO_PAGODA_SEGMENT_VRAM, 0 },
	};

	PAGODA_ACCEPTED(ok, (void)o);
	PAGODA_REFUSED(ok, o.fill.segment = VIRTIO_PAGODA_SEGMENT_APERTURE, -EINVAL,
		       "fill: not a memory segment");
	PAGODA_PROVES(C41);
	PAGODA_REFUSED(ok, o.fill.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM, -EINVAL,
		       "fill: not a memory segment");
	PAGODA_REFUSED(ok, o.fill.segment = 3, -EINVAL, "fill: not a memory segment");
	PAGODA_REFUSED(ok, o.fill.size = 0, -EINVAL, "fill: size zero");
	PAGODA_REFUSED(ok, o.fill.size = 6, -EINVAL, "fill: size misaligned");
	PAGODA_REFUSED(ok, o.fill.address = 2, -EINVAL, "fill: address misaligned");
	PAGODA_ACCEPTED(ok, o.fill.address = PAGODA_VRAM_SIZE - 0x1004);
	PAGODA_REFUSED(ok, o.fill.address = PAGODA_VRAM_SIZE - 0x1000, -ERANGE,
		       "fill: outside the segment");
	PAGODA_REFUSED(ok, o.fill.size = -4ull, -ERANGE, "fill: outside the segment");
	PAGODA_REFUSED(ok, o.fill.address = -4ull, -ERANGE, "fill: outside the segment");
}

static void refuse_discard_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_DISCARD_CONTENT,
		.discard_content = { 0x2000, 0x1000, VIRTIO_PAGODA_SEGMENT_VRAM,
				     PAGODA_ALLOCATION_IS_IDLE },
	};

	PAGODA_ACCEPTED(ok, (void)o);
	PAGODA_REFUSED(ok, o.discard_content.segment = VIRTIO_PAGODA_SEGMENT_APERTURE, -EINVAL,
		       "discard: not a memory segment");
	PAGODA_REFUSED(ok, o.discard_content.flags |= 1, -EINVAL, "discard: unknown flag");
	PAGODA_REFUSED(ok, o.discard_content.size = 0, -EINVAL, "discard: size zero");
	PAGODA_REFUSED(ok, o.discard_content.size = 0x1800, -EINVAL, "discard: size misaligned");
	PAGODA_REFUSED(ok, o.discard_content.address = 0x800, -EINVAL,
		       "discard: address misaligned");
	PAGODA_ACCEPTED(ok, o.discard_content.address = PAGODA_VRAM_SIZE - 0x2000);
	PAGODA_REFUSED(ok, o.discard_content.address = PAGODA_VRAM_SIZE - 0x1000, -ERANGE,
		       "discard: outside the segment");
	PAGODA_REFUSED(ok, o.discard_content.size = -0x1000ull, -ERANGE,
		       "discard: outside the segment");
}

static void refuse_access_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	struct pagoda_paging_op ok = {
		.access_physical = { 0x1008, VIRTIO_PAGODA_SEGMENT_VRAM, 8 },
	};
	u32 size;

	for (ok.operation = VIRTIO_PAGODA_OP_READ_PHYSICAL;
	     ok.operation <= VIRTIO_PAGODA_OP_WRITE_PHYSICAL; ok.operation++) {
		for (size = 1; size <= 8; size *= 2)
			PAGODA_ACCEPTED(ok, o.access_physical.size = size);
		PAGODA_REFUSED(ok, o.access_physical.size = 0, -EINVAL, "access: size");
		PAGODA_REFUSED(ok, o.access_physical.size = 3, -EINVAL, "access: size");
		PAGODA_REFUSED(ok, o.access_physical.size = 16, -EINVAL, "access: size");
		PAGODA_REFUSED(ok, o.access_physical.segment = 3, -EINVAL,
			       "access: no such segment");
		PAGODA_REFUSED(ok, o.access_physical.address = 0x1004, -EINVAL,
			       "access: address misaligned");
		PAGODA_ACCEPTED(ok, o.access_physical.address = PAGODA_VRAM_SIZE - 8);
		PAGODA_REFUSED(ok, o.access_physical.address = PAGODA_VRAM_SIZE, -ERANGE,
			       "access: outside the segment");
		PAGODA_REFUSED(ok, o.access_physical.segment = VIRTIO_PAGODA_SEGMENT_APERTURE;
			       o.access_physical.address = 1024 * 4096, -ERANGE,
			       "access: outside the segment");
		PAGODA_ACCEPTED(ok, o.access_physical.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM;
				o.access_physical.address = 1ull << 50);
	}
}

static void refuse_map_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2,
		.map_aperture = {
			.first_page = 1020,
			.nr_pages = 4,
			.adl = &paging_validate_list,
			.flags = VIRTIO_PAGODA_MAP_CACHE_COHERENT,
			.generation = VIRTIO_PAGODA_MAX_GENERATION,
			.cpu_visible_address = validate_pages,
		},
	};

	/* Neither a device nor an allocation is needed: C60. */
	PAGODA_ACCEPTED(ok, (void)o);
	PAGODA_PROVES(C60);
	PAGODA_REFUSED(ok, o.map_aperture.flags |= VIRTIO_PAGODA_MAP_CONTIGUOUS, -EINVAL,
		       "map: unknown flag");
	PAGODA_REFUSED(ok, o.map_aperture.generation = 0, -EINVAL, "map: generation zero");
	PAGODA_REFUSED(ok, o.map_aperture.generation++, -ERANGE, "map: generation too large");
	PAGODA_REFUSED(ok, o.operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, -EINVAL,
		       "map: CPU address");
	PAGODA_REFUSED(ok, o.map_aperture.nr_pages = 0, -EINVAL, "aperture: no pages");
	PAGODA_REFUSED(ok, o.map_aperture.first_page = 1021, -ERANGE,
		       "aperture: range crosses the end");
	PAGODA_REFUSED(ok, o.map_aperture.nr_pages = U64_MAX, -ERANGE,
		       "aperture: range crosses the end");
	PAGODA_PROVES(C63);
	PAGODA_REFUSED(ok, o.map_aperture.adl_offset = 1, -ERANGE, "page list too short");
	PAGODA_REFUSED(ok, o.map_aperture.adl = NULL, -EINVAL, "page list missing");
	limits.features &= ~(1ull << VIRTIO_PAGODA_F_COHERENT);
	PAGODA_REFUSED(ok, (void)o, -EOPNOTSUPP, "map: device isn't coherent");
	PAGODA_ACCEPTED(ok, o.map_aperture.flags = 0);
}

static void refuse_unmap_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
		.unmap_aperture = { 0, 1000, 24, 0x5000 },
	};

	PAGODA_ACCEPTED(ok, (void)o);
	PAGODA_PROVES(C60);
	PAGODA_REFUSED(ok, o.unmap_aperture.dummy_page = 0, -EINVAL, "unmap: dummy page missing");
	PAGODA_REFUSED(ok, o.unmap_aperture.dummy_page = 0x5800, -EINVAL,
		       "unmap: dummy page misaligned");
	PAGODA_REFUSED(ok, o.unmap_aperture.nr_pages = 0, -EINVAL, "aperture: no pages");
	PAGODA_REFUSED(ok, o.unmap_aperture.nr_pages = 25, -ERANGE,
		       "aperture: range crosses the end");
	PAGODA_REFUSED(ok, o.unmap_aperture.first_page = U64_MAX, -ERANGE,
		       "aperture: range crosses the end");
	PAGODA_PROVES(C63);
}

static void refuse_signal_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
		.signal_fence = {
			.address = PAGODA_VRAM_SIZE - 8,
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.flags = VIRTIO_PAGODA_SIGNAL_EVENT,
		},
	};

	PAGODA_ACCEPTED(ok, (void)o);
	PAGODA_REFUSED(ok, o.signal_fence.flags |= 8, -EINVAL, "signal: unknown flag");
	PAGODA_REFUSED(ok, o.signal_fence.segment = 3, -EINVAL, "access: no such segment");
	PAGODA_REFUSED(ok, o.signal_fence.address -= 4, -EINVAL, "access: address misaligned");
	PAGODA_REFUSED(ok, o.signal_fence.address += 8, -ERANGE, "access: outside the segment");
}

static void refuse_notify_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_NOTIFY_ALLOC,
		.allocation = 1,
		.notify_alloc = {
			.size = 0x1000,
			.flags = VIRTIO_PAGODA_NOTIFY_EVICTION,
		},
	};
	u32 both = VIRTIO_PAGODA_NOTIFY_EVICTION | VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP;

	PAGODA_ACCEPTED(ok, (void)o);
	PAGODA_REFUSED(ok, o.allocation = 0, -EINVAL, "notify: allocation missing");
	PAGODA_REFUSED(ok, o.notify_alloc.flags = both, -EINVAL, "notify: not exactly one flag");
	PAGODA_REFUSED(ok, o.notify_alloc.flags = 0, -EINVAL, "notify: not exactly one flag");
	PAGODA_REFUSED(ok, o.notify_alloc.flags |= 4, -EINVAL, "notify: not exactly one flag");
	PAGODA_PROVES(C118);
	PAGODA_REFUSED(ok, o.notify_alloc.process = 1, -EINVAL, "notify: process of an eviction");
	PAGODA_ACCEPTED(ok, o.notify_alloc.process = 1;
			o.notify_alloc.flags = VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP);
	PAGODA_REFUSED(ok, o.notify_alloc.offset = 8, -EINVAL, "notify: address misaligned");
	PAGODA_REFUSED(ok, o.notify_alloc.address = 8, -EINVAL, "notify: address misaligned");
	PAGODA_REFUSED(ok, o.notify_alloc.size = 0, -EINVAL, "notify: size zero");
	PAGODA_REFUSED(ok, o.notify_alloc.size = 8, -EINVAL, "notify: size misaligned");
	PAGODA_REFUSED(ok, o.notify_alloc.offset = -0x1000ull, -ERANGE, "notify: range wraps");
}

const u32 pagoda_validate_refused[] = {
	VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_OP_FILL, VIRTIO_PAGODA_OP_DISCARD_CONTENT,
	VIRTIO_PAGODA_OP_READ_PHYSICAL, VIRTIO_PAGODA_OP_WRITE_PHYSICAL,
	VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2,
	VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT, VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
	VIRTIO_PAGODA_OP_NOTIFY_ALLOC, 0
};

static struct kunit_case validate_cases[] = {
	KUNIT_CASE(refuse_transfer_test),
	KUNIT_CASE(refuse_range_test),
	KUNIT_CASE(refuse_list_test),
	KUNIT_CASE(refuse_overlap_test),
	KUNIT_CASE(refuse_fill_test),
	KUNIT_CASE(refuse_discard_test),
	KUNIT_CASE(refuse_access_test),
	KUNIT_CASE(refuse_map_test),
	KUNIT_CASE(refuse_unmap_test),
	KUNIT_CASE(refuse_signal_test),
	KUNIT_CASE(refuse_notify_test),
	{ }
};

static struct kunit_suite validate_suite = {
	.name = "pagoda_paging_validate",
	.test_cases = validate_cases,
};

kunit_test_suite(validate_suite);
