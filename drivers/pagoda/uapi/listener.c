// SPDX-License-Identifier: GPL-2.0
/*
 * Listeners: files from which a client reads its events.
 *
 * A listener has references to the DRM device, which keeps the memory manager, and to the client:
 * after the DRM file was closed, events from before the close can be read.
 */
#include <linux/anon_inodes.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <drm/drm_drv.h>
#include "core/core.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/events.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/limits.h"
#include "args.h"

static void listener_free(struct pagoda_listener *listener)
{
	struct drm_device *drm = listener->vidmm->drm;

	pagoda_listener_leave(listener);
	pagoda_quota_uncharge(listener->client->quota, PAGODA_LIMIT_LISTENERS, 1);
	pagoda_client_put(listener->client);
	mutex_destroy(&listener->reading);
	kfree(listener);
	drm_dev_put(drm);
}

static ssize_t listener_read_now(struct pagoda_listener *listener, char __user *buf, size_t size)
{
	struct drm_pagoda_event news[PAGODA_LISTENER_SLOTS];
	u32 count;

	lockdep_assert_held(&listener->reading);
	count = pagoda_listener_peek(listener, news,
				     min(size / sizeof(*news), PAGODA_LISTENER_SLOTS));
	if (copy_to_user(buf, news, count * sizeof(*news)))
		return -EFAULT;
	pagoda_listener_consume(listener, news, count);
	return count * sizeof(*news);
}

static bool listener_is_over(struct pagoda_listener *listener)
{
	/* These acquires pair with the release in listener_end(). */
	return smp_load_acquire(&listener->gone) || smp_load_acquire(&listener->closed);
}

/*
 * Waits for events, unless the file is O_NONBLOCK. Returns the bytes of the events that were read;
 * 0, end of file, if the device is gone or the client closed and no event is left; or a negative
 * errno.
 */
static ssize_t listener_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	struct pagoda_listener *listener = file->private_data;
	ssize_t ret;
	bool over;

	if (size < sizeof(struct drm_pagoda_event))
		return -EINVAL;
	do {
		ret = mutex_lock_interruptible(&listener->reading);
		if (ret)
			return ret;
		over = listener_is_over(listener);
		ret = listener_read_now(listener, buf, size);
		mutex_unlock(&listener->reading);
		if (ret || over)
			return ret;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(listener->wait, pagoda_listener_has_news(listener) ||
					       listener_is_over(listener));
	} while (!ret);
	return ret;
}

static __poll_t listener_poll(struct file *file, poll_table *table)
{
	struct pagoda_listener *listener = file->private_data;
	__poll_t events = 0;

	poll_wait(file, &listener->wait, table);
	if (pagoda_listener_has_news(listener))
		events |= EPOLLIN | EPOLLRDNORM;
	if (listener_is_over(listener))
		events |= EPOLLHUP;
	return events;
}

static int listener_release(struct inode *inode, struct file *file)
{
	listener_free(file->private_data);
	return 0;
}

static const struct file_operations listener_fops = {
	.owner = THIS_MODULE,
	.read = listener_read,
	.poll = listener_poll,
	.release = listener_release,
	.llseek = noop_llseek,
};

static struct pagoda_listener *listener_create(struct pagoda_vidmm *vidmm,
					       struct pagoda_client *client)
{
	struct pagoda_listener *listener;
	int ret = pagoda_quota_charge(client->quota, PAGODA_LIMIT_LISTENERS, 1);

	if (ret)
		return ERR_PTR(ret);
	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener) {
		pagoda_quota_uncharge(client->quota, PAGODA_LIMIT_LISTENERS, 1);
		return ERR_PTR(-ENOMEM);
	}
	mutex_init(&listener->reading);
	init_waitqueue_head(&listener->wait);
	drm_dev_get(vidmm->drm);
	listener->vidmm = vidmm;
	kref_get(&client->kref);
	listener->client = client;
	listener->pid = task_tgid_nr(current);
	pagoda_listener_join(listener);
	return listener;
}

/*
 * Opens a file in which a client's events are read. Returns the file's descriptor, or -EMFILE if
 * the client or its user has too many such files, or another negative errno. @nonblock: read()
 * doesn't wait for an event.
 */
int pagoda_listener_open(struct pagoda_vidmm *vidmm, struct pagoda_client *client, bool nonblock)
{
	struct pagoda_listener *listener = listener_create(vidmm, client);
	int fd;

	if (IS_ERR(listener))
		return PTR_ERR(listener);
	fd = anon_inode_getfd("pagoda-events", &listener_fops, listener,
			      O_RDONLY | O_CLOEXEC | (nonblock ? O_NONBLOCK : 0));
	if (fd < 0)
		listener_free(listener);
	return fd;
}
