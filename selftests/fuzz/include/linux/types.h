/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_TYPES_H
#define PAGODA_FUZZ_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef PAGODA_VGPU_ENGINE_SHIM_H
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;
#endif
typedef __u64 dma_addr_t;

#define __force
/* Formats are checked when the driver is built for the kernel. */
#define __printf(text, first)

#endif
