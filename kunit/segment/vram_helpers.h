/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects in the VRAM segment, and a map that says for every page of VRAM which object has the
 * page. vram_test.c compares the segment with that map.
 */
#ifndef PAGODA_KUNIT_VRAM_HELPERS_H
#define PAGODA_KUNIT_VRAM_HELPERS_H

#include "rig/vidmm_helpers.h"

#define VRAM_MAX	1024	/* most pages of VRAM in a shape */
#define VRAM_SLOTS	64

struct vram_slot {
	struct ttm_buffer_object *bo;
	struct ttm_resource *res;
};

/**
 * struct vram_fixture - State of a case
 * @vidmm: Memory manager that has segments, but no stream
 * @shape: Description of the device
 * @slots: Objects and their resources
 * @owner: For each page of VRAM the index in @slots of the page's object plus one; 0 = the page is
 *	free, 0xff = the page is in a range of &pagoda_kunit_shape.invalid
 * @used: For each page whether the page belongs to an object or ever did
 * @populated: The &ttm_tt that all objects with content share: marked as populated, without pages
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
/*
 * Make an object with a resource in VRAM in an empty slot; return 0 or the segment manager's error.
 * vram_put() makes an object without content, whose alignment is a page.
 */
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
