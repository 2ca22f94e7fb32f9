// SPDX-License-Identifier: GPL-2.0
/*
 * Attackers that create as many objects as they get, fill VRAM and exit, or queue changes of page
 * tables.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

/* If an attack's preparation takes longer than this, the victim is measured during the rest. */
#define PREPARE_NS	PAGODA_SEC
#define FILES		1000u
#define CHURN_NS	(500 * MS)

/* --- until refused ---------------------------------------------------------------------------- */

static int event_fd;

static int make_vm(int fd, uint32_t vm)
{
	struct drm_pagoda_vm_create args;

	(void)vm;
	return pagoda_vm_create(fd, &args);
}

static int make_context(int fd, uint32_t vm)
{
	uint32_t context;

	return pagoda_context_create(fd, vm, &context);
}

/* Creates a monitored fence, and has an eventfd wait for a value that the fence never gets. */
static int make_fence(int fd, uint32_t vm)
{
	struct drm_pagoda_fence_value value = { .value = 1 };
	int ret = pagoda_fence_create(fd, 0, &value.fence, NULL);

	(void)vm;
	return ret ? ret : pagoda_fence_notify(fd, &value, 1, 0, event_fd);
}

static int make_listener(int fd, uint32_t vm)
{
	int ret = pagoda_events(fd, 0);

	(void)vm;
	return ret < 0 ? ret : 0;
}

static int make_queue(int fd, uint32_t vm)
{
	uint32_t queue, syncobj;

	(void)vm;
	return pagoda_paging_queue_create(fd, 0, &queue, &syncobj);
}

typedef int make_function(int fd, uint32_t vm);

/* Returns a new fd, or a negative errno. *@vm: a VM of the file, for contexts; 0 = none. */
static int file_open(uint32_t *vm)
{
	struct drm_pagoda_vm_create args;
	int fd = pagoda_open();

	*vm = 0;
	if (fd >= 0 && !pagoda_vm_create(fd, &args))
		*vm = args.vm;
	return fd;
}

/* Calls attack_ready(), unless it was called before, if PREPARE_NS have passed since @start. */
static void ready_by(struct cell *cell, int64_t start)
{
	if (!atomic_load(&cell->ready) && pagoda_now() > start + PREPARE_NS)
		attack_ready(cell);
}

/* Makes objects in a file until an object is refused. Returns how many objects the file got. */
static uint32_t file_fill(struct cell *cell, int fd, uint32_t vm, make_function *make,
			  int64_t start)
{
	uint32_t count;

	for (count = 0; !make(fd, vm); count++) {
		attack_op(cell);
		ready_by(cell, start);
	}
	return count;
}

/*
 * Makes objects in file after file, in at most @most files, until a file gets none. Then keeps
 * trying in the newest file; twice a second closes the oldest file and fills a new file.
 */
static void until_refused(struct cell *cell, make_function *make, uint32_t most)
{
	int fds[FILES], fd, refused;
	int64_t start = pagoda_now(), churned;
	uint32_t vm, files = 0, oldest = 0;

	event_fd = eventfd(0, EFD_CLOEXEC);
	do {
		fd = file_open(&vm);
		if (fd < 0)
			break;
		fds[files++] = fd;
		atomic_store(&cell->clients, files);
	} while (file_fill(cell, fd, vm, make, start) && files < most);
	if (!atomic_load(&cell->ops))
		attack_failed(cell, "first object", -ENOENT);
	if (!atomic_load(&cell->ready))
		attack_ready(cell);
	churned = pagoda_now();
	for (;;) {
		attack_op(cell);
		refused = make(fd, vm);
		if (pagoda_now() > churned + CHURN_NS) {
			close(fds[oldest]);
			fd = file_open(&vm);
			fds[oldest] = fd;
			oldest = (oldest + 1) % files;
			file_fill(cell, fd, vm, make, start);
			churned = pagoda_now();
		}
		if (refused)
			usleep(1000);
	}
}

/* Makes VMs until they are refused, and keeps trying (until_refused()). */
void attack_vms(struct cell *cell)
{
	until_refused(cell, make_vm, FILES);
}

/* Makes contexts until they are refused, and keeps trying. */
void attack_contexts(struct cell *cell)
{
	until_refused(cell, make_context, FILES);
}

/* Makes fences, each with a wait for a value that never comes, until refused, and keeps trying. */
void attack_fences(struct cell *cell)
{
	until_refused(cell, make_fence, FILES);
}

/* Opens listeners (files of EVENTS) until they are refused, and keeps trying. */
void attack_listeners(struct cell *cell)
{
	until_refused(cell, make_listener, FILES);
}

/* Makes paging queues in a file until refused (a user has no limit), and keeps trying. */
void attack_queues(struct cell *cell)
{
	until_refused(cell, make_queue, 1);
}

/* --- many files ------------------------------------------------------------------------------- */

#define FENCES_A_FILE	64u

/*
 * Takes in one file a resident allocation, all VMs, contexts and listeners that it gets, and 64
 * fences at most.
 */
static void file_take(struct cell *cell, int fd, uint32_t vm)
{
	uint32_t handle, n;

	if (!pagoda_create(fd, 64 * PAGODA_KIB, CPU_VISIBLE, PAGODA_IN_VRAM, &handle))
		pagoda_make_resident(fd, &handle, 1, 0, 0, NULL);
	while (!make_vm(fd, vm))
		attack_op(cell);
	while (vm && !make_context(fd, vm))
		attack_op(cell);
	while (!make_listener(fd, vm))
		attack_op(cell);
	for (n = 0; n < FENCES_A_FILE && !make_fence(fd, vm); n++)
		attack_op(cell);
}

/*
 * Opens the render node 1,000 times, and each file takes what it gets (file_take()). Then closes
 * the last file and opens another, over and over.
 */
void attack_files(struct cell *cell)
{
	int64_t start = pagoda_now();
	int fds[FILES];
	uint32_t n, vm;

	event_fd = eventfd(0, EFD_CLOEXEC);
	for (n = 0; n < FILES; n++) {
		fds[n] = file_open(&vm);
		if (fds[n] < 0)
			break;
		atomic_store(&cell->clients, n + 1);
		file_take(cell, fds[n], vm);
		ready_by(cell, start);
	}
	if (!n)
		attack_failed(cell, "open", fds[0]);
	if (!atomic_load(&cell->ready))
		attack_ready(cell);
	for (n--;; usleep(1000)) {
		attack_op(cell);
		close(fds[n]);
		fds[n] = file_open(&vm);
		file_take(cell, fds[n], vm);
	}
}

#define FILLED		32u

/* Submits a job that fills half of VRAM, and exits without waiting for the job. */
static void fill_and_exit(void)
{
	uint32_t handles[FILLED], n;
	static struct client client;
	uint64_t address, size;

	if (client_open(&client, ATTACKER_ENGINE))
		_exit(1);
	size = client.vram / 2 / FILLED;
	for (n = 0; n < FILLED; n++) {
		if (client_allocation(&client, size, CPU_VISIBLE, PAGODA_IN_VRAM, &handles[n],
				      &address))
			_exit(1);
		pagoda_fill_words(&client.program, address, size, n);
	}
	_exit(client_submit(&client, handles, FILLED) ? 1 : 0);
}

/* Has children that fill half of VRAM and exit, one after the other. */
void attack_fork(struct cell *cell)
{
	uint32_t good = 0;
	int status;
	pid_t pid;

	for (;;) {
		attack_op(cell);
		pid = fork();
		if (!pid)
			fill_and_exit();
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			attack_failed(cell, "fork", -errno);
		good += !status;
		if (!atomic_load(&cell->ready) && good == 2)
			attack_ready(cell);
		if (status)
			usleep(1000);
	}
}

/* --- changes of page tables ------------------------------------------------------------------- */

#define BIND_VMS	8u
#define READY_BINDS	1000u

struct bind_vm {
	struct cell *cell;
	int fd;
	uint32_t vm;
	uint32_t syncobj;
	uint64_t next;
};

/* Queues a VM_BIND of the page at @address, which waits for @point of @b's syncobj. */
static int bind_behind(struct bind_vm *b, uint32_t type, uint64_t address, uint64_t point)
{
	struct drm_pagoda_bind_entry entry = {
		.type = type, .address = address, .size = 4 * PAGODA_KIB,
	};
	struct drm_pagoda_sync sync = { .handle = b->syncobj, .point = point };
	struct drm_pagoda_vm_bind args = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		.syncs = { (uintptr_t)&sync, 1, sizeof(sync) },
		.vm = b->vm,
	};

	return ioctl(b->fd, DRM_IOCTL_PAGODA_VM_BIND, &args) ? -errno : 0;
}

static void bind_vm_open(struct cell *cell, struct bind_vm *b, int fd)
{
	struct drm_pagoda_vm_create args;

	attack_check(cell, "VM", pagoda_vm_create(fd, &args));
	attack_check(cell, "syncobj", pagoda_syncobj_create(fd, &b->syncobj));
	b->cell = cell;
	b->fd = fd;
	b->vm = args.vm;
	b->next = 1ull << 32;
}

static void nothing(int number)
{
	(void)number;
}

/* A thread that sleeps in VM_BIND, as the VM's queue is full. Repeats a call that a signal ends. */
static void *bind_full(void *data)
{
	struct bind_vm *b = data;

	for (;;) {
		attack_op(b->cell);
		bind_behind(b, DRM_PAGODA_BIND_MAP_ZERO, b->next, 1);
	}
	return NULL;
}

/*
 * Fills the VM_BIND queues of eight VMs with changes that wait for a point that is never signalled.
 * For each VM a thread sleeps in a further call, which a signal ends about once a second.
 */
void attack_bind_queue(struct cell *cell)
{
	struct sigaction action = { .sa_handler = nothing };
	static struct bind_vm vms[BIND_VMS];
	pthread_t threads[BIND_VMS];
	int fd = pagoda_open();
	uint32_t n, count;

	attack_check(cell, "open", fd);
	sigaction(SIGUSR1, &action, NULL);
	for (n = 0; n < BIND_VMS; n++) {
		bind_vm_open(cell, &vms[n], fd);
		for (count = 0; count < DRM_PAGODA_MAX_QUEUED_BINDS; count++) {
			attack_check(cell, "bind", bind_behind(&vms[n], DRM_PAGODA_BIND_MAP_ZERO,
							       vms[n].next, 1));
			vms[n].next += 2 * PAGODA_MIB;
		}
		attack_check(cell, "thread", -pthread_create(&threads[n], NULL, bind_full,
							     &vms[n]));
	}
	usleep(100000);
	attack_ready(cell);
	for (n = 0;; n = (n + 1) % BIND_VMS) {
		usleep(100000);
		pthread_kill(threads[n], SIGUSR1);
	}
}

/*
 * Queues 1,000 changes, spread over all VMs, that wait for @point. Returns 0 or the negative errno
 * of the first refusal.
 */
static int bind_round(struct bind_vm *vms, uint64_t point)
{
	uint32_t type = point % 2 ? DRM_PAGODA_BIND_MAP_ZERO : DRM_PAGODA_BIND_UNMAP, n;
	int ret = 0;

	for (n = 0; n < READY_BINDS && !ret; n++)
		ret = bind_behind(&vms[n % BIND_VMS], type,
				  (1ull << 32) + n / BIND_VMS * 2 * PAGODA_MIB, point);
	return ret;
}

/* Has 1,000 changes of page tables become ready at once, again and again. */
void attack_bind_ready(struct cell *cell)
{
	static struct bind_vm vms[BIND_VMS];
	int fd = pagoda_open();
	uint64_t point;
	uint32_t n;

	attack_check(cell, "open", fd);
	for (n = 0; n < BIND_VMS; n++)
		bind_vm_open(cell, &vms[n], fd);
	for (point = 1;; point++) {
		attack_check(cell, "bind", bind_round(vms, point));
		if (point == 1)
			attack_ready(cell);
		attack_op(cell);
		for (n = 0; n < BIND_VMS; n++)
			pagoda_syncobj_signal(fd, vms[n].syncobj, point);
	}
}
