// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the reasons for which validation refuses operations on tiled surfaces, contexts,
 * residency, fences and the device MMU. Most checks change one or a few members of an operation
 * that is accepted, many of whose members have the largest value that is accepted.
 */
#include <kunit/test.h>
#include <linux/sizes.h>
#include "paging/paging.h"
#include "rig/prove.h"
#include "coverage.h"
#include "paging_helpers.h"

#define VRAM		VIRTIO_PAGODA_SEGMENT_VRAM
#define APERTURE	VIRTIO_PAGODA_SEGMENT_APERTURE
#define VRAM_SIZE	0x40000000ull
#define VA_END		BIT_ULL(47)
#define PAGODA_MMU_PAGES	64
#define PAGODA_RUNS		28	/* most runs of an INIT_CONTEXT_RESOURCE */

static const struct pagoda_adl paging_state_validate_block = {
	.nr_pages = 16,
	.contiguous = true,
	.base = 0x100000,
};

static struct pagoda_paging_limits state_limits(void)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(64);

	limits.vram_size = VRAM_SIZE;
	limits.aperture_pages = 1024;
	limits.mmu_pages = PAGODA_MMU_PAGES;
	limits.swizzling_bytes = SZ_64K;
	limits.swizzling_ranges = 2;
	return limits;
}

/* Swizzles into pages 2 to 5 of a surface of 16 pages, of which the layout covers 12. */
static const struct pagoda_paging_op swizzle_ok = {
	.operation = VIRTIO_PAGODA_OP_TRANSFER,
	.allocation = 7,
	.transfer = {
		.offset = 0x2000,
		.size = 0x4000,
		.mdl_offset = 2,
		.flags = VIRTIO_PAGODA_TRANSFER_SWIZZLE,
		.src = { .adl = &paging_state_validate_block },
		.dst = { .segment = VRAM, .address = 0x8000 },
		.layout = { VIRTIO_PAGODA_TILING_4K, 256, 192, 1 },
		.surface_size = SZ_64K,
	},
};

static void refuse_surface_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = state_limits();
	struct pagoda_paging_op ok = swizzle_ok;

	ACCEPTED((void)o);
	REFUSED(o.transfer.dst.segment = APERTURE, -EINVAL, "surface: not in VRAM");
	REFUSED(o.transfer.flags = VIRTIO_PAGODA_TRANSFER_UNSWIZZLE, -EINVAL,
		"surface: not in VRAM");
	REFUSED(o.transfer.dst.generation = 1, -EINVAL, "side: generation outside the aperture");
	REFUSED(o.transfer.dst.address += 8, -EINVAL, "side: address misaligned");
	/* The whole surface must be inside VRAM, not just the piece that is copied. */
	ACCEPTED(o.transfer.dst.address = VRAM_SIZE - SZ_64K);
	REFUSED(o.transfer.dst.address = VRAM_SIZE - SZ_32K, -ERANGE, "side: outside the segment");
	ACCEPTED(o.transfer.offset = SZ_64K - 0x4000);
	REFUSED(o.transfer.offset = SZ_64K - 0x3000, -ERANGE, "surface: piece outside");
	REFUSED(o.transfer.offset = -0x1000ull, -ERANGE, "surface: piece outside");
	REFUSED(o.transfer.layout.mips = 2; o.transfer.surface_size = SZ_32K + SZ_16K, -ERANGE,
		"layout: more than the surface has");
	REFUSED(o.transfer.layout.pitch = 100, -EINVAL, "layout: pitch");
	/* The linear side must not overlap any byte of the surface, whichever piece is copied. */
	ok.transfer.src = (struct pagoda_side) { VRAM, 0, SZ_64K + 0x6000 };
	ACCEPTED((void)o);
	REFUSED(o.transfer.src.address -= 0x1000, -EINVAL,
		"transfer: source and destination overlap");
	swap(ok.transfer.src, ok.transfer.dst);
	ok.transfer.flags = VIRTIO_PAGODA_TRANSFER_UNSWIZZLE;
	ACCEPTED((void)o);
	REFUSED(o.transfer.dst.address -= 0x1000, -EINVAL,
		"transfer: source and destination overlap");
}

static void refuse_lock_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = state_limits();
	struct pagoda_paging_op ok = swizzle_ok;

	ok.operation = VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
	ok.transfer.flags = VIRTIO_PAGODA_TRANSFER_START;
	ok.transfer.range_id = 1;
	ACCEPTED((void)o);
	ACCEPTED(swap(o.transfer.src, o.transfer.dst));
	REFUSED(o.transfer.flags |= VIRTIO_PAGODA_TRANSFER_SWIZZLE, -EINVAL, "lock: swizzle flag");
	REFUSED(o.transfer.flags |= VIRTIO_PAGODA_TRANSFER_UNSWIZZLE, -EINVAL,
		"lock: swizzle flag");
	REFUSED(o.transfer.range_id++, -ERANGE, "lock: no such swizzling range");
	REFUSED(o.transfer.surface_size += SZ_4K, -ERANGE, "lock: surface larger than the range");
	REFUSED(o.transfer.src = o.transfer.dst, -EINVAL, "lock: both sides in VRAM");
	REFUSED(o.transfer.dst.segment = APERTURE, -EINVAL, "surface: not in VRAM");
	REFUSED(o.transfer.layout.tiling = 0, -EINVAL, "layout: tiling");
	/* Without an allocation the layout is checked, too, unlike the layout of a TRANSFER. */
	REFUSED(o.allocation = 0; o.transfer.layout.tiling = 0, -EINVAL, "layout: tiling");
}

/*
 * A CPU address is accepted only for a save area in the aperture whose flags say that the CPU may
 * see it, that only the device may access it, and that it is always in the aperture.
 */
static void refuse_context_address(struct kunit *test, const struct pagoda_paging_limits *at,
				   const struct pagoda_paging_op ok)
{
	struct pagoda_paging_limits limits = *at;
	u32 flags;

	REFUSED(init->cpu_address = &limits, -EINVAL, "context: CPU address outside the aperture");
	REFUSED(init->cpu_address = &limits; init->flags = PAGODA_SAVE_CPU_ADDRESS, -EINVAL,
		"context: CPU address outside the aperture");
	for (flags = 0; flags < PAGODA_SAVE_CPU_ADDRESS; flags++) {
		REFUSED(init->cpu_address = &limits; init->dst.address = 0;
			init->dst.segment = APERTURE; init->flags = flags, -EINVAL,
			"context: CPU address of what has none");
		ACCEPTED(init->flags = flags);
	}
	PAGODA_PROVES(C83);
	ACCEPTED(init->cpu_address = &limits; init->dst.address = 0; init->dst.segment = APERTURE;
		 init->flags = PAGODA_SAVE_CPU_ADDRESS);
}

static void refuse_init_context_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = state_limits();
	dma_addr_t pages[PAGODA_RUNS + 1];
	struct pagoda_adl list = { .nr_pages = PAGODA_RUNS, .pages = pages };
	struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE,
		.init_context = {
			.context = 5,
			.size = SZ_16K,
			.gpu_address = VA_END - SZ_16K,
			.dst = { VRAM, 0, VRAM_SIZE - SZ_16K },
		},
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		pages[i] = 2 * i * SZ_4K;
	ACCEPTED((void)o);
	REFUSED(init->size = 0, -EINVAL, "context: size zero");
	REFUSED(init->size -= 8, -EINVAL, "context: size misaligned");
	REFUSED(init->gpu_address -= 8, -EINVAL, "context: address misaligned");
	REFUSED(init->gpu_address += SZ_4K, -ERANGE, "context: address too large");
	REFUSED(init->dst.address += SZ_4K, -ERANGE, "side: outside the segment");
	REFUSED(init->flags = BIT(3), -EINVAL, "context: unknown flag");
	refuse_context_address(test, &limits, ok);
	/*
	 * INIT_CONTEXT_RESOURCE is one packet: the list must have exactly the save area's pages, in
	 * no more runs than fit into PAGODA_PAGING_MIN_BUFFER bytes.
	 */
	ok.init_context.gpu_address = 0;
	ok.init_context.size = PAGODA_RUNS * SZ_4K;
	ok.init_context.dst = (struct pagoda_side) { .adl = &list };
	ACCEPTED((void)o);
	REFUSED(init->size -= SZ_4K, -EINVAL, "context: page list too long");
	REFUSED(init->size += SZ_4K, -ERANGE, "page list too short");
	list.nr_pages++;
	REFUSED(init->size += SZ_4K, -ERANGE, "context: more runs than one packet");
}

static void refuse_update_context_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = state_limits();
	const u64 data[2] = { };
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION,
		.update_context = {
			.address = VA_END - SZ_4K,
			.size = 0x100,
			.data = data,
			.data_size = sizeof(data),
			.data_offset = 0x100 - sizeof(data),
		},
	};

	ACCEPTED((void)o);
	REFUSED(context->data = NULL, -EINVAL, "context: no data");
	REFUSED(context->data_size = 0, -EINVAL, "context: no data");
	REFUSED(context->data_size = 12, -EINVAL, "context: data misaligned");
	REFUSED(context->data_offset = 4, -EINVAL, "context: data misaligned");
	REFUSED(context->data_offset += 8, -ERANGE, "context: data outside");
	REFUSED(context->address -= 8, -EINVAL, "context: address misaligned");
	ACCEPTED(context->size = SZ_4K);
	REFUSED(context->size = SZ_4K + 8, -ERANGE, "context: address too large");
	limits.va_bits = 0;
	REFUSED((void)o, -EOPNOTSUPP, "context: no virtual addresses");
}

static void refuse_map_mmu_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = state_limits();
	struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_MAP_MMU,
		.map_mmu = {
			.address = (PAGODA_MMU_PAGES - 12) * SZ_4K,
			.nr_pages = 12,
			.adl_offset = 4,
			.adl = &paging_state_validate_block,
			.flags = VIRTIO_PAGODA_MAP_MMU_READ_ONLY,
		},
	};
	u32 op;

	REFUSED(o.map_mmu.flags = 2, -EINVAL, "mmu: unknown flag");
	REFUSED(o.map_mmu.adl = NULL, -EINVAL, "page list missing");
	REFUSED(o.map_mmu.adl_offset++, -ERANGE, "page list too short");
	ok.operation = VIRTIO_PAGODA_OP_UNMAP_MMU;
	REFUSED((void)o, -EINVAL, "mmu: unknown flag");
	for (op = VIRTIO_PAGODA_OP_MAP_MMU; op <= VIRTIO_PAGODA_OP_UNMAP_MMU; op++) {
		ok.operation = op;
		if (op == VIRTIO_PAGODA_OP_UNMAP_MMU)
			ok.map_mmu.flags = 0;
		ACCEPTED((void)o);
		REFUSED(o.map_mmu.mmu = 1, -EINVAL, "mmu: no such MMU");
		REFUSED(o.map_mmu.address -= 8, -EINVAL, "mmu: address misaligned");
		REFUSED(o.map_mmu.nr_pages = 0, -EINVAL, "mmu: no pages");
		REFUSED(o.map_mmu.address += SZ_4K, -ERANGE, "mmu: range crosses the end");
		REFUSED(o.map_mmu.nr_pages = U64_MAX, -ERANGE, "mmu: range crosses the end");
	}
	limits.mmu_pages = 0;
	REFUSED((void)o, -EOPNOTSUPP, "mmu: device has none");
}

static void refuse_residency_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = state_limits();
	struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY,
		.allocation = 3,
		.notify_residency = {
			.address = VRAM_SIZE - SZ_4K,
			.segment = VRAM,
			.flags = VIRTIO_PAGODA_NOTIFY_RESIDENT,
		},
	};

	ACCEPTED((void)o);
	REFUSED(o.allocation = 0, -EINVAL, "residency: allocation missing");
	REFUSED(residency->flags |= 2, -EINVAL, "residency: unknown flag");
	REFUSED(residency->nr_pages = 1, -EINVAL, "residency: pages");
	REFUSED(residency->offset = 1, -EINVAL, "residency: pages");
	REFUSED(residency->segment = 3, -EINVAL, "residency: no such segment");
	REFUSED(residency->address -= 8, -EINVAL, "residency: address misaligned");
	REFUSED(residency->address += SZ_4K, -ERANGE, "residency: outside the segment");
	REFUSED(residency->flags = 0, -EINVAL, "residency: place of what was evicted");
	REFUSED(residency->flags = 0; residency->segment = 0, -EINVAL,
		"residency: place of what was evicted");
	ACCEPTED(residency->flags = 0; residency->segment = 0; residency->address = 0);
	ok.operation = VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2;
	REFUSED((void)o, -EINVAL, "residency: no pages");
	ok.notify_residency.nr_pages = 1;
	ACCEPTED(residency->offset = (U64_MAX >> 12) - 1);
	REFUSED(residency->offset = U64_MAX >> 12, -ERANGE, "residency: pages wrap");
	REFUSED(residency->nr_pages = U64_MAX, -ERANGE, "residency: pages wrap");
	REFUSED(residency->nr_pages = 2, -ERANGE, "residency: outside the segment");
}

static void refuse_fences_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = state_limits();
	struct pagoda_fence_residency fences[] = {
		{ 1, 0x1008, 0 },
		{ 2, 0, PAGODA_MMU_PAGES * SZ_4K - 8 },
	};
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY,
		.notify_fences = { ARRAY_SIZE(fences), fences },
	};

	limits.features |= BIT_ULL(VIRTIO_PAGODA_F_DEVICE_MMU);
	ACCEPTED((void)o);
	REFUSED(o.notify_fences.nr_fences = 0, -EINVAL, "fences: none");
	REFUSED(o.notify_fences.fences = NULL, -EINVAL, "fences: none");
	REFUSED(fences[0].current_value += 4, -EINVAL, "fences: address misaligned");
	fences[0].current_value -= 4;
	REFUSED(fences[1].monitored_value += 8, -ERANGE, "fences: address too large");
}

static void refuse_signal_virtual_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = state_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
		.signal_fence = {
			.address = VA_END - 8,
			.flags = VIRTIO_PAGODA_SIGNAL_VIRTUAL,
		},
	};

	ACCEPTED((void)o);
	REFUSED(signal->segment = VRAM, -EINVAL, "signal: segment of a virtual address");
	REFUSED(signal->address -= 4, -EINVAL, "access: address misaligned");
	REFUSED(signal->address += 8, -ERANGE, "signal: virtual address too large");
	limits.va_bits = 0;
	REFUSED((void)o, -EOPNOTSUPP, "signal: no virtual addresses");
}

/* With a device MMU, an address of system memory that the device MMU can't map is refused. */
static void refuse_device_address_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = state_limits();
	dma_addr_t pages[] = { 0, (PAGODA_MMU_PAGES - 1) * SZ_4K };
	struct pagoda_adl list = { .nr_pages = 2, .pages = pages };
	struct pagoda_adl block = { .nr_pages = 2, .contiguous = true };
	struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.transfer = {
			.size = 0x2000,
			.src = { .segment = VRAM },
			.dst = { .adl = &list },
		},
	};
	const struct pagoda_paging_op dummy = {
		.operation = VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
		.unmap_aperture = { 0, 0, 1, (PAGODA_MMU_PAGES - 1) * SZ_4K },
	};

	block.base = (PAGODA_MMU_PAGES - 2) * SZ_4K;
	limits.features |= BIT_ULL(VIRTIO_PAGODA_F_DEVICE_MMU);
	ACCEPTED((void)o);
	ACCEPTED(o.transfer.dst.adl = &block);
	block.base += SZ_4K;
	REFUSED(o.transfer.dst.adl = &block, -ERANGE, "page address too large");
	pages[1] += SZ_4K;
	REFUSED((void)o, -ERANGE, "page address too large");
	ACCEPTED_OP(dummy, (void)o);
	REFUSED_OP(dummy, unmap->dummy_page += SZ_4K, -ERANGE, "unmap: dummy page too large");
}

const u32 pagoda_state_refused[] = {
	VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER,
	VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE, VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION,
	VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY, VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2,
	VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY, VIRTIO_PAGODA_OP_MAP_MMU,
	VIRTIO_PAGODA_OP_UNMAP_MMU, VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE, 0
};

static struct kunit_case state_validate_cases[] = {
	KUNIT_CASE(refuse_surface_test),
	KUNIT_CASE(refuse_lock_test),
	KUNIT_CASE(refuse_init_context_test),
	KUNIT_CASE(refuse_update_context_test),
	KUNIT_CASE(refuse_map_mmu_test),
	KUNIT_CASE(refuse_residency_test),
	KUNIT_CASE(refuse_fences_test),
	KUNIT_CASE(refuse_signal_virtual_test),
	KUNIT_CASE(refuse_device_address_test),
	{ }
};

static struct kunit_suite state_validate_suite = {
	.name = "pagoda_paging_state_validate",
	.test_cases = state_validate_cases,
};

kunit_test_suite(state_validate_suite);
