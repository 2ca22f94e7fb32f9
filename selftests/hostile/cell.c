// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a cell: starts, watches and kills the processes of one measurement. The runner never waits
 * for the device without a limit, because an attack may have stopped the device.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

#define ATTACKER_USER	4001
#define VICTIM_USER	4002
#define MANY_FILES	65536

#define READY_LIMIT	(90 * PAGODA_SEC)
#define GONE_LIMIT	(20 * PAGODA_SEC)
#define SETTLE_LIMIT	(15 * PAGODA_SEC)
/* Victim `life`: an attacker is at work for this long before it is killed. */
#define LIFE_NS		(200 * MS)
/* Wait before the kernel's memory is measured: after LIFE_NS of an attack, and after its end. */
#define LOOK_NS		(2 * PAGODA_SEC)

#define CGROUP		"/tmp/cgroup/hostile/"

static struct cell *cell;
static uint64_t vram_before;

/* --- the attacker's side ---------------------------------------------------------------------- */

void attack_ready(struct cell *shared)
{
	if (!atomic_load(&shared->clients))
		atomic_store(&shared->clients, 1);
	atomic_store(&shared->ready, 1);
}

void attack_op(struct cell *shared)
{
	atomic_fetch_add(&shared->ops, 1);
}

noreturn void attack_failed(struct cell *shared, const char *what, int ret)
{
	snprintf(shared->what, sizeof(shared->what), "%s: %s", what, strerror(-ret));
	atomic_store(&shared->ready, ret < 0 ? ret : -EINVAL);
	_exit(1);
}

void attack_check(struct cell *shared, const char *what, int ret)
{
	if (ret < 0)
		attack_failed(shared, what, ret);
}

/* --- processes -------------------------------------------------------------------------------- */

/*
 * fork() of a process that leads a process group, which can be killed as a whole, and that is
 * killed when the runner ends.
 */
static pid_t start(void)
{
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	} else if (pid > 0) {
		setpgid(pid, pid);
	}
	return pid;
}

static void become(uid_t user)
{
	struct rlimit files = { MANY_FILES, MANY_FILES };

	setrlimit(RLIMIT_NOFILE, &files);
	if (setresgid(user, user, user) || setresuid(user, user, user))
		_exit(1);
	/* The change of the user has cleared the signal that start() set. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Reaps dead processes of a process group. Returns whether no process of the group is left. */
static bool is_gone(pid_t group)
{
	pid_t pid;

	do {
		pid = waitpid(-group, NULL, WNOHANG);
	} while (pid > 0);
	return pid < 0;
}

/*
 * Kills a process group. Returns the nanoseconds until all its processes are gone, or -ETIME if
 * processes are left after GONE_LIMIT.
 */
static int64_t end(pid_t group)
{
	int64_t begin = pagoda_now(), now = begin;
	bool gone;

	kill(-group, SIGKILL);
	do {
		gone = is_gone(group);
		now = pagoda_now();
		if (!gone)
			usleep(200);
	} while (!gone && now < begin + GONE_LIMIT);
	return gone ? now - begin : -ETIME;
}

static void fail(struct outcome *o, const char *reason)
{
	if (!o->reason)
		o->reason = reason;
}

/*
 * Checks the device after a cell, as a new client. Returns 1 if a client can't be made or its job
 * isn't executed. Else waits, at most for SETTLE_LIMIT, until VRAM of dead clients is free, which
 * needs their jobs and copies to end, and returns 0.
 */
static int look(void)
{
	int64_t limit = pagoda_now() + SETTLE_LIMIT;
	struct client c;

	if (client_open(&c, VICTIM_ENGINE) || client_submit(&c, NULL, 0) ||
	    client_wait(&c, SAMPLE_LIMIT))
		return 1;
	client_close(&c);
	c.fd = pagoda_open();
	if (c.fd < 0)
		return 1;
	while (pagoda_usage(c.fd, DRM_PAGODA_SEGMENT_VRAM) > vram_before && pagoda_now() < limit)
		usleep(2000);
	return 0;
}

/* Calls look() in another process, because look() may hang: a hang or a failure spoils the cell. */
static void settle(struct outcome *o)
{
	int64_t limit = pagoda_now() + SETTLE_LIMIT + SAMPLE_LIMIT;
	pid_t pid = start();
	int status;

	if (!pid)
		_exit(look());
	while (pagoda_now() < limit) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			if (!status)
				return;
			o->spoilt = true;
			fail(o, "the device does not answer afterwards");
			return;
		}
		usleep(1000);
	}
	end(pid);
	o->spoilt = true;
	fail(o, "a client hangs afterwards");
}

/* --- the attacker ----------------------------------------------------------------------------- */

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
	close(fd);
	return ret;
}

/* Limits the attacker's threads to @quota_us of processor time in each second, all together. */
static int set_quota(pid_t pid, uint32_t quota_us)
{
	char text[32];
	int ret;

	snprintf(text, sizeof(text), "%u 1000000", quota_us);
	ret = write_file(CGROUP "cpu.max", text);
	snprintf(text, sizeof(text), "%d", pid);
	return ret ? ret : write_file(CGROUP "cgroup.procs", text);
}

/* Starts the attacker, and waits until it is at work. Returns its pid; 0: the attack failed. */
static pid_t attack(const struct attacker *attacker, struct outcome *o)
{
	int64_t limit = pagoda_now() + READY_LIMIT;
	pid_t pid;

	memset(cell, 0, sizeof(*cell));
	pid = start();
	if (!pid) {
		write_file("/proc/self/oom_score_adj", "1000");
		become(ATTACKER_USER);
		attacker->run(cell);
		_exit(1);
	}
	while (!atomic_load(&cell->ready) && pagoda_now() < limit && !is_gone(pid))
		usleep(1000);
	if (atomic_load(&cell->ready) == 1 &&
	    (!attacker->quota_us || !set_quota(pid, attacker->quota_us)))
		return pid;
	snprintf(o->text, sizeof(o->text), "no attack: %s", cell->what);
	fail(o, o->text);
	if (end(pid) < 0)
		o->spoilt = true;
	return 0;
}

/* --- the victim ------------------------------------------------------------------------------- */

/*
 * Waits for the victim's end, and tells the victim to stop after patience.most. Returns true if the
 * victim ended, false if a step (cell.since) takes longer than SAMPLE_LIMIT: the victim still runs.
 */
static bool watch(pid_t victim, const struct patience *patience, struct outcome *o)
{
	int64_t begin = pagoda_now(), since;
	int status;

	for (;;) {
		if (waitpid(victim, &status, WNOHANG) == victim) {
			if (cell->error) {
				snprintf(o->text, sizeof(o->text), "refused: %s",
					 strerror(-cell->error));
				fail(o, o->text);
			} else if (status) {
				fail(o, "the victim died");
			}
			return true;
		}
		since = atomic_load(&cell->since);
		if (since && pagoda_now() > since + SAMPLE_LIMIT) {
			fail(o, "a sample, or the victim's end, took more than 20 s");
			return false;
		}
		if (pagoda_now() > begin + patience->most)
			atomic_store(&cell->stop, 1);
		usleep(5000);
	}
}

/*
 * Runs the victim and takes over its samples. Returns 0, or the pid of a victim that had to be
 * killed and that may not be gone before the attacker is.
 */
static pid_t measure(const struct victim *victim, const struct patience *patience,
		     struct outcome *o)
{
	pid_t pid = start();
	bool ended;

	if (!pid) {
		if (!victim->root)
			become(VICTIM_USER);
		_exit(victim_run(victim, cell, patience->least) ? 1 : 0);
	}
	ended = watch(pid, patience, o);
	if (!ended)
		kill(-pid, SIGKILL);
	o->count = atomic_load(&cell->count);
	memcpy(o->taken, cell->taken, sizeof(o->taken));
	memcpy(o->rest, cell->rest, sizeof(o->rest));
	return ended ? 0 : pid;
}

/* Called after the attacker's end: a killed victim (0 = none) that isn't gone spoils the cell. */
static void measured(pid_t victim, struct outcome *o)
{
	if (victim && end(victim) < 0)
		o->spoilt = true;
}

/* Returns whether the cell has as many samples as are wanted. @life: the victim is `life`. */
static bool has_enough(const struct outcome *o, bool life)
{
	int64_t sum = 0;
	uint32_t n;

	for (n = 0; n < o->count; n++)
		sum += o->taken[n];
	return o->count >= SAMPLES || (o->count >= SAMPLES_SLOW &&
				       (life || sum > SLOW_NS * o->count));
}

/* --- cells ------------------------------------------------------------------------------------ */

static void look_at_memory(pid_t pid, int64_t before, struct footprint *footprint)
{
	usleep(LOOK_NS / 1000);
	footprint->kernel = memory_kernel() - before;
	footprint->charged = memory_charged(pid);
	footprint->clients = atomic_load(&cell->clients);
}

/* Starts the attacker again and again, and measures how long its processes take to die. */
static void run_life(const struct attacker *attacker, const struct patience *patience,
		     struct outcome *o, struct footprint *footprint)
{
	int64_t begin = pagoda_now(), before = memory_kernel(), taken;
	pid_t pid;

	while (o->count < SAMPLES_SLOW && pagoda_now() < begin + patience->most && !o->spoilt) {
		pid = attack(attacker, o);
		if (!pid)
			break;
		usleep(LIFE_NS / 1000);
		if (!o->count && footprint)
			look_at_memory(pid, before, footprint);
		o->ops += atomic_load(&cell->ops);
		taken = end(pid);
		if (taken < 0) {
			o->spoilt = true;
			fail(o, "not dead 20 s after SIGKILL");
			break;
		}
		/* o->rest stays 0: closing a file waits for no job, so nothing is subtracted. */
		o->taken[o->count++] = taken;
		if (o->count == 1 && footprint) {
			usleep(LOOK_NS / 1000);
			footprint->left = memory_kernel() - before;
			footprint->known = true;
		}
		settle(o);
	}
}

/* Measures a victim beside an attacker, then kills the attacker. */
static void run_beside(const struct attacker *attacker, const struct victim *victim,
		       const struct patience *patience, struct outcome *o)
{
	pid_t pid = attack(attacker, o), left;

	if (pid) {
		left = measure(victim, patience, o);
		o->ops = atomic_load(&cell->ops);
		if (atomic_load(&cell->ready) < 0 || is_gone(pid)) {
			snprintf(o->text, sizeof(o->text), "the attacker ended: %s", cell->what);
			fail(o, o->text);
		}
		if (end(pid) < 0) {
			o->spoilt = true;
			fail(o, "the attacker is not dead 20 s after SIGKILL");
		}
		measured(left, o);
	}
}

void cell_run(const struct attacker *attacker, const struct victim *victim,
	      const struct patience *patience, struct outcome *o, struct footprint *footprint)
{
	memset(o, 0, sizeof(*o));
	if (victim->life) {
		run_life(attacker ? attacker : &idle, patience, o, footprint);
	} else if (attacker) {
		run_beside(attacker, victim, patience, o);
	} else {
		memset(cell, 0, sizeof(*cell));
		measured(measure(victim, patience, o), o);
	}
	if (!o->spoilt)
		settle(o);
	if (attacker && !o->ops)
		fail(o, "the attacker did nothing");
	if (!has_enough(o, victim->life))
		fail(o, "too few samples");
}

void cell_machine_setup(void)
{
	int fd = pagoda_open();

	if (fd < 0) {
		fprintf(stderr, "hostile: no device: %s\n", strerror(-fd));
		exit(2);
	}
	vram_before = pagoda_usage(fd, DRM_PAGODA_SEGMENT_VRAM);
	close(fd);
	cell = mmap(NULL, sizeof(*cell), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	/* The runner reaps children of a dead attacker, too. */
	if (cell == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1))
		exit(2);
}
