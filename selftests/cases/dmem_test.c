// SPDX-License-Identifier: GPL-2.0
/*
 * Limits and protection by control groups: the dmem controller. Clients in groups compete for
 * VRAM that holds sixteen of their allocations; what is taken from which, and what each group is
 * charged for, is exact.
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

/* Where the groups are: the kernel counts protection from the closest common ancestor. */
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

/* A group whose clients are gone has nothing, and can be removed. */
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
	/* With the reserve of the driver. */
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
	/* Again changes nothing. */
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

/* The neighbour's pieces leave for B, and B isn't charged for where they are. */
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

/* What comes back by itself is charged to the group it is of, up to its maximum. */
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

/* With a residency list, which a work item brings. */
TEST_F(dmem, residency_list)
{
	ASSERT_EQ(0, member_make(MEMBER(A), 0, 3));
	ASSERT_EQ(0, ASK(A, LIST, 0, 3));
	EXPECT_EQ(PIECES(3), group_vram(GROUP(A)));
	EXPECT_EQ(3, member_in_vram(MEMBER(A), 0, 3));
}

/* A VM's own, and what a submission lists, as soon as it is made. */
TEST_F(dmem, submission)
{
	uint64_t tables, usage;

	if (!self->dev.info.num_engines)
		SKIP(return, "no engines");
	ASSERT_EQ(0, ASK(A, VM, 0, 0));
	ASSERT_EQ(0, ASK(A, PRIVATE, 0, 0));
	ASSERT_EQ(0, ASK(A, CREATE, 1, PAGODA_IN_VRAM));
	ASSERT_EQ(0, ASK(A, SUBMIT, 0, 0));
	/* Page tables, and what the context is saved in, are the client's. */
	tables = group_vram(GROUP(A)) - PIECES(1);
	EXPECT_GT(PIECES(1), tables);
	EXPECT_EQ(PIECES(1) + tables, ASK(A, USAGE, 0, 0));
	ASSERT_EQ(0, ASK(A, SUBMIT, 1, 0));
	EXPECT_EQ(PIECES(2) + tables, group_vram(GROUP(A)));
	/* Others drive both out; the next submission brings what it uses. */
	ASSERT_EQ(0, member_make(MEMBER(B), 0, SLOTS - 1));
	ASSERT_EQ(0, ASK(B, RESIDENT_ALL, 0, SLOTS - 1));
	EXPECT_EQ(0, member_in_vram(MEMBER(A), 0, 2));
	ASSERT_EQ(0, ASK(A, SUBMIT, 1, 0));
	EXPECT_EQ(2, member_in_vram(MEMBER(A), 0, 2));
	usage = ASK(A, USAGE, 0, 0);
	EXPECT_EQ(usage, group_settled(GROUP(A), group_vram, usage));
}

/* One that waits is made by a work item: the charge, and the maximum, are the client's. */
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

/* There is room in VRAM, and others' pieces are older: the client takes its own. */
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

/* The same when VRAM is full, and with what the neighbour offered. */
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

/* A list that can't be within the maximum is refused, and costs no other client anything. */
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
	/* The next segment will do. */
	ASSERT_EQ(0, ASK(B, CREATE, 1, PAGODA_IN_VRAM | PAGODA_IN_APERTURE));
	ASSERT_EQ(0, ASK(B, RESIDENT, 1, 0));
	EXPECT_EQ(DRM_PAGODA_SEGMENT_APERTURE, ASK(B, WHERE, 1, 0));
	EXPECT_EQ(PIECES(1), group_aperture(GROUP(B)));
	EXPECT_EQ(0, group_vram(GROUP(B)));
	EXPECT_EQ(8, member_in_vram(MEMBER(NEIGHBOUR), 0, 8));
}

/* Those of the least priority leave, and nothing of others. */
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
	/* All at once leaves the pressing client nothing of its own to give up. */
	ASSERT_EQ(0, ASK(B, RESIDENT_ALL, 0, 10));
	EXPECT_EQ(PIECES(6), group_settled(GROUP(A), group_vram, PIECES(6)));
	EXPECT_EQ(-ENOMEM, ASK(B, RESIDENT_ALL, 0, 11));
	EXPECT_EQ(PIECES(6), group_vram(GROUP(A)));
	EXPECT_EQ(6, member_in_vram(MEMBER(A), 0, 8));
	EXPECT_EQ(0, member_check(MEMBER(A), 0, 8));
}

/* What is offered is protected as well as anything else. */
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
	/* Unprotected it goes first, before what B has that is older. */
	ASSERT_EQ(0, group_limit(GROUP(A), "dmem.min", "vram", 0));
	for (n = 0; n < 4; n++)
		ASSERT_EQ(0, ASK(B, RESIDENT, n, 0));
	EXPECT_EQ(PIECES(16), group_settled(GROUP(B), group_vram, PIECES(16)));
	EXPECT_EQ(0, group_vram(GROUP(A)));
	EXPECT_EQ(DRM_PAGODA_RECLAIM_DISCARDED, ASK(A, RECLAIM, 1, 0));
}

/* Older, and yet the last to go: A is protected, the neighbour isn't. */
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

/* The parent's maximum is for all its children, which page against each other only. */
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
	/* Protection by a child counts against the other. */
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

/* Charges last as long as the files do, and the regions as well. */
TEST_F(dmem, unplugged)
{
	char name[64];
	uint32_t n;

	ASSERT_EQ(0, device_name(name, sizeof(name)));
	ASSERT_EQ(0, member_bring(MEMBER(A), 0, 4, PAGODA_IN_VRAM));
	ASSERT_EQ(0, member_bring(MEMBER(A), 4, 6, PAGODA_IN_APERTURE));
	ASSERT_EQ(0, device_unbind(name));
	/* There is nothing to evict with. */
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
