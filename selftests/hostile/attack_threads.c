// SPDX-License-Identifier: GPL-2.0
/*
 * Attackers whose threads stay in calls for long: pages of the arguments come late, or the threads
 * get hardly any processor time.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.h"

/* --- arguments that don't come ---------------------------------------------------------------- */

#define PAGE		4096ull
#define HELD_MS		500

/* A thread, the call that the thread makes, and the page with the call's argument or answer. */
struct held {
	struct client *client;
	void *page;
	int (*call)(struct held *h);
	pthread_t thread;
};

static int call_query(struct held *h)
{
	return pagoda_query(h->client->fd, DRM_PAGODA_QUERY_STATS, 0, h->page,
			    sizeof(struct drm_pagoda_stats));
}

static int call_bind(struct held *h)
{
	return pagoda_bind(h->client->fd, h->client->vm, h->page, 1, 0, 0);
}

static int call_submit(struct held *h)
{
	struct drm_pagoda_submit args = {
		.entries = { (uintptr_t)h->page, 1, sizeof(struct drm_pagoda_submit_entry) },
		.context = h->client->context,
	};

	return pagoda_submit_args(h->client->fd, &args);
}

static int call_resident(struct held *h)
{
	struct drm_pagoda_make_resident args = {
		.entries = { (uintptr_t)h->page, 1, sizeof(struct drm_pagoda_residency_entry) },
	};

	return pagoda_ioctl(h->client->fd, DRM_IOCTL_PAGODA_MAKE_RESIDENT, &args);
}

static int call_fence(struct held *h)
{
	return pagoda_fence_signal_list(h->client->fd, h->page, 1);
}

/*
 * A thread that makes its call over and over. Each call lasts until userfault_give() supplies the
 * missing page that the call accesses. After the call the thread removes the page.
 */
static void *held_run(void *data)
{
	struct held *h = data;

	for (;;) {
		h->call(h);
		madvise(h->page, PAGE, MADV_DONTNEED);
	}
	return NULL;
}

static int userfault_open(void *pages, uint64_t size)
{
	struct uffdio_register range = {
		.range = { (uintptr_t)pages, size },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return -errno;
	return fd;
}

/* Returns the missing page that a thread accesses next, or NULL if none does in @timeout_ms. */
static void *userfault_wait(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct uffd_msg message;

	if (poll(&poll_fd, 1, timeout_ms) != 1)
		return NULL;
	if (read(fd, &message, sizeof(message)) != sizeof(message) ||
	    message.event != UFFD_EVENT_PAGEFAULT)
		return NULL;
	return (void *)(uintptr_t)(message.arg.pagefault.address & ~(PAGE - 1));
}

static void userfault_give(int fd, void *page)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, PAGE } };

	ioctl(fd, UFFDIO_ZEROPAGE, &zero);
}

/*
 * Has five calls wait for pages of arguments or answers, which come late: each call lasts for about
 * 2.5 s. By default a user without privileges can't delay the kernel's page faults by userfaultfd
 * (vm.unprivileged_userfaultfd=0), but can by files of FUSE, in a user namespace. The rig allows
 * userfaultfd, which is simpler and has the same effect.
 */
void attack_userfault(struct cell *cell)
{
	static int (*const calls[])(struct held *h) = {
		call_query, call_bind, call_submit, call_resident, call_fence,
	};
	uint32_t count = ARRAY_SIZE(calls), n;
	struct held held[ARRAY_SIZE(calls)];
	void *waiting[ARRAY_SIZE(calls)];
	static struct client client;
	char *pages;
	int fd;

	attack_check(cell, "client", client_open(&client, ATTACKER_ENGINE));
	pages = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (pages == MAP_FAILED)
		attack_failed(cell, "mmap", -errno);
	fd = userfault_open(pages, count * PAGE);
	attack_check(cell, "userfaultfd", fd);
	for (n = 0; n < count; n++) {
		held[n] = (struct held) { &client, pages + n * PAGE, calls[n] };
		attack_check(cell, "thread", -pthread_create(&held[n].thread, NULL, held_run,
							     &held[n]));
	}
	for (n = 0; n < count; n++) {
		attack_op(cell);
		waiting[n] = userfault_wait(fd, 10000);
	}
	attack_ready(cell);
	for (n = 0;; n = (n + 1) % count) {
		usleep(HELD_MS * 1000);
		userfault_give(fd, waiting[n]);
		attack_op(cell);
		waiting[n] = userfault_wait(fd, HELD_MS);
	}
}

/* --- threads that get no processor ------------------------------------------------------------ */

#define FEW		4u

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Makes calls of many kinds, all of which take locks of the driver, over and over. */
static void call_all(struct cell *cell)
{
	static struct client client;
	uint32_t handles[FEW], context;
	struct drm_pagoda_vm_create vm;
	uint64_t address;

	attack_check(cell, "client", client_open(&client, ATTACKER_ENGINE));
	attack_check(cell, "allocations", client_allocations(&client, FEW, 256 * PAGODA_KIB,
							     PAGODA_IN_VRAM, handles));
	address = client_place(&client, 256 * PAGODA_KIB);
	attack_ready(cell);
	for (;;) {
		attack_op(cell);
		pagoda_make_resident(client.fd, handles, FEW, 0, 0, NULL);
		pagoda_bind_map(client.fd, client.vm, handles[0], address, 0, 256 * PAGODA_KIB);
		client_submit(&client, handles, FEW);
		if (!pagoda_context_create(client.fd, client.vm, &context))
			pagoda_context_destroy(client.fd, context);
		if (!pagoda_vm_create(client.fd, &vm))
			pagoda_vm_destroy(client.fd, vm.vm);
		pagoda_bind_range(client.fd, client.vm, DRM_PAGODA_BIND_UNMAP, address,
				  256 * PAGODA_KIB);
		pagoda_evict(client.fd, handles, FEW, 0, 0);
	}
}

/* Makes calls of many kinds, in a SCHED_IDLE process whose processor another process uses up. */
void attack_sched_idle(struct cell *cell)
{
	struct sched_param param = { 0 };

	pin(0);
	if (!fork())
		for (;;)
			;
	if (sched_setscheduler(0, SCHED_IDLE, &param))
		attack_failed(cell, "SCHED_IDLE", -errno);
	call_all(cell);
}

/* Makes calls of many kinds, in a cgroup that gets a hundredth of a processor (cpu.max). */
void attack_cpu_max(struct cell *cell)
{
	call_all(cell);
}
