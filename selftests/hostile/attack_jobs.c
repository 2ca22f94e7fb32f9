// SPDX-License-Identifier: GPL-2.0
/* Attackers whose jobs run long, wait or fault, or whose memory has a fence that signals late. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/pagoda_prime.h"
#include "hostile.h"

/* Number of jobs that an attack queues, and number and size of allocations: each job lists one. */
#define QUEUED		1000u
#define LISTED		250u
#define LISTED_SIZE	(64 * PAGODA_KIB)
/* Closed allocations keep their VRAM until their jobs are done: small, so that VRAM isn't full. */
#define CLOSED_SIZE	(8 * PAGODA_KIB)
#define PACE_US		10000

struct used {
	uint64_t address;
	uint32_t handle;
};

/* A client with jobs of 0.95 of the time limit, each of which lists one allocation of @used. */
struct queue {
	struct client client;
	struct clock clock;
	struct used used[LISTED];
	uint64_t size;
};

static int used_make(struct queue *q, struct used *used)
{
	return client_allocation(&q->client, q->size, CPU_VISIBLE, PAGODA_IN_VRAM, &used->handle,
				 &used->address);
}

/*
 * Creates a context, destroys the client's earlier context, of whose jobs only a running job goes
 * on, and submits @jobs jobs. Returns 0 or a negative errno.
 */
static int queue_fill(struct queue *q, uint32_t jobs)
{
	uint32_t before = q->client.context, n;
	int ret = client_context(&q->client);

	if (ret)
		return ret;
	pagoda_context_destroy(q->client.fd, before);
	for (n = 0; n < jobs && !ret; n++)
		ret = client_submit(&q->client, &q->used[n % LISTED].handle, 1);
	return ret;
}

static void queue_open(struct queue *q, struct cell *cell, uint64_t size, uint32_t jobs)
{
	uint32_t n;

	q->size = size;
	attack_check(cell, "client", client_open(&q->client, ATTACKER_ENGINE));
	for (n = 0; n < LISTED; n++)
		attack_check(cell, "allocation", used_make(q, &q->used[n]));
	attack_check(cell, "clock", clock_start(&q->clock, &q->client, cell));
	attack_check(cell, "jobs", queue_fill(q, jobs));
	attack_ready(cell);
}

/*
 * Fills a new context if @ret, the result of a SUBMIT, is -EBUSY (too many jobs are queued) or
 * -ECANCELED (the context is banned: on a slow machine jobs exceed their limit), or if no job has
 * begun for the time of three jobs. Then sleeps for PACE_US.
 */
static void queue_tend(struct queue *q, int ret)
{
	if (ret == -EBUSY || ret == -ECANCELED || atomic_load(&q->clock.late)) {
		atomic_store(&q->clock.late, false);
		queue_fill(q, QUEUED);
	}
	usleep(PACE_US);
}

/*
 * Queues 1,000 jobs of 0.95 of the time limit and closes the allocations that the jobs list; a new
 * allocation, which another job lists, replaces each closed allocation.
 */
void attack_queue_close(struct cell *cell)
{
	static struct queue q;
	uint32_t n;
	int ret;

	queue_open(&q, cell, CLOSED_SIZE, QUEUED);
	for (n = 0;; n = (n + 1) % LISTED) {
		attack_op(cell);
		pagoda_close(q.client.fd, q.used[n].handle);
		ret = used_make(&q, &q.used[n]);
		if (!ret)
			ret = client_submit(&q.client, &q.used[n].handle, 1);
		queue_tend(&q, ret);
	}
}

/* Queues 1,000 jobs of 0.95 of the time limit and evicts the allocations that the jobs list. */
void attack_queue_evict(struct cell *cell)
{
	static struct queue q;
	uint32_t n;

	queue_open(&q, cell, LISTED_SIZE, QUEUED);
	for (n = 0;; n = (n + 1) % LISTED) {
		attack_op(cell);
		pagoda_evict(q.client.fd, &q.used[n].handle, 1, 0, 0);
		queue_tend(&q, 0);
	}
}

/*
 * Queues 1,000 jobs of 0.95 of the time limit, and unmaps and maps the allocations that the jobs
 * list, each of which is alone in its page table.
 */
void attack_queue_unmap(struct cell *cell)
{
	static struct queue q;
	struct used *used;
	uint32_t n;

	queue_open(&q, cell, LISTED_SIZE, QUEUED);
	for (n = 0;; n = (n + 1) % LISTED) {
		used = &q.used[n];
		attack_op(cell);
		pagoda_bind_range(q.client.fd, q.client.vm, DRM_PAGODA_BIND_UNMAP, used->address,
				  q.size);
		pagoda_bind_map(q.client.fd, q.client.vm, used->handle, used->address, 0, q.size);
		queue_tend(&q, 0);
	}
}

/* --- lists ------------------------------------------------------------------------------------ */

#define ALIGNMENT	(2 * PAGODA_MIB)
#define FEW		12u

/*
 * Beside 12 long jobs, asks over and over for the residency of one aligned allocation more than
 * VRAM has aligned ranges, all in one call; the allocations' bytes would fit.
 */
void attack_misfit_jobs(struct cell *cell)
{
	static struct queue q;
	struct drm_pagoda_allocation_create args;
	uint32_t handles[LISTED], count, n;

	queue_open(&q, cell, LISTED_SIZE, FEW);
	count = q.client.vram / ALIGNMENT + 1;
	attack_check(cell, "VRAM with fewer aligned ranges", count > LISTED ? -E2BIG : 0);
	for (n = 0; n < count; n++) {
		args = (struct drm_pagoda_allocation_create) {
			.size = ALIGNMENT / 2 + 4 * PAGODA_KIB,
			.flags = CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CONTIGUOUS,
			.supported = PAGODA_IN_VRAM,
			.alignment = ALIGNMENT,
		};
		attack_check(cell, "aligned", pagoda_create_args(q.client.fd, &args));
		handles[n] = args.handle;
	}
	for (;;) {
		attack_op(cell);
		pagoda_make_resident(q.client.fd, handles, n, 0, 0, NULL);
		if (atomic_load(&q.clock.late))
			queue_fill(&q, FEW);
	}
}

/* --- offers ----------------------------------------------------------------------------------- */

#define OFFERED		10000u

/* Over and over, offers 10,000 allocations that a long job lists; reclaims them after the job. */
void attack_offered(struct cell *cell)
{
	static uint32_t handles[OFFERED];
	static struct client client;
	struct clock clock;
	int ret;

	attack_check(cell, "client", client_open(&client, ATTACKER_ENGINE));
	attack_check(cell, "allocations", client_allocations(&client, OFFERED, 4 * PAGODA_KIB,
							     PAGODA_IN_VRAM, handles));
	attack_check(cell, "clock", clock_start(&clock, &client, cell));
	attack_check(cell, "job", client_submit(&client, handles, OFFERED));
	attack_ready(cell);
	for (ret = 0;;) {
		attack_op(cell);
		pagoda_offer(client.fd, handles, OFFERED, DRM_PAGODA_OFFER_NORMAL, 0);
		client_wait(&client, 4 * clock.length);
		pagoda_reclaim(client.fd, handles, OFFERED, 0, 0, NULL);
		ret = client_submit(&client, handles, OFFERED);
		if (ret == -ECANCELED)
			client_context(&client);
		if (ret)
			usleep(PACE_US);
	}
}

/* --- faults ----------------------------------------------------------------------------------- */

#define NOWHERE		(3ull << 37)
#define FAULT_EACH_US	100000

/* Has a job fault about every 100 ms, each in a new context. */
void attack_faults(struct cell *cell)
{
	static struct client client;
	uint32_t before;

	attack_check(cell, "client", client_open(&client, ATTACKER_ENGINE));
	pagoda_store(&client.program, NOWHERE, 1);
	attack_ready(cell);
	for (;;) {
		attack_op(cell);
		client_submit(&client, NULL, 0);
		client_wait(&client, PAGODA_SEC);
		before = client.context;
		if (!client_context(&client))
			pagoda_context_destroy(client.fd, before);
		usleep(FAULT_EACH_US);
	}
}

/* --- jobs that wait --------------------------------------------------------------------------- */

#define WAITING		10000u
#define WAITERS		40u

/*
 * Submits a job that waits for value 1 of monitored fence @fence, or, if @fence is 0, for point 1
 * of syncobj @never. The attack signals neither.
 */
static int submit_waiting(struct client *c, uint32_t never, uint32_t fence)
{
	struct drm_pagoda_sync sync = {
		.handle = fence ? fence : never,
		.flags = fence ? DRM_PAGODA_SYNC_FENCE : 0,
		.point = 1,
	};
	struct drm_pagoda_submit args = {
		.syncs = { (uintptr_t)&sync, 1, sizeof(sync) },
		.context = c->context,
	};

	return pagoda_submit_args(c->fd, &args);
}

/*
 * Submits jobs that wait for ever, as many as the user may have and at most 10,000, of at most 40
 * clients. Then tries to submit another such job every millisecond.
 */
void attack_submit_wait(struct cell *cell)
{
	static struct client clients[WAITERS];
	uint32_t never[WAITERS], fence, n, count;
	int ret = 0;

	for (n = 0; n < WAITERS && !ret; n++) {
		attack_check(cell, "client", client_open(&clients[n], ATTACKER_ENGINE));
		attack_check(cell, "syncobj", pagoda_syncobj_create(clients[n].fd, &never[n]));
		attack_check(cell, "fence", pagoda_fence_create(clients[n].fd, 0, &fence, NULL));
		for (count = 0; count < WAITING / WAITERS && !ret; count++)
			ret = submit_waiting(&clients[n], never[n], count % 2 ? fence : 0);
	}
	atomic_store(&cell->clients, n);
	attack_ready(cell);
	for (n = 0;; n++) {
		attack_op(cell);
		submit_waiting(&clients[0], never[0], 0);
		usleep(1000);
	}
}

/* --- fences of others ------------------------------------------------------------------------- */

#define EXPORTED	64u
#define EXPORTED_SIZE	(256 * PAGODA_KIB)
/* vgem signals a fence by itself after 10 s: the attack imports a new fence after this time. */
#define LATE_NS		(9 * PAGODA_SEC)

/*
 * Returns a sync_file of a new fence of vgem, which nothing but vgem's time limit signals, or a
 * negative errno.
 */
static int late_fence(int vgem)
{
	uint32_t handle, fence;
	int ret = vgem_create(vgem, 4 * PAGODA_KIB, &handle), dma_buf;

	if (!ret)
		ret = vgem_fence(vgem, handle, &fence);
	if (ret)
		return ret;
	dma_buf = prime_export(vgem, handle);
	if (dma_buf < 0)
		return dma_buf;
	ret = prime_export_fence(dma_buf, DMA_BUF_SYNC_RW);
	close(dma_buf);
	pagoda_close(vgem, handle);
	return ret;
}

static int import_late(const int *dma_bufs, int vgem)
{
	int sync_file = late_fence(vgem), ret = sync_file;
	uint32_t n;

	for (n = 0; n < EXPORTED && ret >= 0; n++)
		ret = prime_import_fence(dma_bufs[n], DMA_BUF_SYNC_WRITE, sync_file);
	close(sync_file);
	return ret < 0 ? ret : 0;
}

/*
 * Exports allocations, imports a fence that signals late into their dma-bufs, and evicts one
 * allocation after another; about every 9 s imports a new fence.
 */
void attack_late_fence(struct cell *cell)
{
	static uint32_t handles[EXPORTED];
	static struct client client;
	int dma_bufs[EXPORTED], vgem = vgem_open();
	int64_t given;
	uint32_t n;

	attack_check(cell, "vgem", vgem);
	attack_check(cell, "client", client_open(&client, ATTACKER_ENGINE));
	attack_check(cell, "allocations", client_allocations(&client, EXPORTED, EXPORTED_SIZE,
							     PAGODA_IN_VRAM, handles));
	attack_check(cell, "make resident", pagoda_make_resident(client.fd, handles, EXPORTED, 0, 0,
								 NULL));
	for (n = 0; n < EXPORTED; n++) {
		dma_bufs[n] = prime_export(client.fd, handles[n]);
		attack_check(cell, "export", dma_bufs[n]);
	}
	attack_check(cell, "import of a fence", import_late(dma_bufs, vgem));
	given = pagoda_now();
	attack_ready(cell);
	for (n = 0;; n = (n + 1) % EXPORTED) {
		attack_op(cell);
		pagoda_evict(client.fd, &handles[n], 1, 0, 0);
		if (pagoda_now() > given + LATE_NS) {
			pagoda_make_resident(client.fd, handles, EXPORTED, 0, 0, NULL);
			import_late(dma_bufs, vgem);
			given = pagoda_now();
		}
		usleep(PACE_US);
	}
}
