# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Every test program in each cell of $CELLS, those of $SHORT in cells with parameters of their own;
# for the word reload, what only a script can test: loading and unloading. In the first cell clients fight for
# VRAM for $SOAK_SECONDS seconds, if there are any; who gets how much of so short a time isn't judged.
. /guest/lib.sh

DRIVER_PARAMETERS=$PATIENT

# A driver that doesn't take the device is one result, not none. One MiB of its VRAM is the reserve.
load_result() {
	load_cell "$1" vram_mb=65 aperture_mb=512 engines=2
	loaded=$?
	{
		echo 1..1
		[ "$loaded" = 0 ] || echo "not ok 1 load"
		[ "$loaded" != 0 ] || echo "ok 1 load"
	} > /out/"$1".load.tap
	echo "$loaded" > /out/"$1".load.status
	return "$loaded"
}

test_cell() {
	cell=$1
	load_result "$cell" || return 1
	# Behind ours, which is the first card then.
	load_list /modules/vgem.list || return 1
	wrong=0
	for test in /tests/*_test; do
		case $cell in
		*=*) case " $SHORT " in *" ${test##*/} "*) ;; *) continue ;; esac ;;
		esac
		[ -x "$test" ] || continue
		run_tap "$cell" "$test" || wrong=1
	done
	[ -z "$SOAK_SECONDS" ] || run_tap "$cell" /bin/soak --seconds "$SOAK_SECONDS" || wrong=1
	SOAK_SECONDS=
	rmmod vgem && unload_pagoda || wrong=1
	return "$wrong"
}

failed=0
for word in $CELLS; do
	if [ "$word" = reload ]; then
		TEST_TIMEOUT=2400 run_tap modules /guest/reload.sh || failed=1
	else
		test_cell "$word" || failed=1
	fi
done
kmemleak_scan || failed=1
exit "$failed"
