# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Records the stream of the programs in each cell of /guest/plan, at most $RECORD KiB of it: /out/recording.<cell>, for
# out/fuzz/restream. A test that fails records all the same.
. /guest/lib.sh

failed=0
while read -r cell programs <&3; do
	export DRIVER_PARAMETERS=record_kb=$RECORD
	load_cell "$cell" vram_mb=8 || { failed=1; continue; }
	file=$(ls /sys/kernel/debug/dri/*/recording | head -n 1)
	for test in $programs; do
		timeout 300 /tests/"$test" > /out/"$cell.$test".log 2>&1 || say "$test failed"
	done
	cat "$file" > /out/recording."$cell" || failed=1
	unload_pagoda || failed=1
done 3< /guest/plan
exit "$failed"
