// SPDX-License-Identifier: GPL-2.0
/*
 * Work with which the user-space benchmark of long residency lists compares its results (see
 * beside.c). pagoda_bench_lock() and pagoda_bench_walk() work on the allocations on the residency
 * lists of the process that reads the debugfs file, in the order in which the allocations were
 * added to the lists; pagoda_bench_pick() picks among all candidates for eviction from VRAM.
 */
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_device.h>
#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include "core/core.h"
#include "core/device.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/policy.h"
#include "vidmm/ledger/require.h"
#include "lib.h"

/* Allocations of a measurement; the benchmark in user space uses lists of this length, too. */
#define CROWD_LIST	1000
/* Most victims chosen in a measurement. */
#define CROWD_PICKS	1000
/* Bytes that are written to empty the CPU's caches. */
#define CROWD_COLD	SZ_64M

struct crowd {
	struct pagoda_bo **bos;
	u32 count;
};

static void crowd_take(struct crowd *crowd, struct pagoda_requirements *reqs, u32 room)
{
	struct pagoda_requirement *req;

	mutex_lock(&reqs->lock);
	list_for_each_entry(req, &reqs->list, entry) {
		if (crowd->count == room)
			break;
		drm_gem_object_get(pagoda_bo_gem(req->bo));
		crowd->bos[crowd->count++] = req->bo;
	}
	mutex_unlock(&reqs->lock);
}

/*
 * Returns the number of allocations on the current process's residency lists; adds up to @room of
 * these to @crowd, unless @crowd is NULL.
 */
static u32 crowd_look(struct bench *b, struct crowd *crowd, u32 room)
{
	struct drm_device *drm = &b->pagoda->drm;
	struct drm_file *file;
	u32 count = 0;

	mutex_lock(&drm->filelist_mutex);
	list_for_each_entry(file, &drm->filelist, lhead) {
		struct pagoda_client *client = file->driver_priv;

		if (rcu_access_pointer(file->pid) != task_tgid(current))
			continue;
		count += READ_ONCE(client->requirements->count);
		if (crowd)
			crowd_take(crowd, client->requirements, room);
	}
	mutex_unlock(&drm->filelist_mutex);
	return count;
}

static void crowd_put(struct crowd *crowd)
{
	while (crowd->count)
		pagoda_bench_close(crowd->bos[--crowd->count]);
	kvfree(crowd->bos);
}

static int crowd_get(struct bench *b, struct crowd *crowd)
{
	u32 room = crowd_look(b, NULL, 0);

	*crowd = (struct crowd) {};
	if (!room)
		return -ENOENT;
	crowd->bos = kvmalloc_array(room, sizeof(*crowd->bos), GFP_KERNEL);
	if (!crowd->bos)
		return -ENOMEM;
	crowd_look(b, crowd, room);
	return 0;
}

/*
 * Locks and unlocks the reservations of all @bos: an ioctl that locks these reservations takes at
 * least as long. (An ioctl that finds nothing to do may lock none.) Returns 0 or a negative errno.
 */
static int crowd_lock_list(struct pagoda_bo **bos, u32 count)
{
	struct drm_exec exec;
	int ret = 0;
	u32 i;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES, count);
	drm_exec_until_all_locked(&exec) {
		for (i = 0, ret = 0; i < count && !ret; i++)
			ret = drm_exec_lock_obj(&exec, &bos[i]->ttm.base);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
	}
	drm_exec_fini(&exec);
	return ret;
}

/*
 * Reads a member of each allocation of @bos, which may miss the CPU's caches: an ioctl that looks
 * at these allocations takes at least as long. Returns 0.
 */
static int crowd_walk_list(struct pagoda_bo **bos, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		READ_ONCE(bos[i]->choice.item.last);
	return 0;
}

typedef int (*crowd_fn)(struct pagoda_bo **bos, u32 count);

/*
 * Runs @run on each group of CROWD_LIST allocations, but not on a smaller rest; @times gets the
 * sorted nanoseconds. Returns 0 or the first error of @run, after which @times isn't complete.
 */
static int crowd_time(struct crowd *crowd, crowd_fn run, u64 *times)
{
	u32 i, lists = crowd->count / CROWD_LIST;
	int ret = 0;

	for (i = 0; i < lists && !ret; i++) {
		times[i] = ktime_get_ns();
		ret = run(crowd->bos + i * CROWD_LIST, CROWD_LIST);
		times[i] = ktime_get_ns() - times[i];
	}
	pagoda_bench_sort(times, lists);
	return ret;
}

/*
 * Runs @run on the allocations of the process's residency lists, CROWD_LIST at a time, and reports
 * the median time; reports nothing if there are fewer than CROWD_LIST allocations. Returns 0,
 * -ENOENT if there are none, or another negative errno.
 */
static int crowd_run(struct bench *b, crowd_fn run)
{
	struct crowd crowd;
	int ret = crowd_get(b, &crowd);
	u32 lists = crowd.count / CROWD_LIST;
	u64 *times;

	if (ret)
		return ret;
	times = kvcalloc(lists + 1, sizeof(*times), GFP_KERNEL);
	ret = times ? crowd_time(&crowd, run, times) : -ENOMEM;
	if (!ret && lists)
		pagoda_bench_report(b, CROWD_LIST, times[lists / 2]);
	kvfree(times);
	crowd_put(&crowd);
	return ret;
}

/*
 * Times locking the reservations of CROWD_LIST allocations, and reports the median; nothing if the
 * residency lists have fewer. Returns 0, -ENOENT if they have none, or another negative errno.
 */
int pagoda_bench_lock(struct bench *b)
{
	return crowd_run(b, crowd_lock_list);
}

/*
 * Times reading a member of CROWD_LIST allocations, and reports the median; nothing if the
 * residency lists have fewer. Returns 0, -ENOENT if they have none, or -ENOMEM.
 */
int pagoda_bench_walk(struct bench *b)
{
	return crowd_run(b, crowd_walk_list);
}

/*
 * Empties the CPU's caches, because real searches for victims find cold caches, too. Returns 0 or
 * -ENOMEM.
 */
static int crowd_chill(void)
{
	void *other = vmalloc(CROWD_COLD);

	if (!other)
		return -ENOMEM;
	memset(other, 1, CROWD_COLD);
	vfree(other);
	return 0;
}

/*
 * Times picking up to CROWD_PICKS victims with empty CPU caches, reports their number and the time,
 * and makes the victims candidates again. Returns 0 or -ENOMEM.
 */
int pagoda_bench_pick(struct bench *b)
{
	struct pagoda_victims *victims = b->vidmm->victims;
	struct pagoda_policy_item **items;
	u32 count = 0, left;
	u64 start;

	items = kvmalloc_array(CROWD_PICKS, sizeof(*items), GFP_KERNEL);
	if (!items || crowd_chill()) {
		kvfree(items);
		return -ENOMEM;
	}
	spin_lock(&victims->lock);
	start = ktime_get_ns();
	for (; count < CROWD_PICKS; count++) {
		items[count] = pagoda_policy_pick(&victims->policy, PAGODA_POLICY_NEED_ANY,
						  NULL);
		if (!items[count])
			break;
	}
	start = ktime_get_ns() - start;
	for (left = count; left; left--)
		pagoda_policy_enter(&victims->policy, items[left - 1]);
	spin_unlock(&victims->lock);
	kvfree(items);
	pagoda_bench_report(b, count, start);
	return 0;
}
