/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pagodactl: what its files share, and where each command is.
 *
 *	pagodactl.c		arguments
 *	pagodactl_find.c	devices, their clients, their files in debugfs
 *	pagodactl_print.c	sizes and times as text, JSON, devices and clients
 *	pagodactl_top.c		top, and trim without arguments
 *	pagodactl_ls.c		ls
 *	pagodactl_journal.c	journal
 *	pagodactl_tools.c	trim DEVICE BYTES, plot
 */
#ifndef PAGODACTL_H
#define PAGODACTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "lib/pagoda_fdinfo.h"
#include "lib/pagoda_lib.h"

/*
 * Options, 0 or NULL if not given; @interval, in seconds, and @output have defaults.
 * @device: name or path of a render node, NULL = all devices
 * @allocation, @operation: print only the journal's entries of these; 0 and NULL = of any
 */
struct ctl_options {
	bool json;
	bool once;
	bool follow;
	double interval;
	const char *device;
	uint64_t allocation;
	const char *operation;
	const char *log;
	const char *output;
};

/*
 * @node: name of the render node, as renderD128; @minor: its minor
 * @primary: minor of the primary node (card), -1 if the device has none
 */
struct ctl_device {
	char node[32];
	int fd;
	int minor;
	int primary;
	struct drm_pagoda_device_info info;
	struct drm_pagoda_segment_info segments[PAGODA_FDINFO_SEGMENTS];
	struct drm_pagoda_stats stats;
};

struct ctl_client {
	const struct ctl_device *device;
	pid_t pid;
	char command[32];
	struct pagoda_fdinfo info;
};

/*
 * @hidden: number of processes whose files this user may not look at
 * @time: when the view was updated, by CLOCK_MONOTONIC in nanoseconds
 */
struct ctl_view {
	struct ctl_device *devices;
	size_t nr_devices;
	struct ctl_client *clients;
	size_t nr_clients;
	unsigned int hidden;
	int64_t time;
};

/*
 * Opens all devices that can be opened, or only @device unless NULL, until ctl_view_close().
 * Returns 0, or a negative errno after a message on stderr: -ENODEV if none could be opened.
 */
int ctl_view_open(struct ctl_view *view, const char *device);
/*
 * Reads the devices' state and finds the clients that other processes have open. Returns 0, or a
 * negative errno after a message on stderr.
 */
int ctl_view_update(struct ctl_view *view);
void ctl_view_close(struct ctl_view *view);
/*
 * Opens a file of the device in debugfs. Returns NULL and sets errno if that fails;
 * ctl_debugfs_why() says for what reason.
 */
FILE *ctl_debugfs_open(const struct ctl_device *device, const char *name, const char *mode);
const char *ctl_debugfs_why(int error);

/* Name of a segment, as in the driver's debugfs files: system, vram or aperture. */
const char *ctl_segment_name(uint32_t id);
double ctl_mib(uint64_t bytes);
/*
 * Prints @bytes to @text as MiB with one decimal, or "-" if unknown (PAGODA_FDINFO_NONE). Returns
 * @text.
 */
char *ctl_size(char *text, size_t size, uint64_t bytes);
/* Prints @ns to @text as milliseconds with one decimal, or "-" if unknown. Returns @text. */
char *ctl_ms(char *text, size_t size, uint64_t ns);
/*
 * Bytes by which a client is over its budget in a segment, at least 0; PAGODA_FDINFO_NONE =
 * unknown.
 */
uint64_t ctl_over(const struct pagoda_fdinfo_segment *segment);

/*
 * JSON on stdout. Elements of an array have NULL as @key. ctl_json_number() prints null for
 * PAGODA_FDINFO_NONE, unknown. ctl_json_line() ends the line of an object that is complete.
 */
void ctl_json_begin(const char *key, char bracket);
void ctl_json_end(char bracket);
void ctl_json_number(const char *key, uint64_t value);
void ctl_json_signed(const char *key, int64_t value);
void ctl_json_text(const char *key, const char *text);
void ctl_json_bool(const char *key, bool value);
void ctl_json_null(const char *key);
void ctl_json_line(void);

/*
 * Output that commands share: a device's JSON keys, a client as JSON object, a device's lines of
 * text, and a note on stderr if processes are hidden.
 */
void ctl_json_device(const struct ctl_device *device);
void ctl_json_client(const struct ctl_client *client);
void ctl_print_device(const struct ctl_device *device);
void ctl_note_hidden(const struct ctl_view *view);

/* The commands; each returns the exit status. */
int ctl_top(const struct ctl_options *options, char **args, int count);
int ctl_ls(const struct ctl_options *options, char **args, int count);
int ctl_journal(const struct ctl_options *options, char **args, int count);
int ctl_trim(const struct ctl_options *options, char **args, int count);
int ctl_plot(const struct ctl_options *options, char **args, int count);
/*
 * The command trim without arguments: prints by how much clients are over budget, or with --json
 * what top prints. Returns the exit status.
 */
int ctl_show_over(const struct ctl_options *options);

/* Sleeps for --interval; returns false if a signal ended the sleep. */
bool ctl_pause(const struct ctl_options *options);

#endif
