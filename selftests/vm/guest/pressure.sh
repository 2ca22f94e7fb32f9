# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Programs that use up the memory of a machine that has little, in each cell of $CELLS; those of
# $SHORT in cells with parameters of their own.
. /guest/lib.sh

load_list /modules/virtio_blk.list && mkswap /dev/vda && swapon /dev/vda || exit 1

test_cell() {
	load_cell "$1" vram_mb=8 aperture_mb=512 engines=2 || return 1
	# Behind ours, which is the first card then.
	load_list /modules/vgem.list || return 1
	wrong=0
	for test in /tests/*_test; do
		case $1 in
		*=*) case " $SHORT " in *" ${test##*/} "*) ;; *) continue ;; esac ;;
		esac
		run_tap "$1" "$test" || wrong=1
	done
	rmmod vgem && unload_pagoda || wrong=1
	return "$wrong"
}

failed=0
for cell in $CELLS; do
	test_cell "$cell" || failed=1
done
exit "$failed"
