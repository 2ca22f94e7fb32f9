#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the modules out of the tree, so that nothing is left between the sources:
#
#   modules.sh <KDIR> [--stage <folder below out/build>] [make argument...]
#
# The folder is named after the kernel's release if nothing else is said, and printed.
# Checksums instead of times decide what is copied: make rebuilds only what changed.
. "$(dirname "$0")/lib.sh"

kdir=${1:?kernel headers or build folder}
shift
release=$kdir/include/config/kernel.release
[[ -f $kdir/Makefile && -f $release ]] || die "no headers of a configured kernel in $kdir"
stage=$OUT/build/$(<"$release")
if [[ ${1:-} == --stage ]]; then
	stage=$OUT/build/$2
	shift 2
fi

mkdir -p "$stage"
# Two steps of a check may want the same modules: the second finds them made.
exec 8>"$stage.lock"
flock 8
rsync -rc --delete --exclude='*.o' --exclude='*.o.d' --exclude='.*' --exclude='*.ko' --exclude='*.mod' \
	--exclude='*.mod.c' --exclude=modules.order --exclude=Module.symvers \
	"$TOP/Kbuild" "$TOP/Kconfig" "$TOP/include" "$TOP/drivers" "$TOP/kunit" "$stage/"
make -C "$kdir" M="$stage" -j"$JOBS" "$@" modules >&2
echo "$stage"
