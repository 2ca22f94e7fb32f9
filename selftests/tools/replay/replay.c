// SPDX-License-Identifier: GPL-2.0
/*
 * replay: runs a residency trace of a real program against the device and verifies content: the GPU
 * hashes all of an allocation at every use as a source (not with --cpu), and the CPU compares all
 * of an allocation at every read back, and all that are left at the end.
 *
 * A VRAM size is a parameter of the software GPU's module, so a run has two halves: `replay --plan`
 * says which VRAM a fraction of the trace's largest frame is, the caller loads the modules with it,
 * and the same command without --plan replays.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/pagoda_lib.h"
#include "replay.h"

/*
 * Least VRAM that sizes are scaled for: in less, rounding to whole MiB, the unit of the module's
 * parameter, would change the fraction.
 */
#define SMALLEST_VRAM	(16 * PAGODA_MIB)
#define CLIENTS_MAX	64

static const char usage_text[] =
"usage: replay [options] TRACE\n"
"Replays a residency trace (see traces/README; decompressed) and verifies every byte.\n"
"\n"
"  --vram FRACTION  VRAM as a part of the largest frame's working set; the device must have it\n"
"  --plan           with --vram: only print vram_mb=, scale= and more for the shell to eval\n"
"  --scale N        multiply all sizes (default: with --vram the smallest that makes VRAM at\n"
"                   least 16 MiB, else 1)\n"
"  --frames N       stop after N frames (default: all)\n"
"  --clients N      N processes at once, each with content of its own (default 1)\n"
"  --queued N       N batches in flight, at most 63 (default 3)\n"
"  --seed N         of the content (default 1)\n"
"  --rival FROM:TO  another program wants half of VRAM, from one frame to the other\n"
"  --cpu            make resident what is used instead of having the GPU use it\n"
"  --verify-free    also verify an allocation before it is freed\n"
"  --verbose N      say how far it is every N frames\n"
"\n"
"The last line: replay TRACE: frames=N paged_in=N paged_out=N evictions=N mismatches=N\n"
"(bytes; frames summed over clients). Fails if anything mismatched or failed.\n";

static int usage(int status)
{
	fputs(usage_text, status ? stderr : stdout);
	exit(status);
}

static unsigned long long number(const char *text, unsigned long long max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || *end || end == text || *text == '-' || value > max) {
		fprintf(stderr, "replay: %s: not a number up to %llu\n", text, max);
		exit(2);
	}
	return value;
}

static double fraction(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (*end || end == text || !(value >= 0.01 && value <= 16)) {
		fprintf(stderr, "replay: %s: not a fraction from 0.01 to 16\n", text);
		exit(2);
	}
	return value;
}

/* Parses FROM:TO, two numbers of frames, the second higher than the first. */
static void parse_rival(char *text, struct replay_options *o)
{
	char *to = strchr(text, ':');

	if (!to)
		usage(2);
	*to++ = 0;
	o->rival_from = number(text, 1u << 30);
	o->rival_to = number(to, 1u << 30);
	if (!o->rival_from || o->rival_to <= o->rival_from)
		usage(2);
}

static void parse_options(int argc, char **argv, struct replay_options *o)
{
	static const struct option options[] = {
		{ "vram", required_argument, NULL, 'v' },
		{ "plan", no_argument, NULL, 'p' },
		{ "scale", required_argument, NULL, 's' },
		{ "frames", required_argument, NULL, 'f' },
		{ "clients", required_argument, NULL, 'c' },
		{ "queued", required_argument, NULL, 'q' },
		{ "seed", required_argument, NULL, 'r' },
		{ "rival", required_argument, NULL, 'R' },
		{ "cpu", no_argument, NULL, 'C' },
		{ "verify-free", no_argument, NULL, 'd' },
		{ "verbose", required_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		switch (c) {
		case 'v':
			o->vram = fraction(optarg);
			break;
		case 'p':
			o->plan = true;
			break;
		case 's':
			o->scale = number(optarg, 4096);
			break;
		case 'f':
			o->frames = number(optarg, 1u << 30);
			break;
		case 'c':
			o->clients = number(optarg, CLIENTS_MAX);
			break;
		case 'q':
			o->queued = number(optarg, REPLAY_QUEUED_MAX);
			break;
		case 'r':
			o->seed = number(optarg, UINT64_MAX);
			break;
		case 'R':
			parse_rival(optarg, o);
			break;
		case 'C':
			o->cpu = true;
			break;
		case 'd':
			o->verify_free = true;
			break;
		case 'V':
			o->verbose = number(optarg, 1u << 30);
			break;
		default:
			usage(c == 'h' ? 0 : 2);
		}
	}
	if (optind + 1 != argc || (o->plan && !o->vram) || !o->clients || !o->queued)
		usage(2);
	o->path = argv[optind];
}

struct plan {
	struct trace_demand demand;
	uint64_t vram_mb;
	unsigned int scale;
};

static uint64_t planned_mb(const struct plan *plan, double vram)
{
	return (uint64_t)(plan->demand.working_set * vram / PAGODA_MIB + 0.5);
}

/*
 * Scales @trace by --scale, or, with --vram, so that VRAM is at least SMALLEST_VRAM; cuts @trace to
 * --frames; and fills in @plan. The largest frame is that of the whole trace, so that a short run
 * means the same VRAM as a long one. Returns 0 or -ENOMEM.
 */
static int plan_make(struct trace *trace, const struct replay_options *o, struct plan *plan)
{
	int ret = trace_measure(trace, &plan->demand);

	if (ret)
		return ret;
	plan->scale = o->scale ? o->scale : 1;
	if (!o->scale && o->vram && plan->demand.working_set)
		plan->scale += (uint64_t)(SMALLEST_VRAM / (plan->demand.working_set * o->vram));
	trace_scale(trace, plan->scale);
	ret = trace_measure(trace, &plan->demand);
	plan->vram_mb = planned_mb(plan, o->vram);
	trace_cut(trace, o->frames);
	return ret;
}

static int plan_print(const struct trace *trace, const struct plan *plan)
{
	printf("vram_mb=%llu scale=%u frames=%u working_set=%llu largest=%llu live=%llu\n",
	       (unsigned long long)plan->vram_mb, plan->scale, trace->frames,
	       (unsigned long long)plan->demand.working_set,
	       (unsigned long long)plan->demand.largest, (unsigned long long)plan->demand.live);
	return 0;
}

/*
 * Returns -EINVAL after a message if --vram was given and VRAM isn't as planned: the result would
 * be for another fraction. Else 0, or another negative errno.
 */
static int plan_check(int fd, const struct plan *plan, const struct replay_options *o)
{
	struct drm_pagoda_segment_info vram;
	int ret = pagoda_segment(fd, DRM_PAGODA_SEGMENT_VRAM, &vram);

	if (ret || !o->vram || vram.size == plan->vram_mb * PAGODA_MIB)
		return ret;
	fprintf(stderr, "replay: VRAM is %llu MiB; load pagoda_vgpu with vram_mb=%llu\n",
		(unsigned long long)(vram.size / PAGODA_MIB), (unsigned long long)plan->vram_mb);
	return -EINVAL;
}

/* Prints what is going to be replayed, in a line that residency.py reads, too. */
static void plan_report(const struct trace *trace, const struct replay_options *o,
			const struct plan *plan, int fd)
{
	struct drm_pagoda_segment_info vram = { 0 };

	pagoda_segment(fd, DRM_PAGODA_SEGMENT_VRAM, &vram);
	printf("trace %s: VRAM %llu MiB (%.0f %% of the largest frame's %.1f MiB), ", trace->name,
	       (unsigned long long)(vram.size / PAGODA_MIB),
	       100.0 * vram.size / plan->demand.working_set,
	       (double)plan->demand.working_set / PAGODA_MIB);
	printf("sizes x %u, %u client%s\n", plan->scale, o->clients, o->clients == 1 ? "" : "s");
	fflush(stdout);
}

/* Ends the process: the driver couldn't provide a page of a mapped allocation. */
static void on_bus_error(int number)
{
	static const char text[] = "replay: an access through mmap failed (SIGBUS)\n";

	(void)number;
	_exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? 3 : 1);
}

static int clients_run(const struct trace *trace, const struct replay_options *o,
		       struct replay_result *results)
{
	unsigned int n, failed = 0;
	int status;

	for (n = 0; n < o->clients; n++) {
		pid_t pid = fork();

		if (!pid)
			_exit(replay_run(trace, o, n, &results[n]) ? 1 : 0);
		if (pid < 0)
			failed++;
	}
	while (wait(&status) > 0)
		failed += status != 0;
	return failed ? -EIO : 0;
}

static void results_add(struct replay_result *sum, const struct replay_result *one)
{
	sum->frames += one->frames;
	sum->batches += one->batches;
	sum->uses += one->uses;
	sum->reads += one->reads;
	sum->writes += one->writes;
	sum->hashed += one->hashed;
	sum->uploaded += one->uploaded;
	sum->checked += one->checked;
	sum->misplaced += one->misplaced;
	sum->mismatches += one->mismatches;
	sum->retries += one->retries;
	sum->beside += one->beside;
	sum->trims += one->trims;
	sum->budgets += one->budgets;
	sum->stall_ns += one->stall_ns;
	sum->call_ns += one->call_ns;
	sum->upload_ns += one->upload_ns;
	sum->check_ns += one->check_ns;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / PAGODA_MIB;
}

static void report(const struct trace *trace, const struct replay_options *o,
		   const struct replay_result *r, const struct drm_pagoda_stats *from,
		   const struct drm_pagoda_stats *to, int64_t wall_ns)
{
	printf("%llu batches of %llu uses, %llu busy retries\n",
	       (unsigned long long)r->batches, (unsigned long long)r->uses,
	       (unsigned long long)r->retries);
	printf("executed by the GPU: %llu reads of %.1f MiB, %llu writes\n",
	       (unsigned long long)r->reads, mib(r->hashed), (unsigned long long)r->writes);
	printf("moved: %.1f MiB in, %.1f MiB out, %.1f MiB filled; ",
	       mib(to->paged_in - from->paged_in), mib(to->paged_out - from->paged_out),
	       mib(to->filled - from->filled));
	printf("%llu page-ins, %llu evictions, %llu CPU faults that moved\n",
	       (unsigned long long)(to->page_ins - from->page_ins),
	       (unsigned long long)(to->evictions - from->evictions),
	       (unsigned long long)(to->faults - from->faults));
	printf("time: %.2f s; stalls %.2f s, submitting %.2f s, ", wall_ns / 1e9,
	       r->stall_ns / 1e9, r->call_ns / 1e9);
	printf("uploads %.2f s (%.1f MiB), checks %.2f s (%.1f MiB)\n", r->upload_ns / 1e9,
	       mib(r->uploaded), r->check_ns / 1e9, mib(r->checked));
	printf("page tables and save areas: beside=%llu bytes of VRAM\n",
	       (unsigned long long)r->beside);
	printf("told of another VRAM budget %llu times, to trim %llu times\n",
	       (unsigned long long)r->budgets, (unsigned long long)r->trims);
	printf("misplaced allocations: %llu, lost: %llu\n", (unsigned long long)r->misplaced,
	       (unsigned long long)(to->lost - from->lost));
	printf("replay %s: frames=%llu paged_in=%llu paged_out=%llu ", trace->name,
	       (unsigned long long)r->frames, (unsigned long long)(to->paged_in - from->paged_in),
	       (unsigned long long)(to->paged_out - from->paged_out));
	printf("evictions=%llu mismatches=%llu\n",
	       (unsigned long long)(to->evictions - from->evictions),
	       (unsigned long long)r->mismatches);
}

static int replay(const struct trace *trace, const struct replay_options *o,
		  const struct plan *plan)
{
	struct drm_pagoda_stats from, to;
	struct replay_result *results, sum = { 0 };
	int64_t start;
	unsigned int n;
	int fd = pagoda_open(), ret;

	if (fd < 0) {
		fprintf(stderr, "replay: no pagoda device: %s\n", strerror(-fd));
		return fd;
	}
	ret = plan_check(fd, plan, o);
	if (!ret)
		ret = pagoda_stats(fd, &from);
	if (ret)
		return ret;
	results = mmap(NULL, sizeof(*results) * o->clients, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		return -errno;
	plan_report(trace, o, plan, fd);
	start = pagoda_now();
	ret = clients_run(trace, o, results);
	for (n = 0; n < o->clients; n++)
		results_add(&sum, &results[n]);
	if (pagoda_stats(fd, &to))
		to = from;
	report(trace, o, &sum, &from, &to, pagoda_now() - start);
	close(fd);
	return ret || sum.mismatches || sum.misplaced || to.lost != from.lost ? -EIO : 0;
}

int main(int argc, char **argv)
{
	struct replay_options options = { .clients = 1, .seed = 1, .queued = REPLAY_QUEUED };
	struct plan plan = { 0 };
	struct trace trace;
	int ret;

	parse_options(argc, argv, &options);
	signal(SIGBUS, on_bus_error);
	/* A write to a rival that died returns EPIPE instead of ending this process. */
	signal(SIGPIPE, SIG_IGN);
	ret = trace_load(&trace, options.path);
	if (ret)
		return 1;
	ret = plan_make(&trace, &options, &plan);
	if (!ret)
		ret = options.plan ? plan_print(&trace, &plan) : replay(&trace, &options, &plan);
	if (ret)
		fprintf(stderr, "replay: failed: %s\n", strerror(-ret));
	trace_unload(&trace);
	return ret ? 1 : 0;
}
