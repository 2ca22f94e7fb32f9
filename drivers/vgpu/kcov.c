// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/pagoda_vgpu/kcov: code coverage of the device's threads, for fuzzers.
 *
 * A request doesn't tell which process caused it: the ABI has no room for a handle of KCOV, which
 * no other device would have a use for. The task that rings a doorbell doesn't tell either: it is
 * the scheduler of the driver, and one doorbell is for the requests of several processes. So a
 * process says itself that it wants the coverage of the device: while it has this file open, all
 * that the device executes counts for the handle (KCOV_REMOTE_ENABLE with a common handle) of the
 * task that opened the file.
 *
 * Only one process at a time can have the file open, since a thread collects for one handle only.
 * What the device executes for other processes meanwhile counts for that process, too: a fuzzer
 * should have one process per machine then.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kcov.h>
#include <linux/sched/mm.h>

#include "vgpu.h"

/* The module has one device. Bit 0: the file is open. */
static unsigned long kcov_open_flag;
/* Common handle of the task that opened the file, whose type differs between kernels; 0 = none. */
static typeof(kcov_common_handle()) kcov_handle;

static int kcov_open(struct inode *inode, struct file *file)
{
	if (test_and_set_bit_lock(0, &kcov_open_flag))
		return -EBUSY;
	WRITE_ONCE(kcov_handle, kcov_common_handle());
	return nonseekable_open(inode, file);
}

static int kcov_release(struct inode *inode, struct file *file)
{
	static const typeof(kcov_handle) none;

	WRITE_ONCE(kcov_handle, none);
	clear_bit_unlock(0, &kcov_open_flag);
	return 0;
}

static const struct file_operations kcov_fops = {
	.owner = THIS_MODULE,
	.open = kcov_open,
	.release = kcov_release,
};

void pagoda_vgpu_kcov_init(struct pagoda_vgpu *vgpu)
{
	debugfs_create_file("kcov", 0400, vgpu->debugfs, NULL, &kcov_fops);
}

/*
 * Begins to collect coverage of the current thread, a queue's, for the process that has the file
 * open. KCOV may allocate a buffer, but doesn't reclaim memory for that: reclaim may wait for the
 * device.
 */
void pagoda_vgpu_kcov_begin(void)
{
	unsigned int flags = memalloc_noreclaim_save();

	kcov_remote_start_common(READ_ONCE(kcov_handle));
	memalloc_noreclaim_restore(flags);
}

/* Undoes pagoda_vgpu_kcov_begin(): the process can read the coverage from now on. */
void pagoda_vgpu_kcov_end(void)
{
	kcov_remote_stop();
}
