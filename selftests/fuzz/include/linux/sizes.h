/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_FUZZ_SIZES_H
#define PAGODA_FUZZ_SIZES_H

#define SZ_64K	0x10000
#define SZ_2M	0x200000

#endif
