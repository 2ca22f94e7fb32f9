#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Kernels from Debian's sources, in the cache. KERNEL says of which: 6.12, from the package linux-source-6.12,
# or new, the newest there is (backports.sh).
#
#   kernels.sh source              the unpacked tree, in which the driver is a drop-in; prints its path
#   kernels.sh headers             its headers for user space, installed; prints their folder
#   kernels.sh image plain|debug|coverage
#                                  a kernel for QEMU, as it is, with sanitizers, or one that counts which lines of ours
#                                  and of what is below are executed; prints its build folder
#   kernels.sh uml CONFIG...       a UML kernel with the driver built in, configured by kunit/CONFIG.kunitconfig;
#                                  .kunitconfig comes before them, unless the first is bench or coverage; prints its
#                                  build folder
#
# Only paths go to stdout; what is going on goes to stderr.
. "$(dirname "$0")/lib.sh"
KERNEL=${KERNEL:-6.12}
vm=$TOP/selftests/rigs

# locked_build <folder of the cache> <function>: calls it once for each content of the folder's name.
locked_build() {
	local dir=$CACHE/$1
	shift
	if [[ ! -e $dir/ready ]]; then
		cache_lock "$(basename "$dir")"
		if [[ ! -e $dir/ready ]]; then
			rm -rf "$dir"
			mkdir -p "$dir"
			"$@" "$dir"
			touch "$dir/ready"
		fi
		flock -u 9
	fi
	echo "$dir"
}

# The driver is a drop-in: two lines make any tree build it. The helpers without a prompt are
# only built if something selects them, and kernels for QEMU are built without the driver
# (its modules are compiled against them later), hence PAGODA_RIG.
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
		select GPU_BUDDY
		select DRM_BUDDY
		select DRM_SUBALLOC_HELPER
		select DMA_SHARED_BUFFER
		select VIRTIO
	KCONFIG
	echo 'obj-y += pagoda/' >>"$1/drivers/gpu/drm/Makefile"
	mkdir -p "$1/drivers/gpu/drm/pagoda"
}

# User-Mode Linux of 6.12 has room for 2696 bytes of a program's registers. Where the processor saves more (AMX: 11008), the
# host refuses to set a part of them, and no program can be started. rig.kunitconfig has the stacks for more.
mend_registers() { sed -i 's/(HOST_FP_SIZE, 2696)/(HOST_FP_SIZE, 12288)/' "$1/arch/x86/um/user-offsets.c"; }

# unpack <archive> <folder>: a package of the sources as a file, or what an installed one has.
unpack() {
	case $1 in
	*.deb)
		dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
			tar -C "$2" -xJ --strip-components=1
		;;
	*) tar -C "$2" -xf "$1" --strip-components=1 ;;
	esac
}

# unpack_and_hook <archive> <hooks> <folder>
unpack_and_hook() {
	local hook
	with_progress "unpacking $(basename "$1")" "$3/unpack.log" unpack "$1" "$3"
	for hook in $2; do "$hook" "$3"; done
}

source_tree() {
	local archive version hooks=hook_tree
	case $KERNEL in
	6.12)
		archive=/usr/src/linux-source-6.12.tar.xz
		version=$(dpkg-query -W -f '${Version}' linux-source-6.12)
		hooks+=' mend_registers'
		;;
	new)
		archive=$("$vm/backports.sh")
		version=$(basename "$archive")
		;;
	*) die "KERNEL=$KERNEL: there are 6.12 and new" ;;
	esac
	# shellcheck disable=SC2086 # several functions
	locked_build "source-$KERNEL-$(key "$version" "$(declare -f $hooks)")" unpack_and_hook "$archive" "$hooks"
}

install_headers() {
	mkdir "$2/build"
	with_progress "installing the kernel's user headers ($KERNEL)" "$2/install.log" \
		make -C "$1" O="$2/build" -j"$JOBS" INSTALL_HDR_PATH="$2" headers_install
	rm -rf "$2/build"
}

user_headers() {
	local src
	src=$(source_tree)
	locked_build "headers-$KERNEL-$(key "$src")" install_headers "$src"
}

# Kconfig and the Makefile name the driver's folder: put it there, as it is now. Checksums keep the times of
# unchanged files.
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

# has_option <tree> <folder> <option without CONFIG_>
has_option() { grep -rqsE --include='Kconfig*' "^(menu)?config $3\$" "$1/$2"; }

# What only some kernels have is asked for where they have it.
fragments() {
	cat "$vm/machine.config"
	[[ $2 == plain ]] || cat "$vm/$2.config"
	if has_option "$1" init CGROUP_DMEM; then cat "$vm/dmem.config"; fi
	if has_option "$1" drivers/dma-buf DMABUF_MOVE_NOTIFY; then echo CONFIG_DMABUF_MOVE_NOTIFY=y; fi
}

# counted <tree>: arguments for make, by which the parts of DRM that the driver is built on are counted.
counted() {
	local file
	for file in "$1"/drivers/gpu/drm/{ttm/*,scheduler/*,drm_gpuvm,drm_exec,drm_syncobj}.c; do
		echo "GCOV_PROFILE_$(basename "$file" .c).o=y"
	done
}

build_image() {
	local src=$1 flavour=$2 dir=$3 how=()
	[[ $flavour != coverage ]] || mapfile -t how < <(counted "$src")
	fragments "$src" "$flavour" >"$dir/fragment"
	(
		exec 8>"$CACHE/$(basename "$src").lock"
		flock 8
		sync_driver "$src"
		make -C "$src" O="$dir" KCONFIG_ALLCONFIG="$dir/fragment" allnoconfig >"$dir/config.log" 2>&1 8>&- 9>&-
	) || die "$flavour kernel: see $dir/config.log"
	check_fragment "$dir/fragment" "$dir/.config"
	with_progress "building the $flavour kernel ($KERNEL)" "$dir/build.log" \
		nice -n 5 make -C "$src" O="$dir" -j"$JOBS" "${how[@]}" bzImage modules
}

image() {
	local src
	[[ $1 == plain || $1 == debug || $1 == coverage ]] || die "usage: kernels.sh image plain|debug|coverage"
	src=$(source_tree)
	locked_build "$1-$KERNEL-$(key "$(fragments "$src" "$1")" "$src" "$(declare -f build_image counted)")" \
		build_image "$src" "$1"
}

# Options that a kernel has or hasn't got, and that say nothing about the driver: the number of the bus that is emulated
# where KUnit has none of its own, without which that bus prints a warning, and that importers of dma-bufs are told of
# moves.
uml_options() {
	if ! has_option "$1" lib/kunit KUNIT_UML_PCI; then
		echo CONFIG_UML_PCI_OVER_VIRTIO_DEVICE_ID=61166
	fi
	if has_option "$1" drivers/dma-buf DMABUF_MOVE_NOTIFY; then echo CONFIG_DMABUF_MOVE_NOTIFY=y; fi
}

# kunit.py only configures, which it checks: its own build shows no progress. What is measured is built as it is used.
# The rest is the check of the suites' sources as well: below drivers/gpu/drm the compiler warns as with W=1, and
# PAGODA_UNITS makes that errors.
uml_kernel() {
	local src dir made name option configs=(--kunitconfig "$TOP/kunit/.kunitconfig")
	local how=(PAGODA_UNITS=1 "${CHECKED[@]}")
	src=$(source_tree)
	case ${1:-} in
	bench) configs=() how=() ;;
	coverage) configs=() && mapfile -t how < <(counted "$src"; printf '%s\n' "${COUNTED_MODULES[@]}") ;;
	esac
	for name in "$@"; do
		configs+=(--kunitconfig "$TOP/kunit/$name.kunitconfig")
	done
	for option in $(uml_options "$src"); do configs+=(--kconfig_add "$option"); done
	dir=$CACHE/uml-$KERNEL-$(key "$src" "${configs[@]}")
	made=$(sources_key "${how[@]}" "$(<"$vm/sparse.sh")")
	mkdir -p "$dir"
	cache_lock "$(basename "$src")"
	if [[ -x $dir/linux && -e $dir/made && $(<"$dir/made") == "$made" ]]; then
		flock -u 9
		echo "$dir"
		return
	fi
	rm -f "$dir/made"
	sync_driver "$src"
	(cd "$src" && tools/testing/kunit/kunit.py config --build_dir "$dir" "${configs[@]}") \
		>"$dir/config.log" 2>&1 9>&- ||
		{ cat "$dir/config.log" >&2; die "UML kernel ($KERNEL $*): not configured"; }
	with_progress "building the UML kernel ($KERNEL${*:+ $*})" "$dir/build.log" \
		nice -n 5 make -C "$src" O="$dir" ARCH=um -j"$JOBS" "${how[@]}" CHECK="$vm/sparse.sh" linux
	echo "$made" >"$dir/made"
	flock -u 9
	echo "$dir"
}

case ${1:-} in
source) source_tree ;;
headers) user_headers ;;
image) image "${2:-}" ;;
uml) uml_kernel "${@:2}" ;;
*) die "usage: kernels.sh source|headers|image plain|debug|coverage|uml [CONFIG...]" ;;
esac
