// SPDX-License-Identifier: GPL-2.0
/*
 * The dmem cgroup controller: its maximum and its protection (min, low) for the regions VRAM and
 * aperture. Clients, one in each group, compete for VRAM that holds sixteen of their allocations;
 * the tests check how many allocations leave, or which, and what each group is charged for. The
 * last test unplugs the device.
 */
#include "lib/dmem_fixture.h"
#include "lib/unplug_fixture.h"

#define SLOTS		16u

/* The groups of a test, each with one client. */
enum { A, B, NEIGHBOUR, MEMBERS };

FIXTURE(dmem) {
	struct test_device dev;
	uint64_t vram;
	uint64_t size;
	char top[64];
	char groups[MEMBERS][96];
	struct member members[MEMBERS];
};

/*
 * @nested: the groups have a parent other than the root. The kernel counts protection below the
 * closest common ancestor of the two groups concerned.
 */
FIXTURE_VARIANT(dmem) {
	bool nested;
};

FIXTURE_VARIANT_ADD(dmem, below_root) { .nested = false };
FIXTURE_VARIANT_ADD(dmem, below_parent) { .nested = true };

FIXTURE_SETUP(dmem)
{
	static const char * const names[MEMBERS] = { "a", "b", "neighbour" };
	uint32_t n;

	if (!group_controller())
		SKIP(return, "no dmem cgroup controller");
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->vram = test_vram_settled(self->dev.fd, 0);
	self->size = self->dev.vram.size / SLOTS;
	snprintf(self->top, sizeof(self->top), "pagoda-%d", getpid());
	ASSERT_EQ(0, group_make(self->top));
	if (variant->nested)
		ASSERT_EQ(0, group_write(self->top, "cgroup.subtree_control", "+dmem"));
	for (n = 0; n < MEMBERS; n++) {
		snprintf(self->groups[n], sizeof(self->groups[n]), "%s%s%s", self->top,
			 variant->nested ? "/" : "-", names[n]);
		ASSERT_EQ(0, group_make(self->groups[n]));
		ASSERT_EQ(0, member_join(&self->members[n], self->groups[n], self->size));
	}
}

/* Ends all clients: then the groups are charged for nothing, and can be removed. */
FIXTURE_TEARDOWN(dmem)
{
	uint32_t n;

	for (n = 0; n < MEMBERS; n++)
		member_leave(&self->members[n], false);
	for (n = 0; n < MEMBERS; n++) {
		EXPECT_EQ(0, group_settled(self->groups[n], group_vram, 0));
		EXPECT_EQ(0, group_settled(self->groups[n], group_aperture, 0));
		EXPECT_EQ(0, group_remove(self->groups[n]));
	}
	EXPECT_EQ(0, group_remove(self->top));
	EXPECT_EQ(self->vram, test_vram_settled(self->dev.fd, self->vram));
	close(self->dev.fd);
}

#define GROUP(n)	(self->groups[n])
#define MEMBER(n)	(&self->members[n])
#define PIECES(n)	((n) * self->size)
#define ASK(n, op, item, arg)	member_ask(MEMBER(n), MEMBER_##op, item, arg)

static uint64_t parameter(const char *name)
{
	char path[128];
	unsigned long long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/pagoda_vgpu/parameters/%s", name);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%llu", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value * PAGODA_MIB;
}

/* --- regions ------------------------------------------------------------------------------ */

TEST_F(dmem, segments_are_regions)
{
	const uint64_t vram = group_read("", "dmem.capacity", "vram", NULL);

	EXPECT_EQ(self->dev.aperture.size, group_read("", "dmem.capacity", "aperture", NULL));
	/* The region has the driver's reserve, too, which dev.vram.size hasn't. */
	EXPECT_LE(self->dev.vram.size, vram);
	if (parameter("vram_mb"))
		EXPECT_EQ(parameter("vram_mb"), vram);
	EXPECT_EQ(0, group_vram(GROUP(A)));
	EXPECT_EQ(0, group_aperture(GROUP(A)));
}

/* --- charges ------------------------------------------------------------------------------ */

TEST_F(dmem, charge_follows_moves)
{
	uint32_t n;

	ASSERT_EQ(0, ASK(A, CREATE, 0, PAGODA_IN_VRAM));
	ASSERT_EQ(0, ASK(A, CREATE, 1, PAGODA_IN_APERTURE));
	ASSERT_EQ(0, ASK(A, CREATE_SPILL, 2, 0));
	EXPECT_EQ(0, group_vram(GROUP(A)));
	EXPECT_EQ(0, group_aperture(GROUP(A)));
	ASSERT_EQ(0, ASK(A, RESIDENT, 0, 0));
	EXPECT_EQ(PIECES(1), group_vram(GROUP(A)));
	ASSERT_EQ(0, ASK(A, RESIDENT, 1, 0));
	EXPECT_EQ(PIECES(1), group_aperture(GROUP(A)));
	ASSERT_EQ(0, ASK(A, RESIDENT, 2, 0));
	EXPECT_EQ(PIECES(2), group_vram(GROUP(A)));
	/* MAKE_RESIDENT of what is resident already charges nothing. */
	ASSERT_EQ(0, ASK(A, RESIDENT, 2, 0));
	EXPECT_EQ(PIECES(2), group_vram(GROUP(A)));
	ASSERT_EQ(0, ASK(A, EVICT, 0, 0));
	EXPECT_EQ(PIECES(1), group_settled(GROUP(A), group_vram, PIECES(1)));
	ASSERT_EQ(0, ASK(A, EVICT, 2, 0));
	EXPECT_EQ(0, group_settled(GROUP(A), group_vram, 0));
	EXPECT_EQ(PIECES(2), group_settled(GROUP(A), group_aperture, PIECES(2)));
	ASSERT_EQ(0, ASK(A, EVICT, 1, 0));
	EXPECT_EQ(PIECES(1), group_settled(GROUP(A), group_aperture, PIECES(1)));
	for (n = 0; n < 3; n++) {
		ASSERT_EQ(0, ASK(A, RESIDENT, n, 0));
		ASSERT_EQ(0, ASK(A, CLOSE, n, 0));
	}
	EXPECT_EQ(0, group_settled(GROUP(A), group_vram, 0));
	EXPECT_EQ(0, group_settled(GROUP(A), group_aperture, 0));
	EXPECT_EQ(0, group_vram(GROUP(B)));
	EXPECT_EQ(0, group_aperture(GROUP(B)));
}

/*
 * Four of the neighbour's allocations leave VRAM for B's, and go to plain system memory: neither B
 * nor the neighbour is charged for aperture, though the aperture is the eviction segment.
 */
TEST_F(dmem, eviction_charges_no_other)
{
	uint32_t n;

	for (n = 0; n < 6; n++) {
		ASSERT_EQ(0, ASK(NEIGHBOUR, CREATE_SPILL, n, 0));
		ASSERT_EQ(0, ASK(NEIGHBOUR, FILL, n, 0));
		ASSERT_EQ(0, ASK(NEIGHBOUR, RESIDENT, n, 0));
	}
	ASSERT_EQ(0, member_make(MEMBER(B), 0, SLOTS - 2));
	ASSERT_EQ(0, ASK(B, RESIDENT_ALL, 0, SLOTS - 2));
	EXPECT_EQ(PIECES(SLOTS - 2), group_settled(GROUP(B), group_vram, PIECES(SLOTS - 2)));
	EXPECT_EQ(PIECES(2), group_settled(GROUP(NEIGHBOUR), group_vram, PIECES(2)));
	EXPECT_EQ(0, group_aperture(GROUP(B)));
	EXPECT_EQ(0, group_aperture(GROUP(NEIGHBOUR)));
	EXPECT_EQ(0, member_check(MEMBER(NEIGHBOUR), 0, 6));
}

/* Promotion brings back what A lost to B, charges A's group, and stops at the group's maximum. */
TEST_F(dmem, brought_back)
{
	ASSERT_EQ(0, member_bring(MEMBER(A), 0, 6, PAGODA_IN_VRAM));
	ASSERT_EQ(0, member_make(MEMBER(B), 0, SLOTS - 1));
	ASSERT_EQ(0, ASK(B, RESIDENT_ALL, 0, SLOTS - 1));
	EXPECT_EQ(PIECES(1), group_settled(GROUP(A), group_vram, PIECES(1)));
	ASSERT_EQ(0, group_limit(GROUP(A), "dmem.max", "vram", PIECES(4)));
	member_leave(MEMBER(B), false);
	EXPECT_EQ(PIECES(4), group_settled(GROUP(A), group_vram, PIECES(4)));
	usleep(500000);
	EXPECT_EQ(PIECES(4), group_vram(GROUP(A)));
	EXPECT_EQ(4, member_in_vram(MEMBER(A), 0, 6));
	EXPECT_EQ(0, group_settled(GROUP(B), group_vram, 0));
	EXPECT_EQ(0, member_check(MEMBER(A), 0, 6));
}

/* Allocations on a residency list, brought by a work item, are charged to the client's group. */
TEST_F(dmem, residency_list)
{
	ASSERT_EQ(0, member_make(MEMBER(A), 0, 3));
	ASSERT_EQ(0, ASK(A, LIST, 0, 3));
	EXPECT_EQ(PIECES(3), group_vram(GROUP(A)));
	EXPECT_EQ(3, member_in_vram(MEMBER(A), 0, 3));
}

/*
 * SUBMIT brings allocations private to the VM and those that it lists to VRAM, also after they were
 * evicted, and charges the client's group.
 */
TEST_F(dmem, submission)
{
	uint64_t tables, usage;

	if (!self->dev.info.num_engines)
		SKIP(return, "no engines");
	ASSERT_EQ(0, ASK(A, VM, 0, 0));
	ASSERT_EQ(0, ASK(A, PRIVATE, 0, 0));
	ASSERT_EQ(0, ASK(A, CREATE, 1, PAGODA_IN_VRAM));
	ASSERT_EQ(0, ASK(A, SUBMIT, 0, 0));
	/* Page tables and the context's save area are charged to the client's group, too. */
	tables = group_vram(GROUP(A)) - PIECES(1);
	EXPECT_GT(PIECES(1), tables);
	EXPECT_EQ(PIECES(1) + tables, ASK(A, USAGE, 0, 0));
	ASSERT_EQ(0, ASK(A, SUBMIT, 1, 0));
	EXPECT_EQ(PIECES(2) + tables, group_vram(GROUP(A)));
	/* B's allocations evict both of A's; A's next submission brings both back. */
	ASSERT_EQ(0, member_make(MEMBER(B), 0, SLOTS - 1));
	ASSERT_EQ(0, ASK(B, RESIDENT_ALL, 0, SLOTS - 1));
	EXPECT_EQ(0, member_in_vram(MEMBER(A), 0, 2));
	ASSERT_EQ(0, ASK(A, SUBMIT, 1, 0));
	EXPECT_EQ(2, member_in_vram(MEMBER(A), 0, 2));
	usage = ASK(A, USAGE, 0, 0);
	EXPECT_EQ(usage, group_settled(GROUP(A), group_vram, usage));
}

/*
 * A submission that waits is prepared later, by a work item: its memory is charged to the client's
 * group all the same, and is limited by that group's maximum.
 */
TEST_F(dmem, submission_that_waits)
{
	uint64_t before;

	if (!self->dev.info.num_engines)
		SKIP(return, "no engines");
	ASSERT_EQ(0, ASK(A, VM, 0, 0));
	ASSERT_EQ(0, ASK(A, PRIVATE, 0, 0));
	ASSERT_EQ(0, ASK(A, SUBMIT, 0, 0));
	before = group_vram(GROUP(A));
	ASSERT_EQ(0, member_make(MEMBER(A), 1, 3));
	ASSERT_EQ(0, ASK(A, SUBMIT_LATER, 1, 0));
	EXPECT_EQ(before, group_vram(GROUP(A)));
	ASSERT_EQ(0, ASK(A, SIGNAL, 0, 0));
	EXPECT_EQ(before + PIECES(1), group_vram(GROUP(A)));
	ASSERT_EQ(0, group_limit(GROUP(A), "dmem.max", "vram", before + PIECES(1)));
	ASSERT_EQ(0, ASK(A, SUBMIT_LATER, 2, 0));
	ASSERT_EQ(0, ASK(A, SIGNAL, 0, 0));
	EXPECT_EQ(before + PIECES(1), group_settled(GROUP(A), group_vram, before + PIECES(1)));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, ASK(A, WHERE, 2, 0));
	EXPECT_NE(DRM_PAGODA_SEGMENT_VRAM, ASK(A, WHERE, 1, 0));
}

TEST_F(dmem, death_gives_all_back)
{
	ASSERT_EQ(0, member_bring(MEMBER(A), 0, 4, PAGODA_IN_VRAM));
	ASSERT_EQ(0, member_bring(MEMBER(A), 4, 6, PAGODA_IN_APERTURE));
	EXPECT_EQ(PIECES(4), group_vram(GROUP(A)));
	EXPECT_EQ(PIECES(2), group_aperture(GROUP(A)));
	member_leave(MEMBER(A), true);
	EXPECT_EQ(0, group_settled(GROUP(A), group_vram, 0));
	EXPECT_EQ(0, group_settled(GROUP(A), group_aperture, 0));
}

/* --- max ---------------------------------------------------------------------------------- */

/*
 * A client at its group's maximum evicts its own allocations, though VRAM has room and the
 * neighbour's allocations are older.
 */
TEST_F(dmem, max_is_a_matter_of_the_group)
{
	uint32_t n;

	ASSERT_EQ(0, member_bring(MEMBER(NEIGHBOUR), 0, 4, PAGODA_IN_VRAM));
	ASSERT_EQ(0, group_limit(GROUP(A), "dmem.max", "vram", PIECES(4)));
	for (n = 0; n < 8; n++) {
		ASSERT_EQ(0, member_bring(MEMBER(A), n, n + 1, PAGODA_IN_VRAM));
		EXPECT_GE(PIECES(4), group_vram(GROUP(A)));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, ASK(A, WHERE, n, 0));
	}
	EXPECT_EQ(PIECES(4), group_settled(GROUP(A), group_vram, PIECES(4)));
	EXPECT_EQ(4, member_in_vram(MEMBER(A), 0, 8));
	EXPECT_EQ(PIECES(4), group_vram(GROUP(NEIGHBOUR)));
	EXPECT_EQ(4, member_in_vram(MEMBER(NEIGHBOUR), 0, 4));
	EXPECT_EQ(0, member_check(MEMBER(A), 0, 8));
	EXPECT_EQ(0, member_check(MEMBER(NEIGHBOUR), 0, 4));
}

/*
 * A client at its group's maximum evicts its own allocations, also when VRAM has room for just one
 * more, and even if the neighbour has offered an allocation.
 */
TEST_F(dmem, max_in_full_vram)
{
	uint32_t n;

	ASSERT_EQ(0, member_bring(MEMBER(NEIGHBOUR), 0, 11, PAGODA_IN_VRAM));
	ASSERT_EQ(0, ASK(NEIGHBOUR, OFFER, 0, 0));
	ASSERT_EQ(0, group_limit(GROUP(A), "dmem.max", "vram", PIECES(4)));
	for (n = 0; n < 8; n++) {
		ASSERT_EQ(0, member_bring(MEMBER(A), n, n + 1, PAGODA_IN_VRAM));
		EXPECT_EQ(DRM_PAGODA_SEGMENT_VRAM, ASK(A, WHERE, n, 0));
	}
	EXPECT_EQ(PIECES(4), group_settled(GROUP(A), group_vram, PIECES(4)));
	EXPECT_EQ(4, member_in_vram(MEMBER(A), 0, 8));
	EXPECT_EQ(11, member_in_vram(MEMBER(NEIGHBOUR), 0, 11));
	EXPECT_EQ(PIECES(11), group_vram(GROUP(NEIGHBOUR)));
	EXPECT_EQ(DRM_PAGODA_RECLAIM_OK, ASK(NEIGHBOUR, RECLAIM, 0, 0));
	EXPECT_EQ(0, member_check(MEMBER(NEIGHBOUR), 0, 11));
	EXPECT_EQ(0, member_check(MEMBER(A), 0, 8));
}

/* MAKE_RESIDENT of more than the group's maximum is refused and evicts nothing of others. */
TEST_F(dmem, max_refuses)
{
	ASSERT_EQ(0, member_bring(MEMBER(NEIGHBOUR), 0, 8, PAGODA_IN_VRAM));
	ASSERT_EQ(0, group_limit(GROUP(A), "dmem.max", "vram", PIECES(4)));
	ASSERT_EQ(0, member_make(MEMBER(A), 0, 5));
	EXPECT_EQ(-ENOMEM, ASK(A, RESIDENT_ALL, 0, 5));
	ASSERT_EQ(0, ASK(A, RESIDENT_ALL, 0, 4));
	EXPECT_EQ(PIECES(4), group_vram(GROUP(A)));
	EXPECT_EQ(8, member_in_vram(MEMBER(NEIGHBOUR), 0, 8));
	EXPECT_EQ(PIECES(8), group_vram(GROUP(NEIGHBOUR)));
	ASSERT_EQ(0, group_limit(GROUP(B), "dmem.max", "vram", 0));
	ASSERT_EQ(0, ASK(B, CREATE, 0, PAGODA_IN_VRAM));
	EXPECT_EQ(-ENOMEM, ASK(B, RESIDENT, 0, 0));
	/* An allocation that also supports the aperture becomes resident there instead. */
	ASSERT_EQ(0, ASK(B, CREATE, 1, PAGODA_IN_VRAM | PAGODA_IN_APERTURE));
	ASSERT_EQ(0, ASK(B, RESIDENT, 1, 0));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_APERTURE, ASK(B, WHERE, 1, 0));
	EXPECT_EQ(PIECES(1), group_aperture(GROUP(B)));
	EXPECT_EQ(0, group_vram(GROUP(B)));
	EXPECT_EQ(8, member_in_vram(MEMBER(NEIGHBOUR), 0, 8));
}

/* A lower maximum evicts from its own group only, and allocations of lower priority first. */
TEST_F(dmem, max_lowered)
{
	uint32_t n;

	ASSERT_EQ(0, member_bring(MEMBER(NEIGHBOUR), 0, 4, PAGODA_IN_VRAM));
	ASSERT_EQ(0, member_bring(MEMBER(A), 0, 8, PAGODA_IN_VRAM));
	for (n = 0; n < 3; n++)
		ASSERT_EQ(0, ASK(A, PRIORITY, n, DRM_PAGODA_RESIDENCY_HIGH));
	ASSERT_EQ(0, group_limit(GROUP(A), "dmem.max", "vram", PIECES(3)));
	EXPECT_EQ(PIECES(3), group_settled(GROUP(A), group_vram, PIECES(3)));
	EXPECT_EQ(3, member_in_vram(MEMBER(A), 0, 3));
	EXPECT_EQ(4, member_in_vram(MEMBER(NEIGHBOUR), 0, 4));
	EXPECT_EQ(0, member_check(MEMBER(A), 0, 8));
	ASSERT_EQ(0, member_bring(MEMBER(B), 0, 4, PAGODA_IN_APERTURE));
	EXPECT_EQ(PIECES(4), group_aperture(GROUP(B)));
	ASSERT_EQ(0, group_limit(GROUP(B), "dmem.max", "aperture", PIECES(1)));
	EXPECT_EQ(PIECES(1), group_settled(GROUP(B), group_aperture, PIECES(1)));
	EXPECT_EQ(0, member_check(MEMBER(B), 0, 4));
}

/* --- min and low -------------------------------------------------------------------------- */

TEST_F(dmem, min_is_kept)
{
	uint32_t n;

	ASSERT_EQ(0, group_limit(GROUP(A), "dmem.min", "vram", PIECES(6)));
	ASSERT_EQ(0, member_bring(MEMBER(A), 0, 8, PAGODA_IN_VRAM));
	ASSERT_EQ(0, member_make(MEMBER(B), 0, SLOTS));
	for (n = 0; n < SLOTS; n++) {
		ASSERT_EQ(0, ASK(B, RESIDENT, n, 0));
		ASSERT_LE(PIECES(6), group_vram(GROUP(A)));
	}
	EXPECT_EQ(PIECES(8), group_vram(GROUP(A)) + group_vram(GROUP(B)) - PIECES(8));
	/* Ten of B's at once and A's six protected ones fill VRAM: A's others have to leave. */
	ASSERT_EQ(0, ASK(B, RESIDENT_ALL, 0, 10));
	EXPECT_EQ(PIECES(6), group_settled(GROUP(A), group_vram, PIECES(6)));
	EXPECT_EQ(-ENOMEM, ASK(B, RESIDENT_ALL, 0, 11));
	EXPECT_EQ(PIECES(6), group_vram(GROUP(A)));
	EXPECT_EQ(6, member_in_vram(MEMBER(A), 0, 8));
	EXPECT_EQ(0, member_check(MEMBER(A), 0, 8));
}

/* dmem.min protects offered allocations, too. Without protection these leave first. */
TEST_F(dmem, min_keeps_offers)
{
	uint32_t n;

	ASSERT_EQ(0, group_limit(GROUP(A), "dmem.min", "vram", PIECES(4)));
	ASSERT_EQ(0, member_bring(MEMBER(A), 0, 4, PAGODA_IN_VRAM));
	for (n = 0; n < 4; n++)
		ASSERT_EQ(0, ASK(A, OFFER, n, 0));
	ASSERT_EQ(0, member_make(MEMBER(B), 0, SLOTS));
	for (n = 0; n < SLOTS; n++)
		ASSERT_EQ(0, ASK(B, RESIDENT, n, 0));
	EXPECT_EQ(PIECES(4), group_vram(GROUP(A)));
	EXPECT_EQ(DRM_PAGODA_RECLAIM_OK, ASK(A, RECLAIM, 0, 0));
	EXPECT_EQ(0, member_check(MEMBER(A), 0, 1));
	ASSERT_EQ(0, ASK(A, OFFER, 0, 0));
	/* Without protection A's offered allocations leave before any of B's. */
	ASSERT_EQ(0, group_limit(GROUP(A), "dmem.min", "vram", 0));
	for (n = 0; n < 4; n++)
		ASSERT_EQ(0, ASK(B, RESIDENT, n, 0));
	EXPECT_EQ(PIECES(16), group_settled(GROUP(B), group_vram, PIECES(16)));
	EXPECT_EQ(0, group_vram(GROUP(A)));
	EXPECT_EQ(DRM_PAGODA_RECLAIM_DISCARDED, ASK(A, RECLAIM, 1, 0));
}

/*
 * With dmem.low A's allocations, though the oldest, leave only when the neighbour, which has no
 * protection, has none left in VRAM.
 */
TEST_F(dmem, low_goes_last)
{
	ASSERT_EQ(0, group_limit(GROUP(A), "dmem.low", "vram", PIECES(6)));
	ASSERT_EQ(0, member_bring(MEMBER(A), 0, 6, PAGODA_IN_VRAM));
	ASSERT_EQ(0, member_bring(MEMBER(NEIGHBOUR), 0, 6, PAGODA_IN_VRAM));
	ASSERT_EQ(0, member_make(MEMBER(B), 0, SLOTS));
	ASSERT_EQ(0, ASK(B, RESIDENT_ALL, 0, 10));
	EXPECT_EQ(6, member_in_vram(MEMBER(A), 0, 6));
	EXPECT_EQ(PIECES(6), group_vram(GROUP(A)));
	EXPECT_EQ(0, group_settled(GROUP(NEIGHBOUR), group_vram, 0));
	ASSERT_EQ(0, ASK(B, RESIDENT_ALL, 0, 14));
	EXPECT_EQ(PIECES(2), group_settled(GROUP(A), group_vram, PIECES(2)));
	EXPECT_EQ(0, member_check(MEMBER(A), 0, 6));
	EXPECT_EQ(0, member_check(MEMBER(NEIGHBOUR), 0, 6));
}

/* --- nested groups ------------------------------------------------------------------------ */

/*
 * The parent's maximum limits its children together: they evict allocations of each other, and none
 * of a client outside of the parent. A child's dmem.min protects from the other child.
 */
TEST_F(dmem, parent)
{
	char outside[96];
	struct member m;
	uint32_t n;

	if (!variant->nested)
		SKIP(return, "the groups have no parent but the root");
	snprintf(outside, sizeof(outside), "%s-outside", self->top);
	ASSERT_EQ(0, group_make(outside));
	ASSERT_EQ(0, member_join(&m, outside, self->size));
	EXPECT_EQ(0, member_bring(&m, 0, 6, PAGODA_IN_VRAM));
	EXPECT_EQ(0, group_limit(self->top, "dmem.max", "vram", PIECES(6)));
	EXPECT_EQ(0, member_bring(MEMBER(A), 0, 6, PAGODA_IN_VRAM));
	EXPECT_EQ(PIECES(6), group_vram(GROUP(A)));
	for (n = 0; n < 4; n++) {
		EXPECT_EQ(0, member_bring(MEMBER(B), n, n + 1, PAGODA_IN_VRAM));
		EXPECT_GE(PIECES(6), group_vram(self->top));
	}
	EXPECT_EQ(PIECES(6), group_settled(self->top, group_vram, PIECES(6)));
	EXPECT_EQ(PIECES(4), group_vram(GROUP(B)));
	EXPECT_EQ(PIECES(2), group_vram(GROUP(A)));
	EXPECT_EQ(2, member_in_vram(MEMBER(A), 4, 6));
	EXPECT_EQ(6, member_in_vram(&m, 0, 6));
	/* B's dmem.min, within the parent's, protects B's allocations: A evicts A's own instead. */
	EXPECT_EQ(0, group_limit(self->top, "dmem.min", "vram", PIECES(6)));
	EXPECT_EQ(0, group_limit(GROUP(B), "dmem.min", "vram", PIECES(4)));
	for (n = 0; n < 6; n++)
		EXPECT_EQ(0, ASK(A, RESIDENT, n, 0));
	EXPECT_EQ(4, member_in_vram(MEMBER(B), 0, 4));
	EXPECT_EQ(PIECES(2), group_settled(GROUP(A), group_vram, PIECES(2)));
	EXPECT_EQ(6, member_in_vram(&m, 0, 6));
	EXPECT_EQ(0, member_check(MEMBER(A), 0, 6));
	EXPECT_EQ(0, member_check(MEMBER(B), 0, 4));
	EXPECT_EQ(0, member_check(&m, 0, 6));
	member_leave(&m, false);
	EXPECT_EQ(0, group_remove(outside));
}

/* --- unplugging --------------------------------------------------------------------------- */

/*
 * The regions of an unplugged device stay while files of the device are open. A device that is
 * bound again has new regions, without charges and limits.
 */
TEST_F(dmem, unplugged)
{
	char name[64];
	uint32_t n;

	ASSERT_EQ(0, device_name(name, sizeof(name)));
	ASSERT_EQ(0, member_bring(MEMBER(A), 0, 4, PAGODA_IN_VRAM));
	ASSERT_EQ(0, member_bring(MEMBER(A), 4, 6, PAGODA_IN_APERTURE));
	ASSERT_EQ(0, device_unbind(name));
	/* The maximum may still be lowered, but nothing can be evicted for it. */
	EXPECT_EQ(0, group_limit(GROUP(A), "dmem.max", "vram", PIECES(1)));
	EXPECT_EQ(0, group_limit(GROUP(A), "dmem.max", "aperture", 0));
	close(self->dev.fd);
	for (n = 0; n < MEMBERS; n++)
		member_leave(MEMBER(n), n == A);
	EXPECT_EQ(NO_VALUE, group_read("", "dmem.capacity", "vram", NULL));
	EXPECT_EQ(NO_VALUE, group_read("", "dmem.capacity", "aperture", NULL));
	ASSERT_EQ(0, device_bind(name));
	ASSERT_EQ(0, test_device_open(&self->dev));
	EXPECT_EQ(self->dev.aperture.size, group_read("", "dmem.capacity", "aperture", NULL));
	EXPECT_EQ(0, group_vram(GROUP(A)));
	/* New regions have no limits. */
	ASSERT_EQ(0, member_join(MEMBER(A), GROUP(A), self->size));
	EXPECT_EQ(0, member_bring(MEMBER(A), 0, 4, PAGODA_IN_VRAM));
	EXPECT_EQ(PIECES(4), group_vram(GROUP(A)));
}

TEST_HARNESS_MAIN
