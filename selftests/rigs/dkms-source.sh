#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Gives the source to DKMS, or takes it back:
#
#   dkms-source.sh install|uninstall
#
# install leaves a single version of Pagoda known to DKMS, as the upgrade of a package does: DKMS refuses to replace
# a module that it installed by the same module of another version. Nothing happens if the same source is there
# already, so that what was built of it stays installed. With DESTDIR files are copied and removed below
# that folder, for a package, and DKMS isn't asked.
#
# Doesn't source lib.sh: that makes folders, and the checkout may be of a user who isn't root.
set -euo pipefail
shopt -s inherit_errexit

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SRC=${DESTDIR:-}/usr/src
CONTENT=(Kbuild Kconfig LICENSE include drivers)

die() { echo "error: $*" >&2; exit 1; }
has_dkms() { [[ ! ${DESTDIR:-} ]] && command -v dkms >/dev/null; }

# Date and hash of the commit, so that a later version is higher; 0 where there is no repository, or
# only a repository around this folder. LC_ALL=C keeps digits what they are.
version() {
	local commit dirty=
	cd "$TOP"
	if ! { [[ -e .git ]] && commit=$(LC_ALL=C git log -1 --date=format:%Y%m%d --format=%cd.g%h 2>/dev/null); }; then
		echo 0
		return
	fi
	[[ ! $(git status --porcelain -- "${CONTENT[@]}" 2>/dev/null) ]] || dirty=.dirty
	echo "0~$commit$dirty"
}

# BUILD_EXCLUSIVE_* excludes kernels that can't have the modules: without these lines the installation of such
# a kernel would fail. DKMS expands the variables that have a backslash here.
dkms_conf() {
	cat <<-END
		PACKAGE_NAME="pagoda"
		PACKAGE_VERSION="$1"
		AUTOINSTALL="yes"
		BUILD_EXCLUSIVE_KERNEL="^([7-9]|[1-9][0-9]|6[.](1[2-9]|[2-9][0-9]))[.]"
		BUILD_EXCLUSIVE_CONFIG="CONFIG_64BIT CONFIG_MMU CONFIG_VIRTIO CONFIG_DRM CONFIG_DRM_TTM CONFIG_DRM_TTM_HELPER CONFIG_DRM_EXEC CONFIG_DRM_GPUVM CONFIG_DRM_SCHED"
		MAKE[0]="make PAGODA_UNITS=1 -C \$kernel_source_dir M=\$dkms_tree/\$PACKAGE_NAME/\$PACKAGE_VERSION/build modules"
		BUILT_MODULE_NAME[0]="pagoda"
		BUILT_MODULE_LOCATION[0]="."
		DEST_MODULE_LOCATION[0]="/updates/dkms"
		BUILT_MODULE_NAME[1]="pagoda_vgpu"
		BUILT_MODULE_LOCATION[1]="."
		DEST_MODULE_LOCATION[1]="/updates/dkms"
	END
}

# Sources only: objects may be between them, if the modules were built in place.
copy() {
	local dir=$1 version=$2
	cd "$TOP"
	find "${CONTENT[@]}" -type f \( -name '*.[ch]' ! -name '*.mod.c' -o -name Kbuild -o -name Kconfig -o -name LICENSE \) \
		-exec cp --parents -t "$dir" {} +
	dkms_conf "$version" >"$dir/dkms.conf"
	chmod -R u=rwX,go=rX "$dir"
}

# Versions there are, as source or, if that was removed by hand, in DKMS's own folder.
versions() {
	local dir
	for dir in "$SRC"/pagoda-*; do
		if grep -qsx 'PACKAGE_NAME="pagoda"' "$dir/dkms.conf"; then echo "${dir##*/pagoda-}"; fi
	done
	if has_dkms; then dkms status -m pagoda | sed -nE 's|^pagoda[/,] ?([^,:/ ]+)[,:].*|\1|p'; fi
}

is_added() { [[ $(dkms status -m pagoda -v "$1") ]]; }

remove() {
	local version=$1
	if has_dkms && is_added "$version"; then
		# DKMS reads dkms.conf to find out what it is to remove.
		[[ -e /var/lib/dkms/pagoda/$version/source/dkms.conf ]] || {
			mkdir -p "$SRC/pagoda-$version"
			dkms_conf "$version" >"$SRC/pagoda-$version/dkms.conf"
		}
		dkms remove "pagoda/$version" --all
	fi
	rm -rf "$SRC/pagoda-$version"
}

remove_all_but() {
	local version
	while read -r version; do
		[[ $version == "$1" ]] || remove "$version"
	done < <(versions | sort -u)
}

install_source() {
	local version dir new
	version=$(version)
	dir=$SRC/pagoda-$version
	# Beside its place until it is complete. DKMS doesn't look at names that begin with a dot.
	new=$SRC/.pagoda-$version.new
	rm -rf "$new"
	mkdir -p "$new"
	copy "$new" "$version"
	if diff -rq "$new" "$dir" >/dev/null 2>&1; then
		rm -rf "$new"
	else
		remove "$version"
		mv -T "$new" "$dir"
	fi
	if [[ ${DESTDIR:-} ]]; then
		echo "$dir"
		return
	fi
	remove_all_but "$version"
	if ! has_dkms; then
		echo "the source is in $dir, but there is no dkms; with it: dkms add pagoda/$version && dkms install pagoda/$version"
		return
	fi
	is_added "$version" || dkms add "pagoda/$version"
	echo "next: dkms install pagoda/$version"
}

[[ ${DESTDIR:-} || $EUID == 0 ]] || die "$SRC is root's: run this as root, or set DESTDIR"
case ${1:-} in
install) install_source ;;
uninstall) remove_all_but '' ;;
*) die "dkms-source.sh: install or uninstall" ;;
esac
