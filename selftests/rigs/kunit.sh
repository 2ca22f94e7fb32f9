#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the KUnit suites under User-Mode Linux: KERNEL=new (the default) with sanitizers on two processors, KERNEL=6.12
# on one with lockdep, kmemleak and debug objects; COUNTED=1: the newest kernel, on two, counts which lines are executed.
# FILTER chooses suites, globs with commas between them: a kernel each.
# STEP names the results (uml.kunit-$KERNEL); APPEND is more for the kernel's command line.
#
# The suites run while the kernel boots; when they are through, a script looks for leaks. kunit.py's summary of the
# results comes last. The kernel's whole log is judged, because a lockdep report doesn't make a test fail.
. "$(dirname "$0")/lib.sh"

export KERNEL=${KERNEL:-new}
IFS=, read -ra globs <<<"${FILTER:-pagoda*}"
# Two processors of which one waits in vain for the other, because the machine runs something else instead, get nothing
# done: they come first, where that may be had. Many remaps find what is rare, and need no sanitizers.
case $KERNEL in
new) configs=(rig sanitizers) smp=2 first=(nice -n -10) append=pagoda_kunit.remaps=12000 ;;
*) configs=(rig leaks) smp=1 first=() append= ;;
esac
[[ ! ${COUNTED:-} ]] || configs=(coverage rig)
kernel=$("$TOP/selftests/rigs/kernels.sh" uml "${configs[@]}")
src=$("$TOP/selftests/rigs/kernels.sh" source)

# run <number of a glob>
run() {
	local name=${STEP:-uml.kunit-$KERNEL} rc=0
	(($1 == 0)) || name+=.$1
	"${first[@]}" "$TOP/selftests/rigs/vm.py" --rig uml --kernel "$kernel" --name "$name" --memory 2G --smp "$smp" \
		--append "${APPEND:-$append}" --kunit "${globs[$1]}" "$TOP/selftests/rigs/guest/leaks.sh" || rc=1
	(cd "$src" && tools/testing/kunit/kunit.py parse "$OUT/vm/$name/kunit.tap") >"$LOGS/$name.parse.log" 2>&1 ||
		rc=1
	grep -E 'FAILED|CRASHED|Testing complete' "$LOGS/$name.parse.log" >&2 || true
	return "$rc"
}

# Every second glob: one kernel looks for leaks, which is mostly waiting, while the other one works.
lane() {
	local n rc=0
	for ((n = $1; n < ${#globs[@]}; n += 2)); do run "$n" || rc=1; done
	return "$rc"
}

failed=0
lane 0 &
first_lane=$!
lane 1 || failed=1
wait "$first_lane" || failed=1
exit "$failed"
