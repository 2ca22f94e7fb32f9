// SPDX-License-Identifier: GPL-2.0
/*
 * The write combiner: a few lines of memory that isn't snooped, which a queue wrote and
 * which aren't in memory yet.
 *
 * A line is a copy of memory, and a second one of what was found there. What differs is
 * what the queue wrote: only that is written back, in accesses of 8 bytes of which the
 * others are left alone, so that bytes the CPU or another queue writes beside it stay.
 *
 *	write		large ones go to memory but for their last line, which stays
 *			until it makes room for another one
 *	read		writes the lines it meets back first: a queue sees its own writes
 *	drain		writes all lines back and forgets them
 *
 * A line names memory by where it is, so it must not outlive the mapping it was written
 * through. What takes mappings away drains before it does so.
 *
 * The paging queue's lines are touched by that queue's thread alone. An engine's are touched
 * by its thread with the translation lock held for reading, or by what holds that lock
 * for writing. With no lock where nothing executes.
 */
#include "internal.h"

#define PAGODA_LINE	((u64)PAGODA_ENGINE_LINE_BYTES)

/* The run's combiner, if it is to be used: packets of execution queues write at once. */
static struct pagoda_engine_combiner *pagoda_combiner_of(const struct pagoda_exec *exec)
{
	if (!pagoda_engine_combines(exec))
		return NULL;
	return &exec->engine->combiners[exec->run->tlb];
}

/* The bytes in which two words differ. */
static u64 pagoda_line_mask(u64 a, u64 b)
{
	u64 mask = 0;
	u32 shift;

	for (shift = 0; shift < 64; shift += 8)
		if ((a ^ b) >> shift & 0xff)
			mask |= 0xffull << shift;
	return mask;
}

/* Writes back what was written since the last time. */
static void pagoda_line_write(struct pagoda_engine_line *line)
{
	__le64 *memory = (__le64 *)line->here;
	u64 now, mask;
	__le64 seen;
	u32 i;

	for (i = 0; i < PAGODA_LINE / 8; i++) {
		now = le64_to_cpu(line->now[i]);
		mask = pagoda_line_mask(now, le64_to_cpu(line->found[i]));
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

static void pagoda_line_load(struct pagoda_engine_line *line)
{
	const __le64 *memory = (const __le64 *)line->here;
	u32 i;

	for (i = 0; i < PAGODA_LINE / 8; i++) {
		line->found[i] = READ_ONCE(memory[i]);
		line->now[i] = line->found[i];
	}
	line->loaded = true;
}

/* The line that has @here, or the oldest one, which makes room. */
static struct pagoda_engine_line *pagoda_line_find(struct pagoda_engine_combiner *combiner,
						   u8 *here)
{
	struct pagoda_engine_line *line;
	u32 i;

	for (i = 0; i < PAGODA_ENGINE_LINES; i++)
		if (combiner->lines[i].here == here)
			return &combiner->lines[i];
	line = &combiner->lines[combiner->next++ % PAGODA_ENGINE_LINES];
	if (line->here)
		pagoda_line_write(line);
	line->here = here;
	line->loaded = false;
	combiner->used = true;
	return line;
}

/*
 * Where bytes of one line are written instead of to memory. What was written to a line after
 * it was last written back is still in it, so that is done before it is loaded anew.
 */
static u8 *pagoda_line_place(struct pagoda_engine_combiner *combiner, u8 *here)
{
	u64 inside = (unsigned long)here % PAGODA_LINE;
	struct pagoda_engine_line *line = pagoda_line_find(combiner, here - inside);

	if (!line->loaded) {
		pagoda_line_write(line);
		pagoda_line_load(line);
	}
	return (u8 *)line->now + inside;
}

/*
 * Memory that isn't snooped is about to be read, or written at once: lines it meets are written
 * back, and loaded anew when they are written again. Pointers into them stay good.
 */
void pagoda_engine_combine_meet(struct pagoda_exec *exec, const u8 *here, u64 size)
{
	struct pagoda_engine_combiner *combiner = pagoda_combiner_of(exec);
	struct pagoda_engine_line *line;

	if (!combiner || likely(!combiner->used))
		return;
	for (line = combiner->lines; line < combiner->lines + PAGODA_ENGINE_LINES; line++) {
		if (!line->here || line->here >= here + size || here >= line->here + PAGODA_LINE)
			continue;
		pagoda_line_write(line);
		line->loaded = false;
	}
}

/*
 * Memory that isn't snooped is about to be written, and what follows it if it isn't the @last.
 * *@size becomes what can be written from *@here on: a part of one line, or all in front of the
 * last line. Of scattered pages only the last has one: lines cost more than a copy.
 */
void pagoda_engine_combine_write(struct pagoda_exec *exec, u8 **here, u64 *size, bool last)
{
	struct pagoda_engine_combiner *combiner = pagoda_combiner_of(exec);
	u64 end = (unsigned long)*here % PAGODA_LINE + *size;

	if (!combiner)
		return;
	if (end <= PAGODA_LINE) {
		*here = pagoda_line_place(combiner, *here);
		return;
	}
	if (last)
		*size -= end % PAGODA_LINE ? end % PAGODA_LINE : PAGODA_LINE;
	pagoda_engine_combine_meet(exec, *here, *size);
}

/* Writes back what queue @number's combiner holds. Nothing has a pointer into its lines. */
void pagoda_engine_combine_drain(struct pagoda_engine *engine, u32 number)
{
	struct pagoda_engine_combiner *combiner;
	u32 i;

	if (number >= PAGODA_ENGINE_COMBINERS || likely(!engine->combiners[number].used))
		return;
	combiner = &engine->combiners[number];
	for (i = 0; i < PAGODA_ENGINE_LINES; i++) {
		if (combiner->lines[i].here)
			pagoda_line_write(&combiner->lines[i]);
		combiner->lines[i].here = NULL;
	}
	combiner->used = false;
}

/* The same for all queues from @first on; no access is under way. */
void pagoda_engine_combine_drain_all(struct pagoda_engine *engine, u32 first)
{
	for (; first < PAGODA_ENGINE_COMBINERS; first++)
		pagoda_engine_combine_drain(engine, first);
}

/**
 * pagoda_engine_write_back() - Write back what a queue's write combiner holds
 * @engine: Engine, initialized
 * @number: As in &pagoda_engine_run.tlb: the paging queue's is 0, engine i's i + 1
 *
 * For what resets a queue: afterwards the queue writes to no memory until it executes.
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
 * pagoda_engine_holds_writes() - Is anything written that isn't in memory yet?
 * @engine: Engine
 * @number: As in &pagoda_engine_run.tlb
 *
 * Context: the queue executes nothing meanwhile.
 * Return: Whether a line of the queue's write combiner differs from what it was loaded from.
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
