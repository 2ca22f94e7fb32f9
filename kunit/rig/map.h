/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mappings of allocations into the test's address space, as a program has them: accesses by
 * get_user() and put_user() fault into the driver.
 */
#ifndef PAGODA_KUNIT_MAP_H
#define PAGODA_KUNIT_MAP_H

#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>
#include <drm/drm_gem.h>
#include <drm/drm_vma_manager.h>
#include "rig.h"

static inline int rig_map_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct pagoda_bo *bo = file->private_data;

	return drm_gem_mmap_obj(pagoda_bo_gem(bo), bo->ttm.base.size, vma);
}

static const struct file_operations rig_map_fops = { .mmap = rig_map_mmap };

/*
 * Maps @size bytes from @offset on of a file, or anonymous memory if @file is NULL, in an address
 * space of the test's thread. Returns the user address, or 0. kunit_vm_mmap() takes two references
 * to the struct mm_struct, of which the thread's end drops one: the structs that are left are no
 * leak of the driver.
 */
static inline unsigned long rig_mmap(struct kunit *test, struct file *file, u64 size,
				     unsigned long prot, unsigned long flags, u64 offset)
{
	unsigned long at = kunit_vm_mmap(test, file, 0, size, prot, flags, offset);

	if (current->mm)
		kmemleak_ignore(current->mm);
	return IS_ERR_VALUE(at) ? 0 : at;
}

/*
 * Returns the user address of a shared mapping of the allocation, or 0 if the driver refuses the
 * mapping. @open has O_ flags of the file, @prot PROT_ bits.
 */
static inline unsigned long rig_map(struct pagoda_rig *rig, struct pagoda_bo *bo, int open,
				    unsigned long prot)
{
	u64 offset = drm_vma_node_offset_addr(&bo->ttm.base.vma_node);
	struct file *file = anon_inode_getfile("pagoda-map", &rig_map_fops, bo, open);
	unsigned long at;

	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(file));
	/* TTM finds mappings by the device's struct address_space. */
	file->f_mapping = rig->drm->anon_inode->i_mapping;
	at = rig_mmap(rig->test, file, bo->ttm.base.size, prot, MAP_SHARED, offset);
	fput(file);
	return at;
}

static inline void rig_unmap(struct pagoda_rig *rig, struct pagoda_bo *bo, unsigned long at)
{
	KUNIT_EXPECT_EQ(rig->test, 0, vm_munmap(at, bo->ttm.base.size));
}

/*
 * Does what mprotect(PROT_READ | PROT_WRITE) does to the mapping at @at. Returns 0; -EACCES if the
 * mapping may never be written; or -ENOENT if there is no mapping.
 */
static inline int rig_map_make_writable(unsigned long at)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int ret = -ENOENT;

	mmap_write_lock(mm);
	vma = find_vma(mm, at);
	if (vma)
		ret = vma->vm_flags & VM_MAYWRITE ? 0 : -EACCES;
	if (!ret) {
		vm_flags_set(vma, VM_WRITE);
		vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	}
	mmap_write_unlock(mm);
	return ret;
}

#endif
