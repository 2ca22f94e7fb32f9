/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Error paths of the kernel by fault injection (fail-nth): a sequence of calls is run again and
 * again. In the first run the first memory allocation, or access to user memory, fails, in the
 * second run the second, and so on. No memory may leak, and later calls must work as before.
 */
#ifndef FAIL_FIXTURE_H
#define FAIL_FIXTURE_H

#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>

#include "pagoda_test.h"

#define MOST_FAILURES	4000

static sigjmp_buf bus_error;

static inline void on_bus_error(int number)
{
	siglongjmp(bus_error, number);
}

FIXTURE(fail) {
	struct test_device dev;
	int nth;
	uint64_t vram;
	uint64_t aperture;
};

static inline void knob(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* A refusal is ignored: the kernel can't inject the failure that @path is about. */
	if (write(fd, value, strlen(value)) < 0)
		errno = 0;
	close(fd);
}

/*
 * Has failslab inject in all slab caches but that of the kernel's buddy allocator, which frees a
 * block twice if splitting the block fails. Returns 0, or -ENOENT if caches can't be chosen.
 */
static inline int caches_choose(void)
{
	glob_t files;
	size_t n;

	if (access("/sys/kernel/debug/failslab/cache-filter", W_OK) ||
	    glob("/sys/kernel/slab/*/failslab", 0, NULL, &files))
		return -ENOENT;
	for (n = 0; n < files.gl_pathc; n++)
		knob(files.gl_pathv[n], strstr(files.gl_pathv[n], "_buddy_block/") ? "0" : "1");
	globfree(&files);
	knob("/sys/kernel/debug/failslab/cache-filter", "Y");
	return 0;
}

FIXTURE_SETUP(fail)
{
	self->nth = -1;
	if (access("/proc/self/fail-nth", W_OK) || access("/sys/kernel/debug/failslab", X_OK))
		SKIP(return, "the kernel is without fault injection");
	if (caches_choose())
		SKIP(return, "the kernel can't choose the caches that fail");
	/* Allocations that may sleep fail, too: drivers make these. Failures aren't logged. */
	knob("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	knob("/sys/kernel/debug/failslab/verbose", "0");
	knob("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	knob("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	knob("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	knob("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	knob("/sys/kernel/debug/fail_usercopy/verbose", "0");
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->nth);
	self->vram = test_vram_settled(self->dev.fd, 0);
	self->aperture = test_aperture_settled(self->dev.fd, 0);
	signal(SIGBUS, on_bus_error);
}

FIXTURE_TEARDOWN(fail)
{
	if (self->nth < 0)
		return;
	EXPECT_EQ(self->vram, test_vram_settled(self->dev.fd, self->vram));
	EXPECT_EQ(self->aperture, test_aperture_settled(self->dev.fd, self->aperture));
	close(self->nth);
	close(self->dev.fd);
}

static inline int nth_set(int nth, unsigned int value)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", value);

	return pwrite(nth, text, length, 0) == length ? 0 : -errno;
}

/* Ends the injection. Returns whether a failure was injected. */
static inline bool nth_end(int nth)
{
	char text[16] = "";
	ssize_t length = pread(nth, text, sizeof(text) - 1, 0);

	nth_set(nth, 0);
	return length > 0 && !strtoul(text, NULL, 10);
}

/* Calls in which failures are injected. Then walk() closes each of 4 @handles that isn't 0. */
typedef int (*sequence)(int fd, uint64_t page, uint32_t *handles);

/*
 * A test's check, which walk() calls without injection after each run, unless the run without a
 * failure returned an error; NULL = none. @ret: result of run_guarded(). Returns 0 if all is well.
 */
static int (*after)(int fd, uint64_t page, int ret);

/*
 * Mapping that a sequence has made and leaves to run_guarded() to unmap. A mapping keeps its
 * allocation alive without a handle, so the mapping has to go even if SIGBUS ends the sequence.
 */
static struct {
	void *map;
	size_t size;
} mapped;

/* Runs a sequence. Returns its result, or -EFAULT if SIGBUS, for lack of a page, ended the run. */
static inline int run_guarded(sequence run, int fd, uint64_t page, uint32_t *handles)
{
	int ret = -EFAULT;

	if (!sigsetjmp(bus_error, 1))
		ret = run(fd, page, handles);
	if (mapped.map)
		munmap(mapped.map, mapped.size);
	mapped.map = NULL;
	return ret;
}

/*
 * Runs a sequence again and again: in run n the nth memory allocation, or access to user memory,
 * fails; the first run with fewer is the last. Returns the number of runs before the last, or a
 * negative errno. @wrong: set, which ends the runs, if the last run or after() returned an error.
 */
static inline int walk(int nth, int fd, uint64_t page, sequence run, int *wrong)
{
	unsigned int n;
	bool failed = true;

	for (n = 1; failed && !*wrong && n < MOST_FAILURES; n++) {
		uint32_t handles[4] = { 0 };
		int k, ret;

		if (nth_set(nth, n))
			return -errno;
		ret = run_guarded(run, fd, page, handles);
		failed = nth_end(nth);
		if (!failed && ret)
			*wrong = ret;
		if (after && !*wrong)
			*wrong = after(fd, page, ret);
		for (k = 0; k < 4; k++)
			if (handles[k])
				pagoda_close(fd, handles[k]);
	}
	return n < MOST_FAILURES ? (int)n - 2 : -ELOOP;
}

#define WALK(run) ({								\
	int _wrong = 0, _points = walk(self->nth, self->dev.fd, self->dev.page, run, &_wrong); \
										\
	EXPECT_LT(0, _points);							\
	EXPECT_EQ(0, _wrong);							\
	TH_LOG("%d failures", _points);						\
})

#endif
