#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes a plain Debian 12 ready: packages, the newest 6.12 headers, and the stock kernel that
# belongs to them, unpacked into the cache (installing it would build an initramfs and touch
# the boot loader of a machine that will never boot it). Says where things are in out/rig.env.
#
# As root it installs what is missing; otherwise it prints the line to run.
. "$(dirname "$0")/lib.sh"

PACKAGES=(
	make gcc libc6-dev flex bison bc perl python3 rsync xz-utils kmod git
	libelf-dev libssl-dev sparse qemu-system-x86 busybox-static
	linux-source-6.12
)
# cloud, rt, unsigned and dbg flavours have a word between the version and amd64, or after it.
HEADERS_RE='^linux-headers-6\.12\.[0-9.]+\+deb12(\.[0-9]+)?-amd64$'

available_headers() {
	apt-cache pkgnames linux-headers-6.12 | { grep -E "$HEADERS_RE" || true; } | sort -V | tail -n1
}
installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }
installed_headers() {
	local p
	for p in $(dpkg-query -W -f '${Package}\n' 'linux-headers-6.12*' 2>/dev/null | sort -rV); do
		if [[ $p =~ $HEADERS_RE ]] && installed "$p"; then
			echo "$p"
			return
		fi
	done
}

missing_packages() {
	local p
	for p in "${PACKAGES[@]}" "$1"; do
		installed "$p" || echo "$p"
	done
}

# Index files are only fetched when something is missing: a warm run needs no network.
install_packages() {
	local headers missing
	headers=$(available_headers)
	mapfile -t missing < <(missing_packages "${headers:-linux-headers-6.12}")
	((${#missing[@]})) || return 0
	with_progress "apt-get update" "$LOGS/apt-update.log" apt-get -q update || true
	headers=$(available_headers)
	[[ $headers ]] || die "apt knows no linux-headers-6.12.*+deb12-amd64: is bookworm-security among its sources?"
	mapfile -t missing < <(missing_packages "$headers")
	say "missing: ${missing[*]}"
	DEBIAN_FRONTEND=noninteractive with_progress "installing ${#missing[@]} packages" "$LOGS/apt-install.log" \
		apt-get -q -y --no-install-recommends install "${missing[@]}"
}

require_packages() {
	local missing headers
	headers=$(installed_headers)
	mapfile -t missing < <(missing_packages "${headers:-$(available_headers)}")
	((${#missing[@]})) || return 0
	say "run this as root, then again what you ran:"
	echo "apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
	exit 1
}

# depmod runs when the package is installed, so the unpacked one has no modules.dep yet.
unpack_image() {
	local dir=$1 package=$2 release=$3
	(
		cd "$dir"
		apt-get -q -o APT::Sandbox::User=root download "$package"
		dpkg-deb -x "$package"_*.deb .
		rm -f "$package"_*.deb
		if [[ ! -d lib/modules && -d usr/lib/modules ]]; then ln -s usr/lib lib; fi
		/sbin/depmod -b . "$release"
	)
}

stock_kernel() {
	local release=$1 package=linux-image-$1 version dir
	version=$(apt-cache show --no-all-versions "$package" | sed -n 's/^Version: //p')
	[[ $version ]] || die "apt knows no $package"
	dir=$CACHE/stock-$(key "$package" "$version" "$(declare -f unpack_image)")
	if [[ ! -e $dir/ready ]]; then
		cache_lock "$(basename "$dir")"
		if [[ ! -e $dir/ready ]]; then
			rm -rf "$dir"
			mkdir -p "$dir"
			with_progress "fetching $package $version" "$LOGS/stock-kernel.log" \
				unpack_image "$dir" "$package" "$release"
			touch "$dir/ready"
		fi
		flock -u 9
	fi
	echo "$dir"
}

if ((EUID == 0)); then
	install_packages
	headers=$(available_headers)
else
	require_packages
	headers=$(installed_headers)
fi
release=${headers#linux-headers-}
stock=$(stock_kernel "$release")
cat >"$OUT/rig.env" <<-ENV
	STOCK_RELEASE=$release
	STOCK_KDIR=/usr/src/$headers
	STOCK_DIR=$stock
ENV
