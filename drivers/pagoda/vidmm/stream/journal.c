// SPDX-License-Identifier: GPL-2.0
/*
 * The journal: the last operations of the stream; and on request a recording of all paging
 * buffers, of the CPU's writes to page tables and of changes of root tables.
 *
 * Entries are written under the stream's lock, in the dma_fence signalling path, so nothing is
 * allocated. Readers of the journal take no lock, and leave out an entry that was overwritten while
 * they copied it. The result of an operation is found at reading, from three things: the number
 * that the operation's submission got when it was sent; the number in the fence page, into which
 * each submission writes its own at its end; and the list of the last submissions that were given
 * up.
 *
 * Buffers are recorded in the order in which they are sent.
 */
#include <linux/cleanup.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <kunit/static_stub.h>
#include "core/core.h"
#include "paging/paging.h"
#include "queue/queue.h"
#include "internal.h"
#include "recording.h"
#include "stream.h"

#define JOURNAL_NO_SEGMENT	255

static u8 journal_segment_number(u32 segment)
{
	return segment == VIRTIO_PAGODA_SEGMENT_COUNT ? JOURNAL_NO_SEGMENT : segment;
}

static void journal_describe(const struct pagoda_paging_op *op, struct pagoda_journal_entry *entry)
{
	struct pagoda_paging_ends ends = pagoda_paging_ends(op);

	entry->address = cpu_to_le64(ends.address);
	entry->source = cpu_to_le64(ends.source);
	entry->size = cpu_to_le64(ends.size);
	entry->src_segment = journal_segment_number(ends.src_segment);
	entry->dst_segment = journal_segment_number(ends.dst_segment);
}

/*
 * Adds an entry for pass number @pass of a builder over @op. The pass wrote @encoded bytes at byte
 * offset @offset of the submission with the id @id. The caller holds the stream's lock and is in
 * the dma_fence signalling path.
 */
void pagoda_journal_note(struct pagoda_journal *journal, const struct pagoda_paging_op *op,
			 u64 id, u32 offset, u32 encoded, int pass)
{
	u64 number = journal->recorded + 1;
	struct pagoda_journal_entry *entry;

	KUNIT_STATIC_STUB_REDIRECT(pagoda_journal_note, journal, op, id, offset, encoded, pass);
	entry = &journal->entries[number % PAGODA_JOURNAL_ENTRIES];
	WRITE_ONCE(entry->number, 0);
	/*
	 * The number is 0 before any field changes: this barrier pairs with that in
	 * journal_copy().
	 */
	smp_wmb();
	entry->time_ns = cpu_to_le64(ktime_get_ns());
	entry->seqno = cpu_to_le64(id);
	entry->allocation = cpu_to_le64(op->allocation);
	entry->offset = cpu_to_le32(offset);
	entry->encoded = cpu_to_le32(encoded);
	entry->operation = cpu_to_le32(op->operation);
	entry->pass = cpu_to_le16(pass);
	journal_describe(op, entry);
	/* The number is set after all fields: pairs with the acquire in journal_copy(). */
	smp_store_release(&entry->number, cpu_to_le64(number));
	WRITE_ONCE(journal->recorded, number);
}

/*
 * Returns where the content of the recording's next item goes, and sets *@room to the bytes free
 * from that address on; NULL if no recording runs, or if there is no room, in which case the item
 * is counted as dropped. After the first dropped item no other is recorded, because a recording
 * with gaps can't be understood. Caller holds recording_lock.
 */
static void *journal_item_room(struct pagoda_journal *journal, u32 *room)
{
	u64 left = journal->recording_size - journal->recording_used;

	lockdep_assert_held(&journal->recording_lock);
	if (!journal->recording)
		return NULL;
	if (journal->recording_dropped || left < sizeof(struct pagoda_recording_item)) {
		journal->recording_dropped++;
		return NULL;
	}
	*room = left - sizeof(struct pagoda_recording_item);
	return journal->recording + journal->recording_used +
	       sizeof(struct pagoda_recording_item);
}

/* Adds an item, whose @size bytes the caller has written where journal_item_room() said. */
static void journal_item_add(struct pagoda_journal *journal, u32 kind, u64 seqno, u32 size)
{
	const struct pagoda_recording_item item = {
		.seqno = cpu_to_le64(seqno),
		.size = cpu_to_le32(size),
		.kind = cpu_to_le32(kind),
	};

	lockdep_assert_held(&journal->recording_lock);
	memcpy(journal->recording + journal->recording_used, &item, sizeof(item));
	journal->recording_used += sizeof(item) + size;
}

static bool journal_item_copy(struct pagoda_journal *journal, u32 kind, u64 seqno,
			      const void *data, u32 size)
{
	u32 room;
	void *here = journal_item_room(journal, &room);

	if (here && room >= size) {
		if (size)
			memcpy(here, data, size);
		journal_item_add(journal, kind, seqno, size);
		return true;
	}
	journal->recording_dropped += here ? 1 : 0;
	return false;
}

/*
 * Notes the number of @sub, which is about to be sent or given up, and records its buffer, if a
 * recording runs and has room. Called for one submission at a time, in the order of numbers, in the
 * dma_fence signalling path.
 */
void pagoda_journal_sent(struct pagoda_journal *journal, const struct pagoda_submission *sub)
{
	struct pagoda_journal_number *number =
		&journal->numbers[sub->id % PAGODA_JOURNAL_ENTRIES];

	WRITE_ONCE(number->id, 0);
	/*
	 * number->id is 0 before number->seqno changes: pairs with the second acquire in
	 * journal_number().
	 */
	smp_wmb();
	WRITE_ONCE(number->seqno, sub->seqno);
	/* number->id is set after number->seqno: pairs with its first acquire. */
	smp_store_release(&number->id, sub->id);
	spin_lock(&journal->recording_lock);
	journal->last_seqno = sub->seqno;
	journal_item_copy(journal, PAGODA_RECORDING_BUFFER, sub->seqno, sub->data, sub->built);
	spin_unlock(&journal->recording_lock);
}

/*
 * Builds into @buf the UPDATE_PAGE_TABLE packets of @op, by which the device would write the page
 * table entries that the CPU wrote. Returns the builder's last result.
 */
static enum pagoda_build journal_build_update(struct pagoda_journal *journal,
					      const struct pagoda_paging_op *op,
					      struct pagoda_paging_buffer *buf)
{
	const struct pagoda_paging_limits *limits = journal->vidmm->paging_limits;
	struct pagoda_paging_private priv[4];
	struct pagoda_paging_cursor cursor = {};
	enum pagoda_build result;
	u32 before;

	/*
	 * Build until the operation ends or a pass adds no packet because @buf is full. Private
	 * data of packets isn't recorded, so all passes write it to @priv.
	 */
	do {
		before = buf->write_offset;
		buf->priv = (u8 *)priv;
		buf->priv_size = sizeof(priv);
		result = pagoda_paging_build(limits, op, &cursor, buf);
	} while (result == PAGODA_BUILD_INSUFFICIENT_BUFFER && buf->write_offset != before);
	return result;
}

/**
 * pagoda_journal_written() - Record that the CPU wrote entries of a page table directly
 * @journal: Journal
 * @op: UPDATE_PAGE_TABLE in CPU_VIRTUAL mode, with the table's bus address
 *
 * Adds an item to the recording, if a recording runs. The CPU writes at once, but the order of the
 * items is right, because the caller has waited for all submissions that use the old entries.
 *
 * Context: Any but interrupts; may be in the dma_fence signalling path.
 */
void pagoda_journal_written(struct pagoda_journal *journal, const struct pagoda_paging_op *op)
{
	struct pagoda_paging_op update = *op;
	struct pagoda_paging_buffer buf = {};

	KUNIT_STATIC_STUB_REDIRECT(pagoda_journal_written, journal, op);
	update.update_page_table.mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL;
	update.update_page_table.table_segment = VIRTIO_PAGODA_SEGMENT_SYSTEM;
	update.update_page_table.cpu_table = NULL;
	spin_lock(&journal->recording_lock);
	buf.pos = journal_item_room(journal, &buf.size);
	if (!buf.pos)
		goto unlock;
	buf.size = round_down(buf.size, VIRTIO_PAGODA_PACKET_ALIGN);
	if (journal_build_update(journal, &update, &buf) == PAGODA_BUILD_SUCCESS)
		journal_item_add(journal, PAGODA_RECORDING_CPU, journal->last_seqno,
				 buf.write_offset);
	else
		journal->recording_dropped++;
unlock:
	spin_unlock(&journal->recording_lock);
}

/**
 * pagoda_journal_root() - Record that an address space has a new root table
 * @journal: Journal
 * @space: Address space
 * @root: New root table; &pagoda_root.entries is 0 if the address space has no root any more
 *
 * Adds an item to the recording, if a recording runs.
 *
 * Context: Any but interrupts. Takes a spinlock, doesn't sleep or allocate.
 */
void pagoda_journal_root(struct pagoda_journal *journal, u32 space,
			 const struct pagoda_root *root)
{
	const struct pagoda_recording_root item = {
		.address = cpu_to_le64(root->entries ? root->address : 0),
		.entries = cpu_to_le64(root->entries),
		.segment = cpu_to_le32(root->entries ? root->segment : 0),
		.space = cpu_to_le32(space),
	};

	spin_lock(&journal->recording_lock);
	journal_item_copy(journal, PAGODA_RECORDING_ROOT, journal->last_seqno, &item,
			  sizeof(item));
	spin_unlock(&journal->recording_lock);
}

/**
 * pagoda_journal_reset() - Record that the device was reset
 * @journal: Journal
 *
 * Adds an item to the recording, if a recording runs. For submissions that the reset left
 * unfinished, pagoda_journal_lost() adds LOST items later, when they are given up.
 *
 * Context: In the dma_fence signalling path; doesn't sleep or allocate.
 */
void pagoda_journal_reset(struct pagoda_journal *journal)
{
	spin_lock(&journal->recording_lock);
	journal_item_copy(journal, PAGODA_RECORDING_RESET, journal->last_seqno, NULL, 0);
	spin_unlock(&journal->recording_lock);
}

/**
 * pagoda_journal_lost() - Store in the journal and in the recording that a submission was given up
 * @journal: Journal
 * @seqno: Number of the submission
 * @offset: Offset of the first byte that wasn't executed
 * @error: Negative errno
 *
 * Context: In the dma_fence signalling path; doesn't sleep or allocate. Calls don't overlap: the
 * queue finishes submissions in order.
 */
void pagoda_journal_lost(struct pagoda_journal *journal, u64 seqno, u32 offset, int error)
{
	const struct pagoda_recording_lost item = {
		.offset = cpu_to_le32(offset),
		.error = cpu_to_le32(error),
	};
	struct pagoda_journal_loss *loss;

	spin_lock(&journal->recording_lock);
	/*
	 * Tell readers of the recording that a LOST item was left out: without the item the
	 * submission looks as if it was completely executed.
	 */
	if (!journal_item_copy(journal, PAGODA_RECORDING_LOST, seqno, &item, sizeof(item)))
		journal->recording_missed++;
	spin_unlock(&journal->recording_lock);
	loss = &journal->losses[journal->nr_losses % ARRAY_SIZE(journal->losses)];
	*loss = (struct pagoda_journal_loss) {
		.seqno = seqno,
		.offset = offset,
		.error = error,
	};
	/*
	 * A reader that sees the new number of losses also sees the loss: this release pairs with
	 * the acquire in journal_result().
	 */
	smp_store_release(&journal->nr_losses, journal->nr_losses + 1);
}

static int journal_result(struct pagoda_journal *journal, u64 seqno, u32 offset, u64 completed)
{
	/*
	 * The losses are read after their number: this acquire pairs with the release in
	 * pagoda_journal_lost().
	 */
	u32 count = smp_load_acquire(&journal->nr_losses);
	u32 i;

	for (i = 0; i < min_t(u32, count, ARRAY_SIZE(journal->losses)); i++)
		if (journal->losses[i].seqno == seqno && offset >= journal->losses[i].offset)
			return journal->losses[i].error;
	return seqno && seqno <= completed ? 0 : PAGODA_JOURNAL_PENDING;
}

/*
 * Returns the number of the submission with the id @id; 0 if the submission isn't sent yet, or if a
 * later submission's number has replaced its number.
 */
static u64 journal_number(struct pagoda_journal *journal, u64 id)
{
	struct pagoda_journal_number *number = &journal->numbers[id % PAGODA_JOURNAL_ENTRIES];
	u64 seqno;

	/* The number is read after the id: pairs with the release in pagoda_journal_sent(). */
	if (smp_load_acquire(&number->id) != id)
		return 0;
	/* The id is read again after the number: pairs with smp_wmb() in pagoda_journal_sent(). */
	seqno = smp_load_acquire(&number->seqno);
	return READ_ONCE(number->id) == id ? seqno : 0;
}

/* Returns the number in the fence page: that of the last submission known to be executed. */
static u64 journal_completed(struct pagoda_journal *journal)
{
	u64 *here = kmap_local_page(journal->vidmm->stream->args.fence_page);
	u64 value = READ_ONCE(*here);

	kunmap_local(here);
	return value;
}

static bool journal_copy(struct pagoda_journal *journal, u64 number, u64 completed,
			 struct pagoda_journal_entry *copy)
{
	struct pagoda_journal_entry *entry;
	u64 seqno;

	entry = &journal->entries[number % PAGODA_JOURNAL_ENTRIES];
	/* The fields are read after the number: pairs with the release in pagoda_journal_note(). */
	if (le64_to_cpu(smp_load_acquire(&entry->number)) != number)
		return false;
	*copy = *entry;
	/*
	 * The number is read again after the fields: this barrier pairs with that in
	 * pagoda_journal_note().
	 */
	smp_rmb();
	if (le64_to_cpu(READ_ONCE(entry->number)) != number)
		return false;
	seqno = journal_number(journal, le64_to_cpu(copy->seqno));
	copy->seqno = cpu_to_le64(seqno);
	copy->result = cpu_to_le32(journal_result(journal, seqno, le32_to_cpu(copy->offset),
						  completed));
	return true;
}

/**
 * pagoda_vidmm_journal() - Copy the journal in the format of debugfs `journal_raw` and coredumps
 * @vidmm: Memory manager
 * @size: Out: size in bytes
 *
 * Context: May sleep and allocate.
 * Return: struct pagoda_journal_head, followed by the entries, to be freed by kvfree(); or NULL
 * without memory.
 */
void *pagoda_vidmm_journal(struct pagoda_vidmm *vidmm, size_t *size)
{
	struct pagoda_journal *journal = vidmm->journal;
	u64 recorded = READ_ONCE(journal->recorded);
	u64 number = recorded - min_t(u64, recorded, PAGODA_JOURNAL_ENTRIES);
	u64 completed = journal_completed(journal);
	struct pagoda_journal_entry *entries;
	struct pagoda_journal_head *head;
	u32 count = 0;

	head = kvzalloc(sizeof(*head) + PAGODA_JOURNAL_ENTRIES * sizeof(*entries), GFP_KERNEL);
	if (!head)
		return NULL;
	entries = (void *)(head + 1);
	while (number++ < recorded)
		if (journal_copy(journal, number, completed, &entries[count]))
			count++;
	head->magic = cpu_to_le64(PAGODA_JOURNAL_MAGIC);
	head->count = cpu_to_le32(count);
	head->entry_bytes = cpu_to_le32(sizeof(*entries));
	head->recorded = cpu_to_le64(recorded);
	head->completed = cpu_to_le64(completed);
	head->clock_ns = cpu_to_le64(ktime_get_ns());
	*size = sizeof(*head) + count * sizeof(*entries);
	return head;
}

static const char *journal_segment(u32 segment)
{
	static const char *const names[] = { "system", "vram", "aperture" };

	return segment < ARRAY_SIZE(names) ? names[segment] : "-";
}

static void journal_print_entry(const struct pagoda_journal_entry *entry, struct drm_printer *p)
{
	int result = le32_to_cpu(entry->result);
	u64 ns = le64_to_cpu(entry->time_ns);
	u32 us = do_div(ns, NSEC_PER_SEC) / NSEC_PER_USEC;

	drm_printf(p, "%llu %llu.%06u seqno %llu+0x%x %s alloc %llu ",
		   le64_to_cpu(entry->number), ns, us, le64_to_cpu(entry->seqno),
		   le32_to_cpu(entry->offset), pagoda_paging_name(le32_to_cpu(entry->operation)),
		   le64_to_cpu(entry->allocation));
	drm_printf(p, "%s:0x%llx -> %s:0x%llx size 0x%llx bytes %u pass %u ",
		   journal_segment(entry->src_segment), le64_to_cpu(entry->source),
		   journal_segment(entry->dst_segment), le64_to_cpu(entry->address),
		   le64_to_cpu(entry->size), le32_to_cpu(entry->encoded),
		   le16_to_cpu(entry->pass));
	if (result == PAGODA_JOURNAL_PENDING)
		drm_puts(p, "pending\n");
	else
		drm_printf(p, "%d\n", result);
}

/**
 * pagoda_vidmm_print_journal() - Print the last operations, oldest first
 * @vidmm: Memory manager
 * @p: Printer
 *
 * Context: May sleep and allocate.
 */
void pagoda_vidmm_print_journal(struct pagoda_vidmm *vidmm, struct drm_printer *p)
{
	struct pagoda_journal_entry *entries;
	struct pagoda_journal_head *head;
	size_t size;
	u32 i;

	head = pagoda_vidmm_journal(vidmm, &size);
	if (!head) {
		drm_puts(p, "no memory\n");
		return;
	}
	entries = (void *)(head + 1);
	for (i = 0; i < le32_to_cpu(head->count); i++)
		journal_print_entry(&entries[i], p);
	kvfree(head);
}

/**
 * pagoda_vidmm_record() - Start a new recording of paging buffers, or stop recording
 * @vidmm: Memory manager
 * @size: Most bytes of items to record, up to %PAGODA_RECORDING_MAX; 0 = stop recording
 *
 * The recording so far, if any, is freed in both cases.
 *
 * Context: May sleep and allocate.
 * Return: 0; -EINVAL if @size is too large, or -ENOMEM: after an error recording goes on as before.
 */
int pagoda_vidmm_record(struct pagoda_vidmm *vidmm, u64 size)
{
	struct pagoda_journal *journal = vidmm->journal;
	u8 *fresh = NULL, *old;

	if (size > PAGODA_RECORDING_MAX)
		return -EINVAL;
	if (size) {
		fresh = vmalloc(size);
		if (!fresh)
			return -ENOMEM;
	}
	mutex_lock(&journal->recording_mutex);
	spin_lock(&journal->recording_lock);
	old = journal->recording;
	journal->recording = fresh;
	journal->recording_size = size;
	journal->recording_used = 0;
	journal->recording_dropped = 0;
	journal->recording_missed = journal->last_seqno;
	spin_unlock(&journal->recording_lock);
	mutex_unlock(&journal->recording_mutex);
	vfree(old);
	return 0;
}

static struct pagoda_recording_head recording_head(struct pagoda_vidmm *vidmm)
{
	const struct pagoda_paging_limits *limits = vidmm->paging_limits;
	struct pagoda_journal *journal = vidmm->journal;
	struct pagoda_recording_head head = {
		.magic = cpu_to_le64(PAGODA_RECORDING_MAGIC),
		.features = cpu_to_le64(limits->features),
		.vram_size = cpu_to_le64(limits->vram_size),
		.aperture_pages = cpu_to_le64(limits->aperture_pages),
		.mmu_pages = cpu_to_le64(limits->mmu_pages),
		.swizzling_bytes = cpu_to_le64(limits->swizzling_bytes),
		.max_runs = cpu_to_le32(limits->max_runs),
		.va_bits = cpu_to_le32(limits->va_bits),
		.pt_levels = cpu_to_le32(limits->pt_levels),
		.page_sizes = cpu_to_le32(limits->page_sizes),
		.max_address_spaces = cpu_to_le32(limits->max_address_spaces),
		.swizzling_ranges = cpu_to_le32(limits->swizzling_ranges),
	};

	scoped_guard(spinlock, &journal->recording_lock) {
		head.bytes = cpu_to_le64(journal->recording_used);
		head.dropped = cpu_to_le64(journal->recording_dropped);
		head.missed = cpu_to_le64(journal->recording_missed);
	}
	return head;
}

/**
 * pagoda_vidmm_read_recording() - Read the recording
 * @vidmm: Memory manager
 * @buf: User memory
 * @size: Size of @buf in bytes
 * @pos: Position in struct pagoda_recording_head, followed by the items; advanced
 *
 * Context: May sleep.
 * Return: Bytes read, 0 at the end; -ENODATA if @pos is behind the head and there is no recording;
 * or -EFAULT.
 */
ssize_t pagoda_vidmm_read_recording(struct pagoda_vidmm *vidmm, char __user *buf, size_t size,
				    loff_t *pos)
{
	struct pagoda_recording_head head;
	struct pagoda_journal *journal = vidmm->journal;
	loff_t inside = *pos - (loff_t)sizeof(head);
	ssize_t ret;

	/* The mutex keeps the recording from being freed while it is copied. */
	mutex_lock(&journal->recording_mutex);
	head = recording_head(vidmm);
	if (inside < 0)
		ret = simple_read_from_buffer(buf, size, pos, &head, sizeof(head));
	else if (journal->recording)
		ret = simple_read_from_buffer(buf, size, &inside, journal->recording,
					      le64_to_cpu(head.bytes));
	else
		ret = -ENODATA;
	mutex_unlock(&journal->recording_mutex);
	if (inside >= 0 && ret > 0)
		*pos += ret;
	return ret;
}

/* Allocates the journal, without a recording, at probe. May sleep. Returns 0 or -ENOMEM. */
int pagoda_journal_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_journal *journal;

	journal = drmm_kzalloc(vidmm->drm, sizeof(*journal), GFP_KERNEL);
	if (!journal)
		return -ENOMEM;
	vidmm->journal = journal;
	journal->vidmm = vidmm;
	spin_lock_init(&journal->recording_lock);
	mutex_init(&journal->recording_mutex);
	journal->entries = kvcalloc(PAGODA_JOURNAL_ENTRIES, sizeof(*journal->entries),
				    GFP_KERNEL);
	journal->numbers = kvcalloc(PAGODA_JOURNAL_ENTRIES, sizeof(*journal->numbers), GFP_KERNEL);
	if (journal->entries && journal->numbers)
		return 0;
	kvfree(journal->numbers);
	kvfree(journal->entries);
	return -ENOMEM;
}

/* Frees the journal and the recording. May sleep. */
void pagoda_journal_fini(struct pagoda_vidmm *vidmm)
{
	struct pagoda_journal *journal = vidmm->journal;

	vfree(journal->recording);
	kvfree(journal->numbers);
	kvfree(journal->entries);
	mutex_destroy(&journal->recording_mutex);
}
