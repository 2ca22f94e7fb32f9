/* SPDX-License-Identifier: GPL-2.0 */
/* Eviction for submissions, paced by tokens; see pace.c. */
#ifndef PAGODA_PACE_H
#define PAGODA_PACE_H

#include <linux/types.h>

struct pagoda_bo;
struct pagoda_client;
struct pagoda_client_pace;
struct pagoda_context;
struct pagoda_vidmm;
struct pagoda_vm;
struct ttm_operation_ctx;

/**
 * struct pagoda_pace - Pace of a submission
 * @client: Client that pays
 * @left: Bytes that were left out of VRAM because there was no token
 */
struct pagoda_pace {
	struct pagoda_client *client;
	u64 left;
};

void pagoda_pace_init(struct pagoda_vidmm *vidmm, struct pagoda_client_pace *pace);
int pagoda_pace_place(struct pagoda_pace *pace, struct pagoda_bo *bo,
		      struct ttm_operation_ctx *ctx);
void pagoda_pace_again(struct pagoda_vm *vm);
void pagoda_pace_settle(struct pagoda_pace *pace, struct pagoda_context *context);

#endif
