#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the modules out of the tree, so that nothing is left between the sources:
#
#   modules.sh <KDIR> [--stage <folder below out/build>] [make argument...]
#
# The folder is named after the kernel's release if nothing else is said, and printed. Stages are the rigs': they are
# built in the cache, and only the modules are copied to the folder. Checksums instead of times decide what is
# copied: make rebuilds only what changed. Whoever builds a stage gives it the same arguments.
#
# A module of three lines is built first: where headers want a compiler that isn't installed, have flags that
# the compiler doesn't know, or bring tools that need a newer C library, one line says so.
. "$(dirname "$0")/lib.sh"

kdir=${1:?kernel headers or build folder}
shift
release=$kdir/include/config/kernel.release
[[ -f $kdir/Makefile && -f $release ]] || die "no headers of a configured kernel in $kdir"
made=$OUT/build/$(<"$release")
stage=$made
if [[ ${1:-} == --stage ]]; then
	made=$OUT/build/$2
	stage=$CACHE/modules-$2-$(key "$kdir")
	shift 2
fi

# Prints the first program of CC, as the headers' Makefile has it, that isn't installed: CC may be ccache and a compiler.
missing_compiler() {
	local word words
	read -ra words <<<"$(sed -n 's/^PAGODA_CC=//p' "$1" | head -n 1)"
	for word in "${words[@]}"; do
		[[ $word == -* ]] || command -v "$word" >/dev/null || { echo "$word"; return; }
	done
}

# Ends the script with one line where these headers can't build a module: try_headers <make argument>...
try_headers() {
	local dir=$stage.probe log=$LOGS/headers.${stage##*/}.log missing made why
	# Once for each folder, arguments and configuration.
	[[ ! $dir/ready -nt $kdir/include/config/auto.conf || $(<"$dir/ready") != "$*" ]] || return 0
	mkdir -p "$dir"
	# shellcheck disable=SC2016 # $(CC) is for make
	printf '%s\n' '$(info PAGODA_CC=$(CC))' 'obj-m := probe.o' >"$dir/Kbuild"
	printf '%s\n' '#include <linux/module.h>' 'MODULE_DESCRIPTION("Tries the headers");' \
		'MODULE_LICENSE("GPL");' >"$dir/probe.c"
	LC_ALL=C make -C "$kdir" M="$dir" "$@" modules >"$log" 2>&1 && { echo "$*" >"$dir/ready"; return; }

	missing=$(missing_compiler "$log")
	if [[ $missing && " $*" == *" CC="* ]]; then die "CC=$missing is not installed"; fi
	[[ ! $missing ]] || die "these headers want $missing, which is not installed: install it, or pass CC=..."
	made=$(sed -n 's/^CONFIG_CC_VERSION_TEXT="\?\([^"]*\)"\?$/\1/p' "$kdir/include/config/auto.conf" || true)
	# The compiler's or loader's own words come before make's, which only name a file.
	why=$(grep -m 1 -iE 'error:|not found|no such' "$log" || grep -m 1 -F '***' "$log" || tail -n 1 "$log")
	die "no module can be built with these headers (made with ${made:-an unknown compiler}) here: $why ($log)"
}

copy_sources() {
	rsync -rc --delete --exclude='*.o' --exclude='*.o.d' --exclude='.*' --exclude='*.ko' --exclude='*.mod' \
		--exclude='*.mod.c' --exclude='*.gcno' --exclude=unit.c --exclude=modules.order --exclude=Module.symvers \
		"$TOP/Kbuild" "$TOP/Kconfig" "$TOP/include" "$TOP/drivers" "$TOP/kunit" "$stage/"
}

mkdir -p "$stage"
# Two steps of a check may want the same modules: the second finds them made.
exec 8>"$stage.lock"
flock 8
sources=$(sources_key "$@")
# The rigs' kernels are never built anew in the same folder, but headers may be replaced.
if [[ $made == "$stage" || ! -e $stage.made || $(<"$stage.made") != "$sources" ]]; then
	rm -f "$stage.made"
	try_headers "$@"
	copy_sources
	make -C "$kdir" M="$stage" -j"$JOBS" "$@" modules >&2
	[[ $made == "$stage" ]] || echo "$sources" >"$stage.made"
fi
if [[ $made != "$stage" ]]; then
	mkdir -p "$made"
	rsync -c "$stage"/*.ko "$made/"
fi
echo "$made"
