// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the journal: its entries agree with the packets that the device executed, are of the
 * last operations, and say whether an operation is pending, complete or lost. Tests of recordings,
 * which contain paging buffers, table writes by the CPU, root tables, losses, resets.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include "rig/rig.h"

static struct pagoda_journal_head *journal_read(struct pagoda_rig *rig,
						struct pagoda_journal_entry **entries)
{
	struct pagoda_journal_head *head;
	size_t size;

	head = pagoda_vidmm_journal(rig->vidmm, &size);
	KUNIT_ASSERT_NOT_NULL(rig->test, head);
	*entries = (void *)(head + 1);
	KUNIT_ASSERT_EQ(rig->test, size,
			sizeof(*head) + le32_to_cpu(head->count) * sizeof(**entries));
	return head;
}

/* Returns the first entry of @operation on the allocation with the id @allocation, or NULL. */
static struct pagoda_journal_entry *journal_find(struct pagoda_journal_head *head,
						 struct pagoda_journal_entry *entries,
						 u32 operation, u64 allocation)
{
	u32 i;

	for (i = 0; i < le32_to_cpu(head->count); i++)
		if (le32_to_cpu(entries[i].operation) == operation &&
		    le64_to_cpu(entries[i].allocation) == allocation)
			return &entries[i];
	return NULL;
}

/*
 * An entry has the submission's number, the size, segments and source address of the executed
 * packet.
 */
static void journal_agrees_with_packets(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_journal_entry *entries, *entry;
	const struct pagoda_rig_note *note;
	struct pagoda_journal_head *head;
	struct pagoda_bo *bo;

	bo = pagoda_rig_bo(rig, 8, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
			   DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM), 0);
	pagoda_rig_write_vram(rig, bo, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_TRUE(test, pagoda_rig_holds(rig, bo, 1));

	head = journal_read(rig, &entries);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(head->recorded), (u64)le32_to_cpu(head->count));
	note = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id, 0);
	entry = journal_find(head, entries, VIRTIO_PAGODA_OP_TRANSFER, bo->id);
	KUNIT_ASSERT_NOT_NULL(test, note);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry->seqno), note->seqno);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry->size), note->size);
	KUNIT_EXPECT_EQ(test, entry->src_segment, (u8)note->src);
	KUNIT_EXPECT_EQ(test, entry->dst_segment, (u8)note->dst);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry->source), note->src_address);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(entry->result), 0u);
	kvfree(head);
	pagoda_rig_close(bo);
}

/* Each piece of a large move has an entry with the size and the VRAM address of the piece. */
static void journal_agrees_with_pieces(struct kunit *test)
{
	const struct pagoda_rig_options large = { .large = true };
	const struct ttm_place one_range = {
		.mem_type = TTM_PL_VRAM,
		.flags = TTM_PL_FLAG_CONTIGUOUS,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &large);
	struct pagoda_journal_entry *entries;
	const struct pagoda_rig_note *note;
	struct pagoda_journal_head *head;
	struct pagoda_bo *bo;
	u32 i, n = 0;

	bo = pagoda_rig_bo(rig, 2 * (PAGODA_PIECE_BYTES >> PAGE_SHIFT) + 77, 0,
			   DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM), 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &one_range, false));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &one_range, false));
	pagoda_rig_settle(rig);
	head = journal_read(rig, &entries);
	for (i = 0; i < le32_to_cpu(head->count); i++) {
		if (le32_to_cpu(entries[i].operation) != VIRTIO_PAGODA_OP_TRANSFER ||
		    le64_to_cpu(entries[i].allocation) != bo->id)
			continue;
		note = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id, n++);
		KUNIT_ASSERT_NOT_NULL(test, note);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(entries[i].size), note->size);
		if (note->src == VIRTIO_PAGODA_SEGMENT_VRAM)
			KUNIT_EXPECT_EQ(test, le64_to_cpu(entries[i].source), note->src_address);
		else
			KUNIT_EXPECT_EQ(test, le64_to_cpu(entries[i].address), note->address);
	}
	/* Three pieces in each direction. */
	KUNIT_EXPECT_EQ(test, 6u, n);
	kvfree(head);
	pagoda_rig_close(bo);
}

/*
 * After more operations than the journal has entries, the journal has the last of them, in order.
 */
static void journal_keeps_the_last(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_journal_entry *entries;
	struct pagoda_journal_head *head;
	struct pagoda_bo *bo;
	u32 count, i;

	bo = pagoda_rig_bo(rig, 1, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
			   DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM), 0);
	while (READ_ONCE(rig->vidmm->journal->recorded) <= PAGODA_JOURNAL_ENTRIES + 10) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
		rig->nr_log = 0;
	}
	head = journal_read(rig, &entries);
	count = le32_to_cpu(head->count);
	KUNIT_ASSERT_EQ(test, count, PAGODA_JOURNAL_ENTRIES);
	for (i = 0; i < count; i++)
		KUNIT_ASSERT_EQ(test, le64_to_cpu(entries[i].number),
				le64_to_cpu(head->recorded) - count + 1 + i);
	kvfree(head);
	pagoda_rig_close(bo);
}

/* An operation has no number, and is pending, until its submission is sent. */
static void journal_numbers_what_is_sent(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_journal_entry *entries, *entry;
	const struct pagoda_rig_note *note;
	struct pagoda_journal_head *head;
	struct pagoda_bo *bo;

	bo = pagoda_rig_bo(rig, 4, 0, DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM), 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	pagoda_rig_plug_shared(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	head = journal_read(rig, &entries);
	entry = journal_find(head, entries, VIRTIO_PAGODA_OP_TRANSFER, bo->id);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, 0ull, le64_to_cpu(entry->seqno));
	KUNIT_EXPECT_EQ(test, PAGODA_JOURNAL_PENDING, le32_to_cpu(entry->result));
	kvfree(head);
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_settle(rig);
	head = journal_read(rig, &entries);
	entry = journal_find(head, entries, VIRTIO_PAGODA_OP_TRANSFER, bo->id);
	note = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_ASSERT_NOT_NULL(test, note);
	KUNIT_EXPECT_EQ(test, note->seqno, le64_to_cpu(entry->seqno));
	KUNIT_EXPECT_EQ(test, 0u, le32_to_cpu(entry->result));
	kvfree(head);
	pagoda_rig_close(bo);
}

/* Waits until the submission that copies @bo is sent; returns the submission's number. */
static u64 journal_wait_sent(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct pagoda_journal_entry *entries, *entry;
	struct pagoda_journal_head *head;
	u64 seqno = 0;
	u32 i;

	for (i = 0; i < 1000 && !seqno; i++) {
		usleep_range(500, 1000);
		head = journal_read(rig, &entries);
		entry = journal_find(head, entries, VIRTIO_PAGODA_OP_TRANSFER, bo->id);
		KUNIT_ASSERT_NOT_NULL(rig->test, entry);
		seqno = le64_to_cpu(entry->seqno);
		kvfree(head);
	}
	KUNIT_ASSERT_NE(rig->test, seqno, 0ull);
	return seqno;
}

/*
 * The result of an operation is PENDING until the operation was executed, and a negative errno if
 * the operation was lost.
 */
static void journal_tells_pending_and_lost(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, &(struct pagoda_rig_options) {
		.no_window = true,
	});
	struct pagoda_journal_entry *entries, *entry;
	struct pagoda_journal_head *head;
	struct pagoda_bo *bo;
	u64 seqno;

	bo = pagoda_rig_bo(rig, 4, 0, DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM), 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	seqno = journal_wait_sent(rig, bo);
	head = journal_read(rig, &entries);
	entry = journal_find(head, entries, VIRTIO_PAGODA_OP_TRANSFER, bo->id);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(entry->result), PAGODA_JOURNAL_PENDING);
	/*
	 * The device refuses the operation, and without a window the CPU can't execute it, either.
	 */
	pagoda_fake_transport_order(rig->fake, seqno, PAGODA_FAKE_FAULT,
				    le32_to_cpu(entry->offset), 100);
	kvfree(head);
	pagoda_rig_settle(rig);

	head = journal_read(rig, &entries);
	entry = journal_find(head, entries, VIRTIO_PAGODA_OP_TRANSFER, bo->id);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_LT(test, (s32)le32_to_cpu(entry->result), 0);
	KUNIT_EXPECT_TRUE(test, bo->content.lost);
	kvfree(head);
	pagoda_rig_close(bo);
}

/* Calls @visit for each item of kind @kind in the recording; returns the number of these items. */
static u32 journal_items(struct pagoda_rig *rig, u32 kind,
			 void (*visit)(struct pagoda_rig *rig,
				       const struct pagoda_recording_item *item, void *arg),
			 void *arg)
{
	struct pagoda_journal *journal = rig->vidmm->journal;
	const struct pagoda_recording_item *item;
	u32 count = 0;
	u64 at;

	for (at = 0; at < journal->recording_used; at += sizeof(*item) + le32_to_cpu(item->size)) {
		item = (const void *)(journal->recording + at);
		if (le32_to_cpu(item->kind) != kind)
			continue;
		visit(rig, item, arg);
		count++;
	}
	KUNIT_EXPECT_EQ(rig->test, at, journal->recording_used);
	return count;
}

/*
 * Expects the packets of a recorded buffer to be the next ones in the rig's log of executed
 * packets; *@arg is the log's index of the next packet, and is advanced.
 */
static void journal_buffer_executed(struct pagoda_rig *rig,
				    const struct pagoda_recording_item *item, void *arg)
{
	const struct virtio_pagoda_packet *packet;
	u32 *next = arg, offset;

	for (offset = 0; offset < le32_to_cpu(item->size); offset += le32_to_cpu(packet->length)) {
		packet = (const void *)(item + 1) + offset;
		KUNIT_ASSERT_LT(rig->test, *next, rig->nr_log);
		KUNIT_EXPECT_EQ(rig->test, (u32)le16_to_cpu(packet->opcode),
				rig->log[*next].opcode);
		KUNIT_EXPECT_EQ(rig->test, le64_to_cpu(item->seqno), rig->log[*next].seqno);
		(*next)++;
	}
}

/*
 * A recording has the buffers that were executed, packet by packet and in order; a full recording
 * takes no more items.
 */
static void journal_records_buffers(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_journal *journal = rig->vidmm->journal;
	u32 first = rig->nr_log, next = first;
	struct pagoda_bo *bo;

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_record(rig->vidmm, SZ_64K));
	bo = pagoda_rig_bo(rig, 8, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
			   DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM), 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	journal_items(rig, PAGODA_RECORDING_BUFFER, journal_buffer_executed, &next);
	KUNIT_EXPECT_EQ(test, next, rig->nr_log);
	KUNIT_EXPECT_GT(test, next - first, 2u);
	KUNIT_EXPECT_EQ(test, journal->recording_dropped, 0ull);

	/* A recording that was full once takes no more items, so it has no gaps. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_record(rig->vidmm, 80));
	KUNIT_EXPECT_EQ(test, journal->recording_missed, journal->last_seqno);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, journal->recording_used, 0ull);
	KUNIT_EXPECT_GT(test, journal->recording_dropped, 0ull);
	pagoda_journal_root(journal, 1, &(struct pagoda_root) { });
	KUNIT_EXPECT_EQ(test, journal->recording_used, 0ull);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			pagoda_vidmm_record(rig->vidmm, PAGODA_RECORDING_MAX + 1));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_record(rig->vidmm, 0));
	pagoda_rig_close(bo);
}

/*
 * Expects an UPDATE_PAGE_TABLE packet that stands for a write of the CPU to the table @arg, with
 * the value that the table has.
 */
static void journal_cpu_matches(struct pagoda_rig *rig, const struct pagoda_recording_item *item,
				void *arg)
{
	const struct virtio_pagoda_update_page_table *update = (const void *)(item + 1);
	const __le64 *table = arg, *value = (const void *)(update + 1);

	KUNIT_EXPECT_EQ(rig->test, (u32)le16_to_cpu(update->packet.opcode),
			(u32)VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE);
	KUNIT_EXPECT_EQ(rig->test, le32_to_cpu(update->packet.length), le32_to_cpu(item->size));
	KUNIT_EXPECT_EQ(rig->test, le32_to_cpu(update->mode),
			(u32)VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL);
	KUNIT_EXPECT_EQ(rig->test, le32_to_cpu(update->table_segment),
			(u32)VIRTIO_PAGODA_SEGMENT_SYSTEM);
	KUNIT_EXPECT_EQ(rig->test, le64_to_cpu(update->table_address), 0x12345000ull);
	KUNIT_EXPECT_EQ(rig->test, le64_to_cpu(*value),
			le64_to_cpu(table[le32_to_cpu(update->first_entry)]));
}

static void journal_root_matches(struct pagoda_rig *rig, const struct pagoda_recording_item *item,
				 void *arg)
{
	const struct pagoda_recording_root *root = (const void *)(item + 1);

	KUNIT_ASSERT_EQ(rig->test, le32_to_cpu(item->size), (u32)sizeof(*root));
	KUNIT_EXPECT_EQ(rig->test, le64_to_cpu(root->address), 0x5000ull);
	KUNIT_EXPECT_EQ(rig->test, le64_to_cpu(root->entries), 16ull);
	KUNIT_EXPECT_EQ(rig->test, le32_to_cpu(root->segment), (u32)VIRTIO_PAGODA_SEGMENT_VRAM);
	KUNIT_EXPECT_EQ(rig->test, le32_to_cpu(root->space), 3u);
}

/* Table writes by the CPU and new roots, which are in no paging buffer, are recorded, too. */
static void journal_records_tables(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_journal *journal = rig->vidmm->journal;
	const u64 value = VIRTIO_PAGODA_PTE_VALID | 0x7000;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
		.update_page_table = {
			.mode = VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL,
			.first_entry = 6,
			.nr_entries = 1,
			.table_entries = VIRTIO_PAGODA_PT_ENTRIES,
			.table_address = 0x12345000,
			.values = &value,
		},
	};
	const struct pagoda_root root = { 0x5000, 16, VIRTIO_PAGODA_SEGMENT_VRAM };
	struct pagoda_paging_cursor cursor = { };
	__le64 *table = test_zalloc(test, PAGE_SIZE);

	op.update_page_table.cpu_table = table;
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_record(rig->vidmm, SZ_4K));
	KUNIT_ASSERT_EQ(test, PAGODA_BUILD_SUCCESS,
			pagoda_paging_build(rig->vidmm->paging_limits, &op, &cursor, NULL));
	pagoda_journal_written(journal, &op);
	pagoda_journal_root(journal, 3, &root);
	KUNIT_EXPECT_EQ(test, 1u, journal_items(rig, PAGODA_RECORDING_CPU, journal_cpu_matches,
						table));
	KUNIT_EXPECT_EQ(test, 1u, journal_items(rig, PAGODA_RECORDING_ROOT,
						journal_root_matches, NULL));
	KUNIT_EXPECT_EQ(test, journal->recording_dropped, 0ull);
	/* A table write that doesn't fit into the recording is dropped as a whole. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_record(rig->vidmm, 48));
	pagoda_journal_written(journal, &op);
	KUNIT_EXPECT_EQ(test, journal->recording_used, 0ull);
	KUNIT_EXPECT_EQ(test, journal->recording_dropped, 1ull);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_record(rig->vidmm, 0));
}

static void journal_loss_matches(struct pagoda_rig *rig, const struct pagoda_recording_item *item,
				 void *arg)
{
	const struct pagoda_recording_lost *lost = (const void *)(item + 1);
	const struct pagoda_journal_loss *loss = rig->vidmm->journal->losses;

	KUNIT_ASSERT_EQ(rig->test, le32_to_cpu(item->size), (u32)sizeof(*lost));
	KUNIT_EXPECT_EQ(rig->test, le64_to_cpu(item->seqno), loss->seqno);
	KUNIT_EXPECT_EQ(rig->test, le32_to_cpu(lost->offset), loss->offset);
	KUNIT_EXPECT_EQ(rig->test, (int)le32_to_cpu(lost->error), loss->error);
}

/*
 * A lost submission is recorded; if there is no room for the loss, recording_missed tells readers
 * that the recording isn't complete.
 */
static void journal_records_losses(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_journal *journal = rig->vidmm->journal;

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_record(rig->vidmm, SZ_4K));
	pagoda_journal_lost(journal, 77, 0x40, -EIO);
	KUNIT_EXPECT_EQ(test, 1u, journal_items(rig, PAGODA_RECORDING_LOST, journal_loss_matches,
						NULL));
	/* There is no room for the loss, which readers of the recording have to be told. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_record(rig->vidmm, 16));
	KUNIT_EXPECT_EQ(test, journal->recording_missed, journal->last_seqno);
	pagoda_journal_lost(journal, 78, 0x40, -EIO);
	KUNIT_EXPECT_EQ(test, journal->recording_missed, journal->last_seqno + 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_record(rig->vidmm, 0));
}

/*
 * Counts the item in @arg: in element 0 if it is before the reset, which is at offset @arg[2], in
 * element 1 if it is behind. Expects a reset item, and no other item, to have no content.
 */
static void journal_item_side(struct pagoda_rig *rig, const struct pagoda_recording_item *item,
			      void *arg)
{
	u32 *sides = arg;

	KUNIT_EXPECT_EQ(rig->test, le32_to_cpu(item->kind) == PAGODA_RECORDING_RESET,
			!le32_to_cpu(item->size));
	sides[rig->vidmm->journal->recording + sides[2] < (const u8 *)item]++;
}

static void journal_reset_at(struct pagoda_rig *rig, const struct pagoda_recording_item *item,
			     void *arg)
{
	*(u32 *)arg = (const u8 *)item - rig->vidmm->journal->recording;
}

/*
 * A recording has buffers, then one item for the reset, then the roots and buffers of the rebuild.
 */
static void journal_records_resets(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	u32 buffers[3] = {}, roots[3] = {};
	struct pagoda_bo *bo;

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_record(rig->vidmm, SZ_1M));
	bo = pagoda_rig_bo(rig, 8, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
			   DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM), 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_write(rig, bo, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 1u, journal_items(rig, PAGODA_RECORDING_RESET, journal_reset_at,
						&buffers[2]));
	roots[2] = buffers[2];
	journal_items(rig, PAGODA_RECORDING_BUFFER, journal_item_side, buffers);
	journal_items(rig, PAGODA_RECORDING_ROOT, journal_item_side, roots);
	KUNIT_EXPECT_LT(test, 0, buffers[0]);
	KUNIT_EXPECT_LT(test, 0, buffers[1]);
	KUNIT_EXPECT_LT(test, 0, roots[1]);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_record(rig->vidmm, 0));
	pagoda_rig_close(bo);
}

static struct kunit_case journal_cases[] = {
	KUNIT_CASE(journal_agrees_with_packets),
	KUNIT_CASE(journal_agrees_with_pieces),
	KUNIT_CASE_SLOW(journal_keeps_the_last),
	KUNIT_CASE(journal_numbers_what_is_sent),
	KUNIT_CASE(journal_tells_pending_and_lost),
	KUNIT_CASE(journal_records_buffers),
	KUNIT_CASE(journal_records_tables),
	KUNIT_CASE(journal_records_losses),
	KUNIT_CASE(journal_records_resets),
	{ }
};

static struct kunit_suite journal_suite = {
	.name = "pagoda_journal",
	.test_cases = journal_cases,
};

kunit_test_suite(journal_suite);
