// SPDX-License-Identifier: GPL-2.0
/*
 * Tiled surfaces, their linear views (all rows in order), the swizzling ranges in which the CPU
 * sees a linear view, and SPECIAL_LOCK_TRANSFER, which copies to and from such a view.
 *
 * The bytes of a tile's row are contiguous in the tiled surface and in the linear view; in both the
 * row begins at a multiple of its length, which divides the page size. Every copied piece of a view
 * begins at a page: so copies consist of whole rows of tiles, but for the last, which may be cut
 * short, or copied in two parts, because the write combiner takes the last bytes.
 */
#include "internal.h"

/* Bytes of each single copy by tile_rows(): the compiler inlines a copy of a constant length. */
#define PAGODA_LINE	64u

/*
 * struct pagoda_tiles - Position in a surface, in the order of its linear view
 * @surface: first byte of the surface in VRAM
 * @level: offset of the current mip level in @surface; if @mips is 0, of the linear rest behind
 *	the last level
 * @pitch: bytes from a row of the level to the next row
 * @height: rows of the level
 * @row: row of the next byte
 * @column: offset of the next byte in @row; if @mips is 0, in the linear rest
 * @shift: log2 of a tile's width in bytes and of its height in rows
 * @mips: number of levels that remain, including the current level
 */
struct pagoda_tiles {
	u8 *surface;
	u64 level;
	u64 pitch;
	u64 height;
	u64 row;
	u64 column;
	u32 shift;
	u32 mips;
};

/*
 * struct pagoda_view - Tiled and linear view of a surface while a piece of it is copied
 * @tiles: position in the tiled surface
 * @window: next byte in the window of a swizzling range, NULL = the copy uses no range
 * @swizzle: true: the piece is copied into the view, false: out of the view; see view_copy()
 */
struct pagoda_view {
	struct pagoda_tiles tiles;
	u8 *window;
	bool swizzle;
};

/*
 * Moves the position to the next mip level, whose pitch and height are half as large, rounded up to
 * whole tiles.
 */
static void tiles_level(struct pagoda_tiles *tiles)
{
	u64 mask = (1ull << tiles->shift) - 1;

	tiles->level += tiles->pitch * tiles->height;
	tiles->pitch = (tiles->pitch / 2 + mask) & ~mask;
	tiles->height = (tiles->height / 2 + mask) & ~mask;
	tiles->row = 0;
	tiles->column = 0;
	tiles->mips--;
}

/* Sets the position to the first byte of a surface with a checked layout. */
static void tiles_init(struct pagoda_tiles *tiles, u8 *surface,
		       const struct virtio_pagoda_layout *layout)
{
	memset(tiles, 0, sizeof(*tiles));
	tiles->surface = surface;
	tiles->pitch = le32_to_cpu(layout->pitch);
	tiles->height = le32_to_cpu(layout->height);
	tiles->mips = le32_to_cpu(layout->mips);
	tiles->shift = pagoda_tile_shift(le32_to_cpu(layout->tiling));
}

/* Advances the position from the first byte to byte @offset of the linear view. */
static void tiles_seek(struct pagoda_tiles *tiles, u64 offset)
{
	while (tiles->mips && offset >= tiles->pitch * tiles->height) {
		offset -= tiles->pitch * tiles->height;
		tiles_level(tiles);
	}
	tiles->row = tiles->mips ? offset / tiles->pitch : 0;
	tiles->column = offset - tiles->row * tiles->pitch;
}

/* Returns the bytes of all mip levels of a surface, without the linear rest. */
static u64 tiles_size(const struct virtio_pagoda_layout *layout)
{
	struct pagoda_tiles tiles;

	tiles_init(&tiles, NULL, layout);
	while (tiles.mips)
		tiles_level(&tiles);
	return tiles.level;
}

/* Returns whether a layout is valid and all its mip levels fit into @size bytes. */
static bool layout_valid(const struct virtio_pagoda_layout *layout, u64 size)
{
	u32 tiling = le32_to_cpu(layout->tiling);
	u32 pitch = le32_to_cpu(layout->pitch);
	u32 height = le32_to_cpu(layout->height);
	u32 mips = le32_to_cpu(layout->mips);
	u32 width = 1u << pagoda_tile_shift(tiling);

	return tiling != VIRTIO_PAGODA_TILING_LINEAR && tiling < VIRTIO_PAGODA_TILING_COUNT &&
	       pitch && pitch <= VIRTIO_PAGODA_MAX_PITCH && IS_ALIGNED(pitch, width) &&
	       height && IS_ALIGNED(height, width) &&
	       mips && mips <= VIRTIO_PAGODA_MAX_MIPS && tiles_size(layout) <= size;
}

/*
 * Copies @size bytes from @linear to @tiled if @swizzle, else from @tiled to @linear. Inlined: a
 * constant size needs no call.
 */
static __always_inline void swizzle_move(u8 *tiled, u8 *linear, u64 size, bool swizzle)
{
	if (swizzle)
		memcpy(tiled, linear, size);
	else
		memcpy(linear, tiled, size);
}

/*
 * Copies one row of bytes through @count adjacent tiles, @width bytes in each tile, to @tiled if
 * @swizzle, else to @linear; @width and @swizzle are compile-time constants. In @tiled the parts
 * of the row are a tile apart, too far for a CPU to predict: so the next row of each tile is
 * prefetched here. Such a copy is still slower than a linear copy, for which the CPU translates an
 * address every 4096 bytes instead of every @width bytes.
 */
static __always_inline void tile_rows(u8 *tiled, u8 *linear, u64 count, u32 width, bool swizzle)
{
	u32 i;

	for (; count; count--) {
		for (i = 0; i < width; i += PAGODA_LINE) {
			if (swizzle)
				__builtin_prefetch(tiled + width + i, 1);
			else
				__builtin_prefetch(tiled + width + i, 0);
			swizzle_move(tiled + i, linear + i, PAGODA_LINE, swizzle);
		}
		tiled += width * width;
		linear += width;
	}
}

/*
 * Copies the next @size bytes of a row of the surface, which begin at a tile's border or lie within
 * a tile: from @linear if @swizzle, else to @linear.
 */
static void tiles_row(struct pagoda_tiles *tiles, u8 *linear, u64 size, bool swizzle)
{
	u64 width = 1ull << tiles->shift;
	u8 *tiled = tiles->surface + tiles->level +
		    pagoda_tile_offset(tiles->pitch, tiles->shift, tiles->row, tiles->column);
	u64 count = size >> tiles->shift;

	if (width == VIRTIO_PAGODA_TILE_4K_WIDTH && swizzle)
		tile_rows(tiled, linear, count, VIRTIO_PAGODA_TILE_4K_WIDTH, true);
	else if (width == VIRTIO_PAGODA_TILE_4K_WIDTH)
		tile_rows(tiled, linear, count, VIRTIO_PAGODA_TILE_4K_WIDTH, false);
	else if (swizzle)
		tile_rows(tiled, linear, count, VIRTIO_PAGODA_TILE_64K_WIDTH, true);
	else
		tile_rows(tiled, linear, count, VIRTIO_PAGODA_TILE_64K_WIDTH, false);
	if (size % width)
		swizzle_move(tiled + count * width * width, linear + count * width, size % width,
			     swizzle);
}

/*
 * Copies the next @size bytes of the linear view: from @linear to the tiled surface if @swizzle,
 * else from the surface to @linear.
 */
static void tiles_copy(struct pagoda_tiles *tiles, u8 *linear, u64 size, bool swizzle)
{
	while (size && tiles->mips) {
		u64 part = min(size, tiles->pitch - tiles->column);

		tiles_row(tiles, linear, part, swizzle);
		linear += part;
		size -= part;
		tiles->column += part;
		if (tiles->column < tiles->pitch)
			break;
		tiles->column = 0;
		if (++tiles->row == tiles->height)
			tiles_level(tiles);
	}
	if (!size)
		return;
	swizzle_move(tiles->surface + tiles->level + tiles->column, linear, size, swizzle);
	tiles->column += size;
}

static void view_init(struct pagoda_view *view, u8 *surface,
		      const struct virtio_pagoda_tiled *tiled, u8 *window, bool swizzle)
{
	u64 offset = le64_to_cpu(tiled->offset);

	tiles_init(&view->tiles, surface, &tiled->layout);
	tiles_seek(&view->tiles, offset);
	view->window = window ? window + offset : NULL;
	view->swizzle = swizzle;
}

/*
 * Copies @size bytes between the view and @linear. Out of the view: from the window, or from the
 * surface if there is no window. Into the view: to the surface, and to the window if there is one.
 */
static void view_copy(struct pagoda_view *view, u8 *linear, u64 size)
{
	if (view->window) {
		swizzle_move(view->window, linear, size, view->swizzle);
		view->window += size;
	}
	if (view->swizzle || !view->window)
		tiles_copy(&view->tiles, linear, size, view->swizzle);
}

/*
 * Copies the next @left bytes of @view to the memory at @cursor, or, if @view->swizzle, from this
 * memory into the view; advances both. Returns 0, PAGODA_STOPPED or a fault reason.
 */
static u32 view_piece(struct pagoda_exec *exec, struct pagoda_view *view,
		      struct pagoda_cursor *cursor, u64 left)
{
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;

	while (left && !reason) {
		u64 size;

		if (!cursor->here_size) {
			reason = pagoda_engine_cursor_refill(exec, cursor);
			if (reason)
				return reason;
		}
		size = min_t(u64, cursor->here_size, PAGODA_CHUNK);
		view_copy(view, cursor->here, size);
		if (!view->swizzle)	/* the linear side may be in VRAM, too */
			pagoda_engine_wrote(exec->engine, cursor->here, size);
		cursor->here += size;
		cursor->here_size -= size;
		left -= size;
		reason = pagoda_progress(exec, size);
	}
	return reason;
}

/*
 * Checks the surface at @location, and that its linear view has a piece of @size bytes at
 * @tiled->offset. Returns 0 or a fault reason.
 */
u32 pagoda_engine_tiled_check(struct pagoda_exec *exec,
			      const struct virtio_pagoda_location *location,
			      const struct virtio_pagoda_tiled *tiled, u64 size, u32 access)
{
	u64 offset = le64_to_cpu(tiled->offset);
	u64 surface = le64_to_cpu(tiled->surface_size);

	if (le32_to_cpu(location->segment) != VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_SEGMENT,
					    le32_to_cpu(location->segment), access);
	if (!IS_ALIGNED(offset, PAGODA_PAGE))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, offset, access);
	if (size > surface || offset > surface - size)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, offset, access);
	if (!layout_valid(&tiled->layout, surface))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_LAYOUT, surface, access);
	return pagoda_engine_location_check(exec, location, NULL, surface, access);
}

/*
 * Copies @size bytes between the checked tiled surface at @address of VRAM, from byte
 * @tiled->offset of its linear view on, and the linear memory at @cursor: into the surface if
 * @swizzle, else out of it. Returns 0, PAGODA_STOPPED or a fault reason.
 */
u32 pagoda_engine_tiled_copy(struct pagoda_exec *exec, u64 address,
			     const struct virtio_pagoda_tiled *tiled,
			     struct pagoda_cursor *cursor, u64 size, bool swizzle)
{
	u8 *surface = exec->engine->vram + address;
	struct pagoda_view view;
	u32 reason;

	view_init(&view, surface, tiled, NULL, swizzle);
	reason = view_piece(exec, &view, cursor, size);
	/* Mark the whole surface: rows of a piece are in tiles all over the surface. */
	if (swizzle)
		pagoda_engine_wrote(exec->engine, surface, le64_to_cpu(tiled->surface_size));
	return reason;
}

bool pagoda_engine_ranges_valid(const struct pagoda_engine *engine)
{
	u32 i;

	if (engine->nr_ranges > VIRTIO_PAGODA_MAX_SWIZZLING_RANGES ||
	    (engine->nr_ranges && (!engine->ranges || !engine->swizzling_bytes ||
				   !IS_ALIGNED(engine->swizzling_bytes, 0x10000))))
		return false;
	for (i = 0; i < engine->nr_ranges; i++)
		if (!engine->ranges[i].window || engine->ranges[i].size)
			return false;
	return true;
}

/* Returns 0 if a swizzling range can show the surface, else a fault reason. */
static u32 swizzle_range_check(const struct pagoda_engine *engine, u64 address, u64 size,
			       const struct virtio_pagoda_layout *layout)
{
	u64 bad;

	if (!IS_ALIGNED(address, PAGODA_PAGE) || !IS_ALIGNED(size, PAGODA_PAGE))
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	if (size > engine->swizzling_bytes ||
	    !pagoda_engine_vram_valid(engine, address, size, &bad))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	return layout_valid(layout, size) ? VIRTIO_PAGODA_FAULT_NONE :
					    VIRTIO_PAGODA_FAULT_BAD_LAYOUT;
}

/*
 * Copies the whole surface that is bound to a range: from the range's window to the surface if
 * @swizzle, else from the surface to the window. swizzling_lock is held for writing.
 */
static void range_copy(struct pagoda_engine *engine, struct pagoda_engine_swizzling *range,
		       bool swizzle)
{
	struct pagoda_tiles tiles;
	u64 offset, size;

	pagoda_shim_assert_held_write(&engine->swizzling_lock);
	tiles_init(&tiles, engine->vram + range->address, &range->layout);
	for (offset = 0; offset < range->size; offset += size) {
		size = min_t(u64, range->size - offset, PAGODA_CHUNK);
		tiles_copy(&tiles, range->window + offset, size, swizzle);
		pagoda_shim_yield();
	}
	if (swizzle)
		pagoda_engine_wrote(engine, engine->vram + range->address, range->size);
}

static void range_bind(struct pagoda_engine_swizzling *range, u64 address, u64 size,
		       const struct virtio_pagoda_layout *layout)
{
	range->address = address;
	range->size = size;
	range->layout = *layout;
}

/**
 * pagoda_engine_range_acquire() - Show the linear view of a surface in a swizzling range
 * @engine: Engine, initialized
 * @range: Number of the range
 * @address: Offset of the surface's first byte in VRAM, page aligned
 * @size: Bytes of the surface, a multiple of the page size, at most the engine's @swizzling_bytes
 * @layout: Layout of the surface
 *
 * The view is copied into the range's window; what the window showed before is dropped without
 * being written back. After an error the range is unchanged.
 *
 * Context: may be called while buffers execute; may sleep; takes &pagoda_engine.swizzling_lock.
 * Return: %VIRTIO_PAGODA_FAULT_NONE, %VIRTIO_PAGODA_FAULT_MISALIGNED,
 * %VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, or %VIRTIO_PAGODA_FAULT_BAD_LAYOUT for an invalid layout or a
 * range that doesn't exist.
 */
u32 pagoda_engine_range_acquire(struct pagoda_engine *engine, u32 range, u64 address,
				u64 size, const struct virtio_pagoda_layout *layout)
{
	u32 reason;

	if (range >= engine->nr_ranges)
		return VIRTIO_PAGODA_FAULT_BAD_LAYOUT;
	reason = swizzle_range_check(engine, address, size, layout);
	if (reason)
		return reason;
	pagoda_shim_write_lock(&engine->swizzling_lock);
	range_bind(&engine->ranges[range], address, size, layout);
	range_copy(engine, &engine->ranges[range], false);
	pagoda_shim_write_unlock(&engine->swizzling_lock);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/**
 * pagoda_engine_range_release() - Remove a surface from a swizzling range
 * @engine: Engine, initialized
 * @range: Number of the range
 * @write_back: Copy the range's window into the surface first
 *
 * Context: may be called while buffers execute; may sleep; takes &pagoda_engine.swizzling_lock.
 * Return: %VIRTIO_PAGODA_FAULT_NONE, or %VIRTIO_PAGODA_FAULT_BAD_LAYOUT for a range that doesn't
 * exist or shows no surface.
 */
u32 pagoda_engine_range_release(struct pagoda_engine *engine, u32 range, bool write_back)
{
	u32 reason = VIRTIO_PAGODA_FAULT_BAD_LAYOUT;

	if (range >= engine->nr_ranges)
		return reason;
	pagoda_shim_write_lock(&engine->swizzling_lock);
	if (engine->ranges[range].size) {
		if (write_back)
			range_copy(engine, &engine->ranges[range], true);
		engine->ranges[range].size = 0;
		reason = VIRTIO_PAGODA_FAULT_NONE;
	}
	pagoda_shim_write_unlock(&engine->swizzling_lock);
	return reason;
}

/* Returns true if a SPECIAL_LOCK_TRANSFER copies out of the surface in VRAM, false if into it. */
static bool lock_out(const struct virtio_pagoda_special_lock_transfer *lock)
{
	return le32_to_cpu(lock->transfer.src.segment) == VIRTIO_PAGODA_SEGMENT_VRAM;
}

static const struct virtio_pagoda_location *
lock_surface(const struct virtio_pagoda_special_lock_transfer *lock)
{
	return lock_out(lock) ? &lock->transfer.src : &lock->transfer.dst;
}

static const struct virtio_pagoda_location *
lock_piece(const struct virtio_pagoda_special_lock_transfer *lock)
{
	return lock_out(lock) ? &lock->transfer.dst : &lock->transfer.src;
}

static bool lock_flag(const struct virtio_pagoda_special_lock_transfer *lock, u16 flag)
{
	return le16_to_cpu(lock->transfer.packet.flags) & flag;
}

u64 pagoda_engine_lock_tail(const void *packet)
{
	const struct virtio_pagoda_special_lock_transfer *lock = packet;

	return pagoda_engine_transfer_runs(&lock->transfer) * sizeof(struct virtio_pagoda_run);
}

/*
 * Refuses a packet whose swizzling range isn't bound to the packet's surface, except for the first
 * piece (TRANSFER_START) of a copy into VRAM: when that piece is executed (@bind), not when it is
 * checked, it binds the range to the surface. Returns 0 or a fault reason.
 */
static u32 lock_bind(struct pagoda_exec *exec,
		     const struct virtio_pagoda_special_lock_transfer *lock, bool bind)
{
	u32 id = le32_to_cpu(lock->range_id);
	struct pagoda_engine_swizzling *range = &exec->engine->ranges[id];
	u64 address = le64_to_cpu(lock_surface(lock)->address);
	u64 size = le64_to_cpu(lock->tiled.surface_size);

	pagoda_shim_assert_held(&exec->engine->swizzling_lock);
	if (!lock_out(lock) && lock_flag(lock, VIRTIO_PAGODA_TRANSFER_START)) {
		if (bind)
			range_bind(range, address, size, &lock->tiled.layout);
	} else if (range->address != address || range->size != size ||
		   memcmp(&range->layout, &lock->tiled.layout, sizeof(range->layout))) {
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_LAYOUT, id);
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

static u32 lock_range_check(struct pagoda_exec *exec,
			    const struct virtio_pagoda_special_lock_transfer *lock)
{
	struct pagoda_engine *engine = exec->engine;
	u32 id = le32_to_cpu(lock->range_id);
	u32 reason;

	if (id >= engine->nr_ranges)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_LAYOUT, id);
	if (le64_to_cpu(lock->tiled.surface_size) > engine->swizzling_bytes)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_LAYOUT,
				     le64_to_cpu(lock->tiled.surface_size));
	pagoda_shim_read_lock(&engine->swizzling_lock);
	reason = lock_bind(exec, lock, false);
	pagoda_shim_read_unlock(&engine->swizzling_lock);
	return reason;
}

u32 pagoda_engine_lock_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_special_lock_transfer *lock = packet;
	const struct virtio_pagoda_location *piece = lock_piece(lock);
	u64 size = le64_to_cpu(lock->transfer.size);
	bool out = lock_out(lock);
	u32 reason;

	reason = pagoda_engine_transfer_size_check(exec, &lock->transfer);
	if (reason)
		return reason;
	if (le32_to_cpu(piece->segment) == VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_SEGMENT,
				     VIRTIO_PAGODA_SEGMENT_VRAM);
	reason = pagoda_engine_tiled_check(exec, lock_surface(lock), &lock->tiled, size,
					   out ? VIRTIO_PAGODA_ACCESS_READ :
						 VIRTIO_PAGODA_ACCESS_WRITE);
	if (reason)
		return reason;
	reason = pagoda_engine_location_check(exec, piece, (const void *)(lock + 1), size,
					      out ? VIRTIO_PAGODA_ACCESS_WRITE :
						    VIRTIO_PAGODA_ACCESS_READ);
	return reason ? reason : lock_range_check(exec, lock);
}

/*
 * Copies the part of the surface that a SPECIAL_LOCK_TRANSFER names: out of VRAM from the window of
 * the swizzling range, else to the window and to the surface. The last part (TRANSFER_END) out of
 * VRAM releases the range. swizzling_lock is held, for writing if the range is bound or released.
 * Returns 0 or a fault reason, such as BAD_LAYOUT if the range was bound otherwise or released
 * after the check.
 */
static u32 lock_copy(struct pagoda_exec *exec,
		     const struct virtio_pagoda_special_lock_transfer *lock)
{
	struct pagoda_engine_swizzling *range = &exec->engine->ranges[le32_to_cpu(lock->range_id)];
	u64 size = ALIGN_DOWN(le64_to_cpu(lock->transfer.size) >> exec->half, 4);
	bool out = lock_out(lock);
	struct pagoda_cursor cursor;
	struct pagoda_view view;
	u32 reason;

	reason = lock_bind(exec, lock, true);
	if (reason)
		return reason;
	pagoda_engine_cursor_init(&cursor, lock_piece(lock), (const void *)(lock + 1),
				  exec->run->spans, size,
				  out ? VIRTIO_PAGODA_ACCESS_WRITE : VIRTIO_PAGODA_ACCESS_READ);
	cursor.combines = true;
	view_init(&view, exec->engine->vram + range->address, &lock->tiled, range->window, !out);
	reason = view_piece(exec, &view, &cursor, size);
	if (!out)
		pagoda_engine_wrote(exec->engine, exec->engine->vram + range->address,
				    range->size);
	if (!reason && out && !exec->half && lock_flag(lock, VIRTIO_PAGODA_TRANSFER_END))
		range->size = 0;
	return reason;
}

u32 pagoda_engine_lock_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_special_lock_transfer *lock = packet;
	struct pagoda_engine *engine = exec->engine;
	u32 reason;

	if (lock_flag(lock,
		      lock_out(lock) ? VIRTIO_PAGODA_TRANSFER_END : VIRTIO_PAGODA_TRANSFER_START)) {
		pagoda_shim_write_lock(&engine->swizzling_lock);
		reason = lock_copy(exec, lock);
		pagoda_shim_write_unlock(&engine->swizzling_lock);
	} else {
		pagoda_shim_read_lock(&engine->swizzling_lock);
		reason = lock_copy(exec, lock);
		pagoda_shim_read_unlock(&engine->swizzling_lock);
	}
	return reason;
}
