#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Everything that proves the driver, from a bare Debian 12 to the numbers in the last line.
#
# Kernels are built first, with all processors; then two lanes run side by side, because a
# machine with two virtual processors leaves a good part of two real ones idle.
. "$(dirname "$0")/lib.sh"
vm=$TOP/selftests/vm
start=$SECONDS
unset FILTER

cache_lock check
rm -rf "$OUT/vm"
"$vm/setup.sh"

# A step that fails is counted by the report, from what it left behind or didn't.
step() {
	local name=$1 begin=$SECONDS
	shift
	"$@" || say "$name: FAILED"
	say "$name: $((SECONDS - begin)) s, $((SECONDS - start)) s in all"
}

step "user headers" "$vm/kernels.sh" headers >/dev/null
step "debug kernel" "$vm/kernels.sh" debug >/dev/null
step "UML kernel" "$vm/kernels.sh" uml kunit >/dev/null
step "test programs" "$vm/programs.sh"

(
	step lint "$vm/lint.sh"
	step "kunit (UML)" "$vm/kunit.sh"
	step "selftests (stock)" "$vm/machine.sh" stock selftests
	step "replay (stock)" env VRAM=0.5 FRAMES=300 "$vm/machine.sh" stock replay
) 9>&- &
(
	step "kunit (debug)" "$vm/machine.sh" debug kunit
	step "selftests (debug)" "$vm/machine.sh" debug selftests
) 9>&- &
wait

say "everything took $((SECONDS - start)) s"
"$vm/report.py" lint uml.kunit stock.selftests stock.replay debug.kunit debug.selftests | tee "$OUT/report.txt"
