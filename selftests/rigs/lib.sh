# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by every script of the rigs: where things are, how to say what is going on.
set -euo pipefail
shopt -s inherit_errexit

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
OUT=$TOP/out
LOGS=$OUT/logs
CACHE=${PAGODA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pagoda}
JOBS=${JOBS:-$(nproc)}
mkdir -p "$LOGS" "$CACHE"
# What was said to make at the top is not meant for the kernel's Makefiles.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL

say() { printf '%s  %s\n' "$(date +%T)" "$*" >&2; }
die() { say "error: $*"; exit 1; }

# One artefact, one folder, named by what it was built from: key <string or file>...
key() {
	local arg
	for arg in "$@"; do
		if [[ -f $arg ]]; then cat "$arg"; else printf '%s\n' "$arg"; fi
	done | sha256sum | cut -c1-12
}

# What the driver's sources, the suites and the arguments add up to. A build that noted it when it was through isn't
# begun again: make takes long to find out that it has nothing to do.
sources_key() {
	(cd "$TOP" && find Kbuild Kconfig include drivers kunit -type f -print0 | sort -z | xargs -0 sha256sum &&
		printf '%s\n' "$@") | sha256sum | cut -c1-12
}

# Sparse looks at what is compiled, its warnings are errors. An object with one isn't kept, so the next run warns again.
CHECKED=(C=1 CF=-Wsparse-error)
# How modules are built, but for those that are measured. The stock kernel's: warnings are errors, each file is compiled
# and looked at by itself, without what only a debugger reads. All others: a folder at a time, those of a kernel that
# counts lines being counted, too. Coverage for fuzzers would slow them down: only KCOV_MODULES have it.
STOCK_MODULES=(W=1e "${CHECKED[@]}" KCFLAGS=-g0 CONFIG_DEBUG_INFO_BTF_MODULES=)
OTHER_MODULES=(W=1e PAGODA_UNITS=1 KCOV_INSTRUMENT=n)
KCOV_MODULES=(W=1e PAGODA_UNITS=1)
COUNTED_MODULES=(PAGODA_UNITS=1 PAGODA_COUNTED=1)

# Two runs may share the cache: the second waits instead of building into the same folder.
# The lock is held until the calling script ends; children must not inherit it (9>&-).
cache_lock() {
	exec 9>"$CACHE/$1.lock"
	flock -n 9 || { say "waiting for another run ($1)"; flock 9; }
}

# Runs a long command: its output goes to a log, a line every ten seconds says how far it is.
# with_progress <what> <log> <command>...
with_progress() {
	local what=$1 log=$2 start=$SECONDS pid rc=0 lines
	shift 2
	say "$what ..."
	"$@" >"$log" 2>&1 9>&- &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		(( (SECONDS - start) % 10 )) && continue
		lines=$(wc -l <"$log")
		say "$what: $((SECONDS - start)) s, $lines lines"
	done
	wait "$pid" || rc=$?
	if ((rc)); then
		tail -n 25 "$log" >&2
		say "$what: failed, whole log in $log"
		return "$rc"
	fi
	say "$what: done in $((SECONDS - start)) s"
}

# Ends a command, and all that it started, when its log hasn't grown for a while: how long it takes in all says nothing
# on a machine that does something else as well.
# until_quiet <seconds> <log> <command>...
until_quiet() {
	local limit=$1 log=$2 pid quiet=0 size=0 now
	shift 2
	: >"$log"
	setsid "$@" >>"$log" 2>&1 9>&- &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		now=$(stat -c %s "$log")
		if ((now != size)); then quiet=0; fi
		size=$now
		((++quiet < limit)) && continue
		say "nothing more in $log for $limit s: killed"
		kill -KILL -- "-$pid"
	done
	wait "$pid"
}
