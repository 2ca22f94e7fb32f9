/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables of arguments that ioctls refuse: a row is a member, a value and an errno. A test has a
 * call that succeeds; with the value of any row instead, it fails with the row's errno.
 */
#ifndef PAGODA_KUNIT_UAPI_REFUSE_H
#define PAGODA_KUNIT_UAPI_REFUSE_H

#include "uapi_helpers.h"

/* An id and a handle that no object of a client has; a user address without memory. */
#define UAPI_UNKNOWN	99u
#define UAPI_NOWHERE	8u
#define UAPI_MAX_ENTRY	64u

/**
 * struct uapi_refusal - A value for which a call is refused
 * @name: Member and value
 * @at: Offset of the member
 * @size: Bytes of the member
 * @value: Value
 * @want: Result of the call
 */
struct uapi_refusal {
	const char *name;
	u32 at;
	u32 size;
	u64 value;
	long want;
};

#define REFUSED(type, member, wrong, error) { \
	.name = #member " = " #wrong, \
	.at = offsetof(struct drm_pagoda_##type, member), \
	.size = sizeof_field(struct drm_pagoda_##type, member), \
	.value = (wrong), \
	.want = -(error), \
}

/**
 * struct uapi_call - A call of an ioctl
 * @client: Client
 * @name: Name of the ioctl
 * @cmd: ioctl
 * @args: Arguments
 */
struct uapi_call {
	struct uapi_client *client;
	const char *name;
	unsigned int cmd;
	void *args;
};

#define UAPI_CALL(_client, ID, _args) (&(const struct uapi_call) { \
	.client = (_client), \
	.name = #ID, \
	.cmd = DRM_IOCTL_PAGODA_##ID, \
	.args = &(_args), \
})

/* Initializes an array of one entry, which is put to the client's memory at UAPI_ENTRIES. */
#define UAPI_LIST(client, entry) \
	{ uapi_put(client, UAPI_ENTRIES, &(entry), sizeof(entry)), 1, sizeof(entry) }

/* Expects that the call succeeds; its answer replaces its arguments. */
void uapi_accept(const struct uapi_call *call);
/* Expects that the call is refused for each row, a member of what @at is the offset of. */
void uapi_refuse_rows(const struct uapi_call *call, u32 at, const struct uapi_refusal *rows,
		      u32 count);
/*
 * Expects that the call is refused for each row, a member of the @size bytes @entry. These are at
 * byte @user of the client's memory, also afterwards.
 */
void uapi_refuse_members(const struct uapi_call *call, u32 user, const void *entry, u32 size,
			 const struct uapi_refusal *rows, u32 count);
/*
 * Expects that the call is refused if the array at byte @at of its arguments has too many entries,
 * has none of at least @stride bytes, or isn't in the client's memory.
 */
void uapi_refuse_array(const struct uapi_call *call, u32 at, u32 stride);
/*
 * As uapi_refuse_array(); the array, at UAPI_ENTRIES, must not be empty either, nor have the
 * @stride bytes @entry twice.
 */
void uapi_refuse_list(const struct uapi_call *call, u32 at, const void *entry, u32 stride);

/* Expects that the call is refused for each of @rows, members of its arguments, then succeeds. */
#define UAPI_REFUSE(call, rows) do { \
	uapi_refuse_rows(call, 0, rows, ARRAY_SIZE(rows)); \
	uapi_accept(call); \
} while (0)

#define UAPI_REFUSE_MEMBERS(call, user, entry, rows) \
	uapi_refuse_members(call, user, &(entry), sizeof(entry), rows, ARRAY_SIZE(rows))

/* Expects that the call is refused for each of @rows, members of the one entry of its list. */
#define UAPI_REFUSE_ENTRIES(call, type, entry, rows) do { \
	UAPI_REFUSE_MEMBERS(call, UAPI_ENTRIES, entry, rows); \
	uapi_refuse_list(call, offsetof(struct drm_pagoda_##type, entries), &(entry), \
			 sizeof(entry)); \
} while (0)

#endif
