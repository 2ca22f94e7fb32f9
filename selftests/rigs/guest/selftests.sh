# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# What /guest/plan says: in each cell the programs that stand behind it; in the cell "modules", what only a script can
# test: loading and unloading. Clients that fight for VRAM do so for $SOAK_SECONDS seconds here; the share each gets
# of so short a time isn't judged.
. /guest/lib.sh

DRIVER_PARAMETERS=$PATIENT

# A driver that doesn't take the device is one result, not none. One MiB of its VRAM is the reserve. The programs
# fill VRAM several times over: with more of it they take longer and show no more.
load_result() {
	load_cell "$1" vram_mb=17 aperture_mb=512 engines=2
	loaded=$?
	{
		echo 1..1
		[ "$loaded" = 0 ] || echo "not ok 1 load"
		[ "$loaded" != 0 ] || echo "ok 1 load"
	} > /out/"$1".load.tap
	echo "$loaded" > /out/"$1".load.status
	return "$loaded"
}

# test_cell <cell> <program>...
test_cell() {
	cell=$1
	shift
	load_result "$cell" || return 1
	# Behind ours, which is the first card then.
	load_list /modules/vgem.list || return 1
	wrong=0
	for program in "$@"; do
		if [ "$program" = soak ]; then
			run_tap "$cell" /bin/soak --seconds "$SOAK_SECONDS" || wrong=1
		else
			run_tap "$cell" /tests/"$program" || wrong=1
		fi
	done
	rmmod vgem && unload_pagoda || wrong=1
	return "$wrong"
}

failed=0
while read -r cell programs <&3; do
	if [ "$cell" = modules ]; then
		run_tap modules /guest/reload.sh || failed=1
	else
		# shellcheck disable=SC2086
		test_cell "$cell" $programs || failed=1
	fi
done 3< /guest/plan
kmemleak_scan || failed=1
exit "$failed"
