/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_GLOSSARY_H
#define PAGODA_GLOSSARY_H

/**
 * DOC: Glossary
 *
 * Comments and interfaces use terms of WDDM and of DRM. This table translates.
 *
 * ===================== ========================================================
 * WDDM                  DRM, and where it lives here
 * ===================== ========================================================
 * VidMm                 vidmm/ on top of TTM: decides that an allocation moves
 * BuildPagingBuffer     paging/: turns a decision into commands
 * system context        queue/: the paging timeline, one drm_sched entity
 * allocation            buffer object: struct pagoda_bo
 * segment               TTM memory type and its resource manager
 * implicit system       TTM_PL_SYSTEM: pages the GPU reaches by run lists, if at all
 * aperture segment      TTM_PL_TT with an address in the aperture ("GTT")
 * memory segment        TTM_PL_VRAM
 * backing store         struct ttm_tt
 * MDL                   page list by CPU page; here always an ADL
 * ADL                   page list by bus address: struct pagoda_adl
 * commit, page in       ttm_bo_validate() into VRAM or the aperture
 * evict, page out       ttm_bo_validate() back into system memory
 * paging buffer         memory of one submission: struct pagoda_submission
 * multipass             one operation built over several paging buffers
 * paging fence          dma_fence of the paging timeline
 * monitored fence       a 64-bit value in memory that only grows
 * DISCARD_CONTENT       gutting
 * dummy page            page behind unmapped aperture addresses
 * residency             the allocation is in memory that the GPU may use
 * ===================== ========================================================
 *
 * Terms of the driver's own:
 *
 * ===================== ========================================================
 * client                open file, struct pagoda_client
 * job                   commands of one SUBMIT, for an engine
 * stream                order in which all paging operations are emitted
 * fence page            memory where each submission writes its number at its end
 * reserve               part of VRAM for page tables and save areas only
 * window                CPU mapping of VRAM, or of a tiled allocation as rows
 * section               part of an operation in which the device isn't rebuilt and doesn't sleep
 * rebuild               restores the device's state after a reset
 * ===================== ========================================================
 */

#endif
