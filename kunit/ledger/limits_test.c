// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of clients and users: their values, a user's share of what other users left, and that
 * every charge is undone, whatever happens to the client's file. The ABI is tested in
 * selftests/cases/limits_test.c.
 */
#include <linux/cred.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/iopoll.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <drm/drm_syncobj.h>
#include "submit/submit_helpers.h"
#include "uapi/args.h"
#include "vm/vm_helpers.h"

#define ANN	1001u
#define BOB	1002u

/* Returns a client of user @uid, as if the user had opened a file; the caller puts the client. */
static struct pagoda_client *limits_client(struct pagoda_rig *rig, u32 uid)
{
	struct cred *cred = prepare_creds();
	struct pagoda_client *client;
	const struct cred *old;

	KUNIT_ASSERT_NOT_NULL(rig->test, cred);
	cred->uid = KUIDT_INIT(uid);
	old = override_creds(cred);
	client = pagoda_client_create(rig->vidmm);
	revert_creds(old);
	put_cred(cred);
	KUNIT_ASSERT_NOT_NULL(rig->test, client);
	return client;
}

static int limits_charge(struct pagoda_client *client, enum pagoda_limit limit, u64 count)
{
	return pagoda_quota_charge(client->quota, limit, count);
}

static void limits_uncharge(struct pagoda_client *client, enum pagoda_limit limit, u64 count)
{
	pagoda_quota_uncharge(client->quota, limit, count);
}

static u64 limits_count(struct pagoda_client *client, enum pagoda_limit limit)
{
	return pagoda_quota_count(client->quota, limit);
}

/* Charges the client so that @left is left of @most. */
static void limits_leave(struct kunit *test, struct pagoda_client *client,
			 enum pagoda_limit limit, u64 most, u64 left)
{
	KUNIT_ASSERT_EQ(test, 0, limits_charge(client, limit, most - left));
}

/* ---- The rule ------------------------------------------------------------------------- */

struct limits_case {
	enum pagoda_limit limit;
	u64 client;
	u64 user;
	int error;
};

static const struct limits_case limits_cases[] = {
	{ PAGODA_LIMIT_CONTEXTS, DRM_PAGODA_MAX_CONTEXTS, DRM_PAGODA_MAX_USER_CONTEXTS, -EMFILE },
	{ PAGODA_LIMIT_JOBS, DRM_PAGODA_MAX_CLIENT_JOBS, DRM_PAGODA_MAX_USER_JOBS, -EBUSY },
	{ PAGODA_LIMIT_WAITING, DRM_PAGODA_MAX_WAITING_JOBS, DRM_PAGODA_MAX_USER_WAITING_JOBS,
	  -EBUSY },
	{ PAGODA_LIMIT_LISTENERS, DRM_PAGODA_MAX_EVENT_FILES, DRM_PAGODA_MAX_USER_EVENT_FILES,
	  -EMFILE },
};

/* Counts of all clients of a user add up; those of other users' clients don't count. */
static void limits_user(struct pagoda_rig *rig, const struct limits_case *c)
{
	u32 n, count = c->user / c->client;
	struct pagoda_client *ann[33], *bob = limits_client(rig, BOB);

	KUNIT_ASSERT_LT(rig->test, count, ARRAY_SIZE(ann));
	for (n = 0; n < count; n++) {
		ann[n] = limits_client(rig, ANN);
		KUNIT_EXPECT_EQ(rig->test, c->error,
				limits_charge(ann[n], c->limit, c->client + 1));
		KUNIT_EXPECT_EQ(rig->test, 0, limits_charge(ann[n], c->limit, c->client));
		KUNIT_EXPECT_EQ(rig->test, c->error, limits_charge(ann[n], c->limit, 1));
		KUNIT_EXPECT_EQ(rig->test, c->client, limits_count(ann[n], c->limit));
	}
	ann[n] = limits_client(rig, ANN);
	KUNIT_EXPECT_EQ(rig->test, c->error, limits_charge(ann[n], c->limit, 1));
	KUNIT_EXPECT_EQ(rig->test, 0, limits_charge(bob, c->limit, c->client));
	limits_uncharge(bob, c->limit, c->client);
	/* After a charge of one client is undone another client of the user can be charged. */
	limits_uncharge(ann[0], c->limit, c->client);
	KUNIT_EXPECT_EQ(rig->test, 0, limits_charge(ann[n], c->limit, c->client));
	limits_uncharge(ann[n], c->limit, c->client);
	pagoda_client_put(ann[n]);
	pagoda_client_put(ann[0]);
	while (--n) {
		limits_uncharge(ann[n], c->limit, c->client);
		pagoda_client_put(ann[n]);
	}
	pagoda_client_put(bob);
}

/* In each of limits_cases, a charge beyond the client's or user's limit fails with @error. */
static void limits_of_users(struct kunit *test)
{
	const struct pagoda_rig_options options = {};
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	u32 n;

	for (n = 0; n < ARRAY_SIZE(limits_cases); n++)
		limits_user(rig, &limits_cases[n]);
}

/*
 * Each user can create VMs for half, rounded up, of the address spaces that other users left: the
 * last space goes to the last user.
 */
static void limits_halves(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vms[PAGODA_RIG_SPACES] = {};
	struct pagoda_client *clients[13];
	u32 n, left, share, uid, at = 0;

	left = PAGODA_RIG_SPACES - 1;
	for (uid = 0; left; uid++) {
		struct pagoda_client *two[2];

		KUNIT_ASSERT_LT(test, 2 * uid + 2, ARRAY_SIZE(clients));
		for (n = 0; n < 2; n++) {
			two[n] = limits_client(rig, ANN + uid);
			clients[2 * uid + n] = two[n];
		}
		share = left - left / 2;
		for (n = 0; n < share; n++, at++)
			vms[at] = test_ok(test, pagoda_vm_create(rig->vidmm, two[n % 2]));
		for (n = 0; n < 2; n++)
			KUNIT_EXPECT_EQ(test, -ENOSPC,
					PTR_ERR(pagoda_vm_create(rig->vidmm, two[n])));
		left -= share;
	}
	KUNIT_EXPECT_EQ(test, PAGODA_RIG_SPACES - 1, at);
	/*
	 * The address space of a VM that Ann destroys goes to a new user: Ann still has more than
	 * half of what the others left.
	 */
	vmt_drop(vms[0]);
	KUNIT_EXPECT_EQ(test, -ENOSPC, PTR_ERR(pagoda_vm_create(rig->vidmm, clients[1])));
	clients[2 * uid] = limits_client(rig, BOB + uid);
	vms[0] = test_ok(test, pagoda_vm_create(rig->vidmm, clients[2 * uid]));
	while (at--)
		vmt_drop(vms[at]);
	KUNIT_EXPECT_EQ(test, 0ull, rig->vidmm->limits->used[PAGODA_SCARCE_SPACES]);
	for (n = 0; n <= 2 * uid; n++)
		pagoda_client_put(clients[n]);
}

/*
 * Pages pinned for other devices and for fences count together, over all clients of a user: a user
 * may have half of what other users left of a quarter of RAM.
 */
static void limits_pinned_pages(struct kunit *test)
{
	const struct pagoda_rig_options options = { .pin_limit = SZ_1T };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_client *ann[2] = { limits_client(rig, ANN), limits_client(rig, ANN) };
	struct pagoda_client *bob = limits_client(rig, BOB);
	u64 total = totalram_pages() / 4, half = total - total / 2;
	u64 quarter = total - half - (total - half) / 2;

	KUNIT_EXPECT_EQ(test, -EDQUOT, limits_charge(ann[0], PAGODA_LIMIT_SHARED, half + 1));
	KUNIT_ASSERT_EQ(test, 0, limits_charge(ann[0], PAGODA_LIMIT_SHARED, half - 1));
	KUNIT_EXPECT_EQ(test, 0, limits_charge(ann[1], PAGODA_LIMIT_FENCES, 1));
	KUNIT_EXPECT_EQ(test, -EDQUOT, limits_charge(ann[1], PAGODA_LIMIT_FENCES, 1));
	KUNIT_EXPECT_EQ(test, -EDQUOT, limits_charge(bob, PAGODA_LIMIT_SHARED, quarter + 1));
	KUNIT_EXPECT_EQ(test, 0, limits_charge(bob, PAGODA_LIMIT_SHARED, quarter));
	limits_uncharge(bob, PAGODA_LIMIT_SHARED, quarter);
	limits_uncharge(ann[0], PAGODA_LIMIT_SHARED, half - 1);
	limits_uncharge(ann[1], PAGODA_LIMIT_FENCES, 1);
	KUNIT_EXPECT_EQ(test, 0ull, rig->vidmm->limits->used[PAGODA_SCARCE_PAGES]);
	pagoda_client_put(ann[0]);
	pagoda_client_put(ann[1]);
	pagoda_client_put(bob);
}

/* ---- Each thing is charged once, and comes back ------------------------------------------ */

/* A context is charged when it is made, and another can be made after it is destroyed. */
static void limits_contexts(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_context *context;

	limits_leave(test, rig->client, PAGODA_LIMIT_CONTEXTS, DRM_PAGODA_MAX_CONTEXTS, 1);
	context = test_ok(test, pagoda_context_create(vm, 0, DRM_PAGODA_PRIORITY_NORMAL));
	KUNIT_EXPECT_EQ(test, -EMFILE,
			PTR_ERR(pagoda_context_create(vm, 0, DRM_PAGODA_PRIORITY_NORMAL)));
	pagoda_context_destroy(context);
	context = test_ok(test, pagoda_context_create(vm, 0, DRM_PAGODA_PRIORITY_NORMAL));
	pagoda_context_destroy(context);
	limits_uncharge(rig->client, PAGODA_LIMIT_CONTEXTS, DRM_PAGODA_MAX_CONTEXTS - 1);
	KUNIT_EXPECT_EQ(test, 0ull, limits_count(rig->client, PAGODA_LIMIT_CONTEXTS));
	vmt_drop(vm);
}

/*
 * Waits until no job is charged. A job is charged until it is freed, shortly after its fence
 * signalled.
 */
static void limits_expect_no_jobs(struct pagoda_rig *rig)
{
	u64 left;
	int ret = read_poll_timeout(limits_count, left, !left, 1000, 10 * USEC_PER_SEC, false,
				    rig->client, PAGODA_LIMIT_JOBS);

	KUNIT_EXPECT_EQ(rig->test, 0, ret);
	KUNIT_EXPECT_EQ(rig->test, 0ull, limits_count(rig->client, PAGODA_LIMIT_WAITING));
}

/* A context takes a limited number of jobs (-EBUSY), and takes more when these are done. */
static void limits_jobs_of_a_context(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct submit_client *other = submit_client(rig, 0);
	u32 n;

	pagoda_rig_hold(rig, 0, true);
	for (n = 0; n < DRM_PAGODA_MAX_QUEUED_JOBS; n++)
		KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, -EBUSY, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, n, limits_count(rig->client, PAGODA_LIMIT_JOBS));
	KUNIT_EXPECT_EQ(test, 0, submit_empty(other, NULL));
	pagoda_rig_hold(rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(other));
	limits_expect_no_jobs(rig);
	submit_client_end(other);
	submit_client_end(client);
}

/* Jobs of a destroyed context are charged until they are freed. */
static void limits_jobs_of_a_client(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);

	limits_leave(test, rig->client, PAGODA_LIMIT_JOBS, DRM_PAGODA_MAX_CLIENT_JOBS, 1);
	pagoda_rig_hold(rig, 0, true);
	KUNIT_EXPECT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, -EBUSY, submit_empty(client, NULL));
	/* Wait for the engine to have the job: destroying the context would cancel it before. */
	while (READ_ONCE(rig->engines[0].nr_ring) < 1)
		fsleep(100);
	pagoda_context_destroy(client->context);
	client->context = NULL;
	KUNIT_EXPECT_EQ(test, (u64)DRM_PAGODA_MAX_CLIENT_JOBS,
			limits_count(rig->client, PAGODA_LIMIT_JOBS));
	pagoda_rig_hold(rig, 0, false);
	submit_wait(client);
	limits_uncharge(rig->client, PAGODA_LIMIT_JOBS, DRM_PAGODA_MAX_CLIENT_JOBS - 1);
	limits_expect_no_jobs(rig);
	submit_client_end(client);
}

/*
 * A job beyond the limit of waiting jobs is refused without effect: the allocation that it lists
 * and the point that it would signal are as before.
 */
static void limits_waiting_jobs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct drm_syncobj *in = submit_syncobj(test), *out = submit_syncobj(test);
	const struct submit_args first = { .in = in, .in_point = 1 };
	const struct submit_args second = {
		.bos = { client->code }, .nr_bos = 1,
		.in = in, .in_point = 1, .out = out, .out_point = 1,
	};
	struct dma_fence *fence;

	limits_leave(test, rig->client, PAGODA_LIMIT_WAITING, DRM_PAGODA_MAX_WAITING_JOBS, 1);
	KUNIT_EXPECT_EQ(test, 0, submit_empty(client, &first));
	KUNIT_EXPECT_EQ(test, -EBUSY, submit_empty(client, &second));
	/* A job behind a waiting job would wait, too. */
	KUNIT_EXPECT_EQ(test, -EBUSY, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&client->vm->queued));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&client->code->wish.queued));
	KUNIT_EXPECT_FALSE(test, submit_point(out, 1, &fence));
	KUNIT_EXPECT_EQ(test, 1ull, limits_count(rig->client, PAGODA_LIMIT_JOBS));
	submit_signal(client, in, 1);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	limits_uncharge(rig->client, PAGODA_LIMIT_WAITING, DRM_PAGODA_MAX_WAITING_JOBS - 1);
	pagoda_deferred_cancel(&client->context->deferred, -ECANCELED);
	limits_expect_no_jobs(rig);
	submit_client_end(client);
}

/* A listener is charged until its file is closed. */
static void limits_listeners(struct kunit *test)
{
	const struct pagoda_rig_options options = {};
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	int fd;

	limits_leave(test, rig->client, PAGODA_LIMIT_LISTENERS, DRM_PAGODA_MAX_EVENT_FILES, 1);
	fd = pagoda_listener_open(rig->vidmm, rig->client, true);
	KUNIT_ASSERT_LE(test, 0, fd);
	KUNIT_EXPECT_EQ(test, -EMFILE, pagoda_listener_open(rig->vidmm, rig->client, true));
	KUNIT_EXPECT_EQ(test, 0, close_fd(fd));
	flush_delayed_fput();
	limits_uncharge(rig->client, PAGODA_LIMIT_LISTENERS, DRM_PAGODA_MAX_EVENT_FILES - 1);
	KUNIT_EXPECT_EQ(test, 0ull, limits_count(rig->client, PAGODA_LIMIT_LISTENERS));
}

/*
 * A held fence is charged once, however many holds it has, also after the client's file was closed.
 */
static void limits_fences(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_client *ann = limits_client(rig, ANN);
	struct pagoda_mfence *held = pagoda_mfence_create(rig->vidmm, ann, 0, 1);
	struct pagoda_mfence *more = pagoda_mfence_create(rig->vidmm, ann, 0, 1);
	struct pagoda_mfence_value entry = { more, 2 };
	struct pagoda_mfence_signal *promise;

	KUNIT_ASSERT_FALSE(test, IS_ERR(held) || IS_ERR(more));
	limits_leave(test, ann, PAGODA_LIMIT_FENCES, DRM_PAGODA_MAX_PINNED_FENCES, 1);
	promise = test_ok(test, pagoda_mfence_promise(held, 2));
	KUNIT_EXPECT_EQ(test, 0, pagoda_mfence_hold(held));
	KUNIT_EXPECT_EQ(test, -EDQUOT, pagoda_mfence_hold(more));
	KUNIT_EXPECT_EQ(test, -EDQUOT, PTR_ERR(pagoda_mfence_promise(more, 2)));
	KUNIT_EXPECT_EQ(test, -EDQUOT, pagoda_mfences_signal(rig->vidmm, &entry, 1));
	KUNIT_EXPECT_EQ(test, 0u, pagoda_mfence_bo(more)->ttm.pin_count);
	pagoda_mfence_unhold(held);
	limits_uncharge(ann, PAGODA_LIMIT_FENCES, DRM_PAGODA_MAX_PINNED_FENCES - 1);
	KUNIT_EXPECT_EQ(test, 1ull, limits_count(ann, PAGODA_LIMIT_FENCES));
	KUNIT_EXPECT_EQ(test, 0, pagoda_mfences_signal(rig->vidmm, &entry, 1));
	KUNIT_EXPECT_EQ(test, 1ull, limits_count(ann, PAGODA_LIMIT_FENCES));
	pagoda_client_put(ann);
	pagoda_mfence_put(more);
	pagoda_mfence_put(held);
	KUNIT_EXPECT_EQ(test, 1ull, rig->vidmm->limits->used[PAGODA_SCARCE_PAGES]);
	pagoda_mfence_signal_paging(promise, NULL);
	pagoda_rig_settle(rig);
	flush_workqueue(rig->vidmm->mfences->wq);
	KUNIT_EXPECT_EQ(test, 0ull, rig->vidmm->limits->used[PAGODA_SCARCE_PAGES]);
}

/*
 * Fenced jobs of a user may hold half of the VRAM that those of other users leave. The client is
 * charged for the largest number of pages granted, until its last fenced job has ended.
 */
static void limits_hold(struct kunit *test)
{
	const u64 half = PAGODA_RIG_VRAM_PAGES / 2;
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_client *ann = limits_client(rig, ANN), *bob = limits_client(rig, BOB);

	KUNIT_EXPECT_EQ(test, 0, limits_charge(ann, PAGODA_LIMIT_FENCED, 1));
	KUNIT_EXPECT_EQ(test, 0, limits_charge(ann, PAGODA_LIMIT_FENCED, 1));
	KUNIT_EXPECT_FALSE(test, pagoda_quota_hold(ann->quota, half + 1));
	KUNIT_EXPECT_EQ(test, 0ull, limits_count(ann, PAGODA_LIMIT_FENCED_PAGES));
	KUNIT_EXPECT_TRUE(test, pagoda_quota_hold(ann->quota, 1));
	KUNIT_EXPECT_EQ(test, 1ull, limits_count(ann, PAGODA_LIMIT_FENCED_PAGES));
	KUNIT_EXPECT_TRUE(test, pagoda_quota_hold(ann->quota, half));
	KUNIT_EXPECT_TRUE(test, pagoda_quota_hold(ann->quota, 1));
	KUNIT_EXPECT_EQ(test, half, limits_count(ann, PAGODA_LIMIT_FENCED_PAGES));
	KUNIT_EXPECT_EQ(test, 0, limits_charge(bob, PAGODA_LIMIT_FENCED, 1));
	KUNIT_EXPECT_FALSE(test, pagoda_quota_hold(bob->quota, half / 2 + 1));
	KUNIT_EXPECT_TRUE(test, pagoda_quota_hold(bob->quota, half / 2));
	limits_uncharge(ann, PAGODA_LIMIT_FENCED, 1);
	KUNIT_EXPECT_EQ(test, half, limits_count(ann, PAGODA_LIMIT_FENCED_PAGES));
	limits_uncharge(ann, PAGODA_LIMIT_FENCED, 1);
	KUNIT_EXPECT_EQ(test, 0ull, limits_count(ann, PAGODA_LIMIT_FENCED_PAGES));
	KUNIT_EXPECT_TRUE(test, pagoda_quota_hold(bob->quota, half));
	limits_uncharge(bob, PAGODA_LIMIT_FENCED, 1);
	pagoda_client_put(ann);
	pagoda_client_put(bob);
}

static struct kunit_case limits_test_cases[] = {
	KUNIT_CASE(limits_of_users),
	KUNIT_CASE_PARAM(limits_halves, pagoda_rig_modes),
	KUNIT_CASE(limits_pinned_pages),
	KUNIT_CASE(limits_contexts),
	KUNIT_CASE(limits_jobs_of_a_context),
	KUNIT_CASE(limits_jobs_of_a_client),
	KUNIT_CASE(limits_waiting_jobs),
	KUNIT_CASE(limits_hold),
	KUNIT_CASE(limits_listeners),
	KUNIT_CASE_PARAM(limits_fences, pagoda_rig_mmu_modes),
	{}
};

static struct kunit_suite limits_suite = {
	.name = "pagoda_limits",
	.test_cases = limits_test_cases,
};

kunit_test_suite(limits_suite);
