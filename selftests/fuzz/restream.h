/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of restream share. */
#ifndef PAGODA_RESTREAM_H
#define PAGODA_RESTREAM_H

#include "fuzz.h"

/* rebuild.c */
const char *restream_rebuild(const struct pagoda_paging_limits *limits, const void *packet,
			     u32 length);

#endif
