#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes a plain Debian 12 ready: build tools and QEMU as packages, and the newest stock 6.12
# kernel with its headers in the cache. Those are only unpacked: installing them would make an
# initramfs and touch the boot loader of a machine that will never boot them.
#
# As root it installs what is missing; otherwise it prints the line to run. Where things are
# stands in out/rig.env afterwards. Arguments are packages that only the caller needs.
. "$(dirname "$0")/lib.sh"

PACKAGES=(
	make gcc gcc-12 gcc-12-multilib libc6-dev flex bison bc perl python3 rsync xz-utils kmod git pahole
	libelf-dev libssl-dev sparse qemu-system-x86 busybox-static linux-source-6.12 trace-cmd
	"$@"
)
# cloud, rt, unsigned and dbg flavours have a word between the version and amd64, or after it.
IMAGE_RE='^linux-image-6\.12\.[0-9.]+\+deb12(\.[0-9]+)?-amd64$'

newest_image() {
	apt-cache pkgnames linux-image-6.12 | { grep -E "$IMAGE_RE" || true; } | sort -V | tail -n1
}

missing_packages() {
	local p
	for p in "${PACKAGES[@]}"; do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] || echo "$p"
	done
}

apt_update() { with_progress "apt-get update" "$LOGS/apt-update.log" apt-get -q update; }

# Index files are only fetched when something is missing: a warm run needs no network.
install_packages() {
	local missing
	mapfile -t missing < <(missing_packages)
	if ((${#missing[@]} == 0)) && [[ $(newest_image) ]]; then return; fi
	if ((EUID)); then
		say "run this as root, then again what you ran:"
		echo "apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
		exit 1
	fi
	apt_update || say "going on with the index files there are"
	[[ $(newest_image) ]] ||
		die "apt knows no linux-image-6.12.*+deb12-amd64: is bookworm-security among its sources?"
	((${#missing[@]})) || return 0
	say "missing: ${missing[*]}"
	DEBIAN_FRONTEND=noninteractive with_progress "installing packages" "$LOGS/apt-install.log" \
		apt-get -q -y --no-install-recommends install "${missing[@]}"
}

# The image's modules.dep is made when it is installed, so here it must be made by hand; and the
# headers name one absolute path.
unpack() {
	local dir=$1 release=$2 deb
	shift 2
	cd "$dir"
	apt-get -q -o APT::Sandbox::User=root download "$@"
	for deb in *.deb; do
		dpkg-deb -x "$deb" .
		rm "$deb"
	done
	if [[ ! -d lib/modules ]]; then ln -s usr/lib lib; fi
	/sbin/depmod -b . "$release"
	sed -i "s|/usr/src/|$dir/usr/src/|" "usr/src/linux-headers-$release/Makefile"
}

stock_kernel() {
	local image=$1 release=${1#linux-image-} base packages version dir
	base=${release%-amd64}
	packages=("$image" "linux-headers-$release" "linux-headers-$base-common" "linux-kbuild-$base")
	version=$(apt-cache show --no-all-versions "$image" | sed -n 's/^Version: //p')
	dir=$CACHE/stock-$(key "$image" "$version" "$(declare -f unpack)")
	if [[ ! -e $dir/ready ]]; then
		cache_lock "$(basename "$dir")"
		if [[ ! -e $dir/ready ]]; then
			rm -rf "$dir"
			mkdir -p "$dir"
			# A shell of its own, because errexit is off below a condition.
			with_progress "fetching $image $version and its headers" "$LOGS/stock-kernel.log" \
				bash -c "set -euo pipefail; $(declare -f unpack); unpack \"\$@\"" unpack \
				"$dir" "$release" "${packages[@]}" || return
			touch "$dir/ready"
		fi
		flock -u 9
	fi
	printf 'STOCK_RELEASE=%s\nSTOCK_DIR=%s\nSTOCK_KDIR=%s\n' \
		"$release" "$dir" "$dir/usr/src/linux-headers-$release" >"$OUT/rig.env"
}

install_packages
if ! stock_kernel "$(newest_image)"; then
	# An old index names packages that the archive no longer has.
	((EUID == 0)) || die "run apt-get update as root, then again what you ran"
	apt_update
	stock_kernel "$(newest_image)"
fi
