# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# The programs of igt-gpu-tools that /guest/igt names: tests; igt_runner, with three subtests; gputop, beside clients that
# keep the engine busy. What they print is judged on the host, by igt.py.
. /guest/lib.sh
LIBEXEC=/usr/libexec/igt-gpu-tools

# igt <name> <command>...: output and status go where igt.py looks
igt() {
	name=$1
	shift
	say "igt $name"
	until_quiet /out/"$name".log "$@"
	echo $? > /out/"$name".status
}

run_some() {
	printf 'igt@%s\n' core_getversion@basic syncobj_basic@create-signaled \
		syncobj_wait@single-wait-all-signaled > /tmp/igt.list
	# The machine's signs of life are warnings.
	/usr/bin/igt_runner --dmesg-warn-level 3 --overwrite --test-list /tmp/igt.list "$LIBEXEC" /tmp/igt.results
	status=$?
	cp /tmp/igt.results/results.json /out/igt_runner.json
	return "$status"
}

# Clients fight for VRAM meanwhile, as igt.py expects to see.
watch_clients() {
	/bin/soak --seconds 20 > /tmp/soak.log 2>&1 &
	clients=$!
	sleep 5
	/usr/bin/gputop --delay 2 --iterations 4
	status=$?
	wait "$clients"
	return "$status"
}

# again <test>: subtests that wait measure tenths of seconds, and fail where the host gives the machine no processor for
# so long. What failed is tried three times more, behind the first try's output, and igt.py names what passes only then.
again() {
	sed -n 's/^Subtest \([^ :]*\): FAIL.*/\1/p' /out/"$1".log > /tmp/igt.failed
	while read -r subtest; do
		say "igt $1: $subtest again"
		for _ in 1 2 3; do
			timeout 300 "$LIBEXEC/$1" --run-subtest "$subtest" >> /out/"$1".log 2>&1 && break
		done
	done < /tmp/igt.failed
}

DRIVER_PARAMETERS=$PATIENT load_pagoda vram_mb=64 && insmod /modules/igt_sw_sync.ko || exit 1
while read -r program <&3; do
	case $program in
	igt_runner) igt igt_runner run_some ;;
	gputop) igt gputop watch_clients ;;
	syncobj_wait | syncobj_timeline | syncobj_eventfd)
		igt "$program" "$LIBEXEC/$program"
		again "$program"
		;;
	*) igt "$program" "$LIBEXEC/$program" ;;
	esac
done 3< /guest/igt
# sw_sync can't be unloaded, and needn't be.
unload_pagoda
