/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of clients and users: how many VMs, contexts, jobs and other things that take kernel
 * memory or are scarce a client or user may have at once. The numbers and errors are in
 * include/uapi/drm/pagoda_drm.h, "Limits".
 *
 * A quota counts what a client has; a user's counts are the sums over the quotas of the user's
 * files. Each charge holds a reference to the quota, so that a fence, a job or a listener that
 * outlives its file goes on counting for the user that made it.
 */
#ifndef PAGODA_VIDMM_LEDGER_LIMITS_H
#define PAGODA_VIDMM_LEDGER_LIMITS_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct drm_device;
struct pagoda_user;
struct pagoda_vidmm;

/**
 * enum pagoda_limit - Limited things
 * @PAGODA_LIMIT_VMS: VMs, each with an address space of the device
 * @PAGODA_LIMIT_CONTEXTS: contexts
 * @PAGODA_LIMIT_JOBS: jobs that were accepted and aren't finished
 * @PAGODA_LIMIT_WAITING: accepted jobs that wait for a syncobj point or fence value for which no
 *	work was submitted yet, and jobs behind these in the same context
 * @PAGODA_LIMIT_FENCED: accepted jobs that get a fence even if no engine has a place for the job
 * @PAGODA_LIMIT_FENCED_PAGES: pages of VRAM that fenced jobs may keep from being evicted, see
 *	pagoda_quota_hold()
 * @PAGODA_LIMIT_LISTENERS: files from the EVENTS ioctl, each an event listener
 * @PAGODA_LIMIT_FENCES: pages of monitored fences that are pinned
 * @PAGODA_LIMIT_SHARED: pages of allocations that are pinned for other devices
 * @PAGODA_LIMIT_PAGING: bytes of paging buffers in flight; the only limit that may be exceeded: a
 *	call waits beforehand while the limit is exceeded (pagoda_limits_await())
 * @PAGODA_LIMITS: number of limits
 */
enum pagoda_limit {
	PAGODA_LIMIT_VMS,
	PAGODA_LIMIT_CONTEXTS,
	PAGODA_LIMIT_JOBS,
	PAGODA_LIMIT_WAITING,
	PAGODA_LIMIT_FENCED,
	PAGODA_LIMIT_FENCED_PAGES,
	PAGODA_LIMIT_LISTENERS,
	PAGODA_LIMIT_FENCES,
	PAGODA_LIMIT_SHARED,
	PAGODA_LIMIT_PAGING,
	PAGODA_LIMITS
};

/**
 * enum pagoda_scarce - Things of which all users together have a fixed number
 * @PAGODA_SCARCE_NOTHING: the limit is part of no scarce resource
 * @PAGODA_SCARCE_SPACES: address spaces
 * @PAGODA_SCARCE_PAGES: pinned pages
 * @PAGODA_SCARCE_PAGING: bytes of paging buffers in flight
 * @PAGODA_SCARCE_VRAM: pages of VRAM that fenced jobs may hold
 * @PAGODA_SCARCES: number of values
 */
enum pagoda_scarce {
	PAGODA_SCARCE_NOTHING,
	PAGODA_SCARCE_SPACES,
	PAGODA_SCARCE_PAGES,
	PAGODA_SCARCE_PAGING,
	PAGODA_SCARCE_VRAM,
	PAGODA_SCARCES
};

/**
 * struct pagoda_limits - Limits of a device
 * @drm: Device, for debug messages
 * @lock: Protects @users, @used, and all counts of users and quotas
 * @users: struct pagoda_user of all users that have quotas
 * @most_shared: Most pages of one client that may be pinned for other devices; constant
 * @total: Number of each scarce thing; constant
 * @used: Number of each scarce thing that all users have together, and, of paging buffers, what no
 *	client caused
 */
struct pagoda_limits {
	struct drm_device *drm;
	spinlock_t lock;	/* protects users, used, counts of users and quotas */
	struct list_head users;
	u64 most_shared;
	u64 total[PAGODA_SCARCES];
	u64 used[PAGODA_SCARCES];
};

/**
 * struct pagoda_quota - How many of each limited thing a client has
 * @kref: A reference of the client, and one for each charge or pagoda_limits_take() not yet undone
 * @limits: Limits of the device
 * @user: User that opened the client's file
 * @counts: Number of each limited thing, by enum pagoda_limit; protected by &pagoda_limits.lock
 * @moving: Bytes of content that paging buffers in flight move, and LIMITS_SUBMISSION for each of
 *	them; protected by &pagoda_limits.lock
 */
struct pagoda_quota {
	struct kref kref;
	struct pagoda_limits *limits;
	struct pagoda_user *user;
	u64 counts[PAGODA_LIMITS];
	u64 moving;
};

int pagoda_limits_init(struct pagoda_vidmm *vidmm, u64 spaces, u64 shared_bytes);
struct pagoda_quota *pagoda_quota_create(struct pagoda_limits *limits);
void pagoda_quota_put(struct pagoda_quota *quota);
int pagoda_quota_charge(struct pagoda_quota *quota, enum pagoda_limit limit, u64 count);
void pagoda_quota_uncharge(struct pagoda_quota *quota, enum pagoda_limit limit, u64 count);
void pagoda_limits_take(struct pagoda_limits *limits, struct pagoda_quota *quota, u64 bytes);
void pagoda_limits_moves(struct pagoda_limits *limits, struct pagoda_quota *quota, u64 moved);
void pagoda_limits_give(struct pagoda_limits *limits, struct pagoda_quota *quota, u64 bytes,
			u64 moved);
bool pagoda_limits_is_over(struct pagoda_limits *limits, struct pagoda_quota *quota);
bool pagoda_limits_is_full(struct pagoda_limits *limits, struct pagoda_quota *quota);
int pagoda_limits_await(struct pagoda_limits *limits, struct pagoda_quota *quota);
int pagoda_limits_await_moves(struct pagoda_limits *limits, struct pagoda_quota *quota);
bool pagoda_limits_must_pause(struct pagoda_quota *quota);
void pagoda_limits_pause(struct pagoda_quota *quota, unsigned long until);
bool pagoda_limits_tell(struct pagoda_limits *limits, struct pagoda_quota *quota,
			struct wait_queue_entry *entry);
void pagoda_limits_untell(struct pagoda_quota *quota, struct wait_queue_entry *entry);
bool pagoda_quota_hold(struct pagoda_quota *quota, u64 pages);
u64 pagoda_quota_count(struct pagoda_quota *quota, enum pagoda_limit limit);

#endif
