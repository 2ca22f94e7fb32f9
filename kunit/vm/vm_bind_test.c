// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of VM_BIND: which addresses an entry may change, and what the GPU finds there afterwards;
 * what a refused array leaves behind; fences; driver protections; CHOOSE; mapped monitored fences.
 */
#include "vm_helpers.h"

#define HERE		((u64)SZ_4M)
#define KIB64		((u64)SZ_64K)

static struct pagoda_bind bind_of(u32 type, u64 address, u64 size)
{
	return (struct pagoda_bind) { .type = type, .address = address, .size = size };
}

static struct pagoda_bind bind_map(struct pagoda_bo *bo, u64 address, u64 offset, u64 size)
{
	return (struct pagoda_bind) {
		.type = DRM_PAGODA_BIND_MAP,
		.bo = bo,
		.address = address,
		.offset = offset,
		.size = size,
	};
}

static struct pagoda_bo *bind_bo(struct pagoda_rig *rig, u32 pages, u32 base)
{
	struct pagoda_bo *bo = vmt_bo(rig, pages, base);

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	return bo;
}

static void expect_fault(struct pagoda_rig *rig, struct pagoda_vm *vm, u64 va)
{
	KUNIT_EXPECT_EQ_MSG(rig->test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
			    vmt_fault(rig, vm->id, va), "address %#llx", va);
}

/*
 * VM_BIND of an array, with DRM_PAGODA_VM_BIND_UPDATE if @update. Stores the address of the first
 * entry, which CHOOSE may have set, in *@address, unless that is NULL. Returns VM_BIND's result.
 */
static int bind_array(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count,
		      bool update, u64 *address)
{
	struct pagoda_bind_job *job = pagoda_bind_job_create(count);
	struct dma_fence *fence;
	int ret;
	u32 i;

	if (!job)
		return -ENOMEM;
	memcpy(job->binds, binds, count * sizeof(*binds));
	job->update = update;
	for (i = 0; i < count; i++)
		if (binds[i].bo)
			drm_gem_object_get(pagoda_bo_gem(binds[i].bo));
	ret = pagoda_vm_bind_job(vm, job, &fence);
	dma_fence_put(fence);
	if (address)
		*address = job->binds[0].address;
	pagoda_bind_job_put(job);
	return ret;
}

/* The range of a MAP must be within one reserved range, or outside of all (C131). */
static void vm_maps_in_one_place(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 32, 100);
	const u64 end = HERE + KIB64;

	PAGODA_PROVES(C131);
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE, KIB64));
	/* Refused: across the reserved range's end, start, or both; into another reserved range. */
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_map(vm, bo, end - PAGE_SIZE, 0, 2 * PAGE_SIZE, 0));
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_map(vm, bo, HERE - PAGE_SIZE, 0, 2 * PAGE_SIZE, 0));
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_map(vm, bo, HERE - PAGE_SIZE, 0, 18 * PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, end, KIB64));
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_map(vm, bo, end - PAGE_SIZE, 0, 2 * PAGE_SIZE, 0));
	expect_fault(rig, vm, end - PAGE_SIZE);
	/* Accepted: within the reserved range or outside, also over mapped pages. */
	KUNIT_EXPECT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, KIB64, 0));
	KUNIT_EXPECT_EQ(test, 0, vmt_map(vm, bo, HERE + PAGE_SIZE, 0, 2 * PAGE_SIZE, 0));
	KUNIT_EXPECT_EQ(test, 0, vmt_map(vm, bo, HERE + SZ_2M, 0, PAGE_SIZE, 0));
	KUNIT_EXPECT_EQ(test, 0, vmt_map(vm, bo, HERE + SZ_2M, PAGE_SIZE, PAGE_SIZE, 0));
	vmt_expect(rig, vm->id, HERE, 100);
	vmt_expect(rig, vm->id, HERE + 2 * PAGE_SIZE, 100 + VM_WORDS);
	vmt_expect(rig, vm->id, HERE + 3 * PAGE_SIZE, 100 + 3 * VM_WORDS);
	vmt_expect(rig, vm->id, HERE + SZ_2M, 100 + VM_WORDS);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/* MAP_ZERO and NO_ACCESS are refused over mapped pages outside of reserved ranges (C132). */
static void vm_mapped_is_not_zero(struct kunit *test)
{
	static const u32 types[] = { DRM_PAGODA_BIND_MAP_ZERO, DRM_PAGODA_BIND_NO_ACCESS };
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 4, 7);
	const u64 there = HERE + SZ_2M;
	u32 i;

	PAGODA_PROVES(C132);
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, 2 * PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, there, KIB64));
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		KUNIT_EXPECT_EQ(test, -EEXIST, vmt_set(vm, types[i], HERE, 2 * PAGE_SIZE));
		KUNIT_EXPECT_EQ(test, -EEXIST,
				vmt_set(vm, types[i], HERE + PAGE_SIZE, 2 * PAGE_SIZE));
		KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, types[i], HERE + 2 * PAGE_SIZE, PAGE_SIZE));
		vmt_expect(rig, vm->id, HERE + PAGE_SIZE, 7 + VM_WORDS);
		/* In a reserved range mapped pages may be replaced. */
		KUNIT_EXPECT_EQ(test, 0, vmt_map(vm, bo, there, 0, PAGE_SIZE, 0));
		vmt_expect(rig, vm->id, there, 7);
		KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, types[i], there, PAGE_SIZE));
		if (types[i] == DRM_PAGODA_BIND_MAP_ZERO)
			vmt_expect(rig, vm->id, there, 0);
		else
			expect_fault(rig, vm, there);
	}
	expect_fault(rig, vm, HERE + 2 * PAGE_SIZE);
	/* RESERVE is refused over mapped pages and NO_ACCESS; MAP may replace NO_ACCESS. */
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE, KIB64));
	KUNIT_EXPECT_EQ(test, 0, vmt_map(vm, bo, HERE + 2 * PAGE_SIZE, 0, PAGE_SIZE, 0));
	vmt_expect(rig, vm->id, HERE + 2 * PAGE_SIZE, 7);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/* RESERVE is refused if any of its addresses is mapped, zero, without access or reserved (C133). */
static void vm_reserves_what_is_free(struct kunit *test)
{
	static const u32 types[] = {
		DRM_PAGODA_BIND_MAP_ZERO, DRM_PAGODA_BIND_NO_ACCESS, DRM_PAGODA_BIND_MAP,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 1, 7);
	u32 i;

	PAGODA_PROVES(C133);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		const u64 last = HERE + 2 * KIB64 - PAGE_SIZE;
		struct pagoda_bind bind = bind_of(types[i], last, PAGE_SIZE);

		if (types[i] == DRM_PAGODA_BIND_MAP)
			bind.bo = bo;
		KUNIT_ASSERT_EQ(test, 0, vmt_do(vm, &bind, 1));
		KUNIT_EXPECT_EQ(test, -EEXIST,
				vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE, 2 * KIB64));
		KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE, KIB64));
		KUNIT_EXPECT_EQ(test, -EEXIST, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE, KIB64));
		KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, last, PAGE_SIZE));
		KUNIT_EXPECT_EQ(test, 0,
				vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE + KIB64, KIB64));
		expect_fault(rig, vm, HERE);
		KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE, 2 * KIB64));
	}
	/* A part of a reserved range that was unmapped isn't reserved any more. */
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE, 3 * KIB64));
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE + KIB64, KIB64));
	KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE + KIB64, KIB64));
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_map(vm, bo, HERE + KIB64 - PAGE_SIZE, 0,
					       2 * PAGE_SIZE, 0));
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/*
 * An array with DRM_PAGODA_VM_BIND_UPDATE is refused unless all addresses that it changes are in
 * one reserved range (C134).
 */
static void vm_updates_one_reservation(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 16, 50);
	const u64 first = HERE, second = HERE + KIB64, far = HERE + SZ_2M;
	struct pagoda_bind binds[2] = {
		bind_map(bo, first, 0, PAGE_SIZE), bind_map(bo, second, 0, PAGE_SIZE),
	};

	PAGODA_PROVES(C134);
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, first, KIB64));
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, second, KIB64));
	KUNIT_EXPECT_EQ(test, -EINVAL, bind_array(vm, binds, 2, true, NULL));
	expect_fault(rig, vm, first);
	/* Accepted: without the flag two reserved ranges; with the flag two entries in one. */
	KUNIT_EXPECT_EQ(test, 0, bind_array(vm, binds, 2, false, NULL));
	binds[1].address = first + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, 0, bind_array(vm, binds, 2, true, NULL));
	binds[0].address = far;
	binds[1].address = far + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, -EINVAL, bind_array(vm, binds, 2, true, NULL));
	binds[0].address = second - PAGE_SIZE;
	binds[0].size = 2 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, -EINVAL, bind_array(vm, binds, 1, true, NULL));

	/*
	 * With the flag, all sources of COPY must be in one reserved range, too, which may be
	 * another one than that of the destinations.
	 */
	binds[0] = bind_of(DRM_PAGODA_BIND_COPY, first + 4 * PAGE_SIZE, PAGE_SIZE);
	binds[0].offset = second;
	binds[1] = bind_of(DRM_PAGODA_BIND_COPY, first + 5 * PAGE_SIZE, PAGE_SIZE);
	binds[1].offset = first;
	KUNIT_EXPECT_EQ(test, -EINVAL, bind_array(vm, binds, 2, true, NULL));
	binds[1].offset = far;
	KUNIT_EXPECT_EQ(test, -EINVAL, bind_array(vm, binds, 2, true, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, bind_array(vm, &binds[1], 1, true, NULL));
	binds[1].offset = second;
	KUNIT_EXPECT_EQ(test, 0, bind_array(vm, binds, 2, true, NULL));
	vmt_expect(rig, vm->id, first + 5 * PAGE_SIZE, 50);

	/* Addresses that are unmapped with the flag stay reserved; without the flag they don't. */
	binds[0] = bind_of(DRM_PAGODA_BIND_UNMAP, first, KIB64);
	KUNIT_EXPECT_EQ(test, 0, bind_array(vm, binds, 1, true, NULL));
	expect_fault(rig, vm, first);
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, first, KIB64));
	KUNIT_EXPECT_EQ(test, 0, bind_array(vm, binds, 1, false, NULL));
	KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, first, KIB64));
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/* Entries of an array apply in order, each on top of those before; if one is refused, none does. */
static void vm_arrays_are_in_order(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 8, 1);
	struct pagoda_bind binds[] = {
		bind_map(bo, HERE, 0, 8 * PAGE_SIZE),
		bind_of(DRM_PAGODA_BIND_UNMAP, HERE + PAGE_SIZE, 6 * PAGE_SIZE),
		bind_of(DRM_PAGODA_BIND_MAP_ZERO, HERE + 2 * PAGE_SIZE, 4 * PAGE_SIZE),
		bind_map(bo, HERE + 3 * PAGE_SIZE, 7 * PAGE_SIZE, PAGE_SIZE),
		bind_of(DRM_PAGODA_BIND_RESERVE, HERE, KIB64),
	};
	const u32 want[] = { 1, ~0u, 0, 1 + 7 * VM_WORDS, 0, 0, ~0u, 1 + 7 * VM_WORDS };
	u32 i;

	PAGODA_PROVES(C135);
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_do(vm, binds, 5));
	for (i = 0; i < 8; i++)
		expect_fault(rig, vm, HERE + i * PAGE_SIZE);
	/* The refused array left nothing in the plan, so all addresses can be reserved. */
	KUNIT_ASSERT_EQ(test, 0, vmt_do(vm, &binds[4], 1));
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE, KIB64));
	KUNIT_ASSERT_EQ(test, 0, vmt_do(vm, binds, 4));
	for (i = 0; i < 8; i++) {
		if (want[i] == ~0u)
			expect_fault(rig, vm, HERE + i * PAGE_SIZE);
		else
			vmt_expect(rig, vm->id, HERE + i * PAGE_SIZE, want[i]);
	}
	/* The MAP of all eight pages is the last entry now, and covers all before. */
	swap(binds[0], binds[3]);
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE, KIB64));
	KUNIT_ASSERT_EQ(test, 0, vmt_do(vm, binds, 4));
	for (i = 0; i < 8; i++)
		vmt_expect(rig, vm->id, HERE + i * PAGE_SIZE, 1 + i * VM_WORDS);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

static void expect_window(struct pagoda_rig *rig, struct pagoda_vm *vm, u64 va, u32 from, u32 to)
{
	for (; from < to; from++)
		vmt_expect(rig, vm->id, va + from * PAGE_SIZE, 60 + (1 + from % 3) * VM_WORDS);
}

/*
 * The window of a MAP, a part of the allocation, repeats over the range of addresses, also after a
 * page was unmapped, a part was copied, and the allocation moved (C136).
 */
static void vm_windows_repeat(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 5, 60);
	struct pagoda_bind bind = bind_map(bo, HERE, PAGE_SIZE, 12 * PAGE_SIZE);
	const u64 other = HERE + SZ_2M - 4 * PAGE_SIZE;

	PAGODA_PROVES(C136);
	bind.window = 3 * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, vmt_do(vm, &bind, 1));
	expect_window(rig, vm, HERE, 0, 12);
	/* Unmap a page in the middle of a window; copy the pages behind it. */
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE + 4 * PAGE_SIZE,
					 PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, vmt_copy(vm, HERE + 5 * PAGE_SIZE, other, 7 * PAGE_SIZE));
	expect_window(rig, vm, HERE, 0, 4);
	expect_fault(rig, vm, HERE + 4 * PAGE_SIZE);
	expect_window(rig, vm, HERE, 5, 12);
	expect_window(rig, vm, other - 5 * PAGE_SIZE, 5, 12);
	/* After a move of the allocation its mappings are valid again, the unmapped page isn't. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	expect_fault(rig, vm, HERE + 11 * PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(vm));
	expect_window(rig, vm, HERE, 0, 4);
	expect_window(rig, vm, HERE, 5, 12);
	expect_window(rig, vm, other - 5 * PAGE_SIZE, 5, 12);
	expect_fault(rig, vm, HERE + 4 * PAGE_SIZE);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/*
 * A COPY whose source and destination overlap works like memmove(), in both directions and with an
 * unmapped page; the copied mappings are still right after the allocation has moved.
 */
static void vm_copies_over_itself(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 8, 9);
	const u32 up[] = { 7, 6, 7, 6, 5, ~0u, 3, 2 }, down[] = { 7, 6, 5, ~0u, 3, ~0u, 3, 2 };
	u32 i, round;

	PAGODA_PROVES(C137);
	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE + i * PAGE_SIZE,
						 (7 - i) * PAGE_SIZE, PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE + 3 * PAGE_SIZE,
					 PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, vmt_copy(vm, HERE, HERE + 2 * PAGE_SIZE, 6 * PAGE_SIZE));
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 8; i++) {
			u32 want = round ? down[i] : up[i];

			if (want == ~0u)
				expect_fault(rig, vm, HERE + i * PAGE_SIZE);
			else
				vmt_expect(rig, vm->id, HERE + i * PAGE_SIZE,
					   9 + want * VM_WORDS);
		}
		if (!round) {
			KUNIT_ASSERT_EQ(test, 0, vmt_copy(vm, HERE + 2 * PAGE_SIZE, HERE,
							  5 * PAGE_SIZE));
			continue;
		}
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
		KUNIT_ASSERT_EQ(test, 0, vmt_validate(vm));
	}
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/* VM_BIND returns the fence after which its addresses can be used, or NULL if they can at once. */
static void vm_says_when(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 2, 1);
	struct pagoda_bind bind = bind_map(bo, HERE + PAGE_SIZE, 0, PAGE_SIZE);
	struct dma_fence *fence;
	u32 value = 0;

	/* Creates the page tables: the next VM_BIND needs no new table, and returns at once. */
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, PAGE_SIZE, 0));
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	PAGODA_PROVES(C129);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vm_bind(vm, &bind, 1, &fence));
	if (fence) {
		KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fence));
		pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
		KUNIT_EXPECT_GT(test, dma_fence_wait_timeout(fence, false, 30 * HZ), 0l);
		dma_fence_put(fence);
	}
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_NONE,
			vmt_peek(rig, vm->id, bind.address, VIRTIO_PAGODA_ACCESS_READ, &value));
	KUNIT_EXPECT_EQ(test, 1u, value);
	pagoda_rig_settle(rig);
	/* An array that changes nothing has no fence. */
	bind = bind_of(DRM_PAGODA_BIND_UNMAP, HERE + SZ_1G, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vm_bind(vm, &bind, 1, &fence));
	KUNIT_EXPECT_NULL(test, fence);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/* Unmapped addresses can be reserved or mapped before the device has executed the UNMAP. */
static void vm_frees_at_once(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *one = bind_bo(rig, 16, 1), *two = bind_bo(rig, 16, 500);

	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, one, HERE + KIB64, 0, PAGE_SIZE, 0));
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	PAGODA_PROVES(C138);
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, one, HERE, 0, KIB64, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE, KIB64));
	KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE, KIB64));
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE, KIB64));
	KUNIT_EXPECT_EQ(test, 0, vmt_map(vm, two, HERE, 0, KIB64, 0));
	vmt_expect(rig, vm->id, HERE + PAGE_SIZE, 500 + VM_WORDS);
	vmt_expect(rig, vm->id, HERE + 15 * PAGE_SIZE, 500 + 15 * VM_WORDS);
	pagoda_rig_close(one);
	pagoda_rig_close(two);
	vmt_drop(vm);
}

/*
 * When an allocation's handle is closed, the addresses at which the allocation is mapped are
 * unmapped and free; those in a reserved range stay reserved (C139).
 */
static void vm_handles_take_their_addresses(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 16, 1), *stays = bind_bo(rig, 1, 40);
	const u64 far = HERE + SZ_1G;

	PAGODA_PROVES(C139);
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, HERE, 0, KIB64, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, stays, HERE + PAGE_SIZE, 0, PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, far, KIB64));
	KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, far, 0, PAGE_SIZE, 0));
	pagoda_vm_forget(vm, bo);
	expect_fault(rig, vm, HERE);
	expect_fault(rig, vm, HERE + 2 * PAGE_SIZE);
	expect_fault(rig, vm, far);
	vmt_expect(rig, vm->id, HERE + PAGE_SIZE, 40);
	/*
	 * The addresses at HERE are free, except for the page of the other mapping; those at far
	 * are still reserved.
	 */
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE, KIB64));
	KUNIT_EXPECT_EQ(test, -EEXIST, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, far, KIB64));
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE + PAGE_SIZE, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE, KIB64));
	KUNIT_EXPECT_EQ(test, 0, vmt_map(vm, stays, far, 0, PAGE_SIZE, 0));
	pagoda_rig_close(bo);
	pagoda_rig_close(stays);
	vmt_drop(vm);
}

static struct pagoda_bind bind_unique(struct pagoda_bo *bo, u64 address, u64 offset, u64 value)
{
	struct pagoda_bind bind = bind_map(bo, address, offset, 4 * PAGE_SIZE);

	bind.driver_protection = value;
	return bind;
}

/*
 * Bytes of an allocation that are mapped with a unique driver protection can't be mapped with
 * another driver protection, in any VM (C142).
 */
static void vm_protection_is_unique(struct kunit *test)
{
	const u64 one = PAGODA_PROTECTION_UNIQUE | 1, two = PAGODA_PROTECTION_UNIQUE | 2;
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_vm *vm = vmt_make(rig), *other = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 8, 1), *apart = bind_bo(rig, 8, 90);
	struct pagoda_bo *fresh = bind_bo(rig, 8, 91);
	struct pagoda_bind bind = bind_unique(bo, HERE, 0, one), binds[2];
	const u64 far = HERE + SZ_2M;

	PAGODA_PROVES(C142);
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_RESERVE, HERE, KIB64));
	KUNIT_ASSERT_EQ(test, 0, vmt_do(vm, &bind, 1));
	/*
	 * Accepted: the same value anywhere; another value for other pages; any value for other
	 * allocations.
	 */
	bind = bind_unique(bo, far, 0, one);
	KUNIT_EXPECT_EQ(test, 0, vmt_do(vm, &bind, 1));
	KUNIT_EXPECT_EQ(test, 0, vmt_do(other, &bind, 1));
	bind = bind_unique(bo, far + KIB64, 4 * PAGE_SIZE, two);
	KUNIT_EXPECT_EQ(test, 0, vmt_do(vm, &bind, 1));
	bind = bind_unique(apart, far + 2 * KIB64, 0, two);
	KUNIT_EXPECT_EQ(test, 0, vmt_do(vm, &bind, 1));
	/*
	 * Another value for these pages is refused, in either VM, even if the ranges only overlap.
	 */
	bind = bind_unique(bo, far + 3 * KIB64, 3 * PAGE_SIZE, two);
	KUNIT_EXPECT_EQ(test, -EINVAL, vmt_do(vm, &bind, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, vmt_do(other, &bind, 1));
	bind.driver_protection = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, vmt_do(vm, &bind, 1));
	bind = bind_unique(bo, HERE, 0, 1);
	KUNIT_EXPECT_EQ(test, -EINVAL, vmt_do(vm, &bind, 1));
	/* Another value is refused until the last mapping with the first value is gone. */
	KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_NO_ACCESS, HERE, 4 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, -EINVAL, vmt_do(vm, &bind, 1));
	KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, far, 4 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, -EINVAL, vmt_do(vm, &bind, 1));
	KUNIT_EXPECT_EQ(test, 0, vmt_set(other, DRM_PAGODA_BIND_UNMAP, far, 4 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, 0, vmt_do(vm, &bind, 1));
	/* In an array, too, a byte can't have two values; what it unmaps before doesn't count. */
	binds[0] = bind_unique(apart, far + 4 * KIB64, 4 * PAGE_SIZE, one);
	binds[1] = bind_unique(apart, far + 5 * KIB64, 4 * PAGE_SIZE, two);
	KUNIT_EXPECT_EQ(test, -EINVAL, vmt_do(vm, binds, 2));
	binds[0] = bind_of(DRM_PAGODA_BIND_UNMAP, far + 2 * KIB64, 4 * PAGE_SIZE);
	binds[1] = bind_unique(apart, far + 5 * KIB64, 0, one);
	KUNIT_EXPECT_EQ(test, -EINVAL, vmt_do(vm, &binds[1], 1));
	KUNIT_EXPECT_EQ(test, 0, vmt_do(vm, binds, 2));
	/* Two values are refused also if the first unique one comes with the second entry. */
	binds[0] = bind_unique(fresh, far + 6 * KIB64, 0, 1);
	binds[1] = bind_unique(fresh, far + 7 * KIB64, 0, one);
	KUNIT_EXPECT_EQ(test, -EINVAL, vmt_do(vm, binds, 2));
	binds[0].offset = 4 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, 0, vmt_do(vm, binds, 2));
	pagoda_rig_close(bo);
	pagoda_rig_close(apart);
	pagoda_rig_close(fresh);
	vmt_drop(vm);
	vmt_drop(other);
}

/*
 * Returns the driver protection, in 12 bits, with which scratch windows must map byte @offset of
 * the allocation of vm_protection_in_windows().
 */
static u64 window_protection(u64 offset)
{
	if (offset >= 6 * PAGE_SIZE && offset < 9 * PAGE_SIZE)
		return 0x222;
	return offset >= 2 * PAGE_SIZE && offset < 6 * PAGE_SIZE ? 0x111 : 0;
}

/*
 * Expects of the packets since index @from of the log that mapped the allocation in scratch
 * windows: both windows of each copy have window_protection(). Returns the number of copies.
 */
static u32 expect_windows(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 from)
{
	u32 op = pagoda_rig_copy_op(rig), pieces = 0, updates = 0;

	pagoda_rig_settle(rig);
	for (; from < rig->nr_log; from++) {
		const struct pagoda_rig_note *note = &rig->log[from];
		u64 end = note->offset + note->size - PAGE_SIZE;

		if (note->allocation != bo->id)
			continue;
		if (note->opcode == op) {
			KUNIT_EXPECT_EQ(rig->test, window_protection(note->offset),
					window_protection(end));
			pieces++;
		}
		if (note->opcode != VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE || note->generation ||
		    !(note->value & VIRTIO_PAGODA_PTE_VALID))
			continue;
		KUNIT_EXPECT_EQ(rig->test, window_protection(note->offset),
				note->value >> VIRTIO_PAGODA_PTE_DRIVER_SHIFT);
		updates++;
	}
	KUNIT_EXPECT_EQ(rig->test, 2 * pieces, updates);
	return pieces;
}

/*
 * A move maps bytes with a unique driver protection in the scratch windows with that protection,
 * and other bytes with 0; bytes of different protections are copied by different operations.
 */
static void vm_protection_in_windows(struct kunit *test)
{
	static const struct pagoda_rig_mode mode = { VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL };
	const struct pagoda_rig_options options = { .mode = &mode };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 16, 33);
	struct pagoda_bind binds[] = {
		bind_unique(bo, HERE, 2 * PAGE_SIZE, PAGODA_PROTECTION_UNIQUE | 0x111),
		bind_unique(bo, HERE + KIB64, 3 * PAGE_SIZE, PAGODA_PROTECTION_UNIQUE | 0x111),
		bind_unique(bo, HERE + 2 * KIB64, 6 * PAGE_SIZE, PAGODA_PROTECTION_UNIQUE | 0x222),
		bind_unique(bo, HERE + 3 * KIB64, 10 * PAGE_SIZE, 0x777),
	};
	u32 from;

	binds[1].size = 3 * PAGE_SIZE;
	binds[2].size = 3 * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, 0, vmt_do(vm, binds, ARRAY_SIZE(binds)));
	from = rig->nr_log;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	PAGODA_PROVES(C143);
	KUNIT_EXPECT_EQ(test, 4u, expect_windows(rig, bo, from));
	from = rig->nr_log;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_EQ(test, 4u, expect_windows(rig, bo, from));
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(vm));
	vmt_expect(rig, vm->id, HERE, 33 + 2 * VM_WORDS);
	vmt_expect(rig, vm->id, HERE + 2 * KIB64, 33 + 6 * VM_WORDS);
	vmt_expect(rig, vm->id, HERE + 3 * KIB64, 33 + 10 * VM_WORDS);
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/*
 * With CHOOSE the VM picks the lowest free addresses at or above the given address, aligned to 2
 * MiB or 64 KiB if the range is at least as large.
 */
static void vm_chooses_addresses(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bo = bind_bo(rig, 16, 70);
	struct pagoda_bind bind = bind_map(bo, 0, 0, PAGE_SIZE);
	u64 at, before, start, end;

	pagoda_vm_range(vm, &start, &end);
	bind.flags = DRM_PAGODA_BIND_CHOOSE;
	KUNIT_ASSERT_EQ(test, 0, bind_array(vm, &bind, 1, false, &before));
	KUNIT_EXPECT_GE(test, before, start);
	vmt_expect(rig, vm->id, before, 70);
	KUNIT_ASSERT_EQ(test, 0, bind_array(vm, &bind, 1, false, &at));
	KUNIT_EXPECT_NE(test, before, at);
	/* The lowest such addresses at or above the given address are chosen. */
	bind.address = HERE + PAGE_SIZE;
	bind.size = KIB64;
	KUNIT_ASSERT_EQ(test, 0, bind_array(vm, &bind, 1, false, &at));
	KUNIT_EXPECT_EQ(test, HERE + KIB64, at);
	vmt_expect(rig, vm->id, at + 15 * PAGE_SIZE, 70 + 15 * VM_WORDS);
	bind = bind_of(DRM_PAGODA_BIND_MAP_ZERO, HERE + PAGE_SIZE, 2 * SZ_2M);
	bind.flags = DRM_PAGODA_BIND_CHOOSE;
	KUNIT_ASSERT_EQ(test, 0, bind_array(vm, &bind, 1, false, &at));
	KUNIT_EXPECT_EQ(test, HERE + SZ_2M, at);
	vmt_expect(rig, vm->id, at + SZ_2M, 0);
	bind.type = DRM_PAGODA_BIND_RESERVE;
	bind.size = KIB64;
	KUNIT_ASSERT_EQ(test, 0, bind_array(vm, &bind, 1, false, &at));
	KUNIT_EXPECT_EQ(test, HERE + 2 * KIB64, at);
	/* The VM's last range is chosen; no other is found there, above, or as large as the VM. */
	bind.address = end - KIB64;
	KUNIT_EXPECT_EQ(test, 0, bind_array(vm, &bind, 1, false, &at));
	KUNIT_EXPECT_EQ(test, end - KIB64, at);
	KUNIT_EXPECT_EQ(test, -ENOMEM, bind_array(vm, &bind, 1, false, &at));
	bind.address = end;
	KUNIT_EXPECT_EQ(test, -ENOMEM, bind_array(vm, &bind, 1, false, &at));
	bind.address = 0;
	bind.size = end - start;
	KUNIT_EXPECT_EQ(test, -ENOMEM, bind_array(vm, &bind, 1, false, &at));
	pagoda_rig_close(bo);
	vmt_drop(vm);
}

/*
 * When an array is refused, its CHOOSE entries keep the address that the caller passed, so that the
 * array can be submitted again.
 */
static void vm_refuses_and_keeps_the_choice(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bind taken = bind_of(DRM_PAGODA_BIND_RESERVE, HERE, KIB64);
	struct pagoda_bind binds[] = {
		bind_of(DRM_PAGODA_BIND_MAP_ZERO, HERE, PAGE_SIZE),
		bind_of(DRM_PAGODA_BIND_RESERVE, HERE, KIB64),
	};
	u64 at;

	KUNIT_ASSERT_EQ(test, 0, bind_array(vm, &taken, 1, false, NULL));
	binds[0].flags = DRM_PAGODA_BIND_CHOOSE;
	KUNIT_EXPECT_EQ(test, -EEXIST, bind_array(vm, binds, 2, false, &at));
	KUNIT_EXPECT_EQ(test, HERE, at);
	KUNIT_EXPECT_EQ(test, 0, bind_array(vm, binds, 1, false, &at));
	KUNIT_EXPECT_EQ(test, HERE + KIB64, at);
	vmt_drop(vm);
}

/* The page of a monitored fence can be mapped for reads and writes, and shows the fence's value. */
static void vm_shows_fences(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_mfence *mfence = pagoda_mfence_create(rig->vidmm, rig->client, 0, 77);
	struct pagoda_bind bind = bind_of(DRM_PAGODA_BIND_MAP_FENCE, HERE, PAGE_SIZE);
	struct pagoda_mfence_signal *signal;
	u32 value;

	KUNIT_ASSERT_FALSE(test, IS_ERR(mfence));
	bind.bo = pagoda_mfence_bo(mfence);
	KUNIT_ASSERT_EQ(test, 0, vmt_do(vm, &bind, 1));
	vmt_expect(rig, vm->id, HERE, 77);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_NONE,
			vmt_read(rig, vm->id, HERE, VIRTIO_PAGODA_ACCESS_WRITE, &value));
	signal = test_ok(test, pagoda_mfence_promise(mfence, 78));
	pagoda_mfence_signal_paging(signal, NULL);
	vmt_expect(rig, vm->id, HERE, 78);
	/* After the fence is destroyed its page stays as long as the page is mapped. */
	pagoda_mfence_put(mfence);
	vmt_expect(rig, vm->id, HERE, 78);
	KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, HERE, PAGE_SIZE));
	expect_fault(rig, vm, HERE);
	vmt_drop(vm);
}

static struct kunit_case vm_bind_cases[] = {
	KUNIT_CASE(vm_maps_in_one_place),
	KUNIT_CASE(vm_mapped_is_not_zero),
	KUNIT_CASE(vm_reserves_what_is_free),
	KUNIT_CASE(vm_updates_one_reservation),
	KUNIT_CASE_PARAM(vm_arrays_are_in_order, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_windows_repeat, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_copies_over_itself, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_says_when, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_frees_at_once, pagoda_rig_modes),
	KUNIT_CASE_PARAM(vm_handles_take_their_addresses, pagoda_rig_modes),
	KUNIT_CASE(vm_protection_is_unique),
	KUNIT_CASE(vm_protection_in_windows),
	KUNIT_CASE(vm_chooses_addresses),
	KUNIT_CASE(vm_refuses_and_keeps_the_choice),
	KUNIT_CASE_PARAM(vm_shows_fences, pagoda_rig_modes),
	{ }
};

static struct kunit_suite vm_bind_suite = {
	.name = "pagoda_vm_bind",
	.test_cases = vm_bind_cases,
};

kunit_test_suite(vm_bind_suite);
