/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of operations, and declarations of its columns. Only paging/ and its tests include
 * this file.
 *
 * The columns validate, build, cost, ends and moved take operations; tail, execute and print take
 * finished packets, which are untrusted input. The functions of column execute are in cpu/, those
 * of print in print*.c, those of ends in ends.c, all others in the files of the operation's family.
 * No function of a row, or declared here, takes a lock or allocates: all may be called from any
 * context, those of execute if the callbacks of struct pagoda_cpu_executor may.
 */
#ifndef PAGODA_PAGING_TABLE_H
#define PAGODA_PAGING_TABLE_H

#include <linux/types.h>
#include "paging.h"

struct pagoda_cpu_packet;

/**
 * struct pagoda_paging_row - Properties and functions of an operation
 * @name: Name as in VIRTIO_PAGODA_OPS()
 * @trigger: Event that needs the operation
 * @points: Rows of selftests/points.tsv that say what the operation must do; "ours" for MAP_MMU,
 *	which WDDM doesn't have; "none" if there is no such row
 * @head: Bytes of the packet without the runs, entries or data behind the head
 * @tail: Returns the number of bytes behind the head, by counts and flags in the head; NULL if
 *	nothing ever follows the head. Called with @head bytes readable
 * @validate: Checks an operation that the device offers; arguments and result are those of
 *	pagoda_paging_validate()
 * @build: Encodes a valid operation; the contract is in paging/paging.h
 * @execute: Executes a packet of the right length on the CPU; returns 0 or a fault reason, see
 *	cpu/cpu.h
 * @print: Prints a packet of the right length with any content; the caller has printed the
 *	operation's name and the allocation
 * @cost: Returns upper bounds for a valid operation; the buffer size is at least
 *	%PAGODA_PAGING_MIN_BUFFER
 * @ends: Returns the operation's source and destination
 * @moved: Returns the bytes that @cost reports as moved, without reading page-table entries;
 *	NULL if @cost doesn't read page-table entries
 *
 * Only @tail and @moved may be NULL.
 */
struct pagoda_paging_row {
	const char *name;
	const char *trigger;
	const char *points;
	u32 head;
	u64 (*tail)(const void *packet);
	int (*validate)(const struct pagoda_paging_limits *limits,
			const struct pagoda_paging_op *op, const char **why);
	enum pagoda_build (*build)(const struct pagoda_paging_limits *limits,
				   const struct pagoda_paging_op *op,
				   struct pagoda_paging_cursor *cursor,
				   struct pagoda_paging_buffer *buf);
	u32 (*execute)(const struct pagoda_cpu_packet *cpu);
	void (*print)(struct pagoda_paging_text *text, const void *packet);
	struct pagoda_paging_cost (*cost)(const struct pagoda_paging_limits *limits,
					  const struct pagoda_paging_op *op,
					  u32 buffer_size);
	struct pagoda_paging_ends (*ends)(const struct pagoda_paging_op *op);
	u64 (*moved)(const struct pagoda_paging_op *op);
};

const struct pagoda_paging_row *pagoda_paging_row(u32 opcode);

const struct pagoda_paging_row *pagoda_packet_check(const void *data, u32 left,
						    const char **why);

/*
 * transfer.c: tail, check, build and cost of TRANSFER and SPECIAL_LOCK_TRANSFER; check of the flags
 * CLEAN and DIRTY, for VIRTUAL_TRANSFER too
 */
u64 pagoda_transfer_tail(const void *packet);
int pagoda_tracking_validate(const struct pagoda_paging_limits *limits, u32 flags, bool into,
			     bool out, const char **why);
int pagoda_transfer_validate(const struct pagoda_paging_limits *limits,
			     const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_transfer_build(const struct pagoda_paging_limits *limits,
					const struct pagoda_paging_op *op,
					struct pagoda_paging_cursor *cursor,
					struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost pagoda_transfer_cost(const struct pagoda_paging_limits *limits,
					       const struct pagoda_paging_op *op,
					       u32 buffer_size);
u64 pagoda_special_lock_tail(const void *packet);
int pagoda_special_lock_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why);

/* fill.c: check, build and cost of FILL and DISCARD_CONTENT */
int pagoda_fill_validate(const struct pagoda_paging_limits *limits,
			 const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_fill_build(const struct pagoda_paging_limits *limits,
				    const struct pagoda_paging_op *op,
				    struct pagoda_paging_cursor *cursor,
				    struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost pagoda_fill_cost(const struct pagoda_paging_limits *limits,
					   const struct pagoda_paging_op *op, u32 buffer_size);
int pagoda_discard_content_validate(const struct pagoda_paging_limits *limits,
				    const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_discard_content_build(const struct pagoda_paging_limits *limits,
					       const struct pagoda_paging_op *op,
					       struct pagoda_paging_cursor *cursor,
					       struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_discard_content_cost(const struct pagoda_paging_limits *limits,
			    const struct pagoda_paging_op *op, u32 buffer_size);

/*
 * aperture.c: tail, check, build and cost of MAP_APERTURE_SEGMENT, MAP_APERTURE_SEGMENT2 and
 * UNMAP_APERTURE_SEGMENT
 */
u64 pagoda_map_aperture_tail(const void *packet);
int pagoda_map_aperture_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_map_aperture_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost pagoda_map_aperture_cost(const struct pagoda_paging_limits *limits,
						   const struct pagoda_paging_op *op,
						   u32 buffer_size);
int pagoda_unmap_aperture_validate(const struct pagoda_paging_limits *limits,
				   const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_unmap_aperture_build(const struct pagoda_paging_limits *limits,
					      const struct pagoda_paging_op *op,
					      struct pagoda_paging_cursor *cursor,
					      struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_unmap_aperture_cost(const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, u32 buffer_size);

/*
 * access.c: check, build and cost of READ_PHYSICAL, WRITE_PHYSICAL, SIGNAL_MONITORED_FENCE and
 * NOTIFY_ALLOC
 */
int pagoda_access_physical_validate(const struct pagoda_paging_limits *limits,
				    const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_access_physical_build(const struct pagoda_paging_limits *limits,
					       const struct pagoda_paging_op *op,
					       struct pagoda_paging_cursor *cursor,
					       struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_access_physical_cost(const struct pagoda_paging_limits *limits,
			    const struct pagoda_paging_op *op, u32 buffer_size);
int pagoda_signal_fence_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_signal_fence_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_signal_fence_cost(const struct pagoda_paging_limits *limits,
			 const struct pagoda_paging_op *op, u32 buffer_size);
int pagoda_notify_alloc_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_notify_alloc_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_notify_alloc_cost(const struct pagoda_paging_limits *limits,
			 const struct pagoda_paging_op *op, u32 buffer_size);

/* virtual.c: check, build and cost of VIRTUAL_TRANSFER and VIRTUAL_FILL */
int pagoda_virtual_transfer_validate(const struct pagoda_paging_limits *limits,
				     const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_virtual_transfer_build(const struct pagoda_paging_limits *limits,
						const struct pagoda_paging_op *op,
						struct pagoda_paging_cursor *cursor,
						struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_virtual_transfer_cost(const struct pagoda_paging_limits *limits,
			     const struct pagoda_paging_op *op, u32 buffer_size);
int pagoda_virtual_fill_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_virtual_fill_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_virtual_fill_cost(const struct pagoda_paging_limits *limits,
			 const struct pagoda_paging_op *op, u32 buffer_size);

/* entry.c: checks an UPDATE_PAGE_TABLE */
int pagoda_update_validate(const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, const char **why);

/* update.c: tail, build, cost and moved bytes of UPDATE_PAGE_TABLE */
u64 pagoda_update_tail(const void *packet);
enum pagoda_build pagoda_update_build(const struct pagoda_paging_limits *limits,
				      const struct pagoda_paging_op *op,
				      struct pagoda_paging_cursor *cursor,
				      struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost pagoda_update_cost(const struct pagoda_paging_limits *limits,
					     const struct pagoda_paging_op *op,
					     u32 buffer_size);
u64 pagoda_update_moved(const struct pagoda_paging_op *op);

/* flush.c: check, build and cost of FLUSH_TLB */
int pagoda_flush_tlb_validate(const struct pagoda_paging_limits *limits,
			      const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_flush_tlb_build(const struct pagoda_paging_limits *limits,
					 const struct pagoda_paging_op *op,
					 struct pagoda_paging_cursor *cursor,
					 struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost pagoda_flush_tlb_cost(const struct pagoda_paging_limits *limits,
						const struct pagoda_paging_op *op,
						u32 buffer_size);

/* copy.c: tail, check, build and cost of COPY_PAGE_TABLE_ENTRIES */
u64 pagoda_copy_entries_tail(const void *packet);
int pagoda_copy_entries_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_copy_entries_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_copy_entries_cost(const struct pagoda_paging_limits *limits,
			 const struct pagoda_paging_op *op, u32 buffer_size);

/* context.c: tail, check, build and cost of INIT_CONTEXT_RESOURCE and UPDATE_CONTEXT_ALLOCATION */
u64 pagoda_init_context_tail(const void *packet);
int pagoda_init_context_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_init_context_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_init_context_cost(const struct pagoda_paging_limits *limits,
			 const struct pagoda_paging_op *op, u32 buffer_size);
u64 pagoda_update_context_tail(const void *packet);
int pagoda_update_context_validate(const struct pagoda_paging_limits *limits,
				   const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_update_context_build(const struct pagoda_paging_limits *limits,
					      const struct pagoda_paging_op *op,
					      struct pagoda_paging_cursor *cursor,
					      struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_update_context_cost(const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, u32 buffer_size);

/*
 * notify.c: tail, check, build and cost of NOTIFY_RESIDENCY, NOTIFY_RESIDENCY2 and
 * NOTIFY_FENCE_RESIDENCY
 */
int pagoda_notify_residency_validate(const struct pagoda_paging_limits *limits,
				     const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_notify_residency_build(const struct pagoda_paging_limits *limits,
						const struct pagoda_paging_op *op,
						struct pagoda_paging_cursor *cursor,
						struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_notify_residency_cost(const struct pagoda_paging_limits *limits,
			     const struct pagoda_paging_op *op, u32 buffer_size);
u64 pagoda_notify_fences_tail(const void *packet);
int pagoda_notify_fences_validate(const struct pagoda_paging_limits *limits,
				  const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_notify_fences_build(const struct pagoda_paging_limits *limits,
					     const struct pagoda_paging_op *op,
					     struct pagoda_paging_cursor *cursor,
					     struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_notify_fences_cost(const struct pagoda_paging_limits *limits,
			  const struct pagoda_paging_op *op, u32 buffer_size);

/* device_mmu.c: tail, check, build and cost of MAP_MMU and UNMAP_MMU */
u64 pagoda_map_mmu_tail(const void *packet);
int pagoda_map_mmu_validate(const struct pagoda_paging_limits *limits,
			    const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_map_mmu_build(const struct pagoda_paging_limits *limits,
				       const struct pagoda_paging_op *op,
				       struct pagoda_paging_cursor *cursor,
				       struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_map_mmu_cost(const struct pagoda_paging_limits *limits,
		    const struct pagoda_paging_op *op, u32 buffer_size);
int pagoda_unmap_mmu_validate(const struct pagoda_paging_limits *limits,
			      const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_unmap_mmu_build(const struct pagoda_paging_limits *limits,
					 const struct pagoda_paging_op *op,
					 struct pagoda_paging_cursor *cursor,
					 struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost
pagoda_unmap_mmu_cost(const struct pagoda_paging_limits *limits,
		      const struct pagoda_paging_op *op, u32 buffer_size);

/* ends.c: source and destination of each operation, for traces and the journal */
struct pagoda_paging_ends pagoda_transfer_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_fill_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_discard_content_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_access_physical_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_map_aperture_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_unmap_aperture_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_virtual_transfer_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_virtual_fill_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_init_context_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_update_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_flush_tlb_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_update_context_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_copy_entries_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_notify_residency_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_signal_fence_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_notify_fences_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_map_mmu_ends(const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_notify_alloc_ends(const struct pagoda_paging_op *op);

/*
 * print.c: each prints a packet: TRANSFER, FILL, DISCARD_CONTENT, the operations of the aperture,
 * READ_PHYSICAL and WRITE_PHYSICAL, SIGNAL_MONITORED_FENCE, NOTIFY_ALLOC
 */
void pagoda_transfer_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_fill_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_discard_content_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_map_aperture_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_unmap_aperture_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_access_physical_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_signal_fence_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_notify_alloc_print(struct pagoda_paging_text *text, const void *packet);

/*
 * print_tables.c: each prints a packet: VIRTUAL_TRANSFER, VIRTUAL_FILL, UPDATE_PAGE_TABLE,
 * FLUSH_TLB, COPY_PAGE_TABLE_ENTRIES
 */
void pagoda_virtual_transfer_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_virtual_fill_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_update_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_flush_tlb_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_copy_entries_print(struct pagoda_paging_text *text, const void *packet);

/*
 * print_state.c: each prints a packet: SPECIAL_LOCK_TRANSFER, the operations of save areas, notices
 * of the residency of allocations and fences, MAP_MMU and UNMAP_MMU
 */
void pagoda_special_lock_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_init_context_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_update_context_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_notify_residency_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_notify_fences_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_map_mmu_print(struct pagoda_paging_text *text, const void *packet);

#endif
