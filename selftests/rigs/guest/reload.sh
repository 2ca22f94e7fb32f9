#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Loading and unloading, as TAP: both orders, again and again, in all modes; parameters out of range,
# which must be refused by name and leave nothing behind; devices that say what can't be true about
# themselves, which the driver refuses in one line that names the field.
. /guest/lib.sh

number=0
result() {
	number=$((number + 1))
	if [ "$1" = 0 ]; then echo "ok $number $2"; else echo "not ok $number $2"; fi
}

# How much VRAM there is matters little here, but for the time it takes.
SMALL=vram_mb=8

# load_both <first> <second> [<parameter of the GPU>...]
load_both() {
	modules="$1 $2"
	shift 2
	for module in $modules; do
		if [ "$module" = pagoda ]; then insmod /modules/pagoda.ko; else insmod /modules/pagoda_vgpu.ko "$@"; fi ||
			return 1
	done
}

# reload <first> <second> <times>: unloads in the reverse order on even rounds. The first two are with as much VRAM
# as there is if nobody says.
reload() {
	round=0
	while [ "$round" -lt "$3" ]; do
		size=$SMALL
		[ "$round" -ge 2 ] || size=
		# shellcheck disable=SC2086
		load_both "$1" "$2" $size || return 1
		if [ $((round % 2)) = 0 ]; then
			rmmod pagoda && rmmod pagoda_vgpu || return 1
		else
			rmmod pagoda_vgpu && rmmod pagoda || return 1
		fi
		round=$((round + 1))
	done
	[ ! -e /dev/dri/renderD128 ]
}

# reload_cell <cell> <times>: what load_cell of guest/lib.sh understands
reload_cell() {
	round=0
	while [ "$round" -lt "$2" ]; do
		load_cell "$1" "$SMALL" > /dev/null && unload_pagoda || return 1
		round=$((round + 1))
	done
	[ ! -e /dev/dri/renderD128 ]
}

# kept <times>: programs keep fences in files. The driver goes nevertheless, comes back and goes again, so that others
# have its memory, and the fences still answer.
kept() {
	load_cell gpu_physical.mmu0.all "$SMALL" > /dev/null || return 1
	mkfifo /tmp/keep.go
	/bin/keep < /tmp/keep.go > /tmp/keep.out &
	keeper=$!
	exec 4> /tmp/keep.go
	for _ in $(seq 240); do
		grep -q . /tmp/keep.out && break
		sleep 0.25
	done
	unload_pagoda && reload_cell gpu_virtual.mmu1.none "$1"
	wrong=$?
	echo >&4
	exec 4>&-
	wait "$keeper" || wrong=1
	sed 's/^/# /' /tmp/keep.out
	rm -f /tmp/keep.go /tmp/keep.out
	return "$wrong"
}

# refused <module> <parameter>: insmod fails and says that an argument is invalid, the log names the parameter, nothing
# is loaded.
refused() {
	dmesg -c > /dev/null
	said=$(insmod "/modules/$1.ko" "$2" 2>&1) && { rmmod "$1"; return 1; }
	echo "$said" | grep -q "Invalid argument" || return 1
	dmesg | grep -q "${2%%=*}" || return 1
	! grep -q "^$1 " /proc/modules
}

# unbound <field:value> [<name>]: the driver looks at such a device, says why it won't have it (the
# field, or what is missing), and lives on.
unbound() {
	dmesg -c > /dev/null
	load_both pagoda_vgpu pagoda "$SMALL" misconfigure="$1" || return 1
	said=$(dmesg | grep -c "device refused: ${2:-${1%%:*}}")
	node=$(ls /dev/dri/renderD* 2> /dev/null)
	rmmod pagoda && rmmod pagoda_vgpu || return 1
	[ "$said" = 1 ] && [ -z "$node" ]
}

load_list /modules/deps.list || exit 1
REFUSED="vram_mb=0 vram_mb=4294967295 visible=most aperture_mb=0 aperture_mb=4294967295
	engines=0 engines=4294967295 invalid=1 invalid=0:0 invalid=0:4294967292 invalid=0:8,4:8 misconfigure=none
	misconfigure=unknown:4096
	pt_levels=1 pt_levels=3 pt_levels=7 dual_pte=2 cache_invalid=2 device_mmu=2 mmu_mb=0
	mmu_mb=4294967295 ranges=65 range_mb=0 range_mb=4294967295 reset_vram=random preserve=some
	misconfigure=vram_size:4096,pt_levels misconfigure=vram_size:0000000000000000000000000000000000000000000000000000004096"
UNBOUND="vram_size:0 vram_size:4095 visible_size:4294967296 aperture_pages:0 max_buffer_bytes:0
	max_buffer_bytes:1048576 max_runs:1 num_engines:0 num_engines:17 alignment:3 window_extents:4294967295
	system_address_bits:64 mmu_pages:1 va_bits:46 pt_levels:3 pt_levels:5 page_sizes:65536
	max_address_spaces:0 max_address_spaces:4097 swizzling_ranges:65 swizzling_bytes:4096
	swizzling_extents:0 preserved:2 preserved:4 preserved:6 preserved:8 preserved_bytes:4096"
RELOADED="gpu_physical.mmu1.none gpu_virtual.mmu0.all gpu_virtual.mmu1.some cpu_virtual.mmu0.none
	cpu_virtual.mmu1.all gpu_virtual.mmu0.all.pt_levels=2.dual_pte=1.cache_invalid=1
	gpu_physical.mmu0.all.pt_levels=6 cpu_virtual.mmu0.some.pt_levels=5.ranges=0"
REFUSED_BY_DRIVER="executor=gpu policy=fifo timeout_ms=1 timeout_ms=9 timeout_ms=5001 job_timeout_ms=9
	job_timeout_ms=10001 update_mode=gpu update_mode= record_kb=262145 promote_ms=10001 traffic_share=0
	traffic_share=101 submit_share=101 reserve_kb=-2 reserve_kb=half copies_mb=-2 ahead_jobs=65"
# shellcheck disable=SC2086
set -- $UNBOUND $RELOADED $REFUSED_BY_DRIVER
others=$#
# shellcheck disable=SC2086
set -- $REFUSED
echo "TAP version 13"
echo "1..$((6 + $# + others))"
reload pagoda_vgpu pagoda 10; result $? reload.device_first
reload pagoda pagoda_vgpu 10; result $? reload.driver_first
for cell in $RELOADED; do
	reload_cell "$cell" 3; result $? "reload.$cell"
done
kept 2; result $? reload.kept_fences
for parameter in "$@"; do
	refused pagoda_vgpu "$parameter"; result $? "refused.$parameter"
done
for parameter in $REFUSED_BY_DRIVER; do
	refused pagoda "$parameter"; result $? "refused.$parameter"
done
for claim in $UNBOUND; do
	unbound "$claim"; result $? "unbound.$claim"
done
unbound features:0 TRANSFER; result $? unbound.features
# The list of these extents is empty.
unbound invalid_extents:1 "extent list"; result $? unbound.extents
# All but VIRTIO_PAGODA_F_COHERENT.
unbound features:0x1ec0000007fffff COHERENT; result $? unbound.coherent
