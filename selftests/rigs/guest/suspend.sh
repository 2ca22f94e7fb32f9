# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Tests of a machine that sleeps: the shared folder's device doesn't survive that. So nothing may
# be open there, and it is taken from its driver for as long as the tests last. What they say
# waits in memory.
. /guest/lib.sh
exec > /tmp/suspend.log 2>&1

folder() {
	for device in /sys/bus/virtio/devices/virtio*; do
		# 9P transport.
		[ "$(cat "$device/device")" = 0x0009 ] && basename "$device"
	done
}

device=$(folder)
driver=/sys/bus/virtio/drivers/9pnet_virtio
kept=/tmp/kept
DRIVER_PARAMETERS=$PATIENT
mkdir -p $kept
failed=0
umount /out && echo "$device" > $driver/unbind || failed=1
while read -r cell _ <&3; do
	[ "$failed" = 0 ] || break
	load_cell "$cell" vram_mb=65 aperture_mb=512 engines=2 || { failed=1; break; }
	/tests/suspend_test 3<&- > "$kept/$cell.suspend_test.tap"
	status=$?
	echo "$status" > "$kept/$cell.suspend_test.status"
	[ "$status" = 0 ] || failed=1
	# On a kernel that can't sleep every test is skipped: the step would prove nothing.
	grep '^ok' "$kept/$cell.suspend_test.tap" | grep -qv SKIP || { echo "$cell: no test slept"; failed=1; }
	unload_pagoda || failed=1
done 3< /guest/plan
echo "$device" > $driver/bind
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 out /out
cp $kept/* /out/
cp /tmp/suspend.log /out/suspend.log
kmemleak_scan || failed=1
exit "$failed"
