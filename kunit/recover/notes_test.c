// SPDX-License-Identifier: GPL-2.0
/*
 * What is told about resets and failures: the list of the last resets, the names of their reasons,
 * and the text of the last failure.
 */
#include <linux/kthread.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <drm/drm_print.h>
#include "rig/rig.h"
#include "submit/submit_helpers.h"
#include "vm/vm_helpers.h"

#define NOTES_TEXT	SZ_8K
#define NEW_TEXT	"cause: the text is complete\n"

/* Returns the list of the last resets. */
static const char *notes_list(struct pagoda_rig *rig)
{
	char *text = test_zalloc(rig->test, NOTES_TEXT);
	struct drm_print_iterator iterator = { .data = text, .remain = NOTES_TEXT - 1 };
	struct drm_printer p = drm_coredump_printer(&iterator);

	pagoda_vidmm_print_resets(rig->vidmm, &p);
	return text;
}

/*
 * However many resets there were, the list has the last PAGODA_RESET_NOTES, oldest first, each with
 * its number and its reason.
 */
static void notes_list_the_last(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	const u32 resets = PAGODA_RESET_NOTES + 3;
	u32 i, lines = 0;
	const char *text;
	char start[48];

	for (i = 0; i < resets; i++)
		KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	text = notes_list(rig);
	snprintf(start, sizeof(start), "resets: %u\n", resets);
	for (i = resets - PAGODA_RESET_NOTES; *text; i++) {
		KUNIT_ASSERT_TRUE_MSG(test, strstarts(text, start), "%s instead of %s", text,
				      start);
		lines++;
		snprintf(start, sizeof(start), "%u: asked for, at ", i + 1);
		text = strchrnul(text, '\n');
		text += !!*text;
	}
	KUNIT_EXPECT_EQ(test, 1 + PAGODA_RESET_NOTES, lines);
}

/* A reset has the names of all its reasons. */
static void notes_name_all_reasons(struct kunit *test)
{
	char names[PAGODA_RESET_NAMES];

	pagoda_reset_names(0, names);
	KUNIT_EXPECT_STREQ(test, "", names);
	pagoda_reset_names(BIT(PAGODA_RESET_SLEEP), names);
	KUNIT_EXPECT_STREQ(test, "sleep", names);
	pagoda_reset_names(BIT(PAGODA_RESET_REASONS) - 1, names);
	KUNIT_EXPECT_STREQ(test, "paging+engine+device+asked for+sleep", names);
}

/* A thread that reads the text of the last failure. */
struct notes_reader {
	struct pagoda_rig *rig;
	char text[128];
	struct completion done;
};

static int notes_read(void *data)
{
	struct notes_reader *reader = data;
	struct drm_print_iterator iterator = {
		.data = reader->text, .remain = sizeof(reader->text) - 1,
	};
	struct drm_printer p = drm_coredump_printer(&iterator);

	pagoda_vidmm_print_coredump(reader->rig->vidmm, &p);
	complete(&reader->done);
	return 0;
}

/* The text of the last failure isn't shown before it is complete: while a thread owns the dump. */
static void notes_wait_for_the_text(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_coredump *dump = rig->vidmm->coredump;
	struct notes_reader reader = { .rig = rig };
	bool ended;

	init_completion(&reader.done);
	atomic_set(&dump->state, PAGODA_COREDUMP_BUSY);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(notes_read, &reader, "pagoda-notes")));
	ended = wait_for_completion_timeout(&reader.done, HZ / 10);
	KUNIT_EXPECT_FALSE(test, ended);
	dump->text.len = strscpy(dump->text.data, NEW_TEXT, NOTES_TEXT);
	atomic_set_release(&dump->state, PAGODA_COREDUMP_IDLE);
	wake_up_all(&dump->released);
	if (!ended)
		wait_for_completion(&reader.done);
	KUNIT_EXPECT_TRUE_MSG(test, strstarts(reader.text, NEW_TEXT), "%s", reader.text);
	KUNIT_EXPECT_EQ(test, PAGODA_COREDUMP_IDLE, atomic_read(&dump->state));
}

/* When the device is unplugged, failures aren't written down any more. */
static void notes_end_with_the_device(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_coredump *dump = rig->vidmm->coredump;

	pagoda_coredump_reset(rig->vidmm, "before");
	flush_work(&dump->work);
	KUNIT_EXPECT_NOT_NULL(test, strstr(dump->text.data, "(before)"));
	/* The next failure needn't be a second later. */
	dump->after = jiffies;
	pagoda_rig_unplug(rig);
	pagoda_coredump_reset(rig->vidmm, "behind");
	flush_work(&dump->work);
	KUNIT_EXPECT_NULL(test, strstr(dump->text.data, "(behind)"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(dump->text.data, "(before)"));
}

/* The text about a fault shows what the client's mappings don't allow. */
static void notes_show_protection(struct kunit *test)
{
	static const struct {
		u32 flags;
		const char *text;
	} maps[] = {
		{ 0, "" },
		{ DRM_PAGODA_BIND_READ_ONLY, " read-only" },
		{ DRM_PAGODA_BIND_NO_EXECUTE, " no-execute" },
		{ DRM_PAGODA_BIND_READ_ONLY | DRM_PAGODA_BIND_NO_EXECUTE, " read-only no-execute" },
	};
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 1, 0, SUBMIT_VRAM, 0);
	struct pagoda_coredump *dump = rig->vidmm->coredump;
	char line[96];
	u64 at;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	for (i = 0; i < ARRAY_SIZE(maps); i++)
		KUNIT_ASSERT_EQ(test, 0, vmt_map(client->vm, bo, SZ_4M + i * SZ_64K, 0, PAGE_SIZE,
						 maps[i].flags));
	submit_store(client, SZ_8M, 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, -EFAULT, submit_wait(client));
	flush_work(&dump->work);
	for (i = 0; i < ARRAY_SIZE(maps); i++) {
		at = SZ_4M + i * SZ_64K;
		snprintf(line, sizeof(line), "\t0x%llx-0x%llx alloc %llu+0x0%s\n", at,
			 at + PAGE_SIZE, bo->id, maps[i].text);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(dump->text.data, line), "%s", line);
	}
	pagoda_vm_forget(client->vm, bo);
	pagoda_rig_close(bo);
	submit_client_end(client);
}

static struct kunit_case notes_cases[] = {
	KUNIT_CASE(notes_list_the_last),
	KUNIT_CASE(notes_name_all_reasons),
	KUNIT_CASE(notes_wait_for_the_text),
	KUNIT_CASE(notes_end_with_the_device),
	KUNIT_CASE(notes_show_protection),
	{}
};

static struct kunit_suite notes_suite = {
	.name = "pagoda_reset_notes",
	.test_cases = notes_cases,
};

kunit_test_suite(notes_suite);
