#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# shellcheck disable=SC2317 # what makes the container is called in a shell of its own
# DKMS builds and installs the modules for the stock kernel: guest/dkms.sh, in a container that begins as a copy of
# this machine. What it writes is in a tmpfs in front of the machine's own file systems (overlayfs), so that nothing
# of the machine changes, and all of it goes with the container, however that ends. Only packages that
# are fetched stay, in the cache. Results are in out/vm/dkms, as TAP.
. "$(dirname "$0")/lib.sh"
vm=$TOP/selftests/rigs
tap=$OUT/vm/dkms/dkms.tap
log=$LOGS/dkms.log
debs=$CACHE/dkms
layers=$OUT/dkms
# Exit status of a container that can't be made.
NO_CONTAINER=100

# over <folder>: what the container sees there is the machine's, and what it writes to is its own.
over() {
	local layer
	layer=$(mktemp -d "$layers/layer.XXXX")
	mkdir "$layer/upper" "$layer/work"
	mount -t overlay overlay "$root$1" \
		-o "lowerdir=${2:-$1},upperdir=$layer/upper,workdir=$layer/work"
}

# A folder that is on a file system of its own is empty in an overlay of what is above it.
own_file_systems() {
	local path
	for path in /usr /var /etc "$TOP" "$CACHE"; do findmnt -n -o TARGET -T "$path"; done | sort -u | grep -vx /
	return 0
}

make_container() {
	local path
	mount -t tmpfs -o mode=0755 tmpfs "$layers"
	mkdir "$root"
	over / /
	while read -r path; do over "$path"; done < <(own_file_systems)
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/run"
	mount --bind "$debs" "$root$debs"
	# May be a link into /run.
	cp --remove-destination -L /etc/resolv.conf "$root/etc/resolv.conf"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
	mkdir -p "$root/lib/modules/$STOCK_RELEASE"
	over "/lib/modules/$STOCK_RELEASE" "$STOCK_DIR/lib/modules/$STOCK_RELEASE"
	ln -sfnT "$STOCK_KDIR" "$root/lib/modules/$STOCK_RELEASE/build"
}

# Runs as the first process of the container's own process IDs, standard output is TAP.
if [[ ${1:-} == --inside ]]; then
	root=$layers/root
	# A shell of its own, because errexit is off below a condition.
	make=$(declare -p layers root debs TOP CACHE STOCK_RELEASE STOCK_DIR STOCK_KDIR)
	bash -c "set -euo pipefail; $make; $(declare -f over own_file_systems make_container); make_container" >&2 ||
		exit "$NO_CONTAINER"
	exec chroot "$root" "$vm/guest/dkms.sh" "$debs"
fi

skip() {
	printf '1..1\nok 1 dkms # SKIP %s\n' "$*" | tee "$tap"
	exit 0
}

rm -rf "$OUT/vm/dkms"
mkdir -p "$OUT/vm/dkms" "$debs" "$layers"
cache_lock dkms
((EUID == 0)) || skip "a container needs root"
[[ $(. /etc/os-release && echo "$ID $VERSION_ID") == "debian 12" ]] || skip "the machine isn't Debian 12"
unshare --mount --pid --ipc --uts --fork true 2>"$log" || skip "no container can be made here: $(tail -n 1 "$log")"
"$vm/setup.sh"
. "$OUT/rig.env"
export STOCK_RELEASE STOCK_DIR STOCK_KDIR

say "DKMS in a container ..."
start=$SECONDS rc=0
# The container is killed with this script.
setpriv --pdeathsig KILL unshare --mount --pid --ipc --uts --fork --kill-child \
	timeout -k 5 1800 "$0" --inside >"$tap" 2>"$log" 9>&- || rc=$?
if ((rc == NO_CONTAINER)); then skip "no container can be made here: $(tail -n 1 "$log")"; fi
# Without the plan, which comes first, no test would be missed.
[[ -s $tap ]] || printf '1..1\nnot ok 1 dkms\n' >"$tap"
cat "$tap"
say "DKMS: done in $((SECONDS - start)) s"
((rc)) || exit 0
tail -n 40 "$log" >&2
exit "$rc"
