/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile: measures how much attackers slow down other clients, each attacker beside each victim.
 *
 * A cell is one measurement: an attacker (or an ordinary client, or none) is at work in a process,
 * maybe with children, while a victim repeats its operation in another process. Attacker and victim
 * are clients of different users. Both report to the runner by memory that all processes share,
 * struct cell. The victim `life` has no process: the attacker's own end is measured.
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
/* Samples of a cell: wanted; wanted for `life`, or if their average is above SLOW_NS; most. */
#define SAMPLES			200u
#define SAMPLES_SLOW		30u
#define SAMPLES_MAX		4096u
#define SLOW_NS			(100 * MS)
/* A cell fails, and takes no further samples, if a step (cell.since) takes longer than this. */
#define SAMPLE_LIMIT		(20 * PAGODA_SEC)

/* Attackers and ordinary clients submit to the first engine, victims to the second. */
#define ATTACKER_ENGINE		0u
#define VICTIM_ENGINE		1u

#define CPU_VISIBLE		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define CPU_CACHED		(CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CACHED)
#define ANYWHERE		(PAGODA_IN_VRAM | PAGODA_IN_APERTURE)

/*
 * What the processes of a cell share.
 * @ops: number of operations that the attack has begun
 * @ready: 1: the attacker is at work; 0: not yet; or the negative errno of what failed
 * @clients: open files of the attacker
 * @job_begin: when the attacker's latest job of a known length began; 0 = none, or clock.late
 * @job_ns: how long each job of a known length runs
 * @stop: the victim ends after its current sample
 * @since: when the victim's current step began: victim.open(), a sample with victim.before() and
 *	victim.after(), or the victim's end; 0 = the victim hasn't begun
 * @count: samples taken
 * @error: 0, or the negative errno with which the victim ended
 * @what: what the attacker failed at, and the error, if @ready is negative
 * @taken: time of each sample in nanoseconds
 * @rest: cell_rest() when each sample began
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

/*
 * Nanoseconds that the attacker's latest job of a known length has left, plus the length of a job
 * behind that job, even if no job is queued. 0 if cell.job_begin is 0.
 */
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
 * An open file with a VM, a context, a syncobj, and memory with the commands that its jobs execute.
 * @program: the commands
 * @next: end of the addresses that client_place() has given out
 * @point: point of @syncobj that the last job signals
 * @vram: bytes of VRAM of the device
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
/* Creates another context in the client's VM, for later jobs. The old context stays. */
int client_context(struct client *c);
/* Returns the first of @size bytes of free addresses, at which the range of a page table begins. */
uint64_t client_place(struct client *c, uint64_t size);
/* Creates an allocation of @size bytes and maps the allocation in the client's VM. */
int client_allocation(struct client *c, uint64_t size, uint32_t flags, uint32_t supported,
		      uint32_t *handle, uint64_t *address);
/* Creates @count allocations of @size bytes each, which aren't mapped in the VM. */
int client_allocations(struct client *c, uint32_t count, uint64_t size, uint32_t supported,
		       uint32_t *handles);
/* Submits the client's commands; the job signals the next point of the client's syncobj. */
int client_submit(struct client *c, const uint32_t *handles, uint32_t count);
/* Waits for the point of the job that was submitted last. */
int client_wait(const struct client *c, int64_t timeout_ns);

/*
 * Jobs of a known length: each waits until a word in memory is 1, and a thread of the attacker
 * writes the 1 when the job has run for @length nanoseconds.
 * @late: no job began for the time of three jobs, as when the context is banned
 */
struct clock {
	struct client *client;
	struct cell *cell;
	int64_t length;
	atomic_bool late;
};

/*
 * Makes the client's commands a job that lasts for 0.95 of the device's limit for a job, and starts
 * the thread that ends such jobs.
 */
int clock_start(struct clock *clock, struct client *client, struct cell *cell);

/* --- attackers -------------------------------------------------------------------------------- */

/* Tells the runner that the attacker is at work: a victim may be measured. */
void attack_ready(struct cell *cell);
/* Called when an operation of the attack begins. */
void attack_op(struct cell *cell);
/* Tells the runner that @what failed with the negative errno @ret, and ends the process. */
noreturn void attack_failed(struct cell *cell, const char *what, int ret);
/* attack_failed() if @ret is negative. */
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
/* A client that pages as fast as the device copies, with which each attacker is compared. */
extern const struct attacker ordinary;
/* A client that does nothing: its end is measured where the victim `life` has no attacker. */
extern const struct attacker idle;

/*
 * attacker.run() of each attacker, `ordinary` and `idle` included: in attack_jobs.c,
 * attack_memory.c, attack_objects.c and attack_threads.c, in this order.
 */
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

/* State of a victim, for all of its functions: each victim uses some of the members. */
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
 * What is measured beside an attacker. NULL: nothing to do. EBUSY or ENOMEM: the call is repeated.
 * @open: called before all samples
 * @before: called before @op, not timed
 * @op: the operation, whose time is the sample
 * @after: called after @op, not timed
 * @root: runs as root, for debugfs and /sys/power
 * @life: has no functions; the time from SIGKILL to the end of the attacker is the sample
 * @sleeps: @op has the machine sleep
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

/*
 * Takes samples until there are SAMPLES_MAX, or enough after @least_ns, or cell.stop is set. Runs
 * in the victim's process. Returns 0 or the negative errno of a function of the victim.
 */
int victim_run(const struct victim *victim, struct cell *cell, int64_t least_ns);

/* --- a cell: cell.c --------------------------------------------------------------------------- */

/*
 * Result of a cell; times in nanoseconds.
 * @taken: time of each sample
 * @rest: cell.rest of each sample
 * @count: number of samples
 * @ops: operations of the attack
 * @reason: why the cell failed, NULL = the cell didn't fail
 * @spoilt: processes are left that don't die, or the device doesn't answer
 * @text: room for a @reason that isn't constant
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

/*
 * Memory that the kernel uses for an attacker, in KiB.
 * @kernel: memory that the kernel uses more while the attacker is at work than before
 * @charged: memory_charged() of the attacker
 * @left: memory that the kernel uses more after the attacker's end than before the attacker
 * @clients: open files of the attacker
 * @known: the other members are set
 */
struct footprint {
	int64_t kernel;
	int64_t charged;
	int64_t left;
	int clients;
	bool known;
};

/*
 * For how long a cell takes samples, in nanoseconds: for @least even if there are enough before
 * (but for `life`); after @most the victim has to stop, even if there are too few.
 */
struct patience {
	int64_t least;
	int64_t most;
};

/*
 * Runs a cell and fills in @outcome. @attacker: NULL = the victim is alone. @footprint: filled in
 * if the victim is `life` and a sample was taken; NULL = not wanted.
 */
void cell_run(const struct attacker *attacker, const struct victim *victim,
	      const struct patience *patience, struct outcome *outcome,
	      struct footprint *footprint);
/* Prepares the runner, which is root, for cells. Ends the program if there is no device. */
void cell_machine_setup(void);

/* --- memory: memory.c ------------------------------------------------------------------------- */

/* KiB of memory that the kernel uses, without page cache, programs' memory and TTM's page pool. */
int64_t memory_kernel(void);
/* KiB of system memory that fdinfo shows for the allocations of a process's clients. */
int64_t memory_charged(pid_t pid);

/* --- the table: table.c ----------------------------------------------------------------------- */

/*
 * Figures of a cell's samples, in microseconds. @subtracted: the most that table_figures() has
 * subtracted from a sample, 0 in its @raw. @count: number of samples
 */
struct figures {
	double p50;
	double p99;
	double max;
	double subtracted;
	uint32_t count;
};

/*
 * Computes figures of a cell: @raw of its samples, @reduced of its samples minus outcome.rest, the
 * rest of the attacker's jobs. A sample is not reduced below @base_ns, the median of samples beside
 * an ordinary client, or 0.
 */
void table_figures(const struct outcome *outcome, int64_t base_ns, struct figures *raw,
		   struct figures *reduced);
/*
 * Writes the row of a pair to @line: the fields of table_header[], separated by tabs. Returns the
 * verdict. @alone, @beside: figures of the victim alone, and beside an ordinary client.
 */
const char *table_row(char *line, uint32_t size, const char *attacker, const struct victim *victim,
		      const struct outcome *outcome, const struct figures *alone,
		      const struct figures *beside);
extern const char table_header[];
/*
 * Prints how many of the pairs in a file of rows are ok, slow and failed, and which pairs failed or
 * are slowest. Returns 0 if all are ok, 1 if not or if there is no row, 2 if @path can't be read.
 */
int table_report(const char *path);

#endif
