// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue: one command at a time, and the caller sleeps until the answer or a timeout.
 *
 * The answer's interrupt may be lost, so the wait polls the ring every few milliseconds. A command
 * that the device doesn't answer in time keeps its memory, a slot, until the device returns the
 * command or the virtio device is reset.
 */
#include <linux/jiffies.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "core/info.h"
#include "check.h"
#include "internal.h"

#define PAGODA_CONTROL_LOOK_MS	10

/*
 * Takes the answers that arrived: stores their lengths and makes the slots of their commands free
 * for other commands.
 */
static void control_drain(struct pagoda_control *control)
{
	struct pagoda_control_slot *slot;
	u32 len;

	lockdep_assert_held(&control->lock);
	/* Look again if pagoda_virtio_listen() finds an answer that came after the last look. */
	do {
		while ((slot = virtqueue_get_buf(control->vq, &len))) {
			slot->len = min_t(u32, len, sizeof(slot->reply));
			slot->busy = false;
		}
	} while (!pagoda_virtio_listen(control->vq));
}

/* Virtqueue callback: wakes the thread that waits for the answer to a command. */
void pagoda_control_interrupt(struct virtqueue *vq)
{
	struct pagoda_virtio *virtio = vq->vdev->priv;

	complete(&virtio->control.answered);
}

static struct pagoda_control_slot *control_slot(struct pagoda_control *control)
{
	u32 i;

	control_drain(control);
	for (i = 0; i < PAGODA_CONTROL_SLOTS; i++)
		if (!control->slots[i].busy)
			return &control->slots[i];
	return NULL;
}

static int control_send(struct pagoda_control *control, struct pagoda_control_slot *slot)
{
	struct scatterlist out, in, *sgs[] = { &out, &in };
	int ret;

	lockdep_assert_held(&control->lock);
	memset(&slot->reply, 0, sizeof(slot->reply));
	sg_init_one(&out, &slot->command, sizeof(slot->command));
	sg_init_one(&in, &slot->reply, sizeof(slot->reply));
	ret = virtqueue_add_sgs(control->vq, sgs, 1, 1, slot, GFP_ATOMIC);
	if (ret)
		return -ENODEV;
	slot->busy = true;
	virtqueue_kick(control->vq);
	return 0;
}

/* Returns how many milliseconds the device may take to answer a command. */
static u32 control_patience(struct pagoda_virtio *virtio,
			    const struct virtio_pagoda_control *command)
{
	if (le32_to_cpu(command->type) != VIRTIO_PAGODA_CONTROL_RESET_ADAPTER)
		return PAGODA_CONTROL_TIMEOUT_MS;
	return min_t(u64, PAGODA_CONTROL_TIMEOUT_MS + (virtio->info.vram_size >> 20),
		     PAGODA_RESET_TIMEOUT_MS);
}

static int control_wait(struct pagoda_control *control, struct pagoda_control_slot *slot,
			u32 timeout_ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);
	bool late;

	for (;;) {
		late = time_after(jiffies, end);
		control_drain(control);
		if (!slot->busy)
			return 0;
		if (virtqueue_is_broken(control->vq))
			return -ENODEV;
		if (late)
			return -ETIMEDOUT;
		wait_for_completion_timeout(&control->answered,
					    msecs_to_jiffies(PAGODA_CONTROL_LOOK_MS));
	}
}

/*
 * Checks the head of the answer to @command, of which the device wrote @len bytes. Returns 0, or
 * the error of pagoda_answer_check(): -EINVAL or -EPROTO.
 */
static int control_check(const struct pagoda_control *control,
			 const struct virtio_pagoda_control *command, u32 len)
{
	if (le32_to_cpu(command->type) == VIRTIO_PAGODA_CONTROL_QUERY_DIRTY)
		return pagoda_answer_check(&control->answer, len, sizeof(__le64),
					   VIRTIO_PAGODA_MAX_DIRTY_PAGES / 64);
	return pagoda_answer_check(&control->answer, len, sizeof(struct virtio_pagoda_extent),
				   VIRTIO_PAGODA_MAX_EXTENTS_PER_ANSWER);
}

/*
 * Sends a command and waits for its answer. The head of the answer is copied to control->answer;
 * its extents or words stay in the slot *@answered, which belongs to the caller as long as the
 * caller holds control->lock. Returns 0; -ENODEV; -ETIMEDOUT, also if no slot is free, because all
 * of them have unanswered commands; -EINVAL if the device refused the command; or -EPROTO for an
 * impossible answer.
 */
static int control_call(struct pagoda_virtio *virtio, const struct virtio_pagoda_control *command,
			struct pagoda_control_slot **answered)
{
	struct pagoda_control *control = &virtio->control;
	struct pagoda_control_slot *slot;
	int ret;

	lockdep_assert_held(&control->lock);
	if (!control->vq)
		return -ENODEV;
	slot = control_slot(control);
	if (!slot)
		return -ETIMEDOUT;
	slot->command = *command;
	reinit_completion(&control->answered);
	ret = control_send(control, slot);
	if (!ret)
		ret = control_wait(control, slot, control_patience(virtio, command));
	if (!ret) {
		control->answer = slot->reply.answer;
		ret = control_check(control, command, slot->len);
	}
	if (ret)
		dev_err_ratelimited(&virtio->vdev->dev, "control command %u failed: %d\n",
				    le32_to_cpu(command->type), ret);
	*answered = slot;
	return ret;
}

/*
 * Has the device answer a NOP. Returns 0, -ETIMEDOUT, -ENODEV, -EINVAL if the device refuses the
 * NOP, or -EPROTO for an impossible answer. Sleeps until other commands have ended, then for
 * %PAGODA_CONTROL_TIMEOUT_MS at most; doesn't allocate.
 */
int pagoda_virtio_nop(struct pagoda_virtio *virtio)
{
	const struct virtio_pagoda_control command = {
		.type = cpu_to_le32(VIRTIO_PAGODA_CONTROL_NOP),
	};
	struct pagoda_control_slot *slot;
	int ret;

	mutex_lock(&virtio->control.lock);
	ret = control_call(virtio, &command, &slot);
	mutex_unlock(&virtio->control.lock);
	return ret;
}

/*
 * Has the device halt the queue with virtqueue number @index and report the queue's progress in
 * @result. Returns 0, -ETIMEDOUT, -ENODEV, or -EIO for a refusal or an impossible answer. Sleeps
 * until other commands have ended, then for %PAGODA_CONTROL_TIMEOUT_MS at most; doesn't allocate.
 */
int pagoda_control_reset_queue(struct pagoda_virtio *virtio, u32 index,
			       struct pagoda_reset_result *result)
{
	const struct virtio_pagoda_control command = {
		.type = cpu_to_le32(VIRTIO_PAGODA_CONTROL_RESET_QUEUE),
		.index = cpu_to_le32(index),
	};
	struct pagoda_control_slot *slot;
	int ret;

	mutex_lock(&virtio->control.lock);
	ret = control_call(virtio, &command, &slot);
	if (!ret) {
		result->seqno = le64_to_cpu(virtio->control.answer.seqno);
		result->offset = le32_to_cpu(virtio->control.answer.offset);
	}
	mutex_unlock(&virtio->control.lock);
	return ret == -EINVAL || ret == -EPROTO ? -EIO : ret;
}

/*
 * Copies the bits with which the device answered a QUERY_DIRTY to command->words. Returns 0, or
 * -EPROTO if the answer has more or fewer words than the bits of the range need.
 */
static int control_words(const struct pagoda_control *control,
			 const struct pagoda_control_slot *slot,
			 const struct pagoda_command *command)
{
	u32 count = DIV_ROUND_UP_ULL(command->size >> VIRTIO_PAGODA_PAGE_SHIFT, 64), i;

	if (le32_to_cpu(control->answer.count) != count)
		return -EPROTO;
	for (i = 0; i < count; i++)
		command->words[i] = le64_to_cpu(slot->reply.words[i]);
	return 0;
}

/*
 * Has the device execute @command, of any type that struct pagoda_command lists. Returns 0 when the
 * device has executed @command, -EINVAL when the device refuses @command, -ETIMEDOUT, -ENODEV, or
 * -EIO for an impossible answer. Sleeps until other commands have ended, then for at most
 * %PAGODA_CONTROL_TIMEOUT_MS, for RESET_ADAPTER %PAGODA_RESET_TIMEOUT_MS; doesn't allocate.
 */
int pagoda_control_command(struct pagoda_virtio *virtio, const struct pagoda_command *command)
{
	const struct virtio_pagoda_control raw = {
		.type = cpu_to_le32(command->type),
		.index = cpu_to_le32(command->index),
		.address = cpu_to_le64(command->address),
		.size = cpu_to_le64(command->size),
		.segment = cpu_to_le32(command->segment),
		.layout = {
			.tiling = cpu_to_le32(command->tiling),
			.pitch = cpu_to_le32(command->pitch),
			.height = cpu_to_le32(command->height),
			.mips = cpu_to_le32(command->mips),
		},
	};
	struct pagoda_control_slot *slot;
	int ret;

	mutex_lock(&virtio->control.lock);
	ret = control_call(virtio, &raw, &slot);
	if (!ret && command->words)
		ret = control_words(&virtio->control, slot, command);
	mutex_unlock(&virtio->control.lock);
	return ret == -EPROTO ? -EIO : ret;
}

/*
 * Reads the first @count entries of an extent list (enum virtio_pagoda_extents), converted to CPU
 * order but unchecked. Returns 0, -EPROTO when an answer is impossible, has no entry, or has more
 * entries than are still missing, -EINVAL when the device refuses, -ETIMEDOUT or -ENODEV. Sleeps;
 * doesn't allocate.
 */
int pagoda_control_get_extents(struct pagoda_virtio *virtio, u32 list,
			       struct pagoda_extent *extents, u32 count)
{
	struct virtio_pagoda_control command = {
		.type = cpu_to_le32(VIRTIO_PAGODA_CONTROL_GET_EXTENTS),
		.index = cpu_to_le32(list),
	};
	struct pagoda_control_slot *slot;
	u32 done = 0, got, i;
	int ret = 0;

	mutex_lock(&virtio->control.lock);
	while (done < count) {
		command.first = cpu_to_le64(done);
		ret = control_call(virtio, &command, &slot);
		got = ret ? 0 : le32_to_cpu(virtio->control.answer.count);
		if (!ret && (!got || got > count - done))
			ret = -EPROTO;
		if (ret)
			break;
		for (i = 0; i < got; i++, done++) {
			extents[done].address = le64_to_cpu(slot->reply.extents[i].address);
			extents[done].offset = le64_to_cpu(slot->reply.extents[i].offset);
			extents[done].size = le64_to_cpu(slot->reply.extents[i].size);
		}
	}
	mutex_unlock(&virtio->control.lock);
	return ret;
}

/* Initializes virtio->control, but for vq, which is set already. Returns 0 or -ENOMEM. */
int pagoda_control_init(struct pagoda_virtio *virtio)
{
	struct pagoda_control *control = &virtio->control;

	mutex_init(&control->lock);
	init_completion(&control->answered);
	control->slots = kcalloc(PAGODA_CONTROL_SLOTS, sizeof(*control->slots), GFP_KERNEL);
	return control->slots ? 0 : -ENOMEM;
}

/*
 * Takes the memory of all commands back from a device that was reset: no command counts as being
 * with the device any more.
 */
void pagoda_control_detach(struct pagoda_control *control)
{
	struct pagoda_control_slot *slot;

	while (control->vq && (slot = virtqueue_detach_unused_buf(control->vq)))
		slot->busy = false;
}

/*
 * Sets the virtqueue of a device that has power again and has no command. With @vq NULL, removes
 * the virtqueue: from then on commands fail with -ENODEV.
 */
void pagoda_control_attach(struct pagoda_control *control, struct virtqueue *vq)
{
	mutex_lock(&control->lock);
	control->vq = vq;
	mutex_unlock(&control->lock);
}

/* Frees the memory of commands and answers. The device was reset, so that it has no command. */
void pagoda_control_fini(struct pagoda_virtio *virtio)
{
	kfree(virtio->control.slots);
	virtio->control.slots = NULL;
}
