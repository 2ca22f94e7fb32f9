/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_BENCH_H
#define PAGODA_BENCH_H

struct drm_minor;

#ifdef CONFIG_DRM_PAGODA_BENCH
void pagoda_bench_debugfs_init(struct drm_minor *minor);
#else
static inline void pagoda_bench_debugfs_init(struct drm_minor *minor)
{
}
#endif

#endif
