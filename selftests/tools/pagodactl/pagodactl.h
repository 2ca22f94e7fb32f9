/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pagodactl: what is known of devices and clients, and where each command is.
 *
 *	pagodactl.c		arguments
 *	pagodactl_find.c	devices, their clients, their files in debugfs
 *	pagodactl_print.c	sizes, tables and JSON
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

/* @device: name or path of a render node, NULL = any. Those that no command uses are 0. */
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

/* @node: renderD128; @minor, @primary: its number and the card's, -1 if there is none. */
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

/* @hidden: processes that only root may look at. @time: CLOCK_MONOTONIC in nanoseconds. */
struct ctl_view {
	struct ctl_device *devices;
	size_t nr_devices;
	struct ctl_client *clients;
	size_t nr_clients;
	unsigned int hidden;
	int64_t time;
};

/*
 * Opens the devices that were asked for; they stay open until ctl_view_close(). What fails says so
 * on stderr, here and below, and is a negative errno.
 */
int ctl_view_open(struct ctl_view *view, const char *device);
/* Looks again at devices and clients; this program is none. */
int ctl_view_update(struct ctl_view *view);
void ctl_view_close(struct ctl_view *view);
/* A file of the device in debugfs, or NULL and errno; @why says which of several reasons it is. */
FILE *ctl_debugfs_open(const struct ctl_device *device, const char *name, const char *mode);
const char *ctl_debugfs_why(int error);

/* Names as in the driver's own files. */
const char *ctl_segment_name(uint32_t id);
double ctl_mib(uint64_t bytes);
/* MiB with a digit, or "-" for what isn't known. Returns @text. */
char *ctl_size(char *text, size_t size, uint64_t bytes);
/* Milliseconds, the same. */
char *ctl_ms(char *text, size_t size, uint64_t ns);
/* Bytes by which a client is over its budget. */
uint64_t ctl_over(const struct pagoda_fdinfo_segment *segment);

/* JSON on stdout: keys are NULL inside of arrays, and what isn't known is null. */
void ctl_json_begin(const char *key, char bracket);
void ctl_json_end(char bracket);
void ctl_json_number(const char *key, uint64_t value);
void ctl_json_signed(const char *key, int64_t value);
void ctl_json_text(const char *key, const char *text);
void ctl_json_bool(const char *key, bool value);
void ctl_json_null(const char *key);
void ctl_json_line(void);

/* What devices and segments have in common in all commands. */
void ctl_json_device(const struct ctl_device *device);
void ctl_json_client(const struct ctl_client *client);
void ctl_print_device(const struct ctl_device *device);
void ctl_note_hidden(const struct ctl_view *view);

/* The commands: exit status. */
int ctl_top(const struct ctl_options *options, char **args, int count);
int ctl_ls(const struct ctl_options *options, char **args, int count);
int ctl_journal(const struct ctl_options *options, char **args, int count);
int ctl_trim(const struct ctl_options *options, char **args, int count);
int ctl_plot(const struct ctl_options *options, char **args, int count);
/* trim without arguments. */
int ctl_show_over(const struct ctl_options *options);

/* Sleeps for --interval: false if a signal ended it. */
bool ctl_pause(const struct ctl_options *options);

#endif
