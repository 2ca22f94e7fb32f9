// SPDX-License-Identifier: GPL-2.0
/* Rig for tests of mmu/: a device, and an owner of page tables; see mmu_helpers.h. */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include "../drivers/pagoda/mmu/process.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "rig/alloc.h"
#include "mmu_helpers.h"

#define MMU_RIG_NR	(MMU_RIG_TABLES / VIRTIO_PAGODA_PAGE_SIZE)
#define MMU_RIG_PRIV	4096

/* Base of the made-up CPU addresses of data in system memory, which is never accessed. */
u8 mmu_rig_nothing;

static void *rig_span(void *context, u64 bus, u64 want, u64 *got)
{
	struct mmu_rig *rig = context;

	if (bus >= MMU_RIG_DATA_BUS) {
		*got = want;
		return &mmu_rig_nothing + (bus - MMU_RIG_DATA_BUS);
	}
	if (bus < MMU_RIG_BUS || bus >= MMU_RIG_BUS + MMU_RIG_TABLES)
		return NULL;
	*got = min(want, MMU_RIG_BUS + MMU_RIG_TABLES - bus);
	return rig->system.memory + (bus - MMU_RIG_BUS);
}

static const struct pagoda_engine_ops rig_engine_ops = { .system_span = rig_span };

/* ---- The owner of page tables: struct pagoda_mmu_ops ----------------------- */

static int rig_table_alloc(void *owner, void *data, u32 level, u32 size,
			   struct pagoda_table_memory *memory)
{
	struct mmu_rig *rig = owner;
	bool vram = data && rig->variant.mode != VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL &&
		    prandom_u32_state(&rig->rnd) % 4;
	struct mmu_pool *pool = vram ? &rig->vram : &rig->system;
	u32 nr = size / MMU_RIG_PAGE;
	unsigned long page;

	if (rig->fail_alloc && !--rig->fail_alloc)
		return -ENOMEM;
	page = bitmap_find_next_zero_area(pool->used, MMU_RIG_NR, 0, nr, nr - 1);
	if (page >= MMU_RIG_NR)
		return -ENOMEM;
	bitmap_set(pool->used, page, nr);
	/* Garbage that would translate as valid entries. */
	memset(pool->memory + page * MMU_RIG_PAGE, 0x21, size);
	*memory = (struct pagoda_table_memory) {
		.segment = vram ? VIRTIO_PAGODA_SEGMENT_VRAM : VIRTIO_PAGODA_SEGMENT_SYSTEM,
		.size = size,
		.address = page * MMU_RIG_PAGE + (vram ? 0 : MMU_RIG_BUS),
		.cpu = vram ? NULL : pool->memory + page * MMU_RIG_PAGE,
		.pages = vram ? NULL : pool->pages + page,
		.cookie = pool->memory + page * MMU_RIG_PAGE,
	};
	rig->nr_tables++;
	rig->nr_allocs++;
	return 0;
}

static void rig_release(struct mmu_rig *rig, void *cookie, u32 size)
{
	u8 *memory = cookie;
	struct mmu_pool *pool = memory >= rig->vram.memory &&
				memory < rig->vram.memory + MMU_RIG_TABLES ? &rig->vram :
									     &rig->system;

	memset(memory, 0x21, size);
	bitmap_clear(pool->used, (memory - pool->memory) / MMU_RIG_PAGE, size / MMU_RIG_PAGE);
	rig->nr_tables--;
}

static void rig_table_free(void *owner, void *data, struct pagoda_table_memory *memory,
			   struct dma_fence *fence)
{
	struct mmu_rig *rig = owner;

	rig->freed_with = fence;
	rig_release(rig, memory->cookie, memory->size);
}

static int rig_set_root(void *owner, u32 space, const struct pagoda_root *root)
{
	struct mmu_rig *rig = owner;

	if (root->entries) {
		rig->nr_roots += !!space;
		rig->roots_while_running += rig->has_root & BIT(space) && !rig->suspended;
		rig->has_root |= BIT(space);
	} else {
		rig->has_root &= ~BIT(space);
	}
	KUNIT_EXPECT_EQ(rig->test, VIRTIO_PAGODA_FAULT_NONE,
			pagoda_engine_root_set(&rig->engine, space, root->segment,
					       root->address, root->entries));
	return 0;
}

static void rig_suspend(void *owner, void *data)
{
	struct mmu_rig *rig = owner;

	rig->suspended++;
	rig->nr_suspends++;
}

static void rig_resume(void *owner, void *data)
{
	struct mmu_rig *rig = owner;

	rig->suspended--;
}

static const struct pagoda_mmu_ops rig_mmu_ops = {
	.table_alloc = rig_table_alloc,
	.table_free = rig_table_free,
	.set_root = rig_set_root,
	.suspend = rig_suspend,
	.resume = rig_resume,
};

/* ---- Building and executing what mmu/ emits -------------------------------- */

static void rig_fresh(struct mmu_rig *rig)
{
	rig->buffer_size = rig->spread ? PAGODA_PAGING_MIN_BUFFER +
			   8 * (prandom_u32_state(&rig->rnd) % 256) : 4096;
	rig->buf = (struct pagoda_paging_buffer) {
		.pos = rig->data,
		.size = rig->buffer_size,
		.priv = rig->priv,
		.priv_size = MMU_RIG_PRIV,
	};
}

/* Has the engine execute the buffer built so far, without a fault, and starts an empty one. */
void mmu_rig_execute(struct mmu_rig *rig)
{
	struct pagoda_engine_run run;

	if (rig->buf.write_offset) {
		pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, 1, 1);
		run.buffer = rig->data;
		run.size = rig->buf.write_offset;
		KUNIT_ASSERT_EQ_MSG(rig->test, PAGODA_ENGINE_DONE,
				    pagoda_engine_execute(&rig->engine, &run),
				    "opcode %u: %s at %#llx", run.fault.opcode,
				    pagoda_engine_fault_name(run.fault.reason),
				    run.fault.address);
	}
	rig_fresh(rig);
}

/*
 * Expects updates of the paging space, which has all windows, to be followed by a flush of that
 * space before any other operation (C72).
 */
static void rig_window(struct mmu_rig *rig, const struct pagoda_paging_op *op)
{
	bool update = op->operation == VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE;
	bool flush = op->operation == VIRTIO_PAGODA_OP_FLUSH_TLB;

	if (update && !op->update_page_table.address_space)
		rig->unflushed = true;
	else if (flush && !op->flush_tlb.address_space)
		rig->unflushed = false;
	else
		KUNIT_EXPECT_FALSE(rig->test, rig->unflushed);
}

static void rig_note(struct mmu_rig *rig, const struct pagoda_paging_op *op)
{
	struct mmu_seen *seen = &rig->seen[rig->nr_seen % MMU_RIG_SEEN];

	rig->nr_seen++;
	seen->op = *op;
	seen->value = 0;
	seen->suspended = rig->suspended;
	if (op->operation == VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE && op->update_page_table.values)
		seen->value = op->update_page_table.values[0];
}

static void rig_emit(void *arg, struct pagoda_paging_op *op)
{
	struct pagoda_paging_cursor cursor = {};
	struct mmu_rig *rig = arg;
	const char *why = "";
	u32 before;
	u8 *priv;

	KUNIT_ASSERT_EQ_MSG(rig->test, 0, pagoda_paging_validate(&rig->limits, op, &why), "%s %s",
			    pagoda_paging_name(op->operation), why);
	rig_window(rig, op);
	rig_note(rig, op);
	for (;;) {
		enum pagoda_build result;

		before = rig->buf.write_offset;
		priv = rig->buf.priv;
		result = pagoda_paging_build(&rig->limits, op, &cursor, &rig->buf);
		rig->encoded += rig->buf.write_offset - before;
		rig->packets += (rig->buf.priv - priv) / sizeof(struct pagoda_paging_private);
		if (result == PAGODA_BUILD_SUCCESS)
			return;
		KUNIT_ASSERT_EQ(rig->test, PAGODA_BUILD_INSUFFICIENT_BUFFER, result);
		KUNIT_ASSERT_FALSE(rig->test, rig->hold);
		mmu_rig_execute(rig);
	}
}

/* Starts noting and counting operations anew: forgets those that were emitted so far. */
void mmu_rig_begin(struct mmu_rig *rig)
{
	rig->encoded = 0;
	rig->packets = 0;
	rig->nr_seen = 0;
}

/*
 * Expects all entries of table windows to be invalid (C78), and the last change of a window to be
 * flushed.
 */
static void rig_check_windows(struct mmu_rig *rig)
{
	u64 first = pagoda_slot_address(PAGODA_SLOT_WINDOWS), va, entry, size;

	KUNIT_EXPECT_FALSE(rig->test, rig->unflushed);
	for (va = first; va < first + PAGODA_BLOCK_BYTES; va += MMU_RIG_PAGE)
		KUNIT_ASSERT_FALSE(rig->test, pagoda_process_lookup(rig->mmu, va, &entry, &size));
}

static void rig_end(struct mmu_rig *rig, struct pagoda_paging_cost cost)
{
	KUNIT_EXPECT_LE(rig->test, rig->encoded, cost.encoded);
	KUNIT_EXPECT_LE(rig->test, rig->packets, cost.packets);
	if (rig->hold)
		return;
	mmu_rig_execute(rig);
	rig_check_windows(rig);
}

/* ---- Changes --------------------------------------------------------------- */

static void rig_commit(struct mmu_rig *rig, u32 space, struct pagoda_pt_update *update)
{
	struct pagoda_paging_cost cost = pagoda_pt_update_cost(update, PAGODA_PAGING_MIN_BUFFER);

	mmu_rig_begin(rig);
	pagoda_space_lock(rig->spaces[space]);
	pagoda_pt_update_commit(update, &rig->emit);
	pagoda_space_unlock(rig->spaces[space]);
	rig_end(rig, cost);
	pagoda_pt_update_finish(update, NULL);
	KUNIT_EXPECT_EQ(rig->test, 0, rig->suspended);
}

/*
 * Maps or unmaps ranges of a space as @maps say, and enters them into the plain list of expected
 * mappings. Returns 0 or the error of pagoda_space_prepare().
 */
int mmu_rig_change(struct mmu_rig *rig, u32 space, const struct pagoda_map *maps, u32 nr_maps)
{
	struct pagoda_pt_update *update;
	u32 i;
	int ret;

	ret = pagoda_space_prepare(rig->spaces[space], maps, nr_maps, &update);
	if (ret)
		return ret;
	rig_commit(rig, space, update);
	for (i = 0; i < nr_maps; i++)
		mmu_rig_expect(rig, space, &maps[i]);
	return 0;
}

/*
 * Makes a range invalid, as the driver does when the mapped memory moves; removes the range from
 * the plain list of expected mappings.
 */
void mmu_rig_invalidate(struct mmu_rig *rig, u32 space, u64 va, u64 size)
{
	struct pagoda_paging_cost cost;
	u64 page;

	mmu_rig_begin(rig);
	pagoda_space_lock(rig->spaces[space]);
	cost = pagoda_space_invalidate_cost(rig->spaces[space], va, size,
					    PAGODA_PAGING_MIN_BUFFER);
	pagoda_space_invalidate(rig->spaces[space], va, size, &rig->emit);
	pagoda_space_unlock(rig->spaces[space]);
	rig_end(rig, cost);
	for (page = va / MMU_RIG_PAGE; page < (va + size) / MMU_RIG_PAGE; page++)
		mmu_rig_set_page(rig, space, page, NULL);
}

/*
 * Copies page-table entries as @copies say, and the pages' expected mappings in the plain list.
 * Returns 0 or the error of pagoda_space_prepare_copy().
 */
int mmu_rig_copy(struct mmu_rig *rig, u32 space, const struct pagoda_space_copy *copies, u32 nr)
{
	struct pagoda_pt_update *update;
	u64 nr_pages, done, page;
	u32 i;
	int ret;

	ret = pagoda_space_prepare_copy(rig->spaces[space], copies, nr, &update);
	if (ret)
		return ret;
	rig_commit(rig, space, update);
	for (i = 0; i < nr; i++) {
		nr_pages = copies[i].size / MMU_RIG_PAGE;
		for (done = 0; done < nr_pages; done++) {
			page = copies[i].dst > copies[i].src ? nr_pages - 1 - done : done;
			mmu_rig_set_page(rig, space, copies[i].dst / MMU_RIG_PAGE + page,
					 mmu_rig_page(rig, space,
						      copies[i].src / MMU_RIG_PAGE + page));
		}
	}
	return 0;
}

static struct mmu_pool *rig_pool(struct mmu_rig *rig, u32 segment)
{
	return segment == VIRTIO_PAGODA_SEGMENT_VRAM ? &rig->vram : &rig->system;
}

static u8 *rig_address(struct mmu_rig *rig, u32 segment, u64 address)
{
	return rig_pool(rig, segment)->memory +
	       (segment == VIRTIO_PAGODA_SEGMENT_VRAM ? address : address - MMU_RIG_BUS);
}

/*
 * Returns the cookie of a space's resident root if @root, else of a random table below the root,
 * found by walking entries as the device does. Returns NULL if there is no such table.
 */
void *mmu_rig_any_table(struct mmu_rig *rig, u32 space, bool root)
{
	u32 level = rig->variant.levels - 1, want, nr, stride, i, first;
	struct pagoda_root at;
	u64 *table;

	pagoda_space_root(rig->spaces[space], &at);
	if (!at.entries)
		return NULL;
	table = (void *)rig_address(rig, at.segment, at.address);
	want = root ? level : prandom_u32_state(&rig->rnd) % level;
	for (nr = at.entries; level > want; level--, nr = VIRTIO_PAGODA_PT_ENTRIES) {
		u64 entry = 0;

		stride = level == 1 && rig->variant.dual ? 2 : 1;
		first = prandom_u32_state(&rig->rnd);
		for (i = 0; i < nr * stride; i++) {
			entry = table[(first + i) % (nr * stride)];
			if (entry & VIRTIO_PAGODA_PTE_VALID &&
			    !(entry & (VIRTIO_PAGODA_PTE_ZERO | VIRTIO_PAGODA_PTE_LARGE)))
				break;
		}
		if (i == nr * stride)
			break;
		table = (void *)rig_address(rig, (entry & VIRTIO_PAGODA_PTE_SEGMENT_MASK) >>
					    VIRTIO_PAGODA_PTE_SEGMENT_SHIFT,
					    entry & VIRTIO_PAGODA_PTE_ADDRESS_MASK);
	}
	return root || level != rig->variant.levels - 1 ? table : NULL;
}

/* Evicts the table with @cookie, then overwrites and frees its memory. */
void mmu_rig_evict(struct mmu_rig *rig, u32 space, void *cookie)
{
	u64 before = pagoda_space_table_bytes(rig->spaces[space]);
	struct pagoda_paging_cost cost;

	mmu_rig_begin(rig);
	pagoda_space_lock(rig->spaces[space]);
	cost = pagoda_space_evict_cost(rig->spaces[space], PAGODA_PAGING_MIN_BUFFER);
	pagoda_space_evict_table(rig->spaces[space], cookie, &rig->emit);
	pagoda_space_unlock(rig->spaces[space]);
	rig_end(rig, cost);
	rig_release(rig, cookie, before - pagoda_space_table_bytes(rig->spaces[space]));
	KUNIT_EXPECT_FALSE(rig->test, pagoda_space_is_resident(rig->spaces[space]));
}

/* Restores all evicted tables; returns 0 or the error of pagoda_space_prepare_restore(). */
int mmu_rig_restore(struct mmu_rig *rig, u32 space)
{
	struct pagoda_pt_update *update;
	int ret = pagoda_space_prepare_restore(rig->spaces[space], &update);

	if (ret)
		return ret;
	rig_commit(rig, space, update);
	KUNIT_EXPECT_TRUE(rig->test, pagoda_space_is_resident(rig->spaces[space]));
	return 0;
}

/*
 * Writes all resident tables again, as after a loss of the device's memory; returns 0 or the error
 * of pagoda_space_prepare_rebuild().
 */
int mmu_rig_rebuild(struct mmu_rig *rig, u32 space)
{
	struct pagoda_pt_update *update;
	int ret = pagoda_space_prepare_rebuild(rig->spaces[space], &update);

	if (!ret)
		rig_commit(rig, space, update);
	return ret;
}

/* Fills all tables in VRAM, of any space, with garbage that would translate as valid entries. */
void mmu_rig_scribble(struct mmu_rig *rig)
{
	unsigned long page;

	for_each_set_bit(page, rig->vram.used, MMU_RIG_NR)
		memset(rig->vram.memory + page * MMU_RIG_PAGE, 0x21, MMU_RIG_PAGE);
}

/*
 * Returns how many operations with @opcode were emitted since mmu_rig_begin(): of FLUSH_TLB and
 * UPDATE_PAGE_TABLE only those of @space, of other opcodes all. The rig keeps, and this function
 * looks at, the last MMU_RIG_SEEN operations only.
 */
u32 mmu_rig_count(struct mmu_rig *rig, u32 opcode, u32 space)
{
	u32 i, nr = 0;

	for (i = 0; i < min_t(u32, rig->nr_seen, MMU_RIG_SEEN); i++) {
		const struct pagoda_paging_op *op = &rig->seen[i].op;

		if (op->operation != opcode)
			continue;
		if (opcode == VIRTIO_PAGODA_OP_FLUSH_TLB)
			nr += op->flush_tlb.address_space == space;
		else if (opcode == VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE)
			nr += op->update_page_table.address_space == space;
		else
			nr++;
	}
	return nr;
}

/* ---- The rig --------------------------------------------------------------- */

static void rig_make_pool(struct kunit *test, struct mmu_pool *pool)
{
	u32 i;

	pool->memory = test_vzalloc(test, MMU_RIG_TABLES);
	pool->used = test_vzalloc(test, BITS_TO_LONGS(MMU_RIG_NR) * sizeof(long));
	pool->pages = test_vzalloc(test, MMU_RIG_NR * sizeof(*pool->pages));
	for (i = 0; i < MMU_RIG_NR; i++)
		pool->pages[i] = vmalloc_to_page(pool->memory + i * MMU_RIG_PAGE);
	/* Page 0 is never allocated, so that no valid link to a table has address 0. */
	__set_bit(0, pool->used);
}

static void rig_make_engine(struct mmu_rig *rig)
{
	struct pagoda_engine *engine = &rig->engine;

	engine->vram = rig->vram.memory;
	engine->vram_size = MMU_RIG_VRAM;
	engine->max_runs = 16;
	engine->max_buffer = VIRTIO_PAGODA_MIN_BUFFER;
	engine->system_bits = 40;
	engine->aperture = test_vzalloc(rig->test, sizeof(u64));
	engine->aperture_pages = 1;
	engine->spaces = test_vzalloc(rig->test, MMU_RIG_SPACES * sizeof(*engine->spaces));
	engine->nr_spaces = MMU_RIG_SPACES;
	engine->va_bits = 47;
	engine->pt_levels = rig->variant.levels;
	engine->page_sizes = SZ_4K | SZ_64K | SZ_2M;
	engine->tlbs = test_vzalloc(rig->test, 2 * sizeof(*engine->tlbs));
	engine->nr_tlbs = 2;
	engine->ops = &rig_engine_ops;
	engine->context = rig;
	engine->features = pagoda_engine_features() | 1ull << VIRTIO_PAGODA_F_COHERENT;
	engine->features &= ~(1ull << VIRTIO_PAGODA_F_DUAL_PTE |
			      1ull << VIRTIO_PAGODA_F_DEVICE_MMU |
			      1ull << VIRTIO_PAGODA_F_INVALID_NOT_CACHED);
	if (rig->variant.dual)
		engine->features |= 1ull << VIRTIO_PAGODA_F_DUAL_PTE;
	if (rig->variant.not_cached)
		engine->features |= 1ull << VIRTIO_PAGODA_F_INVALID_NOT_CACHED;
	KUNIT_ASSERT_TRUE(rig->test, pagoda_engine_init(engine));
	rig->limits = (struct pagoda_paging_limits) {
		.features = engine->features,
		.vram_size = engine->vram_size,
		.aperture_pages = engine->aperture_pages,
		.max_runs = engine->max_runs,
		/* The engine wants 47 bits or more; three levels translate only 39. */
		.va_bits = engine->pt_levels == 3 ? 39 : engine->va_bits,
		.pt_levels = engine->pt_levels,
		.page_sizes = engine->page_sizes,
		.max_address_spaces = engine->nr_spaces,
	};
}

static void rig_close_space(struct mmu_rig *rig, u32 space)
{
	struct pagoda_pt_update *update;

	if (!pagoda_space_prepare_close(rig->spaces[space], &update))
		rig_commit(rig, space, update);
	pagoda_space_destroy(rig->spaces[space]);
	mmu_rig_forget_pages(rig, space);
}

static void rig_close(void *data)
{
	struct mmu_rig *rig = data;
	u32 space;

	if (rig->hold)
		mmu_rig_execute(rig);
	rig->hold = false;
	for (space = 1; space < MMU_RIG_SPACES; space++)
		rig_close_space(rig, space);
	pagoda_mmu_destroy(rig->mmu);
	KUNIT_EXPECT_EQ(rig->test, 0, rig->nr_tables);
}

/*
 * Returns a rig with the device and update mode of @variant, and with empty spaces. @seed decides
 * about the sizes of buffers, the segments of tables, and the test's other random numbers.
 */
struct mmu_rig *mmu_rig_make(struct kunit *test, const struct mmu_variant *variant, u64 seed)
{
	struct mmu_rig *rig = test_zalloc(test, sizeof(*rig));
	struct pagoda_mmu_args args = {};
	u32 space;

	rig->test = test;
	rig->variant = *variant;
	rig->emit = (struct pagoda_emit) { .emit = rig_emit, .arg = rig };
	prandom_seed_state(&rig->rnd, seed);
	rig_make_pool(test, &rig->vram);
	rig_make_pool(test, &rig->system);
	rig_make_engine(rig);
	rig->data = test_vzalloc(test, VIRTIO_PAGODA_MIN_BUFFER);
	rig->priv = test_vzalloc(test, MMU_RIG_PRIV);
	rig->seen = test_vzalloc(test, MMU_RIG_SEEN * sizeof(*rig->seen));
	rig_fresh(rig);
	args.limits = &rig->limits;
	args.mode = variant->mode;
	args.invalid_not_cached = variant->not_cached;
	args.ops = &rig_mmu_ops;
	args.owner = rig;
	rig->mmu = pagoda_mmu_create(&args);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, rig->mmu);
	for (space = 1; space < MMU_RIG_SPACES; space++) {
		xa_init(&rig->maps[space]);
		rig->spaces[space] = pagoda_space_create(rig->mmu, space, rig);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, rig->spaces[space]);
	}
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, rig_close, rig));
	return rig;
}
