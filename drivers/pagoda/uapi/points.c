// SPDX-License-Identifier: GPL-2.0
/* The point of a timeline syncobj that a call signals when the call's work is done. */
#include <linux/dma-fence-chain.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>
#include "vidmm/fence/fence.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/residency/residency.h"
#include "args.h"

void pagoda_point_put(struct pagoda_out_point *out)
{
	if (!out->syncobj)
		return;
	dma_fence_chain_free(out->chain);
	drm_syncobj_put(out->syncobj);
}

/*
 * Looks up the syncobj @handle and allocates the fence chain that signalling @point needs; on
 * success the caller calls pagoda_point_put(). @handle and @point are both 0 (no point) or both
 * set. Returns 0, -EINVAL, -ENOENT or -ENOMEM.
 */
int pagoda_point_get(struct drm_device *drm, struct drm_file *file, u32 handle, u64 point,
		     struct pagoda_out_point *out)
{
	*out = (struct pagoda_out_point) { .point = point };
	if (pagoda_refuse(drm, !handle != !point))
		return -EINVAL;
	if (!handle)
		return 0;
	out->syncobj = drm_syncobj_find(file, handle);
	if (pagoda_refuse(drm, !out->syncobj))
		return -ENOENT;
	out->chain = dma_fence_chain_alloc();
	if (out->chain)
		return 0;
	drm_syncobj_put(out->syncobj);
	return -ENOMEM;
}

/* As pagoda_point_get(), but adds the point, unless @handle is 0, to @syncs, to be signalled. */
int pagoda_point_get_sync(struct drm_device *drm, struct drm_file *file, u32 handle, u64 point,
			  struct pagoda_syncs *syncs)
{
	struct pagoda_out_point out;
	int ret = pagoda_point_get(drm, file, handle, point, &out);

	if (ret || !out.syncobj)
		return ret;
	ret = pagoda_syncs_add(syncs, out.syncobj, out.point, out.chain);
	if (ret)
		pagoda_point_put(&out);
	return ret;
}

/*
 * Gives @out's syncobj the point, with @fence, the fence of the call's work; if @fence is NULL,
 * with a signalled fence.
 */
void pagoda_point_add(struct pagoda_vidmm *vidmm, struct pagoda_out_point *out,
		      struct dma_fence *fence)
{
	if (!out->syncobj)
		return;
	fence = fence ? dma_fence_get(fence) : dma_fence_get_stub();
	drm_syncobj_add_point(out->syncobj, out->chain, fence, out->point);
	out->chain = NULL;
	dma_fence_put(fence);
	pagoda_missing_came(vidmm, out->syncobj);
}

/*
 * Keeps the promise of a value that a call has given, unless @signal is NULL: after the call's
 * paging, by the GPU, or after @fence, if other devices have a part in @fence; takes the promise
 * back if the call failed with @error.
 */
void pagoda_promise_end(struct pagoda_vidmm *vidmm, struct pagoda_mfence_signal *signal,
			struct dma_fence *fence, int error)
{
	if (!signal)
		return;
	if (error)
		pagoda_mfence_take_back(signal);
	else if (pagoda_residency_has_others(vidmm, fence))
		pagoda_mfence_signal_after(signal, fence);
	else
		pagoda_mfence_signal_paging(signal);
}
