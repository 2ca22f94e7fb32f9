/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks of what the device reports and answers: raw values in, checked values or a refusal out.
 * All are pure functions, but pagoda_extents_check_memory() also looks at the kernel's list of
 * memory. Before a check, the caller copies the data out of memory that the device can write.
 */
#ifndef PAGODA_VIRTIO_CHECK_H
#define PAGODA_VIRTIO_CHECK_H

#include <linux/types.h>
#include <linux/virtio_pagoda.h>
#include "virtio.h"

/**
 * struct pagoda_refusal - Reason why a device is not accepted
 * @field: Name of the field, feature or list
 * @value: Value of the field; for a missing feature the mask of the negotiated features, for
 *	DUAL_PTE without 64 KiB pages the page sizes; for a list the number of the bad entry, or, if
 *	the list doesn't cover all it has to, the bytes that it covers
 * @why: Description of the error
 */
struct pagoda_refusal {
	const char *field;
	u64 value;
	const char *why;
};

/**
 * struct pagoda_config_counts - Lengths of the lists that the device will send
 * @window: Entries of the CPU window
 * @invalid: Entries of the list of VRAM that must not be used
 * @swizzling: Entries of the list of the swizzling ranges' windows
 */
struct pagoda_config_counts {
	u32 window;
	u32 invalid;
	u32 swizzling;
};

u64 pagoda_features_wanted(void);
int pagoda_features_check(u64 features, bool translated, struct pagoda_refusal *refusal);
int pagoda_config_check(const struct virtio_pagoda_config *config, u64 features,
			struct pagoda_device_info *info,
			struct pagoda_config_counts *counts,
			struct pagoda_refusal *refusal);
int pagoda_extents_check_window(const struct pagoda_extent *extents, u32 count,
				u64 size, const char *name, struct pagoda_refusal *refusal);
int pagoda_extents_check_memory(const struct pagoda_extent *extents, u32 count, bool in_kernel,
				const char *name, struct pagoda_refusal *refusal);
int pagoda_extents_check_invalid(const struct pagoda_extent *extents, u32 count,
				 u64 vram_size, struct pagoda_refusal *refusal);
enum pagoda_outcome
pagoda_completion_check(const struct virtio_pagoda_completion *completion, u32 len,
			u32 queue, const struct pagoda_request *request,
			struct pagoda_fault *fault);
int pagoda_event_check(const struct virtio_pagoda_event *raw, u32 len,
		       struct pagoda_event *event);
int pagoda_answer_check(const struct virtio_pagoda_answer *answer, u32 len, u32 entry, u32 most);

#endif
