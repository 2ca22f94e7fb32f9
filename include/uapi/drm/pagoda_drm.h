/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/**
 * DOC: The user ABI of the Pagoda driver
 *
 * Finding the device: DRM_IOCTL_VERSION answers the name "pagoda" on its nodes. A program opens
 * each /dev/dri/renderDN and takes a node with this name. Every ioctl of this header is allowed
 * on the render node; DRM_PAGODA_QUERY tells the limits of the device behind the node.
 *
 * Handles of allocations are GEM handles: DRM_IOCTL_GEM_CLOSE closes a handle, and
 * DRM_IOCTL_PRIME_HANDLE_TO_FD shares the allocation ("Sharing"). Syncobjs are DRM's. VMs,
 * contexts, paging queues and monitored fences have ids, which are never 0 and are valid only
 * for the open file (the client) that made the object.
 *
 * Rules of evolution
 *  - Structs are fixed-size multiples of 8, without unions and without implicit
 *    padding. Fields are only appended.
 *  - A struct shorter than the kernel's is filled up with zeros, a longer struct is
 *    refused (E2BIG) unless the rest is zero. Zero in an appended field means the behaviour from
 *    before the field existed.
 *  - Padding and unknown flags must be zero (MBZ), else EINVAL.
 *  - Arrays are struct drm_pagoda_array: pointer, count and the caller's stride.
 *  - Fields documented as "Out" only are ignored on input, and so are the pointer of a QUERY with
 *    size 0 and the pointer and stride of an empty array in SUBMIT, or of empty syncs in VM_BIND.
 *    All other fields are input. The kernel writes no field that isn't documented as "Out".
 *
 * Errors, for every ioctl
 *
 *  ========== =================================================================
 *  EINVAL     unknown flag, padding not zero, value or combination out of range
 *  E2BIG      a struct or array entry longer than the kernel's, with data in the
 *             part the kernel doesn't know; more than MAX_ENTRIES entries, or more than
 *             MAX_COMMAND_BUFFERS command buffers; an allocation that no supported segment
 *             could ever hold
 *  EFAULT     bad user pointer
 *  ENOENT     handle, segment id or group, syncobj, VM, context, fence or paging queue that this
 *             client doesn't have; EVICT of an allocation that isn't on the client's list;
 *             STOP or QUERY of TRACK for an allocation that the client doesn't track
 *  ENOMEM     out of memory, or out of room in every segment; no free addresses for BIND_CHOOSE.
 *             The last of the machine's memory isn't given to allocations, see
 *             ALLOCATION_MMAP_OFFSET
 *  EBUSY      no progress now because others use the memory, or because too many jobs are queued,
 *             see "Limits"; try again. OFFER of an allocation that accepted work will use;
 *             FENCE_DESTROY of a fence that is waited for; VM_DESTROY of a VM with contexts;
 *             TRACK of an allocation that is tracked already
 *  ETIME      the time of a wait was up
 *  ENODEV     the device is gone
 *  EIO        the device failed and content was lost
 *  EACCES     mapping of an allocation that the CPU reaches in none of its segments
 *  EBADF      eventfd that isn't open
 *  EOPNOTSUPP the device has no tiling, no page tables or no dirty tracking, or executes no
 *             commands; no other device can reach the allocation, or this device can't reach
 *             imported memory
 *  ENOSPC     the device holds no more address spaces, or the user has its share of them
 *  EMFILE     the client or its user has too many objects of a type, see "Limits"
 *  EEXIST     a part of the address range is mapped or reserved already
 *  EPERM      a priority the caller may not ask for; signal of or wait for a fence made with
 *             NO_SIGNAL or NO_WAIT; an allocation that is private to another VM, or is private
 *             and would be shared, or is shared and would be offered; TRACK of an allocation
 *             of another client
 *  ECANCELED  the context is banned, the VM unusable, or the client in error: see "Failures"
 *  EOVERFLOW  an allocation was made resident 2^32 - 1 times without being evicted
 *  ENODATA    an allocation that is offered: see OFFER
 *  EALREADY   an allocation that is offered already
 *  EDQUOT     more of a client's or a user's memory would be pinned for other devices, or for
 *             monitored fences, than may be, see "Limits"; a reservation larger than the room
 *             that is available for it
 *  EINTR      a signal; the call is refused (restarted by the kernel where that is
 *             allowed)
 *  ========== =================================================================
 *
 * A refused call has no side effect, except that allocations may have moved or have been evicted
 * before the refusal, and that a failed MAKE_RESIDENT may put the client in error ("Residency
 * lists"). With drm.debug=0x2 (driver) the kernel log names the check that refused.
 *
 * A call checks that its answers can be written before it has an effect. If another thread unmaps
 * that memory meanwhile, VM_BIND and RECLAIM succeed and leave out entries, TRACK fails with
 * EFAULT and without effect, and EFAULT for the struct itself comes after the effect.
 *
 * While the machine falls asleep, and until the machine is awake, calls wait. Content and
 * submitted work outlive the sleep; offered content may be lost.
 */
#ifndef _PAGODA_DRM_H_
#define _PAGODA_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Closing objects that accepted work names
 *
 * Work that is *held up* was accepted, but waits for a point or a value that doesn't exist yet
 * (struct drm_pagoda_sync). A job that is *queued* was accepted, but isn't prepared: the job is
 * held up, or is behind a queued job of its context, or what the job waits for hasn't signalled,
 * or its engine has two other jobs, of any client. Queued work has no fence yet and holds no
 * memory; a prepared job has both, and a fenced job (%DRM_PAGODA_SUBMIT_FENCED) is prepared by
 * SUBMIT.
 *
 *  ================== ==========================================================
 *  allocation handle  GEM_CLOSE ends the client's addresses and residency counts of the
 *                     allocation. Submitted jobs find what they may use, see SUBMIT. A VM_BIND
 *                     that waits unmaps where it would have mapped the allocation. CPU mappings
 *                     and dma-bufs keep the memory
 *  syncobj            accepted work has its own reference, and still waits for the syncobj or
 *                     signals it
 *  monitored fence    FENCE_DESTROY is refused with EBUSY while a FENCE_WAIT or accepted work
 *                     waits for a value that the fence doesn't have. Accepted work still signals
 *                     the fence. GPU addresses of the fence end with its id; CPU mappings stay
 *  paging queue       accepted requests are carried out, and the client's residency list stays
 *  context            a running job may end, within the time limit. Jobs that haven't begun
 *                     aren't executed: their fences, which queued jobs get then, signal with an
 *                     error, see "Failures"
 *  VM                 VM_DESTROY answers EBUSY while the VM has contexts. Without contexts
 *                     VM_DESTROY waits for jobs of destroyed contexts that still run, and
 *                     cancels VM_BINDs that wait (ECANCELED)
 *  the file           closing doesn't wait for jobs. Running jobs may end, within the time
 *                     limit; memory that they use isn't free until then. Jobs that haven't
 *                     begun, VM_BINDs and paging requests that wait are cancelled. Eventfds of
 *                     FENCE_WAIT aren't signalled any more, files of EVENTS read 0
 *  ================== ==========================================================
 */

/**
 * DOC: Failures
 *
 * Errors of fences. A syncobj has the fence of the work that signals the syncobj. A wait for a
 * syncobj doesn't tell the fence's error. To read the error, have the work signal a binary
 * syncobj, export the syncobj with DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE and ask the
 * sync_file with SYNC_IOC_FILE_INFO: &sync_file_info.status is 1, or the negative errno. A
 * timeline forgets the error of a point when a later point has signalled.
 *
 *  ========== =================================================================
 *  EFAULT     the job faulted: FAULTED in CONTEXT_STATE
 *  ETIME      the job ran longer than &drm_pagoda_device_info.job_timeout_ms: HUNG
 *  ECANCELED  the job wasn't executed, because a job before it in its context faulted or hung, the
 *             context is banned or the client in error, or the paging that it waits for failed; a
 *             reset of the device lost the job (RESET); the context, the VM or the file was closed
 *             while the work was queued or held up
 *  ESRCH      the context or the file was closed when the job was prepared, but hadn't begun
 *  EIO        the job wasn't executed: paging lost content while the job waited
 *  ENODEV     the device was unplugged, or can't be reset
 *  others     work that was accepted couldn't be made in the end, for want of memory for instance:
 *             BANNED for a job, VM_STATE for a VM_BIND, PAGING_QUEUE_STATE for a paging request
 *  ========== =================================================================
 *
 * An error doesn't spread: a job of another context that waits for a failed job is executed. A
 * monitored fence that failed work was to signal gets its value all the same.
 *
 * States, from the smallest to the largest
 *
 *  ================= ================================ ===================================
 *  state             what it means                    how it ends
 *  ================= ================================ ===================================
 *  CONTENT_LOST      content of an allocation was     acknowledged with ALLOCATION_WAIT
 *                    lost; the allocation is zeros
 *  CONTEXT_RESET     a reset of the device lost a job never; the context goes on and may be
 *                    of the context, or a copy or     used
 *                    fill of the VM's memory
 *  CONTEXT_BANNED    a job faulted or hung, a queued  never; make another context in the
 *                    job couldn't be made, paging     same VM
 *                    of the VM's memory broke the
 *                    device (with RESET), or the
 *                    client is in error
 *  VM_BIND_FAILED    an accepted change couldn't be   never; make another VM
 *                    made
 *  client in error   a MAKE_RESIDENT that had to      by closing the file
 *                    succeed failed
 *  DEVICE_LOST       event: the device was reset      by itself: calls wait until the device is
 *                                                     rebuilt
 *  DEVICE_LOST with  the device was unplugged, or     never; open another node
 *  POLLHUP           can't be reset or rebuilt
 *  ================= ================================ ===================================
 *
 * A hang or fault costs only the context. A reset of the device (an engine or the paging queue
 * can't be reset alone, the device reports a failure or was reset, page tables may be wrong after
 * paging was lost, or debugfs asks for it) loses the content of VRAM, the jobs that are prepared,
 * and fenced jobs that become ready before the device is rebuilt; queued jobs run afterwards. A
 * device that needs a sixth reset within a minute, each for a fault of the device, is given up.
 * Until a device that was given up is removed, the CPU does the paging, and jobs end with ENODEV
 * unexecuted; after the removal calls answer ENODEV.
 */

/**
 * DOC: Coherence of CPU and GPU
 *
 * The CPU's writes before SUBMIT are seen by the job. A job that is queued (see "Closing objects
 * that accepted work names") also sees the CPU's writes before it is prepared. A queued job isn't
 * prepared before all that it waits for has signalled, unless a fenced job is submitted behind the
 * queued job in its context. The job's writes are seen by the CPU when the job's fence has
 * signalled; while the job runs, the writes before a SIGNAL command are seen by a CPU that has seen
 * the value that SIGNAL stores. CPU mappings, CACHED or write-combined, need no flush by the
 * program. An allocation that moves keeps its content and its addresses, those of CPU mappings
 * (C34) and those of the GPU. Tiled: see enum drm_pagoda_tiling.
 */

/** DRM_PAGODA_MAX_ENTRIES: most entries of a struct drm_pagoda_array. */
#define DRM_PAGODA_MAX_ENTRIES		65536
/** DRM_PAGODA_MAX_ALLOCATION: most bytes of one allocation. */
#define DRM_PAGODA_MAX_ALLOCATION	(1ull << 40)

/**
 * DOC: Limits
 *
 * The most that a client (an open file) may have at once, and all clients of a user together. A
 * call that would exceed a limit is refused with the errno:
 *
 *  ================================ ==================== ========================= ======
 *  object                           a client             a user                    errno
 *  ================================ ==================== ========================= ======
 *  VMs                              MAX_VMS                                        EMFILE
 *  address spaces, one a VM                              half of what others leave ENOSPC
 *  contexts                         MAX_CONTEXTS         MAX_USER_CONTEXTS         EMFILE
 *  jobs accepted and not done       MAX_CLIENT_JOBS, of  MAX_USER_JOBS             EBUSY
 *                                   a context
 *                                   MAX_QUEUED_JOBS
 *  jobs held up or behind such jobs MAX_WAITING_JOBS     MAX_USER_WAITING_JOBS     EBUSY
 *  fenced jobs, and jobs queued     MAX_FENCED_JOBS      MAX_USER_FENCED_JOBS      EBUSY
 *  before them in their context
 *  bytes of VRAM of clients that                         half of what others leave SUBMIT
 *  have fenced jobs                                      of VRAM                   waits
 *  files of EVENTS                  MAX_EVENT_FILES      MAX_USER_EVENT_FILES      EMFILE
 *  fences waited for or promised    MAX_PINNED_FENCES                              EDQUOT
 *  bytes pinned for other devices   pin_limit of                                   EDQUOT
 *                                   the aperture
 *  pages pinned for either reason                        half of what others leave EDQUOT
 *                                                        of a quarter of the
 *                                                        machine's memory
 *  monitored fences, paging queues  65536                                          EMFILE
 *  ================================ ==================== ========================= ======
 *
 * A client that queues more than MAX_QUEUED_BINDS changes of a VM, or MAX_QUEUED_PAGING
 * requests, isn't refused: the call waits. Nor is a client refused that has more than 1 MiB of
 * paging buffers in flight, or whose user has more than half of what others leave of 32 MiB: before
 * they begin, GEM_CLOSE and the calls that may move memory or change page tables wait until the
 * device has executed enough of these buffers. Only a signal that kills the process ends this wait
 * (EINTR). In the same way MAKE_RESIDENT, EVICT and RECLAIM without a paging queue wait while more
 * than 2 MiB count for the client's paging in flight, its content and 128 KiB for each paging
 * buffer, or more than 8 MiB for all clients of its user; queued requests, jobs and changes of VMs
 * don't begin meanwhile.
 *
 * The numbers are %DRM_PAGODA_MAX_VMS and so on. "Half of what others leave" is half of the
 * total less what other users have; a user that is alone has half of the total at most.
 *
 * The user is the real user id of the process that opened the file, whatever process uses the
 * file. In a user namespace the user is the maker of the outermost namespace; if the maker is
 * the machine's root, the namespace's root is the user, whatever id the process has. Objects
 * that outlive their file, as running jobs and fences that jobs will signal do, count until
 * they are gone.
 */
#define DRM_PAGODA_MAX_VMS			64
#define DRM_PAGODA_MAX_CONTEXTS			256
#define DRM_PAGODA_MAX_USER_CONTEXTS		1024
#define DRM_PAGODA_MAX_QUEUED_JOBS		1024
#define DRM_PAGODA_MAX_CLIENT_JOBS		4096
#define DRM_PAGODA_MAX_USER_JOBS		16384
#define DRM_PAGODA_MAX_WAITING_JOBS		256
#define DRM_PAGODA_MAX_USER_WAITING_JOBS	1024
#define DRM_PAGODA_MAX_FENCED_JOBS		256
#define DRM_PAGODA_MAX_USER_FENCED_JOBS		1024
#define DRM_PAGODA_MAX_EVENT_FILES		16
#define DRM_PAGODA_MAX_USER_EVENT_FILES		256
#define DRM_PAGODA_MAX_PINNED_FENCES		4096

/** enum drm_pagoda_ioctl_id - Numbers of the ioctls, counted from DRM_COMMAND_BASE on. */
enum drm_pagoda_ioctl_id {
	/** @DRM_PAGODA_QUERY: get properties of the device or of a segment, usage, statistics */
	DRM_PAGODA_QUERY = 0,
	/** @DRM_PAGODA_ALLOCATION_CREATE: make an allocation */
	DRM_PAGODA_ALLOCATION_CREATE,
	/** @DRM_PAGODA_ALLOCATION_MMAP_OFFSET: get an allocation's offset for mmap() */
	DRM_PAGODA_ALLOCATION_MMAP_OFFSET,
	/** @DRM_PAGODA_ALLOCATION_INFO: get an allocation's parameters and its place */
	DRM_PAGODA_ALLOCATION_INFO,
	/** @DRM_PAGODA_ALLOCATION_WAIT: wait until an allocation is idle */
	DRM_PAGODA_ALLOCATION_WAIT,
	/** @DRM_PAGODA_MAKE_RESIDENT: bring listed allocations to where the GPU can use them */
	DRM_PAGODA_MAKE_RESIDENT,
	/** @DRM_PAGODA_EVICT: listed allocations needn't be resident any more: evict them */
	DRM_PAGODA_EVICT,
	/** @DRM_PAGODA_QUERY_RESIDENCY: get where listed allocations are */
	DRM_PAGODA_QUERY_RESIDENCY,
	/** @DRM_PAGODA_VM_CREATE: make a VM, which is a GPU address space */
	DRM_PAGODA_VM_CREATE,
	/** @DRM_PAGODA_VM_DESTROY: unmap everything and destroy a VM */
	DRM_PAGODA_VM_DESTROY,
	/** @DRM_PAGODA_VM_BIND: map, unmap or reserve addresses of a VM */
	DRM_PAGODA_VM_BIND,
	/** @DRM_PAGODA_CONTEXT_CREATE: make an execution context */
	DRM_PAGODA_CONTEXT_CREATE,
	/** @DRM_PAGODA_CONTEXT_DESTROY: destroy a context */
	DRM_PAGODA_CONTEXT_DESTROY,
	/** @DRM_PAGODA_FENCE_CREATE: make a monitored fence */
	DRM_PAGODA_FENCE_CREATE,
	/** @DRM_PAGODA_FENCE_DESTROY: destroy a monitored fence */
	DRM_PAGODA_FENCE_DESTROY,
	/** @DRM_PAGODA_SUBMIT: have an engine execute command buffers as a job of a context */
	DRM_PAGODA_SUBMIT,
	/** @DRM_PAGODA_CONTEXT_STATE: get the progress and failures of a context */
	DRM_PAGODA_CONTEXT_STATE,
	/** @DRM_PAGODA_VM_STATE: get whether a VM is usable, or unusable after a failed VM_BIND */
	DRM_PAGODA_VM_STATE,
	/** @DRM_PAGODA_FENCE_SIGNAL: have the CPU set the values of monitored fences */
	DRM_PAGODA_FENCE_SIGNAL,
	/** @DRM_PAGODA_FENCE_WAIT: wait for values of monitored fences */
	DRM_PAGODA_FENCE_WAIT,
	/** @DRM_PAGODA_PAGING_QUEUE_CREATE: make a paging queue */
	DRM_PAGODA_PAGING_QUEUE_CREATE,
	/** @DRM_PAGODA_PAGING_QUEUE_DESTROY: destroy a paging queue */
	DRM_PAGODA_PAGING_QUEUE_DESTROY,
	/** @DRM_PAGODA_PAGING_QUEUE_STATE: get the progress and failures of a paging queue */
	DRM_PAGODA_PAGING_QUEUE_STATE,
	/** @DRM_PAGODA_QUERY_RESIDENCY_LIST: get allocations' counts on the residency list */
	DRM_PAGODA_QUERY_RESIDENCY_LIST,
	/** @DRM_PAGODA_OFFER: allow that the content of listed allocations is dropped */
	DRM_PAGODA_OFFER,
	/** @DRM_PAGODA_RECLAIM: end an offer, and tell whether the content was dropped */
	DRM_PAGODA_RECLAIM,
	/** @DRM_PAGODA_SET_PRIORITY: set residency priorities: the lowest leave memory first */
	DRM_PAGODA_SET_PRIORITY,
	/** @DRM_PAGODA_QUERY_MEMORY_INFO: get the client's usage and budget of a segment group */
	DRM_PAGODA_QUERY_MEMORY_INFO,
	/** @DRM_PAGODA_SET_RESERVATION: reserve bytes of a segment group for the client's budget */
	DRM_PAGODA_SET_RESERVATION,
	/** @DRM_PAGODA_EVENTS: get a file from which the client reads its events */
	DRM_PAGODA_EVENTS,
	/** @DRM_PAGODA_TRACK: track which pages of an allocation the GPU writes, and tell them */
	DRM_PAGODA_TRACK,
};

/**
 * struct drm_pagoda_array - Array in user memory
 * @array: Pointer to the first entry
 * @count: Entries, at most %DRM_PAGODA_MAX_ENTRIES; 0 is EINVAL, except for all arrays of SUBMIT,
 *	the syncs of VM_BIND and the results of RECLAIM
 * @stride: Bytes from one entry to the next, which is the size of the caller's entry struct; at
 *	least the size of the struct's first version, at most a page, multiple of 8
 */
struct drm_pagoda_array {
	__u64 array;
	__u32 count;
	__u32 stride;
};

/** enum drm_pagoda_segment_id - Ids of segments; the device uses the same numbers. */
enum drm_pagoda_segment_id {
	/** @DRM_PAGODA_SEGMENT_SYSTEM: system memory that jobs can't access, for eviction */
	DRM_PAGODA_SEGMENT_SYSTEM = 0,
	/** @DRM_PAGODA_SEGMENT_VRAM: memory of the device */
	DRM_PAGODA_SEGMENT_VRAM = 1,
	/** @DRM_PAGODA_SEGMENT_APERTURE: system memory that jobs access */
	DRM_PAGODA_SEGMENT_APERTURE = 2,
};

/** DRM_PAGODA_SEGMENT_BIT() - Bit that stands for segment @id in a set of segments. */
#define DRM_PAGODA_SEGMENT_BIT(id)	(1u << ((id) - 1))

/** enum drm_pagoda_query_type - The struct that DRM_PAGODA_QUERY answers. */
enum drm_pagoda_query_type {
	/** @DRM_PAGODA_QUERY_DEVICE: QUERY type for struct drm_pagoda_device_info */
	DRM_PAGODA_QUERY_DEVICE = 1,
	/**
	 * @DRM_PAGODA_QUERY_SEGMENT: QUERY type for struct drm_pagoda_segment_info, of the segment
	 * with the id &drm_pagoda_query.index
	 */
	DRM_PAGODA_QUERY_SEGMENT = 2,
	/** @DRM_PAGODA_QUERY_STATS: QUERY type for struct drm_pagoda_stats */
	DRM_PAGODA_QUERY_STATS = 3,
};

/**
 * struct drm_pagoda_query - Argument of DRM_PAGODA_QUERY
 * @type: enum drm_pagoda_query_type
 * @index: QUERY_SEGMENT: segment id. Else MBZ
 * @size: In: bytes of the caller's memory at @pointer; 0 asks for the size only. Out: size of the
 *	answer's struct in the kernel
 * @pad: MBZ
 * @pointer: Address that the answer is written to, as many bytes as the smaller of both sizes
 */
struct drm_pagoda_query {
	__u32 type;
	__u32 index;
	__u32 size;
	__u32 pad;
	__u64 pointer;
};

/**
 * struct drm_pagoda_device_info - The device
 * @features: Bit n set: feature n was negotiated with the device, see below
 * @page_size: Bytes of a page: sizes of allocations are rounded up to pages
 * @alignment: Bytes that addresses of allocations in VRAM are aligned to
 * @num_segments: Number of segments, which have the ids 1 to @num_segments
 * @num_engines: Execution engines, 1 to 16. All are alike: each executes every command
 * @max_entries: %DRM_PAGODA_MAX_ENTRIES
 * @job_timeout_ms: Time limit of a job in milliseconds. A job that has been the first of its
 *	engine's jobs for so long is taken for hung, even if it waits in a WAIT command, and its
 *	context is banned. The driver's parameter job_timeout_ms sets the limit, 2000 by default
 * @swizzling_ranges: Number of tiled allocations that the CPU can access at the same time while
 *	they are in VRAM, see enum drm_pagoda_tiling; 0 = the device has no tiling
 * @pad2: Zero
 * @swizzling_bytes: Bytes of the largest tiled allocation that the CPU can access in VRAM
 *
 * Features are the numbers VIRTIO_PAGODA_F_* of include/uapi/linux/virtio_pagoda.h; virtio's own
 * features, 24 to 49, aren't told. Of interest to programs: bit n of 0 to 22, the device executes
 * the paging operation with opcode n + 1; 50 (CPU_WINDOW), the CPU reaches VRAM or a part of VRAM;
 * 53 (DUAL_PTE), page tables of 4 KiB and 64 KiB pages side by side; 54 (DEVICE_MMU), the device
 * translates addresses of system memory; 56 (EXECUTE), engines execute commands, without this bit
 * SUBMIT answers EOPNOTSUPP; the bit is clear if the driver's executor=cpu.
 */
struct drm_pagoda_device_info {
	__u64 features;
	__u32 page_size;
	__u32 alignment;
	__u32 num_segments;
	__u32 num_engines;
	__u32 max_entries;
	__u32 job_timeout_ms;
	__u32 swizzling_ranges;
	__u32 pad2;
	__u64 swizzling_bytes;
};

#define DRM_PAGODA_SEGMENT_APERTURE_FLAG	(1u << 0) /* the segment is system memory */
#define DRM_PAGODA_SEGMENT_CPU_VISIBLE		(1u << 1) /* the CPU reaches the whole segment */
#define DRM_PAGODA_SEGMENT_CPU_PARTIAL		(1u << 2) /* the CPU reaches visible_size bytes */
#define DRM_PAGODA_SEGMENT_CACHE_COHERENT	(1u << 3) /* the GPU can snoop CPU caches */

/**
 * struct drm_pagoda_segment_info - One segment and its usage
 * @id: Segment id
 * @flags: DRM_PAGODA_SEGMENT_* flags
 * @size: Bytes of the segment, without the reserve; of VRAM, bytes count that the device reports as
 *	unusable
 * @visible_size: Bytes of @size that the CPU can reach
 * @usage: Bytes of @size in use, by all clients and the driver itself
 * @visible_usage: Bytes of @visible_size in use
 * @client_usage: Bytes in the segment of allocations that the calling client made, of its VMs' page
 *	tables and of its contexts' save areas
 * @mapped: Aperture: bytes of system memory that have an address in the aperture
 * @largest_free: Bytes of the largest contiguous free range
 * @client_pinned: Aperture: bytes of allocations that the calling client made which can't leave
 *	the segment, because other devices use them
 * @pin_limit: Aperture: largest possible @client_pinned
 * @reserve_size: VRAM: bytes of the reserve, which only page tables and save areas of contexts get,
 *	if evictions made no other room for them. Bytes in use in the reserve count in @client_usage
 *	and @reserve_usage, in no other usage here
 * @reserve_usage: Bytes of the reserve in use
 * @reserve_refused: Times that the reserve had no room for a page table or save area either: the
 *	call or job that needed the memory then waited for jobs, of any client, or failed
 */
struct drm_pagoda_segment_info {
	__u32 id;
	__u32 flags;
	__u64 size;
	__u64 visible_size;
	__u64 usage;
	__u64 visible_usage;
	__u64 client_usage;
	__u64 mapped;
	__u64 largest_free;
	__u64 client_pinned;
	__u64 pin_limit;
	__u64 reserve_size;
	__u64 reserve_usage;
	__u64 reserve_refused;
};

/**
 * struct drm_pagoda_stats - Counters of the device since probe; the @submit_* members are those of
 * the calling client. A token is the right to page a byte; tokens are added at a rate and spent
 * @paged_in: Bytes copied into VRAM from system memory
 * @paged_out: Bytes copied from VRAM to system memory. Of a move by a device that tracks what it
 *	writes, all bytes count until the move is done, then only those that were copied
 * @moved: Bytes copied within VRAM
 * @filled: Bytes of VRAM filled with zeros for allocations that came to VRAM without content
 * @discarded: Bytes of content dropped instead of copied, also of allocations freed in VRAM
 * @evictions: Times that an allocation left VRAM, for any reason: to make room, for the CPU or
 *	another device, for a sleep of the machine, or because a client asked for the eviction
 * @page_ins: Times that an allocation came into VRAM with content
 * @cpu_waits: Times that a move waited for paging and for jobs that use the allocation
 * @busy_retries: Times an operation had to wait until its allocation was idle (WDDM's
 *	ALLOCATION_BUSY)
 * @insufficient: Times a paging buffer was full before an operation was encoded completely (WDDM's
 *	INSUFFICIENT_BUFFER)
 * @commands: Packets built
 * @buffer_bytes: Bytes of paging buffers submitted
 * @submissions: Paging buffers submitted
 * @doorbells: Notifications sent to the device because of paging buffers
 * @faults: CPU page faults that moved an allocation
 * @lost: Times that an allocation lost its content; another loss counts only when the first was
 *	acknowledged (ALLOCATION_WAIT)
 * @range_acquires: Times that a CPU access took a swizzling range for an allocation
 * @range_steals: Times that the range so taken was in use for another allocation
 * @bandwidth: Bytes a second that paging was measured to move; 0 = not known yet, and tokens don't
 *	limit anything
 * @promote_tokens: Bytes that may come back to VRAM without a request now; if negative, as many
 *	bytes have to be added to get to 0
 * @promote_rate: Bytes a second added to @promote_tokens; 0 = no limit. A share of @bandwidth while
 *	any client uses the device
 * @promote_spent: Bytes paged without a request, each for a token unless there was no limit
 * @promote_refused: Times that nothing was brought back because there were no tokens
 * @promoted: Bytes that came back to VRAM without a request
 * @promotions: Allocations that came back to VRAM without a request
 * @submit_tokens: Bytes that the calling client's submissions may bring to VRAM now by evicting
 *	other allocations; may be negative. At most VRAM's size without the reserve, the first value
 * @submit_rate: Bytes a second added to @submit_tokens; 0 = no limit
 * @submit_spent: Bytes, but for offered ones, that left VRAM for allocations of the calling
 *	client's submissions that could be used elsewhere and aren't on a residency list, even if
 *	these didn't fit in the end; with policy=lru bytes of such allocations that came to VRAM
 * @submit_held: Submissions of the calling client that left allocations out of VRAM for want of
 *	tokens
 * @submit_left: Bytes of the allocations that were left out of VRAM, counted again at each of the
 *	submissions that left them out
 */
struct drm_pagoda_stats {
	__u64 paged_in;
	__u64 paged_out;
	__u64 moved;
	__u64 filled;
	__u64 discarded;
	__u64 evictions;
	__u64 page_ins;
	__u64 cpu_waits;
	__u64 busy_retries;
	__u64 insufficient;
	__u64 commands;
	__u64 buffer_bytes;
	__u64 submissions;
	__u64 doorbells;
	__u64 faults;
	__u64 lost;
	__u64 range_acquires;
	__u64 range_steals;
	__u64 bandwidth;
	__s64 promote_tokens;
	__u64 promote_rate;
	__u64 promote_spent;
	__u64 promote_refused;
	__u64 promoted;
	__u64 promotions;
	__s64 submit_tokens;
	__u64 submit_rate;
	__u64 submit_spent;
	__u64 submit_held;
	__u64 submit_left;
};

/*
 * ALLOCATION_CPU_VISIBLE: the CPU may access the allocation in VRAM as well as in system memory.
 * Without this flag, an allocation that is supported in the aperture may be mapped, and a CPU
 * access moves the allocation to system memory; an allocation that is supported in VRAM only can't
 * be mapped (C175)
 */
#define DRM_PAGODA_ALLOCATION_CPU_VISIBLE	(1u << 0)
/*
 * ALLOCATION_CACHED: CPU mappings of the allocation are cached wherever it is; needs CPU_VISIBLE.
 * With CPU_VISIBLE alone, mappings are write-combined while the allocation is in system memory or
 * the aperture, and cached while it is in VRAM. Without CPU_VISIBLE, mappings are cached
 */
#define DRM_PAGODA_ALLOCATION_CACHED		(1u << 1)
/* ALLOCATION_CONTIGUOUS: in VRAM the allocation is one contiguous range */
#define DRM_PAGODA_ALLOCATION_CONTIGUOUS	(1u << 2)
/*
 * ALLOCATION_ACCESSED_PHYSICALLY: where the GPU can use the allocation, in VRAM or in the aperture,
 * the allocation is one contiguous range of addresses of the segment (C162); implies CONTIGUOUS
 */
#define DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY (1u << 3)
/* ALLOCATION_FROM_END: the allocation is placed as near to the end of VRAM as possible */
#define DRM_PAGODA_ALLOCATION_FROM_END		(1u << 4)
/*
 * ALLOCATION_NOTIFY_EVICTION: the GPU gets NOTIFY_ALLOC before the allocation goes from the
 * aperture to plain system memory, or loses its address in the aperture
 */
#define DRM_PAGODA_ALLOCATION_NOTIFY_EVICTION	(1u << 5)
/*
 * ALLOCATION_APERTURE_CPU_VISIBLE: before MAP_APERTURE_SEGMENT2 maps the allocation's pages for the
 * GPU, the driver maps them into the kernel's address space, too (C67)
 */
#define DRM_PAGODA_ALLOCATION_APERTURE_CPU_VISIBLE (1u << 6)
/*
 * ALLOCATION_RESIDENCY_NOTIFICATION: the GPU is told when the allocation becomes resident, with its
 * address, and when it isn't resident any more (C113)
 */
#define DRM_PAGODA_ALLOCATION_RESIDENCY_NOTIFICATION (1u << 7)
/*
 * ALLOCATION_NOTIFY_IOMMU_UNMAP: the GPU gets NOTIFY_ALLOC before UNMAP_MMU unmaps the allocation's
 * pages (C121); no effect on a GPU without DEVICE_MMU
 */
#define DRM_PAGODA_ALLOCATION_NOTIFY_IOMMU_UNMAP (1u << 8)
/* ALLOCATION_IMPORTED, out only: the allocation is the imported dma-buf of another exporter */
#define DRM_PAGODA_ALLOCATION_IMPORTED		(1u << 9)

/**
 * enum drm_pagoda_tiling - How an allocation is laid out in VRAM; the values are the device's
 *
 * A tiled allocation is a surface of @pitch bytes by @height rows and its mip levels: level n +
 * 1 has half the pitch and half the rows of level n, each rounded up to whole tiles, and
 * follows level n. Tiles stand left to right and top to bottom; a tile is stored row by row.
 * Bytes behind the last level are linear.
 *
 * The GPU sees tiles while the allocation is in VRAM, and rows of @pitch bytes everywhere else.
 * The CPU always sees rows, and the same bytes at the same address before, during and after
 * each move (C34). While the allocation is in VRAM the CPU sees the rows through a swizzling
 * range, of which the device has few. A page fault takes a range, if need be from the
 * allocation that was longest without a page fault; when there is no range to take, or the
 * allocation has more than swizzling_bytes, the fault moves the allocation to system memory.
 * Whether the CPU can reach VRAM itself doesn't matter.
 *
 * CPU and GPU find each other's writes in the order of SUBMIT. A job finds the CPU's writes
 * from before SUBMIT (of a queued job: from before it is prepared, see "Coherence of CPU and
 * GPU") in three kinds of allocations: those that the job lists, those of the residency list
 * that the job's VM has mapped, and those private to the VM. A CPU access after SUBMIT to such
 * an allocation in VRAM is a page fault, which waits until the job, and all jobs prepared before
 * the fault, are done; a signal ends the wait. To see what a queued job writes, wait for the job
 * first.
 *
 * An allocation made without CPU_VISIBLE and not supported in the aperture stays tiled when it
 * is evicted; all others are linear in system memory (C33).
 */
enum drm_pagoda_tiling {
	/** @DRM_PAGODA_TILING_LINEAR: not tiled */
	DRM_PAGODA_TILING_LINEAR = 0,
	/** @DRM_PAGODA_TILING_4K: tiles of 64 bytes by 64 rows */
	DRM_PAGODA_TILING_4K = 1,
	/** @DRM_PAGODA_TILING_64K: tiles of 256 bytes by 256 rows */
	DRM_PAGODA_TILING_64K = 2,
};

/** DRM_PAGODA_MAX_PREFERRED: length of ALLOCATION_CREATE's array of preferred segments. */
#define DRM_PAGODA_MAX_PREFERRED	4

/**
 * struct drm_pagoda_allocation_create - Argument of ALLOCATION_CREATE
 * @size: In: bytes, 1 to %DRM_PAGODA_MAX_ALLOCATION. Out: rounded up to pages
 * @flags: DRM_PAGODA_ALLOCATION_* flags
 * @supported: Set of segments (DRM_PAGODA_SEGMENT_BIT) the GPU can use the allocation in;
 *	at least one. The allocation is never resident anywhere else (C160)
 * @eviction: Set of segments the allocation is evicted to: 0 = plain system memory, or
 *	the aperture (C37), which must then be in @supported. Evicted to plain system memory all
 *	the same if the aperture has no room, the allocation is offered, or a task evicts it whose
 *	cgroup isn't the one that is charged for the allocation
 * @handle: Out: GEM handle, not 0
 * @preferred: Segment ids in the order they are tried (C161), none twice, then zeros; each
 *	must be in @supported. Supported segments that aren't named are tried last, VRAM first. A
 *	segment that could never hold the allocation isn't tried
 * @alignment: Bytes the VRAM address is aligned to; 0 or a power of two from the
 *	page size to 2 MiB. Guaranteed only with CONTIGUOUS
 * @pad: MBZ
 * @tiling: enum drm_pagoda_tiling. Tiled: EOPNOTSUPP if the device has no swizzling ranges; VRAM
 *	must be in @supported; implies CONTIGUOUS
 * @pitch: Tiled: bytes from row to row; multiple of a tile's width, at most 64 KiB, not
 *	0. Else MBZ
 * @height: Tiled: rows; multiple of a tile's rows, not 0. Else MBZ
 * @mips: Tiled: levels, 1 to 16; @size must hold them all. Else MBZ
 * @vm: VM the allocation is private to, or 0. A private allocation can be bound in this VM only,
 *	can't be shared, and is resident for every job of the VM while the VM has it bound
 * @pad2: MBZ
 *
 * The new allocation isn't in a segment yet. Its content is zeros.
 */
struct drm_pagoda_allocation_create {
	__u64 size;
	__u32 flags;
	__u32 supported;
	__u32 eviction;
	__u32 handle;
	__u32 preferred[DRM_PAGODA_MAX_PREFERRED];
	__u32 alignment;
	__u32 pad;
	__u32 tiling;
	__u32 pitch;
	__u32 height;
	__u32 mips;
	__u32 vm;
	__u32 pad2;
};

/**
 * struct drm_pagoda_allocation_mmap_offset - Argument of ALLOCATION_MMAP_OFFSET
 * @handle: Allocation, made with CPU_VISIBLE or supported in the aperture (else EACCES)
 * @flags: MBZ
 * @offset: Out: offset for mmap() of the DRM file. The mapping survives moves
 *	(C34)
 *
 * An allocation without memory gets memory at the first CPU access, as at MAKE_RESIDENT. A reserve
 * is kept for other uses of the machine: a sixteenth of its RAM, plus the size of the largest
 * allocation that has pages now, rounded up to a power of two. If less than the reserve would
 * remain available, of RAM and swap together, the access raises SIGBUS and MAKE_RESIDENT answers
 * ENOMEM. Swapped content comes back even then.
 */
struct drm_pagoda_allocation_mmap_offset {
	__u32 handle;
	__u32 flags;
	__u64 offset;
};

/**
 * DOC: Sharing
 *
 * DRM_IOCTL_PRIME_HANDLE_TO_FD makes a dma-buf of any allocation that isn't private to a VM,
 * and gives back the original dma-buf of an IMPORTED allocation. DRM_IOCTL_PRIME_FD_TO_HANDLE
 * gives a handle of the same allocation for a dma-buf of this device, whichever client made it.
 *
 * The dma-buf of another device, or of none (udmabuf), becomes an allocation that is IMPORTED,
 * CPU_VISIBLE, CACHED and supported in the aperture only. EINVAL: the dma-buf isn't whole pages, or
 * has addresses that are too large for this device; E2BIG: it is larger than the aperture;
 * EOPNOTSUPP: this device doesn't reach all of the machine's memory, or the driver's executor=cpu
 * on a device that translates addresses itself; else the exporter's error. EINVAL for addresses and
 * the exporter's error may also come when the allocation is first made resident. The content isn't
 * this device's: imported memory is never moved, filled, swapped or discarded, and no CONTENT_LOST
 * is reported for it. mmap() of the allocation is mmap() of the dma-buf. When the exporter moves
 * the memory, GPU addresses of the allocation fault until the next submission or MAKE_RESIDENT, as
 * after an eviction.
 *
 * Another device reaches allocations in system memory only: its use of an allocation that isn't
 * supported in the aperture, or is tiled, fails with EOPNOTSUPP. An importer that can be told of
 * moves (on a kernel with DMABUF_MOVE_NOTIFY) finds the allocation in system memory when it maps
 * the dma-buf, and is told before the allocation leaves system memory. For other importers the
 * allocation is pinned in system memory while they have the dma-buf mapped, or on older kernels
 * while they are attached: the GPU uses the allocation there as well, whatever segment the
 * allocation prefers, and EVICT has no effect. Of the allocations that a client made, at most
 * &drm_pagoda_segment_info.pin_limit of the aperture is pinned, and of those that the user's
 * clients made at most the user's share ("Limits"), else the importer gets EDQUOT.
 *
 * The fences of a dma-buf are those of its allocation. Work that is submitted with IMPLICIT
 * waits for fences that other users added (DMA_BUF_IOCTL_IMPORT_SYNC_FILE), and other users
 * find the work's fence (DMA_BUF_IOCTL_EXPORT_SYNC_FILE, poll(), DMA_BUF_IOCTL_SYNC). Work
 * without IMPLICIT does neither; evictions wait for all work. A result is visible in mappings
 * of the dma-buf when the fence of its job has signalled.
 *
 * When the device is gone, importers keep the memory that is pinned for them, with its content
 * if the content was in system memory; everything else about the device's dma-bufs fails with
 * ENODEV, and mappings show zeros.
 */

/** enum drm_pagoda_residency - Whether an allocation is resident, and where. */
enum drm_pagoda_residency {
	/** @DRM_PAGODA_RESIDENT_IN_GPU_MEMORY: the allocation was made resident, and is in VRAM */
	DRM_PAGODA_RESIDENT_IN_GPU_MEMORY = 1,
	/**
	 * @DRM_PAGODA_RESIDENT_IN_SHARED_MEMORY: the allocation was made resident, and is in
	 * system memory that jobs access (aperture)
	 */
	DRM_PAGODA_RESIDENT_IN_SHARED_MEMORY = 2,
	/**
	 * @DRM_PAGODA_NOT_RESIDENT: the allocation was never made resident, wherever it lies; or is
	 * in plain system memory now; or was evicted by EVICT, even if it is still in its place
	 */
	DRM_PAGODA_NOT_RESIDENT = 3,
};

/**
 * DRM_PAGODA_CONTENT_LOST: a reset or a failure of the device destroyed the content; the
 * allocation reads as zeros. Set until ALLOCATION_WAIT acknowledges the loss. Content in system
 * memory outlives a reset, and a loss of imported content is never reported.
 */
#define DRM_PAGODA_CONTENT_LOST		(1u << 0)
/** DRM_PAGODA_CONTENT_OFFERED: the allocation is offered, so its content may be dropped. */
#define DRM_PAGODA_CONTENT_OFFERED	(1u << 1)

/**
 * struct drm_pagoda_allocation_info - Argument of ALLOCATION_INFO
 * @handle: In: allocation
 * @flags: Out: DRM_PAGODA_ALLOCATION_* flags
 * @size: Out: bytes, in whole pages
 * @supported: Out: set of segments that the GPU can use the allocation in
 * @eviction: Out: set of segments that the allocation is evicted to
 * @segment: Out: enum drm_pagoda_segment_id of the segment that the allocation is in
 * @residency: Out: enum drm_pagoda_residency
 * @state: Out: %DRM_PAGODA_CONTENT_LOST and %DRM_PAGODA_CONTENT_OFFERED
 * @num_ranges: Out: number of contiguous ranges of the segment that the allocation occupies; 0 in
 *	system memory, or in the aperture without an address there
 * @address: Out: offset of the allocation's first byte in the segment; 0 if @num_ranges is 0
 * @tiling: Out: enum drm_pagoda_tiling
 * @pitch: Out: bytes from row to row, 0 = not tiled
 * @height: Out: rows, 0 = not tiled
 * @mips: Out: levels, 0 = not tiled
 */
struct drm_pagoda_allocation_info {
	__u32 handle;
	__u32 flags;
	__u64 size;
	__u32 supported;
	__u32 eviction;
	__u32 segment;
	__u32 residency;
	__u32 state;
	__u32 num_ranges;
	__u64 address;
	__u32 tiling;
	__u32 pitch;
	__u32 height;
	__u32 mips;
};

/* Flag of ALLOCATION_WAIT: clear %DRM_PAGODA_CONTENT_LOST; the lost content is zeros */
#define DRM_PAGODA_ALLOCATION_WAIT_ACKNOWLEDGE	(1u << 0)

/**
 * struct drm_pagoda_allocation_wait - Argument of ALLOCATION_WAIT
 * @handle: Allocation
 * @flags: DRM_PAGODA_ALLOCATION_WAIT_* flags
 * @timeout_ns: CLOCK_MONOTONIC time at which the wait ends with ETIME; 0 or less = only look
 *
 * Waits for prepared jobs, paging and other devices that use the allocation. A queued job (see
 * "Closing objects that accepted work names") isn't waited for: wait for a fence of the job.
 *
 * EIO: the allocation is idle, and its content was lost after any client last acknowledged a
 * loss. The kernel doesn't know when content was made anew: a client acknowledges the loss
 * before it writes new content. The call that acknowledges a loss still answers EIO, later calls
 * don't.
 */
struct drm_pagoda_allocation_wait {
	__u32 handle;
	__u32 flags;
	__s64 timeout_ns;
};

/**
 * struct drm_pagoda_residency_entry - An allocation of a list
 * @handle: Allocation; a list may not name an allocation twice, nor by two handles
 * @flags: MBZ
 */
struct drm_pagoda_residency_entry {
	__u32 handle;
	__u32 flags;
};

/**
 * DOC: Residency lists
 *
 * Each client has a list of allocations that have to be resident while its work is
 * executed, with a count for each (WDDM's residency requirement list). MAKE_RESIDENT with a
 * paging queue adds one to the counts of its entries, EVICT with a paging queue takes one
 * away; at 0 the allocation leaves the list (C146). Closing a handle, or the file, takes
 * all of that client's counts (see SUBMIT); a reset of the device none.
 *
 * The whole list fits into the segments together: a request that would make the list too long
 * is refused with ENOMEM and changes no count (C147); bytes_to_trim says how many bytes EVICT
 * has to take from the list first (C148). Other clients' lists don't count: an allocation of
 * the list that had to leave for other clients is brought back by SUBMIT, if the VM has the
 * allocation mapped, before the job runs (C152). An allocation that is on the list of any
 * client leaves only because its place was needed, not because EVICT or another client asked
 * for the eviction.
 *
 * The counts change at once, in the call. The paging is done later, by a worker, in the order
 * of calls, except that queues of higher priority go first (C157); an allocation that isn't on
 * the list any more when its turn comes isn't brought. Each request that has to wait for paging
 * gets the next value of its queue, which is the point of the queue's timeline syncobj that
 * signals when all entries of a MAKE_RESIDENT can be used, or when the entries that an EVICT
 * evicts have left (C149, C156). The point has a fence when the worker has given the paging to
 * the GPU: wait with DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT.
 *
 * A request that may fit but finds no memory or room waits for jobs that may be in the way, and is
 * then repeated for half a second. If a request fails in the end, its point signals with an error,
 * and PAGING_QUEUE_STATE tells the error. A MAKE_RESIDENT that failed for want of memory or room
 * takes back all of its counts; a MAKE_RESIDENT that failed for another reason takes back the
 * counts of the entries that can't be made resident alone, either. A job of the client that waits
 * for the value, or for another point that the request was to signal, isn't executed: the job's
 * fences have the error ECANCELED, and the context goes on. Jobs are stopped by the last 64 values
 * of a queue that failed. A VM_BIND that waits for a failed request is made all the same, and
 * monitored fences get their values.
 *
 * An offered allocation makes the call fail with ENODATA, which puts no client in error. A request
 * with CANT_TRIM_FURTHER puts the client in error when the request fails for want of memory or
 * room, or when the call answers ENOMEM with bytes_to_trim not 0. With MUST_SUCCEED every failure
 * puts the client in error, except wrong arguments, signals and the end of the device, and the
 * request is repeated for ten times as long. All contexts of a client in error are banned, and
 * SUBMIT, CONTEXT_CREATE and MAKE_RESIDENT with a queue are refused with ECANCELED, until the file
 * is closed (C151).
 */

/* Flag of MAKE_RESIDENT: a failure for want of memory or room puts the client in error */
#define DRM_PAGODA_RESIDENT_CANT_TRIM_FURTHER	(1u << 0)
/*
 * Flag of MAKE_RESIDENT, only with CANT_TRIM_FURTHER: other failures put the client in error, too,
 * with the exceptions that "Residency lists" names
 */
#define DRM_PAGODA_RESIDENT_MUST_SUCCEED	(1u << 1)
/*
 * Flag of MAKE_RESIDENT: the call answers ENOMEM and does nothing if the client, with those entries
 * that the client made and doesn't want yet, would want more than its budget (C167), see "Budgets".
 * Can't be combined with other flags
 */
#define DRM_PAGODA_RESIDENT_DENY_OVERBUDGET	(1u << 2)

/**
 * struct drm_pagoda_make_resident - Argument of MAKE_RESIDENT
 * @entries: struct drm_pagoda_residency_entry
 * @flags: DRM_PAGODA_RESIDENT_* flags; MBZ without @paging_queue
 * @paging_queue: Paging queue: the entries are added to the client's list; or 0: the call brings
 *	the entries, which may leave whenever their place is needed
 * @syncobj: Timeline syncobj, or 0
 * @pad: MBZ
 * @point: Point of @syncobj that signals when all entries can be used; not 0 with a syncobj, MBZ
 *	without
 * @bytes_to_trim: Out on ENOMEM: with @paging_queue bytes by which the client's residency list
 *	would be too long, or with DENY_OVERBUDGET bytes over the budget; without @paging_queue
 *	bytes of the entries that don't fit into the segments together. Else 0
 * @num_resident: Out: number of entries that are resident, with @paging_queue on the client's
 *	list: all or none (C147)
 * @pending: Out: 1 = wait for @point (or the allocations, or @paging_value) before use;
 *	0 = all can be used now. The point signals in either case
 * @fence: Monitored fence that gets @fence_value after all of the paging (WDDM's paging
 *	fence), or 0
 * @pad2: MBZ
 * @fence_value: Value for @fence, not one that "Monitored fences" says is refused (EINVAL). MBZ
 *	without @fence
 * @paging_value: Out: value of @paging_queue, if not 0, to wait for if @pending is 1; else 0
 *
 * All entries are in a supported segment together when the call returns 0, with @paging_queue
 * when the value is reached. Other allocations may be evicted for the entries, even if they
 * were made resident before. The call doesn't wait for copies. Without @paging_queue the call may
 * wait for memory, and for jobs and other devices that are in the way; with @paging_queue for none
 * of these, but a client that has %DRM_PAGODA_MAX_QUEUED_PAGING requests queued waits until
 * earlier requests are done.
 */
struct drm_pagoda_make_resident {
	struct drm_pagoda_array entries;
	__u32 flags;
	__u32 paging_queue;
	__u32 syncobj;
	__u32 pad;
	__u64 point;
	__u64 bytes_to_trim;
	__u32 num_resident;
	__u32 pending;
	__u32 fence;
	__u32 pad2;
	__u64 fence_value;
	__u64 paging_value;
};

/* Flag of EVICT: the entries stay in place until another allocation needs the place (C153) */
#define DRM_PAGODA_EVICT_ONLY_IF_NECESSARY	(1u << 0)
/*
 * Flag of EVICT: no job wrote to the entries since they were made resident (C155). When an
 * allocation on a residency list comes to VRAM, the driver may keep the system pages that
 * the content came from. An allocation that is evicted with the flag then gets these pages
 * back, and nothing is copied out of VRAM. If a job did write, what it wrote is lost when the
 * allocation leaves. The flag has no effect, and the content is copied, where the driver kept
 * no pages, for want of memory, because the allocation is tiled, or because its last EVICT with a
 * paging queue was without the flag; and where the pages may be outdated: several clients have or
 * had handles of the allocation, a job used it while it was on no residency list, or the CPU may
 * have written to it in VRAM. The flag has no effect either, and nothing is lost, if the device
 * tracks what it writes (%VIRTIO_PAGODA_F_DIRTY): then what was written is copied anyway
 */
#define DRM_PAGODA_EVICT_NOT_WRITTEN_TO		(1u << 1)

/**
 * struct drm_pagoda_evict - Argument of EVICT
 * @entries: struct drm_pagoda_residency_entry
 * @flags: DRM_PAGODA_EVICT_* flags; MBZ without @paging_queue
 * @syncobj: Timeline syncobj, or 0
 * @point: Point of @syncobj that signals when the entries that the call evicts have left; an entry
 *	that stays needn't leave for that, but its jobs may be waited for, see below. Not 0 with a
 *	syncobj, MBZ without
 * @bytes_to_trim: Out: bytes that the client wants beyond its budgets, see "Budgets"; an entry
 *	doesn't count any more if it leaves the last residency list that it is on, even if it
 *	hasn't left its place yet
 * @paging_queue: Paging queue: takes one from the count of each entry on this client's residency
 *	list, and then evicts the entries that are on no client's list; ENOENT, and nothing is
 *	done, if an entry isn't on this client's list. 0: evicts the entries that are on no
 *	client's list, and changes no count
 * @pad: MBZ
 * @paging_value: Out: value of @paging_queue that is reached when the entries that the call evicts
 *	have left; 0 = the call queued no request
 *
 * Evicting an allocation that queued work uses doesn't disturb that work. A job that is prepared
 * keeps its memory until the job is done: the request, or without @paging_queue the call, takes
 * one entry after the other and waits for the jobs that use the entry at that time, also if the
 * entry will stay because it is on a client's list. With @paging_queue there is no request, and no
 * job is waited for, if all entries are on a client's list, or with
 * %DRM_PAGODA_EVICT_ONLY_IF_NECESSARY. A queued job brings back what it uses when it is prepared.
 *
 * An entry that other jobs use after these waits isn't evicted, nor is one that a waiting VM_BIND
 * will map. Such an entry stays, also when the jobs or the VM_BIND are done, until its place is
 * needed or another EVICT evicts it.
 */
struct drm_pagoda_evict {
	struct drm_pagoda_array entries;
	__u32 flags;
	__u32 syncobj;
	__u64 point;
	__u64 bytes_to_trim;
	__u32 paging_queue;
	__u32 pad;
	__u64 paging_value;
};

/** DRM_PAGODA_MAX_QUEUED_PAGING: most requests that a client's paging queues hold together. */
#define DRM_PAGODA_MAX_QUEUED_PAGING	128

/**
 * struct drm_pagoda_paging_queue_create - Argument of PAGING_QUEUE_CREATE
 * @flags: MBZ
 * @priority: -1, 0 or 1: requests of queues of higher priority are done first
 * @queue: Out: id, not 0
 * @syncobj: Out: timeline syncobj of the queue's values, a new handle that the caller destroys
 */
struct drm_pagoda_paging_queue_create {
	__u32 flags;
	__s32 priority;
	__u32 queue;
	__u32 syncobj;
};

/**
 * struct drm_pagoda_paging_queue_destroy - Argument of PAGING_QUEUE_DESTROY
 * @queue: Paging queue
 * @pad: MBZ
 *
 * Accepted requests are carried out all the same, and the client's list stays unchanged.
 */
struct drm_pagoda_paging_queue_destroy {
	__u32 queue;
	__u32 pad;
};

/**
 * struct drm_pagoda_paging_queue_state - Argument of PAGING_QUEUE_STATE
 * @queue: In: paging queue
 * @error: Out: positive errno of the last request that failed after it was accepted, else 0
 * @failed: Out: value of @queue that the request with @error was given, else 0
 * @given: Out: last value of @queue that was given to a request
 * @client_error: Out: positive errno that put the client in error, else 0
 * @pad: MBZ
 */
struct drm_pagoda_paging_queue_state {
	__u32 queue;
	__u32 error;
	__u64 failed;
	__u64 given;
	__u32 client_error;
	__u32 pad;
};

/**
 * struct drm_pagoda_list_status - An entry of QUERY_RESIDENCY_LIST
 * @handle: In: allocation
 * @count: Out: the allocation's count on the client's list, 0 = not on the list
 * @residency: Out: enum drm_pagoda_residency
 * @clients: Out: number of clients that have the allocation on their lists
 */
struct drm_pagoda_list_status {
	__u32 handle;
	__u32 count;
	__u32 residency;
	__u32 clients;
};

/**
 * struct drm_pagoda_query_residency_list - Argument of QUERY_RESIDENCY_LIST
 * @entries: struct drm_pagoda_list_status
 * @flags: MBZ
 * @pad: MBZ
 */
struct drm_pagoda_query_residency_list {
	struct drm_pagoda_array entries;
	__u32 flags;
	__u32 pad;
};

/**
 * struct drm_pagoda_residency_status - An entry of QUERY_RESIDENCY
 * @handle: In: allocation
 * @residency: Out: enum drm_pagoda_residency
 * @segment: Out: enum drm_pagoda_segment_id
 * @state: Out: %DRM_PAGODA_CONTENT_LOST, %DRM_PAGODA_CONTENT_OFFERED
 */
struct drm_pagoda_residency_status {
	__u32 handle;
	__u32 residency;
	__u32 segment;
	__u32 state;
};

/**
 * struct drm_pagoda_query_residency - Argument of QUERY_RESIDENCY
 * @entries: struct drm_pagoda_residency_status
 * @flags: MBZ
 * @pad: MBZ
 */
struct drm_pagoda_query_residency {
	struct drm_pagoda_array entries;
	__u32 flags;
	__u32 pad;
};

/**
 * enum drm_pagoda_offer_priority - Which offered content is dropped first
 *
 * Of content with the same priority, the content that was offered first is dropped first. Content
 * that unfinished work uses is chosen only if no other offered content is in VRAM.
 */
enum drm_pagoda_offer_priority {
	/** @DRM_PAGODA_OFFER_LOW: content that is easy to make again, and is dropped first */
	DRM_PAGODA_OFFER_LOW = 1,
	/** @DRM_PAGODA_OFFER_NORMAL: content that is dropped after content offered with LOW */
	DRM_PAGODA_OFFER_NORMAL = 2,
	/** @DRM_PAGODA_OFFER_HIGH: content that is hard to make again, and is dropped last */
	DRM_PAGODA_OFFER_HIGH = 3,
	/**
	 * @DRM_PAGODA_OFFER_AUTO: by the allocation's residency priority at the time of the
	 * offer: LOW below %DRM_PAGODA_RESIDENCY_NORMAL, HIGH from %DRM_PAGODA_RESIDENCY_HIGH
	 * on, else NORMAL
	 */
	DRM_PAGODA_OFFER_AUTO = 4,
};

/* Flag of OFFER: if memory is short, content in system memory is dropped, not swapped out */
#define DRM_PAGODA_OFFER_ALLOW_DECOMMIT	(1u << 0)

/**
 * struct drm_pagoda_offer - Argument of OFFER
 * @entries: struct drm_pagoda_residency_entry
 * @priority: enum drm_pagoda_offer_priority
 * @flags: DRM_PAGODA_OFFER_* flags
 *
 * The client doesn't need the content of the entries until the client reclaims them. When room
 * is needed in VRAM, offered content in VRAM is dropped instead of copied, before any other
 * allocation leaves. The call doesn't wait: work submitted before still finds the content, and
 * until that work has finished the content isn't dropped, and isn't chosen before other content
 * (C170).
 *
 * An offered allocation can't be used until RECLAIM (C171): a MAKE_RESIDENT or SUBMIT that
 * lists the allocation and a VM_BIND that maps it are refused with ENODATA, and so are mmap(),
 * ptrace and export as a dma-buf; existing CPU mappings raise SIGBUS. An allocation that is
 * private to a VM keeps its addresses, which fault from the next submission to the VM on; that
 * submission isn't refused. While other jobs of the VM may use the addresses, the submission is
 * queued until these jobs are done; if the submission is fenced, or further jobs are submitted
 * meanwhile, the addresses fault only from a later submission on. EVICT is possible, and drops
 * content that is in VRAM. The allocation stays on the residency list.
 *
 * All or none (C147): EALREADY if an entry is offered; EPERM if an entry is imported or was
 * exported, because its other users don't know of the offer; EBUSY if accepted work will use an
 * entry. Such work is a waiting VM_BIND that will map the entry, a queued SUBMIT that lists
 * the entry or that goes to the VM the entry is private to, and a MAKE_RESIDENT with a paging
 * queue until its value has a fence. The handle of an offered allocation may be closed.
 */
struct drm_pagoda_offer {
	struct drm_pagoda_array entries;
	__u32 priority;
	__u32 flags;
};

/** enum drm_pagoda_reclaim_result - What became of offered content. */
enum drm_pagoda_reclaim_result {
	/** @DRM_PAGODA_RECLAIM_OK: the content is as it was when it was offered (C172) */
	DRM_PAGODA_RECLAIM_OK = 0,
	/** @DRM_PAGODA_RECLAIM_DISCARDED: the content was dropped: the allocation reads as zeros */
	DRM_PAGODA_RECLAIM_DISCARDED = 1,
	/** @DRM_PAGODA_RECLAIM_NOT_COMMITTED: no memory for the allocation, which stays offered */
	DRM_PAGODA_RECLAIM_NOT_COMMITTED = 2,
};

/**
 * struct drm_pagoda_reclaim_result_entry - What RECLAIM answers for an entry
 * @result: Out: enum drm_pagoda_reclaim_result
 * @pad: Out: 0
 */
struct drm_pagoda_reclaim_result_entry {
	__u32 result;
	__u32 pad;
};

/**
 * struct drm_pagoda_reclaim - Argument of RECLAIM
 * @entries: struct drm_pagoda_residency_entry; each is offered (else EINVAL)
 * @results: struct drm_pagoda_reclaim_result_entry, one for each of @entries; or count,
 *	stride and array 0: the caller doesn't ask which content was discarded
 * @flags: MBZ
 * @syncobj: Timeline syncobj, or 0
 * @point: Point of @syncobj that signals when the GPU can use the entries that were brought back;
 *	not 0 with a syncobj, MBZ without
 * @pending: Out: 1 = wait for @point (or the allocations) before the GPU uses the entries; 0 = the
 *	GPU can use the entries now. The point signals in either case
 * @fence: Monitored fence that the GPU sets to @fence_value after all paging emitted so far, which
 *	includes the paging of this call; or 0
 * @fence_value: Value for @fence, not one that "Monitored fences" says is refused (EINVAL). MBZ
 *	without @fence
 *
 * When the call returns, all reclaimed entries that the CPU may map have memory: the CPU needn't
 * wait for @point (C173). Entries that had been made resident, and EVICT hasn't evicted since, are
 * brought back to where the GPU can use them, even if they had left to make room (C174). The call
 * may wait for jobs that are in the way of that. If there is no room, nothing is reclaimed
 * (ENOMEM); entries that were evicted by EVICT need no room and aren't brought. Without @results an
 * entry that can't be committed makes the call fail, with ENOMEM and without effect.
 */
struct drm_pagoda_reclaim {
	struct drm_pagoda_array entries;
	struct drm_pagoda_array results;
	__u32 flags;
	__u32 syncobj;
	__u64 point;
	__u32 pending;
	__u32 fence;
	__u64 fence_value;
};

/**
 * DOC: Residency priority
 *
 * Allocations of lower residency priority leave memory first. The levels are WDDM's; all values
 * from the lowest to the highest are possible.
 *
 * Priorities order the allocations of a client. Between clients budgets come first: when room is
 * needed in VRAM, allocations of clients over their budget leave before those of clients within,
 * whatever their priorities. Only between clients that are all over, or all within, lower
 * priorities leave first. Here a client is over its budget if it both wants and uses more of the
 * local group than its budget, see "Budgets". An allocation counts for its client, and for those
 * clients that have it on their residency lists: it leaves before allocations of clients within
 * their budget only if all of its clients are over theirs. Offered allocations leave before all
 * others, see OFFER.
 *
 * The memory priority of VK_EXT_memory_priority, 0.0 to 1.0, is::
 *
 *	MINIMUM + priority * (MAXIMUM - MINIMUM)
 *
 * so that its default of 0.5 is NORMAL; vkSetDeviceMemoryPriorityEXT() is SET_PRIORITY.
 *
 * The driver chooses which allocations leave VRAM by 17 ranks, four from level to level. Where
 * TTM chooses, in the aperture or with the driver's parameter policy=lru, budgets don't matter, and
 * there are four ranks, of each the least recently used first: below LOW and offered allocations;
 * below NORMAL; below HIGH; the rest. The priority is a hint: memory that is in use doesn't leave.
 */
#define DRM_PAGODA_RESIDENCY_MINIMUM	0x28000000u
#define DRM_PAGODA_RESIDENCY_LOW	0x50000000u
#define DRM_PAGODA_RESIDENCY_NORMAL	0x78000000u	/* default of allocations */
#define DRM_PAGODA_RESIDENCY_HIGH	0xa0000000u
#define DRM_PAGODA_RESIDENCY_MAXIMUM	0xc8000000u

/**
 * struct drm_pagoda_priority_entry - An allocation and its residency priority
 * @handle: Allocation; a list may not name an allocation twice
 * @priority: %DRM_PAGODA_RESIDENCY_MINIMUM to %DRM_PAGODA_RESIDENCY_MAXIMUM
 */
struct drm_pagoda_priority_entry {
	__u32 handle;
	__u32 priority;
};

/**
 * struct drm_pagoda_set_priority - Argument of SET_PRIORITY
 * @entries: struct drm_pagoda_priority_entry; all priorities are set, or none
 * @flags: MBZ
 * @pad: MBZ
 *
 * An allocation keeps its priority until the next SET_PRIORITY, also when it moves. The call moves
 * nothing.
 */
struct drm_pagoda_set_priority {
	struct drm_pagoda_array entries;
	__u32 flags;
	__u32 pad;
};

/**
 * DOC: Budgets
 *
 * Each client has a budget for each segment group: the bytes that the client should want at
 * most. Allocations of a client that wants more have to leave for other clients' work. No call
 * is refused because of a budget, except with DENY_OVERBUDGET.
 *
 * A client wants an allocation that it made while the allocation is on the residency list of any
 * client; and once MAKE_RESIDENT or a job has made the allocation resident, until EVICT or its end.
 * A client doesn't want an offered allocation. A wanted allocation's bytes count in the group of
 * the segment that the allocation prefers, whether it lies there, elsewhere, or had to leave for
 * other clients. Page tables of the client's VMs and save areas of its contexts count, too.
 *
 * A 32nd of a group is the kernel's, the rest is the pool. The pool less other clients'
 * reservations, and less the bytes that other clients want beyond their reservations (of each
 * client at most as much as the budget itself), is the budget, in whole pages. So all clients
 * have the same share of the unreserved part, and the unused part of a share is lent to the
 * other clients. A budget changes when other clients want or reserve more or less, never because
 * of calls of the client itself (C166), and never because allocations move. The budget of clients
 * that all want more than their share stays what it is, whatever they want beyond that.
 *
 * All reservations together are at most half of the pool. A reservation ends with its file.
 */

/** enum drm_pagoda_segment_group - Segments that have a budget together. */
enum drm_pagoda_segment_group {
	/** @DRM_PAGODA_SEGMENT_GROUP_LOCAL: VRAM */
	DRM_PAGODA_SEGMENT_GROUP_LOCAL = 0,
	/**
	 * @DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL: the aperture: system memory that jobs access,
	 * with or without an address in the aperture. The size of the group is half of the
	 * machine's memory, at least 64 MiB
	 */
	DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL = 1,
};

/**
 * struct drm_pagoda_query_memory_info - Argument of QUERY_MEMORY_INFO
 * @group: In: enum drm_pagoda_segment_group (else ENOENT)
 * @flags: MBZ
 * @budget: Out: bytes that the client should want at most, so that @current_usage can stay within
 * @current_usage: Out: bytes in the group of the allocations that the client made (C165), of the
 *	page tables of its VMs and of the save areas of its contexts. An allocation counts for the
 *	client that made it; an imported allocation for the first client that has a handle
 * @available_for_reservation: Out: most bytes that the client can reserve now
 * @current_reservation: Out: bytes that the client has reserved
 *
 * All values are of the same moment.
 */
struct drm_pagoda_query_memory_info {
	__u32 group;
	__u32 flags;
	__u64 budget;
	__u64 current_usage;
	__u64 available_for_reservation;
	__u64 current_reservation;
};

/**
 * struct drm_pagoda_set_reservation - Argument of SET_RESERVATION
 * @group: enum drm_pagoda_segment_group (else ENOENT)
 * @flags: MBZ
 * @reservation: Bytes the client needs at least, instead of its earlier reservation; at most
 *	&drm_pagoda_query_memory_info.available_for_reservation (else EDQUOT). Less is left
 *	for other clients; the client's own budget stays what it is (C166)
 */
struct drm_pagoda_set_reservation {
	__u32 group;
	__u32 flags;
	__u64 reservation;
};

/** enum drm_pagoda_event_type - Events that a client reads from the file that EVENTS returned. */
enum drm_pagoda_event_type {
	/**
	 * @DRM_PAGODA_EVENT_BUDGET_CHANGED: the client's budget of a group is @value bytes now,
	 * which differs by more than a 64th from the value of the last such event, or from the
	 * budget when EVENTS was called
	 */
	DRM_PAGODA_EVENT_BUDGET_CHANGED = 1,
	/**
	 * @DRM_PAGODA_EVENT_TRIM: the client wants @value bytes of a group more than the last
	 * reported budget: the client has begun to want more than the budget, or a smaller budget
	 * was reported. While the client goes on to want more, the event comes again only if a
	 * smaller budget is reported
	 */
	DRM_PAGODA_EVENT_TRIM = 2,
	/**
	 * @DRM_PAGODA_EVENT_CONTENT_LOST: an allocation that the client made lost its content;
	 * QUERY_RESIDENCY tells of which allocations the content is lost. Another loss of the
	 * allocation is told only when the first was acknowledged (ALLOCATION_WAIT)
	 */
	DRM_PAGODA_EVENT_CONTENT_LOST = 3,
	/**
	 * @DRM_PAGODA_EVENT_DEVICE_LOST: the device was reset, @value times since probe; or the
	 * device is gone or can't be used any more: then poll() tells POLLHUP, too
	 */
	DRM_PAGODA_EVENT_DEVICE_LOST = 4,
	/**
	 * @DRM_PAGODA_EVENT_EVICTED: @value bytes of allocations on the client's residency list had
	 * to leave a group since the event was read the last time, because other allocations
	 * needed the room, or a cgroup's maximum or debugfs asked for it. Jobs bring these
	 * allocations back, for which others have to leave, until the client takes as many bytes
	 * from its list by EVICT
	 */
	DRM_PAGODA_EVENT_EVICTED = 5,
};

/**
 * struct drm_pagoda_event - Record that is read from the file that EVENTS gives
 * @type: enum drm_pagoda_event_type
 * @group: BUDGET_CHANGED, TRIM, EVICTED: enum drm_pagoda_segment_group; else 0
 * @count: Times the event has happened since it was read the last time, at least 1
 * @value: Value of the latest of these times; EVICTED: the sum of all
 *
 * There is no queue: an event that happens again before it was read is counted. read() gives as
 * many events as there are and fit into the buffer, DEVICE_LOST first; EINVAL if the buffer is
 * smaller than an event, EAGAIN if there is no event and the file is non-blocking. When the
 * device is gone, or the DRM file that EVENTS was called on was closed, read() gives 0 after
 * the remaining events were read.
 */
struct drm_pagoda_event {
	__u32 type;
	__u32 group;
	__u64 count;
	__u64 value;
};

/* Flag of EVENTS: read() of the file doesn't wait, but fails with EAGAIN if there is no event */
#define DRM_PAGODA_EVENTS_NONBLOCK	(1u << 0)

/**
 * struct drm_pagoda_events - Argument of EVENTS
 * @flags: DRM_PAGODA_EVENTS_* flags
 * @fd: Out: file, closed on exec, that can be polled and read, and outlives the DRM file
 *
 * The file tells of events of the calling client that happen after this call. If a client has
 * several files, each of them tells of all events.
 *
 * BUDGET_CHANGED and TRIM come at once if budgets haven't changed for a second, else within a
 * second: each of them at most once a second for a group, with the last state. All other events
 * come at once.
 */
struct drm_pagoda_events {
	__u32 flags;
	__s32 fd;
};

/**
 * struct drm_pagoda_vm_create - Argument of VM_CREATE
 * @flags: MBZ
 * @vm: Out: id, not 0
 * @start: Out: first address that can be mapped
 * @end: Out: byte behind the last address
 */
struct drm_pagoda_vm_create {
	__u32 flags;
	__u32 vm;
	__u64 start;
	__u64 end;
};

/**
 * struct drm_pagoda_vm_destroy - Argument of VM_DESTROY
 * @vm: VM, of which all contexts were destroyed before (else EBUSY)
 * @pad: MBZ
 */
struct drm_pagoda_vm_destroy {
	__u32 vm;
	__u32 pad;
};

/** enum drm_pagoda_bind_type - Change that an entry of VM_BIND makes to its range. */
enum drm_pagoda_bind_type {
	/** @DRM_PAGODA_BIND_MAP: accesses to the range reach an allocation */
	DRM_PAGODA_BIND_MAP = 1,
	/**
	 * @DRM_PAGODA_BIND_UNMAP: accesses to the range fault, and the range becomes free, or with
	 * VM_BIND_UPDATE stays reserved
	 */
	DRM_PAGODA_BIND_UNMAP = 2,
	/** @DRM_PAGODA_BIND_MAP_ZERO: reads of the range give zeros, writes are dropped */
	DRM_PAGODA_BIND_MAP_ZERO = 3,
	/**
	 * @DRM_PAGODA_BIND_COPY: the range maps what the source range at @offset maps when the
	 * change is made (for tiled resources)
	 */
	DRM_PAGODA_BIND_COPY = 4,
	/** @DRM_PAGODA_BIND_NO_ACCESS: accesses to the range fault, and the range isn't free */
	DRM_PAGODA_BIND_NO_ACCESS = 5,
	/**
	 * @DRM_PAGODA_BIND_RESERVE: the range, free until now, is reserved: accesses fault,
	 * and MAP, MAP_ZERO, NO_ACCESS and COPY may change the range (C133)
	 */
	DRM_PAGODA_BIND_RESERVE = 6,
	/**
	 * @DRM_PAGODA_BIND_MAP_FENCE: the range, a page, maps the page of a monitored fence, whose
	 * first 64-bit word is the fence's value; jobs may store to it unless READ_ONLY is set
	 */
	DRM_PAGODA_BIND_MAP_FENCE = 7,
};

#define DRM_PAGODA_BIND_READ_ONLY	(1u << 0)
#define DRM_PAGODA_BIND_NO_EXECUTE	(1u << 1)
/*
 * BIND_CHOOSE, for MAP, MAP_ZERO, MAP_FENCE and RESERVE: the kernel chooses a free address, not
 * below &drm_pagoda_bind_entry.address, and stores it in this field. The address is a multiple of
 * 2 MiB for a size of at least 2 MiB, else of 64 KiB for a size of at least 64 KiB, else of the
 * page size
 */
#define DRM_PAGODA_BIND_CHOOSE		(1u << 2)

/**
 * DRM_PAGODA_RESERVE_ALIGN: address (the chosen one with BIND_CHOOSE) and size of a BIND_RESERVE
 * are multiples of this many bytes.
 */
#define DRM_PAGODA_RESERVE_ALIGN	65536

/**
 * struct drm_pagoda_bind_entry - An entry of VM_BIND
 * @type: enum drm_pagoda_bind_type
 * @flags: DRM_PAGODA_BIND_* flags; READ_ONLY and NO_EXECUTE for MAP and MAP_FENCE only
 * @handle: MAP: allocation. MAP_FENCE: monitored fence. Else MBZ
 * @pad: MBZ
 * @address: First address, page aligned. CHOOSE: in: least address wanted, out: the
 *	address
 * @size: Bytes, multiple of the page size, not 0; MAP_FENCE: one page
 * @offset: MAP: first byte of the allocation, page aligned. COPY: first address
 *	of the source range, which may overlap the destination (C137); where source addresses are
 *	free or only reserved, the destination is free or only reserved afterwards. Else MBZ
 * @driver_protection: MAP: opaque to the kernel; its low 12 bits are in the page-table
 *	entries, bit 63 asks that no other value maps the same bytes in any VM (unique, else
 *	EINVAL) until the range was made NO_ACCESS or unmapped (C142). Else MBZ
 * @window: MAP: bytes of the allocation from @offset that repeat over the range, a
 *	divisor of @size and a multiple of the page size; 0 = @size (C136). Else MBZ
 */
struct drm_pagoda_bind_entry {
	__u32 type;
	__u32 flags;
	__u32 handle;
	__u32 pad;
	__u64 address;
	__u64 size;
	__u64 offset;
	__u64 driver_protection;
	__u64 window;
};

/*
 * Flag of struct drm_pagoda_sync: the work signals @handle when the work is done. Without the flag,
 * the work first waits for @handle
 */
#define DRM_PAGODA_SYNC_SIGNAL		(1u << 0)
/*
 * Flag of struct drm_pagoda_sync: @handle is a monitored fence and @point a value of the fence.
 * Without the flag, @handle is a syncobj, binary if @point is 0
 */
#define DRM_PAGODA_SYNC_FENCE		(1u << 1)

/**
 * struct drm_pagoda_sync - A syncobj or fence that work waits for, or signals
 * @handle: Syncobj or monitored fence
 * @flags: DRM_PAGODA_SYNC_* flags
 * @point: Point of a timeline syncobj, 0 = binary; or value of a monitored fence
 *
 * Work may wait for a point that no work was submitted for yet, and for a value that the fence
 * doesn't have yet: the work is held up, not the call. Later work of the same context (SUBMIT)
 * or VM (VM_BIND) waits behind held up work.
 *
 * The points that work signals get their fence when the job is prepared, the change of the VM is
 * made or the paging is given to the GPU. For a fenced job (%DRM_PAGODA_SUBMIT_FENCED), and for a
 * VM_BIND that waits for nothing, that is before the call returns. For other jobs, a VM_BIND that
 * waits, and requests with a paging queue, the fence may come later; until then a binary syncobj is
 * empty, and DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT waits for the fence as well.
 * DRM_IOCTL_SYNCOBJ_TRANSFER and the export of a sync_file need a fence. A point that an ioctl of
 * this driver signals, by a struct drm_pagoda_sync or its own @point, gets its fence only after all
 * smaller points of the syncobj that earlier accepted work will signal have their fences.
 */
struct drm_pagoda_sync {
	__u32 handle;
	__u32 flags;
	__u64 point;
};

/*
 * Flag of VM_BIND: the entries change one reserved range, as UpdateGpuVirtualAddress does (C134):
 * all destinations are in one reserved range, all sources of COPY are in one reserved range, maybe
 * another (else EINVAL), there is no RESERVE and no CHOOSE, and an unmapped range stays reserved
 */
#define DRM_PAGODA_VM_BIND_UPDATE	(1u << 0)
/** DRM_PAGODA_MAX_QUEUED_BINDS: most queued VM_BINDs of a VM; a further VM_BIND waits (C144). */
#define DRM_PAGODA_MAX_QUEUED_BINDS	128

/**
 * struct drm_pagoda_vm_bind - Argument of VM_BIND
 * @entries: struct drm_pagoda_bind_entry, applied in order. An array has COPY entries only, or no
 *	COPY entry
 * @vm: VM
 * @flags: DRM_PAGODA_VM_BIND_* flags
 * @syncobj: Timeline syncobj, or 0
 * @pad: MBZ
 * @point: Point of @syncobj that signals when the addresses can be used; not 0 with a syncobj, MBZ
 *	without
 * @syncs: struct drm_pagoda_sync. The change is made when all that are waited for have signalled
 *	and the changes of earlier calls were made. A failure after the call has returned makes
 *	the VM unusable (VM_STATE)
 *
 * A range is all in one reserved range or all outside of reserved ranges, except for UNMAP, which
 * frees the whole range whatever is mapped or reserved there (C131). Outside of reserved ranges,
 * MAP_ZERO and NO_ACCESS don't replace a mapping of an allocation (C132), and RESERVE and
 * CHOOSE need free addresses (C131, C133). These rules apply to the addresses as they will be
 * when all changes accepted before are done, so that addresses are reusable when UNMAP returns
 * (C138).
 *
 * All or nothing. A mapping keeps its address while its allocation moves; accesses fault while
 * the allocation isn't resident. A mapping ends by VM_BIND, when the handle that it was made
 * with is closed (see SUBMIT), or with the VM.
 *
 * A job that is submitted after VM_BIND has returned finds the change, without a wait. Only a
 * job behind a VM_BIND that waits has to wait for the VM_BIND's @point. VM_BIND keeps no address
 * for jobs that were submitted before: a job that still uses an address when UNMAP takes the
 * address away faults, unless @syncs waits for the job.
 */
struct drm_pagoda_vm_bind {
	struct drm_pagoda_array entries;
	__u32 vm;
	__u32 flags;
	__u32 syncobj;
	__u32 pad;
	__u64 point;
	struct drm_pagoda_array syncs;
};

/** enum drm_pagoda_vm_condition - Whether a VM can be used. */
enum drm_pagoda_vm_condition {
	/** @DRM_PAGODA_VM_USABLE: the VM can be used */
	DRM_PAGODA_VM_USABLE = 0,
	/** @DRM_PAGODA_VM_BIND_FAILED: the VM is unusable for good: an accepted VM_BIND failed */
	DRM_PAGODA_VM_BIND_FAILED = 1,
};

/**
 * struct drm_pagoda_vm_state - Argument of VM_STATE
 * @vm: VM
 * @condition: Out: enum drm_pagoda_vm_condition
 * @error: Out: positive errno of the change that failed, else 0
 * @pad: MBZ
 */
struct drm_pagoda_vm_state {
	__u32 vm;
	__u32 condition;
	__u32 error;
	__u32 pad;
};

/** enum drm_pagoda_priority - Order in which an engine takes the jobs of contexts. */
enum drm_pagoda_priority {
	/** @DRM_PAGODA_PRIORITY_NORMAL: jobs go after those of HIGH, before those of LOW */
	DRM_PAGODA_PRIORITY_NORMAL = 0,
	/** @DRM_PAGODA_PRIORITY_LOW: jobs go after those of NORMAL and HIGH contexts */
	DRM_PAGODA_PRIORITY_LOW = 1,
	/**
	 * @DRM_PAGODA_PRIORITY_HIGH: jobs go before those of NORMAL and LOW contexts, but don't
	 * interrupt a running job; needs CAP_SYS_NICE, else EPERM
	 */
	DRM_PAGODA_PRIORITY_HIGH = 2,
};

/**
 * struct drm_pagoda_context_create - Argument of CONTEXT_CREATE
 * @vm: VM the context's jobs run in
 * @engine: Execution engine, below &drm_pagoda_device_info.num_engines; all engines are alike
 * @flags: MBZ
 * @context: Out: id, not 0
 * @priority: enum drm_pagoda_priority
 * @pad: MBZ
 */
struct drm_pagoda_context_create {
	__u32 vm;
	__u32 engine;
	__u32 flags;
	__u32 context;
	__u32 priority;
	__u32 pad;
};

/**
 * struct drm_pagoda_context_destroy - Argument of CONTEXT_DESTROY
 * @context: Context
 * @pad: MBZ
 *
 * A running job may end, other jobs aren't executed; the fences of all of these jobs signal.
 */
struct drm_pagoda_context_destroy {
	__u32 context;
	__u32 pad;
};

/**
 * struct drm_pagoda_command_buffer - Commands to execute
 * @address: GPU virtual address of the first command, multiple of 8
 * @size: Bytes, multiple of 8, not 0, at most 2^30
 *
 * include/uapi/linux/virtio_pagoda_commands.h defines the commands. The software GPU's
 * TIMESTAMP stores nanoseconds of CLOCK_MONOTONIC.
 */
struct drm_pagoda_command_buffer {
	__u64 address;
	__u64 size;
};

/** DRM_PAGODA_MAX_COMMAND_BUFFERS: most command buffers of one job. */
#define DRM_PAGODA_MAX_COMMAND_BUFFERS	64

/*
 * Flag of struct drm_pagoda_submit_entry: the job waits for earlier users of the allocation, and
 * later users wait for the job (implicit sync): the allocation has the job's fence when SUBMIT has
 * returned. The job is fenced, see %DRM_PAGODA_SUBMIT_FENCED
 */
#define DRM_PAGODA_SUBMIT_IMPLICIT	(1u << 0)
/* Flag of struct drm_pagoda_submit_entry, with IMPLICIT only: the job writes to the allocation */
#define DRM_PAGODA_SUBMIT_WRITE		(1u << 1)
/*
 * Flag of struct drm_pagoda_submit_entry, not with WRITE: the job only reads the allocation. The
 * kernel only estimates by the flag what an eviction costs: if the job writes, nothing is lost
 */
#define DRM_PAGODA_SUBMIT_READ		(1u << 2)

/*
 * Flag of struct drm_pagoda_submit: the job is fenced. When SUBMIT returns, the job and all jobs
 * before it in its context are prepared: what they signal has a fence, as sync_files and binary
 * syncobjs need, and their memory stays until they are done. EINVAL if one of these jobs is held
 * up. Until a fenced job is one of its engine's two jobs, its memory doesn't make room: a call of
 * the same client that finds no other room waits for the job, a call of another client fails with
 * ENOMEM. If a user's clients that have such jobs use more VRAM than the user's share ("Limits"),
 * SUBMIT first waits until all that the job waits for has signalled, except for jobs that are one
 * of their engine's two
 */
#define DRM_PAGODA_SUBMIT_FENCED	(1u << 0)

/**
 * struct drm_pagoda_submit_entry - An allocation that a job uses and that isn't private to the VM
 * @handle: Allocation; a list may not name an allocation twice
 * @flags: DRM_PAGODA_SUBMIT_* flags
 */
struct drm_pagoda_submit_entry {
	__u32 handle;
	__u32 flags;
};

/**
 * struct drm_pagoda_submit - Argument of SUBMIT
 * @buffers: struct drm_pagoda_command_buffer, executed in order as one job, at most
 *	%DRM_PAGODA_MAX_COMMAND_BUFFERS; none is a job too
 * @syncs: struct drm_pagoda_sync
 * @entries: struct drm_pagoda_submit_entry: brought to where the GPU can use them and
 *	kept there until the job is done
 * @context: Context
 * @flags: DRM_PAGODA_SUBMIT_FENCED or 0
 * @job: Out: number of the job in its context, from 1
 *
 * While the job runs, three kinds of allocations are resident: those private to the VM and bound,
 * those listed, and those on the client's residency list and bound. If there is no room for these
 * allocations together, the call is refused with ENOMEM, unless the job is queued (see below);
 * allocations that fit into an empty VRAM beside the VM's page tables aren't refused, unless
 * fenced jobs of other clients have the room. Other allocations that are bound may leave at any
 * time. An access to one that isn't resident, or where nothing is bound, is a fault, which bans
 * this context only. Jobs of a context run in order. IMPLICIT has no effect for a private
 * allocation, which only this VM uses.
 *
 * EBUSY: the context, the client or the user has too many jobs queued ("Limits").
 *
 * A queued job gets its memory when it is prepared: when all that it waits for has signalled and
 * its engine has fewer than two other jobs. If there is not enough memory then, the context is
 * banned. Contexts of an engine take turns by priority first, then by the time for which their
 * clients have used the engine.
 *
 * A handle may be closed as soon as the call has returned: the job still finds the allocation.
 * An allocation that a prepared job uses or a queued job lists or, while jobs are queued, that is
 * private to their VM or on the client's residency list, keeps its addresses and its count until
 * all jobs that were queued when the handle was closed are prepared or given up, and then until
 * the jobs that use the allocation at that time are done, unless the client has a handle of the
 * allocation again before. Such addresses can be mapped anew at once, but aren't free.
 *
 * An allocation that prefers VRAM and supports the aperture, too, is resident in the aperture
 * while VRAM is full and the client has used up its tokens (&drm_pagoda_stats.submit_tokens).
 * The allocation comes to VRAM when there is room, or with a later job. Allocations on a
 * residency list, and those that only VRAM supports, come to VRAM without regard to tokens.
 *
 * If paging lost content of any allocation while the job waited, the job isn't executed: the
 * fences that the job signals have the error EIO, or ECANCELED if the loss was caused by a
 * reset of the device. The context goes on.
 */
struct drm_pagoda_submit {
	struct drm_pagoda_array buffers;
	struct drm_pagoda_array syncs;
	struct drm_pagoda_array entries;
	__u32 context;
	__u32 flags;
	__u64 job;
};

/**
 * DOC: State of a context
 *
 * BANNED: no job is accepted any more (ECANCELED). BANNED alone: a queued job could not be
 * prepared in the end. "Failures" tells all states and how they end.
 *
 * A fault's @reason and @access are numbers that include/uapi/linux/virtio_pagoda.h defines, as
 * enum virtio_pagoda_fault_reason, VIRTIO_PAGODA_FAULT_*, and enum virtio_pagoda_access. Those
 * of jobs are
 *
 *  ========================== =================================================
 *  INVALID_ENTRY 16           nothing is mapped at @address, or the allocation there
 *                             isn't resident
 *  READ_ONLY 17               write to a range mapped READ_ONLY
 *  NO_EXECUTE 18              commands in a range mapped NO_EXECUTE
 *  COMPARE 23                 memory didn't have the value that COMPARE wants
 *  BAD_COMMAND 24             unknown opcode or operation
 *  BAD_LENGTH 4               length of a command
 *  BAD_FLAGS 5, RESERVED 6    flags, or a reserved field that isn't zero
 *  OUT_OF_RANGE 8             address, size or number that is too large, or 0
 *  MISALIGNED 9               address or size that isn't aligned
 *  OVERLAP 13                 source and destination overlap
 *  BAD_LAYOUT 21              a surface of COPY_RECT
 *  others                     the device or the driver went wrong: not the program's
 *  ========================== =================================================
 *
 * and accesses NONE 0, READ 1, WRITE 2, FETCH 3 (of commands).
 */
#define DRM_PAGODA_CONTEXT_BANNED	(1u << 0)
#define DRM_PAGODA_CONTEXT_FAULTED	(1u << 1) /* a job faulted: see CONTEXT_STATE's @job */
#define DRM_PAGODA_CONTEXT_HUNG		(1u << 2) /* a job exceeded its time limit */
/*
 * CONTEXT_RESET: a reset lost a job of the context, or paging of an allocation that the context's
 * VM has mapped or that is private to the VM: a copy or fill, or with BANNED any operation
 */
#define DRM_PAGODA_CONTEXT_RESET	(1u << 3)
/* CONTEXT_CLIENT_ERROR: a failed MAKE_RESIDENT put the client in error, see "Residency lists" */
#define DRM_PAGODA_CONTEXT_CLIENT_ERROR	(1u << 4)

/**
 * struct drm_pagoda_context_state - Argument of CONTEXT_STATE
 * @context: In: context
 * @state: Out: DRM_PAGODA_CONTEXT_* flags
 * @submitted: Out: number of the context's last job
 * @completed: Out: all jobs up to this number are done, executed or not
 * @resets: Out: resets of the device since it was probed
 * @job: Out: number of the job that faulted or hung; 0 = none, and all fields below are 0. If the
 *	job hung, @address to @level are 0
 * @address: Out: GPU virtual address that was refused
 * @command: Out: GPU virtual address of the command that faulted
 * @reason: Out: enum virtio_pagoda_fault_reason
 * @access: Out: enum virtio_pagoda_access
 * @level: Out: page-table level at which the walk stopped, 0 = leaf table
 * @engine: Out: engine that executed the job
 */
struct drm_pagoda_context_state {
	__u32 context;
	__u32 state;
	__u64 submitted;
	__u64 completed;
	__u64 resets;
	__u64 job;
	__u64 address;
	__u64 command;
	__u32 reason;
	__u32 access;
	__u32 level;
	__u32 engine;
};

/**
 * DOC: Monitored fences
 *
 * A monitored fence has a 64-bit value: a wait for a number is over when the value is at least
 * that number (C180). The value is visible to the CPU (mmap()) and, by MAP_FENCE, to jobs.
 *
 * Values that shrink. Without ALLOW_REWIND, FENCE_SIGNAL refuses a value that isn't larger than the
 * fence's value, and work that is to signal a value (a promise) is refused unless the value is
 * larger than the first value, all values of FENCE_SIGNAL and all values promised before; both with
 * EINVAL. Values that a job's commands store at an address of MAP_FENCE aren't checked: a smaller
 * value becomes the fence's value. Waits that were over stay over, other waits compare with the
 * smaller value, and without ALLOW_REWIND later stores by the kernel never lower the value.
 *
 * Resets. While the device is rebuilt after a reset, a fence that is waited for, or that accepted
 * work is to signal, has the value 2^64 - 1, which ends all waits for the fence (C184). Afterwards
 * the fence has its earlier value, or a value that FENCE_SIGNAL or lost work stored since. A
 * fence made with NO_MAX_ON_RESET keeps its value throughout, and its waits go on. When the device
 * is unplugged, fences have the value 2^64 - 1 for good; fences with NO_MAX_ON_RESET keep the last
 * value, and waits for a larger value end with ENODEV.
 */
#define DRM_PAGODA_FENCE_NO_SIGNAL	(1u << 0) /* FENCE_SIGNAL is refused (C183) */
#define DRM_PAGODA_FENCE_NO_WAIT	(1u << 1) /* all waits are refused (C183) */
#define DRM_PAGODA_FENCE_NO_MAX_ON_RESET (1u << 2) /* a reset keeps the value (C184) */
#define DRM_PAGODA_FENCE_ALLOW_REWIND	(1u << 3) /* a signal may lower the value */

/**
 * struct drm_pagoda_fence_create - Argument of FENCE_CREATE
 * @flags: DRM_PAGODA_FENCE_* flags
 * @fence: Out: id, not 0
 * @value: In: first value of the fence
 * @offset: Out: offset for mmap() of the DRM file, read only, one page; the 64-bit
 *	value is the page's first word
 */
struct drm_pagoda_fence_create {
	__u32 flags;
	__u32 fence;
	__u64 value;
	__u64 offset;
};

/**
 * struct drm_pagoda_fence_destroy - Argument of FENCE_DESTROY
 * @fence: Fence
 * @pad: MBZ
 *
 * EBUSY, and nothing is done, while a FENCE_WAIT, with or without an eventfd, or accepted work
 * waits for a value that the fence doesn't have: signal that value first. Work that will signal
 * the fence is no obstacle.
 */
struct drm_pagoda_fence_destroy {
	__u32 fence;
	__u32 pad;
};

/**
 * struct drm_pagoda_fence_value - A monitored fence, and a value to signal or to wait for
 * @fence: Fence; a list may not name a fence twice
 * @pad: MBZ
 * @value: Value
 */
struct drm_pagoda_fence_value {
	__u32 fence;
	__u32 pad;
	__u64 value;
};

/**
 * struct drm_pagoda_fence_signal - Argument of FENCE_SIGNAL
 * @entries: struct drm_pagoda_fence_value: all fences get their values, or none; each value is
 *	larger than the fence's value unless the fence was made with ALLOW_REWIND (else EINVAL)
 * @flags: MBZ
 * @pad: MBZ
 */
struct drm_pagoda_fence_signal {
	struct drm_pagoda_array entries;
	__u32 flags;
	__u32 pad;
};

/* Flag of FENCE_WAIT: the wait is over when any fence has its value, not when all have (C181) */
#define DRM_PAGODA_FENCE_WAIT_ANY	(1u << 0)
/* Flag of FENCE_WAIT: the call returns at once, and signals the eventfd when the wait is over */
#define DRM_PAGODA_FENCE_WAIT_EVENTFD	(1u << 1)

/**
 * struct drm_pagoda_fence_wait - Argument of FENCE_WAIT
 * @entries: struct drm_pagoda_fence_value; satisfied when the fence's value is at
 *	least the entry's (C180)
 * @flags: DRM_PAGODA_FENCE_WAIT_* flags
 * @eventfd: EVENTFD: eventfd that is signalled when the wait is over, but not when the wait ends
 *	with ENODEV. Else MBZ
 * @timeout_ns: CLOCK_MONOTONIC time at which the wait ends with ETIME; 0 or less = only look. MBZ
 *	with EVENTFD
 * @first: Out: index of a satisfied entry; not with EVENTFD
 * @pad: MBZ
 */
struct drm_pagoda_fence_wait {
	struct drm_pagoda_array entries;
	__u32 flags;
	__s32 eventfd;
	__s64 timeout_ns;
	__u32 first;
	__u32 pad;
};

/** enum drm_pagoda_track_operation - What TRACK does */
enum drm_pagoda_track_operation {
	/** @DRM_PAGODA_TRACK_START: begin to track; EBUSY if the allocation is tracked already */
	DRM_PAGODA_TRACK_START = 0,
	/** @DRM_PAGODA_TRACK_STOP: stop to track, as closing the client's handle does, too */
	DRM_PAGODA_TRACK_STOP = 1,
	/** @DRM_PAGODA_TRACK_QUERY: get the pages written, and begin anew for these pages */
	DRM_PAGODA_TRACK_QUERY = 2,
};

/** DRM_PAGODA_TRACK_PAGE: bytes of a page, for which QUERY of TRACK has one bit. */
#define DRM_PAGODA_TRACK_PAGE		4096
/** DRM_PAGODA_MAX_TRACK_PAGES: most pages of one QUERY: 1 GiB. */
#define DRM_PAGODA_MAX_TRACK_PAGES	262144

/**
 * struct drm_pagoda_track - Argument of TRACK
 * @handle: Allocation of the calling client; EPERM for START of another client's. ENOENT also for
 *	STOP and QUERY of an allocation that the client doesn't track
 * @operation: enum drm_pagoda_track_operation
 * @offset: QUERY: first byte, multiple of the page size. Else MBZ
 * @size: QUERY: bytes, multiple of the page size, not 0, at most %DRM_PAGODA_MAX_TRACK_PAGES pages.
 *	Else MBZ
 * @bits: QUERY: pointer to an array of 64-bit words, which receives a bit for each page: bit n % 64
 *	of word n / 64 for page n from @offset on. Else MBZ
 *
 * A bit is set if the GPU may have written to the page since START, or since the last QUERY in
 * which the bit was set. No write is missed: a write that races with a QUERY shows in the QUERY's
 * answer or in the next answer (C202). Bits of pages that weren't written may be set, too: of all
 * pages, if the allocation is used in the aperture, was moved within VRAM, or left VRAM while jobs
 * used it or in more than 16 pieces, and after a reset of the device; and in fragmented VRAM of the
 * pages behind the first 256 pieces, of at most 64 MiB each, of the bytes that a QUERY asks for.
 * What the CPU writes through a mapping isn't tracked: the program itself knows that. Moves by the
 * kernel are no writes, but may set bits if the allocation is tiled or has no content yet.
 *
 * START answers EOPNOTSUPP if the device doesn't track what it writes (%VIRTIO_PAGODA_F_DIRTY).
 */
struct drm_pagoda_track {
	__u32 handle;
	__u32 operation;
	__u64 offset;
	__u64 size;
	__u64 bits;
};

/** DRM_IOCTL_PAGODA() - Number of ioctl @id, which reads and writes a struct drm_pagoda_##type. */
#define DRM_IOCTL_PAGODA(id, type) \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_PAGODA_##id, struct drm_pagoda_##type)

#define DRM_IOCTL_PAGODA_QUERY DRM_IOCTL_PAGODA(QUERY, query)
#define DRM_IOCTL_PAGODA_ALLOCATION_CREATE DRM_IOCTL_PAGODA(ALLOCATION_CREATE, allocation_create)
#define DRM_IOCTL_PAGODA_ALLOCATION_MMAP_OFFSET \
	DRM_IOCTL_PAGODA(ALLOCATION_MMAP_OFFSET, allocation_mmap_offset)
#define DRM_IOCTL_PAGODA_ALLOCATION_INFO DRM_IOCTL_PAGODA(ALLOCATION_INFO, allocation_info)
#define DRM_IOCTL_PAGODA_ALLOCATION_WAIT DRM_IOCTL_PAGODA(ALLOCATION_WAIT, allocation_wait)
#define DRM_IOCTL_PAGODA_MAKE_RESIDENT DRM_IOCTL_PAGODA(MAKE_RESIDENT, make_resident)
#define DRM_IOCTL_PAGODA_EVICT DRM_IOCTL_PAGODA(EVICT, evict)
#define DRM_IOCTL_PAGODA_QUERY_RESIDENCY DRM_IOCTL_PAGODA(QUERY_RESIDENCY, query_residency)
#define DRM_IOCTL_PAGODA_VM_CREATE DRM_IOCTL_PAGODA(VM_CREATE, vm_create)
#define DRM_IOCTL_PAGODA_VM_DESTROY DRM_IOCTL_PAGODA(VM_DESTROY, vm_destroy)
#define DRM_IOCTL_PAGODA_VM_BIND DRM_IOCTL_PAGODA(VM_BIND, vm_bind)
#define DRM_IOCTL_PAGODA_CONTEXT_CREATE DRM_IOCTL_PAGODA(CONTEXT_CREATE, context_create)
#define DRM_IOCTL_PAGODA_CONTEXT_DESTROY DRM_IOCTL_PAGODA(CONTEXT_DESTROY, context_destroy)
#define DRM_IOCTL_PAGODA_FENCE_CREATE DRM_IOCTL_PAGODA(FENCE_CREATE, fence_create)
#define DRM_IOCTL_PAGODA_FENCE_DESTROY DRM_IOCTL_PAGODA(FENCE_DESTROY, fence_destroy)
#define DRM_IOCTL_PAGODA_SUBMIT DRM_IOCTL_PAGODA(SUBMIT, submit)
#define DRM_IOCTL_PAGODA_CONTEXT_STATE DRM_IOCTL_PAGODA(CONTEXT_STATE, context_state)
#define DRM_IOCTL_PAGODA_VM_STATE DRM_IOCTL_PAGODA(VM_STATE, vm_state)
#define DRM_IOCTL_PAGODA_FENCE_SIGNAL DRM_IOCTL_PAGODA(FENCE_SIGNAL, fence_signal)
#define DRM_IOCTL_PAGODA_FENCE_WAIT DRM_IOCTL_PAGODA(FENCE_WAIT, fence_wait)
#define DRM_IOCTL_PAGODA_PAGING_QUEUE_CREATE \
	DRM_IOCTL_PAGODA(PAGING_QUEUE_CREATE, paging_queue_create)
#define DRM_IOCTL_PAGODA_PAGING_QUEUE_DESTROY \
	DRM_IOCTL_PAGODA(PAGING_QUEUE_DESTROY, paging_queue_destroy)
#define DRM_IOCTL_PAGODA_PAGING_QUEUE_STATE \
	DRM_IOCTL_PAGODA(PAGING_QUEUE_STATE, paging_queue_state)
#define DRM_IOCTL_PAGODA_QUERY_RESIDENCY_LIST \
	DRM_IOCTL_PAGODA(QUERY_RESIDENCY_LIST, query_residency_list)
#define DRM_IOCTL_PAGODA_OFFER DRM_IOCTL_PAGODA(OFFER, offer)
#define DRM_IOCTL_PAGODA_RECLAIM DRM_IOCTL_PAGODA(RECLAIM, reclaim)
#define DRM_IOCTL_PAGODA_SET_PRIORITY DRM_IOCTL_PAGODA(SET_PRIORITY, set_priority)
#define DRM_IOCTL_PAGODA_QUERY_MEMORY_INFO DRM_IOCTL_PAGODA(QUERY_MEMORY_INFO, query_memory_info)
#define DRM_IOCTL_PAGODA_SET_RESERVATION DRM_IOCTL_PAGODA(SET_RESERVATION, set_reservation)
#define DRM_IOCTL_PAGODA_EVENTS DRM_IOCTL_PAGODA(EVENTS, events)
#define DRM_IOCTL_PAGODA_TRACK DRM_IOCTL_PAGODA(TRACK, track)

#ifndef __cplusplus
#define DRM_PAGODA_ASSERT_SIZE(type, size) \
	_Static_assert(sizeof(struct drm_pagoda_##type) == (size), "size of " #type)
DRM_PAGODA_ASSERT_SIZE(array, 16);
DRM_PAGODA_ASSERT_SIZE(query, 24);
DRM_PAGODA_ASSERT_SIZE(device_info, 48);
DRM_PAGODA_ASSERT_SIZE(segment_info, 104);
DRM_PAGODA_ASSERT_SIZE(stats, 240);
DRM_PAGODA_ASSERT_SIZE(allocation_create, 72);
DRM_PAGODA_ASSERT_SIZE(allocation_mmap_offset, 16);
DRM_PAGODA_ASSERT_SIZE(allocation_info, 64);
DRM_PAGODA_ASSERT_SIZE(allocation_wait, 16);
DRM_PAGODA_ASSERT_SIZE(residency_entry, 8);
DRM_PAGODA_ASSERT_SIZE(make_resident, 80);
DRM_PAGODA_ASSERT_SIZE(evict, 56);
DRM_PAGODA_ASSERT_SIZE(residency_status, 16);
DRM_PAGODA_ASSERT_SIZE(query_residency, 24);
DRM_PAGODA_ASSERT_SIZE(vm_create, 24);
DRM_PAGODA_ASSERT_SIZE(vm_destroy, 8);
DRM_PAGODA_ASSERT_SIZE(bind_entry, 56);
DRM_PAGODA_ASSERT_SIZE(sync, 16);
DRM_PAGODA_ASSERT_SIZE(vm_bind, 56);
DRM_PAGODA_ASSERT_SIZE(vm_state, 16);
DRM_PAGODA_ASSERT_SIZE(context_create, 24);
DRM_PAGODA_ASSERT_SIZE(context_destroy, 8);
DRM_PAGODA_ASSERT_SIZE(fence_create, 24);
DRM_PAGODA_ASSERT_SIZE(fence_destroy, 8);
DRM_PAGODA_ASSERT_SIZE(command_buffer, 16);
DRM_PAGODA_ASSERT_SIZE(submit_entry, 8);
DRM_PAGODA_ASSERT_SIZE(submit, 64);
DRM_PAGODA_ASSERT_SIZE(context_state, 72);
DRM_PAGODA_ASSERT_SIZE(fence_value, 16);
DRM_PAGODA_ASSERT_SIZE(fence_signal, 24);
DRM_PAGODA_ASSERT_SIZE(fence_wait, 40);
DRM_PAGODA_ASSERT_SIZE(paging_queue_create, 16);
DRM_PAGODA_ASSERT_SIZE(paging_queue_destroy, 8);
DRM_PAGODA_ASSERT_SIZE(paging_queue_state, 32);
DRM_PAGODA_ASSERT_SIZE(list_status, 16);
DRM_PAGODA_ASSERT_SIZE(query_residency_list, 24);
DRM_PAGODA_ASSERT_SIZE(offer, 24);
DRM_PAGODA_ASSERT_SIZE(reclaim_result_entry, 8);
DRM_PAGODA_ASSERT_SIZE(reclaim, 64);
DRM_PAGODA_ASSERT_SIZE(priority_entry, 8);
DRM_PAGODA_ASSERT_SIZE(set_priority, 24);
DRM_PAGODA_ASSERT_SIZE(query_memory_info, 40);
DRM_PAGODA_ASSERT_SIZE(set_reservation, 16);
DRM_PAGODA_ASSERT_SIZE(events, 8);
DRM_PAGODA_ASSERT_SIZE(track, 32);
DRM_PAGODA_ASSERT_SIZE(event, 24);
#endif

#if defined(__cplusplus)
}
#endif

#endif
