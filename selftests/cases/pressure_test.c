// SPDX-License-Identifier: GPL-2.0
/*
 * Shortage of memory: allocations in system memory are swapped out and come back with their
 * content; a client that asks for more memory than there is gets ENOMEM, or SIGBUS at a CPU access,
 * and no process is killed. The tests use up all memory, and are skipped on machines with much.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <sys/swap.h>

#include "lib/pagoda_test.h"

#define SEED		71
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define PIECE		(8 * PAGODA_MIB)
#define SMALL		(PAGODA_MIB / 4)
#define MOST		512u	/* pieces of a hoard */
#define STRANGER	(50 * PAGODA_MIB)
#define CLIENTS		4

static sigjmp_buf bus_error;

static void on_bus_error(int number)
{
	siglongjmp(bus_error, number);
}

/* Returns the number in the last line that begins with @name in a file of /proc; 0 if none does. */
static uint64_t number_of(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	unsigned long long value = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), "%*[: ]%llu", &value);
	if (file)
		fclose(file);
	return value;
}

static uint64_t event(const char *name)
{
	return number_of("/proc/vmstat", name);
}

static uint64_t bytes(const char *name)
{
	return number_of("/proc/meminfo", name) * PAGODA_KIB;
}

/* ---- a process that doesn't use the GPU --------------------------------------------------- */

struct stranger {
	pid_t pid;
	int told;
};

static int stranger_live(int say, int told)
{
	uint8_t *memory = malloc(STRANGER);
	char byte;

	if (!memory)
		return 1;
	pagoda_fill(memory, pagoda_key(SEED, MOST, 0), 0, STRANGER);
	test_say(say);
	while (read(told, &byte, 1) > 0)
		;
	return pagoda_check(memory, pagoda_key(SEED, MOST, 0), 0, STRANGER) == -1 ? 0 : 2;
}

static int stranger_start(struct stranger *stranger)
{
	int say[2], told[2];
	bool heard;

	if (pipe(say) || pipe(told))
		return -errno;
	stranger->pid = fork();
	if (!stranger->pid) {
		close(told[1]);
		_exit(stranger_live(say[1], told[0]));
	}
	close(say[1]);
	close(told[0]);
	stranger->told = told[1];
	heard = test_heard(say[0]);
	close(say[0]);
	return heard ? 0 : -EIO;
}

/* Ends the stranger. Returns 0 if it was alive and its memory had the content that it wrote. */
static int stranger_end(struct stranger *stranger)
{
	close(stranger->told);
	return test_child_status(stranger->pid);
}

/* ---- a client that takes much memory ------------------------------------------------------ */

struct hoard {
	int fd;
	uint32_t count;
	uint32_t handles[MOST];
	uint64_t size;
	uint64_t id;
};

static int hoard_open(struct hoard *hoard, uint64_t size, uint64_t id)
{
	*hoard = (struct hoard) { .fd = pagoda_open(), .size = size, .id = id };
	return hoard->fd < 0 ? hoard->fd : 0;
}

static uint64_t hoard_key(const struct hoard *hoard, uint32_t n)
{
	return pagoda_key(SEED, hoard->id, n);
}

/* Creates a piece. Every second piece is CACHED: TTM gets the pages of those in another way. */
static int hoard_create(struct hoard *hoard, uint32_t supported)
{
	uint32_t flags = CPU | (hoard->count % 2 ? DRM_PAGODA_ALLOCATION_CACHED : 0);

	if (hoard->count == MOST)
		return -E2BIG;
	return pagoda_create(hoard->fd, hoard->size, flags, supported,
			     &hoard->handles[hoard->count]);
}

static int hoard_add(struct hoard *hoard, uint32_t supported)
{
	int ret = hoard_create(hoard, supported);
	uint32_t handle = hoard->handles[hoard->count];
	uint8_t *map;

	if (ret)
		return ret;
	ret = pagoda_make_resident_wait(hoard->fd, handle);
	if (ret) {
		pagoda_close(hoard->fd, handle);
		return ret;
	}
	map = pagoda_map(hoard->fd, handle, hoard->size);
	if (!map)
		return -errno;
	pagoda_fill(map, hoard_key(hoard, hoard->count++), 0, hoard->size);
	munmap(map, hoard->size);
	return 0;
}

/* Adds pieces of @bytes in all, or until a piece is refused. Returns 0 or the refusal's errno. */
static int hoard_fill(struct hoard *hoard, uint32_t supported, uint64_t bytes)
{
	int ret = 0;

	while (!ret && bytes >= hoard->size) {
		ret = hoard_add(hoard, supported);
		bytes -= hoard->size;
	}
	return ret;
}

/* Returns the number of the first piece whose content is wrong or can't be mapped, or -1. */
static int hoard_check(const struct hoard *hoard)
{
	uint8_t *map;
	uint32_t n;
	bool same;

	for (n = 0; n < hoard->count; n++) {
		map = pagoda_map(hoard->fd, hoard->handles[n], hoard->size);
		if (!map)
			return n;
		same = pagoda_check(map, hoard_key(hoard, n), 0, hoard->size) == -1;
		munmap(map, hoard->size);
		if (!same)
			return n;
	}
	return -1;
}

/*
 * Closes the last @count pieces and waits, at most for TEST_PATIENCE, until half of their memory is
 * available, as other processes may take some of it. Returns whether that half is available.
 */
static bool hoard_drop(struct hoard *hoard, uint32_t count)
{
	uint64_t wanted = bytes("MemAvailable") + bytes("SwapFree") + count * hoard->size / 2;
	int64_t end = pagoda_now() + TEST_PATIENCE;

	while (count-- && hoard->count)
		pagoda_close(hoard->fd, hoard->handles[--hoard->count]);
	while (bytes("MemAvailable") + bytes("SwapFree") < wanted && pagoda_now() < end)
		usleep(1000);
	return bytes("MemAvailable") + bytes("SwapFree") >= wanted;
}

/* ---- with a disk to swap to, and without -------------------------------------------------- */

FIXTURE(pressure) {
	struct test_device dev;
	struct stranger stranger;
	struct hoard hoard;
	char disk[64];
	uint64_t killed;
	uint64_t all;
	uint64_t vram;
};

FIXTURE_VARIANT(pressure) {
	bool swap;
};

FIXTURE_VARIANT_ADD(pressure, swap) { .swap = true };
FIXTURE_VARIANT_ADD(pressure, no_swap) { .swap = false };

static bool find_disk(char *name, size_t size)
{
	FILE *file = fopen("/proc/swaps", "r");
	char line[128];
	bool found;

	found = file && fgets(line, sizeof(line), file) && fgets(line, sizeof(line), file) &&
		snprintf(name, size, "%.*s", (int)strcspn(line, " \t"), line) < size;
	if (file)
		fclose(file);
	return found;
}

/*
 * Has the kernel's shrinkers free what they can. Until then TTM's pool keeps pages of earlier
 * tests, which older kernels count as used: the driver would find too little memory available.
 */
static int shrink_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, "2", 1) == 1 ? 0 : -errno;
	close(fd);
	return ret;
}

FIXTURE_SETUP(pressure)
{
	if (!find_disk(self->disk, sizeof(self->disk)))
		SKIP(return, "there is no swap");
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->vram = test_vram_settled(self->dev.fd, 0);
	test_aperture_settled(self->dev.fd, 0);
	ASSERT_EQ(0, shrink_caches());
	if (!variant->swap)
		ASSERT_EQ(0, swapoff(self->disk));
	self->all = bytes("MemTotal") + bytes("SwapTotal");
	if (self->all > (MOST - 1) * PIECE)
		SKIP(return, "this machine has too much memory");
	ASSERT_EQ(0, hoard_open(&self->hoard, PIECE, 0));
	ASSERT_EQ(0, stranger_start(&self->stranger));
	self->killed = event("oom_kill");
}

FIXTURE_TEARDOWN(pressure)
{
	if (self->stranger.pid) {
		EXPECT_EQ(0, stranger_end(&self->stranger));
		EXPECT_EQ(self->killed, event("oom_kill"));
		close(self->hoard.fd);
		EXPECT_EQ(self->vram, test_vram_settled(self->dev.fd, self->vram));
	}
	if (self->disk[0] && !variant->swap)
		EXPECT_EQ(0, swapon(self->disk, 0));
}

/* Pieces of as many bytes as the machine has RAM are partly swapped out, and come back unharmed. */
TEST_F(pressure, comes_back)
{
	uint64_t out = event("pswpout"), in = event("pswpin"), n;

	if (!variant->swap)
		SKIP(return, "nothing can be swapped out");
	ASSERT_EQ(0, hoard_fill(&self->hoard, PAGODA_IN_APERTURE, bytes("MemTotal")));
	EXPECT_LT(out, event("pswpout"));
	EXPECT_EQ(-1, hoard_check(&self->hoard));
	EXPECT_LT(in, event("pswpin"));
	/* MAKE_RESIDENT brings swapped pieces back, too, without a CPU access first. */
	for (n = 0; n < self->hoard.count; n++)
		ASSERT_EQ(0, pagoda_make_resident_wait(self->hoard.fd, self->hoard.handles[n]));
	EXPECT_EQ(-1, hoard_check(&self->hoard));
}

/*
 * Makes each piece resident, for which others may have to leave VRAM. Returns 0, or the first errno
 * other than ENOMEM.
 */
static int hoard_turn(const struct hoard *hoard)
{
	uint32_t n;
	int ret;

	for (n = 0; n < hoard->count; n++) {
		ret = pagoda_make_resident_wait(hoard->fd, hoard->handles[n]);
		if (ret && ret != -ENOMEM)
			return ret;
	}
	return 0;
}

/* When memory is used up, calls answer ENOMEM and content stays; freed memory can be used again. */
TEST_F(pressure, too_much_is_an_errno)
{
	struct hoard vram, small;
	int64_t end;
	uint32_t had;

	ASSERT_EQ(0, hoard_open(&vram, self->dev.vram.size / 8, 1));
	ASSERT_EQ(0, hoard_fill(&vram, PAGODA_IN_VRAM, 2 * self->dev.vram.size));
	ASSERT_EQ(-ENOMEM, hoard_fill(&self->hoard, PAGODA_IN_APERTURE, self->all));
	ASSERT_EQ(0, hoard_open(&small, SMALL, 2));
	ASSERT_EQ(-ENOMEM, hoard_fill(&small, PAGODA_IN_APERTURE, MOST * SMALL));
	EXPECT_EQ(0, hoard_turn(&vram));
	EXPECT_EQ(-1, hoard_check(&self->hoard));
	EXPECT_EQ(-1, hoard_check(&small));
	close(small.fd);

	had = self->hoard.count;
	/* With fewer pieces, half of them wouldn't make room to check the pieces in VRAM. */
	ASSERT_LE(4, had);
	EXPECT_TRUE(hoard_drop(&self->hoard, had / 2));
	/* To be checked, pieces may have to move from VRAM to system memory, which has room now. */
	EXPECT_EQ(-1, hoard_check(&vram));
	close(vram.fd);
	end = pagoda_now() + TEST_PATIENCE;
	while (self->hoard.count < had - 1 && pagoda_now() < end)
		hoard_fill(&self->hoard, PAGODA_IN_APERTURE, (had - 1 - self->hoard.count) * PIECE);
	EXPECT_EQ(had - 1, self->hoard.count);
	EXPECT_EQ(-1, hoard_check(&self->hoard));
}

/* CPU accesses that find no memory left for an allocation raise SIGBUS, and content stays. */
TEST_F(pressure, too_much_is_a_signal)
{
	struct sigaction action = { .sa_handler = on_bus_error }, before;
	struct hoard *hoard = &self->hoard;
	uint8_t *map;
	bool refused;

	sigaction(SIGBUS, &action, &before);
	/* hoard->count keeps its value over siglongjmp(), as a local variable may not. */
	refused = sigsetjmp(bus_error, 1);
	while (!refused && hoard->count < MOST) {
		ASSERT_EQ(0, hoard_create(hoard, PAGODA_IN_APERTURE));
		map = pagoda_map(hoard->fd, hoard->handles[hoard->count], PIECE);
		ASSERT_NE(NULL, map);
		pagoda_fill(map, hoard_key(hoard, hoard->count), 0, PIECE);
		munmap(map, PIECE);
		hoard->count++;
	}
	sigaction(SIGBUS, &before, NULL);
	EXPECT_TRUE(refused);
	EXPECT_LE(hoard->count * PIECE, self->all);
	EXPECT_EQ(-1, hoard_check(hoard));
}

/*
 * Runs in a process of its own: adds pieces until a piece is refused, writes to @say, and keeps the
 * pieces until the test closes @told. Returns the exit status: 0 if the refusal was ENOMEM and the
 * content of the pieces is right.
 */
static int greedy(uint64_t id, uint64_t all, int say, int told)
{
	struct hoard hoard;
	char byte;
	int ret = hoard_open(&hoard, PIECE / 4, id);

	if (!ret)
		ret = hoard_fill(&hoard, PAGODA_IN_APERTURE, all);
	test_say(say);
	/* All processes keep their memory until all are refused: none gets what another freed. */
	while (read(told, &byte, 1) > 0)
		;
	if (ret != -ENOMEM)
		return 1;
	return hoard.count && hoard_check(&hoard) == -1 ? 0 : 2;
}

TEST_F(pressure, all_want_it)
{
	pid_t pids[CLIENTS];
	int say[2], told[2], n;

	ASSERT_EQ(0, pipe(say));
	ASSERT_EQ(0, pipe(told));
	for (n = 0; n < CLIENTS; n++) {
		pids[n] = fork();
		if (!pids[n]) {
			close(told[1]);
			_exit(greedy(10 + n, self->all, say[1], told[0]));
		}
	}
	close(say[1]);
	close(told[0]);
	for (n = 0; n < CLIENTS; n++)
		EXPECT_TRUE(test_heard(say[0]));
	close(told[1]);
	for (n = 0; n < CLIENTS; n++)
		EXPECT_EQ(0, test_child_status(pids[n]));
	close(say[0]);
}

TEST_HARNESS_MAIN
