// SPDX-License-Identifier: GPL-2.0
/*
 * Random changes of two spaces: maps, unmaps, invalidations, copies, evictions of tables; in each
 * update mode, with 2 to 4 levels, with and without dual PTEs, and with a TLB that caches invalid
 * entries or doesn't. The device must translate and fault as the plain list of expected mappings
 * says. This is checked in one zone (range of addresses, zone_base()) after each change, in all
 * zones of the changed space after each fourth change, and in all spaces at the end.
 */
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "rig/prove.h"
#include "mmu_helpers.h"

/* Number of random changes; fewer with KASAN, which makes each slow. */
#define STEPS		(IS_ENABLED(CONFIG_KASAN) ? 12 : 40)
#define ZONE_BLOCKS	3
#define ZONE_BYTES	((u64)ZONE_BLOCKS * SZ_2M)
#define MAX_EXTENTS	8
#define MAX_MAPS	3

/* Returns the first address of a zone: 0 is low, 1 begins 2 MiB below 1 GiB, 2 is far away. */
static u64 zone_base(const struct mmu_variant *variant, u32 zone)
{
	const u64 far = variant->levels == 2 ? 20ull * SZ_1G :
			variant->levels == 3 ? 300ull * SZ_1G : 1ull << 46;
	const u64 bases[] = { SZ_2M, (u64)SZ_1G - SZ_2M, far };

	return bases[zone];
}

/* The memory of a random map: extents, or an ADL with its pages. */
struct random_map {
	struct pagoda_map_extent extents[MAX_EXTENTS];
	struct pagoda_adl adl;
	dma_addr_t pages[ZONE_BYTES / SZ_4K];
};

static u32 random_below(struct mmu_rig *rig, u32 limit)
{
	return prandom_u32_state(&rig->rnd) % limit;
}

/* Returns the unit of random sizes and addresses: a block, a chunk or a page. */
static u64 random_unit(struct mmu_rig *rig)
{
	static const u64 units[] = { SZ_2M, SZ_64K, SZ_64K, SZ_4K };

	return units[random_below(rig, ARRAY_SIZE(units))];
}

static void random_range(struct mmu_rig *rig, u64 *va, u64 *size)
{
	u64 unit = random_unit(rig), first, nr;

	first = random_below(rig, ZONE_BYTES / unit);
	nr = 1 + random_below(rig, ZONE_BYTES / unit - first);
	if (random_below(rig, 2))
		nr = min(nr, 40ull);
	*va = zone_base(&rig->variant, random_below(rig, 3)) + first * unit;
	*size = nr * unit;
}

static void random_extents(struct mmu_rig *rig, struct random_map *random, struct pagoda_map *map)
{
	u64 left = map->window ?: map->size, unit = random_unit(rig);
	u32 nr = 0;

	while (left) {
		struct pagoda_map_extent *extent = &random->extents[nr++];
		bool vram = random_below(rig, 5);
		u64 size = (1 + random_below(rig, 64)) * unit;

		if (nr == MAX_EXTENTS || size > left)
			size = left;
		extent->segment = vram ? VIRTIO_PAGODA_SEGMENT_VRAM :
					 VIRTIO_PAGODA_SEGMENT_SYSTEM;
		extent->address = MMU_RIG_VRAM / 2 + (random_below(rig, 64) * unit & (SZ_64M - 1));
		if (!vram)
			extent->address += MMU_RIG_DATA_BUS;
		extent->size = size;
		left -= size;
	}
	map->extents = random->extents;
	map->nr_extents = nr;
}

static void random_adl(struct mmu_rig *rig, struct random_map *random, struct pagoda_map *map)
{
	u32 i, nr = (map->window ?: map->size) / SZ_4K;

	for (i = 0; i < nr; i++)
		random->pages[i] = MMU_RIG_DATA_BUS + SZ_4K * (u64)random_below(rig, SZ_64K);
	map->adl_offset = map->window || random_below(rig, 2) ? 0 : nr / 2;
	if (!map->window)
		map->size = (nr - map->adl_offset) * SZ_4K;
	random->adl = (struct pagoda_adl) { .nr_pages = nr, .pages = random->pages };
	map->adl = &random->adl;
}

/* Gives one of three maps, if large enough, a repeating window, shown from any of its pages on. */
static void random_window(struct mmu_rig *rig, struct pagoda_map *map)
{
	u64 pages = map->size / SZ_4K, unit = random_unit(rig) / SZ_4K;

	if (random_below(rig, 3) || pages < 2 * unit)
		return;
	map->window = (1 + random_below(rig, pages / unit - 1)) * unit * SZ_4K;
	if (random_below(rig, 2))
		map->first = random_below(rig, map->window / SZ_4K) * SZ_4K;
}

static struct pagoda_map random_map(struct mmu_rig *rig, struct random_map *random)
{
	struct pagoda_map map = { .kind = random_below(rig, 4) };

	random_range(rig, &map.va, &map.size);
	if (map.kind > PAGODA_MAP_MEMORY)
		map.kind = PAGODA_MAP_MEMORY;
	if (map.kind != PAGODA_MAP_MEMORY)
		return map;
	map.allocation = 1 + random_below(rig, 8);
	map.driver_protection = prandom_u32_state(&rig->rnd);
	map.flags = random_below(rig, 4) ? 0 : PAGODA_PTE_READ_ONLY;
	random_window(rig, &map);
	if (random_below(rig, 3))
		random_extents(rig, random, &map);
	else
		random_adl(rig, random, &map);
	return map;
}

static void step_maps(struct mmu_rig *rig, u32 space, struct random_map *random)
{
	u32 i, nr = 1 + random_below(rig, MAX_MAPS);
	struct pagoda_map maps[MAX_MAPS];

	for (i = 0; i < nr; i++)
		maps[i] = random_map(rig, &random[i]);
	KUNIT_ASSERT_EQ(rig->test, 0, mmu_rig_change(rig, space, maps, nr));
}

/* Invalidates random whole blocks, because a large page can't be invalidated in part. */
static void step_invalidate(struct mmu_rig *rig, u32 space)
{
	u64 va, size;

	random_range(rig, &va, &size);
	size += va & (SZ_2M - 1);
	mmu_rig_invalidate(rig, space, round_down(va, SZ_2M), round_up(size, SZ_2M));
}

static void step_evict(struct mmu_rig *rig, u32 space)
{
	bool root = !random_below(rig, 4);
	u32 nr = 1 + random_below(rig, 3);
	void *table = NULL;

	while (nr--) {
		table = mmu_rig_any_table(rig, space, root && !nr);
		if (!table)
			continue;
		if (root && !nr)
			pagoda_space_detach(rig->spaces[space]);
		mmu_rig_evict(rig, space, table);
	}
	/* Half of the time mappings are invalidated while tables are evicted. */
	if (random_below(rig, 2))
		step_invalidate(rig, space);
	KUNIT_ASSERT_EQ(rig->test, 0, mmu_rig_restore(rig, space));
}

static void step_copy(struct mmu_rig *rig, u32 space)
{
	struct pagoda_space_copy copies[2];
	u32 i, nr = 1 + random_below(rig, 2);

	for (i = 0; i < nr; i++) {
		u64 half = ZONE_BYTES / 2, unit = random_unit(rig);

		unit = min_t(u64, unit, SZ_64K);
		copies[i].size = (1 + random_below(rig, half / unit / 2)) * unit;
		copies[i].src = zone_base(&rig->variant, random_below(rig, 3)) +
				random_below(rig, half / unit / 2) * unit;
		copies[i].dst = zone_base(&rig->variant, random_below(rig, 3)) + half +
				random_below(rig, half / unit / 2) * unit;
		if (random_below(rig, 2))
			continue;
		/* The destination is up to 16 units above or below the source: both may overlap. */
		copies[i].dst = copies[i].src + (1 + random_below(rig, 16)) * unit;
		if (random_below(rig, 2))
			swap(copies[i].src, copies[i].dst);
	}
	KUNIT_ASSERT_EQ(rig->test, 0, mmu_rig_copy(rig, space, copies, nr));
}

static void random_step(struct mmu_rig *rig, u32 space, struct random_map *random)
{
	switch (random_below(rig, 8)) {
	case 0:
		step_invalidate(rig, space);
		break;
	case 1:
		step_evict(rig, space);
		break;
	case 2:
		step_copy(rig, space);
		break;
	default:
		step_maps(rig, space, random);
	}
}

static void check_zone(struct mmu_rig *rig, u32 space, u32 zone)
{
	mmu_rig_check(rig, space, zone_base(&rig->variant, zone), ZONE_BYTES);
}

static void check_space(struct mmu_rig *rig, u32 space)
{
	u32 zone;

	for (zone = 0; zone < 3; zone++)
		check_zone(rig, space, zone);
}

static void random_variant(struct kunit *test, const struct mmu_variant *variant, u64 seed)
{
	struct random_map *random = kunit_kmalloc_array(test, MAX_MAPS, sizeof(*random),
							GFP_KERNEL);
	struct mmu_rig *rig;
	u32 step, space;

	KUNIT_ASSERT_NOT_NULL(test, random);
	kunit_info(test, "seed %llu mode %u levels %u dual %d not cached %d", seed, variant->mode,
		   variant->levels, variant->dual, variant->not_cached);
	rig = mmu_rig_make(test, variant, seed);
	rig->spread = true;
	for (step = 0; step < STEPS; step++) {
		space = 1 + random_below(rig, 2);
		random_step(rig, space, random);
		if (step % 4 == 3)
			check_space(rig, space);
		else
			check_zone(rig, space, random_below(rig, 3));
	}
	check_space(rig, 1);
	check_space(rig, 2);
	check_space(rig, 3);
}

static void mmu_random_modes(struct kunit *test)
{
	const struct mmu_variant *variant = test->param_value;

	random_variant(test, variant, 0x9a60da00 + variant->levels);
}

static const struct mmu_variant variants[] = {
#define KINDS(mode, levels) \
	{ mode, levels, false, false }, { mode, levels, true, false }, \
	{ mode, levels, false, true }, { mode, levels, true, true }
#define MODES(levels) \
	KINDS(VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, levels), \
	KINDS(VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, levels), \
	KINDS(VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, levels)
	MODES(2), MODES(3), MODES(4),
};

static void variant_name(const struct mmu_variant *variant, char *name)
{
	static const char * const modes[] = { "cpu_virtual", "gpu_virtual", "gpu_physical" };

	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s, %u levels%s%s", modes[variant->mode],
		 variant->levels, variant->dual ? ", dual" : "",
		 variant->not_cached ? ", not cached" : "");
}

KUNIT_ARRAY_PARAM(variants, variants, variant_name);

static struct kunit_case mmu_random_cases[] = {
	PAGODA_CASE_PARAM_SLOW(mmu_random_modes, variants_gen_params),
	{}
};

static struct kunit_suite mmu_random_suite = {
	.name = "pagoda_mmu_random",
	.test_cases = mmu_random_cases,
};

kunit_test_suite(mmu_random_suite);
