#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the KUnit suites under User-Mode Linux; FILTER chooses suites (pagoda_paging*).
#
# kunit.py judges the cases and kills a kernel that hangs; the kernel's log is judged here as in
# every other rig, because a lockdep report doesn't make a test fail.
. "$(dirname "$0")/lib.sh"

filter=${FILTER:-pagoda*}
kernel=$("$TOP/selftests/vm/kernels.sh" uml kunit)
src=$("$TOP/selftests/vm/kernels.sh" source)
share=$OUT/vm/uml.kunit
rm -rf "$share"
mkdir -p "$share"

rc=0
say "running KUnit suites $filter under UML"
(cd "$src" && timeout -k 10 1000 tools/testing/kunit/kunit.py exec --build_dir "$kernel" \
	--timeout 900 "$filter") |
	tee "$LOGS/uml.kunit.log" | grep --line-buffered -vE 'PASSED\]|^\[[0-9:]+\] =*$' >&2 || rc=$?
cp "$kernel/test.log" "$share/kunit.tap"
cp "$kernel/test.log" "$LOGS/uml.kunit.console.log"
echo "$rc" >"$share/kunit.status"
"$TOP/selftests/vm/vm.py" --judge "$LOGS/uml.kunit.console.log" >"$share/machine" || rc=1
cat "$share/machine" >&2
exit "$rc"
