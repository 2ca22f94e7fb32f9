// SPDX-License-Identifier: GPL-2.0
/*
 * Tests that the first job after a VM_BIND finds at each address the page that was mapped there
 * last. The job before has read all addresses, so that the TLB of the engine has the former
 * translations of all, and one in LATE flushes is executed late.
 */
#include <linux/dma-fence-chain.h>
#include <linux/moduleparam.h>
#include <linux/prandom.h>
#include "rig/vidmm_helpers.h"
#include "submit_helpers.h"
#include "vm/vm_helpers.h"

#define HERE		SZ_4M
#define ADDRESSES	64u	/* pages that the jobs read */
#define PAGES		48u	/* of each allocation */
#define BOS		2u
#define BINDS		16u	/* most entries of a VM_BIND */
#define LATE		8u	/* one in so many flushes is executed late */
#define MODES		6u	/* number of pagoda_rig_modes */
#define QUEUED		16u	/* one in so many jobs isn't fenced */
#define MOVES		32u	/* every so many jobs one allocation moves */

static uint remaps = 100000;
module_param(remaps, uint, 0444);
MODULE_PARM_DESC(remaps, "Pages that the suite pagoda_remap maps anew, in all update modes together");

struct remap_world {
	struct pagoda_rig *rig;
	struct submit_client *client;
	struct rnd_state rnd;
	struct submit_args args;	/* lists the allocations */
	u32 pages[ADDRESSES];		/* index of allocation * PAGES + page that is mapped */
};

/* Returns the first 8 bytes of a page: vmt_number() numbers words of 4 bytes. */
static u64 remap_word(u32 page)
{
	u32 low = page * VM_WORDS;

	return (u64)(low + 1) << 32 | low;
}

static u32 remap_below(struct remap_world *w, u32 limit)
{
	return pagoda_kunit_below(&w->rnd, limit);
}

static void remap_entry(struct remap_world *w, struct pagoda_bind *bind, u32 address)
{
	u32 page = remap_below(w, BOS * PAGES);

	*bind = (struct pagoda_bind) {
		.type = DRM_PAGODA_BIND_MAP,
		.bo = w->args.bos[page / PAGES],
		.address = HERE + (u64)address * PAGE_SIZE,
		.size = PAGE_SIZE,
		.offset = (u64)(page % PAGES) * PAGE_SIZE,
	};
	w->pages[address] = page;
}

static void remap_bind(struct remap_world *w, const struct pagoda_bind *binds, u32 count)
{
	struct dma_fence *fence;

	KUNIT_ASSERT_EQ(w->rig->test, 0, pagoda_vm_bind(w->client->vm, binds, count, &fence));
	dma_fence_put(fence);
}

/*
 * Maps random pages at random addresses by one VM_BIND, which may map an address twice. Returns the
 * number of entries.
 */
static u32 remap_some(struct remap_world *w)
{
	struct pagoda_bind binds[BINDS];
	u32 count = 1 + remap_below(w, BINDS), i;

	for (i = 0; i < count; i++)
		remap_entry(w, &binds[i], remap_below(w, ADDRESSES));
	remap_bind(w, binds, count);
	return count;
}

/*
 * Waits for the last job, and returns the error of the job's fence. The fence of the timeline's
 * point signals a tick or two later than the job's own fence: waiting for the point would take most
 * of the test's time.
 */
static int remap_wait(struct remap_world *w)
{
	struct dma_fence *point, *job;
	int error = 0;

	if (!submit_point(w->client->done, w->client->sent, &point))
		return submit_wait(w->client);
	job = point ? dma_fence_chain_contained(point) : NULL;
	if (job) {
		dma_fence_wait(job, false);
		error = job->error;
	}
	dma_fence_put(point);
	return error;
}

/*
 * Submits a job that compares the word at each address with that of the page that should be mapped
 * there, and expects the job to end without a fault.
 */
static void remap_look(struct remap_world *w, u32 done)
{
	u32 i;

	for (i = 0; i < ADDRESSES; i++)
		submit_compare(w->client, HERE + (u64)i * PAGE_SIZE, remap_word(w->pages[i]));
	KUNIT_ASSERT_EQ_MSG(w->rig->test, 0, submit_job(w->client, &w->args), "after %u", done);
	KUNIT_ASSERT_EQ_MSG(w->rig->test, 0, remap_wait(w), "after %u", done);
}

static struct remap_world *remap_world(struct kunit *test)
{
	struct remap_world *w = test_zalloc(test, sizeof(*w));
	const struct pagoda_bind reserve = {
		.type = DRM_PAGODA_BIND_RESERVE,
		.address = HERE,
		.size = ADDRESSES * PAGE_SIZE,
	};
	struct pagoda_bind binds[BINDS];
	u32 i;

	pagoda_kunit_seed(test, &w->rnd);
	w->rig = submit_rig(test);
	w->client = submit_client(w->rig, 0);
	w->args.nr_bos = BOS;
	for (i = 0; i < BOS; i++) {
		w->args.bos[i] = pagoda_rig_bo(w->rig, PAGES, VM_CPU, VM_VRAM | VM_APERTURE, 0);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(w->args.bos[i]));
		vmt_number(w->rig, w->args.bos[i], i * PAGES * VM_WORDS);
	}
	remap_bind(w, &reserve, 1);
	for (i = 0; i < ADDRESSES; i++) {
		remap_entry(w, &binds[i % BINDS], i);
		if (i % BINDS == BINDS - 1)
			remap_bind(w, binds, BINDS);
	}
	remap_look(w, 0);
	return w;
}

static void remap_is_seen(struct kunit *test)
{
	struct remap_world *w = remap_world(test);
	u32 wanted = remaps / MODES, done = 0, jobs = 0, i;
	struct pagoda_bo *bo;

	w->rig->flush_late = LATE;
	while (done < wanted) {
		done += remap_some(w);
		if (!(++jobs % MOVES)) {
			bo = w->args.bos[jobs / MOVES % BOS];
			KUNIT_ASSERT_EQ(test, 0, pagoda_bo_is_in_vram(bo) ?
					pagoda_rig_to_aperture(bo, false) : pagoda_rig_to_vram(bo));
		}
		w->args.fenced = jobs % QUEUED;
		remap_look(w, done);
	}
	KUNIT_EXPECT_GE(test, w->rig->flushes, jobs);
	w->rig->flush_late = 0;
	for (i = 0; i < BOS; i++)
		submit_close(w->client, w->args.bos[i]);
	submit_client_end(w->client);
}

static struct kunit_case remap_cases[] = {
	PAGODA_CASE_PARAM_SLOW(remap_is_seen, pagoda_rig_modes),
	{}
};

static struct kunit_suite remap_suite = {
	.name = "pagoda_remap",
	.test_cases = remap_cases,
};

kunit_test_suite(remap_suite);
