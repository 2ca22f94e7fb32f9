/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of operations, and what its rows share. Only paging/ and its tests
 * include this.
 *
 * One file a family holds all columns that deal with operations (validate,
 * build, cost); print.c and cpu*.c hold those that deal with finished packets,
 * which may come from anywhere. Nothing here keeps state, takes a lock or calls
 * into the kernel: every function may be called from any context.
 */
#ifndef PAGODA_PAGING_TABLE_H
#define PAGODA_PAGING_TABLE_H

#include <linux/types.h>
#include <pagoda/paging.h>

struct pagoda_cpu_packet;

/**
 * struct pagoda_paging_row - Everything there is to know about an operation
 * @name: Name as in VIRTIO_PAGODA_OPS()
 * @head: Bytes of its packet without runs or entries
 * @tail: Bytes of the runs or entries that a packet says follow its head; NULL
 *	if none ever do. Called with @head bytes readable
 * @validate: Refuses operations: 0 or -errno, and why; limits and operation
 *	aren't NULL and the device has the opcode
 * @build: Encodes a valid operation, see the contract in pagoda/paging.h
 * @execute: Executes a packet of the right length on the CPU: 0, -EINVAL,
 *	-EFAULT or -EOPNOTSUPP with nothing written
 * @print: Prints what follows name and allocation, for a packet of the right
 *	length with any content
 * @cost: Upper bounds for a valid operation; the buffer size is at least
 *	%PAGODA_PAGING_MIN_BUFFER
 *
 * A row either has all columns or, while nothing uses the operation, only its
 * name; pagoda_paging_validate() refuses the latter.
 */
struct pagoda_paging_row {
	const char *name;
	u32 head;
	u64 (*tail)(const void *packet);
	int (*validate)(const struct pagoda_paging_limits *limits,
			const struct pagoda_paging_op *op, const char **why);
	enum pagoda_build (*build)(const struct pagoda_paging_limits *limits,
				   const struct pagoda_paging_op *op,
				   struct pagoda_paging_cursor *cursor,
				   struct pagoda_paging_buffer *buf);
	int (*execute)(const struct pagoda_cpu_packet *cpu);
	void (*print)(struct pagoda_paging_text *text, const void *packet);
	struct pagoda_paging_cost (*cost)(const struct pagoda_paging_limits *limits,
					  const struct pagoda_paging_op *op,
					  u32 buffer_size);
};

const struct pagoda_paging_row *pagoda_paging_row(u32 opcode);

/* packet.c */
const struct pagoda_paging_row *pagoda_packet_check(const void *data, u32 left,
						    const char **why);

/* transfer.c */
u64 pagoda_transfer_tail(const void *packet);
int pagoda_transfer_validate(const struct pagoda_paging_limits *limits,
			     const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_transfer_build(const struct pagoda_paging_limits *limits,
					const struct pagoda_paging_op *op,
					struct pagoda_paging_cursor *cursor,
					struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost pagoda_transfer_cost(const struct pagoda_paging_limits *limits,
					       const struct pagoda_paging_op *op,
					       u32 buffer_size);

/* fill.c */
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

/* aperture.c */
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

/* access.c */
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

/* print.c: each prints what follows name and allocation */
void pagoda_transfer_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_fill_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_discard_content_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_map_aperture_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_unmap_aperture_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_access_physical_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_signal_fence_print(struct pagoda_paging_text *text, const void *packet);
void pagoda_notify_alloc_print(struct pagoda_paging_text *text, const void *packet);

/* cpu_transfer.c, cpu_aperture.c, cpu_small.c */
int pagoda_transfer_execute(const struct pagoda_cpu_packet *cpu);
int pagoda_fill_execute(const struct pagoda_cpu_packet *cpu);
int pagoda_discard_content_execute(const struct pagoda_cpu_packet *cpu);
int pagoda_map_aperture_execute(const struct pagoda_cpu_packet *cpu);
int pagoda_unmap_aperture_execute(const struct pagoda_cpu_packet *cpu);
int pagoda_read_physical_execute(const struct pagoda_cpu_packet *cpu);
int pagoda_write_physical_execute(const struct pagoda_cpu_packet *cpu);
int pagoda_signal_fence_execute(const struct pagoda_cpu_packet *cpu);
int pagoda_notify_alloc_execute(const struct pagoda_cpu_packet *cpu);

#endif
