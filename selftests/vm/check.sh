#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Everything that proves the driver, from a bare Debian 12 to the numbers in the last line.
#
# Kernels are built first, with all processors; then three lanes run side by side, because a
# machine with two virtual processors is idle for a good part of its time, and what is emulated
# leaves a part of two real ones idle even beside another.
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

# What takes longest comes first, so that no lane ends long before the others.
plan=(
	"selftests (debug)|$vm/machine.sh debug selftests"
	"kunit (UML)|$vm/kunit.sh"
	"kunit (debug)|$vm/machine.sh debug kunit"
	"selftests without device MMU (stock)|$vm/machine.sh stock selftests-mmu0"
	"execution on four processors (debug)|$vm/machine.sh debug selftests-smp4"
	"selftests with device MMU (stock)|$vm/machine.sh stock selftests-mmu1"
	"selftests (stock)|$vm/machine.sh stock selftests"
	"little memory (stock)|$vm/machine.sh stock pressure"
	"lint|$vm/lint.sh"
	"simulate|env -u TRACES $vm/simulate.sh"
	"replay (stock)|env VRAM=0.5 FRAMES=300 $vm/machine.sh stock replay"
	"fuzz|$vm/fuzz.sh"
	"picture (stock)|env FRAMES=60 STEP=replay-picture $vm/run.sh"
	"sleep (stock)|$vm/machine.sh stock suspend"
	"replay in other modes (stock)|env VRAM=0.5 FRAMES=40 $vm/machine.sh stock replay-modes"
)

# Prints the number of the next step, or fails when there are no more.
take_step() {
	local next
	read -r next <"$OUT/next-step"
	echo $((next + 1)) >"$OUT/next-step"
	((next < ${#plan[@]})) && echo "$next"
}

lane() {
	local next command
	while next=$(exec 8>"$OUT/next-step.lock" && flock 8 && take_step); do
		read -ra command <<<"${plan[next]#*|}"
		step "${plan[next]%%|*}" "${command[@]}"
	done
}

echo 0 >"$OUT/next-step"
lane 9>&- &
lane 9>&- &
lane 9>&- &
wait

say "everything took $((SECONDS - start)) s"
"$vm/report.py" lint fuzz simulate uml.kunit stock.selftests stock.selftests-mmu0 stock.selftests-mmu1 \
	stock.pressure stock.suspend stock.replay stock.replay-modes stock.replay-picture debug.kunit \
	debug.selftests debug.selftests-smp4 | tee "$OUT/report.txt"
