// SPDX-License-Identifier: GPL-2.0
/*
 * Files in debugfs: inject, the software GPU's rules of misbehaviour; and the device's folder:
 * modes, recording and journal_raw, segments, lru and usage, busy, trim, reset, words of others;
 * and all while the device is removed.
 */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/file.h>
#include <linux/fs.h>
#include "../drivers/vgpu/vgpu.h"
#include "core/device.h"
#include "core/life.h"
#include "rig/command.h"
#include "uapi/args.h"
#include "vidmm/bo/bo.h"
#include "vidmm/stream/recording.h"
#include "uapi_helpers.h"

#define FILES_TEXT	1024u
#define VGPU		"pagoda_vgpu/"
#define INJECT		VGPU "inject"

/* Submits the program written so far, with a NOP behind, and waits until the fence has @value. */
static void files_job(struct uapi_gpu *gpu, u64 value)
{
	UAPI_ADD(gpu, NOP, nop, 0);
	KUNIT_ASSERT_EQ(gpu->client->test, 0, uapi_submit(gpu, value));
	KUNIT_EXPECT_EQ(gpu->client->test, 0, uapi_await(gpu, value, UAPI_PATIENCE));
}

static void files_store(struct uapi_gpu *gpu, u64 value)
{
	UAPI_ADD(gpu, STORE, store, VIRTIO_PAGODA_COMMAND_WIDE,
		 .address = cpu_to_le64(gpu->address + UAPI_DATA), .value = cpu_to_le64(value));
}

static void files_inject(struct uapi_client *client, const char *rule)
{
	KUNIT_EXPECT_EQ_MSG(client->test, strlen(rule), uapi_write(client, false, INJECT, rule),
			    "%s", rule);
}

/* Rules with all @actions can be written to inject and read back; unknown actions are refused. */
static void files_inject_actions(struct kunit *test)
{
	static const char * const actions[] = {
		"delay", "drop", "lost_interrupt", "reorder", "fail", "hang", "fail_reset",
		"late_reset",
	};
	struct uapi_client *client = uapi_open(test);
	char rule[64], *text = test_zalloc(test, FILES_TEXT);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(actions); i++) {
		/* A rule that never applies: the test causes fewer events than that. */
		snprintf(rule, sizeof(rule), "action=%s nth=1000000", actions[i]);
		files_inject(client, rule);
		memset(text, 0, FILES_TEXT);
		KUNIT_EXPECT_GT(test, uapi_read(client, false, INJECT, text, FILES_TEXT - 1), 0);
		snprintf(rule, sizeof(rule), "queue=paging action=%s nth=1000000", actions[i]);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, rule), "%s in %s", rule, text);
		files_inject(client, "clear");
	}
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_write(client, false, INJECT, "action=nothing"));
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_write(client, false, INJECT, "action=none"));
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_write(client, false, INJECT, "action="));
	uapi_close(client);
}

/*
 * The words of a rule may come in any order. Without nth, or with nth=0, a delay applies to every
 * request; another action without nth applies to the first, and nth=0 is refused for it.
 */
static void files_inject_order(struct kunit *test)
{
	static const struct {
		const char *rule, *shown;
	} rules[] = {
		{ "nth=1 action=delay us=1", "action=delay nth=1 " },
		{ "us=1 action=delay nth=1", "action=delay nth=1 " },
		{ "nth=0 us=1 action=delay", "action=delay nth=0 " },
		{ "action=delay us=1", "action=delay nth=0 " },
		{ "action=drop queue=exec0", "queue=exec0 action=drop nth=1 " },
	};
	struct uapi_client *client = uapi_open(test);
	char *text = test_zalloc(test, FILES_TEXT);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		files_inject(client, rules[i].rule);
		memset(text, 0, FILES_TEXT);
		KUNIT_EXPECT_GT(test, uapi_read(client, false, INJECT, text, FILES_TEXT - 1), 0);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, rules[i].shown), "%s: %s",
					  rules[i].rule, text);
		files_inject(client, "clear");
	}
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_write(client, false, INJECT, "action=drop nth=0"));
	uapi_close(client);
}

/*
 * A rule is refused, and not kept, if a word has no number, a number out of its range, or an
 * unknown key, or if the line is longer than 255 bytes. A line of 255 bytes is accepted.
 */
static void files_inject_refuses(struct kunit *test)
{
	static const char * const rules[] = {
		"action=drop nth=", "action=drop nth=often", "action=drop count=-1",
		"action=delay us=30000001", "action=hang packet=0x100000000", "action=drop times=1",
	};
	struct uapi_client *client = uapi_open(test);
	char *text = test_zalloc(test, FILES_TEXT);
	char line[257] = "action=drop nth=1000000";
	u32 i;

	files_inject(client, "clear");
	memset(line + strlen(line), ' ', sizeof(line) - 1 - strlen(line));
	for (i = 0; i < ARRAY_SIZE(rules); i++)
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, uapi_write(client, false, INJECT, rules[i]),
				    "%s", rules[i]);
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_write(client, false, INJECT, line));
	KUNIT_EXPECT_GT(test, uapi_read(client, false, INJECT, text, FILES_TEXT - 1), 0);
	KUNIT_EXPECT_NULL_MSG(test, strstr(text, "action="), "%s", text);
	line[255] = '\0';
	files_inject(client, line);
	files_inject(client, "clear");
	uapi_close(client);
}

/*
 * While the device hasn't begun with a reset or failure that was asked for, another one is refused
 * and doesn't replace the first.
 */
static void files_inject_is_busy(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_vgpu *vgpu = uapi_vgpu(client);
	/* A value that the device ignores: no thread of the device is woken for it here. */
	const enum pagoda_vgpu_trouble first = PAGODA_VGPU_BREAKS + 1;
	u32 tries = 10;
	int ret;

	/* A thread of the device that is awake for something else may forget the value. */
	do {
		msleep(20);
		cmpxchg(&vgpu->trouble, PAGODA_VGPU_WORKS, first);
		ret = uapi_write(client, false, INJECT, "action=reset");
	} while (ret != -EBUSY && --tries);
	KUNIT_EXPECT_EQ(test, -EBUSY, ret);
	KUNIT_EXPECT_EQ(test, first, cmpxchg(&vgpu->trouble, first, PAGODA_VGPU_WORKS));
	uapi_close(client);
}

/*
 * The device executes a request, first of the paging queue, then of an engine, but doesn't complete
 * it, so that the driver resets the queue. Paging has had its effect, the job counts as done, and
 * its context can submit further jobs.
 */
static void files_inject_drops(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu;

	files_inject(client, "queue=paging action=drop");
	/* Mapping the page writes page tables, by a request to the paging queue. */
	gpu = uapi_gpu(client, UAPI_ANYWHERE);
	files_store(gpu, 7);
	files_job(gpu, 1);
	KUNIT_EXPECT_EQ(test, 7, uapi_word(client, gpu->view + UAPI_DATA));
	files_inject(client, "queue=exec0 action=drop");
	files_store(gpu, 8);
	files_job(gpu, 2);
	KUNIT_EXPECT_EQ(test, 8, uapi_word(client, gpu->view + UAPI_DATA));
	files_job(gpu, 3);
	files_inject(client, "clear");
	uapi_close(client);
}

/*
 * A job that hangs at its second command ends at its time limit: the fence gets its value, and the
 * context is banned. The word that the first command stored stays, although the pages aren't
 * snooped, so that the engine's write combiner may still have had the word.
 */
static void files_inject_hangs(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_APERTURE);

	files_inject(client, "queue=exec0 action=hang packet=1");
	files_store(gpu, 7);
	files_job(gpu, 1);
	KUNIT_EXPECT_EQ(test, 7, uapi_word(client, gpu->view + UAPI_DATA));
	UAPI_ADD(gpu, NOP, nop, 0);
	KUNIT_EXPECT_EQ(test, -ECANCELED, uapi_submit(gpu, 2));
	files_inject(client, "clear");
	uapi_close(client);
}

/*
 * A job is executed, but one field of its completion is wrong: the driver resets the queue, the job
 * counts as done, and its context can submit further jobs. The fault of a job that succeeded is
 * wrong whatever its reason; as a status, that value would be right.
 */
static void files_inject_corrupts(struct kunit *test)
{
	static const char * const fields[] = {
		"status value=0xffffffff", "fault value=1", "seqno value=1000000",
		"length value=3",
	};
	struct uapi_client *client = uapi_open(test);
	atomic64_t *resets = &uapi_vgpu(client)->queues[VIRTIO_PAGODA_QUEUE_EXEC0].resets;
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	char rule[64];
	u32 i, tries;
	s64 before;

	static_assert(VIRTIO_PAGODA_STATUS_OK == 1);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		before = atomic64_read(resets);
		snprintf(rule, sizeof(rule), "queue=exec0 action=corrupt field=%s", fields[i]);
		files_inject(client, rule);
		files_store(gpu, i + 7);
		files_job(gpu, 2 * i + 1);
		/* The driver may see the completion later than the fence. */
		for (tries = 10000; tries && atomic64_read(resets) == before; tries--)
			fsleep(USEC_PER_MSEC);
		KUNIT_EXPECT_EQ_MSG(test, before + 1, atomic64_read(resets), "%s", fields[i]);
		KUNIT_EXPECT_EQ(test, i + 7, uapi_word(client, gpu->view + UAPI_DATA));
		files_inject(client, "clear");
		files_job(gpu, 2 * i + 2);
	}
	uapi_close(client);
}

/*
 * The device completes a job after the next job: both have their effect and their fence values, and
 * the driver doesn't reset the engine.
 */
static void files_inject_reorders(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_vgpu_queue *queue = &uapi_vgpu(client)->queues[VIRTIO_PAGODA_QUEUE_EXEC0];
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	u64 resets = atomic64_read(&queue->resets);

	files_job(gpu, 1);
	files_inject(client, "queue=exec0 action=reorder");
	files_store(gpu, 7);
	KUNIT_ASSERT_EQ(test, 0, uapi_submit(gpu, 2));
	files_job(gpu, 3);
	KUNIT_EXPECT_EQ(test, 7, uapi_word(client, gpu->view + UAPI_DATA));
	KUNIT_EXPECT_EQ(test, resets, atomic64_read(&queue->resets));
	files_inject(client, "clear");
	uapi_close(client);
}

/* Returns how many bytes the recording has. */
static u64 files_recorded(struct uapi_client *client)
{
	struct pagoda_recording_head head = {};

	KUNIT_EXPECT_EQ(client->test, sizeof(head),
			uapi_read(client, true, "recording", (char *)&head, sizeof(head)));
	return le64_to_cpu(head.bytes);
}

/*
 * A size written to the file recording starts a recording of the paging buffers that follow; 0 ends
 * the recording, and drops it; a text that isn't a number is refused.
 */
static void files_record(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);

	KUNIT_EXPECT_EQ(test, 0, files_recorded(client));
	KUNIT_EXPECT_EQ(test, 7, uapi_write(client, true, "recording", "1000000"));
	files_job(uapi_gpu(client, UAPI_ANYWHERE), 1);
	KUNIT_EXPECT_GT(test, files_recorded(client), 0);
	KUNIT_EXPECT_EQ(test, 1, uapi_write(client, true, "recording", "0"));
	KUNIT_EXPECT_EQ(test, 0, files_recorded(client));
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_write(client, true, "recording", "all"));
	uapi_close(client);
}

/* Each opening of journal_raw shows the journal of that time: after a job, with more operations. */
static void files_journal(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_journal_head head = {};
	u64 before;

	KUNIT_ASSERT_EQ(test, sizeof(head),
			uapi_read(client, true, "journal_raw", (char *)&head, sizeof(head)));
	KUNIT_EXPECT_EQ(test, PAGODA_JOURNAL_MAGIC, le64_to_cpu(head.magic));
	before = le64_to_cpu(head.recorded);
	files_job(uapi_gpu(client, UAPI_ANYWHERE), 1);
	KUNIT_ASSERT_EQ(test, sizeof(head),
			uapi_read(client, true, "journal_raw", (char *)&head, sizeof(head)));
	KUNIT_EXPECT_GT(test, le64_to_cpu(head.recorded), before);
	KUNIT_EXPECT_GT(test, le32_to_cpu(head.count), 0);
	uapi_close(client);
}

/*
 * If a memory allocation fails while journal_raw is opened, the opening fails with -ENOMEM or works
 * all the same. Tries that with each of the allocations.
 */
static void files_journal_without_memory(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct file *file;
	u32 nth = 0, failed = 0;
	bool reached;

	uapi_fail_begin(client);
	do {
		client->fail_nth = ++nth;
		file = uapi_file(client, true, "journal_raw", O_RDONLY);
		reached = !client->fail_nth;
		client->fail_nth = 0;
		if (IS_ERR(file)) {
			KUNIT_EXPECT_EQ_MSG(test, -ENOMEM, PTR_ERR(file), "allocation %u", nth);
			failed++;
		} else {
			uapi_close_file(file);
		}
	} while (reached);
	uapi_fail_end(client);
	KUNIT_EXPECT_GT(test, failed, 0);
	uapi_close(client);
}

/* Reads up to @most bytes of a file from its start. Returns the number of bytes, or an error. */
static long files_read(struct uapi_client *client, struct file *file, char *text, u32 most)
{
	loff_t pos = 0;
	long ret;
	u32 done;

	for (done = 0; done < most; done += ret) {
		ret = file->f_op->read(file, uapi_user(client->memory + UAPI_TEXT),
				       min_t(u32, most - done, PAGE_SIZE), &pos);
		if (ret <= 0)
			return ret ?: done;
		uapi_get(client, UAPI_TEXT, text + done, ret);
	}
	return done;
}

/* A space that nothing has the root of translates no address. */
static void files_translate(struct uapi_client *client)
{
	struct file *file = test_ok(client->test,
				    uapi_file(client, false, VGPU "translate", O_RDWR));
	static const char line[] = "63 0x1000";
	char answer[64] = {};
	loff_t pos = 0;

	uapi_put(client, UAPI_TEXT, line, strlen(line));
	KUNIT_EXPECT_EQ(client->test, strlen(line),
			file->f_op->write(file, uapi_user(client->memory + UAPI_TEXT), strlen(line),
					  &pos));
	KUNIT_EXPECT_GT(client->test, files_read(client, file, answer, sizeof(answer) - 1), 0);
	KUNIT_EXPECT_EQ_MSG(client->test, 0, strncmp(answer, "fault ", 6), "%s", answer);
	uapi_close_file(file);
}

/* Files of the software GPU that tell what it knows: notices, tables, pages, bytes of VRAM. */
static void files_of_vgpu(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	const struct pagoda_vgpu *vgpu = uapi_vgpu(client);
	char *text = kunit_kzalloc(test, PAGE_SIZE + 1, GFP_KERNEL);
	struct drm_pagoda_allocation_create bound = {
		.size = PAGE_SIZE,
		.flags = DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY,
		.supported = UAPI_APERTURE,
	};
	struct file *file;
	char count[64];

	KUNIT_ASSERT_NOT_NULL(test, text);
	uapi_gpu(client, UAPI_ANYWHERE);
	uapi_must(client, DRM_IOCTL_PAGODA_ALLOCATION_CREATE, &bound);
	uapi_make_resident(client, bound.handle);
	snprintf(count, sizeof(count), "count %s ",
		 pagoda_engine_op_name(VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE));
	KUNIT_EXPECT_GT(test, uapi_read(client, false, VGPU "notices", text, PAGE_SIZE), 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, count), "%s", text);
	memset(text, 0, PAGE_SIZE);
	KUNIT_EXPECT_GT(test, uapi_read(client, false, VGPU "tables", text, PAGE_SIZE), 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, " entries "), "%s", text);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, "tlb 0 entries "), "%s", text);
	memset(text, 0, PAGE_SIZE);
	KUNIT_EXPECT_GT(test, uapi_read(client, false, VGPU "aperture", text, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ_MSG(test, 0, strncmp(text, "page ", 5), "%s", text);
	if (!vgpu->engine.mmu_pages)
		KUNIT_EXPECT_EQ(test, 0, uapi_read(client, false, VGPU "mmu", text, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_write(client, false, VGPU "translate", "nowhere"));
	files_translate(client);
	file = test_ok(test, uapi_file(client, false, VGPU "vram", O_RDONLY));
	KUNIT_EXPECT_EQ(test, 8, files_read(client, file, text, 8));
	KUNIT_EXPECT_EQ(test, vgpu->engine.vram_size, vfs_llseek(file, 0, SEEK_END));
	KUNIT_EXPECT_EQ(test, -EINVAL, vfs_llseek(file, 1, SEEK_END));
	uapi_close_file(file);
	uapi_close(client);
}

#define NOTICES	(4 * PAGE_SIZE)	/* room for the text of the last notices */

/* Has an allocation of a page become resident, leave, and become resident again. */
static void files_move(struct uapi_client *client, u32 flags, u32 segments)
{
	struct drm_pagoda_allocation_create args = {
		.size = PAGE_SIZE, .flags = flags, .supported = segments,
	};
	struct drm_pagoda_residency_entry entry = {};
	struct drm_pagoda_evict evict = {};

	uapi_must(client, DRM_IOCTL_PAGODA_ALLOCATION_CREATE, &args);
	uapi_make_resident(client, args.handle);
	entry.handle = args.handle;
	evict.entries = (struct drm_pagoda_array) {
		uapi_put(client, UAPI_ENTRIES, &entry, sizeof(entry)), 1, sizeof(entry),
	};
	uapi_must(client, DRM_IOCTL_PAGODA_EVICT, &evict);
	uapi_make_resident(client, args.handle);
}

/* The device shows the last notices with the arguments of each kind. */
static void files_notices(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	char *text = kunit_kzalloc(test, NOTICES + 1, GFP_KERNEL);
	static const u32 kinds[] = {
		VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY, VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2,
		VIRTIO_PAGODA_OP_NOTIFY_ALLOC,
	};
	static const char * const shown[] = { " pages 1\n", " pages 1\n", " size 4096 address " };
	struct file *file;
	char name[64];
	const char *at;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, text);
	files_move(client, DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY |
		   DRM_PAGODA_ALLOCATION_RESIDENCY_NOTIFICATION |
		   DRM_PAGODA_ALLOCATION_NOTIFY_EVICTION, UAPI_APERTURE);
	files_move(client, DRM_PAGODA_ALLOCATION_RESIDENCY_NOTIFICATION, UAPI_VRAM);
	file = test_ok(test, uapi_file(client, false, VGPU "notices", O_RDONLY));
	KUNIT_EXPECT_GT(test, files_read(client, file, text, NOTICES), 0);
	uapi_close_file(file);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(name, sizeof(name), " %s flags ", pagoda_engine_op_name(kinds[i]));
		at = strstr(text, name);
		KUNIT_ASSERT_NOT_NULL_MSG(test, at, "%s in %s", name, text);
		at = strstr(at, shown[i]);
		KUNIT_EXPECT_NOT_NULL_MSG(test, at, "%s in %s", shown[i], text);
	}
	uapi_close(client);
}

/* Files that change the device, or show content, are for root only. */
static void files_modes(struct kunit *test)
{
	static const struct {
		const char *name;
		u32 mode;
	} files[] = {
		{ "busy", 0200 }, { "reset", 0200 }, { "trim", 0600 }, { "recording", 0600 },
		{ "journal_raw", 0400 }, { "segments", 0444 }, { "usage", 0444 },
	};
	struct uapi_client *client = uapi_open(test);
	struct file *file;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		file = test_ok(test, uapi_file(client, true, files[i].name,
					       files[i].mode & 0400 ? O_RDONLY : O_WRONLY));
		KUNIT_EXPECT_EQ_MSG(test, files[i].mode, file_inode(file)->i_mode & 07777, "%s",
				    files[i].name);
		uapi_close_file(file);
	}
	uapi_close(client);
}

/* The file segments has a line for each segment; the file lru lists the page that a job used. */
static void files_memory(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct uapi_gpu *gpu = uapi_gpu(client, UAPI_ANYWHERE);
	struct pagoda_bo *bo = pagoda_bo_lookup(client->file, gpu->page);
	char line[64], *text = test_zalloc(test, PAGE_SIZE);

	KUNIT_ASSERT_GT(test, uapi_read(client, true, "segments", text, PAGE_SIZE - 1), 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, "1 vram: size "), "%s", text);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, "2 aperture: size "), "%s", text);
	files_job(gpu, 1);
	memset(text, 0, PAGE_SIZE);
	KUNIT_ASSERT_GT(test, uapi_read(client, true, "lru", text, PAGE_SIZE - 1), 0);
	snprintf(line, sizeof(line), " bo %llu size %lu page ", bo->id, PAGE_SIZE);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, line), "%s in %s", line, text);
	pagoda_bo_put(bo);
	uapi_close(client);
}

/* The file usage shows how many bytes each client has in each segment: here 1, 2 and 3 pages. */
static void files_usage(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	char line[96], *text = test_zalloc(test, PAGE_SIZE);
	u32 i;

	uapi_allocate(client, UAPI_ANYWHERE);
	for (i = 0; i < 5; i++)
		uapi_make_resident(client, uapi_allocate(client, i < 2 ? UAPI_VRAM :
									 UAPI_APERTURE));
	KUNIT_ASSERT_GT(test, uapi_read(client, true, "usage", text, PAGE_SIZE - 1), 0);
	snprintf(line, sizeof(line), "pid %d system %lu vram %lu aperture %lu\n",
		 task_tgid_nr(current), PAGE_SIZE, 2 * PAGE_SIZE, 3 * PAGE_SIZE);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, line), "%s in %s", line, text);
	uapi_close(client);
}

/* The id of an allocation written to busy makes moves wait; an unknown id is refused (-ENOENT). */
static void files_busy(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	u32 handle = uapi_allocate(client, UAPI_ANYWHERE);
	struct pagoda_bo *bo = pagoda_bo_lookup(client->file, handle);
	char id[24];

	/* The first allocation of a device has id 1. */
	KUNIT_EXPECT_EQ(test, -ENOENT, uapi_write(client, true, "busy", "0"));
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_write(client, true, "busy", "all"));
	KUNIT_EXPECT_FALSE(test, bo->content.needs_idle);
	snprintf(id, sizeof(id), "%llu", bo->id);
	KUNIT_EXPECT_EQ(test, strlen(id), uapi_write(client, true, "busy", id));
	KUNIT_EXPECT_TRUE(test, bo->content.needs_idle);
	pagoda_bo_put(bo);
	uapi_close(client);
}

/* Other files of the device's folder have these words, after a job. */
static void files_shown(struct kunit *test)
{
	static const struct {
		const char *name, *words;
	} files[] = {
		{ "queue", "\nresets: " }, { "engines", "\tjobs: " }, { "resets", "resets: " },
		{ "promotion", "\ntokens: " }, { "journal", " seqno " }, { "buffers", "seqno " },
	};
	struct uapi_client *client = uapi_open(test);
	char *text = test_zalloc(test, PAGE_SIZE);
	u32 i;

	files_job(uapi_gpu(client, UAPI_ANYWHERE), 1);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		memset(text, 0, PAGE_SIZE);
		KUNIT_EXPECT_GT_MSG(test,
				    uapi_read(client, true, files[i].name, text, PAGE_SIZE - 1),
				    0, "%s", files[i].name);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, files[i].words), "%s: %s",
					  files[i].name, text);
	}
	uapi_close(client);
}

/* Returns how many bytes the file trim says that were evicted. */
static u64 files_trimmed(struct uapi_client *client)
{
	char text[32] = {};
	u64 bytes = 0;

	KUNIT_EXPECT_GT(client->test, uapi_read(client, true, "trim", text, sizeof(text) - 1), 0);
	KUNIT_EXPECT_EQ(client->test, 0, kstrtou64(text, 10, &bytes));
	return bytes;
}

/*
 * A number written to trim has as many bytes leave VRAM; a read tells how many did. Here none: what
 * leaves may be of clients that are just being closed.
 */
static void files_trim(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	u64 before;

	before = files_trimmed(client);
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_write(client, true, "trim", "all"));
	KUNIT_EXPECT_EQ(test, 1, uapi_write(client, true, "trim", "0"));
	KUNIT_EXPECT_EQ(test, before, files_trimmed(client));
	uapi_close(client);
}

/* Only a boolean that is true, written to the file reset, resets the device. */
static void files_reset(struct kunit *test)
{
	struct uapi_client *client = uapi_open(test);
	struct pagoda_vidmm *vidmm = pagoda_device_of_drm(uapi_drm(client))->vidmm;
	u64 before = pagoda_reset_count(vidmm);

	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_write(client, true, "reset", "0"));
	KUNIT_EXPECT_EQ(test, -EINVAL, uapi_write(client, true, "reset", "maybe"));
	KUNIT_EXPECT_EQ(test, before, pagoda_reset_count(vidmm));
	KUNIT_EXPECT_EQ(test, 1, uapi_write(client, true, "reset", "1"));
	KUNIT_EXPECT_EQ(test, before + 1, pagoda_reset_count(vidmm));
	files_job(uapi_gpu(client, UAPI_ANYWHERE), 1);
	uapi_close(client);
}

static void files_plug(void *drm)
{
	WRITE_ONCE(((struct drm_device *)drm)->unplugged, false);
}

/*
 * A removal of the device marks the device unplugged before the files vanish: until then, reads,
 * writes and the opening of journal_raw fail with -ENODEV.
 */
static void files_of_removed_device(struct kunit *test)
{
	static const char * const written[] = { "busy", "reset", "recording" };
	static const char * const shown[] = { "segments", "recording", "trim" };
	struct uapi_client *client = uapi_open(test);
	struct drm_device *drm = uapi_drm(client);
	char text[8];
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, files_plug, drm));
	WRITE_ONCE(drm->unplugged, true);
	for (i = 0; i < ARRAY_SIZE(written); i++)
		KUNIT_EXPECT_EQ_MSG(test, -ENODEV, uapi_write(client, true, written[i], "1"), "%s",
				    written[i]);
	for (i = 0; i < ARRAY_SIZE(shown); i++)
		KUNIT_EXPECT_EQ_MSG(test, -ENODEV,
				    uapi_read(client, true, shown[i], text, sizeof(text)), "%s",
				    shown[i]);
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-ENODEV),
			    uapi_file(client, true, "journal_raw", O_RDONLY));
	kunit_release_action(test, files_plug, drm);
	uapi_close(client);
}

static struct kunit_case files_cases[] = {
	KUNIT_CASE(files_inject_actions),
	KUNIT_CASE(files_inject_order),
	KUNIT_CASE(files_inject_refuses),
	KUNIT_CASE(files_inject_is_busy),
	KUNIT_CASE_SLOW(files_inject_drops),
	KUNIT_CASE_SLOW(files_inject_hangs),
	KUNIT_CASE_SLOW(files_inject_corrupts),
	KUNIT_CASE(files_inject_reorders),
	KUNIT_CASE(files_record),
	KUNIT_CASE(files_journal),
	KUNIT_CASE(files_journal_without_memory),
	KUNIT_CASE(files_of_vgpu),
	KUNIT_CASE(files_notices),
	KUNIT_CASE(files_modes),
	KUNIT_CASE(files_memory),
	KUNIT_CASE(files_usage),
	KUNIT_CASE(files_busy),
	KUNIT_CASE(files_shown),
	KUNIT_CASE(files_trim),
	KUNIT_CASE(files_reset),
	KUNIT_CASE(files_of_removed_device),
	{}
};

static struct kunit_suite files_suite = {
	.name = "pagoda_uapi_files",
	.test_cases = files_cases,
};

kunit_test_suite(files_suite);
