// SPDX-License-Identifier: GPL-2.0
/*
 * The machine's first device with its driver as a whole: defaults of the module's parameters,
 * events that were lost or tell of a reset; contexts, queues, monitored fences and managers without
 * memory.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <drm/drm_device.h>
#include "core/device.h"
#include "core/life.h"
#include "driver.h"
#include "queue/exec.h"
#include "queue/queue.h"
#include "rig/vidmm_helpers.h"
#include "vidmm/fence/internal.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/vm/vm.h"
#include "virtio/internal.h"
#include "uapi_helpers.h"

/* An id that the driver gives to no context, because it counts them from 1. */
#define UNUSED_CONTEXT	BIT_ULL(62)

static struct pagoda_device *device_of(struct uapi_client *client)
{
	return pagoda_device_of_drm(uapi_drm(client));
}

/* The parameters of a driver that is built in have the defaults that modinfo tells. */
static void device_has_the_defaults(struct kunit *test)
{
	const struct pagoda_options *options = &pagoda_options;
	struct uapi_client *client = uapi_open(test);

	if (!UAPI_BUILT_IN)
		kunit_skip(test, "the module's parameters are out of reach");
	KUNIT_EXPECT_FALSE(test, options->use_cpu);
	KUNIT_EXPECT_EQ(test, 1000u, options->timeout_ms);
	KUNIT_EXPECT_EQ(test, 2000u, options->job_timeout_ms);
	KUNIT_EXPECT_STREQ(test, "gpu_physical", pagoda_vidmm_mode_name(options->update_mode));
	KUNIT_EXPECT_FALSE(test, options->lru);
	KUNIT_EXPECT_TRUE(test, device_of(client)->vidmm->victims->asked);
	KUNIT_EXPECT_EQ(test, 10u, options->promote_ms);
	KUNIT_EXPECT_EQ(test, 2u, options->traffic_share);
	KUNIT_EXPECT_EQ(test, 10u, options->submit_share);
	KUNIT_EXPECT_EQ(test, 0u, options->pin_limit_mb);
	KUNIT_EXPECT_EQ(test, -1, options->reserve_kb);
	KUNIT_EXPECT_EQ(test, -1, options->copies_mb);
	KUNIT_EXPECT_FALSE(test, options->defer_jobs);
	KUNIT_EXPECT_EQ(test, 8u, options->ahead_jobs);
	KUNIT_EXPECT_EQ(test, 0u, options->record_kb);
	uapi_close(client);
}

static void device_wait_ends(struct pagoda_mfence_wait *wait, int error)
{
	u32 *ended = wait->arg;

	++*ended;
}

/*
 * Passes an event to the driver, as the virtio layer does, and waits until the driver has tested
 * the waits that the event concerns.
 */
static void device_tell(struct pagoda_device *pagoda, const struct pagoda_event *event)
{
	pagoda_device_callbacks.event(pagoda, event);
	flush_workqueue(pagoda->vidmm->mfences->wq);
}

/*
 * An event of a context has waits tested only for fences of clients that have jobs at an engine.
 * If events were lost before, the waits of all clients are tested.
 */
static void device_loses_events(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_device *pagoda = device_of(client);
	struct pagoda_event event = { .type = VIRTIO_PAGODA_EVENT_FENCE, .context = 1 };
	struct pagoda_mfence_wait wait;
	struct pagoda_mfence *mfence;
	u32 ended = 0;

	mfence = test_ok(test, pagoda_mfence_create(pagoda->vidmm, client->file->driver_priv, 0,
						    0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_mfence_wait_init(&wait, mfence, 1, device_wait_ends,
							 &ended));
	pagoda_mfence_wait_arm(&wait);
	flush_workqueue(pagoda->vidmm->mfences->wq);
	WRITE_ONCE(*(u64 *)page_address(pagoda_mfence_bo(mfence)->ttm.ttm->pages[0]), 1);
	device_tell(pagoda, &event);
	KUNIT_EXPECT_EQ(test, 0, ended);
	event.lost = 1;
	device_tell(pagoda, &event);
	KUNIT_EXPECT_EQ(test, 1, ended);
	pagoda_mfence_wait_fini(&wait);
	pagoda_mfence_put(mfence);
	uapi_close(client);
}

/* An event of a reset has the device reset once more; an event of a fault has no such effect. */
static void device_tells_of_a_reset(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_device *pagoda = device_of(client);
	struct pagoda_vidmm *vidmm = pagoda->vidmm;
	struct pagoda_event event = { .type = VIRTIO_PAGODA_EVENT_FAULT };
	u64 before = pagoda_reset_count(vidmm);

	device_tell(pagoda, &event);
	flush_work(&vidmm->reset->told);
	KUNIT_EXPECT_EQ(test, before, pagoda_reset_count(vidmm));
	event.type = VIRTIO_PAGODA_EVENT_RESET;
	device_tell(pagoda, &event);
	flush_work(&vidmm->reset->told);
	KUNIT_EXPECT_EQ(test, before + 1, pagoda_reset_count(vidmm));
	pagoda_reset_wait(vidmm);
	uapi_close(client);
}

/*
 * Calls @make(@arg) with each of its memory allocations failing in turn, and at last with none.
 * Expects -ENOMEM or an object, which @undo destroys. Returns how often the result was -ENOMEM.
 */
static u32 device_starve(struct uapi_client *client, void *(*make)(void *arg),
			 void (*undo)(void *made), void *arg)
{
	u32 nth = 0, next, failed = 0;
	void *made;

	uapi_fail_begin(client);
	do {
		next = ++nth;
		uapi_fail_nth(&next);
		made = make(arg);
		uapi_fail_nth(&next);
		if (IS_ERR(made)) {
			KUNIT_EXPECT_EQ_MSG(client->test, -ENOMEM, PTR_ERR(made), "allocation %u",
					    nth);
			failed++;
		} else {
			undo(made);
		}
	} while (!next);
	uapi_fail_end(client);
	return failed;
}

static void *device_make_context(void *engines)
{
	return pagoda_exec_context_create(engines, 0, PAGODA_EXEC_NORMAL, UNUSED_CONTEXT, 0, NULL);
}

static void device_end_context(void *context)
{
	pagoda_exec_context_destroy(context);
}

/* Without memory, pagoda_exec_context_create() fails with -ENOMEM, whichever allocation fails. */
static void device_makes_no_context(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);

	KUNIT_EXPECT_GT(test, device_starve(client, device_make_context, device_end_context,
					    device_of(client)->vidmm->engines), 0);
	uapi_close(client);
}

static void *device_make_queue(void *args)
{
	return pagoda_queue_create(args);
}

static void device_end_queue(void *queue)
{
	pagoda_queue_destroy(queue);
}

/* Without memory, pagoda_queue_create() fails with -ENOMEM, whichever allocation fails. */
static void device_makes_no_queue(struct kunit *test)
{
	static const struct pagoda_queue_ops ops = {};
	struct uapi_client *client = uapi_open(test);
	struct pagoda_queue_args args = {
		.dev = uapi_drm(client)->dev,
		.ops = &ops,
		.buffer_size = PAGE_SIZE,
		.priv_size = PAGE_SIZE,
		.timeout_ms = MSEC_PER_SEC,
		.use_cpu = true,
	};

	KUNIT_EXPECT_GT(test, device_starve(client, device_make_queue, device_end_queue, &args), 3);
	uapi_close(client);
}

/* Returns a manager that has nothing but its monitored fences. */
static void *device_make_fences(void *drm)
{
	struct pagoda_vidmm *vidmm = kzalloc(sizeof(*vidmm), GFP_KERNEL);
	int ret;

	if (!vidmm)
		return ERR_PTR(-ENOMEM);
	vidmm->drm = drm;
	ret = pagoda_mfences_init(vidmm, NULL);
	if (!ret)
		return vidmm;
	kfree(vidmm);
	return ERR_PTR(ret);
}

static void device_end_fences(void *vidmm)
{
	pagoda_mfences_fini(vidmm);
	kfree(vidmm);
}

/* Without memory, the set-up of monitored fences fails with -ENOMEM, whichever allocation fails. */
static void device_makes_no_fences(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);

	KUNIT_EXPECT_GT(test, device_starve(client, device_make_fences, device_end_fences,
					    pagoda_kunit_drm(test)), 5);
	uapi_close(client);
}

/* Without memory, the set-up of the engines' rings fails with -ENOMEM. */
static void device_makes_no_rings(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_virtio *virtio = test_zalloc(test, sizeof(*virtio));
	u32 next = 1;
	int ret;

	virtio->info.num_engines = 1;
	uapi_fail_begin(client);
	uapi_fail_nth(&next);
	ret = pagoda_exec_init(virtio, NULL);
	uapi_fail_nth(&next);
	KUNIT_EXPECT_EQ(test, -ENOMEM, ret);
	uapi_fail_end(client);
	uapi_close(client);
}

static void *device_make_manager(void *args)
{
	return pagoda_vidmm_create(args);
}

static void device_end_manager(void *vidmm)
{
	pagoda_vidmm_destroy(vidmm);
}

/* Without memory, pagoda_vidmm_create() fails with -ENOMEM or does without the allocation. */
static void device_makes_no_manager(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_device_info info = rig->info;
	struct pagoda_vidmm_args args = {
		.drm = rig->drm,
		.info = &info,
		.transport = &rig->fake->base,
		.timeout_ms = MSEC_PER_SEC,
		.update_mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL,
	};

	/* The window belongs to the manager of the rig. */
	info.visible_size = 0;
	info.nr_window = 0;
	KUNIT_EXPECT_GT(test, device_starve(client, device_make_manager, device_end_manager, &args),
			10);
	uapi_close(client);
}

static struct kunit_case device_cases[] = {
	KUNIT_CASE(device_has_the_defaults),
	KUNIT_CASE(device_loses_events),
	KUNIT_CASE(device_tells_of_a_reset),
	KUNIT_CASE(device_makes_no_context),
	KUNIT_CASE(device_makes_no_queue),
	KUNIT_CASE(device_makes_no_fences),
	KUNIT_CASE(device_makes_no_rings),
	KUNIT_CASE_SLOW(device_makes_no_manager),
	{}
};

static struct kunit_suite device_suite = {
	.name = "pagoda_uapi_device",
	.test_cases = device_cases,
};

kunit_test_suite(device_suite);
