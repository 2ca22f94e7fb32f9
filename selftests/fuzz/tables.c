// SPDX-License-Identifier: GPL-2.0
/*
 * The page tables of address space 0 before an input is executed. The tables are in memory that the
 * input's packets may overwrite.
 */
#include "fuzz.h"

#define VRAM		((u64)VIRTIO_PAGODA_SEGMENT_VRAM << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT)
#define APERTURE	((u64)VIRTIO_PAGODA_SEGMENT_APERTURE << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT)
#define VALID		VIRTIO_PAGODA_PTE_VALID
#define ZERO		(VALID | VIRTIO_PAGODA_PTE_ZERO)

static __le64 *table_at(u8 *vram, u32 page)
{
	__le64 *table = (void *)(vram + page * FUZZ_PAGE);

	memset(table, 0, FUZZ_PAGE);
	return table;
}

/*
 * Writes a table of 4 KiB pages that maps all of VRAM, the tables included, then system memory from
 * its first address @system on; entries of other kinds follow, valid and invalid.
 */
static void leaf_4k_write(__le64 *table, u64 system)
{
	const u64 more[] = {
		VALID | APERTURE, VALID | APERTURE | FUZZ_PAGE, VALID | APERTURE | 2 * FUZZ_PAGE,
		ZERO, VALID | VRAM | VIRTIO_PAGODA_PTE_READ_ONLY, 0,
		VALID | VIRTIO_PAGODA_PTE_COHERENT | system,
		VALID | VIRTIO_PAGODA_PTE_NO_EXECUTE | (system + FUZZ_PAGE),
		VALID | VIRTIO_PAGODA_PTE_LARGE | VRAM, VALID | VRAM | FUZZ_VRAM * FUZZ_PAGE,
		VALID | (1ull << 40), VALID | APERTURE | FUZZ_APERTURE * FUZZ_PAGE,
	};
	u64 i;

	for (i = 0; i < FUZZ_VRAM; i++)
		table[i] = cpu_to_le64(VALID | VRAM | i * FUZZ_PAGE);
	for (i = 0; i < FUZZ_SYSTEM; i++)
		table[FUZZ_VRAM + i] = cpu_to_le64(VALID | (system + i * FUZZ_PAGE));
	for (i = 0; i < ARRAY_SIZE(more); i++)
		table[FUZZ_VRAM + FUZZ_SYSTEM + i] = cpu_to_le64(more[i]);
}

static void leaf_64k_write(__le64 *table, u64 system)
{
	u64 i;

	for (i = 0; i < 4; i++)
		table[i] = cpu_to_le64(VALID | VRAM | i << 16);
	table[4] = cpu_to_le64(VALID | system);
	table[5] = cpu_to_le64(VALID | (system + 0x10000));
	table[6] = cpu_to_le64(VALID | APERTURE);
	table[7] = cpu_to_le64(ZERO);
}

static void level_1_write(__le64 *table, u64 system, u32 device)
{
	u64 leaf = VALID | VRAM | FUZZ_TABLE_4K * FUZZ_PAGE;
	u64 leaf_64k = VALID | VRAM | FUZZ_TABLE_64K * FUZZ_PAGE;
	u64 words[][2] = {
		{ leaf, 0 }, { 0, leaf_64k }, { VALID | VIRTIO_PAGODA_PTE_LARGE | system, 0 },
		{ ZERO, 0 }, { VALID | (system + FUZZ_TABLE_SYS * FUZZ_PAGE), 0 },
		{ VALID | VIRTIO_PAGODA_PTE_LARGE | APERTURE, 0 }, { leaf, leaf_64k },
		{ VALID | VRAM | FUZZ_VRAM * FUZZ_PAGE, 0 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (device & FUZZ_DUAL) {
			table[2 * i] = cpu_to_le64(words[i][0]);
			table[2 * i + 1] = cpu_to_le64(words[i][1]);
		} else {
			table[i] = cpu_to_le64(words[i][0] ? words[i][0] :
					       words[i][1] | VIRTIO_PAGODA_PTE_TABLE_64K);
		}
	}
}

/* Writes the tables into @vram, and a further table into @system_table, a page of system memory. */
void fuzz_tables_write(u8 *vram, u8 *system_table, u32 device)
{
	u64 system = device & FUZZ_DEVICE_MMU ? 0 : FUZZ_BUS, i;
	__le64 *table;
	u32 level;

	leaf_4k_write(table_at(vram, FUZZ_TABLE_4K), system);
	leaf_64k_write(table_at(vram, FUZZ_TABLE_64K), system);
	table_at(vram, FUZZ_TABLE_1 + 1);
	level_1_write(table_at(vram, FUZZ_TABLE_1), system, device);
	for (level = 2; level < FUZZ_LEVELS(device); level++) {
		u64 below = level == 2 ? FUZZ_TABLE_1 : FUZZ_TABLE_2 + level - 3;

		table = table_at(vram, FUZZ_TABLE_2 + level - 2);
		table[0] = cpu_to_le64(VALID | VRAM | below * FUZZ_PAGE);
		table[1] = cpu_to_le64(ZERO);
		table[2] = cpu_to_le64(VALID | VRAM | (below + 1) * FUZZ_PAGE);
	}
	memset(system_table, 0, FUZZ_PAGE);
	for (i = 0; i < FUZZ_SYSTEM; i++)
		((__le64 *)system_table)[i] = cpu_to_le64(VALID | (system + (FUZZ_SYSTEM - 1 - i) *
								   FUZZ_PAGE));
}
