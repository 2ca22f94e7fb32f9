/* SPDX-License-Identifier: GPL-2.0 */
/* What has to be resident while a client's work is executed. */
#ifndef PAGODA_VIDMM_REQUIRE_H
#define PAGODA_VIDMM_REQUIRE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/xarray.h>
#include <pagoda/residency.h>
#include "vidmm.h"

/**
 * struct pagoda_requirement - An allocation on a client's residency list
 * @entry: In &pagoda_requirements.list; empty until @count isn't 0
 * @of_bo: In &pagoda_bo.requirements as long as it is in that
 * @client: Whose list it is
 * @bo: Allocation, a reference once @count isn't 0
 * @count: Calls that put it there and weren't taken back
 * @named: Whoever walks over the list has it from elsewhere; only while he does
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
 * @lock: Protects all below; nothing else is taken with it held but spinlocks
 * @by_id: &struct pagoda_requirement by id of the allocation
 * @list: In the order they came
 * @count: Their number; read without the lock by who only wants to know whether there are any
 * @demand: What they need together
 */
struct pagoda_requirements {
	struct mutex lock;	/* all below */
	struct xarray by_id;
	struct list_head list;
	u32 count;
	struct pagoda_demand demand;
};

int pagoda_require(struct pagoda_client *client, struct pagoda_bo **bos, u32 count,
		   u64 *bytes_to_trim);
int pagoda_require_release(struct pagoda_client *client, struct pagoda_bo **bos, u32 count,
			   bool unwritten);
void pagoda_require_take_back(struct pagoda_client *client, struct pagoda_bo **bos, u32 count);
void pagoda_require_forget_all(struct pagoda_client *client);
u32 pagoda_require_select(struct pagoda_client *client, struct pagoda_bo **bos, u32 count);
int pagoda_require_bound(struct pagoda_vm *vm, struct pagoda_bo **named, u32 nr_named,
			 struct pagoda_bo ***bos, u32 *count);

#endif
