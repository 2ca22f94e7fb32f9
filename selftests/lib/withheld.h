/* SPDX-License-Identifier: GPL-2.0 */
/* A page that a program withholds from the kernel by userfaultfd, as FUSE can a page of a file. */
#ifndef WITHHELD_H
#define WITHHELD_H

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/syscall.h>

#include "pagoda_test.h"

/* Longest wait, in milliseconds, until a thread accesses the page. */
#define WITHHELD_WANTED	(30 * 1000)

/*
 * A page that is missing until withheld_give() supplies it: until then each access to @page sleeps
 * in the kernel. @content: what withheld_give() copies to the page; zeros unless the test writes it
 */
struct withheld {
	int uffd;
	void *page;
	void *content;
	uint64_t size;
};

/* Returns 0; -EOPNOTSUPP if the test can't use userfaultfd; or another negative errno. */
static inline int withheld_open(struct withheld *w, uint64_t size)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	w->size = size;
	w->uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (w->uffd < 0 || ioctl(w->uffd, UFFDIO_API, &api))
		return -EOPNOTSUPP;
	w->content = aligned_alloc(size, size);
	w->page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!w->content || w->page == MAP_FAILED)
		return -ENOMEM;
	memset(w->content, 0, size);
	range.range = (struct uffdio_range) { (uintptr_t)w->page, size };
	return ioctl(w->uffd, UFFDIO_REGISTER, &range) ? -errno : 0;
}

static inline void withheld_close(struct withheld *w)
{
	close(w->uffd);
	munmap(w->page, w->size);
	free(w->content);
}

/* Returns 0 once a thread waits for the page, -ETIME if none does within WITHHELD_WANTED. */
static inline int withheld_is_wanted(struct withheld *w)
{
	struct pollfd poller = { .fd = w->uffd, .events = POLLIN };
	struct uffd_msg message;

	if (poll(&poller, 1, WITHHELD_WANTED) != 1)
		return -ETIME;
	return read(w->uffd, &message, sizeof(message)) == sizeof(message) ? 0 : -EIO;
}

static inline int withheld_give(struct withheld *w)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)w->page,
		.src = (uintptr_t)w->content,
		.len = w->size,
	};

	return ioctl(w->uffd, UFFDIO_COPY, &copy) ? -errno : 0;
}

#endif
