/* SPDX-License-Identifier: GPL-2.0 */
/* Another program that wants half of VRAM while a replay is running. */
#ifndef PAGODA_RIVAL_H
#define PAGODA_RIVAL_H

#include <sys/types.h>

/*
 * @pipe: the rival makes its memory resident for each byte written here, and exits when the pipe is
 *	closed; -1: there is no rival
 */
struct rival {
	pid_t pid;
	int pipe;
};

/* Starts the rival; has it use its memory. Both return 0 or a negative errno. */
int rival_start(struct rival *rival);
int rival_use(struct rival *rival);
/*
 * Closes the pipe and waits for the rival's exit. Returns 0, -EIO if the rival failed for another
 * reason than want of room, or another negative errno.
 */
int rival_stop(struct rival *rival);

#endif
