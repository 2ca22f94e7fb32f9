// SPDX-License-Identifier: GPL-2.0
/*
 * pagodactl, run as a user would: top, trim, ls and journal tell, as text and as JSON, what this
 * process has and did; wrong arguments and missing files are refused with a reason.
 */
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/pagoda_fdinfo.h"
#include "lib/submit_client.h"

#define LOCAL		DRM_PAGODA_SEGMENT_GROUP_LOCAL
#define DEBUGFS		"/sys/kernel/debug"
#define WORDS		12
#define NOBODY		65534
#define NOT_THERE	UINT64_MAX

/* Pages of an allocation that is found by its size: no other allocation has as many. */
#define ODD_PAGES	37

FIXTURE(pagodactl) {
	struct test_device dev;
	int fd;
	uint64_t size;
	unsigned int minor;
	char node[32];
	struct pagoda_fdinfo info;
	char *text;
};

FIXTURE_SETUP(pagodactl)
{
	struct stat st;

	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	/* Memory that closed clients leave behind would change the budgets while it is freed. */
	ASSERT_EQ(0, test_vram_settled(self->fd, 0));
	self->size = self->dev.vram.size / 32;
	ASSERT_EQ(0, fstat(self->fd, &st));
	self->minor = minor(st.st_rdev);
	snprintf(self->node, sizeof(self->node), "renderD%u", self->minor);
	self->text = malloc(2 * PAGODA_MIB);
	ASSERT_NE(NULL, self->text);
}

FIXTURE_TEARDOWN(pagodactl)
{
	free(self->text);
	close(self->fd);
}

/* ---- Running it ----------------------------------------------------------------- */

/* How the child is prepared before it becomes pagodactl. */
enum as {
	AS_IS,
	AS_NOBODY,
	WITHOUT_DEBUGFS,
};

/* Stores the path of pagodactl in the folder of this program, or if not there /bin/pagodactl. */
static void find_program(char *path, size_t size)
{
	char self[PATH_MAX] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0) {
		snprintf(path, size, "%s/pagodactl", dirname(self));
		if (!access(path, X_OK))
			return;
	}
	snprintf(path, size, "/bin/pagodactl");
}

static void prepare(enum as as)
{
	if (as == AS_NOBODY && (setgid(NOBODY) || setuid(NOBODY)))
		_exit(200);
	if (as == WITHOUT_DEBUGFS &&
	    (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	     umount2(DEBUGFS, MNT_DETACH)))
		_exit(200);
}

/*
 * Starts pagodactl with the arguments @words, separated by blanks; its stdout and stderr are read
 * from *@output. Returns its pid, or -1.
 */
static pid_t start(const char *words, enum as as, int *output)
{
	char path[PATH_MAX], text[256], *args[WORDS] = { "pagodactl" };
	int ends[2], n;
	pid_t pid;

	find_program(path, sizeof(path));
	snprintf(text, sizeof(text), "%s", words);
	args[1] = strtok(text, " ");
	for (n = 1; args[n] && n < WORDS - 2; n++)
		args[n + 1] = strtok(NULL, " ");
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		prepare(as);
		execv(path, args);
		_exit(201);
	}
	close(ends[1]);
	*output = ends[0];
	return pid;
}

/*
 * Runs pagodactl until it ends; @text, which has 2 MiB, gets all that it prints. Returns its exit
 * status, 255 if it has none.
 */
static int run(const char *words, enum as as, char *text)
{
	size_t used = 0;
	ssize_t got;
	int output;
	pid_t pid = start(words, as, &output);

	if (pid < 0)
		return 255;
	while ((got = read(output, text + used, 2 * PAGODA_MIB - 1 - used)) > 0)
		used += got;
	text[used] = '\0';
	close(output);
	return test_child_status(pid);
}

/* ---- Reading JSON --------------------------------------------------------------- */

static const char *skip_value(const char *at);

static const char *skip_text(const char *at)
{
	if (*at++ != '"')
		return NULL;
	for (; *at && *at != '"'; at++)
		if (*at == '\\' && !*++at)
			return NULL;
	return *at ? at + 1 : NULL;
}

static const char *skip_word(const char *at)
{
	static const char * const words[] = { "null", "true", "false" };
	char *end;
	size_t n;

	for (n = 0; n < ARRAY_SIZE(words); n++)
		if (!strncmp(at, words[n], strlen(words[n])))
			return at + strlen(words[n]);
	strtoll(at, &end, 10);
	return end == at ? NULL : end;
}

static const char *skip_list(const char *at, bool has_keys)
{
	char closing = has_keys ? '}' : ']';

	if (*++at == closing)
		return at + 1;
	for (;;) {
		if (has_keys) {
			at = skip_text(at);
			if (!at || strncmp(at, ": ", 2))
				return NULL;
			at += 2;
		}
		at = skip_value(at);
		if (at && *at == closing)
			return at + 1;
		if (!at || strncmp(at, ", ", 2))
			return NULL;
		at += 2;
	}
}

/*
 * Returns what is behind the JSON value at @at, as pagodactl writes it, or NULL if there is none.
 */
static const char *skip_value(const char *at)
{
	if (*at == '{' || *at == '[')
		return skip_list(at, *at == '{');
	return *at == '"' ? skip_text(at) : skip_word(at);
}

/* Returns whether @text is just one JSON value and a newline. */
static bool is_json(const char *text)
{
	const char *end = skip_value(text);

	return end && !strcmp(end, "\n");
}

/* Returns the number behind the next @key; NOT_THERE if the key isn't there or has no number. */
static uint64_t number(const char *at, const char *key)
{
	char pattern[64];
	unsigned long long value;

	snprintf(pattern, sizeof(pattern), "\"%s\": ", key);
	at = at ? strstr(at, pattern) : NULL;
	if (!at || sscanf(at + strlen(pattern), "%llu", &value) != 1)
		return NOT_THERE;
	return value;
}

/* Returns where the next @key is that has the number @value and a comma behind it, or NULL. */
static const char *find_number(const char *at, const char *key, uint64_t value)
{
	char pattern[64];

	snprintf(pattern, sizeof(pattern), "\"%s\": %llu,", key, (unsigned long long)value);
	return strstr(at, pattern);
}

static const char *find_text(const char *at, const char *key, const char *value)
{
	char pattern[64];

	snprintf(pattern, sizeof(pattern), "\"%s\": \"%s\"", key, value);
	return at ? strstr(at, pattern) : NULL;
}

/* ---- What the test has ---------------------------------------------------------- */

/* Creates an allocation with content; it is resident if @resident, else in plain system memory. */
static int make(int fd, uint64_t size, uint32_t supported, bool resident, uint32_t *handle)
{
	void *map;
	int ret = pagoda_create(fd, size, CPU, supported, handle);

	if (ret)
		return ret;
	map = pagoda_map(fd, *handle, size);
	if (!map)
		return -errno;
	pagoda_fill(map, *handle, 0, size);
	munmap(map, size);
	/* After EVICT the content is in system memory, wherever the CPU wrote it. */
	ret = pagoda_evict_wait(fd, *handle);
	return ret || !resident ? ret : pagoda_make_resident_wait(fd, *handle);
}

static int64_t check(int fd, uint64_t size, uint32_t handle)
{
	void *map = pagoda_map(fd, handle, size);
	int64_t wrong = map ? pagoda_check(map, handle, 0, size) : 0;

	if (map)
		munmap(map, size);
	return map ? wrong : -2;
}

/* ---- top ------------------------------------------------------------------------ */

/*
 * Stores the row that `top` has to print for a segment of this process's client; with @traffic the
 * row ends with bytes paged in and out, evictions and engine time.
 */
static void expected_row(char *row, size_t size, const struct pagoda_fdinfo *info,
			 const char *name, const struct pagoda_fdinfo_segment *segment,
			 bool traffic)
{
	char command[32] = "?";
	FILE *file = fopen("/proc/self/comm", "r");
	int used;

	if (file && fgets(command, sizeof(command), file))
		command[strcspn(command, "\n")] = '\0';
	if (file)
		fclose(file);
	used = snprintf(row, size, "%7d %7llu %-15s %-8s %9.1f %9.1f %9.1f %9.1f", getpid(),
			(unsigned long long)info->client, command, name,
			(double)segment->budget / PAGODA_MIB, (double)segment->usage / PAGODA_MIB,
			(double)segment->resident / PAGODA_MIB,
			(double)segment->spilled / PAGODA_MIB);
	if (traffic)
		used += snprintf(row + used, size - used, " %9.1f %9.1f %9llu %9.1f",
				 (double)info->paged_in / PAGODA_MIB,
				 (double)info->paged_out / PAGODA_MIB,
				 (unsigned long long)info->evictions,
				 pagoda_fdinfo_engines(info) / 1e6);
	snprintf(row + used, size - used, "\n");
}

TEST_F(pagodactl, top_as_text)
{
	struct pagoda_fdinfo_segment *vram = &self->info.segments[DRM_PAGODA_SEGMENT_VRAM];
	struct pagoda_fdinfo_segment *aperture = &self->info.segments[DRM_PAGODA_SEGMENT_APERTURE];
	uint32_t handles[2];
	char row[256];

	ASSERT_EQ(0, make(self->fd, self->size, PAGODA_IN_VRAM, true, &handles[0]));
	ASSERT_EQ(0, make(self->fd, 2 * self->size, PAGODA_IN_APERTURE, true, &handles[1]));
	ASSERT_EQ(0, pagoda_fdinfo_self(self->fd, &self->info));
	ASSERT_EQ(self->size, vram->usage);
	ASSERT_EQ(2 * self->size, aperture->usage);
	ASSERT_LE(self->size, self->info.paged_in);
	ASSERT_EQ(0, run("top --once", AS_IS, self->text));
	EXPECT_NE(NULL, strstr(self->text, self->node));
	expected_row(row, sizeof(row), &self->info, "vram", vram, true);
	EXPECT_NE(NULL, strstr(self->text, row))
		TH_LOG("wanted:\n%sgot:\n%s", row, self->text);
	expected_row(row, sizeof(row), &self->info, "aperture", aperture, false);
	EXPECT_NE(NULL, strstr(self->text, row))
		TH_LOG("wanted:\n%sgot:\n%s", row, self->text);
}

TEST_F(pagodactl, top_as_json)
{
	struct pagoda_fdinfo *info = &self->info;
	const char *mine, *segment;
	uint32_t handles[2];
	char engines[64];

	ASSERT_EQ(0, make(self->fd, self->size, PAGODA_IN_VRAM, true, &handles[0]));
	ASSERT_EQ(0, make(self->fd, 2 * self->size, PAGODA_IN_VRAM, true, &handles[1]));
	ASSERT_EQ(0, pagoda_evict_wait(self->fd, handles[1]));
	ASSERT_EQ(0, pagoda_fdinfo_self(self->fd, info));
	ASSERT_EQ(0, run("--json top --once", AS_IS, self->text));
	ASSERT_TRUE(is_json(self->text)) TH_LOG("%s", self->text);
	segment = find_text(find_text(self->text, "node", self->node), "name", "vram");
	EXPECT_EQ(self->dev.vram.size, number(segment, "size"));
	EXPECT_EQ(self->size, number(segment, "usage"));
	mine = find_number(self->text, "client", info->client);
	ASSERT_NE(NULL, mine) TH_LOG("%s", self->text);
	EXPECT_EQ(info->paged_in, number(mine, "paged_in"));
	EXPECT_LE(3 * self->size, number(mine, "paged_in"));
	EXPECT_EQ(info->paged_out, number(mine, "paged_out"));
	EXPECT_LE(2 * self->size, number(mine, "paged_out"));
	EXPECT_EQ(info->evictions, number(mine, "evictions"));
	EXPECT_EQ(info->paced, number(mine, "paced"));
	EXPECT_EQ(info->left_out, number(mine, "left_out"));
	EXPECT_EQ(info->held, number(mine, "held_jobs"));
	snprintf(engines, sizeof(engines), "\"engine_ns\": [%llu",
		 (unsigned long long)info->engine_ns[0]);
	EXPECT_NE(NULL, strstr(mine, engines));
	segment = find_text(mine, "name", "vram");
	EXPECT_EQ(self->size, number(segment, "usage"));
	EXPECT_EQ(self->size, number(segment, "resident"));
	EXPECT_EQ(info->segments[DRM_PAGODA_SEGMENT_VRAM].budget, number(segment, "budget"));
	/* An allocation evicted by EVICT counts neither as spilled nor as over the budget. */
	EXPECT_EQ(0, number(segment, "spilled"));
	EXPECT_EQ(0, number(segment, "over"));
	segment = find_text(mine, "name", "system");
	EXPECT_EQ(2 * self->size, number(segment, "total"));
	/* "system" has the evicted allocation, and the kept copy of the allocation in VRAM. */
	EXPECT_EQ(3 * self->size, number(segment, "resident"));
}

/* A file that has several descriptors, also in several processes, is one client. */
TEST_F(pagodactl, top_shows_a_client_once)
{
	const char *mine;
	int copy = dup(self->fd), pipe_end;
	pid_t pid;

	ASSERT_LE(0, copy);
	pid = test_fork(&pipe_end);
	ASSERT_LE(0, pid);
	if (!pid) {
		pause();
		_exit(0);
	}
	ASSERT_EQ(0, pagoda_fdinfo_self(self->fd, &self->info));
	EXPECT_EQ(0, run("top --once --json", AS_IS, self->text));
	mine = find_number(self->text, "client", self->info.client);
	EXPECT_NE(NULL, mine);
	EXPECT_EQ(NULL, mine ? find_number(mine + 1, "client", self->info.client) : NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pipe_end);
	close(copy);
}

TEST_F(pagodactl, top_goes_on_until_stopped)
{
	int output, lines = 0;
	pid_t pid = start("top --json --interval 0.1", AS_IS, &output);
	char byte;

	ASSERT_LE(0, pid);
	while (lines < 3 && read(output, &byte, 1) == 1)
		lines += byte == '\n';
	EXPECT_EQ(3, lines);
	EXPECT_EQ(0, kill(pid, SIGTERM));
	/* Reads what pagodactl still prints: a full pipe must not keep it from ending. */
	while (read(output, &byte, 1) == 1)
		;
	EXPECT_EQ(0, test_child_status(pid));
	close(output);
}

/* ---- trim ----------------------------------------------------------------------- */

static bool has_trim(unsigned int minor)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "/dri/%u/trim", minor);
	return !access(path, R_OK | W_OK);
}

TEST_F(pagodactl, trim_evicts)
{
	const struct pagoda_fdinfo_segment *vram = &self->info.segments[DRM_PAGODA_SEGMENT_VRAM];
	struct pagoda_fdinfo before;
	uint32_t handles[2], n;
	char words[64];

	if (!has_trim(self->minor))
		SKIP(return, "no file trim in debugfs");
	for (n = 0; n < 2; n++)
		ASSERT_EQ(0, make(self->fd, self->size, PAGODA_IN_VRAM, true, &handles[n]));
	ASSERT_EQ(0, pagoda_fdinfo_self(self->fd, &before));
	/* For one byte a whole allocation is evicted. */
	snprintf(words, sizeof(words), "trim %s 1 --json", self->node);
	ASSERT_EQ(0, run(words, AS_IS, self->text)) TH_LOG("%s", self->text);
	EXPECT_TRUE(is_json(self->text)) TH_LOG("%s", self->text);
	EXPECT_EQ(1, number(self->text, "asked"));
	EXPECT_EQ(self->size, number(self->text, "evicted"));
	ASSERT_EQ(0, pagoda_fdinfo_self(self->fd, &self->info));
	EXPECT_EQ(self->size, vram->usage);
	EXPECT_EQ(self->size, vram->spilled);
	EXPECT_EQ(before.evictions + 1, self->info.evictions);
	EXPECT_EQ(before.paged_out + self->size, self->info.paged_out);
	/* If trim asks for more bytes than VRAM has, all allocations left in VRAM are evicted. */
	snprintf(words, sizeof(words), "trim /dev/dri/%s 1G", self->node);
	ASSERT_EQ(0, run(words, AS_IS, self->text)) TH_LOG("%s", self->text);
	snprintf(words, sizeof(words), "%s: %llu bytes evicted of %llu\n", self->node,
		 (unsigned long long)self->size, 1024 * PAGODA_MIB);
	EXPECT_EQ(0, strcmp(words, self->text)) TH_LOG("%s", self->text);
	ASSERT_EQ(0, pagoda_fdinfo_self(self->fd, &self->info));
	EXPECT_EQ(0, vram->usage);
	EXPECT_EQ(2 * self->size, vram->spilled);
	for (n = 0; n < 2; n++) {
		EXPECT_EQ(-1, check(self->fd, self->size, handles[n]));
		EXPECT_EQ(0, pagoda_make_resident_wait(self->fd, handles[n]));
	}
	ASSERT_EQ(0, pagoda_fdinfo_self(self->fd, &self->info));
	EXPECT_EQ(0, vram->spilled);
}

TEST_F(pagodactl, trim_tells_who_is_over)
{
	const struct pagoda_fdinfo_segment *vram = &self->info.segments[DRM_PAGODA_SEGMENT_VRAM];
	struct drm_pagoda_query_memory_info info;
	uint32_t handles[20], n;
	const char *mine;
	int other = pagoda_open();
	char over[16];

	ASSERT_LE(0, other);
	for (n = 0; n < ARRAY_SIZE(handles); n++)
		ASSERT_EQ(0, pagoda_create(self->fd, self->size, 0, PAGODA_IN_VRAM, &handles[n]));
	ASSERT_EQ(0, pagoda_make_resident(self->fd, handles, ARRAY_SIZE(handles), 0, 0, NULL));
	ASSERT_EQ(0, pagoda_memory_info(other, LOCAL, &info));
	ASSERT_EQ(0, pagoda_set_reservation(other, LOCAL, info.available_for_reservation));
	ASSERT_EQ(0, pagoda_fdinfo_self(self->fd, &self->info));
	ASSERT_GT(vram->usage, vram->budget);
	ASSERT_EQ(0, run("trim --json", AS_IS, self->text));
	ASSERT_TRUE(is_json(self->text)) TH_LOG("%s", self->text);
	mine = find_number(self->text, "client", self->info.client);
	EXPECT_EQ(vram->usage - vram->budget, number(find_text(mine, "name", "vram"), "over"));
	ASSERT_EQ(0, run("trim", AS_IS, self->text));
	snprintf(over, sizeof(over), " %9.1f\n", (double)(vram->usage - vram->budget) / PAGODA_MIB);
	EXPECT_NE(NULL, strstr(self->text, over)) TH_LOG("wanted %sgot:\n%s", over, self->text);
	close(other);
}

/* ---- ls and journal ------------------------------------------------------------- */

TEST_F(pagodactl, ls_lists_allocations)
{
	uint64_t size = ODD_PAGES * self->dev.page;
	struct drm_pagoda_allocation_info info;
	const char *mine, *list;
	uint32_t handle;

	if (!has_trim(self->minor))
		SKIP(return, "no debugfs");
	ASSERT_EQ(0, make(self->fd, size, PAGODA_IN_VRAM, true, &handle));
	ASSERT_EQ(0, pagoda_info(self->fd, handle, &info));
	ASSERT_EQ(0, pagoda_fdinfo_self(self->fd, &self->info));
	ASSERT_EQ(0, run("ls --json", AS_IS, self->text));
	ASSERT_TRUE(is_json(self->text)) TH_LOG("%s", self->text);
	EXPECT_NE(NULL, find_number(self->text, "client", self->info.client));
	list = strstr(self->text, "\"allocations\": [");
	ASSERT_NE(NULL, list);
	mine = find_number(list, "size", size);
	ASSERT_NE(NULL, mine) TH_LOG("%s", self->text);
	EXPECT_EQ(info.address, number(mine, "address"));
	EXPECT_EQ(0, strncmp(strstr(mine, "\"resident\": "), "\"resident\": true", 16));
	ASSERT_EQ(0, run("ls", AS_IS, self->text));
	EXPECT_NE(NULL, strstr(self->text, "segment 1: vram"));
	EXPECT_NE(NULL, strstr(self->text, ": vram, 0.1 MiB, priority level"))
		TH_LOG("%s", self->text);
}

/* Returns the driver's id of the allocation with @size bytes, as `ls` prints it, or NOT_THERE. */
static uint64_t id_of(uint64_t size, char *text)
{
	const char *at;

	if (run("ls --json", AS_IS, text))
		return NOT_THERE;
	for (at = text; (at = strstr(at, "{\"allocation\": ")); at++)
		if (number(at, "size") == size)
			return number(at, "allocation");
	return NOT_THERE;
}

/*
 * Returns the bytes of finished copies to VRAM, or by virtual addresses in any direction, in a
 * journal's lines of JSON; NOT_THERE if a line isn't JSON or about another allocation than @id.
 */
static uint64_t copied(char *text, uint64_t id)
{
	uint64_t sum = 0;
	char *line;

	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		const char *end = skip_value(line), *target = strstr(line, "\"target\": {");

		if (!end || *end || !target || number(line, "allocation") != id)
			return NOT_THERE;
		if (!number(line, "result") &&
		    (find_text(line, "operation", "VIRTUAL_TRANSFER") ||
		     (find_text(line, "operation", "TRANSFER") &&
		      find_text(target, "segment", "vram"))))
			sum += number(line, "size");
	}
	return sum;
}

TEST_F(pagodactl, journal_decodes)
{
	uint64_t size = ODD_PAGES * self->dev.page, id, sum;
	char words[64];
	uint32_t handle;
	bool all = true;
	char *line;

	if (!has_trim(self->minor))
		SKIP(return, "no debugfs");
	ASSERT_EQ(0, make(self->fd, size, PAGODA_IN_VRAM, true, &handle));
	id = id_of(size, self->text);
	ASSERT_NE(NOT_THERE, id);
	snprintf(words, sizeof(words), "journal --json --allocation %llu", (unsigned long long)id);
	ASSERT_EQ(0, run(words, AS_IS, self->text));
	/*
	 * The copy to VRAM may be several operations; the sum is twice the size if there was a copy
	 * from VRAM by virtual addresses, too.
	 */
	sum = copied(self->text, id);
	EXPECT_TRUE(sum == size || sum == 2 * size)
		TH_LOG("%llu bytes copied", (unsigned long long)sum);
	/* The text has lines about this allocation only, and one of them is its copy. */
	snprintf(words, sizeof(words), "journal --allocation %llu", (unsigned long long)id);
	ASSERT_EQ(0, run(words, AS_IS, self->text));
	snprintf(words, sizeof(words), " alloc %llu ", (unsigned long long)id);
	EXPECT_TRUE(strstr(self->text, "TRANSFER "));
	for (line = strtok(self->text, "\n"); line; line = strtok(NULL, "\n"))
		all = all && strstr(line, words);
	EXPECT_TRUE(all);
	ASSERT_EQ(0, run("journal --operation NONSENSE", AS_IS, self->text));
	EXPECT_EQ(0, strcmp("", self->text));
}

/* Reads lines from @output until a line has @text. Returns false if the output ends before. */
static bool comes(int output, const char *text)
{
	char line[512];
	size_t used = 0;

	while (read(output, &line[used], 1) == 1) {
		if (line[used] != '\n' && used < sizeof(line) - 2) {
			used++;
			continue;
		}
		line[used] = '\0';
		used = 0;
		if (strstr(line, text))
			return true;
	}
	return false;
}

/* `journal --follow` prints operations from before its start, and then those that happen. */
TEST_F(pagodactl, journal_follows)
{
	uint64_t size, id;
	uint32_t handle, n;
	int output = -1;
	pid_t pid = 0;
	char text[64];

	if (!has_trim(self->minor))
		SKIP(return, "no debugfs");
	for (n = 0; n < 3; n++) {
		size = (ODD_PAGES + 2 + n) * self->dev.page;
		ASSERT_EQ(0, make(self->fd, size, PAGODA_IN_VRAM, true, &handle));
		id = id_of(size, self->text);
		ASSERT_NE(NOT_THERE, id);
		if (!n)
			pid = start("journal --follow --interval 0.1", AS_IS, &output);
		ASSERT_LT(0, pid);
		snprintf(text, sizeof(text), " alloc %llu ", (unsigned long long)id);
		EXPECT_TRUE(comes(output, text)) TH_LOG("%s", text);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(output);
}

/* ---- What it refuses ------------------------------------------------------------ */

TEST_F(pagodactl, refuses_bad_arguments)
{
	static const char * const bad[] = {
		"", "nonsense", "--bogus", "top ls", "ls --follow", "top --output x", "top --log x",
		"top --interval 0", "top --interval x", "top --interval", "ls extra",
		"journal --allocation x", "journal --allocation 0", "journal --once", "plot",
		"plot a b", "plot --json a", "trim renderD128", "trim renderD128 0",
		"trim renderD128 -1", "trim renderD128 1x", "trim renderD128 1KK",
		"trim renderD128 20000000000G", "trim renderD128 1 2",
	};
	uint32_t n;

	for (n = 0; n < ARRAY_SIZE(bad); n++) {
		EXPECT_EQ(2, run(bad[n], AS_IS, self->text)) TH_LOG("%s", bad[n]);
		EXPECT_NE('\0', *self->text) TH_LOG("%s", bad[n]);
	}
	EXPECT_EQ(0, run("--help", AS_IS, self->text));
	EXPECT_NE(NULL, strstr(self->text, "usage:"));
}

TEST_F(pagodactl, says_what_is_missing)
{
	static const char * const nothing[] = {
		"top --once --device renderD1", "ls --device /dev/null", "journal --device nothing",
		"trim nothing 1M", "trim --device nothing",
	};
	uint32_t n;

	for (n = 0; n < ARRAY_SIZE(nothing); n++) {
		EXPECT_EQ(1, run(nothing[n], AS_IS, self->text)) TH_LOG("%s", nothing[n]);
		EXPECT_NE(NULL, strstr(self->text, "no Pagoda GPU")) TH_LOG("%s", self->text);
	}
	EXPECT_EQ(1, run("plot /nowhere/trace.txt", AS_IS, self->text));
	EXPECT_NE(NULL, strstr(self->text, "/nowhere/trace.txt: No such file"));
}

/*
 * Without debugfs `top` works, `ls` leaves out the allocations, and `journal` and `trim` fail;
 * `ls`, `journal` and `trim` say why.
 */
TEST_F(pagodactl, needs_debugfs_for_some)
{
	char words[64];

	if (!has_trim(self->minor))
		SKIP(return, "no debugfs");
	snprintf(words, sizeof(words), "trim %s 1M", self->node);
	EXPECT_EQ(0, run("top --once", WITHOUT_DEBUGFS, self->text)) TH_LOG("%s", self->text);
	EXPECT_EQ(0, run("ls --json", WITHOUT_DEBUGFS, self->text)) TH_LOG("%s", self->text);
	EXPECT_NE(NULL, strstr(self->text, "isn't mounted"));
	EXPECT_NE(NULL, strstr(self->text, "\"allocations\": null"));
	EXPECT_EQ(1, run("journal", WITHOUT_DEBUGFS, self->text));
	EXPECT_NE(NULL, strstr(self->text, "isn't mounted"));
	EXPECT_EQ(1, run(words, WITHOUT_DEBUGFS, self->text));
	EXPECT_NE(NULL, strstr(self->text, "isn't mounted"));
	/* A user without permission to read debugfs is told so. */
	EXPECT_EQ(1, run("journal", AS_NOBODY, self->text));
	EXPECT_NE(NULL, strstr(self->text, "no permission")) TH_LOG("%s", self->text);
}

TEST_HARNESS_MAIN
