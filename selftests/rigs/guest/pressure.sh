# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Programs that use up the memory of a machine that has little, in the cells of /guest/plan.
. /guest/lib.sh

load_list /modules/virtio_blk.list && mkswap /dev/vda && swapon /dev/vda || exit 1

# test_cell <cell> <program>...
test_cell() {
	cell=$1
	shift
	load_cell "$cell" vram_mb=8 aperture_mb=512 engines=2 || return 1
	# Behind ours, which is the first card then.
	load_list /modules/vgem.list || return 1
	wrong=0
	for program in "$@"; do
		run_tap "$cell" /tests/"$program" || wrong=1
	done
	rmmod vgem && unload_pagoda || wrong=1
	return "$wrong"
}

failed=0
while read -r cell programs <&3; do
	# shellcheck disable=SC2086
	test_cell "$cell" $programs || failed=1
done 3< /guest/plan
exit "$failed"
