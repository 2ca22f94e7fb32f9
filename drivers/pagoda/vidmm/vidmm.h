/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of vidmm/ show each other, and the KUnit suites.
 */
#ifndef PAGODA_VIDMM_INTERNAL_H
#define PAGODA_VIDMM_INTERNAL_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/drm_mm.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>
#include <drm/ttm/ttm_tt.h>
#include <pagoda/compat.h>
#include <pagoda/journal.h>
#include <pagoda/mmu.h>
#include <pagoda/paging.h>
#include <pagoda/policy.h>
#include <pagoda/queue.h>
#include <pagoda/vidmm.h>
#include "coredump.h"
#include "promote.h"
#include "reset.h"
#include "segments.h"

struct dma_buf;
struct pagoda_victims;
struct shrinker;
struct dma_buf_attachment;
struct pagoda_command;
struct pagoda_engines;
struct pagoda_stream_txn;
struct pagoda_transport;

/** PAGODA_PIECE_BYTES: most bytes of one TRANSFER or FILL; about a millisecond. */
#define PAGODA_PIECE_BYTES	(8u << 20)

/* ---- Tiled allocations and the ranges the CPU sees them in (swizzle.c) ------- */

/**
 * struct pagoda_swizzle_range - A swizzling range
 * @link: In pagoda_swizzle.lru
 * @id: Its number; constant
 * @bo: Allocation that has it, or NULL
 * @fence: What must be through before it can be used, or NULL
 * @shown: The CPU may have written to the window: that is what counts; changed with
 *	the reservation of @bo held
 * @dead: The device left a command about it unanswered: never used again
 *
 * Protected by pagoda_swizzle.lock; @bo changes with its reservation held too.
 */
struct pagoda_swizzle_range {
	struct list_head link;
	u32 id;
	struct pagoda_bo *bo;
	struct dma_fence *fence;
	bool shown;
	bool dead;
};

/**
 * struct pagoda_swizzle - All swizzling ranges
 * @lock: Protects the ranges and @lru. Nests in reservations; commands aren't waited
 *	for with it held
 * @lru: Ranges: free ones first, the one with the latest page fault last
 * @ranges: The ranges
 * @cpu: The same as the CPU executor sees them; whoever has a range fills its entry
 *	in while no packet that names it is under way
 * @window: Kernel address of all windows
 */
struct pagoda_swizzle {
	struct mutex lock;	/* ranges, lru */
	struct list_head lru;
	struct pagoda_swizzle_range *ranges;
	struct pagoda_cpu_range *cpu;
	u8 *window;
};

int pagoda_swizzle_init(struct pagoda_vidmm *vidmm);
void pagoda_swizzle_forget(struct pagoda_vidmm *vidmm);
void pagoda_swizzle_fini(struct pagoda_vidmm *vidmm);
bool pagoda_swizzle_is_shown(const struct pagoda_bo *bo);
int pagoda_swizzle_acquire(struct pagoda_bo *bo);
int pagoda_swizzle_release(struct pagoda_bo *bo);
void pagoda_swizzle_drop(struct pagoda_bo *bo);
unsigned long pagoda_swizzle_pfn(struct pagoda_bo *bo, unsigned long page_offset);
u8 *pagoda_swizzle_window(struct pagoda_bo *bo);
int pagoda_swizzle_plan(struct pagoda_bo *bo, struct ttm_resource *to, bool no_wait,
			struct pagoda_paging_op *copy);
void pagoda_swizzle_moved(struct pagoda_bo *bo, struct ttm_resource *to,
			  const struct pagoda_paging_op *copy, struct dma_fence *fence);
void pagoda_swizzle_undo(struct pagoda_bo *bo, struct ttm_resource *to);

/* ---- System memory as the device reaches it (device_mmu.c) ------------------ */

/**
 * struct pagoda_sysmem - Consecutive pages of the driver's own that the device uses
 * @address: What the device is told: a device address, or @dma if it has no MMU
 * @dma: Bus address of the first page
 * @nr_pages: Their number
 * @node: Device addresses, in pages; not allocated without a device MMU
 * @pages: The pages, while mapped
 * @link: In pagoda_device_mmu.own while mapped
 * @epoch: When it was mapped, pagoda_reset_epoch()
 */
struct pagoda_sysmem {
	u64 address;
	dma_addr_t dma;
	u32 nr_pages;
	struct drm_mm_node node;
	struct page *const *pages;
	struct list_head link;
	u64 epoch;
};

/**
 * struct pagoda_tt - Pages of an allocation
 * @base: TTM's part
 * @allocation: Its number; the pages may outlive it
 * @notify: NOTIFY_ALLOC before the pages leave the device's address space
 * @node: Device addresses in pages; allocated while populated, with a device MMU
 * @mapped: Fence behind the MAP_MMU, or NULL
 * @kept: In pagoda_device_mmu.kept
 * @epoch: When they were mapped, pagoda_reset_epoch()
 * @restarts: The same, &pagoda_stream.restarts
 * @attach: Of an imported allocation whose memory is mapped for the device (TTM's part
 *	has the sg list), else NULL
 * @pinned: Other devices have them
 * @left: Taken away while other devices had them: freed with this
 *
 * Protected as TTM's part is: by the reservation, or nobody else has it any more.
 */
struct pagoda_tt {
	struct ttm_tt base;
	u64 allocation;
	bool notify;
	struct drm_mm_node node;
	struct dma_fence *mapped;
	struct list_head kept;
	u64 epoch;
	u64 restarts;
	struct dma_buf_attachment *attach;
	bool pinned;
	bool left;
};

/** pagoda_tt_of() - Pages around TTM's part; pagoda_ttm_funcs made it. */
static inline struct pagoda_tt *pagoda_tt_of(struct ttm_tt *tt)
{
	return container_of(tt, struct pagoda_tt, base);
}

/**
 * struct pagoda_device_mmu - Device addresses
 * @lock: Protects @mm, @own and @kept; innermost but for TTM's. Taken under the stream's
 *	lock: nobody allocates under it
 * @mm: Addresses in pages; page 0 isn't in it
 * @own: struct pagoda_sysmem that are mapped, in the order they were
 * @kept: pagoda_tt whose UNMAP_MMU failed
 * @gone: There is no device that would have to be told
 */
struct pagoda_device_mmu {
	struct mutex lock;	/* mm, own, kept */
	struct drm_mm mm;
	struct list_head own;
	struct list_head kept;
	bool gone;
};

void pagoda_device_mmu_init(struct pagoda_vidmm *vidmm);
int pagoda_device_mmu_start(struct pagoda_vidmm *vidmm);
void pagoda_device_mmu_stop(struct pagoda_vidmm *vidmm);
void pagoda_device_mmu_fini(struct pagoda_vidmm *vidmm);
int pagoda_device_mmu_populate(struct ttm_device *bdev, struct ttm_tt *ttm,
			       struct ttm_operation_ctx *ctx);
void pagoda_device_mmu_unpopulate(struct ttm_device *bdev, struct ttm_tt *ttm);
int pagoda_device_mmu_map(struct pagoda_vidmm *vidmm, struct pagoda_tt *tt,
			  struct ttm_operation_ctx *ctx);
bool pagoda_device_mmu_unmap(struct pagoda_vidmm *vidmm, struct pagoda_tt *tt);
bool pagoda_device_mmu_is_gone(struct pagoda_vidmm *vidmm);
bool pagoda_device_mmu_is_stale(struct pagoda_vidmm *vidmm, struct ttm_tt *ttm);
int pagoda_device_mmu_repair(struct pagoda_vidmm *vidmm, struct ttm_tt *ttm);
int pagoda_device_mmu_remap(struct pagoda_vidmm *vidmm, struct ttm_tt *ttm);
void pagoda_device_mmu_drop_kept(struct pagoda_vidmm *vidmm);
struct pagoda_paging_cost pagoda_device_mmu_own_cost(struct pagoda_vidmm *vidmm);
void pagoda_device_mmu_remap_own(struct pagoda_vidmm *vidmm, struct pagoda_stream_txn *txn);
int pagoda_sysmem_alloc(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem,
			struct page **page);
void pagoda_sysmem_free(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem,
			struct page *page);
int pagoda_sysmem_reserve(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem,
			  dma_addr_t dma, u32 nr_pages);
int pagoda_sysmem_map(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem,
		      struct page *const *pages);
bool pagoda_sysmem_release(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem);

/* ---- Pages of allocations (pages.c) ----------------------------------------- */

int pagoda_pages_alloc(struct pagoda_vidmm *vidmm, struct ttm_tt *tt,
		       const struct ttm_operation_ctx *ctx);
void pagoda_pages_free(struct pagoda_vidmm *vidmm, struct ttm_tt *tt);

/* ---- Stream (stream.c): the loop of the OS side around the builder ------- */

/**
 * struct pagoda_stream - The paging buffer being filled
 * @queue: Where full ones go
 * @limits: For the builders
 * @lock: Protects everything below. Taken on the way to signalling a fence
 * @open: Armed submission being filled, or NULL
 * @reserve: One that is ready, for small operations, or NULL
 * @buf: Write position in @open
 * @open_cost: Bytes the operations in @open move
 * @plugs: Callers that will add more soon
 * @restarts: Times the device was reset and paging worked again: what was emitted before the
 *	last is given up, if it wasn't executed for a device that has forgotten it
 * @flush: Pushes @open when they take too long; the bound that makes an armed
 *	and open fence legal
 * @patience: Jiffies until it does; constant
 * @wq: For @flush, usable in reclaim
 * @fence_page: Where each submission writes its number at its end
 * @fence_mem: As the device reaches it
 * @room: Bytes operations may use of the smallest buffer: all but that write
 * @packets: Packets the smallest submission has private data for, without it
 */
struct pagoda_stream {
	struct pagoda_queue *queue;
	struct pagoda_paging_limits limits;
	struct mutex lock;	/* all below */
	struct pagoda_submission *open;
	struct pagoda_submission *reserve;
	struct pagoda_paging_buffer buf;
	u64 open_cost;
	unsigned int plugs;
	u64 restarts;
	struct delayed_work flush;
	unsigned long patience;
	struct workqueue_struct *wq;
	struct page *fence_page;
	struct pagoda_sysmem fence_mem;
	u32 room;
	u32 packets;
};

/**
 * struct pagoda_stream_txn - Operations that become visible as one fence
 * @vidmm: Whose stream
 * @bo: Allocation whose fences BUSY waits for, or NULL (C25)
 * @spare: Submissions got in advance, so that nothing can fail once started
 * @only: Where @spare points if it is a single one
 * @fence: Fence of the last submission used
 * @nr_spare: Entries of @spare; taken from the end
 * @fresh: The next operation must not share a submission with earlier ones: the
 *	last entry of @spare has dependencies
 * @idle: @bo was waited for: %PAGODA_ALLOCATION_IS_IDLE may be said
 * @no_wait: Answer -EBUSY instead of waiting
 * @cookie: Of the fence signalling section the transaction is
 */
struct pagoda_stream_txn {
	struct pagoda_vidmm *vidmm;
	struct pagoda_bo *bo;
	struct pagoda_submission **spare;
	struct pagoda_submission *only;
	struct dma_fence *fence;
	u32 nr_spare;
	bool fresh;
	bool idle;
	bool no_wait;
	bool cookie;
};

int pagoda_stream_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_stream_fini(struct pagoda_vidmm *vidmm);
void pagoda_stream_plug(struct pagoda_vidmm *vidmm);
void pagoda_stream_unplug(struct pagoda_vidmm *vidmm);
void pagoda_stream_flush(struct pagoda_vidmm *vidmm);
bool pagoda_stream_has_foreign(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
			       enum dma_resv_usage usage);
int pagoda_stream_wait_idle(struct pagoda_vidmm *vidmm, long timeout);
int pagoda_stream_begin(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			struct pagoda_bo *bo, struct dma_resv *resv,
			enum dma_resv_usage usage, const struct pagoda_paging_cost *cost);
void pagoda_stream_begin_must(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			      struct pagoda_bo *bo, struct dma_resv *resv,
			      const struct pagoda_paging_cost *cost);
int pagoda_stream_emit(struct pagoda_stream_txn *txn, struct pagoda_paging_op *op);
void pagoda_stream_emit_valid(void *txn, struct pagoda_paging_op *op);
int pagoda_stream_restart(struct pagoda_vidmm *vidmm);
struct dma_fence *pagoda_stream_end(struct pagoda_stream_txn *txn);
int pagoda_stream_end_wait(struct pagoda_stream_txn *txn);

/* ---- Journal (journal.c): what the stream did ----------------------------- */

/**
 * struct pagoda_journal_loss - A submission that failed for good
 * @seqno: Its number
 * @offset: First byte that wasn't executed
 * @error: Why
 */
struct pagoda_journal_loss {
	u64 seqno;
	u32 offset;
	int error;
};

/**
 * struct pagoda_journal - The last operations, and a recording of all of them
 * @entries: Ring; written under the stream's lock, read without one
 * @recorded: Number of the last entry
 * @losses: Last submissions that failed, a ring
 * @nr_losses: Failed so far
 * @recording_mutex: Keeps @recording from being freed
 * @recording_lock: Protects everything below
 * @recording: Buffers, one after another; NULL = nobody wants them
 * @recording_size: Its bytes
 * @recording_used: Bytes of them in use
 * @recording_dropped: Submissions that had no room
 * @recording_missed: Number of the last submission before the recording began, and one
 *	more for each whose losses had no room: what came then isn't in it
 * @last_seqno: Number of the last submission
 */
struct pagoda_journal {
	struct pagoda_journal_entry *entries;
	u64 recorded;
	struct pagoda_journal_loss losses[64];
	u32 nr_losses;
	struct mutex recording_mutex;	/* life of recording */
	spinlock_t recording_lock;	/* all below */
	u8 *recording;
	u64 recording_size;
	u64 recording_used;
	u64 recording_dropped;
	u64 recording_missed;
	u64 last_seqno;
};

int pagoda_journal_init(struct pagoda_journal *journal);
void pagoda_journal_fini(struct pagoda_journal *journal);
void pagoda_journal_note(struct pagoda_journal *journal, const struct pagoda_paging_op *op,
			 u64 seqno, u32 offset, u32 encoded, int pass);
void pagoda_journal_record(struct pagoda_journal *journal, const struct pagoda_submission *sub);
void pagoda_journal_written(struct pagoda_journal *journal, const struct pagoda_paging_op *op);
void pagoda_journal_root(struct pagoda_journal *journal, u32 space,
			 const struct pagoda_root *root);
void pagoda_journal_reset(struct pagoda_journal *journal);
void pagoda_journal_lost(struct pagoda_journal *journal, u64 seqno, u32 offset, int error);

/* ---- Moves (move.c) ------------------------------------------------------ */

/**
 * enum pagoda_place - Where content is, as the decision table sees it
 * @PAGODA_PLACE_NONE: no resource yet
 * @PAGODA_PLACE_SYSTEM_EMPTY: system segment, no pages, no swap
 * @PAGODA_PLACE_SYSTEM: system segment with content
 * @PAGODA_PLACE_APERTURE: aperture without an address
 * @PAGODA_PLACE_APERTURE_BOUND: aperture with an address
 * @PAGODA_PLACE_VRAM: VRAM
 * @PAGODA_PLACE_COUNT: number of places
 */
enum pagoda_place {
	PAGODA_PLACE_NONE,
	PAGODA_PLACE_SYSTEM_EMPTY,
	PAGODA_PLACE_SYSTEM,
	PAGODA_PLACE_APERTURE,
	PAGODA_PLACE_APERTURE_BOUND,
	PAGODA_PLACE_VRAM,
	PAGODA_PLACE_COUNT
};

/* Steps of a move, in the order they are emitted. */
#define PAGODA_STEP_POPULATE	BIT(0)		/* give the tt pages, or swap it in */
#define PAGODA_STEP_NOTIFY	BIT(1)		/* NOTIFY_ALLOC(Eviction) if wanted */
#define PAGODA_STEP_MAP		BIT(2)		/* MAP_APERTURE_SEGMENT(2) of the target */
#define PAGODA_STEP_FILL	BIT(3)		/* FILL with zeros where not clean */
#define PAGODA_STEP_TRANSFER	BIT(4)		/* TRANSFER the content */
#define PAGODA_STEP_FLUSH	BIT(5)		/* READ_, WRITE_PHYSICAL: the CPU will look */
#define PAGODA_STEP_UNMAP	BIT(6)		/* UNMAP_APERTURE_SEGMENT of the source */
#define PAGODA_STEP_NEVER	BIT(7)		/* TTM doesn't ask for this */
#define PAGODA_STEP_DISCARD	BIT(8)		/* DISCARD_CONTENT instead of all of it */

u32 pagoda_move_steps(enum pagoda_place from, enum pagoda_place to);
struct pagoda_paging_op pagoda_move_map_op(struct pagoda_bo *bo, struct ttm_resource *res,
					   const struct pagoda_adl *pages);
enum pagoda_place pagoda_move_place(struct ttm_buffer_object *bo, struct ttm_resource *res);
int pagoda_move(struct ttm_buffer_object *ttm_bo, bool evict, struct ttm_operation_ctx *ctx,
		struct ttm_resource *new_mem, struct ttm_place *hop);

/* ---- Moves by virtual addresses (virtual.c) ------------------------------- */

/**
 * struct pagoda_virtual_side - Source or destination of a move by virtual addresses
 * @res: Resource or NULL
 * @vram: Walk over it if it is VRAM
 * @extents: VRAM: room for all its ranges
 */
struct pagoda_virtual_side {
	struct ttm_resource *res;
	struct pagoda_vram_cursor vram;
	struct pagoda_map_extent *extents;
};

/**
 * struct pagoda_unique - Bytes of an allocation that are mapped with unique driver protection
 * @start: First byte
 * @end: Byte behind the last
 * @value: Driver protection
 */
struct pagoda_unique {
	u64 start;
	u64 end;
	u64 value;
};

int pagoda_unique_of(struct pagoda_bo *bo, struct pagoda_unique **list, u32 *count);

/**
 * struct pagoda_virtual - A move by virtual addresses
 * @bo: Allocation
 * @side: Source and destination, by the window they are mapped in
 * @unique: Where driver protection is unique, by offset
 * @nr_unique: Entries of @unique
 * @at_unique: First of them that isn't behind what was moved so far
 * @txn: Transaction, or NULL while costs are added up
 * @cost: Their sum
 * @ret: First error of what maps and unmaps; there should be none
 */
struct pagoda_virtual {
	struct pagoda_bo *bo;
	struct pagoda_virtual_side side[PAGODA_SCRATCH_COUNT];
	struct pagoda_unique *unique;
	u32 nr_unique;
	u32 at_unique;
	struct pagoda_stream_txn *txn;
	struct pagoda_paging_cost *cost;
	int ret;
};

bool pagoda_virtual_wanted(struct pagoda_vidmm *vidmm, struct pagoda_bo *bo);
int pagoda_virtual_init(struct pagoda_virtual *virtual, struct pagoda_bo *bo,
			struct ttm_resource *src, struct ttm_resource *dst);
void pagoda_virtual_fini(struct pagoda_virtual *virtual);
int pagoda_virtual_transfer(struct pagoda_virtual *virtual, struct pagoda_stream_txn *txn,
			    struct pagoda_paging_cost *cost);
int pagoda_virtual_fill(struct pagoda_virtual *virtual, struct pagoda_stream_txn *txn, u64 epoch,
			struct pagoda_paging_cost *cost);

/* ---- Page tables (tables.c) ---------------------------------------------- */

int pagoda_tables_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_tables_fini(struct pagoda_vidmm *vidmm);
void pagoda_tables_forget(struct pagoda_vidmm *vidmm);
void pagoda_tables_rescued(struct pagoda_vidmm *vidmm, const struct pagoda_submission *sub,
			   u32 start);

/* ---- Notices (notice.c), leaving for good (release.c), looking in (access.c) ----------------*/

bool pagoda_notice_left(const struct pagoda_bo *bo, struct pagoda_paging_op *op);
int pagoda_notice_arrived(struct pagoda_bo *bo, struct ttm_resource *res,
			  int (*emit)(void *arg, struct pagoda_paging_op *op), void *arg);
int pagoda_notice_eviction(struct pagoda_bo *bo, struct pagoda_stream_txn *txn,
			   struct pagoda_paging_cost *cost);
int pagoda_notice_eviction_wait(struct pagoda_bo *bo, bool no_wait);
struct pagoda_paging_op pagoda_release_unmap_op(struct pagoda_vidmm *vidmm,
						struct ttm_resource *res);
bool pagoda_release_is_mapped(struct ttm_resource *res);
void pagoda_move_release(struct pagoda_bo *bo);
void pagoda_move_discard(struct pagoda_bo *bo);
int pagoda_release_discard_ops(struct pagoda_bo *bo, struct ttm_resource *res,
			       int (*emit)(void *arg, struct pagoda_paging_op *op), void *arg);
int pagoda_move_access(struct pagoda_bo *bo, u64 offset, void *buf, int len, int write);

/* ---- Pages that are kept of what is in VRAM (copy.c) -------------------------- */

/**
 * struct pagoda_copies - All pages that are kept
 * @bytes: Their size, those included that aren't wanted any more and not free yet
 * @limit: Most of it; constant
 * @lock: Protects the lists; innermost, and taken where memory is reclaimed
 * @list: struct pagoda_copy, those that were kept first in front
 * @unwanted: What @work has to give up
 * @work: Does
 * @shrinker: Where memory is short; NULL when the hardware is gone
 */
struct pagoda_copies {
	atomic64_t bytes;
	u64 limit;
	spinlock_t lock;	/* list, unwanted */
	struct list_head list;
	struct list_head unwanted;
	struct work_struct work;
	struct shrinker *shrinker;
};

struct pagoda_copy;

int pagoda_copies_init(struct pagoda_vidmm *vidmm);
void pagoda_copies_stop(struct pagoda_vidmm *vidmm);
const struct pagoda_bo *pagoda_copy_owner(struct ttm_buffer_object *bo);
void pagoda_copy_keep(struct pagoda_bo *bo, struct dma_fence *reader);
struct pagoda_copy *pagoda_copy_take(struct pagoda_bo *bo);
void pagoda_copy_put_back(struct pagoda_bo *bo, struct pagoda_copy *copy);
void pagoda_copy_put(struct pagoda_bo *bo, struct pagoda_copy *copy, bool left);
void pagoda_copy_drop(struct pagoda_bo *bo);
void pagoda_copy_swap_notify(struct ttm_buffer_object *bo);
bool pagoda_copy_is_clean(struct pagoda_bo *bo);
void pagoda_copy_settle(struct pagoda_bo *bo);
void pagoda_copy_moved(struct pagoda_bo *bo);
void pagoda_copy_used(struct pagoda_bo *bo);
void pagoda_copy_written(struct pagoda_bo *bo);
void pagoda_copy_required(struct pagoda_bo *bo);
void pagoda_copy_released(struct pagoda_bo *bo, bool unwritten);

/* ---- Offered content (offer.c), who leaves first (priority.c) ---------------- */

/**
 * enum pagoda_offer - Who of those that are offered is taken first
 * @PAGODA_OFFER_NONE: isn't offered
 * @PAGODA_OFFER_LOW: first
 * @PAGODA_OFFER_NORMAL: then
 * @PAGODA_OFFER_HIGH: last
 * @PAGODA_OFFER_RANKS: number of values
 */
enum pagoda_offer {
	PAGODA_OFFER_NONE,
	PAGODA_OFFER_LOW,
	PAGODA_OFFER_NORMAL,
	PAGODA_OFFER_HIGH,
	PAGODA_OFFER_RANKS
};

/**
 * struct pagoda_offers - What is offered and in VRAM
 * @lock: Protects @ranks and @count; innermost
 * @ranks: Allocations by rank, those that were offered first in front
 * @count: Their number
 */
struct pagoda_offers {
	spinlock_t lock;	/* ranks, count */
	struct list_head ranks[PAGODA_OFFER_RANKS];
	u32 count;
};

void pagoda_offers_init(struct pagoda_offers *offers);
bool pagoda_offer_can_discard(struct pagoda_bo *bo, struct ttm_resource *to);
void pagoda_offer_discarded(struct pagoda_bo *bo);
void pagoda_offer_torn(struct pagoda_bo *bo);
void pagoda_offer_left_vram(struct pagoda_bo *bo);
int pagoda_offer_place(struct pagoda_bo *bo, const struct ttm_placement *placement,
		       struct ttm_operation_ctx *ctx);
int pagoda_offer_drop(struct pagoda_bo *bo);
void pagoda_offer_swap_notify(struct pagoda_bo *bo);

/** PAGODA_PRIORITY_STEPS: answers pagoda_priority_step() has */
#define PAGODA_PRIORITY_STEPS	18

u32 pagoda_priority_level(const struct pagoda_bo *bo);
u32 pagoda_priority_step(const struct pagoda_bo *bo);
void pagoda_priority_apply(struct pagoda_bo *bo);
int pagoda_bos_run(struct pagoda_bo **bos, u32 count, int (*run)(void *arg), void *arg);

/* What a reset of the device did to paging that names an allocation. */
#define PAGODA_ABORTED_BY_RESET	BIT(0)	/* some of it was given up */
#define PAGODA_ABORTED_TO_BLAME	BIT(1)	/* it was what the device couldn't do (C190) */

/* ---- Allocations (bo.c, ttm.c) ------------------------------------------- */

/**
 * struct pagoda_bo - An allocation
 * @ttm: TTM's part, with the GEM object in it
 * @vidmm: Manager
 * @client: Who pays; NULL until an imported one has a handle
 * @id: Number for traces and packets; never 0, never reused
 * @flags: DRM_PAGODA_ALLOCATION_ flags
 * @supported: Segment set
 * @eviction: Eviction segment set
 * @preferred: Supported segments it could fit in, preferred ones first, then zeros
 * @alignment: Bytes
 * @layout: Geometry of a tiled surface, all zeros for what isn't
 * @range: Swizzling range it has, or NULL; only in VRAM. Changed with the reservation and
 *	pagoda_swizzle.lock held
 * @system_tiled: Evicted as it is in VRAM, not as rows; protected by the reservation
 * @alternate_view: Evicted out of a range the CPU was shown; the same
 * @lost: Content was lost to a device failure; set from the fence path, sticky
 * @unclean: Lost, and not cleared since; set from the fence path, cleared with the
 *	reservation held
 * @epoch: pagoda_reset_epoch() when its content got into VRAM; the same
 * @aborted: PAGODA_ABORTED_ bits; set from the fence path, taken by the rebuild
 * @needs_idle: Has set-up that can't be queued (fault injection sets it);
 *	protected by the reservation
 * @discardable: Its content isn't needed: eviction is DISCARD_CONTENT;
 *	protected by the reservation
 * @told: The device was told where it is, and not that it left; the same
 * @resident: Was made resident and not evicted on request since; protected by the
 *	reservation
 * @released: Nobody requires it any more, and it only leaves when its place is needed, or its
 *	place was asked for: it doesn't come back by itself. Set without a lock, cleared with the
 *	reservation held
 * @promote: What waits to come back to VRAM
 * @priority: Residency priority, DRM_PAGODA_RESIDENCY_MINIMUM to _MAXIMUM; the same
 * @opened: Has a handle; the same, kept for what is private only
 * @offer: Rank as what is offered, %PAGODA_OFFER_NONE = it isn't; the same
 * @decommit: Offered with its pages in system memory; the same
 * @discarded: Its content was dropped since it was offered; the same
 * @offered: In pagoda_offers.ranks while it is offered and in VRAM; pagoda_offers.lock
 * @queued: Submissions that wait and list it
 * @unique: Was mapped with unique driver protection once; the same
 * @required: Clients that have it on their residency lists: it leaves only for want of
 *	anything else that could
 * @requirements: Its entries in these lists; pagoda_vidmm.required_lock
 * @waits: Entries of VM_BIND that wait and map it; it leaves only for want of anything
 *	else that could
 * @is_fence: It is the page of a monitored fence: the device is told where it is
 * @fence_left: Value that is seen of the fence when the device is gone (C184)
 * @shared: Whose reservation it shares, or NULL; a reference, because what a move leaves
 *	behind may keep the allocation longer than its VM
 * @table_of: VM whose page table it is, or NULL; protected by the reservation
 * @save_of: VM whose context's save area it is, or NULL; the same
 * @keep: Who holds the reservation needs it where it is; the same
 * @victim: What the policy knows of it; pagoda_victims.lock
 * @tried: In a list of somebody who looks for room and found it; the same
 * @in_vram: For the policy it is in VRAM; the same
 * @makes_room: It leaves for somebody else; protected by the reservation
 * @copy: Pages that were kept while it is in VRAM, or NULL; the same
 * @keeps_copy: They will be, on a list: no client gave it up yet, or the last said that it wasn't
 *	written
 * @written: What is in VRAM may be something else than what was kept, or nothing was;
 *	pagoda_victims.lock
 * @jobs: &pagoda_vm.jobs of the VM it is private to, when that was last not so; the same
 * @private_to: VM it is private to, a reference; or NULL
 * @evicted: In &pagoda_vm.evicted of that; protected by the reservation
 * @imported: dma-buf whose memory it is, a reference; or NULL
 * @exported: dma-buf that is made of it, or NULL; protected by the reservation
 * @detach: Ends an import
 * @part: What it is to the budget of @client; @part.segment is changed with the reservation
 *	held
 * @evict_places: What TTM was last told about eviction; the same
 */
struct pagoda_bo {
	struct ttm_buffer_object ttm;
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
	u64 id;
	u32 flags;
	u32 supported;
	u32 eviction;
	u32 preferred[DRM_PAGODA_MAX_PREFERRED];
	u32 alignment;
	struct pagoda_layout layout;
	struct pagoda_swizzle_range *range;
	bool system_tiled;
	bool alternate_view;
	bool lost;
	bool unclean;
	u64 epoch;
	atomic_t aborted;
	bool needs_idle;
	bool discardable;
	bool told;
	bool resident;
	bool released;
	struct pagoda_promote_item promote;
	u32 priority;
	bool opened;
	enum pagoda_offer offer;
	bool decommit;
	bool discarded;
	struct list_head offered;
	atomic_t queued;
	bool unique;
	atomic_t required;
	struct list_head requirements;
	atomic_t waits;
	bool is_fence;
	u64 fence_left;
	struct drm_gem_object *shared;
	struct pagoda_vm *table_of;
	struct pagoda_vm *save_of;
	bool keep;
	struct pagoda_policy_item victim;
	struct list_head tried;
	bool in_vram;
	bool makes_room;
	struct pagoda_copy *copy;
	bool keeps_copy;
	bool written;
	u64 jobs;
	struct pagoda_vm *private_to;
	struct list_head evicted;
	struct dma_buf *imported;
	struct dma_buf *exported;
	struct work_struct detach;
	struct pagoda_budget_part part;
	struct ttm_place evict_places[4];
};

/** pagoda_bo_of_ttm() - Allocation around a TTM object that is one of ours. */
static inline struct pagoda_bo *pagoda_bo_of_ttm(struct ttm_buffer_object *bo)
{
	return container_of(bo, struct pagoda_bo, ttm);
}

/** pagoda_bo_is_in_vram() - Is an allocation in VRAM? Its reservation is held. */
static inline bool pagoda_bo_is_in_vram(const struct pagoda_bo *bo)
{
	return bo->ttm.resource && bo->ttm.resource->mem_type == TTM_PL_VRAM;
}

struct pagoda_bo *pagoda_bo_create_kernel(struct pagoda_vidmm *vidmm,
					  struct pagoda_client *client,
					  const struct pagoda_bo_params *params,
					  struct drm_gem_object *shared,
					  struct pagoda_vm *table_of);
struct pagoda_bo *pagoda_bo_create_import(struct pagoda_vidmm *vidmm, struct dma_buf *dma_buf);
void pagoda_bo_adl(struct pagoda_bo *bo, struct pagoda_adl *adl);
bool pagoda_bo_is_coherent(struct pagoda_bo *bo);
u64 pagoda_lost_mark(struct pagoda_vidmm *vidmm);
int pagoda_lost_since(struct pagoda_vidmm *vidmm, u64 mark);
bool pagoda_lost_is_stale(const struct pagoda_bo *bo);
int pagoda_lost_clear(struct pagoda_bo *bo);
int pagoda_lost_settle(struct pagoda_bo *bo);
bool pagoda_bo_is_ours(struct ttm_buffer_object *bo);
void pagoda_bo_set_resident(struct pagoda_bo *bo, bool resident);
struct pagoda_bo *pagoda_bo_next(struct pagoda_vidmm *vidmm, unsigned long *id);
void pagoda_suspend_kept(struct pagoda_bo *bo);
void pagoda_bo_account(struct pagoda_bo *bo, struct ttm_resource *from, struct ttm_resource *to);
u32 pagoda_bo_vram_flags(u32 flags);
/* Fill places[] (at least 4) for the allocation; returns the number of them. */
u32 pagoda_bo_placement_resident(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_evicted(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_cpu(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_shared(struct pagoda_bo *bo, struct ttm_place *places);
/** typedef pagoda_take_fn - Who makes room: see pagoda_bo_place_taking() */
typedef bool (*pagoda_take_fn)(struct pagoda_bo *want, const struct ttm_place *place,
			       const struct ttm_operation_ctx *ctx, struct list_head *tried);

int pagoda_bo_place_taking(struct pagoda_bo *bo, const struct ttm_placement *placement,
			   struct ttm_operation_ctx *ctx, pagoda_take_fn take,
			   struct list_head *tried);
int pagoda_bo_place(struct pagoda_bo *bo,
		    u32 (*where)(struct pagoda_bo *bo, struct ttm_place *places),
		    struct ttm_operation_ctx *ctx);
int pagoda_fault_bring(struct pagoda_bo *bo, bool interruptible);

extern const struct ttm_device_funcs pagoda_ttm_funcs;
extern const struct drm_gem_object_funcs pagoda_bo_gem_funcs;
extern const struct vm_operations_struct pagoda_bo_vm_ops;
u32 pagoda_segment_of(const struct ttm_resource *res);

/* ---- Residency of lists (residency.c) --------------------------------------- */

/**
 * enum pagoda_attempt - How hard it is tried to make lists resident
 * @PAGODA_ATTEMPT_SHARED: beside other lists
 * @PAGODA_ATTEMPT_ALONE: no other list is locked, and nothing is too good to leave
 * @PAGODA_ATTEMPT_EMPTIED: alone, nothing is executed, and the list leaves VRAM first
 * @PAGODA_ATTEMPTS: number of attempts
 */
enum pagoda_attempt {
	PAGODA_ATTEMPT_SHARED,
	PAGODA_ATTEMPT_ALONE,
	PAGODA_ATTEMPT_EMPTIED,
	PAGODA_ATTEMPTS
};

/**
 * struct pagoda_demand - Bytes that a list needs, by where they can be
 * @only_vram: in VRAM
 * @only_aperture: at an address of the aperture
 * @either: at one of both
 */
struct pagoda_demand {
	u64 only_vram;
	u64 only_aperture;
	u64 either;
};

void pagoda_demand_add(struct pagoda_demand *demand, const struct pagoda_bo *bo);
void pagoda_demand_remove(struct pagoda_demand *demand, const struct pagoda_bo *bo);
u64 pagoda_demand_misfit(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand);
int pagoda_residency_enter(struct pagoda_vidmm *vidmm, enum pagoda_attempt attempt,
			   bool interruptible);
void pagoda_residency_leave(struct pagoda_vidmm *vidmm, enum pagoda_attempt attempt);
struct dma_fence *pagoda_residency_later(struct pagoda_vidmm *vidmm, struct dma_fence *latest,
					 struct dma_resv *resv);

/* ---- Address spaces of clients (vm.c, vm_table.c) ------------------------- */

struct pagoda_table_memory;
struct pagoda_vm;

void pagoda_vm_bo_moves(struct pagoda_bo *bo);
void pagoda_vm_bo_opened(struct pagoda_bo *bo, bool opened);
int pagoda_vm_table_alloc(struct pagoda_vm *vm, u32 size, struct pagoda_table_memory *memory);
void pagoda_vm_table_free(struct pagoda_vm *vm, struct pagoda_table_memory *memory,
			  struct dma_fence *fence);
bool pagoda_vm_may_evict(struct pagoda_bo *bo);
void pagoda_vm_table_evict(struct pagoda_bo *bo);
int pagoda_room_wait_idle(struct pagoda_vidmm *vidmm, bool interruptible, long timeout);

/* ---- Monitored fences (fence*.c) ------------------------------------------ */

/**
 * struct pagoda_mfences - All monitored fences
 * @lock: Protects @held; who stores values for others holds it, too. Inside of
 *	reservations; taken on the way to fences
 * @held: Fences whose page is kept where it is
 * @kept: Promises that were kept, to be let go of
 * @look: Looks at all of @held
 * @reap: Lets go of @kept
 * @wq: For both, and for waits nobody sleeps in
 */
struct pagoda_mfences {
	struct mutex lock;	/* held */
	struct list_head held;
	struct llist_head kept;
	struct work_struct look;
	struct work_struct reap;
	struct workqueue_struct *wq;
};

int pagoda_mfences_init(struct pagoda_vidmm *vidmm);
void pagoda_mfences_stop(struct pagoda_vidmm *vidmm);
void pagoda_mfences_fini(struct pagoda_vidmm *vidmm);
void pagoda_mfences_reap(struct work_struct *work);

/* ---- The manager (vidmm.c) ----------------------------------------------- */

/* Statistics; struct drm_pagoda_stats says what each counts. */
struct pagoda_counters {
	atomic64_t paged_in;
	atomic64_t paged_out;
	atomic64_t moved;
	atomic64_t filled;
	atomic64_t discarded;
	atomic64_t evictions;
	atomic64_t page_ins;
	atomic64_t cpu_waits;
	atomic64_t busy_retries;
	atomic64_t insufficient;
	atomic64_t commands;
	atomic64_t faults;
	atomic64_t lost;
	atomic64_t range_acquires;
	atomic64_t range_steals;
};

/**
 * struct pagoda_vidmm - The memory manager of a device
 * @ttm: TTM's device
 * @drm: DRM device
 * @info: What the device told
 * @vram: Segment 1
 * @aperture: Segment 2
 * @swizzle: Swizzling ranges
 * @device_mmu: Device addresses of system memory
 * @stream: Paging buffers
 * @journal: What the stream did
 * @executor: Memory as the CPU executor sees it; @stream's order protects it
 * @mmu: Page tables, NULL on a device without address spaces
 * @roots: Root of each address space as the device has it; @control_lock protects
 *	writing, that nothing of the space executes meanwhile reading
 * @control_lock: Protects @transport and @deaf; outside of the transport's locks; taken
 *	on the way to signalling a fence
 * @scratch_lock: Held by who uses scratch windows outside of moves
 * @transport: Way to the device for control commands, NULL when it is gone
 * @deaf: The device refused to hear of a root it has
 * @dummy_page: Page behind unmapped aperture addresses
 * @dummy_mem: As the device reaches it
 * @bos: Allocations by id, for what is only known by its name; its lock protects
 *	the allocation against going away while it is looked at
 * @next_id: Last allocation id given
 * @spaces: Numbers of address spaces in use
 * @next_context: Last context id given
 * @residency: Held by whoever locks lists of allocations; for writing by who must
 *	not be disturbed by other lists. Outside of all reservations and VMs' locks
 * @required_lock: Protects &pagoda_bo.requirements of all; nothing is allocated with it held
 * @taking: Those who just make others leave VRAM to have their place
 * @pressing: Those who take what queued changes of VMs keep in place (C145)
 * @mfences: Monitored fences
 * @engines: Engines that execute commands, NULL if there are none
 * @resets: Times the device was reset as a whole
 * @reset: What a reset of it takes
 * @deferred_lock: Protects @deferred; taken from interrupts
 * @deferred: Queues of work that can't be made yet, those that aren't empty
 * @coredump: The last failure, for who wants to know
 * @losses: Times paging gave up content; pagoda_lost_mark()
 * @aborts: How many of @losses are a reset's doing; counted before
 * @offers: What is offered
 * @victims: Who makes room
 * @promotion: Who comes back when there is some
 * @copies: System pages of what is in VRAM
 * @budgets: What clients use and should
 * @listeners: Who is told of events
 * @stats: Counters
 * @largest_tt: Most pages that an allocation had at once (pages.c)
 * @pin_limit: Bytes of one client's allocations that may be pinned for other devices
 * @moves_by_cpu: The benchmark wants TTM's own copy to compare with
 */
struct pagoda_vidmm {
	struct ttm_device ttm;
	struct drm_device *drm;
	const struct pagoda_device_info *info;
	struct pagoda_vram vram;
	struct pagoda_aperture aperture;
	struct pagoda_swizzle swizzle;
	struct pagoda_device_mmu device_mmu;
	struct pagoda_stream stream;
	struct pagoda_journal journal;
	struct pagoda_coredump coredump;
	struct pagoda_cpu_executor executor;
	struct pagoda_mmu *mmu;
	struct pagoda_root *roots;
	struct mutex control_lock;	/* transport, deaf, roots */
	struct mutex scratch_lock;	/* scratch windows outside of moves */
	struct pagoda_transport *transport;
	bool deaf;
	struct page *dummy_page;
	struct pagoda_sysmem dummy_mem;
	struct xarray bos;
	atomic64_t next_id;
	struct ida spaces;
	atomic64_t next_context;
	struct rw_semaphore residency;
	spinlock_t required_lock;	/* pagoda_bo.requirements */
	atomic_t taking;
	atomic_t pressing;
	struct pagoda_mfences mfences;
	struct pagoda_engines *engines;
	atomic64_t resets;
	struct pagoda_reset reset;
	spinlock_t deferred_lock;	/* deferred */
	struct list_head deferred;
	atomic64_t losses;
	atomic64_t aborts;
	struct pagoda_offers offers;
	struct pagoda_victims *victims;
	struct pagoda_promotion promotion;
	struct pagoda_copies copies;
	struct pagoda_budgets budgets;
	struct pagoda_listeners listeners;
	struct pagoda_counters stats;
	atomic_long_t largest_tt;
	u64 pin_limit;
#ifdef CONFIG_DRM_PAGODA_BENCH
	bool moves_by_cpu;
#endif
};

/** pagoda_vidmm_moves_by_cpu() - For the benchmark: shall TTM's own copy do moves? */
static inline bool pagoda_vidmm_moves_by_cpu(struct pagoda_vidmm *vidmm)
{
#ifdef CONFIG_DRM_PAGODA_BENCH
	return READ_ONCE(vidmm->moves_by_cpu);
#else
	return false;
#endif
}

u64 pagoda_vidmm_vram_size(struct pagoda_vidmm *vidmm);
int pagoda_vidmm_command_locked(struct pagoda_vidmm *vidmm, const struct pagoda_command *command);
int pagoda_vidmm_command(struct pagoda_vidmm *vidmm, const struct pagoda_command *command);

static inline struct pagoda_vidmm *pagoda_vidmm_of_ttm(struct ttm_device *bdev)
{
	return container_of(bdev, struct pagoda_vidmm, ttm);
}

/** pagoda_vidmm_map_op() - Operation that maps the aperture: never both (C64). */
static inline u32 pagoda_vidmm_map_op(const struct pagoda_vidmm *vidmm)
{
	u32 op = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2;

	if (vidmm->stream.limits.features & BIT_ULL(VIRTIO_PAGODA_F_OP(op)))
		return op;
	return VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT;
}

#endif
