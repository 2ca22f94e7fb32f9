// SPDX-License-Identifier: GPL-2.0
/*
 * No client sees content of another client (C200). A first client fills memory of all kinds with
 * SECRET, and makes page tables and save areas. Then the first client's memory becomes free, or is
 * taken from that client, in one of several ways (enum way). A second client gets memory of all
 * kinds, looks at it in several ways (enum sight), and must find zeros. Files that tell of memory,
 * in debugfs and coredumps, are closed to all users but root.
 */
#include <sys/stat.h>

#include "lib/pagoda_prime.h"
#include "lib/reset_fixture.h"

#define SECRET		0x5ec2e75ec2e75ec2ull
#define PIECES		7u	/* of an eighth of VRAM at most: one for each enum sight */
#define BINDS		128u	/* each with a page table of its own */
#define CONTEXTS	8u
#define ROUNDS		ARRAY_SIZE(vram_kinds)
#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY
#define ANYWHERE	(PAGODA_IN_VRAM | PAGODA_IN_APERTURE)
#define SHRINK		"/sys/kernel/debug/ttm/tt_shrink"

/* How the first client's memory becomes free, or is taken from that client. */
enum way { CLOSED, KILLED, EVICTED, OFFERED, DECOMMITTED, SWAPPED, PRESSED, RESET };

/* How the second client looks at its own memory. */
enum sight { FAULT, RESIDENT, LEFT, DEBUGGER, COPY, SUM, REFUSED };

struct kind {
	const char *name;
	uint32_t flags;
	uint32_t supported;
	bool private;
	bool tiled;
};

static const struct kind vram_kinds[] = {
	{ "VRAM", CPU | CACHED, PAGODA_IN_VRAM },
	{ "VRAM for the GPU only", 0, PAGODA_IN_VRAM },
	{ "VRAM in one piece from the end",
	  CPU | DRM_PAGODA_ALLOCATION_CONTIGUOUS | DRM_PAGODA_ALLOCATION_FROM_END, PAGODA_IN_VRAM },
	{ "VRAM of a VM", CPU, ANYWHERE, .private = true },
	{ "VRAM in tiles", CPU, PAGODA_IN_VRAM, .tiled = true },
};

static const struct kind system_kinds[] = {
	{ "aperture", CPU | PHYSICAL, PAGODA_IN_APERTURE },
	{ "cached", CPU | CACHED, PAGODA_IN_APERTURE },
	{ "system memory for the GPU only", 0, PAGODA_IN_APERTURE },
};

struct piece {
	const struct kind *kind;
	uint32_t handle;
	uint64_t size;
	uint64_t at;
};

/*
 * A client, the first or the second, with two allocations for each number below PIECES: a piece of
 * VRAM in pieces[number], and a piece of system memory in pieces[PIECES + number]. The number is
 * the enum sight by which the second client looks at both.
 */
struct owner {
	struct test_device dev;
	struct client client;
	struct piece pieces[2 * PIECES];
	uint32_t buffer;	/* allocation that GPU and CPU have mapped */
	uint64_t *words;
	uint64_t buffer_at;
	uint64_t zeros_at;
	uint64_t size;
};

static uint64_t owner_at(const struct owner *owner, uint32_t which)
{
	return client_data(&owner->client, which);
}

static int owner_open(struct owner *owner, uint32_t round)
{
	struct client *client = &owner->client;
	int ret = test_device_open(&owner->dev);

	if (!ret)
		ret = client_open(client, owner->dev.fd, 0);
	if (ret)
		return ret;
	/* In each round the size differs, so that pieces end elsewhere. */
	owner->size = owner->dev.vram.size / 8 - round * owner->dev.page;
	owner->buffer_at = owner_at(owner, 2 * PIECES);
	owner->zeros_at = owner_at(owner, 2 * PIECES + 1);
	ret = pagoda_create_private(client->fd, client->vm.vm, owner->size, CPU | CACHED,
				    PAGODA_IN_APERTURE, &owner->buffer);
	if (!ret)
		ret = pagoda_bind_map(client->fd, client->vm.vm, owner->buffer, owner->buffer_at,
				      0, owner->size);
	if (!ret)
		ret = pagoda_bind_range(client->fd, client->vm.vm, DRM_PAGODA_BIND_MAP_ZERO,
					owner->zeros_at, owner->size);
	if (ret)
		return ret;
	owner->words = pagoda_map(client->fd, owner->buffer, owner->size);
	return owner->words ? 0 : -errno;
}

static void owner_close(struct owner *owner)
{
	munmap(owner->words, owner->size);
	munmap(owner->client.program.memory, CODE_SIZE);
	close(owner->dev.fd);
}

static int piece_make(struct owner *owner, uint32_t number, const struct kind *kind)
{
	struct piece *piece = &owner->pieces[number];
	struct drm_pagoda_allocation_create args = {
		.size = owner->size,
		.flags = kind->flags,
		.supported = kind->supported,
		.vm = kind->private ? owner->client.vm.vm : 0,
	};
	int ret;

	if (kind->tiled && owner->dev.info.swizzling_ranges) {
		if (args.size > owner->dev.info.swizzling_bytes)
			args.size = owner->dev.info.swizzling_bytes;
		args.tiling = DRM_PAGODA_TILING_64K;
		args.pitch = 1024;
		args.height = 512;
		args.mips = 1;
	}
	ret = pagoda_create_args(owner->dev.fd, &args);
	*piece = (struct piece) { kind, args.handle, args.size, owner_at(owner, number) };
	return ret;
}

/*
 * Makes the two pieces of @number. Their kinds vary by @round, so that over the rounds each kind
 * has each number.
 */
static int owner_make(struct owner *owner, uint32_t round, uint32_t number)
{
	const struct kind *vram = &vram_kinds[(number + round) % ARRAY_SIZE(vram_kinds)];
	const struct kind *other = &system_kinds[(number + round) % ARRAY_SIZE(system_kinds)];
	int ret = piece_make(owner, number, vram);

	return ret ? ret : piece_make(owner, PIECES + number, other);
}

static int piece_bind(struct owner *owner, const struct piece *piece)
{
	return pagoda_bind_map(owner->dev.fd, owner->client.vm.vm, piece->handle, piece->at, 0,
			       piece->size);
}

/*
 * Has the GPU copy the piece to the buffer if @out, else the buffer to the piece. The piece needn't
 * be resident before: the job lists the piece.
 */
static int gpu_copy(struct owner *owner, const struct piece *piece, bool out)
{
	uint64_t from = out ? piece->at : owner->buffer_at;
	uint64_t to = out ? owner->buffer_at : piece->at;
	int ret = piece_bind(owner, piece);

	client_rewind(&owner->client);
	pagoda_copy(&owner->client.program, from, to, piece->size);
	if (!ret)
		ret = client_run(&owner->client, &piece->handle, 1);
	return ret;
}

/* ---- the first client --------------------------------------------------------------------- */

static int piece_write(struct owner *owner, const struct piece *piece)
{
	uint64_t *map, n;

	if (!(piece->kind->flags & CPU))
		return gpu_copy(owner, piece, false);
	map = pagoda_map(owner->dev.fd, piece->handle, piece->size);
	if (!map)
		return -errno;
	for (n = 0; n < piece->size / sizeof(*map); n++)
		map[n] = SECRET;
	munmap(map, piece->size);
	return pagoda_make_resident_wait(owner->dev.fd, piece->handle);
}

/* Makes page tables and save areas, and has the GPU write words to a MAP_ZERO range. */
static int owner_spread(struct owner *owner)
{
	struct drm_pagoda_bind_entry binds[BINDS] = {};
	struct client *client = &owner->client;
	uint32_t n, context;
	int ret = 0;

	for (n = 0; n < BINDS; n++)
		binds[n] = (struct drm_pagoda_bind_entry) {
			.type = DRM_PAGODA_BIND_MAP, .handle = owner->buffer,
			.address = owner_at(owner, 2 * PIECES + 2) + n * 2 * PAGODA_MIB,
			.size = owner->dev.page,
		};
	client_rewind(client);
	pagoda_fill_words(&client->program, owner->zeros_at, owner->size, (uint32_t)SECRET);
	if (client_run(client, NULL, 0) ||
	    pagoda_bind(client->fd, client->vm.vm, binds, BINDS, client->syncobj,
			++client->point) ||
	    client_wait(client))
		return -EIO;
	for (n = 0; n < CONTEXTS && !ret; n++)
		ret = pagoda_context_create(client->fd, client->vm.vm, &context);
	return ret;
}

/* Has vgem, if there is a vgem, import a system piece that isn't ACCESSED_PHYSICALLY. */
static int owner_share(const struct owner *owner)
{
	int vgem = vgem_open(), dma_buf, ret;
	uint32_t n, theirs;

	for (n = PIECES; n < 2 * PIECES && owner->pieces[n].kind->flags & PHYSICAL; n++)
		;
	if (vgem < 0 || n == 2 * PIECES)
		return 0;
	dma_buf = prime_export(owner->dev.fd, owner->pieces[n].handle);
	ret = dma_buf < 0 ? dma_buf : prime_import(vgem, dma_buf, &theirs);
	close(dma_buf);
	return ret;
}

static int owner_write(struct owner *owner, uint32_t round, bool share)
{
	uint64_t n;
	int ret = owner_open(owner, round);

	for (n = 0; !ret && n < owner->size / sizeof(*owner->words); n++)
		owner->words[n] = SECRET;
	for (n = 0; !ret && n < PIECES; n++)
		ret = owner_make(owner, round, n);
	for (n = 0; !ret && n < 2 * PIECES; n++)
		ret = piece_write(owner, &owner->pieces[n]);
	if (!ret)
		ret = owner_spread(owner);
	return ret || !share ? ret : owner_share(owner);
}

/*
 * Returns 0 if each CPU-visible piece has its content, or zeros if @results says that the content
 * was discarded; else a negative errno.
 */
static int owner_check(const struct owner *owner, const uint32_t *results)
{
	uint64_t *map, n, value;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < 2 * PIECES && !ret; i++) {
		const struct piece *piece = &owner->pieces[i];

		if (!(piece->kind->flags & CPU))
			continue;
		map = pagoda_map(owner->dev.fd, piece->handle, piece->size);
		if (!map)
			return -errno;
		value = results[i] == DRM_PAGODA_RECLAIM_DISCARDED ? 0 : SECRET;
		for (n = 0; n < piece->size / sizeof(*map) && !ret; n++)
			ret = map[n] == value ? 0 : -EIO;
		munmap(map, piece->size);
	}
	return ret;
}

static int shrink(void)
{
	char line[32] = "";
	int fd, left;

	do {
		fd = open(SHRINK, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, line, sizeof(line) - 1) <= 0)
			return -ENOENT;
		close(fd);
		left = atoi(line);
	} while (left > 0);
	return left;
}

static int owner_lose(struct owner *owner, enum way way)
{
	uint32_t handles[2 * PIECES], n;
	int ret = 0;

	for (n = 0; n < 2 * PIECES; n++)
		handles[n] = owner->pieces[n].handle;
	if (way == EVICTED || way == DECOMMITTED || way == SWAPPED)
		ret = pagoda_evict(owner->dev.fd, handles, 2 * PIECES, 0, 0);
	if (!ret && (way == OFFERED || way == DECOMMITTED))
		ret = pagoda_offer(owner->dev.fd, handles, 2 * PIECES, DRM_PAGODA_OFFER_LOW,
				   way == DECOMMITTED ? DRM_PAGODA_OFFER_ALLOW_DECOMMIT : 0);
	for (n = 0; n < 2 * PIECES && !ret && way != OFFERED; n++)
		ret = pagoda_wait(owner->dev.fd, handles[n], LIMIT);
	if (!ret && (way == DECOMMITTED || way == SWAPPED))
		ret = shrink();
	if (!ret && way == RESET)
		ret = reset_device();
	if (!ret && way == CLOSED) {
		for (n = 0; n < 2 * PIECES && !ret; n++)
			ret = pagoda_close(owner->dev.fd, handles[n]);
		client_close(&owner->client);
	}
	return ret;
}

/* Returns whether the first client keeps its allocations until the second has looked. */
static bool stays(enum way way)
{
	return way == OFFERED || way == DECOMMITTED || way == SWAPPED || way == PRESSED;
}

static int owner_return(const struct owner *owner, enum way way)
{
	uint32_t handles[2 * PIECES], results[2 * PIECES] = {}, n;
	int ret = 0;

	for (n = 0; n < 2 * PIECES; n++)
		handles[n] = owner->pieces[n].handle;
	/*
	 * RECLAIM doesn't bring back the pieces that are evicted here: the CPU is the first to
	 * access these.
	 */
	if (way == OFFERED)
		ret = pagoda_evict(owner->dev.fd, handles, PIECES / 2, 0, 0);
	if (!ret && (way == OFFERED || way == DECOMMITTED))
		ret = pagoda_reclaim(owner->dev.fd, handles, 2 * PIECES, 0, 0, results);
	return ret ? ret : owner_check(owner, results);
}

/*
 * The first client, in a process of its own: writes to @say after owner_write() and owner_lose(),
 * then waits until the test closes its end of @told or kills the process. Returns the exit status.
 */
static int victim(enum way way, uint32_t round, int say, int told)
{
	struct owner owner;
	char byte;
	int ret = owner_write(&owner, round, way != OFFERED && way != DECOMMITTED);

	if (!ret)
		ret = owner_lose(&owner, way);
	if (ret) {
		printf("# the victim: %d\n", ret);
		return 1;
	}
	test_say(say);
	/* The test writes nothing to @told: read() returns 0 when the test has closed its end. */
	while (way == KILLED || read(told, &byte, 1) > 0)
		pause();
	return stays(way) && owner_return(&owner, way) ? 2 : 0;
}

/* ---- the second client, which looks -------------------------------------------------------- */

static int look(const uint64_t *words, uint64_t size)
{
	uint64_t n;

	for (n = 0; n < size / sizeof(*words); n++)
		if (words[n]) {
			printf("# byte %llu: %016llx\n", (unsigned long long)n * 8,
			       (unsigned long long)words[n]);
			return -EEXIST;
		}
	return 0;
}

static int look_map(struct owner *owner, const struct piece *piece)
{
	uint64_t *map;
	int ret;

	if (!(piece->kind->flags & CPU))
		return -EACCES;
	map = pagoda_map(owner->dev.fd, piece->handle, piece->size);
	if (!map)
		return -errno;
	ret = look(map, piece->size);
	munmap(map, piece->size);
	return ret;
}

static int look_copy(struct owner *owner, const struct piece *piece)
{
	int ret;

	memset(owner->words, 0x11, owner->size);
	ret = gpu_copy(owner, piece, true);
	return ret ? ret : look(owner->words, piece->size);
}

/*
 * Looks at the sum, a 64-bit number, that the GPU makes of the piece's 32-bit words: it is 0 only
 * if all words are.
 */
static int look_sum(struct owner *owner, const struct piece *piece)
{
	int ret = pagoda_make_resident_wait(owner->dev.fd, piece->handle);

	if (!ret)
		ret = piece_bind(owner, piece);
	client_rewind(&owner->client);
	pagoda_reduce(&owner->client.program, VIRTIO_PAGODA_REDUCE_SUM, piece->size / 4, piece->at,
		      owner->buffer_at, 0);
	owner->words[0] = ~0ull;
	if (!ret)
		ret = client_run(&owner->client, &piece->handle, 1);
	return ret ? ret : look(owner->words, 8);
}

/* Reads by /proc/self/mem, as a debugger does, a mapping that no thread has accessed. */
static int look_debugger(struct owner *owner, const struct piece *piece)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), ret;
	uint8_t *map = pagoda_map(owner->dev.fd, piece->handle, piece->size);

	if (!map)
		return -errno;
	ret = pread(fd, owner->words, piece->size, (uintptr_t)map) == piece->size ? 0 : -EIO;
	munmap(map, piece->size);
	close(fd);
	return ret ? ret : look(owner->words, piece->size);
}

/*
 * Calls MAKE_RESIDENT for the piece and, together with it, more than VRAM can hold. Returns 0 if
 * the call is refused with ENOMEM.
 */
static int ask_too_much(struct owner *owner, const struct piece *piece)
{
	uint32_t handles[4] = { piece->handle }, n;
	int ret = 0;

	for (n = 1; n < 4 && !ret; n++)
		ret = pagoda_create_vram(owner->dev.fd, owner->dev.vram.size / 2, &handles[n]);
	if (ret)
		return ret;
	ret = pagoda_make_resident(owner->dev.fd, handles, 4, 0, 0, NULL);
	for (n = 1; n < 4; n++)
		pagoda_close(owner->dev.fd, handles[n]);
	return ret == -ENOMEM ? 0 : -EPROTO;
}

static int piece_look(struct owner *owner, const struct piece *piece, enum sight sight)
{
	bool mapped = piece->kind->flags & CPU;
	int ret = 0;

	if (sight == SUM)
		return look_sum(owner, piece);
	if (sight == RESIDENT || sight == LEFT || sight == DEBUGGER)
		ret = pagoda_make_resident_wait(owner->dev.fd, piece->handle);
	if (!ret && sight == LEFT)
		ret = pagoda_evict_wait(owner->dev.fd, piece->handle);
	if (!ret && sight == REFUSED)
		ret = ask_too_much(owner, piece);
	if (ret)
		return ret;
	if (sight == COPY || !mapped)
		return look_copy(owner, piece);
	return sight == DEBUGGER ? look_debugger(owner, piece) : look_map(owner, piece);
}

/* Looks at a MAP_ZERO range, through the GPU, and at the page of a monitored fence. */
static int look_elsewhere(struct owner *owner)
{
	const uint64_t *fence;
	uint32_t handle;
	int ret;

	memset(owner->words, 0x11, owner->size);
	client_rewind(&owner->client);
	pagoda_copy(&owner->client.program, owner->zeros_at, owner->buffer_at, owner->size);
	ret = client_run(&owner->client, NULL, 0);
	if (!ret)
		ret = look(owner->words, owner->size);
	if (!ret)
		ret = pagoda_fence_create(owner->dev.fd, 0, &handle, &fence);
	if (ret)
		return ret;
	ret = look(fence, owner->dev.page);
	munmap((void *)fence, owner->dev.page);
	return ret;
}

FIXTURE(isolation) {
	int fd;
	uint64_t vram;
	uint64_t aperture;
};

FIXTURE_VARIANT(isolation) {
	enum way way;
};

#define WAY(name, value) FIXTURE_VARIANT_ADD(isolation, name) { .way = value }

WAY(closed, CLOSED);
WAY(killed, KILLED);
WAY(evicted, EVICTED);
WAY(offered, OFFERED);
WAY(decommitted, DECOMMITTED);
WAY(swapped, SWAPPED);
WAY(pressed, PRESSED);
WAY(reset, RESET);

FIXTURE_SETUP(isolation)
{
	struct drm_pagoda_device_info info;

	self->fd = pagoda_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, pagoda_device(self->fd, &info));
	ASSERT_NE(0, info.num_engines);
	if (((variant->way == DECOMMITTED || variant->way == SWAPPED) && access(SHRINK, R_OK)) ||
	    (variant->way == RESET && access(FOLDER, R_OK)))
		SKIP(return, "no debugfs files");
	self->vram = test_vram_settled(self->fd, 0);
	self->aperture = test_aperture_settled(self->fd, 0);
}

FIXTURE_TEARDOWN(isolation)
{
	close(self->fd);
}

TEST_F(isolation, shows_nothing)
{
	struct owner owner;
	int say[2], told[2];
	uint32_t round, n;
	pid_t pid;

	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, pipe(say));
		ASSERT_EQ(0, pipe(told));
		pid = fork();
		if (!pid) {
			close(say[0]);
			close(told[1]);
			_exit(victim(variant->way, round, say[1], told[0]));
		}
		close(say[1]);
		close(told[0]);
		ASSERT_TRUE(test_heard(say[0]));
		if (variant->way == KILLED)
			ASSERT_EQ(0, kill(pid, SIGKILL));
		if (!stays(variant->way)) {
			close(told[1]);
			ASSERT_EQ(variant->way == KILLED ? 255 : 0, test_child_status(pid));
			ASSERT_EQ(self->vram, test_vram_settled(self->fd, self->vram));
			ASSERT_EQ(self->aperture, test_aperture_settled(self->fd, self->aperture));
		}
		ASSERT_EQ(0, owner_open(&owner, round));
		for (n = 0; n < 2 * PIECES; n++) {
			if (n < PIECES)
				ASSERT_EQ(0, owner_make(&owner, round, n));
			PAGODA_PROVES(C200);
			EXPECT_EQ(0, piece_look(&owner, &owner.pieces[n], n % PIECES))
				TH_LOG("round %u: %s, looked at in way %u", round,
				       owner.pieces[n].kind->name, n % PIECES);
		}
		EXPECT_EQ(0, look_elsewhere(&owner));
		owner_close(&owner);
		if (stays(variant->way)) {
			close(told[1]);
			EXPECT_EQ(0, test_child_status(pid));
		}
		close(say[0]);
	}
}

/* ---- what tells of memory is root's ------------------------------------------------------- */

static bool others_may(const char *path)
{
	struct stat stat;

	return lstat(path, &stat) || stat.st_mode & (0077);
}

/*
 * Waits until there is a coredump, at most for TEST_PATIENCE: it may be made after the fence of the
 * failed job has signalled. Returns the number of coredumps.
 */
static size_t coredumps(glob_t *found)
{
	int64_t end = pagoda_now() + TEST_PATIENCE;

	while (glob(COREDUMPS, 0, NULL, found) && pagoda_now() < end)
		usleep(10000);
	return found->gl_pathc;
}

TEST(files_are_roots)
{
	struct test_device dev;
	struct client client;
	glob_t found = {};
	size_t n;
	int fd;

	ASSERT_EQ(0, test_device_open(&dev));
	ASSERT_EQ(0, client_open(&client, dev.fd, 0));
	/* Users other than root can't enter debugfs, and so reach no file in it. */
	EXPECT_FALSE(others_may("/sys/kernel/debug"));
	if (access("/sys/class/devcoredump", F_OK))
		SKIP(return, "the kernel has no coredumps of devices");
	pagoda_store(&client.program, NOWHERE, 1);
	ASSERT_EQ(0, client_run(&client, NULL, 0));
	ASSERT_NE(0, coredumps(&found));
	for (n = 0; n < found.gl_pathc; n++) {
		EXPECT_FALSE(others_may(found.gl_pathv[n]));
		/* Any write removes a coredump. */
		fd = open(found.gl_pathv[n], O_WRONLY | O_CLOEXEC);
		EXPECT_EQ(1, write(fd, "0", 1));
		close(fd);
	}
	globfree(&found);
	close(dev.fd);
}

TEST_HARNESS_MAIN
