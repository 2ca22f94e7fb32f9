// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of clients and users, see limits.h.
 *
 *	client	a fixed number of each thing, except for the pages of VRAM of fenced jobs
 *	user	of a scarce resource half of what other users have left, so that there is
 *		always some left for the next user; of other things a fixed number, larger than
 *		a client's, because all files of a user count together
 *
 * Bytes of paging buffers are counted when the buffers are in flight already, and aren't refused: a
 * call of a client that is over its limit waits before the call begins.
 *
 * A user is the real user id of the process that opened the file: a file that is passed to another
 * process is still charged to the user that opened the file, and a set-user-id program can't
 * change the real id. The kernel's own limits of users go by the real id, too. In a user namespace
 * a process can have many subordinate ids, all given by the user that made the namespace.
 * Therefore such a process counts for the user that made the outermost of its namespaces below the
 * initial one. If global root made that namespace, as for a container, the process counts for the
 * id that root of that namespace is mapped to.
 */
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/pagoda_drm.h>
#include "core/core.h"
#include "core/info.h"
#include "limits.h"

/* Pages of RAM divided by this may be pinned for clients: a quarter, half of TTM's limit. */
#define LIMITS_PINNED_PART	4

/*
 * Bytes of paging buffers that may be in flight, whatever caused the paging. Beyond that,
 * transactions that can't fail use the submissions that are set aside, one transaction at a time.
 */
#define LIMITS_PAGING		SZ_32M
/*
 * A client may have this many times its limit of paging buffers in flight. Beyond that, the
 * client's transactions that can't fail use the submissions that are set aside, as well.
 */
#define LIMITS_PAGING_FULL	4
/*
 * LIMITS_MOVING: most bytes of content that a client has in flight when its next request or job
 * begins to page: enough for the device to be busy meanwhile, and no more, because what other
 * clients page is executed behind all of it. LIMITS_USER_MOVING: the same for all clients of a user
 * together. LIMITS_SUBMISSION: bytes that each submission counts in addition, for the time that the
 * device needs for a submission that moves nothing.
 */
#define LIMITS_MOVING		SZ_2M
#define LIMITS_USER_MOVING	SZ_8M
#define LIMITS_SUBMISSION	SZ_128K

/*
 * struct limit_row - a limit. @client: most that a client may have, 0 = &pagoda_limits.most_shared;
 * @user: most that a user may have; @error: error beyond either number; @scarce: resource that the
 * limited things are part of; @scarce_error: error beyond the user's share of that resource
 */
struct limit_row {
	const char *name;
	u64 client;
	u64 user;
	int error;
	enum pagoda_scarce scarce;
	int scarce_error;
};

static const struct limit_row limit_rows[PAGODA_LIMITS] = {
	[PAGODA_LIMIT_VMS] = {
		"VMs", DRM_PAGODA_MAX_VMS, U64_MAX, -EMFILE, PAGODA_SCARCE_SPACES, -ENOSPC,
	},
	[PAGODA_LIMIT_CONTEXTS] = {
		"contexts", DRM_PAGODA_MAX_CONTEXTS, DRM_PAGODA_MAX_USER_CONTEXTS, -EMFILE,
	},
	[PAGODA_LIMIT_JOBS] = {
		"jobs", DRM_PAGODA_MAX_CLIENT_JOBS, DRM_PAGODA_MAX_USER_JOBS, -EBUSY,
	},
	[PAGODA_LIMIT_WAITING] = {
		"waiting jobs", DRM_PAGODA_MAX_WAITING_JOBS, DRM_PAGODA_MAX_USER_WAITING_JOBS,
		-EBUSY,
	},
	[PAGODA_LIMIT_FENCED] = {
		"fenced jobs", DRM_PAGODA_MAX_FENCED_JOBS, DRM_PAGODA_MAX_USER_FENCED_JOBS, -EBUSY,
	},
	[PAGODA_LIMIT_FENCED_PAGES] = {
		"pages of VRAM for fenced jobs", U64_MAX, U64_MAX, -EBUSY,
		PAGODA_SCARCE_VRAM, -EBUSY,
	},
	[PAGODA_LIMIT_LISTENERS] = {
		"files of events", DRM_PAGODA_MAX_EVENT_FILES, DRM_PAGODA_MAX_USER_EVENT_FILES,
		-EMFILE,
	},
	[PAGODA_LIMIT_FENCES] = {
		"pinned fences", DRM_PAGODA_MAX_PINNED_FENCES, U64_MAX, -EDQUOT,
		PAGODA_SCARCE_PAGES, -EDQUOT,
	},
	[PAGODA_LIMIT_SHARED] = {
		"pages pinned for other devices", 0, U64_MAX, -EDQUOT, PAGODA_SCARCE_PAGES, -EDQUOT,
	},
	[PAGODA_LIMIT_PAGING] = {
		"bytes of paging buffers", SZ_1M, U64_MAX, -EBUSY, PAGODA_SCARCE_PAGING, -EBUSY,
	},
};

/*
 * struct pagoda_user - a user. @counts, @scarce, @moving: sums over the user's @quotas quotas;
 * @crowded: a call found that the user has more than its share of paging buffers; @lowered: wait
 * queue of such calls, and of those that found their client over its limit
 */
struct pagoda_user {
	struct list_head link;
	kuid_t uid;
	u32 quotas;
	u64 counts[PAGODA_LIMITS];
	u64 scarce[PAGODA_SCARCES];
	u64 moving;
	bool crowded;
	wait_queue_head_t lowered;
};

/**
 * pagoda_limits_init() - Set up limits without users
 * @vidmm: Manager
 * @spaces: Number of address spaces that all clients together can have
 * @shared_bytes: Bytes of one client's allocations that may be pinned for other devices
 *
 * Context: Probe; may sleep.
 * Return: 0 or -ENOMEM.
 */
int pagoda_limits_init(struct pagoda_vidmm *vidmm, u64 spaces, u64 shared_bytes)
{
	struct pagoda_limits *limits = drmm_kzalloc(vidmm->drm, sizeof(*limits), GFP_KERNEL);

	if (!limits)
		return -ENOMEM;
	vidmm->limits = limits;
	*limits = (struct pagoda_limits) {
		.drm = vidmm->drm,
		.most_shared = shared_bytes >> PAGE_SHIFT,
		.total = {
			[PAGODA_SCARCE_SPACES] = spaces,
			[PAGODA_SCARCE_PAGES] = totalram_pages() / LIMITS_PINNED_PART,
			[PAGODA_SCARCE_PAGING] = LIMITS_PAGING,
			[PAGODA_SCARCE_VRAM] = vidmm->info->vram_size >> PAGE_SHIFT,
		},
	};
	spin_lock_init(&limits->lock);
	INIT_LIST_HEAD(&limits->users);
	return 0;
}

/*
 * Returns the id to charge: the real user id; inside of user namespaces the owner of the outermost
 * namespace below the initial one, or the id of that namespace's root if global root owns it.
 */
static kuid_t limits_uid(const struct cred *cred)
{
	struct user_namespace *ns;
	kuid_t uid = cred->uid;

	for (ns = cred->user_ns; ns != &init_user_ns; ns = ns->parent)
		uid = uid_eq(ns->owner, GLOBAL_ROOT_UID) ? make_kuid(ns, 0) : ns->owner;
	return uid;
}

static struct pagoda_user *limits_find(struct pagoda_limits *limits, kuid_t uid)
{
	struct pagoda_user *user;

	lockdep_assert_held(&limits->lock);
	list_for_each_entry(user, &limits->users, link)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

/*
 * Counts a further quota of the user with id @uid and returns the user. If there is no such user,
 * *@fresh becomes the user, and *@fresh is set to NULL.
 */
static struct pagoda_user *limits_join(struct pagoda_limits *limits, kuid_t uid,
				       struct pagoda_user **fresh)
{
	struct pagoda_user *user;

	spin_lock_irq(&limits->lock);
	user = limits_find(limits, uid);
	if (!user) {
		user = *fresh;
		*fresh = NULL;
		user->uid = uid;
		init_waitqueue_head(&user->lowered);
		list_add(&user->link, &limits->users);
	}
	user->quotas++;
	spin_unlock_irq(&limits->lock);
	return user;
}

/* Returns a new quota for a file that the current task opens, or NULL if out of memory. */
struct pagoda_quota *pagoda_quota_create(struct pagoda_limits *limits)
{
	struct pagoda_quota *quota = kzalloc(sizeof(*quota), GFP_KERNEL_ACCOUNT);
	struct pagoda_user *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);

	if (quota && fresh) {
		kref_init(&quota->kref);
		quota->limits = limits;
		quota->user = limits_join(limits, limits_uid(current_cred()), &fresh);
	} else {
		kfree(quota);
		quota = NULL;
	}
	kfree(fresh);
	return quota;
}

static void quota_release(struct kref *kref)
{
	struct pagoda_quota *quota = container_of(kref, struct pagoda_quota, kref);
	struct pagoda_limits *limits = quota->limits;
	struct pagoda_user *user = quota->user;
	unsigned long flags;

	spin_lock_irqsave(&limits->lock, flags);
	if (--user->quotas)
		user = NULL;
	else
		list_del(&user->link);
	spin_unlock_irqrestore(&limits->lock, flags);
	kfree(user);
	kfree(quota);
}

/* Drops a reference to @quota, which may be NULL. */
void pagoda_quota_put(struct pagoda_quota *quota)
{
	if (quota)
		kref_put(&quota->kref, quota_release);
}

/*
 * Returns true if with @count more of a scarce thing the user would have more than half, rounded
 * up, of what other users have left. Caller holds &pagoda_limits.lock.
 */
static bool limits_share_is_used(const struct pagoda_limits *limits, const struct pagoda_user *user,
				 enum pagoda_scarce scarce, u64 count)
{
	u64 own = user->scarce[scarce];
	u64 others = limits->used[scarce] - own;
	u64 left = limits->total[scarce] - min(others, limits->total[scarce]);

	lockdep_assert_held(&limits->lock);
	return own + count > left - left / 2;
}

static int quota_check(const struct pagoda_quota *quota, enum pagoda_limit limit, u64 count)
{
	const struct limit_row *row = &limit_rows[limit];
	const struct pagoda_limits *limits = quota->limits;

	lockdep_assert_held(&limits->lock);
	if (quota->counts[limit] + count > (row->client ?: limits->most_shared) ||
	    quota->user->counts[limit] + count > row->user)
		return row->error;
	if (row->scarce && limits_share_is_used(limits, quota->user, row->scarce, count))
		return row->scarce_error;
	return 0;
}

/*
 * Adds @count to the client's and the user's counts of @limit, and to the user's and the device's
 * counts of the scarce resource that @limit is part of. Adds modulo 2^64, so that -@count
 * subtracts. Caller holds &pagoda_limits.lock.
 */
static void quota_add(struct pagoda_quota *quota, enum pagoda_limit limit, u64 count)
{
	enum pagoda_scarce scarce = limit_rows[limit].scarce;

	lockdep_assert_held(&quota->limits->lock);
	quota->counts[limit] += count;
	quota->user->counts[limit] += count;
	quota->user->scarce[scarce] += count;
	quota->limits->used[scarce] += count;
}

/**
 * pagoda_quota_charge() - Charge a client for a limited resource
 * @quota: The client's quota
 * @limit: The limit
 * @count: Number to charge
 *
 * Context: Any.
 * Return: 0, to be undone with pagoda_quota_uncharge(), or the limit's error: -EMFILE, -ENOSPC,
 * -EBUSY or -EDQUOT.
 */
int pagoda_quota_charge(struct pagoda_quota *quota, enum pagoda_limit limit, u64 count)
{
	struct pagoda_limits *limits = quota->limits;
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&limits->lock, flags);
	ret = quota_check(quota, limit, count);
	if (!ret)
		quota_add(quota, limit, count);
	spin_unlock_irqrestore(&limits->lock, flags);
	if (!ret)
		kref_get(&quota->kref);
	else
		drm_dbg_driver(limits->drm, "%llu more %s would be too many: %d\n", count,
			       limit_rows[limit].name, ret);
	return ret;
}

/* Does what pagoda_quota_hold() does. Caller holds &pagoda_limits.lock. */
static bool quota_hold(struct pagoda_quota *quota, u64 pages)
{
	const enum pagoda_limit limit = PAGODA_LIMIT_FENCED_PAGES;
	u64 held = quota->counts[limit];

	lockdep_assert_held(&quota->limits->lock);
	if (pages <= held)
		return true;
	if (quota_check(quota, limit, pages - held))
		return false;
	quota_add(quota, limit, pages - held);
	return true;
}

/**
 * pagoda_quota_hold() - Charge a client for the VRAM that its fenced jobs may hold
 * @quota: The client's quota, charged for a fenced job
 * @pages: Pages of VRAM that the client's jobs, the new one included, may use now
 *
 * Until fenced jobs get places of an engine, what they use can't leave VRAM. The client is charged
 * for the largest @pages of all calls that succeeded, until it has no fenced job any more.
 *
 * Context: Any.
 * Return: false if the user's share of VRAM would be exceeded; nothing has changed then.
 */
bool pagoda_quota_hold(struct pagoda_quota *quota, u64 pages)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&quota->limits->lock, flags);
	ok = quota_hold(quota, pages);
	spin_unlock_irqrestore(&quota->limits->lock, flags);
	return ok;
}

/*
 * Undoes a charge; @count is that of a single call of pagoda_quota_charge(). If the client has no
 * fenced job any more, also ends what pagoda_quota_hold() charged. Any context.
 */
void pagoda_quota_uncharge(struct pagoda_quota *quota, enum pagoda_limit limit, u64 count)
{
	unsigned long flags;

	spin_lock_irqsave(&quota->limits->lock, flags);
	quota_add(quota, limit, -count);
	if (!quota->counts[PAGODA_LIMIT_FENCED])
		quota_add(quota, PAGODA_LIMIT_FENCED_PAGES,
			  -quota->counts[PAGODA_LIMIT_FENCED_PAGES]);
	spin_unlock_irqrestore(&quota->limits->lock, flags);
	pagoda_quota_put(quota);
}

/* Adds modulo 2^64 to what counts as content in flight of the client and its user. */
static void limits_add_moving(struct pagoda_quota *quota, u64 bytes)
{
	lockdep_assert_held(&quota->limits->lock);
	quota->moving += bytes;
	quota->user->moving += bytes;
}

static void limits_add_paging(struct pagoda_limits *limits, struct pagoda_quota *quota, u64 bytes)
{
	lockdep_assert_held(&limits->lock);
	if (quota)
		quota_add(quota, PAGODA_LIMIT_PAGING, bytes);
	else
		limits->used[PAGODA_SCARCE_PAGING] += bytes;
}

/**
 * pagoda_limits_take() - Count a paging buffer that is in flight now
 * @limits: The limits
 * @quota: Quota of the client that caused the paging, or NULL if no client did
 * @bytes: Bytes of the buffer
 *
 * To be undone with pagoda_limits_give(). The limit may be exceeded.
 *
 * Context: Any.
 */
void pagoda_limits_take(struct pagoda_limits *limits, struct pagoda_quota *quota, u64 bytes)
{
	unsigned long flags;

	spin_lock_irqsave(&limits->lock, flags);
	limits_add_paging(limits, quota, bytes);
	if (quota)
		limits_add_moving(quota, LIMITS_SUBMISSION);
	spin_unlock_irqrestore(&limits->lock, flags);
	if (quota)
		kref_get(&quota->kref);
}

/**
 * pagoda_limits_moves() - Count content that a paging buffer in flight moves
 * @limits: The limits
 * @quota: As for pagoda_limits_take(), before pagoda_limits_give() is called
 * @moved: Bytes of content
 *
 * Context: Any.
 */
void pagoda_limits_moves(struct pagoda_limits *limits, struct pagoda_quota *quota, u64 moved)
{
	unsigned long flags;

	if (!quota || !moved)
		return;
	spin_lock_irqsave(&limits->lock, flags);
	limits_add_moving(quota, moved);
	spin_unlock_irqrestore(&limits->lock, flags);
}

static bool limits_client_is_over(const struct pagoda_quota *quota)
{
	return quota &&
	       quota->counts[PAGODA_LIMIT_PAGING] > limit_rows[PAGODA_LIMIT_PAGING].client;
}

/* What limits_over() finds: beyond LIMITS_MOVING, LIMITS_USER_MOVING, the limit of buffers. */
#define LIMITS_OVER_MOVING		BIT(0)
#define LIMITS_OVER_USER_MOVING		BIT(1)
#define LIMITS_OVER_BUFFERS		BIT(2)

/* Tells how the client, or all clients of its user, move too much; outdated without the lock. */
static u32 limits_moves_too_much(const struct pagoda_quota *quota)
{
	if (!quota)
		return 0;
	return (READ_ONCE(quota->moving) > LIMITS_MOVING ? LIMITS_OVER_MOVING : 0) |
	       (READ_ONCE(quota->user->moving) > LIMITS_USER_MOVING ? LIMITS_OVER_USER_MOVING : 0);
}

static u32 limits_over(const struct pagoda_quota *quota)
{
	return limits_moves_too_much(quota) |
	       (limits_client_is_over(quota) ? LIMITS_OVER_BUFFERS : 0);
}

/*
 * Returns whether calls of the quota's user that wait in pagoda_limits_await() or
 * pagoda_limits_await_moves() have to be woken: something of what limits_over() said (@before)
 * isn't so any more, or a call found the user over its share, which the user isn't any more.
 */
static bool limits_are_lowered(struct pagoda_limits *limits, struct pagoda_quota *quota, u32 before)
{
	struct pagoda_user *user = quota->user;

	lockdep_assert_held(&limits->lock);
	if (user->crowded && !limits_share_is_used(limits, user, PAGODA_SCARCE_PAGING, 0)) {
		user->crowded = false;
		return true;
	}
	return before & ~limits_over(quota);
}

/**
 * pagoda_limits_give() - Count a paging buffer as finished
 * @limits: The limits
 * @quota: As for pagoda_limits_take(), whose reference is dropped
 * @bytes: Bytes of the buffer
 * @moved: What pagoda_limits_moves() was called with for the buffer, or 0
 *
 * Context: Any.
 */
void pagoda_limits_give(struct pagoda_limits *limits, struct pagoda_quota *quota, u64 bytes,
			u64 moved)
{
	unsigned long flags;
	u32 before;
	bool wake;

	spin_lock_irqsave(&limits->lock, flags);
	before = limits_over(quota);
	limits_add_paging(limits, quota, -bytes);
	if (quota)
		limits_add_moving(quota, -(LIMITS_SUBMISSION + moved));
	wake = quota && limits_are_lowered(limits, quota, before);
	spin_unlock_irqrestore(&limits->lock, flags);
	if (wake)
		wake_up_all(&quota->user->lowered);
	pagoda_quota_put(quota);
}

/**
 * pagoda_limits_is_over() - Tell whether a client must not begin to page
 * @limits: The limits
 * @quota: The client's quota; NULL: never over
 *
 * Context: Any.
 * Return: true while the client has more bytes of paging buffers in flight than its limit, or while
 * its user has more than half of what other users have left.
 */
bool pagoda_limits_is_over(struct pagoda_limits *limits, struct pagoda_quota *quota)
{
	unsigned long flags;
	bool over;

	if (!quota)
		return false;
	spin_lock_irqsave(&limits->lock, flags);
	over = limits_client_is_over(quota);
	if (limits_share_is_used(limits, quota->user, PAGODA_SCARCE_PAGING, 0)) {
		/* A user over its share has buffers in flight: pagoda_limits_give() looks again. */
		quota->user->crowded = true;
		over = true;
	}
	spin_unlock_irqrestore(&limits->lock, flags);
	return over;
}

/**
 * pagoda_limits_is_full() - Tell whether transactions that can't fail have to use the submissions
 * that are set aside, one transaction at a time
 * @limits: The limits
 * @quota: Quota of the client that causes the work, or NULL
 *
 * Context: Any.
 * Return: true if the client has more than LIMITS_PAGING_FULL times its limit of paging buffers in
 * flight, or more than LIMITS_PAGING bytes are in flight in all.
 */
bool pagoda_limits_is_full(struct pagoda_limits *limits, struct pagoda_quota *quota)
{
	u64 most = LIMITS_PAGING_FULL * limit_rows[PAGODA_LIMIT_PAGING].client;

	return READ_ONCE(limits->used[PAGODA_SCARCE_PAGING]) >
	       limits->total[PAGODA_SCARCE_PAGING] ||
	       (quota && pagoda_quota_count(quota, PAGODA_LIMIT_PAGING) > most);
}

/**
 * pagoda_limits_await() - Wait until a client may begin to page
 * @limits: The limits
 * @quota: The client's quota
 *
 * Waits for nothing but paging in flight: pagoda_limits_give() counts it and wakes the waiters.
 *
 * Context: Sleeps. Outside of all locks and sections.
 * Return: 0; -ERESTARTSYS if the caller was killed.
 */
int pagoda_limits_await(struct pagoda_limits *limits, struct pagoda_quota *quota)
{
	return wait_event_killable(quota->user->lowered, !pagoda_limits_is_over(limits, quota));
}

/**
 * pagoda_limits_await_moves() - Wait until paging in flight moves little of a client's content
 * @limits: The limits
 * @quota: The client's quota
 *
 * As pagoda_limits_await(), but waits until at most LIMITS_MOVING bytes count for paging in flight
 * that the client caused, and LIMITS_USER_MOVING for that of all clients of its user.
 *
 * Context: Sleeps. Outside of all locks and sections.
 * Return: 0; -ERESTARTSYS if the caller was killed.
 */
int pagoda_limits_await_moves(struct pagoda_limits *limits, struct pagoda_quota *quota)
{
	return wait_event_killable(quota->user->lowered, !limits_moves_too_much(quota));
}

/* Returns whether pagoda_limits_pause() would wait. Any context. */
bool pagoda_limits_must_pause(struct pagoda_quota *quota)
{
	return limits_moves_too_much(quota);
}

/**
 * pagoda_limits_pause() - Wait a little until paging in flight moves little of a client's content
 * @quota: The client's quota
 * @until: Time, in jiffies, at which the wait ends at the latest
 *
 * As pagoda_limits_await_moves(), for a caller with locks held.
 *
 * Context: Sleeps. Reservations may be held.
 */
void pagoda_limits_pause(struct pagoda_quota *quota, unsigned long until)
{
	long left = until - jiffies;

	if (left > 0)
		wait_event_killable_timeout(quota->user->lowered, !limits_moves_too_much(quota),
					    left);
}

static bool limits_is_too_much(struct pagoda_limits *limits, struct pagoda_quota *quota)
{
	return limits_moves_too_much(quota) || pagoda_limits_is_over(limits, quota);
}

/**
 * pagoda_limits_tell() - Have a work item told when its client may go on paging
 * @limits: The limits
 * @quota: The client's quota
 * @entry: Wait queue entry with a function, which may be called at once, in any context
 *
 * Return: true if pagoda_limits_await() or pagoda_limits_await_moves() would wait: then @entry's
 * function is called once they wouldn't, and pagoda_limits_untell() has to be called before @entry
 * is freed or used again. Else false, and @entry isn't used any more.
 *
 * Context: Process context.
 */
bool pagoda_limits_tell(struct pagoda_limits *limits, struct pagoda_quota *quota,
			struct wait_queue_entry *entry)
{
	/* Add @entry before the look: pagoda_limits_give() may come in between. */
	add_wait_queue(&quota->user->lowered, entry);
	if (limits_is_too_much(limits, quota))
		return true;
	remove_wait_queue(&quota->user->lowered, entry);
	return false;
}

/* Undoes pagoda_limits_tell() that returned true. */
void pagoda_limits_untell(struct pagoda_quota *quota, struct wait_queue_entry *entry)
{
	remove_wait_queue(&quota->user->lowered, entry);
}

u64 pagoda_quota_count(struct pagoda_quota *quota, enum pagoda_limit limit)
{
	return READ_ONCE(quota->counts[limit]);
}
