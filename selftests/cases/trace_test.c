// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's tracepoints, as programs read them: format files tell the value of each name that an
 * event prints, trace-cmd prints raw records as the kernel does, and gpu_mem_total tells what
 * processes have of VRAM and the aperture.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>

#include "lib/pagoda_fdinfo.h"
#include "lib/pagoda_test.h"

#define TRACEFS		"/sys/kernel/tracing/"
#define EVENTS		TRACEFS "events/pagoda/"
#define GPU_MEM		TRACEFS "events/gpu_mem/"
#define RECORD		"/tmp/trace_test.dat"
#define REPORT		"/tmp/trace_test.txt"
/* Has the folders in which Debian has trace-cmd: the test's own PATH may be only /bin. */
#define WITH_PATH	"PATH=/usr/sbin:/usr/bin:/sbin:/bin; cd /tmp && "
#define EXTRACT		WITH_PATH "trace-cmd extract -o " RECORD " > /dev/null"
#define REPORT_TO_FILE	WITH_PATH "trace-cmd report -i " RECORD " > " REPORT

#define MOST_LINES	4096

FIXTURE(trace) {
	struct test_device dev;
	int fd;
};

FIXTURE_SETUP(trace)
{
	ASSERT_EQ(0, test_device_open(&self->dev));
	self->fd = self->dev.fd;
	if (access(EVENTS "enable", W_OK))
		SKIP(return, "no tracefs");
}

FIXTURE_TEARDOWN(trace)
{
	close(self->fd);
}

/* ---- Format files ----------------------------------------------------------------- */

/* Returns whether programs that parse a format know the name, which the format doesn't define. */
static bool is_known(const char *word, size_t length)
{
	static const char * const known[] = { "REC", "__print_symbolic", "__get_str" };
	size_t n;

	for (n = 0; n < ARRAY_SIZE(known); n++)
		if (strlen(known[n]) == length && !strncmp(known[n], word, length))
			return true;
	return false;
}

/*
 * Returns the first name in the text whose value a program can't know, and its length; NULL if
 * there is none. Names behind "->" are fields of the record, which have values.
 */
static const char *find_unknown(const char *text, size_t *length)
{
	const char *at = text, *end;

	while (*at) {
		if (*at == '"') {
			for (at++; *at && *at != '"'; at++)
				at += *at == '\\' && at[1];
			at += *at == '"';
		} else if (isalpha(*at) || *at == '_') {
			for (end = at; isalnum(*end) || *end == '_'; end++)
				;
			*length = end - at;
			if ((at - text < 2 || strncmp(at - 2, "->", 2)) && !is_known(at, *length))
				return at;
			/* The argument of __get_str() is a field of the record, too. */
			if (!strncmp(at, "__get_str(", strlen("__get_str(")))
				end += strcspn(end, ")");
			at = end;
		} else if (isdigit(*at)) {
			while (isalnum(*at))
				at++;
		} else {
			at++;
		}
	}
	return NULL;
}

/*
 * Returns whether an event's format tells the values of all its names; prints the first name
 * without a value.
 */
static bool is_complete(const char *event)
{
	static char text[65536];
	const char *print, *unknown;
	size_t length = 0;
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), EVENTS "%s/format", event);
	file = fopen(path, "re");
	if (!file)
		return false;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	print = strstr(text, "print fmt: ");
	if (!print)
		return false;
	unknown = find_unknown(print + strlen("print fmt: "), &length);
	if (unknown)
		printf("# %s: %.*s\n", event, (int)length, unknown);
	return !unknown;
}

TEST_F(trace, formats_have_no_names_without_value)
{
	DIR *dir = opendir(EVENTS);
	struct dirent *entry;
	unsigned int count = 0, wrong = 0;

	ASSERT_NE(NULL, dir);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "pagoda_", strlen("pagoda_")))
			continue;
		count++;
		wrong += !is_complete(entry->d_name);
	}
	closedir(dir);
	EXPECT_LT(0, count);
	EXPECT_EQ(0, wrong);
}

/* ---- trace-cmd -------------------------------------------------------------------- */

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char * const *)a, *(char * const *)b);
}

/*
 * Reads the driver's events from a file of text, each as "name fields", and sorts them. Returns
 * their number or a negative errno.
 */
static int read_events(const char *path, char **events)
{
	char line[1024], name[64], *at;
	FILE *file = fopen(path, "re");
	int count = 0, fields;

	if (!file)
		return -errno;
	while (count < MOST_LINES && fgets(line, sizeof(line), file)) {
		at = strstr(line, ": pagoda_");
		if (!at || sscanf(at + 2, "%63[a-z_]: %n", name, &fields) != 1)
			continue;
		at[2 + fields + strcspn(at + 2 + fields, "\n")] = '\0';
		if (asprintf(&events[count], "%s %s", name, at + 2 + fields) < 0)
			break;
		count++;
	}
	fclose(file);
	qsort(events, count, sizeof(*events), by_text);
	return count;
}

/* Makes moves whose events name segments, reasons and groups. Returns 0 or a negative errno. */
static int make_events(int fd)
{
	uint32_t vram, aperture;
	char *map;
	int events = pagoda_events(fd, 0), ret;

	if (events < 0)
		return events;
	ret = pagoda_create_vram(fd, PAGODA_MIB, &vram);
	if (!ret)
		ret = pagoda_create(fd, PAGODA_MIB, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
				    PAGODA_IN_VRAM | PAGODA_IN_APERTURE, &aperture);
	map = ret ? NULL : pagoda_map(fd, aperture, PAGODA_MIB);
	if (!map)
		return ret ? ret : -ENOMEM;
	memset(map, 1, PAGODA_MIB);
	munmap(map, PAGODA_MIB);
	ret = pagoda_make_resident_wait(fd, vram);
	if (!ret)
		ret = pagoda_make_resident_wait(fd, aperture);
	if (!ret)
		ret = pagoda_evict_wait(fd, vram);
	if (!ret)
		ret = pagoda_evict_wait(fd, aperture);
	pagoda_close(fd, vram);
	pagoda_close(fd, aperture);
	close(events);
	return ret;
}

/* trace-cmd prints from raw records what the kernel itself prints in the file `trace`. */
TEST_F(trace, trace_cmd_prints_what_the_kernel_prints)
{
	static char *kernel[MOST_LINES], *program[MOST_LINES];
	int ret, count, n, wrong = 0;

	if (system(WITH_PATH "command -v trace-cmd > /dev/null"))
		SKIP(return, "no trace-cmd");
	ASSERT_EQ(0, put(TRACEFS "trace", ""));
	ASSERT_EQ(0, put(EVENTS "enable", "1"));
	ret = make_events(self->fd);
	ASSERT_EQ(0, put(EVENTS "enable", "0"));
	ASSERT_EQ(0, ret);
	count = read_events(TRACEFS "trace", kernel);
	ASSERT_LT(0, count);
	ASSERT_EQ(0, system(EXTRACT));
	ASSERT_EQ(0, system(REPORT_TO_FILE));
	EXPECT_EQ(count, read_events(REPORT, program));
	for (n = 0; n < count; n++) {
		if (program[n] && !strcmp(kernel[n], program[n]))
			continue;
		if (!wrong++)
			printf("# %s\n# %s\n", kernel[n], program[n] ? program[n] : "none");
	}
	EXPECT_EQ(0, wrong);
	for (n = 0; n < count; n++)
		if (strstr(kernel[n], " from=system to=vram "))
			break;
	EXPECT_GT(count, n);
	unlink(RECORD);
	unlink(REPORT);
}

/* ---- gpu_mem_total ---------------------------------------------------------------- */

/*
 * What gpu_mem_total events of a process, or with pid 0 of all processes together, tell: number of
 * events, and first, last and largest of their sizes in bytes.
 */
struct totals {
	unsigned int count;
	uint64_t first;
	uint64_t last;
	uint64_t most;
};

static struct totals read_totals(unsigned int pid)
{
	struct totals totals = { 0 };
	unsigned long long size;
	char line[1024], *at;
	unsigned int whose;
	FILE *file = fopen(TRACEFS "trace", "re");

	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, "gpu_mem_total: ");
		if (!at || sscanf(at, "gpu_mem_total: gpu_id=%*u pid=%u size=%llu", &whose,
				  &size) != 2 || whose != pid)
			continue;
		if (!totals.count++)
			totals.first = size;
		totals.last = size;
		totals.most = size > totals.most ? size : totals.most;
	}
	if (file)
		fclose(file);
	return totals;
}

static uint64_t held(int fd)
{
	struct pagoda_fdinfo info;

	if (pagoda_fdinfo_self(fd, &info))
		return UINT64_MAX;
	return info.segments[DRM_PAGODA_SEGMENT_VRAM].resident +
	       info.segments[DRM_PAGODA_SEGMENT_APERTURE].resident;
}

/*
 * gpu_mem_total tells what a process has of VRAM and aperture, and what all processes have
 * together. When a process opens the device an event tells all that the process has already.
 */
TEST_F(trace, gpu_memory_is_told)
{
	struct totals mine, all;
	uint32_t handle;
	int other;

	if (access(GPU_MEM "enable", W_OK))
		SKIP(return, "no tracepoint");
	ASSERT_EQ(0, test_vram_settled(self->fd, 0));
	ASSERT_EQ(0, put(TRACEFS "trace", ""));
	ASSERT_EQ(0, put(GPU_MEM "enable", "1"));
	other = pagoda_open();
	ASSERT_LE(0, other);
	mine = read_totals(getpid());
	EXPECT_EQ(1, mine.count);
	EXPECT_EQ(held(self->fd), mine.last);
	EXPECT_LE(1, read_totals(0).count);
	ASSERT_EQ(0, pagoda_create_vram(other, PAGODA_MIB, &handle));
	ASSERT_EQ(0, pagoda_make_resident_wait(other, handle));
	EXPECT_EQ(held(self->fd) + held(other), read_totals(getpid()).last);
	EXPECT_LE(PAGODA_MIB, read_totals(getpid()).last);
	all = read_totals(0);
	EXPECT_LE(PAGODA_MIB, all.last);
	ASSERT_EQ(0, pagoda_evict_wait(other, handle));
	/* VRAM is free again when TTM has noticed that the copy is done. */
	ASSERT_EQ(0, test_vram_settled(self->fd, 0));
	mine = read_totals(getpid());
	EXPECT_EQ(mine.first, mine.last);
	EXPECT_LE(mine.first + PAGODA_MIB, mine.most);
	EXPECT_GT(all.last, read_totals(0).last);
	ASSERT_EQ(0, put(GPU_MEM "enable", "0"));
	close(other);
}

TEST_HARNESS_MAIN
