#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Brings the source of the newest kernel that Debian has for trixie (linux-source-7.* of its backports) into the
# cache, and prints the package's file. apt is told everything by options: the lists, the one source and the
# downloads are the cache's, nothing is installed, and nothing of the machine's apt is read but its keys.
. "$(dirname "$0")/lib.sh"

dir=$CACHE/backports
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
SUITE=trixie-backports
PACKAGE_RE='^linux-source-7\.[0-9]+$'

apt_options=(
	-o "Dir::Etc::SourceList=$dir/sources.list"
	-o "Dir::Etc::SourceParts=/dev/null"
	-o "Dir::State::Lists=$dir/lists"
	-o "Dir::Cache=$dir/cache"
	-o "APT::Sandbox::User=$(id -un)"
	-o "APT::Get::List-Cleanup=false"
	-o "Acquire::Languages=none"
)

newest() { ls -v "$dir"/*.deb 2>/dev/null | tail -n 1; }

# Index files a day old will do; without a network, the source that is there.
fetch() {
	local package
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	[[ -f $KEYRING ]] || die "no $KEYRING to check Debian's $SUITE with (package debian-archive-keyring)"
	echo "deb [signed-by=$KEYRING] http://deb.debian.org/debian $SUITE main" >"$dir/sources.list"
	apt-get -q "${apt_options[@]}" update || return
	package=$(apt-cache "${apt_options[@]}" pkgnames linux-source-7 | grep -E "$PACKAGE_RE" | sort -V | tail -n 1)
	[[ $package ]] || return
	(cd "$dir" && apt-get -q "${apt_options[@]}" download "$package") || return
	touch "$dir/looked"
}

cache_lock backports
if [[ ! $(newest) || ! $(find "$dir/looked" -mtime -1 2>/dev/null) ]]; then
	with_progress "fetching the newest kernel source of Debian's $SUITE" "$LOGS/backports.log" fetch ||
		say "going on with what there is"
fi
[[ $(newest) ]] || die "no kernel source of $SUITE: see $LOGS/backports.log"
newest
