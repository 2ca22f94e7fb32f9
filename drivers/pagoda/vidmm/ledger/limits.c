// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of clients and users, see limits.h.
 *
 *	client	a fixed number of each thing
 *	user	of a scarce resource half of what other users have left, so that there is
 *		always some left for the next user; of other things a fixed number, larger than
 *		a client's, because all files of a user count together
 *
 * A user is the real user id of the process that opened the file: a file that is passed to another
 * process is still charged to the user that opened the file, and a set-user-id program can't
 * change the real id. The kernel's own limits of users go by the real id, too. In a user namespace
 * a process can have many subordinate ids, all given by the user that made the namespace.
 * Therefore such a process counts for the user that made the outermost of its namespaces, except
 * for the initial namespace. If global root made that namespace, as for a container, the process
 * counts for the id that root of that namespace is mapped to.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/pagoda_drm.h>
#include "core/core.h"
#include "limits.h"

/* Pages of RAM divided by this may be pinned for clients: a quarter, half of TTM's limit. */
#define LIMITS_PINNED_PART	4

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
};

/* struct pagoda_user - a user. @counts, @scarce: sums over the user's quotas, @quotas of them */
struct pagoda_user {
	struct list_head link;
	kuid_t uid;
	u32 quotas;
	u64 counts[PAGODA_LIMITS];
	u64 scarce[PAGODA_SCARCES];
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
 * Returns true if with @count more the user would have more than half, rounded up, of what other
 * users have left.
 */
static bool limits_share_is_used(const struct pagoda_limits *limits, const struct pagoda_user *user,
				 enum pagoda_scarce scarce, u64 count)
{
	u64 own = user->scarce[scarce];
	u64 left = limits->total[scarce] - (limits->used[scarce] - own);

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
 * Adds @count to the counts of the client, the user and the device, modulo 2^64, so that -@count
 * subtracts.
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

/* Undoes a charge; @count is that of a single call of pagoda_quota_charge(). Any context. */
void pagoda_quota_uncharge(struct pagoda_quota *quota, enum pagoda_limit limit, u64 count)
{
	unsigned long flags;

	spin_lock_irqsave(&quota->limits->lock, flags);
	quota_add(quota, limit, -count);
	spin_unlock_irqrestore(&quota->limits->lock, flags);
	pagoda_quota_put(quota);
}

u64 pagoda_quota_count(struct pagoda_quota *quota, enum pagoda_limit limit)
{
	return READ_ONCE(quota->counts[limit]);
}
