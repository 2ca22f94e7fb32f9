// SPDX-License-Identifier: GPL-2.0
/*
 * Tests that what clients hold of a segment, and the driver for no client, is together what TTM
 * counts as the segment's usage, whatever happens to allocations.
 */
#include <drm/drm_file.h>
#include "queue/queue_helpers.h"
#include "residency/offer_helpers.h"
#include "rig/vidmm_helpers.h"
#include "ttm/prime_helpers.h"

#define HERE	SZ_4M
#define PAGES	8u
#define BYTES	(PAGES * PAGE_SIZE)

static u64 held_by(struct pagoda_client *client, u32 segment)
{
	return pagoda_holding_bytes(client->closing.vidmm->holdings, &client->holding, segment);
}

static u64 charged_to(struct pagoda_client *client, u32 segment)
{
	return atomic64_read(&client->budget.segment_bytes[segment]);
}

static u64 held_by_all(struct pagoda_rig *rig, u32 segment)
{
	struct pagoda_holdings *holdings = rig->vidmm->holdings;
	struct pagoda_holding *holding;
	u64 bytes = 0;

	spin_lock(&holdings->lock);
	list_for_each_entry(holding, &holdings->all, node)
		bytes += holding->bytes[segment];
	spin_unlock(&holdings->lock);
	return bytes;
}

/* Expects TTM's usage of VRAM and of the aperture to be what clients and the driver itself hold. */
static void holdings_expect(struct pagoda_rig *rig)
{
	struct kunit *test = rig->test;

	KUNIT_EXPECT_EQ(test, held_by_all(rig, VIRTIO_PAGODA_SEGMENT_VRAM),
			ttm_resource_manager_usage(&rig->vidmm->vram->manager));
	KUNIT_EXPECT_EQ(test, held_by_all(rig, VIRTIO_PAGODA_SEGMENT_APERTURE),
			ttm_resource_manager_usage(ttm_manager_type(&rig->vidmm->ttm, TTM_PL_TT)));
}

/*
 * Page tables in segments, save areas, code, and an allocation in VRAM and one in the aperture are
 * held by their client. When moves are done the client holds what its budget is charged for.
 */
static void holdings_at_rest(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(client, PAGES, SUBMIT_VRAM, HERE);
	struct pagoda_bo *pages = pagoda_rig_bo(rig, PAGES, CPU, SUBMIT_APERTURE, 0);
	u32 id;

	holdings_expect(rig);
	submit_store(client, HERE, 3);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, pages));
	holdings_expect(rig);
	settle_moves(rig);
	holdings_expect(rig);
	for (id = VIRTIO_PAGODA_SEGMENT_VRAM; id <= VIRTIO_PAGODA_SEGMENT_APERTURE; id++)
		KUNIT_EXPECT_EQ(test, held_by(rig->client, id), charged_to(rig->client, id));
	KUNIT_EXPECT_LE(test, BYTES, held_by(rig->client, VIRTIO_PAGODA_SEGMENT_VRAM));
	KUNIT_EXPECT_LE(test, BYTES, held_by(rig->client, VIRTIO_PAGODA_SEGMENT_APERTURE));
	pagoda_vm_forget(client->vm, bo);
	submit_client_end(client);
	pagoda_rig_close(bo);
	pagoda_rig_close(pages);
	settle_moves(rig);
	holdings_expect(rig);
}

/*
 * The VRAM of an allocation that was moved away, or closed, while jobs use the allocation is held
 * until the jobs' fence signals.
 */
static void holdings_in_flight(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	const u32 vram = VIRTIO_PAGODA_SEGMENT_VRAM;
	struct dma_fence *fence = pagoda_test_fence(test);
	struct pagoda_bo *moves = piece(rig, CPU, SUBMIT_VRAM, 1);
	struct pagoda_bo *closed = piece(rig, CPU, SUBMIT_VRAM, 2);
	u64 before, size = moves->ttm.base.size;

	settle_moves(rig);
	before = held_by(rig->client, vram);
	make_busy(rig, moves, fence);
	make_busy(rig, closed, fence);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(moves));
	KUNIT_EXPECT_FALSE(test, in_vram(moves));
	KUNIT_EXPECT_EQ(test, before, held_by(rig->client, vram));
	KUNIT_EXPECT_EQ(test, before - size, charged_to(rig->client, vram));
	holdings_expect(rig);
	pagoda_rig_close(closed);
	KUNIT_EXPECT_EQ(test, before, held_by(rig->client, vram));
	holdings_expect(rig);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	settle_moves(rig);
	KUNIT_EXPECT_EQ(test, before - 2 * size, held_by(rig->client, vram));
	holdings_expect(rig);
	pagoda_rig_close(moves);
}

/*
 * A client whose file is closed holds the place of its last allocation until the allocation's fence
 * signals.
 */
static void holdings_of_a_closed_client(struct kunit *test)
{
	const struct pagoda_bo_params params = { .size = BYTES, .supported = SUBMIT_VRAM };
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct dma_fence *fence = pagoda_test_fence(test);
	const u32 vram = VIRTIO_PAGODA_SEGMENT_VRAM;
	struct pagoda_client *other = pagoda_client_create(rig->vidmm);
	struct pagoda_bo *bo;
	u64 before = held_by_all(rig, vram);

	KUNIT_ASSERT_NOT_NULL(test, other);
	bo = pagoda_bo_create(rig->vidmm, other, &params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(bo));
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bo));
	pagoda_client_put(other);
	make_busy(rig, bo, fence);
	pagoda_rig_close(bo);
	KUNIT_EXPECT_EQ(test, before + BYTES, held_by_all(rig, vram));
	holdings_expect(rig);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	settle_moves(rig);
	KUNIT_EXPECT_EQ(test, before, held_by_all(rig, vram));
	holdings_expect(rig);
}

/*
 * Imported memory in the aperture is held by no client before the first handle is opened, and then
 * by the client that has this handle.
 */
static void holdings_of_imports(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct prime_memory *memory = prime_memory(test, true, PRIME_PAGES * PAGE_SIZE);
	struct pagoda_bo *bo = prime_import(rig, memory->dma_buf);
	const u32 aperture = VIRTIO_PAGODA_SEGMENT_APERTURE;
	struct drm_file *file = test_zalloc(test, sizeof(*file));
	u64 before = held_by(rig->client, aperture);

	file->driver_priv = rig->client;
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bo));
	KUNIT_EXPECT_EQ(test, before, held_by(rig->client, aperture));
	holdings_expect(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_handle_open(pagoda_bo_gem(bo), file));
	KUNIT_EXPECT_EQ(test, before + PRIME_PAGES * PAGE_SIZE,
			held_by(rig->client, aperture));
	holdings_expect(rig);
	pagoda_handle_close(pagoda_bo_gem(bo), file);
	pagoda_rig_close(bo);
	prime_put(memory->dma_buf);
	prime_settle(rig);
	KUNIT_EXPECT_EQ(test, before, held_by(rig->client, aperture));
	holdings_expect(rig);
}

static struct kunit_case holdings_cases[] = {
	KUNIT_CASE_PARAM(holdings_at_rest, pagoda_rig_modes),
	KUNIT_CASE_PARAM(holdings_in_flight, pagoda_rig_modes),
	KUNIT_CASE_PARAM(holdings_of_a_closed_client, pagoda_rig_modes),
	KUNIT_CASE(holdings_of_imports),
	{ }
};

static struct kunit_suite holdings_suite = {
	.name = "pagoda_holdings",
	.test_cases = holdings_cases,
};

kunit_test_suite(holdings_suite);
