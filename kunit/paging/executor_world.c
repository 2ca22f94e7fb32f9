// SPDX-License-Identifier: GPL-2.0
/*
 * Makes two machines, the engine and the CPU executor, whose memories begin with equal content;
 * executes buffers on both machines. See executor_world.h.
 */
#include <linux/string.h>
#include "paging/cpu/cpu.h"
#include "paging/paging.h"
#include "executor_world.h"

static void *world_span(void *context, u64 bus, u64 want, u64 *got)
{
	struct pagoda_world *world = context;
	u64 size = PAGODA_WORLD_SYSTEM * PAGODA_WORLD_PAGE;

	if (bus < PAGODA_WORLD_BUS || bus >= PAGODA_WORLD_BUS + size)
		return NULL;
	*got = min(want, PAGODA_WORLD_BUS + size - bus);
	return world->engine_system + (bus - PAGODA_WORLD_BUS);
}

static void world_fence(void *context, const struct pagoda_engine_run *run, u64 address, u64 value)
{
	struct pagoda_world *world = context;

	world->fences++;
}

static const struct pagoda_engine_ops world_ops = {
	.system_span = world_span,
	.fence = world_fence,
};

/* The world made last: map_page() and unmap_page() have no argument that names a world. */
static struct pagoda_world *the_world;

static void *world_map_page(const void *pages, u64 index)
{
	struct pagoda_world *world = the_world;
	void *page = ((void *const *)pages)[index];

	KUNIT_ASSERT_LT(world->test, world->nr_mapped, ARRAY_SIZE(world->mapped));
	world->mapped[world->nr_mapped++] = page;
	return page;
}

/* Expects mappings to be released in reverse order, by the address from world_map_page(). */
static void world_unmap_page(void *address)
{
	struct pagoda_world *world = the_world;

	KUNIT_ASSERT_GT(world->test, world->nr_mapped, 0);
	world->nr_mapped--;
	KUNIT_ASSERT_PTR_EQ(world->test, world->mapped[world->nr_mapped], address);
}

static const void *world_page_at(const void *pages, u64 index)
{
	return ((const void *const *)pages)[index];
}

static void world_make_engine(struct pagoda_world *world)
{
	struct pagoda_engine *engine = &world->engine;

	engine->vram = world->engine_vram;
	engine->vram_size = PAGODA_WORLD_VRAM * PAGODA_WORLD_PAGE;
	engine->max_runs = 16;
	engine->max_buffer = PAGODA_WORLD_BUFFER;
	engine->system_bits = 40;
	engine->aperture = test_zalloc(world->test, PAGODA_WORLD_APERTURE * sizeof(u64));
	engine->aperture_pages = PAGODA_WORLD_APERTURE;
	engine->ops = &world_ops;
	engine->context = world;
	engine->features = pagoda_engine_features() | 1ull << VIRTIO_PAGODA_F_COHERENT;
	KUNIT_ASSERT_TRUE(world->test, pagoda_engine_init(engine));
}

static void world_make_cpu(struct pagoda_world *world)
{
	u32 i;

	world->exec = (struct pagoda_cpu_executor){
		.vram = test_zalloc(world->test, PAGODA_WORLD_VRAM * PAGODA_WORLD_PAGE),
		.vram_size = PAGODA_WORLD_VRAM * PAGODA_WORLD_PAGE,
		.aperture = test_zalloc(world->test, PAGODA_WORLD_APERTURE * sizeof(void *)),
		.generations = test_zalloc(world->test, PAGODA_WORLD_APERTURE * sizeof(u32)),
		.aperture_pages = PAGODA_WORLD_APERTURE,
		.map_page = world_map_page,
		.unmap_page = world_unmap_page,
		.page_at = world_page_at,
		.limits = &world->limits,
	};
	for (i = 0; i < PAGODA_WORLD_SYSTEM; i++)
		world->cpu_pages[i] = world->cpu_system + i * PAGODA_WORLD_PAGE;
}

/*
 * Returns two machines with equal random memory, and an empty buffer. Only the world that was made
 * last may be used.
 */
struct pagoda_world *pagoda_world_make(struct kunit *test, struct rnd_state *rnd)
{
	struct pagoda_world *world = test_zalloc(test, sizeof(*world));

	the_world = world;
	world->test = test;
	world->engine_vram = test_zalloc(test, PAGODA_WORLD_VRAM * PAGODA_WORLD_PAGE);
	world->engine_system = test_zalloc(test, PAGODA_WORLD_SYSTEM * PAGODA_WORLD_PAGE);
	world->cpu_system = test_zalloc(test, PAGODA_WORLD_SYSTEM * PAGODA_WORLD_PAGE);
	world->data = test_zalloc(test, PAGODA_WORLD_BUFFER);
	world->priv = test_zalloc(test, PAGODA_WORLD_BUFFER);
	world_make_engine(world);
	world_make_cpu(world);
	prandom_bytes_state(rnd, world->engine_vram, PAGODA_WORLD_VRAM * PAGODA_WORLD_PAGE);
	memcpy(world->exec.vram, world->engine_vram, PAGODA_WORLD_VRAM * PAGODA_WORLD_PAGE);
	prandom_bytes_state(rnd, world->engine_system, PAGODA_WORLD_SYSTEM * PAGODA_WORLD_PAGE);
	memcpy(world->cpu_system, world->engine_system, PAGODA_WORLD_SYSTEM * PAGODA_WORLD_PAGE);
	world->limits = (struct pagoda_paging_limits) {
		.features = world->engine.features,
		.vram_size = world->engine.vram_size,
		.aperture_pages = PAGODA_WORLD_APERTURE,
		.max_runs = world->engine.max_runs,
	};
	pagoda_world_fresh(world, PAGODA_WORLD_BUFFER);
	return world;
}

/* Empties the buffer and sets its size to @size bytes, at most PAGODA_WORLD_BUFFER. */
void pagoda_world_fresh(struct pagoda_world *world, u32 size)
{
	world->buf = (struct pagoda_paging_buffer) {
		.pos = world->data,
		.size = size,
		.priv = world->priv,
		.priv_size = PAGODA_WORLD_BUFFER,
	};
}

/*
 * Returns a list of @nr_pages pages of system memory from page @first on, which the caller may
 * change; the list is valid until PAGODA_WORLD_LISTS more lists were made.
 */
struct pagoda_world_list *pagoda_world_list(struct pagoda_world *world, u32 first, u32 nr_pages)
{
	struct pagoda_world_list *list = &world->lists[world->nr_lists % PAGODA_WORLD_LISTS];
	u32 i;

	world->nr_lists++;
	for (i = 0; i < nr_pages; i++) {
		list->pages[i] = pagoda_world_bus(first + i);
		list->cpu_pages[i] = world->cpu_pages[first + i];
	}
	list->adl = (struct pagoda_adl) {
		.nr_pages = nr_pages,
		.base = pagoda_world_bus(first),
		.pages = list->pages,
		.cpu_pages = list->cpu_pages,
	};
	return list;
}

/* Executes the buffer on the engine, from byte offset @start on. */
struct pagoda_verdict pagoda_world_run_engine(struct pagoda_world *world, u32 start)
{
	struct pagoda_engine_run run;
	enum pagoda_engine_outcome outcome;

	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, VIRTIO_PAGODA_QUEUE_PAGING, 1);
	run.buffer = world->data;
	run.size = world->buf.write_offset;
	run.start = start;
	outcome = pagoda_engine_execute(&world->engine, &run);
	return (struct pagoda_verdict) {
		.good = outcome == PAGODA_ENGINE_DONE,
		.stopped_at = run.offset,
		.reason = run.fault.reason,
	};
}

/* Executes the buffer on the CPU executor, from byte offset @start on. */
struct pagoda_verdict pagoda_world_run_cpu(struct pagoda_world *world, u32 start)
{
	struct pagoda_verdict verdict = { };

	verdict.error = pagoda_cpu_execute(&world->exec, world->data, world->buf.write_offset,
					   start, world->priv,
					   world->buf.priv - world->priv, &verdict.stopped_at);
	verdict.good = !verdict.error;
	verdict.reason = world->exec.reason;
	KUNIT_ASSERT_EQ(world->test, world->nr_mapped, 0);
	return verdict;
}

/*
 * Executes the buffer on both machines, and expects both to succeed, or to stop at the same packet
 * for the same fault reason. Returns the CPU executor's verdict.
 */
struct pagoda_verdict pagoda_world_submit(struct pagoda_world *world)
{
	struct pagoda_verdict engine = pagoda_world_run_engine(world, 0);
	struct pagoda_verdict cpu = pagoda_world_run_cpu(world, 0);
	struct pagoda_paging_text text = { .size = 2048 };

	if (engine.reason != cpu.reason || engine.stopped_at != cpu.stopped_at) {
		text.data = test_zalloc(world->test, text.size);
		pagoda_paging_print(world->data, world->buf.write_offset, &text);
		kunit_info(world->test, "%s", text.data);
	}
	KUNIT_ASSERT_EQ(world->test, engine.good, cpu.good);
	KUNIT_ASSERT_EQ(world->test, engine.stopped_at, cpu.stopped_at);
	KUNIT_ASSERT_STREQ(world->test, pagoda_engine_fault_name(engine.reason),
			   pagoda_engine_fault_name(cpu.reason));
	return cpu;
}

/*
 * Builds an operation, which must be valid, into buffers of @size bytes and executes each buffer on
 * both machines, which must succeed.
 */
void pagoda_world_do(struct pagoda_world *world, const struct pagoda_paging_op *op, u32 size)
{
	struct pagoda_paging_cursor cursor = { };
	const char *why = "";
	enum pagoda_build ret;
	u32 passes = 0;

	KUNIT_ASSERT_EQ_MSG(world->test, pagoda_paging_validate(&world->limits, op, &why), 0, "%s",
			    why);
	do {
		pagoda_world_fresh(world, size);
		ret = pagoda_paging_build(&world->limits, op, &cursor, &world->buf);
		KUNIT_ASSERT_TRUE(world->test, pagoda_world_submit(world).good);
		KUNIT_ASSERT_LT(world->test, passes++, 1000);
	} while (ret == PAGODA_BUILD_INSUFFICIENT_BUFFER);
	KUNIT_ASSERT_EQ(world->test, ret, PAGODA_BUILD_SUCCESS);
}

/* Expects VRAM, system memory and aperture mappings to be equal on both machines. */
void pagoda_world_compare(struct pagoda_world *world)
{
	u32 i, generation;
	u64 bus;

	KUNIT_ASSERT_EQ(world->test, memcmp(world->engine_vram, world->exec.vram,
					    PAGODA_WORLD_VRAM * PAGODA_WORLD_PAGE), 0);
	KUNIT_ASSERT_EQ(world->test, memcmp(world->engine_system, world->cpu_system,
					    PAGODA_WORLD_SYSTEM * PAGODA_WORLD_PAGE), 0);
	for (i = 0; i < PAGODA_WORLD_APERTURE; i++) {
		if (!pagoda_engine_aperture_lookup(&world->engine, i, &bus, &generation)) {
			KUNIT_ASSERT_NULL(world->test, world->exec.aperture[i]);
			continue;
		}
		KUNIT_ASSERT_PTR_EQ(world->test, world->exec.aperture[i],
				    (const void *)(world->cpu_system + (bus - PAGODA_WORLD_BUS)));
		KUNIT_ASSERT_EQ(world->test, world->exec.generations[i], generation);
	}
}
