// SPDX-License-Identifier: GPL-2.0
/*
 * Reasons to refuse TRANSFER, FILL, DISCARD_CONTENT, READ_PHYSICAL, WRITE_PHYSICAL, operations on
 * the aperture, SIGNAL_MONITORED_FENCE and NOTIFY_ALLOC. Each check starts from an operation that
 * is accepted and changes what the refusal names; for most limits the largest accepted value is
 * tried as well.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "rig/prove.h"
#include "coverage.h"
#include "paging_helpers.h"

#define VRAM		VIRTIO_PAGODA_SEGMENT_VRAM
#define SYSTEM		VIRTIO_PAGODA_SEGMENT_SYSTEM
#define APERTURE	VIRTIO_PAGODA_SEGMENT_APERTURE
#define VRAM_SIZE	0x40000000ull
#define PAGODA_VRAM(at)		{ .segment = VRAM, .address = (at) }

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

	limits.vram_size = VRAM_SIZE;
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

	ACCEPTED((void)o);
	ACCEPTED(o.transfer.size = 0x3ffc);
	REFUSED(o.transfer.size = 0x2ffe, -EINVAL, "transfer: size misaligned");
	REFUSED(o.transfer.offset = 0x800, -EINVAL, "transfer: offset misaligned");
	REFUSED(o.transfer.flags |= 1u << 7, -EINVAL, "transfer: unknown flag");
	REFUSED(o.transfer.flags |= 1u << 31, -EINVAL, "transfer: unknown flag");
	REFUSED(o.transfer.flags |= both, -EINVAL, "transfer: swizzle and unswizzle");
	REFUSED(o.transfer.dst.segment = VIRTIO_PAGODA_SEGMENT_COUNT, -EINVAL,
		"side: no such segment");
	REFUSED(o.transfer.src.segment = U32_MAX, -EINVAL, "side: no such segment");
	REFUSED(o.transfer.src.generation = 1, -EINVAL, "side: generation outside the aperture");
	REFUSED(o.transfer.dst.generation = 1, -EINVAL, "side: generation outside the aperture");
	REFUSED(o.transfer.src.address = 0x1004, -EINVAL, "side: address misaligned");
	limits.features &= ~(1ull << VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER));
	REFUSED(o.transfer.flags |= VIRTIO_PAGODA_TRANSFER_SWIZZLE, -EOPNOTSUPP,
		"transfer: device has no tiling");
	/* Without an allocation SWIZZLE has no effect, and the device needs no tiling (C31). */
	ACCEPTED(o.allocation = 0; o.transfer.flags |= VIRTIO_PAGODA_TRANSFER_SWIZZLE);
}

/*
 * CLEAN is for transfers of whole pages into VRAM, DIRTY for transfers out of VRAM; neither flag is
 * for tiled surfaces, each needs a device with dirty tracking, and both together are refused.
 */
static void refuse_tracking_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op out = transfer_ok;
	struct pagoda_paging_op ok = transfer_ok;
	const char *side = "transfer: clean or dirty at the wrong side";
	u32 clean = VIRTIO_PAGODA_TRANSFER_CLEAN, dirty = VIRTIO_PAGODA_TRANSFER_DIRTY;

	limits.features |= 1ull << VIRTIO_PAGODA_F_DIRTY;
	ACCEPTED(o.transfer.flags |= dirty);
	ACCEPTED(o.transfer.flags |= dirty; o.transfer.size -= 4);
	REFUSED(o.transfer.flags |= clean, -EINVAL, side);
	REFUSED(o.transfer.flags |= clean | dirty, -EINVAL, side);
	REFUSED(o.transfer.flags |= dirty | VIRTIO_PAGODA_TRANSFER_UNSWIZZLE, -EINVAL,
		"transfer: tiled, clean or dirty");
	ok.transfer.src = out.transfer.dst;
	ok.transfer.dst = out.transfer.src;
	ACCEPTED(o.transfer.flags |= clean);
	REFUSED(o.transfer.flags |= clean; o.transfer.size -= 4, -EINVAL, side);
	REFUSED(o.transfer.flags |= dirty, -EINVAL, side);
	limits.features &= ~(1ull << VIRTIO_PAGODA_F_DIRTY);
	REFUSED(o.transfer.flags |= clean, -EOPNOTSUPP,
		"transfer: device has no dirty tracking");
}

static void refuse_range_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	struct pagoda_paging_op ok = transfer_ok;
	struct pagoda_side aperture = {
		.segment = APERTURE,
		.generation = VIRTIO_PAGODA_MAX_GENERATION,
		.address = 1021 * 4096,
	};
	const char *outside = "side: outside the segment";

	ACCEPTED(o.transfer.src.address = VRAM_SIZE - 0x3000);
	REFUSED(o.transfer.src.address = VRAM_SIZE - 0x2000, -ERANGE, outside);
	REFUSED(o.transfer.src.address = VRAM_SIZE + 0x1000, -ERANGE, outside);
	REFUSED(o.transfer.src.address = -0x1000ull, -ERANGE, outside);
	ACCEPTED(o.transfer.offset = VRAM_SIZE - 0x4000);
	REFUSED(o.transfer.offset = VRAM_SIZE - 0x3000, -ERANGE, outside);
	REFUSED(o.transfer.offset = -0x2000ull, -ERANGE, outside);
	ACCEPTED(o.transfer.src = aperture);
	REFUSED(o.transfer.src = aperture; o.transfer.src.address += 4096, -ERANGE, outside);
	REFUSED(o.transfer.src = aperture; o.transfer.src.generation++, -ERANGE,
		"side: generation too large");
	/* The size is so large that the end addresses of both sides wrap. */
	ok.transfer.dst = (struct pagoda_side)PAGODA_VRAM(0x10000);
	ACCEPTED((void)o);
	REFUSED(o.transfer.size = -4ull, -ERANGE, outside);
}

static void refuse_list_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = transfer_ok;

	REFUSED(o.transfer.dst.adl = NULL, -EINVAL, "page list missing");
	REFUSED(o.transfer.dst.adl = &paging_validate_list_empty, -EINVAL, "page list missing");
	REFUSED(o.transfer.dst.adl = &paging_validate_list_misaligned, -EINVAL,
		"page address misaligned");
	/* Pages that the operation doesn't use aren't checked. */
	ACCEPTED(o.transfer.dst.adl = &paging_validate_list_misaligned; o.transfer.size = 0x2000);
	ACCEPTED(o.transfer.mdl_offset = 1);
	REFUSED(o.transfer.mdl_offset = 2, -ERANGE, "page list too short");
	REFUSED(o.transfer.mdl_offset = U64_MAX, -ERANGE, "page list too short");
	ACCEPTED(o.transfer.size = 0x4000);
	REFUSED(o.transfer.size = 0x4004, -ERANGE, "page list too short");
	ACCEPTED(o.transfer.dst.adl = &paging_validate_block; o.transfer.mdl_offset = 13);
	REFUSED(o.transfer.dst.adl = &paging_validate_block; o.transfer.mdl_offset = 14, -ERANGE,
		"page list too short");
	REFUSED(o.transfer.dst.adl = &block_misaligned, -EINVAL, "page address misaligned");
	REFUSED(o.transfer.dst.adl = &block_wraps, -ERANGE, "page addresses wrap");
}

static void refuse_overlap_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	struct pagoda_adl shifted = paging_validate_block;
	struct pagoda_paging_op ok = transfer_ok;
	const char *overlap = "transfer: source and destination overlap";

	ok.transfer.size = 0x2ffc;
	ok.transfer.dst = (struct pagoda_side)PAGODA_VRAM(0x4000);
	ACCEPTED((void)o);
	ACCEPTED(swap(o.transfer.src, o.transfer.dst));
	REFUSED(o.transfer.dst.address = 0x3000, -EINVAL, overlap);
	REFUSED(o.transfer.dst.address = 0x1000, -EINVAL, overlap);
	REFUSED(o.transfer.src.address = 0x6000, -EINVAL, overlap);
	ok.transfer.src = (struct pagoda_side) { .adl = &paging_validate_block };
	ok.transfer.dst = (struct pagoda_side) { .adl = &shifted };
	shifted.base += 0x3000;
	ACCEPTED((void)o);
	shifted.base -= 0x1000;
	REFUSED((void)o, -EINVAL, overlap);
	ok.transfer.src.adl = &paging_validate_list;
	ok.transfer.dst.adl = &paging_validate_list;
	REFUSED((void)o, -EINVAL, overlap);
	ACCEPTED(o.transfer.dst.adl = &paging_validate_block);
	/* Different lists that aren't contiguous aren't compared, even if their pages are equal. */
	ACCEPTED(o.transfer.dst.adl = &paging_validate_list_copy);
}

static void refuse_fill_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_FILL,
		.fill = { 0x1004, 0x10, VRAM, 0 },
	};

	ACCEPTED((void)o);
	REFUSED(o.fill.segment = APERTURE, -EINVAL, "fill: not a memory segment");
	PAGODA_PROVES(C41);
	REFUSED(o.fill.segment = SYSTEM, -EINVAL, "fill: not a memory segment");
	REFUSED(o.fill.segment = 3, -EINVAL, "fill: not a memory segment");
	REFUSED(o.fill.size = 0, -EINVAL, "fill: size zero");
	REFUSED(o.fill.size = 6, -EINVAL, "fill: size misaligned");
	REFUSED(o.fill.address = 2, -EINVAL, "fill: address misaligned");
	ACCEPTED(o.fill.address = VRAM_SIZE - 0x1004);
	REFUSED(o.fill.address = VRAM_SIZE - 0x1000, -ERANGE, "fill: outside the segment");
	REFUSED(o.fill.size = -4ull, -ERANGE, "fill: outside the segment");
	REFUSED(o.fill.address = -4ull, -ERANGE, "fill: outside the segment");
}

static void refuse_discard_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_DISCARD_CONTENT,
		.discard_content = { 0x2000, 0x1000, VRAM,
				     PAGODA_ALLOCATION_IS_IDLE },
	};

	ACCEPTED((void)o);
	REFUSED(discard->segment = APERTURE, -EINVAL, "discard: not a memory segment");
	REFUSED(discard->flags |= 1, -EINVAL, "discard: unknown flag");
	REFUSED(discard->size = 0, -EINVAL, "discard: size zero");
	REFUSED(discard->size = 0x1800, -EINVAL, "discard: size misaligned");
	REFUSED(discard->address = 0x800, -EINVAL, "discard: address misaligned");
	ACCEPTED(discard->address = VRAM_SIZE - 0x2000);
	REFUSED(discard->address = VRAM_SIZE - 0x1000, -ERANGE, "discard: outside the segment");
	REFUSED(discard->size = -0x1000ull, -ERANGE, "discard: outside the segment");
}

static void refuse_access_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	struct pagoda_paging_op ok = {
		.access_physical = { 0x1008, VRAM, 8 },
	};
	u32 size;

	for (ok.operation = VIRTIO_PAGODA_OP_READ_PHYSICAL;
	     ok.operation <= VIRTIO_PAGODA_OP_WRITE_PHYSICAL; ok.operation++) {
		for (size = 1; size <= 8; size *= 2)
			ACCEPTED(access->size = size);
		REFUSED(access->size = 0, -EINVAL, "access: size");
		REFUSED(access->size = 3, -EINVAL, "access: size");
		REFUSED(access->size = 16, -EINVAL, "access: size");
		REFUSED(access->segment = 3, -EINVAL, "access: no such segment");
		REFUSED(access->address = 0x1004, -EINVAL, "access: address misaligned");
		ACCEPTED(access->address = VRAM_SIZE - 8);
		REFUSED(access->address = VRAM_SIZE, -ERANGE, "access: outside the segment");
		REFUSED(access->segment = APERTURE; access->address = 1024 * 4096, -ERANGE,
			"access: outside the segment");
		ACCEPTED(access->segment = SYSTEM; access->address = 1ull << 50);
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

	/* Accepted without an allocation and without a device that owns the range (C60). */
	ACCEPTED((void)o);
	PAGODA_PROVES(C60);
	REFUSED(map->flags |= VIRTIO_PAGODA_MAP_CONTIGUOUS, -EINVAL, "map: unknown flag");
	REFUSED(map->generation = 0, -EINVAL, "map: generation zero");
	REFUSED(map->generation++, -ERANGE, "map: generation too large");
	REFUSED(o.operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, -EINVAL, "map: CPU address");
	REFUSED(map->nr_pages = 0, -EINVAL, "aperture: no pages");
	REFUSED(map->first_page = 1021, -ERANGE, "aperture: range crosses the end");
	REFUSED(map->nr_pages = U64_MAX, -ERANGE, "aperture: range crosses the end");
	PAGODA_PROVES(C63);
	REFUSED(map->adl_offset = 1, -ERANGE, "page list too short");
	REFUSED(map->adl = NULL, -EINVAL, "page list missing");
	limits.features &= ~(1ull << VIRTIO_PAGODA_F_COHERENT);
	REFUSED((void)o, -EOPNOTSUPP, "map: device isn't coherent");
	ACCEPTED(map->flags = 0);
}

static void refuse_unmap_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
		.unmap_aperture = { 0, 1000, 24, 0x5000 },
	};

	ACCEPTED((void)o);
	PAGODA_PROVES(C60);
	REFUSED(unmap->dummy_page = 0, -EINVAL, "unmap: dummy page missing");
	REFUSED(unmap->dummy_page = 0x5800, -EINVAL, "unmap: dummy page misaligned");
	REFUSED(unmap->nr_pages = 0, -EINVAL, "aperture: no pages");
	REFUSED(unmap->nr_pages = 25, -ERANGE, "aperture: range crosses the end");
	REFUSED(unmap->first_page = U64_MAX, -ERANGE, "aperture: range crosses the end");
	PAGODA_PROVES(C63);
}

static void refuse_signal_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = small_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
		.signal_fence = {
			.address = VRAM_SIZE - 8,
			.segment = VRAM,
			.flags = VIRTIO_PAGODA_SIGNAL_EVENT,
		},
	};

	ACCEPTED((void)o);
	REFUSED(signal->flags |= 8, -EINVAL, "signal: unknown flag");
	REFUSED(signal->segment = 3, -EINVAL, "access: no such segment");
	REFUSED(signal->address -= 4, -EINVAL, "access: address misaligned");
	REFUSED(signal->address += 8, -ERANGE, "access: outside the segment");
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

	ACCEPTED((void)o);
	REFUSED(o.allocation = 0, -EINVAL, "notify: allocation missing");
	REFUSED(notify->flags = both, -EINVAL, "notify: not exactly one flag");
	REFUSED(notify->flags = 0, -EINVAL, "notify: not exactly one flag");
	REFUSED(notify->flags |= 4, -EINVAL, "notify: not exactly one flag");
	PAGODA_PROVES(C118);
	REFUSED(notify->process = 1, -EINVAL, "notify: process of an eviction");
	ACCEPTED(notify->process = 1; notify->flags = VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP);
	REFUSED(notify->offset = 8, -EINVAL, "notify: address misaligned");
	REFUSED(notify->address = 8, -EINVAL, "notify: address misaligned");
	REFUSED(notify->size = 0, -EINVAL, "notify: size zero");
	REFUSED(notify->size = 8, -EINVAL, "notify: size misaligned");
	REFUSED(notify->offset = -0x1000ull, -ERANGE, "notify: range wraps");
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
	KUNIT_CASE(refuse_tracking_test),
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
