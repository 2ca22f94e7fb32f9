#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Kernels from Debian's linux-source package, in the cache:
#
#   kernels.sh source     the unpacked tree; prints its path
#   kernels.sh headers    its headers for user space, installed; prints their folder
#   kernels.sh debug      the sanitizer kernel (x86_64); prints its build folder
#   kernels.sh uml <cfg>  a UML kernel with the driver built in (kunit or bench); prints its
#                         build folder
#
# Only paths go to stdout; what is going on goes to stderr.
. "$(dirname "$0")/lib.sh"

SOURCE_TAR=/usr/src/linux-source-6.12.tar.xz
FRAGMENT=$TOP/selftests/vm/debug.config

source_version() { dpkg-query -W -f '${Version}' linux-source-6.12; }

# The driver is a drop-in: two lines make any tree build it. The helpers without a prompt are
# only built if something selects them, and the debug kernel is built without the driver
# (its modules are compiled against it later), hence PAGODA_RIG.
hook_tree() {
	cat >>"$1/drivers/gpu/drm/Kconfig" <<-'KCONFIG'

	source "drivers/gpu/drm/pagoda/Kconfig"

	config PAGODA_RIG
		bool "The helpers pagoda.ko needs, without pagoda.ko"
		depends on DRM
		select DRM_TTM
		select DRM_TTM_HELPER
		select DRM_EXEC
		select DRM_GPUVM
		select DRM_SCHED
		select DRM_BUDDY
		select DRM_SUBALLOC_HELPER
		select DMA_SHARED_BUFFER
		select VIRTIO
	KCONFIG
	echo 'obj-y += pagoda/' >>"$1/drivers/gpu/drm/Makefile"
	mkdir -p "$1/drivers/gpu/drm/pagoda"
}

source_tree() {
	local dir
	dir=$CACHE/source-$(key "$(source_version)" "$(declare -f hook_tree)")
	if [[ ! -e $dir/ready ]]; then
		cache_lock "$(basename "$dir")"
		if [[ ! -e $dir/ready ]]; then
			rm -rf "$dir"
			mkdir -p "$dir"
			with_progress "unpacking linux-source $(source_version)" "$dir/unpack.log" \
				tar -C "$dir" -xf "$SOURCE_TAR" --strip-components=1
			hook_tree "$dir"
			touch "$dir/ready"
		fi
		flock -u 9
	fi
	echo "$dir"
}

user_headers() {
	local src dir
	src=$(source_tree)
	dir=$CACHE/headers-$(key "$src")
	if [[ ! -e $dir/ready ]]; then
		cache_lock "$(basename "$dir")"
		if [[ ! -e $dir/ready ]]; then
			rm -rf "$dir"
			mkdir -p "$dir/build"
			with_progress "installing the kernel's user headers" "$dir/install.log" \
				make -C "$src" O="$dir/build" -j"$JOBS" INSTALL_HDR_PATH="$dir" headers_install
			rm -rf "$dir/build"
			touch "$dir/ready"
		fi
		flock -u 9
	fi
	echo "$dir"
}

# Nothing of the driver is used by the debug kernel, yet Kconfig and the Makefile name its
# folder: put it there, as it is now. Checksums keep the times of unchanged files.
sync_driver() {
	rsync -rc --delete "$TOP/Kbuild" "$TOP/Kconfig" "$TOP/include" "$TOP/drivers" "$TOP/kunit" \
		"$1/drivers/gpu/drm/pagoda/"
}

# Kconfig drops what it cannot satisfy without a word.
check_fragment() {
	local line missing=0
	while read -r line; do
		[[ $line == CONFIG_* ]] || continue
		[[ $line == *=n ]] && continue
		grep -qxF "$line" "$2" || { say "not in the kernel's configuration: $line"; missing=1; }
	done <"$1"
	return "$missing"
}

debug_kernel() {
	local src dir
	src=$(source_tree)
	dir=$CACHE/debug-$(key "$src" "$FRAGMENT")
	if [[ ! -e $dir/ready ]]; then
		cache_lock "$(basename "$dir")"
		if [[ ! -e $dir/ready ]]; then
			rm -rf "$dir"
			mkdir -p "$dir"
			sync_driver "$src"
			make -C "$src" O="$dir" KCONFIG_ALLCONFIG="$FRAGMENT" allnoconfig \
				>"$dir/config.log" 2>&1 9>&- || die "debug kernel: see $dir/config.log"
			check_fragment "$FRAGMENT" "$dir/.config"
			with_progress "building the debug kernel" "$dir/build.log" \
				nice -n 5 make -C "$src" O="$dir" -j"$JOBS" bzImage modules
			touch "$dir/ready"
		fi
		flock -u 9
	fi
	echo "$dir"
}

# kunit.py only configures and, later, runs: its own build shows no progress.
uml_kernel() {
	local src dir config
	case $1 in
	kunit) config=$TOP/kunit/.kunitconfig ;;
	bench) config=$TOP/kunit/bench.kunitconfig ;;
	*) die "usage: kernels.sh uml kunit|bench" ;;
	esac
	src=$(source_tree)
	dir=$CACHE/uml-$1-$(key "$src" "$config")
	mkdir -p "$dir"
	cache_lock "$(basename "$src")"
	sync_driver "$src"
	(cd "$src" && tools/testing/kunit/kunit.py config --build_dir "$dir" \
		--kunitconfig "$config") >"$dir/config.log" 2>&1 9>&- ||
		{ cat "$dir/config.log" >&2; die "UML kernel ($1): not configured"; }
	with_progress "building the UML kernel ($1)" "$dir/build.log" \
		nice -n 5 make -C "$src" O="$dir" ARCH=um -j"$JOBS" linux
	flock -u 9
	echo "$dir"
}

case ${1:-} in
source) source_tree ;;
headers) user_headers ;;
debug) debug_kernel ;;
uml) uml_kernel "${2:-}" ;;
*) die "usage: kernels.sh source|headers|debug|uml kunit|uml bench" ;;
esac
