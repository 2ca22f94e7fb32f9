// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue: one command at a time, waiting for its answer.
 *
 * The answer's interrupt may be lost, so the wait looks into the ring itself
 * every few milliseconds. A command the device doesn't answer in time keeps its
 * memory, a slot, until the device gives it back or is taken down.
 */
#include <linux/jiffies.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "check.h"
#include "internal.h"

#define PAGODA_CONTROL_LOOK_MS	10

/* Returns what is answered to its slot. */
static void pagoda_control_drain(struct pagoda_control *control)
{
	struct pagoda_control_slot *slot;
	unsigned long flags;
	u32 len;

	spin_lock_irqsave(&control->vq_lock, flags);
	/* What came while interrupts were off comes without one. */
	do {
		while ((slot = virtqueue_get_buf(control->vq, &len))) {
			slot->len = min_t(u32, len, sizeof(slot->reply));
			slot->busy = false;
		}
	} while (!pagoda_virtio_listen(control->vq));
	spin_unlock_irqrestore(&control->vq_lock, flags);
}

/**
 * pagoda_control_interrupt() - A command was answered
 * @vq: The control queue
 *
 * Context: interrupt.
 */
void pagoda_control_interrupt(struct virtqueue *vq)
{
	struct pagoda_virtio *virtio = vq->vdev->priv;

	complete(&virtio->control.answered);
}

static struct pagoda_control_slot *pagoda_control_slot(struct pagoda_control *control)
{
	u32 i;

	pagoda_control_drain(control);
	for (i = 0; i < PAGODA_CONTROL_SLOTS; i++)
		if (!READ_ONCE(control->slots[i].busy))
			return &control->slots[i];
	return NULL;
}

static int pagoda_control_send(struct pagoda_control *control,
			       struct pagoda_control_slot *slot)
{
	struct scatterlist out, in, *sgs[] = { &out, &in };
	unsigned long flags;
	bool notify = false;
	int ret;

	memset(&slot->reply, 0, sizeof(slot->reply));
	sg_init_one(&out, &slot->command, sizeof(slot->command));
	sg_init_one(&in, &slot->reply, sizeof(slot->reply));
	spin_lock_irqsave(&control->vq_lock, flags);
	ret = virtqueue_add_sgs(control->vq, sgs, 1, 1, slot, GFP_ATOMIC);
	if (!ret) {
		slot->busy = true;
		notify = virtqueue_kick_prepare(control->vq);
	}
	spin_unlock_irqrestore(&control->vq_lock, flags);
	if (notify)
		virtqueue_notify(control->vq);
	return ret ? -ENODEV : 0;
}

/* How long a command may take, in milliseconds. */
static u32 pagoda_control_patience(struct pagoda_virtio *virtio,
				   const struct virtio_pagoda_control *command)
{
	if (le32_to_cpu(command->type) != VIRTIO_PAGODA_CONTROL_RESET_ADAPTER)
		return PAGODA_CONTROL_TIMEOUT_MS;
	return min_t(u64, PAGODA_CONTROL_TIMEOUT_MS + (virtio->info.vram_size >> 20),
		     PAGODA_RESET_TIMEOUT_MS);
}

static int pagoda_control_wait(struct pagoda_control *control,
			       struct pagoda_control_slot *slot, u32 timeout_ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);
	bool late;

	for (;;) {
		late = time_after(jiffies, end);
		pagoda_control_drain(control);
		if (!READ_ONCE(slot->busy))
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
 * One command; the head of its answer is copied, and what follows that stays in the slot,
 * which is the caller's as long as it holds control->lock.
 */
static int pagoda_control_call(struct pagoda_virtio *virtio,
			       const struct virtio_pagoda_control *command,
			       struct pagoda_control_slot **answered)
{
	struct pagoda_control *control = &virtio->control;
	struct pagoda_control_slot *slot;
	int ret;

	lockdep_assert_held(&control->lock);
	if (!control->vq)
		return -ENODEV;
	slot = pagoda_control_slot(control);
	if (!slot)
		return -ETIMEDOUT;
	slot->command = *command;
	reinit_completion(&control->answered);
	ret = pagoda_control_send(control, slot);
	if (!ret)
		ret = pagoda_control_wait(control, slot,
					  pagoda_control_patience(virtio, command));
	if (!ret) {
		control->answer = slot->reply.answer;
		ret = pagoda_answer_check(&control->answer, slot->len);
	}
	if (ret)
		dev_err_ratelimited(&virtio->vdev->dev, "control command %u failed: %d\n",
				    le32_to_cpu(command->type), ret);
	*answered = slot;
	return ret;
}

/**
 * pagoda_virtio_nop() - An empty round trip through the control queue
 * @virtio: Device
 *
 * Context: sleeps, for %PAGODA_CONTROL_TIMEOUT_MS at most; doesn't allocate.
 * Return: 0, -ETIMEDOUT, -ENODEV or -EPROTO.
 */
int pagoda_virtio_nop(struct pagoda_virtio *virtio)
{
	const struct virtio_pagoda_control command = {
		.type = cpu_to_le32(VIRTIO_PAGODA_CONTROL_NOP),
	};
	struct pagoda_control_slot *slot;
	int ret;

	mutex_lock(&virtio->control.lock);
	ret = pagoda_control_call(virtio, &command, &slot);
	mutex_unlock(&virtio->control.lock);
	return ret;
}

/**
 * pagoda_control_reset_queue() - Halt a queue and ask how far it came
 * @virtio: Device
 * @index: Virtqueue number
 * @result: Receives the answer
 *
 * Context: sleeps, for %PAGODA_CONTROL_TIMEOUT_MS at most; doesn't allocate.
 * Return: 0, -ETIMEDOUT, -ENODEV or -EIO.
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
	ret = pagoda_control_call(virtio, &command, &slot);
	if (!ret) {
		result->seqno = le64_to_cpu(virtio->control.answer.seqno);
		result->offset = le32_to_cpu(virtio->control.answer.offset);
	}
	mutex_unlock(&virtio->control.lock);
	return ret == -EINVAL || ret == -EPROTO ? -EIO : ret;
}

/**
 * pagoda_control_command() - Have the device execute a command
 * @virtio: Device
 * @command: SET_ROOT, ACQUIRE_RANGE, RELEASE_RANGE or RESET_ADAPTER
 *
 * Context: sleeps, for %PAGODA_CONTROL_TIMEOUT_MS at most, with RESET_ADAPTER
 * %PAGODA_RESET_TIMEOUT_MS; doesn't allocate.
 * Return: 0 when the device has done it, -EINVAL when it refuses, -ETIMEDOUT,
 * -ENODEV, or -EIO when its answer makes no sense.
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
	ret = pagoda_control_call(virtio, &raw, &slot);
	mutex_unlock(&virtio->control.lock);
	return ret == -EPROTO ? -EIO : ret;
}

/**
 * pagoda_control_get_extents() - Read an extent list
 * @virtio: Device
 * @list: enum virtio_pagoda_extents
 * @extents: Receives it, unchecked, in CPU order
 * @count: Entries it must have
 *
 * Context: sleeps; doesn't allocate.
 * Return: 0, or -EPROTO when the list is shorter, or what a command returns.
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
		ret = pagoda_control_call(virtio, &command, &slot);
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

/**
 * pagoda_control_init() - Set the control queue up
 * @virtio: Device; its @control.vq is set
 *
 * Context: may sleep and allocate; before the device is ready.
 * Return: 0 or -ENOMEM.
 */
int pagoda_control_init(struct pagoda_virtio *virtio)
{
	struct pagoda_control *control = &virtio->control;

	mutex_init(&control->lock);
	spin_lock_init(&control->vq_lock);
	init_completion(&control->answered);
	control->slots = kcalloc(PAGODA_CONTROL_SLOTS, sizeof(*control->slots), GFP_KERNEL);
	return control->slots ? 0 : -ENOMEM;
}

/**
 * pagoda_control_detach() - Take all commands back
 * @control: Control queue of a device that was reset
 *
 * Context: process.
 */
void pagoda_control_detach(struct pagoda_control *control)
{
	struct pagoda_control_slot *slot;

	while (control->vq && (slot = virtqueue_detach_unused_buf(control->vq)))
		slot->busy = false;
}

/**
 * pagoda_control_attach() - The device has power again, or none
 * @control: Control queue; the device has no command
 * @vq: Its new virtqueue; NULL: there is none, and commands fail
 *
 * Context: process.
 */
void pagoda_control_attach(struct pagoda_control *control, struct virtqueue *vq)
{
	mutex_lock(&control->lock);
	control->vq = vq;
	mutex_unlock(&control->lock);
}

/**
 * pagoda_control_fini() - Free the commands
 * @virtio: Device that was reset and has none of them
 *
 * Context: process.
 */
void pagoda_control_fini(struct pagoda_virtio *virtio)
{
	kfree(virtio->control.slots);
	virtio->control.slots = NULL;
}
