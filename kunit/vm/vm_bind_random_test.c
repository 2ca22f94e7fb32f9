// SPDX-License-Identifier: GPL-2.0
/*
 * Random arrays of VM_BIND against a model, a list of pages with the expected mapping of each:
 * which arrays are refused, with which error, and what the GPU finds afterwards. Between arrays,
 * allocations move, or are unmapped as when their handle is closed.
 */
#include <linux/prandom.h>
#include "vm_helpers.h"

#define STEPS		60
#define PAGES		192u
#define CHUNK		((u32)(SZ_64K / PAGE_SIZE))
/* Address of the model's page 0; a leaf table ends in the middle of the pages. */
#define BASE		((u64)SZ_4M + SZ_2M - PAGES / 2 * PAGE_SIZE)
#define BOS		3u
#define BO_PAGES	24u
#define MOST		4u

enum model_kind { MODEL_FREE, MODEL_RESERVED, MODEL_NO_ACCESS, MODEL_ZERO, MODEL_MAP };

/*
 * Expected state of a page of addresses. For MODEL_MAP, page @page of allocation @bo is mapped;
 * @reservation is the number of the RESERVE range that has the page, 0 = none.
 */
struct model_page {
	u8 kind;
	u8 bo;
	u16 page;
	u32 reservation;
};

struct random_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_vm *vm;
	struct pagoda_bo *bos[BOS];
	struct rnd_state rnd;
	struct model_page pages[PAGES];
	struct model_page next[PAGES];
	u32 reservations;
	u32 accepted;
	u32 refused;
};

static u32 below(struct random_test *t, u32 limit)
{
	return prandom_u32_state(&t->rnd) % limit;
}

static u32 base_of(u32 bo)
{
	return 1 + bo * BO_PAGES * VM_WORDS;
}

/* ---- The model ----------------------------------------------------------------- */

/* Returns whether all pages of a range are in one reserved range, or all are in none. */
static bool model_is_one_place(const struct model_page *pages, u32 first, u32 nr)
{
	u32 i;

	for (i = 1; i < nr; i++)
		if (pages[first + i].reservation != pages[first].reservation)
			return false;
	return true;
}

static bool model_has(const struct model_page *pages, u32 first, u32 nr, enum model_kind kind)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (pages[first + i].kind == kind)
			return true;
	return false;
}

static bool model_is_free(const struct model_page *pages, u32 first, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (pages[first + i].kind != MODEL_FREE)
			return false;
	return true;
}

static void model_release(struct model_page *page)
{
	page->kind = page->reservation ? MODEL_RESERVED : MODEL_FREE;
}

static void model_copy(struct model_page *pages, u32 src, u32 dst, u32 nr)
{
	struct model_page from[PAGES];
	u32 i;

	memcpy(from, &pages[src], nr * sizeof(*from));
	for (i = 0; i < nr; i++) {
		struct model_page *page = &pages[dst + i];
		u32 reservation = page->reservation;

		if (from[i].kind == MODEL_FREE || from[i].kind == MODEL_RESERVED) {
			model_release(page);
			continue;
		}
		*page = from[i];
		page->reservation = reservation;
	}
}

static void model_map(struct random_test *t, const struct pagoda_bind *entry, u32 first, u32 nr)
{
	u32 window = (entry->window ?: entry->size) / PAGE_SIZE, i, bo;

	for (bo = 0; t->bos[bo] != entry->bo; bo++)
		;
	for (i = 0; i < nr; i++) {
		t->next[first + i].kind = MODEL_MAP;
		t->next[first + i].bo = bo;
		t->next[first + i].page = entry->offset / PAGE_SIZE + i % window;
	}
}

static int model_check(struct random_test *t, const struct pagoda_bind *entry, u32 first, u32 nr,
		       u32 update)
{
	bool one = model_is_one_place(t->next, first, nr);
	u32 number = t->next[first].reservation;

	if (update) {
		if (!one || number != update)
			return -EINVAL;
		return 0;
	}
	switch (entry->type) {
	case DRM_PAGODA_BIND_UNMAP:
		return 0;
	case DRM_PAGODA_BIND_RESERVE:
		return model_is_free(t->next, first, nr) ? 0 : -EEXIST;
	case DRM_PAGODA_BIND_MAP_ZERO:
	case DRM_PAGODA_BIND_NO_ACCESS:
		if (one && !number && model_has(t->next, first, nr, MODEL_MAP))
			return -EEXIST;
	}
	return one ? 0 : -EEXIST;
}

static int model_entry(struct random_test *t, const struct pagoda_bind *entry, u32 update)
{
	u32 first = (entry->address - BASE) / PAGE_SIZE, nr = entry->size / PAGE_SIZE, i;
	int ret = model_check(t, entry, first, nr, update);

	if (ret)
		return ret;
	if (entry->type == DRM_PAGODA_BIND_RESERVE)
		t->reservations++;
	if (entry->type == DRM_PAGODA_BIND_COPY) {
		model_copy(t->next, (entry->offset - BASE) / PAGE_SIZE, first, nr);
		return 0;
	}
	if (entry->type == DRM_PAGODA_BIND_MAP) {
		model_map(t, entry, first, nr);
		return 0;
	}
	for (i = first; i < first + nr; i++) {
		struct model_page *page = &t->next[i];

		switch (entry->type) {
		case DRM_PAGODA_BIND_UNMAP:
			page->reservation = update ? page->reservation : 0;
			model_release(page);
			break;
		case DRM_PAGODA_BIND_RESERVE:
			page->reservation = t->reservations;
			model_release(page);
			break;
		case DRM_PAGODA_BIND_MAP_ZERO:
			page->kind = MODEL_ZERO;
			break;
		default:
			page->kind = MODEL_NO_ACCESS;
		}
	}
	return 0;
}

/* ---- Steps ---------------------------------------------------------------------- */

/*
 * Gives @entry a random range of addresses, mostly of at most 12 units, pages or for RESERVE
 * chunks; in an update, that is, if @around isn't PAGES, near page @around.
 */
static void random_range(struct random_test *t, struct pagoda_bind *entry, u32 around)
{
	u32 unit = entry->type == DRM_PAGODA_BIND_RESERVE ? CHUNK : 1;
	u32 nr = (1 + below(t, below(t, 4) ? 12 : 64)) * unit, first;

	nr = min(nr, PAGES / 2 / unit * unit);
	first = around == PAGES ? below(t, (PAGES - nr) / unit) * unit :
				  min(around + below(t, CHUNK), PAGES - nr);
	entry->address = BASE + first * PAGE_SIZE;
	entry->size = nr * PAGE_SIZE;
}

static void random_map(struct random_test *t, struct pagoda_bind *entry)
{
	u32 nr = entry->size / PAGE_SIZE, window;

	entry->bo = t->bos[below(t, BOS)];
	for (window = 1 + below(t, min(nr, BO_PAGES)); nr % window; window--)
		;
	if (nr <= BO_PAGES && below(t, 2))
		window = nr;
	entry->window = window == nr ? 0 : window * PAGE_SIZE;
	entry->offset = below(t, BO_PAGES - window + 1) * PAGE_SIZE;
}

static void random_entry(struct random_test *t, struct pagoda_bind *entry, bool copy, u32 around)
{
	static const u32 types[] = {
		DRM_PAGODA_BIND_MAP, DRM_PAGODA_BIND_MAP, DRM_PAGODA_BIND_MAP,
		DRM_PAGODA_BIND_UNMAP, DRM_PAGODA_BIND_MAP_ZERO, DRM_PAGODA_BIND_NO_ACCESS,
		DRM_PAGODA_BIND_RESERVE,
	};
	u32 nr_types = ARRAY_SIZE(types) - (around != PAGES);

	*entry = (struct pagoda_bind) {
		.type = copy ? DRM_PAGODA_BIND_COPY : types[below(t, nr_types)],
	};
	random_range(t, entry, around);
	if (entry->type == DRM_PAGODA_BIND_MAP)
		random_map(t, entry);
	if (copy)
		entry->offset = BASE + below(t, PAGES - entry->size / PAGE_SIZE) * PAGE_SIZE;
}

/* Returns the first reserved page from a random page on, or PAGES. */
static u32 random_reserved(struct random_test *t)
{
	u32 first = below(t, PAGES), i;

	for (i = first; i < PAGES; i++)
		if (t->pages[i].reservation)
			return i;
	return PAGES;
}

static int random_bind(struct random_test *t, const struct pagoda_bind *binds, u32 nr, bool update)
{
	struct pagoda_bind_job *job = pagoda_bind_job_create(nr);
	struct dma_fence *fence;
	u32 i;
	int ret;

	KUNIT_ASSERT_NOT_NULL(t->test, job);
	memcpy(job->binds, binds, nr * sizeof(*binds));
	for (i = 0; i < nr; i++)
		if (binds[i].bo)
			drm_gem_object_get(pagoda_bo_gem(binds[i].bo));
	job->update = update;
	ret = pagoda_vm_bind_job(t->vm, job, &fence);
	dma_fence_put(fence);
	pagoda_bind_job_put(job);
	return ret;
}

static void step_array(struct random_test *t)
{
	bool copy = !below(t, 4);
	u32 around = copy || below(t, 3) ? PAGES : random_reserved(t);
	u32 update = around == PAGES ? 0 : t->pages[around].reservation;
	u32 nr = 1 + below(t, MOST), i, reservations = t->reservations;
	struct pagoda_bind binds[MOST];
	int want = 0, ret;

	memcpy(t->next, t->pages, sizeof(t->pages));
	for (i = 0; i < nr; i++)
		random_entry(t, &binds[i], copy, around);
	/*
	 * An update may change only the reserved range in which its first entry begins; ~0 if that
	 * entry begins in none: the array is refused then.
	 */
	if (update)
		update = t->next[(binds[0].address - BASE) / PAGE_SIZE].reservation ?: ~0u;
	for (i = 0; i < nr && !want; i++)
		want = model_entry(t, &binds[i], update);
	ret = random_bind(t, binds, nr, update);
	KUNIT_ASSERT_EQ_MSG(t->test, want, ret, "entry %u of type %u at page %llu, %llu pages",
			    i - 1, binds[i - 1].type, (binds[i - 1].address - BASE) / PAGE_SIZE,
			    binds[i - 1].size / PAGE_SIZE);
	if (ret) {
		t->reservations = reservations;
		t->refused++;
	} else {
		memcpy(t->pages, t->next, sizeof(t->pages));
		t->accepted++;
	}
}

static void step_move(struct random_test *t)
{
	struct pagoda_bo *bo = t->bos[below(t, BOS)];

	KUNIT_ASSERT_EQ(t->test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_EQ(t->test, 0, below(t, 2) ? pagoda_rig_to_vram(bo) :
				    pagoda_rig_to_aperture(bo, false));
	KUNIT_ASSERT_EQ(t->test, 0, vmt_validate(t->vm));
}

static void step_close(struct random_test *t)
{
	u32 bo = below(t, BOS), i;

	pagoda_vm_forget(t->vm, t->bos[bo]);
	for (i = 0; i < PAGES; i++)
		if (t->pages[i].kind == MODEL_MAP && t->pages[i].bo == bo)
			model_release(&t->pages[i]);
}

static void check_pages(struct random_test *t)
{
	u32 i, value;

	pagoda_rig_settle(t->rig);
	for (i = 0; i < PAGES; i++) {
		const struct model_page *page = &t->pages[i];
		u32 want = 0, reason;

		value = ~0u;
		reason = vmt_peek(t->rig, t->vm->id, BASE + i * PAGE_SIZE,
				  VIRTIO_PAGODA_ACCESS_READ, &value);
		KUNIT_ASSERT_EQ_MSG(t->test, page->kind >= MODEL_ZERO ? VIRTIO_PAGODA_FAULT_NONE :
				    VIRTIO_PAGODA_FAULT_INVALID_ENTRY, reason, "page %u", i);
		if (page->kind < MODEL_ZERO)
			continue;
		if (page->kind == MODEL_MAP)
			want = base_of(page->bo) + page->page * VM_WORDS;
		KUNIT_ASSERT_EQ_MSG(t->test, want, value, "page %u", i);
	}
}

/* For each random array VM_BIND's result, and what the GPU finds afterwards, are the model's. */
static void vm_bind_random(struct kunit *test)
{
	const struct pagoda_rig_mode *mode = test->param_value;
	const u64 seed = 0x9a60da40 + mode->update_mode + 8 * mode->device_mmu;
	struct random_test *t = test_zalloc(test, sizeof(*t));
	u32 i;

	kunit_info(test, "seed %llu", seed);
	t->test = test;
	t->rig = pagoda_rig_create_mode(test);
	t->vm = vmt_make(t->rig);
	prandom_seed_state(&t->rnd, seed);
	PAGODA_PROVES(C131, C132, C133, C134, C135, C136, C137, C139, C140);
	for (i = 0; i < BOS; i++) {
		t->bos[i] = vmt_bo(t->rig, BO_PAGES, base_of(i));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(t->bos[i]));
	}
	for (i = 0; i < STEPS; i++) {
		step_array(t);
		if (!below(t, 6))
			step_move(t);
		if (!below(t, 12))
			step_close(t);
		check_pages(t);
	}
	/* Some arrays were accepted, some refused. */
	KUNIT_EXPECT_GT(test, t->accepted, STEPS / 6);
	KUNIT_EXPECT_GT(test, t->refused, STEPS / 12);
	for (i = 0; i < BOS; i++)
		pagoda_rig_close(t->bos[i]);
	vmt_drop(t->vm);
}

static struct kunit_case vm_bind_random_cases[] = {
	PAGODA_CASE_PARAM_SLOW(vm_bind_random, pagoda_rig_modes),
	{ }
};

static struct kunit_suite vm_bind_random_suite = {
	.name = "pagoda_vm_bind_random",
	.test_cases = vm_bind_random_cases,
};

kunit_test_suite(vm_bind_random_suite);
