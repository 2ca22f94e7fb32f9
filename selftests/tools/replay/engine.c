// SPDX-License-Identifier: GPL-2.0
/*
 * The replay engine: executes the events of a trace. Allocations become BOs, uploads go through
 * mmap, uses are collected into batches.
 *
 * A batch has uses in order, of allocations that take at most a quarter of VRAM together, and
 * likewise of the aperture, for allocations larger than VRAM; or of one larger allocation. A use as
 * a source is a command that hashes all of the allocation, whose result is compared with the
 * expected hash when the batch is done; a use as a destination has the GPU write all of the
 * allocation. The batch is one submission that names its allocations, each once. The batch ends
 * when the next use doesn't fit, at the end of a frame, and before one of its allocations is
 * written, read back or freed by the CPU. A few batches are in flight: one more than the engine has
 * places, or as many as --queued says.
 *
 * With --cpu, or on a device that executes no jobs, a batch is only made resident.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/pagoda_lib.h"
#include "content.h"
#include "gpu.h"
#include "replay.h"
#include "rival.h"

#define FAULTS_SHOWN		8
#define WAIT_LIMIT		(120 * PAGODA_SEC)
#define BUSY_LIMIT		(60 * PAGODA_SEC)

/*
 * @batch, @point: serial and point of the last batch that uses the allocation; @entry: index of the
 *	allocation in this batch
 * @address: address in the VM; @map: the CPU's mapping or NULL
 * @aperture: in the aperture, because larger than VRAM
 */
struct allocation {
	uint32_t handle;
	uint32_t batch;
	uint32_t entry;
	uint64_t point;
	uint64_t size;
	uint64_t address;
	uint8_t *map;
	bool aperture;
	struct content content;
};

struct batch {
	uint32_t *handles;
	struct drm_pagoda_submit_entry *entries;
	uint32_t count;
	uint32_t serial;
	uint64_t vram;
	uint64_t aperture;
};

/*
 * @point: of the last batch that was submitted; @settled: of the last that was waited for and whose
 *	reads were checked
 * @shown: mismatches so far, of which the first FAULTS_SHOWN are printed
 * @marker: trace_marker of tracefs; @events: file with the client's budget events; -1 = none
 */
struct engine {
	const struct trace *trace;
	const struct replay_options *options;
	struct replay_result *result;
	struct allocation *allocations;
	struct batch batch;
	struct gpu gpu;
	uint64_t seed;
	uint64_t vram_size;
	uint64_t aperture_size;
	uint64_t point;
	uint64_t settled;
	uint32_t syncobj;
	uint32_t shown;
	unsigned int client;
	bool executes;
	struct rival rival;
	int fd;
	int marker;
	int events;
};

static int complain(const struct engine *e, const char *what, uint32_t id, int ret)
{
	fprintf(stderr, "replay: client %u, frame %llu, allocation %u: %s: %s\n", e->client,
		(unsigned long long)e->result->frames, id, what, strerror(-ret));
	return ret;
}

static void marker_write(const struct engine *e)
{
	char text[32];
	int length;

	if (e->marker < 0)
		return;
	length = snprintf(text, sizeof(text), "frame %llu\n",
			  (unsigned long long)e->result->frames);
	/* Marks are only for a picture of the run: a failed write is no failure of the replay. */
	if (write(e->marker, text, length) < 0)
		return;
}

static int allocation_create(struct engine *e, const struct trace_event *event)
{
	struct allocation *it = &e->allocations[event->id];
	struct drm_pagoda_allocation_create args = {
		.size = event->length,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
	};
	int ret;

	it->aperture = event->length > e->vram_size;
	if (it->aperture) {
		args.flags |= DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY;
		args.supported = PAGODA_IN_APERTURE;
	} else {
		args.supported = PAGODA_IN_VRAM;
		args.preferred[0] = DRM_PAGODA_SEGMENT_VRAM;
	}
	/* Cached, because programs read back what they draw to. */
	if (event->flag == TRACE_RBO || event->flag == TRACE_ATTACHMENT)
		args.flags |= DRM_PAGODA_ALLOCATION_CACHED;
	ret = pagoda_create_args(e->fd, &args);
	if (ret)
		return complain(e, "create", event->id, ret);
	it->handle = args.handle;
	it->size = args.size;
	if (e->executes)
		ret = gpu_bind(&e->gpu, it->handle, it->size, &it->address);
	if (ret)
		return complain(e, "bind", event->id, ret);
	return content_init(&it->content, e->seed, event->id, args.size);
}

static int allocation_map(struct engine *e, uint32_t id)
{
	struct allocation *it = &e->allocations[id];

	if (it->map)
		return 0;
	it->map = pagoda_map(e->fd, it->handle, it->size);
	return it->map ? 0 : complain(e, "mmap", id, -errno);
}

static void allocation_free(struct engine *e, struct allocation *it)
{
	if (!it->handle)
		return;
	if (it->map)
		munmap(it->map, it->size);
	pagoda_close(e->fd, it->handle);
	content_exit(&it->content);
	memset(it, 0, sizeof(*it));
}

static int allocation_verify(struct engine *e, uint32_t id)
{
	struct allocation *it = &e->allocations[id];
	int64_t start = pagoda_now();
	struct content_fault fault;
	int ret = allocation_map(e, id);

	if (ret)
		return ret;
	if (!content_verify(&it->content, it->map, &fault)) {
		e->result->mismatches += fault.bytes;
		if (e->shown++ < FAULTS_SHOWN)
			fprintf(stderr,
				"mismatch: client %u frame %llu id %u: %llu bytes of %llu, first at %llu: %02x, not %02x of version %llu\n",
				e->client, (unsigned long long)e->result->frames, id,
				(unsigned long long)fault.bytes, (unsigned long long)it->size,
				(unsigned long long)fault.offset, fault.got, fault.expected,
				(unsigned long long)fault.version);
	}
	e->result->checked += it->size;
	e->result->check_ns += pagoda_now() - start;
	return 0;
}

/* The slot of the batch that is being collected. */
static struct gpu_slot *slot_now(struct engine *e)
{
	return &e->gpu.slots[(e->point + 1) % e->gpu.nr_slots];
}

/*
 * Submits the batch as a job, or only makes it resident if the engine executes nothing. Returns 0
 * or a negative errno, after which nothing was submitted.
 */
static int batch_try(struct engine *e)
{
	if (e->executes)
		return gpu_submit(&e->gpu, slot_now(e), e->batch.entries, e->batch.count,
				  e->syncobj, e->point + 1);
	return pagoda_make_resident(e->fd, e->batch.handles, e->batch.count, e->syncobj,
				    e->point + 1, NULL);
}

/*
 * Submits the batch, again and again for up to BUSY_LIMIT while the driver answers EBUSY, or ENOMEM
 * if there are several clients. Returns 0 or a negative errno.
 */
static int batch_submit(struct engine *e)
{
	int64_t start = pagoda_now();
	int ret;

	for (;;) {
		ret = batch_try(e);
		if (ret == -ENOMEM && e->options->clients > 1)
			ret = -EBUSY;
		if (ret != -EBUSY || pagoda_now() - start > BUSY_LIMIT)
			break;
		e->result->retries++;
		usleep(1000);
	}
	e->result->call_ns += pagoda_now() - start;
	return ret;
}

/*
 * Counts allocations of the last batch that aren't resident, or are lost. Does nothing with several
 * clients or a rival, which may evict an allocation of the batch at any time; nor for a job behind
 * batches that aren't settled, because its allocations may become resident later. Returns 0 or a
 * negative errno.
 */
static int batch_check(struct engine *e)
{
	struct drm_pagoda_residency_status *status;
	struct drm_pagoda_query_residency args = {
		.entries = { 0, e->batch.count, sizeof(*status) },
	};
	uint32_t n;
	int ret;

	if (e->options->clients > 1 || e->options->rival_from)
		return 0;
	if (e->executes && e->settled + 1 < e->point)
		return 0;
	status = calloc(e->batch.count, sizeof(*status));
	if (!status)
		return -ENOMEM;
	for (n = 0; n < e->batch.count; n++)
		status[n].handle = e->batch.handles[n];
	args.entries.array = (uintptr_t)status;
	ret = pagoda_ioctl(e->fd, DRM_IOCTL_PAGODA_QUERY_RESIDENCY, &args);
	for (n = 0; !ret && n < e->batch.count; n++)
		if (status[n].residency == DRM_PAGODA_NOT_RESIDENT || status[n].state)
			e->result->misplaced++;
	free(status);
	return ret;
}

static int point_wait(struct engine *e, uint64_t point)
{
	int64_t start = pagoda_now();
	int ret = pagoda_syncobj_wait(e->fd, e->syncobj, point, WAIT_LIMIT);

	e->result->stall_ns += pagoda_now() - start;
	return ret ? complain(e, "waiting for a batch", 0, ret) : 0;
}

static void read_check(struct engine *e, const struct gpu_read *read, uint64_t found)
{
	e->result->hashed += read->size;
	if (found == read->expected)
		return;
	e->result->mismatches += read->size;
	if (e->shown++ < FAULTS_SHOWN)
		fprintf(stderr,
			"mismatch: client %u frame %llu id %u: the GPU read %llu bytes whose hash is %016llx, not %016llx\n",
			e->client, (unsigned long long)e->result->frames, read->id,
			(unsigned long long)read->size, (unsigned long long)found,
			(unsigned long long)read->expected);
}

/* Waits for all batches up to @point, and compares what they read with what was expected. */
static int settle_points(struct engine *e, uint64_t point)
{
	uint64_t before = e->result->mismatches;
	uint32_t n;
	int ret = 0;

	while (!ret && e->settled < point) {
		struct gpu_slot *slot = &e->gpu.slots[++e->settled % e->gpu.nr_slots];

		ret = point_wait(e, e->settled);
		for (n = 0; !ret && n < slot->count; n++)
			read_check(e, &slot->reads[n], slot->results[n]);
		gpu_begin(slot);
	}
	if (e->result->mismatches != before)
		gpu_explain(&e->gpu);
	return ret;
}

/*
 * Submits the batch, unless empty, and waits until a slot is free for the next. Returns 0 or a
 * negative errno.
 */
static int batch_flush(struct engine *e)
{
	int ret;

	if (!e->batch.count)
		return 0;
	ret = batch_submit(e);
	if (ret && e->executes)
		gpu_explain(&e->gpu);
	if (ret)
		return complain(e, "submitting a batch", 0, ret);
	e->point++;
	ret = batch_check(e);
	if (!ret && e->point > e->options->queued)
		ret = settle_points(e, e->point - e->options->queued);
	e->result->batches++;
	e->batch.count = 0;
	e->batch.vram = 0;
	e->batch.aperture = 0;
	e->batch.serial++;
	return ret;
}

/*
 * Puts an allocation into the batch; if the batch has no room, submits the batch first and puts the
 * allocation into the next batch. Returns 0 or a negative errno.
 */
static int batch_add(struct engine *e, struct allocation *it)
{
	uint64_t limit = (it->aperture ? e->aperture_size : e->vram_size) / REPLAY_BATCH_PART;
	uint64_t *used = it->aperture ? &e->batch.aperture : &e->batch.vram;
	int ret;

	if (*used + it->size > limit || e->batch.count == DRM_PAGODA_MAX_ENTRIES) {
		ret = batch_flush(e);
		if (ret)
			return ret;
	}
	it->batch = e->batch.serial;
	it->entry = e->batch.count;
	e->batch.entries[it->entry] = (struct drm_pagoda_submit_entry) {
		.handle = it->handle, .flags = DRM_PAGODA_SUBMIT_READ,
	};
	it->point = e->point + 1;
	e->batch.handles[e->batch.count++] = it->handle;
	*used += it->size;
	return 0;
}

static int gpu_source(struct engine *e, uint32_t id)
{
	struct allocation *it = &e->allocations[id];
	int64_t start = pagoda_now();
	struct gpu_read read = { .id = id, .size = it->size };

	read.expected = content_hash(&it->content);
	e->result->check_ns += pagoda_now() - start;
	e->result->reads++;
	gpu_read(slot_now(e), &read, it->address);
	return 0;
}

/* Has the GPU fill an allocation with one word, and then 8 bytes of it with another word. */
static int gpu_destination(struct engine *e, uint32_t id)
{
	struct allocation *it = &e->allocations[id];
	uint64_t offset = pagoda_key(e->seed, id, it->content.version) % (it->size / 8) * 8;
	uint32_t word, mark;
	int ret;

	ret = content_fill(&it->content, 0, it->size, &word);
	if (!ret)
		ret = content_fill(&it->content, offset, 8, &mark);
	if (ret)
		return ret;
	e->result->writes++;
	e->batch.entries[it->entry].flags = 0;
	gpu_write(slot_now(e), it->address, it->size, word, offset, mark);
	return 0;
}

static int use(struct engine *e, const struct trace_event *event)
{
	struct allocation *it = &e->allocations[event->id];
	int ret = 0;

	if (e->executes && !gpu_has_room(slot_now(e)))
		ret = batch_flush(e);
	if (!ret && it->batch != e->batch.serial)
		ret = batch_add(e, it);
	if (ret)
		return ret;
	e->result->uses++;
	if (!e->executes)
		return 0;
	return event->flag ? gpu_destination(e, event->id) : gpu_source(e, event->id);
}

/*
 * Before the CPU touches or frees @id: submits the batch if the allocation is in the batch; and, if
 * the engine executes, waits for all batches up to the last that uses @id. Else nothing is waited
 * for: an access by the CPU waits in the kernel for moves.
 */
static int settle(struct engine *e, uint32_t id)
{
	const struct allocation *it = &e->allocations[id];
	int ret = 0;

	if (it->batch == e->batch.serial)
		ret = batch_flush(e);
	return !ret && e->executes ? settle_points(e, it->point) : ret;
}

static int upload(struct engine *e, const struct trace_event *event)
{
	struct allocation *it = &e->allocations[event->id];
	int64_t start;
	int ret = settle(e, event->id);

	if (!ret)
		ret = allocation_map(e, event->id);
	if (ret)
		return ret;
	start = pagoda_now();
	ret = content_write(&it->content, it->map, event->offset, event->length);
	e->result->uploaded += event->length;
	e->result->upload_ns += pagoda_now() - start;
	return ret;
}

static int read_back(struct engine *e, const struct trace_event *event)
{
	int ret = settle(e, event->id);

	return ret ? ret : allocation_verify(e, event->id);
}

static int release(struct engine *e, const struct trace_event *event)
{
	int ret = settle(e, event->id);

	if (!ret && e->options->verify_free)
		ret = allocation_verify(e, event->id);
	allocation_free(e, &e->allocations[event->id]);
	return ret;
}

/*
 * Counts events about the client's VRAM budget. The replay goes on as before, where a game would
 * lower its texture quality.
 */
static void events_count(struct engine *e)
{
	struct drm_pagoda_event news[8];
	ssize_t size = read(e->events, news, sizeof(news)), n;

	for (n = 0; n < size / (ssize_t)sizeof(*news); n++) {
		if (news[n].group != DRM_PAGODA_SEGMENT_GROUP_LOCAL)
			continue;
		if (news[n].type == DRM_PAGODA_EVENT_TRIM)
			e->result->trims += news[n].count;
		else if (news[n].type == DRM_PAGODA_EVENT_BUDGET_CHANGED)
			e->result->budgets += news[n].count;
	}
}

/*
 * At the end of a frame: client 0 starts the rival if the frame is @rival_from, has a rival that
 * runs make its memory resident, and stops the rival if the frame is @rival_to.
 */
static int rival_step(struct engine *e)
{
	const struct replay_options *o = e->options;
	uint64_t frame = e->result->frames;
	int ret = 0;

	if (e->client || !o->rival_from)
		return 0;
	if (frame == o->rival_from)
		ret = rival_start(&e->rival);
	if (!ret && e->rival.pipe >= 0)
		ret = frame == o->rival_to ? rival_stop(&e->rival) : rival_use(&e->rival);
	return ret ? complain(e, "rival", 0, ret) : 0;
}

static int frame_end(struct engine *e)
{
	int ret = batch_flush(e);

	e->result->frames++;
	marker_write(e);
	events_count(e);
	if (!ret)
		ret = rival_step(e);
	if (e->options->verbose && e->result->frames % e->options->verbose == 0) {
		printf("client %u: frame %llu of %u, ", e->client,
		       (unsigned long long)e->result->frames, e->trace->frames);
		printf("%llu batches, stalled %.2f s, mismatches %llu\n",
		       (unsigned long long)e->result->batches, e->result->stall_ns / 1e9,
		       (unsigned long long)e->result->mismatches);
		fflush(stdout);
	}
	return ret;
}

static int step(struct engine *e, const struct trace_event *event)
{
	switch (event->type) {
	case TRACE_ALLOC:
		return allocation_create(e, event);
	case TRACE_WRITE:
		return upload(e, event);
	case TRACE_USE:
		return use(e, event);
	case TRACE_READ:
		return read_back(e, event);
	case TRACE_FREE:
		return release(e, event);
	default:
		return frame_end(e);
	}
}

static int engine_open(struct engine *e)
{
	struct drm_pagoda_segment_info vram, aperture;
	struct drm_pagoda_device_info device;
	int ret;

	e->fd = pagoda_open();
	if (e->fd < 0)
		return complain(e, "no pagoda device", 0, e->fd);
	ret = pagoda_device(e->fd, &device);
	if (!ret)
		ret = pagoda_segment(e->fd, DRM_PAGODA_SEGMENT_VRAM, &vram);
	if (!ret)
		ret = pagoda_segment(e->fd, DRM_PAGODA_SEGMENT_APERTURE, &aperture);
	if (!ret)
		ret = pagoda_syncobj_create(e->fd, &e->syncobj);
	if (!ret)
		ret = pagoda_events(e->fd, DRM_PAGODA_EVENTS_NONBLOCK);
	if (ret >= 0)
		e->events = ret;
	if (ret >= 0)
		ret = e->options->cpu ? 0 : gpu_is_there(e->fd);
	if (ret < 0)
		return complain(e, "asking the device", 0, ret);
	e->executes = ret;
	ret = gpu_init(&e->gpu, e->options->queued + 1);
	if (!ret && e->executes)
		ret = gpu_open(&e->gpu, e->fd);
	if (ret < 0)
		return complain(e, "an address space and a context", 0, ret);
	e->vram_size = vram.size;
	e->aperture_size = aperture.size;
	e->batch.serial = 1;
	e->batch.handles = calloc(DRM_PAGODA_MAX_ENTRIES, sizeof(*e->batch.handles));
	e->batch.entries = calloc(DRM_PAGODA_MAX_ENTRIES, sizeof(*e->batch.entries));
	e->allocations = calloc(e->trace->max_id + 1ul, sizeof(*e->allocations));
	if (!e->batch.handles || !e->batch.entries || !e->allocations)
		return -ENOMEM;
	if (!e->client)
		e->marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY | O_CLOEXEC);
	return 0;
}

static void engine_close(struct engine *e)
{
	uint32_t id;

	for (id = 1; e->allocations && id <= e->trace->max_id; id++)
		allocation_free(e, &e->allocations[id]);
	gpu_close(&e->gpu);
	free(e->allocations);
	free(e->batch.handles);
	free(e->batch.entries);
	if (e->syncobj)
		pagoda_syncobj_destroy(e->fd, e->syncobj);
	if (e->rival.pipe >= 0)
		rival_stop(&e->rival);
	if (e->marker >= 0)
		close(e->marker);
	if (e->events >= 0)
		close(e->events);
	if (e->fd >= 0)
		close(e->fd);
}

static int settle_all(struct engine *e)
{
	int ret = batch_flush(e);

	return ret ? ret : settle_points(e, e->point);
}

static int verify_all(struct engine *e)
{
	uint32_t id;
	int ret = 0;

	for (id = 1; !ret && id <= e->trace->max_id; id++)
		if (e->allocations[id].handle)
			ret = allocation_verify(e, id);
	return ret;
}

/*
 * Sets the result's @beside: what the client uses of VRAM but for its allocations, which is page
 * tables and save areas.
 */
static int measure_beside(struct engine *e)
{
	struct drm_pagoda_query_memory_info info;
	uint64_t own = 0;
	uint32_t id;
	int ret = pagoda_memory_info(e->fd, DRM_PAGODA_SEGMENT_GROUP_LOCAL, &info);

	if (ret)
		return complain(e, "memory info", 0, ret);
	for (id = 0; id <= e->trace->max_id; id++) {
		const struct allocation *it = &e->allocations[id];

		if (it->handle && pagoda_where(e->fd, it->handle) == DRM_PAGODA_SEGMENT_VRAM)
			own += trace_pages(it->size);
	}
	e->result->beside = info.current_usage - own;
	return 0;
}

int replay_run(const struct trace *trace, const struct replay_options *options,
	       unsigned int client, struct replay_result *result)
{
	struct engine e = {
		.trace = trace,
		.options = options,
		.result = result,
		.seed = options->seed + client,
		.client = client,
		.rival = { .pipe = -1 },
		.fd = -1,
		.marker = -1,
		.events = -1,
	};
	int ret = engine_open(&e);
	size_t n;

	for (n = 0; !ret && n < trace->count; n++)
		ret = step(&e, &trace->events[n]);
	if (!ret)
		ret = settle_all(&e);
	if (!ret)
		ret = measure_beside(&e);
	if (!ret)
		ret = verify_all(&e);
	engine_close(&e);
	result->done = !ret;
	return ret;
}
