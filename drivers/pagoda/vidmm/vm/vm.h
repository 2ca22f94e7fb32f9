/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GPU address spaces (VMs) of clients: mappings and VM_BIND, page tables, save areas of contexts,
 * and room in VRAM for these.
 *
 * A VM is a drm_gpuvm, which has the mappings, and a struct pagoda_space of mmu/, which has the
 * page tables. A thread that adds or removes mappings holds pagoda_vm.lock. A thread that moves an
 * allocation only invalidates mappings, without pagoda_vm.lock. core/core.h has the order of locks.
 */
#ifndef PAGODA_VIDMM_VM_VM_H
#define PAGODA_VIDMM_VM_VM_H

#include <linux/atomic.h>
#include <linux/container_of.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/maple_tree.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <drm/drm_gpuvm.h>
#include <drm/ttm/ttm_resource.h>
#include "paging/paging.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/allocation.h"

struct dma_fence;
struct dma_resv;
struct drm_gpuva;
struct drm_gpuvm;
struct drm_gpuvm_bo;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_context;
struct pagoda_demand;
struct pagoda_map_extent;
struct pagoda_space;
struct pagoda_stream_line;
struct pagoda_submission;
struct pagoda_vidmm;
struct pagoda_vidmm_args;

/**
 * struct pagoda_unique - Bytes of an allocation that are mapped with PAGODA_PROTECTION_UNIQUE
 * @start: Offset in the allocation of the first byte
 * @end: Offset behind the last byte
 * @value: Driver protection; no mapping of these bytes may have another driver protection
 */
struct pagoda_unique {
	u64 start;
	u64 end;
	u64 value;
};

/**
 * enum pagoda_attempt - Attempts to find room for a list of allocations, made in this order
 * @PAGODA_ATTEMPT_FIRST: the list's allocations that are in VRAM stay there, except for private
 *	ones that pagoda_room_make() moves
 * @PAGODA_ATTEMPT_URGENT: as FIRST, with &pagoda_operation.urgent
 * @PAGODA_ATTEMPT_ANEW: as URGENT, but first all allocations of the list leave VRAM: fragmentation
 *	may prevent that they fit unless all are placed anew
 * @PAGODA_ATTEMPTS: number of attempts
 */
enum pagoda_attempt {
	PAGODA_ATTEMPT_FIRST,
	PAGODA_ATTEMPT_URGENT,
	PAGODA_ATTEMPT_ANEW,
	PAGODA_ATTEMPTS
};

/**
 * struct pagoda_vm_plan - Use of a VM's addresses as it will be after all accepted VM_BIND arrays
 * @taken: By page number: enum plan_kind, and for MAP an allocation's id; no entry = page is free
 * @reserved: By page number: number of the RESERVE range that has the page; no entry = none has it
 * @last: Number that the last RESERVE range got
 *
 * See bind_plan.c; protected by &pagoda_vm.lock.
 */
struct pagoda_vm_plan {
	struct maple_tree taken;
	struct maple_tree reserved;
	u64 last;
};

/**
 * enum pagoda_vm_keep - Allocations of a VM that pagoda_vm_may_evict() keeps in VRAM
 * @PAGODA_VM_KEEP_NOTHING: page tables and save areas, but only while a job of the VM is in flight,
 *	or, unless the operation that needs room is urgent, paging in the VM's reservation
 * @PAGODA_VM_KEEP_PRIVATE: also private allocations with mappings
 * @PAGODA_VM_KEEP_BOUND: also private allocations with mappings, and page tables and save areas
 *	even if no job is in flight
 *
 * A thread that holds the VM's reservation needs this: TTM may evict allocations with a reservation
 * that the evicting thread itself holds (&ttm_operation_ctx.allow_res_evict).
 */
enum pagoda_vm_keep {
	PAGODA_VM_KEEP_NOTHING,
	PAGODA_VM_KEEP_PRIVATE,
	PAGODA_VM_KEEP_BOUND,
};

/**
 * enum pagoda_vm_reserve - Whether page tables and save areas of a VM that find no other place in
 * VRAM may be put into the reserve
 * @PAGODA_VM_RESERVE_SHUT: no: pagoda_room_make() may still move allocations out of VRAM
 * @PAGODA_VM_RESERVE_MISSED: no, but a page table or save area found no other place in VRAM
 * @PAGODA_VM_RESERVE_OPEN: yes: pagoda_room_make() could move no more allocations
 *
 * While &pagoda_vm.keep is %PAGODA_VM_KEEP_NOTHING, the reserve may be used whatever the value.
 */
enum pagoda_vm_reserve {
	PAGODA_VM_RESERVE_SHUT,
	PAGODA_VM_RESERVE_MISSED,
	PAGODA_VM_RESERVE_OPEN,
};

/**
 * enum pagoda_vm_why - Why page table entries become invalid, and so where the operations that make
 * them invalid are emitted
 * @PAGODA_VM_HIDES: The allocation stays where it is: in the VM's line, if it has one, without
 *	waiting for jobs
 * @PAGODA_VM_MOVES: The allocation moves, and no job uses it: in the line of moves
 * @PAGODA_VM_EVICTS: The allocation is evicted, or moves with %PAGODA_PL_PIPELINED: in the line of
 *	moves, behind jobs that use it
 */
enum pagoda_vm_why {
	PAGODA_VM_HIDES,
	PAGODA_VM_MOVES,
	PAGODA_VM_EVICTS,
};

/**
 * struct pagoda_vm_fixed - Page tables and save areas of a VM in VRAM, outside of the reserve
 * @entry: In &pagoda_fixed.vms while @tables or @saves isn't 0
 * @tables: Bytes of page tables
 * @saves: Bytes of save areas
 *
 * Protected by &pagoda_fixed.lock.
 */
struct pagoda_vm_fixed {
	struct list_head entry;
	u64 tables;
	u64 saves;
};

/**
 * struct pagoda_vm - Address space of a client
 * @base: Mappings; the gpuva tree is protected by @lock, the lists by spinlocks of drm_gpuvm
 * @vidmm: Memory manager
 * @client: Client that is charged for page tables and save areas
 * @space: Page tables
 * @line: Line of the stream for changes of page tables; NULL if these use windows of the paging
 *	process, and so are in the line of moves. Constant
 * @id: Number of the address space on the device
 * @lock: Held while mappings are added or removed; also protects @saves, @closed, @error, @plan and
 *	@waiting
 * @saves: Save areas of the contexts that run in the VM
 * @root: Root of the page tables, which all save areas must contain; protected by the VM's
 *	reservation
 * @keep: Allocations of the VM that may not leave VRAM now; protected by the VM's reservation
 * @exec: Reservations held by the thread that has set @keep, or NULL; protected by the VM's
 *	reservation
 * @reserve: Whether page tables and save areas may be put into the reserve while @keep isn't
 *	%PAGODA_VM_KEEP_NOTHING; protected by the VM's reservation
 * @evicted: Private allocations that aren't offered and whose mappings became invalid since the
 *	VM's last job, and those of @left_out that a submission tries again, linked by
 *	&pagoda_bo.vm.evicted; protected by the VM's reservation
 * @offered: Private allocations that were offered and whose mappings the next submission that finds
 *	no job of the VM in flight makes invalid, linked by &pagoda_bo.vm.evicted; protected by the
 *	VM's reservation
 * @left_out: Private allocations that a submission didn't bring to VRAM because the client had no
 *	tokens for evictions (pace.c), linked by &pagoda_bo.vm.evicted; protected by the VM's
 *	reservation
 * @fixed: Page tables and save areas in VRAM
 * @queued: Number of submissions to the VM that wait in &pagoda_context.deferred
 * @uses: LRU bulk move and counters of use that the private allocations share
 * @entry: In pagoda_reset.vms until the VM is closed
 * @aborted: PAGODA_ABORTED_* bits of allocations that the VM maps or that are private to it
 * @last: Fence of the last paging operation on @space, or NULL; protected by the space's lock
 * @moved: Fence of the last move of an allocation that the next change of page tables will show, or
 *	NULL; protected by the VM's reservation
 * @placed: Fence of the last operation that the line of moves had when a page table for the next
 *	change was allocated, or NULL; protected by the VM's reservation
 * @losses: pagoda_lost_mark() before the lost content of private allocations was last replaced by
 *	zeros; protected by the VM's reservation
 * @closed: The VM has no handle any more: further VM_BIND arrays and contexts are refused
 * @error: Negative errno of a queued VM_BIND array that couldn't be applied: further VM_BIND arrays
 *	and jobs are refused; else 0
 * @plan: Use of the addresses as it will be after all accepted VM_BIND arrays
 * @waiting: Queued VM_BIND arrays in order, linked by &pagoda_bind_job.entry
 * @queue: Applies the arrays of @waiting in order, each when the fences it waits for have signalled
 */
struct pagoda_vm {
	struct drm_gpuvm base;
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
	struct pagoda_space *space;
	struct pagoda_stream_line *line;
	u32 id;
	struct mutex lock;	/* protects gpuva tree, saves, closed, error, plan, waiting */
	struct list_head saves;
	struct pagoda_root root;
	enum pagoda_vm_keep keep;
	struct drm_exec *exec;
	enum pagoda_vm_reserve reserve;
	struct list_head evicted;
	struct list_head offered;
	struct list_head left_out;
	struct pagoda_vm_fixed fixed;
	atomic_t queued;
	struct pagoda_vm_uses uses;
	struct list_head entry;
	atomic_t aborted;
	struct dma_fence *last;
	struct dma_fence *moved;
	struct dma_fence *placed;
	u64 losses;
	bool closed;
	int error;
	struct pagoda_vm_plan plan;
	struct list_head waiting;
	struct pagoda_deferred queue;
};

/**
 * struct pagoda_va - A mapping in a VM's gpuva tree
 * @base: Addresses and allocation; with %DRM_GPUVA_SPARSE there is no allocation: reads give zeros
 * @entry: In &pagoda_books.spares or &pagoda_books.dropped while the mapping isn't in the tree
 * @flags: DRM_PAGODA_BIND_* flags
 * @driver_protection: Client's opaque value for the page table entries
 * @window: Bytes of the allocation, from @base.gem.offset on, that repeat over the addresses; 0 =
 *	nothing repeats
 * @first: Byte of the window that the first address shows
 *
 * %DRM_GPUVA_INVALIDATED in @base: the page tables don't show the mapping, because its allocation
 * moved, isn't resident, or is offered.
 */
struct pagoda_va {
	struct drm_gpuva base;
	struct list_head entry;
	u32 flags;
	u64 driver_protection;
	u64 window;
	u64 first;
};

static inline struct pagoda_vm *pagoda_vm_of(struct drm_gpuvm *base)
{
	return container_of(base, struct pagoda_vm, base);
}

static inline struct pagoda_va *pagoda_va_of(struct drm_gpuva *base)
{
	return container_of(base, struct pagoda_va, base);
}

/* Returns the reservation that the VM's page tables, save areas and private allocations share. */
static inline struct dma_resv *pagoda_vm_resv(struct pagoda_vm *vm)
{
	return drm_gpuvm_resv(&vm->base);
}

/**
 * struct pagoda_save - Save area: memory where an engine keeps a context's registers between jobs
 * @vm: VM that the context runs in; constant
 * @entry: In &pagoda_vm.saves
 * @bo: Allocation of the save area, a reference; not evicted while a job of the VM is in flight
 * @context: Number of the context; constant
 * @root: Root of page tables that the save area contains; protected by the VM's reservation
 * @restarts: pagoda_stream_restarts() when the save area was initialised, or last restored after a
 *	reset of the device; protected by the VM's reservation
 */
struct pagoda_save {
	struct pagoda_vm *vm;
	struct list_head entry;
	struct pagoda_bo *bo;
	u64 context;
	struct pagoda_root root;
	u64 restarts;
};

/**
 * struct pagoda_vm_place - Memory that a mapping of an allocation shows
 * @extents: Ranges of VRAM; NULL = the allocation is outside of VRAM
 * @nr_extents: Entries of @extents
 * @adl: Addresses at which the device reaches the pages of an allocation outside of VRAM
 */
struct pagoda_vm_place {
	struct pagoda_map_extent *extents;
	u32 nr_extents;
	struct pagoda_adl adl;
};

/**
 * struct pagoda_rebind - Invalidated mappings that pagoda_rebind_run() makes valid again
 * @vm: VM; its reservation and those of the mapped allocations are held
 * @vas: Mappings collected so far
 * @count: Number of mappings in @vas
 * @room: Number of mappings that @vas has space for
 */
struct pagoda_rebind {
	struct pagoda_vm *vm;
	struct drm_gpuva **vas;
	u32 count;
	u32 room;
};

/* Number of ranks that pagoda_room_rank() returns. */
#define PAGODA_ROOM_RANKS	3

/**
 * struct pagoda_room - How pagoda_room_make() makes room in VRAM for a change of a VM
 * @vm: The VM, whose private allocations make room
 * @away: Allocations may be moved to where the GPU can't use them; offered ones may in any case
 * @last: No later attempt will find more room: if need be, page tables and save areas use the
 *	reserve
 * @bytes: Bytes that the last call tried to move out of VRAM, 0 before the first call
 */
struct pagoda_room {
	struct pagoda_vm *vm;
	bool away;
	bool last;
	u64 bytes;
};

/**
 * struct pagoda_bind - A checked entry of VM_BIND
 * @type: enum drm_pagoda_bind_type
 * @flags: DRM_PAGODA_BIND_* flags
 * @handle: MAP, MAP_FENCE: handle of the allocation or of the monitored fence
 * @bo: MAP, MAP_FENCE: allocation; a reference
 * @address: First address; CHOOSE: least address wanted, then the address chosen
 * @size: Bytes of addresses
 * @offset: MAP: first byte of the allocation to map; COPY: first source address
 * @driver_protection: MAP: client's opaque value for the page table entries
 * @window: MAP: bytes of the allocation, from @offset on, that repeat over the range; 0 = @size
 * @wanted: @address before pagoda_plan_array() chose an address
 */
struct pagoda_bind {
	u32 type;
	u32 flags;
	u32 handle;
	struct pagoda_bo *bo;
	u64 address;
	u64 size;
	u64 offset;
	u64 driver_protection;
	u64 window;
	u64 wanted;
};

/**
 * struct pagoda_bind_job - An array of VM_BIND entries and its syncobjs
 * @kref: References: the caller's, and that of &pagoda_vm.queue while the array waits
 * @binds: Entries, for the caller to fill after creation
 * @count: Number of entries
 * @tries: Number of attempts to apply the array after it was queued
 * @blockers: Fence that the next attempt waits for, or NULL: of pagoda_room_blockers(), or of
 *	pagoda_stream_line_full()
 * @update: DRM_PAGODA_VM_BIND_UPDATE: all entries change one reserved range of addresses (C134)
 * @syncs: Syncobjs to wait for and to signal; filled by the caller
 * @entry: In &pagoda_vm.waiting while the array waits; protected by pagoda_vm.lock
 * @item: In &pagoda_vm.queue while the array waits
 */
struct pagoda_bind_job {
	struct kref kref;
	struct pagoda_bind *binds;
	u32 count;
	u32 tries;
	struct dma_fence *blockers;
	bool update;
	struct pagoda_syncs syncs;
	struct list_head entry;
	struct pagoda_deferred_item item;
};

/* bind_unique.c: ranges of an allocation that are mapped with the unique bit */
int pagoda_unique_of(struct pagoda_bo *bo, struct pagoda_unique **list, u32 *count);

/* tables.c: set-up of page tables; update modes; roots after a reset or a rescue by the CPU */
int pagoda_tables_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_tables_fini(struct pagoda_vidmm *vidmm);
void pagoda_tables_forget(struct pagoda_vidmm *vidmm);
bool pagoda_tables_rescued(struct pagoda_vidmm *vidmm, const struct pagoda_submission *sub,
			   u32 start);
const char *pagoda_vidmm_mode_name(u32 mode);
bool pagoda_vidmm_has_tables(struct pagoda_vidmm *vidmm);

/* fixed.c: page tables and save areas in VRAM, which can't leave while jobs are in flight */
int pagoda_fixed_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
u64 pagoda_fixed_bytes(struct pagoda_vidmm *vidmm);
int pagoda_fixed_check(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand,
		       const struct pagoda_vm *own, u64 *misfit);
bool pagoda_fixed_leaves_room(struct pagoda_vm *vm);

/* room.c: moves private allocations to make room in VRAM; waits for jobs that are in the way */
struct dma_fence *pagoda_room_blockers(struct pagoda_vidmm *vidmm, struct pagoda_client *client);
bool pagoda_room_await(struct dma_fence **late, int *ret);
int pagoda_room_later(struct dma_fence **late, int ret);
bool pagoda_room_again(struct pagoda_vidmm *vidmm, struct pagoda_client *client, u32 *tries,
		       int *ret);
int pagoda_room_wait_idle(struct pagoda_vidmm *vidmm, bool interruptible, long timeout);
u32 pagoda_room_rank(const struct pagoda_bo *bo);
bool pagoda_room_make(struct pagoda_room *room);
void pagoda_room_keep(struct pagoda_vm *vm, enum pagoda_vm_keep keep, struct drm_exec *exec);
int pagoda_room_leave(struct pagoda_bo *bo);
int pagoda_room_leave_all(struct pagoda_vm *vm);
void pagoda_room_demand_all(struct pagoda_vm *vm, struct pagoda_demand *demand);

/*
 * change.c: invalidates an allocation's mappings; whether jobs can use an allocation; brings back
 * page tables that were evicted or lost in a reset; addresses that can be mapped
 */
void pagoda_vm_bo_hide(struct pagoda_bo *bo, enum pagoda_vm_why why);
bool pagoda_vm_bo_is_shown(struct pagoda_bo *bo);
bool pagoda_vm_bo_is_used(struct pagoda_bo *bo);
int pagoda_vm_rebuild_tables(struct pagoda_vm *vm);
int pagoda_vm_make_tables_resident(struct pagoda_vm *vm);
void pagoda_vm_bo_evicted(struct drm_gpuvm_bo *vm_bo);
void pagoda_vm_range(const struct pagoda_vm *vm, u64 *start, u64 *end);
bool pagoda_vm_range_valid(const struct pagoda_vm *vm, u64 address, u64 size);

/* vm.c: address spaces of clients */
int pagoda_vm_bo_opened(struct pagoda_bo *bo, bool opened);
struct pagoda_vm *pagoda_vm_create(struct pagoda_vidmm *vidmm, struct pagoda_client *client);
struct drm_gem_object *pagoda_vm_shared(struct pagoda_vm *vm);
struct pagoda_vm *pagoda_vm_get(struct pagoda_vm *vm);
void pagoda_vm_put(struct pagoda_vm *vm);
void pagoda_vm_close(struct pagoda_vm *vm);
int pagoda_vm_retire(struct pagoda_vm *vm);
int pagoda_client_validate(struct pagoda_client *client, struct dma_fence **fence);
void pagoda_client_forget(struct pagoda_client *client, struct pagoda_bo *bo);

/* table_memory.c: whether an allocation's VMs let it leave its place; evicts page tables */
bool pagoda_vm_may_evict(struct pagoda_bo *bo, bool urgent);
void pagoda_vm_table_evict(struct pagoda_bo *bo);

/* save.c: save areas of contexts */
struct pagoda_side pagoda_save_side(struct pagoda_bo *save, struct pagoda_adl *adl);
int pagoda_save_create(struct pagoda_save *save, struct pagoda_vm *vm, u64 context);
int pagoda_save_enter(struct pagoda_save *save, struct pagoda_vm *vm);
void pagoda_save_drop(struct pagoda_save *save);
void pagoda_save_destroy(struct pagoda_save *save);
int pagoda_save_rebuild(struct pagoda_save *save);
int pagoda_save_validate(struct pagoda_save *save);

/* rebind.c: makes mappings of allocations that moved valid again, and of offered ones invalid */
int pagoda_rebind_add(struct pagoda_rebind *rebind, struct drm_gpuvm_bo *vm_bo);
int pagoda_rebind_run(struct pagoda_rebind *rebind, struct dma_fence **fence);
void pagoda_rebind_fini(struct pagoda_rebind *rebind);
bool pagoda_offer_hide(struct pagoda_vm *vm);

/* bind_queue.c: VM_BIND arrays, applied or queued; whether a VM is usable; unmaps an allocation */
void pagoda_vm_forget(struct pagoda_vm *vm, struct pagoda_bo *bo);
struct pagoda_bind_job *pagoda_bind_job_create(u32 count);
void pagoda_bind_job_put(struct pagoda_bind_job *job);
int pagoda_vm_bind_job(struct pagoda_vm *vm, struct pagoda_bind_job *job,
		       struct dma_fence **fence);
int pagoda_vm_condition(struct pagoda_vm *vm, int *error);

#endif
