/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile: attackers and victims, each a function, every pair measured.
 *
 * A cell is one measurement: an attacker (or an ordinary client, or none) is at work in one
 * process, a victim repeats its operation in another process. Both are clients of their own, of
 * users of their own. What they tell the runner is in memory that all three share.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#include "lib/pagoda_commands.h"
#include "lib/pagoda_lib.h"

#define MS			1000000ll
/* Samples of a cell: wanted, wanted where a sample takes more than SLOW_NS, and most. */
#define SAMPLES			200u
#define SAMPLES_SLOW		30u
#define SAMPLES_MAX		4096u
#define SLOW_NS			(100 * MS)
/* A sample that takes so long is the last of its cell, which has failed. */
#define SAMPLE_LIMIT		(20 * PAGODA_SEC)

/* Attackers and ordinary clients submit to the first engine, victims to the second. */
#define ATTACKER_ENGINE		0u
#define VICTIM_ENGINE		1u

#define CPU_VISIBLE		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define CPU_CACHED		(CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CACHED)
#define ANYWHERE		(PAGODA_IN_VRAM | PAGODA_IN_APERTURE)

/*
 * What the processes of a cell share.
 * @ops: operations of the attack that were begun
 * @ready: 1: the attacker is at work; or the negative errno of what failed
 * @clients: open files of the attacker
 * @job_begin: when the attacker's running job began; 0 = no job of a known length runs
 * @job_ns: how long each job of the attacker runs
 * @stop: the victim ends after its current sample
 * @since: when the sample in progress, with what comes before and after, or the end of the victim
 *	began; 0 = neither has
 * @count: samples taken
 * @error: negative errno of the victim's operation
 * @taken: time of each sample
 * @rest: what was left of the two jobs on the attacker's engine when the sample began
 */
struct cell {
	atomic_ullong ops;
	atomic_int ready;
	atomic_int clients;
	atomic_llong job_begin;
	atomic_llong job_ns;
	atomic_int stop;
	atomic_llong since;
	atomic_uint count;
	int error;
	char what[64];
	int64_t taken[SAMPLES_MAX];
	int64_t rest[SAMPLES_MAX];
};

/* Rest of the job that runs on the attacker's engine, and all of the job behind that job. */
static inline int64_t cell_rest(const struct cell *cell, int64_t now)
{
	int64_t begin = atomic_load(&cell->job_begin), length = atomic_load(&cell->job_ns);
	int64_t left = begin + length - now;

	if (!begin)
		return 0;
	return (left > 0 ? left : 0) + length;
}

/* --- a client: client.c ----------------------------------------------------------------------- */

#define CODE_SIZE		(64 * PAGODA_KIB)

/*
 * An open file with a VM, a context and a page of commands that its jobs execute.
 * @next: first address that was not given to an allocation
 */
struct client {
	struct pagoda_program program;
	uint64_t next;
	uint64_t point;
	uint64_t vram;
	uint32_t engine;
	uint32_t vm;
	uint32_t context;
	uint32_t syncobj;
	uint32_t code;
	int fd;
};

int client_open(struct client *c, uint32_t engine);
void client_close(struct client *c);
/* Another context of the client's VM; later jobs go to this context. */
int client_context(struct client *c);
/* Free addresses, at the begin of a page table of their own. */
uint64_t client_place(struct client *c, uint64_t size);
/* An allocation of @size bytes with an address. */
int client_allocation(struct client *c, uint64_t size, uint32_t flags, uint32_t supported,
		      uint32_t *handle, uint64_t *address);
/* @count allocations without addresses. */
int client_allocations(struct client *c, uint32_t count, uint64_t size, uint32_t supported,
		       uint32_t *handles);
/* Submits the client's commands; the job signals the next point of the client's syncobj. */
int client_submit(struct client *c, const uint32_t *handles, uint32_t count);
/* Waits for the last job. */
int client_wait(const struct client *c, int64_t timeout_ns);

/*
 * Jobs of a known length: each waits for a word, which a thread gives its value when the job has
 * run for so long.
 * @late: no job began for the time of several jobs: the context is banned, or nothing is queued
 */
struct clock {
	struct client *client;
	struct cell *cell;
	int64_t length;
	atomic_bool late;
};

/* Makes the client's commands such a job of 0.95 of the device's time limit. */
int clock_start(struct clock *clock, struct client *client, struct cell *cell);

/* --- attackers -------------------------------------------------------------------------------- */

/* The attack is prepared, victims may be measured. */
void attack_ready(struct cell *cell);
/* Called when an operation of the attack begins. */
void attack_op(struct cell *cell);
/* Ends the process: the attack cannot be prepared. */
noreturn void attack_failed(struct cell *cell, const char *what, int ret);
void attack_check(struct cell *cell, const char *what, int ret);

/*
 * @run: prepares the attack, calls attack_ready() and goes on until the process is killed
 * @quota_us: microseconds of processor time that the process gets in each second, 0 = no limit
 */
struct attacker {
	const char *name;
	void (*run)(struct cell *cell);
	uint32_t quota_us;
};

extern const struct attacker attackers[];
extern const uint32_t attackers_count;
/* The neighbour that each attack is compared with. */
extern const struct attacker ordinary;
/* A client that does nothing, for the life of a client beside which nothing happens. */
extern const struct attacker idle;

/* attack_jobs.c, attack_memory.c, attack_objects.c, attack_threads.c */
void attack_queue_close(struct cell *cell);
void attack_queue_evict(struct cell *cell);
void attack_queue_unmap(struct cell *cell);
void attack_misfit_jobs(struct cell *cell);
void attack_offered(struct cell *cell);
void attack_faults(struct cell *cell);
void attack_late_fence(struct cell *cell);
void attack_submit_wait(struct cell *cell);

void attack_ordinary(struct cell *cell);
void attack_idle(struct cell *cell);
void attack_misfit(struct cell *cell);
void attack_resident(struct cell *cell);
void attack_map(struct cell *cell);
void attack_contiguous(struct cell *cell);
void attack_zero_pages(struct cell *cell);
void attack_maximum(struct cell *cell);
void attack_many_vms(struct cell *cell);

void attack_vms(struct cell *cell);
void attack_contexts(struct cell *cell);
void attack_fences(struct cell *cell);
void attack_listeners(struct cell *cell);
void attack_queues(struct cell *cell);
void attack_files(struct cell *cell);
void attack_fork(struct cell *cell);
void attack_bind_queue(struct cell *cell);
void attack_bind_ready(struct cell *cell);

void attack_userfault(struct cell *cell);
void attack_sched_idle(struct cell *cell);
void attack_cpu_max(struct cell *cell);

/* --- victims: victims.c ----------------------------------------------------------------------- */

/* What a victim's functions share. */
struct victim_state {
	struct client client;
	uint32_t handle;
	uint64_t address;
	uint32_t id;
	bool flag;
	char *map;
	int fd;
};

/*
 * @open: once; @before and @after: around each sample; only @op is timed. NULL: nothing to do.
 * @root: runs as root, for debugfs and /sys/power
 * @life: no operation of a victim is timed but the attacker's end
 * @sleeps: the machine sleeps
 */
struct victim {
	const char *name;
	int (*open)(struct victim_state *v);
	int (*before)(struct victim_state *v);
	int (*op)(struct victim_state *v);
	int (*after)(struct victim_state *v);
	bool root;
	bool life;
	bool sleeps;
};

extern const struct victim victims[];
extern const uint32_t victims_count;

/* Takes samples until there are enough, for at least @least_ns. Runs in the victim's process. */
int victim_run(const struct victim *victim, struct cell *cell, int64_t least_ns);

/* --- a cell: cell.c --------------------------------------------------------------------------- */

/*
 * What a cell found; times in nanoseconds.
 * @reason: why it failed, or NULL
 * @spoilt: processes are left that don't die, or the device doesn't answer
 */
struct outcome {
	int64_t taken[SAMPLES_MAX];
	int64_t rest[SAMPLES_MAX];
	uint32_t count;
	uint64_t ops;
	const char *reason;
	bool spoilt;
	char text[128];
};

/* What the kernel holds on behalf of a client, in KiB; see memory.c. */
struct footprint {
	int64_t kernel;
	int64_t charged;
	int64_t left;
	int clients;
	bool known;
};

/* Times of a cell in nanoseconds: at least, at most. */
struct patience {
	int64_t least;
	int64_t most;
};

/* @attacker NULL: none. @footprint: filled in if the victim is the attacker's life. */
void cell_run(const struct attacker *attacker, const struct victim *victim,
	      const struct patience *patience, struct outcome *outcome,
	      struct footprint *footprint);
/* Prepares the machine, as root. */
void cell_machine_setup(void);

/* --- memory: memory.c ------------------------------------------------------------------------- */

/* KiB that the kernel uses, without page cache, programs, and pages that TTM keeps to use again. */
int64_t memory_kernel(void);
/* KiB of allocations with pages of the clients of a process. */
int64_t memory_charged(pid_t pid);

/* --- the table: table.c ----------------------------------------------------------------------- */

/* A cell without its samples: microseconds. @subtracted: the most that was from a sample */
struct figures {
	double p50;
	double p99;
	double max;
	double subtracted;
	uint32_t count;
};

/*
 * The figures of a cell. @base_ns: what a sample takes without an attack; what is longer is reduced
 * by the rest of the attacker's jobs, but not below @base_ns.
 */
void table_figures(const struct outcome *outcome, int64_t base_ns, struct figures *raw,
		   struct figures *reduced);
/* Appends to @line the row of a pair: fields are separated by tabs. Returns the verdict. */
const char *table_row(char *line, uint32_t size, const char *attacker, const struct victim *victim,
		      const struct outcome *outcome, const struct figures *alone,
		      const struct figures *beside);
extern const char table_header[];
/* Says what the rows in a file come to. Returns 1 if a pair isn't ok, 2 if the file isn't there. */
int table_report(const char *path);

#endif
