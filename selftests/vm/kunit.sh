#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the KUnit suites under User-Mode Linux; FILTER chooses suites (pagoda_paging*), LIMIT says
# after how many seconds the kernel is killed.
#
# kunit.py judges the cases; the kernel's log is judged here as in every other rig, because a
# lockdep report doesn't make a test fail.
. "$(dirname "$0")/lib.sh"

filter=${FILTER:-pagoda*}
limit=${LIMIT:-900}
kernel=$("$TOP/selftests/vm/kernels.sh" uml kunit)
src=$("$TOP/selftests/vm/kernels.sh" source)
share=$OUT/vm/uml.kunit
rm -rf "$share"
mkdir -p "$share"

# kunit.py asks a kernel that takes too long to end, which one that hangs doesn't hear.
kill_kernel() {
	local exe pids=()
	for exe in /proc/[0-9]*/exe; do
		[[ $(readlink "$exe") != "$kernel/linux" ]] || pids+=("$(basename "$(dirname "$exe")")")
	done
	((${#pids[@]})) || return 0
	say "the kernel hangs, killed: ${pids[*]}"
	kill -KILL "${pids[@]}" || true
	return 1
}

rc=0
say "running KUnit suites $filter under UML"
(cd "$src" && timeout -k 10 $((limit + 100)) tools/testing/kunit/kunit.py exec --build_dir "$kernel" \
	--timeout "$limit" "$filter") |
	tee "$LOGS/uml.kunit.log" | grep --line-buffered -vE 'PASSED\]|^\[[0-9:]+\] =*$' >&2 || rc=$?
kill_kernel || rc=1
cp "$kernel/test.log" "$share/kunit.tap"
cp "$kernel/test.log" "$LOGS/uml.kunit.console.log"
echo "$rc" >"$share/kunit.status"
"$TOP/selftests/vm/vm.py" --judge "$LOGS/uml.kunit.console.log" >"$share/machine" || rc=1
cat "$share/machine" >&2
exit "$rc"
