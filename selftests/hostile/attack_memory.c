// SPDX-License-Identifier: GPL-2.0
/*
 * Attackers that have memory moved and mapped; also the ordinary client that all attackers are
 * compared with, and the idle client.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/pagoda_prime.h"
#include "hostile.h"

#define MOST		512u
#define PIECES		64u

/*
 * Opens a client with allocations (pieces) of a 64th of VRAM each, @percent of VRAM in all. Returns
 * the number of pieces.
 */
static uint32_t pieces_open(struct cell *cell, struct client *client, uint32_t percent,
			    uint32_t supported, uint32_t *handles)
{
	uint32_t count = PIECES * percent / 100;

	attack_check(cell, "client", client_open(client, ATTACKER_ENGINE));
	attack_check(cell, "allocations", client_allocations(client, count, client->vram / PIECES,
							     supported, handles));
	return count;
}

/* Writes to the pieces, so that moves of the pieces have to copy content. */
static void pieces_fill(struct cell *cell, const struct client *client, const uint32_t *handles,
			uint32_t count)
{
	uint64_t size = client->vram / PIECES;
	uint32_t n;
	void *map;

	for (n = 0; n < count; n++) {
		map = pagoda_map(client->fd, handles[n], size);
		if (!map)
			attack_failed(cell, "mmap", -errno);
		pagoda_fill(map, pagoda_key(1, n, 0), 0, size);
		munmap(map, size);
	}
}

/*
 * The ordinary client: makes pieces resident, one after another, as fast as the device copies. All
 * pieces together are twice as large as VRAM.
 */
void attack_ordinary(struct cell *cell)
{
	static struct client client;
	uint32_t handles[MOST], count, n;
	uint64_t point = 0;

	count = pieces_open(cell, &client, 200, PAGODA_IN_VRAM, handles);
	pieces_fill(cell, &client, handles, count);
	attack_ready(cell);
	for (n = 0;; n = (n + 1) % count) {
		attack_op(cell);
		if (pagoda_make_resident(client.fd, &handles[n], 1, client.syncobj, point + 1,
					 NULL)) {
			usleep(1000);
			continue;
		}
		/* Waits for the previous request, so that the device always has a request. */
		pagoda_syncobj_wait(client.fd, client.syncobj, point++, PAGODA_SEC);
	}
}

/* The idle client: has a context and does nothing. */
void attack_idle(struct cell *cell)
{
	static struct client client;

	attack_check(cell, "client", client_open(&client, ATTACKER_ENGINE));
	attack_op(cell);
	attack_ready(cell);
	for (;;)
		pause();
}

/* --- lists that can't fit --------------------------------------------------------------------- */

#define ALIGNMENT	(2 * PAGODA_MIB)

/*
 * Asks over and over for the residency of one aligned allocation more than VRAM has aligned ranges,
 * all in one call; the allocations' bytes would fit.
 */
void attack_misfit(struct cell *cell)
{
	static struct client client;
	struct drm_pagoda_allocation_create args;
	uint32_t handles[MOST], count, n;

	attack_check(cell, "client", client_open(&client, ATTACKER_ENGINE));
	count = client.vram / ALIGNMENT + 1;
	attack_check(cell, "VRAM below 1 GiB", count > MOST ? -E2BIG : 0);
	for (n = 0; n < count; n++) {
		args = (struct drm_pagoda_allocation_create) {
			.size = ALIGNMENT / 2 + 4 * PAGODA_KIB,
			.flags = CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CONTIGUOUS,
			.supported = PAGODA_IN_VRAM,
			.alignment = ALIGNMENT,
		};
		attack_check(cell, "aligned", pagoda_create_args(client.fd, &args));
		handles[n] = args.handle;
	}
	attack_ready(cell);
	for (;;) {
		attack_op(cell);
		pagoda_make_resident(client.fd, handles, n, 0, 0, NULL);
	}
}

/* --- as fast as it goes ----------------------------------------------------------------------- */

#define FAST		16u

/* Makes 16 allocations resident and evicts them, over and over, without waiting for copies. */
void attack_resident(struct cell *cell)
{
	static struct client client;
	uint32_t handles[FAST];

	attack_check(cell, "client", client_open(&client, ATTACKER_ENGINE));
	attack_check(cell, "allocations", client_allocations(&client, FAST, 64 * PAGODA_KIB,
							     PAGODA_IN_VRAM, handles));
	attack_ready(cell);
	for (;;) {
		attack_op(cell);
		pagoda_make_resident(client.fd, handles, FAST, 0, 0, NULL);
		pagoda_evict(client.fd, handles, FAST, 0, 0);
	}
}

/*
 * Maps and unmaps a page that is alone in its page table, over and over at 16 addresses, so that
 * page tables come and go, too; doesn't wait for the changes.
 */
void attack_map(struct cell *cell)
{
	static struct client client;
	uint64_t addresses[FAST];
	uint32_t handle, n;

	attack_check(cell, "client", client_open(&client, ATTACKER_ENGINE));
	attack_check(cell, "allocation", client_allocations(&client, 1, 4 * PAGODA_KIB,
							    PAGODA_IN_VRAM, &handle));
	for (n = 0; n < FAST; n++)
		addresses[n] = client_place(&client, 4 * PAGODA_KIB);
	attack_ready(cell);
	for (n = 0;; n = (n + 1) % FAST) {
		attack_op(cell);
		pagoda_bind_map(client.fd, client.vm, handle, addresses[n], 0, 4 * PAGODA_KIB);
		pagoda_bind_range(client.fd, client.vm, DRM_PAGODA_BIND_UNMAP, addresses[n],
				  4 * PAGODA_KIB);
	}
}

/* --- each frame ------------------------------------------------------------------------------- */

/*
 * Submits jobs (frames) that list a contiguous allocation of half of VRAM, which could be in the
 * aperture as well; after each job, pieces of the same client that fill 90 % of VRAM are made
 * resident, so that VRAM has no contiguous half.
 */
void attack_contiguous(struct cell *cell)
{
	static struct client client;
	uint32_t handles[MOST], count, handle;
	struct drm_pagoda_allocation_create args;

	count = pieces_open(cell, &client, 90, PAGODA_IN_VRAM, handles);
	args = (struct drm_pagoda_allocation_create) {
		.size = client.vram / 2,
		.flags = CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CONTIGUOUS,
		.supported = ANYWHERE,
		.preferred = { DRM_PAGODA_SEGMENT_VRAM, DRM_PAGODA_SEGMENT_APERTURE },
	};
	attack_check(cell, "contiguous", pagoda_create_args(client.fd, &args));
	handle = args.handle;
	attack_ready(cell);
	for (;;) {
		attack_op(cell);
		if (!client_submit(&client, &handle, 1))
			client_wait(&client, PAGODA_SEC);
		pagoda_make_resident(client.fd, handles, count, 0, 0, NULL);
	}
}

/* --- zero pages ------------------------------------------------------------------------------- */

#define ZEROS		4096u

/*
 * Maps zeros at every other page of 32 MiB, has another client of the attacker fill VRAM, so that
 * the page tables are evicted, and unmaps the 32 MiB; over and over.
 */
void attack_zero_pages(struct cell *cell)
{
	static struct drm_pagoda_bind_entry entries[ZEROS];
	static struct client client, pusher;
	uint32_t handles[MOST], count, n;
	uint64_t start, size = 2ull * ZEROS * 4 * PAGODA_KIB;

	count = pieces_open(cell, &pusher, 100, PAGODA_IN_VRAM, handles);
	attack_check(cell, "client", client_open(&client, ATTACKER_ENGINE));
	start = client_place(&client, size);
	for (n = 0; n < ZEROS; n++)
		entries[n] = (struct drm_pagoda_bind_entry) {
			.type = DRM_PAGODA_BIND_MAP_ZERO,
			.address = start + 2ull * n * 4 * PAGODA_KIB,
			.size = 4 * PAGODA_KIB,
		};
	atomic_store(&cell->clients, 2);
	attack_ready(cell);
	for (;;) {
		attack_op(cell);
		pagoda_bind(client.fd, client.vm, entries, ZEROS, 0, 0);
		pagoda_make_resident(pusher.fd, handles, count, 0, 0, NULL);
		for (n = 0; n < count; n++)
			pagoda_make_resident(pusher.fd, &handles[n], 1, 0, 0, NULL);
		pagoda_bind_range(client.fd, client.vm, DRM_PAGODA_BIND_UNMAP, start, size);
	}
}

/* --- priorities ------------------------------------------------------------------------------- */

/*
 * Makes pieces resident, one after another, without waiting for copies. All pieces together are 1.5
 * times as large as VRAM; each has the highest residency priority. As many as the client's
 * residency list takes are on the list.
 */
void attack_maximum(struct cell *cell)
{
	static struct client client;
	uint32_t handles[MOST], count, queue, syncobj, n;
	uint64_t value;

	count = pieces_open(cell, &client, 150, PAGODA_IN_VRAM, handles);
	pieces_fill(cell, &client, handles, count);
	for (n = 0; n < count; n++)
		attack_check(cell, "priority", pagoda_set_priority(client.fd, handles[n],
								   DRM_PAGODA_RESIDENCY_MAXIMUM));
	attack_check(cell, "paging queue", pagoda_paging_queue_create(client.fd, 1, &queue,
								      &syncobj));
	/* The attack never calls EVICT: pieces on the residency list stay on the list. */
	for (n = 0; n < count; n++)
		if (pagoda_list_add(client.fd, queue, &handles[n], 1, 0, &value, NULL))
			break;
	attack_ready(cell);
	for (n = 0;; n = (n + 1) % count) {
		attack_op(cell);
		pagoda_make_resident(client.fd, &handles[n], 1, 0, 0, NULL);
	}
}

/* --- many address spaces ---------------------------------------------------------------------- */

#define SHOWN		PAGODA_MIB

/*
 * Maps the dma-buf's allocation in as many VMs of a new client as the client gets. Returns the
 * number of these VMs. *@ret: the negative errno of the first refusal.
 */
static uint32_t map_in_vms(int dma_buf, int *ret)
{
	struct drm_pagoda_vm_create vm;
	uint32_t handle, count;
	int fd = pagoda_open();

	*ret = fd < 0 ? fd : prime_import(fd, dma_buf, &handle);
	for (count = 0; !*ret; count++) {
		*ret = pagoda_vm_create(fd, &vm);
		if (!*ret)
			*ret = pagoda_bind_map(fd, vm.vm, handle, 1ull << 32, 0, SHOWN);
		if (*ret)
			break;
	}
	return count;
}

/* Maps an allocation in as many VMs as the user gets; moves it to VRAM and back, over and over. */
void attack_many_vms(struct cell *cell)
{
	static struct client client;
	uint32_t handle, files = 1, more;
	int dma_buf, ret;

	attack_check(cell, "client", client_open(&client, ATTACKER_ENGINE));
	attack_check(cell, "allocation", client_allocations(&client, 1, SHOWN, PAGODA_IN_VRAM,
							    &handle));
	dma_buf = prime_export(client.fd, handle);
	attack_check(cell, "export", dma_buf);
	do {
		more = map_in_vms(dma_buf, &ret);
		files++;
	} while (more && ret == -EMFILE);
	atomic_store(&cell->clients, files);
	attack_ready(cell);
	for (;;) {
		attack_op(cell);
		pagoda_make_resident(client.fd, &handle, 1, 0, 0, NULL);
		pagoda_evict(client.fd, &handle, 1, 0, 0);
	}
}
