// SPDX-License-Identifier: GPL-2.0
/* Test of a move in several pieces: each transfer names the generation of the aperture mapping. */
#include "rig/rig.h"
#include "rig/spy.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY

/*
 * A move from scattered VRAM to a range of the aperture takes a transfer for each piece, each of
 * which names the generation of the range's mapping.
 */
static void pieces_have_the_generation(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	u32 count = PAGODA_RIG_VRAM_PAGES / 2, i;
	struct pagoda_bo **odd = test_calloc(test, count, sizeof(*odd));
	struct pagoda_bo *first = pagoda_rig_bo(rig, 5, CPU | PHYSICAL, VRAM | APERTURE, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 50, CPU | PHYSICAL, VRAM | APERTURE, 0);
	const struct pagoda_spy_note *note;
	struct pagoda_spy *spy;
	u32 generation;

	pagoda_rig_fragment(rig, odd, count);
	/* Use up generations, so that @bo gets neither the first nor the second. */
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(first, true));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(first));
		pagoda_rig_settle_freed(rig);
	}
	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_rig_settle(rig);
	spy = pagoda_spy_begin(rig, bo);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_spy_end(spy);
	generation = pagoda_aperture_of(bo->ttm.resource)->generation;
	KUNIT_EXPECT_NE(test, 0u, generation);
	for (i = 0; (note = pagoda_spy_find(spy, VIRTIO_PAGODA_OP_TRANSFER, bo->id, i)); i++)
		KUNIT_EXPECT_EQ_MSG(test, generation, note->op.transfer.dst.generation,
				    "transfer %u", i);
	KUNIT_EXPECT_GT(test, i, 10u);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
	pagoda_rig_close(first);
	while (count)
		pagoda_rig_close(odd[--count]);
}

static struct kunit_case pieces_cases[] = {
	KUNIT_CASE(pieces_have_the_generation),
	{}
};

static struct kunit_suite pieces_suite = {
	.name = "pagoda_move_pieces",
	.test_cases = pieces_cases,
};

kunit_test_suite(pieces_suite);
