# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# What guest scripts share. The environment (RIG, SHARE, ARGS and vm.py's --env) is in /guest/env.
. /guest/env
export PATH=/bin HOME=/tmp TMPDIR=/tmp RIG

# Who hangs on purpose is waited for; nobody else may be taken for him because a busy host gave a
# processor no time, or because a sanitizer makes everything ten times slower. Jobs: two that hang one
# behind the other are still through before TTM has waited for 15 s.
PATIENT='timeout_ms=2500 job_timeout_ms=5000'

say() { echo "pagoda-vm: $*" > /dev/kmsg; }

# Lists are in the order of dependencies, made by vm.py from modules.dep.
load_list() {
	[ -f "$1" ] || return 0
	while read -r module; do
		name=$(basename "$module" .ko | tr - _)
		grep -q "^$name " /proc/modules && continue
		insmod "$module" || return 1
	done < "$1"
}

# Loads the software GPU with the given parameters, then the driver in the update mode $MODE and with
# $DRIVER_PARAMETERS, and waits for its node. What fails leaves nothing loaded.
load_pagoda() {
	load_list /modules/deps.list || return 1
	insmod /modules/pagoda_vgpu.ko "$@" || return 1
	# shellcheck disable=SC2086
	insmod /modules/pagoda.ko update_mode="${MODE:-gpu_physical}" $DRIVER_PARAMETERS ||
		{ rmmod pagoda_vgpu; return 1; }
	for _ in $(seq 240); do
		ls /dev/dri/renderD* > /dev/null 2>&1 && return 0
		sleep 0.25
	done
	echo "no render node appeared"
	unload_pagoda
	return 1
}

# A cell of the matrix is a word: update mode, device-MMU mode, what the CPU sees of VRAM, and more
# parameters of the GPU if it has any: gpu_virtual.mmu1.none, cpu_virtual.mmu0.all.pt_levels=5. defer_jobs=1 among them
# is the driver's.
# load_cell <cell> [<parameter of the GPU>...]
load_cell() {
	MODE=${1%%.*}
	rest=${1#*.}
	shift
	mmu=${rest%%.*}
	rest=${rest#*.}
	visible=${rest%%.*}
	more=
	[ "$rest" = "$visible" ] || more=$(echo "${rest#*.}" | tr . ' ')
	deferred=${more%%defer_jobs=1*}
	[ "$deferred" = "$more" ] && deferred='' || { more=$deferred; deferred=defer_jobs=1; }
	# shellcheck disable=SC2086
	DRIVER_PARAMETERS="$DRIVER_PARAMETERS $deferred" load_pagoda "$@" device_mmu="${mmu#mmu}" visible="$visible" $more
}

unload_pagoda() {
	rmmod pagoda && rmmod pagoda_vgpu
}

# Prints what of kmemleak's report isn't known of the kernel itself: the last device that goes has TTM forget its
# pools, but not the lists of pages in them (7.3: ttm_pool_type_fini() leaves out list_lru_destroy()).
leaks_of_ours() {
	awk 'function show() { if (!known) printf "%s", object; object = ""; known = 0 }
		/^unreferenced object/ { show() }
		{ object = object $0 "\n" }
		/ttm_pool_type_init\+/ { known = 1 }
		END { show() }'
}

# Two scans: an object is only reported when it was unreferenced in the one before too.
# Anything found goes to the console, where the host looks for it.
kmemleak_scan() {
	[ -e /sys/kernel/debug/kmemleak ] || return 0
	echo scan > /sys/kernel/debug/kmemleak
	sleep 5
	echo scan > /sys/kernel/debug/kmemleak
	leaks_of_ours < /sys/kernel/debug/kmemleak > /out/kmemleak.txt
	[ -s /out/kmemleak.txt ] || return 0
	head -n 60 /out/kmemleak.txt > /dev/console
	return 1
}

# Which lines were executed, of a kernel that counts that. What debugfs has looks empty until it is read.
keep_counters() {
	counters=/sys/kernel/debug/gcov
	[ -d "$counters" ] || return 0
	find "$counters" -name '*.gcda' | while read -r file; do
		copy=/tmp/gcov${file#"$counters"}
		mkdir -p "${copy%/*}" && cat "$file" > "$copy" || exit 1
	done && tar -czf /out/gcov.tar.gz -C /tmp/gcov .
}

# until_quiet <file> <command>...: ends the command when its file hasn't grown for ten minutes. How long it takes
# in all says nothing on a machine that does something else as well.
until_quiet() {
	file=$1
	shift
	: > "$file"
	"$@" >> "$file" 2>&1 3<&- &
	pid=$!
	(
		quiet=0 size=-1
		while [ "$quiet" -lt 20 ]; do
			now=$(stat -c %s "$file")
			[ "$now" = "$size" ] || quiet=0
			size=$now quiet=$((quiet + 1))
			sleep 30
		done
		say "nothing more in $file: killed"
		kill -KILL "$pid"
	) &
	watch=$!
	wait "$pid"
	status=$?
	kill -KILL "$watch" 2> /dev/null
	wait "$watch" 2> /dev/null
	return "$status"
}

# run_tap <variant> <program> [argument...]: its TAP, its status and the seconds it took go where report.py looks.
run_tap() {
	variant=$1
	program=$2
	shift 2
	name=$variant.$(basename "$program")
	say "test $name"
	begin=$(cut -d' ' -f1 /proc/uptime)
	until_quiet /out/"$name".tap "$program" "$@"
	status=$?
	echo "$status" > /out/"$name".status
	cut -d' ' -f1 /proc/uptime | awk -v begin="$begin" '{ printf "%.1f\n", $1 - begin }' > /out/"$name".seconds
	echo "$name: $(grep -c '^ok' /out/"$name".tap) ok, $(grep -c '^not ok' /out/"$name".tap) not ok, status $status," \
		"$(cat /out/"$name".seconds) s"
	[ "$status" = 0 ]
}
