/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_GLOSSARY_H
#define PAGODA_GLOSSARY_H

/**
 * DOC: Glossary
 *
 * Comments and interfaces use terms of WDDM and of DRM. This table translates. (Cn) in a comment is
 * row n of selftests/points.tsv, which says what WDDM promises there.
 *
 * ===================== ========================================================
 * WDDM                  DRM, and where it lives here
 * ===================== ========================================================
 * VidMm                 vidmm/ on top of TTM: decides that an allocation moves
 * BuildPagingBuffer     paging/: turns a decision into commands
 * system context        queue/: the paging queue, a drm_sched entity for each line
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
 * paging fence          dma_fence of a submission to the paging queue
 * monitored fence       a 64-bit value in memory that only grows, unless it may rewind
 * DISCARD_CONTENT       gutting
 * dummy page            page behind unmapped aperture addresses
 * residency             the allocation is in memory that the GPU may use
 * ===================== ========================================================
 *
 * Terms of the driver's own:
 *
 * ===================== ========================================================
 * ahead                 paging of what a queued job lists, before a place is free for the job
 * array                 operations of one VM_BIND call; all are accepted or none
 * batch                 changes of page-table entries of a space that are emitted together, with at
 *                       most one FLUSH_TLB of the space
 * block                 the 2 MiB of addresses that an entry of a level-1 page table covers
 * candidate             allocation in VRAM that may be chosen as a victim
 * charge                adds to a count that has a limit: of a client, a user or a cgroup; undone
 *                       by uncharge
 * chunk                 the 64 KiB of addresses that an entry of a table of 64 KiB pages covers
 * clean                 VRAM content that equals the kept copy, so that an eviction copies nothing
 * client                open file, struct pagoda_client
 * commit                step of a change of page tables, after prepare: changes words and emits
 *                       operations; can't fail
 * CPU executor          paging/cpu/: executes paging buffers on the CPU, without the device
 * deferred work         accepted SUBMIT, VM_BIND or paging request that waits for fences or points
 *                       of syncobjs, some of which may not exist yet, or for room or a place
 * epoch                 number of resets of the device so far, sleeps included; VRAM content of an
 *                       older epoch is lost, but for what the device preserved in a sleep
 * extent                contiguous range of a segment's addresses
 * fault reason          VIRTIO_PAGODA_FAULT_*: why a packet or command isn't executed; 0 = none
 * fence page            memory where each submission writes its number at its end
 * fenced job            job that gets its fence without waiting for a place of its engine
 * generation            number that the driver gives to an aperture mapping, to detect stale uses
 * given up              job or submission that ends without execution, its fence with an error
 * job                   commands of one SUBMIT, for an engine
 * journal               ring of the last operations of the stream, for debugfs and coredumps
 * kept copy             system pages of an allocation in VRAM that stay after the move to VRAM
 * ledger                vidmm/ledger/: what is known about allocations and clients; it moves
 *                       nothing
 * line                  part of the stream: paging operations that are executed in the order in
 *                       which they were emitted. The line of moves has all operations but changes
 *                       of the page tables of a VM, which has a line for these
 * listener              file that EVENTS returns, from which a client reads events
 * notice                operation that only tells the device where allocations are:
 *                       NOTIFY_RESIDENCY, NOTIFY_RESIDENCY2, NOTIFY_ALLOC
 * offered               OFFER was called, and RECLAIM not since: the content may be discarded
 * paging queue          a client's queue of MAKE_RESIDENT and EVICT requests; its values are
 *                       points of a syncobj, its worker is the pager. In queue/: the device's
 *                       queue of submissions
 * paging space          address space 0, of the paging process: windows by which paging operations
 *                       reach memory
 * pay                   of a client: have submissions in flight count in the client's quota
 * piece                 part of a copy or fill that is an operation of its own. In queue/: the
 *                       memory of a submission
 * place                 of an engine: right of a job to hold memory; of an allocation: segment and
 *                       address
 * plan                  use of a VM's addresses after all accepted VM_BIND arrays
 * plugged               the stream, by a thread: a submission isn't queued yet at the end of a
 *                       transaction, so that the thread's moves share the submission
 * prepare               first step of a change of page tables: allocates all that commit may need
 * priority step         rank of a residency priority: allocations of lower steps leave VRAM first
 * private               usable in one VM only, whose reservation the allocation shares
 * promise               value that a monitored fence gets when some work is done or has failed
 * promotion             brings evicted allocations back to free VRAM without a request
 * quota                 a client's counts that have limits, struct pagoda_quota
 * rebuild               restores the device's state after a reset
 * record                allocation, offset and DriverProtection of a mapped range, for
 *                       UPDATE_PAGE_TABLE
 * reserve               part of VRAM for page tables and save areas only
 * room                  free memory of a segment, or memory that an eviction frees
 * run                   range of pages with consecutive bus addresses
 * save area             allocation in which the engine keeps a context's registers between jobs
 * scratch window        range of the paging space, mapped for the time of one transaction
 * section               part of an operation in which the device isn't rebuilt and doesn't sleep
 * segment group         VRAM (local) or the aperture (non-local): what a budget is for
 * set aside             submission that was allocated at probe, for transactions that can't fail
 * settled               MAKE_RESIDENT has nothing to do for the allocation but to count the call
 * slice                 part of a promotion, or of paging ahead, a millisecond or two of copies; of
 *                       an engine's time: what an account gets before accounts behind it have a
 *                       turn
 * spilled               resident, but not in the segment that the allocation prefers
 * stream                all paging operations, in lines, on their way into paging buffers
 * submission            paging buffer with its fence, struct pagoda_submission. In submit/: a
 *                       SUBMIT call, struct pagoda_submit
 * swizzling range       window of the device in which the CPU sees a tiled allocation in rows
 * tail                  runs or entries behind the head of a packet
 * token                 right to evict or move a byte, of a client or of promotion (token bucket)
 * transaction           operations that a caller emits to the stream without others in between
 * victim                allocation that is evicted to make room for another, because a cgroup's
 *                       maximum was lowered, or for debugfs `trim`
 * wanted                counts in the client's budget: made resident or on a residency list, and
 *                       not offered
 * window                CPU mapping of VRAM, or of a tiled allocation as rows
 * word                  the driver's copy of a page-table entry; dirty until the table has it
 * ===================== ========================================================
 */

#endif
