// SPDX-License-Identifier: GPL-2.0
/*
 * The golden cases: for each opcode one operation or several, with the packet that the device ABI
 * demands, written by hand in paging_golden_bytes.h, and with the line that the printer makes of
 * the packet.
 */
#include <linux/kernel.h>
#include "paging/paging.h"
#include "paging_golden.h"
#include "paging_golden_bytes.h"

static const struct pagoda_pte golden_ptes[] = {
	{ PAGODA_PTE_VALID | 1ull << PAGODA_PTE_SEGMENT_SHIFT, 0x12000 },
	{ PAGODA_PTE_READ_ONLY, 0x13000 },
	{ PAGODA_PTE_VALID | PAGODA_PTE_ZERO, 0x14000 },
};

static const u64 golden_values[32] = {
#define PAGODA_GOLDEN_64K(i)	0x100000011ull + (i) * 0x10000ull
#define PAGODA_GOLDEN_8(i)	PAGODA_GOLDEN_64K(i), PAGODA_GOLDEN_64K((i) + 1), \
	PAGODA_GOLDEN_64K((i) + 2), PAGODA_GOLDEN_64K((i) + 3), PAGODA_GOLDEN_64K((i) + 4), \
	PAGODA_GOLDEN_64K((i) + 5), PAGODA_GOLDEN_64K((i) + 6), PAGODA_GOLDEN_64K((i) + 7)
	PAGODA_GOLDEN_8(0), PAGODA_GOLDEN_8(8), PAGODA_GOLDEN_8(16), PAGODA_GOLDEN_8(24),
};

static const struct pagoda_pte golden_invalid;

static const struct pagoda_copy_range golden_ranges[] = {
	{ 0x1000, 0x2000, 1, 2, 3 },
	{ 0x2000, 0x2000, 0, 8, 504 },
};

static const __le64 golden_data[] = {
	cpu_to_le64(0x1122334455667788), cpu_to_le64(0x99aabbccddeeff00),
};

static const struct pagoda_fence_residency golden_fence_list[] = {
	{ 1, 0x100000008, 0 },
	{ U64_MAX, 0, 0x200000010 },
};

static const dma_addr_t golden_pages[] = { 0x11000, 0x20000, 0x21000, 0x40000, 0x41000 };
static const dma_addr_t golden_others[] = { 0x90000, 0x91000, 0x80000 };

static const struct pagoda_adl golden_scattered = {
	.nr_pages = ARRAY_SIZE(golden_pages),
	.pages = golden_pages,
};

static const struct pagoda_adl golden_other = {
	.nr_pages = ARRAY_SIZE(golden_others),
	.pages = golden_others,
};

static const struct pagoda_adl golden_contiguous = {
	.nr_pages = 512,
	.contiguous = true,
	.base = 0x700000000,
};

#define PAGODA_GOLDEN(n)				\
	.name = #n,					\
	.bytes = pagoda_golden_##n,			\
	.size = sizeof(pagoda_golden_##n)

const struct pagoda_golden pagoda_goldens[] = {
	{
		PAGODA_GOLDEN(transfer_out),
		.text =
			"TRANSFER alloc=7 12292 B vram+0x102000 -> system 2 runs [START END]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_TRANSFER,
			.allocation = 7,
			.transfer = {
				.offset = 0x2000,
				.size = 0x3004,
				.mdl_offset = 1,
				.flags = VIRTIO_PAGODA_TRANSFER_START |
					 VIRTIO_PAGODA_TRANSFER_END | PAGODA_ALLOCATION_IS_IDLE,
				.src = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 0x100000 },
				.dst = { .adl = &golden_scattered },
			},
		},
	}, {
		PAGODA_GOLDEN(transfer_in),
		.text =
			"TRANSFER alloc=1234605616436508552 1 MiB system 1 run -> vram+0xfffff00000 [END]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_TRANSFER,
			.allocation = 0x1122334455667788,
			.transfer = {
				.size = 0x100000,
				.mdl_offset = 2,
				.flags = VIRTIO_PAGODA_TRANSFER_END,
				.src = { .adl = &golden_contiguous },
				.dst = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 0xfffff00000 },
			},
		},
	}, {
		PAGODA_GOLDEN(transfer_vram),
		.text =
			"TRANSFER alloc=0 6 GiB vram+0x1000 -> vram+0x200001000",
		.op = {
			.operation = VIRTIO_PAGODA_OP_TRANSFER,
			.transfer = {
				.offset = 0x1000,
				.size = 6ull << 30,
				.mdl_offset = 77,
				.flags = VIRTIO_PAGODA_TRANSFER_SWIZZLE,
				.src = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 0 },
				.dst = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 0x200000000 },
			},
		},
	}, {
		PAGODA_GOLDEN(transfer_aperture),
		.text =
			"TRANSFER alloc=3 8 KiB aperture+0x5000 generation 9 -> system 2 runs [START]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_TRANSFER,
			.allocation = 3,
			.transfer = {
				.size = 0x2000,
				.flags = VIRTIO_PAGODA_TRANSFER_START,
				.src = { VIRTIO_PAGODA_SEGMENT_APERTURE, 9, 0x5000 },
				.dst = { .adl = &golden_scattered },
			},
		},
	}, {
		PAGODA_GOLDEN(transfer_system),
		.text =
			"TRANSFER alloc=1 12 KiB system 2 runs -> system 2 runs [START END]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_TRANSFER,
			.allocation = 1,
			.transfer = {
				.offset = 0x7000,
				.size = 0x3000,
				.flags = VIRTIO_PAGODA_TRANSFER_START |
					 VIRTIO_PAGODA_TRANSFER_END,
				.src = { .adl = &golden_scattered },
				.dst = { .adl = &golden_other },
			},
		},
	}, {
		PAGODA_GOLDEN(fill),
		.text =
			"FILL alloc=0 65540 B vram+0x7c pattern 0xdeadbeef",
		.op = {
			.operation = VIRTIO_PAGODA_OP_FILL,
			.fill = { 0x10004, 0x7c, VIRTIO_PAGODA_SEGMENT_VRAM, 0xdeadbeef },
		},
	}, {
		PAGODA_GOLDEN(discard),
		.text =
			"DISCARD_CONTENT alloc=5 16 KiB vram+0x8000",
		.op = {
			.operation = VIRTIO_PAGODA_OP_DISCARD_CONTENT,
			.allocation = 5,
			.discard_content = { 0x4000, 0x8000, VIRTIO_PAGODA_SEGMENT_VRAM },
		},
	}, {
		PAGODA_GOLDEN(read),
		.text =
			"READ_PHYSICAL alloc=0 8 B system+0x3f00000ff8",
		.op = {
			.operation = VIRTIO_PAGODA_OP_READ_PHYSICAL,
			.access_physical = { 0x3f00000ff8, VIRTIO_PAGODA_SEGMENT_SYSTEM, 8 },
		},
	}, {
		PAGODA_GOLDEN(write),
		.text =
			"WRITE_PHYSICAL alloc=0 1 B vram+0xffff",
		.op = {
			.operation = VIRTIO_PAGODA_OP_WRITE_PHYSICAL,
			.access_physical = { 0xffff, VIRTIO_PAGODA_SEGMENT_VRAM, 1 },
		},
	}, {
		PAGODA_GOLDEN(map),
		.text =
			"MAP_APERTURE_SEGMENT alloc=0 4 pages aperture page 16 generation 16777215 -> system 2 runs [CACHE_COHERENT]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT,
			.map_aperture = {
				.first_page = 16,
				.nr_pages = 4,
				.adl_offset = 1,
				.adl = &golden_scattered,
				.flags = VIRTIO_PAGODA_MAP_CACHE_COHERENT,
				.generation = VIRTIO_PAGODA_MAX_GENERATION,
			},
		},
	}, {
		PAGODA_GOLDEN(map2),
		.text =
			"MAP_APERTURE_SEGMENT2 alloc=6 1 page aperture page 4095 generation 1 -> system 1 run [CONTIGUOUS]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2,
			.allocation = 6,
			.map_aperture = {
				.device = 3,
				.first_page = 4095,
				.nr_pages = 1,
				.adl_offset = 3,
				.adl = &golden_contiguous,
				.generation = 1,
				.cpu_visible_address = golden_pages,
			},
		},
	}, {
		PAGODA_GOLDEN(map2_scattered),
		.text =
			"MAP_APERTURE_SEGMENT2 alloc=6 2 pages aperture page 0 generation 1 -> system 2 runs",
		.op = {
			.operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2,
			.allocation = 6,
			.map_aperture = {
				.nr_pages = 2,
				.adl = &golden_scattered,
				.generation = 1,
			},
		},
	}, {
		PAGODA_GOLDEN(unmap),
		.text =
			"UNMAP_APERTURE_SEGMENT alloc=2 4095 pages aperture page 1 -> dummy 0x123456000",
		.op = {
			.operation = VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
			.allocation = 2,
			.unmap_aperture = {
				.first_page = 1,
				.nr_pages = 4095,
				.dummy_page = 0x123456000,
			},
		},
	}, {
		PAGODA_GOLDEN(signal),
		.text =
			"SIGNAL_MONITORED_FENCE alloc=0 system+0x40000008 = 9223372036854775809 [EVENT]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
			.signal_fence = {
				.address = 0x40000008,
				.value = 0x8000000000000001,
				.flags = VIRTIO_PAGODA_SIGNAL_EVENT,
			},
		},
	}, {
		PAGODA_GOLDEN(notify),
		.text =
			"NOTIFY_ALLOC alloc=11 2 MiB from byte 0x1000 va 0x7f0000001000 process=0 [EVICTION]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_NOTIFY_ALLOC,
			.allocation = 11,
			.notify_alloc = {
				.offset = 0x1000,
				.size = 0x200000,
				.address = 0x7f0000001000,
				.flags = VIRTIO_PAGODA_NOTIFY_EVICTION,
			},
		},
	}, {
		PAGODA_GOLDEN(virtual_transfer),
		.text =
			"VIRTUAL_TRANSFER alloc=9 65540 B va 0x7f0000001000 -> va 0x4000 local to system from byte 0x2000 [DST_64K]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER,
			.allocation = 9,
			.virtual_transfer = {
				.size = 0x10004,
				.src_address = 0x7f0000001000,
				.dst_address = 0x4000,
				.allocation_offset = 0x2000,
				.direction = VIRTIO_PAGODA_LOCAL_TO_SYSTEM,
				.flags = VIRTIO_PAGODA_VIRTUAL_DST_64K,
			},
		},
	}, {
		PAGODA_GOLDEN(virtual_fill),
		.text =
			"VIRTUAL_FILL alloc=9 8 KiB va 0x7ffffffe000 pattern 0xdeadbeef from byte 0x1000",
		.op = {
			.operation = VIRTIO_PAGODA_OP_VIRTUAL_FILL,
			.allocation = 9,
			.virtual_fill = { 0x2000, 0x7ffffffe000, 0x1000, 0xdeadbeef },
		},
	}, {
		PAGODA_GOLDEN(update_values),
		.text =
			"UPDATE_PAGE_TABLE alloc=4 L0 vram+0x5000 [16..19) 3 entries space=7 va=0x7f0000010000 = 0xabc0000000012021 ... [INITIAL]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
			.allocation = 4,
			.update_page_table = {
				.mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL,
				.first_entry = 16,
				.nr_entries = 3,
				.flags = VIRTIO_PAGODA_UPDATE_INITIAL,
				.address_space = 7,
				.table_entries = 512,
				.table_segment = VIRTIO_PAGODA_SEGMENT_VRAM,
				.table_address = 0x5000,
				.first_va = 0x7f0000010000,
				.allocation_offset = 0x3000,
				.driver_protection = PAGODA_PROTECTION_UNIQUE | 0xabc,
				.ptes = golden_ptes,
			},
		},
	}, {
		PAGODA_GOLDEN(update_run),
		.text =
			"UPDATE_PAGE_TABLE alloc=4 L0 va 0x4000002000 [0..32) 32 entries space=0 va=0x200000 = 0x100000011 +0x10000 [64K]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
			.allocation = 4,
			.update_page_table = {
				.mode = VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL,
				.nr_entries = 32,
				.flags = VIRTIO_PAGODA_UPDATE_USE_64K,
				.table_entries = 32,
				.table_address = 0x4000002000,
				.first_va = 0x200000,
				.allocation_offset = 0x10000,
				.values = golden_values,
			},
		},
	}, {
		PAGODA_GOLDEN(update_repeat),
		.text =
			"UPDATE_PAGE_TABLE alloc=0 L1 system+0x3f00000000 [0..512) 512 entries space=2 va=0x0 = 0x0 [REPEAT NOTIFY_EVICTION]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
			.update_page_table = {
				.mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL,
				.level = 1,
				.nr_entries = 512,
				.flags = VIRTIO_PAGODA_UPDATE_REPEAT |
					 VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION,
				.address_space = 2,
				.table_entries = 512,
				.table_address = 0x3f00000000,
				.ptes = &golden_invalid,
			},
		},
	}, {
		PAGODA_GOLDEN(flush),
		.text =
			"FLUSH_TLB alloc=0 space=3 root vram+0x8000 [0x1000..0x200000)",
		.op = {
			.operation = VIRTIO_PAGODA_OP_FLUSH_TLB,
			.flush_tlb = { 0x8000, VIRTIO_PAGODA_SEGMENT_VRAM, 3, 0x1000, 0x200000 },
		},
	}, {
		PAGODA_GOLDEN(flush_all),
		.text =
			"FLUSH_TLB alloc=0 space=0 root system+0x123456000 whole space",
		.op = {
			.operation = VIRTIO_PAGODA_OP_FLUSH_TLB,
			.flush_tlb = { .root_address = 0x123456000 },
		},
	}, {
		PAGODA_GOLDEN(copy),
		.text =
			"COPY_PAGE_TABLE_ENTRIES alloc=2 space=5 2 ranges va 0x1000 [1] -> va 0x2000 [2] 3 entries",
		.op = {
			.operation = VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES,
			.allocation = 2,
			.copy_entries = {
				.address_space = 5,
				.nr_ranges = 2,
				.ranges = golden_ranges,
			},
		},
	}, {
		PAGODA_GOLDEN(transfer_swizzle),
		.text =
			"TRANSFER alloc=9 8 KiB system 1 run -> vram+0x100000 from byte 0x3000 of 44 KiB tiles 4K 256 x 128 2 mips [SWIZZLE START]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_TRANSFER,
			.allocation = 9,
			.transfer = {
				.offset = 0x3000,
				.size = 0x2000,
				.mdl_offset = 1,
				.flags = VIRTIO_PAGODA_TRANSFER_SWIZZLE |
					 VIRTIO_PAGODA_TRANSFER_START,
				.src = { .adl = &golden_scattered },
				.dst = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 0x100000 },
				.layout = { VIRTIO_PAGODA_TILING_4K, 256, 128, 2 },
				.surface_size = 0xb000,
			},
		},
	}, {
		PAGODA_GOLDEN(special_lock),
		.text =
			"SPECIAL_LOCK_TRANSFER alloc=119 4 KiB vram+0x200000 -> aperture+0x6000 generation 5 range 3 data 0xabcd from byte 0x1000 of 128 KiB tiles 64K 256 x 512 1 mip [END]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER,
			.allocation = 0x77,
			.transfer = {
				.offset = 0x1000,
				.size = 0x1000,
				.flags = VIRTIO_PAGODA_TRANSFER_END | PAGODA_ALLOCATION_IS_IDLE,
				.src = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 0x200000 },
				.dst = { VIRTIO_PAGODA_SEGMENT_APERTURE, 5, 0x5000 },
				.range_id = 3,
				.range_data = 0xabcd,
				.layout = { VIRTIO_PAGODA_TILING_64K, 256, 512, 1 },
				.surface_size = 0x20000,
			},
		},
	}, {
		PAGODA_GOLDEN(init_context),
		.text =
			"INIT_CONTEXT_RESOURCE alloc=4 12 KiB context=78187493530 va 0x7f0000004000 -> system 2 runs",
		.op = {
			.operation = VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE,
			.allocation = 4,
			.init_context = {
				.context = 0x123456789a,
				.size = 0x3000,
				.gpu_address = 0x7f0000004000,
				.dst = { .adl = &golden_other },
			},
		},
	}, {
		PAGODA_GOLDEN(update_context),
		.text =
			"UPDATE_CONTEXT_ALLOCATION alloc=4 16 B at byte 0x10 of 16 KiB va 0x7f0000004000",
		.op = {
			.operation = VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION,
			.allocation = 4,
			.update_context = {
				.address = 0x7f0000004000,
				.size = 0x4000,
				.data = golden_data,
				.data_size = sizeof(golden_data),
				.data_offset = 0x10,
			},
		},
	}, {
		PAGODA_GOLDEN(residency),
		.text =
			"NOTIFY_RESIDENCY alloc=21 vram+0xff000 [RESIDENT]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY,
			.allocation = 21,
			.notify_residency = {
				.address = 0xff000,
				.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
				.flags = VIRTIO_PAGODA_NOTIFY_RESIDENT,
			},
		},
	}, {
		PAGODA_GOLDEN(residency2),
		.text =
			"NOTIFY_RESIDENCY2 alloc=21 system+0x0 5 pages from page 7",
		.op = {
			.operation = VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2,
			.allocation = 21,
			.notify_residency = { .offset = 7, .nr_pages = 5 },
		},
	}, {
		PAGODA_GOLDEN(fences),
		.text =
			"NOTIFY_FENCE_RESIDENCY alloc=0 2 fences",
		.op = {
			.operation = VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY,
			.notify_fences = {
				.nr_fences = ARRAY_SIZE(golden_fence_list),
				.fences = golden_fence_list,
			},
		},
	}, {
		PAGODA_GOLDEN(map_mmu),
		.text =
			"MAP_MMU alloc=0 4 pages device 0x5000 mmu 0 -> system 2 runs [READ_ONLY]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_MAP_MMU,
			.map_mmu = {
				.address = 0x5000,
				.nr_pages = 4,
				.adl_offset = 1,
				.adl = &golden_scattered,
				.flags = VIRTIO_PAGODA_MAP_MMU_READ_ONLY,
			},
		},
	}, {
		PAGODA_GOLDEN(unmap_mmu),
		.text =
			"UNMAP_MMU alloc=0 4000 pages device 0x5000 mmu 0",
		.op = {
			.operation = VIRTIO_PAGODA_OP_UNMAP_MMU,
			.map_mmu = { .address = 0x5000, .nr_pages = 4000 },
		},
	}, {
		PAGODA_GOLDEN(signal_virtual),
		.text =
			"SIGNAL_MONITORED_FENCE alloc=0 system+0x7f0000004008 = 5 [VIRTUAL]",
		.op = {
			.operation = VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
			.signal_fence = {
				.address = 0x7f0000004008,
				.value = 5,
				.flags = VIRTIO_PAGODA_SIGNAL_VIRTUAL,
			},
		},
	},
};

const u32 pagoda_nr_goldens = ARRAY_SIZE(pagoda_goldens);

PAGODA_KUNIT_PARAMS(pagoda_golden_gen_params)
{
	const struct pagoda_golden *golden = prev;

	golden = golden ? golden + 1 : pagoda_goldens;
	if (golden == pagoda_goldens + pagoda_nr_goldens)
		return NULL;
	strscpy(desc, golden->name, KUNIT_PARAM_DESC_SIZE);
	return golden;
}
