# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Replays each of $TRACES in each cell of $CELLS, with VRAM the fraction $VRAM of its largest frame;
# $CAPTURE=1 brings a recording of the tracepoints home, and $RIVAL=from:to has another program want half of VRAM in
# these frames; $QUEUED batches are in flight. A replay passes if it says so in its last line, in the words agreed, and
# if it moved what the simulator says.
# Then the example client runs on the same GPU.
. /guest/lib.sh

# The simulator knows no time in which something could come back by itself, or be paid for, and no reserve: its
# VRAM is what allocations can have. It is told what page tables and save areas took of that. Only with $QUEUED does it
# have a queue, and what comes in ahead for the jobs in there.
RESERVE_MB=1
DRIVER_PARAMETERS="promote_ms=0 submit_share=0 reserve_kb=$((RESERVE_MB * 1024))"
[ "$QUEUED" ] || DRIVER_PARAMETERS="$DRIVER_PARAMETERS ahead_jobs=0"

# Moves, drm_sched's jobs and gpu_mem_total, recorded by trace-cmd on one time line.
capture_start() {
	[ "$CAPTURE" = 1 ] || return 0
	PATH=$PATH:/usr/bin trace-cmd record -q -b 32768 -e pagoda -e gpu_scheduler -e gpu_mem -o /tmp/trace.dat > /tmp/capture.log 2>&1 &
	capture=$!
	for _ in $(seq 100); do
		[ "$(cat /sys/kernel/tracing/events/pagoda/enable)" = 1 ] && return 0
		sleep 0.1
	done
	cat /tmp/capture.log
	return 1
}

capture_end() {
	[ "$CAPTURE" = 1 ] || return 0
	kill -INT "$capture"
	wait "$capture"
	cp /tmp/trace.dat /out/trace.dat
}

# bytes <what> <log>: as a replay says at its end
bytes() {
	sed -n "s/.* $1=\([0-9]*\) .*/\1/p" "$2" | tail -n 1
}

# Does the simulation of the policy, by the same rules, move as much? Where the CPU doesn't see all of VRAM
# its faults move more, and who has a rival isn't alone.
agrees() {
	[ -z "$RIVAL" ] || return 0
	case $1 in *.all) ;; *) return 0 ;; esac
	/bin/simulate --vram-mb "$vram_mb" --beside "$(bytes beside "$3")" --scale "$scale" \
		${FRAMES:+--frames "$FRAMES"} ${QUEUED:+--jobs "$QUEUED"} \
		--moved $(($(bytes paged_in "$3") + $(bytes paged_out "$3"))) "$2"
}

replay_one() {
	cell=$1
	trace=$2
	log=/out/replay.$cell.$(basename "$trace" .rtrace).log
	vram_mb=
	eval "$(/bin/replay --vram "$VRAM" --plan "$trace")"
	[ "$vram_mb" ] || { echo "replay --plan said nothing"; return 1; }
	load_cell "$cell" vram_mb=$((vram_mb + RESERVE_MB)) || return 1
	capture_start || return 1
	say "replay $cell $(basename "$trace"), VRAM $vram_mb MiB"
	{
		/bin/replay --vram "$VRAM" ${FRAMES:+--frames "$FRAMES"} ${RIVAL:+--rival "$RIVAL"} \
			${QUEUED:+--queued "$QUEUED"} --verbose 50 "$trace" 2>&1
		echo $? > /tmp/status
	} | tee "$log"
	capture_end || return 1
	/bin/sum
	sum=$?
	unload_pagoda || return 1
	agrees "$cell" "$trace" "$log" || return 1
	[ "$(cat /tmp/status) $sum" = "0 0" ] && tail -n 1 "$log" |
		grep -qE '^replay .*: frames=[1-9][0-9]* paged_in=[0-9]+ paged_out=[0-9]+ evictions=[0-9]+ mismatches=0$'
}

failed=0
number=0
# shellcheck disable=SC2086
set -- $CELLS
cells=$#
# shellcheck disable=SC2086
set -- $TRACES
echo "1..$((cells * $#))" > /out/replay.tap
for cell in $CELLS; do
	for trace in "$@"; do
		number=$((number + 1))
		verdict=ok
		replay_one "$cell" "$trace" || { verdict="not ok"; failed=1; }
		echo "$verdict $number replay.$cell.$(basename "$trace" .rtrace)" >> /out/replay.tap
	done
done
kmemleak_scan || failed=1
exit "$failed"
