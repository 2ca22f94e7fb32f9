/* SPDX-License-Identifier: GPL-2.0 */
/* Residency lists: allocations that must be resident while a client's jobs are executed. */
#ifndef PAGODA_VIDMM_LEDGER_REQUIRE_H
#define PAGODA_VIDMM_LEDGER_REQUIRE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include "ledger.h"

struct pagoda_bo;
struct pagoda_client;

/**
 * struct pagoda_requirement - An allocation on a client's residency list
 * @entry: Entry in &pagoda_requirements.list; not linked while @count is 0
 * @of_bo: Entry in &pagoda_bo.wish.requirements while @entry is linked
 * @client: Client that has the list
 * @bo: Allocation; a reference while @count isn't 0
 * @count: Number of MAKE_RESIDENT calls for the allocation, minus that of EVICT calls
 * @named: pagoda_require_bound(), while it runs, skips the entry, because its caller names the
 *	allocation itself
 */
struct pagoda_requirement {
	struct list_head entry;
	struct list_head of_bo;
	struct pagoda_client *client;
	struct pagoda_bo *bo;
	u32 count;
	bool named;
};

/**
 * struct pagoda_requirements - A client's residency list
 * @lock: Protects all members below
 * @by_id: struct pagoda_requirement by id of the allocation
 * @left: Allocations that left the list, or whose count was lowered, while jobs were queued, by id:
 *	number of the first job that doesn't need the allocation resident any more. A mark
 *	(XA_MARK_0) has pagoda_require_bound() skip the entry, as &pagoda_requirement.named does.
 *	Also read without @lock, to test if @left is empty
 * @list: List of struct pagoda_requirement in the order in which they were added
 * @count: Number of entries in @list; also read without @lock, to test for an empty list
 * @demand: Bytes, and pieces of VRAM, that the allocations of all entries need together
 */
struct pagoda_requirements {
	struct mutex lock;	/* protects all members below */
	struct xarray by_id;
	struct xarray left;
	struct list_head list;
	u32 count;
	struct pagoda_demand demand;
};

struct pagoda_requirement *pagoda_require_find(struct pagoda_requirements *reqs,
					       const struct pagoda_bo *bo);
int pagoda_require(struct pagoda_client *client, struct pagoda_bo **bos, u32 count,
		   u64 *bytes_to_trim);
int pagoda_require_within(struct pagoda_client *client, struct pagoda_bo **bos, u32 count,
			  u64 *bytes_to_trim);
int pagoda_require_release(struct pagoda_client *client, struct pagoda_bo **bos, u32 count,
			   bool unwritten, u64 until);
void pagoda_require_purge(struct pagoda_client *client);
void pagoda_require_take_back(struct pagoda_client *client, struct pagoda_bo **bos, u32 count);
void pagoda_require_forget_all(struct pagoda_client *client);
u32 pagoda_require_select(struct pagoda_client *client, struct pagoda_bo **bos, u32 count);

#endif
