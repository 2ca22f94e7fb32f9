/* SPDX-License-Identifier: GPL-2.0 */
/* Another program that wants half of VRAM while a replay is running. */
#ifndef PAGODA_RIVAL_H
#define PAGODA_RIVAL_H

#include <sys/types.h>

/*
 * @pipe: when bytes are written here, the rival makes its memory resident, once for up to 64 bytes;
 *	when the pipe is closed, the rival exits; -1: there is no rival
 */
struct rival {
	pid_t pid;
	int pipe;
};

/* Start the rival; tell the rival to make its memory resident. Return 0 or a negative errno. */
int rival_start(struct rival *rival);
int rival_use(struct rival *rival);
/*
 * Closes the pipe and waits for the rival's exit. Returns 0; -EIO if the rival failed, for which a
 * MAKE_RESIDENT without room doesn't count; or another negative errno.
 */
int rival_stop(struct rival *rival);

#endif
