/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control groups with limits of device memory (dmem), and members: processes in such a group, each
 * of which is a client, and executes the orders that a test sends by a pipe.
 */
#ifndef DMEM_FIXTURE_H
#define DMEM_FIXTURE_H

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "submit_client.h"

#define CGROUPS		"/sys/fs/cgroup"
#define ITEMS		32u
#define NO_VALUE	UINT64_MAX

/* ---- Control groups ------------------------------------------------------------ */

static inline int group_write(const char *group, const char *file, const char *text)
{
	char path[256];
	int fd, ret = 0;

	snprintf(path, sizeof(path), CGROUPS "/%s/%s", group, file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Returns whether the first line of @group's @file has @word in it. */
static inline bool group_has(const char *group, const char *file, const char *word)
{
	char path[256], text[1024] = "";
	FILE *in;

	snprintf(path, sizeof(path), CGROUPS "/%s/%s", group, file);
	in = fopen(path, "r");
	if (!in)
		return false;
	if (!fgets(text, sizeof(text), in))
		text[0] = 0;
	fclose(in);
	return strstr(text, word);
}

/*
 * Mounts the cgroup hierarchy unless CGROUPS has it, and enables the dmem controller for groups
 * below the root. Returns whether the kernel has the controller and all of this worked.
 */
static inline bool group_controller(void)
{
	if (access(CGROUPS "/cgroup.controllers", R_OK) &&
	    mount("cgroup2", CGROUPS, "cgroup2", 0, NULL))
		return false;
	return group_has("", "cgroup.controllers", "dmem") &&
	       !group_write("", "cgroup.subtree_control", "+dmem");
}

/*
 * Returns the number in the line of @group's @file for the region drm/.../@segment, NO_VALUE if
 * there is no such line. @name, if not NULL, receives the region's name.
 */
static inline uint64_t group_read(const char *group, const char *file, const char *segment,
				  char name[128])
{
	char path[256], line[256], region[128], value[64];
	uint64_t found = NO_VALUE;
	FILE *in;

	snprintf(path, sizeof(path), CGROUPS "/%s/%s", group, file);
	in = fopen(path, "r");
	while (in && fgets(line, sizeof(line), in)) {
		char *last;

		if (sscanf(line, "%127s %63s", region, value) != 2 || strncmp(region, "drm/", 4))
			continue;
		last = strrchr(region, '/');
		if (strcmp(last + 1, segment))
			continue;
		found = strtoull(value, NULL, 10);
		if (name)
			memcpy(name, region, sizeof(region));
	}
	if (in)
		fclose(in);
	return found;
}

/* Writes a limit of a segment to @group's @file; @value NO_VALUE: no limit. */
static inline int group_limit(const char *group, const char *file, const char *segment,
			      uint64_t value)
{
	char name[128], text[192];

	if (group_read("", "dmem.capacity", segment, name) == NO_VALUE)
		return -ENOENT;
	if (value == NO_VALUE)
		snprintf(text, sizeof(text), "%s max", name);
	else
		snprintf(text, sizeof(text), "%s %llu", name, (unsigned long long)value);
	return group_write(group, file, text);
}

static inline uint64_t group_vram(const char *group)
{
	return group_read(group, "dmem.current", "vram", NULL);
}

static inline uint64_t group_aperture(const char *group)
{
	return group_read(group, "dmem.current", "aperture", NULL);
}

/*
 * Calls @ask until @ask returns @expected, at most for TEST_PATIENCE: a group is charged for memory
 * until copies from that memory are done. Returns the last answer.
 */
static inline uint64_t group_settled(const char *group, uint64_t (*ask)(const char *group),
				     uint64_t expected)
{
	int64_t end = pagoda_now() + TEST_PATIENCE;
	uint64_t answer;

	do {
		answer = ask(group);
		if (answer == expected)
			break;
		usleep(10000);
	} while (pagoda_now() < end);
	return answer;
}

static inline int group_make(const char *group)
{
	char path[256];

	snprintf(path, sizeof(path), CGROUPS "/%s", group);
	return mkdir(path, 0755) ? -errno : 0;
}

/* Removes a group. Tries for TEST_PATIENCE: ended processes stay in their group for a moment. */
static inline int group_remove(const char *group)
{
	int64_t end = pagoda_now() + TEST_PATIENCE;
	char path[256];

	snprintf(path, sizeof(path), CGROUPS "/%s", group);
	while (rmdir(path)) {
		if (errno != EBUSY || pagoda_now() > end)
			return -errno;
		usleep(10000);
	}
	return 0;
}

/* ---- Clients ------------------------------------------------------------------- */

/*
 * Orders to a member. Items are the member's allocations, by number; an order is for one item
 * unless the order's comment names other items or none.
 */
enum member_op {
	MEMBER_CREATE,		/* @arg: supported segments */
	MEMBER_CREATE_SPILL,	/* Creates for VRAM and the aperture; evicted to the aperture */
	MEMBER_FILL,
	MEMBER_CHECK,
	MEMBER_RESIDENT,
	MEMBER_RESIDENT_ALL,	/* The first @arg items, in one call; doesn't wait */
	MEMBER_EVICT,
	MEMBER_CLOSE,
	MEMBER_WHERE,
	MEMBER_PRIORITY,	/* @arg: residency priority */
	MEMBER_OFFER,
	MEMBER_RECLAIM,
	MEMBER_LIST,		/* Adds the first @arg items to the residency list, and waits */
	MEMBER_VM,		/* Opens member_state.client: a VM with a context */
	MEMBER_PRIVATE,		/* Creates the item, private to the VM and for VRAM; maps it */
	MEMBER_SUBMIT,		/* An empty job that lists the item unless private; waits */
	MEMBER_SUBMIT_LATER,	/* Such a job, held up by a point; doesn't wait for the job */
	MEMBER_SIGNAL,		/* Signals that point, and waits for the job */
	MEMBER_QUIT,		/* Exits without closing anything */
	MEMBER_USAGE,		/* Answers the client's usage of VRAM by QUERY_MEMORY_INFO */
};

struct member_order {
	enum member_op op;
	uint32_t item;
	uint64_t arg;
};

struct member {
	pid_t pid;
	int orders;
	int answers;
};

struct member_state {
	int fd;
	uint64_t size;
	struct client client;
	uint32_t gate;
	uint32_t handles[ITEMS];
	bool private[ITEMS];
};

static inline int member_create(struct member_state *s, uint32_t item, uint32_t supported,
				uint32_t eviction)
{
	struct drm_pagoda_allocation_create args = {
		.size = s->size,
		.flags = CPU | CACHED,
		.supported = supported,
		.eviction = eviction,
	};
	int ret = pagoda_create_args(s->fd, &args);

	s->handles[item] = args.handle;
	return ret;
}

static inline int member_content(struct member_state *s, uint32_t item, bool check)
{
	const uint64_t key = pagoda_key(77, item, getpid());
	uint8_t *map = pagoda_map(s->fd, s->handles[item], s->size);
	int ret = 0;

	if (!map)
		return -errno;
	if (!check)
		pagoda_fill(map, key, 0, s->size);
	else if (pagoda_check(map, key, 0, s->size) != -1)
		ret = -EILSEQ;
	munmap(map, s->size);
	return ret;
}

static inline int member_private(struct member_state *s, uint32_t item)
{
	int ret = pagoda_create_private(s->fd, s->client.vm.vm, s->size, 0, PAGODA_IN_VRAM,
					&s->handles[item]);

	s->private[item] = true;
	return ret ? ret : pagoda_bind_map(s->fd, s->client.vm.vm, s->handles[item],
					   client_data(&s->client, item), 0, s->size);
}

static inline int member_submit(struct member_state *s, uint32_t item, uint32_t gate)
{
	struct drm_pagoda_sync syncs[] = {
		{ .handle = s->client.syncobj, .flags = DRM_PAGODA_SYNC_SIGNAL },
		{ .handle = gate, .point = 1 },
	};
	struct drm_pagoda_submit_entry entry = { .handle = s->handles[item] };
	struct drm_pagoda_submit args = {
		.syncs = { (uintptr_t)syncs, gate ? 2 : 1, sizeof(*syncs) },
		.entries = { (uintptr_t)&entry, s->private[item] ? 0 : 1, sizeof(entry) },
		.context = s->client.context,
	};

	syncs[0].point = ++s->client.point;
	return pagoda_submit_args(s->fd, &args);
}

static inline int member_list(struct member_state *s, uint32_t count)
{
	uint32_t queue, values;
	uint64_t value = 0;
	int ret = pagoda_paging_queue_create(s->fd, 0, &queue, &values);

	if (!ret)
		ret = pagoda_list_add(s->fd, queue, s->handles, count, 0, &value, NULL);
	if (!ret && value)
		ret = pagoda_syncobj_wait(s->fd, values, value, LIMIT);
	return ret;
}

static inline int64_t member_usage(struct member_state *s)
{
	struct drm_pagoda_query_memory_info info;
	int ret = pagoda_memory_info(s->fd, DRM_PAGODA_SEGMENT_GROUP_LOCAL, &info);

	return ret ? ret : (int64_t)info.current_usage;
}

static inline int64_t member_do(struct member_state *s, const struct member_order *order)
{
	const uint32_t item = order->item, handle = s->handles[item];
	int ret;

	switch (order->op) {
	case MEMBER_CREATE:
		return member_create(s, item, order->arg, 0);
	case MEMBER_CREATE_SPILL:
		return member_create(s, item, PAGODA_IN_VRAM | PAGODA_IN_APERTURE,
				     PAGODA_IN_APERTURE);
	case MEMBER_FILL:
	case MEMBER_CHECK:
		return member_content(s, item, order->op == MEMBER_CHECK);
	case MEMBER_RESIDENT:
		return pagoda_make_resident_wait(s->fd, handle);
	case MEMBER_RESIDENT_ALL:
		return pagoda_make_resident(s->fd, s->handles, order->arg, 0, 0, NULL);
	case MEMBER_EVICT:
		return pagoda_evict_wait(s->fd, handle);
	case MEMBER_CLOSE:
		return pagoda_close(s->fd, handle);
	case MEMBER_WHERE:
		return pagoda_where(s->fd, handle);
	case MEMBER_PRIORITY:
		return pagoda_set_priority(s->fd, handle, order->arg);
	case MEMBER_OFFER:
		return pagoda_offer(s->fd, &handle, 1, DRM_PAGODA_OFFER_LOW, 0);
	case MEMBER_RECLAIM:
		return pagoda_reclaim_one(s->fd, handle);
	case MEMBER_LIST:
		return member_list(s, order->arg);
	case MEMBER_VM:
		return client_open(&s->client, s->fd, 0);
	case MEMBER_PRIVATE:
		return member_private(s, item);
	case MEMBER_SUBMIT:
		ret = member_submit(s, item, 0);
		return ret ? ret : client_wait(&s->client);
	case MEMBER_SUBMIT_LATER:
		ret = pagoda_syncobj_create(s->fd, &s->gate);
		return ret ? ret : member_submit(s, item, s->gate);
	case MEMBER_SIGNAL:
		ret = pagoda_syncobj_signal(s->fd, s->gate, 1);
		return ret ? ret : client_wait(&s->client);
	case MEMBER_USAGE:
		return member_usage(s);
	case MEMBER_QUIT:
		_exit(0);
	}
	return -EINVAL;
}

static inline void member_serve(int orders, int answers, uint64_t size)
{
	struct member_state state = { .size = size };
	struct member_order order;

	state.fd = pagoda_open();
	while (read(orders, &order, sizeof(order)) == sizeof(order)) {
		int64_t answer = state.fd < 0 ? state.fd : member_do(&state, &order);

		if (write(answers, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

/*
 * Starts a member, whose allocations have @size bytes each, in @group. Returns 0 or a negative
 * errno. If the member can't enter the group, the member exits.
 */
static inline int member_join(struct member *m, const char *group, uint64_t size)
{
	int orders[2], answers[2];

	if (pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		return -errno;
	m->pid = fork();
	if (m->pid < 0)
		return -errno;
	if (!m->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(orders[1]);
		close(answers[0]);
		if (group_write(group, "cgroup.procs", "0"))
			_exit(1);
		member_serve(orders[0], answers[1], size);
	}
	close(orders[0]);
	close(answers[1]);
	m->orders = orders[1];
	m->answers = answers[0];
	return 0;
}

/* Sends an order. Returns the member's answer, a negative errno if the order failed, or -EPIPE. */
static inline int64_t member_ask(struct member *m, enum member_op op, uint32_t item, uint64_t arg)
{
	const struct member_order order = { .op = op, .item = item, .arg = arg };
	int64_t answer;

	if (write(m->orders, &order, sizeof(order)) != sizeof(order) ||
	    read(m->answers, &answer, sizeof(answer)) != sizeof(answer))
		return -EPIPE;
	return answer;
}

/* Ends a member, if it was started, by the order to exit, or by SIGKILL if @kill_it; waits. */
static inline void member_leave(struct member *m, bool kill_it)
{
	if (!m->pid)
		return;
	if (kill_it)
		kill(m->pid, SIGKILL);
	else
		member_ask(m, MEMBER_QUIT, 0, 0);
	close(m->orders);
	close(m->answers);
	waitpid(m->pid, NULL, 0);
	m->pid = 0;
}

/*
 * Has a member create, write and make resident the items from @first up to, but without, @end.
 * Returns 0 or the negative errno of the first order that failed.
 */
static inline int64_t member_bring(struct member *m, uint32_t first, uint32_t end,
				   uint32_t supported)
{
	int64_t ret = 0;

	for (; first < end && !ret; first++) {
		ret = member_ask(m, MEMBER_CREATE, first, supported);
		if (!ret)
			ret = member_ask(m, MEMBER_FILL, first, 0);
		if (!ret)
			ret = member_ask(m, MEMBER_RESIDENT, first, 0);
	}
	return ret;
}

/* Has a member create items @first to @end - 1 for VRAM, unwritten and not resident: no memory. */
static inline int64_t member_make(struct member *m, uint32_t first, uint32_t end)
{
	int64_t ret = 0;

	for (; first < end && !ret; first++)
		ret = member_ask(m, MEMBER_CREATE, first, PAGODA_IN_VRAM);
	return ret;
}

/* Returns how many of a member's items from @first up to, but without, @end are in VRAM. */
static inline uint32_t member_in_vram(struct member *m, uint32_t first, uint32_t end)
{
	uint32_t found = 0;

	for (; first < end; first++)
		found += member_ask(m, MEMBER_WHERE, first, 0) == DRM_PAGODA_SEGMENT_VRAM;
	return found;
}

/* Returns 0 if the items from @first up to, but without, @end have the content of MEMBER_FILL. */
static inline int64_t member_check(struct member *m, uint32_t first, uint32_t end)
{
	int64_t ret = 0;

	for (; first < end && !ret; first++)
		ret = member_ask(m, MEMBER_CHECK, first, 0);
	return ret;
}

#endif
