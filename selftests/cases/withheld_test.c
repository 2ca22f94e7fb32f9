// SPDX-License-Identifier: GPL-2.0
/*
 * A program withholds a page of its memory from which a call reads arguments, or to which the call
 * writes its answer. The call waits for the page. A reset of the device and calls of other clients
 * don't wait for the call. unplug_test.c tests the same with a removal of the device.
 */
#include <pthread.h>

#include "lib/reset_fixture.h"
#include "lib/withheld.h"

/* A client that withholds a page, objects that the calls name, the call to make and its result. */
struct caller {
	struct client *client;
	struct withheld page;
	uint32_t handle;
	uint32_t fence;
	int (*call)(struct caller *caller);
	int ret;
};

static struct drm_pagoda_array list_at(const struct withheld *w, uint32_t stride)
{
	return (struct drm_pagoda_array) { (uintptr_t)w->page, 1, stride };
}

static void name_handle(struct caller *caller)
{
	struct drm_pagoda_residency_entry *entry = caller->page.content;

	entry->handle = caller->handle;
}

/* The ioctl's struct is in the page, not a list or answer that a struct points to. */
static int call_struct(struct caller *caller)
{
	return pagoda_ioctl(caller->client->fd, DRM_IOCTL_PAGODA_CONTEXT_STATE, caller->page.page);
}

static void fill_struct(struct caller *caller)
{
	struct drm_pagoda_context_state *state = caller->page.content;

	state->context = caller->client->context;
}

/* Only QUERY's answer is in the page. */
static int call_query(struct caller *caller)
{
	return pagoda_query(caller->client->fd, DRM_PAGODA_QUERY_STATS, 0, caller->page.page,
			    sizeof(struct drm_pagoda_stats));
}

static int call_make_resident(struct caller *caller)
{
	struct drm_pagoda_make_resident args = {
		.entries = list_at(&caller->page, sizeof(struct drm_pagoda_residency_entry)),
	};

	return pagoda_ioctl(caller->client->fd, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &args);
}

static int call_evict(struct caller *caller)
{
	struct drm_pagoda_evict args = {
		.entries = list_at(&caller->page, sizeof(struct drm_pagoda_residency_entry)),
	};

	return pagoda_ioctl(caller->client->fd, DRM_IOCTL_PAGODA_EVICT, &args);
}

static int call_query_residency(struct caller *caller)
{
	struct drm_pagoda_query_residency args = {
		.entries = list_at(&caller->page, sizeof(struct drm_pagoda_residency_status)),
	};

	return pagoda_ioctl(caller->client->fd, DRM_IOCTL_PAGODA_QUERY_RESIDENCY, &args);
}

/* RECLAIM writes its results to the page; before RECLAIM the function offers the allocation. */
static int call_reclaim(struct caller *caller)
{
	struct drm_pagoda_residency_entry entry = { .handle = caller->handle };
	struct drm_pagoda_reclaim args = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		.results = list_at(&caller->page, sizeof(struct drm_pagoda_reclaim_result_entry)),
	};
	int ret = pagoda_offer(caller->client->fd, &caller->handle, 1, DRM_PAGODA_OFFER_LOW, 0);

	return ret ? ret : pagoda_ioctl(caller->client->fd, DRM_IOCTL_PAGODA_RECLAIM, &args);
}

/* VM_BIND's entry is in the page, to which the address that the driver chooses is written. */
static int call_bind(struct caller *caller)
{
	struct drm_pagoda_vm_bind args = {
		.vm = caller->client->vm.vm,
		.entries = list_at(&caller->page, sizeof(struct drm_pagoda_bind_entry)),
	};

	return pagoda_ioctl(caller->client->fd, DRM_IOCTL_PAGODA_VM_BIND, &args);
}

static void fill_bind(struct caller *caller)
{
	struct drm_pagoda_bind_entry *entry = caller->page.content;

	entry->type = DRM_PAGODA_BIND_MAP_ZERO;
	entry->flags = DRM_PAGODA_BIND_CHOOSE;
	entry->size = 2 * PAGODA_MIB;
}

static int call_submit_buffers(struct caller *caller)
{
	struct drm_pagoda_submit args = {
		.context = caller->client->context,
		.buffers = list_at(&caller->page, sizeof(struct drm_pagoda_command_buffer)),
	};

	return pagoda_submit_args(caller->client->fd, &args);
}

static void fill_submit_buffers(struct caller *caller)
{
	struct drm_pagoda_command_buffer *buffer = caller->page.content;

	pagoda_store(&caller->client->program, client_word_address(caller->client), 1);
	buffer->address = caller->client->program.address;
	buffer->size = caller->client->program.used;
}

static int call_submit_entries(struct caller *caller)
{
	struct drm_pagoda_submit args = {
		.context = caller->client->context,
		.entries = list_at(&caller->page, sizeof(struct drm_pagoda_submit_entry)),
	};

	return pagoda_submit_args(caller->client->fd, &args);
}

static int call_submit_syncs(struct caller *caller)
{
	struct drm_pagoda_submit args = {
		.context = caller->client->context,
		.syncs = list_at(&caller->page, sizeof(struct drm_pagoda_sync)),
	};

	return pagoda_submit_args(caller->client->fd, &args);
}

static void fill_submit_syncs(struct caller *caller)
{
	struct drm_pagoda_sync *sync = caller->page.content;

	sync->handle = caller->client->syncobj;
	sync->flags = DRM_PAGODA_SYNC_SIGNAL;
	sync->point = 1;
}

static int call_fence_signal(struct caller *caller)
{
	return pagoda_fence_signal_list(caller->client->fd, caller->page.page, 1);
}

static void fill_fence_signal(struct caller *caller)
{
	struct drm_pagoda_fence_value *entry = caller->page.content;

	entry->fence = caller->fence;
	entry->value = 7;
}

static const struct {
	const char *name;
	void (*fill)(struct caller *caller);	/* writes to page.content; NULL: zeros stay */
	int (*call)(struct caller *caller);
} calls[] = {
	{ "the struct", fill_struct, call_struct },
	{ "QUERY's answer", NULL, call_query },
	{ "MAKE_RESIDENT", name_handle, call_make_resident },
	{ "EVICT", name_handle, call_evict },
	{ "QUERY_RESIDENCY", name_handle, call_query_residency },
	{ "RECLAIM's results", NULL, call_reclaim },
	{ "VM_BIND", fill_bind, call_bind },
	{ "SUBMIT's buffers", fill_submit_buffers, call_submit_buffers },
	{ "SUBMIT's entries", name_handle, call_submit_entries },
	{ "SUBMIT's syncs", fill_submit_syncs, call_submit_syncs },
	{ "FENCE_SIGNAL", fill_fence_signal, call_fence_signal },
};

static void *caller_thread(void *arg)
{
	struct caller *caller = arg;

	caller->ret = caller->call(caller);
	return NULL;
}

/*
 * Resets the device, and then has @victim evict @handle and make it resident, unmap a range and run
 * a job. @before: number of resets until then. Returns NULL, or what failed.
 */
static const char *others(struct client *victim, uint32_t handle, uint64_t before)
{
	if (reset_device())
		return "a reset";
	if (resets(victim) != before + 1)
		return "the number of resets";
	/* A reset loses content in VRAM. Unless acknowledged, the loss has the next waits fail. */
	pagoda_acknowledge(victim->fd, handle, LIMIT);
	if (pagoda_evict_wait(victim->fd, handle) || pagoda_make_resident_wait(victim->fd, handle))
		return "paging";
	if (pagoda_bind_range(victim->fd, victim->vm.vm, DRM_PAGODA_BIND_UNMAP,
			      client_data(victim, 1), 2 * PAGODA_MIB))
		return "VM_BIND";
	pagoda_store(&victim->program, client_word_address(victim), 1);
	return run_anew(victim, NULL, 0) ? "a job" : NULL;
}

TEST_F(reset, waits_for_no_page)
{
	struct client victim;
	struct caller caller = { .client = &self->client };
	uint64_t before;
	const char *wrong;
	pthread_t thread;
	uint32_t handle, i;
	int fd, ret;

	ret = withheld_open(&caller.page, self->dev.page);
	if (ret == -EOPNOTSUPP)
		SKIP(return, "no userfaultfd");
	ASSERT_EQ(0, ret);
	withheld_close(&caller.page);
	fd = pagoda_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, client_open(&victim, fd, 1 % self->dev.info.num_engines));
	ASSERT_EQ(0, pagoda_create(fd, self->dev.page, CPU, PAGODA_IN_VRAM, &handle));
	ASSERT_EQ(0, pagoda_create(self->fd, self->dev.page, CPU, PAGODA_IN_VRAM, &caller.handle));
	ASSERT_EQ(0, pagoda_fence_create(self->fd, 0, &caller.fence, NULL));
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		ASSERT_EQ(0, withheld_open(&caller.page, self->dev.page));
		if (calls[i].fill)
			calls[i].fill(&caller);
		caller.call = calls[i].call;
		before = resets(&victim);
		ASSERT_EQ(0, pthread_create(&thread, NULL, caller_thread, &caller));
		ASSERT_EQ(0, withheld_is_wanted(&caller.page))
			TH_LOG("%s", calls[i].name);
		wrong = others(&victim, handle, before);
		EXPECT_EQ(NULL, wrong)
			TH_LOG("%s waits: %s", calls[i].name, wrong);
		ASSERT_EQ(0, withheld_give(&caller.page));
		ASSERT_EQ(0, pthread_join(thread, NULL));
		EXPECT_EQ(0, caller.ret)
			TH_LOG("%s", calls[i].name);
		withheld_close(&caller.page);
	}
	munmap(victim.program.memory, CODE_SIZE);
	close(fd);
}

TEST_HARNESS_MAIN
