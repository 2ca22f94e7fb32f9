/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel interfaces that differ between the kernels the driver is built for. Stable releases
 * backport changes of interfaces, so Kbuild probes the kernel's headers instead of comparing
 * versions. No other source file of the driver may depend on the kernel version.
 */
#ifndef PAGODA_COMPAT_H
#define PAGODA_COMPAT_H

#include <linux/dma-buf.h>
#include <linux/dma-fence-array.h>
#include <linux/dma-fence.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/workqueue.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem_ttm_helper.h>
#include <drm/drm_gpuvm.h>
#include <drm/gpu_scheduler.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_pool.h>
#include <drm/ttm/ttm_resource.h>
#include <drm/ttm/ttm_tt.h>

/* Imports the symbol namespace of dma-buf; older kernels name a namespace by an identifier. */
#ifdef PAGODA_HAVE_NS_IDENTIFIER
#define PAGODA_IMPORT_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#else
#define PAGODA_IMPORT_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
#endif

/*
 * PAGODA_HAVE_MOVE_NOTIFY: whether the kernel has an exporter tell dynamic importers of a dma-buf
 * that the buffer moves. If not, the buffer is pinned while a device maps the dma-buf. Older
 * kernels have the importer's callback and the exporter's call by other names.
 */
#ifdef PAGODA_HAVE_INVALIDATE_MAPPINGS
#define PAGODA_HAVE_MOVE_NOTIFY		1
#else
#define PAGODA_HAVE_MOVE_NOTIFY		IS_ENABLED(CONFIG_DMABUF_MOVE_NOTIFY)
#define invalidate_mappings		move_notify
#define dma_buf_invalidate_mappings	dma_buf_move_notify
#endif

#ifdef PAGODA_HAVE_GPU_BUDDY
#include <linux/gpu_buddy.h>
#include <drm/drm_buddy.h>
#ifndef PAGODA_HAVE_BUDDY_IS_SPLIT
static inline bool gpu_buddy_block_is_split(struct gpu_buddy_block *block)
{
	return (block->header & GPU_BUDDY_HEADER_STATE) == GPU_BUDDY_SPLIT;
}
#endif
#else
#include <drm/drm_buddy.h>
#define gpu_buddy			drm_buddy
#define gpu_buddy_block			drm_buddy_block
#define gpu_buddy_init			drm_buddy_init
#define gpu_buddy_fini			drm_buddy_fini
#define gpu_buddy_alloc_blocks		drm_buddy_alloc_blocks
#define gpu_buddy_block_trim		drm_buddy_block_trim
#define gpu_buddy_free_list		drm_buddy_free_list
#define gpu_buddy_free_block		drm_buddy_free_block
#define gpu_buddy_block_offset		drm_buddy_block_offset
#define gpu_buddy_block_size		drm_buddy_block_size
#define gpu_buddy_block_is_clear	drm_buddy_block_is_clear
#define gpu_buddy_block_is_split	drm_buddy_block_is_split
#define GPU_BUDDY_RANGE_ALLOCATION	DRM_BUDDY_RANGE_ALLOCATION
#define GPU_BUDDY_TOPDOWN_ALLOCATION	DRM_BUDDY_TOPDOWN_ALLOCATION
#define GPU_BUDDY_CONTIGUOUS_ALLOCATION	DRM_BUDDY_CONTIGUOUS_ALLOCATION
#define GPU_BUDDY_CLEAR_ALLOCATION	DRM_BUDDY_CLEAR_ALLOCATION
#define GPU_BUDDY_CLEARED		DRM_BUDDY_CLEARED
#define GPU_BUDDY_TRIM_DISABLE		DRM_BUDDY_TRIM_DISABLE
#endif

/*
 * Returns a fence, of a fence context of its own, that signals when all of @fences have signalled;
 * NULL without memory. On success the array @fences and its references belong to the new fence.
 */
static inline struct dma_fence *pagoda_fence_all(u32 count, struct dma_fence **fences)
{
	u64 context = dma_fence_context_alloc(1);
	struct dma_fence_array *array;

#ifdef PAGODA_HAVE_FENCE_ARRAY_ANY
	array = dma_fence_array_create(count, fences, context, 1, false);
#else
	array = dma_fence_array_create(count, fences, context, 1);
#endif
	return array ? &array->base : NULL;
}

/* ---- TTM: references, pages, devices and pools -------------------------------- */

/*
 * Drops the TTM reference that the driver has to @bo, when the last reference to the GEM object was
 * dropped. Newer kernels count references in the GEM object only. So does Pagoda on older kernels:
 * in pagoda_gem_ttm_mmap() a mapping of user space gets a reference to the GEM object.
 */
#ifndef PAGODA_HAVE_TTM_BO_FINI
static inline void ttm_bo_fini(struct ttm_buffer_object *bo)
{
	ttm_bo_put(bo);
}
#endif

/*
 * Does what drm_gem_ttm_mmap() of newer kernels does: on success the caller's reference to @obj
 * belongs to @vma, and the operations of @vma get and put references to the GEM object. The caller
 * holds mmap_lock for writing. Returns 0 or a negative errno.
 */
static inline int pagoda_gem_ttm_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
#ifdef PAGODA_HAVE_TTM_BO_FINI
	return drm_gem_ttm_mmap(obj, vma);
#else
	int ret = ttm_bo_mmap_obj(vma, drm_gem_ttm_of_gem(obj));

	/* Drop the TTM reference that ttm_bo_mmap_obj() took; @vma keeps the GEM reference. */
	if (!ret)
		ttm_bo_put(drm_gem_ttm_of_gem(obj));
	return ret;
#endif
}

/* Older kernels have zap_special_vma_range() by another name. */
#ifndef PAGODA_HAVE_ZAP_SPECIAL
#define zap_special_vma_range	zap_vma_ptes
#endif

#ifndef PAGODA_HAVE_TTM_BO_POPULATE
static inline int ttm_bo_populate(struct ttm_buffer_object *bo, struct ttm_operation_ctx *ctx)
{
	return bo->ttm ? ttm_tt_populate(bo->bdev, bo->ttm, ctx) : 0;
}
#endif

/*
 * Calls ttm_device_init() with the arguments of this kernel. @dma_alloc: TTM gets pages from the
 * DMA API, so that @dev can address them. Returns 0 or a negative errno.
 */
static inline int pagoda_ttm_device_init(struct ttm_device *bdev,
					 const struct ttm_device_funcs *funcs, struct device *dev,
					 struct address_space *mapping,
					 struct drm_vma_offset_manager *manager,
					 bool dma_alloc)
{
#ifdef PAGODA_HAVE_TTM_ALLOC_FLAGS
	return ttm_device_init(bdev, funcs, dev, mapping, manager,
			       dma_alloc ? TTM_ALLOCATION_POOL_USE_DMA_ALLOC : 0);
#else
	return ttm_device_init(bdev, funcs, dev, mapping, manager, dma_alloc, false);
#endif
}

/*
 * Initializes the zeroed @pool as a TTM pool that shares no pages with other pools, so that
 * ttm_pool_fini() frees all of its pages; returns true. Returns false, with @pool unchanged, on
 * kernels that count pooled pages, where pagoda_pool_reclaimable() tells their number.
 */
static inline bool pagoda_pool_init_private(struct ttm_pool *pool, struct device *dev)
{
#ifdef PAGODA_HAVE_GPU_RECLAIM
	return false;
#else
	/* TTM keeps pages of a pool with a NUMA node in lists of that pool, not in global lists. */
	ttm_pool_init(pool, dev, first_online_node, false, false);
	return true;
#endif
}

/*
 * Returns the number of pages in TTM's pools, of all devices, or 0 if the kernel doesn't count
 * pooled pages. The kernel frees pooled pages when memory is short, but si_mem_available() doesn't
 * include them.
 */
static inline unsigned long pagoda_pool_reclaimable(void)
{
#ifdef PAGODA_HAVE_GPU_RECLAIM
	return global_node_page_state(NR_GPU_RECLAIM);
#else
	return 0;
#endif
}

/* ---- GPU virtual addresses: drm_gpuvm ------------------------------------------ */

#ifdef PAGODA_HAVE_GEM_GPUVA_FLAG
#define PAGODA_DRIVER_GEM_GPUVA		DRIVER_GEM_GPUVA
#else
#define PAGODA_DRIVER_GEM_GPUVA		0
#endif

/*
 * Callers hold the GEM object's reservation, which protects the object's gpuva list; so on older
 * kernels drm_gpuvm_bo_obtain() does what drm_gpuvm_bo_obtain_locked() of newer kernels does.
 */
#ifndef PAGODA_HAVE_GPUVM_OBTAIN_LOCKED
#define drm_gpuvm_bo_obtain_locked	drm_gpuvm_bo_obtain
#endif

#ifndef PAGODA_HAVE_GPUVM_MAP_REQ
struct drm_gpuvm_map_req {
	struct drm_gpuva_op_map map;
};
#endif

/* Calls drm_gpuvm_sm_map(), which calls the sm_step callbacks of @gpuvm with @priv. */
static inline int pagoda_gpuvm_sm_map(struct drm_gpuvm *gpuvm, void *priv,
				      const struct drm_gpuvm_map_req *req)
{
#ifdef PAGODA_HAVE_GPUVM_MAP_REQ
	return drm_gpuvm_sm_map(gpuvm, priv, req);
#else
	return drm_gpuvm_sm_map(gpuvm, priv, req->map.va.addr, req->map.va.range,
				req->map.gem.obj, req->map.gem.offset);
#endif
}

/* ---- Cgroup limits: the dmem controller ----------------------------------------- */

/*
 * Interface of the dmem controller for vidmm/bo/dmem.c. On kernels without the controller no
 * segment is a region of the controller: each dmem_cgroup_* function below returns what the
 * kernel's stub returns if the controller isn't configured, and nothing calls a reclaim function.
 */
#ifdef PAGODA_HAVE_DMEM
#include <linux/cgroup_dmem.h>

#ifndef PAGODA_HAVE_DMEM_INIT
struct dmem_cgroup_ops {
	int (*reclaim)(struct dmem_cgroup_pool_state *pool, u64 target_bytes, void *priv);
};

struct dmem_cgroup_init {
	u64 size;
	const struct dmem_cgroup_ops *ops;
	void *reclaim_priv;
};

#define pagoda_dmem_register_region(init, ...) \
	dmem_cgroup_register_region((init)->size, __VA_ARGS__)

static inline int ttm_resource_manager_dmem_reclaim(struct dmem_cgroup_pool_state *pool,
						    u64 target_bytes, void *priv)
{
	return -EOPNOTSUPP;
}
#else
#define pagoda_dmem_register_region	dmem_cgroup_register_region
#endif

/* Returns NULL on older kernels: the caller then measures protection from the root cgroup. */
#ifndef PAGODA_HAVE_DMEM_ANCESTOR
static inline struct dmem_cgroup_pool_state *
dmem_cgroup_get_common_ancestor(struct dmem_cgroup_pool_state *a, struct dmem_cgroup_pool_state *b)
{
	return NULL;
}
#endif

#define pagoda_dmem_region(man)			((man)->cg)
#define pagoda_dmem_set_region(man, region)	((man)->cg = (region))
#define pagoda_dmem_of_resource(res)		((res)->css)
#else
struct dmem_cgroup_region;
struct dmem_cgroup_pool_state;

struct dmem_cgroup_ops {
	int (*reclaim)(struct dmem_cgroup_pool_state *pool, u64 target_bytes, void *priv);
};

struct dmem_cgroup_init {
	u64 size;
	const struct dmem_cgroup_ops *ops;
	void *reclaim_priv;
};

static inline __printf(2, 3) struct dmem_cgroup_region *
pagoda_dmem_register_region(const struct dmem_cgroup_init *init, const char *name, ...)
{
	return NULL;
}

static inline void dmem_cgroup_unregister_region(struct dmem_cgroup_region *region)
{
}

static inline int dmem_cgroup_try_charge(struct dmem_cgroup_region *region, u64 size,
					 struct dmem_cgroup_pool_state **pool,
					 struct dmem_cgroup_pool_state **limit)
{
	*pool = NULL;
	return 0;
}

static inline void dmem_cgroup_uncharge(struct dmem_cgroup_pool_state *pool, u64 size)
{
}

static inline bool dmem_cgroup_state_evict_valuable(struct dmem_cgroup_pool_state *limit,
						    struct dmem_cgroup_pool_state *pool,
						    bool ignore_low, bool *hit_low)
{
	return true;
}

static inline struct dmem_cgroup_pool_state *
dmem_cgroup_get_common_ancestor(struct dmem_cgroup_pool_state *a, struct dmem_cgroup_pool_state *b)
{
	return NULL;
}

static inline void dmem_cgroup_pool_state_put(struct dmem_cgroup_pool_state *pool)
{
}

static inline int ttm_resource_manager_dmem_reclaim(struct dmem_cgroup_pool_state *pool,
						    u64 target_bytes, void *priv)
{
	return -EOPNOTSUPP;
}

static inline struct dmem_cgroup_region *pagoda_dmem_region(struct ttm_resource_manager *man)
{
	return NULL;
}

static inline void pagoda_dmem_set_region(struct ttm_resource_manager *man,
					  struct dmem_cgroup_region *region)
{
}

static inline struct dmem_cgroup_pool_state *pagoda_dmem_of_resource(struct ttm_resource *res)
{
	return NULL;
}
#endif

/* On older kernels kthread_create_worker() also starts the new worker. */
#ifndef kthread_run_worker
#define kthread_run_worker	kthread_create_worker
#endif

/* ---- The DRM scheduler ---------------------------------------------------------- */

/**
 * struct pagoda_sched_args - Parameters of pagoda_sched_init()
 * @ops: Callbacks that run and free jobs
 * @submit_wq: Ordered work queue on which the scheduler runs jobs
 * @priorities: Number of run queues, one for each priority from DRM_SCHED_PRIORITY_KERNEL down
 * @credit_limit: Number of jobs that may be with the hardware at the same time
 * @dev: Device that the scheduler's messages name
 *
 * The scheduler doesn't time out jobs.
 */
struct pagoda_sched_args {
	const struct drm_sched_backend_ops *ops;
	struct workqueue_struct *submit_wq;
	u32 priorities;
	u32 credit_limit;
	struct device *dev;
};

/*
 * Calls drm_sched_init() for @sched, which is zeroed or was passed to drm_sched_fini(). @name is
 * the name of the timeline. Returns 0 or a negative errno.
 */
static inline int pagoda_sched_init(struct drm_gpu_scheduler *sched, const char *name,
				    const struct pagoda_sched_args *args)
{
#ifdef PAGODA_HAVE_SCHED_INIT_ARGS
	const struct drm_sched_init_args init = {
		.ops = args->ops,
		.submit_wq = args->submit_wq,
		.num_rqs = args->priorities,
		.credit_limit = args->credit_limit,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = name,
		.dev = args->dev,
	};

	return drm_sched_init(sched, &init);
#else
	return drm_sched_init(sched, args->ops, args->submit_wq, args->priorities,
			      args->credit_limit, 0, MAX_SCHEDULE_TIMEOUT, NULL, NULL, name,
			      args->dev);
#endif
}

/*
 * Calls drm_sched_job_init() for a job of one credit; @owner is only stored, for debugging. Returns
 * 0 or a negative errno.
 */
static inline int pagoda_sched_job_init(struct drm_sched_job *job,
					struct drm_sched_entity *entity, void *owner)
{
#ifdef PAGODA_HAVE_SCHED_CLIENT_ID
	return drm_sched_job_init(job, entity, 1, owner, 0);
#else
	return drm_sched_job_init(job, entity, 1, owner);
#endif
}

/* ---- dma_fence ---------------------------------------------------------------------- */

/*
 * PAGODA_FENCE_NAMES_UNTIL_SIGNAL: whether the kernel reads the names of unsignalled fences only,
 * under RCU. If not, the kernel may read the names of a fence as long as the fence exists.
 */
#ifdef PAGODA_HAVE_FENCE_NAMES_RCU
#define PAGODA_FENCE_NAMES_UNTIL_SIGNAL	true
#else
#define PAGODA_FENCE_NAMES_UNTIL_SIGNAL	false
#endif

/*
 * Chooses the operations of fences that may still exist, signalled, when this module is gone. *@ops
 * has only the two functions for names. On newer kernels a fence drops such operations when the
 * fence signals. On older kernels *@ops is replaced by the operations of the dma-buf core's stub
 * fence, which have only these two functions, too. Process context.
 */
static inline void pagoda_fence_detach_ops(const struct dma_fence_ops **ops)
{
#ifndef PAGODA_HAVE_FENCE_DETACH
	struct dma_fence *stub = dma_fence_get_stub();

	*ops = stub->ops;
	dma_fence_put(stub);
#endif
}

/* ---- Memory usage of clients in fdinfo --------------------------------------------- */

/* Kernels without the flag DRM_GEM_OBJECT_ACTIVE always print the bytes of active memory. */
#ifndef PAGODA_HAVE_GEM_OBJECT_ACTIVE
#define DRM_GEM_OBJECT_ACTIVE	0
#endif

/*
 * PAGODA_DEFINE_GPU_MEM is defined if this module has to define the tracepoint gpu_mem_total
 * (trace.c): a kernel in which no driver selects CONFIG_TRACE_GPU_MEM has only the header of that
 * tracepoint.
 */
#ifndef CONFIG_TRACE_GPU_MEM
#define PAGODA_DEFINE_GPU_MEM
#endif

/* ---- Work queues ------------------------------------------------------------------ */

/* Newer kernels want WQ_PERCPU for a per-CPU work queue, which is the default of older kernels. */
#ifndef PAGODA_HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

/* system_dfl_wq: new name of system_unbound_wq; newer kernels warn of each use of the old name. */
#ifndef PAGODA_HAVE_DFL_WQ
#define system_dfl_wq	system_unbound_wq
#endif

/* ---- KUnit ------------------------------------------------------------------------ */

/*
 * PAGODA_KUNIT_PARAMS() declares the function @name that generates a KUnit test's parameters. The
 * function uses @prev and @desc only, because older kernels don't pass @test.
 */
#ifdef PAGODA_HAVE_KUNIT_PARAM_TEST
#define PAGODA_KUNIT_PARAMS(name) \
	const void *(name)(struct kunit *test, const void *prev, char *desc)
#else
#define PAGODA_KUNIT_PARAMS(name)	const void *(name)(const void *prev, char *desc)
#endif

/*
 * Macros for the table of syncobjs of a DRM file that a KUnit test made without drm_open(): _init()
 * sets the table up, _remove() takes out an entry and returns the syncobj, whose reference the
 * caller drops, _fini() takes the empty table down. Macros don't need the definition of struct
 * drm_file in this header.
 */
#ifdef PAGODA_HAVE_SYNCOBJ_XA
#define pagoda_file_syncobjs_init(file) \
	xa_init_flags(&(file)->syncobj_xa, XA_FLAGS_ALLOC1)
#define pagoda_file_syncobj_remove(file, handle)	xa_erase(&(file)->syncobj_xa, handle)
#define pagoda_file_syncobjs_fini(file)	xa_destroy(&(file)->syncobj_xa)
#else
#define pagoda_file_syncobjs_init(file) do { \
	struct drm_file *of = (file); \
	\
	idr_init_base(&of->syncobj_idr, 1); \
	spin_lock_init(&of->syncobj_table_lock); \
} while (0)
#define pagoda_file_syncobj_remove(file, handle)	idr_remove(&(file)->syncobj_idr, handle)
#define pagoda_file_syncobjs_fini(file)	idr_destroy(&(file)->syncobj_idr)
#endif

#endif
