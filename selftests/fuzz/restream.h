/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that rebuild.c and restream.c share. */
#ifndef PAGODA_RESTREAM_H
#define PAGODA_RESTREAM_H

#include "fuzz.h"

/* rebuild.c: builds a packet's operation again. Returns what went wrong, NULL = nothing. */
const char *restream_rebuild(const struct pagoda_paging_limits *limits, const void *packet,
			     u32 length);

#endif
