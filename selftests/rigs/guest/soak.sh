# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Four clients that together want three times VRAM, for $SOAK_SECONDS seconds: nothing may get lost, and nobody may
# get less than half of what another gets done.
. /guest/lib.sh

# Nobody hangs on purpose, and a busy host may give a processor no time.
MODE=gpu_physical DRIVER_PARAMETERS='timeout_ms=5000 job_timeout_ms=10000'
load_pagoda vram_mb=65 aperture_mb=512 engines=2 || exit 1
run_tap "$MODE" /bin/soak --seconds "$SOAK_SECONDS" --ratio 0.5
status=$?
cat /out/"$MODE".soak.tap
unload_pagoda && kmemleak_scan || exit 1
exit "$status"
