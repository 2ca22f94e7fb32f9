// SPDX-License-Identifier: GPL-2.0
/*
 * Coverage of background work, as syzkaller collects it: what work items execute for a client
 * counts for the process that opened the client's file with a handle of KCOV; what the software GPU
 * executes counts for the process that has the GPU's file open. Work for other clients doesn't
 * count.
 *
 * Needs modules that are compiled for KCOV, and a kernel without KASLR: functions are found by
 * their addresses in /proc/kallsyms. The functions that tests name are called by pointers or from
 * other folders, so that the compiler keeps them.
 */
#include <fcntl.h>
#include <linux/kcov.h>

#include "lib/submit_client.h"

#define KCOV		"/sys/kernel/debug/kcov"
#define GPU_KCOV	FOLDER "kcov"
#define GPU_INJECT	FOLDER "inject"
/* Words of the buffer of the process, and of each thread that collects for the process. */
#define WORDS		(1u << 19)
#define THREAD_WORDS	(1u << 16)
#define MOST_SYMBOLS	16384

struct symbol {
	uint64_t address;
	char name[64];
};

FIXTURE(kcov) {
	int kcov;
	uint64_t *cover;	/* number of addresses, then the addresses */
	int other;		/* a client without a handle */
	int fd;			/* a client with this process's handle */
	struct symbol *symbols;
	size_t count;
};

/* ---- Functions by address --------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* Reads the functions of the driver and the software GPU, in the order of their addresses. */
static int symbols_read(struct _test_data_kcov *self)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address;
	char line[512], name[64] = "", module[64];

	self->symbols = calloc(MOST_SYMBOLS, sizeof(*self->symbols));
	while (file && self->symbols && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %*c %63s [%63[a-z_]]", &address, name, module) != 3 ||
		    strncmp(module, "pagoda", strlen("pagoda")) || self->count == MOST_SYMBOLS)
			continue;
		self->symbols[self->count].address = address;
		memcpy(self->symbols[self->count++].name, name, sizeof(name));
	}
	if (file)
		fclose(file);
	if (!self->count || !self->symbols[0].address)
		return -ENOENT;
	qsort(self->symbols, self->count, sizeof(*self->symbols), by_address);
	return 0;
}

/* Returns the function with an address; NULL: none of ours. */
static const struct symbol *symbol_at(struct _test_data_kcov *self, uint64_t address)
{
	size_t low = 0, high = self->count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (self->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - self->symbols[low - 1].address < PAGODA_MIB ?
	       &self->symbols[low - 1] : NULL;
}

/* Returns whether the symbol is the function, or a part of the function that the compiler made. */
static bool symbol_is(const struct symbol *symbol, const char *function)
{
	size_t length = strlen(function);

	return symbol && !strncmp(symbol->name, function, length) &&
	       (!symbol->name[length] || symbol->name[length] == '.');
}

/* ---- Coverage ------------------------------------------------------------------------------ */

/* Returns whether this process has collected coverage of the function. */
static bool collected(struct _test_data_kcov *self, const char *function)
{
	uint64_t n, count = __atomic_load_n(&self->cover[0], __ATOMIC_ACQUIRE);

	for (n = 1; n <= count; n++)
		if (symbol_is(symbol_at(self, self->cover[n]), function))
			return true;
	return false;
}

/*
 * Waits until this process has collected coverage of the function, at most TEST_PATIENCE: a work
 * item's coverage comes when the work item ends. Returns whether it has.
 */
static bool collects(struct _test_data_kcov *self, const char *function)
{
	int64_t end = pagoda_now() + TEST_PATIENCE;

	while (!collected(self, function)) {
		if (pagoda_now() > end) {
			printf("# %s: not among %llu addresses\n", function,
			       (unsigned long long)self->cover[0]);
			return false;
		}
		usleep(1000);
	}
	return true;
}

/* Opens KCOV and has it collect for this process's number as the handle. Returns 0 or an errno. */
static int kcov_enable(struct _test_data_kcov *self)
{
	struct kcov_remote_arg arg = {
		.trace_mode = KCOV_TRACE_PC,
		.area_size = THREAD_WORDS,
		.common_handle = kcov_remote_handle(KCOV_SUBSYSTEM_COMMON, getpid()),
	};

	if (ioctl(self->kcov, KCOV_INIT_TRACE, (unsigned long)WORDS))
		return errno;
	self->cover = mmap(NULL, WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
			   self->kcov, 0);
	if (self->cover == MAP_FAILED || ioctl(self->kcov, KCOV_REMOTE_ENABLE, &arg))
		return errno;
	return 0;
}

FIXTURE_SETUP(kcov)
{
	self->other = pagoda_open();
	ASSERT_LE(0, self->other);
	self->kcov = open(KCOV, O_RDWR | O_CLOEXEC);
	if (self->kcov < 0)
		SKIP(return, "no KCOV");
	ASSERT_EQ(0, symbols_read(self));
	ASSERT_EQ(0, kcov_enable(self));
	self->fd = pagoda_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(kcov)
{
	close(self->other);
	if (self->kcov < 0)
		return;
	close(self->fd);
	EXPECT_EQ(0, ioctl(self->kcov, KCOV_DISABLE, 0));
	munmap(self->cover, WORDS * sizeof(uint64_t));
	close(self->kcov);
	free(self->symbols);
}

/* ---- Work of clients --------------------------------------------------------------------- */

/*
 * Submits a job that waits for a point, which is signalled then, and waits for the job: the job is
 * made by a work item. Returns 0 or a negative errno.
 */
static int run_late(struct client *client)
{
	struct drm_pagoda_command_buffer buffer = { .address = client->program.address };
	struct drm_pagoda_sync syncs[] = {
		{ .point = 1 },
		{ .handle = client->syncobj, .flags = DRM_PAGODA_SYNC_SIGNAL,
		  .point = ++client->point },
	};
	struct drm_pagoda_submit args = {
		.buffers = { (uintptr_t)&buffer, 1, sizeof(buffer) },
		.syncs = { (uintptr_t)syncs, 2, sizeof(syncs[0]) },
		.context = client->context,
	};
	int ret = pagoda_syncobj_create(client->fd, &syncs[0].handle);

	buffer.size = client->program.used;
	if (!ret)
		ret = pagoda_submit_args(client->fd, &args);
	if (!ret)
		ret = pagoda_syncobj_signal(client->fd, syncs[0].handle, 1);
	return ret ? ret : client_wait(client);
}

/* As run_late(), for a VM_BIND. */
static int bind_late(struct client *client)
{
	struct drm_pagoda_bind_entry entry = {
		.type = DRM_PAGODA_BIND_MAP_ZERO, .address = client_data(client, 0), .size = 4096,
	};
	struct drm_pagoda_sync syncs[] = {
		{ .point = 1 },
		{ .handle = client->syncobj, .flags = DRM_PAGODA_SYNC_SIGNAL,
		  .point = ++client->point },
	};
	struct drm_pagoda_vm_bind args = {
		.entries = { (uintptr_t)&entry, 1, sizeof(entry) },
		.syncs = { (uintptr_t)syncs, 2, sizeof(syncs[0]) },
		.vm = client->vm.vm,
	};
	int ret = pagoda_syncobj_create(client->fd, &syncs[0].handle);

	if (!ret)
		ret = pagoda_ioctl(client->fd, DRM_IOCTL_PAGODA_VM_BIND, &args);
	if (!ret)
		ret = pagoda_syncobj_signal(client->fd, syncs[0].handle, 1);
	return ret ? ret : client_wait(client);
}

/* Has a paging queue bring an allocation to VRAM. Returns 0 or a negative errno. */
static int page_late(struct client *client)
{
	uint32_t handle, queue, timeline;
	uint64_t value;
	int ret = pagoda_create_vram(client->fd, PAGODA_MIB, &handle);

	if (!ret)
		ret = pagoda_paging_queue_create(client->fd, 0, &queue, &timeline);
	if (!ret)
		ret = pagoda_list_add(client->fd, queue, &handle, 1, 0, &value, NULL);
	return ret || !value ? ret : pagoda_syncobj_wait(client->fd, timeline, value, LIMIT);
}

/* All of these, of a new client with the file @fd. Returns 0 or a negative errno. */
static int work_late(struct client *client, int fd)
{
	int ret = client_open(client, fd, 0);

	if (ret)
		return ret;
	pagoda_store(&client->program, client_word_address(client), 1);
	ret = run_late(client);
	if (!ret)
		ret = bind_late(client);
	return ret ? ret : page_late(client);
}

TEST_F(kcov, deferred_work_counts)
{
	struct client client;

	ASSERT_EQ(0, work_late(&client, self->fd));
	EXPECT_TRUE(collects(self, "submit_make_deferred"));
	EXPECT_TRUE(collects(self, "pagoda_submit_make"));
	EXPECT_TRUE(collects(self, "queue_make"));
	EXPECT_TRUE(collects(self, "paging_make"));
	client_close(&client);
}

TEST_F(kcov, jobs_count_from_run_to_end)
{
	struct client client;

	ASSERT_EQ(0, work_late(&client, self->fd));
	EXPECT_TRUE(collects(self, "pagoda_engine_run_job"));
	EXPECT_TRUE(collects(self, "pagoda_engine_ended"));
	EXPECT_TRUE(collects(self, "pagoda_queue_run_job"));
	EXPECT_TRUE(collects(self, "pagoda_queue_ended"));
	client_close(&client);
}

/* The engine is reset after a fault: that is the work of the client whose job faulted. */
TEST_F(kcov, recovery_counts)
{
	struct client client;

	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	pagoda_store(&client.program, 64, 1);
	ASSERT_EQ(0, client_submit(&client, NULL, 0));
	EXPECT_TRUE(collects(self, "pagoda_engine_work"));
	EXPECT_TRUE(collects(self, "context_banned"));
	client_close(&client);
}

/*
 * The GPU fails at a paging buffer three times: then a work item executes the buffer on the CPU.
 * The content is lost if the CPU doesn't reach the VRAM.
 */
TEST_F(kcov, paging_on_the_cpu_counts)
{
	static const char rule[] = "queue=paging action=fail count=3";
	int inject = open(GPU_INJECT, O_WRONLY | O_CLOEXEC);
	uint32_t handle;
	void *map;
	int ret;

	ASSERT_LE(0, inject);
	ASSERT_EQ(0, pagoda_create(self->fd, PAGODA_MIB, CPU, PAGODA_IN_VRAM, &handle));
	map = pagoda_map(self->fd, handle, PAGODA_MIB);
	ASSERT_NE(NULL, map);
	memset(map, 1, PAGODA_MIB);
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handle));
	ASSERT_EQ(strlen(rule), write(inject, rule, strlen(rule)));
	ret = pagoda_make_resident_wait(self->fd, handle);
	EXPECT_TRUE(!ret || ret == -EIO);
	EXPECT_EQ(strlen("clear"), write(inject, "clear", strlen("clear")));
	EXPECT_TRUE(collects(self, "stream_execute"));
	munmap(map, PAGODA_MIB);
	close(inject);
}

/* An allocation that left VRAM for another client's comes back when that client is gone. */
TEST_F(kcov, promotion_counts)
{
	struct drm_pagoda_segment_info vram;
	uint32_t mine, others[2];

	ASSERT_EQ(0, pagoda_segment(self->fd, DRM_PAGODA_SEGMENT_VRAM, &vram));
	ASSERT_EQ(0, pagoda_create_vram(self->fd, vram.size / 4, &mine));
	ASSERT_EQ(0, pagoda_make_resident_wait(self->fd, mine));
	ASSERT_EQ(0, pagoda_create_vram(self->other, vram.size / 2, &others[0]));
	ASSERT_EQ(0, pagoda_create_vram(self->other, vram.size * 3 / 8, &others[1]));
	ASSERT_EQ(0, pagoda_make_resident(self->other, others, 2, 0, 0, NULL));
	EXPECT_NE(DRM_PAGODA_SEGMENT_VRAM, pagoda_where(self->fd, mine));
	EXPECT_EQ(0, pagoda_close(self->other, others[0]));
	EXPECT_TRUE(collects(self, "promote_turn"));
}

/* When a closed file is gone, its work items have ended, and their coverage would have come. */
TEST_F(kcov, other_clients_do_not_count)
{
	struct client client;

	ASSERT_EQ(0, work_late(&client, self->other));
	munmap(client.program.memory, CODE_SIZE);
	close(self->other);
	self->other = -1;
	EXPECT_FALSE(collected(self, "submit_make_deferred"));
	EXPECT_FALSE(collected(self, "queue_make"));
	EXPECT_FALSE(collected(self, "paging_make"));
	EXPECT_FALSE(collected(self, "pagoda_engine_run_job"));
	EXPECT_FALSE(collected(self, "pagoda_queue_run_job"));
}

/* ---- The software GPU -------------------------------------------------------------------- */

TEST_F(kcov, gpu_counts_while_its_file_is_open)
{
	struct client client;
	int file;

	ASSERT_EQ(0, client_open(&client, self->fd, 0));
	pagoda_store(&client.program, client_word_address(&client), 1);
	ASSERT_EQ(0, client_run(&client, NULL, 0));
	/* By now the GPU has executed the job for no process. */
	EXPECT_TRUE(collects(self, "pagoda_engine_ended"));
	EXPECT_FALSE(collected(self, "pagoda_engine_execute"));
	file = open(GPU_KCOV, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, file);
	EXPECT_EQ(-1, open(GPU_KCOV, O_RDONLY | O_CLOEXEC));
	EXPECT_EQ(EBUSY, errno);
	pagoda_store(&client.program, client_word_address(&client), 2);
	ASSERT_EQ(0, client_run(&client, NULL, 0));
	EXPECT_TRUE(collects(self, "pagoda_engine_execute"));
	close(file);
	file = open(GPU_KCOV, O_RDONLY | O_CLOEXEC);
	EXPECT_LE(0, file);
	close(file);
	client_close(&client);
}

TEST_HARNESS_MAIN
