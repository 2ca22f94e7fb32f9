# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Every test program with each size in $WINDOWS of the window through which the CPU sees VRAM,
# then what only a script can test: loading and unloading.
. /guest/lib.sh

failed=0
for window in $WINDOWS; do
	load_pagoda visible="$window" vram_mb=64 aperture_mb=512 || { failed=1; unload_pagoda; continue; }
	for test in /tests/*_test; do
		[ -x "$test" ] || continue
		run_tap "$window" "$test" || failed=1
	done
	unload_pagoda || failed=1
done
run_tap modules /guest/reload.sh || failed=1
kmemleak_scan || failed=1
exit "$failed"
