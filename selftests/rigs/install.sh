#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the modules and installs them where modprobe finds them, in updates/ of the kernel's modules:
#
#   install.sh <KDIR> [make argument...]
#
# INSTALL_MOD_PATH, or DESTDIR, is put in front of /lib/modules. The driver is loaded by itself then, when the kernel
# finds a device.
. "$(dirname "$0")/lib.sh"

kdir=${1:?kernel headers or build folder}
shift
root=${INSTALL_MOD_PATH:-${DESTDIR:-}}
[[ $root || $EUID == 0 ]] || die "/lib/modules is root's: run this as root, or set INSTALL_MOD_PATH"
dir=$("$TOP/selftests/rigs/modules.sh" "$kdir" "$@")
release=$(<"$kdir/include/config/kernel.release")
make -C "$kdir" M="$dir" INSTALL_MOD_PATH="$root" INSTALL_MOD_DIR=updates "$@" modules_install >&2
# Headers have no System.map, without which the kernel's Makefile doesn't call depmod.
/sbin/depmod -b "${root:-/}" "$release"
ls -l "$root/lib/modules/$release/updates"/pagoda*.ko*
