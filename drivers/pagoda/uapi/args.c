// SPDX-License-Identifier: GPL-2.0
/*
 * Checks arrays in user memory (struct drm_pagoda_array), and fills answers into their entries;
 * finds objects that a list names twice.
 */
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "args.h"

/*
 * Checks an array. Returns 0; -E2BIG if it has more than DRM_PAGODA_MAX_ENTRIES; or -EINVAL if it
 * is empty, or its stride is below @entry bytes, above a page or no multiple of 8.
 */
int pagoda_array_check(struct drm_device *drm, const struct drm_pagoda_array *array, u32 entry)
{
	if (pagoda_refuse(drm, array->count > DRM_PAGODA_MAX_ENTRIES))
		return -E2BIG;
	if (pagoda_refuse(drm, !array->count) ||
	    pagoda_refuse(drm, array->stride < entry) ||
	    pagoda_refuse(drm, array->stride > PAGE_SIZE) ||
	    pagoda_refuse(drm, array->stride % sizeof(u64)))
		return -EINVAL;
	return 0;
}

/*
 * Returns the address in user memory of entry @index of an array that pagoda_array_check()
 * accepted.
 */
char __user *pagoda_array_entry(const struct drm_pagoda_array *array, u32 index)
{
	return (char __user *)u64_to_user_ptr(array->array) + (u64)index * array->stride;
}

/*
 * Calls @answer for each entry of @array, to fill @entry bytes of @answers, then writes all answers
 * to user memory; writes none if a call fails or a signal is pending. Returns 0, the error of
 * @answer, -ERESTARTSYS, or -EFAULT, also after some answers were written.
 */
static int array_answer(struct drm_device *drm, struct drm_file *file,
			const struct drm_pagoda_array *array, u32 entry,
			pagoda_answer_func answer, char *answers)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < array->count && !ret; i++) {
		if (signal_pending(current))
			return -ERESTARTSYS;
		ret = answer(drm, file, pagoda_array_entry(array, i), array->stride,
			     answers + (size_t)i * entry);
	}
	for (i = 0; i < array->count && !ret; i++)
		if (copy_to_user(pagoda_array_entry(array, i), answers + (size_t)i * entry, entry))
			ret = -EFAULT;
	return ret;
}

/*
 * Has @answer make an answer of @entry bytes for each entry of an array in user memory, and then
 * writes all answers; if @answer fails for an entry, writes none. Returns 0, the error of @answer,
 * -E2BIG, -EINVAL, -ENOMEM, -ERESTARTSYS, or -EFAULT, also after some answers were written.
 */
int pagoda_array_answer(struct drm_device *drm, struct drm_file *file,
			const struct drm_pagoda_array *array, u32 entry,
			pagoda_answer_func answer)
{
	char *answers;
	int ret = pagoda_array_check(drm, array, entry);

	if (ret)
		return ret;
	answers = kvmalloc_array(array->count, entry, GFP_KERNEL_ACCOUNT);
	if (!answers)
		return -ENOMEM;
	ret = array_answer(drm, file, array, entry, answer, answers);
	kvfree(answers);
	return ret;
}

/* Adds @object to a hash table of 2^@bits slots. Returns false if @object was there already. */
static bool unique_add(const void **table, u32 bits, const void *object)
{
	u32 at = hash_ptr(object, bits);

	for (; table[at]; at = (at + 1) & (BIT(bits) - 1))
		if (table[at] == object)
			return false;
	table[at] = object;
	return true;
}

/*
 * Refuses a list that names an object twice, in linear time. Objects are compared by address, as an
 * object may have several handles. @count isn't 0. Returns 0, -EINVAL or -ENOMEM.
 */
int pagoda_check_unique(struct drm_device *drm, void * const *objects, u32 count)
{
	/* The hash table has more than two slots for each object. */
	u32 bits = ilog2(count) + 2, i;
	const void **table;
	int ret = 0;

	if (count == 1)
		return 0;
	table = kvcalloc(BIT(bits), sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < count && !ret; i++)
		if (pagoda_refuse(drm, !unique_add(table, bits, objects[i])))
			ret = -EINVAL;
	kvfree(table);
	return ret;
}
