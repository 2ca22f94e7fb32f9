// SPDX-License-Identifier: GPL-2.0
/*
 * The write combiner: a few lines with a queue's writes to memory that isn't snooped, before these
 * writes are in memory.
 *
 * A line consists of two copies of memory: as it was loaded, and as the queue wrote it. Only bytes
 * that differ are written back, in accesses of 8 bytes that leave equal bytes alone, so that bytes
 * which the CPU or another queue writes next to them stay.
 *
 *	small write	within a line: stays in the combiner until another line replaces it
 *	large write	goes to memory except for its last line, which stays in the combiner
 *	read		first writes back the lines that overlap: a queue sees its own writes
 *	drain		writes all lines back and frees them
 *
 * A line has the kernel address of its memory, so that it must not outlive the mapping that was
 * used for the write: FLUSH_TLB, MAP_MMU and UNMAP_MMU drain all combiners, SET_ROOT those of
 * engines, and MAP_ and UNMAP_APERTURE_SEGMENT the paging queue's.
 *
 * The paging queue's lines are used by that queue's thread only. An engine's lines are used by the
 * engine's thread with the translation lock held for reading, or by any thread with that lock held
 * for writing. No lock is needed while no queue executes.
 */
#include "internal.h"

#define PAGODA_LINE	((u64)PAGODA_ENGINE_LINE_BYTES)

/*
 * Returns the write combiner of the queue that executes; NULL if writes aren't combined, as those
 * by packets of execution queues.
 */
static struct pagoda_engine_combiner *combiner_of(const struct pagoda_exec *exec)
{
	if (!pagoda_engine_combines(exec))
		return NULL;
	return &exec->engine->combiners[exec->run->tlb];
}

/* Returns a mask with 0xff for each byte in which @a and @b differ, and 0 for the other bytes. */
static u64 line_mask(u64 a, u64 b)
{
	u64 mask = 0;
	u32 shift;

	for (shift = 0; shift < 64; shift += 8)
		if ((a ^ b) >> shift & 0xff)
			mask |= 0xffull << shift;
	return mask;
}

/*
 * Writes a line of the write combiner back: stores in memory the bytes that the queue changed since
 * the line was loaded or last written back, and no others.
 */
static void line_write(struct pagoda_engine_line *line)
{
	__le64 *memory = (__le64 *)line->here;
	u64 now, mask;
	__le64 seen;
	u32 i;

	for (i = 0; i < PAGODA_LINE / 8; i++) {
		now = le64_to_cpu(line->now[i]);
		mask = line_mask(now, le64_to_cpu(line->found[i]));
		if (!mask)
			continue;
		seen = READ_ONCE(memory[i]);
		while (!pagoda_shim_swap64(&memory[i], &seen,
					   cpu_to_le64((le64_to_cpu(seen) & ~mask) |
						       (now & mask))))
			;
		line->found[i] = line->now[i];
	}
}

static void line_load(struct pagoda_engine_line *line)
{
	const __le64 *memory = (const __le64 *)line->here;
	u32 i;

	for (i = 0; i < PAGODA_LINE / 8; i++) {
		line->found[i] = READ_ONCE(memory[i]);
		line->now[i] = line->found[i];
	}
	line->loaded = true;
}

/*
 * Returns the line of @combiner that stands for the memory at @here, a multiple of a line's size.
 * If no line does, the next line in turn is written back and from then on stands for that memory,
 * which the caller has to load.
 */
static struct pagoda_engine_line *line_find(struct pagoda_engine_combiner *combiner, u8 *here)
{
	struct pagoda_engine_line *line;
	u32 i;

	for (i = 0; i < PAGODA_ENGINE_LINES; i++)
		if (combiner->lines[i].here == here)
			return &combiner->lines[i];
	line = &combiner->lines[combiner->next++ % PAGODA_ENGINE_LINES];
	if (line->here)
		line_write(line);
	line->here = here;
	line->loaded = false;
	combiner->used = true;
	return line;
}

/*
 * Returns the address in a line of the combiner at which the queue writes instead of at @here. A
 * line that isn't loaded is loaded now; before that the line is written back, because it may have
 * been written to at an address that this function returned earlier.
 */
static u8 *line_place(struct pagoda_engine_combiner *combiner, u8 *here)
{
	u64 inside = (unsigned long)here % PAGODA_LINE;
	struct pagoda_engine_line *line = line_find(combiner, here - inside);

	if (!line->loaded) {
		line_write(line);
		line_load(line);
	}
	return (u8 *)line->now + inside;
}

/*
 * Writes back those lines of the queue's combiner that overlap the @size bytes at @here, which the
 * caller is about to read or to write without the combiner. The lines are loaded again before the
 * queue's next write to them. Pointers into lines stay valid.
 */
void pagoda_engine_combine_meet(struct pagoda_exec *exec, const u8 *here, u64 size)
{
	struct pagoda_engine_combiner *combiner = combiner_of(exec);
	struct pagoda_engine_line *line;

	if (!combiner || likely(!combiner->used))
		return;
	for (line = combiner->lines; line < combiner->lines + PAGODA_ENGINE_LINES; line++) {
		if (!line->here || line->here >= here + size || here >= line->here + PAGODA_LINE)
			continue;
		line_write(line);
		line->loaded = false;
	}
}

/*
 * Prepares a write to the *@size bytes at *@here, which aren't snooped; does nothing if the queue's
 * writes aren't combined. @last: the write ends with these bytes. If they lie within a line, *@here
 * is redirected to that line of the combiner. More bytes are written to memory directly: if @last,
 * *@size is reduced by the bytes in the last line, for which the caller calls again; else none of
 * the bytes are combined, as a line costs more than a copy.
 */
void pagoda_engine_combine_write(struct pagoda_exec *exec, u8 **here, u64 *size, bool last)
{
	struct pagoda_engine_combiner *combiner = combiner_of(exec);
	u64 end = (unsigned long)*here % PAGODA_LINE + *size;

	if (!combiner)
		return;
	if (end <= PAGODA_LINE) {
		*here = line_place(combiner, *here);
		return;
	}
	if (last)
		*size -= end % PAGODA_LINE ? end % PAGODA_LINE : PAGODA_LINE;
	pagoda_engine_combine_meet(exec, *here, *size);
}

/* Writes back and frees all lines of combiner @number; pointers into the lines become invalid. */
void pagoda_engine_combine_drain(struct pagoda_engine *engine, u32 number)
{
	struct pagoda_engine_combiner *combiner;
	u32 i;

	if (number >= PAGODA_ENGINE_COMBINERS || likely(!engine->combiners[number].used))
		return;
	combiner = &engine->combiners[number];
	for (i = 0; i < PAGODA_ENGINE_LINES; i++) {
		if (combiner->lines[i].here)
			line_write(&combiner->lines[i]);
		combiner->lines[i].here = NULL;
	}
	combiner->used = false;
}

/*
 * Writes back and frees all lines of the combiners with numbers from @first on, while no access by
 * their queues is in progress.
 */
void pagoda_engine_combine_drain_all(struct pagoda_engine *engine, u32 first)
{
	for (; first < PAGODA_ENGINE_COMBINERS; first++)
		pagoda_engine_combine_drain(engine, first);
}

/**
 * pagoda_engine_write_back() - Write back the content of a queue's write combiner
 * @engine: Engine, initialized
 * @number: 0 for the paging queue, i + 1 for engine i
 *
 * Called by the reset of a queue: afterwards the queue writes to no memory until it executes again.
 *
 * Context: the queue executes nothing meanwhile; may sleep.
 */
void pagoda_engine_write_back(struct pagoda_engine *engine, u32 number)
{
	pagoda_shim_read_lock(&engine->translation);
	pagoda_engine_combine_drain(engine, number);
	pagoda_shim_read_unlock(&engine->translation);
}

/**
 * pagoda_engine_holds_writes() - Check whether a queue's write combiner has content
 * @engine: Engine, initialized
 * @number: 0 for the paging queue, i + 1 for engine i
 *
 * Context: the queue executes nothing meanwhile.
 * Return: true if a line has writes that weren't written back.
 */
bool pagoda_engine_holds_writes(const struct pagoda_engine *engine, u32 number)
{
	const struct pagoda_engine_line *line = engine->combiners[number].lines;
	u32 i;

	for (i = 0; i < PAGODA_ENGINE_LINES; i++)
		if (line[i].here && memcmp(line[i].now, line[i].found, PAGODA_LINE))
			return true;
	return false;
}
