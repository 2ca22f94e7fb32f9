// SPDX-License-Identifier: GPL-2.0
/* How much memory the kernel uses, and how much fdinfo shows for a process's clients. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "lib/pagoda_fdinfo.h"
#include "hostile.h"

/* KiB in the line of /proc/meminfo's @text that begins with @name; 0 if there is no such line. */
static int64_t meminfo(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	long long kib = 0;

	if (line)
		sscanf(line + strlen(name), " %lld", &kib);
	return kib;
}

/* KiB of the free pages that TTM keeps to use again; 0 if debugfs doesn't tell. */
static int64_t memory_pool(void)
{
	FILE *file = fopen("/sys/kernel/debug/ttm/page_pool", "r");
	long long pages = 0, found;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "total : %lld", &found) == 1)
			pages = found;
	if (file)
		fclose(file);
	return pages * 4;
}

int64_t memory_kernel(void)
{
	static const char * const others[] = {
		"\nMemFree:", "\nBuffers:", "\nCached:", "\nAnonPages:", "\nPageTables:",
		"\nSwapCached:",
	};
	FILE *file = fopen("/proc/meminfo", "r");
	char text[4096] = "";
	int64_t kib;
	uint32_t n;

	if (!file)
		return 0;
	if (!fread(text, 1, sizeof(text) - 1, file))
		text[0] = 0;
	fclose(file);
	kib = meminfo(text, "MemTotal:");
	for (n = 0; n < ARRAY_SIZE(others); n++)
		kib -= meminfo(text, others[n]);
	return kib - memory_pool();
}

/*
 * KiB of system memory that an fdinfo file shows: places in the aperture, pages of allocations in
 * plain system memory, and kept copies of allocations in VRAM. 0 if the file isn't of the driver.
 */
static int64_t charged_file(const char *path)
{
	struct pagoda_fdinfo info;
	uint64_t bytes = 0, resident;
	uint32_t n;

	if (pagoda_fdinfo_read(path, &info))
		return 0;
	for (n = 0; n < PAGODA_FDINFO_SEGMENTS; n++) {
		resident = info.segments[n].resident;
		if (n != DRM_PAGODA_SEGMENT_VRAM && resident != PAGODA_FDINFO_NONE)
			bytes += resident;
	}
	return bytes / PAGODA_KIB;
}

int64_t memory_charged(pid_t pid)
{
	char folder[64], path[384];
	struct dirent *entry;
	int64_t kib = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%d/fdinfo", pid);
	dir = opendir(folder);
	while (dir) {
		entry = readdir(dir);
		if (!entry)
			break;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		kib += charged_file(path);
	}
	if (dir)
		closedir(dir);
	return kib;
}
