/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects in the VRAM segment, and a map that says for every page which object it belongs to. The
 * suites compare the segment with that map.
 */
#ifndef PAGODA_KUNIT_VRAM_HELPERS_H
#define PAGODA_KUNIT_VRAM_HELPERS_H

#include "rig/vidmm_helpers.h"

#define VRAM_MAX	1024	/* pages */
#define VRAM_SLOTS	64

struct vram_slot {
	struct ttm_buffer_object *bo;
	struct ttm_resource *res;
};

/**
 * struct vram_fixture - State of a case
 * @vidmm: Segments
 * @shape: Description of the device
 * @slots: Objects and their resources
 * @owner: For every page the number of its slot plus one, 0 = free
 * @used: The page belonged to an object before
 * @populated: &ttm_tt of objects that have content
 */
struct vram_fixture {
	struct pagoda_vidmm *vidmm;
	const struct pagoda_kunit_shape *shape;
	struct vram_slot slots[VRAM_SLOTS];
	u8 owner[VRAM_MAX];
	bool used[VRAM_MAX];
	struct ttm_tt populated;
};

struct vram_fixture *vram_fixture(struct kunit *test, const struct pagoda_kunit_shape *shape);
/* Allocates a resource for an empty slot; returns 0 or the manager's error. */
int vram_put_content(struct kunit *test, struct vram_fixture *fix, u32 slot, u32 pages,
		     u32 align, const struct ttm_place *place, bool content);
int vram_put(struct kunit *test, struct vram_fixture *fix, u32 slot, u32 pages,
	     const struct ttm_place *place);
void vram_drop(struct vram_fixture *fix, u32 slot);
void vram_drop_all(struct vram_fixture *fix);

bool vram_has_room(struct vram_fixture *fix, const struct ttm_place *place, u32 pages,
		   u32 align, bool when_empty);
void vram_claim(struct kunit *test, struct vram_fixture *fix, u32 slot,
		const struct ttm_place *place);
void vram_check_books(struct kunit *test, struct vram_fixture *fix);
void vram_check_window(struct kunit *test, struct vram_fixture *fix, u32 slot, u32 page);

#endif
