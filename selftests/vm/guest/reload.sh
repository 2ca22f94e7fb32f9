#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Loading and unloading, as TAP: both orders, again and again; parameters out of range, which must
# be refused by name and leave nothing behind; devices that say what can't be true about
# themselves, which the driver refuses in one line that names the field.
. /guest/lib.sh

number=0
result() {
	number=$((number + 1))
	if [ "$1" = 0 ]; then echo "ok $number $2"; else echo "not ok $number $2"; fi
}

# reload <first> <second> <times>: unloads in the reverse order on even rounds.
reload() {
	round=0
	while [ "$round" -lt "$3" ]; do
		insmod "/modules/$1.ko" || return 1
		insmod "/modules/$2.ko" || return 1
		if [ $((round % 2)) = 0 ]; then
			rmmod pagoda && rmmod pagoda_vgpu || return 1
		else
			rmmod pagoda_vgpu && rmmod pagoda || return 1
		fi
		round=$((round + 1))
	done
	[ ! -e /dev/dri/renderD128 ]
}

# refused <module> <parameter>: insmod fails, the log names the parameter, nothing is loaded.
refused() {
	dmesg -c > /dev/null
	insmod "/modules/$1.ko" "$2" 2> /dev/null && { rmmod "$1"; return 1; }
	dmesg | grep -q "${2%%=*}" || return 1
	! grep -q "^$1 " /proc/modules
}

# unbound <field:value> [<name>]: the driver looks at such a device, says why it won't have it (the
# field, or what is missing), and lives on.
unbound() {
	dmesg -c > /dev/null
	insmod /modules/pagoda_vgpu.ko misconfigure="$1" || return 1
	insmod /modules/pagoda.ko || return 1
	said=$(dmesg | grep -c "device refused: ${2:-${1%%:*}}")
	node=$(ls /dev/dri/renderD* 2> /dev/null)
	rmmod pagoda && rmmod pagoda_vgpu || return 1
	[ "$said" = 1 ] && [ -z "$node" ]
}

load_list /modules/deps.list || exit 1
REFUSED="vram_mb=0 vram_mb=4294967295 visible=most aperture_mb=0 aperture_mb=4294967295
	engines=0 engines=4294967295 invalid=1 invalid=0:0 invalid=0:4294967292 invalid=0:8,4:8 misconfigure=none"
UNBOUND="vram_size:0 vram_size:4095 visible_size:4294967296 aperture_pages:0 max_buffer_bytes:0
	max_buffer_bytes:1048576 max_runs:1 num_engines:0 num_engines:17 alignment:3 window_extents:4294967295
	system_address_bits:64 reserved:1"
# shellcheck disable=SC2086
set -- $UNBOUND
unbound=$#
# shellcheck disable=SC2086
set -- $REFUSED
echo "TAP version 13"
echo "1..$((5 + $# + unbound))"
reload pagoda_vgpu pagoda 10; result $? reload.device_first
reload pagoda pagoda_vgpu 10; result $? reload.driver_first
for parameter in "$@"; do
	refused pagoda_vgpu "$parameter"; result $? "refused.$parameter"
done
refused pagoda executor=gpu; result $? refused.executor
refused pagoda timeout_ms=1; result $? refused.timeout_ms
for claim in $UNBOUND; do
	unbound "$claim"; result $? "unbound.$claim"
done
unbound features:0 TRANSFER; result $? unbound.features
