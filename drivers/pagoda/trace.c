// SPDX-License-Identifier: GPL-2.0
/* Defines the tracepoints of <pagoda/trace.h>. */
#define CREATE_TRACE_POINTS
#include <pagoda/trace.h>
