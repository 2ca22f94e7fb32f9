// SPDX-License-Identifier: GPL-2.0
/* Attackers that have memory moved and mapped, and the ordinary client they are compared with. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/pagoda_prime.h"
#include "hostile.h"

#define MOST		512u
#define PIECES		64u

/* Opens a client with @percent of VRAM in pieces that together don't fit if it is more than 100. */
static uint32_t pieces_open(struct cell *cell, struct client *client, uint32_t percent,
			    uint32_t supported, uint32_t *handles)
{
	uint32_t count = PIECES * percent / 100;

	attack_check(cell, "client", client_open(client, ATTACKER_ENGINE));
	attack_check(cell, "allocations", client_allocations(client, count, client->vram / PIECES,
							     supported, handles));
	return count;
}

/* Gives pieces content, which has to be copied from then on. */
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

/* Uses twice as much as VRAM has, piece after piece, as fast as the device copies. */
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
		/* One copy is always queued behind the one that is made. */
		pagoda_syncobj_wait(client.fd, client.syncobj, point++, PAGODA_SEC);
	}
}

/* Has a context and does nothing. */
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

/* Wants one aligned allocation more at once than VRAM has aligned ranges; the bytes are there. */
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

/* Makes 16 allocations resident and evicts them, and waits for nothing. */
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

/* Maps and unmaps a page whose page table comes and goes with it, and waits for nothing. */
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
 * Each frame lists a contiguous half of VRAM that could be in the aperture as well; in between
 * small allocations of the same client take VRAM apart.
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

/* Has zeros on every other page of 32 MiB, and the page tables evicted before the next change. */
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

/* Wants 1.5 times VRAM, all of it at the highest priority, and waits for nothing. */
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
	/* As much as fits is on the list and may not leave for EVICT. */
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

/* Maps the dma-buf's allocation in as many VMs of a new client as the client gets. */
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

/* Has one buffer mapped in as many VMs as the user gets, and moves it. */
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
