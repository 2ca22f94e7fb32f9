/* SPDX-License-Identifier: GPL-2.0 */
/* The ioctls, what driver.c needs of clients, and what the files of uapi/ share. */
#ifndef PAGODA_UAPI_ARGS_H
#define PAGODA_UAPI_ARGS_H

#include <linux/fs.h>
#include <drm/drm_device.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>
#include <drm/pagoda_drm.h>
#include "vidmm/ledger/client.h"

struct drm_device;
struct drm_file;
struct dma_fence_chain;
struct drm_syncobj;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_mfence;
struct pagoda_mfence_signal;
struct pagoda_syncs;
struct pagoda_vidmm;

/* Returns whether @cond is true; if so, logs its text as a debug message. Evaluates @cond once. */
#define pagoda_refuse(drm, cond) ({ \
	bool __wrong = !!(cond); \
	if (__wrong) \
		drm_dbg_driver(drm, "%s: refused because of: %s\n", __func__, #cond); \
	unlikely(__wrong); \
})

#define PAGODA_NUM_IOCTLS	(DRM_PAGODA_TRACK + 1)

extern const struct drm_ioctl_desc pagoda_ioctls[PAGODA_NUM_IOCTLS];

long pagoda_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
#ifdef CONFIG_COMPAT
long pagoda_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
#else
#define pagoda_compat_ioctl	NULL
#endif

struct pagoda_bo *pagoda_bo_lookup(struct drm_file *file, u32 handle);
void pagoda_bo_put(struct pagoda_bo *bo);
int pagoda_bo_describe(struct drm_device *drm, struct pagoda_bo *bo,
		       struct drm_pagoda_allocation_info *info);

/* Layout of drm_pagoda_residency_entry, drm_pagoda_submit_entry and drm_pagoda_priority_entry. */
struct pagoda_bo_entry {
	u32 handle;
	u32 flags;				/* in SET_PRIORITY the priority */
};

/* A caller's list of allocations. */
struct pagoda_bo_list {
	struct pagoda_bo **bos;			/* references; NULL before the look-up */
	u32 *flags;				/* &pagoda_bo_entry.flags of each of @bos */
	struct pagoda_bo_entry *entries;	/* as copied from user memory */
	u32 count;				/* number of @bos looked up so far */
};

int pagoda_bo_list_copy(struct drm_device *drm, const struct drm_pagoda_array *array,
			u32 known_flags, struct pagoda_bo_list *list);
int pagoda_bo_list_lookup(struct drm_device *drm, struct drm_file *file, u32 count,
			  struct pagoda_bo_list *list);
bool pagoda_bo_list_is_settled(struct drm_device *drm, struct drm_file *file,
			       const struct pagoda_bo_entry *entries, u32 count, bool counted);
int pagoda_bo_list_get(struct drm_device *drm, struct drm_file *file,
		       const struct drm_pagoda_array *array, u32 known_flags,
		       struct pagoda_bo_list *list);
void pagoda_bo_list_put(struct pagoda_bo_list *list);

/* Point of a timeline syncobj that an ioctl signals when its work is done. */
struct pagoda_out_point {
	/* allocated before the work; NULL without a point, and once the point has its fence */
	struct pagoda_point *point;
};

int pagoda_point_get(struct drm_device *drm, struct drm_file *file, u32 handle, u64 point,
		     struct pagoda_out_point *out);
int pagoda_point_get_sync(struct drm_device *drm, struct drm_file *file, u32 handle, u64 point,
			  struct pagoda_syncs *syncs);
void pagoda_point_add(struct pagoda_vidmm *vidmm, struct pagoda_out_point *out,
		      struct dma_fence *fence);
void pagoda_point_put(struct pagoda_out_point *out);
void pagoda_promise_end(struct pagoda_vidmm *vidmm, struct pagoda_mfence_signal *signal,
			struct dma_fence *fence, int error);
int pagoda_array_check(struct drm_device *drm, const struct drm_pagoda_array *array, u32 entry);
char __user *pagoda_array_entry(const struct drm_pagoda_array *array, u32 index);
int pagoda_check_unique(struct drm_device *drm, void * const *objects, u32 count);
int pagoda_client_add(struct pagoda_client *client, enum pagoda_object kind, void *object, u32 *id);
void *pagoda_client_find(struct pagoda_client *client, enum pagoda_object kind, u32 id);
void *pagoda_client_remove(struct pagoda_client *client, enum pagoda_object kind, u32 id);
void pagoda_client_drop_fence(struct drm_file *file, struct pagoda_mfence *mfence);
int pagoda_client_promise(struct drm_device *drm, struct pagoda_client *client, u32 fence,
			  u64 value, struct pagoda_mfence_signal **signal);
void pagoda_client_kill(struct pagoda_client *client);
void pagoda_client_close(struct drm_file *file);
bool pagoda_client_wait_idle(struct pagoda_client *client, long timeout);
void pagoda_client_close_vms(struct pagoda_client *client);

int pagoda_listener_open(struct pagoda_vidmm *vidmm, struct pagoda_client *client, bool nonblock);

int pagoda_make_resident_queued(struct drm_device *drm, struct drm_file *file,
				struct drm_pagoda_make_resident *args);
int pagoda_evict_queued(struct drm_device *drm, struct drm_file *file,
			struct drm_pagoda_evict *args);

/*
 * Reads the entry of @stride bytes at @from in user memory and fills in @answer, in kernel memory.
 * Returns 0 or a negative errno.
 */
typedef int (*pagoda_answer_func)(struct drm_device *drm, struct drm_file *file,
				  const char __user *from, u32 stride, void *answer);
int pagoda_array_answer(struct drm_device *drm, struct drm_file *file,
			const struct drm_pagoda_array *array, u32 entry,
			pagoda_answer_func answer);

int pagoda_ioctl_make_resident(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_evict(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_query_residency(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_vm_create(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_vm_bind(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_vm_state(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_context_create(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_context_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_context_state(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_fence_create(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_fence_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_fence_signal(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_fence_wait(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_paging_queue_create(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_paging_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_paging_queue_state(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_query_residency_list(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_offer(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_reclaim(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_set_priority(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_query_memory_info(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_set_reservation(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_track(struct drm_device *drm, void *data, struct drm_file *file);
int pagoda_ioctl_events(struct drm_device *drm, void *data, struct drm_file *file);

#endif
