# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Attackers beside victims. Everything is said to the kernel's log, which the host sees whatever becomes of the machine:
# an attack may stop it. Pairs with a machine that sleeps come last, because the shared folder doesn't survive that.
. /guest/lib.sh
exec > /tmp/hostile.log 2>&1

DRIVER_PARAMETERS='timeout_ms=2500 job_timeout_ms=3000'
load_pagoda vram_mb=65 aperture_mb=512 engines=2 || { say "hostile: no device"; exit 1; }
load_list /modules/vgem.list || exit 1

# Attackers and victims aren't root. What a file system in user space does to arguments, which is allowed to every
# user, userfaultfd does here.
chmod 666 /dev/dri/*
echo 1 > /proc/sys/vm/unprivileged_userfaultfd
echo on > /proc/sys/kernel/printk_devkmsg
echo 0 > /sys/module/suspend/parameters/pm_test_delay
mkdir -p /tmp/cgroup
mount -t cgroup2 cgroup /tmp/cgroup && echo +cpu > /tmp/cgroup/cgroup.subtree_control
mkdir -p /tmp/cgroup/hostile

# measure <option>...
measure() {
	/bin/hostile --kmsg --pairs "$PAIRS" --except /guest/done --sample "$SAMPLE" --turn "$TURN" --limit "$LIMIT" "$@" && return
	cat /tmp/hostile.log > /dev/kmsg
	say "hostile spoilt"
	sync
	# Devices that don't answer would be waited for.
	echo b > /proc/sysrq-trigger
	exit 3
}

# 9P transport.
folder() {
	for device in /sys/bus/virtio/devices/virtio*; do
		[ "$(cat "$device/device")" = 0x0009 ] && basename "$device"
	done
}

measure --awake
device=$(folder)
umount /out && echo "$device" > /sys/bus/virtio/drivers/9pnet_virtio/unbind || exit 1
measure --asleep
echo "$device" > /sys/bus/virtio/drivers/9pnet_virtio/bind
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 out /out
say "hostile done"
unload_pagoda
