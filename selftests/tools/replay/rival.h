/* SPDX-License-Identifier: GPL-2.0 */
/* Another program that wants half of VRAM while a replay is running. */
#ifndef PAGODA_RIVAL_H
#define PAGODA_RIVAL_H

#include <sys/types.h>

/* @pipe: it uses its memory for each byte, and gives it back at the end; -1: there is none. */
struct rival {
	pid_t pid;
	int pipe;
};

/* Both return 0 or a negative errno. */
int rival_start(struct rival *rival);
int rival_use(struct rival *rival);
/* Waits for it; -EIO if something of its failed but for want of room. */
int rival_stop(struct rival *rival);

#endif
