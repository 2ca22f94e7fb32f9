// SPDX-License-Identifier: GPL-2.0
/* Tables of arguments that ioctls refuse; see uapi_refuse.h. */
#include "uapi_refuse.h"

static void refuse_set(void *members, const struct uapi_refusal *row)
{
	memcpy((u8 *)members + row->at, &row->value, row->size);
}

static void refuse_expect(const struct uapi_call *call, const void *args,
			  const struct uapi_refusal *row)
{
	u64 copy[UAPI_MAX_ARGS / sizeof(u64)];

	memcpy(copy, args, _IOC_SIZE(call->cmd));
	KUNIT_EXPECT_EQ_MSG(call->client->test, row->want,
			    uapi_ioctl(call->client, call->cmd, copy), "%s: %s", call->name,
			    row->name);
}

void uapi_accept(const struct uapi_call *call)
{
	KUNIT_EXPECT_EQ_MSG(call->client->test, 0,
			    uapi_ioctl(call->client, call->cmd, call->args), "%s", call->name);
}

void uapi_refuse_rows(const struct uapi_call *call, u32 at, const struct uapi_refusal *rows,
		      u32 count)
{
	u64 args[UAPI_MAX_ARGS / sizeof(u64)];
	const struct uapi_refusal *row;

	for (row = rows; row < rows + count; row++) {
		memcpy(args, call->args, _IOC_SIZE(call->cmd));
		refuse_set((u8 *)args + at, row);
		refuse_expect(call, args, row);
	}
}

void uapi_refuse_members(const struct uapi_call *call, u32 user, const void *entry, u32 size,
			 const struct uapi_refusal *rows, u32 count)
{
	const struct uapi_refusal *row;
	u8 copy[UAPI_MAX_ENTRY];

	for (row = rows; row < rows + count; row++) {
		memcpy(copy, entry, size);
		refuse_set(copy, row);
		uapi_put(call->client, user, copy, size);
		refuse_expect(call, call->args, row);
	}
	uapi_put(call->client, user, entry, size);
}

void uapi_refuse_array(const struct uapi_call *call, u32 at, u32 stride)
{
	const struct uapi_refusal rows[] = {
		REFUSED(array, count, DRM_PAGODA_MAX_ENTRIES + 1, E2BIG),
		REFUSED(array, stride, stride - sizeof(u64), EINVAL),
		REFUSED(array, stride, stride + sizeof(u32), EINVAL),
		REFUSED(array, stride, PAGE_SIZE + sizeof(u64), EINVAL),
		REFUSED(array, array, UAPI_NOWHERE, EFAULT),
	};

	uapi_refuse_rows(call, at, rows, ARRAY_SIZE(rows));
}

void uapi_refuse_list(const struct uapi_call *call, u32 at, const void *entry, u32 stride)
{
	static const struct uapi_refusal empty[] = { REFUSED(array, count, 0, EINVAL) };
	static const struct uapi_refusal twice[] = { REFUSED(array, count, 2, EINVAL) };

	uapi_refuse_array(call, at, stride);
	uapi_refuse_rows(call, at, empty, ARRAY_SIZE(empty));
	uapi_put(call->client, UAPI_ENTRIES + stride, entry, stride);
	uapi_refuse_rows(call, at, twice, ARRAY_SIZE(twice));
}
