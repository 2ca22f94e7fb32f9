/* SPDX-License-Identifier: GPL-2.0 */
/* Headers of vidmm/ for the suites, internal ones too, and of the directories that vidmm/ uses. */
#ifndef PAGODA_KUNIT_VIDMM_H
#define PAGODA_KUNIT_VIDMM_H

#include <linux/mm.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_tt.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/info.h"
#include "core/life.h"
#include "core/transport.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "queue/exec.h"
#include "queue/queue.h"
#include "vidmm/bo/bo.h"
#include "vidmm/bo/internal.h"
#include "vidmm/fence/fence.h"
#include "vidmm/fence/internal.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/events.h"
#include "vidmm/ledger/internal.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/limits.h"
#include "vidmm/ledger/policy.h"
#include "vidmm/ledger/promotion.h"
#include "vidmm/ledger/require.h"
#include "vidmm/ledger/traffic.h"
#include "vidmm/manager/manager.h"
#include "vidmm/recover/internal.h"
#include "vidmm/recover/recover.h"
#include "vidmm/residency/internal.h"
#include "vidmm/residency/residency.h"
#include "vidmm/segment/internal.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/internal.h"
#include "vidmm/stream/recording.h"
#include "vidmm/stream/stream.h"
#include "vidmm/submit/context.h"
#include "vidmm/submit/internal.h"
#include "vidmm/submit/paging_queue.h"
#include "vidmm/submit/submit.h"
#include "vidmm/ttm/internal.h"
#include "vidmm/ttm/ttm.h"
#include "vidmm/vm/internal.h"
#include "vidmm/vm/vm.h"

#endif
