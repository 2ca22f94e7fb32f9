// SPDX-License-Identifier: GPL-2.0
/*
 * Copies: the system pages an allocation was brought to VRAM from, kept while it is there.
 *
 * Who evicts it and says that it wasn't written gets these pages back as they are. Nothing is
 * copied out, and VRAM is told that its content is discarded (C155). They are kept for what is on
 * a residency list, unless the last EVICT didn't say so: what is written anyway would only cost
 * memory.
 *
 * What a copy is worth is known from what is said and seen, in order:
 *
 *	it comes to VRAM				as good as what is there
 *	it leaves a list, and isn't said to be unwritten	nothing: it may have been written
 *	a job uses it while it is on nobody's list	the same: who says something later means
 *	a private one's VM has a job then		the time since it was made resident
 *	the CPU writes, or may from now on		the same
 *	its content is lost				the same
 *	it leaves the last list, said to be unwritten	clean: until it is used or made
 *							resident again, it leaves without a copy
 *
 * What the GPU writes in spite of that is gone when it leaves, as with WDDM: the client that says
 * so is the one whose content it is. Of an allocation that several clients have handles of no
 * client knows what the others' jobs wrote, so it has no copies.
 *
 * A copy is an object of TTM's own around the pages: TTM frees them when what reads them is
 * through, and takes them before all others' when too many pages are in use. Where memory is
 * short those that were kept first are given up. The pages of one that is worth nothing are
 * still those that the content is copied out to.
 */
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <drm/drm_gem.h>
#include <pagoda/residency.h>
#include "victims.h"
#include "vm.h"

/**
 * struct pagoda_copy - Pages that are kept
 * @ttm: TTM's part, in the system segment; its reservation is its own
 * @vidmm: Manager
 * @bo: Whose pages they are; only looked at while it is made
 * @link: In &pagoda_copies.list or &pagoda_copies.unwanted, or in none
 * @charged: Its pages count in &pagoda_copies.bytes; reservation held, or no reference left
 */
struct pagoda_copy {
	struct ttm_buffer_object ttm;
	struct pagoda_vidmm *vidmm;
	const struct pagoda_bo *bo;
	struct list_head link;
	bool charged;
};

static struct pagoda_copy *copy_of_ttm(struct ttm_buffer_object *bo)
{
	return container_of(bo, struct pagoda_copy, ttm);
}

/* ---- Pages -------------------------------------------------------------------- */

static bool copy_charge(struct pagoda_vidmm *vidmm, u64 bytes)
{
	struct pagoda_copies *copies = &vidmm->copies;

	if (atomic64_add_return(bytes, &copies->bytes) <= READ_ONCE(copies->limit))
		return true;
	atomic64_sub(bytes, &copies->bytes);
	return false;
}

/* Once it has no pages. */
static void copy_uncharge(struct pagoda_copy *copy)
{
	if (copy->charged)
		atomic64_sub(copy->ttm.base.size, &copy->vidmm->copies.bytes);
	copy->charged = false;
}

static u64 copy_pages(const struct pagoda_copy *copy)
{
	return copy->ttm.base.size >> PAGE_SHIFT;
}

static void copy_link(struct pagoda_copy *copy)
{
	struct pagoda_copies *copies = &copy->vidmm->copies;

	spin_lock(&copies->lock);
	list_add_tail(&copy->link, &copies->list);
	spin_unlock(&copies->lock);
}

static void copy_unlink(struct pagoda_copy *copy)
{
	struct pagoda_copies *copies = &copy->vidmm->copies;

	spin_lock(&copies->lock);
	list_del_init(&copy->link);
	spin_unlock(&copies->lock);
}

static void copy_destroy(struct ttm_buffer_object *ttm_bo)
{
	struct pagoda_copy *copy = copy_of_ttm(ttm_bo);

	copy_unlink(copy);
	copy_uncharge(copy);
	drm_gem_object_release(&ttm_bo->base);
	kfree(copy);
}

static void copy_gem_free(struct drm_gem_object *obj)
{
	ttm_bo_fini(drm_gem_ttm_of_gem(obj));
}

/* For references only: a copy has no handle. */
static const struct drm_gem_object_funcs copy_gem_funcs = {
	.free = copy_gem_free,
};

/* TTM may wait for the device before it frees it: until then it is nothing to give up. */
static void copy_free(struct pagoda_copy *copy)
{
	copy_unlink(copy);
	drm_gem_object_put(&copy->ttm.base);
}

/**
 * pagoda_copy_owner() - Whose pages an object of TTM's will have
 * @bo: TTM object
 *
 * Return: The allocation of a copy that is being made, else NULL.
 */
const struct pagoda_bo *pagoda_copy_owner(struct ttm_buffer_object *bo)
{
	return bo->destroy == copy_destroy ? copy_of_ttm(bo)->bo : NULL;
}

/* Without pages, its reservation held, with room for a fence. */
static struct pagoda_copy *copy_create(struct pagoda_bo *bo)
{
	static const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &system };
	struct ttm_operation_ctx ctx = {};
	struct pagoda_copy *copy;

	copy = kzalloc(sizeof(*copy), GFP_KERNEL_ACCOUNT);
	if (!copy || !copy_charge(bo->vidmm, bo->ttm.base.size)) {
		kfree(copy);
		return NULL;
	}
	copy->vidmm = bo->vidmm;
	copy->bo = bo;
	copy->charged = true;
	INIT_LIST_HEAD(&copy->link);
	copy->ttm.base.funcs = &copy_gem_funcs;
	drm_gem_private_object_init(bo->vidmm->drm, &copy->ttm.base, bo->ttm.base.size);
	/* On failure it calls copy_destroy(). */
	if (ttm_bo_init_reserved(&bo->vidmm->ttm, &copy->ttm, ttm_bo_type_kernel, &placement, 1,
				 &ctx, NULL, NULL, copy_destroy))
		return NULL;
	copy->bo = NULL;
	if (!dma_resv_reserve_fences(copy->ttm.base.resv, 1))
		return copy;
	dma_resv_unlock(copy->ttm.base.resv);
	drm_gem_object_put(&copy->ttm.base);
	return NULL;
}

/* Of private ones it isn't known which of them use it. */
static u64 copy_jobs(const struct pagoda_bo *bo)
{
	return bo->private_to ? bo->private_to->jobs : 0;
}

/* From now on it is known what becomes of the content. */
static void copy_begin(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	spin_lock(&victims->lock);
	bo->written = false;
	bo->jobs = copy_jobs(bo);
	spin_unlock(&victims->lock);
}

/*
 * What is on no list isn't anybody's to say something of. Tiles aren't kept in rows, and what
 * isn't the client's own isn't the client's to evict.
 */
static bool copy_is_wanted(const struct pagoda_bo *bo)
{
	return READ_ONCE(bo->keeps_copy) && atomic_read(&bo->required) && !bo->layout.tiling &&
	       !bo->imported && !READ_ONCE(bo->handed_out) && bo->ttm.type == ttm_bo_type_device &&
	       !READ_ONCE(bo->unclean);
}

/**
 * pagoda_copy_keep() - Keep the pages that an allocation is brought to VRAM from
 * @bo: Allocation with populated pages, reservation held; TTM isn't told yet
 * @reader: What reads them
 *
 * If they are wanted, and not too many are kept already, @bo has others afterwards, not
 * populated.
 *
 * Context: May sleep and allocate.
 */
void pagoda_copy_keep(struct pagoda_bo *bo, struct dma_fence *reader)
{
	struct pagoda_copy *copy;

	if (!copy_is_wanted(bo) || WARN_ON(bo->copy))
		return;
	copy = copy_create(bo);
	if (!copy)
		return;
	swap(copy->ttm.ttm, bo->ttm.ttm);
	dma_resv_add_fence(copy->ttm.base.resv, reader, DMA_RESV_USAGE_KERNEL);
	dma_resv_unlock(copy->ttm.base.resv);
	bo->copy = copy;
	copy_link(copy);
	copy_begin(bo);
}

/**
 * pagoda_copy_take() - Give an allocation that leaves VRAM the pages that were kept
 * @bo: Allocation, reservation held
 *
 * Context: Any but interrupts.
 * Return: The copy, which has the pages that TTM made for @bo: pagoda_copy_put() or
 * pagoda_copy_put_back() it; NULL if there is none, or TTM took it.
 */
struct pagoda_copy *pagoda_copy_take(struct pagoda_bo *bo)
{
	struct pagoda_copy *copy = bo->copy;

	if (!copy || !dma_resv_trylock(copy->ttm.base.resv))
		return NULL;
	if (!ttm_tt_is_populated(copy->ttm.ttm)) {
		dma_resv_unlock(copy->ttm.base.resv);
		return NULL;
	}
	bo->copy = NULL;
	swap(copy->ttm.ttm, bo->ttm.ttm);
	return copy;
}

/**
 * pagoda_copy_put_back() - The allocation stays, and nothing was written to its pages
 * @bo: Allocation, reservation held
 * @copy: From pagoda_copy_take()
 *
 * Context: Any but interrupts.
 */
void pagoda_copy_put_back(struct pagoda_bo *bo, struct pagoda_copy *copy)
{
	swap(copy->ttm.ttm, bo->ttm.ttm);
	bo->copy = copy;
	dma_resv_unlock(copy->ttm.base.resv);
}

/**
 * pagoda_copy_put() - The allocation left with its pages, or what is in them is lost
 * @bo: Allocation, reservation held
 * @copy: From pagoda_copy_take(); its pages aren't used by anybody
 * @left: It left: the pages are its own now
 *
 * Context: May sleep for long: it may wait for the device.
 */
void pagoda_copy_put(struct pagoda_bo *bo, struct pagoda_copy *copy, bool left)
{
	if (!left)
		swap(copy->ttm.ttm, bo->ttm.ttm);
	/* TTM needn't wait for the device to take pages from it, but does so when it is idle. */
	dma_resv_copy_fences(copy->ttm.base.resv, bo->ttm.base.resv);
	dma_resv_unlock(copy->ttm.base.resv);
	copy_free(copy);
}

/**
 * pagoda_copy_drop() - Nobody wants an allocation's copy any more
 * @bo: Allocation, with a copy or without one; reservation held or nobody has a reference
 *
 * Context: May sleep for long: it may wait for the device.
 */
void pagoda_copy_drop(struct pagoda_bo *bo)
{
	struct pagoda_copy *copy = bo->copy;

	if (!copy)
		return;
	bo->copy = NULL;
	copy_free(copy);
}

/**
 * pagoda_copy_swap_notify() - ttm_device_funcs.swap_notify of what isn't an allocation
 * @bo: TTM object that shall give up its pages; reservation held
 *
 * The content is in VRAM: the pages of a copy are freed, and TTM finds nothing to swap.
 *
 * Context: May sleep.
 */
void pagoda_copy_swap_notify(struct ttm_buffer_object *bo)
{
	struct ttm_placement nowhere = {};
	struct ttm_operation_ctx ctx = {};

	if (bo->destroy == copy_destroy && !ttm_bo_validate(bo, &nowhere, &ctx))
		copy_uncharge(copy_of_ttm(bo));
}

/* ---- Too many of them ------------------------------------------------------------ */

static unsigned long copies_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	const struct pagoda_vidmm *vidmm = shrinker->private_data;

	return atomic64_read(&vidmm->copies.bytes) >> PAGE_SHIFT ?: SHRINK_EMPTY;
}

/* In the middle of anything: they are only put where a worker finds them. */
static unsigned long copies_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct pagoda_vidmm *vidmm = shrinker->private_data;
	struct pagoda_copies *copies = &vidmm->copies;
	struct pagoda_copy *copy, *next;
	unsigned long pages = 0;

	spin_lock(&copies->lock);
	list_for_each_entry_safe(copy, next, &copies->list, link) {
		if (pages >= sc->nr_to_scan)
			break;
		list_move_tail(&copy->link, &copies->unwanted);
		pages += copy_pages(copy);
	}
	spin_unlock(&copies->lock);
	if (!pages)
		return SHRINK_STOP;
	queue_work(vidmm->ttm.wq, &copies->work);
	return pages;
}

/* The next one with a reference; who has none any more is being freed. */
static struct pagoda_copy *copies_next(struct pagoda_copies *copies)
{
	struct pagoda_copy *copy;

	spin_lock(&copies->lock);
	do {
		copy = list_first_entry_or_null(&copies->unwanted, struct pagoda_copy, link);
		if (copy)
			list_del_init(&copy->link);
	} while (copy && !kref_get_unless_zero(&copy->ttm.base.refcount));
	spin_unlock(&copies->lock);
	return copy;
}

static void copies_work(struct work_struct *work)
{
	struct pagoda_copies *copies = container_of(work, struct pagoda_copies, work);
	struct pagoda_copy *copy;

	while ((copy = copies_next(copies))) {
		dma_resv_lock(copy->ttm.base.resv, NULL);
		pagoda_copy_swap_notify(&copy->ttm);
		dma_resv_unlock(copy->ttm.base.resv);
		drm_gem_object_put(&copy->ttm.base);
	}
}

/**
 * pagoda_copies_init() - Nothing is kept
 * @vidmm: The manager
 *
 * Context: Probe; may sleep.
 * Return: 0 or -ENOMEM.
 */
int pagoda_copies_init(struct pagoda_vidmm *vidmm)
{
	struct pagoda_copies *copies = &vidmm->copies;

	spin_lock_init(&copies->lock);
	INIT_LIST_HEAD(&copies->list);
	INIT_LIST_HEAD(&copies->unwanted);
	INIT_WORK(&copies->work, copies_work);
	/* A quarter of what TTM has pages for. */
	copies->limit = (u64)totalram_pages() << PAGE_SHIFT >> 3;
	copies->shrinker = shrinker_alloc(0, "drm-pagoda-copies");
	if (!copies->shrinker)
		return -ENOMEM;
	copies->shrinker->count_objects = copies_count;
	copies->shrinker->scan_objects = copies_scan;
	copies->shrinker->private_data = vidmm;
	shrinker_register(copies->shrinker);
	return 0;
}

/**
 * pagoda_copies_stop() - None is given up any more
 * @vidmm: The manager
 *
 * Context: May sleep.
 */
void pagoda_copies_stop(struct pagoda_vidmm *vidmm)
{
	shrinker_free(vidmm->copies.shrinker);
	vidmm->copies.shrinker = NULL;
	flush_work(&vidmm->copies.work);
}

/* ---- What it is worth ------------------------------------------------------------ */

static void copy_set_clean(struct pagoda_bo *bo, bool clean)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	lockdep_assert_held(&victims->lock);
	bo->jobs = copy_jobs(bo);
	pagoda_policy_set_clean(&victims->policy, &bo->victim, clean);
}

static void copy_set_written(struct pagoda_bo *bo)
{
	bo->written = true;
	copy_set_clean(bo, false);
}

/* Nothing happened since that would have to be said. */
static bool copy_is_clean(const struct pagoda_bo *bo)
{
	return bo->victim.clean && !atomic_read(&bo->required) && bo->jobs == copy_jobs(bo);
}

/**
 * pagoda_copy_is_clean() - Is what was kept as good as what is in VRAM?
 * @bo: Allocation, reservation held
 *
 * Context: Any but interrupts.
 * Return: Whether it may leave without a copy.
 */
bool pagoda_copy_is_clean(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;
	bool clean;

	spin_lock(&victims->lock);
	clean = copy_is_clean(bo);
	spin_unlock(&victims->lock);
	return clean;
}

/**
 * pagoda_copy_settle() - What isn't clean any more isn't taken for it
 * @bo: Allocation; pagoda_victims.lock is held
 *
 * Jobs that didn't list it are noticed late.
 */
void pagoda_copy_settle(struct pagoda_bo *bo)
{
	if (bo->victim.clean && !copy_is_clean(bo))
		copy_set_written(bo);
}

/**
 * pagoda_copy_moved() - An allocation came to VRAM or left it
 * @bo: Allocation; pagoda_victims.lock is held
 *
 * A copy is kept behind this.
 */
void pagoda_copy_moved(struct pagoda_bo *bo)
{
	copy_set_written(bo);
}

/**
 * pagoda_copy_used() - A job uses an allocation that it lists
 * @bo: Allocation; pagoda_victims.lock is held
 */
void pagoda_copy_used(struct pagoda_bo *bo)
{
	if (!atomic_read(&bo->required))
		copy_set_written(bo);
}

/**
 * pagoda_copy_written() - The CPU may write from now on, or did, or content is lost
 * @bo: Allocation, with a copy or without one; reservation held
 *
 * Context: Any but interrupts.
 */
void pagoda_copy_written(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	if (!bo->copy)
		return;
	spin_lock(&victims->lock);
	copy_set_written(bo);
	spin_unlock(&victims->lock);
}

/**
 * pagoda_copy_shared() - Another client may use an allocation from now on
 * @bo: Allocation
 *
 * Context: Any but interrupts.
 */
void pagoda_copy_shared(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	spin_lock(&victims->lock);
	WRITE_ONCE(bo->handed_out, true);
	copy_set_written(bo);
	spin_unlock(&victims->lock);
}

/**
 * pagoda_copy_required() - An allocation got on a client's list
 * @bo: Allocation, counted in &pagoda_bo.required
 *
 * Context: Any but interrupts.
 */
void pagoda_copy_required(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	spin_lock(&victims->lock);
	if (bo->jobs != copy_jobs(bo) && atomic_read(&bo->required) == 1)
		copy_set_written(bo);
	else
		pagoda_policy_set_clean(&victims->policy, &bo->victim, false);
	spin_unlock(&victims->lock);
}

/**
 * pagoda_copy_released() - A client gave up an allocation, once or for good
 * @bo: Allocation, &pagoda_bo.required is what it is now
 * @unwritten: The client said that it wasn't written since it was made resident
 *
 * Context: Any but interrupts.
 */
void pagoda_copy_released(struct pagoda_bo *bo, bool unwritten)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	spin_lock(&victims->lock);
	WRITE_ONCE(bo->keeps_copy, unwritten);
	if (!unwritten || bo->handed_out)
		copy_set_written(bo);
	else if (!bo->written && !atomic_read(&bo->required))
		copy_set_clean(bo, true);
	spin_unlock(&victims->lock);
}
