// SPDX-License-Identifier: GPL-2.0
/* Defines the tracepoints of trace.h, and gpu_mem_total if the kernel doesn't define it. */
#include <trace/events/gpu_mem.h>
#include "compat.h"

#define CREATE_TRACE_POINTS
#ifdef PAGODA_DEFINE_GPU_MEM
#include <trace/events/gpu_mem.h>
#endif
#include "trace.h"
