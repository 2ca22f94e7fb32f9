// SPDX-License-Identifier: GPL-2.0
/*
 * The point of a timeline syncobj that a call signals when the call's work is done, and the value
 * that a monitored fence gets then.
 */
#include <linux/dma-fence.h>
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
	pagoda_point_free(out->point);
}

/*
 * Looks up the syncobj @handle and allocates what signalling @point needs; on success the caller
 * calls pagoda_point_put(). @handle and @point are both 0 (no point) or both set. Returns 0,
 * -EINVAL, -ENOENT or -ENOMEM.
 */
int pagoda_point_get(struct drm_device *drm, struct drm_file *file, u32 handle, u64 point,
		     struct pagoda_out_point *out)
{
	struct drm_syncobj *syncobj;

	out->point = NULL;
	if (pagoda_refuse(drm, !handle != !point))
		return -EINVAL;
	if (!handle)
		return 0;
	syncobj = drm_syncobj_find(file, handle);
	if (pagoda_refuse(drm, !syncobj))
		return -ENOENT;
	out->point = pagoda_point_alloc(syncobj, point);
	drm_syncobj_put(syncobj);
	return out->point ? 0 : -ENOMEM;
}

/* As pagoda_point_get(), but on success @syncs owns the point, if any, which is to be signalled. */
int pagoda_point_get_sync(struct drm_device *drm, struct drm_file *file, u32 handle, u64 point,
			  struct pagoda_syncs *syncs)
{
	struct pagoda_out_point out;
	int ret = pagoda_point_get(drm, file, handle, point, &out);

	if (ret || !out.point)
		return ret;
	ret = pagoda_syncs_add_point(syncs, out.point);
	if (ret)
		pagoda_point_put(&out);
	return ret;
}

/*
 * Gives @out's point @fence, the fence of the call's work; if @fence is NULL, a signalled fence.
 * The syncobj gets the point after all smaller points that accepted work will signal.
 */
void pagoda_point_add(struct pagoda_vidmm *vidmm, struct pagoda_out_point *out,
		      struct dma_fence *fence)
{
	if (!out->point)
		return;
	fence = fence ? dma_fence_get(fence) : dma_fence_get_stub();
	pagoda_point_signal(vidmm, out->point, fence);
	out->point = NULL;
	dma_fence_put(fence);
}

/*
 * Fulfils @signal, a call's promise of a value, unless NULL: has the GPU store the value after the
 * call's paging, or, if other devices have a part in @fence, the CPU after @fence. If the call
 * failed with @error, takes the promise back instead.
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
		pagoda_mfence_signal_paging(signal, fence);
}
